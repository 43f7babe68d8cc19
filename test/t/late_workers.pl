# A worker loads the libraries of the session before it begins.  One that is
# slow finds the work done, and has exited before the transaction continues;
# where the work is done sooner none is started, nor where other sessions keep all
# CPUs busy.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

# Seconds that a worker is late.
my $LATE = 2;

my $folder = data_dir();
my $node = bulk_server('late_workers', 'shared_buffers = 64MB', 'max_wal_size = 1GB', 'max_parallel_workers_per_gather = 0',
	'max_worker_processes = 64', 'max_parallel_workers = 64');
my $session = PgBulk::Session->new($node);

# A library that a backend loads at once, and a worker only after a while.
open(my $source, '>', "$folder/sleeper.c") or die $!;
print $source qq{
#include "postgres.h"
#include "access/parallel.h"
#include "fmgr.h"
#include "utils/timestamp.h"

PG_MODULE_MAGIC;
extern
#ifdef PGDLLEXPORT
PGDLLEXPORT
#endif
void _PG_init(void);

void
_PG_init(void)
{
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), $LATE * 1000);

	/* no signal ends what a library does while it is loaded */
	while (InitializingParallelWorker && GetCurrentTimestamp() < end)
		pg_usleep(10000);
}
};
close($source) or die $!;
chomp(my $include = `pg_config --includedir-server`);
system_or_bail($ENV{CC} // 'cc', '-shared', '-fPIC', "-I$include", '-o', "$folder/sleeper.so", "$folder/sleeper.c");

my $small = data_file('small.csv', 4_000_000, sub { join '', map { my $i = $_[0] * 100 + $_; "$i,text of $i\n" } 1 .. 100 });
my $rows = () = slurp_file($small) =~ /\n/g;
$node->safe_psql('postgres', q{
	CREATE TABLE plain (a int, b text);
	CREATE TABLE indexed (a int PRIMARY KEY, b text);
	CREATE INDEX ON indexed (b);
	CREATE TABLE other (a int)});

sub load_sql { my ($table, $options) = @_; return qq(SELECT rows_loaded, workers FROM bulk_load('$table', '$small', '{"writer": "direct", $options}')); }

# late_workers(): how many processes are about that have not begun yet
sub late_workers { return $node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'"); }

is($session->ask(load_sql('plain', '"workers": 1')), "$rows|1", 'with a worker');
$session->ask("LOAD '$folder/sleeper.so'");

# ---- asked for by number

# What the transaction does next must not meet a worker that has its state of before: rows of catalogs that
# one transaction has made and replaced have command IDs that only the backend knows.
my $about = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'};
my $again = join '; ', map { "ALTER TABLE plain SET (fillfactor = $_)" } 50 .. 60;
is($session->ask('BEGIN; ' . load_sql('plain', '"workers": 1') . "; $about; $again; COMMIT"), "$rows|1\n0", 'a late worker has exited when the transaction continues');
is($session->ask('BEGIN; SAVEPOINT s; ' . load_sql('plain', '"workers": 1') . '; ROLLBACK TO s; '
	. load_sql('plain', '"workers": 1, "on_error": "ignore"') . '; COMMIT; SELECT count(*) FROM plain'), "$rows|1\n$rows|1\n" . 3 * $rows, 'two in one transaction');
is($session->ask(load_sql('indexed', '"workers": 2')), "$rows|2", 'indexes');
is($session->ask("SET enable_seqscan = off; SELECT count(*) FROM indexed WHERE a BETWEEN 1 AND 5; SELECT count(*) FROM indexed WHERE b = 'text of 77'"), "5\n1",
	'they find their rows');
is($session->ask(load_sql('plain', '"workers": 1, "dry_run": true')), "$rows|1", 'a dry run');
is($session->ask('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM other; ' . load_sql('plain', '"workers": 1') . '; COMMIT'), "0\n$rows|1", 'SERIALIZABLE');
is(late_workers(), '0', 'all have gone');

# ---- as many as pay

my $large = data_file('large.csv', 12_000_000, sub { join '', map { my $i = $_[0] * 100 + $_; "$i,text of $i\n" } 1 .. 100 });
is($session->ask(qq(TRUNCATE plain; SELECT workers FROM bulk_load('plain', '$large', '{"writer": "direct"}'))), '0', 'none is started that would come when all is done');

# ---- as many as there are CPUs that nobody else keeps busy

chomp(my $cpus = `getconf _NPROCESSORS_ONLN`);
SKIP: {
	skip "$cpus CPUs", 5 if $cpus < 2 || $cpus > 8;
	my $auto = qq(SET pgbulk.chunk_size = 262144; TRUNCATE plain; SELECT workers > 0 FROM bulk_load('plain', '$large', '{"writer": "direct"}'));
	my $alone = PgBulk::Session->new($node);
	$alone->ask(q{CREATE TABLE referred AS SELECT i FROM generate_series(1, 1000) i; ALTER TABLE referred ADD PRIMARY KEY (i);
		CREATE TABLE refers AS SELECT i % 1000 + 1 AS i FROM generate_series(1, 800000) i; ANALYZE referred, refers});
	# of each statement: its outcome, and whether it started workers
	my $started = sub
	{
		my @started;

		foreach my $statement (@_)
		{
			my $start = -s $node->logfile;

			$node->safe_psql('postgres', 'ALTER SYSTEM SET log_min_messages = debug1; SELECT pg_reload_conf()');
			wait_for('the setting', sub { slurp_file($node->logfile, $start) =~ /parameter "log_min_messages" changed/ });
			$start = -s $node->logfile;
			# a new session, which does not know yet how long workers take to start
			my $new = PgBulk::Session->new($node);
			$new->ask("LOAD 'pgbulk'; SET pgbulk.create_index = on; SET pgbulk.foreign_keys = on; BEGIN; $statement; ROLLBACK");
			push @started, ($new->sqlstate || 'good') . ($new->ask('SELECT sum(count) FROM bulk_load_statements WHERE reason IS NULL') eq '1' ? ' here' : '') . (slurp_file($node->logfile, $start) =~ /starting background worker process "parallel/ ? ' with workers' : '');
			$new->close;
			$node->safe_psql('postgres', 'ALTER SYSTEM RESET log_min_messages; SELECT pg_reload_conf()');
		}
		return \@started;
	};
	my $key = 'ALTER TABLE refers ADD FOREIGN KEY (i) REFERENCES referred';
	my @statements = ('CREATE INDEX ON refers (i)', $key, "UPDATE refers SET i = 0 WHERE ctid = (SELECT max(ctid) FROM refers); $key",
		"DELETE FROM referred WHERE i = 500; $key");
	is_deeply($started->(@statements), [ ('good here with workers') x 2, ('23503 with workers') x 2 ], 'an index, foreign keys: with workers');
	is($alone->ask($auto), 't', 'alone: with a worker, also for a table with a fillfactor');
	my (@others, @pipes);
	foreach my $i (2 .. $cpus)
	{
		my $pipe = "$folder/pipe$i";
		mkfifo($pipe, 0666) or die $!;
		push @others, PgBulk::Session->new($node);
		$others[-1]->send("COPY other FROM PROGRAM 'cat \"$pipe\"'");
		open($pipes[$i - 2], '>', $pipe) or die $!;
	}
	wait_for('the others', sub { $node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_progress_copy') == $cpus - 1 });
	is($alone->ask($auto), 'f', 'beside a COPY for each other CPU: without');
	is_deeply($started->(@statements), [ ('good here') x 2, ('23503') x 2 ], 'and so an index, and foreign keys');
	close($_) foreach @pipes;
	$_->wait foreach @others;
	is($alone->ask($auto), 't', 'alone again');
}

check_log($node);
check_tables($node);
done_testing();
