--
-- bulk_inspect on JSON: objects in lines, in an array, one after the other, as columns by their keys.
--
SET DateStyle = 'ISO, MDY';
SET TimeZone = 'UTC';
SET client_min_messages = warning;

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_objects_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result for a file, and what its statements load.
CREATE FUNCTION pg_temp.look_at(content bytea, options jsonb DEFAULT NULL, show int DEFAULT 9) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	v record;
	r record;
BEGIN
	SELECT * INTO v FROM bulk_inspect(pg_temp.put('in', content), '{"table": "inspected"}' || coalesce(options, '{}'));
	RETURN NEXT format('%s, %s, ends %s, %s rows%s', v.format, v.encoding, coalesce(v.newline, 'unknown'), v.rows_sampled, CASE WHEN NOT v.complete THEN ' of more' END);
	RETURN NEXT v.load_options;
	RETURN QUERY SELECT format('  %s %s, null %s%s', quote_ident(c ->> 'name'), c ->> 'type', c ->> 'null_share', ', as ' || (c ->> 'date_format')) FROM jsonb_array_elements(v.columns) c;
	RETURN QUERY SELECT '  note: ' || n FROM unnest(v.notes) n;
	IF v.bulk_load IS NULL THEN
		RETURN;
	END IF;
	EXECUTE v.create_table;
	EXECUTE v.bulk_load INTO r;
	RETURN NEXT format('loaded %s, rejected %s', r.rows_loaded, r.rows_rejected);
	RETURN QUERY EXECUTE format('SELECT i::text FROM inspected i LIMIT %s', show);
	DROP TABLE inspected;
END $$;
CREATE FUNCTION pg_temp.look(content text, options jsonb DEFAULT NULL, show int DEFAULT 9) RETURNS SETOF text LANGUAGE sql
	AS $$ SELECT pg_temp.look_at(convert_to(content, 'UTF8'), options, show) $$;
\pset format unaligned
\pset tuples_only

