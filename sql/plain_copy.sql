-- COPY without an option of pgbulk, with pgbulk.copy
SELECT rows_loaded FROM bulk_load_last();	-- loads the library
CREATE TABLE plain (a int PRIMARY KEY, b text, c numeric DEFAULT 7);
COPY (SELECT i, 'b' || i, i / 8.0 FROM generate_series(1, 2000) i) TO PROGRAM 'cat > pgbulk_plain';
COPY (SELECT i, 'b' || i FROM generate_series(2001, 9000) i) TO PROGRAM 'cat > pgbulk_plain_csv' (FORMAT csv);

-- Off is off.
COPY plain FROM 'pgbulk_plain';
SELECT * FROM bulk_load_statements;
TRUNCATE plain;

-- On: a file that is small is left to the server.
SET pgbulk.copy = on;
COPY plain FROM 'pgbulk_plain';
SET pgbulk.copy_min_size = 0;
TRUNCATE plain;
COPY plain FROM 'pgbulk_plain';
SELECT writer, details ->> 'not_direct' AS not_direct FROM bulk_load_last();
BEGIN;
TRUNCATE plain;
COPY plain FROM 'pgbulk_plain';
SELECT writer, details ->> 'direct' AS direct FROM bulk_load_last();
COMMIT;
COPY plain (a, b) FROM 'pgbulk_plain_csv' (FORMAT csv);
SELECT count(*), sum(a), sum(c) FROM plain;

-- Exclusive: the same for an empty table.
CREATE TABLE plain_empty (LIKE plain INCLUDING ALL);
SET pgbulk.copy = exclusive;
COPY plain_empty FROM 'pgbulk_plain';
SELECT writer, details ->> 'direct' AS direct FROM bulk_load_last();
COPY plain_empty (a, b) FROM 'pgbulk_plain_csv' CSV;
SELECT writer, details ->> 'not_direct' AS not_direct FROM bulk_load_last();
SELECT count(*) FROM plain_empty;
SET pgbulk.copy = on;
SELECT * FROM bulk_load_statements;

-- The client's data; a file with a byte order mark, or compressed, is what it is to COPY.
COPY plain FROM STDIN;
10001	x	\N
10002	a\tb	1
\.
TABLE plain OFFSET 9000;
CREATE TABLE plain_text (t text);
COPY plain_text FROM STDIN WITH (FORMAT csv);
﻿mark
"two
lines"
\.
SELECT octet_length(t) FROM plain_text;

-- Errors are COPY's.
\set SHOW_CONTEXT always
COPY plain FROM STDIN;
10003	good	1
10004	x
\.
COPY plain FROM STDIN;
10003	good	1	extra
\.
COPY plain FROM STDIN;
10003	good	1
x	bad	2
\.
COPY plain FROM STDIN;
10003	good	1
10001	again	2
\.
COPY (SELECT '10003,"open') TO PROGRAM 'cat > pgbulk_plain_open';
COPY plain (a, b) FROM 'pgbulk_plain_open' (FORMAT csv);
COPY plain (a, d) FROM 'pgbulk_plain';
COPY plain (a, a) FROM 'pgbulk_plain';
COPY plain_none FROM 'pgbulk_plain';
COPY plain FROM '/no/such/file';
COPY plain FROM 'pgbulk_plain' (FREEZE);
COPY plain FROM 'pgbulk_plain' (on_duplicat keep_old);
SELECT count(*) FROM plain;

-- FREEZE of a new table; rows that triggers see, partitions, keys, generated columns
BEGIN;
CREATE TABLE plain_frozen (LIKE plain);
COPY plain_frozen FROM 'pgbulk_plain' (FREEZE);
SELECT details ->> 'writer' IS NULL AS none, writer FROM bulk_load_last();
COMMIT;
CREATE FUNCTION plain_notice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_LEVEL = 'STATEMENT' THEN
		RAISE NOTICE '% %, % rows', TG_WHEN, TG_LEVEL, (SELECT count(*) FROM plain_parts);
	ELSIF TG_WHEN = 'BEFORE' THEN
		NEW.b := upper(NEW.b);
		RETURN CASE WHEN NEW.a % 2 = 0 THEN NEW END;
	ELSE
		RAISE NOTICE '% % %', TG_WHEN, TG_TABLE_NAME, NEW;
	END IF;
	RETURN NULL;
