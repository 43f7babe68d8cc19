--
-- Detection: options delimiter and header set to auto.
--
SET DateStyle = 'ISO, MDY';
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_detect_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
-- Loads lines: the options detected, the rows loaded, or why it fails.
CREATE FUNCTION pg_temp.try(content text, options jsonb DEFAULT '{}', target text DEFAULT 'detect_t', encoding text DEFAULT 'UTF8') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE format('TRUNCATE %s', target);
	RETURN QUERY SELECT format('%s loaded, %s rejected: %s', rows_loaded, rows_rejected, details->'detected')
		FROM bulk_load(target::regclass, pg_temp.put('in', convert_to(content, encoding)), '{"delimiter": "auto", "header": "auto"}' || options);
	RETURN QUERY EXECUTE format('SELECT t::text FROM %s t', target);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN NEXT format(E'ERROR:  %s\nDETAIL:  %s\nHINT:  %s', message, detail, hint);
END $$;
CREATE TABLE detect_t (name text, day date, amount numeric);
CREATE TABLE detect_texts (a text, b text);
CREATE TABLE detect_one (a text);
CREATE TABLE detect_numbers (n int);
\pset format unaligned
\pset tuples_only

-- names of columns, in their order or another one
SELECT pg_temp.try(E'name;day;amount\nx;2024-01-01;1\n');
SELECT pg_temp.try(E'Name\tDAY\tamount\nx\t2024-01-01\t1\n');
SELECT pg_temp.try(E'amount|name|day\n1|x|2024-01-01\n');
SELECT pg_temp.try(E'amount,day\n1,2024-01-01\n', '{"delimiter": ","}');
SELECT pg_temp.try(E'a;b\nx;y\n', '{}', 'detect_texts');
SELECT pg_temp.try(E'name,day,amount\n');
-- other names
SELECT pg_temp.try(E'wer;wann;was\nx;2024-01-01;1\ny;2024-01-02;2\n');
SELECT pg_temp.try(E'wer;wann;was\nx;2024-01-01;1\ny;2024-01-02;2\n', '{"delimiter": ";"}');
-- which may be words for missing values: a NOTICE, once for files that begin alike
SELECT pg_temp.try(E'Smith;soon;many\nx;2024-01-01;1\ny;2024-01-02;2\n', '{"log_verbosity": "silent"}');
SELECT rows_loaded FROM bulk_load('detect_t', ARRAY[pg_temp.put('1', E'wer;wann;was\nx;2024-01-01;1\n'), pg_temp.put('2', E'wer;wann;was\nx;2024-01-01;1\n'), pg_temp.put('3', E'Smith;soon;many\nx;2024-01-01;1\n')], '{"delimiter": ";", "header": "auto"}');
-- none
SELECT pg_temp.try(E'x;2024-01-01;1\ny;2024-01-02;2\n');
SELECT pg_temp.try(E'x;;1\n');
SELECT pg_temp.try('');
SELECT pg_temp.try(E'1\n2\n', '{}', 'detect_numbers');
SELECT pg_temp.try(E'n\n1\n2\n', '{}', 'detect_numbers');
-- one column: nothing in its values is a delimiter
SELECT pg_temp.try(E'a\n12:30 o''clock\n13:30 o''clock\n', '{}', 'detect_one');
SELECT pg_temp.try(E'a\nx, y\nz\n', '{}', 'detect_one');
-- ambiguous files are an error
SELECT pg_temp.try(E'x,y\nz,w\n', '{}', 'detect_texts');
SELECT pg_temp.try(E'x,y\nz,w\n', '{"header": false}', 'detect_texts');
SELECT pg_temp.try(E'x,y\nz,w\n', '{"header": true}', 'detect_texts');
SELECT pg_temp.try(E'b;a;other\nx;2024-01-01;1\ny;2024-01-01;2\n');
SELECT pg_temp.try(E'day;name;other\nx;2024-01-01;1\ny;2024-01-01;2\n');
SELECT pg_temp.try(E'wer;wann;was\nx;31.12.2024;1\ny;30.12.2024;2\n');
SELECT pg_temp.try(E'day,amount\n2024-01-01,1\n', '{"columns": ["amount", "day"]}');
SELECT pg_temp.try(E'a b c\nd e f\n');
SELECT pg_temp.try(E'x,1;2\ny,3;4\n', '{"header": false}', 'detect_texts');
SELECT pg_temp.try(E'x,1;2024-01-01,5;2\ny,3;2024-01-01,4;5\n', '{"header": false}');
SELECT pg_temp.try(E'anzahl\n1\n2\n', '{}', 'detect_numbers');
SELECT pg_temp.try(E'name,2024-01-01,wert\nx,2024-01-01,1\n');
SELECT pg_temp.try(E'unknown,2024-01-01,many\nx,2024-01-01,1\n');
SELECT pg_temp.try(E'Smith,soon,many\n');
-- a row that is bad is a bad row, not a header
SELECT pg_temp.try(E'x,31.12.2024,1\ny,2024-01-01,2\n', '{"on_error": "ignore"}');
SELECT pg_temp.try(E'x,31.12.2024,1\ny,2024-01-01,2\n');
-- with other options
SELECT pg_temp.try(E'name;day;amount\nx;31.12.2024;1,5\n', '{"date_format": {"day": "DD.MM.YYYY"}, "decimal_mark": ","}');
SELECT pg_temp.try(E'day;amount\n2024-01-01;1\n', '{"columns": ["day", "amount"]}');
SELECT pg_temp.try(E'name;day;amount\nx;2024-01-01;1\n', '{"header": "map"}');
SELECT pg_temp.try(E'\\N\t2024-01-01\t1\n', '{"format": "text"}');
SELECT pg_temp.try(E'name;day;amount\nJ\u00f6rg;2024-01-01;1\n', '{"encoding": "WIN1252"}', encoding => 'WIN1252');
SELECT pg_temp.try(E'name;day;amount\nx;2024-01-01;1\n', '{"dry_run": true}');
SELECT rows_loaded, details->'detected' FROM bulk_load('detect_t', pg_temp.put('in', E'name;day;amount\nx;2024-01-01;1\ny;;\n'), '{"delimiter": "Auto", "header": "AUTO", "limit": 1}');

