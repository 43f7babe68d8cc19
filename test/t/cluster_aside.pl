# Rows that other servers set aside, where they are more than a limit allows, more than the memory holds, or not as
# others are: what is loaded and rejected is the same as in tables that are here.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use POSIX qw(mkfifo);

my @settings = ('max_prepared_transactions = 10', 'shared_buffers = 64MB');
my $main = bulk_server('cluster_aside_main', @settings);

plan skip_all => 'postgres_fdw is not there' unless has_extension($main, 'postgres_fdw');

my @nodes = map { bulk_server("cluster_aside_$_", @settings) } 1, 2;
my $folder = data_dir();

$main->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
foreign_server($main, "s$_", $nodes[$_ - 1]->host, $nodes[$_ - 1]->port) foreach 1, 2;

sub ask { my ($sql) = @_; return $main->safe_psql('postgres', $sql); }
sub on_node { my ($n, $sql) = @_; return $nodes[$n - 1]->safe_psql('postgres', $sql); }

sub error_of
{
	my ($sql) = @_;
	my ($rc, $out, $err) = $main->psql('postgres', $sql);
	return $err;
}

# spread(TABLE, COLUMNS, SQL, SERVER...): a table by list of k, with a partition for each value from 1 on: on that server, or
# here where it is 0; and TABLE_here with all of them here.  SQL is about a partition, which is "@".
sub spread
{
	my ($table, $columns, $sql, @servers) = @_;
	my $plain = $columns =~ s/ CHECK \([^)]*\)//r;

	ask("CREATE TABLE $table ($plain) PARTITION BY LIST (k); CREATE TABLE ${table}_here ($plain) PARTITION BY LIST (k)");
	foreach my $k (1 .. @servers)
	{
		my $n = $servers[$k - 1];

		foreach my $name ($n ? "${table}_here_$k" : ("${table}_here_$k", "${table}_$k"))
		{
			(my $of = $name) =~ s/_\d+$//;
			ask("CREATE TABLE $name ($columns); " . ($sql =~ s/\@/$name/gr) . "; ALTER TABLE $of ATTACH PARTITION $name FOR VALUES IN ($k)");
		}
		next unless $n;
		on_node($n, "CREATE TABLE ${table}_$k ($columns); " . ($sql =~ s/\@/${table}_$k/gr));
		ask("CREATE FOREIGN TABLE ${table}_$k PARTITION OF $table FOR VALUES IN ($k) SERVER s$n");
	}
}

# same(NAME, TABLE, FILE, OPTIONS): rows, counters and rejects of loads into both are the same.
sub same
{
	my ($name, $table, $file, $options) = @_;
	my @found;

	foreach my $to ($table, "${table}_here")
	{
		my $counts = ask(qq{SET log_temp_files = '} . ($to eq $table ? 0 : -1) . qq{'; SELECT rows_read, rows_loaded, rows_rejected, rows_duplicate, rows_replaced, rows_filtered FROM bulk_load('$to', '$file', '{$options, "reject_table": "rejects_$to"}')});
		my $rows = ask("SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM $to t");
		my $rejects = ask("SELECT line_number, byte_offset, reason, column_name, field_value, sqlstate, replace(message, '_here', ''), raw_line FROM rejects_$to ORDER BY line_number, message, raw_line");

		push @found, [ $counts, $rows, $rejects ];
		ask("DROP TABLE rejects_$to; TRUNCATE $to");
	}
	is($found[0][0], $found[1][0], "$name: counters");
	is($found[0][1], $found[1][1], "$name: rows");
	is($found[0][2], $found[1][2], "$name: rejects");
	return @{ $found[0] };
}

# ---- a limit that only the rows of all servers together pass ----

