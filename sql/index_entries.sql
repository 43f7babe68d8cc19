--
-- Index entries of the buffered writer, which are collected and then inserted by the leaf.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
SET maintenance_work_mem = '1MB';

CREATE FUNCTION pg_temp.load(target regclass, options jsonb DEFAULT '{}') RETURNS bigint LANGUAGE sql AS $$
	SELECT rows_loaded FROM bulk_load(target, '/proc/self/cwd/pgbulk_index_entries_in', options || '{"writer": "buffered"}') $$;
-- indexes that are corrupt; an error names one
CREATE FUNCTION pg_temp.check_all(target regclass) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(bt_index_parent_check(indexrelid, true, true)) FROM pg_index JOIN pg_class c ON c.oid = indexrelid
	WHERE indrelid = target AND c.relam = 403 $$;

-- keys of all kinds, pages that split often
CREATE TABLE index_entries_t (id int, few int, words text, bytes text COLLATE "C", long text, number numeric, moment timestamptz);
CREATE UNIQUE INDEX index_entries_1 ON index_entries_t (id) WITH (fillfactor = 20);
CREATE INDEX index_entries_2 ON index_entries_t (few) WITH (fillfactor = 20);
CREATE INDEX index_entries_3 ON index_entries_t (words DESC NULLS LAST, few) WITH (fillfactor = 20);
CREATE INDEX index_entries_4 ON index_entries_t (bytes NULLS FIRST) INCLUDE (few) WITH (fillfactor = 20);
CREATE INDEX index_entries_5 ON index_entries_t (long) WITH (fillfactor = 20);
CREATE INDEX index_entries_6 ON index_entries_t (number) WITH (deduplicate_items = off);
CREATE INDEX index_entries_7 ON index_entries_t (moment) WHERE id % 3 = 0;
CREATE UNIQUE INDEX index_entries_8 ON index_entries_t ((id % 7), id, words);
CREATE UNIQUE INDEX index_entries_9 ON index_entries_t ((CASE WHEN id % 5 = 0 THEN id END));
CREATE INDEX index_entries_10 ON index_entries_t USING hash (words);
CREATE INDEX index_entries_11 ON index_entries_t USING brin (id);
CREATE FUNCTION pg_temp.some_rows(first int, last int) RETURNS SETOF index_entries_t LANGUAGE sql AS $$
	SELECT (i * 7919) % 100003, i % 11, CASE WHEN i % 13 > 0 THEN 'word ' || (i * 31) % 3001 END, CASE WHEN i % 17 > 0 THEN md5((i % 500)::text) END,
		repeat(md5((i % 40)::text), i % 40), CASE WHEN i % 2 = 0 THEN (i % 100)::numeric(10, 1) ELSE (i % 100)::numeric(10, 3) END,
		timestamptz '2020-01-01 UTC' + i % 1000 * interval '1 minute'
	FROM generate_series(first, last) i $$;
INSERT INTO index_entries_t SELECT * FROM pg_temp.some_rows(1, 5000);
COPY (SELECT * FROM pg_temp.some_rows(5001, 15000)) TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_t'), pg_temp.check_all('index_entries_t');
-- into pages with free space of old rows
DELETE FROM index_entries_t WHERE id % 3 = 0;
VACUUM index_entries_t;
COPY (SELECT * FROM pg_temp.some_rows(15001, 25000)) TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_t'), pg_temp.check_all('index_entries_t');
SET enable_seqscan = off;
SELECT count(*), count(DISTINCT id) FROM index_entries_t WHERE id >= 0;
SELECT count(*) FROM index_entries_t WHERE words = 'word 31';
RESET enable_seqscan;
SELECT count(*) FROM index_entries_t WHERE words || '' = 'word 31';

-- an empty index, and one in a transaction of its own
CREATE TABLE index_entries_empty (LIKE index_entries_t INCLUDING INDEXES);
SELECT pg_temp.load('index_entries_empty'), pg_temp.check_all('index_entries_empty');
BEGIN;
TRUNCATE index_entries_empty;
SELECT pg_temp.load('index_entries_empty');
COMMIT;
SELECT pg_temp.check_all('index_entries_empty');
CREATE TEMP TABLE index_entries_temp (LIKE index_entries_t INCLUDING INDEXES);
SELECT pg_temp.load('index_entries_temp'), pg_temp.check_all('index_entries_temp');
CREATE UNLOGGED TABLE index_entries_unlogged (LIKE index_entries_t INCLUDING INDEXES);
SELECT pg_temp.load('index_entries_unlogged'), pg_temp.check_all('index_entries_unlogged');

