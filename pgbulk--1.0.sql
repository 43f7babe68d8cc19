\echo Use "CREATE EXTENSION pgbulk" to load this file. \quit

-- Who may create objects in the extension's schema must not have a say in what
-- this script does, nor in what its view runs as whoever looks at it.  So
-- functions and types are named with their schema, and operators get exactly
-- their argument types (NULLIF and CASE x WHEN, too, which look for an "="):
-- an exact match in pg_catalog, which is searched first, comes before any other.
--
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
         p.rows_per_second,
         p.started,
         p.read_end,
         p.seconds_total,
         (extract(epoch FROM pg_catalog.clock_timestamp() - '2000-01-01 00:00:00+00'::pg_catalog.timestamptz) * 1000000.0)::pg_catalog.int8 AS now
  FROM (
         SELECT pid, datid, relid,
                param18 AS phase, param1 AS bytes_processed, param2 AS bytes_total,
                param3 AS rows_loaded, param14 AS rows_rejected, param4 AS rows_filtered,
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

CREATE SEQUENCE bulk_load_id;
COMMENT ON SEQUENCE bulk_load_id IS 'numbers of loads, as in the load_id of reject tables';
-- Goes on after a dump and restore, as reject tables do; whoever dumps has to read it.
GRANT SELECT ON SEQUENCE bulk_load_id TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('bulk_load_id'::pg_catalog.regclass, ''::pg_catalog.text);

CREATE FUNCTION bulk_load(
  target regclass,
  path text,
  options jsonb DEFAULT '{}',
  OUT rows_loaded bigint,
  OUT rows_rejected bigint,
  OUT rows_duplicate bigint,
  OUT rows_replaced bigint,
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

CREATE FUNCTION bulk_load_control(
  path text,
  OUT statement text,
  OUT obstacles text[],
  OUT notes text[])
RETURNS record
AS 'MODULE_PATHNAME', 'bulk_load_control'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION bulk_load_control(text) IS
  'the call of bulk_load that does what a control file of pg_bulkload says, or which of its lines have no equivalent';

CREATE FUNCTION bulk_inspect(
  path text,
  options jsonb DEFAULT '{}',
  OUT format text,
  OUT delimiter text,
  OUT quote text,
  OUT escape text,
  OUT header boolean,
  OUT header_lines integer,
  OUT encoding text,
  OUT byte_order_mark boolean,
  OUT compression text,
  OUT newline text,
  OUT columns jsonb,
  OUT rows_sampled bigint,
  OUT bytes_sampled bigint,
  OUT complete boolean,
  OUT load_options jsonb,
  OUT create_table text,
  OUT bulk_load text,
  OUT create_and_load text,
  OUT notes text[])
RETURNS record
AS 'MODULE_PATHNAME', 'bulk_inspect'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION bulk_inspect(text, jsonb) IS
  'how a file is written and what its columns hold, with the statements that make a table for it and load it';
