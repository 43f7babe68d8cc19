--
-- Duplicates: which of the rows with one key are kept, and what happens to the others.
--
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_duplicates_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- Loads a file into a table with the rows of begin: what was set aside, the counters, the table; or the error.
CREATE FUNCTION pg_temp.one(target regclass, options jsonb, begin text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	detail text;
	context text;
BEGIN
	DROP TABLE IF EXISTS duplicates_rejects;
	EXECUTE 'TRUNCATE ' || target || ';' || begin;
	SELECT * INTO r FROM bulk_load(target, '/proc/self/cwd/pgbulk_duplicates_in',
		'{"reject_table": "duplicates_rejects", "log_verbosity": "silent"}' || options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	ASSERT r.writer = options ->> 'writer';
	RETURN QUERY SELECT format('line %s at %s: %s (%s, %s): %s', line_number, byte_offset, raw_line, reason, sqlstate, message)
		FROM duplicates_rejects ORDER BY line_number, message COLLATE "C";
	RETURN NEXT format('%s read, %s loaded, %s rejected, %s duplicate, %s replaced', r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_duplicate, r.rows_replaced);
	RETURN QUERY EXECUTE 'SELECT string_agg(t::text, '' '' ORDER BY t::text COLLATE "C") FROM ' || target || ' t';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	RETURN NEXT nullif(detail, '');
	RETURN NEXT substring(context, 'file "[^"]*", (line [0-9]+)');
END $$;

-- The same by each writer, which must not differ; both policies.
CREATE FUNCTION pg_temp.ways(target regclass, begin text DEFAULT '', options jsonb DEFAULT '{}', writers jsonb DEFAULT '[{"writer": "direct", "workers": 0}, {"writer": "direct", "workers": 2}, {"writer": "direct", "indexes": "merge"}, {"writer": "buffered"}]')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	first text[];
	other text[];
	way jsonb;
	policy text;
BEGIN
	FOREACH policy IN ARRAY ARRAY['keep_old', 'keep_new'] LOOP
		RETURN NEXT policy;
		first := NULL;
		FOR way IN SELECT * FROM jsonb_array_elements(writers) LOOP
			other := ARRAY(SELECT line FROM pg_temp.one(target, options || way || jsonb_build_object('on_duplicate', policy), begin) line WHERE line IS NOT NULL);
			IF first IS NULL THEN
				RETURN QUERY SELECT unnest(other);
				first := other;
			ELSIF other IS DISTINCT FROM first THEN
				RETURN NEXT format('otherwise with %s', way);
				RETURN QUERY SELECT unnest(other);
			END IF;
		END LOOP;
	END LOOP;
END $$;
SET client_min_messages = warning;
SET pgbulk.chunk_size = 64;

-- one key: within the input, against the table, dead rows and HOT chains
CREATE TABLE duplicates_t (id int PRIMARY KEY, t text);
SELECT pg_temp.put('in', E'1,one\n2,two\n1,uno\n3,drei\n3,trois\n4,vier\n3,tre\n');
SELECT pg_temp.ways('duplicates_t');
SELECT pg_temp.ways('duplicates_t', 'INSERT INTO duplicates_t VALUES (1, ''old''), (5, ''stays''), (4, ''gone''), (3, ''before''); UPDATE duplicates_t SET t = t || ''er'' WHERE id = 3; DELETE FROM duplicates_t WHERE id = 4');
-- limits
SELECT pg_temp.ways('duplicates_t', '', '{"duplicate_limit": 3}');
SELECT pg_temp.ways('duplicates_t', '', '{"duplicate_limit": 2}');
SELECT pg_temp.ways('duplicates_t', '', '{"duplicate_limit": "42.8%"}');
-- other bad rows among them
SELECT pg_temp.put('in', E'1,one\nx,x\n1,uno\n2\n3,"two\nlines"\n3,a\n');
SELECT pg_temp.ways('duplicates_t', '', '{"on_error": "ignore"}');
SELECT pg_temp.ways('duplicates_t', '', '{"on_error": "ignore", "where": "t <> ''one''", "limit": 5}');
-- the reject file has the rows that were not loaded, and only those
SELECT pg_temp.put('in', E'1,one\n2,two\n2,deux\n7,seven');
TRUNCATE duplicates_t;
INSERT INTO duplicates_t VALUES (1, 'old'), (7, 'old');
SELECT rows_loaded, rows_duplicate, rows_replaced, details -> 'rejects' ->> 'duplicate' AS duplicate, details -> 'rejects' ->> 'replaced' AS replaced
	FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"writer": "direct", "on_duplicate": "keep_new", "reject_file": "/proc/self/cwd/pgbulk_duplicates_bad"}');
SELECT pg_read_file('/proc/self/cwd/pgbulk_duplicates_bad');
SELECT replace(pg_read_file('/proc/self/cwd/pgbulk_duplicates_bad.log'), '/proc/self/cwd/pgbulk_duplicates_', '');
SET client_min_messages = notice;
SELECT rows_loaded FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"writer": "direct", "on_duplicate": "keep_new", "log_verbosity": "verbose"}');
SET client_min_messages = warning;
DROP TABLE duplicates_t;

