-- Types with converters of their own beside those of numbers, texts and dates:
-- enums, arrays, money, booleans; fields with quotes and escapes inside.
\set VERBOSITY terse
SET client_min_messages = warning;
SET lc_monetary = 'C';
SET timezone = 'UTC';
CREATE SCHEMA types;
SET search_path = types, public;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', '', 'quite long, with a comma');

-- a function that loads lines of text, and says where the values differ from casts
CREATE FUNCTION differ(type text, lines text[], options jsonb DEFAULT '{}')
RETURNS TABLE (line bigint, given text, loaded text, expected text) LANGUAGE plpgsql AS $$
DECLARE
    path text := current_setting('data_directory') || '/types.txt';
BEGIN
    CREATE TEMP TABLE texts (id bigint, line text);
    INSERT INTO texts SELECT n, l FROM unnest(lines) WITH ORDINALITY u(l, n);
    EXECUTE format('COPY (SELECT * FROM texts ORDER BY id) TO %L', path);
    EXECUTE format('CREATE TABLE loads (id bigint, value %s)', type);
    PERFORM bulk_load('loads', path, '{"format": "text"}' || options);
    RETURN QUERY EXECUTE format('SELECT id, t.line, l.value::text, t.line::%1$s::text FROM texts t FULL JOIN loads l USING (id)
        WHERE NOT record_image_eq(ROW(l.value), ROW(t.line::%1$s)) OR l.id IS NULL ORDER BY id', type);
    DROP TABLE loads, texts;
END $$;

SELECT * FROM differ('mood', '{sad,ok,happy,"","quite long, with a comma"}');
SELECT * FROM differ('bool', '{t,f,T,F,1,0,y,n,Y,N,true," off ",yes}');
SELECT * FROM differ('money', '{1,-1,$2,-$3.5,"1,234.56",(7.89),1.005,"  5 ",999999999999999.99,92233720368547758.07}');
SELECT * FROM differ('int[]', '{"{}","{1}","{1,-2,+3}","{ 1 , 2 }","{NULL,1,null}","{NULL}","{\"1\",2}","{{1,2},{3,4}}","[0:1]={1,2}"," {1}","{1} "}');
SELECT * FROM differ('int[]', '{"{{1}}","{{{{{{1,NULL}}}}}}","{{{1,2,3},{4,5,6}},{{7,8,9},{10,11,12}}}","{{1},{NULL}}","{ {1}, {2} }","{{1,2} ,{3,4}}","{{NULL}}"}');
SELECT * FROM differ('text[]', ARRAY['{{a,b},{c,"d}"}}', '{{"{",NULL},{"",x}}', '{{"a\"b"},{"\\"}}']);
SELECT * FROM differ('text[]', ARRAY['{a,b}', '{"","NULL",NULL}', '{ a b , " c " }', '{"a\"b","\\"}', '{"a,b","{"}', '{aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}']);
SELECT * FROM differ('bigint[]', '{"{1,2,3,9223372036854775807}","{-9223372036854775808}"}');
SELECT * FROM differ('bool[]', '{"{t,f,true}","{1}"}');
SELECT * FROM differ('numeric[]', '{"{1,2.50,-0.001}","{NaN,1e100}"}');
SELECT * FROM differ('float8[]', '{"{1,2.50,-0.001}","{NaN,1e100}"}');
SELECT * FROM differ('uuid[]', '{"{00112233-4455-6677-8899-aabbccddeeff}"}');
SELECT * FROM differ('timestamptz[]', '{"{2020-01-01 00:00:00+01,\"2020-01-01\",infinity}"}');
SELECT * FROM differ('mood[]', '{"{sad,ok}","{\"\",\"quite long, with a comma\"}"}');
SELECT * FROM differ('money[]', '{"{$1.50,-2}"}');
SELECT * FROM differ('point[]', '{"{\"(1,2)\",\"(3,4)\"}"}');
SELECT * FROM differ('jsonb[]', ARRAY['{1,"{\"a\": [1]}"}']);
SET array_nulls = off;
SELECT * FROM differ('text[]', '{"{null,NULL}"}');
RESET array_nulls;

-- arrays of all lengths, around those that are stored in other ways
SELECT count(*) FROM differ('int[]', (SELECT array_agg('{' || repeat('1,', n) || '1}') FROM generate_series(0, 700) n));
SELECT count(*) FROM differ('text[]', (SELECT array_agg('{' || repeat('a,', n) || repeat('b', n) || '}') FROM generate_series(1, 700) n));

-- errors are the input functions' own
CREATE TABLE texts (line text);
INSERT INTO texts VALUES ('1|sad|{1,2}|1.50'), ('2|Sad|{1}|1'), ('3|ok|{1,x}|1'), ('4|ok|{1,}|1'), ('5|ok|{1|1'), ('6|ok|{1}}|1'),
    ('7|ok|{1}|1.2.3'), ('8|||'), ('9|happy|{99999999999}|1'), ('10|happy|{"1"2}|1'), ('11|sad |{1}|1'),
    ('13|ok|{{1,2},{3}}|1'), ('14|ok|{{1},2}|1'), ('15|ok|{1,{2}}|1'), ('16|ok|{{1}}}|1'), ('17|ok|{{1},{2}|1'), ('18|ok|{{1}{2}}|1'),
    ('21|ok|{{1,},{2,3}}|1'), ('22|ok|{{1}},|1');
COPY texts TO '/proc/self/cwd/pgbulk_types';
CREATE TABLE target (id int, mood mood, numbers int[], price money);
SELECT rows_loaded, rows_rejected FROM bulk_load('target', current_setting('data_directory') || '/pgbulk_types',
    '{"format": "csv", "delimiter": "|", "quote": "~", "on_error": "ignore", "reject_table": "refused", "log_verbosity": "silent"}');
SELECT raw_line, sqlstate, message FROM refused ORDER BY length(raw_line), raw_line COLLATE "C";
SELECT * FROM target ORDER BY id;

-- a label that is new in the transaction must not be used, also where it is added during the session
INSERT INTO texts VALUES ('12|new|{1}|1');
COPY (SELECT * FROM texts WHERE line ~ '^12') TO '/proc/self/cwd/pgbulk_types';
BEGIN;
ALTER TYPE mood ADD VALUE 'new';
SELECT bulk_load('target', current_setting('data_directory') || '/pgbulk_types', '{"delimiter": "|"}');
ROLLBACK;
ALTER TYPE mood ADD VALUE 'new';
SELECT rows_loaded FROM bulk_load('target', current_setting('data_directory') || '/pgbulk_types', '{"delimiter": "|"}');
BEGIN;
CREATE TYPE fresh AS ENUM ('new');
CREATE TABLE fresh_target (id int, mood fresh, numbers int[], price money);
SELECT rows_loaded FROM bulk_load('fresh_target', current_setting('data_directory') || '/pgbulk_types', '{"delimiter": "|"}');
COMMIT;
ALTER TYPE mood RENAME VALUE 'new' TO 'newer';
SELECT bulk_load('target', current_setting('data_directory') || '/pgbulk_types', '{"delimiter": "|"}');

-- fields with quotes inside, beside others, nulls and values that are too long
CREATE TABLE said (id int, short varchar(4), long text, flag bool, tags text[]);
CREATE TABLE copied (LIKE said);
INSERT INTO copied SELECT n, CASE n % 3 WHEN 0 THEN 'a"b' WHEN 1 THEN '""' ELSE 'x' END, repeat('"', n % 70) || repeat('y', n % 50) || E'"\n"',
    n % 2 = 0, ARRAY['a"', 'b', NULL, E'\\'] FROM generate_series(1, 1000) n;
INSERT INTO copied SELECT -n, CASE n % 3 WHEN 0 THEN NULL ELSE '"' END, nullif(repeat('"', n % 5), ''), NULL, '{}' FROM generate_series(1, 100) n;
COPY copied TO '/proc/self/cwd/pgbulk_types' (FORMAT csv);
SELECT rows_loaded FROM bulk_load('said', current_setting('data_directory') || '/pgbulk_types');
SELECT count(*) FROM copied c FULL JOIN said s USING (id) WHERE record_image_eq(c, s) IS NOT TRUE;
COPY copied TO '/proc/self/cwd/pgbulk_types';
TRUNCATE said;
SELECT rows_loaded FROM bulk_load('said', current_setting('data_directory') || '/pgbulk_types', '{"format": "text"}');
SELECT count(*) FROM copied c FULL JOIN said s USING (id) WHERE record_image_eq(c, s) IS NOT TRUE;

-- texts that get a shorter header than their fields would, and others that do not
CREATE TABLE loaded (id int, long text, stored text, short varchar(126));
ALTER TABLE loaded ALTER stored SET STORAGE PLAIN;
CREATE TABLE exported (LIKE loaded INCLUDING STORAGE);
INSERT INTO exported SELECT n, repeat('"', n % 23) || repeat('x', n), repeat(E'\n"', n % 23) || repeat('y', n), left(repeat(E'"\t', n % 23) || repeat('z', n), 126)
    FROM generate_series(1, 400) n;
COPY exported TO '/proc/self/cwd/pgbulk_types' (FORMAT csv, FORCE_QUOTE *);
SELECT rows_loaded FROM bulk_load('loaded', current_setting('data_directory') || '/pgbulk_types');
SELECT count(*) FROM exported e FULL JOIN loaded l USING (id) WHERE record_image_eq(e, l) IS NOT TRUE;
TRUNCATE exported;
COPY exported FROM '/proc/self/cwd/pgbulk_types' (FORMAT csv);
SELECT sum(pg_column_size(long)), sum(pg_column_size(stored)), sum(pg_column_size(short)) FROM exported
    UNION SELECT sum(pg_column_size(long)), sum(pg_column_size(stored)), sum(pg_column_size(short)) FROM loaded;
COPY exported TO '/proc/self/cwd/pgbulk_types' (FORMAT csv, ESCAPE E'\\', FORCE_QUOTE *);
TRUNCATE loaded;
SELECT rows_loaded FROM bulk_load('loaded', current_setting('data_directory') || '/pgbulk_types', '{"escape": "\\"}');
SELECT count(*) FROM exported e FULL JOIN loaded l USING (id) WHERE record_image_eq(e, l) IS NOT TRUE;
COPY exported TO '/proc/self/cwd/pgbulk_types';
TRUNCATE loaded;
SELECT rows_loaded FROM bulk_load('loaded', current_setting('data_directory') || '/pgbulk_types', '{"format": "text"}');
SELECT count(*) FROM exported e FULL JOIN loaded l USING (id) WHERE record_image_eq(e, l) IS NOT TRUE;

-- char(n), filled up with spaces, of characters of several bytes
CREATE TABLE filled (id int, a char(24), b char(200), c char(126), d char, e char(3), f char(300));
CREATE TABLE filled_by_copy (LIKE filled);
COPY (SELECT n, left(repeat(U&'\00e9', n % 25) || repeat('x', n % 11), 24), repeat(U&'\20ac', n % 201) AS b, repeat('y', n % 127),
    CASE n % 3 WHEN 0 THEN U&'\00e9' WHEN 1 THEN '' ELSE 'x' END, nullif(repeat('"', n % 4), ''), repeat('z', n % 301)
    FROM generate_series(1, 10000) n) TO '/proc/self/cwd/pgbulk_types' (FORMAT csv, FORCE_QUOTE (b));
COPY filled_by_copy FROM '/proc/self/cwd/pgbulk_types' (FORMAT csv);
SELECT rows_loaded FROM bulk_load('filled', current_setting('data_directory') || '/pgbulk_types');
SELECT count(*) FROM filled f FULL JOIN filled_by_copy c USING (id) WHERE record_image_eq(f.*, c.*) IS NOT TRUE;
SELECT sum(pg_column_size(a)), sum(pg_column_size(b)), sum(pg_column_size(c)), sum(pg_column_size(d)), sum(pg_column_size(e)), sum(pg_column_size(f)) FROM filled
    UNION SELECT sum(pg_column_size(a)), sum(pg_column_size(b)), sum(pg_column_size(c)), sum(pg_column_size(d)), sum(pg_column_size(e)), sum(pg_column_size(f)) FROM filled_by_copy;
SELECT * FROM differ('char(3)', ARRAY['', 'a', 'abc', 'abc ', U&'\00e9\00e9\00e9', 'abc  ']);

-- a type whose input function is that of text, as citext's
CREATE TYPE label;
CREATE FUNCTION label_in(cstring) RETURNS label LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textin';
CREATE FUNCTION label_out(label) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textout';
CREATE TYPE label (INPUT = label_in, OUTPUT = label_out, LIKE = text);
SELECT * FROM differ('label', ARRAY['', 'a', 'a"b', repeat('x', 126), repeat('y', 127), repeat('z', 3000)]);
SELECT * FROM differ('label[]', ARRAY['{}', '{a,NULL,"b c"}', '{{a},{b}}']);
CREATE DOMAIN given_label AS label NOT NULL;
SELECT * FROM differ('given_label', '{a,"",b}');

-- arrays of all sizes, each row in memory that the next one takes
CREATE TABLE arrays (b name, a text[]);
CREATE TABLE arrays_by_copy (LIKE arrays);
COPY (SELECT CASE WHEN i % 3 <> 1 THEN 'name ' || i END, CASE i % 3 WHEN 0 THEN array_fill('y'::text, ARRAY[600000]) WHEN 1 THEN '{a}' ELSE array_fill(E'b\\"c'::text, ARRAY[i * 500]) END FROM generate_series(0, 8) i)
    TO '/proc/self/cwd/pgbulk_types';
COPY arrays_by_copy FROM '/proc/self/cwd/pgbulk_types';
SELECT rows_loaded FROM bulk_load('arrays', current_setting('data_directory') || '/pgbulk_types', '{"format": "text"}');
SELECT b, cardinality(a) FROM (SELECT * FROM arrays EXCEPT ALL SELECT * FROM arrays_by_copy) x;

DROP SCHEMA types CASCADE;
