--
-- Calls that are refused: files that cannot be read, tables that cannot be loaded, roles without privileges.
--

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_refused_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;


CREATE TABLE refused_t (a int, b text, c int DEFAULT 3);
SELECT pg_temp.put('in', E'1,x,2\n') AS file \gset

-- files
SELECT rows_loaded FROM bulk_load('refused_t', '/proc/self/cwd/pgbulk_refused_none');
SELECT rows_loaded FROM bulk_load('refused_t', '/proc/self/cwd/no/such/folder/file.csv');
SELECT rows_loaded FROM bulk_load('refused_t', '/proc/self/cwd/PG_VERSION/file.csv');
SELECT rows_loaded FROM bulk_load('refused_t', '/proc/self/cwd');
SELECT rows_loaded FROM bulk_load('refused_t', '/proc/self/cwd/glob[a]l');
SELECT rows_loaded FROM bulk_load('refused_t', '/dev/null');
SELECT rows_loaded FROM bulk_load('refused_t', '/dev/zero');
SELECT rows_loaded FROM bulk_load('refused_t', 'pgbulk_refused_in');
SELECT rows_loaded FROM bulk_load('refused_t', './pgbulk_refused_in');
SELECT rows_loaded FROM bulk_load('refused_t', '~/file.csv');
SELECT rows_loaded FROM bulk_load('refused_t', 'file:///proc/self/cwd/pgbulk_refused_in');
SELECT rows_loaded FROM bulk_load('refused_t', 'cat /etc/passwd |');
-- invalid paths: the error says what they seem to be
SELECT rows_loaded FROM bulk_load('refused_t', 'STDIN');
SELECT rows_loaded FROM bulk_load('refused_t', 'stdn');
SELECT rows_loaded FROM bulk_load('refused_t', '-');
SELECT rows_loaded FROM bulk_load('refused_t', 'https://example.org/votes.csv?year=2024&all=1');
SELECT rows_loaded FROM bulk_load('refused_t', 's3://bucket/votes.csv');
SELECT rows_loaded FROM bulk_load('refused_t', 'gs://bucket/votes.csv');
SELECT rows_loaded FROM bulk_load('refused_t', 'HDFS://namenode/votes.csv');
SELECT rows_loaded FROM bulk_load('refused_t', '{a,b}');
SELECT rows_loaded FROM bulk_load('refused_t', '{"/data/a.csv", /data/b.csv}');
SELECT rows_loaded FROM bulk_load('refused_t', ARRAY['/data/a.csv', 's3://bucket/b.csv']);
SELECT rows_loaded FROM bulk_load('refused_t', 'C:\Users\me\votes.csv');
SELECT bulk_inspect('Stdin');
SELECT bulk_inspect('https://example.org/votes.csv');
SELECT bulk_load_control('s3://bucket/votes.ctl');
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_refused_closed; chmod 000 pgbulk_refused_closed; ln -s nowhere pgbulk_refused_dangling; ln -s pgbulk_refused_in pgbulk_refused_link';
-- (a server never runs as root, so mode 000 binds it)
SELECT rows_loaded FROM bulk_load('refused_t', '/proc/self/cwd/pgbulk_refused_closed');
SELECT rows_loaded FROM bulk_load('refused_t', '/proc/self/cwd/pgbulk_refused_dangling');
SELECT rows_loaded FROM bulk_load('refused_t', '/proc/self/cwd/pgbulk_refused_link');
-- one of several
SELECT rows_loaded FROM bulk_load('refused_t', ARRAY[:'file', '/proc/self/cwd/pgbulk_refused_closed', :'file']);
SELECT count(*) FROM refused_t;

