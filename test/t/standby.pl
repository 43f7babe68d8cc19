# A standby and a subscriber get what a load writes.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use Digest::MD5 qw(md5_hex);

my $primary = PostgreSQL::Test::Cluster->new('primary');
server_init($primary, allows_streaming => 'logical');
$primary->append_conf('postgresql.conf',
	"log_line_prefix = '%m [%p] %q%a %e '\nlog_statement = none\nautovacuum = off\nshared_buffers = 16MB\nmax_wal_size = 1GB\nwal_keep_size = 2GB\n");
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION pgbulk; CREATE EXTENSION amcheck');
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
server_init($subscriber);
$subscriber->append_conf('postgresql.conf',
	"log_line_prefix = '%m [%p] %q%a %e '\nlog_statement = none\nautovacuum = off\n"
	  . "shared_buffers = 16MB\nmax_wal_size = 1GB\nwal_level = replica\n"
	  . "max_worker_processes = 20\nmax_logical_replication_workers = 16\n");
$subscriber->start;

my $tables = q{
	CREATE TABLE plain (i int, s text);
	CREATE TABLE keyed (i int PRIMARY KEY, s text UNIQUE, n numeric, j jsonb);
	CREATE TABLE parts (i int, s text) PARTITION BY RANGE (i);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (10000);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (10000) TO (MAXVALUE);
	CREATE TABLE wide (i int, s text);
	ALTER TABLE wide ALTER s SET STORAGE EXTERNAL;
	CREATE TABLE straight (LIKE wide INCLUDING STORAGE);
	CREATE TABLE squeezed (i int, s text);
	CREATE TABLE tall (i int, inside text, outside text);
	ALTER TABLE tall ALTER inside SET STORAGE plain, ALTER outside SET STORAGE external;};
my $rejected = q{
	CREATE TABLE rejected (load_id bigint, target text, loaded_at timestamptz, file text, line_number bigint,
		byte_offset bigint, reason text, column_name text, field_value text, sqlstate text, message text,
		raw_line text, raw_bytes bytea);};

