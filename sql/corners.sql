--
-- Where two things meet: limits with rows that come again, headers with
-- several files, the guard with code that fails for reasons of its own.
--
\pset null '(null)'
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_corners_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
CREATE TABLE corners (a int, b text);
CREATE TABLE corners_int (a int, b int);

-- the limit is reached at a row that must be read twice
SET pgbulk.chunk_size = 64;
SELECT rows_loaded, rows_rejected, rows_read FROM bulk_load('corners_int',
	pg_temp.put('limit', E'1,2"\n"xyz\n' || repeat(E'5,6\n', 40)), '{"on_error": "ignore", "limit": 1, "log_verbosity": "silent"}');
RESET pgbulk.chunk_size;
CREATE TABLE corners_type (a date, b text);
SELECT rows_loaded, rows_rejected, rows_read FROM bulk_load('corners_type',
	pg_temp.put('limit', E'2024-01-01,x\nnever,y\nsoon,z\n2024-01-02,x\n'), '{"on_error": "set_null", "limit": 3, "log_verbosity": "silent"}');
TABLE corners_type;

-- several files whose headers have different orders
TRUNCATE corners;
SELECT rows_loaded FROM bulk_load('corners', ARRAY[pg_temp.put('map1', E'a,b\n1,x\n'), pg_temp.put('map2', E'b,a\ny,2\n'), pg_temp.put('map3', E'b\nz\n')],
	'{"header": "map"}');
TABLE corners;
SELECT bulk_load('corners', ARRAY['/proc/self/cwd/pgbulk_corners_map1', '/proc/self/cwd/pgbulk_corners_map2'],
	'{"header": "map", "on_error": "ignore", "reject_file": "/proc/self/cwd/pgbulk_corners_bad"}');
SELECT bulk_load('corners', ARRAY['/proc/self/cwd/pgbulk_corners_map1', '/proc/self/cwd/pgbulk_corners_map1'],
	'{"header": "map", "on_error": "ignore", "reject_file": "/proc/self/cwd/pgbulk_corners_bad"}') IS NOT NULL AS loaded;

-- a reject file starts with all header lines, and can be loaded again unchanged
TRUNCATE corners;
SELECT rows_loaded, rows_rejected FROM bulk_load('corners', pg_temp.put('two', E'first\nsecond\n1,x\nzwei,y\ndrei,z\n'),
	'{"header": 2, "on_error": "ignore", "reject_file": "/proc/self/cwd/pgbulk_corners_bad", "log_verbosity": "silent"}');
SELECT rows_loaded, rows_rejected FROM bulk_load('corners', '/proc/self/cwd/pgbulk_corners_bad',
	'{"header": 2, "on_error": "set_null", "log_verbosity": "silent"}');
TABLE corners;
-- so does one of the binary format
COPY (VALUES (1::int8, 'one'), (2, 'two')) TO '/proc/self/cwd/pgbulk_corners_binary' WITH (FORMAT binary);
SELECT rows_loaded, rows_rejected FROM bulk_load('corners', '/proc/self/cwd/pgbulk_corners_binary',
	'{"format": "binary", "on_error": "ignore", "reject_file": "/proc/self/cwd/pgbulk_corners_bad", "log_verbosity": "silent"}');
CREATE TABLE corners_wide (a int8, b text);
COPY corners_wide FROM '/proc/self/cwd/pgbulk_corners_bad' WITH (FORMAT binary);
TABLE corners_wide;

-- the texts of values made null are valid as long as they are needed
CREATE TABLE corners_json (id int PRIMARY KEY, j jsonb);
SELECT rows_loaded FROM bulk_load('corners_json',
	pg_temp.put('json', (SELECT string_agg(i || ',' || CASE WHEN i % 500 = 0 THEN 'no json ' || i ELSE '1' END, E'\n' ORDER BY i) FROM generate_series(1, 2500) i)),
	'{"on_error": "set_null", "log_verbosity": "verbose"}');

