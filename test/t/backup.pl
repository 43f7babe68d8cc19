# Base backups that begin and end in the middle of loads, incremental ones between loads that swap indexes and cut the ends
# of tables (17 and newer), and recovery from them to the moment before and after each commit: at each of these the tables
# have what they had on the primary, and their indexes find it.
#
# Stops after three of the transactions and before two; after eight and before six where PGBULK_TEST_LONG is set.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use IO::Handle;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;


my $node = PostgreSQL::Test::Cluster->new('backup');
server_init($node, has_archiving => 1, allows_streaming => 1);
my $incremental = $node->pg_version >= 17;
$node->append_conf('postgresql.conf', join("\n", "log_line_prefix = '%m [%p] %q%a %e '", 'log_statement = none', 'autovacuum = off', 'shared_buffers = 16MB',
		'max_wal_size = 1GB', 'wal_keep_size = 1GB', 'jit = off', 'max_connections = 30', 'max_prepared_transactions = 5', 'enable_bitmapscan = on', $incremental ? 'summarize_wal = on' : ()));
$node->start;

my $folder = data_dir();
my ($load, $held, $gate, $watch) = map { PgBulk::Session->new($node) } 1 .. 4;
my $tall = data_file('tall.csv', 1, join('', map { "$_,text of row $_\n" } 10001 .. 40000));
my $few = data_file('few.csv', 1, join('', map { "$_,text of row $_\n" } 1001 .. 3000));
my $half = data_file('half.csv', 1, join('', map { "$_,new $_\n" } 501 .. 1500));
my $bad = data_file('bad.csv', 1, join('', map { $_ . ($_ % 50 ? ',99' : ',1') . "\n" } 1001 .. 21000));
my $wide = data_file('wide.csv', 1, join('', map { "$_," . join(' ', map { sin } $_ .. $_ + 400) . "\n" } 1001 .. 1100));

$node->safe_psql('postgres', q{
	CREATE EXTENSION pgbulk;
	CREATE EXTENSION amcheck;
	CREATE TABLE plain (i int, s text);
	CREATE TABLE wide (i int, s text); ALTER TABLE wide ALTER s SET STORAGE external;
	CREATE TABLE keyed (i int PRIMARY KEY, s text);
	CREATE INDEX keyed_s ON keyed (s);
	CREATE TABLE methods (i int, s text);
	CREATE INDEX ON methods USING hash (s); CREATE INDEX ON methods USING gin (to_tsvector('simple', s)); CREATE INDEX ON methods USING brin (i);
	CREATE TABLE parts (i int PRIMARY KEY, s text) PARTITION BY HASH (i);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1);
	CREATE TABLE par (i int PRIMARY KEY); INSERT INTO par VALUES (1);
	CREATE TABLE child (i int, p int REFERENCES par);

	-- who makes an entry for row 2500 waits for a lock
	CREATE FUNCTION held(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN IF i = 2500 THEN PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1); END IF; RETURN i; END$$;
	CREATE TABLE slow (i int PRIMARY KEY, s text); CREATE INDEX ON slow (s); CREATE INDEX ON slow (held(i));
	INSERT INTO plain SELECT i, 'before' FROM generate_series(1, 1000) i;
	INSERT INTO keyed TABLE plain; INSERT INTO slow TABLE plain; INSERT INTO parts TABLE plain; INSERT INTO wide TABLE plain; INSERT INTO methods TABLE plain; INSERT INTO child SELECT i, 1 FROM plain});

sub bulk_load
{
	my ($table, $file, $options) = @_;
	return "SELECT rows_loaded FROM bulk_load('$table', '$file', '" . ($options // '{}') . "')";
}
my $quiet = '"log_verbosity": "silent"';

# Rows of all tables, those that indexes find, and what is wrong with these.
my @tables = qw(plain wide keyed methods parts child slow);

sub contents
{
	my ($session) = @_;

	return $session->ask(join(';', 'SET enable_seqscan = on', (map { "SELECT '$_', count(*), sum(hashtext(t::text)::bigint) FROM $_ t" } @tables), 'SET enable_seqscan = off',
			(map { "SELECT count(*) FROM $_ WHERE i > -5" } qw(keyed slow parts methods)), q{SELECT count(*) FROM keyed WHERE s > ''}, q{SELECT count(*) FROM methods WHERE s = 'text of row 2500'},
			q{SELECT count(*) FROM methods WHERE to_tsvector('simple', s) @@ 'before'},
			q{SELECT 'sound', count(bt_index_check(i.indexrelid, true)::text) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
				WHERE c.relkind = 'i' AND c.relnamespace = 'public'::regnamespace AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'btree')}));
}

