# A load ends within a second when it is cancelled, in every phase, and leaves
# nothing behind.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $MB = 1024 * 1024;
my $folder = data_dir();
my $node = bulk_server('cancel', 'shared_buffers = 64MB', 'max_wal_size = 2GB');
my $session = PgBulk::Session->new($node);
my $pid = $session->{pid};
my $watch = PgBulk::Session->new($node);

$node->safe_psql('postgres', q{
	CREATE TABLE knob (slow bool);
	CREATE TABLE plain (i int, s text);
	CREATE TABLE indexed (i int, s text);
	CREATE INDEX ON indexed (i);
	CREATE INDEX ON indexed (s);

	-- slow in a function that sleeps, and in one that does not
	CREATE FUNCTION nap(i int) RETURNS bool LANGUAGE plpgsql AS
	$$BEGIN PERFORM pg_sleep(0.01); RETURN i > 0; END$$;
	CREATE TABLE napping (i int CHECK (nap(i)), s text);
	CREATE FUNCTION spin(i int) RETURNS bool LANGUAGE plpgsql AS
	$$BEGIN FOR k IN 1 .. 10000000 LOOP NULL; END LOOP; RETURN i > 0; END$$;
	CREATE TABLE spinning (i int CHECK (spin(i)), s text);

	-- rows that wait for a trigger
	CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
	$$BEGIN PERFORM pg_sleep(0.01); RETURN NEW; END$$;
	CREATE TABLE held (i int, s text);
	CREATE TRIGGER hold BEFORE INSERT ON held FOR EACH ROW EXECUTE FUNCTION hold();
	CREATE TABLE held_after (i int, s text);
	CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON held_after FOR EACH ROW EXECUTE FUNCTION hold();

	-- slow to analyze only
	CREATE FUNCTION when_analyzed(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	$$BEGIN
	IF EXISTS (SELECT FROM pg_catalog.pg_stat_progress_analyze WHERE pid = pg_backend_pid()) THEN
	PERFORM pg_sleep(0.01);
	END IF;
	RETURN i;
	END$$;
	CREATE TABLE analyzed (i int, s text);
	CREATE STATISTICS slow_one ON (when_analyzed(i)), s FROM analyzed;
	CREATE TABLE parts (i int, s text) PARTITION BY HASH (i);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1)});

# A list of a file, so long that no load reaches its end.
sub many { return 'ARRAY[' . join(',', ("'$_[0]'") x 200) . ']'; }

sub lines { my ($format) = @_; return join('', map { sprintf($format, $_) } 1 .. 50000); }

my $small = "'" . data_file('small.csv', 1, join('', map { "$_,some text\n" } 1 .. 2000)) . "'";
my $large = many(data_file('large.csv', 15 * $MB, lines("%d,some text\n")));
my $bad = many(data_file('bad.csv', 15 * $MB, lines("x%d,some text\n")));
my $mixed = many(data_file('mixed.csv', 15 * $MB, lines("%d,some text\n") . lines("x%d,some text\n")));
my $quotes = many(data_file('quotes.csv', 15 * $MB, "1,\"some text\n" . "2,some text\n" x 10));
my $quote = "'" . data_file('quote.csv', 600 * $MB, "some text\n" x 100000, '1,"') . "'";

# The session is as if nothing had been, but for an error of this SQLSTATE.
sub is_over
{
	my ($name, $table) = @_;

	is($session->sqlstate, '57014', "$name: it says so") or diag $session->{error};
	is($session->ask("SELECT count(*) FROM $table"), '0', "$name: nothing is loaded");
	is($session->ask(q{
			SELECT string_agg(locktype || ' ' || mode || ' ' || coalesce(relation::regclass::text, ''), ',') FROM pg_locks
			WHERE pid = pg_backend_pid() AND locktype <> 'virtualxid' AND relation IS DISTINCT FROM 'pg_locks'::regclass}),
		'', "$name: no lock is left");
	my @open = grep { defined && /^\Q$folder\E/ } map { readlink } glob "/proc/$pid/fd/*";
	is("@open", '', "$name: no file is open");
	is($session->ask("SELECT count(*) FROM pg_stat_progress_copy"), '0', "$name: no progress is left");
	is($session->ask("BEGIN; SELECT rows_loaded FROM bulk_load('plain', $small); ROLLBACK"), '2000',
		"$name: the next load works");
}

# Cancels a load after a while, and again with the other way of cancelling.
sub cancels
{
	my ($name, $table, $path, $options, $when, $pause) = @_;
	my $sql = "SELECT bulk_load('$table', $path, '$options')";

	# by pg_cancel_backend, when the load is there where it shall be
	$when //= "SELECT bytes_processed > 0 FROM bulk_load_progress_wide WHERE pid = $pid";
	$pause //= 0.3;
	ends_soon($name, sub { $session->cancel($sql, $watch, sub { $watch->ask($when) eq 't' }, $pause) });
	is_over($name, $table);

	# by a timeout, wherever the load is then
	ends_soon("$name, timeout", sub { $session->time_out($sql, $pause) });
	is($session->sqlstate, '57014', "$name: it says so");
	is($session->ask("SELECT count(*) FROM $table"), '0', "$name: nothing is loaded");
}

my $ignore = '"on_error": "ignore", "log_verbosity": "silent"';

cancels('reading', 'plain', $large, '{}');
cancels('with indexes', 'indexed', $large, '{}');
cancels('into partitions', 'parts', $large, '{}');
cancels('rows that are filtered', 'plain', $large, '{"where": "i < 0"}');
cancels('rows that are skipped', 'plain', $large, '{"skip": 100000000000}');
cancels('a CHECK that sleeps', 'napping', $small, '{}',
	"SELECT phase = 'reading' FROM bulk_load_progress WHERE pid = $pid");
