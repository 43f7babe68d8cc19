--
-- Constraints and keys: a table never violates its own.
--

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_constraints_' || name;
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

-- NOT NULL, CHECK
CREATE TABLE constraints_t (a int NOT NULL, b int CHECK (b > 0), c int, CONSTRAINT sum CHECK (a + b < 100), CHECK (c IS NULL OR a / c > 0));
SELECT pg_temp.try('constraints_t', E'1,1,1\n2,2,2\n,3,3\n');
SELECT pg_temp.try('constraints_t', E'1,1,1\n2,0,2\n');
SELECT pg_temp.try('constraints_t', E'1,1,1\n99,99,99\n');
SELECT pg_temp.try('constraints_t', E'1,1,1\n2,2,0\n');
SELECT pg_temp.try('constraints_t', E'1,1,1\n,3,3\n2,0,2\n99,99,99\n2,2,0\n1,,\n2147483647,1,1\n5,5,5\n', '{"on_error": "ignore", "reject_table": "constraints_rejects"}');
SELECT line_number, reason, column_name, field_value, sqlstate, message FROM constraints_rejects ORDER BY line_number;
-- one that was added NOT VALID holds for new rows
INSERT INTO constraints_t VALUES (7, 7, 7);
ALTER TABLE constraints_t ADD CONSTRAINT late CHECK (a <> 7) NOT VALID;
SELECT pg_temp.try('constraints_t', E'7,7,7\n');
-- one on the whole row, and one with a user-defined function
TRUNCATE constraints_t;
ALTER TABLE constraints_t DROP CONSTRAINT late, ADD CHECK (constraints_t.* IS NOT NULL);
SELECT pg_temp.try('constraints_t', E'1,1,1\n1,1,\n');
DROP TABLE constraints_t;
CREATE FUNCTION constraints_good(int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	IF $1 = 3 THEN
		RAISE EXCEPTION 'three is right out';
	END IF;
	RETURN $1 <> 2;
END $$;
CREATE TABLE constraints_t (a int CHECK (constraints_good(a)));
SELECT pg_temp.try('constraints_t', E'1\n2\n3\n4\n', '{"on_error": "ignore", "log_verbosity": "verbose"}');
SELECT pg_temp.try('constraints_t', E'1\n4\n3\n');
DROP TABLE constraints_t;

-- primary keys and unique ones: a violation ends the load, with key, file and line
CREATE TABLE constraints_t (a int PRIMARY KEY, b text UNIQUE, c int);
SELECT pg_temp.try('constraints_t', E'1,x,1\n2,y,1\n3,,1\n4,,1\n');
INSERT INTO constraints_t VALUES (10, 'ten');
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E'5,v,1\n6,w,1\n10,z,1\n'));
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E'5,v,1\n6,w,1\n7,ten,1\n'));
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E'5,v,1\n6,w,1\n5,z,1\n'));
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E'bad\n5,v,1\n6,"w\nw",1\n5,z,1\n'), '{"on_error": "ignore"}');
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E',v,1\n'));
SELECT * FROM constraints_t ORDER BY a;
-- within a batch and across batches
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', (SELECT string_agg(i || ',t' || i || ',', E'\n') FROM generate_series(100, 20000) i)));
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', (SELECT string_agg(i % 30000 || ',u' || i || ',', E'\n') FROM generate_series(20001, 50001) i)));
SELECT count(*), count(DISTINCT a), count(DISTINCT b) FROM constraints_t;
SET enable_seqscan = off;
SELECT a FROM constraints_t WHERE b = 't12345';
SELECT b FROM constraints_t WHERE a = 12345;
RESET enable_seqscan;
DROP TABLE constraints_t;
-- indexes of other kinds: expressions, partial ones, other methods
CREATE TABLE constraints_t (a int, b text, c int[], d point);
CREATE UNIQUE INDEX constraints_lower ON constraints_t (lower(b)) WHERE a > 0;
CREATE INDEX constraints_inverse ON constraints_t ((100 / a));
CREATE INDEX constraints_gin ON constraints_t USING gin (c);
CREATE INDEX constraints_gist ON constraints_t USING gist (d);
CREATE INDEX constraints_brin ON constraints_t USING brin (a);
CREATE INDEX constraints_hash ON constraints_t USING hash (b);
CREATE INDEX constraints_cover ON constraints_t (a) INCLUDE (b);
SELECT pg_temp.try('constraints_t', E'1,x,"{1,2}","(1,1)"\n-1,X,{3},"(2,2)"\n-2,x,,\n');
SELECT pg_temp.try('constraints_t', E'1,x,"{1,2}","(1,1)"\n2,X,{3},"(2,2)"\n');
SELECT pg_temp.try('constraints_t', E'1,x,,\n0,y,,\n');
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', (SELECT string_agg(i || ',w' || i || ',"{' || i % 10 || '}","(' || i || ',0)"', E'\n') FROM generate_series(1, 5000) i)));
SET enable_seqscan = off;
SELECT count(*) FROM constraints_t WHERE c @> '{7}';
SELECT a FROM constraints_t WHERE d <@ box '(9.5,1),(11,-1)' ORDER BY a;
SELECT count(*) FROM constraints_t WHERE a BETWEEN 100 AND 200;
SELECT a FROM constraints_t WHERE b = 'w4711';
SELECT a FROM constraints_t WHERE 100 / a = 33;
RESET enable_seqscan;
DROP TABLE constraints_t;
-- deferrable keys are checked at the end
CREATE TABLE constraints_t (a int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED);
INSERT INTO constraints_t VALUES (1);
BEGIN;
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E'1\n2\n'));
DELETE FROM constraints_t WHERE ctid = (SELECT min(ctid) FROM constraints_t WHERE a = 1);
COMMIT;
BEGIN;
SELECT rows_loaded FROM bulk_load('constraints_t', '/proc/self/cwd/pgbulk_constraints_in');
COMMIT;
SELECT * FROM constraints_t ORDER BY a;
DROP TABLE constraints_t;

