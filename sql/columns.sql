--
-- Fields and columns: lists, headers, missing and extra ones, nulls and defaults.
--
CREATE TABLE columns_t (a int, b text DEFAULT 'b by default', c date, d int DEFAULT 10 * 10);

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_columns_' || name;
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
	RETURN QUERY EXECUTE 'SELECT t::text FROM ' || target || ' t';
	RETURN NEXT format('%s read, %s loaded, %s rejected, %s filtered', r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_filtered);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT, hint = PG_EXCEPTION_HINT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	context := regexp_replace(context, '(^|\n)(SQL statement|PL/pgSQL function).*', '');
	RETURN QUERY SELECT t FROM unnest(ARRAY[hint, context]) t WHERE t <> '';
END $$;

-- a list: any order, any subset; columns that are not named get their default
SELECT pg_temp.try('columns_t', E'1,x,2024-01-01,4\n', '{"columns": ["a", "b", "c", "d"]}');
SELECT pg_temp.try('columns_t', E'2024-01-01,1\n', '{"columns": ["c", "a"]}');
SELECT pg_temp.try('columns_t', E'1\n\n', '{"columns": ["a"]}');
-- a null skips a field
SELECT pg_temp.try('columns_t', E'1,"any\nthing",x\n2,,y\n', '{"columns": ["a", null, "b"]}');
SELECT pg_temp.try('columns_t', E'x,y\n', '{"columns": [null, null]}');
SELECT pg_temp.try('columns_t', E'1,x\n', '{"columns": ["a", null, "b"]}');
SELECT pg_temp.try('columns_t', E'1,x,y,z\n', '{"columns": ["a", null, "b"]}');
SELECT pg_temp.try('columns_t', E'1\n', '{"columns": ["a", null, null]}');
-- misuse
SELECT pg_temp.try('columns_t', E'1\n', '{"columns": ["a", "z"]}');
SELECT pg_temp.try('columns_t', E'1\n', '{"columns": ["A"]}');
SELECT pg_temp.try('columns_t', E'1\n', '{"columns": [""]}');
SELECT pg_temp.try('columns_t', E'1\n', '{"columns": ["ctid"]}');
SELECT pg_temp.try('columns_t', E'1\n', '{"columns": ["a", "b", "a"]}');
CREATE TABLE columns_odd (gone int, "Mixed Case" int, "with ""quote""" text, twice int GENERATED ALWAYS AS ("Mixed Case" * 2) STORED);
ALTER TABLE columns_odd DROP gone;
SELECT pg_temp.try('columns_odd', E'1,x\n');
SELECT pg_temp.try('columns_odd', E'1,x\n', '{"columns": ["Mixed Case", "with \"quote\""]}');
SELECT pg_temp.try('columns_odd', E'1,x\n', '{"columns": ["gone"]}');
SELECT pg_temp.try('columns_odd', E'1,x\n', '{"columns": ["........pg.dropped.1........"]}');
SELECT pg_temp.try('columns_odd', E'1,x\n', '{"columns": ["Mixed Case", "twice"]}');

-- header: true and numbers skip lines, including quoted line ends
SELECT pg_temp.try('columns_t', E'any,thing\n1,x,,\n', '{"header": true}');
SELECT pg_temp.try('columns_t', E'"any\nthing",more,x,y,z\n1,x,,\n', '{"header": 1}');
SELECT pg_temp.try('columns_t', E'# title\n\na,b,c,d\n1,x,,\n', '{"header": 3}');
SELECT pg_temp.try('columns_t', E'1,x,,\n', '{"header": 0}');
SELECT pg_temp.try('columns_t', E'a,b,c,d', '{"header": true}');
SELECT pg_temp.try('columns_t', E'', '{"header": true}');
SELECT pg_temp.try('columns_t', E'a\n', '{"header": 5}');
SELECT pg_temp.try('columns_t', E'a\n', '{"header": 2147483647}');
SELECT pg_temp.try('columns_t', E'a\tb\n\\N\tx\t\\N\t\\N\n', '{"header": true, "format": "text"}');
SELECT pg_temp.try('columns_t', E'a,"b\n1,x,,\n', '{"header": true}');
-- lines are counted from the start of the file
SELECT pg_temp.try('columns_t', E'# title\n"a\n",b\nx,x,,\n', '{"header": 2}');
-- every file has its own
SELECT rows_loaded, rows_read FROM bulk_load('columns_t', ARRAY[pg_temp.put('1', E'a,b,c,d\n1,one,,\n'), pg_temp.put('2', E'a,b,c,d\n2,two,,\n'), pg_temp.put('3', '')],
	'{"header": true, "truncate": true}');
