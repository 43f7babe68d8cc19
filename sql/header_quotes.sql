--
-- A quote in a header line that is not closed there: no line below it is lost silently.
--
CREATE TABLE header_quotes (a int, b text);

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_header_quotes_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result of loading a file: the rows of the table, the rejects and the counts.
CREATE FUNCTION pg_temp.try(content text, options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	TRUNCATE header_quotes;
	SELECT * INTO r FROM bulk_load('header_quotes', pg_temp.put('in', content), '{"header": true, "on_error": "ignore", "reject_table": "header_quotes_rejects"}' || options);
	RETURN QUERY SELECT h::text FROM header_quotes h ORDER BY h.ctid;
	IF to_regclass('header_quotes_rejects') IS NOT NULL THEN
		RETURN QUERY EXECUTE 'SELECT format(''line %s: %s: %s'', line_number, to_json(raw_line), message) FROM header_quotes_rejects ORDER BY line_number';
		TRUNCATE header_quotes_rejects;
	END IF;
	RETURN NEXT format('%s read, %s loaded, %s rejected', r.rows_read, r.rows_loaded, r.rows_rejected);
END $$;
\pset format unaligned
\pset tuples_only

-- never closed
SELECT pg_temp.try(E'"a,b\n1,x\n2,y\n');
SELECT pg_temp.try(E'a,"b\r\n1,x\r\n2,y\r\n');
SELECT pg_temp.try(E'"a,b\r1,x\r2,y\r');
SELECT pg_temp.try(E'"a,b\r\n1,x\n2,y\r3,z', '{"newline": "any"}');
SELECT pg_temp.try(E'a,"b');

-- closed by the quotes of rows; those are read as without a header
SELECT pg_temp.try(E'a,"b\n1,"x"\n2,"y"\n3,z\n');
SELECT pg_temp.try(E'a",b\n1,x"\n2,y\n');
SELECT pg_temp.try(E'"a,b\n1,x\n2,y"\n3,z\n');

-- several header lines, each separately
SELECT pg_temp.try(E'a "title\n"a,b\n1,x\n2,y\n', '{"header": 2}');

-- a name over two lines is not a misplaced quote
SELECT pg_temp.try(E'a,"b\nof c"\n1,x\n');
SELECT pg_temp.try(E'a,"b\n(of c)",d\n1,x,"y"\n2,z,\n', '{"extra_columns": "ignore"}');
SELECT pg_temp.try(E'a,"b\r\n(of c)",\r\n1,x\r\n2,"y"\r\n');
SELECT pg_temp.try(E'"a\nof b"\n1\n2\n', '{"missing_columns": "null"}');

-- with windows of any size, and with workers
DO $$
DECLARE
	r record;
	path text := pg_temp.put('long', E'a,"b\n' || (SELECT string_agg(format(E'%s,row %s', i, i), E'\n') FROM generate_series(1, 500) i));
BEGIN
	FOR size IN 16 .. 40 LOOP
		PERFORM set_config('pgbulk.chunk_size', size::text, true), set_config('client_min_messages', 'warning', true);
		TRUNCATE header_quotes;
		SELECT * INTO r FROM bulk_load('header_quotes', path, '{"header": true, "on_error": "ignore", "workers": 2}');
		ASSERT r.rows_loaded = 500 AND r.rows_rejected = 0, format('%s: %s', size, r);
	END LOOP;
END $$;

-- names cannot be determined then
\set VERBOSITY terse
SELECT pg_temp.try(E'"a,b\n1,x\n2,y\n', '{"header": "map"}');
SELECT pg_temp.try(E'a,b",c\n1,x",2\n', '{"header": "map", "extra_columns": "ignore"}');
\set VERBOSITY default
SELECT * FROM bulk_load('header_quotes', pg_temp.put('in', E'"a,b\n1,x\n2,y\n'), '{"header": "match", "on_error": "ignore"}');

-- by default as COPY, but with a NOTICE
\set VERBOSITY terse
SELECT pg_temp.try(E'"a,b\n1,x\n2,y\n', '{"on_error": "stop", "reject_table": null}');
\set VERBOSITY default
SELECT pg_temp.try(E'a",b\n1,x"\n2,y\n', '{"on_error": "stop", "reject_table": null}');

DROP TABLE header_quotes, header_quotes_rejects;
