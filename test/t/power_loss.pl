# When the power goes, a disk forgets what was not synced: afterwards what was
# committed is there, and a load that was not done left nothing.
#
# A library between the server and the system keeps a journal of all writes and
# syncs (PgBulk::Disk).  The power goes at random moments of loads of each kind, and
# right before each of the syncs that one makes: before the next one the disk's
# content is that of this moment, or some of what is not synced has come to it, too.
#
# PGBULK_TEST_CRASHES=n has it go n times at random; else 8, or 14 where
# PGBULK_TEST_LONG is set.  PGBULK_TEST_SYNCS=n: before n of the some 40 syncs of each
# load; else before one of every other load, or 3 of each.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PgBulk::Disk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $MB = 1024 * 1024;
my $crashes = how_many(8, 14);
my $syncs = $ENV{PGBULK_TEST_SYNCS} // ($ENV{PGBULK_TEST_LONG} ? 3 : 0.5);
disk_build();

my $row = 0;
my $rows = data_file('rows.csv', 6 * $MB, sub {
	return join('', map { $row++ . ",text of the row number $row - which is x\n" } 1 .. 5000);
});
my $wide = data_file('wide.csv', 6 * $MB, sub { return "$_[0]," . join(' ', map { rand } 1 .. 100 + $_[0] % 500) . "\n" });
my $few = data_file('few.csv', 1, join('', map { "$_,text $_\n" } 1 .. 3000));

sub bulk_load
{
	my ($table, $file, $options) = @_;
	return "SELECT bulk_load('$table', '$file', '" . ($options // '{}') . "')";
}

# Table, statements.
my @loads = (
	[ 'plain', bulk_load('plain', $rows, direct(0)) ],
	[ 'plain', bulk_load('plain', $rows, direct(2)) ],
	[ 'wide', bulk_load('wide', $wide, direct(1)) ],
	[ 'indexed', bulk_load('indexed', $rows, direct(2, '"truncate": true')) ],
	[ 'indexed', bulk_load('indexed', $few, direct(0, '"on_duplicate": "keep_new", "reject_table": "rejected"')) ],
	[ 'plain', bulk_load('plain', $rows, '{"writer": "buffered", "workers": 2}') ],
	[ 'indexed', bulk_load('indexed', $few, '{"writer": "buffered", "on_duplicate": "keep_new"}') ],
	[ 'parts', bulk_load('parts', $rows, direct(2)) ],
	[ 'fresh', 'BEGIN; CREATE TABLE fresh (i int, s text); ' . bulk_load('fresh', $rows, direct(1)) .
		'; CREATE INDEX ON fresh (i); COMMIT' ],
	[ 'plain', 'BEGIN; TRUNCATE plain; ' . bulk_load('plain', $rows) . '; SAVEPOINT s; ' . bulk_load('plain', $few) . '; ROLLBACK TO s; COMMIT' ],
	[ 'plain', "LOAD 'pgbulk'; SET pgbulk.copy = exclusive; BEGIN; TRUNCATE plain; COPY plain FROM '$rows' (FORMAT csv); COMMIT" ],
	[ 'indexed', "LOAD 'pgbulk'; SET pgbulk.create_index = on; REINDEX TABLE indexed" ],
	[ 'plain', 'BEGIN; ' . bulk_load('plain', $rows, direct(2)) . "; PREPARE TRANSACTION 'load'", 'COMMIT PREPARED' ],
	[ 'indexed', 'BEGIN; ' . bulk_load('indexed', $few, direct(0, '"on_duplicate": "keep_new"')) . "; PREPARE TRANSACTION 'load'", 'ROLLBACK PREPARED' ]);

# What is in the tables: rows, and sums that a missing or torn row would change.
sub contents
{
	my ($node, $table) = @_;

	return 'no table' if $node->safe_psql('postgres', "SELECT to_regclass('$table') IS NULL") eq 't';
	return $node->safe_psql('postgres', "SELECT count(*), sum(i), sum(hashtext(s)) FROM $table");
}

sub fill
{
	my ($node) = @_;

	$node->safe_psql('postgres', q{
		DROP TABLE IF EXISTS fresh;
		TRUNCATE plain, wide, indexed, parts;
		INSERT INTO plain SELECT i, 'before' FROM generate_series(1, 100) i;
		INSERT INTO wide TABLE plain; INSERT INTO indexed TABLE plain; INSERT INTO parts TABLE plain;
		CHECKPOINT});
}

# Runs a load to its end.
sub run_whole
{
	my ($node, $load) = @_;

	$node->safe_psql('postgres', $load->[1]);
	$node->safe_psql('postgres', "$load->[2] 'load'") if $load->[2];
}

# A server whose writes are noted, and what a load of each kind leaves there and takes.
sub begin
{
	my ($name, @settings) = @_;
	my $node = bulk_server("power_$name", 'fsync = on', 'shared_buffers = 8MB', 'max_wal_size = 128MB',
		'max_prepared_transactions = 2', 'bgwriter_delay = 10ms', 'max_wal_senders = 0', @settings);
	my (@takes, @after);

	$node->safe_psql('postgres', q{
		CREATE EXTENSION amcheck;
		CREATE TABLE plain (i int, s text);
		CREATE TABLE wide (i int, s text);
		ALTER TABLE wide ALTER s SET STORAGE external;
		CREATE TABLE indexed (i int PRIMARY KEY, s text);
		CREATE INDEX ON indexed (s);
		CREATE INDEX ON indexed USING gin (to_tsvector('simple', s));
		CREATE TABLE parts (i int, s text) PARTITION BY HASH (i);
		CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
		CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1);
		CREATE INDEX ON parts (i)});
	$node->stop;
	disk_start($node, 1);

	# the library forgets: a commit that does not wait for its sync
	$node->safe_psql('postgres', 'CREATE TABLE forgotten (i int); CHECKPOINT');
	$node->safe_psql('postgres', 'SET synchronous_commit = off; INSERT INTO forgotten VALUES (1)');
	lose_power($node, 1);
	disk_start($node, 1);
	is($node->safe_psql('postgres', 'SELECT count(*) FROM forgotten'), '0', "$name: what was not synced is lost");

	foreach my $load (@loads)
	{
		fill($node);
		my $start = time;

		run_whole($node, $load);
		push @takes, time - $start;
		push @after, contents($node, $load->[0]);
	}
	return ($node, \@takes, \@after);
}

