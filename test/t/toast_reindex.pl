# REINDEX CONCURRENTLY replaces the index of a TOAST table while a load moves
# values there. The session that loads uses the new one afterwards, and it has
# all entries.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('toast_reindex');
my ($watch, $gate, $old, $reindex, $load) = map { PgBulk::Session->new($node) } 1 .. 5;
my $rows = 2000;
my $wide = data_file('wide.csv', 1, join('', map { "$_," . "wide $_ " x 300 . "\n" } 1 .. $rows));

# The load stops at the last row while a lock is held; it has then looked at
# another table, and so processed all invalidations.
$node->safe_psql('postgres', qq{
	CREATE EXTENSION amcheck;
	CREATE TABLE elsewhere (i int);
	CREATE FUNCTION held(i int) RETURNS bool LANGUAGE plpgsql AS \$\$
	BEGIN
	IF i = $rows THEN
		PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1); PERFORM count(*) FROM elsewhere;
	END IF;
	RETURN true;
	END\$\$;
	CREATE TABLE t (i int CHECK (held(i)), s text);
	ALTER TABLE t ALTER s SET STORAGE external});
my $toast = $node->safe_psql('postgres', "SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 't'");

sub reindex_is
{
	my ($phase) = @_;

	wait_for($phase, sub { $watch->ask("SELECT count(*) FROM pg_stat_progress_create_index WHERE phase = '$phase'") eq '1' });
}

foreach my $workers (@WORKERS)
{
	my $call = "SELECT rows_loaded FROM bulk_load('t', '$wide', '" . direct($workers) . "')";

	$node->safe_psql('postgres', 'TRUNCATE t');

	# the new index is there and is filled, but an old snapshot is in its way
	$old->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$reindex->send("REINDEX INDEX CONCURRENTLY ${toast}_index");
	reindex_is('waiting for old snapshots');
	$watch->ask('SELECT pg_current_xact_id(); SELECT pg_advisory_lock(1)');
	$load->send($call);
	wait_for('the load', sub { $gate->ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") eq '1' });
	$old->ask('COMMIT');
	reindex_is('waiting for readers before marking dead');
	$watch->ask('SELECT pg_advisory_unlock(1)');
	is($load->wait, $rows, "$workers workers: a load with REINDEX");
	$reindex->wait;
	is($reindex->{error}, '', "$workers workers: which ends");

	is($load->ask("INSERT INTO t VALUES (0, repeat('inserted', 1000)) RETURNING i"), '0', "$workers workers: the session can insert");
	is($load->ask($call), $rows, "$workers workers: and load");
	is($load->ask('SELECT count(*), sum(length(s)) > 0 FROM t'), 2 * $rows + 1 . '|t', "$workers workers: all values are there");
	is($load->{error}, '', "$workers workers: no error");
	is($node->safe_psql('postgres', "SELECT bt_index_check('${toast}_index', true)"), '', "$workers workers: the index has all of them");
}

$_->close foreach $watch, $gate, $old, $reindex, $load;
check_log($node);
$node->stop;
done_testing();
