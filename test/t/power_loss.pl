# When the power goes, a disk forgets what was not synced: afterwards what was
# committed is there, and a load that was not done left nothing.
#
# A library between the server and the system (modules/disk.c) keeps a journal of
# all writes and syncs.  After the end of all processes this test takes back, of
# what was written after a file's last sync, all, or of each page what came after some
# moment: pages come to the disk in any order.
#
# PGBULK_TEST_CRASHES=n does that many; else 8, or 14 where PGBULK_TEST_LONG is set.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use File::Find;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

plan skip_all => 'needs a compiler' if system('cc --version >/dev/null 2>&1') != 0;
plan skip_all => 'needs Linux with 64 bits' if $^O ne 'linux' || length(pack('L!', 0)) != 8;

my $MB = 1024 * 1024;
my $PAGE = 4096;
my $crashes = how_many(8, 14);
my $seed = $ENV{PGBULK_TEST_SEED} // time % 1000000;
srand $seed;
note "PGBULK_TEST_SEED=$seed";

my $library = data_dir() . '/disk.so';
my $journal = data_dir() . '/journal';
is(system("cc -O2 -shared -fPIC -o $library $FindBin::RealBin/../modules/disk.c -ldl"), 0, 'the library is built');

# Starts a server whose writes are noted from then on.
sub start
{
	my ($node) = @_;

	unlink $journal;
	local $ENV{LD_PRELOAD} = $library;
	local $ENV{DISK_ROOT} = $node->data_dir;
	local $ENV{DISK_JOURNAL} = $journal;
	$node->start;
}

# What was written since each file's last sync: by inode.
sub unsynced
{
	my %writes;

	open(my $in, '<:raw', $journal) or die "$journal: $!";
	while (read($in, my $head, 48) == 48)
	{
		my ($is_sync, $inode, $offset, $length, $kept, $size) = unpack 'Q6', $head;
		my $place = tell $in;

		# a write that never came to pass
		last if $place + $kept > -s $in;
		seek $in, $kept, 1;
		if ($is_sync) { delete $writes{$inode} }
		else { push @{ $writes{$inode} }, { offset => $offset, length => $length, kept => $kept, size => $size, place => $place } }
	}
	return ($in, \%writes);
}

# Takes back what was written to a file: of each page the writes from one on.
sub take_back
{
	my ($in, $path, $writes, $all) = @_;
	my (%first, $lost, $end);

	open(my $file, '+<:raw', $path) or die "$path: $!";
	$end = $writes->[0]{size};
	foreach my $i (reverse 0 .. $#$writes)
	{
		my ($offset, $length, $kept, $place) = @{ $writes->[$i] }{qw(offset length kept place)};

		foreach my $page (int($offset / $PAGE) .. int(($offset + $length - 1) / $PAGE))
		{
			# none, all, or any
			$first{$page} //= $all ? 0 : (0, scalar @$writes, int rand(@$writes + 1))[ int rand 3 ];
			my $from = $page * $PAGE > $offset ? $page * $PAGE : $offset;
			my $to = ($page + 1) * $PAGE < $offset + $length ? ($page + 1) * $PAGE : $offset + $length;

			if ($i < $first{$page})
			{
				$end = $to if $to > $end;
				next;
			}
			my $n = $from >= $offset + $kept ? 0 : ($to < $offset + $kept ? $to : $offset + $kept) - $from;
			my $old = '';

			seek $in, $place + $from - $offset, 0;
			die "journal: $!" if $n > 0 && read($in, $old, $n) != $n;
			seek $file, $from, 0;
			print $file $old, "\0" x ($to - $from - $n);
			$lost++;
		}
	}
	close($file) or die "$path: $!";

	# the file's size may have come to the disk or not
	truncate $path, $end if $end < -s $path && ($all || rand() < 0.5);
	return $lost // 0;
}

# The power goes.  Returns how many pages were lost.
sub lose_power
{
	my ($node, $all) = @_;
	my $lost = 0;

	kill_server($node);
	my ($in, $writes) = unsynced();
	find(
		{
			no_chdir => 1,
			wanted => sub {
				my $of_file = -f $_ ? $writes->{ (stat _)[1] } : undef;

				$lost += take_back($in, $_, $of_file, $all) if $of_file;
			}
		},
		$node->data_dir);
	return $lost;
}

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

sub test
{
	my ($name, $n, @settings) = @_;
	my $node = bulk_server("power_$name", 'fsync = on', 'shared_buffers = 8MB', 'max_wal_size = 128MB',
		'max_prepared_transactions = 2', 'bgwriter_delay = 10ms', @settings);
	my (@takes, @after, $before);

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
	start($node);

	# the library forgets: a commit that does not wait for its sync
	$node->safe_psql('postgres', 'CREATE TABLE forgotten (i int); CHECKPOINT');
	$node->safe_psql('postgres', 'SET synchronous_commit = off; INSERT INTO forgotten VALUES (1)');
	lose_power($node, 1);
	start($node);
	is($node->safe_psql('postgres', 'SELECT count(*) FROM forgotten'), '0', "$name: what was not synced is lost");

	foreach my $load (@loads)
	{
		fill($node);
		my $start = time;

		run_whole($node, $load);
		push @takes, time - $start;
		push @after, contents($node, $load->[0]);
	}

	foreach my $try (0 .. $n - 1)
	{
		my $which = ($seed + $try) % @loads;
		my ($table, $sql, $end) = @{ $loads[$which] };

		fill($node);
		$before = contents($node, $table);
		my $session = PgBulk::Session->new($node);
		my $other = PgBulk::Session->new($node);
		my $delay = rand($takes[$which]);

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
		my $done = $session->{out} =~ /end of 2/ && $session->{err} !~ /ERROR|FATAL|closed|lost/;

		start($node);
		my $prepared = $node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts');

		$node->safe_psql('postgres', "$end 'load'") if $prepared;
		ok($prepared, "$name $try: it is prepared") if $end && $done;
		my $now = contents($node, $table);
		my $all = $end && $end =~ /ROLLBACK/ ? $before : $after[$which];

		note sprintf('%s %d: %d pages lost after %.2f of %.2f s, said to be done: %d: %s', $name, $try, $lost, $delay, $takes[$which], $done, $sql);
		ok($now eq $all || !$done && $now eq $before, "$name $try: all or nothing of $table") or diag "$now, not $all or $before";
		is($now, $all, "$name $try: what was prepared is there") if $prepared;
		is_sound($node, $_, "$name $try: heap of $_") foreach $table eq 'parts' ? qw(parts_0 parts_1) : $now eq 'no table' ? () : $table;
		is($node->safe_psql('postgres', q{
			SELECT count(bt_index_check(i.indexrelid, true)::text) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
			WHERE c.relkind = 'i' AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'btree') AND c.relnamespace = 'public'::regnamespace}) > 0, 1,
			"$name $try: indexes");
	}
	# replay makes a file anew that a checkpoint was about to count on
	check_log($node, 'removing future two-phase state file');

	# those of transactions that did not end, as the server leaves its own; nobody reads them, and they may be torn
	my $base = $node->data_dir . '/base/' . $node->safe_psql('postgres', q{SELECT oid FROM pg_database WHERE datname = 'postgres'});
	unlink map { "$base/$_" } orphans($node);
	check_tables($node);
}

test('replica', $crashes, 'wal_level = replica', 'max_wal_senders = 0');
test('minimal', $crashes / 2, 'wal_level = minimal', 'max_wal_senders = 0', 'wal_skip_threshold = 64kB');
done_testing();
