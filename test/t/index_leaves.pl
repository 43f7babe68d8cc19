# What others leave on a leaf of a btree, or do to it, while entries of a load wait for it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('index_leaves', 'deadlock_timeout = 1h', 'lock_timeout = 60s');
my ($reader, $vacuum, $other) = map { PgBulk::Session->new($node) } 1 .. 3;

my $size = $node->safe_psql('postgres', 'CREATE EXTENSION amcheck; SHOW block_size');

sub sound
{
	my ($table, $name) = @_;

	my ($rc, $out, $err) = $node->psql('postgres', "SELECT bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = '$table'::regclass");
	is("$rc $err", '0 ', "$name: indexes are sound");
}

sub read_block
{
	my ($file, $block) = @_;
	sysseek($file, $block * $size, 0) && sysread($file, my $page, $size) == $size or die "block $block: $!";
	return $page;
}

sub write_block
{
	my ($file, $block, $page) = @_;
	die 'not a page' if length $page != $size;
	sysseek($file, $block * $size, 0) && syswrite($file, $page) == $size or die "block $block: $!";
}

# Calls EDIT with a file of the server, which has been stopped; checksums are right afterwards.
sub edit_blocks
{
	my ($path, $edit) = @_;

	system_or_bail('pg_checksums', '--no-sync', '--disable', '-D', $node->data_dir);
	open(my $file, '+<:raw', $node->data_dir . "/$path") or die "$path: $!";
	$edit->($file);
	close $file or die "$path: $!";
	system_or_bail('pg_checksums', '--no-sync', '--enable', '-D', $node->data_dir);
}

# VACUUM takes the hint that a leaf has dead items from it, although some died after it had looked at the table:
# they must go before what is equal on the leaf becomes one item.
$node->safe_psql('postgres', q{
	CREATE TABLE d (a int, b int, filler text);
	INSERT INTO d SELECT 3001 - i, i, repeat('x', 200) FROM generate_series(1, 3000) i;
	CREATE INDEX d_a ON d (a);
	CREATE INDEX d_b ON d (b) WITH (fillfactor = 90);
	VACUUM d;
	DELETE FROM d WHERE b < 40});
# the pin of an index-only scan keeps VACUUM waiting between the table and the second index
$reader->ask('SET enable_seqscan = off; SET enable_bitmapscan = off; BEGIN; DECLARE c CURSOR FOR SELECT a FROM d ORDER BY a; FETCH c');
$vacuum->send('VACUUM (INDEX_CLEANUP on, PARALLEL 0) d');
wait_for('VACUUM at the first index', sub { $other->ask("SELECT wait_event FROM pg_stat_activity WHERE pid = $vacuum->{pid}") eq 'BufferPin' });
$other->ask(q{BEGIN; INSERT INTO d SELECT -i, i, 'gone' FROM generate_series(300, 330) i; ROLLBACK;
	SET enable_seqscan = off; SET enable_bitmapscan = off});
is($other->ask('SELECT count(filler) FROM d WHERE b BETWEEN 300 AND 330'), 31, 'items of rows that were rolled back are marked dead');
$reader->ask('COMMIT');
$vacuum->wait;
is($vacuum->{error}, '', 'VACUUM is done');
my $file = data_file('d.csv', 1, join('', map { sprintf("%d,%d,new\n", 5000 + $_, $_ < 1500 ? 5000 + $_ : 100 + $_ % 250) } 1 .. 2500));
is($node->safe_psql('postgres', "SELECT rows_loaded FROM bulk_load('d', '$file', '{\"writer\": \"buffered\", \"workers\": 0}')"), 2500, 'rows of the same keys are loaded');
sound('d', 'dead items without a hint');

# A leaf whose split was not finished, as after a crash: its right half has no place in the parent.  Whoever inserts has to
# give it one, before.
$_->close foreach $reader, $vacuum, $other;
$node->safe_psql('postgres', q{
	CREATE EXTENSION pageinspect;
	CREATE TABLE i (k int);
	INSERT INTO i SELECT i * 10 FROM generate_series(1, 3000) i;
	CREATE INDEX i_k ON i (k) WITH (fillfactor = 50)});
my ($path, $root) = split /\|/, $node->safe_psql('postgres', q{SELECT pg_relation_filepath('i_k'), root FROM bt_metap('i_k')});
my ($left, $right) = split /\|/, $node->safe_psql('postgres', "SELECT btpo_prev, blkno FROM bt_page_stats('i_k', (SELECT (ctid::text::point)[0]::int FROM bt_page_items('i_k', $root) WHERE itemoffset = 8))");
$node->stop;
edit_blocks($path, sub {
		my ($file) = @_;
		my $leaf = read_block($file, $left);
		my $parent = read_block($file, $root);
		my $lower = unpack('S', substr($parent, 12, 2));

		# BTP_INCOMPLETE_SPLIT, and no line pointer of the eighth item
		substr($leaf, -4, 2) = pack('S', unpack('S', substr($leaf, -4, 2)) | 128);
		substr($parent, 24 + 7 * 4, $lower - 24 - 7 * 4) = substr($parent, 24 + 8 * 4, $lower - 24 - 8 * 4) . "\0" x 4;
		substr($parent, 12, 2) = pack('S', $lower - 4);
		write_block($file, $left, $leaf);
		write_block($file, $root, $parent);
});
$node->start;
sound('i', 'an incomplete split');
is($node->safe_psql('postgres', "SELECT btpo_flags & 128 FROM bt_page_stats('i_k', $left)"), 128, 'the split is not finished');
$file = data_file('i.csv', 1, join('', map { ($_ <= 1000 ? 100000 + $_ : ($_ - 1000) * 30 + 5) . "\n" } 1 .. 2000));
is($node->safe_psql('postgres', "SELECT rows_loaded FROM bulk_load('i', '$file', '{\"writer\": \"buffered\", \"workers\": 0}')"), 2000, 'rows on all leaves are loaded');
is($node->safe_psql('postgres', "SELECT btpo_flags & 128 FROM bt_page_stats('i_k', $left)"), 0, 'the split is finished');
sound('i', 'a finished split');

check_log($node);
check_tables($node);
done_testing();
