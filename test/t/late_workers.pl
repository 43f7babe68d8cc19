# A worker loads the libraries of the session before it begins.  One that takes its
# time with that delays no load, is in nobody's way afterwards, and where the work is
# done sooner none is started.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

# Seconds that a worker is late.
my $LATE = 6;

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

sub all_gone { wait_for('late workers to go', sub { late_workers() eq '0' }); }

# quick(NAME, SQL, RESULT): it does not wait for a late worker
sub quick
{
	my ($name, $sql, $result) = @_;
	my $start = time;

	is($session->ask($sql), $result, $name);
	cmp_ok(time - $start, '<', $LATE - 0.5, "$name: nobody is waited for");
}

is($session->ask(load_sql('plain', '"workers": 1')), "$rows|1", 'with a worker');
$session->ask("LOAD '$folder/sleeper.so'");

# ---- asked for by number

my $start = time;
quick('a late worker', load_sql('plain', '"workers": 1'), "$rows|1");
quick('nor does it hold anything', "DROP TABLE plain; CREATE TABLE plain (a int, b text)", '');
quick('two in one transaction', "BEGIN; SAVEPOINT s; " . load_sql('plain', '"workers": 1') . "; ROLLBACK TO s; "
	. load_sql('plain', '"workers": 1, "on_error": "ignore"') . "; COMMIT; SELECT count(*) FROM plain", "$rows|1\n$rows|1\n$rows");
cmp_ok(late_workers(), '>', 0, 'workers are still to begin') if time - $start < $LATE;
quick('indexes', load_sql('indexed', '"workers": 2'), "$rows|2");
is($session->ask("SET enable_seqscan = off; SELECT count(*) FROM indexed WHERE a BETWEEN 1 AND 5; SELECT count(*) FROM indexed WHERE b = 'text of 77'"), "5\n1",
	'they find their rows');
quick('duplicates', load_sql('indexed', '"workers": 2, "on_duplicate": "keep_old"'), '0|2');
quick('a dry run', load_sql('plain', '"workers": 1, "dry_run": true'), "$rows|1");

# its session ends before the worker begins
my $short = PgBulk::Session->new($node);
$short->ask("LOAD '$folder/sleeper.so'");
is($short->ask(load_sql('other', '"workers": 1, "extra_columns": "ignore"')), "$rows|1", 'a session that ends at once');
$short->close;
all_gone();
is($session->ask(load_sql('plain', '"workers": 0') . '; SELECT count(*) FROM plain'), "$rows|0\n" . 2 * $rows, 'all is well afterwards');

# what goes with a serializable transaction must not go before the worker
$start = time;
is($session->ask('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM other; ' . load_sql('plain', '"workers": 1') . '; COMMIT'), "$rows\n$rows|1", 'SERIALIZABLE');
cmp_ok(time - $start, '>', $LATE - 0.5, 'SERIALIZABLE: the worker is waited for');
all_gone();

# ---- as many as pay

my $large = data_file('large.csv', 12_000_000, sub { join '', map { my $i = $_[0] * 100 + $_; "$i,text of $i\n" } 1 .. 100 });
is($session->ask(qq(TRUNCATE plain; SELECT workers FROM bulk_load('plain', '$large', '{"writer": "direct"}'))), '0', 'none is started that would come when all is done');

check_log($node);
check_tables($node);
done_testing();
