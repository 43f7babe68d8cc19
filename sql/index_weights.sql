-- Btrees of texts in collations, sorted by weights of their characters where these have some
CREATE EXTENSION amcheck;
SELECT rows_loaded FROM bulk_load_last();	-- loads the library
-- Collations as there are: some count digits, ignore punctuation, take two letters or three for one, or texts for equal.
SET client_min_messages = warning;
DO $$
DECLARE
	made text;
BEGIN
	FOREACH made IN ARRAY ARRAY['provider = icu, locale = ''en-US''', 'provider = icu, locale = ''cs''', 'provider = icu, locale = ''da''',
			'provider = icu, locale = ''en-u-kn-true''', 'provider = icu, locale = ''en-u-ka-shifted''', 'provider = icu, locale = ''en-u-kf-upper''',
			'provider = icu, locale = ''und-u-ks-level2'', deterministic = false', 'provider = icu, locale = ''und'', rules = ''&z < abc''',
			'provider = libc, locale = ''en_US.utf8''', 'provider = libc, locale = ''cs_CZ.utf8''', 'provider = libc, locale = ''da_DK.utf8'''] LOOP
		BEGIN
			EXECUTE format('CREATE COLLATION "made %s" (%s)', md5(made), made);
		EXCEPTION WHEN others THEN
			NULL;	-- not here
		END;
	END LOOP;
END$$;
RESET client_min_messages;

CREATE TABLE texts (ascii text, mixed text, words text, n int);
INSERT INTO texts SELECT
		CASE WHEN i % 101 = 0 THEN NULL WHEN i % 7 = 0 THEN upper(left(md5(i::text), 3)) || substr(md5(i::text), 4)
			ELSE left(md5((i % 7000)::text), i % 5 + 9) END,
		CASE WHEN i % 97 = 0 THEN chr(223 + i % 32) ELSE '' END || 'link_' || md5((i % 7000)::text),
		CASE i % 8 WHEN 0 THEN '' WHEN 1 THEN 'a-b' WHEN 2 THEN 'ab' WHEN 3 THEN 'Ab' WHEN 4 THEN 'a b' WHEN 5 THEN chr(1 + i % 126) || chr(1 + i % 125)
			WHEN 6 THEN 'abc' ELSE 'a_B' END || repeat(chr(97 + i % 26), i % 3) || ' ' || i % 5000 || CASE WHEN i % 9 = 0 THEN '!' WHEN i % 10 = 0 THEN chr(9) ELSE '' END, i
	FROM generate_series(1, 12000) i;
VACUUM ANALYZE texts;
SET pgbulk.create_index = on;
SET pgbulk.debug_create_index = on;	-- as small as they are
SET min_parallel_table_scan_size = 0;

-- Builds an index in memory, in ranges that exceed it, and by several processes; each must have all rows in their order.
CREATE FUNCTION build_texts(columns text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before bigint := coalesce(sum(s.count), 0) FROM bulk_load_statements s WHERE s.taken;
	collation_name text;
	memory text;
	workers int;
BEGIN
	FOR collation_name IN SELECT 'default' UNION ALL SELECT collname FROM pg_collation WHERE collname LIKE 'made %' ORDER BY 1 LOOP
		FOREACH memory IN ARRAY ARRAY['64MB', '1MB'] LOOP
			FOREACH workers IN ARRAY ARRAY[0, 2] LOOP
				PERFORM set_config('maintenance_work_mem', memory, true), set_config('max_parallel_maintenance_workers', workers::text, true);
				EXECUTE format('CREATE INDEX texts_i ON texts (%s)', replace(columns, 'COLLATE', format('COLLATE %I', collation_name)));
				PERFORM bt_index_parent_check('texts_i', true);
				DROP INDEX texts_i;
			END LOOP;
		END LOOP;
	END LOOP;
	RETURN CASE WHEN sum(s.count) - before >= 4 THEN 'built' END FROM bulk_load_statements s WHERE s.taken;
END$$;
SELECT build_texts('ascii COLLATE');
SELECT build_texts('mixed COLLATE');
SELECT build_texts('words COLLATE, n');
SELECT build_texts('ascii COLLATE DESC NULLS LAST, words COLLATE');

-- The index's order is that of a sort.
CREATE INDEX texts_i ON texts (words, n);
SET enable_sort = off;
SET enable_seqscan = off;
CREATE TEMP TABLE by_index AS SELECT row_number() OVER () AS place, words, n FROM (SELECT words, n FROM texts ORDER BY words, n) s;
SET enable_sort = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SET enable_seqscan = on;
SELECT count(*) FROM (SELECT row_number() OVER () AS place, words, n FROM (SELECT words, n FROM texts ORDER BY words, n) s) sorted
	JOIN by_index b USING (place) WHERE b.words = sorted.words AND b.n = sorted.n;
DROP TABLE texts;
DROP FUNCTION build_texts;
DROP EXTENSION amcheck;
