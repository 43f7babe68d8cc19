--
-- Btrees that a load builds or merges have the same pages as after REINDEX, byte for byte.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pageinspect;

COPY (SELECT i, i % 997, 'text ' || (i * 7919) % 5000, CASE WHEN i % 3 > 0 THEN repeat(md5((i % 300)::text), i % 20) END, i / 7.0
	FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_index_pages_in' WITH (FORMAT csv);
CREATE TABLE index_pages_t (a int, b int, c text, d text, e numeric);
CREATE INDEX index_pages_1 ON index_pages_t (a);
CREATE INDEX index_pages_2 ON index_pages_t (b);
CREATE INDEX index_pages_3 ON index_pages_t (c COLLATE "C" DESC, b NULLS FIRST) WITH (deduplicate_items = off);
CREATE INDEX index_pages_4 ON index_pages_t (b, c) INCLUDE (a);
CREATE INDEX index_pages_5 ON index_pages_t (d) WITH (fillfactor = 60);
CREATE INDEX index_pages_6 ON index_pages_t (e);
CREATE UNIQUE INDEX index_pages_7 ON index_pages_t (a, b) WHERE a <= 10000 AND e < 0;

-- a page without its LSN, its checksum and its free space
CREATE FUNCTION pg_temp.content(page bytea) RETURNS bytea LANGUAGE sql AS $$
	SELECT substr(page, 11, lower - 10) || substr(page, upper + 1)
	FROM (SELECT get_byte(page, 12) + 256 * get_byte(page, 13) AS lower, get_byte(page, 14) + 256 * get_byte(page, 15) AS upper) header $$;
CREATE FUNCTION pg_temp.pages() RETURNS TABLE (index text, block bigint, content bytea) LANGUAGE sql AS $$
	SELECT i::text, b, pg_temp.content(get_raw_page(i::text, b::int))
	FROM (SELECT indexrelid::regclass AS i FROM pg_index WHERE indrelid = 'index_pages_t'::regclass) indexes,
		generate_series(0, pg_relation_size(i) / current_setting('block_size')::int - 1) b $$;
CREATE TEMP TABLE loaded (index text, block bigint, content bytea);
-- how many pages there are, and how many of them differ after REINDEX
CREATE FUNCTION pg_temp.compare() RETURNS TABLE (index text, several bool, other bigint) LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE loaded;
	INSERT INTO loaded SELECT * FROM pg_temp.pages();
	REINDEX TABLE index_pages_t;
	RETURN QUERY SELECT coalesce(l.index, r.index), count(*) > 10, count(*) FILTER (WHERE l.content IS DISTINCT FROM r.content)
		FROM loaded l FULL JOIN pg_temp.pages() r USING (index, block) GROUP BY 1 ORDER BY 1;
END $$;

SELECT rows_loaded, details #>> '{indexes,0,method}' AS method FROM bulk_load('index_pages_t', '/proc/self/cwd/pgbulk_index_pages_in', '{"writer": "direct", "workers": 0}');
SELECT * FROM pg_temp.compare();
SELECT rows_loaded, details #>> '{indexes,0,method}' AS method FROM bulk_load('index_pages_t', '/proc/self/cwd/pgbulk_index_pages_in', '{"writer": "direct", "workers": 0, "indexes": "merge"}');
SELECT * FROM pg_temp.compare();
-- in runs, as the memory does not hold all keys
SET maintenance_work_mem = '1MB';
SELECT rows_loaded, details #>> '{indexes,0,method}' AS method FROM bulk_load('index_pages_t', '/proc/self/cwd/pgbulk_index_pages_in', '{"writer": "direct", "workers": 0, "indexes": "rebuild"}');
RESET maintenance_work_mem;
SELECT * FROM pg_temp.compare();

DROP TABLE index_pages_t, loaded;
DROP EXTENSION pageinspect;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_index_pages_gone; rm -f pgbulk_index_pages_*';
