# Cached catalog entries may be invalidated at any moment, as when another
# session's GRANT or ANALYZE of the table commits.  With debug_discard_caches,
# which servers with assertions have, that happens at each lookup. And a session
# that grants during loads.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('caches', 'max_parallel_workers_per_gather = 0');
my ($session, $other) = map { PgBulk::Session->new($node) } 1 .. 2;

$node->safe_psql('postgres', q{
	CREATE FUNCTION half(i int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT i / 2';
	CREATE TABLE r1 (k int PRIMARY KEY);
	CREATE TABLE r2 (k int PRIMARY KEY);
	CREATE TABLE r3 (k text PRIMARY KEY);
	INSERT INTO r1 VALUES (1), (2), (3);
	INSERT INTO r2 VALUES (1), (2), (3);
	INSERT INTO r3 VALUES ('a'), ('b');
	CREATE TABLE t (i int PRIMARY KEY, a int REFERENCES r1, b text REFERENCES r3, c int REFERENCES r2 ON DELETE CASCADE, d int DEFAULT 1 CHECK (d < 5), e int GENERATED ALWAYS AS (i + 1) STORED);
	CREATE INDEX ON t (b);
	CREATE INDEX ON t (half(i)) WHERE a > 0;
	CREATE TABLE child (i int REFERENCES t ON DELETE SET NULL);
	CREATE TABLE p (id int NOT NULL, ref int, u text, v text) PARTITION BY RANGE (id);
	CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
	CREATE TABLE p2 (v text, gone int, u text, ref int, id int NOT NULL);
	ALTER TABLE p2 DROP COLUMN gone;
	ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (100) TO (200);
	ALTER TABLE p1 ADD UNIQUE (id), ADD UNIQUE (u);
	ALTER TABLE p2 ADD UNIQUE (id), ADD FOREIGN KEY (ref) REFERENCES p1 (id)});

my $t = data_file('t.csv', 1, "1,1,a,1\n2,2,b,2\n3,9,a,1\n1,3,b,3\n4,1,c,1\nx,1,a,1\n5,,,\n");
my $p = data_file('p.csv', 1, "1,,x,1\n101,1,y,2\n102,7,z,3\n2,,x,4\n1,,w,5\n300,,a,b\n");
my $t_columns = '"columns": ["i", "a", "b", "c"]';
my @loads = (
	[ 't', $t, qq($t_columns, "on_error": "ignore") ],
	[ 't', $t, qq($t_columns, "on_error": "ignore", "on_duplicate": "keep_old") ],
	[ 't', $t, qq($t_columns, "on_error": "ignore", "on_duplicate": "keep_new") ],
	[ 't', $t, qq($t_columns) ],
	[ 'p', $p, '"on_error": "ignore"' ],
	[ 'p', $p, '"on_error": "ignore", "on_duplicate": "keep_old"' ],
	[ 'p', $p, '"on_error": "ignore", "on_duplicate": "keep_new"' ],
	[ 'p', $p, '"on_duplicate": "keep_new"' ]);

# What becomes of a load, and of the table; it is undone.
sub outcome
{
	my ($table, $file, $options) = @_;
	my $said = $session->ask("BEGIN; SELECT rows_read, rows_loaded, rows_rejected, rows_duplicate, rows_replaced, writer
		FROM bulk_load('$table', '$file', '{$options, \"log_verbosity\": \"silent\"}'); SELECT string_agg(x::text, ' ' ORDER BY x::text) FROM $table x");
	my $state = $session->sqlstate;
	my ($reason) = $session->{error} =~ /DETAIL: *(.*)/;

	$session->ask('ROLLBACK');
	return join(' / ', $said, $state, $reason // '');
}

SKIP:
{
	$session->ask('SET debug_discard_caches = 1; SET debug_discard_caches = 0');
	skip 'no debug_discard_caches', 1 if $session->sqlstate;
	foreach my $writer ('direct', 'buffered')
	{
		foreach my $load (@loads)
		{
			my ($table, $file, $options) = @$load;
			my @call = ($table, $file, qq("writer": "$writer", $options));
			my $expected = outcome(@call);

			$session->ask('SET debug_discard_caches = 1');
			is(outcome(@call), $expected, "$table, $call[2]");
			$session->ask('SET debug_discard_caches = 0');
		}
	}
}

# For so many loads; the other session continues meanwhile.  It pauses after each change: where a
# table's entry in the relation cache changes while the server rebuilds it, the server rebuilds it
# once more from within, and changes without a pause keep it there until its stack is full.
$other->send('DO $$BEGIN LOOP GRANT SELECT ON t TO PUBLIC; COMMIT; PERFORM pg_sleep(0.0003); REVOKE SELECT ON t FROM PUBLIC; COMMIT; PERFORM pg_sleep(0.0003); END LOOP; END$$');
foreach my $writer ('direct', 'buffered')
{
	my $expected = outcome('t', $t, qq("writer": "$writer", $t_columns, "on_error": "ignore"));
	my %seen;

	$seen{outcome('t', $t, qq("writer": "$writer", $t_columns, "on_error": "ignore"))}++ foreach 1 .. 150;
	is(join(' and ', keys %seen), $expected, "$writer, with a session that grants");
}
ok(!$other->done, 'it did so until now');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($other->{pid})");
$other->wait;

# What another session changes between two loads counts for the second.
$node->safe_psql('postgres', q{
	CREATE ROLE loader; GRANT pg_read_server_files TO loader; CREATE TABLE c (i int, s text); GRANT ALL ON c TO loader;
	CREATE SCHEMA _timescaledb_catalog});
my $c = data_file('c.csv', 1, "1,a\n2,\xe4\n");
my $call = "SELECT rows_loaded FROM bulk_load('c', '$c', '{\"encoding\": \"LATIN1\"}')";
$session->ask("SET ROLE loader; PREPARE load AS SELECT rows_loaded FROM bulk_load(\$1, '$c', '{\"encoding\": \"LATIN1\"}')");
foreach my $change (
	[ 'SELECT 1', '' ],
	[ 'ALTER TABLE c ADD COLUMN more int', '22P04' ],
	[ 'ALTER TABLE c DROP COLUMN more', '' ],
	[ 'ALTER TABLE c ALTER s TYPE int USING 1', '22P02' ],
	[ 'DROP TABLE c; CREATE TABLE c (i int, s text)', '42501' ],
	[ 'GRANT INSERT (i) ON c TO loader', '42501' ],
	[ 'GRANT INSERT (s) ON c TO loader', '' ],
	[ 'REVOKE INSERT ON c FROM loader', '42501' ],
	[ 'GRANT ALL ON c TO loader', '' ],
	[ 'ALTER TABLE c ENABLE ROW LEVEL SECURITY', '0A000' ],
	[ 'ALTER TABLE c DISABLE ROW LEVEL SECURITY', '' ],
	[ 'ALTER TABLE c ADD CHECK (i < 2) NOT VALID', '23514' ],
	[ 'ALTER TABLE c DROP CONSTRAINT c_i_check', '' ],
	[ 'CREATE UNIQUE INDEX c_one ON c ((i > 0))', '23505' ],
	[ 'DROP INDEX c_one', '' ],
	[ 'REVOKE pg_read_server_files FROM loader', '42501' ],
	[ 'GRANT pg_read_server_files TO loader', '' ],
	[ q{SET allow_system_table_mods = on; CREATE TABLE _timescaledb_catalog.hypertable (schema_name name, table_name name);
		INSERT INTO _timescaledb_catalog.hypertable VALUES ('public', 'c'); INSERT INTO pg_extension
		SELECT 4200000001, 'timescaledb', oid, 'public'::regnamespace, false, '1' FROM pg_roles WHERE rolname = current_user;
		ALTER EXTENSION timescaledb ADD TABLE _timescaledb_catalog.hypertable}, '0A000' ],
	[ 'DROP EXTENSION timescaledb', '' ])
{
	my ($sql, $expected) = @$change;

	$other->ask('TRUNCATE c');
	$other->ask($_) foreach split /;\s*/, $sql;
	is($other->sqlstate, '', "done: $sql") or diag $other->{error};
	foreach my $load ($call, "EXECUTE load('c')")
	{
		$session->ask($load);
		is($session->sqlstate, $expected, "then: $load") or diag $session->{error};
	}
}

$_->close foreach $session, $other;
check_log($node, qr/ 25P01 WARNING:  there is no transaction/);
check_tables($node);
done_testing();
