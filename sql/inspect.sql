--
-- bulk_inspect: the format of a file, what its columns contain, and statements that load it.
--
SET DateStyle = 'ISO, MDY';
SET client_min_messages = warning;

-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_inspect_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result for a file, and what its statements load.
CREATE FUNCTION pg_temp.look_at(content bytea, options jsonb DEFAULT NULL, show int DEFAULT 3) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	v record;
	r record;
BEGIN
	SELECT * INTO v FROM bulk_inspect(pg_temp.put('in', content), '{"table": "inspected"}' || coalesce(options, '{}'));
	RETURN NEXT format('%s, delimiter %s, quote %s, escape %s, %s lines of header %s, %s%s, %s, ends %s, %s rows%s', v.format, to_json(v.delimiter), v.quote, v.escape,
		v.header_lines, CASE WHEN v.header THEN 'with names' ELSE 'without' END, v.encoding, CASE WHEN v.byte_order_mark THEN ' with mark' END, v.compression,
		coalesce(v.newline, 'unknown'), v.rows_sampled, CASE WHEN NOT v.complete THEN ' of more' END);
	RETURN NEXT v.load_options;
	RETURN QUERY SELECT format('  %s %s, null %s%s', c ->> 'name', c ->> 'type', c ->> 'null_share', ', as ' || (c ->> 'date_format')) FROM jsonb_array_elements(v.columns) c;
	RETURN QUERY SELECT '  note: ' || n FROM unnest(v.notes) n;
	IF v.bulk_load IS NULL THEN
		RETURN;
	END IF;
	EXECUTE v.create_table;
	EXECUTE v.bulk_load INTO r;
	RETURN NEXT format('loaded %s, rejected %s', r.rows_loaded, r.rows_rejected);
	RETURN QUERY EXECUTE format('SELECT i::text FROM inspected i LIMIT %s', show);
	DROP TABLE inspected;
END $$;
CREATE FUNCTION pg_temp.look(content text, options jsonb DEFAULT NULL, show int DEFAULT 3) RETURNS SETOF text LANGUAGE sql
	AS $$ SELECT pg_temp.look_at(convert_to(content, 'UTF8'), options, show) $$;
\pset format unaligned
\pset tuples_only

-- the row as it is
SELECT pg_temp.put('votes.2024.csv', E'username,link,score\nann,https://example.org/,3\n"bob, jr",,\n') IS NULL;
\x
SELECT * FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_votes.2024.csv');
\x

-- delimiters
SELECT pg_temp.look(E'a;b;c\n1;x,y;2\n3;z;4\n');
SELECT pg_temp.look(E'a\tb\n1\tx y\n2\tz\n');
SELECT pg_temp.look(E'a|b\n1|x\n2|y\n');
SELECT pg_temp.look(E'name:uid:shell\nroot:0:/bin/sh\nann:1000:/bin/bash\n');
SELECT pg_temp.look(E'a b c\n1 2 x\n3 4 y\n');
SELECT pg_temp.look(E'id||name||age\n1||ed||36\n2||leigh||7\n');
SELECT pg_temp.look(E'1\x01x\n2\x01y\n');
-- beyond ASCII only in the encoding of the database
SELECT pg_temp.look(E'id|§name|§x\n1|§x|§z\n2|§y|§w\n');
SELECT pg_temp.look(E'id|§name|§x\n1|§x|§z\n2|§y|§w\n', '{"encoding": "LATIN1"}');
SELECT pg_temp.look(E'x\n1\n2\n');

-- quotes and escapes
SELECT pg_temp.look(E'a,b\n1,"x, ""y"""\n2,"line\nbreak"\n');
SELECT pg_temp.look(E'a,b\n1,"x \\"y\\", z"\n2,"\\"q\\""\n');
SELECT pg_temp.look(E'a,b\n1,\'x, y\'\n2,\'z\'\n');
SELECT pg_temp.look(E'disk\tsize\nold\t3.5" floppy\nnew\t5" x 7"\nodd\t"\n');
SELECT pg_temp.look(E'a, b, c\n1, "x, y", 2\n2, "z", 3\n');

-- COPY's text format
SELECT pg_temp.look(E'1\tx\\ty\t\\N\n2\t\\N\t3.5\n');
SELECT pg_temp.look(E'1\t\t\\N\n2\tx\\\\\t3.5\n\\N\t\t\n');

