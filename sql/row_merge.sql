-- Option on_duplicate with an object: rows are merged with those that have their key.
SET client_min_messages = warning;
\set path /proc/self/cwd/pgbulk_row_merge.csv
CREATE TABLE merged (id int PRIMARY KEY, name text, hits int DEFAULT 1, changed date, note text DEFAULT 'none');
CREATE FUNCTION fill_merged() RETURNS void LANGUAGE sql AS $$
  TRUNCATE merged;
  INSERT INTO merged VALUES (1, 'a', 1, '2026-01-01'), (2, 'b', 1, '2026-01-01'), (3, 'c', 5, '2026-06-01');
$$;
CREATE FUNCTION counts(target regclass, path text, options jsonb) RETURNS text LANGUAGE sql AS $$
  SELECT format('%s read, %s loaded, %s replaced, %s deleted, %s duplicate, %s filtered, %s rejected, %s', rows_read, rows_loaded,
                rows_replaced, rows_deleted, rows_duplicate, rows_filtered, rows_rejected, writer)
    FROM bulk_load(target, path, options);
$$;
CREATE FUNCTION write_file(path text, content text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('COPY (SELECT unnest(string_to_array(%L, E''\n''))) TO %L', content, path);
END $$;
SELECT write_file(:'path', E'1,A,10,2026-02-01\n2,B,20,2025-01-01\n4,D,40,2026-01-01\n4,DD,41,2026-03-01');
\set columns '"columns": ["id", "name", "hits", "changed"]'

-- "all": the columns of the file; a key may come again
SELECT fill_merged();
SELECT counts('merged', :'path', ('{' || :'columns' || ', "on_duplicate": {"set": "all"}}')::jsonb);
TABLE merged ORDER BY id;

-- a condition on both rows
SELECT fill_merged();
SET client_min_messages = notice;
SELECT counts('merged', :'path',
              ('{' || :'columns' || ', "on_duplicate": {"set": "all", "where": "new.changed > old.changed"}}')::jsonb);
SET client_min_messages = warning;
TABLE merged ORDER BY id;

-- columns, and expressions
SELECT fill_merged();
SELECT counts('merged', :'path', ('{' || :'columns' || ', "on_duplicate": {"set": ["name"]}}')::jsonb);
SELECT counts('merged', :'path',
              ('{' || :'columns' || ', "on_duplicate": {"set": {"hits": "old.hits + new.hits", "note": "old.name || new.name"}}}')::jsonb);
TABLE merged ORDER BY id;

-- rows that delete; those without set are set aside otherwise
SELECT counts('merged', :'path', ('{' || :'columns' || ', "on_duplicate": {"delete": "new.hits > 15", "set": ["name"]}}')::jsonb);
TABLE merged ORDER BY id;
SELECT counts('merged', :'path',
              ('{' || :'columns' || ', "on_duplicate": {"delete": "new.id = 1", "where": "old.hits < 0"}}')::jsonb);
TABLE merged ORDER BY id;

-- the whole new row
SELECT fill_merged();
SELECT counts('merged', :'path', ('{' || :'columns' || ', "on_duplicate": {"set": {"note": "new::text"}}}')::jsonb);
TABLE merged ORDER BY id;

-- what cannot be
SELECT bulk_load('merged', :'path', '{"on_duplicate": {}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": "some"}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": []}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": {}}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": "all", "wher": "true"}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": "all", "where": 1}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": "all", "key": 1}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": ["set"]}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": {"nothing": "1"}}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": {"hits": "new.nothing"}}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": {"hits": "hits + 1"}}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": {"hits": "old.hits +"}}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": {"hits": "1, 2"}}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": {"hits": "old.changed"}}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": {"hits": "(SELECT 1)"}}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": {"hits": "max(old.hits)"}}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": ["name", "name"]}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": ["ctid"]}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": {"note": "old.xmin::text"}}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": "all", "where": "old.hits"}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"delete": "old.hits > 1"}}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": "all"}, "writer": "direct"}');
SELECT bulk_load('merged', :'path', '{"on_duplicate": {"set": "all"}, "freeze": true, "truncate": true}');

-- the key
CREATE TABLE keyed (a int, b int, c text, d int);
INSERT INTO keyed VALUES (1, 1, 'one', 1), (2, 2, 'two', 2);
SELECT write_file(:'path', E'1,1,uno,10\n2,3,due,20\n,,null,0\n,,null,0');
SELECT counts('keyed', :'path', '{"on_duplicate": {"set": "all"}}');
CREATE UNIQUE INDEX keyed_ab ON keyed (a, b);
BEGIN;
SELECT counts('keyed', :'path', '{"on_duplicate": {"set": ["c"]}}');
SELECT * FROM keyed ORDER BY a, b;
ROLLBACK;
CREATE UNIQUE INDEX keyed_c ON keyed (c);
CREATE UNIQUE INDEX keyed_d ON keyed (d) WHERE d > 1;
CREATE UNIQUE INDEX keyed_lower ON keyed (lower(c));
SELECT counts('keyed', :'path', '{"on_duplicate": {"set": "all"}}');
SELECT counts('keyed', :'path', '{"on_duplicate": {"set": "all", "key": "a"}}');
SELECT counts('keyed', :'path', '{"on_duplicate": {"set": "all", "key": ["b", "x"]}}');
SELECT counts('keyed', :'path', '{"on_duplicate": {"set": "all", "key": "d"}}');
SELECT write_file(:'path', E'1,1,uno,10\n2,3,due,20');
BEGIN;
SELECT counts('keyed', :'path', '{"on_duplicate": {"set": ["d"], "key": ["b", "a"]}}');
SELECT * FROM keyed ORDER BY a, b;
ROLLBACK;
SELECT write_file(:'path', E'5,5,TWO,50\n6,6,six,2');
BEGIN;
SELECT counts('keyed', :'path', '{"on_duplicate": {"set": ["a"], "key": "keyed_lower"}, "limit": 1}');
SELECT * FROM keyed ORDER BY a, b;
ROLLBACK;
-- another unique index ends the load, as with ON CONFLICT (key)
SELECT counts('keyed', :'path', '{"on_duplicate": {"set": ["d"], "key": ["a", "b"]}}');
ALTER TABLE merged DROP CONSTRAINT merged_pkey, ADD PRIMARY KEY (id) DEFERRABLE;
SELECT counts('merged', :'path', '{"on_duplicate": {"set": "all"}}');
ALTER TABLE merged DROP CONSTRAINT merged_pkey, ADD PRIMARY KEY (id);

-- bad rows: of the merged version, and of expressions
ALTER TABLE merged ADD CHECK (hits < 100), ALTER name SET NOT NULL;
SELECT fill_merged();
SELECT write_file(:'path', E'1,A,99,2026-02-01\n2,B,3,2025-01-01\n3,C,0,2026-01-01\nx,D,1,2026-01-01\n9,N,7,2026-01-01');
SELECT counts('merged', :'path',
              ('{' || :'columns' || ', "on_error": "ignore", "reject_table": "merged_rejects", "on_duplicate": {"set": {"hits": "old.hits + new.hits", "note": "(12 / new.hits)::text"}, "where": "new.id <> 2"}}')::jsonb);
TABLE merged ORDER BY id;
SELECT line_number, reason, sqlstate, message, raw_line FROM merged_rejects ORDER BY 1;
SELECT counts('merged', :'path', ('{' || :'columns' || ', "limit": 3, "on_duplicate": {"set": {"hits": "old.hits + new.hits"}}}')::jsonb);

-- generated and identity columns
CREATE TABLE computed (id int PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) STORED, c int GENERATED ALWAYS AS IDENTITY);
INSERT INTO computed (id, a) VALUES (1, 1);
SELECT write_file(:'path', E'1,5\n2,6');
SELECT counts('computed', :'path', '{"columns": ["id", "a"], "on_duplicate": {"set": {"a": "old.b + new.a"}}}');
TABLE computed ORDER BY id;
SELECT counts('computed', :'path', '{"columns": ["id", "a"], "on_duplicate": {"set": {"b": "1"}}}');
SELECT counts('computed', :'path', '{"columns": ["id", "a"], "on_duplicate": {"set": ["c"]}}');
SELECT counts('computed', :'path', '{"columns": ["id", "a"], "on_duplicate": {"set": {"a": "new.b"}}}');

