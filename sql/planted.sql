--
-- Objects that attackers may plant: functions, operators, types and casts under the names that the extension's
-- script and the statements of a load use, in the extension's schema and in the search path.  None is ever called.
--
SET client_min_messages = warning;
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_planted_' || name;
	object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
SELECT pg_temp.put('csv', E'1,one,1.5,2024-01-01\n2,two,x,2024-01-02\n3,three,3.5,2024-01-03\n1,again,1.5,2024-01-04\n9,orphan,1,2024-01-05\n') AS f \gset
SELECT pg_temp.put('ctl', E'OUTPUT = public.planted_t\nINPUT = /tmp/none.csv\nTYPE = CSV\n') AS ctl \gset
SELECT pg_temp.put('numbers', E'OUTPUT = public.planted_numbers\nINPUT = pg_catalog.generate_series(1, 3)\nTYPE = FUNCTION\n') AS numbers \gset

-- what the script's views run, and its functions in SQL
CREATE TABLE planted_names AS
SELECT DISTINCT m[1] AS name, 'f' AS kind FROM regexp_matches(concat(pg_get_viewdef('bulk_load_progress_wide'), pg_get_viewdef('bulk_load_progress'), pg_get_function_sqlbody('bulk_load_timeline'::regproc), pg_get_function_sqlbody('bulk_load_summary'::regproc)), '([a-z_]+)\(', 'g') m
UNION SELECT DISTINCT m[1], 'o' FROM regexp_matches(concat(pg_get_viewdef('bulk_load_progress_wide'), pg_get_viewdef('bulk_load_progress'), pg_get_function_sqlbody('bulk_load_timeline'::regproc), pg_get_function_sqlbody('bulk_load_summary'::regproc)), '(?<= )([-+*/<>=&|]+)(?= )', 'g') m WHERE m[1] <> '=>';
SELECT count(*) > 7 AS functions FROM planted_names WHERE kind = 'f';
SELECT count(*) > 7 AS operators FROM planted_names WHERE kind = 'o';

DROP EXTENSION pgbulk;
CREATE SCHEMA planted;
CREATE SEQUENCE planted.calls;
CREATE TYPE planted.anything AS (x int);
SET check_function_bodies = off;
DO $$
DECLARE
	types text[] := '{int4,int8,numeric,float8,oid,regclass,text,varchar,name,bytea,timestamptz,interval}';
	body text := $b$LANGUAGE plpgsql AS 'BEGIN PERFORM pg_catalog.nextval(''planted.calls''::pg_catalog.regclass); %s END'$b$;
	one text := format(body, 'RETURN NULL;');
	many text := format(body, 'RETURN;');
	f record;
	o record;
	t text;
	t2 text;
	args text;
