# Loads into foreign tables of postgres_fdw on two other servers: the rows are those that COPY through postgres_fdw
# stores; an error names the server, the file and the line; and whatever is killed or cut at whatever step of the
# two-phase commit, all servers have all of the rows afterwards, or none.
#
# With PGBULK_TEST_LONG more loads are killed at random, or as many as PGBULK_TEST_CRASHES says.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my @settings = ('max_prepared_transactions = 20', 'shared_buffers = 32MB', 'jit = off');
my $main = bulk_server('cluster_main', @settings, "timezone = 'Asia/Kolkata'");

plan skip_all => 'postgres_fdw is not there' unless has_extension($main, 'postgres_fdw');

my @nodes = map { bulk_server("cluster_$_", @settings) } 1, 2;
my $plain = $nodes[1];		# whose COPY is the server's own
my $folder = data_dir();

$plain->safe_psql('postgres', 'DROP EXTENSION pgbulk');
$main->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
foreach my $n (1, 2)
{
	my ($host, $port) = ($nodes[$n - 1]->host, $nodes[$n - 1]->port);

	$main->safe_psql('postgres', qq{
		CREATE SERVER s$n FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres', batch_size '100');
		CREATE USER MAPPING FOR CURRENT_USER SERVER s$n});
}

# on_node(N, SQL)
sub on_node { my ($n, $sql) = @_; return $nodes[$n - 1]->safe_psql('postgres', $sql); }

# partitions(TABLE, COLUMNS, [SERVER, BOUNDS]...): a partition of the table on each of these servers; server 0: here.
sub partitions
{
	my ($table, $columns, @parts) = @_;

	foreach my $i (0 .. $#parts)
	{
		my ($n, $bounds) = @{ $parts[$i] };

		$main->safe_psql('postgres', $n == 0 ? "CREATE TABLE ${table}_$i PARTITION OF $table $bounds" :
			"CREATE FOREIGN TABLE ${table}_$i PARTITION OF $table $bounds SERVER s$n");
		on_node($n, "CREATE TABLE ${table}_$i ($columns)") if $n > 0;
	}
}

# The error of SQL, or ''.
sub error_of
{
	my ($sql, @more) = @_;
	my ($rc, $out, $err) = $main->psql('postgres', $sql, @more);
	return $err;
}

sub count_of { return $main->safe_psql('postgres', "SELECT count(*) FROM $_[0]"); }

# Nothing of a load is left on the other servers: no session, no prepared transaction.
sub nothing_left
{
	my ($name) = @_;

	foreach my $node (@nodes)
	{
		wait_for('sessions to end', sub { $node->safe_psql('postgres',
			"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk'") eq '0' });
		is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), '0', "$name: nothing is prepared");
	}
}

# ---- the rows are COPY's ----

my $columns = 'k int, s text, n numeric(20,4), t timestamptz, b bytea, f float8, a int[], d date';
my %rows;
my @values = map {
	my $k = $_;
	[ $k, $k % 7 ? "text, \"of\"\nrow $k \\ \x{e9}" : undef, $k / 8, "2026-01-0" . (1 + $k % 9) . " 03:04:05.678", '\x00ff5c' . sprintf('%02x', $k % 256),
		$k / 3, "{$k,NULL,-1}", '2026-11-26' ]
} 1 .. 3000;

sub csv { my ($v) = @_; return '' unless defined $v; $v =~ s/"/""/g; return "\"$v\""; }
sub text { my ($v) = @_; return '\N' unless defined $v; $v =~ s/\\/\\\\/g; $v =~ s/\n/\\n/g; $v =~ s/\t/\\t/g; return $v; }
sub encoded { my ($text, $encoding) = @_; $encoding eq 'utf8' ? utf8::encode($text) : utf8::downgrade($text); return $text; }

my $csv = data_file('rows.csv', 1, encoded(join('', map { join(',', map { csv($_) } @$_) . "\n" } @values), 'utf8'));
my $semicolon = data_file('rows.ssv', 1, encoded("k;s;n;t;b;f;a;d\r\n" . join('', map { join(';', map { csv($_) } @$_) . "\r\n" } @values), 'utf8'));
my $text = data_file('rows.txt', 1, encoded(join('', map { join("\t", map { text($_) } @$_) . "\n" } @values), 'utf8'));
my $latin = data_file('rows.latin1', 1, encoded(join('', map { join(',', map { csv($_) } @$_) . "\n" } @values), 'latin1'));
my $short = data_file('short.csv', 1, join('', map { "text $_,$_\n" } 1 .. 3000));
my $mapped = data_file('mapped.csv', 1, "s,k\n" . join('', map { "text $_,$_\n" } 1 .. 3000));

