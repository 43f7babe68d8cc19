-- What the server's log, which is :log, has of the writing of a load.
CREATE EXTENSION pgaudit;
CREATE TABLE audited (a int PRIMARY KEY, b text);
CREATE ROLE neighbour_auditor;
COPY (SELECT i AS a, 'row ' || i AS b FROM generate_series(1, 10) i) TO '/proc/self/cwd/neighbour_audited.csv' WITH (FORMAT csv, HEADER);
CREATE FUNCTION judge.log_size(log text) RETURNS bigint LANGUAGE sql AS 'SELECT (pg_stat_file(log)).size';
-- The kinds of writing that it has since it was so long, each with how often.
CREATE FUNCTION judge.audited(log text, since bigint) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(kind || ' ' || n, ', ' ORDER BY kind), 'nothing') FROM (
		SELECT m[1] AS kind, count(*) AS n
		FROM regexp_matches(pg_read_file(log, since, judge.log_size(log) - since), 'AUDIT: ((?:SESSION|OBJECT),\d+,\d+,WRITE,[^,]+,[^,]*,[^,]*),', 'g') r(m0),
			LATERAL (SELECT ARRAY[regexp_replace(m0[1], ',\d+,\d+,WRITE', '')]) s(m)
		GROUP BY 1) k
$$;

-- by relation, and by object
SET pgaudit.log = 'write';
SET pgaudit.log_relation = on;
SELECT judge.log_size(:'log') AS since \gset
SELECT FROM bulk_load('audited', '/proc/self/cwd/neighbour_audited.csv', '{"header": true}');
SELECT judge.audited(:'log', :since) AS found \gset
SELECT judge.verdict(:'found' LIKE '%SESSION,INSERT,TABLE,public.audited %', 'by relation: the table', :'found');
RESET pgaudit.log;
RESET pgaudit.log_relation;
GRANT INSERT ON audited TO neighbour_auditor;
SET pgaudit.role = 'neighbour_auditor';
TRUNCATE audited;
SELECT judge.log_size(:'log') AS since \gset
SELECT FROM bulk_load('audited', '/proc/self/cwd/neighbour_audited.csv', '{"header": true}');
SELECT judge.audited(:'log', :since) AS found \gset
SELECT judge.verdict(:'found' LIKE 'OBJECT,INSERT,TABLE,public.audited %', 'by object: the table', :'found');
RESET pgaudit.role;

-- by statement: each load is one that writes, as a COPY is
CREATE TABLE ways (way text, statement text);
INSERT INTO ways VALUES
	('COPY', $$COPY audited FROM '/proc/self/cwd/neighbour_audited.csv' WITH (FORMAT csv, HEADER)$$),
	('bulk_load', $$SELECT bulk_load('audited', '/proc/self/cwd/neighbour_audited.csv', '{"header": true}')$$),
	('by the buffered writer', $$SELECT bulk_load('audited', '/proc/self/cwd/neighbour_audited.csv', '{"header": true, "writer": "buffered"}')$$),
	('with header map', $$SELECT bulk_load('audited', '/proc/self/cwd/neighbour_audited.csv', '{"header": "map"}')$$),
	('a query', $$SELECT bulk_load_query('audited', 'SELECT 1, ''x''')$$),
	('in DO', $$DO 'BEGIN PERFORM bulk_load(''audited'', ''/proc/self/cwd/neighbour_audited.csv'', ''{"header": true}''); END'$$),
	('a prepared statement', $$PREPARE p AS SELECT bulk_load('audited', '/proc/self/cwd/neighbour_audited.csv', '{"header": true}'); EXECUTE p; DEALLOCATE p$$),
	('a cursor', $$BEGIN; DECLARE c CURSOR FOR SELECT bulk_load('audited', '/proc/self/cwd/neighbour_audited.csv', '{"header": true}'); FETCH ALL FROM c; COMMIT$$);
\pset format unaligned
SELECT format(E'TRUNCATE audited;\nSELECT judge.log_size(%1$L) AS since \\gset\nSET pgaudit.log = ''write'';\n%s \\g /dev/null\nRESET pgaudit.log;\nSELECT judge.audited(%1$L, :since) AS found \\gset\n'
	'SELECT judge.verdict(:''found'' ~ ''^SESSION,(INSERT|COPY),(TABLE,public.audited|,) 1$'', %3$L, :''found'');', :'log', statement, 'by statement: ' || way) FROM ways
\g neighbour_ways.psql
\i neighbour_ways.psql
\! rm neighbour_ways.psql
SELECT judge.log_size(:'log') AS since \gset
SET pgaudit.log = 'write';
SET pgaudit.log_relation = on;
SELECT FROM bulk_load('audited', '/proc/self/cwd/neighbour_audited.csv', '{"header": true, "truncate": true}');
SELECT FROM bulk_load('audited', '/proc/self/cwd/neighbour_audited.csv', '{"header": true, "on_duplicate": "keep_new", "reject_table": "neighbour_set_aside", "log_verbosity": "silent"}');
RESET pgaudit.log;
RESET pgaudit.log_relation;
SELECT judge.audited(:'log', :since) AS found \gset
SELECT judge.verdict(:'found' LIKE '%TRUNCATE%', 'truncate', :'found');
SELECT judge.verdict(:'found' LIKE '%DELETE,TABLE,public.audited%', 'rows that make way', :'found');
SELECT judge.verdict(:'found' LIKE '%INSERT,TABLE,public.neighbour_set_aside%', 'the reject table', :'found');
DROP OWNED BY neighbour_auditor;
DROP ROLE neighbour_auditor;
