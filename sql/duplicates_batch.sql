--
-- Duplicates by the batch: many rows, which are collected and then looked up together.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
SET maintenance_work_mem = '1MB';

-- Loads the file; compares the table with the result of INSERT ... ON CONFLICT DO NOTHING of the same rows in the order of the file.
CREATE FUNCTION pg_temp.compare(target regclass, options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	n bigint;
BEGIN
	EXECUTE format('CREATE TEMP TABLE expected (LIKE %s INCLUDING ALL)', target);
	EXECUTE format('INSERT INTO expected SELECT * FROM %s', target);
	CREATE TEMP TABLE rows_in AS TABLE expected WITH NO DATA;
	ALTER TABLE rows_in ADD line serial;
	EXECUTE format('COPY rows_in (%s) FROM ''/proc/self/cwd/pgbulk_duplicates_batch_in'' WITH (FORMAT csv)',
		(SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = target AND attnum > 0 AND NOT attisdropped));
	EXECUTE format('INSERT INTO expected SELECT %s FROM rows_in ORDER BY line ON CONFLICT DO NOTHING',
		(SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = target AND attnum > 0 AND NOT attisdropped));
	SELECT * INTO r FROM bulk_load(target, '/proc/self/cwd/pgbulk_duplicates_batch_in', options || '{"writer": "buffered", "on_duplicate": "keep_old", "log_verbosity": "silent"}');
	ASSERT r.rows_read = r.rows_loaded + r.rows_duplicate;
	ASSERT r.rows_duplicate = coalesce((r.details -> 'rejects' ->> 'duplicate')::bigint, 0);
	EXECUTE format('SELECT count(*) FROM ((TABLE %1$s EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE %1$s)) x', target) INTO n;
	RETURN NEXT format('%s loaded, %s duplicate, %s rows are others', r.rows_loaded, r.rows_duplicate, n);
	PERFORM bt_index_parent_check(indexrelid, true, true) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = target AND c.relam = 403;
	DROP TABLE expected, rows_in;
END $$;

-- keys in and out of the table, visible to everyone or not, dead, in HOT chains; duplicates in the file
CREATE TABLE duplicates_batch_t (a text, b int, c text, d int);
CREATE UNIQUE INDEX ON duplicates_batch_t (a, b) WITH (fillfactor = 20);
CREATE INDEX ON duplicates_batch_t (c) WITH (fillfactor = 20);
CREATE INDEX ON duplicates_batch_t USING hash (c);
INSERT INTO duplicates_batch_t SELECT 'key ' || i % 3001, i % 7, 'c' || i % 100, i FROM generate_series(1, 12000) i ON CONFLICT DO NOTHING;
UPDATE duplicates_batch_t SET d = -d WHERE d % 10 = 3;
DELETE FROM duplicates_batch_t WHERE d % 10 = 7;
VACUUM duplicates_batch_t;
UPDATE duplicates_batch_t SET d = -d WHERE d % 10 = 4;
UPDATE duplicates_batch_t SET c = 'moved', d = d + 1000000 WHERE d % 10 = 5;
DELETE FROM duplicates_batch_t WHERE d % 10 = 6;
COPY (SELECT 'key ' || (i * 7919) % 6007, i % 5, 'c' || i % 100, i FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_duplicates_batch_in' WITH (FORMAT csv);
SELECT pg_temp.compare('duplicates_batch_t');
SELECT pg_temp.compare('duplicates_batch_t');
VACUUM duplicates_batch_t;
SELECT pg_temp.compare('duplicates_batch_t');
DELETE FROM duplicates_batch_t;
SELECT pg_temp.compare('duplicates_batch_t');
TRUNCATE duplicates_batch_t;
SELECT pg_temp.compare('duplicates_batch_t');
BEGIN;
TRUNCATE duplicates_batch_t;
SELECT pg_temp.compare('duplicates_batch_t');
SELECT pg_temp.compare('duplicates_batch_t');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
DELETE FROM duplicates_batch_t WHERE d % 2 = 0;
SELECT pg_temp.compare('duplicates_batch_t');
ROLLBACK;

-- keep_new: the table and the counters are those of the direct writer, which finds duplicates when it builds its indexes
CREATE FUNCTION pg_temp.replace(target regclass, options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	e record;
	n bigint;
	m bigint;
BEGIN
	DROP TABLE IF EXISTS rejects_e, rejects_r;
	EXECUTE format('CREATE TEMP TABLE expected (LIKE %s INCLUDING ALL)', target);
	EXECUTE format('INSERT INTO expected SELECT * FROM %s', target);
	SELECT * INTO e FROM bulk_load('expected', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"reject_table": "rejects_e"}' || options || '{"writer": "direct", "on_duplicate": "keep_new", "log_verbosity": "silent"}');
	SELECT * INTO r FROM bulk_load(target, '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"reject_table": "rejects_r"}' || options || '{"writer": "buffered", "on_duplicate": "keep_new", "log_verbosity": "silent"}');
	ASSERT r.rows_read = r.rows_loaded + r.rows_duplicate;
	EXECUTE format('SELECT count(*) FROM ((TABLE %1$s EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE %1$s)) x', target) INTO n;
	IF options ? 'reject_table' THEN
		m := 0;
	ELSE
		EXECUTE 'SELECT count(*) FROM (SELECT line_number, reason, raw_line, regexp_replace(message, ''"[^"]*"'', '''') FROM rejects_r EXCEPT ALL SELECT line_number, reason, raw_line, regexp_replace(message, ''"[^"]*"'', '''') FROM rejects_e) x' INTO m;
	END IF;
	RETURN NEXT format('%s loaded, %s duplicate, %s replaced, otherwise %s, %s rows and %s rejects are others', r.rows_loaded, r.rows_duplicate, r.rows_replaced,
		nullif((e.rows_loaded, e.rows_duplicate, e.rows_replaced)::text, (r.rows_loaded, r.rows_duplicate, r.rows_replaced)::text), n, m);
	PERFORM bt_index_parent_check(indexrelid, true, true) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = target AND c.relam = 403;
	DROP TABLE expected;
END $$;
TRUNCATE duplicates_batch_t;
INSERT INTO duplicates_batch_t SELECT 'key ' || i % 3001, i % 7, 'c' || i % 100, i FROM generate_series(1, 12000) i ON CONFLICT DO NOTHING;
UPDATE duplicates_batch_t SET d = -d WHERE d % 10 = 3;
DELETE FROM duplicates_batch_t WHERE d % 10 = 7;
VACUUM duplicates_batch_t;
UPDATE duplicates_batch_t SET d = -d WHERE d % 10 = 4;
UPDATE duplicates_batch_t SET c = 'moved', d = d + 1000000 WHERE d % 10 = 5;
DELETE FROM duplicates_batch_t WHERE d % 10 = 6;
SELECT pg_temp.replace('duplicates_batch_t');
SELECT pg_temp.replace('duplicates_batch_t');
VACUUM duplicates_batch_t;
-- only the first rows that were replaced are described
SELECT rows_loaded, rows_duplicate, rows_replaced, details -> 'rejects' ->> 'replaced' AS replaced, details #>> '{rejects,first,0,line}' AS line, details #>> '{rejects,first,0,message}' AS message
FROM bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"writer": "buffered", "on_duplicate": "keep_new", "log_verbosity": "silent"}');
SELECT bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"writer": "buffered", "on_duplicate": "keep_new", "duplicate_limit": 12345}');
DELETE FROM duplicates_batch_t;
SELECT pg_temp.replace('duplicates_batch_t');
TRUNCATE duplicates_batch_t;
SELECT pg_temp.replace('duplicates_batch_t');
BEGIN;
TRUNCATE duplicates_batch_t;
SELECT pg_temp.replace('duplicates_batch_t');
SELECT pg_temp.replace('duplicates_batch_t');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
DELETE FROM duplicates_batch_t WHERE d % 2 = 0;
SELECT pg_temp.replace('duplicates_batch_t');
ROLLBACK;
-- duplicates far apart, in several batches
COPY (SELECT 'key ' || (i * 7919) % 6007, i % 5, 'c' || i % 100, i FROM generate_series(1, 20000) i UNION ALL SELECT 'key ' || (i * 7919) % 6007, i % 5, 'd' || i % 100, i FROM generate_series(1, 20000) i WHERE i % 3 = 0) TO '/proc/self/cwd/pgbulk_duplicates_batch_in' WITH (FORMAT csv);
SELECT pg_temp.replace('duplicates_batch_t');
SELECT pg_temp.compare('duplicates_batch_t');
COPY (SELECT 'key ' || (i * 7919) % 6007, i % 5, 'c' || i % 100, i FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_duplicates_batch_in' WITH (FORMAT csv);

-- rows that were set aside are described where somebody sees them
SELECT rows_loaded, rows_duplicate, jsonb_array_length(details -> 'rejects' -> 'first') AS first, details #>> '{rejects,first,0,line}' AS line, details #>> '{rejects,first,0,message}' AS message
FROM bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"writer": "buffered", "on_duplicate": "keep_old", "log_verbosity": "silent"}');
SELECT rows_loaded, rows_duplicate
FROM bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"writer": "buffered", "on_duplicate": "keep_old", "log_verbosity": "silent", "reject_table": "duplicates_batch_rejects", "reject_file": "/proc/self/cwd/pgbulk_duplicates_batch_bad"}');
SELECT count(*), count(DISTINCT line_number), min(line_number), max(line_number) FROM duplicates_batch_rejects;
SELECT md5(string_agg(raw_line || E'\n', '' ORDER BY line_number)) = md5(pg_read_file('/proc/self/cwd/pgbulk_duplicates_batch_in')) AS table_has_them,
	md5(pg_read_file('/proc/self/cwd/pgbulk_duplicates_batch_bad')) = md5(pg_read_file('/proc/self/cwd/pgbulk_duplicates_batch_in')) AS file_has_them FROM duplicates_batch_rejects;
