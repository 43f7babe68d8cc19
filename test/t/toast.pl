# Wide values by the direct writer where others read them: a standby, logical
# subscribers, a server after a crash.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $settings = "log_line_prefix = '%m [%p] %q%a %e '\nlog_statement = none\nautovacuum = off\n"
  . "shared_buffers = 16MB\nmax_wal_size = 1GB\n";

# The standby compares each page that it changes with the primary's.
my $primary = PostgreSQL::Test::Cluster->new('primary');
server_init($primary, allows_streaming => 'logical');
$primary->append_conf('postgresql.conf',
	"$settings\nwal_consistency_checking = 'heap, heap2, btree'\nlogical_decoding_work_mem = 64kB\nwal_keep_size = 2GB\n");
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION pgbulk; CREATE EXTENSION amcheck; CREATE EXTENSION pg_visibility');
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
server_init($subscriber);
$subscriber->append_conf('postgresql.conf', $settings);
$subscriber->append_conf('postgresql.conf', "max_worker_processes = 20\nmax_logical_replication_workers = 16\n");
$subscriber->start;

# Narrow rows among wide ones, so that both the table's pages and its TOAST
# table's fill several times; values that span many pages.
my @tables = qw(mixed huge);
my %columns = (
	mixed => 'i int, inline text, moved text, compressed text',
	huge => 'i int, moved text');
my %storage = (
	mixed => 'ALTER inline SET STORAGE plain, ALTER moved SET STORAGE external',
	huge => 'ALTER moved SET STORAGE external');
my %file = (
	mixed => data_file('mixed.csv', 1, join('', map {
		my $wide = $_ % 3 == 0;
		join(',', $_, "row $_ " x ($wide ? 120 : 5), $wide ? "moved $_ " x (300 + $_ % 400) : '',
			$_ % 7 == 0 ? join('', map { chr(97 + ($_ * 7919 + $_ / 5) % 26) . ($_ % 50) } 1 .. 3000) : 'narrow') . "\n"
	} 1 .. 4000)),
	huge => data_file('huge.csv', 1, join('', map { "$_," . "huge $_ " x (1000 + ($_ % 40) * 1500) . "\n" } 1 .. 100)));

my $create = join(";\n", map {
	my $t = $_;
	map { "CREATE TABLE ${t}_$_ ($columns{$t}); ALTER TABLE ${t}_$_ $storage{$t}" } qw(copied loaded)
} @tables);
$primary->safe_psql('postgres', "$create; CREATE PUBLICATION everything FOR ALL TABLES");

my $from = "CONNECTION '" . $primary->connstr . " dbname=postgres' PUBLICATION everything";
foreach my $how ([ 'whole', 'off' ], [ 'streamed', 'on' ])
{
	my ($name, $streaming) = @$how;
	$subscriber->safe_psql('postgres', "CREATE DATABASE $name");
	$subscriber->safe_psql($name, "$create; CREATE EXTENSION pgbulk; CREATE SUBSCRIPTION $name $from WITH (streaming = $streaming)");
}
$subscriber->wait_for_subscription_sync($primary, $_, $_) foreach qw(whole streamed);

# Number of rows and a sum of all that they hold.
sub contents
{
	my ($node, $dbname, $table) = @_;
	return $node->safe_psql($dbname,
		qq{SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY md5(t::text))) FROM $table t});
}

sub same_everywhere
{
	my ($when) = @_;

	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	$primary->wait_for_catchup($_) foreach qw(whole streamed);
	foreach my $table (@tables)
	{
		my $expected = contents($primary, 'postgres', "${table}_copied");

		like($expected, qr/^[1-9]/, "$when: $table has rows");
		is(contents($primary, 'postgres', "${table}_loaded"), $expected, "$when: $table is loaded as by COPY");
		is(contents($standby, 'postgres', "${table}_loaded"), $expected, "$when: so has the standby got it");
		is(contents($subscriber, $_, "${table}_loaded"), $expected, "$when: and the subscriber, $_") foreach qw(whole streamed);
	}
}

