--
-- Options are suggested only where their result is plausible; several problems get one HINT.
--
SET DateStyle = 'ISO, MDY';
-- Loads lines, and the options that a HINT names, or why it fails.
CREATE FUNCTION pg_temp.try(content text, options jsonb DEFAULT '{}', target text DEFAULT 'remedies_t', encoding text DEFAULT 'UTF8') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_remedies_in';
	object oid := lo_from_bytea(0, convert_to(content, encoding));
	result text;
	message text;
	hint text;
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	SELECT format('%s loaded, %s rejected', rows_loaded, rows_rejected) INTO result
		FROM bulk_load(target::regclass, path, '{"on_error": "ignore"}' || options);
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN format(E'ERROR:  %s\nHINT:  %s', message, hint);
END $$;
CREATE TABLE remedies_t (name text, day date, amount numeric);
CREATE TABLE remedies_texts (a text, b text, c text);
\pset format unaligned
\pset tuples_only

-- names in a header: another delimiter, in other case, not those of columns
SELECT pg_temp.try(E'Name;Day;Amount\nx;01.02.2024;1,50\ny;31.12.2024;2,25\n', '{"header": "map"}');
SELECT pg_temp.try(E'name\tday\n', '{"header": "map", "on_error": "stop"}');
SELECT pg_temp.try(E'name;day;amount\nx;2024-02-01;1,50\n', '{"header": "match"}');
SELECT pg_temp.try(E'Name,DAY,amount\nx,2024-01-01,1.50\n', '{"header": "map"}');
SELECT pg_temp.try(E'Nom;Jour;Montant\nx;01.02.2024;1,50\n', '{"header": "map"}');
SELECT pg_temp.try(E'Nom,Jour,Montant\nx,01.02.2024,1\n', '{"header": "map"}');
SELECT pg_temp.try(E'Nom;Jour;Montant\nx;01.02.2024;1,50\n', '{"header": "map", "extra_columns": "ignore"}');
SELECT pg_temp.try(E'name;note;day;place\nx;1;2024-02-01;1\n', '{"header": "map"}');
SELECT pg_temp.try(E'name,note,day,place\nx,1,2024-02-01,1\n', '{"header": "map"}');
SELECT pg_temp.try(E'name,,day\nx,1,2024-02-01\n', '{"header": "map"}');
SELECT pg_temp.try(E'\n', '{"header": "map"}');
-- a name that may mean more than one column, or field, does not count
CREATE TABLE remedies_cases ("Name" text, name text, other int);
SELECT pg_temp.try(E'Name,name\nx,y\n', '{"header": "map"}', 'remedies_cases');
SELECT pg_temp.try(E'NAME,other\nx,1\n', '{"header": "map"}', 'remedies_cases');
SELECT pg_temp.try(E'OTHER,Other\n1,2\n', '{"header": "map"}', 'remedies_cases');
SELECT pg_temp.try(E'OTHER,other\n1,2\n', '{"header": "map", "extra_columns": "ignore"}', 'remedies_cases');
SELECT * FROM remedies_cases ORDER BY other;

-- a header without the option, together with other problems
SELECT pg_temp.try(E'Name;Day;Amount\nx;01.02.2024;1,50\ny;31.12.2024;2,25\n');
SELECT pg_temp.try(E'Name;Day;Amount\nx;01.02.2024;1,50\ny;31.12.2024;2,25\n', '{"header": true, "delimiter": ";", "date_format": {"day": "DD.MM.YYYY"}, "decimal_mark": ","}');
SELECT pg_temp.try(E'Name\tDay\tAmount\nJ\u00f6rg\t31.12.2024\t1.234,50\n\u00d6l\t30.12.2024\t1,25\n', encoding => 'WIN1252');
SELECT pg_temp.try(E'name,day,amount\nx,2024-01-01,1\n');
SELECT pg_temp.try(E'Nom,Jour,Prix\nx,2024-01-01,1\n');
SELECT pg_temp.try(E'Amount;Name;Day\n1,50;x;01.02.2024\n2,25;y;31.12.2024\n');
-- the first line is a row
SELECT pg_temp.try(E'x,nothing,1\ny,2024-01-01,1\n');

