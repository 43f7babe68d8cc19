# What others do between the moments of a batch: after the keys of its rows have been looked up, and
# before the rows that have them are fetched.  The key of an index is a function that waits there for a
# lock, at a row of the table that is fetched first.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('batch_races', 'deadlock_timeout = 1h', 'lock_timeout = 60s');
my ($load, $gate, $other) = map { PgBulk::Session->new($node) } 1 .. 3;

# rows of the table are in upper case, those of the file in lower case
$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE FUNCTION key_of(k text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF k = 'KEY 00000' AND current_setting('race.waits', true) = 'on' THEN
			PERFORM pg_advisory_xact_lock_shared(1);
		END IF;
		RETURN lower(k);
	END$$;
	CREATE TABLE t (k text, n int, s text);
	CREATE UNIQUE INDEX t_key ON t (key_of(k));
	CREATE INDEX t_n ON t (n)});
my $file = data_file('rows.csv', 1, join('', map { sprintf("key %05d,%d,new\n", $_, $_) } 0 .. 1999));
my $rows = q{INSERT INTO t SELECT 'KEY ' || lpad(i::text, 5, '0'), -i, %s FROM generate_series(%d, %d) i};

sub rows
{
	my ($from, $to, $s) = @_;
	return sprintf($rows, $s // "'old'", $from, $to);
}

# The row that the load waits at has a page of its own, as vacuum needs those of the others.  It cuts none off, as
# it would wait seconds for the load to give up its lock.
sub reset_table
{
	$node->safe_psql('postgres', 'TRUNCATE t; ' . rows(0, 0, q{(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 240) i)}));
}

# Loads the file, and meanwhile does what MEANWHILE does.
sub race
{
	my ($policy, $level, $meanwhile) = @_;

	$gate->ask('SELECT pg_advisory_lock(1)');
	$load->ask("SET race.waits = 'on'; BEGIN ISOLATION LEVEL $level");
	$load->send("SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('t', '$file', '{\"writer\": \"buffered\", \"workers\": 0, \"on_duplicate\": \"$policy\", \"log_verbosity\": \"silent\"}')");
	wait_for('the load at the gate', sub {
		$other->ask("SELECT count(*) FROM pg_locks WHERE pid = $load->{pid} AND locktype = 'advisory' AND NOT granted") > 0 });
	$meanwhile->();
	$gate->ask('SELECT pg_advisory_unlock(1)');
	my $counts = $load->wait;
	my $state = $load->sqlstate;

	$load->ask($state ? 'ROLLBACK' : 'COMMIT');
	return $counts || $state;
}

sub sound
{
	my ($name, $count) = @_;

	is($node->safe_psql('postgres', "SELECT count(bt_index_parent_check(indexrelid, true, true)) FROM pg_index WHERE indrelid = 't'::regclass"), 2, "$name: indexes are sound");
	is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT lower(k)) FROM t'), "$count|$count", "$name: each key once");
}

my %rows_of = (keep_old => 'old', keep_new => 'new');

foreach my $policy ('keep_old', 'keep_new')
{
	my $duplicates = sub { my ($n) = @_; return $policy eq 'keep_old' ? (2000 - $n) . "|$n|0" : "2000|0|$n"; };

	# entries of deleted rows whose places others' rows take, with keys that the file
	# has not, has too, or which were theirs before
	foreach my $case ([ 'other keys', 50000, 50199, 0 ], [ 'keys of the file', 1200, 1399, 200 ], [ 'the same keys', 500, 699, 200 ])
	{
		my ($what, $from, $to, $known) = @$case;
		my $name = "$policy, places with $what";

		reset_table();
		$node->safe_psql('postgres', rows(500, 699) . q{; CREATE TABLE gone AS SELECT ctid AS place FROM t WHERE n <= -500; DELETE FROM t WHERE n <= -500});
		my $counts = race($policy, 'READ COMMITTED', sub {
			$other->ask('VACUUM (INDEX_CLEANUP on, TRUNCATE off) t');
			$other->ask(rows($from, $to, "'other'"));
			cmp_ok($other->ask("SELECT count(*) FROM t JOIN gone ON place = t.ctid WHERE s = 'other'"), '>', 100, "$name: places are used again");
		});
		is($counts, $duplicates->($known + 1), "$name: counters");
		is($node->safe_psql('postgres', "SELECT count(*) FROM t WHERE s = 'other'"), $known && $policy eq 'keep_new' ? 0 : 200, "$name: rows of others");
		sound($name, $known ? 2000 : 2200);
		$node->safe_psql('postgres', 'DROP TABLE gone');
	}

	# leaves that are deleted, or split, where keys have been looked up
	foreach my $case ([ 'deleted', 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) t', 1, 2000 ], [ 'deleted and split', 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) t; ' . rows(10000, 29999), 1, 22000 ],
		[ 'split', rows(0, 1999) =~ s/'KEY ' \|\| lpad\(i::text, 5, '0'\)/'KEY ' || lpad(i::text, 5, '0') || 'x'/r =~ s/$/ WHERE i % 2 = 0/r, 1, 3000 ],
		[ 'split by the keys', rows(100, 1899), 1801, 2000 ])
	{
		my ($what, $statements, $known, $count) = @$case;
		my $name = "$policy, leaves are $what";

		reset_table();
		$node->safe_psql('postgres', rows(100, 1899) . q{; DELETE FROM t WHERE n <= -100});
		is(race($policy, 'READ COMMITTED', sub {
			foreach my $statement (split /; /, $statements)
			{
				$other->ask($statement);
				is($other->{error}, '', "$name: $statement") if $other->{error};
			}
		}), $duplicates->($known), "$name: counters");
		sound($name, $count);
	}

	# rows that are about to be fetched change
	foreach my $case (
		[ 'deleted', 'DELETE FROM t WHERE n BETWEEN -599 AND -500', 101, 2000 ],
		[ 'updated', q{UPDATE t SET s = 'changed' WHERE n BETWEEN -599 AND -500}, 201, 2000 ],
		[ 'given other keys', q{UPDATE t SET k = k || 'x' WHERE n BETWEEN -599 AND -500}, 101, 2100 ],
		[ 'given keys of the file', q{UPDATE t SET k = 'KEY 01' || substr(k, 7) WHERE n BETWEEN -599 AND -500}, 201, 2000 ],
		[ 'deleted and inserted', 'DELETE FROM t WHERE n BETWEEN -599 AND -500; ' . rows(500, 599, "'again'"), 201, 2000 ])
	{
		my ($what, $statements, $known, $count) = @$case;
		my $name = "$policy, rows are $what";

		foreach my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
		{
			reset_table();
			$node->safe_psql('postgres', rows(500, 699));
			my $counts = race($policy, $level, sub { $other->ask($_) foreach split /; /, $statements });

			if ($level eq 'READ COMMITTED')
			{
				is($counts, $duplicates->($known), "$name: counters");
				sound($name, $count);
			}
			else
			{
				# as for ON CONFLICT: rows that are gone are in nobody's way, unless they are to be replaced
				my $free = $what eq 'deleted' || $what eq 'given other keys';

				is($counts, $free ? $duplicates->(101) : '40001', "$name, $level") if !$free || $policy eq 'keep_old';
			}
		}
	}
}

