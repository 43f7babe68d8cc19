--
-- Which rows a rebuilt index contains, whatever has happened to old ones.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
COPY (SELECT i, 'new', i FROM generate_series(100001, 103000) i) TO '/proc/self/cwd/pgbulk_index_rows' WITH (FORMAT csv);

CREATE TABLE index_rows (a int, b text, c int) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX index_rows_a ON index_rows (a);
CREATE INDEX index_rows_e ON index_rows ((c + 1), lower(b)) WHERE c % 2 = 0;
CREATE INDEX index_rows_h ON index_rows USING hash (b);

-- loads, and compares index scans with the table
CREATE FUNCTION pg_temp.load() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	there text;
	found text;
BEGIN
	SELECT rows_loaded || ' ' || writer || ' ' || (details #>> '{indexes,0,method}') INTO result
		FROM bulk_load('index_rows', '/proc/self/cwd/pgbulk_index_rows', '{"writer": "direct", "indexes": "rebuild"}');
	PERFORM bt_index_parent_check(i::regclass, true, true) FROM unnest(ARRAY['index_rows_a', 'index_rows_e']) i;
	SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_seqscan = on;
	SELECT concat_ws(' ', (SELECT format('%s %s %s', count(*), sum(a), md5(string_agg(b, ',' ORDER BY a))) FROM index_rows),
		(SELECT format('%s %s', count(*), sum(c)) FROM index_rows WHERE c % 2 = 0 AND c + 1 > 0),
		(SELECT count(*) FROM index_rows WHERE b = 'changed')) INTO there;
	SET LOCAL enable_indexscan = on; SET LOCAL enable_bitmapscan = on; SET LOCAL enable_indexonlyscan = on; SET LOCAL enable_seqscan = off;
	EXECUTE $q$ SELECT concat_ws(' ', (SELECT format('%s %s %s', count(*), sum(a), md5(string_agg(b, ',' ORDER BY a))) FROM index_rows WHERE a > -1000000),
		(SELECT format('%s %s', count(*), sum(c)) FROM index_rows WHERE c % 2 = 0 AND c + 1 > 0),
		(SELECT count(*) FROM index_rows WHERE b = 'changed')) $q$ INTO found;
	RETURN result || CASE WHEN there = found THEN ', all found: ' ELSE ', but there are ' || there || ', and found ' END || found;
END
$$;

-- live rows
BEGIN;
INSERT INTO index_rows SELECT i, 'old', i FROM generate_series(1, 3000) i;
SELECT pg_temp.load();
ROLLBACK;
INSERT INTO index_rows SELECT i, 'old', i FROM generate_series(1, 3000) i;
BEGIN; SELECT pg_temp.load(); ROLLBACK;
VACUUM (FREEZE) index_rows;
BEGIN; SELECT pg_temp.load(); ROLLBACK;

-- versions: of the same page and of others, of this transaction and of others
UPDATE index_rows SET c = c, b = 'changed' WHERE a % 100 = 1;
DELETE FROM index_rows WHERE a % 100 = 2;
BEGIN; SELECT pg_temp.load(); ROLLBACK;
BEGIN;
UPDATE index_rows SET b = 'changed' WHERE a % 50 = 3;
UPDATE index_rows SET c = c + 2 WHERE a % 50 = 4;
DELETE FROM index_rows WHERE a % 50 = 5;
SELECT count(*) FROM (SELECT FROM index_rows WHERE a % 50 = 6 FOR UPDATE) locked;
SELECT pg_temp.load();
ROLLBACK;
BEGIN; SELECT pg_temp.load(); ROLLBACK;

-- of subtransactions
BEGIN;
SAVEPOINT s;
INSERT INTO index_rows SELECT i, 'gone', i FROM generate_series(10001, 10100) i;
UPDATE index_rows SET b = 'gone' WHERE a % 40 = 7;
ROLLBACK TO s;
INSERT INTO index_rows SELECT i, 'kept', i FROM generate_series(10001, 10100) i;
UPDATE index_rows SET b = 'changed' WHERE a % 40 = 7;
SAVEPOINT t;
UPDATE index_rows SET b = 'changed', c = -c WHERE a % 40 IN (7, 8);
DELETE FROM index_rows WHERE a % 40 = 9;
RELEASE t;
SELECT pg_temp.load();
COMMIT;
SELECT bt_index_parent_check(i::regclass, true, true) FROM unnest(ARRAY['index_rows_a', 'index_rows_e']) i;

-- a load that was rolled back, and what VACUUM leaves of it
DELETE FROM index_rows WHERE a > 100000;
BEGIN; SELECT pg_temp.load(); ROLLBACK;
BEGIN; SELECT pg_temp.load(); ROLLBACK;
VACUUM index_rows;
UPDATE index_rows SET b = 'changed' WHERE a % 30 = 8;
VACUUM index_rows;
SELECT pg_temp.load();

-- duplicates of dead rows do not count, those of live ones do
\set VERBOSITY terse
SELECT pg_temp.load();
DELETE FROM index_rows WHERE a > 100000;
SELECT pg_temp.load();
DROP TABLE index_rows;

-- wide values, and functions that are slow for few rows
CREATE TABLE index_rows (a int, b text);
ALTER TABLE index_rows ALTER b SET STORAGE external;
CREATE INDEX index_rows_b ON index_rows (b);
CREATE INDEX index_rows_l ON index_rows (length(b)) WHERE b > '5';
COPY (SELECT i, repeat(md5(i::text), 70) FROM generate_series(1, 500) i) TO '/proc/self/cwd/pgbulk_index_rows' WITH (FORMAT csv);
SELECT rows_loaded, writer FROM bulk_load('index_rows', '/proc/self/cwd/pgbulk_index_rows', '{"writer": "direct"}');
SELECT rows_loaded, writer FROM bulk_load('index_rows', '/proc/self/cwd/pgbulk_index_rows', '{"writer": "direct", "indexes": "rebuild"}');
SELECT bt_index_parent_check(i::regclass, true, true) FROM unnest(ARRAY['index_rows_b', 'index_rows_l']) i;
SELECT count(*), count(DISTINCT b) FROM index_rows WHERE length(b) = 2240 AND b > '5';
DROP TABLE index_rows;
DROP EXTENSION amcheck;