-- tables
CREATE VIEW refused_view AS SELECT * FROM refused_t;
CREATE MATERIALIZED VIEW refused_matview AS SELECT * FROM refused_t;
CREATE SEQUENCE refused_seq;
CREATE INDEX refused_index ON refused_t (a);
CREATE TYPE refused_type AS (a int);
CREATE TABLE refused_parted (a int) PARTITION BY LIST (a);
CREATE INDEX refused_parted_index ON refused_parted (a);
SELECT rows_loaded FROM bulk_load('refused_view', :'file');
SELECT rows_loaded FROM bulk_load('refused_matview', :'file');
SELECT rows_loaded FROM bulk_load('refused_seq', :'file');
-- (messages differ between servers)
\set VERBOSITY sqlstate
SELECT rows_loaded FROM bulk_load('refused_index', :'file');
SELECT rows_loaded FROM bulk_load('refused_parted_index', :'file');
SELECT rows_loaded FROM bulk_load('refused_type', :'file');
\set VERBOSITY default
SELECT rows_loaded FROM bulk_load('pg_class', :'file');
SELECT rows_loaded FROM bulk_load('pg_toast.pg_toast_1255', :'file');
SELECT rows_loaded FROM bulk_load('pg_authid', :'file', '{"truncate": true}');
SELECT rows_loaded FROM bulk_load('pg_roles', :'file');
SELECT rows_loaded FROM bulk_load('information_schema.sql_features', :'file', '{"columns": ["feature_id"], "limit": 0}');
SELECT rows_loaded FROM bulk_load(1, :'file');
-- a foreign table, where there is a wrapper
CREATE FUNCTION pg_temp.foreign_table() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'file_fdw') THEN
		RETURN '0A000: cannot load into foreign table "refused_foreign"';
	END IF;
	CREATE EXTENSION file_fdw;
	CREATE SERVER refused_server FOREIGN DATA WRAPPER file_fdw;
	CREATE FOREIGN TABLE refused_foreign (a int) SERVER refused_server OPTIONS (filename '/nonexistent');
	PERFORM bulk_load('refused_foreign', '/proc/self/cwd/pgbulk_refused_in');
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ': ' || sqlerrm;
END $$;
SELECT pg_temp.foreign_table();
CREATE FUNCTION pg_temp.foreign_partition() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'file_fdw') THEN
		RETURN '0A000: cannot insert into foreign table "refused_foreign"';
	END IF;
	CREATE EXTENSION file_fdw;
	CREATE SERVER refused_server FOREIGN DATA WRAPPER file_fdw;
	CREATE FOREIGN TABLE refused_foreign PARTITION OF refused_parted FOR VALUES IN (1) SERVER refused_server OPTIONS (filename '/nonexistent');
	PERFORM bulk_load('refused_parted', '/proc/self/cwd/pgbulk_refused_in', '{"columns": ["a", null, null]}');
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ': ' || sqlerrm;
END $$;
SELECT pg_temp.foreign_partition();