END$$;
CREATE TABLE plain_parts (a int REFERENCES plain, b text, c int GENERATED ALWAYS AS (a * 2) STORED) PARTITION BY RANGE (a);
CREATE TABLE plain_parts_1 PARTITION OF plain_parts FOR VALUES FROM (0) TO (100);
CREATE TABLE plain_parts_2 PARTITION OF plain_parts FOR VALUES FROM (100) TO (200);
CREATE TRIGGER s1 BEFORE INSERT ON plain_parts FOR EACH STATEMENT EXECUTE FUNCTION plain_notice();
CREATE TRIGGER s2 AFTER INSERT ON plain_parts FOR EACH STATEMENT EXECUTE FUNCTION plain_notice();
CREATE TRIGGER r1 BEFORE INSERT ON plain_parts FOR EACH ROW EXECUTE FUNCTION plain_notice();
CREATE TRIGGER r2 AFTER INSERT ON plain_parts FOR EACH ROW EXECUTE FUNCTION plain_notice();
COPY plain_parts FROM STDIN;
150	a
2	b
3	c
\.
COPY plain_parts FROM STDIN;
250	none
\.
INSERT INTO plain_parts VALUES (4, 'd');
ALTER TABLE plain_parts DISABLE TRIGGER r1;
DELETE FROM plain WHERE a = 7;
COPY plain_parts FROM STDIN;
6	e
7	f
\.
SELECT tableoid::regclass, * FROM plain_parts ORDER BY 2;

-- What is left to the server, and why
SET client_min_messages = debug1;
COPY plain_text FROM PROGRAM 'echo program';
SET client_min_messages = notice;
COPY plain_text FROM STDIN WHERE t <> 'x';
x
y
\.
COPY plain_text FROM STDIN (HEADER match);
t
z
\.
CREATE VIEW plain_view AS SELECT * FROM plain_text;
COPY plain_view FROM 'pgbulk_plain';
ALTER TABLE plain_text ENABLE ROW LEVEL SECURITY;
CREATE ROLE regress_pgbulk_plain;
GRANT INSERT, SELECT ON plain_text TO regress_pgbulk_plain;
GRANT pg_read_server_files TO regress_pgbulk_plain;
SET ROLE regress_pgbulk_plain;
COPY plain_text FROM 'pgbulk_plain_csv';
COPY plain FROM 'pgbulk_plain';
RESET ROLE;
CREATE DOMAIN plain_positive AS int NOT NULL;
CREATE TABLE plain_domain (a int, b plain_positive);
COPY plain_domain (a) FROM STDIN;
1
\.
CREATE TABLE plain_left (a int, b text);
COPY plain_left FROM STDIN (CONVERT_SELECTIVELY (a));
1	x
\.
SELECT * FROM plain_left;
-- an error from PostgreSQL 19 on
DO $$
BEGIN
	COPY plain_left FROM 'pgbulk_plain_csv' (FORMAT csv) WHERE plain_left.ctid IS NOT NULL;
EXCEPTION
	WHEN invalid_column_reference THEN NULL;
END
$$;
BEGIN READ ONLY;
COPY plain FROM 'pgbulk_plain';
ROLLBACK;
SELECT statement, taken, reason, count FROM bulk_load_statements ORDER BY taken, reason COLLATE "C";

-- Where the file is empty COPY takes the header for an empty line.
CREATE TABLE plain_header (a text);
COPY plain FROM STDIN WITH (HEADER match);
\.
COPY plain_header FROM STDIN WITH (HEADER match);
\.
COPY plain_header FROM STDIN WITH (HEADER match, FORMAT csv);
\.
DROP TABLE plain_header;

-- The query that checks a key is the server's, as errors show it.
CREATE SCHEMA plain_schema;
CREATE TABLE plain_schema."plain ""keys" (a int PRIMARY KEY, "B" text, UNIQUE (a, "B"));
CREATE TABLE plain_referring (a int REFERENCES plain_schema."plain ""keys", b text,
	FOREIGN KEY (a, b) REFERENCES plain_schema."plain ""keys" (a, "B"));
GRANT CREATE ON SCHEMA plain_schema TO regress_pgbulk_plain;
ALTER TABLE plain_schema."plain ""keys" OWNER TO regress_pgbulk_plain;
COPY plain_referring FROM STDIN;
1	\N
\.
ALTER TABLE plain_referring DROP CONSTRAINT plain_referring_a_fkey;
COPY plain_referring FROM STDIN;
1	b
\.
DROP SCHEMA plain_schema CASCADE;
DROP TABLE plain_referring;

-- A line with an escaped line end is one
ALTER TABLE plain_text ADD CONSTRAINT plain_end CHECK (t <> 'end');
COPY plain_text FROM STDIN;
in\
side
end
\.
SET pgbulk.copy = off;
COPY plain_text FROM STDIN;
in\
side
end
\.
SET pgbulk.copy = on;

