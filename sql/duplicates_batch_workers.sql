--
-- Workers form rows whose keys the backend looks up, with the outcome of one process.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
SET maintenance_work_mem = '1MB';
SET pgbulk.chunk_size = 4096;

-- Loads the file into two equal tables, with workers and without; compares rows, counters and what is told of rows that are set aside or replaced.
CREATE FUNCTION pg_temp.compare(options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	alone record;
	beside record;
	n bigint;
	o jsonb = '{"writer": "buffered", "log_verbosity": "silent"}' || options;
BEGIN
	SELECT * INTO alone FROM bulk_load('work_a', '/proc/self/cwd/pgbulk_work_in', o || '{"workers": 0}' ||
		CASE WHEN o ? 'reject_table' THEN '{"reject_table": "rejects_a"}' ELSE '{}' END::jsonb);
	SELECT * INTO beside FROM bulk_load('work_b', '/proc/self/cwd/pgbulk_work_in', o || '{"workers": 2}' ||
		CASE WHEN o ? 'reject_table' THEN '{"reject_table": "rejects_b"}' ELSE '{}' END::jsonb);
	RETURN NEXT format('%s read, %s loaded, %s rejected, %s duplicate%s', beside.rows_read, beside.rows_loaded, beside.rows_rejected, beside.rows_duplicate,
		CASE WHEN beside.workers > 0 OR beside.details ->> 'no_workers' LIKE '%since PostgreSQL 17.' THEN ', with workers' ELSE ', alone: ' || (beside.details ->> 'no_workers') END);
	ASSERT (alone.rows_read, alone.rows_loaded, alone.rows_rejected, alone.rows_filtered, alone.rows_duplicate) =
		(beside.rows_read, beside.rows_loaded, beside.rows_rejected, beside.rows_filtered, beside.rows_duplicate), alone;
	-- which of them are the first that are found depends on when keys are looked up
	ASSERT (alone.details -> 'rejects') - 'first' IS NOT DISTINCT FROM (beside.details -> 'rejects') - 'first', format('%s %s', alone.details, beside.details);
	SELECT count(*) INTO n FROM ((TABLE work_a EXCEPT ALL TABLE work_b) UNION ALL (TABLE work_b EXCEPT ALL TABLE work_a)) x;
	ASSERT n = 0, n;
	IF o ? 'reject_table' THEN
		EXECUTE $q$SELECT count(*) FROM (
			(SELECT line_number, reason, message, column_name, raw_line FROM rejects_a EXCEPT ALL SELECT line_number, reason, replace(message, 'work_b', 'work_a'), column_name, raw_line FROM rejects_b) UNION ALL
			(SELECT line_number, reason, replace(message, 'work_b', 'work_a'), column_name, raw_line FROM rejects_b EXCEPT ALL SELECT line_number, reason, message, column_name, raw_line FROM rejects_a)) x$q$ INTO n;
		ASSERT n = 0, n;
	END IF;
	PERFORM bt_index_parent_check(indexrelid, true, true) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'work_b'::regclass AND c.relam = 403;
END $$;
CREATE FUNCTION pg_temp.tables(of text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS work_a, work_b, rejects_a, rejects_b;
	EXECUTE 'CREATE TABLE work_a (' || of || ')';
	EXECUTE 'CREATE TABLE work_b (' || of || ')';
	INSERT INTO work_a SELECT 'key ' || i % 3001, i % 7, 'c' || i % 100, i FROM generate_series(1, 9000) i ON CONFLICT DO NOTHING;
	INSERT INTO work_b TABLE work_a;
END $$;

-- known, new and repeated keys; a line of two, bad values, constraints
COPY (SELECT 'key ' || (i * 7919) % 2003, CASE WHEN i % 997 = 0 THEN 'x' ELSE (i % 5)::text END, CASE WHEN i % 71 = 0 THEN E'a\n"b' ELSE 'c' || i % 100 END, i
	FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_work_in' WITH (FORMAT csv);
SELECT FROM pg_temp.tables('a text, b int, c text, d int, UNIQUE (a, b)');
ALTER TABLE work_a ADD CHECK (b <> 4) NOT VALID;
ALTER TABLE work_b ADD CHECK (b <> 4) NOT VALID;
SELECT pg_temp.compare('{"on_duplicate": "keep_old", "on_error": "ignore"}');
SELECT pg_temp.compare('{"on_duplicate": "keep_new", "on_error": "ignore"}');
SELECT FROM pg_temp.tables('a text, b int, c text, d int, UNIQUE (a, b)');
SELECT pg_temp.compare('{"on_duplicate": "keep_old", "on_error": "ignore", "reject_table": "x"}');
SELECT line_number, reason, message, raw_line FROM rejects_b WHERE reason = 'duplicate' ORDER BY line_number LIMIT 3;
SELECT raw_line FROM rejects_b WHERE reason = 'duplicate' AND line_number % 97 = 3 ORDER BY line_number LIMIT 3;
SELECT FROM pg_temp.tables('a text, b int, c text, d int, UNIQUE (a, b)');
SELECT pg_temp.compare('{"on_duplicate": "keep_new", "on_error": "ignore", "reject_table": "x"}');
-- several unique indexes; where one of them looks at expressions, of some rows
SELECT FROM pg_temp.tables('a text, b int, c text, d int UNIQUE, UNIQUE (a, b)');
CREATE UNIQUE INDEX ON work_a ((d % 100000), lower(a)) WHERE b > 2;
CREATE UNIQUE INDEX ON work_b ((d % 100000), lower(a)) WHERE b > 2;
SELECT pg_temp.compare('{"on_duplicate": "keep_old", "on_error": "ignore"}');
-- limits of rows, of duplicates, on trial
SELECT FROM pg_temp.tables('a text, b int, c text, d int, UNIQUE (a, b)');
SELECT pg_temp.compare('{"on_duplicate": "keep_old", "on_error": "ignore", "limit": 12345}');
SELECT pg_temp.compare('{"on_duplicate": "keep_new", "on_error": "ignore", "limit": 5000, "limit_counts": "loaded"}');
SELECT pg_temp.compare('{"on_duplicate": "keep_new", "on_error": "ignore", "dry_run": true}');
\set VERBOSITY terse
SELECT bulk_load('work_b', '/proc/self/cwd/pgbulk_work_in', '{"writer": "buffered", "workers": 2, "on_duplicate": "keep_old", "on_error": "ignore", "duplicate_limit": 3000, "log_verbosity": "silent"}');
SELECT bulk_load('work_b', '/proc/self/cwd/pgbulk_work_in', '{"writer": "buffered", "workers": 2, "on_duplicate": "keep_old", "log_verbosity": "silent"}');
\set VERBOSITY default
-- an error that is found when the row is stored
SELECT FROM pg_temp.tables('a text, b int, c text, d int, UNIQUE (a, b)');
COPY (SELECT 'key ' || i, 1, 'c', CASE WHEN i = 15000 THEN 0 ELSE i END FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_work_in' WITH (FORMAT csv);
CREATE INDEX ON work_b ((1 / d));
SELECT bulk_load('work_b', '/proc/self/cwd/pgbulk_work_in', '{"writer": "buffered", "workers": 2, "on_duplicate": "keep_old", "log_verbosity": "silent"}');
-- row by row
SELECT FROM pg_temp.tables('a text, b int, c text, d int, UNIQUE (a, b), UNIQUE (d)');
SELECT pg_temp.compare('{"on_duplicate": "keep_new", "on_error": "ignore"}');
-- a partition whose trigger looks at the table comes late: rows of the others wait no longer from then on
CREATE TABLE late (p int, k text, PRIMARY KEY (p, k)) PARTITION BY LIST (p);
CREATE TABLE late_1 PARTITION OF late FOR VALUES IN (1);
CREATE TABLE late_2 PARTITION OF late FOR VALUES IN (2);
CREATE TABLE late_seen (n bigint);
CREATE FUNCTION late_look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO late_seen SELECT count(*) FROM late_1; RETURN NEW; END $$;
CREATE TRIGGER late_look BEFORE INSERT ON late_2 FOR EACH ROW EXECUTE FUNCTION late_look();
COPY (SELECT CASE WHEN i % 20001 = 0 THEN 2 ELSE 1 END, 'key ' || i FROM generate_series(1, 40002) i) TO '/proc/self/cwd/pgbulk_work_in' WITH (FORMAT csv);
BEGIN;
SELECT rows_loaded, rows_duplicate FROM bulk_load('late', '/proc/self/cwd/pgbulk_work_in', '{"writer": "buffered", "workers": 2, "on_duplicate": "keep_old", "log_verbosity": "silent"}');
SELECT n FROM late_seen ORDER BY n;
SELECT pg_stat_get_xact_tuples_deleted('late_1'::regclass) AS stored_twice;
COMMIT;
DROP TABLE late, late_seen;
DROP FUNCTION late_look;
DROP TABLE work_a, work_b;
RESET pgbulk.chunk_size;
DROP EXTENSION amcheck;