-- line ends, empty lines, comments, titles
SELECT pg_temp.look(E'a,b\r\n1,x\r\n2,y\r\n');
SELECT pg_temp.look(E'a,b\r1,x\r2,y\r');
SELECT pg_temp.look(E'a,b\r\n1,x\n2,y\r\n3,z\n');
SELECT pg_temp.look(E'a,b\n1,x\n\n2,y\n');
SELECT pg_temp.look(E'# it\'s made by hand\na,b\n1,x\n# "more\n2,y\n');
SELECT pg_temp.look(E'#id,name\n1,x\n2,y\n');
SELECT pg_temp.look(E'Report of May\n\nid,name,n\n1,x,2\n2,y,3\n');
SELECT pg_temp.look(E'Report of May,,\nid,name,n\n1,x,2\n2,y,3\n');

-- headers: names become identifiers, those that are missing or come twice get numbers
SELECT pg_temp.look(E'Name,Order No.,select,name,name,,ctid\nx,1,2,3,4,5,6\ny,2,3,4,5,6,7\n');
SELECT pg_temp.look(E'1,x\n2,y\n3,z\n');
SELECT pg_temp.look(E'ann,red\nbob,green\nann,blue\n');
SELECT pg_temp.look(E'city,2019,2020\nParis,1.5,2.5\nLondon,2.25,3\n');
SELECT pg_temp.look(E'mpg cyl\nMazda 21.5 6\nDatsun 22 4\n');
SELECT pg_temp.look(format(E'%s,%s\n1,2\n', repeat('long name ', 10), repeat('long name ', 10)));

-- types
SELECT pg_temp.look(E'b,i,l,n,f,u,a,j,t\ntrue,1,3000000000,1.5,1e6,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,10.0.0.1,"{""k"": [1]}",10:30\nfalse,-2,-1,20,.5,A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A12,::1/64,[],23:59:59.5\n');
SELECT pg_temp.look(E'zip,phone,big,tiny,version\n01234,+491234567,12345678901234567890,0.000123,1.2.3\n00501,+331234567,1,1,2.0\n');
SELECT pg_temp.look(E'x,y,z,json,day\n1,true,2024-01-01,{},2023-02-29\nx,2,12:00,{a},2024-02-29\n');
SELECT pg_temp.look(E'f,g\nNaN,NaN\n1.5,Infinity\n');
SELECT pg_temp.look(E'a,b\n,\n,\n');

-- dates
SELECT pg_temp.look(E'd,t,z,m\n2024-05-01,2024-05-01 10:00,2024-05-01T10:00:00Z,2024-05-01T10:00:00+02\n2024/06/01,2024-06-01 11:30:15.5,2024-06-01 10:00:00+05:30,2024-06-01 10:00\n');
SELECT pg_temp.look(E'd;m;y;n;l;u\n31/12/2024;12/31/24;1.2.2024;14-Mar-14;March 5, 2024;5/1/2024 10:30 PM\n01/02/2024;01/02/24;15.2.2024;1-May-15;May 12, 2024;5/31/2024 1:05 AM\n');
SELECT pg_temp.look(E'd\n01/02/2024\n03/04/2024\n');
SET DateStyle = 'ISO, DMY';
SELECT pg_temp.look(E'd\n01/02/2024\n03/04/2024\n');
SET DateStyle = 'ISO, MDY';
SELECT pg_temp.look(E'd,e\n01/02/2024,25/12/2024\n03/04/2024,01/01/2025\n');
SELECT pg_temp.look(E'd,e\n30/02/2024,2024-2-9\n01/01/2024,2024/12/31\n');

-- numbers in other notations
SELECT pg_temp.look(E'what;price\na;1,5\nb;12\nc;1234,75\n');
SELECT pg_temp.look(E'what,price\na,"1,500"\nb,"12,000"\n');