-- duplicates: the first in the file is reported, although another one comes first in the index
CREATE TABLE index_entries_u (a int PRIMARY KEY, b text UNIQUE, c int);
INSERT INTO index_entries_u VALUES (-1, 'old', 0), (70000, 'older', 0);
COPY (SELECT CASE i WHEN 3000 THEN 70000 WHEN 4000 THEN -1 ELSE i END, 'text ' || i, i FROM generate_series(1, 6000) i)
	TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_u');
-- and the first index of a row; both rows are in the file
COPY (SELECT CASE i WHEN 5000 THEN 2500 ELSE i END, CASE i WHEN 5000 THEN 'text 2600' WHEN 5001 THEN 'text 5' ELSE 'text ' || i END, i
	FROM generate_series(1, 6000) i) TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_u');
SELECT count(*) FROM index_entries_u;
-- nulls are not duplicates, nor are dead rows
ALTER TABLE index_entries_u DROP CONSTRAINT index_entries_u_pkey, ALTER a DROP NOT NULL, ADD UNIQUE (a);
DELETE FROM index_entries_u;
INSERT INTO index_entries_u SELECT i, 'text ' || i FROM generate_series(1, 3000) i;
DELETE FROM index_entries_u;
COPY (SELECT CASE WHEN i % 2 = 0 THEN i END, CASE WHEN i % 3 > 0 THEN 'text ' || i END, i FROM generate_series(1, 6000) i)
	TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_u'), pg_temp.check_all('index_entries_u');
SELECT count(*), count(a), count(b) FROM index_entries_u;
-- except where they are
CREATE TABLE index_entries_n (a int, b text, c int, UNIQUE NULLS NOT DISTINCT (a));
COPY (SELECT CASE WHEN i NOT IN (2000, 5000) THEN i END, 'text ' || i, i FROM generate_series(1, 6000) i)
	TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_n');