-- several unique indexes at once: a row that was set aside conflicts with no other
CREATE TABLE duplicates_t (a int PRIMARY KEY, b text UNIQUE, c int, d int, UNIQUE (c, d));
CREATE INDEX ON duplicates_t (d);
SELECT pg_temp.put('in', E'1,x,1,1\n2,x,2,2\n2,y,3,3\n3,z,1,1\n4,z,4,\n5,v,4,\n6,,,1\n7,,,1\n1,y,4,4\n');
SELECT pg_temp.ways('duplicates_t');
SELECT pg_temp.ways('duplicates_t', 'INSERT INTO duplicates_t VALUES (1, ''v'', 4, 4), (9, ''z'', 2, 2)');
DROP TABLE duplicates_t;

-- expressions, predicates, INCLUDE, operator classes; what is equal but looks different
CREATE TABLE duplicates_t (n numeric UNIQUE, t text, k int, f float8 UNIQUE);
CREATE UNIQUE INDEX ON duplicates_t (lower(t)) INCLUDE (k);
CREATE UNIQUE INDEX ON duplicates_t (k) WHERE t LIKE 'p%';
SELECT pg_temp.put('in', E'1.0,A,1,1\n1.00,b,1,2\n2,a,3,3\n3,p1,5,4\n4,p2,5,5\n5,q2,5,6\n6,q3,5,0\n7,q4,5,-0\n8,q5,5,NaN\n9,q6,5,NaN\n');
SELECT pg_temp.ways('duplicates_t');
DROP TABLE duplicates_t;

-- foreign keys: a row without a referenced one conflicts with no other
CREATE TABLE duplicates_r (id int PRIMARY KEY);
INSERT INTO duplicates_r VALUES (1), (2);
CREATE TABLE duplicates_t (a int PRIMARY KEY, r int REFERENCES duplicates_r);
SELECT pg_temp.put('in', E'1,1\n1,3\n2,3\n2,2\n3,1\n3,\n');
SELECT pg_temp.ways('duplicates_t', 'INSERT INTO duplicates_t VALUES (1, 2)', '{"on_error": "ignore"}');
SELECT pg_temp.ways('duplicates_t', 'INSERT INTO duplicates_t VALUES (1, 2)');
DROP TABLE duplicates_t, duplicates_r;
-- to the table itself: what refers to a row that was deleted has no referenced row either
CREATE TABLE duplicates_t (a int PRIMARY KEY, b int UNIQUE, up int REFERENCES duplicates_t);
SELECT pg_temp.put('in', E'1,1,\n2,1,1\n3,3,2\n4,4,3\n5,5,1\n');
SELECT pg_temp.one('duplicates_t', '{"on_duplicate": "keep_old", "on_error": "ignore", "writer": "direct"}', '');
SELECT pg_temp.one('duplicates_t', '{"on_duplicate": "keep_old", "writer": "direct"}', '');
SELECT pg_temp.one('duplicates_t', '{"on_duplicate": "keep_old", "writer": "buffered"}', '');
SELECT pg_temp.one('duplicates_t', '{"on_duplicate": "keep_new", "writer": "direct"}', '');
SELECT pg_temp.one('duplicates_t', '{"on_duplicate": "keep_new", "writer": "buffered"}', '');
SELECT pg_temp.one('duplicates_t', '{"on_duplicate": "keep_new", "on_error": "ignore", "writer": "direct"}', '');
SELECT pg_temp.one('duplicates_t', '{"on_duplicate": "keep_new", "on_error": "ignore", "writer": "buffered"}', '');
DROP TABLE duplicates_t;

