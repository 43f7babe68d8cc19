-- CREATE INDEX, constraints and REINDEX with pgbulk.create_index
CREATE EXTENSION amcheck;
SELECT rows_loaded FROM bulk_load_last();	-- loads the library
CREATE TABLE t (id int NOT NULL, few int, late timestamp, word text, long text);
INSERT INTO t SELECT i, nullif(i % 7, 3), timestamp '2020-01-01' + i * interval '37 min', 'word ' || i % 100, md5(i::text)
	FROM generate_series(1, 30000) i;
VACUUM ANALYZE t;
SELECT pg_relation_size('t') / 8192 >= 256 AS enough;

CREATE FUNCTION build(what text) RETURNS TABLE (reason text) LANGUAGE plpgsql AS $$
DECLARE
	before bigint := coalesce(sum(s.count), 0) FROM bulk_load_statements s WHERE s.taken;
	left_before bigint := coalesce(sum(s.count), 0) FROM bulk_load_statements s WHERE NOT s.taken;
BEGIN
	EXECUTE what;
	RETURN QUERY SELECT CASE WHEN sum(s.count) FILTER (WHERE s.taken) > before THEN 'taken'
		WHEN coalesce(sum(s.count) FILTER (WHERE NOT s.taken), 0) > left_before THEN 'left' ELSE 'not seen' END FROM bulk_load_statements s;
END$$;

-- Off is off.
SELECT * FROM bulk_load_statements;
SELECT build('CREATE INDEX off_id ON t (id)');
SELECT * FROM bulk_load_statements;
DROP INDEX off_id;
SET pgbulk.create_index = on;

-- A TOAST table's index is no CREATE INDEX of the user.
SELECT build('CREATE TABLE wide (t text)');
SELECT build('TRUNCATE wide');
DROP TABLE wide;

-- Keys of all kinds; what the server builds as fast is left to it.
SELECT build('CREATE INDEX t_id ON t (id)');
SELECT build('CREATE UNIQUE INDEX t_id_unique ON t (id DESC) WITH (fillfactor = 50)');
SELECT build('CREATE INDEX t_few ON t (few DESC NULLS LAST) WITH (deduplicate_items = off)');
SELECT build('CREATE INDEX t_late ON t (late)');
SELECT build('CREATE INDEX t_word ON t (word)');
SELECT build('CREATE INDEX t_word_c ON t (word COLLATE "C" DESC)');
SELECT build('CREATE INDEX t_pattern ON t (word text_pattern_ops)');
SELECT build('CREATE INDEX t_part ON t (id) WHERE few = 2');
SELECT build('CREATE INDEX t_expression ON t ((id % 100))');
SELECT build('CREATE INDEX t_include ON t (word) INCLUDE (id)');
SELECT build('CREATE INDEX t_two ON t (word COLLATE "C", few)');
SELECT build('CREATE INDEX t_numeric ON t ((id / 7::numeric))');
SELECT build('CREATE INDEX t_long_c ON t (long COLLATE "C")');
CREATE COLLATION of_system (provider = libc, locale = 'C.UTF-8');
SELECT build('CREATE INDEX t_long_own ON t (long COLLATE of_system)');
SELECT build('CREATE INDEX t_hash ON t USING hash (id)');
CREATE INDEX CONCURRENTLY t_beside ON t (id);
SELECT indexrelid::regclass, indisunique, indisready, indisvalid, indcheckxmin, reltuples,
	bt_index_check(indexrelid, true) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
	WHERE indrelid = 't'::regclass AND amname = 'btree' ORDER BY indexrelid::regclass::text COLLATE "C";
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*), min(id), max(id) FROM t WHERE few = 5;
SELECT count(*) FROM t WHERE few IS NULL;
SELECT count(*) FROM t WHERE word = 'word 42';
SELECT count(*) FROM t WHERE id % 100 = 42;
SELECT id FROM t WHERE id < 4 ORDER BY id DESC;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- REINDEX
SELECT build('REINDEX INDEX t_word');
SELECT build('REINDEX TABLE t');
SELECT bool_and(bt_index_check(indexrelid, true) IS NOT NULL) FROM pg_index WHERE indrelid = 't'::regclass
	AND indexrelid <> 't_hash'::regclass;
