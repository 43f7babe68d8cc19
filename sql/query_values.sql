--
-- Values of a query are stored unchanged, whatever their types: the same as by INSERT.
--
SET client_min_messages = warning;
SET lc_monetary = 'C';
CREATE TYPE query_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE query_pair AS (n int, t text);
CREATE DOMAIN query_even AS int CHECK (VALUE % 2 = 0);
CREATE DOMAIN query_code AS varchar(4) NOT NULL CHECK (VALUE <> 'bad');
CREATE DOMAIN query_ids AS int[] CHECK (cardinality(VALUE) < 3);
CREATE TABLE query_all (k int, bo bool, ch "char", i2 int2, i8 int8, f4 float4, f8 float8, nu numeric, n2 numeric(10,2), te text, vc varchar(8), cc char(6), na name, bt bytea,
	da date, ti time, tz time with time zone, ts timestamp, tt timestamptz(3), iv interval, uu uuid, ip inet, ma macaddr, po point, bx box, bi bit(3), vb bit varying(5), mo money,
	js json, jb jsonb, tv tsvector, ia int[], ta text[], va varchar(4)[], ir int4range, im int8multirange, md query_mood, pa query_pair, ps query_pair[], re regclass, id tid, ov oidvector,
	ev query_even, co query_code, ii query_ids);
