# What the direct writer compresses is the same as what the server compresses,
# byte for byte: in the table and in its TOAST table.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = bulk_server('compression', 'max_wal_size = 1GB');

plan skip_all => 'this server lacks pageinspect' unless has_extension($node, 'pageinspect');


# Text that repeats itself now and then, from near and from far.
sub text
{
	my ($length, $letters, $repeats, $longest) = @_;
	my $text = '';

	while (length $text < $length)
	{
		if ($text ne '' && rand 100 < $repeats)
		{
			my $back = 1 + int rand(length $text < 6000 ? length $text : 6000);
			$text .= substr($text, -$back, 1 + int rand $longest);
		}
		else
		{
			$text .= chr(97 + int rand $letters);
		}
	}
	return substr $text, 0, $length;
}

sub json
{
	my ($items) = @_;
	return '[' . join(', ', map { sprintf '{"id": %d, "name": "%s", "on": %s, "at": "2026-%02d-%02dT12:00:00Z"}',
		rand 100000, text(3 + rand 9, 26, 0, 0), rand 2 < 1 ? 'true' : 'false', 1 + rand 12, 1 + rand 28 } 1 .. $items) . ']';
}

my $texts = data_file('texts.csv', 12 * 1024 * 1024, sub {
	my ($n) = @_;
	my $length = $n % 50 == 0 ? rand 100000 : $n % 3 == 0 ? 1900 + rand 200 : rand 9000;
	return "$n," . ($n % 4 == 0 ? '"' . json($length / 80 + 1) =~ s/"/""/gr . '"' :
		text($length, (1, 2, 4, 12, 26)[$n % 5], (0, 2, 30)[$n / 5 % 3], (4, 20, 500)[$n / 15 % 3])) . "\n";
});
my $bytes = data_file('bytes.csv', 4 * 1024 * 1024, sub {
	my ($n) = @_;
	my $text = text(rand 6000, 26, 40, 60);
	$text =~ tr/a-z/\x80-\x87\xf0-\xff\x00\x01/ if $n % 2;
	return "$n,\\x" . unpack('H*', $text) . "\n";
});

$node->safe_psql('postgres', q{
	CREATE EXTENSION pageinspect;
	CREATE FUNCTION tuples(t regclass) RETURNS TABLE (len smallint, data bytea) LANGUAGE sql AS
	$$ SELECT lp_len, CASE WHEN t_infomask & 4 <> 0 THEN substr(t_data, 1, length(t_data) - 8) ELSE t_data END
		FROM generate_series(0, pg_relation_size(t)::int / 8192 - 1) block, heap_page_items(get_raw_page(t::text, block)) $$;
	CREATE FUNCTION chunks(t regclass) RETURNS SETOF record LANGUAGE plpgsql AS
	$$ BEGIN RETURN QUERY EXECUTE format('SELECT dense_rank() OVER (ORDER BY chunk_id), chunk_seq, chunk_data FROM %s',
		(SELECT reltoastrelid::regclass FROM pg_class WHERE oid = t)); END $$});

for my $case ([ 'texts', 'text', $texts, '' ], [ 'bytes', 'bytea', $bytes, '' ],
	[ 'main', 'text', $texts, 'ALTER TABLE %s ALTER v SET STORAGE main' ],
	[ 'pglz', 'text', $texts, 'ALTER TABLE %s ALTER v SET COMPRESSION pglz' ])
{
	my ($name, $type, $file, $alter) = @$case;

	for my $table ("${name}_copy", "${name}_bulk")
	{
		$node->safe_psql('postgres', "CREATE TABLE $table (n int, v $type); " . sprintf($alter, $table));
	}
	$node->safe_psql('postgres', "COPY ${name}_copy FROM '$file' (FORMAT csv)");
	is($node->safe_psql('postgres', "SELECT writer FROM bulk_load('${name}_bulk', '$file', '" . direct(0) . "')"),
		'direct', "$name: loaded");
	is($node->safe_psql('postgres', "SELECT count(*) > 200, bool_or(pg_column_compression(v) = 'pglz') FROM ${name}_bulk"),
		't|t', "$name: values are compressed");
	for my $part ('tuples(%s)', 'chunks(%s) AS c (value bigint, seq int, data bytea)')
	{
		my ($copy, $bulk) = map { 'SELECT * FROM ' . sprintf($part, "'${name}_$_'") } qw(copy bulk);

		is($node->safe_psql('postgres', "SELECT count(*) FROM (($copy EXCEPT ALL $bulk) UNION ALL ($bulk EXCEPT ALL $copy)) d"),
			'0', "$name: the same bytes in " . $part =~ s/\(.*//r);
	}
}

check_log($node);
check_tables($node);
done_testing();
