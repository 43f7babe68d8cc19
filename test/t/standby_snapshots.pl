# A transaction on a standby has a snapshot from before rows were deleted; then
# a load on the primary rebuilds indexes.  By these it finds the rows that it
# may see, or it is canceled.

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
	"wal_level = logical\nlog_line_prefix = '%m [%p] %q%a %e '\nlog_statement = none\nautovacuum = off\nmax_standby_streaming_delay = 0\n"
	  . "wal_receiver_status_interval = 1\nenable_seqscan = off\nenable_bitmapscan = off\n");
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION pgbulk; CREATE EXTENSION pageinspect; CREATE TABLE elsewhere (i int)');
# else the server prunes full pages of catalogs after a load, which ends transactions on the standby, too
$primary->safe_psql('postgres', "SELECT pg_create_logical_replication_slot('catalogs', 'pgoutput')");
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $more = data_file('more.csv', 1, join('', map { "$_,more\n" } 1001 .. 1300));

sub replay { $primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush')) }

sub conflicts
{
	return $standby->safe_psql('postgres', "SELECT confl_snapshot, confl_lock FROM pg_stat_database_conflicts WHERE datname = 'postgres'");
}

# Pages of three rows have so much free space that they are not pruned.
sub fresh_table
{
	my ($method) = @_;

	$primary->safe_psql('postgres', qq{
		DROP TABLE IF EXISTS t;
		CREATE TABLE t (i int, pad text);
		ALTER TABLE t ALTER pad SET STORAGE PLAIN;
		INSERT INTO t SELECT i, repeat('x', 2150) FROM generate_series(1, 900) i;
		CREATE INDEX t_i ON t USING $method (i)});
	replay();
}

# A transaction on the standby that has looked at another table.
sub reader
{
	my $session = PgBulk::Session->new($standby);

	$session->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM elsewhere');
	return $session;
}

# What a session finds by the index: the rows, or an SQLSTATE.
sub found
{
	my ($session) = @_;
	my $rows = $session->ask('SELECT count(*) FROM generate_series(1, 30) k, LATERAL (SELECT FROM t WHERE i = k OFFSET 0) x');

	return $rows eq '' ? $session->sqlstate : $rows;
}

sub bulk_load
{
	my ($indexes, $workers) = @_;

	my $method = $primary->safe_psql('postgres', "SELECT details->'indexes'->0->>'method' FROM bulk_load('t', '$more', '"
		  . direct($workers // 0, qq("indexes": "$indexes")) . "')");
	replay();
	return $method;
}

# change: what deletes rows that the old snapshot sees; expected: what that finds then
sub try_load
{
	my ($name, $method, $indexes, $change, $expected, $workers) = @_;

	fresh_table($method);
	my $before = conflicts();
	my $old = reader();
	$primary->safe_psql('postgres', $change);
	replay();
	my $young = reader();
	is(conflicts(), $before, "$name: there is no conflict before the load");
	bulk_load($indexes, $workers);
	is(found($old), $expected, "$name: what an old snapshot finds");
	my $rows = found($young);
	like($rows, qr/^(?:10|20|30)$/, "$name: a young one is left alone");
	is($standby->safe_psql('postgres', 'SET enable_indexscan = off; SELECT count(*) FROM t WHERE i BETWEEN 1 AND 30'), $rows,
		"$name: and finds the rows");
	$old->close if $expected ne '40001';
	$young->close;
}

my $delete = 'DELETE FROM t WHERE i <= 20';
my $kill = "$delete; SELECT count(*) FROM generate_series(1, 30) k, LATERAL (SELECT FROM t WHERE i = k OFFSET 0) x";

foreach my $workers (@WORKERS)
{
	try_load("rebuild, $workers workers", 'btree', 'rebuild', $delete, '40001', $workers);
}
try_load('rebuild of updated rows', 'btree', 'rebuild', 'UPDATE t SET i = -i WHERE i <= 20', '40001');
try_load('rebuild of another method', 'hash', 'rebuild', $delete, '40001');
try_load('rebuild without dead rows', 'btree', 'rebuild', 'INSERT INTO elsewhere VALUES (1)', '30');
try_load('rebuild after a deletion that failed', 'btree', 'rebuild', "BEGIN; $delete; ROLLBACK", '30');
try_load('merge', 'btree', 'merge', $delete, '30');
try_load('merge of killed entries', 'btree', 'merge', $kill, '30');
is($primary->safe_psql('postgres', "SELECT count(*) > 0 FROM t WHERE i <= 20"), 'f', 'the primary does not find them');

# entries that are known to be dead are what the case before last was about
fresh_table('btree');
$primary->safe_psql('postgres', $kill);
cmp_ok($primary->safe_psql('postgres', "SELECT count(*) FROM generate_series(1, 3) b, bt_page_items('t_i', b::int) WHERE dead"),
	'>=', 20, 'killed entries are marked');

# An index of blocks has the values of rows' newest versions alone, from 16 on also where older ones are in their way.
# Those are not dead while a snapshot here sees them.
$primary->safe_psql('postgres', q{
	CREATE TABLE s (i int, n int) WITH (fillfactor = 50);
	INSERT INTO s SELECT i, i FROM generate_series(1, 20000) i;
	CREATE INDEX s_n ON s USING brin (n) WITH (pages_per_range = 1)});
replay();
my @readers = (PgBulk::Session->new($primary), reader());
$readers[0]->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM elsewhere');
$primary->safe_psql('postgres', "UPDATE s SET n = n + 1000000 WHERE i <= 300;
	SELECT bulk_load('s', '@{[data_file('s.csv', 1, qq(0,0\n))]}', '" . direct(0, '"indexes": "rebuild"') . "')");
replay();
is(join(' ', map { $_->ask('SET enable_bitmapscan = on; SELECT count(*) FROM s WHERE n BETWEEN 1 AND 50') } @readers),
	'50 50', 'old snapshots during a rebuild of a BRIN index');
is($primary->safe_psql('postgres', 'SET enable_bitmapscan = on; SELECT count(*) FROM s WHERE n BETWEEN 0 AND 50'), '1', 'and a young one');
$_->close foreach @readers;

# a standby whose snapshots the primary knows
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = on');
$standby->reload;
fresh_table('btree');
my $old = reader();
wait_for('feedback', sub { $primary->safe_psql('postgres', "SELECT count(*) FROM pg_stat_replication
	WHERE backend_xmin::text = '" . $old->ask('SELECT pg_snapshot_xmin(pg_current_snapshot())') . "'") });
$primary->safe_psql('postgres', $delete);
bulk_load('rebuild');
is(found($old), '30', 'with hot_standby_feedback an old snapshot finds its rows');
$old->close;

check_log($primary);
check_log($standby, qr/40001 (?:FATAL|ERROR)|due to conflict with recovery/);
$standby->stop;
$primary->stop;
done_testing();
