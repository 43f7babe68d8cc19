# A checkpoint that begins when pages of an index have been logged and before they are written: it cannot have them on disk,
# and replay begins behind their records.  The load goes on and commits, and then the power goes: the index is whole, as the
# load has synced its file.
#
# Each process of those that build the index waits once at an injection point, between the record and the pages.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PgBulk::Disk;
use PostgreSQL::Test::Utils;
use Test::More;

my $point = 'pgbulk-index-pages-logged';
my $node = bulk_server('power_loss_injected', 'fsync = on', 'shared_buffers = 64MB', 'max_wal_size = 1GB', 'checkpoint_timeout = 1h', 'wal_level = replica');
if (!has_extension($node, 'injection_points'))
{
	$node->stop;
	plan skip_all => 'the server has no injection points';
}
# a test of its own, before which all may be skipped
disk_build();
$node->safe_psql('postgres', q{
	CREATE EXTENSION injection_points;
	CREATE EXTENSION amcheck;
	CREATE TABLE t (i int, s text);
	CREATE INDEX t_s ON t (s);
	CREATE TABLE plain (i int, s text)});
my $rows = 200_000;
my $file = data_file('rows.csv', 1, join('', map { sprintf "%d,text %08d\n", $_, $_ * 7919 % 1_000_003 } 1 .. $rows));

# Sends it to a session; the processes that wait at the point meanwhile, of which there is one at least, go on after a checkpoint.
sub with_checkpoint
{
	my ($sql) = @_;
	my ($load, $other) = map { PgBulk::Session->new($node) } 1 .. 2;
	my $waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = '$point'";

	$other->ask("SELECT injection_points_attach('$point', 'wait')");
	$load->send($sql);
	my $met = wait_for('pages that are logged', sub { $load->done ? 'none' : $other->ask($waiting) > 0 });
	$other->ask("CHECKPOINT; SELECT injection_points_detach('$point')");
	wait_for('the end of the load', sub {
		$other->ask("SELECT injection_points_wakeup('$point')") if $other->ask($waiting) > 0;
		$load->done });
	my $said = $load->wait;

	is($load->{error}, '', "no error of $sql");
	$_->close foreach $load, $other;
	return ($met, $said);
}

# Runs a statement, and takes the power away after it.
sub power_goes_after
{
	my ($name, $sql) = @_;

	$node->stop;
	disk_start($node, 1);
	# several processes build an index only where workers start in time
	my ($met, $said) = with_checkpoint($sql);
	isnt($met, 'none', "$name: pages wait between their record and the checkpoint");
	lose_power($node, 1);
	disk_start($node, 1);
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), $rows, "$name: the rows are there");
	is($node->safe_psql('postgres', q{SELECT bt_index_parent_check('t_s', true, true)}), '', "$name: the index is sound");
	is_sound($node, 't', "$name: the heap");
	return $said;
}

my $processes = qr/^[2-4]$/;
like(power_goes_after('load', "SELECT details #> '{indexes,0,processes}' FROM bulk_load('t', '$file', '" . direct(2) . "')"), $processes, 'load: several processes');
power_goes_after('REINDEX', "LOAD 'pgbulk'; SET pgbulk.create_index = on; SET pgbulk.debug_create_index = on; REINDEX INDEX t_s");

check_log($node);
check_tables($node);
done_testing();