-- triggers see an UPDATE, or a DELETE
CREATE TABLE watched (id int PRIMARY KEY, a int, b int);
INSERT INTO watched VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% % %: % %', TG_NAME, TG_WHEN, TG_OP, CASE WHEN TG_OP <> 'INSERT' THEN OLD END, CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
  IF TG_OP = 'UPDATE' AND TG_WHEN = 'BEFORE' THEN
    IF NEW.a = 20 THEN RETURN NULL; END IF;
    NEW.b := NEW.b + 1000;
  END IF;
  RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE FUNCTION tell_all() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE t text;
BEGIN
  IF TG_WHEN = 'AFTER' AND TG_OP = 'UPDATE' THEN
    SELECT string_agg(o::text || ' -> ' || n::text, ', ' ORDER BY o.id) INTO t FROM olds o JOIN news n USING (id);
  END IF;
  RAISE NOTICE '% %: %', TG_WHEN, TG_OP, t;
  RETURN NULL;
END $$;
CREATE TRIGGER before_row BEFORE INSERT OR UPDATE OR DELETE ON watched FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER after_row AFTER INSERT OR UPDATE OR DELETE ON watched FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER of_b AFTER UPDATE OF b ON watched FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER before_all BEFORE INSERT OR UPDATE OR DELETE ON watched EXECUTE FUNCTION tell_all();
CREATE TRIGGER after_all AFTER UPDATE ON watched REFERENCING OLD TABLE olds NEW TABLE news EXECUTE FUNCTION tell_all();
SELECT write_file(:'path', E'1,10,100\n2,20,200\n3,-1,0\n4,40,400\n4,41,410');
SET client_min_messages = notice;
SELECT counts('watched', :'path', '{"on_duplicate": {"set": ["a"], "delete": "new.a < 0"}}');
SET client_min_messages = warning;
TABLE watched ORDER BY id;