REINDEX (CONCURRENTLY) INDEX t_id;
REINDEX INDEX no_such_index;
REINDEX INDEX t;

-- REINDEX of more than a table commits after each index.
CREATE SCHEMA one;
CREATE TABLE one.parts (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE one.parts_1 PARTITION OF one.parts FOR VALUES FROM (0) TO (50000);
INSERT INTO one.parts SELECT * FROM t;
CREATE INDEX parts_id ON one.parts (id);
SELECT sum(count) AS before FROM bulk_load_statements WHERE taken \gset
REINDEX TABLE one.parts;
SELECT sum(count) - :before >= 1 AS taken FROM bulk_load_statements WHERE taken;
REINDEX SCHEMA one;
SELECT sum(count) - :before >= 2 AS taken FROM bulk_load_statements WHERE taken;
SELECT bt_index_check('one.parts_1_id_idx', true);
REINDEX TABLE one.parts_id;
DROP TABLE one.parts;
DROP SCHEMA one;

-- Rewrites of a table, also with rows of this transaction that it deleted.
CREATE TABLE rewritten (id int PRIMARY KEY, word text, late timestamp);
INSERT INTO rewritten SELECT id, long || long, late FROM t;
SELECT build('ALTER TABLE rewritten ALTER id TYPE bigint');
SELECT build('CLUSTER rewritten USING rewritten_pkey');
SELECT sum(count) AS before FROM bulk_load_statements WHERE taken \gset
VACUUM FULL rewritten;
SELECT sum(count) - :before >= 1 AS taken FROM bulk_load_statements WHERE taken;
SELECT bt_index_check('rewritten_pkey', true);
BEGIN;
DELETE FROM rewritten WHERE id % 2 = 0;
INSERT INTO rewritten SELECT id + 1, 'again', late FROM rewritten;
SELECT build('CLUSTER rewritten USING rewritten_pkey');
SELECT bt_index_check('rewritten_pkey', true);
COMMIT;
INSERT INTO rewritten VALUES (2);
CREATE MATERIALIZED VIEW shown AS SELECT * FROM rewritten;
CREATE UNIQUE INDEX ON shown (id);
SELECT build('REFRESH MATERIALIZED VIEW shown');
SELECT bt_index_check('shown_id_idx', true);
DROP MATERIALIZED VIEW shown;
DROP TABLE rewritten;

-- Constraints, and errors as the server has them.
CREATE UNIQUE INDEX t_few_unique ON t ((greatest(id, 5000)));
SET pgbulk.create_index = off;
CREATE UNIQUE INDEX t_few_unique ON t ((greatest(id, 5000)));
CREATE UNIQUE INDEX t_null_unique ON t ((nullif(id, id))) NULLS NOT DISTINCT;
SET pgbulk.create_index = on;
CREATE UNIQUE INDEX t_null_unique ON t ((nullif(id, id))) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX t_null_unique ON t ((nullif(id, id)));
CREATE INDEX t_error ON t ((100 / (id - 20000)));
SELECT to_regclass('t_few_unique'), to_regclass('t_error');
SELECT build('ALTER TABLE t ADD PRIMARY KEY (id)');
SELECT build('ALTER TABLE t ADD CONSTRAINT t_deferrable UNIQUE (id) DEFERRABLE INITIALLY DEFERRED');
INSERT INTO t (id) VALUES (7);
DROP INDEX t_id_unique;
ALTER TABLE t DROP CONSTRAINT t_pkey;
BEGIN;
INSERT INTO t (id) VALUES (30001);
UPDATE t SET id = 30001 WHERE id = 9;
COMMIT;
SELECT conname, contype, condeferrable, conindid::regclass FROM pg_constraint WHERE conrelid = 't'::regclass AND contype IN ('p', 'u') ORDER BY 1;

-- Its locks are the server's.
BEGIN;
SELECT build('CREATE INDEX t_locked ON t (id)');
SELECT build('REINDEX INDEX t_word');
SELECT relation::regclass, mode FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN ('t'::regclass, 't_locked'::regclass, 't_word'::regclass)
	ORDER BY relation::regclass::text COLLATE "C", mode;
ROLLBACK;

-- By several processes.
ALTER TABLE t SET (parallel_workers = 2);
SELECT build('CREATE INDEX t_many ON t (late, id)');
SELECT build('CREATE INDEX t_many_words ON t (word, id)');
SELECT build('CREATE UNIQUE INDEX t_many_id ON t (id)');
SELECT build('REINDEX INDEX t_many_id');
SELECT bt_index_check('t_many', true), bt_index_check('t_many_words', true), bt_index_check('t_many_id', true);
DROP INDEX t_many, t_many_words, t_many_id;
ALTER TABLE t RESET (parallel_workers);

-- Rows that others cannot see, and those of this transaction.
DROP INDEX t_few;
BEGIN;
UPDATE t SET few = 1 WHERE id % 3 = 0;
DELETE FROM t WHERE id % 5 = 0;
INSERT INTO t SELECT i, 11 FROM generate_series(40001, 40010) i;
SELECT build('CREATE INDEX t_few ON t (few)');
SET LOCAL enable_seqscan = off;
SELECT few, count(*) FROM t WHERE few IN (1, 2, 11) GROUP BY few ORDER BY few;
SAVEPOINT s;
SELECT build('CREATE UNIQUE INDEX t_again ON t (id)');
ROLLBACK TO s;
SELECT build('CREATE UNIQUE INDEX t_again ON t (id)');
COMMIT;
SELECT bt_index_check('t_few', true), bt_index_check('t_again', true);
UPDATE t SET id = 2 WHERE id = 1;

-- Tables of all kinds.
CREATE UNLOGGED TABLE u AS SELECT * FROM t;
SELECT build('CREATE INDEX u_id ON u (id)');
SELECT pg_relation_filepath('u_id') IS NOT NULL, pg_relation_size('u_id', 'init') > 0 AS init_fork;
CREATE TEMP TABLE p AS SELECT * FROM t;
CREATE INDEX ON p (id);
CREATE MATERIALIZED VIEW m AS SELECT * FROM t;
SELECT build('CREATE INDEX m_id ON m (id)');
CREATE TABLE parts (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (20000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (20000) TO (50000);
INSERT INTO parts SELECT * FROM t;
ALTER TABLE parts ADD PRIMARY KEY (id);
SELECT bt_index_check('parts_1_pkey', true), bt_index_check('parts_2_pkey', true);
CREATE TABLE small (id int PRIMARY KEY);
INSERT INTO small VALUES (2), (1);
CREATE TABLE none (word text);
SELECT build('CREATE INDEX ON small (id)');
SELECT build('CREATE INDEX ON small (id DESC)');
SELECT build('CREATE UNIQUE INDEX none_word ON none (length(word))');
CREATE UNIQUE INDEX small_wrong ON small ((id / 3));
SELECT bool_and(bt_index_check(indexrelid, true) IS NOT NULL) FROM pg_index WHERE indrelid IN ('small'::regclass, 'none'::regclass);
INSERT INTO none VALUES ('one');
INSERT INTO none VALUES ('two');
CREATE TABLE few AS SELECT md5(i::text) AS long FROM generate_series(1, 3000) i;
SELECT pg_relation_size('few') / 8192 BETWEEN 16 AND 64 AS small_but_not_tiny;
SELECT build('CREATE INDEX ON few (long COLLATE "C")');
BEGIN;
CREATE TABLE fresh AS SELECT * FROM t;
SELECT build('CREATE INDEX fresh_word ON fresh (word)');
COMMIT;
SELECT bt_index_check('fresh_word', true);
SELECT statement, taken, reason FROM bulk_load_statements ORDER BY statement, taken, reason COLLATE "C";

-- For tests: what the server builds as fast, too.
SET pgbulk.debug_create_index = on;
SELECT build('CREATE INDEX small_again ON small (id)');
SELECT build('CREATE INDEX t_long_c_again ON t (long COLLATE "C")');
SELECT build('CREATE UNIQUE INDEX t_numeric_again ON t ((id / 7::numeric))');
SELECT build('CREATE INDEX p_again ON p (id)');
SELECT bt_index_check('small_again', true), bt_index_check('t_long_c_again', true), bt_index_check('t_numeric_again', true);
RESET pgbulk.debug_create_index;
SELECT build('REINDEX INDEX t_numeric_again');

DROP MATERIALIZED VIEW m;
DROP TABLE t, u, p, parts, small, none, few, fresh;
DROP FUNCTION build;
DROP EXTENSION amcheck;
