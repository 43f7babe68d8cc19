# Thousands of loads in one transaction, each below a savepoint that is released or rolled back to: memory, descriptors
# and files do not grow with their number, and rows are there as the savepoints say.
#
# PGBULK_TEST_SAVEPOINTS=n has n of them for the quickest kinds of loads; else 1000, or 2000 where PGBULK_TEST_LONG is set:
# of all kinds together 11,150, or 22,300.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = bulk_server('savepoints', 'shared_buffers = 32MB', 'max_wal_size = 1GB', 'max_parallel_workers = 8', 'checkpoint_timeout = 1h');
my $many = $ENV{PGBULK_TEST_SAVEPOINTS} // ($ENV{PGBULK_TEST_LONG} ? 2000 : 1000);
my $folder = data_dir();
my $good = data_file('good.csv', 1, join('', map { "$_,text $_\n" } 1 .. 20));
my $bad = data_file('bad.csv', 1, join('', map { ($_ == 15 ? 'x' : '') . "$_,text $_\n" } 1 .. 20));
my $known = data_file('known.csv', 1, join('', map { "-$_,new $_\n" } 1 .. 20));
my $large = data_file('large.csv', 1, join('', map { "$_,text $_\n" } 1 .. 5000));

$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE TABLE old AS SELECT -i AS i, 'before' AS s FROM generate_series(0, 29) i;
	CREATE TABLE plain (i int, s text);
	CREATE TABLE keyed (i int PRIMARY KEY, s text);
	CREATE INDEX ON keyed (s);
	CREATE TABLE indexed (i int, s text);
	CREATE INDEX ON indexed (i); CREATE INDEX ON indexed USING gin (to_tsvector('simple', s)); CREATE INDEX ON indexed USING brin (i);
	CREATE TABLE parts (i int, s text) PARTITION BY HASH (i);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1);
	CREATE TABLE serial (i serial PRIMARY KEY, s text);
	CREATE TABLE child (i int REFERENCES keyed, s text);
	CREATE TABLE rejected (load_id bigint, target text, loaded_at timestamptz, file text, line_number bigint, byte_offset bigint,
		reason text, column_name text, field_value text, sqlstate text, message text, raw_line text, raw_bytes bytea)});

my $quiet = '"log_verbosity": "silent"';

