--
-- What has been loaded: option history, the view bulk_loads, bulk_load_forget.
--
CREATE TABLE history_t (a int PRIMARY KEY, b text);
CREATE TABLE history_other (a int, b text);

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_history_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

SELECT pg_temp.put('1.csv', E'1,one\n2,two\n') AS f1, pg_temp.put('2.csv', E'3,three\nx,four\n') AS f2, pg_temp.put('3.csv', E'1,one\n2,two\n') AS f3 \gset

-- none unless it is asked for, nor of a dry run, a load that fails, a temporary table
SELECT rows_loaded FROM bulk_load('history_t', :'f1');
SELECT rows_loaded FROM bulk_load('history_t', :'f1', '{"history": true, "dry_run": true, "on_duplicate": "keep_old"}');
SELECT rows_loaded FROM bulk_load('history_t', :'f1', '{"history": true}');
CREATE TEMP TABLE history_temp (a int, b text);
SELECT rows_loaded FROM bulk_load('history_temp', :'f1', '{"history": true}');
SELECT count(*) FROM bulk_load_history;

-- all that is known
TRUNCATE history_t;
SELECT rows_loaded, rows_rejected, (details ->> 'load_id')::bigint AS load FROM bulk_load('history_t', ARRAY[:'f1', :'f2'], '{"history": true, "on_error": "ignore", "log_verbosity": "silent"}') \gset
SELECT load_id = :load AS load, relation, file, files, path, size, modified > now() - '1 hour'::interval AND modified < clock_timestamp() AS modified, content,
	rows_loaded, rows_rejected, rows_duplicate, rows_replaced, rows_filtered, rows_read, bytes_read, options, role = current_user AS role,
	started > now() - '1 minute'::interval AS started, elapsed BETWEEN '0' AND '1 hour' AS elapsed
FROM bulk_loads ORDER BY load_id, file;
SELECT target::regclass, target_name FROM bulk_load_history;

-- same bytes, same content, also where they are compressed or loaded by workers
SET pgbulk.history = on;
SET pgbulk.chunk_size = 16;
SET max_parallel_workers_per_gather = 0;
SELECT rows_loaded FROM bulk_load('history_other', :'f3', '{"workers": 2}');
RESET pgbulk.chunk_size;
SELECT count(*), count(DISTINCT content) FROM bulk_loads WHERE path IN (:'f1', :'f3');
-- COPY is remembered, where it has an option of pgbulk; queries and the client are if asked
COPY history_other FROM :'f1' WITH (format csv, skip 1);
COPY history_other FROM stdin WITH (format csv, skip 0);
1,x
\.
SELECT rows_loaded FROM bulk_load_query('history_other', 'SELECT 1, 2');
SELECT rows_loaded FROM bulk_load('history_other', :'f1', '{"history": false}');
COPY history_other FROM stdin WITH (format csv, history true);
1,x
\.
COPY history_other FROM stdin WITH (format csv, history);
1,x
\.
SELECT rows_loaded FROM bulk_load_query('history_other', 'SELECT 1, 2', '{"history": true}');
SELECT path, size, modified IS NULL AS no_time, content IS NULL AS no_content, rows_loaded, options FROM bulk_loads WHERE relation = 'history_other' ORDER BY load_id, file;
RESET pgbulk.history;