SELECT line_number, message FROM duplicates_batch_rejects WHERE line_number IN (1, 19999) ORDER BY line_number;
DROP TABLE duplicates_batch_rejects;
-- and too many end the load at the right one
SELECT bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"writer": "buffered", "on_duplicate": "keep_old", "duplicate_limit": 12345}');
SELECT rows_duplicate FROM bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"writer": "buffered", "on_duplicate": "keep_old", "duplicate_limit": 20000, "log_verbosity": "silent"}');
SELECT bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"writer": "buffered", "on_duplicate": "keep_old", "duplicate_limit": "99%"}');
SELECT rows_read, rows_loaded, rows_duplicate FROM bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"writer": "buffered", "on_duplicate": "keep_old", "limit": 1234, "limit_counts": "loaded", "log_verbosity": "silent"}');
DROP TABLE duplicates_batch_t;

-- nulls, and where they are equal; a single integer; keys that are not integers
CREATE TABLE duplicates_batch_t (a int, b numeric);
COPY (SELECT CASE WHEN i % 5 > 0 THEN i * 7919 % 5003 END, CASE WHEN i % 2 = 0 THEN (i % 100)::numeric(10, 1) ELSE (i % 100)::numeric(10, 3) END FROM generate_series(1, 10000) i) TO '/proc/self/cwd/pgbulk_duplicates_batch_in' WITH (FORMAT csv);
CREATE UNIQUE INDEX u ON duplicates_batch_t (a);
SELECT pg_temp.compare('duplicates_batch_t');
SELECT pg_temp.replace('duplicates_batch_t');
DROP INDEX u;
TRUNCATE duplicates_batch_t;
CREATE UNIQUE INDEX u ON duplicates_batch_t (a) NULLS NOT DISTINCT;
SELECT pg_temp.compare('duplicates_batch_t');
SELECT pg_temp.compare('duplicates_batch_t');
SELECT pg_temp.replace('duplicates_batch_t');
DROP INDEX u;
TRUNCATE duplicates_batch_t;
CREATE UNIQUE INDEX u ON duplicates_batch_t (b DESC) INCLUDE (a);
SELECT pg_temp.compare('duplicates_batch_t');
SELECT pg_temp.compare('duplicates_batch_t');
SELECT pg_temp.replace('duplicates_batch_t');
DROP INDEX u;
TRUNCATE duplicates_batch_t;
CREATE UNIQUE INDEX u ON duplicates_batch_t (((b * 10)::int), (a % 10)) WHERE a > 1000;
SELECT pg_temp.compare('duplicates_batch_t');
SELECT pg_temp.compare('duplicates_batch_t');
SELECT pg_temp.replace('duplicates_batch_t');
DROP TABLE duplicates_batch_t;

