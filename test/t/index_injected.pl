# What others do to a btree while a load has no leaf of it locked, between two keys: leaves are split and deleted where
# it was, or is about to go.  The load waits there at an injection point, again and again.  A page that others fill when
# a row on it is about to be replaced.  And incomplete splits of GIN indexes, which whoever inserts has to finish.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('index_injected', 'deadlock_timeout = 1h', 'lock_timeout = 60s');
if (!has_extension($node, 'injection_points'))
{
	$node->stop;
	plan skip_all => 'the server has no injection points';
}
my ($load, $other) = map { PgBulk::Session->new($node) } 1 .. 2;
my $point = 'pgbulk-insert-no-leaf-locked';
my $waits = 25;
srand(1);

$node->safe_psql('postgres', q{
	CREATE EXTENSION injection_points;
	CREATE EXTENSION amcheck;
	CREATE TABLE t (k text COLLATE "C", n int, few int);
	CREATE UNIQUE INDEX t_k ON t (k);
	CREATE INDEX t_n ON t (n, k);
	CREATE INDEX t_few ON t (few)});

sub sound
{
	my ($name) = @_;

	my ($rc, $out, $err) = $node->psql('postgres', "SELECT bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = 't'::regclass");
	is("$rc $err", '0 ', "$name: indexes are sound");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'),
		$node->safe_psql('postgres', 'SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(n) FROM t WHERE k IS NOT NULL'), "$name: all rows are found");
}

# rows of keys with that many digits more, in a random order
sub rows
{
	my ($from, $to, $digits, $what) = @_;
	return "INSERT INTO t SELECT 'key ' || lpad(i::text, 5, '0') || repeat('x', $digits), i, i % 3 FROM generate_series($from, $to) i ORDER BY hashint4(i)" . ($what // '');
}

my $file = data_file('keys.csv', 1, join('', map { sprintf("key %05d,%d,%d\n", $_ * 7919 % 10007, $_ * 7919 % 10007, $_ % 3) } 1 .. 3000));

foreach my $options ('', ', "on_duplicate": "keep_old"', ', "on_duplicate": "keep_new"')
{
	my $name = $options =~ /(keep_\w+)/ ? $1 : 'plain';

	# leaves full of rows that are dead at once, or deleted before the load, among others; some have keys of the file
	$node->safe_psql('postgres', 'TRUNCATE t; BEGIN; ' . rows(1, 6000, 3) . '; ROLLBACK; ' . rows(1, 6000, 1) . '; DELETE FROM t WHERE n BETWEEN 1000 AND 2500 OR n % 3 = 0');
	$node->safe_psql('postgres', rows(3000, 4500, 0)) if $options;
	my $known = $node->safe_psql('postgres', "SELECT count(*) FROM t WHERE k !~ 'x' AND EXISTS (SELECT FROM generate_series(1, 3000) i WHERE n = i * 7919 % 10007)");
	my @turns = ('VACUUM (INDEX_CLEANUP on, TRUNCATE off) t', map {
			my $from = 1 + int(rand(6000));
			$_ % 4 ? rows($from, $from + 150, 10 + $_) : 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) t'
	} 2 .. $waits);

	$load->ask("SELECT injection_points_set_local(); SELECT injection_points_attach('$point', 'wait')");
	$load->send("SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('t', '$file', '{\"writer\": \"buffered\", \"workers\": 0, \"log_verbosity\": \"silent\"$options}')");
	my $turns = 0;
	while (!$load->done)
	{
		last if wait_for('the load to wait', sub { $load->done ? 'done' : $other->ask("SELECT 1 FROM pg_stat_activity WHERE pid = $load->{pid} AND wait_event = '$point'") }) eq 'done';
		$other->ask(shift @turns);
		is($other->{error}, '', "$name: the other session") if $other->{error};
		$turns++;
		$other->ask("SELECT injection_points_detach('$point')") if !@turns;
		$other->ask("SELECT injection_points_wakeup('$point')");
		last if !@turns;
	}
	is($load->wait, $name eq 'plain' ? '3000|0|0' : $name eq 'keep_old' ? 3000 - $known . "|$known|0" : "3000|0|$known", "$name: counters");
	is($load->{error}, '', "$name: no error");
	is($turns, $waits, "$name: turns of the other session");
	sound($name);
}

