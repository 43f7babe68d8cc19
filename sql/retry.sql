--
-- Loading the bad rows of an earlier load again: bulk_load_retry.
--
-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_retry_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE sql AS $$ SELECT pg_temp.put(name, convert_to(content, 'UTF8')) $$;
\pset null '(null)'
SET DateStyle = 'ISO, MDY';

CREATE TABLE retry_t (a int, b text, d date, n numeric);
SELECT pg_temp.put('in.csv', E'a,b,d,n\n1,one,2024-01-01,1\n2,two,31/12/2024,2\nN/A,three,2024-01-03,3\n4,four\n5,five,30/11/2024,"5,5"\n6,six,2024-01-06,6,more\n7,seven,2024-01-07,7\n') AS f \gset
SELECT rows_loaded, rows_rejected, details ->> 'load_id' AS load FROM bulk_load('retry_t', :'f', '{"header": true, "on_error": "ignore", "reject_table": "retry_r", "log_verbosity": "silent"}') \gset
SELECT load_id = :load AS load, target, line_number, byte_offset, reason, column_name, field_value, raw_line FROM retry_r ORDER BY line_number;
CREATE TABLE retry_before AS TABLE retry_r;

-- those that are fixed are loaded, the others remain, with their new errors
SELECT rows_read, rows_loaded, rows_rejected, bytes_read, workers, details -> 'files' AS files, (details ->> 'load_id')::bigint = :load AS load
FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"date_format": {"d": "DD/MM/YYYY"}, "extra_columns": "ignore"}');
SELECT load_id = :load AS load, target, line_number, byte_offset, reason, column_name, field_value, message, raw_line FROM retry_r ORDER BY line_number;
SELECT bool_and((r.file, r.byte_offset, r.raw_line) IS NOT DISTINCT FROM (b.file, b.byte_offset, b.raw_line)) AS same FROM retry_r r JOIN retry_before b USING (line_number);
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"date_format": {"d": "DD/MM/YYYY"}, "decimal_mark": ",", "null": ["", "N/A"], "log_verbosity": "silent"}');
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"missing_columns": "null", "null": ["", "N/A"]}');
SELECT line_number, message FROM retry_r ORDER BY line_number;
-- or corrected by hand
UPDATE retry_r SET raw_line = '6,six,2024-01-06,6';
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_t', 'retry_r', :load);
SELECT * FROM retry_t ORDER BY b;
SELECT count(*) FROM retry_r;
-- and now there are none
\set VERBOSITY sqlstate
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', :load);
\set VERBOSITY default

-- an error leaves all unchanged
INSERT INTO retry_r TABLE retry_before;
TRUNCATE retry_t;
\set VERBOSITY terse
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"on_error": "stop", "missing_columns": "null"}');
\set VERBOSITY default
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"reject_limit": 2, "log_verbosity": "silent"}');
BEGIN;
SELECT rows_loaded FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"extra_columns": "ignore", "log_verbosity": "silent"}');
ROLLBACK;
SELECT (SELECT count(*) FROM retry_t) AS rows, count(*) AS different FROM (TABLE retry_r EXCEPT ALL TABLE retry_before) d;
-- set_null, columns, where, reject_file
SELECT rows_read, rows_loaded, rows_rejected, rows_filtered FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"on_error": "set_null", "columns": ["a", "b"], "extra_columns": "ignore", "where": "b <> ''six''", "log_verbosity": "silent"}');
SELECT * FROM retry_t ORDER BY b;
SELECT count(*) FROM retry_r;
TRUNCATE retry_r;

-- each row is read separately: an open quote does not affect the next one
TRUNCATE retry_t;
INSERT INTO retry_r SELECT load_id, target, loaded_at, file, line, 50, 'syntax', NULL, NULL, '22P04', '', raw, NULL
FROM retry_before b, (VALUES (10, '1,"one'), (11, '2,two",'), (12, E'3,"th\nree"'), (13, E'4,\uFEFFfour'), (14, E'\uFEFF5,five')) AS v (line, raw) WHERE b.line_number = 3;
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"columns": ["a", "b"]}');
SELECT line_number, replace(message, E'\uFEFF', '[mark]') AS message, replace(raw_line, E'\uFEFF', '[mark]') AS raw_line FROM retry_r ORDER BY 1;
DELETE FROM retry_r WHERE line_number = 14;
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"columns": ["a", "b"], "quote": "''", "extra_columns": "ignore"}');
SELECT a, replace(b, E'\uFEFF', '[mark]') AS b FROM retry_t ORDER BY a;

