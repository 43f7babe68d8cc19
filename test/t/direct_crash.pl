# The server is killed during direct loads: afterwards all rows are there or
# none, and the table can be loaded again.
#
# PGBULK_TEST_CRASHES=n does that many crashes; else 20, or 36 where PGBULK_TEST_LONG is set.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $MB = 1024 * 1024;
my $crashes = how_many(20, 36);

my $node = bulk_server('direct_crash', 'shared_buffers = 16MB', 'max_wal_size = 256MB',
	'wal_level = replica', 'max_wal_senders = 0', 'full_page_writes = on');

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE plain (i int, s text);
	CREATE TABLE wide (i int, s text);
	ALTER TABLE wide ALTER s SET STORAGE external});

# The pages of a table and its TOAST table that say to be newer than the log.
my $inspected = has_extension($node, 'pageinspect');
$node->safe_psql('postgres', q{
	CREATE EXTENSION pageinspect;
	CREATE FUNCTION from_the_future(t regclass) RETURNS bigint LANGUAGE sql AS
	$$ SELECT count(*) FROM pg_class c, unnest(ARRAY[c.oid, c.reltoastrelid]) part,
		generate_series(0, pg_relation_size(part) / current_setting('block_size')::int - 1) block
		WHERE c.oid = t AND (page_header(get_raw_page(part::regclass::text, block::int))).lsn > pg_current_wal_insert_lsn() $$})
  if $inspected;

my $rows = data_file('rows.csv', 24 * $MB, sub {
	my ($n) = @_;
	return join('', map { $n * 5000 + $_ . ",text of a row of this file\n" } 1 .. 5000);
});
my $wide = data_file('wide.csv', 24 * $MB, sub { return "$_[0]," . 'wide ' x (500 + $_[0] % 2000) . "\n" });
my %few = (
	plain => data_file('few.csv', 1, join('', map { "$_,text $_\n" } 1 .. 5000)),
	wide => data_file('few_wide.csv', 1, join('', map { "$_," . "few $_ " x 1000 . "\n" } 1 .. 20)),
	fresh => data_file('few_fresh.csv', 1, "1,one\n"));

sub bulk_load
{
	my ($table, $file, $workers, $more) = @_;
	return "SELECT bulk_load('$table', '$file', '" . direct($workers, $more) . "')";
}

# What may run during a crash: the table, and the SQL for so many workers.
my @loads = (
	[ 'plain', sub { bulk_load('plain', $rows, @_) } ],
	[ 'wide', sub { bulk_load('wide', $wide, @_) } ],
	[ 'plain', sub {
			'BEGIN; ' . bulk_load('plain', $few{plain}, @_) . '; SAVEPOINT s; ' . bulk_load('plain', $rows, @_) . '; ROLLBACK TO s; '
			  . bulk_load('plain', $rows, @_) . '; COMMIT' } ],
	[ 'plain', sub { bulk_load('plain', $rows, @_, '"truncate": true') } ],
	[ 'fresh', sub { 'BEGIN; CREATE TABLE fresh (i int, s text); ' . bulk_load('fresh', $rows, @_) . '; COMMIT' } ]);

# Loads, each with every number of workers.
my @cases = map { my $workers = $_; map { { table => $_->[0], sql => $_->[1]->($workers), workers => $workers } } @loads } @WORKERS;

# What is in a table: rows, and sums that a missing or torn row would change.
sub contents
{
	my ($table) = @_;

	return 'no table' if $node->safe_psql('postgres', "SELECT to_regclass('$table') IS NULL") eq 't';
	return $node->safe_psql('postgres', "SELECT count(*), sum(i), sum(length(s)) FROM $table");
}

sub rows_before
{
	$node->safe_psql('postgres', q{
		DROP TABLE IF EXISTS fresh;
		TRUNCATE plain, wide;
		INSERT INTO plain SELECT i, 'before' FROM generate_series(1, 100) i;
		INSERT INTO wide SELECT i, repeat('before', i * 100) FROM generate_series(1, 100) i});
}

# After a crash: the table is sound, and takes a small load.
sub goes_on
{
	my ($table, $workers, $name) = @_;
	my $n = $node->safe_psql('postgres', "SELECT count(*) FROM $table");
	my $few = () = slurp_file($few{$table}) =~ /\n/g;

	is($node->safe_psql('postgres', "SELECT from_the_future('$table')"), '0', "$name: no page is newer than the log") if $inspected;
	is_sound($node, $table, "$name: the heap is sound");
	$node->safe_psql('postgres', bulk_load($table, $few{$table}, $workers));
	is($node->safe_psql('postgres', "SELECT count(*) FROM $table"), $n + $few, "$name: the next load works");
}

