--
-- Option limit_counts: a limit of rows that are good.
--
SET client_min_messages = warning;
CREATE TABLE limit_t (a int CHECK (a > 0), b text);
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_limit_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
-- The result of loading files, the same by each writer and with workers.
CREATE FUNCTION pg_temp.one(target regclass, paths text[], options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	DROP TABLE IF EXISTS limit_rejects;
	EXECUTE 'TRUNCATE ' || target;
	SELECT * INTO r FROM bulk_load(target, paths, '{"limit_counts": "loaded", "on_error": "ignore", "reject_table": "limit_rejects", "log_verbosity": "silent"}' || options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	RETURN NEXT format('%s read, %s loaded, %s rejected, %s duplicate, %s filtered', r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_duplicate, r.rows_filtered);
	RETURN QUERY SELECT 'rejected: ' || string_agg(CASE WHEN r.rows_rejected < 10 THEN line_number || ' ' || reason END, ', ' ORDER BY line_number) ||
		CASE WHEN r.rows_rejected < 10 THEN '' ELSE count(*)::text END FROM limit_rejects;
	RETURN QUERY EXECUTE 'SELECT CASE WHEN count(*) < 10 THEN string_agg(a::text, '' '' ORDER BY a) ELSE count(*) || '' up to '' || max(a) END FROM ' || target;
END $$;
CREATE FUNCTION pg_temp.ways(target regclass, paths text[], options jsonb,
	writers jsonb DEFAULT '[{"writer": "buffered"}, {"writer": "direct", "workers": 0}, {"writer": "direct", "workers": 1}, {"writer": "direct", "workers": 3}]')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	first text[];
	other text[];
	way jsonb;
BEGIN
	FOR way IN SELECT * FROM jsonb_array_elements(writers) LOOP
		other := ARRAY(SELECT line FROM pg_temp.one(target, paths, options || way) line WHERE line IS NOT NULL);
		IF first IS NULL THEN
			RETURN QUERY SELECT unnest(other);
			first := other;
		ELSIF other IS DISTINCT FROM first THEN
			RETURN NEXT format('otherwise with %s', way);
			RETURN QUERY SELECT unnest(other);
		END IF;
	END LOOP;
END $$;

-- bad rows do not count, nor do excluded ones; what follows the last row is not read
SELECT pg_temp.put('few', E'1,a\nbad\n3,c\nx,d\n5,e\nbad\n7,f\n') AS few \gset
SELECT n, pg_temp.ways('limit_t', ARRAY[:'few'], jsonb_build_object('limit', n)) FROM generate_series(0, 5) n;
SELECT pg_temp.ways('limit_t', ARRAY[:'few'], '{"limit": 2, "where": "a <> 3"}');
SELECT pg_temp.ways('limit_t', ARRAY[:'few'], '{"limit": 2, "skip": 1}');
SELECT pg_temp.ways('limit_t', ARRAY[:'few', :'few'], '{"limit": 5}');
SELECT pg_temp.ways('limit_t', ARRAY[:'few'], '{"limit": 2, "limit_counts": "read"}');
SELECT pg_temp.ways('limit_t', ARRAY[:'few'], '{"limit": 2, "dry_run": true}');
SELECT rows_read, rows_loaded, bytes_read FROM bulk_load('limit_t', :'few', '{"limit": 2, "limit_counts": "loaded", "on_error": "ignore", "log_verbosity": "silent"}');
SELECT bulk_load('limit_t', :'few', '{"limit": 2, "limit_counts": "loaded"}');

-- large files, by workers: wherever the last row is
CREATE TABLE limit_source AS SELECT i AS a, CASE WHEN i % 7 = 0 THEN 'bad' ELSE i::text END AS f, CASE WHEN i > 15000 THEN repeat('x', i % 50) ELSE '' END AS b
	FROM generate_series(1, 30000) i;
COPY (SELECT f, b FROM limit_source ORDER BY a) TO '/proc/self/cwd/pgbulk_limit_large' WITH (FORMAT csv);
SET pgbulk.chunk_size = 4096;
SELECT n, pg_temp.ways('limit_t', ARRAY['/proc/self/cwd/pgbulk_limit_large'], jsonb_build_object('limit', n)) FROM unnest(ARRAY[100, 5142, 5143, 12000, 25713, 25714, 30000]) n;
SELECT n, pg_temp.ways('limit_t', ARRAY['/proc/self/cwd/pgbulk_limit_large', '/proc/self/cwd/pgbulk_limit_large'], jsonb_build_object('limit', n, 'where', 'a % 2 = 0')) FROM unnest(ARRAY[10000, 12857, 20000]) n;
-- and workers do take part, where they can evaluate a CHECK
SELECT workers > 0 OR details ->> 'no_workers' LIKE '%since PostgreSQL 17.' AS workers, rows_loaded FROM bulk_load('limit_t', '/proc/self/cwd/pgbulk_limit_large', '{"limit": 20000, "limit_counts": "loaded", "on_error": "ignore", "log_verbosity": "silent", "writer": "direct", "workers": 2}');
RESET pgbulk.chunk_size;

-- rows that are set aside after they are in the table have counted, whichever writer finds them and when
CREATE TABLE limit_keys (a int PRIMARY KEY, b int REFERENCES limit_keys);
SELECT pg_temp.put('keys', E'1,1\n1,1\nx,\n2,9\n3,1\n4,4\n') AS keys \gset
SELECT n, pg_temp.ways('limit_keys', ARRAY[:'keys'], jsonb_build_object('limit', n, 'on_duplicate', 'keep_old'), '[{"writer": "direct", "workers": 0}, {"writer": "direct", "workers": 2}]') FROM generate_series(1, 5) n;
ALTER TABLE limit_keys DROP CONSTRAINT limit_keys_b_fkey;
SELECT k, n, pg_temp.ways('limit_keys', ARRAY[:'keys'], jsonb_build_object('limit', n, 'on_duplicate', k)) FROM generate_series(1, 5) n, unnest(ARRAY['keep_old', 'keep_new']) k;
-- also when the load is repeated without them
CREATE TABLE limit_parents AS SELECT i AS a FROM generate_series(1, 5) i;
ALTER TABLE limit_parents ADD PRIMARY KEY (a);
CREATE TABLE limit_seen (a int UNIQUE);
CREATE FUNCTION limit_see() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO limit_seen SELECT a FROM limit_keys ON CONFLICT DO NOTHING; RETURN 1; END $$;
TRUNCATE limit_keys;
ALTER TABLE limit_keys ADD FOREIGN KEY (b) REFERENCES limit_parents, ADD c int DEFAULT limit_see();
ALTER TABLE limit_seen ADD FOREIGN KEY (a) REFERENCES limit_keys;
SELECT rows_read, rows_loaded, rows_rejected, details -> 'attempts' AS attempts
	FROM bulk_load('limit_keys', :'keys', '{"columns": ["a", "b"], "limit": 3, "limit_counts": "loaded", "on_error": "ignore", "log_verbosity": "silent", "skip": 1}');
SELECT * FROM limit_keys ORDER BY a;

-- skip goes on where limit has ended, also where a broken quote makes one row of several lines that are rows
CREATE TABLE limit_quotes (a int, b text, c int);
CREATE FUNCTION limit_quotes(a text, b text, c text) RETURNS limit_quotes LANGUAGE sql IMMUTABLE AS $$ SELECT a::int, b, c::int $$;
CREATE FUNCTION pg_temp.halves(path text, options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	way jsonb;
BEGIN
	FOR n IN 0..9 LOOP
		TRUNCATE limit_quotes;
		FOREACH way IN ARRAY ARRAY[jsonb_build_object('limit', n), jsonb_build_object('skip', n)] LOOP
			PERFORM bulk_load('limit_quotes', path, '{"on_error": "ignore", "log_verbosity": "silent"}' || options || way);
		END LOOP;
		RETURN QUERY SELECT string_agg(q::text, ' ' ORDER BY q) FROM limit_quotes q;
	END LOOP;
END $$;
SELECT pg_temp.put('quotes', E'1,a,1\n2,b "x,2\n3,c,3\n4,d,4"\n"5\n6",e,5\n6,f,6\n7,"g\nh",7\n8,i" x,8\n9,"j" y,9\n') AS quotes \gset
SELECT DISTINCT pg_temp.halves(:'quotes', '{}');
SELECT DISTINCT pg_temp.halves(:'quotes', '{"on_error": "set_null"}');
SELECT DISTINCT pg_temp.halves(:'quotes', '{"transform": "limit_quotes"}');
SELECT DISTINCT pg_temp.halves(pg_temp.put('objects', E'{"a":1,\n"b":"x"}\n{"a":2,"b":"\n{"a":3,"b":"y"}\n{"a":"4",\n"c":5}\n{"a":6}\n'), '{"format": "json", "missing_columns": "null"}');
-- what is skipped has no effects: no defaults, no calls of a volatile function
SET log_min_messages = error;
CREATE FUNCTION limit_default() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'default'; RETURN 0; END $$;
CREATE OR REPLACE FUNCTION limit_quotes(a text, b text, c text) RETURNS limit_quotes LANGUAGE plpgsql VOLATILE AS $$ BEGIN RAISE WARNING '%', a; RETURN (a::int, b, c::int, 0); END $$;
TRUNCATE limit_quotes;
ALTER TABLE limit_quotes ADD d int DEFAULT limit_default();
SELECT pg_temp.put('quotes', E'1,"a\nb",1\n2,"c" "\n",2\n3,d,3\n') AS quotes \gset
SELECT rows_read FROM bulk_load('limit_quotes', :'quotes', '{"skip": 2, "columns": ["a", "b", "c"], "on_error": "ignore"}');
SELECT rows_read FROM bulk_load('limit_quotes', :'quotes', '{"skip": 2, "transform": "limit_quotes", "on_error": "ignore"}');

RESET log_min_messages;
-- rows of a query: no more are computed than needed
CREATE SEQUENCE limit_made;
CREATE FUNCTION limit_make(n int) RETURNS SETOF int LANGUAGE sql VOLATILE AS $$ SELECT CASE WHEN nextval('limit_made') % 3 = 0 THEN -i ELSE i END FROM (SELECT generate_series(1, n) AS i) x $$;
CREATE FUNCTION pg_temp.made(options jsonb, OUT read bigint, OUT loaded bigint, OUT made bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM setval('limit_made', 1, false);
	SELECT rows_read, rows_loaded INTO read, loaded FROM bulk_load_query('limit_t', 'SELECT limit_make(10000000), ''x''', '{"on_error": "ignore", "log_verbosity": "silent"}' || options);
	made := nextval('limit_made') - 1;
END $$;
SELECT * FROM pg_temp.made('{"limit": 0}');
SELECT * FROM pg_temp.made('{"limit": 1}');
SELECT * FROM pg_temp.made('{"limit": 4, "skip": 2}');
SELECT * FROM pg_temp.made('{"limit": 5000}');
SELECT read, loaded, made < 10100 AS few FROM pg_temp.made('{"limit": 5000, "limit_counts": "loaded"}');
SELECT read, loaded, made < 40 AS few FROM pg_temp.made('{"limit": 2, "skip": 1, "limit_counts": "loaded"}');
SELECT read, loaded, made < 40 AS few FROM pg_temp.made('{"limit": 0, "limit_counts": "loaded"}');
SELECT rows_read, rows_loaded FROM bulk_load_query('limit_t', 'SELECT limit_make(10), ''x''', '{"on_error": "ignore", "log_verbosity": "silent", "limit": 10, "limit_counts": "loaded"}');

-- options that exclude each other
SELECT bulk_load('limit_t', :'few', '{"limit_counts": "loaded"}');
SELECT bulk_load('limit_t', :'few', '{"limit_counts": "good", "limit": 1}');
SELECT rows_loaded FROM bulk_load('limit_t', :'few', '{"limit_counts": "read", "limit": 1}');

DROP TABLE limit_t, limit_source, limit_rejects, limit_seen, limit_keys, limit_parents, limit_quotes CASCADE;
DROP FUNCTION limit_see, limit_make, limit_default;
DROP SEQUENCE limit_made;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_limit_gone; rm -f pgbulk_limit_*';