-- never whole lines in one column, nor rows of NULLs, nor all lines as comments
SELECT pg_temp.try(E'x;01.02.2024;1\ny;31.12.2024;2\n', '{}', 'remedies_texts');
SELECT pg_temp.try(E'a;b;c\nx;01.02.2024;1\ny;31.12.2024;2\n', '{}', 'remedies_texts');
SELECT pg_temp.try(E'x;01.02.2024\ny;31.12.2024\n', '{}', 'remedies_texts');
SELECT pg_temp.try(E'"x;y;z"\n"x;y;z"\n', '{}', 'remedies_texts');
SELECT pg_temp.try(E'\n\n\n', '{}', 'remedies_texts');
SELECT pg_temp.try(E'x,y\n\n\n', '{}', 'remedies_texts');
SELECT pg_temp.try(E'#1;a;b\n#2;c;d\n', '{}', 'remedies_texts');
SELECT pg_temp.try(E'# 1\n# 2\n', '{}', 'remedies_texts');
SELECT pg_temp.try(E'{"duck": 1}\n{"duck": 2, "b": 3}\n', '{}', 'remedies_texts');

-- a few rows do not decide for the others
SELECT pg_temp.try(E'k,l,m\nn,o,p\nSmith; John;the best,g\n', '{}', 'remedies_texts');
SELECT pg_temp.try(E'k,l,m\nn,o,p\nSmith,John,the best,g\n', '{}', 'remedies_texts');
SELECT pg_temp.try(E'x,2024-01-01,1\nNA,2024-01-01,2\ny,NA,3\n');
SELECT pg_temp.try(E'x,2024-05-06,1\ny,2024-06-07,2\nz,2024-31-12,3\n');

-- ambiguous dates have the same order as others of their rows
CREATE TABLE remedies_dates (a date, b date, c timestamp, d date);
SELECT pg_temp.try(E'01/02/2024,31/12/2024,03/04/2024 10:00,2024-05-06\n02/03/2024,30/12/2024,,\n', '{}', 'remedies_dates');

-- a comma before three digits may separate thousands
SELECT pg_temp.try(E'x,2024-01-01,"1,500"\ny,2024-01-01,"2,000"\n');
SELECT pg_temp.try(E'x,2024-01-01,"1,5"\ny,2024-01-01,"2,000"\n');

-- one column: nulls here and there, but not all of them
CREATE TABLE remedies_one (n int);
SELECT pg_temp.try(E'1\nN/A\n2\n', '{}', 'remedies_one');
SELECT pg_temp.try(E'N/A\n-\n', '{}', 'remedies_one');

-- thousands separators, where they cannot be anything else
CREATE TABLE remedies_numbers (a int, b numeric, c float8);
SELECT pg_temp.try(E'"1,566,216","1,566,216.50",1\n"1,566","2.5",2\n', '{}', 'remedies_numbers');
SELECT pg_temp.try(E'1.566.216;1.566.216,50;1,5\n1.566;2,5;2\n', '{}', 'remedies_numbers');
SELECT pg_temp.try(E'1 566 216;1 566 216,50;1,5\n', '{}', 'remedies_numbers');
SELECT pg_temp.try(E'1''566''216;1;1\n1''566;2;2\n', '{"delimiter": ";"}', 'remedies_numbers');
SELECT pg_temp.try(E'1;1,500;1\n', '{"delimiter": ";"}', 'remedies_numbers');
SELECT pg_temp.try(E'1.500;1;1\n', '{"delimiter": ";"}', 'remedies_numbers');
SELECT pg_temp.try(E'1,56,216;1;1\n', '{"delimiter": ";"}', 'remedies_numbers');

-- the same where the first bad row ends the load
SET DateStyle = 'ISO, MDY';
SELECT pg_temp.try(content, '{"on_error": "stop"}') FROM unnest(ARRAY[
	E'x;01.02.2024;1,50\ny;31.12.2024;2,25\n',
	E'Name;Day;Amount\nx;01.02.2024;1,50\ny;31.12.2024;2,25\n',
	E'name,day,amount\nx,2024-01-01,1\n',
	E'Amount,Name,Day\n1,x,2024-01-01\n',
	E'x,2024-01-01,1\ny,31.12.2024,1\nz,30.12.2024,1\n',
	E'x,2024-01-01,1\ny,NA,1\n',
	E'x,2024-01-01,1\ny,,1,5\n',
	E'x,2024-01-01,1\ny,,"1,566,216"\n',
	E'x,2024-01-01,1\r\ny,,1\n',
	E'x,2024-01-01,1\ny "z,,1\n',
	E'x,2024-01-01,1\ny,nothing,1\n']) content;
