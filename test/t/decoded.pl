# What logical decoding shows of a load whose rows turn out to be bad when they
# are in the table: the same as for COPY of the remaining rows, whatever the
# replica identity.  Subscribers, one of insertions alone too, end with the same
# rows.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IO::Compress::Gzip qw(gzip $GzipError);
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = data_dir();
my $client = "$folder/client";
my ($include, $lib) = map { my $path = `pg_config $_`; chomp $path; $path } '--includedir', '--libdir';
my $has_client = system("cc -I$include -I$include/postgresql -o $client $FindBin::RealBin/../clients/stdin.c -L$lib -Wl,-rpath,$lib -lpq >$folder/cc.log 2>&1") == 0;

my $node = bulk_server('publisher', 'wal_level = logical', 'max_wal_senders = 5', 'max_replication_slots = 5', 'max_prepared_transactions = 2', 'shared_buffers = 32MB', 'max_parallel_workers = 8');
plan skip_all => 'no test_decoding' unless has_decoding();

my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init;
$subscriber->append_conf('postgresql.conf', "log_line_prefix = '%m [%p] %q%a %e '\nautovacuum = off\nmax_worker_processes = 20\n");
$subscriber->start;

sub has_decoding
{
	return -e $node->config_data('--pkglibdir') . '/test_decoding.so';
}

# ---- the cases ----

# The kinds of REPLICA IDENTITY, for a table with the primary key id and the unique index %t_ri.
my %identity = (
	default => '',
	full => 'ALTER TABLE %t REPLICA IDENTITY FULL;',
	index => 'CREATE UNIQUE INDEX %t_ri ON %t (id); ALTER TABLE %t REPLICA IDENTITY USING INDEX %t_ri;',
	nothing => 'ALTER TABLE %t REPLICA IDENTITY NOTHING;');
my @all = qw(default full index nothing);
# DELETE of old rows needs a replica identity
my @identified = qw(default full index);
my $keyed = 'CREATE TABLE %t (id int PRIMARY KEY, k int REFERENCES par, s text); INSERT INTO %t VALUES (7, 1, \'old\'), (8, 1, \'older\');';
my $plain = 'CREATE TABLE %t (id int NOT NULL, k int REFERENCES par, s text); INSERT INTO %t VALUES (7, 1, \'old\');';

