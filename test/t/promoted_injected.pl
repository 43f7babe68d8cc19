# A standby is promoted while loads of its primary are held, one at each injection point of a load: the new primary has none of
# their rows, its indexes are sound, and it takes the same loads and outlives a crash; of files that belong to nobody it has
# those at most that CREATE INDEX and TRUNCATE would leave there, too.  The old primary goes on with its loads, half of which
# are rolled back.
#
# Each round holds a load at each point; PGBULK_TEST_LONG has as many rounds as a point has kinds of loads.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('promoted_old');
server_init($primary, allows_streaming => 'logical');
$primary->append_conf('postgresql.conf', join("\n", "log_line_prefix = '%m [%p] %q%a %e '", 'log_statement = none', 'autovacuum = off', 'shared_buffers = 16MB', 'max_wal_size = 1GB',
		'wal_keep_size = 1GB', 'jit = off', 'max_connections = 30', 'max_worker_processes = 12', 'max_parallel_workers = 8'));
$primary->start;
if (!has_extension($primary, 'injection_points'))
{
	$primary->stop;
	plan skip_all => 'the server has no injection points';
}

# new rows between those that are there, which refer to keys here and there; with some that refer to none; rows that are
# there, those that were deleted, and others
my @new = grep { $_ % 3 } 1 .. 6000;
my @keys = map { 10 * $_ } grep { $_ % 400 < 100 } 1 .. 40000;
my $tall = data_file('tall.csv', 1, join('', map { "$_,$keys[ $_ * 7919 % @keys ],text of row $_\n" } @new));
my $orphan = data_file('orphan.csv', 1, join('', map { "$_," . ($_ % 1500 == 1 ? 11 : 10) . ",text of row $_\n" } @new));
my $half = data_file('half.csv', 1, join('', map { 3 * $_ . ",20,new $_\n" } 1 .. 1000, 2001 .. 3000));

$primary->safe_psql('postgres', q{
	CREATE EXTENSION pgbulk; CREATE EXTENSION injection_points; CREATE EXTENSION amcheck;
	CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE few (id int PRIMARY KEY); INSERT INTO few VALUES (10), (20);
	INSERT INTO p SELECT i * 10 FROM generate_series(0, 40000) i;
	CREATE TABLE elsewhere (i int)});

# Name; file and options; rows that it adds to 1980; files that are new; points at which it can be held.
my @direct = qw(pages-reserved indexes-built indexes-swapped rows-checked);
my @referenced = qw(lookup-no-leaf-locked referenced-entries-found);
my @loads = (
	[ 'rebuild', bulk_load($tall, '"writer": "direct", "indexes": "rebuild"'), 4000, 4, [ @direct, @referenced ] ],
	[ 'merge', bulk_load($tall, '"writer": "direct", "indexes": "merge", "workers": 2'), 4000, 2, \@direct ],
	[ 'insert', bulk_load($tall, '"writer": "direct", "indexes": "insert"'), 4000, 0, [qw(pages-reserved rows-checked)] ],
	[ 'truncate', bulk_load($tall, '"truncate": true, "indexes": "rebuild"'), 4000 - 1980, 11, \@direct ],
	[ 'buffered', bulk_load($tall, '"writer": "buffered"'), 4000, 0, [ 'rows-checked', 'insert-no-leaf-locked', @referenced ] ],
	[ 'keep_new', bulk_load($half, '"writer": "buffered", "on_duplicate": "keep_new"'), 1000 + 10, 0, [qw(rows-checked lookup-no-leaf-locked)] ],
	[ 'twice', bulk_load($orphan, '"on_error": "ignore", "writer": "direct", "indexes": "rebuild"'), 3996, 4, [qw(attempt-undone indexes-swapped)] ],
	[ 'partitions', bulk_load($tall, '"writer": "direct", "indexes": "rebuild"'), 4000, 8, \@direct ],
	[ 'partitions, twice', bulk_load($orphan, '"on_error": "ignore", "writer": "buffered"'), 3996, 0, [qw(attempt-undone rows-checked)] ],
	[ 'COPY', "SET LOCAL pgbulk.copy = on; SET LOCAL pgbulk.copy_min_size = 0; COPY %t FROM '$tall' (FORMAT csv)", 4000, 0, [qw(rows-checked insert-no-leaf-locked)] ]);

