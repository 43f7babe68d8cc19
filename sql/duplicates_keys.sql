--
-- Duplicates and foreign keys together, with concurrent changes by triggers and functions: no orphan remains, no good row is deleted.
--
CREATE FUNCTION pg_temp.put(content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_duplicates_keys_in';
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;

-- The result of loading a file, and the table; nothing of it remains.
CREATE FUNCTION pg_temp.one(target regclass, options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	detail text;
	context text;
	lines text[];
BEGIN
	SELECT * INTO r FROM bulk_load(target, '/proc/self/cwd/pgbulk_duplicates_keys_in', '{"log_verbosity": "silent"}' || options ||
		CASE WHEN options ?| '{on_duplicate,on_error}' THEN '{"reject_table": "duplicates_keys_rejects"}' ELSE '{}' END::jsonb);
	ASSERT r.rows_read = r.rows_loaded + r.rows_rejected + r.rows_duplicate + r.rows_filtered;
	SET CONSTRAINTS ALL IMMEDIATE;
	EXECUTE 'SELECT string_agg(t::text, '' '' ORDER BY t::text COLLATE "C") FROM ' || target || ' t' INTO detail;
	RAISE EXCEPTION USING ERRCODE = 'UNDOI', MESSAGE = concat_ws(E'\n', format('%s read, %s loaded, %s rejected, %s duplicate, %s replaced', r.rows_read, r.rows_loaded, r.rows_rejected, r.rows_duplicate, r.rows_replaced),
		(SELECT string_agg(format('line %s: %s (%s)', line_number, raw_line, reason), E'\n' ORDER BY line_number, reason) FROM duplicates_keys_rejects WHERE reason <> 'replaced'), detail,
		'not freed: ' || (r.details ->> 'not_freed'));
EXCEPTION WHEN SQLSTATE 'UNDOI' THEN
	RETURN QUERY SELECT regexp_split_to_table(sqlerrm, E'\n');
WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	RETURN NEXT format('%s: %s', sqlstate, sqlerrm);
	RETURN NEXT nullif(detail, '');
	RETURN NEXT substring(context, 'file "[^"]*", (line [0-9]+)');
END $$;

-- keys whose actions cascade back to the table: to a partition alone, in a cycle through a partition, by SET NULL and ON UPDATE
CREATE TABLE duplicates_keys_p (id int NOT NULL, parent int, v text) PARTITION BY RANGE (id);
CREATE TABLE duplicates_keys_p1 PARTITION OF duplicates_keys_p FOR VALUES FROM (0) TO (1000);
ALTER TABLE duplicates_keys_p1 ADD UNIQUE (id);
ALTER TABLE duplicates_keys_p1 ADD FOREIGN KEY (parent) REFERENCES duplicates_keys_p1 (id) ON DELETE CASCADE;
INSERT INTO duplicates_keys_p VALUES (1, NULL, 'old'), (2, 1, 'old');
SELECT pg_temp.put(E'1,,new\n2,1,new\n') IS NULL;
SELECT pg_temp.one('duplicates_keys_p', '{"on_duplicate": "keep_new"}');
SELECT pg_temp.one('duplicates_keys_p1', '{"on_duplicate": "keep_new"}');
SELECT pg_temp.one('duplicates_keys_p', '{"on_duplicate": "keep_old"}');
DROP TABLE duplicates_keys_p;

CREATE TABLE duplicates_keys_t (id int PRIMARY KEY, x int, v text);
CREATE TABLE duplicates_keys_x (id int NOT NULL, t int REFERENCES duplicates_keys_t ON DELETE CASCADE) PARTITION BY RANGE (id);
CREATE TABLE duplicates_keys_x1 PARTITION OF duplicates_keys_x FOR VALUES FROM (0) TO (1000);
ALTER TABLE duplicates_keys_x1 ADD UNIQUE (id);
ALTER TABLE duplicates_keys_t ADD FOREIGN KEY (x) REFERENCES duplicates_keys_x1 (id) ON DELETE CASCADE;
SELECT pg_temp.one('duplicates_keys_t', '{"on_duplicate": "keep_new"}');
DROP TABLE duplicates_keys_x, duplicates_keys_t;

CREATE TABLE duplicates_keys_t (id int PRIMARY KEY, x int, v text);
CREATE TABLE duplicates_keys_x (u int UNIQUE REFERENCES duplicates_keys_t ON DELETE SET NULL, w int UNIQUE);
ALTER TABLE duplicates_keys_t ADD FOREIGN KEY (x) REFERENCES duplicates_keys_x (u) ON UPDATE CASCADE;
SELECT pg_temp.one('duplicates_keys_t', '{"on_duplicate": "keep_new"}');
-- what changes is not a key that the table refers to
ALTER TABLE duplicates_keys_t DROP CONSTRAINT duplicates_keys_t_x_fkey;
ALTER TABLE duplicates_keys_t ADD FOREIGN KEY (x) REFERENCES duplicates_keys_x (w) ON UPDATE CASCADE;
INSERT INTO duplicates_keys_t VALUES (1, NULL, 'old');
INSERT INTO duplicates_keys_x VALUES (1, 1);
SELECT pg_temp.one('duplicates_keys_t', '{"on_duplicate": "keep_new"}');
DROP TABLE duplicates_keys_x, duplicates_keys_t CASCADE;

-- a row that was displaced by one that is deleted then
CREATE TABLE duplicates_keys_t (id int PRIMARY KEY, u text UNIQUE, k int UNIQUE, parent int REFERENCES duplicates_keys_t);
SELECT pg_temp.put(E'1,a,1,\n2,a,2,\n3,c,9,2\n4,d,9,1\n') IS NULL;
SELECT pg_temp.one('duplicates_keys_t', '{"on_duplicate": "keep_old", "on_error": "ignore"}');
SELECT pg_temp.one('duplicates_keys_t', '{"on_duplicate": "keep_old", "on_error": "ignore", "writer": "direct"}');
-- with one index it is kept
ALTER TABLE duplicates_keys_t DROP CONSTRAINT duplicates_keys_t_u_key, DROP CONSTRAINT duplicates_keys_t_k_key;
SELECT pg_temp.put(E'1,a,1,\n1,b,2,\n2,c,9,1\n3,d,9,4\n2,d,9,1\n') IS NULL;
SELECT pg_temp.one('duplicates_keys_t', '{"on_duplicate": "keep_old", "on_error": "ignore", "writer": "direct"}');
DROP TABLE duplicates_keys_t;

-- a partition that refers to another one
CREATE TABLE duplicates_keys_p (id int NOT NULL, ref int, u text, v text) PARTITION BY RANGE (id);
CREATE TABLE duplicates_keys_p1 PARTITION OF duplicates_keys_p FOR VALUES FROM (0) TO (100);
CREATE TABLE duplicates_keys_p2 PARTITION OF duplicates_keys_p FOR VALUES FROM (100) TO (200);
ALTER TABLE duplicates_keys_p1 ADD UNIQUE (id), ADD UNIQUE (u);
ALTER TABLE duplicates_keys_p2 ADD UNIQUE (id), ADD FOREIGN KEY (ref) REFERENCES duplicates_keys_p1 (id);
INSERT INTO duplicates_keys_p VALUES (1, NULL, 'a', 'old'), (150, 1, NULL, 'old');
SELECT pg_temp.put(E'150,7,,new\n') IS NULL;
SELECT pg_temp.one('duplicates_keys_p', '{"on_duplicate": "keep_new", "on_error": "ignore", "writer": "buffered"}');
SELECT pg_temp.one('duplicates_keys_p', '{"on_duplicate": "keep_new", "on_error": "ignore", "writer": "direct"}');
SELECT pg_temp.one('duplicates_keys_p', '{"on_duplicate": "keep_old", "on_error": "ignore", "writer": "direct"}');
SELECT pg_temp.one('duplicates_keys_p', '{"on_duplicate": "keep_new"}');
DROP TABLE duplicates_keys_p;

-- a row of the load whose change was rolled back is checked all the same
CREATE TABLE duplicates_keys_r (id int PRIMARY KEY);
INSERT INTO duplicates_keys_r VALUES (1);
CREATE TABLE duplicates_keys_t (id int PRIMARY KEY, p int REFERENCES duplicates_keys_r, n int DEFAULT 0, seen int);
CREATE FUNCTION duplicates_keys_f() RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	UPDATE duplicates_keys_t SET n = n + 1 WHERE id = 1;
	RAISE EXCEPTION 'undone';
EXCEPTION WHEN OTHERS THEN
	RETURN 1;
END $$;
ALTER TABLE duplicates_keys_t ALTER seen SET DEFAULT duplicates_keys_f();
SELECT pg_temp.put(E'1,99\n2,1\n') IS NULL;
SELECT pg_temp.one('duplicates_keys_t', '{"columns": ["id", "p"]}');
SELECT pg_temp.one('duplicates_keys_t', '{"columns": ["id", "p"], "on_error": "ignore"}');
DROP TABLE duplicates_keys_t;
DROP FUNCTION duplicates_keys_f;

-- and is recognized as one of the load
CREATE TABLE duplicates_keys_t (id int PRIMARY KEY, n int);
CREATE FUNCTION duplicates_keys_f() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		UPDATE duplicates_keys_t SET n = n + 1 WHERE id = NEW.id;
		RAISE EXCEPTION 'undone';
	EXCEPTION WHEN OTHERS THEN
		NULL;
	END;
	RETURN NEW;
END $$;
CREATE TRIGGER before BEFORE INSERT ON duplicates_keys_t FOR EACH ROW EXECUTE FUNCTION duplicates_keys_f();
SELECT pg_temp.put(E'11,1\n11,2\n12,1\n') IS NULL;
BEGIN;
INSERT INTO duplicates_keys_r VALUES (50);
INSERT INTO duplicates_keys_r VALUES (51);
INSERT INTO duplicates_keys_r VALUES (52);
SELECT pg_temp.one('duplicates_keys_t', '{"on_duplicate": "keep_new"}');
ROLLBACK;
DROP TABLE duplicates_keys_t;
DROP FUNCTION duplicates_keys_f;

-- a key that was good before is checked again when a trigger has deleted the referenced row
TRUNCATE duplicates_keys_r;
INSERT INTO duplicates_keys_r VALUES (7), (8);
CREATE TABLE duplicates_keys_t (id int PRIMARY KEY, p int NOT NULL REFERENCES duplicates_keys_r);
INSERT INTO duplicates_keys_t VALUES (2, 8);
CREATE FUNCTION duplicates_keys_f() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM duplicates_keys_r r WHERE NOT EXISTS (SELECT FROM duplicates_keys_t t WHERE t.p = r.id);
	RETURN OLD;
END $$;
CREATE TRIGGER before BEFORE DELETE ON duplicates_keys_t FOR EACH ROW EXECUTE FUNCTION duplicates_keys_f();
SELECT pg_temp.put(E'1,7\n1,8\n2,8\n3,7\n') IS NULL;
SELECT pg_temp.one('duplicates_keys_t', '{"on_duplicate": "keep_new"}');
SELECT pg_temp.one('duplicates_keys_t', '{"on_duplicate": "keep_new", "on_error": "ignore"}');
DROP TABLE duplicates_keys_t;
DROP FUNCTION duplicates_keys_f;
-- nor a function
CREATE FUNCTION duplicates_keys_f() RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	IF EXISTS (SELECT FROM duplicates_keys_t WHERE id = 2) THEN
		DELETE FROM duplicates_keys_t WHERE p = 7;
		DELETE FROM duplicates_keys_r WHERE id = 7;
	END IF;
	RETURN 0;
END $$;
TRUNCATE duplicates_keys_r;
INSERT INTO duplicates_keys_r VALUES (7), (8);
CREATE TABLE duplicates_keys_t (id int PRIMARY KEY, p int NOT NULL REFERENCES duplicates_keys_r, n int DEFAULT duplicates_keys_f());
SELECT pg_temp.put(E'1,7\n2,8\n3,7\n3,8\n') IS NULL;
SELECT pg_temp.one('duplicates_keys_t', '{"columns": ["id", "p"], "on_duplicate": "keep_old"}');
SELECT pg_temp.one('duplicates_keys_t', '{"columns": ["id", "p"], "on_duplicate": "keep_old", "on_error": "ignore"}');
DROP TABLE duplicates_keys_t, duplicates_keys_r;
DROP FUNCTION duplicates_keys_f;

-- rows that a deferred trigger knows by their TIDs are not moved
CREATE TABLE duplicates_keys_t (id int PRIMARY KEY, u text);
CREATE TABLE duplicates_keys_r (t int REFERENCES duplicates_keys_t DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE duplicates_keys_o (t int REFERENCES duplicates_keys_t ON DELETE CASCADE);
INSERT INTO duplicates_keys_t SELECT i, 'old ' || i FROM generate_series(1, 300) i;
INSERT INTO duplicates_keys_o SELECT i FROM generate_series(1, 300) i;
CREATE FUNCTION duplicates_keys_f() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM duplicates_keys_t WHERE id = 1000 + OLD.t;
	RETURN NULL;
END $$;
CREATE TRIGGER after AFTER DELETE ON duplicates_keys_o FOR EACH ROW EXECUTE FUNCTION duplicates_keys_f();
SELECT pg_temp.put(string_agg(i || ',' || k || ' ' || repeat('x', 50) || E'\n', '' ORDER BY k, i)) IS NULL FROM generate_series(200, 1500) i, generate_series(1, 10) k;
SELECT count(*), min(id), max(id), sum(id) FILTER (WHERE u NOT LIKE 'old%') FROM duplicates_keys_t;
BEGIN;
SELECT rows_loaded, rows_duplicate, rows_replaced, details ->> 'not_freed' AS not_freed
FROM bulk_load('duplicates_keys_t', '/proc/self/cwd/pgbulk_duplicates_keys_in', '{"on_duplicate": "keep_new", "writer": "direct", "indexes": "rebuild", "log_verbosity": "silent"}');
COMMIT;
SELECT count(*), min(id), max(id), sum(id) FILTER (WHERE u LIKE '10 %') FROM duplicates_keys_t;
DROP TABLE duplicates_keys_t, duplicates_keys_r, duplicates_keys_o;
DROP FUNCTION duplicates_keys_f;

-- triggers that see each replaced row need the buffered writer
CREATE TABLE duplicates_keys_t (id int PRIMARY KEY, v text);
CREATE FUNCTION duplicates_keys_f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER after AFTER DELETE ON duplicates_keys_t FOR EACH ROW EXECUTE FUNCTION duplicates_keys_f();
SELECT pg_temp.put(E'1,a\n1,b\n') IS NULL;
SELECT pg_temp.one('duplicates_keys_t', '{"on_duplicate": "keep_new", "writer": "direct"}');
DROP TABLE duplicates_keys_t;
DROP FUNCTION duplicates_keys_f;
