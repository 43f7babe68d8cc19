# After a crash a load is there whole or not at all.  The direct writer is in
# direct_crash.pl.
#
# PGBULK_TEST_CRASHES=n does that many crashes; else 8, or 16 where PGBULK_TEST_LONG is set.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $MB = 1024 * 1024;
my $crashes = how_many(8, 16);

my $node = bulk_server('crash', 'shared_buffers = 16MB', 'max_wal_size = 1GB',
	'checkpoint_timeout = 30s', 'wal_level = replica', 'max_wal_senders = 0',
	'full_page_writes = on');

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE plain (i int, s text);
	CREATE TABLE indexed (i int, s text);
	CREATE INDEX ON indexed (i);
	CREATE INDEX ON indexed (s);
	CREATE INDEX ON indexed USING gin (to_tsvector('simple', s));
	CREATE TABLE parts (i int, s text) PARTITION BY HASH (i);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1);
	CREATE INDEX ON parts (i);
	INSERT INTO plain SELECT i, 'before' FROM generate_series(1, 100) i;
	INSERT INTO indexed TABLE plain;
	INSERT INTO parts TABLE plain});

my $row = 0;
my $path = data_file('rows.csv', 12 * $MB, sub {
	return join('', map { $row++ . ",text of the row number $row - which is x\n" } 1 .. 5000);
});
my $few = data_file('few.csv', 1, join('', map { "$_,text $_\n" } 1 .. 5000));
my $bad = data_file('bad.csv', 6 * $MB, join('', map { ($_ % 10 ? '' : 'x') . "$_,text of the row\n" } 1 .. 5000));

# What a crash may catch: statement, table, and how many rows it adds.
my @loads = (
	[ "SELECT bulk_load('plain', '$path')", 'plain', $row ],
	[ "SELECT bulk_load('indexed', '$few')", 'indexed', 5000 ],
	[ "SELECT bulk_load('parts', '$path')", 'parts', $row ],
	[ "BEGIN; SELECT bulk_load('plain', '$few'); SELECT bulk_load('plain', '$path'); COMMIT", 'plain', 5000 + $row ],
	[ qq(SELECT bulk_load('plain', '$bad', '{"on_error": "ignore", "reject_table": "rejected", "log_verbosity": "silent"}')),
		'plain', 0.9 * 5000 * (-s $bad) / length(slurp_file($bad) =~ /\A(.*?\nx5000,[^\n]*\n)/s ? $1 : die) ],
	[ "BEGIN; TRUNCATE plain; SELECT bulk_load('plain', '$path'); COMMIT", 'plain', $row - 100, 'truncates' ],
	# the server's own statement
	[ "LOAD 'pgbulk'; SET pgbulk.copy = on; COPY indexed FROM '$few' (FORMAT csv)", 'indexed', 5000 ],
	[ "LOAD 'pgbulk'; SET pgbulk.copy = on; BEGIN; TRUNCATE plain; COPY plain FROM '$path' (FORMAT csv); COMMIT", 'plain', $row - 100, 'truncates' ]);

my %before = map { $_ => 100 } qw(plain indexed parts);

my $crashed = 0;

# An abrupt end of the server: of one session, which takes the others with it,
# or of all at once.
sub crash
{
	my ($pid) = @_;

	if (rand() < 0.5 && kill 'KILL', $pid)
	{
		# restart_after_crash is off
		wait_for('the server to end', sub { !-e $node->data_dir . '/postmaster.pid' });
		$node->_update_pid(0);
	}
	else
	{
		$node->stop('immediate');
	}
	# the system's cache outlives these crashes, so no page is torn
	$node->append_conf('postgresql.conf', 'full_page_writes = ' . ($crashed++ % 2 ? 'on' : 'off'));
	$node->start;
}

sub count { return $node->safe_psql('postgres', "SELECT count(*) FROM $_[0]") }

# How long each takes undisturbed, so that crashes can fall anywhere in it.
my @takes = map {
	my $start = time;
	$node->safe_psql('postgres', $_->[0]);
	my $took = time - $start;
	is(count($_->[1]), $before{$_->[1]} + $_->[2], "undisturbed: $_->[0]");
	$node->safe_psql('postgres', "TRUNCATE $_->[1]; INSERT INTO $_->[1] SELECT i, 'before' FROM generate_series(1, 100) i");
	$took
} @loads;
my $rejects = $node->safe_psql('postgres', 'SELECT count(*) FROM rejected');
my $rejects_each = $rejects;

