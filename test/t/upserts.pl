# Several sessions load rows with the same keys into one table, under keep_old and keep_new, each
# against the others and against plain upserts, on all levels of isolation: whatever
# the order, each upsert has counted once, in a row that is there or in one that
# was replaced.
#
# PGBULK_TEST_ROUNDS=n plays each case n times; else 1.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{PGBULK_TEST_ROUNDS} // 1;
my $keys = 300;
my $upserts = 300;
my $node = bulk_server('upserts', 'deadlock_timeout = 100ms');

# A row's v is how often it has been upserted since it is there.
$node->safe_psql('postgres', qq{
	CREATE EXTENSION amcheck;
	CREATE TABLE t (k int PRIMARY KEY, v int, who text);
	CREATE TABLE upserts (k int, inserted bool);
	CREATE TABLE loads (who int, loaded int, duplicate int, replaced int, lines int, writer text);
	CREATE FUNCTION replaced(raw_line text) RETURNS t LANGUAGE sql AS 'SELECT raw_line::t';

	-- one way or the other
	CREATE FUNCTION upsert(key int, how int) RETURNS void LANGUAGE plpgsql AS \$\$
	DECLARE
	was_inserted bool;
	BEGIN
	IF how = 0 THEN
		INSERT INTO t VALUES (key, 1, 'upsert') ON CONFLICT (k) DO UPDATE SET v = t.v + 1 RETURNING xmax = 0 INTO was_inserted;
	ELSE
		UPDATE t SET v = v + 1 WHERE k = key;
		was_inserted = NOT FOUND;
		IF was_inserted THEN INSERT INTO t VALUES (key, 1, 'upsert'); END IF;
	END IF;
	INSERT INTO upserts VALUES (key, was_inserted);
	END\$\$;
	CREATE FUNCTION load(whose int, path text, options jsonb) RETURNS void LANGUAGE sql AS \$\$
	INSERT INTO loads SELECT whose, rows_loaded, rows_duplicate, rows_replaced, rows_read, writer
		FROM bulk_load('t', path, options || '{"log_verbosity": "silent"}')\$\$});

# Files with all keys in orders of their own, some twice.
sub keys_file
{
	my ($name, $step) = @_;

	return data_file("$name.csv", 1, join('', map { my $k = 1 + $_ * $step % $keys; ("$k,0,$name\n") x ($_ % 50 == 0 ? 2 : 1) } 0 .. $keys - 1));
}

my @files = (keys_file('up', 1), keys_file('down', $keys - 1), keys_file('jump', 7), keys_file('leap', 101));
my @cases = (
	# level; policies of buffered loads; those of direct ones
	[ 'READ COMMITTED', [qw(keep_old keep_new)], [] ],
	[ 'READ COMMITTED', [qw(keep_new keep_new)], [qw(keep_old)] ],
	[ 'REPEATABLE READ', [qw(keep_new keep_old)], [] ],
	[ 'SERIALIZABLE', [qw(keep_new keep_new)], [] ],
	[ 'SERIALIZABLE', [qw(keep_old keep_new)], [qw(keep_new)] ]);

# Does what each session has to do, one statement after the other, all sessions
# in parallel.  What fails for the sake of others is tried again.  Returns the
# other errors, and how many tries were in vain.
sub work
{
	my ($level, @tasks) = @_;
	my @session = map { PgBulk::Session->new($node) } @tasks;
	my ($errors, $again) = ('', 0);

	$_->ask("SET default_transaction_isolation = '$level'") foreach @session;
	my @busy = map { { session => $session[$_], left => $tasks[$_] } } 0 .. $#tasks;
	$_->{session}->send($_->{left}[0]) foreach @busy;
	wait_for('the end of all work', sub {
		foreach my $one (@busy)
		{
			my $session = $one->{session};

			next unless $session->done;
			$session->wait;
			if ($session->sqlstate eq '40001' || ($session->sqlstate eq '23505' && $one->{left}[0] =~ /upsert/))
			{
				$again++;
			}
			else
			{
				$errors .= $session->{error};
				shift @{ $one->{left} };
			}
			$session->send($one->{left}[0]) if @{ $one->{left} };
		}
		@busy = grep { @{ $_->{left} } } @busy;
		return !@busy;
	});
	$_->close foreach @session;
	return ($errors, $again);
}

