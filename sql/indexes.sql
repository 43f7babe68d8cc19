--
-- Indexes built after the rows of a direct load: the same as after REINDEX.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;

COPY (SELECT i, nullif(i % 97, 5), CASE WHEN i % 11 > 0 THEN chr(65 + i % 40) || repeat(chr(97 + i % 26), i % 30) END,
	(i % 50)::numeric / CASE WHEN i % 2 = 0 THEN 1 ELSE 1.00 END, '2024-01-01'::date - i % 1000, md5((i % 5000)::text)::uuid, i % 3 = 0
	FROM generate_series(1, 12000) i) TO '/proc/self/cwd/pgbulk_indexes_in' WITH (FORMAT csv);
CREATE TABLE indexes_t (a int, b int, c text, d numeric, e date, f uuid, g bool);

-- one index after the other: a load, how it got its entries, is it intact, is it the same as after REINDEX
CREATE FUNCTION pg_temp.try(definition text, file text DEFAULT 'pgbulk_indexes_in') RETURNS TABLE (loaded bigint, how text, rows float4, as_reindex text) LANGUAGE plpgsql AS $$
DECLARE
	index regclass;
	size bigint;
BEGIN
	TRUNCATE indexes_t;
	EXECUTE format('CREATE %s', format(definition, 'indexes_i ON indexes_t'));
	index := 'indexes_i'::regclass;
	SELECT rows_loaded, concat_ws(', ', writer, details #>> '{indexes,0,method}', details #>> '{indexes,0,reason}',
			CASE WHEN (details #>> '{indexes,0,runs}')::int > 1 THEN 'in runs' END)
		INTO loaded, how FROM bulk_load('indexes_t', '/proc/self/cwd/' || file);
	PERFORM bt_index_parent_check(index, true, true) FROM pg_class c JOIN pg_am ON pg_am.oid = relam WHERE c.oid = index AND amname = 'btree';
	SELECT reltuples INTO rows FROM pg_class WHERE oid = index AND relpages = pg_relation_size(index) / 8192;
	size := pg_relation_size(index);
	EXECUTE 'REINDEX INDEX indexes_i';
	-- the pages of spgist are random
	as_reindex := CASE WHEN abs(size - pg_relation_size(index)) <= size * CASE WHEN definition ~ 'spgist' THEN 0.2 ELSE 0.02 END THEN 'same size' ELSE format('%s bytes, not %s', size, pg_relation_size(index)) END;
	DROP INDEX indexes_i;
	RETURN NEXT;
END
$$;
SELECT t.*, definition FROM unnest(ARRAY[
	'INDEX %s (a)', 'INDEX %s (a DESC)', 'INDEX %s (b)', 'INDEX %s (b NULLS FIRST)', 'INDEX %s (b DESC)', 'INDEX %s (b DESC NULLS LAST)',
	'INDEX %s (c)', 'INDEX %s (c DESC)', 'INDEX %s (c COLLATE "C")', 'INDEX %s (c COLLATE "POSIX" DESC NULLS LAST)', 'INDEX %s (c text_pattern_ops)',
	'INDEX %s (e)', 'INDEX %s (f)', 'INDEX %s (f DESC)', 'INDEX %s (g)', 'INDEX %s (d)',
	'INDEX %s (c, b)', 'INDEX %s (b DESC, c NULLS FIRST, a)', 'INDEX %s (g, f, e DESC)', 'INDEX %s (d, a)',
	'INDEX %s (lower(c))', 'INDEX %s ((a + b), c)', 'INDEX %s (a) WHERE g', 'INDEX %s (c) WHERE a > 100000',
	'INDEX %s (b) INCLUDE (c)', 'UNIQUE INDEX %s (a) INCLUDE (e, c)', 'UNIQUE INDEX %s (a, c)', 'UNIQUE INDEX %s (nullif(a, 10))',
	'INDEX %s (b) WITH (fillfactor = 50)', 'INDEX %s (b) WITH (deduplicate_items = off)', 'INDEX %s (c) WITH (fillfactor = 100)',
	'INDEX %s ((c::varchar))', 'INDEX %s ((c::bpchar))', 'INDEX %s ((c::name))', 'INDEX %s ((decode(md5(c), ''hex'')))', 'INDEX %s ((a::float8))', 'INDEX %s ((array[b, a]))',
	'INDEX %s (((''"'' || md5(c) || ''"'')::jsonb))', 'INDEX %s ((make_interval(hours => b)))',
	'INDEX %s USING hash (c)', 'INDEX %s USING brin (a)', 'INDEX %s USING gin ((array[b]))', 'INDEX %s USING gist (point(a, b))', 'INDEX %s USING spgist (c)'
	]) WITH ORDINALITY d (definition, n), LATERAL pg_temp.try(definition) t ORDER BY n;

-- more than the memory holds
COPY (SELECT i * 7919 % 60000, nullif(i % 97, 5), chr(65 + i % 26) || i % 70, i / 10.0, NULL, md5((i % 5000)::text)::uuid, NULL
	FROM generate_series(1, 60000) i) TO '/proc/self/cwd/pgbulk_indexes_more' WITH (FORMAT csv);
SET maintenance_work_mem = '1MB';
SELECT t.*, definition FROM unnest(ARRAY['INDEX %s (a)', 'INDEX %s (b DESC)', 'INDEX %s (c)', 'INDEX %s (d)', 'INDEX %s (c, a)', 'UNIQUE INDEX %s (a, f)']) WITH ORDINALITY d (definition, n),
	LATERAL pg_temp.try(definition, 'pgbulk_indexes_more') t ORDER BY n;
RESET maintenance_work_mem;

-- keys that are equal but not the same; large ones
CREATE TABLE indexes_n (a numeric, b text);
COPY (SELECT CASE i % 4 WHEN 0 THEN '1' WHEN 1 THEN '1.0' WHEN 2 THEN '1.00' ELSE (i / 100)::text END, repeat(md5((i % 300)::text), i % 80) FROM generate_series(1, 5000) i)
	TO '/proc/self/cwd/pgbulk_indexes_n' WITH (FORMAT csv);
CREATE INDEX indexes_n_a ON indexes_n (a);
CREATE INDEX indexes_n_b ON indexes_n (b);
SELECT rows_loaded, writer FROM bulk_load('indexes_n', '/proc/self/cwd/pgbulk_indexes_n');
SELECT bt_index_parent_check(i, true, true) FROM unnest(ARRAY['indexes_n_a', 'indexes_n_b']::regclass[]) i;
SET enable_seqscan = off;
SELECT count(*) FROM indexes_n WHERE a = 1.000;
RESET enable_seqscan;
CREATE TABLE indexes_large (a text);
ALTER TABLE indexes_large ALTER a SET STORAGE external;
CREATE INDEX ON indexes_large (a);
COPY (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 100) i) TO '/proc/self/cwd/pgbulk_indexes_large';
\set VERBOSITY sqlstate
SELECT bulk_load('indexes_large', '/proc/self/cwd/pgbulk_indexes_large');
\set VERBOSITY default

-- no duplicates
CREATE TABLE indexes_u (a int, b text);
CREATE UNIQUE INDEX indexes_u_i ON indexes_u (a, b);
COPY (VALUES ('1,x'), ('2,y'), ('3,'), ('3,'), ('2,y')) TO '/proc/self/cwd/pgbulk_indexes_u';
SELECT bulk_load('indexes_u', '/proc/self/cwd/pgbulk_indexes_u');
SELECT count(*) FROM indexes_u;
SELECT rows_loaded, writer FROM bulk_load('indexes_u', '/proc/self/cwd/pgbulk_indexes_u', '{"limit": 4}');
SELECT bulk_load('indexes_u', '/proc/self/cwd/pgbulk_indexes_u', '{"writer": "direct", "limit": 2}');
SELECT bulk_load('indexes_u', '/proc/self/cwd/pgbulk_indexes_u', '{"writer": "buffered", "limit": 2}');
SELECT bt_index_parent_check('indexes_u_i', true, true);
TRUNCATE indexes_u;
DROP INDEX indexes_u_i;
CREATE UNIQUE INDEX indexes_u_i ON indexes_u (a, b) NULLS NOT DISTINCT;
SELECT bulk_load('indexes_u', '/proc/self/cwd/pgbulk_indexes_u', '{"limit": 4}');
-- deleted rows do not count
BEGIN;
SELECT rows_loaded, writer FROM bulk_load('indexes_u', '/proc/self/cwd/pgbulk_indexes_u', '{"truncate": true, "limit": 2}');
DELETE FROM indexes_u;
SELECT rows_loaded, writer, details #>> '{indexes,0,method}' FROM bulk_load('indexes_u', '/proc/self/cwd/pgbulk_indexes_u', '{"writer": "direct", "limit": 2}');
COMMIT;
SELECT bt_index_parent_check('indexes_u_i', true, true);
TABLE indexes_u;

-- exclusion constraints
CREATE TABLE indexes_x (a int, b int, EXCLUDE USING btree (a WITH =) WHERE (b > 0));
COPY (VALUES ('1,1'), ('1,0'), ('2,1'), ('1,0'), ('2,2'), ('3,3')) TO '/proc/self/cwd/pgbulk_indexes_x';
SELECT bulk_load('indexes_x', '/proc/self/cwd/pgbulk_indexes_x', '{"writer": "direct"}');
SELECT rows_loaded, writer FROM bulk_load('indexes_x', '/proc/self/cwd/pgbulk_indexes_x', '{"writer": "direct", "limit": 4}');
SELECT bulk_load('indexes_x', '/proc/self/cwd/pgbulk_indexes_x', '{"writer": "direct", "skip": 4}');

-- within transactions
BEGIN;
CREATE TABLE indexes_new (a int PRIMARY KEY, b int);
SELECT rows_loaded, writer FROM bulk_load('indexes_new', '/proc/self/cwd/pgbulk_indexes_x', '{"skip": 1, "limit": 2}');
SAVEPOINT s;
SELECT rows_loaded, writer FROM bulk_load('indexes_new', '/proc/self/cwd/pgbulk_indexes_x', '{"truncate": true, "skip": 3, "limit": 1}');
ROLLBACK TO s;
SET LOCAL enable_seqscan = off;
SELECT * FROM indexes_new WHERE a = 2;
SAVEPOINT s;
SELECT bulk_load('indexes_new', '/proc/self/cwd/pgbulk_indexes_x', '{"writer": "direct"}');
ROLLBACK TO s;
COMMIT;
SELECT bt_index_parent_check('indexes_new_pkey', true, true);
INSERT INTO indexes_new VALUES (2, 2);
INSERT INTO indexes_new VALUES (7, 2);
-- not under a scan of the same session
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM indexes_new WHERE a > 0;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
CLOSE c;
DECLARE c CURSOR FOR SELECT * FROM indexes_new WHERE a > 0;
FETCH c;
SELECT bulk_load('indexes_new', '/proc/self/cwd/pgbulk_indexes_x', '{"writer": "direct", "skip": 4}');
ROLLBACK;

-- unlogged and temporary tables, empty files
CREATE UNLOGGED TABLE indexes_unlogged (a int PRIMARY KEY, b int);
SELECT rows_loaded, writer FROM bulk_load('indexes_unlogged', '/proc/self/cwd/pgbulk_indexes_x', '{"skip": 1, "limit": 2}');
SELECT pg_relation_size('indexes_unlogged_pkey', 'init') > 0 AS init, bt_index_parent_check('indexes_unlogged_pkey', true, true);
CREATE TEMPORARY TABLE indexes_temp (a int PRIMARY KEY, b int);
SELECT rows_loaded, writer FROM bulk_load('indexes_temp', '/proc/self/cwd/pgbulk_indexes_x', '{"skip": 1, "limit": 2}');
SELECT bt_index_parent_check('indexes_temp_pkey', true, true);
TRUNCATE indexes_unlogged;
SELECT pg_relation_filenode('indexes_unlogged_pkey') AS before \gset
SELECT rows_loaded, writer FROM bulk_load('indexes_unlogged', '/proc/self/cwd/pgbulk_indexes_x', '{"limit": 0}');
SELECT pg_relation_filenode('indexes_unlogged_pkey') = :before AS untouched;

-- several in parallel, some of which cannot be
CREATE FUNCTION indexes_f(int) RETURNS int IMMUTABLE PARALLEL UNSAFE LANGUAGE sql AS 'SELECT $1 % 100';
CREATE TABLE indexes_w (a int PRIMARY KEY, b int, c text, d numeric, e date, f uuid, g bool, EXCLUDE USING btree (a WITH =));
CREATE INDEX indexes_w_c ON indexes_w (c);
CREATE INDEX indexes_w_f ON indexes_w (f, b);
CREATE INDEX indexes_w_unsafe ON indexes_w (indexes_f(a));
CREATE INDEX indexes_w_hash ON indexes_w USING hash (f);
CREATE INDEX indexes_w_gin ON indexes_w USING gin ((array[b]));
SELECT rows_loaded, writer, jsonb_array_length(details -> 'indexes') AS indexes FROM bulk_load('indexes_w', '/proc/self/cwd/pgbulk_indexes_in', '{"workers": 3}');
SELECT c.relname, reltuples, CASE WHEN relam = (SELECT oid FROM pg_am WHERE amname = 'btree') THEN bt_index_parent_check(c.oid, true, true) END
	FROM pg_index i JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'indexes_w'::regclass ORDER BY 1;
SET enable_seqscan = off;
SELECT count(*) FROM indexes_w WHERE f = md5('7')::uuid;
SELECT count(*) FROM indexes_w WHERE array[b] @> array[7];
RESET enable_seqscan;
-- the error of a worker
\set SHOW_CONTEXT never
CREATE INDEX indexes_w_div ON indexes_w ((1 / (a + 5)));
COPY (VALUES ('-5,,,,,,')) TO '/proc/self/cwd/pgbulk_indexes_w' WITH (FORMAT text);
SELECT bulk_load('indexes_w', '/proc/self/cwd/pgbulk_indexes_w', '{"workers": 3, "writer": "direct"}');
DROP INDEX indexes_w_div;
-- a key in two constraints
SELECT bulk_load('indexes_w', '/proc/self/cwd/pgbulk_indexes_in', '{"workers": 3, "writer": "direct", "limit": 1}');
CREATE UNIQUE INDEX indexes_w_twice ON indexes_w (c) WHERE a < 0;
TRUNCATE indexes_w;
COPY (VALUES ('-1,,x,,,,'), ('-2,,y,,,,'), ('-3,,x,,,,')) TO '/proc/self/cwd/pgbulk_indexes_w' WITH (FORMAT text);
SELECT bulk_load('indexes_w', '/proc/self/cwd/pgbulk_indexes_w', '{"workers": 3}');
SELECT bulk_load('indexes_w', '/proc/self/cwd/pgbulk_indexes_w', '{"workers": 0}');
SELECT rows_loaded, writer FROM bulk_load('indexes_w', '/proc/self/cwd/pgbulk_indexes_w', '{"workers": 3, "writer": "direct", "limit": 2}');
\set SHOW_CONTEXT errors

-- the option
SELECT writer, details #>> '{indexes,0,method}' AS method, details #>> '{indexes,0,reason}' AS reason
	FROM bulk_load('indexes_new', '/proc/self/cwd/pgbulk_indexes_x', '{"skip": 5, "indexes": "rebuild"}');
TRUNCATE indexes_unlogged;
SELECT writer, details #>> '{indexes,0,method}' AS method, details #>> '{indexes,0,reason}' AS reason
	FROM bulk_load('indexes_unlogged', '/proc/self/cwd/pgbulk_indexes_x', '{"writer": "buffered", "limit": 1}');
SELECT bulk_load('indexes_new', '/proc/self/cwd/pgbulk_indexes_x', '{"writer": "buffered", "indexes": "rebuild"}');
SELECT bulk_load('indexes_new', '/proc/self/cwd/pgbulk_indexes_x', '{"indexes": "reindex"}');

DROP TABLE indexes_t, indexes_n, indexes_large, indexes_u, indexes_x, indexes_new, indexes_unlogged, indexes_temp, indexes_w;
DROP FUNCTION indexes_f;
DROP EXTENSION amcheck;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_indexes_gone; rm -f pgbulk_indexes_*';
