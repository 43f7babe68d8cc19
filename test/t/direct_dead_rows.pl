# A load that fails or is cancelled leaves dead rows; they are counted, as
# COPY's are, so that autovacuum knows of them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('direct_dead_rows');
my $load = PgBulk::Session->new($node);
my $path = data_file('rows.csv', 4 * 1024 * 1024, sub { "$_[0],text of a row\n" });

# its last row is bad
my $bad = data_file('bad.csv', 1, slurp_file($path) . "x,bad\n");

$node->safe_psql('postgres', 'CREATE TABLE by_copy (i int, s text); CREATE TABLE direct (i int, s text)');

sub dead
{
	$load->ask('SELECT pg_stat_force_next_flush()');
	return $node->safe_psql('postgres', "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = '$_[0]'");
}

$load->ask("COPY by_copy FROM '$bad' (FORMAT csv)");
is($load->sqlstate, '22P02', 'COPY fails');
my $copy = dead('by_copy');

foreach my $workers (@WORKERS)
{
	my $before = dead('direct');

	$load->ask("SELECT bulk_load('direct', '$bad', '" . direct($workers) . "')");
	is($load->sqlstate, '22P02', "$workers workers: a direct load fails");

	# but for those in pages that had not been placed
	cmp_ok(dead('direct') - $before, '>', 0.8 * $copy, "$workers workers: its rows are counted as dead ones, as COPY's are");
}

$load->close;
check_log($node);
$node->stop;
done_testing();
