# What the tests in this folder share: a server with the extension, files to
# load, sessions that run while others look on, and a look at the server's log.

package PgBulk;

use strict;
use warnings;

use Exporter 'import';
use POSIX qw(setlocale LC_CTYPE);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(bulk_server server_init data_file data_dir check_log check_tables
  wait_for ends_soon percent_of @WORKERS $SEED $OF_CITUS $CLIENT_GONE direct has_extension is_sound kill_server
  orphans how_many load_until foreign_server nothing_left citus_servers within
  libpq_client);

# With how many parallel workers a test of the direct writer is done.
our @WORKERS = (0, 2);

# Of what a test leaves to chance: the same seed gives the same, as far as other processes do.
our $SEED = $ENV{PGBULK_TEST_SEED} // time % 1000000;
srand $SEED;
note "PGBULK_TEST_SEED=$SEED";

# What check_log lets through beside Citus: that has warnings of its own, and errors without a code, where its servers are lost.
our $OF_CITUS = qr{^(?!.*(?:PANIC:|TRAP:|leak|resource was not closed))};

# What initdb would otherwise take from the environment.
my @LOCALE = ('--encoding=UTF8', '--locale=' . (setlocale(LC_CTYPE, 'C.UTF-8') ? 'C.UTF-8' : 'C'));

# What it lets through where a client may go at any moment: also in the middle of a message.
our $CLIENT_GONE = qr{08006 FATAL:  connection to client lost|08P01 FATAL:  terminating connection because protocol synchronization was lost};

# Servers end with a test that is ended, with 15, too.
$SIG{TERM} = sub { die "ended by a signal" };

# Servers of the test, and the logs that check_log has read: none may be forgotten.
my (@servers, %log_read);
{
	no warnings 'redefine';
	my $new = \&PostgreSQL::Test::Cluster::new;
	*PostgreSQL::Test::Cluster::new = sub { push @servers, my $node = $new->(@_); return $node };
}

END
{
	my @unread = grep { -s $_->logfile && !$log_read{ $_->logfile } } @servers;

	# a test that is skipped, or has failed, may have come to no end
	if (@unread && $? == 0 && Test::More->builder->current_test && Test::More->builder->is_passing)
	{
		diag '  Failed test: check_log has not read the log of ' . join(', ', map { $_->name } @unread);
		$? = 1;
	}
}

my $folder;

# Where the files to load lie; it goes when the test ends.
sub data_dir
{
	$folder = PostgreSQL::Test::Utils::tempdir() unless defined $folder;
	return $folder;
}

# server_init(NODE, PARAMETER...): as NODE's init, with checksums.  scripts/test has made a server for that, which is
# copied in a tenth of the time that initdb takes.
sub server_init
{
	my ($node, @parameters) = @_;

	push @parameters, extra => [ '--data-checksums', @LOCALE ] unless defined $ENV{INITDB_TEMPLATE};
	$node->init(@parameters);
	return;
}

# bulk_server(NAME, SETTING...): a running server with checksums and pgbulk.
sub bulk_server
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	server_init($node);
	$node->append_conf('postgresql.conf', join("\n",
			"log_line_prefix = '%m [%p] %q%a %e '",
			'log_statement = none',
			'max_connections = 20',
			'autovacuum = off',
			'jit = off',
			@settings));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pgbulk');
	return $node;
}

