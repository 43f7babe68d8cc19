# Libraries that a session may meet instead of its own: one built for another server.

use strict;
use warnings;

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

check_log($node);
done_testing();