-- a key of which several rows can be in the way is none (before 18, an exclusion constraint does as one WITHOUT OVERLAPS)
SELECT CASE WHEN current_setting('server_version_num')::int >= 180000 THEN 'PRIMARY KEY (id, valid WITHOUT OVERLAPS)' ELSE 'EXCLUDE USING gist (id WITH =, valid WITH &&)' END AS key \gset
CREATE TABLE periods (id int4range, valid daterange, price int, CONSTRAINT periods_key :key);
INSERT INTO periods VALUES ('[1,1]', '[2024-01-01,2024-07-01)', 10), ('[1,1]', '[2024-07-01,2025-01-01)', 20);
COPY (VALUES ('[1,1]', '[2024-03-01,2024-10-01)', 99)) TO :'path' (FORMAT csv);
SELECT counts('periods', :'path', '{"on_duplicate": {"set": ["price"]}}');
SELECT counts('periods', :'path', '{"on_duplicate": {"set": "all", "key": ["id", "valid"]}}');
SELECT counts('periods', :'path', '{"on_duplicate": {"delete": "true", "key": "periods_key"}}');
-- with another key, such a conflict ends the load
ALTER TABLE periods ADD n int GENERATED ALWAYS AS IDENTITY UNIQUE;
SELECT counts('periods', :'path', '{"columns": ["id", "valid", "price"], "on_duplicate": {"set": ["price"]}}');
SELECT counts('periods', :'path', '{"columns": ["id", "valid", "price"], "on_duplicate": "keep_old"}');
TABLE periods;
SELECT counts('periods', :'path', '{"columns": ["id", "valid", "price"], "on_duplicate": "keep_new"}');
TABLE periods;
DROP TABLE periods;

