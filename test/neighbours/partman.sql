CREATE SCHEMA partman;
CREATE EXTENSION pg_partman SCHEMA partman;
SELECT judge.same('partitions of pg_partman', $$CREATE TABLE %1$s (day date NOT NULL, a int) PARTITION BY RANGE (day);
	CREATE TABLE %1$s_template (LIKE %1$s, PRIMARY KEY (a, day));
	SELECT partman.create_parent('public.%1$s', 'day', 'native', 'daily', p_template_table => 'public.%1$s_template')$$,
	$$SELECT current_date - 10 + i % 14, i FROM generate_series(1, 1000) i$$, $$ROW(t, replace(t.tableoid::regclass::text, 'by_load', 'by_copy'))$$, ARRAY['a = 77']);