# Tables and TOAST tables against each other, and their indexes.
sub is_sound_with_toast
{
	my ($node, $table, $name) = @_;

	is($node->safe_psql('postgres', qq{
		SELECT v.blkno, v.offnum, v.msg FROM verify_heapam('$table', check_toast => true) v
		UNION ALL
		SELECT v.blkno, v.offnum, v.msg FROM pg_class c, verify_heapam(c.reltoastrelid) v WHERE c.oid = '$table'::regclass}),
		'', "$name: $table is sound");
	is($node->safe_psql('postgres', qq{
		SELECT count(bt_index_check(i.indexrelid, true)) FROM pg_class c JOIN pg_index i ON i.indrelid = c.reltoastrelid
		WHERE c.oid = '$table'::regclass}), '1', "$name: and the index of its TOAST table");
}

sub toast_count
{
	my ($node, $table) = @_;
	my $toast = $node->safe_psql('postgres', "SELECT reltoastrelid::regclass FROM pg_class WHERE oid = '$table'::regclass");
	return $node->safe_psql('postgres', "SELECT count(*) FROM $toast");
}

my $subscribed = $primary->safe_psql('postgres', "SELECT count(*) FROM pg_stat_replication WHERE application_name IN ('whole', 'streamed')");
is($subscribed, 2, 'both subscribers are there');

