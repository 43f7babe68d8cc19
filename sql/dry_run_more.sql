--
-- Dry runs: whose privileges deferred triggers have, what triggers do before the first row, sequences named by text.
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

-- what the caller has deferred runs with the caller's privileges, not with those of a function around the dry run
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
	RAISE INFO 'deferred trigger, as its caller: %', current_user = 'regress_pgbulk_dry_more';
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER say AFTER INSERT ON dry_more.t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dry_more.say();
BEGIN;
INSERT INTO dry_more.t VALUES (1);
SELECT dry_more_wrap(:'f', '{"dry_run": true}');
COMMIT;
RESET ROLE;
-- and afterwards the function continues with its own
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

-- rows that triggers insert before the first row of the load are removed, too: they are more than a page
CREATE FUNCTION dry_more_sizes(relid regclass) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(format('%s %s', c.relname, pg_relation_size(c.oid)), ', ' ORDER BY c.relname)
	FROM pg_class c WHERE c.oid = relid OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = relid)
$$;
CREATE FUNCTION dry_more_compare(relid regclass, path text, options jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	sizes text := dry_more_sizes(relid);
	loaded bigint;
BEGIN
	SELECT rows_loaded INTO loaded FROM bulk_load(relid, path, options || '{"dry_run": true}');
	RETURN format('%s rows, %s', loaded, CASE dry_more_sizes(relid) WHEN sizes THEN 'nothing stays' ELSE sizes || ' before, then ' || dry_more_sizes(relid) END);
END $$;
CREATE FUNCTION dry_more_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 AND (TG_LEVEL = 'STATEMENT' OR NEW.k = 1) THEN
		EXECUTE format('INSERT INTO %I SELECT -i, -1 FROM generate_series(1, 1000) i', TG_TABLE_NAME);
	END IF;
	RETURN NEW;
END $$;
CREATE TABLE dry_more_row (k int PRIMARY KEY, v int) WITH (autovacuum_enabled = false);
CREATE TABLE dry_more_statement (LIKE dry_more_row INCLUDING ALL) WITH (autovacuum_enabled = false);
CREATE TRIGGER r BEFORE INSERT ON dry_more_row FOR EACH ROW EXECUTE FUNCTION dry_more_insert();
CREATE TRIGGER s BEFORE INSERT ON dry_more_statement EXECUTE FUNCTION dry_more_insert();
SELECT dry_more_compare('dry_more_row', :'f', '{}');
SELECT dry_more_compare('dry_more_statement', :'f', '{"writer": "buffered"}');
INSERT INTO dry_more_row VALUES (1000, 1);
SELECT dry_more_compare('dry_more_row', :'f', '{"on_duplicate": "keep_old"}');
CREATE TABLE dry_more_parts (k int, v int) PARTITION BY LIST (v);
CREATE TABLE dry_more_rest PARTITION OF dry_more_parts DEFAULT WITH (autovacuum_enabled = false);
CREATE INDEX ON dry_more_rest (k);
CREATE TRIGGER r BEFORE INSERT ON dry_more_rest FOR EACH ROW EXECUTE FUNCTION dry_more_insert();
SELECT dry_more_sizes('dry_more_rest') AS before \gset
SELECT rows_loaded FROM bulk_load('dry_more_parts', :'f', '{"dry_run": true}');
SELECT dry_more_sizes('dry_more_rest') = :'before' AS nothing_stays;

-- sequences that a default names by text
CREATE SEQUENCE dry_more_sequence;
CREATE TABLE dry_more_named (a bigint DEFAULT nextval(('dry_more_sequence'::text)::regclass), b bigint DEFAULT nextval('public.dry_more_sequence'::varchar::text::regclass),
	d bigint DEFAULT nextval('dry_more_gone'::text::regclass), k int, v int);
SELECT rows_loaded FROM bulk_load('dry_more_named', :'f', '{"columns": ["d", "v"], "dry_run": true}');
SELECT last_value, is_called FROM dry_more_sequence;
SELECT rows_loaded FROM bulk_load('dry_more_named', :'f', '{"columns": ["k", "v"], "dry_run": true}');

-- nor can VACUUM process the TOAST table before the transaction ends
CREATE TABLE dry_more_wide (k int, s text);
BEGIN;
SELECT rows_loaded FROM bulk_load('dry_more_wide', :'f', '{"dry_run": true}');
SELECT mode FROM pg_locks l JOIN pg_class c ON l.relation = c.reltoastrelid
WHERE c.oid = 'dry_more_wide'::regclass AND pid = pg_backend_pid() AND mode = 'ShareUpdateExclusiveLock';
COMMIT;

DROP FUNCTION dry_more_wrap, dry_more_user, dry_more_sizes, dry_more_compare;
DROP TABLE dry_more_target, dry_more_row, dry_more_statement, dry_more_parts, dry_more_named, dry_more_wide;
DROP SEQUENCE dry_more_sequence;
DROP FUNCTION dry_more_insert;
