# Rows that are merged by the batch among other sessions: what these do to a key between the moment when
# its row is fetched and the one when it is written, and to keys that nobody had.  An expression waits there
# for a lock.  Whatever the order, each key has the sum of what all have added.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('merge_batches', 'deadlock_timeout = 1h', 'lock_timeout = 60s', 'autovacuum = off');
my ($load, $gate, $other, $watch) = map { PgBulk::Session->new($node) } 1 .. 4;

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE FUNCTION gate(v int, k int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF k = 1 AND current_setting('race.waits', true) = 'on' THEN
			PERFORM pg_advisory_xact_lock_shared(1);
		END IF;
		RETURN v;
	END$$;
	CREATE TABLE t (k int PRIMARY KEY, n int, s text);
	CREATE INDEX ON t (n)});

# each key twice; those from 1901 on are deleted in between
my $rows = join('', map { "$_,1,new\n" } 1 .. 2000);
my $file = data_file('rows.csv', 1, $rows . join('', map { "$_,0,gone\n" } 1901 .. 2000) . $rows);
my $call = qq{SELECT rows_loaded, rows_replaced, rows_deleted, rows_filtered, details ->> 'merged_in_batches' FROM bulk_load('t', '$file', '{"on_duplicate": {"set": {"n": "gate(old.n + new.n, new.k)"}, "delete": "new.n = 0"}, "log_verbosity": "silent"}')};

sub reset_table
{
	my ($fillfactor) = @_;

	$node->safe_psql('postgres', "ALTER TABLE t SET (fillfactor = $fillfactor); TRUNCATE t");
	$node->safe_psql('postgres', q{INSERT INTO t SELECT i, 100, 'old' FROM generate_series(501, 700) i; INSERT INTO t SELECT i, 100, 'old' FROM generate_series(1951, 2000) i; INSERT INTO t SELECT i, 100, 'far' FROM generate_series(3001, 3200) i});
	$node->safe_psql('postgres', 'VACUUM t');
}

