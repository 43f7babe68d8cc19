--
-- Manifests, and bulk_load_each: file after file, each committed.
--
CREATE TABLE manifest_t (a int, b text, part text);

COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; mkdir -p pgbulk_manifest/done';

-- Writes a file of the folder.
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_manifest/' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN name;
END $$;

-- The result of a load of a manifest: what was loaded, or the error.
CREATE FUNCTION pg_temp.try(content text, options text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	detail text;
	hint text;
BEGIN
	PERFORM pg_temp.put('list', content);
	SELECT * INTO r FROM bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/list', ('{"manifest": true, "columns": ["a", "b"]' || options || '}')::jsonb);
	RETURN NEXT format('%s rows of %s', r.rows_loaded, replace(r.details ->> 'files', '/proc/self/cwd/pgbulk_manifest/', ''));
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT, detail = PG_EXCEPTION_DETAIL;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	RETURN QUERY SELECT t FROM unnest(ARRAY[detail, hint]) t WHERE t <> '';
END $$;

SELECT pg_temp.put('1.csv', E'1,one\n2,two\n'), pg_temp.put('2.csv', E'3,three\n'), pg_temp.put('a b.csv', E'4,four\n');

-- lines: paths, of the manifest's folder or absolute; checksums as md5sum and sha256sum write them
SELECT pg_temp.try(E'# two files\n1.csv\n\n/proc/self/cwd/pgbulk_manifest/2.csv\n');
SELECT pg_temp.try(E'a b.csv\r\n1.csv');
SELECT pg_temp.try(md5(E'3,three\n') || E'  2.csv\n' || encode(sha256(E'1,one\n2,two\n'), 'hex') || ' *1.csv');
SELECT pg_temp.try(upper(md5(E'3,three\n')) || E'  2.csv\n');
SELECT pg_temp.try(md5('other') || E'  2.csv\n');
SELECT pg_temp.try(encode(sha256('other'), 'hex') || E'  2.csv\n');
-- JSON
SELECT pg_temp.try('["2.csv", {"path": "1.csv"}]');
SELECT pg_temp.try('{"name": "nightly", "files": [{"path": "1.csv", "size": 12, "rows": 2, "checksum": "md5:' || md5(E'1,one\n2,two\n') || '"}, {"path": "2.csv", "rows": 1}]}');
SELECT pg_temp.try('[{"path": "1.csv", "checksum": "SHA256:' || encode(sha256(E'1,one\n2,two\n'), 'hex') || '"}]');
-- what is not true, before anything is loaded, but for the number of rows
TRUNCATE manifest_t;
SELECT pg_temp.try('["1.csv", "missing.csv"]');
SELECT pg_temp.try('["1.csv", "done"]');
SELECT pg_temp.try('["1.csv", {"path": "2.csv", "size": 9}]');
SELECT pg_temp.try('[{"path": "1.csv", "rows": 2}, {"path": "2.csv", "rows": 2}]');
SELECT pg_temp.try('[{"path": "1.csv", "rows": 2}, {"path": "2.csv", "rows": 2}]', ', "skip": 1');
SELECT pg_temp.try('[{"path": "1.csv", "rows": 7}, "2.csv"]');
SELECT count(*) FROM manifest_t;
-- they are not compared where not all are read
SELECT pg_temp.put('list', '[{"path": "1.csv", "rows": 2}]');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/list', '{"manifest": true, "columns": ["a", "b"], "skip": 1, "once": false}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/list', '{"manifest": true, "columns": ["a", "b"], "limit": 1, "once": false}');
SELECT pg_temp.put('grown', E'1,one\n2,tw'), pg_temp.put('list', '[{"path": "grown", "rows": 2}]');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/list', '{"manifest": true, "columns": ["a", "b"], "once": "tail"}');
SELECT pg_temp.put('grown', E'1,one\n2,two\n');
SELECT pg_temp.try('[{"path": "grown", "rows": 2}]', ', "once": "tail"');
SELECT bulk_load_forget('manifest_t') > 0 AS forgotten;
TRUNCATE manifest_t;
-- bad rows count, files that are passed over do not
SELECT pg_temp.put('bad.csv', E'x,one\n2,two\n');
SELECT pg_temp.try('[{"path": "bad.csv", "rows": 2}]', ', "on_error": "ignore", "log_verbosity": "silent"');
SELECT pg_temp.try('[{"path": "1.csv", "rows": 2}]', ', "once": true');
SELECT pg_temp.try('[{"path": "2.csv", "rows": 1}, {"path": "1.csv", "rows": 2}]', ', "once": true, "log_verbosity": "silent"');
-- what is no manifest
SELECT pg_temp.try('');
SELECT pg_temp.try('[]');
SELECT pg_temp.try('{"entries": ["1.csv"]}');
SELECT pg_temp.try('{"files": "1.csv"}');
SELECT pg_temp.try('["1.csv", 2]');
SELECT pg_temp.try('["1.csv"');
SELECT pg_temp.try('[{"size": 2}]');
SELECT pg_temp.try('[{"path": "1.csv", "length": 2}]');
SELECT pg_temp.try('[{"path": "1.csv", "size": -2}]');
SELECT pg_temp.try('[{"path": "1.csv", "size": "12"}]');
SELECT pg_temp.try('[{"path": "1.csv", "rows": 1.5}]');
SELECT pg_temp.try('[{"path": "1.csv", "checksum": "md5:12"}]');
SELECT pg_temp.try('[{"path": "1.csv", "checksum": "sha256:' || md5('') || '"}]');
SELECT pg_temp.try('s3://bucket/1.csv');
SELECT rows_loaded FROM bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/done', '{"manifest": true}');
SELECT rows_loaded FROM bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/nothing', '{"manifest": true}');
-- by COPY
SELECT pg_temp.put('list', '2.csv');
TRUNCATE manifest_t;
COPY manifest_t (a, b) FROM '/proc/self/cwd/pgbulk_manifest/list' WITH (format csv, manifest);
SELECT * FROM manifest_t;

-- bulk_load_each: every file is a transaction, those that were loaded are passed over
TRUNCATE manifest_t;
SELECT bulk_load_forget('manifest_t');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/?.csv', '{"columns": ["a", "b"], "extra": {"part": "$1"}}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/*.csv', '{"columns": ["a", "b"], "extra": {"part": "$1"}, "log_verbosity": "silent"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/*.csv', '{"columns": ["a", "b"], "extra": {"part": "$1"}, "log_verbosity": "silent", "on_error": "ignore"}');
SELECT *, xmin = (SELECT xmin FROM manifest_t WHERE a = 1) AS with_1 FROM manifest_t ORDER BY a;
SELECT pg_temp.put('list', '[{"path": "1.csv", "rows": 2}, {"path": "2.csv", "rows": 2}]');
SELECT bulk_load_forget('manifest_t');
TRUNCATE manifest_t;
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/list', '{"manifest": true, "columns": ["a", "b"]}');
SELECT * FROM manifest_t;
SET log_min_messages = error;
-- files go when their rows are committed, also those that are passed over, but for one whose bad row is nowhere else
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/[1b]*.csv', '{"columns": ["a", "b"], "after": "delete", "on_error": "ignore", "log_verbosity": "silent"}');
RESET log_min_messages;
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"columns": ["a", "b"], "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/done"}}');
SELECT pg_temp.put('2.csv', E'5,five\n');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"columns": ["a", "b"], "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/done"}}');
SELECT * FROM pg_ls_dir('/proc/self/cwd/pgbulk_manifest') f ORDER BY f;
SELECT * FROM pg_ls_dir('/proc/self/cwd/pgbulk_manifest/done') f ORDER BY f;
SELECT * FROM manifest_t ORDER BY a;
-- without once a file is loaded again
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/done/2.csv', '{"columns": ["a", "b"], "once": false, "after": "keep"}');
-- a file that comes to that place while the rows are loaded is left alone
CREATE FUNCTION manifest_put() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	object oid := lo_from_bytea(0, 'another');
BEGIN
	PERFORM lo_export(object, '/proc/self/cwd/pgbulk_manifest/done/late.csv'), lo_unlink(object);
	RETURN NULL;
END $$;
CREATE TRIGGER manifest_put AFTER INSERT ON manifest_t FOR EACH STATEMENT EXECUTE FUNCTION manifest_put();
SELECT pg_temp.put('late.csv', E'6,six\n');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/late.csv', '{"columns": ["a", "b"], "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/done"}}');
SELECT pg_read_file('/proc/self/cwd/pgbulk_manifest/done/late.csv'), pg_read_file('/proc/self/cwd/pgbulk_manifest/late.csv');
SELECT count(*) FROM manifest_t WHERE a = 6;
-- without once it would be loaded again
COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; rm pgbulk_manifest/done/late.csv';
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/late.csv', '{"columns": ["a", "b"], "once": false, "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/done"}}');
DROP TRIGGER manifest_put ON manifest_t;
-- one that is there by two names, as after a crash between link and unlink, moves
COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; cd pgbulk_manifest && ln -f late.csv done/late.csv';
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/late.csv', '{"columns": ["a", "b"], "log_verbosity": "silent", "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/done"}}');
SELECT pg_read_file('/proc/self/cwd/pgbulk_manifest/done/late.csv'), (pg_stat_file('/proc/self/cwd/pgbulk_manifest/late.csv', true)).size IS NULL AS gone;
-- part by part, too: it goes when all of it is there
SELECT pg_temp.put('parts.csv', E'7,a\n8,b\nx,c\n9,d');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/parts.csv', '{"commit_every": 1, "columns": ["a", "b"], "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/done"}}');
SELECT a FROM manifest_t WHERE a > 6;
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/parts.csv', '{"commit_every": 1, "columns": ["a", "b"], "on_error": "ignore", "reject_table": "manifest_bad", "log_verbosity": "silent", "after": "delete"}');
SELECT a FROM manifest_t WHERE a > 6;
SELECT (pg_stat_file('/proc/self/cwd/pgbulk_manifest/parts.csv', true)).size IS NULL AS gone;
-- one with bad rows stays unless a reject table has them, which earlier loads may have filled; to move it loses none
SET log_min_messages = error;
SELECT pg_temp.put('bad1', E'10,a\nx,b\n'), pg_temp.put('bad2', E'11,a\nx,b\n12,c\n13,d\ny,e\n'), pg_temp.put('bad3', E'14,a\nx,b\n');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/bad1', '{"columns": ["a", "b"], "on_error": "ignore", "once": false, "log_verbosity": "silent", "after": "delete"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/bad1', '{"columns": ["a", "b"], "on_error": "ignore", "reject_table": "manifest_bad", "log_verbosity": "silent", "after": "delete"}');
SELECT rows_loaded FROM bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/bad2', '{"columns": ["a", "b"], "on_error": "ignore", "once": {"part": 3}, "log_verbosity": "silent"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/bad2', '{"columns": ["a", "b"], "on_error": "ignore", "reject_table": "manifest_bad", "commit_every": 3, "log_verbosity": "silent", "after": "delete"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/bad2', '{"columns": ["a", "b"], "log_verbosity": "silent", "after": "delete"}');
SELECT rows_loaded FROM bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/bad3', '{"columns": ["a", "b"], "on_error": "ignore", "once": true, "reject_table": "manifest_bad", "log_verbosity": "silent"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/bad[23]', '{"columns": ["a", "b"], "log_verbosity": "silent", "after": "delete"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/bad[23]', '{"columns": ["a", "b"], "log_verbosity": "silent", "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/done"}}');
SELECT f FROM unnest(ARRAY['.', 'done']) d, pg_ls_dir('/proc/self/cwd/pgbulk_manifest/' || d) f WHERE f LIKE 'bad_';
SELECT count(*) FROM manifest_bad;
-- bad rows of what led up to the file count: before it grew and got another name, or was mended behind a part
SELECT pg_temp.put('grows1', E'100,a\nx,b\n'), pg_temp.put('grows2', E'200,a\nx,b\n');
SELECT rows_rejected FROM bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/grows1', '{"columns": ["a", "b"], "once": "tail", "on_error": "ignore"}');
SELECT rows_rejected FROM bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/grows2', '{"columns": ["a", "b"], "once": true, "on_error": "ignore"}');
SELECT pg_temp.put('grows1', E'100,a\nx,b\n101,c\n'), pg_temp.put('grows2', E'200,a\nx,b\n201,c\n');
SELECT sum(rows_loaded) FROM unnest(ARRAY['grows1', 'grows2']) f, bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/' || f, '{"columns": ["a", "b"], "once": "tail"}');
COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; cd pgbulk_manifest && mv grows1 grown1 && mv grows2 grown2';
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/grown?', '{"columns": ["a", "b"], "after": "delete"}');
SELECT pg_temp.put('part', E'300,a\nx,b\n301,c\n302,d\n303,e\n');
SELECT rows_rejected FROM bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/part', '{"columns": ["a", "b"], "once": {"part": 2}, "on_error": "ignore"}');
COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; cd pgbulk_manifest && mv part mended';
SELECT rows_loaded FROM bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/mended', '{"columns": ["a", "b"], "once": {"part": 2}}');
SELECT pg_temp.put('mended', E'300,a\nx,b\n301,c\n302,d\n304,e\n');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/mended', '{"columns": ["a", "b"], "commit_every": 2, "after": "delete"}');
-- other files of that name do not
SELECT pg_temp.put('mended', E'400,a\n4,b\n401,c\n402,d\n404,e\n');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/mended', '{"columns": ["a", "b"], "commit_every": 2, "after": "delete"}');
SELECT * FROM pg_ls_dir('/proc/self/cwd/pgbulk_manifest') f WHERE f ~ '^(grow|mended)' ORDER BY f;
-- but not those of what a crash has taken
CREATE UNLOGGED TABLE manifest_u (a int, b text);
SELECT pg_temp.put('lost', E'1,a\nx,b\n2,c\n3,d\n4,e\n');
SELECT rows_loaded FROM bulk_load('manifest_u', '/proc/self/cwd/pgbulk_manifest/lost', '{"once": {"part": 2}, "on_error": "ignore", "log_verbosity": "silent"}');
DELETE FROM bulk_load_unlogged;
SELECT pg_temp.put('lost', E'1,a\nx,b\n2,c\n3,d\n5,e\n');
CALL bulk_load_each('manifest_u', '/proc/self/cwd/pgbulk_manifest/lost', '{"commit_every": 2, "on_error": "ignore", "reject_table": "manifest_lost", "after": "delete", "log_verbosity": "silent"}');
SELECT * FROM pg_ls_dir('/proc/self/cwd/pgbulk_manifest') f WHERE f = 'lost';
DROP TABLE manifest_u, manifest_lost;
DELETE FROM manifest_t WHERE a >= 100;
-- equal files whose path gives their rows other values go when each is loaded, with the bad rows of each
SELECT pg_temp.put('day1', E'60,sixty\nx,bad\n'), pg_temp.put('day2', E'60,sixty\nx,bad\n');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/day*', '{"columns": ["a", "b"], "extra": {"part": "$1"}, "on_error": "ignore", "log_verbosity": "silent"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/day*', '{"columns": ["a", "b"], "extra": {"part": "$1"}, "after": "delete", "log_verbosity": "silent"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/day*', '{"columns": ["a", "b"], "extra": {"part": "$1"}, "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/done"}, "log_verbosity": "silent"}');
SELECT part, (SELECT count(*) FROM pg_ls_dir('/proc/self/cwd/pgbulk_manifest') f WHERE f LIKE 'day_') AS files FROM manifest_t WHERE a = 60 ORDER BY part;
DELETE FROM manifest_t WHERE a = 60;
-- an equal file whose own path is in no row stays, until it is loaded
SELECT pg_temp.put('path1', E'60,sixty\n'), pg_temp.put('path2', E'60,sixty\n');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/path*', '{"columns": ["a", "b"], "extra": {"part": "$file"}, "after": "delete", "log_verbosity": "silent"}');
SELECT rows_loaded FROM bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/path*', '{"columns": ["a", "b"], "extra": {"part": "$file"}, "once": "path"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/path*', '{"columns": ["a", "b"], "extra": {"part": "$file"}, "after": "delete", "log_verbosity": "silent"}');
SELECT part, (SELECT count(*) FROM pg_ls_dir('/proc/self/cwd/pgbulk_manifest') f WHERE f LIKE 'path_') AS files FROM manifest_t WHERE a = 60 ORDER BY part;
DELETE FROM manifest_t WHERE a = 60;
RESET log_min_messages;
-- one stays whose first rows were skipped, unless they are again
SET log_min_messages = error;
SELECT pg_temp.put('skip', E'60,sixty\n61,more\n');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/skip', '{"columns": ["a", "b"], "skip": 1}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/skip', '{"columns": ["a", "b"], "after": "delete", "log_verbosity": "silent"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/skip', '{"columns": ["a", "b"], "skip": 1, "after": "delete", "log_verbosity": "silent"}');
SELECT count(*), (pg_stat_file('/proc/self/cwd/pgbulk_manifest/skip', true)).size IS NULL AS gone FROM manifest_t WHERE a >= 60;
DELETE FROM manifest_t WHERE a >= 60;
RESET log_min_messages;
-- one with rows behind an end-of-copy marker stays, also when it is passed over
SET log_min_messages = error;
SELECT pg_temp.put('marked', E'40\tforty\n\\.\n41\tmore\n');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/marked', '{"format": "text", "columns": ["a", "b"], "after": "delete"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/marked', '{"format": "text", "columns": ["a", "b"], "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/done"}}');
SELECT a FROM manifest_t WHERE a >= 40;
SELECT details -> 'bytes_unread' AS bytes_unread FROM bulk_load('manifest_t', ARRAY['/proc/self/cwd/pgbulk_manifest/marked', '/proc/self/cwd/pgbulk_manifest/marked'], '{"format": "text", "columns": ["a", "b"], "dry_run": true}');
COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; cd pgbulk_manifest && gzip marked';
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/marked.gz', '{"format": "text", "columns": ["a", "b"], "after": "delete"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/marked.gz', '{"format": "text", "columns": ["a", "b"], "after": "delete"}');
-- by the format that it was loaded with, and not by that of the call
SELECT pg_temp.put('marked', E'43\tx\n\\.\n44\ty\n'), pg_temp.put('plain', E'45,"\n\\.\n"\n');
COPY manifest_t (a, b) FROM '/proc/self/cwd/pgbulk_manifest/marked' WITH (once, null 'none');
SELECT rows_loaded FROM bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/plain', '{"columns": ["a", "b"], "once": true}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/marked', '{"columns": ["a", "b"], "after": "delete"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/plain', '{"format": "text", "columns": ["a", "b"], "after": "delete"}');
SELECT f FROM pg_ls_dir('/proc/self/cwd/pgbulk_manifest') f WHERE f IN ('marked', 'plain');
RESET log_min_messages;
SELECT pg_temp.put('marked', E'42\tthe last\n\\.\n');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/marked', '{"format": "text", "columns": ["a", "b"], "after": "delete"}');
SELECT f FROM pg_ls_dir('/proc/self/cwd/pgbulk_manifest') f WHERE f LIKE 'marked%';
-- files of a manifest stay until all are loaded, so that the same call goes on after an error
SELECT pg_temp.put('first.csv', E'50,first\n'), pg_temp.put('second.csv', E'x,second\n'), pg_temp.put('list', '["first.csv", "second.csv", "first.csv"]');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/list', '{"manifest": true, "columns": ["a", "b"], "after": "delete", "once": false}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/list', '{"manifest": true, "columns": ["a", "b"], "after": "delete", "log_verbosity": "silent"}');
SELECT pg_temp.put('second.csv', E'51,second\n');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/list', '{"manifest": true, "columns": ["a", "b"], "after": "delete", "log_verbosity": "silent"}');
SELECT a FROM manifest_t WHERE a >= 50;
SELECT f FROM pg_ls_dir('/proc/self/cwd/pgbulk_manifest') f WHERE f IN ('first.csv', 'second.csv');
-- nor are two of them moved to one place
COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; cd pgbulk_manifest && mkdir -p one other moved && echo 60,one > one/rows.csv && echo 61,other > other/rows.csv && echo 62,third > other/third.csv';
SELECT pg_temp.put('list', '["other/third.csv", "one/rows.csv", "other/rows.csv"]');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/list', '{"manifest": true, "columns": ["a", "b"], "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/moved"}}');
SELECT pg_temp.put('list', '["other/third.csv", "one/rows.csv", "other/third.csv"]');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/list', '{"manifest": true, "columns": ["a", "b"], "log_verbosity": "silent", "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/moved"}}');
SELECT a FROM manifest_t WHERE a >= 60;
SELECT f FROM pg_ls_dir('/proc/self/cwd/pgbulk_manifest/moved') f ORDER BY f;
-- the rows that a manifest says are counted before a commit
SELECT pg_temp.put('m.csv', E'10,ten\n'), pg_temp.put('list', '[{"path": "m.csv", "rows": 1}]');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/list', '{"manifest": true, "commit_every": 1}');
SELECT pg_temp.put('list', '["m.csv"]');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/list', '{"manifest": true, "commit_every": 1, "once": true, "columns": ["a", "b"]}');

-- a folder that the files are in already, by another name of it, too, and by a link
COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; cd pgbulk_manifest && echo 20,twenty > done/stays.csv && ln -s done here';
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/done/stays.csv', '{"columns": ["a", "b"], "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/done"}}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/done/stays.csv', '{"columns": ["a", "b"], "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/here"}}');
COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; cd pgbulk_manifest && echo 21,linked > to.csv && ln -s ../to.csv done/to.csv';
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/to.csv', '{"columns": ["a", "b"], "after": {"move_to": "/proc/self/cwd/pgbulk_manifest/done"}}');
SELECT pg_read_file('/proc/self/cwd/pgbulk_manifest/done/stays.csv'), pg_read_file('/proc/self/cwd/pgbulk_manifest/to.csv'), (SELECT count(*) FROM manifest_t WHERE a IN (20, 21)) AS loaded;
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/to.csv', '{"columns": ["a", "b"], "after": {"move_to": "/proc/self"}}');
-- a part that ends within the header
SELECT pg_temp.put('headers.csv', E'a,b\nof,both\n30,thirty\n31,more\n'), bulk_load_forget('manifest_t');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/headers.csv', '{"columns": ["a", "b"], "header": 2, "commit_every": 1, "log_verbosity": "silent"}');
SELECT a FROM manifest_t WHERE a BETWEEN 30 AND 39 ORDER BY a;

-- a manifest of which another call has removed some files before it ended
SELECT pg_temp.put('left.csv', E'70,left\n'), pg_temp.put('removal', E'gone.csv\nleft.csv');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/removal', '{"manifest": true, "after": "delete"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/removal', '{"manifest": true}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/nothing', '{"manifest": true, "after": "delete"}');
-- misuse
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"once": false, "limit": 1, "after": "delete"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"after": "burn"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"after": {"move_to": "done"}}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"after": {"move_to": "/proc/self/cwd/pgbulk_manifest/2.csv"}}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"truncate": true, "once": false}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"dry_run": true}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"on_error": "ignore", "reject_file": "/proc/self/cwd/pgbulk_manifest/bad"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"after": "delete", "once": "tail"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"after": "delete", "once": "path"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"tail": true}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/nothing*', '{}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/nothing*', '{"after": "delete"}');
CALL bulk_load_each('manifest_t', 'nothing*', '{"after": "delete"}');
BEGIN;
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{}');
ROLLBACK;
SELECT rows_loaded FROM bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"after": "delete"}');
CREATE ROLE regress_manifest;
GRANT pg_read_server_files TO regress_manifest;
GRANT INSERT ON manifest_t TO regress_manifest;
SET ROLE regress_manifest;
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"columns": ["a", "b"], "after": "delete"}');
CALL bulk_load_each('manifest_t', '/proc/self/cwd/pgbulk_manifest/2.csv', '{"columns": ["a", "b"]}');
RESET ROLE;
REVOKE pg_read_server_files FROM regress_manifest;
SET ROLE regress_manifest;
SELECT rows_loaded FROM bulk_load('manifest_t', '/proc/self/cwd/pgbulk_manifest/list', '{"manifest": true}');
RESET ROLE;

COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; rm -r pgbulk_manifest';
SELECT bulk_load_forget('manifest_t') > 0;
DROP TABLE manifest_t, manifest_bad;
DROP FUNCTION manifest_put;
DROP ROLE regress_manifest;
