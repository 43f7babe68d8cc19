-- A picture of a load's time.

-- none yet
SELECT * FROM bulk_load_timeline();
SELECT * FROM bulk_load_timeline(NULL);
SELECT * FROM bulk_load_timeline('{}');

-- phases after one another, each with the share on a CPU; indexes at the beginning of theirs
SELECT * FROM bulk_load_timeline('{
  "seconds": {"open": 0.001, "load": 1, "indexes": 0.6, "constraints": 0.4},
  "cpu_seconds": {"open": 0.001, "load": 1.5, "indexes": 0.9, "constraints": 0.1},
  "idle_seconds": {"open": 0, "load": 0.5, "indexes": 0.3, "constraints": 0.3},
  "indexes": [{"index": "votes_pkey", "method": "rebuild", "seconds": 0.5},
              {"index": "votes_link", "method": "insert"},
              {"index": "votes_username", "method": "merge", "seconds": 0.25}]}');
-- short ones are seen, ones without time are not
SELECT phase, seconds, length(timeline), trim(timeline) = '' AS empty FROM bulk_load_timeline('{
  "seconds": {"open": 0.000001, "load": 9.9, "indexes": 0, "constraints": 0.000001},
  "cpu_seconds": {"open": 0.000001, "load": 9.9, "indexes": 0, "constraints": 0.000001},
  "idle_seconds": {"open": 0, "load": 0, "indexes": 0, "constraints": 0}}');
-- nor is anything where nothing took time
SELECT * FROM bulk_load_timeline('{"seconds": {"open": 0, "load": 0}, "cpu_seconds": {"open": 0, "load": 0}, "idle_seconds": {"open": 0, "load": 0}}');

-- that of the last load; it fits 100 columns, and so does the result row where psql folds it
CREATE TABLE timeline_votes (id int PRIMARY KEY, name text);
CREATE INDEX timeline_name ON timeline_votes (name);
SELECT rows_loaded FROM bulk_load_query('timeline_votes', 'SELECT i, i::text FROM generate_series(1, 10000) i');
SELECT phase, seconds IS NOT NULL AS timed, length(timeline) <= 30 AS fits FROM bulk_load_timeline();
SELECT t.seconds = round(sum(p.value::numeric), 3) AS sum_of_phases
FROM bulk_load_last() l, jsonb_each_text(l.details -> 'seconds') p, bulk_load_timeline(l.details) t WHERE t.phase = 'all' GROUP BY t.seconds;
\o | LC_ALL=C awk '{ gsub(/\342\226[\210\221]/, "x") } length($0) > 100 { wide++ } END { print (NR > 5), wide + 0 }'
SELECT * FROM bulk_load_timeline();
\o
\pset columns 100
\pset format wrapped
\x auto
\o | awk 'length($0) > 100 { wide++ } END { print (NR > 12), wide + 0 }'
SELECT * FROM bulk_load_last();
\o
\x off
\pset format aligned

-- no other role sees the last one
CREATE ROLE timeline_other;
SET ROLE timeline_other;
SELECT count(*) FROM bulk_load_timeline();
RESET ROLE;
DROP ROLE timeline_other;
DROP TABLE timeline_votes;