BEGIN
	-- casts from every type to one of theirs
	FOREACH t IN ARRAY types LOOP
		EXECUTE format('CREATE FUNCTION planted.to_anything(pg_catalog.%I) RETURNS planted.anything %s', t, one);
		EXECUTE format('CREATE CAST (pg_catalog.%I AS planted.anything) WITH FUNCTION planted.to_anything(pg_catalog.%I) AS IMPLICIT', t, t);
	END LOOP;
	types := array_append(ARRAY(SELECT 'pg_catalog.' || u FROM unnest(types) u), 'planted.anything');

	-- all functions with the arguments that they have
	FOR f IN
		SELECT proname, pg_get_function_identity_arguments(oid) AS args, proretset, CASE WHEN proretset THEN 'SETOF record' ELSE prorettype::regtype::text END AS result
		FROM pg_proc
		WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND NOT proretset AND provariadic = 0
			AND NOT ARRAY[prorettype] && ARRAY(SELECT oid FROM pg_type WHERE typtype = 'p')
			AND NOT proargtypes::oid[] && ARRAY(SELECT oid FROM pg_type WHERE typtype = 'p')
			AND pg_get_function_identity_arguments(oid) !~ 'OUT '
	LOOP
		EXECUTE format('CREATE FUNCTION planted.%I(%s) RETURNS %s %s', f.proname, f.args, f.result, one);
	END LOOP;

	-- those of the script, and those of statements, with one argument of another type, or with that argument alone
	FOR f IN
		SELECT p.proname, p.proargtypes::oid[] AS types, coalesce(p.proargnames, '{}') AS names, p.proretset,
			CASE WHEN p.proretset THEN 'SETOF pg_catalog.record' ELSE p.prorettype::regtype::text END AS result, t.type, i
		FROM pg_proc p, unnest(types) t (type), generate_series(1, p.pronargs) i
		WHERE p.pronamespace = 'pg_catalog'::regnamespace AND (p.proname IN (SELECT name FROM planted_names) OR p.proname IN ('unnest', 'nextval', 'setval'))
	LOOP
		BEGIN
			SELECT string_agg(coalesce(quote_ident(nullif(f.names[n], '')) || ' ', '') || CASE WHEN n = f.i THEN f.type ELSE type::regtype::text END, ', ' ORDER BY n) INTO args
			FROM unnest(f.types) WITH ORDINALITY u (type, n);
			EXECUTE format('CREATE FUNCTION planted.%I(%s) RETURNS %s %s', f.proname, args, f.result, CASE WHEN f.proretset THEN many ELSE one END);
		EXCEPTION WHEN duplicate_function OR invalid_function_definition OR feature_not_supported THEN NULL;
		END;
		BEGIN
			EXECUTE format('CREATE FUNCTION planted.%I(%s %s) RETURNS %s %s', f.proname, coalesce(quote_ident(nullif(f.names[f.i], '')), ''), f.type, f.result,
				CASE WHEN f.proretset THEN many ELSE one END);
		EXCEPTION WHEN duplicate_function OR invalid_function_definition OR feature_not_supported THEN NULL;
		END;
	END LOOP;

	-- operators between any two types
	FOREACH t IN ARRAY types LOOP
		FOREACH t2 IN ARRAY types LOOP
			EXECUTE format('CREATE FUNCTION planted.compare(%s, %s) RETURNS pg_catalog.bool %s', t, t2, one);
			EXECUTE format('CREATE FUNCTION planted.compute(%s, %s) RETURNS %s %s', t, t2, t, one);
			FOR o IN SELECT name FROM planted_names WHERE kind = 'o' UNION SELECT '<>' LOOP
				EXECUTE format('CREATE OPERATOR planted.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = planted.%s)', o.name, t, t2,
					CASE WHEN o.name ~ '^[<>=]{1,2}$' AND o.name NOT IN ('<<', '>>') THEN 'compare' ELSE 'compute' END);
			END LOOP;
		END LOOP;
	END LOOP;

	-- types, here and among the temporary ones, which come first
	CREATE FUNCTION planted.called() RETURNS pg_catalog.bool LANGUAGE plpgsql AS 'BEGIN PERFORM pg_catalog.nextval(''planted.calls''::pg_catalog.regclass); RETURN true; END';
	FOR t IN SELECT typname FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype = 'b' AND typelem = 0 AND typname !~ '^_' LOOP
		EXECUTE format('CREATE DOMAIN planted.%I AS pg_catalog.%I CHECK (planted.called())', t, t);
		EXECUTE format('CREATE DOMAIN pg_temp.%I AS pg_catalog.%I CHECK (planted.called())', t, t);
	END LOOP;
END $$;
CREATE VIEW planted.pg_database AS SELECT planted.called() AS oid, planted.called() AS datname;
CREATE TEMP VIEW pg_database AS SELECT planted.called() AS oid, planted.called() AS datname;
RESET check_function_bodies;
SELECT count(*) > 2000 AS functions FROM pg_catalog.pg_proc WHERE pronamespace = 'planted'::pg_catalog.regnamespace;
SELECT count(*) > 1500 AS operators FROM pg_catalog.pg_operator WHERE oprnamespace = 'planted'::pg_catalog.regnamespace;