sub bulk_load
{
	my ($table, $file, $options) = @_;
	return "SELECT rows_loaded FROM bulk_load('$table', '$file', '" . ($options // '{}') . "')";
}

# What the session's process holds, and the files of the database.
sub holds
{
	my ($session) = @_;
	my ($rss) = slurp_file("/proc/$session->{pid}/status") =~ /^RssAnon:\s+(\d+) kB/m;
	my @fds = glob "/proc/$session->{pid}/fd/*";
	my $oid = $session->ask("SELECT oid FROM pg_database WHERE datname = 'postgres'");
	my @files = grep { -s $_ } glob $node->data_dir . "/base/$oid/* " . $node->data_dir . '/base/pgsql_tmp/*';

	return { memory => $rss, descriptors => scalar @fds, files => scalar @files };
}

# Name, table, statement, rows that it adds, how many of its savepoints for one of the others.
my @kinds = (
	[ 'plain', 'plain', bulk_load('plain', $good), 20, 1 ],
	[ 'direct', 'plain', bulk_load('plain', $good, direct(0)), 20, 1 ],
	[ 'workers', 'plain', 'SET LOCAL pgbulk.chunk_size = 16384; ' . bulk_load('plain', $large, direct(1)), 5000, 0.05 ],
	[ 'rejects', 'plain', bulk_load('plain', $bad, qq({"on_error": "ignore", $quiet, "reject_table": "rejected", "reject_file": "$folder/bad.out"})), 19, 0.2 ],
	[ 'an error', 'indexed', bulk_load('indexed', $bad), undef, 1 ],
	[ 'an error, direct', 'indexed', bulk_load('indexed', $bad, direct(0)), undef, 0.3 ],
	[ 'indexes', 'indexed', bulk_load('indexed', $good), 20, 0.3 ],
	[ 'indexes, rebuilt', 'indexed', bulk_load('indexed', $good, direct(0, '"indexes": "rebuild"')), 'back', 0.1 ],
	[ 'a key twice', 'keyed', bulk_load('keyed', $good) . '; ' . bulk_load('keyed', $good), undef, 1 ],
	[ 'keep_old', 'keyed', bulk_load('keyed', $known, qq({"on_duplicate": "keep_old", $quiet})), 0, 1 ],
	[ 'keep_new', 'keyed', bulk_load('keyed', $known, qq({"on_duplicate": "keep_new", $quiet})), 0, 0.1 ],
	[ 'keep_new, direct', 'keyed', bulk_load('keyed', $known, direct(0, qq("on_duplicate": "keep_new", $quiet))), 'back', 0.1 ],
	[ 'a dry run', 'keyed', bulk_load('keyed', $good, qq({"dry_run": true, $quiet})), 0, 0.1 ],
	[ 'truncate', 'plain', bulk_load('plain', $good, '{"truncate": true}'), 'back', 0.3 ],
	[ 'partitions', 'parts', bulk_load('parts', $good), 20, 1 ],
	[ 'serial', 'serial', bulk_load('serial', $good, '{"columns": [null, "s"]}'), 20, 1 ],
	[ 'foreign key', 'child', bulk_load('child', $known), 20, 1 ],
	[ 'COPY with an option', 'plain', "COPY plain FROM '$good' (FORMAT csv, WRITER buffered)", 20, 1 ],
	[ 'COPY', 'indexed', "SET LOCAL pgbulk.copy = on; COPY indexed FROM '$good' (FORMAT csv)", 20, 0.3 ],
	[ 'COPY, exclusive', 'parts', "SET LOCAL pgbulk.copy = exclusive; COPY parts FROM '$good' (FORMAT csv)", 20, 0.3 ]);

my $session = PgBulk::Session->new($node);
$session->ask("LOAD 'pgbulk'; SET pgbulk.copy_min_size = 0; SET client_min_messages = error");

foreach my $kind (@kinds)
{
	my ($name, $table, $sql, $adds, $share) = @$kind;
	my $times = int($many * $share / 2);
	my ($half, $whole, $kept) = (undef, undef, 0);
	my $start = time;

	$node->safe_psql('postgres', "TRUNCATE plain, keyed, indexed, parts, serial, child, rejected; INSERT INTO keyed SELECT * FROM old; INSERT INTO $table (i, s) SELECT i - 1000, s FROM old WHERE '$table' <> 'child'");
	$node->safe_psql('postgres', 'CHECKPOINT');
	$session->ask('BEGIN');
	my $before = $session->ask("SELECT count(*) FROM $table");
	foreach my $n (1 .. 2)
	{
		my $text = '';

		foreach my $i (1 .. $times)
		{
			# of three, two stay; one that fails, and one that makes new files, never does
			my $stays = defined $adds && $adds ne 'back' && $i % 3;

			$text .= 'SAVEPOINT s; ' . "$sql; " . ($stays ? '' : 'ROLLBACK TO s; ') . "RELEASE s;\n";
			$kept++ if $stays;
		}
		$session->ask('\\i ' . data_file('statements.sql', 1, $text) . "\nSELECT 1");
		my @errors = $session->{error} =~ /(?:ERROR|FATAL):  (\w{5})/g;
		is(scalar @errors, defined $adds ? 0 : $times, "$name: errors") or diag substr $session->{error}, 0, 400;
		($half, $whole) = ($whole, holds($session));
	}
	is($session->ask("SELECT count(*) FROM $table"), $before + $kept * (($adds // 0) eq 'back' ? 0 : $adds // 0), "$name: rows");
	note sprintf('%s, %d times, %.1f s: %s', $name, 2 * $times, time - $start, join(', ', map { "$_ $half->{$_} and $whole->{$_}" } sort keys %$whole));
	SKIP:
	{
		skip 'sanitizers need memory themselves', 1 if $ENV{PGBULK_TEST_SANITIZE};
		# a huge page may be one of them
		cmp_ok($whole->{memory}, '<', $half->{memory} + 2100 + 0.4 * $times, "$name: memory");
	}
	cmp_ok($whole->{$_}, '<=', $half->{$_} + 8, "$name: $_") foreach qw(descriptors files);
	$session->ask('COMMIT');
	is($session->{error}, '', "$name: is committed");
	is($session->ask("SELECT count(*) FROM $table"), $before + $kept * (($adds // 0) eq 'back' ? 0 : $adds // 0), "$name: rows after the commit");
	is(join(' ', orphans($node)), '', "$name: no file is left");
}
$session->close;
check_log($node);
check_tables($node);
done_testing();
