--
-- Foreign keys: checked when all rows are in; a row without a referenced row is a reject.
--
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_foreign_keys_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result of loading a file: the rejects and how many rows are loaded, or the error.
CREATE FUNCTION pg_temp.one(target regclass, options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	detail text;
	context text;
BEGIN
	DROP TABLE IF EXISTS foreign_keys_rejects;
	EXECUTE 'TRUNCATE ' || target;
	SELECT * INTO r FROM bulk_load(target, '/proc/self/cwd/pgbulk_foreign_keys_in',
		options || CASE WHEN options ->> 'on_error' = 'ignore' THEN '{"reject_table": "foreign_keys_rejects", "log_verbosity": "silent"}' ELSE '{}' END::jsonb);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	IF options ? 'writer' THEN
		ASSERT r.writer = options ->> 'writer';
	END IF;
	IF options ->> 'on_error' = 'ignore' THEN
		RETURN QUERY SELECT format('line %s at %s: %s (%s, %s, %s): %s', line_number, byte_offset, raw_line, reason, sqlstate, coalesce(column_name || ' = ' || field_value, 'no column'), message)
			FROM foreign_keys_rejects ORDER BY ctid;
	END IF;
	RETURN NEXT format('%s read, %s loaded, %s rejected', r.rows_read, r.rows_loaded, r.rows_rejected);
	RETURN QUERY EXECUTE 'SELECT count(*) || '' rows there'' FROM ' || target;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	RETURN NEXT detail;
	RETURN NEXT substring(context, 'line [0-9]+(?=\n|$|: ")');
END $$;

-- The same with all writers and workers, which must not differ.
CREATE FUNCTION pg_temp.ways(target regclass, options jsonb DEFAULT '{}', ways jsonb DEFAULT '[{"writer": "direct", "workers": 0}, {"writer": "direct", "workers": 2}, {"writer": "buffered"}]')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	first text[];
	other text[];
	way jsonb;
BEGIN
	FOR way IN SELECT * FROM jsonb_array_elements(ways) LOOP
		other := ARRAY(SELECT pg_temp.one(target, options || way));
		IF first IS NULL THEN
			RETURN QUERY SELECT unnest(other);
			first := other;
		ELSIF other IS DISTINCT FROM first THEN
			RETURN NEXT 'otherwise with ' || way;
			RETURN QUERY SELECT unnest(other);
		END IF;
	END LOOP;
END $$;
\set ignore '{"on_error": "ignore"}'
SET client_min_messages = warning;
SET pgbulk.chunk_size = 1024;

CREATE TABLE foreign_keys_p (id int PRIMARY KEY, k text UNIQUE, a int, b int, UNIQUE (a, b));
INSERT INTO foreign_keys_p SELECT i, 'key ' || i, i, i * 10 FROM generate_series(1, 100) i;

-- one column; many rows, some without a referenced one, a line end inside a value
CREATE TABLE foreign_keys_t (n int, p int REFERENCES foreign_keys_p, t text);
COPY (SELECT i, CASE WHEN i % 1000 = 7 THEN -i WHEN i % 7 > 0 THEN 1 + i % 100 END, CASE WHEN i % 500 = 7 THEN E'two\nlines' ELSE repeat('x', i % 50) END
	FROM generate_series(1, 4000) i) TO '/proc/self/cwd/pgbulk_foreign_keys_in' WITH (FORMAT csv);
SELECT pg_temp.ways('foreign_keys_t');
SELECT pg_temp.ways('foreign_keys_t', :'ignore');
SELECT pg_temp.ways('foreign_keys_t', '{"on_error": "ignore", "where": "n % 2 = 0 OR n = 7", "skip": 1, "limit": 1500}');
SELECT pg_temp.ways('foreign_keys_t', '{"on_error": "ignore", "reject_limit": 3}');
SELECT pg_temp.ways('foreign_keys_t', '{"on_error": "ignore", "reject_limit": 4}');
SELECT pg_temp.ways('foreign_keys_t', '{"on_error": "ignore", "reject_limit": "0.05%"}');

-- the reject file, and the NOTICEs at the end
SELECT rows_loaded, rows_rejected, details -> 'rejects' ->> 'foreign_key' AS foreign_key FROM bulk_load('foreign_keys_t', '/proc/self/cwd/pgbulk_foreign_keys_in', '{"on_error": "ignore", "truncate": true, "reject_file": "/proc/self/cwd/pgbulk_foreign_keys_bad"}');
SELECT pg_read_file('/proc/self/cwd/pgbulk_foreign_keys_bad');
SET client_min_messages = notice;
SELECT rows_loaded FROM bulk_load('foreign_keys_t', '/proc/self/cwd/pgbulk_foreign_keys_bad', '{"on_error": "ignore", "log_verbosity": "verbose"}');
SET client_min_messages = warning;
-- bad rows of all kinds, each in its order
SELECT pg_temp.put('in', E'1,1,a\n2,500,b\nthree,1,c\n4,501,d\n5,1\n6,502,f\n7,2,g\n');
SELECT pg_temp.ways('foreign_keys_t', :'ignore');
SELECT pg_temp.ways('foreign_keys_t');
-- other line ends, the last line without one
SELECT pg_temp.put('in', E'1,1,a\r\n2,500,b\r\n4,501,d\r\n7,503,g');
SELECT pg_temp.ways('foreign_keys_t', :'ignore');
-- several files
SELECT rows_loaded, rows_rejected, writer FROM bulk_load('foreign_keys_t', ARRAY[pg_temp.put('in1', E'1,500,a\n2,1,b\n'), pg_temp.put('in2', E'n,p,t\n3,501,c\n4,1,d\n'), pg_temp.put('in3', E'5,1,e\n6,502,f\n')],
	'{"truncate": true, "on_error": "ignore", "log_verbosity": "silent", "reject_table": "foreign_keys_rejects"}');
SELECT substring(file, '[^_]*$') AS file, line_number, byte_offset, reason, raw_line FROM foreign_keys_rejects ORDER BY ctid;
DROP TABLE foreign_keys_t, foreign_keys_rejects;

-- several columns, MATCH SIMPLE and FULL
CREATE TABLE foreign_keys_t (n int, a int, b int, FOREIGN KEY (a, b) REFERENCES foreign_keys_p (a, b));
SELECT pg_temp.put('in', E'1,1,10\n2,2,30\n3,,\n4,4,\n5,,50\n6,6,60\n7,6,70\n');
SELECT pg_temp.ways('foreign_keys_t', :'ignore');
SELECT pg_temp.ways('foreign_keys_t');
DROP TABLE foreign_keys_t;
CREATE TABLE foreign_keys_t (n int, a int, b int, FOREIGN KEY (b, a) REFERENCES foreign_keys_p (b, a) MATCH FULL);
SELECT pg_temp.ways('foreign_keys_t', :'ignore');
SELECT pg_temp.ways('foreign_keys_t');
SELECT pg_temp.put('in', E'1,1,10\n3,,\n4,4,\n5,,50\n2,2,30\n');
SELECT pg_temp.ways('foreign_keys_t');
DROP TABLE foreign_keys_t;
CREATE TABLE foreign_keys_t (a int, b int, FOREIGN KEY (a, b) REFERENCES foreign_keys_p (a, b) MATCH PARTIAL);

-- several keys on one row: the first one by name is reported
CREATE TABLE foreign_keys_t (n int, p int CONSTRAINT key_b REFERENCES foreign_keys_p, k text CONSTRAINT key_a REFERENCES foreign_keys_p (k));
SELECT pg_temp.put('in', E'1,1,key 1\n2,0,key 2\n3,0,no key\n4,4,no key\n5,5,\n6,,\n');
SELECT pg_temp.ways('foreign_keys_t', :'ignore');
SELECT pg_temp.ways('foreign_keys_t');
DROP TABLE foreign_keys_t;

-- other types, domains, collations, values that look different but are equal
CREATE DOMAIN foreign_keys_d AS numeric CHECK (value < 1000);
CREATE TABLE foreign_keys_n (i bigint PRIMARY KEY, n foreign_keys_d UNIQUE, c text COLLATE "C" UNIQUE, v varchar(20) UNIQUE, d date UNIQUE, u uuid UNIQUE, arr int[] UNIQUE, f float8 UNIQUE);
INSERT INTO foreign_keys_n SELECT i, i / 2.0, 'text ' || i, repeat('v', i), '2024-01-01'::date + i, md5(i::text)::uuid, ARRAY[i, i + 1], i FROM generate_series(1, 9) i;
CREATE TABLE foreign_keys_t (n smallint REFERENCES foreign_keys_n (i), m foreign_keys_d REFERENCES foreign_keys_n (n), c text COLLATE "POSIX" REFERENCES foreign_keys_n (c), v text REFERENCES foreign_keys_n (v),
	d date REFERENCES foreign_keys_n (d), u uuid REFERENCES foreign_keys_n (u), arr int[] REFERENCES foreign_keys_n (arr), f float4 REFERENCES foreign_keys_n (f));
COPY (SELECT i, (i / 2.0) || repeat('0', i), 'text ' || i, repeat('v', i), '2024-01-01'::date + i, md5(i::text)::uuid, ARRAY[i, i + 1], i FROM generate_series(1, 11) i) TO '/proc/self/cwd/pgbulk_foreign_keys_in' WITH (FORMAT csv);
SELECT pg_temp.ways('foreign_keys_t', :'ignore');
SELECT pg_temp.put('in', E'1,,,,,,,\n,0.50,,,,,,\n,,text 10,,,,,\n,,,"",,,,\n,,,,2023-01-01,,,\n,,,,,00000000-0000-0000-0000-000000000000,,\n,,,,,,"{1,3}",\n,,,,,,,1.5\n,,,,,,,NaN\n');
SELECT pg_temp.ways('foreign_keys_t', :'ignore');
DROP TABLE foreign_keys_t, foreign_keys_n;
DROP DOMAIN foreign_keys_d;

-- generated columns, defaults, values that are compressed
CREATE TABLE foreign_keys_g (k text PRIMARY KEY);
INSERT INTO foreign_keys_g SELECT repeat('g', 2000) || i FROM generate_series(1, 3) i;
CREATE TABLE foreign_keys_t (n int, k text REFERENCES foreign_keys_g, p int DEFAULT 5 REFERENCES foreign_keys_p, g int GENERATED ALWAYS AS (n * 50) STORED REFERENCES foreign_keys_p, wide text);
ALTER TABLE foreign_keys_t ALTER k SET STORAGE MAIN;
COPY (SELECT i % 3, repeat('g', 2000) || 1 + i % 4, repeat('wide', i * 1000) FROM generate_series(1, 12) i) TO '/proc/self/cwd/pgbulk_foreign_keys_in' WITH (FORMAT csv);
CREATE FUNCTION pg_temp.short(text) RETURNS text LANGUAGE sql AS $$ SELECT regexp_replace(regexp_replace($1, '(wide){2,}', 'wide...', 'g'), 'g{2,}', 'g...', 'g') $$;
SELECT pg_temp.short(pg_temp.ways('foreign_keys_t', '{"on_error": "ignore", "columns": ["n", "k", "wide"]}'));
SELECT pg_temp.short(pg_temp.ways('foreign_keys_t', '{"columns": ["n", "k", "wide"]}'));
DROP TABLE foreign_keys_t, foreign_keys_g;

-- the table itself: rows that come later, rows that are rejected with what they refer to
CREATE TABLE foreign_keys_t (id int PRIMARY KEY, up int REFERENCES foreign_keys_t, p int REFERENCES foreign_keys_p);
SELECT pg_temp.put('in', E'1,,1\n2,1,2\n3,9,3\n4,4,4\n5,6,5\n6,5,6\n7,99,7\n8,7,8\n9,10,9\n10,11,10\n11,3,1000\n12,2,12\n');
SELECT pg_temp.ways('foreign_keys_t', :'ignore', '[{"writer": "buffered"}, {"workers": 2}]');
SELECT id FROM foreign_keys_t ORDER BY id;
SELECT pg_temp.ways('foreign_keys_t', '{}', '[{"writer": "buffered"}, {"workers": 2}]');
DROP TABLE foreign_keys_t;

-- deferrable keys are checked by the server, each at its time
CREATE TABLE foreign_keys_t (n int, p int REFERENCES foreign_keys_p DEFERRABLE INITIALLY DEFERRED);
SELECT pg_temp.put('in', E'1,1\n2,500\n');
BEGIN;
SELECT rows_loaded, writer, details -> 'not_direct' AS not_direct FROM bulk_load('foreign_keys_t', '/proc/self/cwd/pgbulk_foreign_keys_in', :'ignore');
INSERT INTO foreign_keys_p VALUES (500, 'key 500');
COMMIT;
DELETE FROM foreign_keys_t;
DELETE FROM foreign_keys_p WHERE id = 500;
BEGIN;
SELECT rows_loaded FROM bulk_load('foreign_keys_t', '/proc/self/cwd/pgbulk_foreign_keys_in');
COMMIT;
BEGIN;
SET CONSTRAINTS ALL IMMEDIATE;
SELECT rows_loaded FROM bulk_load('foreign_keys_t', '/proc/self/cwd/pgbulk_foreign_keys_in');
ROLLBACK;
SELECT pg_temp.one('foreign_keys_t', '{"writer": "direct"}');
DROP TABLE foreign_keys_t;

-- NOT VALID ones are checked for new rows; triggers that do not fire check nothing
CREATE TABLE foreign_keys_t (n int, p int);
INSERT INTO foreign_keys_t VALUES (0, -1);
ALTER TABLE foreign_keys_t ADD CONSTRAINT not_valid FOREIGN KEY (p) REFERENCES foreign_keys_p NOT VALID;
SELECT rows_loaded, rows_rejected FROM bulk_load('foreign_keys_t', '/proc/self/cwd/pgbulk_foreign_keys_in', '{"writer": "direct", "on_error": "ignore"}');
SELECT * FROM foreign_keys_t ORDER BY n;
SELECT pg_temp.ways('foreign_keys_t');
SET session_replication_role = replica;
SELECT pg_temp.ways('foreign_keys_t');
RESET session_replication_role;
-- nor may that be changed meanwhile
CREATE FUNCTION foreign_keys_role() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('session_replication_role', TG_ARGV[0], true);
	RETURN NULL;
END $$;
CREATE TRIGGER replica BEFORE INSERT ON foreign_keys_t FOR EACH STATEMENT EXECUTE FUNCTION foreign_keys_role('replica');
SELECT pg_temp.ways('foreign_keys_t');
SET session_replication_role = replica;
CREATE OR REPLACE TRIGGER replica BEFORE INSERT ON foreign_keys_t FOR EACH STATEMENT EXECUTE FUNCTION foreign_keys_role('origin');
ALTER TABLE foreign_keys_t ENABLE ALWAYS TRIGGER replica;
SELECT pg_temp.ways('foreign_keys_t');
RESET session_replication_role;
DROP TRIGGER replica ON foreign_keys_t;
DROP FUNCTION foreign_keys_role;
ALTER TABLE foreign_keys_t DISABLE TRIGGER ALL;
SELECT pg_temp.ways('foreign_keys_t');
DROP TABLE foreign_keys_t;

-- partitioned tables, on either side
CREATE TABLE foreign_keys_pp (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE foreign_keys_pp1 PARTITION OF foreign_keys_pp FOR VALUES FROM (0) TO (50);
CREATE TABLE foreign_keys_pp2 PARTITION OF foreign_keys_pp FOR VALUES FROM (50) TO (1000);
INSERT INTO foreign_keys_pp SELECT generate_series(1, 100);
CREATE TABLE foreign_keys_t (n int, p int REFERENCES foreign_keys_pp) PARTITION BY HASH (n);
CREATE TABLE foreign_keys_t1 PARTITION OF foreign_keys_t FOR VALUES WITH (modulus 3, remainder 0);
CREATE TABLE foreign_keys_t2 (p int, x int, n int);
ALTER TABLE foreign_keys_t2 DROP x;
ALTER TABLE foreign_keys_t ATTACH PARTITION foreign_keys_t2 FOR VALUES WITH (modulus 3, remainder 1);
CREATE TABLE foreign_keys_t3 PARTITION OF foreign_keys_t FOR VALUES WITH (modulus 3, remainder 2);
ALTER TABLE foreign_keys_t3 ADD CONSTRAINT own FOREIGN KEY (n) REFERENCES foreign_keys_p;
COPY (SELECT i, CASE WHEN i IN (33, 44, 55, 66) THEN 999 ELSE 1 + i % 100 END FROM generate_series(1, 102) i) TO '/proc/self/cwd/pgbulk_foreign_keys_in' WITH (FORMAT csv);
SELECT pg_temp.ways('foreign_keys_t', :'ignore');
SELECT count(*), (SELECT count(DISTINCT tableoid) FROM foreign_keys_t) FROM foreign_keys_t;
SELECT pg_temp.ways('foreign_keys_t');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.ways('foreign_keys_t', :'ignore');
ROLLBACK;
DROP TABLE foreign_keys_t, foreign_keys_pp;

-- privileges: the referenced table is read as its owner
CREATE ROLE foreign_keys_role;
CREATE ROLE foreign_keys_owner;
GRANT pg_read_server_files TO foreign_keys_role;
GRANT CREATE ON SCHEMA public TO foreign_keys_owner, foreign_keys_role;
CREATE TABLE foreign_keys_secret (id int PRIMARY KEY);
INSERT INTO foreign_keys_secret VALUES (1), (2);
ALTER TABLE foreign_keys_secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE foreign_keys_secret FORCE ROW LEVEL SECURITY;
ALTER TABLE foreign_keys_secret OWNER TO foreign_keys_owner;
CREATE TABLE foreign_keys_t (n int, p int REFERENCES foreign_keys_secret);
GRANT INSERT ON foreign_keys_t TO foreign_keys_role;
SELECT pg_temp.put('in', E'1,1\n2,3\n');
SET ROLE foreign_keys_role;
SELECT rows_loaded, rows_rejected FROM bulk_load('foreign_keys_t', '/proc/self/cwd/pgbulk_foreign_keys_in', :'ignore');
SELECT rows_loaded FROM bulk_load('foreign_keys_t', '/proc/self/cwd/pgbulk_foreign_keys_in');
RESET ROLE;
SELECT count(*) FROM foreign_keys_t;
REVOKE SELECT ON foreign_keys_secret FROM foreign_keys_owner;
SELECT rows_loaded FROM bulk_load('foreign_keys_t', '/proc/self/cwd/pgbulk_foreign_keys_in');
DROP TABLE foreign_keys_t, foreign_keys_secret;
REVOKE CREATE ON SCHEMA public FROM foreign_keys_owner, foreign_keys_role;
DROP ROLE foreign_keys_role, foreign_keys_owner;

-- statement triggers see what is left; with row triggers the server's checks are used
SELECT pg_temp.put('in', E'1,1\n2,500\n');
CREATE TABLE foreign_keys_t (n int, p int REFERENCES foreign_keys_p);
CREATE FUNCTION foreign_keys_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE INFO 'there are % rows', (SELECT count(*) FROM foreign_keys_t); RETURN NULL; END $$;
CREATE TRIGGER t AFTER INSERT ON foreign_keys_t EXECUTE FUNCTION foreign_keys_f();
SELECT pg_temp.ways('foreign_keys_t', :'ignore');
CREATE TRIGGER r AFTER INSERT ON foreign_keys_t FOR EACH ROW WHEN (new.n < 0) EXECUTE FUNCTION foreign_keys_f();
SELECT pg_temp.ways('foreign_keys_t', :'ignore', '[{"writer": "buffered"}, {"writer": "auto"}]'::jsonb - 1);
SELECT pg_temp.one('foreign_keys_t', '{"writer": "direct"}');
DROP TABLE foreign_keys_t;

-- frozen rows cannot be deleted again
CREATE TABLE foreign_keys_t (n int, p int REFERENCES foreign_keys_p);
SELECT rows_loaded, writer FROM bulk_load('foreign_keys_t', '/proc/self/cwd/pgbulk_foreign_keys_in', '{"freeze": true, "truncate": true, "where": "n = 1"}');
SELECT rows_loaded FROM bulk_load('foreign_keys_t', '/proc/self/cwd/pgbulk_foreign_keys_in', '{"freeze": true, "truncate": true, "writer": "direct", "on_error": "ignore"}');
SELECT rows_loaded FROM bulk_load('foreign_keys_t', '/proc/self/cwd/pgbulk_foreign_keys_in', '{"freeze": true, "truncate": true, "on_error": "ignore"}');
DROP TABLE foreign_keys_t;

-- an error leaves no plan behind
CREATE TABLE foreign_keys_t (n int, p int REFERENCES foreign_keys_p);
SELECT pg_temp.one('foreign_keys_t', '{}');
SELECT count(*) AS plans FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource' AND ident LIKE 'SELECT 1 FROM ONLY%FOR KEY SHARE OF x' \gset
DO $$
BEGIN
	FOR i IN 1 .. 20 LOOP
		PERFORM pg_temp.one('foreign_keys_t', '{}');
	END LOOP;
END $$;
SELECT count(*) - :plans AS more FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource' AND ident LIKE 'SELECT 1 FROM ONLY%FOR KEY SHARE OF x';
DROP TABLE foreign_keys_t;

-- temporary and unlogged tables, the binary format
CREATE TEMP TABLE foreign_keys_tp (LIKE foreign_keys_p INCLUDING ALL);
INSERT INTO foreign_keys_tp SELECT * FROM foreign_keys_p;
CREATE TEMP TABLE foreign_keys_t (n int, p int REFERENCES foreign_keys_tp);
SELECT pg_temp.ways('foreign_keys_t', :'ignore');
DROP TABLE foreign_keys_t;
CREATE UNLOGGED TABLE foreign_keys_t (n int, p int REFERENCES foreign_keys_p);
SELECT pg_temp.ways('foreign_keys_t', :'ignore');
COPY (VALUES (1, 1), (2, 500), (3, 3), (4, 501)) TO '/proc/self/cwd/pgbulk_foreign_keys_in' WITH (FORMAT binary);
SELECT pg_temp.ways('foreign_keys_t', '{"format": "binary", "on_error": "ignore"}');
SELECT line_number, raw_line, encode(raw_bytes, 'hex') AS raw_bytes FROM foreign_keys_rejects ORDER BY ctid;
DROP TABLE foreign_keys_t, foreign_keys_tp, foreign_keys_p, foreign_keys_rejects;
DROP FUNCTION foreign_keys_f;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_foreign_keys_gone; rm -f pgbulk_foreign_keys_*';
