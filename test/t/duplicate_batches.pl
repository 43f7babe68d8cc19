# Duplicates by the batch among other sessions: keys that others insert, lock or
# delete before the rows of a load are looked up, and between that and the
# insertion of their index entries.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('duplicate_batches', 'deadlock_timeout = 1h', 'lock_timeout = 60s', 'autovacuum = off');
my ($load, $other, $third, $watch) = map { PgBulk::Session->new($node) } 1 .. 4;

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE t (a text PRIMARY KEY, n int, s text);
	CREATE INDEX ON t (n);
	CREATE INDEX ON t USING hash (s)});
my $file = data_file('rows.csv', 1, join('', map { sprintf("key %05d,%d,new %d\n", $_, $_, $_) } 1 .. 3000));
my $call = "SELECT rows_loaded, rows_duplicate FROM bulk_load('t', '$file', '{\"writer\": \"buffered\", \"on_duplicate\": \"keep_old\", \"log_verbosity\": \"silent\"}')";

sub waits
{
	my ($session) = @_;

	wait_for('a session to wait', sub {
		$watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $session->{pid} AND NOT granted") > 0 });
}

# keys 2000 to 2099 are there, all but the last ten visible to everyone
sub reset_table
{
	$node->safe_psql('postgres', q{TRUNCATE t});
	$node->safe_psql('postgres', q{INSERT INTO t SELECT format('key %s', lpad(i::text, 5, '0')), -i, 'old ' || i FROM generate_series(2000, 2089) i});
	$node->safe_psql('postgres', q{VACUUM t});
	$node->safe_psql('postgres', q{INSERT INTO t SELECT format('key %s', lpad(i::text, 5, '0')), -i, 'old ' || i FROM generate_series(2090, 2099) i});
}

sub sound
{
	my ($name, $rows) = @_;

	is($watch->ask("SELECT count(bt_index_parent_check(indexrelid, true, true)) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 't'::regclass AND relam = 403"), 2, "$name: indexes are whole");
	is($watch->ask('SET enable_seqscan = off; SELECT count(*) FROM t WHERE a >= \'\'; RESET enable_seqscan') =~ s/^SET\n|\nRESET$//gr, $rows, "$name: all rows are found");
	is($watch->ask('SELECT count(DISTINCT a) FROM t'), $rows, "$name: keys are unique");
}

# what a transaction that is running does to a row before the load meets it
foreach my $case (
	# what it does; loaded and set aside with COMMIT, with ROLLBACK; rows then
	["INSERT INTO t VALUES ('key 00500', 0, 'theirs')", '2899|101', '2900|100', 3000, 3000],
	["UPDATE t SET n = 0 WHERE a = 'key 02050'", '2900|100', '2900|100', 3000, 3000],
	["UPDATE t SET a = 'else' WHERE a = 'key 02050'", '2901|99', '2900|100', 3001, 3000],
	["UPDATE t SET a = 'else' WHERE a = 'key 02095'", '2901|99', '2900|100', 3001, 3000],
	["DELETE FROM t WHERE a = 'key 02050'", '2901|99', '2900|100', 3000, 3000],
	["INSERT INTO t VALUES ('key 00500', 0, 'theirs') ON CONFLICT DO NOTHING", '2899|101', '2900|100', 3000, 3000])
{
	my ($statement, @expected) = @$case;

	foreach my $end ('COMMIT', 'ROLLBACK')
	{
		my ($counts, $rows) = $end eq 'COMMIT' ? @expected[0, 2] : @expected[1, 3];

		reset_table();
		$other->ask("BEGIN; $statement");
		$load->send($call);
		waits($load);
		$other->ask($end);
		is($load->wait, $counts, "$statement, $end");
		sound("$statement, $end", $rows);
	}
}

# others are faster: while the load waits for one key, which it has found, keys come
# that it has not found; one of them is of a transaction that is running still
foreach my $case ([ 'ROLLBACK', 'COMMIT', '2799|201' ], [ 'ROLLBACK', 'ROLLBACK', '2800|200' ],
	[ 'COMMIT', 'COMMIT', '2800|200' ], [ 'COMMIT', 'ROLLBACK', '2801|199' ])
{
	my ($first, $end, $counts) = @$case;

	reset_table();
	$other->ask("BEGIN; DELETE FROM t WHERE a = 'key 02000'");
	$load->send($call);
	waits($load);
	$watch->ask("INSERT INTO t SELECT format('key %s', lpad(i::text, 5, '0')), -i, 'faster' FROM generate_series(100, 199) i");
	$third->ask("BEGIN; INSERT INTO t VALUES ('key 00200', 0, 'running')");
	$other->ask($first);
	waits($load);
	is($watch->ask("SELECT count(*) FROM t WHERE s = 'faster'"), 100, 'nobody waits');
	$third->ask($end);
	is($load->wait, $counts, "others are faster, $first, $end");
	is($watch->ask("SELECT count(*) FILTER (WHERE s = 'faster'), count(*) FILTER (WHERE s = 'running') FROM t"), $end eq 'COMMIT' ? '100|1' : '100|0', "$end: their rows stand");
	sound("faster, $first, $end", 3000);
}

# the same where a snapshot does not show them
foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	reset_table();
	$load->ask("BEGIN ISOLATION LEVEL $level; SELECT 1");
	is($load->ask($call), '2900|100', "$level: alone");
	$load->ask('ROLLBACK');
	foreach my $statement ("INSERT INTO t VALUES ('key 00500', 0, 'theirs')", "UPDATE t SET n = 0 WHERE a = 'key 02050'")
	{
		reset_table();
		$load->ask("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM t");
		$other->ask($statement);
		$load->ask($call);
		is($load->sqlstate, '40001', "$level: $statement");
		like($load->{error}, $statement =~ /INSERT/ ? qr/line 500\b/ : qr/line 2050\b/, "$level: its line");
		$load->ask('ROLLBACK');
	}
	reset_table();
	$other->ask("BEGIN; DELETE FROM t WHERE a = 'key 02000'");
	$load->ask("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM t");
	$load->send($call);
	waits($load);
	$watch->ask("INSERT INTO t VALUES ('key 00100', 0, 'faster')");
	$other->ask('ROLLBACK');
	$load->wait;
	is($load->sqlstate, '40001', "$level: others are faster");
	$load->ask('ROLLBACK');
	sound($level, 101);
}

# serializable transactions: each has read what the other one adds, on leaves of its own
reset_table();
my $many = data_file('many.csv', 1, join('', map { sprintf("key %05d,%d,new\n", $_, $_) } 70001 .. 72000));
$node->safe_psql('postgres', q{INSERT INTO t SELECT format('key %s', lpad(i::text, 5, '0')), 0, 'far' FROM generate_series(10000, 60000, 10) i; VACUUM ANALYZE t});
$_->ask('SET enable_seqscan = off') foreach ($load, $other);
$load->ask("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM t WHERE a BETWEEN 'key 20001' AND 'key 20005'");
$other->ask("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM t WHERE a BETWEEN 'key 71000' AND 'key 71005'");
my $failed = '';
foreach my $step ([ $load, $call =~ s/rows\.csv/many.csv/r ], [ $other, "INSERT INTO t VALUES ('key 20003', 0, 'theirs')" ], [ $load, 'COMMIT' ], [ $other, 'COMMIT' ])
{
	my ($who, $what) = @$step;

	$who->ask($what);
	$failed .= $who->sqlstate;
}
is($failed, '40001', 'one of two serializable transactions fails');
$_->ask('RESET enable_seqscan') foreach ($load, $other);

# keep_new: the same conflicts; the result are the new rows
my $new = $call =~ s/keep_old/keep_new/r =~ s/rows_duplicate/rows_duplicate, rows_replaced/r;
foreach my $case (
	["INSERT INTO t VALUES ('key 00500', 0, 'theirs')", '3000|0|101', '3000|0|100', 3000, 3000],
	["UPDATE t SET n = 0 WHERE a = 'key 02050'", '3000|0|100', '3000|0|100', 3000, 3000],
	["UPDATE t SET a = 'else' WHERE a = 'key 02050'", '3000|0|99', '3000|0|100', 3001, 3000],
	["DELETE FROM t WHERE a = 'key 02095'", '3000|0|99', '3000|0|100', 3000, 3000],
	["SELECT FROM t WHERE a = 'key 02050' FOR UPDATE", '3000|0|100', '3000|0|100', 3000, 3000],
	["SELECT FROM t WHERE a = 'key 02095' FOR KEY SHARE", '3000|0|100', '3000|0|100', 3000, 3000])
{
	my ($statement, @expected) = @$case;

	foreach my $end ('COMMIT', 'ROLLBACK')
	{
		my ($counts, $rows) = $end eq 'COMMIT' ? @expected[0, 2] : @expected[1, 3];

		reset_table();
		$other->ask("BEGIN; $statement");
		$load->send($new);
		waits($load);
		$other->ask($end);
		is($load->wait, $counts, "keep_new, $statement, $end");
		is($watch->ask("SELECT count(*) FROM t WHERE s LIKE 'new%'"), 3000, "keep_new, $statement, $end: the result");
		sound("keep_new, $statement, $end", $rows);
	}
}
foreach my $end ('COMMIT', 'ROLLBACK')
{
	reset_table();
	$other->ask("BEGIN; DELETE FROM t WHERE a = 'key 02000'");
	$load->send($new);
	waits($load);
	$watch->ask("INSERT INTO t SELECT format('key %s', lpad(i::text, 5, '0')), -i, 'faster' FROM generate_series(100, 199) i");
	$third->ask("BEGIN; INSERT INTO t VALUES ('key 00200', 0, 'running')");
	$other->ask('ROLLBACK');
	waits($load);
	$third->ask($end);
	is($load->wait, $end eq 'COMMIT' ? '3000|0|201' : '3000|0|200', "keep_new, others are faster, $end");
	is($watch->ask("SELECT count(*) FROM t WHERE s LIKE 'new%'"), 3000, "keep_new, $end: the new rows");
	sound("keep_new, faster, $end", 3000);
}
foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	reset_table();
	is($load->ask("BEGIN ISOLATION LEVEL $level; $new; ROLLBACK") =~ s/^BEGIN\n|\nROLLBACK$//gr, '3000|0|100', "keep_new, $level: alone");
	foreach my $statement ("INSERT INTO t VALUES ('key 00500', 0, 'theirs')", "UPDATE t SET n = 0 WHERE a = 'key 02050'", "DELETE FROM t WHERE a = 'key 02051'")
	{
		reset_table();
		$load->ask("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM t");
		$other->ask($statement);
		$load->ask($new);
		is($load->sqlstate // '', $statement =~ /DELETE/ ? '' : '40001', "keep_new, $level: $statement");
		$load->ask('ROLLBACK');
	}
	# somebody changes what the load is about to replace, and commits while it waits
	reset_table();
	$load->ask("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM t");
	$other->ask("BEGIN; UPDATE t SET n = 0 WHERE a = 'key 02050'");
	$load->send($new);
	waits($load);
	$other->ask('COMMIT');
	$load->wait;
	is($load->sqlstate, '40001', "keep_new, $level: changed meanwhile");
	$load->ask('ROLLBACK');
	sound("keep_new, $level", 100);
}
reset_table();
$node->safe_psql('postgres', "UPDATE t SET n = n - 1; UPDATE t SET n = n - 1");
is($load->ask($new), '3000|0|100', 'rows that have several entries are replaced');
is($load->ask($new), '3000|0|3000', 'and those of a load');
sound('several entries', 3000);

# who waits for a row that is replaced: a new version of it on its page is met as after an UPDATE, a row on
# another page is none of its own, as after a DELETE
foreach my $case ([20, '1|1000001'], [100, '0|'])
{
	my ($fillfactor, $met) = @$case;
	my $update = "WITH u AS (UPDATE u SET n = n + 1000000 WHERE a = 'key 00001' RETURNING n) SELECT count(*), max(n) FROM u";

	foreach my $end ('COMMIT', 'ROLLBACK')
	{
		$node->safe_psql('postgres', "DROP TABLE IF EXISTS u; CREATE TABLE u (a text PRIMARY KEY, n int, s text) WITH (fillfactor = $fillfactor);
			INSERT INTO u SELECT format('key %s', lpad(i::text, 5, '0')), -i, 'old' FROM generate_series(1, 3000) i");
		$load->ask('BEGIN');
		is($load->ask($new =~ s/'t'/'u'/r), '3000|0|3000', "fillfactor $fillfactor: all are replaced");
		$other->send($update);
		waits($other);
		$load->ask($end);
		is($other->wait, $end eq 'COMMIT' ? $met : '1|999999', "fillfactor $fillfactor, $end: who waits for a replaced row");
		is($watch->ask("SELECT count(bt_index_parent_check('u_pkey', true, true)), (SELECT count(DISTINCT a) FROM u)"), '1|3000', "fillfactor $fillfactor, $end: the index");
		next if $end eq 'ROLLBACK';
		foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
		{
			$load->ask('BEGIN');
			$load->ask($new =~ s/'t'/'u'/r);
			$other->ask("BEGIN ISOLATION LEVEL $level");
			$other->send($update);
			waits($other);
			$load->ask('COMMIT');
			$other->wait;
			is($other->sqlstate, '40001', "fillfactor $fillfactor, $level: who waits for a replaced row");
			$other->ask('ROLLBACK');
		}
	}
}

# two loads take turns, others' statements wait for keys
reset_table();
$load->ask('BEGIN');
is($load->ask($call), '2900|100', 'the first of two loads');
$other->send($call);
waits($other);
$third->send("WITH i AS (INSERT INTO t VALUES ('key 00001', 0, 'theirs') ON CONFLICT DO NOTHING RETURNING a) SELECT count(*) FROM i");
waits($third);
$load->ask('COMMIT');
is($other->wait, '0|3000', 'the second one');
is($third->wait, 0, 'others wait for keys of a load');
sound('two loads', 3000);

# keys of rows that are dead
$node->safe_psql('postgres', 'DELETE FROM t');
is($load->ask($call), '3000|0', 'keys of dead rows are free');
sound('dead rows', 3000);

# each partition has a batch of its own; the first one waits for a key while others enter keys of the next two
foreach my $case ([ 'ROLLBACK', '2799|201', '3000|0|201' ], [ 'COMMIT', '2798|202', '3000|0|202' ])
{
	my ($end, $kept, $replaced) = @$case;

	foreach my $statement ($call, $new)
	{
		$node->safe_psql('postgres', q{
			ALTER TABLE t RENAME TO plain;
			CREATE TABLE t (a text PRIMARY KEY, n int, s text) PARTITION BY RANGE (a);
			CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('') TO ('key 01000');
			CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM ('key 01000') TO ('key 02000');
			CREATE TABLE t_3 PARTITION OF t FOR VALUES FROM ('key 02000') TO ('l')});
		reset_table();
		$other->ask("BEGIN; INSERT INTO t VALUES ('key 00500', 0, 'theirs')");
		$load->send($statement);
		waits($load);
		$watch->ask("INSERT INTO t SELECT format('key %s', lpad(i::text, 5, '0')), -i, 'faster' FROM generate_series(1000, 1099) i");
		$third->ask("BEGIN; INSERT INTO t VALUES ('key 02500', 0, 'running')");
		$other->ask($end);
		waits($load);
		$third->ask('COMMIT');
		is($load->wait, $statement eq $call ? $kept : $replaced, "partitions, $end");
		is($watch->ask('SELECT count(*), count(DISTINCT a) FROM t'), '3000|3000', "partitions, $end: keys are unique");
		is($watch->ask("SELECT count(bt_index_parent_check(indexrelid, true, true)) FROM pg_index WHERE indrelid IN (SELECT relid FROM pg_partition_tree('t') WHERE isleaf)"), 3, "partitions, $end: indexes are whole");
		$node->safe_psql('postgres', 'DROP TABLE t; ALTER TABLE plain RENAME TO t');
	}
}

# two unique indexes: others enter keys of one of them while the load waits; a later row with the other
# key of a row that is then set aside is stored
$node->safe_psql('postgres', 'DROP INDEX t_n_idx; TRUNCATE t; CREATE UNIQUE INDEX t_n_idx ON t (n)');
my $again = data_file('again.csv', 1, join('', map { sprintf("key %05d,%d,new %d\n", $_ > 3000 ? $_ - 2901 : $_, $_, $_) } 1 .. 3100));
my $several = $call =~ s/rows\.csv/again.csv/r;
foreach my $case (
	[ q{SELECT format('else %s', i), i, 'faster' FROM generate_series(100, 199) i}, '2900|200', '2901|199' ],
	[ q{SELECT format('key %s', lpad(i::text, 5, '0')), -i, 'faster' FROM generate_series(100, 199) i}, '2800|300', '2801|299' ],
	[ q{SELECT format('key %s', lpad(i::text, 5, '0')), i + 2901, 'faster' FROM generate_series(100, 199) i}, '2800|300', '2801|299' ],
	[ q{SELECT format('key %s', lpad((200 - i)::text, 5, '0')), i, 'faster' FROM generate_series(1, 100) i}, '2701|399', '2702|398' ])
{
	my ($rows, @expected) = @$case;

	foreach my $end ('ROLLBACK', 'COMMIT')
	{
		reset_table();
		$other->ask("BEGIN; DELETE FROM t WHERE a = 'key 02000'");
		$load->send($several);
		waits($load);
		$watch->ask("INSERT INTO t $rows");
		$other->ask($end);
		my $counts = $load->wait;
		is($counts, $expected[$end eq 'COMMIT'], "two indexes, $end: $rows");
		my ($loaded) = $counts =~ /(\d+)/;
		sound("two indexes, $end", $watch->ask('SELECT count(*) FROM t'));
		is($watch->ask('SELECT count(*), count(DISTINCT n) FROM t'), join('|', ($loaded + 100 + ($end eq 'COMMIT' ? 99 : 100)) x 2), "two indexes, $end: rows");
		is($load->ask($several), '0|3100', "two indexes, $end: all are known then");
	}
}
# keys of transactions that are running
foreach my $row ("'else', 500", "'key 00500', -500")
{
	foreach my $end ('COMMIT', 'ROLLBACK')
	{
		reset_table();
		$other->ask("BEGIN; INSERT INTO t VALUES ($row, 'theirs')");
		$load->send($call);
		waits($load);
		$other->ask($end);
		is($load->wait, $end eq 'COMMIT' ? '2899|101' : '2900|100', "two indexes, $row, $end");
		sound("two indexes, $row, $end", 3000);
	}
}

# a crash
reset_table();
$load->ask('BEGIN');
$load->ask($call);
$watch->ask('CHECKPOINT');
$node->stop('immediate');
$node->start;
($load, $watch) = map { PgBulk::Session->new($node) } 1 .. 2;
sound('crash before the commit', 100);
$load->ask($call);
$node->stop('immediate');
$node->start;
($load, $watch) = map { PgBulk::Session->new($node) } 1 .. 2;
sound('crash after the commit', 3000);

check_log($node);
done_testing();
