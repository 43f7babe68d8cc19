--
-- Wide values by the direct writer: compressed and moved to the TOAST table as COPY does.
--
CREATE FUNCTION pg_temp.noise(seed int, length int) RETURNS text LANGUAGE sql AS
	$$SELECT left(string_agg(md5(seed || ' ' || i), ''), length) FROM generate_series(0, length / 32) i$$;
-- The lengths of each value's chunks, in the order in which the values were moved out.
CREATE FUNCTION pg_temp.chunks(t regclass) RETURNS TABLE (n bigint, lengths int[]) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT row_number() OVER (ORDER BY chunk_id), array_agg(length(chunk_data) ORDER BY chunk_seq)
		FROM %s GROUP BY chunk_id', (SELECT reltoastrelid::regclass FROM pg_class WHERE oid = t));
END $$;
-- What is compared of a row: the stored width of each value, its compression, and the value.
CREATE FUNCTION pg_temp.rows(t regclass) RETURNS SETOF text[] LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE (SELECT format('SELECT ARRAY[%s] FROM %s',
			string_agg(format('coalesce(pg_column_size(%1$I) || coalesce(pg_column_compression(%1$I), '' plain '') || md5(%1$I::text), ''null'')', attname), ', '), t)
		FROM pg_attribute WHERE attrelid = t AND attnum > 0 AND NOT attisdropped);
END $$;
-- Loads a table's file into it and, by COPY, into a copy.  Returns how many rows and moved values there are, and how many differ.
CREATE FUNCTION pg_temp.compare(t text, kind text DEFAULT '', OUT loaded bigint, OUT differ bigint, OUT moved bigint, OUT moved_differ bigint)
LANGUAGE plpgsql AS $$
DECLARE
	file text := '/proc/self/cwd/pgbulk_' || t;
BEGIN
	IF to_regclass(t || '_copy') IS NULL THEN
		EXECUTE format('CREATE %s TABLE %I (LIKE %I INCLUDING ALL)', kind, t || '_copy', t);
		EXECUTE format('ALTER TABLE %I SET (toast_tuple_target = %s)', t || '_copy',
			coalesce((SELECT option_value FROM pg_class, pg_options_to_table(reloptions) WHERE oid = t::regclass AND option_name = 'toast_tuple_target'), '2032'));
	END IF;
	EXECUTE format('COPY %I FROM %L WITH (FORMAT csv)', t || '_copy', file);
	SELECT rows_loaded INTO loaded FROM bulk_load(t::regclass, file, '{"writer": "direct", "workers": 0}');
	SELECT count(*) INTO differ FROM (SELECT * FROM pg_temp.rows(t) EXCEPT ALL SELECT * FROM pg_temp.rows(t || '_copy')) x;
	SELECT count(*) INTO moved FROM pg_temp.chunks(t);
	SELECT count(*) INTO moved_differ FROM
		(SELECT * FROM pg_temp.chunks(t) FULL JOIN pg_temp.chunks(t || '_copy') c USING (n, lengths) WHERE c IS NULL OR chunks IS NULL) x;
END $$;

-- every storage, alone and together
CREATE TABLE toast_all (id int, p text, m text, x text, e text, n text, b bytea);
ALTER TABLE toast_all ALTER p SET STORAGE plain, ALTER m SET STORAGE main, ALTER x SET STORAGE extended, ALTER e SET STORAGE external;
COPY (SELECT i, CASE WHEN i & 1 > 0 THEN pg_temp.noise(i, i * 3) END, CASE WHEN i & 2 > 0 THEN pg_temp.noise(-i, i * 19) END,
		CASE WHEN i & 4 > 0 THEN repeat(md5(i::text), i) END, CASE WHEN i & 8 > 0 THEN repeat(md5(i::text), i) END, NULL,
		CASE WHEN i & 16 > 0 THEN '\x' || pg_temp.noise(i, i * 18) END
	FROM generate_series(1, 600) i) TO '/proc/self/cwd/pgbulk_toast_all' WITH (FORMAT csv);
SELECT * FROM pg_temp.compare('toast_all');
SELECT pg_table_size('toast_all') <= 1.02 * pg_table_size('toast_all_copy') AS size;
-- identical
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pageinspect;
RESET client_min_messages;
CREATE FUNCTION pg_temp.headers(t text) RETURNS TABLE (n bigint, lp_len smallint, mask int, mask2 int, hoff smallint, bits text) LANGUAGE sql AS
	$$SELECT row_number() OVER (ORDER BY block, lp), lp_len, t_infomask & ~ x'0300'::int, t_infomask2, t_hoff, t_bits
	FROM generate_series(0, pg_relation_size(t) / 8192 - 1) block, heap_page_items(get_raw_page(t, block::int))$$;
