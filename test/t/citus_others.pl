# Loads into tables of Citus beside others who write to the same shards, change the tables, or move shards: each waits
# for the other where Citus's own COPY would, and all copies of a shard have the same rows afterwards.
#
# Skipped where Citus is not installed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($main, @workers) = citus_servers('citus_others');
my @nodes = ($main, @workers);

# One session on each node for all questions: they are many.
my %asker;

sub ask
{
	my ($sql, $node) = @_;
	my $name = ($node // $main)->name;

	$asker{$name} //= PgBulk::Session->new($node // $main);
	my $out = $asker{$name}->ask($sql);
	die "$sql: $asker{$name}->{error}" if $asker{$name}->{error} =~ /ERROR|FATAL/;
	return $out;
}

sub ask_as_loader { my ($sql) = @_; return $main->safe_psql('postgres', "SET ROLE loader; $sql"); }

sub error_of
{
	my ($sql, $node) = @_;
	my ($rc, $out, $err) = ($node // $main)->psql('postgres', $sql);
	return $err;
}

# How many processes wait for a lock, on all nodes.
sub waiting
{
	my $n = 0;

	$n += ask('SELECT count(*) FROM pg_locks WHERE NOT granted', $_) foreach @nodes;
	return $n;
}

# Whether the session waits for a lock on some node, or is done before.  No other one may wait meanwhile.
sub waits
{
	my ($session) = @_;

	wait_for('a session to wait, or to end', sub { $session->done || waiting() });
	return !$session->done;
}

# Whether it goes on, whatever waits for a moment meanwhile.
sub goes_on { my ($session) = @_; return eval { wait_for('a session to end', sub { $session->done }); 1 } // 0; }

# A load that stands before its end goes on: it commits behind the step 'committed', and fails before it.
sub go_on
{
	my ($loader) = @_;

	ask("SELECT pg_cancel_backend($loader->{pid})", $loader->{node});
	$loader->wait;
	$loader->ask('RESET pgbulk.debug_two_phase');
}

# A session, one for each node, that loads and stands at that step.
my %loader;

sub begin
{
	my ($sql, $step, $node) = @_;

	$node //= $main;
	$loader{ $node->name } //= PgBulk::Session->new($node);
	$loader{ $node->name }{node} = $node;
	return load_until($node, $sql, $step, $loader{ $node->name });
}

# ---- tables ----

ask(q{CREATE TABLE t (k int PRIMARY KEY, s text, n int DEFAULT 0); SELECT create_distributed_table('t', 'k');
	CREATE TABLE r (k int PRIMARY KEY, s text, n int DEFAULT 0); SELECT create_reference_table('r');
	SET citus.shard_replication_factor = 2; CREATE TABLE c (k int PRIMARY KEY, s text, n int DEFAULT 0); SELECT create_distributed_table('c', 'k', colocate_with => 'none');
	RESET citus.shard_replication_factor});
is(ask(q{SELECT repmodel FROM pg_dist_partition WHERE logicalrelid = 'c'::regclass}), 'c', 'a table of which each shard has copies');

my $file = data_file('rows.csv', 1, join('', map { "$_,loaded\n" } 1 .. 1000));
my %load = map { $_ => qq{SELECT rows_loaded FROM bulk_load('$_', '$file', '{"columns": ["k", "s"]}')} } qw(t r c);

# How many rows the table has, and the sum of n; all copies of each shard are the same.
sub contents
{
	my ($table, $name) = @_;
	my $hash = q{SELECT md5(coalesce(string_agg(x::text, ',' ORDER BY x::text), '')) FROM %s x};

	is(ask("SELECT count(*) FROM (SELECT shardid FROM run_command_on_placements('$table', \$\$$hash\$\$) GROUP BY shardid HAVING count(DISTINCT result) > 1 OR NOT bool_and(success)) q"),
		'0', "$name: all copies are the same") if $table ne 't';
	return ask("SELECT count(*) || ' ' || coalesce(sum(n), 0) FROM $table");
}

# A statement that has waited has an older snapshot for a copy that is here, whoever it has waited for: it must not take it.
my $other = PgBulk::Session->new($main);
$other->ask('SET citus.enable_local_execution = off');

# As it was: one row.
sub refill { my ($table) = @_; ask("DELETE FROM $table; INSERT INTO $table (k, s) VALUES (2000, 'old')"); }

# Statements of others: what they do, for which tables they wait behind a load, and a load behind them, and the rows and the
# sum of n where the load commits first, where it fails, and where it comes second.
my @statements = (
	[ 'UPDATE of a row', 'UPDATE %t SET n = n + 1 WHERE k = 2000', 'rc', '1001 1', '1 1', '1001 1' ],
	[ 'UPDATE of all rows', 'UPDATE %t SET n = n + 1', 'rc', { t => '1001 1', r => '1001 1001', c => '1001 1001' }, '1 1', '1001 1' ],
	[ 'DELETE of all rows', 'DELETE FROM %t', 'rc', { t => '1000 0', r => '0 0', c => '0 0' }, '0 0', '1000 0' ],
	[ 'INSERT of a row', 'INSERT INTO %t VALUES (3000)', 'none', '1002 0', '2 0', '1002 0' ],
	[ 'INSERT ... ON CONFLICT', "INSERT INTO %t VALUES (2000, 'other') ON CONFLICT (k) DO UPDATE SET n = %t.n + 10", 'rc', '1001 10', '1 10', '1001 10' ],
	[ 'COPY', "COPY %t FROM PROGRAM 'echo 3001,text,5' WITH (FORMAT csv)", 'none', '1002 5', '2 5', '1002 5' ],
	[ 'TRUNCATE', 'TRUNCATE %t', 'trc', '0 0', '0 0', '1000 0' ],
	[ 'ALTER TABLE', 'ALTER TABLE %t ALTER n SET DEFAULT 7', 'trc', '1001 0', '1 0', '1001 7000' ]);

foreach my $table (qw(t r c))
{
	foreach my $statement (@statements)
	{
		my ($what, $pattern, $waiting, $first, $failed, $second) = @$statement;
		my $name = "$table: $what";
		my $shall_wait = $waiting =~ /$table/ ? 1 : 0;

		(my $sql = $pattern) =~ s/%t/$table/g;
		foreach my $step ('committed', 'prepare')
		{
			my $commits = $step eq 'committed';

			refill($table);
			my $loader = begin($load{$table}, $step);

			$other->send($sql);
			ok($shall_wait ? waits($other) : goes_on($other), "$name behind a load: whether it waits");
			go_on($loader);
			$other->wait;
			is($other->{error}, '', "$name behind a load: goes on");
			is(contents($table, $name), $commits ? (ref $first ? $first->{$table} : $first) : $failed, "$name behind a load that " . ($commits ? 'commits' : 'fails'));
			ask("ALTER TABLE $table ALTER n SET DEFAULT 0") if $what eq 'ALTER TABLE';
		}

		refill($table);
		my $loader = $loader{ $main->name };

		$other->ask("BEGIN; $sql");
		is($other->{error}, '', "$name before a load");
		$loader->send($load{$table});
		ok($shall_wait ? waits($loader) : goes_on($loader), "a load behind $name: whether it waits");
		$other->ask('COMMIT');
		$loader->wait;
		is($loader->{error}, '', "a load behind $name: goes on");
		is(contents($table, $name), $second, "a load behind $name: all rows");
		ask("ALTER TABLE $table ALTER n SET DEFAULT 0") if $what eq 'ALTER TABLE';
	}
}
nothing_left('statements', @nodes);

# An UPDATE here that has waited takes the snapshot from before for the copy of a reference table that is here: also behind COPY.
$other->ask('RESET citus.enable_local_execution');
foreach my $behind ('COPY', 'a load')
{
	refill('r');
	my $loader = $behind eq 'COPY' ? $loader{ $main->name } : begin($load{r}, 'committed');

	$loader->ask("BEGIN; COPY r (k, s) FROM '$file' WITH (FORMAT csv)") if $behind eq 'COPY';
	$other->send('UPDATE r SET n = n + 1');
	ok(waits($other), "UPDATE of a reference table waits for $behind");
	$behind eq 'COPY' ? $loader->ask('COMMIT') : go_on($loader);
	$other->wait;
	is(ask(q{SELECT string_agg(DISTINCT result, ',') FROM run_command_on_placements('r', 'SELECT sum(n) FROM %s')}), '1,1001', "UPDATE behind $behind: copies differ");
}

# ---- the same row ----

{
	refill('t');
	my $loader = begin($load{t}, 'committed');

	$other->send(q{INSERT INTO t VALUES (5, 'other') ON CONFLICT (k) DO UPDATE SET n = t.n + 10});
	ok(waits($other), 'INSERT ... ON CONFLICT of a row that is loaded waits');
	go_on($loader);
	$other->wait;
	is($other->{error}, '', 'and goes on');
	is(ask('SELECT s, n FROM t WHERE k = 5'), 'loaded|10', 'with the row that was loaded');

	refill('t');
	$other->ask(q{BEGIN; INSERT INTO t VALUES (5, 'other')});
	$loader->send($load{t});
	ok(waits($loader), 'a load of a row that is inserted waits');
	$other->ask('COMMIT');
	$loader->wait;
	like($loader->{error}, qr{23505: duplicate key value violates unique constraint "t_pkey_\d+".*line 5$}sm, 'and fails');
	refill('t');
	$other->ask(q{BEGIN; INSERT INTO t VALUES (5, 'other')});
	$loader->send($load{t});
	ok(waits($loader), 'a load of a row that is inserted waits');
	$other->ask('ROLLBACK');
	$loader->wait;
	is($loader->{error}, '', 'and goes on');

	# who waits for the load has what the load waits for: neither server sees both; again where the load's time was over before
	# the other one waited
	foreach my $seconds (1, 5, 20)
	{
		refill('t');
		$other->ask(q{BEGIN; INSERT INTO t VALUES (5, 'other')});
		$loader->send("SET lock_timeout = '${seconds}s'; $load{t}");
		ok(waits($loader), 'a load waits');
		$other->send('TRUNCATE t; COMMIT');
		my $both = eval { wait_for('both to wait', sub { die if $loader->done; waiting() > 1 }); };
		$loader->wait;
		like($loader->{error}, qr{lock timeout.*server }s, 'lock_timeout ends a deadlock');
		$other->wait;
		is($other->{error}, '', 'so that the other one goes on');
		last if $both;
	}
	$loader->ask('RESET lock_timeout');
}
nothing_left('the same row', @nodes);

# ---- by another node: its tables are locked on all ----

foreach my $case ([ $workers[0], $main ], [ $main, $workers[0] ], [ $workers[0], $workers[1] ])
{
	my ($of_load, $of_other) = @$case;
	my $name = 'load at ' . $of_load->name . ', TRUNCATE at ' . $of_other->name;

	foreach my $table (qw(t r))
	{
		refill($table);
		my $truncates = PgBulk::Session->new($of_other);
		my $loader = begin($load{$table}, 'committed', $of_load);

		$truncates->send("TRUNCATE $table");
		ok(waits($truncates), "$name, $table: it waits");
		go_on($loader);
		$truncates->wait;
		is($truncates->{error}, '', "$name, $table: and goes on");
		is(contents($table, $name), '0 0', "$name, $table: the rows");
		$truncates->close;
	}
}

# ---- shards that are moved by a rebalance, and copied to a new node ----

{
	my $placements = q{SELECT string_agg(shardid || ' ' || nodeport, ',' ORDER BY shardid) FROM pg_dist_shard_placement WHERE shardid IN (SELECT shardid FROM pg_dist_shard WHERE logicalrelid = 't'::regclass)};

	# all on one node, from where half of them go back
	refill('t');
	foreach my $shard (split /\n/, ask(sprintf(q{SELECT shardid FROM pg_dist_shard_placement JOIN pg_dist_shard USING (shardid) WHERE logicalrelid = 't'::regclass AND nodeport = %d}, $workers[1]->port)))
	{
		ask(sprintf(q{SELECT citus_move_shard_placement(%d, '%s', %d, '%s', %d, 'block_writes')}, $shard, map { ($_->host, $_->port) } @workers[1, 0]));
	}
	my $before = ask($placements);
	my $mover = PgBulk::Session->new($main);
	my $loader = begin($load{t}, 'committed');

	$mover->send(q{SELECT rebalance_table_shards('t', shard_transfer_mode => 'block_writes')});
	ok(waits($mover), 'a rebalance waits for a load');
	go_on($loader);
	$mover->wait;
	unlike($mover->{error}, qr{ERROR}, 'and goes on');
	is(contents('t', 'rebalance'), '1001 0', 'with all rows');
	isnt(ask($placements), $before, 'shards have moved');
	ask(q{DELETE FROM t WHERE k < 2000});
	is(ask($load{t}), '1000', 'a load finds them');
	is(contents('t', 'rebalance'), '1001 0', 'with all rows');
}

# ---- users, whose passwords Citus keeps ----

{
	foreach my $node (@nodes)
	{
		my $hba = $node->data_dir . '/pg_hba.conf';
		my $rules = slurp_file($hba);

		open(my $out, '>', $hba) or die;
		print $out "local all loader scram-sha-256\n$rules";
		close $out;
	}
	ask(q{CREATE ROLE loader LOGIN PASSWORD 'secret'; GRANT pg_read_server_files TO loader; GRANT INSERT, SELECT ON t TO loader; TRUNCATE t});
	$_->reload foreach @nodes;
	wait_for('the rules', sub { error_of("SET ROLE loader; $load{t}") =~ /could not connect to server/ });
	like(error_of("SET ROLE loader; $load{t}"), qr{could not connect to server "[^"]*".*no password supplied}s, 'a user without a password');
	ask(q{INSERT INTO pg_dist_authinfo VALUES (0, 'loader', 'password=secret')});
	is(ask_as_loader($load{t}), '1000', 'one whose password is in pg_dist_authinfo');
	ask(sprintf(q{INSERT INTO pg_dist_authinfo SELECT nodeid, 'loader', 'password=wrong' FROM pg_dist_node WHERE nodeport = %d}, $workers[0]->port));
	like(error_of("SET ROLE loader; $load{t}"), qr{could not connect to server "[^"]*".*password authentication failed}s, 'one with another for a node, which is wrong');
	ask(q{DELETE FROM pg_dist_authinfo});
}

# ---- everything is as Citus wants it ----

nothing_left('in the end', @nodes);
is(ask('SELECT bool_and(result) FROM citus_check_cluster_node_health()'), 't', 'the nodes are well');
is(ask('SELECT recover_prepared_transactions()'), '0', 'nothing is left for Citus to recover');
is(ask('SELECT count(*) FROM pg_dist_transaction'), '0', 'and none of its own is remembered');
ask('CALL citus_cleanup_orphaned_resources()');
is(ask('SELECT count(*) FROM pg_dist_cleanup'), '0', 'nothing is left to clean up');
is(ask('SELECT count(*) FROM citus_locks WHERE NOT granted'), '0', 'nobody waits');
is(ask(q{SELECT count(*) FROM pg_dist_placement WHERE shardstate <> 1}), '0', 'all placements are active');
check_log($_, $OF_CITUS) foreach @nodes;
$_->stop foreach @nodes;
done_testing();