-- rows that others refer to: as DELETE and INSERT
CREATE TABLE duplicates_t (a int PRIMARY KEY, b int UNIQUE);
CREATE TABLE duplicates_none (a int REFERENCES duplicates_t);
CREATE TABLE duplicates_cascade (a int REFERENCES duplicates_t ON DELETE CASCADE);
CREATE TABLE duplicates_null (a int REFERENCES duplicates_t ON DELETE SET NULL);
CREATE TABLE duplicates_restrict (b int REFERENCES duplicates_t (b) ON DELETE RESTRICT);
SELECT pg_temp.put('in', E'1,1\n2,20\n');
CREATE FUNCTION pg_temp.refer_by(writer text, statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE duplicates_t, duplicates_none, duplicates_cascade, duplicates_null, duplicates_restrict;
	INSERT INTO duplicates_t VALUES (1, 1), (2, 2), (3, 3);
	EXECUTE statement;
	PERFORM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', jsonb_build_object('writer', writer) || '{"on_duplicate": "keep_new", "log_verbosity": "silent"}');
	RETURN QUERY EXECUTE 'SELECT string_agg(t::text, '' '' ORDER BY t::text COLLATE "C") FROM duplicates_t t UNION ALL SELECT ''cascade '' || string_agg(coalesce(a::text, ''null''), '','') FROM duplicates_cascade
		UNION ALL SELECT ''null '' || string_agg(coalesce(a::text, ''null''), '','') FROM duplicates_null';
EXCEPTION WHEN OTHERS THEN
	RETURN NEXT format('%s: %s', left(sqlstate, 2), regexp_replace(sqlerrm, ' RESTRICT setting of', ''));
END $$;
CREATE FUNCTION pg_temp.refer(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	direct text[] := ARRAY(SELECT pg_temp.refer_by('direct', statement));
	buffered text[] := ARRAY(SELECT pg_temp.refer_by('buffered', statement));
BEGIN
	RETURN QUERY SELECT unnest(direct);
	IF buffered <> direct THEN
		RETURN QUERY SELECT 'otherwise with buffered' UNION ALL SELECT unnest(buffered);
	END IF;
END $$;
SELECT pg_temp.refer('INSERT INTO duplicates_none VALUES (1), (2), (3)');
SELECT pg_temp.refer('INSERT INTO duplicates_cascade VALUES (1), (2), (3), (NULL); INSERT INTO duplicates_null VALUES (1), (2), (3)');
SELECT pg_temp.refer('INSERT INTO duplicates_restrict VALUES (3)');
SELECT pg_temp.refer('INSERT INTO duplicates_restrict VALUES (1)');
SELECT pg_temp.refer('INSERT INTO duplicates_restrict VALUES (2)');
-- a key that no row has after the load
SELECT pg_temp.put('in', E'7,1\n');
SELECT pg_temp.refer('INSERT INTO duplicates_none VALUES (1)');
SELECT pg_temp.refer('INSERT INTO duplicates_none VALUES (2)');
DROP TABLE duplicates_t, duplicates_none, duplicates_cascade, duplicates_null, duplicates_restrict;

-- wide values are deleted with their row
CREATE TABLE duplicates_t (a int PRIMARY KEY, w text);
ALTER TABLE duplicates_t ALTER w SET STORAGE EXTERNAL;
COPY (SELECT i % 3, repeat(i::text, 5000) FROM generate_series(1, 6) i) TO '/proc/self/cwd/pgbulk_duplicates_in' WITH (FORMAT csv);
SELECT rows_loaded, rows_duplicate FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"writer": "direct", "on_duplicate": "keep_new", "log_verbosity": "silent"}');
SELECT a, left(w, 3), length(w) FROM duplicates_t ORDER BY a;
DROP TABLE duplicates_t;

-- exclusion constraints: one by one
CREATE TABLE duplicates_t (a int, r int4range, EXCLUDE USING gist (r WITH &&));
SELECT pg_temp.put('in', E'1,"[1,5)"\n2,"[4,8)"\n3,"[7,9)"\n4,"[20,30)"\n5,\n6,"[0,30)"\n');
SELECT pg_temp.ways('duplicates_t', 'INSERT INTO duplicates_t VALUES (0, ''[25,26)'')', '{}', '[{"writer": "buffered"}]');
DROP TABLE duplicates_t;

-- partitions; a leaf with an index of its own
CREATE TABLE duplicates_t (a int, b text, PRIMARY KEY (a)) PARTITION BY RANGE (a);
CREATE TABLE duplicates_1 (x int, b text, a int NOT NULL);
ALTER TABLE duplicates_1 DROP COLUMN x;
ALTER TABLE duplicates_t ATTACH PARTITION duplicates_1 FOR VALUES FROM (0) TO (10);
CREATE TABLE duplicates_2 PARTITION OF duplicates_t FOR VALUES FROM (10) TO (20);
CREATE UNIQUE INDEX ON duplicates_2 (b);
SELECT pg_temp.put('in', E'1,a\n11,a\n1,b\n12,a\n12,b\n1,c\n2,c\n');
SELECT pg_temp.ways('duplicates_t', 'INSERT INTO duplicates_t VALUES (2, ''old''), (15, ''b'')', '{}', '[{"writer": "buffered"}]');
DROP TABLE duplicates_t;

-- triggers see a DELETE and an INSERT
CREATE TABLE duplicates_t (a int PRIMARY KEY, b text);
CREATE TABLE duplicates_log (n serial, what text);
CREATE FUNCTION duplicates_see() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	rows text := '';
BEGIN
	IF TG_LEVEL = 'STATEMENT' AND TG_WHEN = 'AFTER' THEN
		IF TG_OP = 'DELETE' THEN
			rows := (SELECT coalesce(string_agg(gone::text, ' ' ORDER BY gone), '') FROM gone);
		ELSE
			rows := (SELECT coalesce(string_agg(come::text, ' ' ORDER BY come), '') FROM come);
		END IF;
	END IF;
	INSERT INTO duplicates_log (what) VALUES (concat_ws(' ', TG_WHEN, TG_OP, TG_LEVEL, CASE WHEN TG_OP = 'DELETE' THEN old::text ELSE new::text END, rows));
	IF TG_OP = 'DELETE' THEN
		IF old.b = 'stay' THEN
			RETURN NULL;
		END IF;
		RETURN old;
	END IF;
	RETURN new;
END $$;
CREATE TRIGGER t1 BEFORE INSERT OR DELETE ON duplicates_t FOR EACH ROW EXECUTE FUNCTION duplicates_see();
CREATE TRIGGER t2 AFTER INSERT OR DELETE ON duplicates_t FOR EACH ROW EXECUTE FUNCTION duplicates_see();
CREATE TRIGGER t3 BEFORE INSERT OR DELETE ON duplicates_t FOR EACH STATEMENT EXECUTE FUNCTION duplicates_see();
CREATE TRIGGER t4 AFTER INSERT ON duplicates_t REFERENCING NEW TABLE AS come FOR EACH STATEMENT EXECUTE FUNCTION duplicates_see();
CREATE TRIGGER t5 AFTER DELETE ON duplicates_t REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION duplicates_see();
SELECT pg_temp.put('in', E'1,a\n2,b\n1,c\n');
SELECT pg_temp.one('duplicates_t', '{"writer": "buffered", "on_duplicate": "keep_new"}', 'INSERT INTO duplicates_t VALUES (1, ''old''); TRUNCATE duplicates_log RESTART IDENTITY');
SELECT what FROM duplicates_log ORDER BY n;
SELECT pg_temp.one('duplicates_t', '{"writer": "buffered", "on_duplicate": "keep_old"}', 'INSERT INTO duplicates_t VALUES (1, ''old''); TRUNCATE duplicates_log RESTART IDENTITY');
SELECT what FROM duplicates_log ORDER BY n;
SELECT pg_temp.one('duplicates_t', '{"writer": "buffered", "on_duplicate": "keep_new"}', 'INSERT INTO duplicates_t VALUES (1, ''stay'')');
SELECT pg_temp.one('duplicates_t', '{"writer": "direct", "on_duplicate": "keep_new"}', '');
ALTER TABLE duplicates_t DROP CONSTRAINT duplicates_t_pkey, ADD EXCLUDE (a WITH =);
SELECT pg_temp.one('duplicates_t', '{"writer": "buffered", "on_duplicate": "keep_new"}', 'INSERT INTO duplicates_t VALUES (1, ''stay'')');
DROP TABLE duplicates_t, duplicates_log;
DROP FUNCTION duplicates_see;

-- rows that the transaction does not see are not replaced; its own are
CREATE TABLE duplicates_t (a int PRIMARY KEY, b text);
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO duplicates_t VALUES (1, 'mine');
SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"writer": "buffered", "on_duplicate": "keep_new"}');
SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"writer": "direct", "on_duplicate": "keep_new"}');
SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"on_duplicate": "keep_old"}');
TABLE duplicates_t ORDER BY a;
COMMIT;
-- after a savepoint
BEGIN;
SAVEPOINT s;
SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"writer": "direct", "on_duplicate": "keep_new"}');
ROLLBACK TO s;
TABLE duplicates_t ORDER BY a;
SAVEPOINT s2;
SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"writer": "buffered", "on_duplicate": "keep_new"}');
RELEASE s2;
COMMIT;
TABLE duplicates_t ORDER BY a;
DROP TABLE duplicates_t;

