# Loads into foreign tables of one server by several sessions with it: each table's rows are in the order of the file,
# tables that could wait for one another share a session, and whatever is killed at whatever step of the two-phase commit,
# all sessions' rows are there afterwards, or none.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my @settings = ('max_prepared_transactions = 20', 'shared_buffers = 32MB');
my $main = bulk_server('sessions_main', @settings);

plan skip_all => 'postgres_fdw is not there' unless has_extension($main, 'postgres_fdw');

my $node = bulk_server('sessions_node', @settings);
my ($host, $port) = ($node->host, $node->port);

sub ask { my ($sql) = @_; return $main->safe_psql('postgres', $sql); }
sub there { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }

sub error_of
{
	my ($sql) = @_;
	my ($rc, $out, $err) = $main->psql('postgres', $sql);
	return $err;
}

ask(qq{CREATE EXTENSION postgres_fdw; CREATE ROLE loader LOGIN PASSWORD 'x';
	CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER s});

# parts(TABLE, N): a table with N partitions there.
sub parts
{
	my ($table, $n) = @_;

	ask("CREATE TABLE $table (k int, s text) PARTITION BY HASH (k)");
	foreach my $i (0 .. $n - 1)
	{
		there("CREATE TABLE ${table}_$i (k int, s text)");
		ask("CREATE FOREIGN TABLE ${table}_$i PARTITION OF $table FOR VALUES WITH (modulus $n, remainder $i) SERVER s");
	}
}