-- foreign keys
CREATE TABLE parent (id int PRIMARY KEY, code int UNIQUE);
CREATE TABLE child (id int PRIMARY KEY, code int REFERENCES parent (code) ON UPDATE CASCADE ON DELETE SET NULL);
INSERT INTO parent VALUES (1, 10), (2, 20), (3, 30);
INSERT INTO child VALUES (1, 10), (2, 20), (3, 30);
SELECT write_file(:'path', E'1,11\n2,0\n3,30');
SELECT counts('parent', :'path', '{"on_duplicate": {"set": "all", "delete": "new.code = 0"}}');
TABLE child ORDER BY id;
SELECT write_file(:'path', E'1,99');
SELECT counts('child', :'path', '{"on_duplicate": {"set": "all"}}');

-- partitions, one with its columns in another order
CREATE TABLE parted (id int, region text, a int, b text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE parted_n PARTITION OF parted FOR VALUES IN ('n');
CREATE TABLE parted_s (gone int, b text, a int, region text NOT NULL, id int NOT NULL);
ALTER TABLE parted_s DROP gone;
ALTER TABLE parted ATTACH PARTITION parted_s FOR VALUES IN ('s');
INSERT INTO parted VALUES (1, 'n', 1, 'x'), (2, 's', 2, 'y'), (3, 's', 3, 'z');
SELECT write_file(:'path', E'1,n,10,nn\n2,s,20,ss\n3,s,-1,\n4,s,40,new\n4,s,41,again');
SELECT counts('parted', :'path', '{"on_duplicate": {"set": {"a": "old.a + new.a", "b": "old.b || new.b"}, "delete": "new.a < 0"}}');
SELECT tableoid::regclass, * FROM parted ORDER BY id;
SELECT counts('parted', :'path', '{"on_duplicate": {"set": {"region": "''n''"}}}');
SELECT counts('parted_s', :'path', '{"on_duplicate": {"set": "all"}, "where": "region = ''s'' AND a > 0"}');
SELECT tableoid::regclass, * FROM parted ORDER BY id;

-- HOT, and not
CREATE TABLE hot (id int PRIMARY KEY, a int, b int, c int) WITH (fillfactor = 50);
CREATE INDEX hot_b ON hot (b);
CREATE INDEX hot_c ON hot USING brin (c);
INSERT INTO hot SELECT i, i, i, i FROM generate_series(1, 100) i;
COPY (SELECT i, i + 1, i, i FROM generate_series(1, 100) i) TO :'path';
SELECT counts('hot', :'path', '{"format": "text", "on_duplicate": {"set": "all"}}');
COPY (SELECT i, i + 2, i + 1, i + 5000 FROM generate_series(1, 100) i) TO :'path';
SELECT counts('hot', :'path', '{"format": "text", "on_duplicate": {"set": "all"}}');
SET enable_seqscan = off;
SELECT count(*) FROM hot WHERE c > 5000;
SELECT count(*), sum(a) FROM hot WHERE b BETWEEN 2 AND 200;
RESET enable_seqscan;

-- columns by a header: those of each file
SELECT fill_merged();
SELECT write_file(:'path', E'name,id\nAA,1\nEE,5');
SELECT counts('merged', :'path', '{"header": "map", "on_duplicate": {"set": "all"}}');
TABLE merged ORDER BY id;

-- a dry run
SELECT counts('merged', :'path', '{"header": "map", "dry_run": true, "on_duplicate": {"set": {"name": "''dry''"}}}');
SELECT count(*) FROM merged WHERE name = 'dry';

-- through COPY
COPY merged (name, id) FROM :'path' WITH (FORMAT csv, HEADER, ON_DUPLICATE '{"set": {"hits": "old.hits + 1"}}');
COPY merged (name, id) FROM :'path' WITH (FORMAT csv, HEADER, ON_DUPLICATE merge);
SELECT id, hits FROM merged ORDER BY id;
SELECT rows_replaced FROM bulk_load_last();

-- privileges: as for INSERT, UPDATE of what is set and SELECT of what is read
CREATE ROLE regress_merger;
GRANT pg_read_server_files TO regress_merger;
GRANT INSERT, SELECT (id, hits) ON merged TO regress_merger;
SET ROLE regress_merger;
SELECT counts('merged', :'path', '{"header": "map", "on_duplicate": {"set": {"hits": "old.hits + 1"}}}');
RESET ROLE;
GRANT UPDATE (hits) ON merged TO regress_merger;
SET ROLE regress_merger;
SELECT counts('merged', :'path', '{"header": "map", "on_duplicate": {"set": {"hits": "old.hits + 1"}}}');
SELECT counts('merged', :'path', '{"header": "map", "on_duplicate": {"set": {"hits": "length(old.name)"}}}');
SELECT counts('merged', :'path', '{"header": "map", "on_duplicate": {"set": "all"}}');
SELECT counts('merged', :'path', '{"header": "map", "on_duplicate": {"delete": "true"}}');
RESET ROLE;
REVOKE ALL ON merged FROM regress_merger;
REVOKE pg_read_server_files FROM regress_merger;
DROP ROLE regress_merger;

-- nor without a column of the file
CREATE TABLE secrets (id int PRIMARY KEY DEFAULT 1, secret text);
INSERT INTO secrets VALUES (1, 'secret');
CREATE ROLE regress_merger;
GRANT pg_read_server_files TO regress_merger;
GRANT INSERT ON secrets TO regress_merger;
SELECT write_file(:'path', 'x');
SET ROLE regress_merger;
SELECT counts('secrets', :'path', '{"columns": [null], "on_duplicate": {"set": "all", "where": "old.secret::int > 0"}}');
RESET ROLE;
DROP TABLE secrets;
REVOKE pg_read_server_files FROM regress_merger;
DROP ROLE regress_merger;

-- "all" of what a function makes
CREATE TABLE made (id int PRIMARY KEY, v text);
INSERT INTO made VALUES (1, 'old');
CREATE FUNCTION make(a text, b text) RETURNS made LANGUAGE sql AS 'SELECT a::int, upper(b)';
SELECT write_file(:'path', '1,new');
SELECT counts('made', :'path', '{"transform": "make", "on_duplicate": {"set": "all"}}');
TABLE made;
DROP FUNCTION make;
DROP TABLE made;

-- rows that delete by a key that would be computed, or with them others of the load
CREATE TABLE keyed_by (a int, k int GENERATED ALWAYS AS (a * 2) STORED UNIQUE);
SELECT counts('keyed_by', :'path', '{"columns": ["a", null], "on_duplicate": {"delete": "true"}}');
DROP TABLE keyed_by;
CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree ON DELETE CASCADE, gone bool);
SELECT counts('tree', :'path', '{"on_duplicate": {"set": "all", "delete": "new.gone"}}');
DROP TABLE tree;

