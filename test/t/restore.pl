# Restores with every setting on that are interrupted somewhere, and run again: the database is
# then the one that was dumped.
#
# PGBULK_TEST_CRASHES=n interrupts that many; else 4, or 36 where PGBULK_TEST_LONG is set.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);


my $node = bulk_server('restore', 'session_preload_libraries = pgbulk', 'pgbulk.create_index = on',
	'pgbulk.foreign_keys = on', 'pgbulk.copy = exclusive', 'min_parallel_table_scan_size = 0', 'checkpoint_timeout = 30s');
my $folder = data_dir();

# ---- what is dumped: large and tiny tables, partitions, indexes of several kinds, foreign keys
$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source', q{
	CREATE EXTENSION pgbulk;
	CREATE TABLE users (name text, born date);
	INSERT INTO users SELECT 'user ' || i, date '1970-01-01' + i FROM generate_series(1, 3000) i;
	CREATE TABLE votes (id serial, name text, link text, score int, doc jsonb);
	INSERT INTO votes (name, link, score, doc) SELECT 'user ' || 1 + i * 7919 % 3000, 't3_' || md5((i % 20000)::text), i % 2,
		jsonb_build_object('tag', i % 50) FROM generate_series(1, 30000) i;
	CREATE TABLE days (day date, name text, PRIMARY KEY (day, name)) PARTITION BY RANGE (day);
	CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM (MINVALUE) TO ('2026-06-01');
	CREATE TABLE days_2 PARTITION OF days FOR VALUES FROM ('2026-06-01') TO (MAXVALUE);
	INSERT INTO days SELECT date '2026-01-01' + i % 365, 'user ' || 1 + i % 3000 FROM generate_series(1, 5000) i ON CONFLICT DO NOTHING;
	ALTER TABLE users ADD PRIMARY KEY (name);
	ALTER TABLE votes ADD PRIMARY KEY (id), ADD FOREIGN KEY (name) REFERENCES users;
	ALTER TABLE days ADD FOREIGN KEY (name) REFERENCES users;
	CREATE INDEX ON votes (name);
	CREATE INDEX ON votes (link COLLATE "C");
	CREATE INDEX ON votes (lower(link)) WHERE score = 1;
	CREATE INDEX ON votes USING gin (doc);
	CREATE MATERIALIZED VIEW scores AS SELECT name, sum(score) FROM votes GROUP BY name ORDER BY name;
	CREATE UNIQUE INDEX ON scores (name);
	DO $$BEGIN FOR i IN 1 .. 10 LOOP
		EXECUTE format('CREATE TABLE tiny_%s (id int PRIMARY KEY, name text UNIQUE REFERENCES users); INSERT INTO tiny_%s VALUES (1, %L)', i, i, 'user ' || i);
	END LOOP; END$$});
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$folder/archive", $node->connstr('source') ], 'an archive');
$node->command_ok([ 'pg_dump', '-f', "$folder/plain.sql", $node->connstr('source') ], 'a script');

# The text of a database, without what is different each time.
sub text_of
{
	my ($database) = @_;
	my ($out, $err);

	IPC::Run::run([ $node->installed_command('pg_dump'), $node->connstr($database) ], '>', \$out, '2>', \$err) or die $err;
	$out =~ s/^\\(?:un)?restrict .*\n//mg;
	return $out;
}

my $source = text_of('source');

# The database is the one that was dumped.
sub is_whole
{
	my ($name) = @_;
	ok(text_of('restored') eq $source, "$name: the same as the source");
	$node->command_ok([ 'pg_amcheck', '--install-missing', '--heapallindexed', '-d', 'restored' ], "$name: its indexes are whole");
}

sub make_empty { $node->safe_psql('postgres', $_) foreach 'DROP DATABASE IF EXISTS restored', 'CREATE DATABASE restored' }

my @archive = ('-d', $node->connstr('restored'), "$folder/archive");

# ---- not interrupted, by either program
make_empty();
my $start = time;
$node->command_ok([ 'pg_restore', '-j', '2', @archive ], 'pg_restore');
my $takes = time - $start;
is_whole('pg_restore');
make_empty();
my $taken = $node->safe_psql('restored', "\\i $folder/plain.sql\nSELECT 'taken', statement FROM public.bulk_load_statements WHERE taken ORDER BY statement");
is(join(' ', $taken =~ /taken\|(.*)/g), 'ADD FOREIGN KEY COPY FROM CREATE INDEX', 'psql: statements were taken');
is_whole('psql');

# ---- interrupted, and run again
sub backends
{
	return split /\n/, $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE datname = 'restored' AND backend_type = 'client backend'});
}

# Each ends a restore, or a statement of it, if it still runs.
my %interrupt = (
	'a session is killed' => sub {
		my ($pid) = backends();
		if (defined $pid && kill 'KILL', $pid)
		{
			# restart_after_crash is off
			wait_for('the server to end', sub { !-e $node->data_dir . '/postmaster.pid' });
			$node->_update_pid(0);
			$node->start;
		}
	},
	'the server is killed' => sub { kill_server($node); $node->start },
	'a statement is cancelled' => sub { $node->safe_psql('postgres', "SELECT pg_cancel_backend($_)") foreach backends() },
	'the client is killed' => sub { $_[0]->kill_kill });

foreach my $n (1 .. how_many(4, 36))
{
	my $what = (sort keys %interrupt)[ $n % 4 ];
	my @how = $n % 3 == 0 ? ('-1') : ('-j', '2');
	my $delay = rand(1.1 * $takes);
	my ($out, $err) = ('', '');

	make_empty();
	my $restore = IPC::Run::start([ $node->installed_command('pg_restore'), @how, @archive ], '>', \$out, '2>', \$err);
	sleep $delay;
	$interrupt{$what}->($restore);
	eval { $restore->finish };
	# workers of a client that is gone
	wait_for('the end of its sessions', sub { !backends() });
	my $tables = $node->safe_psql('restored', q{SELECT count(*) FROM pg_class WHERE relname IN ('users', 'votes')});
	my $name = sprintf 'interruption %d after %.2f of %.2f s, %s', $n, $delay, $takes, $what;
	note "$name, by pg_restore @how";
	ok($tables == 0 || text_of('restored') eq $source, "$name: all or nothing") if $how[0] eq '-1';
	IPC::Run::run([ $node->installed_command('pg_restore'), '--clean', '--if-exists', '-j', '2', @archive ], '2>', \$err);
	# pg_dump would have these dropped before that of their partitioned table
	is(join('', grep { /error:/ && !/cannot drop inherited constraint/ } split /^/m, $err), '', "$name: run again");
	is_whole($name);
}

check_log($node, qr/terminated by signal 9|not properly shut down|terminating connection because of crash|terminating connection due to unexpected postmaster|could not open directory|useless files|connection to client lost|protocol synchronization was lost|is not a PostgreSQL/);
check_tables($node);
done_testing();
