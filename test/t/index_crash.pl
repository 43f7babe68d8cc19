# The server is killed at chosen points of a load's index phase and of the
# removal of rows with the same key, and a standby gets the same: afterwards the
# table has all rows or none of the load, its indexes are intact, and no more
# files are left than by CREATE INDEX.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('index_crash', 'shared_buffers = 16MB', 'max_wal_size = 256MB',
	'enable_seqscan = off', 'wal_level = replica', 'max_wal_senders = 4');
my ($watch, $gate, $load, $other, @held);

# Whoever makes an index entry for row 12500 waits for a lock.
$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE FUNCTION held(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN
	IF i = 12500 THEN PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1); END IF;
	RETURN i;
	END$$;
	CREATE TABLE t (i int, n int, s text);
	CREATE UNIQUE INDEX t_i ON t (i);
	CREATE INDEX t_n ON t (n) INCLUDE (i);
	CREATE INDEX t_s ON t (s);
	CREATE INDEX t_held ON t (held(i));
	CREATE TABLE rejected (load_id bigint, target text, loaded_at timestamptz, file text, line_number bigint, byte_offset bigint,
		reason text, column_name text, field_value text, sqlstate text, message text, raw_line text, raw_bytes bytea)});

# Half of the rows of the second file are there already; nearly all of the third one are.
my %file = (
	new => data_file('new.csv', 1, join('', map { sprintf "%d,%d,text %d\n", $_, $_ % 600, $_ % 4000 } 10001 .. 15000)),
	half => data_file('half.csv', 1, join('', map { sprintf "%d,%d,text %d\n", $_, $_ % 600, $_ % 4000 } 8001 .. 13000)),
	twice => data_file('twice.csv', 1, join('', map { sprintf "%d,%d,text %d\n", $_, $_ % 600, $_ % 4000 } 1 .. 9000, 12500)));

my $views = q{SELECT string_agg(DISTINCT d, ' and ') FROM (
	SELECT format('%s rows, %s, %s', count(*), sum(i), sum(n) + 0 * sum(length(s))) AS d FROM t
	UNION ALL SELECT format('%s rows, %s, %s', count(s), sum(i), sum(n)) FROM t WHERE i > 0
	UNION ALL SELECT format('%s rows, %s, %s', count(*), sum(i), sum(n)) FROM t WHERE s > ''
	UNION ALL SELECT format('%s rows, %s, %s', count(*), sum(i), sum(n)) FROM t WHERE n >= 0) v};

sub sessions { ($watch, $gate, $load, $other) = map { PgBulk::Session->new($node) } 1 .. 4 }

