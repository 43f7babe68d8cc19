# Loads into tables of Citus, by a coordinator and by a worker: the rows are in the shards in which Citus's COPY puts
# them; an error names the node, the file and the line; all nodes have all of a load, or nothing; and shards do not move
# away under a load.
#
# Skipped where Citus is not installed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($main, @workers) = citus_servers('citus');
my $folder = data_dir();

sub ask { my ($sql) = @_; return $main->safe_psql('postgres', $sql); }

sub error_of
{
	my ($sql, $node) = @_;
	my ($rc, $out, $err) = ($node // $main)->psql('postgres', $sql);
	return $err;
}

# How many rows each shard has, whichever node has it, by their ranges.
sub counts_of
{
	my ($table) = @_;

	return ask("SELECT shardminvalue, result FROM run_command_on_shards('$table', 'SELECT count(*) FROM %s') JOIN pg_dist_shard USING (shardid) ORDER BY shardminvalue::int");
}

# ---- the rows are where COPY puts them ----

my $columns = 'k %s, s text, n numeric(20,4) DEFAULT 7, t timestamptz, g int GENERATED ALWAYS AS (length(s)) STORED, i bigserial';
my %keys = (
	int => sub { $_[0] * 7919 - 100000 },
	bigint => sub { $_[0] * 1234567891011 },
	text => sub { "key \"$_[0]\"" },
	uuid => sub { sprintf('%08x-0000-4000-8000-%012x', $_[0] * 2654435761 % 4294967296, $_[0]) },
	date => sub { sprintf('20%02d-%02d-%02d', $_[0] % 90, 1 + $_[0] % 12, 1 + $_[0] % 28) },
	'numeric' => sub { $_[0] / 8 });
my %files;

# Row N of a file whose key is of that type.
sub row_of
{
	my ($type, $n) = @_;
	my $text = $n % 5 ? qq{text ""$n""\nof a row} : '';

	(my $key = $keys{$type}->($n)) =~ s/"/""/g;
	return qq{"$key","$text",$n.25,2026-01-02 03:04:05\n};
}

foreach my $type (sort keys %keys)
{
	(my $name = "by_$type") =~ s/\W//g;
	ask(sprintf("CREATE TABLE $name ($columns)", $type) . "; SELECT create_distributed_table('$name', 'k')");
	$files{$type} = data_file("$name.csv", 1, join('', map { row_of($type, $_) } 1 .. 3000));
	ask("COPY $name (k, s, n, t) FROM '$files{$type}' (FORMAT csv)");
	my $found = ask("SELECT md5(string_agg(x, ',' ORDER BY x)) FROM (SELECT (k, s, n, t, g)::text AS x FROM $name) q");
	my $places = counts_of($name);
	ask("TRUNCATE $name");
	is(ask(qq{SELECT rows_loaded, writer FROM bulk_load('$name', '$files{$type}', '{"columns": ["k", "s", "n", "t"]}')}), '3000|nodes', "$type: is loaded");
	is(ask("SELECT md5(string_agg(x, ',' ORDER BY x)) FROM (SELECT (k, s, n, t, g)::text AS x FROM $name) q"), $found, "$type: the rows are COPY's");
	is(counts_of($name), $places, "$type: in the same shards");
	is(ask("SELECT count(DISTINCT i) FROM $name"), '3000', "$type: numbers of the sequence here");
	is(ask("SELECT count(*) FROM $name WHERE k = '" . $keys{$type}->(77) . "'") > 0 ? 1 : 0, 1, "$type: a row is found by its key");
}
is(ask(qq{SELECT DISTINCT n ->> 'sent' FROM bulk_load('by_int', '$files{int}', '{"columns": ["k", "s", "n", "t"]}') l, jsonb_array_elements(l.details -> 'nodes') n}), 'as they are', 'rows are sent as they are');
is(ask(qq{SELECT rows_loaded FROM bulk_load('by_int', '$files{int}', '{"columns": ["k", "s", "n", "t"], "where": "n < 100"}')}), '99', 'and formed anew with a condition');
ask('TRUNCATE by_int');
ask("COPY by_int (k, s, n, t) FROM '$files{int}' WITH (FORMAT csv)");
is(ask('SELECT count(*) FROM by_int'), '3000', "Citus's own COPY goes on");
ask('TRUNCATE by_int');

# files with all columns, whose rows are mostly one line: the key's bytes or value alone say where
my @with_workers;
$keys{'varchar(40)'} = sub { ('k' x ($_[0] % 40)) };
$keys{'char(40)'} = $keys{'varchar(40)'};
$keys{'text COLLATE "C"'} = sub { ('k' x ($_[0] % 40)) . $_[0] % 13 . ($_[0] % 3 ? '' : "\xc3\xa9, \"x\"") };
foreach my $type (sort keys %keys)
{
	(my $name = "whole_$type") =~ s/\W//g;
	my $path = data_file("$name.csv", 1, join('', map {
		my $key = $keys{$type}->($_);
		$key =~ s/"/""/g;
		$key = "\"$key\"" if $_ % 4 == 0 || $key =~ /[",]/ || $key eq '';
		"$key," . ($_ % 9 ? 'v' x ($_ % 100) : "\"in\nside\"") . "\n" } 1 .. 3000));

	ask("CREATE TABLE $name (k $type, s text); SELECT create_distributed_table('$name', 'k')");
	ask("COPY $name FROM '$path' (FORMAT csv)");
	my $found = ask("SELECT md5(string_agg(x, ',' ORDER BY x)) FROM (SELECT (k, s)::text AS x FROM $name) q") . counts_of($name);
	ask("TRUNCATE $name; SELECT bulk_load('$name', '$path')");
	is(ask("SELECT md5(string_agg(x, ',' ORDER BY x)) FROM (SELECT (k, s)::text AS x FROM $name) q") . counts_of($name), $found, "$type: whole rows are in the shards in which COPY puts them");
	my $with_workers = ask(qq{SET pgbulk.chunk_size = 8192; TRUNCATE $name; SELECT workers > 0, details ->> 'no_workers' FROM bulk_load('$name', '$path', '{"workers": 2}')});
	is(ask("SELECT md5(string_agg(x, ',' ORDER BY x)) FROM (SELECT (k, s)::text AS x FROM $name) q") . counts_of($name), $found, "$type: as whichever process finds them");
	push @with_workers, $type if $with_workers eq 't|';
}

cmp_ok(scalar @with_workers, '>', keys(%keys) / 2, 'most of them with workers') or diag "@with_workers";

# by several sessions with each node
foreach my $case ([ 3, 100, 3 ], [ 3, 2, 2 ], [ 1, 100, 1 ])
{
	my ($most, $pool, $found) = @$case;
	my $rows = ask('SELECT md5(string_agg(x, \',\' ORDER BY x)) FROM (SELECT (k, s)::text AS x FROM whole_int) q') . counts_of('whole_int');

	ask('TRUNCATE whole_int');
	is(ask(qq{SET pgbulk.max_connections_per_node = $most; SET citus.max_adaptive_executor_pool_size = $pool;
		SELECT DISTINCT n ->> 'sessions' FROM bulk_load('whole_int', '$folder/whole_int.csv') l, jsonb_array_elements(l.details -> 'nodes') n}), $found, "at most $most sessions, $pool by Citus: how many there are");
	is(ask('SELECT md5(string_agg(x, \',\' ORDER BY x)) FROM (SELECT (k, s)::text AS x FROM whole_int) q') . counts_of('whole_int'), $rows, "at most $most sessions, $pool by Citus: the rows");
}

# ---- other kinds of tables ----

ask(q{CREATE TABLE towns (id int PRIMARY KEY, name text); SELECT create_reference_table('towns');
	CREATE TABLE people (town int REFERENCES towns, id int, name text CHECK (name <> 'nobody'), PRIMARY KEY (town, id));
	SELECT create_distributed_table('people', 'town');
	CREATE TABLE pets (town int, owner int, name text, FOREIGN KEY (town, owner) REFERENCES people);
	SELECT create_distributed_table('pets', 'town', colocate_with => 'people');
	CREATE TABLE single (a int, b text); SELECT create_distributed_table('single', NULL);
	CREATE TABLE here (a int PRIMARY KEY, b text); SELECT citus_add_local_table_to_metadata('here');
	CREATE TABLE days (d date, k int, s text) PARTITION BY RANGE (d);
	CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
	CREATE TABLE days_2 PARTITION OF days FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
	SELECT create_distributed_table('days', 'k')});
my $towns = data_file('towns.csv', 1, join('', map { "$_,town $_\n" } 1 .. 500));
my $people = data_file('people.csv', 1, join('', map { ($_ % 500 + 1) . ",$_,person $_\n" } 1 .. 2000));
my $days = data_file('days.csv', 1, join('', map { sprintf("2026-%02d-%02d,%d,text\n", 1 + $_ % 2, 1 + $_ % 28, $_) } 1 .. 1000));
my $plain = data_file('plain.csv', 1, join('', map { "$_,text $_\n" } 1 .. 1000));

sub loads { my ($table, $file) = @_; return ask("SELECT rows_loaded FROM bulk_load('$table', '$file')"); }

is(loads('towns', $towns), '500', 'a reference table');
is(ask(q{SELECT string_agg(DISTINCT result, ',') || ' ' || count(*) FROM run_command_on_placements('towns', 'SELECT count(*) FROM %s')}), '500 3', 'has the rows on all nodes');
is(loads('people', $people), '2000', 'a table with a key to it');
is(loads('pets', data_file('pets.csv', 1, join('', map { ($_ % 500 + 1) . ",$_,cat\n" } 1 .. 2000))), '2000', 'a table with a key to one beside it');
is(loads('single', $plain), '1000', 'a table with one shard');
is(loads('here', $plain), '1000', 'a table of the coordinator');
is(loads('days', $days), '1000', 'a partitioned table');
ask(q{CREATE EXTENSION IF NOT EXISTS citus_columnar; CREATE TABLE strips (a int, b text) USING columnar; SELECT create_distributed_table('strips', 'a')});
is(loads('strips', $plain), '1000', 'a table whose shards are columnar');
is(ask('SELECT count(*), sum(a), count(DISTINCT b) FROM strips'), '1000|500500|1000', 'has all rows');
is(ask('SELECT count(*) FROM days_1'), '500', 'has them in its partitions');
is(loads('days_2', data_file('days_2.csv', 1, join('', map { "2026-02-03,$_,text\n" } 1 .. 100))), '100', 'one partition');
like(error_of(q{SELECT bulk_load('days_2', '} . data_file('days_3.csv', 1, "2026-02-03,1,text\n2026-01-03,2,text\n") . q{')}), qr{violates partition constraint}, 'a row that is not for it');

ask("LOAD 'pgbulk'; COPY single (a, b) FROM '$plain' WITH (FORMAT csv, SKIP 990)");
is(ask('SELECT count(*) FROM single'), '1010', 'COPY with an option of pgbulk');
ask("LOAD 'pgbulk'; SET pgbulk.copy = on; COPY single (a, b) FROM '$plain' WITH (FORMAT csv)");
is(ask('SELECT count(*) FROM single'), '2010', "and without one it is Citus's own, whatever the setting");

# ---- triggers, and users ----

ask(q{CREATE TABLE fired (what text); GRANT INSERT ON fired TO PUBLIC;
	CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.fired VALUES (tg_table_name); RETURN NULL; END';
	TRUNCATE here; CREATE TRIGGER fires AFTER INSERT ON here FOR EACH STATEMENT EXECUTE FUNCTION fires()});
is(loads('here', $plain), '1000', 'a table with a trigger for statements');
like(ask(q{SELECT string_agg(what, ',') FROM fired}), qr{^here_\d+$}, 'which fires once, where the rows are');

ask(q{CREATE ROLE loader LOGIN; GRANT pg_read_server_files TO loader; GRANT INSERT (a) ON single TO loader});
like(error_of("SET ROLE loader; SELECT bulk_load('single', '$plain')"), qr{permission denied for (?:table|relation) single}, 'who may not insert');
ask('GRANT INSERT ON single TO loader');
is(ask("SET ROLE loader; SELECT rows_loaded FROM bulk_load('single', '$plain')"), '1000', 'who may insert');
ask('TRUNCATE single');
ask(qq{SELECT bulk_load('single', '$plain', '{"limit": 10}')});
like(error_of("SET citus.use_secondary_nodes = always; SELECT bulk_load('single', '$plain')"), qr{citus.use_secondary_nodes}, 'a session that only reads');

# ---- errors ----

sub fails
{
	my ($name, $table, $lines, $error, $node) = @_;
	my $file = data_file('bad.csv', 1, $lines);
	my $before = ask("SELECT count(*) FROM $table");

	like(error_of("SELECT bulk_load('$table', '$file')", $node), $error, "$name: the error");
	is(ask("SELECT count(*) FROM $table"), $before, "$name: nothing is loaded");
}

my $many = join('', map { ($_ % 500 + 1) . ',' . ($_ + 10000) . ",person $_\n" } 1 .. 2000);

fails('a key that is null', 'people', "1,20000,x\n,20001,x\n", qr{the partition column of table public\.people cannot be NULL.*line 2}s);
fails('a key that is none', 'people', "1,20000,x\nz,20001,x\n", qr{invalid input syntax for type integer: "z".*line 2, column town}s);
fails('a value that is none', 'people', $many . "7,z,x\n", qr{invalid input syntax for type integer: "z".*line 2001}s);
fails('a row twice', 'people', $many . "2,1,person 1\n", qr{duplicate key value violates unique constraint "people_pkey_\d+".*line 2001}s);
fails('a check', 'people', $many . "2,30000,nobody\n", qr{violates check constraint.*line 2001}s);
fails('a key to nothing', 'people', "600,30000,x\n", qr{violates foreign key constraint}s);
fails('a row twice in a reference table', 'towns', "1000,x\n1,town 1\n", qr{duplicate key value violates unique constraint "towns_pkey_\d+"}s);

# ---- rows that are set aside ----

{
	my $file = data_file('aside.csv', 1, "1,40001,x\nz,40002,x\n2,40003,nobody\n3,zz,x\n,40004,x\n4,1,y\n600,40005,x\n" . $many);

	is(ask(qq{SELECT rows_loaded, rows_rejected FROM bulk_load('people', '$file', '{"on_error": "ignore", "reject_table": "people_rejects", "log_verbosity": "silent"}')}),
		'2002|5', 'bad rows of all nodes are rejected');
	is(ask('SELECT string_agg(line_number::text, \',\' ORDER BY line_number) FROM people_rejects'), '2,3,4,5,7', 'with their lines');
	ask('DELETE FROM people WHERE id > 10000');
	$file = data_file('twice.csv', 1, "2,1,old\n" . $many . "3,2,old\n");
	is(ask(qq{SELECT rows_loaded, rows_duplicate FROM bulk_load('people', '$file', '{"on_duplicate": "keep_old"}')}), '2000|2', 'rows that are there are kept');
	like(error_of(qq{SELECT bulk_load('towns', '$towns', '{"on_duplicate": "keep_old"}')}), qr{cannot load into table "towns".*several servers}s, 'but not in several places');
	$file = data_file('kept', 1, "kept\n");
	like(error_of(qq{SELECT bulk_load('towns', '$towns', '{"on_error": "ignore", "reject_file": "$file"}')}), qr{cannot load into table "towns".*several servers}s, 'which is said');
	is(slurp_file($file), "kept\n", 'before the reject file is emptied');
	ask('DELETE FROM people WHERE id > 10000');
}

ask(q{CREATE TABLE by_range (k int, s text); SELECT create_distributed_table('by_range', 'k', 'range')});
like(error_of("SELECT bulk_load('by_range', '$plain')"), qr{cannot load into table "by_range".*extension "citus"}s, 'a table by ranges is refused');
like(error_of("BEGIN; SELECT bulk_load('single', '$plain'); COMMIT"), qr{cannot load into table "single".*a transaction of its own}s, 'so is a transaction block');
like(error_of(qq{SELECT bulk_load('single', '$plain', '{"truncate": true}')}), qr{cannot load into table "single".*"truncate"}s, 'and truncate');

# ---- by a worker ----

foreach my $worker (@workers)
{
	my $name = $worker->name;

	is($worker->safe_psql('postgres', "SELECT rows_loaded FROM bulk_load('single', '$plain')"), '1000', "$name: loads into one shard");
	is($worker->safe_psql('postgres', "SELECT rows_loaded FROM bulk_load('days', '$days')"), '1000', "$name: loads into shards of all");
	is($worker->safe_psql('postgres', "SELECT rows_loaded FROM bulk_load('towns', '" . data_file("$name.csv", 1, join('', map { ($_ + 1000 * $worker->port) . ",x\n" } 1 .. 10)) . "')"), '10', "$name: loads into a reference table");
}
is(ask('SELECT count(*) FROM days'), '3100', 'all of that is seen');
is(ask(q{SELECT string_agg(DISTINCT result, ',') FROM run_command_on_placements('towns', 'SELECT count(*) FROM %s')}), '520', 'on all nodes');
nothing_left('loads', $main, @workers);

# ---- all nodes, or none ----

my $load = "SELECT rows_loaded FROM bulk_load('single_all', '$plain')";
ask(q{CREATE TABLE single_all (a int, b text); SELECT create_distributed_table('single_all', 'a')});

foreach my $stop ('prepare', 'prepared-one', 'prepared', 'committed', 'committed-one')
{
	foreach my $victim ($main, $workers[0])
	{
		my $rows = $stop =~ /^committed/ ? 1000 : 0;
		my $name = "$stop, " . $victim->name . ' is killed';
		my $loader = load_until($main, $load, $stop);

		kill_server($victim);
		eval { $main->safe_psql('postgres', "SELECT pg_cancel_backend($loader->{pid})") } if $victim != $main;
		eval { $loader->wait };
		$victim->start;
		ask('SELECT count(*) FROM bulk_load_recover()');
		is(ask('SELECT count(*) FROM bulk_load_in_doubt'), '0', "$name: nothing is in doubt");
		wait_for('the nodes', sub { error_of('SELECT count(*) FROM single_all') eq '' });
		is(ask('SELECT count(*) FROM single_all'), $rows, "$name: all, or nothing");
		nothing_left($name, $main, @workers);
		ask('TRUNCATE single_all');
	}
}

# ---- shards that move ----

{
	my $placement = q{SELECT shardid || ',' || nodeport FROM pg_dist_shard_placement WHERE shardid = (SELECT min(shardid) FROM pg_dist_shard WHERE logicalrelid = 'single_all'::regclass)};
	my ($shardid, $port) = split /,/, ask($placement);
	my ($from) = grep { $_->port == $port } $main, @workers;
	my ($to) = grep { $_->port != $port } @workers;
	my $loader = load_until($main, $load, 'prepare');
	my $mover = PgBulk::Session->new($main);

	$mover->send(sprintf(q{SELECT citus_move_shard_placement(%d, '%s', %d, '%s', %d, 'block_writes')}, $shardid, $from->host, $from->port, $to->host, $to->port));
	wait_for('the move to wait', sub { ask(q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}) > 0 });
	ok(!$mover->done, 'a move waits for the load');
	ask("SELECT pg_terminate_backend($loader->{pid})");
	eval { $loader->wait };
	$mover->wait;
	is($mover->{error}, '', 'and goes on behind it');
	isnt((split /,/, ask($placement))[1], $port, 'the shard has moved');
	is(ask($load), '1000', 'a load finds it there');
	is(ask('SELECT count(*) FROM single_all'), '1000', 'and so do queries');
}

# a load that waits for a move or a split finds the shards where they are then
foreach my $change ('a move', 'a split')
{
	my ($shardid, $low, $port) = split /,/, ask(q{SELECT shardid || ',' || shardminvalue || ',' || nodeport FROM pg_dist_shard JOIN pg_dist_shard_placement USING (shardid)
		WHERE logicalrelid = 'single_all'::regclass ORDER BY shardid LIMIT 1});
	my ($from) = grep { $_->port == $port } $main, @workers;
	my ($to) = grep { $_->port != $port } @workers;
	my $changer = PgBulk::Session->new($main);
	my $loader = PgBulk::Session->new($main);
	my @nodes = split /\n/, ask(q{SELECT nodeid FROM pg_dist_node WHERE groupid > 0});

	ask('TRUNCATE single_all');
	$changer->ask('BEGIN; SELECT ' . ($change eq 'a move' ?
			sprintf(q{citus_move_shard_placement(%d, '%s', %d, '%s', %d, 'block_writes')}, $shardid, $from->host, $from->port, $to->host, $to->port) :
			sprintf(q{citus_split_shard_by_split_points(%d, ARRAY['%d'], ARRAY[%d, %d], 'block_writes')}, $shardid, $low + 1000000, @nodes[0, 1])));
	is($changer->{error}, '', "$change in a transaction");
	$loader->send($load);
	wait_for('the load to wait', sub { ask(q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}) > 0 });
	$changer->ask('COMMIT');
	is($changer->{error}, '', "$change ends");
	$loader->wait;
	is($loader->{error}, '', "a load waits for $change");
	is(ask('SELECT count(*) FROM single_all'), '1000', "and all rows are there behind $change");
	# what it reads there, put by Citus itself into shards of the same ranges
	my $counts = counts_of('single_all');
	ask("CREATE TABLE again (LIKE single_all); SELECT create_distributed_table('again', 'a', colocate_with => 'single_all'); INSERT INTO again SELECT a, b FROM single_all ORDER BY a LIMIT 1000");
	is(counts_of('again'), $counts, "each in the shard of its key, behind $change");
	ask('DROP TABLE again');
}

# ---- everything is as Citus wants it ----

is(ask('SELECT bool_and(result) FROM citus_check_cluster_node_health()'), 't', 'the nodes are well');
is(ask('SELECT recover_prepared_transactions()'), '0', 'nothing is left for Citus to recover');
check_log($_, $OF_CITUS) foreach $main, @workers;
$_->stop foreach $main, @workers;
done_testing();
