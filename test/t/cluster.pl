# Loads into foreign tables of postgres_fdw on two other servers: the rows are those that COPY through postgres_fdw
# stores; an error names the server, the file and the line; and whatever is killed or cut at whatever step of the
# two-phase commit, all servers have all of the rows afterwards, or none.
#
# With PGBULK_TEST_LONG more loads are killed at random, or as many as PGBULK_TEST_CRASHES says.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IO::Handle;
use POSIX qw(mkfifo);
use Time::HiRes qw(sleep time);

my @settings = ('max_prepared_transactions = 20', 'shared_buffers = 32MB');
my $main = bulk_server('cluster_main', @settings, "timezone = 'Asia/Kolkata'", 'wal_level = replica', 'max_wal_senders = 4');

plan skip_all => 'postgres_fdw is not there' unless has_extension($main, 'postgres_fdw');

my @nodes = map { bulk_server("cluster_$_", @settings) } 1, 2;
my $plain = $nodes[1];		# whose COPY is the server's own
my $folder = data_dir();

$plain->safe_psql('postgres', 'DROP EXTENSION pgbulk');
$main->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
foreign_server($main, "s$_", $nodes[$_ - 1]->host, $nodes[$_ - 1]->port, "batch_size '100'") foreach 1, 2;

# on_node(N, SQL)
sub on_node { my ($n, $sql) = @_; return $nodes[$n - 1]->safe_psql('postgres', $sql); }