# direct(WORKERS, MORE): options, as JSON, of a load by the direct writer.
sub direct
{
	my ($workers, $more) = @_;

	return '{' . join(', ', '"writer": "direct"', qq("workers": $workers), $more // ()) . '}';
}

sub has_extension
{
	my ($node, $name) = @_;
	return $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_available_extensions WHERE name = '$name'") eq '1';
}

# data_file(NAME, BYTES, BLOCK, HEAD): a file of at least BYTES bytes, which is
# HEAD and then BLOCK again and again.  BLOCK as a code reference is called
# with the number of the block.
sub data_file
{
	my ($name, $bytes, $block, $head) = @_;
	my $path = data_dir() . "/$name";
	my ($size, $n) = (0, 0);

	open(my $file, '>:raw', $path) or die "$path: $!";
	if (defined $head)
	{
		print $file $head;
		$size = length $head;
	}
	while ($size < $bytes)
	{
		my $text = ref $block ? $block->($n++) : $block;

		print $file $text;
		$size += length $text;
	}
	close($file) or die "$path: $!";
	return $path;
}

# libpq_client(NAME): the program of test/clients, compiled for this server's libpq, and as that is where sanitizers watch it;
# undef where that cannot be.
sub libpq_client
{
	my ($name) = @_;
	my $program = data_dir() . "/$name";
	my ($include, $lib) = map { my $path = `pg_config $_`; chomp $path; $path } '--includedir', '--libdir';
	my $options = ($ENV{PGBULK_TEST_SANITIZE} // '') . " -I$include -I$include/postgresql -L$lib -Wl,-rpath,$lib";

	return system("cc -o $program $FindBin::RealBin/../clients/$name.c $options -lpq >$program.log 2>&1") == 0 ? $program : undef;
}

# how_many(FEW, MANY): of what happens at random, as crashes do: as many as
# PGBULK_TEST_CRASHES says, else MANY where PGBULK_TEST_LONG is set, else FEW.
sub how_many
{
	my ($few, $many) = @_;

	return $ENV{PGBULK_TEST_CRASHES} // ($ENV{PGBULK_TEST_LONG} ? $many : $few);
}

sub percent_of
{
	my ($part, $whole) = @_;
	return $whole ? 100 * $part / $whole : 0;
}

# wait_for(WHAT, TEST): calls TEST until it returns something true, and
# returns that; ends the test after a while.
sub wait_for
{
	my ($what, $test) = @_;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;

	while (time < $end)
	{
		my $result = $test->();

		return $result if $result;
		sleep 0.01;
	}
	die "timed out waiting for $what";
}

# within(SECONDS, TRY): calls TRY, which may block for ever where what is tested does not work.
sub within
{
	my ($seconds, $try) = @_;
	local $SIG{ALRM} = sub { die "not done within $seconds seconds" };

	alarm $seconds;
	my $done = eval { $try->(); 1 };
	alarm 0;
	die $@ unless $done;
	return;
}

# ends_soon(NAME, TRY): TRY ends something and returns how many seconds that
# took: less than one, as the machine may be busy with something else at least
# once of a few times.
sub ends_soon
{
	my ($name, $try) = @_;
	my $took;

	foreach (1 .. 4)
	{
		$took = $try->();
		note sprintf('%s: ended after %.2f s', $name, $took);
		last if $took < 1;
	}
	cmp_ok($took, '<', 1, "$name: ends soon");
}

# The log has nothing that a load must not cause: no crash, leak, internal
# error or warning.  What matches EXCEPT is meant to be there, and so are
# sessions that end with the server and workers that end with their session.
# A test calls this for each of its servers.
sub check_log
{
	my ($node, $except) = @_;
	$log_read{ $node->logfile } = 1;
	my @lines = grep {
		/PANIC:|FATAL:|WARNING:|TRAP:|leak|still referenced|terminated by signal| XX[0-9A-Z]{3} /
	} split /\n/, slurp_file($node->logfile);

	@lines = grep { !/ 57P0[13] FATAL:  (?:terminating connection|the database system is)/
		  && !/ FATAL:  terminating background worker "parallel worker"/ } @lines;
	@lines = grep { !/$except/ } @lines if defined $except;
	is(join("\n", @lines), '', 'nothing bad in the log of ' . $node->name);
}

# The heap of a table is as it should be, its TOAST table too.
sub is_sound
{
	my ($node, $table, $name) = @_;
	is($node->safe_psql('postgres', qq{
		SELECT v.* FROM pg_class c, verify_heapam(c.oid) v WHERE c.oid = '$table'::regclass
		UNION ALL
		SELECT v.* FROM pg_class c, verify_heapam(c.reltoastrelid) v WHERE c.oid = '$table'::regclass AND c.reltoastrelid <> 0}),
		'', $name);
}

# foreign_server(NODE, NAME, HOST, PORT, OPTION...): a server of postgres_fdw in NODE's database, with more options, and a
# mapping of the test's user to it.
sub foreign_server
{
	my ($node, $name, $host, $port, @options) = @_;
	my $options = join(', ', "host '$host', port '$port', dbname 'postgres'", @options);

	$node->safe_psql('postgres', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($options);
		CREATE USER MAPPING FOR CURRENT_USER SERVER $name});
}

# citus_servers(NAME, SETTING...): a coordinator and two workers with Citus; skips all tests where it is not installed.
sub citus_servers
{
	my ($name, @settings) = @_;
	my $library = `pg_config --pkglibdir`;

	chomp $library;
	plan skip_all => 'citus is not installed' unless -e "$library/citus.so";
	my ($main, @workers) = map { bulk_server("${name}_$_", "shared_preload_libraries = 'citus'", 'max_prepared_transactions = 50',
			'shared_buffers = 32MB', 'wal_level = logical', 'citus.shard_count = 8', 'max_connections = 100',
			'max_worker_processes = 30', @settings) } 'main', 1, 2;

	foreach my $node ($main, @workers)
	{
		$node->safe_psql('postgres', 'CREATE EXTENSION citus');
		# a server reaches itself by its socket
		$node->safe_psql('postgres', sprintf(q{ALTER SYSTEM SET citus.local_hostname = '%s'}, $node->host));
		$node->reload;
	}
	$main->safe_psql('postgres', sprintf(q{SELECT citus_set_coordinator_host('%s', %d)}, $main->host, $main->port));
	$main->safe_psql('postgres', sprintf(q{SELECT citus_add_node('%s', %d)}, $_->host, $_->port)) foreach @workers;
	return ($main, @workers);
}

# nothing_left(NAME, NODE...): nothing of a load is left on these servers: no session, no prepared transaction.
sub nothing_left
{
	my ($name, @nodes) = @_;

	foreach my $node (@nodes)
	{
		wait_for('sessions to end', sub { $node->safe_psql('postgres',
			q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk'}) eq '0' });
		is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_prepared_xacts WHERE gid LIKE 'pgbulk%'}), '0',
			"$name: nothing is prepared on " . $node->name);
	}
}

# load_until(NODE, SQL, STEP, SESSION): the session of a load into other servers that stops at a step of its two-phase commit;
# a new one unless it is given.
sub load_until
{
	my ($node, $load, $stop, $loader) = @_;
	my $offset = -s $node->logfile;

	$loader //= PgBulk::Session->new($node);

	$loader->send("SET pgbulk.debug_two_phase = '$stop'; $load");
	wait_for("the step $stop", sub { slurp_file($node->logfile, $offset) =~ /stops at "$stop"/ });
	return $loader;
}

# The server's processes end at once, without cleaning up.  What
# they had written is still in the system's cache.
sub kill_server
{
	my ($node) = @_;
	my $file = $node->data_dir . '/postmaster.pid';
	my ($postmaster, undef, undef, $port, $socket) = split /\n/, slurp_file($file);
	my ($child, $alive) = (qr/^\d+ \(.*\) \S $postmaster /s, qr/^\d+ \(.*\) [^Z] /s);
	my $stat = sub { open(my $f, '<', "/proc/$_[0]/stat") or return ''; return <$f> // ''; };

	kill 'STOP', $postmaster;
	wait_for('the postmaster to stop', sub { $stat->($postmaster) =~ /^\d+ \(.*\) T/s });
	my @pids = grep { $stat->($_) =~ $child } map { m,/proc/(\d+), } glob '/proc/[0-9]*';
	kill 'KILL', @pids;
	$node->kill9;
	wait_for('the end of all processes', sub { !grep { $stat->($_) =~ $alive } $postmaster, @pids });

	# the next server takes this one for alive as long as its parent, which may
	# not care, has not noticed
	unlink $file, "$socket/.s.PGSQL.$port.lock" if kill 0, $postmaster;
}

# Files in the folder of database postgres that belong to no relation.
sub orphans
{
	my ($node) = @_;

	# only then are those gone that are to go
	$node->safe_psql('postgres', 'CHECKPOINT');
	my ($oid, @known) = split /\n/, $node->safe_psql('postgres', q{
		SELECT oid FROM pg_database WHERE datname = 'postgres';
		SELECT pg_relation_filenode(oid) FROM pg_class WHERE pg_relation_filenode(oid) IS NOT NULL});
	my %known = map { $_ => 1 } @known;
	return grep { /^(\d+)(?:_[a-z]+)?(?:\.\d+)?$/ && !$known{$1} } slurp_dir($node->data_dir . "/base/$oid");
}

# The tables and indexes of all databases, and then the files, are sound.
# Stops the server.
sub check_tables
{
	my ($node) = @_;

	$node->command_ok([ 'pg_amcheck', '--all', '--install-missing', '--heapallindexed' ],
		'pg_amcheck finds nothing');
	$node->stop;
	$node->command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
		'checksums are right');
}

# A session of its own: psql, to which statements are sent without waiting.
package PgBulk::Session;

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(time);

sub new
{
	my ($class, $node, $dbname) = @_;
	my $self = bless { in => '', out => '', err => '', sent => 0 }, $class;

	$self->{run} = IPC::Run::start(
		[
			$node->installed_command('psql'), '-XAtq',
			'-d', $node->connstr($dbname // 'postgres'),
			'-v', 'ON_ERROR_STOP=0', '-v', 'VERBOSITY=verbose', '-f', '-'
		],
		'<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err});
	$self->{pid} = $self->ask('SELECT pg_backend_pid()');
	return $self;
}

# Sends statements and returns at once.
sub send
{
	my ($self, $sql) = @_;
	my $end = 'end of ' . ++$self->{sent};

	$self->{in} .= "$sql;\n\\echo $end\n\\warn $end\n";
	$self->{run}->pump_nb while length $self->{in};
}

# Whether what was sent is done.
sub done
{
	my ($self) = @_;
	my $end = "end of $self->{sent}\n";

	$self->{run}->pump_nb;
	return 1 unless $self->{run}->pumpable;
	return index($self->{out}, $end) >= 0 && index($self->{err}, $end) >= 0;
}

# Waits for it.  Returns what came on standard output, and sets error to what
# came on standard error and took to the seconds of waiting.
sub wait
{
	my ($self) = @_;
	my $start = time;
	my $limit = $start + 2 * $PostgreSQL::Test::Utils::timeout_default;
	my $out;

	while (!$self->done)
	{
		die "timed out waiting for a session" if time > $limit;
		select undef, undef, undef, 0.002;
	}
	$self->{took} = time - $start;
	($out = $self->{out}) =~ s/\n?end of \d+\n//;
	($self->{error} = $self->{err}) =~ s/^end of \d+\n//m;
	$self->{out} = $self->{err} = '';
	return $out;
}

# Sends SQL, again and with half the PAUSE if it was done before the cancel came, calls READY until
# the load is where it shall be, and then, after the PAUSE, cancels it.  Returns how long that took.
sub cancel
{
	my ($self, $sql, $watch, $ready, $pause) = @_;

	foreach (1 .. 8)
	{
		my $limit = time + $PostgreSQL::Test::Utils::timeout_default;

		$self->send($sql);
		until ($self->done || $ready->())
		{
			die "timed out waiting for a load to cancel" if time > $limit;
			select undef, undef, undef, 0.01;
		}
		select undef, undef, undef, $pause;
		if (!$self->done)
		{
			my $start = time;

			$watch->ask("SELECT pg_cancel_backend($self->{pid})");
			$self->wait;
			my $took = time - $start;

			# one that ends of itself that soon was at its end
			return $took if $self->sqlstate || $took >= 1;
		}
		else
		{
			$self->wait;
		}
		$pause /= 2;
	}
	die "the load was done too early: $self->{error}";
}

# Sends SQL that a timeout of so many seconds ends.  Returns how long that took.
sub time_out
{
	my ($self, $sql, $seconds) = @_;
	my $start = time;

	$self->ask("SET statement_timeout = '${seconds}s'; $sql; SET statement_timeout = 0");
	return time - $start - $seconds;
}

sub ask
{
	my ($self, $sql) = @_;

	$self->send($sql);
	return $self->wait;
}

# SQLSTATE of the last statement's error, or ''.
sub sqlstate
{
	my ($self) = @_;
	return $self->{error} =~ /(?:ERROR|FATAL):  (\w{5}):/ ? $1 : '';
}

sub close
{
	my ($self) = @_;

	$self->{in} .= "\\q\n";
	eval { $self->{run}->finish; };
}

1;