my %points;
foreach my $load (@loads)
{
	push @{ $points{$_} }, $load foreach @{ $load->[4] };
}

sub bulk_load
{
	my ($file, $options) = @_;
	return "SELECT rows_loaded FROM bulk_load('%t', '$file', '{\"log_verbosity\": \"silent\", $options}')";
}

sub fresh_table
{
	my ($t, $what) = @_;
	# only btrees can be merged
	my $others = $what eq 'merge' ? '' : "CREATE INDEX ON $t USING brin (p); CREATE INDEX ON $t USING hash (s);";
	# where few rows are referred to, it is not before the end that a bad row is found
	my $parent = $what =~ /twice/ ? 'few' : 'p';
	# rows whose keys subscribers have cannot be taken back by the direct writer
	my $key = $what eq 'twice' ? 'NOT NULL' : 'PRIMARY KEY';
	my $leaves = $what =~ /partitions/ ? " PARTITION BY RANGE (i); CREATE TABLE ${t}_1 PARTITION OF $t FOR VALUES FROM (0) TO (3000); CREATE TABLE ${t}_2 PARTITION OF $t FOR VALUES FROM (3000) TO (100000)" : '';

	$primary->safe_psql('postgres', qq{
		DROP TABLE IF EXISTS $t;
		CREATE TABLE $t (i int $key, p int REFERENCES $parent, s text)$leaves;
		CREATE INDEX ON $t (s); $others @{[ $what eq 'twice' ? "CREATE INDEX ON $t (i);" : '' ]}
		INSERT INTO $t SELECT i, 20, 'old ' || i FROM generate_series(3, 6000, 3) i;
		DELETE FROM $t WHERE i % 100 = 7});
}

# All rows of a table, as it and as its indexes have them.
sub contents
{
	my ($session, $t) = @_;

	return $session->ask(qq{
		SET enable_seqscan = on; SELECT count(*), sum(hashtext(x::text)::bigint) FROM $t x;
		SET enable_seqscan = off; SELECT count(*) FROM $t WHERE i > 0; SELECT count(*) FROM $t WHERE s > ''; SELECT count(*) FROM $t WHERE p >= 0; SELECT count(*) FROM $t WHERE s = 'old 1998'});
}

sub sound
{
	my ($node, $session, $name) = @_;

	$session->ask(q{SELECT count(bt_index_parent_check(c.oid, true, true)::text) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid
		WHERE c.relnamespace = 'public'::regnamespace AND indisvalid AND c.relkind = 'i' AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'btree')});
	is($session->{error}, '', "$name: indexes are sound");
}

# Has a load wait at its point.
sub hold
{
	my ($held, $watch) = @_;
	my ($session, $point) = @$held{qw(session point)};

	$session->ask("LOAD 'pgbulk'; SET client_min_messages = error; SET pgbulk.chunk_size = 16384; SELECT injection_points_set_local(); SELECT injection_points_attach('pgbulk-$point', 'wait')");
	$session->send("BEGIN; $held->{sql}");
	is(wait_for("$held->{name}: the load to wait", sub {
				$session->done ? 'done' : $watch->ask("SELECT 1 FROM pg_stat_activity WHERE pid = $session->{pid} AND wait_event = 'pgbulk-$point'") }),
		'1', "$held->{name}: the load waits") or diag $session->{err};
}

