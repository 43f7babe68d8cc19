--
-- Tables whose rows other extensions store elsewhere: Citus and TimescaleDB, with
-- catalogs made by hand.  test/t/hooks.pl has those that are recognized by the plan.
--

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_engines_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
SELECT pg_temp.put('1', E'1,a\n2,b\n') AS f, pg_temp.put('2', E'x,a\n2,b\n') AS bad \gset

CREATE TABLE engines_t (a int, b text);
CREATE TABLE engines_local (a int, b text);
CREATE TABLE engines_t_102008 (a int, b text);
CREATE TABLE engines_parts (a int, b text) PARTITION BY RANGE (a);
CREATE TABLE engines_part1 PARTITION OF engines_parts FOR VALUES FROM (1) TO (2);
CREATE TABLE engines_part2 PARTITION OF engines_parts DEFAULT;

-- an extension of that name without its tables, and such tables without it
SET allow_system_table_mods = on;
CREATE SCHEMA engines_citus;
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
SELECT 4200000001, 'citus', oid, 'engines_citus'::regnamespace, false, '1' FROM pg_roles WHERE rolname = current_user;
SELECT rows_loaded FROM bulk_load('engines_t', :'f');
CREATE TABLE engines_citus.pg_dist_partition (logicalrelid regclass, partmethod "char", partkey text, colocationid int DEFAULT 0, repmodel "char" DEFAULT 'c');
INSERT INTO engines_citus.pg_dist_partition VALUES ('engines_t', 'a'), ('engines_part2', 'a');
CREATE FUNCTION engines_citus.relation_is_a_known_shard(regclass) RETURNS bool LANGUAGE sql AS $$SELECT $1 = 'public.engines_t_102008'::regclass$$;
SELECT rows_loaded FROM bulk_load('engines_t', :'f');
SELECT rows_loaded FROM bulk_load('engines_t_102008', :'f');
TRUNCATE engines_t, engines_t_102008;

-- when they are the extension's: in every entry, whatever the writer
ALTER EXTENSION citus ADD TABLE engines_citus.pg_dist_partition;
ALTER EXTENSION citus ADD FUNCTION engines_citus.relation_is_a_known_shard(regclass);
SELECT * FROM bulk_load('engines_t', :'f');
\set VERBOSITY terse
SELECT * FROM bulk_load('engines_t', ARRAY[:'f'], '{"writer": "direct"}');
SELECT * FROM bulk_load('engines_t', :'f', '{"writer": "buffered"}');
SELECT * FROM bulk_load('engines_t', :'f', '{"dry_run": true}');
SELECT * FROM bulk_load('engines_t', :'f', '{"header": "map"}');
SELECT * FROM bulk_load('engines_t', :'f', '{"truncate": true}');
SELECT * FROM bulk_load_query('engines_t', 'SELECT 1, 2');
BEGIN;
DELETE FROM engines_citus.pg_dist_partition WHERE logicalrelid = 'engines_t'::regclass;
SELECT rows_loaded FROM bulk_load('engines_t', :'bad', '{"on_error": "ignore", "reject_table": "engines_rejects", "log_verbosity": "silent"}');
INSERT INTO engines_citus.pg_dist_partition VALUES ('engines_t', 'a');
SAVEPOINT s;
SELECT * FROM bulk_load_retry('engines_t', 'engines_rejects', (SELECT load_id FROM engines_rejects));
ROLLBACK TO s;
-- one as a reject table gets its rows by INSERT
INSERT INTO engines_citus.pg_dist_partition VALUES ('engines_rejects', 'a');
SELECT rows_loaded FROM bulk_load('engines_local', :'bad', '{"on_error": "ignore", "reject_table": "engines_rejects", "log_verbosity": "silent"}');
SELECT raw_line FROM engines_rejects;
ROLLBACK;
SELECT count(*) FROM engines_t;

-- the catalogs are read without the caller's privileges
CREATE ROLE regress_pgbulk_engines;
GRANT pg_read_server_files TO regress_pgbulk_engines;
GRANT INSERT ON engines_t TO regress_pgbulk_engines;
SET ROLE regress_pgbulk_engines;
SELECT * FROM bulk_load('engines_t', :'f');
RESET ROLE;

-- other tables are loaded as usual; a partition is checked when its first row comes
SELECT rows_loaded FROM bulk_load('engines_local', :'f');
SELECT rows_loaded FROM bulk_load('engines_parts', :'f', '{"limit": 1}');
SELECT rows_loaded FROM bulk_load('engines_parts', :'f');
\set VERBOSITY default
SELECT rows_loaded FROM bulk_load('engines_parts', :'f', '{"writer": "direct"}');
SELECT rows_loaded FROM bulk_load('engines_part2', :'f', '{"writer": "direct"}');

-- a table whose rows would be sent to shards, of a version that is not known: test/t/citus.pl has Citus itself
UPDATE engines_citus.pg_dist_partition SET partmethod = 'n' WHERE logicalrelid = 'engines_t'::regclass;
SELECT rows_loaded FROM bulk_load('engines_t', :'f');
ALTER TABLE engines_citus.pg_dist_partition RENAME repmodel TO model;
SELECT rows_loaded FROM bulk_load('engines_t', :'f');
SELECT rows_loaded FROM bulk_load('engines_local', :'f');
-- one that does not even tell its tables
ALTER TABLE engines_citus.pg_dist_partition RENAME logicalrelid TO relation;
SELECT rows_loaded FROM bulk_load('engines_local', :'f');

-- a shard, unless Citus' own setting lets the session write to shards
SELECT rows_loaded FROM bulk_load('engines_t_102008', :'f');
SET citus.enable_manual_changes_to_shards = on;
SELECT rows_loaded FROM bulk_load('engines_t_102008', :'f');
RESET citus.enable_manual_changes_to_shards;
DROP EXTENSION citus;
SELECT rows_loaded FROM bulk_load('engines_t', :'f');

-- TimescaleDB
CREATE SCHEMA _timescaledb_catalog;
CREATE TABLE _timescaledb_catalog.hypertable (id int, schema_name name, table_name name);
INSERT INTO _timescaledb_catalog.hypertable VALUES (1, 'public', 'engines_local'), (2, 'elsewhere', 'engines_t');
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
SELECT 4200000002, 'timescaledb', oid, 'public'::regnamespace, false, '1' FROM pg_roles WHERE rolname = current_user;
ALTER EXTENSION timescaledb ADD TABLE _timescaledb_catalog.hypertable;
SELECT * FROM bulk_load('engines_local', :'f');
SET session_replication_role = replica;
SELECT * FROM bulk_load('engines_local', :'f');
RESET session_replication_role;
SELECT rows_loaded FROM bulk_load('engines_t', :'f');
-- a table of another version, which has other columns
ALTER TABLE _timescaledb_catalog.hypertable ALTER table_name TYPE text;
SELECT rows_loaded FROM bulk_load('engines_local', :'f');
DROP EXTENSION timescaledb;

DROP SCHEMA engines_citus, _timescaledb_catalog;
DROP TABLE engines_t, engines_local, engines_t_102008, engines_parts;
DROP ROLE regress_pgbulk_engines;
