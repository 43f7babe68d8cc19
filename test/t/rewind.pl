# Loads on a primary whose records a standby compares with its pages, while others read there; the standby is promoted in the
# middle of loads, both servers go on with loads of their own, and pg_rewind makes the old primary follow the new one.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use File::Copy qw(copy);
use IO::Handle;
use PgBulk;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('old');
server_init($primary, allows_streaming => 1);
$primary->append_conf('postgresql.conf', join("\n", "log_line_prefix = '%m [%p] %q%a %e '", 'log_statement = none', 'autovacuum = off', 'shared_buffers = 16MB', 'max_wal_size = 1GB',
		'wal_keep_size = 1GB', 'jit = off', 'wal_consistency_checking = all', 'max_standby_streaming_delay = -1', 'hot_standby_feedback = on', 'wal_receiver_status_interval = 1', 'max_connections = 30'));
$primary->start;
my $folder = data_dir();
my $rows = sub { my ($from, $to, $what) = @_; return join('', map { qq($_,$what $_,"{$_,-$_}","($_,$_)"\n) } $from .. $to) };
my $more = data_file('more.csv', 1, $rows->(1001, 3000, 'text'));
my $half = data_file('half.csv', 1, $rows->(501, 1500, 'new'));
my $few = data_file('few.csv', 1, $rows->(3001, 3100, 'few'));