-- null markers; blanks
SELECT pg_temp.look(E'n,t\n1,x\nNA,y\n3,NA\n,""\n');
SELECT pg_temp.look(E'n,t\n1,none\n2,some\n');
SELECT pg_temp.look(E'n,t\n"1",\\N\n"",NULL\n"3",x\n');
SELECT pg_temp.look(E'n|t\n 1|a \n  | b\n3 |c\n');
-- none that a load refuses beside the comment, the delimiter or the quote
SELECT pg_temp.look(E'# exported\nid,amount\n1,10\n2,#N/A\n3,30\n');
SELECT pg_temp.look(E'-- exported\nid,amount\n1,10\n2,-\n3,30\n', '{"comment": "--"}');
SELECT pg_temp.look(E'id/amount\n1/10\n2/"N/A"\n3/30\n', '{"delimiter": "/"}');
-- all columns lose a type at once
COPY (SELECT repeat('1.5e1,', 1599) || '1.5e1' FROM generate_series(1, 300) UNION ALL SELECT repeat('9e999,', 1599) || '9e999') TO PROGRAM 'cat > pgbulk_inspect_wide';
SET statement_timeout = '1min';
SELECT c ->> 'type', count(*) FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_wide'), jsonb_array_elements(columns) c GROUP BY 1;
RESET statement_timeout;
-- an example is cut between letters
SELECT pg_temp.put('letters', convert_to(E'x,y\na' || repeat('я', 40) || E',b\n', 'UTF8')) IS NULL;
SELECT columns -> 0 ->> 'example' FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_letters');
SELECT pg_temp.put('letters', convert_to(E'x,y\na' || repeat('字', 40) || E',b\n', 'SJIS')) IS NULL;
SELECT columns -> 0 ->> 'example' FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_letters', '{"encoding": "SJIS"}');

-- rows of different lengths
SELECT pg_temp.look(E'a,b,c\n1,2,3\n4,5\n6,7,8,9\n');
SELECT pg_temp.look((SELECT E'a,b\n' || string_agg(i || CASE WHEN i = 77 THEN ',x,y' ELSE ',x' END, E'\n') FROM generate_series(1, 500) i), show => 1);
SELECT pg_temp.look(E'a,b\n1,"x, y"\n2,"x, z"\n3,"z\n4,"w, v"\n5,"v, u"\n6,"u"\n7,"t"\n', show => 9);

SELECT pg_temp.look(E'5\n1,2\n3,4\n');
SELECT pg_temp.look(E'x,,\n1,2,3\n4,5,6\n');

-- encodings
SELECT pg_temp.look_at('\xefbbbf' || convert_to(E'a,b\n1,é\n', 'UTF8'));
SELECT pg_temp.look_at(convert_to(E'a,b\n1,café\n2,naïve\n', 'LATIN1'));
SELECT pg_temp.look_at(convert_to(E'a,b\n1,“café” €\n', 'WIN1252'));
SELECT pg_temp.look_at(convert_to(E'номер,имя\n1,Анна Ивановна\n2,Борис Николаевич\n', 'WIN1251'));
SELECT pg_temp.look_at(convert_to(E'номер,имя\n1,Анна Ивановна\n2,Борис Николаевич\n', 'KOI8R'));
SELECT pg_temp.look_at(convert_to(E'番号,名前\n1,ひらがなとカタカナ\n2,日本語の名前です\n', 'EUC_JP'));
SELECT pg_temp.look_at(convert_to(E'番号,名前\n1,ひらがなとカタカナ\n2,日本語の名前です\n', 'SJIS'));
SELECT pg_temp.look_at(convert_to(E'编号,姓名\n1,这是中文的文本\n2,我们的数据\n', 'GBK'));
SELECT pg_temp.look_at('\xfffe61002c0062000a0031002c00e9000a00');
SELECT pg_temp.look_at('\x0061002c0062000a0031002c0032000a0033002c0034000a');
SELECT pg_temp.look_at('\x0061002c0062000a0031002c0032000a', '{"encoding": "UTF16BE"}');
SELECT pg_temp.look_at('\xfeff0061002c0062000a0031002c00e9000a', '{"encoding": "UTF8"}');
SELECT pg_temp.look_at('\xfeff0061002c0062000a0031002c00e9000a', '{"encoding": "UTF16"}');
SELECT pg_temp.look_at('\x612c620a312ce90a322c780a', '{"encoding": "UTF8"}');
SELECT pg_temp.look_at('\x612c620a312c780a322c7900790a332c7a0a');

-- compressed
SELECT pg_temp.look_at('\x1f8b08000000000002ffcb4cb12ecf48cde332b436323032d13530d53530e4328272cc401c002c9f26fd22000000');
-- small on disk, and read as far as others
COPY (SELECT CASE WHEN i < 500000 THEN '1' ELSE 'x' END FROM generate_series(1, 500000) i) TO PROGRAM 'gzip > pgbulk_inspect_ones.gz';
SELECT compression, bytes_sampled, complete, create_table FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_ones.gz', '{"table": "ones"}');
COPY (SELECT '{"a": [' || string_agg('1', ', ') || ']}' FROM generate_series(1, 30000) i) TO PROGRAM 'gzip > pgbulk_inspect_object.gz';
SELECT complete, create_table FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_object.gz', '{"table": "object"}');
COPY (SELECT i % 2 FROM generate_series(1, 1500000) i) TO PROGRAM 'gzip > pgbulk_inspect_long1.gz';
SELECT bytes_sampled, complete FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_long1.gz');
COPY (SELECT CASE WHEN i < 50000 THEN '1' ELSE 'x' END FROM generate_series(1, 50000) i) TO PROGRAM 'gzip > pgbulk_inspect_long2.gz';
SELECT bytes_sampled, complete, create_table FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_long?.gz', '{"table": "long"}');