# Rows that were dead when keys were looked up, whose places other rows have taken before the keys are inserted, with
# these keys or others; and dead rows that nobody has touched: their entries make room for the new ones.
foreach my $options ('keep_old', 'keep_new')
{
	my $n = 2000;
	$node->safe_psql('postgres', q{
		DROP TABLE IF EXISTS d;
		CREATE TABLE d (k text COLLATE "C" PRIMARY KEY, v int) WITH (autovacuum_enabled = off)});
	$file = data_file("dead_$options.csv", 1, join('', map { sprintf("key %05d,1\n", $_) } 1 .. $n));
	my $call = "SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('d', '$file', '{\"writer\": \"buffered\", \"workers\": 0, \"on_duplicate\": \"$options\", \"log_verbosity\": \"silent\"}')";
	foreach my $others ('', 'x')
	{
		my $name = "dead, $options, keys$others";
		my $insert = "INSERT INTO d SELECT 'key ' || lpad(i::text, 5, '0') || '%s', 2 FROM generate_series(1, $n) i";
		$node->safe_psql('postgres', 'TRUNCATE d; ' . sprintf($insert, '') . '; DELETE FROM d');
		$load->ask("SELECT injection_points_set_local(); SELECT injection_points_attach('$point', 'wait')");
		$load->send($call);
		wait_for('the load to wait', sub { $other->ask("SELECT 1 FROM pg_stat_activity WHERE pid = $load->{pid} AND wait_event = '$point'") });
		$other->ask('VACUUM (INDEX_CLEANUP on, TRUNCATE off) d');
		$other->ask(sprintf($insert, $others));
		is($other->ask("SELECT max(ctid) < '(100,0)' FROM d"), 't', "$name: places are taken again");
		$other->ask("SELECT injection_points_detach('$point'); SELECT injection_points_wakeup('$point')");
		is($load->wait, $others ? "$n|0|0" : $options eq 'keep_old' ? "0|$n|0" : "$n|0|$n", "$name: counters");
		is($load->{error}, '', "$name: no error");
		is($node->safe_psql('postgres', "SELECT count(*), count(DISTINCT k), sum(v) FROM d WHERE length(k) = 9"),
			"$n|$n|" . ($others || $options eq 'keep_new' ? $n : 2 * $n), "$name: one row with each key");
		is($node->safe_psql('postgres', "SELECT bt_index_parent_check('d_pkey', true, true)"), '', "$name: the index is sound");
	}
	$node->safe_psql('postgres', 'DELETE FROM d');
	my $size = $node->safe_psql('postgres', "SELECT pg_relation_size('d_pkey')");
	is($load->ask($call), "$n|0|0", "dead, $options: again");
	is($node->safe_psql('postgres', "SELECT bt_index_parent_check('d_pkey', true, true), pg_relation_size('d_pkey') = $size, count(*), sum(v) FROM d"),
		"|t|$n|$n", "dead, $options: the index is sound, and no larger");
}

# An error while several processes insert entries: the next load of the session, which inserts its entries alone, does not
# count them where these had.
my $many = data_file('many.csv', 1, join('', map { sprintf("many %06d,%d,%d\n", $_ * 7919 % 100003, $_, $_ % 3) } 1 .. 100000));
my $few = data_file('few.csv', 1, join('', map { "few $_,$_,1\n" } 1 .. 500));
$load->ask("SELECT injection_points_set_local(); SELECT injection_points_attach('$point', 'error')");
$load->ask("SELECT FROM bulk_load('t', '$many', '{\"writer\": \"buffered\", \"workers\": 2}')");
like($load->{error}, qr/error triggered for injection point $point/, 'an error amid entries');
$load->ask("SELECT injection_points_detach('$point')");
is($load->ask("SELECT rows_loaded, writer FROM bulk_load('t', '$few', '{\"writer\": \"direct\", \"indexes\": \"insert\", \"workers\": 0}')"), '500|direct', 'the next load');
sound('after an error amid entries');

