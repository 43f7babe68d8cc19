\echo Use "ALTER EXTENSION pgbulk UPDATE TO '1.1'" to load this file. \quit

-- Who may create objects in the extension's schema must not have a say in what
-- this script does, nor in what its view runs as whoever looks at it.  So
-- functions and types are named with their schema, and operators get exactly
-- their argument types (NULLIF and CASE x WHEN, too, which look for an "="):
-- an exact match in pg_catalog, which is searched first, comes before any other.

-- What returns another row than before is made anew.  What has been granted on it, or revoked, is
-- lost: to grant it here would make it the extension's own, which dumps leave out.
DROP VIEW bulk_load_progress;
DROP VIEW bulk_load_progress_wide;
DROP FUNCTION bulk_load(pg_catalog.regclass, pg_catalog.text, pg_catalog.jsonb);
DROP FUNCTION bulk_load(pg_catalog.regclass, pg_catalog.text[], pg_catalog.jsonb);
DROP FUNCTION bulk_load_query(pg_catalog.regclass, pg_catalog.text, pg_catalog.jsonb);
DROP FUNCTION bulk_load_retry(pg_catalog.regclass, pg_catalog.regclass, pg_catalog.int8, pg_catalog.jsonb);

-- The parameters are those of src/progress.c, whose magic number is param20.
CREATE VIEW bulk_load_progress_wide AS
SELECT s.pid,
       s.datname,
       s.relid,
       s.relation,
       s.phase,
       s.waiting,
       pg_catalog.trunc(r.done * 100.0, 1)::pg_catalog.numeric(5,1) AS percent,
       pg_catalog.repeat(b.full_block, b.blocks) || pg_catalog.repeat(b.empty_block, 10 - b.blocks) AS bar,
       s.bytes_processed,
       s.bytes_total,
       s.rows_loaded,
       s.rows_rejected,
       s.rows_filtered,
       s.index,
       s.entries_total,
       s.entries_inserted,
       CASE WHEN s.rows_per_second IS NOT NULL THEN
         s.rows_per_second
       WHEN r.seconds_reading > 0.0 THEN
         ((s.rows_loaded + s.rows_rejected + s.rows_filtered)::pg_catalog.numeric / r.seconds_reading)::pg_catalog.int8
       END AS rows_per_second,
       r.seconds * '00:00:01'::pg_catalog.interval AS elapsed,
       -- at the pace so far, if it is not done when it should have been
       CASE WHEN s.seconds_total > r.seconds THEN
         (s.seconds_total - r.seconds) * '00:00:01'::pg_catalog.interval
       WHEN r.done > 0.0 THEN
         (r.seconds * (1.0 - r.done)::pg_catalog.float8 / r.done::pg_catalog.float8) * '00:00:01'::pg_catalog.interval
       END AS eta