# A load that has got half of its file, by a pipe.
my $pipe = "$folder/pipe";
mkfifo($pipe, 0600) or die $!;
my $rest;

sub start_pipe
{
	my ($sql, $file) = @_;
	my $text = slurp_file($file);

	$held->send($sql);
	open($rest, '>', $pipe) or die $!;
	$rest->autoflush;
	print $rest substr $text, 0, length($text) / 2;
	wait_for('half of the file', sub { $watch->ask("SELECT bytes_processed >= @{[ length($text) / 2 - 70000 ]} FROM pg_stat_progress_copy WHERE pid = $held->{pid}") eq 't' });
	return substr $text, length($text) / 2;
}

sub end_pipe
{
	my ($text) = @_;

	print $rest $text;
	close $rest;
	$held->wait;
	is($held->{error}, '', 'the load from a pipe');
}

# Transactions in their order, each with its number and what there is before and after it.
my @history;

sub transaction
{
	my ($name, $sql) = @_;
	my $before = contents($watch);
	my ($xid) = $load->ask("BEGIN; SELECT pg_current_xact_id(); $sql") =~ /\A(\d+)/;

	is($load->{error}, '', "$name: no error");
	$load->ask('COMMIT');
	push @history, { name => $name, xid => $xid, before => $before, after => contents($watch) };
}

# ---- the backups, and loads beside and after them

$held->ask('SET pgbulk.chunk_size = 16384');

my @backups = ('pipe');
my $before = contents($watch);

# by whole pages into a table that has rows, and whose last page the load goes on with; another one below its indexes
my $text = start_pipe('BEGIN; ' . bulk_load('plain', $pipe, direct(0)), $tall);
$gate->ask('SELECT pg_advisory_lock(1)');
$load->send('BEGIN; ' . bulk_load('slow', $few, direct(0, '"indexes": "merge"')));
wait_for('the index phase', sub { $watch->ask("SELECT count(*) FROM pg_locks WHERE pid = $load->{pid} AND NOT granted AND locktype = 'advisory'") eq '1' });
$node->backup('pipe');
$gate->ask('SELECT pg_advisory_unlock_all()');
is($load->wait, 2000, 'the load whose indexes waited') or diag $load->{error};
end_pipe($text);
foreach ([ 'indexes that waited', $load ], [ 'by whole pages, from a pipe', $held ])
{
	my ($name, $session) = @$_;

	push @history, { name => $name, xid => $session->ask('SELECT pg_current_xact_id()'), before => $before };
	$session->ask('COMMIT');
	$before = $history[-1]{after} = contents($watch);
}

my @transactions = (
	[ 'plain, workers', bulk_load('plain', $tall, direct(2)) ],
	[ 'wide values', bulk_load('wide', $wide, direct(0)) ],
	[ 'merge', bulk_load('keyed', $tall, direct(1, '"indexes": "merge"')) ],
	[ 'rebuild', bulk_load('methods', $few, direct(0, '"indexes": "rebuild"')) ],
	[ 'keep_new', bulk_load('keyed', $half, qq({"writer": "buffered", "on_duplicate": "keep_new", $quiet})) ],
	[ 'most rows go again', bulk_load('child', $bad, direct(0, qq("on_error": "ignore", $quiet))) ],
	[ 'truncate', bulk_load('methods', $few, '{"truncate": true, "freeze": true}') ],
	[ 'partitions', bulk_load('parts', $tall, direct(2)) ],
	[ 'truncate what is large', bulk_load('plain', $few, '{"truncate": true}') ],
	[ 'a dry run', bulk_load('keyed', $half, qq({"dry_run": true, "on_duplicate": "keep_new", $quiet})) . '; INSERT INTO plain VALUES (1)' ],
	[ 'a savepoint', 'SAVEPOINT s; ' . bulk_load('wide', $wide, direct(0)) . '; ' . bulk_load('slow', $tall, direct(0)) . '; ROLLBACK TO s; ' . bulk_load('wide', $wide) ],
	[ 'COPY', "SET LOCAL pgbulk.copy = exclusive; SET LOCAL pgbulk.copy_min_size = 0; TRUNCATE keyed; COPY keyed FROM '$tall' (FORMAT csv)" ],
	[ 'indexes', 'SET LOCAL pgbulk.create_index = on; SET LOCAL pgbulk.debug_create_index = on; REINDEX TABLE parts_0; CREATE INDEX plain_s ON plain (s)' ]);
$load->ask("LOAD 'pgbulk'");

