--
-- Parallel workers and partitioned tables that others may write to: the result of one process.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
SET pgbulk.chunk_size = 4096;
SET maintenance_work_mem = '1MB';

-- two levels, a leaf with another order of columns, a default partition, one that gets no rows
CREATE FUNCTION pg_temp.tables(of text DEFAULT 'a int, b text, c numeric') RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	t text;
BEGIN
	DROP TABLE IF EXISTS pb_x, pb_y, pb_rejects_x, pb_rejects_y;
	FOREACH t IN ARRAY ARRAY['pb_x', 'pb_y'] LOOP
		EXECUTE format('CREATE TABLE %s (%s) PARTITION BY RANGE (a)', t, of);
		EXECUTE format('CREATE TABLE %1$s_low PARTITION OF %1$s FOR VALUES FROM (0) TO (5000)', t);
		EXECUTE format('CREATE TABLE %s_mid (c numeric, gone int, b text, a int)', t);
		EXECUTE format('ALTER TABLE %s_mid DROP gone', t);
		EXECUTE format('ALTER TABLE %1$s ATTACH PARTITION %1$s_mid FOR VALUES FROM (5000) TO (12000)', t);
		EXECUTE format('CREATE TABLE %1$s_high PARTITION OF %1$s FOR VALUES FROM (12000) TO (18000) PARTITION BY HASH (a)', t);
		FOR i IN 0..2 LOOP
			EXECUTE format('CREATE TABLE %1$s_high_%2$s PARTITION OF %1$s_high FOR VALUES WITH (MODULUS 3, REMAINDER %2$s)', t, i);
		END LOOP;
		EXECUTE format('CREATE TABLE %1$s_rest PARTITION OF %1$s DEFAULT', t);
		EXECUTE format('CREATE TABLE %1$s_none PARTITION OF %1$s FOR VALUES FROM (30000) TO (40000)', t);
	END LOOP;
