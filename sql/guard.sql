--
-- Whose fault an error is that user-defined code throws: the row's, unless it says
-- that the server, a lock or a cancel is at fault.
--
CREATE FUNCTION pg_temp.put(content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_guard';
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
-- a text such as !XX000 is the code to throw
CREATE FUNCTION guard_judge(value text) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF value LIKE '!%' THEN
		RAISE EXCEPTION 'thrown' USING ERRCODE = substr(value, 2);
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION guard_length(value text) RETURNS int LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN guard_judge(value) THEN length(value) END
$$;
CREATE DOMAIN guard_text AS text CHECK (guard_judge(value));
CREATE TABLE guard_check (a int, b text CHECK (guard_judge(b)));
CREATE TABLE guard_domain (a int, b guard_text);
CREATE TABLE guard_generated (a int, b text, c int GENERATED ALWAYS AS (guard_length(b)) STORED);
CREATE TABLE guard_key (a int, b text) PARTITION BY RANGE (guard_length(b));
CREATE TABLE guard_key_all PARTITION OF guard_key DEFAULT;
CREATE TABLE guard_where (a int, b text);
CREATE TABLE guard_transform (a int, b text);
CREATE FUNCTION guard_row(a text, b text) RETURNS guard_transform LANGUAGE sql VOLATILE AS $$
	SELECT a::int, b WHERE guard_judge(b)
$$;
CREATE TABLE guard_default (a int, b text, c text DEFAULT guard_length('!XX000'));
CREATE TABLE guard_trigger (a int, b text);
CREATE FUNCTION guard_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM guard_judge(NEW.b);
	RETURN NEW;
END $$;
CREATE TRIGGER judge BEFORE INSERT ON guard_trigger FOR EACH ROW EXECUTE FUNCTION guard_trigger();

-- the second of three rows throws
CREATE FUNCTION pg_temp.load(t text, code text, options jsonb DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	n bigint;
BEGIN
	SELECT * INTO r FROM bulk_load(t::regclass, pg_temp.put(format(E'1,one\n2,!%s\n3,three\n', code)),
		options || '{"columns": ["a", "b"], "on_error": "ignore", "log_verbosity": "silent"}' - CASE WHEN options ? 'transform' THEN 'columns' ELSE '' END);
	EXECUTE format('SELECT count(*) FROM %s', t) INTO n;
	EXECUTE format('TRUNCATE %s', t);
	RETURN format('%s loaded, %s rejected', n, r.rows_rejected);
EXCEPTION
	WHEN query_canceled OR assert_failure OR OTHERS THEN
		RETURN format('ends the load: %s', sqlstate);
END $$;
CREATE VIEW guard_codes AS SELECT unnest('{XX000,22012,P0001,U0001,42P01,42501,0A000,25006,28000,3F000,54001,55000,08P01,F0000,38000}'::text[]) AS code;
CREATE VIEW guard_fatal AS SELECT unnest('{XX001,XX002,53000,53200,57014,57000,58000,58030,40001,40P01,55P03,P0004}'::text[]) AS code;
SELECT string_agg(DISTINCT pg_temp.load('guard_check', code), '; ') FROM guard_codes;
SELECT code, pg_temp.load('guard_check', code) FROM guard_fatal;
SELECT code, pg_temp.load('guard_domain', code) AS domain, pg_temp.load('guard_generated', code) AS generated,
	pg_temp.load('guard_key', code) AS key, pg_temp.load('guard_where', code, '{"where": "guard_judge(b)"}') AS "where",
	pg_temp.load('guard_transform', code, '{"transform": "guard_row"}') AS transform
FROM unnest('{XX000,42P01,XX001,53100,57014,58030}'::text[]) code;

-- a default does not see the row
SELECT pg_temp.load('guard_default', '22012');
-- a trigger before the row: what it has done for a row that it rejects is rolled back
SELECT pg_temp.load('guard_trigger', code) FROM unnest('{XX000,P0001,XX001,53100,57014,P0004,40001}'::text[]) code;
CREATE TABLE guard_log (n serial, b text);
CREATE OR REPLACE FUNCTION guard_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO guard_log (b) VALUES (NEW.b);
	PERFORM guard_judge(NEW.b);
	RETURN NEW;
END $$;
SELECT pg_temp.load('guard_trigger', 'P0001');
SELECT b FROM guard_log ORDER BY n;
CREATE VIEW guard_view AS SELECT * FROM guard_trigger;
CREATE FUNCTION guard_instead() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO guard_trigger VALUES (NEW.*);
	RETURN NEW;
END $$;
CREATE TRIGGER instead INSTEAD OF INSERT ON guard_view FOR EACH ROW EXECUTE FUNCTION guard_instead();
SELECT rows_loaded, rows_rejected FROM bulk_load('guard_view', pg_temp.put(E'1,one\n2,!P0001\n3,three\n'), '{"on_error": "ignore", "log_verbosity": "silent"}');
TABLE guard_trigger;
-- one after the row ends the load, as in COPY: all rows are in the table by then
CREATE TABLE guard_after (a int, b text);
CREATE TRIGGER judge AFTER INSERT ON guard_after FOR EACH ROW EXECUTE FUNCTION guard_trigger();
SELECT pg_temp.load('guard_after', 'P0001');
DROP VIEW guard_view;
DROP FUNCTION guard_instead;
DROP TABLE guard_log, guard_after;
-- a bad value becomes NULL
SELECT rows_loaded, rows_rejected FROM bulk_load('guard_domain', pg_temp.put(E'1,!XX000\n2,x\n'), '{"on_error": "set_null", "log_verbosity": "silent"}');
TABLE guard_domain;
TRUNCATE guard_domain;

-- the same in workers; what is declared parallel safe, and is not, is left to the backend
CREATE TABLE guard_workers (a int, b text CHECK (guard_judge(b)));
SET pgbulk.chunk_size = 4096;
SELECT rows_loaded, rows_rejected, workers > 0 OR details ->> 'no_workers' LIKE '%since PostgreSQL 17.' AS workers FROM bulk_load('guard_workers',
	pg_temp.put((SELECT string_agg(i || ',' || CASE WHEN i % 1000 = 0 THEN '!XX000' ELSE 'x' END, E'\n') FROM generate_series(1, 10000) i)),
	'{"workers": 2, "on_error": "ignore", "log_verbosity": "silent"}');
SELECT count(*), count(*) FILTER (WHERE a % 1000 = 0) FROM guard_workers;
CREATE SEQUENCE guard_seen;
CREATE FUNCTION guard_counts(a int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF a % 2000 = 0 THEN
		PERFORM nextval('guard_seen');
	END IF;
	RETURN a % 2000 <> 1;
END $$;
CREATE TABLE guard_counted (a int CHECK (guard_counts(a)), b text);
SELECT rows_loaded, rows_rejected, workers > 0 OR details ->> 'no_workers' LIKE '%since PostgreSQL 17.' AS workers FROM bulk_load('guard_counted', '/proc/self/cwd/pgbulk_guard',
	'{"workers": 2, "on_error": "ignore", "log_verbosity": "silent"}');
SELECT last_value FROM guard_seen;
