CREATE EXTENSION vector;
SELECT judge.same('vector', 'CREATE TABLE %1$s (a int PRIMARY KEY, v vector(3))', $$SELECT i, format('[%s,%s,1]', i % 10, i) FROM generate_series(1, 1000) i$$, 't', ARRAY['a = 7']);
SELECT judge.forgives('vector(3)', '[1,2,3]', '[1,2]');
