# Loads into other servers by a network that is slow, hangs, or is cut at whatever step: the load ends, names the server,
# and all servers have all of it or nothing; and one that is slow costs as long as it takes for its own rows.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk::Proxy;

my $may_cut;
BEGIN { $may_cut = PgBulk::Proxy::may_cut(); }

use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use POSIX qw(mkfifo);
use Time::HiRes qw(time);

my @settings = ('max_prepared_transactions = 10', 'shared_buffers = 32MB', 'max_connections = 12');
my $main = bulk_server('network_main', @settings);

plan skip_all => 'postgres_fdw is not there' unless has_extension($main, 'postgres_fdw');

my @nodes = map { bulk_server("network_$_", @settings) } 1, 2;
my $folder = data_dir();
my $proxy = PgBulk::Proxy->new($nodes[0]);
# seconds within which a server that cannot be reached is noticed, on a machine that is busy
my $soon = 15;

$main->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
foreign_server($main, 's1', '127.0.0.1', $proxy->port, "connect_timeout '2'", "tcp_user_timeout '700'", "keepalives_idle '1'", "keepalives_interval '1'");
foreign_server($main, 's2', $nodes[1]->host, $nodes[1]->port);
$main->safe_psql('postgres', 'CREATE TABLE net (k int, s text) PARTITION BY LIST (k)');
foreach my $n (1, 2)
{
	$main->safe_psql('postgres', "CREATE FOREIGN TABLE net_$n PARTITION OF net FOR VALUES IN ($n) SERVER s$n");
	on_node($n, "CREATE TABLE net_$n (k int, s text)");
}

sub on_node { my ($n, $sql) = @_; return $nodes[$n - 1]->safe_psql('postgres', $sql); }
sub count_of { return $main->safe_psql('postgres', 'SELECT count(*) FROM net'); }
sub recover { return $main->safe_psql('postgres', q{SELECT string_agg(DISTINCT server || ' ' || state, ',') FROM bulk_load_recover()}); }
sub cancel { my ($session) = @_; return $main->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})"); }