FROM (
  SELECT p.pid,
         d.datname,
         p.relid,
         CASE WHEN d.datname = pg_catalog.current_database() THEN p.relid::pg_catalog.regclass::pg_catalog.text END AS relation,
         CASE p.phase
           WHEN 0::pg_catalog.int8 THEN 'starting'
           WHEN 1::pg_catalog.int8 THEN 'reading'
           WHEN 2::pg_catalog.int8 THEN 'indexes'
           WHEN 3::pg_catalog.int8 THEN 'constraints'
           WHEN 4::pg_catalog.int8 THEN 'analyzing'
           WHEN 5::pg_catalog.int8 THEN 'finishing'
         END AS phase,
         -- src/server/throttle.h
         CASE a.wait_event
           WHEN 'BaseBackupThrottle' THEN 'max_rate'
           WHEN 'SyncRep' THEN 'max_lag'
         END AS waiting,
         p.share,
         p.bytes_processed,
         nullif(p.bytes_total, 0::pg_catalog.int8) AS bytes_total,
         p.rows_loaded,
         p.rows_rejected,
         p.rows_filtered,
         CASE WHEN d.datname = pg_catalog.current_database() AND p.index <> 0::pg_catalog.int8 THEN p.index::pg_catalog.oid::pg_catalog.regclass::pg_catalog.text END AS index,
         CASE WHEN p.index <> 0::pg_catalog.int8 THEN nullif(p.entries_total, 0::pg_catalog.int8) END AS entries_total,
         CASE WHEN p.index <> 0::pg_catalog.int8 THEN p.entries_inserted END AS entries_inserted,
         p.rows_per_second,
         p.started,
         p.read_end,
         p.seconds_total,
         (extract(epoch FROM pg_catalog.clock_timestamp() - '2000-01-01 00:00:00+00'::pg_catalog.timestamptz) * 1000000.0)::pg_catalog.int8 AS now
  FROM (
         SELECT pid, datid, relid,
                param18 AS phase, param1 AS bytes_processed, param2 AS bytes_total,
                param3 AS rows_loaded, param14 AS rows_rejected, param4 AS rows_filtered,
                param8 AS index, param9 AS entries_total, param10 AS entries_inserted,
                param19 AS started,
                nullif(param15, 0::pg_catalog.int8) AS read_end,
                NULL::pg_catalog.int8 AS rows_per_second,
                (nullif(param16, 0::pg_catalog.int8) - 1::pg_catalog.int8)::pg_catalog.numeric / 10000.0 AS share,
                (nullif(param17, 0::pg_catalog.int8) - param19)::pg_catalog.float8 / 1000000::pg_catalog.float8 AS seconds_total
         FROM pg_catalog.pg_stat_get_progress_info('COPY'::pg_catalog.text)
         WHERE param20 = 123589335805035
         UNION ALL
         -- while it builds an index; values have 48 bits and tags (src/progress.c)
         SELECT pid, datid, relid,
                2, param8 & 281474976710655, param2 & 281474976710655,
                param3 & 281474976710655, param18 & 281474976710655, param20 & 281474976710655,
                param7, param12, param13,
                (param19 & 281474976710655) * 1000::pg_catalog.int8, NULL,
                (param18 >> 48 << 15) + (param20 >> 48),
                CASE WHEN param2 >> 48 > 0::pg_catalog.int8 THEN
                  least(((param2 >> 48) - 1::pg_catalog.int8)::pg_catalog.numeric / 10000.0
                        -- its own method may count rows
                        + (param19 >> 48)::pg_catalog.numeric / 10000.0 *
                          least(coalesce(param13::pg_catalog.numeric / nullif(param12, 0::pg_catalog.int8)::pg_catalog.numeric, 0.0), 1.0), 0.999)
                END,
                (pg_catalog.exp(nullif(param8 >> 48, 0::pg_catalog.int8)::pg_catalog.float8 / 1000::pg_catalog.float8) - 1::pg_catalog.float8) / 1000::pg_catalog.float8
         FROM pg_catalog.pg_stat_get_progress_info('CREATE INDEX'::pg_catalog.text)
         WHERE param3 >> 48 = 28775
       ) p
       LEFT JOIN pg_catalog.pg_database d ON d.oid = p.datid
       LEFT JOIN LATERAL pg_catalog.pg_stat_get_activity(p.pid) a ON true
) s
CROSS JOIN LATERAL (
  SELECT s.share AS done,
         (s.now - s.started)::pg_catalog.float8 / 1000000::pg_catalog.float8 AS seconds,
         (coalesce(s.read_end, s.now) - s.started)::pg_catalog.numeric / 1000000.0 AS seconds_reading
) r
CROSS JOIN LATERAL (
  SELECT pg_catalog.floor(r.done * 10.0)::pg_catalog.int4 AS blocks,
         -- from bytes, so that this file loads in a database of any encoding
         CASE WHEN pg_catalog.getdatabaseencoding() = 'UTF8'::pg_catalog.name THEN pg_catalog.convert_from('\xe29688'::pg_catalog.bytea, 'UTF8'::pg_catalog.name) ELSE '#' END AS full_block,
         CASE WHEN pg_catalog.getdatabaseencoding() = 'UTF8'::pg_catalog.name THEN pg_catalog.convert_from('\xe29691'::pg_catalog.bytea, 'UTF8'::pg_catalog.name) ELSE '-' END AS empty_block
) b;

COMMENT ON VIEW bulk_load_progress_wide IS 'loads that are running now, one row each, with all that is known';
COMMENT ON COLUMN bulk_load_progress_wide.pid IS 'process that runs the load';
COMMENT ON COLUMN bulk_load_progress_wide.datname IS 'its database';
COMMENT ON COLUMN bulk_load_progress_wide.relid IS 'OID of the table that is loaded';
COMMENT ON COLUMN bulk_load_progress_wide.relation IS 'its name, if it is a table of the current database';
COMMENT ON COLUMN bulk_load_progress_wide.phase IS 'starting, reading, indexes, constraints, analyzing or finishing';
COMMENT ON COLUMN bulk_load_progress_wide.waiting IS 'option that the load is waiting for: max_rate, max_lag; null if for none';
COMMENT ON COLUMN bulk_load_progress_wide.percent IS 'share of the whole load, all phases, that is done; null if nobody knows';
COMMENT ON COLUMN bulk_load_progress_wide.bar IS 'the same as a bar of 10 characters';
COMMENT ON COLUMN bulk_load_progress_wide.bytes_processed IS 'bytes of the rows read so far, as they lie in the files';
COMMENT ON COLUMN bulk_load_progress_wide.bytes_total IS 'size of all files; null if it is not known';
COMMENT ON COLUMN bulk_load_progress_wide.rows_loaded IS 'rows put into the table so far';
COMMENT ON COLUMN bulk_load_progress_wide.rows_rejected IS 'bad rows set aside so far';
COMMENT ON COLUMN bulk_load_progress_wide.rows_filtered IS 'rows excluded by where or by a trigger so far';
COMMENT ON COLUMN bulk_load_progress_wide.index IS 'index that gets entries now, if it is in the current database';
COMMENT ON COLUMN bulk_load_progress_wide.entries_total IS 'entries that are inserted now, into all indexes; null if it is not known';
COMMENT ON COLUMN bulk_load_progress_wide.entries_inserted IS 'those of them that are in';
COMMENT ON COLUMN bulk_load_progress_wide.rows_per_second IS 'rows read per second, on average';
COMMENT ON COLUMN bulk_load_progress_wide.elapsed IS 'time since the load began';
COMMENT ON COLUMN bulk_load_progress_wide.eta IS 'time until the load is done, all phases; null if nobody knows';

