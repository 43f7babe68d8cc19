--
-- NOTICEs about bad rows, and the options that would fix them, which are tried.
--
-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_diagnosis_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
CREATE TABLE diagnosis_t (a int, b text, d date, n numeric(9,2));
-- Loads lines, and the options that a HINT names.
CREATE FUNCTION pg_temp.try(content text, options jsonb DEFAULT '{}', encoding text DEFAULT 'UTF8', OUT loaded bigint, OUT rejected bigint) LANGUAGE sql AS $$
	SELECT rows_loaded, rows_rejected FROM bulk_load('diagnosis_t', pg_temp.put('in', convert_to(content, encoding)), '{"on_error": "ignore"}' || options)
$$;
SET DateStyle = 'ISO, MDY';

-- dates
SELECT * FROM pg_temp.try(E'1,a,2024-01-02,1\n2,b,31/12/2024,2\n3,c,30/11/2024,3\n4,d,29.02.2024,4\n5,e,01/02/2024,5\n');
SELECT * FROM pg_temp.try(E'2,b,31/12/2024,2\n3,c,30/11/2024,3\n');
SELECT * FROM pg_temp.try(E'2,b,31/12/2024,2\n3,c,30/11/2024,3\n', '{"date_format": {"d": "DD/MM/YYYY"}, "log_verbosity": "default"}');
SELECT * FROM pg_temp.try(E'2,b,2024.13.01,2\n3,c,99/99/9999,3\n');
SET DateStyle = 'ISO, DMY';
SELECT * FROM pg_temp.try(E'2,b,12/31/2024,2\n3,c,11/30/2024,3\n');
SET DateStyle = 'ISO, MDY';
CREATE TABLE diagnosis_ts (t timestamp, z timestamptz);
SELECT rows_loaded FROM bulk_load('diagnosis_ts', pg_temp.put('in', E'31.12.2024 23:59,2024-01-01\n2024-01-01,31/12/24 11:59 PM\n'), '{"on_error": "ignore", "date_format": {"z": "YYYY-MM-DD"}}');

-- words for missing values
SELECT * FROM pg_temp.try(E'N/A,a,2024-01-01,1\n-,a,2024-01-01,1\nNULL,b,,2\n\\N,c,,3\n1,d,,4\n');
SELECT * FROM pg_temp.try(E'N/A,a,2024-01-01,1\nnothing,a,2024-01-01,1\n');
SELECT * FROM pg_temp.try(E'1,a,"",1\n', '{"force_null": ["b"]}');
SELECT * FROM pg_temp.try(E'?\ta\t\\N\t\\N\n', '{"format": "text"}');
-- but not where it cannot be
CREATE TABLE diagnosis_nn (a int NOT NULL);
SELECT rows_loaded FROM bulk_load('diagnosis_nn', pg_temp.put('in', E'N/A\nNULL\n'), '{"on_error": "ignore"}');

-- numbers, blanks, quotes
SELECT * FROM pg_temp.try(E'1;a;;1,5\n2;b;;1.000,00\n3;c;;2,25\n', '{"delimiter": ";"}');
CREATE TABLE diagnosis_b (u uuid, b bool);
SELECT rows_loaded FROM bulk_load('diagnosis_b', pg_temp.put('in', E' a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 , yes\n'), '{"on_error": "ignore"}');
SELECT * FROM pg_temp.try(E'\'1\',\'a, b\',\'2024-01-01\',1\n');
SELECT * FROM pg_temp.try(E'\'1\',\'a\',\'2024-01-01\',1\n');
SELECT * FROM pg_temp.try(E'1,"a \\" b",2024-01-01,1\n2,"c \\" d, e",2024-01-01,1\n');

-- lines: fields too many or too few, another delimiter, comments, line ends
SELECT * FROM pg_temp.try(E'1,a,,1,\n2,b,,2,x\n');
SELECT * FROM pg_temp.try(E'1,a\n2\n');
SELECT * FROM pg_temp.try(E'1;a;2024-01-01;1\n2;b;2024-01-01;2\n');
SELECT * FROM pg_temp.try(E'1;a;2024-01-01;1,5\n2;b;2024-01-01;2,5\n', '{"missing_columns": "error"}');
SELECT * FROM pg_temp.try(E'1\ta\t2024-01-01\t1\n');
SELECT * FROM pg_temp.try(E'# a comment\n1,a,,1\n# another one, with a comma\n');
SELECT * FROM pg_temp.try(E'1,a,,1\n2,b,,2\r\n3,c,,3\n');
SELECT * FROM pg_temp.try(E'1,5" disk,,1\n2,6" disk,,2\n');

-- quotes that are not closed are no matter of other rows, ...
SELECT * FROM pg_temp.try(E'1,a,,1\n2,b,\n3,"c\n');
SELECT rows_loaded FROM bulk_load('diagnosis_t', pg_temp.put('in', E'1,a,,1\n2,b,\n3,"c\n'));
SELECT * FROM pg_temp.try(E'1,x"a,,1\n2,"c\nd",,2\n3,x"b,,3\n4,"c\nd",,4\n5,caf\u00e9,,5\n', '{"encoding": "UTF8"}', 'WIN1252');
-- ... unless with a remedy they would join rows for good
SELECT * FROM pg_temp.try(E'1,x"a,,1\n2,"c\nd",,2\n3,b,\n');
CREATE TABLE diagnosis_q (a text, b text, c text);
SELECT rows_loaded FROM bulk_load('diagnosis_q', pg_temp.put('in', E'"1",b,c,d\n2,b,x"y\n"c, d",e,f\n"g\nh",i,j\n'), '{"on_error": "ignore"}');
SELECT rows_loaded FROM bulk_load('diagnosis_q', pg_temp.put('in', E'1,b,c,d\n2,b,x"y\n3,b,c\n4,z"w,d\n5,b,c\n'), '{"on_error": "ignore"}');
SELECT rows_loaded FROM bulk_load('diagnosis_q', pg_temp.put('in', E'1,b,c,d\n2,b,x"y\n3,b,c\n4,z"w,d\n5,b,c\n'));
SELECT rows_loaded FROM bulk_load('diagnosis_q', pg_temp.put('in', E'1,b,c,d\n2,b,x"y\n3,b,c\n4,z"w,d\n5,b,c\n'), '{"extra_columns": "ignore"}');

