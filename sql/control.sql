--
-- Control files of pg_bulkload, as calls of bulk_load.
--
-- Writes a file and returns its path.
CREATE FUNCTION pg_temp.put(name text, content bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := '/proc/self/cwd/pgbulk_control_' || name;
	object oid := lo_from_bytea(0, content);
BEGIN
	PERFORM lo_export(object, path), lo_unlink(object);
	RETURN path;
END $$;
CREATE FUNCTION pg_temp.put(name text, content text) RETURNS text LANGUAGE sql AS $$ SELECT pg_temp.put(name, convert_to(content, 'UTF8')) $$;
-- What a control file of these lines means.
CREATE FUNCTION pg_temp.control(content text, OUT statement text, OUT obstacles text[], OUT notes text[])
LANGUAGE sql AS $$ SELECT * FROM bulk_load_control(pg_temp.put('ctl', content)) $$;
-- Its statement, without what differs each time.
CREATE FUNCTION pg_temp.statement(content text) RETURNS text
LANGUAGE sql AS $$ SELECT replace(statement, 'SELECT * FROM public', 'SELECT rows_read, rows_loaded, rows_rejected, writer FROM public') FROM pg_temp.control(content) $$;
CREATE TABLE control_t (a int, b text, c int CHECK (c < 100));
SELECT pg_temp.put('in.csv', E'a,b,c\n1,one,1\n2,|two|,NIL\n3,"th""ree",3\n') AS f \gset
\x

-- the minimum: a table and a file next to the control file
SELECT * FROM pg_temp.control(E'TABLE = control_t\nINPUT = pgbulk_control_in.csv\nSKIP = 1\n');
-- and it runs
SELECT pg_temp.statement(E'TABLE = control_t\nINPUT = pgbulk_control_in.csv\nSKIP = 1\nNULL = NIL\n') AS statement \gexec
SELECT json_agg(t ORDER BY a) AS rows FROM control_t t;

-- comments, quotes, blanks, CRLF, words in any case, other names for keywords
SELECT * FROM pg_temp.control(E'# a comment\r\n\r\n  table=Public.Control_T  # not "Public"\r\ninfile = "/data/a # b \\"c\\" \\\\d.csv"\r\nLoader = buffered\r\noffset=2\r\nLOAD = 10\r\nMAX_ERR_CNT = 5\r\nDELIMITER = "\t"\r\nquote = "\\""\r\nESCAPE = \\\r\nNULL = " \\\\N "\r\n');
SELECT * FROM pg_temp.control(E'\uFEFFOUTPUT = "\\"Control\\".\\"T\\""\nINPUT = STDIN\nQUOTE = ''\n');

-- every line that has an equivalent
SELECT * FROM pg_temp.control('
OUTPUT = control_t
INPUT = /data/in.csv
TYPE = CSV
WRITER = DIRECT
SKIP = 1
LIMIT = INFINITE
ENCODING = LATIN1
CHECK_CONSTRAINTS = YES
PARSE_ERRORS = -1
LOGFILE = in.log
PARSE_BADFILE = bad/../in.bad
TRUNCATE = YES
VERBOSE = YES
MULTI_PROCESS = NO
DELIMITER = ;
FORCE_NOT_NULL = b
FORCE_NOT_NULL = "a"
');
SELECT * FROM pg_temp.control(E'TABLE=control_t\nINPUT=/x\nWRITER=PARALLEL\nMULTI_PROCESS=NO\nVERBOSE=NO\nTRUNCATE=off\nLIMIT=0\nPARSE_ERRORS=0\nDUPLICATE_ERRORS=0\nON_DUPLICATE_KEEP=OLD\nDUPLICATE_BADFILE=d\nCHECK_CONSTRAINTS=NO');
SELECT * FROM pg_temp.control(E'TABLE=control_t\nINPUT=/x\nMULTI_PROCESS=YES\nPARSE_ERRORS=7');

-- bad rows: as many as were allowed are set aside
SELECT pg_temp.statement('
TABLE = control_t
INPUT = pgbulk_control_bad.csv
PARSE_ERRORS = 2
PARSE_BADFILE = pgbulk_control_bad.out
TRUNCATE = YES
') AS statement \gset
SELECT pg_temp.put('bad.csv', E'1,a,1\nx,b,2\n3,c,300\n4,d,4\n') \g /dev/null
:statement
SELECT pg_read_file('pgbulk_control_bad.out') AS bad, pg_read_file('pgbulk_control_bad.out.log') AS log, (SELECT count(*) FROM control_t) AS rows;
SELECT pg_temp.put('bad.csv', E'1,a,1\nx,b,2\n3,c,300\n4,d,4,\n') \g /dev/null
:statement
SELECT count(*) FROM control_t;
-- none allowed, but a file for it
SELECT pg_temp.statement(E'TABLE=control_t\nINPUT=pgbulk_control_bad.csv\nPARSE_BADFILE=pgbulk_control_bad.out') AS statement \gset
:statement
SELECT to_json(pg_read_file('pgbulk_control_bad.out')) AS bad;

-- a limit is one of good rows
SELECT pg_temp.put('limit.csv', E'1,a,1\nbad\n3,c,3\n4,d,4\n') \g /dev/null
TRUNCATE control_t;
SELECT pg_temp.statement(E'TABLE=control_t\nINPUT=pgbulk_control_limit.csv\nLIMIT=2\nPARSE_ERRORS=-1') AS statement \gset
:statement
SELECT a FROM control_t ORDER BY a;

-- rows of a function: no more are computed than needed
CREATE SEQUENCE control_made;
CREATE FUNCTION control_make(n int) RETURNS SETOF control_t LANGUAGE sql VOLATILE AS $$ SELECT nextval('control_made')::int, i::text, 1 FROM (SELECT generate_series(1, n) AS i) x $$;
CREATE FUNCTION control_table(n int) RETURNS TABLE (a bigint, b int, c int) LANGUAGE sql VOLATILE AS $$ SELECT nextval('control_made'), i, 1 FROM (SELECT generate_series(1, n) AS i) x $$;
CREATE FUNCTION control_value(n int) RETURNS SETOF bigint LANGUAGE sql VOLATILE AS $$ SELECT nextval('control_made') FROM (SELECT generate_series(1, n)) x $$;
CREATE TABLE control_one (a int);
SELECT pg_temp.statement(E'TYPE=FUNCTION\nTABLE=control_t\nINPUT=control_make(30000000)\nLIMIT=1') AS statement \gset
:statement
SELECT pg_temp.statement(E'TYPE=FUNCTION\nTABLE=control_t\nINPUT="public.control_table (30000000)"\nLIMIT=2\nPARSE_ERRORS=3') AS statement \gset
:statement
SELECT pg_temp.statement(E'TYPE=FUNCTION\nTABLE=control_one\nINPUT=control_value(30000000)\nLIMIT=3') AS statement \gset
:statement
SELECT nextval('control_made') < 100 AS few;
SELECT statement FROM pg_temp.control(E'TYPE=FUNCTION\nTABLE=control_t\nINPUT=control_make(3)');
SELECT statement FROM pg_temp.control(E'TYPE=FUNCTION\nTABLE=control_t\nINPUT=control_unknown(3)\nLIMIT=1');
SELECT json_agg(t ORDER BY a) AS rows FROM control_t t;
-- with duplicates it need not be the direct writer
TRUNCATE control_t;
INSERT INTO control_t VALUES (2, 'old', 1);
CREATE UNIQUE INDEX control_a ON control_t (a);
SELECT setval('control_made', 1, false) AS first;
SELECT pg_temp.statement(E'TYPE=FUNCTION\nTABLE=control_t\nINPUT=control_make(6)\nDUPLICATE_ERRORS=-1\nON_DUPLICATE_KEEP=OLD') AS statement \gset
:statement
SELECT json_agg(t ORDER BY a) AS rows FROM control_t t;
DROP INDEX control_a;
DROP FUNCTION control_make, control_table, control_value;
DROP TABLE control_one;
DROP SEQUENCE control_made;

-- duplicates
CREATE UNIQUE INDEX ON control_t (a);
TRUNCATE control_t;
INSERT INTO control_t VALUES (1, 'old', 1);
SELECT pg_temp.put('dup.csv', E'1,new,1\n2,b,2\n2,c,3\n') \g /dev/null
SELECT * FROM pg_temp.control(E'TABLE=control_t\nINPUT=pgbulk_control_dup.csv\nDUPLICATE_ERRORS=-1\nDUPLICATE_BADFILE=pgbulk_control_dup.out');
SELECT replace(pg_temp.statement(E'TABLE=control_t\nINPUT=pgbulk_control_dup.csv\nDUPLICATE_ERRORS=INFINITE\nDUPLICATE_BADFILE=pgbulk_control_dup.out'), 'rows_rejected', 'rows_duplicate, rows_replaced') AS statement \gset
:statement
SELECT json_agg(t ORDER BY a) AS rows FROM control_t t;
SELECT pg_read_file('pgbulk_control_dup.out') AS duplicates;
SELECT * FROM pg_temp.control(E'TABLE=control_t\nINPUT=/x\nWRITER=BUFFERED\nPARSE_BADFILE=p\nDUPLICATE_BADFILE=d\nDUPLICATE_ERRORS=5\nON_DUPLICATE_KEEP=OLD');
SELECT * FROM pg_temp.control(E'TABLE=control_t\nINPUT=/x\nDUPLICATE_ERRORS=5\nON_DUPLICATE_KEEP=New');

-- fields of binary files
SELECT * FROM pg_temp.control('
TYPE = BINARY
OUTPUT = control_t
INPUT = /data/in.bin
SKIP = 2
STRIDE = 100
COL = CHAR(5)
COL = "character  varying ( 3 )"
COL = VARCHAR(20+4) NULLIF ''NA''
COL = CHAR(30:39) NULLIF ''NA''
COL = CHAR(4) NULLIF 4e554c4c
COL = CHAR(2) NULLIF 0000
COL = SMALLINT
COL = short NULLIF ffff
COL = Integer
COL = INT(2)
COL = INTEGER (8) NULLIF ''--------''
COL = BIGINT
COL = LONG
COL = UNSIGNED SMALLINT
COL = unsigned   short(2)
COL = UNSIGNED INTEGER
COL = UNSIGNED INT(2)
COL = UNSIGNED INT(1+4)
COL = FLOAT
COL = REAL(8)
COL = DOUBLE
COL = 3
PRESERVE_BLANKS = YES
COL = 0x3
PRESERVE_BLANKS = NO
COL = 2
');
SELECT pg_temp.put('in.bin', '\x01000000616263200a00'::bytea || '\x020000002020202014ff'::bytea || '\xffffffff6400000005ff'::bytea || '\x0400'::bytea) AS f \gset
SELECT pg_temp.statement(E'TYPE = FIXED\nTABLE = control_t\nINPUT = pgbulk_control_in.bin\nPARSE_ERRORS = -1\nTRUNCATE = YES\nSTRIDE=10\nCOL = INT NULLIF ffffffff\nCOL = CHAR(4) NULLIF ''    ''\nCOL = UNSIGNED INT(9:9)') AS statement;
SELECT pg_temp.statement(E'TYPE = FIXED\nTABLE = control_t\nINPUT = pgbulk_control_in.bin\nPARSE_ERRORS = -1\nTRUNCATE = YES\nCOL = INT NULLIF ffffffff\nCOL = CHAR(4) NULLIF ''    ''\nCOL = SHORT') AS statement \gexec
SELECT json_agg(t ORDER BY a) AS rows FROM control_t t;
SELECT statement, unnest(obstacles) AS obstacle FROM pg_temp.control('
TYPE = FIXED
TABLE = control_t
INPUT = /x
STRIDE = 5
PRESERVE_BLANKS = PERHAPS
COL = CHAR
COL = CHAR(0)
COL = CHAR(3
COL = CHAR(0+3)
COL = CHAR(5:4)
COL = INT(3)
COL = DOUBLE(4)
COL = NUMERIC(5)
COL = 5 x
COL = 0
COL = CHAR(3) NULLIF
COL = CHAR(3) NULLIF 12z
COL = CHAR(3) NULLIF 123
COL = CHAR(3) NULLIF 610062
COL = CHAR(3) NULLIF ff
COL = CHAR(3) NULLIF ''four''
COL = INT NULLIF ff
COL = CHAR(3) NOT NULL
COL = CHAR(3+4000000000)
COL = CHAR(3)
COL = CHAR(3)
DELIMITER = ,
');
SELECT statement, unnest(obstacles) AS obstacle FROM pg_temp.control(E'TYPE=BINARY\nTABLE=control_t\nINPUT=/x\nSTRIDE=INFINITE');

-- lines without an equivalent
SELECT * FROM pg_temp.control(E'TABLE=control_t\nINPUT=/x\nTYPE = FUNCTION\n');
SELECT statement, unnest(obstacles) AS obstacle FROM pg_temp.control('
TABLE = a b
WRITER = BINARY
TYPE = TEXT
SKIP = many
SKIP = 1
LIMIT = -1
PARSE_ERRORS = -2
DUPLICATE_ERRORS = 99999999999999999999
ON_DUPLICATE_KEEP = BOTH
TRUNCATE = MAYBE
ENCODING = KLINGON
DELIMITER = ||
QUOTE =
OUT_COL = CHAR(3)
COL = CHAR(3)
COLOUR = red
what is this
NULL = "open
');
SELECT statement, unnest(obstacles) AS obstacle FROM pg_temp.control('');
SELECT statement, unnest(obstacles) AS obstacle FROM pg_temp.control(E'TABLE=control_t\nINPUT=/x\nDELIMITER = ||\nQUOTE =\nFILTER = f(int)');
SELECT statement, unnest(obstacles) AS obstacle FROM pg_temp.control(E'TABLE=control_t\nINPUT=/x\nCOL=INT\nSTRIDE=4\nOUT_COL=INT\nSKIP=INFINITE\nOUTPUT=other');
\x

-- privileges and paths
SELECT statement FROM bulk_load_control(NULL);
SELECT statement FROM bulk_load_control('x.ctl');
SELECT statement FROM bulk_load_control('/proc/self/cwd/pgbulk_control_none');
SELECT statement FROM bulk_load_control('/proc/self/cwd');
SELECT pg_temp.put('long', repeat('#', 1024 * 1024 + 1)) AS f \gset
SELECT statement FROM bulk_load_control(:'f');
CREATE ROLE regress_pgbulk_control;
SET ROLE regress_pgbulk_control;
SELECT statement FROM bulk_load_control('/proc/self/cwd/pgbulk_control_ctl');
RESET ROLE;
DROP ROLE regress_pgbulk_control;

DROP TABLE control_t;
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_control_gone; rm -f pgbulk_control_*';
