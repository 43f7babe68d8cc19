CREATE EXTENSION ip4r;
SELECT judge.same('ip4 and ip4r', 'CREATE TABLE %1$s (a ip4, r ip4r); CREATE INDEX ON %1$s (a); CREATE INDEX ON %1$s USING gist (r); CREATE INDEX ON %1$s USING hash (r)',
	$$SELECT format('10.0.%s.%s', i / 250, i % 250), format('10.%s.%s.0/24', i / 250, i % 250) FROM generate_series(1, 2000) i$$, 't', ARRAY[$$a = '10.0.1.7'$$, $$r >>= '10.1.7.9'$$]);
SELECT judge.same('ipaddress and iprange', 'CREATE TABLE %1$s (a ipaddress, r iprange, EXCLUDE USING gist (r WITH &&))',
	$$SELECT format('2001:db8::%s', i), format('2001:db8:%s::/48', i) FROM generate_series(1000, 1500) i$$, 't', ARRAY[$$r >>= '2001:db8:1200::1'$$]);
SELECT judge.forgives('ip4r', '10.0.0.0/8', '10.0.0.0/99');
