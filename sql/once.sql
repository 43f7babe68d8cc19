--
-- Option once: files that were loaded before are passed over.
--
CREATE TABLE once_t (a int, b text);
CREATE TABLE once_u (a int, b text);

-- Writes a file, or adds to it, and returns its path.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_once_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result of a load of what matches a name: what was loaded and passed over, or the error.
CREATE FUNCTION pg_temp.try(target regclass, name text, options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	detail text;
	hint text;
BEGIN
	SELECT * INTO r FROM bulk_load(target, '/proc/self/cwd/pgbulk_once_' || name, options);
	RETURN NEXT format('%s rows, %s bytes of %s, not %s', r.rows_loaded, r.bytes_read, replace(r.details ->> 'files', '/proc/self/cwd/pgbulk_once_', ''), coalesce(replace(r.details ->> 'passed_over', '/proc/self/cwd/pgbulk_once_', ''), '[]'));
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT, detail = PG_EXCEPTION_DETAIL;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	RETURN QUERY SELECT t FROM unnest(ARRAY[detail, hint]) t WHERE t <> '';
END $$;

-- by content: names do not count
SELECT pg_temp.put('1.csv', E'1,one\n'), pg_temp.put('2.csv', E'2,two\n'), pg_temp.put('3.csv', E'1,one\n');
SELECT pg_temp.try('once_t', '[12].csv', '{"once": true}');
SELECT pg_temp.try('once_t', '[12].csv', '{"once": true}');
SELECT pg_temp.try('once_t', '*.csv', '{"once": "content"}');
SELECT pg_temp.put('2.csv', E'2,new\n');
SELECT pg_temp.try('once_t', '*.csv', '{"once": true}');
SELECT pg_temp.try('once_u', '*.csv', '{"once": true, "log_verbosity": "silent"}');
SELECT * FROM once_t;
SELECT * FROM once_u;
SELECT relation, file, files, right(path, 5) AS path, size, loaded_to, rows_loaded FROM bulk_loads ORDER BY load_id, file;
-- nothing to load at all: empty tables, every way of storing
TRUNCATE once_t;
SELECT pg_temp.try('once_t', '*.csv', '{"once": true, "log_verbosity": "silent"}');
SELECT pg_temp.try('once_t', '*.csv', '{"once": true, "log_verbosity": "silent", "writer": "direct", "workers": 2, "header": "map"}');
SELECT pg_temp.try('once_t', '*.csv', '{"once": true, "log_verbosity": "silent", "writer": "buffered", "on_error": "ignore", "reject_table": "once_rejects"}');
-- what was undone or forgotten is loaded again, what was loaded without the option is known if it was remembered
BEGIN;
SELECT bulk_load_forget('once_t');
SELECT pg_temp.try('once_t', '1.csv', '{"once": true}');
ROLLBACK;
SELECT count(*) FROM once_t;
SELECT bulk_load_forget('once_t', '/proc/self/cwd/pgbulk_once_1.csv');
SELECT pg_temp.try('once_t', '*.csv', '{"once": true}');
SELECT bulk_load_forget('once_t');
SELECT pg_temp.try('once_t', '1.csv', '{"history": true}');
SELECT pg_temp.try('once_t', '[13].csv', '{"once": true}');
-- but not what was loaded in part
SELECT bulk_load_forget('once_t');
SELECT pg_temp.try('once_t', '1.csv', '{"history": true, "limit": 1}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": "path", "dry_run": true}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": true}');
SELECT bulk_load_forget('once_t') > 0;
SELECT pg_temp.try('once_t', '1.csv', '{"history": true, "skip": 1}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": "path", "dry_run": true}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": true}');
-- nor what was loaded without its first rows, but for loads that skip as many, or more
SELECT pg_temp.put('skip', E'1,a\n2,b\n3,c\n');
SELECT pg_temp.try('once_t', 'skip', '{"history": true, "skip": 2}');
SELECT pg_temp.try('once_t', 'skip', '{"once": true, "skip": 2}');
SELECT pg_temp.try('once_t', 'skip', '{"once": "path", "skip": 3}');
SELECT pg_temp.try('once_t', 'skip', '{"once": "path", "skip": 1, "dry_run": true}');
SELECT pg_temp.try('once_t', 'skip', '{"once": "path", "dry_run": true}');
SELECT pg_temp.try('once_t', 'skip', '{"once": "tail", "dry_run": true}');
SELECT pg_temp.try('once_t', 'skip', '{"once": {"part": 1}, "dry_run": true}');
SELECT pg_temp.try('once_t', 'skip', '{"once": true, "skip": 1}');
SELECT pg_temp.try('once_t', 'skip', '{"history": true, "skip": null}');
SELECT pg_temp.try('once_t', 'skip', '{"once": "tail"}');
DELETE FROM once_t;
-- what option once has skipped is not wanted
SELECT pg_temp.put('skipped', E'no row\n5,five\n');
SELECT pg_temp.try('once_t', 'skipped', '{"once": true, "skip": 1}');
SELECT pg_temp.try('once_t', 'skipped', '{"once": true, "skip": 1}');
DELETE FROM once_t WHERE a = 5;
-- more than an index of the history has room for
SELECT pg_temp.try('once_t', '1.csv', jsonb_build_object('once', jsonb_build_object('import_id', string_agg(md5(n::text), '')))) FROM generate_series(1, 100) n;
-- a dry run passes over, and claims nothing
SELECT pg_temp.try('once_t', '[23].csv', '{"once": true, "dry_run": true}');
SELECT pg_temp.try('once_t', '[23].csv', '{"once": true, "dry_run": true}');
-- also what is in one call twice
SELECT bulk_load_forget('once_t') > 0;
SELECT pg_temp.try('once_t', '*.csv', '{"once": true, "dry_run": true}');
SELECT pg_temp.put('twice', E'1,a\n2,b\n3,c\n') AS twice \gset
SELECT rows_loaded, jsonb_array_length(details -> 'passed_over') AS passed_over FROM bulk_load('once_t', ARRAY[:'twice', :'twice'], '{"once": "path", "dry_run": true, "log_verbosity": "silent"}');
SELECT rows_loaded, jsonb_array_length(details -> 'passed_over') AS passed_over FROM bulk_load('once_t', ARRAY[:'twice', :'twice'], '{"once": "tail", "dry_run": true, "log_verbosity": "silent"}');
SELECT rows_loaded, jsonb_array_length(details -> 'passed_over') AS passed_over FROM bulk_load('once_t', ARRAY[:'twice', :'twice'], '{"once": {"import_id": "x"}, "dry_run": true, "log_verbosity": "silent"}');
SELECT rows_loaded, bytes_read, jsonb_array_length(details -> 'passed_over') AS passed_over FROM bulk_load('once_t', ARRAY[:'twice', :'twice', :'twice'], '{"once": {"part": 2}, "dry_run": true, "log_verbosity": "silent"}');
SELECT rows_loaded, bytes_read, jsonb_array_length(details -> 'passed_over') AS passed_over FROM bulk_load('once_t', ARRAY[:'twice', :'twice', :'twice'], '{"once": {"part": 2}, "log_verbosity": "silent"}');
TRUNCATE once_t;

-- by path: contents do not count
SELECT bulk_load_forget('once_t');
SELECT pg_temp.try('once_t', '[12].csv', '{"once": "path"}');
SELECT pg_temp.put('1.csv', E'4,four\n');
SELECT pg_temp.try('once_t', '*.csv', '{"once": "path"}');
-- by the caller's own name for an import
SELECT pg_temp.try('once_t', '[12].csv', '{"once": {"import_id": "monday"}}');
SELECT pg_temp.try('once_t', '*.csv', '{"once": {"import_id": "monday"}}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": {"import_id": "tuesday"}}');
-- by COPY
TRUNCATE once_t;
COPY once_t FROM '/proc/self/cwd/pgbulk_once_1.csv' WITH (format csv, once path);
COPY once_t FROM '/proc/self/cwd/pgbulk_once_1.csv' WITH (format csv, once '{"import_id": "wednesday"}');
COPY once_t FROM '/proc/self/cwd/pgbulk_once_1.csv' WITH (format csv, once);
SELECT * FROM once_t;
-- a path is the same however it is spelled, but for links and what .. may lead out of
SELECT bulk_load_forget('once_t') > 0;
SELECT p, rows_loaded FROM unnest(ARRAY['', '/', './/./']) p, bulk_load('once_t', '/proc/self/cwd/' || p || 'pgbulk_once_1.csv', '{"once": "path", "log_verbosity": "silent"}');
SELECT bulk_load_forget('once_t', '/proc/self//cwd/./pgbulk_once_1.csv');
SELECT p, rows_loaded FROM unnest(ARRAY['', '/', './/./']) p, bulk_load('once_t', '/proc/self/cwd/' || p || 'pgbulk_once_1.csv', '{"once": "tail", "log_verbosity": "silent"}');
SELECT bulk_load_forget('once_t', '/proc/self//cwd/./pgbulk_once_1.csv');
SELECT p, rows_loaded FROM unnest(ARRAY['', '/', './/./']) p, bulk_load('once_t', '/proc/self/cwd/' || p || 'pgbulk_once_1.csv', '{"once": {"import_id": "x"}, "log_verbosity": "silent"}');
SELECT bulk_load_forget('once_t', '/proc/self//cwd/./pgbulk_once_1.csv');
SELECT rows_loaded FROM unnest(ARRAY['self', 'self/../self']) p, bulk_load('once_t', '/proc/' || p || '/cwd/pgbulk_once_1.csv', '{"once": "path", "log_verbosity": "silent"}');
SELECT bulk_load_forget('once_t', '/proc/self/../self//cwd/pgbulk_once_1.csv');
-- extra columns go with the files that are left
SELECT pg_temp.put('x-1.txt', E'x\n'), pg_temp.put('y-2.txt', E'y\n'), pg_temp.put('z-3.txt', E'z\n');
TRUNCATE once_t;
SELECT pg_temp.try('once_t', 'y-*.txt', '{"once": true, "columns": ["b"], "extra": {"a": "$1"}}');
SELECT rows_loaded FROM bulk_load('once_t', ARRAY['/proc/self/cwd/pgbulk_once_y-*.txt', '/proc/self/cwd/pgbulk_once_z*3.txt', '/proc/self/cwd/pgbulk_once_x-*.txt'], '{"once": true, "columns": ["b"], "extra": {"a": "$1"}}');
SELECT rows_loaded FROM bulk_load('once_t', ARRAY['/proc/self/cwd/pgbulk_once_y-*.txt', '/proc/self/cwd/pgbulk_once_z-*.txt', '/proc/self/cwd/pgbulk_once_x-*.txt'], '{"once": true, "columns": ["b"], "extra": {"a": "$1"}}');
SELECT * FROM once_t;

-- equal files whose paths give their rows other values are not the same
TRUNCATE once_t;
COPY (SELECT 5) TO PROGRAM 'mkdir -p pgbulk_once_d/b=x pgbulk_once_d/b=y pgbulk_once_d/b=z; tee pgbulk_once_d/b=x/p pgbulk_once_d/b=y/p > pgbulk_once_d/b=z/p';
SELECT pg_temp.try('once_t', 'd/b=[xy]/p', '{"once": true, "columns": ["a"], "extra": {"b": "$b"}}');
SELECT pg_temp.try('once_t', 'd/b=*/p', '{"once": true, "columns": ["a"], "extra": {"b": "$b"}, "dry_run": true}');
CALL bulk_load_each('once_t', '/proc/self/cwd/pgbulk_once_d/b=*/p', '{"columns": ["a"], "extra": {"b": "$b"}, "after": "delete", "log_verbosity": "silent"}');
-- but one of another name that gives them the same is, and so is one of the same path, or without such values
COPY (SELECT 5) TO PROGRAM 'tee pgbulk_once_d/b=x/q > pgbulk_once_d/b=y/p';
SELECT pg_temp.try('once_t', 'd/b=*/*', '{"once": true, "columns": ["a"], "extra": {"b": "$b"}}');
SELECT pg_temp.try('once_t', 'd/b=y/*', '{"once": true, "columns": ["a"], "extra": {"b": "$1"}, "dry_run": true}');
SELECT pg_temp.try('once_t', 'd/b=x/*', '{"once": true, "columns": ["a"], "extra": {"b": "$1"}, "dry_run": true}');
SELECT pg_temp.try('once_t', 'd/b=*/*', '{"once": true, "columns": ["a"], "extra": {"b": "$file"}}');
SELECT pg_temp.try('once_t', 'd/b=*/*', '{"once": true, "columns": ["a"], "extra": {"b": "same"}}');
-- however it was loaded, if that is remembered
SELECT bulk_load_forget('once_t') > 0;
COPY (SELECT 5) TO PROGRAM 'tee pgbulk_once_d/b=z/p > pgbulk_once_d/b=z/q';
SELECT pg_temp.try('once_t', 'd/b=x/q', '{"history": true, "columns": ["a"], "extra": {"b": "$b"}}');
SELECT pg_temp.try('once_t', 'd/b=z/q', '{"once": "path", "columns": ["a"], "extra": {"b": "$b"}}');
SELECT pg_temp.try('once_t', 'd/b=*/p', '{"once": true, "columns": ["a"], "extra": {"b": "$b"}}');
-- what a * has matched, also of a path that two patterns match
COPY (SELECT 6 UNION ALL SELECT 7) TO PROGRAM 'tee pgbulk_once_d/b=x/p pgbulk_once_d/b=y/p > pgbulk_once_d/b=z/p';
CALL bulk_load_each('once_t', '/proc/self/cwd/pgbulk_once_d/b=*/p', '{"columns": ["a"], "extra": {"b": "$1"}}');
CALL bulk_load_each('once_t', '/proc/self/cwd/pgbulk_once_d/b=*/p', '{"columns": ["a"], "extra": {"b": "$1"}, "log_verbosity": "silent"}');
SELECT pg_temp.try('once_t', 'd/b=*/p', '{"once": true, "columns": ["a"], "extra": {"b": "$1"}}');
SELECT DISTINCT options FROM bulk_loads WHERE path LIKE '%b=_/p' AND rows_loaded = 2;
COPY (SELECT 8) TO PROGRAM 'cat > pgbulk_once_d/b=x/q';
SELECT rows_loaded, jsonb_array_length(details -> 'passed_over') AS passed_over FROM unnest(ARRAY[true, false]) dry,
	bulk_load('once_t', ARRAY['/proc/self/cwd/pgbulk_once_d/b=x/*', '/proc/self/cwd/pgbulk_once_d/*/q'], jsonb_build_object('once', true, 'columns', '["a"]'::jsonb, 'extra', '{"b": "$1"}'::jsonb, 'dry_run', dry, 'log_verbosity', 'silent'));
-- part by part
COPY (SELECT 9 UNION ALL SELECT 10) TO PROGRAM 'tee pgbulk_once_d/b=x/p pgbulk_once_d/b=y/p > pgbulk_once_d/b=z/p';
SELECT pg_temp.try('once_t', 'd/b=x/p', '{"once": {"part": 1}, "columns": ["a"], "extra": {"b": "$b"}}');
SELECT pg_temp.try('once_t', 'd/b=[yz]/p', '{"once": {"part": 1}, "columns": ["a"], "extra": {"b": "$b"}, "dry_run": true}');
SELECT pg_temp.try('once_t', 'd/b=x/p', '{"once": true, "columns": ["a"], "extra": {"b": "$b"}}');
CALL bulk_load_each('once_t', '/proc/self/cwd/pgbulk_once_d/b=*/p', '{"commit_every": 1, "columns": ["a"], "extra": {"b": "$b"}}');
SELECT pg_temp.try('once_t', 'd/b=*/p', '{"once": true, "columns": ["a"], "extra": {"b": "$b"}}');
SELECT * FROM once_t ORDER BY a, b;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_once_gone; rm -r pgbulk_once_d';

-- a file that grows: from the last complete row on
CREATE TABLE once_log (n bigint, at text, what text);
SELECT pg_temp.put('log', E'at,what\n1,one\n2,"two\n');
SELECT pg_temp.try('once_log', 'log', '{"once": "tail", "header": true, "columns": ["at", "what"], "extra": {"n": "$line"}}');
SELECT pg_temp.try('once_log', 'log', '{"once": "tail", "header": true, "columns": ["at", "what"], "extra": {"n": "$line"}}');
SELECT pg_temp.put('log', E'at,what\n1,one\n2,"two\nlines"\n3,');
SELECT pg_temp.try('once_log', 'log', '{"once": "tail", "header": true, "columns": ["at", "what"], "extra": {"n": "$line"}, "dry_run": true}');
SELECT pg_temp.try('once_log', 'log', '{"once": "tail", "header": true, "columns": ["at", "what"], "extra": {"n": "$line"}}');
SELECT pg_temp.put('log', E'at,what\n1,one\n2,"two\nlines"\n3,three\n4,four\nx');
SELECT pg_temp.try('once_log', 'log', '{"once": "tail", "header": "map", "extra": {"n": "$line"}}');
SELECT * FROM once_log;
SELECT size, loaded_to, rows_loaded, content FROM bulk_loads WHERE relation = 'once_log' ORDER BY load_id;
-- it must be that file
SELECT pg_temp.put('log', E'at,what\n1,ONE\n2,"two\nlines"\n3,three\n4,four\n5,five\n');
SELECT pg_temp.try('once_log', 'log', '{"once": "tail", "header": true, "columns": ["at", "what"]}');
SELECT pg_temp.put('log', E'at,what\n');
SELECT pg_temp.try('once_log', 'log', '{"once": "tail", "header": true, "columns": ["at", "what"]}');
SELECT bulk_load_forget('once_log', '/proc/self/cwd/pgbulk_once_log');
SELECT pg_temp.try('once_log', 'log', '{"once": "tail", "header": true, "columns": ["at", "what"]}');
-- in format text a line end behind a backslash is data; quotes may have another escape; a load without the option counts
SELECT pg_temp.put('text', E'1\ta\\\n\\\\\n2\tb\\\n');
SELECT pg_temp.try('once_t', 'text', '{"once": "tail", "format": "text"}');
SELECT pg_temp.put('text', E'1\ta\\\n\\\\\n2\tb\\\nc\n');
SELECT pg_temp.try('once_t', 'text', '{"once": "tail", "format": "text"}');
SELECT pg_temp.put('quotes', E'1,"a\\"\n"\n2,"b\\\\"\n3,"c\n');
SELECT pg_temp.try('once_t', 'quotes', '{"once": "tail", "escape": "\\"}');
TRUNCATE once_t;
SELECT pg_temp.put('whole', E'1,a\n');
SELECT pg_temp.try('once_t', 'whole', '{"history": true}');
SELECT pg_temp.put('whole', E'1,a\n2,b\n');
SELECT pg_temp.try('once_t', 'whole', '{"once": "tail"}');
SELECT * FROM once_t;
-- what was loaded otherwise may have lacked its last line end, which is no row, or the rest of a row
SELECT pg_temp.put('whole', E'3,c\n4,d');
SELECT bulk_load_forget('once_t', '/proc/self/cwd/pgbulk_once_whole');
SELECT pg_temp.try('once_t', 'whole', '{"history": true}');
SELECT pg_temp.try('once_t', 'whole', '{"once": "tail"}');
SELECT pg_temp.put('whole', E'3,c\n4,d\n');
SELECT pg_temp.try('once_t', 'whole', '{"once": "tail"}');
SELECT pg_temp.put('whole', E'3,c\n4,d\n5,e\n');
SELECT pg_temp.try('once_t', 'whole', '{"once": "tail"}');
SELECT pg_temp.put('whole', E'6,f\r\n7,g');
SELECT bulk_load_forget('once_t', '/proc/self/cwd/pgbulk_once_whole');
SELECT pg_temp.try('once_t', 'whole', '{"once": true}');
SELECT pg_temp.put('whole', E'6,f\r\n7,g\r\n8,h\r\n');
SELECT pg_temp.try('once_t', 'whole', '{"once": "tail"}');
SELECT * FROM once_t;
SELECT pg_temp.put('whole', E'1,a\n2,b');
SELECT bulk_load_forget('once_t', '/proc/self/cwd/pgbulk_once_whole');
SELECT pg_temp.try('once_t', 'whole', '{"history": true}');
SELECT pg_temp.put('whole', E'1,a\n2,bb\n3,c\n');
SELECT pg_temp.try('once_t', 'whole', '{"once": "tail"}');
SELECT pg_temp.put('whole', E'1,a\n2,"b\n');
SELECT bulk_load_forget('once_t', '/proc/self/cwd/pgbulk_once_whole');
SELECT pg_temp.try('once_t', 'whole', '{"history": true, "on_error": "ignore", "log_verbosity": "silent"}');
SELECT pg_temp.put('whole', E'1,a\n2,"b\nb"\n3,c\n');
SELECT pg_temp.try('once_t', 'whole', '{"once": "tail"}');

-- what was loaded of a file that grows is not loaded again with the rest, under that name
SELECT bulk_load_forget('once_t', '/proc/self/cwd/pgbulk_once_whole') > 0;
SELECT pg_temp.put('whole', E'1,a\n2,b\n3,c');
TRUNCATE once_t;
SELECT pg_temp.try('once_t', 'whole', '{"once": "tail"}');
SELECT pg_temp.try('once_t', 'whole', '{"once": true}');
CALL bulk_load_each('once_t', '/proc/self/cwd/pgbulk_once_whole', '{"after": "delete"}');
SELECT pg_temp.try('once_t', 'whole', '{"once": {"import_id": "x"}}');
SELECT pg_temp.try('once_t', 'whole', '{"once": {"part": 1}, "dry_run": true}');
CALL bulk_load_each('once_t', '/proc/self/cwd/pgbulk_once_whole', '{"commit_every": 1}');
SELECT pg_temp.try('once_t', 'whole', '{"once": true}');
SELECT * FROM once_t;
-- but a file that has taken its place is new
SELECT bulk_load_forget('once_t', '/proc/self/cwd/pgbulk_once_whole') > 0;
SELECT pg_temp.put('whole', E'1,a\n2,b\n');
SELECT pg_temp.try('once_t', 'whole', '{"once": "tail"}');
SELECT pg_temp.put('whole', E'4,d\n5,e\n6,f\n');
SELECT pg_temp.try('once_t', 'whole', '{"once": true, "dry_run": true}');
SELECT pg_temp.try('once_t', 'whole', '{"once": {"part": 3}}');

-- a quote that nothing closes: what waits for that is told, and warned of where it is more than a row is likely to have
TRUNCATE once_t;
SET log_min_messages = error;
SELECT pg_temp.put('stray', E'1,a\n2,5" b\n3,c\n4,d\n');
SELECT rows_loaded, details -> 'incomplete' AS incomplete FROM bulk_load('once_t', '/proc/self/cwd/pgbulk_once_stray', '{"once": "tail", "on_error": "ignore"}');
SELECT rows_loaded, details -> 'incomplete' AS incomplete FROM bulk_load('once_t', '/proc/self/cwd/pgbulk_once_stray', '{"once": "tail", "on_error": "ignore"}');
SELECT pg_temp.put('stray', E'1,a\n2,5" b\n3,c\n4,d\n' || repeat(E'5,e\n', 7));
SELECT pg_temp.try('once_t', 'stray', '{"once": "tail", "log_verbosity": "silent"}');
SELECT pg_temp.put('stray', E'1,a\n2,b\n3,5" c\n' || repeat(E'5,e\n', 9));
SELECT pg_temp.try('once_t', 'stray', '{"once": "tail"}');
SELECT pg_temp.put('stray', E'1,a\n2,b\n3,"5"" c"\n4,d');
SELECT rows_loaded, details -> 'incomplete' AS incomplete FROM bulk_load('once_t', '/proc/self/cwd/pgbulk_once_stray', '{"once": "tail"}');
SELECT pg_temp.put('stray', E'1,a\n2,b\n3,"5"" c"\n4,d\n');
SELECT rows_loaded, details -> 'incomplete' AS incomplete FROM bulk_load('once_t', '/proc/self/cwd/pgbulk_once_stray', '{"once": "tail"}');
SELECT * FROM once_t;
-- also in a header, behind a part that was loaded otherwise, and where rows end in no LF
SELECT pg_temp.put('stray_h', E'a,"b\n' || repeat(E'1,a\n', 10));
SELECT pg_temp.try('once_t', 'stray_h', '{"once": "tail", "header": true}');
SELECT pg_temp.put('stray_w', E'1,a\n2,"b\n');
SELECT pg_temp.try('once_t', 'stray_w', '{"history": true, "on_error": "ignore", "log_verbosity": "silent"}');
SELECT pg_temp.put('stray_w', E'1,a\n2,"b\n' || repeat(E'3,c\n', 10));
SELECT pg_temp.try('once_t', 'stray_w', '{"once": "tail"}');
SELECT pg_temp.put('stray_r', repeat(E'1,a\r', 20000));
SELECT pg_temp.try('once_t', 'stray_r', '{"once": "tail"}');
RESET log_min_messages;

-- lines are counted by the line ends that count
SELECT bulk_load_forget('once_log') > 0;
TRUNCATE once_log;
SELECT pg_temp.put('mixed', E'1,a\r2,b\n"3\r\n",c\r');
SELECT pg_temp.try('once_log', 'mixed', '{"once": "tail", "newline": "any", "columns": ["at", "what"], "extra": {"n": "$line"}}');
SELECT pg_temp.put('mixed', E'1,a\r2,b\n"3\r\n",c\r\n5,d\r6,e\n7,"f');
SELECT rows_loaded, details -> 'incomplete' -> 0 ->> 'line' AS incomplete FROM bulk_load('once_log', '/proc/self/cwd/pgbulk_once_mixed', '{"once": "tail", "newline": "any", "columns": ["at", "what"], "extra": {"n": "$line"}}');
SELECT pg_temp.put('mixed', E'7,"f"\r8,g\n9,h\n10,i\n\r12,j\n');
SELECT bulk_load_forget('once_log') > 0;
CALL bulk_load_each('once_log', '/proc/self/cwd/pgbulk_once_mixed', '{"commit_every": 2, "on_error": "ignore", "log_verbosity": "silent", "newline": "any", "columns": ["at", "what"], "extra": {"n": "$line"}}');
SELECT * FROM once_log;

SET max_parallel_workers_per_gather = 0;
-- part by part: rows or bytes; each part is known by the bytes of the whole file
CREATE TABLE once_parts (at text, what text, line bigint);
SELECT pg_temp.put('parts', E'at,what\n1,one\n2,"two\nlines"\n3,three\n4,"fo""\nur"\n5,five');
SELECT pg_temp.try('once_parts', 'parts', '{"once": {"part": 2}, "header": true, "columns": ["at", "what"], "extra": {"line": "$line"}}');
SELECT pg_temp.try('once_parts', 'parts', '{"once": {"part": 1}, "header": true, "columns": ["at", "what"], "extra": {"line": "$line"}, "dry_run": true}');
SELECT pg_temp.try('once_parts', 'parts', '{"once": {"part": "10 B"}, "header": "map", "extra": {"line": "$line"}}');
SELECT * FROM once_parts;
-- the rest is loaded as such, under any name, or else nothing
SELECT pg_temp.try('once_parts', 'parts', '{"once": true, "header": true, "columns": ["at", "what"]}');
SELECT pg_temp.try('once_parts', 'parts', '{"once": "path", "header": true, "columns": ["at", "what"]}');
SELECT pg_temp.try('once_parts', 'parts', '{"once": {"import_id": "x"}, "header": true, "columns": ["at", "what"]}');
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_once_gone; mv pgbulk_once_parts pgbulk_once_moved';
SELECT pg_temp.try('once_parts', 'moved', '{"once": true, "header": true, "columns": ["at", "what"]}');
SELECT pg_temp.try('once_parts', 'moved', '{"once": {"part": 1}, "header": true, "columns": ["at", "what"], "extra": {"line": "$line"}}');
-- or where it has been mended, behind what is loaded
SELECT pg_temp.put('moved', E'at,what\n1,one\n2,"two\nlines"\n3,three\n4,"fo""\nur"\n5,FIVE\n6,six\n');
SELECT pg_temp.try('once_parts', 'moved', '{"once": {"part": 1}, "header": true, "columns": ["at", "what"], "extra": {"line": "$line"}}');
SELECT pg_temp.put('moved', E'at,what\n1,ONE\n2,"two\nlines"\n3,three\n4,"fo""\nur"\n5,FIVE\n6,six\n');
SELECT pg_temp.try('once_parts', 'moved', '{"once": {"part": 1}, "header": true, "columns": ["at", "what"], "extra": {"line": "$line"}}');
SELECT pg_temp.put('moved', E'at,what\n1,one\n');
SELECT pg_temp.try('once_parts', 'moved', '{"once": {"part": 1}, "header": true, "columns": ["at", "what"], "extra": {"line": "$line"}}');
SELECT pg_temp.put('moved', E'at,what\n1,one\n2,"two\nlines"\n3,three\n4,"fo""\nur"\n5,FIVE\n6,six\n');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_moved', '{"commit_every": "1 kB", "header": true, "columns": ["at", "what"], "extra": {"line": "$line"}}');
SELECT * FROM once_parts;
SELECT size, loaded_to, rows_loaded, content FROM bulk_loads WHERE relation = 'once_parts' ORDER BY load_id;
-- the whole file is known then, and new under the same name if it is another
SELECT pg_temp.try('once_parts', 'moved', '{"once": true, "header": true}');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_moved', '{"commit_every": 1, "header": true, "log_verbosity": "silent"}');
SELECT pg_temp.put('moved', E'a,x,1\n');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_moved', '{"commit_every": 1}');
-- as many parts as there are, with workers and one process, and files of no row
CREATE TABLE once_whole (LIKE once_parts);
SELECT pg_temp.put('each', (SELECT string_agg(format(E'%s,"%s\n%s"', n, repeat('x', n % 50), n), E'\n') FROM generate_series(1, 3000) n)) IS NULL AS put;
SELECT rows_loaded FROM bulk_load('once_whole', '/proc/self/cwd/pgbulk_once_each', '{"columns": ["at", "what"], "extra": {"line": "$line"}}');
TRUNCATE once_parts;
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_each', '{"commit_every": "20kB", "columns": ["at", "what"], "extra": {"line": "$line"}}');
SELECT count(*) AS parts, sum(bytes_read) = max(size) AND min(size) = max(size) AS whole FROM bulk_loads WHERE path LIKE '%_each';
SELECT count(*), count(DISTINCT line) FROM (SELECT * FROM once_parts INTERSECT SELECT * FROM once_whole) p;
SELECT bulk_load_forget('once_parts') > 1;
TRUNCATE once_parts;
SET pgbulk.chunk_size = 8192;
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_each', '{"commit_every": 1100, "workers": 2, "columns": ["at", "what"], "extra": {"line": "$line"}}');
RESET pgbulk.chunk_size;
SELECT array_agg(rows_loaded ORDER BY load_id) FROM bulk_loads WHERE path LIKE '%_each';
SELECT count(*), count(DISTINCT line) FROM (SELECT * FROM once_parts INTERSECT SELECT * FROM once_whole) p;
SELECT pg_temp.put('none', '');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_none', '{"commit_every": 1}');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_none', '{"commit_every": 1}');
-- in format text; an error leaves what was committed, and the next call goes on
SELECT pg_temp.put('text', E'1\ta\\\nb\t1\n2\tb\t2\n3\tc\tx\n4\td\t4\n');
TRUNCATE once_parts;
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_text', '{"commit_every": 1, "format": "text"}');
SELECT * FROM once_parts;
SELECT pg_temp.put('text', E'1\ta\\\nb\t1\n2\tb\t2\n3\tc\t3\n4\td\t4\n');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_text', '{"commit_every": 1, "format": "text"}');
SELECT * FROM once_parts;
-- an end-of-copy marker ends the file, and not only a part of it; what a file gets behind it later is a tail
SELECT pg_temp.put('marked', E'1\ta\t1\n2\tb\t2\n\\.\n3\tc\t3\n4\td\t4\n');
TRUNCATE once_parts;
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_marked', '{"commit_every": 2, "format": "text"}');
SELECT pg_temp.try('once_parts', 'marked', '{"once": {"part": 1}, "format": "text"}');
SELECT pg_temp.try('once_parts', 'marked', '{"once": "tail", "format": "text"}');
SELECT pg_temp.put('marked', E'1\ta\t1\n2\tb\t2\n\\.\n');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_marked', '{"commit_every": 1, "format": "text"}');
SELECT bulk_load_forget('once_parts', '/proc/self/cwd/pgbulk_once_marked') > 0;
SELECT pg_temp.try('once_parts', 'marked', '{"once": "tail", "format": "text"}');
SELECT pg_temp.put('marked', E'1\ta\t1\n2\tb\t2\n\\.\n5\te\t5\n');
SELECT pg_temp.try('once_parts', 'marked', '{"once": "tail", "format": "text"}');
SELECT * FROM once_parts;
-- an option that is null is not given
SELECT pg_temp.put('nulls', E'1,a,1\n');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_nulls', '{"commit_every": null, "once": null, "after": null}');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_nulls', '{"commit_every": 1, "once": null, "log_verbosity": "silent"}');
-- the first line end of the file says how its lines end, and not that of the part, or of the tail
SELECT pg_temp.put('ends', E'1,a,1\n2,b\r3,3\n4,d,4\r\n5,e,5\n');
TRUNCATE once_parts;
SELECT rows_loaded, rows_rejected FROM bulk_load('once_parts', '/proc/self/cwd/pgbulk_once_ends', '{"on_error": "ignore", "log_verbosity": "silent"}');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_ends', '{"commit_every": 1, "on_error": "ignore", "log_verbosity": "silent"}');
SELECT pg_temp.put('ends', E'at,what,line\n1,a,1\n2,b\r3,3\n4,d,4\r\n5,e,5\n');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_ends', '{"commit_every": 1, "on_error": "ignore", "log_verbosity": "silent", "header": true}');
SELECT bulk_load_forget('once_parts', '/proc/self/cwd/pgbulk_once_ends') > 0;
SELECT pg_temp.put('ends', E'1,a,1\n');
SELECT rows_loaded, rows_rejected FROM bulk_load('once_parts', '/proc/self/cwd/pgbulk_once_ends', '{"once": "tail"}');
SELECT pg_temp.put('ends', E'1,a,1\n4,d,4\r\n5,e,5\r\n');
SELECT rows_loaded, rows_rejected FROM bulk_load('once_parts', '/proc/self/cwd/pgbulk_once_ends', '{"once": "tail", "on_error": "ignore", "log_verbosity": "silent"}');
SELECT bulk_load_forget('once_parts', '/proc/self/cwd/pgbulk_once_ends') > 0;
SELECT pg_temp.put('ends', E'\\.\n');
SELECT rows_loaded, rows_rejected FROM bulk_load('once_parts', '/proc/self/cwd/pgbulk_once_ends', '{"once": "tail", "format": "text"}');
SELECT pg_temp.put('ends', E'\\.\n2\tb\r3\t\\N\t3\n5\te\t5\n');
SELECT rows_loaded, rows_rejected FROM bulk_load('once_parts', '/proc/self/cwd/pgbulk_once_ends', '{"once": "tail", "format": "text", "on_error": "ignore", "log_verbosity": "silent"}');
SELECT * FROM once_parts ORDER BY at COLLATE "C", what COLLATE "C";
-- misuse
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_text', '{"commit_every": 0}');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_text', '{"commit_every": "many"}');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_text', '{"commit_every": 1, "once": "tail"}');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_text', '{"commit_every": 1, "format": "binary"}');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_text', '{"commit_every": 1, "compression": "gzip"}');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_text', '{"commit_every": 1, "comment": "#"}');
COPY (SELECT 1, 2) TO PROGRAM 'gzip > pgbulk_once_1.gz' WITH (format csv);
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_1.gz', '{"commit_every": 1}');
SELECT pg_temp.put('cr', E'1,a\r2,b\r');
CALL bulk_load_each('once_parts', '/proc/self/cwd/pgbulk_once_cr', '{"commit_every": 1}');
SELECT rows_loaded FROM bulk_load('once_parts', '/proc/self/cwd/pgbulk_once_text', '{"commit_every": 1}');
SELECT pg_temp.try('once_parts', 'text', '{"once": {"part": "0 MB"}}');

