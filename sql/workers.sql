--
-- Parallel workers: the result of one process.
--
\set file '/proc/self/cwd/pgbulk_workers_in'
CREATE TABLE workers_t (a int, b text, c numeric);
COPY (SELECT i, repeat('x', i % 40) || CASE WHEN i % 7 = 0 THEN E',"\n' ELSE '' END, i / 8.0 FROM generate_series(1, 20000) i)
	TO '/proc/self/cwd/pgbulk_workers_in' WITH (FORMAT csv);
SET pgbulk.chunk_size = 4096;
CREATE FUNCTION pg_temp.load(t regclass, options jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	SELECT * INTO r FROM bulk_load(t, '/proc/self/cwd/pgbulk_workers_in', options);
	RETURN format('%s read, %s loaded, %s rejected, %s filtered, %s%s', r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_filtered, r.writer,
		CASE WHEN r.workers > 0 OR r.details ->> 'no_workers' LIKE '%since PostgreSQL 17.' THEN ' with workers'
			ELSE ' alone' || coalesce(': ' || (r.details ->> 'no_workers'), '') END);
END $$;

-- rows in the order of the file; before 17 those with expressions are left to the backend, as details says
SELECT pg_temp.load('workers_t', '{"workers": 2}');
CREATE TABLE workers_copy (LIKE workers_t);
COPY workers_copy FROM :'file' WITH (FORMAT csv);
SELECT count(*) FROM (SELECT a, b, c FROM workers_t EXCEPT ALL SELECT a, b, c FROM workers_copy) x;
SELECT count(*), bool_and(ordered) FROM (SELECT a > lag(a, 1, 0) OVER (ORDER BY ctid) AS ordered FROM workers_t) x;
TRUNCATE workers_t;
SELECT pg_temp.load('workers_t', '{"workers": 2, "where": "a % 3 = 0"}');
SELECT count(*), sum(a), bool_and(ordered) FROM (SELECT a, a > lag(a, 1, 0) OVER (ORDER BY ctid) AS ordered FROM workers_t) x;
TRUNCATE workers_t;
-- their time counts, too
SELECT workers > 0 AS workers, cpu + idle > 1.2 * elapsed AS several FROM (SELECT workers,
	(details #>> '{cpu_seconds,load}')::float8 AS cpu, (details #>> '{idle_seconds,load}')::float8 AS idle, (details #>> '{seconds,load}')::float8 AS elapsed
	FROM bulk_load('workers_t', ARRAY(SELECT '/proc/self/cwd/pgbulk_workers_in' FROM generate_series(1, 50)), '{"workers": 2}')) x;
TRUNCATE workers_t;
SELECT pg_temp.load('workers_t', '{"workers": 0}');
DROP TABLE workers_t;

-- locks that outlive the workers: REINDEX CONCURRENTLY of a TOAST table waits for transactions that may have inserted there
CREATE TABLE workers_t (a int, b text, c numeric);
BEGIN;
SELECT pg_temp.load('workers_t', '{"workers": 2}');
SELECT r.relkind, l.mode FROM pg_locks l JOIN pg_class r ON r.oid = l.relation
WHERE l.pid = pg_backend_pid() AND r.oid IN (SELECT reltoastrelid FROM pg_class WHERE relname = 'workers_t' UNION SELECT indexrelid FROM pg_class, pg_index WHERE relname = 'workers_t' AND indrelid = reltoastrelid)
ORDER BY 1, 2;
COMMIT;
DROP TABLE workers_t;

-- constraints, generated columns, sequences
CREATE TABLE workers_t (id serial, a int CHECK (a <> 500), b text NOT NULL, c numeric, d int GENERATED ALWAYS AS (a * 2) STORED);
\set VERBOSITY terse
SELECT pg_temp.load('workers_t', '{"workers": 2, "columns": ["a", "b", "c"]}');
\set VERBOSITY default
TRUNCATE workers_t;
SELECT pg_temp.load('workers_t', '{"workers": 2, "columns": ["a", "b", "c"], "on_error": "ignore", "null": "xxx", "log_verbosity": "silent"}');
SELECT count(*), sum(a), sum(d), bool_and(ordered), bool_and(a NOT IN (500, 3, 43)) FROM (SELECT *, a > lag(a, 1, 0) OVER (ORDER BY ctid) AND id > lag(id, 1, 0) OVER (ORDER BY ctid) AS ordered FROM workers_t) x;
DROP TABLE workers_t;

-- bad rows in their order, and limits
CREATE TABLE workers_t (a int, b varchar(38), c numeric);
SELECT pg_temp.load('workers_t', '{"workers": 2, "on_error": "ignore", "reject_table": "workers_rejects", "log_verbosity": "silent"}');
SELECT count(*), bool_and(ordered), min(line_number), max(line_number), min(reason), min(message) FROM
	(SELECT *, line_number > lag(line_number, 1, 0::bigint) OVER (ORDER BY ctid) AS ordered FROM workers_rejects) x;
TRUNCATE workers_t;
\set VERBOSITY terse
SELECT pg_temp.load('workers_t', '{"workers": 2}');
SELECT pg_temp.load('workers_t', '{"workers": 2, "on_error": "ignore", "reject_limit": 7, "log_verbosity": "silent"}');
\set VERBOSITY default
SELECT count(*) FROM workers_t;
DROP TABLE workers_t, workers_rejects;

-- the same HINTs, with rows that only the backend takes, as quotes in them are not closed
CREATE TABLE workers_t (a int, b text, c int);
COPY (SELECT line FROM generate_series(1, 20000) i, LATERAL (VALUES (CASE WHEN i % 50 > 0 THEN i || ',"b",1' ELSE i || ',"b' END), (CASE WHEN i % 50 = 0 THEN 'd",1' END),
	(CASE i % 4000 WHEN 1 THEN i || ',x"b,1' WHEN 100 THEN i || E',caf\u00e9,1' END)) v (line) WHERE line IS NOT NULL)
	TO '/proc/self/cwd/pgbulk_workers_quotes' WITH (DELIMITER '|', ENCODING 'LATIN1');
SELECT rows_loaded FROM bulk_load('workers_t', '/proc/self/cwd/pgbulk_workers_quotes', '{"workers": 0, "on_error": "ignore", "encoding": "UTF8"}');
SELECT rows_loaded, workers > 0 AS workers FROM bulk_load('workers_t', '/proc/self/cwd/pgbulk_workers_quotes', '{"workers": 2, "on_error": "ignore", "encoding": "UTF8"}');
DROP TABLE workers_t;

-- an error that is not a row's ends the load, in whichever process
CREATE DOMAIN workers_document AS jsonb;
CREATE TABLE workers_big (a int, j workers_document, s text);
ALTER TABLE workers_big ALTER s SET STORAGE plain;
COPY (SELECT i, '{"a": [1, 2, 3]}', repeat('x', CASE WHEN i = 15000 THEN 10000 ELSE 10 END) FROM generate_series(1, 20000) i)
	TO '/proc/self/cwd/pgbulk_workers_big' WITH (FORMAT csv);
SET statement_timeout = '60s';
\set VERBOSITY terse
SELECT bulk_load('workers_big', '/proc/self/cwd/pgbulk_workers_big', '{"workers": 2, "on_error": "ignore"}');
\set VERBOSITY default
RESET statement_timeout;
SELECT count(*) FROM workers_big;
DROP TABLE workers_big;
DROP DOMAIN workers_document;

-- after a savepoint, and rolled back
CREATE TABLE workers_t (a int, b text, c numeric);
BEGIN;
SAVEPOINT s;
SELECT pg_temp.load('workers_t', '{"workers": 2}');
ROLLBACK TO s;
SELECT count(*) FROM workers_t;
SELECT pg_temp.load('workers_t', '{"workers": 2, "writer": "direct"}');
COMMIT;
SELECT count(*) FROM workers_t;

-- a limit, anywhere in a chunk; as many values of a sequence, and bytes up to there
CREATE TABLE workers_few (id serial, a int, b text, c numeric);
DO $$
DECLARE
	r record;
	load text;
BEGIN
	FOR "limit" IN 11987 .. 12070 LOOP
		load := pg_temp.load('workers_few', jsonb_build_object('workers', 2, 'columns', ARRAY['a', 'b', 'c'], 'truncate', true, 'limit', "limit"));
		SELECT count(*), max(a), max(id) - min(id) + 1 AS ids, nextval('workers_few_id_seq') - max(id) AS next INTO r FROM workers_few;
		IF load <> format('%1$s read, %1$s loaded, 0 rejected, 0 filtered, direct with workers', "limit") OR r::text <> format('(%1$s,%1$s,%1$s,1)', "limit") THEN
			RAISE NOTICE 'limit %: %, %', "limit", load, r;
		END IF;
	END LOOP;
END $$;
CREATE TABLE workers_bytes AS SELECT 0 AS workers, 0 AS bytes, 0 AS "rows" LIMIT 0;
DO $$
BEGIN
	FOR size IN 1000 .. 10000 BY 450 LOOP
		PERFORM set_config('pgbulk.chunk_size', size::text, false);
		INSERT INTO workers_bytes SELECT workers, bytes_read, rows_read FROM bulk_load('workers_few', '/proc/self/cwd/pgbulk_workers_in',
			jsonb_build_object('workers', size / 450 % 3, 'columns', ARRAY['a', 'b', 'c'], 'limit', 12000, 'writer', 'direct'));
	END LOOP;
END $$;
SELECT DISTINCT * FROM workers_bytes ORDER BY 1;
COPY (SELECT a, b, c FROM workers_copy WHERE a <= 12000 ORDER BY a) TO '/proc/self/cwd/pgbulk_workers_few' WITH (FORMAT csv);
SELECT size FROM pg_stat_file('/proc/self/cwd/pgbulk_workers_few');
SET pgbulk.chunk_size = 4096;
DROP TABLE workers_few, workers_bytes;

-- the binary format, with workers from 17 on; errors as without them
COPY (SELECT * FROM workers_copy ORDER BY a) TO '/proc/self/cwd/pgbulk_workers_binary' WITH (FORMAT binary);
CREATE TABLE workers_binary (a int CHECK (a <> 15000), b text, c numeric);
CREATE FUNCTION pg_temp.load_binary(content bytea, options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_workers_broken';
	object oid := lo_from_bytea(0, content);
	r record;
	context text;
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	FOR size IN 1000 .. 4500 BY 1700 LOOP
		PERFORM set_config('pgbulk.chunk_size', size::text, false);
		FOR n IN 0 .. 2 LOOP
			BEGIN
				TRUNCATE workers_binary;
				SELECT * INTO r FROM bulk_load('workers_binary', path, jsonb_build_object('format', 'binary', 'workers', n) || options);
				RETURN NEXT format('%s of %s rows, %s bytes%s', r.rows_loaded, r.rows_read, r.bytes_read,
					CASE WHEN (r.workers > 0) <> (n > 0 AND current_setting('server_version_num')::int >= 170000) THEN ' ' || r.workers || ' workers' ELSE '' END);
				RETURN NEXT (SELECT format('%s in order, sum %s', bool_and(ordered), sum(a)) FROM
					(SELECT a, a > lag(a, 1, 0) OVER (ORDER BY ctid) AS ordered FROM workers_binary) x);
			EXCEPTION WHEN others THEN
				GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
				RETURN NEXT SQLSTATE || ' ' || SQLERRM || ' ' || substring(context, 'line [0-9]*');
			END;
		END LOOP;
	END LOOP;
END $$;
CREATE TEMP TABLE good AS SELECT pg_read_binary_file('/proc/self/cwd/pgbulk_workers_binary') AS b;
CREATE TEMP TABLE bad AS SELECT 'CHECK' AS how, b FROM good
	UNION ALL SELECT 'cut off', substr(b, 1, length(b) - 10) FROM good
	UNION ALL SELECT 'without an end marker', substr(b, 1, length(b) - 2) FROM good
	UNION ALL SELECT 'something behind it', b || '\x00' FROM good
	UNION ALL SELECT 'rows behind it', b || substr(b, 20) FROM good
	UNION ALL SELECT 'a bad size', substr(b, 1, length(b) - 2) || '\x00010fffffff' || substr(b, 20) FROM good
	UNION ALL SELECT 'negative fields', substr(b, 1, length(b) - 2) || '\xfffe' || substr(b, 20) FROM good
	UNION ALL SELECT 'too many fields', substr(b, 1, length(b) - 2) || '\x00040000000101000000010100000001010000000101' || substr(b, 20) FROM good
	UNION ALL SELECT 'a bad value', substr(b, 1, length(b) - 2) || '\x00030000000101ffffffffffffffff' || substr(b, 20) FROM good;
SELECT how, load, count(*) FROM bad, pg_temp.load_binary(b, '{"on_error": "ignore", "log_verbosity": "silent"}') load GROUP BY 1, 2 ORDER BY how COLLATE "C", load COLLATE "C";
SELECT how, load, count(*) FROM bad, pg_temp.load_binary(b, '{"where": "a <> 15000"}') load GROUP BY 1, 2 ORDER BY how COLLATE "C", load COLLATE "C";
SELECT load, count(*) FROM good, pg_temp.load_binary(b, '{"limit": 14321}') load GROUP BY 1 ORDER BY 1;
SET client_encoding = 'LATIN1';
SET pgbulk.chunk_size = 4096;
TRUNCATE workers_binary;
SELECT rows_loaded, workers, details ->> 'no_workers' IS NOT NULL AS no_workers FROM bulk_load('workers_binary', '/proc/self/cwd/pgbulk_workers_binary', '{"format": "binary", "workers": 2, "limit": 14999}');
RESET client_encoding;
DROP TABLE workers_binary;

-- what workers cannot help with
TRUNCATE workers_t;
CREATE FUNCTION workers_unsafe(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS 'BEGIN RETURN true; END';
SELECT pg_temp.load('workers_t', '{"workers": 2, "where": "workers_unsafe(a)"}');
ALTER TABLE workers_t ADD CHECK (workers_unsafe(a));
TRUNCATE workers_t;
SELECT pg_temp.load('workers_t', '{"workers": 2}');
-- nor what is unsafe in an argument's or a type's default
CREATE FUNCTION workers_stable() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL UNSAFE AS 'BEGIN RETURN true; END';
CREATE FUNCTION workers_argument(i int, safe boolean DEFAULT workers_stable()) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS 'BEGIN RETURN safe; END';
CREATE DOMAIN workers_domain AS boolean DEFAULT workers_stable();
CREATE TABLE workers_defaults (a int, b text, c numeric, CHECK (workers_argument(a)));
SELECT pg_temp.load('workers_defaults', '{"workers": 2}');
CREATE TABLE workers_type (a int, b text, c numeric, d workers_domain);
SELECT pg_temp.load('workers_type', '{"workers": 2, "columns": ["a", "b", "c"]}');
DROP TABLE workers_defaults, workers_type;
DROP DOMAIN workers_domain;
DROP FUNCTION workers_argument, workers_stable;
CREATE TEMP TABLE workers_temp (a int, b text, c numeric);
SELECT pg_temp.load('workers_temp', '{"workers": 2}');
CREATE TABLE workers_short (id smallserial, a int, b text, c numeric);
ALTER SEQUENCE workers_short_id_seq MAXVALUE 20500;
SELECT pg_temp.load('workers_short', '{"workers": 2, "columns": ["a", "b", "c"]}');
SET max_parallel_workers = 0;
CREATE TABLE workers_none (a int, b text, c numeric);
SELECT pg_temp.load('workers_none', '{"workers": 2}');
RESET max_parallel_workers;
RESET pgbulk.chunk_size;
DROP TABLE workers_t, workers_copy, workers_temp, workers_short, workers_none;
DROP FUNCTION workers_unsafe;