-- bytes that were not valid text
TRUNCATE retry_t, retry_r;
SELECT details ->> 'load_id' AS load FROM bulk_load('retry_t', pg_temp.put('bytes.csv', '\x312c636166e90a322c818d0a332c6f6b0a782cc3a90a'::bytea), '{"columns": ["a", "b"], "on_error": "ignore", "reject_table": "retry_r", "log_verbosity": "silent", "encoding": "UTF8"}') \gset
SELECT line_number, raw_line, raw_bytes FROM retry_r ORDER BY 1;
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"columns": ["a", "b"], "log_verbosity": "silent"}');
SELECT rows_read, rows_loaded, rows_rejected, (details -> 'rejects') - 'first'::text AS rejects FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"columns": ["a", "b"], "encoding": "WIN1252"}');
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_last();
-- a reject file is not in another encoding than the table
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"columns": ["a", "b"], "encoding": "WIN1252", "reject_file": "/proc/self/cwd/pgbulk_retry_bad"}');
SELECT line_number, reason, raw_line, raw_bytes FROM retry_r ORDER BY 1;
SELECT a, b FROM retry_t ORDER BY a;

-- foreign keys: bad again, then good
CREATE TABLE retry_parent (id int PRIMARY KEY);
CREATE TABLE retry_child (id int REFERENCES retry_parent, b text);
INSERT INTO retry_parent VALUES (1);
SELECT details ->> 'load_id' AS load FROM bulk_load('retry_child', pg_temp.put('fk.csv', E'1,a\n2,b\n3,c\n'), '{"on_error": "ignore", "reject_table": "retry_fk", "log_verbosity": "silent"}') \gset
INSERT INTO retry_parent VALUES (3);
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_child', 'retry_fk', :load);
SELECT line_number, byte_offset, reason, raw_line FROM retry_fk;
INSERT INTO retry_parent VALUES (2);
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_child', 'retry_fk', :load);
SELECT * FROM retry_child ORDER BY 1;

-- an empty row that turns out bad late
CREATE TABLE retry_parent_t (k text PRIMARY KEY);
CREATE TABLE retry_child_t (k text REFERENCES retry_parent_t);
SELECT details ->> 'load_id' AS load FROM bulk_load('retry_child_t', pg_temp.put('fk.txt', E'x\n\ny\n'), '{"format": "text", "on_error": "ignore", "reject_table": "retry_fk", "log_verbosity": "silent"}') \gset
SELECT rows_read, rows_rejected, bytes_read FROM bulk_load_retry('retry_child_t', 'retry_fk', :load, '{"format": "text", "reject_file": "/proc/self/cwd/pgbulk_retry_bad", "log_verbosity": "silent"}');
SELECT line_number, byte_offset, reason, raw_line FROM retry_fk;
SELECT to_json(pg_read_file('/proc/self/cwd/pgbulk_retry_bad'));
DROP TABLE retry_child_t, retry_parent_t;

-- duplicates are not bad rows, and are not tried again; bad ones may turn out to be duplicates
CREATE UNIQUE INDEX ON retry_t (a);
TRUNCATE retry_t, retry_r;
SELECT rows_duplicate, rows_rejected, details ->> 'load_id' AS load FROM bulk_load('retry_t', pg_temp.put('dup.csv', E'1,a\n1,b\n 1;,c\n2;,d\n'), '{"columns": ["a", "b"], "on_error": "ignore", "on_duplicate": "keep_old", "reject_table": "retry_r", "log_verbosity": "silent"}') \gset
UPDATE retry_r SET raw_line = replace(raw_line, ';', '') WHERE reason = 'value';
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"columns": ["a", "b"]}');
SELECT rows_read, rows_loaded, rows_rejected, rows_duplicate FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"columns": ["a", "b"], "on_duplicate": "keep_old", "writer": "direct"}');
SELECT line_number, reason, raw_line FROM retry_r ORDER BY 1;
SELECT a, b FROM retry_t ORDER BY 1;
\set VERBOSITY sqlstate
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', :load, '{"columns": ["a", "b"]}');
\set VERBOSITY default

