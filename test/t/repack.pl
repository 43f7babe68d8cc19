# REPACK of a table, CONCURRENTLY and not, at chosen phases of a load into it: when half of the file is read, a row is
# checked, an index gets its entry, the new files of indexes are to replace the old ones, a row is looked for that others
# have locked, and the load is not committed yet.  And loads of each kind that begin when REPACK CONCURRENTLY waits for an
# older transaction, makes the indexes of its copy, or waits for the last reader.  Afterwards the table has the rows that
# the same loads give a table without REPACK, its indexes find them, and no file is left.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IO::Handle;
use PgBulk;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('repack', 'wal_level = logical', 'deadlock_timeout = 50ms', 'lock_timeout = 60s', 'shared_buffers = 32MB', 'max_worker_processes = 16', 'max_parallel_workers = 8',
	'client_min_messages = error');
if ($node->safe_psql('postgres', 'SHOW server_version_num') < 190000)
{
	$node->stop;
	plan skip_all => 'the server has no REPACK';
}

sub line { my ($i, $p, $s) = @_; return "$i,$p,$s $i," . ($i % 500 ? '' : join('', map { $i * 7919 % (1000 + $_) } 1 .. 1500)) . "\n"; }
my $tall = data_file('tall.csv', 1, join('', map { line($_, 1, 'text of row') } 2001 .. 7000));
my $half = data_file('half.csv', 1, join('', map { line($_, 1, 'new') } 1001 .. 3000, 5000));
my $orphan = data_file('orphan.csv', 1, join('', map { line($_, $_ % 1000 ? 1 : 99, 'text of row') } 2001 .. 7000));
my $pipe = data_dir() . '/pipe';
mkfifo($pipe, 0600) or die $!;

# Who makes an index entry for row 5000 or 900, or checks row 4000, waits for a lock.
$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1), (2);
	CREATE TABLE elsewhere (i int);
	CREATE FUNCTION waits(lock int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN PERFORM pg_advisory_lock_shared(lock); PERFORM pg_advisory_unlock_shared(lock); END$$;
	CREATE FUNCTION held(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN IF i = 5000 THEN PERFORM public.waits(5000); ELSIF i = 900 THEN PERFORM public.waits(900); END IF; RETURN i; END$$;
	CREATE FUNCTION checked(i int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN IF i = 4000 THEN PERFORM public.waits(4000); END IF; RETURN true; END$$});
my ($load, $other, $gate, $watch) = map { PgBulk::Session->new($node) } 1 .. 4;
$load->ask("LOAD 'pgbulk'; SET pgbulk.chunk_size = 16384; SET pgbulk.copy = on; SET pgbulk.copy_min_size = 0");

# Name; statement; at what it can be held.
my @holds = ('half of the file', 'a check', 'an index entry', 'a referenced row', 'the end');
my @loads = (
	[ 'buffered', bulk_load($tall, '"writer": "buffered"'), \@holds ],
	[ 'keep_new', bulk_load($half, '"writer": "buffered", "on_duplicate": "keep_new"'), [ 'an index entry', 'the end' ] ],
	[ 'keep_old', bulk_load($half, '"writer": "buffered", "on_duplicate": "keep_old"'), ['the end'] ],
	[ 'COPY', "COPY %t FROM '$tall' (FORMAT csv)", \@holds ],
	[ 'twice', bulk_load($orphan, '"writer": "buffered", "on_error": "ignore"'), [ 'a check', 'the end' ] ],
	[ 'insert', bulk_load($tall, '"writer": "direct", "indexes": "insert"'), [ 'half of the file', 'an index entry', 'the end' ] ],
	[ 'merge', bulk_load($tall, '"writer": "direct", "indexes": "merge"'), [ 'an index entry', 'new files' ] ],
	[ 'rebuild', bulk_load($tall, '"writer": "direct", "indexes": "rebuild", "workers": 2'), [ @holds, 'new files' ] ],
	[ 'truncate', bulk_load($tall, '"truncate": true'), [ 'half of the file', 'an index entry', 'the end' ] ]);
my @repacks = ('REPACK (CONCURRENTLY) t', 'REPACK (CONCURRENTLY) t USING INDEX t_pkey', 'REPACK t');

sub bulk_load
{
	my ($file, $options) = @_;
	return "SELECT rows_loaded FROM bulk_load('%t', '$file', '{\"log_verbosity\": \"silent\", $options}')";
}

sub fresh_tables
{
	my ($what) = @_;

	# only btrees can be merged
	my $others = $what eq 'merge' ? '' : 'CREATE INDEX t_p ON t USING brin (p); CREATE INDEX t_hash ON t USING hash (s);';
	$node->safe_psql('postgres', join(' ', map { my $t = $_; qq{
		DROP TABLE IF EXISTS $t;
		CREATE TABLE $t (i int PRIMARY KEY, p int REFERENCES p, s text, w text, CHECK (checked(i)));
		ALTER TABLE $t ALTER w SET STORAGE external;
		INSERT INTO $t SELECT i, 2, 'old ' || i, CASE i % 500 WHEN 0 THEN repeat('w' || i, 2000) END FROM generate_series(1, 2000) i;
		DELETE FROM $t WHERE i % 100 = 7; UPDATE $t SET s = s || ' again' WHERE i % 10 = 3;} } qw(t twin))
		. "CREATE INDEX t_s ON t (s); CREATE INDEX t_held ON t (held(i)); $others");
}

my $contents = 'SET enable_seqscan = on; SELECT count(*), sum(hashtext(x::text)::bigint) FROM %t x';

# The table has the rows of the other one, by itself and by each index.
sub as_twin
{
	my ($name) = @_;
	my $expected = $watch->ask($contents =~ s/%t/twin/r);

	is($watch->ask($contents =~ s/%t/t/r), $expected, "$name: rows");
	my $rows = $expected =~ s/\|.*//r;
	is($watch->ask(q{SET enable_seqscan = off; SELECT count(*) FROM t WHERE i > 0; SELECT count(*) FROM t WHERE s > ''; SELECT count(*) FROM t WHERE held(i) > 0; SELECT count(*) FROM t WHERE p > 0;
		SELECT count(*) FROM t WHERE s = 'old 1998'}), join("\n", ($rows) x 4, $watch->ask(q{SELECT count(*) FROM twin WHERE s = 'old 1998'})), "$name: its indexes find them");
	$watch->ask(q{SELECT count(bt_index_parent_check(c.oid, true, true)::text) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid
		WHERE indrelid = 't'::regclass AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'btree')});
	is($watch->{error}, '', "$name: and are sound");
	is(join(' ', orphans($node)), '', "$name: no file is left");
}

