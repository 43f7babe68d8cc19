# Named pipes, compressed files in size, and what is neither file nor pipe.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IO::Compress::Gzip qw(gzip $GzipError);
use IO::Socket::UNIX;
use POSIX qw(mkfifo);
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $MB = 1024 * 1024;
my $folder = data_dir();
my $node = bulk_server('sources', 'shared_buffers = 32MB');
my $session = PgBulk::Session->new($node);
my $pid = $session->{pid};
my $watch = PgBulk::Session->new($node);

$node->safe_psql('postgres', 'CREATE TABLE t (i int, s text)');
my $lines = join('', map { "$_,some text\n" } 1 .. 1000);

sub count { return $watch->ask('SELECT count(*), sum(i::bigint) FROM t'); }

# Runs code in a process of its own.
sub in_background
{
	my ($code) = @_;
	my $child = fork();

	die $! unless defined $child;
	return $child if $child;
	eval { $code->() };
	print STDERR $@ if $@;
	POSIX::_exit($@ ? 1 : 0);
}

# Writes to a pipe, piece by piece, from another process.
sub write_to
{
	my ($path, $pause, @pieces) = @_;

	return in_background(sub {
		open(my $file, '>:raw', $path) or die "$path: $!";
		$file->autoflush(1);
		foreach my $piece (@pieces)
		{
			print $file $piece or die "$path: $!";
			sleep $pause;
		}
		close($file) or die "$path: $!";
	});
}

sub ends_well
{
	my ($child, $name) = @_;
	waitpid $child, 0;
	is($?, 0, "$name: the writer ends well");
}

#
# Pipes.
#
my $pipe = "$folder/pipe";
mkfifo($pipe, 0666) or die $!;
my $load = "SELECT rows_loaded, bytes_read FROM bulk_load('t', '$pipe', '{\"truncate\": true}')";
my $sum = 1000 * 1001 / 2;

my $child = write_to($pipe, 0, $lines);
is($session->ask($load), '1000|' . length $lines, 'a writer that waits for its reader');
ends_well($child, 'a writer that waits');
is(count(), "1000|$sum", 'all rows are there');

$session->send($load);
wait_for('the load', sub { $watch->ask("SELECT wait_event = 'CopyFileRead' FROM pg_stat_activity WHERE pid = $pid") eq 't' });
sleep 0.2;
is($watch->ask("SELECT phase, percent IS NULL, bytes_total IS NULL FROM bulk_load_progress_wide WHERE pid = $pid"),
	'reading|t|t', 'a reader that waits for its writer: the size is not known');
$child = write_to($pipe, 0, $lines x 3000);
is($session->wait, '3000000|' . 3000 * length $lines, 'a reader that waits: many windows');
is($watch->ask("SELECT count(*) FROM (SELECT i - lag(i, 1, 1000) OVER (ORDER BY ctid) AS step FROM t) AS s WHERE step NOT IN (1, -999)"), '0', 'in their order');
ends_well($child, 'many windows');
is(count(), '3000000|' . 3000 * $sum, 'many windows: all rows are there');

$child = write_to($pipe, 0.1, "1,o", "ne\n2,", "two\n3,three", "\n4", ',four');
is($session->ask($load), '4|' . length "1,one\n2,two\n3,three\n4,four", 'a slow writer, pieces of rows');
ends_well($child, 'a slow writer');
$child = write_to($pipe, 0.1);
is($session->ask($load), '0|0', 'a writer that writes nothing');
ends_well($child, 'a writer that writes nothing');

# the last one is this process
open(my $open, '+<', $pipe) or die $!;
my @children = map { write_to($pipe, 0.1, ("$_,x\n") x 5) } 1 .. 3;
$session->send($load);
ends_well($_, 'several writers') foreach @children;
ok(!$session->done, 'several writers: one of them is still there');
close($open) or die $!;
is($session->wait, '15|60', 'several writers: the last one ends it');

