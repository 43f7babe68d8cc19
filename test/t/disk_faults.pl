# The disk fails: of a load of each kind one write after the other fails, and one read. It
# ends in an error that tells, or nothing is missing; and then it is undone, and can be done.
# And one sync, which ends the server: it cannot know then what the disk has.
#
# The server's writes and reads go through modules/disk.c, which lets the n-th one to
# a table's, index's or temporary file fail, and of reads those of the file that is loaded, too.
#
# PGBULK_TEST_FAULTS=n lets that many of each load fail; else 6, or 12 where PGBULK_TEST_LONG is set.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Errno qw(EIO ENOSPC);
use PgBulk;
use PgBulk::Disk;
use PostgreSQL::Test::Utils;
use Test::More;

my $most = $ENV{PGBULK_TEST_FAULTS} // ($ENV{PGBULK_TEST_LONG} ? 12 : 6);
disk_build();

# few buffers, so that there is something to read and write; nobody else writes
my $node = bulk_server('faults', 'shared_buffers = 1MB', 'max_wal_size = 1GB', 'checkpoint_timeout = 1h', 'bgwriter_lru_maxpages = 0',
	'maintenance_work_mem = 1MB', 'work_mem = 64kB');
$node->stop;
disk_start($node);

my $rows = data_file('rows.csv', 1, join('', map { "$_,text of the row number $_ which is x\n" } 1 .. 12000));
my $few = data_file('few.csv', 1, join('', map { ($_ % 3000) . ",other text $_\n" } 1 .. 3500));
my $wide = data_file('wide.csv', 1, join('', map { "$_," . join(' ', map { rand } 1 .. 500) . "\n" } 1 .. 40));
my $bad = data_file('bad.csv', 1, join('', map { ($_ % 7 ? $_ : "x$_") . ",text of the row number $_ which is x\n" } 1 .. 12000));

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE plain (i int, s text);
	CREATE TABLE wide (i int, s text);
	ALTER TABLE wide ALTER s SET STORAGE external;
	CREATE TABLE indexed (i int PRIMARY KEY, s text);
	CREATE INDEX ON indexed (s);
	CREATE INDEX ON indexed USING gin (to_tsvector('simple', s));
	CREATE TABLE used (i int PRIMARY KEY, s text);
	CREATE INDEX ON used (s);
	INSERT INTO used SELECT i, 'before ' || i FROM generate_series(1, 2000) i;
	CREATE TABLE parts (i int, s text) PARTITION BY HASH (i);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1);
	CREATE INDEX ON parts (i)});

sub bulk_load
{
	my ($table, $file, $options) = @_;
	return "SELECT FROM bulk_load('$table', '$file', '$options')";
}

my @loads = (
	[ 'plain', bulk_load('plain', $rows, direct(0)) ],
	[ 'plain', bulk_load('plain', $rows, direct(2)) ],
	[ 'wide', bulk_load('wide', $wide, direct(0)) ],
	[ 'indexed', bulk_load('indexed', $rows, direct(0)) ],
	[ 'indexed', bulk_load('indexed', $rows, direct(2)) ],
	[ 'used', bulk_load('used', $few, direct(0, '"on_duplicate": "keep_new"')) ],
	[ 'used', bulk_load('used', $few, '{"writer": "buffered", "on_duplicate": "keep_new"}') ],
	[ 'used', bulk_load('used', $rows, '{"writer": "buffered", "on_duplicate": "keep_old", "workers": 2}') ],
	[ 'parts', bulk_load('parts', $rows, direct(2)) ],
	[ 'plain', bulk_load('plain', $bad, '{"on_error": "ignore", "reject_table": "rejected", "log_verbosity": "silent"}') ],
	[ 'used', "SET pgbulk.create_index = on; REINDEX TABLE used" ]);

sub contents
{
	my ($table) = @_;
	return $node->safe_psql('postgres', contents_of($table));
}

# Of n calls those that shall fail.
sub some_of
{
	my ($n) = @_;
	my %some = map { 1 + int(($n - 1) * $_ / ($most - 1)) => 1 } 0 .. $most - 1;

	return $n <= $most ? 1 .. $n : sort { $a <=> $b } keys %some;
}

sub contents_of
{
	return "SELECT count(*), sum(i), sum(hashtext(s)) FROM $_[0]";
}

# Runs a statement for a table, during which the n-th of those calls fails, and undoes it. Returns its
# SQLSTATE and messages, what the table had then, how many calls were left until the fault, and how many have
# failed.
sub run_faulty
{
	my ($table, $sql, @fault) = @_;

	# one that has been at work may know files already
	my $session = PgBulk::Session->new($node);

	$session->ask("LOAD 'pgbulk'; SET client_min_messages = warning; BEGIN");
	set_fault(@fault);
	$session->ask($sql);
	my @result = ($session->sqlstate, $session->{error});
	my @fault_now = get_fault();

	set_fault(0, 0, 0, '');
	push @result, $session->ask(contents_of($table)), @fault_now;
	$session->ask('ROLLBACK');
	$session->close;
	return @result;
}