# The others that wait for a lock.
sub waiting
{
	my ($condition) = @_;
	return $watch->ask("SELECT count(*) FROM pg_locks WHERE NOT granted AND $condition") > 0;
}

sub load_waits
{
	my ($name, $condition) = @_;
	wait_for("$name: the load to wait", sub { die "$name: the load is done too early: $load->{err}" if $load->done; return waiting($condition) });
}

# Has a load stand still; returns what lets it go on.
sub hold
{
	my ($hold, $sql, $name) = @_;
	my %locks = ('a check' => 4000, 'an index entry' => 5000);

	if (my $lock = $locks{$hold})
	{
		$gate->ask("SELECT pg_advisory_lock($lock)");
		$load->send("BEGIN; $sql");
		load_waits($name, "locktype = 'advisory'");
		return sub { $gate->ask("SELECT pg_advisory_unlock($lock)") };
	}
	if ($hold eq 'the end')
	{
		$load->ask("BEGIN; $sql");
		is($load->{error}, '', "$name: the load, not committed");
		$load->send('SELECT 1');
		return sub { };
	}
	if ($hold eq 'half of the file')
	{
		my $file = $sql =~ s/'([^']*\.csv)'/'$pipe'/ ? $1 : die $sql;
		my $text = slurp_file($file);

		$load->send("BEGIN; $sql");
		open(my $rest, '>', $pipe) or die $!;
		$rest->autoflush;
		print $rest substr $text, 0, length($text) / 2;
		wait_for("$name: half of the file", sub { $load->done || $watch->ask("SELECT bytes_processed > 16000 FROM pg_stat_progress_copy WHERE pid = $load->{pid}") eq 't' });
		return sub { print $rest substr $text, length($text) / 2; close $rest };
	}
	# a transaction of somebody else, who reads the table or has locked a row to which others refer
	$gate->ask('BEGIN; ' . ($hold eq 'new files' ? 'SELECT count(*) FROM t' : 'UPDATE p SET id = id + 100 WHERE id = 1'));
	$load->send("BEGIN; $sql");
	load_waits($name, "pid = $load->{pid}");
	return sub { $gate->ask('ROLLBACK') };
}