-- rows that subscribers could not identify; the server warns of a publication under wal_level = replica, and its log shall have no warnings
CREATE TABLE published (id int NOT NULL, v text);
CREATE UNIQUE INDEX published_id ON published (id);
INSERT INTO published VALUES (1, 'old');
SET client_min_messages = error;
SET log_min_messages = error;
CREATE PUBLICATION row_merge_updates FOR TABLE published WITH (publish = 'insert, update');
RESET log_min_messages;
SET client_min_messages = warning;
SELECT counts('published', :'path', '{"on_duplicate": {"set": "all"}}');
SELECT counts('published', :'path', '{"on_duplicate": {"set": {"v": "old.v || new.v"}}}');
SELECT counts('published', :'path', '{"on_duplicate": {"delete": "true"}}');
ALTER PUBLICATION row_merge_updates SET (publish = 'insert, delete');
SELECT write_file(:'path', '1,new');
SELECT counts('published', :'path', '{"on_duplicate": {"set": "all"}}');
SELECT counts('published', :'path', '{"on_duplicate": {"set": "all", "delete": "new.v = ''none''"}}');
ALTER TABLE published REPLICA IDENTITY USING INDEX published_id;
SELECT counts('published', :'path', '{"on_duplicate": {"set": "all", "delete": "new.v = ''none''"}}');
TABLE published;
DROP PUBLICATION row_merge_updates;
DROP TABLE published;

-- views
CREATE VIEW merged_view AS TABLE merged;
SELECT counts('merged_view', :'path', '{"on_duplicate": {"set": "all"}}');
DROP VIEW merged_view;
DROP TABLE merged, merged_rejects, keyed, computed, watched, child, parent, parted, hot;
DROP FUNCTION fill_merged, counts, write_file, tell, tell_all;