# The power comes again.  Where a checkpoint had made a file for a prepared transaction, and had not synced it, the server
# takes the empty file for damage, whoever has prepared what: without it replay makes it anew.
sub start_again
{
	my ($node) = @_;
	my $told = -s $node->logfile;

	return if disk_start($node, 1, fail_ok => 1);
	my ($file) = slurp_file($node->logfile, $told) =~ m{FATAL: .*incorrect size of file "(pg_twophase/\w+)": 0 bytes$}m
	  or die 'the server does not start';
	note "$file is empty";
	unlink $node->data_dir . "/$file" or die "$file: $!";
	disk_start($node, 1);
}

# The power has gone, and comes again: all of a load is there, as must be if it was DONE, or what was there BEFORE.
sub judge
{
	my ($node, $name, $load, $done, $before, $after) = @_;
	my ($table, undef, $end) = @$load;

	start_again($node);
	my $prepared = $node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts');

	$node->safe_psql('postgres', "$end 'load'") if $prepared;
	ok($prepared, "$name: it is prepared") if $end && $done;
	my $now = contents($node, $table);
	my $all = $end && $end =~ /ROLLBACK/ ? $before : $after;

	ok($now eq $all || !$done && $now eq $before, "$name: all or nothing of $table") or diag "$now, not $all or $before";
	is($now, $all, "$name: what was prepared is there") if $prepared;
	is_sound($node, $_, "$name: heap of $_") foreach $table eq 'parts' ? qw(parts_0 parts_1) : $now eq 'no table' ? () : $table;
	is($node->safe_psql('postgres', q{
		SELECT count(bt_index_check(i.indexrelid, true)::text) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE c.relkind = 'i' AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'btree') AND c.relnamespace = 'public'::regnamespace}) > 0, 1,
		"$name: indexes");
}

sub end
{
	my ($node) = @_;

	# replay makes a file anew that a checkpoint was about to count on, or to sync; and free space maps, of
	# catalogs too, are not logged: the server empties a torn page of one
	check_log($node, 'removing future two-phase state file|could not recover two-phase state file|incorrect size of file "pg_twophase/|'
		  . 'invalid page in block \d+ of relation "base/\d+/\d+_fsm"; zeroing out page');

	# those of transactions that did not end, as the server leaves its own; nobody reads them, and they may be torn
	my $base = $node->data_dir . '/base/' . $node->safe_psql('postgres', q{SELECT oid FROM pg_database WHERE datname = 'postgres'});
	unlink map { "$base/$_" } orphans($node);

	# half a block at the end of a file is none to the server, but an error to pg_checksums
	my $block_size = $node->safe_psql('postgres', 'SHOW block_size');
	foreach my $file (map { "$base/$_" } grep { /^\d/ } slurp_dir($base))
	{
		my $half = (-s $file) % $block_size;
		truncate $file, (-s $file) - $half or die "$file: $!" if $half;
	}
	check_tables($node);
}

# Whether the session has done what was sent to it first, without an error.
sub has_done
{
	my ($session) = @_;

	return $session->{out} =~ /^end of 2$/m && $session->{err} =~ /^(.*?)end of 2$/ms && $1 !~ /ERROR|FATAL|closed|lost/ ? 1 : 0;
}

