--
-- Dry runs: whose rights deferred triggers have, what triggers do before the first row, sequences named otherwise.
--
\set VERBOSITY terse
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_dry_run_more_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
SELECT pg_temp.put('in', string_agg(format(E'%s,%s\n', i, i % 10), '' ORDER BY i)) AS f FROM generate_series(1, 100) i \gset

-- what the caller has deferred runs with the caller's rights, not with those of a function around the dry run
CREATE TABLE dry_more_target (k int, v int);
CREATE FUNCTION dry_more_wrap(path text, options jsonb) RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
	SELECT rows_loaded FROM bulk_load('dry_more_target', path, options)
$$;
CREATE ROLE regress_pgbulk_dry_more;
CREATE SCHEMA dry_more AUTHORIZATION regress_pgbulk_dry_more;
SET ROLE regress_pgbulk_dry_more;
CREATE TABLE dry_more.t (i int);
CREATE FUNCTION dry_more.say() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'deferred trigger, as its caller: %', current_user = 'regress_pgbulk_dry_more';
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER say AFTER INSERT ON dry_more.t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dry_more.say();
BEGIN;
INSERT INTO dry_more.t VALUES (1);
SELECT dry_more_wrap(:'f', '{"dry_run": true}');
COMMIT;
RESET ROLE;
-- and afterwards the function goes on with its own
CREATE FUNCTION dry_more_user(path text) RETURNS bool LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
	PERFORM bulk_load('dry_more_target', path, '{"dry_run": true}');
	RETURN current_user <> 'regress_pgbulk_dry_more';
END $$;
SET ROLE regress_pgbulk_dry_more;
SELECT dry_more_user(:'f');
RESET ROLE;
DROP OWNED BY regress_pgbulk_dry_more;
DROP ROLE regress_pgbulk_dry_more;
DROP FUNCTION dry_more_wrap, dry_more_user;
DROP TABLE dry_more_target;
