--
-- Functions that write to the table while it is loaded: what they put there is never cut off, and no index finds another row by it.
--
CREATE TABLE function_writes (a int PRIMARY KEY, b int);
INSERT INTO function_writes SELECT i, i FROM generate_series(1, 20000) i;
COPY (SELECT i, i FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_function_writes_in' (FORMAT csv);

-- a row among those of the load, which then all go again; rolled back, the entry of that row is still in the index
CREATE FUNCTION function_writes_put(x int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	IF x = 15000 THEN
		INSERT INTO function_writes VALUES (9000000, 1);
	END IF;
	RETURN true;
END $$;
ALTER TABLE function_writes ADD CONSTRAINT function_writes_check CHECK (function_writes_put(a)) NOT VALID;
BEGIN;
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

-- an index that is built anew after rows have gone asks its predicate, which writes once more
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
		'{"writer": "direct", "on_duplicate": "keep_old", "workers": 0, "log_verbosity": "silent"}');
	PERFORM set_config('enable_seqscan', 'off', true);
	-- what a scan of the index finds is what there is
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