SELECT a, b FROM columns_t ORDER BY a;

-- header = match
SELECT pg_temp.try('columns_t', E'a,b,c,d\n1,x,,\n', '{"header": "match"}');
SELECT pg_temp.try('columns_t', E'"a",b,"c",d\r\n1,x,,\r\n', '{"header": "match"}');
SELECT pg_temp.try('columns_t', E'c,a\n,1\n', '{"header": "match", "columns": ["c", "a"]}');
SELECT pg_temp.try('columns_t', E'c,any,a\n,x,1\n', '{"header": "match", "columns": ["c", null, "a"]}');
SELECT pg_temp.try('columns_t', E'a\tb\tc\td\n1\tx\t\\N\t\\N\n', '{"header": "match", "format": "text"}');
SELECT pg_temp.try('columns_t', E'b,a,c,d\n1,x,,\n', '{"header": "match"}');
SELECT pg_temp.try('columns_t', E'a,B,c,d\n1,x,,\n', '{"header": "match"}');
SELECT pg_temp.try('columns_t', E'a,b,c\n1,x,,\n', '{"header": "match"}');
SELECT pg_temp.try('columns_t', E'a,b,c,d,e\n1,x,,\n', '{"header": "match"}');
SELECT pg_temp.try('columns_t', E'a,,c,d\n1,x,,\n', '{"header": "match"}');
SELECT pg_temp.try('columns_t', E'a, b,c,d\n1,x,,\n', '{"header": "match"}');
SELECT pg_temp.try('columns_t', E'', '{"header": "match"}');
SELECT pg_temp.try('columns_t', E'', '{"header": "match", "columns": ["b"], "null": []}');
SELECT pg_temp.try('columns_t', E'b,a,c,d\n1,x,,\n', '{"header": "match", "on_error": "ignore"}');

-- header = map: names in any order, some missing
SELECT pg_temp.try('columns_t', E'd,c,b,a\n4,2024-01-01,x,1\n', '{"header": "map"}');
SELECT pg_temp.try('columns_t', E'c,a\n2024-01-01,1\n,2\n', '{"header": "map"}');
SELECT pg_temp.try('columns_t', E'"b"\n"x"\n\n', '{"header": "map"}');
SELECT pg_temp.try('columns_t', E'b\ta\nx\t1\n', '{"header": "map", "format": "text"}');
SELECT pg_temp.try('columns_t', E'a,z,b\n1,?,x\n', '{"header": "map"}');
SELECT pg_temp.try('columns_t', E'a,z,b\n1,?,x\n', '{"header": "map", "extra_columns": "ignore"}');
SELECT pg_temp.try('columns_t', E'a,z,b\n1,?,x,more\n', '{"header": "map", "extra_columns": "ignore"}');
SELECT pg_temp.try('columns_t', E'y,z\n1,?\n', '{"header": "map", "extra_columns": "ignore"}');
SELECT pg_temp.try('columns_t', E'a,b,a\n1,x,2\n', '{"header": "map"}');
SELECT pg_temp.try('columns_t', E'a,,b\n1,x,2\n', '{"header": "map"}');
SELECT pg_temp.try('columns_t', E',a,"",b\n1,2,3,x\n', '{"header": "map", "extra_columns": "ignore"}');
SELECT pg_temp.try('columns_t', E'a,A\n1,x\n', '{"header": "map"}');
SELECT pg_temp.try('columns_t', E'', '{"header": "map"}');
SELECT pg_temp.try('columns_t', E'a,b\n', '{"header": "map"}');
SELECT pg_temp.try('columns_t', E'a,b\n1\n', '{"header": "map"}');
SELECT pg_temp.try('columns_t', E'a,b,c\n1\n2,x,2024-02-02\n', '{"header": "map", "missing_columns": "default"}');
SELECT pg_temp.try('columns_odd', E'"with ""quote""",Mixed Case\nx,1\n', '{"header": "map"}');
SELECT pg_temp.try('columns_odd', E'Mixed Case,twice\n1,2\n', '{"header": "map"}');
SELECT pg_temp.try('columns_odd', E'Mixed Case,twice\n1,2\n', '{"header": "map", "extra_columns": "ignore"}');
SELECT pg_temp.try('columns_odd', E'Mixed Case,gone\n1,2\n', '{"header": "map", "extra_columns": "ignore"}');
-- each file by its own header
SELECT rows_loaded, rows_read FROM bulk_load('columns_t', ARRAY[pg_temp.put('1', E'a,b\n1,one\n'), pg_temp.put('2', E'b,d,a\ntwo,22,2\n'), pg_temp.put('3', E'c\n2024-03-03\n')],
	'{"header": "map", "truncate": true}');
