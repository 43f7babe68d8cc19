# More lines and rows than 32 bits can count: places and numbers of rows behind them.
#
# Only where PGBULK_TEST_LONG is set: it takes some minutes.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

use constant MANY => 4_400_000_000;

plan skip_all => 'takes minutes, and PGBULK_TEST_LONG is not set' unless $ENV{PGBULK_TEST_LONG};

my $node = bulk_server('billions');
my $pipe = data_dir() . '/pipe';

mkfifo($pipe, 0644) or die "$pipe: $!";
$node->safe_psql('postgres', 'CREATE TABLE t (i int)');

# What bulk_load answers of a pipe that gets MANY lines of LINE, and then the rest.
sub load
{
	my ($line, $rest, $options) = @_;
	my $writer = fork() // die "fork: $!";

	if ($writer == 0)
	{
		my $block = $line x (1 << 20);
		my $whole = int(MANY / (1 << 20));

		open(my $out, '>:raw', $pipe) or POSIX::_exit(1);
		foreach (1 .. $whole) { syswrite($out, $block) == length $block or POSIX::_exit(0) }
		syswrite($out, $line x (MANY - $whole * (1 << 20)) . $rest);
		close($out);
		POSIX::_exit(0);
	}
	my ($rc, $out, $err) = $node->psql('postgres',
		"SELECT rows_loaded, rows_rejected, rows_filtered, rows_read, bytes_read FROM bulk_load('t', '$pipe', '$options')");

	waitpid($writer, 0);
	return ($out, $err);
}

my $skip = '"skip": ' . MANY;
my ($out, $err) = load("\n", "7\nx\n8\n", "{$skip}");

like($err, qr/^CONTEXT: .*line 4400000002, column i: "x"/m, 'an error tells the line');

($out, $err) = load("\n", "7\nx\n8\n", qq({$skip, "on_error": "ignore", "reject_table": "rejects", "log_verbosity": "silent"}));
is($out, '2|1|0|3|4400000006', 'rows behind four billion lines are loaded') or diag $err;
is($node->safe_psql('postgres', 'SELECT line_number, byte_offset, raw_line FROM rejects'), '4400000002|4400000002|x', 'a reject tells line and place');

($out, $err) = load("1\n", "7\n", '{"where": "i > 1"}');
is($out, '1|0|4400000000|4400000001|8800000002', 'four billion rows are counted') or diag $err;

check_log($node);
check_tables($node);
done_testing();