-- long keys, some compressed, and values out of line
CREATE TABLE duplicates_batch_t (k text PRIMARY KEY, w text);
ALTER TABLE duplicates_batch_t ALTER w SET STORAGE EXTERNAL;
COPY (SELECT repeat(md5((i % 700)::text), 1 + i % 700 % 60), repeat('w', i % 10 * 500) FROM generate_series(1, 3000) i) TO '/proc/self/cwd/pgbulk_duplicates_batch_in' WITH (FORMAT csv);
SELECT pg_temp.compare('duplicates_batch_t');
SELECT pg_temp.compare('duplicates_batch_t');
-- compressed otherwise
UPDATE duplicates_batch_t SET k = k || '';
VACUUM duplicates_batch_t;
SELECT pg_temp.compare('duplicates_batch_t');
SELECT pg_temp.replace('duplicates_batch_t');
DROP TABLE duplicates_batch_t;

-- errors of collected rows have their lines
CREATE TABLE duplicates_batch_t (k text UNIQUE, v text);
CREATE INDEX ON duplicates_batch_t ((100 / (length(v) - 3)));
COPY (SELECT 'key ' || i, CASE WHEN i = 1777 THEN 'abc' ELSE 'abcd' END FROM generate_series(1, 3000) i) TO '/proc/self/cwd/pgbulk_duplicates_batch_in' WITH (FORMAT csv);
SELECT bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"writer": "buffered", "on_duplicate": "keep_old"}');
COPY (SELECT CASE WHEN i = 1777 THEN (SELECT string_agg(md5(j::text), '') FROM generate_series(1, 300) j) ELSE 'key ' || i END, 'abcd' FROM generate_series(1, 3000) i) TO '/proc/self/cwd/pgbulk_duplicates_batch_in' WITH (FORMAT csv);
DO $$
DECLARE
	context text;
