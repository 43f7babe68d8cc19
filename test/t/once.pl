# Option once: each row of a folder that changes is loaded exactly once, whatever
# ends the server, and by whichever of two sessions that load it in loops; also of
# large files that are committed part by part.
#
# PGBULK_TEST_CRASHES=n does that many crashes; else 4, or 12 where PGBULK_TEST_LONG is set.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $crashes = how_many(4, 12);

my $node = bulk_server('once', 'max_wal_senders = 0', 'restart_after_crash = off');
my $folder = data_dir() . '/in';
mkdir $folder or die $!;
my ($in, $out) = map { data_dir() . "/$_" } 'each', 'done';
mkdir $_ or die $! foreach $in, $out;
$node->safe_psql('postgres', 'CREATE TABLE t (n bigint, src text); CREATE TABLE log (n bigint); CREATE TABLE each (n bigint); CREATE TABLE parts (n bigint, what text)');

sub count { return $node->safe_psql('postgres', "SELECT count(*), count(DISTINCT n) FROM $_[0]") }

# Rows that no other file has; whole at once under its name.
my $rows = 0;
sub add_file
{
	my ($name, $n) = @_;
	my $folder = $_[2] // $folder;

	open(my $file, '>', data_dir() . '/new') or die $!;
	print $file join('', map { ++$rows . "\n" } 1 .. $n);
	close $file;
	rename data_dir() . '/new', "$folder/$name.csv" or die $!;
}

my $load = qq(SELECT rows_loaded FROM bulk_load('t', '$folder/*.csv', '{"once": true, "columns": ["n"], "extra": {"src": "\$1"}}'));

# -- two sessions with one file: one waits, then passes it over, or loads it where the other undoes it
foreach my $how ('content', 'path', 'tail')
{
	foreach my $end ('COMMIT', 'ROLLBACK')
	{
		my ($first, $second) = map { PgBulk::Session->new($node) } 1 .. 2;
		my $sql = $load =~ s/"once": true/"once": "$how"/r;

		add_file('one', 10);
		$first->ask("BEGIN; $sql");
		$second->send($sql);
		wait_for('the other session', sub {
			$node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $second->{pid}") eq '1';
		});
		$first->ask($end);
		is($second->wait, $end eq 'COMMIT' ? 0 : 10, "$how: after the other's $end");
		is(count('t'), '10|10', "$how, $end: the rows are there once");
		$_->close foreach $first, $second;
		$node->safe_psql('postgres', "TRUNCATE t; SELECT bulk_load_forget('t')");
	}
}

# -- the same where the path gives the other's rows other values, or none
foreach my $how ('true', '{"part": "1kB"}')
{
	my ($first, $second) = map { PgBulk::Session->new($node) } 1 .. 2;
	my $call = sub {
		my ($pattern, $extra) = @_;
		return qq(SELECT rows_loaded FROM bulk_load('t', '$folder/$pattern.csv', '{"once": $how, "writer": "buffered", "columns": ["n"], "extra": {"src": "$extra"}}'));
	};

	foreach my $case ([ [ '*', '$1' ], [ 'o*', '$1' ] ], [ [ '*', '$1' ], [ '*', 'none' ] ], [ [ '*', 'none' ], [ '*', '$1' ] ])
	{
		my ($one, $other) = @$case;

		foreach my $end ('COMMIT', 'ROLLBACK')
		{
			add_file('one', 10);
			$first->ask('BEGIN; ' . $call->(@$one));
			$second->send($call->(@$other));
			wait_for('the other session', sub {
				$node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $second->{pid}") eq '1';
			});
			$first->ask($end);
			is($second->wait, $end eq 'COMMIT' ? 0 : 10, "$how, @$other beside @$one: after the other's $end");
			$node->safe_psql('postgres', "TRUNCATE t; SELECT bulk_load_forget('t')");
		}
	}
	$_->close foreach $first, $second;
}

