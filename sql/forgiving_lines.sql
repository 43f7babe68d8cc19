--
-- Delimiters of several characters, comment lines, mixed line ends.
--
\pset null '(null)'
CREATE TABLE forgiving (n int, t text, d numeric);

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_forgiving_lines_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result of loading a file, with windows of any size: the rows of the table, or the error.
CREATE FUNCTION pg_temp.try(target regclass, content text, options jsonb DEFAULT NULL)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	context text;
	said text[];
	first_said text[];
BEGIN
	FOR size IN 15 .. 24 LOOP
		PERFORM set_config('pgbulk.chunk_size', CASE size WHEN 15 THEN '262144' ELSE size::text END, false);
		EXECUTE 'TRUNCATE ' || target;
		said := NULL;
		BEGIN
			SELECT * INTO r FROM bulk_load(target, pg_temp.put('in', content), options);
			ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
			EXECUTE 'SELECT array_agg(loaded_row::text ORDER BY ctid) FROM ' || target || ' loaded_row' INTO said;
			said := said || format('%s read, %s loaded, %s rejected', r.rows_read, r.rows_loaded, r.rows_rejected);
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
			said := ARRAY[format('%s: %s', sqlstate, sqlerrm), regexp_replace(substring(context, 'bulk_load of .*'), '\n(SQL statement|PL/pgSQL function).*', '')];
		END;
		first_said := coalesce(first_said, said);
		IF said <> first_said THEN
			RETURN NEXT format('with windows of %s bytes: %s', size, said);
		END IF;
	END LOOP;
	PERFORM set_config('pgbulk.chunk_size', '262144', false);
	RETURN QUERY SELECT s FROM unnest(first_said) s WHERE s <> '';
END $$;

--
-- delimiters
--

SELECT pg_temp.try('forgiving', E'1||two|2||3\n2||||\n', '{"delimiter": "||"}');
SELECT pg_temp.try('forgiving', E'1||"a||b ""c"" "||3\n2||"x\n||y"||4\n', '{"delimiter": "||"}');
SELECT pg_temp.try('forgiving', E'1~|~a\\~|~b~|~\\N\n', '{"delimiter": "~|~", "format": "text"}');
SELECT pg_temp.try('forgiving', E'1\u00a7two\u00a73\n', '{"delimiter": "\u00a7"}');
SELECT pg_temp.try('forgiving', E'1\u00a6\u00a6two\u00a6\u00a63\n', '{"delimiter": "\u00a6\u00a6"}');
SELECT pg_temp.try('forgiving', E'1 , two , 3\n', '{"delimiter": " , "}');
SELECT pg_temp.try('forgiving', E'n||t||d\n1||2||3\n', '{"delimiter": "||", "header": "match"}');
SELECT pg_temp.try('forgiving', E'd||x||n\n1||2||3\n', '{"delimiter": "||", "header": "map", "extra_columns": "ignore"}');
SELECT pg_temp.try('forgiving', E'1||2\n', '{"delimiter": "||"}');
SELECT pg_temp.try('forgiving', E'1||2||3||4\n', '{"delimiter": "||"}');
-- a delimiter at the end of each row
SELECT pg_temp.try('forgiving', E'1,2,3,\n4,5,6,\n', '{"columns": ["n", "t", "d", null]}');
SELECT pg_temp.try('forgiving', E'1,2,3,\n4,5,6\n', '{"columns": ["n", "t", "d", null]}');
SELECT pg_temp.try('forgiving', E'1,2,3,\n4,5,6\n', '{"extra_columns": "ignore"}');
SELECT pg_temp.try('forgiving', E'1||2||3||\n', '{"delimiter": "||", "columns": ["n", "t", "d", null]}');
-- misuse
SELECT pg_temp.try('forgiving', '', '{"delimiter": ""}');
SELECT pg_temp.try('forgiving', '', '{"delimiter": "|\n"}');
SELECT pg_temp.try('forgiving', '', '{"delimiter": "|\""}');
SELECT pg_temp.try('forgiving', '', '{"delimiter": "|\\", "format": "text"}');
SELECT pg_temp.try('forgiving', '', '{"delimiter": "n|", "format": "text"}');
SELECT pg_temp.try('forgiving', '', '{"delimiter": "||", "null": "a||"}');
SELECT pg_temp.try('forgiving', '', '{"delimiter": "\u00a7", "encoding": "LATIN1"}');
SELECT pg_temp.try('forgiving', '', '{"delimiter": "||", "format": "binary"}');

