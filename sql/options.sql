--
-- Options: what is accepted and what is refused, before any file is opened
--
CREATE TABLE options_target (a int, b text);

-- The whole error as text.  The file does not exist, so that good options
-- end in "no such file" (58P01).
CREATE FUNCTION pg_temp.try_load(options jsonb) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	m text;
	d text;
	h text;
BEGIN
	PERFORM bulk_load('options_target', '/nonexistent/pgbulk', options);
	RETURN 'loaded';
EXCEPTION
	WHEN undefined_file THEN
		RETURN 'accepted';
	WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL,
			h = PG_EXCEPTION_HINT;
		RETURN sqlstate || ': ' || m
			|| CASE WHEN d <> '' THEN E'\n    DETAIL: ' || d ELSE '' END
			|| CASE WHEN h <> '' THEN E'\n    HINT: ' || h ELSE '' END;
END
$$;
CREATE FUNCTION pg_temp.try_all(VARIADIC options jsonb[])
RETURNS TABLE (report text) LANGUAGE sql AS $$
	SELECT o::text || E'\n  ' || pg_temp.try_load(o)
	FROM unnest(options) WITH ORDINALITY AS u (o, n) ORDER BY n
$$;
\pset format unaligned
\pset tuples_only on

-- The options as a whole; a JSON null is an option not given
SELECT pg_temp.try_load(NULL);
SELECT pg_temp.try_all('{}', '[]', '"header"', '1', 'null', 'true',
	'{"format": null, "delimiter": null, "header": null, "columns": null,
	  "reject_limit": null, "freeze": null, "quote": null}');

-- Unknown keys
SELECT pg_temp.try_all('{"trunate": true}', '{"DELIMITER": ","}',
	'{"zebra": 1}', '{"": 1}');
SELECT o, substring(pg_temp.try_load(jsonb_build_object(o, NULL)) FROM 'HINT.*')
FROM unnest(ARRAY['delim', 'nul', 'nulls', 'onerror', 'force-null', 'headers',
	'reject_limits', 'log_verbose', 'analyse', 'column', 'skipp', 'de', 'x',
	'truncatetruncate']) AS o;

-- Every option refuses the wrong type
SELECT pg_temp.try_all(VARIADIC array_agg(jsonb_build_object(o, v) ORDER BY n))
FROM unnest(ARRAY['format', 'delimiter', 'quote', 'escape', 'null', 'default',
	'encoding', 'force_null', 'force_not_null', 'header', 'columns', 'skip',
	'limit', 'limit_counts', 'extra_columns', 'missing_columns', 'where', 'on_error',
	'reject_limit', 'reject_table', 'reject_file', 'log_verbosity', 'writer',
	'truncate', 'freeze', 'analyze']) WITH ORDINALITY AS u (o, n),
	LATERAL (VALUES ('{"x": [1, "y", null]}'::jsonb)) AS w (v);
SELECT pg_temp.try_all('{"format": 1}', '{"delimiter": true}', '{"where": 1}',
	'{"freeze": "true"}', '{"analyze": 1}', '{"truncate": "on"}',
	'{"skip": "1"}', '{"limit": true}', '{"reject_table": ["a"]}');

-- Words: case does not matter
SELECT pg_temp.try_all('{"format": "CSV"}', '{"format": "Text"}',
	'{"format": "binary"}', '{"format": "bin"}', '{"format": ""}',
	'{"format": "parquet"}');
SELECT pg_temp.try_all('{"compression": "auto"}', '{"compression": "none"}',
	'{"compression": "GZIP"}', '{"compression": "lz4", "format": "binary"}',
	'{"compression": "zstd"}', '{"compression": "zsdt"}',
	'{"compression": "gz"}', '{"compression": "xz"}',
	'{"compression": true}');
SELECT pg_temp.try_all('{"on_error": "stop"}', '{"on_error": "IGNORE"}',
	'{"on_error": "set_null"}', '{"on_error": "ignroe"}',
	'{"on_error": "setnull"}', '{"on_error": "foo"}');
-- progress: true, false or seconds
SELECT pg_temp.try_all('{"progress": true}', '{"progress": false}', '{"progress": 0.1}', '{"progress": 86400}',
	'{"progress": 0}', '{"progress": -1}', '{"progress": 0.09}', '{"progress": 86401}', '{"progress": 1e500}',
	'{"progress": "true"}', '{"progress": "5"}', '{"progress": [1]}', '{"progress": null}');
-- max_rate: bytes per second, max_lag: seconds, both with units; lag_standbys: which ones
SELECT pg_temp.try_all('{"max_rate": 32768}', '{"max_rate": "50MB"}', '{"max_rate": "0.5GB"}', '{"max_rate": 1e12}',
	'{"max_rate": 32767}', '{"max_rate": 0}', '{"max_rate": -1}', '{"max_rate": 1e13}', '{"max_rate": "31kB"}',
	'{"max_rate": "50M"}', '{"max_rate": "10s"}', '{"max_rate": ""}', '{"max_rate": true}', '{"max_rate": null}');
