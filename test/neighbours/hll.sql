CREATE EXTENSION hll;
SELECT judge.same('hll', 'CREATE TABLE %1$s (a int, h hll)', $$SELECT i, (SELECT hll_add_agg(hll_hash_integer(j)) FROM generate_series(1, i) j) FROM generate_series(1, 200) i$$, 'ROW(t.a, t.h::text)');
SELECT judge.forgives('hll', '\x118b7f', 'no hll');
