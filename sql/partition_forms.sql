--
-- Rows of partitions of every kind: the leaves, the rows and their order there as by COPY,
-- whether a leaf has the form of the table or not, and whatever it checks.
--

\set VERBOSITY terse
SET client_min_messages = warning;
-- dates that the fast path takes
SET datestyle = 'ISO';

CREATE TABLE made (n int, t text, k int, d date);
INSERT INTO made
    SELECT i, CASE WHEN i % 11 = 0 THEN NULL ELSE 'text ' || repeat(chr(97 + i % 26), i % 40) END,
           CASE WHEN i % 13 = 0 THEN NULL ELSE (i * 7919) % 100 END, date '2026-01-01' + i / 50
        FROM generate_series(1, 5000) i;
COPY (TABLE made ORDER BY n) TO '/proc/self/cwd/pgbulk_partition_forms' (FORMAT csv);
DROP TABLE made;

CREATE FUNCTION digests(target regclass) RETURNS TABLE (leaf text, digest text, in_order bool) LANGUAGE plpgsql AS $$
    BEGIN
        FOR leaf IN SELECT relid::regclass FROM pg_partition_tree(target) WHERE isleaf LOOP
            EXECUTE format('SELECT md5(string_agg(concat_ws(%L, n, coalesce(t, %L), k, d, pg_column_size(t)), %L ORDER BY n)), bool_and(follows) '
                           'FROM (SELECT *, n > lag(n, 1, 0) OVER (ORDER BY ctid) AS follows FROM %s) x', ',', 'NULL', ';', leaf) INTO digest, in_order;
            RETURN NEXT;
        END LOOP;
    END $$;

-- loads the file by COPY and otherwise: leaves that have other rows then, and by the direct writer those whose rows are not in its order
CREATE FUNCTION compared(target regclass) RETURNS TABLE (how text, writer text, other_rows text, other_order text) LANGUAGE plpgsql AS $$
    BEGIN
        EXECUTE format('TRUNCATE %s; COPY %s FROM %L (FORMAT csv)', target, target, '/proc/self/cwd/pgbulk_partition_forms');
        CREATE TEMP TABLE wanted AS SELECT * FROM digests(target);
        FOR how IN VALUES ('{"workers": 0}'), ('{"workers": 1}'), ('{"workers": 0, "on_error": "ignore"}'), ('{"workers": 0, "writer": "buffered"}') LOOP
            EXECUTE format('TRUNCATE %s', target);
            SELECT l.writer INTO compared.writer FROM bulk_load(target, '/proc/self/cwd/pgbulk_partition_forms', how::jsonb) l;
            SELECT string_agg(w.leaf, ', ' ORDER BY w.leaf) FILTER (WHERE d.digest IS DISTINCT FROM w.digest),
                   string_agg(w.leaf, ', ' ORDER BY w.leaf) FILTER (WHERE NOT d.in_order AND compared.writer = 'direct')
                INTO other_rows, other_order FROM wanted w LEFT JOIN digests(target) d ON d.leaf = w.leaf;
            RETURN NEXT;
        END LOOP;
        DROP TABLE wanted;
    END $$;

SET pgbulk.chunk_size = 8192;

-- hash, of a text and of two columns; one leaf with columns in another order, one that had others
CREATE TABLE hashed (n int, t text, k int, d date) PARTITION BY HASH (t, k);
CREATE TABLE hashed_0 PARTITION OF hashed FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE hashed_1 (d date, k int, t text, n int);
ALTER TABLE hashed ATTACH PARTITION hashed_1 FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE hashed_2 (n int, gone text, t text, k int, d date);
ALTER TABLE hashed_2 DROP COLUMN gone;
ALTER TABLE hashed ATTACH PARTITION hashed_2 FOR VALUES WITH (MODULUS 4, REMAINDER 2);
CREATE TABLE hashed_3 PARTITION OF hashed FOR VALUES WITH (MODULUS 4, REMAINDER 3);
ALTER TABLE hashed_3 ALTER t SET STORAGE PLAIN;
SELECT * FROM compared('hashed');
DROP TABLE hashed;

-- list, with NULL and a default partition; and a leaf's own constraints
CREATE TABLE listed (n int, t text, k int, d date) PARTITION BY LIST (k);
CREATE TABLE listed_a PARTITION OF listed FOR VALUES IN (1, 3, 5, 7, 9, NULL);
CREATE TABLE listed_b PARTITION OF listed FOR VALUES IN (2, 4, 6, 8);
CREATE TABLE listed_c PARTITION OF listed DEFAULT;
ALTER TABLE listed_b ALTER k SET NOT NULL, ADD CHECK (n > 0 AND 1 / n >= 0);
SELECT * FROM compared('listed');
DROP TABLE listed;

