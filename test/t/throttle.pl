# max_rate and max_lag: a load that writes WAL at a limited rate, and waits for
# standbys.  The WAL writer, which is woken meanwhile.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
server_init($primary, allows_streaming => 1);
$primary->append_conf('postgresql.conf',
	"log_line_prefix = '%m [%p] %q%a %e '\nlog_statement = none\nautovacuum = off\nmax_connections = 20\nfsync = off\nwal_keep_size = 2GB\n");
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION pgbulk;
	CREATE TABLE t (i int, s text);
	CREATE TABLE indexed (i int, s text, b int[]);
	CREATE INDEX ON indexed (s); CREATE INDEX ON indexed (i); CREATE INDEX ON indexed USING gin (b);
	CREATE TABLE parts (i int, s text) PARTITION BY HASH (i);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1);});

my $text = 'x' x 80;
my $file = data_file('t.csv', 6_000_000, sub { "$_[0],$text\n" });
my $arrays = data_file('arrays.csv', 3_000_000, sub { $_[0] . ",$text$_[0],\"{$_[0]," . $_[0] % 7 . "}\"\n" });

# The least seconds that the WAL of a load must have taken: bursts are free.
sub rate_holds
{
	my ($table, $path, $rate, $options) = @_;
	my ($seconds, $wal, $waited) = split /\|/, $primary->safe_psql('postgres',
		qq[SELECT extract(epoch FROM elapsed), details->'wal_bytes', details->'waited'->'max_rate'
			FROM bulk_load('$table', '$path', '{"max_rate": $rate, $options}')]);
	my $least = $wal / $rate - 0.4;

	cmp_ok($least, '>', 0.4, "$table, $options: enough WAL to measure");
	cmp_ok($seconds, '>=', $least, "$table, $options: $wal bytes of WAL in no less than $least s");
	ok(($waited || 0) > 0 || $seconds > $wal / $rate, "$table, $options: waited, or was slower than that anyway");
}

rate_holds('t', $file, 8_000_000, '"writer": "direct", "workers": 0');
rate_holds('t', $file, 8_000_000, '"writer": "direct", "workers": 2');
rate_holds('t', $file, 8_000_000, '"writer": "buffered"');
rate_holds('parts', $file, 8_000_000, '"workers": 0');
rate_holds('indexed', $arrays, 10_000_000, '"writer": "direct", "workers": 0, "indexes": "rebuild"');
rate_holds('indexed', $arrays, 10_000_000, '"writer": "direct", "workers": 2, "indexes": "rebuild"');
rate_holds('indexed', $arrays, 4_000_000, '"writer": "direct", "workers": 0, "indexes": "insert"');
rate_holds('indexed', $arrays, 16_000_000, '"writer": "buffered", "workers": 0');
rate_holds('indexed', $arrays, 16_000_000, '"writer": "buffered", "workers": 2');
$primary->safe_psql('postgres', 'DROP INDEX indexed_b_idx');
rate_holds('indexed', $arrays, 10_000_000, '"writer": "direct", "workers": 0, "indexes": "merge"');

# a load without the option after one that an error has ended, in the same session
my $session = PgBulk::Session->new($primary);
my $watch = PgBulk::Session->new($primary);
$session->ask(qq[SELECT bulk_load('t', '$arrays', '{"max_rate": 1000000, "writer": "direct", "workers": 1}')]);
like($session->{error}, qr/extra data/, 'an error ends a load with max_rate');
my ($fast) = $session->ask("SELECT extract(epoch FROM elapsed) < 4.5 AND NOT details ? 'waited' FROM bulk_load('t', '$file')");
is($fast, 't', 'the next load is not slowed down');

# ---- standbys ----

my (undef, undef, $notice) = $primary->psql('postgres', qq[SELECT rows_loaded FROM bulk_load('t', '$file', '{"max_lag": 1}')]);
like($notice, qr/NOTICE:  option "max_lag" has no effect at present/, 'a NOTICE without a standby');

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('reports');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby);

(undef, undef, $notice) = $primary->psql('postgres',
	qq[SELECT rows_loaded FROM bulk_load('t', '$file', '{"max_lag": "5min", "lag_standbys": ["nobody"]}')]);
like($notice, qr/option "max_lag" has no effect/, 'a NOTICE where a standby of another name is connected');
(undef, undef, $notice) = $primary->psql('postgres',
	qq[SELECT rows_loaded FROM bulk_load('t', '$file', '{"max_lag": "5min", "lag_standbys": "synchronous"}')]);
like($notice, qr/option "max_lag" has no effect/, 'a NOTICE where no standby is synchronous');
(undef, undef, $notice) = $primary->psql('postgres',
	qq[SELECT rows_loaded FROM bulk_load('t', '$file', '{"max_lag": "5min"}')]);
