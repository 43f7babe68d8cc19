-- Intervals, addresses, geometric types, ranges and domains are converted without their input functions, which judge all that is unusual.
CREATE SCHEMA types_other;
SET client_min_messages = warning;
SET search_path = types_other, public;
SET IntervalStyle = postgres;
SET DateStyle = ISO;

CREATE DOMAIN price AS numeric(6,2) CHECK (VALUE > 0);
CREATE DOMAIN rate AS float8 CHECK (1 / VALUE < 10);
CREATE DOMAIN code AS varchar(4) NOT NULL;
CREATE DOMAIN days AS daterange;
CREATE TABLE target (id int, i interval, a inet, n cidr, m macaddr, p point, b box, r int4range, s int8multirange, price price, rate rate, code code, days days);
CREATE TABLE copied (LIKE target);
INSERT INTO copied SELECT n, make_interval(months => n % 30 - 15, days => n % 7 - 3, secs => n * 1.5), ('10.' || n % 256 || '.0.1/' || n % 33)::inet,
    network(('2001:db8::' || to_hex(n) || '/' || n % 129)::inet), ('08:00:2b:01:02:' || lpad(to_hex(n % 256), 2, '0'))::macaddr, point(n, -n), box(point(n, 1), point(2, -n)),
    CASE WHEN n % 9 = 0 THEN 'empty' WHEN n % 4 = 0 THEN int4range(NULL, n) ELSE int4range(n, n + n % 3, '[]') END,
    int8multirange(int8range(n, n + 5), int8range(n + n % 9, n + 12)), n / 7.0, n, n, daterange('2000-01-01', '2000-01-02'::date + n) FROM generate_series(1, 3000) n;
INSERT INTO copied (id, code) VALUES (-1, 'none');
COPY copied TO '/proc/self/cwd/pgbulk_types_other' (FORMAT csv);
SELECT rows_loaded FROM bulk_load('target', current_setting('data_directory') || '/pgbulk_types_other');
SELECT count(*) FROM copied c FULL JOIN target t USING (id) WHERE record_image_eq(c, t) IS NOT TRUE;

-- one sign for all fields, under that style only
CREATE TABLE texts (line text);
INSERT INTO texts VALUES ('1;-1 day 02:03:00'), ('2;-1 days +02:03:00'), ('3;1-2'), ('4;P1D'), ('5;1.5 hours'), ('6;-00:00:01');
COPY texts TO '/proc/self/cwd/pgbulk_types_other';
CREATE TABLE intervals (id int, i interval);
SELECT rows_loaded FROM bulk_load('intervals', current_setting('data_directory') || '/pgbulk_types_other', '{"delimiter": ";"}');
SET IntervalStyle = sql_standard;
SELECT rows_loaded FROM bulk_load('intervals', current_setting('data_directory') || '/pgbulk_types_other', '{"delimiter": ";"}');
SET IntervalStyle = postgres;
SELECT * FROM intervals ORDER BY id, i;

-- errors, also of checks: of a violated one, of one that throws; nulls; what fits only when it is rounded, or cut off
TRUNCATE texts;
INSERT INTO texts VALUES ('1;1;1;abc;[1,2)'), ('2;-1;1;abc;[1,2)'), ('3;99999;1;abc;[1,2)'), ('4;0.004;1;abc;[1,2)'), ('5;1;0;abc;[1,2)'), ('6;1;0.01;abc;[1,2)'),
    ('7;1;1;abcde;[1,2)'), ('8;1;1;abc    ;[1,2)'), ('9;1;1;;[1,2)'), ('10;;;a;'), ('11;1;1;a;[2,1)'), ('12;1;1;a;(2147483647,]'), ('13;1;1;a;[1,2147483647]'),
    ('14;1.005;1;a; [1 , 3] '), ('15;1;1;a;(1,2)'), ('16;x;1;a;empty'), ('17;1;1;a;[1,2');
COPY texts TO '/proc/self/cwd/pgbulk_types_other';
CREATE TABLE checked (id int, price price, rate rate, code code, r int4range);
SELECT rows_loaded, rows_rejected FROM bulk_load('checked', current_setting('data_directory') || '/pgbulk_types_other',
    '{"delimiter": ";", "on_error": "ignore", "reject_table": "refused", "log_verbosity": "silent"}');
SELECT * FROM checked ORDER BY id;
SELECT raw_line, sqlstate, message FROM refused ORDER BY length(raw_line), raw_line COLLATE "C";

-- a constraint that is added by the session counts at once
TRUNCATE texts, checked;
INSERT INTO texts VALUES ('1;1.99;1;abc;[1,2)'), ('2;2;1;abc;[1,2)');
COPY texts TO '/proc/self/cwd/pgbulk_types_other';
ALTER DOMAIN price ADD CHECK (VALUE < 2) NOT VALID;
SELECT rows_loaded, rows_rejected FROM bulk_load('checked', current_setting('data_directory') || '/pgbulk_types_other',
    '{"delimiter": ";", "on_error": "ignore", "log_verbosity": "silent"}');

DROP SCHEMA types_other CASCADE;
