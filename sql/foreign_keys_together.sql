-- keys that are looked up together, in a referenced index of many leaves
SET client_min_messages = warning;
SET maintenance_work_mem = '1MB';
CREATE TABLE together_p (id int PRIMARY KEY, k text COLLATE "C" UNIQUE, a int, b bigint, n numeric UNIQUE, v int, UNIQUE (b, a)) WITH (autovacuum_enabled = off);
INSERT INTO together_p SELECT i, 'key ' || i || repeat('-', i % 30), i / 7, i % 7, i, 0 FROM generate_series(1, 12000) i ORDER BY i * 7919 % 12007;
CREATE TABLE together_t (line int, id int REFERENCES together_p, k text REFERENCES together_p (k), a int, b bigint, FOREIGN KEY (a, b) REFERENCES together_p (a, b));
-- a file of so many rows: those of the rows of together_p, in no order, some values null
CREATE FUNCTION together_file(rows int, wrong text DEFAULT 'false') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($q$COPY (SELECT line, CASE WHEN %1$s THEN -line WHEN line %% 11 <> 0 THEN i END, CASE WHEN line %% 13 <> 0 THEN 'key ' || i || repeat('-', i %% 30) END, i / 7, CASE WHEN line %% 17 <> 0 THEN i %% 7 END
		FROM (SELECT line, (1 + line::bigint * 7919 %% 12000)::int AS i FROM generate_series(1, %2$s) line) s) TO '/proc/self/cwd/pgbulk_together_in' WITH (FORMAT csv)$q$, wrong, rows);
