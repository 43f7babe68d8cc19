--
-- The extension is trusted: who may create objects in a database may create it there.  That gives nobody what a
-- superuser would have to give.
--
SET client_min_messages = warning;
DROP EXTENSION pgbulk;
CREATE ROLE regress_pgbulk_owner;
CREATE ROLE regress_pgbulk_nobody;
GRANT ALL ON SCHEMA public TO regress_pgbulk_nobody;

-- who may not create objects may not
SET ROLE regress_pgbulk_nobody;
CREATE EXTENSION pgbulk;
RESET ROLE;

SELECT current_database() AS database \gset
GRANT CREATE ON DATABASE :"database" TO regress_pgbulk_owner;
SET ROLE regress_pgbulk_owner;
CREATE SCHEMA trusted;
CREATE EXTENSION pgbulk SCHEMA trusted;
SET search_path = trusted, public;

-- what it consists of is a superuser's
SELECT DISTINCT proowner = extowner AS of_owner, r.rolsuper
FROM pg_extension e JOIN pg_depend d ON d.refobjid = e.oid AND deptype = 'e' JOIN pg_proc p ON p.oid = d.objid JOIN pg_roles r ON r.oid = proowner
WHERE extname = 'pgbulk';
SELECT relname, relkind, relowner = extowner AS of_owner, r.rolsuper
FROM pg_extension e JOIN pg_depend d ON d.refobjid = e.oid AND deptype = 'e' JOIN pg_class c ON c.oid = d.objid JOIN pg_roles r ON r.oid = relowner
WHERE extname = 'pgbulk' ORDER BY 1;
SELECT setval('bulk_load_id', 7);
ALTER FUNCTION bulk_load_last() SECURITY DEFINER;
CREATE OR REPLACE FUNCTION bulk_load_last() RETURNS record LANGUAGE sql AS 'SELECT 1, 2';
DROP FUNCTION bulk_load_last();
DROP SEQUENCE bulk_load_id;

-- what it can do: load what it can read into what it can write
CREATE TABLE trusted_t (a int PRIMARY KEY, b text);
SELECT rows_loaded, writer, details -> 'load_id' AS load_id
FROM bulk_load_query('trusted_t', 'SELECT i, ''b'' FROM generate_series(1, 1000) i');