# A header, recovery after a misplaced quote, rejects; small windows.
my $bad = "i,s\n1,one\nx,bad\n2,\"broken\n3,three\n";
$child = write_to($pipe, 0.05, split(//, $bad));
is($session->ask("SET pgbulk.chunk_size = 16;
	SELECT rows_loaded, rows_rejected FROM bulk_load('t', '$pipe', '{\"truncate\": true, \"header\": \"match\", \"on_error\": \"ignore\",
		\"log_verbosity\": \"silent\", \"reject_table\": \"rejected\"}')"), '2|2', 'rejects of a pipe');
is($watch->ask('SELECT file, line_number, byte_offset, raw_line FROM rejected ORDER BY 2'),
	"$pipe|3|10|x,bad\n$pipe|4|16|2,\"broken", 'and their places');
ends_well($child, 'rejects');
$session->ask('RESET pgbulk.chunk_size');

# With workers, which the backend reads for.
$child = write_to($pipe, 0, ($lines) x 3000);
is($session->ask("SELECT rows_loaded, workers > 0 FROM bulk_load('t', '$pipe', '{\"truncate\": true, \"workers\": 2}')"), '3000000|t', 'with workers');
ends_well($child, 'with workers');
is($watch->ask("SELECT count(*) FROM (SELECT i - lag(i, 1, 1000) OVER (ORDER BY ctid) AS step FROM t) AS s WHERE step NOT IN (1, -999)"), '0', 'with workers: in their order');
ends_soon('with workers', sub {
	# a writer for each try: what one has written is gone
	my $writer = write_to($pipe, 30, $lines x 3000);
	my $took = $session->cancel("SELECT rows_loaded FROM bulk_load('t', '$pipe', '{\"truncate\": true, \"workers\": 2}')", $watch,
		sub { $watch->ask("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'") > 0 }, 0.1);
	kill 'KILL', $writer;
	waitpid $writer, 0;
	return $took;
});
is($session->sqlstate, '57014', 'with workers: it says so');

# With a limit the rest is not waited for.
$child = in_background(sub {
	local $SIG{PIPE} = 'IGNORE';
	open(my $file, '>:raw', $pipe) or die $!;
	1 while syswrite $file, $lines;
});
is($session->ask("SELECT rows_loaded FROM bulk_load('t', '$pipe', '{\"limit\": 5}')"), '5', 'a writer without end, and a limit');
ends_well($child, 'a limit');

# Compressed, and between two files.
my $packed;
gzip(\$lines => \$packed) or die $GzipError;
my $before = data_file('before.csv', 1, "1,before\n");
my $after = data_file('after.csv.gz', 1, $packed);
$child = write_to($pipe, 0.05, substr($packed, 0, 1), substr($packed, 1, 1), substr($packed, 2, 100), substr($packed, 102), $packed);
is($session->ask("SELECT rows_loaded, bytes_read FROM bulk_load('t', ARRAY['$before', '$pipe', '$after'], '{\"truncate\": true}')"),
	'3001|' . (9 + 3 * length $packed), 'a pipe of compressed bytes, among files');
ends_well($child, 'compressed');
is(count(), '3001|' . (1 + 3 * $sum), 'all rows are there');

# Cancelled while it waits for a writer, and for what that writes.
foreach my $writer (0, 1)
{
	my $name = $writer ? 'waiting for data' : 'waiting for a writer';

	$child = write_to($pipe, 30, "1,one\n") if $writer;
	ends_soon($name, sub {
		$session->cancel($load, $watch, sub { $watch->ask("SELECT wait_event = 'CopyFileRead' FROM pg_stat_activity WHERE pid = $pid") eq 't' }, 0.3);
	});
	is($session->sqlstate, '57014', "$name: it says so");
	is(count(), '3001|' . (1 + 3 * $sum), "$name: nothing is loaded");
	is(scalar(grep { defined && $_ eq $pipe } map { readlink } glob "/proc/$pid/fd/*"), 0, "$name: the pipe is not open");
	if ($writer)
	{
		kill 'KILL', $child;
		waitpid $child, 0;
	}

	ends_soon("$name, timeout", sub { $session->time_out($load, 0.3) });
	is($session->sqlstate, '57014', "$name: it says so, too");
}

# Where another file of the list is missing the pipe is not touched.
$child = write_to($pipe, 0, $lines);
$session->ask("SELECT bulk_load('t', ARRAY['$pipe', '$folder/none'])");
is($session->sqlstate, '58P01', 'a missing file and a pipe');
is($session->ask($load), '1000|' . length $lines, 'the pipe has kept its writer');
ends_well($child, 'a missing file');

#
# Neither file nor pipe.
#
my $socket = "$folder/socket";
my $listener = IO::Socket::UNIX->new(Local => $socket, Listen => 1);
SKIP: {
	skip 'the path of a socket is too long', 1 unless $listener;
	$session->ask("SELECT bulk_load('t', '$socket')");
	like($session->{error}, qr/42809: "\Q$socket\E" is neither a regular file nor a named pipe/, 'a socket is refused');
}
$session->ask("SELECT bulk_load('t', '/dev/zero')");
like($session->{error}, qr/42809: "\/dev\/zero" is neither a regular file nor a named pipe/, 'a device is refused');

#
# Large archives.  Much comes out of few bytes: memory stays flat.
#
sub peak { return slurp_file("/proc/$_[0]/status") =~ /^VmHWM:\s+(\d+) kB/m ? $1 * 1024 : die; }

# an archive of an archive would not fit into memory, one frame after another does; with
# workers the shared memory through which they get the bytes counts, too
my $text = "1,some text that comes again and again\n" x 50000;
gzip(\$text => \$packed, -Level => 9) or die $GzipError;
my $small = data_file('small.gz', 1, $packed);
my $bomb = data_file('bomb.gz', 200 * length $packed, $packed);
my %peaks;
foreach my $path ($small, $bomb)
{
	my $new = PgBulk::Session->new($node);
	my $rows = 50000 * (-s $path) / length $packed;

	is($new->ask("SELECT rows_filtered, bytes_read FROM bulk_load('t', '$path', '{\"where\": \"i = 0\", \"workers\": 0}')"),
		$rows . '|' . -s $path, "$rows rows out of " . (-s $path) . ' bytes');
	$peaks{$path} = peak($new->{pid});
	$new->close;
}
note sprintf('peaks: %.1f MB, %.1f MB', $peaks{$small} / $MB, $peaks{$bomb} / $MB);
SKIP: {
	skip 'sanitizers need memory themselves', 1 if $ENV{PGBULK_TEST_SANITIZE};
	cmp_ok($peaks{$bomb} - $peaks{$small}, '<', 3 * $MB, 'memory stays flat');
}

# One row that never ends.
SKIP: {
	skip 'only with PGBULK_TEST_FULL', 2 unless $ENV{PGBULK_TEST_FULL};
	my $zeros = 'x' x (16 * $MB);
	gzip(\$zeros => \$packed, -Level => 9) or die $GzipError;
	my $path = data_file('row.gz', 200 * length $packed, $packed);

	$session->ask("SELECT rows_filtered FROM bulk_load('t', '$path')");
	is($session->sqlstate, '54000', 'a row of 3 GB out of 3 MB is too long');
	is(count(), '1000|' . $sum, 'and nothing is loaded');
}

# Truncated or damaged near the end: nothing is loaded, whatever was read
# before.
$text = join('', map { "$_,some text\n" } 1 .. 500000);
my %tools = (gzip => 'gzip -c', lz4 => 'lz4 -qc', zstd => 'zstd -qc');
my $plain = data_file('large.csv', 1, $text);
foreach my $kind (sort keys %tools)
{
	my $path = "$folder/large.$kind";

	if (system("$tools{$kind} $plain > $path 2>/dev/null") != 0)
	{
		note "there is no $kind";
		next;
	}
	my $archive = slurp_file($path);
	my $length = length $archive;

	$session->ask('TRUNCATE t');
	is($session->ask("SELECT rows_loaded, bytes_read FROM bulk_load('t', '$path', '{\"truncate\": true}')"), "500000|$length", "$kind: sound");
	$session->ask('TRUNCATE t');
	foreach my $options ('{}', '{"on_error": "ignore", "log_verbosity": "silent"}')
	{
		my $cut = int($length * 0.9);

		data_file("cut.$kind", 1, substr($archive, 0, $cut));
		$session->ask("SELECT rows_loaded FROM bulk_load('t', '$folder/cut.$kind', '$options')");
		is($session->sqlstate, '22P04', "$kind: cut off: with $options");
		like($session->{error}, qr/$kind data of file ".*cut\.$kind" is not complete.*after $cut bytes/s, "$kind: truncated");
		data_file("after.$kind", 1, $archive . 'something else');
		$session->ask("SELECT rows_loaded FROM bulk_load('t', '$folder/after.$kind', '$options')");
		like($session->{error}, qr/something else after its $kind data.*byte offset $length/s, "$kind: trailing data");
	}

	# with workers, alone and in small chunks; the order is that of the file
	foreach my $chunk ('64kB', '1000')
	{
		is($session->ask("SET pgbulk.chunk_size = '$chunk';
			SELECT rows_loaded, bytes_read, workers > 0 FROM bulk_load('t', '$path', '{\"truncate\": true, \"workers\": 2}');
			SELECT count(*) FROM (SELECT i - lag(i, 1, 0) OVER (ORDER BY ctid) AS step FROM t) AS s WHERE step <> 1"), "500000|$length|t\n0", "$kind: with workers, chunks of $chunk");
	}
	$session->ask('RESET pgbulk.chunk_size; TRUNCATE t');
	$session->ask("SELECT rows_loaded FROM bulk_load('t', '$folder/cut.$kind', '{\"workers\": 2}')");
	like($session->{error}, qr/$kind data of file ".*cut\.$kind" is not complete/, "$kind: cut off, with workers");
	my $damaged = $archive;
	substr($damaged, int($length * 0.9), 20) = "\xff" x 20;
	data_file("damaged.$kind", 1, $damaged);
	$session->ask("SELECT rows_loaded FROM bulk_load('t', '$folder/damaged.$kind', '{\"on_error\": \"ignore\", \"log_verbosity\": \"silent\"}')");
	like($session->{error}, qr/22P04: $kind data of file ".*damaged\.$kind" is (corrupt|not complete)/, "$kind: damaged");
	is($session->ask('SELECT count(*) FROM t'), '0', "$kind: nothing is loaded");

	# cancelled in the middle
	my $many = 'ARRAY[' . join(',', ("'$path'") x 100) . ']';
	ends_soon($kind, sub {
		$session->cancel("SELECT bulk_load('t', $many)", $watch,
			sub { $watch->ask("SELECT bytes_processed > 0 FROM bulk_load_progress_wide WHERE pid = $pid") eq 't' }, 0.3);
	});
	is($session->sqlstate, '57014', "$kind: it says so");
}

# -- folders that the server may not look into
mkdir "$folder/$_" or die $! foreach ('open', 'shut');
data_file("$_/rows.csv", 1, "1,row\n") foreach ('open', 'shut');
chmod 0, "$folder/shut" or die $!;
foreach my $pattern ('*/rows.csv', '*/*.csv', 'shut/*.csv', 'open/*.csv')
{
	my ($rc, $rows, $messages) = $node->psql('postgres', "TRUNCATE t; SELECT rows_loaded FROM bulk_load('t', '$folder/$pattern')");

	is($rows, $pattern =~ /^shut/ ? '' : 1, "$pattern: the others are loaded");
	is($messages =~ /WARNING:  could not look for files at ".*shut.*": Permission denied/ ? 1 : 0, $pattern =~ /^open/ ? 0 : 1, "$pattern: what is left out unseen is told");
}
chmod 0700, "$folder/shut" or die $!;

$session->close;
$watch->close;
check_log($node, qr/could not look for files/);
$node->stop;
done_testing();