--
-- comments
--

SELECT pg_temp.try('forgiving', E'# a file\n1,a,1\n# "it''s\n2,"b\n# no comment",2\n3,#c,3\n"#4",d,4\n#', '{"comment": "#", "on_error": "ignore", "log_verbosity": "silent"}');
SELECT pg_temp.try('forgiving', E'-- a\n1\ta\\\n--\t1\n--\\\n\\N\t--\t2\n', '{"comment": "--", "format": "text"}');
SELECT pg_temp.try('forgiving', E'#\r\n1,a,1\r\n#b\r\n', '{"comment": "#"}');
SELECT pg_temp.try('forgiving', E'#\n#\n', '{"comment": "#"}');
SELECT pg_temp.try('forgiving', E'1,a,1\n #2\n', '{"comment": "#"}');
-- header, skip and limit ignore them
SELECT pg_temp.try('forgiving', E'#1\nd,n\n#2\n1,2\n#3\n3,4\n#4\n5,6\n7,8\n', '{"comment": "#", "header": "map", "skip": 1, "limit": 2}');
SELECT pg_temp.try('forgiving', E'#1\na\n#2\nb\n#3\n3,4,5\n', '{"comment": "#", "header": 2}');
-- lines of bad rows
SELECT pg_temp.try('forgiving', E'#\n#\n1,a,1\n#\n2,a,x\n', '{"comment": "#"}');
-- misuse
SELECT pg_temp.try('forgiving', '', '{"comment": ""}');
SELECT pg_temp.try('forgiving', '', '{"comment": "#\n"}');
SELECT pg_temp.try('forgiving', '', '{"comment": ["#"]}');
SELECT pg_temp.try('forgiving', '', '{"comment": "\"#"}');
SELECT pg_temp.try('forgiving', '', '{"comment": "\\#", "format": "text"}');
SELECT pg_temp.try('forgiving', '', '{"comment": ",#"}');
SELECT pg_temp.try('forgiving', '', '{"comment": "#", "delimiter": "#|"}');
SELECT pg_temp.try('forgiving', '', '{"comment": "#", "null": ["", "#N/A"]}');
SELECT pg_temp.try('forgiving', '', '{"comment": "##", "null": "#"}');
SELECT pg_temp.try('forgiving', '', '{"comment": "#", "default": "#D"}');
SELECT pg_temp.try('forgiving', '', '{"comment": "\u00a7", "encoding": "LATIN1"}');
SELECT pg_temp.try('forgiving', '', '{"comment": "#", "format": "binary"}');

--
-- line ends
--

SELECT pg_temp.try('forgiving', E'1,a,1\n2,b,2\r\n3,c,3\r4,d,4', '{"newline": "any"}');
SELECT pg_temp.try('forgiving', E'1,a,1\n2,b,2\r\n3,c,3\r4,d,4', '{"newline": "auto"}');
SELECT pg_temp.try('forgiving', E'1,"a\r\nb\rc\n",1\r2,b,2', '{"newline": "any"}');
SELECT pg_temp.try('forgiving', E'1\ta\\\r\\\nb\t1\r\n2\tb\t2\r\\.\r', '{"newline": "any", "format": "text"}');
SELECT pg_temp.try('forgiving', E'n,t,d\r1,a,1\n2,"b\r\nc\rd\ne",2\r3,c,x\n', '{"newline": "any", "header": true}');
SELECT pg_temp.try('forgiving', E'1,a,1\r\r\n2,b,2', '{"newline": "any", "on_error": "ignore", "log_verbosity": "silent"}');
SELECT pg_temp.try('forgiving', E'#a\r1,a,1\n#b\r\n2||b||2', '{"newline": "any", "comment": "#", "on_error": "ignore", "log_verbosity": "silent"}');
SELECT pg_temp.try('forgiving', E'#a\r1||a||1\n#b\r\n2||b||2', '{"newline": "any", "comment": "#", "delimiter": "||"}');
-- misuse
SELECT pg_temp.try('forgiving', '', '{"newline": "crlf"}');
SELECT pg_temp.try('forgiving', '', '{"newline": true}');
SELECT pg_temp.try('forgiving', '', '{"newline": "any", "format": "binary"}');

