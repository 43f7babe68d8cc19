# The direct writer's pages against COPY's: the same tuples in the same order,
# bit for bit but for hints, in tables of every kind.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# Tables and files do not fit the buffers; wal_level = minimal for those that
# need no WAL then.
my $node = bulk_server('direct_pages', 'shared_buffers = 4MB', 'temp_buffers = 1MB',
	'wal_level = minimal', 'max_wal_senders = 0', 'max_wal_size = 1GB');

plan skip_all => 'this server lacks pageinspect' unless has_extension($node, 'pageinspect');


# Every table has a first column a, of which the file has 0, 1, 2 and so on;
# COPY goes back to fill pages where rows differ in width.  A tuple's 0x0700 are
# hints, unless it is frozen (0x0300); the last 8 bytes of one that ends in a
# pointer to a value out of line (0x0004) tell where that is.
$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	CREATE EXTENSION pageinspect;
	CREATE FUNCTION blocks(t regclass) RETURNS SETOF int LANGUAGE sql AS
	$$ SELECT generate_series(0, pg_relation_size(t)::int / 8192 - 1) $$;
	CREATE FUNCTION tuples(t regclass) RETURNS TABLE (a bytea, flags smallint, len smallint, infomask int, infomask2 int,
		hoff smallint, nulls text, data bytea, itself bool) LANGUAGE sql AS
	$$ SELECT substr(t_data, 1, 4), lp_flags, lp_len,
		t_infomask & CASE WHEN t_infomask & x'0300'::int = x'0300'::int THEN -1 ELSE ~ x'0700'::int END, t_infomask2, t_hoff, t_bits,
		CASE WHEN t_infomask & 4 <> 0 THEN substr(t_data, 1, length(t_data) - 8) ELSE t_data END, t_ctid = format('(%s,%s)', block, lp)::tid
		FROM blocks(t) block, heap_page_items(get_raw_page(t::text, block)) $$;
	CREATE FUNCTION headers(t regclass) RETURNS TABLE (flags smallint, special int, pagesize int, version smallint, prune_xid text,
		xids bigint, commands bigint, from_the_future bool) LANGUAGE sql AS
	$$ SELECT h.flags, h.special, h.pagesize, h.version, h.prune_xid::text, count(DISTINCT t_xmin::text), count(DISTINCT t_field3),
		bool_or(h.lsn > pg_current_wal_insert_lsn())
		FROM blocks(t) block, get_raw_page(t::text, block) page, page_header(page) h, heap_page_items(page)
		GROUP BY 1, 2, 3, 4, 5 $$;
	-- pages that had room for the next tuple, but for what the table wants free
	CREATE FUNCTION holes(t regclass, fillfactor int) RETURNS bigint LANGUAGE sql AS
	$$ SELECT count(*) FROM (
		SELECT upper - lower - 4 - 8192 * (100 - fillfactor) / 100 AS space, lead(len) OVER (ORDER BY block) AS next
		FROM blocks(t) block, get_raw_page(t::text, block) page, page_header(page),
			LATERAL (SELECT (lp_len + 7) & ~7 AS len FROM heap_page_items(page) WHERE lp = 1) first) pages
		WHERE space >= next $$});

my $rows = data_file('rows.csv', 1024 * 1024, sub {
	my ($n) = @_;
	return join(',', $n, $n % 7 ? chr(97 + $n % 26) x ($n % 90) : '', $n % 13 ? 't' : 'f', $n % 5 ? $n / 8 : '',
		sprintf('20%02d-%02d-%02d', $n % 100, 1 + $n % 12, 1 + $n % 28)) . "\n";
});
my $fixed = data_file('fixed.csv', 512 * 1024, sub { return "$_[0]," . $_[0] % 3 . ',' . $_[0] * 1000003 . "\n" });
my $sparse = data_file('sparse.csv', 512 * 1024, sub {
	my ($n) = @_;
	return join(',', $n, map { ($n >> $_ % 8) * ($_ + 3) & 1 ? $n * $_ : '' } 1 .. 20) . "\n";
});

