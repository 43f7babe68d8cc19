# Index entries that are inserted by the leaf or in other batches: on standbys, after
# crash recovery, and with other sessions that write the same keys.

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
	"log_line_prefix = '%m [%p] %q%a %e '\nlog_statement = none\nautovacuum = off\nshared_buffers = 16MB\n"
	  . "max_wal_size = 1GB\nwal_keep_size = 2GB\nwal_consistency_checking = all\ndeadlock_timeout = 1h\nlock_timeout = 60s\nmaintenance_work_mem = 1MB\n");
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION pgbulk; CREATE EXTENSION amcheck');
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

$primary->safe_psql('postgres', q{
	CREATE TABLE t (id int, few int, s text, long text);
	CREATE UNIQUE INDEX t_id ON t (id) WITH (fillfactor = 20);
	CREATE INDEX t_few ON t (few) WITH (fillfactor = 20);
	CREATE INDEX t_s ON t (s DESC, few) WITH (fillfactor = 50);
	CREATE INDEX t_alone ON t (few) WITH (deduplicate_items = off);
	CREATE INDEX t_long ON t (long);
	CREATE INDEX t_words ON t USING gin ((string_to_array(s, ' ') || few::text), (ARRAY[id, few])) WITH (fastupdate = off);
	CREATE INDEX t_numbers ON t USING gin ((ARRAY[few, id % 1000, -id]));
	CREATE INDEX t_hash ON t USING hash (s);
	CREATE INDEX t_ranges ON t USING brin ((id + 1), few, s text_bloom_ops) WITH (pages_per_range = 2, autosummarize = on);
	CREATE INDEX t_points ON t USING gist ((point(id % 1000, few)));
	CREATE INDEX t_spans ON t USING spgist ((int4range(id, id + few)));
	INSERT INTO t SELECT i * 10, i % 13, md5((i % 700)::text), repeat(md5((i % 30)::text), i % 30) FROM generate_series(1, 3000) i;
	CREATE TABLE u (id int PRIMARY KEY, s text)});

# Rows whose keys are scattered among those of before.
sub rows_file
{
	my ($name, $from, $to) = @_;
	return data_file($name, 1, join('', map {
		($_ * 7919 % 100003) * 10 + $from % 9 + 1 . ',' . $_ % 13 . ",key " . $_ % 701 . ',' . "long $_ " x ($_ % 90) . "\n"
	} $from .. $to));
}

sub sound
{
	my ($node, $name, $check) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT $check FROM pg_index JOIN pg_class c ON c.oid = indexrelid
		WHERE indrelid IN ('t'::regclass, 'u'::regclass) AND relam = 403");
	is("$rc $err", '0 ', "$name: the indexes are whole");

	# rows by other indexes than btrees, by each condition that has the key in it
	foreach my $search ("string_to_array(s, ' ') || few::text @> ARRAY[key::text]", 'ARRAY[id, few] @> ARRAY[key]',
		'ARRAY[few, id % 1000, -id] @> ARRAY[key]', "s = 'key ' || key", 'id + 1 BETWEEN key * 9000 AND key * 9000 + 3000',
		'point(id % 1000, few) <@ box(point(key, 0), point(key * 30, 9))', 'int4range(id, id + few) && int4range(key * 5000, key * 6000)')
	{
		is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT sum(n) FROM unnest(ARRAY[5, 12]) key, LATERAL (SELECT count(*) AS n FROM t WHERE $search) f"),
			$node->safe_psql('postgres', "SET enable_bitmapscan = off; SET enable_indexscan = off; SELECT sum(n) FROM unnest(ARRAY[5, 12]) key, LATERAL (SELECT count(*) AS n FROM t WHERE $search) f"),
			"$name: $search");
	}
}

sub everything
{
	my ($node) = @_;
	return $node->safe_psql('postgres', "SELECT count(*), md5(string_agg(t::text, '' ORDER BY t::text COLLATE \"C\")) FROM t");
}

my $parents = 'bt_index_parent_check(indexrelid::regclass, true, true)';

sub load
{
	my ($file, $workers) = @_;
	$workers //= 0;
	return "SELECT rows_loaded FROM bulk_load('t', '$file', '{\"writer\": \"buffered\", \"workers\": $workers}')";
}

