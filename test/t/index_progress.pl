# What other sessions see of the indexes that a load builds: pg_stat_progress_create_index has them, each in the
# process that builds it, while bulk_load_progress_wide and pg_stat_progress_copy remain correct.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = bulk_server('index_progress', 'max_parallel_workers = 8', 'statement_timeout = 300s');

# Whoever builds an index stops where lock number 1, or another one, is held at a row while the table is scanned; where 2 is,
# in a comparison while keys are sorted; where 3 is, while they go into leaves.
$node->safe_psql('postgres', q{
	CREATE FUNCTION pause(number int) RETURNS void PARALLEL SAFE LANGUAGE plpgsql AS
	$$BEGIN
	PERFORM pg_advisory_lock_shared(number); PERFORM pg_advisory_unlock_shared(number);
	END$$;
	CREATE FUNCTION at_row(i int, number int DEFAULT 1) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
	$$BEGIN
	IF i % 1000 = 501 THEN PERFORM public.pause(number); END IF;
	RETURN i;
	END$$;
	CREATE FUNCTION cmp(a int, b int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
	$$DECLARE seen text;
	BEGIN
	IF pg_catalog.current_setting('test.pauses', true) = 'on' AND (a % 20 = 0 OR b % 20 = 0) THEN
	PERFORM pg_catalog.pg_stat_clear_snapshot();
	SELECT phase INTO seen FROM pg_catalog.pg_stat_progress_create_index WHERE pid = pg_backend_pid();
	IF seen ~ 'sorting' THEN PERFORM public.pause(2); END IF;
	IF seen ~ 'loading' THEN PERFORM public.pause(3); END IF;
	END IF;
	RETURN pg_catalog.btint4cmp(a, b);
	END$$;
	CREATE OPERATOR CLASS slow_ops FOR TYPE int USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 cmp(int, int);
	CREATE TABLE t (i int, s text)});

# Each 100th row is bad, of the others some are filtered.
my $total = 4000;
my $path = data_file('rows.csv', 1, join '', map { sprintf "%s,%s\n", $_ % 100 == 99 ? 'bad' : $_, 'x' x 90 } 1 .. $total);
my $size = -s $path;
my ($rejected, $filtered) = (40, 400);
my $rows = $total - $rejected - $filtered;
my $options = '"on_error": "ignore", "log_verbosity": "silent", "where": "i % 10 <> 3"';

my $session = PgBulk::Session->new($node);
my $pid = $session->{pid};
my $watch = PgBulk::Session->new($node);
my $server_major = $node->pg_version->major;

sub hold { $watch->ask("SELECT pg_advisory_lock($_)") foreach @_; }
sub unlock { $watch->ask("SELECT pg_advisory_unlock($_)") foreach @_; }

# Waits until so many processes of the load wait for one of the locks.  Returns its number.
sub stands_at
{
	my ($numbers, $n) = @_;

	$n //= 1;
	return wait_for("lock $numbers", sub {
		die "the load has ended" if $session->done;
		my ($count, $number) = split /\|/, $watch->ask("SELECT count(*), min(objid) FROM pg_locks WHERE locktype = 'advisory' AND objid IN ($numbers) AND NOT granted");

		return $count == $n && $number;
	});
}

# What the server shows of indexes that are built, one line each.
sub builds
{
	my ($columns) = @_;
	return $watch->ask("SELECT $columns FROM (SELECT * FROM pg_stat_progress_create_index ORDER BY index_relid::regclass::text, pid) s");
}

my $nothing = 'lockers_total, lockers_done, current_locker_pid, partitions_total, partitions_done';
my $rate;

# What is shown of the load itself is complete and correct.
sub check_load
{
	my ($name, $phase) = @_;
	my @known = split /\|/, $watch->ask('SELECT phase, relation, datname, percent BETWEEN 0.1 AND 99.9, bytes_processed, bytes_total, rows_loaded, rows_rejected, rows_filtered, elapsed BETWEEN \'0\' AND \'1 hour\', eta >= \'0\', length(bar), rows_per_second '
		  . "FROM bulk_load_progress_wide WHERE pid = $pid");

	my $speed = pop @known;
	is(join('|', @known), "$phase|t|postgres|t|$size|$size|$rows|$rejected|$filtered|t|t|10", "$name: bulk_load_progress_wide");
	cmp_ok($speed, '>', 0, "$name: rows per second");
	cmp_ok(abs($speed - ($rate // $speed)), '<=', 1, "$name: as many as before");
	$rate = $speed;
	is($watch->ask('SELECT count(*) FROM bulk_load_progress_wide'), '1', "$name: one load");
}

sub check_copy
{
	my ($name) = @_;
	my $skipped = $server_major >= 17 ? ', tuples_skipped' : '';

	is($watch->ask("SELECT relid::regclass, command, type, bytes_processed, bytes_total, tuples_processed, tuples_excluded$skipped FROM pg_stat_progress_copy WHERE pid = $pid"),
		"t|COPY FROM|FILE|$size|$size|$rows|$filtered" . ($skipped ? "|$rejected" : ''), "$name: pg_stat_progress_copy");
}

sub no_progress
{
	my ($name) = @_;
	is($watch->ask('SELECT (SELECT count(*) FROM pg_stat_progress_create_index), (SELECT count(*) FROM pg_stat_progress_copy), (SELECT count(*) FROM bulk_load_progress_wide)'), '0|0|0', "$name: nothing is left");
}

sub load
{
	my ($workers, $more) = @_;
	return "SELECT rows_loaded FROM bulk_load('t', '$path', '" . direct($workers, join ', ', $options, $more // ()) . "')";
}

sub prepare
{
	$node->safe_psql('postgres', join '; ', 'TRUNCATE t', (map { "DROP INDEX IF EXISTS $_" } qw(a b i)), @_);
	undef $rate;
}

# Phase by phase, one process.
prepare('CREATE INDEX i ON t (at_row(i) slow_ops) WITH (fillfactor = 10)');
$session->ask(q{SET test.pauses = 'on'});
hold(1, 2, 3);
$session->send(load(0));

stands_at(1);
is(builds("pid, datname, relid::regclass, index_relid::regclass, command, phase, $nothing, tuples_total, tuples_done"),
	"$pid|postgres|t|i|REINDEX|building index: scanning table|0|0|0|0|0|0|0", 'scanning: as REINDEX');
my ($blocks, $done) = split /\|/, builds('blocks_total, blocks_done');
is($blocks, $watch->ask("SELECT pg_relation_size('t') / current_setting('block_size')::int"), 'scanning: blocks of the table');
cmp_ok($done, '<=', $blocks, "scanning: $done of them");
check_load('scanning', 'indexes');
is($watch->ask('SELECT count(*) FROM pg_stat_progress_copy'), '0', 'scanning: it is no COPY');
unlock(1);

stands_at(2);
is(builds("phase, blocks_total, blocks_done, tuples_total, tuples_done, $nothing"), "building index: sorting live tuples|$blocks|$blocks|$rows|0|0|0|0|0|0", 'sorting: all is scanned');
check_load('sorting', 'indexes');
unlock(2);

stands_at(3);
($done) = builds('tuples_done') =~ /^(\d+)$/;
is(builds("phase, blocks_total, blocks_done, tuples_total, $nothing"), "building index: loading tuples in tree|$blocks|$blocks|$rows|0|0|0|0|0", 'loading: rows to load');
cmp_ok($done, '<', $rows, "loading: $done of them are");
check_load('loading', 'indexes');
unlock(3);
is($session->wait, $rows, 'then all is loaded');
no_progress('after the load');
$session->ask(q{SET test.pauses = 'off'});

# Other access methods count for themselves.  One index comes after the other, and in between as well as afterwards the load
# is what it was.
foreach my $method ('hash (at_row(i))', 'gin ((array[at_row(i)]))', 'gist (int4range(at_row(i), NULL))', 'spgist (int4range(at_row(i), NULL))', 'brin (at_row(i))')
{
	my ($name) = $method =~ /^(\w+)/;

	prepare("CREATE INDEX a ON t USING $method", 'CREATE INDEX b ON t (at_row(i, 4))', 'CREATE TABLE parent (i int PRIMARY KEY)',
		"INSERT INTO parent SELECT i FROM generate_series(1, $total) i", 'ALTER TABLE t ADD FOREIGN KEY (i) REFERENCES parent');
	my $blocker = PgBulk::Session->new($node);
	my %seen;

	$blocker->ask("BEGIN; SELECT FROM parent WHERE i = $total FOR UPDATE");
	hold(1, 4);
	$session->send(load(0));
	foreach (1, 2)
	{
		my $number = stands_at('1, 4');
		my $index = builds('index_relid::regclass');

		is($index, $number == 1 ? 'a' : 'b', "$name: index $index");
		$seen{$index} = 1;
		is(builds("pid, relid::regclass, command, phase ~ '^building index', blocks_total, blocks_done BETWEEN 0 AND $blocks, tuples_done BETWEEN 0 AND $rows, $nothing"),
			"$pid|t|REINDEX|t|$blocks|t|t|0|0|0|0|0", "$name, index $index: how far it is");
		check_load("$name, index $index", 'indexes');
		unlock($number);
	}
	is(join(' ', sort keys %seen), 'a b', "$name: both were seen");
	wait_for('the check of the foreign key', sub { $watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $pid AND NOT granted") eq '1' });
	is(builds('*'), '', "$name, then: no index is built");
	check_load("$name, then", 'constraints');
	check_copy("$name, then");
	$blocker->ask('COMMIT');
	$blocker->close;
	is($session->wait, $rows, "$name: all is loaded");
	no_progress($name);
	$node->safe_psql('postgres', 'ALTER TABLE t DROP CONSTRAINT t_i_fkey; DROP TABLE parent');
}

# Percent does not decrease at the first block of a scan, for which the server
# reports that all blocks are done.
foreach my $method ('hash (at_number(i))', 'gin ((array[at_number(i)]))', 'brin (at_number(i))')
{
	my ($name) = $method =~ /^(\w+)/;
	my @percents;

	$node->safe_psql('postgres', q{
		CREATE OR REPLACE FUNCTION at_number(i int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
		$$BEGIN
		IF i = 1 THEN PERFORM public.pause(1); ELSIF i = 2001 THEN PERFORM public.pause(4); END IF;
		RETURN i;
		END$$});
	prepare("CREATE INDEX a ON t USING $method");
	hold(1, 4);
	$session->send(load(0));
	foreach my $number (1, 4)
	{
		stands_at($number);
		push @percents, $watch->ask("SELECT percent FROM bulk_load_progress_wide WHERE pid = $pid");
		unlock($number);
	}
	cmp_ok($percents[0], '<=', $percents[1], "$name: percent in the first block, and later");
	is($session->wait, $rows, "$name: all is loaded");
}

# In parallel: each process shows its own, and only the load's is a load.
foreach my $methods ([ 'btree', 'btree' ], [ 'hash', 'hash' ])
{
	my $name = "two of $methods->[0]";

	prepare("CREATE INDEX a ON t USING $methods->[0] (at_row(i))", "CREATE INDEX b ON t USING $methods->[1] (at_row(i, 4))");
	hold(1, 4);
	$session->send(load(1));
	stands_at('1, 4', 2);
	is(builds("relid::regclass, index_relid::regclass, command, phase ~ '^building index', blocks_total, blocks_done BETWEEN 0 AND $blocks, $nothing"),
		join("\n", map { "t|$_|REINDEX|t|$blocks|t|0|0|0|0|0" } 'a', 'b'), "$name: both are seen");
	is($watch->ask("SELECT count(*), count(*) FILTER (WHERE p.pid = $pid), count(*) FILTER (WHERE a.leader_pid = $pid) FROM pg_stat_progress_create_index p JOIN pg_stat_activity a USING (pid)"),
		'2|1|1', "$name: in the load's process and a worker");
	check_load($name, 'indexes');
	unlock(1, 4);
	is($session->wait, $rows, "$name: all is loaded");
	no_progress($name);
}

# One index by several processes: each shows how far all are.
{
	my $many = 240000;
	my $large = data_file('large.csv', 1, join '', map { sprintf "%s,%s\n", $_ * 7919 % 1000003, 'x' x 40 } 1 .. $many);

	# a sample of the rows is evaluated before
	$node->safe_psql('postgres', q{
		CREATE FUNCTION at_build(i int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
		$$BEGIN
		IF i % 1000 <> 501 THEN RETURN i; END IF;
		PERFORM pg_catalog.pg_stat_clear_snapshot();
		IF EXISTS (SELECT FROM pg_catalog.pg_stat_progress_create_index WHERE pid = pg_backend_pid()) THEN PERFORM public.pause(1); END IF;
		RETURN i;
		END$$});
	prepare('CREATE INDEX i ON t (at_build(i))');
	hold(1);
	$session->send("SELECT rows_loaded, details #> '{indexes,0,processes}' FROM bulk_load('t', '$large', '" . direct(1) . "')");
	stands_at(1, 2);
	my $large_blocks = $watch->ask("SELECT pg_relation_size('t') / current_setting('block_size')::int");
	is(builds("relid::regclass, index_relid::regclass, command, phase, blocks_total, blocks_done BETWEEN 0 AND $large_blocks, $nothing"),
		join("\n", ("t|i|REINDEX|building index: scanning table|$large_blocks|t|0|0|0|0|0") x 2), 'by two processes: both are seen');
	unlock(1);
	my ($samples, $late) = (0, 0);
	until ($session->done)
	{
		foreach (split /\n/, builds("phase, blocks_total, blocks_done, tuples_total, tuples_done"))
		{
			my ($phase, @counts) = split /\|/;

			$samples++;
			next if $counts[0] == $large_blocks && $counts[3] <= $many &&
			  ($phase =~ /scanning/ ? $counts[1] <= $large_blocks && $counts[2] == 0 && $counts[3] == 0 : $counts[1] == $large_blocks && $counts[2] == $many);
			$late = $_;
		}
	}
	is($late, 0, "by two processes: $samples times a look at it");
	is($session->wait, "$many|2", 'by two processes: all is loaded');
	no_progress('by two processes');
}

# Partitions: the load is that of the whole table, a worker shows the partition that it builds.
$node->safe_psql('postgres', q{
	CREATE TABLE p (i int, s text) PARTITION BY RANGE (i);
	CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (2000);
	CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (2000) TO (10000);
	CREATE INDEX ON p (at_row(i))});
foreach my $workers (0, 1)
{
	my $name = "partitions, $workers workers";

	$node->safe_psql('postgres', 'TRUNCATE p');
	hold(1);
	$session->send("SELECT rows_loaded, writer FROM bulk_load('p', '$path', '" . direct($workers, $options) . "')");
	stands_at(1, 1 + $workers);
	is(builds("relid::regclass = CASE WHEN pid = $pid THEN 'p' ELSE regexp_replace(index_relid::regclass::text, '_.*', '') END::regclass, index_relid::regclass::text ~ '^p[12]_', blocks_total > 0, $nothing"),
		join("\n", ('t|t|t|0|0|0|0|0') x (1 + $workers)), "$name: indexes are seen");
	is($watch->ask('SELECT pid, relation, phase, rows_loaded, rows_rejected, rows_filtered, bytes_processed FROM bulk_load_progress_wide'),
		"$pid|p|indexes|$rows|$rejected|$filtered|$size", "$name: bulk_load_progress_wide");
	unlock(1);
	is($session->wait, "$rows|direct", "$name: all is loaded");
	no_progress($name);
}

# New rows among old ones: blocks of the new rows, then those of the old file.
prepare('INSERT INTO t SELECT 3 * i FROM generate_series(1, 10000) i', 'CREATE INDEX i ON t (at_row(i) slow_ops) WITH (fillfactor = 10)');
my $old_blocks = $watch->ask("SELECT pg_relation_size('i') / current_setting('block_size')::int");
$session->ask(q{SET test.pauses = 'on'});
hold(1, 3);
$session->send(load(0, '"indexes": "merge"'));
stands_at(1);
is(builds("index_relid::regclass, phase, blocks_total, blocks_done BETWEEN 0 AND blocks_total"), "i|building index: scanning table|$blocks|t", 'merge: scanning the new rows');
check_load('merge', 'indexes');
unlock(1);
stands_at(3);
($done) = builds('blocks_done');
is(builds("phase, blocks_total, tuples_total, $nothing"), "building index: loading tuples in tree|$old_blocks|0|0|0|0|0|0", 'merge: with the old file');
cmp_ok($done, '<', $old_blocks, "merge: $done of its blocks");
check_load('merge, later', 'indexes');
unlock(3);
is($session->wait, $rows, 'merge: all is loaded');
no_progress('merge');
$session->ask(q{SET test.pauses = 'off'});

# Rows that are inserted build no index.
undef $rate;
hold(1);
$session->send(load(0, '"indexes": "insert"'));
stands_at(1);
is(builds('*'), '', 'insert: no index is built');
check_load('insert', 'indexes');
check_copy('insert');
unlock(1);
is($session->wait, $rows, 'insert: all is loaded');

# With the buffered writer entries wait and go in while it has not ended: so it is said of an index how many.
$node->safe_psql('postgres', q{
	CREATE FUNCTION cmp_waiting(a int, b int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
	$$BEGIN
	IF pg_catalog.current_setting('test.pauses', true) = 'on' AND (a = 3000 OR b = 3000) THEN
	PERFORM pg_catalog.pg_stat_clear_snapshot();
	IF (SELECT phase FROM public.bulk_load_progress_wide WHERE pid = pg_backend_pid()) = 'indexes' THEN PERFORM public.pause(5); END IF;
	END IF;
	RETURN pg_catalog.btint4cmp(a, b);
	END$$;
	CREATE OPERATOR CLASS waiting_ops FOR TYPE int USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 cmp_waiting(int, int)});
prepare('INSERT INTO t VALUES (0)', 'CREATE INDEX a ON t (i)', 'CREATE INDEX b ON t (i waiting_ops)');
$session->ask(q{SET test.pauses = 'on'});
hold(5);
$session->send("SELECT rows_loaded FROM bulk_load('t', '$path', '{\"writer\": \"buffered\", \"workers\": 0, $options}')");
stands_at(5);
is($watch->ask("SELECT phase, index, entries_total BETWEEN $rows AND 2 * $rows, entries_inserted BETWEEN entries_total / 2 AND entries_total, percent BETWEEN 0.1 AND 99.8, bytes_processed, rows_loaded FROM bulk_load_progress_wide WHERE pid = $pid"),
	"indexes|b|t|t|t|$size|$rows", 'buffered: entries of the second index go in');
is(builds('*'), '', 'buffered: no index is built');
check_copy('buffered');
unlock(5);
is($session->wait, $rows, 'buffered: all is loaded');
$session->ask(q{SET test.pauses = 'off'});

# In between more rows are read.
foreach my $workers (0, 1)
{
	my $many = data_file('many.csv', 1, join '', map { sprintf "%s,%s\n", $_ * 7919 % 1000003, 'x' x 40 } 1 .. 100000);
	my ($samples, $last, $wrong) = (0, 0, '');

	$session->ask(q{SET maintenance_work_mem = '1MB'});
	$session->send("SELECT rows_loaded FROM bulk_load('t', '$many', '{\"writer\": \"buffered\", \"workers\": $workers}')");
	until ($session->done)
	{
		my ($phase, $percent, $index, $total, $inserted) = split /\|/, $watch->ask("SELECT phase, coalesce(percent, 0), index, entries_total, entries_inserted FROM bulk_load_progress_wide WHERE pid = $pid"), -1;

		next unless defined $phase;
		$samples++;
		$wrong = "$phase $percent $index $total $inserted after $last"
		  if $percent < $last || ($index ne '' && ($phase ne 'indexes' || $inserted > $total));
		$last = $percent;
	}
	is($wrong, '', "buffered, $workers workers: $samples times a look at it");
	is($session->wait, 100000, "buffered, $workers workers: all is loaded");
}
$session->ask('RESET maintenance_work_mem');

# Errors in the middle leave nothing, at once.
prepare('CREATE UNIQUE INDEX i ON t ((at_row(i) / 2) slow_ops) WITH (fillfactor = 10)');
hold(9);
foreach my $workers (0, 1)
{
	$session->send("DO \$\$BEGIN PERFORM bulk_load('t', '$path', '" . direct($workers, $options) . "'); EXCEPTION WHEN unique_violation THEN PERFORM pause(9); END\$\$");
	stands_at(9);
	no_progress("after an error that was caught, $workers workers");
	$watch->ask("SELECT pg_cancel_backend($pid)");
	$session->wait;
	is($session->sqlstate, '57014', 'it was cancelled');
}
unlock(9);
foreach my $workers (0, 1)
{
	prepare('CREATE INDEX a ON t (at_row(i))', 'CREATE INDEX b ON t USING hash (at_row(i))');
	hold(1);
	$session->send(load($workers));
	stands_at(1, 1 + $workers);
	is(builds('count(*)'), 1 + $workers, "before a cancel, $workers workers: indexes are built");
	$watch->ask("SELECT pg_cancel_backend($pid)");
	$session->wait;
	is($session->sqlstate, '57014', 'it was cancelled');
	no_progress("after a cancel, $workers workers");
	unlock(1);
	is($session->ask(load($workers)), $rows, 'the next load is not bothered');
	no_progress('nor what is told of it');
}

# Without tracking.
prepare('CREATE INDEX i ON t (at_row(i))');
hold(1);
$session->send('SET track_activities = off; ' . load(0));
stands_at(1);
no_progress('track_activities off');
unlock(1);
is($session->wait, $rows, 'track_activities off: all is loaded');

$_->close foreach $session, $watch;
check_log($node);
check_tables($node);
done_testing();