-- roles
CREATE ROLE regress_pgbulk_refused;
CREATE ROLE regress_pgbulk_refused_reader IN ROLE pg_read_server_files;
CREATE ROLE regress_pgbulk_refused_mapper IN ROLE pg_read_server_files;
GRANT INSERT ON refused_t TO regress_pgbulk_refused;
SET ROLE regress_pgbulk_refused;
SELECT rows_loaded FROM bulk_load('refused_t', :'file');
-- and learns nothing about which files exist
SELECT rows_loaded FROM bulk_load('refused_t', '/proc/self/cwd/pgbulk_refused_none');
SELECT rows_loaded FROM bulk_load('refused_t', '/proc/self/cwd/pgbulk_refused_none*');
SELECT rows_loaded FROM bulk_load('refused_t', '/proc/self/cwd/pgbulk_refused_*');
SET ROLE regress_pgbulk_refused_reader;
SELECT rows_loaded FROM bulk_load('refused_t', :'file');
RESET ROLE;
-- columns: those that the file has must be granted, and no others
GRANT INSERT (a, b) ON refused_t TO regress_pgbulk_refused_reader;
SET ROLE regress_pgbulk_refused_reader;
SELECT rows_loaded FROM bulk_load('refused_t', :'file');
SELECT rows_loaded FROM bulk_load('refused_t', :'file', '{"columns": ["a", "b", "c"]}');
SELECT rows_loaded FROM bulk_load('refused_t', :'file', '{"columns": ["a", "b", null]}');
SELECT rows_loaded FROM bulk_load('refused_t', :'file', '{"columns": ["a", "b"], "extra_columns": "ignore"}');
SELECT rows_loaded FROM bulk_load('refused_t', :'file', '{"columns": ["a", null, null], "header": 0}');
RESET ROLE;
SELECT pg_temp.put('mapped', E'b,a\ny,7\n') AS mapped, pg_temp.put('mapped_more', E'b,a,c\ny,7,8\n') AS mapped_more \gset
-- (without any privilege there is an error before the file is read)
SET ROLE regress_pgbulk_refused_reader;
SELECT rows_loaded FROM bulk_load('refused_t', :'mapped', '{"header": "map"}');
SELECT rows_loaded FROM bulk_load('refused_t', :'mapped_more', '{"header": "map"}');
SET ROLE regress_pgbulk_refused_mapper;
SELECT rows_loaded FROM bulk_load('refused_t', :'mapped', '{"header": "map"}');
RESET ROLE;
-- partitions need no grants of their own, triggers and defaults run as usual
CREATE TABLE refused_parts (a int, b text) PARTITION BY LIST (a);
CREATE TABLE refused_part PARTITION OF refused_parts DEFAULT;
GRANT INSERT ON refused_parts TO regress_pgbulk_refused_reader;
SET ROLE regress_pgbulk_refused_reader;
SELECT rows_loaded FROM bulk_load('refused_parts', :'file', '{"columns": ["a", "b", null]}');
SELECT rows_loaded FROM bulk_load('refused_part', :'file', '{"columns": ["a", "b", null]}');
RESET ROLE;
DROP TABLE refused_parts;
-- row-level security
ALTER TABLE refused_t ENABLE ROW LEVEL SECURITY;
GRANT INSERT ON refused_t TO regress_pgbulk_refused_reader;
CREATE POLICY all_rows ON refused_t TO regress_pgbulk_refused_reader USING (true) WITH CHECK (true);
SET ROLE regress_pgbulk_refused_reader;
SELECT rows_loaded FROM bulk_load('refused_t', :'file');
SET row_security = off;
SELECT rows_loaded FROM bulk_load('refused_t', :'file');
RESET row_security;
RESET ROLE;
-- roles that bypass it may load
SELECT rows_loaded FROM bulk_load('refused_t', :'file');
ALTER TABLE refused_t OWNER TO regress_pgbulk_refused_reader;
SET ROLE regress_pgbulk_refused_reader;
SELECT rows_loaded FROM bulk_load('refused_t', :'file');
RESET ROLE;
ALTER TABLE refused_t FORCE ROW LEVEL SECURITY;
SET ROLE regress_pgbulk_refused_reader;
SELECT rows_loaded FROM bulk_load('refused_t', :'file');
RESET ROLE;
-- the function itself
REVOKE EXECUTE ON FUNCTION bulk_load(regclass, text, jsonb) FROM PUBLIC;
SET ROLE regress_pgbulk_refused_reader;
SELECT rows_loaded FROM bulk_load('refused_t', :'file');
RESET ROLE;
GRANT EXECUTE ON FUNCTION bulk_load(regclass, text, jsonb) TO PUBLIC;
SELECT count(*) FROM refused_t;

DROP VIEW refused_view;
DROP MATERIALIZED VIEW refused_matview;
DROP SEQUENCE refused_seq;
DROP TABLE refused_t, refused_parted;
DROP TYPE refused_type;
DROP ROLE regress_pgbulk_refused, regress_pgbulk_refused_mapper, regress_pgbulk_refused_reader;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_refused_gone; rm -f pgbulk_refused_*';