-- with workers and many rows
TRUNCATE once_log;
SELECT pg_temp.put('many', (SELECT string_agg(n || ',' || repeat('x', n % 50), E'\n') || E'\n1' FROM generate_series(1, 3000) n)) IS NULL AS put;
SET pgbulk.chunk_size = 8192;
SELECT pg_temp.try('once_log', 'many', '{"once": "tail", "workers": 2, "columns": ["at", "what"], "extra": {"n": "$line"}}');
SELECT pg_temp.put('many', (SELECT string_agg(n || ',' || repeat('x', n % 50), E'\n') || E'\n1' FROM generate_series(1, 9000) n)) IS NULL AS put;
SELECT pg_temp.try('once_log', 'many', '{"once": "tail", "workers": 2, "columns": ["at", "what"], "extra": {"n": "$line"}, "on_error": "ignore"}');
SELECT count(*), count(DISTINCT n), bool_and(n::text = at) FROM once_log;
-- what was loaded before of the files to come is not worth workers
SELECT pg_temp.put('man', '1,one' || E'\n'), pg_temp.put('many', (SELECT string_agg(n || ',' || repeat('x', n % 50), E'\n') || E'\n' FROM generate_series(1, 9001) n)) IS NULL AS put;
SELECT rows_loaded, workers FROM bulk_load('once_log', '/proc/self/cwd/pgbulk_once_man*', '{"once": "tail", "workers": 2, "columns": ["at", "what"], "extra": {"n": "$line"}}');
-- the last load of a file that grows is enough to go on
SELECT bulk_load_forget('once_log', path, max(finished)) AS forgotten FROM bulk_load_history WHERE path ~ 'pgbulk_once_many$' GROUP BY path;
SELECT pg_temp.put('many', (SELECT string_agg(n || ',' || repeat('x', n % 50), E'\n') || E'\n' FROM generate_series(1, 9002) n)) IS NULL AS put;
SELECT pg_temp.try('once_log', 'many', '{"once": "tail", "columns": ["at", "what"], "extra": {"n": "$line"}}');
RESET pgbulk.chunk_size;

