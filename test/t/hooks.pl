# What other extensions see of a load and do with its table: hooks of the planner,
# the executor and ProcessUtility, a table access method (modules/hooks.c), and pgaudit.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs a compiler' if system('cc --version >/dev/null 2>&1') != 0;

my $folder = data_dir();
my $module = "$folder/hooks.so";
my $include = `pg_config --includedir-server`;
chomp $include;
is(system("cc -shared -fPIC -I$include -o $module $FindBin::RealBin/../modules/hooks.c >$folder/cc.log 2>&1"), 0,
	'the module is built') or diag slurp_file("$folder/cc.log");

my $node = bulk_server('hooks', "session_preload_libraries = '$module'");
my $file = data_file('rows', 1, "1,a\n2,b\n");
my $bad = data_file('bad', 1, "x,a\n8,b\n");
my ($ab, $b, $ba) = (data_file('ab', 1, "a,b\n3,c\n"), data_file('b', 1, "b\nd\n"), data_file('ba', 1, "b,a\ne,5\n"));

$node->safe_psql('postgres', qq{
	CREATE TABLE t (a int, b text);
	CREATE TABLE u (a int, b text PRIMARY KEY);
	CREATE TABLE p (a int, b text) PARTITION BY RANGE (a);
	CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (1) TO (2);
	CREATE TABLE p2 PARTITION OF p DEFAULT;
	CREATE TABLE child (c int) INHERITS (t);
	CREATE FUNCTION strict_default() RETURNS text IMMUTABLE LANGUAGE plpgsql AS \$\$BEGIN RAISE 'called'; END\$\$;
	CREATE TABLE ruled (a int, b text DEFAULT strict_default(), c int GENERATED ALWAYS AS (a + 1) STORED, d int DEFAULT 7);
	CREATE RULE nothing AS ON INSERT TO ruled DO INSTEAD NOTHING;
	CREATE VIEW v AS SELECT a, b FROM t;
	CREATE FUNCTION into_t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO t VALUES (new.a, new.b); RETURN new; END';
	CREATE TRIGGER into_t INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION into_t();
	CREATE TABLE rejects_of_others (load_id bigint, target text, loaded_at timestamptz, file text, line_number bigint, byte_offset bigint,
		reason text, column_name text, field_value text, sqlstate text, message text, raw_line text, raw_bytes bytea)});

# Runs SQL in a session of its own; returns its output, messages included, as one text.
sub run_sql
{
	my ($sql) = @_;
	my ($out, $err);

	$node->psql('postgres', $sql, stdout => \$out, stderr => \$err);
	$err =~ s/^psql:\S+ //mg;
	return join "\n", grep { /\S/ } $out, $err;
}

# The same without the module.
sub run_bare
{
	local $ENV{PGOPTIONS} = '-c session_preload_libraries=';
	return run_sql(@_);
}

sub load
{
	my ($table, $path, $options) = @_;
	return sprintf q{SELECT rows_loaded FROM bulk_load('%s', '%s', '%s')}, $table, $path, $options // '{}';
}

# ---- a plan of others ----

