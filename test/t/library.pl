# Libraries that are not the right one: built for another server, or installed after a session has loaded its own, so that
# its workers have that one.

use strict;
use warnings;

use File::Copy;
use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = data_dir();
my $node = bulk_server('library');
my $session = PgBulk::Session->new($node);

# library_of(SESSION): the file of the library that it has loaded.
sub library_of
{
	my ($session) = @_;

	return slurp_file("/proc/$session->{pid}/maps") =~ m,(/\S*/pgbulk\.so)$,m ? $1 : '';
}

# other_library(FROM, TO, FILE): a library with another constant than the one of this server.
sub other_library
{
	my ($from, $to, $file) = @_;
	my $bytes = slurp_file(library_of($session));

	ok($bytes =~ s/$from/$to/, "$file has another constant");
	open(my $new, '>:raw', "$folder/$file") or die "$folder/$file: $!";
	print $new $bytes;
	close($new) or die "$folder/$file: $!";
	return "$folder/$file";
}

is($session->ask('SELECT rows_loaded FROM bulk_load_last()'), '', 'a session with the library');

# ---- one built for a server whose pages or files have another size

foreach my $setting ('block_size', 'segment_size')
{
	my $library = other_library(qr/\b$setting=\d/, "$setting=7", "$setting.so");
	my ($rc, $out, $error) = $node->psql('postgres', "LOAD '$library'");

	like($error, qr/pgbulk was built for a server with other sizes of pages or files\nDETAIL:  It was built for .*$setting=7/, "$setting: refused");
}

# ---- one that is installed while sessions have their own

my $installed = "$folder/pgbulk.so";
my $new = other_library(qr/(?<= build )\d(?=\d*-\d+\0)/, 'x', 'new.so');
my $file = data_file('rows.csv', 2_000_000, sub { join '', map { my $i = $_[0] * 100 + $_; $i . ',' . $i % 7 . "\n" } 1 .. 100 });
my $rows = () = slurp_file($file) =~ /\n/g;

copy(library_of($session), $installed) or die "$installed: $!";
$node->safe_psql('postgres', qq{
	UPDATE pg_proc SET probin = '$installed' WHERE probin LIKE '%pgbulk';
	CREATE TABLE plain (a int, b int);
	CREATE TABLE indexed (a int PRIMARY KEY, b int);
	CREATE INDEX ON indexed (b);
	CREATE TABLE referred (b int PRIMARY KEY);
	INSERT INTO referred SELECT generate_series(0, 6)});

# What it does with workers, and the output of that.
sub load { my ($table, $options) = @_; return "TRUNCATE $table; SELECT rows_loaded FROM bulk_load('$table', '$file', '{\"workers\": 2, $options}')"; }
my @work = (
	[ 'a direct load', load('plain', '"writer": "direct"'), $rows ],
	[ 'a load by batches', load('plain', '"writer": "buffered"'), $rows ],
	[ 'entries of indexes', load('indexed', '"writer": "buffered"'), $rows ],
	[ 'several indexes', load('indexed', '"writer": "direct", "indexes": "rebuild"'), $rows ],
	[ 'foreign keys', 'ALTER TABLE indexed ADD FOREIGN KEY (b) REFERENCES referred; ALTER TABLE indexed DROP CONSTRAINT indexed_b_fkey', '' ]);

sub open_session
{
	my $session = PgBulk::Session->new($node);

	$session->ask('SELECT bulk_load_last(); SET pgbulk.chunk_size = 65536; SET pgbulk.foreign_keys = on; SET pgbulk.debug_foreign_keys = on');
	is(library_of($session), $installed, 'a session has it');
	return $session;
}

# work(SESSION, OTHER): all of it; OTHER: workers have another library.
sub work
{
	my ($session, $other) = @_;

	foreach (@work)
	{
		my ($name, $sql, $output) = @$_;

		is($session->ask($sql), $output, $name);
		is($session->{error} =~ /WARNING:  01000: workers do nothing/, $other, "$name: workers do " . ($other ? 'nothing' : 'something'));
	}
}

my $old = open_session();
work($old, '');
rename($new, $installed) or die "$installed: $!";
work($old, 1);
work(open_session(), '');

check_log($node, qr/WARNING: .*workers do nothing/);
done_testing();
