# Fields of hundreds of megabytes, as in COPY, and those that are too long for
# any server.
#
# PGBULK_TEST_FULL=1 goes up to the limits: 1 GB for a field, 2 GB for a row.
# That needs 8 GB of memory and as much disk.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $MB = 1024 * 1024;
my $full = $ENV{PGBULK_TEST_FULL};
my $folder = data_dir();
my $node = bulk_server('long_fields', 'shared_buffers = 128MB', 'max_wal_size = 8GB');
my $session = PgBulk::Session->new($node);

$node->safe_psql('postgres', q{
	CREATE UNLOGGED TABLE t (i int, s text, after int);
	ALTER TABLE t ALTER s SET STORAGE EXTERNAL});

# A file whose second row has a field of so many bytes, in quotes if given.
sub long_file
{
	my ($name, $bytes, $quote) = @_;
	my $block = ($quote ? "abcdefghijklmno\n" : 'abcdefghijklmnop') x ($MB / 16);

	open(my $file, '>:raw', "$folder/$name") or die $!;
	print $file "1,first,1\n2,$quote";
	print $file $block for 1 .. int($bytes / $MB);
	print $file substr($block, 0, $bytes % $MB), "$quote,2\n3,last,3\n";
	close($file) or die $!;
	return "$folder/$name";
}

# The rows that there are now, in short.
sub rows
{
	return $session->ask('SELECT i, length(s), md5(s), after FROM t ORDER BY i');
}

# Loads a file with COPY and with bulk_load.
sub same
{
	my ($name, $path, $options) = @_;

	$session->ask("TRUNCATE t; COPY t FROM '$path' (FORMAT csv)");
	is($session->sqlstate, '', "$name: COPY loads it");
	my $expected = rows();

	$session->ask('TRUNCATE t');
	my $start = time;
	my $result = $session->ask("SELECT rows_loaded FROM bulk_load('t', '$path')");
	note sprintf('%s: %.1f s', $name, time - $start);
	is($session->{error}, '', "$name: no error");
	is($result, 3, "$name: three rows");
	is(rows(), $expected, "$name: those of COPY");
	unlink $path;
}

same('20 MB without quotes', long_file('plain.csv', 20 * $MB, ''));
same('250 MB in quotes, with line ends', long_file('quoted.csv', 250 * $MB, '"'));

# Bytes that are replaced, one by one: a quarter of that time is enough for it to be canceled.
my $invalid = data_file('invalid.csv', 20 * $MB, "\xff" x $MB, '1,');
foreach my $encoding ('UTF8', 'EUC_JP')
{
	my $load = "SELECT rows_filtered FROM bulk_load('t', '$invalid',
		'{\"encoding\": \"$encoding\", \"invalid_bytes\": \"replace\", \"missing_columns\": \"null\", \"where\": \"i = 0\"}')";
	my $start = time;
	is($session->ask($load), 1, "20 MB of invalid bytes in $encoding are replaced");
	my $whole = time - $start;

	$session->ask(sprintf('SET statement_timeout = %d', 250 * $whole + 1));
	$start = time;
	$session->ask($load);
	is($session->sqlstate, '57014', 'and that can be canceled');
	cmp_ok(time - $start, '<', $whole / 2, 'soon');
	$session->ask('RESET statement_timeout');
}
unlink $invalid;

# What a statement that fails says, and that the server and the session live.
sub fails
{
	my ($name, $path, $message) = @_;

	$session->ask('TRUNCATE t');
	$session->ask("SELECT bulk_load('t', '$path')");
	is($session->sqlstate, '54000', "$name: 54000") or diag $session->{error};
	like($session->{error}, $message, "$name: it says why");
	is($session->ask('SELECT count(*) FROM t'), '0', "$name: nothing is loaded");
}

# Loads what has one bad row.
sub sets_aside
{
	my ($name, $path, $good, $more) = @_;
	my $start = time;

	$session->ask('TRUNCATE t');
	my $result = $session->ask(qq{SELECT rows_loaded, rows_rejected, rows_read FROM bulk_load('t', '$path',
		'{"on_error": "ignore", "log_verbosity": "silent"$more}')});
	my ($peak) = slurp_file("/proc/$session->{pid}/status") =~ /VmHWM:\s+(\d+)/;
	note sprintf('%s: %.1f s, peak %d MB', $name, time - $start, $peak / 1024);
	is($session->{error}, '', "$name: no error");
	is($result, "$good|1|" . ($good + 1), "$name: one row is set aside");
}

if ($full)
{
	my $path;

	# the longest value that there is, and one byte more
	same('1000 MB in quotes', long_file('thousand.csv', 1000 * $MB, '"'));
	$path = long_file('field.csv', 0x3ffffffb, '');
	is($session->ask("TRUNCATE t; SELECT rows_loaded FROM bulk_load('t', '$path')"), 3,
		'the longest value loads');
	is($session->ask('SELECT length(s) FROM t WHERE i = 2'), 0x3ffffffb, 'whole');
	foreach my $bytes (0x3ffffffc, 0x3ffffffe, 1030 * $MB)
	{
		$path = long_file('field.csv', $bytes, '');
		fails("a field of $bytes bytes", $path, qr/field is longer than 1 GB/);
		sets_aside("a field of $bytes bytes", $path, 2, '');
	}

	# where replacements for invalid bytes make more than the server has room for
	$path = data_file('invalid.csv', 400 * $MB, "\xff" x $MB, "1,first,1\n3,last,3\n2,");
	sets_aside('400 MB of invalid bytes', $path, 2, ', "invalid_bytes": "replace", "missing_columns": "null"');
	unlink $path;

	# an unclosed quote, and 2.5 GB of lines after it
	my $lines = join('', map { "$_,some text of a row,$_\n" } 1 .. 30000);
	$path = data_file('unclosed.csv', 2560 * $MB, $lines, "1,first,1\n2,\"unclosed,2\n");
	my $good = 1 + 30000 * int((-s $path) / length $lines);
	fails('an unclosed quote before 2.5 GB', $path, qr/row is longer than 2 GB/);
	sets_aside('an unclosed quote before 2.5 GB', $path, $good, '');
	sets_aside('the same with a reject table', $path, $good, ', "reject_table": "rejected"');
	is($session->ask('SELECT line_number, raw_line FROM rejected'), '2|2,"unclosed,2',
		'one line is the reject');
	unlink $path;
}

$session->close;
check_log($node);
$node->stop;
done_testing();