-- ranges in order, also of two columns, from the least to the greatest, and none for NULL but the default
CREATE TABLE ranged (n int, t text, k int, d date) PARTITION BY RANGE (d);
CREATE TABLE ranged_a PARTITION OF ranged FOR VALUES FROM (MINVALUE) TO ('2026-01-20');
CREATE TABLE ranged_b PARTITION OF ranged FOR VALUES FROM ('2026-01-20') TO ('2026-03-01');
CREATE TABLE ranged_c PARTITION OF ranged FOR VALUES FROM ('2026-03-01') TO (MAXVALUE);
SELECT * FROM compared('ranged');
DROP TABLE ranged;
CREATE TABLE ranged (n int, t text, k int, d date) PARTITION BY RANGE (k, n);
CREATE TABLE ranged_a PARTITION OF ranged FOR VALUES FROM (MINVALUE, MINVALUE) TO (10, 2000);
CREATE TABLE ranged_b PARTITION OF ranged FOR VALUES FROM (10, 2000) TO (50, MINVALUE);
CREATE TABLE ranged_c PARTITION OF ranged FOR VALUES FROM (50, MINVALUE) TO (90, MAXVALUE);
CREATE TABLE ranged_d PARTITION OF ranged DEFAULT;
SELECT * FROM compared('ranged');
DROP TABLE ranged;

-- expressions that only compute, and one that does more
CREATE TABLE computed (n int, t text, k int, d date) PARTITION BY LIST ((n % 3));
CREATE TABLE computed_0 PARTITION OF computed FOR VALUES IN (0);
CREATE TABLE computed_1 PARTITION OF computed FOR VALUES IN (1, 2);
SELECT * FROM compared('computed');
DROP TABLE computed;
CREATE FUNCTION third(int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN RETURN $1 % 3; END';
CREATE TABLE computed (n int, t text, k int, d date) PARTITION BY LIST (third(n));
CREATE TABLE computed_0 PARTITION OF computed FOR VALUES IN (0);
CREATE TABLE computed_1 PARTITION OF computed FOR VALUES IN (1, 2);
SELECT * FROM compared('computed');
DROP TABLE computed;

-- levels: by range, then hash of another order of columns, then list
CREATE TABLE levels (n int, t text, k int, d date) PARTITION BY RANGE (n);
CREATE TABLE levels_a PARTITION OF levels FOR VALUES FROM (0) TO (1000);
CREATE TABLE levels_b (k int, t text, d date, n int) PARTITION BY HASH (t);
ALTER TABLE levels ATTACH PARTITION levels_b FOR VALUES FROM (1000) TO (4000);
CREATE TABLE levels_b0 PARTITION OF levels_b FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE levels_b1 PARTITION OF levels_b FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY LIST (k);
CREATE TABLE levels_b1a PARTITION OF levels_b1 FOR VALUES IN (1, 2, 3, 4, 5, NULL);
CREATE TABLE levels_b1b PARTITION OF levels_b1 DEFAULT;
CREATE TABLE levels_c PARTITION OF levels DEFAULT PARTITION BY HASH (n);
CREATE TABLE levels_c0 PARTITION OF levels_c FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT * FROM compared('levels');
DROP TABLE levels;

-- bad rows: no partition, a leaf's CHECK that fails or throws, its NOT NULL, the key's expression
CREATE TABLE strict (n int, t text, k int, d date) PARTITION BY LIST ((100 / (n - 77)));
CREATE TABLE strict_low PARTITION OF strict FOR VALUES IN (0, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
CREATE TABLE strict_rest PARTITION OF strict FOR VALUES IN (-2, -3, -4, -5, 11, 12, 14, 16, 20);
ALTER TABLE strict_low ADD CONSTRAINT few CHECK (1000 / (n - 4000) <> 1000), ALTER d SET NOT NULL;
ALTER TABLE strict_rest ADD CONSTRAINT none CHECK (k <> 42), ALTER k SET NOT NULL;
SELECT rows_loaded, rows_rejected, workers FROM bulk_load('strict', '/proc/self/cwd/pgbulk_partition_forms',
    '{"workers": 0, "on_error": "ignore", "reject_table": "strict_rejects", "log_verbosity": "silent"}');
SELECT line_number, reason, sqlstate, message FROM strict_rejects ORDER BY line_number;
SELECT count(*), min(n), max(n) FROM strict;
-- each of them ends a load that stops, with its line
TRUNCATE strict;
\set VERBOSITY default
SELECT * FROM bulk_load('strict', '/proc/self/cwd/pgbulk_partition_forms', '{"workers": 0}');
\set VERBOSITY terse
DROP TABLE strict, strict_rejects;

-- values of a sequence that rows had which went the other way: there is no gap
CREATE TABLE numbered (id serial, n int, t text, k int, d date) PARTITION BY LIST (k);
CREATE TABLE numbered_odd PARTITION OF numbered FOR VALUES IN (1, 3, 5, 7, 9, 11, 13, 15, 17, 19);
CREATE TABLE numbered_rest PARTITION OF numbered DEFAULT;
CREATE FUNCTION is_small(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN RETURN $1 < 100; END';
ALTER TABLE numbered_odd ADD CHECK (is_small(k));
SELECT rows_loaded FROM bulk_load('numbered', '/proc/self/cwd/pgbulk_partition_forms', '{"workers": 0, "columns": ["n", "t", "k", "d"]}');
SELECT count(*), count(DISTINCT id), bool_and(id = n) AS in_order FROM numbered;
DROP TABLE numbered;

DROP FUNCTION compared, digests, third, is_small;
RESET pgbulk.chunk_size;
RESET datestyle;