END $$;
CREATE FUNCTION pg_temp.both(statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE replace(statement, 'pb', 'pb_x');
	EXECUTE replace(statement, 'pb', 'pb_y');
END $$;
-- Loads the file with workers and without; compares rows, leaf by leaf, counters, and what is told of bad rows.
CREATE FUNCTION pg_temp.compare(options jsonb, path text DEFAULT '/proc/self/cwd/pgbulk_partition_mixed') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	alone record;
	beside record;
	n bigint;
	o jsonb = '{"writer": "buffered", "log_verbosity": "silent"}' || options;
BEGIN
	SELECT * INTO alone FROM bulk_load('pb_x', path, o || '{"workers": 0}' || CASE WHEN o ? 'reject_table' THEN '{"reject_table": "pb_rejects_x"}' ELSE '{}' END::jsonb);
	SELECT * INTO beside FROM bulk_load('pb_y', path, o || '{"workers": 2}' || CASE WHEN o ? 'reject_table' THEN '{"reject_table": "pb_rejects_y"}' ELSE '{}' END::jsonb);
	RETURN NEXT format('%s read, %s loaded, %s rejected, %s duplicate%s', beside.rows_read, beside.rows_loaded, beside.rows_rejected, beside.rows_duplicate,
		CASE WHEN beside.workers > 0 OR beside.details ->> 'no_workers' LIKE '%since PostgreSQL 17.' THEN ', with workers' ELSE ', alone: ' || coalesce(beside.details ->> 'no_workers', '') END);
	ASSERT (alone.rows_read, alone.rows_loaded, alone.rows_rejected, alone.rows_filtered, alone.rows_duplicate) =
		(beside.rows_read, beside.rows_loaded, beside.rows_rejected, beside.rows_filtered, beside.rows_duplicate), alone;
	SELECT count(*) INTO n FROM (
		(SELECT replace(tableoid::regclass::text, '_x', ''), a, b, c FROM pb_x EXCEPT ALL
			SELECT replace(tableoid::regclass::text, '_y', ''), a, b, c FROM pb_y) UNION ALL
		(SELECT replace(tableoid::regclass::text, '_y', ''), a, b, c FROM pb_y EXCEPT ALL
			SELECT replace(tableoid::regclass::text, '_x', ''), a, b, c FROM pb_x)) x;
	ASSERT n = 0, n;
	IF o ? 'reject_table' THEN
		EXECUTE $q$SELECT count(*) FROM (
			(SELECT line_number, reason, message, column_name, raw_line FROM pb_rejects_x EXCEPT ALL SELECT line_number, reason, replace(message, 'pb_y', 'pb_x'), column_name, raw_line FROM pb_rejects_y) UNION ALL
			(SELECT line_number, reason, replace(message, 'pb_y', 'pb_x'), column_name, raw_line FROM pb_rejects_y EXCEPT ALL SELECT line_number, reason, message, column_name, raw_line FROM pb_rejects_x)) x$q$ INTO n;
		ASSERT n = 0, n;
	END IF;
	PERFORM bt_index_parent_check(c.oid, true, true) FROM pg_partition_tree('pb_y') t JOIN pg_index i ON i.indrelid = t.relid JOIN pg_class c ON c.oid = i.indexrelid AND c.relkind = 'i' AND c.relam = 403;
END $$;

-- rows scattered over all leaves, and leaf after leaf
COPY (SELECT i * 7919 % 20000, repeat('x', i % 40) || CASE WHEN i % 7 = 0 THEN E',"\n' ELSE '' END, i / 8.0 FROM generate_series(1, 20000) i)
	TO '/proc/self/cwd/pgbulk_partition_mixed' WITH (FORMAT csv);
COPY (SELECT i, repeat('x', i % 40) || CASE WHEN i % 7 = 0 THEN E',"\n' ELSE '' END, i / 8.0 FROM generate_series(1, 20000) i)
	TO '/proc/self/cwd/pgbulk_partition_sorted' WITH (FORMAT csv);
SELECT FROM pg_temp.tables();
SELECT pg_temp.compare('{}');
SELECT pg_temp.compare('{}', '/proc/self/cwd/pgbulk_partition_sorted');
SELECT tableoid::regclass, count(*) FROM pb_y GROUP BY tableoid ORDER BY tableoid::regclass::text COLLATE "C";
-- rows of one width, so that none fills a gap: the order of the file
COPY (SELECT 10000 + i % 9000, 'text', i FROM generate_series(100001, 120000) i) TO '/proc/self/cwd/pgbulk_partition_even' WITH (FORMAT csv);
SELECT FROM pg_temp.tables();
SELECT pg_temp.compare('{}', '/proc/self/cwd/pgbulk_partition_even');
SELECT tableoid::regclass, count(*), bool_and(ordered) FROM (SELECT tableoid, c > lag(c, 1, 0) OVER (PARTITION BY tableoid ORDER BY ctid) AS ordered FROM pb_y) x GROUP BY tableoid ORDER BY tableoid::regclass::text COLLATE "C";
-- indexes whose entries go in several times; generated columns, a CHECK of one leaf
SELECT FROM pg_temp.tables();
SELECT FROM pg_temp.both('CREATE INDEX ON pb (b, a)');
SELECT FROM pg_temp.both('CREATE INDEX ON pb (c)');
SELECT FROM pg_temp.both('CREATE INDEX ON pb USING hash (b)');
SELECT FROM pg_temp.both('ALTER TABLE pb ADD d int GENERATED ALWAYS AS (a * 2) STORED');
SELECT pg_temp.compare('{"columns": ["a", "b", "c"], "limit": 12345}');
SELECT sum(d - 2 * a) FROM pb_y;
SELECT FROM pg_temp.both('ALTER TABLE pb_mid ADD CONSTRAINT c CHECK (a % 100 <> 7) NOT VALID');
SELECT pg_temp.compare('{"columns": ["a", "b", "c"], "on_error": "ignore", "reject_table": "x", "where": "a % 3 <> 0"}');
SELECT reason, count(*), min(message) FROM pb_rejects_y GROUP BY 1 ORDER BY 1;
\set VERBOSITY terse
SELECT pg_temp.compare('{"columns": ["a", "b", "c"]}');
\set VERBOSITY default
-- rows without a partition
SELECT FROM pg_temp.tables();
SELECT FROM pg_temp.both('DROP TABLE pb_rest');
SELECT pg_temp.compare('{"on_error": "ignore", "reject_table": "x"}');
SELECT reason, count(*), min(line_number), max(line_number) FROM pb_rejects_y GROUP BY 1 ORDER BY 1;
SELECT bulk_load('pb_y', '/proc/self/cwd/pgbulk_partition_sorted', '{"writer": "buffered", "workers": 2}');
-- keys, which each leaf is asked for; known ones, and some that the file has twice
SELECT FROM pg_temp.tables();
SELECT FROM pg_temp.both('ALTER TABLE pb ADD PRIMARY KEY (a)');
SELECT FROM pg_temp.both('INSERT INTO pb SELECT i * 3, ''old'', 0 FROM generate_series(1, 6000) i');
COPY (SELECT i * 7919 % 15013, 'new ' || i, i FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_partition_twins_buffered' WITH (FORMAT csv);
SELECT pg_temp.compare('{"on_duplicate": "keep_old"}', '/proc/self/cwd/pgbulk_partition_twins_buffered');
SELECT pg_temp.compare('{"on_duplicate": "keep_new"}', '/proc/self/cwd/pgbulk_partition_twins_buffered');
SELECT pg_temp.compare('{"on_duplicate": "keep_old", "reject_table": "x"}');
SELECT pg_temp.compare('{"on_duplicate": "keep_new", "dry_run": true}');
-- foreign keys
SELECT FROM pg_temp.tables();
CREATE TABLE pb_ref (k int PRIMARY KEY);
INSERT INTO pb_ref SELECT i FROM generate_series(0, 20000) i WHERE i % 1000 <> 0;
ALTER TABLE pb_x ADD FOREIGN KEY (a) REFERENCES pb_ref;
ALTER TABLE pb_y ADD FOREIGN KEY (a) REFERENCES pb_ref;
SELECT pg_temp.compare('{"on_error": "ignore", "reject_table": "x"}');
SELECT reason, count(*) FROM pb_rejects_y GROUP BY 1 ORDER BY 1;
BEGIN;
SAVEPOINT s;
SELECT pg_temp.compare('{"on_error": "ignore"}', '/proc/self/cwd/pgbulk_partition_sorted');
ROLLBACK TO s;
SELECT count(*) FROM pb_y;
COMMIT;
-- found when rows are stored: the line
SELECT FROM pg_temp.tables();
CREATE INDEX ON pb_y ((1 / (a - 17777)));
SELECT bulk_load('pb_y', '/proc/self/cwd/pgbulk_partition_sorted', '{"writer": "buffered", "workers": 2, "log_verbosity": "silent"}');
SELECT bulk_load('pb_y', '/proc/self/cwd/pgbulk_partition_sorted', '{"writer": "buffered", "workers": 0, "log_verbosity": "silent"}');
-- what a leaf has that workers cannot help with: in the first rows, in later ones, everywhere
CREATE FUNCTION pb_trigger() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.b := NEW.b || '!'; RETURN NEW; END$$;
SELECT FROM pg_temp.tables();
CREATE TRIGGER t BEFORE INSERT ON pb_x_low FOR EACH ROW EXECUTE FUNCTION pb_trigger();
CREATE TRIGGER t BEFORE INSERT ON pb_y_low FOR EACH ROW EXECUTE FUNCTION pb_trigger();
SELECT pg_temp.compare('{}', '/proc/self/cwd/pgbulk_partition_sorted');
SELECT FROM pg_temp.tables();
CREATE TRIGGER t BEFORE INSERT ON pb_x_mid FOR EACH ROW EXECUTE FUNCTION pb_trigger();
CREATE TRIGGER t BEFORE INSERT ON pb_y_mid FOR EACH ROW EXECUTE FUNCTION pb_trigger();
SELECT pg_temp.compare('{}', '/proc/self/cwd/pgbulk_partition_sorted');
SELECT count(*) FROM pb_y WHERE b LIKE '%!';
CREATE FUNCTION pb_seen() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$;
SELECT FROM pg_temp.tables();
CREATE TRIGGER u AFTER INSERT ON pb_y REFERENCING NEW TABLE AS new FOR EACH STATEMENT EXECUTE FUNCTION pb_seen();
SELECT pg_temp.compare('{}');
CREATE FUNCTION pb_unsafe(int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS 'BEGIN RETURN $1; END';
SELECT FROM pg_temp.tables();
ALTER TABLE pb_y_low ADD CHECK (pb_unsafe(a) = a);
SELECT pg_temp.compare('{}');
DROP TABLE pb_x, pb_y, pb_ref;
DROP FUNCTION pb_trigger, pb_seen, pb_unsafe;
RESET pgbulk.chunk_size;
