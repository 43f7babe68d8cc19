-- Entries of BRIN, GiST and SP-GiST indexes, inserted in batches: by the range of blocks, or near ones after one another.
\! rm -f pgbulk_index_near_*
CREATE FUNCTION pg_temp.load(target regclass, options jsonb DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text; detail text; context text; n bigint;
BEGIN
	SELECT rows_loaded INTO n FROM bulk_load(target, '/proc/self/cwd/pgbulk_index_near_in', options);
	RETURN n;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	RETURN concat_ws(' / ', SQLSTATE, message, NULLIF(detail, ''), substring(context FROM 'line \d+'));
END $$;
-- keys for which an index finds other rows than there are, of some
CREATE FUNCTION pg_temp.wrong(target regclass, key text, condition text) RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
	result bigint;
BEGIN
	EXECUTE format('WITH t AS MATERIALIZED (SELECT * FROM %1$s), k AS MATERIALIZED (SELECT %2$s AS key FROM t WHERE %2$s IS NOT NULL ORDER BY hashtext(id::text), id LIMIT 20)
		SELECT count(*) FROM k, LATERAL (SELECT count(*) AS n FROM t WHERE %3$s) a, LATERAL (SELECT count(*) AS found FROM %1$s t WHERE %3$s) f WHERE n <> found', target, key, condition) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION pg_temp.wrong_all(target regclass) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT ARRAY[pg_temp.wrong(target, 't.id', 't.id = key'), pg_temp.wrong(target, 't.d', 't.d = key'),
		pg_temp.wrong(target, 't.s', 't.s = key'), pg_temp.wrong(target, 't.n', 't.n IS NULL'),
		pg_temp.wrong(target, 't.n', 't.n = key'), pg_temp.wrong(target, 't.p', 't.p <@ box(key, key)'),
		pg_temp.wrong(target, 't.b', 't.b && key'), pg_temp.wrong(target, 't.c', 't.c && key'),
		pg_temp.wrong(target, 't.r', 't.r && key'), pg_temp.wrong(target, 't.a', 't.a <<= key'), pg_temp.wrong(target, 't.o', 't.o && key')] $$;
CREATE FUNCTION pg_temp.make_rows(first int, last int) RETURNS TABLE (id int, d timestamp, s text, n numeric, p point, b box, c circle, r int4range, a inet, o polygon) LANGUAGE sql AS $$
	SELECT i, timestamp '2020-01-01' + i * interval '1 minute', CASE WHEN i % 9 > 0 THEN 'https://example.com/' || md5((i % 3000)::text) END,
		CASE WHEN i % 1000 > 300 THEN (i % 700) / 7.0 END, CASE WHEN i % 11 > 0 THEN point((i % 5000 * 7919) % 1000 - 500, (i % 5000 * 104729) % 1000 / 10.0) END,
		box(point(i % 100, i % 77), point(i % 100 + 1, i % 77 + 2)), circle(point(-i % 300, i % 91), i % 4), int4range((i * 31) % 5000, (i * 31) % 5000 + i % 7),
		CASE WHEN i % 5 > 0 THEN '10.0.0.0'::inet + i % 4000 ELSE '2001:db8::'::inet + i END, polygon(box(point(i % 60, i % 50), point(i % 60 + i % 3, i % 50 + 1)))
	FROM generate_series(first, last) i $$;
CREATE TABLE index_near_t (id int, d timestamp, s text, n numeric, p point, b box, c circle, r int4range, a inet, o polygon);
CREATE INDEX ON index_near_t USING brin (id, d, n) WITH (pages_per_range = 4);
CREATE INDEX ON index_near_t USING brin (s, r, a inet_inclusion_ops) WITH (pages_per_range = 1, autosummarize = on);
CREATE INDEX ON index_near_t USING brin (id int4_minmax_multi_ops, s text_bloom_ops) WITH (pages_per_range = 8);
CREATE INDEX ON index_near_t USING brin ((n * 2), d) WITH (pages_per_range = 3) WHERE id % 2 = 0;
CREATE INDEX ON index_near_t USING gist (p);
CREATE INDEX ON index_near_t USING gist (b);
CREATE INDEX ON index_near_t USING gist (c);
CREATE INDEX ON index_near_t USING gist (r, p) INCLUDE (s);
CREATE INDEX ON index_near_t USING gist (a inet_ops);
CREATE INDEX ON index_near_t USING gist (o);
CREATE INDEX ON index_near_t USING gist ((point(n::float8, id))) WHERE n > 50;
CREATE INDEX ON index_near_t USING spgist (p);
CREATE INDEX ON index_near_t USING spgist (p kd_point_ops);
CREATE INDEX ON index_near_t USING spgist (b);
CREATE INDEX ON index_near_t USING spgist (s) INCLUDE (n);
CREATE INDEX ON index_near_t USING spgist (r);
CREATE INDEX ON index_near_t USING spgist (a);
CREATE INDEX ON index_near_t USING spgist (o);
CREATE UNLOGGED TABLE index_near_unlogged (LIKE index_near_t INCLUDING ALL);
CREATE TEMP TABLE index_near_temp (LIKE index_near_t INCLUDING ALL);
CREATE TABLE index_near_parts (LIKE index_near_t INCLUDING ALL) PARTITION BY HASH (id);
CREATE TABLE index_near_parts_0 PARTITION OF index_near_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE index_near_parts_1 PARTITION OF index_near_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);

