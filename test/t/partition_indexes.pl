# Direct loads into partitioned tables with indexes: the server is killed at chosen points, a
# standby gets the same, others use leaves when their indexes change, and a thousand leaves
# take neither more memory nor more files than one.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('partition_indexes', 'shared_buffers = 16MB', 'max_wal_size = 256MB', 'deadlock_timeout = 100ms',
	'enable_seqscan = off', 'wal_level = replica', 'max_wal_senders = 4', 'max_locks_per_transaction = 256');
my ($watch, $gate, $load, $other);

# Whoever makes an index entry for row 12500 waits for a lock.  The fourth leaf gets rows of no load.
$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE FUNCTION held(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN
	IF i = 12500 THEN PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1); END IF;
	RETURN i;
	END$$;
	CREATE TABLE t (i int, n int, s text, k int) PARTITION BY LIST (k);
	CREATE TABLE t0 PARTITION OF t FOR VALUES IN (0);
	CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1);
	CREATE TABLE t2 PARTITION OF t FOR VALUES IN (2);
	CREATE TABLE t3 PARTITION OF t FOR VALUES IN (3);
	CREATE UNIQUE INDEX t_i ON t (i, k);
	CREATE INDEX t_n ON t (n) INCLUDE (i);
	CREATE INDEX t_s ON t (s);
	CREATE INDEX t2_held ON t2 (held(i));
	CREATE TABLE rejected (load_id bigint, target text, loaded_at timestamptz, file text, line_number bigint, byte_offset bigint,
		reason text, column_name text, field_value text, sqlstate text, message text, raw_line text, raw_bytes bytea)});

# Half of the rows of the second file are there already; nearly all of the third one are.
sub rows { return join('', map { sprintf "%d,%d,text %d,%d\n", $_, $_ % 600, $_ % 4000, $_ % 3 } @_) }
my %file = (
	new => data_file('new.csv', 1, rows(10001 .. 15000)),
	half => data_file('half.csv', 1, rows(8001 .. 13000)),
	twice => data_file('twice.csv', 1, rows(1 .. 9000, 12500)));

my $views = q{SELECT string_agg(DISTINCT d, ' and ') FROM (
	SELECT format('%s rows, %s, %s', count(*), sum(i), sum(n) + 0 * sum(length(s))) AS d FROM t
	UNION ALL SELECT format('%s rows, %s, %s', count(s), sum(i), sum(n)) FROM t WHERE i > 0
	UNION ALL SELECT format('%s rows, %s, %s', count(*), sum(i), sum(n)) FROM t WHERE s > ''
	UNION ALL SELECT format('%s rows, %s, %s', count(*), sum(i), sum(n)) FROM t WHERE n >= 0) v};
my $btrees = q{FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid AND c.relkind = 'i' WHERE i.indrelid IN (SELECT relid FROM pg_partition_tree('t'))};

sub sessions { ($watch, $gate, $load, $other) = map { PgBulk::Session->new($node) } 1 .. 4 }

