# One index built by several processes: the result is that of REINDEX, whatever the keys; errors,
# cancels and crashes at any time leave nothing behind.
#
# PGBULK_TEST_LONG=1 tries each kind of keys with few and many workers; else with few or many.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);


my $rows = 240000;
my $node = bulk_server('index_parallel', 'shared_buffers = 32MB', 'max_wal_size = 1GB', 'max_parallel_workers = 8');

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE FUNCTION slow(i int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
		'DECLARE x text := i; BEGIN FOR k IN 1 .. 10 LOOP x := md5(x); END LOOP; RETURN i; END';
	CREATE FUNCTION slow_cmp(a int, b int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN btint4cmp(a, b); END';
	CREATE OPERATOR CLASS slow_ops FOR TYPE int USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 slow_cmp(int, int)});

sub line
{
	my ($i) = @_;
	my $r = int rand 2**31;
	return join(',', $i, $r, rand() < 0.3 ? '' : $r % 100000 - 50000, sprintf('w%s %d', ($r % 7 ? 'ord' : 'Órd'), $r % 70000), 'common beginning of all texts ' . 'x' x ($r % 40) . $i,
		$r % 2 ? 'one' : 'two', 'same', rand() < 0.5 ? '' : "t$i", ($r % 3000) . ($r % 5 ? '' : $r % 2 ? '.0' : '.00'), sprintf('%08x-%04x-4000-8000-%012x', $r, $i % 65536, $i)) . "\n";
}
my $columns = 'id int, r int, part int, word text, long text, two text, same text, half text, n numeric, u uuid';
my $file = data_file('rows.csv', 1, join '', map { line($_) } 1 .. $rows);

sub load
{
	my ($table, $workers, $more) = @_;
	return "SELECT rows_loaded, jsonb_path_query_array(details, '\$.indexes[*].processes'), jsonb_path_query_array(details, '\$.indexes[*].one_process') "
	  . "FROM bulk_load('$table', '$file', '" . direct($workers, $more) . "')";
}

# The result of repeatable SQL when several processes have built the indexes: a
# worker that starts too late takes no part, so it is run again if this machine
# was busy.
sub by_several
{
	my ($sql, $several) = @_;
	my $said;

	foreach (1 .. 20)
	{
		$said = $node->safe_psql('postgres', $sql);
		last if $said =~ $several;
	}
	return $said;
}

sub temporary_files
{
	my @files = grep { !m,/pgsql_tmp$, } glob $node->data_dir . '/base/pgsql_tmp/*';
	return scalar @files;
}

# The index is sound, and REINDEX makes it no smaller.
sub is_like_reindex
{
	my ($index, $name) = @_;

	is($node->safe_psql('postgres', "SELECT bt_index_parent_check('$index', true, true)"), '', "$name: sound");
	my ($size, $entries) = split /\|/, $node->safe_psql('postgres', "SELECT pg_relation_size('$index'), reltuples FROM pg_class WHERE oid = '$index'::regclass");
	$node->safe_psql('postgres', "REINDEX INDEX $index");
	my ($again, $entries_again) = split /\|/, $node->safe_psql('postgres', "SELECT pg_relation_size('$index'), reltuples FROM pg_class WHERE oid = '$index'::regclass");
	cmp_ok(abs($size - $again), '<=', $again * 0.02, "$name: $size bytes, REINDEX $again");
	is($entries, $entries_again, "$name: rows in pg_class");
}

# Keys of all kinds.
my $collation = $node->safe_psql('postgres', q{SELECT collname FROM pg_collation WHERE collprovider IN ('c', 'i') AND collname ~ '^en(_US|-US)' AND collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding())) ORDER BY collprovider, collname LIMIT 1});
my @indexes = (
	[ 'texts', '(word COLLATE "C")' ],
	[ 'texts that begin alike', '(long)' ],
	[ 'numbers', '(r)' ],
	[ 'sorted numbers', '(id)', 'UNIQUE' ],
	[ 'numbers, some null', '(part)' ],
	[ 'numbers, null first', '(part DESC NULLS FIRST)' ],
	[ 'numbers without deduplication', '(part NULLS FIRST) WITH (deduplicate_items = off, fillfactor = 60)' ],
	[ 'two texts', '(two)' ],
	[ 'texts, half of them null', '(half DESC)' ],
	[ 'numerics', '(n)' ],
	[ 'uuids', '(u)', 'UNIQUE' ],
	[ 'a few columns', '(two, part DESC, word) INCLUDE (r)' ],
	[ 'equal keys that look different', '(two) INCLUDE (r)' ],
	[ 'texts, some of them much larger than others', q{((CASE WHEN id % 3000 = 7 THEN repeat(long, 1200) ELSE long END) COLLATE "C")} ],
	[ 'an expression', '(lower(word), (r % 10))' ],
	[ 'a part of the rows', '(long) WHERE r % 3 > 0' ],
	($collation ? [ "texts in $collation", qq{(word COLLATE "$collation")} ] : ()));