sub meet
{
	my ($what, $sql, $hold, $repack, $end) = @_;
	my $name = "$hold, $what, $repack, $end";

	fresh_tables($what);
	my $release = hold($hold, $sql =~ s/%t/t/r, $name);
	$other->send($repack);
	wait_for("$name: REPACK", sub { $other->done || waiting("pid <> $load->{pid}") });
	my $early = $other->done;
	$release->();
	$load->wait;
	my $state = $load->sqlstate;
	# a deadlock is resolved by the server
	like($state, qr/^(?:40P01)?$/, "$name: the load ends well") or diag $load->{error};
	$load->ask($state ? 'ROLLBACK' : $end);
	$other->wait;
	like($other->sqlstate, qr/^(?:40P01)?$/, "$name: so does REPACK") or diag $other->{error};
	note "$name: " . ($early ? 'at once' : 'waited') . ", load '$state', REPACK '" . $other->sqlstate . "'";
	$load->ask($sql =~ s/%t/twin/r) if !$state && $end eq 'COMMIT';
	as_twin($name);
	$load->ask($_) foreach map { $sql =~ s/%t/$_/r } $state || $end eq 'ROLLBACK' ? qw(t twin) : ();
	as_twin("$name, once more") if $state || $end eq 'ROLLBACK';
}

# ---- REPACK while a load is held

my $n = 0;
foreach my $kind (@loads)
{
	my ($what, $sql, $holds) = @$kind;

	foreach my $hold (@$holds)
	{
		my @some = $ENV{PGBULK_TEST_LONG} ? @repacks : $repacks[ $n % @repacks ];
		my @ends = $ENV{PGBULK_TEST_LONG} ? qw(COMMIT ROLLBACK) : qw(COMMIT COMMIT ROLLBACK)[ ($n / 2) % 3 ];

		foreach my $repack (@some)
		{
			meet($what, $sql, $hold, $repack, $_) foreach @ends;
		}
		$n++;
	}
}

# ---- loads that begin while REPACK CONCURRENTLY is held

my %repack_waits = (
	# it cannot have a snapshot before that has ended
	'an older transaction' => [ 'BEGIN; INSERT INTO elsewhere VALUES (1)', 'COMMIT' ],
	'indexes of the copy' => [ 'SELECT pg_advisory_lock(900)', 'SELECT pg_advisory_unlock(900)' ],
	'the last reader' => [ 'BEGIN; SELECT count(*) FROM t', 'COMMIT' ]);

foreach my $phase (sort keys %repack_waits)
{
	foreach my $kind (@loads)
	{
		my ($what, $sql) = @$kind;
		my @ends = $ENV{PGBULK_TEST_LONG} ? qw(COMMIT ROLLBACK) : qw(COMMIT COMMIT ROLLBACK)[ $n++ % 3 ];

		foreach my $end (@ends)
		{
			my $name = "REPACK held, $phase, $what, $end";

			fresh_tables($what);
			$gate->ask($repack_waits{$phase}[0]);
			$other->send($repacks[ $n % 2 ]);
			wait_for("$name: REPACK to wait", sub { die "$name: REPACK is done too early: $other->{err}" if $other->done; return waiting('true') });
			# by the log of its number a load would get a transaction id, for which REPACK would wait
			$watch->ask('CHECKPOINT');
			$load->send('BEGIN; ' . $sql =~ s/%t/t/r);
			wait_for("$name: the load", sub { $load->done || waiting("pid = $load->{pid}") });
			my $early = $load->done;
			# what REPACK does not know yet is in its way
			$load->ask($end) if $early;
			$gate->ask($repack_waits{$phase}[1]);
			$load->wait if !$early;
			my $state = $early ? '' : $load->sqlstate;
			# the server gives who waits for ACCESS EXCLUSIVE a transaction id first, so that standbys learn of the lock
			my $deadlock = $what eq 'truncate' ? qr/^(?:40P01)?$/ : qr/^$/;
			like($state, $deadlock, "$name: the load ends well") or diag $load->{error};
			$load->ask($state ? 'ROLLBACK' : $end) if !$early;
			$other->wait;
			like($other->sqlstate, $deadlock, "$name: so does REPACK") or diag $other->{error};
			note "$name: " . ($early ? 'at once' : 'waited') . ", load '$state', REPACK '" . $other->sqlstate . "'";
			$load->ask($sql =~ s/%t/twin/r) if !$state && $end eq 'COMMIT';
			as_twin($name);
		}
	}
}

$_->close foreach $load, $other, $gate, $watch;
check_log($node, qr/terminating background worker "REPACK decoding worker"/);
check_tables($node);
done_testing();