foreach my $place ('above', 'below')
{
	my $set = "SET hooks.$place =";
	my $refused = qr/^ERROR:  cannot load into table "t"\nDETAIL:  The table is written to by another extension, by custom scan "Elsewhere"\.\nHINT: /m;

	foreach my $options ('{}', '{"writer": "direct"}', '{"writer": "buffered"}', '{"dry_run": true}', '{"truncate": true}',
		'{"header": "map"}', '{"on_error": "ignore", "reject_table": "gone"}')
	{
		like(run_sql("$set 't'; " . load('t', $file, $options)), $refused, "$place: $options");
	}
	like(run_sql("$set 't'; SELECT * FROM bulk_load_query('t', 'SELECT 1, 2')"), $refused, "$place: a query");
	is(run_sql('SELECT count(*) FROM t'), '0', "$place: nothing is there");

	# one partition of several, whichever the writer
	like(run_sql("$set 'p2'; " . load('p', $file)), qr/cannot load into table "p2"\n.*custom scan/, "$place: a partition that gets a row");
	like(run_sql("$set 'p2'; " . load('p', $file, '{"writer": "direct"}')), qr/cannot load into "p"\n.*Partition "p2" is written to by another/,
		"$place: a partition, direct");
	like(run_sql("$set 'p2'; " . load('p', data_file('one', 1, "1,a\n"))), qr/^1$/, "$place: a partition without rows");
	like(run_sql("$set 'p'; " . load('p1', $file, '{"limit": 1}')), qr/^1$/, "$place: the parent of a partition");
	is(run_sql('SELECT count(*) FROM p; TRUNCATE p'), '2', "$place: what was loaded is there");
	like(run_sql("$set 'child'; " . load('t', $file)), qr/^2$/, "$place: a child by inheritance is another table");
	like(run_sql('TRUNCATE t'), qr/^$/, 'emptied');

	# a reject table of theirs gets its rows by INSERT
	like(run_sql("$set 'rejects_of_others'; " . load('t', $bad, '{"on_error": "ignore", "reject_table": "rejects_of_others", "log_verbosity": "silent"}')),
		qr/^1$/, "$place: a reject table");
	is(run_sql('SELECT raw_line FROM rejects_of_others'), 'x,a', "$place: has its row");
	my $id = run_sql('SELECT load_id FROM rejects_of_others');
	like(run_sql("$set 't'; SELECT * FROM bulk_load_retry('t', 'rejects_of_others', $id)"), $refused, "$place: a second try");
	is(run_sql('SELECT count(*) FROM rejects_of_others'), '1', "$place: leaves the row where it was");
	like(run_sql('TRUNCATE t, rejects_of_others'), qr/^$/, 'emptied');
}

# ---- what is seen ----

my $insert = qr/started: INSERT INTO public\.t \(a, b\) VALUES \(\$1, \$2\)/;

sub seen
{
	my ($sql, $expected, $name) = @_;
	my @lines = grep { /started|command|ERROR/ } split /\n/, run_sql("SET compute_query_id = on; SET hooks.report = on; $sql");

	s/^NOTICE:  // foreach @lines;
	is_deeply(\@lines, $expected, $name);
}

my @into_t = ('started: INSERT INTO public.t (a, b) VALUES ($1, $2)');
my @into_u = ('started: INSERT INTO public.u (a, b) VALUES ($1, $2)');
my $values = join ', ', map { "\$$_" } 1 .. 13;
my $columns = 'load_id, target, loaded_at, file, line_number, byte_offset, reason, column_name, field_value, sqlstate, message, raw_line, raw_bytes';
my $typed = 'load_id pg_catalog.int8, target pg_catalog.text, loaded_at pg_catalog.timestamptz, file pg_catalog.text, line_number pg_catalog.int8, '
  . 'byte_offset pg_catalog.int8, reason pg_catalog.text, column_name pg_catalog.text, field_value pg_catalog.text, sqlstate pg_catalog.text, '
  . 'message pg_catalog.text, raw_line pg_catalog.text, raw_bytes pg_catalog.bytea';

foreach my $options ('{}', '{"writer": "direct"}', '{"writer": "buffered"}', '{"dry_run": true}')
{
	seen(load('t', $file, $options), [@into_t], "a load is one INSERT: $options");
}
seen(load('t', $file, '{"columns": ["a", null]}'), ['started: INSERT INTO public.t (a) VALUES ($1)'], 'of its columns');
seen(load('t', $file, '{"columns": ["b", "a"], "on_error": "ignore"}'), [@into_t], 'in the order of the table');
seen("SELECT * FROM bulk_load_query('t', 'SELECT 1, 2')", [@into_t], 'a query');
seen(q{DO $$BEGIN PERFORM * FROM bulk_load('t', '} . $file . q{'); END$$}, [@into_t], 'DO');
seen("BEGIN; DECLARE c CURSOR FOR " . load('t', $file) . "; FETCH c; COMMIT", [@into_t], 'a cursor');
seen("PREPARE p AS " . load('t', $file) . "; EXECUTE p", [@into_t], 'EXECUTE');
seen(load('u', $file, '{"on_duplicate": "keep_new"}'), [ @into_u, 'started: DELETE FROM ONLY public.u' ], 'keep_new deletes');
seen(load('u', $file, '{"on_duplicate": "keep_old"}'), [@into_u], 'keep_old does not');
seen(load('p', $file), ['started: INSERT INTO public.p (a, b) VALUES ($1, $2)'], 'a partitioned table is one');
seen(load('t', $file, '{"truncate": true, "analyze": true}'),
	[ @into_t, 'command: TRUNCATE TABLE ONLY public.t', 'command: ANALYZE public.t' ], 'commands');
