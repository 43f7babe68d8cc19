--
-- Which writer auto chooses, and why.
--
COPY (SELECT i, i FROM generate_series(1, 5) i) TO '/proc/self/cwd/pgbulk_writer_in' WITH (FORMAT csv);
CREATE FUNCTION pg_temp.load(t regclass, options jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS
	$$SELECT concat_ws(': ', writer, details ->> 'direct', details ->> 'not_direct') FROM bulk_load(t, '/proc/self/cwd/pgbulk_writer_in', options)$$;
CREATE TABLE writer_t (a int, b int);
SELECT pg_temp.load('writer_t');
SELECT pg_temp.load('writer_t');
SELECT pg_temp.load('writer_t', '{"truncate": true}');
SELECT pg_temp.load('writer_t', '{"writer": "buffered"}');
SELECT pg_temp.load('writer_t', '{"writer": "direct"}');
TRUNCATE writer_t;
SELECT pg_temp.load('writer_t');
BEGIN;
TRUNCATE writer_t;
SELECT pg_temp.load('writer_t');
SELECT pg_temp.load('writer_t');
COMMIT;
SELECT count(*) FROM writer_t;
BEGIN;
CREATE TABLE writer_new (a int, b int);
SELECT pg_temp.load('writer_new');
SELECT pg_temp.load('writer_new');
ROLLBACK;
TRUNCATE writer_t;
CREATE INDEX writer_index ON writer_t (a);
SELECT pg_temp.load('writer_t');
DROP INDEX writer_index;
TRUNCATE writer_t;
CREATE FUNCTION writer_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER writer_trigger BEFORE INSERT ON writer_t FOR EACH ROW EXECUTE FUNCTION writer_trigger();
SELECT pg_temp.load('writer_t');
DROP TRIGGER writer_trigger ON writer_t;
DROP FUNCTION writer_trigger();
TRUNCATE writer_t;
ALTER TABLE writer_t ADD c double precision DEFAULT random();
SELECT pg_temp.load('writer_t', '{"columns": ["a", "b"]}');
TRUNCATE writer_t;
ALTER TABLE writer_t ALTER c DROP DEFAULT;
SELECT pg_temp.load('writer_t', '{"columns": ["a", "b"], "where": "random() >= 0"}');
-- the privilege to lock it
TRUNCATE writer_t;
CREATE ROLE writer_role;
GRANT pg_read_server_files TO writer_role;
GRANT INSERT ON writer_t TO writer_role;
SET ROLE writer_role;
SELECT pg_temp.load('writer_t', '{"columns": ["a", "b"]}');
RESET ROLE;
TRUNCATE writer_t;
GRANT DELETE ON writer_t TO writer_role;
SET ROLE writer_role;
SELECT pg_temp.load('writer_t', '{"columns": ["a", "b"]}');
RESET ROLE;
DROP TABLE writer_t;
REVOKE pg_read_server_files FROM writer_role;
DROP ROLE writer_role;
