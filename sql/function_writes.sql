--
-- Functions that write while a table is loaded: their rows are never truncated, and no index entry of them finds another row; what
-- refers to rows of the load is never orphaned.
--
CREATE TABLE function_writes (a int PRIMARY KEY, b int);
INSERT INTO function_writes SELECT i, i FROM generate_series(1, 20000) i;
COPY (SELECT i, i FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_function_writes_in' (FORMAT csv);

-- a row among those of the load, which are all deleted then, where known keys are not looked up first; after a rollback the entry of that row is still in the index
CREATE FUNCTION function_writes_put(x int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	IF x = 15000 THEN
		INSERT INTO function_writes VALUES (9000000, 1);
	END IF;
	RETURN true;
END $$;
ALTER TABLE function_writes ADD CONSTRAINT function_writes_check CHECK (function_writes_put(a)) NOT VALID;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT rows_loaded, rows_duplicate, writer, details -> 'bytes_freed' AS freed, details -> 'not_freed' AS not_freed
FROM bulk_load('function_writes', '/proc/self/cwd/pgbulk_function_writes_in', '{"writer": "direct", "on_duplicate": "keep_old"}');
SELECT * FROM function_writes WHERE a = 9000000;
ROLLBACK;
ALTER TABLE function_writes DROP CONSTRAINT function_writes_check;
INSERT INTO function_writes SELECT 1000000 + i, i FROM generate_series(1, 40000) i;
SET enable_seqscan = off;
SELECT * FROM function_writes WHERE a = 9000000;
RESET enable_seqscan;
INSERT INTO function_writes VALUES (9000000, 2);

-- such a row has the key of one that the file has, too
ALTER TABLE function_writes ADD CONSTRAINT function_writes_check CHECK (function_writes_put(a)) NOT VALID;
DELETE FROM function_writes WHERE a > 10000;
COPY (SELECT i, i FROM generate_series(1, 20000) i UNION ALL SELECT 9000000, 7) TO '/proc/self/cwd/pgbulk_function_writes_in' (FORMAT csv);
SELECT rows_loaded, rows_duplicate, writer
FROM bulk_load('function_writes', '/proc/self/cwd/pgbulk_function_writes_in', '{"writer": "direct", "on_duplicate": "keep_old"}');
COPY (SELECT 9000000, 7 UNION ALL SELECT i, i FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_function_writes_in' (FORMAT csv);
\set VERBOSITY terse
SELECT rows_loaded, rows_duplicate, writer
FROM bulk_load('function_writes', '/proc/self/cwd/pgbulk_function_writes_in', '{"writer": "direct", "on_duplicate": "keep_old"}');
\set VERBOSITY default
SELECT count(*), count(*) FILTER (WHERE a = 9000000) FROM function_writes;

-- an index that is rebuilt after rows were deleted evaluates its predicate, which writes again
ALTER TABLE function_writes DROP CONSTRAINT function_writes_check;
TRUNCATE function_writes;
INSERT INTO function_writes SELECT i, i FROM generate_series(1, 20000) i;
COPY (SELECT i, i FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_function_writes_in' (FORMAT csv);
CREATE SEQUENCE function_writes_asked;
CREATE FUNCTION function_writes_once(x int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	IF x = 5 AND nextval('public.function_writes_asked') = current_setting('function_writes.at')::int THEN
		INSERT INTO public.function_writes VALUES (9000000, 1);
	END IF;
	RETURN x = 5;
END $$;
CREATE FUNCTION function_writes_lie(x int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT public.function_writes_once(x)';
SET function_writes.at = 0;
CREATE INDEX ON function_writes (b) WHERE function_writes_lie(a);
CREATE FUNCTION pg_temp.try(at int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	PERFORM setval('function_writes_asked', 1, false), set_config('function_writes.at', at::text, false);
	SELECT * INTO r FROM bulk_load('function_writes', '/proc/self/cwd/pgbulk_function_writes_in',
		'{"writer": "direct", "indexes": "rebuild", "on_duplicate": "keep_old", "workers": 0, "log_verbosity": "silent"}');
	PERFORM set_config('enable_seqscan', 'off', true);
	-- an index scan finds all rows
	ASSERT (SELECT count(*) FROM function_writes WHERE a = 9000000) = (SELECT count(*) FROM function_writes WHERE a + 0 = 9000000);
	RAISE EXCEPTION 'loaded %', r.rows_loaded USING ERRCODE = 'UNDOI';
EXCEPTION
	WHEN SQLSTATE 'UNDOI' THEN
		RETURN sqlerrm;
	WHEN OTHERS THEN
		RETURN sqlerrm;
END $$;
SELECT DISTINCT pg_temp.try(at) FROM generate_series(1, 4) at;
SET enable_seqscan = off;
SELECT count(*) FROM function_writes WHERE a = 9000000;
RESET enable_seqscan;
DROP TABLE function_writes;
DROP FUNCTION function_writes_put, function_writes_once, function_writes_lie;
DROP SEQUENCE function_writes_asked;

-- functions that store a row for each that they see: one that turns out to be bad later was never there
CREATE TABLE function_writes_par (k int PRIMARY KEY);
INSERT INTO function_writes_par VALUES (1);
CREATE TABLE function_writes_a (id int PRIMARY KEY, k int REFERENCES function_writes_par, d int);
CREATE TABLE function_writes_child (aid int UNIQUE REFERENCES function_writes_a);
CREATE FUNCTION function_writes_see() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO function_writes_child SELECT id FROM function_writes_a ON CONFLICT DO NOTHING;
	RETURN 1;
END $$;
CREATE FUNCTION function_writes_make(id text, k text) RETURNS function_writes_a LANGUAGE plpgsql AS $$
BEGIN
	RETURN (id::int, k::int, function_writes_see());
END $$;
COPY (VALUES (1, 1), (2, 99), (3, 1), (3, 1), (4, 99), (5, 1)) TO '/proc/self/cwd/pgbulk_function_writes_in' (FORMAT csv);

-- The result of loading the file: the table, what refers to it, and what is orphaned; nothing of it remains.
CREATE FUNCTION pg_temp.one(options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	SELECT * INTO r FROM bulk_load('function_writes_a', '/proc/self/cwd/pgbulk_function_writes_in',
		'{"log_verbosity": "silent", "on_error": "ignore", "columns": ["id", "k"]}' || options);
	PERFORM function_writes_see();
	RAISE EXCEPTION USING ERRCODE = 'UNDOI', MESSAGE = concat_ws(E'\n',
		format('%s: %s loaded, %s rejected, %s duplicate, %s filtered, of %s; attempts: %s', r.writer, r.rows_loaded, r.rows_rejected, r.rows_duplicate, r.rows_filtered, r.rows_read, r.details -> 'attempts'),
		(SELECT 'rejected: ' || string_agg(format('line %s (%s)', x -> 'line', x ->> 'reason'), ', ') FROM jsonb_array_elements(r.details -> 'rejects' -> 'first') x),
		(SELECT 'table: ' || string_agg(id::text, ' ' ORDER BY id) FROM function_writes_a),
		(SELECT 'child: ' || string_agg(aid::text, ' ' ORDER BY aid) FROM function_writes_child),
		(SELECT 'alone: ' || string_agg(aid::text, ' ' ORDER BY aid) FROM function_writes_child WHERE NOT EXISTS (SELECT FROM function_writes_a WHERE id = aid)));
EXCEPTION
	WHEN SQLSTATE 'UNDOI' THEN
		RETURN QUERY SELECT regexp_split_to_table(sqlerrm, E'\n');
	WHEN OTHERS THEN
		RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
END $$;
-- no function stores anything
SELECT pg_temp.one('{"on_duplicate": "keep_old"}');
-- rows are known to be good before they are stored
SELECT pg_temp.one('{"on_duplicate": "keep_new", "where": "function_writes_see() = 1"}');
-- and when all are in the table
COPY (VALUES (1, 1), (2, 99), (3, 1), (4, 99), (5, 1)) TO '/proc/self/cwd/pgbulk_function_writes_in' (FORMAT csv);
SELECT pg_temp.one('{"where": "function_writes_see() = 1"}');
ALTER TABLE function_writes_a ALTER d SET DEFAULT function_writes_see();
SELECT pg_temp.one('{}');
ALTER TABLE function_writes_a ALTER d DROP DEFAULT, ADD CONSTRAINT function_writes_a_check CHECK (function_writes_see() = 1);
SELECT pg_temp.one('{"writer": "direct"}');
SELECT pg_temp.one('{"writer": "direct", "workers": 2}');
-- duplicates
COPY (VALUES (1, 1), (2, 1), (2, 1), (3, 1), (1, 1)) TO '/proc/self/cwd/pgbulk_function_writes_in' (FORMAT csv);
SELECT pg_temp.one('{"writer": "direct", "on_duplicate": "keep_old"}');
ALTER TABLE function_writes_a DROP CONSTRAINT function_writes_a_check;
-- options columns and transform exclude one another
CREATE FUNCTION pg_temp.two() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	SELECT * INTO r FROM bulk_load('function_writes_a', '/proc/self/cwd/pgbulk_function_writes_in', '{"log_verbosity": "silent", "on_error": "ignore", "transform": "function_writes_make(text,text)"}');
	RETURN NEXT format('%s: %s loaded, %s rejected; attempts: %s', r.writer, r.rows_loaded, r.rows_rejected, r.details -> 'attempts');
END $$;
COPY (VALUES (1, 1), (2, 99), (3, 1)) TO '/proc/self/cwd/pgbulk_function_writes_in' (FORMAT csv);
BEGIN;
SELECT pg_temp.two();
SELECT id FROM function_writes_a ORDER BY id;
SELECT aid FROM function_writes_child ORDER BY aid;
ROLLBACK;
DROP TABLE function_writes_child, function_writes_a, function_writes_par CASCADE;
DROP FUNCTION function_writes_see;

-- functions that close all cursors: a load's own are not for them
CREATE TABLE function_writes_q (i int);
CREATE FUNCTION function_writes_close() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'CLOSE ALL'; RETURN NEW; END $$;
CREATE TRIGGER close BEFORE INSERT ON function_writes_q FOR EACH ROW EXECUTE FUNCTION function_writes_close();
SELECT rows_loaded FROM bulk_load_query('function_writes_q', 'VALUES (1), (2)');
SET pgbulk.chunk_size = 16;
SELECT rows_loaded FROM bulk_load_query('function_writes_q', 'SELECT g FROM generate_series(1, 10000) g');
RESET pgbulk.chunk_size;
CREATE TABLE function_writes_t (a int);
COPY (VALUES ('x')) TO '/proc/self/cwd/pgbulk_function_writes_in';
SELECT rows_rejected FROM bulk_load('function_writes_t', '/proc/self/cwd/pgbulk_function_writes_in', '{"on_error": "ignore", "reject_table": "function_writes_r", "log_verbosity": "silent"}');
UPDATE function_writes_r SET raw_line = E'{\n"a": 1}';
CREATE TRIGGER close BEFORE INSERT ON function_writes_r FOR EACH ROW EXECUTE FUNCTION function_writes_close();
SELECT rows_loaded FROM bulk_load_retry('function_writes_t', 'function_writes_r', (SELECT load_id FROM function_writes_r));
SELECT count(*) FROM function_writes_r;
DROP TABLE function_writes_q, function_writes_r;
-- a load within one that is slowed down fails: the next one is not
CREATE TABLE function_writes_o (a int);
CREATE FUNCTION function_writes_nest() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM bulk_load('function_writes_t', '/nowhere'); RETURN NEW; END $$;
CREATE TRIGGER nest BEFORE INSERT ON function_writes_o FOR EACH ROW EXECUTE FUNCTION function_writes_nest();
COPY (SELECT generate_series(1, 10000)) TO '/proc/self/cwd/pgbulk_function_writes_in';
\set VERBOSITY terse
SELECT bulk_load('function_writes_o', '/proc/self/cwd/pgbulk_function_writes_in', '{"max_rate": "1MB"}');
COPY function_writes_o FROM '/proc/self/cwd/pgbulk_function_writes_in' (MAX_RATE '2MB');
\set VERBOSITY default
SET pgbulk.chunk_size = 64;
SELECT rows_loaded, details -> 'waited' AS waited FROM bulk_load('function_writes_t', '/proc/self/cwd/pgbulk_function_writes_in', '{"writer": "direct", "workers": 1}');
RESET pgbulk.chunk_size;
DROP TABLE function_writes_o, function_writes_t;
DROP FUNCTION function_writes_nest;
DROP FUNCTION function_writes_close;
