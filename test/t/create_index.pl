# Indexes that CREATE INDEX and REINDEX have built here: with rows that only old snapshots
# see, on standbys, after crash recovery, beside other sessions, and by workers.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
server_init($primary, allows_streaming => 1);
$primary->append_conf('postgresql.conf',
	"log_line_prefix = '%m [%p] %q%a %e '\nsession_preload_libraries = pgbulk\npgbulk.create_index = on\nautovacuum = off\nwal_keep_size = 2GB\n"
	  . "wal_consistency_checking = all\nlock_timeout = 60s\nmin_parallel_table_scan_size = 0\n");
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION pgbulk; CREATE EXTENSION amcheck');
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $taken = 'SELECT sum(count) FROM bulk_load_statements WHERE taken';

sub sound
{
	my ($node, $name, $check) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT $check FROM pg_index WHERE indrelid = 't'::regclass");
	is("$rc $err", '0 ', "$name: the indexes are whole");
}

my $heap = 'bt_index_check(indexrelid::regclass, true)';

$primary->safe_psql('postgres', q{
	CREATE TABLE t (id int, few int, word text, filler text DEFAULT repeat('x', 200)) WITH (fillfactor = 70);
	INSERT INTO t SELECT i, i % 10, 'word ' || i % 97 FROM generate_series(1, 20000) i;
	CREATE INDEX t_id ON t (id)});

# ---- rows with a past: HOT chains, some broken by the new index, and rows that only a snapshot from before sees
my $old = PgBulk::Session->new($primary);
$old->send('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_snapshot();');
wait_for('a snapshot', sub { $primary->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND backend_xmin IS NOT NULL}) eq '1' });
$primary->safe_psql('postgres', q{
	UPDATE t SET few = few + 100 WHERE id % 4 = 0;
	UPDATE t SET filler = 'short' WHERE id % 6 = 0;
	DELETE FROM t WHERE id % 7 = 0});
my %old_snapshots;
foreach my $workers ('server', 0, 2)
{
	my $set = $workers eq 'server' ? 'SET pgbulk.create_index = off' : "SET max_parallel_maintenance_workers = $workers";
	is($primary->safe_psql('postgres', "$set; CREATE INDEX few_$workers ON t (few);
		CREATE INDEX word_$workers ON t (word); CREATE UNIQUE INDEX unique_$workers ON t (id); REINDEX INDEX t_id; $taken"),
		$workers eq 'server' ? '' : '4', "$workers: who builds the indexes");
	$old_snapshots{$workers} = $primary->safe_psql('postgres', "SELECT substring(relname, '.*_'), indcheckxmin, reltuples
		FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE relname ~ '_$workers\$' ORDER BY 1");
	sound($primary, "$workers: old rows", $heap);
}
like($old_snapshots{server}, qr/few_\|t\|/, 'some old snapshots may not use an index');
is($old_snapshots{$_}, $old_snapshots{server}, "$_ workers: the same as the server's") foreach (0, 2);
is($primary->safe_psql('postgres', 'SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(*), sum(few) FROM t WHERE few > 50'),
	$primary->safe_psql('postgres', 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SELECT count(*), sum(few) FROM t WHERE few > 50'),
	'rows by an index');
$old->close;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
sound($standby, 'standby', $heap);

# ---- the error of the server, with and without workers, and nothing left behind
foreach my $workers (0, 2)
{
	my $files = $primary->safe_psql('postgres', 'SELECT count(*) FROM pg_ls_dir(\'base/\' || (SELECT oid FROM pg_database WHERE datname = \'postgres\'))');
	my (undef, undef, $error) = $primary->psql('postgres', "SET max_parallel_maintenance_workers = $workers; CREATE UNIQUE INDEX t_wrong ON t (word)");
	like($error, qr/ERROR:  could not create unique index "t_wrong"\nDETAIL:  Key \(word\)=\(word \d+\) is duplicated/, "$workers workers: duplicates");
	is($primary->safe_psql('postgres', "SELECT to_regclass('t_wrong') IS NULL"), 't', 'no index');
}

# ---- beside others: readers go on, a second CREATE INDEX does not wait, a writer does
my ($one, $two) = map { PgBulk::Session->new($primary) } 1 .. 2;
$one->send('BEGIN; CREATE INDEX t_one ON t (id);');
wait_for('the index', sub { $primary->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND mode = 'ShareLock' AND granted") >= 1 });
is($primary->safe_psql('postgres', "SET lock_timeout = '20s'; CREATE INDEX t_two ON t (word); SELECT count(*) > 0 FROM t"), 't', 'a second one beside it');
$two->send('INSERT INTO t VALUES (0);');
wait_for('a writer that waits', sub { $primary->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT%'}) eq '1' });
$one->send('COMMIT;');
wait_for('the row', sub { $primary->safe_psql('postgres', 'SELECT count(*) FROM t WHERE id = 0') eq '1' });
sound($primary, 'a row since', $heap);
$_->close foreach ($one, $two);

# ---- crashes: after a build, and in one that is not committed
$primary->safe_psql('postgres', 'CREATE UNLOGGED TABLE u AS SELECT * FROM t; CREATE INDEX u_id ON u (id)');
my $open = PgBulk::Session->new($primary);
$open->send('BEGIN; CREATE INDEX t_open ON t (few, id); CREATE INDEX t_open_word ON t (word, id);');
wait_for('the indexes', sub { $primary->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'}) eq '1' });
kill_server($primary);
$open->close;
$primary->start;
sound($primary, 'after a crash', $heap);
is($primary->safe_psql('postgres', "SELECT to_regclass('t_open') IS NULL, count(*) FROM u"), 't|0', 'nothing of the rest');
is($primary->safe_psql('postgres', "INSERT INTO u SELECT * FROM t; REINDEX TABLE u; SELECT bt_index_check('u_id', true) IS NOT NULL"), 't', 'the unlogged one is there');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
sound($standby, 'standby', $heap);
check_log($primary);
check_log($standby, qr{could not (?:receive data from WAL stream|connect to the primary server)|terminating walreceiver});
$primary->stop;
done_testing();
