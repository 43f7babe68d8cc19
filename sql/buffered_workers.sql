--
-- Parallel workers form rows that the backend stores among those of other sessions: the result of one process.
--
\set file '/proc/self/cwd/pgbulk_buffered_workers'
COPY (SELECT i, repeat('x', i % 40) || CASE WHEN i % 7 = 0 THEN E',"\n' ELSE '' END, i / 8.0 FROM generate_series(1, 20000) i)
	TO '/proc/self/cwd/pgbulk_buffered_workers' WITH (FORMAT csv);
SET pgbulk.chunk_size = 4096;
CREATE FUNCTION pg_temp.load(t regclass, options jsonb, path text DEFAULT '/proc/self/cwd/pgbulk_buffered_workers') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	SELECT * INTO r FROM bulk_load(t, path, '{"writer": "buffered", "workers": 2, "log_verbosity": "silent"}' || options);
	RETURN format('%s read, %s loaded, %s rejected, %s filtered, %s%s', r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_filtered, r.writer,
		CASE WHEN r.workers > 0 OR r.details ->> 'no_workers' LIKE '%since PostgreSQL 17.' THEN ' with workers'
			ELSE ' alone' || coalesce(': ' || (r.details ->> 'no_workers'), '') END);
END $$;

-- rows in the order of the file; indexes of several kinds, and foreign keys
CREATE TABLE buffered_ref (a int PRIMARY KEY);
INSERT INTO buffered_ref SELECT generate_series(1, 20000);
CREATE TABLE buffered_t (id serial, a int REFERENCES buffered_ref, b text NOT NULL, c numeric, UNIQUE (a, b));
CREATE INDEX ON buffered_t USING hash (b);
CREATE INDEX ON buffered_t USING brin (a);
CREATE INDEX ON buffered_t ((a % 100)) WHERE a > 10;
SELECT pg_temp.load('buffered_t', '{"columns": ["a", "b", "c"]}');
-- how each index got its entries
SELECT i ->> 'index' AS index, i ->> 'method' AS method, i ->> 'in_batches' AS in_batches
	FROM jsonb_array_elements((bulk_load_last()).details -> 'indexes') i ORDER BY 1;
CREATE TABLE buffered_copy (a int, b text, c numeric);
COPY buffered_copy FROM :'file' WITH (FORMAT csv);
SELECT count(*) FROM (SELECT a, b, c FROM buffered_t EXCEPT ALL SELECT a, b, c FROM buffered_copy) x;
SELECT count(*), bool_and(ordered), min(id), max(id) FROM (SELECT id, a > lag(a, 1, 0) OVER (ORDER BY id) AS ordered FROM buffered_t) x;
SET enable_seqscan = off;
SELECT count(*) FROM buffered_t WHERE b = 'xxx';
SELECT count(*) FROM buffered_t WHERE a % 100 = 7 AND a > 10;
SELECT sum(c) FROM buffered_t WHERE a BETWEEN 3000 AND 4000;
RESET enable_seqscan;

-- so many entries that they go in several times
TRUNCATE buffered_t;
SET maintenance_work_mem = '1MB';
SELECT pg_temp.load('buffered_t', '{"columns": ["a", "b", "c"]}');
RESET maintenance_work_mem;
SET enable_seqscan = off;
SELECT count(*), sum(a) FROM buffered_t WHERE a > 0;
RESET enable_seqscan;

-- what is found when rows are stored has the line, and the text where it can be read again
SELECT bulk_load('buffered_t', :'file', '{"writer": "buffered", "workers": 2, "columns": ["a", "b", "c"]}');
TRUNCATE buffered_t;
DELETE FROM buffered_ref WHERE a = 17777;
SELECT bulk_load('buffered_t', :'file', '{"writer": "buffered", "workers": 2, "columns": ["a", "b", "c"]}');
SELECT pg_temp.load('buffered_t', '{"columns": ["a", "b", "c"], "on_error": "ignore", "reject_table": "buffered_rejects"}');
SELECT line_number, reason, raw_line FROM buffered_rejects;
DROP TABLE buffered_t, buffered_ref, buffered_rejects;
CREATE TABLE buffered_big (a int, s text);
ALTER TABLE buffered_big ALTER s SET STORAGE plain;
COPY (SELECT i, repeat('x', CASE WHEN i = 15000 THEN 10000 ELSE 10 END) FROM generate_series(1, 20000) i)
	TO '/proc/self/cwd/pgbulk_buffered_big' WITH (FORMAT csv);
