CREATE EXTENSION periods CASCADE;
SELECT judge.same('system versioning of periods', $$CREATE TABLE %1$s (a int PRIMARY KEY, b text);
	SELECT periods.add_system_time_period('%1$s', 'since', 'until'); SELECT periods.add_system_versioning('%1$s')$$,
	$$SELECT i, 'row ' || i FROM generate_series(1, 500) i$$, 't', ARRAY['a = 7'], '{a,b}');
