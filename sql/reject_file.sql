--
-- Reject files that exist already, and symbolic links.
--
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_reject_file_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
CREATE TABLE reject_file_t (a int, b text);
-- Loads a file with the same reject file each time; the contents of the two files then.
CREATE FUNCTION pg_temp.load(content text, more jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	bad text := '/proc/self/cwd/pgbulk_reject_file_bad';
	rejected bigint;
BEGIN
	BEGIN
		SELECT rows_rejected INTO rejected FROM bulk_load('reject_file_t', pg_temp.put('in', content),
			jsonb_build_object('header', true, 'on_error', 'ignore', 'log_verbosity', 'silent', 'reject_file', bad) || more);
		RETURN NEXT format('%s rejected', rejected);
	EXCEPTION WHEN OTHERS THEN
		RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	END;
	RETURN NEXT replace(pg_read_file(bad), E'\n', ' | ');
	RETURN NEXT regexp_replace(replace(pg_read_file(bad || '.log'), E'\n', ' | '), '[^ ]*/', '', 'g');
END $$;
CREATE FUNCTION reject_file_fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF new.b = 'fail' THEN
		RAISE EXCEPTION 'failed' USING ERRCODE = 'io_error';
	END IF;
	RETURN new;
END $$;

SELECT pg_temp.load(E'a,b\n1,one\nx,two\n');
-- a load that fails before it has found a bad row leaves both unchanged, whatever the error
CREATE TRIGGER fail BEFORE INSERT ON reject_file_t FOR EACH ROW EXECUTE FUNCTION reject_file_fail();
SELECT pg_temp.load(E'a,b\n1,fail\ny,two\n');
SELECT pg_temp.load(E'a,b\n1,one\n', '{"columns": ["a", "none"]}');
SELECT pg_temp.load(E'a,c\n1,one\n', '{"header": "match"}');
SELECT pg_temp.load(E'a,b\n1,fail\ny,two\n', '{"dry_run": true}');
SELECT pg_temp.load(E'a,b\n1,one\n', '{"reject_table": "pg_catalog.pg_class"}');
SELECT pg_temp.load(E'a,b\n1,one\n', '{"writer": "direct"}');
CREATE FUNCTION reject_file_index(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN IF current_setting('regress.fail', true) = 'yes' THEN RAISE EXCEPTION 'too late'; END IF; RETURN $1; END $$;
CREATE FUNCTION reject_file_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('regress.fail', 'yes', true); RETURN NULL; END $$;
CREATE INDEX reject_file_i ON reject_file_t (reject_file_index(a));
CREATE TRIGGER late AFTER INSERT ON reject_file_t EXECUTE FUNCTION reject_file_late();
SELECT pg_temp.load(E'a,b\n1,one\n', '{"analyze": true}');
DROP TRIGGER late ON reject_file_t;
DROP INDEX reject_file_i;
SELECT pg_temp.put('rows', E'a,b\n1,one\n');
SELECT pg_temp.load('[{"path": "pgbulk_reject_file_rows", "rows": 2}]', '{"manifest": true}');
-- one that has found some writes them, and nothing else, also if it fails then
SELECT pg_temp.load(E'a,b\ny,bad\n1,fail\n');
SELECT pg_temp.load(E'a,b\n1,good\nz,bad\nz,too\n', '{"reject_limit": 1}');
SELECT pg_temp.load(E'a,b\nd,dry\n', '{"dry_run": true}');
DROP TRIGGER fail ON reject_file_t;
SELECT pg_temp.load(E'a,b\nw,bad\n', '{"writer": "direct", "reject_table": "pg_temp.reject_file_r"}');
-- one without bad rows writes only the header
SELECT pg_temp.load(E'a,b\n1,good\n');
SELECT pg_temp.load(E'', '{"header": false}');
-- that of a file with all header lines, or rows would be lost where it is loaded with the same options
SELECT rows_rejected FROM bulk_load('reject_file_t', ARRAY[pg_temp.put('short', E'a,b\n'), pg_temp.put('long', E'a,b\nmade by\nhand\ns,bad\n1,good\n')],
	'{"header": 3, "on_error": "ignore", "log_verbosity": "silent", "reject_file": "/proc/self/cwd/pgbulk_reject_file_bad"}');
SELECT pg_read_file('/proc/self/cwd/pgbulk_reject_file_bad');
-- one that passes all files over has none to write: those of the load before stay
SELECT pg_temp.load(E'a,b\n1,one\nt,once\n', '{"once": true}');
SELECT pg_temp.load(E'a,b\n1,one\nt,once\n', '{"once": true}');
SELECT bulk_load_forget('reject_file_t');
-- lines keep their ends: those of files with different ones are rows again with newline any
SELECT rows_rejected FROM bulk_load('reject_file_t', ARRAY[pg_temp.put('lf', E'x,one\n1,two\n'), pg_temp.put('crlf', E'2,three\r\ny,four\r\n')],
	'{"on_error": "ignore", "log_verbosity": "silent", "reject_file": "/proc/self/cwd/pgbulk_reject_file_bad"}');
SELECT rows_loaded, rows_rejected FROM bulk_load('reject_file_t', pg_temp.put('in', translate(pg_read_file('/proc/self/cwd/pgbulk_reject_file_bad'), 'xy', '34')), '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT rows_loaded, rows_rejected FROM bulk_load('reject_file_t', '/proc/self/cwd/pgbulk_reject_file_in', '{"newline": "any"}');
-- bulk_load_retry: it reads the table, so the file may be the same
SELECT pg_temp.load(E'a,b\nv,bad\n', '{"reject_table": "pg_temp.reject_file_r"}');
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('reject_file_t', 'pg_temp.reject_file_r', (SELECT max(load_id) FROM reject_file_r),
	'{"log_verbosity": "silent", "reject_file": "/proc/self/cwd/pgbulk_reject_file_bad"}');
SELECT pg_read_file('/proc/self/cwd/pgbulk_reject_file_bad');
-- but a reject file cannot be loaded with itself, or its log, as reject file, by any name
\set VERBOSITY terse
SELECT rows_loaded FROM bulk_load('reject_file_t', '/proc/self/cwd/pgbulk_reject_file_bad', '{"on_error": "ignore", "reject_file": "/proc/self/cwd/global/../pgbulk_reject_file_bad"}');
SELECT rows_loaded FROM bulk_load('reject_file_t', '/proc/self/cwd/pgbulk_reject_file_bad.log', '{"on_error": "ignore", "reject_file": "/proc/self/cwd/pgbulk_reject_file_bad"}');
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_reject_file_x; ln -s pgbulk_reject_file_bad pgbulk_reject_file_link; ln pgbulk_reject_file_bad pgbulk_reject_file_hard; ln -s pgbulk_reject_file_self pgbulk_reject_file_self.log';
SELECT rows_loaded FROM bulk_load('reject_file_t', '/proc/self/cwd/pgbulk_reject_file_link', '{"on_error": "ignore", "reject_file": "/proc/self/cwd/pgbulk_reject_file_bad"}');
SELECT rows_loaded FROM bulk_load('reject_file_t', '/proc/self/cwd/pgbulk_reject_file_hard', '{"on_error": "ignore", "reject_file": "/proc/self/cwd/pgbulk_reject_file_bad"}');
SELECT rows_loaded FROM bulk_load('reject_file_t', '/proc/self/cwd/pgbulk_reject_file_in', '{"on_error": "ignore", "reject_file": "/proc/self/cwd/pgbulk_reject_file_self"}');
SELECT pg_read_file('/proc/self/cwd/pgbulk_reject_file_bad');
-- a link is followed, as by COPY TO
SELECT pg_temp.put('in', E'u,bad\n') AS f \gset
SELECT rows_rejected FROM bulk_load('reject_file_t', :'f', '{"on_error": "ignore", "log_verbosity": "silent", "reject_file": "/proc/self/cwd/pgbulk_reject_file_link"}');
SELECT pg_read_file('/proc/self/cwd/pgbulk_reject_file_bad');
\set VERBOSITY default

DROP TABLE reject_file_t, reject_file_r;
DROP FUNCTION reject_file_fail, reject_file_index, reject_file_late;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_reject_file_gone; rm -f pgbulk_reject_file_*';
