--
-- Bad rows: where they go, NOTICEs about them, limits.
--
-- Files are named through /proc/self/cwd, the server's data folder: a path
-- that is the same on every machine, so that messages with it can be expected.
--
\set dir '/proc/self/cwd/pgbulk_rejects_'
\set in :dir 'in.csv'
\set in2 :dir 'in2.csv'
\set out :dir 'out.csv'
\set outlog :dir 'out.csv.log'
\pset null '(null)'

CREATE TABLE votes (username text, link text, score int, day date);
COPY (SELECT unnest(ARRAY[
	'username,link,score,day',
	'ann,/a,1,2024-01-01',
	'bob,/b,abc,2024-01-02',
	'cid,/c,N/A,2024-01-03',
	'dan,/d,4',
	'eve,/e,5,2024-01-05,more',
	'"fay ""f""",/f,99999999999,2024-01-06',
	'gus,/g,7,2024-31-12',
	'hal,/h,8,2024-01-08',
	'ida,"/i',
	'i",x,2024-01-09',
	'joe,/j,N/A,2024-01-10'])) TO :'in';

-- stop is the default
SELECT rows_loaded FROM bulk_load('votes', :'in', '{"header": true}');
SELECT count(*) FROM votes;

-- ignore, with everything
SELECT rows_read, rows_loaded, rows_rejected, jsonb_pretty(details -> 'rejects') AS rejects
FROM bulk_load('votes', :'in', jsonb_build_object('header', true, 'on_error', 'ignore',
	'reject_table', 'rejected', 'reject_file', :'out'));
SELECT * FROM votes ORDER BY username;
\d rejected
SELECT target, file, line_number, byte_offset, reason, column_name, field_value, sqlstate
FROM rejected ORDER BY line_number;
SELECT line_number, message, raw_line, raw_bytes FROM rejected ORDER BY line_number;
SELECT count(DISTINCT load_id) = 1 AS one_load, count(DISTINCT loaded_at) = 1 AS one_time,
	min(loaded_at) BETWEEN now() - interval '1 hour' AND clock_timestamp() AS recent
FROM rejected;
SELECT pg_read_file(:'out');
SELECT pg_read_file(:'outlog');

-- the reject file can be loaded when corrected
SELECT rows_loaded, rows_rejected
FROM bulk_load('votes', :'out', '{"header": true, "on_error": "ignore", "log_verbosity": "silent",
	"null": ["", "N/A"], "extra_columns": "ignore", "missing_columns": "null"}');
TRUNCATE votes;

-- log_verbosity
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "log_verbosity": "verbose"}');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "log_verbosity": "silent"}');
TRUNCATE votes;

-- the first rows in details: three with short texts, or ten
COPY (SELECT format('u%s,l,%s,2024-01-01', i, repeat('é', 400)) FROM generate_series(1, 12) i) TO :'in2';
SET client_min_messages = warning;
SELECT v, jsonb_array_length(details #> '{rejects,first}') AS rows, details #>> '{rejects,first,0,value}' AS value,
	details #>> '{rejects,first,0,message}' AS message, length(details #>> '{rejects,first,0,value}') AS length
FROM unnest('{silent,default}'::text[]) v,
	LATERAL bulk_load('votes', :'in2', jsonb_build_object('on_error', 'ignore', 'log_verbosity', v));
SELECT jsonb_array_length(details #> '{rejects,first}') AS rows, length(details #>> '{rejects,first,9,value}') AS value,
	length(details #>> '{rejects,first,9,message}') AS message
FROM bulk_load('votes', :'in2', '{"on_error": "ignore", "log_verbosity": "verbose"}');
RESET client_min_messages;

-- one of each: the singular; kinds, most frequent first, and no more than ten
COPY (SELECT 'a,b,x,2024-01-01') TO :'in2';
SELECT rows_rejected FROM bulk_load('votes', :'in2', '{"on_error": "ignore"}');
CREATE TABLE wide (c1 int, c2 int, c3 int, c4 int, c5 int, c6 int, c7 int, c8 int, c9 int, c10 int, c11 int, c12 int);
COPY (SELECT string_agg(CASE WHEN j = i THEN 'x' ELSE '1' END, ',' ORDER BY j)
	FROM generate_series(1, 12) i, generate_series(1, 12) j, generate_series(1, CASE WHEN i = 7 THEN 2 ELSE 1 END) k
	GROUP BY i, k ORDER BY i, k) TO :'in2';
SELECT rows_rejected, details -> 'rejects' -> 'value' AS value, jsonb_array_length(details -> 'rejects' -> 'first') AS first
FROM bulk_load('wide', :'in2', '{"on_error": "ignore"}');

-- no bad rows, no NOTICE
COPY (SELECT 'a,b,1,2024-01-01') TO :'in2';
SELECT rows_loaded, rows_rejected, details -> 'rejects' AS rejects, details -> 'values_set_null' AS set_null
FROM bulk_load('votes', :'in2', '{"on_error": "ignore"}');

-- set_null
TRUNCATE votes;
SELECT rows_loaded, rows_rejected, details -> 'values_set_null' AS set_null
FROM bulk_load('votes', :'in', '{"header": true, "on_error": "set_null"}');
SELECT * FROM votes ORDER BY username;
SELECT rows_loaded FROM bulk_load('votes', :'in', '{"header": true, "on_error": "set_null", "log_verbosity": "verbose", "limit": 2}');
TRUNCATE votes;

-- reject_limit, in rows and in percent
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_limit": 100, "log_verbosity": "silent"}');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_limit": "99%", "log_verbosity": "silent"}');
SELECT count(*) FROM rejected;
SELECT rows_rejected FROM bulk_load('votes', :'in', jsonb_build_object('header', true, 'on_error', 'ignore',
	'reject_limit', 2, 'reject_table', 'rejected', 'reject_file', :'out'));
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_limit": 0}');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_limit": "12.5%", "reject_table": "rejected"}');
-- the table is rolled back, the file remains
SELECT count(*) FROM rejected;
SELECT pg_read_file(:'out');
TRUNCATE votes, rejected;

-- a reject table is created in the schema of its name
CREATE SCHEMA "Other schema";
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "log_verbosity": "silent",
	"reject_table": "\"Other schema\".\"Bad rows\""}');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "log_verbosity": "silent",
	"reject_table": "\"Other schema\".\"Bad rows\""}');