# what is loaded, by a COPY and by pgbulk: all formats into all kinds of tables
my @loads = (
	[ 'csv', "COPY %t FROM '$csv' (FORMAT csv)", $csv, '{"format": "csv"}', 'as they are' ],
	[ 'csv with another delimiter', "COPY %t FROM '$semicolon' (FORMAT csv, DELIMITER ';', HEADER)", $semicolon, '{"delimiter": ";", "header": true}', 'as they are' ],
	[ 'text', "COPY %t FROM '$text'", $text, '{"format": "text"}', 'as they are' ],
	[ 'latin1', "COPY %t FROM '$latin' (FORMAT csv, ENCODING 'latin1')", $latin, '{"encoding": "latin1"}', 'formed anew' ],
	[ 'some columns', "COPY %t (s, k) FROM '$short' (FORMAT csv)", $short, '{"columns": ["s", "k"]}', 'as they are' ],
	[ 'columns by a header', "COPY %t (s, k) FROM '$mapped' (FORMAT csv, HEADER)", $mapped, '{"header": "map"}', 'as they are' ],
	[ 'a condition', "COPY %t FROM '$csv' (FORMAT csv) WHERE s IS NULL OR n > 100", $csv, '{"where": "s IS NULL OR n > 100"}', 'formed anew' ]);
my %tables = (
	hash => [ 'PARTITION BY HASH (k)', [ 0, 'FOR VALUES WITH (modulus 4, remainder 0)' ], [ 1, 'FOR VALUES WITH (modulus 4, remainder 1)' ],
		[ 2, 'FOR VALUES WITH (modulus 4, remainder 2)' ], [ 2, 'FOR VALUES WITH (modulus 4, remainder 3)' ] ],
	list => [ 'PARTITION BY LIST ((k % 3))', [ 1, 'FOR VALUES IN (0)' ], [ 2, 'FOR VALUES IN (1)' ], [ 1, 'DEFAULT' ] ],
	range => [ 'PARTITION BY RANGE (k, s)', [ 0, "FOR VALUES FROM (MINVALUE, MINVALUE) TO (100, 'a')" ], [ 1, "FOR VALUES FROM (100, 'a') TO (2000, MINVALUE)" ],
		[ 2, 'FOR VALUES FROM (2000, MINVALUE) TO (5000, MINVALUE)' ], [ 0, 'DEFAULT' ] ]);

foreach my $kind (sort keys %tables)
{
	my ($by, @parts) = @{ $tables{$kind} };

	$main->safe_psql('postgres', "CREATE TABLE $kind (k int, s text, n numeric(20,4) DEFAULT 7, t timestamptz DEFAULT '2026-02-03 04:05', b bytea, f float8, a int[], d date) $by");
	partitions($kind, $columns, @parts);
	foreach my $load (@loads)
	{
		my ($name, $copy, $file, $options, $sent) = @$load;
		my $all = "SELECT md5(string_agg(r, '' ORDER BY r)) FROM (SELECT ${kind}.tableoid::regclass::text || ${kind}::text AS r FROM $kind) q";
		my @found;

		(my $statement = $copy) =~ s/%t/$kind/;
		$main->safe_psql('postgres', $statement);
		push @found, $main->safe_psql('postgres', $all);
		$main->safe_psql('postgres', "TRUNCATE $kind");
		my $how = $main->safe_psql('postgres', "SELECT DISTINCT n ->> 'sent' FROM bulk_load('$kind', '$file', '$options') l, jsonb_array_elements(l.details -> 'nodes') n");
		push @found, $main->safe_psql('postgres', $all);
		is($found[1], $found[0], "$kind, $name: the rows are COPY's");
		is($how, $sent, "$kind, $name: how they were sent");
		$main->safe_psql('postgres', "TRUNCATE $kind");
	}
}

