--
-- From version 1.0 to the newest, in a database of its own.
--
CREATE DATABASE regress_pgbulk_update TEMPLATE template0 ENCODING 'UTF8';
\set before :DBNAME
\c regress_pgbulk_update
SET client_min_messages = warning;

-- What the extension consists of: every object with all that can be said of it.
CREATE FUNCTION parts() RETURNS TABLE (object text, what text) LANGUAGE sql AS $$
	WITH members AS (
		SELECT classid, objid FROM pg_depend
		WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
			AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pgbulk')),
	relations AS (SELECT c.* FROM pg_class c JOIN members ON classid = 'pg_class'::regclass AND objid = c.oid)
	SELECT pg_describe_object(classid, objid, 0), concat_ws(' ', obj_description(objid, classid::regclass::name),
		(SELECT initprivs FROM pg_init_privs i WHERE i.classoid = classid AND i.objoid = objid AND objsubid = 0))
	FROM members
	UNION ALL
	SELECT p.oid::regprocedure::text, concat_ws(' ', pg_get_functiondef(p.oid), pg_get_function_result(p.oid), p.proacl, p.proowner::regrole)
	FROM pg_proc p JOIN members ON classid = 'pg_proc'::regclass AND objid = p.oid
	UNION ALL
	SELECT r.oid::regclass::text, concat_ws(' ', r.relkind, r.relacl, r.relowner::regrole, r.reloptions, r.relpersistence,
		CASE WHEN r.relkind = 'v' THEN pg_get_viewdef(r.oid) END)
	FROM relations r
	UNION ALL
	SELECT concat(r.oid::regclass, '.', a.attnum), concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attacl,
		col_description(r.oid, a.attnum), pg_get_expr(d.adbin, d.adrelid))
	FROM relations r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 LEFT JOIN pg_attrdef d ON d.adrelid = r.oid AND d.adnum = a.attnum
	UNION ALL
	SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN relations r ON r.oid = i.indrelid
	UNION ALL
	SELECT t.tgname, concat_ws(' ', pg_get_triggerdef(t.oid), obj_description(t.oid, 'pg_trigger')) FROM pg_trigger t JOIN relations r ON r.oid = t.tgrelid
	UNION ALL
	SELECT 'configuration', concat(c::regclass, ' ', f) FROM pg_extension, unnest(extconfig, extcondition) u (c, f) WHERE extname = 'pgbulk'
	UNION ALL
	SELECT 'version', concat_ws(' ', extversion, extrelocatable, obj_description(oid, 'pg_extension')) FROM pg_extension WHERE extname = 'pgbulk'
$$;

-- it needs no other extension
DROP EXTENSION plpgsql;
CREATE EXTENSION pgbulk;
CREATE TABLE fresh AS SELECT * FROM parts();
DROP EXTENSION pgbulk;
CREATE EXTENSION pgbulk VERSION '1.0';
-- what is looked at does differ
SELECT object, what FROM parts() WHERE object IN ('version', 'configuration');
SELECT count(*) > 50 AS differs FROM (TABLE fresh EXCEPT SELECT * FROM parts()) f;

-- 1.0 with the library of today
CREATE TABLE update_t (a int PRIMARY KEY, b text);
COPY (VALUES (1, 'one'), (2, 'two'), (NULL, 'bad')) TO PROGRAM 'cat > pgbulk_update' WITH (format csv);
SELECT rows_loaded, rows_rejected, writer, details -> 'load_id' AS load_id
FROM bulk_load('update_t', '/proc/self/cwd/pgbulk_update', '{"on_error": "ignore", "reject_table": "update_rejects"}');
SELECT rows_loaded, rows_replaced, rows_filtered FROM bulk_load('update_t', ARRAY['/proc/self/cwd/pgbulk_update'], '{"on_error": "ignore", "on_duplicate": "keep_new", "where": "a < 2"}');
SELECT (bulk_load_query('update_t', 'SELECT 3, ''three''')).rows_read;
SELECT rows_loaded, rows_rejected FROM bulk_load_retry('update_t', 'update_rejects', 1);
SELECT pid, relation, percent FROM bulk_load_progress WHERE relation IS NOT NULL;
SELECT pid, bytes_total FROM bulk_load_progress_wide WHERE datname = current_database();
SELECT format FROM bulk_inspect('/proc/self/cwd/pgbulk_update');
COPY update_t FROM '/proc/self/cwd/pgbulk_update' WITH (format csv, on_error ignore, on_duplicate keep_old);
-- what it has not is said in words
SELECT rows_loaded FROM bulk_load('update_t', '/proc/self/cwd/pgbulk_update', '{"once": true}');
SET pgbulk.history = on;
SELECT rows_loaded FROM bulk_load('update_t', '/proc/self/cwd/pgbulk_update', '{"on_duplicate": "keep_old", "on_error": "ignore"}');
RESET pgbulk.history;
SELECT rows_loaded FROM bulk_load_query('update_t', 'SELECT 3, ''gone''', '{"on_duplicate": {"set": "all", "delete": "new.b = ''gone''"}}');
SELECT * FROM update_t ORDER BY a;

-- the same as a new one; rejects' numbers go on
ALTER EXTENSION pgbulk UPDATE;
SELECT * FROM (TABLE fresh EXCEPT SELECT * FROM parts()) missing;
SELECT * FROM (SELECT * FROM parts() EXCEPT TABLE fresh) added;
SELECT details -> 'load_id' AS load_id, rows_deleted FROM bulk_load_query('update_t', 'SELECT 3, ''gone''', '{"on_duplicate": {"set": "all", "delete": "new.b = ''gone''"}}');
SELECT rows_loaded FROM bulk_load('update_t', '/proc/self/cwd/pgbulk_update', '{"once": true, "on_error": "ignore", "on_duplicate": "keep_old"}');
SELECT relation, file, files FROM bulk_loads;
-- who has another library than functions is told so, and which is older
BEGIN;
UPDATE pg_proc SET proallargtypes = proallargtypes || 20::oid, proargmodes = proargmodes || 'o'::"char", proargnames = proargnames || 'rows_more'::text WHERE oid = 'bulk_load(regclass,text,jsonb)'::regprocedure;
SELECT rows_loaded FROM bulk_load('update_t', '/proc/self/cwd/pgbulk_update', '{"on_error": "ignore", "on_duplicate": "keep_old"}');
ROLLBACK;
UPDATE pg_proc SET proallargtypes = proallargtypes[:array_length(proallargtypes, 1) - 2], proargmodes = proargmodes[:array_length(proargmodes, 1) - 2],
	proargnames = proargnames[:array_length(proargnames, 1) - 2] WHERE oid = 'bulk_load(regclass,text,jsonb)'::regprocedure;
SELECT rows_loaded FROM bulk_load('update_t', '/proc/self/cwd/pgbulk_update', '{"on_error": "ignore", "on_duplicate": "keep_old"}');

COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_update; rm -f pgbulk_update';
\c :before
DROP DATABASE regress_pgbulk_update;