SELECT pg_temp.try(E'J\u00f6rg,2024-01-01,1\n', '{"on_error": "stop", "encoding": "UTF8"}', encoding => 'WIN1252');
SELECT pg_temp.try(E'x,2024-01-01,1\nJ\u00f6rg,2024-01-01,1\n', '{"invalid_bytes": "error", "encoding": "UTF8"}', encoding => 'WIN1252');
-- a character that no text can contain is not the encoding's fault
CREATE TABLE remedies_json (a jsonb, b int);
SELECT pg_temp.try(E'{"a": "\\u0000"};1\n', '{"on_error": "stop", "delimiter": ";", "quote": "|"}', 'remedies_json');
DROP TABLE remedies_json;
-- no HINT in formats that are not supported, and no existing HINT is replaced
CREATE FUNCTION remedies_check(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
	RAISE 'not this one' USING ERRCODE = '22000', HINT = 'Take another.'; END $$;
CREATE DOMAIN remedies_domain AS text CHECK (remedies_check(VALUE));
CREATE TABLE remedies_checked (a remedies_domain, b int);
SELECT pg_temp.try(E'x,1\n', '{"on_error": "stop"}', 'remedies_checked');
-- where user and settings are not those of the caller nothing is tried
CREATE OR REPLACE FUNCTION remedies_check(text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET work_mem = '1MB' AS $$ BEGIN
	RAISE 'not this one' USING ERRCODE = '22000'; END $$;
SELECT pg_temp.try(E'NA,1\n', '{"on_error": "stop"}', 'remedies_checked');
DROP TABLE remedies_checked;
DROP DOMAIN remedies_domain;
DROP FUNCTION remedies_check(text);

-- keys: of the table or of one that a trigger writes to, and where on_duplicate cannot be used
CREATE TABLE remedies_keys (id int PRIMARY KEY, t text);
SELECT pg_temp.try(E'1,a\n1,b\n', '{"on_error": "stop"}', 'remedies_keys');
SELECT pg_temp.try(E'1,a\n1,b\n', '{"on_error": "stop", "writer": "buffered"}', 'remedies_keys');
SELECT pg_temp.try(E'1,a\n1,b\n', '{"on_error": "stop", "writer": "direct", "indexes": "rebuild"}', 'remedies_keys');
CREATE TABLE remedies_log (t text PRIMARY KEY);
CREATE FUNCTION remedies_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO remedies_log VALUES ('x'); RETURN NEW; END $$;
CREATE TRIGGER log AFTER INSERT ON remedies_keys FOR EACH ROW EXECUTE FUNCTION remedies_log();
SELECT pg_temp.try(E'1,a\n2,b\n', '{"on_error": "stop"}', 'remedies_keys');
DROP TABLE remedies_keys, remedies_log;
DROP FUNCTION remedies_log();
CREATE TABLE remedies_keys (id int PRIMARY KEY, t text UNIQUE DEFERRABLE);
SELECT pg_temp.try(E'1,a\n1,b\n', '{"on_error": "stop"}', 'remedies_keys');

-- a header loaded as a row is reported, once
SELECT pg_temp.try(E'A,"b",C\nx,y,z\n', '{"log_verbosity": "default"}', 'remedies_texts');
SELECT pg_temp.try(E'a,c,b\nx,y,z\n', '{}', 'remedies_texts');
SELECT pg_temp.try(E'a,b,c\nx,y,z\n', '{"header": true}', 'remedies_texts');
SELECT pg_temp.try(E'a,b,c\nx,y,z\n', '{"log_verbosity": "silent"}', 'remedies_texts');
SELECT rows_loaded FROM bulk_load('remedies_texts', ARRAY['/proc/self/cwd/pgbulk_remedies_in', '/proc/self/cwd/pgbulk_remedies_in']);

-- NOTICEs of an input function are sent once, by the load
CREATE TABLE remedies_queries (q tsquery, n int);
SELECT pg_temp.try(E'" ",1\n" ",x\n', '{"on_error": "stop"}', 'remedies_queries');
DROP TABLE remedies_queries;

DROP TABLE remedies_t, remedies_texts, remedies_cases, remedies_one, remedies_dates, remedies_numbers, remedies_keys;
\pset tuples_only
\pset format aligned
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_remedies_gone; rm -f pgbulk_remedies_*';
