--
-- Option where: an expression that chooses rows, and nothing else.
--
CREATE TABLE where_t (a int, b text, c date DEFAULT '2024-01-01', d int GENERATED ALWAYS AS (a * 2) STORED);

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_where_' || name;
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
	RETURN NEXT format('%s read, %s loaded, %s rejected, %s filtered', r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_filtered);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	context := regexp_replace(substring(context, 'bulk_load of .*'), '\n(SQL statement|PL/pgSQL function).*', '');
	RETURN QUERY SELECT t FROM unnest(ARRAY[context]) t WHERE t <> '';
END $$;

-- expressions of every kind
SELECT pg_temp.try('where_t', E'1,x\n2,y\n3,z\n,w\n', '{"columns": ["a", "b"], "where": "a > 1"}');
SELECT pg_temp.try('where_t', E'1,x\n2,y\n3,z\n,w\n', '{"columns": ["a", "b"], "where": "a IS NULL OR b IN (''x'', ''z'')"}');
SELECT pg_temp.try('where_t', E'1,x\n2,y\n', '{"columns": ["a", "b"], "where": "true"}');
SELECT pg_temp.try('where_t', E'1,x\n2,y\n', '{"columns": ["a", "b"], "where": "false"}');
SELECT pg_temp.try('where_t', E'1,x\n2,y\n', '{"columns": ["a", "b"], "where": "NULL"}');
SELECT pg_temp.try('where_t', E'1,x\n2,Y\n', '{"columns": ["a", "b"], "where": "lower(b) ~ ''^y'' AND length(b) BETWEEN 1 AND 2"}');
SELECT pg_temp.try('where_t', E'1,x\n2,y\n', '{"columns": ["a", "b"], "where": "CASE WHEN a = 1 THEN b = ''x'' ELSE false END"}');
SELECT pg_temp.try('where_t', E'1,x\n2,y\n', '{"columns": ["a", "b"], "where": "where_t.a = ANY (ARRAY[2, 3]) -- and a remark"}');
SELECT pg_temp.try('where_t', E'1,x\n2,y\n', '{"columns": ["a", "b"], "where": "b COLLATE \"C\" > ''x''"}');
SELECT pg_temp.try('where_t', E'1,x\n2,y\n', '{"columns": ["a", "b"], "where": "b::text || a::text = ''x1''"}');
SELECT pg_temp.try('where_t', E'1,x\n2,y\n', '{"columns": ["a", "b"], "where": "where_t.tableoid = ''where_t''::regclass"}');
-- columns that the file does not have have their default
SELECT pg_temp.try('where_t', E'1,x\n', '{"columns": ["a", "b"], "where": "c = ''2024-01-01''"}');
SELECT pg_temp.try('where_t', E'1\n', '{"columns": ["a"], "where": "b IS NULL"}');
-- volatile ones
CREATE SEQUENCE where_seq;
SELECT pg_temp.try('where_t', E'1,x\n2,y\n3,z\n4,w\n', '{"columns": ["a", "b"], "where": "nextval(''where_seq'') % 2 = 0"}');
SELECT pg_temp.try('where_t', E'1,x\n2,y\n', '{"columns": ["a", "b"], "where": "random() BETWEEN 0 AND 1"}');
-- one that looks at the table sees the rows loaded before, as in COPY
CREATE FUNCTION where_count() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT count(*) FROM where_t';
SELECT pg_temp.try('where_t', E'1,x\n2,y\n3,z\n4,w\n', '{"columns": ["a", "b"], "where": "where_count() < 2"}');
-- the search path is the caller's
CREATE SCHEMA where_schema;
CREATE FUNCTION where_schema.is_one(int) RETURNS bool LANGUAGE sql AS 'SELECT $1 = 1';
SELECT pg_temp.try('where_t', E'1,x\n2,y\n', '{"columns": ["a", "b"], "where": "is_one(a)"}');
SET search_path = public, where_schema;
SELECT pg_temp.try('where_t', E'1,x\n2,y\n', '{"columns": ["a", "b"], "where": "is_one(a)"}');
RESET search_path;

-- rows are converted before the test; excluded rows violate no constraint
SELECT pg_temp.try('where_t', E'1,x\nz,y\n', '{"columns": ["a", "b"], "where": "a = 1"}');
ALTER TABLE where_t ADD CHECK (a < 10), ALTER b SET NOT NULL;
SELECT pg_temp.try('where_t', E'1,x\n11,y\n2,\n', '{"columns": ["a", "b"], "where": "a < 10 AND b IS NOT NULL"}');
-- an expression that throws is an error of its row
SELECT pg_temp.try('where_t', E'1,x\n0,y\n2,z\n', '{"columns": ["a", "b"], "where": "1 / a >= 0"}');
SELECT pg_temp.try('where_t', E'1,x\n0,y\n2,z\n', '{"columns": ["a", "b"], "where": "1 / a >= 0", "on_error": "ignore"}');
SELECT pg_temp.try('where_t', E'1,x\n2,q\n3,7\n', '{"columns": ["a", "b"], "where": "b::int > 5", "on_error": "ignore", "reject_table": "where_rejects"}');
SELECT line_number, reason, column_name, field_value, sqlstate, message, raw_line FROM where_rejects ORDER BY line_number;

