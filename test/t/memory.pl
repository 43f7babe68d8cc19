# A load needs no more memory for a large file than for a small one.
#
# PGBULK_TEST_FULL=1 makes the large files larger (400 MB).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'sanitizers need memory themselves' if $ENV{PGBULK_TEST_SANITIZE};
plan skip_all => 'needs /proc' unless -r '/proc/self/status';

my $MB = 1024 * 1024;
my $large = ($ENV{PGBULK_TEST_FULL} ? 400 : 40) * $MB;

# more than noise, less than a leak: 40 MB are 40 windows and a million rows
my $slack = 3 * $MB;

# What is seen of the shared buffers counts in a backend's peak: keep them few.
my $node = bulk_server('memory', 'shared_buffers = 2MB', 'max_wal_size = 4GB',
	'checkpoint_timeout = 1h', 'wal_buffers = 1MB',
	'max_stack_depth = 1MB', 'maintenance_work_mem = 2MB', 'max_prepared_transactions = 2');

my $folder = data_dir();
my $prlimit = system('prlimit --version >/dev/null 2>&1') == 0;

# A line of /proc/PID/status, in bytes.
sub status_of
{
	my ($pid, $what) = @_;
	return slurp_file("/proc/$pid/status") =~ /^$what:\s+(\d+) kB/m ? $1 * 1024 : die $what;
}

# Runs the statements in a new session, whose address space may grow by $limit
# bytes if that is given.  Returns its peak and how much its address space grew.
sub peak
{
	my ($name, $sql, $limit) = @_;
	my $session = PgBulk::Session->new($node);
	my $before = status_of($session->{pid}, 'VmSize');

	system_or_bail('prlimit', '--pid', $session->{pid}, '--as=' . ($before + $limit))
	  if $limit && $prlimit;
	my $out = $session->ask($sql);

	is($session->{error}, '', "$name: no error");
	my $peak = status_of($session->{pid}, 'VmHWM');
	my $space = status_of($session->{pid}, 'VmPeak') - $before;
	$session->close;
	note sprintf('%s: peak %.1f MB, address space +%.1f MB: %s', $name, $peak / $MB, $space / $MB, $out);
	return ($peak, $space);
}

# check(NAME, TABLE, OPTIONS, BLOCK): loads a small file and a large one of
# these lines.  The large one gets as little memory as the small one took:
# that turns into an error what comes and goes unseen.
sub check
{
	my ($name, $table, $options, $block, %more) = @_;
	my $slack = $more{slack} // $slack;
	my @load = map { "SELECT rows_loaded, rows_rejected FROM bulk_load('t', '$folder/$_.data', '$options')" }
	  qw(small large);

	data_file('small.data', 4 * $MB, $block);
	data_file('large.data', $more{size} // $large, $block);
	$node->safe_psql('postgres', "DROP TABLE IF EXISTS t, rejected; $table");
	my ($small, $space) = peak("$name, small file", $load[0]);
	$node->safe_psql('postgres', "DROP TABLE IF EXISTS t, rejected; $table");
	my ($large) = peak("$name, large file in as little memory", $load[1], $space + $slack);
	cmp_ok($large - $small, '<', $slack, "$name: same peak whatever the file's size");
}

my $quiet = q("log_verbosity": "silent", "workers": 0);
my $plain = 'CREATE TABLE t (i int, s text)';
my $word = 'some text - not long';

check('csv', $plain, "{$quiet}", join('', map { qq($_,"$word"\n) } 1 .. 20000));
check('csv, with a worker', $plain, '{"log_verbosity": "silent", "workers": 1}',
	join('', map { qq($_,"$word"\n) } 1 .. 20000));
check('text', $plain, qq({$quiet, "format": "text"}), join('', map { "$_\t$word\\n\n" } 1 .. 20000));
check('1 % bad rows, reject table', $plain,
	qq({$quiet, "on_error": "ignore", "reject_table": "rejected"}),
	join('', map { ($_ % 100 ? $_ : 'bad') . qq(,"$word"\n) } 1 .. 20000));
check('bad rows of every kind, set_null, reject file',
	'CREATE TABLE t (i int, s text NOT NULL, CHECK (i <> 7))',
	qq({$quiet, "on_error": "set_null", "reject_table": "rejected", "reject_file": "$folder/rejects"}),
	join('', map {
		my $kind = $_ % 200;
		  $kind == 1 ? qq(bad,"$word"\n)
		: $kind == 2 ? "$_\n"
		: $kind == 3 ? "$_,\n"
		: $kind == 4 ? qq(7,"$word"\n)
		: $kind == 5 ? qq($_,"$word\xff"\n)
		: $kind == 6 ? qq($_,$word","\n)
		:              qq($_,"$word"\n)
	} 1 .. 20000));
check('rows that a function refuses by an error',
	'CREATE TABLE t (i int, s text);
	 CREATE OR REPLACE FUNCTION refuse(i int) RETURNS bool LANGUAGE plpgsql AS
	 $$BEGIN IF i % 10 = 0 THEN RAISE EXCEPTION \'no\'; END IF; RETURN true; END$$;
	 ALTER TABLE t ADD CHECK (refuse(i))',
	qq({$quiet, "on_error": "ignore", "reject_table": "rejected"}),
	join('', map { "$_,$word\n" } 1 .. 20000), size => $large / 3);
check('indexes', 'CREATE UNLOGGED TABLE t (i int, s text);
	CREATE INDEX ON t (i); CREATE INDEX ON t (s);
	CREATE INDEX ON t (length(s)) WHERE i % 2 = 0', "{$quiet}",
	join('', map { qq($_,"$word"\n) } 1 .. 20000), size => $large / 3);
check('duplicates, each third key twice', 'CREATE UNLOGGED TABLE t (id serial, i int);
	CREATE UNIQUE INDEX ON t ((id * 2 / 3))',
	'{"log_verbosity": "silent", "workers": 0, "writer": "direct", "on_duplicate": "keep_old", "columns": ["i"]}',
	"12345\n" x 20000, size => $large / 3, slack => 6 * $MB);	# the journal's share is not full at first
check('duplicates found by the buffered writer, reject table', 'CREATE UNLOGGED TABLE t (i int PRIMARY KEY, s text)',
	qq({$quiet, "writer": "buffered", "on_duplicate": "keep_old", "reject_table": "rejected"}),
	join('', map { "$_," . ($word x 20) . "\n" } 1 .. 5000), size => $large / 2);
check('triggers and expressions', 'CREATE TABLE t (i int, s text, g int GENERATED ALWAYS AS (i + 1) STORED,
	 d text DEFAULT md5(random()::text), CHECK (length(s) > 0));
	 CREATE OR REPLACE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS
	 $$BEGIN NEW.s := upper(NEW.s); RETURN NEW; END$$;
	 CREATE TRIGGER shout BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION shout()',
	qq({$quiet, "columns": ["i", "s"], "where": "i % 3 <> 0"}),
	join('', map { qq($_,"$word"\n) } 1 .. 20000), size => $large / 3);
