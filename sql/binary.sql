--
-- The binary format.
--
CREATE TABLE binary_rows (a int, b text);

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_binary_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The parts of a binary file.
CREATE FUNCTION pg_temp.header(flags int DEFAULT 0, extension bytea DEFAULT '') RETURNS bytea
RETURN '\x5047434f50590aff0d0a00'::bytea || int4send(flags) || int4send(length(extension)) || extension;
CREATE FUNCTION pg_temp.count(n int) RETURNS bytea
RETURN int2send(n::int2);
CREATE FUNCTION pg_temp.fields(VARIADIC f bytea[]) RETURNS bytea LANGUAGE sql AS $$
	SELECT int2send(cardinality(f)::int2) || string_agg(CASE WHEN v IS NULL THEN int4send(-1) ELSE int4send(length(v)) || v END, '' ORDER BY n)
	FROM unnest(f) WITH ORDINALITY AS u (v, n)
$$;

-- The result of loading a file: the rows of the table, or the error.
CREATE FUNCTION pg_temp.try(content bytea, options jsonb DEFAULT '{}')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	context text;
BEGIN
	TRUNCATE binary_rows;
	SELECT * INTO r FROM bulk_load('binary_rows', pg_temp.put('in', content), '{"format": "binary"}' || options);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	RETURN QUERY SELECT row_to_json(t)::text FROM binary_rows t ORDER BY ctid;
	RETURN NEXT format('%s loaded, %s rejected of %s rows', r.rows_loaded, r.rows_rejected, r.rows_read);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	RETURN NEXT regexp_replace(context, '\n(SQL statement|PL/pgSQL function).*', '');
END $$;

-- round trip of many types
CREATE TYPE binary_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE binary_pair AS (x int, y text);
CREATE DOMAIN binary_small AS int CHECK (value < 1000);
CREATE TABLE binary_source (
	i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n numeric, n2 numeric(10,3), m money, bo bool,
	t text, vc varchar(5), ch char(5), c1 "char", nm name, by bytea, bi bit(5), vb varbit,
	d date, ti time(3), tz timetz, ts timestamp, tstz timestamptz(2), iv interval,
	u uuid, js json, jb jsonb, ip inet, cd cidr, mac macaddr, mac8 macaddr8,
	p point, bx box, pg polygon, o oid, rc regclass, ls pg_lsn, tv tsvector, tq tsquery, jp jsonpath,
	mood binary_mood, pair binary_pair, small binary_small,
	ai int[], at text[], am binary_mood[], ad date[], amulti int[][], ir int4range, nr nummultirange, odd int[]);
SET lc_monetary = 'C';
INSERT INTO binary_source (i4) VALUES (NULL);
INSERT INTO binary_source
SELECT i, -i, i * 10000000000, i / 3.0, CASE i WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' ELSE i / 3.0 END::float8,
	CASE i WHEN 1 THEN 'NaN'::numeric ELSE 10.0 ^ (i * 7) / 3 END, i / 8.0, i::text::money, i % 2 = 0,
	repeat('t' || i, i), 'v' || i, 'c' || i, chr(64 + i)::"char", 'name' || i, decode(md5(i::text), 'hex'), i::bit(5), B'1011',
	date '2000-02-28' + i, time '12:34:56.789', timetz '12:34:56.789+05:30', timestamp '1999-12-31 23:59:59.999999' + i * interval '1 us',
	timestamptz '0044-03-15 12:00:00+00 BC', i * interval '1 month 2 days 03:04:05.6',
	md5(i::text)::uuid, '{"a": [1, null]}', '{"a": [1, null]}', '192.168.0.1/24', '10.0.0.0/8', '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05',
	point(i, -i), box(point(0, 0), point(i, i)), '((0,0),(1,1),(2,0))', i, 'pg_class', '16/B374D848', 'a:1 cat:2A', 'a & (b | !c)', '$.a[*] ? (@ > 1)',
	(ARRAY['sad', 'ok', 'happy'])[i % 3 + 1]::binary_mood, ROW(i, 'y,"' || i)::binary_pair, i,
	ARRAY[i, NULL, i], ARRAY['a', '', NULL, 'NULL', '"'], ARRAY['ok', 'sad']::binary_mood[], ARRAY[date 'infinity', '2000-01-01'], ARRAY[[1,2],[3,i]],
	int4range(i, 10), nummultirange(numrange(1.5, 2.5), numrange(i + 3, NULL)), '[5:6]={1,2}'
