--
-- Partitioned tables: routing, other orders of columns, no partition found.
--

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_partitions_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result of loading a file: the rows of the table, or the error.
CREATE FUNCTION pg_temp.try(target regclass, content text, options jsonb DEFAULT NULL)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	context text;
	hint text;
BEGIN
	EXECUTE 'TRUNCATE ' || target;
	SELECT * INTO r FROM bulk_load(target, pg_temp.put('in', content), options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	RETURN QUERY EXECUTE 'SELECT loaded_row::text FROM ' || target || ' loaded_row';
	RETURN NEXT format('%s read, %s loaded, %s rejected, %s filtered', r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_filtered);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT, hint = PG_EXCEPTION_HINT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	context := regexp_replace(context, '(^|\n)(SQL statement|PL/pgSQL function).*', '');
	RETURN QUERY SELECT t FROM unnest(ARRAY[hint, context]) t WHERE t <> '';
END $$;

-- range, with a default partition and sub-partitions by list and hash
CREATE TABLE partitions_t (day date, kind text, n int, note text DEFAULT 'none') PARTITION BY RANGE (day);
CREATE TABLE partitions_2023 PARTITION OF partitions_t FOR VALUES FROM ('2023-01-01') TO ('2024-01-01');
-- another order of columns, with a dropped one
CREATE TABLE partitions_2024 (gone int, note text, n int, kind text, day date) PARTITION BY LIST (kind);
ALTER TABLE partitions_2024 DROP gone;
ALTER TABLE partitions_t ATTACH PARTITION partitions_2024 FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE partitions_2024_a PARTITION OF partitions_2024 FOR VALUES IN ('a');
CREATE TABLE partitions_2024_b (n int, day date, extra_gone text, kind text, note text);
ALTER TABLE partitions_2024_b DROP extra_gone;
ALTER TABLE partitions_2024 ATTACH PARTITION partitions_2024_b FOR VALUES IN ('b', NULL);
SELECT pg_temp.try('partitions_t', E'2023-05-05,a,1,x\n2024-05-05,a,2,y\n2024-06-06,b,3,z\n2024-07-07,,4,\n2023-12-31,c,5,\n');
SELECT tableoid::regclass, * FROM partitions_t ORDER BY n;
SELECT pg_temp.try('partitions_t', E'3,2024-06-06,b\n', '{"columns": ["n", "day", "kind"]}');
-- no partition
SELECT pg_temp.try('partitions_t', E'2023-05-05,a,1,x\n2025-01-01,a,2,y\n');
SELECT pg_temp.try('partitions_t', E'2023-05-05,a,1,x\n2024-05-05,c,2,y\n');
SELECT pg_temp.try('partitions_t', E',a,1,x\n');
SELECT pg_temp.try('partitions_t', E'2023-05-05,a,1,x\n2025-01-01,a,2,y\n2024-05-05,c,3,y\n,a,4,\n2024-05-05,b,5,y\nx,b,6,y\n',
	'{"on_error": "ignore", "reject_table": "partitions_rejects"}');
SELECT line_number, reason, column_name, sqlstate, message, raw_line FROM partitions_rejects ORDER BY line_number;
SELECT pg_temp.try('partitions_t', E'2025-01-01,a,2,y\n', '{"on_error": "set_null"}');
CREATE TABLE partitions_rest PARTITION OF partitions_t DEFAULT;
SELECT pg_temp.try('partitions_t', E'2025-01-01,a,2,y\n,a,4,\n');
SELECT tableoid::regclass, * FROM partitions_t ORDER BY n;
-- one partition as the target: its bounds are a constraint
SELECT pg_temp.try('partitions_2023', E'2023-05-05,a,1,x\n');
SELECT pg_temp.try('partitions_2023', E'2023-05-05,a,1,x\n2024-05-05,a,2,y\n');
SELECT pg_temp.try('partitions_2023', E'2023-05-05,a,1,x\n2024-05-05,a,2,y\n2023-06-06,b,3,\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('partitions_2024', E'note,3,b,2024-06-06\n');
SELECT pg_temp.try('partitions_2024', E'note,3,b,2024-06-06\nnote,3,b,2023-06-06\nnote,3,c,2024-06-06\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('partitions_2024_b', E'3,2024-06-06,b,x\n3,2023-06-06,b,y\n3,2024-06-06,a,z\n', '{"on_error": "ignore"}');
-- one partition's own constraints
ALTER TABLE partitions_2024_a ADD CHECK (n > 0), ALTER note SET NOT NULL;
SELECT pg_temp.try('partitions_t', E'2024-05-05,a,1,x\n2024-05-05,a,0,x\n');
SELECT pg_temp.try('partitions_t', E'2024-05-05,a,1,x\n2024-05-05,a,0,x\n2024-05-05,b,0,\n2024-05-05,a,1,\n', '{"on_error": "ignore"}');
-- where, truncate, a limit, a trigger of one partition
SELECT rows_loaded, rows_filtered FROM bulk_load('partitions_t', pg_temp.put('in', E'2023-05-05,a,1,x\n2024-05-05,b,2,y\n2023-05-05,a,3,x\n'),
	'{"truncate": true, "where": "n <> 1", "limit": 2}');
SELECT tableoid::regclass, * FROM partitions_t ORDER BY n;
CREATE FUNCTION partitions_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.n = 3 THEN
		RETURN NULL;
	END IF;
	NEW.note := tg_table_name || ' ' || NEW.n;
	RETURN NEW;
END $$;
CREATE TRIGGER mark BEFORE INSERT ON partitions_2024_b FOR EACH ROW EXECUTE FUNCTION partitions_trigger();
SELECT pg_temp.try('partitions_t', E'2024-05-05,b,1,x\n2024-05-05,a,2,x\n2024-05-05,b,3,x\n2024-05-05,b,4,x\n');
-- a trigger may not move a row elsewhere
CREATE FUNCTION partitions_move() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.kind := ''a''; RETURN NEW; END';
CREATE TRIGGER move BEFORE INSERT ON partitions_2024_b FOR EACH ROW EXECUTE FUNCTION partitions_move();
\set VERBOSITY terse
SELECT rows_loaded FROM bulk_load('partitions_t', pg_temp.put('in', E'2024-05-05,b,1,x\n'));
\set VERBOSITY default
DROP TABLE partitions_t;

-- hash; identity and unique keys
CREATE TABLE partitions_hash (id bigint GENERATED ALWAYS AS IDENTITY, k text, v int, PRIMARY KEY (k, v)) PARTITION BY HASH (k);
CREATE TABLE partitions_hash0 PARTITION OF partitions_hash FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE partitions_hash1 PARTITION OF partitions_hash FOR VALUES WITH (MODULUS 3, REMAINDER 1);
SELECT rows_loaded, rows_rejected, rows_read FROM bulk_load('partitions_hash', pg_temp.put('in', (SELECT string_agg('k' || i || ',' || i, E'\n') FROM generate_series(1, 1000) i)),
	'{"columns": ["k", "v"], "on_error": "ignore", "log_verbosity": "silent"}');
CREATE TABLE partitions_hash2 PARTITION OF partitions_hash FOR VALUES WITH (MODULUS 3, REMAINDER 2);
SELECT rows_loaded FROM bulk_load('partitions_hash', '/proc/self/cwd/pgbulk_partitions_in', '{"columns": ["k", "v"], "truncate": true}');
SELECT tableoid::regclass, count(*) FROM partitions_hash GROUP BY 1 ORDER BY 1;
SELECT count(*), count(DISTINCT id), sum(v) FROM partitions_hash;
DROP TABLE partitions_hash;

-- by an expression, which may throw
CREATE TABLE partitions_expr (a int, b int) PARTITION BY RANGE ((100 / a));
CREATE TABLE partitions_expr1 PARTITION OF partitions_expr FOR VALUES FROM (1) TO (50);
SELECT pg_temp.try('partitions_expr', E'10,1\n0,2\n');
SELECT pg_temp.try('partitions_expr', E'10,1\n0,2\n1,3\n5,4\n,5\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('partitions_expr1', E'10,1\n0,2\n1,3\n5,4\n,5\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('partitions_expr1', E'10,1\n0,2\n1,3\n5,4\n,5\n', '{"on_error": "ignore", "writer": "direct"}');
DROP TABLE partitions_expr;

-- many partitions, rows alternating, so that batches are small and often released
CREATE TABLE partitions_many (k int, v text) PARTITION BY LIST (k);
DO $$
BEGIN
	FOR i IN 0..99 LOOP
		EXECUTE format('CREATE TABLE partitions_many_%s PARTITION OF partitions_many FOR VALUES IN (%s)', i, i);
	END LOOP;
END $$;
SELECT rows_loaded, rows_rejected FROM bulk_load('partitions_many', pg_temp.put('in', (SELECT string_agg(i % 101 || ',' || i, E'\n') FROM generate_series(1, 20200) i)),
	'{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT count(*), min(count), max(count) FROM (SELECT count(*) FROM partitions_many GROUP BY tableoid) x;
SET pgbulk.chunk_size = '16kB';
SELECT rows_loaded, rows_rejected FROM bulk_load('partitions_many', '/proc/self/cwd/pgbulk_partitions_in', '{"on_error": "ignore", "log_verbosity": "silent", "truncate": true}');
RESET pgbulk.chunk_size;
SELECT count(*), count(DISTINCT v), bool_and(k = v::int % 101) AS routed FROM partitions_many;
DROP TABLE partitions_many;
-- a table without partitions
CREATE TABLE partitions_none (a int) PARTITION BY LIST (a);
SELECT pg_temp.try('partitions_none', E'1\n');
SELECT pg_temp.try('partitions_none', E'1\n2\n', '{"on_error": "ignore"}');
SELECT pg_temp.try('partitions_none', '');
DROP TABLE partitions_none;

DROP TABLE partitions_rejects;
DROP FUNCTION partitions_trigger, partitions_move;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_partitions_gone; rm -f pgbulk_partitions_*';