# -- large files: one whose size none has is not read before, and others of that size wait; then nobody waits for others' content
{
	my $big = data_dir() . '/big';
	my ($first, $second) = map { PgBulk::Session->new($node) } 1 .. 2;
	my $call = sub { qq(SELECT rows_loaded FROM bulk_load('big', '$big/$_[0]', '{"once": true, "log_verbosity": "silent"}')) };
	my $waits = sub {
		my ($what) = @_;
		wait_for($what, sub { $node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $second->{pid}") eq '1' });
	};
	my $forget = "TRUNCATE big; SELECT bulk_load_forget('big')";

	mkdir $big or die $!;
	foreach my $name (1 .. 3)
	{
		open(my $file, '>', "$big/$name") or die $!;
		print $file map { sprintf "%090d\n", "$name$_" } 100_000 .. 199_999;
		close $file;
	}
	link "$big/1", "$big/copy.$_" or die $! foreach 1 .. 33;
	$node->safe_psql('postgres', 'CREATE TABLE big (n bigint)');
	foreach my $case (
		# what the other session loads; rows, if the first commits and if it does not
		[ 'copy.1', 0, 100_000 ], [ '2', 100_000, 100_000 ], [ '[12]', 100_000, 200_000 ], [ 'copy.*', 0, 100_000 ])
	{
		my ($what, @rows) = @$case;

		foreach my $end ('COMMIT', 'ROLLBACK')
		{
			$first->ask('BEGIN; ' . $call->(1));
			$second->send($call->($what));
			$waits->("the other session with $what");
			$first->ask($end);
			is($second->wait, $rows[ $end eq 'ROLLBACK' ], "large files, $what: after the other's $end");
			is($node->safe_psql('postgres', 'SELECT count(*) = count(DISTINCT n) FROM big'), 't', "large files, $what, $end: the rows are there once");
			$node->safe_psql('postgres', $forget);
		}
	}
	# in one transaction, and where that is undone in part
	is($first->ask('BEGIN; SAVEPOINT a; ' . $call->(1)), 100_000, 'a large file');
	is($first->ask($call->(1)), 0, 'once more');
	$first->ask('ROLLBACK TO a');
	is($second->ask($call->('copy.1')), 100_000, 'nobody waits for what was undone');
	is($first->ask($call->(1)), 0, 'which the other has then');
	$first->ask('COMMIT');
	# the size is known now, and is forgotten
	is($first->ask('BEGIN; ' . $call->(2)), 100_000, 'a file of the same size');
	is($second->ask($call->(3)), 100_000, 'and another one at the same time');
	$node->safe_psql('postgres', "SELECT bulk_load_forget('big')");
	$second->send($call->(2));
	$waits->('the other session with a file of a size that was forgotten');
	$first->ask('COMMIT');
	is($second->wait, 0, 'what is forgotten meanwhile is not loaded twice');
	# an old snapshot
	$node->safe_psql('postgres', $forget);
	$first->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	is($second->ask($call->(1)), 100_000, 'loaded meanwhile');
	$first->ask($call->(1));
	is($first->sqlstate, '40001', 'by a snapshot that does not show it');
	$first->ask('ROLLBACK');
	# loaded as a log
	$node->safe_psql('postgres', $forget);
	open(my $file, '>>', "$big/2") or die $!;
	print $file 'x';
	close $file;
	$node->safe_psql('postgres', $call->(2) =~ s/true/"tail"/r);
	truncate "$big/2", -s "$big/1" or die $!;
	is($first->ask($call->(2)), 0, 'the known part of a log is known as a file');
	$_->close foreach $first, $second;
	$node->safe_psql('postgres', $forget);
	unlink glob "$big/*";
}

# -- the log of two sessions that load what has been added, while more is
open(my $log, '>', data_dir() . '/log') or die $!;
$log->autoflush;
my $logged = 0;
my $tail = qq(SELECT rows_loaded FROM bulk_load('log', '${\ data_dir()}/log', '{"once": "tail", "log_verbosity": "silent"}'));
sub add_to_log
{
	# a part of a row first
	print $log ++$logged . "\n" foreach 1 .. 1 + rand 500;
	print $log substr(++$logged, 0, 1);
	sleep 0.002;
	print $log substr($logged, 1) . "\n";
}
sub last_of_log { return $node->safe_psql('postgres', 'SELECT coalesce(max(n), 0) FROM log') }

# -- file after file, which move when they are loaded
my $each = qq(CALL bulk_load_each('each', '$in/*.csv', '{"after": {"move_to": "$out"}, "log_verbosity": "silent"}'));
my $moved = 0;
sub add_to_each
{
	open(my $file, '>', data_dir() . '/new') or die $!;
	print $file join('', map { ++$moved . "\n" } 1 .. 1 + rand 2000);
	close $file;
	rename data_dir() . '/new', "$in/$moved.csv" or die $!;
}

# -- large files, a part at a time: rows of several lines, with a header; parts of different sizes
my $large = data_dir() . '/large';
mkdir $large or die $!;
my @parts = map { qq(CALL bulk_load_each('parts', '$large/*.csv', '{"header": true, "commit_every": $_, "log_verbosity": "silent"}')) } '"3kB"', 50;
my $large_rows = 0;
sub add_large_file
{
	open(my $file, '>', data_dir() . '/new') or die $!;
	print $file "n,what\n", map { my $n = ++$large_rows; qq($n,"row ""$n""\n) . 'x' x rand(20) . qq(\n"\n) } 1 .. 200_000;
	# the last line need not end
	print $file ++$large_rows . ',last';
	close $file;
	rename data_dir() . '/new', "$large/$_[0].csv" or die $!;
}
sub count_parts
{
	return $node->safe_psql('postgres', q{SELECT count(*), count(DISTINCT n), count(*) FILTER (WHERE what NOT LIKE 'row "' || n || E'"\n%\n' AND what <> 'last') FROM parts});
}
my $in_part = 0;

# -- crashes
unlink glob "$folder/*.csv";
$rows = 0;

# A client that goes on and on, and outlives the server.
sub start_loop
{
	my ($sql) = @_;
	my $command = 'while :; do "$0" -XAtq -d "$1" -c "$2" >/dev/null 2>>"$3"; sleep 0.02; done';

	return IPC::Run::start([ 'sh', '-c', $command, $node->installed_command('psql'), $node->connstr('postgres'), $sql, data_dir() . '/errors' ]);
}

my $files = 0;
foreach my $crash (1 .. $crashes)
{
	add_large_file($crash);
	my @loops = map { start_loop($_) } $load, $load, $tail, $tail, $each, $each, @parts;
	my $end = time + 0.5 + rand 1.5;

	while (time < $end)
	{
		add_file('f' . ++$files, 1 + int rand 3000);
		add_to_log();
		add_to_each();
		# a file may go when it has been loaded, and its name be used again
		if ($files % 7 == 0 && $node->safe_psql('postgres', "SELECT count(*) FROM t WHERE src = 'f" . ($files - 5) . "'"))
		{
			unlink "$folder/f" . ($files - 5) . '.csv';
			add_file('f' . ($files - 5), 100);
		}
		sleep 0.02;
	}
	kill_server($node);
	$_->kill_kill foreach @loops;
	$node->start;
	foreach my $table ('t', 'log', 'each')
	{
		my ($all, $different) = split /\|/, count($table);
		is($all, $different, "crash $crash: no row of $table is there twice");
	}
	is(last_of_log(), count('log') =~ s/\|.*//r, "crash $crash: no row of the log is missing before the last");
	my ($all, $different, $broken) = split /\|/, count_parts();
	is("$all $broken", "$different 0", "crash $crash: no row of a large file is there twice, or in part");
	note "$all of $large_rows rows of large files";
	$in_part++ if $all > 0 && $all < $large_rows;
	$node->safe_psql('postgres', $load);
	$node->safe_psql('postgres', $tail);
	$node->safe_psql('postgres', $each);
	$node->safe_psql('postgres', $parts[$crash % 2] =~ s/commit_every": [^,]*/commit_every": "500kB"/r);
	is(count_parts(), "$large_rows|$large_rows|0", "crash $crash: the next call goes on behind the last part");
	is(count('each'), "$moved|$moved", "crash $crash: file after file, too");
	is(join(' ', glob "$in/*"), '', "crash $crash: all files have moved");
	is(count('t'), "$rows|$rows", "crash $crash: the next call loads exactly what is missing");
	is(count('log'), "$logged|$logged", "crash $crash: of the log, too");
}
cmp_ok($in_part, '>', 0, 'crashes have left files that were loaded in part');
my @errors = grep { /^ERROR:/ && !/could not (open|stat) file|changed while it was read|no file matches/ } split /\n/, slurp_file(data_dir() . '/errors');
is("@errors", '', 'no load has failed but for the crashes, and for files that went meanwhile');

# -- a file that is replaced while the load that has opened it waits for the table
{
	my ($load, $other) = map { PgBulk::Session->new($node) } 1 .. 2;
	my $path = data_file('replaced.csv', 1, "1\n2\n");

	$node->safe_psql('postgres', 'CREATE TABLE replaced (n int)');
	foreach my $options ('{"history": true}', '{"once": "path"}', '{"once": true}')
	{
		$other->ask('BEGIN; LOCK TABLE replaced');
		$load->send("SELECT rows_loaded FROM bulk_load('replaced', '$path', '$options')");
		wait_for('the load waits', sub {
			$node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE pid = $load->{pid} AND NOT granted") eq '1' });
		rename data_file('new.csv', 1, "3\n4\n"), $path or die;
		$other->ask('COMMIT');
		$load->wait;
		# what is remembered is what was loaded, or nothing is
		$node->safe_psql('postgres', qq{SELECT bulk_load('replaced', '$path', '{"once": true}')});
		is($node->safe_psql('postgres', 'SELECT count(*) FROM replaced WHERE n IN (3, 4)'), 2, "$options: the new file's rows are there once");
		$node->safe_psql('postgres', "TRUNCATE replaced; SELECT bulk_load_forget('replaced')");
		data_file('replaced.csv', 1, "1\n2\n");
	}
	$_->close foreach ($load, $other);
}

# -- what a crash has taken of unlogged tables is loaded again; a clean restart, and dumps with their rows, keep it
my $unlogged = qq(SELECT rows_loaded FROM bulk_load('unlogged', '$folder/f*.csv', '{"once": true, "columns": ["n"], "log_verbosity": "silent"}'));
$node->safe_psql('postgres', 'CREATE UNLOGGED TABLE unlogged (n int)');
my $present = $node->safe_psql('postgres', $unlogged);
cmp_ok($present, '>', 0, 'files are loaded into an unlogged table');
$node->safe_psql('postgres', 'CHECKPOINT');
$node->restart;
is($node->safe_psql('postgres', $unlogged), 0, 'which are known after a clean restart');
kill_server($node);
$node->start;
{
	my ($first, $second) = map { PgBulk::Session->new($node) } 1 .. 2;
	my ($one, $other) = map { $unlogged =~ s/f\*/$_/r =~ s/"once": true/"once": true, "writer": "buffered"/r } 'f1', 'f2';

	$second->ask("SET lock_timeout = '10s'");
	cmp_ok($first->ask("BEGIN; $one"), '>', 0, 'after a crash, too,');
	cmp_ok($second->ask($other), '>', 0, 'nor does another load');
	$second->send($one);
	wait_for('the other session', sub { $node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $second->{pid}") eq '1' });
	$first->ask('ROLLBACK');
	cmp_ok($second->wait, '>', 0, 'unless it is of the same file');
	$second->ask("TRUNCATE unlogged; SELECT bulk_load_forget('unlogged', '$folder/' || f || '.csv') FROM unnest(ARRAY['f1', 'f2']) f");
	$_->close foreach $first, $second;
}
is($node->safe_psql('postgres', $unlogged), $present, 'and are loaded again after a crash');
is($node->safe_psql('postgres', $unlogged), 0, 'once');
is($node->safe_psql('postgres', $load), 0, 'those of other tables are not');

# -- a dump and restore: tables have other OIDs, and what was loaded is known
$node->safe_psql('postgres', 'CREATE TABLE other (n int)');
$node->safe_psql('postgres', "SELECT bulk_load('other', '$folder/f1.csv', '{\"history\": true}'); DROP TABLE other");
# and two that had a file both, of which one has another table's name by now
foreach my $table ('staging', 'again', 'again')
{
	$node->safe_psql('postgres', "DROP TABLE IF EXISTS $table; CREATE TABLE $table (n int); SELECT bulk_load('$table', '$folder/f1.csv', '{\"once\": true}')");
}
$node->safe_psql('postgres', 'DROP TABLE staging, again; CREATE TABLE again (n int)');
# and two that have taken each other's place
$node->safe_psql('postgres', q{CREATE TABLE "Next" (n int); CREATE TABLE present (n int)});
$node->safe_psql('postgres', "SELECT bulk_load(t, '$folder/f1.csv', '{\"once\": true}') FROM unnest(ARRAY['present', '\"Next\"']::regclass[]) t; SELECT bulk_load('present', '$folder/f2.csv', '{\"once\": true}')");
$node->safe_psql('postgres', q{ALTER TABLE present RENAME TO past; ALTER TABLE "Next" RENAME TO present});
$node->run_log([ 'pg_dump', '-Fc', '-f', data_dir() . '/dump', $node->connstr('postgres') ]);
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->safe_psql('restored', 'CREATE TABLE before (n int)');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('restored'), data_dir() . '/dump' ], 'a dump is restored');
is($node->safe_psql('restored', $load), 0, 'files that were loaded are known');
is($node->safe_psql('restored', $tail), 0, 'so is the log');
is($node->safe_psql('restored', $unlogged), 0, 'so are those of unlogged tables');
is($node->safe_psql('restored', "SELECT count(*) FROM bulk_load_history WHERE target = 0 AND target_name = 'public.other'"), 1,
	'loads of a table that was dropped are kept');
is($node->safe_psql('restored', "SELECT count(DISTINCT relation) FROM bulk_loads"), 7, 'and those of others found by their names');
is($node->safe_psql('restored', "SELECT rows_loaded > 0 FROM bulk_load('again', '$folder/f1.csv', '{\"once\": true}')"), 't', 'what once has loaded into it is not that of another one with its name');
is($node->safe_psql('restored', "SELECT rows_loaded FROM bulk_load('past', '$folder/$_.csv', '{\"once\": true}')"), 0, "one that was renamed keeps $_") foreach ('f1', 'f2');
is($node->safe_psql('restored', "SELECT rows_loaded FROM bulk_load('present', '$folder/f1.csv', '{\"once\": true}')"), 0, 'the one that has its name now knows its own file');
is($node->safe_psql('restored', "SELECT rows_loaded > 0 FROM bulk_load('present', '$folder/f2.csv', '{\"once\": true}')"), 't', 'and not that of the other');

$node->run_log([ 'pg_dump', '-Fc', '--no-unlogged-table-data', '-f', data_dir() . '/dump', $node->connstr('postgres') ]);
$node->safe_psql('postgres', 'CREATE DATABASE without');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('without'), data_dir() . '/dump' ], 'a dump without the rows of unlogged tables is restored');
is($node->safe_psql('without', $load), 0, 'files that were loaded are known');
is($node->safe_psql('without', $unlogged), $present, 'but for those of unlogged tables');

check_log($node, qr/terminated by signal 9|not properly shut down|terminating connection because of crash/);
check_tables($node);
done_testing();
