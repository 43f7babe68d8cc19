# Too little of what a load needs: memory, locks, files, disk for temporary files.  Of loads of each
# kind one allocation after the other fails: the load ends with "out of memory", or it has done all,
# and then the table is as before, and the server goes on.  Then loads with the least of all settings.
#
# PGBULK_TEST_FAULTS=n lets that many of each load fail; else 8, or 30 where PGBULK_TEST_LONG is set.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs a compiler' if system('cc --version >/dev/null 2>&1') != 0;
plan skip_all => 'needs Linux with 64 bits' if $^O ne 'linux' || length(pack('L!', 0)) != 8;

my $library = data_dir() . '/memory.so';
my $fault = data_dir() . '/fault';
my $most = $ENV{PGBULK_TEST_FAULTS} // ($ENV{PGBULK_TEST_LONG} ? 30 : 8);
is(system("cc -O2 -shared -fPIC -o $library $FindBin::RealBin/../modules/memory.c -ldl"), 0, 'the library is built');

# The n-th allocation of a process fails from now on, or of the workers; 0: none does.
sub set_fault
{
	my ($n, $pid) = @_;

	open(my $file, '+<:raw', $fault) or die "$fault: $!";
	print $file pack('q3', $n, $pid, 0);
	close($file) or die "$fault: $!";
}

# How many are left until one fails, and how many have failed.
sub get_fault
{
	open(my $file, '<:raw', $fault) or die "$fault: $!";
	read $file, my $bytes, 24;
	return (unpack 'q3', $bytes)[ 0, 2 ];
}

open(my $file, '>:raw', $fault) or die "$fault: $!";
print $file "\0" x 24;
close $file;

my $node = bulk_server('scarce', 'shared_buffers = 4MB', 'max_wal_size = 1GB', 'checkpoint_timeout = 1h',
	'max_locks_per_transaction = 10', 'max_files_per_process = 64', 'max_worker_processes = 8');
$node->stop;
{
	local $ENV{LD_PRELOAD} = $library;
	local $ENV{MEMORY_FAULT} = $fault;
	$node->start;
}

my $rows = data_file('rows.csv', 1, join('', map { "$_,text of the row number $_ which is x\n" } 1 .. 6000));
my $few = data_file('few.csv', 1, join('', map { ($_ % 3000) . ",other text $_\n" } 1 .. 3500));
my $wide = data_file('wide.csv', 1, join('', map { "$_," . join(' ', map { rand } 1 .. 500) . "\n" } 1 .. 40));
my $bad = data_file('bad.csv', 1, join('', map { ($_ % 7 ? $_ : "x$_") . ",text of the row number $_ which is x\n" } 1 .. 6000));
my $json = data_file('rows.json', 1, join('', map { qq({"i": $_, "s": "text of $_"}\n) } 1 .. 3000));

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE plain (i int, s text);
	CREATE TABLE guarded (i int CHECK (i <> 0), s text NOT NULL, g int GENERATED ALWAYS AS (i % 10) STORED, n serial);
	CREATE TABLE indexed (i int PRIMARY KEY, s text);
	CREATE INDEX ON indexed (s);
	CREATE INDEX ON indexed USING gin (to_tsvector('simple', s));
	CREATE INDEX ON indexed USING brin (i);
	CREATE TABLE used (i int PRIMARY KEY, s text);
	CREATE INDEX ON used (s);
	INSERT INTO used SELECT i, 'before ' || i FROM generate_series(1, 2000) i;
	CREATE TABLE child (i int REFERENCES used, s text);
	CREATE TABLE parts (i int, s text) PARTITION BY HASH (i);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1);
	CREATE INDEX ON parts (i)});

sub bulk_load
{
	my ($table, $file, $options) = @_;
	return "SELECT FROM bulk_load('$table', '$file', '$options')";
}

