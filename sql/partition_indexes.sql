--
-- The direct writer into partitioned tables with indexes: those of each leaf that gets rows are built.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;

CREATE FUNCTION pg_temp.put(name text, data text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_partition_indexes_' || name;
BEGIN
	EXECUTE format('COPY (SELECT regexp_split_to_table(%L, E''\n'')) TO %L', rtrim(data, E'\n'), path);
	RETURN path;
END $$;
-- rows by leaf as COPY has them, by scans and by each index; how many btrees were looked at
CREATE FUNCTION pg_temp.compare(one regclass, other regclass, columns text DEFAULT 'x.*') RETURNS TABLE (nrows bigint, same bool, btrees bigint) LANGUAGE plpgsql AS $$
DECLARE
	a text;
	b text;
BEGIN
	EXECUTE format('SELECT count(*), md5(string_agg(r, '','' ORDER BY r COLLATE "C")) FROM (SELECT row(%s)::text AS r FROM %s x) y', columns, one) INTO nrows, a;
	EXECUTE format('SELECT md5(string_agg(r, '','' ORDER BY r COLLATE "C")) FROM (SELECT row(%s)::text AS r FROM %s x) y', columns, other) INTO b;
	same := a = b;
	SELECT count(bt_index_parent_check(i.indexrelid, true, true)) INTO btrees FROM pg_partition_tree(one) p JOIN pg_index i ON i.indrelid = p.relid
		JOIN pg_class c ON c.oid = i.indexrelid AND c.relkind = 'i' AND c.relam = 403;
	RETURN NEXT;
END $$;
CREATE FUNCTION pg_temp.one(target regclass, path text, options jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	context text;
BEGIN
	RETURN QUERY SELECT format('%s read, %s loaded, %s rejected, %s duplicate, %s replaced, %s', rows_read, rows_loaded, rows_rejected, rows_duplicate, rows_replaced, writer)
		FROM bulk_load(target, path, options);
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	RETURN NEXT concat_ws(' ', sqlstate || ':', regexp_replace(sqlerrm, 'fkey_?\d', 'fkey'), detail, regexp_replace(split_part(context, E'\n', 1), 'file "[^"]*"', 'file "..."'));
END $$;
-- how each index got its entries
CREATE FUNCTION pg_temp.how(details jsonb) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('%s %s: %s, %s', i ->> 'table', i ->> 'index', i ->> 'method', i ->> 'reason') FROM jsonb_array_elements(details -> 'indexes') i ORDER BY 1;
$$;

-- leaves on two levels, one with another order of columns and one with indexes of its own; one gets no rows
CREATE TABLE loaded (id int, day date, v text, n numeric DEFAULT 1, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE loaded_1 PARTITION OF loaded FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE loaded_2 (n numeric DEFAULT 1, gone int, day date NOT NULL, v text, id int NOT NULL);
ALTER TABLE loaded_2 DROP gone;
ALTER TABLE loaded ATTACH PARTITION loaded_2 FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
CREATE TABLE loaded_3 PARTITION OF loaded FOR VALUES FROM ('2024-03-01') TO ('2024-04-01') PARTITION BY HASH (id);
CREATE TABLE loaded_3a PARTITION OF loaded_3 FOR VALUES WITH (modulus 2, remainder 0);
CREATE TABLE loaded_3b PARTITION OF loaded_3 FOR VALUES WITH (modulus 2, remainder 1);
CREATE TABLE loaded_none PARTITION OF loaded FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
CREATE INDEX loaded_v ON loaded (v);
CREATE INDEX loaded_lower ON loaded (lower(v) COLLATE "C" DESC) INCLUDE (id) WHERE n > 1;
CREATE UNIQUE INDEX loaded_1_own ON loaded_1 (id);
CREATE INDEX loaded_3b_hash ON loaded_3b USING hash (id);
CREATE INDEX loaded_3b_brin ON loaded_3b USING brin (day);
CREATE TABLE copied (LIKE loaded INCLUDING DEFAULTS);
COPY (SELECT i, date '2024-01-01' + i % 90, md5((i % 3000)::text), i % 7 FROM generate_series(1, 20000) i) TO '/proc/self/cwd/pgbulk_partition_indexes_in' WITH (FORMAT csv);
COPY (SELECT i, date '2024-01-01' + i % 90, md5((i % 5000)::text), i % 7 FROM generate_series(20001, 24000) i) TO '/proc/self/cwd/pgbulk_partition_indexes_more' WITH (FORMAT csv);

BEGIN;
COPY copied FROM '/proc/self/cwd/pgbulk_partition_indexes_in' WITH (FORMAT csv);
SELECT rows_loaded, writer, details ->> 'not_direct' AS not_direct, h.how FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_partition_indexes_in'), LATERAL pg_temp.how(details) h (how);
-- leaves without new rows are unchanged
SELECT count(*) FROM pg_locks WHERE relation IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'loaded_none'::regclass);
COMMIT;
SELECT * FROM pg_temp.compare('loaded', 'copied', 'x.id, x.day, x.v, x.n');
SELECT bool_and(c.reltuples = (SELECT count(*) FROM loaded x WHERE x.tableoid = c.oid)) AS counted FROM pg_class c WHERE relname ~ '^loaded_[123][ab]?$' AND relkind = 'r';
-- by an index of each leaf
SET enable_seqscan = off;
SELECT count(*), sum(id) FROM loaded WHERE v = md5('77');
SELECT count(*), sum(id) FROM loaded WHERE lower(v) = md5('78') AND n > 1;
SELECT count(*) FROM loaded_3b WHERE id = (SELECT max(id) FROM copied WHERE day >= '2024-03-01' AND id % 2 = 0) OR id = 59;
SELECT count(*) FROM loaded_3b WHERE day = '2024-03-15';
RESET enable_seqscan;

-- with old rows: by every method, rolled back and committed; auto says why it is not direct
SELECT writer, details ->> 'not_direct' AS why FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_partition_indexes_more', '{"limit": 0}');
COPY copied FROM '/proc/self/cwd/pgbulk_partition_indexes_more' WITH (FORMAT csv);
SELECT relname, pg_relation_filenode(oid) AS node INTO TEMP before FROM pg_class WHERE relname LIKE 'loaded%' AND relkind = 'i' ORDER BY 1;
CREATE FUNCTION pg_temp.more(options jsonb) RETURNS TABLE (how text, same bool, btrees bigint) LANGUAGE plpgsql AS $$
BEGIN
	SELECT string_agg(h.how, E'\n') INTO how FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_partition_indexes_more', '{"writer": "direct"}' || options), LATERAL pg_temp.how(details) h (how);
	SELECT c.same, c.btrees INTO same, btrees FROM pg_temp.compare('loaded', 'copied', 'x.id, x.day, x.v, x.n') c;
	RETURN NEXT;
END $$;
BEGIN;
SELECT * FROM pg_temp.more('{"indexes": "insert"}');
ROLLBACK;
BEGIN;
SELECT * FROM pg_temp.more('{"indexes": "rebuild", "workers": 2}');
ROLLBACK;
SELECT count(*) AS changed FROM before b JOIN pg_class c USING (relname) WHERE b.node <> pg_relation_filenode(c.oid);
SELECT 1 FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_partition_indexes_more', '{"writer": "direct", "indexes": "merge"}');
DROP INDEX loaded_3b_hash, loaded_3b_brin;
BEGIN;
SELECT * FROM pg_temp.more('{"indexes": "merge", "workers": 2}');
ROLLBACK;
SELECT same, btrees FROM pg_temp.more('{}');
-- a leaf on its own, and a branch
TRUNCATE loaded, copied;
COPY copied FROM '/proc/self/cwd/pgbulk_partition_indexes_more' WITH (FORMAT csv) WHERE id % 90 >= 60;
SELECT rows_loaded, writer FROM bulk_load('loaded_3', '/proc/self/cwd/pgbulk_partition_indexes_more', '{"where": "id % 90 >= 60"}');
SELECT * FROM pg_temp.compare('loaded_3', 'copied', 'x.id, x.day, x.v, x.n');
TRUNCATE loaded, copied;

-- duplicates: the first one in the input is reported, whichever its leaf
SELECT pg_temp.put('twice', E'1,2024-01-01,a\n1,2024-02-01,a\n2,2024-03-01,b\n3,2024-03-01,b\n2,2024-02-05,c\n3,2024-03-01,d\n1,2024-02-01,e\n2,2024-03-01,f\n1,2024-01-09,g\n4,2025-12-31,h\n');
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_twice', format('{"columns": ["id", "day", "v"], "writer": %s}', w)::jsonb) FROM unnest('{"\"buffered\"", "\"direct\""}'::text[]) w;
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_twice', format('{"columns": ["id", "day", "v"], "writer": %s, "where": "v NOT IN (''d'', ''e'', ''f'')"}', w)::jsonb) FROM unnest('{"\"buffered\"", "\"direct\""}'::text[]) w;
SELECT pg_temp.one('loaded', pg_temp.put('bad', 'x'), '{"columns": ["id"], "reject_table": "partition_indexes_rejects", "on_error": "ignore", "log_verbosity": "silent"}');
TRUNCATE partition_indexes_rejects;
CREATE FUNCTION pg_temp.ways(policy text, more jsonb DEFAULT '{}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	way jsonb;
BEGIN
	FOR way IN SELECT jsonb_array_elements('[{"writer": "buffered"}, {"writer": "direct"}, {"writer": "direct", "indexes": "insert"}, {"writer": "direct", "indexes": "rebuild", "workers": 2}, {"writer": "direct", "indexes": "merge"}]') LOOP
		BEGIN
			RETURN NEXT way::text;
			RETURN QUERY SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_twice', '{"columns": ["id", "day", "v"], "reject_table": "partition_indexes_rejects", "log_verbosity": "silent"}'
				|| way || more || jsonb_build_object('on_duplicate', policy) - CASE WHEN policy = 'error' AND NOT more ? 'on_error' THEN '{reject_table,log_verbosity}'::text[] ELSE '{}' END);
			RETURN QUERY SELECT format('  line %s, %s: %s (%s)', line_number, reason, message, raw_line) FROM partition_indexes_rejects ORDER BY line_number, reason, message;
			RETURN QUERY SELECT string_agg(format('%s %s %s', id, to_char(day, 'MM-DD'), v), ', ' ORDER BY day, id) FROM loaded;
			PERFORM pg_temp.compare('loaded', 'copied', 'x.id');
			RAISE EXCEPTION division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
		END;
	END LOOP;
END $$;
SELECT pg_temp.ways('keep_old');
SELECT pg_temp.ways('keep_new');
INSERT INTO loaded VALUES (1, '2024-01-01', 'old'), (2, '2024-03-01', 'old'), (5, '2024-02-01', 'old'), (4, '2025-12-31', 'old');
SELECT pg_temp.ways('error');
SELECT pg_temp.ways('keep_old');
SELECT pg_temp.ways('keep_new');
-- foreign keys, too
CREATE TABLE partition_indexes_r (v text PRIMARY KEY);
INSERT INTO partition_indexes_r VALUES ('a'), ('b'), ('d'), ('f'), ('g'), ('h'), ('old');
ALTER TABLE loaded ADD FOREIGN KEY (v) REFERENCES partition_indexes_r;
SELECT pg_temp.ways('error', '{"on_error": "ignore"}');
SELECT pg_temp.ways('keep_old', '{"on_error": "ignore"}');
SELECT pg_temp.ways('keep_new', '{"on_error": "ignore"}');
-- others refer to rows that are replaced
CREATE TABLE partition_indexes_referring (id int, day date, FOREIGN KEY (id, day) REFERENCES loaded);
INSERT INTO partition_indexes_referring VALUES (1, '2024-01-01');
SELECT pg_temp.ways('keep_new', '{"on_error": "ignore"}');
-- within leaf 1, where another row replaces the referenced one
SELECT pg_temp.one('loaded', pg_temp.put('other', E'1,2024-01-30,a\n'), '{"columns": ["id", "day", "v"], "writer": "direct", "on_duplicate": "keep_new"}');
DROP TABLE partition_indexes_referring;
-- keys that delete rows of the table need the other writer
CREATE TABLE partition_indexes_m (id int PRIMARY KEY REFERENCES loaded_1 (id) ON DELETE CASCADE, v text);
ALTER TABLE loaded_2 ADD FOREIGN KEY (id) REFERENCES partition_indexes_m ON DELETE SET NULL NOT VALID;
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_twice', '{"columns": ["id", "day", "v"], "writer": "direct", "on_duplicate": "keep_new"}');
DROP TABLE partition_indexes_m CASCADE;
ALTER TABLE loaded ADD x int4range;
ALTER TABLE loaded_1 ADD CONSTRAINT apart EXCLUDE USING gist (x WITH &&);
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_twice', '{"columns": ["id", "day", "v"], "writer": "direct", "on_duplicate": "keep_old"}');
TRUNCATE loaded;
SELECT pg_temp.one('loaded', pg_temp.put('x', E'1,2024-01-30,"[1,5)"\n2,2024-01-30,"[6,9)"\n3,2024-02-03,"[6,9)"\n'), '{"columns": ["id", "day", "x"], "writer": "direct"}');
SELECT pg_temp.one('loaded', pg_temp.put('x', E'4,2024-01-30,"[3,4)"\n'), '{"columns": ["id", "day", "x"], "writer": "direct"}');
ALTER TABLE loaded_1 DROP CONSTRAINT apart;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'loaded_none_pkey'::regclass;
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_x', '{"columns": ["id", "day", "x"], "writer": "direct"}');
DROP TABLE loaded, partition_indexes_r, partition_indexes_rejects;

-- deferrable keys: rows that share one may be deleted before the transaction ends
CREATE TABLE loaded (id int, day date, v text, PRIMARY KEY (id, day) DEFERRABLE) PARTITION BY RANGE (day);
CREATE TABLE loaded_1 PARTITION OF loaded FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE loaded_2 PARTITION OF loaded DEFAULT;
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_twice', '{}');
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_twice', '{"writer": "direct", "workers": 1}');
DELETE FROM loaded a USING loaded b WHERE a.tableoid = b.tableoid AND a.id = b.id AND a.day = b.day AND a.ctid > b.ctid;
COMMIT;
SELECT string_agg(format('%s %s %s', id, to_char(day, 'MM-DD'), v), ', ' ORDER BY day, id) FROM loaded;
DROP TABLE loaded;
-- one that only a leaf has
CREATE TABLE loaded (id int, day date, v text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE loaded_1 PARTITION OF loaded FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE loaded_2 PARTITION OF loaded DEFAULT;
ALTER TABLE loaded_2 ADD UNIQUE (v) DEFERRABLE;
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_twice', format('{"on_duplicate": "%s", "writer": "%s"}', p, w)::jsonb)
	FROM unnest('{keep_old, keep_new}'::text[]) p, unnest('{buffered, direct}'::text[]) w;
DROP TABLE loaded;

-- nothing of a dry run remains; loading a file twice does not make a table larger
CREATE TABLE loaded (id int PRIMARY KEY, v text) PARTITION BY HASH (id);
SELECT format('CREATE TABLE loaded_%s PARTITION OF loaded FOR VALUES WITH (modulus 3, remainder %s)', i, i) FROM generate_series(0, 2) i \gexec
CREATE INDEX ON loaded (v);
CREATE FUNCTION pg_temp.sizes() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(pg_relation_size(c.oid) / 8192 || CASE WHEN c.relkind = 'i' THEN 'i' ELSE '' END, ' ' ORDER BY c.relname) FROM pg_class c
	WHERE relname LIKE 'loaded%' AND relkind IN ('i', 'r')
$$;
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_in', '{"columns": ["id", null, "v", null], "dry_run": true}');
SELECT pg_temp.sizes();
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_in', '{"columns": ["id", null, "v", null]}');
SELECT pg_temp.sizes() AS sizes, array_agg(pg_relation_filenode(oid) ORDER BY oid) AS nodes FROM pg_class WHERE relname LIKE 'loaded%' AND relkind = 'i' \gset
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_in', '{"columns": ["id", null, "v", null], "dry_run": true, "writer": "direct"}');
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_in', '{"columns": ["id", null, "v", null], "dry_run": true, "writer": "direct", "on_duplicate": "keep_new", "workers": 2}');
SELECT pg_temp.sizes() = :'sizes' AS same_sizes, array_agg(pg_relation_filenode(oid) ORDER BY oid) = :'nodes' AS same_files FROM pg_class WHERE relname LIKE 'loaded%' AND relkind = 'i';
SELECT rows_loaded, rows_duplicate, details ? 'bytes_freed' AS freed, h.how FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_partition_indexes_in',
	'{"columns": ["id", null, "v", null], "writer": "direct", "on_duplicate": "keep_old"}'), LATERAL pg_temp.how(details) h (how);
SELECT pg_temp.sizes() = :'sizes' AS same_sizes;
SELECT btrees FROM pg_temp.compare('loaded', 'loaded');
SELECT count(*), count(DISTINCT id) FROM loaded;
-- only the leaves that have lost most
SELECT pg_temp.put('some', (SELECT string_agg(format('%s,%s', i, i), E'\n') FROM generate_series(1, 60000) i WHERE i <= 20000 OR satisfies_hash_partition('loaded'::regclass, 3, 0, i)));
SELECT rows_loaded, rows_duplicate, details ? 'bytes_freed' AS freed, h.how ~ 'most rows of the load have gone' AS again, substring(h.how FROM 'loaded_\d_\w+') AS index
	FROM bulk_load('loaded', '/proc/self/cwd/pgbulk_partition_indexes_some', '{"writer": "direct", "on_duplicate": "keep_old"}'), LATERAL pg_temp.how(details) h (how);
SELECT btrees FROM pg_temp.compare('loaded', 'loaded');
SELECT count(*), count(DISTINCT id) FROM loaded;
-- unlogged and temporary ones
DROP TABLE loaded;
CREATE TEMP TABLE loaded (id int PRIMARY KEY, v text) PARTITION BY HASH (id);
CREATE TEMP TABLE loaded_0 PARTITION OF loaded FOR VALUES WITH (modulus 2, remainder 0);
CREATE TEMP TABLE loaded_1 PARTITION OF loaded FOR VALUES WITH (modulus 2, remainder 1);
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_in', '{"columns": ["id", null, "v", null], "workers": 2}');
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_more', '{"columns": ["id", null, "v", null], "workers": 2, "writer": "direct"}');
SELECT btrees FROM pg_temp.compare('loaded', 'loaded');
DROP TABLE loaded;
CREATE TABLE loaded (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
CREATE UNLOGGED TABLE loaded_0 PARTITION OF loaded FOR VALUES FROM (0) TO (21000);
CREATE TABLE loaded_1 PARTITION OF loaded FOR VALUES FROM (21000) TO (30000);
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_in', '{"columns": ["id", null, "v", null], "workers": 2}');
SELECT pg_temp.one('loaded', '/proc/self/cwd/pgbulk_partition_indexes_more', '{"columns": ["id", null, "v", null], "workers": 2, "writer": "direct"}');
SELECT btrees FROM pg_temp.compare('loaded', 'loaded');

DROP TABLE loaded, copied;
DROP EXTENSION amcheck;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_partition_indexes_gone; rm -f pgbulk_partition_indexes_*';

-- a replaced row is shown with the columns of the table that was loaded, whatever those of its partition
CREATE TABLE pi_form (a int, gone int, b text, PRIMARY KEY (a)) PARTITION BY RANGE (a);
ALTER TABLE pi_form DROP gone;
CREATE TABLE pi_form_1 (b text, a int NOT NULL, PRIMARY KEY (a));
ALTER TABLE pi_form ATTACH PARTITION pi_form_1 FOR VALUES FROM (0) TO (10);
COPY (VALUES (1, 'new')) TO '/proc/self/cwd/pgbulk_pi_form' WITH (FORMAT csv);
INSERT INTO pi_form VALUES (1, 'old');
SELECT rows_replaced, writer FROM bulk_load('pi_form', '/proc/self/cwd/pgbulk_pi_form', '{"on_duplicate": "keep_new", "reject_table": "pi_form_rejects", "writer": "direct", "log_verbosity": "silent"}');
SELECT rows_replaced, writer FROM bulk_load('pi_form', '/proc/self/cwd/pgbulk_pi_form', '{"on_duplicate": "keep_new", "reject_table": "pi_form_rejects", "writer": "buffered", "log_verbosity": "silent"}');
SELECT raw_line, (raw_line::pi_form).* FROM pi_form_rejects;
DROP TABLE pi_form, pi_form_rejects;
COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; rm -f pgbulk_pi_form';
