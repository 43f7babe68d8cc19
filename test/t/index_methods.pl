# Rows that go into a table with rows, by each method of option indexes: what others see
# meanwhile and afterwards, who waits for whom, what errors and crashes leave, how much
# memory and disk it takes.
#
# PGBULK_TEST_CRASHES=n does that many crashes; else 6, or 12 where PGBULK_TEST_LONG is set.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $MB = 1024 * 1024;
my $crashes = how_many(6, 12);

my $node = bulk_server('index_methods', 'shared_buffers = 32MB', 'max_wal_size = 512MB', 'enable_seqscan = off');

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE t (i int, s text, n int);
	CREATE UNIQUE INDEX t_i ON t (i);
	CREATE INDEX t_s ON t (s);
	CREATE INDEX t_n ON t (n) INCLUDE (i);
	CREATE INDEX t_hash ON t USING hash (s);
	CREATE TABLE model (LIKE t);
	INSERT INTO model SELECT i, 'text ' || i % 3000, i % 1000 FROM generate_series(1, 60000) i});

my $more = data_file('more.csv', 1, join('', map { sprintf "%d,text %d,%d\n", $_, $_ % 4000, $_ % 1200 } 60001 .. 90000));
my $bad = data_file('bad.csv', 1, join('', map { sprintf "%d,text %d,%d\n", $_ == 89000 ? 777 : $_, $_ % 4000, $_ % 1200 } 60001 .. 90000));
my @btrees = qw(t_i t_s t_n);

# The table with its first rows, some with a past.
sub rows_before
{
	$node->safe_psql('postgres', q{
		TRUNCATE t;
		INSERT INTO t SELECT * FROM model;
		UPDATE t SET n = n + 1 WHERE i % 10 = 3;
		DELETE FROM t WHERE i BETWEEN 20000 AND 30000});
	$node->safe_psql('postgres', 'VACUUM t');
	$node->safe_psql('postgres', "UPDATE t SET s = s || '!' WHERE i % 100 = 7");
}

sub bulk_load
{
	my ($method, $workers, $file) = @_;

	# merge is for btrees alone
	return ($method eq 'merge' ? 'SET client_min_messages = error; DROP INDEX IF EXISTS t_hash; ' : '')
	  . "SELECT rows_loaded FROM bulk_load('t', '" . $file . "', '" . direct($workers, qq("indexes": "$method")) . "')";
}

# What is in the table, by way of each index.
sub contents
{
	my ($session) = @_;
	my $sql = q{SELECT count(*), sum(i), sum(n) FROM t WHERE i > 0 UNION ALL
		SELECT count(*), sum(i), sum(n) FROM t WHERE s > '' UNION ALL
		SELECT count(*), sum(i), sum(n) FROM t WHERE n >= 0};
	return $session ? $session->ask($sql) : $node->safe_psql('postgres', $sql);
}

# Each index is sound and finds what there is.
sub indexes_are_sound
{
	my ($name) = @_;
	my @views = split /\n/, contents();

	is($node->safe_psql('postgres', join '; ', map { "SELECT bt_index_parent_check('$_', true, true)" } @btrees), join("\n", ('') x @btrees), "$name: the btrees are sound");
	is($views[$_], $views[0], "$name: $btrees[$_] finds all") foreach 1 .. 2;
	is($node->safe_psql('postgres', q{SET enable_bitmapscan = off; SELECT count(*) FROM t WHERE s = 'text 77'}),
		$node->safe_psql('postgres', q{SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off; SELECT count(*) FROM t WHERE s = 'text 77'}),
		"$name: one text");
}

sub files
{
	return $node->safe_psql('postgres', "SELECT string_agg(pg_relation_filenode(c.oid)::text, ' ' ORDER BY relname) FROM pg_class c WHERE relname ~ '^t_' AND relkind = 'i'");
}

my %waiting = (
	'DROP INDEX' => 'DROP INDEX t_n',
	'REINDEX CONCURRENTLY' => 'REINDEX INDEX CONCURRENTLY t_s',
	'ALTER TABLE' => 'ALTER TABLE t ADD COLUMN more int',
	'VACUUM' => 'VACUUM t',
	'INSERT' => "INSERT INTO t VALUES (1000000, 'late', 5)");