# Loads the file, and meanwhile does what MEANWHILE does.
sub race
{
	my ($level, $meanwhile, $afterwards) = @_;

	$gate->ask('SELECT pg_advisory_lock(1)');
	$load->ask("SET race.waits = 'on'; BEGIN ISOLATION LEVEL $level; SELECT 1");
	$load->send($call);
	wait_for('the load at the gate', sub {
		$watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $load->{pid} AND locktype = 'advisory' AND NOT granted") > 0 });
	$meanwhile->();
	$gate->ask('SELECT pg_advisory_unlock(1)');
	if ($afterwards)
	{
		wait_for('the load waits for a row', sub {
			$watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $load->{pid} AND locktype <> 'advisory' AND NOT granted") > 0 });
		$afterwards->();
	}
	my $counts = $load->wait;
	my $state = $load->sqlstate;

	$load->ask($state ? 'ROLLBACK' : 'COMMIT');
	return $counts || $state;
}

# Sums of keys: which the load has found, has not, has deleted in between; and rows.
sub sums
{
	return $watch->ask('SELECT sum(n) FILTER (WHERE k BETWEEN 501 AND 700), sum(n) FILTER (WHERE k BETWEEN 1 AND 500), sum(n) FILTER (WHERE k BETWEEN 1901 AND 2000), count(*), count(DISTINCT k) FROM t');
}

sub sound
{
	my ($name) = @_;

	is($watch->ask("SELECT count(bt_index_parent_check(indexrelid, true, true)) FROM pg_index WHERE indrelid = 't'::regclass"), 2, "$name: indexes are sound");
	is($watch->ask("SET enable_seqscan = off; SELECT count(*) = (SELECT count(*) FROM t WHERE n > -1000) FROM t WHERE k > 0; RESET enable_seqscan") =~ s/^SET\n|\nRESET$//gr, 't', "$name: rows are found by both");
}

foreach my $fillfactor (30, 100)
{
	reset_table($fillfactor);
	is(race('READ COMMITTED', sub { }), '4000|2150|100|0|4100', "fillfactor $fillfactor: alone");
	is(sums(), '20400|1000|100|2200|2200', "fillfactor $fillfactor: sums");
	sound("fillfactor $fillfactor");

	# what others do, and commit, while the load has read the rows
	foreach my $case (
		# what; counters but for rows by the batch, sums
		['UPDATE t SET n = n + 1000 WHERE k BETWEEN 551 AND 600', '4000|2150|100|0', '70400|1000|100|2200|2200'],
		['UPDATE t SET s = s WHERE k BETWEEN 551 AND 600', '4000|2150|100|0', '20400|1000|100|2200|2200'],
		['DELETE FROM t WHERE k BETWEEN 551 AND 600', '4000|2100|100|0', '15400|1000|100|2200|2200'],
		['DELETE FROM t WHERE k BETWEEN 551 AND 600; INSERT INTO t SELECT k, 7, \'again\' FROM generate_series(551, 600) k', '4000|2150|100|0', '15750|1000|100|2200|2200'],
		['UPDATE t SET k = k + 4000 WHERE k BETWEEN 551 AND 600', '4000|2100|100|0', '15400|1000|100|2250|2250'],
		# others' rows in places of those that were read, with other keys, with keys of the file
		['DELETE FROM t WHERE k BETWEEN 551 AND 600; VACUUM (INDEX_CLEANUP on) t; INSERT INTO t SELECT k, 100, \'old\' FROM generate_series(5551, 5600) k', '4000|2100|100|0', '15400|1000|100|2250|2250'],
		['DELETE FROM t WHERE k BETWEEN 551 AND 600; VACUUM (INDEX_CLEANUP on) t; INSERT INTO t SELECT k, 30, \'old\' FROM generate_series(51, 100) k', '4000|2150|100|0', '15400|2500|100|2200|2200'],
		['DELETE FROM t WHERE k BETWEEN 551 AND 600; VACUUM (INDEX_CLEANUP on) t; INSERT INTO t SELECT k, 100, \'old\' FROM generate_series(551, 600) k ORDER BY k DESC', '4000|2150|100|0', '20400|1000|100|2200|2200'],
		['UPDATE t SET n = n + 1 WHERE k BETWEEN 501 AND 700; VACUUM t; UPDATE t SET n = n - 1 WHERE k BETWEEN 501 AND 700; VACUUM t', '4000|2150|100|0', '20400|1000|100|2200|2200'],
		# keys that nobody had
		['INSERT INTO t SELECT k, 50, \'faster\' FROM generate_series(101, 200) k', '4000|2250|100|0', '20400|6000|100|2200|2200'],
		# those that are deleted in between: of rows that were there, and of new ones
		['UPDATE t SET n = n + 1000 WHERE k BETWEEN 1951 AND 1960', '4000|2150|100|0', '20400|1000|100|2200|2200'],
		['DELETE FROM t WHERE k BETWEEN 1951 AND 1960', '4000|2140|100|0', '20400|1000|100|2200|2200'],
		['INSERT INTO t SELECT k, 50, \'faster\' FROM generate_series(1901, 1910) k', '4000|2160|100|0', '20400|1000|100|2200|2200'])
	{
		my ($statements, $counts, $sums) = @$case;
		my $name = "fillfactor $fillfactor, $statements";

		reset_table($fillfactor);
		like(race('READ COMMITTED', sub {
			foreach my $statement (split /; /, $statements)
			{
				$other->ask($statement);
				is($other->{error}, '', $statement) if $other->{error};
			}
		}), qr/^\Q$counts\E\|\d+$/, $name);
		is(sums(), $sums, "$name: sums");
		sound($name);
	}

	# what a transaction does that is running when the load comes to write
	foreach my $case (
		['UPDATE t SET n = n + 1000 WHERE k BETWEEN 551 AND 600', '70400|1000|100|2200|2200', '20400|1000|100|2200|2200'],
		['DELETE FROM t WHERE k BETWEEN 551 AND 600', '15400|1000|100|2200|2200', '20400|1000|100|2200|2200'],
		['SELECT count(*) FROM (SELECT FROM t WHERE k BETWEEN 551 AND 600 FOR UPDATE) x', '20400|1000|100|2200|2200', '20400|1000|100|2200|2200'],
		['INSERT INTO t SELECT k, 50, \'faster\' FROM generate_series(101, 110) k', '20400|1500|100|2200|2200', '20400|1000|100|2200|2200'],
		['DELETE FROM t WHERE k = 1955', '20400|1000|100|2200|2200', '20400|1000|100|2200|2200'])
	{
		my ($statement, @sums) = @$case;

		foreach my $end ('COMMIT', 'ROLLBACK')
		{
			my $name = "fillfactor $fillfactor, $statement, $end";

			reset_table($fillfactor);
			unlike(race('READ COMMITTED', sub { $other->ask("BEGIN; $statement") }, sub { $other->ask($end) }), qr/^[0-9A-Z]{5}$/, $name);
			is(sums(), $end eq 'COMMIT' ? $sums[0] : $sums[1], "$name: sums");
			sound($name);
		}
	}

	# by a snapshot that does not show it
	foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
	{
		foreach my $statement ('UPDATE t SET n = n + 1000 WHERE k = 600', 'INSERT INTO t VALUES (100, 50, \'faster\')')
		{
			reset_table($fillfactor);
			is(race($level, sub { $other->ask($statement) }), '40001', "fillfactor $fillfactor, $level: $statement");
		}
		reset_table($fillfactor);
		is(race($level, sub { }), '4000|2150|100|0|4100', "fillfactor $fillfactor, $level: alone");
		is(sums(), '20400|1000|100|2200|2200', "fillfactor $fillfactor, $level: sums");
	}

	# who waits for a merged row goes on with its new version; for one that was deleted in between, with none
	reset_table($fillfactor);
	$load->ask("SET race.waits = 'off'; BEGIN");
	$load->ask($call);
	foreach my $case ([ 600, '1|1102' ], [ 1960, '0|' ])
	{
		my ($k, $met) = @$case;

		$other->send("WITH u AS (UPDATE t SET n = n + 1000 WHERE k = $k RETURNING n) SELECT count(*), max(n) FROM u");
		wait_for('the other', sub { $watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $other->{pid} AND NOT granted") > 0 });
		$load->ask('COMMIT');
		is($other->wait, $met, "fillfactor $fillfactor: who waits for the row of key $k");
		reset_table($fillfactor);
		$load->ask('BEGIN');
		$load->ask($call);
	}
	$load->ask('ROLLBACK');
}

# a key with so many versions that a snapshot needs that its entries fill leaves: only the server finds out
# that none of them stands
reset_table(100);
$other->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t');
$watch->ask('DO $$ BEGIN FOR i IN 1 .. 4000 LOOP UPDATE t SET n = n + 1 WHERE k = 600; COMMIT; END LOOP; END $$');
cmp_ok($watch->ask("SELECT pg_relation_size('t_pkey')"), '>', 6 * 8192, 'the key has leaves of its own');
is($load->ask($call), '4000|2150|100|0|4100', 'many versions');
is(sums(), '24400|1000|100|2200|2200', 'many versions: sums');
sound('many versions');
$other->ask('ROLLBACK');

# rows for which the condition does not hold are locked, as ON CONFLICT does
reset_table(100);
$load->ask('BEGIN');
is($load->ask(q{SELECT rows_loaded, rows_duplicate, details ->> 'merged_in_batches' FROM bulk_load('t', '} . $file . q{', '{"on_duplicate": {"set": ["n"], "where": "false"}, "log_verbosity": "silent"}')}), '1750|2350|4100', 'none is merged');
$other->ask('SELECT FROM t WHERE k = 600 FOR UPDATE NOWAIT');
is($other->sqlstate, '55P03', 'they are locked');
is($other->ask('SELECT k FROM t WHERE k = 600 FOR KEY SHARE'), 600, 'not against foreign keys');
$load->ask('ROLLBACK');

$_->close foreach ($load, $gate, $other, $watch);
check_log($node);
check_tables($node);
done_testing();
