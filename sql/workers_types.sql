--
-- Parallel workers: types that are made of others.  Before 17 workers only convert
-- those that pgbulk converts itself.
--
CREATE DOMAIN parts_positive AS int CHECK (VALUE > 0);
CREATE DOMAIN parts_small AS parts_positive NOT NULL CHECK (VALUE < 100000);
CREATE TYPE parts_row AS (a parts_positive, b text);
CREATE TYPE parts_range AS RANGE (subtype = parts_small, multirange_type_name = parts_ranges);
CREATE TABLE parts_source AS SELECT i AS id, i AS domain, int4range(i, i + i % 9 + 1) AS range,
	int4multirange(int4range(i, i + 2), int4range(i + 5, NULL)) AS multirange, format('(%s,"x %s")', i, i) AS composite,
	format('[%s,%s)', i, i + 2) AS range_of_domain, format('{%s,%s}', i, i + 1) AS domains
	FROM generate_series(1, 20000) i;
COPY parts_source TO '/proc/self/cwd/pgbulk_workers_types' WITH (FORMAT csv);
CREATE TABLE parts_t (id int, domain parts_small, range int4range, multirange int4multirange, composite parts_row, range_of_domain parts_range, domains parts_positive[]);
CREATE TABLE parts_copy (LIKE parts_t);
COPY parts_copy FROM '/proc/self/cwd/pgbulk_workers_types' WITH (FORMAT csv);
SET pgbulk.chunk_size = 4096;
CREATE FUNCTION pg_temp.load(options jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	TRUNCATE parts_t;
	SELECT * INTO r FROM bulk_load('parts_t', '/proc/self/cwd/pgbulk_workers_types', options);
	RETURN format('%s loaded, %s rejected, %s', r.rows_loaded, r.rows_rejected,
		coalesce(nullif(r.details ->> 'no_workers', 'The input function of a column''s type is called for each row, which workers can do since PostgreSQL 17.'), CASE WHEN r.workers > 0 OR r.details ? 'no_workers' THEN 'with workers' ELSE 'alone' END));
END $$;
SELECT pg_temp.load('{"workers": 2}');
SELECT count(*) FROM (SELECT t::text FROM parts_t t EXCEPT ALL SELECT t::text FROM parts_copy t) x;

-- each kind of part has its bad rows, with workers and without
COPY (SELECT CASE WHEN id % 1000 = 1 THEN 'x' ELSE id::text END, CASE WHEN id % 1000 = 2 THEN -1 ELSE domain END,
	CASE WHEN id % 1000 = 3 THEN '[3,1]' ELSE range::text END, CASE WHEN id % 1000 = 4 THEN '{[3,1]}' ELSE multirange::text END,
	CASE WHEN id % 1000 = 5 THEN '(-5,x)' ELSE composite END, CASE WHEN id % 1000 = 6 THEN '[0,5)' ELSE range_of_domain END,
	CASE WHEN id % 1000 = 7 THEN '{1,0}' ELSE domains END FROM parts_source ORDER BY id)
	TO '/proc/self/cwd/pgbulk_workers_types' WITH (FORMAT csv);
SELECT pg_temp.load('{"workers": 2, "on_error": "ignore", "log_verbosity": "silent"}');
CREATE TABLE parts_kept AS SELECT * FROM parts_t;
SELECT pg_temp.load('{"workers": 0, "on_error": "ignore", "log_verbosity": "silent"}');
SELECT count(*) FROM (SELECT t::text FROM parts_t t EXCEPT ALL SELECT t::text FROM parts_kept t) x;

-- a CHECK that workers may not run, wherever it is
CREATE FUNCTION parts_unsafe(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED AS 'BEGIN RETURN $1 > 0; END';
DROP TABLE parts_t, parts_copy, parts_kept;
ALTER DOMAIN parts_positive ADD CONSTRAINT unsafe CHECK (parts_unsafe(VALUE));
CREATE FUNCTION pg_temp.try(type text, value text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('COPY (SELECT %L::text FROM generate_series(1, 20000)) TO ''/proc/self/cwd/pgbulk_workers_types'' WITH (FORMAT csv)', value);
	EXECUTE format('CREATE TABLE parts_t (part %s)', type);
	RETURN pg_temp.load('{"workers": 2}');
EXCEPTION WHEN duplicate_table THEN
	DROP TABLE parts_t;
	RETURN pg_temp.try(type, value);
END $$;
SELECT type, pg_temp.try(type, value) FROM (VALUES ('text', 'x'), ('int4range[]', '{"[1,2)"}'), ('parts_small', '7'), ('parts_row', '(7,x)'), ('parts_row[]', '{}'),
	('parts_range', '[1,2)'), ('parts_ranges', '{[1,2)}')) v (type, value);
DROP TABLE parts_t, parts_source;
DROP TYPE parts_range, parts_row;
DROP DOMAIN parts_small, parts_positive;
DROP FUNCTION parts_unsafe;