BEGIN
	PERFORM bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"writer": "buffered", "on_duplicate": "keep_old"}');
EXCEPTION WHEN program_limit_exceeded THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RAISE INFO '%', substring(context, 'line [0-9]+');
END $$;
SELECT count(*) FROM duplicates_batch_t;
DROP TABLE duplicates_batch_t;

-- bad rows among them, and a dry run
CREATE TABLE duplicates_batch_t (a int PRIMARY KEY, b int CHECK (b < 5000), c int GENERATED ALWAYS AS (b % 10) STORED);
INSERT INTO duplicates_batch_t SELECT i, i FROM generate_series(1, 4000, 3) i;
COPY (SELECT i % 2500, CASE WHEN i % 1000 = 0 THEN 'x' WHEN i % 1500 = 0 THEN '6000' ELSE (i % 4000)::text END FROM generate_series(1, 5999) i) TO '/proc/self/cwd/pgbulk_duplicates_batch_in' WITH (FORMAT csv);
SELECT rows_read, rows_loaded, rows_rejected, rows_duplicate FROM bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"columns": ["a", "b"], "writer": "buffered", "on_duplicate": "keep_old", "on_error": "ignore", "log_verbosity": "silent", "dry_run": true}');
SELECT count(*), sum(a), sum(c) FROM duplicates_batch_t;
SELECT rows_read, rows_loaded, rows_rejected, rows_duplicate FROM bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"columns": ["a", "b"], "writer": "buffered", "on_duplicate": "keep_old", "on_error": "ignore", "log_verbosity": "silent"}');
SELECT count(*), sum(a), sum(c) FROM duplicates_batch_t;
SELECT count(bt_index_parent_check('duplicates_batch_t_pkey', true, true));
DROP TABLE duplicates_batch_t;

-- keys whose order is that of their bytes, is not, or begins so: both cases, punctuation, other letters, long and compressed, none at all, numbers and bytes beside them
CREATE TABLE duplicates_batch_t (a text, b int, c uuid, d text);
CREATE UNIQUE INDEX ON duplicates_batch_t (a, b) WITH (fillfactor = 20);
CREATE UNIQUE INDEX ON duplicates_batch_t (b DESC, a DESC NULLS LAST, c) WITH (fillfactor = 20);
CREATE UNIQUE INDEX ON duplicates_batch_t (c, a COLLATE "C") WITH (fillfactor = 20);
CREATE UNIQUE INDEX ON duplicates_batch_t (d, b) INCLUDE (c) WITH (fillfactor = 20);
CREATE TABLE duplicates_batch_keys AS
	SELECT i, (ARRAY['key', 'Key', 'kEy-', 'k ey', 'ke_y', 'K', 'ключ', NULL])[CASE WHEN i < 8000 THEN 1 ELSE i % 8 + 1 END] || (i * 7919) % 5003 ||
		CASE WHEN i % 11 = 0 THEN repeat('x', 300) WHEN i % 13 = 0 THEN repeat('1234567890', 260) ELSE '' END a,
		(i % 5 - 2) * 100000 b, md5((i % 3001)::text)::uuid c, CASE WHEN i % 3 = 0 THEN upper(md5(i::text)) WHEN i % 3 = 1 THEN md5(i::text) END d FROM generate_series(1, 20000) i;