is($notice, '', 'no NOTICE with a standby');
$primary->wait_for_catchup($standby);

# waits_for_standby(NAME, TABLE, PATH, OPTIONS): replay is paused, so the load is, until replay continues
sub waits_for_standby
{
	my ($name, $table, $path, $options) = @_;

	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	$standby->poll_query_until('postgres', "SELECT pg_get_wal_replay_pause_state() = 'paused'");
	$primary->safe_psql('postgres', "TRUNCATE $table");
	$session->send(qq[SELECT rows_loaded > 0 AND (details->'waited'->>'max_lag')::float > 0.5
		FROM bulk_load('$table', '$path', '{"max_lag": "200ms", "max_rate": "4MB", $options}')]);
	my $waiting = qq[SELECT count(*) FROM bulk_load_progress_wide WHERE pid = $session->{pid} AND waiting = 'max_lag'];
	wait_for("$name: the load to wait", sub { $watch->ask($waiting) eq '1' });
	sleep 1;
	is($watch->ask($waiting), '1', "$name: waits for the standby");
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	is($session->wait, 't', "$name: continues when replay does");
	$primary->wait_for_catchup($standby);
}

waits_for_standby('any standby', 't', $file, '"writer": "direct", "workers": 0');
waits_for_standby('a named standby', 't', $file, '"writer": "buffered", "lag_standbys": ["nobody", "reports"]');

# the same while indexes get their entries: replay is paused when they do
for my $options ('"writer": "direct", "workers": 1, "indexes": "rebuild"', '"writer": "buffered", "workers": 0')
{
	my $at = "bulk_load_progress_wide WHERE pid = $session->{pid} AND phase = 'indexes'";

	$primary->safe_psql('postgres', 'TRUNCATE indexed');
	$session->send(qq[SELECT rows_loaded > 0 AND (details->'waited'->>'max_lag')::float > 0.5
		FROM bulk_load('indexed', '$arrays', '{"max_lag": "200ms", "max_rate": "3MB", $options}')]);
	wait_for("$options: the indexes", sub { $watch->ask("SELECT count(*) FROM $at") eq '1' });
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	wait_for("$options: their build to wait", sub { $watch->ask("SELECT count(*) FROM $at AND waiting = 'max_lag'") eq '1' });
	sleep 1;
	is($watch->ask("SELECT count(*) FROM $at AND waiting = 'max_lag'"), '1', "$options: the indexes wait for the standby");
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	is($session->wait, 't', "$options: they continue when replay does");
	$primary->wait_for_catchup($standby);
}
waits_for_standby('workers', 't', $file, '"writer": "direct", "workers": 1');

# a load that waits can be canceled
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$standby->poll_query_until('postgres', "SELECT pg_get_wal_replay_pause_state() = 'paused'");
$session->send(qq[SELECT rows_loaded FROM bulk_load('t', '$file', '{"max_lag": "200ms", "max_rate": "4MB"}')]);
wait_for('the load to wait', sub { $watch->ask(
	qq[SELECT count(*) FROM bulk_load_progress_wide WHERE pid = $session->{pid} AND waiting = 'max_lag']) eq '1' });
$watch->ask("SELECT pg_cancel_backend($session->{pid})");
$session->wait;
is($session->sqlstate, '57014', 'a load that waits is canceled');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');

$session->close;
$watch->close;
$standby->stop;

# the WAL writer, which would sleep for ten seconds, writes while a load goes on
SKIP:
{
	skip 'pg_stat_io has no WAL before 18', 2 if $primary->pg_version < 18;
	$primary->append_conf('postgresql.conf', "wal_writer_delay = '10s'\nshared_buffers = '64MB'\nwal_buffers = '16MB'\n");
	$primary->restart;
	for my $writer ('direct', 'buffered')
	{
		my ($wal, $written);

		# it may get no CPU in time
		for my $try (1 .. 3)
		{
			$primary->safe_psql('postgres', "SELECT pg_stat_reset_shared('io')");
			$wal = $primary->safe_psql('postgres',
				qq[SELECT details->'wal_bytes' FROM bulk_load('t', '$file', '{"writer": "$writer", "workers": 0}')]);
			$written = $primary->safe_psql('postgres',
				"SELECT sum(write_bytes) FROM pg_stat_io WHERE backend_type = 'walwriter' AND object = 'wal'");
			last if $written > $wal / 8;
		}
		cmp_ok($written, '>', $wal / 8, "$writer: the WAL writer has written $written of $wal bytes");
	}
}
check_log($primary);
check_log($standby, qr{could not (?:receive data from WAL stream|connect to the primary server)|terminating walreceiver});
$primary->stop;
done_testing();
