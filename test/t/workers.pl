# Loads with parallel workers under adverse conditions: they are cancelled, lose
# a worker, get none, are rolled back, run among other sessions.  And a worker
# needs little memory.
#
# PGBULK_TEST_FULL=1 makes the large file larger (200 MB).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $MB = 1024 * 1024;
my $folder = data_dir();
my $node = bulk_server('workers', 'shared_buffers = 64MB', 'max_wal_size = 1GB',
	'max_worker_processes = 8', 'max_parallel_workers = 8', 'max_logical_replication_workers = 0',
	'restart_after_crash = on', 'pgbulk.chunk_size = 16384');
my $session = PgBulk::Session->new($node);
my $watch = PgBulk::Session->new($node);

# Before, rows that need more than pgbulk's own code are for the backend alone.
my $guards = $node->safe_psql('postgres', 'SHOW server_version_num') >= 170000;

$node->safe_psql('postgres', q{
	CREATE TABLE plain (i int, s text);
	CREATE TABLE other (i int, s text);
	CREATE DOMAIN document AS jsonb; CREATE TABLE jsons (i int, j document);
	CREATE TABLE parts (i int, s text) PARTITION BY HASH (i);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY RANGE (i);
	CREATE TABLE parts_1_low PARTITION OF parts_1 FOR VALUES FROM (MINVALUE) TO (20000);
	CREATE TABLE parts_1_rest PARTITION OF parts_1 DEFAULT;

	-- slow now and then, wherever the row is
	CREATE FUNCTION nap(i int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	$$BEGIN IF i % 500 = 0 THEN PERFORM pg_sleep(0.05); END IF; RETURN i > 0; END$$;
	CREATE TABLE napping (i int CHECK (nap(i)), s text);

	-- slow in whichever process has the first row of the file's end
	CREATE FUNCTION halt(i int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	$$BEGIN IF i = 0 THEN PERFORM pg_sleep(600); END IF; RETURN true; END$$;
	CREATE TABLE halting (i int CHECK (halt(i)), s text);

	-- hears of nothing
	CREATE FUNCTION stubborn(i int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	$$BEGIN FOR k IN 1 .. 40 LOOP i = (i + k) % 1000; END LOOP; RETURN i >= 0; EXCEPTION WHEN OTHERS THEN RETURN true; END$$;
	CREATE TABLE stubborn (i int CHECK (stubborn(i)), s text);

	-- the same, and workers never come to their first chunk
	CREATE FUNCTION late() RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	$$BEGIN IF (SELECT backend_type = 'parallel worker' FROM pg_stat_activity WHERE pid = pg_backend_pid()) THEN PERFORM pg_sleep(600); END IF; RETURN 'late'; END$$;
	CREATE TABLE late (i int CHECK (stubborn(i)), s text DEFAULT late());

	-- of two workers the later one fails, when the other has a chunk and waits for its turn
	CREATE FUNCTION fails(i int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	$$BEGIN
	IF i = 0 THEN
		PERFORM pg_sleep(0.2);
		PERFORM FROM pg_stat_activity WHERE pid = pg_backend_pid() AND pid = (SELECT max(pid) FROM pg_stat_activity WHERE backend_type = 'parallel worker');
		IF FOUND THEN
			PERFORM pg_sleep(1);
			RAISE 'it fails' USING ERRCODE = '53000';
		END IF;
	END IF;
	RETURN true;
	END$$;
	CREATE TABLE fails (i int CHECK (fails(i)));
	CREATE TABLE busy AS SELECT i FROM generate_series(1, 200000) i;
	ANALYZE busy});

sub rows { my ($format, $n) = @_; return join('', map { sprintf($format, $_) } 1 .. $n); }

# those of which a worker has for longer than it takes to find and end it
my $long = "'" . data_file('long.csv', 300 * $MB, rows("%d,some text\n", 50000)) . "'";
my $long_bad = "'" . data_file('long_bad.csv', 100 * $MB, rows("x%d,some text\n", 50000)) . "'";

my $small = "'" . data_file('small.csv', 1, rows("%d,some text\n", 40000)) . "'";
my $large = data_file('large.csv', 15 * $MB, rows("%d,some text\n", 50000));
my $bad = data_file('bad.csv', 15 * $MB, rows("x%d,some text\n", 50000), "1,good\n" x 10000);
my $mixed = data_file('mixed.csv', 15 * $MB, rows("%d,some text\n", 5000) . rows("x%d,some text\n", 500));
my $wide = data_file('wide.csv', 30 * $MB, sub { join('', map { "$_," . sprintf('%08x', $_ * 2654435761 % 2**32) x 2000 . "\n" } 1 .. 50) });
my $tiny = data_file('tiny.csv', 9 * $MB, "x\n" x 50000);
my $jsons = data_file('jsons.csv', 15 * $MB, rows(qq(%d,"{""a"": [1, 2, {""b"": ""c""}]}"\n), 20000) . qq(0,"{"\n));
my $numbers = data_file('numbers.csv', 15 * $MB, rows("%d\n", 50000));
my $zeros = data_file('zeros.csv', 1 * $MB, "0\n" . "1\n" x 1500);
my $broken = "'" . data_file('broken.csv', 1, rows("%d,some text\n", 30000) . "x,y\n" . rows("%d,some text\n", 30000)) . "'";
my $halt = "'" . data_file('halt.csv', 1, rows("%d,some text\n", 30000) . "0,stop here\n" . rows("%d,some text\n", 90000)) . "'";

# A list of a file, so long that no load reaches its end.
sub many { my ($path) = @_; return 'ARRAY[' . join(',', ("'$path'") x 200) . ']'; }

sub load
{
	my ($table, $path, $workers, $more) = @_;
	my $options = join(', ', '"writer": "direct"', "\"workers\": $workers", $more // ());

	return "bulk_load('$table', $path, '{$options}')";
}

my $workers_of = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'};

sub no_worker_left
{
	my ($name) = @_;
	is($watch->ask($workers_of), '0', "$name: no worker is left");
}

# The table is empty and the session as it was.
sub is_undone
{
	my ($name, $table) = @_;

	is($session->ask("SELECT count(*) FROM $table"), '0', "$name: nothing is loaded");
	is($session->ask("SELECT count(*) FROM pg_stat_progress_copy"), '0', "$name: no progress is left");
	is($session->ask('BEGIN; SELECT rows_loaded, workers FROM ' . load('plain', $small, 2) . '; ROLLBACK'),
		'40000|2', "$name: the next load works");
}

# ---- being cancelled ----

sub cancels
{
	my ($name, $table, $path, $more, $pause) = @_;
	my $sql = 'SELECT ' . load($table, $path, 3, $more);

	$pause //= 0.3;
	ends_soon($name, sub { $session->cancel($sql, $watch, sub { $watch->ask($workers_of) > 0 }, $pause) });
	is($session->sqlstate, '57014', "$name: it says so") or diag $session->{error};
	no_worker_left($name);
	is_undone($name, $table);

	ends_soon("$name, timeout", sub { $session->time_out($sql, $pause) });
	is($session->sqlstate, '57014', "$name: it says so") or diag $session->{error};
	no_worker_left("$name, timeout");
}

my $ignore = '"on_error": "ignore", "log_verbosity": "silent"';

cancels('plain rows', 'plain', many($large));
cancels('wide values', 'plain', many($wide));
cancels('partitions', 'parts', many($large));
cancels('wide values in partitions', 'parts', many($wide));
if ($guards)
{
	cancels('rejects to nowhere', 'plain', many($bad), $ignore);
	cancels('rejects to a table and a file', 'plain', many($bad), qq($ignore, "reject_table": "rejected", "reject_file": "$folder/rejects"));
	cancels('some rejects', 'plain', many($mixed), qq($ignore, "reject_table": "rejected"));
	cancels('rows that are filtered', 'plain', many($large), '"where": "i < 0"');
	cancels('input functions', 'jsons', many($jsons), $ignore);
	cancels('a CHECK that sleeps', 'napping', many($large));
	cancels('a CHECK that sleeps, with rejects', 'napping', many($mixed), $ignore);
	cancels('all wait for one', 'halting', $halt);
	cancels('all wait for one, with rejects', 'halting', $halt, $ignore);
}
else
{
	is($session->ask('SELECT rows_loaded, workers FROM ' . load('plain', $small, 3, '"where": "i < 0"')),
		'0|0', 'no worker is started for rows that it could not load');
}

# ---- losing a worker ----

# Starts a load and sends a signal to one of its workers that has its work
# before it, as its lock shows: the backend is stopped meanwhile, and the load with it.
sub hits_worker
{
	my ($signal, $table, $path, $more) = @_;

	my $begun = "SELECT pid FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE backend_type = 'parallel worker' AND relation = '$table'::regclass LIMIT 1";

	foreach my $try (1 .. 5)
	{
		$session->send('SELECT ' . load($table, $path, 3, $more));
		until ($session->done || $watch->ask($begun))
		{
			sleep 0.01;
		}
		sleep 0.4 / 2**$try;
		kill 'STOP', $session->{pid};
		my $pid = $watch->ask($begun);
		kill $signal, $pid if $pid;
		kill 'CONT', $session->{pid};
		return if $pid;

		# it was too fast for this machine
		$session->wait;
		$session->ask("DELETE FROM $table WHERE i > 0");
	}
	die 'no load was met';
}

for my $case ([ 'plain', $long ], [ 'plain', $long_bad, $ignore ], [ 'parts', $long ], $guards ? ([ 'halting', $halt ], [ 'napping', "'$large'" ]) : ())
{
	my ($table, $path, $more) = @$case;
	my $name = "a worker is terminated: $table" . ($more ? ', with rejects' : '');

	ends_soon($name, sub {
		hits_worker('TERM', @$case);
		$session->wait;
		return $session->{took};
	});
	like($session->{error}, qr/terminating (?:connection|background worker)|lost connection to parallel worker|parallel worker failed to initialize|a parallel worker of the load has failed/, "$name: it says why");
	no_worker_left($name);
	is_undone($name, $table);
}

# nor is it waited for where a function takes the news for an error of its own
for my $try ($guards ? (1 .. 4) : ())
{
	# nobody waits for the turn of those that have no chunk
	my @case = $try > 2 ? ('late', many($numbers), '"columns": ["i"]') : ('stubborn', many($large));
	my $name = "a worker is terminated: $case[0], $try";

	hits_worker('TERM', @case);
	$session->wait;
	like($session->sqlstate, qr/^(?:57P01|55000)$/, "$name: the load ends");
	no_worker_left($name);
	is_undone($name, $case[0]);
}

# of the errors of workers that of the one that has failed is shown, also where the backend hears of it late
foreach my $try ($guards ? (1 .. 2) : ())
{
	$session->send('SELECT ' . load('fails', "'$zeros'", 2));
	wait_for('two workers that nap', sub { $session->done || $watch->ask("$workers_of AND wait_event = 'PgSleep'") == 2 });
	kill 'STOP', $session->{pid};
	sleep 4;
	kill 'CONT', $session->{pid};
	$session->wait;
	is($session->sqlstate, '53000', "a worker fails while the backend is busy, $try: its error") or diag $session->{error};
	is_undone("a worker fails while the backend is busy, $try", 'fails');
}

$session->ask('INSERT INTO other VALUES (0, \'mine\')');
hits_worker('KILL', 'other', $long);
wait_for('the end of the session', sub { !-e "/proc/$session->{pid}" });
$session->close;
$watch->close;
wait_for('the server', sub { system('pg_isready', '-q', '-h', $node->host, '-p', $node->port) == 0 });
$session = PgBulk::Session->new($node);
$watch = PgBulk::Session->new($node);
is($session->ask('SELECT count(*) FROM other'), '1', 'a worker is killed: nothing is loaded, and what was there is');
is_undone('a worker is killed', 'plain');
is($session->ask('SELECT rows_loaded, workers FROM ' . load('other', $small, 3) . '; SELECT count(*) FROM other'),
	"40000|3\n40001", 'a worker is killed: the table can be loaded');
$session->ask('TRUNCATE other');

# ---- finding none ----

is($session->ask('SET max_parallel_workers = 0; SELECT rows_loaded, workers FROM ' . load('plain', $small, 3) . '; RESET max_parallel_workers'),
	'40000|0', 'no worker is allowed: the backend loads alone');
is($session->ask('SELECT count(*), count(DISTINCT i) FROM plain; TRUNCATE plain'), '40000|40000', 'no worker is allowed: all rows are there');

if ($guards)
{
	my $greedy = PgBulk::Session->new($node);
	$greedy->send('SELECT ' . load('halting', $halt, 7));
	wait_for('seven workers', sub { $watch->ask($workers_of) == 7 });
	is($session->ask('SELECT rows_loaded, workers FROM ' . load('plain', $small, 3)), '40000|1', 'one worker is free: one helps');
	is($session->ask('SELECT count(*), count(DISTINCT i) FROM plain; TRUNCATE plain'), '40000|40000', 'one worker is free: all rows are there');
	my $greedier = PgBulk::Session->new($node);
	$greedier->send('SELECT ' . load('napping', many($large), 1));
	wait_for('eight workers', sub { $watch->ask($workers_of) == 8 });
	is($session->ask('SELECT rows_loaded, workers FROM ' . load('plain', $small, 3)), '40000|0', 'no worker is free: the backend loads alone');
	$watch->ask("SELECT pg_cancel_backend($_->{pid})") for $greedy, $greedier;
	$_->wait, $_->close for $greedy, $greedier;
}
$session->ask('TRUNCATE plain');

# ---- coming late ----

# No workers can start while the postmaster is stopped.
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
my $moved = data_file('moved.csv', 1, rows("%d,some text\n", 40000));

kill 'STOP', $postmaster;
$session->send('SELECT rows_loaded, workers FROM ' . load('plain', "'$moved'", 3));
wait_for('the end of the work', sub { $watch->ask("SELECT wait_event = 'ParallelFinish' FROM pg_stat_activity WHERE pid = $session->{pid}") eq 't' });
unlink $moved or die $!;
kill 'CONT', $postmaster;
is($session->wait, '40000|3', 'workers that have not begun when all is read find nothing to do') or diag $session->{error};
no_worker_left('workers that have not begun');
$session->ask('TRUNCATE plain');

if ($guards)
{
	# the name in option where comes to mean another function
	$session->ask(qq{
		CREATE FUNCTION passes(i bigint) RETURNS bool LANGUAGE plpgsql STABLE PARALLEL SAFE AS
		\$\$BEGIN
		WHILE i = 0 AND (pg_stat_file('$folder/go_on', true)).size IS NULL LOOP PERFORM pg_sleep(0.01); END LOOP;
		RETURN true;
		END\$\$});
	kill 'STOP', $postmaster;
	$session->send('SELECT rows_loaded, workers FROM ' . load('plain', $halt, 3, '"where": "passes(i)"'));
	wait_for('the row', sub { $watch->ask("SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $session->{pid}") eq 't' });
	$watch->ask('CREATE FUNCTION passes(i int) RETURNS bool LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT false $$');
	kill 'CONT', $postmaster;
	wait_for('workers that wait for their turns', sub { $watch->ask("$workers_of AND wait_event_type = 'Extension'") == 3 });
	append_to_file("$folder/go_on", '');
	is($session->wait, '120001|3', 'all processes have the same expression as option where');
	$session->ask('TRUNCATE plain; DROP FUNCTION passes(int), passes(bigint)');

	# a worker fails before it begins: no row is to blame, and nobody waits for it
	my $gone = 'CREATE TEXT SEARCH CONFIGURATION gone (COPY = simple); SET default_text_search_config = gone; DROP TEXT SEARCH CONFIGURATION gone';
	foreach my $case ([ 'napping', '22023' ], [ 'stubborn', '(?:22023|55000)' ])
	{
		my ($table, $state) = @$case;

		$session->ask("TRUNCATE $table; $gone; SET statement_timeout = '30s'");
		$session->ask('SELECT ' . load($table, $small, 1, $ignore));
		like($session->sqlstate, qr/^$state$/, "a worker cannot begin: $table: that ends the load") or diag $session->{error};
		is($session->ask("RESET statement_timeout; RESET default_text_search_config; SELECT count(*) FROM $table"), '0', "a worker cannot begin: $table: nothing is loaded");
		no_worker_left("a worker cannot begin: $table");
	}
}

# ---- in all kinds of transactions ----

my $load = 'SELECT rows_loaded, workers FROM ' . load('plain', $small, 3);
my $fail = 'SELECT ' . load('plain', $broken, 3);

is($session->ask("BEGIN; INSERT INTO plain VALUES (0, 'mine'); SAVEPOINT s; $load; SELECT count(*) FROM plain;
	ROLLBACK TO s; SELECT count(*) FROM plain; $load; COMMIT; SELECT count(*) FROM plain; TRUNCATE plain"),
	"40000|3\n40001\n1\n40000|3\n40001", 'below a savepoint');
is($session->ask("BEGIN; SAVEPOINT s; SAVEPOINT t; INSERT INTO plain VALUES (0, 'mine'); $load; ROLLBACK TO t; SELECT count(*) FROM plain; COMMIT"),
	"40000|3\n0", 'below two savepoints, rolled back');
is($session->ask("BEGIN; SAVEPOINT s; $fail; ROLLBACK TO s; SELECT count(*) FROM plain; $load; COMMIT; SELECT count(*) FROM plain; TRUNCATE plain"),
	"0\n40000|3\n40000", 'after an error and ROLLBACK TO a savepoint');
like($session->{error}, qr/22P02: invalid input syntax for type integer: "x".*line 30001, column i: "x"/s, 'the error is that of the row');

$session->ask(q{
	CREATE FUNCTION try(path text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE r record;
	BEGIN
		SELECT * INTO r FROM bulk_load('plain', path, '{"writer": "direct", "workers": 3}');
		RETURN r.rows_loaded || ' ' || r.workers;
	EXCEPTION WHEN others THEN
		RETURN SQLSTATE || ' ' || SQLERRM;
	END$$});
is($session->ask("BEGIN; SELECT try($broken); SELECT try($small); SELECT try($broken); COMMIT; SELECT count(*) FROM plain; TRUNCATE plain"),
	qq(22P02 invalid input syntax for type integer: "x"\n40000 3\n22P02 invalid input syntax for type integer: "x"\n40000),
	'within a block with EXCEPTION');
no_worker_left('within a block with EXCEPTION');

is($session->ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM plain; $load; SELECT count(*) FROM plain; COMMIT; TRUNCATE plain"),
	"0\n40000|3\n40000", 'under REPEATABLE READ');
is($session->ask("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM plain; $load; SELECT count(*) FROM plain; COMMIT; TRUNCATE plain"),
	"0\n40000|3\n40000", 'under SERIALIZABLE');

# Each has read what the other loads.
my $rival = PgBulk::Session->new($node);
$session->ask('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM other');
$rival->ask('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM plain');
$session->ask("$load");
$rival->ask('SELECT rows_loaded FROM ' . load('other', $small, 3));
my $second = $rival->sqlstate;
$session->ask('COMMIT');
$second ||= $session->sqlstate;
$rival->ask('COMMIT');
is($second || $rival->sqlstate, '40001', 'under SERIALIZABLE: of two loads that cannot be in any order one fails');
$session->ask('TRUNCATE plain, other');

# Parallel queries of others, and of the statement itself.
my $eager = 'SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET max_parallel_workers_per_gather = 2';
my $query = 'SELECT count(*) FROM busy b JOIN busy c USING (i) WHERE b.i % 3 = 0';
$rival->ask($eager);
like($rival->ask("EXPLAIN (COSTS OFF) $query"), qr/Gather/, 'the query is a parallel one');
$rival->send(join('; ', ($query) x 30));
my @out = split /\n/, $session->ask(join('; ', ($load, 'TRUNCATE plain') x 5));
is(join(' ', map { (split /\|/)[0] } @out), join(' ', ('40000') x 5), 'with parallel queries: the loads');
is($rival->wait, join("\n", ('66666') x 30), 'with parallel queries: the queries');
$rival->close;
is($session->ask("$eager; SELECT l.rows_loaded, l.workers, (SELECT count(*) FROM busy) FROM " . load('plain', $small, 3) . ' l; TRUNCATE plain'),
	'40000|3|200000', 'in one statement with what could be a parallel query');
is($session->ask("$eager; WITH q AS MATERIALIZED (SELECT count(*) AS n FROM busy WHERE i % 3 = 0)
	SELECT l.rows_loaded, l.workers, q.n FROM q, " . load('plain', $small, 3) . ' l; TRUNCATE plain'),
	'40000|3|66666', 'the same, below a WITH');
$session->ask(q{
	CREATE FUNCTION between_rows() RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE r record; n bigint := 0;
	BEGIN
		FOR r IN SELECT i % 4 AS k, count(*) FROM busy GROUP BY 1 LOOP
			n := n + (SELECT rows_loaded FROM bulk_load('plain', } . $small . q{, '{"writer": "direct", "workers": 2}'));
		END LOOP;
		RETURN n;
	END$$});
is($session->ask("$eager; SELECT between_rows(); SELECT count(*) FROM plain; TRUNCATE plain; RESET ALL"),
	"160000\n160000", 'between the rows of a query');

# ---- being watched ----

my $size = ($ENV{PGBULK_TEST_FULL} ? 200 : 60) * $MB;
my $huge = "'" . data_file('huge.csv', $size, rows("%d,some text and some more\n", 50000)) . "'";

my (@seen, %bytes, %tuples);

# again if this machine was too slow to observe it
foreach my $try (1 .. 10)
{
	@seen = %bytes = %tuples = ();
	$session->send('TRUNCATE plain; SELECT rows_loaded, workers FROM ' . load('plain', $huge, 2));
	until ($session->done)
	{
		my $now = $watch->ask("SELECT count(*), min(bytes_processed), min(tuples_processed), min(bytes_total), min(pid) FROM pg_stat_progress_copy");

		push @seen, [ split /\|/, $now ] unless $now =~ /^0/;
		sleep 0.01;
	}
	like($session->wait, qr/^\d+\|2$/, 'progress: workers took part');
	is(scalar(grep { $_->[0] != 1 || $_->[4] != $session->{pid} } @seen), 0, 'progress: only the backend has some');
	$bytes{ $_->[1] } = $tuples{ $_->[2] } = 1 foreach @seen;
	note scalar(@seen) . ' looks, ' . keys(%bytes) . ' numbers of bytes, ' . keys(%tuples) . ' of rows';
	last if keys %bytes >= 5 && keys %tuples >= 5;
}
cmp_ok(scalar keys %bytes, '>=', 5, 'progress: bytes move');
cmp_ok(scalar keys %tuples, '>=', 5, 'progress: rows move');
is(scalar(grep { $seen[$_][1] < $seen[ $_ - 1 ][1] || $seen[$_][2] < $seen[ $_ - 1 ][2] } 1 .. $#seen), 0, 'progress: neither goes back');
cmp_ok($seen[-1][1], '<=', $seen[-1][3], 'progress: no more bytes than there are');

# ---- many files, each of which sends workers home ----

data_file("marked_$_", 1, rows("%d,some text\n", 20) . "\\.\n") foreach 1 .. 300;
ends_soon('files with end markers', sub {
	my $start = time;

	is($session->ask('SELECT rows_loaded FROM ' . load('plain', "'$folder/marked_*'", 2, '"format": "text", "delimiter": ","')), '6000',
		'files with end markers: rows');
	return time - $start;
});

$session->close;
$watch->close;
check_log($node, qr/terminating (?:connection|background worker)|terminated by signal 9|57P0[123] |because of crash of another server process|server closed the connection/);
$node->stop;
$node->clean_node;

# ---- needing memory ----

SKIP:
{
	skip 'sanitizers need memory themselves', 3 if $ENV{PGBULK_TEST_SANITIZE};
	skip 'needs /proc', 3 unless -r '/proc/self/smaps_rollup';

	# what is seen of the shared buffers counts in a process's peak: keep them few
	my $lean = bulk_server('lean', 'shared_buffers = 2MB', 'max_wal_size = 1GB', 'wal_buffers = 1MB');
	my $force = $lean->safe_psql('postgres', 'SHOW server_version_num') >= 160000 ? 'debug_parallel_query' : 'force_parallel_mode';
	my $load = PgBulk::Session->new($lean);
	my $look = PgBulk::Session->new($lean);

	# The most that any worker has while the session runs a statement: its peak,
	# and memory of its own.
	my $most = sub {
		my ($sql) = @_;
		my ($peak, $own) = (0, 0);

		$load->send($sql);
		until ($load->done)
		{
			for my $pid (split /\n/, $look->ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker'"))
			{
				my $status = eval { slurp_file("/proc/$pid/status") } // '';
				my $smaps = eval { slurp_file("/proc/$pid/smaps_rollup") } // '';
				my $private = 0;

				$peak = $1 * 1024 if $status =~ /^VmHWM:\s+(\d+) kB/m && $1 * 1024 > $peak;
				$private += $1 * 1024 while $smaps =~ /^Private_\w+:\s+(\d+) kB/mg;
				$own = $private if $private > $own;
			}
			sleep 0.02;
		}
		is($load->wait =~ /\|0$/ ? $load->{error} || 'no worker' : $load->{error}, '', 'memory: no error, and workers');
		return ($peak, $own);
	};

	$lean->safe_psql('postgres', 'CREATE TABLE plain (i int, s text); CREATE DOMAIN document AS jsonb; CREATE TABLE jsons (i int, j document); CREATE TABLE tiny (i int)');
	my ($peak, $own) = $most->("SET $force = on; SELECT pg_sleep(3)");
	cmp_ok($own, '>', 0, 'an idle worker was seen');
	$load->ask("RESET $force");
	for my $case ([ 'plain rows', 'plain', $huge ], [ 'wide values', 'plain', "'$wide'" ],
		[ 'rejects', 'plain', "'$bad'", qq($ignore, "reject_table": "rejected") ], [ 'rejects of tiny rows', 'tiny', "'$tiny'", $ignore ],
		$guards ? [ 'input functions', 'jsons', "'$jsons'", $ignore ] : ())
	{
		my ($name, $table, $path, $more) = @$case;
		my ($peak_now, $own_now) = $most->('SELECT rows_loaded, workers FROM ' . load($table, $path, 2, $more));

		note sprintf('%s: a worker has %.1f MB at most, %.1f of its own; an idle one %.1f and %.1f',
			$name, map { $_ / $MB } $peak_now, $own_now, $peak, $own);
		cmp_ok($peak_now - $peak, '<', 16 * $MB, "$name: a worker's peak");
		cmp_ok($own_now - $own, '<', 16 * $MB, "$name: a worker's own memory");
	}
	$load->close;
	$look->close;
	check_log($lean);
	$lean->stop;
}

done_testing();
