# A load among other sessions: they read and write the table, load into it,
# vacuum it and build indexes on it meanwhile.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('concurrency', 'shared_buffers = 32MB', 'max_wal_size = 1GB',
	'deadlock_timeout = 1h', 'lock_timeout = 60s');
my @session = map { PgBulk::Session->new($node) } 0 .. 3;
my ($load, $second, $other, $watch) = @session;
my $pid = $load->{pid};

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE FUNCTION wait_there() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
	PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1);
	RETURN NEW;
	END$$;
	CREATE TABLE held (i int PRIMARY KEY, s text);
	CREATE INDEX held_s ON held (s);
	CREATE TRIGGER wait_there BEFORE INSERT ON held FOR EACH ROW WHEN (NEW.i IN (15000, 35000)) EXECUTE FUNCTION wait_there();
	CREATE TABLE t (i int, s text);
	CREATE INDEX t_i ON t (i);
	CREATE INDEX t_s ON t (s);
	CREATE TABLE parts (i int, s text) PARTITION BY HASH (i);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1);
	CREATE TABLE bare (i int, s text)});

sub rows_file
{
	my ($name, $from, $to) = @_;
	return data_file($name, 1, join('', map { "$_,text of row $_\n" } $from .. $to));
}

my $low = rows_file('low.csv', 1, 20000);
my $high = rows_file('high.csv', 20001, 40000);

sub sound
{
	my ($name, @indexes) = @_;

	foreach my $index (@indexes)
	{
		my ($rc, $out, $err) = $node->psql('postgres', "SELECT bt_index_check('$index', true)");
		is("$rc $err", '0 ', "$name: index $index is whole");
	}
}

# Starts a load that stops halfway.
sub start_held
{
	my ($session, $file) = @_;

	$session->send("SELECT rows_loaded FROM bulk_load('held', '$file')");
	wait_for('a load that waits', sub {
		$watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $session->{pid} AND locktype = 'advisory' AND NOT granted") eq '1';
	});
}