-- several files: the same result, or an error
SELECT rows_loaded, details->'detected' FROM bulk_load('detect_t', ARRAY[pg_temp.put('1', ''), pg_temp.put('2', E'name;day;amount\nx;2024-01-01;1\n'), pg_temp.put('3', E'name;day;amount\ny;2024-01-01;2\n')], '{"delimiter": "auto", "header": "auto"}');
SELECT rows_loaded FROM bulk_load('detect_t', ARRAY[pg_temp.put('2', E'name;day;amount\nx;2024-01-01;1\n'), pg_temp.put('3', E'y;2024-01-01;2\n')], '{"delimiter": "auto", "header": "auto"}');
SELECT rows_loaded FROM bulk_load('detect_t', ARRAY[pg_temp.put('2', E'x;2024-01-01;1\n'), pg_temp.put('3', E'y,2024-01-01,2\n')], '{"delimiter": "auto"}');

-- input that can be read only once, other formats, rows that are not lines of a file
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_detect_gone; mkfifo pgbulk_detect_pipe';
SELECT rows_loaded FROM bulk_load('detect_t', '/proc/self/cwd/pgbulk_detect_pipe', '{"header": "auto"}');
SELECT rows_loaded FROM bulk_load('detect_t', 'stdin', '{"header": "auto"}');
SELECT rows_loaded FROM bulk_load('detect_t', '/nowhere', '{"header": "auto", "format": "fixed", "fields": [{"name": "name", "length": 1}]}');
SELECT rows_loaded FROM bulk_load('detect_t', '/nowhere', '{"header": "auto", "format": "binary"}');
SELECT rows_loaded FROM bulk_load('detect_t', '/nowhere', '{"delimiter": "auto", "format": "fixed", "fields": [{"name": "name", "length": 1}]}');
SELECT rows_loaded FROM bulk_load_query('detect_t', 'SELECT 1', '{"header": "auto"}');
SELECT rows_loaded FROM bulk_load_query('detect_t', 'SELECT 1', '{"delimiter": "auto"}');
SELECT rows_loaded FROM bulk_load('detect_t', pg_temp.put('in', E'x;31.12.2024;1\ny;2024-01-01;2\n'), '{"delimiter": "auto", "header": "auto", "on_error": "ignore", "reject_table": "detect_rejects", "log_verbosity": "silent"}');
SELECT rows_loaded FROM bulk_load_retry('detect_t', 'detect_rejects', (SELECT load_id FROM detect_rejects), '{"delimiter": "auto"}');
-- bulk_inspect detects these as usual
SELECT delimiter, header_lines FROM bulk_inspect(pg_temp.put('in', E'x;y\n1;2\n'), '{"delimiter": "auto", "header": "auto"}');

DROP TABLE detect_t, detect_texts, detect_one, detect_numbers, detect_rejects;
\pset tuples_only
\pset format aligned
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_detect_gone; rm -f pgbulk_detect_*';