-- a key too large for a page, another one too large for a tuple, and an expression that throws
CREATE TABLE index_entries_big (a int, b text, c int);
CREATE INDEX index_entries_big_b ON index_entries_big (b);
CREATE FUNCTION index_entries_scattered(n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg(md5(i::text), '') FROM generate_series(1, n) i $$;
COPY (SELECT i, CASE i WHEN 3500 THEN index_entries_scattered(150) ELSE 'text' END, i FROM generate_series(1, 6000) i)
	TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
\set VERBOSITY terse
SELECT pg_temp.load('index_entries_big');
COPY (SELECT i, CASE i WHEN 3500 THEN index_entries_scattered(1500) ELSE 'text' END, i FROM generate_series(1, 6000) i)
	TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_big');
\set VERBOSITY default
TRUNCATE index_entries_big;
CREATE INDEX index_entries_big_c ON index_entries_big ((10 / (a - 3500)));
COPY (SELECT i, 'text', i FROM generate_series(1, 6000) i) TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_big');

-- bad rows are rejected, triggers and foreign keys see all others
DROP INDEX index_entries_big_c;
CREATE TABLE index_entries_refers (a int PRIMARY KEY, b text REFERENCES index_entries_u (b), c int REFERENCES index_entries_refers);
CREATE INDEX ON index_entries_refers (b);
CREATE TABLE index_entries_seen (n bigint);
CREATE FUNCTION pg_temp.look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.a = 3 THEN
		SET LOCAL enable_seqscan = off;
		INSERT INTO index_entries_seen SELECT count(*) FROM index_entries_refers WHERE a BETWEEN 1 AND 10000;
	END IF;
	RETURN NULL;
END $$;
COPY (SELECT i || CASE WHEN i % 1000 = 7 THEN 'x' ELSE '' END, CASE WHEN i % 3 > 0 THEN 'text ' || i END, CASE WHEN i > 5000 THEN i - 5000 END FROM generate_series(1, 6000) i)
	TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_refers', '{"on_error": "ignore"}'), pg_temp.check_all('index_entries_refers');
DELETE FROM index_entries_refers;
CREATE TRIGGER look AFTER INSERT ON index_entries_refers FOR EACH ROW EXECUTE FUNCTION pg_temp.look();
SELECT pg_temp.load('index_entries_refers', '{"on_error": "ignore"}'), pg_temp.check_all('index_entries_refers');
SELECT * FROM index_entries_seen;
-- a function that reads the table meanwhile finds the same with and without an index
CREATE TABLE index_entries_looks (a int PRIMARY KEY, b text, c int);
CREATE FUNCTION index_entries_agree(n int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	by_index bigint; by_scan bigint;
BEGIN
	IF n % 1000 > 0 THEN RETURN true; END IF;
	SET LOCAL enable_seqscan = off;
	SELECT count(*) INTO by_index FROM index_entries_looks WHERE a > 0;
	RESET enable_seqscan;
	SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexonlyscan = off;
	SELECT count(*) INTO by_scan FROM index_entries_looks WHERE a > 0;
	RESET enable_indexscan; RESET enable_bitmapscan; RESET enable_indexonlyscan;
	RETURN by_index = by_scan AND (by_scan > 1000 OR n < 4000);
END $$;
ALTER TABLE index_entries_looks ADD CHECK (index_entries_agree(a));
COPY (SELECT i, 'text', i FROM generate_series(1, 6000) i) TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_looks');
-- one that a domain calls, within another type, too
ALTER TABLE index_entries_looks DROP CONSTRAINT index_entries_looks_a_check;
CREATE DOMAIN index_entries_number AS int CHECK (index_entries_agree(VALUE));
CREATE TYPE index_entries_pair AS (a int, b index_entries_number[]);
ALTER TABLE index_entries_looks ADD d index_entries_number;
TRUNCATE index_entries_looks;
COPY (SELECT i, 'text', i, i FROM generate_series(1, 6000) i) TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_looks');
ALTER TABLE index_entries_looks ALTER d TYPE index_entries_pair USING NULL;
TRUNCATE index_entries_looks;
COPY (SELECT i, 'text', i, format('(%s,{%s})', i, i) FROM generate_series(1, 6000) i) TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv, DELIMITER ';');
SELECT rows_loaded FROM bulk_load('index_entries_looks', '/proc/self/cwd/pgbulk_index_entries_in', '{"writer": "buffered", "delimiter": ";"}');
COPY (SELECT i, 'text', i FROM generate_series(1, 6000) i) TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
-- one that the condition of a trigger calls
CREATE TABLE index_entries_again (a int, b text, c int);
CREATE INDEX ON index_entries_again (a);
CREATE FUNCTION index_entries_known(n int) RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
	RETURN (SELECT count(*) FROM index_entries_again WHERE a = n) > 1;
END $$;
CREATE FUNCTION pg_temp.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO index_entries_seen VALUES (NEW.a);
	RETURN NULL;
END $$;
CREATE TRIGGER note AFTER INSERT ON index_entries_again FOR EACH ROW WHEN (index_entries_known(NEW.a)) EXECUTE FUNCTION pg_temp.note();
TRUNCATE index_entries_seen;
COPY (SELECT 1 + i % 2500, 'text', i FROM generate_series(0, 4999) i) TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_again');
SELECT count(*) FROM index_entries_seen;
DROP TABLE index_entries_again;
DROP FUNCTION index_entries_known(int);
COPY (SELECT i, 'text', i FROM generate_series(1, 6000) i) TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);

-- nothing of a dry run remains
SELECT pg_temp.load('index_entries_big', '{"dry_run": true, "on_error": "ignore"}'), pg_temp.check_all('index_entries_big');
SELECT count(*) FROM index_entries_big;

-- several processes, whether they start or not; also within a subtransaction, and where duplicates are errors
CREATE TABLE index_entries_workers (a int PRIMARY KEY, b text, c numeric);
CREATE INDEX ON index_entries_workers (b, c) WHERE a % 3 > 0;
CREATE INDEX ON index_entries_workers (lower(b) DESC) INCLUDE (a);
CREATE INDEX ON index_entries_workers USING hash (b);
SET maintenance_work_mem = '4MB';
COPY (SELECT i * 7919 % 100003, 'text ' || i % 1000, CASE WHEN i % 9 > 0 THEN i % 100 END FROM generate_series(1, 60000) i)
	TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_workers', '{"workers": 2}'), pg_temp.check_all('index_entries_workers');