foreach my $case ((@cases) x $rounds)
{
	my ($level, $buffered, $direct) = @$case;
	my @policies = ((map { [ 'buffered', $_ ] } @$buffered), (map { [ 'direct', $_ ] } @$direct));
	my $name = "$level, " . join(', ', map { "@$_" } @policies);
	my @tasks;

	# there are rows, so that no load finds the table empty
	$node->safe_psql('postgres', "DROP TABLE IF EXISTS rejected_0, rejected_1, rejected_2; TRUNCATE t, upserts, loads; INSERT INTO t VALUES (0, 0, 'first')");
	foreach my $i (0 .. $#policies)
	{
		my ($writer, $policy) = @{ $policies[$i] };

		push @tasks, [ ("SELECT load($i, '$files[$i]', '{\"writer\": \"$writer\", \"on_duplicate\": \"$policy\", \"reject_table\": \"rejected_$i\"}')") x 6 ];
	}
	push @tasks, [ map { 'SELECT upsert(' . (1 + $_ * 37 % $keys) . ', ' . $_ % 2 . ')' } 1 .. $upserts ], [ map { 'SELECT upsert(' . (1 + $_ * 11 % $keys) . ', ' . $_ % 2 . ')' } 1 .. $upserts ];
	my ($errors, $again) = work(lc $level, @tasks);
	is($errors, '', "$name: no error but those for which a statement is tried again");
	note "$name: $again were";

	# what was replaced had counted, too
	my $gone = join ' UNION ALL ', map { "SELECT $_ AS load, reason, CASE WHEN reason = 'replaced' THEN replaced(raw_line) END AS r FROM rejected_$_" } 0 .. $#policies;
	is($node->safe_psql('postgres', "SELECT count(*), sum(n) FROM (SELECT k, count(*) AS n FROM upserts GROUP BY 1) u"),
		$node->safe_psql('postgres', "SELECT (SELECT count(DISTINCT k) FROM upserts), 2 * $upserts"), "$name: all upserts were made");
	is($node->safe_psql('postgres', "SELECT u.k, u.n, s.n FROM (SELECT k, count(*) AS n FROM upserts GROUP BY 1) u
			FULL JOIN (SELECT k, sum(v) AS n FROM (SELECT k, v FROM t UNION ALL SELECT (r).k, (r).v FROM ($gone) g WHERE reason = 'replaced') x GROUP BY 1) s USING (k)
			WHERE coalesce(u.n, 0) <> coalesce(s.n, 0)"), '', "$name: no update is lost, none is made twice");
	# each key was inserted one time more than its rows were replaced
	is($node->safe_psql('postgres', "SELECT (SELECT sum(loaded - replaced) FROM loads) + (SELECT count(*) FROM upserts WHERE inserted) + 1 = (SELECT count(*) FROM t),
			(SELECT count(*) = count(DISTINCT k) AND count(*) = $keys + 1 FROM t)"), 't|t', "$name: rows that came, less those that were replaced");
	is($node->safe_psql('postgres', "SELECT bool_and(loaded + duplicate = lines AND lines = " . ($keys + $keys / 50) . ") FROM loads"), 't', "$name: counters of each load");
	is($node->safe_psql('postgres', "SELECT count(*) FROM (SELECT who AS load, sum(duplicate) AS d, sum(replaced) AS r FROM loads GROUP BY 1) l
			JOIN (SELECT load, count(*) FILTER (WHERE reason = 'duplicate') AS d, count(*) FILTER (WHERE reason = 'replaced') AS r FROM ($gone) g GROUP BY 1) j USING (load)
			WHERE (l.d, l.r) = (j.d, j.r)"), scalar @policies, "$name: and their rejects");
	is($node->safe_psql('postgres', "SELECT string_agg(DISTINCT writer, ' ' ORDER BY writer) FROM loads"), @$direct ? 'buffered direct' : 'buffered', "$name: the writers");
	is($node->safe_psql('postgres', "SELECT bt_index_parent_check('t_pkey', true, true)"), '', "$name: the index is sound");
}

check_log($node);
check_tables($node);
done_testing();
