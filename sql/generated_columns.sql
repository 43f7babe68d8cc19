-- stored generated columns that only compute are formed with the rows; others, and rows that throw, row by row
SET datestyle = iso;
SET timezone = 'UTC';
SET client_min_messages = warning;
CREATE TABLE made (a int, b numeric(8,2), s text, d date, j jsonb,
	twice int GENERATED ALWAYS AS (a * 2) STORED, total numeric(10,1) GENERATED ALWAYS AS (a * b) STORED CHECK (total < 6000 OR total IS NULL),
	up varchar(12) GENERATED ALWAYS AS (upper(s) || '!') STORED, named text GENERATED ALWAYS AS (CASE WHEN a % 3 > 0 THEN 'some' END) STORED,
	flag bool GENERATED ALWAYS AS (s NOT LIKE '%7%' AND s > '') STORED NOT NULL, year int GENERATED ALWAYS AS (date_part('year', d)) STORED,
	k int GENERATED ALWAYS AS ((j ->> 'k')::int) STORED, id serial, late timestamp GENERATED ALWAYS AS (d + interval '1 hour') STORED,
	big numeric GENERATED ALWAYS AS (greatest(b, 4)) STORED, hash uuid GENERATED ALWAYS AS (md5(coalesce(s, ''))::uuid) STORED);
