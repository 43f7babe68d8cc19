# Foreign keys among other sessions: changes of referenced rows while a load
# looks for them; what readers and subscribers see; and the lines of files that
# cannot be read twice.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('foreign_keys', 'wal_level = logical', 'deadlock_timeout = 1h', 'lock_timeout = 60s');
my ($load, $other, $watch) = map { PgBulk::Session->new($node) } 1 .. 3;
my @ways = ((map { direct($_) } @WORKERS), '{"writer": "buffered"}');

$node->safe_psql('postgres', q{
	CREATE TABLE p (id int PRIMARY KEY, s text);
	INSERT INTO p SELECT i, 'row ' || i FROM generate_series(1, 1000) i;
	CREATE TABLE t (n int, p int REFERENCES p, s text);
	ALTER TABLE t REPLICA IDENTITY FULL});
my $rows = my $file = data_file('rows.csv', 1, join('', map { "$_," . (1 + $_ % 100) . ",text of row $_\n" } 1 .. 5000));

sub waits
{
	my ($session) = @_;

	wait_for('a session to wait', sub {
		$watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $session->{pid} AND NOT granted") > 0 });
}

sub call
{
	my ($way, $more) = @_;
	my $options = $way =~ s/}$/, "reject_table": "rejects", "on_error": "ignore", "log_verbosity": "silent"}/r;

	return "SELECT rows_loaded, rows_rejected FROM bulk_load('t', '$file', '" . ($more ? $options : $way) . "')";
}

sub reset_tables
{
	$node->safe_psql('postgres', q{TRUNCATE t; DROP TABLE IF EXISTS rejects; DELETE FROM p;
		INSERT INTO p SELECT i, 'row ' || i FROM generate_series(1, 1000) i});
	$load->ask('SET pgbulk.chunk_size = 4096');
}

