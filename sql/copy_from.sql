-- COPY FROM with options of pgbulk
\set VERBOSITY default
SELECT rows_loaded FROM bulk_load_last();
COPY (SELECT 1 WHERE false) TO PROGRAM 'cat > pgbulk_copy_none';
CREATE TABLE copy_from (a int PRIMARY KEY, b text, c date DEFAULT '2020-01-01');

-- columns of the statement, names of the header
COPY copy_from (a, b) FROM STDIN WITH (FORMAT csv, HEADER map, ON_ERROR ignore, REJECT_TABLE 'copy_from_rejects', ON_DUPLICATE keep_new);
b,a
x,1
y,2
w,z
again,1
\.
TABLE copy_from ORDER BY a;
SELECT file, line_number, reason, column_name, message FROM copy_from_rejects ORDER BY 2;
SELECT rows_loaded, rows_rejected, rows_duplicate, rows_replaced, rows_filtered, rows_read, writer IS NOT NULL AS writer, details ->> 'load_id' = (SELECT max(load_id)::text FROM copy_from_rejects) AS id FROM bulk_load_last();

-- COPY's defaults: text, its null and its delimiter
COPY copy_from FROM STDIN WITH (ON_DUPLICATE keep_old);
3	\N	2021-01-01
1	kept	2021-02-02
\.
-- \copy is COPY FROM STDIN
\copy copy_from FROM PSTDIN WITH (ON_DUPLICATE 'keep_new', DELIMITER ';', NULL ('', 'none'))
4;none;2021-01-01
\.
TABLE copy_from ORDER BY a;

-- values of COPY's own options that only pgbulk has
COPY copy_from FROM STDIN WITH (FORMAT 'json');
[{"a": 5, "b": "json", "c": null}]
\.
COPY copy_from FROM STDIN WITH (DELIMITER '||');
6||long||2021-01-01
\.
COPY copy_from FROM STDIN WITH (FORMAT csv, HEADER 2);
first
second
7,two lines,2021-01-01
\.
COPY copy_from FROM STDIN (FORMAT csv, FORCE_NULL (b), HEADER 0, TRIM, SKIP 1);
7,skipped,2021-01-01
8 , "", 2021-01-01
\.
COPY (SELECT 9 || 'abc') TO PROGRAM 'cat > pgbulk_copy_fixed';
COPY copy_from FROM 'pgbulk_copy_fixed' (FORMAT fixed, FIELDS '[{"name": "a", "length": 1}, {"name": "b", "length": 3}]');
COPY copy_from FROM STDIN (DATE_FORMAT '{"c": "DD/MM/YYYY"}', WORKERS 0, LOG_VERBOSITY verbose);
10	date	31/12/2024
\.
COPY copy_from FROM STDIN (COLUMNS '["a", null, "b"]');
11	unwanted	b
\.
COPY copy_from FROM STDIN (COLUMNS (b, a), DRY_RUN);
b	12
\.
TABLE copy_from ORDER BY a;

-- the condition has the meaning that it has in the statement
CREATE SCHEMA copy_from_other;
CREATE FUNCTION copy_from_other.wanted(text) RETURNS bool IMMUTABLE LANGUAGE sql AS $$SELECT $1 = 'wanted'$$;
SET search_path = public, copy_from_other;
COPY copy_from FROM STDIN (ON_DUPLICATE keep_old) WHERE wanted(b) AND a NOT IN (1, 2) OR (b = 'quoted '' word');
20	wanted	2021-01-01
21	unwanted	2021-01-01
22	quoted ' word	2021-01-01
\.
RESET search_path;
SELECT rows_loaded, rows_filtered FROM bulk_load_last();
CREATE TABLE copy_from_floats (a int, f float8, g int GENERATED ALWAYS AS (1) STORED);
SET extra_float_digits = 0;
COPY copy_from_floats FROM STDIN (LIMIT 5) WHERE f = '0.30000000000000004';
1	0.30000000000000004
2	0.3
\.
RESET extra_float_digits;
SELECT a FROM copy_from_floats;
COPY copy_from_floats FROM 'pgbulk_copy_none' (LIMIT 5) WHERE g = 1;
COPY copy_from_floats FROM 'pgbulk_copy_none' (LIMIT 5) WHERE ctid IS NULL;
-- from 19 on tableoid is refused, too
DO $$
BEGIN
	COPY copy_from_floats FROM 'pgbulk_copy_none' (LIMIT 5) WHERE tableoid = 'copy_from_floats'::regclass;
	ASSERT current_setting('server_version_num')::int < 190000;
