-- rows whose keys the table has already are found before they are stored
SET client_min_messages = warning;
CREATE TABLE known_t (k text, n int, b text, UNIQUE (k, n)) WITH (autovacuum_enabled = off);
ALTER TABLE known_t ALTER b SET STORAGE EXTERNAL;
CREATE TABLE known_buffered (LIKE known_t INCLUDING ALL) WITH (autovacuum_enabled = off);
-- loads a file into equal tables with both writers
CREATE FUNCTION known_load(options jsonb DEFAULT '{}') RETURNS TABLE (load text, first text) LANGUAGE plpgsql AS $$
DECLARE
	r record;
	s record;
	before bigint := pg_relation_size('known_t');
BEGIN
	SELECT * INTO r FROM bulk_load('known_t', '/proc/self/cwd/pgbulk_known_in', '{"on_duplicate": "keep_old", "writer": "direct", "workers": 0}' || options);
	SELECT * INTO s FROM bulk_load('known_buffered', '/proc/self/cwd/pgbulk_known_in', '{"on_duplicate": "keep_old", "writer": "buffered"}' || options);
	IF (r.rows_read, r.rows_loaded, r.rows_duplicate, r.rows_rejected) IS DISTINCT FROM (s.rows_read, s.rows_loaded, s.rows_duplicate, s.rows_rejected) THEN
		RAISE EXCEPTION '% is not %', r, s;
	END IF;
	PERFORM FROM (TABLE known_t EXCEPT ALL TABLE known_buffered UNION ALL (TABLE known_buffered EXCEPT ALL TABLE known_t)) d;
	IF FOUND THEN
		RAISE EXCEPTION 'the tables differ';
	END IF;
	RETURN QUERY SELECT format('%s read, %s loaded, %s duplicate, %s rejected', r.rows_read, r.rows_loaded, r.rows_duplicate, r.rows_rejected) ||
		CASE WHEN pg_relation_size('known_t') = before THEN ', same size' ELSE '' END,
		string_agg(format('%s: %s', f ->> 'line', f ->> 'message'), E'\n') FROM jsonb_array_elements(r.details -> 'rejects' -> 'first') f;
