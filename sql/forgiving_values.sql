--
-- Values as people write them.
--
\pset null '(null)'
CREATE TABLE forgiving (n int, t text, d numeric);

-- Writes a file and gives its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_forgiving_values_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- What becomes of a file: the rows of the table, or the error.
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
-- what stands inside quotes stays
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
-- the value that is bad is the trimmed one, the line is as it came
SELECT rows_rejected FROM bulk_load('forgiving', pg_temp.put('in', E'1, a ,  x \n'), '{"trim": true, "on_error": "ignore", "reject_table": "pg_temp.forgiving_rejects", "log_verbosity": "silent"}');
SELECT column_name, field_value, message, raw_line FROM pg_temp.forgiving_rejects;
SELECT pg_temp.try('forgiving', E'1, a ,  x \n', '{"trim": true}');
-- misuse
SELECT pg_temp.try('forgiving', '', '{"trim": "t"}');
SELECT pg_temp.try('forgiving', '', '{"trim": 1}');
SELECT pg_temp.try('forgiving', '', '{"trim": ["nowhere"]}');
SELECT pg_temp.try('forgiving', '', '{"trim": ["t"], "columns": ["n"]}');
SELECT pg_temp.try('forgiving', '', '{"trim": true, "format": "binary"}');

DROP TABLE forgiving;
