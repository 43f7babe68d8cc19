# What another session sees of a load while it runs.

use strict;
use warnings;

use Encode;
use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('progress');
my $session = PgBulk::Session->new($node);
my $pid = $session->{pid};
my $watch = PgBulk::Session->new($node);

# The row that begins with a number in "stops" waits until that number is gone
# from there.
$node->safe_psql('postgres', q{
	CREATE TABLE t (i int, s text);
	CREATE TABLE indexed (i int, s text);
	CREATE INDEX ON indexed (i);
	CREATE TABLE checked (i int, s text);
	CREATE FUNCTION wait_there(i int) RETURNS bool LANGUAGE plpgsql AS $$
	BEGIN
	IF i % 10000 = 0 THEN
	PERFORM pg_advisory_lock(i); PERFORM pg_advisory_unlock(i);
	END IF;
	IF i % 10000 = 7 THEN
	RAISE EXCEPTION 'refused';
	END IF;
	RETURN true;
	END$$;
	CREATE FUNCTION wait_there() RETURNS trigger LANGUAGE plpgsql AS
	$$BEGIN PERFORM wait_there(NEW.i); RETURN NEW; END$$;
	ALTER TABLE t ADD CHECK (wait_there(i));
	ALTER TABLE indexed ADD CHECK (wait_there(i));
	ALTER TABLE checked ADD CHECK (wait_there(i))});

# Rows of 100 bytes, of which number 7 of each 10000 is refused by an error.
my $total = 60000;
my $path = data_file('rows.csv', 1,
	join('', map { sprintf("%08d,%s\n", $_, 'x' x 90) } grep { $_ % 10000 != 7 } 1 .. $total));
my $bad = data_file('bad.csv', 1, join('', map { sprintf("%s,%s\n", $_ % 100 == 1 ? 'not an int' : $_, 'x' x 90) }
	grep { $_ % 10000 != 7 } 1 .. $total));
my $rows = $total - $total / 10000;
my $size = -s $path;

sub view
{
	my ($columns) = @_;
	return $watch->ask("SELECT $columns FROM bulk_load_progress_wide WHERE pid = $pid");
}

# Starts a load that stops at each 10000th row; returns when it has stopped.
sub stop_at
{
	my ($row) = @_;
	wait_for("row $row", sub {
		$watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $pid AND locktype = 'advisory'
			AND objid = $row AND NOT granted") eq '1';
	});
}

sub hold { $watch->ask("SELECT pg_advisory_lock($_)") foreach @_; }
sub unlock { $watch->ask("SELECT pg_advisory_unlock($_)") foreach @_; }