my $files = data_dir();

foreach my $load (@loads)
{
	my ($table, $sql) = @$load;
	my $before = contents($table);
	my $failed = 0;

	foreach my $what ([ 'write', WRITE, $node->data_dir . '/base/' ], [ 'read', READ, $node->data_dir . '/base/' ], [ 'read', READ, "$files/" ])
	{
		my ($name, $kind, $part) = @$what;
		my $many = 1_000_000;
		my (undef, undef, $after, $left) = run_faulty($table, $sql, $many, $kind, EIO, $part);
		my $n = $many - $left;
		my @wrong;

		foreach my $at (some_of($n))
		{
			my ($state, $message, $now, undef, $happened) =
			  run_faulty($table, $sql, $at, $kind, $kind == READ || $at % 2 ? EIO : ENOSPC, $part);

			$failed += $happened;
			push @wrong, "$name $at: succeeded, other rows" if $state eq '' && $now ne $after;
			push @wrong, "$name $at: $message" if $state ne '' && $state !~ /^(?:58030|53100)$/;
			push @wrong, "$name $at: other rows" if contents($table) ne $before;
		}
		note "$sql: $n of kind $name in $part";
		is(join("\n", @wrong), '', "$table: $name: $sql");
	}
	cmp_ok($failed, '>', 0, "something failed: $sql");
	is($node->safe_psql('postgres', "SELECT count(*) FROM verify_heapam('$_')"), '0', "heap of $_") foreach $table eq 'parts' ? qw(parts_0 parts_1) : $table;
}
is(join(' ', orphans($node)), '', 'no file is left');

# each can be loaded now
foreach my $load (@loads)
{
	my ($state, $message) = run_faulty($load->[0], $load->[1], 0, 0, 0, '');
	is($state, '', "then it loads: $load->[1]") or diag $message;
}

# What of the disk the server cannot go on without: the first call fails, or one in the middle, or several where
# PGBULK_TEST_LONG is set.
sub fatal
{
	my ($name, $kind, $error, $part, $middle, $load, $truncate) = @_;
	my ($table, $sql) = @$load;
	my $begin = "TRUNCATE $table; INSERT INTO $table VALUES (1, 'before')";
	my $transaction = "BEGIN; $truncate $sql; COMMIT";

	$node->safe_psql('postgres', $begin);
	my $before = contents($table);
	set_fault(1_000_000, $kind, $error, $part);
	$node->safe_psql('postgres', $transaction);
	my $n = 1_000_000 - (get_fault())[0];
	my $after = contents($table);
	my $fatal = 0;

	cmp_ok($n, '>', 0, "$name: $n calls: $sql");
	# what the WAL writer does makes them fewer at times: then the first one
	foreach my $at ($ENV{PGBULK_TEST_LONG} ? some_of($n) : $middle ? (1 + int($n / 2), 1) : 1)
	{
		$node->safe_psql('postgres', $begin);
		set_fault($at, $kind, $error, $part);
		my ($rc) = $node->psql('postgres', $transaction);

		set_fault(0, $kind, $error, $part);
		next if $rc == 0;
		$fatal++;
		if ($rc == 2)
		{
			wait_for('the end of the server', sub { !-e $node->data_dir . '/postmaster.pid' });
			$node->_update_pid(0);
			disk_start($node);
		}
		is(contents($table), $before, "$name, $at of $n: nothing is loaded: $sql");
		$node->safe_psql('postgres', $transaction);
		is(contents($table), $after, "$name, $at of $n: then all is");
		last unless $ENV{PGBULK_TEST_LONG};
	}
	cmp_ok($fatal, '>', 0, "$name: it fails");
}

# where there is no WAL of a new file, it is synced before the end of its transaction
$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\nfsync = on\nwal_writer_delay = 10s\nwal_writer_flush_after = 1GB");
$node->stop;
disk_start($node);
my $base = $node->data_dir . '/base/';
my @some = grep { $ENV{PGBULK_TEST_LONG} || $_->[1] =~ /"workers": 2/ } @loads;
foreach my $load (@some)
{
	my $table = $load->[0];

	fatal("a sync of $table", SYNC, EIO, $base, $table ne 'indexed', $load, "TRUNCATE $table;") if $table =~ /^(?:wide|indexed|parts)$/;
	fatal("the WAL's disk is full, $table", WRITE, ENOSPC, '/pg_wal/', $table eq 'parts', $load, '') if $table =~ /^(?:plain|parts)$/ && $load->[1] !~ /reject/;
}
# a worker may meet one when it begins
check_log($node, ' 58030 | 53100 |PANIC:  could not (?:fsync|write to)|terminated by signal 6|FATAL:  could not read file');
check_tables($node);
done_testing();