# sub-partitioned, with columns in another order, a column of another name there, and a table of another name
$main->safe_psql('postgres', q{
	CREATE TABLE sub (k int, s text, id serial, g int GENERATED ALWAYS AS (k * 2) STORED) PARTITION BY RANGE (k);
	CREATE TABLE sub_here PARTITION OF sub FOR VALUES FROM (0) TO (1000);
	CREATE TABLE sub_list (id int NOT NULL, s text, k int, g int GENERATED ALWAYS AS (k * 2) STORED) PARTITION BY LIST (s);
	ALTER TABLE sub ATTACH PARTITION sub_list FOR VALUES FROM (1000) TO (4000);
	CREATE FOREIGN TABLE sub_a PARTITION OF sub_list FOR VALUES IN ('text 1500') SERVER s1 OPTIONS (table_name 'Sub "A"');
	CREATE FOREIGN TABLE sub_b PARTITION OF sub_list DEFAULT SERVER s2 OPTIONS (schema_name 'other');
	ALTER FOREIGN TABLE sub_b ALTER s OPTIONS (column_name 'S "s"')});
on_node(1, 'CREATE TABLE "Sub ""A""" (k int, s text, id int, g int GENERATED ALWAYS AS (k * 2) STORED)');
on_node(2, 'CREATE SCHEMA other; CREATE TABLE other.sub_b (k int, "S ""s""" text, id int DEFAULT 77, g int GENERATED ALWAYS AS (k * 2) STORED)');
is($main->safe_psql('postgres', qq{SELECT rows_loaded FROM bulk_load('sub', '$short', '{"columns": ["s", "k"]}')}), 3000, 'sub-partitioned');
is($main->safe_psql('postgres', q{SELECT tableoid::regclass, count(*), min(k), max(s), count(DISTINCT id), bool_and(g = 2 * k) FROM sub GROUP BY 1 ORDER BY 1}),
	"sub_here|999|1|text 999|999|t\nsub_a|1|1500|text 1500|1|t\nsub_b|2000|1000|text 3000|2000|t", 'the rows of each partition');
is($main->safe_psql('postgres', 'SELECT count(DISTINCT id) FROM sub'), 3000, 'values of the sequence are those of this server');

# file after file, each in a transaction of its own
$main->safe_psql('postgres', 'TRUNCATE sub');
mkdir "$folder/each";
foreach my $n (1 .. 3) { append_to_file("$folder/each/$n.csv", join('', map { "text $_,$_\n" } 1000 * $n + 1 .. 1000 * $n + 900)); }
is($main->safe_psql('postgres', qq{CALL bulk_load_each('sub', '$folder/each/*.csv', '{"columns": ["s", "k"]}')}), '3|0|2700|0', 'file after file');
is(count_of('sub'), 2700, 'their rows');