SELECT * FROM columns_t ORDER BY a;

-- an unknown name, and the column that may be meant
CREATE TABLE columns_near (customer_id int, amount numeric, ordered date, "Überweisung" text, gone int);
ALTER TABLE columns_near DROP COLUMN gone;
SELECT pg_temp.try('columns_near', E'1,x\n', '{"columns": ["custmer_id", "amount"]}');
SELECT pg_temp.try('columns_near', E'1,x\n', '{"columns": ["Amount"]}');
SELECT pg_temp.try('columns_near', E'1,x\n', '{"columns": ["customer"]}');
SELECT pg_temp.try('columns_near', E'1,x\n', '{"columns": ["Überweissung"]}');
SELECT pg_temp.try('columns_near', E'1,x\n', '{"columns": ["gone"]}');
SELECT pg_temp.try('columns_near', E'1,x\n', '{"columns": ["price"]}');
SELECT pg_temp.try('columns_near', E'1\n', '{"columns": ["amount"], "force_null": ["ammount"]}');
SELECT pg_temp.try('columns_near', E'1\n', '{"columns": ["amount"], "force_not_null": ["amounts"]}');
SELECT pg_temp.try('columns_near', E'1\n', '{"columns": ["amount"], "trim": ["amoun"]}');
SELECT pg_temp.try('columns_near', E'1\n', '{"columns": ["amount"], "date_format": {"order": "DD.MM.YYYY"}}');
SELECT pg_temp.try('columns_near', E'1', '{"format": "fixed", "fields": [{"name": "amuont", "length": 1}]}');
SELECT pg_temp.try('columns_near', E'customer_id,ammount\n1,2\n', '{"header": "map"}');
SELECT pg_temp.try('columns_near', E'customer_id,price\n1,2\n', '{"header": "map"}');
SELECT rows_loaded FROM bulk_load_query('columns_near', 'SELECT 1', '{"columns": ["amont"]}');
SELECT rows_loaded FROM bulk_load('columns_near', pg_temp.put('near', E'customer_id,ammount\n1,2\n'), '{"header": "map"}');
DROP TABLE columns_near;

-- extra_columns
SELECT pg_temp.try('columns_t', E'1,x,,,5\n2,y,,\n3,z,,,"5\n6",7\n', '{"extra_columns": "ignore"}');
SELECT pg_temp.try('columns_t', E'1,x,,\n2,y,,,5\n', '{"extra_columns": "error"}');
SELECT pg_temp.try('columns_t', E'1\tx\t\\N\t\\N\t5\n', '{"format": "text", "extra_columns": "ignore"}');
SELECT pg_temp.try('columns_t', E'1,\n', '{"columns": ["a"], "extra_columns": "ignore"}');