foreach my $n (1 .. $crashes)
{
	my ($sql, $table, $adds) = @{ $loads[ $n % @loads ] };
	my $session = PgBulk::Session->new($node);
	my $delay = rand(1.1 * $takes[ $n % @loads ]);

	$session->send($sql);
	sleep $delay;
	crash($session->{pid});
	$session->close;
	my $said_done = $session->{out} =~ /end of 2/ && $session->{err} !~ /ERROR|FATAL|closed|lost/ ? 1 : 0;

	my $now = count($table);
	my $all = $before{$table} + $adds;

	note sprintf('crash %d after %.2f of %.2f s: %d rows, said to be done: %d', $n, $delay, $takes[ $n % @loads ], $now, $said_done);
	ok($now == $before{$table} || $now == $all, "crash $n: all or nothing of $table") or diag "$now rows";
	is($now, $all, "crash $n: what was committed is there") if $said_done;
	if ($sql =~ /rejected/)
	{
		is($node->safe_psql('postgres', 'SELECT count(*) FROM rejected'),
			$rejects + ($now == $all ? $rejects_each : 0), "crash $n: the rejects go with it");
		$rejects += $rejects_each if $now == $all;
	}
	is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM indexed WHERE i >= -1"),
		count('indexed'), "crash $n: the index has the rows of the table");
	$node->safe_psql('postgres', "TRUNCATE $table; INSERT INTO $table SELECT i, 'before' FROM generate_series(1, 100) i");
}

# A crash right after the commit.
foreach my $n (1 .. 2)
{
	foreach my $load (@loads[ 0 .. 2 ])
	{
		my $expected = $load->[2] + count($load->[1]);

		$node->safe_psql('postgres', $load->[0]);
		$node->stop('immediate');
		$node->start;
		is(count($load->[1]), $expected, "crash right after: $load->[1]");
	}
}
is($node->safe_psql('postgres', q{
		SELECT count(*) FROM parts WHERE i = 4711 AND s LIKE 'text of the row number 4712 -%'}), '2', 'rows are right');

# Tables without WAL: an unlogged one is empty then, and the next load works.
$node->safe_psql('postgres', "CREATE UNLOGGED TABLE fleeting (i int PRIMARY KEY, s text);
	SELECT bulk_load('fleeting', '$few')");
is(count('fleeting'), 5000, 'an unlogged table has the rows');
$node->stop('immediate');
$node->start;
is(count('fleeting'), 0, 'and none after a crash');
$node->safe_psql('postgres', "SELECT bulk_load('fleeting', '$few')");
is(count('fleeting'), 5000, 'it can be loaded again');

# wal_level = minimal: new files are synced at commit instead, or logged whole.
foreach my $threshold ('0', '1GB')
{
	$node->append_conf('postgresql.conf', "wal_level = minimal\nwal_skip_threshold = $threshold\nfsync = on\n");
	$node->restart;
	$node->safe_psql('postgres', "DROP TABLE IF EXISTS fresh, emptied, undone;
		CREATE TABLE emptied (i int, s text);
		INSERT INTO emptied VALUES (1, 'before')");
	my $wal = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
	$node->safe_psql('postgres', "BEGIN;
		CREATE TABLE fresh (i int PRIMARY KEY, s text);
		SELECT bulk_load('fresh', '$few');
		TRUNCATE emptied;
		SELECT bulk_load('emptied', '$path');
		COMMIT");
	my $bytes = $node->safe_psql('postgres', "SELECT pg_current_wal_insert_lsn() - '$wal'::pg_lsn");
	cmp_ok($bytes, '<', 2 * $MB, "wal_level = minimal writes little WAL: $bytes bytes") if $threshold eq '0';
	$node->safe_psql('postgres', "SELECT bulk_load('emptied', '$path', '{\"truncate\": true, \"freeze\": true}')");
	$node->stop('immediate');
	$node->start;
	is(count('fresh'), 5000, "wal_level = minimal, wal_skip_threshold = $threshold: a new table has its rows after a crash");
	is(count('emptied'), $row, "wal_level = minimal, wal_skip_threshold = $threshold: so has a truncated one");

	my $session = PgBulk::Session->new($node);
	$session->send("BEGIN; TRUNCATE emptied; SELECT bulk_load('emptied', '$few'); SELECT pg_sleep(60)");
	wait_for('the load', sub {
		$node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") eq '1';
	});
	$node->stop('immediate');
	$session->close;
	$node->start;
	is(count('emptied'), $row, "wal_level = minimal, wal_skip_threshold = $threshold: what was not committed is undone");
}

check_log($node, qr/terminated by signal 9|not properly shut down|terminating connection because of crash|terminating connection due to unexpected postmaster/);
check_tables($node);
done_testing();