--
-- As typed
--
SELECT pg_temp.put('events.json', convert_to('{"id":"2489651045","type":"CreateEvent","actor":{"id":665991,"login":"petroav"},"repo":{"id":28688495,"name":"petroav/6.828"},"payload":{"ref":"master","size":1},"public":true,"created_at":"2015-01-01T15:00:00Z","select":1.5}
{"id":"2489651051","type":"PushEvent","actor":{"id":3854017,"login":"rspt"},"repo":{"id":28671719,"name":"rspt/theme"},"payload":{},"public":true,"created_at":"2015-01-01T15:00:01Z","org":{"id":1},"select":null}
', 'UTF8')) AS path \gset
\x
SELECT * FROM bulk_inspect(:'path');
\x
SELECT replace(create_and_load, 'SELECT * FROM', 'SELECT rows_loaded FROM') FROM bulk_inspect(:'path') \gexec
TABLE pgbulk_objects_events;
-- the rows are those of json_populate_record
SELECT count(*) FROM pgbulk_objects_events e
	JOIN (SELECT (json_populate_record(NULL::pgbulk_objects_events, line::json)).* FROM regexp_split_to_table(trim(E'\n' FROM pg_read_file(:'path')), E'\n') line) p
	ON row_to_json(e)::text = row_to_json(p)::text;
DROP TABLE pgbulk_objects_events;

--
-- Layouts of objects
--
SELECT pg_temp.look(E'{"a":1}\r\n\r\n  {"a":2}  \r\n');
SELECT pg_temp.look('[{"a":1},{"a":2,"b":[{"c":1}]}]');
SELECT pg_temp.look(E'[\n  {\n    "a": 1\n  },\n  {\n    "b": "x"\n  }\n]\n');
SELECT pg_temp.look(E'{\n "a": 1\n}\n{\n "a": 2\n}');
SELECT pg_temp.look_at('\xefbbbf' || convert_to('{"a":"é"}', 'UTF8'));
SELECT pg_temp.look(E'{"a":1}\n{}\n{"a":3}');
SELECT pg_temp.look(E'{"a":null,"b":[]}\n{"a":null,"b":{}}');
SELECT pg_temp.look('{"a": 1}' || chr(10) || '{"a": 2}', '{"format": "json"}');
-- in other encodings
SELECT pg_temp.look_at('\xfffe7b002200e90022003a0031007d00');
SELECT pg_temp.look_at(convert_to('{"größe": "\"é"}', 'LATIN1'), '{"encoding": "LATIN1"}');
SELECT pg_temp.look_at(convert_to('{"a": "caf\u00e9, é", "gr\u00f6\u00dfe": 1}', 'LATIN1'), '{"encoding": "LATIN1"}');
-- whose characters may end in a byte that is a backslash
SELECT pg_temp.look_at(convert_to(string_agg(format('{"日本語の表": "%s ソ", "ソ": [%s, "表"]}' || E'\n', repeat('表', i), i), ''), 'SJIS'), NULL, 2) FROM generate_series(1, 9) i;
SELECT pg_temp.look_at(convert_to('[{"a": "功", "b": "許\"功\\"}, {"a": "許", "b": null}]', 'BIG5'), '{"encoding": "BIG5"}');
-- compressed
SELECT pg_temp.look_at('\x1f8b0800000000000203ab564a54b25230ace5aa06338c6ab900ce32dec112000000');

--
-- Types
--
SELECT pg_temp.look('{"i":1,"l":3000000000,"n":1.50,"big":12345678901234567890,"f":1e-7,"b":true,"d":"2024-02-29","ts":"2024-02-29T12:00:00","tz":"2024-02-29T12:00:00+02:00","t":"12:30","u":"550e8400-e29b-41d4-a716-446655440000","ip":"10.0.0.1","o":{"x":1},"a":[1,2],"s":"text","z":null}');
-- a number in quotes is a string; so is JSON
SELECT pg_temp.look(E'{"id":"007","n":"12","m":1,"k":"true","doc":"{\\"a\\": 1}","date":"2024-01-01"}\n{"id":"008","n":"13","m":"2","k":"false","doc":"[]","date":""}');
-- escapes are resolved before a type is chosen
SELECT pg_temp.look(E'{"d":"2024\\u002d01\\u002D02","s":"\\ud83d\\ude00\\t\\"","\\u006bey":1}\n{"d":"2024-01-03","s":"x","key":2}');
-- values of different kinds
SELECT pg_temp.look(E'{"a":1,"b":1,"c":{"x":1},"d":true,"e":"2024-01-01"}\n{"a":1.5,"b":"x","c":"s\\"tr","d":2,"e":20240101}\n{"a":-1e3,"b":null,"c":[3],"d":null}');
-- dates by templates
SELECT pg_temp.look(E'{"d":"31/12/2024","m":"1/2/2024"}\n{"d":"01/02/2025","m":"3/4/2024"}');
-- what jsonb cannot store is text; what text cannot store is a bad row
SELECT pg_temp.look(E'{"a":{"x":"\\u0000"},"b":1}\n{"a":{"x":2},"b":2}');
SELECT pg_temp.look((SELECT string_agg(CASE WHEN i = 3 THEN '{"a":"\u0000","b":3}' ELSE format('{"a":"x","b":%s}', i) END, E'\n') FROM generate_series(1, 4) i));
SELECT pg_temp.look(E'{"a":"x\\ud83d"}\n{"a":"y"}', '{"log_verbosity": "silent"}');

--
-- Keys
--
SELECT pg_temp.look(E'{"createdAt":1,"Order No.":2," lead":3,"größe":4,"a\\"b":5,"x\\ny":6}');
SELECT pg_temp.look(E'{"a":1,"a":"x","a":2}\n{"a":3}');
SELECT pg_temp.look(E'{"Id":1,"id":2}\n{"id":3}\n{"Id":4}');
SELECT pg_temp.look(E'{"a":1,"":2,"ctid":3}\n{"a":2}\n{"":4}');
SELECT pg_temp.look(format('{"%s":1,"%s":2}', repeat('k', 63), repeat('k', 64)));
SELECT pg_temp.look(E'{"a":1,"":2}', '{"extra_columns": "error", "on_error": "ignore"}');
SELECT pg_temp.look((SELECT '{"k0":0' || string_agg(format(',"k%s":%s', i, i), '') || '}' FROM generate_series(1, 1600) i), show => 0);
SELECT pg_temp.look((SELECT '[{"k0":0' || string_agg(format(',"k%s":%s', i, i), '') || E'}\n]' FROM generate_series(1, 1600) i), show => 0);
SELECT left(string_agg(l, ' '), 70) FROM pg_temp.look((SELECT '{"k0":0' || string_agg(format(',"k%s":%s', i, i), '') || '}' FROM generate_series(1, 1600) i), '{"format": "json"}') l WHERE l ~ 'note';

--
-- Rows
--
SELECT pg_temp.look((SELECT string_agg(CASE WHEN i = 7 THEN 'broken' ELSE format('{"a":%s}', i) END, E'\n') FROM generate_series(1, 12) i), show => 1);
SELECT pg_temp.look(E'{"a":1}\n{"a":2}\n{"a":3,"b');
SELECT pg_temp.look(E'[{"a":1},\n{"a":2},\n{"a"');
SELECT pg_temp.look(E'[{"a":1,"b":"x,"c":1},\n{"a":2,"b":"x"},\n{"a":3,"b":"x"}]', '{"format": "json"}');
-- not JSON, or not objects
SELECT pg_temp.look(E'{"a":1}\nx\n{"a":2}', show => 1);
SELECT pg_temp.look(E'{"a":1}\nx\n{"a":2}', '{"format": "json"}', show => 1);
SELECT pg_temp.look(E'a,b\n1,2\n', '{"format": "json"}');
SELECT pg_temp.look('', '{"format": "json"}');
SELECT pg_temp.look('[]', '{"format": "json"}');
SELECT pg_temp.look(E'{}\n{}\n');
SELECT pg_temp.look(E'[[1,"x"],\n[2,"y"]]');
SELECT pg_temp.look(E'[\n{"a":1}, 1, 2\n]');
SELECT pg_temp.look('{"x": [' || E'\n' || repeat('1,', 1500000) || '1]}');
SELECT pg_temp.look('{"x": [' || E'\n' || repeat('1,', 1500000) || '1]}', '{"format": "json"}');
-- one object whose array has the rows
SELECT pg_temp.look(E'{"type": "FeatureCollection", "features": [{"id": 1}, {"id": 2}], "bbox": [1, 2]}');
-- options of other formats
SELECT pg_temp.look(E'{"a":1}\n{"a":2}', '{"format": "csv"}');
SELECT pg_temp.look(E'{"a":1}\n{"a":2}', '{"null": "NA"}');
SELECT pg_temp.look(E'[{"a":1},\n{"a":2}]', '{"null": "NA"}');
SELECT pg_temp.look(E'{"a":1}\n{"a":2}', '{"delimiter": "auto", "header": "auto"}');
SELECT format FROM bulk_inspect(:'path', '{"format": "json", "null": "NA"}');

--
-- Large files: pieces further in count, nested objects do not
--
CREATE FUNCTION pg_temp.large(head text, border text, tail text) RETURNS text LANGUAGE sql AS $$
	SELECT head || string_agg(format(E'{"id": %s,%s"in": [{"x": %s}, {"id": null, "y": "} {\\" ["}],%s"v": %s}', i, l, i, l, CASE WHEN i = 60000 THEN '"x"' ELSE i::text END), border) || tail
	FROM generate_series(1, 60000) i, translate(border, ',', '') l $$;
SELECT pg_temp.look(pg_temp.large('[', ',', ']'), show => 1);
SELECT pg_temp.look(pg_temp.large(E'[\n', E',\n', E'\n]\n'), show => 1);
SELECT pg_temp.look(pg_temp.large(E'', E'\n ', E'\n'), show => 1);
SELECT pg_temp.look(replace(pg_temp.large('', E'~', ''), '~', ' ') || E'\n', show => 1);
SELECT pg_temp.look(pg_temp.large('[{"": 1, "id": 0},', ',', ']'), show => 1);
-- several files, each with its own layout
SELECT pg_temp.put('part1.json', E'{"a":1}\n{"a":2}\n'), pg_temp.put('part2.json', E'[{"a":1.5},{"b":2}]'), pg_temp.put('part3.json', '\xefbbbf' || convert_to(E'{\n"a":3}\n{"c":true}', 'UTF8')) \g /dev/null
SELECT notes, create_table, load_options FROM bulk_inspect('/proc/self/cwd/pgbulk_objects_part*.json');
SELECT replace(create_and_load, 'SELECT * FROM', 'SELECT rows_loaded, rows_rejected FROM') FROM bulk_inspect('/proc/self/cwd/pgbulk_objects_part*.json', '{"table": "parts"}') \gexec
TABLE parts;
DROP TABLE parts;
