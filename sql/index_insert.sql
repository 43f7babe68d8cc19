--
-- Entries that a direct load puts into indexes that have some, leaf by leaf: as when the indexes are built anew.
--
CREATE EXTENSION amcheck;
-- so that keys go in in many parts
SET maintenance_work_mem = '1MB';
COPY (SELECT i * 2, 'name ' || i * 2, i * 2 FROM generate_series(1, 30000) i) TO '/proc/self/cwd/pgbulk_index_insert_old' (FORMAT csv);
-- every second key is there; others come twice; one has many rows, numbers of one value are written in several ways, and some are NULL
COPY (SELECT i, 'name ' || i, i::text FROM generate_series(20000, 45000) i UNION ALL
	SELECT i, 'name ' || i, i || '.0' FROM generate_series(44001, 48000) i UNION ALL
	SELECT 70000, 'name of many', '70000.' || repeat('0', i % 5) FROM generate_series(1, 20000) i UNION ALL
	SELECT 80000 + i, NULL, NULL FROM generate_series(1, 3000) i) TO '/proc/self/cwd/pgbulk_index_insert_new' (FORMAT csv);
CREATE FUNCTION pg_temp.load(method text, keys text, options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	name text := 'index_insert_' || method;
	definition text;
BEGIN
	EXECUTE format('DROP TABLE IF EXISTS %I', name);
	EXECUTE format('CREATE TABLE %I (a int, b text COLLATE "C", c numeric, place bigint GENERATED ALWAYS AS IDENTITY)', name);
	EXECUTE format('CREATE INDEX ON %I (b, a)', name);
	EXECUTE format('CREATE INDEX ON %I ((a %% 7))', name);
	FOREACH definition IN ARRAY string_to_array(keys, ';') LOOP
		EXECUTE format(definition, name);
	END LOOP;
	PERFORM bulk_load(name, '/proc/self/cwd/pgbulk_index_insert_old', '{"columns": ["a", "b", "c"]}');
	EXECUTE format('DELETE FROM %I WHERE a BETWEEN 30000 AND 30100', name);
	RETURN QUERY SELECT format('%s loaded, %s replaced, %s duplicates, by %s', rows_loaded, rows_replaced, rows_duplicate, jsonb_path_query_array(details, '$.indexes[*].method'))
		FROM bulk_load(name, '/proc/self/cwd/pgbulk_index_insert_new', '{"columns": ["a", "b", "c"], "writer": "direct", "log_verbosity": "silent"}' || options || jsonb_build_object('indexes', method));
	PERFORM bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = name::regclass;
END $$;
CREATE FUNCTION pg_temp.compare(keys text, options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT pg_temp.load('insert', keys, options);
	RETURN QUERY SELECT pg_temp.load('rebuild', keys, options);
	RETURN QUERY SELECT count(*) || ' other rows' FROM (
		(SELECT a, b, c::text, place FROM index_insert_insert EXCEPT ALL SELECT a, b, c::text, place FROM index_insert_rebuild) UNION ALL
		(SELECT a, b, c::text, place FROM index_insert_rebuild EXCEPT ALL SELECT a, b, c::text, place FROM index_insert_insert)) x;
END $$;
SELECT pg_temp.compare('CREATE INDEX ON %I (c)', '{}');
SELECT pg_temp.compare('CREATE UNIQUE INDEX ON %I (a)', '{"on_duplicate": "keep_old"}');
SELECT pg_temp.compare('CREATE UNIQUE INDEX ON %I (a)', '{"on_duplicate": "keep_new"}');
SELECT pg_temp.compare('CREATE UNIQUE INDEX ON %I (c)', '{"on_duplicate": "keep_old"}');
SELECT pg_temp.compare('CREATE UNIQUE INDEX ON %I (c) INCLUDE (a)', '{"on_duplicate": "keep_new"}');
SELECT pg_temp.compare('CREATE UNIQUE INDEX ON %I (b);CREATE UNIQUE INDEX ON %I (c) WHERE a > 22000', '{"on_duplicate": "keep_new"}');
SELECT pg_temp.compare('CREATE UNIQUE INDEX ON %I (b) WITH (deduplicate_items = off)', '{"on_duplicate": "keep_new"}');
SELECT pg_temp.compare('CREATE UNIQUE INDEX ON %I (b) NULLS NOT DISTINCT', '{"on_duplicate": "keep_new", "workers": 2}');
SELECT pg_temp.compare('CREATE UNIQUE INDEX ON %I (c) NULLS NOT DISTINCT', '{"on_duplicate": "keep_old", "workers": 2}');
-- whom the error is about: the first in the file
\set SHOW_CONTEXT never
SELECT pg_temp.load('insert', 'CREATE UNIQUE INDEX ON %I (c)', '{}');
SELECT pg_temp.load('insert', 'ALTER TABLE %I ADD CONSTRAINT index_insert_c UNIQUE (c) DEFERRABLE', '{}');
-- a key that no page may hold
\set VERBOSITY terse
COPY (SELECT i, CASE i WHEN 700 THEN (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 150) i) ELSE 'name ' || i END, -i FROM generate_series(1, 1000) i) TO '/proc/self/cwd/pgbulk_index_insert_new' (FORMAT csv);
SELECT rows_loaded FROM bulk_load('index_insert_rebuild', '/proc/self/cwd/pgbulk_index_insert_new', '{"columns": ["a", "b", "c"], "writer": "direct", "indexes": "insert", "on_duplicate": "keep_old", "log_verbosity": "silent"}');
\set VERBOSITY default
\set SHOW_CONTEXT errors
SELECT bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = 'index_insert_rebuild'::regclass;
DROP TABLE index_insert_insert, index_insert_rebuild;
DROP EXTENSION amcheck;
COPY (SELECT 1) TO PROGRAM 'rm -f pgbulk_index_insert_*';