-- Left to the server: FREEZE beside events of triggers, and where a query is open on the table
BEGIN;
CREATE TABLE plain_keys (a int PRIMARY KEY);
INSERT INTO plain_keys VALUES (1), (2);
CREATE TABLE plain_pending (a int REFERENCES plain_keys DEFERRABLE INITIALLY DEFERRED);
INSERT INTO plain_pending VALUES (1);
COPY plain_pending FROM STDIN (FREEZE);
2
\.
COMMIT;
CREATE FUNCTION plain_freeze() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	COPY plain_open FROM 'pgbulk_plain_csv' (FREEZE, FORMAT csv);
	RETURN count(*) FROM plain_open;
END$$;
BEGIN;
CREATE TABLE plain_open AS SELECT 1 AS a, 'b' AS b;
SELECT plain_freeze() FROM plain_open LIMIT 1;
COMMIT;
DROP TABLE plain_pending, plain_keys, plain_open;
DROP FUNCTION plain_freeze;

-- a column that is named twice
COPY plain_left FROM 'pgbulk_plain_csv' (FORMAT csv, FORCE_NULL (b, b));
COPY plain_left FROM 'pgbulk_plain_csv' (FORMAT csv, FORCE_NOT_NULL (a, b, a));

-- system columns in other notations
DO $$
BEGIN
	COPY plain_left FROM 'pgbulk_plain_csv' (FORMAT csv) WHERE (plain_left).ctid IS NOT NULL;
EXCEPTION
	WHEN invalid_column_reference THEN NULL;
END
$$;
DO $$
BEGIN
	COPY plain_left FROM 'pgbulk_plain_csv' (FORMAT csv) WHERE ctid(plain_left) IS NOT NULL;
EXCEPTION
	WHEN invalid_column_reference THEN NULL;
END
$$;
SELECT count FROM bulk_load_statements WHERE reason = 'The condition has a system column.';

-- a wide backslash, which becomes the one of format text
CREATE TABLE plain_wide (t text);
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_plain_wide; printf "x\201\137ty\n" > pgbulk_plain_wide';
COPY plain_wide FROM 'pgbulk_plain_wide' (ENCODING 'SHIFT_JIS_2004');
SELECT t = E'x\ty' AS tab FROM plain_wide;
DROP TABLE plain_wide;

-- Counted with those that are taken, and no path of a function
SET pgbulk.copy = off;
COPY plain_text FROM STDIN;
off
\.
SELECT count FROM bulk_load_statements WHERE taken;
-- tableoid, which the server refuses from 19 on
SET pgbulk.copy = on;
DO $$
BEGIN
	COPY plain_left FROM 'pgbulk_plain_csv' (FORMAT csv) WHERE tableoid = 'plain_left'::regclass;
	ASSERT current_setting('server_version_num')::int < 190000;
EXCEPTION
	WHEN invalid_column_reference THEN ASSERT current_setting('server_version_num')::int >= 190000, sqlerrm;
END
$$;
DROP TABLE plain_parts, plain, plain_empty, plain_text, plain_frozen, plain_domain, plain_left CASCADE;
DROP FUNCTION plain_notice;
DROP DOMAIN plain_positive;
REVOKE pg_read_server_files FROM regress_pgbulk_plain;
DROP ROLE regress_pgbulk_plain;

-- Delimiters and quotes that are no ASCII, in another encoding than the database's
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_plain_wide; printf "a\302\254\302\253b\302\253\n" > pgbulk_plain_wide';
CREATE DATABASE regress_pgbulk_plain TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C';
\set before :DBNAME
\c regress_pgbulk_plain
SET client_min_messages = warning;
CREATE EXTENSION pgbulk;
SELECT rows_loaded FROM bulk_load_last();
SET pgbulk.copy = on;
SET pgbulk.copy_min_size = 0;
CREATE TABLE plain (a text, b text);
COPY plain FROM '/proc/self/cwd/pgbulk_plain_wide' (ENCODING 'UTF8', DELIMITER E'\u00ac');
COPY plain FROM '/proc/self/cwd/pgbulk_plain_wide' (ENCODING 'UTF8', DELIMITER E'\u00ac', FORMAT csv, QUOTE E'\u00ab');
COPY plain FROM '/proc/self/cwd/pgbulk_plain_wide' (ENCODING 'LATIN1', DELIMITER E'\u00ac', FORMAT csv, QUOTE E'\u00ab');
SELECT octet_length(a) AS a, octet_length(b) AS b FROM plain;
SELECT taken, reason, count FROM bulk_load_statements ORDER BY taken;
\c :before
DROP DATABASE regress_pgbulk_plain;
