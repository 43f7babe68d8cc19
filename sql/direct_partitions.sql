--
-- The direct writer into partitioned tables: every leaf by whole pages.
--
CREATE EXTENSION IF NOT EXISTS amcheck;

-- What is wrong with the heap and TOAST table of each leaf; nothing should be.
CREATE FUNCTION pg_temp.faults(target regclass) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_partition_tree(target) t JOIN pg_class c ON c.oid = t.relid AND c.relkind = 'r',
		LATERAL (SELECT * FROM verify_heapam(c.oid, check_toast => true)
			UNION ALL SELECT v.* FROM pg_class w, LATERAL verify_heapam(w.oid) v WHERE w.oid = c.reltoastrelid) v
$$;
-- Rows of one table that the same leaf of another does not have; the leaves' names differ by the first word.
CREATE FUNCTION pg_temp.differ(one regclass, other regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	list text := 'SELECT regexp_replace(tableoid::regclass::text, ''^.*?_'', '''') AS leaf, t.* FROM %s t';
BEGIN
	EXECUTE format('WITH a AS (' || list || '), b AS (' || list || ') SELECT count(*) FROM ((TABLE a EXCEPT ALL TABLE b) UNION ALL (TABLE b EXCEPT ALL TABLE a)) x', one, other)
		INTO n;
	RETURN n;
END $$;
-- Whether the leaves take no more pages than those of another table.
CREATE FUNCTION pg_temp.small(one regclass, other regclass) RETURNS bool LANGUAGE sql AS $$
	SELECT sum(pg_table_size(relid)) FILTER (WHERE root = one) <= 1.02 * sum(pg_table_size(relid)) FILTER (WHERE root = other)
	FROM unnest(ARRAY[one, other]) root, LATERAL pg_partition_tree(root)
$$;

-- range, list and hash, on two levels, with a default partition; columns in another order, or dropped
CREATE FUNCTION pg_temp.make(name text) RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
	EXECUTE replace($$
		CREATE TABLE @ (id int, kind text NOT NULL, n int, note text, g int GENERATED ALWAYS AS (n * 2) STORED) PARTITION BY RANGE (n);
		CREATE TABLE @_low PARTITION OF @ FOR VALUES FROM (0) TO (1000);
		CREATE TABLE @_mid PARTITION OF @ FOR VALUES FROM (1000) TO (5000) PARTITION BY LIST (kind);
		CREATE TABLE @_mid_a PARTITION OF @_mid FOR VALUES IN ('a');
		CREATE TABLE @_mid_b (note text, gone int, g int GENERATED ALWAYS AS (n * 2) STORED, n int, kind text NOT NULL, id int CHECK (id > 0));
		ALTER TABLE @_mid_b DROP gone;
		ALTER TABLE @_mid ATTACH PARTITION @_mid_b FOR VALUES IN ('b');
		CREATE TABLE @_mid_h PARTITION OF @_mid FOR VALUES IN ('c', 'd', 'e') PARTITION BY HASH (id);
		CREATE TABLE @_mid_h0 PARTITION OF @_mid_h FOR VALUES WITH (MODULUS 2, REMAINDER 0) WITH (fillfactor = 60);
		CREATE TABLE @_mid_h1 (gone text, id int, gone2 int, kind text NOT NULL, n int, note text, g int GENERATED ALWAYS AS (n * 2) STORED);
		ALTER TABLE @_mid_h1 DROP gone, DROP gone2;
		ALTER TABLE @_mid_h ATTACH PARTITION @_mid_h1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
		CREATE TABLE @_rest PARTITION OF @ DEFAULT;
	$$, '@', name);
END $f$;
SELECT pg_temp.make('copied'), pg_temp.make('loaded');
COPY (SELECT i, substr('abcde', 1 + i % 5, 1), (i::bigint * 7919) % 6000, CASE WHEN i % 7 > 0 THEN repeat(chr(97 + i % 26), i % 90) END
	FROM generate_series(1, 30000) i) TO '/proc/self/cwd/pgbulk_leaves_partitions_in' WITH (FORMAT csv);
COPY copied FROM '/proc/self/cwd/pgbulk_leaves_partitions_in' WITH (FORMAT csv);
SELECT rows_loaded, writer, workers FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_leaves_partitions_in', '{"writer": "direct"}');
SELECT tableoid::regclass, count(*), sum(g) FROM loaded GROUP BY 1 ORDER BY 1;
SELECT pg_temp.differ('copied', 'loaded'), pg_temp.small('loaded', 'copied'), pg_temp.faults('loaded');
-- each leaf's rows in the order of the file
SELECT count(*) FROM (SELECT id, lag(id) OVER (PARTITION BY tableoid ORDER BY ctid) AS before FROM loaded) x WHERE before > id;
-- after the old rows; and not by default
SELECT rows_loaded FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_leaves_partitions_in', '{"writer": "direct", "limit": 500, "skip": 500}');
COPY (SELECT i, substr('abcde', 1 + i % 5, 1), (i::bigint * 7919) % 6000, CASE WHEN i % 7 > 0 THEN repeat(chr(97 + i % 26), i % 90) END
	FROM generate_series(501, 1000) i) TO '/proc/self/cwd/pgbulk_leaves_partitions_more' WITH (FORMAT csv);
COPY copied FROM '/proc/self/cwd/pgbulk_leaves_partitions_more' WITH (FORMAT csv);
SELECT pg_temp.differ('copied', 'loaded'), pg_temp.faults('loaded');
SELECT writer, details ->> 'not_direct' AS why FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_leaves_partitions_in', '{"limit": 1}');
SELECT count(*) FROM pg_locks WHERE mode = 'ShareRowExclusiveLock' AND locktype = 'relation' AND database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- truncate; savepoints
SELECT rows_loaded, writer FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_leaves_partitions_in', '{"truncate": true}');
TRUNCATE copied;
COPY copied FROM '/proc/self/cwd/pgbulk_leaves_partitions_in' WITH (FORMAT csv);
SELECT pg_temp.differ('copied', 'loaded'), pg_temp.faults('loaded');
BEGIN;
SAVEPOINT s;
SELECT rows_loaded FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_leaves_partitions_in', '{"writer": "direct"}');
SELECT count(*) FROM loaded;
ROLLBACK TO s;
SELECT count(*) FROM loaded;
SELECT rows_loaded FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_leaves_partitions_in', '{"writer": "direct", "limit": 100}');
-- the whole tree is locked
SELECT count(*) FROM pg_locks WHERE mode = 'ShareRowExclusiveLock' AND locktype = 'relation' AND relation IN (SELECT relid FROM pg_partition_tree('loaded'));
COMMIT;
SELECT count(*) FROM loaded;
SELECT pg_temp.faults('loaded');
SELECT bulk_load('loaded', '/proc/self/cwd/pgbulk_leaves_partitions_in', '{"writer": "direct", "freeze": true}');

-- bad rows: no partition, a leaf's CHECK, NULL; raised, or set aside
DROP TABLE copied_rest, loaded_rest;
TRUNCATE copied, loaded;
COPY (VALUES ('1,a,10,x'), ('2,a,9000,x'), ('-3,b,2000,x'), ('4,,10,x'), ('5,b,1000,x'), ('6,c,2000,x'), ('7,f,2000,x'), ('8,e,,x'), ('9,e,1001,y'))
	TO '/proc/self/cwd/pgbulk_leaves_partitions_bad';
\set VERBOSITY terse
SELECT bulk_load('loaded', '/proc/self/cwd/pgbulk_leaves_partitions_bad', '{"writer": "direct"}');
SELECT bulk_load('loaded', '/proc/self/cwd/pgbulk_leaves_partitions_bad', '{"writer": "direct", "skip": 2}');
\set VERBOSITY default
SELECT rows_loaded, rows_rejected, writer FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_leaves_partitions_bad',
	'{"writer": "direct", "on_error": "ignore", "log_verbosity": "silent", "reject_table": "direct_partitions_rejects"}');
SELECT line_number, reason, sqlstate, message FROM direct_partitions_rejects ORDER BY line_number;
SELECT tableoid::regclass, * FROM loaded ORDER BY id;
SELECT pg_temp.faults('loaded');
DROP TABLE copied, loaded, direct_partitions_rejects;

-- a serial column, default values, rows of many leaves among bad ones
CREATE TABLE direct_partitions_s (id serial, k int, v text DEFAULT 'none') PARTITION BY LIST (k);
DO $$
BEGIN
	FOR i IN 0..99 LOOP
		EXECUTE format('CREATE TABLE direct_partitions_s%s PARTITION OF direct_partitions_s FOR VALUES IN (%s)', i, i);
	END LOOP;
END $$;
COPY (SELECT CASE WHEN i % 1000 = 0 THEN 'bad' ELSE ((i::bigint * 7919) % 101)::text END FROM generate_series(1, 30300) i) TO '/proc/self/cwd/pgbulk_leaves_partitions_k';
SELECT rows_loaded, rows_rejected, writer FROM bulk_load('direct_partitions_s', '/proc/self/cwd/pgbulk_leaves_partitions_k',
	'{"columns": ["k"], "on_error": "ignore", "log_verbosity": "silent"}');
SELECT count(*), count(DISTINCT id), min(id), count(DISTINCT xmin::text) FROM direct_partitions_s;
SELECT count(*), min(count), max(count) FROM (SELECT count(*) FROM direct_partitions_s GROUP BY tableoid) x;
-- in the order of the file
SELECT count(*) FROM (SELECT id, lag(id) OVER (PARTITION BY tableoid ORDER BY ctid) AS before FROM direct_partitions_s) x WHERE before > id;
SELECT pg_temp.faults('direct_partitions_s');
DROP TABLE direct_partitions_s;

-- wide values: compressed, moved out, several pages of them, in leaves of several kinds
CREATE FUNCTION pg_temp.make_wide(name text) RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
	EXECUTE replace($$
		CREATE TABLE @ (k int, a text, b text) PARTITION BY HASH (k);
		ALTER TABLE @ ALTER b SET STORAGE external;
		CREATE TABLE @_0 PARTITION OF @ FOR VALUES WITH (MODULUS 3, REMAINDER 0);
		CREATE TABLE @_1 (b text, k int, a text);
		ALTER TABLE @_1 ALTER b SET STORAGE external;
		ALTER TABLE @ ATTACH PARTITION @_1 FOR VALUES WITH (MODULUS 3, REMAINDER 1);
		CREATE UNLOGGED TABLE @_2 PARTITION OF @ FOR VALUES WITH (MODULUS 3, REMAINDER 2);
	$$, '@', name);
END $f$;
SELECT pg_temp.make_wide('copied'), pg_temp.make_wide('loaded');
COPY (SELECT i, repeat(md5(i::text), i % 300), CASE WHEN i % 3 = 0 THEN repeat(md5(i::text), (i * i / 40) % 400) ELSE 'short' END FROM generate_series(1, 3000) i)
	TO '/proc/self/cwd/pgbulk_leaves_partitions_wide' WITH (FORMAT csv);
COPY copied FROM '/proc/self/cwd/pgbulk_leaves_partitions_wide' WITH (FORMAT csv);
SELECT rows_loaded, writer FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_leaves_partitions_wide');
SELECT pg_temp.differ('copied', 'loaded'), pg_temp.small('loaded', 'copied'), pg_temp.faults('loaded');
-- each leaf's rows in the order of the file
SELECT count(*) FROM (SELECT k, lag(k) OVER (PARTITION BY tableoid ORDER BY ctid) AS before FROM loaded) x WHERE before > k;
DROP TABLE copied, loaded;

-- statement triggers fire once, on the root
CREATE TABLE direct_partitions_log (what text);
CREATE FUNCTION direct_partitions_f() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO direct_partitions_log VALUES (concat_ws(' ', tg_table_name, tg_when, (SELECT count(*) FROM direct_partitions_t)));
	RETURN NEW;
END $$;
CREATE TABLE direct_partitions_t (a int) PARTITION BY LIST (a);
CREATE TABLE direct_partitions_t1 PARTITION OF direct_partitions_t FOR VALUES IN (1);
CREATE TABLE direct_partitions_t2 PARTITION OF direct_partitions_t FOR VALUES IN (2, 3);
CREATE TRIGGER b BEFORE INSERT ON direct_partitions_t EXECUTE FUNCTION direct_partitions_f();
CREATE TRIGGER a AFTER INSERT ON direct_partitions_t EXECUTE FUNCTION direct_partitions_f();
CREATE TRIGGER l AFTER INSERT ON direct_partitions_t1 EXECUTE FUNCTION direct_partitions_f();
COPY (VALUES (1), (2), (3), (2)) TO '/proc/self/cwd/pgbulk_leaves_partitions_t';
SELECT rows_loaded, writer FROM bulk_load('direct_partitions_t', '/proc/self/cwd/pgbulk_leaves_partitions_t');
TABLE direct_partitions_log;
-- one that creates an index, which gets its entries; and one that creates what is not allowed
CREATE FUNCTION direct_partitions_index() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	CREATE INDEX ON direct_partitions_t2 (a);
	RETURN NEW;
END $$;
CREATE TRIGGER i BEFORE INSERT ON direct_partitions_t EXECUTE FUNCTION direct_partitions_index();
SELECT rows_loaded, jsonb_path_query_array(details, '$.indexes[*].index') AS indexes FROM bulk_load('direct_partitions_t', '/proc/self/cwd/pgbulk_leaves_partitions_t', '{"writer": "direct"}');
DROP INDEX direct_partitions_t2_a_idx;
CREATE OR REPLACE FUNCTION direct_partitions_index() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	CREATE TRIGGER late BEFORE INSERT ON direct_partitions_t2 FOR EACH ROW EXECUTE FUNCTION direct_partitions_f();
	RETURN NEW;
END $$;
SELECT bulk_load('direct_partitions_t', '/proc/self/cwd/pgbulk_leaves_partitions_t', '{"writer": "direct"}');
DROP TRIGGER i ON direct_partitions_t;

-- what it cannot serve, and why; auto uses the other writer
CREATE FUNCTION pg_temp.both() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	TRUNCATE direct_partitions_t;
	RETURN QUERY SELECT concat_ws(' ', writer, details ->> 'not_direct') FROM bulk_load('direct_partitions_t', '/proc/self/cwd/pgbulk_leaves_partitions_t');
	PERFORM bulk_load('direct_partitions_t', '/proc/self/cwd/pgbulk_leaves_partitions_t', '{"writer": "direct"}');
EXCEPTION WHEN feature_not_supported THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN NEXT sqlerrm;
	RETURN NEXT detail;
END $$;
SELECT pg_temp.both();
CREATE INDEX direct_partitions_i ON direct_partitions_t2 (a);
SELECT pg_temp.both();
DROP INDEX direct_partitions_i;
CREATE TRIGGER r BEFORE INSERT ON direct_partitions_t1 FOR EACH ROW EXECUTE FUNCTION direct_partitions_f();
SELECT pg_temp.both();
DROP TRIGGER r ON direct_partitions_t1;
CREATE TRIGGER r AFTER INSERT ON direct_partitions_t FOR EACH ROW EXECUTE FUNCTION direct_partitions_f();
SELECT pg_temp.both();
DROP TRIGGER r ON direct_partitions_t;
CREATE TRIGGER n AFTER INSERT ON direct_partitions_t REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION direct_partitions_f();
SELECT pg_temp.both();
DROP TRIGGER n ON direct_partitions_t;
CREATE FOREIGN DATA WRAPPER direct_partitions_w;
CREATE SERVER direct_partitions_w FOREIGN DATA WRAPPER direct_partitions_w;
CREATE FOREIGN TABLE direct_partitions_t4 PARTITION OF direct_partitions_t FOR VALUES IN (4) SERVER direct_partitions_w;
SELECT bulk_load('direct_partitions_t', '/proc/self/cwd/pgbulk_leaves_partitions_t', '{"writer": "direct"}');
DROP FOREIGN DATA WRAPPER direct_partitions_w CASCADE;
-- the locks need a privilege to change rows; the root's privileges suffice
CREATE ROLE direct_partitions_role;
GRANT pg_read_server_files TO direct_partitions_role;
GRANT INSERT ON direct_partitions_t TO direct_partitions_role;
GRANT INSERT ON direct_partitions_log TO direct_partitions_role;
GRANT SELECT ON direct_partitions_t TO direct_partitions_role;
TRUNCATE direct_partitions_t;
SET ROLE direct_partitions_role;
\set VERBOSITY terse
SELECT bulk_load('direct_partitions_t', '/proc/self/cwd/pgbulk_leaves_partitions_t', '{"writer": "direct"}');
\set VERBOSITY default
SELECT writer, details ->> 'not_direct' AS why FROM bulk_load('direct_partitions_t', '/proc/self/cwd/pgbulk_leaves_partitions_t');
RESET ROLE;
GRANT DELETE ON direct_partitions_t TO direct_partitions_role;
SET ROLE direct_partitions_role;
SELECT rows_loaded, writer FROM bulk_load('direct_partitions_t', '/proc/self/cwd/pgbulk_leaves_partitions_t', '{"writer": "direct"}');
RESET ROLE;
-- new ones
SET client_min_messages = warning;
BEGIN;
CREATE TABLE direct_partitions_many (a int) PARTITION BY LIST (a);
SELECT format('CREATE TABLE direct_partitions_many%s PARTITION OF direct_partitions_many FOR VALUES IN (%s)', i, i) FROM generate_series(1, 3) i \gexec
SELECT rows_loaded, writer FROM bulk_load('direct_partitions_many', '/proc/self/cwd/pgbulk_leaves_partitions_t');
COMMIT;
SELECT tableoid::regclass, * FROM direct_partitions_many ORDER BY a;
RESET client_min_messages;

DROP TABLE direct_partitions_t, direct_partitions_log, direct_partitions_many;
DROP FUNCTION direct_partitions_f, direct_partitions_index;
REVOKE pg_read_server_files FROM direct_partitions_role;
DROP ROLE direct_partitions_role;
DROP EXTENSION amcheck;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_leaves_partitions_gone; rm -f pgbulk_leaves_partitions_*';