-- what is not allowed
SELECT pg_temp.try('where_t', '', '{"where": "a"}');
SELECT pg_temp.try('where_t', '', '{"where": "z > 1"}');
SELECT pg_temp.try('where_t', '', '{"where": "other.a > 1"}');
SELECT pg_temp.try('where_t', '', '{"where": "d > 1"}');
SELECT pg_temp.try('where_t', '', '{"where": "where_t IS NOT NULL"}');
SELECT pg_temp.try('where_t', '', '{"where": "ctid IS NOT NULL"}');
SELECT pg_temp.try('where_t', '', '{"where": "a IN (SELECT 1)"}');
SELECT pg_temp.try('where_t', '', '{"where": "EXISTS (SELECT FROM pg_authid)"}');
SELECT pg_temp.try('where_t', '', '{"where": "count(*) > 1"}');
SELECT pg_temp.try('where_t', '', '{"where": "row_number() OVER () > 1"}');
SELECT pg_temp.try('where_t', '', '{"where": "generate_series(1, a) > 1"}');
SELECT pg_temp.try('where_t', '', '{"where": "$1 > 1"}');
SELECT pg_temp.try('where_t', '', '{"where": "no_such_function(a)"}');
SELECT pg_temp.try('where_t', '', '{"where": "a > ''x''"}');
-- no expression at all, or more than one
SELECT pg_temp.try('where_t', '', '{"where": ""}');
SELECT pg_temp.try('where_t', '', '{"where": "  -- nothing"}');
SELECT pg_temp.try('where_t', '', '{"where": "a >"}');
SELECT pg_temp.try('where_t', '', '{"where": "(a > 1"}');
SELECT pg_temp.try('where_t', '', '{"where": "a > 1)"}');
SELECT pg_temp.try('where_t', '', '{"where": "WHERE a > 1"}');
SELECT pg_temp.try('where_t', '', '{"where": "true, true"}');
SELECT pg_temp.try('where_t', '', '{"where": "*"}');
SELECT pg_temp.try('where_t', '', '{"where": "true AS b"}');
SELECT pg_temp.try('where_t', '', '{"where": "true; DROP TABLE where_t"}');
SELECT pg_temp.try('where_t', '', '{"where": "true;"}');
SELECT pg_temp.try('where_t', '', '{"where": "true) OR (SELECT true"}');
SELECT pg_temp.try('where_t', '', '{"where": "true FROM pg_authid"}');
SELECT pg_temp.try('where_t', '', '{"where": "true WHERE false"}');
SELECT pg_temp.try('where_t', '', '{"where": "true UNION SELECT true"}');
SELECT pg_temp.try('where_t', '', '{"where": "true ORDER BY 1"}');
SELECT pg_temp.try('where_t', '', '{"where": "true LIMIT 1"}');
SELECT pg_temp.try('where_t', '', '{"where": "true GROUP BY 1"}');
SELECT pg_temp.try('where_t', '', '{"where": "true HAVING true"}');
SELECT pg_temp.try('where_t', '', '{"where": "DISTINCT true"}');
SELECT pg_temp.try('where_t', '', '{"where": "DISTINCT ON (a) true"}');
SELECT pg_temp.try('where_t', '', '{"where": "true INTO created"}');
SELECT pg_temp.try('where_t', '', '{"where": "true FOR UPDATE"}');
SELECT pg_temp.try('where_t', '', '{"where": "true WINDOW w AS ()"}');
SELECT count(*) FROM where_t;
SELECT to_regclass('created');
-- where it went wrong
SELECT rows_loaded FROM bulk_load('where_t', '/proc/self/cwd/pgbulk_where_in', '{"where": "a > 1 AND z > 1"}');
SELECT rows_loaded FROM bulk_load('where_t', '/proc/self/cwd/pgbulk_where_in', '{"where": "a > 1 AND OR"}');

-- the load runs as its caller
SELECT pg_temp.put('in', E'1,x,\n') <> '' AS made;
CREATE ROLE regress_pgbulk_where;
GRANT pg_read_server_files TO regress_pgbulk_where;
GRANT INSERT ON where_t TO regress_pgbulk_where;
SET ROLE regress_pgbulk_where;
\set VERBOSITY terse
SELECT rows_loaded FROM bulk_load('where_t', '/proc/self/cwd/pgbulk_where_in', '{"where": "where_count() < 2"}');
SELECT rows_loaded FROM bulk_load('where_t', '/proc/self/cwd/pgbulk_where_in', '{"where": "pg_read_file(''PG_VERSION'') <> ''''"}');
SELECT rows_loaded FROM bulk_load('where_t', '/proc/self/cwd/pgbulk_where_in', '{"where": "where_schema.is_one(a)"}');
-- as in COPY, it needs the privilege to read its columns
SELECT rows_loaded FROM bulk_load('where_t', '/proc/self/cwd/pgbulk_where_in', '{"where": "a > 1"}');
SELECT rows_loaded FROM bulk_load('where_t', '/proc/self/cwd/pgbulk_where_in', '{"where": "true"}');
RESET ROLE;
GRANT SELECT (a) ON where_t TO regress_pgbulk_where;
SET ROLE regress_pgbulk_where;
SELECT rows_loaded FROM bulk_load('where_t', '/proc/self/cwd/pgbulk_where_in', '{"where": "a > 1"}');
SELECT rows_loaded FROM bulk_load('where_t', '/proc/self/cwd/pgbulk_where_in', '{"where": "b > ''1''"}');
\set VERBOSITY default
RESET ROLE;
DROP OWNED BY regress_pgbulk_where;
DROP ROLE regress_pgbulk_where;

DROP TABLE where_t, where_rejects;
DROP SEQUENCE where_seq;
DROP FUNCTION where_count;
DROP SCHEMA where_schema CASCADE;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_where_gone; rm -f pgbulk_where_*';
