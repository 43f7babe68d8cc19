--
-- Parallel workers that go from file to file: the result of one process.
--
SET pgbulk.chunk_size = 4096;
SET statement_timeout = '60s';
SET client_min_messages = warning;
\pset format unaligned
\pset tuples_only on

-- Thirty files of a hundred rows, none of which is worth a worker; those that
-- are listed have another first line, or another end of each line.
CREATE FUNCTION pg_temp.write(header text, odd int[] DEFAULT '{}', odd_header text DEFAULT '', eol text DEFAULT E'\n') RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	object oid;
	head text;
	tail text;
BEGIN
	FOR file IN 1 .. 30 LOOP
		head := CASE WHEN file = ANY (odd) THEN odd_header ELSE header END;
		tail := CASE WHEN file = ANY (odd) THEN eol ELSE E'\n' END;
		object := lo_from_bytea(0, convert_to(head || CASE WHEN head = '' THEN '' ELSE tail END ||
			(SELECT string_agg(i || ',' || CASE WHEN i % 70 = 0 THEN E'"\n\n",many' WHEN i % 25 = 0 THEN 'bad' ELSE i % 40 || '' END || ',' || repeat('x', i % 60) || tail, '' ORDER BY i)
				FROM generate_series(file * 100 - 99, file * 100) i), 'UTF8'));
		PERFORM lo_export(object, format('/proc/self/cwd/pgbulk_part_%s', to_char(file, 'fm00'))), lo_unlink(object);
	END LOOP;
END $$;
CREATE FUNCTION pg_temp.write_one(file int, content text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, format('/proc/self/cwd/pgbulk_part_%s', to_char(file, 'fm00'))), lo_unlink(object);
END $$;

-- The messages and result of a load, by the direct writer alone and with workers.
CREATE TABLE part_t (a int, b int, c text);
CREATE FUNCTION pg_temp.load(options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	one text;
	many text;
	context text;
	workers int;
	r record;
BEGIN
	FOR n IN 0 .. 2 LOOP
		workers := n;
		TRUNCATE part_t;
		DROP TABLE IF EXISTS part_rejects;
		BEGIN
			SELECT * INTO r FROM bulk_load('part_t', '/proc/self/cwd/pgbulk_part_*', options || jsonb_build_object('workers', n, 'writer', 'direct', 'log_verbosity', 'silent'));
			workers := r.workers;
			many := format('%s read, %s loaded, %s rejected, %s bytes; ', r.rows_read, r.rows_loaded, r.rows_rejected, r.bytes_read) ||
				(SELECT format('sum %s, %s, %s', sum(a), CASE WHEN bool_and(ordered) THEN 'in order' ELSE 'in disorder' END, md5(string_agg(row, ' ' ORDER BY ctid)))
					FROM (SELECT *, part_t.ctid, part_t::text AS row, a > lag(a, 1, 0) OVER (ORDER BY ctid) AS ordered FROM part_t) x);
			IF to_regclass('part_rejects') IS NOT NULL THEN
				EXECUTE $q$ SELECT format('; rejects %s, in %s files, first %s, last %s, %s', count(*), count(DISTINCT file), (array_agg(place ORDER BY ctid))[1], (array_agg(place ORDER BY ctid))[count(*)],
					md5(string_agg(row, ' ' ORDER BY ctid)))
					FROM (SELECT ctid, file, format('%s:%s %s', right(file, 2), line_number, raw_line) AS place, concat_ws(' ', file, line_number, byte_offset, reason, message, raw_line) AS row FROM part_rejects) x $q$ INTO context;
				many := many || context;
			END IF;
		EXCEPTION WHEN others THEN
			GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
			many := SQLSTATE || ' ' || SQLERRM || ' ' || substring(context, E'part_[^:\n]*:?');
		END;
		one := coalesce(one, many);
		IF one IS DISTINCT FROM many THEN
			RETURN NEXT 'with workers: ' || many;
		ELSIF workers < n THEN
			RETURN NEXT 'workers: ' || workers || coalesce(', ' || (r.details ->> 'no_workers'), '');
		END IF;
	END LOOP;
	RETURN NEXT regexp_replace(one, '[0-9a-f]{32}', '', 'g');
END $$;

-- all alike: bad rows of all files, an error, a limit
SELECT pg_temp.write('');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects"}');
SELECT pg_temp.load('{}');
SELECT pg_temp.load('{"on_error": "ignore", "limit": 1730}');
SELECT pg_temp.load('{"on_error": "ignore", "reject_limit": 60}');

-- some differ: their line ends, a byte order mark, an empty one, an end marker, one without a last line end
SELECT pg_temp.write('', '{7, 8, 20}', '', E'\r\n');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects"}');
SELECT pg_temp.write('', '{1, 9, 23}', E'\ufeff1,1,mark');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects"}');
SELECT pg_temp.write(''), pg_temp.write_one(4, ''), pg_temp.write_one(5, E'\n'), pg_temp.write_one(6, '600,1,end'), pg_temp.write_one(30, '');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects"}');
SELECT pg_temp.write_one(17, E'1700,1,"never closed\n1701,2,x\n');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects"}');
SELECT pg_temp.write_one(3, E'300\t1\tx\n301\t2\ty\n\\.\nnot read\n');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "format": "text"}');

-- comments, as a file's last words and around a header
SELECT pg_temp.write(''), pg_temp.write_one(2, E'200,1,x\n# the last'), pg_temp.write_one(3, '#'), pg_temp.write_one(4, '# 1'), pg_temp.write_one(5, E'500,1,"\n# no"\n#');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "comment": "# "}');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "comment": "#"}');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "comment": "#", "format": "fixed", "fields": [{"length": 3}, {"length": 2}, {"length": 2}], "extra_columns": "ignore"}');
SELECT pg_temp.write('a,b,c'), pg_temp.write_one(1, E'# made\n# by\na,b,c\n# someone\n1,1,x\n2,bad,y\n');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "comment": "#", "header": "match"}');

-- headers: of the same bytes, of the same names in another order, wrong ones
SELECT pg_temp.write('a,b,c');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "header": true}');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "header": "match"}');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "header": "map"}');
SELECT pg_temp.write('a,b,c', '{12}', 'a,c,b');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "header": "map"}');
SELECT pg_temp.load('{"on_error": "ignore", "header": "match"}');
SELECT pg_temp.write('a,b,c', '{12, 13}', E'\ufeffa,b,c', E'\r\n');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "header": "map"}');
SELECT pg_temp.write_one(2, ''), pg_temp.write_one(3, 'a,b,c'), pg_temp.write_one(4, E'a,b,c\n');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "header": true}');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "header": "map"}');
SELECT pg_temp.write(E'two lines\nof whatever');
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "header": 2}');

-- rows that turn out to be bad at the end are read again, whichever process has read them first
CREATE TABLE part_b (b int PRIMARY KEY);
INSERT INTO part_b SELECT generate_series(1, 39);
TRUNCATE part_t;
ALTER TABLE part_t ADD FOREIGN KEY (b) REFERENCES part_b;
SELECT pg_temp.load('{"on_error": "ignore", "reject_table": "part_rejects", "header": 2}');
DROP TABLE part_t, part_rejects, part_b;
RESET pgbulk.chunk_size;
RESET statement_timeout;
RESET client_min_messages;