# one foreign table; its NOT NULL and CHECK are not looked at, as by COPY, and its defaults are
on_node(1, 'CREATE TABLE one (k int, s text DEFAULT $$there$$, u int)');
$main->safe_psql('postgres', q{CREATE FOREIGN TABLE one (k int NOT NULL CHECK (k < 10), s text, u int DEFAULT 5) SERVER s1});
is($main->safe_psql('postgres', qq{SELECT rows_loaded, writer, details #>> '{nodes,0,pgbulk}' FROM bulk_load('one', '$short', '{"columns": [null, "k"]}')}),
	'3000|nodes|1.1', 'a foreign table');
is($main->safe_psql('postgres', 'SELECT count(s), sum(k), sum(u) FROM one'), '0|4501500|15000', 'its rows');
on_node(1, 'TRUNCATE one');

# the client's data, a query, COPY with an option of pgbulk
$main->safe_psql('postgres', "SELECT rows_loaded FROM bulk_load_query('hash', 'SELECT k, s FROM sub', '{\"columns\": [\"k\", \"s\"]}')");
is(count_of('hash'), 2700, 'the rows of a query');
$main->safe_psql('postgres', 'TRUNCATE hash');
$main->safe_psql('postgres', "SELECT bulk_load_last(); COPY hash FROM '$csv' WITH (FORMAT csv, HISTORY true)");
is(count_of('hash'), 3000, 'by COPY');
nothing_left('after loads');

# rows that a trigger there keeps out
on_node(1, q{CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF new.k % 2 = 1 THEN RETURN new; END IF; RETURN NULL; END';
	CREATE TRIGGER odd BEFORE INSERT ON one FOR EACH ROW EXECUTE FUNCTION odd()});
is($main->safe_psql('postgres', qq{SELECT rows_loaded, rows_filtered, rows_read FROM bulk_load('one', '$short', '{"columns": ["s", "k"]}')}),
	'1500|1500|3000', 'a trigger there keeps rows out');
on_node(1, 'DROP TRIGGER odd ON one; TRUNCATE one');

# rows in the order of the key, so that one table of a server is full before another one has its first row; another
# table's trigger does not excuse a row that is missing
$main->safe_psql('postgres', 'CREATE TABLE sorted (k int, s text) PARTITION BY RANGE (k)');
partitions('sorted', 'k int, s text', [ 1, 'FOR VALUES FROM (0) TO (40000)' ], [ 1, 'FOR VALUES FROM (40000) TO (80000)' ], [ 1, 'FOR VALUES FROM (80000) TO (120000)' ]);
on_node(1, q{CREATE TRIGGER odd BEFORE INSERT ON sorted_2 FOR EACH ROW EXECUTE FUNCTION odd()});
my $sorted = data_file('sorted.csv', 1, join('', map { "$_," . ('x' x 60) . "\n" } 1 .. 100000));
is($main->safe_psql('postgres', qq{SELECT rows_loaded, rows_filtered FROM bulk_load('sorted', '$sorted')}), '89999|10001', 'rows in the order of the key');
is($main->safe_psql('postgres', q{SELECT string_agg(c::text, ',' ORDER BY t) FROM (SELECT tableoid::regclass::text AS t, count(*) AS c FROM sorted GROUP BY 1) q}),
	'39999,40000,10000', 'are in their partitions');

# the end of a file in the middle of an escape
append_to_file("$folder/cut.txt", "1\tone\n2\ttwo\\");
$main->safe_psql('postgres', 'CREATE TABLE cut_here (k int, s text); CREATE FOREIGN TABLE cut (k int, s text) SERVER s1');
on_node(1, 'CREATE TABLE cut (k int, s text)');
$main->safe_psql('postgres', qq{SELECT bulk_load('$_', '$folder/cut.txt', '{"format": "text"}')}) foreach qw(cut cut_here);
is($main->safe_psql('postgres', 'SELECT string_agg(c::text, $$ $$ ORDER BY k) FROM cut c'), $main->safe_psql('postgres', 'SELECT string_agg(c::text, $$ $$ ORDER BY k) FROM cut_here c'),
	'a row that ends in an escape');

# a type that is another one there: the values are sent, not the texts
on_node(1, 'CREATE TABLE wider (k text, s text)');
$main->safe_psql('postgres', 'CREATE FOREIGN TABLE wider (k int, s text) SERVER s1');
append_to_file("$folder/spaced.csv", " 7 ,x\n+8,y\n");
is($main->safe_psql('postgres', qq{SELECT details #>> '{nodes,0,reason}' FROM bulk_load('wider', '$folder/spaced.csv')}),
	'A column has another type there.', 'another type there');
is(on_node(1, 'SELECT string_agg(k, $$,$$ ORDER BY k) FROM wider'), '7,8', 'has the values, not the texts');

# a csv row that an older COPY takes for the end of its data
append_to_file("$folder/marker.csv", "a\n\\.\nb\n");
on_node(2, 'CREATE TABLE marker (s text)');
$main->safe_psql('postgres', 'CREATE FOREIGN TABLE marker (s text) SERVER s2');
is($main->safe_psql('postgres', qq{SELECT rows_loaded FROM bulk_load('marker', '$folder/marker.csv')}), 3, 'a row like the end marker');
is(on_node(2, 'SELECT count(*) FROM marker'), 3, 'is a row there');

# ---- errors ----

$main->safe_psql('postgres', 'TRUNCATE hash');
append_to_file("$folder/value.csv", join('', map { "$_,\"a\nb\",1,2026-01-" . ($_ == 2500 ? '99' : '01') . "\n" } 1 .. 3000));
like(error_of(qq{SELECT bulk_load('list', '$folder/value.csv', '{"columns": ["k", "s", "n", "t"]}')}),
	qr{date/time field value out of range: "2026-01-99".*server "s[12]": COPY list_\d, line \d+, column t.*file "$folder/value.csv", line 4999}s, 'a bad value names server, file and line');
is(count_of('list'), 0, 'and nothing is loaded anywhere');
append_to_file("$folder/key.csv", join('', map { "$_,x\n" } 1 .. 2000) . "oops,x\n");
like(error_of(qq{SELECT bulk_load('hash', '$folder/key.csv', '{"columns": ["k", "s"]}')}),
	qr{invalid input syntax for type integer: "oops".*file "$folder/key.csv", line 2001, column k}s, 'a bad value of the key is found here');
append_to_file("$folder/fields.csv", join('', map { "$_,x\n" } 1 .. 2000) . "2001\n");
like(error_of(qq{SELECT bulk_load('hash', '$folder/fields.csv', '{"columns": ["k", "s"]}')}),
	qr{missing data for column "s".*file "$folder/fields.csv", line 2001}s, 'a missing field is found here');
on_node(2, q{ALTER TABLE hash_2 ADD CONSTRAINT short CHECK (s <> 'text 2999'); ALTER TABLE hash_3 ADD CONSTRAINT short CHECK (s <> 'text 2999')});
on_node(1, q{ALTER TABLE hash_1 ADD CONSTRAINT short CHECK (s <> 'text 2999')});
$main->safe_psql('postgres', q{CREATE TABLE twin (LIKE hash_0)});
like(error_of(qq{SELECT bulk_load('hash', ARRAY['$mapped', '$mapped'], '{"header": "map"}')}),
	qr{new row for relation "hash_\d" violates check constraint "short".*server "s\d": COPY.*file "$mapped", line 3000}s, 'a constraint of a server');
is(count_of('hash'), 0, 'and nothing is loaded anywhere');
on_node(1, q{ALTER TABLE hash_1 DROP CONSTRAINT short});
on_node(2, q{ALTER TABLE hash_2 DROP CONSTRAINT short; ALTER TABLE hash_3 DROP CONSTRAINT short});
like(error_of(qq{SELECT bulk_load('range_part', '$short', '{"columns": ["s", "k"]}')}), qr{does not exist}, 'no such table');
$main->safe_psql('postgres', 'DROP TABLE range_3');
like(error_of(qq{SELECT bulk_load('range', '$short', '{"columns": [null, "s"]}')}), qr{no partition of relation "range" found for row}, 'no partition');
on_node(1, q{CREATE TABLE later (k int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, s text); INSERT INTO later VALUES (5)});
$main->safe_psql('postgres', 'CREATE FOREIGN TABLE later (k int, s text) SERVER s1');
like(error_of(qq{SELECT bulk_load('later', '$short', '{"columns": ["s", "k"]}')}), qr{duplicate key value violates unique constraint "later_pkey".*server "s1"}s,
	'what is checked only when it is prepared');
is(on_node(1, 'SELECT count(*) FROM later'), 1, 'and nothing is loaded');
nothing_left('after errors');

# ---- what is refused ----

my $load = qq{SELECT rows_loaded FROM bulk_load('hash', '$short', '{"columns": ["s", "k"]}')};
like(error_of("BEGIN; $load; COMMIT"), qr{cannot load into foreign partition "hash_\d".*a transaction of its own}s, 'in a transaction block');
like(error_of("$load UNION ALL $load"), qr{cannot load into foreign partition.*with one load}s, 'two in one statement');
foreach my $option (qw("on_error":"ignore" "truncate":true "dry_run":true "analyze":true "on_duplicate":"keep_old" "writer":"direct" "indexes":"rebuild"))
{
	my ($name) = $option =~ /"(\w+)"/;

	like(error_of(qq{SELECT bulk_load('one', '$short', '{"columns": ["s", "k"], $option}')}),
		qr{cannot load into foreign table "one".*option "$name"}s, "with $option");
}
$main->safe_psql('postgres', q{CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
	CREATE TRIGGER nothing BEFORE INSERT ON one FOR EACH ROW EXECUTE FUNCTION nothing()});
like(error_of(qq{SELECT bulk_load('one', '$short', '{"columns": ["s", "k"]}')}), qr{cannot load into foreign table "one".*triggers that see each row}s, 'with a trigger here');
$main->safe_psql('postgres', q{DROP TRIGGER nothing ON one; ALTER FOREIGN TABLE one OPTIONS (updatable 'false')});
like(error_of(qq{SELECT bulk_load('one', '$short', '{"columns": ["s", "k"]}')}), qr{does not allow inserts}, 'not updatable');
$main->safe_psql('postgres', q{ALTER FOREIGN TABLE one OPTIONS (DROP updatable)});
on_node(1, 'CREATE RULE away AS ON INSERT TO one DO INSTEAD NOTHING');
like(error_of(qq{SELECT bulk_load('one', '$short', '{"columns": ["s", "k"]}')}), qr{has rules, which COPY ignores}, 'rules there');
on_node(1, 'DROP RULE away ON one');

# rows that are here need no other server
append_to_file("$folder/here.csv", join('', map { "x,$_\n" } 1 .. 50));
$nodes[0]->stop('immediate');
is($main->safe_psql('postgres', qq{BEGIN; SELECT rows_loaded FROM bulk_load('sub', '$folder/here.csv', '{"columns": ["s", "k"]}'); COMMIT}), 50, 'rows that are here, in a block');
is($main->safe_psql('postgres', qq{SELECT rows_loaded FROM bulk_load('sub', '$folder/here.csv', '{"columns": ["s", "k"]}')}), 50, 'rows that are here, with a server that is not');
like(error_of($load), qr{could not connect to server "s1"}, 'a server that is not there');
$nodes[0]->start;
on_node(1, q{ALTER SYSTEM SET max_prepared_transactions = 0});
$nodes[0]->restart;
like(error_of($load), qr{server "s1" cannot prepare transactions.*max_prepared_transactions is 0}s, 'a server that cannot prepare');
on_node(1, q{ALTER SYSTEM RESET max_prepared_transactions});
$nodes[0]->restart;
is(count_of('hash'), 0, 'nothing is loaded by any of these');

# who may connect as whom
$main->safe_psql('postgres', q{CREATE ROLE loader LOGIN; GRANT pg_read_server_files TO loader; GRANT INSERT, SELECT ON one TO loader; GRANT USAGE ON FOREIGN SERVER s1 TO loader});
my $as_loader = qq{SET ROLE loader; SELECT bulk_load('one', '$short', '{"columns": ["s", "k"]}')};
like(error_of($as_loader), qr{user mapping not found for}, 'without a mapping');
my $user = $main->safe_psql('postgres', 'SELECT current_user');
on_node(1, q{CREATE ROLE loader LOGIN PASSWORD 'right'; GRANT INSERT, SELECT ON one TO loader});
$main->safe_psql('postgres', q{CREATE USER MAPPING FOR loader SERVER s1 OPTIONS (user 'loader')});
like(error_of($as_loader), qr{password is required}, 'without a password');
$main->safe_psql('postgres', q{ALTER USER MAPPING FOR loader SERVER s1 OPTIONS (ADD password 'right')});
like(error_of($as_loader), qr{password is required.*has not asked}s, 'with a password that nobody asks for');
{
	my $hba = $nodes[0]->data_dir . '/pg_hba.conf';
	my $before = slurp_file($hba);

	open(my $file, '>', $hba) or die;
	print $file "local all loader scram-sha-256\nhost all loader all scram-sha-256\n$before";
	close $file;
	$nodes[0]->reload;
	wait_for('the new rules', sub { error_of($as_loader) eq '' });
	is(on_node(1, 'SELECT count(*) > 0 FROM one'), 't', 'with the right password');
	$main->safe_psql('postgres', q{ALTER USER MAPPING FOR loader SERVER s1 OPTIONS (SET password 'wrong')});
	like(error_of($as_loader), qr{could not connect to server "s1".*password authentication failed}s, 'with a wrong one');
	$main->safe_psql('postgres', q{ALTER USER MAPPING FOR loader SERVER s1 OPTIONS (ADD password_required 'false')});
	like(error_of($as_loader), qr{could not connect to server "s1"}, 'password_required off');
	open($file, '>', $hba) or die;
	print $file $before;
	close $file;
	$nodes[0]->reload;
	wait_for('the old rules', sub { error_of($as_loader) eq '' });
}
on_node(1, 'TRUNCATE one');

# ---- cancel, and servers that go away ----

my $lock = PgBulk::Session->new($nodes[0]);
my $session = PgBulk::Session->new($main);

sub wait_blocked
{
	wait_for('the load to wait', sub { on_node(1, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk' AND wait_event_type = 'Lock'}) eq '1' });
}

foreach my $how ('cancel', 'terminate')
{
	$lock->ask('BEGIN; LOCK hash_1');
	$session->send($load);
	wait_blocked();
	my $start = time;
	$main->safe_psql('postgres', "SELECT pg_${how}_backend($session->{pid})");
	$session->wait;
	cmp_ok(time - $start, '<', 5, "$how: ends soon");
	like($session->{error}, $how eq 'cancel' ? qr{canceling statement} : qr{terminating connection}, "$how: says so");
	# its session there has ended although it waited for a lock
	wait_for('the other session', sub { on_node(1, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk'}) eq '0' });
	$lock->ask('ROLLBACK');
}
$session = PgBulk::Session->new($main);
$lock->ask('BEGIN; LOCK hash_1');
$session->send($load);
wait_blocked();
$nodes[0]->stop('immediate');
$session->wait;
like($session->{error}, qr{(?:connection to server "s1" was lost|terminating connection).*}s, 'a server that dies');
like($session->{error}, qr{s1}, 'is named');
$nodes[0]->start;
is(count_of('hash'), 0, 'nothing is loaded by any of these');
nothing_left('after cancels');

# ---- two-phase commit ----

# Starts a load that stops at a step.
sub load_until
{
	my ($stop) = @_;
	my $offset = -s $main->logfile;
	my $loader = PgBulk::Session->new($main);

	$loader->send("SET pgbulk.debug_two_phase = '$stop'; $load");
	wait_for("the step $stop", sub { slurp_file($main->logfile, $offset) =~ /stops at "$stop"/ });
	return $loader;
}

sub recover
{
	return $main->safe_psql('postgres', q{SELECT string_agg(DISTINCT state, ',' ORDER BY state) FROM bulk_load_recover()});
}

# All servers have all, or nothing, and nothing is in doubt.
sub all_or_nothing
{
	my ($rows, $name) = @_;

	recover();
	is($main->safe_psql('postgres', 'SELECT count(*) FROM bulk_load_in_doubt'), '0', "$name: nothing is in doubt");
	is(count_of('hash'), $rows, "$name: " . ($rows ? 'all' : 'no') . ' rows');
	nothing_left($name);
	$main->safe_psql('postgres', 'TRUNCATE hash');
}

# somebody rolls back what is prepared on a server
{
	my $loader = load_until('committed');

	$nodes[0]->safe_psql('postgres', 'ROLLBACK PREPARED ' . $nodes[0]->safe_psql('postgres', 'SELECT quote_literal(gid) FROM pg_prepared_xacts'));
	$main->safe_psql('postgres', "SELECT pg_cancel_backend($loader->{pid})");
	$loader->wait;
	like($loader->{error}, qr{server "s1" has lost its part of the load}, 'a part that somebody has rolled back is told');
	recover();
	$main->safe_psql('postgres', 'TRUNCATE hash');
}

# a server of somebody else, which a superuser is not led to, and one that cannot be asked
$main->safe_psql('postgres', q{CREATE ROLE owner; GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO owner; SET ROLE owner;
	CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'nowhere.invalid'); CREATE USER MAPPING FOR PUBLIC SERVER elsewhere});
is($main->safe_psql('postgres', q{SELECT server, state FROM bulk_load_in_doubt}), 'elsewhere|not looked at: its owner is no superuser', 'a server of somebody else');
$main->safe_psql('postgres', 'DROP SERVER elsewhere CASCADE; DROP OWNED BY owner; DROP ROLE owner');

foreach my $stop ('prepare', 'prepared-one', 'prepared', 'committed', 'committed-one')
{
	my $rows = $stop =~ /^committed/ ? 3000 : 0;
	my $loader = load_until($stop);

	if ($stop eq 'prepared')
	{
		is($main->safe_psql('postgres', q{SELECT server, state FROM bulk_load_in_doubt ORDER BY 1}), "s1|running\ns2|running", 'a load that runs is in doubt');
		is(recover(), 'running', 'and is not settled by others');
	}
	# this server
	kill_server($main);
	eval { $loader->wait };
	$main->start;
	all_or_nothing($rows, "$stop, this server is killed");

	# another one; then the load goes on, or is cancelled
	$loader = load_until($stop);
	kill_server($nodes[0]);
	$main->safe_psql('postgres', "SELECT pg_cancel_backend($loader->{pid})");
	$loader->wait;
	like($loader->{error}, qr{server "s1" has not committed its part|server "s1" may not have|canceling statement}, "$stop, a server is killed: is told") if $stop ne 'committed-one';
	is($main->safe_psql('postgres', q{SELECT count(*) FROM bulk_load_in_doubt WHERE server = 's1' AND state LIKE 'not reached%'}), '1', 'is not reached');
	$nodes[0]->start;
	all_or_nothing($rows, "$stop, a server is killed");

	# all of them
	$loader = load_until($stop);
	kill_server($_) foreach $main, @nodes;
	eval { $loader->wait };
	$_->start foreach @nodes, $main;
	all_or_nothing($rows, "$stop, all servers are killed");

	# none: a cancel
	$loader = load_until($stop);
	$main->safe_psql('postgres', "SELECT pg_cancel_backend($loader->{pid})");
	$loader->wait;
	is($main->safe_psql('postgres', 'SELECT count(*) FROM bulk_load_in_doubt'), '0', "$stop, a cancel: nothing is left");
	all_or_nothing($rows, "$stop, a cancel");
}

# the next load settles what is left, too; a number that was given to a load that crashed is not given again
my $loader = load_until('prepared');
kill_server($main);
eval { $loader->wait };
$main->start;
$main->safe_psql('postgres', "CREATE TABLE other$_ ()") foreach 1 .. 3;
is($main->safe_psql('postgres', q{SELECT string_agg(state, ',') FROM bulk_load_in_doubt}), 'to be rolled back,to be rolled back', 'in doubt after a crash');
my ($rc, $out, $err) = $main->psql('postgres', $load);
like($err, qr{server "s1" had a load's transaction "pgbulk_\d+_\d+_\d+_\d+_\w+" prepared since .*: rolled back}, 'the next load settles it');
all_or_nothing(3000, 'the next load');

# a lock that is waited for there no longer than here
on_node(1, 'CREATE TABLE waits (s text)');
$main->safe_psql('postgres', 'CREATE FOREIGN TABLE waits (s text) SERVER s1');
$lock = PgBulk::Session->new($nodes[0]);
$lock->ask('BEGIN; LOCK waits');
like(error_of(qq{SET lock_timeout = '200ms'; SELECT bulk_load('waits', '$folder/marker.csv')}), qr{lock timeout.*server "s1"}s, 'lock_timeout');
$lock->ask('ROLLBACK');

# a node that has ended it already, or an identifier that is not one of a load, is left alone
on_node(1, q{BEGIN; INSERT INTO one VALUES (1); PREPARE TRANSACTION 'pgbulk_1_2_3_4'});
is(recover(), '', 'another one is left alone');
on_node(1, q{ROLLBACK PREPARED 'pgbulk_1_2_3_4'});

# ---- kills at random ----

my $many = data_file('many.csv', 1, join('', map { "text $_,$_\n" } 1 .. 60000));
my $loads_many = qq{SELECT rows_loaded FROM bulk_load('hash', '$many', '{"columns": ["s", "k"]}')};
my $start = time;
$main->safe_psql('postgres', $loads_many);
my $took = time - $start;
$main->safe_psql('postgres', 'TRUNCATE hash');
foreach my $round (1 .. how_many(6, 60))
{
	my $victim = ($main, @nodes)[ $round % 3 ];
	my $loads = PgBulk::Session->new($main);

	$loads->send($loads_many);
	sleep rand 1.2 * $took;
	kill_server($victim);
	eval { $loads->wait };
	$victim->start;
	recover();
	like(count_of('hash'), qr{^(?:0|60000)$}, "round $round: all or nothing, " . $victim->name . ' was killed');
	nothing_left("round $round");
	$main->safe_psql('postgres', 'TRUNCATE hash');
}

$_->stop foreach $main, @nodes;
done_testing();