# Others read while the load works, wait while it ends, and see what they should.
foreach my $method (qw(merge insert rebuild auto))
{
	my ($loader, $reader, $old, $prepared) = map { PgBulk::Session->new($node) } 1 .. 4;

	rows_before();
	my $before = contents();
	$old->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM model LIMIT 1');
	$prepared->ask('SET plan_cache_mode = force_generic_plan; PREPARE by_n AS SELECT count(*) FROM t WHERE n = $1; PREPARE by_s AS SELECT count(*) FROM t WHERE s = $1');
	my $by_n = $prepared->ask('EXECUTE by_n(1100)') . ' ' . $prepared->ask("EXECUTE by_s('text 3500')");
	is($by_n, '0 0', "$method: prepared statements, before");
	$reader->ask('BEGIN');
	is(contents($reader), $before, "$method: a reader before");

	$loader->ask('BEGIN');
	$loader->send(bulk_load($method, 2, $more));
	if ($method ne 'insert' && $method ne 'auto')
	{
		# the reader has locked the indexes: the load must wait for it, and it need not for the load
		wait_for('the load to wait for the reader', sub {
			$node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' AND pid = $loader->{pid}") eq '1' });
		is(contents($reader), $before, "$method: the reader goes on");
		ok(!$loader->done, "$method: the load waits for the reader");
	}
	$reader->ask('COMMIT');
	wait_for('the load', sub { $loader->done });
	unlike($loader->{err}, qr/ERROR/, "$method: no error");

	$loader->ask('COMMIT');
	is(contents($old), $before, "$method: an old snapshot sees the old rows");
	$old->ask('COMMIT');
	is($prepared->ask('EXECUTE by_n(1100)') . ' ' . $prepared->ask("EXECUTE by_s('text 3500')"), '25 7', "$method: prepared statements, after");

	# who wants more than to read
	rows_before();
	$loader->ask('BEGIN');
	$loader->ask(bulk_load($method, 2, $more));
	my @others = map { my $s = PgBulk::Session->new($node); $s->send($waiting{$_}); $s } sort keys %waiting;
	foreach my $other (@others)
	{
		wait_for('another session to wait', sub {
			$other->done || $node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $other->{pid}") ne '0' });
		ok(!$other->done, "$method: others wait for the load");
	}
	$loader->ask('COMMIT');
	foreach my $other (@others)
	{
		wait_for('another session', sub { $other->done });
		unlike($other->{err}, qr/ERROR|FATAL/, "$method: and go on");
	}
	$_->close foreach $loader, $reader, $old, $prepared, @others;
	$node->safe_psql('postgres', q{DELETE FROM t WHERE i = 1000000; ALTER TABLE t DROP COLUMN IF EXISTS more;
		CREATE INDEX IF NOT EXISTS t_n ON t (n) INCLUDE (i)});
	indexes_are_sound($method);
	$node->safe_psql('postgres', 'CREATE INDEX IF NOT EXISTS t_hash ON t USING hash (s)');
}

# An error leaves the indexes as they were: a duplicate, too little disk, a cancelled load.
rows_before();
foreach my $method (qw(merge insert rebuild))
{
	foreach my $workers (@WORKERS)
	{
		my $before = contents();
		my $files = files();
		my (undef, undef, $err) = $node->psql('postgres', 'BEGIN; ' . bulk_load($method, $workers, $bad) . '; COMMIT');
		like($err, qr/duplicate key value violates unique constraint "t_i"\nDETAIL:  Key \(i\)=\(777\) already exists/, "$method: a duplicate");
		is(files(), $files, "$method: the old files are there");
		is(contents(), $before, "$method: and what they had");

		(undef, undef, $err) = $node->psql('postgres', "SET maintenance_work_mem = '1MB'; SET temp_file_limit = '64kB'; BEGIN; " . bulk_load($method, 0, $more) . '; COMMIT');
		like($err, qr/temporary file size exceeds "?temp_file_limit/, "$method: too little disk");
		is(files(), $files, "$method: the old files are there");
		is(contents(), $before, "$method: and what they had");
	}
	indexes_are_sound("$method, after errors");
}

# What memory does not hold goes to temp_tablespaces.
$node->safe_psql('postgres', "SET allow_in_place_tablespaces = on; CREATE TABLESPACE elsewhere LOCATION ''");
rows_before();
foreach my $method (qw(merge insert rebuild))
{
	foreach my $workers (@WORKERS)
	{
		my $end = -s $node->logfile;

		$node->safe_psql('postgres', "SET maintenance_work_mem = '1MB'; SET temp_tablespaces = 'elsewhere'; SET log_temp_files = 0; BEGIN; " . bulk_load($method, $workers, $more) . '; ROLLBACK');
		my @paths = slurp_file($node->logfile, $end) =~ /temporary file: path "([^"]*)"/g;
		cmp_ok(scalar @paths, '>', 0, "$method, $workers workers: there are temporary files");
		is(join(' ', grep { !m,^pg_tblspc/, } @paths), '', "$method, $workers workers: all where they belong");
	}
}
$node->safe_psql('postgres', 'DROP TABLESPACE elsewhere');

# A corrupted index is said to be one, and not merged.
$node->safe_psql('postgres', q{
	CREATE FUNCTION odd_cmp(a int, b int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT btint4cmp(a, b)';
	CREATE OPERATOR CLASS odd_ops FOR TYPE int USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 odd_cmp(int, int);
	CREATE TABLE odd (i int);
	INSERT INTO odd SELECT i FROM generate_series(1, 5000) i;
	CREATE INDEX odd_i ON odd (i odd_ops);
	CREATE OR REPLACE FUNCTION odd_cmp(a int, b int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT -btint4cmp(a, b)'});
my $few = data_file('few.csv', 1, "7\n8\n");
my (undef, undef, $odd) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT bulk_load('odd', '$few', '{\"indexes\": \"merge\"}')");
like($odd, qr/ERROR:  XX002: index "odd_i" is corrupted\nDETAIL:  Block \d+ of it has items out of order\.\nHINT:  Please REINDEX it/, 'a corrupted index');
$node->safe_psql('postgres', 'DROP TABLE odd');

# So is one whose posting list begins in its own header, or has no row.
foreach my $posting (pack('SSS', 0, 0, 0x2000 | 100), pack('SSS', 0, 16, 0x2000))
{
	$node->safe_psql('postgres', 'CREATE TABLE odd (i int); INSERT INTO odd SELECT 7 FROM generate_series(1, 1000); CREATE INDEX odd_i ON odd (i); CHECKPOINT');
	my $path = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('odd_i')");
	$node->stop;
	$node->command_ok([ 'pg_checksums', '--disable', '-D', $node->data_dir ], 'checksums are off');
	open my $file, '+<:raw', $path or die "$path: $!";
	# the first item of block 1, which is the root and a leaf
	sysseek($file, 8192 + 24, 0) && sysread($file, my $pointer, 4) == 4 or die $!;
	sysseek($file, 8192 + (unpack('L', $pointer) & 0x7fff), 0) && syswrite($file, $posting) or die $!;
	close $file;
	$node->start;
	(undef, undef, $odd) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT bulk_load('odd', '$few', '{\"indexes\": \"merge\"}')");
	like($odd, qr/ERROR:  XX002: index "odd_i" is corrupted\nDETAIL:  Block 1 of it has an item that is too short\./, 'a corrupted posting list');
	$node->safe_psql('postgres', 'DROP TABLE odd');
	$node->stop;
	$node->command_ok([ 'pg_checksums', '--enable', '-D', $node->data_dir ], 'checksums are on');
	$node->start;
}

# Memory: what maintenance_work_mem says, for all rows and the old index.
sub peak_of
{
	my ($memory) = @_;
	my $session = PgBulk::Session->new($node);

	rows_before();
	$session->ask("SET maintenance_work_mem = '$memory'");
	$session->ask('SELECT count(*) FROM t WHERE s > \'\' AND i > 0');
	my ($before) = slurp_file("/proc/$session->{pid}/status") =~ /^VmData:\s+(\d+) kB/m;
	$session->ask(bulk_load('merge', 0, data_file('large.csv', 1, join('', map { sprintf "%d,%s %d,%d\n", $_, 'x' x 40, $_, $_ % 1200 } 100001 .. 300000))));
	is($session->{error}, '', "memory of $memory: no error");
	my ($peak) = slurp_file("/proc/$session->{pid}/status") =~ /^VmHWM:\s+(\d+) kB/m;
	$session->close;
	indexes_are_sound("memory of $memory");
	return $peak / 1024;
}
SKIP:
{
	skip 'needs /proc', 1 unless -r '/proc/self/status';
	skip 'sanitizers need memory themselves', 1 if $ENV{PGBULK_TEST_SANITIZE};
	my ($small, $large) = map { peak_of($_) } '2MB', '64MB';
	note sprintf 'peak with 2 MB: %.1f MB, with 64 MB: %.1f MB', $small, $large;
	cmp_ok($small, '<', $large - 15, 'a merge keeps to its memory');
}

# Crashes, anywhere in a load.
my %outcome;
my %takes;
foreach my $n (0 .. $crashes - 1)
{
	my $method = (qw(merge insert rebuild))[ $n % 3 ];
	my $workers = $WORKERS[ int($n / 3) % 2 ];
	my $name = "crash $n of $method";
	my $session = PgBulk::Session->new($node);

	rows_before();
	my $before = contents();
	if (!defined $takes{$method})
	{
		my $start = time;
		$node->safe_psql('postgres', bulk_load($method, $workers, $more));
		$takes{$method} = time - $start;
		$takes{"all of $method"} = contents();
		rows_before();
	}
	$session->send(bulk_load($method, $workers, $more));
	sleep $takes{$method} * (0.2 + rand 1.1);
	my $done = $session->done && $session->{err} !~ /ERROR|FATAL/;
	kill_server($node);
	$session->close;
	$node->start;

	my $now = contents();
	my $outcome = $now eq $takes{"all of $method"} ? 'all' : $now eq $before ? 'none' : 'else';
	ok($outcome ne 'else', "$name: all or nothing") or diag "$now, not $before";
	is($outcome, 'all', "$name: what was committed is there") if $done;
	$outcome{$outcome}++;
	indexes_are_sound($name);
}
note join ', ', map { "$_: $outcome{$_}" } sort keys %outcome;

check_log($node, qr/ XX002 /);
check_tables($node);
done_testing();
