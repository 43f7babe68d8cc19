# With very few shared buffers a direct load works, as COPY does.  (15: a batch
# of 64 new blocks is pinned at once.)

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('direct_small_buffers', 'shared_buffers = 128kB');
my $path = data_file('rows.csv', 1024 * 1024, sub { "$_[0]," . 'x' x ($_[0] % 90) . "\n" });

$node->safe_psql('postgres', 'CREATE TABLE t (a int, b text)');
is(($node->psql('postgres', "COPY t FROM '$path' (FORMAT csv)"))[2], '', 'COPY');
foreach my $workers (@WORKERS)
{
	is(($node->psql('postgres', "SELECT bulk_load('t', '$path', '" . direct($workers) . "')"))[2], '', "$workers workers");
}
check_log($node);
$node->stop;
done_testing();
