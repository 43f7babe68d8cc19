# A direct load among other sessions: they see none of its rows and then all;
# those that write to the table or alter it wait for the end of the load.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $MB = 1024 * 1024;
my $node = bulk_server('direct_others', 'shared_buffers = 32MB', 'max_wal_size = 2GB',
	'deadlock_timeout = 100ms', 'max_parallel_workers_per_gather = 0');
my @session = map { PgBulk::Session->new($node) } 0 .. 6;
my ($load, $watch, @other) = @session;
my $pid = $load->{pid};

# A load into slow takes a while however fast the machine is, and does not get
# past its middle while a file is not there.
my $gate = data_dir() . '/gate';

sub open_gate { append_to_file($gate, '') }
sub close_gate { unlink $gate or die "$gate: $!" }

open_gate();
$node->safe_psql('postgres', qq{
	CREATE FUNCTION is_open() RETURNS bool LANGUAGE sql PARALLEL SAFE AS
	\$\$ SELECT (pg_stat_file('$gate', true)).size IS NOT NULL \$\$});
$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE FUNCTION pause(i int) RETURNS bool LANGUAGE plpgsql PARALLEL SAFE AS
	$$BEGIN
	IF i % 500 = 0 THEN PERFORM pg_sleep(0.02); END IF;
	WHILE i = 10000 AND NOT is_open() LOOP PERFORM pg_sleep(0.01); END LOOP;
	RETURN true;
	END$$;

	-- the counts of a table that follow each other, until it has so many rows;
	-- with the times that it was seen to grow before
	CREATE FUNCTION counts(t regclass, enough bigint) RETURNS text LANGUAGE plpgsql AS
	$$DECLARE
	seen bigint[] = '{}'; now bigint; pages bigint = 0; pages_now bigint; grown int = 0;
	BEGIN
	LOOP
		pages_now = pg_relation_size(t) / 8192;
		EXECUTE 'SELECT count(*) FROM ' || t INTO now;
		IF now IS DISTINCT FROM seen[cardinality(seen)] THEN seen = seen || now; END IF;
		EXIT WHEN now >= enough;
		IF pages_now > pages THEN grown = grown + 1; END IF;
		pages = pages_now;
		PERFORM pg_sleep(0.001);
	END LOOP;
	RETURN array_to_string(seen, ' then ') || CASE WHEN grown >= 3 THEN '' ELSE ', not looked at meanwhile' END;
	END$$});

my $text = join('', map { "$_,text of a row of this file\n" } 1 .. 20000);
my $small = data_file('small.csv', 1, $text);
my $large = 'ARRAY[' . join(',', ("'" . data_file('large.csv', 16 * $MB, $text) . "'") x 2) . ']';
my $endless = 'ARRAY[' . join(',', ("'" . data_dir() . "/large.csv'") x 200) . ']';
my $many = 2 * 20000 * (1 + int((16 * $MB - 1) / length $text));

sub bulk_load
{
	my ($table, $path, $workers, $more) = @_;

	$path = "'$path'" unless $path =~ /^ARRAY/;
	return "SELECT rows_loaded FROM bulk_load('$table', $path, '" . direct($workers, $more) . "')";
}

