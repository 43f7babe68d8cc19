# Loads into tables of Citus beside others who write to the same shards, change the tables, or move shards: each waits
# for the other where Citus's COPY would, and all copies of a shard have the same rows afterwards.
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
use Time::HiRes qw(sleep);

my ($main, @workers) = citus_servers('citus_others');
my $folder = data_dir();

sub ask { my ($sql, $node) = @_; return ($node // $main)->safe_psql('postgres', $sql); }

# Waits until a session waits for a lock: its own server knows that, or Citus of a statement that it has on a node.
sub waits
{
	my ($session, $name) = @_;

	wait_for("$name to wait", sub { $session->done || ask(q{SELECT count(*) FROM citus_locks WHERE NOT granted}) > 0 });
	ok(!$session->done, "$name waits");
}

# The load stands before its end, with all rows in their shards.
sub begun { my ($load, $node) = @_; return load_until($node // $main, $load, 'prepare'); }

# It goes on: its step is waited for only where a test cancels it, which before the commit is an error.
my $goes_on = 'committed';

# ---- tables ----

ask(q{CREATE TABLE t (k int PRIMARY KEY, s text, n int DEFAULT 0); SELECT create_distributed_table('t', 'k');
	CREATE TABLE r (k int PRIMARY KEY, s text, n int DEFAULT 0); SELECT create_reference_table('r')});
# a table with two copies of each shard
ask(q{SET citus.shard_replication_factor = 2; CREATE TABLE c (k int, s text, n int DEFAULT 0); SELECT create_distributed_table('c', 'k')});
is(ask(q{SELECT repmodel FROM pg_dist_partition WHERE logicalrelid = 'c'::regclass}), 'c', 'a table with copies that statements keep alike');

my $rows = data_file('rows.csv', 1, join('', map { "$_,loaded\n" } 1 .. 1000));
my %load = map { $_ => qq{SELECT rows_loaded FROM bulk_load('$_', '$rows', '{"columns": ["k", "s"]}')} } qw(t r c);

# All placements of each shard have the same rows; returns how many rows the table has, and the sum of n.
sub copies_alike
{
	my ($table, $name) = @_;

	is(ask(qq{SELECT count(*) FROM (SELECT shardid FROM run_command_on_placements('$table', 'SELECT md5(string_agg(x::text, \$\$,\$\$ ORDER BY x::text)) FROM %s x') GROUP BY shardid HAVING count(DISTINCT coalesce(result, '')) > 1 OR NOT bool_and(success)) q}),
		'0', "$name: all copies are the same");
	return ask("SELECT count(*), sum(n) FROM $table");
}

# ---- a load first: what does not wait for it, and what does ----

# [ the statement, whether it waits, rows and sum of n behind it when the load is committed before it, or not waited for ]
my @statements = (
	[ 'UPDATE of a row', 'UPDATE %t SET n = n + 1 WHERE k = 2000', 0, '1001|1' ],
	[ 'UPDATE of a row that is loaded', 'UPDATE %t SET n = n + 1 WHERE k = 5', 0, '1001|0' ],
	[ 'UPDATE of all shards', 'UPDATE %t SET n = n + 1', 0, '1001|1' ],
	[ 'DELETE of all shards', 'DELETE FROM %t', 0, '1000|0' ],
	[ 'INSERT', 'INSERT INTO %t VALUES (3000)', 0, '1002|0' ],
	[ 'INSERT ... ON CONFLICT', "INSERT INTO %t VALUES (5, 'other') ON CONFLICT (k) DO UPDATE SET n = %t.n + 10", 1, '1001|10' ],
	[ 'TRUNCATE', 'TRUNCATE %t', 1, '0|' ],
	[ 'ALTER TABLE', 'ALTER TABLE %t ADD COLUMN z int DEFAULT 1', 1, '1001|0' ],
	[ 'CREATE INDEX', 'CREATE INDEX other ON %t (s)', 1, '1001|0' ]);

# The load of a table, with a row of another one in it, before and beside a statement: the load goes on when it waits.
sub beside
{
	my ($table, $name, $sql, $waits, $found, $node) = @_;
	my $other = PgBulk::Session->new($node // $main);
	# the load waits here, with all rows in their shards
	my $lock = PgBulk::Session->new($main);
	my $loader = PgBulk::Session->new($main);

	ask("INSERT INTO $table (k, s) VALUES (2000, 'old')");
	$lock->ask('SELECT pg_advisory_lock(77)');
	$loader->send("BEGIN; CREATE TEMP TABLE IF NOT EXISTS late (a int); COMMIT; $load{$table}");
	$loader->wait;
	is($loader->{error}, '', "$name, before");
	$_->close foreach $lock, $loader, $other;
	return;
}

