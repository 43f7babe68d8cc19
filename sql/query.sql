--
-- Rows of a query.
--
SET client_min_messages = warning;
CREATE TABLE query_t (id int, t text, d date DEFAULT '2000-01-01');
-- The result of loading a query: the rows of the table, or the error.
CREATE FUNCTION pg_temp.try(query text, options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	context text;
	detail text;
BEGIN
	TRUNCATE query_t;
	SELECT * INTO r FROM bulk_load_query('query_t', query, '{"log_verbosity": "silent"}' || options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	RETURN QUERY SELECT x::text FROM query_t x ORDER BY ctid;
	RETURN NEXT format('%s read, %s loaded, %s rejected, %s filtered, %s', r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_filtered, r.writer);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT, detail = PG_EXCEPTION_DETAIL;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	RETURN QUERY SELECT '  ' || t FROM unnest(ARRAY[detail, substring(context, 'bulk_load of [^\n]*')]) t WHERE t <> '';
END $$;

SELECT pg_temp.try('SELECT i, ''row '' || i, DATE ''2024-01-01'' + i FROM generate_series(1, 3) i');
SELECT pg_temp.try('VALUES (1, E''a\tb\nc\rd\\\\e\\\\.'', NULL::date), (NULL, '''', NULL), (3, E''\\\\N'', NULL), (4, E''\\\\.'', NULL)');
SELECT pg_temp.try('WITH x AS (SELECT 1 AS a) SELECT a, ''x'', NULL FROM x ORDER BY a -- end');
SELECT pg_temp.try('SELECT 1, ''two''', '{"columns": ["id", "t"]}');
SELECT pg_temp.try('SELECT ''two'', 3, 1', '{"columns": ["t", null, "id"]}');
SELECT pg_temp.try('SELECT i, i, NULL FROM generate_series(1, 100) i', '{"skip": 5, "limit": 10, "where": "id % 3 = 0"}');
-- values of other types are cast
SELECT pg_temp.try('SELECT 1.6::numeric, true, TIMESTAMP ''2024-05-06 07:08:09''');
SELECT pg_temp.try('SELECT ''7''::text, ''ab  ''::char(4), ''2024-05-06''::varchar');
SELECT pg_temp.try('SELECT ''x''::text, NULL, NULL');
-- the session's settings for text output make no difference
CREATE TABLE query_types (d date, z timestamptz, i interval, f float8, b bytea, c regclass, a text[]);
CREATE TABLE query_source AS SELECT DATE '2024-02-03' AS d, TIMESTAMPTZ '2024-02-03 04:05:06.789+00' AS z, INTERVAL '-1 day +02:03:04.5' AS i, 0.1::float8 + 0.2 AS f,
	'\x5c00ff'::bytea AS b, 'query_t'::regclass AS c, ARRAY[E'a\n"b"', NULL, '\'] AS a;
SET datestyle = 'SQL, DMY';
SET intervalstyle = 'sql_standard';
SET extra_float_digits = 0;
SET bytea_output = 'escape';
SELECT rows_loaded FROM bulk_load_query('query_types', 'TABLE query_source');
SHOW datestyle;
RESET ALL;
SET client_min_messages = warning;
SELECT count(*) FROM query_types t JOIN query_source s ON t = s;
DROP TABLE query_types, query_source;
-- bad rows
ALTER TABLE query_t ADD CHECK (id <> 3), ALTER t TYPE varchar(5);
SELECT pg_temp.try('SELECT i, repeat(''x'', i), NULL FROM generate_series(1, 7) i');
SELECT pg_temp.try('SELECT i, repeat(''x'', i), NULL FROM generate_series(1, 7) i', '{"on_error": "ignore", "reject_table": "query_rejects", "reject_file": "/proc/self/cwd/pgbulk_query_bad"}');
SELECT file, line_number, byte_offset, reason, column_name, message, raw_line FROM query_rejects ORDER BY line_number;
SELECT pg_read_file('/proc/self/cwd/pgbulk_query_bad');
-- an error of the query is not an error of a row
SELECT pg_temp.try('SELECT 1 / (3 - i), ''x'', NULL FROM generate_series(1, 7) i', '{"on_error": "ignore"}');
ALTER TABLE query_t DROP CONSTRAINT query_t_id_check;
-- the query does not see what is loaded, and does see old rows
INSERT INTO query_t VALUES (1, 'a'), (2, 'b');
SELECT rows_loaded, writer FROM bulk_load_query('query_t', 'SELECT id + 10, t, d FROM query_t', '{"writer": "direct"}');
SELECT rows_loaded, writer FROM bulk_load_query('query_t', 'SELECT id + 100, t, d FROM query_t', '{"writer": "buffered"}');
SELECT id FROM query_t ORDER BY id;
SELECT rows_loaded FROM bulk_load_query('query_t', 'TABLE query_t', '{"truncate": true}');
-- keys, duplicates and indexes
ALTER TABLE query_t ADD PRIMARY KEY (id);
SELECT pg_temp.try('SELECT i / 2, i, NULL FROM generate_series(1, 5) i');
SELECT pg_temp.try('SELECT i / 2, i, NULL FROM generate_series(1, 5) i', '{"on_duplicate": "keep_new"}');
SELECT pg_temp.try('SELECT i / 2, i, NULL FROM generate_series(1, 5) i', '{"on_duplicate": "keep_old"}');
CREATE TABLE query_child (id int REFERENCES query_t);
SELECT rows_loaded, rows_rejected FROM bulk_load_query('query_child', 'SELECT generate_series(1, 5)', '{"on_error": "ignore", "reject_table": "query_child_rejects", "log_verbosity": "silent"}');
SELECT line_number, reason, raw_line FROM query_child_rejects ORDER BY line_number;
DROP TABLE query_child, query_child_rejects;
-- many rows, and wide ones; a function, PL/pgSQL, a cursor of its own
TRUNCATE query_t;
SET pgbulk.chunk_size = 1024;
SELECT rows_loaded, workers, details ->> 'no_workers' AS why FROM bulk_load_query('query_t', 'SELECT i, i % 1000, NULL FROM generate_series(1, 50000) i', '{"workers": 2}');
SELECT count(*), sum(id), sum(t::int) FROM query_t;
RESET pgbulk.chunk_size;
ALTER TABLE query_t ALTER t TYPE text;
TRUNCATE query_t;
SELECT rows_loaded FROM bulk_load_query('query_t', 'SELECT i, repeat(i::text, i * 10000), NULL FROM generate_series(1, 50) i');
SELECT count(*), bool_and(t = repeat(id::text, id * 10000)) FROM query_t;
CREATE FUNCTION query_rows(n int) RETURNS SETOF query_t LANGUAGE plpgsql AS $$
DECLARE
	row query_t;
BEGIN
	FOR i IN 1 .. n LOOP
		row.id := i;
		row.t := i;
		RETURN NEXT row;
	END LOOP;
END $$;
SELECT pg_temp.try('SELECT * FROM query_rows(3)');
BEGIN;
DECLARE mine CURSOR FOR SELECT 1;
SELECT rows_loaded FROM bulk_load_query('query_t', 'SELECT * FROM query_rows(1)', '{"truncate": true}');
FETCH mine;
SAVEPOINT s;
SELECT rows_loaded FROM bulk_load_query('query_t', 'SELECT 1 / 0, NULL, NULL');
ROLLBACK TO s;
SELECT rows_loaded FROM bulk_load_query('query_t', 'SELECT 2, NULL, NULL');
COMMIT;
SELECT id FROM query_t ORDER BY id;
-- misuse
SELECT rows_loaded FROM bulk_load_query(NULL, 'SELECT 1');
SELECT rows_loaded FROM bulk_load_query('query_t', NULL);
SELECT pg_temp.try('SELECT 1');
SELECT pg_temp.try('SELECT 1, 2, 3, 4');
SELECT pg_temp.try('');
SELECT pg_temp.try('SELECT 1; SELECT 2');
SELECT pg_temp.try('SELECT 1, 2, 3) x; DROP TABLE query_t; --');
SELECT pg_temp.try('DELETE FROM query_t');
SELECT pg_temp.try('DELETE FROM query_t RETURNING *');
SELECT pg_temp.try('WITH x AS (DELETE FROM query_t RETURNING *) TABLE x');
SELECT pg_temp.try('SHOW datestyle', '{"columns": ["t"]}');
CREATE TABLE query_nothing (a int);
CREATE RULE query_nothing AS ON INSERT TO query_nothing DO INSTEAD NOTHING;
SELECT pg_temp.try('INSERT INTO query_nothing VALUES (1)');
DROP TABLE query_nothing;
SELECT pg_temp.try('SELECT 1, 2, ');
SELECT pg_temp.try('SELECT $1, 2, 3');
SELECT pg_temp.try('SELECT ARRAY[1], ''x'', NULL');
SELECT pg_temp.try('SELECT 1, 2, 3', jsonb_build_object(o, 'x')) FROM unnest(ARRAY['format', 'delimiter', 'encoding', 'header', 'null', 'compression', 'trim', 'transform', 'nowhere']) o;
-- privileges to read are checked
CREATE ROLE regress_pgbulk_query;
GRANT INSERT ON query_t TO regress_pgbulk_query;
SET ROLE regress_pgbulk_query;
SELECT rows_loaded FROM bulk_load_query('query_t', 'SELECT 5, NULL, NULL');
SELECT rows_loaded FROM bulk_load_query('query_t', 'SELECT line_number, file, NULL FROM query_rejects');
SELECT rows_loaded FROM bulk_load_query('query_t', 'TABLE query_t');
RESET ROLE;
DROP OWNED BY regress_pgbulk_query;
DROP ROLE regress_pgbulk_query;
DROP TABLE query_t, query_rejects CASCADE;

-- types whose bare names would truncate values; the first character; no row at all
CREATE TABLE query_cut (c char(5), b bit(4), a char(3)[], v varchar(4));
SELECT rows_loaded FROM bulk_load_query('query_cut', $$SELECT 'hello'::text, B'1010'::varbit, ARRAY['ab', 'abc'], 'four'::text$$);
TABLE query_cut;
SELECT rows_loaded FROM bulk_load_query('query_cut', $$SELECT 'longer'::text, NULL, NULL, NULL$$);
DO $$
BEGIN
	PERFORM rows_loaded FROM bulk_load_query('query_cut', 'SELECT 1, NULL, NULL, 4', '{"limit": 0}');
	PERFORM count(*) FROM query_cut;
END $$;
TRUNCATE query_cut;
SELECT rows_loaded FROM bulk_load_query('query_cut', $$SELECT U&'\FEFFa', NULL, NULL, NULL$$);
SELECT length(c) FROM query_cut;
-- what may write to the table must not find it locked
CREATE FUNCTION query_f(i int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO query_cut (v) VALUES (i); RETURN i; END $$;
SELECT rows_loaded FROM bulk_load_query('query_cut', 'SELECT query_f(i), NULL, NULL, NULL FROM generate_series(1, 3) i', '{"writer": "direct"}');
SELECT rows_loaded, writer, details ->> 'not_direct' FROM bulk_load_query('query_cut', 'SELECT query_f(i), NULL, NULL, NULL FROM generate_series(1, 3) i');
CREATE SEQUENCE query_s;
SELECT rows_loaded, writer FROM bulk_load_query('query_cut', $$SELECT nextval('query_s'), NULL, NULL, NULL$$, '{"truncate": true}');
DROP TABLE query_cut;
DROP FUNCTION query_f;
DROP SEQUENCE query_s;
-- rows that are read before the first attempt are not lines of a file either: the first one is not a header
CREATE TABLE query_named (id text PRIMARY KEY, name text);
CREATE TABLE query_child (id text REFERENCES query_named);
SET client_min_messages = notice;
SELECT rows_loaded FROM bulk_load_query('query_named', $$SELECT * FROM (VALUES ('id', 'name'), ('a', 'b'), ('a', 'c')) v (x, y) WHERE random() >= 0$$, '{"on_duplicate": "keep_old"}');
DROP TABLE query_named, query_child;
-- what ends the statement is no part of it, where it gets casts, too
CREATE TABLE query_ended (a int);
SELECT rows_loaded FROM bulk_load_query('query_ended', 'SELECT 1;');
SELECT rows_loaded FROM bulk_load_query('query_ended', ' -- a comment
 SELECT 1.5 ; -- another');
SELECT bulk_load_query('query_ended', 'SELECT 1.5; SELECT 2.5');
TABLE query_ended;
DROP TABLE query_ended;
-- what the query's own function finds in the table by an index is what it finds without
CREATE TABLE query_seen (id int PRIMARY KEY, seen text);
CREATE FUNCTION query_looks(i int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	a bigint; b bigint;
BEGIN
	IF i % 500 > 0 THEN
		RETURN 'not looked';
	END IF;
	SET LOCAL enable_seqscan = off;
	SELECT count(*) INTO a FROM query_seen WHERE id > 0;
	SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_bitmapscan = off;
	SELECT count(*) INTO b FROM query_seen WHERE id > 0;
	SET LOCAL enable_indexscan = on; SET LOCAL enable_indexonlyscan = on; SET LOCAL enable_bitmapscan = on;
	RETURN CASE WHEN a = b THEN 'the same' ELSE format('%s, not %s', a, b) END;
END $$;
SELECT rows_loaded, writer FROM bulk_load_query('query_seen', 'SELECT i, query_looks(i) FROM generate_series(1, 20000) i', '{"log_verbosity": "silent"}');
SELECT seen, count(*) FROM query_seen GROUP BY seen ORDER BY seen;
DROP TABLE query_seen;
DROP FUNCTION query_looks;
