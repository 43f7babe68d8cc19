--
-- Bytes that are not valid text.
--
\pset null '(null)'
CREATE TABLE forgiving (n int, t text);

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_forgiving_bytes_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result of loading a file: the rows of the table (non-ASCII characters escaped), or the error.
CREATE FUNCTION pg_temp.try(content bytea, options jsonb DEFAULT NULL)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	context text;
BEGIN
	TRUNCATE forgiving;
	SELECT * INTO r FROM bulk_load('forgiving', pg_temp.put('in', content), '{"log_verbosity": "silent"}' || options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	RETURN QUERY SELECT format('%s %s', n, encode(convert_to(t, 'UTF8'), 'escape')) FROM forgiving ORDER BY ctid;
	RETURN NEXT format('%s read, %s loaded, %s rejected', r.rows_read, r.rows_loaded, r.rows_rejected);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	context := regexp_replace(substring(context, 'bulk_load of .*'), '\n(SQL statement|PL/pgSQL function).*', '');
	RETURN QUERY SELECT t FROM unnest(ARRAY[context]) t WHERE t <> '';
END $$;

--
-- invalid_bytes
--

\set bad '\'1,ok\\0122,a\\351b\\0123,"c\\342\\202"\\012x,\\303\\0125,ok\\012\'::bytea'
SELECT pg_temp.try(:bad);
SELECT pg_temp.try(:bad, '{"on_error": "ignore"}');
SELECT pg_temp.try(:bad, '{"on_error": "ignore", "invalid_bytes": "reject"}');
SELECT pg_temp.try(:bad, '{"on_error": "set_null", "invalid_bytes": "reject"}');
SELECT pg_temp.try(:bad, '{"on_error": "ignore", "invalid_bytes": "error"}');
SELECT pg_temp.try(:bad, '{"on_error": "ignore", "invalid_bytes": "replace"}');
SELECT pg_temp.try(:bad, '{"invalid_bytes": "replace"}');
SELECT pg_temp.try(:bad, '{"invalid_bytes": "replace", "limit": 3}');
-- a bad row before them is still a bad row
SELECT pg_temp.try('\x782c310a312ce90a'::bytea, '{"on_error": "ignore", "invalid_bytes": "error"}');
-- one replacement for the longest prefix of a character
SELECT bytes, (SELECT string_agg(said, ', ') FROM pg_temp.try('\x312c78'::bytea || bytes || '\x790a', '{"invalid_bytes": "replace"}') said)
FROM unnest(ARRAY['\xe9', '\xc3', '\xc0af', '\xe28261', '\xe282e282ac', '\xeda080', '\xf8888080', '\xf09f98', '\xf09f9861', '\xe08080', '\xf4908080', '\x00', '\x8080', '\xff']::bytea[]) bytes;
-- many of them in one value, in a time that grows with their number alone
SELECT pg_temp.put('in', '1,'::bytea || decode(repeat('ff', 500000), 'hex')) AS f, clock_timestamp() AS began \gset
SELECT rows_loaded FROM bulk_load('forgiving', :'f', '{"invalid_bytes": "replace", "truncate": true}');
SELECT length(t), clock_timestamp() - :'began' < '15s' AS soon FROM forgiving;
-- other encodings
SELECT pg_temp.try('\x312c816181407f0a322c82a00a'::bytea, '{"encoding": "SJIS", "invalid_bytes": "replace"}');
SELECT pg_temp.try('\x312c61816281820a'::bytea, '{"encoding": "WIN1252", "invalid_bytes": "replace"}');
SELECT pg_temp.try('\x312c61816281820a'::bytea, '{"encoding": "WIN1252", "on_error": "ignore"}');
SELECT pg_temp.try('\x312c61816281820a'::bytea, '{"encoding": "WIN1252", "on_error": "ignore", "invalid_bytes": "error"}');
SELECT pg_temp.try('\x312ca4a2a461ff0a'::bytea, '{"encoding": "EUC_JP", "invalid_bytes": "replace"}');
SELECT pg_temp.try('\x312c61006200630a'::bytea, '{"encoding": "LATIN1", "invalid_bytes": "replace"}');
-- text format: bytes that escapes make
SELECT pg_temp.try(E'1\ta\\\\351b\\\\000\\\\303\\\\251\n2\tb\n'::text::bytea, '{"format": "text", "invalid_bytes": "replace"}');
SELECT pg_temp.try(E'1\ta\\\\351b\n2\t\\351b\\\\xff\n'::text::bytea, '{"format": "text", "invalid_bytes": "replace"}');
SELECT pg_temp.try(E'1\ta\\\\351b\n2\tb\n'::text::bytea, '{"format": "text", "on_error": "ignore"}');
SELECT pg_temp.try(E'1\ta\\\\351b\n2\tb\n'::text::bytea, '{"format": "text", "on_error": "ignore", "invalid_bytes": "error"}');
-- quoted, escaped, trimmed, null
SELECT pg_temp.try('\x312c2020ff2020200a322c22612222ff22200a332cff0a'::bytea, '{"invalid_bytes": "replace", "trim": true}');
SELECT pg_temp.try('\x312cff0aff2c320a2c330a'::bytea, '{"invalid_bytes": "replace", "on_error": "set_null"}');
-- in rows that are converted twice, as another value has raised an error
CREATE FUNCTION forgiving_check(text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	IF $1 = 'bad' THEN
		RAISE EXCEPTION 'bad value';
	END IF;
	RETURN true;
END $$;
CREATE DOMAIN forgiving_domain AS text CHECK (forgiving_check(VALUE));
CREATE TABLE forgiving_again (a forgiving_domain, b int[], t text);
SELECT rows_loaded FROM bulk_load('forgiving_again', pg_temp.put('in', '\x6261642c2c61ff620a6261642c2c61620a676f6f642c2c61ff620a'), '{"on_error": "set_null", "invalid_bytes": "replace", "log_verbosity": "silent"}');
SELECT rows_loaded FROM bulk_load('forgiving_again', pg_temp.put('in', '{"b":[[1],2],"t":"a\377b"}\012{"b":[1],"t":"a\377b"}'::bytea),
	'{"format": "json", "missing_columns": "null", "on_error": "set_null", "invalid_bytes": "replace", "log_verbosity": "silent"}');
SELECT a, b, t::bytea FROM forgiving_again;
DROP TABLE forgiving_again;
DROP DOMAIN forgiving_domain;
DROP FUNCTION forgiving_check;
-- with workers, and the rows after them
SET pgbulk.chunk_size = 4096;
SELECT lo_from_bytea(0, string_agg((i || ',a')::bytea || CASE WHEN i % 500 = 0 THEN '\xe9' ELSE '\x62' END::bytea || '\x0a', '' ORDER BY i)) AS object FROM generate_series(1, 20000) i \gset
SELECT lo_export(:object, '/proc/self/cwd/pgbulk_forgiving_bytes_many'), lo_unlink(:object);
TRUNCATE forgiving;
SELECT rows_loaded, rows_rejected, workers > 0 AS helped FROM bulk_load('forgiving', '/proc/self/cwd/pgbulk_forgiving_bytes_many', '{"workers": 2, "invalid_bytes": "replace"}');
SELECT count(*), sum(n), count(*) FILTER (WHERE t = 'ab'), count(*) FILTER (WHERE t = E'a\ufffd') FROM forgiving;
TRUNCATE forgiving;
SELECT rows_loaded, rows_rejected, workers > 0 AS helped FROM bulk_load('forgiving', '/proc/self/cwd/pgbulk_forgiving_bytes_many', '{"workers": 2, "on_error": "ignore", "log_verbosity": "silent"}');
SELECT rows_loaded, rows_rejected FROM bulk_load('forgiving', '/proc/self/cwd/pgbulk_forgiving_bytes_many', '{"workers": 2, "on_error": "ignore", "invalid_bytes": "error", "log_verbosity": "silent"}');
RESET pgbulk.chunk_size;
-- misuse
SELECT pg_temp.try('', '{"invalid_bytes": "drop"}');
SELECT pg_temp.try('', '{"invalid_bytes": true}');
SELECT pg_temp.try('', '{"invalid_bytes": "reject"}');
SELECT pg_temp.try('', '{"invalid_bytes": "replace", "format": "binary"}');

--
-- UTF-16
--

-- a text with or without a byte order mark
CREATE FUNCTION pg_temp.utf16(content text, big bool, mark bool DEFAULT true) RETURNS bytea LANGUAGE sql AS $$
	SELECT string_agg(CASE WHEN big THEN unit ELSE substr(unit, 2, 1) || substr(unit, 1, 1) END, '' ORDER BY i, j)
	FROM (SELECT 0 AS i, 65279 AS c WHERE mark UNION ALL SELECT i, ascii(ch) FROM regexp_split_to_table(content, '') WITH ORDINALITY t (ch, i)) x,
		LATERAL unnest(CASE WHEN c < 65536 THEN ARRAY[c] ELSE ARRAY[55296 + (c - 65536) / 1024, 56320 + c % 1024] END) WITH ORDINALITY y (u, j),
		LATERAL (SELECT substr(int4send(u), 3, 2) AS unit) z
$$;
\set text 'E\'1,"caf\\u00e9 \\u20ac\\n\\U0001f600"\\r\\n2,\\u4e2d\\u6587,\\r\\n\''
SELECT pg_temp.try(pg_temp.utf16(:text, false), '{"extra_columns": "ignore"}');
SELECT pg_temp.try(pg_temp.utf16(:text, true), '{"extra_columns": "ignore", "encoding": "UTF8"}');
SELECT pg_temp.try(pg_temp.utf16(:text, true), '{"extra_columns": "ignore", "encoding": "utf-16"}');
SELECT pg_temp.try(pg_temp.utf16(:text, true, false), '{"extra_columns": "ignore", "encoding": "UTF16BE"}');
SELECT pg_temp.try(pg_temp.utf16(:text, false, false), '{"extra_columns": "ignore", "encoding": "UTF-16LE"}');
SELECT pg_temp.try(pg_temp.utf16(E'1\tcaf\u00e9\\\n\\N\n', true), '{"format": "text", "encoding": "UTF-16LE"}');
SELECT pg_temp.try(pg_temp.utf16(E't\u00e9,n\n1,2\n', true), '{"header": "map"}');
SELECT pg_temp.try(pg_temp.utf16(E'n\u00a7t\n1\u00a72\n', true), '{"header": "map", "delimiter": "\u00a7"}');
SELECT pg_temp.try(pg_temp.utf16(E'1,2\n', true, false), '{"encoding": "UTF16"}');
SELECT pg_temp.try('', '{"encoding": "UTF16"}');
SELECT pg_temp.try('\xfffe', '{"encoding": "UTF16"}');
SELECT pg_temp.try('\xff', '{"encoding": "UTF16LE", "on_error": "ignore"}');
-- not so where another encoding is meant
SELECT pg_temp.try(pg_temp.utf16(E'1,2\n', true), '{"encoding": "LATIN1"}');
-- invalid text is an error of its row
SELECT pg_temp.try(pg_temp.utf16(E'1,ab\n2,', false) || '\x3dd8'::bytea || pg_temp.utf16(E'\n3,c\n', false, false) || '\x34'::bytea, '{"on_error": "ignore"}');
SELECT pg_temp.try(pg_temp.utf16(E'1,ab\n2,', false) || '\x3dd8'::bytea || pg_temp.utf16(E'\n3,c\n4,d', false, false) || '\x34'::bytea, '{"invalid_bytes": "replace"}');
-- rejects are in UTF-8
SELECT rows_loaded, rows_rejected FROM bulk_load('forgiving', pg_temp.put('in', pg_temp.utf16(E'1,\u00e9\n\u00e9,2\n3,3\n', true)),
	'{"encoding": "UTF16", "on_error": "ignore", "reject_table": "pg_temp.forgiving_rejects", "reject_file": "/proc/self/cwd/pgbulk_forgiving_bytes_bad", "log_verbosity": "silent"}');
SELECT line_number, byte_offset, reason, raw_line = E'\u00e9,2' AS same FROM pg_temp.forgiving_rejects;
SELECT pg_read_binary_file('/proc/self/cwd/pgbulk_forgiving_bytes_bad');
-- several files, each in its encoding; workers
SELECT rows_loaded FROM bulk_load('forgiving', ARRAY[pg_temp.put('a', pg_temp.utf16(E'1,\u00e9\n', true)), pg_temp.put('b', E'2,\u00e9\n'::text::bytea), pg_temp.put('c', pg_temp.utf16(E'3,\u00e9\n', false))], '{"truncate": true}');
SELECT n, encode(convert_to(t, 'UTF8'), 'escape') FROM forgiving ORDER BY n;
SET pgbulk.chunk_size = 4096;
SELECT lo_from_bytea(0, pg_temp.utf16(string_agg(format(E'%s,"\u00e9\n\U0001f600 %s"\n', i, i), '' ORDER BY i), false)) AS object FROM generate_series(1, 10000) i \gset
SELECT lo_export(:object, '/proc/self/cwd/pgbulk_forgiving_bytes_many'), lo_unlink(:object);
TRUNCATE forgiving;
SELECT rows_loaded, workers > 0 AS helped, bytes_read FROM bulk_load('forgiving', '/proc/self/cwd/pgbulk_forgiving_bytes_many', '{"workers": 2}');
SELECT count(*), sum(n), bool_and(t = E'\u00e9\n\U0001f600 ' || n) FROM forgiving;
-- rows that are checked when all are in are read again
CREATE TABLE forgiving_keys (k int PRIMARY KEY);
INSERT INTO forgiving_keys SELECT i FROM generate_series(1, 10000) i WHERE i % 5000 <> 0;
TRUNCATE forgiving;
ALTER TABLE forgiving ADD FOREIGN KEY (n) REFERENCES forgiving_keys;
TRUNCATE pg_temp.forgiving_rejects;
SELECT rows_loaded, rows_rejected FROM bulk_load('forgiving', '/proc/self/cwd/pgbulk_forgiving_bytes_many', '{"on_error": "ignore", "reject_table": "pg_temp.forgiving_rejects", "log_verbosity": "silent"}');
SELECT line_number, byte_offset, reason, raw_line = format(E'%s,"\u00e9\n\U0001f600 %s"', (line_number + 1) / 2, (line_number + 1) / 2) AS same FROM pg_temp.forgiving_rejects;
RESET pgbulk.chunk_size;
DROP TABLE forgiving, forgiving_keys;
CREATE TABLE forgiving (n int, t text);
-- misuse
SELECT pg_temp.try('', '{"encoding": "UTF32"}');
SELECT pg_temp.try('', '{"encoding": "UTF16", "format": "binary"}');

DROP TABLE forgiving;