# ---- standby: each record makes of a page what it was here
foreach my $n (1 .. 3)
{
	$primary->safe_psql('postgres', 'CHECKPOINT') if $n != 2;
	$primary->safe_psql('postgres', 'DELETE FROM t WHERE few = 3; VACUUM t') if $n == 3;
	my $start = $primary->lsn('insert');
	is($primary->safe_psql('postgres', load(rows_file("rows$n.csv", $n * 10000, $n * 10000 + 2999))), '3000', "load $n");
	# the last one's rows take the places of deleted ones
	next if $n < 3;
	my ($stats) = run_command([ 'pg_waldump', '--path', $primary->data_dir . '/pg_wal', '--rmgr=Btree', '--stats=record',
		'--start', $start, '--end', $primary->lsn('insert') ]);
	like($stats, qr{Btree/INSERT_POST\s+[1-9]}, 'rows go into the middle of posting lists');
	like($stats, qr{Btree/DEDUP\s+[1-9]}, 'and equal keys are merged where a leaf is full');
}
$primary->safe_psql('postgres', q{CHECKPOINT; SET maintenance_work_mem = '16MB';
	CREATE INDEX t_expression ON t (lower(s)) WHERE few < 9});
my $many = load(rows_file('many.csv', 70000, 94999), 2) =~ s/rows_loaded/rows_loaded, workers/r;
like($primary->safe_psql('postgres', "SET maintenance_work_mem = '16MB'; $many"), qr/^25000\|[12]$/, 'a load with workers');
foreach my $method ('insert', 'rebuild')
{
	my $file = rows_file("$method.csv", $method eq 'insert' ? (40000, 41999) : (50000, 51999));
	is($primary->safe_psql('postgres', "SELECT rows_loaded FROM bulk_load('t', '$file', '{\"indexes\": \"$method\", \"writer\": \"direct\"}')"), '2000', "direct, $method");
}
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
is(everything($standby), everything($primary), 'the standby has the rows');
sound($primary, 'primary', $parents);
sound($standby, 'standby', 'bt_index_check(indexrelid::regclass, true)');

$primary->safe_psql('postgres', "ALTER SYSTEM SET wal_consistency_checking = ''; SELECT pg_reload_conf()");
$standby->stop;

# ---- crashes: after a load, and in one
kill_server($primary);
$primary->start;
sound($primary, 'after a crash', $parents);
my $session = PgBulk::Session->new($primary);
my $before = everything($primary);
$session->send(load(rows_file('rows5.csv', 50000, 140000)));
wait_for('a load that has begun', sub {
	$primary->safe_psql('postgres', "SELECT pg_relation_size('t_id') > 2500000") eq 't' });
kill_server($primary);
$session->close;
$primary->start;
is(everything($primary), $before, 'nothing of an unfinished load is there');
sound($primary, 'after a crash in a load', $parents);
is($primary->safe_psql('postgres', load(rows_file('rows6.csv', 60000, 67999))), '8000', 'and the next one');
sound($primary, 'after that', $parents);

# ---- the same keys in other sessions
my ($load, $other) = map { PgBulk::Session->new($primary) } 1 .. 2;
my $keys = data_file('keys.csv', 1, join('', map { "$_,new\n" } 1 .. 5000));
my $into_u = "SELECT rows_loaded FROM bulk_load('u', '$keys', '{\"writer\": \"buffered\"}')";