COPY (SELECT i * 7919 % 100003 + 200000, 'text ' || i % 1000, CASE WHEN i % 1000 = 7 THEN 'bad' ELSE 'NaN' END FROM generate_series(1, 60000) i)
	TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
BEGIN;
SAVEPOINT a;
SELECT pg_temp.load('index_entries_workers', '{"workers": 2, "on_error": "ignore"}'), pg_temp.check_all('index_entries_workers');
ROLLBACK TO a;
SELECT pg_temp.load('index_entries_workers', '{"workers": 1, "on_error": "ignore", "truncate": true}'), pg_temp.check_all('index_entries_workers');
COMMIT;
SELECT count(*), count(c), min(a), max(a) FROM index_entries_workers;
COPY (SELECT i, 'text ' || i % 1000, i FROM generate_series(400000, 460000) i UNION ALL SELECT 450000, 'again', 0)
	TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_workers', '{"workers": 2}');
SELECT count(*) FROM index_entries_workers;

-- equal keys whose entries have other bytes, as the column was stored otherwise
CREATE TABLE index_entries_stored (s text);
CREATE INDEX ON index_entries_stored (s);
COPY (SELECT 'key ' || i % 300 FROM generate_series(1, 4000) i) TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT pg_temp.load('index_entries_stored', '{"workers": 0}'), pg_temp.check_all('index_entries_stored');
ALTER TABLE index_entries_stored ALTER s SET STORAGE PLAIN;
SELECT pg_temp.load('index_entries_stored', '{"workers": 0}'), pg_temp.check_all('index_entries_stored');
ALTER TABLE index_entries_stored ALTER s SET STORAGE EXTENDED;
SELECT pg_temp.load('index_entries_stored', '{"workers": 0}'), pg_temp.check_all('index_entries_stored');
DROP TABLE index_entries_stored;

-- the same where blanks at the end do not count, whatever the operator class says of equal keys: once each, as an assertion
-- of the server's does not hold where such keys are beside each other at the end of a page
CREATE TABLE index_entries_blanks (k bpchar, n int);
CREATE UNIQUE INDEX ON index_entries_blanks (k);
INSERT INTO index_entries_blanks SELECT 'key ' || i || repeat(' ', i % 3), -i FROM generate_series(1, 3000) i;
COPY (SELECT 'key ' || CASE WHEN i = 3500 THEN 1 ELSE 5000 + i END, i FROM generate_series(1, 4000) i) TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
\set VERBOSITY terse
SELECT pg_temp.load('index_entries_blanks', '{"workers": 0}');
SELECT rows_loaded FROM bulk_load('index_entries_blanks', '/proc/self/cwd/pgbulk_index_entries_in', '{"writer": "direct", "indexes": "insert"}');
\set VERBOSITY default
COPY (SELECT 'key ' || i * 2, i FROM generate_series(1, 4000) i) TO '/proc/self/cwd/pgbulk_index_entries_in' WITH (FORMAT csv);
SELECT rows_loaded, rows_duplicate FROM bulk_load('index_entries_blanks', '/proc/self/cwd/pgbulk_index_entries_in', '{"writer": "buffered", "on_duplicate": "keep_old"}');
SELECT rows_loaded, rows_replaced FROM bulk_load('index_entries_blanks', '/proc/self/cwd/pgbulk_index_entries_in', '{"writer": "buffered", "on_duplicate": "keep_new"}');
SELECT pg_temp.check_all('index_entries_blanks'), count(*), count(DISTINCT k), sum(n) FROM index_entries_blanks;
DROP TABLE index_entries_blanks;

DROP FUNCTION pg_temp.some_rows(int, int);
DROP TABLE index_entries_workers, index_entries_looks, index_entries_t, index_entries_empty, index_entries_unlogged, index_entries_refers, index_entries_u, index_entries_n, index_entries_big, index_entries_seen;
DROP TYPE index_entries_pair;
DROP DOMAIN index_entries_number;
DROP FUNCTION index_entries_scattered(int), index_entries_agree(int);
DROP EXTENSION amcheck;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_index_entries_gone; rm -f pgbulk_index_entries_*';
