--
-- A NOTICE where writer auto is not the direct one and that costs much.
--
CREATE TABLE slower_t (a int, b int);
CREATE INDEX ON slower_t (a);
INSERT INTO slower_t VALUES (0, 0);
COPY (SELECT i FROM generate_series(1, 220000) i) TO '/proc/self/cwd/pgbulk_slower_in' (FORMAT csv);
CREATE FUNCTION pg_temp.many(options jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS $$ SELECT writer FROM bulk_load('slower_t', '/proc/self/cwd/pgbulk_slower_in', '{"columns": ["a"]}' || options) $$;
SELECT pg_temp.many('{"limit": 1000}');
SELECT pg_temp.many('{"log_verbosity": "silent", "limit": 210000}');
TRUNCATE slower_t;
INSERT INTO slower_t VALUES (0, 0);
-- entries of btrees wait: that is fast enough
SELECT pg_temp.many() AS no_notice;
ALTER TABLE slower_t ADD UNIQUE (a, b) DEFERRABLE;
TRUNCATE slower_t;
INSERT INTO slower_t VALUES (0, 0);
-- neither is one of integers much slower
SELECT pg_temp.many() AS no_notice;
ALTER TABLE slower_t ADD UNIQUE (b, a) DEFERRABLE;
TRUNCATE slower_t;
INSERT INTO slower_t VALUES (0, 0);
SELECT pg_temp.many();
SELECT pg_temp.many('{"limit": 210000, "columns": ["b"]}') AS no_longer_small;
-- a larger table with a text
ALTER TABLE slower_t DROP CONSTRAINT slower_t_b_a_key, DROP CONSTRAINT slower_t_a_b_key, ADD t text DEFAULT 'none', ADD UNIQUE (t, a, b) DEFERRABLE;
TRUNCATE slower_t;
INSERT INTO slower_t SELECT -i, i FROM generate_series(1, 50000) i;
SELECT pg_temp.many();
ALTER TABLE slower_t DROP CONSTRAINT slower_t_t_a_b_key;
-- and other methods
CREATE INDEX slower_i ON slower_t USING hash (a);
TRUNCATE slower_t;
INSERT INTO slower_t VALUES (0, 0);
SELECT pg_temp.many() AS no_notice;
DROP INDEX slower_i;
CREATE INDEX ON slower_t USING gist (point(a, a));
TRUNCATE slower_t;
CREATE ROLE slower_role;
GRANT pg_read_server_files TO slower_role;
GRANT INSERT ON slower_t TO slower_role;
CREATE FUNCTION pg_temp.told(options jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	PERFORM pg_temp.many(options);
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	-- 17 has one more
	RETURN concat_ws(' | ', sqlstate, sqlerrm, replace(detail, ', TRUNCATE or MAINTAIN', ' or TRUNCATE'), hint);
END $$;
-- the privileges differ on 17 and later
\set VERBOSITY terse
SET ROLE slower_role;
SELECT pg_temp.many();
SELECT pg_temp.told('{"writer": "direct"}');
SELECT pg_temp.told('{"dry_run": true, "limit": 1}');
RESET ROLE;
\set VERBOSITY default
DO $$BEGIN EXECUTE format('GRANT %s ON slower_t TO slower_role', CASE WHEN current_setting('server_version_num')::int >= 170000 THEN 'MAINTAIN' ELSE 'UPDATE' END); END$$;
SET ROLE slower_role;
SELECT pg_temp.told('{"writer": "direct", "limit": 1}');
RESET ROLE;
DROP TABLE slower_t;
REVOKE pg_read_server_files FROM slower_role;
DROP ROLE slower_role;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_slower_gone; rm -f pgbulk_slower_*';
