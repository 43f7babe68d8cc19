--
-- The direct writer: whole pages at the end of a plain heap table.
--
COPY (SELECT i, CASE WHEN i % 7 > 0 THEN repeat(chr(97 + i % 26), i % 90) END, i % 13 = 0, i / 8.0, '2024-01-01'::date + i
	FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_direct_in' WITH (FORMAT csv);
CREATE TABLE direct_copy (a int NOT NULL, b text, c bool, d numeric(12,3), e date);
CREATE TABLE direct_t (LIKE direct_copy);
COPY direct_copy FROM '/proc/self/cwd/pgbulk_direct_in' WITH (FORMAT csv);
SELECT rows_loaded, rows_read, writer, workers FROM bulk_load('direct_t', '/proc/self/cwd/pgbulk_direct_in', '{"writer": "direct"}');

-- the same rows in the order of the file, on no more pages than COPY takes
SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY ctid), * FROM direct_t EXCEPT ALL SELECT a, * FROM direct_copy) x;
SELECT pg_relation_size('direct_t') <= 1.02 * pg_relation_size('direct_copy') AS size;
-- the same, except hint bits
CREATE EXTENSION IF NOT EXISTS pageinspect;
SELECT count(*) FROM generate_series(0, 9) block,
	LATERAL heap_page_items(get_raw_page('direct_t', block)) a
	JOIN LATERAL heap_page_items(get_raw_page('direct_copy', block)) b ON a.lp = b.lp
WHERE (a.lp_off, a.lp_len, a.lp_flags, a.t_infomask2, a.t_infomask & ~ x'0300'::int, a.t_hoff, a.t_bits, a.t_ctid, a.t_data) IS DISTINCT FROM
	(b.lp_off, b.lp_len, b.lp_flags, b.t_infomask2, b.t_infomask & ~ x'0300'::int, b.t_hoff, b.t_bits, b.t_ctid, b.t_data);

-- after the old rows, in input order; within a transaction and subtransactions
SELECT rows_loaded FROM bulk_load('direct_t', '/proc/self/cwd/pgbulk_direct_in', '{"writer": "direct", "limit": 5}');
SELECT a FROM direct_t ORDER BY ctid OFFSET 19998;
BEGIN;
SELECT rows_loaded FROM bulk_load('direct_t', '/proc/self/cwd/pgbulk_direct_in', '{"writer": "direct"}');
SAVEPOINT s;
SELECT rows_loaded FROM bulk_load('direct_t', '/proc/self/cwd/pgbulk_direct_in', '{"writer": "direct"}');
SELECT count(*) FROM direct_t;
ROLLBACK TO s;
SELECT count(*) FROM direct_t;
SELECT mode FROM pg_locks WHERE relation = 'direct_t'::regclass AND mode ~ 'ShareRow';
ROLLBACK;
SELECT count(*) FROM direct_t;
VACUUM direct_t;
SELECT count(*), sum(a) FROM direct_t;

-- values that go to the TOAST table, rows of all widths, pages left free in part
CREATE TABLE direct_wide (a int, b text) WITH (fillfactor = 50);
ALTER TABLE direct_wide ALTER b SET STORAGE external;
COPY (SELECT i, repeat(md5(i::text), i * i / 40) FROM generate_series(1, 200) i) TO '/proc/self/cwd/pgbulk_direct_wide' WITH (FORMAT csv);
SELECT rows_loaded FROM bulk_load('direct_wide', '/proc/self/cwd/pgbulk_direct_wide', '{"writer": "direct"}');
SELECT count(*), bool_and(b = repeat(md5(a::text), a * a / 40)) AS right FROM direct_wide;
SELECT max(upper - lower) >= 4096 AS half FROM generate_series(0, 3) block, page_header(get_raw_page('direct_wide', block));

-- bad rows, where, defaults, generated columns, checks, domains
CREATE SEQUENCE direct_s;
CREATE DOMAIN direct_even AS int CHECK (value % 2 = 0);
CREATE TABLE direct_more (n int DEFAULT nextval('direct_s'), a int CHECK (a <> 5), b direct_even, g int GENERATED ALWAYS AS (a * 10) STORED);
COPY (VALUES ('1,2'), ('2,3'), ('three,4'), ('5,6'), ('6,8'), ('7'), ('-1,8'), ('8,10')) TO '/proc/self/cwd/pgbulk_direct_more';
SELECT rows_loaded, rows_rejected, rows_filtered, writer FROM bulk_load('direct_more', '/proc/self/cwd/pgbulk_direct_more',
	'{"writer": "direct", "columns": ["a", "b"], "where": "a > 0", "on_error": "ignore", "log_verbosity": "silent"}');
