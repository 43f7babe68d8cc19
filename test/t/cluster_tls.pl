# Loads into other servers over TLS: by the options of a foreign server, and by citus.node_conninfo for nodes of Citus; a
# server with another certificate than they ask for is refused, and named.
#
# Skipped where the server is built without TLS, or openssl is not installed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'the server is built without TLS' unless `pg_config --configure` =~ /--with-(?:open)?ssl/;
plan skip_all => 'openssl is not installed' if system('openssl version >/dev/null 2>&1') != 0;

my $library = `pg_config --pkglibdir`;
chomp $library;
my $has_citus = -e "$library/citus.so";
my $folder = data_dir();

# authority(NAME): one that signs certificates.
sub authority
{
	my ($name) = @_;

	system_or_bail('sh', '-c', "cd $folder && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=$name -keyout $name.key -out $name.crt 2>$name.log");
	return;
}

authority($_) foreach 'right', 'wrong';
# for the name of this machine, and not for its address
system_or_bail('sh', '-c', qq{cd $folder && openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr 2>>right.log &&
	echo subjectAltName=DNS:localhost >names && openssl x509 -req -in server.csr -CA right.crt -CAkey right.key -CAcreateserial -days 2 -extfile names -out server.crt 2>>right.log &&
	chmod 600 server.key});

my @settings = ('max_prepared_transactions = 10', 'shared_buffers = 32MB');
my $main = bulk_server('tls_main', @settings);
plan skip_all => 'postgres_fdw is not there' unless has_extension($main, 'postgres_fdw');
my $node = bulk_server('tls_node', @settings, "listen_addresses = '127.0.0.1'", 'ssl = on', "ssl_cert_file = '$folder/server.crt'", "ssl_key_file = '$folder/server.key'",
	$has_citus ? ("shared_preload_libraries = 'citus'", "citus.local_hostname = 'localhost'", 'citus.shard_count = 4') : ());

unlink $node->data_dir . '/pg_hba.conf';
$node->append_conf('pg_hba.conf', "local all all trust\nhostssl all all 127.0.0.1/32 trust");
$node->reload;

my $file = data_file('rows.csv', 1, join('', map { "$_,text $_\n" } 1 .. 1000));
my $load = "SELECT rows_loaded FROM bulk_load('t', '$file')";
my $verify = 'sslmode=verify-full sslrootcert=' . "$folder/%s.crt";
my $tls = q{SELECT string_agg(DISTINCT ssl::text, ',') FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'pgbulk'};

# loads(NAME, SERVER): all rows are loaded over TLS.
sub loads
{
	my ($name, $server) = @_;
	my $loader = load_until($server, $load, 'prepare');

	is($node->safe_psql('postgres', $tls), 'true', "$name: a session has TLS");
	$server->safe_psql('postgres', "SELECT pg_cancel_backend($loader->{pid})");
	$loader->wait;
	$loader->close;
	is($server->safe_psql('postgres', $load), '1000', "$name: a load");
}

sub fails
{
	my ($name, $server, $error) = @_;
	my ($rc, $out, $err) = $server->psql('postgres', $load);

	like($err, $error, "$name: is refused");
}

# ---- a foreign server ----

$node->safe_psql('postgres', 'CREATE TABLE t (k int, s text)');
$main->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
foreign_server($main, 's1', 'localhost', $node->port, "hostaddr '127.0.0.1'", "sslmode 'verify-full'", "sslrootcert '$folder/right.crt'");
$main->safe_psql('postgres', 'CREATE FOREIGN TABLE t (k int, s text) SERVER s1');
loads('options of a server', $main);
$main->safe_psql('postgres', "ALTER SERVER s1 OPTIONS (SET sslrootcert '$folder/wrong.crt')");
fails('another authority', $main, qr{could not connect to server "s1"\nDETAIL: .*certificate verify failed}s);
$main->safe_psql('postgres', "ALTER SERVER s1 OPTIONS (SET sslrootcert '$folder/right.crt', SET host '127.0.0.1')");
fails('another name', $main, qr{could not connect to server "s1"\nDETAIL: .*certificate for "localhost" .*does not match host name "127\.0\.0\.1"}s);
$main->safe_psql('postgres', "ALTER SERVER s1 OPTIONS (SET host 'localhost', SET sslmode 'disable')");
fails('no TLS', $main, qr{could not connect to server "s1"\nDETAIL: .*no pg_hba\.conf entry.*no encryption}s);
nothing_left('a foreign server', $node);

# ---- a node of Citus ----

SKIP:
{
	skip 'citus is not installed', 4 unless $has_citus;

	# Takes it for the sessions that begin from now on.
	my $set = sub
	{
		my ($authority) = @_;

		$node->safe_psql('postgres', sprintf(q{ALTER SYSTEM SET citus.node_conninfo = '%s'}, sprintf($verify, $authority)));
		$node->reload;
		wait_for('the setting', sub { $node->safe_psql('postgres', 'SHOW citus.node_conninfo') =~ /$authority/ });
	};

	$set->('right');
	$node->safe_psql('postgres', sprintf(q{DROP TABLE t; CREATE EXTENSION citus; SELECT citus_set_coordinator_host('localhost', %1$d), citus_set_node_property('localhost', %1$d, 'shouldhaveshards', true)}, $node->port));
	$node->safe_psql('postgres', q{CREATE TABLE t (k int, s text); SELECT create_distributed_table('t', 'k')});
	loads('citus.node_conninfo', $node);
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), '1000', 'citus.node_conninfo: the rows');
	$set->('wrong');
	fails('another authority', $node, qr{could not connect to server "localhost:\d+"\nDETAIL: .*certificate verify failed}s);
}

check_log($main, qr{no pg_hba\.conf entry});
check_log($node, $has_citus ? $OF_CITUS : qr{no pg_hba\.conf entry});
$_->stop foreach $main, $node;
done_testing();