SELECT count(*), count(DISTINCT load_id) AS loads FROM "Other schema"."Bad rows";
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_table": "nowhere.rejected"}');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_table": "a.b.c.d"}');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_table": ""}');
DROP SCHEMA "Other schema" CASCADE;

-- created in a transaction that is rolled back, and again
BEGIN;
SAVEPOINT a;
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "log_verbosity": "silent", "reject_table": "fresh"}');
ROLLBACK TO a;
SELECT to_regclass('fresh');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "log_verbosity": "silent", "reject_table": "fresh"}');
SELECT count(*) FROM fresh;
COMMIT;
SELECT count(*) FROM fresh;
DROP TABLE fresh;

-- a table with other columns, or not a table, or the target
CREATE TABLE shape (LIKE rejected);
ALTER TABLE shape ALTER line_number TYPE int;
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_table": "shape"}');
ALTER TABLE shape ALTER line_number TYPE bigint;
ALTER TABLE shape ADD more int;
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_table": "shape"}');
ALTER TABLE shape DROP more, DROP raw_bytes;
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_table": "shape"}');
ALTER TABLE shape RENAME load_id TO id;
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_table": "shape"}');
CREATE VIEW rejected_view AS SELECT * FROM rejected;
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_table": "rejected_view"}');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_table": "votes"}');
DROP VIEW rejected_view;
DROP TABLE shape;

-- reject tables with dropped columns, an index, a trigger, partitions, a constraint
CREATE TABLE odd (gone int, LIKE rejected);
ALTER TABLE odd DROP gone;
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "log_verbosity": "silent", "reject_table": "odd"}');
CREATE INDEX odd_line ON odd (line_number);
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "log_verbosity": "silent", "reject_table": "odd"}');
SET enable_seqscan = off;
SELECT count(*), min(raw_line) FROM odd WHERE line_number = 3;
RESET enable_seqscan;
CREATE TABLE parts (LIKE rejected) PARTITION BY LIST (reason);
CREATE TABLE parts_syntax PARTITION OF parts FOR VALUES IN ('syntax');
CREATE TABLE parts_value PARTITION OF parts FOR VALUES IN ('value');
CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.message := upper(NEW.message COLLATE "C"); RETURN NEW; END';
CREATE TRIGGER shout BEFORE INSERT ON parts_syntax FOR EACH ROW EXECUTE FUNCTION shout();
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "log_verbosity": "silent", "reject_table": "parts"}');
SELECT tableoid::regclass, line_number, message FROM parts ORDER BY line_number;
TRUNCATE odd;
ALTER TABLE odd ADD CONSTRAINT no_values CHECK (reason <> 'value');
\set VERBOSITY terse
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "log_verbosity": "silent", "reject_table": "odd"}');
\set VERBOSITY default
DROP TABLE odd, parts;
DROP FUNCTION shout;

-- lines that are not valid text are kept as bytes
CREATE TABLE words (word text);
COPY (SELECT 'good' UNION ALL SELECT 'caf@' UNION ALL SELECT 'also good') TO PROGRAM 'tr @ "\351" > pgbulk_rejects_in2.csv';
TRUNCATE rejected;
SELECT rows_loaded, rows_rejected FROM bulk_load('words', :'in2', jsonb_build_object('on_error', 'ignore',
	'encoding', 'UTF8', 'reject_table', 'rejected', 'reject_file', :'out'));
