--
-- Kinds of tables and columns: the result is that of COPY.
--

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_tables_' || name;
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
	hint text;
BEGIN
	EXECUTE 'TRUNCATE ' || target;
	SELECT * INTO r FROM bulk_load(target, pg_temp.put('in', content), options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	RETURN QUERY EXECUTE 'SELECT loaded_row::text FROM ' || target || ' loaded_row';
	RETURN NEXT format('%s read, %s loaded, %s rejected, %s filtered', r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_filtered);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT, hint = PG_EXCEPTION_HINT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	context := regexp_replace(context, '(^|\n)(SQL statement|PL/pgSQL function).*', '');
	RETURN QUERY SELECT t FROM unnest(ARRAY[hint, context]) t WHERE t <> '';
END $$;

-- plain, unlogged, temporary
CREATE TABLE tables_plain (a int, b text);
CREATE UNLOGGED TABLE tables_unlogged (a int, b text);
CREATE TEMP TABLE tables_temp (a int, b text);
CREATE TEMP TABLE tables_on_commit (a int, b text) ON COMMIT DELETE ROWS;
SELECT pg_temp.try('tables_plain', E'1,x\n2,y\n');
SELECT pg_temp.try('tables_unlogged', E'1,x\n2,y\n');
SELECT pg_temp.try('tables_temp', E'1,x\n2,y\n');
SELECT pg_temp.try('tables_on_commit', E'1,x\n2,y\n');
SELECT count(*) FROM tables_on_commit;
-- parents and children
CREATE TABLE tables_child (c int) INHERITS (tables_plain);
SELECT pg_temp.try('tables_child', E'1,x,2\n');
SELECT rows_loaded FROM bulk_load('tables_plain', pg_temp.put('in', E'7,z\n'), '{"truncate": true}');
SELECT tableoid::regclass, * FROM tables_plain ORDER BY a;
DROP TABLE tables_child;
-- of a type
CREATE TYPE tables_type AS (a int, b text);
CREATE TABLE tables_typed OF tables_type;
SELECT pg_temp.try('tables_typed', E'1,x\n');
DROP TABLE tables_typed;
-- names that need care
CREATE SCHEMA "Tables schema";
CREATE TABLE "Tables schema"."The ""table""" (a int, b text);
SELECT pg_temp.try('"Tables schema"."The ""table"""', E'1,x\n2,x,x\n');
SELECT rows_loaded FROM bulk_load('"Tables schema"."The ""table"""', pg_temp.put('in', E'1,x\n'), '{"truncate": true, "analyze": true}');
DROP SCHEMA "Tables schema" CASCADE;
-- columns that were dropped or added, with and without a default
ALTER TABLE tables_plain ADD c int DEFAULT 5, DROP a, ADD d text;
SELECT pg_temp.try('tables_plain', E'x,1,y\n,,\n');
SELECT pg_temp.try('tables_plain', E'x\n', '{"columns": ["b"]}');
-- another access method
CREATE ACCESS METHOD tables_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE tables_am (a int PRIMARY KEY, b text) USING tables_heap;
SELECT pg_temp.try('tables_am', E'1,x\n2,y\n');
SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE c.oid = 'tables_am'::regclass;
DROP TABLE tables_am;
DROP ACCESS METHOD tables_heap;

-- defaults: constants, functions, volatile ones, those that read tables
CREATE TABLE tables_other (n int);
INSERT INTO tables_other VALUES (1), (2);
CREATE SEQUENCE tables_seq START 100;
CREATE FUNCTION tables_count() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT count(*) FROM tables_other';
CREATE TABLE tables_defaults (a int, b int DEFAULT 1 + 1, c timestamptz DEFAULT now(), d int DEFAULT nextval('tables_seq'),
	e bigint DEFAULT tables_count(), f text DEFAULT current_user, g float8 DEFAULT random(), h uuid DEFAULT gen_random_uuid(), i int[] DEFAULT '{1,2}', j text DEFAULT NULL);
SELECT rows_loaded FROM bulk_load('tables_defaults', pg_temp.put('in', E'1\n2\n3\n'), '{"columns": ["a"]}');
SELECT a, b, c > now() - interval '1 hour' AS c, d, e, f = current_user AS f, g BETWEEN 0 AND 1 AS g, i, j FROM tables_defaults ORDER BY a;
SELECT count(DISTINCT g) AS g, count(DISTINCT h) AS h, count(DISTINCT c) AS c FROM tables_defaults;
-- a volatile default sees the rows that were loaded before, as in COPY
CREATE TABLE tables_self (a int, before bigint);
CREATE FUNCTION tables_self_count() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT count(*) FROM tables_self';
ALTER TABLE tables_self ALTER before SET DEFAULT tables_self_count();
SELECT rows_loaded FROM bulk_load('tables_self', pg_temp.put('in', E'1\n2\n3\n'), '{"columns": ["a"]}');
COPY tables_self (a) FROM '/proc/self/cwd/pgbulk_tables_in';
SELECT * FROM tables_self ORDER BY ctid;
-- also that of a type, or of a function's argument
CREATE DOMAIN tables_counted AS bigint DEFAULT tables_self_count();
CREATE FUNCTION tables_argument(x bigint DEFAULT tables_self_count()) RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RETURN x; END';
TRUNCATE tables_self;
ALTER TABLE tables_self ALTER before DROP DEFAULT, ALTER before TYPE tables_counted, ADD argument bigint DEFAULT tables_argument();
SELECT rows_loaded FROM bulk_load('tables_self', '/proc/self/cwd/pgbulk_tables_in', '{"columns": ["a", "argument"], "extra_columns": "ignore", "missing_columns": "null"}');
SELECT rows_loaded FROM bulk_load('tables_self', '/proc/self/cwd/pgbulk_tables_in', '{"columns": ["a", "before"], "missing_columns": "null"}');
COPY tables_self (a) FROM '/proc/self/cwd/pgbulk_tables_in';
SELECT * FROM tables_self ORDER BY ctid;

-- serial and identity
CREATE TABLE tables_serial (id serial PRIMARY KEY, always int GENERATED ALWAYS AS IDENTITY, by_default int GENERATED BY DEFAULT AS IDENTITY (START 10 INCREMENT 5), t text);
SELECT pg_temp.try('tables_serial', E'x\ny\n', '{"columns": ["t"]}');
-- the file's values count, also for GENERATED ALWAYS, as in COPY
SELECT pg_temp.try('tables_serial', E'11,12,13,z\n', '{}');
SELECT pg_temp.try('tables_serial', E',1,2,z\n', '{}');
SELECT pg_temp.try('tables_serial', E'z\n', '{"columns": ["t"]}');
-- sequence values of bad rows are not used again
SELECT rows_loaded, rows_rejected FROM bulk_load('tables_serial', pg_temp.put('in', E'w\nw,w\nw\n'), '{"columns": ["t"], "on_error": "ignore", "log_verbosity": "silent"}');
SELECT id, t FROM tables_serial ORDER BY id;

-- generated columns
CREATE TABLE tables_generated (a int, b int GENERATED ALWAYS AS (a * 2) STORED, c text, d text GENERATED ALWAYS AS (upper(c)) STORED NOT NULL, CHECK (b < 100));
SELECT pg_temp.try('tables_generated', E'1,x\n2,y\n');
SELECT pg_temp.try('tables_generated', E'x,1\n', '{"columns": ["c", "a"]}');
SELECT pg_temp.try('tables_generated', E'1,\n');
SELECT pg_temp.try('tables_generated', E'50,x\n');
SELECT pg_temp.try('tables_generated', E'1,x\n2000000000,y\n');
SELECT pg_temp.try('tables_generated', E'1,x\n2000000000,y\n50,x\n1,\n2,y\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('tables_generated', E'1\n', '{"columns": ["b"]}');

-- domains
CREATE DOMAIN tables_positive AS int CHECK (value > 0);
CREATE DOMAIN tables_needed AS text NOT NULL;
CREATE DOMAIN tables_inverse AS int CHECK (100 / value > 1);
CREATE TABLE tables_domains (a tables_positive, b tables_needed DEFAULT 'needed', c tables_inverse, d tables_positive[]);
SELECT pg_temp.try('tables_domains', E'1,x,1,"{1,2}"\n,x,,\n');
SELECT pg_temp.try('tables_domains', E'1,x,1,\n0,x,1,\n');
SELECT pg_temp.try('tables_domains', E'1,x,1,\n1,,1,\n');
SELECT pg_temp.try('tables_domains', E'1,x,1,\n1,x,0,\n');
SELECT pg_temp.try('tables_domains', E'1,x,1,"{1,0}"\n');
-- elements that are null, which these refuse
CREATE DOMAIN tables_there AS int CHECK (value IS NOT NULL);
CREATE TABLE tables_elements (a tables_needed[], b tables_there[], c tables_positive[]);
SELECT pg_temp.try('tables_elements', E'"{x,y}","{1,2}","{1,NULL}"\n');
SELECT pg_temp.try('tables_elements', E'"{x,NULL}",,\n');
SELECT pg_temp.try('tables_elements', E',"{1,NULL}",\n');
SELECT pg_temp.try('tables_elements', E'"{x,NULL}",,\n,"{1,NULL}",\n,,{null}\n', '{"on_error": "ignore"}');
DROP TABLE tables_elements;
DROP DOMAIN tables_there;
SELECT pg_temp.try('tables_domains', E'1\n', '{"columns": ["a"]}');
SELECT pg_temp.try('tables_domains', E'1\n', '{"missing_columns": "default"}');
SELECT pg_temp.try('tables_domains', E'1\n', '{"missing_columns": "null"}');

-- all types, arrays and rows too
CREATE TYPE tables_mood AS ENUM ('sad', 'happy');
CREATE TABLE tables_types (a int[], b text[], c tables_type, d tables_mood, e int4range, f jsonb, g bytea, h point, i interval, j inet, k bit(3), l "char", m money, n tsvector, o numeric(5,2), p char(3), q varchar(3), r timestamp(0), s regclass);
SELECT pg_temp.try('tables_types', $$"{1,NULL}","{""a,b"",c}","(1,""x y"")",happy,"[1,5)","{""k"": [1, null]}",\x00ff,"(1,2)",1 day 2:03,::1,101,x,$1.50,a b,1.005,a,abc,2024-01-01 12:00:00.6,pg_class
$$);
SELECT pg_temp.try('tables_types', $$,,,,,,,,,,,,,,,abcd,,,
$$);
SELECT pg_temp.try('tables_types', $$,,,,,,,,,,,,,,,abc  ,abc  ,,
$$);
SELECT pg_temp.try('tables_types', $$,,,,,,,,,,,,,,1000,,,,
$$);
SELECT pg_temp.try('tables_types', $$,,,angry,,,,,,,,,,,,,,,
$$);
SELECT pg_temp.try('tables_types', $$,,,,,,,,,,1010,,,,,,,,
$$);
-- values stored out of line
CREATE TABLE tables_wide (a int, b text, c text);
ALTER TABLE tables_wide ALTER b SET STORAGE EXTERNAL;
SELECT rows_loaded FROM bulk_load('tables_wide', pg_temp.put('in', (SELECT string_agg(i || ',' || repeat(i::text, 10000 * i) || ',' || repeat('c', 100000), E'\n') FROM generate_series(1, 9) i)));
SELECT a, length(b) = 10000 * a AND b = repeat(a::text, length(b)) AS b, length(c), pg_column_size(c) < 10000 AS c_compressed FROM tables_wide ORDER BY a;
VACUUM tables_wide;
SELECT rows_loaded FROM bulk_load('tables_wide', pg_temp.put('in', (SELECT string_agg(i || ',' || md5(i::text) || ',', E'\n') FROM generate_series(1, 20000) i)), '{"truncate": true}');
SELECT count(*), count(DISTINCT b), sum(a), count(c) FROM tables_wide;

DROP TABLE tables_plain, tables_unlogged, tables_temp, tables_on_commit, tables_defaults, tables_other, tables_self, tables_serial, tables_generated, tables_domains, tables_types, tables_wide;
DROP DOMAIN tables_counted;
DROP FUNCTION tables_argument, tables_count, tables_self_count;
DROP SEQUENCE tables_seq;
DROP TYPE tables_type, tables_mood, tables_positive, tables_needed, tables_inverse;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_tables_gone; rm -f pgbulk_tables_*';
