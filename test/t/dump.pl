# Dump and restore: the numbers of loads continue and the history is there, the role that dumps a
# database can read them, and its owner can restore it, whoever has created the extension there.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('dump');
my $file = data_file('rows.csv', 1, "1\nx\n");
my $once = data_file('once.csv', 1, "2\n");
my $folder = data_dir();

# The number of a load with a bad row.
sub load_id
{
	my ($database) = @_;
	return $node->safe_psql($database,
		qq(SELECT details ->> 'load_id' FROM ext.bulk_load('t', '$file', '{"on_error": "ignore", "reject_table": "r", "log_verbosity": "silent"}')));
}

# How many rows are loaded of a file that may have been loaded before.
sub loaded_once
{
	my ($database) = @_;
	return $node->safe_psql($database,
		qq(SELECT rows_loaded FROM ext.bulk_load('t', '$once', '{"once": true, "log_verbosity": "silent"}')));
}

$node->safe_psql('postgres', 'CREATE ROLE dumper LOGIN');
$node->safe_psql('postgres', "CREATE DATABASE $_ OWNER dumper") foreach qw(here plain archive owned before);
$node->safe_psql('here', q{
	CREATE SCHEMA ext;
	GRANT USAGE ON SCHEMA ext TO dumper;
	CREATE EXTENSION pgbulk SCHEMA ext;
	CREATE TABLE t (a int);
	ALTER TABLE t OWNER TO dumper});
my $last;
$last = load_id('here') foreach 1 .. 3;
is($last, 3, 'three loads');
is(loaded_once('here'), 1, 'one that is remembered');
$node->safe_psql('here', 'ALTER TABLE r OWNER TO dumper');

# by the owner of the database, who does not own the extension
$node->command_ok([ 'pg_dump', '-f', "$folder/plain.sql", $node->connstr('here') . ' user=dumper' ],
	'the owner of the database dumps it');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$folder/archive", $node->connstr('here') ], 'a superuser, too');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$folder/plain.sql", $node->connstr('plain') ], 'restored by psql');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('archive'), "$folder/archive" ], 'restored by pg_restore');

# the extension is trusted, so who owns the database can restore it
$node->command_ok([ 'pg_dump', '-Fc', '--no-owner', '-f', "$folder/owned", $node->connstr('here') ], 'without owners');
$node->command_ok([ 'pg_restore', '--no-owner', '--exit-on-error', '-d', $node->connstr('owned') . ' user=dumper', "$folder/owned" ],
	'restored by the owner of the database');
is($node->safe_psql('owned', q{
	SELECT r.rolname, r.rolsuper FROM pg_extension JOIN pg_roles r ON r.oid = extowner WHERE extname = 'pgbulk'}),
	'dumper|f', 'whose extension it is');

# where somebody else has created it before, all but the comment on it
$node->safe_psql('before', 'CREATE SCHEMA ext AUTHORIZATION dumper; CREATE EXTENSION pgbulk SCHEMA ext');
$node->command_ok([ 'sh', '-c', q{pg_restore -l "$1" | grep -vE 'COMMENT - EXTENSION pgbulk|SCHEMA - ext ' |
	pg_restore --no-owner --exit-on-error -L /dev/stdin -d "$2" "$1"}, 'sh', "$folder/owned", $node->connstr('before') . ' user=dumper' ],
	'restored where it was before');

foreach my $database (qw(plain archive owned before))
{
	is(load_id($database), $last + 2, "$database: numbers go on");
	is(loaded_once($database), 0, "$database: a file that was loaded is passed over");
	is($node->safe_psql($database, 'SELECT count(*), count(DISTINCT load_id) FROM r'), '4|4',
		"$database: no two loads in the reject table under one number");
}

check_log($node);
done_testing();
