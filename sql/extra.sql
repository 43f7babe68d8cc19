--
-- Option extra: columns that are filled with what is known of a file.
--
CREATE TABLE extra_t (a int, b text, src text, line bigint, day date, part varchar(5), load bigint);

COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; mkdir -p pgbulk_extra/day=2026-11-20 pgbulk_extra/day=2026-11-21 pgbulk_extra/day=soon';

-- Writes a file of the folder.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_extra/' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result of a load of what matches a name: the rows of the table, or the error.
CREATE FUNCTION pg_temp.try(target regclass, name text, options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	context text;
	detail text;
	hint text;
BEGIN
	EXECUTE 'TRUNCATE ' || target;
	SELECT * INTO r FROM bulk_load(target, '/proc/self/cwd/pgbulk_extra/' || name, options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	RETURN QUERY EXECUTE 'SELECT t::text FROM ' || target || ' t';
	RETURN NEXT format('%s read, %s loaded, %s rejected, %s filtered, writer %s', r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_filtered, r.writer);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT, hint = PG_EXCEPTION_HINT, detail = PG_EXCEPTION_DETAIL;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	context := regexp_replace(context, '(^|\n)(SQL statement|PL/pgSQL function).*', '');
	RETURN QUERY SELECT t FROM unnest(ARRAY[detail, hint, context]) t WHERE t <> '';
END $$;

SELECT pg_temp.put('day=2026-11-20/a-1-x.csv', E'1,one\n2,"two\nlines"\n3,three\n') IS NOT NULL,
	pg_temp.put('day=2026-11-21/b-2-y.csv', E'4,four\n') IS NOT NULL,
	pg_temp.put('day=2026-11-21/b-3-y.csv', E'5,five\n6,six\n') IS NOT NULL,
	pg_temp.put('day=soon/c-1-z.csv', E'7,seven\n') IS NOT NULL,
	pg_temp.put('map.csv', E'b,a\none,1\ntwo,2\n') IS NOT NULL,
	pg_temp.put('all.csv', E'b,src,a\none,x,1\ntwo,x,2\n') IS NOT NULL,
	pg_temp.put('bad.csv', E'1,one\nx,two\n3,three\n') IS NOT NULL,
	pg_temp.put('rows.json', E'{"a": 1, "b": "one"}\n{"b": "two", "a": 2}\n') IS NOT NULL,
	pg_temp.put('lines.txt', E'1\tone\n2\t\\N\n') IS NOT NULL,
	pg_temp.put('fixed.txt', E'001one  \n002two  \n') IS NOT NULL;

-- all of it, from several files
SELECT pg_temp.try('extra_t', 'day=2026*/*-*-*.csv', '{"extra": {"src": "$3", "line": "$line", "day": "$day", "part": "$2", "load": "17"}}');
SELECT rows_loaded, details -> 'load_id' IS NOT NULL FROM bulk_load('extra_t', '/proc/self/cwd/pgbulk_extra/lines.txt', '{"format": "text", "truncate": true, "columns": ["a", "b"], "extra": {"src": "$file", "load": "$load_id"}}');
SELECT a, b, src, load = ((bulk_load_last()).details ->> 'load_id')::bigint AS loads FROM extra_t;
-- an array of paths and patterns
TRUNCATE extra_t;
SELECT rows_loaded FROM bulk_load('extra_t', ARRAY['/proc/self/cwd/pgbulk_extra/day=2026-11-21/b-*.csv', '/proc/self/cwd/pgbulk_extra/*/a-*'], '{"columns": ["a", "b"], "extra": {"src": "$1"}}');
SELECT * FROM extra_t;
-- each * takes as little as it can; sets, ? and what is escaped are passed over
SELECT pg_temp.try('extra_t', 'day=*/[a-c]-*', '{"columns": ["a", null], "extra": {"b": "$1", "src": "$2"}}');
SELECT pg_temp.try('extra_t', 'day=????-\11-20/*[-a]*.[[:alpha:]]s?', '{"columns": ["a", "b"], "extra": {"src": "$1", "part": "$2"}}');
-- constants; a $ is written twice
SELECT pg_temp.try('extra_t', 'lines.txt', '{"format": "text", "columns": ["a", "b"], "extra": {"src": "$$line", "part": "", "day": "2026-01-01"}}');
-- headers
SELECT pg_temp.try('extra_t', 'map.csv', '{"header": "map", "extra": {"src": "file", "line": "$line"}}');
SELECT pg_temp.try('extra_t', 'all.csv', '{"header": "map", "extra": {"src": "file"}}');
SELECT pg_temp.try('extra_t', 'all.csv', '{"header": "map", "extra": {"src": "file"}, "extra_columns": "ignore"}');
SELECT pg_temp.try('extra_t', 'map.csv', '{"header": "match", "columns": ["b", "a"], "extra": {"src": "file"}}');
CREATE TABLE extra_auto (a int, src text, b text);
SELECT pg_temp.try('extra_auto', 'lines.txt', '{"delimiter": "auto", "header": "auto", "extra": {"src": "$line"}}');
-- other formats
SELECT pg_temp.try('extra_auto', 'rows.json', '{"format": "json", "extra": {"src": "$line"}}');
SELECT pg_temp.try('extra_auto', 'fixed.txt', '{"format": "fixed", "fields": [{"name": "a", "length": 3}, {"name": "b", "length": 5}], "extra": {"src": "$line"}}');
COPY (SELECT n, 'n' || n FROM generate_series(1, 2) n) TO PROGRAM 'cat > pgbulk_extra/rows.bin' WITH (FORMAT binary);
SELECT pg_temp.try('extra_auto', 'rows.bin', '{"format": "binary", "extra": {"src": "$line"}}');
-- transform: instead of what the function returns
CREATE FUNCTION extra_make(x text, y text) RETURNS extra_auto LANGUAGE sql IMMUTABLE AS $$ SELECT x::int * 10, 'made', y $$;
SELECT pg_temp.try('extra_auto', 'bad.csv', '{"transform": "extra_make(text,text)", "on_error": "ignore", "extra": {"src": "$line"}}');
-- where and constraints see them, and they may be what is wrong
SELECT pg_temp.try('extra_t', 'day=2026*/*.csv', '{"columns": ["a", "b"], "extra": {"day": "$day", "line": "$line"}, "where": "day > ''2026-11-20'' AND line = 1"}');
CREATE TABLE extra_small (a int, line smallint CHECK (line <> 2), b text);
SELECT pg_temp.try('extra_small', 'day=2026*/*.csv', '{"extra": {"line": "$line"}, "on_error": "ignore"}');
CREATE DOMAIN extra_odd AS int CHECK (value % 2 = 1);
CREATE TABLE extra_domain (a int, line extra_odd, b text);
SELECT pg_temp.try('extra_domain', 'bad.csv', '{"extra": {"line": "$line"}}');
SELECT pg_temp.try('extra_domain', 'lines.txt', '{"format": "text", "extra": {"line": "$line"}}');
SELECT pg_temp.try('extra_domain', 'lines.txt', '{"format": "text", "extra": {"line": "$line"}, "on_error": "ignore"}');
SELECT pg_temp.try('extra_domain', 'lines.txt', '{"format": "text", "extra": {"line": "$line"}, "on_error": "set_null"}');
-- partitions by them, serial columns and defaults beside them
CREATE TABLE extra_parts (id serial, a int, b text, day date NOT NULL, line int NOT NULL DEFAULT 99) PARTITION BY LIST (day);
CREATE TABLE extra_p20 PARTITION OF extra_parts FOR VALUES IN ('2026-11-20');
CREATE TABLE extra_p21 PARTITION OF extra_parts FOR VALUES IN ('2026-11-21');
SELECT pg_temp.try('extra_parts', 'day=2026*/*.csv', '{"columns": ["a", "b"], "extra": {"day": "$day"}}');
SELECT tableoid::regclass, count(*) FROM extra_parts GROUP BY 1 ORDER BY 1;
SELECT pg_temp.try('extra_parts', 'day=2026*/*.csv', '{"columns": ["a", "b"], "extra": {"day": "2026-11-22"}, "on_error": "ignore"}');
-- rejects, and another try: the row's own file and line
CREATE TABLE extra_rejects_of (a int, b text, src text, line bigint);
SELECT rows_loaded, rows_rejected FROM bulk_load('extra_rejects_of', '/proc/self/cwd/pgbulk_extra/bad.csv', '{"extra": {"src": "$file", "line": "$line"}, "on_error": "ignore", "reject_table": "extra_bad", "log_verbosity": "silent"}');
UPDATE extra_bad SET raw_line = '2,two';
SELECT r.rows_loaded FROM extra_bad, bulk_load_retry('extra_rejects_of', 'extra_bad', extra_bad.load_id, '{"extra": {"src": "$file", "line": "$line"}}') r;
SELECT * FROM extra_rejects_of ORDER BY a;
-- by COPY
TRUNCATE extra_auto;
COPY extra_auto FROM stdin WITH (extra '{"src": "$file"}');
1	one
\.
COPY extra_auto (b, a) FROM stdin WITH (format csv, extra '{"src": "$line"}');
two,2
three,3
\.
SELECT * FROM extra_auto;
-- dry run
SELECT rows_loaded, writer FROM bulk_load('extra_t', '/proc/self/cwd/pgbulk_extra/map.csv', '{"dry_run": true, "header": "map", "extra": {"load": "$load_id"}}');

-- what is wrong is told before anything is read
SELECT pg_temp.try('extra_t', 'map.csv', '{"extra": {}}');
SELECT pg_temp.try('extra_t', 'map.csv', '{"extra": ["src"]}');
SELECT pg_temp.try('extra_t', 'map.csv', '{"extra": {"src": 1}}');
SELECT pg_temp.try('extra_t', 'map.csv', '{"extra": {"src": "$"}}');
SELECT pg_temp.try('extra_t', 'map.csv', '{"extra": {"src": "$0"}}');
SELECT pg_temp.try('extra_t', 'map.csv', '{"extra": {"src": "$12345"}}');
SELECT pg_temp.try('extra_t', 'map.csv', '{"extra": {"src": "$a/b"}}');
SELECT pg_temp.try('extra_t', 'map.csv', '{"extra": {"source": "$file"}}');
SELECT pg_temp.try('extra_t', 'map.csv', '{"columns": ["a", "src"], "extra": {"src": "$file"}}');
SELECT pg_temp.try('extra_t', 'map.csv', '{"extra": {"src": "$1"}}');
SELECT pg_temp.try('extra_t', '*.csv', '{"extra": {"src": "$2"}}');
SELECT pg_temp.try('extra_t', 'map.csv', '{"extra": {"src": "$day"}}');
SELECT pg_temp.try('extra_t', 'day=*/*.csv', '{"columns": ["a", "b"], "extra": {"day": "$day"}}');
SELECT pg_temp.try('extra_t', 'day=2*/*.csv', '{"columns": ["a", "b"], "extra": {"part": "too long"}}');
CREATE TABLE extra_generated (a int, b text, c int GENERATED ALWAYS AS (a) STORED);
SELECT pg_temp.try('extra_generated', 'map.csv', '{"extra": {"c": "$line"}}');
SELECT rows_loaded FROM bulk_load_query('extra_auto', 'SELECT 1', '{"extra": {"src": "$file"}}');
-- the privilege is that on all columns
CREATE ROLE regress_extra;
GRANT INSERT (a, b) ON extra_auto TO regress_extra;
GRANT pg_read_server_files TO regress_extra;
SET ROLE regress_extra;
SELECT rows_loaded FROM bulk_load('extra_auto', '/proc/self/cwd/pgbulk_extra/bad.csv', '{"extra": {"src": "$file"}}');
RESET ROLE;

-- with workers, many files and both ways of storing, rows are as without
CREATE TABLE extra_many (a int, src text, line int, b text, part bigint, line_text text);
SELECT pg_temp.put('many-' || f || '.csv', (SELECT string_agg(n || ',' || repeat('b', n % 30), E'\n') || E'\n' FROM generate_series(1, 3000) n)) IS NULL AS put FROM generate_series(10, 14) f GROUP BY 1;
SET pgbulk.chunk_size = 16384;
SET max_parallel_workers_per_gather = 0;
SELECT rows_loaded, writer FROM bulk_load('extra_many', '/proc/self/cwd/pgbulk_extra/many-*.csv', '{"columns": ["a", "b"], "workers": 0, "extra": {"src": "$file", "line": "$line", "part": "$1"}}');
CREATE TABLE extra_expected AS SELECT * FROM extra_many;
SELECT count(*), count(DISTINCT (src, line)), bool_and(a = line AND src LIKE '%many-' || part || '.csv') FROM extra_expected;
TRUNCATE extra_many;
SELECT rows_loaded, writer, workers > 0 AS workers FROM bulk_load('extra_many', '/proc/self/cwd/pgbulk_extra/many-*.csv', '{"columns": ["a", "b"], "workers": 2, "extra": {"src": "$file", "line": "$line", "part": "$1"}}');
SELECT count(*) FROM (SELECT * FROM extra_many EXCEPT ALL SELECT * FROM extra_expected) d;
TRUNCATE extra_many;
SELECT rows_loaded, writer FROM bulk_load('extra_many', '/proc/self/cwd/pgbulk_extra/many-*.csv', '{"columns": ["a", "b"], "workers": 2, "writer": "buffered", "extra": {"src": "$file", "line": "$line", "part": "$1"}}');
SELECT count(*) FROM (SELECT * FROM extra_many EXCEPT ALL SELECT * FROM extra_expected) d;
TRUNCATE extra_many;
SELECT rows_loaded FROM bulk_load('extra_many', '/proc/self/cwd/pgbulk_extra/many-*.csv', '{"columns": ["a", "b"], "workers": 2, "extra": {"src": "$file", "line": "$line", "part": "$1", "line_text": "$line"}, "on_error": "ignore"}');
SELECT count(*), bool_and(line::text = line_text) FROM extra_many;
RESET pgbulk.chunk_size;
-- merged rows get them with "all", and keep those that are not named
CREATE TABLE extra_merged (a int PRIMARY KEY, b text, src text);
COPY (SELECT n, 'old' FROM generate_series(1, 100) n) TO '/proc/self/cwd/pgbulk_extra/merge-old.csv' (FORMAT csv);
COPY (SELECT n, 'new' FROM generate_series(61, 160) n) TO '/proc/self/cwd/pgbulk_extra/merge-new.csv' (FORMAT csv);
COPY (SELECT n, 'late' FROM generate_series(1, 160) n WHERE n % 10 = 0) TO '/proc/self/cwd/pgbulk_extra/merge-late.csv' (FORMAT csv);
SELECT rows_loaded FROM bulk_load('extra_merged', '/proc/self/cwd/pgbulk_extra/merge-old.csv', '{"columns": ["a", "b"], "extra": {"src": "old"}, "log_verbosity": "silent"}');
SELECT rows_loaded, details -> 'merged_in_batches' AS in_batches FROM bulk_load('extra_merged', '/proc/self/cwd/pgbulk_extra/merge-new.csv', '{"columns": ["a", "b"], "extra": {"src": "new"}, "on_duplicate": {"set": "all"}, "log_verbosity": "silent"}');
SELECT rows_loaded FROM bulk_load('extra_merged', '/proc/self/cwd/pgbulk_extra/merge-late.csv', '{"columns": ["a", "b"], "extra": {"src": "late"}, "on_duplicate": {"set": ["b"]}, "log_verbosity": "silent"}');
SELECT b, src, count(*) FROM extra_merged GROUP BY 1, 2 ORDER BY 1, 2;

-- where patterns match bytes, as the locale has it, and a name ends within a character
COPY (SELECT '1,one') TO PROGRAM 'mkdir pgbulk_extra/bytes; tee pgbulk_extra/bytes/日-x.csv > pgbulk_extra/bytes/$(printf ''cut-\346'')';
CREATE DATABASE regress_pgbulk_extra TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C';
\set before :DBNAME
\c regress_pgbulk_extra
CREATE EXTENSION pgbulk;
CREATE TABLE extra_t (a int, b text, src text);
SELECT rows_loaded FROM bulk_load('extra_t', '/proc/self/cwd/pgbulk_extra/bytes/???-*.csv', '{"extra": {"src": "$1"}}');
SELECT rows_loaded FROM bulk_load('extra_t', '/proc/self/cwd/pgbulk_extra/bytes/[^a][^b][^c]-*.csv', '{"extra": {"src": "$1"}}');
SELECT rows_loaded FROM bulk_load('extra_t', '/proc/self/cwd/pgbulk_extra/bytes/c*-?*', '{"extra": {"src": "$2"}}');
TABLE extra_t;
\c :before
DROP DATABASE regress_pgbulk_extra;

COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; rm -r pgbulk_extra';
DROP TABLE extra_t, extra_auto, extra_small, extra_domain, extra_parts, extra_rejects_of, extra_bad, extra_generated, extra_many, extra_expected, extra_merged CASCADE;
DROP DOMAIN extra_odd;
REVOKE pg_read_server_files FROM regress_extra;
DROP ROLE regress_extra;
