--
-- Triggers that change the role in the middle of a load: rows that come then are inserted as COPY
-- inserts them, and what the load itself does stays that of the role that has called it.
--
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_set_role_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
SELECT pg_temp.put('good', E'1,a\n2,b\n3,c\n4,d\n') AS good, pg_temp.put('bad', E'1,a\nx,b\n2,c\n3,d\ny,e\n') AS bad \gset
CREATE ROLE regress_set_role_loads;
CREATE ROLE regress_set_role_other;
GRANT regress_set_role_other TO regress_set_role_loads;
GRANT pg_read_server_files TO regress_set_role_loads;
CREATE TABLE set_role_p (i int PRIMARY KEY);
INSERT INTO set_role_p SELECT generate_series(1, 9);
CREATE TABLE set_role_t (i int REFERENCES set_role_p, s text, who text DEFAULT current_user);
-- who it is when a row comes; the role changes with the second row
CREATE FUNCTION set_role() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.i = 2 THEN
		PERFORM set_config('role', 'regress_set_role_other', tg_argv[0]::bool);
	END IF;
	NEW.s := NEW.s || ' ' || current_user;
	RETURN NEW;
END $$;
CREATE TRIGGER set_role BEFORE INSERT ON set_role_t FOR EACH ROW EXECUTE FUNCTION set_role('true');
GRANT SELECT, INSERT, TRUNCATE ON set_role_t TO regress_set_role_loads;
GRANT EXECUTE ON FUNCTION set_role TO PUBLIC;

-- COPY, and then the load in one way and another: the role afterwards, and the rows
SET ROLE regress_set_role_loads;
BEGIN;
COPY set_role_t (i, s) FROM :'good' (FORMAT csv);
SELECT current_user;
ROLLBACK;
SELECT current_user;
\set load 'SELECT rows_loaded, rows_rejected, rows_filtered FROM bulk_load'
\set options '\'{"columns": ["i", "s"]}\''
BEGIN;
:load('set_role_t', :'good', :options);
SELECT current_user;
RESET ROLE;
TABLE set_role_t;
ROLLBACK;
BEGIN;
COPY set_role_t (i, s) FROM :'good' (FORMAT csv);
RESET ROLE;
TABLE set_role_t;
ROLLBACK;
BEGIN;
SET pgbulk.copy = on;
SET pgbulk.copy_min_size = 0;
COPY set_role_t (i, s) FROM :'good' (FORMAT csv);
SELECT current_user;
RESET ROLE;
TABLE set_role_t;
ROLLBACK;

-- bad rows, to a table without an index and to one with an index, which the role that follows may not use
RESET ROLE;
SELECT rows_read FROM bulk_load('set_role_p', :'good', '{"columns": ["i", null], "limit": 0, "on_error": "ignore", "reject_table": "set_role_plain"}');
SELECT rows_read FROM bulk_load('set_role_p', :'good', '{"columns": ["i", null], "limit": 0, "on_error": "ignore", "reject_table": "set_role_indexed"}');
CREATE INDEX ON set_role_indexed (line_number);
GRANT INSERT ON set_role_plain, set_role_indexed TO regress_set_role_loads;
SET ROLE regress_set_role_loads;
BEGIN;
:load('set_role_t', :'bad', '{"columns": ["i", "s"], "on_error": "ignore", "reject_table": "set_role_plain", "log_verbosity": "silent"}');
SELECT current_user;
RESET ROLE;
SELECT line_number, raw_line FROM set_role_plain;
ROLLBACK;
BEGIN;
:load('set_role_t', :'bad', '{"columns": ["i", "s"], "on_error": "ignore", "reject_table": "set_role_indexed", "log_verbosity": "silent"}');
RESET ROLE;
SELECT line_number, raw_line FROM set_role_indexed;
ROLLBACK;

-- who has loaded, and who may ask for the result
SET pgbulk.history = on;
SET ROLE regress_set_role_loads;
BEGIN;
:load('set_role_t', :'good', :options);
SELECT current_user, (SELECT count(*) FROM bulk_load_last() WHERE rows_loaded = 4) AS results;
COMMIT;
SELECT current_user, (SELECT count(*) FROM bulk_load_last() WHERE rows_loaded = 4) AS results;
RESET ROLE;
SELECT role FROM bulk_loads WHERE relation = 'set_role_t';
RESET pgbulk.history;
SELECT bulk_load_forget('set_role_t');

-- nor does a trigger choose who analyzes
ALTER TABLE set_role_t OWNER TO regress_set_role_loads;
ANALYZE set_role_t;
SET ROLE regress_set_role_loads;
BEGIN;
:load('set_role_t', :'good', '{"columns": ["i", "s"], "on_error": "ignore", "log_verbosity": "silent", "analyze": true}');
SELECT current_user;
RESET ROLE;
SELECT reltuples = (SELECT count(*) FROM set_role_t) AS analyzed FROM pg_class WHERE oid = 'set_role_t'::regclass;
ROLLBACK;
RESET ROLE;

DROP TABLE set_role_t, set_role_p, set_role_plain, set_role_indexed;
DROP FUNCTION set_role;
DROP OWNED BY regress_set_role_loads, regress_set_role_other;
DROP ROLE regress_set_role_loads, regress_set_role_other;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_set_role_gone; rm -f pgbulk_set_role_*';
