--
-- Dry runs: the same result as that of the load that follows, and nothing remains.
--
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_dry_run_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
-- good rows, some of them wide; bad values, violated checks, orphans, duplicates within the input and with the table
SELECT pg_temp.put('in', string_agg(format(E'%s,%s,%s\n',
	CASE WHEN i % 50 = 7 THEN 'x' ELSE (i % 700 - CASE WHEN i > 900 THEN 300 ELSE 0 END)::text END,
	CASE i % 40 WHEN 5 THEN '' WHEN 9 THEN (SELECT string_agg(md5((i * k)::text), '') FROM generate_series(1, 200) k) ELSE repeat('s', i % 90) END,
	i % 23), '' ORDER BY i)) AS f FROM generate_series(1, 1000) i \gset
SELECT pg_temp.put('good', string_agg(format(E'%s,%s,%s\n', i + 1000, md5(i::text), i % 20), '' ORDER BY i)) AS good FROM generate_series(1, 300) i \gset

-- tables of several kinds, with old rows
CREATE FUNCTION dry_make(kind text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	unvacuumed text := CASE WHEN kind LIKE 'parts%' THEN '' ELSE 'WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false)' END;
BEGIN
	DROP TABLE IF EXISTS dry_t, dry_ref, dry_audit, dry_rejects CASCADE;
	CREATE TABLE dry_ref (r int PRIMARY KEY);
	CREATE TABLE dry_audit (what text);
	INSERT INTO dry_ref SELECT generate_series(0, 21);
	EXECUTE CASE split_part(kind, ' ', 2) WHEN 'temp' THEN 'CREATE TEMP' WHEN 'unlogged' THEN 'CREATE UNLOGGED' ELSE 'CREATE' END ||
		' TABLE dry_t (k int, s text, r int, id serial, g int GENERATED ALWAYS AS (r * 2) STORED)' ||
		CASE WHEN kind LIKE 'parts%' THEN 'PARTITION BY LIST (r)' ELSE unvacuumed END;
	IF kind LIKE 'parts%' THEN
		CREATE TABLE dry_t_1 PARTITION OF dry_t FOR VALUES IN (0, 1, 2, 3, 4, 5) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
		CREATE TABLE dry_t_2 (s text, x int, k int NOT NULL, r int, id int NOT NULL, g int GENERATED ALWAYS AS (r * 2) STORED) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
		ALTER TABLE dry_t_2 DROP x;
		ALTER TABLE dry_t ATTACH PARTITION dry_t_2 FOR VALUES IN (6, 7, 8, 9, 10, 11, 12);
		CREATE TABLE dry_t_3 PARTITION OF dry_t FOR VALUES IN (13, 14, 15, 16, 17, 18, 19, 20, 21, 22) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
	END IF;
	IF kind LIKE '%rows%' THEN
		INSERT INTO dry_t (k, s, r) SELECT 10 * i, repeat('t', i), i % 20 FROM generate_series(1, 200) i;
		DELETE FROM dry_t WHERE k BETWEEN 500 AND 900;
	END IF;
	IF kind LIKE '%unique%' AND kind LIKE 'parts%' THEN
		CREATE UNIQUE INDEX dry_t_kr ON dry_t (k, r);
	ELSIF kind LIKE '%unique%' THEN
		CREATE UNIQUE INDEX dry_t_k ON dry_t (k) WHERE k <> 99;
		ALTER TABLE dry_t ADD PRIMARY KEY (id);
	END IF;
	IF kind LIKE '%index%' THEN
		CREATE INDEX dry_t_s ON dry_t (left(s, 50), r);
		CREATE INDEX dry_t_gist ON dry_t USING gist (point(k, r));
		CREATE INDEX dry_t_hash ON dry_t USING hash (r);
		CREATE INDEX dry_t_gin ON dry_t USING gin ((ARRAY[k, r]));
		CREATE INDEX dry_t_spgist ON dry_t USING spgist (left(s, 50));
		CREATE INDEX dry_t_brin ON dry_t USING brin (k);
	END IF;
	IF kind LIKE '%exclude%' THEN
		ALTER TABLE dry_t ADD CONSTRAINT dry_t_exclude EXCLUDE USING gist (int4range(k, k + 1) WITH &&);
	END IF;
	IF kind LIKE '%check%' THEN
		ALTER TABLE dry_t ADD CHECK (k <> 77), ALTER s SET NOT NULL;
	END IF;
	IF kind LIKE '%key%' THEN
		ALTER TABLE dry_t ADD FOREIGN KEY (r) REFERENCES dry_ref;
	END IF;
	IF kind LIKE '%before%' THEN
		CREATE TRIGGER before BEFORE INSERT ON dry_t FOR EACH ROW EXECUTE FUNCTION dry_before();
	END IF;
	IF kind LIKE '%after%' THEN
		CREATE TRIGGER after AFTER INSERT ON dry_t FOR EACH ROW EXECUTE FUNCTION dry_after();
		CREATE TRIGGER statement AFTER INSERT ON dry_t EXECUTE FUNCTION dry_after();
	END IF;
	ANALYZE dry_t;
END $$;
CREATE FUNCTION dry_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.k % 10 = 3 THEN RETURN NULL; END IF;
	NEW.s := NEW.s || '!';
	INSERT INTO dry_t (k, s, r) SELECT -1 - NEW.id, 'made', 1 WHERE NEW.k = 101;
	RETURN NEW;
END $$;
CREATE FUNCTION dry_after() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO dry_audit VALUES (TG_LEVEL);
	RETURN NULL;
END $$;

-- files, sizes, rows and sequences as they are
CREATE FUNCTION dry_state() RETURNS TABLE (relation text, state text) LANGUAGE plpgsql AS $$
DECLARE
	name text;
	what text;
BEGIN
	RETURN QUERY
	WITH RECURSIVE r (oid) AS (
		SELECT c.oid FROM pg_class c WHERE c.relname ~ '^dry_t'
		UNION
		SELECT x.oid FROM r, LATERAL (
			SELECT c.reltoastrelid AS oid FROM pg_class c WHERE c.oid = r.oid AND c.reltoastrelid <> 0
			UNION ALL SELECT i.indexrelid FROM pg_index i WHERE i.indrelid = r.oid) x)
	SELECT r.oid::regclass::text,
		concat_ws(' ', c.relfilenode, c.relpersistence, c.relpages, c.reltuples, pg_relation_size(c.oid), pg_relation_size(c.oid, 'fsm'))
	FROM r JOIN pg_class c USING (oid);
	FOR name, what IN SELECT c.oid::regclass, CASE c.relkind WHEN 'S' THEN 'last_value || '' '' || is_called' ELSE 't::text' END
		FROM pg_class c WHERE c.relname ~ '^dry_t' AND c.relkind IN ('r', 'S') OR c.relname = 'dry_audit' LOOP
		relation := name || ' rows';
		EXECUTE format('SELECT md5(string_agg(%s, '','' ORDER BY %1$s)) FROM %s t', what, name) INTO state;
		RETURN NEXT;
	END LOOP;
END $$;

CREATE FUNCTION dry_load(path text, options jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	detail text;
BEGIN
	SELECT * INTO r FROM bulk_load('dry_t', path, options);
	RETURN format('%s read, %s loaded, %s rejected, %s duplicate, %s replaced, %s filtered, %s bytes, %s, rejects %s',
		r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_duplicate, r.rows_replaced, r.rows_filtered, r.bytes_read,
		coalesce(r.details ->> 'writer', r.writer), r.details -> 'rejects');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN format('%s: %s %s', SQLSTATE, SQLERRM, detail);
END $$;

-- a dry run and then the load: their result, if it is the same
CREATE FUNCTION dry_compare(kind text, path text, options jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text;
	says text;
	shown text;
BEGIN
	CREATE TEMP TABLE dry_before ON COMMIT DROP AS SELECT * FROM dry_state();
	said := dry_load(path, options || '{"dry_run": true}');
	SELECT string_agg(format('%s: %s, %s', coalesce(b.relation, a.relation), b.state, a.state), E'\n') INTO shown
	FROM dry_before b FULL JOIN dry_state() a USING (relation) WHERE a.state IS DISTINCT FROM b.state;
	IF shown IS NOT NULL THEN
		RETURN E'what stays:\n' || shown;
	END IF;
	says := dry_load(path, options);
	IF said IS DISTINCT FROM says THEN
		RETURN format(E'the dry run says %s\nthe load says %s', said, says);
	END IF;
	IF to_regclass('dry_rejects') IS NOT NULL THEN
		SELECT string_agg(d::text, E'\n') INTO shown FROM (
			(SELECT target, file, line_number, byte_offset, reason, column_name, field_value, sqlstate, message, raw_line FROM dry_rejects WHERE load_id < 0
			 EXCEPT ALL SELECT target, file, line_number, byte_offset, reason, column_name, field_value, sqlstate, message, raw_line FROM dry_rejects WHERE load_id > 0)
			UNION ALL
			(SELECT target, file, line_number, byte_offset, reason, column_name, field_value, sqlstate, message, raw_line FROM dry_rejects WHERE load_id > 0
			 EXCEPT ALL SELECT target, file, line_number, byte_offset, reason, column_name, field_value, sqlstate, message, raw_line FROM dry_rejects WHERE load_id < 0)) d;
		IF shown IS NOT NULL THEN
			RETURN E'other rejects:\n' || shown;
		END IF;
	END IF;
	RETURN left(regexp_replace(says, ', rejects.*', ''), 200);
END $$;

CREATE TABLE dry_cases (n serial, kind text, path text, options jsonb);
INSERT INTO dry_cases (kind, path, options)
SELECT kind, :'f', o::jsonb || '{"columns": ["k", "s", "r"], "log_verbosity": "silent", "on_error": "ignore", "reject_table": "dry_rejects"}'
FROM (VALUES
	('plain', '{}'), ('plain', '{"writer": "buffered"}'), ('plain', '{"workers": 2}'), ('plain temp', '{}'), ('plain unlogged', '{}'),
	('plain', '{"limit": 0}'), ('plain', '{"reject_limit": 3}'), ('plain', '{"reject_limit": "1%"}'), ('plain', '{"where": "k > 300", "skip": 5, "limit": 700}'),
	('check', '{}'), ('check key rows', '{}'), ('check key rows', '{"writer": "direct"}'), ('check key rows', '{"truncate": true, "analyze": true}'),
	('rows', '{}'), ('rows', '{"writer": "direct"}'), ('rows index', '{}'), ('rows index temp', '{}'), ('rows index unlogged', '{}'),
	('rows index', '{"indexes": "insert", "writer": "direct"}'), ('rows index', '{"indexes": "rebuild"}'), ('rows index', '{"truncate": true}'),
	('unique', '{}'), ('unique rows index', '{}'),
	('unique rows index key check', '{"on_duplicate": "keep_old"}'), ('unique rows index key check', '{"on_duplicate": "keep_new"}'),
	('unique rows index key', '{"on_duplicate": "keep_old", "writer": "direct"}'), ('unique rows index key', '{"on_duplicate": "keep_new", "writer": "direct"}'),
	('unique rows', '{"on_duplicate": "keep_new", "indexes": "merge"}'), ('unique rows', '{"on_duplicate": "keep_old", "indexes": "rebuild"}'),
	('unique rows', '{"on_duplicate": "keep_old", "indexes": "insert", "writer": "direct"}'), ('unique rows', '{"on_duplicate": "keep_new", "duplicate_limit": 5}'),
	('unique rows', '{"on_duplicate": "keep_new", "duplicate_limit": "5%"}'), ('unique', '{"on_duplicate": "keep_old", "workers": 2}'),
	('unique rows unlogged', '{"on_duplicate": "keep_new"}'), ('unique rows temp', '{"on_duplicate": "keep_new"}'), ('unique rows temp', '{"on_duplicate": "keep_old", "writer": "direct"}'),
	('exclude rows', '{"on_duplicate": "keep_old"}'), ('exclude', '{}'),
	('before rows unique', '{}'), ('before rows', '{}'), ('before rows index', '{"on_duplicate": "keep_old"}'), ('after rows key', '{}'), ('before after', '{}'),
	('parts', '{}'), ('parts rows', '{}'), ('parts rows', '{"writer": "direct"}'), ('parts rows unique index', '{"on_duplicate": "keep_new"}'),
	('parts unique', '{"on_duplicate": "keep_old"}'), ('parts rows key unique', '{}'), ('parts before after rows', '{}')) v (kind, o);
INSERT INTO dry_cases (kind, path, options)
SELECT kind, :'good', o::jsonb || '{"columns": ["k", "s", "r"]}'
FROM (VALUES ('plain', '{"truncate": true, "freeze": true}'), ('unique rows index key check', '{}'), ('unique rows index key check', '{"writer": "direct"}'),
	('unique rows index', '{"indexes": "rebuild"}'), ('exclude rows', '{}'), ('exclude rows', '{"writer": "direct"}'), ('parts rows unique', '{}')) v (kind, o);
INSERT INTO dry_cases (kind, path, options) VALUES
	('plain', :'f', '{"columns": ["k", "s", "r"]}'), ('check', :'good', '{"columns": ["s", "k", "r"]}'), ('plain', '/nowhere/x', '{}'),
	('key', :'good', '{"columns": ["k", "s", "r"], "where": "1 / (k - 1200) < 9"}'), ('plain', :'good', '{"freeze": true}'),
	('unique rows', :'good', '{"columns": ["k", "s", "r"], "where": "k > 1100", "indexes": "merge"}');
\pset tuples_only on
\pset format unaligned
\set ECHO none
SELECT format('DO $$BEGIN PERFORM dry_make(%L); END$$', kind), format('SELECT %L', format('%s %s', kind, options - '{columns,log_verbosity,on_error,reject_table}'::text[])),
	format('SELECT dry_compare(%L, %L, %L)', kind, path, options)
FROM dry_cases ORDER BY n \gexec
\set ECHO all
\pset tuples_only off
\pset format aligned

-- the result row, the rejects, and what may not be done with them
SELECT dry_make('rows');
SELECT rows_read, rows_loaded, rows_rejected, writer, details ->> 'writer' AS would_be, details -> 'dry_run' AS dry, (details ->> 'load_id')::bigint < 0 AS negative, details ->> 'load_id' AS load
FROM bulk_load('dry_t', :'f', '{"columns": ["k", "s", "r"], "on_error": "ignore", "reject_table": "dry_rejects", "reject_file": "/proc/self/cwd/pgbulk_dry_run_rejects", "dry_run": true}') \gset dry_
\echo :dry_rows_read :dry_rows_loaded :dry_rows_rejected :dry_writer :dry_would_be :dry_dry :dry_negative
SELECT count(*), bool_and(load_id = :dry_load) AS same_load FROM dry_rejects;
SELECT count(*) FROM regexp_split_to_table(rtrim(pg_read_file('/proc/self/cwd/pgbulk_dry_run_rejects'), E'\n'), '\n');
\set VERBOSITY default
DO $$
BEGIN
	PERFORM bulk_load_retry('dry_t', 'dry_rejects', (SELECT min(load_id) FROM dry_rejects));
EXCEPTION WHEN invalid_parameter_value THEN
	RAISE INFO '%', regexp_replace(SQLERRM, '\d+', 'N');
END $$;
-- more rejects than fit in memory
SET work_mem = '64kB';
SELECT pg_temp.put('bad', string_agg(format(E'x%s,%s,1\n', i, repeat('y', 200)), '')) AS bad FROM generate_series(1, 20000) i \gset
SELECT rows_rejected FROM bulk_load('dry_t', :'bad', '{"columns": ["k", "s", "r"], "on_error": "ignore", "reject_table": "dry_rejects", "log_verbosity": "silent", "dry_run": true}');
SELECT count(*), count(DISTINCT raw_line), min(line_number), max(line_number) FROM dry_rejects WHERE field_value LIKE 'x_%';
RESET work_mem;

SELECT rows_loaded, details ->> 'writer' AS writer FROM bulk_load('dry_t', :'good', '{"columns": ["k", "s", "r"], "truncate": true, "freeze": true, "analyze": true, "dry_run": true}');
SELECT count(*) FROM dry_t;

-- in a transaction, after a savepoint, with changes of the transaction itself
BEGIN;
INSERT INTO dry_t (k, s, r) VALUES (5000, 'own', 1);
SAVEPOINT s;
SELECT rows_loaded FROM bulk_load('dry_t', :'good', '{"columns": ["k", "s", "r"], "dry_run": true}');
INSERT INTO dry_t (k, s, r) VALUES (5001, 'own', 1);
SELECT rows_loaded FROM bulk_load('dry_t', :'good', '{"columns": ["k", "s", "r"], "dry_run": true}');
SELECT count(*) FROM dry_t WHERE k >= 1000;
ROLLBACK TO s;
CREATE TABLE dry_t_new (k int UNIQUE, s text, r int);
SELECT rows_loaded, details ->> 'writer' AS writer FROM bulk_load('dry_t_new', :'good', '{"dry_run": true}');
SELECT rows_loaded, details ->> 'writer' AS writer FROM bulk_load('dry_t_new', :'good', '{"dry_run": true, "freeze": true}');
SELECT count(*) FROM dry_t_new;
SELECT rows_loaded, writer FROM bulk_load('dry_t_new', :'good');
SELECT rows_loaded, rows_duplicate, details ->> 'writer' AS writer FROM bulk_load('dry_t_new', :'good', '{"dry_run": true, "on_duplicate": "keep_new", "log_verbosity": "silent"}');
SELECT count(*) FROM dry_t_new;
COMMIT;
SELECT count(*), pg_relation_size('dry_t_new') > 0 FROM dry_t_new;
BEGIN READ ONLY;
SELECT rows_loaded FROM bulk_load('dry_t', :'good', '{"columns": ["k", "s", "r"], "dry_run": true}');
ROLLBACK;

-- what is deferred to the end of the transaction
CREATE TABLE dry_t_deferred (k int UNIQUE DEFERRABLE INITIALLY DEFERRED, s text, r int REFERENCES dry_ref DEFERRABLE INITIALLY DEFERRED);
CREATE FUNCTION dry_say() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE INFO 'deferred % of %', TG_OP, NEW.k; RETURN NULL; END$$;
CREATE CONSTRAINT TRIGGER say AFTER INSERT ON dry_t_deferred DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.k = 1001) EXECUTE FUNCTION dry_say();
SELECT rows_loaded FROM bulk_load('dry_t_deferred', :'good', '{"dry_run": true}');
SELECT pg_temp.put('twice', E'1001,a,1\n1001,b,2\n') AS twice, pg_temp.put('orphan', E'1,a,1\n2,b,99\n') AS orphan \gset
SELECT rows_loaded FROM bulk_load('dry_t_deferred', :'twice', '{"dry_run": true}');
SELECT rows_loaded FROM bulk_load('dry_t_deferred', :'orphan', '{"dry_run": true}');
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
SELECT rows_loaded FROM bulk_load('dry_t_deferred', :'good', '{"dry_run": true, "where": "k > 1001"}');
-- they are deferred as before
SELECT rows_loaded FROM bulk_load('dry_t_deferred', :'orphan');
DELETE FROM dry_t_deferred WHERE k = 2;
COMMIT;
SELECT count(*) FROM dry_t_deferred;

-- sequences: of columns, in expressions, of the session; what comes after is as if nothing had been
CREATE SEQUENCE dry_seq CACHE 5;
CREATE TABLE dry_t_seq (a int GENERATED ALWAYS AS IDENTITY, b text DEFAULT 'no ' || nextval('dry_seq'), c bigint DEFAULT nextval('dry_seq'), k int);
INSERT INTO dry_t_seq (k) VALUES (1);
SELECT pg_temp.put('k', E'11\n12\n13\n') AS k \gset
SELECT last_value, is_called FROM dry_seq;
SELECT rows_loaded FROM bulk_load('dry_t_seq', :'k', '{"columns": ["k"], "dry_run": true}');
SELECT last_value, is_called FROM dry_seq;
SELECT last_value, is_called FROM dry_t_seq_a_seq;
INSERT INTO dry_t_seq (k) VALUES (2);
SELECT a, k FROM dry_t_seq ORDER BY a;
ALTER SEQUENCE dry_t_seq_a_seq MAXVALUE 4;
SELECT rows_loaded FROM bulk_load('dry_t_seq', :'k', '{"columns": ["k"], "dry_run": true}');
SELECT last_value FROM dry_t_seq_a_seq;

-- a query, a transformation, a view
SELECT rows_loaded, writer FROM bulk_load_query('dry_t', 'SELECT k + 1, s, r FROM dry_t', '{"columns": ["k", "s", "r"], "dry_run": true}');
CREATE FUNCTION dry_transform(a text, b text, c text) RETURNS dry_t LANGUAGE sql AS $$SELECT a::int, b, c::int, 1, 2$$;
SELECT rows_loaded, writer FROM bulk_load('dry_t', :'good', '{"transform": "dry_transform", "dry_run": true}');
CREATE VIEW dry_view AS SELECT k, s, r FROM dry_t;
CREATE FUNCTION dry_instead() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO dry_t (k, s, r) VALUES (NEW.k, NEW.s, NEW.r); RETURN NEW; END$$;
CREATE TRIGGER instead INSTEAD OF INSERT ON dry_view FOR EACH ROW EXECUTE FUNCTION dry_instead();
SELECT count(*) FROM dry_t;
SELECT rows_loaded, writer FROM bulk_load('dry_view', :'good', '{"dry_run": true}');
SELECT count(*) FROM dry_t;

-- locks and privileges: those of a direct load
BEGIN;
SELECT rows_loaded FROM bulk_load('dry_t', :'good', '{"columns": ["k", "s", "r"], "dry_run": true}');
SELECT mode FROM pg_locks WHERE relation = 'dry_t'::regclass AND pid = pg_backend_pid() ORDER BY mode;
ROLLBACK;
CREATE ROLE regress_pgbulk_dry;
GRANT pg_read_server_files TO regress_pgbulk_dry;
GRANT INSERT ON dry_t TO regress_pgbulk_dry;
SET ROLE regress_pgbulk_dry;
\set VERBOSITY terse
SELECT rows_loaded FROM bulk_load('dry_t', :'good', '{"columns": ["k", "s", "r"], "dry_run": true}');
\set VERBOSITY default
RESET ROLE;
DROP OWNED BY regress_pgbulk_dry;
DROP ROLE regress_pgbulk_dry;
-- an index that a query of the session is using
CREATE INDEX dry_t_in_use ON dry_t (k);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
BEGIN;
DECLARE c CURSOR FOR SELECT k FROM dry_t WHERE k < 100 ORDER BY k;
FETCH c;
SELECT rows_loaded FROM bulk_load('dry_t', :'good', '{"columns": ["k", "s", "r"], "dry_run": true}');
ROLLBACK;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT rows_loaded FROM bulk_load('dry_t', :'good', '{"dry_run": 1}');

DROP TABLE dry_t, dry_t_new, dry_t_deferred, dry_t_seq, dry_ref, dry_audit, dry_rejects, dry_cases CASCADE;
DROP SEQUENCE dry_seq;
DROP FUNCTION dry_make, dry_before, dry_after, dry_state, dry_load, dry_compare, dry_say, dry_instead;