END $$;
-- What a load tells, and which rows it has locked, beside those that the rows of the load refer to.  What others have done to
-- together_p before is in `before`; all is rolled back.
CREATE FUNCTION together_load(options jsonb DEFAULT '{}', before text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	EXECUTE before;
	SELECT * INTO r FROM bulk_load('together_t', '/proc/self/cwd/pgbulk_together_in', '{"log_verbosity": "silent"}' || options);
	RETURN NEXT format('%s read, %s loaded, %s rejected, there are %s', r.rows_read, r.rows_loaded, r.rows_rejected, (SELECT count(*) FROM together_t));
	RETURN QUERY SELECT format('%s shown, line %s, %s, %s', count(*), min((f ->> 'line')::int), min((f ->> 'column') COLLATE "C"), min((f ->> 'message') COLLATE "C")) FROM jsonb_array_elements(r.details -> 'rejects' -> 'first') f HAVING count(*) > 0;
	IF before = '' THEN
		CREATE TEMP TABLE together_locked ON COMMIT DROP AS SELECT id, k, a, b FROM together_p WHERE xmax::text IN (SELECT DISTINCT xmin::text FROM together_t);
		RETURN QUERY SELECT format('%s rows locked, %s of them without need', (SELECT count(*) FROM together_locked), (SELECT count(*) FROM (SELECT id FROM together_locked
			EXCEPT SELECT l.id FROM together_locked l JOIN together_t USING (id) EXCEPT SELECT l.id FROM together_locked l JOIN together_t USING (k) EXCEPT SELECT l.id FROM together_locked l JOIN together_t USING (a, b)) s));
	END IF;
	RAISE EXCEPTION SQLSTATE '99999';
EXCEPTION
	WHEN SQLSTATE '99999' THEN
		NULL;
	WHEN OTHERS THEN
		RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
END $$;

-- all, more than the memory holds; few; none
SELECT together_file(15000);
SELECT * FROM together_load();
SELECT * FROM together_load('{"writer": "direct", "workers": 2}');
SELECT * FROM together_load('{"writer": "buffered"}');
SET maintenance_work_mem = '64MB';
SELECT * FROM together_load();
SELECT together_file(3);
SELECT * FROM together_load();
SELECT together_file(0);
SELECT * FROM together_load();
-- some that are missing, among many
SET maintenance_work_mem = '1MB';
SELECT together_file(15000, 'line IN (1, 9000, 14999)');
SELECT * FROM together_load();
SELECT * FROM together_load('{"on_error": "ignore"}');
SELECT together_file(15000, 'line % 9 = 0');
SELECT * FROM together_load('{"on_error": "ignore"}');
-- all levels of isolation
SELECT together_file(9000, 'line = 8999');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM together_load('{"on_error": "ignore"}');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM together_load('{"on_error": "ignore"}');
SELECT mode, count(*) > 0 AS some FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'SIReadLock' AND relation = 'together_p_pkey'::regclass GROUP BY mode;
COMMIT;

-- rows whose entries are not the only ones with their keys, as they were updated, or are on other pages now
SELECT together_file(9000);
SELECT * FROM together_load(before => 'UPDATE together_p SET v = 1 WHERE id % 2 = 0; UPDATE together_p SET n = -n WHERE id % 3 = 0; UPDATE together_p SET n = -n WHERE id % 3 = 0');
-- leaves that are empty and go, then are filled with others
DELETE FROM together_p WHERE id BETWEEN 5000 AND 7000;
SELECT * FROM together_load('{"on_error": "ignore"}');
VACUUM together_p;
SELECT * FROM together_load('{"on_error": "ignore"}');
INSERT INTO together_p SELECT i, 'key ' || i || repeat('-', i % 30), i / 7, i % 7, i, 0 FROM generate_series(40000, 42000) i;
VACUUM together_p;
SELECT * FROM together_load('{"on_error": "ignore"}');
INSERT INTO together_p SELECT i, 'key ' || i || repeat('-', i % 30), i / 7, i % 7, i, 0 FROM generate_series(5000, 7000) i;
SELECT * FROM together_load();

-- what looks different and is equal; the empty string; nulls, MATCH FULL; other types, which are looked up one by one
DROP TABLE together_t;
INSERT INTO together_p VALUES (0, '', 0, 9, 0, 0);
CREATE TABLE together_t (line int, n numeric REFERENCES together_p (n), k text REFERENCES together_p (k), a int, b bigint, id bigint REFERENCES together_p (id), FOREIGN KEY (a, b) REFERENCES together_p (a, b) MATCH FULL);
COPY (SELECT line, i || '.' || repeat('0', 1 + line % 3), CASE WHEN line % 5 > 0 THEN '' ELSE 'key ' || i || repeat('-', i % 30) END AS k, CASE WHEN line % 7 > 0 THEN i / 7 END, CASE WHEN line % 7 > 0 THEN i % 7 END AS b, i
	FROM (SELECT line, 1 + line * 7919 % 500 AS i FROM generate_series(1, 3000) line) s) TO '/proc/self/cwd/pgbulk_together_in' WITH (FORMAT csv, FORCE_QUOTE (k));
SELECT * FROM together_load();
COPY (SELECT line, i || '.' || repeat('0', 1 + line % 3), '' AS k, CASE WHEN line <> 1500 THEN i / 7 END, i % 7, CASE WHEN line = 1600 THEN -1 ELSE i END
	FROM (SELECT line, 1 + line * 7919 % 500 AS i FROM generate_series(1, 3000) line) s) TO '/proc/self/cwd/pgbulk_together_in' WITH (FORMAT csv, FORCE_QUOTE (k));
SELECT * FROM together_load('{"on_error": "ignore"}');
SELECT * FROM together_load();

-- an index that holds more than the key, where INCLUDE columns are; partitions, which share what they know
DROP TABLE together_t;
CREATE TABLE together_i (i int, v int, PRIMARY KEY (i) INCLUDE (v));
INSERT INTO together_i SELECT i, i FROM generate_series(1, 11000) i;
CREATE TABLE together_t (line int, id int, k text, a int, b bigint) PARTITION BY HASH (line);
CREATE TABLE together_t1 PARTITION OF together_t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE together_t2 (b bigint, a int, k text, id int REFERENCES together_i, line int);
ALTER TABLE together_t ATTACH PARTITION together_t2 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
ALTER TABLE together_t ADD FOREIGN KEY (id) REFERENCES together_p, ADD FOREIGN KEY (a, b) REFERENCES together_p (a, b), ADD FOREIGN KEY (k) REFERENCES together_p (k);
SELECT together_file(15000);
SELECT * FROM together_load('{"on_error": "ignore"}');
ALTER TABLE together_t2 DROP CONSTRAINT together_t2_id_fkey;
SELECT * FROM together_load();
SELECT together_file(15000, 'line % 4000 = 0');
SELECT * FROM together_load('{"on_error": "ignore"}');

DROP TABLE together_t;
-- rows that refer to the same row follow each other, good and bad ones, with nulls between them
CREATE TABLE together_t (line int, id int REFERENCES together_p, k text REFERENCES together_p (k), a int, b bigint, FOREIGN KEY (a, b) REFERENCES together_p (a, b));
COPY (SELECT line, CASE WHEN line % 23 <> 0 THEN i END, CASE WHEN line % 29 <> 0 THEN 'key ' || i || repeat('-', i % 30) END, i / 7, CASE WHEN line % 31 <> 0 THEN i % 7 END
	FROM (SELECT line, 1 + line / 5 AS i FROM generate_series(1, 12000) line) s) TO '/proc/self/cwd/pgbulk_together_in' WITH (FORMAT csv);
SELECT * FROM together_load();
COPY (SELECT line, CASE WHEN line % 23 <> 0 THEN CASE WHEN i % 400 = 0 THEN -i ELSE i END END, CASE WHEN i % 900 = 0 THEN 'none' ELSE 'key ' || i || repeat('-', i % 30) END, CASE WHEN i % 1100 = 0 THEN -1 ELSE i / 7 END, CASE WHEN line % 31 <> 0 THEN i % 7 END
	FROM (SELECT line, 1 + line / 5 AS i FROM generate_series(1, 12000) line) s) TO '/proc/self/cwd/pgbulk_together_in' WITH (FORMAT csv);
SELECT count(*) FILTER (WHERE i % 400 = 0 AND line % 23 <> 0 OR i % 900 = 0 OR i % 1100 = 0 AND line % 31 <> 0) AS bad FROM (SELECT line, 1 + line / 5 AS i FROM generate_series(1, 12000) line) s;
SELECT * FROM together_load('{"on_error": "ignore"}');
SELECT * FROM together_load();

-- One row that is bad among many, at one place after the other, most of them in what workers have formed: keys that these have
-- collected are looked up, too.  A condition makes all processes slow, so that none is done before others begin; before 16 no worker
-- may evaluate one.
CREATE TABLE together_s (line int, id int REFERENCES together_p);
CREATE FUNCTION together_spread(OUT loads int, OUT with_workers int, OUT loaded bigint, OUT rejected text) LANGUAGE plpgsql AS $$
DECLARE
	r record;
	rejects int[];
BEGIN
	loads := 0; with_workers := 0; loaded := 0;
	FOR place IN 300..5700 BY 600 LOOP
		EXECUTE format($q$COPY (SELECT line, CASE WHEN line = %s THEN -1 ELSE 1 + line %% 4000 END FROM generate_series(1, 6000) line) TO '/proc/self/cwd/pgbulk_together_in' WITH (FORMAT csv)$q$, place);
		SELECT * INTO r FROM bulk_load('together_s', '/proc/self/cwd/pgbulk_together_in',
			'{"writer": "direct", "workers": 2, "on_error": "ignore", "log_verbosity": "silent", "where": "line % 100 > 0 OR md5(repeat(line::text, 100000)) IS NOT NULL"}');
		loads := loads + 1; with_workers := with_workers + (r.workers > 0)::int; loaded := loaded + r.rows_loaded;
		rejects := rejects || (SELECT array_agg((f ->> 'line')::int) FROM jsonb_array_elements(r.details -> 'rejects' -> 'first') f);
	END LOOP;
	rejected := rejects;
END $$;
SET pgbulk.chunk_size = 1024;
SELECT loads, with_workers = CASE WHEN current_setting('server_version_num')::int < 160000 THEN 0 ELSE loads END AS with_workers, loaded, rejected FROM together_spread();
RESET pgbulk.chunk_size;
DROP TABLE together_s;
DROP FUNCTION together_spread;

-- keys that are in the TOAST table: the rows are read again for them
CREATE TABLE together_e (k text COLLATE "C" PRIMARY KEY);
INSERT INTO together_e SELECT (SELECT string_agg(md5(i || '/' || j), '') FROM generate_series(1, 70) j) FROM generate_series(1, 3) i;
CREATE TABLE together_w (line int, k text COLLATE "C" REFERENCES together_e);
ALTER TABLE together_w ALTER k SET STORAGE EXTERNAL;
COPY (SELECT line, k FROM generate_series(1, 300) line, LATERAL (SELECT k FROM together_e ORDER BY k OFFSET line % 3 LIMIT 1) s) TO '/proc/self/cwd/pgbulk_together_in' WITH (FORMAT csv);
SELECT rows_loaded, rows_rejected FROM bulk_load('together_w', '/proc/self/cwd/pgbulk_together_in', '{"writer": "direct"}');
SELECT count(*), count(DISTINCT k), pg_relation_size(reltoastrelid) > 0 AS toasted FROM together_w, pg_class WHERE oid = 'together_w'::regclass GROUP BY reltoastrelid;
TRUNCATE together_w;
DELETE FROM together_e WHERE k = (SELECT min(k) FROM together_e);
SELECT rows_loaded, rows_rejected FROM bulk_load('together_w', '/proc/self/cwd/pgbulk_together_in', '{"writer": "direct", "on_error": "ignore", "log_verbosity": "silent"}');
SET pgbulk.chunk_size = 4096;
SELECT rows_loaded, rows_rejected, workers > 0 AS with_workers FROM bulk_load('together_w', '/proc/self/cwd/pgbulk_together_in', '{"writer": "direct", "workers": 2, "truncate": true, "on_error": "ignore", "log_verbosity": "silent"}');
RESET pgbulk.chunk_size;

-- for other keys no page of the load is read again: not many more are fetched than without keys
CREATE TABLE together_n (line int, id int, filler text);
CREATE FUNCTION together_pages() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_stat_reset_single_table_counters('together_n'::regclass);
	PERFORM pg_stat_force_next_flush();
	EXECUTE 'TRUNCATE together_n';
	PERFORM FROM bulk_load('together_n', '/proc/self/cwd/pgbulk_together_in', '{"writer": "direct", "workers": 0}');
	RETURN pg_relation_size('together_n') / current_setting('block_size')::int;
END $$;
COPY (SELECT line, 1 + line % 4000, repeat('x', 700) FROM generate_series(1, 4000) line) TO '/proc/self/cwd/pgbulk_together_in' WITH (FORMAT csv);
SELECT together_pages() AS pages \gset
SELECT pg_stat_force_next_flush();
SELECT heap_blks_read + heap_blks_hit AS without_keys FROM pg_statio_user_tables WHERE relname = 'together_n' \gset
TRUNCATE together_n;
ALTER TABLE together_n ADD FOREIGN KEY (id) REFERENCES together_p;
SELECT together_pages() AS pages \gset
SELECT pg_stat_force_next_flush();
SELECT heap_blks_read + heap_blks_hit - :without_keys < :pages / 2 AS not_read_again, :pages > 300 AS many FROM pg_statio_user_tables WHERE relname = 'together_n';
-- many different keys take no temporary file where that would exceed its limit
SELECT together_file(12000);
CREATE TABLE together_l (line int, id int REFERENCES together_p, k text, a int, b bigint);
SET temp_file_limit = '64kB';
SELECT rows_loaded FROM bulk_load('together_l', '/proc/self/cwd/pgbulk_together_in', '{"writer": "direct"}');
RESET temp_file_limit;
-- where no row comes no referenced table is opened
SELECT together_file(0);
BEGIN;
SELECT rows_loaded FROM bulk_load('together_n', '/proc/self/cwd/pgbulk_together_in', '{"writer": "direct"}');
SELECT count(*) FROM pg_locks WHERE relation = 'together_p'::regclass AND pid = pg_backend_pid();
COMMIT;
DROP TABLE together_l, together_n, together_w, together_e;
DROP FUNCTION together_pages;

DROP TABLE together_t, together_p, together_i;
DROP FUNCTION together_file, together_load;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_together_gone; rm -f pgbulk_together_*';
