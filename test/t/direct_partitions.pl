# Direct loads into partitioned tables: who else may use the partitions
# meanwhile, which locks remain, and what a crash leaves of pages that were
# filled in several turns.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use Test::More;

my $node = bulk_server('direct_partitions', 'max_locks_per_transaction = 10',
	q{wal_consistency_checking = 'heap,heap2'}, 'deadlock_timeout = 100ms');
my ($load, $other, $third) = map { PgBulk::Session->new($node) } 1 .. 3;

$node->safe_psql('postgres', q{
	CREATE TABLE t (k int, v text) PARTITION BY LIST (k);
	CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1);
	CREATE TABLE t2 PARTITION OF t FOR VALUES IN (2) PARTITION BY RANGE (v);
	CREATE TABLE t2a PARTITION OF t2 FOR VALUES FROM ('a') TO ('n');
	CREATE TABLE t2n PARTITION OF t2 FOR VALUES FROM ('n') TO ('zz')});
my $file = data_file('rows.csv', 1, "1,m\n2,a\n2,z\n");

sub bulk_load
{
	my ($table, $options) = @_;
	return "SELECT rows_loaded, writer, details->>'not_direct' FROM bulk_load('$table', '$file', '{\"limit\": 3$options}')";
}
my $auto = bulk_load('t', '');
my $direct = bulk_load('t', ', "writer": "direct"');

# Locks of the direct writer's kind, on tables of the tree.
sub locks
{
	return $node->safe_psql('postgres', q{
		SELECT count(*) FROM pg_locks WHERE mode = 'ShareRowExclusiveLock' AND granted
		AND relation IN (SELECT relid FROM pg_partition_tree('t'))});
}

sub waits
{
	my ($session) = @_;
	wait_for('a lock', sub { $node->safe_psql('postgres',
				"SELECT count(*) FROM pg_stat_activity WHERE pid = $session->{pid} AND wait_event_type = 'Lock'") });
}

# a leaf that others write to
$other->ask("BEGIN; INSERT INTO t2n VALUES (2, 'x')");
$load->ask('BEGIN');
is($load->ask($auto), '3|buffered|Others use the table.', 'auto leaves others alone');
is(locks(), 0, 'and releases the locks that it had');
$load->ask('ROLLBACK');
$load->send($direct);
waits($load);
$other->ask('COMMIT');
is($load->wait, '3|direct|', 'asked for by name it waits');
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), 4, 'and all rows are there');
is($load->ask($auto), '3|buffered|The table is not empty.', 'auto leaves a leaf with rows alone');

# who must wait for the load
$node->safe_psql('postgres', 'TRUNCATE t; CREATE TABLE t3 (k int, v text)');
$load->ask("BEGIN; $auto");
is(locks(), 5, 'the whole tree is locked');
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), 0, 'readers go on');
for my $command ("INSERT INTO t2a VALUES (2, 'b')", "INSERT INTO t VALUES (1, 'b')",
	'CREATE TABLE t4 PARTITION OF t FOR VALUES IN (4)', 'ALTER TABLE t ATTACH PARTITION t3 FOR VALUES IN (3)',
	"CREATE TABLE t2z PARTITION OF t2 FOR VALUES FROM ('zzz') TO (MAXVALUE)",
	'ALTER TABLE t DETACH PARTITION t1', 'ALTER TABLE t2 DETACH PARTITION t2a CONCURRENTLY',
	'CREATE INDEX ON t2a (v)', 'CREATE TRIGGER x BEFORE INSERT ON t1 FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()')
{
	$other->ask("SET lock_timeout = '50ms'; $command");
	is($other->sqlstate, '55P03', "waits: $command");
}
$other->ask('RESET lock_timeout');
$load->ask('COMMIT');

# two loads at once take the locks in the same order
$load->ask("BEGIN; $direct");
$other->send($direct);
waits($other);
$third->send($direct);
waits($third);
$load->ask('COMMIT');
is($other->wait . $third->wait, '3|direct|' x 2, 'one load after the other');
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), 12, 'all their rows are there');

# a partition that is being detached: old snapshots still see it
$node->safe_psql('postgres', 'TRUNCATE t');
$other->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t');
$third->send('ALTER TABLE t DETACH PARTITION t1 CONCURRENTLY');
waits($third);
$load->ask($direct);
is($load->sqlstate, '23514', 'it is no partition for a new load');
is($other->ask($direct), '3|direct|', 'but one for a transaction that knows it');
$other->ask('COMMIT');
$third->wait;
is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM t1)'), '2|1',
	'it leaves with its row');

# for_each(SQL, NUMBER...): a statement for each number, no more at a time than the lock table takes.
sub for_each
{
	my ($sql, @numbers) = @_;

	while (my @some = splice @numbers, 0, 50)
	{
		$node->safe_psql('postgres', join(';', map { sprintf $sql, $_ } @some));
	}
}