# How long each takes undisturbed, so that crashes can fall anywhere in it, and
# what it makes of a table.
foreach my $case (@cases)
{
	rows_before();
	my $start = time;
	$node->safe_psql('postgres', $case->{sql});
	$case->{takes} = time - $start;
	$case->{all} = contents($case->{table});
	note sprintf('%.2f s: %s', $case->{takes}, $case->{sql});
}
is($cases[$_]{all}, $cases[ $_ % @loads ]{all}, 'so many workers load the same') foreach 0 .. $#cases;

my $rounds = 1 + int(($crashes - 1) / @cases);
my %outcome;

foreach my $n (0 .. $crashes - 1)
{
	my $case = $cases[ $n % @cases ];
	my $table = $case->{table};
	my ($session, $checkpoints) = map { PgBulk::Session->new($node) } 1 .. 2;

	# the rounds share out the time that the load takes, and a bit more
	my $delay = 1.1 * $case->{takes} * (int($n / @cases) + rand) / $rounds;

	rows_before();
	my $before = contents($table);
	$session->ask('SET pgbulk.chunk_size = ' . int 2**(14 + rand 7));
	$checkpoints->send('DO $$BEGIN LOOP CHECKPOINT; PERFORM pg_sleep(0.02); END LOOP; END$$') if $n % 2;
	$session->send($case->{sql});
	sleep $delay;
	my $done = $session->done && $session->{err} !~ /ERROR|FATAL/;
	kill_server($node);
	$_->close foreach $session, $checkpoints;
	$node->start;

	my $now = contents($table);
	my $name = "crash $n";
	my $outcome = $now eq $case->{all} ? 'all' : $now eq $before ? 'none' : 'else';

	note sprintf('%s after %.2f of %.2f s, %s: %s%s', $name, $delay, $case->{takes}, $case->{sql}, $outcome, $done ? ', as was said' : '');
	ok($outcome ne 'else', "$name: all or nothing of $table") or diag "$now, not $before or $case->{all}";
	is($outcome, 'all', "$name: what was committed is there") if $done;
	$outcome{$outcome}++;
	# one that was done sooner than this machine, when it was busy, had needed
	$case->{takes} = $delay if $done && $delay < $case->{takes};
	goes_on($table, $case->{workers}, $name) unless $now eq 'no table';
}
cmp_ok($outcome{none} // 0, '>=', $crashes / 12, 'crashes fell into the load') if $crashes > 10;

# Right after the commit.
foreach my $case (@cases)
{
	my $name = "crash right after $case->{sql}";

	rows_before();
	my $session = PgBulk::Session->new($node);
	$session->ask($case->{sql});
	kill_server($node);
	$session->close;
	$node->start;
	is(contents($case->{table}), $case->{all}, "$name: the rows are there");
	goes_on($case->{table}, $case->{workers}, $name);
}

# wal_level = minimal: files made in the transaction are written and synced at
# its end, or logged whole; what others had seen is logged as ever.
foreach my $threshold ('0', '1GB')
{
	$node->append_conf('postgresql.conf', "wal_level = minimal\nwal_skip_threshold = $threshold\nfsync = on");
	$node->restart;
	foreach my $workers (@WORKERS)
	{
		my $name = "wal_level = minimal, wal_skip_threshold = $threshold, $workers workers";
		my $session = PgBulk::Session->new($node);
		my $all = $cases[3]{all};

		rows_before();
		$session->ask('BEGIN; CREATE TABLE fresh (i int, s text); ' . bulk_load('fresh', $rows, $workers)
			  . '; TRUNCATE plain; ' . bulk_load('plain', $rows, $workers) . '; ' . bulk_load('wide', $wide, $workers) . '; COMMIT');
		is($session->{error}, '', "$name: loads without WAL and with it");
		$session->ask('BEGIN; TRUNCATE plain; ' . bulk_load('plain', $few{plain}, $workers));
		kill_server($node);
		$session->close;
		$node->start;
		is(contents('fresh'), $all, "$name: a new table has its rows after a crash");
		is(contents('plain'), $all, "$name: so has one that was emptied, and what is not committed is undone");
		is(contents('wide'), $cases[1]{all}, "$name: so has one that has rows");
		goes_on($_, $workers, "$name, $_") foreach qw(fresh plain wide);
	}
}

check_log($node, qr/not properly shut down/);
check_tables($node);
done_testing();
