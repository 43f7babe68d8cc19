# Parallel workers that find the rows for other servers: each server has the same rows in the same order as without them,
# and what is wrong with a row is told in the same way, whoever has found it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $MB = 1024 * 1024;
my @settings = ('max_prepared_transactions = 20', 'shared_buffers = 64MB', 'max_wal_size = 1GB');
my $main = bulk_server('cluster_workers_main', @settings, 'max_worker_processes = 8', 'max_parallel_workers = 8', 'max_logical_replication_workers = 0', 'pgbulk.chunk_size = 16384');

plan skip_all => 'postgres_fdw is not there' unless has_extension($main, 'postgres_fdw');

my @nodes = map { bulk_server("cluster_workers_$_", @settings) } 1, 2;
my $watch = PgBulk::Session->new($main);
my $PARTS = 8;
my $workers_of = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'};

$main->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
foreign_server($main, "s$_", $nodes[$_ - 1]->host, $nodes[$_ - 1]->port) foreach 1, 2;

sub ask { my ($sql) = @_; return $main->safe_psql('postgres', $sql); }
sub on_node { my ($n, $sql) = @_; return $nodes[$n - 1]->safe_psql('postgres', $sql); }

sub error_of
{
	my ($sql) = @_;
	my ($rc, $out, $err) = $main->psql('postgres', $sql);
	return $err;
}