FROM generate_series(1, 9) i;
INSERT INTO binary_source (i4, t, by, ai) SELECT 1, repeat('long', 100000), convert_to(repeat('x', 500000), 'UTF8'), array_agg(i) FROM generate_series(1, 50000) i;
COPY binary_source TO '/proc/self/cwd/pgbulk_binary_out' WITH (FORMAT binary);
CREATE TABLE binary_copy (LIKE binary_source);
SELECT rows_loaded, rows_read, bytes_read = (pg_stat_file('/proc/self/cwd/pgbulk_binary_out')).size AS all_read
FROM bulk_load('binary_copy', '/proc/self/cwd/pgbulk_binary_out', '{"format": "binary"}');
CREATE FUNCTION pg_temp.differ() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM (SELECT s::text, row_number() OVER (ORDER BY ctid) FROM binary_source s) a
	FULL JOIN (SELECT c::text, row_number() OVER (ORDER BY ctid) FROM binary_copy c) b USING (row_number)
	WHERE a.s IS DISTINCT FROM b.c
$$;
SELECT pg_temp.differ();
SELECT pg_column_size(t) < 100000 AS compressed, length(t), cardinality(ai) FROM binary_copy WHERE length(t) > 1000;
-- with any chunk size
SELECT size, rows_loaded, pg_temp.differ()
FROM unnest(ARRAY[16, 100, 4096]) AS size, set_config('pgbulk.chunk_size', size::text, false) AS setting,
	bulk_load('binary_copy', '/proc/self/cwd/pgbulk_binary_out' || left(setting, 0), '{"format": "binary", "truncate": true}');
RESET pgbulk.chunk_size;
-- chosen columns, skipped fields
COPY (SELECT i, 'x', 'text ' || i FROM generate_series(1, 5) i) TO '/proc/self/cwd/pgbulk_binary_out' WITH (FORMAT binary);
SELECT rows_loaded, rows_filtered, rows_read FROM bulk_load('binary_rows', '/proc/self/cwd/pgbulk_binary_out',
	'{"format": "binary", "columns": ["a", null, "b"], "skip": 1, "limit": 3, "where": "a <> 3"}');
SELECT * FROM binary_rows;
-- several files
SELECT rows_loaded, rows_read FROM bulk_load('binary_rows', ARRAY['/proc/self/cwd/pgbulk_binary_out', '/proc/self/cwd/pgbulk_binary_out'],
	'{"format": "binary", "columns": ["a", null, "b"]}');

-- no rows; with and without an end marker
SELECT pg_temp.try(pg_temp.header());
SELECT pg_temp.try(pg_temp.header() || pg_temp.count(-1));
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'x'));
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'x') || pg_temp.fields(NULL, '') || pg_temp.count(-1));
-- a header extension and flags that need not be understood are skipped
SELECT pg_temp.try(pg_temp.header(1, 'more to say') || pg_temp.fields(int4send(1), 'x') || pg_temp.count(-1));
-- other flags are an error
SELECT pg_temp.try(pg_temp.header(65536) || pg_temp.fields(int4send(1), 'x') || pg_temp.count(-1));
-- files in another format
SELECT pg_temp.try('');
SELECT pg_temp.try(E'1,x\n');
SELECT pg_temp.try('PGCOPY');
SELECT pg_temp.try('\x5047434f50590a000d0a0000000000000000');
SELECT pg_temp.try(substr(pg_temp.header(), 1, 15));
SELECT pg_temp.try(substr(pg_temp.header(0, 'abcdef'), 1, 21));
-- truncated rows
SELECT pg_temp.try(pg_temp.header() || '\x00');
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'x') || pg_temp.count(2));
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'x') || substr(pg_temp.fields(int4send(2), 'yyy'), 1, 12));
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'x') || substr(pg_temp.fields(int4send(2), 'yyy'), 1, 16));
-- they end the load whatever on_error says, as it is not known where the next row begins
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'x') || pg_temp.count(2), '{"on_error": "ignore"}');
SELECT pg_temp.try(pg_temp.header() || pg_temp.count(2) || int4send(-2), '{"on_error": "ignore"}');
SELECT pg_temp.try(pg_temp.header() || pg_temp.count(-2));
-- data after the end marker
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'x') || pg_temp.count(-1) || '\x00');
SELECT pg_temp.try(pg_temp.header() || pg_temp.count(-1) || pg_temp.count(-1));
-- wrong numbers of fields
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1)) || pg_temp.count(-1));
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'x', 'y') || pg_temp.count(-1));
SELECT pg_temp.try(pg_temp.header() || pg_temp.count(0) || pg_temp.count(-1));
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'x') || pg_temp.fields(int4send(2)) || pg_temp.fields(int4send(3), 'x', 'y')
	|| pg_temp.fields(int4send(4), 'x') || pg_temp.count(-1), '{"on_error": "ignore"}');
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'x', 'y') || pg_temp.fields(int4send(2)) || pg_temp.count(-1),
	'{"extra_columns": "ignore", "missing_columns": "null"}');
