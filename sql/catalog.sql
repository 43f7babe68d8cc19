--
-- The objects of the extension.
--
SELECT extname, extversion, extnamespace::regnamespace, extrelocatable, obj_description(oid, 'pg_extension') AS comment FROM pg_extension WHERE extname = 'pgbulk';
-- (since 17 the type of a view counts as an object of its own)
SELECT pg_describe_object(classid, objid, 0) COLLATE "C" AS object
FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pgbulk') AND classid <> 'pg_type'::regclass
ORDER BY 1;
-- every object has a comment, and so has every column
SELECT pg_describe_object(d.classid, d.objid, 0) AS without_comment
FROM pg_depend d
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pgbulk')
	AND d.classid <> 'pg_type'::regclass
	AND NOT EXISTS (SELECT FROM pg_description c WHERE c.objoid = d.objid AND c.classoid = d.classid AND c.objsubid = 0 AND c.description <> '')
ORDER BY 1;
SELECT a.attrelid::regclass, a.attname AS without_comment
FROM pg_attribute a JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = a.attrelid
	JOIN pg_class r ON r.oid = a.attrelid AND r.relkind = 'v'
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pgbulk')
	AND a.attnum > 0 AND col_description(a.attrelid, a.attnum) IS NULL;

-- the views of loads that are running
SELECT attname, format_type(atttypid, atttypmod) AS type, col_description(attrelid, attnum) AS comment
FROM pg_attribute WHERE attrelid = 'bulk_load_progress'::regclass AND attnum > 0 ORDER BY attnum;
SELECT attname, format_type(atttypid, atttypmod) AS type, col_description(attrelid, attnum) AS comment
FROM pg_attribute WHERE attrelid = 'bulk_load_progress_wide'::regclass AND attnum > 0 ORDER BY attnum;
SELECT * FROM bulk_load_progress WHERE relation IS NOT NULL;
SELECT count(*) FROM pg_stat_progress_copy WHERE datname = current_database();
-- a load that shows itself
CREATE TABLE catalog_t (a int, b text);
CREATE TABLE catalog_seen (n int, datname bool, relation text, phase text, percent bool, bar int, bytes_processed bigint, bytes_total bigint, rows_loaded bigint, rows_rejected bigint, rows_filtered bigint,
	rows_per_second bool, elapsed bool, eta bool, command text, type text, tuples_processed bigint, tuples_excluded bigint);
CREATE FUNCTION catalog_look(n int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_stat_clear_snapshot();
	INSERT INTO catalog_seen
	SELECT n, p.datname = current_database(), p.relation, p.phase, p.percent BETWEEN 0 AND 100, length(p.bar), p.bytes_processed, p.bytes_total, p.rows_loaded, p.rows_rejected, p.rows_filtered,
		p.rows_per_second >= 0, p.elapsed >= '0', p.eta >= '0', c.command, c.type, c.tuples_processed, c.tuples_excluded
	FROM bulk_load_progress_wide p JOIN pg_stat_progress_copy c USING (pid) WHERE pid = pg_backend_pid() AND p.relid = 'catalog_t'::regclass;
	RETURN n <> 2;
END $$;
COPY (SELECT i, 'x' FROM generate_series(1, 40) i) TO '/proc/self/cwd/pgbulk_catalog_in' WITH (FORMAT csv);
SET pgbulk.chunk_size = 64;
SELECT rows_loaded, rows_filtered FROM bulk_load('catalog_t', '/proc/self/cwd/pgbulk_catalog_in', '{"where": "catalog_look(a)"}');
RESET pgbulk.chunk_size;
SELECT DISTINCT datname, relation, phase, percent, bar, bytes_total, rows_rejected, elapsed, command, type, rows_per_second IS NULL OR rows_per_second AS rows_per_second, eta IS NULL OR eta AS eta FROM catalog_seen;
SELECT bool_and(bytes_processed BETWEEN 0 AND bytes_total) AND count(DISTINCT bytes_processed) > 1 AS bytes, bool_and(rows_loaded + rows_filtered < n) AND count(DISTINCT rows_loaded) > 1 AS rows,
	max(rows_filtered) AS filtered, bool_and(tuples_processed = rows_loaded AND tuples_excluded = rows_filtered) AS as_copy FROM catalog_seen;
-- nothing is left when it has ended, with or without an error
SELECT count(*) FROM bulk_load_progress WHERE relation IS NOT NULL;
COPY (SELECT 'x') TO '/proc/self/cwd/pgbulk_catalog_in' WITH (FORMAT csv);
SELECT rows_loaded FROM bulk_load('catalog_t', '/proc/self/cwd/pgbulk_catalog_in', '{"columns": ["a"]}');
SELECT count(*) FROM bulk_load_progress WHERE relation IS NOT NULL;
BEGIN;
SAVEPOINT s;
SELECT rows_loaded FROM bulk_load('catalog_t', '/proc/self/cwd/pgbulk_catalog_in', '{"columns": ["a"]}');
ROLLBACK TO s;
SELECT count(*) FROM bulk_load_progress WHERE relation IS NOT NULL;
COMMIT;
-- anyone may look
CREATE ROLE regress_pgbulk_catalog;
SET ROLE regress_pgbulk_catalog;
SELECT count(*) FROM bulk_load_progress WHERE relation IS NOT NULL;
RESET ROLE;
DROP ROLE regress_pgbulk_catalog;

-- the setting
SELECT name, setting, unit, context, vartype, min_val, max_val, boot_val FROM pg_settings WHERE name LIKE 'pgbulk.%' ORDER BY name;
\set VERBOSITY sqlstate
SET pgbulk.chunk_size = 15;
SET pgbulk.chunk_size = 'many';
SET pgbulk.none = 1;
\set VERBOSITY default
-- in another schema it works as well
DROP TABLE catalog_t;
CREATE SCHEMA catalog_other;
ALTER EXTENSION pgbulk SET SCHEMA catalog_other;
DROP EXTENSION pgbulk;
CREATE EXTENSION pgbulk SCHEMA catalog_other;
CREATE TABLE catalog_t (a int);
COPY (SELECT 7) TO '/proc/self/cwd/pgbulk_catalog_in';
SELECT rows_loaded, details -> 'load_id' AS load_id FROM catalog_other.bulk_load('catalog_t', '/proc/self/cwd/pgbulk_catalog_in');
DROP EXTENSION pgbulk;
CREATE EXTENSION pgbulk;
SELECT rows_loaded, details -> 'load_id' AS load_id FROM bulk_load('catalog_t', '/proc/self/cwd/pgbulk_catalog_in');
DROP SCHEMA catalog_other;

DROP TABLE catalog_t, catalog_seen;
DROP FUNCTION catalog_look;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_catalog_gone; rm -f pgbulk_catalog_*';