# some short, some that are compressed where that is allowed, some that are not small then
my $wide = data_file('wide.csv', 2 * 1024 * 1024, sub {
	my ($n) = @_;
	my $length = $n * 97 % 7000;
	return "$n," . ($n % 3 ? "row $n " x ($length / 8) : join('', map { chr(97 + rand 26) } 1 .. $length)) . "\n";
});

my $columns = 'a int NOT NULL, b text, c bool, d numeric(12,3), e date';

# How to make a table %s of the kind, and the file; in the transaction of the
# load too (block), or what comes there before; more options; whether workers
# cannot take part.
my @kinds = (
	{ name => 'logged', make => "CREATE TABLE %s ($columns)", file => $rows },
	{ name => 'unlogged', make => "CREATE UNLOGGED TABLE %s ($columns)", file => $rows },
	{ name => 'temporary', make => "CREATE TEMPORARY TABLE %s ($columns)", file => $rows, alone => 1 },
	{ name => 'fillfactor', make => "CREATE TABLE %s ($columns) WITH (fillfactor = 70)", fill => 70, file => $rows },
	{ name => 'fixed', make => 'CREATE TABLE %s (a int, b int8, c float8)', file => $fixed },
	{ name => 'nulls', make => 'CREATE TABLE %s (' . join(', ', 'a int', map { "c$_ int" } 1 .. 20) . ')', file => $sparse },
	{
		name => 'dropped',
		make => 'CREATE TABLE %1$s (x int, a int, y text DEFAULT 7, b text, c bool, d numeric(12,3), e date, z int);
			ALTER TABLE %1$s DROP x, DROP y, DROP z',
		file => $rows
	},
	{
		name => 'filled',
		make => "CREATE TABLE %1\$s ($columns); INSERT INTO %1\$s SELECT i, repeat('x', 30), true, 1, '2024-01-01' FROM generate_series(-500, -1) i",
		file => $rows
	},
	{ name => 'new', make => "CREATE TABLE %s ($columns)", file => $rows, block => 1 },
	{
		name => 'frozen', more => '"freeze": true', copy => ', FREEZE',
		make => "CREATE TABLE %s ($columns)", file => $rows, block => 1
	},
	{
		name => 'emptied',
		make => "CREATE TABLE %1\$s ($columns); INSERT INTO %1\$s (a) VALUES (1)",
		file => $rows, before => 'TRUNCATE %s'
	},
	{ name => 'extended', make => 'CREATE TABLE %s (a int, b text)', file => $wide },
	{
		name => 'external', file => $wide,
		make => 'CREATE TABLE %1$s (a int, b text); ALTER TABLE %1$s ALTER b SET STORAGE external'
	},
	{
		name => 'main', file => $wide,
		make => 'CREATE TABLE %1$s (a int, b text); ALTER TABLE %1$s ALTER b SET STORAGE main'
	},
	{
		name => 'targeted', file => $wide, fill => 50,
		make => 'CREATE UNLOGGED TABLE %1$s (a int, b text) WITH (toast_tuple_target = 500, fillfactor = 50)'
	});

# What to try with each: workers, and bytes of a chunk.
my $large = 32 * 1024;
my @ways = map { my $workers = $_; map { [ $workers, $_ ] } $large, 500 + int rand 20000 } @WORKERS;

# SQL that makes and loads a table.
sub load_sql
{
	my ($kind, $table, $load) = @_;
	my $make = sprintf($kind->{make}, $table);

	return "BEGIN; $make; $load; COMMIT;" if $kind->{block};
	return "$make; BEGIN; " . sprintf($kind->{before}, $table) . "; $load; COMMIT;" if $kind->{before};
	return "$make; $load;";
}