my $rejecting = '"on_error": "ignore", "log_verbosity": "silent", "reject_table": "rejected"';
my @loads = (
	[ 'plain', bulk_load('plain', $rows, direct(0)) ],
	[ 'plain', bulk_load('plain', $rows, direct(2)), 1 ],
	[ 'plain', bulk_load('plain', $json, '{"format": "json"}') ],
	[ 'plain', bulk_load('plain', $wide, direct(0)) ],
	[ 'plain', bulk_load('plain', $bad, "{$rejecting}") ],
	[ 'guarded', bulk_load('guarded', $bad, "{$rejecting, \"writer\": \"buffered\", \"columns\": [\"i\", \"s\"]}") ],
	[ 'indexed', bulk_load('indexed', $rows, direct(0)) ],
	[ 'indexed', bulk_load('indexed', $rows, direct(2)), 1 ],
	[ 'indexed', bulk_load('indexed', $rows, '{"writer": "buffered", "workers": 2}'), 1 ],
	[ 'used', bulk_load('used', $few, direct(0, '"on_duplicate": "keep_new"')) ],
	[ 'used', bulk_load('used', $few, '{"writer": "buffered", "on_duplicate": "keep_new"}') ],
	[ 'used', bulk_load('used', $few, "{\"on_duplicate\": \"keep_old\", $rejecting}") ],
	[ 'child', bulk_load('child', $few, "{$rejecting}") ],
	[ 'parts', bulk_load('parts', $rows, direct(2)), 1 ],
	[ 'plain', "SELECT FROM bulk_inspect('$rows')" ],
	[ 'plain', "SET pgbulk.copy = exclusive; SET pgbulk.copy_min_size = 0; COPY plain FROM '$rows' (FORMAT csv)" ],
	[ 'used', 'SET pgbulk.create_index = on; SET pgbulk.debug_create_index = on; REINDEX TABLE used' ]);

sub contents_of
{
	my $more = $_[0] eq 'guarded' ? ', sum(g)' : '';
	return "SELECT count(*), sum(i), sum(hashtext(s))$more FROM $_[0]";
}

sub contents
{
	my ($table) = @_;
	return $node->safe_psql('postgres', contents_of($table));
}

# Of n allocations those that shall fail: the first ones, and some of the others.
sub some_of
{
	my ($n) = @_;
	my %some = map { 1 + int(($n - 1) * $_ / ($most - 1)) => 1 } 0 .. $most - 1;

	return $n <= $most ? 1 .. $n : sort { $a <=> $b } keys %some;
}

# Runs a statement in which the n-th allocation fails, and undoes it.  Returns its SQLSTATE and
# messages, what the table had then, how many allocations were left, and how many have failed.
sub run_faulty
{
	my ($table, $sql, $n, $workers) = @_;
	my $session = PgBulk::Session->new($node);

	$session->ask("LOAD 'pgbulk'; SET client_min_messages = warning; SET pgbulk.chunk_size = '16kB'; BEGIN");
	set_fault($n, $workers ? 0 : $session->{pid});
	$session->ask($sql);
	my @result = ($session->sqlstate, $session->{error});
	my @fault_now = get_fault();

	set_fault(0, 0);
	# where it cannot begin a subtransaction, the server ends the session
	push @result, eval { $session->ask(contents_of($table)) } // '', @fault_now;
	eval { $session->ask('ROLLBACK') };
	$session->close;
	return @result;
}

# A worker that does not even begin is lost.  While it takes over the settings the server has another
# state for a lack of memory.
sub is_allowed
{
	my ($state, $workers, $message) = @_;
	return $state eq '53200' || $workers && ($state eq '55000' || $state eq '22023' && $message =~ /ERROR:  22023: out of memory\n/);
}

