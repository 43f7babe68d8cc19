# Parallel workers that form rows for the buffered writer: the load is cancelled,
# loses a worker, the server is killed; others write to the table meanwhile.  Also with keys that are looked up.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $MB = 1024 * 1024;
my $node = bulk_server('buffered_workers', 'shared_buffers = 64MB', 'max_wal_size = 1GB',
	'max_worker_processes = 8', 'max_parallel_workers = 8', 'max_logical_replication_workers = 0',
	'restart_after_crash = on', 'pgbulk.chunk_size = 16384', 'maintenance_work_mem = 4MB');
my $session = PgBulk::Session->new($node);
my $watch = PgBulk::Session->new($node);

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE ref (k int PRIMARY KEY);
	INSERT INTO ref SELECT i FROM generate_series(0, 99) i;
	CREATE TABLE t (i int PRIMARY KEY, k int REFERENCES ref, s text);
	CREATE INDEX ON t (s);
	CREATE INDEX ON t USING hash (k);
	CREATE TABLE other (i int)});

# the later of them take longer than it takes to find and end a worker
sub rows { my ($n) = @_; return map { my $i = $n * 500 + $_; "$i," . $i % 100 . ',' . ($i % 100 == 7 ? 'wide ' x 900 : "text $i") . "\n" } 1 .. 500; }
my $small = data_file('small.csv', 2 * $MB, sub { return join('', rows($_[0])) });
my $large = data_file('large.csv', 25 * $MB, sub { return join('', rows($_[0])) });
my $rows = () = slurp_file($small) =~ /\n/g;
my $workers_of = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'};
my $sums = 'count(*), sum(i), sum(k), sum(length(s))';

