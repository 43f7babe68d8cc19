# Merges by the batch beside crashes, and on a standby: all of a merge or nothing is there after a server
# was killed, and a standby has the primary's pages, and shows its readers all of a merge or nothing.
#
# PGBULK_TEST_CRASHES=n does that many crashes; else 8, or 24 where PGBULK_TEST_LONG is set.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $crashes = how_many(8, 24);

# how many keys the tables may have, of which half are there before; see use_keys
my ($keys, $left, $file, $merged);
my $node = PostgreSQL::Test::Cluster->new('primary');
server_init($node, allows_streaming => 1);
$node->append_conf('postgresql.conf', "log_line_prefix = '%m [%p] %q%a %e '\nlog_statement = none\nautovacuum = off\n"
	  . "shared_buffers = 16MB\nmax_wal_size = 1GB\nwal_keep_size = 1GB\ncheckpoint_timeout = 30s\nmaintenance_work_mem = 4MB\n");
$node->start;

# Of the even keys of each table rows are there.  Versions of rows of hot fit into their pages and get no entries; those
# of far go to other pages; a merge of moved changes a key; one of parts goes to partitions.
$node->safe_psql('postgres', q{
	CREATE EXTENSION pgbulk;
	CREATE EXTENSION amcheck;
	CREATE TABLE hot (k int PRIMARY KEY, n int NOT NULL, s text) WITH (fillfactor = 45);
	CREATE TABLE far (k int PRIMARY KEY, n int NOT NULL, s text);
	CREATE INDEX ON far (s);
	CREATE TABLE moved (k int PRIMARY KEY, n int NOT NULL, s text);
	CREATE INDEX ON moved (n);
	CREATE INDEX ON moved USING gin (to_tsvector('simple', s));
	CREATE TABLE parts (k int PRIMARY KEY, n int NOT NULL, s text) PARTITION BY RANGE (k);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (3000);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (3000) TO (MAXVALUE);
	CREATE INDEX ON parts (n)});
my @tables = qw(hot far moved parts);

sub fill
{
	my ($table) = @_;

	$node->safe_psql('postgres', "TRUNCATE $table; INSERT INTO $table SELECT k, 100, 'text of the row' FROM generate_series(2, $keys, 2) k; VACUUM $table");
}

# The file has each key, and those up to 1,000 twice; a row adds one, and of the last 500 keys it deletes what is there.
sub use_keys
{
	($keys) = @_;
	$left = $keys - 500;
	$merged = $keys + 1000;
	$file = data_file("rows_$keys.csv", 1, join('', map { "$_," . ($_ > $left ? 0 : 1) . ",text of the row\n" } 1 .. $keys, 1 .. 1000));
}

sub merge
{
	my ($table) = @_;

	return qq{SELECT details ->> 'merged_in_batches' FROM bulk_load('$table', '$file', '{"on_duplicate": {"set": {"n": "old.n + new.n"}, "delete": "new.n = 0"}, "log_verbosity": "silent"}')};
}

