--
-- How indexes of a table with rows get the entries of more: inserted, merged or rebuilt.
--
CREATE EXTENSION IF NOT EXISTS amcheck;
SET client_min_messages = warning;

COPY (SELECT i, nullif(i % 97, 5), CASE WHEN i % 11 > 0 THEN chr(65 + i % 40) || repeat(chr(97 + i % 26), i % 30) END,
	(i % 50)::numeric / CASE WHEN i % 2 = 0 THEN 1 ELSE 1.00 END, '2024-01-01'::date - i % 1000, md5((i % 5000)::text)::uuid, i % 3 = 0
	FROM generate_series(1, 6000) i ORDER BY i % 4, i) TO '/proc/self/cwd/pgbulk_methods_in' WITH (FORMAT csv);
CREATE TABLE methods_t (a int, b int, c text, d numeric, e date, f uuid, g bool) WITH (autovacuum_enabled = off);

-- one index after the other: rows, some deleted or updated; more rows by a load; is the index intact, and as large as after REINDEX
CREATE FUNCTION pg_temp.try(definition text, method text, small bool) RETURNS TABLE (loaded bigint, how text, as_reindex text) LANGUAGE plpgsql AS $$
DECLARE
	index regclass;
	size bigint;
	options jsonb := jsonb_build_object('limit', 4500, 'writer', 'direct');
	rest jsonb := jsonb_build_object('skip', 4500, 'writer', 'direct', 'indexes', method);
	columns text;
	missing bigint;