-- the extension's objects do not depend on them
CREATE EXTENSION pgbulk SCHEMA planted;
SELECT DISTINCT pg_catalog.pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) AS bound
FROM pg_catalog.pg_depend d
WHERE d.refclassid IN ('pg_proc'::pg_catalog.regclass, 'pg_operator'::pg_catalog.regclass, 'pg_type'::pg_catalog.regclass, 'pg_cast'::pg_catalog.regclass, 'pg_class'::pg_catalog.regclass)
	AND (d.classid, d.objid) IN (
		SELECT e.classid, e.objid FROM pg_catalog.pg_depend e
		WHERE e.refclassid = 'pg_extension'::pg_catalog.regclass AND e.deptype = 'e' AND e.refobjid = (SELECT oid FROM pg_catalog.pg_extension WHERE extname = 'pgbulk')
		UNION ALL SELECT 'pg_rewrite'::pg_catalog.regclass, r.oid FROM pg_catalog.pg_rewrite r WHERE r.ev_class IN ('planted.bulk_load_progress_wide'::pg_catalog.regclass, 'planted.bulk_load_progress'::pg_catalog.regclass, 'planted.bulk_loads'::pg_catalog.regclass))
	AND pg_catalog.pg_describe_object(d.refclassid, d.refobjid, 0) !~ '^(type|view|table) planted.bulk_load(_progress|_statements|_history|_unlogged|_in_doubt|s$)'
	AND pg_catalog.pg_describe_object(d.refclassid, d.refobjid, 0) !~ '^(type|function) planted.bulk_load_target(_in|_out|$)'
	AND NOT (d.refclassid = 'pg_proc'::pg_catalog.regclass AND d.refobjid = 'planted.bulk_load_last()'::pg_catalog.regprocedure)
	AND NOT (d.refclassid = 'pg_class'::pg_catalog.regclass AND d.refobjid IN ('planted.bulk_load_progress_wide'::pg_catalog.regclass, 'planted.bulk_load_id'::pg_catalog.regclass))
ORDER BY 1;

-- nor does what a load runs: in all ways, with those objects first in the search path
CREATE TABLE planted_p (id pg_catalog.int4 PRIMARY KEY);
INSERT INTO planted_p VALUES (1), (2), (3);
CREATE TABLE planted_t (a pg_catalog.int4 PRIMARY KEY REFERENCES planted_p, b pg_catalog.text, c pg_catalog.numeric, d pg_catalog.date, e pg_catalog.int8 GENERATED ALWAYS AS IDENTITY);
CREATE TABLE planted_parts (a pg_catalog.int4 REFERENCES planted_p, b pg_catalog.text, c pg_catalog.numeric, d pg_catalog.date) PARTITION BY LIST (a);
CREATE TABLE planted_part PARTITION OF planted_parts DEFAULT;
CREATE UNIQUE INDEX ON planted_part (a);
SET search_path = planted, pg_catalog;
SELECT rows_loaded, rows_rejected, rows_duplicate, writer FROM bulk_load('public.planted_t'::pg_catalog.regclass, :'f'::pg_catalog.text,
	'{"columns": ["a", "b", "c", "d"], "on_error": "ignore", "on_duplicate": "keep_old", "reject_table": "public.planted_r", "analyze": true, "log_verbosity": "silent"}'::pg_catalog.jsonb);
SELECT load_id FROM public.planted_r LIMIT 1 \gset
SELECT reason, line_number FROM public.planted_r ORDER BY line_number;
-- a reject table that rows go to by INSERT
CREATE INDEX ON public.planted_r (load_id);
SELECT rows_loaded, rows_rejected, rows_duplicate, rows_replaced, writer FROM bulk_load('public.planted_t'::pg_catalog.regclass, :'f'::pg_catalog.text,
	'{"columns": ["a", "b", "c", "d"], "on_error": "ignore", "on_duplicate": "keep_new", "reject_table": "public.planted_r", "writer": "buffered", "log_verbosity": "silent"}'::pg_catalog.jsonb);
SELECT rows_loaded, rows_rejected, writer FROM bulk_load('public.planted_t'::pg_catalog.regclass, ARRAY[:'f'::pg_catalog.text],
	'{"columns": ["a", "b", "c", "d"], "truncate": true, "on_error": "set_null", "on_duplicate": "keep_old", "writer": "direct", "indexes": "rebuild", "log_verbosity": "silent"}'::pg_catalog.jsonb);
