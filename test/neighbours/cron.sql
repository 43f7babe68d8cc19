-- A job that loads, in the database of pg_cron; it runs within a minute.
CREATE EXTENSION pg_cron;
CREATE TABLE by_cron (a int, b text);
COPY (SELECT i, 'row ' || i FROM generate_series(1, 1000) i) TO '/proc/self/cwd/neighbour_cron.csv' WITH (FORMAT csv);
SELECT cron.schedule('neighbour', '* * * * *', $$SELECT bulk_load('by_cron', '/proc/self/cwd/neighbour_cron.csv', '{"truncate": true}')$$) \g /dev/null
DO $$
BEGIN
	FOR i IN 1 .. 3000 LOOP
		EXIT WHEN EXISTS (SELECT FROM cron.job_run_details WHERE status IN ('succeeded', 'failed'));
		COMMIT;
		PERFORM pg_sleep(0.1);
	END LOOP;
END $$;
SELECT judge.verdict(status = 'succeeded', 'a job of pg_cron', return_message) FROM cron.job_run_details ORDER BY runid LIMIT 1;
SELECT judge.verdict(count(*) = 1000, 'its rows', count(*)::text) FROM by_cron;
SELECT cron.unschedule('neighbour') \g /dev/null
