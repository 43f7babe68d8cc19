# COPY statements with options of pgbulk: from a client of each protocol, beside other
# extensions that watch statements, and in sessions and databases that have not got pgbulk.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $folder = data_dir();
my $client = libpq_client('stdin') // plan skip_all => 'needs a compiler and libpq';

my $node = bulk_server('copy', 'max_prepared_transactions = 2', 'shared_buffers = 32MB', 'max_worker_processes = 16');
my $watch = PgBulk::Session->new($node);

$node->safe_psql('postgres', q{
	ALTER DATABASE postgres SET session_preload_libraries = 'pgbulk';
	CREATE TABLE t (i int, s text);
	CREATE TABLE keyed (i int PRIMARY KEY, s text);
	CREATE TABLE refusing (i int, s text);
	CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'no rows here'; END$$;
	CREATE TRIGGER refuses BEFORE INSERT ON refusing EXECUTE FUNCTION refuses();
	CREATE ROLE loader LOGIN;
	GRANT INSERT, UPDATE ON t TO loader});

sub count { return $watch->ask('SELECT count(*), sum(i::bigint) FROM t'); }

# Runs the client; returns its lines.
sub client
{
	my ($mode, $data, $sql, %more) = @_;
	my ($out, $err);
	my $options = join(' ', map { "-c pgbulk.$_=$more{settings}{$_}" } sort keys %{ $more{settings} // {} });

	data_file('data', length $data, $data);
	IPC::Run::run([ $client, $node->connstr($more{database} // 'postgres') . ($more{user} ? " user=$more{user}" : '') . " options='$options'", $mode, $more{piece} // 8192, $more{end} // 'done', $sql ],
		'<', "$folder/data", '>', \$out, '2>', \$err, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$out =~ s/PGRES_TUPLES_OK SELECT 1 is=ready\n\z// or $out .= 'the connection was lost';
	$out =~ s/ ?\n/\n/g;
	return $out;
}

my $lines = join('', map { "$_\tsome text\n" } 1 .. 1000);
my $sum = 1000 * 1001 / 2;
my $asked = "PGRES_COPY_IN\n";
my $copy = 'COPY t FROM STDIN (TRUNCATE)';

foreach my $mode ('simple', 'extended')
{
	is(client($mode, $lines, $copy), "${asked}PGRES_COMMAND_OK COPY 1000\n", "$mode: rows");
	is(count(), "1000|$sum", "$mode: all are there");
	is(client($mode, $lines x 1000, $copy, piece => 100000), "${asked}PGRES_COMMAND_OK COPY 1000000\n", "$mode: many");
	is(count(), '1000000|' . $sum * 1000, "$mode: all are there");
	is(client($mode, "1\ta\n2\tb\n", $copy, piece => 1), "${asked}PGRES_COMMAND_OK COPY 2\n", "$mode: byte by byte");
	is(client($mode, '', $copy), "${asked}PGRES_COMMAND_OK COPY 0\n", "$mode: nothing");
	is(client($mode, $lines x 100, 'COPY t FROM STDIN (LIMIT 0)'), "${asked}PGRES_COMMAND_OK COPY 0\n", "$mode: no row is wanted");
	is(client($mode, $lines, 'COPY t FROM STDIN (DRY_RUN)'), "${asked}PGRES_COMMAND_OK COPY 0\n", "$mode: a dry run");
	is(count(), '0|', "$mode: of which nothing stays");

	# errors, and a client that gives up; the connection is good for more
	is(client($mode, $lines . "x\tbad\n" . $lines x 1000, $copy), $asked . "PGRES_FATAL_ERROR  22P02: invalid input syntax for type integer: \"x\"\n", "$mode: a bad row");
	is(client($mode, $lines, $copy, end => 'fail'), $asked . "PGRES_FATAL_ERROR  57014: COPY from stdin failed: the client has had enough\n", "$mode: a client that gives up");
	is(client($mode, $lines, $copy, end => 'cancel'), $asked . "PGRES_FATAL_ERROR  57014: canceling statement due to user request\n", "$mode: a client that cancels");
	is(client($mode, '', 'COPY t FROM STDIN (TRUNCAT)'), "PGRES_FATAL_ERROR  42601: option \"truncat\" not recognized\n", "$mode: it is not asked for data that are not needed");
	is(client($mode, "9\tnine\n", 'COPY t FROM STDIN (LIMIT 5)', user => 'loader'), "${asked}PGRES_COMMAND_OK COPY 1\n", "$mode: anyone may");

	# where the client is busy: a trigger of the COPY asks for its data, too
	$node->safe_psql('postgres', q{
		CREATE OR REPLACE FUNCTION loads_more() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM bulk_load('t', 'stdin'); RETURN NEW; END$$;
		CREATE OR REPLACE TRIGGER loads_more BEFORE INSERT ON keyed FOR EACH ROW WHEN (NEW.i < 0) EXECUTE FUNCTION loads_more()});
	is(client($mode, "-1\ta\n", 'COPY keyed FROM STDIN (ON_DUPLICATE keep_old)'), $asked . "PGRES_FATAL_ERROR  0A000: cannot load from the client here\n", "$mode: a load within it");
}
$watch->ask('TRUNCATE t, keyed');

# The line at which a client gives up, as COPY tells it
foreach my $settings ({ copy => 'off' }, { copy => 'on' }, { copy => 'on', chunk_size => 2000 })
{
	my $start = -s $node->logfile;

	client('simple', $lines x 300, 'COPY t FROM STDIN', end => 'fail', settings => $settings);
	like(PostgreSQL::Test::Utils::slurp_file($node->logfile, $start), qr/COPY t, line 300001$/m, join(' ', %$settings) . ': the line');
	client('simple', "1\ta\\\nb\\\\\n" x 20000, 'COPY t FROM STDIN', end => 'fail', settings => $settings);
	like(PostgreSQL::Test::Utils::slurp_file($node->logfile, $start), qr/COPY t, line 20001$/m, join(' ', %$settings) . ': the line behind escaped line ends');

	$start = -s $node->logfile;
	client('simple', $lines =~ tr/\n/\r/r x 300, 'COPY t FROM STDIN', end => 'fail', settings => $settings);
	like(PostgreSQL::Test::Utils::slurp_file($node->logfile, $start), qr/COPY t, line 300001$/m, join(' ', %$settings) . ': the line, where lines end in CR');
}

# The same without an option of pgbulk: as the server runs it, in all that the client sees.
my @settings = ({ copy => 'on' }, { copy => 'on', copy_min_size => 0 }, { copy => 'on', copy_min_size => 20000, chunk_size => 1000 }, { copy => 'exclusive', copy_min_size => 0 });
foreach my $mode ('simple', 'extended')
{
	my @plain = (
		[ 'rows', $lines, 'COPY t FROM STDIN' ],
		[ 'many', $lines x 1000, 'COPY t FROM STDIN', piece => 100000 ],
		[ 'many, of which the second piece is large', $lines x 200, 'COPY t FROM STDIN', piece => 50000 ],
		[ 'byte by byte', $lines, 'COPY t FROM STDIN', piece => 1 ],
		[ 'nothing', '', 'COPY t FROM STDIN' ],
		[ 'text behind the marker', "1\ta\n\\.\n" . $lines x 100, 'COPY t FROM STDIN' ],
		[ 'a bad row', $lines . "x\tbad\n" . $lines x 1000, 'COPY t FROM STDIN' ],
		[ 'a bad row at the end', $lines x 100 . "x\tbad", 'COPY t FROM STDIN' ],
		[ 'a client that gives up', $lines x 10, 'COPY t FROM STDIN', end => 'fail' ],
		[ 'a client that gives up at once', '', 'COPY t FROM STDIN', end => 'fail' ],
		[ 'rows for a trigger', "1\ta\n2\tb\n" x 5000, 'COPY keyed FROM STDIN' ],
		[ 'a key twice', join('', map { "$_\tx\n" } 1 .. 9000, 5), 'COPY keyed FROM STDIN' ],
		[ 'a load within it', "-1\ta\n" . $lines, 'COPY keyed FROM STDIN' ],
		[ 'without a privilege', $lines, 'COPY keyed FROM STDIN', user => 'loader' ],
		[ 'with a privilege', $lines, 'COPY t FROM STDIN', user => 'loader' ]);
	foreach my $case (@plain)
	{
		my ($name, $data, $sql, %more) = @$case;
		$watch->ask('TRUNCATE t, keyed');
		my $theirs = client($mode, $data, $sql, %more) . count();
		foreach my $settings ($mode eq 'simple' ? @settings : $settings[2])
		{
			$watch->ask('TRUNCATE t, keyed');
			is(client($mode, $data, $sql, %more, settings => $settings) . count(), $theirs, "$mode, " . join(', ', map { "$_ $settings->{$_}" } sort keys %$settings) . ": $name");
		}
	}
	# the server's own notices a cancel when data come, and so maybe not at all
	$watch->ask('TRUNCATE t');
	is(client($mode, $lines x 10, 'COPY t FROM STDIN', end => 'cancel', settings => $_) . count(), $asked . "PGRES_FATAL_ERROR  57014: canceling statement due to user request\n0|", "$mode, a client that cancels")
	  foreach @settings;

	# an error between the request for data and the first of them; with the server's own
	# the client of the extended protocol gets two answers to one Sync then
	is(client($mode, $lines x 10, 'COPY refusing FROM STDIN', settings => $_), $asked . "PGRES_FATAL_ERROR  P0001: no rows here\n", "$mode, a trigger that refuses")
	  foreach @settings;
}
foreach my $setting ('off', 'on', 'exclusive')
{
	is(client('simple', "1\tone\n", "BEGIN; TRUNCATE t; COPY t FROM STDIN; SELECT sum(count) AS taken FROM bulk_load_statements WHERE taken; SELECT count(*) FROM t; PREPARE TRANSACTION 'p'", settings => { copy => $setting, copy_min_size => 0 }),
		"PGRES_COMMAND_OK BEGIN\nPGRES_COMMAND_OK TRUNCATE TABLE\n${asked}PGRES_COMMAND_OK COPY 1\nPGRES_TUPLES_OK SELECT 1 taken=" . ($setting eq 'off' ? '' : 1) . "\nPGRES_TUPLES_OK SELECT 1 count=1\nPGRES_COMMAND_OK PREPARE TRANSACTION\n", "$setting: in a transaction that is prepared");
	is($watch->ask("COMMIT PREPARED 'p'; SELECT count(*) FROM t"), 1, "$setting: and committed");
}
$watch->ask('TRUNCATE t, keyed');

# A query in the middle of the data: the session ends, and the client hears why, to the last byte.
use IO::Socket::UNIX;
sub message { my ($type, $body) = @_; return $type . pack('N', 4 + length $body) . $body; }
foreach my $setting ('off', 'on')
{
	my $socket = IO::Socket::UNIX->new(Peer => $node->host . '/.s.PGSQL.' . $node->port) or die "cannot connect: $!";
	my $heard = '';
	my $hear = sub {
		my ($end) = @_;
		while ($heard !~ $end) { sysread($socket, $heard, 8192, length $heard) or return; }
	};

	$socket->syswrite(message('', pack('N', 3 << 16) . join("\0", user => scalar(getpwuid($<)), database => 'postgres', options => "-c pgbulk.copy=$setting -c pgbulk.copy_min_size=0", '', '')));
	$hear->(qr/Z\0{3}\x05I/);
	$socket->syswrite(message('Q', "COPY t FROM STDIN\0"));
	$hear->(qr/G\0{3}/);
	$socket->syswrite(message('d', $lines) . message('Q', 'SELECT ' . ' ' x 20000 . "1\0"));
	$hear->(qr/synchronization was lost.*\0\0\z/s);
	like($heard, qr/unexpected message type 0x51 during COPY from stdin.*protocol synchronization was lost/s, "$setting: a query among the data");
}

# Several statements in one message, with those of the server among them.
is(client('simple', "1\tone\n", 'BEGIN; COPY t FROM STDIN (LIMIT 5); SELECT rows_loaded, rows_read FROM bulk_load_last(); SELECT count(*) FROM t; ROLLBACK'),
	"PGRES_COMMAND_OK BEGIN\n${asked}PGRES_COMMAND_OK COPY 1\nPGRES_TUPLES_OK SELECT 1 rows_loaded=1 rows_read=1\nPGRES_TUPLES_OK SELECT 1 count=1\nPGRES_COMMAND_OK ROLLBACK\n", 'among other statements');
is(client('simple', "1\tone\n", 'COPY t FROM STDIN'), "${asked}PGRES_COMMAND_OK COPY 1\n", "the server's own");
is(client('simple', '', 'COPY t TO STDOUT') =~ /^PGRES_COPY_OUT/, 1, 'COPY TO');

# With workers, whose errors have the same CONTEXT.
is(client('simple', $lines x 3000, "COPY t FROM STDIN (TRUNCATE, WORKERS 2)"), "${asked}PGRES_COMMAND_OK COPY 3000000\n", 'with workers');
is($watch->ask("SELECT count(*) FROM (SELECT i - lag(i, 1, 1000) OVER (ORDER BY ctid) AS step FROM t) AS s WHERE step NOT IN (1, -999)"), '0', 'with workers: in their order');
my $large = data_file('large', 1, $lines x 3000 . "x\tbad\n");
foreach my $workers (0, 2)
{
	my ($code, $out, $err) = $node->psql('postgres', "COPY t FROM '$large' (TRUNCATE, WORKERS $workers)");
	is($err =~ s/^psql:\S+ //r, qq{ERROR:  invalid input syntax for type integer: "x"\nCONTEXT:  COPY t, line 3000001, column i: "x"}, "$workers workers: the CONTEXT");
}

# psql sends a compressed file unchanged if the compression is named.
use IO::Compress::Gzip qw(gzip $GzipError);
my $plain = $lines x 20;
gzip(\$plain => "$folder/rows.gz") or die $GzipError;
my $psql = 'psql -XAt -d "' . $node->connstr('postgres') . '"';
is(`$psql -c "\\copy t FROM '$folder/rows.gz' (TRUNCATE, COMPRESSION gzip)" 2>&1`, "COPY 20000\n", 'psql: a compressed file');
like(`$psql -c "\\copy t FROM '$folder/rows.gz' (TRUNCATE)" 2>&1`, qr/is (not complete|corrupt)\n.*\nHINT:  .*option "compression" set to "gzip"/, 'psql: without the name of the compression');

# A session that has not loaded the library, and a database without the extension.
my $bare = $node->connstr('postgres') . " options='-c session_preload_libraries='";
like(`psql -XAt -d "$bare" -c "COPY t FROM STDIN (TRUNCATE)" 2>&1 </dev/null`, qr/ERROR:  option "truncate" not recognized/, 'without the library');
like(`psql -XAt -d "$bare" -c "SELECT rows_loaded FROM bulk_load_last()" -c "COPY t FROM STDIN (TRUNCATE)" 2>&1 </dev/null`, qr/^\nCOPY 0$/, 'a function loads it');
$node->safe_psql('postgres', "CREATE DATABASE other; ALTER DATABASE other SET session_preload_libraries = 'pgbulk'");
$node->safe_psql('other', 'DROP EXTENSION IF EXISTS pgbulk; CREATE TABLE t (i int, s text)');
my ($code, $out, $err) = $node->psql('other', 'COPY t FROM STDIN (TRUNCATE)');
like($err, qr/extension "pgbulk" is not installed in this database/, 'without the extension');
like(($node->psql('other', 'COPY t FROM STDIN (TRUNCAT)'))[2], qr/option "truncat" not recognized\n.*\n.*\n(psql:.*)?HINT:  Perhaps you meant "truncate"/, 'without the extension: an option of nobody');
is(client('simple', "1\ta\n", 'COPY t FROM STDIN', database => 'other'), "${asked}PGRES_COMMAND_OK COPY 1\n", "without the extension: the server's own");

# Beside an extension that watches statements: before and after it in the chain.
SKIP: {
	skip 'needs pg_stat_statements', 4 unless $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements'");
	foreach my $order ('pgbulk, pg_stat_statements', 'pg_stat_statements, pgbulk')
	{
		$watch->close;
		$node->append_conf('postgresql.conf', "shared_preload_libraries = '$order'\npg_stat_statements.track = 'all'");
		$node->restart;
		$watch = PgBulk::Session->new($node);
		$watch->ask('CREATE EXTENSION IF NOT EXISTS pg_stat_statements; SELECT count(*) > 0 FROM pg_stat_statements_reset()');
		is(client('simple', $lines, $copy), "${asked}PGRES_COMMAND_OK COPY 1000\n", "shared_preload_libraries = $order");
		is($watch->ask("SELECT string_agg(calls || ' ' || rows, ',') FROM pg_stat_statements WHERE query ~ '^COPY t'") // '',
			$order =~ /^pgbulk/ ? '1 1000' : '', 'what pg_stat_statements has of the statement');
	}
}

$watch->close;
check_log($node, qr/protocol synchronization was lost/);
$node->stop;
done_testing();