spread('limited', "k int, n int, s text CHECK (s <> 'bad')", 'CREATE UNIQUE INDEX ON @ (n)', 1, 2);
foreach my $how ([ '' ], [ ', "on_duplicate": "keep_old"' ], [ ', "on_duplicate": "keep_new"' ], [ '', 5 ])
{
	my ($policy, $here) = ($how->[0], $how->[1] // 0);
	my $session = PgBulk::Session->new($main);
	my $n = 0;
	my $sent = 0;
	local $SIG{PIPE} = 'IGNORE';

	unlink "$folder/limited.fifo";
	mkfifo("$folder/limited.fifo", 0666) or die "mkfifo: $!";
	$session->send(qq{SELECT bulk_load('limited', '$folder/limited.fifo', '{"on_error": "ignore", "reject_limit": 10$policy}')});
	my $fifo;
	within(60, sub {
		open($fifo, '>', "$folder/limited.fifo") or die;
		print $fifo map { (1 + $_ % 2) . ',' . ++$n . ",bad\n" } 1 .. 12 - $here;
		# rows of one server come to an end, so that it alone does not notice the limit
		while ($sent < 60 && !$session->done)
		{
			# these are bad here
			print $fifo "bad,0,x\n" x $here if $sent == 20;
			print $fifo map { ($sent < 12 ? 1 + $_ % 2 : 2) . ',' . ++$n . ',' . 'x' x 60 . "\n" } 1 .. 10000 or last;
			$sent++;
		}
	});
	cmp_ok($sent, '<', 60, "a limit$policy: no more is read");
	close $fifo;
	$session->wait;
	like($session->{error}, qr{skipped more than reject_limit \(10\) bad rows}, "a limit$policy: the error");
	$session->close;
	nothing_left("a limit$policy", @nodes);
}

# ---- places of rows beyond the memory, and rows that wait for those of another table ----

{
	spread('many', 'k int, n int, s text', 'CREATE UNIQUE INDEX ON @ (n)', 1, 1);
	my $lines = join('', map { ($_ % 4 ? 1 : 2) . ",$_,\n" } 1 .. 600000);

	$lines .= join('', map { (1 + $_ % 2) . ',' . (1 + $_ % 7) . ",again\n" } 1 .. 30);
	my $offset = -s $main->logfile;
	my ($counts) = same('many rows', 'many', data_file('many.csv', 1, $lines), '"on_duplicate": "keep_new"');

	like($counts, qr{^600030\|600007\|0\|23\|0\|0$}, 'many rows: of which some are replaced');
	# places of rows that were sent, and the rows that wait
	cmp_ok(scalar(() = slurp_file($main->logfile, $offset) =~ /temporary file: .*size \d{7,}/g), '>=', 2, 'many rows: are in temporary files');
}

# ---- rows that triggers there insert, and that are replaced in turn ----

spread('fired', 'k int, n int, s text', q{CREATE UNIQUE INDEX ON @ (n); CREATE FUNCTION @_more() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN IF new.n < 1000 THEN INSERT INTO public.@ VALUES (new.k, new.n + 1000, $$inserted$$); END IF; RETURN new; END';
	CREATE TRIGGER more BEFORE INSERT ON @ FOR EACH ROW EXECUTE FUNCTION @_more()}, 1, 2, 0);
{
	my $file = data_file('fired.csv', 1, join('', map { (1 + $_ % 3) . ",$_,first\n" } 1 .. 30) . join('', map { (1 + $_ % 3) . ',' . (1000 + $_) . ",second\n" } 5 .. 20));
	my ($counts, $rows, $rejects) = same('rows of a trigger', 'fired', $file, '"on_duplicate": "keep_new"');

	like($counts, qr{^46\|46\|0\|0\|16\|0$}, 'rows of a trigger are replaced');
}

# ---- texts of another encoding ----

on_node(1, q{CREATE FUNCTION latin() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM set_config($$client_encoding$$, $$LATIN1$$, true); RETURN new; END';
	CREATE TABLE latin (k int, s text); ALTER TABLE latin ADD CONSTRAINT "caf} . "\xc3\xa9" . q{" CHECK (k < 5);
	CREATE TRIGGER latin BEFORE INSERT ON latin FOR EACH ROW EXECUTE FUNCTION latin()});
ask('CREATE FOREIGN TABLE latin (k int, s text) SERVER s1');
my $latin = data_file('latin.csv', 1, "1,x\n7,y\n");
like(error_of(qq{SELECT bulk_load('latin', '$latin', '{"on_error": "ignore"}')}),
	qr{server "s1" has sent a text that is not valid in encoding UTF8\nDETAIL:  The valid part of it is: new row for relation "latin" violates check constraint "caf\n}, 'a text that is not valid here');
like(error_of(qq{SELECT bulk_load('latin', '$latin')}), qr{ERROR:  new row for relation "latin" violates check constraint "caf\n}, 'of an error that ends the load, it is cut');

# ---- what the other server's log has of a row ----

on_node(1, q{ALTER DATABASE postgres SET log_min_messages = 'info'; ALTER DATABASE postgres SET log_min_error_statement = 'debug5'});
{
	my $offset = -s $nodes[0]->logfile;
	my $file = data_file('logged.csv', 1, "1,1,bad\n");

	ask(qq{SELECT bulk_load('limited', '$file', '{"on_error": "ignore"}')});
	like(slurp_file($nodes[0]->logfile, $offset), qr{INFO:  new row for relation "limited_1" violates check constraint}, 'a row is in the log of a server that is told to');
	unlike(slurp_file($nodes[0]->logfile, $offset), qr{STATEMENT:  COPY}, 'without the statement, each time');
}
on_node(1, q{ALTER DATABASE postgres RESET ALL});

# ---- ANALYZE ----

spread('counted', 'k int, n int, s text', '', 0, 1, 2, 2);
ask(qq{SELECT bulk_load('counted', '} . data_file('counted.csv', 1, join('', map { (1 + $_ % 3) . ",$_,x\n" } 1 .. 300)) . q{', '{"analyze": true}')});
is(ask(q{SELECT reltuples FROM pg_class WHERE relname = 'counted_1'}), '100', 'a table here is analyzed');
is(on_node(1, q{SELECT reltuples FROM pg_class WHERE relname = 'counted_2'}), '100', 'so is one on a server');
is(on_node(2, q{SELECT string_agg(reltuples::text, ',' ORDER BY relname) FROM pg_class WHERE relname LIKE 'counted%'}), '100,-1', 'and on another one, but none that has got no rows');

check_log($main);
check_log($_, $CLIENT_GONE) foreach @nodes;
$_->stop foreach $main, @nodes;
done_testing();