sub load
{
	my ($path, $workers, $more) = @_;
	my $options = join(', ', '"writer": "buffered"', "\"workers\": $workers", $more // ());

	return "SELECT rows_loaded, workers FROM bulk_load('t', '$path', '{$options}')";
}

# The table has no rows, and the session is as it was.
sub is_undone
{
	my ($name) = @_;

	is($watch->ask($workers_of), '0', "$name: no worker is left");
	is($session->ask('SELECT count(*) FROM t'), '0', "$name: nothing is loaded");
	is($session->ask('BEGIN; ' . load($small, 2) . '; ROLLBACK'), "$rows|2", "$name: the next load works");
}

# ---- being cancelled, while rows are stored and while index entries are

foreach my $pause (0, 0.2)
{
	ends_soon("after $pause s", sub { $session->cancel(load($large, 3), $watch, sub { $watch->ask($workers_of) > 0 }, $pause) });
	is($session->sqlstate, '57014', "after $pause s: it says so") or diag $session->{error};
	is_undone("cancelled after $pause s");
}

# ---- losing a worker

# The backend is stopped until its worker is hit.
sub hits_worker
{
	my ($signal) = @_;
	my $pid;

	$session->send(load($large, 3));
	sleep 0.01 until $session->done || $watch->ask($workers_of) > 0;
	kill 'STOP', $session->{pid};
	$pid = $watch->ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' LIMIT 1");
	kill $signal, $pid if $pid;
	kill 'CONT', $session->{pid};
	ok($pid, "a worker gets SIG$signal");
}

ends_soon('a worker is terminated', sub {
	hits_worker('TERM');
	$session->wait;
	return $session->{took};
});
like($session->{error}, qr/terminating (?:connection|background worker)|lost connection to parallel worker|parallel worker failed to initialize|a parallel worker of the load has failed/,
	'a worker is terminated: it says why');
is_undone('a worker is terminated');

hits_worker('KILL');
wait_for('the end of the session', sub { !-e "/proc/$session->{pid}" });
$session->close;
$watch->close;
wait_for('the server', sub { system('pg_isready', '-q', '-h', $node->host, '-p', $node->port) == 0 });
$session = PgBulk::Session->new($node);
$watch = PgBulk::Session->new($node);
is_undone('a worker is killed');
is($session->ask('VACUUM t; SELECT count(*) FROM t'), '0', 'a worker is killed: VACUUM');

# ---- others write meanwhile

my $rival = PgBulk::Session->new($node);
$rival->ask(q{CREATE PROCEDURE write_rows() LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN 1 .. 300 LOOP
		INSERT INTO t VALUES (-n, n % 100, 'text ' || n);
		UPDATE t SET s = s || '!' WHERE i = -n / 2;
		DELETE FROM t WHERE i = -n / 3 AND i % 2 = 0;
		COMMIT;
		PERFORM pg_sleep(0.001);
	END LOOP;
END $$});
$rival->send('CALL write_rows()');
my $got = $session->ask(load($small, 2));
is($got, "$rows|2", 'beside a writer');
$rival->wait;
is($rival->{error}, '', 'the writer is not disturbed');
is($session->ask("SELECT $sums FROM t WHERE i > 0"),
	$session->ask("CREATE TABLE u (LIKE t); COPY u FROM '$small' (FORMAT csv); SELECT $sums FROM u"), 'the rows of COPY');
is($session->ask("SELECT bt_index_parent_check(indexrelid, true, true) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam WHERE indrelid = 't'::regclass AND amname = 'btree'"),
	"\n", 'the indexes are sound');

# ---- keys are looked up between workers, and others enter the same

$session->ask(q{CREATE TABLE keyed (i int PRIMARY KEY, k int, s text);
	CREATE PROCEDURE enter_keys() LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN 1 .. 300 LOOP
		INSERT INTO keyed SELECT n * 37 + m, -1, 'theirs' FROM generate_series(0, 2) m ON CONFLICT DO NOTHING;
		COMMIT;
		PERFORM pg_sleep(0.001);
	END LOOP;
END $$});
foreach my $policy ('keep_old', 'keep_new')
{
	(my $statement = load($large, 3, "\"on_duplicate\": \"$policy\"")) =~ s/'t'/'keyed'/;
	# one that was done before the cancel came is loaded again
	ends_soon($policy, sub { $session->cancel("TRUNCATE keyed; $statement", $watch, sub { $watch->ask($workers_of) > 0 }, 0.1) });
	is($session->sqlstate, '57014', "$policy: cancelled") or diag $session->{error};
	is($session->ask('SELECT count(*) FROM keyed'), '0', "$policy: nothing is loaded");

	($statement = load($small, 2, "\"on_duplicate\": \"$policy\"")) =~ s/'t'/'keyed'/;
	$rival->send('CALL enter_keys()');
	$got = $session->ask("SELECT workers > 0 FROM ($statement) x");
	is($got, 't', "$policy: workers beside a writer of the same keys");
	$rival->wait;
	is($rival->{error}, '', "$policy: the writer is not disturbed");
	is($session->ask("SELECT count(*) FROM keyed FULL JOIN u USING (i) WHERE keyed.i IS NULL OR (keyed.s <> u.s AND keyed.s <> 'theirs') OR (u.i IS NULL AND keyed.s <> 'theirs')"),
		'0', "$policy: each key has a row of the file or theirs");
	is($session->ask("SELECT bt_index_parent_check('keyed_pkey', true, true)"), '', "$policy: the index is sound");
	$session->ask('TRUNCATE keyed');
}

# ---- after a crash

$node->stop('immediate');
$node->start;
$session = PgBulk::Session->new($node);
is($session->ask("SELECT $sums FROM t WHERE i > 0"), $session->ask("SELECT $sums FROM u"), 'after a crash: the rows');
is($session->ask('SET enable_seqscan = off; SELECT count(*) FROM t WHERE s = \'text 4711\'; SELECT count(*) FROM t WHERE k = 7 AND i > 0'),
	join("\n", 1, $session->ask('SELECT count(*) FROM u WHERE k = 7')), 'after a crash: they are found by the indexes');

check_log($node, qr/terminated by signal 9: Killed/);
check_tables($node);
done_testing();