# ranges of blocks that are summarized while rows of theirs wait, or no longer are
$node->safe_psql('postgres', q{
	CREATE FUNCTION twice(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		IF i = 2700 AND current_setting('race.waits', true) = 'on' THEN
			PERFORM pg_advisory_xact_lock_shared(1);
		END IF;
		RETURN 2 * i;
	END$$;
	CREATE TABLE ranges (i int, s text);
	CREATE INDEX ranges_i ON ranges USING brin (twice(i)) WITH (pages_per_range = 2)});
my $ranges = data_file('ranges.csv', 1, join('', map { "$_," . 'x' x 200 . "\n" } 1 .. 4000));
foreach my $case ([ 'are summarized', q{SELECT brin_summarize_new_values('ranges_i') > 10} ],
	[ 'are summarized and no longer', q{SELECT brin_summarize_new_values('ranges_i') > 10; SELECT count(brin_desummarize_range('ranges_i', n)) > 0 FROM generate_series(0, 40, 4) n} ],
	[ 'are vacuumed', 'VACUUM ranges; SELECT true' ],
	[ 'get rows of others', q{SELECT brin_summarize_new_values('ranges_i') > 10; INSERT INTO ranges SELECT i, '' FROM generate_series(5001, 6000) i; SELECT true} ])
{
	my ($what, $statements) = @$case;

	$node->safe_psql('postgres', q{TRUNCATE ranges; INSERT INTO ranges SELECT i, repeat('y', 100) FROM generate_series(10000, 10500) i; SELECT brin_summarize_new_values('ranges_i'); DELETE FROM ranges WHERE i % 2 = 0; VACUUM ranges});
	$gate->ask('SELECT pg_advisory_lock(1)');
	$load->ask("SET race.waits = 'on'");
	$load->send("SELECT rows_loaded FROM bulk_load('ranges', '$ranges', '{\"writer\": \"buffered\", \"workers\": 0}')");
	wait_for('the load at the gate', sub {
		$other->ask("SELECT count(*) FROM pg_locks WHERE pid = $load->{pid} AND locktype = 'advisory' AND NOT granted") > 0 });
	is((map { $other->ask($_) } split /; /, $statements)[-1], 't', "ranges $what");
	$gate->ask('SELECT pg_advisory_unlock(1)');
	is($load->wait, 4000, "ranges $what: the load");
	is($node->safe_psql('postgres', q{SET enable_seqscan = off; SELECT count(*) FROM ranges k, LATERAL (SELECT count(*) FROM ranges t WHERE twice(t.i) = twice(k.i)) f (n) WHERE k.i % 97 = 0 AND n <> 1}),
		0, "ranges $what: each row is found");
	$node->safe_psql('postgres', 'VACUUM ranges');
	is($node->safe_psql('postgres', q{SET enable_seqscan = off; SELECT count(*) FROM ranges k, LATERAL (SELECT count(*) FROM ranges t WHERE twice(t.i) = twice(k.i)) f (n) WHERE k.i % 97 = 0 AND n <> 1}),
		0, "ranges $what: each row is found in summaries, too");
}

$_->close foreach ($load, $gate, $other);
check_log($node);
check_tables($node);
done_testing();