seen(load('t', $file, '{"truncate": true, "dry_run": true}'), [ @into_t, 'command: TRUNCATE TABLE ONLY public.t' ], 'a dry run truncates, too');
seen(load('p', $file, '{"truncate": true}'),
	[ 'started: INSERT INTO public.p (a, b) VALUES ($1, $2)', 'command: TRUNCATE TABLE public.p' ], 'a partitioned table and its partitions');
seen(load('t', $bad, '{"on_error": "ignore", "reject_table": "rejects"}'),
	[ @into_t, "command: CREATE TABLE rejects ($typed)", "started: INSERT INTO public.rejects ($columns) VALUES ($values)" ],
	'a reject table is created and written to');
seen("SELECT * FROM bulk_load_retry('t', 'rejects', (SELECT max(load_id) FROM rejects))",
	[ @into_t, "started: INSERT INTO public.rejects ($columns) VALUES ($values)" ], 'a second try');
seen("SELECT * FROM bulk_load('t', ARRAY['$ab', '$b', '$ba'], '{\"header\": \"map\"}')", [@into_t], 'header = map: once');
seen("SELECT * FROM bulk_load('t', ARRAY['$b', '$ab'], '{\"header\": \"map\"}')",
	[ 'started: INSERT INTO public.t (b) VALUES ($1)', @into_t ], 'header = map: again where a file has more columns');
seen("SELECT * FROM bulk_load('v', '$file')",
	[ 'started: INSERT INTO public.v (a, b) VALUES ($1, $2)', ('started: INSERT INTO t VALUES (new.a, new.b)') x 2 ], 'a view with its trigger');

# who checks privileges can forbid it
my %forbidden = (
	'COPY' => [ "COPY t FROM '$file' (FORMAT csv)", 't', '2, privileges 1' ],
	'a load' => [ load('t', $file), 't', '2, privileges 1' ],
	'a header' => [ load('t', $ab, '{"header": "map"}'), 't', '2, privileges 1' ],
	'one column' => [ load('t', $file, '{"columns": ["a", null]}'), 't', '1, privileges 1' ],
	'where' => [ load('t', $file, '{"where": "a > 1"}'), 't', '2, privileges 3' ],
	'a reject table' => [ load('t', $bad, '{"on_error": "ignore", "reject_table": "rejects"}'), 'rejects', '13, privileges 1' ]);
foreach my $way (sort keys %forbidden)
{
	my ($sql, $table, $columns) = @{ $forbidden{$way} };
	my $message = qr/^ERROR:  writing to "$table" is forbidden, columns $columns$/m;

	like(run_sql("SET hooks.forbid = '$table'; $sql"), $message, "forbidden: $way");
	like(run_bare("SET hooks.privileges = on; LOAD '$module'; SET hooks.forbid = '$table'; $sql"), $message,
		"without another hook: $way");
}

# without a hook there is no statement to show; one may come between two loads
is(run_bare(load('t', $file) . "; LOAD '$module'; SET hooks.report = on; " . load('t', $file)),
	"2\n2\nNOTICE:  command: COPY public.t FROM '$file' WITH (format 'csv')\nNOTICE:  started: INSERT INTO public.t (a, b) VALUES (\$1, \$2)",
	'a hook since the last load');

