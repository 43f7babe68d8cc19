# What others do to a table while a load of it is in one phase or another: when its pages are reserved and not yet written,
# its indexes built but not locked, or swapped, its rows checked, an attempt undone.  The load waits
# there at an injection point; the others do what they can, or wait for its locks until it has ended.  Afterwards all of the
# load is there, or nothing, its indexes find it, and no file is left.
#
# Each action of others meets half of the phases, each with one kind of load; all phases where PGBULK_TEST_LONG is set, and
# all kinds where PGBULK_TEST_ALL is.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('phases_injected', 'deadlock_timeout = 20ms', 'wal_level = logical', 'shared_buffers = 32MB', 'max_worker_processes = 12', 'max_parallel_workers = 8');
if (!has_extension($node, 'injection_points'))
{
	$node->stop;
	plan skip_all => 'the server has no injection points';
}

my $tall = data_file('tall.csv', 1, join('', map { "$_,1,text of row $_\n" } 2001 .. 6000));
my $orphan = data_file('orphan.csv', 1, join('', map { "$_," . ($_ % 1000 ? 1 : 99) . ",text of row $_\n" } 2001 .. 6000));
my $half = data_file('half.csv', 1, join('', map { "$_,1,new $_\n" } 1001 .. 3000));

$node->safe_psql('postgres', 'CREATE EXTENSION injection_points; CREATE EXTENSION amcheck; CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1), (2); CREATE TABLE elsewhere (i int)');
my ($other, $watch) = map { PgBulk::Session->new($node) } 1 .. 2;
my $load = loader();

sub loader
{
	my $session = PgBulk::Session->new($node);

	# COPY is a load where the library is loaded, also right after a session was ended
	$session->ask("LOAD 'pgbulk'");
	# once, as each call takes one of the few places for what is done at the end of a session
	$session->ask('SET client_min_messages = error; SELECT injection_points_set_local()');
	return $session;
}

# t has partitions, where a load is for these
sub fresh_tables
{
	my ($what) = @_;
	# rows of which old ones are replaced by it are not for decoding; only btrees can be merged
	my $unlogged = $what =~ /direct/ ? 'UNLOGGED ' : '';
	my $blocks = $what eq 'merge' ? '' : 'CREATE INDEX t_p ON t USING brin (p);';
	my $parted = $what =~ /partitions/;
	# rows whose keys subscribers have cannot be taken back by the direct writer
	my $key = $what eq 'twice' ? 'NOT NULL' : 'CONSTRAINT t_key PRIMARY KEY';
	my $leaves = $parted ? ' PARTITION BY RANGE (i); CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (3000); CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM (3000) TO (100000)' : '';

	$node->safe_psql('postgres', qq{
		DROP TABLE IF EXISTS t, t_1, t_2, refers;
		INSERT INTO p VALUES (1) ON CONFLICT DO NOTHING;
		CREATE ${unlogged}TABLE t (i int $key, p int, s text)$leaves;
		CREATE INDEX t_s ON t (s); $blocks @{[ $what eq 'twice' ? 'CREATE INDEX t_key ON t (i);' : '' ]}
		ALTER TABLE t ADD CONSTRAINT t_p_fkey FOREIGN KEY (p) REFERENCES p;
		INSERT INTO t SELECT i, 2, 'old ' || i FROM generate_series(1, 2000) i;
		DELETE FROM t WHERE i % 100 = 7});
}

# Name; statement; rows that it adds to 1980; phases in which it can be held.
my @direct = qw(pages-reserved indexes-built indexes-swapped rows-checked);
my @loads = (
	[ 'rebuild', bulk_load($tall, '"writer": "direct", "indexes": "rebuild"'), 4000, \@direct ],
	[ 'merge', bulk_load($tall, '"writer": "direct", "indexes": "merge", "workers": 2'), 4000, \@direct ],
	[ 'insert', bulk_load($tall, '"writer": "direct", "indexes": "insert"'), 4000, [qw(pages-reserved rows-checked)] ],
	[ 'buffered', bulk_load($tall, '"writer": "buffered"'), 4000, [qw(rows-checked insert-no-leaf-locked)] ],
	[ 'keep_new', bulk_load($half, '"writer": "buffered", "on_duplicate": "keep_new"'), 1000 + 10, [qw(rows-checked)] ],
	[ 'keep_new, direct', bulk_load($half, '"writer": "direct", "on_duplicate": "keep_new"'), 1000 + 10, [qw(pages-reserved indexes-built rows-checked)] ],
	[ 'twice', bulk_load($orphan, '"on_error": "ignore", "writer": "direct", "indexes": "rebuild"'), 3996, [qw(attempt-undone indexes-swapped)] ],
	[ 'partitions', bulk_load($tall, '"writer": "direct", "indexes": "rebuild"'), 4000, \@direct ],
	[ 'partitions, twice', bulk_load($orphan, '"on_error": "ignore", "writer": "buffered"'), 3996, [qw(attempt-undone rows-checked)] ],
	[ 'COPY', "SET LOCAL pgbulk.copy = on; SET LOCAL pgbulk.copy_min_size = 0; COPY t FROM '$tall' (FORMAT csv)", 4000, [qw(rows-checked insert-no-leaf-locked)] ]);

