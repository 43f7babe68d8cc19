--
-- Duplicates by the batch in partitioned tables: each partition has a batch of its own, within one memory.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
SET maintenance_work_mem = '1MB';

-- Loads the file; compares the table with the result of INSERT ... ON CONFLICT DO NOTHING of the same rows in the order of the file.
CREATE FUNCTION pg_temp.compare(target regclass, options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	n bigint;
BEGIN
	EXECUTE format('CREATE TEMP TABLE expected (LIKE %s INCLUDING ALL)', target);
	EXECUTE format('INSERT INTO expected SELECT * FROM %s', target);
	CREATE TEMP TABLE rows_in AS TABLE expected WITH NO DATA;
	ALTER TABLE rows_in ADD line serial;
	EXECUTE format('COPY rows_in (%s) FROM ''/proc/self/cwd/pgbulk_duplicates_batch_parts_in'' WITH (FORMAT csv)',
		(SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = target AND attnum > 0 AND NOT attisdropped));
	EXECUTE format('INSERT INTO expected SELECT %s FROM rows_in ORDER BY line ON CONFLICT DO NOTHING',
		(SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = target AND attnum > 0 AND NOT attisdropped));
	SELECT * INTO r FROM bulk_load(target, '/proc/self/cwd/pgbulk_duplicates_batch_parts_in', options || '{"writer": "buffered", "on_duplicate": "keep_old", "log_verbosity": "silent"}');
	ASSERT r.rows_read = r.rows_loaded + r.rows_duplicate;
	ASSERT r.rows_duplicate = coalesce((r.details -> 'rejects' ->> 'duplicate')::bigint, 0);
	EXECUTE format('SELECT count(*) FROM ((TABLE %1$s EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE %1$s)) x', target) INTO n;
	RETURN NEXT format('%s loaded, %s duplicate, %s rows are others', r.rows_loaded, r.rows_duplicate, n);
	PERFORM bt_index_parent_check(indexrelid, true, true) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid IN (SELECT relid FROM pg_partition_tree(target) WHERE isleaf) AND c.relam = 403;
	DROP TABLE expected, rows_in;
END $$;

-- keep_new: the table and the counters are those of the direct writer, which finds duplicates when it builds its indexes
CREATE FUNCTION pg_temp.replace(target regclass, options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	e record;
	n bigint;
	m bigint;
BEGIN
	DROP TABLE IF EXISTS rejects_e, rejects_r;
	EXECUTE format('CREATE TEMP TABLE expected (LIKE %s INCLUDING ALL)', target);
	EXECUTE format('INSERT INTO expected SELECT * FROM %s', target);
	SELECT * INTO e FROM bulk_load('expected', '/proc/self/cwd/pgbulk_duplicates_batch_parts_in', '{"reject_table": "rejects_e"}' || options || '{"writer": "direct", "on_duplicate": "keep_new", "log_verbosity": "silent"}');
	SELECT * INTO r FROM bulk_load(target, '/proc/self/cwd/pgbulk_duplicates_batch_parts_in', '{"reject_table": "rejects_r"}' || options || '{"writer": "buffered", "on_duplicate": "keep_new", "log_verbosity": "silent"}');
	ASSERT r.rows_read = r.rows_loaded + r.rows_duplicate;
	EXECUTE format('SELECT count(*) FROM ((TABLE %1$s EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE %1$s)) x', target) INTO n;
	IF options ? 'reject_table' THEN
		m := 0;
	ELSE
		EXECUTE 'SELECT count(*) FROM (SELECT line_number, reason, raw_line, regexp_replace(message, ''"[^"]*"'', '''') FROM rejects_r EXCEPT ALL SELECT line_number, reason, raw_line, regexp_replace(message, ''"[^"]*"'', '''') FROM rejects_e) x' INTO m;
	END IF;
	RETURN NEXT format('%s loaded, %s duplicate, %s replaced, otherwise %s, %s rows and %s rejects are others', r.rows_loaded, r.rows_duplicate, r.rows_replaced,
		nullif((e.rows_loaded, e.rows_duplicate, e.rows_replaced)::text, (r.rows_loaded, r.rows_duplicate, r.rows_replaced)::text), n, m);
	PERFORM bt_index_parent_check(indexrelid, true, true) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid IN (SELECT relid FROM pg_partition_tree(target) WHERE isleaf) AND c.relam = 403;
	DROP TABLE expected;
END $$;

-- many partitions, some of them with other columns, indexes of their own, and few rows
CREATE TABLE duplicates_parts (a int, b text, c int, d text, PRIMARY KEY (a, b)) PARTITION BY LIST (a);
CREATE INDEX ON duplicates_parts (b);
CREATE INDEX ON duplicates_parts USING hash (c);
DO $$
BEGIN
	FOR i IN 0 .. 37 LOOP
		EXECUTE format('CREATE TABLE duplicates_parts_%1$s PARTITION OF duplicates_parts FOR VALUES IN (%1$s)', i);
	END LOOP;
END $$;
CREATE TABLE duplicates_parts_38 (x int, d text, b text NOT NULL, c int, a int NOT NULL);
ALTER TABLE duplicates_parts_38 DROP COLUMN x;
ALTER TABLE duplicates_parts ATTACH PARTITION duplicates_parts_38 FOR VALUES IN (38);
CREATE TABLE duplicates_parts_rest PARTITION OF duplicates_parts DEFAULT PARTITION BY HASH (b);
CREATE TABLE duplicates_parts_rest_0 PARTITION OF duplicates_parts_rest FOR VALUES WITH (modulus 2, remainder 0);
CREATE TABLE duplicates_parts_rest_1 PARTITION OF duplicates_parts_rest FOR VALUES WITH (modulus 2, remainder 1);
INSERT INTO duplicates_parts SELECT i % 45, 'key ' || i % 301, i, 'old' FROM generate_series(1, 5000) i ON CONFLICT DO NOTHING;
UPDATE duplicates_parts SET c = -c WHERE c % 10 = 3;
DELETE FROM duplicates_parts WHERE c % 10 = 7;
VACUUM duplicates_parts;
UPDATE duplicates_parts SET b = b || '-' WHERE c % 10 = 4;
DELETE FROM duplicates_parts WHERE c % 10 = 6;
COPY (SELECT (i * 31) % 50, 'key ' || (i * 7919) % 607, i, 'new' FROM generate_series(1, 40000) i) TO '/proc/self/cwd/pgbulk_duplicates_batch_parts_in' WITH (FORMAT csv);
BEGIN;
SELECT pg_temp.compare('duplicates_parts');
SELECT pg_temp.compare('duplicates_parts');
ROLLBACK;
BEGIN;
SELECT pg_temp.replace('duplicates_parts');
SELECT pg_temp.replace('duplicates_parts');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
DELETE FROM duplicates_parts WHERE a % 2 = 0;
SELECT pg_temp.replace('duplicates_parts');
ROLLBACK;
-- sorted by partition
COPY (SELECT i / 1000, 'key ' || (i * 7919) % 907, i, 'new' FROM generate_series(1, 45000) i) TO '/proc/self/cwd/pgbulk_duplicates_batch_parts_in' WITH (FORMAT csv);
BEGIN;
SELECT pg_temp.compare('duplicates_parts');
SELECT pg_temp.compare('duplicates_parts');
SELECT pg_temp.replace('duplicates_parts');
ROLLBACK;
-- rows that were set aside are described
SELECT rows_loaded, rows_duplicate FROM bulk_load('duplicates_parts', '/proc/self/cwd/pgbulk_duplicates_batch_parts_in', '{"on_duplicate": "keep_old", "log_verbosity": "silent"}');
SELECT rows_loaded, rows_duplicate FROM bulk_load('duplicates_parts', '/proc/self/cwd/pgbulk_duplicates_batch_parts_in', '{"on_duplicate": "keep_old", "log_verbosity": "silent", "reject_table": "duplicates_parts_rejects", "reject_file": "/proc/self/cwd/pgbulk_duplicates_batch_parts_bad"}');
SELECT count(*), count(DISTINCT line_number), min(line_number), max(line_number) FROM duplicates_parts_rejects;
SELECT md5(string_agg(raw_line || E'\n', '' ORDER BY line_number)) = md5(pg_read_file('/proc/self/cwd/pgbulk_duplicates_batch_parts_in')) AS table_has_them FROM duplicates_parts_rejects;
SELECT line_number, message FROM duplicates_parts_rejects WHERE line_number IN (1, 38500, 45000) ORDER BY line_number;
DROP TABLE duplicates_parts_rejects;
SELECT bulk_load('duplicates_parts', '/proc/self/cwd/pgbulk_duplicates_batch_parts_in', '{"on_duplicate": "keep_old", "duplicate_limit": 12345, "workers": 0}');
-- a dry run, and bad rows among them
TRUNCATE duplicates_parts;
ALTER TABLE duplicates_parts_7 ADD CHECK (c % 100 <> 17);
SELECT rows_loaded, rows_rejected, rows_duplicate FROM bulk_load('duplicates_parts', '/proc/self/cwd/pgbulk_duplicates_batch_parts_in', '{"on_duplicate": "keep_old", "on_error": "ignore", "log_verbosity": "silent", "dry_run": true}');
SELECT count(*) FROM duplicates_parts;
SELECT rows_loaded, rows_rejected, rows_duplicate FROM bulk_load('duplicates_parts', '/proc/self/cwd/pgbulk_duplicates_batch_parts_in', '{"on_duplicate": "keep_new", "on_error": "ignore", "log_verbosity": "silent", "dry_run": true}');
SELECT count(*) FROM duplicates_parts;
SELECT rows_loaded, rows_rejected, rows_duplicate FROM bulk_load('duplicates_parts', '/proc/self/cwd/pgbulk_duplicates_batch_parts_in', '{"on_duplicate": "keep_old", "on_error": "ignore", "log_verbosity": "silent"}');
SELECT count(*), count(DISTINCT (a, b)) FROM duplicates_parts;
ALTER TABLE duplicates_parts_7 DROP CONSTRAINT duplicates_parts_7_c_check;
TRUNCATE duplicates_parts;

-- a partition whose rows go one by one: triggers on its rows see those of the others that came before
CREATE TABLE duplicates_parts_seen (a int, n bigint);
CREATE FUNCTION duplicates_parts_see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO duplicates_parts_seen SELECT new.c, count(*) FROM duplicates_parts WHERE a = 1;
	RETURN new;
END $$;
CREATE TRIGGER t BEFORE INSERT ON duplicates_parts_2 FOR EACH ROW EXECUTE FUNCTION duplicates_parts_see();
COPY (SELECT CASE WHEN i % 500 = 0 THEN 2 ELSE 1 END, 'key ' || i % 1300, i, 'new' FROM generate_series(1, 2000) i) TO '/proc/self/cwd/pgbulk_duplicates_batch_parts_in' WITH (FORMAT csv);
SELECT rows_loaded, rows_duplicate FROM bulk_load('duplicates_parts', '/proc/self/cwd/pgbulk_duplicates_batch_parts_in', '{"on_duplicate": "keep_old", "log_verbosity": "silent"}');
TABLE duplicates_parts_seen ORDER BY a;
DROP TABLE duplicates_parts, duplicates_parts_seen;
DROP FUNCTION duplicates_parts_see;

-- a domain whose CHECK looks at the table, which must find the rows that came before: no batch
CREATE FUNCTION duplicates_parts_look(n int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT count(*) FROM duplicates_parts) = n;
END $$;
CREATE DOMAIN duplicates_parts_count AS int CHECK (duplicates_parts_look(value));
CREATE TABLE duplicates_parts (a int PRIMARY KEY, b duplicates_parts_count);
COPY (SELECT i, i - 1 FROM generate_series(1, 500) i) TO '/proc/self/cwd/pgbulk_duplicates_batch_parts_in' WITH (FORMAT csv);
SELECT rows_loaded FROM bulk_load('duplicates_parts', '/proc/self/cwd/pgbulk_duplicates_batch_parts_in', '{"on_duplicate": "keep_old", "writer": "buffered"}');
DROP TABLE duplicates_parts;
DROP DOMAIN duplicates_parts_count;
DROP FUNCTION duplicates_parts_look;