-- what goes with the rows of unlogged tables, as in a crash; a table keeps its files when it becomes logged, or unlogged
CREATE UNLOGGED TABLE once_x (a int, b text);
CREATE TABLE once_p (a int, b text) PARTITION BY LIST (a);
CREATE UNLOGGED TABLE once_p1 PARTITION OF once_p FOR VALUES IN (1);
CREATE UNLOGGED TABLE once_p2 PARTITION OF once_p DEFAULT;
SELECT pg_temp.put('x', E'1,a\n2,b\n'), pg_temp.put('y', E'3,c\n4,d\n');
SET client_min_messages = warning;
CREATE ROLE regress_once;
GRANT INSERT, SELECT ON once_x, once_p TO regress_once;
GRANT pg_read_server_files TO regress_once;
SET ROLE regress_once;
SELECT t, pg_temp.try(t, f, '{"once": true}') FROM unnest(ARRAY['once_x', 'once_p']) t, unnest(ARRAY['x', 'x']) f;
SELECT pg_temp.try('once_x', 'y', o::jsonb) FROM unnest(ARRAY['{"once": {"part": 1}}', '{"once": "tail"}', '{"once": "path"}', '{"history": true}']) o;
RESET ROLE;
TRUNCATE once_x, once_p, bulk_load_unlogged;
SELECT pg_temp.try('once_x', 'x', '{"once": true, "dry_run": true}');
SET ROLE regress_once;
SELECT t, pg_temp.try(t, f, '{"once": true}') FROM unnest(ARRAY['once_x', 'once_p']) t, unnest(ARRAY['x', 'x']) f;
SELECT pg_temp.try('once_x', 'y', o::jsonb) FROM unnest(ARRAY['{"once": {"part": 1}}', '{"once": "tail"}', '{"once": "path"}']) o;
RESET ROLE;
SELECT path ~ 'x$' AS x, loaded_to, rows_loaded FROM bulk_loads WHERE relation = 'once_x' ORDER BY load_id;
ALTER TABLE once_x SET LOGGED;
ALTER TABLE once_t SET UNLOGGED;
SELECT pg_temp.try('once_x', 'x', '{"once": true}');
SELECT pg_temp.try('once_t', 'x', '{"once": true}');
TRUNCATE once_t, bulk_load_unlogged;
SELECT pg_temp.try('once_x', 'x', '{"once": true}');
SELECT pg_temp.try('once_t', 'x', '{"once": true}');
ALTER TABLE once_p2 SET LOGGED;
SELECT pg_temp.try('once_p', 'x', '{"once": true}');
SELECT pg_temp.try('once_p', 'x', '{"history": true}');
RESET client_min_messages;
REVOKE pg_read_server_files FROM regress_once;
DROP TABLE once_x, once_p;
DROP ROLE regress_once;
-- it grows while rows that were found bad late are read again
CREATE TABLE once_parents (a int PRIMARY KEY);
CREATE TABLE once_children (a int REFERENCES once_parents, b text);
SELECT rows_loaded FROM bulk_load('once_children', pg_temp.put('grows', E'x,x\n'), '{"on_error": "ignore", "reject_table": "once_late", "log_verbosity": "silent"}');
TRUNCATE once_late;
CREATE FUNCTION once_grow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN COPY (SELECT 3, 'late') TO PROGRAM 'cat >> pgbulk_once_grows' WITH (FORMAT csv); RETURN new; END $$;
CREATE TRIGGER grow BEFORE INSERT ON once_late FOR EACH ROW WHEN (new.line_number = 1) EXECUTE FUNCTION once_grow();
SELECT pg_temp.put('grows', (SELECT string_agg(n || ',' || repeat('x', 10000), E'\n') || E'\n' FROM generate_series(1, 1000) n)) IS NULL AS put;
SELECT rows_read, rows_rejected FROM bulk_load('once_children', '/proc/self/cwd/pgbulk_once_grows', '{"once": "tail", "on_error": "ignore", "reject_table": "once_late", "log_verbosity": "silent"}');
SELECT rows_read, rows_rejected FROM bulk_load('once_children', '/proc/self/cwd/pgbulk_once_grows', '{"once": "tail", "on_error": "ignore", "reject_table": "once_late", "log_verbosity": "silent"}');
SELECT count(*), count(DISTINCT line_number), max(line_number), right(max(raw_line) FILTER (WHERE line_number = 1001), 6) AS last FROM once_late;

