# A load that fills the disk ends in an error and leaves the table as it was.
#
# The disk is a tmpfs in a mount namespace of this test's own, so that no
# privilege is needed where the system lets users have such.

use strict;
use warnings;

use Test::More;

my $disk;

BEGIN
{
	$disk = '/mnt';

	# as root in there, and then as the user again: the server refuses root
	my @enter = ('unshare', '--map-root-user', '--mount', 'sh', '-c', qq(
		user=\$1 group=\$2
		shift 2
		mount -t tmpfs -o size=24m,mode=0700 none $disk || exit
		exec unshare --user --map-user="\$user" --map-group="\$group" "\$@"), 'sh', $> + 0, $) + 0);

	unless ($ENV{PGBULK_TEST_DISK})
	{
		system('sh', '-c', 'exec "$@" 2>/dev/null', 'sh', @enter, 'test', '-w', $disk) == 0
		  or plan skip_all => 'no small disk can be mounted here';
		$ENV{PGBULK_TEST_DISK} = 1;
		exec @enter, $^X, $0;
	}
}

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;

my $MB = 1024 * 1024;
my $node = bulk_server('disk_full', 'shared_buffers = 4MB', 'max_wal_size = 1GB');
my $session = PgBulk::Session->new($node);

mkdir "$disk/space" or die $!;
$node->safe_psql('postgres', "CREATE TABLESPACE small LOCATION '$disk/space'");
$node->safe_psql('postgres', "CREATE EXTENSION amcheck;
	CREATE TABLE other (i int) TABLESPACE small;
	INSERT INTO other SELECT generate_series(1, 1000)");

my %file = (
	rows => {
		large => data_file('rows.csv', 32 * $MB, join('', map { "$_,text of a row of this file\n" } 1 .. 5000)),
		small => data_file('few_rows.csv', 1, join('', map { "$_,text of a row of this file\n" } 1 .. 2000)) },
	wide => {
		large => data_file('wide.csv', 32 * $MB, sub { return "$_[0]," . 'wide ' x 1000 . "\n" }),
		small => data_file('few_wide.csv', 1, join('', map { "$_," . 'wide ' x 1000 . "\n" } 1 .. 50)) });

sub count { return $session->ask("SELECT count(*), count(s) FROM $_[0]") }

# $load->(TABLE, PATH) is SQL that loads a file.
sub fills
{
	my ($name, $make, $files, $load, @leaves) = @_;
	my ($few) = slurp_file($files->{small}) =~ /(\d+),[^\n]*\n\z/;
	my $filler = "$disk/filler";

	# what an administrator can remove
	open(my $fill, '>', $filler) or die $!;
	print $fill 'x' x (2 * $MB);
	close($fill) or die $!;

	$session->ask("$make; ALTER TABLE full_one ALTER s SET STORAGE external");
	is($session->ask($load->('full_one', $files->{small})), $few, "$name: a load that fits");
	$session->ask($load->('full_one', $files->{large}));
	is($session->sqlstate, '53100', "$name: a load that does not fit fails");
	like($session->{error}, qr/ERROR:  53100: could not (?:extend|write).*(?:No space left on device|wrote only \d+ of \d+ bytes at block \d+)\n/, "$name: and says why");
	is(count('full_one'), "$few|$few", "$name: the rows of before are there, and no others");
	is(count('other o(s)'), '1000|1000', "$name: so are those of other tables");
	is_sound($node, $_, "$name: the heap is sound") foreach @leaves ? @leaves : 'full_one';

	unlink $filler or die $!;
	is($session->ask($load->('full_one', $files->{small})), $few, "$name: with some space a smaller load works");
	$session->ask('VACUUM full_one');
	is($session->{error}, '', "$name: VACUUM takes what is left of the other");
	is($session->ask("BEGIN; " . $load->('full_one', $files->{small}) . '; SAVEPOINT s; ' . $load->('full_one', $files->{large})
			  . '; ROLLBACK TO s; COMMIT; SELECT count(*) FROM full_one'),
		$few . "\n" . 3 * $few, "$name: below a savepoint the same");
	is($session->sqlstate, '53100', "$name: with an error");
	is_sound($node, $_, "$name: the heap is sound in the end") foreach @leaves ? @leaves : 'full_one';
	$session->ask('DROP TABLE full_one; CHECKPOINT');
}

my %make = (
	logged => 'CREATE TABLE full_one (i int, s text) TABLESPACE small',
	unlogged => 'CREATE UNLOGGED TABLE full_one (i int, s text) TABLESPACE small');

foreach my $workers (@WORKERS)
{
	my $direct = sub { return "SELECT rows_loaded FROM bulk_load('$_[0]', '$_[1]', '" . direct($workers) . "')" };

	foreach my $kind (sort keys %make)
	{
		fills("direct, $workers workers, $kind, $_", $make{$kind}, $file{$_}, $direct) foreach sort keys %file;
	}
}

my $partitioned = 'CREATE TABLE full_one (i int, s text) PARTITION BY HASH (i) TABLESPACE small';
$partitioned .= "; CREATE TABLE full_$_ PARTITION OF full_one FOR VALUES WITH (MODULUS 2, REMAINDER $_)" foreach 0, 1;
fills("direct, partitions, $_", $partitioned, $file{$_},
	sub { return "SELECT rows_loaded FROM bulk_load('$_[0]', '$_[1]', '" . direct(2) . "')" }, 'full_0', 'full_1') foreach sort keys %file;
fills('buffered', $make{logged}, $file{rows},
	sub { return "SELECT rows_loaded FROM bulk_load('$_[0]', '$_[1]', '{\"writer\": \"buffered\"}')" });

$session->close;
check_log($node);
check_tables($node);
done_testing();