sub bulk_load
{
	my ($method, $file, $more) = @_;

	return "SELECT rows_loaded FROM bulk_load('t', '$file{$file}', '" . direct(2, join(', ', qq("indexes": "$method", "log_verbosity": "silent"), $more // ())) . "')";
}

sub rows_before
{
	$watch->ask(q{TRUNCATE t, rejected;
		INSERT INTO t SELECT i, i % 500, 'text ' || i % 3000, i % 3 FROM generate_series(1, 10000) i;
		UPDATE t SET n = n + 1 WHERE i % 10 = 3; DELETE FROM t WHERE i BETWEEN 2001 AND 2100});
	$watch->ask('VACUUM t');
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

	is($watch->ask("SELECT count(bt_index_parent_check(i.indexrelid, true, true)) $btrees"), '13', "$name: the indexes are sound");
	is_sound($node, $_, "$name: so is $_") foreach qw(t0 t1 t2);
}

my %points = (
	'index phase' => sub {
		my ($sql) = @_;

		$gate->ask('SELECT pg_advisory_lock(1)');
		$load->send($sql);
		waits_for("locktype = 'advisory'");
	},
	'new files' => sub {
		my ($sql) = @_;

		$other->ask('BEGIN; SELECT count(*) FROM t1 WHERE n = 5');
		$load->send($sql);
		waits_for("mode = 'AccessExclusiveLock'");
	},
	'the end' => sub {
		my ($sql) = @_;

		$load->ask("BEGIN; $sql");
		is($load->{error}, '', 'a load, not committed');
	});

my $old = '"on_duplicate": "keep_old", "reject_table": "rejected"';
my $new = '"on_duplicate": "keep_new", "reject_table": "rejected"';
my $n = 0;
sessions();
foreach my $crash ([ 'index phase', 'merge', 'new' ], [ 'index phase', 'insert', 'new' ],
	[ 'new files', 'rebuild', 'new' ], [ 'new files', 'merge', 'half', $new ],
	[ 'the end', 'merge', 'half', $new ], [ 'the end', 'insert', 'half', $old ], [ 'the end', 'rebuild', 'twice', $old ])
{
	my ($point, $method, $file, $more) = @$crash;
	my $name = "$point, $method";
	my $sql = bulk_load($method, $file, $more);

	rows_before();
	my $before = $watch->ask($views);
	my %old = map { $_ => 1 } orphans($node);
	$points{$point}->($sql);
	$watch->ask('CHECKPOINT') if $n++ % 2;
	kill_server($node);
	$_->close foreach $watch, $gate, $load, $other;
	$node->start;
	sessions();

	is($watch->ask($views), $before, "$name: nothing of the load is there");
	sound($name);
	my @orphans = grep { !$old{$_} } orphans($node);
	# as a crash of CREATE INDEX leaves the file of the index
	cmp_ok(scalar @orphans, '<=', $method eq 'insert' ? 0 : $file eq 'twice' ? 20 : 10, "$name: files left behind")
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

# ---- others at the leaves

my $methods = sub {
	my ($more) = @_;
	return "SELECT string_agg(DISTINCT concat_ws(' ', i ->> 'table', i ->> 'method', i ->> 'reason'), ', ') FROM bulk_load('t', '$file{new}', '" . direct(0, $more)
	  . "'), jsonb_array_elements(details -> 'indexes') i";
};

# who reads one leaf has it waited for, and the others are not held meanwhile
rows_before();
$other->ask('BEGIN; SELECT count(*) FROM t2 WHERE n = 5');
$load->send(bulk_load('rebuild', 'new'));
waits_for("mode = 'AccessExclusiveLock'");
is($gate->ask("SET statement_timeout = '10s'; SELECT count(*) > 0 FROM t0 WHERE n = 7"), 't', 'another leaf is read meanwhile');
is($other->ask('SELECT count(*) > 0 FROM t1 WHERE n = 7'), 't', 'by the one that is waited for, too');
# a leaf that gets no rows is not locked
is($watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $load->{pid} AND relation IN (SELECT indexrelid FROM pg_index WHERE indrelid = 't3'::regclass)"), '0', 'a leaf without new rows is left alone');
$other->ask('COMMIT');
is($load->wait, '5000', 'then the load continues');
sound('readers of leaves');

# who reads one and then waits for the load has all of them inserted into; where rows may go again, they get new files if they can
rows_before();
$other->ask('BEGIN; SELECT count(*) FROM t1 WHERE n = 5');
$load->send($methods->('"log_verbosity": "silent", "on_duplicate": "keep_old"'));
waits_for("mode = 'AccessExclusiveLock'");
$other->send("INSERT INTO t0 VALUES (20000, 1, 'x', 0)");
my $got = $load->wait;
is($load->{error}, '', 'a load that others wait for');
is(join(',', $got =~ /(t\d) insert others who use it are not done in time/g), 't0,t1,t2', 'gives up the new files of all leaves');
unlike($got, qr/merge|rebuild/, 'and keeps none');
$other->wait;
is($other->{error}, '', 'and these go on');
$other->ask('COMMIT');
sound('given up');
is($watch->ask('SELECT count(*) FROM t WHERE i > 10000'), '5001', 'all rows are there');

# ---- a standby

rows_before();
$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('partition_standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\nhot_standby_feedback = on");
$standby->start;
my ($reader, $look) = map { PgBulk::Session->new($standby) } 1 .. 2;

foreach my $case ([ 'merge', 'new' ], [ 'rebuild', 'half', $new ], [ 'insert', 'new' ], [ 'rebuild', 'twice', $old ])
{
	my ($method, $file, $more) = @$case;
	my $name = "standby, $method, $file";

	rows_before();
	$node->wait_for_catchup($standby);
	my $before = $watch->ask($views);
	$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
	is($reader->ask($views), $before, "$name: a reader");
	$load->ask(bulk_load($method, $file, $more));
	is($load->{error}, '', "$name: a load");
	is($reader->ask($views), $before, "$name: the reader still sees the old rows");
	$reader->ask('COMMIT');
	is($reader->{error}, '', "$name: undisturbed");
	$node->wait_for_catchup($standby);
	is($reader->ask($views), $watch->ask($views), "$name: then it sees what the primary has");
	is($look->ask("SELECT count(bt_index_check(i.indexrelid, true)) $btrees"), '13', "$name: the indexes there are sound");
}
$_->close foreach $reader, $look;
$standby->stop;

# ---- many leaves

$node->safe_psql('postgres', q{
	CREATE TABLE many (id int, k int, v text, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
	CREATE INDEX ON many (v);
	CREATE INDEX ON many (lower(v))});
$node->safe_psql('postgres', join(';', map { "CREATE TABLE many_$_ PARTITION OF many FOR VALUES IN ($_)" } @$_))
  foreach map { [ $_ * 100 .. $_ * 100 + 99 ] } 0 .. 9;
my $many = data_file('many.csv', 1, join('', map { sprintf "%d,%d,value %d\n", $_, $_ % 997, $_ * 7919 % 100003 } 1 .. 100000));

# Most memory and open files of a session that does this.
sub needs
{
	my ($sql) = @_;
	my $session = PgBulk::Session->new($node);
	my $files = 0;
	my $now_used = sub {
		open(my $f, '<', "/proc/$session->{pid}/status") or return 0;
		my %kb = map { /^(RssAnon):\s*(\d+)/ } <$f>;
		return $kb{RssAnon} // 0;
	};
	my $memory = 0;

	$session->ask("SET client_min_messages = warning; SET maintenance_work_mem = '4MB'; SELECT count(*) FROM many");
	$session->send($sql);
	until ($session->done)
	{
		my $now = $now_used->();
		my @fds = glob "/proc/$session->{pid}/fd/*";

		$memory = $now if $now > $memory;
		$files = @fds if @fds > $files;
		select undef, undef, undef, 0.005;
	}
	$session->wait;
	is($session->{error}, '', "no error of $sql");
	$session->close;
	note "$memory kB, $files files: $sql";
	return ($memory, $files);
}
$watch->ask("ALTER SYSTEM SET max_files_per_process = 100");
$_->close foreach $watch, $gate, $load, $other;
$node->restart;
$watch = PgBulk::Session->new($node);
my ($copy_memory) = needs("COPY many FROM '$many' (FORMAT csv)");
$watch->ask('TRUNCATE many');
foreach my $options (direct(0), direct(2), direct(0, '"on_duplicate": "keep_old"'), direct(2, '"indexes": "merge", "on_duplicate": "keep_new"'))
{
	my ($memory, $files) = needs("SELECT FROM bulk_load('many', '$many', '$options')");

	# most of it is the relcache of so many tables
	cmp_ok($memory, '<', $copy_memory * 1.3 + 24 * 1024, "memory for many leaves, $options");
	cmp_ok($files, '<', 150, "files for many leaves, $options");
	is($watch->ask('SELECT count(*), count(DISTINCT tableoid) FROM many'), '100000|997', "all rows are there, $options");
	$watch->ask('TRUNCATE many') if $options !~ /keep_old|workers": 2}/ && $options !~ /merge/;
}
is($watch->ask(q{SELECT count(bt_index_parent_check(i.indexrelid, true, true)) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid AND c.relkind = 'i'
	WHERE i.indrelid IN (SELECT relid FROM pg_partition_tree('many'))}), '3000', 'all indexes are sound');

$watch->close;
check_log($node, qr/not properly shut down/);
check_log($standby, qr{terminating walreceiver});
check_tables($node);
done_testing();
