# Serializable transactions beside loads by the batch: each schedule is played with COPY, or with SQL
# that does what a load with on_duplicate does, and with bulk_load.  The same steps must fail.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('serializable', 'deadlock_timeout = 1h', 'lock_timeout = 60s');
my ($load, $other, $third) = map { PgBulk::Session->new($node) } 1 .. 3;

# keys 0, 10, ... 39990 on some hundred leaves; the file has those that end in 5 of a part of it
$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE old AS SELECT i * 10 AS k, i % 400 AS few, 'old ' || i AS s FROM generate_series(0, 3999) i;
	CREATE TABLE t (k int, few int, s text) WITH (autovacuum_enabled = off);
	CREATE UNIQUE INDEX t_k ON t (k) WITH (fillfactor = 50);
	CREATE INDEX t_few ON t (few) WITH (fillfactor = 50);
	CREATE TABLE empty (LIKE t) WITH (autovacuum_enabled = off);
	CREATE UNIQUE INDEX empty_k ON empty (k);
	CREATE INDEX empty_few ON empty (few)});
my @keys = ((map { 20005 + 10 * $_ } 0 .. 1499), 7005);
my $file = data_file('rows.csv', 1, join('', map { "$_," . (500 + $_ % 7) . ",new $_\n" } @keys));
my $known = data_file('known.csv', 1, join('', map { $_ - 5 . ',' . (500 + $_ % 7) . ",new $_\n" } @keys));
$_->ask("SET enable_seqscan = off; SET default_transaction_isolation = 'serializable'") foreach ($load, $other, $third);

sub reset_tables
{
	$node->safe_psql('postgres', 'TRUNCATE t, empty; INSERT INTO t SELECT * FROM old; VACUUM ANALYZE t');
}

# What a load does, to table %t and file %f: in SQL, and by bulk_load.
my $call = sub { my ($policy) = @_; return "SELECT rows_loaded FROM bulk_load('%t', '%f', '{\"writer\": \"buffered\", \"workers\": 0, \"on_duplicate\": \"$policy\", \"log_verbosity\": \"silent\"}')"; };
my %ways = (
	append => [ "COPY %t FROM '%f' (FORMAT csv)", $call->('error') ],
	keep_old => [ 'INSERT INTO %t SELECT * FROM staged_%n ON CONFLICT DO NOTHING', $call->('keep_old') ],
	keep_new => [ 'INSERT INTO %t SELECT * FROM staged_%n ON CONFLICT (k) DO UPDATE SET few = excluded.few, s = excluded.s', $call->('keep_new') ]);
$node->safe_psql('postgres', "CREATE UNLOGGED TABLE staged_rows (LIKE t); CREATE UNLOGGED TABLE staged_known (LIKE t); COPY staged_rows FROM '$file' (FORMAT csv); COPY staged_known FROM '$known' (FORMAT csv); ANALYZE staged_rows, staged_known");

# the load reads something, others change that, and have read what the load changes
my $begin = 'BEGIN; SELECT count(*) FROM t WHERE k = 100';
my $spoil = "UPDATE t SET s = 'theirs' WHERE k = 100";

# name; ways; table; file; steps: who and what, %l: the load
my @schedules;