-- invalid values
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'x') || pg_temp.fields('\x0102', 'x') || pg_temp.count(-1));
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'x') || pg_temp.fields('\x0102030405', 'x') || pg_temp.count(-1));
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), '\xff') || pg_temp.count(-1));
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'a') || pg_temp.fields('\x0102', 'b') || pg_temp.fields('\x0102030405', 'c')
	|| pg_temp.fields(int4send(4), '\xff') || pg_temp.fields(int4send(5), 'e') || pg_temp.count(-1), '{"on_error": "ignore", "log_verbosity": "verbose"}');
SELECT pg_temp.try(pg_temp.header() || pg_temp.fields(int4send(1), 'a') || pg_temp.fields('\x0102', 'b') || pg_temp.fields('\x0102030405', 'c')
	|| pg_temp.fields(int4send(4), '\xff') || pg_temp.fields(int4send(5), 'e') || pg_temp.count(-1), '{"on_error": "set_null"}');
-- rejects: the line is the row's number, the raw line its bytes
SELECT rows_loaded, rows_rejected FROM bulk_load('binary_rows', ARRAY[
	pg_temp.put('1', pg_temp.header() || pg_temp.fields(int4send(1), 'a') || pg_temp.fields('\x0102', 'b') || pg_temp.count(-1)),
	pg_temp.put('2', pg_temp.header() || pg_temp.fields(int4send(1)) || pg_temp.fields(int4send(5), 'e') || pg_temp.fields(int4send(6), '\xff') || pg_temp.count(-1))],
	'{"format": "binary", "on_error": "ignore", "reject_table": "binary_rejects", "log_verbosity": "silent"}');
SELECT file, line_number, byte_offset, reason, column_name, field_value, sqlstate, message FROM binary_rejects ORDER BY file, line_number;
SELECT raw_line, raw_bytes FROM binary_rejects ORDER BY file, line_number;
-- domains are checked for nulls too
CREATE DOMAIN binary_needed AS int NOT NULL CHECK (value > 0);
CREATE TABLE binary_domain (a binary_needed, b text);
SELECT rows_loaded, rows_rejected FROM bulk_load('binary_domain', pg_temp.put('in', pg_temp.header() || pg_temp.fields(int4send(1), 'x')
	|| pg_temp.fields(NULL, 'y') || pg_temp.fields(int4send(-1), 'z') || pg_temp.count(-1)), '{"format": "binary", "on_error": "ignore"}');
SELECT rows_loaded FROM bulk_load('binary_domain', '/proc/self/cwd/pgbulk_binary_in', '{"format": "binary"}');
SELECT * FROM binary_domain;

-- a type that cannot be received
CREATE TABLE binary_acl (a aclitem);
\set VERBOSITY terse
SELECT rows_loaded FROM bulk_load('binary_acl', pg_temp.put('in', pg_temp.header() || pg_temp.fields('x') || pg_temp.count(-1)), '{"format": "binary"}');
\set VERBOSITY default

DROP TABLE binary_rows, binary_source, binary_copy, binary_rejects, binary_domain, binary_acl;
DROP TYPE binary_mood, binary_pair, binary_small, binary_needed;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_binary_gone; rm -f pgbulk_binary_*';