my $cases = 0;
foreach my $case (@indexes)
{
	my ($name, $definition, $unique) = @$case;
	my @settings = ([ 1, '64MB' ], [ 3, '1MB' ]);

	@settings = $settings[ $cases++ % 2 ] unless $ENV{PGBULK_TEST_LONG};
	foreach (@settings)
	{
		my ($workers, $memory) = @$_;

		my $several = qr/^$rows\|\[[2-4]\]\|\[\]$/;
		like(by_several("DROP TABLE IF EXISTS t; CREATE TABLE t ($columns); CREATE " . ($unique // '') . " INDEX i ON t $definition; "
				. "SET maintenance_work_mem = '$memory'; " . load('t', $workers), $several), $several, "$name: several processes");
		is_like_reindex('i', "$name, $workers workers, $memory");
	}
}
is(temporary_files(), 0, 'no temporary file is left');

# Old versions of rows: such pages are scanned differently, and rows of a page
# do not come in order.
foreach my $key (qw(word part n))
{
	my $past = "DROP TABLE t; CREATE TABLE t ($columns) WITH (fillfactor = 80); CREATE INDEX i ON t ($key); "
	  . load('t', 0) . '; UPDATE t SET two = NULL WHERE id % 3 = 0; DELETE FROM t WHERE id % 11 = 0; UPDATE t SET word = word || two WHERE id % 13 = 0; ';
	my $several = qr/\[[2-3]\]/;
	like(by_several($past . "SET maintenance_work_mem = '1MB'; " . load('t', 2, '"indexes": "rebuild"'), $several), $several, "rows with a past: several processes for $key");
	is($node->safe_psql('postgres', q{SELECT bt_index_parent_check('i', true, true)}), '', "rows with a past: $key sound");
}

# The same where most keys are different, so that they are not grouped, but some come many times.
foreach my $collation ('"C"', $collation ? qq("$collation") : '"default"')
{
	$node->safe_psql('postgres', qq{
		CREATE TABLE phones (id int, phone text, n int) WITH (fillfactor = 80);
		INSERT INTO phones SELECT i, CASE WHEN i % 90 > 1 THEN md5(i::text) END, 0 FROM generate_series(1, 700000) i;
		CREATE INDEX phones_phone ON phones (phone COLLATE $collation);
		UPDATE phones SET n = 1 WHERE id % 90 % 3 = 0});
	my $few = data_file('few.csv', 1, "0,0,0\n");
	foreach ([ 0, '64MB' ], [ 1, '128MB' ])
	{
		my ($workers, $memory) = @$_;

		$node->safe_psql('postgres', "SET maintenance_work_mem = '$memory'; SELECT FROM bulk_load('phones', '$few', '" . direct($workers, '"indexes": "rebuild"') . "')");
		is($node->safe_psql('postgres', q{SELECT bt_index_parent_check('phones_phone', true, true)}), '', "hardly any group, a past, $collation, $workers workers: sound");
	}
	$node->safe_psql('postgres', 'DROP TABLE phones');
}

# Values with two kinds of headers, where the column does not want the short ones any more.
foreach my $with ('', 'WITH (deduplicate_items = off)')
{
	$node->safe_psql('postgres', q{
		CREATE TABLE plain (id int, x text);
		INSERT INTO plain SELECT i, 'k' || i % 3001 FROM generate_series(1, 400000) i;
		ALTER TABLE plain ALTER x SET STORAGE plain;
		UPDATE plain SET x = x || '' WHERE id % 2 = 0});
	$node->safe_psql('postgres', 'VACUUM plain');
	$node->safe_psql('postgres', "UPDATE plain SET x = x || '' WHERE id % 2 = 0");
	$node->safe_psql('postgres', 'VACUUM plain');
	$node->safe_psql('postgres', qq{CREATE INDEX plain_x ON plain (x COLLATE "C") $with});
	my $few = data_file('few.csv', 1, join '', map { "$_,k" . ($_ % 3001) . "\n" } 1 .. 1000);
	like(by_several("SET maintenance_work_mem = '1MB'; SELECT details #> '{indexes,0,processes}' FROM bulk_load('plain', '$few', '" . direct(1, '"indexes": "rebuild"') . "')", qr/^2$/),
		qr/^2$/, "two kinds of headers $with: several processes");
	is($node->safe_psql('postgres', q{SELECT bt_index_parent_check('plain_x', true, true)}), '', "two kinds of headers $with: sound");
	$node->safe_psql('postgres', 'DROP TABLE plain');
}

# Who gets no help, and why.
sub one_process
{
	my ($name, $index, $reason, $settings, $workers) = @_;

	$node->safe_psql('postgres', "DROP TABLE t; CREATE TABLE t ($columns); CREATE INDEX i ON t $index");
	is($node->safe_psql('postgres', ($settings // '') . load('t', $workers // 1)), qq($rows|[]|["$reason"]), $name);
	is_like_reindex('i', $name);
}
one_process('one key', '(same)', 'most rows have the same key');
one_process('too little for temporary files', '(long)', 'temp_file_limit may not suffice', "SET temp_file_limit = '1MB'; SET maintenance_work_mem = '256MB'; ");
one_process('no worker', '(long)', 'no worker was free', 'SET max_parallel_workers = 0; ');
one_process('little memory', '(word)', 'maintenance_work_mem is small', "SET maintenance_work_mem = '1MB'; ", 19);
$node->safe_psql('postgres', "DROP TABLE t; CREATE TABLE t ($columns); CREATE INDEX i ON t (long)");
is($node->safe_psql('postgres', load('t', 0)), "$rows|[]|[]", 'without workers nothing is said');
$node->safe_psql('postgres', "TRUNCATE t; CREATE INDEX i2 ON t (word)");
is($node->safe_psql('postgres', load('t', 1)), qq($rows|[]|["others are built meanwhile", "others are built meanwhile"]), 'two indexes for two processes');
is(temporary_files(), 0, 'no temporary file is left');

# Duplicates: the error has its line, and those that are set aside are the same as with one process.
my $twice = data_file('twice.csv', 1, join '', map { line($_ % 4000 == 0 ? $_ - 1 : $_) } 1 .. $rows);
foreach my $key ('id', 'id::text COLLATE "C"')
{
	my %seen;

	foreach my $workers (0, 1, 3)
	{
		my $create = "DROP TABLE IF EXISTS t; CREATE TABLE t ($columns); CREATE UNIQUE INDEX i ON t (" . ($key eq 'id' ? $key : "($key)") . ')';
		my $name = "duplicates of $key, $workers workers";
		my (undef, undef, $err) = $node->psql('postgres', "$create; SELECT bulk_load('t', '$twice', '" . direct($workers) . "')");
		like($err, qr/duplicate key value violates unique constraint "i"\nDETAIL:  Key .*=\(3999\) already exists.*\nCONTEXT:  .*twice\.csv.*line 4000/s, $name);
		foreach my $keep (qw(keep_old keep_new))
		{
			my $sql = "$create; SELECT rows_loaded, rows_duplicate, jsonb_path_query_array(details, '\$.indexes[*].processes') FROM bulk_load('t', '$twice', '" . direct($workers, qq("on_duplicate": "$keep")) . "')";
			my $expected = $rows - $rows / 4000;
			my $several = $workers ? qr/^$expected\|60\|\[[2-4]\]$/m : qr/^$expected\|60\|\[\]$/m;
			my ($counts, $sum) = split /\n/, by_several("SET client_min_messages = error; $sql; SELECT count(*), sum(id), sum(r) FROM t", $several);
			like($counts, $several, "$name: $keep");
			is($sum, $seen{$keep} //= $sum, "$name: $keep, the same rows stand");
			is($node->safe_psql('postgres', q{SELECT bt_index_parent_check('i', true, true)}), '', "$name: $keep, sound");
		}
	}
}

# Ended at any time: by a cancel, by the end of a worker.  Slow rows make the first half long, slow
# comparisons the second.
my $watch = PgBulk::Session->new($node);
my $workers_of = sub { $watch->ask("SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE leader_pid = $_[0] AND pid <> leader_pid") };
my %pauses = ('(slow(r))' => [ 0, 0.1, 0.3 ], '((r / 30000) slow_ops)' => [ 0, 0.1, 0.3 ], '(word)' => [0]);
foreach my $definition (sort keys %pauses)
{
	my $session = PgBulk::Session->new($node);
	my $in_indexes = sub { $watch->ask("SELECT count(*) FROM bulk_load_progress WHERE pid = $session->{pid} AND phase ~ 'index'") eq '1' && $workers_of->($session->{pid}) ne '' };

	$session->ask("DROP TABLE t; CREATE TABLE t ($columns); CREATE INDEX i ON t $definition");
	foreach my $pause (@{ $pauses{$definition} })
	{
		ends_soon("index on $definition cancelled after $pause", sub { $session->cancel(load('t', 2, '"truncate": true'), $watch, $in_indexes, $pause) });
		is($session->sqlstate, '57014', 'it was cancelled');
		is(temporary_files(), 0, 'and no temporary file is left');
	}

	for (1 .. 20)
	{
		$session->ask('TRUNCATE t');
		$session->send(load('t', 2, '"truncate": true'));
		until ($session->done || $in_indexes->()) { sleep 0.005; }
		my ($worker) = split / /, $workers_of->($session->{pid});
		$watch->ask("SELECT pg_terminate_backend($worker)") if $worker;
		$session->wait;
		last if $session->sqlstate;
	}
	# by the message that the backend got
	like($session->sqlstate, qr/^(?:57P01|55000)$/, "index on $definition: a worker has ended");
	is($session->ask('SELECT count(*) FROM t'), '0', 'nothing is in the table');
	is(temporary_files(), 0, 'and no temporary file is left');
	like($session->ask(load('t', 2, '"truncate": true')), qr/^$rows\|/, 'the next load is not bothered');
	is($session->ask(q{SELECT bt_index_parent_check('i', true, true)}), '', 'and its index is sound');
	$session->close;
}
$watch->close;

# Crashes: after a commit, and in the middle.
sub after_a_crash
{
	my ($node, $name, $kind) = @_;
	my $rebuilt = 0;

	$node->safe_psql('postgres', "DROP TABLE IF EXISTS t; CREATE $kind TABLE t ($columns); CREATE INDEX i ON t (word); CREATE UNIQUE INDEX i2 ON t (id)");
	my $several = qr/^$rows\|\[[2-4], [2-4]\]/;
	like(by_several('BEGIN; TRUNCATE t; ' . load('t', 3) . '; COMMIT', $several), $several, "$name: several processes");
	$node->safe_psql('postgres', 'CHECKPOINT') if rand() < 0.5;
	kill_server($node);
	$node->start;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), $kind ? 0 : $rows, "$name: what is there after a crash");
	is($node->safe_psql('postgres', "SELECT bt_index_parent_check('$_', true, true)"), '', "$name: $_ is sound") foreach qw(i i2);

	my $session = PgBulk::Session->new($node);
	$session->send('BEGIN; TRUNCATE t; ' . load('t', 3) . '; COMMIT');
	wait_for('the index phase', sub { $session->done || $node->safe_psql('postgres', q{SELECT count(*) FROM bulk_load_progress WHERE phase ~ 'index'}) eq '1' });
	sleep rand 0.3;
	kill_server($node);
	$session->close;
	$node->start;
	like($node->safe_psql('postgres', 'SELECT count(*) FROM t'), $kind ? qr/^0$/ : qr/^$rows$/, "$name: and after another one in the middle");
	is($node->safe_psql('postgres', "SELECT bt_index_parent_check('$_', true, true)"), '', "$name: $_ is sound") foreach qw(i i2);
}
after_a_crash($node, 'crash', '');
after_a_crash($node, 'crash, unlogged', 'UNLOGGED');
$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\n");
$node->restart;
after_a_crash($node, 'crash, no WAL', '');

check_log($node);
check_tables($node);
done_testing();