# The network is back: nothing is in doubt, and so many rows are there.
sub is_mended
{
	my ($name, $rows, $recovered) = @_;

	$proxy->mend;
	# the session there has noticed that its client is gone
	wait_for('sessions to end', sub { on_node(1, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk'}) eq '0' });
	is(recover(), $recovered, "$name: what recovery does");
	is(count_of(), $rows, "$name: the rows");
	nothing_left($name, @nodes);
	$main->safe_psql('postgres', 'TRUNCATE net');
}

# The load ends with an error about the server.
sub is_lost
{
	my ($name, $session) = @_;
	my $start = time;

	$session->wait;
	like($session->{error}, qr{ERROR:  08006: connection to server "s1" was lost}, "$name: the error");
	cmp_ok(time - $start, '<', $soon, "$name: ends soon");
}

sub wait_blocked { wait_for('the load to wait', sub { on_node(1, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk' AND wait_event_type = 'Lock'}) eq '1' }); }

my $few = data_file('few.csv', 1, join('', map { (1 + $_ % 2) . ",text $_\n" } 1 .. 1000));
my $load = "SELECT rows_loaded FROM bulk_load('net', '$few')";

is($main->safe_psql('postgres', $load), '1000', 'by the proxy');
$main->safe_psql('postgres', 'TRUNCATE net');

# a time zone that the other server does not have
{
	$proxy->swap('Asia/Tokyo', 'Asia/Tokio');
	my ($rc, $out, $err) = $main->psql('postgres', "SET timezone = 'Asia/Tokyo'; $load");

	like($err, qr{invalid value for parameter "TimeZone": "Asia/Tokio"\nHINT:  Set this parameter here to a value that server "s1" knows, too\.\nCONTEXT:  server "s1"\n}, 'a time zone that is not there');
	is(count_of(), 0, 'nothing is loaded');
}

# Triggers of the first server that wait while it prepares.
sub wait_in_prepare
{
	on_node(1, q{CREATE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END';
		CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON net_1 DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION waits()});
}

# ---- statement_timeout ends what a server does not answer, and says which ----

{
	my $lock = PgBulk::Session->new($nodes[0]);
	my $session = PgBulk::Session->new($main);

	# once more, with more of it, where it was over before the load came so far
	my $times_out = sub
	{
		my ($where) = @_;

		foreach my $timeout ('500ms', '3s', '15s')
		{
			$session->ask("SET statement_timeout = '$timeout'");
			$session->ask($load);
			last if $session->{error} =~ $where;
		}
	};

	$lock->ask('BEGIN; LOCK net_1');
	$times_out->(qr{waiting for server "s1"});
	like($session->{error}, qr{ERROR:  57014: canceling statement due to statement timeout.*waiting for server "s1"}s, 'COPY: statement_timeout ends it, and the server is named');
	$lock->ask('ROLLBACK');
	wait_in_prepare();
	$lock->ask('SELECT pg_advisory_lock(1)');
	$times_out->(qr{has not answered PREPARE});
	like($session->{error}, qr{ERROR:  57014: canceling statement due to statement timeout\nDETAIL:  Server "s1" has not answered PREPARE TRANSACTION}, 'PREPARE: statement_timeout ends it, too');
	unlike($session->{error}, qr{WARNING}, 'PREPARE: and all servers have rolled back');
	$session->ask('RESET statement_timeout');
	$session->send($load);
	wait_blocked();
	cancel($session);
	$session->wait;
	like($session->{error}, qr{ERROR:  57014: canceling statement due to user request.*waiting for server "s1"}s, 'PREPARE: a cancel names the server');
	is(count_of(), 0, 'nothing is loaded');
	$lock->ask('SELECT pg_advisory_unlock(1)');
	# it is that of the client's statement, whatever is set within that
	$main->safe_psql('postgres', qq{CREATE PROCEDURE loads() LANGUAGE plpgsql AS \$\$BEGIN PERFORM pg_sleep(0.2); SET LOCAL statement_timeout = '100ms'; PERFORM bulk_load('net', '$few'); COMMIT; END\$\$});
	$session->ask('CALL loads()');
	is($session->{error}, '', 'a timeout that is set within the statement is not its own');
	is(count_of(), 1000, 'and all is loaded');
	$main->safe_psql('postgres', 'TRUNCATE net');
	on_node(1, 'DROP FUNCTION waits() CASCADE');
	nothing_left('timeouts', @nodes);
	$_->close foreach $lock, $session;
}

# ---- the network is cut ----

# While rows are sent.
sub cut_while_sending
{
	my $session = PgBulk::Session->new($main);
	my $rows = join('', map { (1 + $_ % 2) . ',' . 'x' x 90 . "\n" } 1 .. 10000);
	local $SIG{PIPE} = 'IGNORE';

	mkfifo("$folder/rows.fifo", 0666) or die "mkfifo: $!";
	$session->send(qq{SELECT bulk_load('net', '$folder/rows.fifo')});
	my $fifo;
	within(60, sub { open($fifo, '>', "$folder/rows.fifo") or die; foreach my $lump (1 .. 5) { print $fifo $rows or die; } });
	wait_for('the first rows', sub { on_node(1, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk'}) eq '1' });
	$proxy->cut;
	my $sent = 0;
	within(60, sub { while ($sent < 100 && !$session->done) { print $fifo $rows or last; $sent++; } });
	cmp_ok($sent, '<', 100, 'rows are sent: no more are read');
	is_lost('rows are sent', $session);
	close $fifo;
	is_mended('rows are sent', 0, '');
}

# While the load waits for the server, which does not know of it.
sub cut_while_waiting
{
	my $lock = PgBulk::Session->new($nodes[0]);
	my $session = PgBulk::Session->new($main);

	$lock->ask('BEGIN; LOCK net_1');
	$session->send($load);
	wait_blocked();
	$proxy->cut;
	is_lost('COPY', $session);
	$lock->ask('ROLLBACK');
	is_mended('COPY', 0, '');

	# the server prepares its part all the same
	wait_in_prepare();
	$lock->ask('SELECT pg_advisory_lock(1)');
	$session->send($load);
	wait_blocked();
	$proxy->cut;
	is_lost('PREPARE', $session);
	like($session->{error}, qr{WARNING:  08007: server "s1" may not have rolled back its part}, 'PREPARE: is in doubt');
	nothing_left('PREPARE, the other server', $nodes[1]);
	$lock->ask('SELECT pg_advisory_unlock(1)');
	wait_for('the transaction', sub { on_node(1, 'SELECT count(*) FROM pg_prepared_xacts') eq '1' });
	is_mended('PREPARE', 0, 's1 rolled back');
	on_node(1, 'DROP FUNCTION waits() CASCADE');
	$_->close foreach $lock, $session;
}

# Before the end of what is prepared.
sub cut_when_prepared
{
	my ($stop) = @_;
	my $commits = $stop eq 'committed';
	my $session = load_until($main, $load, $stop);
	my $start = time;

	$proxy->cut;
	cancel($session);
	$session->wait;
	cmp_ok(time - $start, '<', $soon, "$stop: ends soon");
	like($session->{error}, $commits ? qr{WARNING:  08007: server "s1" has not committed its part} :
		qr{ERROR:  57014.*WARNING:  08007: server "s1" may not have rolled back its part}s, "$stop: is in doubt");
	like($main->safe_psql('postgres', 'SELECT server, state FROM bulk_load_in_doubt'), qr{^s1\|not reached: .}, "$stop: the server is not reached") if $commits;
	nothing_left("$stop, the other server", $nodes[1]);
	is_mended($stop, $commits ? 1000 : 0, $commits ? 's1 committed' : 's1 rolled back');
	$session->close;
}

# Before a load.
sub cut_before
{
	my $start = time;

	$proxy->cut;
	my ($rc, $out, $err) = $main->psql('postgres', $load);
	like($err, qr{could not connect to server "s1"\nDETAIL:  .}, 'no connection: the error');
	cmp_ok(time - $start, '<', $soon, 'no connection: ends soon');
	is_mended('no connection', 0, '');
}

# Before a load into a server that is another host, too: that is tried when the system gives up the first one.
sub cut_one_of_two
{
	my ($host, $port) = ($nodes[0]->host, $nodes[0]->port);
	my $session = PgBulk::Session->new($main);

	$main->safe_psql('postgres', "ALTER SERVER s1 OPTIONS (SET host '127.0.0.1,$host', SET port '" . $proxy->port . ",$port', SET connect_timeout '10')");
	$proxy->cut;
	$session->ask($load);
	is($session->{error}, '', 'the first of two hosts is cut off: no error');
	cmp_ok($session->{took}, '<', 10, 'the first of two hosts is cut off: soon');
	$session->close;
	$main->safe_psql('postgres', "ALTER SERVER s1 OPTIONS (SET host '127.0.0.1', SET port '" . $proxy->port . "', SET connect_timeout '2')");
	is_mended('the first of two hosts is cut off', 1000, '');
}

SKIP:
{
	skip 'the kernel does not let this user cut connections', 1 unless $may_cut;
	cut_while_sending();
	cut_while_waiting();
	cut_when_prepared($_) foreach 'prepared', 'committed';
	cut_before();
	cut_one_of_two();
}

# ---- a server that hangs: whoever waits for it may cancel ----

{
	my $session = load_until($main, $load, 'committed');

	$proxy->hold;
	cancel($session);
	# which was sent to all
	wait_for('the other server', sub { on_node(2, 'SELECT count(*) FROM pg_prepared_xacts') eq '0' });
	ok(!$session->done, 'COMMIT PREPARED is waited for');
	cancel($session);
	$session->wait;
	like($session->{error}, qr{server "s1" has not committed its part.*there was no answer in time}s, 'a cancel ends that');
	cmp_ok($session->{took}, '<', $soon, 'at once');
	$proxy->mend;
	wait_for('the session there', sub { on_node(1, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk'}) eq '0' });
	like(recover() // '', qr{^(?:s1 committed)?$}, 'a server that goes on commits, at the latest by recovery');
	is(count_of(), 1000, 'all rows are there');
	$main->safe_psql('postgres', 'TRUNCATE net');
	$session->close;
}

# ---- a slow one ----

{
	my $pace = 2_000_000;
	my $wide = data_file('wide.csv', 1, join('', map { ($_ % 6 ? 2 : 1) . ',' . 'x' x 97 . "\n" } 1 .. 180000));
	my $bytes = 100 * 30000;
	my $start;
	my @took = map { $proxy->pace($_); $start = time; $main->safe_psql('postgres', "SELECT bulk_load('net', '$wide')"); time - $start } 0, $pace;

	note sprintf('18 MB, of which 3 MB for a server that takes 2 MB a second: %.2f s, without that %.2f s', reverse @took);
	cmp_ok($took[1], '>', 0.9 * $bytes / $pace, 'a slow server takes its time');
	# all rows at its pace would take 9 s
	cmp_ok($took[1], '<', 7 + $took[0], 'and no more than that');
	is(count_of(), 360000, 'all rows are there');
	$proxy->pace(0);
	$main->safe_psql('postgres', 'TRUNCATE net');
}

# ---- no connection left ----

{
	my @others = map { PgBulk::Session->new($nodes[1]) } 1 .. 12;
	my ($rc, $out, $err) = $main->psql('postgres', $load);

	like($err, qr{could not connect to server "s2"\nDETAIL:.*too many clients already}, 'a server with no connection left');
	$_->close foreach @others;
	wait_for('a connection', sub { ($nodes[1]->psql('postgres', 'SELECT 1'))[0] == 0 });
	nothing_left('no connection left', @nodes);
	is(count_of(), 0, 'nothing is loaded');
}

$proxy->stop;
check_log($main, qr{WARNING:  server "s1" |DETAIL:  connection to server .* failed});
check_log($_, qr{$CLIENT_GONE|53300 FATAL:  sorry, too many clients}) foreach @nodes;
$_->stop foreach $main, @nodes;
done_testing();