TABLE direct_more;
-- a batch is placed among bad rows: the guard's subtransactions leave no trace
CREATE TABLE direct_json (a int CHECK (a >= 0), j jsonb);
COPY (SELECT i || ',' || CASE WHEN i % 100 = 0 THEN 'no json' ELSE to_json(repeat('x', 100))::text END FROM generate_series(1, 20000) i)
	TO '/proc/self/cwd/pgbulk_direct_json';
SELECT rows_loaded, rows_rejected FROM bulk_load('direct_json', '/proc/self/cwd/pgbulk_direct_json',
	'{"writer": "direct", "quote": "~", "on_error": "ignore", "log_verbosity": "silent"}');
SELECT count(*), count(DISTINCT xmin::text) FROM direct_json;

-- unlogged and temporary tables, a new one, an empty file
CREATE UNLOGGED TABLE direct_unlogged (LIKE direct_copy);
CREATE TEMPORARY TABLE direct_temp (LIKE direct_copy);
SELECT rows_loaded, (details ->> 'wal_bytes')::int < 100000 AS little FROM bulk_load('direct_unlogged', '/proc/self/cwd/pgbulk_direct_in', '{"writer": "direct"}');
SELECT rows_loaded FROM bulk_load('direct_temp', '/proc/self/cwd/pgbulk_direct_in', '{"writer": "direct"}');
SELECT count(*) FROM (TABLE direct_copy EXCEPT ALL TABLE direct_unlogged) x;
SELECT count(*) FROM (TABLE direct_copy EXCEPT ALL TABLE direct_temp) x;
BEGIN;
CREATE TABLE direct_new (LIKE direct_copy);
SELECT rows_loaded FROM bulk_load('direct_new', '/proc/self/cwd/pgbulk_direct_in', '{"writer": "direct"}');
COMMIT;
SELECT count(*) FROM (TABLE direct_copy EXCEPT ALL TABLE direct_new) x;
SELECT rows_loaded, writer FROM bulk_load('direct_new', '/proc/self/cwd/pgbulk_direct_in', '{"writer": "direct", "truncate": true, "limit": 3}');
SELECT count(*) FROM direct_new;

-- what it cannot serve, and why
CREATE TABLE direct_index (a int PRIMARY KEY);
CREATE TABLE direct_fk (a int REFERENCES direct_index DEFERRABLE);
CREATE TABLE direct_trigger (a int);
CREATE FUNCTION direct_f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
CREATE TRIGGER t BEFORE INSERT ON direct_trigger FOR EACH ROW EXECUTE FUNCTION direct_f();
SELECT bulk_load('direct_fk', '/proc/self/cwd/pgbulk_direct_in', '{"writer": "direct"}');
SELECT bulk_load('direct_trigger', '/proc/self/cwd/pgbulk_direct_in', '{"writer": "direct"}');
CREATE TABLE direct_catalog (a int) WITH (user_catalog_table = true);
SELECT bulk_load('direct_catalog', '/proc/self/cwd/pgbulk_direct_in', '{"writer": "direct"}');
DROP TABLE direct_catalog;
-- the lock needs a privilege to change rows
CREATE ROLE direct_role;
GRANT pg_read_server_files TO direct_role;
GRANT INSERT ON direct_t TO direct_role;
SET ROLE direct_role;
\set VERBOSITY terse
SELECT bulk_load('direct_t', '/proc/self/cwd/pgbulk_direct_in', '{"writer": "direct"}');
\set VERBOSITY default
SELECT bulk_load('direct_t', '/proc/self/cwd/pgbulk_direct_in', '{"truncate": true}');
RESET ROLE;
GRANT DELETE ON direct_t TO direct_role;
SET ROLE direct_role;
SELECT rows_loaded FROM bulk_load('direct_t', '/proc/self/cwd/pgbulk_direct_in', '{"writer": "direct", "limit": 1}');
RESET ROLE;

DROP TABLE direct_copy, direct_t, direct_wide, direct_more, direct_json, direct_unlogged, direct_new, direct_fk, direct_index, direct_trigger;
DROP FUNCTION direct_f;
DROP SEQUENCE direct_s;
DROP DOMAIN direct_even;
REVOKE pg_read_server_files FROM direct_role;
DROP ROLE direct_role;
DROP EXTENSION pageinspect;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_direct_gone; rm -f pgbulk_direct_*';
