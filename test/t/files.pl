# Files that change while they are read, and what survives a rollback.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time utime);

my $MB = 1024 * 1024;
my $folder = data_dir();
my $node = bulk_server('files');
my $session = PgBulk::Session->new($node);
my $pid = $session->{pid};
my $other = PgBulk::Session->new($node);

# The row with 0 waits for the other session.
$node->safe_psql('postgres', q{
	CREATE FUNCTION wait_there() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
	PERFORM pg_advisory_lock(1); PERFORM pg_advisory_unlock(1);
	RETURN NEW;
	END$$;
	CREATE TABLE t (i int, s text);
	CREATE TRIGGER wait_there BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.i = 0) EXECUTE FUNCTION wait_there()});

my $lines = join('', map { "$_,some text\n" } 1 .. 10000);
my $path = "$folder/data.csv";
my $total;

# A file of many windows; its first row waits.
sub new_file
{
	data_file('data.csv', 4 * $MB, $lines, "0,first\n");
	$total = 1 + ($lines =~ tr/\n//) * ((-s $path) - 8) / length $lines;
}

# Starts a load, calls $meanwhile when it has opened the file and read some of
# it, and waits for its end.
sub load_while
{
	my ($sql, $meanwhile) = @_;

	$session->ask('TRUNCATE t');
	$other->ask('SELECT pg_advisory_lock(1)');
	$session->send($sql);
	wait_for('the first row', sub {
		$other->ask("SELECT count(*) FROM pg_locks WHERE pid = $pid AND locktype = 'advisory' AND NOT granted") eq '1';
	});
	$meanwhile->();
	$other->ask('SELECT pg_advisory_unlock(1)');
	return $session->wait;
}

sub append
{
	my ($text) = @_;
	open(my $file, '>>:raw', $path) or die $!;
	print $file $text;
	close($file) or die $!;
}

my $load = "SELECT rows_loaded FROM bulk_load('t', '$path')";

# check_error(NAME, MEANWHILE): the load says that the file has changed.
sub changes
{
	my ($name, $meanwhile) = @_;

	foreach my $options ('{}', '{"on_error": "ignore"}')
	{
		new_file();
		sleep 0.02;
		load_while("SELECT rows_loaded FROM bulk_load('t', '$path', '$options')", $meanwhile);
		is($session->sqlstate, '55000', "$name: 55000 with $options") or diag $session->{error};
		like($session->{error}, qr/file "\Q$path\E" changed while it was read/, "$name: it says so");
		like($session->{error}, qr/HINT:  Load the file again/, "$name: and what to do");
		is($session->ask('SELECT count(*) FROM t'), '0', "$name: nothing is loaded");
	}
}

new_file();
is(load_while($load, sub { }), $total, 'a file that stays as it is');

changes('a file that grows by a row', sub { append("1,more\n") });
changes('a file that grows by part of a row', sub { append('1') });
changes('a file that grows by much', sub { append($lines x 20) });
changes('a file that shrinks', sub { truncate($path, 3 * $MB) or die $! });
changes('a file that shrinks below what is read', sub { truncate($path, 10) or die $! });
changes('a file that is emptied', sub { truncate($path, 0) or die $! });
changes('a file that is written over with as many bytes', sub {
	open(my $file, '+<:raw', $path) or die $!;
	seek($file, -100, 2);
	print $file '9';
	close($file) or die $!;
});

new_file();
is(load_while($load, sub { unlink $path or die $! }), $total, 'a file that is deleted is read to its end');
new_file();
is(load_while($load, sub {
			data_file('new.csv', 1, "5,five\n");
			rename("$folder/new.csv", $path) or die $!;
		}), $total, 'so is one whose place another takes');

# The second of two files goes away before its turn.
new_file();
my $second = data_file('second.csv', 1, "1,one\n");
load_while("SELECT bulk_load('t', ARRAY['$path', '$second'])", sub { unlink $second or die $! });
is($session->sqlstate, '58P01', 'a second file that is gone: no such file');
is($session->ask('SELECT count(*) FROM t'), '0', 'a second file that is gone: nothing is loaded');
$second = data_file('second.csv', 1, "1,one\n");
is(load_while("SELECT rows_loaded FROM bulk_load('t', ARRAY['$path', '$second'])", sub { data_file('second.csv', 1, "1,one\n2,two\n") }),
	$total + 2, 'a second file that changes before its turn is read as it is then');

# A file may be written until it is read, and another may take its name then.
foreach my $case (
	[ 'written to', 10001, sub { append("1,more\n") } ],
	[ 'replaced', 10000, sub { rename(data_file('other.csv', 1, "1,other\n"), $path) or die $! } ],
	[ 'deleted', 10000, sub { unlink($path) or die $! } ])
{
	my ($name, $rows, $meanwhile) = @$case;

	data_file('data.csv', 1, $lines);
	$other->ask('BEGIN; LOCK TABLE t IN SHARE MODE');
	$session->send($load);
	wait_for('the lock', sub {
		$other->ask("SELECT count(*) FROM pg_locks WHERE pid = $pid AND NOT granted") eq '1';
	});
	$meanwhile->();
	$other->ask('COMMIT');
	is($session->wait, $rows, "$name while the load waits for the table");
}
data_file('data.csv', 1, $lines);
is($session->ask("SELECT rows_loaded FROM bulk_load('t', '$path', '{\"limit\": 0}')"), 0, 'a file that is not read at all');
is($session->ask("DO \$\$BEGIN FOR i IN 1 .. 1000 LOOP BEGIN PERFORM bulk_load('t', '$path', '{\"columns\": [\"none\"]}');
	EXCEPTION WHEN undefined_column THEN NULL; END; END LOOP; END\$\$; SELECT count(*) < 500 FROM pg_ls_dir('/proc/self/fd')"), 't',
	'nor do files of failed loads stay open');

# The rows that come after the limit are not waited for.
new_file();
is(load_while("SELECT rows_loaded FROM bulk_load('t', '$path', '{\"limit\": 10}')", sub { append("1,more\n") }),
	10, 'a limit is reached before the end matters');

# What is left of rejects after a rollback: the file, not the table.
my $bad = data_file('bad.csv', 1, join('', map { ($_ % 10 ? '' : 'x') . "$_,text\n" } 1 .. 1000));
my $options = qq('{"on_error": "ignore", "log_verbosity": "silent", "reject_table": "rejected", "reject_file": "$folder/rejects"}');
my $expected = join('', map { 'x' . 10 * $_ . ",text\n" } 1 .. 100);

is($session->ask("BEGIN; SELECT rows_loaded, rows_rejected FROM bulk_load('t', '$bad', $options);
	SELECT count(*) FROM rejected; ROLLBACK"), "900|100\n100", 'before the rollback both have the rejects');
is($session->ask("SELECT to_regclass('rejected') IS NULL"), 't', 'a reject table goes with the rollback');
is(slurp_file("$folder/rejects"), $expected, 'a reject file stays');
is(() = slurp_file("$folder/rejects.log") =~ /^\Q$bad\E:\d+: value: invalid input syntax for type integer/mg, 100, 'and its log');
is($session->ask('SELECT count(*) FROM t'), '10', 'and the table is as before');

# Below a savepoint, and when an error ends the load.
$session->ask("SELECT rows_rejected FROM bulk_load('t', '$bad', $options)");
is($session->ask('SELECT count(*) FROM rejected'), '100', 'a commit keeps them');
unlink "$folder/rejects", "$folder/rejects.log";
$session->ask("BEGIN; SAVEPOINT s; SELECT rows_rejected FROM bulk_load('t', '$bad', $options); ROLLBACK TO s; COMMIT");
is($session->ask('SELECT count(*) FROM rejected'), '100', 'a rollback to a savepoint takes those after it');
is(slurp_file("$folder/rejects"), $expected, 'but not those in the file');
unlink "$folder/rejects", "$folder/rejects.log";
(my $few = $options) =~ s/\{/{"reject_limit": 60, /;
$session->ask("SELECT rows_rejected FROM bulk_load('t', '$bad', $few)");
is($session->sqlstate, '22P02', 'reject_limit ends the load');
is($session->ask('SELECT count(*) FROM rejected'), '100', 'and the table has none of it');
is(slurp_file("$folder/rejects"), join('', map { 'x' . 10 * $_ . ",text\n" } 1 .. 61), 'the file has them up to the one too many');

# A session that is killed leaves those in the file that were written.
$node->safe_psql('postgres', 'CREATE TABLE slow (i int, s text, CHECK (i < 500 OR pg_sleep(60)::text <> s))');
unlink "$folder/rejects", "$folder/rejects.log";
$session->send("SET pgbulk.chunk_size = 1024; SELECT rows_rejected FROM bulk_load('slow', '$bad', $options)");
wait_for('the slow row', sub {
	$other->ask("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND wait_event = 'PgSleep'") eq '1';
});
$other->ask("SELECT pg_terminate_backend($pid)");
wait_for('the end of the session', sub { !-e "/proc/$pid" });
my $left = slurp_file("$folder/rejects");
ok(length $left > 100 && index($expected, $left) == 0, 'after a kill the reject file has whole lines');
is($other->ask('SELECT count(*) FROM rejected'), '100', 'after a kill the reject table has none of it');

$session->close;
$other->close;
check_log($node);
$node->stop;
done_testing();
