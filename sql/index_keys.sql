--
-- Keys whose bytes distinguish less, or more, than their operator class.
--
CREATE EXTENSION amcheck;

-- a type of an extension in a family of the server's
SET client_min_messages = warning;
CREATE TYPE keys_unsigned;
CREATE FUNCTION keys_in(cstring) RETURNS keys_unsigned LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'oidin';
CREATE FUNCTION keys_out(keys_unsigned) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'oidout';
CREATE TYPE keys_unsigned (INPUT = keys_in, OUTPUT = keys_out, LIKE = int4);
RESET client_min_messages;
CREATE FUNCTION keys_lt(keys_unsigned, keys_unsigned) RETURNS bool LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'oidlt';
CREATE FUNCTION keys_le(keys_unsigned, keys_unsigned) RETURNS bool LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'oidle';
CREATE FUNCTION keys_eq(keys_unsigned, keys_unsigned) RETURNS bool LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'oideq';
CREATE FUNCTION keys_ge(keys_unsigned, keys_unsigned) RETURNS bool LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'oidge';
CREATE FUNCTION keys_gt(keys_unsigned, keys_unsigned) RETURNS bool LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'oidgt';
CREATE FUNCTION keys_cmp(keys_unsigned, keys_unsigned) RETURNS int LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'btoidcmp';
CREATE OPERATOR < (LEFTARG = keys_unsigned, RIGHTARG = keys_unsigned, PROCEDURE = keys_lt);
CREATE OPERATOR <= (LEFTARG = keys_unsigned, RIGHTARG = keys_unsigned, PROCEDURE = keys_le);
CREATE OPERATOR = (LEFTARG = keys_unsigned, RIGHTARG = keys_unsigned, PROCEDURE = keys_eq);
CREATE OPERATOR >= (LEFTARG = keys_unsigned, RIGHTARG = keys_unsigned, PROCEDURE = keys_ge);
CREATE OPERATOR > (LEFTARG = keys_unsigned, RIGHTARG = keys_unsigned, PROCEDURE = keys_gt);
CREATE OPERATOR CLASS keys_ops DEFAULT FOR TYPE keys_unsigned USING btree FAMILY integer_ops AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 keys_cmp(keys_unsigned, keys_unsigned);
CREATE TABLE keys_u (u keys_unsigned PRIMARY KEY, n int);
COPY (SELECT i::bigint * 858993 % 4294967296, i FROM generate_series(1, 3000) i) TO '/proc/self/cwd/pgbulk_keys_u' WITH (FORMAT csv);
SELECT rows_loaded, details #>> '{indexes,0,method}' AS method FROM bulk_load('keys_u', '/proc/self/cwd/pgbulk_keys_u', '{"limit": 2000}');
SELECT bt_index_parent_check('keys_u_pkey', true, true);
SELECT rows_loaded, rows_duplicate, details #>> '{indexes,0,method}' AS method
	FROM bulk_load('keys_u', '/proc/self/cwd/pgbulk_keys_u', '{"skip": 1700, "writer": "direct", "indexes": "merge", "on_duplicate": "keep_old", "log_verbosity": "silent"}');
SELECT bt_index_parent_check('keys_u_pkey', true, true);
SELECT count(*), count(DISTINCT u) FROM keys_u;
DROP TABLE keys_u;

-- the same text with two headers, one of them from before
CREATE TABLE keys_h (k text, n int);
CREATE INDEX keys_h_k ON keys_h (k);
INSERT INTO keys_h SELECT 'k' || i % 50, i FROM generate_series(1, 30000) i;
ALTER TABLE keys_h ALTER k SET STORAGE PLAIN;
COPY (SELECT 'k' || i % 60, i FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_keys_h' WITH (FORMAT csv);
SELECT rows_loaded, details #>> '{indexes,0,method}' AS method FROM bulk_load('keys_h', '/proc/self/cwd/pgbulk_keys_h', '{"writer": "direct", "indexes": "merge"}');
SELECT bt_index_parent_check('keys_h_k', true, true);
ALTER TABLE keys_h ALTER k SET STORAGE EXTENDED;
SELECT rows_loaded, details #>> '{indexes,0,method}' AS method FROM bulk_load('keys_h', '/proc/self/cwd/pgbulk_keys_h', '{"writer": "direct", "indexes": "merge"}');
SELECT bt_index_parent_check('keys_h_k', true, true);
DELETE FROM keys_h WHERE n % 2 = 0;
VACUUM keys_h;
INSERT INTO keys_h SELECT 'k' || i % 50, i FROM generate_series(1, 3000) i;
SELECT bt_index_parent_check('keys_h_k', true, true);
DROP TABLE keys_h;

-- unique keys of both kinds: the old row is found
CREATE TABLE keys_d (k text, n int);
CREATE UNIQUE INDEX keys_d_k ON keys_d (k);
INSERT INTO keys_d SELECT 'k' || i, 1 FROM generate_series(1, 1000) i;
ALTER TABLE keys_d ALTER k SET STORAGE PLAIN;
UPDATE keys_d SET n = 2, k = k || '' WHERE n % 3 = 1;
COPY (SELECT 'k' || i, 3 FROM generate_series(501, 1500) i) TO '/proc/self/cwd/pgbulk_keys_d' WITH (FORMAT csv);
SELECT rows_loaded, rows_duplicate, details #>> '{indexes,0,method}' AS method
	FROM bulk_load('keys_d', '/proc/self/cwd/pgbulk_keys_d', '{"writer": "direct", "indexes": "merge", "on_duplicate": "keep_old", "log_verbosity": "silent"}');
SELECT count(*), count(DISTINCT k) FROM keys_d;
SELECT bt_index_parent_check('keys_d_k', true, true);
DROP TABLE keys_d;

-- an invalid index of CREATE INDEX CONCURRENTLY does not check uniqueness
CREATE TABLE keys_c (i int);
INSERT INTO keys_c VALUES (1), (1);
\set VERBOSITY terse
CREATE UNIQUE INDEX CONCURRENTLY keys_c_i ON keys_c (i);
\set VERBOSITY default
COPY (VALUES (1), (7)) TO '/proc/self/cwd/pgbulk_keys_c' WITH (FORMAT csv);
SELECT rows_loaded, rows_duplicate, writer FROM bulk_load('keys_c', '/proc/self/cwd/pgbulk_keys_c', '{"on_duplicate": "keep_old"}');
SELECT rows_loaded, rows_replaced, writer FROM bulk_load('keys_c', '/proc/self/cwd/pgbulk_keys_c', '{"on_duplicate": "keep_new"}');
DROP TABLE keys_c;

SET client_min_messages = warning;
DROP TYPE keys_unsigned CASCADE;
RESET client_min_messages;
DROP EXTENSION amcheck;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_keys_gone; rm -f pgbulk_keys_*';