-- many rows: as many as the table has keys, in every index
CREATE TABLE duplicates_t (a int PRIMARY KEY, b text, c int);
CREATE INDEX ON duplicates_t (b);
COPY (SELECT i * 7919 % 5000, 'b' || i % 100, i FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_duplicates_in' WITH (FORMAT csv);
SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"writer": "direct", "on_duplicate": "keep_new", "log_verbosity": "silent"}');
SELECT count(*), min(c), max(c) FROM duplicates_t;
SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"writer": "direct", "on_duplicate": "keep_old", "log_verbosity": "silent"}');
SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"writer": "direct", "on_duplicate": "keep_new", "log_verbosity": "silent"}');
SET enable_seqscan = off;
SELECT count(*), min(c), max(c) FROM duplicates_t WHERE a >= 0;
RESET enable_seqscan;
DROP TABLE duplicates_t;

-- where most rows are deleted again, their space is reclaimed; under REPEATABLE READ all are stored first
SET default_transaction_isolation = 'repeatable read';
CREATE TABLE duplicates_t (a int PRIMARY KEY, b text, c text);
ALTER TABLE duplicates_t ALTER c SET STORAGE EXTERNAL;
CREATE INDEX ON duplicates_t (b);
CREATE INDEX ON duplicates_t USING hash (b);
COPY (SELECT i * 7919 % 20000, 'b' || i % 100, CASE WHEN i % 1000 = 0 THEN repeat('c', 3000) END FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_duplicates_in' WITH (FORMAT csv);
CREATE FUNCTION pg_temp.load_in(options jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	before bigint := pg_relation_size('duplicates_t');
BEGIN
	SELECT * INTO r FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', options || '{"log_verbosity": "silent"}');
	RETURN format('%s loaded, %s duplicate, %s replaced, %s bytes more, freed: %s', r.rows_loaded, r.rows_duplicate, r.rows_replaced, pg_relation_size('duplicates_t') - before, r.details ->> 'bytes_freed');
END $$;
SELECT rows_loaded, details ? 'bytes_freed' AS freed FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"on_duplicate": "keep_old", "workers": 0}');
SELECT pg_temp.load_in('{"on_duplicate": "keep_old", "writer": "direct", "workers": 0}');
SELECT relpages, reltuples FROM pg_class WHERE oid = 'duplicates_t'::regclass;
-- a quarter of the rows is new, some with wide values
COPY (SELECT i + CASE WHEN i % 4 = 0 THEN 100000 ELSE 0 END, 'n' || i % 100, CASE WHEN i % 1000 = 0 THEN repeat('d', 3000) END FROM generate_series(1, 19999) i) TO '/proc/self/cwd/pgbulk_duplicates_in' WITH (FORMAT csv);
BEGIN;
SELECT pg_temp.load_in('{"on_duplicate": "keep_old", "writer": "direct", "workers": 0}');
ROLLBACK;
SELECT count(*), count(c) FROM duplicates_t;
SELECT pg_temp.load_in('{"on_duplicate": "keep_old", "writer": "direct", "workers": 0}');
SELECT relpages, reltuples FROM pg_class WHERE oid = 'duplicates_t'::regclass;
SET enable_seqscan = off;
SELECT count(*), count(c), min(length(c)), max(length(c)) FROM duplicates_t WHERE a >= 100000;
SELECT count(*) FROM duplicates_t WHERE b = 'n4';
RESET enable_seqscan;
-- not where an index that others see, too, points to them: if the load fails, nothing else may be stored there
BEGIN;
SELECT pg_temp.load_in('{"on_duplicate": "keep_old", "writer": "direct", "indexes": "insert", "workers": 0}') ~ 'freed: $';
ROLLBACK;
SELECT pg_temp.load_in('{"on_duplicate": "keep_old", "writer": "direct", "workers": 0, "indexes": "rebuild"}') ~ 'freed: [1-9]';
INSERT INTO duplicates_t SELECT i, 'after' FROM generate_series(200001, 220000) i;
SET enable_seqscan = off;
SELECT count(*) FROM duplicates_t WHERE b = 'after';
SELECT count(*) FROM duplicates_t WHERE a > 200000;
SELECT count(*) FROM duplicates_t WHERE a < 100000;
RESET enable_seqscan;
-- where others are using the table
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM duplicates_t;
FETCH c;
SELECT rows_loaded, rows_duplicate FROM bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"on_duplicate": "keep_old", "writer": "direct", "log_verbosity": "silent"}');
MOVE ALL c;
COMMIT;
RESET default_transaction_isolation;
DROP TABLE duplicates_t;

