-- The result of a load on one line.

-- none yet
SELECT * FROM bulk_load_summary();
SELECT * FROM bulk_load_summary(NULL);
SELECT * FROM bulk_load_summary('{}');

-- every counter; the widest that a line of 100 columns has room for
SELECT * FROM bulk_load_summary('{
  "rows_loaded": 9999999999, "rows_rejected": 99999999, "rows_duplicate": 999999999, "rows_replaced": 99999999, "rows_deleted": 9999999,
  "rows_filtered": 99999999, "rows_read": 11999999995, "bytes_read": 10736344498, "writer": "buffered", "workers": 64,
  "elapsed": "02:46:39.9994", "details": {}}');
\o | awk 'length($0) > width { width = length($0) } END { print width }'
\g
\o
SELECT size FROM unnest(ARRAY[0, 10239, 10240, 178354999, 75000000000]) bytes, bulk_load_summary(jsonb_build_object('rows_read', 1, 'bytes_read', bytes));

-- of the last load, and of a load in the same statement
CREATE TABLE summary_votes (id int PRIMARY KEY, name text NOT NULL);
COPY (SELECT i % 9 + 1, CASE WHEN i % 5 > 0 THEN 'x' END FROM generate_series(1, 20) i) TO '/proc/self/cwd/pgbulk_summary_in' (FORMAT csv);
SELECT rows_read, bytes_read FROM bulk_load('summary_votes', '/proc/self/cwd/pgbulk_summary_in',
	'{"on_error": "ignore", "on_duplicate": "keep_old", "where": "id <> 2", "log_verbosity": "silent"}');
SELECT loaded, rejected, duplicate, replaced, deleted, filtered, size, seconds BETWEEN 0 AND 100 AS timed, writer FROM bulk_load_summary();
SELECT s.loaded, s.duplicate, l.rows_read, s.writer = l.writer AS writer, s.seconds = round(extract(epoch FROM l.elapsed), 3) AS seconds
FROM bulk_load('summary_votes', '/proc/self/cwd/pgbulk_summary_in',
	'{"on_error": "ignore", "on_duplicate": "keep_new", "log_verbosity": "silent"}') l, bulk_load_summary(to_jsonb(l)) s;
\o | awk 'length($0) > 100 { wide++ } END { print (NR > 3), wide + 0 }'
SELECT * FROM bulk_load_summary();
\o

-- no other role sees the last one
CREATE ROLE summary_other;
SET ROLE summary_other;
SELECT * FROM bulk_load_summary();
RESET ROLE;
DROP ROLE summary_other;
DROP TABLE summary_votes;
