-- A subscriber of pglogical, which is a database of the same server.
SELECT format('host=%s port=%s dbname=', setting, current_setting('port')) AS dsn FROM pg_settings WHERE name = 'unix_socket_directories' \gset
CREATE DATABASE neighbour_subscriber;
CREATE EXTENSION pglogical;
CREATE TABLE by_copy (a int PRIMARY KEY, b text);
CREATE TABLE by_load (LIKE by_copy INCLUDING ALL);
CREATE TABLE inserts (LIKE by_copy INCLUDING ALL);
SELECT pglogical.create_node('provider', :'dsn' || current_database()) \g /dev/null
SELECT pglogical.replication_set_add_table('default', t::regclass) FROM unnest('{by_copy,by_load}'::text[]) t \g /dev/null
SELECT pglogical.replication_set_add_table('default_insert_only', 'inserts') \g /dev/null
SELECT current_database() AS provider \gset
COPY (SELECT i, 'row ' || i FROM generate_series(1, 2000) i) TO '/proc/self/cwd/neighbour_sent.csv' WITH (FORMAT csv);
COPY (SELECT i, CASE i % 40 WHEN 0 THEN NULL ELSE 'row ' || i END FROM generate_series(1, 2000) i) TO '/proc/self/cwd/neighbour_sent_bad.csv' WITH (FORMAT csv);

\connect neighbour_subscriber
CREATE EXTENSION pglogical;
CREATE TABLE by_copy (a int PRIMARY KEY, b text);
CREATE TABLE by_load (LIKE by_copy INCLUDING ALL);
CREATE TABLE inserts (LIKE by_copy INCLUDING ALL);
SELECT pglogical.create_node('subscriber', :'dsn' || current_database()) \g /dev/null
SELECT pglogical.create_subscription('neighbour', :'dsn' || :'provider', synchronize_structure := false, synchronize_data := false) \g /dev/null
-- the provider's slot must be there before anything is written
DO $$
BEGIN
	FOR i IN 1 .. 6000 LOOP
		EXIT WHEN EXISTS (SELECT FROM pglogical.show_subscription_status() WHERE status = 'replicating');
		PERFORM pg_sleep(0.05);
	END LOOP;
END $$;

\connect :provider
ALTER TABLE inserts ALTER b SET NOT NULL;
COPY by_copy FROM '/proc/self/cwd/neighbour_sent.csv' WITH (FORMAT csv);
SELECT FROM bulk_load('by_load', '/proc/self/cwd/neighbour_sent.csv');
SELECT FROM bulk_load('inserts', '/proc/self/cwd/neighbour_sent_bad.csv', '{"on_error": "ignore", "log_verbosity": "silent"}');
SELECT md5(string_agg(t::text, ',' ORDER BY a)) AS inserts FROM inserts t \gset
SELECT pglogical.wait_slot_confirm_lsn(slot_name, NULL) FROM pg_replication_slots WHERE database = current_database() \g /dev/null

\connect neighbour_subscriber
SELECT CASE WHEN count(*) = 2000 AND NOT EXISTS (TABLE by_copy EXCEPT TABLE by_load)
	THEN 'ok' ELSE 'not ok' END || ' - pglogical sends the rows of a load: ' || count(*) FROM by_load;
SELECT CASE WHEN md5(string_agg(t::text, ',' ORDER BY a)) = :'inserts' THEN 'ok' ELSE 'not ok' END || ' - a set of inserts alone, with bad rows: ' || count(*) FROM inserts t;

\connect :provider
-- three in a session, as the third once crashed; a dry run is none
TRUNCATE by_copy;
COPY by_copy FROM '/proc/self/cwd/neighbour_sent.csv' WITH (FORMAT csv);
SELECT FROM bulk_load('by_load', '/proc/self/cwd/neighbour_sent.csv', '{"truncate": true}');
SELECT FROM bulk_load('by_load', '/proc/self/cwd/neighbour_sent.csv', '{"truncate": true, "dry_run": true}');
SELECT FROM bulk_load('by_load', '/proc/self/cwd/neighbour_sent.csv', '{"truncate": true, "writer": "buffered"}');
SELECT FROM bulk_load('by_load', '/proc/self/cwd/neighbour_sent.csv', '{"truncate": true}');
SELECT pglogical.wait_slot_confirm_lsn(slot_name, NULL) FROM pg_replication_slots WHERE database = current_database() \g /dev/null
\connect neighbour_subscriber
SELECT CASE WHEN count(*) = 2000 AND NOT EXISTS (TABLE by_copy EXCEPT TABLE by_load) THEN 'ok' ELSE 'not ok' END
	|| ' - pglogical sends the TRUNCATE of a load: ' || count(*) FROM by_load;
SELECT pglogical.drop_subscription('neighbour') \g /dev/null
