# What the client sends: path "stdin", with a program that uses libpq.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IO::Compress::Gzip qw(gzip $GzipError);
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $folder = data_dir();
my $client = libpq_client('stdin') // plan skip_all => 'needs a compiler and libpq';

my $node = bulk_server('stdin', 'shared_buffers = 32MB');
my $watch = PgBulk::Session->new($node);

$node->safe_psql('postgres', q{
	CREATE TABLE t (i int, s text);
	CREATE TABLE one (s text);
	CREATE TABLE log (rows bigint, bytes bigint);
	CREATE ROLE loader LOGIN;
	GRANT INSERT, UPDATE ON t TO loader});

sub count { return $watch->ask('SELECT count(*), sum(i::bigint) FROM t'); }

# Runs the client; returns its lines.  More may name its user, how it ends, the
# size of its pieces.
my $errors;
sub client
{
	my ($mode, $data, $sql, %more) = @_;
	my $user = $more{user} ? " user=$more{user}" : '';
	my $file = "$folder/data";
	my $out;

	data_file('data', length $data, $data);
	IPC::Run::run([ $client, $node->connstr('postgres') . $user, $mode, $more{piece} // 8192, $more{end} // 'done', $sql, @{ $more{parameters} // [] } ],
		'<', $file, '>', \$out, '2>', \$errors, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$out =~ s/PGRES_TUPLES_OK SELECT 1 is=ready\n\z// or $out .= 'the connection was lost';
	$out =~ s/ ?\n/\n/g;
	return $out;
}

my $lines = join('', map { "$_,some text\n" } 1 .. 1000);
my $sum = 1000 * 1001 / 2;
my $asked = "PGRES_COPY_IN\n";
my $call = "SELECT rows_loaded, bytes_read FROM bulk_load('t', 'stdin', '{\"truncate\": true}')";

foreach my $mode ('simple', 'extended')
{
	# libpq gives what is left of a COPY, and then the rows
	my $copied = sub { return $asked . ($mode eq 'simple' ? "PGRES_COMMAND_OK COPY $_[0]\n" : ''); };

	is(client($mode, $lines, $call), $copied->(1000) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=1000 bytes_read=" . length($lines) . "\n", "$mode: rows");
	is(count(), "1000|$sum", "$mode: all are there");
	is(client($mode, $lines x 1000, $call, piece => 100000), $copied->(1000000) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=1000000 bytes_read=" . length($lines) * 1000 . "\n", "$mode: many");
	is(count(), '1000000|' . $sum * 1000, "$mode: all are there");
	is(client($mode, "1,a\n2,b\n", $call, piece => 1), $copied->(2) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=2 bytes_read=8\n", "$mode: byte by byte");
	is(client($mode, '', $call), $copied->(0) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=0 bytes_read=0\n", "$mode: nothing");

	is(client($mode, $lines, q{SELECT rows_loaded, writer FROM bulk_load('t', 'stdin', '{"dry_run": true}')}), $copied->(1000) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=1000 writer=none\n", "$mode: a dry run");
	is(count(), '0|', "$mode: of which nothing stays");

	# statements that send no rows of it, and what else is in a statement
	is(client($mode, $lines, "INSERT INTO log SELECT rows_loaded, bytes_read FROM bulk_load('t', 'stdin')"),
		$asked . "PGRES_COMMAND_OK INSERT 0 1\n", "$mode: INSERT of the result");
	is(client($mode, $lines, "CREATE TEMP TABLE r AS SELECT * FROM bulk_load('t', 'stdin')"), $asked . "PGRES_COMMAND_OK SELECT 1\n", "$mode: CREATE TABLE AS");
	is(client($mode, $lines, q{DO $$BEGIN PERFORM bulk_load('t', 'stdin'); END$$}), $asked . "PGRES_COMMAND_OK DO\n", "$mode: DO");
	is(count(), '3000|' . 3 * $sum, "$mode: all are there");
	is(client($mode, "7,x\n", "WITH w AS (INSERT INTO log SELECT rows_loaded FROM bulk_load('t', 'stdin') RETURNING rows) SELECT rows + 1 AS more FROM w"),
		$asked . "PGRES_TUPLES_OK SELECT 1 more=2\n", "$mode: within WITH");
	is(client($mode, "7,x\n", "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT bulk_load('t', 'stdin')") =~ /^$asked(PGRES_TUPLES_OK EXPLAIN.*ProjectSet|PGRES_TUPLES_OK EXPLAIN.*Result)/s, 1, "$mode: EXPLAIN ANALYZE");
	is(client($mode, "7,x\n", "SELECT i, rows_loaded, 'b' AS b FROM bulk_load('t', 'stdin'), generate_series(1, 2) i"),
		$copied->(1) . "PGRES_TUPLES_OK SELECT 2 i=1 rows_loaded=1 b=b i=2 rows_loaded=1 b=b\n", "$mode: among other columns");
	$node->safe_psql('postgres', q{
		CREATE OR REPLACE FUNCTION loads() RETURNS bigint LANGUAGE plpgsql AS $$
			DECLARE r record; n bigint = 0;
			BEGIN FOR r IN SELECT * FROM bulk_load('t', 'stdin') LOOP n = n + r.rows_loaded; END LOOP; RETURN n; END$$;
		CREATE OR REPLACE FUNCTION tries() RETURNS text LANGUAGE plpgsql AS $$
			BEGIN PERFORM bulk_load('t', 'stdin'); RETURN 'loaded'; EXCEPTION WHEN data_exception THEN RETURN sqlerrm; END$$;
		CREATE OR REPLACE PROCEDURE tries_twice() LANGUAGE plpgsql AS $$
			BEGIN
				BEGIN PERFORM bulk_load('t', 'stdin'); EXCEPTION WHEN data_exception THEN RAISE NOTICE '%', sqlerrm; END;
				PERFORM bulk_load('t', 'stdin');
			END$$});
	is(client($mode, "7,x\n8,y\n", "SELECT loads()"), $copied->(2) . "PGRES_TUPLES_OK SELECT 1 loads=2\n", "$mode: in a loop of PL/pgSQL");

	# options
	is(client($mode, "i;s\n5;five\nx;bad\n", q{SELECT rows_loaded, rows_rejected FROM bulk_load('t', 'stdin', '{"header": "match", "delimiter": ";", "on_error": "ignore", "log_verbosity": "silent", "reject_table": "rejected"}')}),
		$copied->(1) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=1 rows_rejected=1\n", "$mode: rejects");
	is($watch->ask('SELECT file, line_number, raw_line FROM rejected; DROP TABLE rejected'), 'stdin|3|x;bad', "$mode: and their places");
	is(client($mode, $lines x 100, q{SELECT rows_loaded FROM bulk_load('t', 'stdin', '{"limit": 5}')}), $copied->(5) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=5\n", "$mode: a limit: the rest is dropped");
	is(client($mode, "1\tx\n\\.\nmore\n", q{SELECT rows_loaded FROM bulk_load('t', 'stdin', '{"format": "text"}')}), $copied->(1) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=1\n", "$mode: an end marker");
	gzip(\$lines => \my $packed) or die $GzipError;
	is(client($mode, $packed, $call, piece => 100), $copied->(1000) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=1000 bytes_read=" . length($packed) . "\n", "$mode: compressed");
	is(client($mode, substr($packed, 0, 1000), $call), $asked . "PGRES_FATAL_ERROR  22P04: gzip data of file \"stdin\" is not complete\n", "$mode: compressed and cut off");
	$node->safe_psql('postgres', "COPY (SELECT 9, 'nine') TO '$folder/binary' (FORMAT binary)");
	is(client($mode, slurp_file("$folder/binary"), q{SELECT rows_loaded FROM bulk_load('t', 'stdin', '{"format": "binary"}')}), $copied->(1) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=1\n", "$mode: binary");
	is(client($mode, join('', map { pack('l<A5', $_, "\\.\n") } 10, 11), q{SELECT rows_loaded FROM bulk_load('t', 'stdin', '{"format": "fixed", "record_length": 9, "fields": [{"type": "integer"}, {"length": 5}]}')}),
		$copied->(2) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=2\n", "$mode: records");
	is(client($mode, "1,caf\xe9\n", q{SET client_encoding = 'LATIN1'; SELECT rows_loaded FROM bulk_load('t', 'stdin', '{"truncate": true}')}),
		"PGRES_COMMAND_OK SET\n" . $copied->(1) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=1\n", "$mode: the client's encoding") if $mode eq 'simple';
	is($watch->ask('SELECT s FROM t WHERE i = 1'), "caf\xc3\xa9", 'converted') if $mode eq 'simple';

	# files before and after it
	my $first = data_file('first.csv', 1, "1,first\n");
	my $last = data_file('last.csv', 1, "3,last\n");
	is(client($mode, "2,middle\n", "SELECT rows_loaded FROM bulk_load('t', ARRAY['$first', 'stdin', '$last'], '{\"truncate\": true}')"),
		$copied->(3) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=3\n", "$mode: among files");
	is($watch->ask("SELECT string_agg(s, ' ' ORDER BY ctid) FROM t"), 'first middle last', "$mode: in their order");

	is(client($mode, "2,unwanted\n" x 100000, "SELECT rows_loaded FROM bulk_load('t', ARRAY['$first', 'stdin'], '{\"truncate\": true, \"limit\": 1}')"),
		$copied->(1) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=1\n", "$mode: behind a file that has enough rows");
	is($watch->ask('SELECT s FROM t'), 'first', "$mode: no row of it");

	# a last line that psql before 18 sends; it is data where it can be
	is(client($mode, "1,one\n\\.\n", $call, piece => $_), $copied->(1) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=1 bytes_read=6\n", "$mode: psql's end marker, in pieces of $_") foreach (3, 6, 9, 100);
	is(client($mode, "\\.\r\n", $call), $copied->(0) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=0 bytes_read=0\n", "$mode: psql's end marker alone");
	is(client($mode, "1,one\n\\.\n2,two\n", $call, piece => $_), $asked . "PGRES_FATAL_ERROR  22P02: invalid input syntax for type integer: \"\\.\"\n", "$mode: no end marker, in pieces of $_") foreach (3, 9, 100);
	is(client($mode, "1,\"a\n\\.\n\"\n", $call, piece => 100), $copied->(1) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=1 bytes_read=10\n", "$mode: within quotes");
	is(client($mode, "a\n\\.\n", "SELECT rows_loaded FROM bulk_load('one', 'stdin')"), $copied->(2) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=2\n", "$mode: one column, that is data");

	# errors, and a client that gives up; the connection is good for more
	$watch->ask('TRUNCATE t');
	is(client($mode, $lines . "x,bad\n" . $lines x 1000, "SELECT * FROM bulk_load('t', 'stdin')"),
		$asked . "PGRES_FATAL_ERROR  22P02: invalid input syntax for type integer: \"x\"\n", "$mode: a bad row");
	is(client($mode, $lines, "SELECT * FROM bulk_load('t', 'stdin')", end => 'fail'),
		$asked . "PGRES_FATAL_ERROR  57014: COPY from stdin failed: the client has had enough\n", "$mode: a client that gives up");
	is(client($mode, "1,one\n", q{SELECT * FROM bulk_load('t', 'stdin', '{"limit": 1}')}, end => 'fail'),
		$asked . "PGRES_FATAL_ERROR  57014: COPY from stdin failed: the client has had enough\n", "$mode: a client that gives up after the limit");
	# before it is asked, nothing that an error would not undo may be done
	data_file('rejects.csv', 1, "x,rejected before\n");
	is(client($mode, "2,unwanted\n", "SELECT * FROM bulk_load('t', ARRAY['$first', 'stdin'], '{\"limit\": 1, \"on_error\": \"ignore\", \"reject_file\": \"$folder/rejects.csv\"}')", end => 'fail'),
		$asked . "PGRES_FATAL_ERROR  57014: COPY from stdin failed: the client has had enough\n", "$mode: a client that gives up where no row of it is wanted");
	is(slurp_file("$folder/rejects.csv"), "x,rejected before\n", "$mode: the reject file is as it was");
	is(client($mode, $lines, "SELECT * FROM bulk_load('t', 'stdin')", end => 'cancel'),
		$asked . "PGRES_FATAL_ERROR  57014: canceling statement due to user request\n", "$mode: a client that cancels");
	is(client($mode, '', "SELECT * FROM bulk_load('none', 'stdin')"), "PGRES_FATAL_ERROR  42P01: relation \"none\" does not exist\n", "$mode: it is not asked for data that are not needed");
	is(count(), '0|', "$mode: nothing is loaded");

	# an error that is caught: what the client sends on is no one's data
	is(client($mode, "x,bad\n" . $lines x 100, 'CALL tries_twice()'), "$asked${asked}PGRES_COMMAND_OK CALL\n", "$mode: a second load after an error") if $mode eq 'simple';
	is(count(), '0|', "$mode: it has got data of its own: none") if $mode eq 'simple';
	is(client($mode, "x,bad\n" . $lines x 100, q{DO $$BEGIN PERFORM bulk_load('t', 'stdin'); EXCEPTION WHEN data_exception THEN NULL; END$$; COPY t FROM STDIN (FORMAT csv)}),
		"${asked}PGRES_COMMAND_OK DO\n${asked}PGRES_COMMAND_OK COPY 0\n", "$mode: COPY after an error") if $mode eq 'simple';
	is(count(), '0|', "$mode: it has got data of its own: none") if $mode eq 'simple';
	is(client($mode, "1,one\n", 'SELECT tries()'), "PGRES_FATAL_ERROR  0A000: cannot load from the client here\n", "$mode: rows after an error that is caught");

	# where the client is busy
	$node->safe_psql('postgres', q{
		CREATE OR REPLACE FUNCTION loads_more() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM bulk_load('one', 'stdin'); RETURN NEW; END$$;
		CREATE OR REPLACE TRIGGER loads_more BEFORE INSERT ON log FOR EACH ROW WHEN (NEW.rows < 0) EXECUTE FUNCTION loads_more()});
	is(client($mode, "-1,2\n", 'COPY log FROM STDIN (FORMAT csv)'), $asked . "PGRES_FATAL_ERROR  0A000: cannot load from the client here\n", "$mode: within COPY FROM STDIN");
	is(client($mode, "-1,2\n", "SELECT rows_loaded FROM bulk_load('log', 'stdin')"), $asked . "PGRES_FATAL_ERROR  0A000: cannot load from the client here\n", "$mode: within another such load");
	is(client($mode, "1,one\n", "SELECT rows_loaded FROM bulk_load('t', ARRAY['stdin', 'stdin'])"), "PGRES_FATAL_ERROR  22023: path \"stdin\" can be given only once\n", "$mode: twice");

	# anyone may
	is(client($mode, "1,one\n", "SELECT rows_loaded FROM bulk_load('t', 'stdin')", user => 'loader'), $copied->(1) . "PGRES_TUPLES_OK SELECT 1 rows_loaded=1\n", "$mode: without the right to read files");
	is(client($mode, "1,one\n", "SELECT rows_loaded FROM bulk_load('t', ARRAY['stdin', '$first'])", user => 'loader'), "PGRES_FATAL_ERROR  42501: permission denied to load from a file\n", "$mode: but not files");
}

# With workers, which the backend reads for.
is(client('simple', $lines x 3000, "SELECT rows_loaded, workers > 0 AS helped FROM bulk_load('t', 'stdin', '{\"truncate\": true, \"workers\": 2}')"),
	"${asked}PGRES_COMMAND_OK COPY 3000000\nPGRES_TUPLES_OK SELECT 1 rows_loaded=3000000 helped=t\n", 'with workers');
is($watch->ask("SELECT count(*) FROM (SELECT i - lag(i, 1, 1000) OVER (ORDER BY ctid) AS step FROM t) AS s WHERE step NOT IN (1, -999)"), '0', 'with workers: in their order');
is(client('simple', $lines x 3000 . "x,bad\n" . $lines x 1000, "SELECT rows_loaded FROM bulk_load('t', 'stdin', '{\"truncate\": true, \"workers\": 2}')"),
	"${asked}PGRES_FATAL_ERROR  22P02: invalid input syntax for type integer: \"x\"\n", 'with workers: a bad row');
is(client('simple', $lines x 3000, "SELECT rows_loaded FROM bulk_load('t', 'stdin', '{\"truncate\": true, \"workers\": 2}')", end => 'fail'),
	"${asked}PGRES_FATAL_ERROR  57014: COPY from stdin failed: the client has had enough\n", 'with workers: a client that gives up');

# Parameters, and several statements in one message.
is(client('extended', $lines, 'SELECT rows_loaded FROM bulk_load($1, $2, $3)', parameters => [ 't', 'stdin', '{"truncate": true}' ]),
	$asked . "PGRES_TUPLES_OK SELECT 1 rows_loaded=1000\n", 'parameters');
is(client('simple', "1,one\n", "BEGIN; SELECT 5 AS five; SELECT rows_loaded FROM bulk_load('t', 'stdin', '{\"truncate\": true}'); SELECT count(*) FROM t; ROLLBACK"),
	"PGRES_COMMAND_OK BEGIN\nPGRES_TUPLES_OK SELECT 1 five=5\n${asked}PGRES_COMMAND_OK COPY 1\nPGRES_TUPLES_OK SELECT 1 rows_loaded=1\nPGRES_TUPLES_OK SELECT 1 count=1\nPGRES_COMMAND_OK ROLLBACK\n",
	'among other statements');
is(client('simple', "1,one\n", "BEGIN; DECLARE c CURSOR FOR SELECT rows_loaded FROM bulk_load('t', 'stdin'); FETCH c; COMMIT"), "PGRES_COMMAND_OK BEGIN\nPGRES_COMMAND_OK DECLARE CURSOR\n${asked}PGRES_TUPLES_OK FETCH 1 rows_loaded=1\nPGRES_COMMAND_OK COMMIT\n", 'a cursor');
like(client('simple', "1,one\n", "SELECT 1 AS one UNION ALL SELECT rows_loaded FROM bulk_load('t', 'stdin')"), qr/0A000: cannot load from the client here/, 'after rows');
like(client('simple', '', "COPY (SELECT rows_loaded FROM bulk_load('t', 'stdin')) TO STDOUT"), qr/0A000: cannot load from the client here/, 'within COPY TO STDOUT');
is(count(), '1001|' . ($sum + 1), 'and all the others have left what they should');

# A session that is cancelled while its client says nothing.
my $session = PgBulk::Session->new($node);
my $pid;
my $start;
my $fifo = "$folder/input";
POSIX::mkfifo($fifo, 0600);
$ENV{FIFO} = $fifo;
my @slow = ('sh', '-c', 'exec "$0" "$@" < "$FIFO"', $client, $node->connstr('postgres'), 'simple', 4, 'done', "SELECT * FROM bulk_load('t', 'stdin')");
my $harness = IPC::Run::start(\@slow, '>', \my $out, '2>', \my $err);
open(my $writer, '>', $fifo) or die $!;
$writer->autoflush(1);
print $writer "1,one\n2,";
wait_for('the load', sub { ($pid) = $watch->ask("SELECT pid FROM pg_stat_activity WHERE query ~ '^SELECT . FROM bulk_load' AND wait_event = 'ClientRead'"); return $pid; });
is($watch->ask("SELECT phase, bytes_total IS NULL, percent IS NULL FROM bulk_load_progress_wide WHERE pid = $pid"), 'reading|t|t', 'progress: the size is not known');
is($watch->ask("SELECT type FROM pg_stat_progress_copy WHERE pid = $pid"), 'PIPE', 'progress: as COPY shows it');
$watch->ask("SELECT pg_cancel_backend($pid)");
$start = time;
wait_for('the end of the load', sub { $watch->ask("SELECT state ~ '^idle' FROM pg_stat_activity WHERE pid = $pid") eq 't' });
cmp_ok(time - $start, '<', 10, 'a cancel ends it while the client says nothing');
print $writer "two\n";
close($writer);
$harness->finish;
like($out, qr/57014: canceling statement due to user request\nPGRES_TUPLES_OK SELECT 1 is=ready/, 'the client gets the error, and continues');

# A client that goes away.
$harness = IPC::Run::start(\@slow, '>', \$out, '2>', \$err);
open($writer, '>', $fifo) or die $!;
$writer->autoflush(1);
print $writer "1,one\n2,";
wait_for('the load', sub { ($pid) = $watch->ask("SELECT pid FROM pg_stat_activity WHERE query ~ '^SELECT . FROM bulk_load' AND wait_event = 'ClientRead'"); return $pid; });
$harness->kill_kill;
close($writer);
wait_for('the end of the session', sub { $watch->ask("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid") eq '0' });
is(count(), '1001|' . ($sum + 1), 'a client that goes away: nothing is loaded');

# psql: not every version lets a function ask for data.
my ($code, $stdout, $stderr);
data_file('data', 1, "1,one\n2,two\n");
IPC::Run::run([ 'psql', '-XAt', '-d', $node->connstr('postgres'), '-c', "SELECT rows_loaded FROM bulk_load('t', 'stdin')" ], '<', "$folder/data", '>', \$stdout, '2>', \$stderr);
SKIP: {
	skip 'this psql takes data for COPY only', 1 if $stderr =~ /unexpected COPY_IN result/;
	is($stdout, "COPY 2\n2\n", 'psql');
}

$session->close;
$watch->close;
# the server's words for a client that went away
check_log($node, $CLIENT_GONE);
$node->stop;
done_testing();