SELECT reason, sqlstate, message, raw_line, raw_bytes FROM rejected;
SELECT pg_read_binary_file(:'out');
SELECT rows_loaded FROM bulk_load('words', :'out', '{"encoding": "LATIN1"}');
SELECT word, octet_length(word) FROM words ORDER BY word COLLATE "C";
-- and converted where they are valid
CREATE TABLE numbers (n int);
TRUNCATE rejected;
SELECT rows_rejected FROM bulk_load('numbers', :'in2', '{"on_error": "ignore", "log_verbosity": "silent", "encoding": "LATIN1", "reject_table": "rejected"}');
SELECT raw_line, octet_length(raw_line), raw_bytes FROM rejected ORDER BY line_number;

-- a last line without a line end gets that of the others
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_rejects_gone; printf "n\r\nx\r\n1\r\ny" > pgbulk_rejects_in2.csv';
SELECT rows_loaded, rows_rejected FROM bulk_load('numbers', :'in2', jsonb_build_object('header', true, 'on_error', 'ignore',
	'log_verbosity', 'silent', 'reject_file', :'out'));
SELECT encode(pg_read_binary_file(:'out'), 'escape');

-- one header for several files; each line with its file
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_rejects_gone; printf "n\nx\n1\n" > pgbulk_rejects_in2.csv; printf "n\n2\ny\n" > pgbulk_rejects_in3.csv';
TRUNCATE rejected;
SELECT rows_loaded, rows_rejected FROM bulk_load('numbers', :'dir' || 'in[23].csv', jsonb_build_object('header', true, 'on_error', 'ignore',
	'log_verbosity', 'silent', 'reject_file', :'out', 'reject_table', 'rejected'));
SELECT file, line_number, raw_line FROM rejected ORDER BY file;
SELECT pg_read_file(:'out');

-- reject files that are refused
SELECT rows_rejected FROM bulk_load('votes', :'in', jsonb_build_object('header', true, 'on_error', 'ignore', 'reject_file', :'in'));
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_file": "/proc/self/cwd/global/../pgbulk_rejects_in.csv"}');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_file": "/proc/self/cwd"}');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_file": "/proc/self/cwd/nowhere/out.csv"}');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_file": "/dev/null"}');
SELECT length(pg_read_file(:'in')) > 0 AS input_still_there;

-- privileges
CREATE ROLE regress_pgbulk_rejects;
GRANT pg_read_server_files TO regress_pgbulk_rejects;
GRANT INSERT, SELECT ON votes TO regress_pgbulk_rejects;
CREATE SCHEMA regress_pgbulk_rejects AUTHORIZATION regress_pgbulk_rejects;
CREATE SCHEMA regress_pgbulk_closed;
GRANT USAGE ON SCHEMA regress_pgbulk_closed TO regress_pgbulk_rejects;
SET ROLE regress_pgbulk_rejects;
SELECT rows_rejected FROM bulk_load('votes', :'in', jsonb_build_object('header', true, 'on_error', 'ignore', 'reject_file', :'out'));
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_table": "public.rejected"}');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_table": "regress_pgbulk_closed.rejected"}');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "log_verbosity": "silent", "reject_table": "regress_pgbulk_rejects.rejected"}');
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "log_verbosity": "silent", "reject_table": "pg_temp.rejected"}');
SELECT count(*) FROM pg_temp.rejected;
SELECT tableowner FROM pg_tables WHERE schemaname = 'regress_pgbulk_rejects';
RESET ROLE;
GRANT INSERT ON public.rejected TO regress_pgbulk_rejects;
ALTER TABLE public.rejected ENABLE ROW LEVEL SECURITY;
SET ROLE regress_pgbulk_rejects;
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "reject_table": "public.rejected"}');
RESET ROLE;
ALTER TABLE public.rejected DISABLE ROW LEVEL SECURITY;
SET ROLE regress_pgbulk_rejects;
SELECT rows_rejected FROM bulk_load('votes', :'in', '{"header": true, "on_error": "ignore", "log_verbosity": "silent", "reject_table": "public.rejected"}');
RESET ROLE;
DROP OWNED BY regress_pgbulk_rejects;
DROP ROLE regress_pgbulk_rejects;
DROP SCHEMA regress_pgbulk_closed;

-- many rejects in one window, and none is lost
COPY (SELECT 'x' || i FROM generate_series(1, 60000) i) TO :'in2';
TRUNCATE rejected;
SELECT rows_rejected FROM bulk_load('numbers', :'in2', '{"on_error": "ignore", "log_verbosity": "silent", "reject_table": "rejected"}');
SELECT count(*), count(DISTINCT raw_line), min(line_number), max(line_number) FROM rejected;

-- no load is running any more
SELECT count(*) FROM bulk_load_progress WHERE relation IS NOT NULL;

DROP TABLE votes, wide, words, numbers, rejected;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_rejects_gone; rm -f pgbulk_rejects_*';
