# Progress of a load: percent and time left cover all its phases, also in the
# NOTICEs of option progress.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = bulk_server('watched', 'max_parallel_workers = 8', 'statement_timeout = 120s');
my $session = PgBulk::Session->new($node);
my $watch = PgBulk::Session->new($node);

# A row of "slow" takes at least 3 ms; an entry of a slow index, some time.
$node->safe_psql('postgres', q{
	CREATE TABLE slow (i int, s text);
	CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(0.003); RETURN NEW; END$$;
	CREATE TRIGGER slow BEFORE INSERT ON slow FOR EACH ROW EXECUTE FUNCTION slow();
	CREATE TABLE parent (i int PRIMARY KEY);
	INSERT INTO parent SELECT generate_series(0, 9999);
	CREATE FUNCTION work(i int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
	$$BEGIN RETURN length(repeat('x', i % 100)) + i; END$$;
	CREATE TABLE indexed (i int, j int REFERENCES parent, s text);
	CREATE INDEX ON indexed (work(i));
	CREATE INDEX ON indexed (s);
	CREATE INDEX ON indexed USING hash (work(j));
	CREATE INDEX ON indexed (work(j), i)});

my $few = data_file('few.csv', 1, join '', map { "$_,row $_\n" } 1 .. 600);
# Of rows that all go in at once it takes more for something to be seen.
my %files = map { my $n = $_; $n => data_file("many_$n.csv", 1, join '', map { sprintf "%d,%d,%s\n", $_, $_ % 10000, $_ * 7919 % 1000003 } 1 .. $n) } 60000, 400000;

# Loads, and looks all the time.  Returns what was seen, each with the time since the start and that of the whole load.
sub watch
{
	my ($sql) = @_;
	my @seen;
	my $start = time;

	$session->send($sql);
	until ($session->done)
	{
		my ($phase, $percent, $eta, $rows) = split /\|/,
			$watch->ask("SELECT phase, percent, extract(epoch FROM eta), rows_loaded FROM bulk_load_progress_wide WHERE pid = $session->{pid}"), -1;

		push @seen, { phase => $phase, percent => $percent, eta => $eta, rows => $rows, at => time - $start }
			if defined $phase && $phase ne '' && $phase ne 'starting';
		sleep 0.01;
	}
	my $took = time - $start;
	my $result = $session->wait;
	return ($result, $took, @seen);
}

# What holds of every load whose size is known, however fast the machine is.
sub check_always
{
	my ($name, @seen) = @_;
	my @known = grep { $_->{percent} ne '' } @seen;
	my @back = grep { $known[$_]{percent} < $known[ $_ - 1 ]{percent} } 1 .. $#known;
	my $back = join(', ', map { join(' ', map { "$_->{phase} $_->{percent} at $_->{at} s" } @known[ $_ - 1, $_ ]) } @back);

	is(scalar(@known), scalar(@seen), "$name: percent is always known");
	is($back, '', "$name: percent never goes back");
	is(scalar(grep { $_->{percent} < 0 || $_->{percent} > 99.9 } @known), 0, "$name: and stays below 100");
}

# What is amiss of that which holds while the machine keeps its pace, and has time to look; '' if nothing is.
sub amiss
{
	my ($indexes, $took, @seen) = @_;
	my %percents = map { $_->{percent} => 1 } @seen;
	my ($half) = grep { $_->{at} >= $took / 2 } @seen;
	my @late = grep { $_->{at} > $took * 0.1 } @seen;
	my @percents = map { $_->{percent} } grep { $_->{phase} eq 'indexes' } @seen;
	my @amiss;

	return 'not looked at' if @seen <= 5 || !$half;
	push @amiss, 'percent hardly moves' if keys %percents < 5;
	push @amiss, 'no time left is shown' if grep { $_->{eta} eq '' || $_->{eta} < 0 } @late;
	# the end of short phases cannot be predicted
	my $left = $took - $half->{at};
	push @amiss, "at half time $half->{eta} s, and it was $left s"
	  if $half->{eta} eq '' || $half->{eta} + 0.3 <= $left / 4 || $half->{eta} >= $left * 4 + 0.3;
	push @amiss, 'indexes are no phase of their own' if $indexes && @percents < 3;
	push @amiss, 'percent does not move in it' if $indexes && @percents > 2 && $percents[-1] - $percents[0] <= 10;
	return join(', ', @amiss);
}

# Watches a load of so many rows, and of more after BEFORE if this machine was too fast or its speed varied.  $load->(ROWS)
# is its SQL.  Returns what was seen.
sub check_watched
{
	my ($name, $rows, $more, $before, $load, $indexes) = @_;
	my ($amiss, @seen);

	foreach my $n ($rows, ($more) x 5)
	{
		$node->safe_psql('postgres', $before);
		(my ($result, $took), @seen) = watch($load->($n));
		is($result, $n, "$name: all is loaded");
		check_always($name, @seen);
		$amiss = amiss($indexes, $took, @seen);
		last if $amiss eq '';
		note "$name: $amiss";
	}
	is($amiss, '', "$name: percent moves, and the time left is about right");
	return @seen;
}

my @seen = check_watched('a slow trigger', 600, 600, 'TRUNCATE slow', sub { "SELECT rows_loaded FROM bulk_load('slow', '$few')" });
my %rows = map { $_->{rows} => 1 } @seen;
cmp_ok(scalar keys %rows, '>', 10, 'a slow trigger: rows are counted one by one, in the first chunk too');

my $old_rows = "INSERT INTO indexed SELECT i, i % 10000, i FROM generate_series(1, 40000) i; DROP INDEX IF EXISTS indexed_work_idx1";

foreach my $case ([ 'indexes, alone', direct(0), 400000 ], [ 'indexes, in parallel', direct(1), 400000 ],
	[ 'row by row', '{"writer": "direct", "indexes": "insert", "workers": 0}', 60000 ],
	[ 'merged', '{"writer": "direct", "indexes": "merge", "workers": 0}', 60000, $old_rows ],
	[ 'buffered', '{"writer": "buffered"}', 60000 ])
{
	my ($name, $options, $rows, $before) = @$case;

	check_watched($name, $rows, 400000, 'TRUNCATE indexed; ' . ($before // ''),
		sub { "SELECT rows_loaded FROM bulk_load('indexed', '$files{$_[0]}', '$options')" }, $name ne 'buffered');
}

# Option progress: lines for people.
sub notices
{
	my ($sql) = @_;
	my ($out, $err);

	$node->psql('postgres', $sql, stdout => \$out, stderr => \$err);
	return grep { /NOTICE/ } split /\n/, $err;
}

my $line = qr/NOTICE:  bulk_load of \w+: (?:reading|indexes|constraints|analyzing|finishing)(?:, \d+\.\d %)?, \d+ rows(?: \(\d+ rejected\))?, \d+ rows per second(?:, \d\d:\d\d:\d\d left)?$/;

$node->safe_psql('postgres', 'TRUNCATE indexed; TRUNCATE slow');
my $start = time;
my @lines = notices("SELECT bulk_load('slow', '$few', '{\"progress\": 0.2}')");
cmp_ok(scalar @lines, '>=', 4, 'progress: lines come');
cmp_ok(scalar @lines, '<=', (time - $start) / 0.2, 'progress: but not too many');
is(scalar(grep { !/$line/ } @lines), 0, 'progress: as they should be');
# while nothing has been read the time left is not known
is(scalar(grep { !/, 0 rows,/ && !(/: \w+, \d+\.\d %/ && /left/) } @lines), 0, 'progress: with percent and time left');
is(scalar(notices("SELECT bulk_load('slow', '$few', '{\"limit\": 20, \"progress\": true}')")), 0, 'progress: none of a load that is done before');
is(scalar(notices("SELECT bulk_load('slow', '$few', '{\"limit\": 200, \"progress\": false}')")), 0, 'progress: none if it is false');

foreach my $workers (0, 1)
{
	$node->safe_psql('postgres', 'TRUNCATE indexed');
	@lines = notices("SELECT bulk_load('indexed', '$files{400000}', '{\"writer\": \"direct\", \"workers\": $workers, \"progress\": 0.1}')");
	cmp_ok(scalar(grep { /: indexes, \d+\.\d %, 400000 rows/ } @lines), '>=', 1, "progress: in the index phase, $workers workers");
	is(scalar(grep { !/$line/ } @lines), 0, "progress: as they should be, $workers workers");
}

# The number of rows of a query is not known.
@lines = notices("SELECT bulk_load_query('slow', 'SELECT i, ''x'' FROM generate_series(1, 200) i', '{\"progress\": 0.1}')");
cmp_ok(scalar(grep { /: reading, \d+ rows, / } @lines), '>=', 2, 'progress: of a query');

# Retrying rejected rows.
$node->safe_psql('postgres', 'TRUNCATE slow; CREATE TABLE wrong (i int, s text)');
my $bad = data_file('bad.csv', 1, join '', map { $_ % 2 ? "x$_,row\n" : "$_,row\n" } 1 .. 400);
@lines = notices("SELECT bulk_load('slow', '$bad', '{\"progress\": 0.1, \"on_error\": \"ignore\", \"reject_table\": \"rejected\", \"log_verbosity\": \"silent\"}')");
cmp_ok(scalar(grep { /\(\d+ rejected\)/ } @lines), '>=', 1, 'progress: with rejects');
$node->safe_psql('postgres', q{UPDATE rejected SET raw_line = ltrim(raw_line, 'x')});
@lines = notices(q{SELECT bulk_load_retry('slow', 'rejected', max(load_id), '{"progress": 0.1}') FROM rejected});
cmp_ok(scalar(grep { /: reading, / } @lines), '>=', 1, 'progress: of rows that are loaded again');

$_->close foreach $session, $watch;
check_log($node);
$node->stop;
done_testing();