SELECT rows_loaded, rows_rejected, writer FROM bulk_load('public.planted_parts'::pg_catalog.regclass, :'f'::pg_catalog.text,
	'{"on_error": "ignore", "on_duplicate": "keep_old", "log_verbosity": "silent", "dry_run": true}'::pg_catalog.jsonb);
SELECT rows_loaded, rows_rejected, writer FROM bulk_load('public.planted_parts'::pg_catalog.regclass, :'f'::pg_catalog.text,
	'{"on_error": "ignore", "on_duplicate": "keep_old", "date_format": {"d": "YYYY-MM-DD"}}'::pg_catalog.jsonb);
-- again
SET search_path = public;
UPDATE planted_r SET raw_line = '3,mended,3,2024-01-03' WHERE reason OPERATOR(pg_catalog.=) 'value' AND load_id OPERATOR(pg_catalog.=) :load_id;
DELETE FROM planted_t;
SET search_path = planted, pg_catalog;
SELECT rows_read, rows_loaded, rows_rejected FROM bulk_load_retry('public.planted_t'::pg_catalog.regclass, 'public.planted_r'::pg_catalog.regclass, :load_id::pg_catalog.int8,
	'{"columns": ["a", "b", "c", "d"], "log_verbosity": "silent"}'::pg_catalog.jsonb);
-- what is remembered, and passed over
SELECT rows_read FROM bulk_load('public.planted_parts'::pg_catalog.regclass, :'f'::pg_catalog.text,
	'{"once": true, "on_error": "ignore", "on_duplicate": "keep_old", "log_verbosity": "silent", "extra": {"c": "$line"}, "columns": ["a", "b", null, "d"]}'::pg_catalog.jsonb);
SELECT rows_read FROM bulk_load('public.planted_parts'::pg_catalog.regclass, :'f'::pg_catalog.text,
	'{"once": "path", "log_verbosity": "silent"}'::pg_catalog.jsonb);
SELECT rows_read FROM bulk_load('public.planted_parts'::pg_catalog.regclass, :'f'::pg_catalog.text,
	'{"once": "tail", "log_verbosity": "silent"}'::pg_catalog.jsonb);
SELECT bulk_load_forget('public.planted_parts'::pg_catalog.regclass, :'f'::pg_catalog.text);
CALL bulk_load_each('public.planted_parts'::pg_catalog.regclass, :'f'::pg_catalog.text,
	'{"on_error": "ignore", "on_duplicate": "keep_old", "log_verbosity": "silent"}'::pg_catalog.jsonb);
SELECT relation, file, files FROM bulk_loads;
-- a query of which some columns are cast, from the view that is the script's
SELECT rows_loaded FROM bulk_load_query('public.planted_t'::pg_catalog.regclass,
	'SELECT pg_catalog.int8(rows_loaded OPERATOR(pg_catalog.+) 1::pg_catalog.int8), pg_catalog.concat(bar, phase, relation), percent, CAST(NULL AS pg_catalog.timestamptz) FROM planted.bulk_load_progress_wide WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()'::pg_catalog.text,
	'{"columns": ["a", "b", "c", "d"], "truncate": true}'::pg_catalog.jsonb);
SELECT b, c FROM public.planted_t;
CREATE FUNCTION public.planted_look() RETURNS pg_catalog.bool VOLATILE LANGUAGE sql AS
	'SELECT pg_catalog.length(bar) OPERATOR(pg_catalog.=) 10 AND percent IS NOT NULL AND elapsed IS NOT NULL AND pg_catalog.num_nulls(eta, rows_per_second) IS NOT NULL FROM planted.bulk_load_progress_wide';
SELECT rows_loaded, rows_filtered FROM bulk_load('public.planted_t'::pg_catalog.regclass, :'f'::pg_catalog.text,
	'{"columns": ["a", "b", "c", "d"], "truncate": true, "on_error": "ignore", "on_duplicate": "keep_old", "where": "public.planted_look()", "log_verbosity": "silent"}'::pg_catalog.jsonb);