CREATE FUNCTION copies(anyelement) RETURNS anyelement LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
CREATE TABLE by_copy (LIKE made INCLUDING ALL);
CREATE SEQUENCE by_copy_id;
ALTER TABLE by_copy ALTER id SET DEFAULT nextval('by_copy_id');
\set file /proc/self/cwd/pgbulk_made
CREATE PROCEDURE make(which text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($q$COPY (SELECT CASE WHEN %1$L = 'a' AND i %% 400 = 7 THEN 2000000000 WHEN i %% 11 <> 0 THEN i END,
		CASE WHEN %1$L = 'total' AND i IN (300, 1999) THEN 99999 WHEN %1$L = 'b' AND i = 3 THEN 999999 ELSE i / 1000.0 END,
		CASE WHEN %1$L = 's' AND i IN (1, 2, 700, 2000) THEN 'this is long' WHEN %1$L = 'null' AND i %% 500 = 499 THEN NULL ELSE 'row ' || i END,
		CASE WHEN i %% 5 = 0 THEN NULL ELSE '2020-01-01'::date + i END,
		CASE WHEN %1$L = 'k' AND i IN (4, 1234) THEN '{"k": "one"}' WHEN i %% 7 > 0 THEN format('{"k": %%s, "x": "y"}', i) END FROM generate_series(1, 2000) i)
		TO '/proc/self/cwd/pgbulk_made' (FORMAT csv)$q$, which);
END $$;
CREATE FUNCTION load_both(more jsonb) RETURNS TABLE (loaded bigint, rejected bigint, ids bigint, last_id bigint, differ bigint, messages bigint) LANGUAGE plpgsql AS $$
DECLARE
	options jsonb := '{"columns": ["a", "b", "s", "d", "j"], "on_error": "ignore", "log_verbosity": "silent", "reject_table": "rejects"}' || more;
BEGIN
	TRUNCATE made, by_copy RESTART IDENTITY;
	PERFORM setval('by_copy_id', 1, false);
	DROP TABLE IF EXISTS rejects;
	SELECT rows_loaded, rows_rejected INTO loaded, rejected FROM bulk_load('made', '/proc/self/cwd/pgbulk_made', options);
	CREATE TEMP TABLE lines (n serial, line text);
	COPY lines (line) FROM '/proc/self/cwd/pgbulk_made' (FORMAT text, DELIMITER E'\b');
	DELETE FROM lines WHERE n IN (SELECT line_number FROM rejects);
	COPY (SELECT l.line FROM lines l ORDER BY n) TO '/proc/self/cwd/pgbulk_made_good' (FORMAT text, DELIMITER E'\b');
	COPY by_copy (a, b, s, d, j) FROM '/proc/self/cwd/pgbulk_made_good' (FORMAT csv);
	DROP TABLE lines;
	-- bad rows take a number, too; with workers the rows have others
	SELECT sum(id), max(id) INTO ids, last_id FROM made WHERE NOT options ? 'workers';
	SELECT count(*) INTO differ FROM ((SELECT to_jsonb(m) - 'id' FROM made m EXCEPT ALL SELECT to_jsonb(c) - 'id' FROM by_copy c) UNION ALL
		(SELECT to_jsonb(c) - 'id' FROM by_copy c EXCEPT ALL SELECT to_jsonb(m) - 'id' FROM made m)) x;
	SELECT count(DISTINCT message) INTO messages FROM rejects;
	RETURN NEXT;
END $$;
SET pgbulk.copy = off;
CALL make('');
SELECT * FROM load_both('{}');
SELECT * FROM made WHERE id IN (1, 22, 30, 1994, 1996) ORDER BY id;
SELECT * FROM load_both('{"writer": "buffered"}');
CALL make('a');
SELECT * FROM load_both('{}');
SELECT reason, sqlstate, message, column_name, line_number FROM rejects ORDER BY line_number LIMIT 2;
CALL make('b');
SELECT * FROM load_both('{}');
CALL make('s');
SELECT * FROM load_both('{}');
SELECT reason, sqlstate, message, column_name, line_number FROM rejects ORDER BY line_number LIMIT 2;
SELECT * FROM load_both('{"writer": "buffered"}');
SET pgbulk.chunk_size = 4096;
SELECT * FROM load_both('{"workers": 2}');
SELECT * FROM load_both('{"workers": 2, "writer": "buffered"}');
CALL make('total');
SELECT * FROM load_both('{"workers": 2}');
SELECT reason, sqlstate, message, column_name, line_number FROM rejects ORDER BY line_number LIMIT 2;
CALL make('null');
SELECT * FROM load_both('{"workers": 2}');
SELECT reason, sqlstate, message, column_name, line_number FROM rejects ORDER BY line_number LIMIT 2;
RESET pgbulk.chunk_size;
CALL make('k');
SELECT * FROM load_both('{}');
SELECT reason, sqlstate, message, column_name, line_number FROM rejects ORDER BY line_number LIMIT 2;

-- the error of COPY, at its line
\set VERBOSITY default
CALL make('k');
SELECT FROM bulk_load('made', :'file', '{"columns": ["a", "b", "s", "d", "j"], "workers": 0}');
COPY made (a, b, s, d, j) FROM :'file' (FORMAT csv);
SET pgbulk.chunk_size = 4096;
COPY (SELECT 9, 9, CASE WHEN i > 2500 THEN 'too long for it' ELSE 'row' END, NULL, NULL FROM generate_series(1, 3000) i) TO :'file' (FORMAT csv);
SELECT FROM bulk_load('made', :'file', '{"columns": ["a", "b", "s", "d", "j"], "workers": 2}');
COPY made (a, b, s, d, j) FROM :'file' (FORMAT csv);
CALL make('null');
TRUNCATE made RESTART IDENTITY;
SELECT FROM bulk_load('made', :'file', '{"columns": ["a", "b", "s", "d", "j"], "workers": 0}');
\set VERBOSITY terse
RESET pgbulk.chunk_size;

-- workers form them, whatever they may throw
CALL make('');
SET pgbulk.chunk_size = 4096;
TRUNCATE made;
SELECT workers > 0 AS shared, details -> 'no_workers' AS refused FROM bulk_load('made', :'file', '{"columns": ["a", "b", "s", "d", "j"], "workers": 2}');
RESET pgbulk.chunk_size;

-- a column that looks at later ones, at the table, or does more than compute
CREATE TABLE ordered (n int GENERATED ALWAYS AS (i + 1) STORED, i int, t oid GENERATED ALWAYS AS (tableoid) STORED, c int GENERATED ALWAYS AS (copies(i)) STORED);
COPY (SELECT i FROM generate_series(1, 1000) i) TO :'file' (FORMAT csv);
SELECT rows_loaded FROM bulk_load('ordered', :'file');
SELECT count(*), sum(n), sum(c), count(*) FILTER (WHERE t = 'ordered'::regclass) FROM ordered;
ALTER TABLE ordered DROP t, DROP c;
SELECT rows_loaded FROM bulk_load('ordered', :'file');
ALTER TABLE ordered DROP n;
ALTER TABLE ordered ADD u int GENERATED ALWAYS AS (nullif(i, 500)) STORED;
SELECT rows_loaded FROM bulk_load('ordered', :'file');
SELECT count(*), sum(i), sum(u) FROM ordered;
DROP TABLE ordered;

-- the first null of a row with many columns; wide values, and those that are longer than what they are made of
SELECT format('CREATE TABLE many (%s, long text GENERATED ALWAYS AS (repeat(c1, 3000)) STORED, none text GENERATED ALWAYS AS (nullif(c2, c2)) STORED, last int GENERATED ALWAYS AS (length(c70)) STORED)',
	string_agg('c' || i || ' text', ', ' ORDER BY i)) FROM generate_series(1, 70) i \gexec
COPY (SELECT array_to_string(array(SELECT CASE WHEN i > 0 OR g = 10 THEN 'v' || i || g END FROM generate_series(1, 70) i), ',') FROM generate_series(1, 300) g) TO :'file' (FORMAT text);
SELECT rows_loaded FROM bulk_load('many', :'file');
SELECT count(*), sum(length(long)), count(none), sum(last), sum(length(c70)), min(c69 COLLATE "C"), max(c70 COLLATE "C") FROM many;
CREATE TABLE wide (s text, w text GENERATED ALWAYS AS (s || s) STORED, h text GENERATED ALWAYS AS (left(s, 3)) STORED);
ALTER TABLE wide ALTER w SET STORAGE EXTERNAL;
COPY (SELECT repeat(md5(i::text), i) FROM generate_series(1, 200) i) TO :'file' (FORMAT csv);
SELECT rows_loaded FROM bulk_load('wide', :'file');
SELECT count(*), sum(length(w)), count(*) FILTER (WHERE w = s || s AND h = left(s, 3)) FROM wide;
DROP TABLE many, wide;

-- tables in use, an index on such a column, a domain, a partition
CREATE DOMAIN small AS int CHECK (VALUE < 900);
CREATE TABLE used (i int, s small GENERATED ALWAYS AS (i % 1000) STORED, h int GENERATED ALWAYS AS (i / 2) STORED UNIQUE);
COPY (SELECT i * 2 FROM generate_series(1, 1000) i) TO :'file' (FORMAT csv);
SELECT rows_loaded, rows_rejected, rows_duplicate FROM bulk_load('used', :'file', '{"on_error": "ignore", "on_duplicate": "keep_old", "log_verbosity": "silent"}');
SELECT rows_loaded, rows_rejected, rows_duplicate FROM bulk_load('used', :'file', '{"on_error": "ignore", "on_duplicate": "keep_old", "log_verbosity": "silent", "writer": "buffered"}');
SELECT count(*), sum(s), sum(h) FROM used;
ALTER TABLE used DROP s;
SELECT rows_loaded, rows_rejected, rows_duplicate FROM bulk_load('used', :'file', '{"on_error": "ignore", "on_duplicate": "keep_old", "log_verbosity": "silent", "writer": "buffered"}');
SELECT count(*), sum(i), sum(h) FROM used;
CREATE TABLE parts (i int, g int GENERATED ALWAYS AS (i * 1000000) STORED) PARTITION BY HASH (i);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
COPY (SELECT i * 2 FROM generate_series(1, 1100) i) TO :'file' (FORMAT csv);
SELECT rows_loaded, rows_rejected FROM bulk_load('parts', :'file', '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT count(*), sum(g::bigint) FROM parts;
-- in workers, too, whose errors are those of one process
TRUNCATE parts;
ALTER TABLE parts ADD CHECK (1000 / (i - 1234) <> 500);
SET pgbulk.chunk_size = 512;
SELECT rows_loaded, rows_rejected, workers > 0 AS shared FROM bulk_load('parts', :'file', '{"on_error": "ignore", "log_verbosity": "silent", "workers": 2}');
SELECT count(*), sum(g::bigint) FROM parts;
SELECT rows_loaded, rows_rejected FROM bulk_load('parts', :'file', '{"on_error": "ignore", "log_verbosity": "silent", "workers": 2, "writer": "buffered"}');
SELECT count(*), sum(g::bigint) FROM parts;
\set VERBOSITY default
SELECT FROM bulk_load('parts', :'file', '{"workers": 2}');
\set VERBOSITY terse
RESET pgbulk.chunk_size;
DROP TABLE used, parts, made, by_copy, rejects;
DROP DOMAIN small;
DROP SEQUENCE by_copy_id;
DROP PROCEDURE make;
DROP FUNCTION load_both, copies;
