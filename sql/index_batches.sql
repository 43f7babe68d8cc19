-- Entries of GIN and hash indexes, which are inserted in batches by the buffered writer; GIN indexes are built of these, too.
\! rm -f pgbulk_index_batches_*
CREATE FUNCTION pg_temp.load(target regclass, options jsonb DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text; detail text; context text; n bigint;
BEGIN
	SELECT rows_loaded INTO n FROM bulk_load(target, '/proc/self/cwd/pgbulk_index_batches_in', '{"writer": "buffered"}' || options);
	RETURN n;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	RETURN concat_ws(' / ', SQLSTATE, message, NULLIF(detail, ''), substring(context FROM 'line \d+'));
END $$;
-- keys for which an index finds other rows than there are, of some
CREATE FUNCTION pg_temp.wrong(target regclass, keys text, condition text) RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_indexscan = off SET work_mem = '64MB' AS $$
DECLARE
	result bigint;
BEGIN
	EXECUTE format('WITH k AS MATERIALIZED (SELECT key, count(*) AS n FROM (SELECT DISTINCT t.tableoid, t.ctid, key FROM %1$s t, LATERAL (%2$s) k(key)) k GROUP BY key)
		SELECT count(*) FROM (SELECT * FROM k WHERE key IS NOT NULL ORDER BY hashtext(key::text), key::text LIMIT 20) k, LATERAL (SELECT count(*) AS found FROM %1$s t WHERE %3$s) f WHERE n <> found', target, keys, condition) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION pg_temp.wrong_all(target regclass) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT ARRAY[pg_temp.wrong(target, 'SELECT unnest(t.a)', 't.a @> ARRAY[key]'),
		pg_temp.wrong(target, 'SELECT unnest(t.s)', 't.s @> ARRAY[key]'),
		pg_temp.wrong(target, 'SELECT jsonb_build_object(e.key, value) FROM jsonb_each(t.d) e', 't.d @> key'),
		pg_temp.wrong(target, 'SELECT lexeme FROM unnest(t.v)', 't.v @@ key::tsquery'),
		pg_temp.wrong(target, 'SELECT t.h WHERE t.h IS NOT NULL', 't.h = key'),
		pg_temp.wrong(target, 'SELECT 1 WHERE t.a = ''{}''', 't.a = ''{}''')] $$;
CREATE FUNCTION pg_temp.make_rows(first int, last int) RETURNS TABLE (id int, a int[], s text[], d jsonb, v tsvector, h text) LANGUAGE sql AS $$
	SELECT i, CASE i % 11 WHEN 3 THEN NULL WHEN 4 THEN '{}' WHEN 5 THEN ARRAY[NULL, i % 7] ELSE ARRAY[i % 300, -i, i % 2, i % 300] END,
		CASE WHEN i % 13 > 2 THEN ARRAY['kind ' || i % 3, 'a-b ' || i % 400, 'AB ' || i % 400, repeat('long' || i % 90, i % 50)] END,
		jsonb_build_object('few', i % 5, 'some', 'x' || i % 700, 'many', i, 'none', NULL, 'deep', jsonb_build_object('k', i % 60)),
		to_tsvector('simple', 'word' || i % 500 || ' the ' || i || ' end'), CASE WHEN i % 9 > 0 THEN 'hash ' || i % 2000 END
	FROM generate_series(first, last) i $$;
CREATE TABLE index_batches_t (id int PRIMARY KEY, a int[], s text[], d jsonb, v tsvector, h text);
CREATE INDEX ON index_batches_t USING gin (a);
CREATE INDEX ON index_batches_t USING gin (s) WITH (fastupdate = off);
CREATE INDEX ON index_batches_t USING gin (d jsonb_path_ops);
CREATE INDEX ON index_batches_t USING gin (d);
CREATE INDEX ON index_batches_t USING gin (v, a) WITH (fastupdate = off);
CREATE INDEX ON index_batches_t USING gin ((s || h)) WHERE id % 3 = 0;
CREATE INDEX ON index_batches_t USING hash (h);
CREATE INDEX ON index_batches_t USING hash (id);
CREATE UNLOGGED TABLE index_batches_unlogged (LIKE index_batches_t INCLUDING ALL);
CREATE TEMP TABLE index_batches_temp (LIKE index_batches_t INCLUDING ALL);
CREATE TABLE index_batches_parts (LIKE index_batches_t INCLUDING ALL) PARTITION BY HASH (id);
CREATE TABLE index_batches_parts_0 PARTITION OF index_batches_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE index_batches_parts_1 PARTITION OF index_batches_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);

-- empty; with a list of entries that are pending, and keys that are there; then with rows on pages that are reused
COPY (SELECT * FROM pg_temp.make_rows(1, 3000)) TO '/proc/self/cwd/pgbulk_index_batches_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_batches_t'), pg_temp.wrong_all('index_batches_t');
SELECT pg_temp.load('index_batches_unlogged'), pg_temp.wrong_all('index_batches_unlogged');
SELECT pg_temp.load('index_batches_temp'), pg_temp.wrong_all('index_batches_temp');
SELECT pg_temp.load('index_batches_parts'), pg_temp.wrong_all('index_batches_parts');
INSERT INTO index_batches_t SELECT * FROM pg_temp.make_rows(3001, 3500);
COPY (SELECT * FROM pg_temp.make_rows(3501, 7000)) TO '/proc/self/cwd/pgbulk_index_batches_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_batches_t'), pg_temp.wrong_all('index_batches_t');
SELECT pg_temp.load('index_batches_unlogged'), pg_temp.wrong_all('index_batches_unlogged');
DELETE FROM index_batches_t WHERE id % 3 = 0;
VACUUM index_batches_t;
COPY (SELECT * FROM pg_temp.make_rows(7001, 11000)) TO '/proc/self/cwd/pgbulk_index_batches_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_batches_t'), pg_temp.wrong_all('index_batches_t');

