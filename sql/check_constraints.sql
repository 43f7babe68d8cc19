-- CHECKs that cannot throw are tested many rows at a time; what fails them, and all other CHECKs, row by row
SET datestyle = iso;
CREATE TABLE checked (id serial, n int CHECK (n BETWEEN 0 AND 1000), s text CONSTRAINT short CHECK (length(s) < 10 AND s > ''),
	x numeric CHECK (x >= 0 OR x IS NULL), k text CHECK (k IN ('a', 'b')), CHECK (s LIKE '%o%' AND s NOT LIKE 'x_'), d date CHECK (d < '2030-01-01'));
CREATE TABLE one_by_one (LIKE checked INCLUDING ALL, CHECK (n / 1 = n));
CREATE SEQUENCE one_by_one_id;
ALTER TABLE one_by_one ALTER id SET DEFAULT nextval('one_by_one_id');
\set file /proc/self/cwd/pgbulk_checked
CREATE PROCEDURE make(which text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($q$COPY (SELECT CASE WHEN %1$L = 'n' AND i %% 131 = 7 THEN 1001 ELSE i %% 1000 END,
		CASE WHEN %1$L = 's' AND i IN (1, 700, 2000) THEN 'this is long' WHEN %1$L = 's' AND i = 900 THEN '' ELSE 'row ' || i END,
		CASE WHEN i %% 5 = 0 THEN NULL WHEN %1$L = 'x' AND i > 1990 THEN -0.5 ELSE i / 4.0 END,
		CASE WHEN %1$L = 'k' AND i = 1234 THEN 'c' WHEN i %% 3 > 0 THEN 'b' END,
		CASE WHEN %1$L = 'd' AND i %% 2 = 0 THEN date '2031-01-01' ELSE '2020-02-29' END FROM generate_series(1, 2000) i)
		TO '/proc/self/cwd/pgbulk_checked' (FORMAT csv)$q$, which);
END $$;
CREATE FUNCTION load_both(more jsonb) RETURNS TABLE (loaded bigint, rejected bigint, ids bigint, differ bigint) LANGUAGE plpgsql AS $$
DECLARE
	options jsonb := '{"columns": ["n", "s", "x", "k", "d"], "on_error": "ignore", "log_verbosity": "silent"}' || more;
BEGIN
	TRUNCATE checked, one_by_one RESTART IDENTITY;
	PERFORM setval('one_by_one_id', 1, false);
	SELECT rows_loaded, rows_rejected INTO loaded, rejected FROM bulk_load('checked', '/proc/self/cwd/pgbulk_checked', options);
	PERFORM bulk_load('one_by_one', '/proc/self/cwd/pgbulk_checked', options || '{"workers": 0}');
	SELECT sum(id) INTO ids FROM checked;
	SELECT count(*) INTO differ FROM ((TABLE checked EXCEPT ALL TABLE one_by_one) UNION ALL (TABLE one_by_one EXCEPT ALL TABLE checked)) x;
	RETURN NEXT;
END $$;
CALL make('');
SELECT * FROM load_both('{}');
CALL make('n');
SELECT * FROM load_both('{}');
SELECT * FROM load_both('{"writer": "buffered"}');
SET pgbulk.chunk_size = 4096;
SELECT * FROM load_both('{"workers": 2}');
SELECT * FROM load_both('{"workers": 2, "writer": "buffered"}');
RESET pgbulk.chunk_size;
CALL make('s');
SELECT * FROM load_both('{}');
CALL make('x');
SELECT * FROM load_both('{}');
CALL make('k');
SELECT * FROM load_both('{}');
CALL make('d');
SELECT * FROM load_both('{}');

-- the error of COPY, at its line
\set VERBOSITY default
CALL make('k');
SELECT FROM bulk_load('checked', :'file', '{"columns": ["n", "s", "x", "k", "d"]}');
COPY checked (n, s, x, k, d) FROM :'file' (FORMAT csv);
\set VERBOSITY terse
SELECT reason, column_name, message, line FROM bulk_load('checked', :'file', '{"columns": ["n", "s", "x", "k", "d"], "on_error": "ignore", "log_verbosity": "silent"}') r,
	jsonb_to_recordset(r.details -> 'rejects' -> 'first') AS x (reason text, column_name text, message text, line int);

-- defaults that are the same for all rows
CREATE TABLE filled (c int DEFAULT 7, id serial, a text, b text DEFAULT 'some text', n numeric DEFAULT 1.50, at timestamptz DEFAULT now(), d date DEFAULT CURRENT_DATE,
	ts timestamp DEFAULT LOCALTIMESTAMP, nothing text DEFAULT NULL, who name DEFAULT 'me', v int, flag bool DEFAULT true NOT NULL, CHECK (c = 7 AND b > a));
CREATE TABLE filled_by_copy (LIKE filled INCLUDING DEFAULTS);
ALTER TABLE filled_by_copy ALTER id SET DEFAULT nextval('one_by_one_id');
SELECT setval('one_by_one_id', 1, false);
COPY (SELECT nullif('a' || i % 9, 'a3'), CASE WHEN i % 7 = 0 THEN NULL ELSE i END FROM generate_series(1, 1000) i) TO :'file' (FORMAT csv);
BEGIN;
SELECT rows_loaded FROM bulk_load('filled', :'file', '{"columns": ["a", "v"]}');
COPY filled_by_copy (a, v) FROM :'file' (FORMAT csv);
SELECT count(*) FROM (TABLE filled EXCEPT ALL TABLE filled_by_copy) x;
SELECT c, id, a, b, n, at = now() AS at, d = CURRENT_DATE AS d, ts = LOCALTIMESTAMP AS ts, nothing, who, v, flag FROM filled WHERE id IN (1, 3, 1000) ORDER BY id;
COMMIT;
CREATE TABLE of_one_size (a int DEFAULT -1, b bigint, c bool DEFAULT false, d date DEFAULT '2020-02-29');
COPY (SELECT i FROM generate_series(1, 1000) i) TO :'file' (FORMAT csv);
SELECT rows_loaded FROM bulk_load('of_one_size', :'file', '{"columns": ["b"]}');
SELECT a, sum(b), c, d, count(*) FROM of_one_size GROUP BY a, c, d;
DROP TABLE filled, filled_by_copy, of_one_size;

-- what may throw, or looks at more than columns
CREATE TABLE throwing (n int CHECK (100 / n > 0), s text CHECK (s ~ '^row'), t text CHECK (tableoid > 0 OR t > ''));
COPY (SELECT i % 500, CASE WHEN i = 77 THEN 'no' ELSE 'row' END, 't' FROM generate_series(1, 1000) i) TO :'file' (FORMAT csv);
SELECT rows_loaded, rows_rejected FROM bulk_load('throwing', :'file', '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT count(*), min(n), max(n) FROM throwing;

-- what throws for its collation: there are two, or it is not deterministic, if there is one that is not
DO $$BEGIN
	CREATE COLLATION blurred (provider = icu, locale = 'und', deterministic = false);
EXCEPTION WHEN others THEN
	CREATE COLLATION blurred FROM "C";
END$$;
CREATE TABLE unclear (a text COLLATE "C", b text COLLATE "POSIX", c text COLLATE blurred, CHECK (a < b), CHECK (coalesce(a, b) LIKE 'q%'), CHECK (NOT starts_with(c, 'x')));
COPY (VALUES (NULL, NULL, NULL), ('x', 'y', NULL), ('x', NULL, NULL), (NULL, NULL, 'x'), (NULL, NULL, NULL)) TO :'file' (FORMAT csv);
SELECT rows_loaded, rows_rejected FROM bulk_load('unclear', :'file', '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT count(*), count(coalesce(a, b, c)) FROM unclear;
\set VERBOSITY default
ALTER TABLE unclear DROP CONSTRAINT unclear_check1;
COPY unclear (b, a) FROM STDIN WITH (FORMAT csv, workers 0);
"y",
,"x"
"y","x"
\.
\set VERBOSITY terse
DROP TABLE unclear;
DROP COLLATION blurred;

-- tuples that are tested in a subtransaction, which a row before them has opened
SELECT CASE WHEN current_setting('server_version_num')::int >= 180000 THEN 'VIRTUAL' ELSE 'STORED' END AS kind \gset
CREATE TABLE guarded (n int CHECK (n <> 13), at timestamp(3), rest int GENERATED ALWAYS AS (n % 7) :kind);
COPY (VALUES ('11', '0001-04-14 05:39:48.2'), ('12', 'epoch'), ('13', '2020-01-02 03:04:05'), ('14', '2020-01-02 03:04:05')) TO :'file' (FORMAT csv);
SELECT rows_loaded, rows_rejected FROM bulk_load('guarded', :'file', '{"on_error": "ignore", "log_verbosity": "silent"}');
TABLE guarded;
DROP TABLE guarded;

-- one row's values at once: a CHECK of two columns, of none, of a NULL; and of rows of one size
CREATE TABLE pairs (a int, b int, CHECK (a < b), CHECK (a IS DISTINCT FROM 5), CHECK (NULL::bool));
COPY (SELECT i, CASE WHEN i % 100 = 0 THEN i ELSE i + 1 END FROM generate_series(1, 1000) i) TO :'file' (FORMAT csv);
SELECT rows_loaded, rows_rejected FROM bulk_load('pairs', :'file', '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT count(*), count(*) FILTER (WHERE a >= b OR a = 5) FROM pairs;
DROP TABLE checked, one_by_one, throwing, pairs;
DROP SEQUENCE one_by_one_id;
DROP PROCEDURE make;
DROP FUNCTION load_both;