END $$;
CREATE FUNCTION known_fill(rows int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE known_t, known_buffered;
	INSERT INTO known_t SELECT 'key ' || i % 100, i, 'old' FROM generate_series(1, rows) i;
	INSERT INTO known_buffered SELECT * FROM known_t;
END $$;

-- all of them: nothing is stored, whether or not the visibility map tells that their rows stand
SELECT known_fill(3000);
COPY (SELECT 'key ' || i % 100, i, 'new' FROM generate_series(1, 3000) i ORDER BY i * 7919 % 3001) TO '/proc/self/cwd/pgbulk_known_in' WITH (FORMAT csv);
SELECT * FROM known_load();
VACUUM known_t, known_buffered;
SELECT * FROM known_load();
SELECT load FROM known_load('{"limit": 1000}');
SELECT load FROM known_load('{"where": "n % 3 = 0"}');
-- in the transaction of those rows, and where a snapshot counts
BEGIN;
SELECT known_fill(3000);
SELECT load FROM known_load();
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT load FROM known_load();
COMMIT;
-- each is wanted
SELECT load FROM known_load('{"duplicate_limit": 3000}');
SELECT load FROM known_load('{"duplicate_limit": 2999}');
SELECT load FROM known_load('{"reject_table": "known_rejects"}');
SELECT rows_loaded, rows_duplicate FROM bulk_load_query('known_t', 'SELECT ''key '' || i % 100, i, ''from a query'' FROM generate_series(1, 3000) i', '{"on_duplicate": "keep_old", "writer": "direct", "reject_table": "known_rejects"}');
SELECT rows_loaded, rows_duplicate FROM bulk_load_query('known_buffered', 'SELECT ''key '' || i % 100, i, ''from a query'' FROM generate_series(1, 3000) i', '{"on_duplicate": "keep_old", "reject_table": "known_rejects"}');
SELECT target, count(*), count(DISTINCT line_number) AS lines, min(raw_line COLLATE "C"), max(raw_line COLLATE "C"), count(raw_bytes) AS bytes FROM known_rejects GROUP BY load_id, target ORDER BY load_id;
SELECT message FROM known_rejects WHERE line_number = 3000 ORDER BY load_id;
DROP TABLE known_rejects;

-- rows that are deleted, updated, and updated on the same page; null is equal to nothing; rows of the file that share a key
DELETE FROM known_t WHERE n % 10 = 1;
UPDATE known_t SET b = 'updated' WHERE n % 10 = 2;
UPDATE known_t SET n = n + 10000 WHERE n % 10 = 3;
DELETE FROM known_buffered WHERE n % 10 = 1;
UPDATE known_buffered SET b = 'updated' WHERE n % 10 = 2;
UPDATE known_buffered SET n = n + 10000 WHERE n % 10 = 3;
COPY (SELECT CASE WHEN i % 50 <> 7 THEN 'key ' || i % 100 END, i, 'new ' || j FROM generate_series(1, 3000) i, generate_series(1, 2) j ORDER BY i * 7919 % 3001, j) TO '/proc/self/cwd/pgbulk_known_in' WITH (FORMAT csv);
SELECT load FROM known_load();
SELECT b, count(*) FROM known_t GROUP BY b ORDER BY b;
SELECT load FROM known_load();

-- many known ones, and none, and many: rows are tried from time to time; wide rows; little memory
SELECT known_fill(30000);
COPY (SELECT 'key ' || i % 100, CASE WHEN i BETWEEN 10001 AND 40000 THEN i + 100000 ELSE i % 30000 END, CASE WHEN i % 5000 = 0 OR i = 10001 THEN repeat('wide', 1000) ELSE 'new' END FROM generate_series(1, 80000) i) TO '/proc/self/cwd/pgbulk_known_in' WITH (FORMAT csv);
SELECT load FROM known_load();
SET maintenance_work_mem = '1MB';
SELECT known_fill(30000);
SELECT load FROM known_load();
RESET maintenance_work_mem;
SET enable_seqscan = off;
SELECT count(*) FROM known_t WHERE k = 'key 7' AND n BETWEEN 0 AND 1000000;
RESET enable_seqscan;
-- no workers as long as keys are looked up
SET pgbulk.chunk_size = '64kB';
SELECT workers, details ->> 'no_workers' AS no_workers FROM bulk_load('known_t', '/proc/self/cwd/pgbulk_known_in', '{"on_duplicate": "keep_old", "writer": "direct", "workers": 1, "analyze": false}');
RESET pgbulk.chunk_size;
-- a dry run
SELECT rows_loaded, rows_duplicate FROM bulk_load('known_t', '/proc/self/cwd/pgbulk_known_in', '{"on_duplicate": "keep_old", "writer": "direct", "dry_run": true}');

-- rows that are looked at one by one, some of which are bad; an error about a later one
SELECT known_fill(3000);
ALTER TABLE known_t ADD CHECK (n <> 3002);
ALTER TABLE known_buffered ADD CHECK (n <> 3002);
COPY (SELECT 'key ' || i % 100, CASE WHEN i % 1000 = 1 THEN 'x' ELSE i::text END, 'new' FROM generate_series(1, 4000) i) TO '/proc/self/cwd/pgbulk_known_in' WITH (FORMAT csv);
SELECT load FROM known_load('{"on_error": "ignore", "log_verbosity": "silent"}');
COPY (SELECT 'key ' || i % 100, CASE WHEN i = 3500 THEN 'x' ELSE i::text END, 'new' FROM generate_series(1, 4000) i) TO '/proc/self/cwd/pgbulk_known_in' WITH (FORMAT csv);
SELECT load FROM known_load();

-- integers, and keys that are equal but not the same
DROP TABLE known_t, known_buffered;
CREATE TABLE known_t (n int UNIQUE, c numeric);
CREATE TABLE known_buffered (n int UNIQUE, c numeric);
INSERT INTO known_t SELECT i FROM generate_series(1, 2000) i;
INSERT INTO known_buffered TABLE known_t;
COPY (SELECT nullif(i, 1500), i + 0.50 FROM generate_series(2500, 1, -1) i) TO '/proc/self/cwd/pgbulk_known_in' WITH (FORMAT csv);
SELECT load FROM known_load();
SELECT load FROM known_load();
DROP TABLE known_t, known_buffered;
CREATE TABLE known_t (c numeric UNIQUE);
CREATE TABLE known_buffered (c numeric UNIQUE);
INSERT INTO known_t SELECT i FROM generate_series(1, 2000) i;
INSERT INTO known_buffered TABLE known_t;
COPY (SELECT i || '.00' FROM generate_series(1, 2500) i) TO '/proc/self/cwd/pgbulk_known_in' WITH (FORMAT csv);
SELECT load FROM known_load();
DROP TABLE known_t, known_buffered;
DROP FUNCTION known_load, known_fill;