# spread(TABLE, COLUMNS, BY, CONSTRAINTS, BOUNDS...): a partition for each of the bounds, on one server after the other
sub spread
{
	my ($table, $columns, $by, $constraints, @bounds) = @_;

	ask("CREATE TABLE $table ($columns) PARTITION BY $by");
	foreach my $i (0 .. $#bounds)
	{
		my $n = 1 + $i % 2;

		on_node($n, "CREATE TABLE ${table}_$i ($columns$constraints)");
		ask("CREATE FOREIGN TABLE ${table}_$i PARTITION OF $table " . ($bounds[$i] eq 'DEFAULT' ? '' : 'FOR VALUES ') . "$bounds[$i] SERVER s$n");
	}
}

# Its rows, table by table in the order in which they are stored.
sub stored
{
	my ($table, $parts) = @_;

	return join('', map { my $name = "${table}_$_"; on_node(1 + $_ % 2, "SELECT md5(string_agg($name\::text, E'\\n' ORDER BY ctid)) FROM $name") . "\n" } 0 .. $parts - 1);
}

# load(TABLE, FILES, OPTIONS): the result of a load, as SQL
sub load
{
	my ($table, $files, $options) = @_;

	return "SELECT rows_read, rows_loaded, rows_rejected, rows_duplicate, rows_replaced, writer, workers > 0, details ->> 'no_workers' FROM bulk_load('$table', $files, '{$options}')";
}

# same(NAME, TABLE, PARTITIONS, FILES, OPTIONS): rows, their order, counters and rejects are the same without and with workers.
sub same
{
	my ($name, $table, $parts, $files, $options) = @_;
	my @found;

	foreach my $workers (0, 1, 3)
	{
		my $bad = data_dir() . '/rejects';
		my $rejects = $options =~ /on_error|on_duplicate/ && $options !~ /silent/ ? qq{, "reject_table": "rejects", "reject_file": "$bad"} : '';

		ask("TRUNCATE $table");
		my $counts = ask(load($table, $files, qq{$options$rejects, "workers": $workers}));
		is((split /\|/, $counts)[6], $workers ? 't' : 'f', "$name, $workers workers: there are some") or diag $counts;
		$counts =~ s/\|[tf]\|.*//;
		push @found, join("\n", $counts, stored($table, $parts), $rejects ? (slurp_file($bad),
				ask('SELECT file, line_number, byte_offset, reason, column_name, field_value, sqlstate, message, raw_line FROM rejects ORDER BY ctid')) : ());
		ask('DROP TABLE IF EXISTS rejects');
		is($found[-1], $found[0], "$name, $workers workers: all is as without");
	}
	return $found[0];
}

my @hash = map { "WITH (modulus $PARTS, remainder $_)" } 0 .. $PARTS - 1;
spread('hash', 'k int, s text', 'HASH (k)', ", CHECK (s <> 'wrong')", @hash);
spread('words', 'k int, s text', 'HASH (s)', '', @hash);
spread('range', 'k int, s text', 'RANGE (k)', '', 'FROM (0) TO (1000)', 'FROM (1000) TO (20000)', 'DEFAULT');

spread('bounded', 'k int, s text', 'RANGE (k)', '', 'FROM (0) TO (30000)', 'FROM (30000) TO (1000000)');

# ---- rows ----

# of the n-th block: lines, quoted fields, and some with line ends, nulls, or a backslash at the end
sub row
{
	my ($k) = @_;
	return $k % 50 == 0 ? "$k,\"two\nlines \"\"$k\"\"\"\n" : $k % 50 == 1 ? "\"$k\",quoted key\n" : $k % 50 == 2 ? "$k,\n" : $k % 50 == 3 ? "$k,a\\\n" : "$k,text $k\n";
}
sub rows { my ($n) = @_; return join('', map { row($n * 1000 + $_) } 1 .. 1000); }
my $csv = data_file('rows.csv', 2 * $MB, \&rows);
my $more = data_file('more.csv', $MB, sub { return rows(1000 + $_[0]) });
my $text = data_file('rows.txt', $MB, sub { my ($n) = @_; return join('', map { my $k = $n * 1000 + $_; $k % 50 ? "$k\ttext $k\n" : "$k\ta\\\nb\\tc\n" } 1 .. 1000) });

same('csv', 'hash', $PARTS, "'$csv'", '"format": "csv"');
same('texts as keys', 'words', $PARTS, "'$csv'", '"format": "csv"');
same('text', 'hash', $PARTS, "'$text'", '"format": "text"');
same('several files', 'hash', $PARTS, "ARRAY['$csv', '$more']", '"format": "csv"');
same('partitions that get rows late', 'range', 3, "'$csv'", '"format": "csv"');
same('a limit', 'hash', $PARTS, "'$csv'", '"format": "csv", "limit": 50000');
system_or_bail('gzip', '-k', $csv);
same('a compressed file', 'hash', $PARTS, "'$csv.gz'", '"format": "csv"');
ask(q{CREATE FOREIGN TABLE one (k int, s text) SERVER s1 OPTIONS (table_name 'one_0')});
on_node(1, 'CREATE TABLE one_0 (k int, s text)');
same('one foreign table', 'one', 1, "'$csv'", '"format": "csv"');

# rows that a message cannot have, and such that fill one each
my $long = data_file('long.csv', 1, join('', map { "$_," . ($_ == 3000 ? 'x' x 3_000_000 : $_ % 1000 ? "text $_" : 'y' x 400_000) . "\n" } 1 .. 6000));
same('long rows', 'hash', $PARTS, "'$long'", '"format": "csv"');

# a sequence of this server, a partition that is here, and other values than those of the file are without workers
ask('CREATE TABLE mixed (k int, s text) PARTITION BY HASH (k); CREATE TABLE mixed_0 PARTITION OF mixed FOR VALUES WITH (modulus 2, remainder 0);
	CREATE FOREIGN TABLE mixed_1 PARTITION OF mixed FOR VALUES WITH (modulus 2, remainder 1) SERVER s1');
on_node(1, 'CREATE TABLE mixed_1 (k int, s text)');
like(ask(load('mixed', "'$csv'", '"workers": 2')), qr{\|nodes\|f\|Rows may be for other servers, or for this one\.$}, 'no workers where rows are here, too');
like(ask(load('hash', "'$csv'", '"workers": 2, "where": "k > 0"')), qr{\|nodes\|f\|What is sent to other servers is more than the bytes of the file\.$}, 'no workers where rows are formed anew');
ask(q{CREATE FOREIGN TABLE added (k int, s text, n int DEFAULT 7) SERVER s1 OPTIONS (table_name 'added_0')});
on_node(1, 'CREATE TABLE added_0 (k int, s text, n int)');
like(ask(load('added', "'$csv'", '"workers": 2, "columns": ["k", "s"]')), qr{\|nodes\|f\|What is sent to other servers is more than the bytes of the file\.$}, 'no workers where columns are added');
is(on_node(1, 'SELECT count(*) = sum(n) / 7 FROM added_0'), 't', 'the added values');

# of which the bytes of the file are not those that are sent: the first is late, and columns that are in another order would take them
spread('late', 'k int, s text', 'RANGE (k)', '', 'FROM (0) TO (20000)');
on_node(2, 'CREATE TABLE late_1 (s text, k text)');
ask('CREATE FOREIGN TABLE late_1 PARTITION OF late FOR VALUES FROM (20000) TO (1000000) SERVER s2');
same('a late partition of other types', 'late', 2, "'$text'", '"format": "text"');
like(on_node(2, 'SELECT s, k FROM late_1 WHERE k = $$20001$$'), qr/^text 20001\|20001$/, 'and of another order of columns');

# ---- rows that are set aside, and those that end a load ----

my @faults = ('oops,x', '%k,wrong', '%k', '%k,x,more', '99999999999,x', "%k,\"two\nlines\",more", "%k,caf\xe9");
my $bad = data_file('bad.csv', 2 * $MB, sub { my ($n) = @_;
	return join('', map { my $k = $n * 1000 + $_; $k % 97 ? row($k) : ($faults[ $k / 97 % @faults ] =~ s/%k/$k/r) . "\n" } 1 .. 1000) });
like(same('bad rows', 'hash', $PARTS, "'$bad'", '"format": "csv", "on_error": "ignore"'), qr{^\d+\|\d+\|[1-9]\d+\|}, 'some are bad');
same('bad rows of two files', 'hash', $PARTS, "ARRAY['$bad', '$csv']", '"format": "csv", "on_error": "ignore"');
like(error_of(load('hash', "'$bad'", '"format": "csv", "on_error": "ignore", "reject_limit": 100, "workers": 2')), qr{skipped more than reject_limit \(100\) bad rows}, 'a limit');

# of a file that only workers have opened
my $few = data_file('few.csv', $MB, sub { my ($n) = @_; return join('', map { my $k = $n * 1000 + $_; $k < 30_000 || $k % 100 ? "$k,x\n" : "$k,wrong\n" } 1 .. 1000) });
my $aside = data_dir() . '/aside';
like(error_of(load('hash', "ARRAY['$csv', '$few']", qq{"format": "csv", "on_error": "ignore", "reject_limit": 20, "reject_file": "$aside", "workers": 2})),
	qr{skipped more than reject_limit \(20\) bad rows}, 'a limit in a file that only workers have opened');
is(scalar(() = slurp_file($aside) =~ /^\d+,wrong$/mg), 21, 'and the rows, as they are in it');

ask('TRUNCATE hash');
on_node(1 + $_ % 2, "CREATE UNIQUE INDEX ON hash_$_ (k)") foreach 0 .. $PARTS - 1;
my $twice = data_file('twice.csv', 2 * $MB, sub { my ($n) = @_; return join('', map { my $k = $n * 900 + $_; "$k,text $k\n" } 1 .. 1000) });
like(same('keep_old', 'hash', $PARTS, "'$twice'", '"format": "csv", "on_duplicate": "keep_old"'), qr{^\d+\|\d+\|0\|[1-9]\d+\|0\|}, 'some are duplicates');
same('keep_new', 'hash', $PARTS, "'$twice'", '"format": "csv", "on_duplicate": "keep_new"');
same("$_, only counted", 'hash', $PARTS, "ARRAY['$twice', '$more']", qq{"format": "csv", "on_duplicate": "$_", "log_verbosity": "silent"}) foreach 'keep_old', 'keep_new';
on_node(1 + $_ % 2, "DROP INDEX hash_${_}_k_idx") foreach 0 .. $PARTS - 1;

# wrong_at(LINE): the file with one wrong row
sub wrong_at { my ($line, $value) = @_; my $n = 0; return data_file("wrong_$line.csv", $MB, sub { return join('', map { $n++; $n == $line ? ($value // "$n,wrong") . "\n" : "$n,x\n" } 1 .. 1000) }); }
foreach my $line (2, 40_000, 77_777)
{
	my $file = wrong_at($line);

	ask('TRUNCATE hash');
	like(error_of(load('hash', "'$file'", '"format": "csv", "workers": 2')), qr{violates check constraint.*server "s\d": COPY hash_\d.*file "$file", line $line$}ms, "an error of a server names line $line");
	is(ask('SELECT count(*) FROM hash'), '0', 'and nothing is loaded');
}
my $wrong = wrong_at(60_000);
my $broken = wrong_at(50_001, 'oops,x');
like(error_of(load('hash', "ARRAY['$csv', '$wrong']", '"format": "csv", "workers": 2')), qr{violates check constraint.*file "$wrong", line 60000\b}s, 'an error in a file that only workers may have opened');
like(error_of(load('hash', "'$broken'", '"format": "csv", "workers": 2')), qr{invalid input syntax for type integer: "oops".*file "$broken", line 50001, column k}s, 'an error of this server');
like(error_of(load('bounded', "'" . wrong_at(50_002, '-5,x') . "'", '"format": "csv", "workers": 2')), qr{no partition of relation "bounded" found for row.*line 50002\b}s, 'no partition');
nothing_left('after errors', @nodes);

# rows that triggers of a server keep out are counted by file
on_node(1 + $_ % 2, qq{CREATE FUNCTION few_$_() RETURNS trigger LANGUAGE plpgsql AS \$\$BEGIN IF NEW.k % 10 = 0 THEN RETURN NULL; END IF; RETURN NEW; END\$\$;
	CREATE TRIGGER few BEFORE INSERT ON hash_$_ FOR EACH ROW EXECUTE FUNCTION few_$_()}) foreach 0 .. $PARTS - 1;
foreach my $workers (0, 2)
{
	ask(load('hash', "ARRAY['$csv', '$more']", qq{"format": "csv", "history": true, "workers": $workers}));
}
same('rows that a server keeps out', 'hash', $PARTS, "ARRAY['$csv', '$more']", '"format": "csv"');
my @filtered = split /\n/, ask('SELECT file, rows_read, rows_loaded, rows_filtered FROM bulk_load_history ORDER BY load_id, file');
is(scalar @filtered, 4, 'the history has all files');
is("@filtered[2, 3]", "@filtered[0, 1]", 'with what each has of rows that a server keeps out');
unlike($filtered[0], qr/\|0$/, 'which are some');
on_node(1 + $_ % 2, "DROP TRIGGER few ON hash_$_") foreach 0 .. $PARTS - 1;

# ---- what ends in the middle ----

my $large = data_file('large.csv', 40 * $MB, \&rows);
my $load = load('hash', "'$large'", '"format": "csv", "workers": 2');

sub is_undone
{
	my ($name) = @_;

	nothing_left($name, @nodes);
	is($watch->ask($workers_of), '0', "$name: no worker is left");
	is(ask('SELECT count(*) FROM hash'), '0', "$name: nothing is loaded");
}

ask('TRUNCATE hash');
foreach my $pause (0, 0.2)
{
	my $session = PgBulk::Session->new($main);

	ends_soon("cancelled after $pause s", sub { $session->cancel($load, $watch, sub { $watch->ask($workers_of) > 0 }, $pause) });
	is($session->sqlstate, '57014', "after $pause s: it says so") or diag $session->{error};
	is_undone("cancelled after $pause s");
}
my $session = PgBulk::Session->new($main);
$session->send($load);
sleep 0.01 until $session->done || $watch->ask($workers_of) > 0;
on_node(1, q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pgbulk'});
$session->wait;
cmp_ok($session->{took}, '<', 5, 'a session of a server that is ended ends the load');
like($session->{error}, qr/server "s1"/, 'whose error names it');
is_undone('a session that was ended');

check_log($main);
check_log($_, $CLIENT_GONE) foreach @nodes;
$_->stop foreach $main, @nodes;
done_testing();
