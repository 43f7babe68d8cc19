--
-- Columns of a table, read for btrees without the executor: each index has the pages of the server's.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pageinspect;
CREATE EXTENSION IF NOT EXISTS amcheck;
SELECT rows_loaded FROM bulk_load_last();	-- loads the library

-- values that are null, long, compressed, elsewhere; columns that are gone, or came later
CREATE TABLE index_columns (gone text, n int, few smallint, word text COLLATE "C", long text COLLATE "C", plain text COLLATE "C", u uuid, tag name, "kind" "char", big bigint);
ALTER TABLE index_columns ALTER plain SET STORAGE PLAIN, ALTER long SET STORAGE EXTERNAL;
INSERT INTO index_columns SELECT repeat('x', i % 7), i, nullif(i % 300, 5), CASE WHEN i % 11 > 0 THEN 'word ' || (i * 7919) % 5000 END,
		CASE i % 50 WHEN 0 THEN repeat('y', 100 + i % 400) WHEN 1 THEN repeat(md5(i::text), 40) ELSE (i % 97)::text END,
		repeat('z', i % 140), CASE WHEN i % 13 > 0 THEN md5((i % 3000)::text)::uuid END, 'tag ' || i % 9, chr(65 + i % 26), i * 1000003::bigint
	FROM generate_series(1, 6000) i;
ALTER TABLE index_columns DROP COLUMN gone, ADD COLUMN later int DEFAULT 7, ADD COLUMN latest text COLLATE "C" DEFAULT 'added', ADD COLUMN never int;
INSERT INTO index_columns SELECT i, i % 10, 'more', 'more', 'more', NULL, 'more', 'm', i, i, 'later', i % 5 FROM generate_series(6001, 8000) i;
VACUUM index_columns;

-- a page without its LSN, its checksum and its free space
CREATE FUNCTION pg_temp.content(page bytea) RETURNS bytea LANGUAGE sql AS $$
	SELECT substr(page, 11, lower - 10) || substr(page, upper + 1)
	FROM (SELECT get_byte(page, 12) + 256 * get_byte(page, 13) AS lower, get_byte(page, 14) + 256 * get_byte(page, 15) AS upper) header $$;
CREATE FUNCTION pg_temp.pages(i regclass) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(md5(pg_temp.content(get_raw_page(i::text, b::int))), ' ' ORDER BY b)
	FROM generate_series(0, pg_relation_size(i) / current_setting('block_size')::int - 1) b $$;
-- whether an index is built here, and has the pages that the server makes
CREATE FUNCTION pg_temp.same(what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before bigint := coalesce(sum(s.count), 0) FROM bulk_load_statements s WHERE s.taken;
	taken bool;
	here text;
	same bool;
BEGIN
	SET LOCAL pgbulk.create_index = on;
	EXECUTE 'CREATE ' || regexp_replace(what, 'INDEX', 'INDEX index_columns_i ON index_columns');
	SELECT sum(s.count) > before INTO taken FROM bulk_load_statements s WHERE s.taken;
	PERFORM bt_index_parent_check('index_columns_i', true, true);
	here := pg_temp.pages('index_columns_i');
	SET LOCAL pgbulk.create_index = off;
	REINDEX INDEX index_columns_i;
	same := here = pg_temp.pages('index_columns_i');
	DROP INDEX index_columns_i;
	RETURN CASE WHEN taken THEN 'taken' ELSE 'left' END || CASE WHEN same THEN ', the same' ELSE ', other pages' END;
END $$;
SET max_parallel_maintenance_workers = 0;
SELECT what, pg_temp.same(what) FROM unnest(ARRAY['INDEX (n)', 'UNIQUE INDEX (n)', 'INDEX (n DESC)', 'INDEX (few)', 'INDEX (few DESC NULLS LAST)', 'INDEX (few NULLS FIRST)',
	'INDEX (word)', 'INDEX (word DESC)', 'INDEX (long)', 'INDEX (plain)', 'INDEX (u)', 'INDEX (u DESC)', 'INDEX (big)',
	'INDEX (word, few)', 'INDEX (n, n)', 'INDEX (long, plain)', 'INDEX (few, n)', 'INDEX (later)', 'INDEX (latest)', 'INDEX (never)', 'INDEX (latest, never, few)']) what;
-- whoever builds these
SELECT what, split_part(pg_temp.same(what), ', ', 2) FROM unnest(ARRAY['INDEX (few, (n + 1))', 'INDEX (tag, few)', 'INDEX (kind, n)', 'INDEX (few, word)']) what;

-- NULLs beside many keys of one row each
INSERT INTO index_columns (n) SELECT NULL FROM generate_series(1, 1000);
SELECT what, pg_temp.same(what) FROM unnest(ARRAY['INDEX (n)', 'INDEX (n NULLS FIRST)', 'UNIQUE INDEX (n DESC)', 'INDEX (few, n)']) what;
-- and a few of several rows between these
UPDATE index_columns SET n = n + 1 WHERE n % 1000 = 0;
SELECT what, pg_temp.same(what) FROM unnest(ARRAY['INDEX (n)', 'INDEX (n DESC)']) what;
DELETE FROM index_columns WHERE n % 1000 = 1 AND n <> 3001;
SET pgbulk.create_index = on;
CREATE UNIQUE INDEX ON index_columns (n);

-- Rows of a transaction that has ended are not written again to say so, nor taken where it has not committed.
CREATE TABLE index_hints (n int);
INSERT INTO index_hints SELECT generate_series(1, 20000);
BEGIN;
INSERT INTO index_hints SELECT generate_series(20001, 20100);
ROLLBACK;
CREATE INDEX index_hints_n ON index_hints (n);
SELECT count(*) > 100, count(*) FILTER (WHERE t_infomask & x'0100'::int > 0) AS written FROM heap_page_items(get_raw_page('index_hints', 0));
SELECT bt_index_parent_check('index_hints_n', true, true), reltuples FROM pg_class WHERE oid = 'index_hints_n'::regclass;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*), min(n), max(n) FROM index_hints WHERE n > 0;

DROP TABLE index_columns, index_hints;
DROP EXTENSION pageinspect, amcheck;
