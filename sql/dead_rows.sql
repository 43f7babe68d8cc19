--
-- Tables that have pages but no rows: after a load that failed, a COPY that was rolled back, or DELETE.
--
CREATE TABLE dead_rows_t (a int PRIMARY KEY, b int, c text);
CREATE INDEX dead_rows_b ON dead_rows_t (b);
CREATE INDEX dead_rows_c ON dead_rows_t (c);
COPY (SELECT i, i % 100, 'name ' || i FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_dead_rows_in' (FORMAT csv);
COPY (SELECT i::text, i % 100, 'name ' || i FROM generate_series(1, 20000) i UNION ALL SELECT 'x', 1, 'x') TO '/proc/self/cwd/pgbulk_dead_rows_bad' (FORMAT csv);
-- an error that only the index phase finds, when all pages are written
COPY (SELECT i, i % 100, 'name ' || i FROM generate_series(1, 20000) i UNION ALL SELECT 1, 1, 'x') TO '/proc/self/cwd/pgbulk_dead_rows_twice' (FORMAT csv);

CREATE FUNCTION pg_temp.load(options jsonb DEFAULT '{}', path text DEFAULT '/proc/self/cwd/pgbulk_dead_rows_in') RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(', ', rows_loaded, writer, details ->> 'not_direct', jsonb_path_query_array(details, '$.indexes[*].method'))
	FROM bulk_load('dead_rows_t', path, options) $$;
CREATE FUNCTION pg_temp.fails(options jsonb DEFAULT '{}', path text DEFAULT '/proc/self/cwd/pgbulk_dead_rows_twice') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_temp.load(options, path);
EXCEPTION WHEN OTHERS THEN
	RETURN sqlerrm;
END $$;
-- the rows by the table and by each index, and whether the table has more pages than a first load takes
CREATE FUNCTION pg_temp.look() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows bigint[];
BEGIN
	FOR way IN 0..3 LOOP
		PERFORM set_config('enable_seqscan', CASE way WHEN 0 THEN 'on' ELSE 'off' END, true), set_config('enable_sort', 'off', true);
		rows[way] := CASE way WHEN 0 THEN (SELECT count(*) FROM dead_rows_t)
			WHEN 1 THEN (SELECT count(*) FROM generate_series(1, 20000) i JOIN LATERAL (SELECT FROM dead_rows_t WHERE a = i AND b = i % 100 AND c = 'name ' || i OFFSET 0) x ON true)
			WHEN 2 THEN (SELECT count(*) FROM generate_series(0, 99) i JOIN LATERAL (SELECT FROM dead_rows_t WHERE b = i AND a % 100 = i OFFSET 0) x ON true)
			WHEN 3 THEN (SELECT count(*) FROM generate_series(1, 20000) i JOIN LATERAL (SELECT FROM dead_rows_t WHERE c = 'name ' || i AND a = i OFFSET 0) x ON true) END;
	END LOOP;
	RETURN format('%s rows on %s pages', array_to_string(rows, ' '), CASE WHEN pg_relation_size('dead_rows_t') > 1064960 THEN 'more' ELSE 'as many' END);
END $$;

-- a load that failed leaves pages without index entries: they are truncated
SELECT pg_temp.load();
SELECT pg_temp.look(), pg_relation_size('dead_rows_t');
TRUNCATE dead_rows_t;
SELECT pg_temp.fails();
SELECT pg_temp.look();
SELECT pg_temp.load('{"on_duplicate": "keep_old", "log_verbosity": "silent"}', '/proc/self/cwd/pgbulk_dead_rows_twice');
SELECT pg_temp.look();
-- with each writer
TRUNCATE dead_rows_t;
SELECT pg_temp.fails();
SELECT pg_temp.load('{"writer": "direct", "indexes": "insert"}');
SELECT pg_temp.look();
-- after two failures, with savepoints, or in one transaction that fails
TRUNCATE dead_rows_t;
SELECT pg_temp.fails(), pg_temp.fails(), pg_temp.look();
BEGIN;
SAVEPOINT a;
SELECT pg_temp.load('{"indexes": "rebuild"}');
ROLLBACK TO a;
SELECT pg_temp.look();
SELECT pg_temp.load();
SELECT pg_temp.look();
ROLLBACK;
SELECT pg_temp.look();
SELECT pg_temp.load();
SELECT pg_temp.look();

-- COPY and the buffered writer leave index entries, too: the pages remain, the new files of the indexes do not have those
TRUNCATE dead_rows_t;
COPY dead_rows_t FROM '/proc/self/cwd/pgbulk_dead_rows_bad' (FORMAT csv);
SELECT pg_temp.load();
SELECT pg_temp.look();
TRUNCATE dead_rows_t;
SELECT pg_temp.fails('{"writer": "buffered"}', '/proc/self/cwd/pgbulk_dead_rows_bad');
-- how the indexes get their entries depends on how many the failed load has left, which before 16 are fewer
SELECT split_part(pg_temp.load('{"on_duplicate": "keep_old"}'), ', [', 1) AS load;
SELECT pg_temp.look();
DELETE FROM dead_rows_t;
SELECT pg_temp.load();
SELECT pg_temp.look();
-- deleted in this transaction, and restored
BEGIN;
DELETE FROM dead_rows_t;
SELECT pg_temp.load();
SELECT pg_temp.look();
ROLLBACK;
SELECT pg_temp.look();
-- a few rows for many dead ones are inserted
DELETE FROM dead_rows_t;
SELECT pg_temp.load('{"limit": 1}');
TRUNCATE dead_rows_t;

-- one row is a row, wherever it is
SELECT pg_temp.fails();
INSERT INTO dead_rows_t VALUES (0, 0, 'zero');
SELECT pg_temp.load();
SELECT pg_temp.look();
DELETE FROM dead_rows_t WHERE a > 0;
SELECT pg_temp.load();

-- no page is truncated while a file with entries for it may be restored
CREATE FUNCTION pg_temp.fill() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO dead_rows_t SELECT 100000 + i, -i, 'other ' || i FROM generate_series(1, 20000) i;
	SET LOCAL enable_seqscan = off;
	RETURN (SELECT format('%s of others', count(*)) FROM generate_series(1, 20000) i
			JOIN LATERAL (SELECT FROM dead_rows_t WHERE a = i OFFSET 0) x ON true);
END $$;
TRUNCATE dead_rows_t;
COPY dead_rows_t FROM '/proc/self/cwd/pgbulk_dead_rows_bad' (FORMAT csv);
BEGIN;
REINDEX TABLE dead_rows_t;
SELECT pg_temp.load();
SELECT pg_temp.look();
ROLLBACK;
SELECT pg_temp.fill(), pg_temp.look();
TRUNCATE dead_rows_t;
COPY dead_rows_t FROM '/proc/self/cwd/pgbulk_dead_rows_bad' (FORMAT csv);
BEGIN;
ALTER TABLE dead_rows_t DROP CONSTRAINT dead_rows_t_pkey;
DROP INDEX dead_rows_b, dead_rows_c;
SELECT pg_temp.load();
SELECT pg_relation_size('dead_rows_t') > 1064960 AS more;
ROLLBACK;
SELECT pg_temp.fill(), pg_temp.look();
TRUNCATE dead_rows_t;
COPY dead_rows_t FROM '/proc/self/cwd/pgbulk_dead_rows_bad' (FORMAT csv);
BEGIN;
SAVEPOINT a;
DROP INDEX dead_rows_b;
RELEASE a;
DROP INDEX dead_rows_c;
ALTER TABLE dead_rows_t DROP CONSTRAINT dead_rows_t_pkey;
CREATE UNIQUE INDEX dead_rows_new ON dead_rows_t (a);
SELECT pg_temp.load();
SELECT pg_relation_size('dead_rows_t') > 1064960 AS more;
ROLLBACK;
SELECT pg_temp.fill(), pg_temp.look();
-- nor while a query has the table open
TRUNCATE dead_rows_t;
SELECT pg_temp.fails();
BEGIN;
DECLARE c CURSOR FOR SELECT 1 AS one UNION ALL SELECT a FROM dead_rows_t;
FETCH c;
SELECT pg_temp.load();
SELECT pg_temp.look();
FETCH c;
COMMIT;
SELECT pg_temp.look();
-- a dry run leaves it to the load
TRUNCATE dead_rows_t;
SELECT pg_temp.fails();
SELECT rows_loaded, details ->> 'writer' AS writer FROM bulk_load('dead_rows_t', '/proc/self/cwd/pgbulk_dead_rows_in', '{"dry_run": true}');
SELECT pg_temp.look();
DROP TABLE dead_rows_t;

-- partitions
CREATE TABLE dead_rows_t (a int PRIMARY KEY, b int, c text) PARTITION BY RANGE (a);
CREATE TABLE dead_rows_1 PARTITION OF dead_rows_t FOR VALUES FROM (0) TO (1000);
CREATE TABLE dead_rows_2 PARTITION OF dead_rows_t FOR VALUES FROM (1000) TO (10000);
SELECT pg_temp.fails();
SELECT pg_relation_size('dead_rows_1') > 0 AS dead, pg_relation_size('dead_rows_2') > 0 AS dead;
SELECT pg_temp.load();
SELECT count(*), pg_relation_size('dead_rows_1') + pg_relation_size('dead_rows_2') AS size FROM dead_rows_t;
DROP TABLE dead_rows_t;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_dead_rows_gone; rm -f pgbulk_dead_rows_*';
