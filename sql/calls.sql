--
-- Ways to call: truncate, freeze, analyze, results, transactions, PL/pgSQL, paths.
--
CREATE TABLE calls_t (a int, b text);

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_calls_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;


SELECT pg_temp.put('1', E'1,one\n2,two\n') AS f1, pg_temp.put('2', E'3,three\nx,bad\n') AS f2 \gset

-- the result row
SELECT pg_get_function_result('bulk_load(regclass, text, jsonb)'::regprocedure) = pg_get_function_result('bulk_load(regclass, text[], jsonb)'::regprocedure) AS same;
SELECT name, type::regtype FROM pg_proc, unnest(proargnames, proallargtypes, proargmodes) WITH ORDINALITY AS a (name, type, mode, n)
WHERE oid = 'bulk_load(regclass, text, jsonb)'::regprocedure AND mode = 'o' ORDER BY n;
SELECT rows_loaded, rows_rejected, rows_duplicate, rows_replaced, rows_filtered, rows_read, bytes_read, writer, workers,
	elapsed > '0' AND elapsed < '1 hour' AS elapsed FROM bulk_load('calls_t', :'f1');
SELECT key, jsonb_typeof(value) FROM bulk_load('calls_t', :'f1') AS r, jsonb_each(r.details) ORDER BY key;
SELECT details -> 'files' AS files, (details ->> 'load_id')::bigint = currval('bulk_load_id') AS load_id, (details ->> 'wal_bytes')::bigint > 0 AS wal FROM bulk_load('calls_t', :'f1');
SELECT key, value::float8 BETWEEN 0 AND 3600 AS sensible FROM bulk_load('calls_t', :'f1') AS r, jsonb_each_text(r.details -> 'seconds') ORDER BY key;
-- all processes of a phase together take at least as long as the phase; what sleeps is idle
CREATE TABLE calls_sleeps (i int, s text, t text DEFAULT pg_sleep(0.05)::text);
SELECT t.key, (d -> 'cpu_seconds' ->> t.key)::numeric + (d -> 'idle_seconds' ->> t.key)::numeric >= t.value::numeric AS whole,
	(d -> 'idle_seconds' ->> t.key)::float8 > 0.09 AS sleeps, (d -> 'cpu_seconds' ->> t.key)::float8 BETWEEN 0 AND 3600 AS sensible
	FROM (SELECT details AS d FROM bulk_load('calls_sleeps', :'f1', '{"columns": ["i", "s"]}') OFFSET 0) r, jsonb_each_text(d -> 'seconds') t
	WHERE t.key = 'load';