sub bulk_load
{
	my ($method, $file, $more) = @_;

	return "SELECT rows_loaded FROM bulk_load('t', '$file{$file}', '" . direct(2, join(', ', qq("indexes": "$method", "log_verbosity": "silent"), $more // ())) . "')";
}

sub rows_before
{
	$watch->ask(q{TRUNCATE t, rejected;
		INSERT INTO t SELECT i, i % 500, 'text ' || i % 3000 FROM generate_series(1, 10000) i;
		UPDATE t SET n = n + 1 WHERE i % 10 = 3; DELETE FROM t WHERE i BETWEEN 2001 AND 2100});
	$watch->ask('VACUUM t');
	# these are gone before the load, for who comes now
	$watch->ask("UPDATE t SET n = n + 1 WHERE i % 100 = 5");
}

sub waits_for
{
	my ($condition) = @_;

	wait_for('a load that stands still', sub {
		die "the load is done too early: $load->{err}" if $load->done;
		return $watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $load->{pid} AND NOT granted AND $condition") eq '1';
	});
}

sub sound
{
	my ($name) = @_;

	is($watch->ask("SELECT count(bt_index_parent_check(indexrelid, true, true)) FROM pg_index WHERE indrelid = 't'::regclass"), '4', "$name: the indexes are sound");
	is_sound($node, 't', "$name: so is the heap");
}

# Where a load can be stopped: preparation, and how to see that it is there.
my %points = (
	'index phase' => sub {
		my ($sql) = @_;

		$gate->ask('SELECT pg_advisory_lock(1)');
		$load->send($sql);
		waits_for("locktype = 'advisory'");
	},
	'new files' => sub {
		my ($sql) = @_;

		$other->ask('BEGIN; SELECT count(*) FROM t WHERE n = 5');
		$load->send($sql);
		waits_for("mode = 'AccessExclusiveLock'");
	},
	'a row to be replaced' => sub {
		my ($sql) = @_;

		# somebody has locked one that is neither the first nor the last, and no index
		$other->ask("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off;
			PREPARE one AS SELECT 1 FROM t WHERE i = 9000 FOR KEY SHARE; EXECUTE one");
		$other->ask('BEGIN; EXECUTE one');
		$load->send($sql);
		waits_for("locktype IN ('transactionid', 'tuple')");
	},
	'rows have gone' => sub {
		my ($sql) = @_;
		my $next = PgBulk::Session->new($node);

		# the row is looked at once more, when the index is made again or by ANALYZE; who comes in
		# between lets the load do so only once
		$gate->ask('SELECT pg_advisory_lock(1)');
		$load->send($sql);
		waits_for("locktype = 'advisory'");
		$next->send('SELECT pg_advisory_lock(1)');
		wait_for('the next one to wait', sub { $watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $next->{pid} AND NOT granted") eq '1' });
		$gate->ask('SELECT pg_advisory_unlock(1)');
		$next->wait;
		waits_for("locktype = 'advisory'");
		push @held, $next;
	},
	'the end' => sub {
		my ($sql) = @_;

		$load->ask("BEGIN; $sql");
		is($load->{error}, '', 'a load, not committed');
	});

my $old = '"on_duplicate": "keep_old", "reject_table": "rejected", "analyze": true';
my $new = '"on_duplicate": "keep_new", "reject_table": "rejected"';
my @crashes = (
	[ 'index phase', 'merge', 'new' ], [ 'index phase', 'rebuild', 'new' ], [ 'index phase', 'insert', 'new' ],
	[ 'new files', 'merge', 'new' ], [ 'new files', 'rebuild', 'new' ],
	[ 'a row to be replaced', 'merge', 'half', $new ], [ 'a row to be replaced', 'rebuild', 'half', $new ], [ 'a row to be replaced', 'insert', 'half', $new ],
	[ 'rows have gone', 'merge', 'half', $old ], [ 'rows have gone', 'insert', 'half', $old ], [ 'rows have gone', 'merge', 'twice', $old ],
	[ 'the end', 'merge', 'half', $new ], [ 'the end', 'insert', 'half', $new ], [ 'the end', 'rebuild', 'twice', $old ]);

my $n = 0;
sessions();
foreach my $crash (@crashes)
{
	my ($point, $method, $file, $more) = @$crash;
	my $name = "$point, $method";
	my $sql = bulk_load($method, $file, $more);

	rows_before();
	my $before = $watch->ask($views);
	my @old_orphans = orphans($node);
	$points{$point}->($sql);
	# what the load has written so far is in the files, or in the log alone
	$watch->ask('CHECKPOINT') if $n++ % 2;
	kill_server($node);
	$_->close foreach $watch, $gate, $load, $other, splice @held;
	$node->start;
	sessions();

	is($watch->ask($views), $before, "$name: nothing of the load is there");
	sound($name);
	is($watch->ask('SELECT count(*) FROM rejected'), 0, "$name: nor are its rejects");
	my %old = map { $_ => 1 } @old_orphans;
	my @orphans = grep { !$old{$_} } orphans($node);
	# a crash of CREATE INDEX leaves the file of the index, and a rewrite that of the table
	cmp_ok(scalar @orphans, '<=', $method eq 'insert' ? 0 : $file eq 'twice' ? 8 : 4, "$name: files left behind")
	  or diag join ' ', @orphans;
	is(join(' ', glob($node->data_dir . '/base/pgsql_tmp/*')), '', "$name: and no temporary ones");

	$load->ask($sql);
	is($load->{error}, '', "$name: the next load goes well");
	my $after = $watch->ask($views);
	kill_server($node);
	$_->close foreach $watch, $gate, $load, $other;
	$node->start;
	sessions();
	is($watch->ask($views), $after, "$name: and outlives a crash");
	sound("$name, the next load");
}

# ---- a standby: who reads there sees the old rows and then the new ones

rows_before();
$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('index_standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\nhot_standby_feedback = on");
$standby->start;
my ($reader, $prepared, $look) = map { PgBulk::Session->new($standby) } 1 .. 3;
my $end;

$prepared->ask("SET plan_cache_mode = force_generic_plan; PREPARE views AS $views");
foreach my $case ([ 'merge', 'new' ], [ 'rebuild', 'new' ], [ 'insert', 'new' ], [ 'merge', 'half', $new ], [ 'rebuild', 'twice', $old ])
{
	my ($method, $file, $more) = @$case;
	my $name = "standby, $method, $file";

	rows_before();
	$node->wait_for_catchup($standby);
	my $before = $watch->ask($views);
	is($prepared->ask('EXECUTE views'), $before, "$name: before");
	$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
	is($reader->ask($views), $before, "$name: a reader");
	$load->ask(bulk_load($method, $file, $more));
	is($load->{error}, '', "$name: a load");
	if ($method ne 'insert')
	{
		# the standby waits for its reader before the indexes change
		wait_for('the standby to wait', sub {
			$look->ask(q{SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
				WHERE a.backend_type = 'startup' AND l.mode = 'AccessExclusiveLock' AND NOT l.granted}) eq '1'
			  || $look->ask("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'startup' AND wait_event_type = 'Lock'") eq '1';
		});
	}
	is($reader->ask($views), $before, "$name: the reader still sees the old rows");
	$reader->ask('COMMIT');
	is($reader->{error}, '', "$name: undisturbed");
	$node->wait_for_catchup($standby);
	$end = $watch->ask($views);
	is($reader->ask($views), $end, "$name: then it sees what the primary has");
	is($prepared->ask('EXECUTE views'), $end, "$name: so does a prepared statement");
	is($look->ask("SELECT count(bt_index_check(indexrelid, true)) FROM pg_index WHERE indrelid = 't'::regclass"), '4', "$name: the indexes there are sound");
}
# one that comes too late is undone there as well
$load->ask('BEGIN; ' . bulk_load('merge', 'new'));
$watch->ask('CHECKPOINT');
kill_server($node);
$_->close foreach $watch, $gate, $load, $other, $reader, $prepared, $look;
$standby->promote;
my $primary = $node;
$node = $standby;
sessions();
is($watch->ask($views), $end, 'promoted: what was committed is there, and no more');
sound('promoted');
$load->ask(bulk_load('merge', 'new', $new));
is($load->{error}, '', 'promoted: a load');
sound('promoted, a load');

$_->close foreach $watch, $gate, $load, $other;
check_log($primary, qr/not properly shut down/);
check_log($node, qr/57P03|08006|could not (?:receive data from WAL stream|connect to the primary server)|terminating walreceiver/);
check_tables($node);
done_testing();
