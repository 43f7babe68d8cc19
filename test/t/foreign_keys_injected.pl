# What others do to a referenced table while a load looks up many of its rows together: to the index, while no leaf of it
# is locked, and to the rows, when their entries have been found.  The load waits there at injection points.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('foreign_keys_injected', 'deadlock_timeout = 1h', 'lock_timeout = 60s', 'autovacuum = off');
if (!has_extension($node, 'injection_points'))
{
	$node->stop;
	plan skip_all => 'the server has no injection points';
}
my ($load, $other, $third) = map { PgBulk::Session->new($node) } 1 .. 3;

# rows refer to every tenth key, but not everywhere: what is far away is reached from the root
$node->safe_psql('postgres', q{
	CREATE EXTENSION injection_points;
	CREATE TABLE p (id int PRIMARY KEY, s text);
	CREATE TABLE t (n int, p int REFERENCES p)});
my @referenced = grep { $_ % 4000 < 1000 } 1 .. 40000;
my $file = data_file('rows.csv', 1, join('', map { "$_," . 10 * $referenced[ $_ * 7919 % @referenced ] . "\n" } 1 .. 20000));
my $vacuum = 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) p';

sub fill
{
	$node->safe_psql('postgres', 'TRUNCATE t, p; INSERT INTO p SELECT i * 10, \'row\' FROM generate_series(1, 40000) i');
}

# Has the load wait wherever it comes past the point, and the other session do one thing after the other meanwhile.
sub with_others
{
	my ($point, @turns) = @_;
	my $turns = 0;

	$load->ask("SELECT injection_points_set_local(); SELECT injection_points_attach('$point', 'wait')");
	$load->send(qq(BEGIN; SELECT rows_loaded, rows_rejected FROM bulk_load('t', '$file', '{"on_error": "ignore", "log_verbosity": "silent"}')));
	while ($turns < @turns)
	{
		last if wait_for('the load to wait', sub { $load->done ? 'done' : $other->ask("SELECT 1 FROM pg_stat_activity WHERE pid = $load->{pid} AND wait_event = '$point'") }) eq 'done';
		$other->ask($turns[ $turns++ ]);
		is($other->{error}, '', "$point: the other session") if $other->{error};
		$other->ask("SELECT injection_points_detach('$point')") if $turns == @turns;
		$other->ask("SELECT injection_points_wakeup('$point')");
	}
	my $out = $load->wait;
	is($load->{error}, '', "$point: no error");
	is($turns, scalar @turns, "$point: turns of the other session");
	$load->ask('COMMIT');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t WHERE NOT EXISTS (SELECT FROM p WHERE id = p)'), 0, "$point: no orphans");
	return $out;
}

# leaves are split where the load is, was, and will be; those that are empty are deleted and filled with other keys
fill();
$node->safe_psql('postgres', 'DELETE FROM p WHERE id / 10 % 4000 BETWEEN 1500 AND 2500');
srand(1);
is(with_others('pgbulk-lookup-no-leaf-locked', $vacuum, map {
		my $from = 1 + int(rand(40000));
		"INSERT INTO p SELECT i * 10 + $_ FROM generate_series($from, $from + 400) i", $_ % 3 ? () : $vacuum
	} 1 .. 6), '20000|0', 'splits and deletions: all rows are found');

# rows of the file with that key
sub rows_with
{
	my ($key) = @_;
	my $rows = () = slurp_file($file) =~ /,$key$/mg;

	return $rows;
}

# rows are deleted and updated, also by those who have not ended
fill();
my $gone = rows_with(10) + rows_with(40);
$third->ask("BEGIN; UPDATE p SET s = 'new' WHERE id = 200");
is(with_others('pgbulk-referenced-entries-found', q{
	DELETE FROM p WHERE id = 10;
	UPDATE p SET s = 'new' WHERE id = 20;
	UPDATE p SET s = repeat('x', 4000) WHERE id = 30;
	UPDATE p SET id = 31 WHERE id = 40;
	DELETE FROM p WHERE id = 50; INSERT INTO p VALUES (50, 'another');
	BEGIN; DELETE FROM p WHERE id = 60; ROLLBACK}), 20000 - $gone . "|$gone", 'changes: two rows have gone');
$third->ask('COMMIT');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT p) FROM t WHERE p IN (20, 30, 50, 60, 200)'), 5, 'changes: the others are referred to');

# the place of a row that was deleted before is another row's, by the time that the row would be fetched
fill();
my $place = $node->safe_psql('postgres', 'SELECT ctid FROM p WHERE id = 100');
my $bad = rows_with(100);
$node->safe_psql('postgres', 'DELETE FROM p WHERE id = 100');
is(with_others('pgbulk-referenced-entries-found', "$vacuum; INSERT INTO p SELECT 1000000 + i, 'row' FROM generate_series(1, 300) i"),
	20000 - $bad . "|$bad", 'a place that is used again: no row is found');
cmp_ok($node->safe_psql('postgres', "SELECT id FROM p WHERE ctid = '$place'"), '>', 1000000, 'it is used again');

$_->close foreach $load, $other, $third;
check_log($node);
check_tables($node);
done_testing();