INSERT INTO duplicates_batch_t SELECT a, b, c, d FROM duplicates_batch_keys WHERE i % 3 > 0 ON CONFLICT DO NOTHING;
DELETE FROM duplicates_batch_t WHERE b = 0 AND d COLLATE "C" > 'c';
COPY (SELECT a, b, c, d FROM duplicates_batch_keys ORDER BY md5(i::text) COLLATE "C") TO '/proc/self/cwd/pgbulk_duplicates_batch_in' WITH (FORMAT csv);
SELECT pg_temp.compare('duplicates_batch_t');
VACUUM duplicates_batch_t;
SELECT pg_temp.compare('duplicates_batch_t');
DROP TABLE duplicates_batch_t;
CREATE TABLE duplicates_batch_t (a text, b int, c uuid, d text, UNIQUE (a, b)) WITH (fillfactor = 50);
INSERT INTO duplicates_batch_t SELECT a, b, c, d FROM duplicates_batch_keys WHERE i % 3 > 0 ON CONFLICT DO NOTHING;
CREATE TABLE duplicates_batch_expected AS SELECT DISTINCT ON (a, b, CASE WHEN a IS NULL THEN n END) a, b, c, d FROM (SELECT a, b, c, d, -row_number() OVER (ORDER BY md5(i::text) COLLATE "C") n FROM duplicates_batch_keys) x ORDER BY a, b, CASE WHEN a IS NULL THEN n END, n;
INSERT INTO duplicates_batch_expected SELECT * FROM duplicates_batch_t WHERE a IS NULL;
SELECT rows_loaded, rows_duplicate FROM bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"writer": "buffered", "on_duplicate": "keep_new", "log_verbosity": "silent"}');
SELECT count(*) FROM ((TABLE duplicates_batch_t EXCEPT ALL TABLE duplicates_batch_expected) UNION ALL (TABLE duplicates_batch_expected EXCEPT ALL TABLE duplicates_batch_t)) x;
SELECT count(bt_index_parent_check(indexrelid, true, true)) FROM pg_index WHERE indrelid = 'duplicates_batch_t'::regclass;
DROP TABLE duplicates_batch_t, duplicates_batch_keys, duplicates_batch_expected;