# a hook of utility statements that came later sees a COPY, whichever the function
sub commands
{
	my ($sql) = @_;
	return join "\n", run_bare("SELECT rows_loaded FROM bulk_load_last(); LOAD '$module'; SET compute_query_id = on; SET hooks.report = on; $sql")
	  =~ /^NOTICE:  (command.*)$/mg;
}

my $none = data_file('none', 1, 'x');
is(commands(load('t', $file, '{"columns": ["a", null], "null": "it\'\'s", "skip": 1, "format": "text", "delimiter": ","}')),
	"command: COPY public.t FROM '$file' WITH (\"null\" 'it''s', skip '1', format 'text', columns '[\"a\", null]', delimiter ',')", 'options as a statement');
is(commands("SELECT * FROM bulk_load('t', ARRAY['$file', '$file'])"), "command: COPY public.t FROM '$file, $file' WITH (format 'csv')", 'several files');
is(commands(q{SELECT * FROM bulk_load_query('t', 'SELECT 1, ''x''')}), q{command: COPY public.t FROM 'query' WITH (query 'SELECT 1, ''x''')}, 'a query as a statement');
is(commands("SELECT * FROM bulk_load_retry('t', 'rejects', 0)"), q{command: COPY public.t FROM 'public.rejects' WITH (load_id 0)}, 'a second try as a statement');
is(commands(load('u', $none)), "command: COPY public.u FROM '$none' WITH (format 'csv')", 'one that fails');

# neither a rule nor a default counts where COPY needs none
is(run_sql(load('ruled', $file, '{"columns": ["a", "b"]}') . '; SELECT * FROM ruled ORDER BY a; SET hooks.report = on; SELECT 1'),
	"2\n1|a|2|7\n2|b|3|7\n1", 'a table with a rule and a default that throws');

# privileges are the executor's
$node->safe_psql('postgres', q{
	CREATE ROLE loader; GRANT pg_read_server_files TO loader; GRANT INSERT (a) ON t TO loader; GRANT INSERT ON u TO loader});
foreach my $run (\&run_sql, \&run_bare)
{
	like($run->('SET ROLE loader; ' . load('t', $file)), qr/^ERROR:  permission denied for table t$/m, 'INSERT of one column is not enough');
	like($run->('SET ROLE loader; ' . load('t', $ab, '{"header": "map"}')), qr/^ERROR:  permission denied for table t$/m, 'nor by the header');
	like($run->('SET ROLE loader; ' . load('t', $file, '{"columns": ["a", null]}')), qr/^2$/, 'but for this column');
	like($run->('SET ROLE loader; ' . load('p', $ab, '{"header": "map"}')), qr/^ERROR:  permission denied for table p$/m, 'no column at all');
	like($run->('SET ROLE loader; ' . load('u', $file, '{"on_duplicate": "keep_new"}')), qr/^ERROR:  permission denied for table u$/m, 'no right to replace');
	like($run->('SET ROLE loader; ' . load('t', $file, '{"columns": ["a", null], "where": "b IS NULL"}')),
		qr/^ERROR:  permission denied for table t$/m, 'no right to read what where looks at');
}

# what is shown of a row are the columns that were loaded
$node->safe_psql('postgres', 'CREATE TABLE checked (a int CHECK (a > 2), b text, c text DEFAULT \'secret\'); GRANT INSERT ON checked TO loader');
my $shown = qr/^DETAIL:  Failing row contains \(a, b\) = \(1, a\)\.$/m;
like(run_sql("SET ROLE loader; COPY checked (a, b) FROM '$file' (FORMAT csv)"), $shown, 'COPY shows the columns that it loads');
like(run_sql('SET ROLE loader; ' . load('checked', $file, qq({"writer": "$_", "columns": ["a", "b"]}))), $shown, "so does writer $_") foreach 'auto', 'buffered';

# ---- a table access method ----

$node->safe_psql('postgres', qq{
	CREATE FUNCTION counting_heap_handler(internal) RETURNS table_am_handler LANGUAGE c AS '$module';
	CREATE FUNCTION counted_rows() RETURNS bigint LANGUAGE c AS '$module';
	CREATE ACCESS METHOD heap_again TYPE TABLE HANDLER heap_tableam_handler;
	CREATE ACCESS METHOD counting_heap TYPE TABLE HANDLER counting_heap_handler;
	CREATE TABLE parents (a int PRIMARY KEY);
	INSERT INTO parents SELECT generate_series(1, 2500)});