SELECT pg_temp.try_all('{"max_lag": 0.05}', '{"max_lag": 0}', '{"max_lag": "-1s"}', '{"max_lag": 86401}', '{"max_lag": "2d"}',
	'{"max_lag": "10MB"}', '{"max_lag": "soon"}', '{"max_lag": [1]}', '{"max_lag": "10"}', '{"max_lag": "0.05"}', '{"max_lag": "500ms"}');
SELECT pg_temp.try_all('{"lag_standbys": ["a"]}', '{"lag_standbys": "synchronous"}', '{"max_lag": 1, "lag_standbys": "a"}',
	'{"max_lag": 1, "lag_standbys": []}', '{"max_lag": 1, "lag_standbys": ["a", ""]}', '{"max_lag": 1, "lag_standbys": ["a", 1]}',
	'{"max_lag": 1, "lag_standbys": true}');
-- words of other programs
SELECT pg_temp.try_all('{"on_error": "skip"}', '{"on_error": "Continue"}',
	'{"on_error": "abort"}', '{"on_error": "null"}',
	'{"on_duplicate": "ignore"}', '{"on_duplicate": "DO NOTHING"}',
	'{"on_duplicate": "upsert"}', '{"missing_columns": "ignore"}',
	'{"extra_columns": "skip"}', '{"invalid_bytes": "ignore"}');
SELECT pg_temp.try_all('{"extra_columns": "error"}',
	'{"extra_columns": "ignore"}', '{"extra_columns": "null"}');
SELECT pg_temp.try_all('{"missing_columns": "error"}',
	'{"missing_columns": "null"}', '{"missing_columns": "default"}',
	'{"missing_columns": "ignore"}', '{"missing_columns": "defaults"}');
SELECT pg_temp.try_all('{"log_verbosity": "silent"}',
	'{"log_verbosity": "default"}', '{"log_verbosity": "verbose"}',
	'{"log_verbosity": "terse"}');
SELECT pg_temp.try_all('{"writer": "auto"}', '{"writer": "buffered"}',
	'{"writer": "fast"}');

-- Booleans
SELECT pg_temp.try_all('{"truncate": false}', '{"freeze": false}',
	'{"analyze": true}', '{"analyze": false}');

-- Numbers
SELECT pg_temp.try_all('{"skip": 0, "limit": 0}', '{"skip": 1e3, "limit": 2.0}',
	'{"skip": 9223372036854775807, "limit": 9223372036854775807}',
	'{"skip": 9223372036854775808}', '{"limit": 9223372036854775808}',
	'{"skip": -1}', '{"limit": -1}', '{"skip": 0.5}', '{"limit": 1e-3}',
	'{"limit": 1e30}');

-- Header
SELECT pg_temp.try_all('{"header": true}', '{"header": false}', '{"header": 0}',
	'{"header": 3}', '{"header": 2147483647}', '{"header": 2147483648}',
	'{"header": -1}', '{"header": 1.5}', '{"header": "match"}',
	'{"header": "MAP"}', '{"header": "true"}', '{"header": "mach"}',
	'{"header": "match", "format": "text"}',
	'{"header": "map", "columns": ["a", "b"]}',
	'{"header": "map", "columns": ["a", null]}',
	'{"header": "match", "columns": ["a", "b"]}');

-- Characters
-- characters that are written out
SELECT pg_temp.try_all('{"delimiter": "\\t"}', '{"delimiter": "TAB"}',
	'{"delimiter": "\\001"}', '{"delimiter": "\\x1F"}', '{"delimiter": "0x09"}',
	'{"delimiter": "\\u0009"}', '{"delimiter": "\\|"}', '{"delimiter": "semicolon"}',
	'{"format": "text", "delimiter": "\\t"}', '{"quote": "\\\""}',
	'{"escape": "\\\\"}', '{"quote": "\\x27"}',
	'{"delimiter": "\\n"}', '{"delimiter": "\\"}', '{"delimiter": "\\y"}',
	'{"delimiter": "||"}', '{"delimiter": "\\400"}');
SELECT pg_temp.try_all('{"delimiter": ";"}', '{"delimiter": "\t"}',
	'{"delimiter": ""}', '{"delimiter": "||"}', '{"delimiter": "\n"}',
	'{"delimiter": "\r"}', '{"quote": "''"}', '{"quote": ""}',
	'{"quote": "\n"}', '{"quote": "ab"}', '{"escape": "\\"}',
	'{"escape": ""}', '{"escape": "\r"}', '{"escape": "ab"}');
