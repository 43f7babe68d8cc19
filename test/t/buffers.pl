# A load does not fill the shared buffers: it uses a ring, as COPY does.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('buffers', 'shared_buffers = 32MB', 'max_wal_size = 2GB',
	'checkpoint_timeout = 1h', 'bgwriter_lru_maxpages = 0');

$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_prewarm;
	CREATE EXTENSION pg_buffercache;
	CREATE TABLE other AS SELECT i, repeat('x', 1000) AS t FROM generate_series(1, 35000) i;
	CREATE TABLE by_copy (i int, t text);
	CREATE TABLE by_load (i int, t text);
	CREATE TABLE parts (i int, t text) PARTITION BY HASH (i);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 3, remainder 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 3, remainder 1);
	CREATE TABLE parts_2 PARTITION OF parts FOR VALUES WITH (modulus 3, remainder 2);
	CREATE TABLE bad (i int, t text)});

# Like the other table, the files are larger than the shared buffers.
my $path = data_file('big.csv', 64 * 1024 * 1024,
	join('', map { $_ . ',' . 'y' x 500 . "\n" } 1 .. 2000));
my $bad = data_file('bad.csv', 64 * 1024 * 1024,
	join('', map { ($_ % 100 ? $_ : 'x') . ',' . 'y' x 500 . "\n" } 1 .. 2000));

# Buffers of the tables whose names begin so.
sub buffers
{
	my ($name) = @_;
	return $node->safe_psql('postgres', qq{
		SELECT count(*) FROM pg_buffercache b JOIN pg_class c
		ON b.relfilenode = pg_relation_filenode(c.oid) WHERE c.relname ~ '^$name'});
}

# Runs a statement with the other table in the buffers; the share of it, in
# percent, that is there afterwards.
sub share_left
{
	my ($name, $sql) = @_;
	my $before;

	# after a restart there is no page of anything else
	$node->restart;
	$node->safe_psql('postgres', q{SELECT pg_prewarm('other')});
	$before = buffers('other');
	$node->safe_psql('postgres', $sql);
	my $left = percent_of(buffers('other'), $before);
	note sprintf('%s: %.1f %% of %d buffers left', $name, $left, $before);
	return $left;
}

my $copy = share_left('COPY', "COPY by_copy FROM '$path' (FORMAT csv)");

# 15 cannot share a ring of buffers out among workers
my $options = $node->pg_version < 16 ? '{"workers": 0}' : '{}';
my $load = share_left('bulk_load', "SELECT bulk_load('by_load', '$path', '$options')");

cmp_ok($copy, '<', 95, 'the buffers are full, so that COPY takes some');
# what the backend has filled before workers started remains besides the smaller
# ring that it has then: 1 MB
my $alone = 128;
cmp_ok($load, '>=', $copy - 2 - 100 * $alone / 4096, 'a load leaves as many to others as COPY');

# 16 MB, or an eighth of the shared buffers, and the maps of free space
my $ring = buffers('by_load');
cmp_ok($ring, '<=', 512 + 64 + $alone, 'its own table has but the ring') or diag "$ring buffers";

$copy = share_left('COPY into partitions', "COPY parts FROM '$path' (FORMAT csv)");
$load = share_left('bulk_load into partitions', "TRUNCATE parts; SELECT bulk_load('parts', '$path')");
cmp_ok($load, '>=', $copy - 2, 'the same with partitions');

# rejects are rows of a table of their own: 1 % of 64 MB
$load = share_left('bulk_load with rejects', qq{
	SELECT bulk_load('bad', '$bad', '{"on_error": "ignore", "reject_table": "rejected", "log_verbosity": "silent"}')});
cmp_ok($load, '>=', 60, 'rejects take little');
cmp_ok(buffers('rejected'), '<=', 512 + 64, 'and have a ring, too');

is($node->safe_psql('postgres', q{
		SELECT count(*) FROM by_copy EXCEPT SELECT count(*) FROM by_load}), '',
	'COPY and bulk_load loaded the same number');

SKIP:
{
	skip 'pg_stat_io came with 16', 2 if $node->pg_version < 16;

	# Only what one session does is looked at.
	my $writes = q{
		SELECT coalesce(sum(extends + coalesce(writes, 0)), 0) FROM pg_stat_io
		WHERE backend_type = 'client backend' AND object = 'relation' AND context = };

	$node->safe_psql('postgres', q{SELECT pg_stat_reset_shared('io')});
	$node->safe_psql('postgres', "TRUNCATE by_load; SELECT bulk_load('by_load', '$path'); SELECT pg_stat_force_next_flush()");
	my $pages = $node->safe_psql('postgres', q{SELECT pg_relation_size('by_load') / 8192});
	my $bulk = $node->safe_psql('postgres', "$writes 'bulkwrite'");
	my $normal = $node->safe_psql('postgres', "$writes 'normal'");
	my $by_pages = $node->safe_psql('postgres', q{
		SELECT sum(extends * coalesce((to_jsonb(s)->>'op_bytes')::int, 8192)) / 8192 > 0
		FROM pg_stat_io s WHERE context = 'bulkwrite' AND backend_type = 'client backend'});

	note "pg_stat_io: $bulk bulkwrite, $normal normal operations for $pages pages";
	is($by_pages, 't', 'pg_stat_io shows extends in context bulkwrite');
	cmp_ok($normal, '<', $pages / 20, 'and next to nothing in context normal');
}

check_log($node);
$node->stop;
done_testing();
