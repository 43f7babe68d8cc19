--
-- Triggers: every kind fires as for COPY; rows that one suppresses are filtered ones.
--

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_triggers_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result of loading a file: the rows of the table, or the error.
CREATE FUNCTION pg_temp.try(target regclass, content text, options jsonb DEFAULT NULL)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	context text;
	hint text;
BEGIN
	EXECUTE 'TRUNCATE ' || target;
	SELECT * INTO r FROM bulk_load(target, pg_temp.put('in', content), options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	RETURN QUERY EXECUTE 'SELECT loaded_row::text FROM ' || target || ' loaded_row';
	RETURN NEXT format('%s read, %s loaded, %s rejected, %s filtered', r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_filtered);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT, hint = PG_EXCEPTION_HINT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	context := regexp_replace(substring(context, 'bulk_load of .*'), '\n(SQL statement|PL/pgSQL function).*', '');
	RETURN QUERY SELECT t FROM unnest(ARRAY[hint, context]) t WHERE t <> '';
END $$;

CREATE TABLE triggers_t (a int, b text);
CREATE TABLE triggers_log (n serial, what text);
CREATE FUNCTION triggers_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO triggers_log (what) VALUES (format('%s %s %s %s: %s, %s rows there', tg_name, tg_when, tg_op, tg_level, NEW, (SELECT count(*) FROM triggers_t)));
	RETURN NEW;
END $$;
CREATE FUNCTION triggers_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.a % 2 = 0 THEN
		RETURN NULL;
	END IF;
	NEW.b := coalesce(NEW.b, '') || '!';
	RETURN NEW;
END $$;
CREATE FUNCTION pg_temp.notes() RETURNS SETOF text LANGUAGE sql AS $$
	WITH gone AS (DELETE FROM triggers_log RETURNING n, what) SELECT what FROM gone ORDER BY n
$$;

-- statement triggers fire once, also for no rows
CREATE TRIGGER s1 BEFORE INSERT ON triggers_t FOR EACH STATEMENT EXECUTE FUNCTION triggers_note();
CREATE TRIGGER s2 AFTER INSERT ON triggers_t FOR EACH STATEMENT EXECUTE FUNCTION triggers_note();
CREATE TRIGGER s3 AFTER UPDATE OR DELETE ON triggers_t FOR EACH STATEMENT EXECUTE FUNCTION triggers_note();
SELECT pg_temp.try('triggers_t', E'1,x\n2,y\n');
SELECT pg_temp.notes();
SELECT pg_temp.try('triggers_t', '');
SELECT pg_temp.notes();
-- AFTER ROW sees all rows
CREATE TRIGGER r1 AFTER INSERT ON triggers_t FOR EACH ROW EXECUTE FUNCTION triggers_note();
SELECT pg_temp.try('triggers_t', E'1,x\n2,y\n3,z\n');
SELECT pg_temp.notes();
-- BEFORE ROW sees those loaded before it
CREATE TRIGGER r2 BEFORE INSERT ON triggers_t FOR EACH ROW EXECUTE FUNCTION triggers_note();
SELECT pg_temp.try('triggers_t', E'1,x\n2,y\n');
SELECT pg_temp.notes();
-- and may change or suppress a row
DROP TRIGGER r2 ON triggers_t;
CREATE TRIGGER r2 BEFORE INSERT ON triggers_t FOR EACH ROW EXECUTE FUNCTION triggers_change();
SELECT pg_temp.try('triggers_t', E'1,x\n2,y\n3,\n4,z\n');
SELECT pg_temp.notes();
-- only for some rows; after where, before constraints
DROP TRIGGER r2 ON triggers_t;
CREATE TRIGGER r2 BEFORE INSERT ON triggers_t FOR EACH ROW WHEN (NEW.a > 2) EXECUTE FUNCTION triggers_change();
ALTER TABLE triggers_t ADD CONSTRAINT marked CHECK (b <> 'z!');
SELECT pg_temp.try('triggers_t', E'1,x\n2,z!\n3,\n4,z!\n5,z\n7,y\n', '{"on_error": "ignore", "where": "a <> 7"}');
SELECT pg_temp.notes();
ALTER TABLE triggers_t DROP CONSTRAINT marked;
-- disabled ones and replica ones do not fire
ALTER TABLE triggers_t DISABLE TRIGGER ALL;
ALTER TABLE triggers_t ENABLE REPLICA TRIGGER s1;
SELECT pg_temp.try('triggers_t', E'1,x\n4,y\n');
SELECT pg_temp.notes();
DROP TABLE triggers_t;

-- an error in a trigger before the row is the row's fault; one after it ends the load, whatever on_error says
CREATE TABLE triggers_t (a int, b text);
CREATE FUNCTION triggers_throw() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM 1 / (NEW.a - 2);
	RETURN NEW;
END $$;
CREATE TRIGGER r BEFORE INSERT ON triggers_t FOR EACH ROW EXECUTE FUNCTION triggers_throw();
SELECT pg_temp.try('triggers_t', E'1,x\n2,y\n');
SELECT pg_temp.try('triggers_t', E'1,x\n2,y\n3,z\n', '{"on_error": "ignore"}');
DROP TRIGGER r ON triggers_t;
CREATE TRIGGER r AFTER INSERT ON triggers_t FOR EACH ROW EXECUTE FUNCTION triggers_throw();
SELECT pg_temp.try('triggers_t', E'1,x\n2,y\n3,z\n', '{"on_error": "ignore"}');
DROP TRIGGER r ON triggers_t;
-- a trigger may make a row bad
CREATE FUNCTION triggers_null() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.a := NULL; RETURN NEW; END';
CREATE TRIGGER r BEFORE INSERT ON triggers_t FOR EACH ROW EXECUTE FUNCTION triggers_null();
ALTER TABLE triggers_t ALTER a SET NOT NULL;
SELECT pg_temp.try('triggers_t', E'1,x\n', '{"on_error": "ignore"}');
DROP TABLE triggers_t;

-- transition tables hold what is in the table
CREATE TABLE triggers_t (a int, b text);
CREATE FUNCTION triggers_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO triggers_log (what) SELECT tg_name || ': ' || count(*) || ' rows, ' || coalesce(string_agg(b, ',' ORDER BY a), 'none') FROM new_rows;
	RETURN NULL;
END $$;
CREATE TRIGGER t1 AFTER INSERT ON triggers_t REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION triggers_transition();
CREATE TRIGGER t2 BEFORE INSERT ON triggers_t FOR EACH ROW WHEN (NEW.b = 'odd') EXECUTE FUNCTION triggers_change();
SELECT pg_temp.try('triggers_t', E'1,x\nbad\n2,odd\n3,odd\n4,y\n', '{"on_error": "ignore", "log_verbosity": "silent", "where": "b <> ''x''"}');
SELECT pg_temp.notes();
DROP TABLE triggers_t;
-- on partitioned tables too, with partitions with other columns
CREATE TABLE triggers_t (a int, b text) PARTITION BY RANGE (a);
CREATE TABLE triggers_low PARTITION OF triggers_t FOR VALUES FROM (0) TO (10);
CREATE TABLE triggers_high (b text, gone int, a int);
ALTER TABLE triggers_high DROP gone;
ALTER TABLE triggers_t ATTACH PARTITION triggers_high FOR VALUES FROM (10) TO (20);
CREATE TRIGGER t1 AFTER INSERT ON triggers_t REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION triggers_transition();
CREATE TRIGGER t2 BEFORE INSERT ON triggers_high FOR EACH ROW WHEN (NEW.b = 'change') EXECUTE FUNCTION triggers_change();
CREATE TRIGGER t3 AFTER INSERT ON triggers_t FOR EACH ROW EXECUTE FUNCTION triggers_note();
SELECT pg_temp.try('triggers_t', E'1,x\n11,change\n12,change\n2,y\n20,none\n13,z\n', '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT pg_temp.notes();
DROP TABLE triggers_t;

-- deferred constraint triggers fire at the end of the transaction
CREATE TABLE triggers_t (a int, b text);
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON triggers_t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION triggers_note();
BEGIN;
SELECT rows_loaded FROM bulk_load('triggers_t', pg_temp.put('in', E'1,x\n2,y\n'));
SELECT count(*) FROM triggers_log;
COMMIT;
SELECT pg_temp.notes();
DROP TABLE triggers_t;

-- views with INSTEAD OF triggers
CREATE TABLE triggers_t (a int, b text, at int DEFAULT 7);
CREATE VIEW triggers_view AS SELECT a, b, at FROM triggers_t;
CREATE FUNCTION triggers_instead() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.a < 0 THEN
		RETURN NULL;
	END IF;
	INSERT INTO triggers_t (a, b) VALUES (NEW.a * 100, NEW.b || coalesce(NEW.at::text, ' (null)'));
	RETURN NEW;
END $$;
SELECT rows_loaded FROM bulk_load('triggers_view', pg_temp.put('in', E'1,x,1\n-2,y,2\n3,z,3\n'));
CREATE TRIGGER i INSTEAD OF INSERT ON triggers_view FOR EACH ROW EXECUTE FUNCTION triggers_instead();
SELECT rows_loaded, rows_filtered, rows_read FROM bulk_load('triggers_view', '/proc/self/cwd/pgbulk_triggers_in');
-- COPY counts the row for which the trigger returns NULL
DO $$
DECLARE
	n int;
BEGIN
	COPY triggers_view FROM '/proc/self/cwd/pgbulk_triggers_in' (FORMAT csv);
	GET DIAGNOSTICS n = ROW_COUNT;
	DELETE FROM triggers_t;
	RAISE NOTICE '% rows', n;
END $$;
SELECT bulk_load('triggers_view', '/proc/self/cwd/pgbulk_triggers_in') IS NOT NULL AS loaded;
ALTER VIEW triggers_view ALTER at SET DEFAULT 9;
SELECT rows_loaded, rows_rejected, rows_filtered FROM bulk_load('triggers_view', pg_temp.put('in', E'4,x\nx,y\n5,z\n6,w\n'),
	'{"columns": ["a", "b"], "where": "a <> 5", "on_error": "ignore", "log_verbosity": "silent"}');
SELECT * FROM triggers_t ORDER BY a;
-- options that need a table are refused
SELECT rows_loaded FROM bulk_load('triggers_view', '/proc/self/cwd/pgbulk_triggers_in', '{"truncate": true}');
SELECT rows_loaded FROM bulk_load('triggers_view', '/proc/self/cwd/pgbulk_triggers_in', '{"freeze": true}');
SELECT rows_loaded FROM bulk_load('triggers_view', '/proc/self/cwd/pgbulk_triggers_in', '{"on_duplicate": "keep_old"}');
SELECT rows_loaded FROM bulk_load('triggers_view', '/proc/self/cwd/pgbulk_triggers_in', '{"on_duplicate": "keep_new"}');
SELECT rows_loaded FROM bulk_load('triggers_view', '/proc/self/cwd/pgbulk_triggers_in', '{"on_duplicate": {"set": "all"}}');
COPY triggers_view FROM '/proc/self/cwd/pgbulk_triggers_in' (FORMAT csv, ON_DUPLICATE keep_old);
-- a view that PostgreSQL could update by itself is refused, as by COPY
CREATE VIEW triggers_simple AS SELECT a FROM triggers_t;
SELECT rows_loaded FROM bulk_load('triggers_simple', '/proc/self/cwd/pgbulk_triggers_in');

-- triggers that load themselves, or touch the table that is loaded
CREATE TABLE triggers_outer (a int);
CREATE FUNCTION triggers_nested() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM bulk_load('triggers_t', '/proc/self/cwd/pgbulk_triggers_inner', '{"columns": ["a"], "on_error": "ignore", "log_verbosity": "silent"}');
	RETURN NEW;
END $$;
CREATE TRIGGER n AFTER INSERT ON triggers_outer FOR EACH ROW EXECUTE FUNCTION triggers_nested();
TRUNCATE triggers_t;
SELECT pg_temp.put('inner', E'10\nx\n20\n');
SELECT rows_loaded FROM bulk_load('triggers_outer', pg_temp.put('in', E'1\n2\n3\n'));
SELECT a, count(*) FROM triggers_t GROUP BY a ORDER BY a;
DROP TRIGGER n ON triggers_outer;
CREATE FUNCTION triggers_truncate() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN TRUNCATE triggers_outer; RETURN NEW; END';
CREATE TRIGGER n BEFORE INSERT ON triggers_outer FOR EACH ROW EXECUTE FUNCTION triggers_truncate();
SELECT pg_temp.try('triggers_outer', E'1\n2\n');

-- cached state of a function is valid for the whole load: from file to file, and from one replaced row to the next
CREATE FUNCTION triggers_definer() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET work_mem = '1MB' AS 'BEGIN RETURN coalesce(NEW, OLD); END';
CREATE FUNCTION triggers_see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '%: % rows of %', tg_op, (SELECT count(*) FROM seen), (SELECT sum(a) FROM seen);
	RETURN NULL;
END $$;
COPY (SELECT i, 1, 'new' FROM generate_series(1, 1000) i) TO '/proc/self/cwd/pgbulk_triggers_many' WITH (FORMAT csv);
\set files 'array_fill(''/proc/self/cwd/pgbulk_triggers_many''::text, ARRAY[3])'
CREATE TABLE triggers_kept (a int, b int, c text);
CREATE TRIGGER before BEFORE INSERT ON triggers_kept FOR EACH ROW EXECUTE FUNCTION triggers_definer();
CREATE TRIGGER after AFTER INSERT ON triggers_kept FOR EACH ROW EXECUTE FUNCTION triggers_definer();
SELECT rows_loaded FROM bulk_load('triggers_kept', :files);
DROP TRIGGER before ON triggers_kept;
TRUNCATE triggers_kept;
ALTER TABLE triggers_kept ADD PRIMARY KEY (a);
CREATE TRIGGER before BEFORE DELETE ON triggers_kept FOR EACH ROW EXECUTE FUNCTION triggers_definer();
SELECT rows_loaded, rows_duplicate FROM bulk_load('triggers_kept', :files, '{"on_duplicate": "keep_new", "log_verbosity": "silent"}');
CREATE VIEW triggers_shown AS SELECT a + 0 AS a, b + 0 AS b, c || '' AS c FROM triggers_kept;
CREATE TRIGGER instead INSTEAD OF INSERT ON triggers_shown FOR EACH ROW EXECUTE FUNCTION triggers_definer();
SELECT rows_loaded FROM bulk_load('triggers_shown', :files);
-- and so is the map from a partition's columns to the table's
CREATE TABLE triggers_parts (a int NOT NULL, b int, c text) PARTITION BY LIST (b);
CREATE TABLE triggers_part (c text, gone int, b int, a int NOT NULL);
ALTER TABLE triggers_part DROP COLUMN gone;
CREATE UNIQUE INDEX ON triggers_part (a);
ALTER TABLE triggers_parts ATTACH PARTITION triggers_part FOR VALUES IN (1);
CREATE TRIGGER deleted AFTER DELETE ON triggers_parts REFERENCING OLD TABLE AS seen FOR EACH STATEMENT EXECUTE FUNCTION triggers_see();
SELECT rows_loaded, rows_duplicate FROM bulk_load('triggers_parts', :files, '{"on_duplicate": "keep_new", "log_verbosity": "silent"}');
DROP TRIGGER deleted ON triggers_parts;
TRUNCATE triggers_parts;
DROP INDEX triggers_part_a_idx;
CREATE TRIGGER inserted AFTER INSERT ON triggers_parts REFERENCING NEW TABLE AS seen FOR EACH STATEMENT EXECUTE FUNCTION triggers_see();
CREATE TRIGGER before BEFORE INSERT ON triggers_part FOR EACH ROW EXECUTE FUNCTION triggers_definer();
SELECT rows_loaded FROM bulk_load('triggers_parts', :files);
DROP VIEW triggers_shown;
DROP TABLE triggers_kept, triggers_parts;
DROP FUNCTION triggers_definer, triggers_see;

-- functions of triggers that a load does not fire need not exist
CREATE FUNCTION triggers_gone() RETURNS trigger LANGUAGE internal AS 'suppress_redundant_updates_trigger';
UPDATE pg_proc SET prosrc = 'triggers_gone' WHERE oid = 'triggers_gone()'::regprocedure;
CREATE TABLE triggers_idle (a int);
CREATE TRIGGER update BEFORE UPDATE ON triggers_idle FOR EACH ROW EXECUTE FUNCTION triggers_gone();
CREATE TRIGGER delete AFTER DELETE ON triggers_idle FOR EACH ROW EXECUTE FUNCTION triggers_gone();
CREATE TRIGGER replica AFTER INSERT ON triggers_idle FOR EACH ROW EXECUTE FUNCTION triggers_gone();
ALTER TABLE triggers_idle ENABLE REPLICA TRIGGER replica;
SELECT pg_temp.try('triggers_idle', E'1\n');
DROP TABLE triggers_idle;
DROP FUNCTION triggers_gone;

DROP VIEW triggers_view, triggers_simple;
DROP TABLE triggers_t, triggers_log, triggers_outer;
DROP FUNCTION triggers_note, triggers_change, triggers_throw, triggers_null, triggers_transition, triggers_instead, triggers_nested, triggers_truncate;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_triggers_gone; rm -f pgbulk_triggers_*';