SELECT pg_temp.try_all('{"delimiter": "\""}', '{"quote": ","}',
	'{"quote": "|", "delimiter": "|"}', '{"escape": ","}',
	'{"format": "text", "delimiter": "\""}',
	'{"format": "text", "delimiter": "A"}',
	'{"format": "text", "delimiter": "a"}',
	'{"format": "text", "delimiter": "7"}',
	'{"format": "text", "delimiter": "."}',
	'{"format": "text", "delimiter": "\\"}', '{"delimiter": "a"}');

-- Strings that mean NULL or the default
SELECT pg_temp.try_all('{"null": ""}', '{"null": ["", "NA", "null"]}',
	'{"null": []}', '{"null": ["", null]}', '{"null": "a\nb"}',
	'{"null": ["", "\r"]}', '{"null": "a,b"}', '{"null": ["x", "a\"b"]}',
	'{"null": "a,b", "delimiter": ";"}', '{"null": "a''b", "quote": "''"}',
	'{"null": "a\tb", "format": "text"}', '{"null": "a\"b", "format": "text"}');
SELECT pg_temp.try_all('{"default": "DEFAULT"}', '{"default": "a\nb"}',
	'{"default": "a,b"}', '{"default": "a\"b"}', '{"default": ""}',
	'{"default": "", "null": "NULL"}',
	'{"default": "NA", "null": ["", "NA"]}',
	'{"default": "\\N", "format": "text"}',
	'{"default": "\\D", "format": "text"}');

-- Encoding
SELECT pg_temp.try_all('{"encoding": "utf8"}', '{"encoding": "LATIN1"}',
	'{"encoding": "utf99"}', '{"encoding": ""}');

-- Columns
SELECT pg_temp.try_all('{"columns": ["a", "b"]}', '{"columns": ["b", null, "a"]}',
	'{"columns": []}', '{"columns": "a"}', '{"columns": ["a", 1]}',
	'{"columns": [["a"]]}');
SELECT pg_temp.try_all('{"force_null": "*"}', '{"force_null": ["a", "b"]}',
	'{"force_null": []}', '{"force_null": "a"}', '{"force_null": ["a", null]}',
	'{"force_not_null": "*"}', '{"force_not_null": ["b"]}',
	'{"force_not_null": true}');

-- Where bad rows go
SELECT pg_temp.try_all('{"reject_limit": 0, "on_error": "ignore"}',
	'{"reject_limit": 100, "on_error": "set_null"}',
	'{"reject_limit": "5%", "on_error": "ignore"}',
	'{"reject_limit": "0.25%", "on_error": "ignore"}',
	'{"reject_limit": "100%", "on_error": "ignore"}',
	'{"reject_limit": "100.1%", "on_error": "ignore"}',
	'{"reject_limit": "-1%", "on_error": "ignore"}',
	'{"reject_limit": "1.2.3%", "on_error": "ignore"}',
	'{"reject_limit": "%", "on_error": "ignore"}',
	'{"reject_limit": "5", "on_error": "ignore"}',
	'{"reject_limit": "5% ", "on_error": "ignore"}',
	'{"reject_limit": "1e1%", "on_error": "ignore"}',
	'{"reject_limit": -1, "on_error": "ignore"}',
	'{"reject_limit": 0.5, "on_error": "ignore"}');
SELECT pg_temp.try_all('{"reject_file": "rejects.csv", "on_error": "ignore"}',
	'{"reject_file": "", "on_error": "ignore"}');
SELECT pg_temp.try_all('{"reject_limit": 0}', '{"reject_limit": "1%"}',
	'{"reject_limit": 1, "on_error": "stop"}', '{"reject_table": "r"}',
	'{"reject_file": "/nonexistent/rejects.csv"}',
	'{"log_verbosity": "verbose", "on_error": "stop"}');

-- Options that a format does not have
SELECT pg_temp.try_all('{"format": "text", "quote": "\""}',
	'{"format": "text", "escape": "\""}', '{"format": "text", "force_null": "*"}',
	'{"format": "text", "force_not_null": "*"}',
	'{"format": "binary", "delimiter": ","}', '{"format": "binary", "quote": "\""}',
	'{"format": "binary", "escape": "\""}', '{"format": "binary", "null": ""}',
	'{"format": "binary", "default": "D"}', '{"format": "binary", "force_null": "*"}',
	'{"format": "binary", "force_not_null": "*"}',
	'{"format": "binary", "header": true}', '{"format": "binary", "header": "map"}');
SELECT pg_temp.try_all('{"format": "binary", "header": false}',
	'{"format": "binary", "on_error": "ignore", "skip": 1, "limit": 1}',
	'{"format": "binary", "where": "a > 1", "columns": ["a"]}');

-- Long values are truncated in messages
SELECT pg_temp.try_load(jsonb_build_object('where', ARRAY[repeat('x', 1000)]));
SELECT pg_temp.try_load(jsonb_build_object('writer', repeat('x', 1000)));
SELECT pg_temp.try_load(jsonb_build_object(repeat('x', 1000), 1));

\pset tuples_only off
\pset format aligned
DROP TABLE options_target;