-- the direct writer fills its pages, text format, many rows
CREATE TABLE retry_many (a int, b text);
SELECT details ->> 'load_id' AS load, rows_rejected FROM bulk_load('retry_many', pg_temp.put('many', (SELECT string_agg(i || E'x\tto\\tb', E'\n') FROM generate_series(1, 5000) i)), '{"format": "text", "on_error": "ignore", "reject_table": "retry_r", "log_verbosity": "silent"}') \gset
SELECT :rows_rejected AS rejected;
UPDATE retry_r SET raw_line = replace(raw_line, 'x', '') WHERE load_id = :load;
SELECT rows_read, rows_loaded, rows_rejected, writer FROM bulk_load_retry('retry_many', 'retry_r', :load, '{"format": "text", "writer": "direct"}');
SELECT count(*), sum(a), min(b), bool_and(a = n) AS in_order, pg_relation_size('retry_many') < 400000 AS dense FROM (SELECT a, b, row_number() OVER (ORDER BY ctid) AS n FROM retry_many) t;

-- by a function
CREATE FUNCTION retry_f(text, text) RETURNS retry_many STABLE LANGUAGE sql AS $$ SELECT replace($1, 'x', '')::int, upper($2) $$;
SELECT details ->> 'load_id' AS load FROM bulk_load('retry_many', pg_temp.put('f.csv', E'x1,a\n2,b\nx3,c\n'), '{"on_error": "ignore", "reject_table": "retry_r", "log_verbosity": "silent", "truncate": true}') \gset
SELECT rows_read, rows_loaded FROM bulk_load_retry('retry_many', 'retry_r', :load, '{"transform": "retry_f"}');
SELECT * FROM retry_many ORDER BY a;

-- the rows of a query are lines in text format
CREATE TABLE retry_q (a int, b varchar(3));
SELECT details ->> 'load_id' AS load FROM bulk_load_query('retry_q', $$SELECT * FROM (VALUES ('1', 'one'), (NULL, 'two,"'), ('3', E'th\\ree\n')) v (a, b)$$, '{"on_error": "ignore", "reject_table": "retry_r"}') \gset
ALTER TABLE retry_q ALTER b TYPE text;
SELECT rows_read, rows_loaded FROM bulk_load_retry('retry_q', 'retry_r', :load, '{"format": "text"}');
SELECT a, to_json(b) AS b FROM retry_q;
DROP TABLE retry_q;

-- the table is found by its name whatever the search path is
CREATE SCHEMA retry_other;
CREATE TABLE retry_other."Retry t" (a int);
CREATE TABLE "Retry t" (a int);
SET search_path = retry_other, public;
SELECT details ->> 'load_id' AS load FROM bulk_load('"Retry t"', pg_temp.put('schema', E'x\n'), '{"on_error": "ignore", "reject_table": "public.retry_r", "log_verbosity": "silent"}') \gset
RESET search_path;
SELECT target FROM retry_r WHERE load_id = :load;
UPDATE retry_r SET raw_line = '1' WHERE load_id = :load;
SELECT rows_loaded FROM bulk_load_retry('retry_other."Retry t"', 'retry_r', :load);
SELECT (SELECT count(*) FROM retry_other."Retry t") AS there, (SELECT count(*) FROM "Retry t") AS here;
INSERT INTO retry_r SELECT 77, t, now(), 'f', 1, 0, 'value', NULL, NULL, NULL, NULL, 'x', NULL FROM unnest(ARRAY['a', 'public.retry_t']) t;
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', 77);
INSERT INTO retry_r SELECT 78, 'public.retry_t', now(), 'f', 1, 0, 'value';
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', 78);