--
-- rejects: their places and lines; corrected, they can be loaded
--

CREATE TABLE forgiving_rejects (load_id bigint, target text, loaded_at timestamptz, file text, line_number bigint, byte_offset bigint, reason text, column_name text,
	field_value text, sqlstate text, message text, raw_line text, raw_bytes bytea);
CREATE FUNCTION pg_temp.reject(content text, options jsonb) RETURNS TABLE (line bigint, "offset" bigint, reason text, column_name text, raw_line text) LANGUAGE plpgsql AS $$
DECLARE
	r record;
	bad text;
BEGIN
	FOR size IN 15 .. 40 LOOP
		PERFORM set_config('pgbulk.chunk_size', CASE size WHEN 40 THEN '262144' ELSE size + 1 END::text, false);
		TRUNCATE forgiving, forgiving_rejects;
		SELECT * INTO r FROM bulk_load('forgiving', pg_temp.put('in', content), options || '{"on_error": "ignore",
			"reject_table": "forgiving_rejects", "reject_file": "/proc/self/cwd/pgbulk_forgiving_lines_bad", "log_verbosity": "silent"}');
		ASSERT (SELECT bool_and(substr(content, f.byte_offset::int + 1, length(f.raw_line)) = f.raw_line) FROM forgiving_rejects f);
		bad := pg_read_file('/proc/self/cwd/pgbulk_forgiving_lines_bad');
		ASSERT (SELECT bool_and(strpos(bad, f.raw_line || substr(content, f.byte_offset::int + length(f.raw_line) + 1, 1)) > 0) FROM forgiving_rejects f);
		ASSERT (SELECT sum(length(f.raw_line)) + count(*) FROM forgiving_rejects f) <= length(bad);
	END LOOP;
	RETURN QUERY SELECT f.line_number, f.byte_offset, f.reason, f.column_name, f.raw_line FROM forgiving_rejects f ORDER BY 1;
END $$;
SELECT * FROM pg_temp.reject(E'#0\r1||a||1\r\n#2\n2||b||x\n3||c\r#"5\n4||"d||4\n5||e||5\r6||f||6\r\n7||"g\r\n#\r"||7\r8||h||y||8\n9||i||z',
	'{"newline": "any", "comment": "#", "delimiter": "||"}');
SELECT * FROM forgiving;
SELECT * FROM pg_temp.reject(E'#"\n1,a,1\n"2,b,2\n#"\n3,c,3\n4,d,x\n', '{"comment": "#"}');
SELECT * FROM forgiving;
SELECT * FROM pg_temp.reject(E'# \\\n1\ta\n2\tb\t2\n#\n\\\n#\tb\t2\n', '{"comment": "#", "format": "text"}');
SELECT * FROM forgiving;
-- rows that are checked when all are in are read again
CREATE TABLE forgiving_keys (k int PRIMARY KEY);
INSERT INTO forgiving_keys VALUES (1), (3);
TRUNCATE forgiving;
ALTER TABLE forgiving ADD FOREIGN KEY (n) REFERENCES forgiving_keys;
SELECT * FROM pg_temp.reject(E'#0\r1||a||1\r\n#2\n2||b||2\r3||c||3\n#\n#\r4||"d||\n"||1\n', '{"newline": "any", "comment": "#", "delimiter": "||"}');
SELECT * FROM forgiving;
DROP TABLE forgiving, forgiving_keys, forgiving_rejects;

