# A direct load uses a ring of shared buffers as COPY does, whatever the number
# of its workers: together they have one ring's share.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('direct_buffers', 'shared_buffers = 32MB', 'max_wal_size = 2GB',
	'checkpoint_timeout = 1h', 'bgwriter_lru_maxpages = 0');
my $path = data_file('big.csv', 64 * 1024 * 1024,
	join('', map { $_ . ',' . 'y' x 500 . "\n" } 1 .. 2000));

$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_prewarm;
	CREATE EXTENSION pg_buffercache;
	CREATE TABLE other AS SELECT i, repeat('x', 1000) AS t FROM generate_series(1, 35000) i;
	CREATE TABLE t (i int, t text)});

sub buffers
{
	my ($name) = @_;
	return $node->safe_psql('postgres', "SELECT count(*) FROM pg_buffercache
		WHERE relfilenode = pg_relation_filenode('$name') AND relforknumber = 0");
}

sub share_left
{
	my ($sql) = @_;

	$node->safe_psql('postgres', 'TRUNCATE t');
	$node->restart;
	$node->safe_psql('postgres', q{SELECT pg_prewarm('other')});
	my $before = buffers('other');
	$node->safe_psql('postgres', $sql);
	return percent_of(buffers('other'), $before);
}

my $copy = share_left("COPY t FROM '$path' (FORMAT csv)");

foreach my $workers (@WORKERS)
{
	# before 16 each process has a ring of its own
	next if $workers > 0 && $node->pg_version < 16;

	my $left = share_left("SELECT bulk_load('t', '$path', '" . direct($workers) . "')");

	cmp_ok($left, '>=', $copy - 2, "$workers workers leave as many to others as COPY");
	cmp_ok(buffers('t'), '<=', 512 + 64, "$workers workers: the table has but the ring");
}
check_log($node);
$node->stop;
done_testing();