SELECT count(*) FROM (SELECT * FROM pg_temp.headers('toast_all') EXCEPT ALL SELECT * FROM pg_temp.headers('toast_all_copy')) x;
-- again, after the old rows
SELECT * FROM pg_temp.compare('toast_all');

-- around the width at which a row is too wide, and a chunk too small
CREATE TABLE toast_edge (id int, s text);
ALTER TABLE toast_edge ALTER s SET STORAGE external;
COPY (SELECT i, pg_temp.noise(i, i) FROM generate_series(1990, 2050) i) TO '/proc/self/cwd/pgbulk_toast_edge' WITH (FORMAT csv);
SELECT * FROM pg_temp.compare('toast_edge');
COPY (SELECT k * 1996 + i, pg_temp.noise(i, k * 1996 + i) FROM generate_series(2, 5) k, generate_series(-3, 3) i) TO '/proc/self/cwd/pgbulk_toast_edge' WITH (FORMAT csv);
SELECT * FROM pg_temp.compare('toast_edge');
CREATE TABLE toast_low (id int, s text, j jsonb) WITH (toast_tuple_target = 128);
CREATE TABLE toast_high (LIKE toast_low) WITH (toast_tuple_target = 8160);
COPY (SELECT i, pg_temp.noise(i, i * 5), jsonb_build_object('key', repeat(i::text, i % 300)) FROM generate_series(1, 1600, 7) i) TO '/proc/self/cwd/pgbulk_toast_low' WITH (FORMAT csv);
SELECT * FROM pg_temp.compare('toast_low');
COPY (SELECT i, pg_temp.noise(i, i * 5), jsonb_build_object('key', repeat(i::text, i % 300)) FROM generate_series(1, 1600, 7) i) TO '/proc/self/cwd/pgbulk_toast_high' WITH (FORMAT csv);
SELECT * FROM pg_temp.compare('toast_high');
-- storage main is moved out when nothing else helps
CREATE TABLE toast_main (id int, a text, b text, c text);
ALTER TABLE toast_main ALTER a SET STORAGE main, ALTER b SET STORAGE main;
COPY (SELECT i, pg_temp.noise(i, i * 20), pg_temp.noise(-i, 12000 - i * 20), repeat('c', i) FROM generate_series(1, 400) i) TO '/proc/self/cwd/pgbulk_toast_main' WITH (FORMAT csv);
SELECT * FROM pg_temp.compare('toast_main');

-- values of some MB, which take more pages than a batch has
CREATE TABLE toast_huge (id int, s text, t text);
COPY (SELECT i, pg_temp.noise(i, 1000000 * i), repeat(md5(i::text), 40000 * i) FROM generate_series(1, 2) i) TO '/proc/self/cwd/pgbulk_toast_huge' WITH (FORMAT csv);
SELECT * FROM pg_temp.compare('toast_huge');

-- many columns, some null; each method of compression that the server has
DO $$
BEGIN
	EXECUTE (SELECT 'CREATE TABLE toast_many (' || string_agg('c' || i || ' text', ', ') || ')' FROM generate_series(1, 150) i);
	ALTER TABLE toast_many ALTER c1 SET COMPRESSION pglz;
	EXECUTE 'ALTER TABLE toast_many ALTER c2 SET COMPRESSION lz4, ALTER c3 SET COMPRESSION lz4, ALTER c4 SET COMPRESSION lz4';
EXCEPTION WHEN feature_not_supported THEN
	EXECUTE (SELECT 'CREATE TABLE toast_many (' || string_agg('c' || i || ' text', ', ') || ')' FROM generate_series(1, 150) i);
END $$;
COPY (SELECT string_agg(CASE WHEN (r + i) % 11 = 0 THEN '' WHEN i > 4 THEN repeat('x', r * i % 97) ELSE repeat(md5(i::text), r) END, ',' ORDER BY i)
	FROM generate_series(1, 120) r, generate_series(1, 150) i GROUP BY r ORDER BY r) TO '/proc/self/cwd/pgbulk_toast_many';
SELECT * FROM pg_temp.compare('toast_many');

-- rows that remain too big: the same error
CREATE FUNCTION pg_temp.error_of(command text) RETURNS text LANGUAGE plpgsql AS
	$$BEGIN EXECUTE command; RETURN 'none'; EXCEPTION WHEN OTHERS THEN RETURN sqlstate || ': ' || sqlerrm; END$$;