sub state_of
{
	my ($table, $server) = @_;

	return ($server // $node)->safe_psql('postgres', "SELECT count(*), count(DISTINCT k), sum(n) FROM $table");
}

# ---- crashes ----

use_keys(40000);
my %before;
my %after;
my %takes;
foreach my $table (@tables)
{
	fill($table);
	$before{$table} = state_of($table);
	my $start = time;
	is($node->safe_psql('postgres', merge($table)), $merged, "$table: rows are merged by the batch");
	$takes{$table} = time - $start;
	$after{$table} = state_of($table);
}
# 500 keys are deleted, or are not there; 1,000 come twice
is($before{hot}, join('|', $keys / 2, $keys / 2, $keys / 2 * 100), 'what is there before');
is($after{hot}, join('|', $left, $left, $left / 2 * 100 + $left + 1000), 'and afterwards');
is($after{$_}, $after{hot}, "$_: the same") foreach @tables;
is($node->safe_psql('postgres', "SELECT pg_relation_size('hot_pkey') < pg_relation_size('far_pkey')"), 't', 'some versions have no entries');

foreach my $n (1 .. $crashes)
{
	my $table = $tables[ $n % @tables ];
	my $delay = rand(1.2 * $takes{$table});
	my $session;

	fill($table);
	$session = PgBulk::Session->new($node);
	$session->send(merge($table));
	sleep $delay;
	kill_server($node);
	$session->close;
	my $done = $session->{out} =~ /^$merged$/m;
	$node->start;
	my $now = state_of($table);

	note sprintf('crash %d of %s after %.2f of %.2f s: %s, said to be done: %d', $n, $table, $delay, $takes{$table}, $now, $done ? 1 : 0);
	ok($now eq $after{$table} || ($now eq $before{$table} && !$done), "crash $n: all or nothing of $table") or diag $now;
	is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*), sum(n) FROM $table WHERE k > 0"),
		$node->safe_psql('postgres', "SELECT count(*), sum(n) FROM $table"), "crash $n: the index has the rows of $table");
	# what has been left there is no obstacle
	is($node->safe_psql('postgres', merge($table)), $merged, "crash $n: the next merge into $table");
	is($node->safe_psql('postgres', "SELECT count(*) FROM $table"), $left, "crash $n: its rows");
}
$node->command_ok([ 'pg_amcheck', '--heapallindexed', '-d', 'postgres' ], 'after all crashes pg_amcheck finds nothing');

# ---- a standby, which gets images of all pages with each record ----

use_keys(6000);
fill($_) foreach @tables;
$node->append_conf('postgresql.conf', "wal_consistency_checking = all\nshared_buffers = 64MB\n");
$node->restart;
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
# what its readers still need is kept from being removed
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\nhot_standby_feedback = on\n");
$standby->start;

# Rows of the keys that were there and stay have all the same number, whenever one looks, by whatever way.
my @readers = map { PgBulk::Session->new($standby) } 1 .. 2;
my $looks = qq{
	DO \$\$
	DECLARE
		least int;
		most int;
		found int;
		rounds int := 0;
		done timestamptz := clock_timestamp() + interval '%d seconds';
	BEGIN
		WHILE clock_timestamp() < done LOOP
			SELECT min(n), max(n), count(*) INTO least, most, found FROM %s WHERE k > 1000 AND k <= $left AND k %% 2 = 0;
			IF least <> most OR found <> ($left - 1000) / 2 THEN
				RAISE EXCEPTION 'from %% to %%, %% rows', least, most, found;
			END IF;
			rounds := rounds + 1;
			COMMIT;
		END LOOP;
		RAISE NOTICE 'looked %% times', rounds;
	END \$\$};
my $rounds = 3;

foreach my $table (@tables)
{
	my $seconds = 1 + int(3 * $rounds * $takes{$table});

	$readers[0]->ask('SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off');
	$readers[1]->ask('SET enable_seqscan = off');
	$_->send(sprintf($looks, $seconds, $table)) foreach @readers;
	is($node->safe_psql('postgres', merge($table)), $merged, "$table: merge $_") foreach 1 .. $rounds;
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	foreach my $reader (@readers)
	{
		$reader->wait;
		is($reader->sqlstate, '', "$table: a reader of the standby sees all of a merge or nothing") or diag $reader->{error};
		like($reader->{error}, qr/looked \d+ times/, "$table: it has looked");
	}
	is(state_of($table, $standby), state_of($table), "$table: the standby has the primary's rows");
	is($standby->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*), sum(n) FROM $table WHERE k > 0"),
		$node->safe_psql('postgres', "SELECT count(*), sum(n) FROM $table"), "$table: its index, too");
}
$_->close foreach @readers;

# it takes over, and goes on
$standby->command_ok([ 'pg_amcheck', '--heapallindexed', '-d', 'postgres' ], 'pg_amcheck finds nothing on the standby');
$node->stop;
$standby->promote;
is($standby->safe_psql('postgres', merge($_)), $merged, "$_: a merge after the promotion") foreach @tables;

check_log($node, qr/terminated by signal 9|not properly shut down|terminating connection because of crash|terminating connection due to unexpected postmaster/);
check_log($standby, qr/FATAL:  (?:could not (?:send|receive)|could not connect to the primary|streaming replication receiver .* could not connect)/);
check_tables($standby);
$node->start;
check_tables($node);
done_testing();
