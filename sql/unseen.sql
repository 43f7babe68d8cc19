--
-- A role that may insert but not read sees no more than with COPY: in errors, rejects, NOTICEs and details.
--
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_unseen_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
-- The error of COPY for a file with one row and, where it differs, that of bulk_load.
CREATE FUNCTION unseen_errors(target regclass, line text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_unseen_in';
	options text;
	detail text;
	copied text;
	loaded text;
BEGIN
	EXECUTE format('COPY (SELECT %L) TO %L', line, path);
	BEGIN
		EXECUTE format('COPY %s (a, b) FROM %L WITH (FORMAT csv)', target, path);
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
		copied := format('%s %s [%s]', sqlstate, sqlerrm, detail);
	END;
	RETURN NEXT copied;
	FOREACH options IN ARRAY ARRAY['"writer": "buffered"', '"indexes": "insert"', '"indexes": "merge"', '"indexes": "rebuild"', '"on_duplicate": "keep_old", "duplicate_limit": 0'] LOOP
		BEGIN
			PERFORM bulk_load(target, path, format('{"columns": ["a", "b"], %s}', options)::jsonb);
			loaded := 'loaded';
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
			loaded := format('%s %s [%s]', sqlstate, sqlerrm, detail);
		END;
		IF loaded IS DISTINCT FROM copied THEN
			RETURN NEXT format('{%s}: %s', options, loaded);
		END IF;
	END LOOP;
END $$;
-- Rows set aside, by both writers, everywhere they are reported.
CREATE FUNCTION unseen_rejects(target regclass, line text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_unseen_in';
	writer text;
	seen text;
	first jsonb;
BEGIN
	EXECUTE format('COPY (SELECT %L) TO %L', line, path);
	FOREACH writer IN ARRAY ARRAY['buffered', 'direct'] LOOP
		SELECT details -> 'rejects' -> 'first' -> 0 INTO first FROM bulk_load(target, path, format('{"columns": ["a", "b"], "on_error": "ignore", "on_duplicate": "keep_old", "reject_table": "pg_temp.unseen_r", "writer": "%s"}', writer)::jsonb);
		SELECT format('%s: %s, %s = %s', reason, message, column_name, field_value) INTO seen FROM pg_temp.unseen_r;
		ASSERT (first ->> 'message', first ->> 'value') IS NOT DISTINCT FROM (SELECT (message, field_value) FROM pg_temp.unseen_r);
		RETURN NEXT seen;
		TRUNCATE pg_temp.unseen_r;
	END LOOP;
END $$;

CREATE ROLE regress_pgbulk_unseen;
GRANT pg_read_server_files, pg_write_server_files TO regress_pgbulk_unseen;
CREATE TABLE unseen_p (k int PRIMARY KEY);
INSERT INTO unseen_p VALUES (1), (2);
CREATE TABLE unseen_t (a int, b int REFERENCES unseen_p, c text DEFAULT 'secret', d int DEFAULT 1 REFERENCES unseen_p, g text GENERATED ALWAYS AS (c || '!') STORED, n int NOT NULL DEFAULT 5,
	CONSTRAINT small CHECK (a < 100), CONSTRAINT short CHECK (length(g) < 50));
CREATE UNIQUE INDEX unseen_b ON unseen_t (b);
CREATE TABLE unseen_parts (a int, b int, c text DEFAULT 'secret', n int DEFAULT 5) PARTITION BY RANGE (n);
CREATE TABLE unseen_part PARTITION OF unseen_parts FOR VALUES FROM (1) TO (10);
CREATE TABLE unseen_x (a int, b int, c int4range DEFAULT '[1,5]', EXCLUDE USING gist (c WITH &&));
INSERT INTO unseen_x DEFAULT VALUES;
INSERT INTO unseen_t (a, b, c) VALUES (1, 1, 'known');
-- locking a table is not reading it
GRANT INSERT (a, b), DELETE ON unseen_t, unseen_parts, unseen_part, unseen_x TO regress_pgbulk_unseen;
SET ROLE regress_pgbulk_unseen;
-- CHECK, foreign key, unique key
SELECT unseen_errors('unseen_t', '200,2');
SELECT unseen_errors('unseen_t', '3,99');
SELECT unseen_errors('unseen_t', '3,1');
SELECT unseen_rejects('unseen_t', '200,2');
SELECT unseen_rejects('unseen_t', '3,99');
SELECT unseen_rejects('unseen_t', '3,1');
-- a value that is not from the file
RESET ROLE;
ALTER TABLE unseen_t ALTER d SET DEFAULT 77, ALTER c SET DEFAULT repeat('secret', 10);
SET ROLE regress_pgbulk_unseen;
SELECT unseen_errors('unseen_t', '3,2');
RESET ROLE;
ALTER TABLE unseen_t ALTER c SET DEFAULT 'secret';
SET ROLE regress_pgbulk_unseen;
SELECT unseen_errors('unseen_t', '3,2');
SELECT unseen_rejects('unseen_t', '3,2');
RESET ROLE;
ALTER TABLE unseen_t ALTER n DROP DEFAULT;
SET ROLE regress_pgbulk_unseen;
SELECT unseen_errors('unseen_t', '3,2');
-- partitions, exclusion constraints
SELECT unseen_errors('unseen_x', '3,2');
RESET ROLE;
ALTER TABLE unseen_parts ALTER n SET DEFAULT 78;
ALTER TABLE unseen_part ALTER n SET DEFAULT 78;
SET ROLE regress_pgbulk_unseen;
SELECT unseen_errors('unseen_parts', '3,2');
SELECT unseen_errors('unseen_part', '3,2');
SELECT unseen_rejects('unseen_part', '3,2');
-- rows that are replaced are shown in the reject table
\set VERBOSITY terse
SELECT rows_loaded FROM bulk_load('unseen_t', '/proc/self/cwd/pgbulk_unseen_in', '{"on_duplicate": "keep_new", "reject_table": "pg_temp.unseen_r"}');
\set VERBOSITY default
-- the key's column may be read
RESET ROLE;
ALTER TABLE unseen_t ALTER n SET DEFAULT 5;
GRANT SELECT (d, b) ON unseen_t TO regress_pgbulk_unseen;
SET ROLE regress_pgbulk_unseen;
SELECT unseen_errors('unseen_t', '3,2');
SELECT unseen_rejects('unseen_t', '3,2');
SELECT unseen_errors('unseen_t', '3,1');
-- a foreign key of a partition that is loaded through its root, with policies of its own
RESET ROLE;
ALTER TABLE unseen_parts ALTER n SET DEFAULT 5;
ALTER TABLE unseen_part ADD FOREIGN KEY (b) REFERENCES unseen_p, ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON unseen_parts, unseen_part TO regress_pgbulk_unseen;
SET ROLE regress_pgbulk_unseen;
SELECT unseen_errors('unseen_parts', '3,99');
SELECT unseen_rejects('unseen_parts', '3,99');
RESET ROLE;
ALTER TABLE unseen_part DISABLE ROW LEVEL SECURITY;
SET ROLE regress_pgbulk_unseen;
SELECT unseen_rejects('unseen_parts', '3,99');

RESET ROLE;
DROP TABLE unseen_t, unseen_p, unseen_parts, unseen_x CASCADE;
DROP FUNCTION unseen_errors, unseen_rejects;
DROP OWNED BY regress_pgbulk_unseen;
DROP ROLE regress_pgbulk_unseen;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_unseen_gone; rm -f pgbulk_unseen_*';