-- empty files
SELECT pg_temp.look('');
SELECT pg_temp.look(E'\n\n');
SELECT pg_temp.look(E'a,b,c\n');
SELECT pg_temp.look(repeat('a,', 1999) || E'a\n' || repeat('1,', 1999) || E'1\n', show => 0) LIMIT 2;

-- a large file: pieces further in count
SELECT (v).format, (v).header, (v).complete, (v).rows_sampled BETWEEN 100000 AND 400000 AS rows, (v).bytes_sampled, c ->> 'name' AS name, c ->> 'type' AS type
FROM (SELECT bulk_inspect(pg_temp.put('large', convert_to((SELECT E'n,t\n' || string_agg(i || CASE WHEN i > 350000 THEN E',"two\nlines"' ELSE ',"x"' END, E'\n') FROM generate_series(1, 400000) i) || E'\n3000000000,z\n', 'UTF8'))) AS v) s,
	jsonb_array_elements((v).columns) c;

-- options that are given are not guessed, and others are passed on
SELECT pg_temp.look(E'1;2,5\n3;4,5\n', '{"delimiter": ","}');
SELECT pg_temp.look(E'a,b\nc,d\n', '{"header": false, "null": ["c", "x"], "on_error": "ignore", "limit": 1}');
SELECT pg_temp.look(E'a,b\n1,2\n', '{"header": true, "encoding": "LATIN1", "quote": "|", "decimal_mark": ","}');
SELECT pg_temp.look(E'junk\nmore\na,b\n1,2\n', '{"header": 3}');
SELECT pg_temp.look(E'1\tx\n', '{"format": "text"}');
SELECT pg_temp.look(E'%a\n%b\n1,2\n', '{"comment": "%", "newline": "any"}');
SELECT bulk_load FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_votes*', '{"table": "My Table", "workers": 0}');
-- a mark between thousands is none before decimals
SELECT pg_temp.look(E'id;amount\n1;1,234\n2;2,345\n', '{"thousands_mark": ","}');
SELECT pg_temp.look(E'n;amount\n1 234;1,5\n2 345;2,5\n', '{"thousands_mark": " "}');
-- templates that are given are among those that are found, and say what a column is
SELECT pg_temp.look(E'd,e,t,z\n20240131,31/12/2024,1230,20240131 1200+02\n20240201,01/02/2024,0105,20240201 1300+02\n',
	'{"date_format": {"d": "YYYYMMDD", "t": "HH24MI", "z": "YYYYMMDD HH24MITZH"}}');
SELECT pg_temp.look(E'd,e\n01/02/24 10:30,\nNA,\n', '{"date_format": {"d": "DD/MM/YY HH24:MI", "e": "YYYY"}}');
SELECT pg_temp.look(E'd\n31.12.2024\n', '{"date_format": {"d": "YYYYMMDD"}, "on_error": "ignore", "log_verbosity": "silent"}');
SELECT pg_temp.look(E'{"d":"20240131","e":"31/12/2024"}\n{"d":"20240201","e":"01/02/2024"}\n', '{"date_format": {"d": "YYYYMMDD"}}');
-- a file that could be of another format, if that had the option
SELECT pg_temp.look(E'1\t\\N\n2\tx\n', '{"force_null": ["column_2"]}');
-- options that exclude what was found
SELECT pg_temp.look(E'{"a":1}\n{"a":2}\n', '{"once": "tail"}');
SELECT pg_temp.look(E'# x\na,b\n1,2\n3,4\n', '{"once": "tail"}');
SELECT create_table, load_options, bulk_load, create_and_load, notes FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in', '{"once": "tail"}');
-- fields that are arguments
SELECT pg_temp.put('in', convert_to(E'd;n\n31/12/2024;1,5 \n01/02/2024;"2,5"\n01/02/2024;""\n', 'UTF8')) IS NULL;
SELECT load_options, bulk_load IS NULL, notes FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in', '{"transform": "f(text, text)"}');
-- columns that the file does not have
SELECT pg_temp.look(E'a,b\n1,2\n3,4\n', '{"extra": {"file": "$file", "line": "$line", "Of May": "x"}}');
SELECT pg_temp.look(E'{"a":1,"b":2}\n', '{"extra": {"b": "3"}, "extra_columns": "ignore"}');
-- several files: what only a later one has counts, too
SELECT count(pg_temp.put(f, convert_to(content, 'UTF8'))) FROM (VALUES ('many_1.csv', E'id,v\n1,5\n2,6\n'), ('many_2.csv', E'id,v\n3,7\n3000000000,N/A\n'),
	('many_3.csv', ''), ('many_4.csv', E'id,v\n5,1.5\n'), ('many_5.csv', E'id;v\n5;x\n')) AS x (f, content);
