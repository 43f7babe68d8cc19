# A storm: three sessions alter, rewrite, reindex, vacuum, truncate, attach, detach, cancel and end others, and write, at
# random, while two others load into the same tables.  In the end each table has the rows that the transactions which were
# committed say, its indexes find them, and no file is left that belongs to nobody.
#
# PGBULK_TEST_STORM=n lets it last n seconds; else 12, or 40 where PGBULK_TEST_LONG is set.  PGBULK_TEST_STORM_COPY has the
# server's COPY load, as a test of this test.

use strict;
use warnings;

use File::Copy qw(copy);
use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $seconds = $ENV{PGBULK_TEST_STORM} // ($ENV{PGBULK_TEST_LONG} ? 40 : 12);
my $by_copy = $ENV{PGBULK_TEST_STORM_COPY};

my $node = bulk_server('storm', 'shared_buffers = 16MB', 'max_wal_size = 1GB', 'wal_level = logical', 'deadlock_timeout = 50ms', 'lock_timeout = 1s',
	'statement_timeout = 5s', 'max_worker_processes = 12', 'max_parallel_workers = 8', 'client_min_messages = error', 'checkpoint_timeout = 30s', 'max_connections = 40');

my $version = $node->safe_psql('postgres', 'SHOW server_version_num');

# leaves of parts are tables whether they are attached or not
my @leaves = map { "leaf_$_" } 0 .. 3;
my %range = map { $leaves[$_] => 'FROM (' . 5000 * $_ . ') TO (' . 5000 * ($_ + 1) . ')' } 0 .. 3;
my %counted = (plain => 'TABLE plain', keyed => 'TABLE keyed', child => 'TABLE child', parts => join(' UNION ALL ', map { "SELECT i, s FROM $_" } @leaves));

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE ledger (t text, n bigint);
	CREATE TABLE plain (i int, s text);
	CREATE TABLE keyed (i int PRIMARY KEY, s text);
	CREATE TABLE child (i int REFERENCES keyed, s text);
	CREATE TABLE parts (i int NOT NULL, s text) PARTITION BY RANGE (i);
	CREATE TABLE rejected (load_id bigint, target text, loaded_at timestamptz, file text, line_number bigint, byte_offset bigint,
		reason text, column_name text, field_value text, sqlstate text, message text, raw_line text, raw_bytes bytea);
	CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'} . join('', map { "; CREATE TABLE $_ PARTITION OF parts FOR VALUES $range{$_}" } @leaves));

my @files = map {
	my $n = $_;
	my %seen;
	data_file("rows_$n.csv", 1, join('', map { my $i = int rand 20000; $seen{$i}++ ? () : "$i,text $i of $n" . ($_ % 200 ? '' : ' and more' x 270) . "\n" } 1 .. (50, 500, 2000, 6000)[ $n % 4 ]))
} 1 .. 8;
my $bad = data_file('bad.csv', 1, join('', map { ($_ % 10 ? '' : 'x') . int(rand 20000) . ",bad $_\n" } 1 .. 2000));
my %rows;
foreach my $file (@files) { $rows{$file} = () = slurp_file($file) =~ /\n/g }