# How many sessions a load has there, and how many transactions of it are prepared.
sub sessions_of
{
	my ($sql) = @_;
	my $loader = load_until($main, $sql, 'prepared');
	my $found = there(q{SELECT (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk') || ' ' || (SELECT count(*) FROM pg_prepared_xacts)});

	ask("SELECT pg_cancel_backend($loader->{pid})");
	$loader->wait;
	return $found;
}

my $file = data_file('rows.csv', 1, join('', map { "$_,row $_\n" } 1 .. 40000));
my $load = "SELECT rows_loaded FROM bulk_load('t', '$file')";
my $three = 'SET pgbulk.max_connections_per_node = 3';

parts('t', 5);

# ---- how many ----

is(sessions_of($load), '1 1', 'one session by default');
is(sessions_of("$three; $load"), '3 3', 'as many as the setting says');
is(sessions_of("SET pgbulk.max_connections_per_node = 100; $load"), '5 5', 'one for each table at most');
there('CREATE ROLE few LOGIN CONNECTION LIMIT 2; GRANT ALL ON ALL TABLES IN SCHEMA public TO few');
ask(q{ALTER USER MAPPING FOR CURRENT_USER SERVER s OPTIONS (ADD user 'few')});
is(sessions_of("$three; $load"), '2 2', 'as many as the other server takes');
my $told = q{SELECT DISTINCT n ->> 'sessions', n ->> 'session_refused' ~ 'too many connections for role "few"' FROM (%s) l, jsonb_array_elements(details -> 'nodes') n};
my $dry = sprintf($told, qq{SELECT details FROM bulk_load('t', '$file', '{"dry_run": true}')});
is(ask("$three; $dry"), '2|t', 'the result tells how many, and why not more');
ask('ALTER USER MAPPING FOR CURRENT_USER SERVER s OPTIONS (DROP user)');
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 2');
$node->restart;
is(sessions_of("$three; $load"), '2 2', 'as many as can be prepared there');
is(ask("$three; $dry"), '2|', 'where nothing was refused');
is(ask($dry), '1|', 'the result of one session');
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 20');
$node->restart;

# ---- the rows ----

# Those of each table in the order in which they are there.
my $ordered = q{SELECT string_agg(md5, ' ' ORDER BY md5) FROM (} . join(' UNION ALL ', map { "(SELECT md5(string_agg(x::text, ' ' ORDER BY ctid)) FROM t_$_ x)" } 0 .. 4) . ') q(md5)';
ask($load);
my $one = there($ordered);
is(there('SELECT count(*) FROM t_0, (SELECT bool_and(k > b) AS ok FROM (SELECT k, lag(k, 1, 0) OVER (ORDER BY ctid) AS b FROM t_0) x) q WHERE ok'), there('SELECT count(*) FROM t_0'),
	'rows are in the order of the file');
ask('TRUNCATE t');
is(ask("$three; $load"), 40000, 'by three sessions');
is(there($ordered), $one, 'the rows, and their order, are those by one');
is(ask(qq{$three; SELECT rows_loaded FROM bulk_load('t', '$file', '{"truncate": true, "analyze": true}')}), 40000, 'with truncate');
is(there($ordered), $one, 'the rows are those of that load');
ask(qq{$three; SELECT bulk_load('t', '$file', '{"truncate": true, "dry_run": true}')});
is(there($ordered), $one, 'a dry run leaves them');
there("CREATE UNIQUE INDEX ON t_$_ (k)") foreach 0 .. 4;
is(ask(qq{$three; SELECT rows_replaced FROM bulk_load('t', '$file', '{"on_duplicate": "keep_new"}')}), 40000, 'rows are replaced');
is(ask(qq{$three; SELECT rows_duplicate FROM bulk_load('t', '$file', '{"on_duplicate": "keep_old"}')}), 40000, 'duplicates are set aside');
is(ask('SELECT count(*), sum(k) FROM t'), '40000|800020000', 'and the rows are those of the file');
is(sessions_of("$three; SELECT bulk_load('t', '$file', '{$_}')"), '3 3', "three sessions, $_") foreach '"truncate": true', '"on_duplicate": "keep_new"', '"on_duplicate": "keep_old", "on_error": "ignore"';

my $bad = data_file('bad.csv', 1, join('', map { $_ % 1000 ? "$_,row $_\n" : "$_,\n" } 50001 .. 60000));
there("ALTER TABLE t_$_ ALTER s SET NOT NULL") foreach 0 .. 4;
like(error_of("$three; SELECT bulk_load('t', '$bad')"), qr{null value in column "s" of relation "t_\d".*line \d+000}s, 'an error names the line');
is(ask('SELECT count(*) FROM t'), 40000, 'and nothing is loaded by any session');
ask(qq{$three; SELECT bulk_load('t', '$bad', '{"on_error": "ignore", "reject_table": "rejects"}')});
is(ask('SELECT string_agg(line_number::text, $$,$$ ORDER BY ctid) FROM rejects'), join(',', map { 1000 * $_ } 1 .. 10), 'bad rows of all sessions are in the order of the file');
ask('TRUNCATE t');

# rows of all lengths and kinds, the next one many lines further, in the formats whose rows are sent as they are
ask('CREATE TABLE lengths_here (s text); CREATE FOREIGN TABLE lengths (s text) SERVER s');
there('CREATE TABLE lengths (s text)');
my @lines = (map { ('x' x $_, "\"" . ('y' x $_) . "\"", ('z' x $_) . '\\\\') } 1 .. 130);
my $csv = data_file('lengths.csv', 1, join("\n", @lines, '\\.', '', 'a', "\"in\nside\"", "\"" . "\n" x 70 . "\"", 'after', 'x' x 2000000, 'end', ''));
my $text = data_file('lengths.txt', 1, join("\n", @lines, '\\N', '', 'a', "in\\\nside", 'x' x 2000000, 'a\\', 'b', 'end', ''));
foreach my $options ('"format": "csv"', '"format": "text"', '"format": "text", "on_duplicate": "keep_old"')
{
	my $path = $options =~ /csv/ ? $csv : $text;
	my @found = map { ask("SELECT bulk_load('$_', '$path', '{$options}')"); ask("SELECT md5(string_agg(coalesce(s, 'none'), ' ' ORDER BY ctid)), count(*) FROM $_") } qw(lengths_here lengths);

	is($found[1], $found[0], "rows of all lengths, $options");
	there("ALTER TABLE lengths ADD CHECK (s <> 'end') NOT VALID");
	my ($line) = error_of("ALTER TABLE lengths_here ADD CHECK (s <> 'end') NOT VALID; SELECT bulk_load('lengths_here', '$path', '{$options}')") =~ /line (\d+)/;
	ok(defined $line, "a line has a number, $options");
	like(error_of("SELECT bulk_load('lengths', '$path', '{$options}')"), qr{check constraint.*csv", line $line\b|check constraint.*txt", line $line\b}s, "and the line of one, $options");
	ask('ALTER TABLE lengths_here DROP CONSTRAINT lengths_here_s_check; TRUNCATE lengths_here, lengths');
	there('ALTER TABLE lengths DROP CONSTRAINT lengths_s_check');
}

# ---- tables that share a session ----

# one that two foreign tables name, with keys that both send: two sessions would wait for each other
there('CREATE TABLE same (k int PRIMARY KEY, s text); CREATE TABLE apart (k int, s text)');
ask(q{CREATE TABLE twice (k int, s text) PARTITION BY LIST (k);
	CREATE FOREIGN TABLE twice_1 PARTITION OF twice FOR VALUES IN (1) SERVER s OPTIONS (table_name 'same');
	CREATE FOREIGN TABLE twice_2 PARTITION OF twice FOR VALUES IN (2) SERVER s OPTIONS (table_name 'same');
	CREATE FOREIGN TABLE twice_3 PARTITION OF twice FOR VALUES IN (3) SERVER s OPTIONS (table_name 'apart')});
my $few = data_file('few.csv', 1, "1,a\n2,b\n3,c\n");
is(sessions_of("$three; SELECT bulk_load('twice', '$few')"), '2 2', 'a table that two foreign ones name has one session');

my %tied = (
	'triggers' => q{CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE public.notes SET n = n + 1; RETURN NULL; END';
		CREATE TABLE notes AS SELECT 0 AS n;
		CREATE TRIGGER note AFTER INSERT ON t_0 FOR EACH STATEMENT EXECUTE FUNCTION note(); CREATE TRIGGER note AFTER INSERT ON t_1 FOR EACH STATEMENT EXECUTE FUNCTION note()},
	'a foreign key to one another' => 'CREATE UNIQUE INDEX ON t_0 (k, s); ALTER TABLE t_1 ADD up int, ADD FOREIGN KEY (up) REFERENCES t_0 (k)',
	'CHECKs by functions' => q{CREATE FUNCTION is_new(int) RETURNS bool LANGUAGE sql AS 'SELECT NOT EXISTS (SELECT FROM public.t_2 WHERE k = $1)';
		ALTER TABLE t_0 ADD CHECK (is_new(k)); ALTER TABLE t_1 ADD CHECK (is_new(k))},
	'a parent' => 'CREATE TABLE parent (k int, s text NOT NULL); ALTER TABLE t_0 INHERIT parent; ALTER TABLE t_1 INHERIT parent',
	'defaults of the other server' => q{CREATE TABLE numbers AS SELECT 0 AS n; CREATE FUNCTION next_number() RETURNS int LANGUAGE sql AS 'UPDATE public.numbers SET n = n + 1 RETURNING n';
		ALTER TABLE t_0 ADD m int; ALTER TABLE t_1 ADD m int; ALTER TABLE t_0 ALTER m SET DEFAULT next_number(); ALTER TABLE t_1 ALTER m SET DEFAULT next_number()});
my %untied = (
	'triggers' => 'DROP FUNCTION note() CASCADE',
	'a foreign key to one another' => 'ALTER TABLE t_1 DROP up',
	'CHECKs by functions' => 'DROP FUNCTION is_new(int) CASCADE',
	'a parent' => 'ALTER TABLE t_0 NO INHERIT parent; ALTER TABLE t_1 NO INHERIT parent',
	'defaults of the other server' => 'ALTER TABLE t_0 DROP m; ALTER TABLE t_1 DROP m');

foreach my $what (sort keys %tied)
{
	there($tied{$what});
	my $loader = load_until($main, "SET pgbulk.max_connections_per_node = 10; SET lock_timeout = '10s'; $load", 'prepare');

	is(there(q{SELECT count(DISTINCT pid) FROM pg_locks WHERE relation IN ('t_0'::regclass, 't_1'::regclass) AND mode = 'RowExclusiveLock'}), 1, "tables with $what share a session");
	is(there(q{SELECT count(DISTINCT pid) FROM pg_locks WHERE relation IN ('t_2'::regclass, 't_3'::regclass, 't_4'::regclass) AND mode = 'RowExclusiveLock'}), 3, 'and the others do not');
	ask("SELECT pg_cancel_backend($loader->{pid})");
	$loader->wait;
	there($untied{$what});
}

# amounts of money are read by the setting here in all of them
ask('CREATE TABLE amounts (k int, m money) PARTITION BY LIST (k)');
foreach my $n (1 .. 3)
{
	there("CREATE TABLE amounts_$n (k int, m money)");
	ask("CREATE FOREIGN TABLE amounts_$n PARTITION OF amounts FOR VALUES IN ($n) SERVER s");
}
there(q{ALTER DATABASE postgres SET log_statement = 'all'});
my $offset = -s $node->logfile;
ask("$three; SELECT bulk_load('amounts', '" . data_file('amounts.csv', 1, "1,1.5\n2,2.5\n3,3.5\n") . q{')});
my %readers = map { $_ => 1 } slurp_file($node->logfile, $offset) =~ /\[(\d+)\] .*SET LOCAL lc_monetary/g;
is(scalar keys %readers, 3, 'all sessions have the setting for amounts of money');
$_->safe_psql('postgres', 'CREATE DOMAIN price AS money; CREATE TYPE item AS (what text, costs price); CREATE TYPE size AS ENUM ($$small$$)') foreach $main, $node;
foreach my $type ([ 'money[]', '{1.5}', 1 ], [ 'price', '1.5', 1 ], [ 'price[]', '{1.5}', 1 ], [ 'item', '"(shirt,1.5)"', 1 ], [ 'size', 'small', 0 ])
{
	my ($name, $value, $has) = @$type;

	there("CREATE TABLE amount (m $name)");
	ask("CREATE FOREIGN TABLE amount (m $name) SERVER s");
	$offset = -s $node->logfile;
	ask("SELECT bulk_load('amount', '" . data_file('amount.csv', 1, "$value\n") . q{', '{"format": "csv"}')});
	is(scalar(() = slurp_file($node->logfile, $offset) =~ /SET LOCAL lc_monetary/g), $has, "$name: has " . ($has ? '' : 'no ') . 'amounts of money');
	ask('DROP FOREIGN TABLE amount');
	there('DROP TABLE amount');
}
there('ALTER DATABASE postgres RESET log_statement');

# ---- cancel, and servers that go away ----

my $lock = PgBulk::Session->new($node);
my $session = PgBulk::Session->new($main);

$lock->ask('BEGIN; LOCK t_0, t_1, t_2, t_3, t_4');
$session->send("$three; $load");
wait_for('all sessions to wait', sub { there(q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk' AND wait_event_type = 'Lock'}) eq '3' });
ask("SELECT pg_cancel_backend($session->{pid})");
$session->wait;
like($session->{error}, qr{canceling statement}, 'a cancel');
is(scalar(() = $session->{error} =~ /waiting for server "s"/g), 1, 'its CONTEXT names the server once');
wait_for('the other sessions', sub { there(q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk'}) eq '0' });
$lock->ask('ROLLBACK');

# ---- two-phase commit ----

# All sessions have all, or nothing, and nothing is in doubt.
sub all_or_nothing
{
	my ($rows, $name) = @_;

	ask('SELECT count(*) FROM bulk_load_recover()');
	is(ask('SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM bulk_load_in_doubt)'), "$rows|0", "$name: " . ($rows ? 'all' : 'no') . ' rows');
	is(there('SELECT count(*) FROM pg_prepared_xacts'), 0, "$name: nothing is prepared");
	ask('TRUNCATE t');
}

foreach my $stop ('prepare', 'prepared-one', 'prepared', 'committed', 'committed-one')
{
	my $rows = $stop =~ /^committed/ ? 40000 : 0;

	foreach my $victim ($main, $stop =~ /^(?:prepared|committed)$/ ? $node : ())
	{
		my $name = "$stop, " . $victim->name . ' is killed';
		my $loader = load_until($main, "$three; $load", $stop);

		is(ask('SELECT count(*) FROM bulk_load_in_doubt WHERE state = $$running$$'), 3, 'three parts') if $stop eq 'prepared';
		kill_server($victim);
		ask("SELECT pg_cancel_backend($loader->{pid})") if $victim != $main;
		eval { $loader->wait };
		$victim->start;
		all_or_nothing($rows, $name);
	}
}

$node->stop;
check_log($main, qr{server "s"|other servers may not|57P01|canceling|in doubt});
check_log($node, qr{53300 FATAL:  too many connections for role|$CLIENT_GONE});
done_testing();
