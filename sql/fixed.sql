--
-- Format fixed: fields at fixed positions, in lines and in records.
--
-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_fixed_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE sql AS $$ SELECT pg_temp.put(name, convert_to(content, 'UTF8')) $$;

-- The result of loading a file: the rows of the table, or the error.
CREATE FUNCTION pg_temp.try(t regclass, content bytea, options jsonb)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	context text;
	said text;
BEGIN
	EXECUTE format('TRUNCATE %s', t);
	SELECT * INTO r FROM bulk_load(t, pg_temp.put('in', content), '{"format": "fixed", "log_verbosity": "silent"}' || options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	RETURN QUERY EXECUTE format('SELECT row_to_json(t)::text FROM %s t ORDER BY tableoid, ctid', t);
	RETURN NEXT format('%s of %s rows', r.rows_loaded, r.rows_read);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT, said = PG_EXCEPTION_DETAIL;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	IF said <> '' THEN
		RETURN NEXT 'DETAIL: ' || said;
	END IF;
	context := regexp_replace(context, '\n?(SQL statement|PL/pgSQL function).*', '');
	IF context <> '' THEN
		RETURN NEXT context;
	END IF;
END $$;
CREATE FUNCTION pg_temp.try(t regclass, content text, options jsonb) RETURNS SETOF text LANGUAGE sql AS $$ SELECT pg_temp.try(t, convert_to(content, 'UTF8'), options) $$;
SET DateStyle = 'ISO, MDY';
\pset format unaligned
\pset tuples_only on

--
-- Lines
--
CREATE TABLE fixed_t (a int, b text, c numeric);
SELECT pg_temp.try('fixed_t', E'  1one   1.50\n  2 two  2.5 \n 33three    3\n', '{"fields": [{"length": 3}, {"length": 6}, {"length": 4}]}');
-- for numbers, spaces before them are padding, too
SELECT pg_temp.try('fixed_t', E'    7  one  N/A\n  N/A  two  1.5\n', '{"fields": [{"length": 5}, {"length": 5}, {"length": 5}], "null": "N/A"}');
SELECT pg_temp.try('fixed_t', E'    7  one  N/A\n', '{"fields": [{"length": 5}, {"length": 5}, {"length": 5}], "null": "N/A", "trim": false}');
-- by name, in any order, with gaps, skipped, twice the same bytes
SELECT pg_temp.try('fixed_t', E'one  1..25\ntwo 22.. 5\n', '{"fields": [{"name": "a", "start": 5, "length": 2}, {"name": null, "length": 2}, {"name": "c", "length": 2}, {"name": "b", "start": 1, "length": 8}]}');
SELECT pg_temp.try('fixed_t', E'12\n', '{"fields": [{"name": "a", "length": 2}, {"name": "b", "start": 1, "length": 1}, {"name": "c", "start": 2, "length": 1, "type": "TEXT"}]}');
-- the last line needs no end; the first end determines the others
SELECT pg_temp.try('fixed_t', E'1a1\r\n2b2\r\n3c3', '{"fields": [{"length": 1}, {"length": 1}, {"length": 1}]}');
SELECT pg_temp.try('fixed_t', E'1a1\r2b2\r', '{"fields": [{"length": 1}, {"length": 1}, {"length": 1}]}');
SELECT pg_temp.try('fixed_t', E'1a1\n2b2\r\n', '{"fields": [{"length": 1}, {"length": 1}, {"length": 1}]}');
SELECT pg_temp.try('fixed_t', E'1a1\n2b2\r\n3c3\r', '{"newline": "any", "fields": [{"length": 1}, {"length": 1}, {"length": 1}]}');
-- only line ends have a meaning
SELECT pg_temp.try('fixed_t', E'1"\\,".2\n2\\N\\. 1\n', '{"fields": [{"length": 1}, {"length": 4}, {"length": 2}]}');
SELECT pg_temp.try('fixed_t', E'\uFEFF1a1\n', '{"fields": [{"length": 1}, {"length": 1}, {"length": 1}]}');
SELECT pg_temp.try('fixed_t', '\xfffe310061003100'::bytea, '{"fields": [{"length": 1}, {"length": 1}, {"length": 1}]}');
SELECT pg_temp.try('fixed_t', '', '{"fields": [{"length": 1}, {"length": 1}, {"length": 1}]}');
-- columns that are not named have their defaults
CREATE TABLE fixed_d (id serial, a int, b text DEFAULT 'none', c int GENERATED ALWAYS AS (a + 1) STORED);
SELECT pg_temp.try('fixed_d', E'1\n2\n', '{"fields": [{"name": "a", "length": 1}]}');

-- short lines
SELECT pg_temp.try('fixed_t', E'1one 1\n2\n', '{"fields": [{"length": 1}, {"length": 4}, {"length": 1}]}');
SELECT pg_temp.try('fixed_t', E'1one 1\n2two\n', '{"fields": [{"length": 1}, {"length": 4}, {"length": 1}]}');
SELECT pg_temp.try('fixed_t', E'1one 1\n2two\n\n3threeandmore\n4four4\n', '{"fields": [{"length": 1}, {"length": 4}, {"length": 1}], "on_error": "ignore"}');
SELECT pg_temp.try('fixed_t', E'1one 1\n2two\n\n3thre3and more\n4f', '{"fields": [{"length": 1}, {"length": 4}, {"length": 1}], "missing_columns": "null", "extra_columns": "ignore"}');
SELECT pg_temp.try('fixed_d', E'1one\n2t\n3\n', '{"fields": [{"name": "b", "start": 2, "length": 3}, {"name": "a", "start": 1, "length": 1}], "missing_columns": "default"}');
-- skipped fields may be missing, and count for the length
SELECT pg_temp.try('fixed_d', E'1--\n2\n3----\n', '{"fields": [{"name": "a", "length": 1}, {"name": null, "length": 4}]}');
SELECT pg_temp.try('fixed_d', E'1-----\n', '{"fields": [{"name": "a", "length": 1}, {"name": null, "length": 4}]}');

-- trim
CREATE TABLE fixed_s (a text, b text);
SELECT pg_temp.try('fixed_s', E' a\t  b \n', '{"fields": [{"length": 4}, {"length": 3}]}');
SELECT pg_temp.try('fixed_s', E' a\t  b \n', '{"fields": [{"length": 4}, {"length": 3}], "trim": true}');
SELECT pg_temp.try('fixed_s', E' a\t  b \n', '{"fields": [{"length": 4}, {"length": 3}], "trim": false}');
SELECT pg_temp.try('fixed_s', E' a\t  b \n', '{"fields": [{"length": 4, "trim": true}, {"length": 3, "trim": false}]}');
CREATE TABLE fixed_c (a char(5), b varchar(3));
SELECT pg_temp.try('fixed_c', E'a    b    \n', '{"fields": [{"length": 5}, {"length": 5}], "trim": false}');
SELECT pg_temp.try('fixed_c', E'a    bcd  \nb    bcde \n', '{"fields": [{"length": 5}, {"length": 5}]}');
-- null
SELECT pg_temp.try('fixed_s', E'     \n-  NA\nNA - \n', '{"fields": [{"length": 3}, {"length": 2}]}');
SELECT pg_temp.try('fixed_s', E'     \n-  NA\nNA - \n', '{"fields": [{"length": 3}, {"length": 2}], "null": ["NA", "-", "longer than any"]}');
SELECT pg_temp.try('fixed_s', E'     \n-  NA\nNA - \n', '{"fields": [{"length": 3, "null": ["   ", "NA"]}, {"length": 2, "null": []}], "null": "-"}');
SELECT pg_temp.try('fixed_s', E'     \n', '{"fields": [{"length": 3, "null": "   "}, {"length": 2, "null": " "}], "trim": false}');

-- header, skip, limit, comment, where
SELECT pg_temp.try('fixed_s', E'name and value\n------\nab\ncd\n#ef\ngh\nij\n', '{"fields": [{"length": 1}, {"length": 1}], "header": 2, "skip": 1, "limit": 2, "comment": "#"}');
SELECT pg_temp.try('fixed_s', E'ab\ncd\n', '{"fields": [{"length": 1}, {"length": 1}], "where": "a > ''b''"}');
-- dates and numbers in other notations
CREATE TABLE fixed_v (d date, n numeric, f float8);
SELECT pg_temp.try('fixed_v', E'31122024 1,5   2,25\n', '{"fields": [{"length": 8}, {"length": 5}, {"length": 6}], "date_format": {"d": "DDMMYYYY"}, "decimal_mark": ","}');
-- transform: the fields are arguments
CREATE FUNCTION fixed_make(a text, b text, c text DEFAULT 'none') RETURNS fixed_s LANGUAGE sql STABLE AS $$ SELECT ROW(a || b, c)::fixed_s $$;
SELECT pg_temp.try('fixed_s', E'x yz \nx y\n', '{"fields": [{"length": 2}, {"length": 1}, {"length": 2}], "transform": "fixed_make(text,text,text)"}');
SELECT pg_temp.try('fixed_s', 'x '::bytea || '\xff00'::bytea || 'yz'::bytea || '\x00ff'::bytea, '{"fields": [{"length": 2}, {"length": 2, "type": "smallint"}], "record_length": 4, "transform": "fixed_make(text,text,text)"}');

-- positions are in bytes: a field that cuts a character is invalid
SELECT pg_temp.try('fixed_s', E'äböc\n', '{"fields": [{"length": 3}, {"length": 3}]}');
SELECT pg_temp.try('fixed_s', E'aaaa\naäbb\ncccc\n', '{"fields": [{"length": 2}, {"length": 2}]}');
SELECT pg_temp.try('fixed_s', E'aaaa\naäbb\ncccc\nccä\n', '{"fields": [{"length": 2}, {"length": 2}], "on_error": "ignore", "extra_columns": "ignore"}');
SELECT pg_temp.try('fixed_s', E'aaaa\naäbb\ncccc\nccä\n', '{"fields": [{"length": 2}, {"length": 2}], "invalid_bytes": "replace", "extra_columns": "ignore"}');
SELECT pg_temp.try('fixed_s', E'aäb\n', '{"fields": [{"length": 1}, {"length": 1, "start": 4}]}');
SELECT pg_temp.try('fixed_s', 'a\344b\366'::bytea, '{"fields": [{"length": 2}, {"length": 2, "null": "NA"}], "encoding": "LATIN1"}');
-- in Japanese files bytes of characters may look like anything except line ends
SELECT pg_temp.try('fixed_s', '\x835c955c0a8d828d820a'::bytea, '{"fields": [{"length": 2}, {"length": 2}], "encoding": "SJIS"}');
SELECT pg_temp.try('fixed_s', '\x835c955c0a8d828d820a'::bytea, '{"fields": [{"length": 1}, {"length": 3}], "encoding": "SJIS"}');
SELECT pg_temp.try('fixed_s', '\x6100620063'::bytea, '{"fields": [{"length": 2}, {"length": 3}]}');

--
-- Records
--
SELECT pg_temp.try('fixed_s', E'ab\ncd\n', '{"fields": [{"length": 1}, {"length": 1}], "record_length": 3}');
SELECT pg_temp.try('fixed_s', E'a\nbc\rd', '{"fields": [{"length": 2}, {"length": 1}], "record_length": 3}');
SELECT pg_temp.try('fixed_s', E'ababcdcdefe', '{"fields": [{"length": 2}, {"length": 1}], "record_length": 4, "skip": 1}');
SELECT pg_temp.try('fixed_s', E'ababcdcdefe', '{"fields": [{"length": 2}, {"length": 1}], "record_length": 4, "skip": 1, "limit": 1}');
SELECT pg_temp.try('fixed_s', E'ababcdcdefe', '{"fields": [{"length": 2}, {"length": 1}], "record_length": 4, "on_error": "ignore"}');
SELECT pg_temp.try('fixed_s', '\xfffe6100'::bytea, '{"fields": [{"length": 2}, {"length": 2}], "record_length": 4, "encoding": "LATIN1"}');
SELECT pg_temp.try('fixed_s', '\xfffe6100'::bytea, '{"fields": [{"length": 2}, {"length": 2}], "record_length": 4}');
-- texts written by C and Cobol; what follows a zero byte is not dropped
SELECT pg_temp.try('fixed_s', '\x6100006220006162630000002000610062'::bytea, '{"fields": [{"length": 3}, {"length": 3}], "record_length": 6, "on_error": "ignore"}');
SELECT pg_temp.try('fixed_s', '\x610000622000000000200000'::bytea, '{"fields": [{"length": 3}, {"length": 3}], "record_length": 6, "null": []}');
SELECT pg_temp.try('fixed_s', '\x610062'::bytea, '{"fields": [{"length": 3}, {"length": 3, "start": 1}], "record_length": 3}');

-- numbers of every kind into columns of every kind
CREATE TABLE fixed_n (i2 int2, i4 int4, i8 int8, u2 int4, u4 int8, f4 float4, f8 float8);
CREATE VIEW fixed_fields AS
SELECT '{"record_length": 32, "fields": [{"type": "smallint"}, {"type": "integer"}, {"type": "bigint"}, {"type": "unsigned smallint"}, {"type": "unsigned integer"}, {"type": "real"}, {"type": "double precision"}]}'::jsonb AS o;
CREATE FUNCTION pg_temp.swap(b bytea) RETURNS bytea LANGUAGE sql AS $$
	SELECT string_agg(substr(b, i, 1), '' ORDER BY i DESC) FROM generate_series(1, length(b)) i
$$;
CREATE FUNCTION pg_temp.record(i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, big bool) RETURNS bytea LANGUAGE sql AS $$
	SELECT string_agg(CASE WHEN big THEN b ELSE pg_temp.swap(b) END, '' ORDER BY n)
	FROM unnest(ARRAY[int2send(i2), int4send(i4), int8send(i8), int2send(i2), int4send(i4), float4send(f4), float8send(f8)]) WITH ORDINALITY u (b, n)
$$;
CREATE TABLE fixed_source (i2 int2, i4 int4, i8 int8, f4 float4, f8 float8);
INSERT INTO fixed_source VALUES (1, 2, 3, 0.1, 0.1), (-1, -2, -3, -1.5, -1e300), (32767, 2147483647, 9223372036854775807, 'Infinity', 'NaN'),
	(-32768, -2147483648, -9223372036854775808, '-Infinity', 4.9e-324), (258, 16909060, 72623859790382856, 1e-45, 1.7976931348623157e308);
SELECT pg_temp.try('fixed_n', (SELECT string_agg(pg_temp.record(i2, i4, i8, f4, f8, false), '') FROM fixed_source), o) FROM fixed_fields;
SELECT count(*) FROM fixed_n n WHERE (i2, i4, i8, f4, f8) IN (SELECT * FROM fixed_source);
SELECT pg_temp.try('fixed_n', (SELECT string_agg(pg_temp.record(i2, i4, i8, f4, f8, true), '') FROM fixed_source), o || '{"endian": "big", "writer": "buffered"}') FROM fixed_fields;
SELECT count(*) FROM fixed_n n WHERE (i2, i4, i8, f4, f8) IN (SELECT * FROM fixed_source);
SELECT pg_temp.try('fixed_s', '\x00010001'::bytea, '{"record_length": 4, "fields": [{"type": "int2", "endian": "big"}, {"type": "int2"}]}');
SELECT pg_temp.try('fixed_s', '\x00010001'::bytea, '{"record_length": 4, "endian": "Big", "fields": [{"type": "int2", "endian": "little"}, {"type": "INT2", "length": 2}]}');
ALTER TABLE fixed_n ALTER i2 TYPE text, ALTER i4 TYPE numeric(20, 2), ALTER i8 TYPE float8, ALTER u2 TYPE bool USING u2 = 1, ALTER u4 TYPE oid USING 0, ALTER f4 TYPE numeric, ALTER f8 TYPE text;
SELECT pg_temp.try('fixed_n', (SELECT string_agg(pg_temp.record(abs(i2 % 2)::int2, i4, i8, f4, f8, false), '') FROM fixed_source WHERE i2 > -32768), o) FROM fixed_fields;
CREATE DOMAIN fixed_small AS int CHECK (value < 100);
CREATE TABLE fixed_m (a int2, b float4, c fixed_small, d date);
SELECT pg_temp.try('fixed_m', pg_temp.swap(int4send(20241231) || int4send(99) || float8send(2.5) || int8send(-5)),
	'{"record_length": 24, "fields": [{"type": "int8"}, {"type": "float8"}, {"type": "int4"}, {"type": "int4"}], "date_format": {"d": "YYYYMMDD"}}');
-- integers are rounded once, as by a cast
SELECT pg_temp.try('fixed_m', (SELECT string_agg(pg_temp.swap(int8send(i)), '') FROM unnest(ARRAY[9007199791611905, -9007199791611905, 16777217, 9223372036854775807]) i), '{"record_length": 8, "fields": [{"type": "int8", "name": "b"}]}');
SELECT b::float8::bigint, ARRAY[b] <@ ARRAY[9007199791611905::float4, (-9007199791611905)::float4, 16777217::float4] AS as_cast FROM fixed_m WHERE abs(b) < 1e18;
-- numbers that do not fit
SELECT pg_temp.try('fixed_m', pg_temp.swap(int4send(70000)), '{"record_length": 4, "fields": [{"type": "int4", "name": "a"}]}');
SELECT pg_temp.try('fixed_m', pg_temp.swap(float8send(1e300)), '{"record_length": 8, "fields": [{"type": "float8", "name": "b"}]}');
SELECT pg_temp.try('fixed_m', pg_temp.swap(float8send(1e-300)), '{"record_length": 8, "fields": [{"type": "float8", "name": "b"}]}');
SELECT pg_temp.try('fixed_m', pg_temp.swap(int4send(100)), '{"record_length": 4, "fields": [{"type": "int4", "name": "c"}]}');
SELECT pg_temp.try('fixed_m', pg_temp.swap(int4send(100)), '{"record_length": 4, "fields": [{"type": "int4", "name": "d"}]}');
SELECT pg_temp.try('fixed_m', pg_temp.swap(float4send(1.5)), '{"record_length": 4, "fields": [{"type": "float4", "name": "a"}]}');
SELECT pg_temp.try('fixed_m', pg_temp.swap(float4send(7)), '{"record_length": 4, "fields": [{"type": "float4", "name": "a"}]}');
-- whole numbers have no exponent where integers are read, and domains get what their base types get
CREATE DOMAIN fixed_money AS money;
CREATE DOMAIN fixed_float4 AS float4;
CREATE DOMAIN fixed_float8 AS float8 CHECK (value < 1e17);
CREATE TABLE fixed_f (i int, l bigint, o oid, m fixed_money, d fixed_small, f4 fixed_float4, f8 fixed_float8, n numeric, s text);
CREATE FUNCTION pg_temp.try_number(type text, number bytea) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT pg_temp.try('fixed_f', pg_temp.swap(number), jsonb_build_object('record_length', length(number), 'on_error', 'set_null', 'fields', fields))
	FROM (SELECT jsonb_agg(jsonb_build_object('start', 1, 'type', type, 'name', name) ORDER BY n) AS fields FROM unnest('{i,l,o,m,d,f4,f8,n,s}'::text[]) WITH ORDINALITY u (name, n)) f
$$;
SELECT pg_temp.try_number('real', float4send(v)) FROM unnest(ARRAY[99, 999999, 1000000, -123456792, 1e18, 1e30, 0.1]::float4[]) v;
SELECT pg_temp.try_number('double precision', float8send(v))
FROM unnest(ARRAY[1e15, 9007199254740992, 1.00000017881393432617187499, -9223372036854775808, 9223372036854775808, 1e40, 1e-50, 'NaN', '-0']::float8[]) v;
SELECT pg_temp.try('fixed_f', pg_temp.swap(float8send(1e15)), '{"record_length": 8, "fields": [{"type": "double precision", "name": "i"}]}');
SELECT pg_temp.try('fixed_s', '\x00247449'::bytea, '{"record_length": 4, "fields": [{"type": "real"}, {"type": "int4", "start": 1}], "transform": "fixed_make(text,text,text)"}');
SELECT pg_temp.try('fixed_m', pg_temp.swap(int4send(5) || int4send(70000)), '{"record_length": 4, "fields": [{"type": "int4", "name": "a"}], "on_error": "ignore"}');
SELECT pg_temp.try('fixed_m', pg_temp.swap(int4send(5) || int4send(70000)), '{"record_length": 4, "fields": [{"type": "int4", "name": "a"}], "on_error": "set_null"}');
-- null numbers
SELECT pg_temp.try('fixed_m', '\xffff00000100ffff'::bytea, '{"record_length": 4, "fields": [{"type": "int2", "name": "a", "null": "FFff"}, {"type": "int2", "name": "b", "null": ["\\x0000", "ffff"]}]}');
CREATE DOMAIN fixed_given AS int NOT NULL;
CREATE TABLE fixed_g (a fixed_given);
SELECT pg_temp.try('fixed_g', '\x0100ffff'::bytea, '{"record_length": 2, "fields": [{"type": "int2", "null": "ffff"}]}');

--
-- Bad rows
--
\pset tuples_only off
\pset format aligned
CREATE TABLE fixed_r (a int CHECK (a < 90), b text);
SELECT pg_temp.put('in', E' 1one\n x\xc3\xa4\n\n 3threeand\n99xyz\n 5fi\n 6six') AS f \gset
SELECT rows_read, rows_loaded, rows_rejected, details ->> 'load_id' AS load FROM bulk_load('fixed_r', :'f', '{"format": "fixed", "fields": [{"length": 2}, {"length": 3}], "on_error": "ignore", "reject_table": "fixed_rejects", "reject_file": "/proc/self/cwd/pgbulk_fixed_bad"}') \gset
SELECT :rows_read AS read, :rows_loaded AS loaded, :rows_rejected AS rejected;
SELECT line_number, byte_offset, reason, column_name, field_value, sqlstate, message, raw_line FROM fixed_rejects ORDER BY 1;
SELECT pg_read_file('pgbulk_fixed_bad') = E' x\xc3\xa4\n\n 3threeand\n99xyz\n 5fi\n' AS lines;
SELECT pg_read_file('pgbulk_fixed_bad.log');
-- the encoding must be known
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('fixed_r', 'fixed_rejects', :load, '{"format": "fixed", "fields": [{"length": 2}, {"length": 3}], "extra_columns": "ignore", "log_verbosity": "silent"}');
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('fixed_r', 'fixed_rejects', :load, '{"format": "fixed", "fields": [{"length": 2}, {"length": 3}], "extra_columns": "ignore", "log_verbosity": "silent", "encoding": "UTF8"}');
UPDATE fixed_rejects SET raw_line = '42xyz' WHERE line_number = 5;
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('fixed_r', 'fixed_rejects', :load, '{"format": "fixed", "fields": [{"length": 2}, {"length": 3}], "missing_columns": "null", "log_verbosity": "silent", "encoding": "UTF8"}');
SELECT line_number, message FROM fixed_rejects ORDER BY 1;
SELECT * FROM fixed_r ORDER BY a;
-- and the row not too long
INSERT INTO fixed_rejects SELECT (r).* FROM (SELECT jsonb_populate_record(r, '{"raw_line": "42xyz4711", "line_number": 9}') AS r FROM fixed_rejects r LIMIT 1) x;
SELECT bulk_load_retry('fixed_r', 'fixed_rejects', :load, '{"format": "fixed", "fields": [{"length": 2}, {"length": 3}], "record_length": 5, "encoding": "UTF8"}');
-- positions are those in the file, whatever its encoding
TRUNCATE fixed_r, fixed_rejects;
SELECT pg_temp.put('in', ' 1\344\366\374 x\344\366\374'::bytea) AS f \gset
SELECT details ->> 'load_id' AS load FROM bulk_load('fixed_r', :'f', '{"format": "fixed", "fields": [{"length": 2}, {"length": 3}], "record_length": 5, "encoding": "LATIN1", "on_error": "ignore", "reject_table": "fixed_rejects", "log_verbosity": "silent"}') \gset
SELECT line_number, byte_offset, raw_line, raw_bytes FROM fixed_rejects;
UPDATE fixed_rejects SET raw_line = replace(raw_line, 'x', '2');
SELECT rows_loaded FROM bulk_load_retry('fixed_r', 'fixed_rejects', :load, '{"format": "fixed", "fields": [{"length": 2}, {"length": 3}], "record_length": 5, "encoding": "LATIN1"}');
SELECT * FROM fixed_r ORDER BY a;
-- records
TRUNCATE fixed_r, fixed_rejects;
SELECT pg_temp.put('in', '\x5a000000616263'::bytea || '\x01000000646566'::bytea || '\x02000000ff6768'::bytea || '\x030000'::bytea) AS f \gset
SELECT details ->> 'load_id' AS load FROM bulk_load('fixed_r', :'f', '{"format": "fixed", "fields": [{"type": "int4"}, {"length": 3}], "record_length": 7, "on_error": "ignore", "reject_table": "fixed_rejects", "reject_file": "/proc/self/cwd/pgbulk_fixed_bad"}') \gset
SELECT line_number, byte_offset, reason, column_name, field_value, message, raw_line, raw_bytes FROM fixed_rejects ORDER BY 1;
SELECT pg_read_binary_file('pgbulk_fixed_bad');
UPDATE fixed_rejects SET raw_bytes = set_byte(raw_bytes, 0, 50) WHERE line_number = 1;
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('fixed_r', 'fixed_rejects', :load, '{"format": "fixed", "fields": [{"type": "int4"}, {"length": 3}], "record_length": 7, "log_verbosity": "silent", "invalid_bytes": "replace"}');
SELECT * FROM fixed_r ORDER BY a;
-- with foreign keys and duplicates, rows are read again
CREATE TABLE fixed_parent (a int PRIMARY KEY);
INSERT INTO fixed_parent SELECT generate_series(1, 3);
CREATE TABLE fixed_child (a int REFERENCES fixed_parent, b text UNIQUE);
SELECT pg_temp.put('in', '\x01000000616161'::bytea || '\x04000000626262'::bytea || '\x02000000636363'::bytea || '\x03000000616161'::bytea) AS f \gset
TRUNCATE fixed_rejects;
SELECT rows_read, rows_loaded, rows_rejected, rows_duplicate FROM bulk_load('fixed_child', :'f', '{"format": "fixed", "fields": [{"type": "int4"}, {"length": 3}], "record_length": 7, "on_error": "ignore", "on_duplicate": "keep_old", "reject_table": "fixed_rejects", "log_verbosity": "silent"}');
SELECT line_number, byte_offset, reason, raw_line, raw_bytes FROM fixed_rejects ORDER BY 1;
-- partitions and triggers
CREATE TABLE fixed_p (a int, b text) PARTITION BY RANGE (a);
CREATE TABLE fixed_p1 PARTITION OF fixed_p FOR VALUES FROM (0) TO (2);
CREATE TABLE fixed_p2 PARTITION OF fixed_p FOR VALUES FROM (2) TO (4);
CREATE FUNCTION fixed_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.b := NEW.b || '!'; RETURN NEW; END $$;
CREATE TRIGGER t BEFORE INSERT ON fixed_p2 FOR EACH ROW EXECUTE FUNCTION fixed_trigger();
SELECT rows_loaded, rows_rejected, writer FROM bulk_load('fixed_p', :'f', '{"format": "fixed", "fields": [{"type": "int4"}, {"length": 3}], "record_length": 7, "on_error": "ignore", "log_verbosity": "silent"}');
SELECT tableoid::regclass, * FROM fixed_p ORDER BY a;

-- several files, compressed ones too
TRUNCATE fixed_r;
SELECT pg_temp.put('one', E'  7abc\n') AS one, pg_temp.put('gz', '\x1f8b08000000000002ff5350304c4c4ae65250304a4955e00200f27fb20c0e000000'::bytea) AS gz \gset
SELECT rows_loaded FROM bulk_load('fixed_r', ARRAY[:'one', :'gz'], '{"format": "fixed", "fields": [{"length": 3}, {"length": 3}]}');
SELECT rows_loaded FROM bulk_load('fixed_r', :'gz', '{"format": "fixed", "fields": [{"length": 3}, {"length": 3}], "record_length": 7}');
SELECT * FROM fixed_r ORDER BY ctid;

--
-- Workers: the same rows in the same order
--
CREATE TABLE fixed_w (id serial, a int, b text, c bigint);
CREATE TABLE fixed_expected AS SELECT i AS id, i AS a, repeat('x', i % 11) AS b, i * 10000000000 AS c FROM generate_series(1, 20000) i;
SET pgbulk.chunk_size = 4096;
SELECT pg_temp.put('in', (SELECT string_agg(rpad(a::text, 6) || rpad(b, 10) || lpad(c::text, 17), E'\n') FROM fixed_expected)) AS lines \gset
SELECT pg_temp.put('in2', (SELECT string_agg(int4send(a) || convert_to(rpad(b, 10), 'UTF8') || int8send(c), '') FROM fixed_expected)) AS records \gset
SELECT rows_loaded, workers > 0 AS helped, details ->> 'no_workers' AS why FROM bulk_load('fixed_w', :'lines', '{"format": "fixed", "workers": 2, "fields": [{"name": "a", "length": 6}, {"name": "b", "length": 10, "null": []}, {"name": "c", "length": 17}]}');
SELECT count(*) FROM (SELECT * FROM fixed_w EXCEPT ALL SELECT * FROM fixed_expected) x;
SELECT count(*), bool_and(ordered) FROM (SELECT a > lag(a, 1, 0) OVER (ORDER BY ctid) AS ordered FROM fixed_w) x;
TRUNCATE fixed_w RESTART IDENTITY;
SELECT rows_loaded, workers > 0 AS helped, details ->> 'no_workers' AS why FROM bulk_load('fixed_w', :'records', '{"format": "fixed", "workers": 2, "endian": "big", "record_length": 22, "fields": [{"name": "a", "type": "int4"}, {"name": "b", "length": 10, "null": []}, {"name": "c", "type": "int8"}]}');
SELECT count(*) FROM (SELECT * FROM fixed_w EXCEPT ALL SELECT * FROM fixed_expected) x;
SELECT count(*), bool_and(ordered) FROM (SELECT a > lag(a, 1, 0) OVER (ORDER BY ctid) AS ordered FROM fixed_w) x;
TRUNCATE fixed_w RESTART IDENTITY;
-- one after the other, the last record of each is too short
SELECT pg_temp.put('in2', (SELECT string_agg(int4send(a) || convert_to(rpad(b, 10), 'UTF8') || int8send(c), '') || '\x00000001' FROM fixed_expected)) AS records \gset
SELECT rows_loaded, rows_rejected, workers > 0 AS helped FROM bulk_load('fixed_w', ARRAY[:'records', :'records', :'records'], '{"format": "fixed", "workers": 2, "endian": "big", "record_length": 22, "fields": [{"name": "a", "type": "int4"}, {"name": "b", "length": 10}, {"name": "c", "type": "int8"}], "on_error": "ignore"}');
SELECT count(*), min(a), max(a), sum(CASE WHEN a = 1 THEN 1 END) AS files, bool_and(b <> '') FROM fixed_w;
TRUNCATE fixed_w RESTART IDENTITY;
ALTER TABLE fixed_w ADD CHECK (a % 500 <> 0);
TRUNCATE fixed_rejects;
SELECT rows_loaded, rows_rejected FROM bulk_load('fixed_w', :'records', '{"format": "fixed", "workers": 2, "endian": "big", "record_length": 22, "fields": [{"name": "a", "type": "int4"}, {"name": "b", "length": 10, "null": []}, {"name": "c", "type": "int8"}], "skip": 600, "limit": 15000, "on_error": "ignore", "reject_table": "fixed_rejects", "log_verbosity": "silent"}');
SELECT count(*), min(a), max(a) FROM fixed_w;
SELECT count(*), min(line_number), max(line_number), bool_and(byte_offset = (line_number - 1) * 22 AND length(raw_bytes) = 22) AS right_place FROM fixed_rejects;
RESET pgbulk.chunk_size;

--
-- Errors
--
\pset tuples_only on
\pset format unaligned
SELECT o || E'\n  ' || string_agg(said, E'\n  ') FROM unnest(ARRAY[
	'{}', '{"fields": null}', '{"fields": []}', '{"fields": {}}', '{"fields": "a"}', '{"fields": [1]}', '{"fields": [[]]}',
	'{"fields": [{}]}', '{"fields": [{"length": 0}]}', '{"fields": [{"length": "1"}]}', '{"fields": [{"length": 1.5}]}', '{"fields": [{"length": 1000000001}]}',
	'{"fields": [{"length": 1e30}]}', '{"fields": [{"length": 1}, {"start": 0, "length": 1}]}', '{"fields": [{"length": 999999999}, {"length": 2}]}',
	'{"fields": [{"length": 1, "size": 1}]}', '{"fields": [{"length": 1, "type": "varchar"}]}', '{"fields": [{"length": 1, "type": 1}]}',
	'{"fields": [{"length": 1, "name": 1}]}', '{"fields": [{"length": 1, "name": null}]}', '{"fields": [{"length": 1, "name": "a"}, {"length": 1}]}',
	'{"fields": [{"length": 1}, {"length": 1, "name": "a"}]}', '{"fields": [{"length": 1, "name": "a"}, {"length": 1, "name": "a"}]}',
	'{"fields": [{"length": 1, "name": "x"}]}', '{"fields": [{"length": 1}]}', '{"fields": [{"length": 1}, {"length": 1}, {"length": 1}]}',
	'{"fields": [{"length": 1, "start": 2}, {"length": 1, "start": 1}]}',
	'{"fields": [{"type": "int4"}, {"length": 1}]}', '{"record_length": 5, "fields": [{"type": "int4", "length": 2}, {"length": 1}]}',
	'{"record_length": 5, "fields": [{"type": "int4"}, {"length": 2}]}', '{"record_length": 0, "fields": []}', '{"record_length": 1000000001, "fields": []}',
	'{"fields": [{"length": 1, "endian": "big"}, {"length": 1}]}', '{"record_length": 5, "fields": [{"type": "int4", "endian": "middle"}, {"length": 1}]}',
	'{"fields": [{"length": 1, "trim": "right"}, {"length": 1}]}', '{"record_length": 5, "fields": [{"type": "int4", "trim": true}, {"length": 1}]}',
	'{"fields": [{"length": 1, "null": 1}, {"length": 1}]}', '{"fields": [{"length": 1, "null": [1]}, {"length": 1}]}', '{"fields": [{"length": 1, "null": "NA"}, {"length": 1}]}',
	'{"record_length": 5, "fields": [{"type": "int4", "null": ""}, {"length": 1}]}', '{"record_length": 5, "fields": [{"type": "int4", "null": "0000000g"}, {"length": 1}]}',
	'{"encoding": "LATIN1", "fields": [{"length": 5, "null": "ä"}, {"length": 1}]}', '{"encoding": "LATIN1", "comment": "ä", "fields": [{"length": 5}, {"length": 1}]}',
	'{"endian": "middle", "fields": [{"length": 1}]}', '{"trim": ["a"], "fields": [{"length": 1}]}',
	'{"header": "map", "fields": [{"length": 1}]}', '{"header": "match", "fields": [{"length": 1}]}',
	'{"header": true, "record_length": 2, "fields": [{"length": 1}, {"length": 1}]}', '{"newline": "any", "record_length": 2, "fields": [{"length": 1}, {"length": 1}]}',
	'{"comment": "#", "record_length": 2, "fields": [{"length": 1}, {"length": 1}]}', '{"encoding": "UTF16", "record_length": 2, "fields": [{"length": 1}, {"length": 1}]}',
	'{"columns": ["a"], "fields": [{"length": 1}]}', '{"delimiter": ",", "fields": [{"length": 1}]}', '{"default": "x", "fields": [{"length": 1}]}',
	'{"force_null": "*", "fields": [{"length": 1}]}', '{"format": "csv", "fields": [{"length": 1}]}', '{"format": "text", "record_length": 1}', '{"format": "csv", "endian": "big"}',
	'{"transform": "fixed_make(text,text,text)", "fields": [{"name": "a", "length": 1}]}'
]) WITH ORDINALITY AS u (o, n), LATERAL pg_temp.try('fixed_s', '', o::jsonb) AS said GROUP BY n, o ORDER BY n;
SELECT rows_loaded FROM bulk_load_query('fixed_s', 'SELECT 1, 2', '{"format": "fixed", "fields": [{"length": 1}]}');
SELECT rows_loaded FROM bulk_load_query('fixed_s', 'SELECT 1, 2', '{"record_length": 1}');

DROP VIEW fixed_fields;
DROP FUNCTION fixed_make;
DROP TABLE fixed_t, fixed_d, fixed_s, fixed_c, fixed_v, fixed_n, fixed_source, fixed_m, fixed_f, fixed_g, fixed_r, fixed_rejects, fixed_child, fixed_parent, fixed_p, fixed_w, fixed_expected;
DROP FUNCTION fixed_trigger;
DROP DOMAIN fixed_small, fixed_money, fixed_float4, fixed_float8, fixed_given;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_fixed_gone; rm -f pgbulk_fixed_*';
