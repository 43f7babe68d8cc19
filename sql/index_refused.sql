--
-- Rows that an index cannot store: the error names their line, whichever process has built the index.
--
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_index_refused_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The error, and its place in the files.
CREATE FUNCTION pg_temp.one(target regclass, path text[], options jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	loaded bigint;
	hint text;
	context text;
BEGIN
	SELECT rows_loaded INTO loaded FROM bulk_load(target, path, '{"log_verbosity": "silent"}' || options);
	RETURN loaded || ' loaded';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT, context = PG_EXCEPTION_CONTEXT;
	RETURN concat_ws(' / ', sqlstate, regexp_replace(sqlerrm, 'index "\w*"', 'index'), substring(context, 'refused_(\w*", line [0-9]+)'),
		substring(hint, 'Use writer.*'));
END $$;

-- By each writer and index method, and by workers.
CREATE FUNCTION pg_temp.ways(target regclass, path text[], options jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	first text;
	other text;
	way jsonb;
BEGIN
	FOR way IN SELECT * FROM jsonb_array_elements('[{"writer": "buffered"}, {"writer": "direct", "workers": 0}, {"writer": "direct", "workers": 2},
			{"writer": "direct", "indexes": "rebuild"}, {"writer": "direct", "indexes": "insert"}, {"writer": "direct", "indexes": "merge"}]') LOOP
		other := pg_temp.one(target, path, options || way);
		IF first IS NULL THEN
			RETURN NEXT other;
			first := other;
		ELSIF other <> first THEN
			RETURN NEXT format('%s with %s', other, way);
		END IF;
	END LOOP;
END $$;

-- incompressible text
CREATE FUNCTION pg_temp.wide(n int) RETURNS text LANGUAGE sql AS $$
	SELECT left(string_agg(sha512(i::text::bytea)::text, ''), n) FROM generate_series(1, n / 128 + 1) i $$;

CREATE TABLE index_refused_t (i int, s text, d numeric);
SELECT pg_temp.put('good', string_agg(format(E'%s,%s,%s\n', i, i % 7, i), '' ORDER BY i)) IS NULL FROM generate_series(1, 5000) i;
SELECT pg_temp.put('wide', E'i,s,d\n1,"two\nlines",1\nbad,a,1\n2,' || pg_temp.wide(4000) || E',1\n3,b,1\n') IS NULL;
SELECT pg_temp.put('zero', E'1,a,1\n2,b,2\n3,c,0\n4,d,4\n') IS NULL;

-- keys that are too large: of a page, of a tuple
CREATE INDEX index_refused_s ON index_refused_t (s);
CREATE INDEX index_refused_i ON index_refused_t (i);
SELECT pg_temp.ways('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_wide}', '{"header": true, "on_error": "ignore"}');
SELECT pg_temp.ways('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_good,/proc/self/cwd/pgbulk_index_refused_wide}', '{"on_error": "ignore"}');
SELECT pg_temp.put('huge', E'1,a,1\n2,' || pg_temp.wide(20000) || E',1\n3,b,1\n') IS NULL;
SELECT pg_temp.ways('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_huge}');
-- the same among old rows, and by several processes
SELECT rows_loaded FROM bulk_load('index_refused_t', '/proc/self/cwd/pgbulk_index_refused_good');
SELECT pg_temp.ways('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_wide}', '{"header": true, "on_error": "ignore"}');
SET min_parallel_table_scan_size = 0;
SELECT pg_temp.ways('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_wide}', '{"header": true, "on_error": "ignore", "workers": 2}');
RESET min_parallel_table_scan_size;
SELECT count(*) FROM index_refused_t;
TRUNCATE index_refused_t;
DROP INDEX index_refused_s, index_refused_i;

-- one that would be the border between two processes' ranges
CREATE INDEX index_refused_s ON index_refused_t (s);
COPY (SELECT i, CASE WHEN i % 2 = 0 THEN 'a' || md5(i::text) || repeat('x', 100) ELSE 'z' || pg_temp.wide(4000) END FROM generate_series(1, 12000) i) TO '/proc/self/cwd/pgbulk_index_refused_border';
SET min_parallel_table_scan_size = 0;
SET max_parallel_maintenance_workers = 2;
\set VERBOSITY terse
SELECT rows_loaded FROM bulk_load('index_refused_t', '/proc/self/cwd/pgbulk_index_refused_border', '{"format": "text", "columns": ["i", "s"], "writer": "direct", "workers": 3}');
\set VERBOSITY default
RESET max_parallel_maintenance_workers;
RESET min_parallel_table_scan_size;
DROP INDEX index_refused_s;

-- included columns
CREATE UNIQUE INDEX index_refused_i ON index_refused_t (i) INCLUDE (s);
SELECT pg_temp.ways('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_wide}', '{"header": true, "on_error": "ignore"}');
DROP INDEX index_refused_i;

-- expressions and predicates that throw; errors that they catch do not count
CREATE INDEX index_refused_e ON index_refused_t ((1 / d));
SELECT pg_temp.ways('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_zero}');
DROP INDEX index_refused_e;
CREATE INDEX index_refused_p ON index_refused_t (i) WHERE 1 / d > 0;
SELECT pg_temp.ways('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_zero}');
DROP INDEX index_refused_p;
CREATE FUNCTION index_refused_f(d numeric) RETURNS numeric IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	RETURN 1 / d;
EXCEPTION WHEN OTHERS THEN
	RETURN NULL;
END $$;
CREATE INDEX index_refused_f ON index_refused_t (index_refused_f(d));
CREATE INDEX index_refused_e ON index_refused_t ((1 / (d - 4)));
SELECT pg_temp.ways('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_zero}');
DROP INDEX index_refused_e;
SELECT pg_temp.ways('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_zero}');
TRUNCATE index_refused_t;
DROP FUNCTION index_refused_f CASCADE;

CREATE FUNCTION index_refused_f(s text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	RETURN 10 / s::int;
EXCEPTION WHEN invalid_text_representation THEN
	RETURN 0;
END $$;
CREATE INDEX index_refused_f ON index_refused_t (index_refused_f(s));
SELECT pg_temp.put('some', E'1,a,1\n2,5,1\n3,b,1\n4,0,1\n5,7,1\n') IS NULL;
SELECT pg_temp.ways('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_some}');
DROP INDEX index_refused_f;
DROP FUNCTION index_refused_f(text);

-- builds of other access methods do not report it, except where it can be found
CREATE INDEX index_refused_g ON index_refused_t USING gin (string_to_array(s, ' '));
SELECT pg_temp.one('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_wide}', way || '{"header": true, "on_error": "ignore"}')
FROM unnest('{"{\"writer\": \"direct\", \"indexes\": \"rebuild\"}", "{\"writer\": \"buffered\"}"}'::jsonb[]) way;
DROP INDEX index_refused_g;

-- rows that exclude one another: one of the two
CREATE TABLE index_refused_x (i int, s text, d int4range, EXCLUDE USING gist (d WITH &&));
SELECT pg_temp.put('ranges', E'1,a,"[1,5)"\n2,b,"[5,9)"\n3,c,"[20,30)"\n4,d,"[8,9)"\n') IS NULL;
SELECT pg_temp.one('index_refused_x', '{/proc/self/cwd/pgbulk_index_refused_ranges}', '{"writer": "buffered"}');
SELECT pg_temp.one('index_refused_x', '{/proc/self/cwd/pgbulk_index_refused_ranges}', '{"writer": "direct"}');

-- leaves
CREATE TABLE index_refused_p (d numeric, s text, i int) PARTITION BY RANGE (i);
CREATE TABLE index_refused_p1 PARTITION OF index_refused_p FOR VALUES FROM (0) TO (2);
CREATE TABLE index_refused_p2 PARTITION OF index_refused_p FOR VALUES FROM (2) TO (6000);
CREATE INDEX ON index_refused_p (s);
SELECT pg_temp.ways('index_refused_p', '{/proc/self/cwd/pgbulk_index_refused_good,/proc/self/cwd/pgbulk_index_refused_wide}', '{"columns": ["i", "s", "d"], "on_error": "ignore"}');

-- an old row is in no file
CREATE FUNCTION index_refused_f(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN i; END$$;
CREATE INDEX index_refused_e ON index_refused_t (index_refused_f(i));
INSERT INTO index_refused_t VALUES (0);
CREATE OR REPLACE FUNCTION index_refused_f(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN 1 / i; END$$;
SELECT pg_temp.one('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_zero}', '{"writer": "direct", "indexes": "rebuild"}');
SELECT pg_temp.one('index_refused_t', '{/proc/self/cwd/pgbulk_index_refused_zero}', '{"writer": "direct", "indexes": "merge"}');

DROP TABLE index_refused_t, index_refused_x, index_refused_p;
DROP FUNCTION index_refused_f;