# more partitions than auto may lock: with their indexes no more than a third of the lock table,
# which has 10 entries for each process, or two thirds together with the locks of others
my $entries = 10 * $node->safe_psql('postgres', q{
	SELECT sum(setting::int) + 1 FROM pg_settings
	WHERE name IN ('max_connections', 'max_worker_processes', 'max_wal_senders', 'autovacuum_worker_slots')
	OR name = 'autovacuum_max_workers' AND current_setting('autovacuum_worker_slots', true) IS NULL});
my $partitions = int($entries * 0.6);
my $held = int($entries * 0.2);
$node->safe_psql('postgres', 'CREATE TABLE most (k int, v int) PARTITION BY LIST (k)');
for_each('CREATE TABLE most%1$d PARTITION OF most FOR VALUES IN (%1$d)', 1 .. $partitions);
my $numbers = data_file('numbers.csv', 1, join('', map { "$_,$_\n" } 1 .. 3));
my $much = data_file('much.csv', 1, join('', map { $_ % 3 + 1 . ",$_\n" } 1 .. 60_000));
my $ask_most = sub {
	my ($path, $options) = @_;
	return $load->ask("SELECT rows_loaded, writer, details ->> 'not_direct' FROM bulk_load('most', '$path', '{\"log_verbosity\": \"silent\"$options}')");
};
my $empty_most = sub { $node->safe_psql('postgres', join(';', map { "TRUNCATE most$_" } 1 .. 3)) };
my $too_many = 'buffered|The table has too many partitions to lock them unasked.';
is($ask_most->($numbers, ''), '3|buffered|The file is small for so many partitions.', 'a few rows are not worth many locks');
$empty_most->();
$other->ask("BEGIN; SELECT pg_advisory_xact_lock(n) FROM generate_series(1, $held) n");
is($ask_most->($much, ''), "60000|$too_many", 'auto does not lock too many beside locks of others');
$empty_most->();
$other->ask('COMMIT');
is($ask_most->($much, ', "dry_run": true'), '60000|none|', 'more are locked where others have few: a dry run');
is($ask_most->($much, ''), '60000|direct|', 'and a load');
$empty_most->();
$load->ask('BEGIN; LOCK TABLE most IN SHARE ROW EXCLUSIVE MODE');
is($ask_most->($much, ''), '60000|direct|', 'those that the transaction has already take no more');
$load->ask('ROLLBACK');
is($ask_most->($much, ', "limit": 3'), '3|buffered|The file is small for so many partitions.', 'a limit makes a file small');
$empty_most->();
is(system("gzip -k $numbers"), 0, 'a compressed file');
is($ask_most->("$numbers.gz", ''), '3|direct|', 'may have many rows');
$empty_most->();
is($ask_most->($numbers, ', "truncate": true'), '3|direct|', 'those of a truncated table are locked already');
$empty_most->();
$node->safe_psql('postgres', join(';', map { "CREATE INDEX ON most$_ (k)" } 1 .. int($entries * 0.1)));
is($ask_most->($much, ''), "60000|$too_many", 'indexes count');
$empty_most->();
for_each('DROP TABLE most%d', 66 .. $partitions);
is($ask_most->($numbers, ''), '3|direct|', 'fewer are locked also for a few rows');

# TOAST tables, whose locks are taken where values are wide
my $wide = int($entries * 0.4);
$node->safe_psql('postgres', 'CREATE TABLE wide (k int, v text) PARTITION BY LIST (k)');
for_each('CREATE TABLE wide%1$d PARTITION OF wide FOR VALUES IN (%1$d)', 1 .. $wide);
is($load->ask("SELECT rows_loaded, writer, details ->> 'not_direct' FROM bulk_load('wide', '$much', '{\"log_verbosity\": \"silent\"}')"),
	"60000|$too_many", 'TOAST tables count where many are locked');

$node->safe_psql('postgres', 'CREATE TABLE many (k int, v text) PARTITION BY LIST (k)');
$node->safe_psql('postgres', join(';', map { "CREATE TABLE many$_ PARTITION OF many FOR VALUES IN ($_)" } 1 .. 120));

# a crash: every page of a leaf was filled in several turns
my @rows = map { ($_ * 7919) % 120 + 1 . ",row $_ " . 'x' x ($_ % 50) } 1 .. 400000;
$file = data_file('many.csv', 1, join("\n", @rows) . "\n");
$node->safe_psql('postgres', 'CHECKPOINT');
is($load->ask("SELECT rows_loaded, writer FROM bulk_load('many', '$file', '{\"truncate\": true}')"), '400000|direct', 'many rows');
is($other->ask("BEGIN; SELECT rows_loaded FROM bulk_load('t', '$file', '{\"writer\": \"direct\", \"where\": \"k = 2\", \"on_error\": \"ignore\"}')"),
	3333, 'and some that are not committed');
kill_server($node);
$node->start;
$node->safe_psql('postgres', "CREATE TABLE expected (k int, v text); COPY expected FROM '$file' (FORMAT csv)");
is($node->safe_psql('postgres', 'SELECT count(*) FROM ((TABLE expected EXCEPT ALL TABLE many) UNION ALL (TABLE many EXCEPT ALL TABLE expected)) x'),
	0, 'all rows after a crash, and no others');
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), 2, 'none of a load that was not committed');
check_tables($node);
check_log($node);
done_testing();