-- missing_columns
SELECT pg_temp.try('columns_t', E'1,x\n2\n3,z,,4\n\n', '{"missing_columns": "null"}');
SELECT pg_temp.try('columns_t', E'1,x\n2\n3,z,,4\n\n', '{"missing_columns": "default"}');
SELECT pg_temp.try('columns_t', E'1,x,,\n2,y\n', '{"missing_columns": "error"}');
SELECT pg_temp.try('columns_t', E'1,x\n2,y,,,5\n', '{"missing_columns": "null"}');
SELECT pg_temp.try('columns_t', E'1,x\n2,y,,,5\n', '{"missing_columns": "null", "extra_columns": "ignore"}');
SELECT pg_temp.try('columns_t', E'1\tx\n', '{"format": "text", "missing_columns": "default"}');
SELECT pg_temp.try('columns_t', E'x\n', '{"columns": ["b", "d", null], "missing_columns": "default"}');
-- null is not allowed
ALTER TABLE columns_t ALTER d SET NOT NULL;
SELECT pg_temp.try('columns_t', E'1,x\n', '{"missing_columns": "null"}');
SELECT pg_temp.try('columns_t', E'1,x\n', '{"missing_columns": "default"}');
ALTER TABLE columns_t ALTER d DROP NOT NULL;

-- skip and limit count rows, not lines, and over all files
SELECT pg_temp.try('columns_t', E'1,"x\ny",,\n2,"x\ny",,\n3,"x\ny",,\n4,"x\ny",,\n', '{"skip": 1, "limit": 2}');
SELECT pg_temp.try('columns_t', E'a,b,c,d\n1,x,,\n2,y,,\n', '{"header": true, "skip": 1}');
SELECT pg_temp.try('columns_t', E'1,x,,\n2,y,,\n', '{"limit": 0}');
SELECT pg_temp.try('columns_t', E'1,x,,\n2,y,,\n', '{"skip": 2}');
SELECT pg_temp.try('columns_t', E'1,x,,\n2,y,,\n', '{"skip": 9223372036854775807}');
SELECT pg_temp.try('columns_t', E'1,x,,\n2,y,,\n', '{"limit": 9223372036854775807}');
-- what is skipped or not reached may be bad
SELECT pg_temp.try('columns_t', E'bad\n1,x,,\n2,y,,\nbad\n"\n', '{"skip": 1, "limit": 2}');
-- but a row damaged by a quote cannot be skipped as a whole
SELECT pg_temp.try('columns_t', E'x"y\n1,x,,\n2,y,,\n', '{"skip": 1}');
SELECT pg_temp.try('columns_t', E'x"y\n1,x,,\n2,y,,\n', '{"skip": 1, "on_error": "ignore"}');
SELECT pg_temp.try('columns_t', E'x"y\n1,x,,\n2,y,,\n', '{"skip": 2, "on_error": "ignore"}');
-- bad rows and those that where excludes count
SELECT pg_temp.try('columns_t', E'1,x,,\nbad\n3,y,,\n4,z,,\n', '{"limit": 3, "on_error": "ignore", "where": "a > 1", "log_verbosity": "silent"}');
SELECT rows_loaded, rows_read FROM bulk_load('columns_t', ARRAY[pg_temp.put('1', E'a,b,c,d\n1,one,,\n2,two,,\n'), pg_temp.put('2', E'a,b,c,d\n3,three,,\n4,four,,\n'),
	pg_temp.put('3', E'a,b,c,d\nbad\n')], '{"header": true, "skip": 1, "limit": 2, "truncate": true}');
SELECT a, b FROM columns_t ORDER BY a;
-- a limit that is reached leaves the rest unread
SELECT rows_loaded, bytes_read FROM bulk_load('columns_t', pg_temp.put('in', repeat(E'1,x,,\n', 500000)), '{"limit": 3}');

