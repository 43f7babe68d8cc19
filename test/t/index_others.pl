# Other sessions while the indexes of a table get their entries and new files:
# they see the old rows or the new ones by every index, at any time; who waits
# for whom; what errors leave; serializable transactions and foreign keys.
#
# This is for one session at a time to be where the test wants it, so it is here and
# not among isolation specs, whose tester not all servers' packages have.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('index_others', 'shared_buffers = 32MB', 'enable_seqscan = off',
	'enable_bitmapscan = off', 'max_connections = 40');
my ($watch, $gate) = map { PgBulk::Session->new($node) } 1 .. 2;
my $open = data_dir() . '/open';

# An index on held(i) is made after all others, by the backend alone, which stands still at row
# 12500 while a lock is held; so does any process at an index on busy(i) while a file is not there.
$node->safe_psql('postgres', qq{
	CREATE EXTENSION amcheck;
	CREATE FUNCTION held(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS \$\$
	BEGIN
	IF i = 12500 THEN PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1); END IF;
	RETURN i;
	END\$\$;
	CREATE FUNCTION busy(i int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS \$\$
	BEGIN
	WHILE i = 12500 AND (pg_stat_file('$open', true)).size IS NULL LOOP PERFORM pg_sleep(0.01); END LOOP;
	RETURN i;
	END\$\$;
	CREATE TABLE t (i int, n int, s text, note text);
	CREATE TABLE elsewhere (i int)});

my $more = data_file('more.csv', 1, join('', map { sprintf "%d,%d,text %d,new\n", $_, $_ % 600, $_ % 4000 } 10001 .. 15000));

# What is in the table, by way of each index; more than one thing where they differ.
my $views = q{SELECT string_agg(DISTINCT d, ' and ') FROM (
	SELECT format('%s rows, %s, %s', count(*), sum(i), sum(n) + 0 * sum(length(s))) AS d FROM t
	UNION ALL SELECT format('%s rows, %s, %s', count(note), sum(i), sum(n)) FROM t WHERE i > 0
	UNION ALL SELECT format('%s rows, %s, %s', count(note), sum(i), sum(n)) FROM t WHERE s > ''
	UNION ALL SELECT format('%s rows, %s, %s', count(*), sum(i), sum(n)) FROM t WHERE n > -10
	UNION ALL SELECT format('%s rows, %s, %s', count(*), sum(i), sum(n)) FROM (SELECT i, n FROM t WHERE n > -10 ORDER BY n DESC) x) v};

sub rows_of
{
	my ($seen) = @_;
	return $seen =~ / and / ? 'different views' : $seen =~ s/ rows,.*//r;
}

sub fresh_table
{
	$node->safe_psql('postgres', q{
		DROP TABLE t;
		CREATE TABLE t (i int, n int, s text, note text) WITH (fillfactor = 80);
		INSERT INTO t SELECT i, i % 500, 'text ' || i % 3000, 'old' FROM generate_series(1, 10000) i;
		CREATE UNIQUE INDEX t_i ON t (i);
		CREATE INDEX t_n ON t (n) INCLUDE (i);
		CREATE INDEX t_s ON t (s);
		CREATE INDEX t_held ON t (held(i))});
	$node->safe_psql('postgres', 'VACUUM ANALYZE t');
}

sub bulk_load
{
	my ($method, $workers, $more_options) = @_;

	return "SELECT rows_loaded FROM bulk_load('t', '$more', '" . direct($workers, qq("indexes": "$method") . ($more_options // '')) . "')";
}

sub waits_for
{
	my ($session, $what, $condition) = @_;

	wait_for($what, sub {
		die "a session is done too early: $session->{err}" if $session->done;
		return $watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $session->{pid} AND NOT granted AND $condition") eq '1';
	});
}

sub waits { waits_for($_[0], 'a session to wait', 'true') }

# Starts a load that stands still when all indexes but one have their entries; or what looks
# at another lock.
sub start_held
{
	my ($session, $sql, $lock) = @_;

	$gate->ask('SELECT pg_advisory_lock(' . ($lock // 1) . ')');
	$session->send($sql);
	waits_for($session, 'one that stands still', "locktype = 'advisory'");
}

sub open_gate { $gate->ask('SELECT pg_advisory_unlock_all()') }

sub sound
{
	my ($name) = @_;

	is($watch->ask("SELECT count(bt_index_parent_check(indexrelid, true, true)) > 0 FROM pg_index WHERE indrelid = 't'::regclass"), 't', "$name: the indexes are sound")
	  or diag $watch->{error};
	is_sound($node, 't', "$name: so is the heap");
}

sub files
{
	return $watch->ask("SELECT string_agg(indexrelid::regclass || ' ' || pg_relation_filenode(indexrelid), ', ' ORDER BY 1) FROM pg_index WHERE indrelid = 't'::regclass AND indisvalid");
}

# A method gives indexes new files, which is not seen by others before the end.
sub swaps { return $_[0] ne 'insert' }

# ---- readers

my %ends = (
	'COMMIT' => 'COMMIT',
	'ROLLBACK' => 'ROLLBACK',
	'ROLLBACK TO' => 'ROLLBACK TO before_load; COMMIT');

sub readers
{
	my ($method, $workers, $end) = @_;
	my $name = "$method, $workers workers, $end";
	my %session = map { $_ => PgBulk::Session->new($node) } qw(load writer plain bitmap prepared cursor old);
	my ($load, $writer, $cursor, $old) = @session{qw(load writer cursor old)};
	my %read = (
		plain => $views,
		bitmap => $views,
		prepared => 'EXECUTE views');

	fresh_table();
	$session{bitmap}->ask('SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = on');
	$session{prepared}->ask("SET plan_cache_mode = force_generic_plan; PREPARE views AS $views; EXECUTE views");

	# rows with a past: for an old snapshot they are there all the same
	my $first = $watch->ask($views);
	$old->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
	$writer->ask("UPDATE t SET note = 'in its page' WHERE i % 100 = 3; UPDATE t SET n = n + 1000 WHERE i % 100 = 5;
		DELETE FROM t WHERE i % 100 = 7 OR i BETWEEN 101 AND 300;
		BEGIN; UPDATE t SET n = -5 WHERE i % 100 = 9; DELETE FROM t WHERE i % 100 = 11; ROLLBACK");
	my $before = $watch->ask($views);
	isnt($before, $first, "$name: rows change before the load");
	$cursor->ask('BEGIN; DECLARE c CURSOR FOR SELECT n FROM t WHERE n > -10 ORDER BY n');
	my $fetched = () = $cursor->ask('FETCH 10 FROM c') =~ /\d+/g;

	# so are those that the load's own transaction changes
	start_held($load, "BEGIN; UPDATE t SET note = 'mine' WHERE i % 100 = 13; UPDATE t SET n = n + 5000 WHERE i % 100 = 15;
		DELETE FROM t WHERE i % 100 = 17; SAVEPOINT before_load; UPDATE t SET n = n + 1 WHERE i % 100 = 19; " . bulk_load($method, $workers));
	is($session{$_}->ask($read{$_}), $before, "$name: during the load, $_") foreach sort keys %read;

	open_gate();
	if (swaps($method))
	{
		waits_for($load, 'a load that waits for a reader', "mode = 'AccessExclusiveLock'");
		# who comes now and plans a query waits behind the load
		$session{$_}->send($read{$_}) foreach sort keys %read;
		waits($session{$_}) foreach qw(plain bitmap);
		$fetched += () = $cursor->ask('FETCH ALL FROM c') =~ /\d+/g;
		$cursor->ask('COMMIT');
		wait_for('the load', sub { $load->done });
		unlike($load->wait . $load->{error}, qr/ERROR/, "$name: the load");
	}
	else
	{
		is($load->wait, '5000', "$name: the load");
		is($session{$_}->ask($read{$_}), $before, "$name: before its end, $_") foreach sort keys %read;
		$fetched += () = $cursor->ask('FETCH ALL FROM c; COMMIT') =~ /\d+/g;
	}
	is("$fetched rows", $before =~ s/,.*//r, "$name: a cursor is not disturbed");

	my $mine = $load->ask($views);
	is(rows_of($mine), rows_of($before) - 98 + 5000, "$name: what the load's transaction sees");
	$load->ask($ends{$end});
	is($load->{error}, '', "$name: its end");
	my $after = $watch->ask($views);
	is($after, $mine, "$name: afterwards") if $end eq 'COMMIT';
	is($after, $before, "$name: afterwards") if $end eq 'ROLLBACK';
	if (swaps($method))
	{
		like($session{$_}->wait, qr/^(?:\Q$before\E|\Q$after\E)$/, "$name: who has waited sees the old rows or the new ones, $_") foreach sort keys %read;
	}
	is($session{$_}->ask($read{$_}), $after, "$name: and now, $_") foreach sort keys %read;
	is($old->ask($views), $first, "$name: an old snapshot sees what it has always seen");
	is($old->ask("SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_bitmapscan = on; $views"), $first, "$name: by bitmaps, too");
	$old->ask('COMMIT');
	sound($name);
	$_->close foreach values %session;
}

foreach my $method (qw(merge rebuild insert))
{
	readers($method, $WORKERS[0], $_) foreach $method eq 'merge' ? sort keys %ends : 'ROLLBACK';
	readers($method, $WORKERS[1], 'COMMIT');
}

# ---- those who wait for the load: in the index phase already

my @groups = (
	{
		'INSERT' => "INSERT INTO t VALUES (100000, 1, 'late', 'late') RETURNING i",
		'UPDATE' => "UPDATE t SET n = n + 10 WHERE n = 77",
		'DELETE' => "DELETE FROM t WHERE s = 'text 2500'",
		'DROP INDEX' => 'DROP INDEX t_n'
	},
	{ 'CREATE INDEX CONCURRENTLY' => 'CREATE INDEX CONCURRENTLY t_both ON t (n, s)' },
	{ 'REINDEX CONCURRENTLY' => 'REINDEX TABLE CONCURRENTLY t' },
	{
		'REINDEX' => 'REINDEX INDEX t_s',
		'VACUUM' => 'VACUUM t',
		'ALTER INDEX' => 'ALTER INDEX t_i SET (fillfactor = 70)',
		'ALTER TABLE' => 'ALTER TABLE t ADD COLUMN more int DEFAULT 3'
	});

foreach my $method (qw(merge rebuild insert))
{
	foreach my $group ($method eq 'rebuild' ? $groups[0] : @groups)
	{
		my $load = PgBulk::Session->new($node);
		my %other;

		fresh_table();
		start_held($load, bulk_load($method, 2));
		foreach my $what (sort keys %$group)
		{
			# ALTER INDEX looks at the table not at all, and insertion does not look at an index alone
			next if $what eq 'ALTER INDEX' && !swaps($method);
			$other{$what} = PgBulk::Session->new($node);
			$other{$what}->send($group->{$what});
			waits($other{$what});
			pass("$method: $what waits for a load in its index phase");
		}
		open_gate();
		is($load->wait, '5000', "$method: the load beside " . join(', ', sort keys %other)) or diag $load->{error};
		foreach my $what (sort keys %other)
		{
			$other{$what}->wait;
			is($other{$what}{error}, '', "$method: $what goes on");
		}
		my $seen = $watch->ask($views);
		unlike($seen, qr/ and /, "$method: all is found by all indexes");
		is(rows_of($seen), 15000 + 1 - 5, "$method: others have written on top of the load") if $group->{DELETE};
		is($watch->ask('SELECT count(*) FROM t WHERE n = 77'), 0, "$method: new rows were changed, too") if $group->{UPDATE};
		is($watch->ask("SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass AND NOT (indisvalid AND indisready)"), '0', "$method: all indexes are valid");
		sound("$method, others waited");
		$_->close foreach $load, values %other;
	}
}

# ---- those for whom the load waits

sub loads_after
{
	my ($name, $other, $sql, %options) = @_;
	my ($load, $first) = map { PgBulk::Session->new($node) } 1 .. 2;

	fresh_table();
	$first->ask("BEGIN; $other");
	is($first->{error}, '', "$name: no error");
	$load->send($sql);
	waits($load);
	$first->ask('COMMIT');
	is($load->wait, '5000', "$name: a load waits and goes on") or diag $load->{error};
	is(rows_of($watch->ask($views)), $options{rows} // 15000, "$name: all is found by all indexes");
	sound($name);
	$_->close foreach $load, $first;
}

foreach my $method (qw(merge rebuild insert))
{
	my $sql = bulk_load($method, 2);

	loads_after("$method after DROP INDEX", 'DROP INDEX t_n', $sql);
	loads_after("$method after CREATE INDEX", 'CREATE INDEX t_more ON t (s, n)', $sql);
	loads_after("$method after REINDEX", 'REINDEX INDEX t_s', $sql);
	loads_after("$method after UPDATE", 'UPDATE t SET n = n + 1000 WHERE i % 10 = 3', $sql);
	loads_after("$method after INSERT", "INSERT INTO t VALUES (900000, 1, 'text', 'first'); DELETE FROM t WHERE i = 1", $sql, rows => 15000);
	loads_after("$method after ALTER INDEX", 'ALTER INDEX t_n SET (fillfactor = 50)', $sql) if swaps($method);
}

# A reader that has one index and then wants another, whichever of them the load has locked
# by then: neither is the end of the other.
foreach my $method (qw(merge rebuild))
{
	my ($load, $reader) = map { PgBulk::Session->new($node) } 1 .. 2;

	fresh_table();
	$reader->ask("SET plan_cache_mode = force_generic_plan; PREPARE by_s AS SELECT count(note) FROM t WHERE s = 'text 3'; PREPARE by_i AS SELECT count(note) FROM t WHERE i = 3;
		EXECUTE by_s; EXECUTE by_i");
	is($reader->ask('BEGIN; EXECUTE by_s'), '4', "$method: a reader by one index");
	$load->send(bulk_load($method, 0));
	waits_for($load, 'a load that waits for a reader', "mode = 'AccessExclusiveLock'");
	is($reader->ask('EXECUTE by_i'), '1', "$method: and by another, for which it need not wait");
	ok(!$load->done, "$method: the load waits on");
	$reader->ask('COMMIT');
	is($load->wait, '5000', "$method: and ends");
	is($reader->ask('EXECUTE by_s; EXECUTE by_i'), "5\n1", "$method: the reader sees the new rows");
	sound("$method, a reader by two indexes");
	$_->close foreach $load, $reader;
}

# A transaction that has read the table and waits for the load, to write: its locks on the indexes
# stay, so they keep their files, unless a method was asked for.
foreach my $method (qw(auto merge))
{
	foreach my $workers (@WORKERS)
	{
		my $name = "$method, $workers workers, a reader that will write";
		my ($load, $other) = map { PgBulk::Session->new($node) } 1 .. 2;
		my $sql = bulk_load($method, $workers, ', "on_duplicate": "keep_new", "log_verbosity": "silent"') =~ s/rows_loaded/rows_loaded, rows_replaced, jsonb_path_query_array(details, '\$.indexes[*].method'), jsonb_path_exists(details, '\$.indexes[*].reason ? (\@ == "others who use it are not done in time")')/r;

		fresh_table();
		$watch->ask("UPDATE t SET i = i + 10000 WHERE i BETWEEN 2501 AND 2600");
		my $files = files();
		# so that it is the load that finds out
		$other->ask("SET deadlock_timeout = '1h'; BEGIN; SELECT count(*) FROM t WHERE n = 5");
		start_held($load, "SET deadlock_timeout = '10ms'; BEGIN; $sql");
		$other->send('UPDATE t SET n = n + 1000000 WHERE i > 14990; COMMIT');
		waits($other);
		open_gate();
		my $said = $load->wait;
		my $error = $load->sqlstate;
		$load->ask('COMMIT');
		is($other->wait . $other->{error}, '', "$name: it goes on in the end");
		if ($method eq 'auto')
		{
			is("$said$error", '5000|100|["insert", "insert", "insert", "insert"]|t', "$name: entries are inserted");
			is($watch->ask('SELECT count(*) FROM t WHERE n > 999999'), 10, "$name: it finds the new rows");
			is(rows_of($watch->ask($views)), 14900, "$name: all is found by all indexes");
			is($watch->ask("SELECT count(*), count(*) FILTER (WHERE note = 'new') FROM t WHERE i BETWEEN 12501 AND 12600"), '100|100', "$name: rows were replaced");
		}
		else
		{
			is($error, '40P01', "$name: a method that was asked for gives up");
			is(rows_of($watch->ask($views)), 10000, "$name: nothing is loaded");
		}
		is(files(), $files, "$name: the indexes have their files");
		is(join(' ', orphans($node)), '', "$name: there are no others");
		sound($name);
		$_->close foreach $load, $other;
	}
}

# The same where a reader stays, and nobody wants to wait for it.
foreach my $method (qw(auto merge))
{
	foreach my $workers (@WORKERS)
	{
		my $name = "$method, $workers workers, a reader that stays";
		my ($load, $other) = map { PgBulk::Session->new($node) } 1 .. 2;
		my $sql = bulk_load($method, $workers) =~ s/rows_loaded/rows_loaded, jsonb_path_query_array(details, '\$.indexes[*].method')/r;

		fresh_table();
		my $files = files();
		$other->ask('BEGIN; SELECT count(*) FROM t WHERE n = 5');
		my $said = $load->ask("SET lock_timeout = '1s'; $sql");
		if ($method eq 'auto')
		{
			is($said . $load->sqlstate, '5000|["insert", "insert", "insert", "insert"]', "$name: entries are inserted");
			is(rows_of($watch->ask($views)), 15000, "$name: all is found by all indexes");
		}
		else
		{
			is($load->sqlstate, '55P03', "$name: a method that was asked for gives up");
			is(rows_of($watch->ask($views)), 10000, "$name: nothing is loaded");
		}
		is(files(), $files, "$name: the indexes have their files");
		$other->ask('COMMIT');
		is(join(' ', orphans($node)), '', "$name: there are no others");
		sound($name);
		$_->close foreach $load, $other;
	}
}

# ---- an index that is being made concurrently

# Somebody makes or remakes one; it waits for the gate when it looks at row 3.
$node->safe_psql('postgres', q{
	CREATE FUNCTION held_too(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN
	IF i = 3 THEN PERFORM pg_advisory_lock_shared(2); PERFORM pg_advisory_unlock_shared(2); END IF;
	RETURN i;
	END$$});
{
	my ($load, $maker) = map { PgBulk::Session->new($node) } 1 .. 2;
	my $by_auto = "SELECT rows_loaded, writer, details->>'not_direct' FROM bulk_load('t', '$more')";

	# the buffered writer goes on beside it, and its rows are in the index
	fresh_table();
	start_held($maker, 'CREATE INDEX CONCURRENTLY t_too ON t (held_too(i))', 2);
	is($load->ask($by_auto), '5000|buffered|The table has an index that is not valid, "t_too".', 'a buffered load goes on beside CREATE INDEX CONCURRENTLY');
	open_gate();
	is($maker->wait . $maker->{error}, '', 'which ends well');
	sound('CREATE INDEX CONCURRENTLY and a buffered load');

	# a direct one waits for the table's lock, and the other one for all who look at it: one of
	# them is told so
	foreach my $sql ('CREATE INDEX CONCURRENTLY t_again ON t (held_too(i))', 'REINDEX INDEX CONCURRENTLY t_again')
	{
		my $name = "a direct load and $sql";

		fresh_table();
		$watch->ask('CREATE INDEX t_again ON t (held_too(i))') if $sql =~ /REINDEX/;
		$load->ask("SET deadlock_timeout = '1h'");
		$maker->ask("SET deadlock_timeout = '10ms'");
		start_held($maker, $sql, 2);
		$load->send(bulk_load('merge', 0));
		waits($load);
		open_gate();
		$maker->wait;
		is($maker->sqlstate, '40P01', "$name: one waits for the other's end") or diag "$maker->{error} $load->{err}";
		$load->wait;
		like($load->{error}, qr/0A000: the indexes of "t" cannot be merged\n.*has an index that is not valid, "t_again/, "$name: what it leaves");
		$watch->ask('DROP INDEX IF EXISTS t_again, t_again_ccnew');
		is($load->ask(bulk_load('merge', 0)), '5000', "$name: without the index that is not valid it works");
		sound($name);
	}
	$_->close foreach $load, $maker;
}

# ---- errors in the middle

# The indexes are as they were, and a load that goes well comes next.
sub fails
{
	my ($name, $sqlstate, $try) = @_;
	my $load = PgBulk::Session->new($node);

	$watch->ask("UPDATE t SET note = 'changed' WHERE i % 100 = 21");
	my $before = $watch->ask($views);
	my $files = files();
	$try->($load);
	like($load->sqlstate, $sqlstate, "$name: fails") or diag $load->{error};
	wait_for('the end of workers', sub { $watch->ask("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'") eq '0' });
	$load->close;
	is(files(), $files, "$name: the old files are there");
	is($watch->ask($views), $before, "$name: with what they had");
	is(join(' ', orphans($node)), '', "$name: and no others");
	is($watch->ask("SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND mode = 'ShareRowExclusiveLock'"), '0', "$name: no lock is left");
	sound($name);
}

my $odd = data_file('odd.csv', 1, join('', map { sprintf "%d,%d,text %d,new\n", $_, $_ % 600, $_ % 4000 } 10001 .. 15000, 17000));

foreach my $method (qw(merge rebuild insert))
{
	foreach my $workers (@WORKERS)
	{
		my $name = "$method, $workers workers";

		fresh_table();
		$watch->ask('CREATE INDEX t_throws ON t ((1000 / (i - 17000)))');
		fails("$name, an expression that throws", qr/^22012$/, sub {
			$_[0]->ask(bulk_load($method, $workers) =~ s/more\.csv/odd.csv/r);
		});
		# an error that is caught, and more in the same transaction
		my $again = PgBulk::Session->new($node);
		$again->ask('DO $$BEGIN
			BEGIN PERFORM 1 FROM (' . (bulk_load($method, $workers) =~ s/more\.csv/odd.csv/r) . ') x; EXCEPTION WHEN division_by_zero THEN NULL; END;
			DROP INDEX t_throws;
			PERFORM 1 FROM (' . bulk_load($method, $workers) . ') x; END$$');
		is($again->{error}, '', "$name: a load after an error that is caught");
		$again->close;
		is(rows_of($watch->ask($views)), 15000, "$name: all is found by all indexes");
		is(join(' ', orphans($node)), '', "$name: no file is left of it");
		sound("$name, an error that is caught");
	}
	fresh_table();
	foreach my $how ('cancel', 'terminate')
	{
		fails("$method, $how", $how eq 'cancel' ? qr/^57014$/ : qr/^57P01$/, sub {
			start_held($_[0], bulk_load($method, 2));
			$watch->ask("SELECT pg_${how}_backend($_[0]{pid})");
			$_[0]->wait;
			open_gate();
		});
	}
	# one that waits for readers
	my $reader = PgBulk::Session->new($node);
	$reader->ask('BEGIN; SELECT count(*) FROM t WHERE n = 5');
	fails("$method, a timeout", qr/^57014$/, sub {
		$_[0]->ask("BEGIN; SET LOCAL statement_timeout = '1s'; " . bulk_load($method, 0) . '; ROLLBACK');
	}) if swaps($method);
	$reader->close;

	# a worker that is lost while it makes an index: both wait there
	$watch->ask('DROP INDEX t_held; CREATE INDEX t_busy_n ON t (busy(i), n); CREATE INDEX t_busy_s ON t (busy(i), s); DROP INDEX t_n, t_i, t_s');
	fails("$method, a worker is lost", qr/^(?:57P01|55000)$/, sub {
		my ($load) = @_;
		my $worker;

		$load->send(bulk_load($method, 1));
		wait_for('a worker', sub {
			die "the load has no worker: $load->{err}" if $load->done;
			$worker = $watch->ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND wait_event = 'PgSleep' LIMIT 1");
			return $worker ne '';
		});
		is($watch->ask("SELECT pg_terminate_backend($worker)"), 't', "$method: a worker is ended");
		$load->wait;
	});
	append_to_file($open, '');
	is($watch->ask(bulk_load($method, 2)), '5000', "$method: the next load goes well");
	sound("$method, the next load");
	unlink $open;
}

# ---- serializable transactions: those that an INSERT would make fail fail

my @schedules = (
	[ 'both ways', '1: READ', '2: SELECT count(*) FROM elsewhere', '2: LOAD', '1: INSERT INTO elsewhere VALUES (1)', '1: COMMIT', '2: COMMIT' ],
	[ 'read by an index, committed before the load', '1: READ', '2: SELECT count(*) FROM elsewhere', '1: INSERT INTO elsewhere VALUES (1)', '1: COMMIT', '2: LOAD', '2: COMMIT' ],
	[ 'read before a load that lies between', '1: READ', '3: SELECT count(*) FROM elsewhere', '1: INSERT INTO elsewhere VALUES (1)', '1: COMMIT', 'LOAD', '3: WRITE', '3: COMMIT' ],
	[ 'read after the load', '2: SELECT count(*) FROM elsewhere', '2: LOAD', '2: COMMIT', '1: INSERT INTO elsewhere VALUES (1)', '1: READ', '1: COMMIT' ],
	[ 'one way only', '1: READ', '1: COMMIT', '2: LOAD', '2: COMMIT' ]);

# What becomes of each step.
sub play
{
	my ($load, @steps) = @_;
	my %transaction = map { $_ => PgBulk::Session->new($node) } 1 .. 4;
	my @seen;

	fresh_table();
	$watch->ask('TRUNCATE elsewhere');
	$transaction{$_}->ask('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM pg_database') foreach 1 .. 3;
	foreach (@steps)
	{
		my ($who, $what) = /^(?:(\d): )?(.*)$/;
		my $sql = { READ => 'SELECT count(i) FROM t WHERE n = 77', WRITE => "INSERT INTO t VALUES (500000, 77, 'x', 'x')", LOAD => $load }->{$what} // $what;
		my $session = $transaction{ $who // 4 };

		my $said = $session->ask($sql);
		push @seen, join(' ', $who // 'alone', $what eq 'LOAD' ? 'load' : $said, $session->sqlstate);
	}
	$_->close foreach values %transaction;
	return join(', ', @seen);
}

foreach (@schedules)
{
	my ($name, @steps) = @$_;
	my $copy = play("COPY t FROM '$more' (FORMAT csv)", @steps);

	like($copy, qr/40001/, "serializable, $name: one fails") unless $name =~ /one way/;
	foreach my $method (qw(merge rebuild insert))
	{
		# a reader that goes on would be waited for
		next if swaps($method) && $name eq 'both ways';
		is(play(bulk_load($method, 2), @steps), $copy, "serializable, $name, $method");
	}
}

# ---- foreign keys both ways

$node->safe_psql('postgres', q{
	CREATE TABLE a (i int PRIMARY KEY, b int);
	CREATE TABLE b (i int PRIMARY KEY, a int REFERENCES a);
	ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b;
	CREATE INDEX a_held ON a (held(i));
	CREATE INDEX b_held ON b (held(i))});
foreach my $method (qw(merge rebuild insert))
{
	foreach my $policy (qw(error keep_old keep_new))
	{
		my $name = "$method, $policy, foreign keys both ways";
		my ($load, $other) = map { PgBulk::Session->new($node) } 1 .. 2;
		my $file = data_file('both.csv', 1, join('', map { "$_," . ($_ % 1000 + 1) . "\n" } 12001 .. 13000));
		my $sql = sub { "SELECT rows_loaded FROM bulk_load('$_[0]', '$file', '" . direct(0, qq("indexes": "$method", "on_duplicate": "$policy")) . "')" };

		$watch->ask('TRUNCATE a, b; INSERT INTO a SELECT i FROM generate_series(1, 1000) i; INSERT INTO b SELECT i, i FROM generate_series(1, 1000) i; UPDATE a SET b = i');
		# both are in the middle, with their locks, but where each would have locked the indexes in which
		# the other looks for its rows; then one waits for the other's end
		start_held($load, 'BEGIN; ' . $sql->('a'));
		if (!swaps($method))
		{
			$other->send($sql->('b'));
			waits_for($other, 'the other load', "locktype = 'advisory'");
		}
		open_gate();
		is($load->wait . $load->{error}, '1000', "$name: a load");
		if (swaps($method))
		{
			$other->send($sql->('b'));
			waits($other);
		}
		$load->ask('COMMIT');
		is($other->wait . $other->{error}, '1000', "$name: another one");
		is($watch->ask('SELECT count(*), count(b) FROM a UNION ALL SELECT count(*), count(a) FROM b'), "2000|2000\n2000|2000", "$name: all rows");
		is($watch->ask("SELECT count(bt_index_parent_check(indexrelid, true, true)) FROM pg_index WHERE indrelid IN ('a'::regclass, 'b'::regclass)"), 4, "$name: the indexes are sound");
		$_->close foreach $load, $other;
	}
}

$_->close foreach $watch, $gate;
check_log($node, qr/57P01 FATAL:  terminating (?:background worker|connection)/);
check_tables($node);
done_testing();
