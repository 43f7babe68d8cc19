--
-- Columns of types json and jsonb: the values of json_in and jsonb_in, byte for byte.
--
CREATE TABLE jsonb_texts (id int, doc text);
INSERT INTO jsonb_texts (SELECT row_number() OVER (), doc FROM unnest(ARRAY[
	'{}', '[]', ' null ', 'true', 'false', '0', '-0', '-0.00', '1e5', '1.50', '12345678901234567890.123456789', '1e-70', '1e300', '1e1000',
	'""', '"text"', '"\u00e9\ud83d\ude00\n\"\\\/"', '[1,[2,[3,[]]],{}]', '{"b":1,"a":2,"aa":3,"":4}', '{"a":1,"a":2,"\u0061":3,"b":{"a":null,"a":[]}}',
	'{"common key a":1,"common key b":2,"common key ":3}', E'{\n\t"a" : [ 1 , "x" ]\r\n}']) doc);
INSERT INTO jsonb_texts (SELECT 100 + n, (SELECT format('[%s]', string_agg(CASE i % 4 WHEN 0 THEN i::text WHEN 1 THEN format('"%s"', i) WHEN 2 THEN 'null' ELSE format('{"k":%s}', i) END, ','))
	FROM generate_series(1, n) i) FROM unnest(ARRAY[31, 32, 33, 64, 65, 1000]) n);
INSERT INTO jsonb_texts (SELECT 2000 + n, (SELECT format('{%s}', string_agg(format('"key %s": "%s"', i * 7919 % n, repeat('v', i % 20)), ',')) FROM generate_series(1, n) i)
	FROM unnest(ARRAY[15, 16, 17, 18, 32, 33, 300]) n);
INSERT INTO jsonb_texts (SELECT n, format('{"b%s":1,"a%s":2,"c%s":3,"c%1$s":4}', repeat('x', 70000), repeat('x', n), repeat('x', 65533)) FROM unnest(ARRAY[65534, 69999, 70000, 70001]) n);
INSERT INTO jsonb_texts (SELECT 4000 + n, repeat('[', n) || repeat(']', n) FROM unnest(ARRAY[63, 64, 65, 300]) n);
INSERT INTO jsonb_texts (SELECT 5000 + n, repeat('{"a":', n) || '"x"' || repeat('}', n) FROM unnest(ARRAY[63, 64, 65, 300]) n);

CREATE TABLE jsonb_cast AS SELECT id, doc::jsonb AS b, doc::json AS j FROM jsonb_texts;
CREATE TABLE jsonb_loaded (id int, b jsonb, j json);

-- How many rows there are, and how many of them are not those of the casts.
CREATE FUNCTION pg_temp.try(path text, options jsonb, OUT loaded int, OUT wrong int) LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE jsonb_loaded;
	loaded := rows_loaded FROM bulk_load('jsonb_loaded', path, options);
	SELECT count(*) INTO wrong FROM jsonb_cast c FULL JOIN jsonb_loaded l USING (id) WHERE record_image_eq(ROW(c.b, c.j), ROW(l.b, l.j)) IS NOT TRUE;
END $$;

SELECT count(*) FROM jsonb_cast;
COPY (SELECT id, doc, doc FROM jsonb_texts) TO '/proc/self/cwd/pgbulk_jsonb_csv' WITH (FORMAT csv);
COPY (SELECT id, doc, doc FROM jsonb_texts) TO '/proc/self/cwd/pgbulk_jsonb_text';
COPY (SELECT id, b, j FROM jsonb_cast) TO '/proc/self/cwd/pgbulk_jsonb_binary' WITH (FORMAT binary);
SELECT writer, ignore, format, r.* FROM unnest(ARRAY['direct', 'buffered']) writer, unnest(ARRAY['stop', 'ignore']) ignore, unnest(ARRAY['csv', 'text', 'binary']) format,
	pg_temp.try('/proc/self/cwd/pgbulk_jsonb_' || format, jsonb_build_object('format', format, 'writer', writer, 'on_error', ignore)) r;

-- by a query, and by positions
TRUNCATE jsonb_loaded;
SELECT rows_loaded FROM bulk_load_query('jsonb_loaded', 'SELECT id, doc, doc FROM jsonb_texts');
SELECT count(*) FROM jsonb_cast c JOIN jsonb_loaded l USING (id) WHERE record_image_eq(ROW(c.b, c.j), ROW(l.b, l.j));
TRUNCATE jsonb_loaded;
COPY (VALUES ('1[1, 2]    [1, 2]    '), ('2"\u00e9"  "\u00e9"  ')) TO '/proc/self/cwd/pgbulk_jsonb_fixed' WITH (DELIMITER '|', FORMAT csv, QUOTE '~');
SELECT rows_loaded FROM bulk_load('jsonb_loaded', '/proc/self/cwd/pgbulk_jsonb_fixed',
	'{"format": "fixed", "fields": [{"start": 1, "length": 1}, {"length": 10}, {"length": 10}]}');
SELECT id, b, j FROM jsonb_loaded ORDER BY id;

-- errors are those of the input function; jsonb_in also rejects bad values of keys that come again
TRUNCATE jsonb_loaded;
COPY (SELECT n, doc, doc FROM unnest(ARRAY['{"a":}', '"\u0000"', '"\ud800"', '{"a":"\u0000","a":1}', '1e999999', '{"a":1e999999,"a":1}', '01', E'"a\tb"', '[1,]', '{"a":1', 'nul', ''])
	WITH ORDINALITY AS t (doc, n)) TO '/proc/self/cwd/pgbulk_jsonb_bad' WITH (FORMAT csv, FORCE_QUOTE *);
SELECT rows_loaded, rows_rejected FROM bulk_load('jsonb_loaded', '/proc/self/cwd/pgbulk_jsonb_bad',
	'{"on_error": "ignore", "reject_table": "jsonb_rejects", "log_verbosity": "silent"}');
SELECT line_number, column_name, field_value, sqlstate, message FROM jsonb_rejects ORDER BY line_number;
TRUNCATE jsonb_loaded, jsonb_rejects;
SELECT rows_loaded, rows_rejected FROM bulk_load('jsonb_loaded', '/proc/self/cwd/pgbulk_jsonb_bad',
	'{"columns": ["id", "j", null], "on_error": "ignore", "reject_table": "jsonb_rejects", "log_verbosity": "silent"}');
SELECT id, j FROM jsonb_loaded ORDER BY id;
SELECT line_number, column_name, sqlstate, message FROM jsonb_rejects ORDER BY line_number;

DROP TABLE jsonb_texts, jsonb_cast, jsonb_loaded, jsonb_rejects;