DO $$ BEGIN EXECUTE (SELECT 'CREATE TABLE toast_wide (' || string_agg('c' || i || ' text', ', ') || ')' FROM generate_series(1, 460) i); END $$;
COPY (SELECT string_agg(pg_temp.noise(i, 100), ',') FROM generate_series(1, 460) i) TO '/proc/self/cwd/pgbulk_toast_wide';
SELECT pg_temp.error_of($$COPY toast_wide FROM '/proc/self/cwd/pgbulk_toast_wide' WITH (FORMAT csv)$$)
UNION ALL SELECT pg_temp.error_of($$SELECT bulk_load('toast_wide', '/proc/self/cwd/pgbulk_toast_wide', '{"writer": "direct"}')$$);
CREATE TABLE toast_big (id int, p text);
ALTER TABLE toast_big ALTER p SET STORAGE plain;
COPY (SELECT i, repeat('p', 8000 + i * 50) FROM generate_series(1, 6) i) TO '/proc/self/cwd/pgbulk_toast_big' WITH (FORMAT csv);
SELECT pg_temp.error_of($$COPY toast_big FROM '/proc/self/cwd/pgbulk_toast_big' WITH (FORMAT csv)$$)
UNION ALL SELECT pg_temp.error_of($$SELECT bulk_load('toast_big', '/proc/self/cwd/pgbulk_toast_big', '{"writer": "direct"}')$$);
SELECT bulk_load('toast_big', '/proc/self/cwd/pgbulk_toast_big', '{"writer": "direct"}');
SELECT bulk_load('toast_big', '/proc/self/cwd/pgbulk_toast_big', '{"writer": "buffered"}');
-- partitions, and rows that fit among those that may not
CREATE TABLE toast_parts (id int, p text) PARTITION BY LIST (id);
CREATE TABLE toast_part PARTITION OF toast_parts DEFAULT;
ALTER TABLE toast_part ALTER p SET STORAGE plain;
SELECT bulk_load('toast_parts', '/proc/self/cwd/pgbulk_toast_big', '{"writer": "buffered"}');
SELECT rows_loaded FROM bulk_load('toast_big', '/proc/self/cwd/pgbulk_toast_big', '{"writer": "buffered", "limit": 2}');
SELECT id, length(p) FROM toast_big ORDER BY ctid;
DROP TABLE toast_parts;
TRUNCATE toast_big;
-- a table without a TOAST table
CREATE TABLE toast_none (o oidvector);
SELECT reltoastrelid FROM pg_class WHERE oid = 'toast_none'::regclass;
COPY (SELECT string_agg(k::text, ' ') FROM generate_series(400, 2000, 100) i, generate_series(1, i) k GROUP BY i ORDER BY i) TO '/proc/self/cwd/pgbulk_toast_none';
SELECT bulk_load('toast_none', '/proc/self/cwd/pgbulk_toast_none', '{"writer": "direct"}') IS NOT NULL AS loaded;
SELECT count(*), max(array_length(o::oid[], 1)) FROM toast_none;

-- values that are in another TOAST table already
CREATE FUNCTION toast_from_there() RETURNS text LANGUAGE sql STABLE AS 'SELECT s FROM toast_edge WHERE id = 9983 LIMIT 1';
CREATE TABLE toast_there (id int, s text DEFAULT toast_from_there(), n text DEFAULT '');
CREATE TABLE toast_there_copy (LIKE toast_there INCLUDING ALL);
COPY (SELECT i FROM generate_series(1, 20) i) TO '/proc/self/cwd/pgbulk_toast_there';
COPY toast_there_copy (id) FROM '/proc/self/cwd/pgbulk_toast_there';
SELECT rows_loaded FROM bulk_load('toast_there', '/proc/self/cwd/pgbulk_toast_there', '{"writer": "direct", "columns": ["id"]}');
SELECT count(*) FROM (SELECT * FROM pg_temp.rows('toast_there') INTERSECT SELECT * FROM pg_temp.rows('toast_there_copy')) x;
SELECT count(*) FROM (SELECT * FROM pg_temp.chunks('toast_there') INTERSECT SELECT * FROM pg_temp.chunks('toast_there_copy')) x;