# partitions(TABLE, COLUMNS, [SERVER, BOUNDS]...): a partition of the table on each of these servers; server 0: here.
sub partitions
{
	my ($table, $columns, @parts) = @_;

	foreach my $i (0 .. $#parts)
	{
		my ($n, $bounds) = @{ $parts[$i] };

		$main->safe_psql('postgres', $n == 0 ? "CREATE TABLE ${table}_$i PARTITION OF $table $bounds" :
			"CREATE FOREIGN TABLE ${table}_$i PARTITION OF $table $bounds SERVER s$n");
		on_node($n, "CREATE TABLE ${table}_$i ($columns)") if $n > 0;
	}
}

# The error of SQL, or ''.
sub error_of
{
	my ($sql, @more) = @_;
	my ($rc, $out, $err) = $main->psql('postgres', $sql, @more);
	return $err;
}

my ($rc, $out, $err);

sub count_of { return $main->safe_psql('postgres', "SELECT count(*) FROM $_[0]"); }

# ---- the rows are COPY's ----

my $columns = 'k int, s text, n numeric(20,4), t timestamptz, b bytea, f float8, a int[], d date';
my %rows;
my @values = map {
	my $k = $_;
	[ $k, $k % 7 ? "text, \"of\"\nrow $k \\ \x{e9}" : undef, $k / 8, "2026-01-0" . (1 + $k % 9) . " 03:04:05.678", '\x00ff5c' . sprintf('%02x', $k % 256),
		$k / 3, "{$k,NULL,-1}", '2026-11-26' ]
} 1 .. 3000;

sub csv { my ($v) = @_; return '' unless defined $v; $v =~ s/"/""/g; return "\"$v\""; }
sub text { my ($v) = @_; return '\N' unless defined $v; $v =~ s/\\/\\\\/g; $v =~ s/\n/\\n/g; $v =~ s/\t/\\t/g; return $v; }
sub encoded { my ($text, $encoding) = @_; $encoding eq 'utf8' ? utf8::encode($text) : utf8::downgrade($text); return $text; }

my $csv = data_file('rows.csv', 1, encoded(join('', map { join(',', map { csv($_) } @$_) . "\n" } @values), 'utf8'));
my $semicolon = data_file('rows.ssv', 1, encoded("k;s;n;t;b;f;a;d\r\n" . join('', map { join(';', map { csv($_) } @$_) . "\r\n" } @values), 'utf8'));
my $text = data_file('rows.txt', 1, encoded(join('', map { join("\t", map { text($_) } @$_) . "\n" } @values), 'utf8'));
my $latin = data_file('rows.latin1', 1, encoded(join('', map { join(',', map { csv($_) } @$_) . "\n" } @values), 'latin1'));
my $short = data_file('short.csv', 1, join('', map { "text $_,$_\n" } 1 .. 3000));
my $mapped = data_file('mapped.csv', 1, "s,k\n" . join('', map { "text $_,$_\n" } 1 .. 3000));

# what is loaded, by a COPY and by pgbulk: all formats into all kinds of tables
my @loads = (
	[ 'csv', "COPY %t FROM '$csv' (FORMAT csv)", $csv, '{"format": "csv"}', 'as they are' ],
	[ 'csv with another delimiter', "COPY %t FROM '$semicolon' (FORMAT csv, DELIMITER ';', HEADER)", $semicolon, '{"delimiter": ";", "header": true}', 'as they are' ],
	[ 'text', "COPY %t FROM '$text'", $text, '{"format": "text"}', 'as they are' ],
	[ 'latin1', "COPY %t FROM '$latin' (FORMAT csv, ENCODING 'latin1')", $latin, '{"encoding": "latin1"}', 'formed anew' ],
	[ 'some columns', "COPY %t (s, k) FROM '$short' (FORMAT csv)", $short, '{"columns": ["s", "k"]}', 'as they are' ],
	[ 'columns by a header', "COPY %t (s, k) FROM '$mapped' (FORMAT csv, HEADER)", $mapped, '{"header": "map"}', 'as they are' ],
	[ 'a condition', "COPY %t FROM '$csv' (FORMAT csv) WHERE s IS NULL OR n > 100", $csv, '{"where": "s IS NULL OR n > 100"}', 'formed anew' ]);
my %tables = (
	hash => [ 'PARTITION BY HASH (k)', [ 0, 'FOR VALUES WITH (modulus 4, remainder 0)' ], [ 1, 'FOR VALUES WITH (modulus 4, remainder 1)' ],
		[ 2, 'FOR VALUES WITH (modulus 4, remainder 2)' ], [ 2, 'FOR VALUES WITH (modulus 4, remainder 3)' ] ],
	list => [ 'PARTITION BY LIST ((k % 3))', [ 1, 'FOR VALUES IN (0)' ], [ 2, 'FOR VALUES IN (1)' ], [ 1, 'DEFAULT' ] ],
	range => [ 'PARTITION BY RANGE (k, s)', [ 0, "FOR VALUES FROM (MINVALUE, MINVALUE) TO (100, 'a')" ], [ 1, "FOR VALUES FROM (100, 'a') TO (2000, MINVALUE)" ],
		[ 2, 'FOR VALUES FROM (2000, MINVALUE) TO (5000, MINVALUE)' ], [ 0, 'DEFAULT' ] ]);

foreach my $kind (sort keys %tables)
{
	my ($by, @parts) = @{ $tables{$kind} };

	$main->safe_psql('postgres', "CREATE TABLE $kind (k int, s text, n numeric(20,4) DEFAULT 7, t timestamptz DEFAULT '2026-02-03 04:05', b bytea, f float8, a int[], d date) $by");
	partitions($kind, $columns, @parts);
	foreach my $load (@loads)
	{
		my ($name, $copy, $file, $options, $sent) = @$load;
		my $all = "SELECT md5(string_agg(r, '' ORDER BY r)) FROM (SELECT ${kind}.tableoid::regclass::text || ${kind}::text AS r FROM $kind) q";
		my @found;

		(my $statement = $copy) =~ s/%t/$kind/;
		$main->safe_psql('postgres', $statement);
		push @found, $main->safe_psql('postgres', $all);
		$main->safe_psql('postgres', "TRUNCATE $kind");
		my $how = $main->safe_psql('postgres', "SELECT DISTINCT n ->> 'sent' FROM bulk_load('$kind', '$file', '$options') l, jsonb_array_elements(l.details -> 'nodes') n");
		push @found, $main->safe_psql('postgres', $all);
		is($found[1], $found[0], "$kind, $name: the rows are COPY's");
		is($how, $sent, "$kind, $name: how they were sent");
		$main->safe_psql('postgres', "TRUNCATE $kind");
	}
}

# sub-partitioned, with columns in another order, a column of another name there, and a table of another name
$main->safe_psql('postgres', q{
	CREATE TABLE sub (k int, s text, id serial, g int GENERATED ALWAYS AS (k * 2) STORED) PARTITION BY RANGE (k);
	CREATE TABLE sub_here PARTITION OF sub FOR VALUES FROM (0) TO (1000);
	CREATE TABLE sub_list (id int NOT NULL, s text, k int, g int GENERATED ALWAYS AS (k * 2) STORED) PARTITION BY LIST (s);
	ALTER TABLE sub ATTACH PARTITION sub_list FOR VALUES FROM (1000) TO (4000);
	CREATE FOREIGN TABLE sub_a PARTITION OF sub_list FOR VALUES IN ('text 1500') SERVER s1 OPTIONS (table_name 'Sub "A"');
	CREATE FOREIGN TABLE sub_b PARTITION OF sub_list DEFAULT SERVER s2 OPTIONS (schema_name 'other');
	ALTER FOREIGN TABLE sub_b ALTER s OPTIONS (column_name 'S "s"')});
on_node(1, 'CREATE TABLE "Sub ""A""" (k int, s text, id int, g int GENERATED ALWAYS AS (k * 2) STORED)');
on_node(2, 'CREATE SCHEMA other; CREATE TABLE other.sub_b (k int, "S ""s""" text, id int DEFAULT 77, g int GENERATED ALWAYS AS (k * 2) STORED)');
is($main->safe_psql('postgres', qq{SELECT rows_loaded FROM bulk_load('sub', '$short', '{"columns": ["s", "k"]}')}), 3000, 'sub-partitioned');
is($main->safe_psql('postgres', q{SELECT tableoid::regclass, count(*), min(k), max(s), count(DISTINCT id), bool_and(g = 2 * k) FROM sub GROUP BY 1 ORDER BY 1}),
	"sub_here|999|1|text 999|999|t\nsub_a|1|1500|text 1500|1|t\nsub_b|2000|1000|text 3000|2000|t", 'the rows of each partition');
is($main->safe_psql('postgres', 'SELECT count(DISTINCT id) FROM sub'), 3000, 'values of the sequence are those of this server');

# file after file, each in a transaction of its own
$main->safe_psql('postgres', 'TRUNCATE sub');
mkdir "$folder/each";
foreach my $n (1 .. 3) { append_to_file("$folder/each/$n.csv", join('', map { "text $_,$_\n" } 1000 * $n + 1 .. 1000 * $n + 900)); }
is($main->safe_psql('postgres', qq{CALL bulk_load_each('sub', '$folder/each/*.csv', '{"columns": ["s", "k"]}')}), '3|0|2700|0', 'file after file');
is(count_of('sub'), 2700, 'their rows');

# one foreign table; its NOT NULL and CHECK are not looked at, as by COPY, and its defaults are
on_node(1, 'CREATE TABLE one (k int, s text DEFAULT $$there$$, u int)');
$main->safe_psql('postgres', q{CREATE FOREIGN TABLE one (k int NOT NULL CHECK (k < 10), s text, u int DEFAULT 5) SERVER s1});
is($main->safe_psql('postgres', qq{SELECT rows_loaded, writer, details #>> '{nodes,0,pgbulk}' FROM bulk_load('one', '$short', '{"columns": [null, "k"]}')}),
	'3000|nodes|1.1', 'a foreign table');
is($main->safe_psql('postgres', 'SELECT count(s), sum(k), sum(u) FROM one'), '0|4501500|15000', 'its rows');
on_node(1, 'TRUNCATE one');

# the client's data, a query, COPY with an option of pgbulk
$main->safe_psql('postgres', "SELECT rows_loaded FROM bulk_load_query('hash', 'SELECT k, s FROM sub', '{\"columns\": [\"k\", \"s\"]}')");
is(count_of('hash'), 2700, 'the rows of a query');
$main->safe_psql('postgres', 'TRUNCATE hash');
$main->safe_psql('postgres', "SELECT bulk_load_last(); COPY hash FROM '$csv' WITH (FORMAT csv, HISTORY true)");
is(count_of('hash'), 3000, 'by COPY');
nothing_left('after loads', @nodes);

# rows that a trigger there keeps out
on_node(1, q{CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF new.k % 2 = 1 THEN RETURN new; END IF; RETURN NULL; END';
	CREATE TRIGGER odd BEFORE INSERT ON one FOR EACH ROW EXECUTE FUNCTION odd()});
is($main->safe_psql('postgres', qq{SELECT rows_loaded, rows_filtered, rows_read FROM bulk_load('one', '$short', '{"columns": ["s", "k"]}')}),
	'1500|1500|3000', 'a trigger there keeps rows out');
on_node(1, 'DROP TRIGGER odd ON one; TRUNCATE one');

# one that says what only pgbulk there may say
on_node(1, q{CREATE FUNCTION pretend() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
		RAISE NOTICE $$x$$ USING SCHEMA = $$pgbulk$$, TABLE = $$value$$, CONSTRAINT = $$0$$;
		RAISE INFO $$x$$ USING SCHEMA = $$pgbulk$$, TABLE = $$null$$, CONSTRAINT = $$0$$; RETURN new; END';
	CREATE TRIGGER pretend BEFORE INSERT ON one FOR EACH ROW EXECUTE FUNCTION pretend()});
is($main->safe_psql('postgres', qq{SELECT rows_loaded, rows_rejected FROM bulk_load('one', '$short', '{"columns": ["s", "k"], $_}')}), '3000|0', "a trigger there pretends, $_")
	foreach '"on_error": "stop"', '"on_error": "ignore"', '"on_duplicate": "keep_old"';
on_node(1, 'DROP TRIGGER pretend ON one; TRUNCATE one');

# rows in the order of the key, so that one table of a server is full before another one has its first row; another
# table's trigger does not excuse a row that is missing
$main->safe_psql('postgres', 'CREATE TABLE sorted (k int, s text) PARTITION BY RANGE (k)');
partitions('sorted', 'k int, s text', [ 1, 'FOR VALUES FROM (0) TO (40000)' ], [ 1, 'FOR VALUES FROM (40000) TO (80000)' ], [ 1, 'FOR VALUES FROM (80000) TO (120000)' ]);
on_node(1, q{CREATE TRIGGER odd BEFORE INSERT ON sorted_2 FOR EACH ROW EXECUTE FUNCTION odd()});
my $sorted = data_file('sorted.csv', 1, join('', map { "$_," . ('x' x 60) . "\n" } 1 .. 100000));
is($main->safe_psql('postgres', qq{SELECT rows_loaded, rows_filtered FROM bulk_load('sorted', '$sorted')}), '89999|10001', 'rows in the order of the key');
is($main->safe_psql('postgres', q{SELECT string_agg(c::text, ',' ORDER BY t) FROM (SELECT tableoid::regclass::text AS t, count(*) AS c FROM sorted GROUP BY 1) q}),
	'39999,40000,10000', 'are in their partitions');

# the end of a file in the middle of an escape
append_to_file("$folder/cut.txt", "1\tone\n2\ttwo\\");
$main->safe_psql('postgres', 'CREATE TABLE cut_here (k int, s text); CREATE FOREIGN TABLE cut (k int, s text) SERVER s1');
on_node(1, 'CREATE TABLE cut (k int, s text)');
$main->safe_psql('postgres', qq{SELECT bulk_load('$_', '$folder/cut.txt', '{"format": "text"}')}) foreach qw(cut cut_here);
is($main->safe_psql('postgres', 'SELECT string_agg(c::text, $$ $$ ORDER BY k) FROM cut c'), $main->safe_psql('postgres', 'SELECT string_agg(c::text, $$ $$ ORDER BY k) FROM cut_here c'),
	'a row that ends in an escape');

# a type that is another one there: the values are sent, not the texts
on_node(1, 'CREATE TABLE wider (k text, s text)');
$main->safe_psql('postgres', 'CREATE FOREIGN TABLE wider (k int, s text) SERVER s1');
append_to_file("$folder/spaced.csv", " 7 ,x\n+8,y\n");
is($main->safe_psql('postgres', qq{SELECT details #>> '{nodes,0,reason}' FROM bulk_load('wider', '$folder/spaced.csv')}),
	'A column has another type there.', 'another type there');
is(on_node(1, 'SELECT string_agg(k, $$,$$ ORDER BY k) FROM wider'), '7,8', 'has the values, not the texts');

# a csv row that an older COPY takes for the end of its data
append_to_file("$folder/marker.csv", "a\n\\.\nb\n");
on_node(2, 'CREATE TABLE marker (s text)');
$main->safe_psql('postgres', 'CREATE FOREIGN TABLE marker (s text) SERVER s2');
is($main->safe_psql('postgres', qq{SELECT rows_loaded FROM bulk_load('marker', '$folder/marker.csv')}), 3, 'a row like the end marker');
is(on_node(2, 'SELECT count(*) FROM marker'), 3, 'is a row there');

# ---- errors ----

$main->safe_psql('postgres', 'TRUNCATE hash');
append_to_file("$folder/value.csv", join('', map { "$_,\"a\nb\",1,2026-01-" . ($_ == 2500 ? '99' : '01') . "\n" } 1 .. 3000));
like(error_of(qq{SELECT bulk_load('list', '$folder/value.csv', '{"columns": ["k", "s", "n", "t"]}')}),
	qr{date/time field value out of range: "2026-01-99".*server "s[12]": COPY list_\d, line \d+, column t.*file "$folder/value.csv", line 4999}s, 'a bad value names server, file and line');
is(count_of('list'), 0, 'and nothing is loaded anywhere');
append_to_file("$folder/key.csv", join('', map { "$_,x\n" } 1 .. 2000) . "oops,x\n");
like(error_of(qq{SELECT bulk_load('hash', '$folder/key.csv', '{"columns": ["k", "s"]}')}),
	qr{invalid input syntax for type integer: "oops".*file "$folder/key.csv", line 2001, column k}s, 'a bad value of the key is found here');
append_to_file("$folder/fields.csv", join('', map { "$_,x\n" } 1 .. 2000) . "2001\n");
like(error_of(qq{SELECT bulk_load('hash', '$folder/fields.csv', '{"columns": ["k", "s"]}')}),
	qr{missing data for column "s".*file "$folder/fields.csv", line 2001}s, 'a missing field is found here');
on_node(2, q{ALTER TABLE hash_2 ADD CONSTRAINT short CHECK (s <> 'text 2999'); ALTER TABLE hash_3 ADD CONSTRAINT short CHECK (s <> 'text 2999')});
on_node(1, q{ALTER TABLE hash_1 ADD CONSTRAINT short CHECK (s <> 'text 2999')});
$main->safe_psql('postgres', q{CREATE TABLE twin (LIKE hash_0)});
like(error_of(qq{SELECT bulk_load('hash', ARRAY['$mapped', '$mapped'], '{"header": "map"}')}),
	qr{new row for relation "hash_\d" violates check constraint "short".*server "s\d": COPY.*file "$mapped", line 3000}s, 'a constraint of a server');
is(count_of('hash'), 0, 'and nothing is loaded anywhere');
on_node(1, q{ALTER TABLE hash_1 DROP CONSTRAINT short});
on_node(2, q{ALTER TABLE hash_2 DROP CONSTRAINT short; ALTER TABLE hash_3 DROP CONSTRAINT short});
like(error_of(qq{SELECT bulk_load('range_part', '$short', '{"columns": ["s", "k"]}')}), qr{does not exist}, 'no such table');
$main->safe_psql('postgres', 'DROP TABLE range_3');
like(error_of(qq{SELECT bulk_load('range', '$short', '{"columns": [null, "s"]}')}), qr{no partition of relation "range" found for row}, 'no partition');
on_node(1, q{CREATE TABLE later (k int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, s text); INSERT INTO later VALUES (5)});
$main->safe_psql('postgres', 'CREATE FOREIGN TABLE later (k int, s text) SERVER s1');
like(error_of(qq{SELECT bulk_load('later', '$short', '{"columns": ["s", "k"]}')}), qr{duplicate key value violates unique constraint "later_pkey".*server "s1"}s,
	'what is checked only when it is prepared');
is(on_node(1, 'SELECT count(*) FROM later'), 1, 'and nothing is loaded');
nothing_left('after errors', @nodes);

# ---- rows that are set aside ----

# The same partitioned table with partitions on other servers, and with all of them here.
my @parts = ([ 0, 'FOR VALUES WITH (modulus 4, remainder 0)' ], [ 1, 'FOR VALUES WITH (modulus 4, remainder 1)' ],
	[ 2, 'FOR VALUES WITH (modulus 4, remainder 2)' ], [ 2, 'FOR VALUES WITH (modulus 4, remainder 3)' ]);
my $bad_columns = 'k int, s text, n numeric(20,4) CHECK (n <> 13), t timestamptz, d date NOT NULL DEFAULT $$2026-11-26$$';
my $bad_key = 'k int, s text, n numeric(20,4), t timestamptz, d date DEFAULT $$2026-11-26$$';

on_node(2, 'CREATE EXTENSION pgbulk');
$main->safe_psql('postgres', "CREATE TABLE bad ($bad_key) PARTITION BY HASH (k); CREATE TABLE bad_here ($bad_key) PARTITION BY HASH (k)");
partitions('bad', $bad_columns, @parts);
partitions('bad_here', $bad_columns, map { [ 0, $_->[1] ] } @parts);
$main->safe_psql('postgres', "ALTER TABLE bad_0 ADD CHECK (n <> 13), ALTER d SET NOT NULL");
$main->safe_psql('postgres', "ALTER TABLE bad_here_$_ ADD CHECK (n <> 13), ALTER d SET NOT NULL") foreach 0 .. 3;

# same(NAME, FILES, OPTIONS): rows, counters and rejects of loads into the two are the same.
sub same
{
	my ($name, $files, $options, $of) = @_;
	my @found;

	$of //= 'bad';
	foreach my $table ($of, "${of}_here")
	{
		my $bad = "$folder/$table.rejects";
		my $with = join(', ', $options, qq{"reject_table": "rejects_$table", "reject_file": "$bad"});
		my $counts = $main->safe_psql('postgres', "SELECT rows_read, rows_loaded, rows_rejected, rows_duplicate, rows_replaced, rows_filtered FROM bulk_load('$table', $files, '{$with}')");
		my $all = $main->safe_psql('postgres', "SELECT md5(string_agg(r, '' ORDER BY r)) FROM (SELECT replace(t.tableoid::regclass::text, '_here', '') || t::text AS r FROM $table t) q");
		my $rejects = $main->safe_psql('postgres', qq{SELECT file, line_number, byte_offset, reason, column_name, field_value, sqlstate, replace(message, '_here', ''), raw_line
			FROM rejects_$table ORDER BY file, line_number, message, raw_line});

		push @found, [ $counts, $all, $rejects, join("\n", sort split(/\n/, slurp_file($bad))) ];
		$main->safe_psql('postgres', "DROP TABLE rejects_$table");
	}
	is($found[0][0], $found[1][0], "$name: counters");
	is($found[0][1], $found[1][1], "$name: rows");
	is($found[0][2], $found[1][2], "$name: rejects");
	is($found[0][3], $found[1][3], "$name: reject file");
	return $found[0][0];
}

sub empty { $main->safe_psql('postgres', 'TRUNCATE bad, bad_here'); }

# each fault, with rows around it that are none
my @faults = ('oops,x,1,2026-01-01', '%k,x,oops,2026-01-01', '%k,x,1,2026-13-01', '%k,x', '%k,x,1,2026-01-01,more', '%k,x,13,2026-01-01',
	"%k,\"a\nb\",oops,2026-01-01", "%k,\"a\nb\",2,2026-01-01", "%k,x,\"1\n%k,y,2,2026-02-02\n%k,\"z\",3,2026-03-03", "%k,\"x\"\"y\",1e3,2026-01-01", '99999999999,x,1,2026-01-01', '%k,,,', "%k,caf\xe9,1,2026-01-01", '%k,\\.,1,2026-01-01');
my $k = 0;
my $bad_csv = '';
foreach my $round (1 .. 300)
{
	foreach my $row ('%k,good,1,2026-01-01', '%k,"good, too",2.5,2026-02-02 03:04+00', $round % 7 ? $faults[ $round % @faults ] : '%k,good,7,2026-01-01')
	{
		(my $line = $row) =~ s/%k/++$k/ge;
		$bad_csv .= "$line\n";
	}
}
my $bad_file = data_file('bad.csv', 1, $bad_csv);
my $bad_again = data_file('bad_again.csv', 1, $bad_csv =~ s/good/Good/gr);
(my $bad_text = $bad_csv) =~ s/[",]/\t/g;
$bad_text = data_file('bad.txt', 1, $bad_text);
my $bad_columns_given = '"columns": ["k", "s", "n", "t"]';

like(same('bad rows', "'$bad_file'", qq{$bad_columns_given, "on_error": "ignore"}), qr{^942\|747\|195\|0\|0\|0$}, 'bad rows are set aside');
empty();
same('bad values are set to null', "'$bad_file'", qq{$bad_columns_given, "on_error": "set_null"});
is($main->safe_psql('postgres', qq{SELECT details -> 'values_set_null' FROM bulk_load('bad', '$bad_file', '{$bad_columns_given, "on_error": "set_null"}')}),
	$main->safe_psql('postgres', qq{SELECT details -> 'values_set_null' FROM bulk_load('bad_here', '$bad_file', '{$bad_columns_given, "on_error": "set_null"}')}), 'how many of each column');
empty();
same('bad values are set to null in rows that are formed anew', "'$bad_file'", qq{$bad_columns_given, "on_error": "set_null", "encoding": "latin1"});
empty();
same('bad rows of two files', "ARRAY['$bad_file', '$bad_again']", qq{$bad_columns_given, "on_error": "ignore"});
empty();
same('bad rows in text format', "'$bad_text'", qq{$bad_columns_given, "on_error": "ignore", "format": "text"});
empty();
same('bad rows that are formed anew', "'$bad_file'", qq{$bad_columns_given, "on_error": "ignore", "encoding": "latin1"});
empty();
same('bad rows, some columns', "'$bad_file'", qq{"columns": ["k", "s"], "extra_columns": "ignore", "on_error": "ignore"});
empty();
same('a file of bad rows', "'$short'", '"columns": ["k", "s"], "on_error": "ignore"');
is($main->safe_psql('postgres', qq{SELECT DISTINCT n ->> 'sent' FROM bulk_load('bad', '$bad_file', '{$bad_columns_given, "on_error": "ignore"}') l, jsonb_array_elements(l.details -> 'nodes') n}), 'as they are', 'rows among which some are bad');
empty();
my $ignore = qq{$bad_columns_given, "on_error": "ignore"};
like(error_of(qq{SELECT bulk_load('bad', '$bad_file', '{$ignore, "reject_limit": 20}')}), qr{skipped more than reject_limit \(20\) bad rows.*First rejects:}s, 'a limit');
like(error_of(qq{SELECT bulk_load('bad', '$bad_file', '{$ignore, "reject_limit": "5%"}')}), qr{skipped more than reject_limit \(5%\)}, 'a limit in percent');
is(count_of('bad'), 0, 'nothing is loaded');
is($main->safe_psql('postgres', qq{SELECT details #>> '{rejects,value}' FROM bulk_load('$_', '$bad_file', '{$ignore}')}) > 50, 1, "$_: counts in details") foreach 'bad', 'bad_here';

# rows with keys that exist, in the table and in the input
empty();
foreach my $n (0 .. 3)
{
	$main->safe_psql('postgres', "CREATE UNIQUE INDEX ON bad_here_$n (k)");
	if ($n == 0) { $main->safe_psql('postgres', 'CREATE UNIQUE INDEX ON bad_0 (k)'); } else { on_node($n == 1 ? 1 : 2, "CREATE UNIQUE INDEX ON bad_$n (k)"); }
}
$main->safe_psql('postgres', "INSERT INTO $_ SELECT i, 'old' FROM generate_series(1, 1000, 5) i") foreach 'bad', 'bad_here';
same('keep_old', "ARRAY['$bad_file', '$bad_again']", qq{$ignore, "on_duplicate": "keep_old"});
empty();
$main->safe_psql('postgres', "INSERT INTO $_ SELECT i, 'old' FROM generate_series(1, 1000, 5) i") foreach 'bad', 'bad_here';
like(same('keep_new', "ARRAY['$bad_file', '$bad_again']", qq{$ignore, "on_duplicate": "keep_new"}), qr{^1884\|[5-9]\d\d\|3\d\d\|[5-9]\d\d\|[1-9]\d\d\|0$}, 'keep_new: all kinds of rows');
empty();
my $twice = data_file('twice.csv', 1, join('', map { "$_,a\n" . ($_ % 3 ? '' : "$_,b\n") } 1 .. 3000));
my $wide = data_file('wide.csv', 1, join('', map { "$_," . 'a' x 60 . "\n" . ($_ % 3 ? '' : "$_,b\n") } 1 .. 3000));
system_or_bail('gzip', '-k', $wide);
same('keep_new, a compressed file', "'$wide.gz'", '"columns": ["k", "s"], "on_duplicate": "keep_new"');
empty();
my $wrong = data_file('wrong.csv', 1, join('', map { "$_,x," . ($_ == 2501 ? 13 : 1) . "\n" } 1 .. 3000));
my $keep = '"columns": ["k", "s"], "on_duplicate": "keep_old"';
my $counters = 'rows_read, rows_loaded, rows_rejected, rows_duplicate';
is($main->safe_psql('postgres', qq{SELECT $counters FROM bulk_load('bad', '$twice', '{$keep}')}), '4000|3000|0|1000', 'duplicates that are only counted');
is($main->safe_psql('postgres', qq{SELECT count(*) FROM bad WHERE s = 'a'}), 3000, 'the first ones are kept');
my $keep_new = $keep =~ s/keep_old/keep_new/r;
is($main->safe_psql('postgres', qq{SELECT $counters, rows_replaced FROM bulk_load('bad', '$twice', '{$keep_new}')}), '4000|3000|0|1000|3000', 'rows that are replaced');
is($main->safe_psql('postgres', qq{SELECT count(*) FROM bad WHERE s = 'b' OR k % 3 <> 0}), 3000, 'by the last ones');
like(error_of(qq{SELECT bulk_load('bad', '$wrong', '{"columns": ["k", "s", "n"], "on_duplicate": "keep_new"}')}), qr{violates check constraint.*server "s\d": COPY bad_\d.*file "$wrong", line 2501}s, 'a bad row ends a load with keep_new');
append_to_file("$folder/header1.csv", "k,s\n1,x\n2,x\n3,x\n4,x\n5,x\n6,x\n7,x\n8,x\n");
like(error_of(qq{SELECT bulk_load('bad', ARRAY['$folder/header1.csv', '$mapped'], '{"header": "map", "on_duplicate": "keep_new"}')}), qr{files that are sent in different ways cannot replace rows.*has got rows by COPY .*, and would get others by COPY }s, 'other columns');
like(error_of(qq{SELECT bulk_load('bad', '$twice', '{$keep, "duplicate_limit": 100}')}), qr{more than duplicate_limit \(100\) rows are duplicates}, 'a limit of duplicates');

# errors of the partition key's expression, and of defaults, behind rows of the same batch that are good
foreach my $table ('ratio', 'ratio_here')
{
	my $parts = $table eq 'ratio' ? 1 : 0;

	$main->safe_psql('postgres', "CREATE TABLE $table (k int, s text, d int DEFAULT 1) PARTITION BY LIST ((10 / k))");
	partitions($table, 'k int, s text, d int', [ $parts, 'FOR VALUES IN (1, 2, 3)' ], [ 2 * $parts, 'DEFAULT' ]);
}
my $ratio = data_file('ratio.csv', 1, join('', map { ($_ % 11) . ",x\n" } 1 .. 2000));
same('an expression that fails', "'$ratio'", '"columns": ["k", "s"], "on_error": "ignore"', 'ratio');

# a value that its type cannot print, behind others of its row
$main->safe_psql('postgres', q{CREATE TYPE mood AS ENUM ('fine'); CREATE TYPE fragile; CREATE FUNCTION fragile_in(cstring) RETURNS fragile LANGUAGE internal IMMUTABLE STRICT AS 'oidin';
	CREATE FUNCTION fragile_out(fragile) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'enum_out';
	CREATE TYPE fragile (INPUT = fragile_in, OUTPUT = fragile_out, INTERNALLENGTH = 4, PASSEDBYVALUE, ALIGNMENT = int4); CREATE FOREIGN TABLE printed (k int, f fragile) SERVER s1});
on_node(1, 'CREATE TABLE printed (k int, f text)');
my $mood = $main->safe_psql('postgres', 'SELECT oid FROM pg_enum');
append_to_file("$folder/fragile.csv", "1,$mood\n2,7\n3,$mood\n4,7\n");
is($main->safe_psql('postgres', qq{SELECT $counters FROM bulk_load('printed', '$folder/fragile.csv', '{"on_error": "ignore"}')}), '4|2|2|0', 'a value that cannot be printed');
is(on_node(1, 'SELECT string_agg(p::text, $$ $$ ORDER BY k) FROM printed p'), '(1,fine) (3,fine)', 'leaves nothing of its row');

# a dry run, TRUNCATE, ANALYZE
empty();
is($main->safe_psql('postgres', qq{SELECT $counters, writer FROM bulk_load('bad', '$twice', '{$keep, "dry_run": true}')}), '4000|3000|0|1000|none', 'a dry run');
is(count_of('bad'), 0, 'leaves nothing');
nothing_left('after a dry run', @nodes);
like(error_of(qq{SELECT bulk_load('later', '$short', '{"columns": ["s", "k"], "dry_run": true}')}), qr{duplicate key value violates unique constraint "later_pkey".*server "s1"}s, 'a dry run finds what is checked only when it is prepared');
on_node(1, q{CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NOTIFY news; RETURN NULL; END';
	CREATE TRIGGER tell AFTER INSERT ON one FOR EACH ROW EXECUTE FUNCTION tell()});
like(error_of(qq{SELECT bulk_load('one', '$short', '{"columns": ["s", "k"], $_}')}), qr{cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY.*server "s1"}s, "a trigger there that says NOTIFY, $_") foreach '"dry_run": true', '"dry_run": false';
on_node(1, 'DROP FUNCTION tell() CASCADE');
nothing_left('after dry runs that fail', @nodes);
$main->safe_psql('postgres', qq{SELECT bulk_load('bad', '$twice', '{$keep}')});
is($main->safe_psql('postgres', qq{SELECT $counters FROM bulk_load('bad', '$folder/few.csv', '{"columns": ["k", "s"], "truncate": true, "analyze": true, "on_error": "ignore"}')}), '3|2|1|0', 'TRUNCATE and ANALYZE')
	if append_to_file("$folder/few.csv", "1,new\n2,new\noops,new\n") || 1;
is($main->safe_psql('postgres', 'SELECT count(*), min(s) FROM bad'), '2|new', 'the old rows are gone everywhere');
is(on_node(1, 'SELECT sum(reltuples)::int FROM pg_class WHERE relname LIKE $$bad\__$$') + on_node(2, 'SELECT sum(reltuples)::int FROM pg_class WHERE relname LIKE $$bad\__$$ AND reltuples > 0') +
	$main->safe_psql('postgres', 'SELECT greatest(reltuples, 0)::int FROM pg_class WHERE relname = $$bad_0$$') >= 1, 1, 'tables are analyzed where they are');

# tables that inherit from a foreign one are not its partitions
$main->safe_psql('postgres', q{CREATE FOREIGN TABLE parent (k int, s text) SERVER s1; CREATE TABLE child () INHERITS (parent); INSERT INTO child VALUES (1, 'kept');
	CREATE FOREIGN TABLE parent_child () INHERITS (parent) SERVER s1});
on_node(1, "CREATE TABLE parent (k int, s text); CREATE TABLE parent_child (k int, s text); INSERT INTO parent VALUES (2, 'gone'); INSERT INTO parent_child VALUES (3, 'kept')");
$main->safe_psql('postgres', qq{SELECT bulk_load('parent', '$folder/few.csv', '{"truncate": true, "on_error": "ignore"}')});
is($main->safe_psql('postgres', 'SELECT string_agg(p::text, $$ $$ ORDER BY k, s) FROM parent p'), '(1,kept) (1,new) (2,new) (3,kept)', 'TRUNCATE leaves children alone');
$main->safe_psql('postgres', 'DROP TABLE child');
$main->safe_psql('postgres', q{ALTER SERVER s1 OPTIONS (ADD truncatable 'false')});
like(error_of(qq{SELECT bulk_load('parent', '$folder/few.csv', '{"truncate": true, "on_error": "ignore"}')}), qr{foreign table "parent" does not allow truncates}, 'a server that does not allow TRUNCATE');
$main->safe_psql('postgres', q{ALTER SERVER s1 OPTIONS (DROP truncatable)});

# a TRUNCATE that comes to nothing, or that is not allowed
foreach my $how ([ 'a dry run', $twice, qq{$keep, "dry_run": true} ], [ 'a load that fails', $wrong, '"columns": ["k", "s", "n"]' ])
{
	my ($name, $file, $options) = @$how;

	$main->psql('postgres', qq{SELECT bulk_load('bad', '$file', '{$options, "truncate": true}')});
	is($main->safe_psql('postgres', 'SELECT string_agg(tableoid::regclass || s, $$,$$ ORDER BY k) FROM bad'),
		$main->safe_psql('postgres', q{SELECT string_agg('bad_' || (SELECT min(r) FROM generate_series(0, 3) r WHERE satisfies_hash_partition('bad'::regclass, 4, r, k)) || 'new', ',' ORDER BY k) FROM generate_series(1, 2) k}), "TRUNCATE in $name empties nothing");
}
$main->safe_psql('postgres', q{CREATE ROLE inserts; GRANT INSERT ON parent TO inserts; GRANT pg_read_server_files TO inserts});
like(error_of(qq{SET ROLE inserts; SELECT bulk_load('parent', '$folder/few.csv', '{"truncate": true, "on_error": "ignore"}')}), qr{permission denied for (?:foreign )?table parent}, 'who may not truncate');
SKIP: {
	skip 'foreign tables have such triggers since 16', 1 if $main->pg_version < 16;
	$main->safe_psql('postgres', q{CREATE FUNCTION at_truncate() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
		CREATE TRIGGER at_truncate BEFORE TRUNCATE ON parent FOR EACH STATEMENT EXECUTE FUNCTION at_truncate()});
	like(error_of(qq{SELECT bulk_load('parent', '$folder/few.csv', '{"truncate": true, "on_error": "ignore"}')}), qr{cannot truncate foreign table "parent"}, 'a trigger for TRUNCATE');
}

# a server without pgbulk
on_node(2, 'DROP EXTENSION pgbulk');
like(error_of(qq{SELECT bulk_load('bad', '$bad_file', '{$ignore}')}), qr{server "s2" cannot set rows aside.*pgbulk 1\.\d+ in the database there: not installed}s, 'a server without pgbulk');
like(error_of(qq{SELECT bulk_load('bad', '$twice', '{"columns": ["k", "s"], "on_duplicate": "keep_old"}')}), qr{server "s2" cannot set rows aside}, 'also for duplicates');

# one with pgbulk where the role there may not use it
on_node(2, 'CREATE SCHEMA hidden; CREATE EXTENSION pgbulk SCHEMA hidden; CREATE ROLE narrow LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO narrow');
$main->safe_psql('postgres', q{ALTER USER MAPPING FOR CURRENT_USER SERVER s2 OPTIONS (ADD user 'narrow')});
($rc, $out, $err) = $main->psql('postgres', qq{SELECT rows_loaded, details #>> '{nodes,0,pgbulk}' FROM bulk_load('marker', '$folder/marker.csv')});
is("$out$err", '3|permission denied for schema hidden', 'a server whose pgbulk may not be used');
like(error_of(qq{SELECT bulk_load('bad', '$twice', '{$keep}')}), qr{server "s2" cannot set rows aside.*in the database there: permission denied for schema hidden}s, 'sets no rows aside');
on_node(2, 'GRANT USAGE ON SCHEMA hidden TO narrow');
is($main->safe_psql('postgres', qq{SELECT details #>> '{nodes,0,pgbulk}' FROM bulk_load('marker', '$folder/marker.csv')}), '1.1', 'a server whose pgbulk may be used');
$main->safe_psql('postgres', q{ALTER USER MAPPING FOR CURRENT_USER SERVER s2 OPTIONS (DROP user)});
on_node(2, 'DROP EXTENSION pgbulk; DROP SCHEMA hidden; DROP OWNED BY narrow; DROP ROLE narrow');

# ---- what is refused ----

my $load = qq{SELECT rows_loaded FROM bulk_load('hash', '$short', '{"columns": ["s", "k"]}')};
like(error_of("BEGIN; $load; COMMIT"), qr{cannot load into foreign partition "hash_\d".*a transaction of its own}s, 'in a transaction block');
like(error_of("$load UNION ALL $load"), qr{cannot load into foreign partition.*with one load}s, 'two in one statement');
foreach my $option (qw("writer":"direct" "indexes":"rebuild" "limit_counts":"loaded","limit":5,"on_error":"ignore"))
{
	my ($name) = $option =~ /"(\w+)"/;

	like(error_of(qq{SELECT bulk_load('one', '$short', '{"columns": ["s", "k"], $option}')}),
		qr{cannot load into foreign table "one".*option "$name"}s, "with $option");
}
like(error_of(qq{SELECT bulk_load('one', '$short', '{"columns": ["s", "k"], "on_duplicate": {"set": "all"}}')}), qr{rows of "one" cannot be merged}, 'merging rows');
$main->safe_psql('postgres', q{CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
	CREATE TRIGGER nothing BEFORE INSERT ON one FOR EACH ROW EXECUTE FUNCTION nothing()});
like(error_of(qq{SELECT bulk_load('one', '$short', '{"columns": ["s", "k"]}')}), qr{cannot load into foreign table "one".*triggers that see each row}s, 'with a trigger here');
$main->safe_psql('postgres', q{DROP TRIGGER nothing ON one; ALTER FOREIGN TABLE one OPTIONS (updatable 'false')});
like(error_of(qq{SELECT bulk_load('one', '$short', '{"columns": ["s", "k"]}')}), qr{does not allow inserts}, 'not updatable');
$main->safe_psql('postgres', q{ALTER FOREIGN TABLE one OPTIONS (DROP updatable)});
on_node(1, 'CREATE RULE away AS ON INSERT TO one DO INSTEAD NOTHING');
like(error_of(qq{SELECT bulk_load('one', '$short', '{"columns": ["s", "k"]}')}), qr{has rules, which COPY ignores}, 'rules there');
on_node(1, 'DROP RULE away ON one');

# rows that are here need no other server
append_to_file("$folder/here.csv", join('', map { "x,$_\n" } 1 .. 50));
$nodes[0]->stop('immediate');
is($main->safe_psql('postgres', qq{BEGIN; SELECT rows_loaded FROM bulk_load('sub', '$folder/here.csv', '{"columns": ["s", "k"]}'); COMMIT}), 50, 'rows that are here, in a block');
is($main->safe_psql('postgres', qq{SELECT rows_loaded FROM bulk_load('sub', '$folder/here.csv', '{"columns": ["s", "k"]}')}), 50, 'rows that are here, with a server that is not');
like(error_of($load), qr{could not connect to server "s1"}, 'a server that is not there');
$nodes[0]->start;
on_node(1, q{ALTER SYSTEM SET max_prepared_transactions = 0});
$nodes[0]->restart;
like(error_of($load), qr{server "s1" cannot prepare transactions.*max_prepared_transactions is 0}s, 'a server that cannot prepare');
on_node(1, q{ALTER SYSTEM RESET max_prepared_transactions});
$nodes[0]->restart;
is(count_of('hash'), 0, 'nothing is loaded by any of these');

# who may connect as whom
$main->safe_psql('postgres', q{CREATE ROLE loader LOGIN; GRANT pg_read_server_files TO loader; GRANT INSERT, SELECT ON one TO loader; GRANT USAGE ON FOREIGN SERVER s1 TO loader});
my $as_loader = qq{SET ROLE loader; SELECT bulk_load('one', '$short', '{"columns": ["s", "k"]}')};
like(error_of($as_loader), qr{user mapping not found for}, 'without a mapping');
my $user = $main->safe_psql('postgres', 'SELECT current_user');
on_node(1, q{CREATE ROLE loader LOGIN PASSWORD 'right'; GRANT INSERT, SELECT ON one TO loader});
$main->safe_psql('postgres', q{CREATE USER MAPPING FOR loader SERVER s1 OPTIONS (user 'loader')});
like(error_of($as_loader), qr{password is required}, 'without a password');
$main->safe_psql('postgres', q{ALTER USER MAPPING FOR loader SERVER s1 OPTIONS (ADD password 'right')});
like(error_of($as_loader), qr{password is required.*has not asked}s, 'with a password that nobody asks for');
{
	my $hba = $nodes[0]->data_dir . '/pg_hba.conf';
	my $before = slurp_file($hba);

	open(my $file, '>', $hba) or die;
	print $file "local all loader scram-sha-256\nhost all loader all scram-sha-256\n$before";
	close $file;
	$nodes[0]->reload;
	wait_for('the new rules', sub { error_of($as_loader) eq '' });
	is(on_node(1, 'SELECT count(*) > 0 FROM one'), 't', 'with the right password');
	on_node(1, 'ALTER ROLE loader CONNECTION LIMIT 0');
	like(error_of($as_loader), qr{could not connect to server "s1".*too many connections for role}s, 'with no connection left');
	on_node(1, 'ALTER ROLE loader CONNECTION LIMIT -1');
	$main->safe_psql('postgres', q{ALTER USER MAPPING FOR loader SERVER s1 OPTIONS (SET password 'wrong')});
	like(error_of($as_loader), qr{could not connect to server "s1".*password authentication failed}s, 'with a wrong one');
	$main->safe_psql('postgres', q{ALTER USER MAPPING FOR loader SERVER s1 OPTIONS (ADD password_required 'false')});
	like(error_of($as_loader), qr{could not connect to server "s1"}, 'password_required off');
	open($file, '>', $hba) or die;
	print $file $before;
	close $file;
	$nodes[0]->reload;
	wait_for('the old rules', sub { error_of($as_loader) eq '' });
}
on_node(1, 'TRUNCATE one');

# ---- cancel, and servers that go away ----

my $lock = PgBulk::Session->new($nodes[0]);
my $session = PgBulk::Session->new($main);

sub wait_blocked
{
	wait_for('the load to wait', sub { on_node(1, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk' AND wait_event_type = 'Lock'}) eq '1' });
}

my $start;
foreach my $how ('cancel', 'terminate')
{
	$lock->ask('BEGIN; LOCK hash_1');
	$session->send($load);
	wait_blocked();
	$start = time;
	$main->safe_psql('postgres', "SELECT pg_${how}_backend($session->{pid})");
	$session->wait;
	cmp_ok(time - $start, '<', 5, "$how: ends soon");
	like($session->{error}, $how eq 'cancel' ? qr{canceling statement} : qr{terminating connection}, "$how: says so");
	# its session there has ended although it waited for a lock
	wait_for('the other session', sub { on_node(1, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk'}) eq '0' });
	$lock->ask('ROLLBACK');
}
$session = PgBulk::Session->new($main);
$lock->ask('BEGIN; LOCK hash_1');
$session->send($load);
wait_blocked();
$nodes[0]->stop('immediate');
$session->wait;
like($session->{error}, qr{(?:connection to server "s1" was lost|terminating connection).*}s, 'a server that dies');
like($session->{error}, qr{s1}, 'is named');
$nodes[0]->start;
is(count_of('hash'), 0, 'nothing is loaded by any of these');
nothing_left('after cancels', @nodes);

# a server that does not answer any more: the cancel is not waited for.  Before 17 libpq cannot be asked not to wait.
SKIP:
{
	skip 'libpq waits for the server', 3 if $main->safe_psql('postgres', 'SHOW server_version_num') < 170000;
	my $pid = slurp_file($nodes[0]->data_dir . '/postmaster.pid') =~ s/\n.*//sr;

	$session = PgBulk::Session->new($main);
	$lock = PgBulk::Session->new($nodes[0]);
	$lock->ask('BEGIN; LOCK hash_1');
	my $other = PgBulk::Session->new($nodes[1]);
	$other->ask('BEGIN; LOCK hash_2, hash_3');
	my $waits = q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk' AND wait_event_type = 'Lock'};
	$session->send($load);
	wait_blocked();
	wait_for('the load to wait for the other server, too', sub { on_node(2, $waits) eq '1' });
	kill 'STOP', $pid;
	$start = time;
	$main->safe_psql('postgres', "SELECT pg_cancel_backend($session->{pid})");
	$session->wait;
	cmp_ok(time - $start, '<', 15, 'a server that does not answer: the cancel ends soon');
	kill 'CONT', $pid;
	like($session->{error}, qr{canceling statement}, 'a server that does not answer: the load is cancelled');
	is(on_node(2, $waits), '0', 'a server that does not answer: the others are cancelled');
	$other->ask('ROLLBACK');
	$lock->ask('ROLLBACK');
}

# Loads rows into a table, and more when SQL has been executed meanwhile; returns the error.
sub error_in_midload
{
	my ($table, $options, $first, $sql, $second) = @_;

	$session = PgBulk::Session->new($main);
	mkfifo("$folder/$table.fifo", 0666) or die "mkfifo: $!";
	$session->send(qq{SELECT bulk_load('$table', '$folder/$table.fifo', '$options')});
	my $fifo;
	within(60, sub { open($fifo, '>', "$folder/$table.fifo") or die; $fifo->autoflush(1); print $fifo $first x 100000; });
	wait_for('the first rows', sub { on_node(1, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbulk'}) eq '1' });
	$main->safe_psql('postgres', $sql);
	print $fifo $second;
	close $fifo;
	$session->wait;
	return $session->{error};
}

# a partition that is attached while rows come: those that it would have are not stored elsewhere
$main->safe_psql('postgres', 'CREATE TABLE mid (k int, s text) PARTITION BY LIST (k)');
partitions('mid', 'k int, s text', [ 1, 'FOR VALUES IN (1)' ], [ 2, 'DEFAULT' ]);
like(error_in_midload('mid', '{}', "1,first\n", 'CREATE TABLE mid_2 (k int, s text); ALTER TABLE mid ATTACH PARTITION mid_2 FOR VALUES IN (2)', "2,second\n"),
	qr{new row for relation "mid_1" violates partition constraint.*line 100001}s, 'a partition that is attached in mid-load');
is(count_of('mid'), 0, 'nothing is loaded');
$main->safe_psql('postgres', q{CREATE TABLE deep (k int, j int) PARTITION BY LIST (k); CREATE TABLE deep_sub PARTITION OF deep FOR VALUES IN (2) PARTITION BY LIST (j)});
partitions('deep', 'k int, j int', [ 1, 'FOR VALUES IN (1)' ]);
partitions('deep_sub', 'k int, j int', [ 1, 'FOR VALUES IN (1)' ]);
on_node(1, 'CREATE TABLE deep_sub_1 (k int, j int)');
like(error_in_midload('deep', '{"on_duplicate": "keep_new"}', "1,1\n", 'CREATE FOREIGN TABLE deep_sub_1 (k int, j int) SERVER s1; ALTER TABLE deep_sub ATTACH PARTITION deep_sub_1 FOR VALUES IN (2)', "2,2\n"),
	qr{no partition of relation "deep_sub" found for row}, 'a foreign table that is attached while rows are replaced');

# ---- two-phase commit ----

sub recover
{
	return $main->safe_psql('postgres', q{SELECT string_agg(DISTINCT state, ',' ORDER BY state) FROM bulk_load_recover()});
}

# All servers have all, or nothing, and nothing is in doubt.
sub all_or_nothing
{
	my ($rows, $name) = @_;

	recover();
	is($main->safe_psql('postgres', 'SELECT count(*) FROM bulk_load_in_doubt'), '0', "$name: nothing is in doubt");
	is(count_of('hash'), $rows, "$name: " . ($rows ? 'all' : 'no') . ' rows');
	nothing_left($name, @nodes);
	$main->safe_psql('postgres', 'TRUNCATE hash');
}

# somebody rolls back what is prepared on a server
{
	my $loader = load_until($main, $load, 'committed');

	$nodes[0]->safe_psql('postgres', 'ROLLBACK PREPARED ' . $nodes[0]->safe_psql('postgres', 'SELECT quote_literal(gid) FROM pg_prepared_xacts'));
	$main->safe_psql('postgres', "SELECT pg_cancel_backend($loader->{pid})");
	$loader->wait;
	like($loader->{error}, qr{server "s1" has lost its part of the load}, 'a part that somebody has rolled back is told');
	recover();
	$main->safe_psql('postgres', 'TRUNCATE hash');
}

# a server of somebody else, which a superuser is not led to, and one that cannot be asked
$main->safe_psql('postgres', q{CREATE ROLE owner; GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO owner; SET ROLE owner;
	CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'nowhere.invalid'); CREATE USER MAPPING FOR PUBLIC SERVER elsewhere});
is($main->safe_psql('postgres', q{SELECT server, state FROM bulk_load_in_doubt}), 'elsewhere|not looked at: its owner is no superuser', 'a server of somebody else');
$main->safe_psql('postgres', 'DROP SERVER elsewhere CASCADE; DROP OWNED BY owner; DROP ROLE owner');

foreach my $stop ('prepare', 'prepared-one', 'prepared', 'committed', 'committed-one')
{
	my $rows = $stop =~ /^committed/ ? 3000 : 0;
	my $loader = load_until($main, $load, $stop);

	if ($stop eq 'prepared')
	{
		is($main->safe_psql('postgres', q{SELECT server, state FROM bulk_load_in_doubt ORDER BY 1}), "s1|running\ns2|running", 'a load that runs is in doubt');
		is(recover(), 'running', 'and is not settled by others');
	}
	# this server
	kill_server($main);
	eval { $loader->wait };
	$main->start;
	all_or_nothing($rows, "$stop, this server is killed");

	# another one; then the load goes on, or is cancelled
	$loader = load_until($main, $load, $stop);
	kill_server($nodes[0]);
	$main->safe_psql('postgres', "SELECT pg_cancel_backend($loader->{pid})");
	$loader->wait;
	like($loader->{error}, qr{server "s1" has not committed its part|server "s1" may not have|canceling statement}, "$stop, a server is killed: is told") if $stop ne 'committed-one';
	is($main->safe_psql('postgres', q{SELECT count(*) FROM bulk_load_in_doubt WHERE server = 's1' AND state LIKE 'not reached%'}), '1', 'is not reached');
	$nodes[0]->start;
	all_or_nothing($rows, "$stop, a server is killed");

	# all of them
	$loader = load_until($main, $load, $stop);
	kill_server($_) foreach $main, @nodes;
	eval { $loader->wait };
	$_->start foreach @nodes, $main;
	all_or_nothing($rows, "$stop, all servers are killed");

	# none: a cancel
	$loader = load_until($main, $load, $stop);
	$main->safe_psql('postgres', "SELECT pg_cancel_backend($loader->{pid})");
	$loader->wait;
	is($main->safe_psql('postgres', 'SELECT count(*) FROM bulk_load_in_doubt'), '0', "$stop, a cancel: nothing is left");
	all_or_nothing($rows, "$stop, a cancel");
}

# the next load settles what is left, too; a number that was given to a load that crashed is not given again
my $loader = load_until($main, $load, 'prepared');
kill_server($main);
eval { $loader->wait };
$main->start;
$main->safe_psql('postgres', "CREATE TABLE other$_ ()") foreach 1 .. 3;
is($main->safe_psql('postgres', q{SELECT string_agg(state, ',') FROM bulk_load_in_doubt}), 'to be rolled back,to be rolled back', 'in doubt after a crash');
($rc, $out, $err) = $main->psql('postgres', $load);
like($err, qr{server "s1" had a load's transaction "pgbulk_\d+_\d+_\d+_\d+_\w+" prepared since .*: rolled back}, 'the next load settles it');
all_or_nothing(3000, 'the next load');

# what a dry run has left prepared is never committed: not where its transaction has failed, nor where it has committed
my $dry = qq{SELECT bulk_load('one', '$short', '{"columns": ["s", "k"], "dry_run": true}')};
$loader = load_until($main, $dry, 'prepared');
kill_server($main);
eval { $loader->wait };
$main->start;
is($main->safe_psql('postgres', 'SELECT state FROM bulk_load_in_doubt'), 'to be rolled back', 'a dry run in doubt after a crash');
is(recover(), 'rolled back', 'is rolled back');
on_node(1, q{ALTER DATABASE postgres SET log_statement = 'all'});
my $logged = -s $nodes[0]->logfile;
$main->safe_psql('postgres', $dry);
on_node(1, q{ALTER DATABASE postgres RESET log_statement});
my ($gid) = slurp_file($nodes[0]->logfile, $logged) =~ /PREPARE TRANSACTION '(\w+)'/;
on_node(1, "BEGIN; INSERT INTO one VALUES (1); PREPARE TRANSACTION '$gid'");
is(recover(), 'rolled back', 'a dry run that has lost the end of its part is rolled back');
is(on_node(1, 'SELECT count(*) FROM one'), '0', 'and leaves no rows');

# a lock that is waited for there no longer than here
on_node(1, 'CREATE TABLE waits (s text)');
$main->safe_psql('postgres', 'CREATE FOREIGN TABLE waits (s text) SERVER s1');
$lock = PgBulk::Session->new($nodes[0]);
$lock->ask('BEGIN; LOCK waits');
like(error_of(qq{SET lock_timeout = '200ms'; SELECT bulk_load('waits', '$folder/marker.csv')}), qr{lock timeout.*server "s1"}s, 'lock_timeout');
$lock->ask('ROLLBACK');

# a node that has ended it already, or an identifier that is not one of a load, is left alone
on_node(1, q{BEGIN; INSERT INTO one VALUES (1); PREPARE TRANSACTION 'pgbulk_1_2_3_4'});
is(recover(), '', 'another one is left alone');
on_node(1, q{ROLLBACK PREPARED 'pgbulk_1_2_3_4'});

# ---- kills at random ----

my $many = data_file('many.csv', 1, join('', map { "text $_,$_\n" } 1 .. 60000));
my $loads_many = qq{SELECT rows_loaded FROM bulk_load('hash', '$many', '{"columns": ["s", "k"]}')};
$start = time;
$main->safe_psql('postgres', $loads_many);
my $took = time - $start;
$main->safe_psql('postgres', 'TRUNCATE hash');
foreach my $round (1 .. how_many(6, 60))
{
	my $victim = ($main, @nodes)[ $round % 3 ];
	my $loads = PgBulk::Session->new($main);

	$loads->send($loads_many);
	sleep rand 1.2 * $took;
	kill_server($victim);
	eval { $loads->wait };
	$victim->start;
	recover();
	like(count_of('hash'), qr{^(?:0|60000)$}, "round $round: all or nothing, " . $victim->name . ' was killed');
	nothing_left("round $round", @nodes);
	$main->safe_psql('postgres', 'TRUNCATE hash');
}

# ---- a standby of this server takes over ----

my $standby = PostgreSQL::Test::Cluster->new('cluster_standby');

$main->backup('now');
$standby->init_from_backup($main, 'now', has_streaming => 1);
$standby->start;
$loader = load_until($main, $load, 'committed');
$main->wait_for_catchup($standby);
is($standby->safe_psql('postgres', q{SELECT string_agg(server || ' ' || state, ',' ORDER BY server) FROM bulk_load_in_doubt}), 's1 unknown,s2 unknown', 'a standby does not know');
kill_server($main);
eval { $loader->wait };
$standby->promote;
is($standby->safe_psql('postgres', q{SELECT string_agg(server || ' ' || state, ',' ORDER BY server) FROM bulk_load_recover()}), 's1 committed,s2 committed', 'when it is promoted it settles the load');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM hash'), 3000, 'all of which is there');

$_->stop foreach $standby, @nodes;
check_log($main, qr{WARNING:  server "s[12]"|DETAIL:  connection to server .* failed});
check_log($standby, qr{could not (?:receive data from WAL stream|connect to the primary server)|WARNING:  server "s[12]"});
check_log($_, qr{53300 FATAL:  too many connections for role|28P01 FATAL:  password|$CLIENT_GONE}) foreach @nodes;
done_testing();
