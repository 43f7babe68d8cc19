# pgaudit logs for a load what it logs for a COPY.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = `pg_config --pkglibdir`;
chomp $library;
plan skip_all => 'pgaudit is not installed' unless -e "$library/pgaudit.so";

my $node = bulk_server('audit', "shared_preload_libraries = 'pgaudit'");
my $file = data_file('rows', 1, "1,a\n2,b\n");
my $bad = data_file('bad', 1, "x,a\n8,b\n");
my $map = data_file('map', 1, "b,a\nc,3\n");

$node->safe_psql('postgres', q{
	CREATE EXTENSION pgaudit;
	CREATE TABLE t (a int PRIMARY KEY, b text);
	CREATE TABLE other (a int);
	CREATE ROLE auditor;
	GRANT INSERT (b), DELETE, TRUNCATE ON t TO auditor;
	CREATE ROLE loader;
	GRANT pg_read_server_files TO loader;
	GRANT INSERT, SELECT, TRUNCATE, DELETE ON t TO loader});

# What is audited of SQL: kind, class, command, and what it is about.
sub audited
{
	my ($settings, $sql) = @_;
	my ($out, $err);

	$node->psql('postgres',
		"TRUNCATE t; SET client_min_messages = log; SET pgaudit.log_client = on; $settings; SET ROLE loader; $sql",
		stdout => \$out, stderr => \$err);
	my @lines = $err =~ /AUDIT: (\w+),\d+,\d+,(\w+,[\w ]+,\w*,[\w.]*),/g;
	push @lines, $err =~ /(ERROR:.*)/;
	my @records;
	push @records, join ' ', splice @lines, 0, 2 while @lines;
	return \@records;
}

my $session = "SET pgaudit.log = 'write, ddl'";
my $relation = "$session; SET pgaudit.log_relation = on";
my $object = "SET pgaudit.role = 'auditor'";
my $load = sub { sprintf "SELECT rows_loaded FROM bulk_load('t', '%s', '%s')", $_[0], $_[1] // '{}' };
my %ways = (
	'bulk_load' => $load->($file),
	'several files' => "SELECT * FROM bulk_load('t', ARRAY['$file'], '{\"limit\": 1}')",
	'header = map' => $load->($map, '{"header": "map"}'),
	'a dry run' => $load->($file, '{"dry_run": true}'),
	'buffered' => $load->($file, '{"writer": "buffered"}'),
	'a query' => q{SELECT * FROM bulk_load_query('t', 'SELECT 1, 2')},
	'a cursor' => 'BEGIN; DECLARE c CURSOR FOR ' . $load->($file) . '; FETCH c; COMMIT',
	'DO' => q{DO $$BEGIN PERFORM * FROM bulk_load('t', '} . $file . q{'); END$$},
	'EXECUTE in PL/pgSQL' => "DO \$\$BEGIN EXECUTE 'SELECT * FROM bulk_load(''t'', ''$file'')'; END\$\$",
	'EXECUTE' => 'PREPARE p AS ' . $load->($file) . '; EXECUTE p');

is_deeply(audited($session, "COPY t FROM '$file' (FORMAT csv)"), ['SESSION WRITE,COPY,,'], 'COPY, session');
is_deeply(audited($relation, "COPY t FROM '$file' (FORMAT csv)"), ['SESSION WRITE,INSERT,TABLE,public.t'], 'COPY, session, relations');
is_deeply(audited($object, "COPY t FROM '$file' (FORMAT csv)"), ['OBJECT WRITE,INSERT,TABLE,public.t'], 'COPY, object');
foreach my $way (sort keys %ways)
{
	is_deeply(audited($session, $ways{$way}), ['SESSION WRITE,INSERT,,'], "$way, session");
	is_deeply(audited($relation, $ways{$way}), ['SESSION WRITE,INSERT,TABLE,public.t'], "$way, session, relations");
	is_deeply(audited("$session; SET pgaudit.log_rows = on", $ways{$way}), ['SESSION WRITE,INSERT,,'], "$way, session, rows");
	is_deeply(audited($object, $ways{$way}), ['OBJECT WRITE,INSERT,TABLE,public.t'], "$way, object");
}
is_deeply(audited($object, $load->($file, '{"columns": ["a", null]}')), [], 'a column that is not audited');

is_deeply(audited($session, $load->($file, '{"on_duplicate": "keep_new", "truncate": true}')),
	[ 'SESSION WRITE,INSERT,,', 'SESSION WRITE,DELETE,,', 'SESSION WRITE,TRUNCATE TABLE,,' ], 'keep_new, truncate');
is_deeply(audited($object, $load->($file, '{"on_duplicate": "keep_new"}')),
	[ 'OBJECT WRITE,INSERT,TABLE,public.t', 'OBJECT WRITE,DELETE,TABLE,public.t' ], 'keep_new, object');

$node->safe_psql('postgres', 'CREATE SCHEMA AUTHORIZATION loader');
my $rejected = '{"on_error": "ignore", "reject_table": "loader.rejects", "log_verbosity": "silent"}';
is_deeply(audited($relation, $load->($bad, $rejected)),
	[ 'SESSION WRITE,INSERT,TABLE,public.t', 'SESSION DDL,CREATE TABLE,TABLE,loader.rejects', 'SESSION WRITE,INSERT,TABLE,loader.rejects' ],
	'a reject table that is created');
is_deeply(audited($session, $load->($bad, $rejected)), [ 'SESSION WRITE,INSERT,,', 'SESSION WRITE,INSERT,,' ], 'one that is there');
is_deeply(audited($relation, "SELECT * FROM bulk_load_retry('t', 'loader.rejects', (SELECT max(load_id) FROM loader.rejects), '{\"log_verbosity\": \"silent\"}')"),
	[ 'SESSION WRITE,DELETE,TABLE,loader.rejects', 'SESSION WRITE,INSERT,TABLE,public.t', 'SESSION WRITE,INSERT,TABLE,loader.rejects' ], 'a second try');
$node->safe_psql('postgres', 'CREATE INDEX ON loader.rejects (load_id)');
is_deeply(audited($relation, $load->($bad, $rejected)),
	[ 'SESSION WRITE,INSERT,TABLE,public.t', 'SESSION WRITE,INSERT,TABLE,loader.rejects' ], 'a reject table with an index');

check_log($node);
done_testing();