$primary->safe_psql('postgres', q{
	CREATE EXTENSION pgbulk; CREATE EXTENSION amcheck;
	CREATE TABLE stop (i int);
	CREATE TABLE plain (i int, s text, a int[], p point);
	CREATE TABLE t (i int PRIMARY KEY, s text, a int[], p point);
	CREATE TABLE methods (i int, s text, a int[], p point);
	CREATE TABLE parts (i int PRIMARY KEY, s text, a int[], p point) PARTITION BY HASH (i);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1);
	INSERT INTO methods SELECT i, 'old ' || i, ARRAY[i, -i], point(i, i) FROM generate_series(1, 1000) i;
	INSERT INTO t TABLE methods; INSERT INTO parts TABLE methods; INSERT INTO plain TABLE methods;
	CREATE INDEX ON t (s);} . join('', map { my $t = $_; "CREATE INDEX ON $t (i); CREATE INDEX ON $t USING hash (s); CREATE INDEX ON $t USING gin (a); CREATE INDEX ON $t USING gist (p);
	CREATE INDEX ON $t USING spgist (p); CREATE INDEX ON $t USING brin (i) WITH (pages_per_range = 2);" } 'methods'));
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('new');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my @tables = qw(plain t methods parts);

sub contents
{
	my ($session) = @_;

	return $session->ask(join(';', 'SET enable_seqscan = on', (map { "SELECT '$_', count(*), sum(hashtext(t::text)::bigint) FROM $_ t" } @tables), 'SET enable_seqscan = off',
			(map { "SELECT count(*) FROM $_ WHERE i > -5" } qw(t parts methods)), q{SELECT count(*) FROM t WHERE s > ''},
			(map { "SELECT count(*) FROM methods WHERE $_" } q{s = 'text 1500'}, q{a @> '{1500}'}, q{p <@ box '(10.5,10.5),(2000.5,2000.5)'}, 'p ~= point(1500, 1500)'),
			q{SELECT 'sound', count(bt_index_check(i.indexrelid, true)::text) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
				WHERE c.relkind = 'i' AND c.relnamespace = 'public'::regnamespace AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'btree')}));
}

sub bulk_load
{
	my ($table, $file, $options) = @_;
	return "SELECT rows_loaded FROM bulk_load('$table', '$file', '" . ($options // '{}') . "')";
}
my $quiet = '"log_verbosity": "silent"';
my ($load, $held, $watch) = map { PgBulk::Session->new($primary) } 1 .. 3;

# ---- readers on the standby: what they find by each index is what is in the table

my @readers = map { PgBulk::Session->new($standby) } 1 .. 2;
my $old = PgBulk::Session->new($standby);
foreach my $reader (@readers)
{
	$reader->ask('SET enable_seqscan = off');
	$reader->send(q{DO $$DECLARE r record; n bigint = 0; BEGIN
		LOOP
			FOR r IN SELECT (SELECT count(*) FROM methods WHERE i + 0 > 900) = (SELECT count(*) FROM methods WHERE i > 900) AS i,
				(SELECT count(*) FROM methods WHERE s || '' = 'new 600') = (SELECT count(*) FROM methods WHERE s = 'new 600') AS s,
				(SELECT count(*) FROM methods WHERE a || 1 @> '{1200}') = (SELECT count(*) FROM methods WHERE a @> '{1200}') AS a,
				(SELECT count(*) FROM methods WHERE p + '(0,0)' <@ box '(700,700),(1700,1700)') = (SELECT count(*) FROM methods WHERE p <@ box '(700,700),(1700,1700)') AS p,
				(SELECT count(*) FROM t WHERE i + 0 > 900) = (SELECT count(*) FROM t WHERE i > 900) AS t,
				(SELECT count(*) FROM t WHERE s || '' > 'old') = (SELECT count(*) FROM t WHERE s > 'old') AS ts,
				(SELECT count(*) FROM parts WHERE i + 0 > 900) = (SELECT count(*) FROM parts WHERE i > 900) AS parts
			LOOP
				IF NOT (r.i AND r.s AND r.a AND r.p AND r.t AND r.ts AND r.parts) THEN RAISE EXCEPTION 'different rows: %', r; END IF;
			END LOOP;
			n = n + 1;
			EXIT WHEN EXISTS (SELECT FROM stop);
			COMMIT;
		END LOOP;
		RAISE NOTICE 'so often: %', n; END$$});
}
my @loads = (
	(map { my $t = $_; map { [ $t, $more, $_ ] } '{"writer": "buffered"}', (map { direct(0, qq("indexes": "$_")) } qw(insert rebuild)), direct(2, '"indexes": "rebuild"') } qw(methods parts)),
	(map { [ 't', $more, $_ ] } '{"writer": "buffered", "workers": 2}', direct(1, '"indexes": "merge"')),
	(map { [ 't', $half, qq({"on_duplicate": "$_", $quiet, "writer": "buffered"}) ], [ 't', $half, direct(0, qq("on_duplicate": "$_", $quiet)) ] } qw(keep_new keep_old)),
	[ 'methods', $more, '{"truncate": true}' ], [ 'plain', $more, direct(2) ]);

foreach my $n (0 .. $#loads)
{
	my ($t, $file, $options) = @{ $loads[$n] };

	$load->ask("DELETE FROM $t WHERE i > 1000") if $file eq $more;
	if ($options =~ /keep_new.*buffered/)
	{
		# rows that are replaced stay for who saw them
		$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
		$old->ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SET enable_seqscan = off; SELECT count(*) FROM plain");
	}
	is($load->ask(bulk_load($t, $file, $options)) > 0, $options !~ /keep_old/, "load $n into $t: $options") or diag $load->{error};
	$load->ask("VACUUM $t") if $n % 3 == 2;
	next if $options !~ /keep_new.*buffered/;
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	is($old->ask("SELECT count(*) FROM t WHERE i BETWEEN 501 AND 600 AND s ~ 'old'; SELECT count(*) FROM t WHERE s BETWEEN 'old 501' AND 'old 509'"), "100\n9", 'an old snapshot finds the old rows');
	$old->ask('COMMIT');
	is($old->ask("SELECT count(*) FROM t WHERE i BETWEEN 501 AND 600 AND s ~ 'old'"), 0, 'a new one does not');
}
$load->ask('INSERT INTO stop VALUES (1)');
foreach my $reader (@readers)
{
	$reader->wait;
	like($reader->{error}, qr/\A\S*\s?NOTICE:  00000: so often: \d+\s/, 'a reader found the same by all indexes');
	note $reader->{error};
}
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
is(contents($old), contents($watch), 'the standby has what the primary has');
is($old->{error}, '', 'and its indexes are sound');
$_->close foreach @readers, $old;

# ---- a promotion in the middle of loads

my $before = contents($watch);
my $pipe = "$folder/pipe";
my $text = slurp_file($more) =~ s/text/held/gr;
mkfifo($pipe, 0600) or die $!;
$held->ask('SET pgbulk.chunk_size = 16384');
$held->send(bulk_load('plain', $pipe, direct(0)));
open(my $rest, '>', $pipe) or die $!;
$rest->autoflush;
print $rest substr $text, 0, length($text) / 2;
wait_for('half of the file', sub { $watch->ask("SELECT bytes_processed > 30000 FROM pg_stat_progress_copy WHERE pid = $held->{pid}") eq 't' });
$load->ask('BEGIN; ' . bulk_load('t', $few, direct(0, '"indexes": "rebuild"')) . '; ' . bulk_load('parts', $few, direct(0, '"indexes": "rebuild"')));
is($load->{error}, '', 'a load that is not committed yet');
$watch->ask('CHECKPOINT');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
$standby->promote;
my $new = PgBulk::Session->new($standby);
is(contents($new), $before, 'the new primary has nothing of the loads');
is($new->{error}, '', 'and its indexes are sound');

# both go on
print $rest substr $text, length($text) / 2;
close $rest;
is($held->wait, 2000, 'the old one ends its loads') or diag $held->{error};
$load->ask('COMMIT');
$load->ask(bulk_load('methods', $few, direct(0, '"indexes": "rebuild"')) . '; ' . bulk_load('plain', $more, '{"truncate": true}'));
is($load->{error}, '', 'and goes on');
foreach my $t (@tables)
{
	$new->ask(bulk_load($t, $half, $t =~ /^(?:t|parts)$/ ? qq({"on_duplicate": "keep_new", $quiet}) : direct(1, $t eq 'methods' ? '"indexes": "rebuild"' : ())));
	is($new->{error}, '', "the new one loads into $t");
}
$new->ask('VACUUM; CHECKPOINT');
my $after = contents($new);
is($new->{error}, '', 'its indexes are sound');
isnt($after, contents($watch), 'they differ');
$_->close foreach $load, $held, $watch;

# ---- the old one follows the new one

check_log($primary, qr/could not receive data from client/);
$primary->stop;
copy($primary->data_dir . '/postgresql.conf', "$folder/postgresql.conf") or die $!;
$standby->command_ok([ 'pg_rewind', '--target-pgdata', $primary->data_dir, '--source-server', $standby->connstr('postgres'), '--no-sync' ], 'pg_rewind');
copy("$folder/postgresql.conf", $primary->data_dir . '/postgresql.conf') or die $!;
$primary->enable_streaming($standby);
$primary->set_standby_mode;
$primary->start;
$new->ask(bulk_load('plain', $few));
$standby->wait_for_catchup($primary, 'replay', $standby->lsn('insert'));
$watch = PgBulk::Session->new($primary);
is(contents($watch), contents($new), 'the old one has what the new one has');
is($watch->{error}, '', 'and its indexes are sound');
$primary->promote;
is($watch->ask(bulk_load('t', $more, qq({"on_duplicate": "keep_new", $quiet}))), 2000, 'it is promoted in its turn, and takes a load');
$_->close foreach $new, $watch;

check_log($standby, qr/57P0[13]|08006|40001|could not (?:receive|send)|terminating walreceiver/);
check_tables($_) foreach $primary, $standby;
done_testing();
