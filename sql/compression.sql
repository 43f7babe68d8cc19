--
-- Compressed files: gzip, lz4 and zstd, detected by their first bytes; concatenated frames; damage.
--
CREATE TABLE packed (a int, b text);

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_packed_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result of loading a file: the rows of the table, or the error.
CREATE FUNCTION pg_temp.try(content bytea, options jsonb DEFAULT NULL) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	detail text;
	context text;
BEGIN
	TRUNCATE packed;
	SELECT * INTO r FROM bulk_load('packed', pg_temp.put('in', content), options);
	RETURN QUERY SELECT p::text FROM packed p ORDER BY ctid;
	RETURN NEXT format('%s rows, %s bytes', r.rows_loaded, r.bytes_read - length(content));
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	RETURN NEXT regexp_replace(detail, 'failed at .*', 'failed at ...');	-- the words are the library's
	RETURN NEXT regexp_replace(context, '\n(SQL statement|PL/pgSQL function).*', '');
END $$;

-- "1,one\n2,two\n" and "3,three\n"
CREATE TEMP TABLE archives (kind text, first bytea, second bytea);
INSERT INTO archives VALUES
	('gzip', '\x1f8b080000000000020333d4c9cf4be532d22929cfe7020085e6390a0c000000', '\x1f8b080000000000020333d629c9284a4de5020064bcf92808000000'),
	('lz4', '\x04224d186440a70c000080312c6f6e650a322c74776f0a000000005b34dcc5', '\x04224d186440a708000080332c74687265650a00000000d040faef'),
	('zstd', '\x28b52ffd0458610000312c6f6e650a322c74776f0adbd11a30', '\x28b52ffd0458410000332c74687265650a2177801d');

-- detected by its first bytes, whatever its name; one or several frames
SELECT kind, pg_temp.try(first) FROM archives;
SELECT kind, pg_temp.try(first || second || first) FROM archives;
SELECT kind, pg_temp.try(first || second, jsonb_build_object('compression', kind)) FROM archives;
SELECT kind, pg_temp.try(first, '{"limit": 1}') FROM archives;
SELECT kind, pg_temp.try(first || second, '{"header": true, "skip": 1, "writer": "buffered"}') FROM archives;
SELECT kind, pg_temp.try(first, '{"columns": ["b", null], "force_null": ["b"]}') FROM archives;

-- windows of all sizes
BEGIN;
SET LOCAL pgbulk.chunk_size = 16;
SELECT kind, pg_temp.try(first || second) FROM archives;
ROLLBACK;

-- uncompressed files are unchanged
SELECT pg_temp.try('1,one');
SELECT pg_temp.try('1,one', '{"compression": "none"}');
SELECT pg_temp.try('');
SELECT pg_temp.try('\x1f8b');
SELECT kind, pg_temp.try(first, '{"compression": "none"}') FROM archives WHERE kind = 'zstd';

-- files that are not compressed as declared
SELECT kind, pg_temp.try('1,one', jsonb_build_object('compression', kind)) FROM archives;
SELECT kind, pg_temp.try('', jsonb_build_object('compression', kind)) FROM archives;
SELECT a.kind, b.kind, pg_temp.try(a.first, jsonb_build_object('compression', b.kind)) FROM archives a, archives b WHERE a.kind <> b.kind;

-- trailing data; zeros after gzip are its padding
SELECT kind, pg_temp.try(first || 'x') FROM archives;
SELECT kind, pg_temp.try(first || convert_to(E'4,four\n', 'UTF8')) FROM archives;
SELECT kind, pg_temp.try(first || '\x0000') FROM archives;
SELECT pg_temp.try(a.first || b.second) FROM archives a, archives b WHERE a.kind = 'gzip' AND b.kind = 'lz4';
SELECT pg_temp.try(first || '\x000000' || second) FROM archives WHERE kind = 'gzip';

-- skippable frames
SELECT kind, pg_temp.try('\x502a4d1803000000ffffff' || first || '\x5f2a4d1800000000' || second, jsonb_build_object('compression', kind))
FROM archives WHERE kind <> 'gzip';
SELECT pg_temp.try('\x502a4d1803000000ffffff' || first) FROM archives WHERE kind = 'zstd';

-- truncated
SELECT kind, pg_temp.try(substr(first, 1, length(first) - 1)) FROM archives;
SELECT kind, pg_temp.try(first || substr(second, 1, length(second) - 3)) FROM archives;
-- ... anywhere
SELECT kind, count(*), array_agg(DISTINCT regexp_replace(line, '".*"', '...')) FROM archives,
	generate_series(1, length(first) - 1) n, pg_temp.try(second || substr(first, 1, n)) WITH ORDINALITY AS t (line, number)
WHERE number = 1 GROUP BY kind ORDER BY kind;
SELECT count(*) FROM packed;

-- damaged
SELECT kind, pg_temp.try(set_byte(first, 10, 255)) FROM archives;
SELECT kind, pg_temp.try(first || set_byte(second, length(second) - 1, 255)) FROM archives WHERE kind <> 'lz4';
-- ... anywhere: the rows are correct, or there are none
SELECT kind, count(*) FILTER (WHERE lines[1] <> '22P04: ...') - count(*) FILTER (WHERE lines = ARRAY['(1,one)', '(2,two)', '2 rows, 0 bytes']) AS neither
FROM (SELECT kind, n, v, ARRAY(SELECT regexp_replace(line, '^22P0[24]: .*', '22P04: ...')
		FROM pg_temp.try(set_byte(first, n, get_byte(first, n) # v), jsonb_build_object('compression', kind)) line) AS lines
	FROM archives, generate_series(0, length(first) - 1) n, unnest(ARRAY[1, 16, 128, 255]) v) AS damaged
GROUP BY kind ORDER BY kind;

-- bad rows: line and offset are those of the decompressed file
SELECT rows_loaded, rows_rejected FROM archives,
	bulk_load('packed', pg_temp.put('in', first || second), '{"columns": ["a"], "on_error": "ignore", "reject_table": "packed_rejects"}') WHERE kind = 'zstd';
SELECT line_number, byte_offset, reason, raw_line FROM packed_rejects;

-- several files, each with its own compression
SELECT rows_loaded, bytes_read - (SELECT sum(length(first)) + 6 FROM archives) AS bytes
FROM bulk_load('packed', (SELECT array_agg(pg_temp.put(kind, first)) FROM archives) || pg_temp.put('plain', '9,nine'), '{"truncate": true}');
SELECT b, count(*) FROM packed GROUP BY b ORDER BY b;

-- the other formats
COPY packed TO '/proc/self/cwd/pgbulk_packed_binary' (FORMAT binary);
SELECT rows_loaded FROM bulk_load('packed', '/proc/self/cwd/pgbulk_packed_binary', '{"format": "binary", "truncate": true}');
SELECT rows_loaded FROM bulk_load('packed', '/proc/self/cwd/pgbulk_packed_binary', '{"format": "binary", "compression": "gzip"}');
SELECT kind, pg_temp.try(first, '{"format": "text", "delimiter": ","}') FROM archives;
-- (zstd of "1,one\n\\.\n2,two\n"): the rest is counted, and must be intact
SELECT pg_temp.try('\x28b52ffd0458790000312c6f6e650a5c2e0a322c74776f0a005c3850', '{"format": "text", "delimiter": ",", "compression": "zstd"}');
SELECT pg_temp.try('\x28b52ffd0458790000312c6f6e650a5c2e0a322c74776f0a005c3851', '{"format": "text", "delimiter": ",", "compression": "zstd"}');

DROP TABLE packed, packed_rejects;
