# Parallel workers and partitioned tables: the files after a load, and after the
# server was killed during or right after one.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = bulk_server('partition_workers', 'shared_buffers = 16MB', 'wal_level = logical');

# leaves with TOASTed values, a foreign key and indexes; TOASTed values are decoded
$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE ref (k int PRIMARY KEY);
	INSERT INTO ref SELECT i FROM generate_series(0, 99) i;
	CREATE TABLE t (i int, k int REFERENCES ref, s text) PARTITION BY HASH (i);
	CREATE TABLE u (i int, k int, s text);
	DO $$ BEGIN FOR i IN 0..7 LOOP
		EXECUTE format('CREATE TABLE t_%s PARTITION OF t FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i);
		EXECUTE format('ALTER TABLE t_%s ALTER s SET STORAGE external', i);
	END LOOP; END $$});

my $path = data_file('rows.csv', 6 * 1024 * 1024, sub {
	my ($n) = @_;
	return join('', map { my $i = $n * 500 + $_; "$i," . $i % 100 . ',' . ($i % 100 == 7 ? 'wide ' x 900 : "text $i") . "\n" } 1 .. 500);
});
my $sums = 'count(*), sum(i), sum(k), sum(length(s)), sum(hashtext(s)::bigint)';

sub bulk_load
{
	my ($workers, $more) = @_;
	return "SELECT workers FROM bulk_load('t', '$path', '" . direct($workers, $more) . "')";
}

# the rows of COPY, whichever process loads, and decoded as they are in the
# tables
$node->safe_psql('postgres', "COPY u FROM '$path' (FORMAT csv)");
my $all = $node->safe_psql('postgres', "SELECT $sums FROM u");
$node->safe_psql('postgres', q{ALTER TABLE u REPLICA IDENTITY FULL; SELECT pg_create_logical_replication_slot('slot', 'test_decoding')});
foreach my $workers (1, 2)
{
	$node->safe_psql('postgres', "TRUNCATE t; SELECT pg_replication_slot_advance('slot', pg_current_wal_lsn())");
	my $got = $node->safe_psql('postgres', 'SET pgbulk.chunk_size = 65536; ' . bulk_load($workers));

	is($got, $workers, "$workers workers: they came");
	is($node->safe_psql('postgres', "SELECT $sums FROM t"), $all, "$workers workers: the rows of COPY");
	is($node->safe_psql('postgres', q{
		SELECT bool_and(i > before) FROM (SELECT i, lag(i, 1, 0) OVER (PARTITION BY tableoid ORDER BY ctid) AS before FROM t) x}),
		't', "$workers workers: in the order of the file");
	is($node->safe_psql('postgres', q{
		SELECT count(*), count(*) FILTER (WHERE strpos(data, '''' || repeat('wide ', 900) || '''') > 0) FROM pg_logical_slot_get_changes('slot', NULL, NULL)
		WHERE strpos(data, ': INSERT: ') > 0}),
		$node->safe_psql('postgres', q{SELECT count(*), count(*) FILTER (WHERE i % 100 = 7) FROM u}),
		"$workers workers: every value is decoded");
}
$node->safe_psql('postgres', q{SELECT pg_drop_replication_slot('slot')});

# killed during the load, or after the commit
$node->safe_psql('postgres', 'TRUNCATE t; ALTER TABLE t ADD PRIMARY KEY (i); ALTER SYSTEM SET wal_level = replica');
$node->restart;
my $start = time;
$node->safe_psql('postgres', 'SET pgbulk.chunk_size = 65536; ' . bulk_load(2));
my $takes = time - $start;
my %outcome;

foreach my $n (0 .. how_many(3, 12))
{
	my $session = PgBulk::Session->new($node);

	$node->safe_psql('postgres', 'TRUNCATE t');
	$session->ask('SET pgbulk.chunk_size = 65536');
	$session->send(bulk_load(2));
	sleep($takes * (0.2 + rand));
	$session->wait if $n == 0;
	kill_server($node);
	$session->close;
	$node->start;
	my $rows = $node->safe_psql('postgres', "SELECT $sums FROM t");
	ok($rows eq $all || $rows eq '0||||', "crash $n: all rows or none");
	$outcome{ $rows eq $all ? 'all' : 'none' }++;
	is_sound($node, "t_$_", "crash $n: leaf $_ is sound") foreach 0 .. 7;
	is($node->safe_psql('postgres', bulk_load(2, '"on_error": "ignore", "on_duplicate": "keep_old"') . "; SELECT $sums FROM t"),
		"2\n$all", "crash $n: the next load works");
}
ok($outcome{all}, 'what was committed is there');
check_log($node);
check_tables($node);
done_testing();