-- what it cannot: read or write any file
CREATE FUNCTION trusted_try(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'DONE';
EXCEPTION WHEN OTHERS THEN
	RETURN concat(SQLSTATE, ' ', SQLERRM);
END $$;
SELECT statement, trusted_try(statement) FROM unnest(ARRAY[
	$$SELECT bulk_load('trusted_t', '/etc/passwd')$$,
	$$SELECT bulk_load('trusted_t', '/etc/pass*d')$$,
	$$SELECT bulk_load('trusted_t', '/etc/nowhere*')$$,
	$$SELECT bulk_load('trusted_t', '/nowhere')$$,
	$$SELECT bulk_load('trusted_t', ARRAY['/etc/passwd', '/etc/group'])$$,
	$$SELECT bulk_load('trusted_t', '/etc/passwd', '{"dry_run": true}')$$,
	$$SELECT bulk_load('trusted_t', '/etc/passwd', '{"format": "binary"}')$$,
	$$SELECT bulk_load('trusted_t', '/etc/passwd', '{"delimiter": "auto", "header": "auto"}')$$,
	$$SELECT bulk_inspect('/etc/passwd')$$,
	$$SELECT bulk_load_control('/etc/passwd')$$,
	$$SELECT bulk_load_query('trusted_t', 'SELECT 1, 2', '{"on_error": "ignore", "reject_file": "/tmp/pgbulk_trusted"}')$$,
	$$SELECT bulk_load_query('trusted_t', 'SELECT 1, pg_read_file(''/etc/passwd'')')$$,
	$$COPY trusted_t FROM '/etc/passwd' WITH (FORMAT csv, REJECT_TABLE 'trusted_rejects', ON_ERROR ignore)$$,
	$$COPY trusted_t FROM '/etc/passwd' WITH (FORMAT csv, HEADER map)$$
	]) statement;
SET pgbulk.copy = exclusive;
SELECT left(trusted_try($$COPY trusted_t FROM '/etc/passwd'$$), 5) AS sqlstate;
RESET pgbulk.copy;

-- or write tables that are not its own
RESET ROLE;
CREATE TABLE public.trusted_foreign (a int, b text);
SET ROLE regress_pgbulk_owner;
SELECT statement, trusted_try(statement) FROM unnest(ARRAY[
	$$SELECT bulk_load_query('trusted_foreign', 'SELECT 1, 2')$$,
	$$SELECT bulk_load_query('trusted_foreign', 'SELECT 1, 2', '{"truncate": true}')$$,
	$$SELECT bulk_load_query('pg_catalog.pg_authid', 'SELECT 1')$$,
	$$SELECT bulk_load_retry('trusted_foreign', 'trusted_foreign', 1)$$
	]) statement;

-- it goes as any object of the owner
DROP EXTENSION pgbulk;

-- an update by somebody else leaves it the owner's
CREATE EXTENSION pgbulk SCHEMA trusted VERSION '1.0';
RESET ROLE;
ALTER EXTENSION pgbulk UPDATE;
SELECT extowner::regrole FROM pg_extension WHERE extname = 'pgbulk';
DROP EXTENSION pgbulk;

-- who owns the database restores numbers and history, whoever has created the extension
CREATE EXTENSION pgbulk SCHEMA trusted;
SELECT rows_loaded FROM bulk_load_query('trusted_foreign', 'SELECT 1, 2', '{"history": true}');
ALTER DATABASE :"database" OWNER TO regress_pgbulk_owner;
SET ROLE regress_pgbulk_owner;
INSERT INTO bulk_load_history TABLE bulk_load_history;
INSERT INTO bulk_load_unlogged TABLE bulk_load_unlogged;
SELECT setval('bulk_load_id', 7);
DELETE FROM bulk_load_history;
ALTER SEQUENCE bulk_load_id INCREMENT 2;
RESET ROLE;
ALTER DATABASE :"database" OWNER TO :"USER";
SET ROLE regress_pgbulk_owner;
INSERT INTO bulk_load_history TABLE bulk_load_history;
SELECT setval('bulk_load_id', 7);
RESET ROLE;
SELECT details -> 'load_id' AS load_id FROM bulk_load_query('trusted_foreign', 'SELECT 1, 2');
DROP EXTENSION pgbulk;

-- an owner of any name may leave, and dumps tell of no privilege
CREATE ROLE "regress_pgbulk $'\""";
GRANT CREATE ON DATABASE :"database" TO "regress_pgbulk $'\""";
GRANT ALL ON SCHEMA trusted TO "regress_pgbulk $'\""";
SET ROLE "regress_pgbulk $'\""";
CREATE EXTENSION pgbulk SCHEMA trusted;
RESET ROLE;
REASSIGN OWNED BY "regress_pgbulk $'\""" TO regress_pgbulk_owner;
DROP OWNED BY "regress_pgbulk $'\""";
DROP ROLE "regress_pgbulk $'\""";
SELECT extowner::regrole FROM pg_extension WHERE extname = 'pgbulk';
SELECT objoid::regclass FROM pg_init_privs, aclexplode(initprivs) WHERE grantee <> 0 AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = grantee);
SELECT c.oid::regclass FROM pg_depend d JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid LEFT JOIN pg_init_privs i ON i.classoid = d.classid AND i.objoid = c.oid
WHERE d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pgbulk') AND c.relacl::text IS DISTINCT FROM i.initprivs::text;
DROP EXTENSION pgbulk;
RESET search_path;
DROP SCHEMA trusted CASCADE;
DROP TABLE trusted_foreign;
REVOKE CREATE ON DATABASE :"database" FROM regress_pgbulk_owner;
REVOKE ALL ON SCHEMA public FROM regress_pgbulk_nobody;
DROP ROLE regress_pgbulk_owner, regress_pgbulk_nobody;
CREATE EXTENSION pgbulk;
