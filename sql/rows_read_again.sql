--
-- Rows that turn out to be duplicates in the end are read again from their file, which may have gone, or have changed, meanwhile.
--
SET client_min_messages = warning;
-- a check that has a command run at the last row
CREATE FUNCTION rows_read_again_runs(i int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	IF i = 1000 THEN
		EXECUTE format('COPY (SELECT 1) TO PROGRAM %L', 'cat > /dev/null; ' || current_setting('rows_read_again.command'));
	END IF;
	RETURN true;
END $$;
CREATE TABLE rows_read_again (i int CHECK (rows_read_again_runs(i)), k int PRIMARY KEY, s text);
CREATE FUNCTION pg_temp.load(command text, options jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record; message text; detail text;
BEGIN
	COPY (SELECT i, i / 3, 'row ' || i FROM generate_series(1, 1000) i) TO '/proc/self/cwd/pgbulk_rows_read_again' WITH (FORMAT csv);
	TRUNCATE rows_read_again;
	PERFORM set_config('rows_read_again.command', command, true);
	SELECT * INTO r FROM bulk_load('rows_read_again', '/proc/self/cwd/pgbulk_rows_read_again', '{"writer": "direct", "workers": 0, "on_duplicate": "keep_new"}' || options);
	RETURN concat_ws(' ', r.rows_loaded, 'loaded', r.rows_duplicate, r.rows_replaced, (SELECT count(*) FROM rows_read_again));
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	RETURN concat_ws(' / ', SQLSTATE, message, nullif(detail, ''));
END $$;
CREATE TABLE rows_read_again_rejects (load_id bigint, target text, loaded_at timestamptz, file text, line_number bigint, byte_offset bigint,
	reason text, column_name text, field_value text, sqlstate text, message text, raw_line text, raw_bytes bytea);

SELECT pg_temp.load('true', '{"on_duplicate": "keep_old", "reject_table": "rows_read_again_rejects"}');
SELECT count(*), min(raw_line), max(raw_line) FROM rows_read_again_rejects;
-- nobody sees these, or the first of them, or all
SELECT pg_temp.load('rm pgbulk_rows_read_again', '{"on_duplicate": "keep_old", "log_verbosity": "silent"}');
SELECT pg_temp.load('rm pgbulk_rows_read_again', '{"on_duplicate": "keep_old"}');
SELECT pg_temp.load('rm pgbulk_rows_read_again', '{"on_duplicate": "keep_old", "reject_table": "rows_read_again_rejects"}');
SELECT pg_temp.load('rm pgbulk_rows_read_again', '{"on_duplicate": "keep_new"}');
-- an error about one of them
SELECT pg_temp.load('rm pgbulk_rows_read_again', '{"on_duplicate": "error"}');
-- others' bytes are not taken for theirs
SELECT pg_temp.load('sed -i s/row/ROW/ pgbulk_rows_read_again', '{"on_duplicate": "keep_old", "log_verbosity": "silent"}');
SELECT pg_temp.load('sed -i s/row/ROW/ pgbulk_rows_read_again', '{"on_duplicate": "keep_old"}');
SELECT pg_temp.load('sed -i s/row/ROW/ pgbulk_rows_read_again', '{"on_duplicate": "keep_old", "reject_table": "rows_read_again_rejects"}');
SELECT count(*), min(raw_line), max(raw_line) FROM rows_read_again_rejects;

DROP TABLE rows_read_again, rows_read_again_rejects;
DROP FUNCTION rows_read_again_runs(int);
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_rows_read_again_gone; rm -f pgbulk_rows_read_again*';