SELECT format, encoding, rows_sampled FROM bulk_inspect(:'f'::pg_catalog.text, '{}'::pg_catalog.jsonb);
SELECT obstacles FROM bulk_load_control(:'ctl'::pg_catalog.text);
SELECT pg_catalog.count(phase) OPERATOR(pg_catalog.>=) 5::pg_catalog.int8 AS timeline FROM bulk_load_timeline();
SELECT loaded, writer FROM bulk_load_summary();

-- nor do the statements that it returns, with overloads of what they call in the extension's schema and in another one of the path
CREATE SCHEMA planted_later;
DO $$
DECLARE
	f pg_catalog.record;
BEGIN
	FOR f IN SELECT * FROM pg_catalog.unnest('{planted,planted_later}'::pg_catalog.text[]) s (schema), pg_catalog.unnest('{bulk_load,bulk_load_query}'::pg_catalog.text[]) n (name),
		pg_catalog.unnest('{regclass,text,oid}'::pg_catalog.text[]) a (target), pg_catalog.unnest('{text,varchar,name}'::pg_catalog.text[]) b (source),
		pg_catalog.unnest('{"", text, json, jsonb}'::pg_catalog.text[]) c (options)
	LOOP
		BEGIN
			EXECUTE pg_catalog.format('CREATE FUNCTION %I.%I(pg_catalog.%s, pg_catalog.%s%s%s, OUT rows_loaded pg_catalog.int8) LANGUAGE plpgsql AS %L', f.schema, f.name, f.target, f.source,
				CASE WHEN f.options OPERATOR(pg_catalog.=) '' THEN '' ELSE ', pg_catalog.' END, f.options, 'BEGIN PERFORM pg_catalog.nextval(''planted.calls''::pg_catalog.regclass); END');
		EXCEPTION WHEN duplicate_function THEN NULL;
		END;
	END LOOP;
END $$;
SET search_path = planted, planted_later, pg_catalog;
SELECT pg_catalog.replace(create_and_load, 'SELECT *'::pg_catalog.text, 'SELECT rows_loaded'::pg_catalog.text) FROM bulk_inspect(:'f'::pg_catalog.text, '{"table": "public.planted_new"}'::pg_catalog.jsonb) \gexec
CREATE TABLE public.planted_numbers (n pg_catalog.int4);
SELECT pg_catalog.replace(statement, 'SELECT * FROM planted'::pg_catalog.text, 'SELECT rows_loaded FROM planted'::pg_catalog.text) FROM bulk_load_control(:'numbers'::pg_catalog.text) \gexec
SELECT is_called AS planted_called FROM planted.calls;

-- but a condition, and a query, are the caller's own: they see what the caller sees
SELECT rows_loaded, rows_filtered FROM bulk_load('public.planted_parts'::pg_catalog.regclass, :'f'::pg_catalog.text,
	'{"on_error": "ignore", "truncate": true, "where": "a > 1", "log_verbosity": "silent"}'::pg_catalog.jsonb);
SELECT is_called AS planted_called FROM planted.calls;

RESET search_path;
DROP EXTENSION pgbulk;
DROP FUNCTION planted_look;
DROP TABLE planted_t, planted_parts, planted_p, planted_r, planted_names, planted_new, planted_numbers;
DROP VIEW pg_temp.pg_database;
-- not all at once: each takes a lock
DO $$ DECLARE o regoperator; BEGIN
	FOR o IN SELECT oid FROM pg_operator WHERE oprnamespace = 'planted'::regnamespace LOOP
		EXECUTE format('DROP OPERATOR %s', o);
	END LOOP;
END $$;
DO $$ DECLARE f regprocedure; BEGIN
	FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'planted'::regnamespace AND NOT (proname IN ('called', 'to_anything')) AND NOT ('planted.anything'::regtype = ANY (proargtypes)) LOOP
		EXECUTE format('DROP FUNCTION %s', f);
	END LOOP;
END $$;
DROP SCHEMA planted, planted_later CASCADE;
DISCARD TEMP;
CREATE EXTENSION pgbulk;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_planted_gone; rm -f pgbulk_planted_*';