sub bulk_load
{
	my ($file, $options) = @_;
	return "SELECT rows_loaded FROM bulk_load('t', '$file', '{\"log_verbosity\": \"silent\", $options}')";
}

# the server's own provider of the tests
my $labels = -e $node->config_data('--pkglibdir') . '/dummy_seclabel.so';
note 'no labels are set: the server has no dummy_seclabel' if !$labels;

# What others do.  %leaf: a table with rows; %key: its key; %pid: who loads.
my @actions = (
	'DROP TABLE t', 'TRUNCATE t', 'DROP INDEX t_s', 'DROP INDEX CONCURRENTLY t_s', 'VACUUM t', 'VACUUM (FREEZE, INDEX_CLEANUP on) t', 'VACUUM FULL t', 'CLUSTER %leaf USING %key', 'ANALYZE t',
	'REINDEX TABLE t', 'REINDEX TABLE CONCURRENTLY t', 'CREATE INDEX t_new ON %leaf (s, i)', 'CREATE INDEX CONCURRENTLY t_new ON %leaf (s)',
	'ALTER TABLE t ADD COLUMN extra int DEFAULT 5', 'ALTER TABLE t ADD COLUMN extra float DEFAULT random()', 'ALTER TABLE t DROP COLUMN s', 'ALTER TABLE t ALTER p TYPE bigint', 'ALTER TABLE t ALTER s SET NOT NULL',
	'ALTER TABLE t ADD CONSTRAINT c CHECK (i < 5000)', 'ALTER TABLE t ADD CONSTRAINT c CHECK (i < 5000) NOT VALID', 'ALTER TABLE t DROP CONSTRAINT t_p_fkey', 'ALTER TABLE t DROP CONSTRAINT t_key', 'ALTER TABLE t RENAME TO renamed; ALTER TABLE renamed RENAME TO t',
	'ALTER TABLE t RENAME COLUMN s TO ss; ALTER TABLE t RENAME COLUMN ss TO s', 'ALTER TABLE %leaf SET UNLOGGED', 'ALTER TABLE %leaf SET (fillfactor = 50)', 'ALTER TABLE t REPLICA IDENTITY FULL',
	'CREATE TABLE refers (i int REFERENCES t)', 'CREATE PUBLICATION pub FOR TABLE t; DROP PUBLICATION pub',
	"INSERT INTO t VALUES (2500, 1, 'theirs')", "INSERT INTO t VALUES (50000, 1, 'theirs')", "UPDATE t SET s = 'updated' WHERE i BETWEEN 900 AND 1100", 'WITH d AS (DELETE FROM t WHERE i BETWEEN 900 AND 1100 RETURNING 1) SELECT count(*) FROM d', 'DELETE FROM p WHERE id = 1',
	'ALTER TABLE t DETACH PARTITION t_2', 'ALTER TABLE t DETACH PARTITION t_2 CONCURRENTLY', 'CREATE TABLE t_3 PARTITION OF t FOR VALUES FROM (100000) TO (200000)',
	($labels ? "LOAD 'dummy_seclabel'; SECURITY LABEL FOR dummy ON TABLE t IS 'classified'; SECURITY LABEL FOR dummy ON COLUMN t.s IS 'secret'" : ()),
	'SELECT pg_cancel_backend(%pid)', 'SELECT pg_terminate_backend(%pid)', 'CHECKPOINT', 'BEGIN; LOCK TABLE t; COMMIT', 'BEGIN; LOCK TABLE p; COMMIT');

sub rows { return $watch->ask('SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SET enable_seqscan = on; SELECT count(*) FROM t') }

