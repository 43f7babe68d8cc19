--
-- Deferrable unique constraints: checked at the end of the load or of the transaction, by each writer alike.
--
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_deferrable_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- Loads the file, then runs a command: the table, or the error with its place in the file.
CREATE FUNCTION pg_temp.one(target regclass, options jsonb, begin text, after text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	detail text;
	context text;
BEGIN
	EXECUTE 'TRUNCATE ' || target || ';' || begin;
	SELECT * INTO r FROM bulk_load(target, '/proc/self/cwd/pgbulk_deferrable_in', '{"log_verbosity": "silent"}' || options);
	ASSERT r.writer = options ->> 'writer';
	RETURN NEXT format('%s loaded, %s rejected', r.rows_loaded, r.rows_rejected);
	EXECUTE after;
	RETURN QUERY EXECUTE 'SELECT string_agg(t::text, '' '' ORDER BY t::text COLLATE "C") FROM ' || target || ' t';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	RETURN NEXT nullif(detail, '');
	IF options ->> 'writer' = 'direct' THEN
		RETURN NEXT substring(context, 'file "[^"]*", (line [0-9]+)');
	END IF;
END $$;

-- The same by each writer and index method; differences from the first are shown, except places that the buffered writer does not know.
CREATE FUNCTION pg_temp.ways(target regclass, begin text DEFAULT '', after text DEFAULT 'SET CONSTRAINTS ALL IMMEDIATE', options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	first text[];
	other text[];
	way jsonb;
BEGIN
	FOR way IN SELECT * FROM jsonb_array_elements('[{"writer": "direct", "workers": 0}, {"writer": "direct", "workers": 2}, {"writer": "direct", "indexes": "merge"},
			{"writer": "direct", "indexes": "insert"}, {"writer": "buffered"}]') LOOP
		-- what it leaves in the queue is rolled back with it, and so is what it sets, if something was set before
		BEGIN
			SET CONSTRAINTS deferrable_other_k_key DEFERRED;
			other := ARRAY(SELECT line FROM pg_temp.one(target, options || way, begin, after) line WHERE line IS NOT NULL);
			RAISE EXCEPTION USING ERRCODE = 'UNDOI';
		EXCEPTION WHEN SQLSTATE 'UNDOI' THEN
			NULL;
		END;
		IF first IS NULL THEN
			RETURN QUERY SELECT unnest(other);
			first := other;
		ELSIF other IS DISTINCT FROM first AND NOT (way ->> 'writer' = 'buffered' AND other = array_remove(first, (regexp_match(array_to_string(first, E'\n'), 'line [0-9]+$'))[1])) THEN
			RETURN NEXT format('otherwise with %s', way);
			RETURN QUERY SELECT unnest(other);
		END IF;
	END LOOP;
END $$;

CREATE TABLE deferrable_other (k int UNIQUE DEFERRABLE);
SELECT pg_temp.put('in', E'1,a\n2,b\n3,c\n2,d\n1,e\n,f\n,g\n') IS NOT NULL AS put;
CREATE TABLE deferrable_t (k int, s text, UNIQUE (k) DEFERRABLE INITIALLY DEFERRED);

-- at the time of the constraint
SELECT pg_temp.ways('deferrable_t');
SELECT pg_temp.ways('deferrable_t', after => 'SELECT 1');
SELECT pg_temp.ways('deferrable_t', 'SET CONSTRAINTS ALL IMMEDIATE', 'SELECT 1');
-- corrected meanwhile: either of the rows
SELECT pg_temp.ways('deferrable_t', after => 'DELETE FROM deferrable_t WHERE s IN (''a'', ''b''); SET CONSTRAINTS ALL IMMEDIATE');
SELECT pg_temp.ways('deferrable_t', after => 'DELETE FROM deferrable_t WHERE s IN (''d'', ''e''); SET CONSTRAINTS ALL IMMEDIATE');
SELECT pg_temp.ways('deferrable_t', after => 'UPDATE deferrable_t SET k = k + 10 WHERE s < ''c''; SET CONSTRAINTS ALL IMMEDIATE');
SELECT pg_temp.ways('deferrable_t', after => 'UPDATE deferrable_t SET s = s || s; DELETE FROM deferrable_t WHERE s = ''bb''; SET CONSTRAINTS ALL IMMEDIATE');
-- with rows that were in the table before, some of which share keys themselves
SELECT pg_temp.ways('deferrable_t', 'INSERT INTO deferrable_t VALUES (3, ''old'')');
SELECT pg_temp.ways('deferrable_t', 'INSERT INTO deferrable_t VALUES (3, ''old''), (7, ''old''), (7, ''older'')', 'DELETE FROM deferrable_t WHERE s IN (''a'', ''b'', ''c''); SET CONSTRAINTS ALL IMMEDIATE');
SELECT pg_temp.ways('deferrable_t', 'INSERT INTO deferrable_t VALUES (3, ''old''), (3, ''older'')', 'DELETE FROM deferrable_t WHERE s IN (''a'', ''b'', ''c'', ''older''); SET CONSTRAINTS ALL IMMEDIATE');
SELECT pg_temp.ways('deferrable_t', 'INSERT INTO deferrable_t VALUES (3, ''old''), (8, ''gone''); DELETE FROM deferrable_t', 'DELETE FROM deferrable_t WHERE s IN (''a'', ''b''); SET CONSTRAINTS ALL IMMEDIATE');

-- at the commit; what a subtransaction has queued is rolled back with it
BEGIN;
SELECT rows_loaded, writer FROM bulk_load('deferrable_t', '/proc/self/cwd/pgbulk_deferrable_in');
COMMIT;
SELECT count(*) FROM deferrable_t;
BEGIN;
SELECT rows_loaded, writer FROM bulk_load('deferrable_t', '/proc/self/cwd/pgbulk_deferrable_in', '{"writer": "direct", "workers": 1}');
SAVEPOINT a;
SELECT rows_loaded FROM bulk_load('deferrable_t', '/proc/self/cwd/pgbulk_deferrable_in', '{"writer": "direct"}');
ROLLBACK TO a;
SAVEPOINT b;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO b;
DELETE FROM deferrable_t WHERE s IN ('d', 'e');
COMMIT;
SELECT * FROM deferrable_t ORDER BY s;
SET enable_seqscan = off;
SELECT s FROM deferrable_t WHERE k = 2;
RESET enable_seqscan;
INSERT INTO deferrable_t VALUES (2, 'again');
-- as a transaction of its own
SELECT bulk_load('deferrable_t', '/proc/self/cwd/pgbulk_deferrable_in', '{"writer": "direct"}');
-- a dry run fires what it has queued, and nothing of it remains
SELECT bulk_load('deferrable_t', '/proc/self/cwd/pgbulk_deferrable_in', '{"writer": "direct", "dry_run": true}');
BEGIN;
SELECT rows_loaded FROM bulk_load('deferrable_t', '/proc/self/cwd/pgbulk_deferrable_in', '{"writer": "direct", "dry_run": true, "where": "k IS NULL"}');
COMMIT;
DROP TABLE deferrable_t;

-- at the end of the statement: the first row whose key exists, and its line
CREATE TABLE deferrable_t (k int PRIMARY KEY DEFERRABLE, s text UNIQUE NOT DEFERRABLE, u text UNIQUE DEFERRABLE INITIALLY DEFERRED);
SELECT pg_temp.put('in', E'1,a,x\n2,b,y\n3,c,z\n4,d,y\n2,e,x\n1,f,w\n') IS NOT NULL AS put;
SELECT pg_temp.ways('deferrable_t');
SELECT pg_temp.ways('deferrable_t', 'SET CONSTRAINTS ALL DEFERRED', 'DELETE FROM deferrable_t WHERE s IN (''d'', ''e''); SET CONSTRAINTS ALL IMMEDIATE');
SELECT pg_temp.ways('deferrable_t', 'SET CONSTRAINTS ALL DEFERRED', 'DELETE FROM deferrable_t WHERE s IN (''d'', ''e'', ''f''); SET CONSTRAINTS ALL IMMEDIATE');
SELECT pg_temp.ways('deferrable_t', 'SET CONSTRAINTS deferrable_t_pkey DEFERRED', 'SET CONSTRAINTS deferrable_t_u_key IMMEDIATE');
SELECT pg_temp.ways('deferrable_t', 'SET CONSTRAINTS deferrable_t_pkey DEFERRED; SET CONSTRAINTS deferrable_t_u_key IMMEDIATE');
-- what is not deferrable comes first
SELECT pg_temp.put('in', E'1,a,x\n1,b,x\n2,a,z\n') IS NOT NULL AS put;
SELECT pg_temp.ways('deferrable_t');
SELECT bulk_load('deferrable_t', '/proc/self/cwd/pgbulk_deferrable_in', '{"on_duplicate": "keep_new", "writer": "direct"}');
DROP TABLE deferrable_t;

-- keys of several columns, NULLs that are equal, values that are equal
CREATE TABLE deferrable_t (a numeric, b text, UNIQUE NULLS NOT DISTINCT (a, b) DEFERRABLE INITIALLY DEFERRED);
SELECT pg_temp.put('in', E'1.0,a\n,b\n1.00,c\n1,a\n2,\n,b\n') IS NOT NULL AS put;
SELECT pg_temp.ways('deferrable_t');
SELECT pg_temp.ways('deferrable_t', after => 'DELETE FROM deferrable_t WHERE a::text = ''1.0''; SET CONSTRAINTS ALL IMMEDIATE');
SELECT pg_temp.ways('deferrable_t', after => 'DELETE FROM deferrable_t WHERE a::text = ''1.0'' OR a IS NULL; SET CONSTRAINTS ALL IMMEDIATE');
DROP TABLE deferrable_t;

-- with foreign keys: rows without a referenced one are deleted before, and not checked
CREATE TABLE deferrable_r (id int PRIMARY KEY);
INSERT INTO deferrable_r SELECT generate_series(1, 5);
CREATE TABLE deferrable_t (k int UNIQUE DEFERRABLE, r int REFERENCES deferrable_r);
SELECT pg_temp.put('in', E'1,1\n2,9\n3,3\n2,4\n3,8\n4,5\n') IS NOT NULL AS put;
SELECT pg_temp.ways('deferrable_t', options => '{"on_error": "ignore"}');
SELECT pg_temp.ways('deferrable_t', 'SET CONSTRAINTS ALL DEFERRED', options => '{"on_error": "ignore"}');
SELECT pg_temp.put('in', E'1,1\n2,9\n3,3\n2,4\n3,2\n4,5\n') IS NOT NULL AS put;
SELECT pg_temp.ways('deferrable_t', options => '{"on_error": "ignore"}');
SELECT pg_temp.ways('deferrable_t', 'SET CONSTRAINTS ALL DEFERRED', options => '{"on_error": "ignore"}');
-- most rows are deleted, and the others are not moved
SELECT pg_temp.put('in', (SELECT string_agg(i % 50000 || ',' || CASE WHEN i % 100 = 7 THEN 1 ELSE 9 END, E'\n') FROM generate_series(1, 60000) i) || E'\n') IS NOT NULL AS put;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
SELECT rows_loaded, rows_rejected, details -> 'not_freed' AS not_freed FROM bulk_load('deferrable_t', '/proc/self/cwd/pgbulk_deferrable_in', '{"writer": "direct", "on_error": "ignore", "log_verbosity": "silent"}');
DELETE FROM deferrable_t WHERE ctid IN (SELECT max(ctid) FROM deferrable_t GROUP BY k HAVING count(*) > 1) AND k > 107;
SAVEPOINT a;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO a;
DELETE FROM deferrable_t WHERE ctid IN (SELECT max(ctid) FROM deferrable_t GROUP BY k HAVING count(*) > 1);
COMMIT;
SELECT count(*), count(DISTINCT k) FROM deferrable_t;
-- nor where rows from before the load have yet to be checked
TRUNCATE deferrable_t;
SELECT pg_temp.put('in', (SELECT string_agg(i || ',' || CASE WHEN i % 100 = 7 THEN 1 ELSE 9 END, E'\n') FROM generate_series(1, 60000) i) || E'\n') IS NOT NULL AS put;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO deferrable_t VALUES (-1, 1), (-2, 2), (-1, 3);
SELECT rows_loaded, rows_rejected, details -> 'not_freed' AS not_freed, details ? 'bytes_freed' AS freed FROM bulk_load('deferrable_t', '/proc/self/cwd/pgbulk_deferrable_in', '{"writer": "direct", "indexes": "rebuild", "on_error": "ignore", "log_verbosity": "silent"}');
SAVEPOINT a;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO a;
DELETE FROM deferrable_t WHERE r = 3;
COMMIT;
SELECT count(*), count(DISTINCT k) FROM deferrable_t;
DROP TABLE deferrable_t, deferrable_r;

-- triggers that see each row see each once
CREATE TABLE deferrable_t (k int UNIQUE DEFERRABLE INITIALLY DEFERRED);
CREATE FUNCTION pg_temp.say() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE INFO '% of %', TG_OP, NEW.k; RETURN NULL; END$$;
CREATE TRIGGER say AFTER INSERT ON deferrable_t FOR EACH ROW EXECUTE FUNCTION pg_temp.say();
SELECT pg_temp.put('in', E'1\n2\n1\n') IS NOT NULL AS put;
BEGIN;
SELECT rows_loaded, writer FROM bulk_load('deferrable_t', '/proc/self/cwd/pgbulk_deferrable_in');
ROLLBACK;
DROP TABLE deferrable_t;

-- as with COPY: nothing is checked for a replica
CREATE TABLE deferrable_t (k int UNIQUE DEFERRABLE);
SET session_replication_role = replica;
SELECT pg_temp.ways('deferrable_t');
COPY deferrable_t FROM '/proc/self/cwd/pgbulk_deferrable_in';
RESET session_replication_role;
SELECT count(*) FROM deferrable_t;
DROP TABLE deferrable_t;

-- those of partitions, and exclusion constraints
CREATE TABLE deferrable_t (k int, r int4range, EXCLUDE USING gist (r WITH &&) DEFERRABLE INITIALLY DEFERRED);
SELECT pg_temp.put('in', E'1,"[1,5)"\n2,"[3,4)"\n') IS NOT NULL AS put;
SELECT bulk_load('deferrable_t', '/proc/self/cwd/pgbulk_deferrable_in', '{"writer": "direct"}');
BEGIN;
SELECT rows_loaded, writer FROM bulk_load('deferrable_t', '/proc/self/cwd/pgbulk_deferrable_in');
DELETE FROM deferrable_t WHERE k = 1;
COMMIT;
DROP TABLE deferrable_t;
CREATE TABLE deferrable_t (k int UNIQUE DEFERRABLE INITIALLY DEFERRED, s text) PARTITION BY RANGE (k);
CREATE TABLE deferrable_t1 PARTITION OF deferrable_t FOR VALUES FROM (1) TO (10);
SELECT pg_temp.put('in', E'1,a\n2,b\n1,c\n') IS NOT NULL AS put;
BEGIN;
SELECT rows_loaded FROM bulk_load('deferrable_t', '/proc/self/cwd/pgbulk_deferrable_in');
DELETE FROM deferrable_t WHERE s = 'a';
COMMIT;
SELECT * FROM deferrable_t ORDER BY k;
TRUNCATE deferrable_t;
SELECT pg_temp.ways('deferrable_t1');
CREATE TABLE deferrable_t2 PARTITION OF deferrable_t FOR VALUES FROM (10) TO (20);
SELECT pg_temp.put('in', E'1,a\n12,b\n3,c\n12,d\n1,e\n13,f\n') IS NOT NULL AS put;
SELECT pg_temp.ways('deferrable_t', after => 'DELETE FROM deferrable_t WHERE s IN (''a'', ''d''); SET CONSTRAINTS ALL IMMEDIATE');
SELECT pg_temp.ways('deferrable_t', after => 'DELETE FROM deferrable_t WHERE s = ''e''; SET CONSTRAINTS ALL IMMEDIATE');
SELECT pg_temp.ways('deferrable_t', 'INSERT INTO deferrable_t VALUES (3, ''old''), (13, ''old'')', 'DELETE FROM deferrable_t WHERE s IN (''a'', ''b'', ''c'', ''f''); SET CONSTRAINTS ALL IMMEDIATE');
SELECT pg_temp.put('in', E'1,a\n12,b\n3,c\n4,d\n12,e\n13,f\n') IS NOT NULL AS put;
SELECT pg_temp.ways('deferrable_t', 'SET CONSTRAINTS ALL IMMEDIATE');
DROP TABLE deferrable_t, deferrable_other;
