-- What comes with the server: types, their indexes, triggers.
CREATE EXTENSION hstore;
CREATE EXTENSION citext;
CREATE EXTENSION ltree;
CREATE EXTENSION cube;
CREATE EXTENSION seg;
CREATE EXTENSION isn;
CREATE EXTENSION intarray;
CREATE EXTENSION pg_trgm;
CREATE EXTENSION btree_gist;
CREATE EXTENSION btree_gin;
CREATE EXTENSION bloom;
CREATE EXTENSION insert_username;
CREATE EXTENSION autoinc;
CREATE EXTENSION pg_stat_statements;

SELECT judge.same('hstore', 'CREATE TABLE %1$s (a int PRIMARY KEY, h hstore); CREATE INDEX ON %1$s USING gin (h); CREATE INDEX ON %1$s USING gist (h)',
	$$SELECT i, hstore('k' || i % 50, 'v' || i) FROM generate_series(1, 2000) i$$, 't', ARRAY[$$h ? 'k7'$$, $$h @> 'k3=>v103'$$]);
SELECT judge.same('citext', 'CREATE TABLE %1$s (a int, c citext PRIMARY KEY); CREATE INDEX ON %1$s USING hash (c)',
	$$SELECT i, 'Name ' || md5(i::text) FROM generate_series(1, 2000) i$$, 't', ARRAY[$$c = upper('name ' || md5('77'))::citext$$]);
SELECT judge.same('ltree', 'CREATE TABLE %1$s (a int, p ltree); CREATE INDEX ON %1$s USING gist (p); CREATE INDEX ON %1$s (p)',
	$$SELECT i, format('top.n%s.m%s', i % 13, i) FROM generate_series(1, 2000) i$$, 't', ARRAY[$$p <@ 'top.n5'$$, $$p = 'top.n3.m3'$$]);
SELECT judge.same('cube', 'CREATE TABLE %1$s (a int, c cube); CREATE INDEX ON %1$s USING gist (c)',
	$$SELECT i, format('(%s,%s)', i % 40, i / 40) FROM generate_series(1, 2000) i$$, 't', ARRAY[$$c <@ '(1,1),(3,4)'$$]);
SELECT judge.same('seg and isn', 'CREATE TABLE %1$s (s seg, i isbn13); CREATE INDEX ON %1$s USING gist (s); CREATE INDEX ON %1$s (i)',
	$$SELECT format('%s .. %s', i, i + 3), '978-0-393-04002-9' FROM generate_series(1, 500) i$$, 't', ARRAY[$$s && '7 .. 9'$$]);
SELECT judge.same('intarray, pg_trgm, bloom', 'CREATE TABLE %1$s (a int, i int[], t text); CREATE INDEX ON %1$s USING gin (i gin__int_ops);
		CREATE INDEX ON %1$s USING gin (t gin_trgm_ops); CREATE INDEX ON %1$s USING gist (t gist_trgm_ops); CREATE INDEX ON %1$s USING bloom (a, t)',
	$$SELECT n, ARRAY[n % 9, n], 'text ' || md5(n::text) FROM generate_series(1, 2000) n$$, 't', ARRAY[$$i && '{500}'$$, $$t LIKE '%c4ca42%'$$, 'a = 44']);
SELECT judge.same('btree_gist in an exclusion constraint', 'CREATE TABLE %1$s (a int, r int4range, EXCLUDE USING gist (a WITH =, r WITH &&)); CREATE INDEX ON %1$s USING gin (a)',
	$$SELECT i % 10, int4range(i, i + 1) FROM generate_series(1, 1000) i$$, 't', ARRAY[$$a = 3 AND r && '[1,50)'$$, 'a = 9']);
SELECT judge.same('triggers in C', 'CREATE TABLE %1$s (a int, b text); CREATE SEQUENCE %1$s_ids;
		CREATE TRIGGER u BEFORE INSERT ON %1$s FOR EACH ROW EXECUTE FUNCTION insert_username(b);
		CREATE TRIGGER i BEFORE INSERT ON %1$s FOR EACH ROW EXECUTE FUNCTION autoinc(a, %1$s_ids)',
	'SELECT 0, NULL FROM generate_series(1, 100) i');
SELECT judge.forgives('hstore', 'a=>1', 'a=>');
SELECT judge.forgives('ltree', 'a.b', 'a..b');
SELECT judge.forgives('cube', '(1,2)', '(1,');
SELECT judge.forgives('seg', '1 .. 2', '2 .. 1');
SELECT judge.forgives('isbn13', '978-0-393-04002-9', '978-0-393-04002-1');