foreach my $n (0 .. $#transactions)
{
	transaction(@{ $transactions[$n] });
	if ($n == 5)
	{
		# an error after many pages, which the next VACUUM cuts off; and a backup from within a load of the table
		$load->ask(bulk_load('plain', $tall, direct(0, '"where": "1 / (39000 - i) > -5"')));
		is($load->sqlstate, '22012', 'a load that fails');
		$load->ask('VACUUM plain');
		$text = start_pipe('BEGIN; ' . bulk_load('plain', $pipe, '{"writer": "buffered"}'), $tall) if $incremental;
	}
	next unless $incremental && $n =~ /^(?:2|5|8)$/;
	my $name = "incremental_$n";
	$node->command_ok([ 'pg_basebackup', '-D', $node->backup_dir . "/$name", '-h', $node->host, '-p', $node->port, '--no-sync', '--checkpoint', 'fast',
			'--incremental', $node->backup_dir . "/$backups[-1]/backup_manifest" ], "an incremental backup after $transactions[$n][0]");
	push @backups, $name;
	next if $n != 5;
	end_pipe($text);
	$held->ask('ROLLBACK');
}
transaction('the last', 'INSERT INTO plain VALUES (2)');
my $last = $node->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');
wait_for('the archiver', sub { $node->safe_psql('postgres', "SELECT last_archived_wal >= '$last' FROM pg_stat_archiver") eq 't' });
my $end = contents($watch);

# ---- recovery

# A server from the backup, or from several of them.
sub recovered
{
	my ($name, @of) = @_;
	my $other = PostgreSQL::Test::Cluster->new($name);
	my @more = @of > 1 ? (combine_with_prior => [ @of[ 0 .. $#of - 1 ] ]) : ();

	$other->init_from_backup($node, $of[-1], has_restoring => 1, standby => 0, @more);
	$other->append_conf('postgresql.conf', "recovery_target_action = pause\nhot_standby = on\narchive_mode = off");
	return $other;
}

# Its tables are those of that moment.
sub is_as
{
	my ($other, $expected, $when) = @_;
	my $session = PgBulk::Session->new($other);

	is(contents($session), $expected, $when);
	is($session->{error}, '', "$when: all is sound");
	$session->close;
}

sub goes_on
{
	my ($other, $when) = @_;

	my ($rc, $out, $err) = $other->psql('postgres', bulk_load('parts', $half, qq({"on_duplicate": "keep_new", $quiet})));
	is($err, '', "$when: takes a load");
	check_log($other, qr/57P03|could not (?:open|stat|restore)/);
	check_tables($other);
}

# Recovers to the moment before the transaction, which has locked the indexes that it gives new files until it is undone.
sub go_before
{
	my ($name, $transaction, @of) = @_;
	my $other = recovered($name, @of);

	$other->append_conf('postgresql.conf', "recovery_target_xid = '$transaction->{xid}'\nrecovery_target_inclusive = false\nrecovery_target_action = promote");
	$other->start;
	$other->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	is_as($other, $transaction->{before}, "$name: before $transaction->{name}");
	goes_on($other, "$name: before $transaction->{name}");
}

# Goes from one transaction to the next, with a look around after each, and then to the end.
sub go_through
{
	my ($name, $stops, @of) = @_;
	my $other = recovered($name, @of);

	foreach my $transaction (@$stops, undef)
	{
		$other->stop if -e $other->data_dir . '/postmaster.pid';
		$other->append_conf('postgresql.conf', $transaction ? "recovery_target_xid = '$transaction->{xid}'" : "recovery_target_xid = ''\nrecovery_target_action = promote");
		$other->start;
		if ($transaction)
		{
			wait_for("$transaction->{xid} to be reached", sub { $other->safe_psql('postgres', 'SELECT pg_get_wal_replay_pause_state()') eq 'paused' });
			is_as($other, $transaction->{after}, "$name: after $transaction->{name}");
		}
		else
		{
			$other->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
			is_as($other, $end, "$name: the end");
			goes_on($other, "$name: the end");
		}
	}
}

# so many of them, in their order
sub some_of
{
	my ($n, @of) = @_;

	splice @of, rand @of, 1 while @of > $n;
	return @of;
}

my $long = $ENV{PGBULK_TEST_LONG};
go_through('point_in_time', [ some_of($long ? 8 : 3, @history) ], $backups[0]);
go_before("before_$_->{xid}", $_, $backups[0]) foreach some_of($long ? 6 : 2, @history);
if ($incremental)
{
	my ($n) = grep { $history[$_]{name} eq $transactions[9][0] } 0 .. $#history;
	go_through('incremental', [ $history[$n] ], @backups);
	go_through('incremental_middle', [ $history[ $n - 3 ] ], @backups[ 0 .. 2 ]);
}

$_->close foreach $load, $held, $gate, $watch;
check_log($node, qr/22012/);
check_tables($node);
done_testing();