sub waits
{
	my ($session) = @_;
	wait_for('a session that waits', sub {
		$primary->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE pid = $session->{pid} AND locktype = 'transactionid' AND NOT granted") eq '1' });
}

$other->ask("BEGIN; INSERT INTO u VALUES (3000, 'theirs'), (4000, 'theirs')");
$load->send($into_u);
waits($load);
$primary->safe_psql('postgres', "SET lock_timeout = '10s'; INSERT INTO u VALUES (-1, 'beside')");
pass('others go on meanwhile');
$other->ask('ROLLBACK');
is($load->wait, '5000', 'a key of a transaction that is rolled back');
$primary->safe_psql('postgres', 'DELETE FROM u');

$other->ask("BEGIN; INSERT INTO u VALUES (4000, 'theirs'), (3000, 'theirs')");
$load->send($into_u);
waits($load);
$other->ask('COMMIT');
$load->wait;
is($load->sqlstate, '23505', 'a key of one that commits');
like($load->{error}, qr/line 3000/, 'the first row in the file is reported');
$primary->safe_psql('postgres', 'DELETE FROM u');

# with workers it is the first row in the file, too, whichever process finds a duplicate
$primary->safe_psql('postgres', q{ALTER TABLE u ADD UNIQUE (s); INSERT INTO u VALUES (77777, 'old 77777'), (99999, 'old 99999')});
foreach my $first ([ '500,old 99999', 's' ], [ '77777,new 500', 'id' ])
{
	my $file = data_file("unique_$first->[1].csv", 1, join('', map { ($_ == 500 ? $first->[0] : "$_,new $_") . "\n" } 1 .. 80000));

	$load->ask("SET maintenance_work_mem = '16MB'; SELECT rows_loaded FROM bulk_load('u', '$file', '{\"writer\": \"buffered\", \"workers\": 2}')");
	is($load->sqlstate, '23505', "a duplicate in $first->[1] with workers");
	like($load->{error}, qr/\($first->[1]\)=.*line 500\b/s, 'the first row in the file is reported');
}
$primary->safe_psql('postgres', 'ALTER TABLE u DROP CONSTRAINT u_s_key; DELETE FROM u');

# an expression that throws in a worker
$primary->safe_psql('postgres', q{CREATE INDEX u_throws ON u ((100 / (length(s) - 3))); CREATE INDEX u_more ON u (s)});
my $throws = data_file('throws.csv', 1, join('', map { "$_," . ($_ == 60000 ? 'abc' : "text $_") . "\n" } 1 .. 80000));
$load->ask("SELECT rows_loaded FROM bulk_load('u', '$throws', '{\"writer\": \"buffered\", \"workers\": 2}')");
is($load->sqlstate, '22012', 'an expression of an index throws in a process');
like($load->{error}, qr/line 60000\b/, 'its row is reported');
$primary->safe_psql('postgres', 'DROP INDEX u_throws, u_more; DELETE FROM u');

$load->ask("BEGIN; $into_u");
$other->send("INSERT INTO u VALUES (2500, 'theirs')");
waits($other);
$load->ask('COMMIT');
$other->wait;
is($other->sqlstate, '23505', 'others wait for keys of a load');
$primary->safe_psql('postgres', 'DELETE FROM u');

# ---- serializable transactions: each has read what the other one adds or deletes, on a
# leaf that no other row of the load goes to
my $range = 'SET enable_seqscan = off; BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM u WHERE id BETWEEN %s';
my $later = data_file('later.csv', 1, join('', map { "$_,new\n" } 70001 .. 71500, 44005));
$primary->safe_psql('postgres', "INSERT INTO u SELECT i * 10, 'old' FROM generate_series(1, 6000) i; VACUUM ANALYZE u");
$load->ask(sprintf($range, '55000 AND 55010'));
$other->ask(sprintf($range, '44003 AND 44008'));
my $failed = '';
foreach my $step ([ $load, "SELECT bulk_load('u', '$later', '{\"writer\": \"buffered\"}')" ],
	[ $other, 'DELETE FROM u WHERE id = 55000' ], [ $load, 'COMMIT' ], [ $other, 'COMMIT' ])
{
	my ($who, $what) = @$step;

	$who->ask($what);
	$failed .= $who->sqlstate;
}
is($failed, '40001', 'one of them fails');

# the same by a GIN index and by a hash index
$primary->safe_psql('postgres', q{CREATE TABLE g (id int PRIMARY KEY, a int[]);
	CREATE INDEX g_gin ON g USING gin (a) WITH (fastupdate = off); CREATE INDEX g_hash ON g USING hash ((a[1]));
	INSERT INTO g SELECT i, ARRAY[i] FROM generate_series(1, 6000) i; VACUUM ANALYZE g});
my $arrays = data_file('arrays.csv', 1, join('', map { qq($_,"{$_}"\n) } 70001 .. 71500));
foreach my $case ([ 'g_gin', 'a @> ARRAY[71400]' ], [ 'g_hash', 'a[1] = 71400' ])
{
	my ($index, $condition) = @$case;

	like($primary->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN SELECT count(*) FROM g WHERE $condition"), qr/$index/, "$index is searched");
	$load->ask('SET enable_seqscan = off; BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM g WHERE id = 100');
	$other->ask("SET enable_seqscan = off; BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM g WHERE $condition");
	$failed = '';
	foreach my $step ([ $load, "SELECT bulk_load('g', '$arrays', '{\"writer\": \"buffered\"}')" ],
		[ $other, 'DELETE FROM g WHERE id = 100' ], [ $load, 'COMMIT' ], [ $other, 'COMMIT' ])
	{
		my ($who, $what) = @$step;

		$who->ask($what);
		$failed .= $who->sqlstate;
	}
	is($failed, '40001', "one of them fails by $index");
	$primary->safe_psql('postgres', "DELETE FROM g WHERE id > 70000; INSERT INTO g SELECT 100, ARRAY[100] WHERE NOT EXISTS (SELECT FROM g WHERE id = 100); VACUUM g");
}

sound($primary, 'at the end', $parents);
$_->close foreach ($load, $other);
check_log($standby, qr{terminating walreceiver process});
check_log($primary);

done_testing();