foreach my $read (
	[ 'a key that is missing', 'k = 7005' ], [ 'a range', 'k BETWEEN 7003 AND 7008' ],
	[ 'the last keys', 'k > 39980' ], [ 'a key that another index has', 'few = 505' ],
	[ 'one that it has not', 'few = 300' ], [ 'the whole table', 'k >= 0' ], [ 'keys of a batch', 'k = 25005' ], [ 'a key that is known', 'k = 7000' ])
{
	my ($what, $where) = @$read;

	foreach my $way ([ 'append', 'rows' ], [ 'keep_old', 'rows' ], [ 'keep_old', 'known' ], [ 'keep_new', 'rows' ], [ 'keep_new', 'known' ])
	{
		push @schedules, [ "$what, first", @$way, 't', [ $load, $begin ], [ $other, "BEGIN; SELECT count(s) FROM t WHERE $where" ], [ $load, '%l' ], [ $other, $spoil ], [ $load, 'COMMIT' ], [ $other, 'COMMIT' ] ];
		next unless $where =~ /7005/;
		push @schedules, [ "$what, afterwards", @$way, 't', [ $load, $begin ], [ $other, 'BEGIN; SELECT count(*) FROM old' ], [ $load, '%l' ], [ $other, "SELECT count(s) FROM t WHERE $where" ], [ $other, $spoil ], [ $other, 'COMMIT' ], [ $load, 'COMMIT' ] ];
	}
}
foreach my $where ('k = 25005', 'few = 501', 'k > 30000')
{
	push @schedules, [ "an empty index, $where", $_, 'rows', 'empty', [ $load, $begin ], [ $other, "BEGIN; SELECT count(s) FROM empty WHERE $where" ], [ $load, '%l' ], [ $other, $spoil ], [ $load, 'COMMIT' ], [ $other, 'COMMIT' ] ]
	  foreach qw(append keep_old keep_new);
}
foreach my $way ([ 'append', 'rows' ], [ 'keep_old', 'rows' ], [ 'keep_new', 'known' ])
{
	# a reader between two writers that sees the second one only
	push @schedules, [ 'a reader', @$way, 't', [ $load, $begin ], [ $other, "BEGIN; SELECT count(*) FROM old; $spoil" ], [ $other, 'COMMIT' ], [ $third, 'BEGIN; SELECT s FROM t WHERE k = 100' ],
		[ $third, 'SELECT count(s) FROM t WHERE k BETWEEN 7000 AND 7005' ], [ $third, 'COMMIT' ], [ $load, '%l' ], [ $load, 'COMMIT' ] ];
	# leaves that split after they were read, and before the load
	push @schedules, [ 'leaves that split', @$way, 't', [ $load, $begin ], [ $other, 'BEGIN; SELECT count(s) FROM t WHERE k BETWEEN 7003 AND 7008 OR k = 7000' ],
		[ $third, "BEGIN; INSERT INTO t SELECT i, 900, 'theirs' FROM generate_series(6001, 7999) i WHERE i % 10 > 5; COMMIT" ], [ $load, '%l' ], [ $other, $spoil ], [ $load, 'COMMIT' ], [ $other, 'COMMIT' ] ];
	# all went well, or was rolled back
	push @schedules, [ 'rolled back', @$way, 't', [ $load, $begin ], [ $other, 'BEGIN; SELECT count(s) FROM t WHERE k BETWEEN 7000 AND 7005' ], [ $load, '%l' ], [ $load, 'ROLLBACK' ], [ $other, $spoil ], [ $other, 'COMMIT' ] ];
}

# A row that stays as others are in its way depends on these, in SQL from 19 and some minor releases on,
# and in each load: whoever changes them, and has read what the load's transaction changes, or the load, fails.
my $one = data_file('one.csv', 1, "25000,500,new\n");
my $free = "SELECT count(s) FROM t WHERE k = 100";

foreach my $path ($one, $known)
{
	foreach my $writer ('buffered', 'direct')
	{
		foreach my $policy ('"keep_old"', '{"set": ["s"], "where": "new.few < 0"}')
		{
			my $sql = "SELECT rows_loaded, rows_duplicate FROM bulk_load('t', '$path', '{\"writer\": \"$writer\", \"workers\": 0, \"on_duplicate\": $policy, \"log_verbosity\": \"silent\"}')";

			next if $writer eq 'direct' && $policy =~ /set/;
			foreach my $change ("UPDATE t SET s = 'theirs' WHERE k = 25000", 'DELETE FROM t WHERE k = 25000')
			{
				my @fates;
				# others wait for the end of a load that locks the table, or the rows
				my @end = $writer eq 'direct' || $policy =~ /set/ ? ([ $load, 'COMMIT' ], [ $other, $change ], [ $other, 'COMMIT' ]) : ([ $other, $change ], [ $other, 'COMMIT' ], [ $load, 'COMMIT' ]);

				reset_tables();
				foreach my $step ([ $other, "BEGIN; $free" ], [ $load, 'BEGIN' ], [ $load, $sql ], [ $load, $spoil ], @end)
				{
					$step->[0]->ask($step->[1]);
					push @fates, $step->[0]->sqlstate || 'good';
				}
				like("@fates", qr/^good good good good.* 40001/, "$sql, while others say $change");
			}
		}
	}
}

# Which steps fail, and what is in the table then.
sub play
{
	my ($schedule, $i) = @_;
	my ($name, $way, $name_of_file, $table, @steps) = @$schedule;
	my $path = $name_of_file eq 'rows' ? $file : $known;
	my @fates;

	reset_tables();
	foreach my $step (@steps)
	{
		my ($who, $what) = @$step;

		$what = $ways{$way}[$i] =~ s/%t/$table/r =~ s/%f/$path/r =~ s/%n/$name_of_file/r if $what eq '%l';
		$who->ask($what);
		push @fates, $who->sqlstate || 'good';
	}
	return join(' ', @fates) . ', rows ' . $node->safe_psql('postgres', "SELECT count(*), sum(hashtext(t::text)) FROM (SELECT * FROM t UNION ALL SELECT * FROM empty) t");
}

my $failed = 0;

foreach my $schedule (@schedules)
{
	my ($wanted, $found) = map { play($schedule, $_) } 0 .. 1;

	is($found, $wanted, "$schedule->[1] of $schedule->[2], $schedule->[0]");
	$failed += $wanted =~ /40001/;
}
note "$failed of " . @schedules . ' schedules fail';
cmp_ok($failed, '>', @schedules / 4, 'many schedules must fail');

$_->close foreach ($load, $other, $third);
check_log($node);
check_tables($node);
done_testing();