foreach my $table ('t', 'indexed')
{
	my ($last, $last_percent) = (0, 0);

	hold(map { 10000 * $_ } 1 .. 6);
	# windows of 64 kB, so that a few hundred rows make a step
	$session->ask('SET pgbulk.chunk_size = 65536');
	$session->send("SELECT rows_loaded FROM bulk_load('$table', '$path')");
	foreach my $step (1 .. 6)
	{
		my $row = 10000 * $step;

		stop_at($row);
		is(view("phase, relation, datname, bytes_total, bar ~ '^[\x{2588}\x{2591}]{10}\$', elapsed > '0', percent BETWEEN 0 AND 100"),
			"reading|$table|postgres|$size|t|t|t", "$table, row $row: what is there all along");

		my ($percent, $bytes, $loaded, $rejected, $blocks, $rate, $eta) = split /\|/,
			view('percent, bytes_processed, rows_loaded, rows_rejected, length(replace(bar, repeat(right(bar, 1), 1), \'\')), rows_per_second > 0, eta >= \'0\'');
		my $expected = 100 * $row / $total;

		# How much of the load an index is depends on the machine.
		cmp_ok($percent, '<', $expected + 5, "$table, row $row: $percent percent is not too much");
		cmp_ok($percent, '>', $table eq 'indexed' ? $expected / 2 : $expected - 5, "$table, row $row: nor too little");
		cmp_ok($percent, '>=', $last_percent, "$table, row $row: no less than before");
		cmp_ok(abs($loaded - $row), '<', 2000, "$table, row $row: $loaded rows");
		cmp_ok($bytes, '>', $last, "$table, row $row: more bytes than before");
		cmp_ok($bytes, '<=', $size, "$table, row $row: not more than there are");
		is("$rejected|$rate|$eta", '0|t|t', "$table, row $row: no rejects, a rate and an end");
		($last, $last_percent) = ($bytes, $percent);
		is($watch->ask("SELECT command, type, relid::regclass, bytes_processed, bytes_total, tuples_processed,
				tuples_excluded FROM pg_stat_progress_copy WHERE pid = $pid"),
			"COPY FROM|FILE|$table|$bytes|$size|$loaded|0", "$table, row $row: pg_stat_progress_copy says the same");
		unlock($row);
	}
	is($session->wait, $rows, "$table: all is loaded");
	is(view('count(*)'), '0', "$table: the view is empty afterwards");
	is($watch->ask('SELECT count(*) FROM pg_stat_progress_copy'), '0', "$table: and so is the server's");
}

# What was loaded before is no part of a load of a file's tail.
my $old = join('', map { sprintf("%08d,%s\n", $_, 'x' x 90) } grep { $_ != 7 } 1 .. 9000);
my $new = join('', map { sprintf("%08d,%s\n", $_, 'x' x 90) } grep { $_ != 10007 } 9001 .. 15000);
my $grown = data_file('grown.csv', 1, $old);
my $tail = "SELECT rows_loaded FROM bulk_load('t', '$grown', '{\"once\": \"tail\"}')";
is($session->ask($tail), 8999, 'a file');
append_to_file($grown, $new);
hold(10000);
$session->send($tail);
stop_at(10000);
is(view("bytes_total, bytes_processed BETWEEN 50000 AND 150000, percent BETWEEN 8 AND 25"),
	length($new) . '|t|t', 'its tail');
unlock(10000);
is($session->wait, 5999, 'is all that is loaded then');

# What people look at fits a terminal.
hold(20000);
$session->send("SELECT rows_loaded FROM bulk_load('t', '$path')");
stop_at(20000);
my ($widest) = sort { $b <=> $a } map { length(Encode::decode("UTF-8", $_)) } split /\n/, $node->safe_psql('postgres', '\pset format aligned
\pset tuples_only off
SELECT * FROM bulk_load_progress');
cmp_ok($widest, '<=', 120, "a line of bulk_load_progress has $widest columns");
unlock(20000);
$session->wait;

# The bar.
hold(20000, 60000);
$session->send("SELECT rows_loaded FROM bulk_load('t', '$path')");
stop_at(20000);
like(view('bar'), qr/^(?:\xe2\x96\x88){3}(?:\xe2\x96\x91){7}$/, 'a third is three blocks of ten');
unlock(20000);
stop_at(60000);
like(view('bar'), qr/^(?:\xe2\x96\x88){9}\xe2\x96\x91$/, 'before the end it is not full');

# A role that is not the load's sees that it runs, but no more than of others.
$node->safe_psql('postgres', 'CREATE ROLE stranger LOGIN');
is($node->safe_psql('postgres', "SELECT count(*), count(bytes_processed) FROM bulk_load_progress_wide",
		extra_params => [ '-U', 'stranger' ]), '0|0', 'a stranger sees nothing of it');
is($node->safe_psql('template1', 'SELECT count(*) FROM pg_stat_progress_copy'), '1', 'it is seen from other databases');
unlock(60000);
$session->wait;

# After an error.
hold(20000);
$session->send("SELECT bulk_load('t', '$bad', '{\"skip\": 5}')");
$session->wait;
is($session->sqlstate, '22P02', 'a bad row ends the load');
is(view('count(*)'), '0', 'and nothing of it is seen any more');
unlock(20000);

# Rejects: counted, and an error that the guard has caught hides nothing.
my $third = data_file('third.csv', 1, join('', map { sprintf("%s,%s\n", $_ % 4 == 0 && $_ % 10000 ? 'no int' : $_, 'x' x 90) } 1 .. $total));
hold(30000);
$session->send("SELECT rows_loaded, rows_rejected FROM bulk_load('checked', '$third', '{\"on_error\": \"ignore\", \"where\": \"i % 4 <> 1\", \"log_verbosity\": \"silent\"}')");
stop_at(30000);
my ($phase, $loaded, $rejected, $filtered) = split /\|/, view('phase, rows_loaded, rows_rejected, rows_filtered');
is($phase, 'reading', 'with errors caught: still there');
cmp_ok(abs($rejected - 7500), '<', 500, "with errors caught: $rejected rejects");
cmp_ok(abs($filtered - 7500), '<', 500, "with errors caught: $filtered filtered");
cmp_ok(abs($loaded - 15000), '<', 1000, "with errors caught: $loaded loaded");
is($watch->ask("SELECT tuples_processed, tuples_excluded FROM pg_stat_progress_copy WHERE pid = $pid"),
	"$loaded|$filtered", 'with errors caught: the server says the same');
is($watch->ask("SELECT tuples_skipped FROM pg_stat_progress_copy WHERE pid = $pid"), $rejected,
	'with errors caught: and the same rejects') if $node->pg_version >= 17;
unlock(30000);
$session->wait;

# In the window of the caught error itself.
my $caught = data_file('caught.csv', 1, "9998,a\n9999,b\n10007,c\n10008,d\n20000,e\n");
hold(20000);
$session->send("SELECT rows_loaded, rows_rejected FROM bulk_load('checked', '$caught', '{\"on_error\": \"ignore\", \"log_verbosity\": \"silent\"}')");
stop_at(20000);
is(view('phase'), 'reading', 'right after an error was caught: still there');
unlock(20000);
is($session->wait, '4|1', 'right after an error was caught: it was one');
is(view('count(*)'), '0', 'and nothing is seen afterwards');

# The later phases.
$node->safe_psql('postgres', q{
	CREATE FUNCTION wait_after() RETURNS trigger LANGUAGE plpgsql AS
	$$BEGIN PERFORM pg_advisory_lock(1); PERFORM pg_advisory_unlock(1); RETURN NULL; END$$;
	CREATE TABLE late (i int, s text);
	CREATE TRIGGER late AFTER INSERT ON late FOR EACH STATEMENT EXECUTE FUNCTION wait_after();
	CREATE FUNCTION when_analyzed(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	$$BEGIN
	IF i = 3 AND EXISTS (SELECT FROM pg_catalog.pg_stat_progress_analyze WHERE pid = pg_backend_pid()) THEN
	PERFORM pg_advisory_lock(2); PERFORM pg_advisory_unlock(2);
	END IF;
	RETURN i;
	END$$;
	CREATE STATISTICS slow_one ON (when_analyzed(i)), s FROM late});
my $few = data_file('few.csv', 1, join('', map { "$_,$_\n" } 1 .. 10));
hold(1, 2);
$session->send("SELECT rows_loaded FROM bulk_load('late', '$few', '{\"analyze\": true}')");
stop_at(1);
is(view('phase, percent BETWEEN 0 AND 99.9, rows_loaded, eta >= interval \'0\''), 'constraints|t|10|t', 'while triggers run: phase constraints');
unlock(1);
stop_at(2);
is($watch->ask("SELECT relid::regclass FROM pg_stat_progress_analyze WHERE pid = $pid"), 'late',
	'while ANALYZE runs it shows its own progress');
unlock(2);
is($session->wait, '10', 'then all is loaded');
is(view('count(*)'), '0', 'and nothing is seen afterwards');

# Two loads at once are two rows.
my $second = PgBulk::Session->new($node);
hold(10000, 20000);
$session->send("SELECT bulk_load('t', '$path')");
$second->send("SELECT bulk_load('indexed', '$path')");
stop_at(10000);
wait_for('the second load', sub { $watch->ask('SELECT count(*) FROM bulk_load_progress_wide') eq '2' });
is($watch->ask('SELECT string_agg(relation, \',\' ORDER BY relation) FROM bulk_load_progress_wide'), 'indexed,t', 'two loads at once');
# a COPY is none
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid), pg_cancel_backend($second->{pid})");
$session->wait;
$second->wait;
is($watch->ask('SELECT count(*) FROM bulk_load_progress_wide'), '0', 'and none when both are cancelled');
$session->ask('SET pgbulk.chunk_size = 65536');
$session->send("COPY t FROM '$path' (FORMAT csv)");
stop_at(10000);
is($watch->ask("SELECT count(*) FROM pg_stat_progress_copy"), '1', 'a COPY');
is(view('count(*)'), '0', 'is no load');
unlock(10000, 20000);
$session->wait;

$_->close foreach $session, $second, $watch;
check_log($node);
$node->stop;
done_testing();