# 1. As the subscribers see it, with checkpoints all the time
my $checkpoints = PgBulk::Session->new($primary);
$checkpoints->send(join(';', ('CHECKPOINT') x 200));
foreach my $workers (@WORKERS)
{
	my $options = direct($workers);

	foreach my $table (@tables)
	{
		$primary->safe_psql('postgres', "COPY ${table}_copied FROM '$file{$table}' (FORMAT csv);
			SELECT bulk_load('${table}_loaded', '$file{$table}', '$options')");
	}
	same_everywhere("$workers workers");
}
$checkpoints->wait;
$checkpoints->close;

# The decoder did not keep what it need not: it streamed.
cmp_ok($primary->safe_psql('postgres', "SELECT stream_txns FROM pg_stat_replication_slots WHERE slot_name = 'streamed'"),
	'>', 0, 'transactions were streamed');

# both in one transaction, a part of it rolled back
$primary->safe_psql('postgres', 'BEGIN;' . join(';', map {
		my $t = $_;
		"COPY ${t}_copied FROM '$file{$t}' (FORMAT csv); SELECT bulk_load('${t}_loaded', '$file{$t}', '{\"writer\": \"direct\"}');
		SAVEPOINT s; SELECT bulk_load('${t}_loaded', '$file{$t}', '{\"writer\": \"direct\"}'); ROLLBACK TO s;
		SELECT bulk_load('${t}_loaded', '$file{$t}', '{\"writer\": \"direct\", \"limit\": 10}');
		COPY ${t}_copied FROM PROGRAM 'head -n 10 \"$file{$t}\"' (FORMAT csv)"
	} @tables) . '; COMMIT');
same_everywhere('a part rolled back');
foreach my $table (@tables)
{
	is_sound_with_toast($primary, "${table}_loaded", 'primary');
	is_sound_with_toast($standby, "${table}_loaded", 'standby');
}

# 2. What is counted
$primary->safe_psql('postgres', 'CREATE TABLE counted (LIKE mixed_loaded INCLUDING STORAGE)');
$primary->safe_psql('postgres', qq{SELECT bulk_load('counted', '$file{mixed}', '{"writer": "direct"}')});
my $toasted = toast_count($primary, 'counted');
cmp_ok($toasted, '>', 1300, 'chunks');
my $counted;
wait_for('the statistics', sub {
	$counted = $primary->safe_psql('postgres', "SELECT n_tup_ins FROM pg_stat_all_tables WHERE relid = (SELECT reltoastrelid FROM pg_class WHERE relname = 'counted')");
	return $counted > 0;
});
is($counted, $toasted, 'the statistics know each chunk once');

# 3. Ids that are in use, after the counter of OIDs has come round: none is given twice
$_->stop foreach $subscriber, $standby;
my $least = $primary->safe_psql('postgres', sprintf 'SELECT min(chunk_id) FROM %s',
	$primary->safe_psql('postgres', "SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 'counted'"));
$primary->stop;
$primary->command_ok([ 'pg_resetwal', '-o', $least, '-D', $primary->data_dir ], 'the counter is set back');
$primary->start;
$primary->safe_psql('postgres', qq{SELECT bulk_load('counted', '$file{mixed}', '{"writer": "direct"}')});
is($primary->safe_psql('postgres', 'SELECT count(*), count(DISTINCT (i, inline, moved, compressed)) FROM counted'), '8000|4000', 'all rows are there twice');
is(toast_count($primary, 'counted'), 2 * $toasted, 'with chunks of their own');
is_sound_with_toast($primary, 'counted', 'the counter set back');

# 4. Frozen
$primary->safe_psql('postgres', 'SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots');
$primary->append_conf('postgresql.conf', 'wal_level = replica');
$primary->restart;
$primary->safe_psql('postgres', qq{BEGIN; CREATE TABLE frozen (LIKE mixed_loaded INCLUDING STORAGE);
	SELECT bulk_load('frozen', '$file{mixed}', '{"writer": "direct", "freeze": true}'); COMMIT});
is($primary->safe_psql('postgres', q{
	SELECT count(*) FROM pg_class c, pg_visibility(c.reltoastrelid) v WHERE c.relname = 'frozen' AND NOT (all_frozen AND pd_all_visible)}),
	'0', 'all pages of the TOAST table are frozen');
is($primary->safe_psql('postgres', q{
	SELECT count(*) FROM pg_class c, pg_check_frozen(c.reltoastrelid) v WHERE c.relname = 'frozen'}), '0', 'and so they are');
is_sound_with_toast($primary, 'frozen', 'frozen');

# 5. Crashes: all or nothing, and what is there is whole
$primary->safe_psql('postgres', "CREATE TABLE crashed (LIKE mixed_loaded INCLUDING STORAGE)");
my $load = qq{SELECT bulk_load('crashed', '$file{mixed}', '{"writer": "direct"}')};
my $start = time;
$primary->safe_psql('postgres', $load);
my $took = time - $start;
my $whole = contents($primary, 'postgres', 'crashed');
foreach my $n (1 .. 6)
{
	my $session = PgBulk::Session->new($primary);

	$primary->safe_psql('postgres', 'TRUNCATE crashed') if $n % 2;
	my $rows = $primary->safe_psql('postgres', 'SELECT count(*) FROM crashed');
	$session->send($load);
	sleep rand(1.3 * $took);
	my $done = $session->done;
	kill_server($primary);
	$session->close;
	$primary->start;
	my $now = $primary->safe_psql('postgres', 'SELECT count(*) FROM crashed');
	ok($now == $rows + 4000 || !$done && $now == $rows, "crash $n: all or nothing ($rows, then $now)");
	is($primary->safe_psql('postgres', 'SELECT count(*) FROM crashed WHERE length(moved) > 0 AND moved NOT LIKE \'moved \' || i || \' %\''),
		'0', "crash $n: values are right");
	is_sound_with_toast($primary, 'crashed', "crash $n");
}
$primary->safe_psql('postgres', "TRUNCATE crashed; $load");
kill_server($primary);
$primary->start;
is(contents($primary, 'postgres', 'crashed'), $whole, 'a crash right after');
is_sound_with_toast($primary, 'crashed', 'a crash right after');

check_log($primary, qr/terminated by signal 9|not properly shut down|terminating connection because of crash|terminating connection due to unexpected postmaster|08006/);
check_log($standby, qr/57P03|08006|could not receive data from WAL stream|terminating walreceiver/);
check_log($subscriber, qr/08006|terminating logical replication/);
check_tables($primary);
done_testing();
