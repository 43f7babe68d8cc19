--
-- BRIN indexes that a load builds have the same summaries as after REINDEX.
--
SET client_min_messages = warning;
SET DateStyle = 'ISO';
SET TimeZone = 'UTC';
-- summaries that several processes make and unite may differ
SET max_parallel_maintenance_workers = 0;
CREATE EXTENSION IF NOT EXISTS pageinspect;

CREATE DOMAIN brin_small AS int CHECK (VALUE < 100000);
CREATE TABLE brin_t (gone text, note text, a int, b smallint, c bigint, d date, e time, f timestamp, g timestamptz, h oid,
	i real, j float8, k brin_small, l text COLLATE "C", m numeric, n uuid, o int4range, p int DEFAULT 7);
ALTER TABLE brin_t DROP COLUMN gone;
CREATE INDEX brin_ints ON brin_t USING brin (a, b, c) WITH (pages_per_range = 1);
CREATE INDEX brin_times ON brin_t USING brin (g, e, d, f) WITH (pages_per_range = 2);
CREATE INDEX brin_floats ON brin_t USING brin (j, i, h) WITH (pages_per_range = 3);
CREATE INDEX brin_domain ON brin_t USING brin (k, p) WITH (pages_per_range = 1);
CREATE INDEX brin_twice ON brin_t USING brin (a, a) WITH (pages_per_range = 4);
CREATE INDEX brin_other ON brin_t USING brin (a, l, m, n, o) WITH (pages_per_range = 2);
CREATE INDEX brin_multi ON brin_t USING brin (a int4_minmax_multi_ops, j float8_bloom_ops, c) WITH (pages_per_range = 2);
CREATE INDEX brin_some ON brin_t USING brin (a, c) WITH (pages_per_range = 1) WHERE a % 3 = 0;
CREATE INDEX brin_expression ON brin_t USING brin ((a % 100), c) WITH (pages_per_range = 1);

-- summaries, wherever they are stored
CREATE FUNCTION pg_temp.items(index regclass) RETURNS TABLE (item text) LANGUAGE plpgsql AS $$
BEGIN
	FOR block IN 0 .. pg_relation_size(index) / current_setting('block_size')::int - 1 LOOP
		IF brin_page_type(get_raw_page(index::text, block::int)) = 'regular' THEN
			RETURN QUERY SELECT (to_jsonb(t) - 'itemoffset')::text FROM brin_page_items(get_raw_page(index::text, block::int), index) t;
		END IF;
	END LOOP;
END $$;
CREATE TEMP VIEW indexes AS SELECT indexrelid FROM pg_index JOIN pg_class c ON c.oid = indexrelid
	WHERE indrelid = to_regclass('brin_t') AND relam = (SELECT oid FROM pg_am WHERE amname = 'brin');
CREATE TEMP TABLE loaded (index text, item text);
-- how many summaries there are, and how many of them differ after REINDEX
CREATE FUNCTION pg_temp.compare() RETURNS TABLE (index text, several bool, other bigint) LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE loaded;
	-- of a last range that is not full, as it is left to VACUUM
	PERFORM brin_summarize_new_values(indexrelid) FROM indexes;
	INSERT INTO loaded SELECT indexrelid::regclass, pg_temp.items(indexrelid) FROM indexes;
	REINDEX TABLE brin_t;
	RETURN QUERY WITH built AS (SELECT indexrelid::regclass::text AS index, pg_temp.items(indexrelid) AS item FROM indexes)
		SELECT coalesce(l.index, b.index) COLLATE "C", count(*) > 10, count(*) FILTER (WHERE l.item IS NULL OR b.item IS NULL)
		FROM loaded l FULL JOIN built b ON l.index = b.index AND l.item = b.item GROUP BY 1 ORDER BY 1;
END $$;

