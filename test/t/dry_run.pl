# Dry runs leave nothing: among others, cancelled, killed, with workers.
#
# PGBULK_TEST_CRASHES=n does that many crashes; else 3, or 6 where PGBULK_TEST_LONG is set.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $MB = 1024 * 1024;
my $crashes = how_many(3, 6);
my $node = bulk_server('dry_run', 'shared_buffers = 64MB', 'max_wal_size = 2GB', 'maintenance_work_mem = 64MB');

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE t (id bigserial PRIMARY KEY, k int UNIQUE, s text);
	ALTER TABLE t ALTER s SET STORAGE external;
	CREATE INDEX ON t (left(s, 40));
	INSERT INTO t (k, s) SELECT -i, 'row ' || i FROM generate_series(1, 20000) i;
	INSERT INTO t (k, s) SELECT -i, repeat('wide ', 1000) FROM generate_series(20001, 20050) i;
	CREATE TABLE empty (LIKE t INCLUDING ALL);
	CREATE TABLE gist (k int, s text);
	CREATE INDEX ON gist USING gist (point(k, k));
	INSERT INTO gist SELECT i, 'row' FROM generate_series(1, 1000) i;
	VACUUM ANALYZE});

my $rows = data_file('rows.csv', 12 * $MB, sub {
	my ($n) = @_;
	return join('', map { my $k = $n * 1000 + $_; "$k,text $k\n" } 1 .. 999) . "@{[($n + 1) * 1000]}," . 'wide ' x 1000 . "\n";
});
my $few = data_file('few.csv', 1, join('', map { "$_,few\n" } 1 .. 100));
my $count = () = slurp_file($rows) =~ /\n/g;

sub dry
{
	my ($table, $file, $more) = @_;
	return qq(SELECT rows_loaded, rows_rejected, rows_duplicate, writer, workers FROM bulk_load('$table', '$file',
		'{"columns": ["k", "s"], "dry_run": true@{[$more ? ", $more" : '']}}'));
}