-- an error that is not the row's ends the load, guard or not
\set VERBOSITY terse
CREATE FUNCTION corners_locked() RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	RAISE 'cannot have the lock' USING ERRCODE = 'lock_not_available';
END $$;
ALTER TABLE corners ADD c int;
ALTER TABLE corners ALTER c SET DEFAULT corners_locked();
SELECT bulk_load('corners', '/proc/self/cwd/pgbulk_corners_map1', '{"columns": ["a", "b"], "skip": 1, "on_error": "ignore"}');
CREATE OR REPLACE FUNCTION corners_locked() RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	RETURN n FROM corners_no_such_table;
END $$;
SELECT bulk_load('corners', '/proc/self/cwd/pgbulk_corners_map1', '{"columns": ["a", "b"], "skip": 1, "on_error": "ignore"}');
CREATE SEQUENCE corners_short MAXVALUE 2;
ALTER TABLE corners ALTER c SET DEFAULT nextval('corners_short');
SELECT bulk_load('corners', pg_temp.put('three', E'1,x\n2,y\n3,z\n'), '{"columns": ["a", "b"], "on_error": "ignore"}');
ALTER TABLE corners DROP c;
DROP FUNCTION corners_locked;
\set VERBOSITY default

-- one reject too many is reported once
CREATE TABLE corners_check (a int CHECK (a > 0), j jsonb);
SELECT bulk_load('corners_check', pg_temp.put('over', E'1,1\n2,no\n3,3\n'),
	'{"on_error": "ignore", "reject_limit": 0, "reject_file": "/proc/self/cwd/pgbulk_corners_bad"}');
SELECT pg_read_file('/proc/self/cwd/pgbulk_corners_bad');
SELECT pg_read_file('/proc/self/cwd/pgbulk_corners_bad.log');

-- caught in a block around the call: everything is as before
DO $$
BEGIN
	PERFORM bulk_load('corners_check', '/proc/self/cwd/pgbulk_corners_over', '{"on_error": "ignore", "reject_limit": 0}');
EXCEPTION WHEN OTHERS THEN
	RAISE NOTICE '%: %', sqlstate, sqlerrm;
END $$;
SELECT count(*) FROM corners_check;

-- a column the file lacks: its domain checks the NULL
CREATE DOMAIN corners_needed AS int NOT NULL;
CREATE TABLE corners_domain (a int, b corners_needed, c int);
SELECT bulk_load('corners_domain', pg_temp.put('domain', E'1,2\n3,4\n'), '{"columns": ["a", "c"]}');
SELECT rows_loaded, rows_rejected FROM bulk_load('corners_domain', '/proc/self/cwd/pgbulk_corners_domain',
	'{"columns": ["a", "c"], "on_error": "ignore", "log_verbosity": "silent"}');

-- quotes that pair up over several lines, around values that can have no line end
SELECT rows_loaded, rows_rejected FROM bulk_load('corners_int', pg_temp.put('pairs', E'1,1\n2,"5\n3,3\n4,4\n5,6"\n6,6\n'),
	'{"on_error": "ignore", "log_verbosity": "silent"}');
TABLE corners_int;
-- where any line would be a row, none of its lines is taken for one
CREATE TABLE corners_one (a int);
SELECT rows_loaded, rows_rejected FROM bulk_load('corners_one', pg_temp.put('one', E'1\n"x\n5\n"\n2\n'),
	'{"on_error": "ignore", "log_verbosity": "silent"}');
TABLE corners_one;
-- around text there can be one: the row is rejected as a whole
CREATE TABLE corners_text (a int, b text);
SELECT rows_loaded, rows_rejected FROM bulk_load('corners_text', pg_temp.put('pairs', E'1,1\nzwei,"5\n3,3\n4,4\n5,6"\n6,6\n'),
	'{"on_error": "ignore", "log_verbosity": "silent"}');
TABLE corners_text;

-- a read-only transaction writes nothing permanent
CREATE TEMPORARY TABLE corners_temp (a int);
CREATE TABLE corners_rejects (load_id bigint, target text, loaded_at timestamptz, file text, line_number bigint, byte_offset bigint,
	reason text, column_name text, field_value text, sqlstate text, message text, raw_line text, raw_bytes bytea);
SELECT pg_temp.put('temp', E'1\n');
BEGIN READ ONLY;
SELECT rows_loaded, details -> 'load_id' AS load_id FROM bulk_load('corners_temp', '/proc/self/cwd/pgbulk_corners_temp');
SAVEPOINT s;
SELECT bulk_load('corners_temp', '/proc/self/cwd/pgbulk_corners_temp', '{"on_error": "ignore", "reject_table": "corners_rejects"}');
ROLLBACK TO s;
SELECT bulk_load('corners_temp', '/proc/self/cwd/pgbulk_corners_temp', '{"truncate": true}');
ROLLBACK;

DROP TABLE corners, corners_one, corners_type, corners_wide, corners_json, corners_check, corners_domain, corners_int, corners_text, corners_rejects;
DROP SEQUENCE corners_short;
DROP DOMAIN corners_needed;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_corners_gone; rm -f pgbulk_corners_*';