# A dead row whose entry is on the leaf behind the one where its key was looked for: VACUUM removes that, and a new row of
# the load takes its place, whose own entry belongs on the first leaf.
if (has_extension($node, 'pageinspect'))
{
	my $old = PgBulk::Session->new($node);
	$node->safe_psql('postgres', q{
		CREATE EXTENSION pageinspect;
		CREATE TABLE b (k text COLLATE "C", v int, filler text) WITH (autovacuum_enabled = off);
		INSERT INTO b SELECT 'key ' || lpad(i::text, 5, '0'), 1, repeat('x', 100) FROM generate_series(1, 5000) i});
	# an index with dead versions beside those that others see, so that leaves end between them
	$old->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM b');
	$node->safe_psql('postgres', 'UPDATE b SET v = 2; CREATE UNIQUE INDEX b_k ON b (k)');
	$old->ask('COMMIT');
	$old->close;
	$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) b');
	# then no page has room but the one of the row that is deleted
	$node->safe_psql('postgres', q{
		INSERT INTO b SELECT 'other ' || i, 2, repeat('z', 100) FROM generate_series(1, 5000) i;
		DO $$ BEGIN WHILE (SELECT count(*) FROM b WHERE ctid >= format('(%s,0)', pg_relation_size('b') / 8192 - 1)::tid) < (SELECT count(*) FROM b WHERE ctid < '(1,0)') LOOP
			INSERT INTO b SELECT 'other ' || count(*), 2, repeat('z', 100) FROM b;
		END LOOP; END $$});
	# leaves are in the order of their keys; the first row of one whose left sibling's high key has a TID
	my ($k, $before) = split /\|/, $node->safe_psql('postgres', q{
		SELECT b.k, (SELECT max(k) FROM b x WHERE x.k < b.k)
		FROM generate_series(1, pg_relation_size('b_k') / 8192 - 1) n, bt_page_stats('b_k', n::int) s, bt_page_items('b_k', n::int) high,
			LATERAL (SELECT htid FROM bt_page_items('b_k', s.btpo_next::int) WHERE itemoffset > CASE WHEN (bt_page_stats('b_k', s.btpo_next::int)).btpo_next = 0 THEN 0 ELSE 1 END ORDER BY itemoffset LIMIT 1) first, b
		WHERE s.type = 'l' AND s.btpo_next > 0 AND high.itemoffset = 1 AND high.htid IS NOT NULL AND b.ctid = first.htid
		ORDER BY n LIMIT 1});
	ok($k, 'behind: a leaf ends within a key');
	my $place = $node->safe_psql('postgres', "DELETE FROM b WHERE k = '$k' RETURNING ctid");
	$file = data_file('behind.csv', 1, join('', map { "$before$_,3," . 'y' x 50 . "\n" } 'aaa' .. 'azz') . "$k,3,\n");
	$load->ask(q{SELECT injection_points_set_local(); SELECT injection_points_attach('pgbulk-keys-looked-up', 'wait')});
	$load->send("SELECT rows_loaded, rows_duplicate FROM bulk_load('b', '$file', '{\"writer\": \"buffered\", \"workers\": 0, \"on_duplicate\": \"keep_old\", \"log_verbosity\": \"silent\"}')");
	wait_for('the load to wait', sub { $other->ask("SELECT 1 FROM pg_stat_activity WHERE pid = $load->{pid} AND wait_event = 'pgbulk-keys-looked-up'") });
	$other->ask('VACUUM (INDEX_CLEANUP on, TRUNCATE off) b');
	$other->ask(q{SELECT injection_points_detach('pgbulk-keys-looked-up'); SELECT injection_points_wakeup('pgbulk-keys-looked-up')});
	is($load->wait, '677|0', 'behind: counters');
	is($load->{error}, '', 'behind: no error');
	is($node->safe_psql('postgres', "SELECT v FROM b WHERE ctid = '$place'"), 3, 'behind: a new row has the place');
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT bt_index_parent_check('b_k', true, true)");
	is("$rc $err", '0 ', 'behind: the index has all rows');
}