CREATE TABLE query_from (LIKE query_all);
INSERT INTO query_from VALUES
	(1, true, 'x', -32768, 9223372036854775807, 'NaN', '-Infinity', 'NaN', 12345678.90, E'tab\there \\ and\nthere', 'eight ch', 'ab', 'a name', '\x00ff5c0a',
	'infinity', '24:00', '12:00+05:30', '0044-03-15 BC', '2024-05-06 07:08:09.123', '1 year -2 days 03:04:05.678', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '10.1.2.3/8', '08:00:2b:01:02:03',
	'(1.5,-0)', '(0,0),(1,1)', B'101', B'10101', 12.34, '{"a" : 1, "a": [2] }', '{"a" : 1, "a": [2.50] }', 'fat:2 cat:1A', '[0:1]={1,NULL}', ARRAY[E'a\n"b"', NULL, '\', ''], '{abcd,NULL}',
	'(1,5]', '{[1,2],[7,9]}', 'happy', '(7,"a,b")', ARRAY[(1, NULL)::query_pair, NULL], 'query_all', '(3,4)', '1 2 3', 2, 'ok', '{1}'),
	(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '', '', '', '', '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, B'', NULL, NULL, NULL, '', '{}', '{}', '{}',
	'empty', '{}', NULL, '(,)', '{}', NULL, NULL, '', NULL, '', NULL);
-- wide ones: compressed, and out of line both compressed and not
INSERT INTO query_from (k, te, bt, nu, jb, ta, pa, ps, co)
	SELECT 3, repeat('abc', 1000), NULL, repeat('123', 300)::numeric, jsonb_build_object('a', repeat('x', 5000)), ARRAY[repeat('y', 3000)], (1, repeat('z', 3000))::query_pair, NULL, 'w'
	UNION ALL SELECT 4, w, decode(w, 'hex'), NULL, to_jsonb(w), ARRAY[w, 'x'], (2, w)::query_pair, ARRAY[(3, w)::query_pair], 'w' FROM (SELECT string_agg(md5(i::text), '') AS w FROM generate_series(1, 1000) i) w;
CREATE TABLE query_insert AS TABLE query_from;
CREATE FUNCTION pg_temp.same(options jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	TRUNCATE query_all;
	SELECT * INTO r FROM bulk_load_query('query_all', 'TABLE query_from', '{"log_verbosity": "silent"}' || options);
	RETURN format('%s loaded, %s rejected, %s: %s differ', r.rows_loaded, r.rows_rejected, r.writer, (SELECT count(*) FROM query_all a FULL JOIN query_insert i USING (k) WHERE a::text IS DISTINCT FROM i::text));
END $$;
SELECT options, pg_temp.same(options) FROM (VALUES ('{}'::jsonb), ('{"writer": "buffered"}'), ('{"on_error": "ignore"}'), ('{"on_error": "set_null"}'), ('{"where": "k > 0"}'), ('{"dry_run": true}')) o (options);
TRUNCATE query_all;
ALTER TABLE query_all ALTER te SET STORAGE EXTERNAL, ALTER bt SET STORAGE PLAIN, ALTER jb SET STORAGE MAIN;
UPDATE query_from SET bt = NULL WHERE length(bt) > 8000;
UPDATE query_insert SET bt = NULL WHERE length(bt) > 8000;
SELECT pg_temp.same('{}');
-- nothing is left in the TOAST table of the other one
DROP TABLE query_from;
SELECT count(*) FROM query_all a JOIN query_insert i USING (k) WHERE a::text = i::text;
SELECT rows_loaded FROM bulk_load_query('query_insert', 'TABLE query_all', '{"truncate": true}');
SELECT count(*) FROM query_all a JOIN query_insert i USING (k) WHERE a::text = i::text;
-- bad rows are text that can be loaded again
TRUNCATE query_all;
ALTER TABLE query_all ADD CONSTRAINT none CHECK (k < 0);
SET datestyle = 'SQL, DMY';
SELECT rows_loaded, rows_rejected FROM bulk_load_query('query_all', 'TABLE query_insert', '{"truncate": true, "on_error": "ignore", "reject_table": "query_rejects", "log_verbosity": "silent"}');
RESET datestyle;
SELECT string_to_table(raw_line, E'\t') FROM query_rejects WHERE line_number = 1;
SELECT raw_line FROM query_rejects WHERE line_number = 2;
ALTER TABLE query_all DROP CONSTRAINT none;
SELECT rows_loaded FROM bulk_load_retry('query_all', 'query_rejects', (SELECT min(load_id) FROM query_rejects), '{"format": "text"}');
SELECT count(*) FROM query_rejects;
SELECT count(*) FROM query_all a JOIN query_insert i USING (k) WHERE a::text = i::text;
DROP TABLE query_rejects, query_insert;
-- also where they turn out to be bad only when all rows are in, or end the load
CREATE TABLE query_keys (d date PRIMARY KEY, v bytea);
CREATE TABLE query_refs (d date REFERENCES query_keys, v bytea);
SET bytea_output = 'escape';
SELECT rows_loaded, rows_rejected FROM bulk_load_query('query_refs', $$SELECT DATE '2024-01-01' + i, '\x615c'::bytea FROM generate_series(1, 2) i$$,
	'{"on_error": "ignore", "reject_table": "query_rejects", "reject_file": "/proc/self/cwd/pgbulk_query_values_bad", "log_verbosity": "silent"}');
SELECT rows_loaded, rows_duplicate FROM bulk_load_query('query_keys', $$SELECT DATE '2024-01-01' + i / 2, CASE i WHEN 2 THEN NULL ELSE '\x00'::bytea END FROM generate_series(0, 3) i WHERE random() >= 0$$,
	'{"on_duplicate": "keep_new", "reject_table": "query_rejects", "log_verbosity": "silent"}');
SELECT target, line_number, reason, raw_line FROM query_rejects ORDER BY 1, 2;
SELECT pg_read_file('/proc/self/cwd/pgbulk_query_values_bad');
CREATE FUNCTION pg_temp.context(target text, query text, options jsonb DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	context text;
BEGIN
	PERFORM rows_loaded FROM bulk_load_query(target::regclass, query, '{"log_verbosity": "silent"}' || options);
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RETURN format('%s: %s, %s', sqlstate, sqlerrm, substring(context, 'bulk_load of [^\n]*'));
END $$;
SELECT writer, target, pg_temp.context(target, query, jsonb_build_object('writer', writer)) FROM unnest(ARRAY['direct', 'buffered']) writer,
	(VALUES ('query_refs', $$VALUES (DATE '2024-01-01', NULL), ('2024-01-09', '\x09')$$), ('query_keys', $$VALUES (DATE '2024-01-09', ''), ('2024-01-01', '\x09')$$),
		('query_keys', $$VALUES (DATE '2024-01-09', ''), (NULL, '\x09')$$)) q (target, query);
CREATE FUNCTION query_fire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF new.d > '2024-02-01' THEN RAISE 'too late'; END IF; RETURN new; END $$;
CREATE TRIGGER late BEFORE INSERT ON query_keys FOR EACH ROW EXECUTE FUNCTION query_fire();
SELECT pg_temp.context('query_keys', $$VALUES (DATE '2024-01-09', ''), ('2024-02-03', '\x09')$$);
SELECT pg_temp.context('query_keys', $$VALUES (DATE '2024-01-09', ''), ('2024-02-03', '\x09')$$, '{"on_error": "ignore", "reject_limit": 0}');
RESET bytea_output;
DROP TABLE query_keys, query_refs, query_rejects;
DROP FUNCTION query_fire;
-- columns that are not loaded can be of any type
CREATE TABLE query_some (a int, b int DEFAULT 5 CHECK (b <> 7), s serial);
SELECT rows_loaded, rows_rejected FROM bulk_load_query('query_some', $$SELECT i, ROW(i, 'x', NULL), 6 + i, ARRAY[E'\\'], NULL, 'u'::unknown FROM generate_series(0, 2) i$$,
	'{"columns": ["a", null, "b", null, null, null], "on_error": "ignore", "reject_table": "query_rejects", "log_verbosity": "silent"}');
SELECT * FROM query_some;
SELECT line_number, raw_line FROM query_rejects;
DROP TABLE query_some, query_rejects;
-- domains and lengths are checked, as for text
CREATE FUNCTION pg_temp.bad(columns text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TEMP TABLE query_bad (%s)', columns);
	PERFORM rows_loaded FROM bulk_load_query('query_bad', query, '{"on_error": "ignore", "reject_table": "query_rejects", "log_verbosity": "silent"}');
	RETURN QUERY SELECT bad::text FROM query_bad bad;
	RETURN QUERY SELECT format('line %s: %s, %s: %s [%s]', line_number, reason, sqlstate, message, raw_line) || coalesce(', value ' || field_value, '') FROM query_rejects ORDER BY line_number;
	DROP TABLE query_bad, query_rejects;
END $$;
SELECT pg_temp.bad('e query_even, c query_code, i query_ids', $$VALUES (2, 'ok', ARRAY[1]), (3, 'ok', NULL), (4, 'bad', NULL), (6, 'long one', NULL), (8, NULL, NULL), (NULL, 'null', ARRAY[1, 2, 3]), (NULL, 'null', '{}')$$);
SELECT pg_temp.bad('c query_code', $$SELECT c FROM (VALUES ('in'::query_code)) v (c) RIGHT JOIN generate_series(1, 2) i ON i = 1$$);
SELECT pg_temp.bad('n numeric(5,2), b bit(3), v bit varying(3), t timestamp(0), i interval(1)',
	$$VALUES (1.005::numeric, B'101', B'1', TIMESTAMP '2024-01-01 23:59:59.7', INTERVAL '1.25 seconds'), (999.995, B'101', B'1', NULL, NULL), (1, B'1010', B'1', NULL, NULL), (1, B'101', B'1111', NULL, NULL)$$);
SELECT pg_temp.bad('n numeric(5,2), c char(3), v varchar(3), a varchar(3)[]', $$VALUES (1::numeric(9,4), 'a  '::char(4), 'abc   '::text, ARRAY['abc']), (2, 'abcd', 'abc', NULL), (3, 'abc', 'abcd', NULL), (4, 'abc', '', ARRAY['abcd'])$$);
-- values that PL/pgSQL has expanded in memory
CREATE FUNCTION query_expanded(n int) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
	a int[] := '{}';
BEGIN
	FOR i IN 1 .. n LOOP
		a := a || i;
	END LOOP;
	RETURN a;
END $$;
CREATE TABLE query_arrays (a int[]);
SELECT rows_loaded FROM bulk_load_query('query_arrays', 'SELECT query_expanded(i * 100) FROM generate_series(0, 10) i');
SELECT sum(cardinality(a)), sum(a[cardinality(a)]) FROM query_arrays;
DROP TABLE query_arrays;
DROP FUNCTION query_expanded;
-- wide rows are fetched one by one; rows without a column
CREATE TABLE query_wide (t text, i int);
SELECT rows_loaded FROM bulk_load_query('query_wide', 'SELECT repeat(chr(64 + i), 3000000), i FROM generate_series(1, 20) i');
SELECT count(*), sum(length(t)), bool_and(t = repeat(chr(64 + i), 3000000)) FROM query_wide;
DROP TABLE query_wide;
CREATE TABLE query_none ();
SELECT rows_read, rows_loaded FROM bulk_load_query('query_none', 'SELECT FROM generate_series(1, 3)');
SELECT count(*) FROM query_none;
DROP TABLE query_none, query_all;
DROP DOMAIN query_even, query_code, query_ids;
DROP TYPE query_mood, query_pair;
