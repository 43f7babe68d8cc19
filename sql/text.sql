--
-- The text format: escapes, nulls, line ends, the end-of-copy marker.
--
CREATE TABLE text_rows (a text, b text);
CREATE TABLE text_words (a text);

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_text_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text
RETURN pg_temp.put(name, convert_to(content, 'UTF8'));

-- The result of loading a file: the rows of the table, or the error.
CREATE FUNCTION pg_temp.try(target regclass, content bytea, options jsonb DEFAULT '{}')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	context text;
BEGIN
	EXECUTE 'TRUNCATE ' || target;
	SELECT * INTO r FROM bulk_load(target, pg_temp.put('in', content), '{"format": "text"}' || options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	RETURN QUERY EXECUTE 'SELECT row_to_json(t)::text FROM ' || target || ' t ORDER BY ctid';
	RETURN NEXT format('%s of %s rows', r.rows_loaded, r.rows_read);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	RETURN NEXT regexp_replace(context, '\n(SQL statement|PL/pgSQL function).*', '');
END $$;
CREATE FUNCTION pg_temp.try(target regclass, content text, options jsonb DEFAULT '{}')
RETURNS SETOF text LANGUAGE sql AS $$
	SELECT pg_temp.try(target, convert_to(content, 'UTF8'), options)
$$;

-- fields
SELECT pg_temp.try('text_rows', E'a\tb\n \t\n"a\t"b"\n"x\ty"\na,b\t;\n');
-- escapes
SELECT pg_temp.try('text_rows', E'\\b\\f\\n\\r\\t\\v\t\\a\\B\\"\\\\\\,\n');
SELECT pg_temp.try('text_rows', E'\\101\\60\\0601\\7\t\\x41\\x6A\\x7\\xg\\x\n');
SELECT pg_temp.try('text_rows', E'a\\\tb\t\\\\\n\\\\\tc\n');
SELECT pg_temp.try('text_rows', E'a\\\nb\tc\nd\te\n');
SELECT pg_temp.try('text_rows', E'a\\\r\nb\tc\\\r\r\nd\te\r\n');
-- a backslash at the end of the file
SELECT pg_temp.try('text_words', E'a\\');
SELECT pg_temp.try('text_words', E'a\\\\');
-- numeric escapes must make valid text
SELECT pg_temp.try('text_rows', E'\\303\\251\t\\xc3\\xa9\n');
SELECT pg_temp.try('text_rows', E'a\tb\n\\303\\251\t\\xe9\n');
SELECT pg_temp.try('text_rows', E'a\tb\n\\0\tc\n');
SELECT pg_temp.try('text_rows', E'a\tb\n\\400x\tc\n');

-- nulls
SELECT pg_temp.try('text_rows', E'\\N\t\\N\n\\\\N\t\\N \n\t\\n\nN\t\\NN\n');
SELECT pg_temp.try('text_rows', E'\t\\N\nNULL\t\n', '{"null": ""}');
SELECT pg_temp.try('text_rows', E'NULL\t\\NULL\nnull\t-\n', '{"null": ["NULL", "-"]}');
-- a null marker is compared before escapes are resolved
SELECT pg_temp.try('text_rows', E'\\x4e\\x41\tNA\n', '{"null": "NA"}');
SELECT pg_temp.try('text_rows', E'\\x41\tA\n', '{"null": "\\x41"}');
SELECT pg_temp.try('text_rows', E'\\N\ta\n', '{"null": []}');

-- delimiters
SELECT pg_temp.try('text_rows', E'a,b\n\\,,\\,\n\\N,\t\n', '{"delimiter": ","}');
SELECT pg_temp.try('text_rows', E'a|b\\|\n', '{"delimiter": "|"}');
SELECT pg_temp.try('text_rows', E'a"b\n"""\n', '{"delimiter": "\""}');

-- line ends
SELECT pg_temp.try('text_rows', E'a\tb\r\nc\td\r\n');
SELECT pg_temp.try('text_rows', E'a\tb\rc\td\r');
SELECT pg_temp.try('text_rows', E'a\tb\nc\td');
SELECT pg_temp.try('text_rows', E'a\tb\r\nc\td');
SELECT pg_temp.try('text_rows', E'a\tb\nc\td\r\n');
SELECT pg_temp.try('text_rows', E'a\tb\r\nc\td\n');
SELECT pg_temp.try('text_rows', E'a\tb\rc\td\n');
SELECT pg_temp.try('text_rows', E'a\tb\r\nc\\r\\n\td\r\n');
-- empty lines
SELECT pg_temp.try('text_words', E'\n\na\n\n');
SELECT pg_temp.try('text_words', E'\n\na\n\n', '{"null": ""}');
SELECT pg_temp.try('text_rows', E'a\tb\n\n');
SELECT pg_temp.try('text_words', '');
-- byte order mark
SELECT pg_temp.try('text_words', E'\ufeffa\nb\n');

-- rows with too few or too many fields
SELECT pg_temp.try('text_rows', E'a\tb\nc\n');
SELECT pg_temp.try('text_rows', E'a\tb\nc\td\te\n');

-- the end-of-copy marker
SELECT pg_temp.try('text_words', E'a\n\\.\n');
SELECT pg_temp.try('text_words', E'\\.\n');
SELECT pg_temp.try('text_words', E'a\r\n\\.\r\n');
SELECT pg_temp.try('text_words', E'a\r\\.\r');
SELECT pg_temp.try('text_words', E'a\n\\.\nb\nc\n');
SELECT pg_temp.try('text_words', E'a\n\\.\n\n');
-- what follows it is not read, whatever the window
SELECT bytes_read FROM bulk_load('text_words', pg_temp.put('in', E'a\n\\.\n' || repeat('x', 100000)), '{"format": "text"}');
SET pgbulk.chunk_size = 16;
SELECT bytes_read FROM bulk_load('text_words', pg_temp.put('in', E'a\n\\.\n' || repeat('x', 100000)), '{"format": "text"}');
RESET pgbulk.chunk_size;
-- not a marker
SELECT pg_temp.try('text_words', E'a\n\\\\.\n\\\\\\\\.\n.\n');
SELECT pg_temp.try('text_words', E'a\n\\.');
SELECT pg_temp.try('text_words', E'a\n\\.b\nc\n');
SELECT pg_temp.try('text_words', E'a\nb\\.\nc\n');
SELECT pg_temp.try('text_words', E'a\nb\\.c\nc\n');
SELECT pg_temp.try('text_words', E'a\n\\.\\.\nc\n');
SELECT pg_temp.try('text_words', E'a\n\\.\r\nb\n');
SELECT pg_temp.try('text_words', E'a\r\n\\.\nb\r\n');
SELECT pg_temp.try('text_words', E'a\r\\.\nb\r');
SELECT pg_temp.try('text_rows', E'a\tb\nc\t\\.\n');
-- each file has its own
SELECT rows_loaded, rows_read FROM bulk_load('text_words', ARRAY[pg_temp.put('1', E'one\n\\.\n'), pg_temp.put('2', E'two\n\\.\n'),
	pg_temp.put('3', E'three\n')], '{"format": "text", "truncate": true}');
SELECT a FROM text_words ORDER BY ctid;
-- a bad row that contains one is just a bad row
SELECT rows_loaded, rows_rejected, rows_read FROM bulk_load('text_words', pg_temp.put('in', E'a\nb\\.\n\\.c\nd\n\\.\nlost\n'),
	'{"format": "text", "truncate": true, "on_error": "ignore"}');
SELECT a FROM text_words ORDER BY ctid;

-- round trip of all that COPY writes, with any chunk size
CREATE TABLE text_source (a text, b text, c int[], d bytea, e json);
INSERT INTO text_source
SELECT (ARRAY[NULL, '', E'\b\f\n\r\t\v', E'\\', E'\\N', E'\\.', 'N', '\x41', 'a', E'\u00e9\u4e16'])[i % 10 + 1],
	repeat(chr(i % 127 + 1), i % 17), ARRAY[i, NULL], decode(md5(i::text), 'hex'), to_json(E'x\t\\"' || i)
FROM generate_series(1, 1000) i;
COPY text_source TO '/proc/self/cwd/pgbulk_text_out';
COPY text_source TO '/proc/self/cwd/pgbulk_text_out2' WITH (DELIMITER '|', NULL 'NULL');
CREATE TABLE text_copy (LIKE text_source);
CREATE FUNCTION pg_temp.differ(path text, options jsonb) RETURNS bigint LANGUAGE sql AS $$
	TRUNCATE text_copy;
	SELECT bulk_load('text_copy', path, '{"format": "text"}' || options);
	SELECT count(*) FROM ((SELECT a, b, c, d, e::text FROM text_source EXCEPT ALL SELECT a, b, c, d, e::text FROM text_copy)
		UNION ALL (SELECT a, b, c, d, e::text FROM text_copy EXCEPT ALL SELECT a, b, c, d, e::text FROM text_source)) x
$$;
SELECT size, pg_temp.differ('/proc/self/cwd/pgbulk_text_out', '{}'),
	pg_temp.differ('/proc/self/cwd/pgbulk_text_out2', '{"delimiter": "|", "null": "NULL"}')
FROM unnest(ARRAY[16, 17, 63, 64, 65, 1000, 1048576]) AS size, set_config('pgbulk.chunk_size', size::text, false);
RESET pgbulk.chunk_size;

-- numeric escapes are in the database encoding, not in the file's
SELECT pg_temp.try('text_rows', '\xe9095c3335310a'::bytea, '{"encoding": "LATIN1"}');

DROP TABLE text_rows, text_words, text_source, text_copy;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_text_gone; rm -f pgbulk_text_*';
