# More lines and rows than 32 bits can count: places and numbers of rows behind them.  And more bytes than any memory has:
# a load of them takes as much as one of few.
#
# Only where PGBULK_TEST_LONG is set: it takes some minutes.  PGBULK_TEST_GIGABYTES=n: so many rather than 100.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

use constant MANY => 4_400_000_000;
use constant MB => 1 << 20;

plan skip_all => 'takes minutes, and PGBULK_TEST_LONG is not set' unless $ENV{PGBULK_TEST_LONG};

# what is seen of the shared buffers counts in a backend's peak: few
my $node = bulk_server('billions', 'shared_buffers = 2MB');
my $pipe = data_dir() . '/pipe';

mkfifo($pipe, 0644) or die "$pipe: $!";
$node->safe_psql('postgres', 'CREATE TABLE t (i int, s text)');

# What bulk_load answers of a pipe that gets N lines of LINE, and then the rest; what it says, and what its session's memory
# was at most.
sub load
{
	my ($line, $n, $rest, $options) = @_;
	my $writer = fork() // die "fork: $!";

	if ($writer == 0)
	{
		my $lines = 1 + int(MB / length $line);
		my $block = $line x $lines;
		my $whole = int($n / $lines);

		open(my $out, '>:raw', $pipe) or POSIX::_exit(1);
		foreach (1 .. $whole) { syswrite($out, $block) == length $block or POSIX::_exit(0) }
		syswrite($out, $line x ($n - $whole * $lines) . $rest);
		close($out);
		POSIX::_exit(0);
	}
	my ($rc, $out, $err) = $node->psql('postgres', qq{
		SELECT rows_loaded, rows_rejected, rows_filtered, rows_read, bytes_read FROM bulk_load('t', '$pipe', '$options');
		SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s+(\\d+) kB')});

	waitpid($writer, 0);
	my ($answer, $peak) = split /\n/, $out;
	return ($answer, $err, ($peak // 0) * 1024);
}

# An answer of many lines; and as much memory as for few.
sub same_peak
{
	my ($name, $line, $n, $rest, $options, $expected) = @_;
	my (undef, undef, $few) = load($line, int($n / 100), $rest, $options);
	my ($out, $err, $many) = load($line, $n, $rest, $options);

	is($out, $expected, "$name are counted") or diag $err;
	note sprintf('%s: peak %.1f MB, %.1f MB of a hundredth of them', $name, $many / MB, $few / MB);
	cmp_ok($few, '>', 0, "$name: a peak is known");
	cmp_ok($many - $few, '<', 2 * MB, "$name: same peak as for a hundredth of them");
}

my $skip = '"columns": ["i"], "skip": ' . MANY;
my ($out, $err) = load("\n", MANY, "7\nx\n8\n", "{$skip}");

like($err, qr/^CONTEXT: .*line 4400000002, column i: "x"/m, 'an error tells the line');

($out, $err) = load("\n", MANY, "7\nx\n8\n", qq({$skip, "on_error": "ignore", "reject_table": "rejects", "log_verbosity": "silent"}));
is($out, '2|1|0|3|4400000006', 'rows behind four billion lines are loaded') or diag $err;
is($node->safe_psql('postgres', 'SELECT line_number, byte_offset, raw_line FROM rejects'), '4400000002|4400000002|x', 'a reject tells line and place');

same_peak('four billion rows', "1\n", MANY, "7\n", '{"columns": ["i"], "where": "i > 1"}', '1|0|4400000000|4400000001|8800000002');

# rows of a kilobyte
my $wide = '1,' . 'x' x 997 . "\n";
my $gigabytes = $ENV{PGBULK_TEST_GIGABYTES} // 100;
my $rows = $gigabytes * 1_000_000;

same_peak("$gigabytes GB", $wide, $rows, "7,y\n", '{"where": "i > 1"}', sprintf('1|0|%d|%d|%d', $rows, $rows + 1, $rows * 1000 + 4));

check_log($node);
check_tables($node);
done_testing();