# rows some of which have no referenced row, and 7, which exists
my $orphans = "1,1,a\n2,99,b\n3,2,c\n4,98,d\n5,2,e\n";
my $with_old = "7,99,x\n${orphans}7,3,y\n";
my $duplicates = "1,1,a\n2,1,b\n7,2,c\n1,2,d\n8,99,e\n7,3,f\n3,1,g\n";
my $parted = 'CREATE TABLE %t (id int PRIMARY KEY, k int REFERENCES par, s text) PARTITION BY RANGE (id);
	CREATE TABLE %t_1 PARTITION OF %t FOR VALUES FROM (0) TO (4); CREATE TABLE %t_2 (s text, id int NOT NULL, k int); ALTER TABLE %t ATTACH PARTITION %t_2 FOR VALUES FROM (4) TO (100);
	ALTER TABLE %t_1 REPLICA IDENTITY FULL; ALTER TABLE %t_2 REPLICA IDENTITY FULL; INSERT INTO %t VALUES (7, 1, \'old\');';
my $wide = join('', map { "$_," . ($_ % 2 ? 1 : 99) . ',' . join('', map { chr(97 + ($_ * 7919 + $_ * $_) % 26) } 1 .. 9000) . "\n" } 11 .. 14);
my $many = join('', map { "$_," . ($_ % 10 ? 99 : 1) . ",row $_\n" } 1 .. 50000);
my ($batch, $large) = map { join('', map { "$_,1,row " . $_ % 700 . "\n" } 102 .. $_) } 4100, 30100;
my $indexed = 'CREATE TABLE %t (id int PRIMARY KEY, k int, s text); CREATE INDEX ON %t (s); INSERT INTO %t VALUES (7, 1, \'old\'), (8, 1, \'older\');';

my $ignore = '"on_error": "ignore"';
my $old = '"on_duplicate": "keep_old"';
my $new = '"on_duplicate": "keep_new"';
my $buffered = '"writer": "buffered"';
my $direct = '"writer": "direct"';


# Name, tables, kinds of identity, files, options, outcome (rows loaded, rejected, duplicate, replaced; attempts), and more:
# prepare: statements before it; call: what to load by instead; after: a statement and its result; source: how the file is read.
my @cases = (
	[ 'the first file', $keyed, ['default'], "7,99\n", "$ignore, $old, \"columns\": [\"id\", \"k\"]", '0|1|0|0|1' ],
	[ 'orphans', $keyed, \@all, $orphans, "$ignore, $buffered", '3|2|0|0|2' ],
	[ 'orphans, direct', $plain, [qw(full nothing)], $orphans, "$ignore, $direct", '3|2|0|0|2' ],
	[ 'orphans, workers', $plain, [qw(full nothing)], $many, "$ignore, $direct, \"workers\": 2", '5000|45000|0|0|2' ],
	[ 'orphans, space reclaimed', $plain =~ s/INSERT.*//r, ['full'], $many, "$ignore, $direct, \"workers\": 0", '5000|45000|0|0|2' ],
	[ 'orphans, keep_old', $keyed, \@all, $with_old, "$ignore, $old", '3|3|1|0|1' ],
	[ 'orphans, keep_new', $keyed, \@identified, $with_old, "$ignore, $new", '4|3|0|1|1' ],
	[ 'duplicates, keep_old', $keyed, \@all, $duplicates, "$ignore, $old", '3|1|3|0|1' ],
	[ 'duplicates, keep_new', $keyed, \@identified, $duplicates, "$ignore, $new, \"reject_table\": \"r.rejects\", \"log_verbosity\": \"verbose\"", '4|1|2|1|2' ],
	[ 'keep_new, several indexes', $keyed . 'ALTER TABLE %t ADD UNIQUE (s);', \@identified, "1,1,a\n2,1,b\n7,1,b\n3,1,a\n1,1,c\n9,1,old\n", $new, '4|0|2|1|2' ],
	[ 'keep_new, exclusion', 'CREATE TABLE %t (id int PRIMARY KEY, r int4range, EXCLUDE USING gist (r WITH &&)); INSERT INTO %t VALUES (7, \'[1,5)\'), (8, \'[10,20)\');',
		\@identified, "1;[3,8)\n2;[7,11)\n3;[30,31)\n4;[10,12)\n", "$new, \"delimiter\": \";\"", '2|0|2|2|2' ],
	[ 'a key to the table itself', 'CREATE TABLE %t (id int PRIMARY KEY, k int REFERENCES %t, s text); INSERT INTO %t VALUES (7, 7, \'old\');', \@all,
		"1,1,a\n2,99,b\n3,2,c\n4,5,d\n5,7,e\n6,3,f\n", $ignore, '3|3|0|0|2' ],
	[ 'a trigger that suppresses', $keyed . 'CREATE TRIGGER b BEFORE INSERT ON %t FOR EACH ROW EXECUTE FUNCTION skip_some();', \@identified,
		"1,1,a\n5,1,b\n7,1,c\n1,2,d\n", $new, '2|0|1|1|2' ],
	[ 'a trigger that looks', $keyed . 'CREATE TRIGGER b AFTER INSERT OR DELETE ON %t FOR EACH ROW EXECUTE FUNCTION log_row();
		CREATE TRIGGER s AFTER INSERT ON %t FOR EACH STATEMENT EXECUTE FUNCTION log_row();', ['default'],
		"1,1,a\n7,1,c\n1,2,d\n", $new, '2|0|1|1|2' ],
	[ 'a function that stores what refers to rows', 'CREATE TABLE %t (id int PRIMARY KEY, k int REFERENCES par, d int); CREATE TABLE %t_child (id int REFERENCES %t);
		CREATE FUNCTION %t_f() RETURNS int LANGUAGE sql AS $$INSERT INTO %t_child SELECT id FROM %t WHERE id NOT IN (SELECT id FROM %t_child); SELECT 1$$;
		ALTER TABLE %t ALTER d SET DEFAULT %t_f();', ['default'], "1,1\n2,99\n3,1\n4,1\n", "$ignore, \"columns\": [\"id\", \"k\"]", '3|1|0|0|2',
		after => [ 'SELECT string_agg(id::text, \' \' ORDER BY id) FROM %t_child', '1 3' ] ],
	[ 'index entries by the batch', $indexed, \@all, $batch, $buffered, '3999|0|0|0|1' ],
	[ 'index entries by the batch, workers', $indexed, ['full'], $large, "$buffered, \"workers\": 2", '29999|0|0|0|1' ],
	[ 'keep_old by the batch', $indexed, \@all, "7,2,x\n8,2,x\n$batch", "$old, $buffered", '3999|0|2|0|1' ],
	[ 'keep_new by the batch', $indexed, \@identified, "7,2,x\n8,2,x\n$batch", "$new, $buffered", '4001|0|0|2|1' ],
	[ 'keep_old by the batch, partitions', $parted =~ s/ REFERENCES par//r, ['default'], "7,2,x\n" . $batch =~ s/^(\d+),/($1 % 90) . ','/gemr, "$old, $buffered", '89|0|3911|0|1' ],
	[ 'reject_limit', $keyed, ['default'], $orphans, "$ignore, \"reject_limit\": 1", undef ],
	[ 'duplicate_limit', $keyed, ['default'], $duplicates, "$ignore, $new, \"duplicate_limit\": 2", undef ],
	[ 'a savepoint', $keyed, ['default'], $orphans, $ignore, '3|2|0|0|2',
		before => "BEGIN; SAVEPOINT a; SELECT bulk_load('%t', '%f', '{$ignore}'); ROLLBACK TO a; SAVEPOINT b; SELECT bulk_load('%t', '%f', '{$ignore, \"reject_limit\": 1}'); ROLLBACK TO b", commit => 'COMMIT' ],
	[ 'limit and skip', $keyed, ['default'], $orphans, "$ignore, \"skip\": 1, \"limit\": 3", '1|2|0|0|2' ],
	[ 'a dry run', $keyed, ['default'], $duplicates, "$ignore, $new, \"dry_run\": true", '4|1|2|1|1' ],
	[ 'a dry run, direct', $plain, ['full'], $orphans, "$ignore, $direct, \"dry_run\": true, \"truncate\": true", '3|2|0|0|1' ],
	[ 'truncate', $plain, ['full'], $orphans, "$ignore, \"truncate\": true", '3|2|0|0|2', truncated => 1 ],
	[ 'partitions', $parted, ['default'], $orphans, $ignore, '3|2|0|0|2' ],
	[ 'partitions, direct', $parted =~ s/ PRIMARY KEY//r, ['default'], $orphans, "$ignore, $direct", '3|2|0|0|2' ],
	[ 'partitions, keep_new', $parted, ['default'], $duplicates, "$ignore, $new", '4|1|2|1|2' ],
	[ 'a partition', $parted, ['default'], "1,1,a\n2,99,b\n3,1,c\n", $ignore, '2|1|0|0|2', into => '%t_1' ],
	[ 'wide values', $keyed, \@all, $wide, $ignore, '2|2|0|0|2' ],
	[ 'wide values, keep_new', $keyed, \@identified, $wide =~ s/,99,/,2,/gr . $wide =~ s/,99,/,2,/gr =~ s/abc|z/A/gr, $new, '4|0|4|0|2' ],
	[ 'a reject file', $keyed, ['default'], $orphans, "$ignore, \"reject_file\": \"$folder/bad.csv\"", '3|2|0|0|2',
		after => [ "SELECT pg_read_file('$folder/bad.csv')", "2,99,b\n4,98,d\n" ] ],
	[ 'a header', $keyed, ['default'], "s,k,id\na,1,1\nb,99,2\n", "$ignore, \"header\": \"map\"", '1|1|0|0|2' ],
	[ 'several files', $keyed, ['default'], [ $orphans, "11,1,k\n12,99,l\n", "13,1,m\n" ], $ignore, '5|3|0|0|2' ],
	[ 'a filter', $keyed, ['default'], $orphans, "$ignore, \"where\": \"id <> 1\"", '2|2|0|0|2' ],
	[ 'gzip', $keyed, ['default'], $orphans, $ignore, '3|2|0|0|2', source => 'gzip' ],
	[ 'a pipe', $keyed, ['default'], $orphans, $ignore, '3|2|0|0|2', source => 'pipe' ],
	[ 'a pipe, gzip', $keyed, ['default'], $orphans, "$ignore, $new", '3|2|0|0|1', source => 'gzip pipe' ],
	[ 'the client', $keyed, ['default'], $orphans, $ignore, '3|2|0|0|2', source => 'client' ],
	[ 'a query', $keyed, ['default'], '', $ignore, '3|2|0|0|2',
		call => "bulk_load_query('%t', 'VALUES (1, 1, ''a''), (2, 99, ''b''), (3, 2, ''c''), (4, 98, ''d''), (5, 2, ''e'')', '%o')" ],
	[ 'rows once more', $keyed, ['default'], "x,1,a\n1,1,a\ny,2,b\nz,2,c\n", $ignore, '2|1|0|0|2',
		prepare => "SELECT bulk_load('%t', '%f', '{$ignore, \"reject_table\": \"r.retried\"}'); UPDATE r.retried SET raw_line = CASE raw_line WHEN 'x,1,a' THEN '2,99,a' ELSE line_number || ',1,c' END",
		call => "bulk_load_retry('%t', 'r.retried', (SELECT max(load_id) FROM r.retried), '%o')" ],
);

# ---- how they are done ----

my $common = q{
	CREATE TABLE par (k int PRIMARY KEY); INSERT INTO par SELECT generate_series(1, 9);
	CREATE TABLE log (what text);
	CREATE FUNCTION skip_some() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.id % 5 = 0 THEN RETURN NULL; END IF; NEW.s = upper(NEW.s); RETURN NEW; END';
	CREATE FUNCTION log_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (concat(TG_OP, NEW, OLD)); RETURN NULL; END';};
my @runs;
foreach my $n (0 .. $#cases)
{
	my ($name, $tables, $kinds, $files, $options, $outcome, %more) = @{ $cases[$n] };

	foreach my $kind (@$kinds)
	{
		my $t = "c${n}_$kind";

		push @runs, { %more, name => "$name, identity $kind", t => $t, tables => ($tables . $identity{$kind}) =~ s/%t/$t/gr,
			files => ref $files ? $files : [$files], options => "{$options}", outcome => $outcome };
	}
}

my $ddl = join(";\n", $common, map { $_->{tables} } @runs);
my @tables = map { $_->{t} } @runs;
my @others = ('log', map { "$_->{t}_child" } grep { $_->{tables} =~ /_child/ } @runs);

$node->safe_psql('postgres', "$ddl; CREATE SCHEMA r; CREATE SCHEMA copied;
	CREATE PUBLICATION everything FOR TABLES IN SCHEMA public;
	CREATE PUBLICATION roots FOR TABLES IN SCHEMA public WITH (publish_via_partition_root = true);
	CREATE PUBLICATION inserts FOR TABLES IN SCHEMA public WITH (publish = 'insert')");
foreach my $name (qw(everything roots inserts))
{
	$subscriber->safe_psql('postgres', "CREATE DATABASE $name");
	$subscriber->safe_psql($name, $ddl);
	# who keeps old rows has no keys
	$subscriber->safe_psql($name, q{DO $$DECLARE r record; BEGIN
		FOR r IN SELECT conrelid::regclass AS t, conname FROM pg_constraint WHERE contype IN ('f', 'p', 'u', 'x') AND conparentid = 0 AND connamespace = 'public'::regnamespace
			ORDER BY contype LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I CASCADE', r.t, r.conname); END LOOP;
		FOR r IN SELECT indexrelid::regclass AS i FROM pg_index JOIN pg_class c ON c.oid = indrelid WHERE relnamespace = 'public'::regnamespace LOOP EXECUTE format('DROP INDEX %s', r.i); END LOOP; END$$})
	  if $name eq 'inserts';
	$subscriber->safe_psql($name, "CREATE EXTENSION pgbulk; CREATE SUBSCRIPTION $name CONNECTION '" . $node->connstr . " dbname=postgres' PUBLICATION $name WITH (copy_data = false)");
}
$node->safe_psql('postgres', "SELECT pg_create_logical_replication_slot('slot', 'test_decoding')");
my $load = PgBulk::Session->new($node);
$load->ask('SET pgbulk.chunk_size = 16384; SET client_min_messages = warning');

# What was decoded of a table since the last time, each line without the table's name.
sub changes
{
	my ($t) = @_;
	my $out = $load->ask("SELECT substr(data, strpos(data, ': ') + 2) FROM pg_logical_slot_get_changes('slot', NULL, NULL, 'skip-empty-xacts', '1', 'include-xids', '0')
		WHERE data ~ '^table (public|copied).$t(_[12])?: '");
	return split /\n/, $out;
}

# The files in the way in which they come; returns the path to load.
sub make_files
{
	my ($run) = @_;
	my $source = $run->{source} // '';
	my @paths;

	foreach my $i (0 .. $#{ $run->{files} })
	{
		my $path = data_file("$run->{t}.$i.csv", 1, length $run->{files}[$i] ? $run->{files}[$i] : "\n");

		if ($source =~ /gzip/)
		{
			gzip($path => "$path.gz") or die $GzipError;
			$path .= '.gz';
		}
		push @paths, $path;
	}
	return @paths > 1 ? "$folder/$run->{t}.*.csv" : $paths[0];
}

sub run
{
	my ($run) = @_;
	my ($t, $name) = ($run->{t}, $run->{name});
	my $path = make_files($run);
	my $given = $path;
	my $fill = sub { my ($sql) = @_; $sql =~ s/%t/$t/g; $sql =~ s/%f/$path/g; $sql =~ s/%o/$run->{options}/g; return $sql; };
	my $into = $fill->($run->{into} // '%t');
	my $out;

	$load->ask($fill->($run->{prepare})) if $run->{prepare};
	$load->ask("DROP TABLE IF EXISTS before; CREATE TEMP TABLE before AS SELECT * FROM $t");
	changes($t);
	$load->ask($fill->($run->{before})) if $run->{before};
	if (($run->{source} // '') =~ /pipe/)
	{
		$given = "$folder/pipe";
		system("rm -f $given; mkfifo $given; cat $path > $given &") == 0 or die;
	}
	$given = 'stdin' if ($run->{source} // '') eq 'client';
	my $call = $fill->($run->{call} // "bulk_load('$into', '$given', '%o')");
	my $sql = "SELECT concat_ws('|', rows_loaded, rows_rejected, rows_duplicate, rows_replaced, coalesce(details ->> 'attempts', '1')) AS outcome FROM $call";
	if ($given eq 'stdin')
	{
		IPC::Run::run([ $client, $node->connstr('postgres'), 'simple', 8192, 'done', $sql ], '<', $path, '>', \$out, '2>', \my $err);
		$out =~ s/.*outcome=(\S+).*/$1/s;
	}
	elsif (!defined $run->{outcome})
	{
		$load->ask("DO \$do\$BEGIN PERFORM FROM $call; RAISE 'it has been loaded'; EXCEPTION WHEN data_exception OR unique_violation THEN NULL; END\$do\$");
		is($load->{error}, '', "$name: ends in the block");
	}
	else
	{
		$out = $load->ask($sql);
		is($load->{error}, '', "$name: no error");
	}
	is($out, $run->{outcome}, "$name: outcome") if defined $run->{outcome};
	$load->ask($run->{commit}) if $run->{commit};
	is($load->ask($fill->($run->{after}[0])), $run->{after}[1], "$name: afterwards") if $run->{after};

	# the same by COPY
	my @lines = changes($t);
	my $old = $run->{truncated} ? 'SELECT * FROM before WHERE false' : 'SELECT * FROM before';
	$load->ask("CREATE TABLE copied.$t (LIKE $t); COPY (SELECT * FROM $t EXCEPT ALL $old) TO '$folder/copied.csv' (FORMAT csv); COPY copied.$t FROM '$folder/copied.csv' (FORMAT csv)");
	is($load->{error}, '', "$name: COPY of the same rows");
	my @copied = changes($t);
	# the columns of a partition may be in another order
	my $sorted = sub { return join("\n", sort map { join(' ', sort split /(?<=\S) (?=\w+\[)/, $_) } grep { /^INSERT/ } @_); };
	is($sorted->(@lines), $sorted->(@copied), "$name: the insertions are those of COPY");
	is(scalar(grep { /^DELETE/ } @lines), $run->{truncated} ? 0 : $load->ask("SELECT count(*) FROM (SELECT * FROM before EXCEPT ALL SELECT * FROM $t) x"), "$name: deleted are old rows");
	is(scalar(grep { !/^(INSERT|DELETE)/ } @lines), $run->{truncated} // 0, "$name: nothing else is decoded");
	$load->ask("CREATE TABLE r.$t AS SELECT * FROM before UNION ALL SELECT * FROM copied.$t");
}

sub contents
{
	my ($where, $db, $schema, @of) = @_;
	return $where->safe_psql($db, join(' UNION ALL ', map { "SELECT '$_', count(*), md5(coalesce(string_agg(t::text, E'\\n' ORDER BY t::text COLLATE \"C\"), '')) FROM $schema.$_ t" } @of) . ' ORDER BY 1');
}

foreach my $run (@runs)
{
	next if !$has_client && ($run->{source} // '') eq 'client';
	run($run);
}
$node->wait_for_catchup($_) foreach qw(everything roots inserts);
is(contents($subscriber, $_, 'public', @tables, @others), contents($node, 'postgres', 'public', @tables, @others), "subscriber: $_") foreach qw(everything roots);
is(contents($subscriber, 'inserts', 'public', @tables), contents($node, 'postgres', 'r', @tables), 'subscriber: insertions alone');

# ---- what a second attempt must not change ----

my $few = data_file('few.csv', 1, $orphans);
my $more = '"log_verbosity": "silent"';
$load->ask("CREATE TABLE r.par (k int PRIMARY KEY); INSERT INTO r.par VALUES (1), (2); CREATE TABLE r.t (id int PRIMARY KEY, k int REFERENCES r.par, s text);
	CREATE TABLE r.effects (i int); CREATE FUNCTION r.effect(i int) RETURNS int LANGUAGE sql VOLATILE AS 'INSERT INTO r.effects VALUES (i) RETURNING i'");

# what functions of a query do is done once, and stays
is($load->ask("SELECT rows_loaded, rows_rejected, details ->> 'attempts' FROM bulk_load_query('r.t', 'SELECT r.effect(i), i, NULL FROM generate_series(1, 3) i', '{$ignore, $more, \"truncate\": true}')"),
	'2|1|2', 'a query with effects');
is($load->ask('SELECT string_agg(i::text, \' \' ORDER BY i) FROM r.effects'), '1 2 3', 'which are there');

# a key that is another one each time could have an old row go that nothing replaces
$load->ask("TRUNCATE r.t; CREATE SEQUENCE r.s; CREATE FUNCTION r.key() RETURNS int LANGUAGE sql VOLATILE AS 'SELECT nextval(''r.s'')::int % 2';
	ALTER TABLE r.t ALTER id SET DEFAULT r.key(); INSERT INTO r.t VALUES (0, 1, 'old'), (1, 1, 'old'), (2, 1, 'old')");
my $odd = data_file('odd.csv', 1, "1,a\n1,b\n1,c\n");
$load->ask("SELECT bulk_load('r.t', '$odd', '{$new, $more, \"columns\": [\"k\", \"s\"]}')");
is($load->sqlstate, '55000', 'keys that are not the same twice');
is($load->ask('SELECT count(*) FROM r.t WHERE s = \'old\''), '3', 'old rows are unchanged');

# rows that came again are rejected in the words of the first attempt
$load->ask('ALTER TABLE r.t ALTER id DROP DEFAULT');
my $twice = data_file('twice.csv', 1, "1,1,a\n1,1,b\n\\.\nrest\n");
$load->ask('SET client_min_messages = notice; TRUNCATE r.t');
$load->ask("SELECT bulk_load('r.t', '$twice', '{$new, \"format\": \"text\", \"delimiter\": \",\", \"reject_table\": \"r.bad\"}')");
is(() = $load->{error} =~ /end-of-copy marker/g, 1, 'a notice is given once');
is($load->ask('SELECT reason, column_name, field_value, raw_line FROM r.bad'), 'duplicate|||1,1,a', 'what is said of a duplicate');


# tables that are not decoded: a function that sees rows may store others that refer to them
foreach my $case ([ 'a default', "\"columns\": [\"id\", \"k\"]" ], [ 'a filter', "\"columns\": [\"id\", \"k\"], \"where\": \"r.look(id) > 0\"" ], [ 'a transformation', "\"transform\": \"r.make\"" ])
{
	my ($what, $options) = @$case;

	$load->ask(q{DROP TABLE IF EXISTS r.child, r.a CASCADE; SET client_min_messages = warning;
		CREATE UNLOGGED TABLE r.a (id int PRIMARY KEY, k int REFERENCES r.par, d int); CREATE UNLOGGED TABLE r.child (id int REFERENCES r.a);
		CREATE OR REPLACE FUNCTION r.look(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO r.child SELECT id FROM r.a WHERE id NOT IN (SELECT id FROM r.child); RETURN 1; END';
		CREATE FUNCTION r.make(id text, k text) RETURNS r.a LANGUAGE plpgsql AS 'BEGIN RETURN (id::int, k::int, r.look(1)); END'});
	$load->ask('ALTER TABLE r.a ALTER d SET DEFAULT r.look(1)') if $what eq 'a default';
	is($load->ask("SELECT rows_loaded, rows_rejected, details ->> 'attempts' FROM bulk_load('r.a', '" . data_file('seen.csv', 1, "1,1\n2,99\n3,1\n4,1\n") . "', '{$ignore, $more, $options}')"),
		'3|1|2', "$what stores what refers to rows");
	is($load->ask('SELECT string_agg(id::text, \' \' ORDER BY id) FROM r.child'), '1 3', "$what: none refers to a row that has gone");
}

# the transaction may be prepared
$load->ask("TRUNCATE r.t; BEGIN; SELECT bulk_load('r.t', '$few', '{$ignore, $more}'); PREPARE TRANSACTION 'loaded'; COMMIT PREPARED 'loaded'");
is($load->{error}, '', 'a prepared transaction');
is($load->ask('SELECT string_agg(id::text, \' \' ORDER BY id) FROM r.t'), '1 3 5', 'has what stays');

# the end of a load that is in its second attempt
$load->ask(q{TRUNCATE r.t; CREATE SEQUENCE r.calls;
	CREATE FUNCTION r.slow(int) RETURNS bool LANGUAGE plpgsql AS 'BEGIN IF nextval(''r.calls'') > 6 THEN PERFORM pg_sleep(300); END IF; RETURN true; END'});
my $watch = PgBulk::Session->new($node);
my $slow = "SELECT bulk_load('r.t', '$few', '{$ignore, $more, \"where\": \"r.slow(id)\", \"reject_table\": \"r.bad\"}')";
my $is_slow = sub { return $watch->ask('SELECT last_value > 6 FROM r.calls') eq 't'; };

$load->cancel($slow, $watch, $is_slow, 0.1);
is($load->sqlstate, '57014', 'cancelled');
is($load->ask('SELECT count(*) FROM r.t'), '0', 'cancelled: nothing is loaded');
is($load->ask("SELECT rows_loaded, rows_rejected FROM bulk_load('r.t', '$few', '{$ignore, $more}')"), '3|2', 'cancelled: the session continues');
$load->ask('TRUNCATE r.t; ALTER SEQUENCE r.calls RESTART');

check_log($subscriber);
$subscriber->stop;
$load->send($slow);
wait_for('the second attempt', $is_slow);
kill_server($node);
$_->close foreach $load, $watch;
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*) FROM r.t'), '0', 'after a crash nothing is loaded');
is($node->safe_psql('postgres', "SELECT rows_loaded, rows_rejected FROM bulk_load('r.t', '$few', '{$ignore, $more}')"), '3|2', 'and all is loaded the next time');
check_log($node);
check_tables($node);
done_testing();