-- a role that may write to the reject table cannot choose where its rows go
CREATE TABLE retry_moved (a int, b text);
CREATE TABLE retry_victim (a int, b text);
SELECT details ->> 'load_id' AS load FROM bulk_load('retry_moved', pg_temp.put('redirect', E'1,a\nx,b\n'), '{"on_error": "ignore", "reject_table": "retry_r", "log_verbosity": "silent"}') \gset
UPDATE retry_r SET target = 'public.retry_victim', raw_line = '2,b' WHERE load_id = :load;
\set VERBOSITY sqlstate
SELECT rows_loaded FROM bulk_load_retry('retry_moved', 'retry_r', :load);
\set VERBOSITY default
SELECT count(*) FROM retry_victim;
SELECT (SELECT count(*) FROM retry_moved) AS rows, target FROM retry_r WHERE load_id = :load;
-- a table that was renamed: its rows need the new name
ALTER TABLE retry_moved RENAME TO retry_renamed;
UPDATE retry_r SET target = 'public.retry_moved' WHERE load_id = :load;
\set VERBOSITY sqlstate
SELECT rows_loaded FROM bulk_load_retry('retry_renamed', 'retry_r', :load);
\set VERBOSITY default
UPDATE retry_r SET target = 'public.retry_renamed' WHERE load_id = :load;
SELECT rows_loaded FROM bulk_load_retry('retry_renamed', 'retry_r', :load);
UPDATE retry_r SET target = NULL WHERE load_id = 77;
\set VERBOSITY sqlstate
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', 77);
SELECT rows_read FROM bulk_load_retry(4294967295, 'retry_r', 77);
\set VERBOSITY default
DROP TABLE retry_victim, retry_renamed;

-- errors
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', 999999);
\set VERBOSITY terse
SELECT rows_read FROM bulk_load_retry(NULL, 'retry_r', 1);
SELECT rows_read FROM bulk_load_retry('retry_t', NULL, 1);
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', NULL);
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', 1, '[]');
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', 1, '{"trunc": true}');
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_t', 1);
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', 77, '{"format": "binary"}');
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['header', 'skip', 'limit', 'limit_counts', 'compression', 'reject_table', 'truncate', 'freeze', 'dry_run'] LOOP
		BEGIN
			PERFORM bulk_load_retry('retry_t', 'retry_r', 77, jsonb_build_object(name, 1));
		EXCEPTION WHEN invalid_parameter_value THEN
			RAISE NOTICE '%', SQLERRM;
		END;
	END LOOP;
END $$;
CREATE ROLE regress_pgbulk_retry;
GRANT SELECT, INSERT ON retry_r TO regress_pgbulk_retry;
SET ROLE regress_pgbulk_retry;
SELECT rows_read FROM bulk_load_retry('retry_t', 'retry_r', 78);
RESET ROLE;
-- no privilege to read files is needed
GRANT DELETE ON retry_r TO regress_pgbulk_retry;
GRANT INSERT ON retry_t TO regress_pgbulk_retry;
UPDATE retry_r SET raw_line = '9' WHERE load_id = 78;
SET ROLE regress_pgbulk_retry;
SELECT rows_read, rows_loaded FROM bulk_load_retry('retry_t', 'retry_r', 78, '{"columns": ["a"]}');
RESET ROLE;

