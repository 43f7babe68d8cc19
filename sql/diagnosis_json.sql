--
-- NOTICEs about bad rows of format json, and about files in another format than that of the load.
--
-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_json_diagnosis_in';
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
-- Loads a file with the options of each HINT, until there is none: the options, or errors and other HINTs.
CREATE FUNCTION pg_temp.follow(t regclass, content bytea, options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	path text := pg_temp.put(content);
	given jsonb := options;
	message text;
	hint text;
	loaded bigint;
	rejected bigint;
BEGIN
	FOR i IN 1 .. 3 LOOP
		BEGIN
			SELECT rows_loaded, rows_rejected INTO loaded, rejected FROM bulk_load(t, path, given);
			RETURN NEXT format('%s loaded with %s', loaded, given);
			RETURN;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
		END;
		RETURN NEXT format('%s [%s]', message, hint);
		EXIT WHEN hint !~ '(With|Set) \{.*\} among the options( it| they|\.)';
		given := given || substring(hint FROM '(?:With|Set) (\{.*\}) among the options')::jsonb;
	END LOOP;
END $$;
CREATE FUNCTION pg_temp.follow(t regclass, content text, options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE sql AS $$ SELECT pg_temp.follow(t, convert_to(content, 'UTF8'), options) $$;
CREATE FUNCTION pg_temp.json(t regclass, content text, options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE sql AS $$ SELECT pg_temp.follow(t, content, '{"format": "json"}' || options) $$;
-- Loads it and sets bad rows aside.
CREATE FUNCTION pg_temp.try(t regclass, content text, options jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
	SELECT format('%s loaded, %s rejected', rows_loaded, rows_rejected) FROM bulk_load(t, pg_temp.put(convert_to(content, 'UTF8')), '{"format": "json", "on_error": "ignore"}' || options)
$$;
SET DateStyle = 'ISO, MDY';
\pset format unaligned
\pset tuples_only on
CREATE TABLE diagnosis_json_t (id int, b text, d date, n numeric);

-- values: options that json takes
SELECT pg_temp.json('diagnosis_json_t', E'{"id":1,"b":"x","d":"31/12/2024","n":1}\n{"id":2,"b":"y","d":"30/11/2024","n":2}\n');
SELECT pg_temp.json('diagnosis_json_t', E'[{"id":1,"b":"x","d":"31.12.24","n":1},\n {"id":2,\n  "b":"y", "d":"30.11.24","n":2}]');
SELECT pg_temp.follow('diagnosis_json_t', convert_to(E'{"id":1,"b":"caf\u00e9","d":null,"n":1}', 'LATIN1'), '{"format": "json", "encoding": "UTF8"}');
SELECT pg_temp.try('diagnosis_json_t', E'{"id":1,"b":"x","d":"31/12/2024","n":1}\n{"id":2,"b":"y","d":"30/11/2024","n":2}\n{"id":2,"b":"y","d":"2024-01-01","n":2}');
-- those that json does not have are not named
SELECT pg_temp.json('diagnosis_json_t', '{"id":1,"b":"x","d":null,"n":"1,234.56"}');
SELECT pg_temp.json('diagnosis_json_t', '{"id":"1.234.567","b":"x","d":null,"n":1}');
SELECT pg_temp.json('diagnosis_json_t', '{"id":1.5,"b":"x","d":null,"n":1}');
SELECT pg_temp.json('diagnosis_json_t', '{"id":"","b":"x","d":null,"n":1}');
SELECT pg_temp.json('diagnosis_json_t', '{"id":1,"b":"x","d":"N/A","n":1}');
SELECT pg_temp.json('diagnosis_json_t', '{"id":" many ","b":"x","d":null,"n":1}');
SELECT pg_temp.json('diagnosis_json_t', '{"id":1,"b":"x","d":"some day","n":1}');
SELECT pg_temp.try('diagnosis_json_t', E'{"id":"N/A","b":"x","d":"-","n":"1 000"}\n{"id":"","b":"x","d":"-","n":"1 000"}', '{"on_error": "set_null"}');
SELECT pg_temp.try('diagnosis_json_t', '{"id":"N/A","b":"' || repeat('long ', 10000) || '","d":null,"n":1}');
-- objects and arrays where there should be none
SELECT pg_temp.json('diagnosis_json_t', '{"id":{"x": 1},"b":"x","d":null,"n":1}');
SELECT pg_temp.json('diagnosis_json_t', '{"id":1,"b":"x","d":["2024-01-01"],"n":1}');
CREATE TABLE diagnosis_json_nested (j jsonb, a int[]);
SELECT pg_temp.json('diagnosis_json_nested', '{"j": {"x": "\u0000"}, "a": [1]}');
SELECT pg_temp.json('diagnosis_json_nested', '{"j": {}, "a": [1, [2]]}');

-- keys
SELECT pg_temp.json('diagnosis_json_t', E'{"Id":1,"B":"x","D":null,"N":1}\n');
SELECT pg_temp.json('diagnosis_json_t', E'{"id":1,"b":"x","d":null}\n{"id":2}');
SELECT pg_temp.json('diagnosis_json_t', E'{"id":1,"b":"x","d":null,"n":1,"more":[1]}\n');
SELECT pg_temp.json('diagnosis_json_t', E'{"id":1,"b":"x","more":[1],"d":"31/12/2024"}\n{}');
SELECT pg_temp.json('diagnosis_json_t', E'{"id":1,"b":"x","dd":null,"n":1}\n');
SELECT pg_temp.json('diagnosis_json_t', E'{"id":1,"b":"x","d":null,"n":"one","newline":1}\n');
SELECT pg_temp.json('diagnosis_json_t', E'{"quote":1,"newline":2}\n');
SELECT pg_temp.json('diagnosis_json_t', E'{}', '{"missing_columns": "null"}');
SELECT pg_temp.try('diagnosis_json_t', E'{"id":1}\n{"id":2,"b":"x","x":1,"d":null,"n":1}\n{"id":3,"y":1}\n{"quote":1}\n{}\n');
SELECT pg_temp.try('diagnosis_json_t', E'{"x":1}\n{"y":2}', '{"extra_columns": "ignore", "missing_columns": "null"}');
-- a long object
SELECT pg_temp.json('diagnosis_json_t', '{"id":1,"b":"' || repeat('long ', 5000) || '","d":"31/12/2024"}');
-- columns that need a value get their defaults; none of these is evaluated
CREATE TABLE diagnosis_json_default (id serial PRIMARY KEY, user_name text NOT NULL DEFAULT 'somebody', amount numeric);
SELECT pg_temp.json('diagnosis_json_default', E'{"amount":1}\n{"amount":2,"user_name":"x"}\n');
SELECT pg_temp.json('diagnosis_json_default', E'{"amount":1,"userName":"x"}\n{"amount":2,"userName":"y"}\n');
SELECT pg_temp.try('diagnosis_json_default', E'{"amount":1,"id":null}\n{"amount":2}\n');
SELECT last_value, is_called FROM diagnosis_json_default_id_seq;
CREATE TABLE diagnosis_json_notnull (a int, b int NOT NULL);
SELECT pg_temp.json('diagnosis_json_notnull', '{"a":1}');
-- the same for lines that are short
CREATE TABLE diagnosis_json_short (a int, b text NOT NULL DEFAULT 'x', c serial);
SELECT pg_temp.follow('diagnosis_json_short', E'1\n2\n');

-- not JSON, or not an object
SELECT pg_temp.try('diagnosis_json_t', E'{"id":1,"b":"x","d":null,"n":1}\n{"id":2,"b":"x","d":null,"n":tru}\n{"id":3,"b":"x","d":null,"n":1}\n');
SELECT pg_temp.try('diagnosis_json_t', E'[{"id":1,"b":"x","d":null,"n":1},\n{"id":2,"b":"x" "d":null,"n":1},\n{"id":3,"b":"x","d":null,"n":1}]');
SELECT pg_temp.try('diagnosis_json_t', E'{"id":1,"b":"x","d":null,"n":1}\n{"id":2,"b":"x","d":nu');
SELECT pg_temp.json('diagnosis_json_t', E'{"id":1,"b":"x","d":null,"n":1}\n{"id":2,"b":"x');
SELECT pg_temp.try('diagnosis_json_t', E'[{"id":1,"b":"x","d":null,"n":1}');
SELECT pg_temp.try('diagnosis_json_t', E'// no comments\n{"id":1,"b":"x","d":null,"n":1}\n');
SELECT pg_temp.json('diagnosis_json_t', '[[1,"x",null,1],[2,"y",null,1]]');
SELECT pg_temp.json('diagnosis_json_t', '[1, 2]');
SELECT pg_temp.json('diagnosis_json_t', '{"count": 1, "data": [{"id":1,"b":"x","d":null,"n":1}]}');
SELECT pg_temp.json('diagnosis_json_t', '{"data": [' || repeat('{"id":1,"b":"x","d":null,"n":1},', 500) || '{}]}');

-- lines of fields
SELECT pg_temp.json('diagnosis_json_t', E'1,x,2024-01-01,1\n2,y,2024-01-01,2\n');
SELECT pg_temp.json('diagnosis_json_t', E'id;b;d;n\n1;x;31.12.2024;1,5\n2;y;30.12.2024;2,5\n');
SELECT pg_temp.json('diagnosis_json_t', E'b\tid\td\tn\nx\t1\t2024-01-01\t1\n');
SELECT pg_temp.json('diagnosis_json_t', 'no rows');
SELECT pg_temp.try('diagnosis_json_t', E'x;1;2\ny;3;4\n');
-- but not where there are objects, too
CREATE TABLE diagnosis_json_texts (a text, b text);
SELECT pg_temp.try('diagnosis_json_texts', E'{"a":"1","b":"x"}\n1,x\n');
SELECT pg_temp.try('diagnosis_json_texts', E'{"a":"1","b":"x"\n{"a":"2","b":"x"}}\n');

-- objects that are loaded as lines
SELECT pg_temp.follow('diagnosis_json_t', E'{"id":1,"b":"x","d":"2024-01-02","n":1}\n{"id":2,"b":"y, z","d":null,"n":2}\n');
SELECT pg_temp.follow('diagnosis_json_t', E'{"id":1,"b":"x","d":"2024-01-02","n":1}\n{"id":2,"b":"y, z","d":null,"n":2}\n', '{"format": "text"}');
SELECT pg_temp.follow('diagnosis_json_t', E'{"id":1,"b":"x","d":"2024-01-02","n":1}\n{"id":2,"b":"y, z","d":null,"n":2}\n', '{"header": true, "delimiter": ";"}');
SELECT pg_temp.follow('diagnosis_json_t', E'{"id":1,"b":"x","d":"2024-01-02","n":1}\n{"id":2,"b":"y, z","d":null,"n":2}\n', '{"header": "map"}');
SELECT pg_temp.follow('diagnosis_json_t', E'{"id":1,"b":"x","d":"2024-01-02","n":1}\n', '{"header": "match"}');
SELECT pg_temp.follow('diagnosis_json_t', E'\ufeff[\n  {\n    "id": 1,\n    "b": "x",\n    "d": "31/12/2024"\n  },\n  {\n    "id": 2,\n    "b": "y",\n    "other": [{}],\n    "d": "30/12/2024"\n  }\n]\n');
SELECT pg_temp.follow('diagnosis_json_t', '[' || (SELECT string_agg(format('{"id":%s,"b":"x","d":null,"n":1}', i), ', ') FROM generate_series(1, 5000) i) || ']');
SELECT pg_temp.follow('diagnosis_json_t', E'{\n "id": 1,\n "b": "x",\n "d": null, "n": 1\n}\n{\n "id": 2,\n "b": "x",\n "d": null, "n": 1\n}\n');
SELECT pg_temp.follow('diagnosis_json_t', E'{"id":1,"b":"x"}\n{"id":2,"b":"y"}\n', '{"columns": ["id", "b"]}');
SELECT pg_temp.follow('diagnosis_json_t', E'{"id":1,"b":"x"}\n{"id":2,"b":"y"}\n', '{"columns": ["id", null, "b"]}');
SELECT pg_temp.follow('diagnosis_json_t', '{"id":1,"b":"' || repeat('long ', 50000) || '","d":null,"n":1}');
SELECT pg_temp.follow('diagnosis_json_t', E'{"x":1,"y":2,"z":3}\n');
SELECT pg_temp.follow('diagnosis_json_t', E'[{"x":1,"y":2,"z":3}]\n');
SELECT pg_temp.try('diagnosis_json_t', E'[\n{"id":1,"b":"x","d":null,"n":1},\n{"id":2,"b":"x","d":null,"n":1}\n]', '{"format": "csv"}');
SELECT pg_temp.follow('diagnosis_json_t', '[{"id":1,"b":"x","d":null,"n":1},{"id":2,"b":"x","d":null,"n":1}]', '{"delimiter": "auto", "header": "auto"}');
SELECT pg_temp.follow('diagnosis_json_texts', E'{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n', '{"header": "auto"}');
-- all of a file could be a header line
SELECT pg_temp.try('diagnosis_json_t', '[{"id":1,"b":"x","d":null,"n":1},{"id":2,"b":"x","d":null,"n":1}]', '{"format": "csv", "header": true}');
-- a literal of an array is no object, even where the first chunk ends behind it
SET pgbulk.chunk_size = 17;
SELECT pg_temp.try('diagnosis_json_texts', E'\n{ NULL,x }\tbehind a header line\n', '{"format": "text", "header": true}');
RESET pgbulk.chunk_size;
-- objects are not searched for a header
SELECT pg_temp.try('diagnosis_json_texts', '{"a":"a","b":"b"}');
-- whole documents
CREATE TABLE diagnosis_json_docs (doc jsonb);
SELECT pg_temp.follow('diagnosis_json_docs', E'{"x":1,"y":2}\n{"doc":2}\n');
SELECT pg_temp.json('diagnosis_json_docs', E'{"x":1,"y":2}\n{"doc":2}\n');
SELECT pg_temp.try('diagnosis_json_docs', E'{"x":1,"y":2}\n{"x":1,"y":2\n{"y":1}', '{"format": "csv", "quote": "\u0002", "delimiter": "\u0001"}');
SELECT pg_temp.try('diagnosis_json_docs', E'{"x":1,"y":2}\n{"x":1,"y":2}\n', '{"format": "csv", "quote": "\u0002", "delimiter": "\u0001", "header": true}');

-- retrying rejects: with the format forgotten, and with the options of a HINT
\pset tuples_only off
TRUNCATE diagnosis_json_t;
SELECT rows_loaded, details ->> 'load_id' AS load FROM bulk_load('diagnosis_json_t', pg_temp.put(E'[{"id":1,"b":"x","d":"2024-01-01","n":1},\n{"id":2,"b":"x","d":"31/12/2024","n":1}, {"id":3,\n"b":"x","d":"30/12/2024","n":1}]'), '{"format": "json", "on_error": "ignore", "reject_table": "diagnosis_json_r"}') \gset
SELECT :rows_loaded AS loaded;
SELECT rows_loaded, rows_rejected FROM bulk_load_retry('diagnosis_json_t', 'diagnosis_json_r', :load);
SELECT rows_loaded, rows_rejected FROM bulk_load_retry('diagnosis_json_t', 'diagnosis_json_r', :load, '{"format": "json", "date_format": {"d": "DD/MM/YYYY"}}');
SELECT * FROM diagnosis_json_t ORDER BY id;
-- workers have most of the file
SET pgbulk.chunk_size = '16kB';
SELECT rows_loaded, rows_rejected FROM bulk_load('diagnosis_json_t', pg_temp.put(convert_to((SELECT string_agg(format('{"id":%s,"b":"x","d":"31/12/2024","n":1}', i), E'\n') FROM generate_series(1, 20000) i), 'UTF8')), '{"format": "json", "on_error": "ignore", "workers": 2}');
SELECT rows_loaded, rows_rejected FROM bulk_load('diagnosis_json_t', pg_temp.put(convert_to((SELECT string_agg(format('{"id":%s,"b":"x","d":"31/12/2024","n":1}', i), E'\n') FROM generate_series(1, 20000) i), 'UTF8')), '{"on_error": "ignore", "workers": 2}');
RESET pgbulk.chunk_size;

DROP TABLE diagnosis_json_t, diagnosis_json_nested, diagnosis_json_default, diagnosis_json_notnull, diagnosis_json_short, diagnosis_json_texts, diagnosis_json_docs, diagnosis_json_r;