-- with little memory, and with several processes
SET maintenance_work_mem = '1MB';
COPY (SELECT * FROM pg_temp.make_rows(11001, 16000)) TO '/proc/self/cwd/pgbulk_index_batches_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_batches_t'), pg_temp.wrong_all('index_batches_t');
SELECT pg_temp.load('index_batches_parts'), pg_temp.wrong_all('index_batches_parts');
SET maintenance_work_mem = '4MB';
COPY (SELECT * FROM pg_temp.make_rows(16001, 36000)) TO '/proc/self/cwd/pgbulk_index_batches_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_batches_t', '{"workers": 2}'), pg_temp.wrong_all('index_batches_t');
RESET maintenance_work_mem;

-- rebuilt by the direct writer: with old rows, deleted ones, without any, by several processes, with little memory
COPY (SELECT * FROM pg_temp.make_rows(40001, 43000)) TO '/proc/self/cwd/pgbulk_index_batches_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_batches_t', '{"writer": "direct", "indexes": "rebuild"}'), pg_temp.wrong_all('index_batches_t');
SELECT pg_temp.load('index_batches_parts', '{"writer": "direct", "indexes": "rebuild", "workers": 2}'), pg_temp.wrong_all('index_batches_parts');
SET maintenance_work_mem = '1MB';
SELECT pg_temp.load('index_batches_unlogged', '{"writer": "direct", "indexes": "rebuild", "workers": 0}'), pg_temp.wrong_all('index_batches_unlogged');
RESET maintenance_work_mem;
TRUNCATE index_batches_temp;
SELECT pg_temp.load('index_batches_temp', '{"writer": "direct"}'), pg_temp.wrong_all('index_batches_temp');
TRUNCATE index_batches_temp;
INSERT INTO index_batches_temp SELECT * FROM pg_temp.make_rows(1, 100);
SELECT pg_temp.load('index_batches_temp', '{"writer": "direct", "indexes": "insert"}'), pg_temp.wrong_all('index_batches_temp');

-- what COPY says of keys that no page can hold, and of functions that throw
CREATE TABLE index_batches_bad (id int, s text[]);
CREATE INDEX index_batches_bad_gin ON index_batches_bad USING gin (s);
CREATE INDEX index_batches_bad_throws ON index_batches_bad USING hash ((100 / (id - 1800)));
COPY (SELECT i, CASE WHEN i IN (1500, 1600) THEN ARRAY['a', 'z' || 1600 - i || (SELECT string_agg(md5(k::text), '') FROM generate_series(1, 100) k)] ELSE ARRAY['m' || i] END
	FROM generate_series(1, 2000) i) TO '/proc/self/cwd/pgbulk_index_batches_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_batches_bad'), pg_temp.load('index_batches_bad', '{"writer": "direct"}');
COPY (SELECT i, ARRAY['m' || i, repeat('short', i * (i % 20 / 19))] FROM generate_series(1, 2000) i) TO '/proc/self/cwd/pgbulk_index_batches_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_batches_bad');
DROP INDEX index_batches_bad_throws;
SELECT pg_temp.load('index_batches_bad');
SELECT pg_temp.wrong('index_batches_bad', 'SELECT unnest(t.s)', 't.s @> ARRAY[key]');

-- keys that are equal, of different bytes
CREATE TABLE index_batches_odd (id int, n numeric[]);
CREATE INDEX ON index_batches_odd USING gin (n);
COPY (SELECT i, CASE WHEN i % 2 > 0 THEN ARRAY[i % 10 + 0.0, i] ELSE ARRAY[i % 10 + 0.00, i % 100] END FROM generate_series(1, 6000) i)
	TO '/proc/self/cwd/pgbulk_index_batches_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_batches_odd'), pg_temp.load('index_batches_odd');
SELECT pg_temp.wrong('index_batches_odd', 'SELECT unnest(t.n)', 't.n @> ARRAY[key]');

-- an exclusion constraint is looked at row by row
CREATE TABLE index_batches_excludes (id int, EXCLUDE USING hash (id WITH =));
COPY (SELECT i % 1900 FROM generate_series(1, 2000) i) TO '/proc/self/cwd/pgbulk_index_batches_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_batches_excludes');

-- duplicates that are set aside or replaced
COPY (SELECT * FROM pg_temp.make_rows(35001, 38000) UNION ALL SELECT * FROM pg_temp.make_rows(100, 200)) TO '/proc/self/cwd/pgbulk_index_batches_in' WITH (FORMAT csv);
SET client_min_messages = warning;
SELECT pg_temp.load('index_batches_t', '{"on_duplicate": "keep_old"}'), pg_temp.wrong_all('index_batches_t');
SELECT pg_temp.load('index_batches_t', '{"on_duplicate": "keep_new"}'), pg_temp.wrong_all('index_batches_t');
RESET client_min_messages;

DROP TABLE index_batches_t, index_batches_unlogged, index_batches_temp, index_batches_parts, index_batches_bad, index_batches_odd, index_batches_excludes;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_index_batches_gone; rm -f pgbulk_index_batches_*';
