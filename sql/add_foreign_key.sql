--
-- ADD FOREIGN KEY and VALIDATE CONSTRAINT with pgbulk.foreign_keys: the outcome is the server's.
--
SET client_min_messages = warning;
CREATE SCHEMA keys;
SET search_path = keys, public;

-- What a command does with the setting off and on, alone and by workers, and how often it was taken or why not; it is rolled back.
CREATE FUNCTION try(command text, setting text, OUT outcome text, OUT checks text) LANGUAGE plpgsql AS $$
DECLARE
  message text; detail text; hint text; state text; constraint_name text;
BEGIN
  PERFORM set_config('pgbulk.foreign_keys', setting, false);
  CREATE TEMP TABLE before AS SELECT * FROM public.bulk_load_statements WHERE statement = 'ADD FOREIGN KEY';
  BEGIN
    EXECUTE command;
    RAISE EXCEPTION SQLSTATE 'OKAY0';
  EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
      hint = PG_EXCEPTION_HINT, constraint_name = CONSTRAINT_NAME;
    outcome := CASE state WHEN 'OKAY0' THEN 'good' ELSE concat_ws(' | ', state, message, detail, hint, constraint_name) END;
  END;
  SELECT string_agg(coalesce(n.reason, 'taken') || CASE WHEN n.count - coalesce(b.count, 0) > 1 THEN ' ' || n.count - coalesce(b.count, 0) ELSE '' END,
                    ', ' ORDER BY n.reason COLLATE "C" NULLS FIRST) INTO checks
    FROM public.bulk_load_statements n LEFT JOIN before b ON b.reason IS NOT DISTINCT FROM n.reason
    WHERE n.statement = 'ADD FOREIGN KEY' AND n.count > coalesce(b.count, 0);
  DROP TABLE before;
END $$;
CREATE FUNCTION same(command text, OUT outcome text, OUT checks text) LANGUAGE plpgsql AS $$
DECLARE
  off_outcome text; off_checks text; by_workers text; worker_checks text;
BEGIN
  SELECT * INTO off_outcome, off_checks FROM keys.try(command, 'off');
  SELECT * INTO outcome, checks FROM keys.try(command, 'on');
  SET pgbulk.debug_foreign_keys = on;
  SELECT * INTO by_workers, worker_checks FROM keys.try(command, 'on');
  RESET pgbulk.debug_foreign_keys;
  PERFORM set_config('pgbulk.foreign_keys', 'off', false);
  IF by_workers IS DISTINCT FROM outcome OR worker_checks IS DISTINCT FROM checks THEN
    outcome := format('DIFFERENT: %s, by workers %s, %s', outcome, by_workers, worker_checks);
  END IF;
  IF outcome IS DISTINCT FROM off_outcome OR off_checks IS NOT NULL THEN
    outcome := format('DIFFERENT: off %s, on %s', off_outcome, outcome);
  END IF;
END $$;

-- off by default
SELECT * FROM bulk_load_statements;
SHOW pgbulk.foreign_keys;

-- integers
CREATE TABLE p (id int PRIMARY KEY, big bigint UNIQUE, small smallint UNIQUE, name text COLLATE "C" UNIQUE, u uuid UNIQUE, d date UNIQUE,
  n numeric UNIQUE, b char(10) UNIQUE, v varchar(20) UNIQUE, f float8 UNIQUE, o oid UNIQUE, t bool, UNIQUE (id, name), UNIQUE (name, d));
INSERT INTO p SELECT i, i * 1000000000000, i - 500, 'name ' || i, md5(i::text)::uuid, date '2020-01-01' + i, i, i, 'v' || i, i, i, true
  FROM generate_series(1, 1000) i;