-- a row is replaced by a new version on its page, with its index entries, where no column of an index changes and the page has room
CREATE TABLE duplicates_batch_t (a int PRIMARY KEY, b text, c int, d text) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX ON duplicates_batch_t (b) WITH (fillfactor = 20);
CREATE INDEX ON duplicates_batch_t ((c / 10)) WHERE b <> '';
CREATE INDEX ON duplicates_batch_t USING brin (c);
-- Loads rows, 3000 of which replace others, into a table of 3600; tells of replaced rows how many were updated in place and how many deleted.
CREATE FUNCTION pg_temp.replace_rows(query text, options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	n bigint;
	hot bigint := pg_stat_get_xact_tuples_hot_updated('duplicates_batch_t'::regclass);
	updated bigint := pg_stat_get_xact_tuples_updated('duplicates_batch_t'::regclass);
	deleted bigint := pg_stat_get_xact_tuples_deleted('duplicates_batch_t'::regclass);
BEGIN
	TRUNCATE duplicates_batch_t;
	INSERT INTO duplicates_batch_t SELECT i, 'b' || i, i, 'old' FROM generate_series(-599, 3000) i;
	EXECUTE format('COPY (%s) TO ''/proc/self/cwd/pgbulk_duplicates_batch_in'' WITH (FORMAT csv)', query);
	SELECT * INTO r FROM bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', options || '{"writer": "buffered", "on_duplicate": "keep_new", "log_verbosity": "silent"}');
	hot := pg_stat_get_xact_tuples_hot_updated('duplicates_batch_t'::regclass) - hot;
	updated := pg_stat_get_xact_tuples_updated('duplicates_batch_t'::regclass) - updated;
	deleted := pg_stat_get_xact_tuples_deleted('duplicates_batch_t'::regclass) - deleted;
	RETURN NEXT format('%s loaded, %s duplicate, %s replaced: %s in place, %s updated, %s deleted', r.rows_loaded, r.rows_duplicate, r.rows_replaced, hot, updated, deleted);
	EXECUTE format('SELECT count(*) FROM (TABLE duplicates_batch_t EXCEPT ALL (%s)) x', query) INTO n;
	RETURN NEXT format('%s rows, %s are not of the file', (SELECT count(*) FROM duplicates_batch_t), n);
	PERFORM bt_index_parent_check(indexrelid, true, true) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'duplicates_batch_t'::regclass AND c.relam = 403;
	SET LOCAL enable_seqscan = off;
	RETURN NEXT format('found: %s, %s, %s', (SELECT count(*) FROM duplicates_batch_t WHERE a > -1000), (SELECT count(*) FROM duplicates_batch_t WHERE c / 10 > -1000 AND b <> ''), (SELECT count(*) FROM duplicates_batch_t WHERE c BETWEEN 1000 AND 1009));
	SET LOCAL enable_seqscan = on;
END $$;
SELECT pg_temp.replace_rows($$SELECT i, 'b' || i, i, 'new' FROM generate_series(1, 3000) i$$);
-- each key twice in the file
SELECT regexp_replace(pg_temp.replace_rows($$SELECT i % 3000 + 1, 'b' || i % 3000 + 1, i % 3000 + 1, 'new' || i / 3000 FROM generate_series(0, 5999) i$$), ', [0-9]+ deleted', '');
-- a column of an index changes, that of an expression, of a predicate, of an index that summarizes
SELECT pg_temp.replace_rows($$SELECT i, CASE WHEN i % 3 = 0 THEN 'x' ELSE 'b' || i END, i, 'new' FROM generate_series(1, 3000) i$$);
SELECT pg_temp.replace_rows($$SELECT i, CASE WHEN i % 2 = 0 THEN '' ELSE 'b' || i END, CASE WHEN i % 5 = 0 THEN -i ELSE i END, 'new' FROM generate_series(1, 3000) i$$);
SELECT pg_temp.replace_rows($$SELECT i, CASE WHEN i % 2 = 0 THEN NULL ELSE 'b' || i END, i, NULL FROM generate_series(1, 3000) i$$);
-- new rows among them, and rows that need other pages
SELECT pg_temp.replace_rows($$SELECT 2 * i, 'b' || 2 * i, 2 * i, repeat('new', CASE WHEN i % 4 = 0 THEN 700 ELSE 1 END) FROM generate_series(1, 3000) i$$)
	~ '^3000 loaded, 0 duplicate, 1500 replaced: ([1-9][0-9]*) in place, \1 updated, [1-9][0-9]* deleted|^5100 rows, 2100 are|^found: 5100, 5100, 10';
-- pages without room
ALTER TABLE duplicates_batch_t SET (fillfactor = 100);
SELECT pg_temp.replace_rows($$SELECT i, 'b' || i, i, 'new' FROM generate_series(1, 3000) i$$) ~ 'replaced: [0-9]{1,2} in place|^3600 rows, 600 are|^found: 3600, 3600, 10';
ALTER TABLE duplicates_batch_t SET (fillfactor = 40);
-- what was replaced is told
SELECT pg_temp.replace_rows($$SELECT i, 'b' || i, i, 'new' FROM generate_series(1, 3000) i$$, '{"reject_table": "duplicates_batch_rejects"}');
SELECT reason, count(*), count(DISTINCT raw_line), min(raw_line COLLATE "C"), count(*) FILTER (WHERE raw_line NOT LIKE '%,old)') AS others FROM duplicates_batch_rejects GROUP BY 1;
DROP TABLE duplicates_batch_rejects;
-- twice in a transaction: rows of this one and of an earlier load
BEGIN;
SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"writer": "buffered", "on_duplicate": "keep_new", "log_verbosity": "silent"}');
SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('duplicates_batch_t', '/proc/self/cwd/pgbulk_duplicates_batch_in', '{"writer": "buffered", "on_duplicate": "keep_new", "log_verbosity": "silent"}');
COMMIT;
SELECT count(*), count(DISTINCT a), count(*) FILTER (WHERE d = 'new') FROM duplicates_batch_t;
SELECT count(bt_index_parent_check(indexrelid, true, true)) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'duplicates_batch_t'::regclass AND c.relam = 403;
DROP TABLE duplicates_batch_t;