check('a trigger that changes nothing', 'CREATE TABLE t (i int, s text);
	 CREATE OR REPLACE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS
	 $$BEGIN RETURN NEW; END$$;
	 CREATE TRIGGER look BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION look()', "{$quiet}",
	join('', map { "$_," . ($word x 20) . "\n" } 1 .. 5000), size => $large / 2);
check('partitions', 'CREATE TABLE t (i int, s text) PARTITION BY LIST (i);'
	  . join('', map { "CREATE TABLE t$_ PARTITION OF t FOR VALUES IN ($_);" } 0 .. 39),
	qq({$quiet, "on_error": "ignore"}),
	join('', map { $_ % 41 . qq(,"$word"\n) } 1 .. 20000));
check('jsonb', 'CREATE TABLE t (i int, j jsonb)', "{$quiet}",
	join('', map { qq($_,"{""a"": [$_, 1.5, null], ""b"": {""c"": ""$word"", ""d"": true}}"\n) } 1 .. 20000));
check('numbers and times', 'CREATE TABLE t (n numeric, f float8, d timestamptz, u uuid)', "{$quiet}",
	join('', map { "$_.25,${_}e-3,2024-02-29 12:34:56.789+01,00000000-0000-0000-0000-0000000" . (10000 + $_) . "\n" } 1 .. 20000));
check('rows with many fields', 'CREATE TABLE t (' . join(',', map { "c$_ text" } 1 .. 500) . ')', "{$quiet}",
	join('', map { join(',', ($_) x 500) . "\n" } 1 .. 500));
check('values out of line', 'CREATE TABLE t (i int, s text); ALTER TABLE t ALTER s SET STORAGE EXTERNAL', "{$quiet}",
	join('', map { "$_," . ("x$_" x 20000) . "\n" } 1 .. 20));

# ADD FOREIGN KEY, where values are fetched of keys that are not looked up, and of many that are
# as wide as that
for my $keys ([ 'of which a column is NULL', 'NULL' ], [ 'that are wide', 1 ])
{
	my ($name, $value) = @$keys;
	my @peaks = map {
		$node->safe_psql('postgres', "DROP TABLE IF EXISTS refers, referred;
			CREATE TABLE referred (a int, b text, UNIQUE (a, b)); CREATE TABLE refers (a int, b text);
			INSERT INTO referred VALUES (1, repeat('0123456789', 10000));
			INSERT INTO refers SELECT $value, repeat('0123456789', 10000) FROM generate_series(1, $_)");
		(peak("foreign keys $name, $_ rows", "SELECT bulk_load_last(); SET pgbulk.foreign_keys = on;
			ALTER TABLE refers ADD FOREIGN KEY (a, b) REFERENCES referred (a, b);
			SELECT 1 / count(*) AS taken FROM bulk_load_statements WHERE taken"))[0]
	} 20, 1000;
	cmp_ok($peaks[1] - $peaks[0], '<', $slack, "foreign keys $name: same peak for more rows");
}

# files for tables of another server, each of which may have a statement of its own there
SKIP:
{
	skip 'postgres_fdw is not there', 3 unless has_extension($node, 'postgres_fdw');
	my $columns = join(', ', map { "column_$_ int" } 0 .. 15);
	my @files = map { my $n = $_; data_file("few$n.data", 20, join('', map { "$_,$n\n" } 0 .. 7), $n ? "column_1,column_0\n" : "column_0,column_1\n") } 0, 1;

	$node->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
	foreign_server($node, 'itself', $node->host, $node->port);
	$node->safe_psql('postgres', "CREATE TABLE sent ($columns) PARTITION BY LIST (column_0)");
	$node->safe_psql('postgres', "CREATE TABLE there_$_ ($columns);
		CREATE FOREIGN TABLE sent_$_ PARTITION OF sent FOR VALUES IN ($_) SERVER itself OPTIONS (table_name 'there_$_')") foreach 0 .. 7;
	my @peaks = map {
		(peak("$_ files for another server", "SELECT rows_loaded FROM bulk_load('sent',
			ARRAY(SELECT (ARRAY['$files[0]', '$files[1]'])[1 + i % 2] FROM generate_series(1, $_) i), '{$quiet, \"header\": \"map\"}')"))[0]
	} 20, 300;
	# what waits to be sent takes up to 8 MB
	cmp_ok($peaks[1] - $peaks[0], '<', 8 * $MB + $slack, 'another server: same peak for more files');
}

check_log($node);
$node->stop;
done_testing();