-- encodings
SELECT * FROM pg_temp.try(E'1,caf\u00e9,,1\n2,x,,2\n3,\u20ac,,3\n', '{"encoding": "UTF8"}', 'WIN1252');

-- several kinds, and set_null; rows are bad in several columns
SELECT * FROM pg_temp.try(E'1,a,31/12/2024,N/A\nN/A,b,2024-01-01,1\nx,c,30/12/2024,1\n2,d,28/12/2024,1\n');
SELECT * FROM pg_temp.try(E'1,a,31/12/2024,N/A\nN/A,b,2024-01-01,1\n', '{"on_error": "set_null"}');

-- many: any row of a kind may be in the sample
SELECT * FROM pg_temp.try((SELECT string_agg(i || ',b,' || CASE WHEN i <= 500 THEN '31/12/2024' ELSE '31.12.2024' END || ',1', E'\n') FROM generate_series(1, 1000) i));
SELECT * FROM pg_temp.try((SELECT string_agg(i || ',b,31/12/2024,1', E'\n') FROM generate_series(1, 1000) i));
-- a line too long for the sample
SELECT * FROM pg_temp.try('N/A,' || repeat('long ', 10000) || ',,1');
-- nothing is left behind, neither rows nor values of a sequence, and nothing is tried with log_verbosity silent
CREATE TABLE diagnosis_s (id serial, d date, CHECK (d > '2024-01-01'));
SELECT rows_loaded FROM bulk_load('diagnosis_s', pg_temp.put('in', E'31/12/2024\n30/12/2024\n'), '{"on_error": "ignore", "columns": ["d"]}');
INSERT INTO diagnosis_s (d) VALUES ('2024-02-02');
SELECT id < 4 AS few FROM diagnosis_s;
SELECT * FROM pg_temp.try(E'1,a,31/12/2024,1\n', '{"log_verbosity": "silent"}');
-- nor what a function has written that a domain calls for values that are tried
CREATE FUNCTION diagnosis_write(t text) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN INSERT INTO diagnosis_s (d) VALUES (t::date); RETURN true; END $$;
CREATE DOMAIN diagnosis_written AS text CHECK (diagnosis_write(VALUE));
CREATE TABLE diagnosis_w (a int, b diagnosis_written);
TRUNCATE diagnosis_s;
SELECT rows_loaded FROM bulk_load('diagnosis_w', pg_temp.put('in', E'1,2024-02-01\n2,2024-02-02\nx,2024-02-03\n'), '{"on_error": "ignore", "dry_run": true}');
SELECT count(*) FROM diagnosis_s;
SELECT rows_loaded FROM bulk_load('diagnosis_w', pg_temp.put('in', E'a,b\n1,2024-02-01\n2,2024-02-02\nx,2024-02-03\n'), '{"on_error": "ignore", "header": "auto"}');
SELECT d FROM diagnosis_s ORDER BY d;
DROP TABLE diagnosis_w;
DROP DOMAIN diagnosis_written;
DROP FUNCTION diagnosis_write;
-- options that cannot be tried together with those of the load
SELECT * FROM pg_temp.try(E'{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n', '{"once": "tail"}');
-- rows that are set aside have no header line
SELECT * FROM pg_temp.try(E'a,b,d,n\n1,x,2024-01-01,1\n2,x,2024-01-02,1\n3,x,31.12.2024,1\n4,x,2024-01-04,1\n');
-- a domain and other types; a partitioned target
CREATE DOMAIN diagnosis_d AS date CHECK (VALUE > '2024-01-01');
CREATE TABLE diagnosis_p (x point, d diagnosis_d, n money) PARTITION BY LIST (d);
CREATE TABLE diagnosis_p1 PARTITION OF diagnosis_p DEFAULT;
SELECT rows_loaded FROM bulk_load('diagnosis_p', pg_temp.put('in', E'"(1,2)",31/12/2024,1\n"(1,2)",2024-02-02,N/A\n"(1,2)",2024-02-02,1\n'), '{"on_error": "ignore"}');

-- with a function between fields and columns, only options for lines are tried
CREATE FUNCTION diagnosis_f(text, text) RETURNS diagnosis_t STABLE LANGUAGE sql AS $$ SELECT $1::int, $2, NULL::date, NULL::numeric $$;
SELECT * FROM pg_temp.try(E'N/A,a\n1,b,c\n2\n3;d\n', '{"transform": "diagnosis_f"}');
DROP FUNCTION diagnosis_f;

SELECT count(*) FROM diagnosis_t;
DROP TABLE diagnosis_t, diagnosis_ts, diagnosis_nn, diagnosis_b, diagnosis_q, diagnosis_s, diagnosis_p;
DROP DOMAIN diagnosis_d;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_diagnosis_gone; rm -f pgbulk_diagnosis_*';
