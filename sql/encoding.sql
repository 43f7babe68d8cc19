--
-- Files in other encodings than the database's, which is UTF8 here.
--

CREATE TABLE encoding_t (n int, t text);
-- Writes a file of bytes.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_encoding_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- round trip of what COPY writes, in every format and encoding
CREATE TABLE encoding_texts (encoding text, t text);
INSERT INTO encoding_texts VALUES
	('LATIN1', E'caf\u00e9 na\u00efve \u00ff'), ('LATIN9', E'10 \u20ac'), ('WIN1252', E'\u201cquoted\u201d \u20ac'), ('WIN1251', E'\u041f\u0440\u0438\u0432\u0435\u0442'), ('KOI8R', E'\u041f\u0440\u0438\u0432\u0435\u0442'),
	('EUC_JP', E'\u65e5\u672c\u8a9e'), ('SJIS', E'\u65e5\u672c\u8a9e \u8868 \u30bd\u80fd \uff71'), ('SHIFT_JIS_2004', E'\u8868 \u30bd'), ('GBK', E'\u4e2d\u6587 \u8aa0 \u4e1f'), ('GB18030', E'\u4e2d\u6587 \u00e9 \U0001f600'),
	('BIG5', E'\u4e2d\u6587 \u529f \u8a31'), ('UHC', E'\ud55c\uad6d\uc5b4 \uac02'), ('EUC_KR', E'\ud55c\uad6d'), ('UTF8', E'\u00e9\u4e16\U0001f600'), ('SQL_ASCII', 'plain');
