-- Rows that are merged many at a time, with the outcome of one by one: a trigger for each row of an equal table makes them go so.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
\set path /proc/self/cwd/pgbulk_row_merge_batch.csv
\set other /proc/self/cwd/pgbulk_row_merge_other.csv
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';

-- Two equal tables with the columns id, name, hits and n; of 15 rows 3 to a key.
CREATE FUNCTION tables(more text, made text DEFAULT '', known int DEFAULT 2000) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. 2 LOOP
    EXECUTE format('DROP TABLE IF EXISTS %1$s; CREATE TABLE %1$s (id int, name text, hits int, n int%2$s)', 'bm_' || chr(96 + i), more);
    EXECUTE replace(made, '{}', 'bm_' || chr(96 + i));
    EXECUTE format('INSERT INTO %s SELECT i, ''old '' || i, i %% 10, i FROM generate_series(1, $1) i', 'bm_' || chr(96 + i)) USING known;
  END LOOP;
  CREATE TRIGGER one_by_one AFTER UPDATE ON bm_b FOR EACH ROW EXECUTE FUNCTION nothing();
END $$;
-- Loads both; says what has become of the rows, and what differs.
CREATE FUNCTION compare(path text, options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  a record;
  b record;
  o jsonb = '{"log_verbosity": "silent"}' || options;
  n bigint;
BEGIN
  SELECT * INTO a FROM bulk_load('bm_a', path, o || CASE WHEN o ? 'reject_table' THEN '{"reject_table": "bm_rejects_a"}' ELSE '{}' END::jsonb);
  SELECT * INTO b FROM bulk_load('bm_b', path, o || CASE WHEN o ? 'reject_table' THEN '{"reject_table": "bm_rejects_b"}' ELSE '{}' END::jsonb);
  RETURN NEXT format('%s loaded, %s replaced, %s deleted, %s duplicate, %s filtered, %s rejected%s', a.rows_loaded, a.rows_replaced, a.rows_deleted, a.rows_duplicate, a.rows_filtered, a.rows_rejected,
                     CASE WHEN a.details ? 'merged_in_batches' THEN ', by the batch' END);
  ASSERT NOT b.details ? 'merged_in_batches';
  ASSERT (a.rows_read, a.rows_loaded, a.rows_replaced, a.rows_deleted, a.rows_duplicate, a.rows_filtered, a.rows_rejected) =
    (b.rows_read, b.rows_loaded, b.rows_replaced, b.rows_deleted, b.rows_duplicate, b.rows_filtered, b.rows_rejected), b;
  SELECT count(*) INTO n FROM ((TABLE bm_a EXCEPT ALL TABLE bm_b) UNION ALL (TABLE bm_b EXCEPT ALL TABLE bm_a)) x;
  ASSERT n = 0, n;
  IF o ? 'reject_table' THEN
    EXECUTE $q$SELECT count(*) FROM (
      (SELECT line_number, reason, sqlstate, replace(message, 'bm_b', 'bm_a'), column_name, raw_line FROM bm_rejects_a EXCEPT ALL SELECT line_number, reason, sqlstate, replace(message, 'bm_b', 'bm_a'), column_name, raw_line FROM bm_rejects_b) UNION ALL
      (SELECT line_number, reason, sqlstate, replace(message, 'bm_b', 'bm_a'), column_name, raw_line FROM bm_rejects_b EXCEPT ALL SELECT line_number, reason, sqlstate, replace(message, 'bm_b', 'bm_a'), column_name, raw_line FROM bm_rejects_a)) x$q$ INTO n;
    ASSERT n = 0, n;
    DROP TABLE bm_rejects_a, bm_rejects_b;
  END IF;
  PERFORM bt_index_parent_check(c.oid, true, true) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid IN (SELECT relid FROM pg_partition_tree('bm_a')) AND c.relam = 403 AND c.relkind = 'i';
END $$;

-- The errors of both, but for what lies elsewhere in one.
CREATE FUNCTION fails(path text, options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  of text;
  context text;
BEGIN
  FOREACH of IN ARRAY ARRAY['bm_a', 'bm_b'] LOOP
    BEGIN
      PERFORM bulk_load(of::regclass, path, options);
      RETURN NEXT 'no error';
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
      RETURN NEXT format('%s, %s', SQLSTATE, substring(context, 'line [0-9]*'));
    END;
  END LOOP;
END $$;

-- keys that the table has, new ones, most of them several times, in no order
COPY (SELECT (i * 7919) % 1499 * 2 + 1, 'new ' || i, i % 13, i FROM generate_series(1, 5000) i) TO :'path' WITH (FORMAT csv);
SELECT tables(', PRIMARY KEY (id)', 'CREATE INDEX ON {} (n)');
SELECT compare(:'path', '{"on_duplicate": {"set": "all"}}');
SELECT compare(:'path', '{"on_duplicate": {"set": {"hits": "old.hits + new.hits", "name": "left(old.name || ''/'' || new.name, 100)"}, "where": "new.n % 3 > 0"}}');
-- deleted, and inserted again
SELECT compare(:'path', '{"on_duplicate": {"set": {"hits": "old.hits + 1"}, "delete": "new.hits IN (3, 4)"}}');
SELECT compare(:'path', '{"on_duplicate": {"set": "all", "where": "old.hits > 5", "delete": "new.hits = 7"}}');
SELECT compare(:'path', '{"on_duplicate": {"delete": "true"}}');
SELECT compare(:'path', '{"on_duplicate": {"set": ["name"], "delete": "false"}}');
-- with little memory, and with workers
SET maintenance_work_mem = '1MB';
SELECT tables(', PRIMARY KEY (id)', 'CREATE INDEX ON {} (n); CREATE INDEX ON {} USING hash (name)');
SELECT compare(:'path', '{"on_duplicate": {"set": {"hits": "old.hits + 1", "name": "old.name"}}}');
SELECT compare(:'path', '{"on_duplicate": {"set": "all", "where": "new.n > old.n", "delete": "new.n % 11 = 0"}}');
SET pgbulk.chunk_size = 4096;
SELECT compare(:'path', '{"workers": 2, "on_duplicate": {"set": "all", "where": "new.n % 7 > 2"}}');
SELECT compare(:'path', '{"workers": 2, "on_duplicate": {"set": {"name": "new.name || old.hits"}, "delete": "new.n % 7 = 0"}}');
RESET pgbulk.chunk_size;
-- wide rows of the table, more than fit: what exceeds it goes one by one
SELECT tables(', PRIMARY KEY (id)', 'ALTER TABLE {} ALTER name SET STORAGE PLAIN');
UPDATE bm_a SET name = repeat('x', 2000);
UPDATE bm_b SET name = repeat('x', 2000);
SELECT compare(:'path', '{"on_duplicate": {"set": ["hits"]}}');
RESET maintenance_work_mem;
-- values that are stored elsewhere
SELECT tables(', other text, PRIMARY KEY (id)', 'ALTER TABLE {} ALTER name SET STORAGE EXTERNAL');
UPDATE bm_a SET name = repeat('x', 5000 + id % 7);
UPDATE bm_b SET name = repeat('x', 5000 + id % 7);
SELECT compare(:'path', '{"columns": ["id", "other", "hits", "n"], "on_duplicate": {"set": {"hits": "new.hits", "other": "CASE WHEN new.n % 2 = 0 THEN old.name ELSE new.other END"}, "delete": "new.n % 17 = 0"}}');
SELECT sum(length(name)), sum(length(other)) FROM bm_a;

-- NULLs in the key, also where they are equal
COPY (SELECT CASE WHEN i % 5 > 0 THEN i % 300 END, 'new ' || i, i % 13, i FROM generate_series(1, 2000) i) TO :'path' WITH (FORMAT csv);
SELECT tables('', 'CREATE UNIQUE INDEX ON {} (id)');
SELECT compare(:'path', '{"on_duplicate": {"set": {"hits": "old.hits + new.hits"}, "delete": "new.hits = 2"}}');
SELECT tables('', 'CREATE UNIQUE INDEX ON {} (id) NULLS NOT DISTINCT');
SELECT compare(:'path', '{"on_duplicate": {"set": {"hits": "old.hits + new.hits"}, "delete": "new.hits = 2"}}');

-- equal keys that look different: the row gets the new one's where that is set
SELECT tables(', price numeric', 'CREATE UNIQUE INDEX ON {} (price)', 0);
COPY (SELECT i, 'new ' || i, i % 13, i, (i % 400)::text || '.' || repeat('0', 1 + i % 3) FROM generate_series(1, 2000) i) TO :'path' WITH (FORMAT csv);
SELECT compare(:'path', '{"on_duplicate": {"set": "all", "where": "new.hits <> 5"}}');
SELECT compare(:'path', '{"on_duplicate": {"set": {"price": "new.price", "n": "new.n"}, "delete": "new.hits = 6"}}');
SELECT sum(scale(price)) FROM bm_a;
SELECT compare(:'path', '{"on_duplicate": {"set": ["n"]}}');
-- columns that the index has besides
SELECT tables('', 'CREATE UNIQUE INDEX ON {} (id) INCLUDE (name, hits)');
SELECT compare(:'path', '{"columns": ["id", "name", "hits", "n", null], "on_duplicate": {"set": {"hits": "old.hits + 1"}, "delete": "new.hits = 6"}}');
SELECT compare(:'path', '{"columns": ["id", "name", "hits", "n", null], "on_duplicate": {"set": {"n": "new.n"}}}');

-- generated columns, CHECKs, bad rows in the order of the input
SELECT tables(', twice int GENERATED ALWAYS AS (hits * 2) STORED, CHECK (hits < 40), PRIMARY KEY (id)', 'CREATE INDEX ON {} (twice)');
COPY (SELECT CASE WHEN i % 501 = 0 THEN 'x' ELSE (i % 300)::text END, 'new ' || i, CASE WHEN i % 333 = 0 THEN 99 ELSE i % 9 END, i FROM generate_series(1, 2000) i) TO :'path' WITH (FORMAT csv);
SELECT compare(:'path', '{"columns": ["id", "name", "hits", "n"], "on_error": "ignore", "reject_table": "x", "on_duplicate": {"set": {"hits": "old.hits + new.hits", "n": "100 / (new.hits - 3)"}, "where": "new.n % 4 > 0"}}');
SELECT compare(:'path', '{"columns": ["id", "name", "hits", "n"], "on_error": "ignore", "reject_table": "x", "on_duplicate": {"set": "all", "delete": "new.n / (new.hits - 4) = 0"}}');
SELECT compare(:'path', '{"columns": ["id", "name", "hits", "n"], "on_error": "ignore", "reject_table": "x", "on_duplicate": {"set": {"hits": "old.twice + new.hits"}}}');
-- the first bad row ends the load
COPY (SELECT i % 300, 'new ' || i, i % 9, i FROM generate_series(1, 2000) i) TO :'path' WITH (FORMAT csv);
SELECT bulk_load('bm_a', :'path', '{"columns": ["id", "name", "hits", "n"], "on_duplicate": {"set": {"hits": "old.hits + new.hits"}}}');
SELECT bulk_load('bm_b', :'path', '{"columns": ["id", "name", "hits", "n"], "on_duplicate": {"set": {"hits": "old.hits + new.hits"}}}');
SELECT bulk_load('bm_a', :'path', '{"columns": ["id", "name", "hits", "n"], "on_duplicate": {"set": {"hits": "7 / (new.n - 1234)"}}}');
SELECT bulk_load('bm_b', :'path', '{"columns": ["id", "name", "hits", "n"], "on_duplicate": {"set": {"hits": "7 / (new.n - 1234)"}}}');

-- another unique index
SELECT tables(', serial serial UNIQUE, PRIMARY KEY (id)');
COPY (SELECT i % 3000, 'new ' || i, i % 9, i FROM generate_series(1, 4000) i) TO :'path' WITH (FORMAT csv);
\set columns '"columns": ["id", "name", "hits", "n"]'
SELECT compare(:'path', ('{' || :'columns' || ', "on_duplicate": {"key": "id", "set": ["hits", "n"]}}')::jsonb);
SELECT compare(:'path', ('{' || :'columns' || ', "on_duplicate": {"key": "id", "set": "all"}}')::jsonb);
SELECT compare(:'path', ('{' || :'columns' || ', "on_duplicate": {"key": "id", "set": ["serial"]}}')::jsonb);
SELECT compare(:'path', ('{' || :'columns' || ', "on_duplicate": {"key": "id", "set": ["n"], "delete": "new.hits = 0"}}')::jsonb);
ALTER TABLE bm_a ADD UNIQUE (n);
COPY (SELECT i + 5000, 'new ' || i, i % 9, CASE WHEN i = 77 THEN 1500 ELSE -i END FROM generate_series(1, 400) i) TO :'path' WITH (FORMAT csv);
SELECT bulk_load('bm_a', :'path', ('{' || :'columns' || ', "on_duplicate": {"key": "id", "set": ["hits"]}}')::jsonb);
-- keys that a row moves to or from
COPY (SELECT i, 'new ' || i, i % 9, i FROM generate_series(1, 4000) i) TO :'path' WITH (FORMAT csv);
SELECT tables(', PRIMARY KEY (id)');
SELECT compare(:'path', '{"on_duplicate": {"set": {"id": "old.id + 10000"}}}');
SELECT tables('', 'CREATE UNIQUE INDEX {}_lower ON {} (lower(name), (id % 5000))');
SELECT rows_loaded, rows_replaced, details ? 'merged_in_batches' AS by_the_batch FROM bulk_load('bm_a', :'path', '{"on_duplicate": {"key": "bm_a_lower", "set": ["hits", "n"]}}');
SELECT rows_loaded, rows_replaced, details ? 'merged_in_batches' AS by_the_batch FROM bulk_load('bm_a', :'path', '{"on_duplicate": {"key": "bm_a_lower", "set": ["name"]}}');
-- volatile functions
SELECT tables(', PRIMARY KEY (id)');
SELECT compare(:'path', '{"on_duplicate": {"set": {"hits": "new.hits + (random() * 0)::int"}}}');

-- rows of earlier commands of the transaction, and of the load
BEGIN;
SELECT tables(', PRIMARY KEY (id)', 'CREATE INDEX ON {} (hits)');
UPDATE bm_a SET hits = hits + 1;
UPDATE bm_b SET hits = hits + 1;
SAVEPOINT a;
UPDATE bm_a SET hits = hits + 1 WHERE id % 2 = 0;
UPDATE bm_b SET hits = hits + 1 WHERE id % 2 = 0;
RELEASE a;
SELECT compare(:'path', '{"on_duplicate": {"set": {"hits": "old.hits + new.hits"}}}');
SELECT compare(:'path', '{"on_duplicate": {"set": {"hits": "old.hits + new.hits"}, "delete": "new.hits = 3"}}');
COMMIT;

-- HOT, with summaries of pages too, and not
SELECT tables(', PRIMARY KEY (id)) WITH (fillfactor = 40', 'CREATE INDEX ON {} (n)');
CREATE FUNCTION updates() RETURNS text LANGUAGE sql AS $$
  SELECT format('%s updates, %s HOT', pg_stat_get_xact_tuples_updated('bm_a'::regclass), pg_stat_get_xact_tuples_hot_updated('bm_a'::regclass))
$$;
COPY (SELECT i % 1000 + 1, 'new ' || i, i % 9, i % 1000 + 1 FROM generate_series(0, 3999) i) TO :'path' WITH (FORMAT csv);
BEGIN;
SELECT compare(:'path', '{"on_duplicate": {"set": "all"}}');
SELECT updates();
COMMIT;
VACUUM bm_a;
VACUUM bm_b;
SELECT FROM pg_stat_force_next_flush();
BEGIN;
SELECT compare(:'path', '{"on_duplicate": {"set": {"n": "old.n + 5000"}}}');
SELECT updates();
COMMIT;
SELECT tables(', PRIMARY KEY (id)) WITH (fillfactor = 40', 'CREATE INDEX ON {} USING brin (n)');
SELECT compare(:'path', '{"on_duplicate": {"set": {"n": "old.n + 5000"}}}');
SET enable_seqscan = off;
SELECT count(*), min(n), max(n) FROM bm_a WHERE n > 5000;
RESET enable_seqscan;

-- rows of the table that are longer than those of the file, in little memory: none is merged alone
SET maintenance_work_mem = '1MB';
SELECT tables(', PRIMARY KEY (id)');
UPDATE bm_a SET name = repeat('long ', 40);
UPDATE bm_b SET name = repeat('long ', 40);
COPY (SELECT i, 'new', 1, i FROM generate_series(1, 4000) i) TO :'path' WITH (FORMAT csv);
SELECT compare(:'path', '{"on_duplicate": {"set": ["hits"]}}');
SELECT rows_replaced, (details ->> 'merged_in_batches')::int > 4000 - 32 AS merged FROM bulk_load('bm_a', :'path', '{"on_duplicate": {"set": ["hits"]}}');
RESET maintenance_work_mem;

-- several files, each with columns of its own
COPY (SELECT i AS id, i AS hits FROM generate_series(1, 1000) i) TO :'path' WITH (FORMAT csv, HEADER);
COPY (SELECT 'again ' || i AS name, i AS id FROM generate_series(1, 2100) i) TO :'other' WITH (FORMAT csv, HEADER);
SELECT tables(', PRIMARY KEY (id)');
SELECT format('%s loaded, %s replaced, %s', rows_loaded, rows_replaced, details ->> 'merged_in_batches') FROM bulk_load('bm_a', ARRAY[:'path', :'other'], '{"header": "map", "on_duplicate": {"set": "all"}}');
SELECT format('%s loaded, %s replaced, %s', rows_loaded, rows_replaced, details ->> 'merged_in_batches') FROM bulk_load('bm_b', ARRAY[:'path', :'other'], '{"header": "map", "on_duplicate": {"set": "all"}}');
SELECT count(*) FROM ((TABLE bm_a EXCEPT ALL TABLE bm_b) UNION ALL (TABLE bm_b EXCEPT ALL TABLE bm_a)) x;
SELECT * FROM bm_a WHERE id IN (7, 1500, 2050) ORDER BY id;

-- partitions, one with its columns in another order
DROP TABLE bm_a, bm_b;
CREATE FUNCTION parts(of text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE replace('CREATE TABLE {} (id int, name text, hits int, n int, twice int GENERATED ALWAYS AS (hits * 2) STORED, PRIMARY KEY (id)) PARTITION BY RANGE (id);
    CREATE TABLE {}_1 PARTITION OF {} FOR VALUES FROM (MINVALUE) TO (1000);
    CREATE TABLE {}_2 (gone int, twice int GENERATED ALWAYS AS (hits * 2) STORED, n int, hits int, name text, id int NOT NULL); ALTER TABLE {}_2 DROP gone; ALTER TABLE {} ATTACH PARTITION {}_2 FOR VALUES FROM (1000) TO (MAXVALUE);
    CREATE INDEX ON {} (hits); INSERT INTO {} SELECT i, ''old '' || i, i % 10, i FROM generate_series(1, 2000) i', '{}', of);
END $$;
SELECT parts('bm_a');
SELECT parts('bm_b');
CREATE TRIGGER one_by_one AFTER UPDATE ON bm_b FOR EACH ROW EXECUTE FUNCTION nothing();
COPY (SELECT (i * 7919) % 1499 * 2 + 1, 'new ' || i, i % 13, i FROM generate_series(1, 5000) i) TO :'path' WITH (FORMAT csv);
SELECT compare(:'path', ('{' || :'columns' || ', "on_duplicate": {"set": "all", "where": "new.n % 3 > 0 OR old.twice > 4"}}')::jsonb);
SELECT compare(:'path', ('{' || :'columns' || ', "on_duplicate": {"set": {"hits": "old.hits + new.hits", "name": "old::text"}, "delete": "new.hits IN (3, 4)"}}')::jsonb);
SET pgbulk.chunk_size = 4096;
SELECT compare(:'path', ('{' || :'columns' || ', "workers": 2, "on_duplicate": {"set": {"n": "new.n + old.n"}}}')::jsonb);
RESET pgbulk.chunk_size;
-- a limit of good rows, where which these are is known late
SELECT compare(:'path', ('{' || :'columns' || ', "limit": 700, "limit_counts": "loaded", "on_duplicate": {"set": ["hits"], "delete": "new.hits = 3"}}')::jsonb);
SELECT compare(:'path', ('{' || :'columns' || ', "limit": 700, "limit_counts": "loaded", "on_duplicate": {"set": ["hits"]}}')::jsonb);

-- a quote that opens within a field: where the row is found bad, the lines that it has taken are rows
DROP TABLE bm_a, bm_b;
SELECT tables(', CHECK (hits < 40), PRIMARY KEY (id)');
COPY (SELECT CASE i WHEN 500 THEN '500,new"open,50,500' WHEN 502 THEN '502,new"shut,39,502' ELSE format('%s,new,1,%s', i, i) END FROM generate_series(1, 1000) i) TO :'path';
SELECT compare(:'path', '{"on_error": "ignore", "reject_table": "x", "on_duplicate": {"set": {"hits": "new.hits + 20"}}}');
-- what a key or a predicate is computed from is generated of what is set
COPY (SELECT i % 200, 'new', 7, i FROM generate_series(1, 1000) i) TO :'path' WITH (FORMAT csv);
SELECT tables(', live bool GENERATED ALWAYS AS (hits >= 0) STORED', 'CREATE UNIQUE INDEX {}_key ON {} (id) WHERE live', 300);
SELECT format('%s loaded, %s replaced', rows_loaded, rows_replaced) FROM bulk_load('bm_a', :'path', '{"columns": ["id", "name", "hits", "n"], "on_duplicate": {"key": "bm_a_key", "set": {"hits": "-new.n", "n": "new.n"}}}');
SELECT format('%s loaded, %s replaced', rows_loaded, rows_replaced) FROM bulk_load('bm_b', :'path', '{"columns": ["id", "name", "hits", "n"], "on_duplicate": {"key": "bm_b_key", "set": {"hits": "-new.n", "n": "new.n"}}}');
SELECT count(*) FROM ((TABLE bm_a EXCEPT ALL TABLE bm_b) UNION ALL (TABLE bm_b EXCEPT ALL TABLE bm_a)) x;
SELECT tables(', tens int GENERATED ALWAYS AS (hits / 10) STORED', 'CREATE UNIQUE INDEX {}_key ON {} (id, (tens + 0))', 300);
SELECT format('%s loaded, %s replaced', rows_loaded, rows_replaced) FROM bulk_load('bm_a', :'path', '{"columns": ["id", "name", "hits", "n"], "on_duplicate": {"key": "bm_a_key", "set": {"hits": "old.hits + 10 * new.n"}}}');
SELECT format('%s loaded, %s replaced', rows_loaded, rows_replaced) FROM bulk_load('bm_b', :'path', '{"columns": ["id", "name", "hits", "n"], "on_duplicate": {"key": "bm_b_key", "set": {"hits": "old.hits + 10 * new.n"}}}');
SELECT count(*) FROM ((TABLE bm_a EXCEPT ALL TABLE bm_b) UNION ALL (TABLE bm_b EXCEPT ALL TABLE bm_a)) x;
-- keys of no other row's, too large for an index, after a batch of more rows
SELECT tables('', 'CREATE UNIQUE INDEX ON {} (n, name)');
SET maintenance_work_mem = '1MB';
COPY (SELECT 1, 'k', 2, i FROM generate_series(1, 11400) i UNION ALL SELECT 1, 'k', 2, NULL FROM generate_series(1, 13000) i
  UNION ALL SELECT 1, (SELECT string_agg(md5(j::text), '') FROM generate_series(1, 200) j), 2, NULL) TO :'path' WITH (FORMAT csv);
SELECT fails(:'path', '{"on_duplicate": {"set": ["hits"]}}');
-- rows that grow while they wait: some go one by one
SELECT tables(', PRIMARY KEY (id)', known => 1000);
COPY (SELECT i % 700, repeat('x', 2000), 1, i FROM generate_series(1, 3500) i) TO :'path' WITH (FORMAT csv);
SELECT compare(:'path', '{"on_duplicate": {"set": {"name": "left(old.name || new.name, 7000)", "hits": "old.hits + 1"}, "delete": "new.n % 9 = 0"}}');
RESET maintenance_work_mem;
-- a key that another index has, beside rows that are not stored anew
SELECT tables(', other int, PRIMARY KEY (id)', 'UPDATE {} SET other = id; CREATE UNIQUE INDEX ON {} (other)', 1000);
UPDATE bm_a SET other = id;
UPDATE bm_b SET other = id;
COPY (SELECT i, 'new', 1, i, CASE i WHEN 1500 THEN 7 ELSE i END FROM generate_series(1, 2000) i) TO :'path' WITH (FORMAT csv);
SELECT fails(:'path', '{"on_duplicate": {"key": "id", "set": ["hits"]}}');
-- versions of rows that have their keys again are removed from full pages of indexes, as those of UPDATE are
SELECT tables(', PRIMARY KEY (id)', 'CREATE INDEX {}_name ON {} (name)', 5000);
UPDATE bm_a SET name = 'row ' || id;
UPDATE bm_b SET name = 'row ' || id;
VACUUM FULL bm_a, bm_b;
COPY (SELECT i, 'new', 1, i FROM generate_series(1, 5000) i) TO :'path' WITH (FORMAT csv);
CREATE TABLE bm_staged (id int, name text, hits int, n int);
COPY bm_staged FROM :'path' WITH (FORMAT csv);
CREATE PROCEDURE merges(path text) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. 12 LOOP
    PERFORM bulk_load('bm_a', path, '{"columns": ["id", "name", "hits", "n"], "log_verbosity": "silent", "on_duplicate": {"set": {"hits": "old.hits + new.hits"}}}');
    INSERT INTO bm_b AS o (id, name, hits, n) TABLE bm_staged ON CONFLICT (id) DO UPDATE SET hits = o.hits + excluded.hits;
    COMMIT;
  END LOOP;
END $$;
CALL merges(:'path');
SELECT pg_relation_size('bm_a_name') <= 1.1 * pg_relation_size('bm_b_name') AS as_small, pg_relation_size('bm_a_pkey') <= 1.1 * pg_relation_size('bm_b_pkey') AS key_too;
SELECT count(*) FROM ((TABLE bm_a EXCEPT ALL TABLE bm_b) UNION ALL (TABLE bm_b EXCEPT ALL TABLE bm_a)) x;
DROP PROCEDURE merges;
DROP TABLE bm_staged;
DROP TABLE bm_a, bm_b;
DROP FUNCTION tables, compare, fails, parts, updates, nothing;
DROP EXTENSION amcheck;
