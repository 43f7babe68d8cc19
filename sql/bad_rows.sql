--
-- Bad rows: every kind, set aside, made null, or ending the load.
--
\pset null '(null)'
CREATE DOMAIN bad_rows_even AS int CHECK (value % 2 = 0);
CREATE DOMAIN bad_rows_needed AS text NOT NULL;
CREATE FUNCTION bad_rows_default(int) RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN 10 / $1;
END $$;

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_bad_rows_' || name;
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

-- The same for bytes.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_bad_rows_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- Every kind of bad value, one type at a time: ignored, and made null.
CREATE FUNCTION pg_temp.each_type(good text, bad text, VARIADIC types text[])
RETURNS TABLE (type text, ignored text, field_value text, sqlstate text, message text, nulled text) LANGUAGE plpgsql AS $$
DECLARE
	file text;
BEGIN
	FOREACH type IN ARRAY types LOOP
		EXECUTE format('CREATE TABLE bad_rows_type (n int, v %s)', type);
		file := pg_temp.put('in', format(E'1,"%s"\n2,"%s"\n3,\n4,"%s"\n', good, bad, good));
		SELECT format('%s/%s', rows_loaded, rows_rejected) INTO ignored
		FROM bulk_load('bad_rows_type', file, '{"on_error": "ignore", "reject_table": "pg_temp.bad_rows_rejects", "log_verbosity": "silent"}');
		SELECT r.field_value, r.sqlstate, r.message INTO field_value, sqlstate, message FROM pg_temp.bad_rows_rejects r
		WHERE line_number = 2 AND column_name = 'v' AND reason IN ('value', 'constraint') AND raw_line = format('2,"%s"', bad);
		TRUNCATE bad_rows_type, pg_temp.bad_rows_rejects;
		SELECT format('%s/%s', rows_loaded, rows_rejected) INTO nulled FROM bulk_load('bad_rows_type', file, '{"on_error": "set_null", "log_verbosity": "silent"}');
		ASSERT (SELECT array_agg(n ORDER BY n) = '{2,3}' FROM bad_rows_type WHERE v IS NULL);
		DROP TABLE bad_rows_type;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM pg_temp.each_type('1', 'x', 'int2', 'int4', 'int8', 'oid', 'float4', 'float8', 'numeric', 'numeric(5,2)', 'money', 'bool', 'bit');