SELECT bulk_load('buffered_big', '/proc/self/cwd/pgbulk_buffered_big', '{"writer": "buffered", "workers": 2}');
SELECT count(*) FROM buffered_big;

-- rows that are too large for their way to the backend
ALTER TABLE buffered_big ALTER s SET STORAGE extended;
COPY (SELECT i, repeat('x', CASE WHEN i IN (500, 600) THEN 1200000 ELSE 10 END) FROM generate_series(1, 20000) i)
	TO '/proc/self/cwd/pgbulk_buffered_big' WITH (FORMAT csv);
SELECT pg_temp.load('buffered_big', '{}', '/proc/self/cwd/pgbulk_buffered_big');
SELECT count(*), sum(length(s)), bool_and(ordered) FROM (SELECT s, a > lag(a, 1, 0) OVER (ORDER BY ctid) AS ordered FROM buffered_big) x;
DROP TABLE buffered_big;

-- bad rows in their order, and limits
CREATE TABLE buffered_t (a int, b varchar(38), c numeric);
SELECT pg_temp.load('buffered_t', '{"on_error": "ignore", "reject_table": "buffered_rejects"}');
SELECT count(*), bool_and(ordered), min(line_number), max(line_number), min(reason), min(message) FROM
	(SELECT *, line_number > lag(line_number, 1, 0::bigint) OVER (ORDER BY ctid) AS ordered FROM buffered_rejects) x;
TRUNCATE buffered_t;
\set VERBOSITY terse
SELECT pg_temp.load('buffered_t', '{}');
SELECT pg_temp.load('buffered_t', '{"on_error": "ignore", "reject_limit": 7}');
\set VERBOSITY default
SELECT pg_temp.load('buffered_t', '{"on_error": "ignore", "limit": 12345}');
SELECT pg_temp.load('buffered_t', '{"on_error": "ignore", "limit": 12345, "limit_counts": "loaded"}');
SELECT pg_temp.load('buffered_t', '{"on_error": "ignore", "where": "a % 3 = 0"}');
SELECT pg_temp.load('buffered_t', '{"on_error": "ignore", "dry_run": true}');
SELECT count(*), sum(a) FROM buffered_t;
DROP TABLE buffered_t, buffered_rejects;

-- constraints, generated columns; within a savepoint that is rolled back
CREATE TABLE buffered_t (a int CHECK (a <> 500), b text NOT NULL, c numeric, d int GENERATED ALWAYS AS (a * 2) STORED);
BEGIN;
SAVEPOINT s;
SELECT pg_temp.load('buffered_t', '{"columns": ["a", "b", "c"], "on_error": "ignore", "null": "xxx"}');
SELECT count(*), sum(a), sum(d), bool_and(a NOT IN (500, 3, 43)) FROM buffered_t;
ROLLBACK TO s;
SELECT count(*) FROM buffered_t;
COMMIT;
DROP TABLE buffered_t;

-- what workers cannot help with
CREATE TABLE buffered_t (a int PRIMARY KEY, b text, c numeric);
SELECT pg_temp.load('buffered_t', '{"on_duplicate": "keep_old"}');
TRUNCATE buffered_t;
-- with an index workers may insert its entries, though they cannot convert rows
ALTER TABLE buffered_t DROP CONSTRAINT buffered_t_pkey;
CREATE FUNCTION buffered_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER t BEFORE INSERT ON buffered_t FOR EACH ROW EXECUTE FUNCTION buffered_trigger();
SELECT pg_temp.load('buffered_t', '{}');
DROP TRIGGER t ON buffered_t;
TRUNCATE buffered_t;
CREATE TRIGGER t AFTER INSERT ON buffered_t REFERENCING NEW TABLE AS new FOR EACH STATEMENT EXECUTE FUNCTION buffered_trigger();
SELECT pg_temp.load('buffered_t', '{}');
DROP TRIGGER t ON buffered_t;
TRUNCATE buffered_t;
CREATE FUNCTION buffered_unsafe(int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS 'BEGIN RETURN $1; END';
CREATE INDEX ON buffered_t (buffered_unsafe(a));
SELECT pg_temp.load('buffered_t', '{}');
DROP TABLE buffered_t;
CREATE TABLE buffered_t (a int, b text, c numeric) PARTITION BY HASH (a);
CREATE TABLE buffered_t_0 PARTITION OF buffered_t FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT pg_temp.load('buffered_t', '{}');
RESET pgbulk.chunk_size;
DROP TABLE buffered_t, buffered_copy;
DROP FUNCTION buffered_trigger, buffered_unsafe;