$primary->safe_psql('postgres', "$tables $rejected
	CREATE INDEX ON plain (i); CREATE INDEX ON plain USING hash (s); CREATE INDEX ON parts (s);
	CREATE INDEX ON keyed USING gin (j); CREATE INDEX ON keyed USING brin (i);
	CREATE PUBLICATION all_of_it FOR ALL TABLES WITH (publish_via_partition_root = true)");
$subscriber->safe_psql('postgres', "$tables $rejected CREATE EXTENSION pgbulk; CREATE SUBSCRIPTION sub CONNECTION '"
	  . $primary->connstr . ' dbname=postgres' . "' PUBLICATION all_of_it");
$subscriber->wait_for_subscription_sync($primary, 'sub');

my %file = (
	plain => data_file('plain.csv', 1, join('', map { "$_,text of row $_\n" } 1 .. 50000)),
	keyed => data_file('keyed.csv', 1, join('', map { qq($_,key $_,$_.5,"{""a"": $_}"\n) } 1 .. 10000)),
	parts => data_file('parts.csv', 1, join('', map { "$_,text of row $_\n" } 1 .. 20000)),
	wide => data_file('wide.csv', 1, join('', map { "$_," . "wide $_ " x 3000 . "\n" } 1 .. 100)),
	# values out of line of rows in more pages than the direct writer places at once
	tall => data_file('tall.csv', 1200 * 1024, sub { "$_[0]," . 'i' x 1900 . ",$_[0]" . 'o' x 2100 . "\n" }),
	# good rows and bad ones, both of which have values out of line
	both => data_file('both.csv', 1, join('', map { ($_ % 3 ? '' : 'x') . "$_," . join('', map { md5_hex($_) } $_ * 200 .. $_ * 200 + 199) . "\n" } 1 .. 600)),
	bad => data_file('bad.csv', 1, join('', map { ($_ % 10 ? '' : 'x') . "$_,text of row $_\n" } 1 .. 10000)));

sub everything
{
	my ($node) = @_;
	return join("\n", map {
		"$_: " . $node->safe_psql('postgres', "SET timezone = 'UTC';
			SELECT count(*), md5(coalesce(string_agg(t::text, '' ORDER BY t::text COLLATE \"C\"), '')) FROM $_ t")
	} qw(plain keyed parts wide straight squeezed tall rejected));
}

sub same_everywhere
{
	my ($when, $sum) = @_;
	my $expected = everything($primary);

	is($sum, $primary->safe_psql('postgres', 'SELECT count(*) FROM plain'), "$when: the primary has them")
	  if defined $sum;
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	is(everything($standby), $expected, "$when: so has the standby");
	$primary->wait_for_catchup('sub');
	is(everything($subscriber), $expected, "$when: so has the subscriber");
}

my $quiet = '"log_verbosity": "silent"';

$primary->safe_psql('postgres', "SELECT bulk_load('$_', '$file{$_}')") foreach qw(plain keyed parts wide);
same_everywhere('loads', 50000);
$primary->safe_psql('postgres', qq{SELECT bulk_load('plain', '$file{bad}', '{"on_error": "ignore", $quiet, "reject_table": "rejected"}')});
same_everywhere('rejects', 59000);

# whole pages, wide values, what a savepoint takes back; the standby compares
# each page that it makes from the log with the primary's
my $expected = 0;
foreach my $workers (@WORKERS)
{
	my $load = sub {
		my ($table, $path, $more) = @_;
		return "SELECT bulk_load('$table', '$path', '" . direct($workers, $more) . "');";
	};

	$primary->safe_psql('postgres', join("\n",
			"SET wal_consistency_checking = 'heap, heap2';",
			$load->('straight', $file{plain}),
			'SET pgbulk.chunk_size = 10000;',
			$load->('straight', $file{wide}),
			$load->('squeezed', $file{wide}),
			'BEGIN;',
			$load->('straight', $file{parts}),
			'SAVEPOINT s;',
			$load->('straight', $file{plain}),
			$load->('squeezed', $file{wide}),
			'ROLLBACK TO s;',
			$load->('straight', $file{bad}, qq("on_error": "ignore", $quiet)),
			'COMMIT;',
			'BEGIN; TRUNCATE squeezed;',
			$load->('squeezed', $file{plain}),
			$load->('squeezed', $file{wide}),
			'COMMIT;',
			'SET pgbulk.chunk_size = 60000;',
			$load->('tall', $file{tall})));
	$expected += 50000 + 100 + 20000 + 9000;
	is($primary->safe_psql('postgres', 'SELECT (SELECT count(*) FROM straight), (SELECT count(*) FROM squeezed)'),
		"$expected|50100", "direct, $workers workers: the primary has them");
	same_everywhere("direct, $workers workers");
}

# a reject table that is decoded: two tables' values out of line must not mix
my $reject = sub {
	my ($table) = @_;
	return $primary->safe_psql('postgres', qq{SET pgbulk.chunk_size = 32768;
		SELECT rows_loaded, rows_rejected, workers, details->>'no_workers' FROM bulk_load('straight', '$file{both}', '}
		  . direct(2, qq("on_error": "ignore", $quiet, "reject_table": "$table")) . "')");
};
$primary->safe_psql('postgres', 'CREATE UNLOGGED TABLE rejected_here (LIKE rejected)');
is($reject->('rejected'), '400|200|0|The reject table has triggers or indexes, or is logically decoded.', 'no workers with a reject table that is decoded');
same_everywhere('rejects of wide rows');
is($reject->('rejected_here'), '400|200|2|', 'workers with one that is not');
same_everywhere('rejects of wide rows that stay here');
is($primary->safe_psql('postgres', "SELECT count(*) FROM (SELECT target, line_number, raw_line FROM rejected_here
		EXCEPT SELECT target, line_number, raw_line FROM rejected) x"), '0', 'both have the same rejects');

# what is rolled back, wholly or below a savepoint, goes nowhere
$primary->safe_psql('postgres', "BEGIN; SELECT bulk_load('plain', '$file{plain}'); ROLLBACK;
	BEGIN; SELECT bulk_load('plain', '$file{parts}'); SAVEPOINT s; SELECT bulk_load('plain', '$file{plain}');
	ROLLBACK TO s; SELECT bulk_load('parts', '$file{parts}'); COMMIT");
same_everywhere('rollbacks', 79000);

# COPY itself, in tables that others use and in new ones
$primary->safe_psql('postgres', "LOAD 'pgbulk'; SET pgbulk.copy = on; SET pgbulk.copy_min_size = 0; SET wal_consistency_checking = 'heap, heap2, btree, hash, gin, brin';
	DELETE FROM keyed WHERE i % 2 = 0; COPY plain FROM '$file{plain}' (FORMAT csv);
	BEGIN; TRUNCATE keyed; COPY keyed FROM '$file{keyed}' (FORMAT csv); COMMIT;
	SET pgbulk.copy = exclusive; TRUNCATE parts; COPY parts FROM '$file{parts}' (FORMAT csv); COPY parts FROM '$file{parts}' (FORMAT csv)");
same_everywhere('COPY', 129000);

# options that empty the table first; ON_ERROR under the guard
$primary->safe_psql('postgres', qq{SELECT bulk_load('plain', '$file{parts}', '{"truncate": true, "freeze": true, "analyze": true}')});
same_everywhere('truncate and freeze', 20000);
$primary->safe_psql('postgres', qq{
	CREATE FUNCTION refuse(i int) RETURNS bool LANGUAGE plpgsql AS
	'BEGIN IF i % 100 = 0 THEN RAISE EXCEPTION ''no''; END IF; RETURN true; END';
	ALTER TABLE plain ADD CHECK (refuse(i)) NOT VALID;
	SELECT bulk_load('plain', '$file{parts}', '{"on_error": "ignore", $quiet, "reject_table": "rejected"}')});
same_everywhere('errors caught', 39800);

# a change of the table in the same transaction
$primary->safe_psql('postgres', "BEGIN; ALTER TABLE wide ADD extra int DEFAULT 7; ALTER TABLE wide DROP extra;
	SELECT bulk_load('wide', '$file{wide}'); COMMIT");
same_everywhere('a changed table');

# the indexes of the standby
is($standby->safe_psql('postgres', q{
		SELECT count(bt_index_check(c.oid, true)) > 0 FROM pg_class c JOIN pg_am a ON a.oid = c.relam
		WHERE a.amname = 'btree' AND c.relkind = 'i' AND c.relpersistence = 'p' AND c.relname !~ '^pg_'}),
	't', 'the btrees of the standby are whole');
is($standby->safe_psql('postgres', q{
		SET enable_seqscan = off;
		SELECT (SELECT count(*) FROM plain WHERE i = 4711), (SELECT count(*) FROM plain WHERE s = 'text of row 4711'),
			(SELECT count(*) FROM keyed WHERE j @> '{"a": 4711}'), (SELECT count(*) FROM keyed WHERE i BETWEEN 10 AND 20),
			(SELECT i FROM keyed WHERE s = 'key 4711'), (SELECT count(*) FROM parts WHERE s = 'text of row 15000')}),
	'2|2|1|11|4711|2', 'and its indexes find the rows');
is_sound($standby, $_, "its heap is sound: $_") foreach qw(plain wide straight squeezed tall);

# A load on the standby is refused, and it can load after its promotion.
my ($rc, $out, $err) = $standby->psql('postgres', "SELECT bulk_load('plain', '$file{plain}')");
like($err, qr/read-only transaction|during recovery/, 'a standby takes no load');
$standby->promote;
$standby->safe_psql('postgres', "SELECT bulk_load('parts', '$file{parts}')");
is($standby->safe_psql('postgres', 'SELECT count(*) FROM parts'), '60000', 'a promoted standby does');

check_log($primary);
check_log($standby, qr/57P03|08006|could not receive data from WAL stream|terminating walreceiver/);
check_log($subscriber);
$subscriber->stop;
check_tables($_) foreach $standby, $primary;
done_testing();
