-- A table that was loaded is packed anew, and loaded again.
CREATE EXTENSION pg_repack;
CREATE TABLE by_load (a int PRIMARY KEY, b text);
CREATE INDEX ON by_load (b);
COPY (SELECT i, 'row ' || i FROM generate_series(1, 5000) i) TO '/proc/self/cwd/neighbour_packed.csv' WITH (FORMAT csv);
COPY (SELECT i, 'row ' || i FROM generate_series(5001, 9000) i) TO '/proc/self/cwd/neighbour_packed_more.csv' WITH (FORMAT csv);
SELECT FROM bulk_load('by_load', '/proc/self/cwd/neighbour_packed.csv');
DELETE FROM by_load WHERE a % 2 = 0;
SELECT pg_relation_filenode('by_load') AS before \gset
\! pg_repack --table by_load >/dev/null 2>&1
SELECT judge.verdict(pg_relation_filenode('by_load') <> :before AND count(*) = 2500, 'pg_repack of a loaded table', count(*)::text) FROM by_load;
SELECT FROM bulk_load('by_load', '/proc/self/cwd/neighbour_packed_more.csv', '{"writer": "direct", "indexes": "rebuild"}');
SET enable_seqscan = off;
SELECT judge.verdict(count(*) = 3, 'and a load of a packed one', count(*)::text) FROM by_load WHERE b IN ('row 77', 'row 5002', 'row 9000', 'row 78');
SELECT judge.verdict(count(*) = 6500, 'all rows', count(*)::text) FROM by_load;