SELECT create_table, bulk_load, notes FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_many_*', '{"table": "many"}');

-- those that a manifest lists
SELECT pg_temp.put('list', convert_to(E'pgbulk_inspect_many_1.csv\npgbulk_inspect_many_4.csv\n', 'UTF8')) IS NULL;
SELECT create_table, bulk_load, notes FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_list', '{"manifest": true, "table": "many"}');
SELECT * FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_many_1.csv', '{"manifest": true}');
-- both in one, or nothing: where there is such a table, nothing is loaded into it
CREATE SCHEMA inspect_s;
SELECT pg_temp.put('sales.csv', E'id,name\n1,x\n2,y\n') IS NULL;
SELECT create_table, bulk_load, create_and_load, notes FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_sales.csv', '{"table": "inspect_s.sales"}');
SELECT replace(create_and_load, 'SELECT *', 'SELECT rows_loaded') FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_sales.csv', '{"table": "inspect_s.sales"}') \gexec
SELECT create_and_load FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_sales.csv', '{"table": "inspect_s.sales"}') \gexec
SELECT create_table, bulk_load FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_sales.csv', '{"table": "inspect_s.sales"}') \gexec
SELECT notes FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_sales.csv', '{"table": "inspect_s.sales"}');
SELECT count(*) FROM inspect_s.sales;
-- the load fails: there is no table either
SELECT replace(create_and_load, '"header": true', '"header": false, "columns": ["none"]') FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_sales.csv', '{"table": "inspect_s.other"}') \gexec
SELECT to_regclass('inspect_s.other') IS NULL;
-- a name that is found elsewhere first
CREATE TEMP TABLE pgbulk_inspect_sales (other int);
SELECT create_and_load FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_sales.csv');
DROP TABLE pg_temp.pgbulk_inspect_sales;
SELECT create_table FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_sales.csv', '{"table": "\"a.b\".\"c\"\"d\""}');
SELECT create_table FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_sales.csv', '{"table": "a.b.c"}');
SELECT create_table FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_sales.csv', '{"table": "\"a"}');
SELECT create_table FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_sales.csv', '{"table": "a."}');
DROP TABLE inspect_s.sales;
DROP SCHEMA inspect_s;

-- JSON other than objects: a document in each line is loaded unchanged, one over many lines has no rows
SELECT pg_temp.look(E'{"duck": 1, "x": "a:b, \\"c\\""}\n{"duck": 2}\n\n[1, 2]\n');
SELECT pg_temp.look(E'[1, 2]\n');
SELECT pg_temp.look(E'{1,2}\n{3,4}\n', show => 1);
SELECT pg_temp.look(E'{"a": b}\n{"a": c}\n', show => 1);
SELECT pg_temp.put('in', E'[\n  [1, "a"],\n  [2, "b"]\n]\n') IS NULL;
SELECT format, create_table, bulk_load, create_and_load, notes FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in');
-- a statement reads the file that was looked at, if its encoding is the database's
SELECT pg_temp.put('in2', E'[\n  [1, "a"],\n  [2, "b"]\n]\n') IS NULL;
SELECT n FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in*'), unnest(notes[3:]) n;
SELECT replace(notes[3], ' reads it', '') FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in*') \gexec
SELECT pg_temp.put('in', '\xfffe5b000a005b0031005d005d00') IS NULL;
SELECT notes FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in');
SELECT pg_temp.put('in', '\xefbbbf' || convert_to(E'[\n  [1, "a"],\n  [2, "b"]\n]\n', 'UTF8')) IS NULL;
SELECT notes FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in');
SELECT pg_temp.put('in', convert_to(E'[\n  [1, "é"],\n  [2, "b"]\n]\n', 'LATIN1')) IS NULL;
SELECT notes FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in', '{"encoding": "LATIN1"}');