foreach my $way (@ways)
{
	# deleted, and the other session continues, or not
	foreach my $end ('COMMIT', 'ROLLBACK')
	{
		foreach my $ignore (0, 1)
		{
			my $name = "$way, a referenced row is deleted, $end, " . ($ignore ? 'ignore' : 'stop');

			reset_tables();
			$other->ask('BEGIN; DELETE FROM p WHERE id = 50');
			$load->send(call($way, $ignore));
			waits($load);
			$other->ask($end);
			my $out = $load->wait;
			if ($end eq 'ROLLBACK')
			{
				is($out, '5000|0', $name);
			}
			elsif ($ignore)
			{
				is($out, '4950|50', $name);
				is($watch->ask('SELECT min(line_number), max(line_number), count(*) FROM rejects WHERE raw_line ~ \',50,\' AND sqlstate = \'23503\''),
					'49|4949|50', "$name: rejects");
			}
			else
			{
				is($load->sqlstate, '23503', $name);
				like($load->{error}, qr/DETAIL:  Key \(p\)=\(50\) is not present.*line 49: "/ms, "$name: line");
			}
			is($watch->ask('SELECT count(*) FROM t WHERE NOT EXISTS (SELECT FROM p WHERE p.id = t.p)'), 0, "$name: no orphans");
		}
	}

	# the key becomes another one
	reset_tables();
	$other->ask('BEGIN; UPDATE p SET id = 2000 WHERE id = 50');
	$load->send(call($way, 1));
	waits($load);
	$other->ask('COMMIT');
	is($load->wait, '4950|50', "$way: a referenced key is changed");

	# what is not the key may change; what is referred to stays
	reset_tables();
	$other->ask("BEGIN; UPDATE p SET s = 'new' WHERE id = 50");
	is($load->ask('BEGIN; ' . call($way, 0)), '5000|0', "$way: another column of a referenced row is changed");
	is($watch->ask('SELECT count(*) FROM t'), 0, "$way: nobody sees rows before the end");
	$other->ask('COMMIT');
	$other->send('DELETE FROM p WHERE id = 50');
	waits($other);
	$load->ask('COMMIT');
	$other->wait;
	is($other->sqlstate, '23503', "$way: a row that is referred to stays");

	# the same for a row that is locked without a query, as those of the first page are not
	reset_tables();
	$file = data_file('each.csv', 1, join('', map { "$_,$_,text of row $_\n" } 1 .. 1000));
	$other->ask("BEGIN; UPDATE p SET s = 'new' WHERE id = 950");
	is($load->ask('BEGIN; ' . call($way, 0)), '1000|0', "$way: another column is changed, and no query is needed");
	$other->ask('COMMIT');
	$other->send('DELETE FROM p WHERE id = 950');
	waits($other);
	$load->ask('COMMIT');
	$other->wait;
	is($other->sqlstate, '23503', "$way: the new version stays");
	$file = $rows;

	# snapshots: what is new is not seen, what is gone cannot be serialized
	foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
	{
		reset_tables();
		$node->safe_psql('postgres', 'DELETE FROM p WHERE id = 50');
		$load->ask("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM p");
		$node->safe_psql('postgres', 'INSERT INTO p VALUES (50)');
		$load->ask(call($way, 0));
		is($load->sqlstate, '23503', "$way, $level: a referenced row is too new");
		$load->ask('ROLLBACK');
		$load->ask("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM p");
		$node->safe_psql('postgres', 'DELETE FROM p WHERE id = 50');
		$load->ask(call($way, 1));
		is($load->sqlstate, '40001', "$way, $level: a referenced row has gone");
		$load->ask('ROLLBACK');
	}

	# orphans are never seen, not even by those who look all the time
	reset_tables();
	$node->safe_psql('postgres', 'DELETE FROM p WHERE id BETWEEN 40 AND 60');
	$load->ask('BEGIN');
	$load->ask(call($way, 1));
	is($load->ask('SELECT count(*), count(*) FILTER (WHERE p BETWEEN 40 AND 60) FROM t'), '3950|0', "$way: the load's own transaction");
	is($watch->ask('SELECT count(*) FROM t'), 0, "$way: others, before");
	$load->ask('COMMIT');
	is($watch->ask('SELECT count(*), count(*) FILTER (WHERE p BETWEEN 40 AND 60) FROM t'), '3950|0', "$way: others, afterwards");
	$watch->ask('VACUUM t');
	is($watch->ask('SELECT count(*), count(DISTINCT ctid) FROM t'), '3950|3950', "$way: after VACUUM");
}

# rows that go are not decoded, so that neither the replica identity nor a publication is in the way: one without deletions,
# with a filter that sees less of a deleted row than of a new one, or with a column list without the replica identity
reset_tables();
$load->ask('ALTER TABLE t REPLICA IDENTITY NOTHING; DELETE FROM p WHERE id = 50');
foreach my $publication ('', "t WITH (publish = 'insert')", "t WHERE (s <> 'x')", 't (p, s)')
{
	$load->ask("CREATE PUBLICATION less FOR TABLE $publication") if $publication;
	foreach my $way (@ways)
	{
		is($load->ask(call($way, 1)), '4950|50', "$way: no replica identity, publication $publication");
		is($load->ask(call($way, 0)), '', "$way: the same, on_error stop");
		is($load->sqlstate, '23503', "$way: an error");
	}
	$load->ask('DROP PUBLICATION IF EXISTS less');
}
$load->ask('ALTER TABLE t REPLICA IDENTITY FULL');

# but no rows are replaced that DELETE would not delete
{
	my $few = data_file('few.csv', 1, "1,new\n5,new\n");

	$load->ask(q{CREATE TABLE k (a int NOT NULL, b text); CREATE UNIQUE INDEX k_a ON k (a); INSERT INTO k VALUES (1, 'old');
		CREATE TABLE parts (a int NOT NULL, b text) PARTITION BY RANGE (a); CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (9);
		CREATE UNIQUE INDEX part_a ON part (a); INSERT INTO parts VALUES (1, 'old');
		CREATE PUBLICATION changes FOR TABLE k, parts});
	foreach my $table (qw(k parts))
	{
		my $replace = "SELECT rows_loaded, rows_replaced FROM bulk_load('$table', '$few', '{\"on_duplicate\": \"keep_new\", \"log_verbosity\": \"silent\"}')";

		$load->ask("DELETE FROM $table WHERE a = 1");
		is($load->sqlstate, '55000', "$table: DELETE");
		my $error = $load->{error};
		$load->ask($replace);
		is($load->sqlstate, '55000', "$table: keep_new");
		is(($load->{error} =~ /(cannot delete.*)/)[0], ($error =~ /(cannot delete.*)/)[0], "$table: in the same words");
		is($load->ask("SELECT a, b FROM $table"), '1|old', "$table: the row is unchanged");
		is($load->ask($replace =~ s/keep_new/keep_old/r), '1|0', "$table: keep_old");
		$load->ask('ALTER TABLE ' . ($table eq 'k' ? 'k' : 'part') . ' REPLICA IDENTITY USING INDEX ' . ($table eq 'k' ? 'k_a' : 'part_a'));
		is($load->ask($replace), '2|2', "$table: with a replica identity");
	}
	$load->ask('DROP TABLE k, parts; DROP PUBLICATION changes');
}

# a subscriber has what the table has
SKIP:
{
	skip 'no test_decoding', 2 unless -e $node->config_data('--pkglibdir') . '/test_decoding.so';
	foreach my $way (@ways)
	{
		reset_tables();
		$node->safe_psql('postgres', "DELETE FROM p WHERE id = 50; SELECT pg_create_logical_replication_slot('slot', 'test_decoding')");
		$load->ask(call($way, 1));
		is($watch->ask(q{SELECT count(*) FILTER (WHERE data ~ '^table public.t: INSERT'), count(*) FILTER (WHERE data ~ '^table public.t: DELETE.*p\[integer\]:50 ')
			FROM pg_logical_slot_get_changes('slot', NULL, NULL, 'skip-empty-xacts', '1')}), '4950|0', "$way: what decoding shows");
		$watch->ask("SELECT pg_drop_replication_slot('slot')");
	}
}

# Rows with one key are never in the WAL together, even if all but one are
# deleted: a subscriber would stop at the second.
{
	my $duplicates = data_file('duplicates.csv', 1, "5,1000\n5,1\n6,1\n");
	my $few = data_file('few.csv', 1, "1,1\n2,1\n11,1\n");

	$node->safe_psql('postgres', 'CREATE TABLE u (n int PRIMARY KEY, p int REFERENCES p); INSERT INTO p VALUES (1) ON CONFLICT DO NOTHING; DELETE FROM p WHERE id = 1000');
	my $load_u = sub {
		my ($path, $options) = @_;
		return $load->ask("SELECT rows_loaded, rows_rejected, rows_duplicate, rows_replaced, writer, details ->> 'not_direct' ~ 'subscribers would meet' FROM bulk_load('u', '$path', '{\"log_verbosity\": \"silent\", $options}')");
	};
	$load_u->($duplicates, '"on_error": "ignore", "writer": "direct"');
	is($load->sqlstate, '0A000', 'orphans with a unique index: not direct');
	$node->safe_psql('postgres', 'INSERT INTO u SELECT i, 1 FROM generate_series(1, 10) i');
	foreach my $policy (qw(keep_old keep_new))
	{
		$load_u->($few, qq("on_duplicate": "$policy", "writer": "direct"));
		is($load->sqlstate, '0A000', "$policy: not direct");
	}
	is($load_u->($few, '"on_duplicate": "keep_old"'), '1|0|2|0|buffered|t', 'keep_old: what it is');
	is($load_u->($few, '"on_duplicate": "keep_new", "truncate": true'), '3|0|0|0|buffered|t', 'keep_new: what it is');
	is($load_u->($few, '"truncate": true, "writer": "direct"'), '3|0|0|0|direct|', 'else it is direct');
	$node->safe_psql('postgres', 'DROP TABLE u');
}

# A unique index with a collation of its own: the key refers in the column's.
SKIP:
{
	skip 'no ICU', 2 unless $watch->ask("SELECT count(*) FROM pg_collation WHERE collprovider = 'i'") > 0;
	my $fruit = data_file('fruit.csv', 1, "apple\n" x 1999 . "APPLE\n" x 2);

	$node->safe_psql('postgres', q{CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
		CREATE TABLE fruit (c text); CREATE UNIQUE INDEX ON fruit (c COLLATE any_case);
		INSERT INTO fruit VALUES ('apple'), ('zed'); CREATE TABLE basket (c text REFERENCES fruit (c)); ALTER TABLE basket REPLICA IDENTITY FULL});
	$load->ask("SELECT bulk_load('basket', '$fruit')");
	is($load->sqlstate, '23503', 'another collation: as the query says');
	is($load->ask("SELECT rows_loaded, rows_rejected FROM bulk_load('basket', '$fruit', '{\"on_error\": \"ignore\", \"writer\": \"buffered\", \"log_verbosity\": \"silent\"}')"), '1999|2', 'another collation: rejects');
	$node->safe_psql('postgres', 'DROP TABLE basket, fruit; DROP COLLATION any_case');
}

# what cannot be read twice: compressed files, pipes, the client
my $text = join('', map { "$_," . ($_ % 50 == 0 ? 5000 + $_ : 1) . ",\"text\nof row $_\"\n" } 1 .. 3000);
my $lines = data_file('lines.csv', 1, $text);
my $expected = join(' ', map { "$_:" . (2 * $_ * 50 - 1) } 1 .. 60);
my $ask_lines = q{SELECT string_agg(n || ':' || line_number, ' ' ORDER BY n) FROM
	(SELECT row_number() OVER (ORDER BY ctid) AS n, * FROM rejects) x
	WHERE raw_line = (n * 50) || ',' || (5000 + n * 50) || E',"text\nof row ' || (n * 50) || '"'};

my $client = data_dir() . '/client';
my ($include, $lib) = map { my $path = `pg_config $_`; chomp $path; $path } '--includedir', '--libdir';
my $has_client = system("cc -I$include -I$include/postgresql -o $client $FindBin::RealBin/../clients/stdin.c -L$lib -Wl,-rpath,$lib -lpq >/dev/null 2>&1") == 0;

$file = $lines;
foreach my $way (@ways)
{
	reset_tables();
	is($load->ask(call($way, 1)), '2940|60', "$way: a plain file");
	is($watch->ask($ask_lines), $expected, "$way: lines of a plain file");

	reset_tables();
	system("gzip -kf $lines") == 0 or die;
	$file = "$lines.gz";
	is($load->ask(call($way, 1)), '2940|60', "$way: a compressed file");
	is($watch->ask($ask_lines), $expected, "$way: lines of a compressed file");

	reset_tables();
	$file = data_dir() . '/pipe';
	system("rm -f $file; mkfifo $file; cat $lines > $file &") == 0 or die;
	is($load->ask(call($way, 1)), '2940|60', "$way: a pipe");
	is($watch->ask($ask_lines), $expected, "$way: lines of a pipe");
	# what was kept for rejects is freed if there are none, or the log reports a
	# leak
	$node->safe_psql('postgres', 'TRUNCATE t; INSERT INTO p SELECT 5000 + i * 50 FROM generate_series(1, 60) i');
	system("cat $lines > $file &") == 0 or die;
	is($load->ask(call($way, 1)), '3000|0', "$way: a pipe without bad rows");

	SKIP:
	{
		skip 'needs a compiler and libpq', 2 unless $has_client;
		reset_tables();
		$file = 'stdin';
		IPC::Run::run([ $client, $node->connstr('postgres'), 'simple', 8192, 'done', call($way, 1) ],
			'<', $lines, '>', \my $out, '2>', \my $err);
		like($out, qr/rows_loaded=2940 rows_rejected=60/, "$way: the client");
		is($watch->ask($ask_lines), $expected, "$way: lines of the client");
	}
	$file = $lines;
}

# A load that is undone and done again: others get the locks that the first attempt had, so that the second one does without
# them.  It releases none that its caller has.
$node->safe_psql('postgres', q{
	CREATE FUNCTION held(i int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN IF i = 100 THEN PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1); END IF; RETURN true; END$$;
	CREATE TABLE parted (n int CHECK (held(n)), p int REFERENCES p) PARTITION BY RANGE (n);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (1000);
	CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (1000) TO (9000)});
reset_tables();
my $twice = data_file('twice.csv', 1, join('', map { "$_," . ($_ == 150 ? 9999 : 1) . "\n" } 1 .. 200));
foreach my $lock ('', 'LOCK TABLE ONLY parted IN SHARE ROW EXCLUSIVE MODE')
{
	$node->safe_psql('postgres', 'TRUNCATE parted');
	$watch->ask('SELECT pg_advisory_lock(1)');
	$load->ask("BEGIN; $lock");
	$load->send(qq(SELECT rows_loaded, rows_rejected, writer, details->>'attempts' FROM bulk_load('parted', '$twice', '{"on_error": "ignore", "log_verbosity": "silent"}')));
	waits($load);
	$other->send('BEGIN; INSERT INTO parted_2 VALUES (5000, 1)');
	waits($other);
	$watch->ask('SELECT pg_advisory_unlock(1)');
	is($load->wait, '199|1|buffered|2', "done again, $lock: outcome");
	is($load->{error}, '', "done again, $lock: no warning");
	is($watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $load->{pid} AND relation = 'parted'::regclass AND mode = 'ShareRowExclusiveLock'"), $lock ? 1 : 0, "done again, $lock: the caller's lock");
	$other->wait;
	$_->ask('COMMIT') foreach $load, $other;
	is($watch->ask('SELECT count(*) FROM parted'), 200, "done again, $lock: all rows");
}
$node->safe_psql('postgres', 'DROP TABLE parted');

# more rows than the journal keeps in memory; a file that changes before its bad rows are read again
my $many = data_file('many.csv', 1, join('', map { "$_," . ($_ % 100000 == 0 ? 9999 : 1 + $_ % 1000) . ",\"\n\"\n" } 1 .. 800000));
$file = $many;
foreach my $way (@ways)
{
	reset_tables();
	$load->ask('RESET pgbulk.chunk_size');
	is($load->ask(call($way, 1)), '799992|8', "$way: many rows");
	is($watch->ask("SELECT string_agg(line_number || raw_line, ' ' ORDER BY ctid) FROM rejects"),
		join(' ', map { (2 * $_ * 100000 - 1) . ($_ * 100000) . ",9999,\"\n\"" } 1 .. 8), "$way: lines of many rows");
}
reset_tables();
$file = $lines;
$other->ask('BEGIN; DELETE FROM p WHERE id = 1');
$load->send(call($ways[0], 1));
waits($load);
append_to_file($lines, "more\n");
$other->ask('COMMIT');
$load->wait;
is($load->sqlstate, '55000', 'a file that has changed');

$_->close foreach $load, $other, $watch;
check_log($node, qr/DETAIL:  Key .* is still referenced from table/);
check_tables($node);
done_testing();