sub one_of { return $_[ int rand @_ ] }
sub maybe { return rand() < ($_[1] // 0.5) ? $_[0] : '' }

# ---- what the sessions do: each transaction notes how many rows it adds

sub noted { my ($t, $sql) = @_; return "WITH d AS ($sql RETURNING 1) INSERT INTO ledger SELECT '$t', count(*) FROM d"; }

# Statements of one transaction: none of them where somebody has canceled its BEGIN.
sub transaction
{
	my ($statements) = @_;
	return "BEGIN;\n\\if :ERROR\n\\else\n$statements;\n\\endif\n";
}

sub copy_load
{
	my $t = one_of(keys %counted);
	my $file = one_of(@files);

	return transaction("SET LOCAL pgbulk.copy = off; COPY $t (i, s) FROM '$file' (FORMAT csv); INSERT INTO ledger VALUES ('$t', $rows{$file}); " . one_of('COMMIT', 'COMMIT', 'ROLLBACK'));
}

sub load
{
	my $t = one_of(keys %counted);
	my $file = one_of(@files);
	my $end = maybe('SAVEPOINT s; ROLLBACK TO s; ', 0.2) . one_of('COMMIT', 'COMMIT', 'COMMIT', 'ROLLBACK');

	return copy_load() if $by_copy;
	return transaction("SET LOCAL pgbulk.copy = " . one_of('on', 'exclusive') . "; COPY $t (i, s) FROM '$file' (FORMAT csv); INSERT INTO ledger VALUES ('$t', $rows{$file}); $end") if rand() < 0.3;

	my @options = ('"log_verbosity": "silent"', '"columns": ["i", "s"]');
	my $lock = '';
	push @options, sprintf('"writer": "%s"', one_of('auto', 'direct', 'buffered')), '"workers": ' . int(rand 3), sprintf('"on_duplicate": "%s"', $t eq 'keyed' ? one_of('keep_old', 'keep_new', 'error') : 'error');
	push @options, sprintf('"indexes": "%s"', one_of(qw(auto insert merge rebuild))) if $options[2] =~ /direct/;
	push @options, '"on_error": "ignore"', maybe('"reject_table": "rejected"') || '"reject_limit": ' . one_of(3, 100000) if rand() < 0.6;
	push @options, '"analyze": true' if rand() < 0.1;
	push @options, '"dry_run": true' if rand() < 0.1;
	if (rand() < 0.15 && $t ne 'keyed')
	{
		push @options, '"truncate": true';
		$lock = "LOCK $t; INSERT INTO ledger SELECT '$t', -count(*) FROM $t; ";
		@options = grep { !/dry_run/ } @options;
	}
	$file = $bad if "@options" =~ /on_error/ && rand() < 0.3;
	return "SET pgbulk.chunk_size = " . one_of(16384, 65536, 1048576) . '; ' . transaction($lock . maybe('SAVEPOINT r; ', 0.2)
	  . "INSERT INTO ledger SELECT '$t', CASE writer WHEN 'none' THEN 0 ELSE rows_loaded - rows_replaced END FROM bulk_load('$t', '$file', '{" . join(', ', @options) . "}'); $end");
}

sub write_some
{
	my $t = one_of(keys %counted);
	my $from = int rand 20000;
	my $where = "i BETWEEN $from AND $from + " . int rand 3000;

	return one_of(
		"WITH d AS (DELETE FROM $t WHERE $where RETURNING 1) INSERT INTO ledger SELECT '$t', -count(*) FROM d",
		"UPDATE $t SET s = 'updated' WHERE $where",
		noted($t, "INSERT INTO $t (i, s) SELECT i, 'inserted' FROM generate_series($from, least(19999, $from + 200)) i ON CONFLICT DO NOTHING"),
		transaction("LOCK $t; INSERT INTO ledger SELECT '$t', -count(*) FROM $t; TRUNCATE $t; " . one_of('COMMIT', 'ROLLBACK')),
		"SELECT count(*) FROM $t WHERE $where",
		transaction("SELECT count(*) FROM $t; SELECT pg_sleep(0.05); SELECT count(*) FROM $t; COMMIT"));
}

my $made = 0;

sub alter
{
	my $t = one_of(qw(plain keyed child), @leaves);
	my $root = $t =~ /leaf/ ? 'parts' : $t;
	my $name = 'ix_' . $made++ % 12;
	my $other = 'ix_' . int rand 12;

	return one_of(
		"CREATE INDEX " . maybe('CONCURRENTLY ') . "$name ON $t " . one_of('(i)', '(s)', '(s, i)', 'USING hash (i)', 'USING brin (i)', q{USING gin (to_tsvector('simple', s))}, '(lower(s))', '(i) WHERE i > 1000'),
		"CREATE INDEX $name ON $root (i)",
		"DROP INDEX $other", "DROP INDEX CONCURRENTLY $other", "DROP INDEX $other",
		'REINDEX ' . one_of('TABLE ', 'TABLE CONCURRENTLY ') . $t, "REINDEX INDEX CONCURRENTLY $other",
		"VACUUM $t", "VACUUM (FREEZE) $t", "VACUUM FULL $t", "ANALYZE $t", 'CLUSTER keyed USING keyed_pkey',
		"ALTER TABLE $root ADD COLUMN extra int DEFAULT " . int rand 10, "ALTER TABLE $root DROP COLUMN IF EXISTS extra", "ALTER TABLE $root ADD COLUMN extra int DEFAULT random() * 10",
		"ALTER TABLE $t SET (fillfactor = " . (50 + int rand 50) . ')',
		"ALTER TABLE $t ALTER s SET STORAGE " . one_of(qw(external main extended)),
		"ALTER TABLE $t ADD CHECK (i > -1)", "ALTER TABLE $t ADD CONSTRAINT c CHECK (i < 20000) NOT VALID", "ALTER TABLE $t DROP CONSTRAINT IF EXISTS c", "ALTER TABLE $t VALIDATE CONSTRAINT c",
		"ALTER TABLE $t ALTER s TYPE " . one_of('text', 'varchar', 'text COLLATE "C"'),
		"ALTER TABLE child DROP CONSTRAINT IF EXISTS child_i_fkey", 'ALTER TABLE child ADD CONSTRAINT child_i_fkey FOREIGN KEY (i) REFERENCES keyed NOT VALID', 'ALTER TABLE child VALIDATE CONSTRAINT child_i_fkey',
		"ALTER TABLE plain SET " . one_of('UNLOGGED', 'LOGGED'),
		"ALTER TABLE $t REPLICA IDENTITY " . one_of(qw(FULL NOTHING DEFAULT)),
		"CREATE TRIGGER tr BEFORE INSERT ON $t FOR EACH ROW EXECUTE FUNCTION nothing()", "DROP TRIGGER IF EXISTS tr ON $t", "ALTER TABLE $t DISABLE TRIGGER USER", "ALTER TABLE $t ENABLE TRIGGER USER",
		"CREATE PUBLICATION p FOR TABLE $t", 'DROP PUBLICATION IF EXISTS p',
		(map { my $leaf = one_of(@leaves); ("ALTER TABLE parts ATTACH PARTITION $leaf FOR VALUES $range{$leaf}") x 3, "ALTER TABLE parts DETACH PARTITION $leaf", "ALTER TABLE parts DETACH PARTITION $leaf CONCURRENTLY", "ALTER TABLE parts DETACH PARTITION $leaf FINALIZE" } 1),
		($version >= 190000 ? ("REPACK $t", "REPACK (CONCURRENTLY) $t", 'REPACK (CONCURRENTLY) keyed') : ()),
		'CHECKPOINT');
}

my @sessions;

sub disturb
{
	my $pid = one_of(@sessions)->{pid};
	return one_of("SELECT pg_cancel_backend($pid)", "SELECT pg_cancel_backend($pid)", "SELECT pg_terminate_backend($pid)");
}

# A file with the same rows takes the place of one that may be read just now, at once or after a while.
sub replace_file
{
	my $file = one_of(@files);

	copy($file, "$file.new") or die "$file: $!";
	chmod 0644, "$file.new";
	if (rand() < 0.5)
	{
		unlink $file;
		sleep 0.02;
	}
	rename "$file.new", $file or die "$file: $!";
	return;
}

# ---- the storm

sub session
{
	my ($name) = @_;
	my $session = PgBulk::Session->new($node);

	$session->ask("LOAD 'pgbulk'; SET application_name = '$name'; SET pgbulk.copy_min_size = 0; SET pgbulk.create_index = on; SET pgbulk.debug_create_index = on; SET pgbulk.foreign_keys = on");
	$session->{name} = $name;
	$session->{does} = $name =~ /load/ ? \&load : sub { return (rand() < 0.05 ? \&disturb : rand() < 0.5 ? \&write_some : \&alter)->() };
	return $session;
}

@sessions = map { session($_) } qw(load_1 load_2 other_1 other_2 other_3);
my $stop = time + $seconds;
my (%said, %done);

while (time < $stop)
{
	foreach my $session (@sessions)
	{
		next unless !$session->{sql} || $session->done;
		if ($session->{run}->pumpable)
		{
			$session->wait if $session->{sql};
			my @states = $session->{error} =~ /(?:ERROR|FATAL):  (\w{5})/g;

			$said{$session->{name}}{ $states[0] // 'good' }++ if $session->{sql};
			note "$session->{name}: $session->{sql}\n$session->{error}" if "@states" =~ /XX|42601/;
			$session->send($session->{sql} = $session->{does}->());
		}
		else
		{
			# another one has ended it
			$session->close;
			$session = session($session->{name});
		}
	}
	replace_file() if rand() < 0.05;
	sleep 0.002;
}
$_->close foreach @sessions;
foreach my $name (sort keys %said)
{
	note "$name: " . join(', ', map { "$_ $said{$name}{$_}" } sort keys %{ $said{$name} });
}
wait_for('the end of all', sub { $node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE application_name ~ '^(load|other)_'") eq '0' });
cmp_ok(($said{load_1}{good} // 0) + ($said{load_2}{good} // 0), '>', 3, 'loads go well');
cmp_ok(($said{other_1}{good} // 0), '>', 3, 'so do others');

# ---- afterwards: what an hour has left may take longer than the sessions were given

$node->safe_psql('postgres', 'ALTER SYSTEM SET statement_timeout = 0');
$node->reload;
foreach my $t (sort keys %counted)
{
	is($node->safe_psql('postgres', "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM ($counted{$t}) x"),
		$node->safe_psql('postgres', "SELECT coalesce(sum(n), 0) FROM ledger WHERE t = '$t'"), "$t: rows are as the ledger says");
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM child WHERE NOT EXISTS (SELECT FROM keyed k WHERE k.i = child.i)
	AND EXISTS (SELECT FROM pg_constraint WHERE conname = 'child_i_fkey' AND convalidated)}), 0, 'no row refers to none');
is($node->safe_psql('postgres', 'SELECT count(*) - count(DISTINCT i) FROM keyed'), 0, 'no key is there twice');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_progress_copy'), 0, 'no progress is left');

# indexes of every kind find what the table has; those that failed to be made concurrently are not used
foreach my $index (split /\n/, $node->safe_psql('postgres', q{
	SELECT indrelid::regclass || '|' || indexrelid::regclass || '|' || amname FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
	WHERE indisvalid AND relkind = 'i' AND relnamespace = 'public'::regnamespace AND amname <> 'btree'}))
{
	my ($t, $name, $am) = split /\|/, $index;
	my $where = $am eq 'gin' ? q{to_tsvector('simple', s) @@ 'text'} : $am eq 'hash' ? 'i = 777' : 'i BETWEEN 700 AND 900';
	my $find = "SELECT count(*) FROM $t WHERE $where";

	is($node->safe_psql('postgres', "SET enable_seqscan = off; $find"), $node->safe_psql('postgres', "SET enable_indexscan = off; SET enable_bitmapscan = off; $find"), "$name ($am) of $t finds the rows");
}
is(join(' ', orphans($node)), '', 'no file is left');
is(join(' ', glob($node->data_dir . '/base/pgsql_tmp/*')), '', 'nor a temporary one');

# in the log, what sessions that alter tables may meet in the catalogs; nothing of the kind in loads
check_log($node, qr/57P01|terminating background worker "REPACK decoding worker"|DETAIL:  Key .* is still referenced|is not a PostgreSQL .*process|WARNING:  (?:cannot reindex invalid|skipping reindex of invalid)| other_\d XX000 (?:ERROR:  (?:tuple concurrently|could not open relation with OID|cache lookup failed|could not find tuple for parent of relation)|STATEMENT: |BACKTRACE: )/);
check_tables($node);
done_testing();