-- what is refused
CREATE TABLE duplicates_t (a int UNIQUE DEFERRABLE, r int4range);
SELECT bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"on_duplicate": "keep_old"}');
ALTER TABLE duplicates_t DROP CONSTRAINT duplicates_t_a_key, ADD EXCLUDE USING gist (r WITH &&);
SELECT bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"writer": "direct", "on_duplicate": "keep_old"}');
SELECT bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"freeze": true, "on_duplicate": "keep_old"}');
SELECT bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"duplicate_limit": 5}');
SELECT bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"reject_table": "x"}');
SELECT bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"on_duplicate": "keep"}');
SELECT bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"on_duplicate": "keep_new", "duplicate_limit": -1}');
-- keep_new deletes and reads
CREATE ROLE duplicates_user;
GRANT INSERT ON duplicates_t TO duplicates_user;
GRANT pg_read_server_files TO duplicates_user;
SET ROLE duplicates_user;
SELECT bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"on_duplicate": "keep_new"}');
RESET ROLE;
GRANT SELECT ON duplicates_t TO duplicates_user;
SET ROLE duplicates_user;
SELECT bulk_load('duplicates_t', '/proc/self/cwd/pgbulk_duplicates_in', '{"on_duplicate": "keep_new"}');
RESET ROLE;
DROP TABLE duplicates_t;
DROP OWNED BY duplicates_user;
DROP ROLE duplicates_user;

