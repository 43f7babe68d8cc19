# Logical decoding beside loads: slots and publications that are made and dropped in the middle of one, transactions that are
# streamed before they end, applied in parallel, prepared; loads on a server whose wal_level has changed.  Subscribers have
# what is published, and what is decoded is what COPY's is.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IO::Handle;
use PgBulk;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('decoded', 'wal_level = logical', 'max_wal_senders = 12', 'max_replication_slots = 20', 'max_prepared_transactions = 10', 'shared_buffers = 32MB',
	'logical_decoding_work_mem = 64kB', 'max_worker_processes = 20', 'max_parallel_workers = 8');
plan skip_all => 'no test_decoding' unless -e $node->config_data('--pkglibdir') . '/test_decoding.so';
my $parallel = $node->pg_version >= 16;

my $subscriber = PostgreSQL::Test::Cluster->new('applied');
server_init($subscriber);
$subscriber->append_conf('postgresql.conf', join("\n", "log_line_prefix = '%m [%p] %q%a %e '", 'autovacuum = off', 'max_worker_processes = 30', 'max_logical_replication_workers = 20', 'max_prepared_transactions = 20',
	'logical_decoding_work_mem = 64kB', 'wal_retrieve_retry_interval = 100ms'));
$subscriber->start;

my $rows = sub { my ($from, $to, $what) = @_; return join('', map { "$_,$what $_," . ($_ % 50 ? '' : join(' ', map { sin } $_ .. $_ + 200)) . "\n" } $from .. $to) };
my $tall = data_file('tall.csv', 1, $rows->(1001, 6000, 'text'));
my $half = data_file('half.csv', 1, $rows->(501, 1500, 'new'));
my $orphans = data_file('orphans.csv', 1, join('', map { "$_," . ($_ % 7 ? 1 : 99) . "\n" } 1001 .. 2000));
my $pipe = data_dir() . '/pipe';
mkfifo($pipe, 0600) or die $!;

my $ddl = q{
	CREATE TABLE t (i int PRIMARY KEY, s text, w text); CREATE INDEX ON t (s);
	CREATE TABLE plain (i int, s text, w text);
	CREATE TABLE parts (i int PRIMARY KEY, s text, w text) PARTITION BY HASH (i);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1);
	CREATE TABLE par (i int PRIMARY KEY);
	CREATE TABLE child (i int PRIMARY KEY, p int REFERENCES par);
	ALTER TABLE plain REPLICA IDENTITY FULL;};
