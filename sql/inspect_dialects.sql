--
-- bulk_inspect on misleading files: no row is lost, and none becomes part of another.
--
SET client_min_messages = warning;
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_dialects_inspect_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result for a file, and what its statements load.
CREATE FUNCTION pg_temp.look(content text, show int DEFAULT 9) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	v record;
	r record;
BEGIN
	SELECT * INTO v FROM bulk_inspect(pg_temp.put('in', content), '{"table": "inspected"}');
	RETURN NEXT v.load_options;
	RETURN NEXT '  ' || (SELECT string_agg(format('%s %s', c ->> 'name', c ->> 'type'), ', ') FROM jsonb_array_elements(v.columns) c);
	RETURN QUERY SELECT '  note: ' || n FROM unnest(v.notes) n;
	EXECUTE v.create_table;
	EXECUTE v.bulk_load INTO r;
	RETURN NEXT format('loaded %s, rejected %s', r.rows_loaded, r.rows_rejected);
	RETURN QUERY EXECUTE format('SELECT i::text FROM inspected i LIMIT %s', show);
	DROP TABLE inspected;
END $$;
\pset format unaligned
\pset tuples_only

-- one column
SELECT pg_temp.look(E'time\n05:40\n21:30\n17:45\n');
SELECT pg_temp.look(E'a\n2020-01-01 01:02:03+01\n2020-01-02 01:02:03+01\n');
SELECT pg_temp.look(E'https://a.example:80/x?y=1\nhttps://b.example/z?w=22\n');
SELECT pg_temp.look(E'name\nJohn Smith\nJane Doe\nRick Roe\n');
SELECT pg_temp.look(E'John Smith\nJane Doe\nRick Roe\nAnn Poe\n');
SELECT pg_temp.look(E'v\n"1,566,216"\n"1,130,345"\n');
SELECT pg_temp.look(E'{"duck": 1}\n{"duck": 2}\n');
SELECT pg_temp.look(E'{"a": 1, "b": 2}\nbroken\n{"a": 3, "b": 4}\n{"a": 5, "b": 6}\n');
SELECT pg_temp.look(E'Well, he said, no.\nNo one came.\nYes, one did.\n');

-- quotes and escapes
SELECT pg_temp.look(E'id,size,c\n1,12",x\n2,b,y\n3,15",z\n4,d,y\n5,"q,r",z\n');
SELECT pg_temp.look(E'a\tb\tc\n1\t"x\ty\n2\tz\tw"\n3\tv\tu\n');
SELECT pg_temp.look(E'n,t\n8,"it is \\"good,\\" like \\"that\\")."\n');
SELECT pg_temp.look(E'p,n\n"C:\\a\\",1\n"C:\\b\\",2\n');
SELECT pg_temp.look(E'a,b\n1,"x\ny, z"\n2,"v\nw"\n');
SELECT pg_temp.look((SELECT E'id,word,n\n' || string_agg(format(E'%s,"word %s",%s\n', i, i, i), '') || E'501,it is 12" long,1\n502,and 13" wide,2\n' FROM generate_series(1, 500) i), 1);

-- headers, titles, rows that are too long
SELECT pg_temp.look(E'a,b,c\nx,2,3,\ny,4,5,\n');
SELECT pg_temp.look(E'Sales, by shop, by month, by day\nid,name\n1,x\n2,y\n');
SELECT pg_temp.look(E'a,b\n1,2\n3,4\n5,6\n7,8\n9,1,2\n3,4\n');
SELECT pg_temp.look(E'a,"b,c\n1,x,2\n2,y,3\n');

-- after misplaced quotes the sample resumes where the load does
SELECT pg_temp.look((SELECT E'id,word,n\n' || string_agg(CASE WHEN i % 50 = 7 THEN format(E'%s,"broken,1\n', i) ELSE format(E'%s,"word, %s",%s\n', i, i, CASE i WHEN 990 THEN '9.5' ELSE '9' END) END, '') FROM generate_series(1, 1000) i), 1);
