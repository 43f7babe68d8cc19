--
-- The csv format: dialects, quoting, line ends, empty lines.
--
CREATE TABLE csv_rows (a text, b text);
CREATE TABLE csv_words (a text);

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_csv_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text
RETURN pg_temp.put(name, convert_to(content, 'UTF8'));

-- The result of loading a file: the rows of the table, or the error.
CREATE FUNCTION pg_temp.try(target regclass, content bytea, options jsonb DEFAULT NULL)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	context text;
BEGIN
	EXECUTE 'TRUNCATE ' || target;
	SELECT * INTO r FROM bulk_load(target, pg_temp.put('in.csv', content), options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	ASSERT r.bytes_read = length(content);
	RETURN QUERY EXECUTE 'SELECT replace(row_to_json(t)::text, chr(65279), ''<mark>'') FROM ' || target || ' t ORDER BY ctid';
	RETURN NEXT format('%s of %s rows', r.rows_loaded, r.rows_read);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	RETURN NEXT regexp_replace(context, '\n(SQL statement|PL/pgSQL function).*', '');
END $$;
CREATE FUNCTION pg_temp.try(target regclass, content text, options jsonb DEFAULT NULL)
RETURNS SETOF text LANGUAGE sql AS $$
	SELECT pg_temp.try(target, convert_to(content, 'UTF8'), options)
$$;

-- quotes, and what only looks like quotes
SELECT pg_temp.try('csv_rows', E'one,two\n"one","two"\n"a,b","say ""hi"""\n"x\ny","\n"\n');
SELECT pg_temp.try('csv_rows', E' a , b \n" a "," b "\n"a" , "b"\na "b" c,d"e"f\n"a"b,"c""d"e\n""a,a""\n');
SELECT pg_temp.try('csv_rows', E'"""","""a"""\n"""""",x""""\n');
-- null is an empty value without quotes
SELECT pg_temp.try('csv_rows', E',\n"",""\na,\n,b\n');
-- a backslash is a letter
SELECT pg_temp.try('csv_rows', E'\\N,\\n\n\\,"\\"\n');

-- delimiters
SELECT pg_temp.try('csv_rows', E'a;"b;c"\n,;"d""e"\n', '{"delimiter": ";"}');
SELECT pg_temp.try('csv_rows', E'a\t"b\tc"\n,\t\n', '{"delimiter": "\t"}');
SELECT pg_temp.try('csv_rows', E'a|b\n"|"|""\n', '{"delimiter": "|"}');
SELECT pg_temp.try('csv_rows', E'a b\n" " ""\n', '{"delimiter": " "}');
-- quote and escape
SELECT pg_temp.try('csv_rows', E'''a,b'',''it''''s''\n"a","b"\n', '{"quote": "''"}');
SELECT pg_temp.try('csv_rows', E'"a\\"b","c\\\\"\n\\",\\\\\n"d\\n","\\,"\n', '{"escape": "\\"}');
SELECT pg_temp.try('csv_rows', E'"a""b",c\n', '{"escape": "\\"}');
SELECT pg_temp.try('csv_rows', E'*a!*b*,c\n*d!!*,!\n', '{"quote": "*", "escape": "!"}');
SELECT pg_temp.try('csv_rows', E'$a$$b$,$\n$\n$$,$c\nd$\n', '{"quote": "$"}');
-- the escape only counts before a quote or itself, and only within quotes
SELECT pg_temp.try('csv_rows', E'"a\\b","\\\\\\""\na\\b,\\\\\n', '{"escape": "\\"}');
-- control characters that are rare in data
SELECT pg_temp.try('csv_rows', E'a\x01b\n\x02c\x01\x02\x01\x02d,\n\x02\n', '{"delimiter": "\u0001", "quote": "\u0002"}');

-- line ends
SELECT pg_temp.try('csv_rows', E'a,b\r\nc,d\r\n');
SELECT pg_temp.try('csv_rows', E'a,b\rc,d\r');
SELECT pg_temp.try('csv_rows', E'a,"b\r\nc"\r\n"d\ne","f\rg"\r\n');
SELECT pg_temp.try('csv_rows', E'a,"b\r\nc"\n"d\ne","f\rg"\n');
SELECT pg_temp.try('csv_rows', E'a,"b\r\nc"\r"d\ne","f\rg"\r');
-- the last one may be missing
SELECT pg_temp.try('csv_rows', E'a,b\nc,d');
SELECT pg_temp.try('csv_rows', E'a,b\r\nc,d');
SELECT pg_temp.try('csv_rows', E'a,b\rc,d');
SELECT pg_temp.try('csv_rows', 'a,b');
SELECT pg_temp.try('csv_rows', 'a,');
SELECT pg_temp.try('csv_rows', 'a,"b"');
SELECT pg_temp.try('csv_rows', E'a,"b\n"');
-- other line ends than that of the first line
SELECT pg_temp.try('csv_rows', E'a,b\nc,d\r\n');
SELECT pg_temp.try('csv_rows', E'a,b\nc\rc,d\n');
SELECT pg_temp.try('csv_rows', E'a,b\r\nc,d\n');
SELECT pg_temp.try('csv_rows', E'a,b\r\nc\r,d\r\n');
SELECT pg_temp.try('csv_rows', E'a,b\rc,d\n');
SELECT pg_temp.try('csv_rows', E'a,b\rc,d\r\n');
SELECT pg_temp.try('csv_rows', E'a,b\r\nc,d\r');

-- empty lines
SELECT pg_temp.try('csv_rows', '');
SELECT pg_temp.try('csv_rows', E'\n');
SELECT pg_temp.try('csv_rows', E'a,b\n\nc,d\n');
SELECT pg_temp.try('csv_rows', E'a,b\n\n');
SELECT pg_temp.try('csv_words', '');
SELECT pg_temp.try('csv_words', E'\n');
SELECT pg_temp.try('csv_words', E'\n\na\n\n');
SELECT pg_temp.try('csv_words', E'a\r\n\r\n""\r\n');
SELECT pg_temp.try('csv_words', E'a\n ');

-- byte order marks: one at the start of a file is dropped
SELECT pg_temp.try('csv_rows', E'\ufeffa,b\n');
SELECT pg_temp.try('csv_rows', E'\ufeff"a",b\n');
SELECT pg_temp.try('csv_rows', E'\ufeff\ufeffa,\ufeffb\n\ufeffc,d\n');
SELECT pg_temp.try('csv_rows', E'\ufeff');
SELECT pg_temp.try('csv_rows', E'\ufeffb,a\n1,2\n', '{"header": "map"}');
SELECT pg_temp.try('csv_words', '\xefbb'::bytea);
SELECT pg_temp.try('csv_rows', '\xefbbbf612c620a'::bytea, '{"encoding": "LATIN1"}');
SELECT rows_loaded FROM bulk_load('csv_words', ARRAY[pg_temp.put('1', E'\ufeffone\n'), pg_temp.put('2', E'\ufefftwo\n')]);
SELECT a, length(a) FROM csv_words;

-- the end marker of format text is data here
SELECT pg_temp.try('csv_words', E'a\n\\.\n"\\."\nb\\.\n\\.\\.\n');
SELECT pg_temp.try('csv_words', '\.');
SELECT pg_temp.try('csv_words', E'a\r\n\\.\r\nb\r\n');
SELECT pg_temp.try('csv_rows', E'\\.,\\.\n"x\n\\.\ny",\\.\n');

-- rows with too few or too many fields
SELECT pg_temp.try('csv_rows', E'a,b\nc\n');
SELECT pg_temp.try('csv_rows', E'a,b\nc,d,e\n');
SELECT pg_temp.try('csv_rows', E'a,b\nc,d,\n');
SELECT pg_temp.try('csv_words', E'a\n,\n');
-- an unclosed quote
SELECT pg_temp.try('csv_rows', E'a,b\n"c,d\ne,f\n');
SELECT pg_temp.try('csv_rows', E'a,b\nc,d"\ne,f\n');
SELECT pg_temp.try('csv_rows', E'a,b\nc,d"\ne,f"\ng,h\n');
SELECT pg_temp.try('csv_rows', '"');
SELECT pg_temp.try('csv_rows', E'a,"b\\"\n', '{"escape": "\\"}');
-- zero bytes
SELECT pg_temp.try('csv_rows', '\x612c620a6300642c650a'::bytea);

-- a table without columns
CREATE TABLE csv_none ();
SELECT pg_temp.try('csv_none', E'\n\n\n');
SELECT pg_temp.try('csv_none', E'\na\n');
SELECT pg_temp.try('csv_none', '');

-- lines and columns are counted across embedded line ends
CREATE TABLE csv_numbers (a int, b text);
SELECT pg_temp.try('csv_numbers', E'1,"x\ny\nz"\n2,"\n"\nthree,x\n');
SELECT pg_temp.try('csv_numbers', E'1,"x\r\ny\rz"\r\n2,"\n"\r\nthree,x\r\n');
SELECT pg_temp.try('csv_numbers', E'1,"x\ny\rz"\r2,"\r\n"\rthree,x\r');

-- values longer than a chunk
SELECT rows_loaded, rows_read, bytes_read
FROM bulk_load('csv_rows', pg_temp.put('long', 'x,' || repeat('0123456789', 300000) || E'\n"' || repeat(E'"",\n', 200000) || '",y'),
	'{"truncate": true, "escape": "\""}');
SELECT length(a), length(b), b = repeat('0123456789', 300000) AS b_same, a = repeat(E'",\n', 200000) AS a_same FROM csv_rows ORDER BY ctid;
-- the same with any chunk size
COPY (SELECT i, CASE WHEN i % 7 = 0 THEN E'multi\n"line' WHEN i % 5 = 0 THEN NULL ELSE repeat('x', i % 40) END
	FROM generate_series(1, 500) i) TO '/proc/self/cwd/pgbulk_csv_many' WITH (FORMAT csv);
CREATE FUNCTION pg_temp.many() RETURNS text LANGUAGE sql AS $$
	TRUNCATE csv_rows;
	SELECT bulk_load('csv_rows', '/proc/self/cwd/pgbulk_csv_many');
	SELECT count(*) || ' ' || md5(string_agg(format('%L,%L', a, b), ';' ORDER BY ctid)) FROM csv_rows
$$;
COPY csv_rows FROM '/proc/self/cwd/pgbulk_csv_many' WITH (FORMAT csv);
SELECT count(*) || ' ' || md5(string_agg(format('%L,%L', a, b), ';' ORDER BY ctid)) AS copied FROM csv_rows WHERE a ~ '^\d+$' \gset
SELECT size, pg_temp.many() = :'copied' AS same
FROM unnest(ARRAY[16, 17, 31, 64, 100, 1000, 10000]) AS size, set_config('pgbulk.chunk_size', size::text, false);
RESET pgbulk.chunk_size;
-- many columns, more than one file has fields at a time
CREATE TABLE csv_wide ();
DO $$
BEGIN
	EXECUTE 'ALTER TABLE csv_wide ' || (SELECT string_agg('ADD c' || i || ' int', ', ') FROM generate_series(1, 1500) i);
END $$;
SELECT rows_loaded FROM bulk_load('csv_wide',
	pg_temp.put('wide', (SELECT string_agg(array_to_string(ARRAY(SELECT i * j FROM generate_series(1, 1500) j), ','), E'\n') FROM generate_series(1, 300) i)));
SELECT count(*), sum(c1), sum(c1500) FROM csv_wide;

DROP TABLE csv_rows, csv_words, csv_none, csv_numbers, csv_wide;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_csv_gone; rm -f pgbulk_csv_*';
