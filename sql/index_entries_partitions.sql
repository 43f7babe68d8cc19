--
-- Index entries of the buffered writer, collected for many partitions.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
SET maintenance_work_mem = '1MB';

CREATE FUNCTION pg_temp.load(target regclass, options jsonb DEFAULT '{}') RETURNS bigint LANGUAGE sql AS $$
	SELECT rows_loaded FROM bulk_load(target, '/proc/self/cwd/pgbulk_entries_partitions_in', options || '{"writer": "buffered"}') $$;
-- the indexes of all partitions, all of them intact
CREATE FUNCTION pg_temp.check_all(target regclass) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(bt_index_parent_check(indexrelid, true, true)) FROM pg_index JOIN pg_class c ON c.oid = indexrelid
	WHERE indrelid IN (SELECT relid FROM pg_partition_tree(target) WHERE isleaf) AND c.relam = 403 $$;

-- a file over sixty partitions, each with three indexes
CREATE TABLE entries_parts (id int, day int, word text) PARTITION BY RANGE (day);
DO $$ BEGIN
	FOR i IN 1 .. 60 LOOP
		EXECUTE format('CREATE TABLE entries_parts_%s PARTITION OF entries_parts FOR VALUES FROM (%s) TO (%s)', i, i, i + 1);
	END LOOP;
END $$;
CREATE UNIQUE INDEX entries_parts_id ON entries_parts (id, day);
CREATE INDEX entries_parts_word ON entries_parts (word);
CREATE INDEX entries_parts_day ON entries_parts (day, id) WITH (fillfactor = 20);
INSERT INTO entries_parts SELECT i, 1 + i % 60, 'word ' || i % 1000 FROM generate_series(1, 12000) i;
COPY (SELECT i, 1 + (i * 7919) % 60, 'word ' || i % 1000 FROM generate_series(12001, 42000) i) TO '/proc/self/cwd/pgbulk_entries_partitions_in' WITH (FORMAT csv);
SELECT pg_temp.load('entries_parts'), pg_temp.check_all('entries_parts');
-- a duplicate is reported with its line, and nothing remains
COPY (SELECT CASE i WHEN 52000 THEN 52000 - 60 ELSE i END, 1 + i % 60, 'word ' || i % 1000 FROM generate_series(50001, 55000) i)
	TO '/proc/self/cwd/pgbulk_entries_partitions_in' WITH (FORMAT csv);
SELECT pg_temp.load('entries_parts');
SELECT count(*) FROM entries_parts;

-- a trigger of one partition finds the rows of all others by their indexes
CREATE TABLE entries_seen (by_index bigint, by_scan bigint);
CREATE FUNCTION pg_temp.look() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	seen entries_seen;
BEGIN
	SET LOCAL enable_seqscan = off;
	SELECT count(*) INTO seen.by_index FROM entries_parts WHERE id > 60000;
	SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexonlyscan = off;
	SELECT count(*) INTO seen.by_scan FROM entries_parts WHERE id > 60000;
	RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan; RESET enable_indexonlyscan;
	INSERT INTO entries_seen SELECT seen.*;
	RETURN NEW;
END $$;
CREATE TRIGGER look BEFORE INSERT ON entries_parts_60 FOR EACH ROW EXECUTE FUNCTION pg_temp.look();
COPY (SELECT i, CASE WHEN i IN (63000, 63001, 65000) THEN 60 ELSE 1 + i % 3 END, 'word' FROM generate_series(60001, 66000) i)
	TO '/proc/self/cwd/pgbulk_entries_partitions_in' WITH (FORMAT csv);
SELECT pg_temp.load('entries_parts'), pg_temp.check_all('entries_parts');
SELECT * FROM entries_seen ORDER BY 1;
-- and so does a check
DROP TRIGGER look ON entries_parts_60;
TRUNCATE entries_seen;
CREATE FUNCTION entries_agree(n int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	by_index bigint; by_scan bigint;
BEGIN
	SET LOCAL enable_seqscan = off;
	SELECT count(*) INTO by_index FROM entries_parts WHERE id > 70000;
	SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexonlyscan = off;
	SELECT count(*) INTO by_scan FROM entries_parts WHERE id > 70000;
	RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan; RESET enable_indexonlyscan;
	RETURN by_index = by_scan AND (by_scan > 2000 OR n < 73000);
END $$;
ALTER TABLE entries_parts_60 ADD CHECK (entries_agree(id)) NOT VALID;
COPY (SELECT i, CASE WHEN i IN (73000, 73001, 75000) THEN 60 ELSE 1 + i % 3 END, 'word' FROM generate_series(70001, 76000) i)
	TO '/proc/self/cwd/pgbulk_entries_partitions_in' WITH (FORMAT csv);
SELECT pg_temp.load('entries_parts'), pg_temp.check_all('entries_parts');

-- keys of expressions may be far larger than the memory and their rows, and rows reuse pages in any order: here wide ones go
-- to the second half of the table, then others to what is left of the first
SELECT set_config('maintenance_work_mem', min_val, false) IS NOT NULL AS small FROM pg_settings WHERE name = 'maintenance_work_mem';
CREATE FUNCTION entries_long(n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN n % 10 < 8 THEN 'same' ELSE (SELECT string_agg(md5((n * 31 + i)::text), '') FROM generate_series(1, 60) i) END $$;
CREATE TABLE entries_long_keys (id int, few int, pad text) WITH (autovacuum_enabled = off);
ALTER TABLE entries_long_keys ALTER pad SET STORAGE PLAIN;
INSERT INTO entries_long_keys SELECT i, i % 3, repeat('x', 100) FROM generate_series(1, 10000) i;
DELETE FROM entries_long_keys WHERE CASE WHEN id < 5000 THEN id % 8 = 0 ELSE id % 100 > 0 END;
VACUUM entries_long_keys;
CREATE INDEX ON entries_long_keys (entries_long(id));
CREATE INDEX ON entries_long_keys (few);
COPY (SELECT i, i % 3, CASE WHEN i < 40250 THEN repeat('x', 1900) END FROM generate_series(40001, 48000) i) TO '/proc/self/cwd/pgbulk_entries_partitions_in' WITH (FORMAT csv);
SELECT pg_temp.load('entries_long_keys');
SELECT count(bt_index_parent_check(indexrelid, true, true)) FROM pg_index WHERE indrelid = 'entries_long_keys'::regclass;

DROP TABLE entries_parts, entries_seen, entries_long_keys;
DROP FUNCTION entries_agree(int), entries_long(int);
DROP EXTENSION amcheck;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_entries_partitions_gone; rm -f pgbulk_entries_partitions_*';