# The promoted server is as if the loads had never been.
sub promoted
{
	my ($standby, $round, $files, @held) = @_;
	my $session = PgBulk::Session->new($standby);
	my %left = map { /(\d+)/ => 1 } orphans($standby);
	my $new = 0;

	$session->ask("LOAD 'pgbulk'");

	foreach my $held (@held)
	{
		is(contents($session, $held->{t}), $held->{before}, "$held->{name}: nothing of the load is there");
		$new += $held->{files};
	}
	sound($standby, $session, "round $round, promoted");
	note "round $round: files left: " . scalar(keys %left) . " of $new";
	is(join(' ', grep { !$files->{$_} } sort keys %left), '', "round $round: no file is left that the loads have not made");
	cmp_ok(scalar(keys %left), '<=', $new, "round $round: and of these no more than CREATE INDEX and TRUNCATE make");

	foreach my $held (@held)
	{
		$session->ask("BEGIN; $held->{sql}; COMMIT");
		is($session->{error}, '', "$held->{name}: the same load there");
		$held->{after} = contents($session, $held->{t});
		like($held->{after}, qr/^@{[ 1980 + $held->{adds} ]}\|/, "$held->{name}: its rows");
	}
	sound($standby, $session, "round $round, loaded");
	$session->close;
	kill_server($standby);
	$standby->start;
	$session = PgBulk::Session->new($standby);
	is(contents($session, $_->{t}), $_->{after}, "$_->{name}: they outlive a crash") foreach @held;
	sound($standby, $session, "round $round, after a crash");
	is(join(' ', grep { /(\d+)/ && !$left{$1} } orphans($standby)), '', "round $round: no file is left by these");
	$session->close;
}

my $rounds = $ENV{PGBULK_TEST_LONG} ? (sort { $b <=> $a } map { scalar @$_ } values %points)[0] : 3;

foreach my $round (1 .. $rounds)
{
	my $standby = PostgreSQL::Test::Cluster->new("promoted_$round");
	my $watch = PgBulk::Session->new($primary);
	my $n = 0;
	my @held = map {
		my $kinds = $points{$_};
		my ($what, $sql, $adds, $files) = @{ $kinds->[ ($round - 1) % @$kinds ] };
		my $t = 't' . $n++;

		{ name => "round $round, $_, $what", what => $what, point => $_, t => $t, sql => $sql =~ s/%t/$t/r, adds => $adds, files => $files, session => PgBulk::Session->new($primary) }
	} sort keys %points;

	foreach my $held (@held)
	{
		fresh_table($held->{t}, $held->{what});
		$held->{before} = contents($watch, $held->{t});
	}
	$primary->backup("copy_$round");
	$standby->init_from_backup($primary, "copy_$round", has_streaming => 1);
	$standby->start;
	hold($_, $watch) foreach @held;

	# what the loads have written so far is in the standby's files, or its recovery would start before them
	$watch->ask('CHECKPOINT') if $round % 2;
	$watch->ask('INSERT INTO elsewhere VALUES (1)');
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
	$standby->safe_psql('postgres', 'CHECKPOINT') if $round % 2;
	my %files = map { /(\d+)/ => 1 } orphans($primary);
	$standby->promote;
	promoted($standby, $round, \%files, @held);

	# the old one goes on, too
	foreach my $i (0 .. $#held)
	{
		my ($session, $point, $name) = @{ $held[$i] }{qw(session point name)};
		my $commit = ($i + $round) % 2;

		$watch->ask("SELECT injection_points_detach('pgbulk-$point')");
		$watch->ask("SELECT injection_points_wakeup('pgbulk-$point')");
		$session->wait;
		is($session->{error}, '', "$name: the load goes on");
		$session->ask($commit ? 'COMMIT' : 'ROLLBACK');
		is(contents($watch, $held[$i]{t}), $commit ? $held[$i]{after} : $held[$i]{before}, "$name: it is " . ($commit ? 'committed' : 'rolled back'));
		$session->close;
	}
	sound($primary, $watch, "round $round, the old primary");
	$watch->close;
	is(join(' ', orphans($primary)), '', "round $round: no file is left on the old primary");
	check_log($standby, qr/57P0[13]|08006|could not (?:receive|send)|terminating walreceiver/);
	check_tables($standby);
	$standby->clean_node;
}

check_log($primary, qr/could not (?:receive|send)/);
check_tables($primary);
done_testing();
