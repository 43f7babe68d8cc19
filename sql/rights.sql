--
-- What a role may do and see: beside test/differential/rights.py, which compares privileges with COPY's.
--
SET client_min_messages = warning;
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_rights_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
SELECT pg_temp.put('1', E'1,one\n2,two\n3,three\n') AS f, pg_temp.put('2', E'1,one\nx,two\n3,three\n') AS bad \gset
CREATE ROLE regress_pgbulk_rights;
CREATE ROLE regress_pgbulk_rights_other;
GRANT pg_read_server_files TO regress_pgbulk_rights;
\set VERBOSITY terse

-- a generated column whose function may not be called fails the load, not its first row
CREATE FUNCTION rights_twice(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN i * 2; END';
CREATE FUNCTION rights_thrice(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN i * 3; END';
REVOKE EXECUTE ON FUNCTION rights_thrice FROM PUBLIC;
CREATE TABLE rights_t (a int, b text, c int GENERATED ALWAYS AS (rights_twice(a)) STORED, d int GENERATED ALWAYS AS (rights_thrice(a)) STORED);
GRANT ALL ON rights_t TO regress_pgbulk_rights;
SET ROLE regress_pgbulk_rights;
SELECT rows_loaded, rows_rejected FROM bulk_load('rights_t', :'f', '{"on_error": "ignore"}');
SELECT rows_loaded, rows_rejected FROM bulk_load('rights_t', :'f', '{"on_error": "set_null", "writer": "direct"}');
RESET ROLE;
-- even if that changes on the way
CREATE FUNCTION rights_become() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.a = 1 THEN
		SET ROLE regress_pgbulk_rights;
	ELSE
		RESET ROLE;
	END IF;
	NEW.b := current_user <> session_user;
	RETURN NEW;
END $$;
CREATE TRIGGER become BEFORE INSERT ON rights_t FOR EACH ROW EXECUTE FUNCTION rights_become();
SELECT rows_loaded, rows_rejected FROM bulk_load('rights_t', :'f', '{"on_error": "ignore"}');
SELECT * FROM rights_t ORDER BY a;
SELECT current_user = session_user AS same;
DROP TABLE rights_t;

-- what a definer's function throws leaves the role and the settings as they were
CREATE FUNCTION rights_definer(i int) RETURNS bool SECURITY DEFINER SET search_path = pg_catalog SET work_mem = '1MB' LANGUAGE plpgsql AS $$
BEGIN
	RETURN 10 / (i - 2) <> 0;
END $$;
CREATE TABLE rights_t (a int CHECK (rights_definer(a)), b text DEFAULT current_user);
CREATE TABLE rights_r (load_id bigint, target text, loaded_at timestamptz, file text, line_number bigint, byte_offset bigint, reason text, column_name text, field_value text,
	sqlstate text, message text, raw_line text, raw_bytes bytea);
GRANT ALL ON rights_t, rights_r TO regress_pgbulk_rights;
SET ROLE regress_pgbulk_rights;
SELECT rows_loaded, rows_rejected FROM bulk_load('rights_t', :'f', '{"on_error": "ignore", "reject_table": "rights_r", "columns": ["a", null], "where": "rights_definer(a + 1)", "log_verbosity": "silent"}');
SELECT current_user, current_setting('work_mem') <> '1MB' AS own, current_setting('search_path') AS path;
RESET ROLE;
SELECT * FROM rights_t;
SELECT line_number, message FROM rights_r ORDER BY line_number;
DROP TABLE rights_t;

-- the result of a load is for those who may act as the role that loaded
CREATE TABLE rights_t (a int, b text);
GRANT INSERT ON rights_t TO regress_pgbulk_rights;
SET ROLE regress_pgbulk_rights;
SELECT rows_loaded FROM bulk_load('rights_t', :'bad', '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT rows_loaded, details -> 'rejects' IS NOT NULL AS rejects FROM bulk_load_last();
SET ROLE regress_pgbulk_rights_other;
SELECT rows_loaded, details FROM bulk_load_last();
RESET ROLE;
SELECT rows_loaded FROM bulk_load_last();
GRANT regress_pgbulk_rights TO regress_pgbulk_rights_other;
SET ROLE regress_pgbulk_rights_other;
SELECT rows_loaded FROM bulk_load_last();
RESET ROLE;
REVOKE regress_pgbulk_rights FROM regress_pgbulk_rights_other;
CREATE FUNCTION rights_load(f text) RETURNS bigint SECURITY DEFINER LANGUAGE sql AS $$ SELECT rows_loaded FROM bulk_load('rights_t', f) $$;
SET ROLE regress_pgbulk_rights;
SELECT rights_load(:'f');
SELECT rows_loaded FROM bulk_load_last();
RESET ROLE;

-- files: who may not read them learns nothing of them
SET ROLE regress_pgbulk_rights_other;
SELECT rows_loaded FROM bulk_load('rights_t', :'f');
RESET ROLE;
GRANT INSERT ON rights_t TO regress_pgbulk_rights_other;
SET ROLE regress_pgbulk_rights_other;
SELECT rows_loaded FROM bulk_load('rights_t', :'f');
SELECT rows_loaded FROM bulk_load('rights_t', '/proc/self/cwd/pgbulk_rights_none');
SELECT rows_loaded FROM bulk_load('rights_t', '/proc/self/cwd/pgbulk_rights_*');
SELECT rows_loaded FROM bulk_load('rights_t', ARRAY['stdin', '/proc/self/cwd/pgbulk_rights_none']);
COPY rights_t FROM '/proc/self/cwd/pgbulk_rights_none' (on_error ignore);
SELECT format FROM bulk_inspect(:'f');
SELECT format FROM bulk_inspect('/proc/self/cwd/pgbulk_rights_none');
SELECT statement FROM bulk_load_control('/proc/self/cwd/pgbulk_rights_none');
RESET ROLE;
SET ROLE regress_pgbulk_rights;
-- nor writes them
SELECT rows_loaded FROM bulk_load('rights_t', :'bad', '{"on_error": "ignore", "reject_file": "/proc/self/cwd/pgbulk_rights_rejects"}');
SELECT rows_loaded FROM bulk_load('rights_t', :'bad', '{"on_error": "ignore", "reject_file": "/proc/self/cwd/pgbulk_rights_none/none"}');
-- of files, regular ones and pipes alone are read
SELECT rows_loaded FROM bulk_load('rights_t', '/dev/null');
SELECT rows_loaded FROM bulk_load('rights_t', '/proc/self/cwd');
SELECT rows_loaded FROM bulk_load('rights_t', 'pgbulk_rights_1');
RESET ROLE;
SELECT pg_stat_file('/proc/self/cwd/pgbulk_rights_rejects', true) IS NULL AS none;

-- an extension in a schema of others: they neither replace what is in it nor are called
CREATE SCHEMA rights_theirs AUTHORIZATION regress_pgbulk_rights_other;
SET ROLE regress_pgbulk_rights_other;
CREATE FUNCTION rights_theirs.bulk_load_last() RETURNS int LANGUAGE sql AS 'SELECT 1';
RESET ROLE;
DROP EXTENSION pgbulk;
CREATE EXTENSION pgbulk SCHEMA rights_theirs;
DROP FUNCTION rights_theirs.bulk_load_last();
CREATE EXTENSION pgbulk SCHEMA rights_theirs;
SET ROLE regress_pgbulk_rights_other;
CREATE OR REPLACE FUNCTION rights_theirs.bulk_load_last() RETURNS int LANGUAGE sql AS 'SELECT 1';
ALTER SEQUENCE rights_theirs.bulk_load_id RENAME TO another;
DROP VIEW rights_theirs.bulk_load_progress;
CREATE OR REPLACE VIEW rights_theirs.bulk_load_statements AS SELECT 1;
SELECT nextval('rights_theirs.bulk_load_id');
RESET ROLE;
SELECT rows_loaded, details ->> 'load_id' = (SELECT last_value::text FROM rights_theirs.bulk_load_id) AS numbered FROM rights_theirs.bulk_load('rights_t', :'f');
-- their call of a function that is not there
SET search_path = rights_theirs, public;
CREATE FUNCTION rights_theirs.rights_twice(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END';
CREATE TABLE public.rights_g (a int, b text, c int GENERATED ALWAYS AS (public.rights_twice(a)) STORED);
SELECT rows_loaded FROM bulk_load('public.rights_g', :'f');
RESET search_path;
DROP EXTENSION pgbulk;
DROP SCHEMA rights_theirs CASCADE;
CREATE EXTENSION pgbulk;

-- expressions of an index that is built here are evaluated as its table's owner, in workers, too
CREATE FUNCTION rights_who(i int) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN current_user; END';
CREATE TABLE rights_owned (a int) WITH (parallel_workers = 2);
INSERT INTO rights_owned SELECT generate_series(1, 5000);
ALTER TABLE rights_owned OWNER TO regress_pgbulk_rights_other;
SELECT rows_loaded FROM bulk_load_last();	-- loads the library
SET pgbulk.create_index = on;
SET pgbulk.debug_create_index = on;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE INDEX rights_i ON rights_owned (rights_who(a), a);
SELECT count(*) FROM rights_owned WHERE rights_who(a) = 'regress_pgbulk_rights_other';
SET max_parallel_maintenance_workers = 0;
REINDEX INDEX rights_i;
SELECT count(*) FROM rights_owned WHERE rights_who(a) = 'regress_pgbulk_rights_other';
SELECT statement, taken, count FROM bulk_load_statements;
RESET pgbulk.create_index;
RESET pgbulk.debug_create_index;
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET max_parallel_maintenance_workers;
DROP TABLE rights_owned;

-- another role sees of a load what it sees of a COPY: that there is one
CREATE TABLE rights_seen (pid int, datname name, relation text, rows_loaded bigint);
GRANT INSERT, SELECT ON rights_seen TO regress_pgbulk_rights_other;
CREATE FUNCTION rights_look() RETURNS bool SECURITY DEFINER LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO rights_seen SELECT pid, datname, relation, rows_loaded FROM bulk_load_progress_wide WHERE datname = current_database();
	RETURN true;
END $$;
ALTER FUNCTION rights_look OWNER TO regress_pgbulk_rights_other;
SELECT rows_loaded FROM bulk_load('rights_t', :'f', '{"where": "rights_look()", "limit": 1}');
SELECT count(*) FROM rights_seen;
GRANT pg_read_all_stats TO regress_pgbulk_rights_other;
SELECT rows_loaded FROM bulk_load('rights_t', :'f', '{"where": "rights_look()", "limit": 1}');
SELECT relation FROM rights_seen;
REVOKE pg_read_all_stats FROM regress_pgbulk_rights_other;
DROP TABLE rights_seen;

-- settings and options that anyone may set have bounds
SET ROLE regress_pgbulk_rights;
\set VERBOSITY sqlstate
SET pgbulk.chunk_size = 15;
SET pgbulk.chunk_size = '257MB';
SET pgbulk.copy_min_size = -1;
\set VERBOSITY terse
SET pgbulk.unknown = 1;
SELECT rows_loaded FROM bulk_load('rights_t', :'f', '{"max_rate": 0}');
SELECT rows_loaded FROM bulk_load('rights_t', :'f', '{"workers": 2000}');
SELECT rows_loaded FROM bulk_load('rights_t', :'f', '{"max_lag": -1}');
RESET ROLE;

-- temporary tables of a security-restricted operation
CREATE FUNCTION rights_within(t int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	PERFORM public.bulk_load('public.rights_t', '/proc/self/cwd/pgbulk_rights_2', '{"on_error": "ignore", "reject_table": "pg_temp.rights_new"}');
	RETURN t;
END $$;
CREATE MATERIALIZED VIEW rights_m AS SELECT rights_within(1) WITH NO DATA;
REFRESH MATERIALIZED VIEW rights_m;
DROP MATERIALIZED VIEW rights_m;

DROP TABLE rights_t, rights_r, rights_g;
DROP FUNCTION rights_twice, rights_thrice, rights_become, rights_definer, rights_load, rights_within, rights_who, rights_look;
DROP OWNED BY regress_pgbulk_rights, regress_pgbulk_rights_other;
DROP ROLE regress_pgbulk_rights, regress_pgbulk_rights_other;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_rights_gone; rm -f pgbulk_rights_*';