-- keys that would delete the new rows with the old ones
CREATE TABLE duplicates_boss (id int PRIMARY KEY, boss int REFERENCES duplicates_boss ON DELETE CASCADE);
INSERT INTO duplicates_boss VALUES (1, NULL), (2, 1);
COPY duplicates_boss TO '/proc/self/cwd/pgbulk_duplicates_boss' WITH (FORMAT csv);
SELECT bulk_load('duplicates_boss', '/proc/self/cwd/pgbulk_duplicates_boss', '{"on_duplicate": "keep_new"}');
SELECT rows_duplicate FROM bulk_load('duplicates_boss', '/proc/self/cwd/pgbulk_duplicates_boss', '{"on_duplicate": "keep_old"}');
ALTER TABLE duplicates_boss DROP CONSTRAINT duplicates_boss_boss_fkey;
CREATE TABLE duplicates_ring (id int PRIMARY KEY REFERENCES duplicates_boss ON DELETE CASCADE);
INSERT INTO duplicates_ring VALUES (1), (2);
ALTER TABLE duplicates_boss ADD FOREIGN KEY (boss) REFERENCES duplicates_ring ON DELETE SET NULL;
SELECT bulk_load('duplicates_boss', '/proc/self/cwd/pgbulk_duplicates_boss', '{"on_duplicate": "keep_new"}');
ALTER TABLE duplicates_boss DROP CONSTRAINT duplicates_boss_boss_fkey;
SELECT rows_replaced FROM bulk_load('duplicates_boss', '/proc/self/cwd/pgbulk_duplicates_boss', '{"on_duplicate": "keep_new"}');
DROP TABLE duplicates_ring, duplicates_boss;