# rows that were to be replaced on their page, but others have taken the room; the point is one of 18's
if ($node->pg_version >= 18)
{
	$node->safe_psql('postgres', q{
		CREATE TABLE h (id int PRIMARY KEY, v int, few int, filler text);
		CREATE INDEX h_few ON h (few);
		INSERT INTO h SELECT i, 0, i % 3, repeat('x', 100) FROM generate_series(1, 40) i});
	$load->ask(q{SELECT injection_points_set_local(); SELECT injection_points_attach('heap_update-before-pin', 'wait')});
	$file = data_file('replaced.csv', 1, join('', map { "$_,1," . $_ % 3 . ',' . 'y' x 100 . "\n" } 1 .. 60));
	$load->send("SELECT rows_loaded, rows_duplicate, rows_replaced FROM bulk_load('h', '$file', '{\"writer\": \"buffered\", \"on_duplicate\": \"keep_new\", \"log_verbosity\": \"silent\"}')");
	wait_for('the load to wait', sub { $other->ask("SELECT 1 FROM pg_stat_activity WHERE pid = $load->{pid} AND wait_event = 'heap_update-before-pin'") });
	$other->ask(q{INSERT INTO h SELECT i, 2, i % 3, repeat('z', 20) FROM generate_series(1001, 1300) i;
		SELECT injection_points_detach('heap_update-before-pin'); SELECT injection_points_wakeup('heap_update-before-pin')});
	is($load->wait, '60|0|40', 'replaced: counters');
	is($load->{error}, '', 'replaced: no error');
	is($node->safe_psql('postgres', q{SELECT bt_index_parent_check('h_pkey', true, true), bt_index_parent_check('h_few', true, true);
		SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(*), count(DISTINCT id), sum(v), min(ctid) > '(0,999)' FROM h WHERE few >= 0 AND id < 1000; SELECT sum(v) FROM h WHERE id BETWEEN 1 AND 60}),
		"|\n60|60|60|t\n60", 'replaced: all rows are found, on other pages');
}

# splits of leaves of a GIN index that were left half done
$node->safe_psql('postgres', q{
	CREATE TABLE g (id int, a int[]);
	CREATE INDEX g_a ON g USING gin (a) WITH (fastupdate = off);
	INSERT INTO g SELECT i, ARRAY[i, i * 1000 + 1, -i] FROM generate_series(1, 500) i;
	CREATE FUNCTION insert_until_fail() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 501 .. 20000 LOOP
			INSERT INTO g VALUES (i, ARRAY[i, i * 1000 + 1, -i]);
		END LOOP;
	EXCEPTION WHEN OTHERS THEN
		RETURN;
	END$$});
$other->ask(q{SELECT injection_points_set_local(); SELECT injection_points_attach('gin-leave-leaf-split-incomplete', 'error'); SELECT insert_until_fail(); SELECT injection_points_detach('gin-leave-leaf-split-incomplete')});
$load->ask(q{SELECT injection_points_set_local(); SELECT injection_points_attach('gin-finish-incomplete-split', 'notice')});
$file = data_file('arrays.csv', 1, join('', map { sprintf("%d,\"{%d,%d,%d}\"\n", $_ + 500, $_, $_ * 1000 + 1, -$_ - 500) } 1 .. 3000));
is($load->ask("SELECT rows_loaded FROM bulk_load('g', '$file', '{\"writer\": \"buffered\", \"workers\": 0}')"), 3000, 'GIN: rows are loaded');
like($load->{error}, qr/notice triggered for injection point gin-finish-incomplete-split/, 'GIN: a split is finished');
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*) FROM g k WHERE NOT EXISTS (SELECT FROM g WHERE a @> ARRAY[k.a[1]] AND id = k.id)'), 0, 'GIN: all rows are found');
is($node->safe_psql('postgres', q{SELECT gin_index_check('g_a')}), '', 'GIN: the index is sound') if $node->pg_version >= 18;

$_->close foreach $load, $other;
check_log($node, qr{ XX000 (?:ERROR:  error triggered for injection point|CONTEXT: |STATEMENT: )});
check_tables($node);
done_testing();
