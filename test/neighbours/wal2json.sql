-- What decoders send of a load is what they send of a COPY.
CREATE TABLE by_copy (a int PRIMARY KEY, b text, c numeric);
CREATE TABLE by_load (LIKE by_copy INCLUDING ALL);
CREATE TABLE par (k int PRIMARY KEY);
INSERT INTO par SELECT generate_series(1, 50);
COPY (SELECT i, 'row ' || i, i / 8.0 FROM generate_series(1, 2000) i) TO '/proc/self/cwd/neighbour_decoded.csv' WITH (FORMAT csv);
COPY (SELECT i, 'row ' || i, CASE i % 40 WHEN 0 THEN 'none' ELSE '1' END FROM generate_series(1, 2000) i) TO '/proc/self/cwd/neighbour_bad.csv' WITH (FORMAT csv);
COPY (SELECT i, 'row ' || i, '1' FROM generate_series(1, 2000) i WHERE i % 40 <> 0) TO '/proc/self/cwd/neighbour_good.csv' WITH (FORMAT csv);

-- What the slots have since the last time, without the table's name.
CREATE FUNCTION judge.stream(tag text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plain text;
	json1 text;
	json2 text;
	actions text;
BEGIN
	SELECT string_agg(data, E'\n') INTO json2 FROM pg_logical_slot_peek_changes('wal2json_' || tag, NULL, NULL, 'format-version', '2', 'filter-tables', 'public.par');
	SELECT string_agg(data, E'\n') INTO actions FROM pg_logical_slot_peek_changes('wal2json_' || tag, NULL, NULL, 'actions', 'insert');
	SELECT string_agg(data, E'\n') INTO json1 FROM pg_logical_slot_get_changes('wal2json_' || tag, NULL, NULL);
	SELECT string_agg(data, E'\n') INTO plain FROM pg_logical_slot_get_changes('test_decoding_' || tag, NULL, NULL, 'include-xids', 'off', 'skip-empty-xacts', 'on');
	RETURN replace(concat_ws(E'\n', plain, json1, json2, actions), 'by_load', 'by_copy');
END $$;
SELECT pg_create_logical_replication_slot('wal2json_neighbour', 'wal2json') \g /dev/null
SELECT pg_create_logical_replication_slot('test_decoding_neighbour', 'test_decoding') \g /dev/null

COPY by_copy FROM '/proc/self/cwd/neighbour_decoded.csv' WITH (FORMAT csv);
SELECT judge.stream('neighbour') AS wanted \gset
SELECT FROM bulk_load('by_load', '/proc/self/cwd/neighbour_decoded.csv');
SELECT judge.stream('neighbour') AS found \gset
SELECT judge.verdict(length(:'wanted') > 10000 AND :'wanted' = :'found', 'the stream of a load');

BEGIN;
TRUNCATE by_copy;
COPY by_copy FROM '/proc/self/cwd/neighbour_decoded.csv' WITH (FORMAT csv);
COMMIT;
SELECT judge.stream('neighbour') AS wanted \gset
SELECT FROM bulk_load('by_load', '/proc/self/cwd/neighbour_decoded.csv', '{"truncate": true}');
SELECT judge.stream('neighbour') AS found \gset
SELECT judge.verdict(:'wanted' LIKE '%TRUNCATE%' AND :'wanted' = :'found', 'of one with truncate');

TRUNCATE by_copy, by_load;
SELECT FROM judge.stream('neighbour');
COPY by_copy FROM '/proc/self/cwd/neighbour_good.csv' WITH (FORMAT csv);
SELECT judge.stream('neighbour') AS wanted \gset
SELECT FROM bulk_load('by_load', '/proc/self/cwd/neighbour_bad.csv', '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT judge.stream('neighbour') AS found \gset
SELECT judge.verdict(length(:'wanted') > 10000 AND :'wanted' = :'found', 'of one with bad rows');

TRUNCATE by_copy, by_load;
SELECT FROM judge.stream('neighbour');
SELECT FROM bulk_load('by_load', '/proc/self/cwd/neighbour_decoded.csv', '{"dry_run": true}');
SELECT judge.verdict(coalesce(judge.stream('neighbour'), '') !~ 'row 7', 'of a dry run: nothing');
SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name IN ('wal2json_neighbour', 'test_decoding_neighbour') \g /dev/null