EXCEPTION
	WHEN invalid_column_reference THEN ASSERT current_setting('server_version_num')::int >= 190000, sqlerrm;
END
$$;
DROP TABLE copy_from_floats;
COPY copy_from FROM 'pgbulk_copy_none' (ON_DUPLICATE keep_old) WHERE a;
COPY copy_from FROM 'pgbulk_copy_none' (ON_DUPLICATE keep_old) WHERE nothing > 1;
COPY copy_from FROM 'pgbulk_copy_none' (ON_DUPLICATE keep_old) WHERE a IN (SELECT 1);
COPY copy_from FROM STDIN (ON_DUPLICATE keep_old, WHERE 'a > 30');
29	x	2021-01-01
31	x	2021-01-01
\.
COPY copy_from FROM 'pgbulk_copy_none' (ON_DUPLICATE keep_old, WHERE 'a > 30') WHERE a > 1;

-- errors are COPY's
COPY copy_from FROM STDIN (ON_DUPLICATE keep_old);
40	x	2021-01-01
x41	x	2021-01-01
\.
COPY copy_from FROM STDIN (ON_DUPLICATE keep_old);
40	x
\.
COPY copy_from FROM 'pgbulk_copy_none' (ON_DUPLICAT keep_old);
COPY copy_from FROM 'pgbulk_copy_none' (ON_DUPLICATE keep_old, ON_DUPLICATE keep_new);
COPY copy_from (a, b) FROM 'pgbulk_copy_none' (COLUMNS (a));
COPY copy_from FROM 'pgbulk_copy_none' (ON_DUPLICATE);
COPY copy_from FROM 'pgbulk_copy_none' (ON_DUPLICATE kep_new);
COPY copy_from FROM 'pgbulk_copy_none' (REJECT_LIMIT x, DRY_RUN);
COPY copy_from FROM 'pgbulk_copy_none' (TRUNCATE 5);
COPY copy_from FROM 'pgbulk_copy_none' (FORCE_QUOTE *, DRY_RUN);
COPY copy_from FROM 'pgbulk_copy_none' (DATE_FORMAT '{"c": ');
COPY copy_from FROM 'pgbulk_copy_none' (FORCE_NULL ((a)), DRY_RUN);
COPY copy_from FROM PROGRAM 'true' (DRY_RUN);
COPY copy_from FROM '/nonexistent/copy_from' (DRY_RUN);
COPY copy_from_none FROM 'pgbulk_copy_none' (DRY_RUN);
COPY copy_from (a, none) FROM 'pgbulk_copy_none' (DRY_RUN);
\set VERBOSITY sqlstate
COPY copy_from_pkey FROM 'pgbulk_copy_none' (DRY_RUN);
\set VERBOSITY default
COPY copy_from FROM STDIN (FORMAT csv, HEADER map);
a,b,d
\.
COPY copy_from (a, b) FROM STDIN (FORMAT csv, HEADER map);
a,b,c
\.
COPY copy_from (a, b) FROM STDIN (FORMAT csv, HEADER map);
a
\.
COPY copy_from (a, b) FROM STDIN (FORMAT csv, HEADER map, MISSING_COLUMNS 'default', EXTRA_COLUMNS ignore);
a,c,d
50,2022-02-02,x
\.
SELECT * FROM copy_from WHERE a = 50;

-- transactions, privileges, row-level security
BEGIN;
COPY copy_from FROM STDIN (ON_DUPLICATE keep_old);
60	x	2021-01-01
\.
ROLLBACK;
SELECT rows_loaded FROM bulk_load_last();
BEGIN READ ONLY;
COPY copy_from FROM 'pgbulk_copy_none' (ON_DUPLICATE keep_old);
ROLLBACK;
CREATE ROLE regress_copy_from;
GRANT pg_read_server_files TO regress_copy_from;
GRANT INSERT (a, b) ON copy_from TO regress_copy_from;
GRANT SELECT ON copy_from TO regress_copy_from;
SET ROLE regress_copy_from;
COPY copy_from FROM 'pgbulk_copy_none' (ON_DUPLICATE keep_old);
COPY copy_from (a, b) FROM STDIN (ON_DUPLICATE keep_old);
61	x
\.
RESET ROLE;
REVOKE pg_read_server_files FROM regress_copy_from;
SET ROLE regress_copy_from;
COPY copy_from (a, b) FROM '/etc/hosts' (ON_DUPLICATE keep_old);
RESET ROLE;
GRANT pg_read_server_files TO regress_copy_from;
ALTER TABLE copy_from ENABLE ROW LEVEL SECURITY;
CREATE POLICY copy_from_policy ON copy_from USING (true);
SET ROLE regress_copy_from;
COPY copy_from (a, b) FROM 'pgbulk_copy_none' (ON_DUPLICATE keep_old);
RESET ROLE;
ALTER TABLE copy_from DISABLE ROW LEVEL SECURITY;

