# bulk_load_progress_nodes: what each server has got of a load that is running, while it reads and until all have committed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IO::Handle;
use POSIX qw(mkfifo);

my @settings = ('max_prepared_transactions = 10', 'shared_buffers = 32MB');
my $main = bulk_server('cluster_progress_main', @settings);

plan skip_all => 'postgres_fdw is not there' unless has_extension($main, 'postgres_fdw');

my @nodes = map { bulk_server("cluster_progress_$_", @settings) } 1, 2;
my $watch = PgBulk::Session->new($main);
my $fifo = data_dir() . '/fifo';

$main->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw; CREATE TABLE t (k int, s text) PARTITION BY LIST (k); CREATE ROLE other LOGIN');
foreach my $n (1, 2)
{
	foreign_server($main, "s$n", $nodes[$n - 1]->host, $nodes[$n - 1]->port);
	$nodes[$n - 1]->safe_psql('postgres', "CREATE TABLE t_$n (k int, s text)");
	$main->safe_psql('postgres', "CREATE FOREIGN TABLE t_$n PARTITION OF t FOR VALUES IN ($n) SERVER s$n");
}
mkfifo($fifo, 0666) or die "$fifo: $!";
chmod 0666, $fifo;

sub shown { return $watch->ask("SELECT $_[0] FROM bulk_load_progress_nodes"); }

is(shown('count(*)'), '0', 'no load');

# three quarters of the rows are for the second server
my $session = PgBulk::Session->new($main);
$session->send("SET pgbulk.debug_two_phase = 'prepare'; SELECT bulk_load('t', '$fifo')");
open(my $rows, '>', $fifo) or die $!;
$rows->autoflush(1);
print $rows join('', map { ($_ % 4 ? 2 : 1) . ',' . 'x' x 96 . "\n" } 1 .. 80_000);
wait_for('rows', sub { shown('coalesce(sum(bytes_sent + bytes_waiting), 0) > 5000000') eq 't' });
is($watch->ask("SELECT string_agg(n.server, ',' ORDER BY n.server), bool_and(n.pid = $session->{pid} AND n.state = 'copying' AND n.bytes_sent > 0) FROM bulk_load_progress_nodes n JOIN bulk_load_progress p USING (pid)"),
	's1,s2|t', 'while it reads');
is($nodes[0]->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_activity WHERE pid = ' . shown("min(remote_pid) FILTER (WHERE server = 's1')") . q{ AND application_name = 'pgbulk'}), '1', 'the session there');
is($main->safe_psql('postgres', 'SELECT count(*) FROM bulk_load_progress_nodes', extra_params => [ '-U', 'other' ]), '0', 'others see nothing');

close($rows);
wait_for('the commit', sub { shown(q{count(*) FILTER (WHERE state = 'idle')}) eq '2' && slurp_file($main->logfile) =~ /two-phase commit stops at "prepare"/ });
is(shown(q{string_agg(server || ' ' || rows_sent, ',' ORDER BY server)}), 's1 20000,s2 60000', 'all rows are sent');
is($watch->ask("SELECT phase FROM bulk_load_progress WHERE pid = $session->{pid}"), 'finishing', 'the load is shown until all have committed');
$watch->ask("SELECT pg_cancel_backend($session->{pid})");
$session->wait;
is($watch->ask('SELECT count(*) FROM bulk_load_progress'), '0', 'a load that was cancelled is not shown');
is(shown('count(*)'), '0', 'nor its servers');

foreach my $stop ([ 'prepared-one', 'idle|prepared' ], [ 'prepared', 'prepared|prepared' ], [ 'committed-one', 'committed|prepared' ])
{
	my ($place, $states) = @$stop;
	my $offset = -s $main->logfile;

	$session->send("SET pgbulk.debug_two_phase = '$place'; SELECT bulk_load('t', '" . data_file('few.csv', 1, "1,x\n2,x\n") . "')");
	wait_for($place, sub { substr(slurp_file($main->logfile), $offset) =~ /stops at "$place"/ });
	is(shown(q{string_agg(state, '|' ORDER BY state)}), $states, "stopped at $place");
	$watch->ask("SELECT pg_cancel_backend($session->{pid})");
	$session->wait;
	is(shown('count(*)'), '0', "$place: nothing is shown afterwards");
}
is($watch->ask('SELECT count(*) FROM pg_stat_progress_copy'), '0', 'and no COPY');

# a dry run, whose sessions stay until the transaction ends, and a load after it
my $few = data_file('few.csv', 1, "1,x\n2,x\n");
my $before = -s $main->logfile;
$session->send(qq{SET pgbulk.debug_two_phase = 'committed'; SELECT bulk_load('t', '$few', '{"dry_run": true}'), bulk_load('t', '$few')});
wait_for('a load after a dry run', sub { substr(slurp_file($main->logfile), $before) =~ /stops at "committed"/ });
is(shown(q{string_agg(state, '|' ORDER BY state)}), 'prepared|prepared', 'of a dry run nothing is shown when it is over, of the load after it all');
$watch->ask("SELECT pg_cancel_backend($session->{pid})");
$session->wait;

# what others might see is no reason for a load to fail
$main->append_conf('postgresql.conf', 'dynamic_shared_memory_type = mmap');
$main->restart;
chmod 0500, $main->data_dir . '/pg_dynshmem';
is($main->safe_psql('postgres', qq{SELECT rows_loaded FROM bulk_load('t', '$few', '{"workers": 0}')}), '2', 'a load without shared memory for that');
chmod 0700, $main->data_dir . '/pg_dynshmem';
nothing_left('at the end', @nodes);
check_log($_) foreach $main, @nodes;
$_->stop foreach $main, @nodes;
done_testing();