foreach my $load (@loads)
{
	my ($table, $sql, $has_workers) = @$load;
	my $before = contents($table);

	foreach my $workers (0 .. ($has_workers // 0))
	{
		my $name = ($workers ? 'workers: ' : '') . $sql;
		my $many = 1_000_000_000;
		my (undef, undef, $after, $left) = run_faulty($table, $sql, $many, $workers);
		my $n = $many - $left;
		my ($failed, @wrong) = (0);

		foreach my $at (some_of($n))
		{
			my ($state, $message, $now, undef, $happened) = run_faulty($table, $sql, $at, $workers);

			$failed += $happened;
			push @wrong, "$at: succeeded, other rows" if $state eq '' && $message eq '' && $now ne $after;
			push @wrong, "$at: $message" if $message ne '' && !is_allowed($state, $workers, $message);
			push @wrong, "$at: other rows" if contents($table) ne $before;
		}
		note "$name: $n allocations, $failed failed";
		is(join("\n", @wrong), '', $name);
		cmp_ok($failed, '>', 0, "something failed: $name") unless $workers;
	}
}
is(join(' ', orphans($node)), '', 'no file is left');
foreach my $load (@loads)
{
	my ($state, $message) = run_faulty($load->[0], $load->[1], 0, 0);
	is($message, '', "then it loads: $load->[1]") or diag $message;
}

# The outcome of a statement in a session of its own: its SQLSTATE, and what it returns.
sub outcome
{
	my ($sql, $settings) = @_;
	my $session = PgBulk::Session->new($node);

	$session->ask("SET client_min_messages = warning; " . ($settings // ''));
	my $rows = $session->ask($sql);
	my @result = ($session->sqlstate, $rows);
	diag $session->{error} if $result[0] ne '' && $result[0] !~ /^53/;
	$session->close;
	return join ' ', @result;
}

# locks: more partitions than the table of locks has room for
my $partitions = $ENV{PGBULK_TEST_LONG} ? 10_000 : 1500;
$node->safe_psql('postgres', 'CREATE TABLE many (i int, s text) PARTITION BY LIST (i)');
for (my $from = 0; $from < $partitions; $from += 100)
{
	$node->safe_psql('postgres', join('', map { "CREATE TABLE many_$_ PARTITION OF many FOR VALUES IN ($_);" } $from .. $from + 99));
}
my $spread = data_file('spread.csv', 1, join('', map { ($_ * 7 % $partitions) . ",text $_\n" } 1 .. $partitions));
my $narrow = data_file('narrow.csv', 1, join('', map { ($_ % 20) . ",text $_\n" } 1 .. 1000));
foreach my $writer (qw(buffered direct auto))
{
	is(outcome("SELECT rows_loaded FROM bulk_load('many', '$spread', '{\"writer\": \"$writer\"}')"), '53200 ', "no lock is left, $writer");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM many_0'), '0', 'nothing is loaded');
}
is(outcome("SELECT rows_loaded FROM bulk_load('many', '$narrow')"), ' 1000', 'few partitions are loaded');
is(outcome("SELECT rows_loaded FROM bulk_load('plain', '$rows')"), ' 6000', 'and other tables');

# with locks for all of them, and many more partitions than files that may be open
$node->append_conf('postgresql.conf', 'max_locks_per_transaction = ' . int($partitions / 4));
$node->restart;
foreach my $options ('{"writer": "buffered"}', direct(0), direct(2))
{
	is(outcome("SELECT rows_loaded FROM bulk_load('many', '$spread', '$options')"), " $partitions", "$partitions partitions, $options");
}
is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT tableoid) FROM many WHERE s IS NOT NULL'),
	3 * $partitions + 1000 . "|$partitions", 'all have their rows');

# temporary files, memory for sorting, workers and files: what there is suffices, or the load ends
my $least = "SET work_mem = '64kB'; SET maintenance_work_mem = '1MB'; SET temp_buffers = 100;";
my $much = data_file('much.csv', 1, join('', map { "$_,text " . ($_ * 7919 % 100_003) . " of the row $_\n" } 1 .. 60_000));
$node->safe_psql('postgres', join('', 'CREATE TABLE sorted (i int PRIMARY KEY, s text);', map { "CREATE INDEX ON sorted (s, (i % $_));" } 2 .. 9));
foreach my $workers (@WORKERS)
{
	my $sql = "SELECT rows_loaded FROM bulk_load('sorted', '$much', '" . direct($workers, '"truncate": true') . "')";

	is(outcome($sql, "$least SET temp_file_limit = '64kB'"), '53400 ', "no room for temporary files, $workers workers");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM sorted'), '0', 'nothing is loaded');
	is(outcome($sql, $least), ' 60000', "the least memory, $workers workers");
	is($node->safe_psql('postgres', 'SELECT count(*), sum(hashtext(s)) > 0 IS NOT NULL FROM sorted'), '60000|t', 'all is loaded');
	is(outcome($sql, "$least SET max_parallel_workers = 0"), ' 60000', "no worker is free, $workers wanted");
	$node->safe_psql('postgres', 'TRUNCATE sorted');
}
foreach my $policy (qw(keep_old keep_new))
{
	is(outcome("SELECT rows_loaded + rows_duplicate FROM bulk_load('used', '$few', '{\"on_duplicate\": \"$policy\"}')", $least), ' 3500', "the least memory, $policy");
}
is(outcome("SELECT rows_loaded + rows_rejected FROM bulk_load('child', '$few', '{\"on_error\": \"ignore\"}')", $least), ' 3500', 'the least memory, foreign keys');

# no shared memory for workers: none is started
$node->append_conf('postgresql.conf', 'dynamic_shared_memory_type = mmap');
$node->restart;
foreach my $mode (0500, 0700)
{
	my $lacks = $mode == 0500;
	my $none = $lacks ? '|0|The system has too little shared memory.' : '|2|';

	chmod $mode, $node->data_dir . '/pg_dynshmem';
	foreach my $writer (qw(direct buffered))
	{
		is(outcome("SELECT rows_loaded, workers, details ->> 'no_workers' FROM bulk_load('sorted', '$much', '{\"writer\": \"$writer\", \"workers\": 2}')", "SET pgbulk.chunk_size = '16kB'"),
			" 60000$none", "shared memory that is " . ($lacks ? 'not ' : '') . "there, $writer");
		$node->safe_psql('postgres', 'TRUNCATE sorted');
	}
	$node->safe_psql('postgres', 'CREATE TABLE refers AS SELECT i % 100 AS i FROM generate_series(1, 10000) i; CREATE TABLE referred AS SELECT DISTINCT i FROM refers; ANALYZE refers, referred');
	is(outcome('ALTER TABLE referred ADD PRIMARY KEY (i); ALTER TABLE refers ADD FOREIGN KEY (i) REFERENCES referred; SELECT count(*) FROM bulk_load_statements WHERE reason IS NULL',
		"LOAD 'pgbulk'; SET pgbulk.create_index = on; SET pgbulk.debug_create_index = on; SET pgbulk.foreign_keys = on; SET pgbulk.debug_foreign_keys = on"),
		' 2', 'nor do an index and foreign keys need any');
	$node->safe_psql('postgres', 'DROP TABLE refers, referred');
}

# as many columns as a table can have
foreach my $type (qw(int text))
{
	my $n = $type eq 'int' ? 1600 : 400;
	my $columns = data_file("columns_$type.csv", 1, join('', map { my $row = $_; join(',', map { $row % 9 } 1 .. $n) . "\n" } 1 .. 200));

	$node->safe_psql('postgres', "CREATE TABLE columns_$type (" . join(', ', map { "c$_ $type" } 1 .. $n) . ')');
	foreach my $options ('{"writer": "buffered"}', direct(0), direct(2), '{"on_error": "ignore", "writer": "direct"}')
	{
		is(outcome("SELECT rows_loaded FROM bulk_load('columns_$type', '$columns', '$options')"), ' 200', "$n columns of type $type, $options");
	}
	is($node->safe_psql('postgres', "SELECT count(*), sum(c1::int) = sum(c${n}::int) FROM columns_$type"), '800|t', 'their values');
}

# places behind four gigabytes
SKIP:
{
	skip 'takes long', 1 unless $ENV{PGBULK_TEST_LONG};
	my $sparse = data_dir() . '/sparse';
	my $length = 64 * 1024 * 1024;
	my $records = 70;

	open(my $large, '>:raw', $sparse) or die "$sparse: $!";
	seek $large, $length * ($records - 1), 0;
	print $large 'x';
	truncate $large, $length * $records;
	close $large;
	$node->safe_psql('postgres', 'CREATE TABLE far (i int)');
	my $options = sprintf '{"format": "fixed", "record_length": %d, "skip": %d, %s, "fields": [{"name": "i", "start": 1, "length": 4, "type": "text"}]}',
	  $length, $records - 2, $rejecting =~ s/rejected/far_rejected/r;
	is(outcome("SELECT rows_loaded, rows_rejected FROM bulk_load('far', '$sparse', '$options')"), ' 1|1', 'a large file');
	is($node->safe_psql('postgres', 'SELECT line_number, byte_offset FROM far_rejected'), $records . '|' . ($records - 1) * $length, 'a place behind 4 GB');
	unlink $sparse;
}

# the server's own, where it cannot begin a subtransaction
check_log($node, ' 53[0-9]{3} | 55000 |AbortSubTransaction while in START state');
check_tables($node);
done_testing();