-- in functions as COPY: files, but not the client
DO $$BEGIN COPY copy_from FROM STDIN (ON_DUPLICATE keep_old); END$$;
SELECT current_setting('data_directory') || '/pgbulk_copy_from' AS file \gset
COPY (SELECT 70, 'file', date '2022-02-02') TO :'file';
COPY copy_from FROM :'file' (ON_DUPLICATE keep_old);
-- beginning with the data directory, and with a name that is no pattern and not that of the client
COPY copy_from FROM 'pgbulk_copy_from' (ON_DUPLICATE keep_new);
\set VERBOSITY sqlstate
COPY copy_from FROM 'pgbulk_copy_fro*' (ON_DUPLICATE keep_new);
COPY copy_from FROM 'stdin' (ON_DUPLICATE keep_new);
\set VERBOSITY default
-- values are written as COPY has them, in its messages
COPY copy_from FROM 'pgbulk_copy_from' (FORMAT csv, DELIMITER 'tab', ON_DUPLICATE keep_new);
COPY copy_from FROM 'pgbulk_copy_from' (FORMAT csv, FORCE_NULL 'a', ON_DUPLICATE keep_new);
COPY copy_from FROM 'pgbulk_copy_from' (ON_DUPLICATE (keep_new, keep_old));
COPY copy_from FROM 'pgbulk_copy_from' (DATE_FORMAT 'DD/MM/YYYY');
COPY copy_from FROM 'pgbulk_copy_from' (HEADER map, EXTRA_COLUMNS ignore);
COPY copy_from FROM 'https://example.org/votes' (ON_DUPLICATE keep_new);
COPY copy_from FROM '/etc' (ON_DUPLICATE keep_new);
COPY copy_from FROM '/nowhere/*.csv' (ON_DUPLICATE keep_new);
DO $$BEGIN EXECUTE format('COPY copy_from FROM %L (ON_DUPLICATE keep_new)', current_setting('data_directory') || '/pgbulk_copy_from'); END$$;
SELECT rows_loaded, rows_replaced FROM bulk_load_last();

-- the next user of a session learns nothing of it
DISCARD ALL;
SELECT rows_loaded FROM bulk_load_last();
DO $$BEGIN EXECUTE format('COPY copy_from FROM %L (ON_DUPLICATE keep_new)', current_setting('data_directory') || '/pgbulk_copy_from'); END$$;

-- other statements are the server's
COPY copy_from FROM STDIN (FORMAT csv, HEADER, NULL 'none', FORCE_NOT_NULL (b), QUOTE '''', ESCAPE '"', ENCODING 'UTF8');
a,b,c
80,,2022-02-02
\.
COPY (SELECT * FROM copy_from WHERE a = 80) TO STDOUT (FORMAT csv, FORCE_QUOTE *);
SELECT rows_loaded, rows_replaced FROM bulk_load_last();
-- as are a number of header lines and set_null from 19 on
CREATE TABLE copy_from_lines (a int);
COPY copy_from_lines FROM STDIN (HEADER 2);
x
y
1
2
3
\.
SELECT coalesce(rows_loaded = 3, false) = (current_setting('server_version_num')::int < 190000) AS whose FROM bulk_load_last();
SET client_min_messages = warning;
COPY copy_from_lines FROM STDIN (ON_ERROR set_null);
4
x
\.
RESET client_min_messages;
SELECT coalesce(rows_loaded = 2, false) = (current_setting('server_version_num')::int < 190000) AS whose FROM bulk_load_last();
TABLE copy_from_lines;
-- as for it, a table made in the same transaction can be loaded with frozen rows
BEGIN;
CREATE TABLE copy_from_frozen (a int);
COPY copy_from_frozen FROM STDIN (FREEZE, ANALYZE);
1
\.
COMMIT;
SELECT * FROM copy_from_frozen;

DROP TABLE copy_from, copy_from_rejects, copy_from_frozen, copy_from_lines;
DROP SCHEMA copy_from_other CASCADE;
DROP ROLE regress_copy_from;