DROP TABLE calls_sleeps;
SELECT jsonb_pretty(details -> 'rejects') AS rejects FROM bulk_load('calls_t', :'f2', '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT details ? 'rejects' AS rejects, details -> 'values_set_null' AS values_set_null FROM bulk_load('calls_t', :'f2', '{"on_error": "set_null", "log_verbosity": "silent"}');
SELECT (bulk_load('calls_t', :'f1')).rows_loaded;
SELECT n, rows_loaded FROM generate_series(1, 2) n, LATERAL bulk_load('calls_t', :'f1' || repeat('', n)) ORDER BY n;
SELECT provolatile, proparallel, proisstrict FROM pg_proc WHERE proname = 'bulk_load' ORDER BY oid;

-- paths: one, several, globs
TRUNCATE calls_t;
SELECT rows_loaded, details -> 'files' AS files FROM bulk_load('calls_t', ARRAY[:'f1', :'f1']);
SELECT rows_loaded, rows_rejected, details -> 'files' AS files FROM bulk_load('calls_t', '/proc/self/cwd/pgbulk_calls_*', '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT rows_loaded, rows_rejected, details -> 'files' AS files FROM bulk_load('calls_t', ARRAY['/proc/self/cwd/pgbulk_calls_[2-9]', '/proc/self/cwd/pgbulk_calls_?'], '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT rows_loaded FROM bulk_load('calls_t', '/proc/self/cwd/pgbulk_calls_none*');
SELECT rows_loaded FROM bulk_load('calls_t', ARRAY[:'f1', '/proc/self/cwd/pgbulk_calls_none*']);
SELECT rows_loaded FROM bulk_load('calls_t', ARRAY[:'f1', '/proc/self/cwd/pgbulk_calls_none']);
-- a file whose name looks like a pattern is that file
SELECT rows_loaded, details -> 'files' AS files FROM bulk_load('calls_t', pg_temp.put('[1]', E'9,nine\n'));
SELECT rows_loaded FROM bulk_load('calls_t', ARRAY[]::text[]);
SELECT rows_loaded FROM bulk_load('calls_t', ARRAY[[:'f1'], [:'f1']]);
SELECT rows_loaded FROM bulk_load('calls_t', '');
-- NULL
SELECT rows_loaded FROM bulk_load(NULL, :'f1');
SELECT rows_loaded FROM bulk_load('calls_t', NULL::text);
SELECT rows_loaded FROM bulk_load('calls_t', NULL::text[]);
SELECT rows_loaded FROM bulk_load('calls_t', ARRAY[:'f1', NULL]);
SELECT rows_loaded FROM bulk_load('calls_t', :'f1', NULL);
-- not a table
SELECT rows_loaded FROM bulk_load('calls_none', :'f1');
SELECT rows_loaded FROM bulk_load(0, :'f1');
SELECT rows_loaded FROM bulk_load('calls_t'::regclass::oid::int, :'f1');

-- truncate
SELECT rows_loaded FROM bulk_load('calls_t', :'f1', '{"truncate": true}');
SELECT * FROM calls_t ORDER BY a;
-- an error leaves the old rows
SELECT rows_loaded FROM bulk_load('calls_t', :'f2', '{"truncate": true}');
SELECT * FROM calls_t ORDER BY a;
SELECT rows_loaded FROM bulk_load('calls_t', '/proc/self/cwd/pgbulk_calls_none', '{"truncate": true}');
SELECT count(*) FROM calls_t;
-- its triggers fire
CREATE FUNCTION calls_note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE NOTICE '% % %', tg_when, tg_op, tg_level; RETURN NULL; END$$;
CREATE TRIGGER t AFTER TRUNCATE ON calls_t FOR EACH STATEMENT EXECUTE FUNCTION calls_note();
SELECT rows_loaded FROM bulk_load('calls_t', :'f1', '{"truncate": true}');
DROP TRIGGER t ON calls_t;
-- a query that reads the table refuses it
SELECT count(*) FROM calls_t, bulk_load('calls_t', :'f1', '{"truncate": true}');
-- it needs its privilege
CREATE ROLE regress_pgbulk_calls;
GRANT pg_read_server_files TO regress_pgbulk_calls;
GRANT INSERT, SELECT ON calls_t TO regress_pgbulk_calls;
SET ROLE regress_pgbulk_calls;
SELECT rows_loaded FROM bulk_load('calls_t', :'f1', '{"truncate": true}');
RESET ROLE;
GRANT TRUNCATE ON calls_t TO regress_pgbulk_calls;
SET ROLE regress_pgbulk_calls;
SELECT rows_loaded FROM bulk_load('calls_t', :'f1', '{"truncate": true}');
RESET ROLE;
DROP OWNED BY regress_pgbulk_calls;
DROP ROLE regress_pgbulk_calls;

-- freeze, where COPY allows it
-- (checked where pageinspect is available)
SET client_min_messages = warning;
DO $$
BEGIN
	IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pageinspect') THEN
		CREATE EXTENSION pageinspect;
	END IF;
END $$;
CREATE FUNCTION pg_temp.frozen(t regclass, expected bool) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	frozen bool := expected;
BEGIN
	IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pageinspect') THEN
		SELECT bool_and((t_infomask & 768) = 768) INTO frozen FROM heap_page_items(get_raw_page(t::text, 0)) WHERE lp_len > 0;
	END IF;
	RETURN frozen;
END $$;
RESET client_min_messages;
BEGIN;
CREATE TABLE calls_f (a int, b text);
SELECT rows_loaded FROM bulk_load('calls_f', :'f1', '{"freeze": true}');
SELECT pg_temp.frozen('calls_f', true);
COMMIT;
SELECT rows_loaded FROM bulk_load('calls_f', :'f1', '{"freeze": true}');
SELECT rows_loaded FROM bulk_load('calls_f', :'f1', '{"freeze": true, "truncate": true}');
SELECT pg_temp.frozen('calls_f', true), count(*) FROM calls_f;
SELECT rows_loaded FROM bulk_load('calls_f', :'f1', '{"truncate": true}');
SELECT pg_temp.frozen('calls_f', false);
BEGIN;
TRUNCATE calls_f;
SELECT rows_loaded FROM bulk_load('calls_f', :'f1', '{"freeze": true}');
COMMIT;
-- not in a subtransaction that has not done it
BEGIN;
TRUNCATE calls_f;
SAVEPOINT s;
SELECT rows_loaded FROM bulk_load('calls_f', :'f1', '{"freeze": true}');
ROLLBACK;
-- not where older snapshots could see it
BEGIN;
TRUNCATE calls_f;
DECLARE c CURSOR FOR SELECT 1;
FETCH c;
SELECT rows_loaded FROM bulk_load('calls_f', :'f1', '{"freeze": true}');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 1;
SELECT rows_loaded FROM bulk_load('calls_f', :'f1', '{"freeze": true, "truncate": true}');
ROLLBACK;
-- in a function outside of a subtransaction
DO $$ BEGIN PERFORM bulk_load('calls_f', '/proc/self/cwd/pgbulk_calls_1', '{"freeze": true, "truncate": true}'); END $$;
SELECT pg_temp.frozen('calls_f', true), count(*) FROM calls_f;
CREATE TABLE calls_p (a int, b text) PARTITION BY LIST (a);
SELECT rows_loaded FROM bulk_load('calls_p', :'f1', '{"freeze": true, "truncate": true}');
-- bad rows and freeze
SELECT rows_loaded, rows_rejected FROM bulk_load('calls_f', :'f2', '{"freeze": true, "truncate": true, "on_error": "ignore", "log_verbosity": "silent"}');
SELECT pg_temp.frozen('calls_f', true), count(*) FROM calls_f;
DROP TABLE calls_f, calls_p;
SET client_min_messages = warning;
DROP EXTENSION IF EXISTS pageinspect;
RESET client_min_messages;

-- analyze
CREATE TABLE calls_a (a int, b text);
SELECT rows_loaded FROM bulk_load('calls_a', :'f1');
SELECT reltuples FROM pg_class WHERE relname = 'calls_a';
SELECT rows_loaded FROM bulk_load('calls_a', :'f1', '{"analyze": true}');
SELECT reltuples FROM pg_class WHERE relname = 'calls_a';
SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'calls_a' ORDER BY attname;
BEGIN;
SELECT rows_loaded FROM bulk_load('calls_a', :'f1', '{"analyze": true, "truncate": true}');
ROLLBACK;
SELECT count(*) FROM calls_a;
DROP TABLE calls_a;

-- transactions
TRUNCATE calls_t;
BEGIN;
SELECT rows_loaded FROM bulk_load('calls_t', :'f1');
SAVEPOINT s;
SELECT rows_loaded FROM bulk_load('calls_t', :'f2', '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT count(*) FROM calls_t;
ROLLBACK TO s;
SELECT count(*) FROM calls_t;
SELECT rows_loaded FROM bulk_load('calls_t', :'f2');
ROLLBACK TO s;
SAVEPOINT s2;
SELECT rows_loaded FROM bulk_load('calls_t', :'f2', '{"on_error": "ignore", "log_verbosity": "silent"}');
RELEASE s2;
SELECT count(*) FROM calls_t;
COMMIT;
SELECT a FROM calls_t ORDER BY a;
BEGIN;
SELECT rows_loaded FROM bulk_load('calls_t', :'f1', '{"truncate": true}');
ROLLBACK;
SELECT count(*) FROM calls_t;
-- what was loaded is seen by the next command, not by the calling query
SELECT rows_loaded, (SELECT count(*) FROM calls_t) AS before FROM bulk_load('calls_t', :'f1', '{"truncate": false}');
SELECT count(*) FROM calls_t;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT rows_loaded FROM bulk_load('calls_t', :'f1');
SELECT count(*) FROM calls_t;
COMMIT;
-- read only: only temporary tables
CREATE TEMP TABLE calls_temp (a int, b text);
BEGIN READ ONLY;
SELECT rows_loaded, rows_rejected FROM bulk_load('calls_temp', :'f2', '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT * FROM calls_temp;
SELECT rows_loaded FROM bulk_load('calls_t', :'f1');
ROLLBACK;
BEGIN READ ONLY;
SELECT rows_loaded FROM bulk_load('calls_temp', :'f2', '{"on_error": "ignore", "reject_table": "calls_rejects"}');
ROLLBACK;
-- prepared statements
PREPARE load (text) AS SELECT rows_loaded FROM bulk_load('calls_t', $1);
EXECUTE load(:'f1');
EXECUTE load(:'f1');
DEALLOCATE load;

-- PL/pgSQL
DO $$
DECLARE
	r record;
	n bigint;
	context text;
BEGIN
	PERFORM bulk_load('calls_t', '/proc/self/cwd/pgbulk_calls_1');
	SELECT * INTO STRICT r FROM bulk_load('calls_t', '/proc/self/cwd/pgbulk_calls_1');
	RAISE NOTICE '% rows, % bytes', r.rows_loaded, r.bytes_read;
	SELECT rows_rejected INTO n FROM bulk_load('calls_t', '/proc/self/cwd/pgbulk_calls_2', jsonb_build_object('on_error', 'ignore', 'log_verbosity', 'silent'));
	RAISE NOTICE '% rejected', n;
	FOR i IN 1..3 LOOP
		BEGIN
			PERFORM bulk_load('calls_t', '/proc/self/cwd/pgbulk_calls_2');
		EXCEPTION WHEN invalid_text_representation THEN
			GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
			RAISE NOTICE '%: % (%)', i, sqlerrm, split_part(context, E'\n', 1);
		END;
	END LOOP;
	BEGIN
		PERFORM bulk_load('calls_t', '/proc/self/cwd/pgbulk_calls_none');
	EXCEPTION WHEN undefined_file THEN
		RAISE NOTICE 'no file';
	END;
END $$;
SELECT count(*) FROM calls_t;
-- procedures
CREATE PROCEDURE calls_procedure(files text[]) LANGUAGE plpgsql AS $$
DECLARE
	file text;
	n bigint;
BEGIN
	FOREACH file IN ARRAY files LOOP
		SELECT rows_loaded INTO n FROM bulk_load('calls_t', file);
		COMMIT;
		RAISE NOTICE '%', n;
	END LOOP;
END $$;
TRUNCATE calls_t;
\set VERBOSITY terse
CALL calls_procedure(ARRAY[:'f1', :'f1', :'f2', :'f1']);
\set VERBOSITY default
SELECT count(*) FROM calls_t;
-- a cursor over the result
BEGIN;
DECLARE c CURSOR FOR SELECT n, (bulk_load('calls_t', '/proc/self/cwd/pgbulk_calls_1')).rows_loaded FROM generate_series(1, 3) n;
FETCH 2 FROM c;
CLOSE c;
SELECT count(*) FROM calls_t;
ROLLBACK;
-- in a query over a cursor of the table itself
BEGIN;
DECLARE c CURSOR FOR SELECT a FROM calls_t ORDER BY a;
FETCH c;
SELECT rows_loaded FROM bulk_load('calls_t', :'f1');
FETCH ALL FROM c;
COMMIT;
-- the sequence of load numbers is not rolled back
SELECT nextval('bulk_load_id') AS id \gset
SELECT rows_loaded FROM bulk_load('calls_t', :'f2');
SELECT (details ->> 'load_id')::bigint - :id AS later FROM bulk_load('calls_t', :'f1');
SELECT count(*) FROM pg_stat_progress_copy WHERE datname = current_database();

DROP TABLE calls_t, calls_temp;
DROP FUNCTION calls_note;
DROP PROCEDURE calls_procedure;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_calls_gone; rm -f pgbulk_calls_*';
