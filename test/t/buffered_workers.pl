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
		FOR m IN 0 .. 2 LOOP		-- each alone: who holds one key and waits for another may deadlock
			INSERT INTO keyed VALUES (n * 37 + m, -1, 'theirs') ON CONFLICT DO NOTHING;
			COMMIT;
		END LOOP;
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

# ---- partitions: what a worker has checked holds when the row is stored

$session->ask(q{CREATE TABLE parted (i int PRIMARY KEY, k int, s text) PARTITION BY RANGE (i);
	CREATE INDEX ON parted (s);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (1) TO (5000);
	CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (5000) TO (10000);
	CREATE TABLE parted_rest PARTITION OF parted DEFAULT;
	CREATE TABLE parted_low (LIKE parted);
	CREATE TABLE parted_high (LIKE parted)});
(my $parted = load($large, 3)) =~ s/'t'/'parted'/;
ends_soon('partitions', sub { $session->cancel("TRUNCATE parted; $parted", $watch, sub { $watch->ask($workers_of) > 0 }, 0.1) });
is($session->sqlstate, '57014', 'partitions: cancelled') or diag $session->{error};
is($session->ask('SELECT count(*) FROM parted'), '0', 'partitions: nothing is loaded');

# they wait for the load, whose first rows go to all partitions; and then its rows do not allow what they want
(my $mixed = $small) =~ s/small/mixed/;
$session->ask("COPY (TABLE u ORDER BY i % 37, i) TO '$mixed' (FORMAT csv)");
($parted = load($mixed, 2)) =~ s/'t'/'parted'/;
my $ddl = PgBulk::Session->new($node);
$session->send("SELECT workers > 0 FROM ($parted) x");
sleep 0.01 until $session->done || $watch->ask($workers_of) > 0;
$rival->send(q{ALTER TABLE parted ATTACH PARTITION parted_high FOR VALUES FROM (11000) TO (12000)});
$ddl->send(q{ALTER TABLE parted_rest ADD CHECK (i > 0 AND i < 0)});
is($session->wait, 't', 'partitions: it had workers');
is($session->{error}, '', 'partitions: the load is not disturbed');
$rival->wait;
$ddl->wait;
like($rival->{error}, qr/updated partition constraint for default partition "parted_rest" would be violated by some row/, 'partitions: ATTACH sees its rows');
like($ddl->{error}, qr/check constraint "parted_rest_i_check" of relation "parted_rest" is violated by some row/, 'partitions: so does a CHECK');
is($session->ask("SELECT $sums FROM parted"), $session->ask("SELECT $sums FROM u"), 'partitions: the rows of COPY');
is($session->ask("SELECT count(*) FROM parted_1 WHERE i >= 5000; SELECT count(*) FROM parted_2 WHERE i NOT BETWEEN 5000 AND 9999; SELECT count(*) FROM parted_rest WHERE i < 10000"),
	"0\n0\n0", 'partitions: each where it belongs');
$session->ask("SELECT bt_index_parent_check(c.oid, true, true) FROM pg_partition_tree('parted') t JOIN pg_index i ON i.indrelid = t.relid JOIN pg_class c ON c.oid = i.indexrelid AND c.relkind = 'i'");
is($session->{error}, '', 'partitions: the indexes are sound');
$ddl->close;

# ---- several processes fail at an index, one of them while the first error is still worked on

$session->ask(q{
	SELECT set_config('test.leader', pg_backend_pid()::text, false);
	CREATE FUNCTION throws(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	$$BEGIN
	IF i > 22000 THEN
		PERFORM pg_sleep(CASE WHEN pg_backend_pid() = current_setting('test.leader')::int THEN 0.1 ELSE 0.3 END);
		RETURN i / 0;
	END IF;
	RETURN i;
	END$$;
	-- slow in parallel mode
	CREATE FUNCTION slow(s text) RETURNS bool LANGUAGE plpgsql STABLE AS
	$$BEGIN PERFORM set_config('test.mode', '', true); RETURN true; EXCEPTION WHEN invalid_transaction_state THEN PERFORM pg_sleep(0.02); RETURN true; END$$;
	CREATE DOMAIN slow AS text CHECK (slow(value));
	CREATE TABLE throwing (i int, k int, s slow);
	CREATE INDEX ON throwing (throws(i));
	CREATE INDEX ON throwing (throws(i + 1))});
my $helped;
# again if workers took so long to start before that none seems worth it
foreach my $try (1 .. 5)
{
	$session->send("SET maintenance_work_mem = '10MB'; SET pgbulk.chunk_size = '1MB'; " . load($large, 2) =~ s/'t'/'throwing'/r);
	wait_for('workers', sub { $session->done || ($helped = $watch->ask($workers_of) > 0) });
	$session->wait;
	last if $helped;
}
ok($helped, 'several processes fail: it had workers');
is($session->sqlstate, '22012', 'several processes fail: the error is that of the first') or diag $session->{error};
is($watch->ask($workers_of), '0', 'several processes fail: no worker is left');
is($session->ask('RESET maintenance_work_mem; RESET pgbulk.chunk_size; SELECT count(*) FROM throwing'), '0', 'several processes fail: nothing is loaded');

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