# The load is held in the phase, and the other one does its action, or waits.
sub meet
{
	my ($kind, $phase, $action) = @_;
	my ($what, $sql, $adds) = @$kind;
	my $parted = $what =~ /partitions/;
	my $leaf = $parted ? 't_2' : 't';
	my $point = "pgbulk-$phase";
	my $name = "$what, $phase, $action";

	fresh_tables($what);
	$load->ask("SELECT injection_points_attach('$point', 'wait')");
	$load->send("BEGIN; $sql");
	my $held = wait_for("$name: the load to wait", sub { $load->done ? 'done' : $watch->ask("SELECT 1 FROM pg_stat_activity WHERE pid = $load->{pid} AND wait_event = '$point'") });
	if (!is($held, '1', "$name: the load waits"))
	{
		diag $load->{err};
		$load->wait;
		$load->ask('ROLLBACK');
		$load->ask("SELECT injection_points_detach('$point')");
		return;
	}
	my $done_by_other = $action =~ s/%pid/$load->{pid}/r =~ s/%leaf/$leaf/r =~ s/%key/@{[ $parted ? 't_2_pkey' : 't_key' ]}/r;
	$other->send($done_by_other);
	wait_for("$name: the other one", sub { $other->done || $watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $other->{pid} AND NOT granted") > 0 });
	my $early = $other->done;

	# one that was ended has taken its points along, and one that was cancelled waits no more
	$watch->ask("SELECT injection_points_detach('$point')") if $action !~ /terminate/;
	$watch->ask("SELECT injection_points_wakeup('$point')") if $action !~ /terminate|cancel/;
	$load->wait;
	my $state = $load->sqlstate;

	if ($state eq '57P01')
	{
		$load->close;
		$load = loader();
	}
	else
	{
		$load->ask($state ? 'ROLLBACK' : 'COMMIT');
		$state ||= $load->sqlstate;
	}
	my $out = $other->wait;
	my $theirs = $other->sqlstate;

	# a deadlock is resolved by the server; what was changed before the load could lock it may be an error of the load
	like($state, $action =~ /cancel/ ? qr/^57014$/ : $action =~ /terminate/ ? qr/^57P01$/ : qr/^(?:40P01|23505|23503)?$/, "$name: the load ends well") or diag $load->{error};
	unlike($theirs, qr/^XX/, "$name: so does the other one") or diag $other->{error};
	note "$name: " . ($early ? 'at once' : 'waited') . ", load '$state', other '$theirs'" if $state || $theirs;
	if ($watch->ask("SELECT to_regclass('t')") ne '')
	{
		my $rows = rows();
		# what others do first, a load of rows that are to replace theirs, or that need a key, does not do
		my $again = $early && $action =~ /VALUES \(2500/ && $what =~ /keep_new/;
		my $added = $state || ($early && !$theirs && $action =~ /FROM p/ && $what =~ /twice/) ? 0 : $adds;
		my $expected = 1980 + ($theirs ? $added :
			  $action =~ /TRUNCATE/ ? -1980 :
			  $action =~ /^INSERT/ && !$again ? $added + 1 :
			  $action =~ /DELETE FROM t/ ? $added - $out :
			  $action =~ /DETACH/ ? ($added ? 999 : 0) : $added);

		is($rows, $expected, "$name: rows");
		$watch->ask(q{SELECT count(bt_index_parent_check(c.oid, true, true)::text) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid
			WHERE indrelid IN (SELECT oid FROM pg_class WHERE relname ~ '^t(_\d)?$') AND indisvalid AND c.relkind = 'i' AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'btree')});
		is($watch->{error}, '', "$name: indexes are sound");
		is($watch->ask('SET enable_seqscan = off; SET enable_bitmapscan = on; SELECT count(*) FROM t WHERE p > 0'), $expected, "$name: the index of blocks finds them");
	}
	is(join(' ', orphans($node)), '', "$name: no file is left");
}

my $turn = int rand 100;
my $parity = 0;
foreach my $action (@actions)
{
	my %phases;

	foreach my $kind (@loads)
	{
		next if $action =~ /PARTITION/ && $kind->[0] !~ /partitions/;
		# the server refuses these for partitioned tables, or has no such
		next if $action =~ /CLUSTER|DROP INDEX CONC|SCHEMA|DROP CONSTRAINT/ && $kind->[0] =~ /partitions/;
		push @{ $phases{$_} }, $kind foreach @{ $kind->[3] };
	}
	$parity++;
	foreach my $phase (sort keys %phases)
	{
		my @kinds = @{ $phases{$phase} };

		next if $parity++ % 2 && !$ENV{PGBULK_TEST_LONG} && !$ENV{PGBULK_TEST_ALL};

		@kinds = $kinds[ $turn++ % @kinds ] unless $ENV{PGBULK_TEST_ALL};
		meet($_, $phase, $action) foreach @kinds;
	}
}

$_->close foreach $load, $other, $watch;
check_log($node, qr/57P01|DETAIL:  Key .* is still referenced/);
check_tables($node);
done_testing();