my $many = data_file('many', 1, join '', map { "$_," . ($_ % 700 ? "v$_" : 'w' x 20000) . "\n" } 1 .. 3000);

foreach my $method ('heap', 'heap_again', 'counting_heap')
{
	my $own = $method eq 'counting_heap';
	$node->safe_psql('postgres', "
		CREATE TABLE $method (a int, b text) USING $method;
		CREATE TABLE ${method}_keys (a int PRIMARY KEY REFERENCES parents, b text) USING $method;
		CREATE TABLE ${method}_parts (a int, b text) PARTITION BY RANGE (a);
		CREATE TABLE ${method}_part PARTITION OF ${method}_parts DEFAULT USING $method");
	is(run_sql(load($method, $many) . "; SELECT count(*), sum(a), sum(length(b)) FROM $method; SELECT counted_rows()"),
		"3000\n3000|4501500|93874\n" . ($own ? 3000 : 0), "$method: a load, and whether by calls of its own");
	is(run_sql(load($method, $many, '{"dry_run": true}') . "; SELECT count(*) FROM $method"), "3000\n3000", "$method: a dry run");
	is(run_sql(load($method, $many, '{"truncate": true, "freeze": true}') . "; SELECT count(*) FROM $method"), "3000\n3000", "$method: truncate, freeze");
	is(run_sql(load("${method}_parts", $many) . "; SELECT count(*) FROM ${method}_part"), "3000\n3000", "$method: a partition");
	like(run_sql(load("${method}_keys", $many)), qr/^ERROR:  .* violates foreign key constraint/m, "$method: an orphan");
	like(run_sql(load("${method}_keys", $many, '{"on_error": "ignore", "log_verbosity": "silent"}')),
		$own ? qr/^ERROR:  .* violates foreign key constraint/m : qr/^2500$/, "$method: orphans to be rejected");
	is(run_sql(load("${method}_keys", $file) . "; SELECT counted_rows()") =~ /^(ERROR)|^2\n(\d+)$/ ? $1 // $2 : 'neither',
		$own ? 2 : 'ERROR', "$method: a key");
	is(run_sql(q{SELECT rows_loaded, rows_replaced FROM bulk_load('} . "${method}_keys', '$file', "
			. q{'{"on_duplicate": "keep_new", "log_verbosity": "silent"}'); SELECT b FROM } . "${method}_keys WHERE a = 2; SELECT counted_rows() / 1000000"),
		"2|2\nb\n" . ($own ? 2 : 0), "$method: duplicates");
	like(run_sql(load($method, $file, '{"writer": "direct"}')),
		$own ? qr/^ERROR:  writer "direct" cannot load into "counting_heap"\nDETAIL:  The table has an access method other than heap\./m : qr/^2$/,
		"$method: the direct writer");
}

# ---- what is counted ----

SKIP:
{
	skip 'pg_stat_statements is not installed', 1 unless has_extension($node, 'pg_stat_statements');
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pgbulk, pg_stat_statements'\npg_stat_statements.track = all");
	$node->restart;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements; TRUNCATE t');
	run_bare(load('t', $file) . '; ' . load('t', $file, '{"dry_run": true}') . q{; SELECT * FROM bulk_load_query('t', 'SELECT 1, 2')});
	is(run_bare(q{SELECT calls, rows, query FROM pg_stat_statements WHERE query LIKE 'COPY%' ORDER BY query COLLATE "C"}),
		"1|2|COPY public.t FROM '$file' WITH (format 'csv')\n1|0|COPY public.t FROM '$file' WITH (format 'csv', dry_run 'true')\n"
		  . "1|1|COPY public.t FROM 'query' WITH (query 'SELECT 1, 2')", 'loads are counted with their rows');
}

check_log($node);
check_tables($node);
done_testing();
