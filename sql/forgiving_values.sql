--
-- Values as people write them.
--
\pset null '(null)'
CREATE TABLE forgiving (n int, t text, d numeric);

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_forgiving_values_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result of loading a file: the rows of the table, or the error.
CREATE FUNCTION pg_temp.try(target regclass, content text, options jsonb DEFAULT NULL)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	context text;
BEGIN
	EXECUTE 'TRUNCATE ' || target;
	SELECT * INTO r FROM bulk_load(target, pg_temp.put('in', content), options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	RETURN QUERY EXECUTE 'SELECT loaded_row::text FROM ' || target || ' loaded_row';
	RETURN NEXT format('%s read, %s loaded, %s rejected', r.rows_read, r.rows_loaded, r.rows_rejected);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	context := regexp_replace(substring(context, 'bulk_load of .*'), '\n(SQL statement|PL/pgSQL function).*', '');
	RETURN QUERY SELECT t FROM unnest(ARRAY[context]) t WHERE t <> '';
END $$;

--
-- trim
--

SELECT pg_temp.try('forgiving', E' 1 ,\t two words ,3.5\t\n');
SELECT pg_temp.try('forgiving', E' 1 ,\t two words ,3.5\t\n', '{"trim": true}');
SELECT pg_temp.try('forgiving', E' 1 ,\t two words ,3.5\t\n', '{"trim": ["t"]}');
SELECT pg_temp.try('forgiving', E'1,  ," 2"\n', '{"trim": true}');
-- what is inside quotes is kept
SELECT pg_temp.try('forgiving', E'1,"  two ",2\n2, "  two " ,2\n3, "t""w" o,2\n 4 , "","3"\n5,"",\n', '{"trim": true}');
SELECT pg_temp.try('forgiving', E'1, "a\nb" ,1\n', '{"trim": true}');
-- null and default markers
SELECT pg_temp.try('forgiving', E'1, NA ,1\n2," NA",2\n3,NA  , NA\n', '{"trim": true, "null": ["NA", "-"]}');
SELECT pg_temp.try('forgiving', E'1, NA , NA\n', '{"trim": ["t"], "null": "NA"}');
ALTER TABLE forgiving ALTER t SET DEFAULT 'usual';
SELECT pg_temp.try('forgiving', E'1, * ,1\n', '{"trim": true, "default": "*"}');
ALTER TABLE forgiving ALTER t DROP DEFAULT;
SELECT pg_temp.try('forgiving', E'1, NA ,1\n2,"NA" ,1\n', '{"trim": true, "null": "NA", "force_null": ["t"]}');
SELECT pg_temp.try('forgiving', E'1, ,1\n', '{"trim": true, "force_not_null": ["t"]}');
-- text format: a backslash keeps the blank after it
SELECT pg_temp.try('forgiving', E' 1 \t two\\  \t3 \n2 \t\\  two \\\t \t \\N\n3\t \\\\ \t1\n', '{"trim": true, "format": "text"}');
SELECT pg_temp.try('forgiving', E' 1 |\ttwo\t| \\N\n', '{"trim": true, "format": "text", "delimiter": "|"}');
-- names of a header line
SELECT pg_temp.try('forgiving', E' d , n \n1,2\n', '{"trim": true, "header": "map"}');
SELECT pg_temp.try('forgiving', E' n , t,d\n1,2,3\n', '{"trim": true, "header": "match"}');
SELECT pg_temp.try('forgiving', E' n , t,d\n1,2,3\n', '{"trim": ["n"], "header": "match"}');
-- the bad value is the trimmed one, the line is unchanged
SELECT rows_rejected FROM bulk_load('forgiving', pg_temp.put('in', E'1, a ,  x \n'), '{"trim": true, "on_error": "ignore", "reject_table": "pg_temp.forgiving_rejects", "log_verbosity": "silent"}');
SELECT column_name, field_value, message, raw_line FROM pg_temp.forgiving_rejects;
SELECT pg_temp.try('forgiving', E'1, a ,  x \n', '{"trim": true}');
-- misuse
SELECT pg_temp.try('forgiving', '', '{"trim": "t"}');
SELECT pg_temp.try('forgiving', '', '{"trim": 1}');
SELECT pg_temp.try('forgiving', '', '{"trim": ["nowhere"]}');
SELECT pg_temp.try('forgiving', '', '{"trim": ["t"], "columns": ["n"]}');
SELECT pg_temp.try('forgiving', '', '{"trim": true, "format": "binary"}');

--
-- date_format
--

CREATE DOMAIN forgiving_day AS date CHECK (value >= '2000-01-01');
CREATE TABLE forgiving_dates (d date, t time, s timestamp(0), z timestamptz, o forgiving_day);
SET timezone = 'Europe/Berlin';
SET datestyle = 'ISO, MDY';
CREATE FUNCTION pg_temp.dates(content text, options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE sql AS $$
	SELECT pg_temp.try('forgiving_dates', content, '{"missing_columns": "null", "date_format": {"d": "DD/MM/YYYY", "t": "HH12:MI AM", "s": "DD.MM.YYYY HH24:MI:SS.US", "z": "YYYY-MM-DD\"T\"HH24:MI TZH", "o": "DD Mon YY"}}' || options)
$$;
SELECT pg_temp.dates(E'31/12/2024,11:30 pm,01.02.2024 10:20:30.600000,2024-07-01T10:00 +00,05 jun 24\n1/2/2024,1:05 AM,,,\n,,,,\n');
SELECT pg_temp.dates(E'31/12/2024\t11:30 pm\t01.02.2024 10:20:30.600000\t2024-07-01T10:00 +00\t05 JUN 24\n', '{"format": "text"}');
-- the whole value must match
SELECT pg_temp.dates(E'31/12/2024x\n');
SELECT pg_temp.dates(E'31/12\n');
SELECT pg_temp.dates(E'31-12-2024\n');
SELECT pg_temp.dates(E' 31/12/2024\n');
SELECT pg_temp.dates(E' 31/12/2024 \n', '{"trim": true}');
-- what the server would take for another date
SELECT pg_temp.dates(E'31/12/24\n');
SELECT pg_temp.dates(E'00/12/2024\n');
SELECT pg_temp.dates(E'00/00/0000\n');
SELECT pg_temp.dates(E'31/12/24\n', '{"date_format": {"d": "DD/MM/YY"}}');
-- invalid days, domains
SELECT pg_temp.dates(E'30/02/2024\n');
SELECT pg_temp.dates(E'01/13/2024\n');
SELECT pg_temp.dates(E',,,,05 Jun 99\n');
-- bad values are rejects, and may be null
CREATE FUNCTION pg_temp.bad_dates(options jsonb) RETURNS TABLE (line bigint, reason text, column_name text, field_value text, sqlstate text, raw_line text) LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE forgiving_dates;
	PERFORM bulk_load('forgiving_dates', pg_temp.put('in', E'31/12/2024\n31/12/24 \n00/12/2024\n"1/1/2024"\nNULL\n2/30/2024,noon\n,noon\n,,,,01 Jan 1990\n'),
		'{"missing_columns": "null", "log_verbosity": "silent", "reject_table": "pg_temp.forgiving_bad", "null": ["", "NULL"],
		"date_format": {"d": "DD/MM/YYYY", "t": "HH24:MI", "o": "DD Mon YYYY"}}' || options);
	RETURN QUERY SELECT b.line_number, b.reason, b.column_name, b.field_value, b.sqlstate, b.raw_line FROM pg_temp.forgiving_bad b ORDER BY 1;
	DROP TABLE pg_temp.forgiving_bad;
END $$;
SELECT * FROM pg_temp.bad_dates('{"on_error": "ignore"}');
SELECT d, t, o FROM forgiving_dates;
SELECT * FROM pg_temp.bad_dates('{"on_error": "set_null"}');
SELECT d, t, o FROM forgiving_dates;
-- the same as by to_timestamp
CREATE TABLE forgiving_many (a timestamp, b timestamp);
COPY (SELECT to_char(s, 'DD.MM.YYYY HH24:MI:SS'), s FROM generate_series('1999-12-27 00:00:00'::timestamp, '2031-01-01', '17 hours 59 minutes 7 seconds') s) TO '/proc/self/cwd/pgbulk_forgiving_values_many' (FORMAT csv);
SELECT rows_loaded FROM bulk_load('forgiving_many', '/proc/self/cwd/pgbulk_forgiving_values_many', '{"date_format": {"a": "DD.MM.YYYY HH24:MI:SS"}}');
SELECT count(*) FROM forgiving_many WHERE a <> b;
DROP TABLE forgiving_many;
RESET timezone;
RESET datestyle;
-- misuse
SELECT pg_temp.dates('', '{"date_format": "DD/MM/YYYY"}');
SELECT pg_temp.dates('', '{"date_format": ["d"]}');
SELECT pg_temp.dates('', '{"date_format": {"d": 1}}');
SELECT pg_temp.dates('', '{"date_format": {"d": ""}}');
SELECT pg_temp.dates('', '{"date_format": {"d": "YYYYTMM"}}');
SELECT pg_temp.dates('', '{"date_format": {"nowhere": "YYYY"}}');
SELECT pg_temp.dates('', '{"date_format": {"d": "YYYY"}, "columns": ["t"]}');
SELECT pg_temp.try('forgiving', '', '{"date_format": {"t": "YYYY"}}');
SELECT pg_temp.dates('', '{"format": "binary"}');
DROP TABLE forgiving_dates;
DROP DOMAIN forgiving_day;

--
-- decimal_mark
--

CREATE DOMAIN forgiving_price AS numeric(6,2) CHECK (value >= 0);
CREATE TABLE forgiving_numbers (i int, n numeric, f float8, r float4, p forgiving_price, t text);
CREATE FUNCTION pg_temp.numbers(content text, options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE sql AS $$
	SELECT pg_temp.try('forgiving_numbers', content, '{"delimiter": ";", "decimal_mark": ",", "missing_columns": "null"}' || options)
$$;
SELECT pg_temp.numbers(E'1;1,5;-2,25;3,0e2;9,999;1,5\n2;NaN;Infinity;,5;7;1.5\n3;"1,5"; 2 ;;;\n');
SELECT pg_temp.numbers(E'1,"1,5"\n', '{"delimiter": ","}');
SELECT pg_temp.numbers(E'1\t1\\,5\n', '{"delimiter": "\t", "format": "text"}');
SELECT pg_temp.numbers(E'1;1.5\n', '{"decimal_mark": "."}');
-- a point may separate thousands
SELECT pg_temp.numbers(E'1;1.234\n');
SELECT pg_temp.numbers(E'1;1.234,5\n');
SELECT pg_temp.numbers(E'1;1,2,3\n');
SELECT pg_temp.numbers(E'1,5\n');
SELECT pg_temp.numbers(E'1;;;;-1,5\n');
SELECT rows_loaded, rows_rejected FROM bulk_load('forgiving_numbers', pg_temp.put('in', E'1;1,5\n2;1.5\n3;1,5x\n4;;1.5\n5;;;;-1,5\n6;1,5\n'),
	'{"delimiter": ";", "decimal_mark": ",", "missing_columns": "null", "on_error": "ignore", "reject_table": "pg_temp.forgiving_rejected", "log_verbosity": "silent"}');
SELECT line_number, reason, column_name, field_value, sqlstate, message, raw_line FROM pg_temp.forgiving_rejected ORDER BY 1;
SELECT pg_temp.numbers(E'1;1.5\n2;2,5\n', '{"on_error": "set_null", "log_verbosity": "silent"}');
-- misuse
SELECT pg_temp.numbers('', '{"decimal_mark": "5"}');
SELECT pg_temp.numbers('', '{"decimal_mark": ",,"}');
SELECT pg_temp.numbers('', '{"decimal_mark": ""}');
SELECT pg_temp.numbers('', '{"decimal_mark": true}');
SELECT pg_temp.try('forgiving_numbers', '', '{"decimal_mark": ",", "format": "binary"}');

-- thousands
CREATE TABLE forgiving_thousands (i2 smallint, i4 int, i8 bigint, n forgiving_price, f float8, t text);
SELECT pg_temp.try('forgiving_thousands', E'1,234|-1,234,567|+12,345,678,901|1,234.5|-1,234.5e-3|1,234\n1|12|123|.5|NaN|,\n||1234567| 1,234 |1e3|\n', '{"delimiter": "|", "thousands_mark": ","}');
SELECT pg_temp.try('forgiving_thousands', E'1.234;-1.234.567;12.345.678.901;1.234,5;-1.234,5e-3;1.234\n', '{"delimiter": ";", "thousands_mark": ".", "decimal_mark": ","}');
SELECT pg_temp.try('forgiving_thousands', E'1 234 ; 1 234 567 ;12 345;1 234.5;-1 234.5;1 2\n', '{"delimiter": ";", "thousands_mark": " "}');
SELECT pg_temp.try('forgiving_thousands', E'1\u202f234;1\u202f234\u202f567;1;1\u202f234,5;1;x\n', '{"delimiter": ";", "thousands_mark": "\u202f", "decimal_mark": ",", "encoding": "UTF8"}');
SELECT * FROM forgiving_thousands;
TRUNCATE forgiving_thousands;
-- only groups of three: what may mean something else is bad
SELECT rows_loaded, rows_rejected FROM bulk_load('forgiving_thousands', pg_temp.put('in', E'1|1,56,216\n2|1,5662\n3|1,566,21\n4|1234,567\n5|,123\n6|123,\n7|0,123\n8|1,,234\n9||||1.5,000\n10||||1,5\n11|1,234x\n12||||1,234,567.25\n13|1, 234\n14|- 1,234\n15|9,999,999,999\n'),
	'{"delimiter": "|", "thousands_mark": ",", "missing_columns": "null", "on_error": "ignore", "reject_table": "pg_temp.forgiving_grouped", "log_verbosity": "silent"}');
SELECT line_number, reason, column_name, field_value, sqlstate, message FROM pg_temp.forgiving_grouped ORDER BY 1;
SELECT i2, f FROM forgiving_thousands;
SELECT pg_temp.try('forgiving_thousands', E'1|1,56\n', '{"delimiter": "|", "thousands_mark": ",", "missing_columns": "null"}');
-- misuse
SELECT pg_temp.try('forgiving_thousands', '', '{"thousands_mark": "5"}');
SELECT pg_temp.try('forgiving_thousands', '', '{"thousands_mark": ", "}');
SELECT pg_temp.try('forgiving_thousands', '', '{"thousands_mark": "."}');
SELECT pg_temp.try('forgiving_thousands', '', '{"thousands_mark": ",", "decimal_mark": ","}');
SELECT pg_temp.try('forgiving_thousands', '', '{"thousands_mark": ",", "format": "binary"}');
DROP TABLE forgiving_thousands;

DROP TABLE forgiving_numbers;
DROP DOMAIN forgiving_price;

DROP TABLE forgiving;