-- more of them than memory holds
CREATE TABLE duplicates_many (id int, x int);
CREATE UNIQUE INDEX ON duplicates_many (x);
COPY (SELECT i, i % 50001 FROM generate_series(1, 120000) i) TO '/proc/self/cwd/pgbulk_duplicates_many' WITH (FORMAT csv);
SET maintenance_work_mem = '1MB';
SELECT rows_loaded, rows_duplicate FROM bulk_load('duplicates_many', '/proc/self/cwd/pgbulk_duplicates_many', '{"on_duplicate": "keep_new", "workers": 0, "writer": "direct", "log_verbosity": "silent"}');
SELECT count(*), sum(id), sum(x) FROM duplicates_many;
TRUNCATE duplicates_many;
SELECT rows_loaded, rows_duplicate FROM bulk_load('duplicates_many', '/proc/self/cwd/pgbulk_duplicates_many', '{"on_duplicate": "keep_old", "workers": 1, "writer": "direct", "log_verbosity": "silent"}');
SELECT count(*), sum(id), sum(x) FROM duplicates_many;
RESET maintenance_work_mem;
DROP TABLE duplicates_many;

-- where no two rows can have the same key
SET client_min_messages = notice;
CREATE TABLE duplicates_none (id int, x int);
COPY (SELECT 1, 1) TO '/proc/self/cwd/pgbulk_duplicates_many' WITH (FORMAT csv);
SELECT rows_loaded FROM bulk_load('duplicates_none', '/proc/self/cwd/pgbulk_duplicates_many', '{"on_duplicate": "keep_old"}');
SELECT rows_loaded FROM bulk_load('duplicates_none', '/proc/self/cwd/pgbulk_duplicates_many', '{"on_duplicate": "keep_new", "log_verbosity": "silent"}');
CREATE INDEX ON duplicates_none (x);
SELECT rows_loaded FROM bulk_load('duplicates_none', '/proc/self/cwd/pgbulk_duplicates_many', '{"on_duplicate": "keep_new"}');
TRUNCATE duplicates_none;
ALTER TABLE duplicates_none ADD EXCLUDE (x WITH =);
SELECT rows_loaded FROM bulk_load('duplicates_none', '/proc/self/cwd/pgbulk_duplicates_many', '{"on_duplicate": "keep_old"}');
DROP TABLE duplicates_none;
CREATE TABLE duplicates_none (id int, x int) PARTITION BY RANGE (id);
CREATE TABLE duplicates_none_1 PARTITION OF duplicates_none FOR VALUES FROM (0) TO (10);
SELECT rows_loaded FROM bulk_load('duplicates_none', '/proc/self/cwd/pgbulk_duplicates_many', '{"on_duplicate": "keep_old"}');
CREATE UNIQUE INDEX ON duplicates_none_1 (x);
SELECT rows_loaded FROM bulk_load('duplicates_none', '/proc/self/cwd/pgbulk_duplicates_many', '{"on_duplicate": "keep_new"}');
DROP TABLE duplicates_none;
RESET client_min_messages;
