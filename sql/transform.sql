--
-- Rows made by a function.
--
SET client_min_messages = warning;
CREATE TABLE transform_t (id int NOT NULL, t text, d date DEFAULT '2000-01-01', twice int GENERATED ALWAYS AS (id * 2) STORED);

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_transform_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result of loading a file: the rows of the table, or the error.
CREATE FUNCTION pg_temp.try(content text, options jsonb)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	context text;
	detail text;
BEGIN
	TRUNCATE transform_t;
	SELECT * INTO r FROM bulk_load('transform_t', pg_temp.put('in', content), '{"log_verbosity": "silent"}' || options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	RETURN QUERY SELECT x::text FROM transform_t x ORDER BY ctid;
	RETURN NEXT format('%s read, %s loaded, %s rejected, %s filtered, %s', r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_filtered, r.writer);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT, detail = PG_EXCEPTION_DETAIL;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	RETURN QUERY SELECT '  ' || t FROM unnest(ARRAY[detail, substring(context, 'bulk_load of [^\n]*')]) t WHERE t <> '';
END $$;

-- one of each kind
CREATE FUNCTION transform_sql(a text, b text, c text DEFAULT '2024-05-06') RETURNS transform_t LANGUAGE sql STABLE AS
	$$ SELECT a::int, upper(b), c::date, 99 $$;
CREATE FUNCTION transform_plpgsql(a text, b text) RETURNS transform_t LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
	row transform_t;
BEGIN
	IF a = 'skip' THEN
		RETURN NULL;
	ELSIF a = 'bad' THEN
		RAISE EXCEPTION 'no % here', b USING ERRCODE = 'U0001';
	END IF;
	row.id := a;
	row.t := coalesce('<' || b || '>', 'none');
	RETURN row;
END $$;
CREATE FUNCTION transform_strict(a text, b text) RETURNS transform_t LANGUAGE sql STRICT IMMUTABLE AS $$ SELECT a::int, b, NULL::date, NULL::int $$;
CREATE FUNCTION transform_volatile(a text) RETURNS transform_t LANGUAGE sql AS $$ SELECT a::int, count(*)::text, NULL::date, NULL::int FROM transform_t $$;

SELECT pg_temp.try(E'1,one,2024-01-02\n2,"two ""x""",\n3,three\n', '{"transform": "transform_sql"}');
SELECT pg_temp.try(E'1\tone\\n\t2024-01-02\n2\t\\N\n', '{"transform": "transform_sql(text,text,text)", "format": "text"}');
SELECT pg_temp.try(E'1,one\nskip,\n2,\n3,""\n', '{"transform": "transform_plpgsql"}');
SELECT pg_temp.try(E'1,one\nbad,luck\n2,two\n', '{"transform": "transform_plpgsql"}');
SELECT pg_temp.try(E'1,one\nbad,luck\nx,y\n1\n1,2,3\n,z\n2,two\n', '{"transform": "transform_plpgsql", "on_error": "ignore", "reject_table": "pg_temp.transform_rejects"}');
SELECT line_number, reason, column_name, sqlstate, message, raw_line FROM pg_temp.transform_rejects ORDER BY 1;
SELECT pg_temp.try(E'1,one\n2,\n', '{"transform": "transform_strict"}');
SELECT pg_temp.try(E'1\n2\nx\n3\n', '{"transform": "transform_volatile", "on_error": "ignore"}');
-- fields that are too few or too many
SELECT pg_temp.try(E'1\n', '{"transform": "transform_sql"}');
SELECT pg_temp.try(E'1\n', '{"transform": "transform_sql", "missing_columns": "null"}');
SELECT pg_temp.try(E'1,2,2024-01-01,4\n', '{"transform": "transform_sql"}');
SELECT pg_temp.try(E'1,2,2024-01-01,4\n', '{"transform": "transform_sql", "extra_columns": "ignore"}');
-- with other options
SELECT pg_temp.try(E'#\nid,t\n1 || one \n 2 || - \n3||x\n4||x\n', '{"transform": "transform_plpgsql", "delimiter": "||", "trim": true, "null": "-", "header": true, "comment": "#", "where": "id > 1", "limit": 3}');
SELECT pg_temp.try(E'1,caf\u00e9\n', '{"transform": "transform_plpgsql", "encoding": "UTF8"}');
SELECT pg_temp.try(E'1,"a\nb"\n2,"c\n3,d\n4,e"f\n', '{"transform": "transform_plpgsql", "on_error": "ignore"}');
-- a delimiter that is found: by the arguments, of which the table has more columns or fewer
SELECT pg_temp.try(E'1;one\n2;two\n', '{"transform": "transform_plpgsql", "delimiter": "auto"}');
SELECT pg_temp.try(E'1;Doe, John, Dr\n2;Roe, Jane, Dr\n', '{"transform": "transform_plpgsql", "delimiter": "auto", "extra_columns": "ignore"}');
SELECT pg_temp.try(E'1;a;b;c\n2;d;e;f\n', '{"transform": "transform_plpgsql", "delimiter": "auto"}');
SELECT pg_temp.try(E'1,a;b\n2,c;d\n', '{"transform": "transform_plpgsql", "delimiter": "auto"}');
-- arguments with defaults may lack fields; a delimiter that gives all of them comes first
SELECT pg_temp.try(E'1;one\n2;two\n', '{"transform": "transform_sql", "delimiter": "auto"}');
SELECT pg_temp.try(E'1;one;2024-01-02\n2;two\n3;three\n', '{"transform": "transform_sql", "delimiter": "auto"}');
SELECT pg_temp.try(E'1;a,b;2024-01-02\n2;c,d;2024-01-02\n', '{"transform": "transform_sql", "delimiter": "auto"}');
SELECT pg_temp.try(E'1\n2\n', '{"transform": "transform_sql", "delimiter": "auto"}');
-- indexes, keys and checks see the rows that are made
ALTER TABLE transform_t ADD PRIMARY KEY (id), ADD CHECK (t <> '<no>');
SELECT pg_temp.try(E'1,one\n1,two\n', '{"transform": "transform_plpgsql"}');
SELECT pg_temp.try(E'1,one\n2,no\n3,three\n', '{"transform": "transform_plpgsql", "on_error": "ignore"}');
SELECT pg_temp.try(E'1,one\n2,\n1,three\n', '{"transform": "transform_plpgsql", "on_duplicate": "keep_new"}');
ALTER TABLE transform_t DROP CONSTRAINT transform_t_pkey;
-- a table that has lost and gained columns
ALTER TABLE transform_t DROP twice;
ALTER TABLE transform_t ADD e int[], ADD u uuid;
CREATE FUNCTION transform_array(a text) RETURNS transform_t LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	row transform_t;
BEGIN
	row.id := a;
	row.t := repeat(a, 10000);
	row.e := array_fill(row.id, ARRAY[row.id]);
	row.e[2] := 7;
	RETURN row;
END $$;
TRUNCATE transform_t;
SELECT rows_loaded, writer FROM bulk_load('transform_t', pg_temp.put('in', E'2\n4\n'), '{"transform": "transform_array"}');
SELECT id, length(t), d, e, u FROM transform_t ORDER BY id;
-- partitioned
CREATE TABLE transform_parts (id int, t text) PARTITION BY LIST (id);
CREATE TABLE transform_part (t text, id int);
ALTER TABLE transform_parts ATTACH PARTITION transform_part FOR VALUES IN (2, 3);
CREATE FUNCTION transform_parts(a text) RETURNS transform_parts LANGUAGE sql IMMUTABLE AS $$ SELECT a::int, a $$;
SELECT rows_loaded, rows_rejected FROM bulk_load('transform_parts', pg_temp.put('in', E'2\n4\n'), '{"transform": "transform_parts", "on_error": "ignore", "log_verbosity": "silent"}');
SELECT * FROM transform_part;
DROP TABLE transform_parts CASCADE;
-- workers help where the function lets them
CREATE TABLE transform_many (a int, b text);
CREATE FUNCTION transform_many(a text, b text) RETURNS transform_many LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT a::int * 2, b || a $$;
COPY (SELECT i, repeat('x', i % 40) FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_transform_many' WITH (FORMAT csv);
SET pgbulk.chunk_size = 4096;
SELECT rows_loaded, writer, workers > 0 OR details ->> 'no_workers' LIKE '%since PostgreSQL 17.' AS helped FROM bulk_load('transform_many', '/proc/self/cwd/pgbulk_transform_many', '{"workers": 2, "transform": "transform_many"}');
SELECT count(*), sum(a), bool_and(b = repeat('x', a / 2 % 40) || a / 2) FROM transform_many;
-- without being called before there are rows
CREATE FUNCTION transform_called(a text, b text) RETURNS transform_many LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF a IS NULL THEN
		RAISE EXCEPTION 'there is no a';
	END IF;
	RETURN ROW(a::int, b);
END $$;
TRUNCATE transform_many;
SELECT rows_loaded, writer, workers > 0 OR details ->> 'no_workers' LIKE '%since PostgreSQL 17.' AS helped FROM bulk_load('transform_many', '/proc/self/cwd/pgbulk_transform_many', '{"workers": 2, "transform": "transform_called"}');
DROP FUNCTION transform_called;
ALTER FUNCTION transform_many PARALLEL RESTRICTED;
TRUNCATE transform_many;
SELECT rows_loaded, writer, workers > 0 AS helped, details ->> 'no_workers' AS why FROM bulk_load('transform_many', '/proc/self/cwd/pgbulk_transform_many', '{"workers": 2, "transform": "transform_many"}');
ALTER FUNCTION transform_many VOLATILE;
SELECT rows_loaded, writer, details ->> 'not_direct' AS why FROM bulk_load('transform_many', '/proc/self/cwd/pgbulk_transform_many', '{"workers": 2, "limit": 10, "transform": "transform_many"}');
RESET pgbulk.chunk_size;
DROP TABLE transform_many CASCADE;
-- misuse
SELECT pg_temp.try('', '{"transform": 1}');
SELECT pg_temp.try('', '{"transform": "nowhere"}');
SELECT pg_temp.try('', '{"transform": "transform_sql(int)"}');
SELECT pg_temp.try('', '{"transform": "-"}');
SELECT pg_temp.try('', '{"transform": "upper(text)"}');
SELECT pg_temp.try('', '{"transform": "max(text)"}');
CREATE FUNCTION transform_set(text) RETURNS SETOF transform_t LANGUAGE sql AS 'SELECT NULL::transform_t';
CREATE FUNCTION transform_int(int) RETURNS transform_t LANGUAGE sql AS 'SELECT NULL::transform_t';
CREATE FUNCTION transform_none() RETURNS transform_t LANGUAGE sql AS 'SELECT NULL::transform_t';
CREATE FUNCTION transform_variadic(VARIADIC text[]) RETURNS transform_t LANGUAGE sql AS 'SELECT NULL::transform_t';
SELECT pg_temp.try('', jsonb_build_object('transform', 'transform_' || f)) FROM unnest(ARRAY['set', 'int', 'none', 'variadic']) f;
SELECT pg_temp.try('', '{"transform": "transform_sql", "format": "binary"}');
SELECT pg_temp.try('', '{"transform": "transform_sql", "columns": ["id"]}');
SELECT pg_temp.try('', '{"transform": "transform_sql", "header": "map"}');
SELECT pg_temp.try('', '{"transform": "transform_sql", "force_null": ["t"]}');
SELECT pg_temp.try('', '{"transform": "transform_sql", "force_not_null": "*"}');
SELECT pg_temp.try('', '{"transform": "transform_sql", "date_format": {"d": "YYYY"}}');
SELECT pg_temp.try('', '{"transform": "transform_sql", "decimal_mark": ","}');
SELECT pg_temp.try('', '{"transform": "transform_sql", "trim": ["t"]}');
SELECT pg_temp.try('', '{"transform": "transform_sql", "default": "D"}');
SELECT pg_temp.try('', '{"transform": "transform_sql", "on_error": "set_null"}');
CREATE ROLE regress_pgbulk_transform;
GRANT pg_read_server_files TO regress_pgbulk_transform;
GRANT ALL ON transform_t TO regress_pgbulk_transform;
REVOKE EXECUTE ON FUNCTION transform_array FROM PUBLIC;
SET ROLE regress_pgbulk_transform;
SELECT rows_loaded FROM bulk_load('transform_t', '/proc/self/cwd/pgbulk_transform_in', '{"transform": "transform_array"}');
RESET ROLE;
DROP TABLE transform_t CASCADE;
DROP OWNED BY regress_pgbulk_transform;
DROP ROLE regress_pgbulk_transform;