-- built, and with rows of others, appended or merged in
COPY (SELECT * FROM pg_temp.make_rows(1, 4000)) TO '/proc/self/cwd/pgbulk_index_near_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_near_t', '{"writer": "direct", "workers": 0}'), pg_temp.wrong_all('index_near_t');
SELECT pg_temp.load('index_near_unlogged', '{"writer": "buffered"}'), pg_temp.wrong_all('index_near_unlogged');
SELECT pg_temp.load('index_near_temp', '{"writer": "direct"}'), pg_temp.wrong_all('index_near_temp');
SELECT pg_temp.load('index_near_parts', '{"writer": "direct", "workers": 2}'), pg_temp.wrong_all('index_near_parts');
COPY (SELECT * FROM pg_temp.make_rows(3501, 7000)) TO '/proc/self/cwd/pgbulk_index_near_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_near_t', '{"writer": "direct", "workers": 0, "indexes": "insert"}'), pg_temp.wrong_all('index_near_t');
SELECT pg_temp.load('index_near_t', '{"writer": "direct", "workers": 2, "indexes": "insert"}'), pg_temp.wrong_all('index_near_t');
SELECT pg_temp.load('index_near_temp', '{"writer": "buffered"}'), pg_temp.wrong_all('index_near_temp');
SELECT pg_temp.load('index_near_parts', '{"writer": "buffered"}'), pg_temp.wrong_all('index_near_parts');
VACUUM index_near_unlogged;
SELECT pg_temp.load('index_near_unlogged', '{"writer": "buffered"}'), pg_temp.wrong_all('index_near_unlogged');

-- a new range of blocks has a summary where all of its rows are those of a direct load, but the last one, which more rows may come to
CREATE TABLE index_near_ranges (id int, filler char(500));
CREATE INDEX index_near_ranges_id ON index_near_ranges USING brin (id) WITH (pages_per_range = 2);
INSERT INTO index_near_ranges SELECT i, '' FROM generate_series(1, 40) i;
SELECT brin_summarize_new_values('index_near_ranges_id');
COPY (SELECT i, '' FROM generate_series(41, 1041) i) TO '/proc/self/cwd/pgbulk_index_near_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_near_ranges', '{"writer": "direct", "workers": 0, "indexes": "insert"}');
SELECT (pg_relation_size('index_near_ranges') / 8192) % 2 AS odd, brin_summarize_new_values('index_near_ranges_id');
SELECT pg_temp.load('index_near_ranges', '{"writer": "buffered"}');
SELECT brin_summarize_new_values('index_near_ranges_id') > 20;
SELECT pg_temp.wrong('index_near_ranges', 't.id', 't.id = key');