# SQL that loads a table directly and says how it is, line by line.
sub direct_sql
{
	my ($kind, $copy, $table, $workers, $chunk) = @_;
	my $row = $kind->{file} eq $wide ? 'a, pg_column_size(b), pg_column_compression(b), md5(b)' : '*';
	my $fill = $kind->{fill} // 100;
	my $toast = 'coalesce(pg_relation_size(nullif(reltoastrelid, 0)), 0) FROM pg_class WHERE oid =';

	return (
		"SET pgbulk.chunk_size = $chunk",
		load_sql($kind, $table, "SELECT writer || ' ' || workers FROM bulk_load('$table', '$kind->{file}', '" . direct($workers, $kind->{more}) . "')"),
		"SELECT count(*) FROM (SELECT $row FROM $copy) one FULL JOIN (SELECT $row FROM $table) other USING (a) WHERE one IS DISTINCT FROM other",
		"SELECT count(*) FROM (SELECT a - lag(a) OVER (ORDER BY ctid) AS step FROM $table) steps WHERE step <> 1",
		"SELECT count(*) FROM copied one FULL JOIN tuples('$table') other USING (a) WHERE one IS DISTINCT FROM other",
		"SELECT string_agg(h::text, ' ' ORDER BY h::text) FROM headers('$table') h",
		"SELECT count(*) || coalesce(min(msg), '') FROM verify_heapam('$table')",
		"SELECT holes('$table', $fill)",
		"SELECT pg_relation_size('$copy') / 8192 || ' ' || pg_relation_size('$table') / 8192",
		"SELECT (SELECT $toast '$copy'::regclass) / 8192 || ' ' || (SELECT $toast '$table'::regclass) / 8192");
}

foreach my $kind (@kinds)
{
	my $copy = "$kind->{name}_copy";
	my @said = split /\n/, $node->safe_psql('postgres', join(";\n",
			'SET client_min_messages = warning',
			load_sql($kind, $copy, "COPY $copy FROM '$kind->{file}' (FORMAT csv" . ($kind->{copy} // '') . ')'),
			"CREATE TEMPORARY TABLE copied AS SELECT * FROM tuples('$copy')",
			'ANALYZE copied',
			"SELECT string_agg(h::text, ' ' ORDER BY h::text) FROM headers('$copy') h",
			map { direct_sql($kind, $copy, "$kind->{name}_$_->[0]_$_->[1]", @$_) } @ways));

	my $copy_headers = shift @said;

	foreach my $way (@ways)
	{
		my ($workers, $chunk) = @$way;
		my $name = "$kind->{name}, $workers workers, chunks of $chunk bytes";
		my ($writer, $rows, $steps, $tuples, $headers, $amcheck, $holes, @sizes) = splice @said, 0, 9;

		# where there are workers each chunk may end in a page with free space,
		# and chunks of long rows are shorter than wanted
		my $spare = $workers ? 2 * (-s $kind->{file}) / $chunk + 1 : 1;

		is($writer, 'direct ' . ($kind->{alone} ? 0 : $workers), "$name: who did it");
		is($rows, 0, "$name: the rows are COPY's");
		is($steps, 0, "$name: in the order of the file");
		is($tuples, 0, "$name: so are the tuples, but for hints");
		is($headers, $copy_headers, "$name: and the heads of the pages");
		is($amcheck, 0, "$name: verify_heapam finds nothing");
		cmp_ok($holes, '<=', $spare, "$name: pages are full");
		next if $chunk < $large;
		@sizes = $sizes[1] if $kind->{file} eq $wide;
		foreach (@sizes)
		{
			my ($by_copy, $direct) = split / /;
			cmp_ok($direct, '<=', $spare + 1 + 1.02 * $by_copy, "$name: it takes no more pages than by COPY");
		}
	}
}

# all that is frozen, and no more, is said to be so
my ($frozen) = map { "frozen_$_->[0]_$_->[1]" } $ways[-1];
if (has_extension($node, 'pg_visibility'))
{
	is($node->safe_psql('postgres', "CREATE EXTENSION pg_visibility;
			SELECT all_visible * 8192 = pg_relation_size('$frozen'), all_frozen * 8192 = pg_relation_size('$frozen'),
				(SELECT count(*) FROM pg_check_visible('$frozen')), (SELECT count(*) FROM pg_check_frozen('$frozen'))
			FROM pg_visibility_map_summary('$frozen')"),
		't|t|0|0', 'the visibility map of the frozen table');
}

check_log($node);
check_tables($node);
done_testing();