SELECT * FROM pg_temp.each_type('1', '99999999999999999999999', 'int2', 'int4', 'int8', 'numeric(5,2)');
SELECT * FROM pg_temp.each_type('2024-02-29', '2023-02-29', 'date', 'timestamp', 'timestamptz', 'timestamp(0)');
SELECT * FROM pg_temp.each_type('12:30', 'noon', 'time', 'timetz', 'interval');
SELECT * FROM pg_temp.each_type('ab', 'abcd', 'varchar(3)', 'char(3)');
SELECT * FROM pg_temp.each_type('{}', '{', 'jsonb', 'json', 'int[]', 'text[]', 'nummultirange');
SELECT * FROM pg_temp.each_type('10.0.0.1', '10.0.0.256', 'inet', 'cidr');
SELECT * FROM pg_temp.each_type('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'a0eebc99', 'uuid');
SELECT * FROM pg_temp.each_type('[1,2)', '[2,1)', 'int4range');
SELECT * FROM pg_temp.each_type('4', '3', 'bad_rows_even');
SELECT * FROM pg_temp.each_type('\x00', '\x0', 'bytea');
SELECT * FROM pg_temp.each_type('pg_class', 'no_such_table', 'regclass');
SELECT * FROM pg_temp.each_type('(1,2)', '(1', 'point');
SELECT * FROM pg_temp.each_type('a & b', 'a &', 'tsquery');

-- one file with every kind, between good rows and with embedded line ends
CREATE TABLE bad_rows_t (a int NOT NULL, b text, c bad_rows_even, d bad_rows_needed, e date DEFAULT '2024-01-01',
	f int GENERATED ALWAYS AS (100 / a) STORED, CONSTRAINT sum CHECK (a + c < 1000), CONSTRAINT ratio CHECK (10 / (a - 50) IS NOT NULL))
	PARTITION BY LIST (b);
CREATE TABLE bad_rows_t1 PARTITION OF bad_rows_t FOR VALUES IN ('x', E'two\nlines', NULL);
SELECT rows_read, rows_loaded, rows_rejected, rows_duplicate, rows_filtered
FROM bulk_load('bad_rows_t', pg_temp.put('in', E'1,x,2,n,\n2,"two\nlines",2,n,\nthree,x,2,n,\n4,x,3,n,\n5,x,2\n6,x,2,n,,,\n,x,2,n,\n8,y,2,n,\n9,x,2,,\n0,x,2,n,\n50,x,2,n,\n999,x,2,n,\n13,"x"x"",2,n,\n14,"two\nlines",2,n,2024-13-13\n15,x,2,n,\n16,x,2,n\r,\n\n18,"two\nlines",2,n,2024-02-02\n19,x"yz,2,n,\n20,x,2,n,\n'), '{"on_error": "ignore", "reject_table": "bad_rows_rejects"}');
SELECT * FROM bad_rows_t ORDER BY a;
SELECT line_number, byte_offset, reason, column_name, field_value, sqlstate, message FROM bad_rows_rejects ORDER BY line_number;
-- the raw lines are those of the file
SELECT line_number, raw_line, raw_bytes,
	raw_line = convert_from(pg_read_binary_file('/proc/self/cwd/pgbulk_bad_rows_in', byte_offset, octet_length(raw_line)), 'UTF8') AS from_file
FROM bad_rows_rejects ORDER BY line_number;
-- the same with any chunk size
CREATE TABLE bad_rows_again (LIKE bad_rows_rejects);
SELECT size, rows_loaded, rows_rejected
FROM unnest(ARRAY[16, 33, 64, 200]) AS size, set_config('pgbulk.chunk_size', size::text, false) AS setting,
	bulk_load('bad_rows_t', '/proc/self/cwd/pgbulk_bad_rows_in' || left(setting, 0), '{"on_error": "ignore", "truncate": true, "log_verbosity": "silent"}');
SET pgbulk.chunk_size = 16;
SELECT rows_rejected FROM bulk_load('bad_rows_t', '/proc/self/cwd/pgbulk_bad_rows_in', '{"on_error": "ignore", "log_verbosity": "silent", "reject_table": "bad_rows_again"}');
RESET pgbulk.chunk_size;
SELECT count(*) FROM (SELECT line_number, byte_offset, reason, sqlstate, message, raw_line FROM bad_rows_again
	EXCEPT SELECT line_number, byte_offset, reason, sqlstate, message, raw_line FROM bad_rows_rejects) x;
-- set_null: values become null, what else is wrong is set aside
TRUNCATE bad_rows_t, bad_rows_rejects;
SELECT rows_read, rows_loaded, rows_rejected, details -> 'values_set_null' AS values_set_null
FROM bulk_load('bad_rows_t', '/proc/self/cwd/pgbulk_bad_rows_in', '{"on_error": "set_null", "reject_table": "bad_rows_rejects"}');
SELECT * FROM bad_rows_t ORDER BY a;
SELECT line_number, reason, column_name, field_value, message FROM bad_rows_rejects ORDER BY line_number;

-- stop: the first of each kind ends the load, with file, line and column
SELECT pg_temp.try('bad_rows_t', E'1,x,2,n,\nthree,x,2,n,\n');
SELECT pg_temp.try('bad_rows_t', E'1,x,2,n,\n4,x,3,n,\n');
SELECT pg_temp.try('bad_rows_t', E'1,x,2,n,\n5,x,2\n');
SELECT pg_temp.try('bad_rows_t', E'1,x,2,n,\n6,x,2,n,,,\n');
SELECT pg_temp.try('bad_rows_t', E'1,x,2,n,\n,x,2,n,\n');
SELECT pg_temp.try('bad_rows_t', E'1,x,2,n,\n8,y,2,n,\n');
SELECT pg_temp.try('bad_rows_t', E'1,x,2,n,\n9,x,2,,\n');
SELECT pg_temp.try('bad_rows_t', E'1,x,2,n,\n0,x,2,n,\n');
SELECT pg_temp.try('bad_rows_t', E'1,x,2,n,\n50,x,2,n,\n');
SELECT pg_temp.try('bad_rows_t', E'1,x,2,n,\n999,x,2,n,\n');
SELECT pg_temp.try('bad_rows_t', E'1,"two\nlines",2,n,\n14,"two\nlines",2,n,2024-13-13\n');
SELECT pg_temp.try('bad_rows_t', E'1,x,2,n,\n16,x,2,n\r,\n');
SELECT pg_temp.try('bad_rows_t', E'1,x,2,n,\n19,x"yz,2,n,\n20,x,2,n,\n');
SELECT count(*) FROM bad_rows_t;
-- long lines are truncated
SELECT pg_temp.try('bad_rows_t', E'1,x,2,n,\n1,' || repeat('\u00e9', 1000) || E',2\n');

-- defaults that throw
CREATE TABLE bad_rows_d (a int, b int DEFAULT bad_rows_default(0), c int DEFAULT 7);
SELECT pg_temp.try('bad_rows_d', E'1\n', '{"columns": ["a"]}');
SELECT pg_temp.try('bad_rows_d', E'1\n2\n', '{"columns": ["a"], "on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_d', E'1,DEFAULT\n2,5\n3,DEFAULT\n', '{"columns": ["a", "b"], "default": "DEFAULT", "on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_d', E'1\n2,5\nx,5\n', '{"missing_columns": "default", "on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_d', E'1\n2,x\n', '{"missing_columns": "default", "on_error": "set_null"}');
-- a default that throws for some rows only
CREATE SEQUENCE bad_rows_seq MINVALUE -1 START -1;
ALTER TABLE bad_rows_d ALTER b SET DEFAULT bad_rows_default(nextval('bad_rows_seq')::int);
SELECT pg_temp.try('bad_rows_d', E'1\n2\n3\n', '{"columns": ["a"], "on_error": "ignore"}');
DROP TABLE bad_rows_d;
DROP SEQUENCE bad_rows_seq;

-- misplaced quotes: the rows that they damage, and no more
CREATE TABLE bad_rows_q (a int, b text);
SELECT pg_temp.try('bad_rows_q', E'1,x\n2,"y\n3,z\n4,w\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'1,x\n2,y"\n3,z\n4,w"\n5,v\n6,u\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'1,x\n2,"y"z"\n3,z\n4,"w\n5,v\n6,u"u\n7,"t"\n8,s\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'1,"x\nx"\n2,"y\n3,"z\nz"\n4,"w"\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'1,x\n2,y\n3,"z', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'1,x\n2,y\n3,"z\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'"\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'"\n1,x\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'1,"x\r\n2,y\r\n3,z"z\r\n4,w\r\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'1,"x\r2,y\r3,z\r', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'1,"x\r2,y\rz,z\r', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'1,x\r2,"y\r3,z\r', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'1,"x\\"\n2,y\n3,"z\\"z"\n', '{"on_error": "ignore", "escape": "\\"}');
-- far from each other, with the same result with any chunk size
SELECT pg_temp.put('in', string_agg(CASE WHEN i IN (100, 2000, 2001, 5000) THEN i || ',broken"' WHEN i = 3000 THEN i || ',"1234"' ELSE i || ',' || repeat('7', i % 9 + 1) END || E'\n', '' ORDER BY i))
FROM generate_series(1, 5000) i;
TRUNCATE bad_rows_rejects;
CREATE TABLE bad_rows_r (a int, b int);
SELECT size, rows_read, rows_loaded, rows_rejected
FROM unnest(ARRAY[100, 4096, 1048576]) AS size, set_config('pgbulk.chunk_size', size::text, false) AS setting,
	bulk_load('bad_rows_r', '/proc/self/cwd/pgbulk_bad_rows_in' || left(setting, 0), '{"on_error": "ignore", "truncate": true, "log_verbosity": "silent", "reject_table": "bad_rows_rejects"}');
RESET pgbulk.chunk_size;
SELECT line_number, byte_offset, count(*), count(DISTINCT raw_line), min(raw_line) FROM bad_rows_rejects GROUP BY 1, 2 ORDER BY 1;
SELECT count(*), sum(a), count(DISTINCT a) FROM bad_rows_r;

-- line ends of another kind, in each kind of file
SELECT pg_temp.try('bad_rows_q', E'1,x\n2,y\r\n3,z\n4,w\rw\n5,v\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'1,x\r\n2,y\n3,z\r\n4,w\r,\r\n5,v\r\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'1,x\r2,y\n3,z\r4,w\r', '{"on_error": "ignore"}');
SELECT pg_temp.try('bad_rows_q', E'1\tx\n2\ty\r\n3\tz\n', '{"on_error": "ignore", "format": "text"}');

-- invalid bytes, also in fields that are not loaded
TRUNCATE bad_rows_rejects;
SELECT pg_temp.put('in', '1,ok\0122,caf\351\0123,ok\0124,"two\012lines \377"\0125,ok\0126,a\000b\0127,\303\251\0128,\303'::bytea);
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load('bad_rows_q', '/proc/self/cwd/pgbulk_bad_rows_in', '{"on_error": "ignore", "truncate": true, "reject_table": "bad_rows_rejects"}');
SELECT * FROM bad_rows_q ORDER BY a;
SELECT line_number, byte_offset, reason, column_name, sqlstate, message, raw_line, raw_bytes FROM bad_rows_rejects ORDER BY line_number;
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load('bad_rows_q', '/proc/self/cwd/pgbulk_bad_rows_in', '{"on_error": "ignore", "columns": ["a", null], "log_verbosity": "silent"}');
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load('bad_rows_q', '/proc/self/cwd/pgbulk_bad_rows_in', '{"on_error": "set_null", "log_verbosity": "silent"}');
SELECT rows_loaded FROM bulk_load('bad_rows_q', '/proc/self/cwd/pgbulk_bad_rows_in');

-- set_null, and nulls that are not allowed
CREATE TABLE bad_rows_n (a int NOT NULL, b bad_rows_even, c date, d bad_rows_needed DEFAULT 'd');
SELECT pg_temp.try('bad_rows_n', E'1,2,2024-01-01,x\nx,2,2024-01-01,x\n3,3,2024-01-01,x\n4,x,x,x\n5,,,\n', '{"on_error": "set_null", "log_verbosity": "verbose"}');
CREATE DOMAIN bad_rows_needed_int AS int NOT NULL;
CREATE TABLE bad_rows_m (a int, b bad_rows_needed_int);
SELECT pg_temp.try('bad_rows_m', E'1,2\n2,x\nx,3\nx,\n', '{"on_error": "set_null"}');
-- nulls that are set are seen by where, triggers and constraints
SELECT pg_temp.try('bad_rows_m', E'1,2\nx,3\n', '{"on_error": "set_null", "where": "a IS NULL"}');

-- many bad rows in a row, and among good ones; limits
SELECT pg_temp.put('in', string_agg(CASE WHEN i % 10 = 0 THEN 'x' ELSE i::text END || ',2', E'\n' ORDER BY i)) FROM generate_series(1, 10000) i;
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load('bad_rows_m', '/proc/self/cwd/pgbulk_bad_rows_in', '{"on_error": "ignore", "truncate": true, "reject_limit": "10%"}');
SELECT count(*), sum(a) FROM bad_rows_m;
\set VERBOSITY terse
SELECT rows_loaded FROM bulk_load('bad_rows_m', '/proc/self/cwd/pgbulk_bad_rows_in', '{"on_error": "ignore", "reject_limit": "9.9%"}');
SELECT rows_loaded FROM bulk_load('bad_rows_m', '/proc/self/cwd/pgbulk_bad_rows_in', '{"on_error": "ignore", "reject_limit": 999}');
\set VERBOSITY default
SELECT count(*), sum(a) FROM bad_rows_m;

DROP TABLE bad_rows_t, bad_rows_q, bad_rows_r, bad_rows_n, bad_rows_m, bad_rows_rejects, bad_rows_again, pg_temp.bad_rows_rejects;
DROP FUNCTION bad_rows_default;
DROP DOMAIN bad_rows_even, bad_rows_needed, bad_rows_needed_int;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_bad_rows_gone; rm -f pgbulk_bad_rows_*';