-- exclusion
CREATE TABLE constraints_t (a int, r int4range, EXCLUDE USING gist (r WITH &&));
SELECT pg_temp.try('constraints_t', E'1,"[1,5)"\n2,"[5,8)"\n3,\n4,empty\n');
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E'4,"[10,15)"\n5,"[12,13)"\n'));
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E'bad\n4,"[10,15)"\n6,"[4,6)"\n'), '{"on_error": "ignore"}');
SELECT count(*) FROM constraints_t;
DROP TABLE constraints_t;

-- a CHECK is evaluated once for each row, also for the one that it fails for
CREATE SEQUENCE constraints_seq;
CREATE TABLE constraints_once (a int CHECK (nextval('constraints_seq') <> 2));
SELECT rows_loaded FROM bulk_load('constraints_once', pg_temp.put('in', E'1\n2\n3\n'));
SELECT last_value FROM constraints_seq;
DROP TABLE constraints_once;
DROP SEQUENCE constraints_seq;

-- foreign keys: to others, to the table itself, deferred, several columns, NOT VALID
CREATE TABLE constraints_ref (id int PRIMARY KEY, k text UNIQUE);
INSERT INTO constraints_ref VALUES (1, 'one'), (2, 'two');
CREATE TABLE constraints_t (a int REFERENCES constraints_ref, k text REFERENCES constraints_ref (k), self int PRIMARY KEY, parent int REFERENCES constraints_t);
SELECT pg_temp.try('constraints_t', E'1,one,1,2\n2,,2,3\n,two,3,\n');
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E'1,one,11,\n3,two,12,\n'));
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E'1,three,11,\n'));
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E'1,one,11,99\n'));
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E'3,one,11,\n'), '{"on_error": "ignore"}');
SELECT count(*) FROM constraints_t;
-- rows that where excludes need no reference
SELECT rows_loaded, rows_filtered FROM bulk_load('constraints_t', pg_temp.put('in', E'1,one,11,\n3,two,12,\n'), '{"where": "a < 3"}');
-- a table that others refer to
SELECT rows_loaded FROM bulk_load('constraints_ref', pg_temp.put('in', E'3,three\n'));
SELECT rows_loaded FROM bulk_load('constraints_ref', pg_temp.put('in', E'4,four\n'), '{"truncate": true}');
ALTER TABLE constraints_t ALTER CONSTRAINT constraints_t_a_fkey DEFERRABLE INITIALLY DEFERRED;
BEGIN;
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E'5,one,21,\n'));
SELECT rows_loaded FROM bulk_load('constraints_ref', pg_temp.put('in2', E'5,five\n'));
COMMIT;
BEGIN;
SELECT rows_loaded FROM bulk_load('constraints_t', pg_temp.put('in', E'6,one,22,\n'));
COMMIT;
SELECT a, self FROM constraints_t ORDER BY self;
DROP TABLE constraints_t, constraints_ref, constraints_rejects;
DROP FUNCTION constraints_good;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_constraints_gone; rm -f pgbulk_constraints_*';