sub random_moments
{
	my ($node, $name, $n, $takes, $after) = @_;

	foreach my $try (0 .. $n - 1)
	{
		my $which = ($SEED + $try) % @loads;
		my ($table, $sql) = @{ $loads[$which] };

		fill($node);
		my $before = contents($node, $table);
		my $session = PgBulk::Session->new($node);
		my $other = PgBulk::Session->new($node);
		my $delay = rand($takes->[$which]);

		# what is synced, and what the log begins with, at any moment
		$other->send('CHECKPOINT; SELECT pg_sleep(' . rand(0.05) . ')') for 1 .. (0, 3, 50)[ int rand 3 ];
		# amidst it, or right after the commit
		$session->send($sql);
		sleep $delay;
		wait_for('the commit', sub { $session->done }) if rand() < 0.6;
		$session->done;
		my $lost = lose_power($node, rand() < 0.5);

		$session->close;
		$other->close;
		my $done = has_done($session);

		note sprintf('%s %d: %d pages lost after %.2f of %.2f s, said to be done: %d: %s', $name, $try, $lost, $delay, $takes->[$which], $done, $sql);
		judge($node, "$name $try", $loads[$which], $done, $before, $after->[$which]);
	}
}

# A load's statements, with a checkpoint before the end of its transaction and one after it.
sub with_checkpoints
{
	my ($load) = @_;
	my $sql = $load->[1];

	$sql = "BEGIN; $sql; COMMIT" unless $sql =~ /BEGIN; /;
	$sql =~ s/; (?=COMMIT$|PREPARE TRANSACTION)/; CHECKPOINT; / or die $sql;
	return ($sql, 'CHECKPOINT');
}

# Runs a load, the power of whose server goes before the n-th sync from its begin on.  Returns how many syncs were left until
# then, whether its transaction was done, whether the power has gone, and the session.
sub run_until
{
	my ($node, $load, $n) = @_;
	my $session = PgBulk::Session->new($node);

	set_fault($n, SYNC, 0, $node->data_dir);
	$session->send($_) foreach with_checkpoints($load);
	wait_for('the sync', sub { (get_fault())[1] || $session->done });
	my ($left, $gone) = get_fault();
	my $done = has_done($session);

	return ($left, $done, $gone, $session);
}

# The power goes before the n-th sync of a load: whether it did.
sub before_sync
{
	my ($node, $name, $load, $n, $after) = @_;

	fill($node);
	my $before = contents($node, $load->[0]);
	my (undef, $done, $gone, $session) = run_until($node, $load, $n);
	my $lost = lose_power($node, rand() < 0.5);

	set_fault(0, SYNC, 0, '');
	$session->close;
	note sprintf('%s: %d pages lost, said to be done: %d: %s', $name, $lost, $done, join('; ', with_checkpoints($load)));
	judge($node, $name, $load, $done, $before, $after);
	return $gone;
}

# The same before n of the syncs of each load, or of as many loads as are n of all of them.
sub each_sync
{
	my ($node, $name, $n, $after) = @_;
	my $some = $n < 1 ? int($n * @loads) : @loads;
	my ($all, $tried, $gone) = (0, 0, 0);

	foreach my $i (0 .. $some - 1)
	{
		my $which = ($SEED + $i) % @loads;
		my $load = $loads[$which];
		my $many = 1_000_000;

		fill($node);
		my ($left, undef, undef, $session) = run_until($node, $load, $many);

		$session->close;
		$node->safe_psql('postgres', "$load->[2] 'load'") if $load->[2];
		my $syncs = $many - $left;
		my $step = $syncs > $n ? $syncs / ($n < 1 ? 1 : $n) : 1;

		for (my $at = 1 + rand $step; $at < $syncs + 1; $at += $step)
		{
			$gone += before_sync($node, sprintf('%s, load %d, sync %d of %d', $name, $which, $at, $syncs), $load, int $at, $after->[$which]);
			$tried++;
		}
		$all += $syncs;
	}
	note "$name: $all syncs, the power has gone before $gone";
	cmp_ok($gone, '>', $tried / 2, "$name: the power goes before syncs");
}

foreach my $kind ([ 'replica', 1, 'wal_level = replica' ], [ 'minimal', 0.5, 'wal_level = minimal', 'wal_skip_threshold = 64kB' ])
{
	my ($name, $part, @settings) = @$kind;
	my ($node, $takes, $after) = begin($name, @settings);

	random_moments($node, $name, $part * $crashes, $takes, $after);
	each_sync($node, $name, $syncs < 1 ? $part * $syncs : $syncs, $after);
	end($node);
}
done_testing();