BEGIN
	IF NOT small THEN
		rest := jsonb_build_object('skip', 500, 'writer', 'direct', 'indexes', method);
		options := jsonb_build_object('limit', 500, 'writer', 'direct');
	END IF;
	TRUNCATE methods_t;
	EXECUTE format('CREATE %s', format(definition, 'methods_i ON methods_t'));
	index := 'methods_i'::regclass;
	PERFORM bulk_load('methods_t', '/proc/self/cwd/pgbulk_methods_in', options);
	DELETE FROM methods_t WHERE a % 7 = 3;
	UPDATE methods_t SET b = b + 1, c = c || 'x' WHERE a % 13 = 5;
	UPDATE methods_t SET g = NOT g WHERE a % 17 = 5;
	SELECT rows_loaded, concat_ws(', ', writer, details #>> '{indexes,0,method}', details #>> '{indexes,0,reason}')
		INTO loaded, how FROM bulk_load('methods_t', '/proc/self/cwd/pgbulk_methods_in', rest);
	IF (SELECT amname FROM pg_class c JOIN pg_am ON pg_am.oid = relam WHERE c.oid = index) = 'btree' THEN
		PERFORM bt_index_parent_check(index, true, true);
	END IF;
	size := pg_relation_size(index);
	EXECUTE 'REINDEX INDEX methods_i';
	as_reindex := CASE WHEN method = 'insert' OR abs(size - pg_relation_size(index)) <= size * 0.02 THEN 'fine' ELSE format('%s bytes, not %s', size, pg_relation_size(index)) END;
	EXECUTE 'DROP INDEX methods_i';
	RETURN NEXT;
END
$$;
CREATE TABLE methods_d (n serial, definition text);
INSERT INTO methods_d (definition) SELECT unnest(ARRAY[
	'INDEX %s (a)', 'INDEX %s (a DESC)', 'INDEX %s (b)', 'INDEX %s (b NULLS FIRST)', 'INDEX %s (b DESC)', 'INDEX %s (b DESC NULLS LAST)',
	'INDEX %s (c)', 'INDEX %s (c DESC)', 'INDEX %s (c COLLATE "C")', 'INDEX %s (c COLLATE "POSIX" DESC NULLS LAST)', 'INDEX %s (c text_pattern_ops)',
	'INDEX %s (e)', 'INDEX %s (f)', 'INDEX %s (f DESC)', 'INDEX %s (g)', 'INDEX %s (d)',
	'INDEX %s (c, b)', 'INDEX %s (b DESC, c NULLS FIRST, a)', 'INDEX %s (g, f, e DESC)', 'INDEX %s (d, a)',
	'INDEX %s (lower(c))', 'INDEX %s ((a + b), c)', 'INDEX %s (a) WHERE g', 'INDEX %s (c) WHERE a > 100000',
	'INDEX %s (b) INCLUDE (c)', 'UNIQUE INDEX %s (a) INCLUDE (e, c)', 'UNIQUE INDEX %s (a, c)', 'UNIQUE INDEX %s (a) NULLS NOT DISTINCT',
	'INDEX %s (b) WITH (fillfactor = 50)', 'INDEX %s (b) WITH (deduplicate_items = off)', 'INDEX %s (c) WITH (fillfactor = 100)',
	'INDEX %s ((c::varchar))', 'INDEX %s ((c::bpchar))', 'INDEX %s ((c::name))', 'INDEX %s ((decode(md5(c), ''hex'')))', 'INDEX %s ((a::float8))', 'INDEX %s ((array[b, a]))',
	'INDEX %s (((''"'' || md5(c) || ''"'')::jsonb))', 'INDEX %s ((make_interval(hours => b)))', 'INDEX %s (repeat(c, 100))']);
SELECT loaded, how, as_reindex, count(*), CASE WHEN as_reindex <> 'fine' THEN min(definition) END AS first
	FROM methods_d, unnest(ARRAY['insert', 'merge']) method, unnest(ARRAY[true, false]) small, LATERAL pg_temp.try(definition, method, small) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- what is not a btree
CREATE TABLE methods_o (a int, b int, c text, d numeric, e date, f uuid, g bool);
CREATE INDEX methods_o_hash ON methods_o USING hash (c);
CREATE INDEX methods_o_brin ON methods_o USING brin (a);
CREATE INDEX methods_o_gin ON methods_o USING gin ((array[b]));
CREATE INDEX methods_o_gist ON methods_o USING gist (point(a, b));
CREATE INDEX methods_o_spgist ON methods_o USING spgist (c);
SELECT rows_loaded, writer FROM bulk_load('methods_o', '/proc/self/cwd/pgbulk_methods_in', '{"limit": 4000}');
SELECT rows_loaded, writer, jsonb_path_query_array(details, '$.indexes[*].method') AS methods
	FROM bulk_load('methods_o', '/proc/self/cwd/pgbulk_methods_in', '{"skip": 4000, "writer": "direct", "indexes": "insert", "workers": 3}');
CREATE FUNCTION pg_temp.same(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	scanned text;
	found text;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_bitmapscan = on;
	EXECUTE query INTO found;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE query INTO scanned;
	RETURN found = scanned AND found <> '0';
END
$$;
SELECT query, pg_temp.same('SELECT count(*) FROM methods_o WHERE ' || query) FROM unnest(ARRAY[
	'c = ''Mmmmmmmmmmmmm''', 'a BETWEEN 100 AND 7000', 'array[b] @> array[7]', 'point(a, b) <@ box(point(0, 0), point(9000, 20))', 'c ^@ ''Gg''']) query;

SELECT bulk_load('methods_o', '/proc/self/cwd/pgbulk_methods_in', '{"indexes": "merge"}');

-- duplicates: of old rows, of deleted rows, among the new ones
CREATE TABLE methods_u (a int, b text);
CREATE UNIQUE INDEX methods_u_i ON methods_u (a, b);
INSERT INTO methods_u SELECT i, 'x' FROM generate_series(1, 500) i;
INSERT INTO methods_u VALUES (3, NULL);
COPY (VALUES ('7,y'), ('400,x'), ('3,'), ('9,z')) TO '/proc/self/cwd/pgbulk_methods_u';
COPY (VALUES ('7,y'), ('3,'), ('7,y')) TO '/proc/self/cwd/pgbulk_methods_twice';
CREATE FUNCTION pg_temp.load(method text, file text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	result text;
BEGIN
	SELECT format('%s rows, %s, %s', rows_loaded, writer, details #>> '{indexes,0,method}') INTO result
		FROM bulk_load('methods_u', '/proc/self/cwd/' || file, jsonb_build_object('writer', 'direct', 'indexes', method));
	RETURN result;
EXCEPTION WHEN unique_violation THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLERRM || '; ' || detail;
END
$$;
SELECT method, pg_temp.load(method, 'pgbulk_methods_u'), pg_temp.load(method, 'pgbulk_methods_twice') FROM unnest(ARRAY['insert', 'merge', 'rebuild']) method;
SELECT bt_index_parent_check('methods_u_i', true, true);
BEGIN;
DELETE FROM methods_u WHERE a = 400;
SAVEPOINT s;
SELECT pg_temp.load('insert', 'pgbulk_methods_u');
SELECT bt_index_parent_check('methods_u_i', true, true);
ROLLBACK TO s;
SELECT pg_temp.load('merge', 'pgbulk_methods_u');
SELECT bt_index_parent_check('methods_u_i', true, true);
ROLLBACK;
BEGIN;
UPDATE methods_u SET b = 'was x' WHERE a = 400;
SAVEPOINT s;
SELECT pg_temp.load('insert', 'pgbulk_methods_u');
ROLLBACK TO s;
SELECT pg_temp.load('merge', 'pgbulk_methods_u');
ROLLBACK;
DROP INDEX methods_u_i;
CREATE UNIQUE INDEX methods_u_i ON methods_u (a, b) NULLS NOT DISTINCT;
SELECT method, pg_temp.load(method, 'pgbulk_methods_twice') FROM unnest(ARRAY['insert', 'merge', 'rebuild']) method;

-- exclusion constraints: only new rows are compared with all
CREATE TABLE methods_x (a int, b int, EXCLUDE USING btree (a WITH =) WHERE (b > 0));
INSERT INTO methods_x VALUES (1, 1), (1, 0), (2, 1);
COPY (VALUES ('1,0'), ('3,3'), ('2,0'), ('2,2')) TO '/proc/self/cwd/pgbulk_methods_x';
SELECT rows_loaded, writer, details #>> '{indexes,0,method}' AS method FROM bulk_load('methods_x', '/proc/self/cwd/pgbulk_methods_x', '{"writer": "direct", "indexes": "insert", "limit": 3}');
SELECT bulk_load('methods_x', '/proc/self/cwd/pgbulk_methods_x', '{"writer": "direct", "indexes": "insert", "skip": 3}');
SELECT bt_index_parent_check('methods_x_a_excl', true, true);

-- what duplicates are, by each method
CREATE TABLE methods_k (a int, b text, c int);
CREATE UNIQUE INDEX methods_k_i ON methods_k (a, b) NULLS NOT DISTINCT;
COPY (VALUES ('7,y,1'), ('400,x,2'), ('3,,3'), ('9,z,4'), ('7,y,5'), ('3,,6'), ('8,x,7')) TO '/proc/self/cwd/pgbulk_methods_k';
CREATE FUNCTION pg_temp.keep(method text, policy text) RETURNS TABLE (loaded bigint, duplicate bigint, replaced bigint, kept text) LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE methods_k;
	INSERT INTO methods_k SELECT i, 'x', 0 FROM generate_series(1, 500) i WHERE i <> 8;
	INSERT INTO methods_k VALUES (8, 'x', -1), (3, NULL, 0);
	DELETE FROM methods_k WHERE c = -1;
	SELECT rows_loaded, rows_duplicate, rows_replaced INTO loaded, duplicate, replaced
		FROM bulk_load('methods_k', '/proc/self/cwd/pgbulk_methods_k', jsonb_build_object('indexes', method, 'on_duplicate', policy, 'writer', 'direct'));
	SELECT string_agg(format('%s%s%s', a, b, c), ' ' ORDER BY a, b) INTO kept FROM methods_k WHERE a IN (3, 7, 8, 9, 400);
	PERFORM bt_index_parent_check('methods_k_i', true, true);
	RETURN NEXT;
END
$$;
SELECT policy, method, t.* FROM unnest(ARRAY['keep_old', 'keep_new']) policy, unnest(ARRAY['insert', 'merge', 'rebuild']) method, LATERAL pg_temp.keep(method, policy) t;

-- the choice of the method
CREATE TABLE methods_a (a int, b int);
CREATE INDEX methods_a_btree ON methods_a (a);
CREATE INDEX methods_a_hash ON methods_a USING hash (b);
CREATE INDEX methods_a_brin ON methods_a USING brin (a) WITH (pages_per_range = 16);
COPY (SELECT i, i % 100 FROM generate_series(1, 40000) i) TO '/proc/self/cwd/pgbulk_methods_a' WITH (FORMAT csv);
COPY (SELECT i, i % 100 FROM generate_series(1, 4000) i) TO '/proc/self/cwd/pgbulk_methods_few' WITH (FORMAT csv);
SELECT t.way, e ->> 'index' AS index, e ->> 'method' AS method, e ->> 'reason' AS reason FROM (
	SELECT 'empty' AS way, details FROM bulk_load('methods_a', '/proc/self/cwd/pgbulk_methods_a') UNION ALL
	SELECT 'few', details FROM bulk_load('methods_a', '/proc/self/cwd/pgbulk_methods_few', '{"writer": "direct"}') UNION ALL
	SELECT 'as many', details FROM bulk_load('methods_a', '/proc/self/cwd/pgbulk_methods_a', '{"writer": "direct"}') UNION ALL
	SELECT 'none', details FROM bulk_load('methods_a', '/proc/self/cwd/pgbulk_methods_a', '{"writer": "direct", "limit": 0}')) t, jsonb_array_elements(details -> 'indexes') e;
SELECT bt_index_parent_check('methods_a_btree', true, true);
-- BRIN knows of the new blocks
SET enable_seqscan = off;
SELECT count(*) FROM methods_a WHERE a > 39990;
SELECT brin_summarize_new_values('methods_a_brin') <= 1 AS summarized;
RESET enable_seqscan;

-- entries marked dead in the old file are not copied to the new one; for a temporary table no other snapshot counts
CREATE TEMP TABLE methods_dead (a int, b int);
CREATE INDEX methods_dead_i ON methods_dead (a);
INSERT INTO methods_dead SELECT i, 0 FROM generate_series(1, 20000) i;
DELETE FROM methods_dead WHERE a % 20 > 0;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(b) FROM methods_dead WHERE a > 0;
RESET enable_bitmapscan;
RESET enable_seqscan;
SELECT pg_relation_size('methods_dead_i') AS before \gset
SELECT rows_loaded, details #>> '{indexes,0,method}' AS method FROM bulk_load('methods_dead', '/proc/self/cwd/pgbulk_methods_few', '{"limit": 1, "writer": "direct", "indexes": "merge"}');
SELECT pg_relation_size('methods_dead_i') AS merged \gset
REINDEX INDEX methods_dead_i;
SELECT :before > 5 * :merged AS smaller, :merged = pg_relation_size('methods_dead_i') AS as_reindex;

-- the option
SELECT writer, details #>> '{indexes,0,method}' AS method, details #>> '{indexes,0,reason}' AS reason
	FROM bulk_load('methods_u', '/proc/self/cwd/pgbulk_methods_u', '{"limit": 1, "indexes": "insert"}');
SELECT writer, details #>> '{indexes,0,method}' AS method, details #>> '{indexes,0,reason}' AS reason
	FROM bulk_load('methods_u', '/proc/self/cwd/pgbulk_methods_u', '{"skip": 3, "indexes": "merge"}');
SELECT bulk_load('methods_u', '/proc/self/cwd/pgbulk_methods_u', '{"indexes": "merge", "writer": "buffered"}');
SELECT writer, details #>> '{indexes,0,method}' AS method, details #>> '{indexes,0,reason}' AS reason
	FROM bulk_load('methods_u', '/proc/self/cwd/pgbulk_methods_u', '{"skip": 3, "limit": 0, "indexes": "insert", "writer": "buffered"}');

DROP TABLE methods_k, methods_a, methods_dead, methods_t, methods_d, methods_o, methods_u, methods_x;
DROP EXTENSION amcheck;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_methods_gone; rm -f pgbulk_methods_*';

-- rows inserted concurrently
CREATE TABLE methods_written (a int PRIMARY KEY, b int);
INSERT INTO methods_written SELECT i, i FROM generate_series(1, 1000) i;
CREATE FUNCTION methods_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO methods_written VALUES (5000, 5000); RETURN NEW; END $$;
COPY (SELECT i, CASE WHEN i = 1500 THEN 'x' ELSE i::text END FROM generate_series(1001, 2000) i) TO '/proc/self/cwd/pgbulk_methods_written' WITH (FORMAT csv);
SELECT rows_loaded, writer FROM bulk_load('methods_written', '/proc/self/cwd/pgbulk_methods_written', '{"on_error": "ignore", "reject_table": "methods_rejects", "limit": 500, "log_verbosity": "silent"}');
CREATE TRIGGER methods_write AFTER INSERT ON methods_rejects FOR EACH ROW EXECUTE FUNCTION methods_write();
SELECT rows_loaded, writer FROM bulk_load('methods_written', '/proc/self/cwd/pgbulk_methods_written', '{"skip": 500, "on_error": "ignore", "reject_table": "methods_rejects", "log_verbosity": "silent", "writer": "direct"}');
SELECT rows_loaded, writer FROM bulk_load('methods_written', '/proc/self/cwd/pgbulk_methods_written', '{"skip": 500, "on_error": "ignore", "reject_table": "methods_rejects", "log_verbosity": "silent"}');
DROP TRIGGER methods_write ON methods_rejects;
CREATE FUNCTION methods_check(i int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN IF i = 4000 THEN INSERT INTO methods_written SELECT n, NULL FROM generate_series(4001, 6000) n; END IF; RETURN true; END $$;
ALTER TABLE methods_written ADD CHECK (methods_check(a));
COPY (VALUES (4000, 1)) TO '/proc/self/cwd/pgbulk_methods_written' WITH (FORMAT csv);
\set VERBOSITY terse
SELECT rows_loaded FROM bulk_load('methods_written', '/proc/self/cwd/pgbulk_methods_written', jsonb_build_object('writer', 'direct', 'indexes', 'insert'));
SELECT rows_loaded FROM bulk_load('methods_written', '/proc/self/cwd/pgbulk_methods_written', jsonb_build_object('writer', 'direct', 'indexes', 'merge'));
\set VERBOSITY default
SELECT rows_loaded FROM bulk_load('methods_written', '/proc/self/cwd/pgbulk_methods_written');
SELECT count(*) FROM methods_written;
DROP TABLE methods_written, methods_rejects;
DROP FUNCTION methods_check, methods_write;