-- For people: with ordinary names, psql's lines have at most 120 columns.
CREATE VIEW bulk_load_progress AS
SELECT pid,
       relation,
       phase,
       percent,
       bar,
       rows_loaded,
       rows_per_second,
       pg_catalog.date_trunc('second'::pg_catalog.text, elapsed) AS elapsed,
       pg_catalog.date_trunc('second'::pg_catalog.text, eta) AS eta
FROM bulk_load_progress_wide;

COMMENT ON VIEW bulk_load_progress IS 'loads that are running now, one row each, for \watch';
COMMENT ON COLUMN bulk_load_progress.pid IS 'process that runs the load';
COMMENT ON COLUMN bulk_load_progress.relation IS 'table that is loaded, if it is one of the current database';
COMMENT ON COLUMN bulk_load_progress.phase IS 'starting, reading, indexes, constraints, analyzing or finishing';
COMMENT ON COLUMN bulk_load_progress.percent IS 'share of the whole load, all phases, that is done; null if nobody knows';
COMMENT ON COLUMN bulk_load_progress.bar IS 'the same as a bar of 10 characters';
COMMENT ON COLUMN bulk_load_progress.rows_loaded IS 'rows put into the table so far';
COMMENT ON COLUMN bulk_load_progress.rows_per_second IS 'rows read per second, on average';
COMMENT ON COLUMN bulk_load_progress.elapsed IS 'time since the load began';
COMMENT ON COLUMN bulk_load_progress.eta IS 'time until the load is done, all phases; null if nobody knows';

GRANT SELECT ON bulk_load_progress, bulk_load_progress_wide TO PUBLIC;

CREATE FUNCTION bulk_load(
  target regclass,
  path text,
  options jsonb DEFAULT '{}',
  OUT rows_loaded bigint,
  OUT rows_rejected bigint,
  OUT rows_duplicate bigint,
  OUT rows_replaced bigint,
  OUT rows_deleted bigint,
  OUT rows_filtered bigint,
  OUT rows_read bigint,
  OUT bytes_read bigint,
  OUT writer text,
  OUT workers integer,
  OUT elapsed interval,
  OUT details jsonb)
RETURNS record
AS 'MODULE_PATHNAME', 'bulk_load'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION bulk_load(regclass, text, jsonb) IS
  'loads a file on the server, all files that a pattern matches, or what the client sends (stdin), into a table';

CREATE FUNCTION bulk_load(
  target regclass,
  paths text[],
  options jsonb DEFAULT '{}',
  OUT rows_loaded bigint,
  OUT rows_rejected bigint,
  OUT rows_duplicate bigint,
  OUT rows_replaced bigint,
  OUT rows_deleted bigint,
  OUT rows_filtered bigint,
  OUT rows_read bigint,
  OUT bytes_read bigint,
  OUT writer text,
  OUT workers integer,
  OUT elapsed interval,
  OUT details jsonb)
RETURNS record
AS 'MODULE_PATHNAME', 'bulk_load_files'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION bulk_load(regclass, text[], jsonb) IS
  'loads several files on the server into a table, in the order given';

CREATE FUNCTION bulk_load_query(
  target regclass,
  query text,
  options jsonb DEFAULT '{}',
  OUT rows_loaded bigint,
  OUT rows_rejected bigint,
  OUT rows_duplicate bigint,
  OUT rows_replaced bigint,
  OUT rows_deleted bigint,
  OUT rows_filtered bigint,
  OUT rows_read bigint,
  OUT bytes_read bigint,
  OUT writer text,
  OUT workers integer,
  OUT elapsed interval,
  OUT details jsonb)
RETURNS record
AS 'MODULE_PATHNAME', 'bulk_load_query'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION bulk_load_query(regclass, text, jsonb) IS
  'loads the rows of a query into a table';

CREATE FUNCTION bulk_load_retry(
  target regclass,
  reject_table regclass,
  load_id bigint,
  options jsonb DEFAULT '{}',
  OUT rows_loaded bigint,
  OUT rows_rejected bigint,
  OUT rows_duplicate bigint,
  OUT rows_replaced bigint,
  OUT rows_deleted bigint,
  OUT rows_filtered bigint,
  OUT rows_read bigint,
  OUT bytes_read bigint,
  OUT writer text,
  OUT workers integer,
  OUT elapsed interval,
  OUT details jsonb)