CREATE FUNCTION pg_temp.round_trip(enc text, format text, text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	TRUNCATE encoding_t;
	EXECUTE format($c$COPY (SELECT i, CASE i WHEN 1 THEN %L WHEN 2 THEN %L || E'|\\,"\n\t' || %L || '|' ELSE repeat(%L, i %% 20) END FROM generate_series(1, 200) i)
		TO '/proc/self/cwd/pgbulk_encoding_out' WITH (ENCODING %L, FORMAT %I)$c$, $3, $3, $3, $3, enc, format);
	SELECT * INTO r FROM bulk_load('encoding_t', '/proc/self/cwd/pgbulk_encoding_out', jsonb_build_object('encoding', enc, 'format', format));
	RETURN (SELECT CASE WHEN count(*) = 200 THEN 'same' ELSE 'different ' || count(*) END FROM encoding_t
		WHERE t = CASE n WHEN 1 THEN $3 WHEN 2 THEN $3 || E'|\\,"\n\t' || $3 || '|' ELSE repeat($3, n % 20) END OR (n % 20 = 0 AND t = ''));
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ': ' || sqlerrm;
END $$;
SELECT encoding, pg_temp.round_trip(encoding, 'csv', t) AS csv, pg_temp.round_trip(encoding, 'text', t) AS text FROM encoding_texts ORDER BY encoding COLLATE "C";
SET pgbulk.chunk_size = 33;
SELECT encoding, pg_temp.round_trip(encoding, 'csv', t) AS csv, pg_temp.round_trip(encoding, 'text', t) AS text FROM encoding_texts ORDER BY encoding COLLATE "C";
RESET pgbulk.chunk_size;

-- the client encoding is the default
SET client_encoding = 'LATIN1';
SELECT rows_loaded FROM bulk_load('encoding_t', pg_temp.put('in', '\x312ce90a'::bytea), '{"truncate": true}');
RESET client_encoding;
SELECT t = E'\u00e9' AS converted FROM encoding_t;

-- what begins like the default marker, but for a byte of zero
SELECT rows_loaded FROM bulk_load('encoding_t', pg_temp.put('in', '\x312c444546000a'::bytea), '{"encoding": "LATIN1", "default": "DEF"}');
SELECT rows_loaded FROM bulk_load('encoding_t', pg_temp.put('in', '\x312c444546'::bytea || decode(repeat('00', 2000000), 'hex') || '\x0a'), '{"encoding": "LATIN1", "default": "DEF"}');

-- invalid bytes, in one encoding after the other
CREATE FUNCTION pg_temp.bad(enc text, VARIADIC bad bytea[]) RETURNS TABLE (bytes bytea, counts text, sqlstate text, message text, raw_line text, raw_bytes bytea) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH bytes IN ARRAY bad LOOP
		SELECT format('%s loaded, %s rejected', rows_loaded, rows_rejected) INTO counts
		FROM bulk_load('encoding_t', pg_temp.put('in', '1,ok\012'::bytea || '2,x' || bytes || 'y\0123,ok\012'), jsonb_build_object('encoding', enc, 'on_error', 'ignore',
			'reject_table', 'pg_temp.encoding_rejects', 'log_verbosity', 'silent'));
		SELECT NULL, NULL, NULL, NULL INTO sqlstate, message, raw_line, raw_bytes;
		SELECT r.sqlstate, r.message, r.raw_line, r.raw_bytes INTO sqlstate, message, raw_line, raw_bytes FROM pg_temp.encoding_rejects r WHERE reason = 'encoding' AND line_number = 2 AND byte_offset = 5;
		TRUNCATE pg_temp.encoding_rejects;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM pg_temp.bad('UTF8', '\xe9', '\xc3', '\xc0af', '\xeda080', '\xf8888080', '\xe4b8', '\x00', '\xefbfbf', '\xf09f9880');
SELECT * FROM pg_temp.bad('LATIN1', '\x00', '\x80', '\xe9');
SELECT * FROM pg_temp.bad('WIN1252', '\x81', '\x80');
SELECT * FROM pg_temp.bad('SJIS', '\x8120', '\xff', '\x85a9', '\x955c', '\x00');
SELECT * FROM pg_temp.bad('GBK', '\xff', '\x8120', '\xa2a1', '\xd55c');
SELECT * FROM pg_temp.bad('EUC_JP', '\xb0', '\x8fb0', '\xb0a1');
SELECT * FROM pg_temp.bad('BIG5', '\x81', '\xa55c');
SELECT * FROM pg_temp.bad('GB18030', '\x8130', '\x81308130');
-- and in the other modes
SELECT pg_temp.put('in', '1,ok\0122,\377\012'::bytea) <> '' AS made;
SELECT rows_loaded FROM bulk_load('encoding_t', '/proc/self/cwd/pgbulk_encoding_in', '{"encoding": "SJIS"}');
SELECT rows_loaded, rows_rejected FROM bulk_load('encoding_t', '/proc/self/cwd/pgbulk_encoding_in', '{"encoding": "SJIS", "on_error": "set_null"}');
-- a field that is not loaded must be valid text all the same
SELECT rows_loaded FROM bulk_load('encoding_t', '/proc/self/cwd/pgbulk_encoding_in', '{"encoding": "SJIS", "columns": ["n", null]}');

-- delimiters and quotes within characters are not recognized: 0x5c and 0x7c are second bytes in SJIS, GBK and BIG5
SELECT rows_loaded FROM bulk_load('encoding_t', pg_temp.put('in', '1|'::bytea || '\x955c817c'::bytea || '\0122|"'::bytea || '\x835c'::bytea || '|"\012'::bytea),
	'{"encoding": "SJIS", "delimiter": "|", "escape": "\\", "truncate": true}');
SELECT n, t = E'\u8868\uff0d' AS t1, t = E'\u30bd|' AS t2 FROM encoding_t ORDER BY n;

-- null markers, default markers, headers and names in the file's encoding
CREATE TABLE encoding_names (n int, U&"caf\00e9" text DEFAULT 'default');
SELECT rows_loaded FROM bulk_load('encoding_names', pg_temp.put('in', 'caf\351,n\012x,1\012'::bytea), '{"encoding": "LATIN1", "header": "map"}');
SELECT rows_loaded FROM bulk_load('encoding_names', pg_temp.put('in', 'n,caf\351\0122,y\012'::bytea), '{"encoding": "LATIN1", "header": "match"}');
SELECT rows_loaded FROM bulk_load('encoding_names', pg_temp.put('in', '3,\351\0124,"\351"\0125,\350\0126,z\012'::bytea), '{"encoding": "LATIN1", "null": ["\u00e9", "\u2205"], "default": "\u00e8"}');
SELECT rows_loaded FROM bulk_load('encoding_names', pg_temp.put('in', '7,\351\0128,"\351"\0129,\350\012'::bytea), '{"encoding": "LATIN1", "null": ["\u00e9", "\u00e8"], "force_null": "*"}');
SELECT rows_loaded FROM bulk_load('encoding_names', pg_temp.put('in', '10\011\351\01211\011\350\012'::bytea), '{"format": "text", "encoding": "LATIN1", "null": "\u00e9", "default": "\u00e8"}');
SELECT n, t, t = E'\u00e9' AS accent FROM encoding_names AS e (n, t) ORDER BY n;
DROP TABLE encoding_names;
DROP TABLE encoding_t, encoding_texts, pg_temp.encoding_rejects;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_encoding_gone; rm -f pgbulk_encoding_*';