-- what becomes of the rows of each file, however they are loaded
CREATE TABLE history_each (a int PRIMARY KEY, b text);
CREATE TABLE history_parts (a int PRIMARY KEY, b text) PARTITION BY RANGE (a);
CREATE TABLE history_parts_0 PARTITION OF history_parts FOR VALUES FROM (MINVALUE) TO (3);
CREATE TABLE history_parts_1 PARTITION OF history_parts FOR VALUES FROM (3) TO (MAXVALUE);
SELECT ARRAY[pg_temp.put('e1.csv', E'1,one\n2,two\nx,bad\n1,again\n'), pg_temp.put('e2.csv', E'2,later\n3,three\n4,out\n'), pg_temp.put('e3.csv', ''), pg_temp.put('e4.csv', E'5,five\n3,later\ny,bad\n6,six\n2,last\n')] AS each \gset
CREATE FUNCTION pg_temp.each(target regclass, files text[], options jsonb) RETURNS TABLE (file int, loaded bigint, rejected bigint, duplicate bigint, replaced bigint, deleted bigint, filtered bigint, read bigint, bytes bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM bulk_load(target, files, '{"history": true, "on_error": "ignore", "where": "b <> ''out''", "log_verbosity": "silent"}' || options);
	RETURN QUERY SELECT h.file, rows_loaded, rows_rejected, rows_duplicate, rows_replaced, rows_deleted, rows_filtered, rows_read, bytes_read
		FROM bulk_loads h WHERE load_id = (SELECT max(load_id) FROM bulk_loads) ORDER BY h.file;
END $$;
SELECT * FROM pg_temp.each('history_each', :'each', '{"writer": "direct", "on_duplicate": "keep_old", "truncate": true}');
-- others alike: a line for each way that is not
SELECT file AS f, loaded AS l, rejected AS r, duplicate AS d, replaced AS p, deleted AS x, filtered AS w, read, bytes
INTO TEMP history_old FROM pg_temp.each('history_each', :'each', '{"on_duplicate": "keep_old", "truncate": true}');
SELECT t, o, e.* FROM (VALUES ('history_each'::regclass), ('history_parts')) t (t),
	(VALUES ('{"writer": "direct"}'::jsonb), ('{"writer": "buffered", "workers": 0}'), ('{"writer": "buffered", "workers": 2}'), ('{"writer": "direct", "workers": 2}'), ('{"writer": "direct", "reject_table": "history_bad"}'), ('{"writer": "buffered", "reject_table": "history_bad"}')) o (o),
	LATERAL (SELECT * FROM pg_temp.each(t, :'each', '{"on_duplicate": "keep_old", "truncate": true}' || o) EXCEPT TABLE history_old) e;
SET pgbulk.chunk_size = 16;
SELECT o, e.* FROM (VALUES ('{"writer": "buffered", "workers": 2}'::jsonb), ('{"writer": "direct", "workers": 2}')) o (o),
	LATERAL (SELECT * FROM pg_temp.each('history_each', :'each', '{"on_duplicate": "keep_old", "truncate": true}' || o) EXCEPT TABLE history_old) e;
RESET pgbulk.chunk_size;
-- rows of the table, and of earlier files, are replaced
TRUNCATE history_each;
INSERT INTO history_each VALUES (2, 'old'), (6, 'old'), (7, 'old');
SELECT * FROM pg_temp.each('history_each', :'each', '{"writer": "direct", "on_duplicate": "keep_new"}');
TRUNCATE history_each;
INSERT INTO history_each VALUES (2, 'old'), (6, 'old'), (7, 'old');
SELECT * FROM pg_temp.each('history_each', :'each', '{"writer": "buffered", "on_duplicate": "keep_new"}');
-- rows are merged, one by one and by the batch
TRUNCATE history_each;
INSERT INTO history_each VALUES (2, 'old'), (6, 'old'), (7, 'old');
SELECT * FROM pg_temp.each('history_each', :'each', '{"on_duplicate": {"set": "all", "delete": "new.b = ''three''", "where": "new.b <> ''again''"}}');
SELECT pg_temp.put('e5.csv', string_agg(i || ',b', E'\n') || E'\n') AS e5, pg_temp.put('e6.csv', string_agg(i + 100 || CASE WHEN i % 5 = 0 THEN ',gone' ELSE ',c' END, E'\n') || E'\n') AS e6 FROM generate_series(1, 200) i \gset
SELECT * FROM pg_temp.each('history_each', ARRAY[:'e5', :'e6', :'e5'], '{"on_duplicate": {"set": "all", "delete": "new.b = ''gone''", "where": "old.b <> ''c''"}}');
SELECT details -> 'merged_in_batches' AS merged FROM bulk_load_last();
SELECT * FROM pg_temp.each('history_each', ARRAY[:'e5', :'e6', :'e5'], '{"on_duplicate": "keep_old"}');
SELECT * FROM pg_temp.each('history_each', ARRAY[:'e5', :'e6', :'e5'], '{"on_duplicate": "keep_new"}');
-- up to a limit, in the middle of a file
SELECT * FROM pg_temp.each('history_each', :'each', '{"limit": 6, "truncate": true, "on_duplicate": "keep_old"}');
-- rows that are taken back when all are in
CREATE TABLE history_referenced (a int PRIMARY KEY);
INSERT INTO history_referenced VALUES (1), (3), (5);
TRUNCATE history_each;
ALTER TABLE history_each ADD FOREIGN KEY (a) REFERENCES history_referenced;
SELECT * FROM pg_temp.each('history_each', :'each', '{"truncate": true, "on_duplicate": "keep_old", "writer": "direct"}');
-- also when the load is repeated without them
CREATE TABLE history_seen (a int UNIQUE);
CREATE FUNCTION history_see() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO history_seen SELECT a FROM history_each ON CONFLICT DO NOTHING; RETURN 1; END $$;
TRUNCATE history_each;
ALTER TABLE history_each ADD c int DEFAULT history_see();
ALTER TABLE history_seen ADD FOREIGN KEY (a) REFERENCES history_each;
SELECT * FROM pg_temp.each('history_each', :'each', '{"columns": ["a", "b"], "where": "b NOT IN (''again'', ''later'', ''last'')"}');
SELECT details -> 'attempts' AS attempts FROM bulk_load_last();
SELECT DISTINCT bulk_load_forget(target) > 0 AS forgotten FROM (SELECT DISTINCT target FROM bulk_load_history WHERE target_name ~ '_(each|parts)$') h;
DROP TABLE history_seen, history_each, history_referenced, history_parts, history_bad;
DROP FUNCTION history_see;

-- files are hashed while they are loaded, whoever reads them; option once reads them before
SELECT ARRAY[pg_temp.put('h1.csv', string_agg(i || ',' || repeat('h', i % 50), E'\n') || E'\n'), pg_temp.put('h2.csv', string_agg(i || ',' || repeat('i', i % 70), E'\r\n')),
	pg_temp.put('h3.csv', E'1,x\n\\.\n2,y\n'), pg_temp.put('h4.csv', E'\ufeff1,"a\nb"\nx,\n')] AS hashed FROM generate_series(1, 300) i \gset
COPY (SELECT i, 'z' FROM generate_series(1, 3000) i) TO PROGRAM 'gzip -n > pgbulk_history_h5.gz' WITH (FORMAT csv);
CREATE TABLE history_hashed (a int, b text);
CREATE FUNCTION pg_temp.hash(files text[], options jsonb) RETURNS bigint LANGUAGE sql AS $$
	SELECT (bulk_load('history_hashed', files, '{"history": true, "on_error": "ignore", "log_verbosity": "silent"}' || options)).rows_read $$;
SELECT :'hashed'::text[] || replace((:'hashed'::text[])[1], 'h1.csv', 'h5.gz') AS hashed \gset
SELECT pg_temp.hash(:'hashed', '{"once": true}') > 0 AS read;
SELECT path, content INTO TEMP history_contents FROM bulk_loads WHERE relation = 'history_hashed';
SELECT bulk_load_forget('history_hashed');
SELECT pg_temp.hash(:'hashed', o) > 0 AS read, o FROM (VALUES ('{"once": "path"}'::jsonb), ('{"workers": 0}'), ('{"limit": 350}'), ('{"skip": 10}'), ('{"once": {"import_id": "h"}}'), ('{"format": "text", "delimiter": ","}'), ('{"writer": "buffered", "workers": 2}')) o (o);
SET pgbulk.chunk_size = 64;
SELECT pg_temp.hash(:'hashed', o) > 0 AS read, o FROM (VALUES ('{"workers": 2}'::jsonb), ('{"limit": 350, "workers": 2}'), ('{"once": {"import_id": "i"}, "workers": 2}'), ('{"truncate": true, "workers": 1}')) o (o);
SELECT pg_temp.hash((:'hashed'::text[])[i:i], '{"workers": 2}') > 0 AS read FROM generate_series(1, 5) i;
SELECT pg_temp.hash(ARRAY[(:'hashed'::text[])[1], (:'hashed'::text[])[2], (:'hashed'::text[])[1], (:'hashed'::text[])[2]], '{"workers": 2}') > 0 AS read;
RESET pgbulk.chunk_size;
SELECT count(*) AS loads, count(DISTINCT path) AS files, count(*) FILTER (WHERE l.content IS DISTINCT FROM c.content) AS others FROM bulk_loads l JOIN history_contents c USING (path) WHERE relation = 'history_hashed';
SELECT bulk_load_forget('history_hashed') > 0 AS forgotten;
DROP TABLE history_hashed;

-- it is there if and only if the rows are
BEGIN;
SELECT rows_loaded FROM bulk_load('history_other', :'f2', '{"history": true, "columns": ["b", null]}');
SAVEPOINT s;
SELECT rows_loaded FROM bulk_load('history_other', :'f2', '{"history": true, "columns": ["b", null]}');
SELECT count(*) FROM bulk_loads WHERE path = :'f2' AND relation = 'history_other';
ROLLBACK TO s;
SELECT count(*) FROM bulk_loads WHERE path = :'f2' AND relation = 'history_other';
ROLLBACK;
SELECT count(*) FROM bulk_loads WHERE path = :'f2' AND relation = 'history_other';

-- who sees what: nobody the table, those who may read the target the view
CREATE ROLE regress_history;
GRANT INSERT ON history_other TO regress_history;
GRANT SELECT ON history_t TO regress_history;
SET ROLE regress_history;
SELECT DISTINCT relation FROM bulk_loads;
SELECT count(*) FROM bulk_load_history;
DELETE FROM bulk_load_history;
INSERT INTO bulk_load_history DEFAULT VALUES;
SELECT bulk_load_forget('history_t');
COPY history_other FROM stdin WITH (format csv, history true);
1,by another
\.
RESET ROLE;
SELECT role FROM bulk_loads WHERE relation = 'history_other' ORDER BY load_id DESC LIMIT 1;
-- who loads needs no right on the extension's schema
BEGIN;
CREATE SCHEMA history_s;
CREATE TABLE history_s.t (a int);
GRANT USAGE ON SCHEMA history_s TO regress_history;
GRANT INSERT ON history_s.t TO regress_history;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
SET ROLE regress_history;
COPY history_s.t FROM stdin WITH (format csv, history true);
1
\.
RESET ROLE;
SELECT target, rows_loaded, role FROM bulk_load_history WHERE target = 'history_s.t'::regclass;
ROLLBACK;
-- a renamed table keeps its history
ALTER TABLE history_t RENAME TO history_new;
SELECT DISTINCT relation FROM bulk_loads WHERE path = :'f2';
SELECT rows_loaded FROM bulk_load('history_new', :'f1', '{"history": true, "truncate": true}');
SELECT DISTINCT target_name FROM bulk_load_history WHERE target = 'history_new'::regclass;
-- a row is dumped with the name that its table has then, and finds it by that; one whose table is not there is kept
BEGIN;
TRUNCATE bulk_load_history, history_new;
SELECT rows_loaded FROM bulk_load('history_other', :'f1', '{"once": true}');
SELECT rows_loaded FROM bulk_load('history_new', :'f1', '{"once": true}');
ALTER TABLE history_other RENAME TO "history ""Away""";
ALTER TABLE history_new RENAME TO history_other;
COPY bulk_load_history TO '/proc/self/cwd/pgbulk_history_dump';
TRUNCATE bulk_load_history;
COPY bulk_load_history FROM '/proc/self/cwd/pgbulk_history_dump';
SELECT DISTINCT target, target_name, once_key IS NOT NULL AS once FROM bulk_load_history ORDER BY 2, 3;
SELECT rows_loaded FROM bulk_load('history_other', :'f1', '{"once": true}');
ALTER TABLE history_other RENAME TO history_new;
TRUNCATE bulk_load_history;
COPY bulk_load_history FROM '/proc/self/cwd/pgbulk_history_dump';
DROP TABLE "history ""Away""";
SELECT DISTINCT target::text ~ '^[1-9][0-9]*$' AS gone, target = 0 AS absent, once_key IS NOT NULL AS once FROM bulk_load_history ORDER BY 1, 2, 3;
SELECT DISTINCT relation FROM bulk_loads;
-- two that are not there have loaded the same file, and no trigger fires
TRUNCATE bulk_load_history;
SET LOCAL session_replication_role = replica;
COPY bulk_load_history FROM '/proc/self/cwd/pgbulk_history_dump';
SELECT target, count(*) FROM bulk_load_history GROUP BY 1;
ROLLBACK;
SELECT 'history_t.'::bulk_load_target;
SELECT 'public.history_new'::bulk_load_target::regclass, 'public.history_new'::bulk_load_target = 'history_new'::regclass AS same;
SELECT '0'::bulk_load_target, ''::bulk_load_target, 'nowhere.to_be_found'::bulk_load_target;

-- forgetting
SELECT bulk_load_forget('history_new', :'f2');
SELECT bulk_load_forget('history_new', before => now() - '1 day'::interval);
SELECT bulk_load_forget('history_new', :'f1', clock_timestamp());
SELECT bulk_load_forget('history_other');
SELECT bulk_load_forget(NULL);
SELECT bulk_load_forget('history_new', NULL);
SELECT bulk_load_forget('history_new', (SELECT path FROM bulk_loads WHERE path = 'nothing'));
SELECT bulk_load_forget('history_new', before => NULL);
SELECT count(*) FROM bulk_load_history;
SELECT rows_loaded FROM bulk_load('history_other', :'f1', '{"history": true}');
UPDATE bulk_load_history SET finished = finished - '2 days'::interval;
SET pgbulk.history_keep = '3d';
SELECT rows_loaded FROM bulk_load('history_other', :'f1', '{"history": true}');
SELECT count(*) FROM bulk_load_history;
SET pgbulk.history_keep = '1d';
SELECT rows_loaded FROM bulk_load('history_other', :'f1', '{"history": true}');
SELECT count(*) FROM bulk_load_history;
-- what once needs is kept
SELECT count(bulk_load_forget(target)) > 0 AS forgotten FROM (SELECT DISTINCT target FROM bulk_load_history) h;
SELECT (bulk_load('history_other', f, o)).rows_loaded FROM (VALUES (:'f1', '{"once": true}'::jsonb), (:'f2', '{"once": "tail", "on_error": "ignore", "log_verbosity": "silent"}'), (:'f3', '{"once": {"import_id": "x"}}')) v (f, o);
SELECT pg_temp.put('p.csv', E'5,five\n6,six\n') AS p \gset
SELECT rows_loaded FROM bulk_load('history_other', :'p', '{"once": {"part": 1}}');
UPDATE bulk_load_history SET finished = finished - '2 days'::interval;
SELECT rows_loaded FROM bulk_load('history_other', :'f1', '{"history": true}');
SELECT (bulk_load('history_other', f, o || '{"log_verbosity": "silent"}')).rows_loaded FROM (VALUES (:'f1', '{"once": true}'::jsonb), (:'f2', '{"once": "tail"}'), (:'f3', '{"once": {"import_id": "x"}}'), (:'p', '{"once": {"part": 1}}')) v (f, o);
SELECT once_key IS NOT NULL AS once, count(*) FROM bulk_load_history GROUP BY 1 ORDER BY 1;
SET ROLE regress_history;
SET pgbulk.history_keep = '1min';
RESET ROLE;
DROP TABLE history_other;
SELECT count(*) FROM bulk_loads;
SELECT bulk_load_forget(target) > 0 FROM bulk_load_history LIMIT 1;

-- a load finds what it needs among many rows by index
CREATE TABLE history_many (a int, b text);
SELECT rows_loaded FROM bulk_load('history_many', :'f1', '{"once": true}');
SELECT rows_loaded FROM bulk_load('history_many', :'f2', '{"once": "tail", "on_error": "ignore", "log_verbosity": "silent"}');
INSERT INTO bulk_load_history
SELECT (jsonb_populate_record(h, jsonb_build_object('load_id', i, 'once_key', h.path || i, 'content', md5(i::text)::uuid, 'loaded_to', 0) ||
	CASE WHEN h.once_key LIKE 'content:%' THEN jsonb_build_object('path', i) ELSE '{}' END)).*
FROM bulk_load_history h, generate_series(1, 10000) i WHERE target = 'history_many'::regclass;
ANALYZE bulk_load_history;
SET pgbulk.history_keep = '1h';
BEGIN;
SELECT pg_temp.put('1.csv', E'8,eight\n') AS f1, pg_temp.put('2.csv', E'3,three\nx,four\n5,five\n') AS f2 \gset
SELECT rows_loaded FROM bulk_load('history_many', :'f1', '{"once": true}');
SELECT rows_loaded FROM bulk_load('history_many', :'f2', '{"once": "tail"}');
SELECT seq_tup_read + idx_tup_fetch < 500 AS few FROM pg_stat_xact_all_tables WHERE relname = 'bulk_load_history';
COMMIT;
RESET pgbulk.history_keep;
SELECT bulk_load_forget('history_many') > 20000 AS many;
DROP TABLE history_many;
-- also of an unlogged table, and after a crash
CREATE UNLOGGED TABLE history_many (a int, b text);
SELECT rows_loaded FROM bulk_load('history_many', :'f1', '{"once": true}');
INSERT INTO bulk_load_history
SELECT (jsonb_populate_record(h, jsonb_build_object('load_id', i, 'path', i, 'once_key', i, 'content', md5(i::text)::uuid))).*
FROM bulk_load_history h, generate_series(1, 10000) i WHERE target = 'history_many'::regclass;
ANALYZE bulk_load_history;
BEGIN;
SELECT rows_loaded FROM bulk_load('history_many', pg_temp.put('2.csv', E'9,nine\n'), '{"once": true}');
SELECT seq_tup_read + idx_tup_fetch < 500 AS few FROM pg_stat_xact_all_tables WHERE relname = 'bulk_load_history';
COMMIT;
TRUNCATE history_many, bulk_load_unlogged;
BEGIN;
SELECT rows_loaded FROM bulk_load('history_many', :'f1', '{"once": true, "dry_run": true}');
SELECT rows_loaded FROM bulk_load('history_many', :'f1', '{"once": true}');
SELECT rows_loaded FROM bulk_load('history_many', :'f1', '{"once": true}');
SELECT seq_tup_read + idx_tup_fetch < 500 AS few FROM pg_stat_xact_all_tables WHERE relname = 'bulk_load_history';
COMMIT;
SELECT bulk_load_forget('history_many') > 10000 AS many;
DROP TABLE history_many;

-- a publication of all tables
SET client_min_messages = error;
SET log_min_messages = error;
CREATE PUBLICATION regress_history FOR ALL TABLES;
RESET client_min_messages;
RESET log_min_messages;
CREATE TABLE history_p (a int, b text);
CREATE UNLOGGED TABLE history_pu (a int, b text);
SELECT rows_loaded FROM bulk_load('history_p', :'f1', '{"once": "path"}');
SELECT rows_loaded FROM bulk_load('history_p', :'f1', '{"history": true}');
SELECT rows_loaded FROM bulk_load('history_pu', :'f1', '{"once": "path"}');
TRUNCATE history_pu, bulk_load_unlogged;
SELECT rows_loaded FROM bulk_load('history_pu', :'f1', '{"once": "path"}');
SELECT bulk_load_forget('history_p'), bulk_load_forget('history_pu');
DROP PUBLICATION regress_history;
DROP TABLE history_p, history_pu;

-- misuse
SELECT rows_loaded FROM bulk_load('history_new', :'f1', '{"history": "yes"}');
COPY history_new FROM :'f1' WITH (history maybe);

COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_history_gone; rm -f pgbulk_history_*';
DROP TABLE history_new;
DROP ROLE regress_history;

-- Whatever fires there runs as whoever loads.
CREATE ROLE regress_loader;
CREATE TABLE loaded_by (a int);
GRANT INSERT ON loaded_by TO regress_loader;
CREATE FUNCTION tell_user() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'written by the loader: %', current_user = 'regress_loader'; RETURN NULL; END $$;
CREATE TRIGGER tell_user AFTER INSERT ON bulk_load_history FOR EACH STATEMENT EXECUTE FUNCTION tell_user();
SET ROLE regress_loader;
SELECT rows_loaded FROM bulk_load_query('loaded_by', 'SELECT 1', '{"history": true}');
INSERT INTO bulk_load_history SELECT * FROM bulk_load_history WHERE false;
RESET ROLE;
DROP TRIGGER tell_user ON bulk_load_history;
-- a rule would be something else
CREATE RULE nothing AS ON INSERT TO bulk_load_history DO INSTEAD NOTHING;
SELECT rows_loaded FROM bulk_load_query('loaded_by', 'SELECT 1', '{"history": true}');
DROP RULE nothing ON bulk_load_history;
SELECT count(*) FROM bulk_load_history WHERE target = 'loaded_by'::regclass;
DROP FUNCTION tell_user;
DROP TABLE loaded_by;
DROP ROLE regress_loader;