-- rows on pages that are reused, with little memory, and with several processes
DELETE FROM index_near_t WHERE id % 3 = 0;
VACUUM index_near_t;
SET maintenance_work_mem = '1MB';
COPY (SELECT * FROM pg_temp.make_rows(7001, 12000)) TO '/proc/self/cwd/pgbulk_index_near_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_near_t', '{"writer": "buffered"}'), pg_temp.wrong_all('index_near_t');
DELETE FROM index_near_t WHERE id % 3 = 1;
VACUUM index_near_t;
SET maintenance_work_mem = '4MB';
COPY (SELECT * FROM pg_temp.make_rows(12001, 27000)) TO '/proc/self/cwd/pgbulk_index_near_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_near_t', '{"writer": "buffered", "workers": 2}'), pg_temp.wrong_all('index_near_t');
SELECT pg_temp.load('index_near_parts', '{"writer": "direct", "workers": 2, "indexes": "rebuild"}'), pg_temp.wrong_all('index_near_parts');
RESET maintenance_work_mem;

-- values that are stored elsewhere, no rows, and no order that is known
CREATE TABLE index_near_long (id int, s text, v tsvector);
ALTER TABLE index_near_long ALTER s SET STORAGE EXTERNAL;
CREATE INDEX ON index_near_long USING spgist (s);
CREATE INDEX ON index_near_long USING gist (v);
CREATE INDEX ON index_near_long USING brin (id, (left(s, 20))) WITH (pages_per_range = 1);
COPY (SELECT i, CASE WHEN i % 10 = 0 THEN repeat('long ' || i % 50, 500) ELSE 'short ' || i END, to_tsvector('simple', 'word' || i % 300) FROM generate_series(1, 2500) i)
	TO '/proc/self/cwd/pgbulk_index_near_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_near_long', '{"writer": "buffered"}'), pg_temp.load('index_near_long', '{"writer": "direct", "indexes": "insert"}');
SELECT pg_temp.wrong('index_near_long', 't.s', 't.s = key'), pg_temp.wrong('index_near_long', 't.s', 'left(t.s, 20) = left(key, 20)'), pg_temp.wrong('index_near_long', 't.v', 't.v @@ ''word7''');
COPY (SELECT 1 WHERE false) TO '/proc/self/cwd/pgbulk_index_near_in' WITH (FORMAT csv);
TRUNCATE index_near_long;
SELECT pg_temp.load('index_near_long', '{"writer": "direct"}'), pg_temp.load('index_near_long', '{"writer": "buffered"}');

-- an exclusion constraint is looked at row by row; an expression that throws
CREATE TABLE index_near_excludes (id int, p circle, EXCLUDE USING gist (p WITH &&));
CREATE INDEX ON index_near_excludes USING brin ((100 / (id - 1900)));
COPY (SELECT i, circle(point(i * 10, 0), 1) FROM generate_series(1, 2000) i) TO '/proc/self/cwd/pgbulk_index_near_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_near_excludes', '{"writer": "buffered"}'), pg_temp.load('index_near_excludes', '{"writer": "direct"}');
COPY (SELECT i, circle(point(i % 1800 * 10, 0), 1) FROM generate_series(1901, 4000) i) TO '/proc/self/cwd/pgbulk_index_near_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_near_excludes', '{"writer": "buffered"}');

DROP TABLE index_near_t, index_near_unlogged, index_near_temp, index_near_parts, index_near_ranges, index_near_long, index_near_excludes;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_index_near_gone; rm -f pgbulk_index_near_*';