CREATE TABLE c AS SELECT i AS row, p.* FROM generate_series(1, 3000) i JOIN p ON p.id = i % 1000 + 1;
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (big) REFERENCES p (big)');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (small) REFERENCES p (small)');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (o) REFERENCES p (o)');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (d) REFERENCES p (d)');
-- of other types
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p (n)');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (row) REFERENCES p (big)');
SELECT * FROM same('ALTER TABLE c ALTER id TYPE bigint, ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('ALTER TABLE c ALTER id TYPE smallint, ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('UPDATE c SET small = -1 - small; ALTER TABLE c ADD FOREIGN KEY (small) REFERENCES p (small)');
-- rows without
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (row) REFERENCES p');
SELECT * FROM same('UPDATE c SET id = NULL; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('UPDATE c SET id = NULL WHERE row > 2; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('UPDATE c SET id = 0 WHERE row = 3000; ALTER TABLE c ADD CONSTRAINT "a ""key""" FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('UPDATE c SET id = -2147483648 WHERE row = 3000; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('UPDATE c SET id = 2147483647 WHERE row = 1; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
-- no rows at all
SELECT * FROM same('TRUNCATE c; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('DELETE FROM p; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('DELETE FROM p; DELETE FROM c; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
-- far apart
CREATE TABLE far (id bigint UNIQUE);
INSERT INTO far VALUES (9223372036854775807), (-9223372036854775808), (0), (NULL), (NULL);
CREATE TABLE near (id bigint);
INSERT INTO near SELECT id FROM far, generate_series(1, 100);
SELECT * FROM same('ALTER TABLE near ADD FOREIGN KEY (id) REFERENCES far (id)');
SELECT * FROM same('INSERT INTO near VALUES (1); ALTER TABLE near ADD FOREIGN KEY (id) REFERENCES far (id)');
SELECT * FROM same('INSERT INTO near VALUES (9223372036854775806); ALTER TABLE near ADD FOREIGN KEY (id) REFERENCES far (id)');
SELECT * FROM same('DELETE FROM far WHERE id = 0; DELETE FROM near WHERE id = 0; ALTER TABLE near ADD FOREIGN KEY (id) REFERENCES far (id)');

-- texts and others
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (name) REFERENCES p (name)');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (v) REFERENCES p (v)');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (u) REFERENCES p (u)');
SELECT * FROM same('ALTER TABLE c ALTER name TYPE varchar(20) COLLATE "POSIX", ADD FOREIGN KEY (name) REFERENCES p (name)');
SELECT * FROM same('ALTER TABLE c ALTER b TYPE text, ADD FOREIGN KEY (b) REFERENCES p (v)');
SELECT * FROM same('UPDATE c SET v = '''' WHERE row = 7; ALTER TABLE c ADD FOREIGN KEY (v) REFERENCES p (v)');
SELECT * FROM same('INSERT INTO p (id, v) VALUES (0, ''''); UPDATE c SET v = '''' WHERE row = 7; ALTER TABLE c ADD FOREIGN KEY (v) REFERENCES p (v)');
SELECT * FROM same('UPDATE c SET name = ''Name 1'' WHERE row = 7; ALTER TABLE c ADD FOREIGN KEY (name) REFERENCES p (name)');
-- equal, but not the same bytes
SELECT * FROM same('UPDATE c SET n = n::numeric(10, 2); ALTER TABLE c ADD FOREIGN KEY (n) REFERENCES p (n)');
SELECT * FROM same('ALTER TABLE c ALTER b TYPE char(30), ADD FOREIGN KEY (b) REFERENCES p (b)');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (f) REFERENCES p (f)');
-- domains
CREATE DOMAIN word AS varchar(20);
CREATE DOMAIN number AS bigint;
SELECT * FROM same('ALTER TABLE c ALTER name TYPE word, ALTER id TYPE number, ADD FOREIGN KEY (id) REFERENCES p, ADD FOREIGN KEY (name) REFERENCES p (name)');
-- wide values, stored elsewhere or compressed
CREATE TABLE wide_p (a text PRIMARY KEY);
INSERT INTO wide_p SELECT repeat(i || ' ', 500) FROM generate_series(1, 50) i;
CREATE TABLE wide_c (filler text, a text);
ALTER TABLE wide_c ALTER a SET STORAGE external;
INSERT INTO wide_c SELECT 'x', a FROM wide_p, generate_series(1, 20);
SELECT * FROM same('ALTER TABLE wide_c ADD FOREIGN KEY (a) REFERENCES wide_p');
SELECT left(outcome, 95), checks FROM same('UPDATE wide_c SET a = a || ''x'' WHERE ctid = ''(1,1)''; ALTER TABLE wide_c ADD FOREIGN KEY (a) REFERENCES wide_p');

-- several columns, in another order than the index has
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (id, name) REFERENCES p (id, name)');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (d, name) REFERENCES p (d, name)');
SELECT * FROM same('ALTER TABLE c ALTER id TYPE bigint, ADD FOREIGN KEY (name, id) REFERENCES p (name, id)');
SELECT * FROM same('UPDATE c SET name = ''name 5'' WHERE row = 2; ALTER TABLE c ADD FOREIGN KEY (id, name) REFERENCES p (id, name)');
SELECT * FROM same('UPDATE c SET id = 0, name = NULL WHERE row = 2; ALTER TABLE c ADD FOREIGN KEY (id, name) REFERENCES p (id, name)');
SELECT * FROM same('UPDATE c SET id = 0, name = NULL WHERE row = 2; ALTER TABLE c ADD FOREIGN KEY (id, name) REFERENCES p (id, name) MATCH FULL');
SELECT * FROM same('UPDATE c SET id = NULL, name = NULL; ALTER TABLE c ADD FOREIGN KEY (id, name) REFERENCES p (id, name) MATCH FULL');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (id, name) REFERENCES p (id, name) MATCH FULL');
-- bytes that run together the same way
CREATE TABLE pair_p (a text, b text, PRIMARY KEY (a, b));
INSERT INTO pair_p VALUES ('ab', 'c'), ('', 'd');
CREATE TABLE pair_c (a text, b text);
INSERT INTO pair_c VALUES ('ab', 'c'), ('', 'd');
SELECT * FROM same('ALTER TABLE pair_c ADD FOREIGN KEY (a, b) REFERENCES pair_p');
SELECT * FROM same('INSERT INTO pair_c VALUES (''a'', ''bc''); ALTER TABLE pair_c ADD FOREIGN KEY (a, b) REFERENCES pair_p');

-- what a statement, a transaction and others see
SELECT * FROM same('DELETE FROM p WHERE id = 17; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('DELETE FROM p WHERE id = 17; DELETE FROM c WHERE id = 17; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('UPDATE p SET id = id + 1000; UPDATE c SET id = id + 1000; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('UPDATE p SET id = id + 1000 WHERE id = 5; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same($$DO 'BEGIN BEGIN DELETE FROM p; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p; END'$$);
SELECT * FROM same($$DO 'BEGIN BEGIN UPDATE c SET id = 0; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p; END'$$);
-- a column of which old rows store nothing
SELECT * FROM same('ALTER TABLE c ADD x int DEFAULT 5, ADD FOREIGN KEY (x) REFERENCES p');
SELECT * FROM same('ALTER TABLE c ADD x int DEFAULT 0, ADD FOREIGN KEY (x) REFERENCES p');
SELECT * FROM same('ALTER TABLE c ADD x int DEFAULT 5; ALTER TABLE c DROP d, ADD FOREIGN KEY (x) REFERENCES p');
SELECT * FROM same('ALTER TABLE c ADD x int REFERENCES p DEFAULT 5');
SELECT * FROM same('ALTER TABLE c ADD x int GENERATED ALWAYS AS (id + 1) STORED REFERENCES p');

-- forms of the statement
SELECT * FROM same('ALTER TABLE c ADD CONSTRAINT later FOREIGN KEY (id) REFERENCES p NOT VALID; ALTER TABLE c VALIDATE CONSTRAINT later');
SELECT * FROM same('ALTER TABLE c ADD CONSTRAINT later FOREIGN KEY (row) REFERENCES p NOT VALID; ALTER TABLE c VALIDATE CONSTRAINT later');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p, ADD FOREIGN KEY (name) REFERENCES p (name), ADD FOREIGN KEY (n) REFERENCES p (n)');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p, ADD FOREIGN KEY (row) REFERENCES p');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('ALTER TABLE p ADD FOREIGN KEY (small) REFERENCES p (small)');
SELECT * FROM same('ALTER TABLE p ADD FOREIGN KEY (big) REFERENCES p (id)');
SELECT * FROM same('CREATE TEMP TABLE tp AS TABLE p; CREATE TEMP TABLE tc AS TABLE c; ALTER TABLE tp ADD PRIMARY KEY (id); ALTER TABLE tc ADD FOREIGN KEY (id) REFERENCES tp');
SELECT * FROM same('CREATE TABLE made (id int REFERENCES p)');
SELECT * FROM same('ALTER TABLE c RENAME TO "a ""table"" é"; ALTER TABLE "a ""table"" é" RENAME id TO "the ""id"""; ALTER TABLE "a ""table"" é" ADD FOREIGN KEY ("the ""id""") REFERENCES p');
-- of a unique index without a constraint
SELECT * FROM same('CREATE TABLE only_index AS TABLE p; CREATE UNIQUE INDEX ON only_index (id); ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES only_index (id)');

-- partitions and children
CREATE TABLE pp (id int PRIMARY KEY);
INSERT INTO pp SELECT generate_series(1, 1000);
CREATE TABLE parts (id int, d date) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1) TO (500);
CREATE TABLE parts_2 (d date, id int);
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (500) TO (2000);
INSERT INTO parts SELECT id, d FROM c;
SELECT * FROM same('ALTER TABLE parts ADD FOREIGN KEY (id) REFERENCES pp');
SELECT * FROM same('INSERT INTO parts VALUES (1500); ALTER TABLE parts ADD FOREIGN KEY (id) REFERENCES pp');
SELECT * FROM same('DELETE FROM parts; INSERT INTO parts SELECT id FROM pp; ALTER TABLE parts ADD PRIMARY KEY (id); ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES parts');
SELECT * FROM same('ALTER TABLE parts DETACH PARTITION parts_2; ALTER TABLE parts ADD FOREIGN KEY (id) REFERENCES pp; ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (500) TO (2000)');
SELECT * FROM same('ALTER TABLE parts DETACH PARTITION parts_2; ALTER TABLE parts ADD FOREIGN KEY (id) REFERENCES pp; UPDATE parts_2 SET id = 1500; ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (500) TO (2000)');
SELECT * FROM same('CREATE TABLE child () INHERITS (p); INSERT INTO child (id) VALUES (2000); UPDATE c SET id = 2000; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('CREATE TABLE child () INHERITS (c); INSERT INTO child (id) VALUES (2000); ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');

-- tables of very different size; memory
CREATE TABLE many (id int PRIMARY KEY);
INSERT INTO many SELECT generate_series(1, 100000);
CREATE TABLE few AS SELECT id FROM many LIMIT 100;
ANALYZE many, few;
SELECT * FROM same('ALTER TABLE few ADD FOREIGN KEY (id) REFERENCES many');
SET maintenance_work_mem = '1MB';
SELECT * FROM same('CREATE TABLE many_c AS SELECT id FROM many; ALTER TABLE many_c ADD FOREIGN KEY (id) REFERENCES many');
RESET maintenance_work_mem;
SELECT * FROM same('CREATE TABLE many_c AS SELECT id FROM many; ALTER TABLE many_c ADD FOREIGN KEY (id) REFERENCES many');

-- rows of many pages
CREATE TABLE users (name text COLLATE "C" PRIMARY KEY);
INSERT INTO users SELECT 'user ' || i FROM generate_series(1, 1000) i;
CREATE TABLE votes AS SELECT i AS id, 'user ' || i % 1000 + 1 AS name, repeat('x', 80) AS rest FROM generate_series(1, 20000) i;
ANALYZE users, votes;
SELECT * FROM same('ALTER TABLE votes ADD FOREIGN KEY (name) REFERENCES users');
SELECT * FROM same('UPDATE votes SET name = ''user 0'' WHERE id = 20000; ALTER TABLE votes ADD FOREIGN KEY (name) REFERENCES users');
SELECT * FROM same('UPDATE votes SET name = ''user 0'' WHERE id = 1; ALTER TABLE votes ADD FOREIGN KEY (name) REFERENCES users');
SELECT * FROM same('INSERT INTO votes VALUES (0, ''user 0''); ALTER TABLE votes ADD FOREIGN KEY (name) REFERENCES users');
SELECT * FROM same('DELETE FROM users WHERE name = ''user 7''; ALTER TABLE votes ADD FOREIGN KEY (name) REFERENCES users');
SELECT * FROM same('DELETE FROM users WHERE name = ''user 7''; INSERT INTO users VALUES (''user 7''); ALTER TABLE votes ADD FOREIGN KEY (name) REFERENCES users');
-- rows that are seen no more, or not any more: of savepoints, old versions, locked ones
BEGIN;
SAVEPOINT s;
INSERT INTO votes VALUES (0, 'user 0');
UPDATE users SET name = 'renamed' WHERE name = 'user 7';
ROLLBACK TO s;
UPDATE votes SET rest = '' WHERE id % 500 = 0;
DELETE FROM votes WHERE id % 300 = 0;
SELECT count(*) FROM (SELECT FROM votes WHERE id % 701 = 0 FOR UPDATE) locked;
SELECT * FROM same('ALTER TABLE votes ADD FOREIGN KEY (name) REFERENCES users');
SELECT * FROM same('UPDATE votes SET name = ''user 0'' WHERE id = 10001; ALTER TABLE votes ADD FOREIGN KEY (name) REFERENCES users');
UPDATE votes SET name = 'user 0' WHERE id = 10001;
DELETE FROM votes WHERE id = 10001;
SELECT * FROM same('ALTER TABLE votes ADD FOREIGN KEY (name) REFERENCES users');
COMMIT;
SELECT * FROM same('ALTER TABLE votes ADD FOREIGN KEY (name) REFERENCES users');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM same('ALTER TABLE votes ADD FOREIGN KEY (name) REFERENCES users');
COMMIT;

-- privileges and row-level security
CREATE ROLE keys_owner;
GRANT ALL ON SCHEMA keys TO keys_owner;
ALTER TABLE c OWNER TO keys_owner;
GRANT REFERENCES ON p TO keys_owner;
SELECT * FROM same('SET ROLE keys_owner; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('SET ROLE keys_owner; ALTER TABLE c ADD FOREIGN KEY (row) REFERENCES p');
GRANT SELECT (id) ON p TO keys_owner;
SELECT * FROM same('SET ROLE keys_owner; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('SET ROLE keys_owner; ALTER TABLE c ADD FOREIGN KEY (row) REFERENCES p');
ALTER TABLE p ENABLE ROW LEVEL SECURITY;
SELECT * FROM same('SET ROLE keys_owner; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
ALTER TABLE p DISABLE ROW LEVEL SECURITY;
ALTER TABLE c ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT * FROM same('SET ROLE keys_owner; ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p');
SELECT * FROM same('SET ROLE keys_owner; ALTER TABLE c ADD FOREIGN KEY (row) REFERENCES p');

DROP SCHEMA keys CASCADE;
DROP ROLE keys_owner;