-- bad rows among wide ones
CREATE TABLE toast_bad (id int CHECK (id % 5 <> 1), s text, j jsonb);
COPY (SELECT i || ',' || pg_temp.noise(i, i * 20) || CASE WHEN i % 7 = 0 THEN ',no json' ELSE ',{}' END FROM generate_series(1, 500) i) TO '/proc/self/cwd/pgbulk_toast_bad';
SELECT rows_loaded, rows_rejected FROM bulk_load('toast_bad', '/proc/self/cwd/pgbulk_toast_bad', '{"writer": "direct", "on_error": "ignore", "log_verbosity": "silent"}');
SELECT count(*), bool_and(s = pg_temp.noise(id, id * 20)) AS right, count(DISTINCT xmin::text) FROM toast_bad;
SELECT count(*) FROM toast_bad WHERE pg_column_size(s) > 1996;
SELECT count(*) FROM pg_temp.chunks('toast_bad');

-- what is rolled back leaves nothing that VACUUM does not remove
BEGIN;
SELECT rows_loaded FROM bulk_load('toast_all', '/proc/self/cwd/pgbulk_toast_all', '{"writer": "direct"}');
SAVEPOINT s;
SELECT rows_loaded FROM bulk_load('toast_all', '/proc/self/cwd/pgbulk_toast_all', '{"writer": "direct"}');
SELECT rows_loaded FROM bulk_load('toast_huge', '/proc/self/cwd/pgbulk_toast_huge', '{"writer": "direct"}');
ROLLBACK TO s;
SELECT count(*), count(e), sum(length(e)) = 3 * (SELECT sum(length(e)) / 2 FROM toast_all_copy) AS right FROM toast_all;
ROLLBACK;
SELECT count(*) FROM pg_temp.chunks('toast_all');
VACUUM toast_all, toast_huge;
SELECT pg_table_size('toast_huge') <= 1.02 * pg_table_size('toast_huge_copy') AS size;
SELECT * FROM pg_temp.compare('toast_huge');

-- deleted in part, and indexes and tables rebuilt
DELETE FROM toast_all WHERE id % 3 = 0;
DELETE FROM toast_all_copy WHERE id % 3 = 0;
VACUUM toast_all, toast_all_copy;
SELECT * FROM pg_temp.compare('toast_all');
REINDEX TABLE toast_all;
VACUUM FULL toast_huge;
SELECT count(*) FROM (SELECT id, p, m, x, e, b FROM toast_all EXCEPT ALL SELECT id, p, m, x, e, b FROM toast_all_copy) x;
SELECT count(*) FROM (SELECT * FROM toast_huge EXCEPT ALL SELECT * FROM toast_huge_copy) x;
SELECT * FROM pg_temp.compare('toast_all');

-- without WAL
CREATE UNLOGGED TABLE toast_unlogged (LIKE toast_all INCLUDING ALL);
CREATE TEMP TABLE toast_temp (LIKE toast_all INCLUDING ALL);
COPY (SELECT DISTINCT ON (id) * FROM toast_all_copy WHERE id % 3 = 1) TO '/proc/self/cwd/pgbulk_toast_unlogged' WITH (FORMAT csv);
COPY (SELECT DISTINCT ON (id) * FROM toast_all_copy WHERE id % 3 = 1) TO '/proc/self/cwd/pgbulk_toast_temp' WITH (FORMAT csv);
SELECT * FROM pg_temp.compare('toast_unlogged', 'UNLOGGED');
SELECT * FROM pg_temp.compare('toast_temp', 'TEMP');
SELECT * FROM pg_temp.compare('toast_temp');
-- one transaction makes and fills it
BEGIN;
CREATE TABLE toast_new (LIKE toast_all INCLUDING ALL);
COPY (SELECT DISTINCT ON (id) * FROM toast_all_copy WHERE id % 3 = 1) TO '/proc/self/cwd/pgbulk_toast_new' WITH (FORMAT csv);
SELECT * FROM pg_temp.compare('toast_new');
TRUNCATE toast_new, toast_new_copy;
SELECT * FROM pg_temp.compare('toast_new');
COMMIT;
SELECT count(*), sum(length(x)) = (SELECT sum(length(x)) FROM toast_temp) / 2 AS right FROM toast_new;
DROP TABLE toast_all, toast_all_copy, toast_edge, toast_edge_copy, toast_low, toast_low_copy, toast_high, toast_high_copy, toast_main, toast_main_copy,
	toast_huge, toast_huge_copy, toast_many, toast_many_copy, toast_wide, toast_big, toast_none, toast_there, toast_there_copy, toast_bad,
	toast_unlogged, toast_unlogged_copy, toast_temp, toast_temp_copy, toast_new, toast_new_copy;
DROP FUNCTION toast_from_there;