-- files that are not text are recognized, by a load, too
CREATE FUNCTION pg_temp.what(content bytea) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	path text := pg_temp.put('what', content);
	hint text;
BEGIN
	RETURN QUERY SELECT format('%s, %s, %s: %s', i.format, i.bulk_load, i.delimiter, i.notes) FROM bulk_inspect(path) i;
	PERFORM bulk_load('inspect_texts', path, '{"on_error": "ignore"}');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN NEXT format('%s %s / %s', SQLSTATE, SQLERRM, hint);
END $$;
CREATE TABLE inspect_texts (a text);
SELECT pg_temp.what('\x504b030414000600080000002100' || convert_to(repeat('x', 16) || '[Content_Types].xml' || repeat('y', 200), 'UTF8'));
SELECT pg_temp.what('\x504b03041400060008000000' || convert_to(repeat('x', 200), 'UTF8'));
SELECT pg_temp.what('\x50415231150415001510');
SELECT pg_temp.what('\xfd377a585a000004');
SELECT pg_temp.what('\x425a6839314159265359000102');
SELECT pg_temp.what('\x53514c69746520666f726d6174203300');
SELECT pg_temp.what('\x5047444d50010e0004');
SELECT pg_temp.what('\x5047434f50590aff0d0a000000000000000000ffff');
SELECT pg_temp.what('\x255044462d312e370a25e2e3cfd30a00');
SELECT pg_temp.what(decode(repeat('61', 100) || repeat('00', 157) || '7573746172', 'hex'));
-- a text may begin in the same way
SELECT pg_temp.look(E'PAR1,x\nORC,y\n', '{"header": false}');
DROP TABLE inspect_texts;

-- the extension's schema
CREATE SCHEMA inspect_other;
ALTER EXTENSION pgbulk SET SCHEMA inspect_other;
SELECT bulk_load FROM inspect_other.bulk_inspect('/proc/self/cwd/pgbulk_inspect_votes.2024.csv');
ALTER EXTENSION pgbulk SET SCHEMA public;
DROP SCHEMA inspect_other;

-- errors
SELECT * FROM bulk_inspect(NULL);
SELECT * FROM bulk_inspect('stdin');
SELECT * FROM bulk_inspect('data.csv');
SELECT * FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_none');
SELECT * FROM bulk_inspect('/proc/self/cwd');
-- what is read from a pipe would be missing from the load
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_inspect_gone; mkfifo pgbulk_inspect_pipe';
SELECT * FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_pipe');
SELECT * FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in', '{"format": "binary"}');
SELECT * FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in', '{"table": 1}');
\set VERBOSITY terse
SELECT * FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in', '{"delimeter": ";"}');
\set VERBOSITY default
SELECT * FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in', '[]');
SELECT * FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in', '{"delimiter": "0123456789abcdefg"}');
SELECT * FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in', '{"comment": "0123456789abcdefg"}');
SELECT * FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in', '{"compression": "gzip"}');
CREATE ROLE regress_pgbulk_inspect;
SET ROLE regress_pgbulk_inspect;
SELECT * FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_in');
SELECT * FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_none');
RESET ROLE;
GRANT pg_read_server_files TO regress_pgbulk_inspect;
SET ROLE regress_pgbulk_inspect;
SELECT rows_sampled FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_votes.2024.csv');
RESET ROLE;
DROP ROLE regress_pgbulk_inspect;

-- a transaction in which nothing may be written
BEGIN READ ONLY;
SELECT rows_sampled FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_votes.2024.csv');
COMMIT;
-- nor is a schema created for temporary tables
\c -
SET search_path = pg_temp, public;
SELECT create_table FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_votes.2024.csv', '{"table": "votes"}');
SELECT pg_my_temp_schema();
RESET search_path;
CREATE TABLE inspect_taken (a int);
SELECT notes FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_votes.2024.csv', '{"table": "inspect_taken"}');
SET search_path = pg_temp, public;
SELECT notes FROM bulk_inspect('/proc/self/cwd/pgbulk_inspect_votes.2024.csv', '{"table": "inspect_taken"}');
DROP TABLE inspect_taken;
\pset tuples_only
\pset format aligned
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_inspect_gone; rm -f pgbulk_inspect_*';