# ---- locks, and others' reading and writing
$node->safe_psql('postgres', "INSERT INTO held VALUES (-1, 'before'), (-2, 'before')");
$other->ask('SELECT pg_advisory_lock(1)');
start_held($load, $low);
is($watch->ask("SELECT string_agg(DISTINCT mode, ',' ORDER BY mode) FROM pg_locks
		WHERE pid = $pid AND relation = 'held'::regclass"), 'RowExclusiveLock', 'the table has the lock that COPY takes');
is($watch->ask("SELECT string_agg(DISTINCT mode, ',' ORDER BY mode) FROM pg_locks
		WHERE pid = $pid AND relation IN ('held_s'::regclass, 'held_pkey'::regclass)"), 'RowExclusiveLock', 'and so have its indexes');
is($watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $pid AND mode IN ('ShareLock', 'ShareRowExclusiveLock',
		'ExclusiveLock', 'AccessExclusiveLock') AND locktype = 'relation'"), '0', 'nothing is locked against writers');
is($watch->ask('SELECT count(*) FROM held'), '2', 'others read the rows of before');
is($watch->ask("INSERT INTO held VALUES (-3, 'meanwhile'); UPDATE held SET s = 'changed' WHERE i = -1;
	DELETE FROM held WHERE i = -2; SELECT string_agg(i || s, ',' ORDER BY i) FROM held"), '-3meanwhile,-1changed', 'others write');
is($watch->ask("BEGIN; SELECT count(*) FROM held; SELECT 1 FROM held WHERE i = -1 FOR UPDATE; ROLLBACK"), "2\n1", 'others lock rows');
$watch->ask('SET lock_timeout = 100; CREATE INDEX ON held (i)');
is($watch->sqlstate, '55P03', 'but none builds an index in the common way');
$watch->ask('SET lock_timeout = 100; ALTER TABLE held ADD x int');
is($watch->sqlstate, '55P03', 'nor changes the table');
$watch->ask('RESET lock_timeout');

# ---- who waits for the table has no transaction id yet, for which REPACK (CONCURRENTLY) would wait in turn
foreach my $wait (
	[ 'bulk_load', "SELECT rows_loaded FROM bulk_load('t', '$low')" ],
	[ 'bulk_load, direct', "SELECT rows_loaded FROM bulk_load('t', '$low', '{\"writer\": \"direct\"}')" ],
	[ 'COPY, direct', "COPY t FROM '$low' (FORMAT csv, writer 'direct')" ])
{
	my ($name, $sql) = @$wait;

	# the next number of a load is logged
	$watch->ask('CHECKPOINT; BEGIN; LOCK TABLE t IN SHARE MODE');
	$second->send($sql);
	wait_for("$name: the load to wait", sub { $watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $second->{pid} AND relation = 't'::regclass AND NOT granted") eq '1' });
	is($watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $second->{pid} AND locktype = 'transactionid'"), '0', "$name: no transaction id");
	$watch->ask('COMMIT');
	$second->wait;
	is($second->sqlstate, '', "$name: and then loads") or diag $second->{error};
}
$watch->ask('TRUNCATE t');

# ---- two loads at once
start_held($second, $high);
is($watch->ask("SELECT count(*) FROM pg_locks WHERE relation = 'held'::regclass AND mode = 'RowExclusiveLock' AND granted"), '2',
	'two loads are at the table');
is($watch->ask('VACUUM held; ANALYZE held; SELECT count(*) FROM held'), '2', 'VACUUM and ANALYZE run concurrently');
is($watch->{error}, '', 'without an error');
$other->ask('SELECT pg_advisory_unlock(1)');
is($load->wait, '20000', 'the first load is whole');
is($second->wait, '20000', 'the second load is whole');
is($watch->ask('SELECT count(*), count(DISTINCT i), sum(i) FROM held WHERE i > 0'), '40000|40000|800020000', 'the table has both');
sound('two loads', 'held_s', 'held_pkey');

# ---- the same key in two loads: the second waits for the first
$watch->ask('TRUNCATE held');
$load->ask("BEGIN; SELECT rows_loaded FROM bulk_load('held', '$low')");
$second->send("SELECT rows_loaded FROM bulk_load('held', '$low')");
wait_for('the second load to wait', sub {
	$watch->ask("SELECT wait_event_type || ' ' || wait_event FROM pg_stat_activity WHERE pid = $second->{pid}") eq 'Lock transactionid';
});
$load->ask('COMMIT');
$second->wait;
is($second->sqlstate, '23505', 'the same keys: the second load fails when the first commits');
like($second->{error}, qr/CONTEXT:  bulk_load of held, file "\Q$low\E", line 1/, 'and says at which line');
$watch->ask('TRUNCATE held');
$load->ask("BEGIN; SELECT rows_loaded FROM bulk_load('held', '$low')");
$second->send("SELECT rows_loaded FROM bulk_load('held', '$low')");
wait_for('the second load to wait', sub {
	$watch->ask("SELECT wait_event_type || ' ' || wait_event FROM pg_stat_activity WHERE pid = $second->{pid}") eq 'Lock transactionid';
});
$load->ask('ROLLBACK');
is($second->wait, '20000', 'and continues when the first rolls back');
sound('the same keys', 'held_s', 'held_pkey');

# ---- loads against VACUUM, updates and CREATE INDEX CONCURRENTLY, at full speed
my %expected = (t => 0, parts => 0, bare => 0);
foreach my $round (1 .. 2)
{
	$load->send("SELECT rows_loaded FROM bulk_load('t', ARRAY['$low', '$high'])");
	$second->send("SELECT rows_loaded FROM bulk_load('t', '$high'); SELECT rows_loaded FROM bulk_load('parts', '$low');
		BEGIN; SELECT rows_loaded FROM bulk_load('t', '$low'); ROLLBACK");
	$other->send("SELECT rows_loaded FROM bulk_load('bare', ARRAY['$low', '$high'])");
	$watch->ask("VACUUM (FREEZE) t; INSERT INTO t SELECT -i, 'mine' FROM generate_series(1, 1000) i;
		VACUUM t; DELETE FROM t WHERE i < -500; VACUUM (INDEX_CLEANUP on) t; ANALYZE t, parts, bare");
	is($watch->{error}, '', "round $round: VACUUM and writes of others run concurrently with loads");
	is($load->wait, '40000', "round $round: the first load");
	is($second->wait, "20000\n20000\n20000", "round $round: the second");
	is($other->wait, '40000', "round $round: the third");
	$expected{t} += 60500;
	$expected{parts} += 20000;
	$expected{bare} += 40000;
	is($watch->ask("SELECT count(*) FROM $_"), $expected{$_}, "round $round: the rows of $_") foreach sort keys %expected;
}
sound('with VACUUM', 't_i', 't_s');

foreach my $round (1 .. 2)
{
	my $index = "bare_$round";

	$load->send("SELECT rows_loaded FROM bulk_load('bare', ARRAY['$low', '$high'])");
	$second->send("SELECT pg_sleep(0.02); SELECT rows_loaded FROM bulk_load('bare', '$high')");
	$other->ask("SELECT pg_sleep(0.03 * $round); CREATE INDEX CONCURRENTLY $index ON bare (i, s)");
	is($other->{error}, '', "round $round: CREATE INDEX CONCURRENTLY finishes during loads");
	$load->wait;
	$second->wait;
	$expected{bare} += 60000;
	is($watch->ask('SELECT count(*) FROM bare'), $expected{bare}, "round $round: the rows");
	is($watch->ask("SELECT indisvalid AND indisready FROM pg_index WHERE indexrelid = '$index'::regclass"), 't', "round $round: the index is valid");
	sound("round $round", map { "bare_$_" } 1 .. $round);
	$load->send("SELECT rows_loaded FROM bulk_load('bare', '$low')");
	$other->ask("REINDEX INDEX CONCURRENTLY $index");
	is($other->{error}, '', "round $round: so does REINDEX CONCURRENTLY");
	$load->wait;
	$expected{bare} += 20000;
	sound("round $round, reindexed", $index);
}

# ---- isolation levels: a load sees and writes as any INSERT
is($load->ask("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM parts;
	SELECT rows_loaded FROM bulk_load('parts', '$low'); SELECT count(*) FROM parts; COMMIT"), "40000\n20000\n60000", 'SERIALIZABLE');
is($load->ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM parts"), '60000', 'REPEATABLE READ: a snapshot');
$second->ask("SELECT bulk_load('parts', '$high')");
is($load->ask("SELECT count(*) FROM parts; COMMIT; SELECT count(*) FROM parts"), "60000\n80000", 'does not see a later load');

$_->close foreach @session;
check_log($node);
check_tables($node);
done_testing();