$node->safe_psql('postgres', "$ddl INSERT INTO par VALUES (1); INSERT INTO t SELECT i, 'old ' || i FROM generate_series(1, 1000) i; INSERT INTO parts TABLE t;
	CREATE PUBLICATION p FOR ALL TABLES");
my ($load, $held, $watch) = map { PgBulk::Session->new($node) } 1 .. 3;
my @tables = qw(t plain parts par child);

sub contents
{
	my ($where, $db) = @_;
	return $where->safe_psql($db, join(';', map { "SELECT '$_', count(*), sum(hashtext(t::text)::bigint) FROM $_ t" } @tables));
}

sub bulk_load
{
	my ($table, $file, $options) = @_;
	return "SELECT rows_loaded FROM bulk_load('$table', '$file', '" . ($options // '{}') . "')";
}
my $quiet = '"log_verbosity": "silent"';

# ---- transactions that are streamed, applied in parallel, prepared

my %subscriptions = (
	whole => 'streaming = off',
	streamed => 'streaming = on, two_phase = on',
	$parallel ? (parallel => 'streaming = parallel, two_phase = on') : ());
foreach my $name (sort keys %subscriptions)
{
	$subscriber->safe_psql('postgres', "CREATE DATABASE $name");
	$subscriber->safe_psql($name, "$ddl CREATE EXTENSION pgbulk; CREATE SUBSCRIPTION $name CONNECTION '" . $node->connstr . " dbname=postgres' PUBLICATION p WITH ($subscriptions{$name})");
	$subscriber->wait_for_subscription_sync($node, $name, $name);
}
$node->safe_psql('postgres', q{SELECT pg_create_logical_replication_slot('plain', 'test_decoding'), pg_create_logical_replication_slot('prepared', 'test_decoding', false, true)});

sub same
{
	my ($when) = @_;

	foreach my $name (sort keys %subscriptions)
	{
		$node->wait_for_catchup($name);
		is(contents($subscriber, $name), contents($node, 'postgres'), "$when: subscriber $name");
	}
}

# Loads with much WAL and with little, in transactions of several kinds.
my @loads = (
	bulk_load('plain', $tall, direct(2)), bulk_load('t', $tall, '{"writer": "buffered"}'), bulk_load('parts', $tall, '{"writer": "buffered"}'), bulk_load('t', $half, qq({"on_duplicate": "keep_new", $quiet})),
	bulk_load('child', $orphans, qq({"on_error": "ignore", $quiet})), 'SAVEPOINT a; ' . bulk_load('plain', $tall, direct(0)) . '; ROLLBACK TO a; ' . bulk_load('plain', $half, direct(0)) . '; SAVEPOINT b; ' . bulk_load('plain', $half),
	'TRUNCATE plain; ' . bulk_load('plain', $tall, direct(1)) . '; DELETE FROM plain WHERE i % 3 = 0', 'DELETE FROM t WHERE i > 3000; SAVEPOINT s; ' . bulk_load('t', $tall, qq({"on_duplicate": "keep_old", $quiet})));

# an assertion of 18.6 does not hold where a subtransaction is rolled back that might have been streamed, COPY's or not
@loads = grep { !/on_error|ROLLBACK TO|SAVEPOINT/ } @loads if $node->pg_version >= 18 && $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';
my $n = 0;
foreach my $sql (@loads)
{
	$load->ask("BEGIN; $sql; COMMIT");
	is($load->{error}, '', "committed: $sql");
	next if $n++ % 2;
	foreach my $end ('ROLLBACK', 'COMMIT')
	{
		$load->ask('DELETE FROM t WHERE i > 1000; DELETE FROM parts WHERE i > 1000; DELETE FROM child');
		$load->ask("BEGIN; $sql; PREPARE TRANSACTION 'x'");
		is($load->{error}, '', "prepared: $sql");
		$load->ask("$end PREPARED 'x'");
	}
	# another transaction beside one that is streamed
	$load->ask("BEGIN; DELETE FROM t WHERE i > 1000; DELETE FROM parts WHERE i > 1000; DELETE FROM child; $sql");
	$watch->ask("INSERT INTO par VALUES (1000 + $n)");
	$load->ask($n % 4 == 1 ? 'ROLLBACK' : 'COMMIT');
	same("after $n");
}
same('in the end');

# the slots give what COPY's do, transaction by transaction
my $ask = q{FROM pg_logical_slot_get_changes('%s', NULL, NULL, 'skip-empty-xacts', '1', 'include-xids', '0', 'stream-changes', '%s')};
foreach my $slot ('plain', 'prepared')
{
	my $begins = $load->ask("SELECT count(*) FILTER (WHERE data ~ '^(BEGIN|PREPARE)') > 0, count(*) FILTER (WHERE data ~ '^table') > 10000 " . sprintf($ask, $slot, 0));
	is($begins, 't|t', "slot $slot: has them all");
}
foreach my $way ([ 'plain', bulk_load('plain', $tall, direct(0)), "COPY plain FROM '$tall' (FORMAT csv)" ], [ 'plain', bulk_load('plain', $tall, '{"workers": 2, "writer": "direct"}'), "COPY plain FROM '$tall' (FORMAT csv)" ],
	[ 'parts', bulk_load('parts', $tall), "COPY parts FROM '$tall' (FORMAT csv)" ])
{
	my ($table, $ours, $copy) = @$way;
	my @streams = map {
		my $sql = $_;
		$load->ask("TRUNCATE plain; DELETE FROM parts; SELECT count(*) " . sprintf($ask, 'prepared', 1));
		$load->ask("BEGIN; $sql; PREPARE TRANSACTION 'y'");
		is($load->{error}, '', "streamed: $sql");
		# partitions get their rows many at a time, each in the order of the file
		my $first = $load->ask(q{SELECT substring(data FROM '^table \S+'), count(*), md5(string_agg(data, E'\n'))} . ' ' . sprintf($ask, 'prepared', 0) . ' GROUP BY 1 ORDER BY 1');
		$load->ask("COMMIT PREPARED 'y'");
		my $second = $load->ask('SELECT string_agg(data, E\'\n\') ' . sprintf($ask, 'prepared', 0));
		"$first, $second"
	} $ours, $copy;
	is($streams[0], $streams[1], "prepared: the stream of $ours is COPY's");
}

# ---- slots, publications and identities that come and go in the middle of a load

my @middle = (
	[ 'a slot is made', "SELECT pg_create_logical_replication_slot('late', 'test_decoding')", "SELECT count(*) FROM pg_logical_slot_get_changes('late', NULL, NULL) WHERE data ~ '^table'; SELECT pg_drop_replication_slot('late')" ],
	[ 'a slot is dropped', "SELECT pg_drop_replication_slot('plain')", "SELECT pg_create_logical_replication_slot('plain', 'test_decoding')" ],
	[ 'a publication is made', 'CREATE PUBLICATION q FOR TABLE plain, t', 'DROP PUBLICATION q' ],
	[ 'a publication is dropped', 'DROP PUBLICATION p', 'CREATE PUBLICATION p FOR ALL TABLES' ],
	[ 'a publication is altered', "ALTER PUBLICATION p SET (publish = 'delete')", "ALTER PUBLICATION p SET (publish = 'insert, update, delete, truncate')" ]);
my $text = slurp_file($tall);
my $i = 0;
foreach my $case (@middle)
{
	my ($what, $now, $then) = @$case;

	foreach my $load_to ([ 'plain', direct(0) ], [ 't', '{"writer": "buffered"}' ], [ 'plain', '{"writer": "buffered", "workers": 2}' ])
	{
		my ($table, $options) = @$load_to;

		$load->ask('TRUNCATE plain; DELETE FROM t');
		$held->ask('SET pgbulk.chunk_size = 16384');
		$held->send('BEGIN; ' . bulk_load($table, $pipe, $options));
		open(my $rest, '>', $pipe) or die $!;
		$rest->autoflush;
		print $rest substr $text, 0, length($text) / 2;
		wait_for('half of the file', sub { $watch->ask("SELECT bytes_processed > 60000 FROM pg_stat_progress_copy WHERE pid = $held->{pid}") eq 't' });
		$load->send($now);
		# a slot waits for the load's transaction, and ALTER or DROP for its lock, or they do not
		wait_for('it to be done, or wait', sub { $load->done || $watch->ask("SELECT count(*) FROM pg_stat_activity WHERE pid = $load->{pid} AND wait_event_type = 'Lock'") > 0 });
		print $rest substr $text, length($text) / 2;
		close $rest;
		is($held->wait, 5000, "$what, $table, $options: the load") or diag $held->{error};
		$held->ask('COMMIT');
		is($held->{error}, '', "$what, $table, $options: is committed");
		$load->wait;
		is($load->{error}, '', "$what, $table, $options: done");
		is($node->safe_psql('postgres', "SELECT count(*) FROM $table"), 5000, "$what, $table, $options: all rows are there");
		$load->ask($then);
		is($load->{error}, '', "$what, $table, $options: and undone");
	}
}
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE plugin = 'test_decoding'");
$subscriber->safe_psql($_, "DROP SUBSCRIPTION $_") foreach sort keys %subscriptions;
check_log($subscriber, qr/57P01|skipped loading publication|terminating logical|could not receive data|publication "p" does not exist|08006/);
$subscriber->stop;

# ---- wal_level changes; what is to be decoded is so from then on

foreach my $level ('replica', 'minimal', 'logical')
{
	$_->close foreach $load, $held, $watch;
	$node->append_conf('postgresql.conf', "wal_level = $level\nmax_wal_senders = " . ($level eq 'minimal' ? 0 : 5));
	$node->restart;
	($load, $held, $watch) = map { PgBulk::Session->new($node) } 1 .. 3;
	$load->ask("SELECT pg_create_logical_replication_slot('again', 'test_decoding')") if $level eq 'logical';
	$load->ask('TRUNCATE plain, t, parts');
	foreach my $sql (bulk_load('plain', $tall, direct(2)), bulk_load('t', $tall), bulk_load('parts', $tall, direct(0)), 'BEGIN; TRUNCATE plain; ' . bulk_load('plain', $tall) . '; COMMIT')
	{
		$load->ask($sql);
		is($load->{error}, '', "$level: $sql");
	}
	is($load->ask("SELECT count(*) FROM pg_logical_slot_get_changes('again', NULL, NULL) WHERE data ~ '^table public.\\w+: INSERT'"), 20000, 'all is decoded') if $level eq 'logical';
	$watch->ask('CHECKPOINT') if $level eq 'minimal';
	kill_server($node);
	$_->close foreach $load, $held, $watch;
	$node->start;
	is(contents($node, 'postgres') =~ /t\|5000\|.*\nplain\|5000\|.*\nparts\|5000\|/, 1, "$level: all is there after a crash");
	($load, $held, $watch) = map { PgBulk::Session->new($node) } 1 .. 3;
}
$load->ask("SELECT pg_drop_replication_slot('again')");
$_->close foreach $load, $held, $watch;

# ---- from 19 on it changes while the server runs, with the first slot: a load that has begun by then is decoded as a whole,
# where the slot need not wait for its end, or not at all

sub slot_beside_load
{
	my ($table, $options, $when) = @_;
	my $name = "a first slot $when, $table, $options";

	wait_for("$name: no decoding yet", sub { $watch->ask('SHOW effective_wal_level') eq 'replica' });
	$load->ask('TRUNCATE plain, t, parts; INSERT INTO t VALUES (2000, 1); INSERT INTO parts VALUES (2000, 1)');
	$held->ask('SET pgbulk.chunk_size = 16384');
	$held->send('BEGIN; ' . bulk_load($table, $pipe, $options));
	open(my $rest, '>', $pipe) or die $!;
	$rest->autoflush;
	my $sent = $when eq 'before its rows' ? 0 : length($text) / 2;
	print $rest substr $text, 0, $sent;
	wait_for("$name: to be read", sub { $watch->ask($sent ? "SELECT bytes_processed > 60000 FROM pg_stat_progress_copy WHERE pid = $held->{pid}" :
		"SELECT wait_event = 'CopyFileRead' FROM pg_stat_activity WHERE pid = $held->{pid}") eq 't' });
	$load->send("SELECT pg_create_logical_replication_slot('first', 'test_decoding')");
	wait_for("$name: the slot", sub { $load->done || $watch->ask("SELECT $held->{pid} = ANY (pg_blocking_pids($load->{pid}))") eq 't' });
	my $early = $load->done;
	print $rest substr $text, $sent;
	close $rest;
	my $rows = $held->wait;
	is($held->{error}, '', "$name: the load");
	$held->ask('COMMIT');
	$load->wait;
	is($load->{error}, '', "$name: is made");
	is($watch->ask("SELECT count(*) FROM pg_logical_slot_get_changes('first', NULL, NULL) WHERE data ~ '^table public.\\w+: INSERT'"), $early ? $rows : 0, "$name: what is decoded, of $rows");
	note "$name: " . ($early ? 'at once' : 'after the load');
	$load->ask("SELECT pg_drop_replication_slot('first')");
}

if ($node->safe_psql('postgres', 'SHOW server_version_num') >= 190000)
{
	$node->append_conf('postgresql.conf', "wal_level = replica\nmax_wal_senders = 5");
	$node->restart;
	($load, $held, $watch) = map { PgBulk::Session->new($node) } 1 .. 3;
	foreach my $to ([ 'plain', direct(0) ], [ 'plain', direct(2) ], [ 'plain', '{"writer": "buffered"}' ], [ 't', qq({"on_duplicate": "keep_old", "header": true, $quiet}) ], [ 'parts', qq({"on_duplicate": "keep_new", $quiet}) ])
	{
		slot_beside_load(@$to, $_) foreach 'before its rows', 'among its rows';
	}
	$_->close foreach $load, $held, $watch;
}
check_log($node, qr/57P01|skipped loading publication|08006 FATAL:  connection to client lost|publication "p" does not exist|terminating/);
check_tables($node);
done_testing();
