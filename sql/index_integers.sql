-- Btrees of several integers, which are sorted as one number where that holds them
CREATE EXTENSION amcheck;
SELECT rows_loaded FROM bulk_load_last();	-- loads the library
CREATE TABLE numbers (a int, b int, s smallint, d date, f bool, o oid, l bigint);
INSERT INTO numbers SELECT CASE WHEN i % 11 = 0 THEN NULL WHEN i % 13 = 0 THEN 2147483647 WHEN i % 17 = 0 THEN -2147483648 ELSE i % 1000 - 500 END,
		CASE WHEN i % 7 = 0 THEN NULL WHEN i % 19 = 0 THEN 2147483647 WHEN i % 23 = 0 THEN -2147483648 ELSE i * 7919 % 100003 - 50000 END,
		CASE WHEN i % 5 = 0 THEN NULL ELSE i % 65536 - 32768 END, date '2026-01-01' + i % 3000, nullif(i % 3, 2)::bool, (i * 40503::bigint % 4294967296)::oid, i
	FROM generate_series(1, 60000) i;
VACUUM ANALYZE numbers;
SET pgbulk.create_index = on;

-- Builds an index in memory, in ranges that exceed it, and by several processes; each must have all rows in their order.
CREATE FUNCTION build_ways(columns text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	before bigint := coalesce(sum(s.count), 0) FROM bulk_load_statements s WHERE s.taken;
	memory text;
	workers int;
BEGIN
	FOREACH memory IN ARRAY ARRAY['64MB', '1MB'] LOOP
		FOREACH workers IN ARRAY ARRAY[0, 2] LOOP
			PERFORM set_config('maintenance_work_mem', memory, true), set_config('max_parallel_maintenance_workers', workers::text, true);
			EXECUTE format('CREATE INDEX numbers_i ON numbers (%s)', columns);
			PERFORM bt_index_parent_check('numbers_i', true);
			DROP INDEX numbers_i;
		END LOOP;
	END LOOP;
	RETURN sum(s.count) = before + 4 FROM bulk_load_statements s WHERE s.taken;
END$$;
SET min_parallel_table_scan_size = 0;
SELECT build_ways('a, b');
SELECT build_ways('a NULLS FIRST, b DESC');
SELECT build_ways('a DESC, b NULLS FIRST');
SELECT build_ways('a DESC NULLS LAST, b DESC NULLS LAST');
SELECT build_ways('s, a');
SELECT build_ways('s DESC, d, f NULLS FIRST');
SELECT build_ways('f, s, f DESC, s DESC, f');
SELECT build_ways('f, f, f, f, f, f, f, f');
SELECT build_ways('o DESC, a');
SELECT build_ways('l DESC');

SET max_parallel_maintenance_workers = 0;
-- Duplicates are the server's to tell; NULLs are none, unless they are said to be.
CREATE UNIQUE INDEX ON numbers (a, b);
DELETE FROM numbers WHERE a IS NOT NULL AND b IS NOT NULL;
CREATE UNIQUE INDEX numbers_unique ON numbers (a, b);
SELECT bt_index_parent_check('numbers_unique', true);
DELETE FROM numbers WHERE a IS DISTINCT FROM 0;
CREATE UNIQUE INDEX ON numbers (a, b) NULLS NOT DISTINCT;

-- As keys of a load.
CREATE TABLE pairs (a int, b int, PRIMARY KEY (a, b));
CREATE INDEX pairs_b ON pairs (b DESC, a);
\set file '/proc/self/cwd/pgbulk_index_integers'
COPY (SELECT i % 300, i / 300 FROM generate_series(1, 30000) i) TO :'file';
SELECT rows_loaded FROM bulk_load('pairs', :'file', '{"format": "text"}');
SELECT rows_loaded, rows_duplicate FROM bulk_load('pairs', :'file', '{"format": "text", "on_duplicate": "keep_old", "writer": "direct"}');
SELECT bt_index_parent_check('pairs_pkey', true), bt_index_parent_check('pairs_b', true);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*), min(a), max(a) FROM pairs WHERE b = 7;
DROP TABLE numbers, pairs;
COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; rm -f pgbulk_index_integers';
DROP FUNCTION build_ways;
DROP EXTENSION amcheck;
