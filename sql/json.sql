--
-- Format json: objects in lines, in an array, one after the other.
--
-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_json_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE sql AS $$ SELECT pg_temp.put(name, convert_to(content, 'UTF8')) $$;

-- The result of loading a file: the rows of the table and the bad ones, or the error.
CREATE FUNCTION pg_temp.try(t regclass, content bytea, options jsonb DEFAULT '{}')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	context text;
BEGIN
	EXECUTE format('TRUNCATE %s', t);
	DROP TABLE IF EXISTS json_bad;
	SELECT * INTO r FROM bulk_load(t, pg_temp.put('in', content), '{"format": "json", "encoding": "UTF8", "log_verbosity": "silent"}' ||
		CASE WHEN options ->> 'on_error' IN ('ignore', 'set_null') THEN '{"reject_table": "json_bad"}'::jsonb ELSE '{}' END || options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	RETURN QUERY EXECUTE format('SELECT row_to_json(t)::text FROM %s t ORDER BY tableoid, ctid', t);
	IF options ? 'on_error' THEN
		RETURN QUERY SELECT format('line %s, byte %s: %s%s [%s]', line_number, byte_offset, message, ', column ' || column_name, raw_line) FROM json_bad ORDER BY byte_offset, line_number;
	END IF;
	RETURN NEXT format('%s of %s rows', r.rows_loaded, r.rows_read);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	RETURN NEXT substring(context FROM 'file "[^"]*", (line [^\n]*)');
END $$;
CREATE FUNCTION pg_temp.try(t regclass, content text, options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE sql AS $$ SELECT pg_temp.try(t, convert_to(content, 'UTF8'), options) $$;
SET DateStyle = 'ISO, MDY';
SET client_min_messages = warning;
\pset format unaligned
\pset tuples_only on

--
-- Values
--
CREATE TABLE json_t (a int, b text, c numeric);
SELECT pg_temp.try('json_t', E'{"a":1,"b":"one","c":1.50}\n{"c": -2e3, "a": "2", "b": null}\n');
-- what a text column gets: characters, or JSON text
SELECT pg_temp.try('json_t', E'{"a":1,"b":"q\\"\\\\ \\u00e9 \\ud83d\\ude00 \\n","c":null}\n{"a":1,"b":[1, {"x" : 2}],"c":0}\n{"a":1,"b":true,"c":0}\n{"a":1,"b":1.10,"c":0}\n{"a":1,"b":"","c":0}\n{"a":1,"b":{},"c":12345678901234567890.123456789012345678901234567890}');
-- the last of several values counts, but all are checked
SELECT pg_temp.try('json_t', E'{"a":1,"b":"x","a":2,"c":1}\n{"a":1,"b":"x","c":{"d":}, "c":1}', '{"on_error": "ignore"}');
-- documents, numbers out of range, dates
CREATE TABLE json_types (j json, jb jsonb, d date, ts timestamptz, n numeric, f float8, ok bool, u uuid);
SET TimeZone = 'UTC';
SELECT pg_temp.try('json_types', '{"j": {"b":1, "a" : "\u00e9"}, "jb": {"b":1,"a":2,"a":[null]}, "d": "2024-02-29", "ts": "2024-05-06T07:08:09Z", "n": 1e40, "f": 1.5e-3, "ok": true, "u": "550e8400-e29b-41d4-a716-446655440000"}
{"j": "text", "jb": "t\"ext", "d": null, "ts": null, "n": null, "f": null, "ok": "off", "u": null}
{"j": null, "jb": null, "d": "infinity", "ts": "epoch", "n": "NaN", "f": "Infinity", "ok": false, "u": null}
{"j": [1 ,2], "jb": 1.00, "d": "2024-02-30", "ts": null, "n": null, "f": null, "ok": null, "u": null}
{"j": 1, "jb": "\u0000", "d": null, "ts": null, "n": null, "f": null, "ok": null, "u": null}
{"j": 1, "jb": 1, "d": 20240101, "ts": null, "n": null, "f": null, "ok": 1, "u": null}', '{"on_error": "ignore"}');
SELECT pg_temp.try('json_types', '{"j":1,"jb":2,"d":"31/12/2024","ts":null,"n":null,"f":null,"ok":null,"u":null}', '{"date_format": {"d": "DD/MM/YYYY"}}');
-- arrays, composite types and domains as json_populate_record makes them
CREATE TYPE json_pair AS (x int, y text);
CREATE DOMAIN json_positive AS int CHECK (VALUE > 0);
CREATE DOMAIN json_tags AS text[] CHECK (cardinality(VALUE) < 3);
CREATE TABLE json_more (ints int[], texts text[], pair json_pair, pairs json_pair[], dom json_positive, tags json_tags, js jsonb[]);
CREATE FUNCTION pg_temp.compare(line text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	mine text;
	theirs text;
BEGIN
	SELECT string_agg(x, E'\n') INTO mine FROM (SELECT x FROM pg_temp.try('json_more', line, '{"missing_columns": "null"}') x LIMIT 1) _;
	BEGIN
		SELECT row_to_json(r)::text INTO theirs FROM json_populate_record(NULL::json_more, line::json) r;
	EXCEPTION WHEN OTHERS THEN
		theirs := format('%s: %s', sqlstate, sqlerrm);
	END;
	RETURN NEXT CASE WHEN mine = theirs THEN '' ELSE 'not ' || theirs || ' but ' END || mine;
END $$;
SELECT pg_temp.compare('{"ints": [1, "2", null], "texts": ["a,b", "\"", {"k": 1}], "pair": {"x": 1, "y": "z", "w": 3}, "pairs": [{"x":1},{"y":"2"}], "dom": 5, "tags": ["a", "b"], "js": [{"a":1}, "s", 2]}');
SELECT pg_temp.compare('{"ints": [[1,2],[3,4]], "texts": [], "pair": {}, "pairs": null}');
SELECT pg_temp.compare('{"ints": "{1,2}", "pair": "(1,x)", "pairs": "{\"(1,2)\"}", "tags": "{a}"}');
SELECT pg_temp.compare('{"ints": 1}');
SELECT pg_temp.compare('{"ints": [1, [2]]}');
SELECT pg_temp.compare('{"ints": ["x"]}');
SELECT pg_temp.compare('{"ints": "x"}');
SELECT pg_temp.compare('{"pair": [1]}');
SELECT pg_temp.compare('{"pair": {"x": "y"}}');
SELECT pg_temp.compare('{"dom": 0}');
SELECT pg_temp.compare('{"tags": ["a", "b", "c"]}');
SELECT pg_temp.try('json_more', E'{"ints": [1]}\n{"ints": [1, [2]]}\n{"tags": ["a", "b", "c"]}\n{"pair": {"x": "y"}}\n{"ints": [2]}', '{"missing_columns": "null", "on_error": "ignore"}');
SELECT pg_temp.try('json_more', E'{"ints": [1]}\n{"ints": [1, [2]], "dom": 1}\n{"dom": "x", "ints": [3]}', '{"missing_columns": "null", "on_error": "set_null"}');
-- escapes that are not characters
SELECT pg_temp.try('json_t', E'{"a":1,"b":"\\u0000","c":1}\n{"a":1,"b":"x\\ud83d","c":1}\n{"a":1,"b":"\\ud83dx","c":1}\n{"a":2,"b":"\\t","c":1}', '{"on_error": "ignore"}');
SELECT pg_temp.try('json_t', E'{"a":1,"b":"\\u0000","c":1}');
SELECT pg_temp.try('json_t', '\x7b2261223a312c2262223a22ff222c2263223a317d'::bytea, '{"on_error": "ignore"}');
SELECT pg_temp.try('json_t', '\x7b2261223a312c2262223a22e95c6e222c2263223a317d'::bytea, '{"encoding": "LATIN1"}');
-- an object within a damaged first object is not a row
SELECT pg_temp.try('json_more', E'{\n "ints": tru,\n "pairs": [\n   {"ints": [99]}\n ]\n}\n{\n "ints": [2]\n}', '{"missing_columns": "null", "extra_columns": "ignore", "on_error": "ignore"}');
SELECT pg_temp.try('json_more', E'{"ints": tru,\n "pairs": [{"ints": [98]},\n   {"ints": [99]}\n ]\n}\n{\n "ints": [2]\n}', '{"missing_columns": "null", "extra_columns": "ignore", "on_error": "ignore"}');
SELECT pg_temp.try('json_more', E'{"ints": [1],\n{"ints": [2]}\n{"ints": [3], "pairs": null}\n{"ints": "bad}\n{"ints": [4]}', '{"missing_columns": "null", "extra_columns": "ignore", "on_error": "ignore"}');
SELECT pg_temp.try('json_more', E'{"ints": [1], "texts": "x\n{"ints": [2]}\n{"ints": [3]}', '{"missing_columns": "null", "extra_columns": "ignore", "on_error": "ignore"}');

--
-- Keys
--
SELECT pg_temp.try('json_t', E'{"a":1,"b":"x"}', '{}');
SELECT pg_temp.try('json_t', E'{"a":1,"b":"x","c":2,"other":3}', '{}');
SELECT pg_temp.try('json_t', E'{"a":1,"b":"x","c":2,"other":[3, {"a": 4}], "more": null}\n{"b":"y"}\n{}\n{"other":1}', '{"extra_columns": "ignore", "missing_columns": "null", "on_error": "ignore"}');
SELECT pg_temp.try('json_t', E'{"a":1}\n{"a":2,"b":"x","c":1,"d":1}\n{"a":3,"b":"x","c":1}', '{"on_error": "ignore"}');
SELECT pg_temp.try('json_t', E'{"b":"x"}\n{"a":null}', '{"columns": ["b"], "extra_columns": "ignore", "on_error": "ignore"}');
-- a key may be in any case, where that is unambiguous
SELECT pg_temp.try('json_t', E'{"A":1,"B":"x","C":2}\n{"A":1,"a":2,"b":"x","c":2}\n{"A":1,"A":2,"b":"x","c":2}\n{"\\u0061":1,"b":"x","c":2}', '{"on_error": "ignore", "extra_columns": "ignore"}');
CREATE TABLE json_case ("Name" text, name text, "größe" int);
SELECT pg_temp.try('json_case', '{"Name":"1","name":"2","größe":3}
{"NAME":"1","name":"2","gr\u00f6\u00dfe":3}', '{"on_error": "ignore", "extra_columns": "ignore", "missing_columns": "null"}');
-- in encodings whose characters may contain ASCII bytes, quotes, backslashes and letters among them
CREATE TABLE json_names (名 text, 한 text, "é" text);
SELECT encoding, t FROM unnest(ARRAY['SJIS', 'SHIFT_JIS_2004', 'GBK', 'BIG5', 'GB18030', 'UHC']) encoding,
	pg_temp.try('json_names', convert_to(CASE WHEN encoding = 'UHC' THEN '{"한":"한"}' ELSE '{"名":"名"}' END, encoding), jsonb_build_object('encoding', encoding, 'missing_columns', 'null')) t;
CREATE TABLE json_kana ("ソ" int, "ム" int, "チ" int, "表a" int);
SELECT pg_temp.try('json_kana', convert_to('{"ソ":1,"ム":2,"チ":3,"表a":4}
{"ア":1}
{"表A":4,"チ":3,"ム":2,"ソ":1}
{"表\u0061":4,"\u8868a":5,"\u30e0":2,"ア":6}
{"表A":4,"\u8868A":5,"ム":2}
{"チ":1,"ア":3,"チ":2,"表":7}', 'SJIS'), '{"encoding": "SJIS", "missing_columns": "null", "extra_columns": "ignore", "on_error": "ignore"}');
SELECT pg_temp.try('json_kana', convert_to('{"ソ":1,"ム":2,"ア":3,"表a":4}', 'SJIS'), '{"encoding": "SJIS", "missing_columns": "null"}');
-- escapes for characters beyond ASCII, whatever the encoding
SELECT encoding, t FROM unnest(ARRAY['UTF8', 'WIN1252', 'LATIN1', 'SQL_ASCII', 'EUC_JIS_2004']) encoding,
	pg_temp.try('json_case', '{"gr\u00f6\u00dfe":1,"name":"x","\u004eame":"y"}', jsonb_build_object('encoding', encoding)) t;
SELECT pg_temp.try('json_case', '\x7b226772f65c753030646665223a317d0a7b226772f6df45223a327d0a7b2267725c75643830305c7530306466223a337d'::bytea, '{"encoding": "WIN1252", "missing_columns": "null", "on_error": "ignore"}');
-- invalid characters whose second byte would be a backslash
CREATE TABLE json_text (b text, j json);
SELECT encoding, t FROM unnest(ARRAY['SJIS', 'GBK', 'BIG5', 'GB18030', 'UHC', 'SHIFT_JIS_2004']) encoding,
	pg_temp.try('json_text', '{"b":"a\377\134u00\134n"}\012{"b":"a\377\134pb\134n"}\012{"b":"a\377b\134n"}\012{"j":{"a":"\377\134n"}}'::bytea,
		jsonb_build_object('encoding', encoding, 'missing_columns', 'null', 'invalid_bytes', 'replace')) t;
-- SHIFT_JIS_2004 has a wide backslash, which is no escape
SELECT pg_temp.try('json_text', '{"b":"\201_n\201_"}\012{"b":"\134t\201_n\201_"}\012{"j":{"\201_n":["\201_","\134n\201_"]}}\012{"j":"\201_"}\012{"b":["\201_u"]}\012{"b":"\377\201_\134t"}'::bytea,
	'{"encoding": "SHIFT_JIS_2004", "missing_columns": "null", "invalid_bytes": "replace"}');
CREATE TABLE json_wide ("a\b!" int, "a\nb" int);
SELECT pg_temp.try('json_wide', '{"a\201_b\134u0021":1,"a\201_nb":2}\012{"a\201_\134u006eb":3,"\134u0061\134\134b!":4}'::bytea,
	'{"encoding": "SHIFT_JIS_2004", "missing_columns": "null", "extra_columns": "ignore"}');
-- defaults
CREATE TABLE json_default (id serial, a int DEFAULT 7, b text DEFAULT 'd' || 'e', n json_positive DEFAULT 1, at date DEFAULT '2024-01-01', g int GENERATED ALWAYS AS (a + 1) STORED);
SELECT pg_temp.try('json_default', E'{"a":1}\n{"b":"x","n":2}\n{"a":null,"b":null}\n{"n":0}', '{"missing_columns": "default", "on_error": "ignore"}');
SELECT pg_temp.try('json_default', E'{"a":1,"b":"x","n":2}', '{"columns": ["a", "b", "n"]}');
CREATE TABLE json_notnull (a int NOT NULL, b json_positive NOT NULL);
SELECT pg_temp.try('json_notnull', E'{"a":1,"b":1}\n{"a":null,"b":1}\n{"b":1}\n{"a":1,"b":null}', '{"missing_columns": "null", "on_error": "ignore"}');
CREATE TABLE json_none ();
SELECT pg_temp.try('json_none', E'{}\n{"a":1}', '{"extra_columns": "ignore"}');

--
-- Rows
--
SELECT pg_temp.try('json_t', '');
SELECT pg_temp.try('json_t', E' \r\n\t\n');
SELECT pg_temp.try('json_t', E'\\xefbbbf'::bytea || convert_to(E'\r\n{"a":1,"b":"x","c":1}\r\n\r\n  {"a":2,"b":"x","c":1}  ', 'UTF8'));
-- a bad line is one bad row
SELECT pg_temp.try('json_t', E'{"a":1,"b":"x","c":1}\n{"a":2,"b":"x\n{"a":3,"b":"x","c":1}\n{"a":4,"b":"x","c":1}}\nnull\n[{"a":5,"b":"x","c":1}]\n{"a":6,"b":"x","c":1},\n"s"\n{"a":7,"b":"x" "c":1}\n{"a":08,"b":"x","c":1}\n{"a":9,"b":"x","c":1} {"a":10,"b":"x","c":1}\n{"a":"11x","b":"x","c":1}\n{"a":12,"b":"x","c":1}\n{"a":13,"b"', '{"on_error": "ignore"}');
SELECT pg_temp.try('json_t', E'{"a":1,"b":"x","c":1}\n{"a":2,"b":"x","c":}\n');
SELECT pg_temp.try('json_t', E'{"a":1,"b":"x","c":1}\n[1]\n');
SELECT pg_temp.try('json_t', E'{"a":1,"b":"x","c":1}\n{"a":99999999999,"b":"x","c":1}\n');
-- arrays
SELECT pg_temp.try('json_t', '[]');
SELECT pg_temp.try('json_t', '[{"a":1,"b":"x","c":1},{"a":2,"b":"]","c":1}]');
SELECT pg_temp.try('json_t', E'[\n  {\n    "a": 1,\n    "b": "}",\n    "c": 1\n  },\n  {\n    "a": 2,\n    "b": [\n      {}\n    ],\n    "c": 1\n  }\n]\n');
SELECT pg_temp.try('json_t', E'[{"a":1,"b":"x","c":1}, 12, {"a":2,"b":"x","c":1 2},\n {"a":3,"b":"x","c":1} ,, [{"a":4,"b":"x","c":1}], "x",\n{"a":"5\n","b":"x","c":1},{"a":6,"b":"x","c":1}]\nmore\n{"a":7,"b":"x","c":1}', '{"on_error": "ignore"}');
SELECT pg_temp.try('json_t', E'[{"a":1,"b":"x","c":1},\n{"a":2,"b":"x","c":1}\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('json_t', E'[{"a":1,"b":"x","c":1},\n{"a":2,"b":"x', '{"on_error": "ignore"}');
SELECT pg_temp.try('json_t', E'[{"a":1,"b":"x","c":1}');
-- an unclosed quote costs no more rows than necessary
SELECT pg_temp.try('json_t', E'[{"a":1,"b":"x,"c":1},\n{"a":2,"b":"x","c":1},\n{"a":3,"b":"x","c":1}]', '{"on_error": "ignore"}');
SELECT pg_temp.try('json_t', E'[\n  {\n    "a": 1,\n    "b": "x,\n    "c": 1\n  },\n  {\n    "a": 2,\n    "b": "x",\n    "c": 1\n  },\n  {\n    "a": 3,\n    "b": "x",\n    "c": 1\n  }\n]', '{"on_error": "ignore"}');
-- nor longer than anybody waits, where many objects are not closed
SELECT pg_temp.put('in', '[{"a":tru' || repeat(E'\n{"a":[', 1400000)) AS f, clock_timestamp() AS began \gset
SET statement_timeout = '500ms';
\set VERBOSITY terse
SELECT FROM bulk_load('json_t', :'f', '{"format": "json", "on_error": "ignore", "log_verbosity": "silent"}');
\set VERBOSITY default
RESET statement_timeout;
SELECT clock_timestamp() - :'began' < '15s' AS soon;
-- one after the other
SELECT pg_temp.try('json_t', E'{\n "a": 1,\n "b": "x",\n "c": 1\n}\n{\n "a": 2,\n "b": "x",\n "c": }\n{\n "a": 3,\n "b": "x",\n "c": 1\n}', '{"on_error": "ignore"}');
SELECT pg_temp.try('json_t', E'{"a":1,"b":"x","c":1}\n{"a":2,"b":"x","c":1}\n{"a":3,"b":"x","c":1}\n{"a":4,"b":"x","c":1}\n', '{"skip": 1, "limit": 2, "where": "a <> 2"}');
SELECT repeat('[', 5000) AS deep \gset
SELECT array_agg(t ~ 'nested deeper than 4096 levels') FROM pg_temp.try('json_t', '{"a":1,"b":"x","c":1}' || E'\n{"a":2,"b":' || :'deep' || translate(:'deep', '[', ']') || E',"c":1}\n{"a":3,"b":"x","c":1}', '{"on_error": "ignore"}') t;

--
-- Rejects, and retrying those of another load
--
\pset tuples_only off
SELECT pg_temp.put('in', E'[{"a":1,"b":"x","c":1},\n{"a":"two",\n "b":"x","c":1}, {"a":3,"b":"x"}, {"a":4,"b":"x"\n]') AS f \gset
TRUNCATE json_t;
SELECT rows_loaded, rows_rejected, details ->> 'load_id' AS load FROM bulk_load('json_t', :'f', '{"format": "json", "on_error": "ignore", "reject_table": "json_r", "log_verbosity": "silent"}') \gset
SELECT :rows_loaded AS loaded, :rows_rejected AS rejected;
SELECT line_number, byte_offset, reason, column_name, field_value, message, raw_line FROM json_r ORDER BY byte_offset;
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('json_t', 'json_r', :load, '{"format": "json", "missing_columns": "null", "log_verbosity": "silent"}');
UPDATE json_r SET raw_line = replace(raw_line, '"two"', '2');
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('json_t', 'json_r', :load, '{"format": "json", "log_verbosity": "silent"}');
SELECT line_number, message, raw_line FROM json_r ORDER BY byte_offset;
SELECT * FROM json_t ORDER BY a;
-- as a file
SELECT rows_loaded, rows_rejected FROM bulk_load('json_t', :'f', '{"format": "json", "on_error": "ignore", "reject_file": "/proc/self/cwd/pgbulk_json_bad", "log_verbosity": "silent", "truncate": true}');
SELECT pg_read_file('/proc/self/cwd/pgbulk_json_bad');
-- rows that are tried and rolled back
SELECT rows_loaded, rows_rejected FROM bulk_load('json_t', :'f', '{"format": "json", "on_error": "ignore", "log_verbosity": "silent", "dry_run": true}');
SELECT count(*) FROM json_t;
-- keys of other tables, and of the same
CREATE TABLE json_parent (id int PRIMARY KEY);
INSERT INTO json_parent VALUES (1), (2);
CREATE TABLE json_child (id int PRIMARY KEY, parent int REFERENCES json_parent, doc jsonb);
SELECT pg_temp.put('in', E'{"id":1,"parent":1,"doc":{"x":1}}\n{"id":2,"parent":9,"doc":null}\n{"id":1,"parent":2,"doc":2}\n{"id":3,"parent":null,"doc":[]}\n') AS f \gset
SELECT rows_loaded, rows_rejected, rows_duplicate FROM bulk_load('json_child', :'f', '{"format": "json", "on_error": "ignore", "on_duplicate": "keep_old", "reject_table": "json_r", "log_verbosity": "silent"}');
SELECT * FROM json_child ORDER BY id;
SELECT line_number, reason, raw_line FROM json_r WHERE target ~ 'json_child' ORDER BY line_number;

--
-- Workers: many rows, in lines, in an array, and with bad ones among them
--
CREATE TABLE json_many (id int, b text, j jsonb);
SELECT pg_temp.put('lines', (SELECT string_agg(CASE WHEN i % 997 = 0 THEN '{"id": bad}' WHEN i % 1009 = 0 THEN '' ELSE format('{"id":%s,"b":"row \"%s\" {[","j":{"n":[%s,{"x":null}]}}', i, i, i) END, E'\n') FROM generate_series(1, 30000) i)) AS lines,
	pg_temp.put('array', (SELECT '[' || string_agg(CASE WHEN i % 997 = 0 THEN '{"id": bad}' ELSE format(E'{"id":%s,\n"b":"row \\"%s\\" {[","j":{"n":[%s,{"x":null}]}}', i, i, i) END, E',\n') || ']' FROM generate_series(1, 30000) i)) AS array \gset
CREATE FUNCTION pg_temp.many(path text, workers int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	TRUNCATE json_many;
	DROP TABLE IF EXISTS json_bad;
	SET LOCAL pgbulk.chunk_size = '64kB';
	SELECT * INTO r FROM bulk_load('json_many', path, jsonb_build_object('format', 'json', 'on_error', 'ignore', 'reject_table', 'json_bad', 'log_verbosity', 'silent', 'workers', workers));
	IF workers > 0 AND r.workers = 0 THEN
		RAISE 'no workers';
	END IF;
	RETURN format('%s read, %s loaded, %s rejected, md5 %s, lines %s', r.rows_read, r.rows_loaded, r.rows_rejected, (SELECT md5(string_agg(m::text, ';' ORDER BY ctid)) FROM json_many m), (SELECT sum(line_number * (1 + byte_offset)) FROM json_bad));
END $$;
SELECT pg_temp.many(:'lines', 0) = pg_temp.many(:'lines', 2) AS same_lines, pg_temp.many(:'array', 0) = pg_temp.many(:'array', 2) AS same_array;
SELECT split_part(pg_temp.many(:'lines', 0), ', md5', 1) AS lines, split_part(pg_temp.many(:'array', 0), ', md5', 1) AS array;
-- an array that is cut off behind a comma does not go on in the next file
SELECT pg_temp.put('cut_1', '[' || repeat('{"id":1,"b":null,"j":null},', 20000)), pg_temp.put('cut_2', '[{"id":2,"b":"","j":2},{"id":3,"b":"","j":3}]');
SELECT pg_temp.many('/proc/self/cwd/pgbulk_json_cut_*', 0) = pg_temp.many('/proc/self/cwd/pgbulk_json_cut_*', 2) AS same_cut;
SELECT split_part(pg_temp.many('/proc/self/cwd/pgbulk_json_cut_*', 2), ', md5', 1) AS cut;
SELECT file ~ 'cut_1$' AS first, message FROM json_bad;

--
-- Keys in a database with one byte for each letter, where names are longer in the file
--
CREATE DATABASE regress_pgbulk_json TEMPLATE template0 ENCODING 'WIN1251' LOCALE 'C';
\set before :DBNAME
\c regress_pgbulk_json
SET client_encoding = 'UTF8';
CREATE EXTENSION pgbulk;
SELECT repeat('ж', 63) AS name \gset
CREATE TABLE json_t (:"name" int, "цена" int);
CREATE FUNCTION pg_temp.try(encoding text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	object oid := lo_from_bytea(0, convert_to(content, encoding));
BEGIN
	PERFORM lo_export(object, '/proc/self/cwd/pgbulk_json_in'), lo_unlink(object);
	RETURN (SELECT rows_loaded FROM bulk_load('json_t', '/proc/self/cwd/pgbulk_json_in', jsonb_build_object('format', 'json', 'encoding', encoding, 'extra_columns', 'ignore')));
EXCEPTION WHEN OTHERS THEN
	RETURN sqlerrm;
END $$;
SELECT pg_temp.try('UTF8', '{"' || :'name' || '":1,"цена":2}');
SELECT pg_temp.try('UTF8', '{"' || repeat('\u0436', 63) || '":3,"ц\u0435на":4,"\u65e5":5}');
SELECT pg_temp.try('KOI8R', '{"' || :'name' || '":6,"\u0446\u0435\u043d\u0430":7}');
SELECT pg_temp.try('WIN1251', '{"' || :'name' || '":8,"цен\u0430":9}');
TABLE json_t;
\c :before
DROP DATABASE regress_pgbulk_json;
SET client_min_messages = warning;

--
-- Options that do not apply
--
\set VERBOSITY terse
SELECT FROM bulk_load('json_t', '/x', '{"format": "json", "delimiter": ";"}');
SELECT FROM bulk_load('json_t', '/x', '{"format": "json", "quote": "''"}');
SELECT FROM bulk_load('json_t', '/x', '{"format": "json", "null": "NULL"}');
SELECT FROM bulk_load('json_t', '/x', '{"format": "json", "default": "D"}');
SELECT FROM bulk_load('json_t', '/x', '{"format": "json", "header": true}');
SELECT FROM bulk_load('json_t', '/x', '{"format": "json", "newline": "any"}');
SELECT FROM bulk_load('json_t', '/x', '{"format": "json", "comment": "#"}');
SELECT FROM bulk_load('json_t', '/x', '{"format": "json", "trim": true}');
SELECT FROM bulk_load('json_t', '/x', '{"format": "json", "decimal_mark": ","}');
SELECT FROM bulk_load('json_t', '/x', '{"format": "json", "transform": "f"}');
SELECT FROM bulk_load('json_t', '/x', '{"format": "json", "force_null": "*"}');
SELECT FROM bulk_load('json_t', '/x', '{"format": "json", "fields": []}');
SELECT FROM bulk_load('json_t', '/x', '{"format": "json", "columns": ["a", null]}');
\set VERBOSITY default

DROP TABLE json_t, json_text, json_wide, json_types, json_more, json_case, json_names, json_kana, json_default, json_notnull, json_none, json_r, json_bad, json_child, json_parent, json_many;
DROP DOMAIN json_positive, json_tags;
DROP TYPE json_pair;