-- misuse
SELECT pg_temp.try('once_t', '1.csv', '{"once": "always"}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": {"import": "x"}}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": {"import_id": ""}}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": true, "truncate": true}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": true, "limit": 1}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": true, "history": false}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": "tail", "skip": 1}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": "tail", "format": "json"}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": "tail", "encoding": "SJIS"}');
SELECT pg_temp.try('once_t', '1.csv', '{"once": "tail", "compression": "gzip"}');
COPY (SELECT 1, 2) TO PROGRAM 'gzip > pgbulk_once_1.gz' WITH (format csv);
SELECT pg_temp.try('once_t', '1.gz', '{"once": "tail"}');
SELECT pg_temp.try('once_t', '1.gz', '{"once": true}');
SELECT pg_temp.try('once_t', '1.gz', '{"once": true}');
CREATE TEMP TABLE once_temp (a int, b text);
SELECT pg_temp.try('once_temp', '1.csv', '{"once": true}');
SELECT rows_loaded FROM bulk_load('once_t', 'stdin', '{"once": true}');
SELECT rows_loaded FROM bulk_load('once_t', 'stdin', '{"once": {"import_id": "monday"}}');
SELECT rows_loaded FROM bulk_load_query('once_t', 'SELECT 1', '{"once": true}');

COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_once_gone; rm -f pgbulk_once_*';
SELECT count(bulk_load_forget(target)) > 0 FROM (SELECT DISTINCT target FROM bulk_load_history) h;
DROP TABLE once_t, once_u, once_log, once_parts, once_whole, once_rejects, once_parents, once_children, once_late;
DROP FUNCTION once_grow;
