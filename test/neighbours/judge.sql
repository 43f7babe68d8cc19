-- What the files beside this share.  Each judgement is a line: "ok - ..." or "not ok - ...".
\set ON_ERROR_STOP on
\set QUIET on
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE EXTENSION pgbulk;
CREATE SCHEMA judge;

CREATE FUNCTION judge.verdict(good bool, label text, why text DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN good THEN 'ok - ' ELSE 'not ok - ' END || label || CASE WHEN good THEN '' ELSE coalesce(': ' || why, '') END
$$;

-- How rows that are in the one table and not in the other look, or NULL.
CREATE FUNCTION judge.difference(one text, other text, columns text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	EXECUTE format($q$
		SELECT string_agg(d, '; ') FROM (
			SELECT CASE WHEN x.n > 0 THEN '+ ' ELSE '- ' END || x.r AS d
			FROM (SELECT r, sum(n) AS n FROM (SELECT (%1$s)::text AS r, 1 AS n FROM %2$s t UNION ALL SELECT (%1$s)::text, -1 FROM %3$s t) y GROUP BY r) x
			WHERE x.n <> 0 LIMIT 5) z$q$, columns, one, other) INTO found;
	RETURN found;
END $$;

/*
 * Loads what the query gives into two new tables, by COPY and in several ways by bulk_load, and
 * compares columns, an expression over t; probes, expressions too, are asked of both with indexes.
 * The definition has %1$s for the table's name; given: its columns that the file has, if not all.
 */
CREATE FUNCTION judge.same(label text, definition text, query text, columns text DEFAULT 't', probes text[] DEFAULT '{}',
	given text[] DEFAULT NULL) RETURNS SETOF text LANGUAGE plpgsql SET enable_seqscan = off SET pgbulk.chunk_size = 4096 AS $$
DECLARE
	file text := format('/proc/self/cwd/neighbour_%s.csv', pg_backend_pid());
	options jsonb := CASE WHEN given IS NULL THEN '{}' ELSE jsonb_build_object('columns', given) END;
	way jsonb;
	probe text;
	by_copy text;
	by_load text;
	why text;
	loaded bigint;
	found bigint;
BEGIN
	EXECUTE format('COPY (%s) TO %L WITH (FORMAT csv)', query, file);
	FOREACH way IN ARRAY ARRAY['{}', '{"writer": "buffered"}', '{"workers": 1}', '{"on_error": "ignore"}', '{"dry_run": true}']::jsonb[]
	LOOP
		BEGIN
			EXECUTE format(definition, 'by_copy');
			EXECUTE format(definition, 'by_load');
			EXECUTE format('COPY by_copy %s FROM %L WITH (FORMAT csv)', '(' || array_to_string(given, ', ') || ')', file);
			SELECT rows_loaded INTO loaded FROM bulk_load('by_load', file, options || way);
			EXECUTE 'SELECT count(*) FROM by_copy' INTO found;
			IF way ? 'dry_run' THEN
				why := CASE WHEN loaded <> found OR EXISTS (SELECT FROM by_load) THEN format('%s rows, not %s', loaded, found) END;
			ELSE
				why := CASE WHEN found = 0 THEN 'COPY has loaded nothing' ELSE judge.difference('by_load', 'by_copy', columns) END;
				FOREACH probe IN ARRAY probes
				LOOP
					EXECUTE format('SELECT string_agg((%s)::text, '';'' ORDER BY (%1$s)::text) FROM by_copy t WHERE %s', columns, probe) INTO by_copy;
					EXECUTE format('SELECT string_agg((%s)::text, '';'' ORDER BY (%1$s)::text) FROM by_load t WHERE %s', columns, probe) INTO by_load;
					IF by_copy IS NULL OR by_copy IS DISTINCT FROM by_load THEN
						why := concat_ws('; ', why, format('%s finds %s, not %s', probe, left(by_load, 80), left(by_copy, 80)));
					END IF;
				END LOOP;
			END IF;
			RAISE EXCEPTION USING ERRCODE = 'UNDOI';
		EXCEPTION
			WHEN SQLSTATE 'UNDOI' THEN
				NULL;
			WHEN OTHERS THEN
				why := format('%s %s', sqlstate, sqlerrm);
		END;
		RETURN NEXT judge.verdict(why IS NULL, label || CASE way WHEN '{}' THEN '' ELSE ', ' || way::text END, why);
	END LOOP;
END $$;

-- A bad value of a type is the row's fault; the rows around it are loaded.
CREATE FUNCTION judge.forgives(type text, good text, bad text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	file text := format('/proc/self/cwd/neighbour_%s.csv', pg_backend_pid());
	code text := 'none';
	r record;
BEGIN
	EXECUTE format('COPY (VALUES (1, %1$L), (2, %2$L), (3, %1$L)) TO %3$L WITH (FORMAT csv)', good, bad, file);
	EXECUTE format('CREATE TEMP TABLE forgives (a int, b %s)', type);
	BEGIN
		EXECUTE format('COPY forgives FROM %L WITH (FORMAT csv)', file);
	EXCEPTION WHEN OTHERS THEN
		code := sqlstate;
	END;
	BEGIN
		SELECT rows_loaded AS loaded, rows_rejected AS rejected INTO r FROM bulk_load('forgives', file, '{"on_error": "ignore", "log_verbosity": "silent"}');
	EXCEPTION WHEN OTHERS THEN
		SELECT sqlstate AS loaded, sqlerrm AS rejected INTO r;
	END;
	DROP TABLE forgives;
	RETURN judge.verdict(code <> 'none' AND r.loaded::text = '2', format('a bad value of %s, %s to COPY, is set aside', type, code), r::text);
END $$;
