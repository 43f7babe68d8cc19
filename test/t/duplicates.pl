# Duplicates among other sessions: the buffered writer finds rows that others
# insert, change and delete meanwhile; the direct one replaces rows that others
# read and refer to; both also after a crash, and on a standby.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('duplicates', 'deadlock_timeout = 1h', 'lock_timeout = 60s', 'wal_level = replica', 'max_wal_senders = 4');
my ($load, $other, $watch) = map { PgBulk::Session->new($node) } 1 .. 3;

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE t (a int PRIMARY KEY, b int UNIQUE, s text);
	CREATE TABLE r (a int REFERENCES t ON DELETE CASCADE)});
my $file = data_file('rows.csv', 1, join('', map { "$_," . ($_ + 1000) . ",new $_\n" } 1 .. 500));

sub waits
{
	my ($session) = @_;

	wait_for('a session to wait', sub {
		$watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $session->{pid} AND NOT granted") > 0 });
}

sub call
{
	my ($policy, $writer) = @_;

	return "SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('t', '$file', '{\"writer\": \"$writer\", \"on_duplicate\": \"$policy\", \"log_verbosity\": \"silent\", \"workers\": 1}')";
}

sub reset_table
{
	$node->safe_psql('postgres', q{TRUNCATE t, r; INSERT INTO t SELECT i, i + 1000, 'old ' || i FROM generate_series(100, 110) i});
}

sub sound
{
	my ($name) = @_;

	is($watch->ask("SELECT count(bt_index_parent_check(i.indexrelid, true, true)) FROM pg_index i WHERE indrelid = 't'::regclass"), 2, "$name: indexes are whole");
	is($watch->ask('SELECT count(*) FROM (SELECT FROM t GROUP BY a HAVING count(*) > 1 UNION ALL SELECT FROM t GROUP BY b HAVING count(*) > 1) x'), 0, "$name: keys are unique");
}

# another session's rows, before it has committed
foreach my $case (
	# what it does; with COMMIT: keep_old, keep_new; with ROLLBACK likewise; the result with keep_new and COMMIT
	['INSERT INTO t VALUES (50, 9050, \'other\')', '488|12|0', '500|0|12', '489|11|0', '500|0|11', 'new 50'],
	['INSERT INTO t VALUES (9050, 1050, \'other\')', '488|12|0', '500|0|12', '489|11|0', '500|0|11', 'new 50'],
	['UPDATE t SET s = \'other\' WHERE a = 105', '489|11|0', '500|0|11', '489|11|0', '500|0|11', 'new 105'],
	['UPDATE t SET a = 9105 WHERE a = 105', '489|11|0', '500|0|11', '489|11|0', '500|0|11', 'new 105'],
	['UPDATE t SET a = 9105, b = 9105 WHERE a = 105', '490|10|0', '500|0|10', '489|11|0', '500|0|11', 'new 105'],
	['DELETE FROM t WHERE a = 105', '490|10|0', '500|0|10', '489|11|0', '500|0|11', 'new 105'])
{
	my ($statement, @expected) = @$case;
	my $result = pop @expected;

	foreach my $end ('COMMIT', 'ROLLBACK')
	{
		foreach my $policy ('keep_old', 'keep_new')
		{
			my $name = "$policy, $statement, $end";

			reset_table();
			$other->ask("BEGIN; $statement");
			$load->send(call($policy, 'buffered'));
			# a row that is only changed otherwise is there all the same
			waits($load) unless $policy eq 'keep_old' && $statement =~ /s = /;
			$other->ask($end);
			is($load->wait, shift @expected, $name);
			my ($n) = $result =~ /(\d+)/;
			is($watch->ask("SELECT s FROM t WHERE a = $n"), $result, "$name: the result") if $policy eq 'keep_new';
			sound($name);
		}
	}
}

# a transaction with a snapshot must not act upon what that does not show
foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	foreach my $writer ('buffered', 'direct')
	{
		foreach my $policy ('keep_old', 'keep_new')
		{
			my $name = "$level, $writer, $policy";

			foreach my $statement ('INSERT INTO t VALUES (50, 9050, \'other\')', 'UPDATE t SET s = \'other\' WHERE a = 105')
			{
				reset_table();
				$load->ask("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM r");
				$other->ask($statement);
				$load->ask(call($policy, $writer));
				is($load->sqlstate, '40001', "$name: $statement");
				$load->ask('ROLLBACK');
			}
			reset_table();
			is($load->ask("BEGIN ISOLATION LEVEL $level; " . call($policy, $writer) . '; COMMIT') =~ s/^BEGIN\n|\nCOMMIT$//gr, $policy eq 'keep_old' ? '489|11|0' : '500|0|11', "$name: alone");
			sound($name);
		}
	}
}

# two loads of this kind take turns
reset_table();
$other->ask('BEGIN');
is($other->ask(call('keep_old', 'buffered')), '489|11|0', 'the first of two loads');
$load->send(call('keep_new', 'buffered'));
waits($load);
$other->ask('COMMIT');
is($load->wait, '500|0|500', 'the second one');
sound('two loads');

# a row that is replaced is being referred to
foreach my $writer ('direct', 'buffered')
{
	reset_table();
	$other->ask('BEGIN; INSERT INTO r VALUES (105)');
	$load->send(call('keep_new', $writer));
	waits($load);
	$other->ask('COMMIT');
	is($load->wait, '500|0|11', "$writer: a row that is referred to is replaced");
	is($watch->ask('SELECT count(*) FROM r'), 0, "$writer: what refers to it goes, as with DELETE");
	sound("$writer, referred to");
}

# a reader with an old snapshot sees the old rows, by the new index too
reset_table();
$other->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SET enable_seqscan = off; SELECT count(*) FROM r');
is($load->ask(call('keep_new', 'direct')), '500|0|11', 'rows are replaced during a read');
is($other->ask('SELECT s FROM t WHERE a = 105'), 'old 105', 'it sees the old one');
is($other->ask('SELECT count(*) FROM t WHERE b > 0'), 11, 'and only old ones');
$other->ask('COMMIT; RESET enable_seqscan');
is($other->ask('SELECT s FROM t WHERE a = 105'), 'new 105', 'then the new one');

# a reader keeps the load from cutting off what it has emptied; VACUUM does that later
my $many = data_file('many.csv', 1, join('', map { "$_," . ($_ + 100000) . ",a row of some length that fills pages $_\n" } 1 .. 20000));
my $again = "SELECT rows_loaded, rows_duplicate, details ? 'bytes_freed', details->>'not_freed' IS NOT NULL FROM bulk_load('t', '$many', '{\"writer\": \"direct\", \"on_duplicate\": \"keep_old\", \"log_verbosity\": \"silent\"}')";
my $size = "SELECT pg_relation_size('t')";
reset_table();
$load->ask($again);
my $full = $watch->ask($size);
$other->ask('BEGIN; LOCK TABLE t IN ACCESS SHARE MODE');
is($load->ask($again), '0|20000|f|t', 'most rows go again, and a reader is about');
is($other->ask('SELECT count(*) FROM t'), 20000, 'it sees all rows');
$other->ask('COMMIT');
cmp_ok($watch->ask($size), '>', $full, 'the space is still there');
sound('emptied');
$watch->ask('VACUUM t');
cmp_ok($watch->ask($size), '<=', $full, 'VACUUM gives it back');
is($load->ask($again), '0|20000|t|f', 'without the reader the load does it');
cmp_ok($watch->ask($size), '<=', $full, 'at once');
sound('reclaimed');
$load->ask('BEGIN; LOCK TABLE t IN SHARE ROW EXCLUSIVE MODE');
$other->send('DELETE FROM t WHERE false');
waits($other);
like($load->ask($again), qr/^0\|20000\|t\|f$/m, 'who waits to write does not keep it from that');
$load->ask('COMMIT');
$other->wait;
sound('reclaimed, with a writer');
$node->stop('immediate');
$node->start;
($load, $other, $watch) = map { PgBulk::Session->new($node) } 1 .. 3;
is($watch->ask('SELECT count(*) FROM t'), 20000, 'after a crash: the same rows');
sound('reclaimed, crash');
$load->ask('BEGIN');
is($load->ask($again), '0|20000|t|f', 'reclaimed, not committed');
$watch->ask('CHECKPOINT');
$node->stop('immediate');
$node->start;
($load, $other, $watch) = map { PgBulk::Session->new($node) } 1 .. 3;
is($watch->ask('SELECT count(*) FROM t'), 20000, 'not committed, crash: the same rows');
sound('not committed, crash');

# a standby
$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
foreach my $policy ('keep_old', 'keep_new')
{
	reset_table();
	$load->ask(call($policy, 'direct'));
	$load->ask(call($policy, 'direct'));
	$load->ask($again);
	$load->ask($again);
	$node->wait_for_catchup($standby);
	my $query = 'SELECT md5(string_agg(t::text, \',\' ORDER BY a)), count(*) FROM t';
	is($standby->safe_psql('postgres', $query), $watch->ask($query), "$policy: the standby has the same rows");
	is($standby->safe_psql('postgres', 'SELECT count(bt_index_check(i.indexrelid, true)) FROM pg_index i WHERE indrelid = \'t\'::regclass'), 2, "$policy: and whole indexes");
}
$standby->stop;

# a crash before and after the commit
reset_table();
my $before = $watch->ask('SELECT md5(string_agg(t::text, \',\' ORDER BY a)) FROM t');
$other->ask('BEGIN');
$other->ask(call('keep_new', 'direct'));
$watch->ask('CHECKPOINT');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT md5(string_agg(t::text, \',\' ORDER BY a)) FROM t'), $before, 'after a crash: nothing of what was not committed');
$watch = PgBulk::Session->new($node);
sound('crash');
$node->safe_psql('postgres', call('keep_new', 'direct'));
$node->stop('immediate');
$node->start;
$watch = PgBulk::Session->new($node);
is($watch->ask('SELECT count(*), count(*) FILTER (WHERE s LIKE \'new%\') FROM t'), '500|500', 'after a crash: all that was');
sound('crash after the commit');

check_log($node);
check_log($standby, qr{terminating walreceiver});
done_testing();