-- empty lines are rows, and what was not a row end in the file is none now
CREATE TABLE retry_lines (a int, b text);
SELECT pg_temp.put('lines.csv', E'1,a\n\n7,foo\rbar\n2,b\n') AS f \gset
SELECT rows_loaded, rows_rejected, details ->> 'load_id' AS load FROM bulk_load('retry_lines', :'f', '{"on_error": "ignore", "reject_table": "retry_rl", "log_verbosity": "silent"}') \gset
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_lines', 'retry_rl', :load, '{"log_verbosity": "silent"}');
SELECT line_number, message, raw_line FROM retry_rl ORDER BY line_number;
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_lines', 'retry_rl', :load, '{"missing_columns": "null", "log_verbosity": "silent"}');
SELECT line_number, message, raw_line FROM retry_rl ORDER BY line_number;
TABLE retry_lines;
\set VERBOSITY default
-- the first part of a row that another line end has cut off looks like a row
TRUNCATE retry_lines, retry_rl;
SELECT details ->> 'load_id' AS load FROM bulk_load('retry_lines', pg_temp.put('cut.csv', E'1,a\r\n7,foo\nbar\r\n8,baz\n\r\n2,b\r\n'), '{"on_error": "ignore", "reject_table": "retry_rl", "log_verbosity": "silent"}') \gset
SELECT rows_read, rows_loaded, rows_rejected, (details -> 'rejects') - 'first'::text AS rejects FROM bulk_load_retry('retry_lines', 'retry_rl', :load);
SELECT rows_read, rows_rejected FROM bulk_load_last();
SELECT line_number, message, raw_line FROM retry_rl ORDER BY line_number;
SELECT rows_read FROM bulk_load_retry('retry_lines', 'retry_rl', :load, '{"reject_limit": 1, "missing_columns": "null", "log_verbosity": "silent"}');
DELETE FROM retry_rl WHERE line_number IN (3, 5);
UPDATE retry_rl SET raw_line = '7,foobar', message = NULL WHERE line_number = 2;
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_lines', 'retry_rl', :load);
SELECT rows_read, rows_rejected, details -> 'rejects' AS rejects FROM bulk_load_retry('retry_lines', 'retry_rl', :load, '{"log_verbosity": "silent"}');
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_lines', 'retry_rl', :load, '{"newline": "auto", "log_verbosity": "silent"}');
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_lines', 'retry_rl', :load, '{"newline": "any"}');
TABLE retry_lines;
-- a row that is none by the options is filtered
TRUNCATE retry_lines, retry_rl;
SELECT details ->> 'load_id' AS load FROM bulk_load('retry_lines', pg_temp.put('comment.csv', E'1,a\n#7;b\nx,c\n'), '{"on_error": "ignore", "reject_table": "retry_rl", "log_verbosity": "silent"}') \gset
SELECT rows_read, rows_loaded, rows_rejected, rows_filtered FROM bulk_load_retry('retry_lines', 'retry_rl', :load, '{"comment": "#", "log_verbosity": "silent"}');
SELECT line_number, raw_line FROM retry_rl;
DROP TABLE retry_lines, retry_rl;

\set VERBOSITY default
-- where the format is not given, JSON on several lines stays whole
CREATE TABLE retry_j (a int, b jsonb);
SELECT details ->> 'load_id' AS load FROM bulk_load('retry_j', pg_temp.put('json', E'[\n{"a": "x;",\n "b": ["{\\"", 1]},\n{"a": "2;", "b": 2},\n[3,\n4],\n{"a": 5, b\n: 5},\n{"a": 6}]\n'), '{"format": "json", "missing_columns": "null", "on_error": "ignore", "reject_table": "retry_rj", "log_verbosity": "silent"}') \gset
CREATE TABLE retry_before_j AS TABLE retry_rj;
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_j', 'retry_rj', :load);
SELECT line_number, message, raw_line FROM retry_rj ORDER BY line_number, byte_offset;
SELECT line_number, raw_line FROM (TABLE retry_before_j EXCEPT TABLE retry_rj) r;
UPDATE retry_rj SET raw_line = replace(replace(replace(raw_line, 'x;', '1'), ';', ''), E'b\n:', '"b":');
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_j', 'retry_rj', :load, '{"format": "json", "log_verbosity": "silent"}');
-- as lines, where that is what somebody wants
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_j', 'retry_rj', :load, '{"format": "csv", "columns": ["b"], "delimiter": "\u0001", "quote": "\u0002", "log_verbosity": "silent"}');
SELECT line_number, raw_line FROM retry_rj ORDER BY line_number, byte_offset;
TABLE retry_j;
-- quoted line ends of csv are not lines of JSON
CREATE TABLE retry_l (a text, b int);
SELECT details ->> 'load_id' AS load FROM bulk_load('retry_l', pg_temp.put('lists', E'{1;2},"3\nx"\n"{1\n2}",x\n'), '{"on_error": "ignore", "reject_table": "retry_rj", "log_verbosity": "silent"}') \gset
UPDATE retry_rj SET raw_line = replace(raw_line, 'x', '') WHERE load_id = :load;
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('retry_l', 'retry_rj', :load, '{"null": ""}');
TABLE retry_l;
DROP TABLE retry_j, retry_rj, retry_before_j, retry_l;

DROP FUNCTION retry_f;
DROP TABLE retry_t, retry_r, retry_before, retry_parent, retry_child, retry_fk, retry_many, "Retry t", retry_other."Retry t";
DROP SCHEMA retry_other;
DROP ROLE regress_pgbulk_retry;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_retry_gone; rm -f pgbulk_retry_*';