RETURNS record
AS 'MODULE_PATHNAME', 'bulk_load_retry'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION bulk_load_retry(regclass, regclass, bigint, jsonb) IS
  'loads the bad rows of an earlier load into its target from its reject table, and removes those that got in';

CREATE FUNCTION bulk_load_last(
  OUT rows_loaded bigint,
  OUT rows_rejected bigint,
  OUT rows_duplicate bigint,
  OUT rows_replaced bigint,
  OUT rows_deleted bigint,
  OUT rows_filtered bigint,
  OUT rows_read bigint,
  OUT bytes_read bigint,
  OUT writer text,
  OUT workers integer,
  OUT elapsed interval,
  OUT details jsonb)
RETURNS record
AS 'MODULE_PATHNAME', 'bulk_load_last'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION bulk_load_last() IS
  'the result of the last load of this session, by COPY or by a function; nulls if there was none';

CREATE FUNCTION bulk_load_statements(
  OUT statement text,
  OUT taken boolean,
  OUT reason text,
  OUT count bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'bulk_load_statements'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION bulk_load_statements() IS
  'the rows of the view bulk_load_statements';

CREATE VIEW bulk_load_statements AS SELECT * FROM bulk_load_statements();
COMMENT ON VIEW bulk_load_statements IS
  'statements of the server that were run by pgbulk in this session, and those left to the server, by reason';
COMMENT ON COLUMN bulk_load_statements.statement IS 'what kind of statement';
COMMENT ON COLUMN bulk_load_statements.taken IS 'whether pgbulk has run it';
COMMENT ON COLUMN bulk_load_statements.reason IS 'why it was left to the server';
COMMENT ON COLUMN bulk_load_statements.count IS 'how many there were';
GRANT SELECT ON bulk_load_statements TO PUBLIC;

-- A table, as regclass, but for dumps: it is written with the name that it has then, and none that has
-- that name where it is restored is no error.
CREATE TYPE bulk_load_target;
CREATE FUNCTION bulk_load_target_in(cstring) RETURNS bulk_load_target
AS 'MODULE_PATHNAME', 'bulk_load_target_in'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bulk_load_target_in(cstring) IS 'I/O';
CREATE FUNCTION bulk_load_target_out(bulk_load_target) RETURNS cstring
AS 'MODULE_PATHNAME', 'bulk_load_target_out'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bulk_load_target_out(bulk_load_target) IS 'I/O';
CREATE TYPE bulk_load_target (
  INPUT = bulk_load_target_in,
  OUTPUT = bulk_load_target_out,
  LIKE = pg_catalog.oid);
COMMENT ON TYPE bulk_load_target IS 'OID of a table, shown as its name; 0 for one that is not there';
CREATE CAST (bulk_load_target AS oid) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (bulk_load_target AS oid) IS 'OID of the table';
CREATE CAST (bulk_load_target AS regclass) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (bulk_load_target AS regclass) IS 'the table';
CREATE CAST (oid AS bulk_load_target) WITHOUT FUNCTION AS ASSIGNMENT;
COMMENT ON CAST (oid AS bulk_load_target) IS 'table of that OID';

-- What has been loaded.  The rows are written by loads, with the rights of the
-- table's owner; users see those of tables that they may read, in the view.  Who
-- owns the database may read all of it and add rows, for dumps and restores.
CREATE TABLE bulk_load_history (
  load_id bigint NOT NULL,
  target bulk_load_target NOT NULL,
  target_name text NOT NULL,
  file integer NOT NULL,
  files integer NOT NULL,
  path text NOT NULL,
  size bigint,
  modified timestamptz,
  content uuid,
  loaded_to bigint,
  once_key text,
  part_of uuid,
  extra uuid,
  unlogged uuid,
  rows_loaded bigint NOT NULL,
  rows_rejected bigint NOT NULL,
  rows_duplicate bigint NOT NULL,
  rows_replaced bigint NOT NULL,
  rows_deleted bigint NOT NULL,
  rows_filtered bigint NOT NULL,
  rows_read bigint NOT NULL,
  bytes_read bigint NOT NULL,
  options jsonb NOT NULL,
  role text NOT NULL,
  started timestamptz NOT NULL,
  finished timestamptz NOT NULL);
-- Tables that a restore has not found may have had the same file.
CREATE UNIQUE INDEX bulk_load_history_once ON bulk_load_history (target, path, once_key) WHERE target OPERATOR(pg_catalog.<>) '0'::pg_catalog.oid;
CREATE UNIQUE INDEX bulk_load_history_once_content ON bulk_load_history (target, once_key, extra) NULLS NOT DISTINCT WHERE target OPERATOR(pg_catalog.<>) '0'::pg_catalog.oid AND (once_key OPERATOR(pg_catalog.~~) 'content:%'::pg_catalog.text OR once_key OPERATOR(pg_catalog.~~) 'part:%'::pg_catalog.text);
CREATE INDEX bulk_load_history_content ON bulk_load_history (target, content);
CREATE INDEX bulk_load_history_path ON bulk_load_history (target, path, loaded_to, load_id);
CREATE INDEX bulk_load_history_size ON bulk_load_history (target, size);
CREATE INDEX bulk_load_history_tail ON bulk_load_history (target, loaded_to) WHERE loaded_to <> size;
CREATE INDEX bulk_load_history_part ON bulk_load_history (target, part_of) WHERE part_of IS NOT NULL;
CREATE INDEX bulk_load_history_name ON bulk_load_history (target, target_name, unlogged);
CREATE INDEX bulk_load_history_old ON bulk_load_history (target, finished) WHERE once_key IS NULL AND part_of IS NULL;
CREATE INDEX bulk_load_history_unlogged ON bulk_load_history (target, unlogged) WHERE unlogged IS NOT NULL;
-- It has no key, and a publication of all tables has it, too.
ALTER TABLE bulk_load_history REPLICA IDENTITY FULL;
COMMENT ON TABLE bulk_load_history IS 'what has been loaded: a row for each load and file';
COMMENT ON COLUMN bulk_load_history.load_id IS 'number of the load, as in reject tables';
COMMENT ON COLUMN bulk_load_history.target IS 'the table; 0 after a restore without it';
COMMENT ON COLUMN bulk_load_history.target_name IS 'its name, with its schema, at the last load of it that was remembered';
COMMENT ON COLUMN bulk_load_history.file IS 'which file of the load it was, from 1';
COMMENT ON COLUMN bulk_load_history.files IS 'how many files the load had';
COMMENT ON COLUMN bulk_load_history.path IS 'path of the file, or stdin, or query';
COMMENT ON COLUMN bulk_load_history.size IS 'its bytes on disk; null for what is no regular file';
COMMENT ON COLUMN bulk_load_history.modified IS 'when it was last written to';
COMMENT ON COLUMN bulk_load_history.content IS 'hash of its bytes as they lie on disk, of those before loaded_to';
COMMENT ON COLUMN bulk_load_history.loaded_to IS 'how many of its bytes have been loaded, with those of earlier loads; null where a limit was set';
COMMENT ON COLUMN bulk_load_history.once_key IS 'what no other load may load again, of its path, and of a content whatever its path is; null without option once';
COMMENT ON COLUMN bulk_load_history.part_of IS 'hash of all bytes of a file that is loaded in parts; it is complete where that is content';
COMMENT ON COLUMN bulk_load_history.extra IS 'hash of the values that option extra takes from the path; files with equal bytes and different hashes are different files; null: none';
COMMENT ON COLUMN bulk_load_history.unlogged IS 'of an unlogged table: its rows are there for as long as this is in bulk_load_unlogged';
COMMENT ON COLUMN bulk_load_history.rows_loaded IS 'rows of the file that are in the table';
COMMENT ON COLUMN bulk_load_history.rows_rejected IS 'bad rows of the file, set aside';
COMMENT ON COLUMN bulk_load_history.rows_duplicate IS 'rows of the file set aside for their keys';
COMMENT ON COLUMN bulk_load_history.rows_replaced IS 'rows that those of the file have replaced, or updated';
COMMENT ON COLUMN bulk_load_history.rows_deleted IS 'rows of the file that have deleted another';
COMMENT ON COLUMN bulk_load_history.rows_filtered IS 'rows of the file excluded by where or by a trigger';
COMMENT ON COLUMN bulk_load_history.rows_read IS 'rows that were read of the file';
COMMENT ON COLUMN bulk_load_history.bytes_read IS 'bytes that were read of the file, as they lie on disk';
COMMENT ON COLUMN bulk_load_history.options IS 'options of the load, as given';
COMMENT ON COLUMN bulk_load_history.role IS 'who has loaded it';
COMMENT ON COLUMN bulk_load_history.started IS 'when the load began';
COMMENT ON COLUMN bulk_load_history.finished IS 'when all its rows were in';
SELECT pg_catalog.pg_extension_config_dump('bulk_load_history'::pg_catalog.regclass, ''::pg_catalog.text);
-- It is emptied when, and only when, other unlogged tables are: by a crash, by the promotion of a standby,
-- and in dumps without the rows of these.
CREATE UNLOGGED TABLE bulk_load_unlogged (id uuid NOT NULL);
COMMENT ON TABLE bulk_load_unlogged IS 'what tells whether unlogged tables have been emptied since they were loaded';
COMMENT ON COLUMN bulk_load_unlogged.id IS 'made by a load that has found no other';
SELECT pg_catalog.pg_extension_config_dump('bulk_load_unlogged'::pg_catalog.regclass, ''::pg_catalog.text);
-- Not to the owner of the extension by name: before 17 that role could not be dropped without a trace.
GRANT SELECT, INSERT ON bulk_load_history, bulk_load_unlogged TO pg_database_owner;
GRANT UPDATE ON SEQUENCE bulk_load_id TO pg_database_owner;

CREATE VIEW bulk_loads WITH (security_barrier = true) AS
SELECT h.load_id,
       h.target::pg_catalog.oid::pg_catalog.regclass::pg_catalog.text AS relation,
       h.file,
       h.files,
       h.path,
       h.size,
       h.modified,
       h.content,
       h.loaded_to,
       h.rows_loaded,
       h.rows_rejected,
       h.rows_duplicate,
       h.rows_replaced,
       h.rows_deleted,
       h.rows_filtered,
       h.rows_read,
       h.bytes_read,
       h.options,
       h.role,
       h.started,
       h.finished - h.started AS elapsed
FROM bulk_load_history h
WHERE pg_catalog.has_table_privilege(h.target, 'SELECT'::pg_catalog.text);
COMMENT ON VIEW bulk_loads IS 'what has been loaded into tables that you may read: a row for each load and file';
COMMENT ON COLUMN bulk_loads.load_id IS 'number of the load, as in reject tables';
COMMENT ON COLUMN bulk_loads.relation IS 'the table';
COMMENT ON COLUMN bulk_loads.file IS 'which file of the load it was, from 1';
COMMENT ON COLUMN bulk_loads.files IS 'how many files the load had';
COMMENT ON COLUMN bulk_loads.path IS 'path of the file, or stdin, or query';
COMMENT ON COLUMN bulk_loads.size IS 'its bytes on disk; null for what is no regular file';
COMMENT ON COLUMN bulk_loads.modified IS 'when it was last written to';
COMMENT ON COLUMN bulk_loads.content IS 'hash of its bytes as they lie on disk, of those before loaded_to';
COMMENT ON COLUMN bulk_loads.loaded_to IS 'how many of its bytes have been loaded, with those of earlier loads; null where a limit was set';
COMMENT ON COLUMN bulk_loads.rows_loaded IS 'rows of the file that are in the table';
COMMENT ON COLUMN bulk_loads.rows_rejected IS 'bad rows of the file, set aside';
COMMENT ON COLUMN bulk_loads.rows_duplicate IS 'rows of the file set aside for their keys';
COMMENT ON COLUMN bulk_loads.rows_replaced IS 'rows that those of the file have replaced, or updated';
COMMENT ON COLUMN bulk_loads.rows_deleted IS 'rows of the file that have deleted another';
COMMENT ON COLUMN bulk_loads.rows_filtered IS 'rows of the file excluded by where or by a trigger';
COMMENT ON COLUMN bulk_loads.rows_read IS 'rows that were read of the file';
COMMENT ON COLUMN bulk_loads.bytes_read IS 'bytes that were read of the file, as they lie on disk';
COMMENT ON COLUMN bulk_loads.options IS 'options of the load, as given';
COMMENT ON COLUMN bulk_loads.role IS 'who has loaded it';
COMMENT ON COLUMN bulk_loads.started IS 'when the load began';
COMMENT ON COLUMN bulk_loads.elapsed IS 'time until all its rows were in';
GRANT SELECT ON bulk_loads TO PUBLIC;

CREATE PROCEDURE bulk_load_each(
  target regclass,
  path text,
  options jsonb DEFAULT '{}',
  INOUT files_loaded bigint DEFAULT NULL,
  INOUT files_passed_over bigint DEFAULT NULL,
  INOUT rows_loaded bigint DEFAULT NULL,
  INOUT rows_rejected bigint DEFAULT NULL)
AS 'MODULE_PATHNAME', 'bulk_load_each'
LANGUAGE C;
COMMENT ON PROCEDURE bulk_load_each(regclass, text, jsonb, bigint, bigint, bigint, bigint) IS
  'loads the files that a pattern matches, one after the other, and commits after each; those that were loaded before are passed over';

-- Two functions, so that a NULL for the path does not mean all files.
CREATE FUNCTION bulk_load_forget(
  target regclass,
  before timestamptz DEFAULT 'infinity')
RETURNS bigint
AS 'MODULE_PATHNAME', 'bulk_load_forget'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION bulk_load_forget(regclass, timestamptz) IS
  'forgets what was loaded into a table, all of it or what was loaded before a time; returns the number of files';

CREATE FUNCTION bulk_load_forget(
  target regclass,
  path text,
  before timestamptz DEFAULT 'infinity')
RETURNS bigint
AS 'MODULE_PATHNAME', 'bulk_load_forget'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION bulk_load_forget(regclass, text, timestamptz) IS
  'forgets loads of a file into a table, all of them or those before a time; returns their number';

-- A picture of a load's time.  Its body is parsed here, once, so whatever the caller's search path
-- has means nothing to it; operators get exactly their argument types all the same, as above.
CREATE FUNCTION bulk_load_timeline(
  details jsonb DEFAULT (bulk_load_last()).details,
  OUT phase text,
  OUT seconds numeric,
  OUT processes numeric,
  OUT cpus_busy numeric,
  OUT timeline text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  WITH phases AS (
    SELECT p.number,
           p.name,
           p.seconds,
           p.cpu,
           p.idle,
           pg_catalog.sum(p.seconds) OVER (ORDER BY p.number) - p.seconds AS begins
    FROM (
           SELECT v.number,
                  v.name,
                  pg_catalog.jsonb_extract_path_text(bulk_load_timeline.details, 'seconds', v.name)::pg_catalog.numeric AS seconds,
                  pg_catalog.jsonb_extract_path_text(bulk_load_timeline.details, 'cpu_seconds', v.name)::pg_catalog.numeric AS cpu,
                  pg_catalog.jsonb_extract_path_text(bulk_load_timeline.details, 'idle_seconds', v.name)::pg_catalog.numeric AS idle
           FROM (VALUES (1, 'open'::pg_catalog.text), (2, 'load'), (3, 'indexes'), (4, 'constraints')) v (number, name)
         ) p
    WHERE p.seconds IS NOT NULL
  ), lines AS (
    SELECT number, 0::pg_catalog.int8 AS part, name, seconds, cpu, idle, begins
    FROM phases
    UNION ALL
    -- when each of them began is not known
    SELECT p.number, i.part,
           '  '::pg_catalog.text || pg_catalog.jsonb_extract_path_text(i.value, 'index') || ', '::pg_catalog.text ||
           pg_catalog.jsonb_extract_path_text(i.value, 'method'),
           pg_catalog.jsonb_extract_path_text(i.value, 'seconds')::pg_catalog.numeric,
           NULL, NULL, p.begins
    FROM phases p
         CROSS JOIN LATERAL pg_catalog.jsonb_array_elements(pg_catalog.jsonb_extract_path(bulk_load_timeline.details, 'indexes'))
                            WITH ORDINALITY i (value, part)
    WHERE p.number = 3 AND pg_catalog.jsonb_extract_path_text(i.value, 'seconds') IS NOT NULL
    UNION ALL
    SELECT 5, 0::pg_catalog.int8, 'all'::pg_catalog.text, pg_catalog.sum(seconds), pg_catalog.sum(cpu), pg_catalog.sum(idle), 0.0
    FROM phases
    HAVING pg_catalog.count(*) > 0::pg_catalog.int8
  ), cells AS (
    SELECT l.*,
           least(pg_catalog.round(l.begins * 30.0 / t.seconds), 29.0)::pg_catalog.int4 AS first_cell,
           pg_catalog.round((l.begins + l.seconds) * 30.0 / t.seconds)::pg_catalog.int4 AS end_cell
    FROM lines l
         CROSS JOIN (SELECT nullif(pg_catalog.sum(seconds), 0.0) AS seconds FROM phases) t
  ), bars AS (
    SELECT c.*,
           CASE WHEN c.seconds > 0.0 THEN greatest(c.end_cell - c.first_cell, 1) ELSE 0 END AS cells,
           -- of the time that its processes had, the share on a CPU
           coalesce(c.cpu / nullif(c.cpu + c.idle, 0.0), 1.0) AS busy
    FROM cells c
  )
  SELECT b.name,
         pg_catalog.round(b.seconds, 3),
         pg_catalog.round((b.cpu + b.idle) / nullif(b.seconds, 0.0), 1),
         pg_catalog.round(b.cpu / nullif(b.seconds, 0.0), 1),
         pg_catalog.repeat(' ', CASE WHEN b.cells > 0 THEN b.first_cell ELSE 0 END) ||
         pg_catalog.repeat(s.busy, pg_catalog.round(b.cells::pg_catalog.numeric * b.busy)::pg_catalog.int4) ||
         pg_catalog.repeat(s.idle, b.cells - pg_catalog.round(b.cells::pg_catalog.numeric * b.busy)::pg_catalog.int4)
  FROM bars b
       CROSS JOIN (SELECT CASE WHEN pg_catalog.getdatabaseencoding() = 'UTF8'::pg_catalog.name THEN pg_catalog.convert_from('\xe29688'::pg_catalog.bytea, 'UTF8'::pg_catalog.name) ELSE '#' END AS busy,
                          CASE WHEN pg_catalog.getdatabaseencoding() = 'UTF8'::pg_catalog.name THEN pg_catalog.convert_from('\xe29691'::pg_catalog.bytea, 'UTF8'::pg_catalog.name) ELSE '-' END AS idle) s
  ORDER BY b.number, b.part;
END;
COMMENT ON FUNCTION bulk_load_timeline(jsonb) IS
  'where the time of a load went, by phase and index, as a picture: of the last load of this session, or of the details given';

-- For people: with up to ten billion rows loaded, psql's line has at most 100 columns.
CREATE FUNCTION bulk_load_summary(
  result jsonb DEFAULT pg_catalog.to_jsonb(bulk_load_last()),
  OUT loaded bigint,
  OUT rejected bigint,
  OUT duplicate bigint,
  OUT replaced bigint,
  OUT deleted bigint,
  OUT filtered bigint,
  OUT size text,
  OUT seconds numeric,
  OUT writer text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT pg_catalog.jsonb_extract_path_text(result, 'rows_loaded')::pg_catalog.int8,
         pg_catalog.jsonb_extract_path_text(result, 'rows_rejected')::pg_catalog.int8,
         pg_catalog.jsonb_extract_path_text(result, 'rows_duplicate')::pg_catalog.int8,
         pg_catalog.jsonb_extract_path_text(result, 'rows_replaced')::pg_catalog.int8,
         pg_catalog.jsonb_extract_path_text(result, 'rows_deleted')::pg_catalog.int8,
         pg_catalog.jsonb_extract_path_text(result, 'rows_filtered')::pg_catalog.int8,
         pg_catalog.replace(pg_catalog.pg_size_pretty(pg_catalog.jsonb_extract_path_text(result, 'bytes_read')::pg_catalog.int8), 'bytes'::pg_catalog.text, 'B'::pg_catalog.text),
         pg_catalog.round(extract(epoch FROM pg_catalog.jsonb_extract_path_text(result, 'elapsed')::pg_catalog.interval), 3),
         pg_catalog.jsonb_extract_path_text(result, 'writer')
  WHERE pg_catalog.jsonb_extract_path_text(result, 'rows_read') IS NOT NULL;
END;
COMMENT ON FUNCTION bulk_load_summary(jsonb) IS
  'the result of a load on one line of a screen: of the last load of this session, or of the result given';

CREATE FUNCTION bulk_load_recover(
  OUT server text,
  OUT gid text,
  OUT prepared timestamptz,
  OUT state text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'bulk_load_recover'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION bulk_load_recover() IS
  'ends transactions that loads have left prepared on other servers, as the loads have ended';

CREATE FUNCTION bulk_load_in_doubt(
  OUT server text,
  OUT gid text,
  OUT prepared timestamptz,
  OUT state text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'bulk_load_in_doubt'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION bulk_load_in_doubt() IS
  'transactions that loads have prepared on other servers and not ended yet';

CREATE VIEW bulk_load_in_doubt AS SELECT * FROM bulk_load_in_doubt();
COMMENT ON VIEW bulk_load_in_doubt IS 'transactions that loads have prepared on other servers and not ended yet';
COMMENT ON COLUMN bulk_load_in_doubt.server IS 'foreign server';
COMMENT ON COLUMN bulk_load_in_doubt.gid IS 'identifier of the transaction there; null if the server was not reached';
COMMENT ON COLUMN bulk_load_in_doubt.prepared IS 'since when it is prepared';
COMMENT ON COLUMN bulk_load_in_doubt.state IS 'running, to be committed, to be rolled back or unknown; or why the server was not reached';
GRANT SELECT ON bulk_load_in_doubt TO PUBLIC;

CREATE FUNCTION bulk_load_progress_nodes(
  OUT pid integer,
  OUT server text,
  OUT remote_pid integer,
  OUT state text,
  OUT rows_sent bigint,
  OUT bytes_sent bigint,
  OUT bytes_waiting bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'bulk_load_progress_nodes'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION bulk_load_progress_nodes() IS
  'the rows of the view bulk_load_progress_nodes';

CREATE VIEW bulk_load_progress_nodes AS SELECT * FROM bulk_load_progress_nodes();
COMMENT ON VIEW bulk_load_progress_nodes IS 'sessions that loads that are running now have with other servers, and what each has got';
COMMENT ON COLUMN bulk_load_progress_nodes.pid IS 'process that runs the load';
COMMENT ON COLUMN bulk_load_progress_nodes.server IS 'foreign server, or host and port of the node of Citus';
COMMENT ON COLUMN bulk_load_progress_nodes.remote_pid IS 'process that serves the session there';
COMMENT ON COLUMN bulk_load_progress_nodes.state IS 'idle, starting, copying, ending, preparing, prepared, committing or committed';
COMMENT ON COLUMN bulk_load_progress_nodes.rows_sent IS 'rows that were sent so far';
COMMENT ON COLUMN bulk_load_progress_nodes.bytes_sent IS 'their bytes';
COMMENT ON COLUMN bulk_load_progress_nodes.bytes_waiting IS 'bytes that wait to be sent, as of when the load has last sent something';
GRANT SELECT ON bulk_load_progress_nodes TO PUBLIC;