-- ranges without nulls, with some, with nothing else, and each of a few extreme values first or last
CREATE TABLE brin_rows AS SELECT n, n / 500 % 4 AS kind FROM generate_series(1, 12000) n;
CREATE FUNCTION pg_temp.some(n int, kind int, value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN kind = 1 AND n % 7 = 0 OR kind = 2 THEN NULL ELSE value END $$;
CREATE VIEW brin_values AS SELECT repeat('n', n % 200) AS note,
	pg_temp.some(n, kind, ((n * 7919) % 100000 - 50000)::text) AS a, pg_temp.some(n + 1, kind, ((n * 31) % 60000 - 30000)::text) AS b,
	pg_temp.some(n + 2, kind, ((n * 7919::bigint) % 10007 * 1000000007 - 5000000000000)::text) AS c,
	pg_temp.some(n, kind, CASE WHEN n % 997 = 0 THEN 'infinity' WHEN n % 991 = 0 THEN '-infinity' ELSE ('2000-01-01'::date + (n * 37) % 9000 - 4500)::text END) AS d,
	pg_temp.some(n, kind, ('00:00'::time + (n * 7919) % 86400 * interval '1 second')::text) AS e,
	pg_temp.some(n, kind, ('2000-01-01'::timestamp + ((n * 7919) % 20011 - 10000) * interval '1 hour')::text) AS f,
	pg_temp.some(n, kind, CASE WHEN n % 997 = 0 THEN 'infinity' ELSE ('2024-01-01Z'::timestamptz + n * interval '1 minute')::text END) AS g,
	pg_temp.some(n, kind, (4294967295 - (n * 7919::bigint) % 5000000000 % 4294967296)::text) AS h,
	pg_temp.some(n, kind, CASE n / 300 % 5 WHEN 0 THEN (ARRAY['0', '-0'])[n % 2 + 1] WHEN 1 THEN (ARRAY['-Infinity', '1', 'NaN', 'Infinity'])[n % 4 + 1]
		WHEN 2 THEN 'NaN' ELSE (n % 1000 / 8.0 - 60)::text END) AS i,
	pg_temp.some(n, kind, CASE n / 300 % 5 WHEN 0 THEN (ARRAY['-0', '0', '5e-324'])[n % 3 + 1] WHEN 1 THEN (ARRAY['NaN', '-1e300', '1e-300'])[n % 3 + 1]
		ELSE (n % 1000 / 8.0 - 60)::text END) AS j,
	n % 1000 AS k, 'text ' || n % 100 AS l, pg_temp.some(n, kind, (n / 7.0)::text) AS m, md5(n::text)::uuid AS n, int4range(n, n + 5) AS o
	FROM brin_rows ORDER BY brin_rows.n;
COPY (SELECT * FROM brin_values) TO '/proc/self/cwd/pgbulk_brin_in' WITH (FORMAT csv);

SELECT rows_loaded, details #>> '{indexes,0,method}' AS method
	FROM bulk_load('brin_t', '/proc/self/cwd/pgbulk_brin_in', '{"writer": "direct", "workers": 0, "columns": ["note", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"]}');
SELECT * FROM pg_temp.compare();
-- the rows are what COPY would have stored
SELECT count(*), count(a), min(j), max(i), sum(b) FROM brin_t;

-- again: new summaries, and rows with fewer columns than the table
ALTER TABLE brin_t ADD q int DEFAULT 17, ADD r float8 DEFAULT 'NaN', ADD s date;
CREATE INDEX brin_added ON brin_t USING brin (s, q, r, a) WITH (pages_per_range = 1);
SELECT rows_loaded, details #>> '{indexes,0,method}' AS method
	FROM bulk_load('brin_t', '/proc/self/cwd/pgbulk_brin_in', '{"writer": "direct", "workers": 0, "indexes": "insert", "columns": ["note", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"]}');
SELECT * FROM pg_temp.compare();
SELECT rows_loaded, details #>> '{indexes,0,method}' AS method
	FROM bulk_load('brin_t', '/proc/self/cwd/pgbulk_brin_in', '{"writer": "direct", "workers": 2, "indexes": "rebuild", "columns": ["note", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"]}');
SELECT * FROM pg_temp.compare();
-- pages with rows that are not there
BEGIN;
INSERT INTO brin_t (a, b, c, d, e) SELECT 2000000000, 32000, n, 'infinity', '24:00' FROM generate_series(1, 1000) n;
ROLLBACK;
SELECT rows_loaded, details #>> '{indexes,0,method}' AS method
	FROM bulk_load('brin_t', '/proc/self/cwd/pgbulk_brin_in', '{"writer": "direct", "workers": 0, "indexes": "rebuild", "columns": ["note", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"]}');
SELECT * FROM pg_temp.compare();

-- a function that is said to write nothing, and does
CREATE FUNCTION brin_write(n int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	IF n = 500 THEN
		INSERT INTO brin_t (a, b, c) VALUES (2000000000, 32000, 9000000000000000000);
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION brin_lie(n int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN brin_write(n); END';
TRUNCATE brin_t;
ALTER TABLE brin_t ADD CONSTRAINT brin_check CHECK (brin_lie(k));
SELECT rows_loaded, details #>> '{indexes,0,method}' AS method
	FROM bulk_load('brin_t', '/proc/self/cwd/pgbulk_brin_in', '{"writer": "direct", "workers": 0, "columns": ["note", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"]}');
SELECT * FROM pg_temp.compare();
SELECT count(*) FROM brin_t WHERE a = 2000000000;
ALTER TABLE brin_t DROP CONSTRAINT brin_check;
-- a trigger that writes first, or last
CREATE FUNCTION brin_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		INSERT INTO brin_t (a, b, c) VALUES (2000000000, 32000, 9000000000000000000);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER brin_before BEFORE INSERT ON brin_t EXECUTE FUNCTION brin_trigger();
CREATE TRIGGER brin_after AFTER INSERT ON brin_t EXECUTE FUNCTION brin_trigger();
TRUNCATE brin_t;
SELECT rows_loaded, details #>> '{indexes,0,method}' AS method
	FROM bulk_load('brin_t', '/proc/self/cwd/pgbulk_brin_in', '{"writer": "direct", "workers": 0, "columns": ["note", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"]}');
SELECT * FROM pg_temp.compare();
SELECT count(*) FROM brin_t WHERE a = 2000000000;
DROP TRIGGER brin_before ON brin_t;
DROP TRIGGER brin_after ON brin_t;
-- rows that are deleted again when all are in
CREATE UNIQUE INDEX brin_key ON brin_t (a, b, c, k, l);
TRUNCATE brin_t;
SELECT rows_loaded > 0 AS loaded, rows_loaded < 24000 AS duplicates, details #>> '{indexes,0,method}' AS method
	FROM bulk_load('brin_t', ARRAY['/proc/self/cwd/pgbulk_brin_in', '/proc/self/cwd/pgbulk_brin_in'], '{"writer": "direct", "workers": 0, "on_duplicate": "keep_new", "columns": ["note", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"]}');
SET enable_seqscan = off;
SET enable_bitmapscan = on;
SELECT count(*) FROM brin_t WHERE c BETWEEN -5000000000000 AND -4900000000000;
SELECT count(*) FROM brin_t WHERE c + 0 BETWEEN -5000000000000 AND -4900000000000;
RESET enable_seqscan;
DROP INDEX brin_key;

-- made of the pages of all processes, as they are written
COPY (SELECT n, CASE WHEN n % 5000 < 4000 THEN (n * 7919::bigint) % 1000003 END, 'text ' || n % 100 FROM generate_series(1, 400000) n)
	TO '/proc/self/cwd/pgbulk_brin_large' WITH (FORMAT csv);
DROP TABLE brin_t;
CREATE TABLE brin_t (a int, b bigint, c text);
CREATE INDEX brin_a ON brin_t USING brin (a) WITH (pages_per_range = 1);
CREATE INDEX brin_b ON brin_t USING brin (b, a) WITH (pages_per_range = 128);
CREATE INDEX brin_c ON brin_t USING brin (b) WITH (pages_per_range = 7);
CREATE INDEX brin_key ON brin_t (b);
SELECT rows_loaded, workers > 0 AS workers, details #>> '{indexes,0,method}' AS method
	FROM bulk_load('brin_t', '/proc/self/cwd/pgbulk_brin_large', '{"writer": "direct", "workers": 2}');
SELECT * FROM pg_temp.compare();
SELECT rows_loaded, details #>> '{indexes,0,method}' AS method
	FROM bulk_load('brin_t', '/proc/self/cwd/pgbulk_brin_large', '{"writer": "direct", "workers": 0, "truncate": true}');
SELECT * FROM pg_temp.compare();

-- more ranges than workers have space for
COPY (SELECT n, repeat('x', 200) FROM generate_series(1, 40000) n) TO '/proc/self/cwd/pgbulk_brin_many' WITH (FORMAT csv);
DO $$
BEGIN
	EXECUTE (SELECT 'CREATE TABLE brin_many (' || string_agg(format('c%s int DEFAULT %s', n, n), ', ') || ', pad text)' FROM generate_series(1, 32) n);
	EXECUTE (SELECT 'CREATE INDEX ON brin_many USING brin (' || string_agg('c' || n, ', ') || ') WITH (pages_per_range = 1)' FROM generate_series(1, 32) n);
END $$;
SELECT rows_loaded, workers > 0 AS workers FROM bulk_load('brin_many', '/proc/self/cwd/pgbulk_brin_many', '{"writer": "direct", "workers": 2, "columns": ["c1", "pad"]}');
SET enable_seqscan = off;
SELECT count(*) FROM brin_many WHERE c1 % 1000 = 0 AND c1 BETWEEN 1 AND 20000 AND c32 = 32;
SELECT count(*) FROM brin_many WHERE c1 BETWEEN 39000 AND 39099;
SELECT count(*) FROM brin_many WHERE c32 = 31;
RESET enable_seqscan;
DROP TABLE brin_many;

DROP TABLE brin_t, loaded, brin_rows CASCADE;
DROP DOMAIN brin_small;
DROP FUNCTION brin_lie, brin_write, brin_trigger;
DROP EXTENSION pageinspect;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_brin_gone; rm -f pgbulk_brin_*';