--
-- the same with workers, and the result of COPY without
--

CREATE TABLE forgiving_many (a int, b text, c numeric);
CREATE TABLE forgiving_copy (LIKE forgiving_many);
COPY (SELECT CASE WHEN i % 11 = 0 THEN '# "' || i || E'\r\n' ELSE '' END || i || '~~"' || repeat('x', i % 40) || CASE WHEN i % 7 = 0 THEN E'~~\n#""\r' ELSE '' END || '"~~' || i / 8.0 ||
		(ARRAY[E'\r\n', E'\n', E'\r'])[1 + i % 3] FROM generate_series(1, 20000) i)
	TO '/proc/self/cwd/pgbulk_forgiving_lines_many' WITH (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02');
-- COPY has put those quotes around rows with embedded line ends, and a line end after each
SELECT lo_from_bytea(0, convert_to(replace(replace(convert_from(pg_read_binary_file('/proc/self/cwd/pgbulk_forgiving_lines_many'), 'UTF8'), E'\x01\n', ''), E'\x01', ''), 'UTF8')) AS object \gset
SELECT lo_export(:object, '/proc/self/cwd/pgbulk_forgiving_lines_many'), lo_unlink(:object);
SET pgbulk.chunk_size = 4096;
CREATE FUNCTION pg_temp.load(options jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	SELECT * INTO r FROM bulk_load('forgiving_many', '/proc/self/cwd/pgbulk_forgiving_lines_many', '{"delimiter": "~~", "comment": "#", "newline": "any"}' || options);
	RETURN format('%s read, %s loaded, %s rejected, %s%s%s', r.rows_read, r.rows_loaded, r.rows_rejected, r.writer,
		CASE WHEN r.workers > 0 THEN ' with workers' ELSE ' alone' END, coalesce(': ' || (r.details ->> 'no_workers'), ''));
END $$;
INSERT INTO forgiving_copy SELECT i, repeat('x', i % 40) || CASE WHEN i % 7 = 0 THEN E'~~\n#"\r' ELSE '' END, i / 8.0 FROM generate_series(1, 20000) i;
SELECT pg_temp.load('{"workers": 2}');
SELECT count(*) FROM (SELECT * FROM forgiving_many EXCEPT ALL SELECT * FROM forgiving_copy) x;
SELECT count(*), bool_and(ordered) FROM (SELECT a > lag(a, 1, 0) OVER (ORDER BY ctid) AS ordered FROM forgiving_many) x;
TRUNCATE forgiving_many;
SELECT pg_temp.load('{"workers": 0}');
SELECT count(*) FROM (SELECT * FROM forgiving_many EXCEPT ALL SELECT * FROM forgiving_copy) x;
TRUNCATE forgiving_many;
SELECT pg_temp.load('{"workers": 2, "skip": 5, "limit": 10000}');
SELECT count(*), min(a), max(a) FROM forgiving_many;
TRUNCATE forgiving_many;
ALTER TABLE forgiving_many ALTER b TYPE varchar(40);
SELECT pg_temp.load('{"workers": 2, "on_error": "ignore", "reject_table": "forgiving_rejects", "log_verbosity": "silent"}');
SELECT count(*), min(line_number), max(line_number), sum(line_number), sum(byte_offset), bool_and(raw_line LIKE '%x~~' || E'\n' || '%') FROM forgiving_rejects;
CREATE TABLE forgiving_alone (LIKE forgiving_rejects);
TRUNCATE forgiving_many;
SELECT pg_temp.load('{"workers": 0, "on_error": "ignore", "reject_table": "forgiving_alone", "log_verbosity": "silent"}');
SELECT count(*) FROM (SELECT line_number, byte_offset, message, raw_line FROM forgiving_alone EXCEPT ALL SELECT line_number, byte_offset, message, raw_line FROM forgiving_rejects) x;
RESET pgbulk.chunk_size;
DROP TABLE forgiving_many, forgiving_copy, forgiving_rejects, forgiving_alone;