cancels('a CHECK that computes', 'spinning', $small, '{}',
	"SELECT phase = 'reading' FROM bulk_load_progress WHERE pid = $pid");
cancels('a CHECK under on_error', 'spinning', $small, "{$ignore}",
	"SELECT phase = 'reading' FROM bulk_load_progress WHERE pid = $pid");
cancels('a row trigger', 'held', $small, "{$ignore}",
	"SELECT phase = 'reading' FROM bulk_load_progress WHERE pid = $pid");
cancels('rejects to nowhere', 'plain', $bad, "{$ignore}");
cancels('rejects to a table', 'plain', $bad, qq({$ignore, "reject_table": "rejected"}));
cancels('rejects to a file', 'plain', $bad, qq({$ignore, "reject_file": "$folder/rejects"}));
cancels('every second row a reject', 'plain', $mixed, qq({$ignore, "reject_table": "rejected", "reject_file": "$folder/rejects"}));
cancels('set_null', 'plain', $bad, '{"on_error": "set_null", "log_verbosity": "silent"}');
cancels('quotes that spoil rows', 'plain', $quotes, "{$ignore}");
cancels('a quote that is not closed', 'plain', $quote, '{}',
	"SELECT bytes_total > 0 FROM bulk_load_progress_wide WHERE pid = $pid", 0.1);
cancels('a quote that is not closed, under on_error', 'plain', $quote, "{$ignore}",
	"SELECT bytes_total > 0 FROM bulk_load_progress_wide WHERE pid = $pid", 0.1);
cancels('an AFTER trigger', 'held_after', $small, '{}',
	"SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $pid");
cancels('analyzing', 'analyzed', $small, '{"analyze": true}',
	"SELECT count(*) > 0 FROM pg_stat_progress_analyze WHERE pid = $pid");

# Whoever catches a cancel rolls back a subtransaction, which is its own, wherever the cancel came: what was before is
# committed with the statement, and nothing else.
$node->safe_psql('postgres', 'CREATE TABLE noted (what text)');
my $typed = data_file('typed.csv', 20 * $MB, join('', map { sprintf "%d,%.2f,2024-01-%02d,%d:00\n", $_, $_ / 7, 1 + $_ % 28, $_ % 24 } 1 .. 50000));
foreach my $call ("bulk_inspect('$typed')", qq(bulk_load('plain', '$typed', '{"header": "auto", "delimiter": "auto"}')))
{
	my $start = time;

	$session->ask("BEGIN; SELECT FROM $call; ROLLBACK");
	my $took = time - $start;

	foreach my $part (1 .. 15)
	{
		$session->ask(sprintf(q{SET statement_timeout = '%dms'}, 1 + 1000 * $took * $part / 16));
		$session->ask(qq{DO \$\$
			BEGIN
				INSERT INTO noted VALUES ('before');
				BEGIN
					INSERT INTO noted VALUES ('inside');
					PERFORM FROM $call;
					RAISE query_canceled;
				EXCEPTION WHEN query_canceled THEN
					INSERT INTO noted VALUES ('caught');
				END;
			END \$\$});
		$session->ask('SET statement_timeout = 0');
		is($node->safe_psql('postgres', "SELECT state FROM pg_stat_activity WHERE pid = $pid"), 'idle', "$part of 16 of $call: no transaction is left");
		# nothing, where the timeout came behind the block
		like($node->safe_psql('postgres', "SELECT string_agg(what, ' ' ORDER BY what) FROM noted"), qr/^(?:before caught)?$/, "$part of 16 of $call: what was inside is not there");
		$node->safe_psql('postgres', 'TRUNCATE noted');
	}
}

# Waiting for a lock, and for the end of another's transaction on a key.
my $other = PgBulk::Session->new($node);
$other->ask('BEGIN; LOCK TABLE plain');
ends_soon('waiting for a lock', sub {
	$session->cancel("SELECT bulk_load('plain', $small)", $watch,
		sub { $watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $pid AND NOT granted") > 0 }, 0);
});
$other->ask('ROLLBACK');
is_over('waiting for a lock', 'plain');

# In a block: an error as any other, below a savepoint too.
is($session->ask("BEGIN; INSERT INTO plain VALUES (0, 'mine'); SAVEPOINT s;
	SET LOCAL statement_timeout = '300ms'; SELECT bulk_load('plain', $large); ROLLBACK TO s;
	SELECT rows_loaded FROM bulk_load('plain', $small); SELECT count(*) FROM plain; ROLLBACK"),
	"2000\n2001", 'after ROLLBACK TO a savepoint the load can be done again');

# The end of the session.
ends_soon('pg_terminate_backend', sub {
	my $doomed = PgBulk::Session->new($node);

	$pid = $doomed->{pid};
	$doomed->send("SELECT bulk_load('plain', $large)");
	wait_for('the load', sub { $watch->ask("SELECT bytes_processed > 0 FROM bulk_load_progress_wide WHERE pid = $pid") eq 't' });
	my $start = time;
	$watch->ask("SELECT pg_terminate_backend($pid)");
	wait_for('the end of the session', sub { !-e "/proc/$pid" });
	my $took = time - $start;
	$doomed->close;
	return $took;
});
is($node->safe_psql('postgres', 'SELECT count(*) FROM plain'), '0', 'and nothing is loaded');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE pid = $pid"), '0', 'and no lock is left');

$session->close;
$other->close;
$watch->close;
check_log($node);
$node->stop;
done_testing();
