--
-- Parallel workers and partitioned tables: the result of one process, leaf by leaf.
--
\set file '/proc/self/cwd/pgbulk_partition_workers'
COPY (SELECT i, repeat('x', i % 40) || CASE WHEN i % 7 = 0 THEN E',"\n' ELSE '' END, i / 8.0 FROM generate_series(1, 20000) i)
	TO '/proc/self/cwd/pgbulk_partition_workers' WITH (FORMAT csv);
SET pgbulk.chunk_size = 4096;
CREATE FUNCTION pg_temp.load(t regclass, options jsonb, path text DEFAULT '/proc/self/cwd/pgbulk_partition_workers') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	SELECT * INTO r FROM bulk_load(t, path, '{"workers": 2, "writer": "direct", "log_verbosity": "silent"}' || options);
	RETURN format('%s read, %s loaded, %s rejected, %s%s', r.rows_read, r.rows_loaded, r.rows_rejected, r.writer,
		CASE WHEN r.workers > 0 OR r.details ->> 'no_workers' LIKE '%since PostgreSQL 17.' THEN ' with workers'
			ELSE ' alone' || coalesce(': ' || (r.details ->> 'no_workers'), '') END);
END $$;

-- two levels, a leaf with another order of columns, one that gets no rows
CREATE TABLE pw (a int, b text, c numeric) PARTITION BY RANGE (a);
CREATE TABLE pw_low PARTITION OF pw FOR VALUES FROM (0) TO (5000);
CREATE TABLE pw_mid (c numeric, gone int, b text, a int);
ALTER TABLE pw_mid DROP gone;
ALTER TABLE pw ATTACH PARTITION pw_mid FOR VALUES FROM (5000) TO (12000);
CREATE TABLE pw_high PARTITION OF pw FOR VALUES FROM (12000) TO (30000) PARTITION BY HASH (a);
CREATE TABLE pw_high_0 PARTITION OF pw_high FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE pw_high_1 PARTITION OF pw_high FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE pw_high_2 PARTITION OF pw_high FOR VALUES WITH (MODULUS 3, REMAINDER 2);
CREATE TABLE pw_none PARTITION OF pw FOR VALUES FROM (30000) TO (40000);
SELECT pg_temp.load('pw', '{}');
CREATE TABLE pw_copy (LIKE pw);
COPY pw_copy FROM :'file' WITH (FORMAT csv);
SELECT count(*) FROM (SELECT a, b, c FROM pw EXCEPT ALL SELECT a, b, c FROM pw_copy) x;
SELECT tableoid::regclass, count(*), bool_and(ordered) FROM
	(SELECT tableoid, a > lag(a, 1, 0) OVER (PARTITION BY tableoid ORDER BY ctid) AS ordered FROM pw) x GROUP BY 1 ORDER BY 1::text;

-- more rows: leaves with old rows, indexes, duplicates among several chunks
TRUNCATE pw;
ALTER TABLE pw ADD PRIMARY KEY (a);
CREATE INDEX ON pw (c);
SELECT pg_temp.load('pw', '{"limit": 1000}');
SELECT pg_temp.load('pw', '{"on_duplicate": "keep_old", "on_error": "ignore"}');
SELECT count(*), count(DISTINCT a), sum(a) FROM pw;
COPY (SELECT i % 9000, 'new ' || i, i FROM generate_series(1, 18000) i) TO '/proc/self/cwd/pgbulk_partition_twins' WITH (FORMAT csv);
SELECT pg_temp.load('pw', '{"on_duplicate": "keep_new", "on_error": "ignore"}', '/proc/self/cwd/pgbulk_partition_twins');
SELECT count(*), sum(a), count(*) FILTER (WHERE b = 'new ' || a + 9000) AS last_ones FROM pw;
SET enable_seqscan = off;
SELECT a, b, c FROM pw WHERE a IN (7, 19999) ORDER BY a;
RESET enable_seqscan;

-- rows without a partition, bad rows
TRUNCATE pw;
ALTER TABLE pw DETACH PARTITION pw_mid;
SELECT pg_temp.load('pw', '{"on_error": "ignore", "null": "xxx", "reject_table": "pw_rejects"}');
SELECT reason, count(*), count(DISTINCT line_number), min(line_number), max(line_number), min(message) FROM pw_rejects GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM pw;
\set VERBOSITY terse
SELECT pg_temp.load('pw', '{}');
\set VERBOSITY default
ALTER TABLE pw ATTACH PARTITION pw_mid FOR VALUES FROM (5000) TO (12000);

-- foreign keys, wide values, and all of it in a savepoint that is rolled back
TRUNCATE pw;
CREATE TABLE pw_ref (k int PRIMARY KEY);
INSERT INTO pw_ref SELECT i FROM generate_series(1, 20000) i WHERE i % 1000 <> 0;
ALTER TABLE pw ADD FOREIGN KEY (a) REFERENCES pw_ref;
SELECT pg_temp.load('pw', '{"on_error": "ignore"}');
SELECT count(*), count(*) FILTER (WHERE a % 1000 = 0) AS orphans FROM pw;
TRUNCATE pw;
COPY (SELECT i, (SELECT string_agg(md5(i::text || j), '') FROM generate_series(1, 100) j), 0 FROM generate_series(1, 900) i WHERE i % 1000 <> 0)
	TO '/proc/self/cwd/pgbulk_partition_wide' WITH (FORMAT csv);