-- nulls
SELECT pg_temp.try('columns_t', E',NA,,\nNA,,-,0\n"1","NA",NA,-\n', '{"null": ["NA", "-", ""]}');
SELECT pg_temp.try('columns_t', E'1,,NULL,\n', '{"null": "NULL", "columns": ["a", "b", "c", null]}');
SELECT pg_temp.try('columns_t', E',x,,\n', '{"null": []}');
SELECT pg_temp.try('columns_t', E'1,"NULL",NULL,"1"\n2,null,,\n', '{"null": ["NULL", ""]}');
SELECT pg_temp.try('columns_t', E'1,\u2205,\u2205,\n', '{"null": ["\u2205", ""]}');
-- force_null, force_not_null
SELECT pg_temp.try('columns_t', E'"",,"",""\n1,"",,\n', '{"force_null": ["a", "b", "c", "d"]}');
SELECT pg_temp.try('columns_t', E'"","","",""\n', '{"force_null": "*"}');
SELECT pg_temp.try('columns_t', E'1,"NA","NA",""\n', '{"force_null": "*", "null": ["NA", ""]}');
SELECT pg_temp.try('columns_t', E'1,,,\n2,"",,\n', '{"force_not_null": ["b"]}');
SELECT pg_temp.try('columns_t', E'1,,,\n', '{"force_not_null": "*"}');
SELECT pg_temp.try('columns_t', E'1,NA\n2,\n3,"NA"\n4,""\n', '{"columns": ["a", "b"], "force_not_null": ["b"], "force_null": ["b"], "null": ["NA", ""]}');
SELECT pg_temp.try('columns_t', E'1,,,\n', '{"force_null": ["z"]}');
SELECT pg_temp.try('columns_t', E'1,,,\n', '{"force_not_null": ["z"]}');
SELECT pg_temp.try('columns_t', E'1\n', '{"columns": ["a"], "force_null": ["b"]}');
SELECT pg_temp.try('columns_t', E'1\n', '{"columns": ["a"], "force_not_null": ["b"]}');
SELECT pg_temp.try('columns_t', E'b,a\n"",1\n', '{"header": "map", "force_null": ["b"]}');

-- the default marker
SELECT pg_temp.try('columns_t', E'1,DEFAULT,,DEFAULT\n2,"DEFAULT",,4\n', '{"default": "DEFAULT"}');
SELECT pg_temp.try('columns_t', E'1\t\\D\t\\N\t\\D\n2\t\\\\D\t\\N\t4\n', '{"format": "text", "default": "\\D"}');
SELECT pg_temp.try('columns_t', E'1,x,,4\n2,,,\n', '{"default": "", "null": "NULL"}');
SELECT pg_temp.try('columns_t', E'1,x,4\n2,,\n3,"",NULL\n', '{"default": "", "null": "NULL", "columns": ["a", "b", "d"]}');
SELECT pg_temp.try('columns_t', E'1\n2,DEFAULT\n3,y,,DEFAULT\n', '{"default": "DEFAULT", "missing_columns": "null"}');
SELECT pg_temp.try('columns_t', E'1,x,,\nDEFAULT,y,,\n', '{"default": "DEFAULT"}');
SELECT pg_temp.try('columns_t', E'1,x,,\nDEFAULT,y,,\n', '{"default": "DEFAULT", "on_error": "ignore"}');
SELECT pg_temp.try('columns_t', E'1,DEFAULT,,\n', '{"default": "DEFAULT", "force_not_null": "*", "columns": ["a", "b", null, null]}');

-- a header of many names that differ in case
DO $$ BEGIN EXECUTE format('CREATE TABLE columns_many (%s)', (SELECT string_agg('c' || i || ' int', ',') FROM generate_series(1, 1000) i)); END $$;
SELECT rows_loaded FROM bulk_load('columns_many', pg_temp.put('in', (SELECT string_agg('C' || i, ',') || E'\n' || string_agg(i::text, ',') || E'\n' FROM generate_series(1, 1000) i)), '{"header": "map"}');
SELECT c1, c1000 FROM columns_many;

DROP TABLE columns_t, columns_odd, columns_many;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_columns_gone; rm -f pgbulk_columns_*';