# The database's files except those of catalogs, with their sizes, and the state of sequences.  What has
# been dropped is there until a checkpoint.
my $base = $node->data_dir . '/' . $node->safe_psql('postgres', q{SELECT regexp_replace(pg_relation_filepath('t'), '\d+$', '')});
sub state_of_all
{
	$node->safe_psql('postgres', 'CHECKPOINT');
	my @files = grep { my ($number) = /(\d+)[^\/]*$/; $number && $number >= 16384 && !/_fsm$|_vm$/ } sort glob "$base*";
	return join("\n", map({ s/.*\///r . ' ' . -s } @files),
		$node->safe_psql('postgres', q{SELECT concat_ws(' ', relname, relfilenode, relpersistence, relpages, reltuples) FROM pg_class
			WHERE relnamespace = 'public'::regnamespace OR relname ~ '^pg_toast' ORDER BY oid}),
		$node->safe_psql('postgres', 'SELECT last_value, is_called FROM t_id_seq'));
}

sub same_state
{
	my ($before, $name) = @_;
	is(state_of_all(), $before, $name);
}

# ---- each writer, with and without workers ----

my $before = state_of_all();
foreach my $case (
	[ 't', '', 'buffered' ],
	[ 't', '"writer": "direct"', 'direct' ],
	[ 't', '"writer": "direct", "workers": 2', 'direct, with workers' ],
	[ 't', '"writer": "direct", "workers": 2, "indexes": "rebuild"', 'direct, rebuilt' ],
	[ 't', '"writer": "direct", "indexes": "insert"', 'direct, inserted' ],
	[ 't', '"truncate": true, "workers": 2', 'truncated' ],
	[ 'empty', '"workers": 2', 'into an empty table' ],
	[ 'empty', '"writer": "buffered"', 'into an empty table, buffered' ])
{
	my ($table, $more, $name) = @$case;
	my $said = $node->safe_psql('postgres', dry($table, $rows, $more));

	like($said, qr/^$count\|0\|0\|none\|/, "$name: all rows would be loaded");
	like($said, qr/\|[12]$/, "$name: workers have helped") if $more =~ /workers/;
	same_state($before, "$name: nothing stays");
}

# ---- among others ----

my $session = PgBulk::Session->new($node);
my $watch = PgBulk::Session->new($node);
my $reader = PgBulk::Session->new($node);

# who reads meanwhile sees what was there, by the indexes as they were
$session->send(dry('t', $rows));
wait_for('the dry run to read', sub {
	return $session->done || $watch->ask("SELECT bytes_processed > 0 FROM bulk_load_progress_wide WHERE pid = $session->{pid}") eq 't' });
is($reader->ask("SET enable_seqscan = off; SELECT count(*), min(k) FROM t WHERE k < -100"), '19950|-20050', 'others read by the old indexes');
is($reader->ask("SELECT count(*) FROM t"), '20050', 'and see no row of it');
$session->wait;
$session->ask('BEGIN; ' . dry('t', $few));
$reader->ask("SET lock_timeout = '50ms'; INSERT INTO t (k, s) VALUES (1, 'x')");
is($reader->sqlstate, '55P03', 'others cannot write');
is($reader->ask('SELECT count(*) FROM t'), '20050', 'but read');
$session->ask('COMMIT');
is($reader->ask("INSERT INTO t (k, s) VALUES (1, 'x') RETURNING k"), '1', 'afterwards they can');
$reader->ask("DELETE FROM t WHERE k = 1; RESET lock_timeout");
$node->safe_psql('postgres', 'VACUUM ANALYZE t');

# values of the sequence that others take meanwhile are theirs
$before = state_of_all();
my $value = $node->safe_psql('postgres', 'SELECT last_value FROM t_id_seq');
$session->send(dry('t', $rows, '"writer": "direct"'));
my $taken = 0;
until ($session->done)
{
	is($reader->ask("SELECT nextval('t_id_seq')"), ++$value, 'values of the sequence go on as if nothing were') if $taken++ < 20;
	sleep 0.01;
}
$session->wait;
is($watch->ask('SELECT last_value FROM t_id_seq'), $value, 'and do so afterwards');
$node->safe_psql('postgres', "SELECT setval('t_id_seq', " . ($value - ($taken > 20 ? 20 : $taken)) . ')');
same_state($before, 'the rest is as it was');

# who uses the table keeps its pages, until the next VACUUM
$reader->ask('BEGIN; SELECT count(*) FROM t');
$session->ask(dry('t', $rows));
like($session->{error}, qr/NOTICE: .*dry run leaves \d+ empty pages at the end of "t"/, 'pages stay while others use the table');
$reader->ask('COMMIT');
is($watch->ask("SELECT count(*) FROM t"), '20050', 'rows do not');
$node->safe_psql('postgres', 'VACUUM t');
$node->safe_psql('postgres', "SELECT bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = 't'::regclass");
is_sound($node, 't', 'the table is sound');
$node->safe_psql('postgres', 'VACUUM ANALYZE t');
same_state($before, 'VACUUM gives them back');

# the error is about a row that is gone when the NOTICE comes
$node->safe_psql('postgres', 'CREATE TABLE referenced (i int PRIMARY KEY); CREATE TABLE refers (i int REFERENCES referenced, s text)');
$reader->ask('BEGIN; SELECT count(*) FROM refers');
my $orphans = data_file('orphans.csv', 1, join('', map { "$_,row $_\n" } 1 .. 2000));
$session->ask("\\set SHOW_CONTEXT always\nSELECT bulk_load('refers', '$orphans', '{\"dry_run\": true, \"writer\": \"direct\", \"on_error\": \"ignore\", \"reject_limit\": 1000}')");
like($session->{error}, qr/NOTICE: .*dry run leaves \d+ empty pages? at the end of "refers"\nDETAIL: .*\nHINT: .*\n(?!CONTEXT).*ERROR: .*1000.*CONTEXT: .*line 1001/s, 'an error, and what others keep');
$session->ask("\\set SHOW_CONTEXT errors\nSELECT");
$reader->ask('COMMIT');
$node->safe_psql('postgres', 'DROP TABLE refers, referenced');

# who waits to write does not use it
$session->ask('BEGIN; LOCK TABLE t IN SHARE ROW EXCLUSIVE MODE');
$reader->send('BEGIN; DELETE FROM t WHERE false; COMMIT');
wait_for('a writer', sub { $watch->ask("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $reader->{pid}") eq 't' });
$session->ask(dry('t', $few));
is($session->{error}, '', 'no pages stay because of writers that wait');
$session->ask('COMMIT');
$reader->wait;
same_state($before, 'and they have not got in between');

# who reads many partitions is waited for only once
$node->safe_psql('postgres', q{
	CREATE TABLE parts (k int, s text) PARTITION BY HASH (k);
	SELECT format('CREATE TABLE parts_%s PARTITION OF parts FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i) FROM generate_series(0, 7) i \gexec
});
$reader->ask('BEGIN; SELECT count(*) FROM parts');
my $start = time;
$session->ask(dry('parts', $few));
cmp_ok(time - $start, '<', 15, 'a second for all partitions');
is(scalar(() = $session->{error} =~ /dry run leaves 1 empty page at the end of "parts_/g), 8, 'each of which keeps its page');
$reader->ask('COMMIT');
$node->safe_psql('postgres', 'DROP TABLE parts');

# two dry runs of one table come one after the other
$session->send(dry('t', $rows));
$watch->ask(dry('t', $rows));
unlike($watch->{error}, qr/ERROR|WARNING/, 'concurrent dry runs');
$session->wait;
same_state($before, 'nothing stays of both');

# ---- errors ----

my $bad = data_file('bad.csv', 1, slurp_file($rows) . "1,again\n");
my $text = data_file('text.csv', 1, slurp_file($rows) . "x,x\n");
foreach my $more ('"writer": "buffered"', '"writer": "direct"', '"writer": "direct", "workers": 2', '"truncate": true')
{
	$session->ask(dry('t', $bad, $more));
	is($session->sqlstate, '23505', "$more: a duplicate");
	same_state($before, "$more: nothing stays of a failed one");
	$session->ask(dry('t', $text, $more));
	is($session->sqlstate, '22P02', "$more: a bad row");
	same_state($before, "$more: nothing stays of that one");
}

# ---- cancelled ----

my $long = "ARRAY[" . join(',', ("'$rows'") x 100) . "]";
foreach my $more ('"writer": "buffered"', '"writer": "direct"', '"writer": "direct", "workers": 2')
{
	my $sql = dry('t', $rows, qq($more, "on_duplicate": "keep_old", "log_verbosity": "silent"));

	$sql =~ s/'\Q$rows\E'/$long/;
	ends_soon("$more: cancelled", sub {
		$session->cancel($sql, $watch, sub { $watch->ask("SELECT bytes_processed > 0 FROM bulk_load_progress_wide WHERE pid = $session->{pid}") eq 't' }, 0.3) });
	is($session->sqlstate, '57014', "$more: it says so");
	same_state($before, "$more: nothing stays");
}
$session->ask("BEGIN; LOCK TABLE gist IN SHARE MODE");
ends_soon('waiting for the lock', sub {
	$reader->cancel(dry('gist', $few), $watch, sub {
		$watch->ask("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $reader->{pid}") eq 't' }, 0.1) });
$session->ask('COMMIT');
is($reader->ask("SELECT rows_loaded FROM bulk_load('gist', '$few')"), '100', 'then it can be loaded');

# ---- killed ----

my $rows_before = $node->safe_psql('postgres', 'SELECT count(*), sum(k), sum(id), sum(length(s)) FROM t');
foreach my $crash (1 .. $crashes)
{
	my $more = (q("writer": "buffered"), q("writer": "direct"), q("writer": "direct", "workers": 2))[ $crash % 3 ];
	my $killed = PgBulk::Session->new($node);

	$killed->send(dry('t', $rows, $more));
	sleep 0.05 + rand(0.3);
	kill_server($node);
	$killed->close;
	$node->start;
	is($node->safe_psql('postgres', 'SELECT count(*), sum(k), sum(id), sum(length(s)) FROM t'), $rows_before, "crash $crash: the rows are those before");
	$node->safe_psql('postgres', "SELECT bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = 't'::regclass");
	is_sound($node, 't', "crash $crash: the table is sound");
	is($node->safe_psql('postgres', dry('t', $few, '"log_verbosity": "silent"')), '100|0|0|none|0', "crash $crash: the next one works");
	$node->safe_psql('postgres', 'VACUUM t; CHECKPOINT');

	my %known = map { $_ => 1 } split /\n/, $node->safe_psql('postgres',
		q{SELECT regexp_replace(pg_relation_filepath(oid), '.*/', '') FROM pg_class WHERE pg_relation_filepath(oid) IS NOT NULL});
	my @left = grep { /(\d+)(?:\.\d+)?(?:_\w+)?$/ && !$known{$1} && -s } glob "$base*";
	is("@left", '', "crash $crash: no copy takes space");
}

check_log($node);
check_tables($node);
done_testing();