SELECT pg_temp.load('pw', '{}', '/proc/self/cwd/pgbulk_partition_wide');
SELECT count(*), count(*) FILTER (WHERE b = (SELECT string_agg(md5(a::text || j), '') FROM generate_series(1, 100) j)) AS whole FROM pw;
BEGIN;
SAVEPOINT s;
TRUNCATE pw;
SELECT pg_temp.load('pw', '{"on_error": "ignore"}');
ROLLBACK TO s;
COMMIT;
SELECT count(*) FROM pw;
SELECT pg_temp.load('pw', '{"dry_run": true, "on_error": "ignore", "on_duplicate": "keep_old"}');
SELECT count(*) FROM pw;

-- unlogged leaves, pages with space left free, a CHECK of a leaf's own, default partitions on two levels
CREATE TABLE pw_mixed (a int, b text, c numeric) PARTITION BY RANGE (a);
CREATE UNLOGGED TABLE pw_mixed_low PARTITION OF pw_mixed FOR VALUES FROM (0) TO (5000) WITH (fillfactor = 50);
CREATE TABLE pw_mixed_mid (c numeric, gone int, a int, b text, CHECK (a % 7 <> 3));
ALTER TABLE pw_mixed_mid DROP gone;
ALTER TABLE pw_mixed ATTACH PARTITION pw_mixed_mid FOR VALUES FROM (5000) TO (12000);
CREATE TABLE pw_mixed_rest PARTITION OF pw_mixed DEFAULT PARTITION BY LIST (b);
CREATE TABLE pw_mixed_x PARTITION OF pw_mixed_rest FOR VALUES IN ('x', 'xx', 'xxx');
CREATE TABLE pw_mixed_other PARTITION OF pw_mixed_rest DEFAULT;
SELECT pg_temp.load('pw_mixed', '{"on_error": "ignore"}');
SELECT count(*) FROM (SELECT a, b, c FROM pw_copy WHERE a NOT BETWEEN 5000 AND 11999 OR a % 7 <> 3 EXCEPT ALL SELECT a, b, c FROM pw_mixed) x;
SELECT tableoid::regclass, count(*), bool_and(ordered) FROM
	(SELECT tableoid, a > lag(a, 1, 0) OVER (PARTITION BY tableoid ORDER BY ctid) AS ordered FROM pw_mixed) x GROUP BY 1 ORDER BY 1::text;
DROP TABLE pw_mixed;

-- loads that cannot have workers
CREATE FUNCTION pw_key(int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED AS 'BEGIN RETURN $1 % 2; END';
CREATE TABLE pw_expr (a int, b text, c numeric) PARTITION BY LIST (pw_key(a));
CREATE TABLE pw_expr_0 PARTITION OF pw_expr FOR VALUES IN (0);
CREATE TABLE pw_expr_1 PARTITION OF pw_expr FOR VALUES IN (1);
SELECT pg_temp.load('pw_expr', '{}');
DROP TABLE pw_expr;
CREATE TABLE pw_check (a int, b text, c numeric) PARTITION BY HASH (a);
CREATE TABLE pw_check_0 PARTITION OF pw_check FOR VALUES WITH (MODULUS 1, REMAINDER 0);
ALTER TABLE pw_check_0 ADD CHECK (pw_key(a) < 2);
SELECT pg_temp.load('pw_check', '{}');
DROP TABLE pw_check;
CREATE FUNCTION pw_hash(int, int8) RETURNS int8 LANGUAGE sql IMMUTABLE PARALLEL UNSAFE AS 'SELECT $1::int8';
CREATE OPERATOR CLASS pw_ops FOR TYPE int4 USING hash AS OPERATOR 1 =, FUNCTION 2 pw_hash(int, int8);
CREATE TABLE pw_ops_t (a int, b text, c numeric) PARTITION BY HASH (a pw_ops);
CREATE TABLE pw_ops_0 PARTITION OF pw_ops_t FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT pg_temp.load('pw_ops_t', '{}');
DROP TABLE pw_ops_t;
DROP OPERATOR FAMILY pw_ops USING hash;
DROP FUNCTION pw_hash, pw_key;
CREATE TABLE pw_many (a int, b text, c numeric) PARTITION BY LIST (a);
CREATE TABLE pw_rest PARTITION OF pw_many DEFAULT;
DO $$ BEGIN FOR i IN 1..256 LOOP EXECUTE format('CREATE TABLE pw_many_%s PARTITION OF pw_many FOR VALUES IN (%s)', i, i); END LOOP; END $$;
SELECT pg_temp.load('pw_many', '{}');
SELECT count(*) FROM pw_many;
DROP TABLE pw_many;
DROP TABLE pw, pw_copy, pw_ref, pw_rejects;