sub tables
{
	$node->safe_psql('postgres', "
		DROP TABLE IF EXISTS fast, slow, by_copy;
		CREATE TABLE fast (i int, s text);
		CREATE TABLE by_copy (LIKE fast);
		CREATE TABLE slow (i int CHECK (pause(i)), s text)");
}

# Waits until the load of the slow table is in its middle.
sub wait_for_load
{
	wait_for('a load', sub {
		die "the load ended too early: $load->{err}" if $load->done;
		return $watch->ask(q{SELECT pg_relation_size('slow') > 8192 OR coalesce((SELECT tuples_processed > 500 FROM pg_stat_progress_copy), false)}) eq 't';
	});
}

sub waits_for_lock
{
	my ($session) = @_;

	wait_for('a lock to be waited for', sub {
		return $watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $session->{pid} AND NOT granted") ne '0' || $session->done;
	});
	return !$session->done;
}

# Nothing of the load is running when its statement has ended.
sub no_workers_left
{
	my ($name) = @_;
	is($watch->ask("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'"), '0', "$name: no worker is left");
}

# What the statistics say of a table's rows.
sub row_counts
{
	my ($table) = @_;

	$_->ask('SELECT pg_stat_force_next_flush()') foreach $load, $watch;
	return $watch->ask("SELECT n_tup_ins, n_live_tup, n_dead_tup FROM pg_stat_user_tables WHERE relid = '$table'::regclass");
}

# ---- readers
sub readers
{
	my ($workers) = @_;
	my ($before, $one, $two) = @other;

	foreach my $try ([ 'fast', $large, $many ], [ 'slow', $small, 20000 ])
	{
		my ($table, $path, $rows) = @$try;
		my $name = "$workers workers, $table table";

		$load->ask("SET pgbulk.chunk_size = '64kB'");

		# again if the machine was too busy for readers
		my @seen;
		foreach (1 .. 10)
		{
			$before->ask('COMMIT');
			$watch->ask("TRUNCATE $table; INSERT INTO $table VALUES (-1, 'before')");
			is($before->ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM $table"), '1', "$name: a snapshot of before");
			$_->send("SELECT counts('$table', 2)") foreach $one, $two;
			is($load->ask(bulk_load($table, $path, $workers)), $rows, "$name: the load");
			@seen = map { $_->wait } $one, $two;
			last unless grep { $_ eq '1 then ' . ($rows + 1) . ', not looked at meanwhile' } @seen;
		}
		is($_, '1 then ' . ($rows + 1), "$name: others see none of its rows, then all") foreach @seen;
		is($before->ask("SELECT count(*), max(i) FROM $table; COMMIT; SELECT count(*) FROM $table"), "1|-1\n" . ($rows + 1),
			"$name: a snapshot of before does not see it afterwards");
		is($watch->ask("SELECT count(*) FROM verify_heapam('$table')"), '0', "$name: the heap is sound");
	}
	no_workers_left("$workers workers, readers");
}

# ---- those who must wait
sub waiting
{
	my ($workers) = @_;
	my ($vacuum, $index, $insert, $update, $checkpoint) = @other;
	my $name = "$workers workers";

	$watch->ask("INSERT INTO slow VALUES (-1, 'before')");
	$checkpoint->send('DO $$BEGIN LOOP CHECKPOINT; PERFORM pg_sleep(0.01); COMMIT; END LOOP; END$$');
	close_gate();
	$load->send('BEGIN; ' . bulk_load('slow', $small, $workers) . '; COMMIT');
	wait_for_load();
	is($watch->ask('SELECT count(*) FROM slow'), '1', "$name: during the load a reader continues");
	$insert->send("INSERT INTO slow VALUES (-2, 'meanwhile') RETURNING i");
	ok(waits_for_lock($insert), "$name: INSERT waits");
	$update->send("UPDATE slow SET s = 'changed' WHERE i = -1 RETURNING s");
	ok(waits_for_lock($update), "$name: UPDATE waits");
	$vacuum->send('VACUUM slow');
	ok(waits_for_lock($vacuum), "$name: VACUUM waits");
	$index->send('CREATE INDEX CONCURRENTLY slow_i ON slow (i)');
	ok(waits_for_lock($index), "$name: CREATE INDEX CONCURRENTLY waits");
	ok(!$load->done, "$name: the load is still at it");
	is($watch->ask("SELECT count(DISTINCT pid) FROM pg_locks WHERE relation = 'slow'::regclass AND mode = 'ShareRowExclusiveLock' AND granted"), '1',
		"$name: it has the lock that keeps writers out") if $workers == 0;

	open_gate();
	is($load->wait, '20000', "$name: the load with checkpoints") or diag $load->{error};
	is($insert->wait, '-2', "$name: INSERT continues");
	is($update->wait, 'changed', "$name: so does UPDATE");
	is($vacuum->wait . $vacuum->{error}, '', "$name: so does VACUUM");
	is($index->wait . $index->{error}, '', "$name: so does CREATE INDEX CONCURRENTLY");
	$watch->ask("SELECT pg_cancel_backend($checkpoint->{pid})");
	$checkpoint->wait;
	is($checkpoint->sqlstate, '57014', "$name: checkpoints went on until now");
	is($watch->ask('SELECT count(*), count(DISTINCT i), sum(i) FILTER (WHERE i > 0) FROM slow'), '20002|20002|200010000', "$name: all rows are there");
	is($watch->ask("SELECT indisvalid, indisready FROM pg_index WHERE indexrelid = 'slow_i'::regclass"), 't|t', "$name: the index is valid");
	is($watch->ask("SELECT bt_index_check('slow_i', true)") . $watch->{error}, '', "$name: and has all rows");
	is($watch->ask("SELECT count(*) FROM verify_heapam('slow')"), '0', "$name: the heap is sound");

	# two loads, of either kind
	$load->ask('BEGIN; ' . bulk_load('fast', $small, $workers));
	$insert->send(bulk_load('fast', $small, $workers));
	ok(waits_for_lock($insert), "$name: another direct load waits");
	$update->send("SELECT rows_loaded FROM bulk_load('fast', '$small', '{\"writer\": \"buffered\"}')");
	ok(waits_for_lock($update), "$name: a buffered load waits");
	$load->ask('COMMIT');
	is($insert->wait . ' ' . $update->wait, '20000 20000', "$name: and both go on");
	is($watch->ask('SELECT count(*), count(DISTINCT i) FROM fast'), '60000|20000', "$name: all three are there");

	# a writer that was there first
	$insert->ask("BEGIN; INSERT INTO fast VALUES (-1, 'first')");
	$load->send(bulk_load('fast', $small, $workers));
	ok(waits_for_lock($load), "$name: a load waits for a writer");
	$insert->ask('COMMIT');
	is($load->wait, '20000', "$name: and continues then");
	is($watch->ask('SELECT count(*) FROM fast'), '80001', "$name: with the rows of both");
}

# ---- what is rolled back
sub undone
{
	my ($workers) = @_;
	my $name = "$workers workers";

	is($load->ask('BEGIN; ' . bulk_load('fast', $small, $workers) . '; SAVEPOINT s; ' . bulk_load('fast', $large, $workers)
			  . '; SELECT count(*) FROM fast; ROLLBACK TO s; SELECT count(*) FROM fast; COMMIT'),
		"20000\n$many\n" . ($many + 20000) . "\n20000", "$name: ROLLBACK TO a savepoint takes rows back");
	my $size = $watch->ask("SELECT pg_relation_size('fast')");
	is($watch->ask("VACUUM fast; SELECT count(*), count(DISTINCT i) FROM fast"), '20000|20000', "$name: VACUUM keeps the others");
	is($watch->{error}, '', "$name: without an error");
	cmp_ok($watch->ask("SELECT pg_relation_size('fast')"), '<', $size / 10, "$name: and gives the space back");
	is($load->ask('BEGIN; ' . bulk_load('fast', $large, $workers) . '; ROLLBACK; ' . bulk_load('fast', $small, $workers)),
		"$many\n20000", "$name: a load after one that was rolled back");

	# what VACUUM cannot truncate is free space for later rows
	$size = $watch->ask("VACUUM fast; SELECT pg_relation_size('fast')");
	$watch->ask("INSERT INTO fast SELECT i, 'text of a row of this file' FROM generate_series(1, 20000) i");
	cmp_ok($watch->ask("SELECT pg_relation_size('fast')"), '<=', $size, "$name: the space of the dead rows is used again");
	is($watch->ask("SELECT count(*), count(DISTINCT i) FROM fast"), '60000|20000', "$name: and no row is lost");
	is($watch->ask("SELECT count(*) FROM verify_heapam('fast')"), '0', "$name: the heap is sound");
}

# ---- what autovacuum goes by
sub statistics
{
	my ($workers) = @_;
	my $name = "$workers workers";
	my $copy = "COPY by_copy FROM '$small' (FORMAT csv)";

	foreach my $end ('', 'ROLLBACK TO s; COMMIT', 'ROLLBACK')
	{
		my ($by_copy, $direct) = map {
			$load->ask($end ? "BEGIN; SAVEPOINT s; $_; $end" : $_)
		} $copy, bulk_load('fast', $small, $workers);
		is(row_counts('fast'), row_counts('by_copy'), "$name: rows are counted as COPY's" . ($end ? " with $end" : ''));
	}
}

# ---- cancelling
sub cancels
{
	my ($workers) = @_;

	close_gate();
	foreach my $try ([ 'fast', $endless, 0.3 ], [ 'slow', $small, 0.2 ])
	{
		my ($table, $path, $pause) = @$try;
		my $sql = bulk_load($table, $path, $workers);
		my $running = "SELECT count(*) FROM pg_stat_progress_copy WHERE pid = $pid";
		my $name = "$workers workers, $table table";

		foreach my $how ('pg_cancel_backend', 'statement_timeout')
		{
			ends_soon("$name, $how", sub {
				return $load->time_out($sql, $pause) if $how eq 'statement_timeout';
				return $load->cancel($sql, $watch, sub { $watch->ask($running) > 0 }, $pause);
			});
			is($load->sqlstate, '57014', "$name: $how ends it") or diag $load->{error};
			no_workers_left("$name, $how");
			is($load->ask("SELECT count(*) FROM $table"), '0', "$name: nothing is loaded");
		}
		open_gate() if $table eq 'slow';
		is($load->ask(bulk_load($table, $small, $workers)), '20000', "$name: the next load works");
	}

	# a worker that ends takes the load with it, one way or the other
	$load->send(bulk_load('slow', $small, $workers));
	sleep 0.1;
	$watch->ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'parallel worker' LIMIT 1");
	$load->wait;
	my $lost = $load->sqlstate;

	like($lost, qr/^(57P01|55000)?$/, "$workers workers: one is terminated") or diag $load->{error};
	is($watch->ask('SELECT count(*) FROM slow'), $lost ? 20000 : 40000, "$workers workers: all or nothing");
	no_workers_left("$workers workers, one terminated");
}

# ---- serializable transactions: what happens with COPY happens here
my @schedules = (
	[ 'rw-dependencies both ways', '1: SELECT count(*) FROM fast', '2: SELECT count(*) FROM by_copy', '2: LOAD', "1: INSERT INTO by_copy VALUES (1, 'x')", '1: COMMIT', '2: COMMIT' ],
	[ 'the load first', '2: LOAD', '1: SELECT count(*) FROM fast', '2: SELECT count(*) FROM by_copy', "1: INSERT INTO by_copy VALUES (1, 'x')", '2: COMMIT', '1: COMMIT' ],
	[ 'a read after the load', '2: SELECT count(*) FROM by_copy', '2: LOAD', '1: SELECT count(*) FROM by_copy', "1: INSERT INTO by_copy VALUES (1, 'x')", '1: SELECT count(*) FROM fast', '1: COMMIT', '2: COMMIT' ],
	[ 'one way only', '1: SELECT count(*) FROM fast', '2: LOAD', '2: COMMIT', '1: SELECT count(*) FROM fast', '1: COMMIT' ],
	[ 'a read-only third', '2: SELECT count(*) FROM by_copy', "1: INSERT INTO by_copy VALUES (1, 'x')", '1: COMMIT', '3: SELECT count(*) FROM by_copy',
		'3: SELECT count(*) FROM fast', '3: COMMIT', '2: LOAD', '2: COMMIT' ],
	[ 'rolled back', '1: SELECT count(*) FROM fast', '2: SELECT count(*) FROM by_copy', '2: LOAD', '2: ROLLBACK', "1: INSERT INTO by_copy VALUES (1, 'x')", '1: COMMIT' ]);

# The results and errors of a schedule's steps, and what the tables have then.
sub play
{
	my ($sql, @steps) = @_;
	my %transaction = (1 => $other[0], 2 => $load, 3 => $other[1]);
	my @seen;

	$watch->ask('TRUNCATE fast, by_copy');
	$_->ask('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM pg_database') foreach values %transaction;
	foreach (@steps)
	{
		my ($who, $what) = /^(\d): (.*)$/;

		my $said = $transaction{$who}->ask($what eq 'LOAD' ? $sql : $what);
		push @seen, join(' ', $who, $what eq 'LOAD' ? 'load' : $said, $transaction{$who}->sqlstate);
	}
	$_->ask('ROLLBACK') foreach values %transaction;
	push @seen, $watch->ask('SELECT (SELECT count(*) FROM fast), (SELECT count(*) FROM by_copy)');
	return join(', ', @seen);
}

sub serializable
{
	my ($workers) = @_;

	foreach (@schedules)
	{
		my ($name, @steps) = @$_;
		my $copy = play("COPY fast FROM '$small' (FORMAT csv)", @steps);
		my $direct = play(bulk_load('fast', $small, $workers), @steps);

		is($direct, $copy, "$workers workers, serializable, $name");
		like($copy, qr/40001/, "$name: one fails") if $name =~ /both ways|first|after/;
	}
}

# Who has written is known to the process alone that did: here mostly a worker, as few rows are good.
sub serializable_few
{
	my $rows = 400000;
	my $few = data_file('few.csv', 1, join('', map { $_ . ($_ >= 250000 && $_ < 250010 ? ',good' : ',not') . ',' . 'p' x 20 . "\n" } 1 .. $rows));
	my $one = $other[0];

	$watch->ask('CREATE TABLE few (i int, s text, p text)');
	$load->ask("SET pgbulk.chunk_size = '64kB'");
	foreach my $try (1 .. 6)
	{
		$watch->ask('TRUNCATE few, by_copy');
		$load->ask('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM by_copy');
		$one->ask('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM few');
		is($load->ask(bulk_load('few', $few, 2, q("where": "s = ''good''"))), '10', "few rows, $try: the load");
		$load->ask('COMMIT');
		$one->ask("INSERT INTO by_copy VALUES (1, 'x')");
		$one->ask('COMMIT') unless $one->sqlstate;
		is($one->sqlstate, '40001', "few rows, $try: the other one fails");
		$one->ask('ROLLBACK');
	}
	$watch->ask('DROP TABLE few');
}

foreach my $workers (@WORKERS)
{
	foreach my $part (\&readers, \&waiting, \&undone, \&statistics, \&cancels, \&serializable)
	{
		tables();
		$part->($workers);
	}
}

serializable_few();
$_->close foreach @session;
check_log($node, qr/ 25P01 WARNING:  there is no transaction|57P01 FATAL:  terminating (?:background worker|connection)/);
check_tables($node);
done_testing();
