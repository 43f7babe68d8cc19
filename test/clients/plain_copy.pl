# COPY statements as Perl's DBD::Pg sends them have the same outcome with pgbulk.copy as without: good and bad rows,
# given up and cancelled in the middle, a connection lost there.
#
# Connects as the environment says (PGHOST ...), as a superuser, to a database that has the extension.  The last line is
# "N passed, N failed".
use strict;
use warnings;
use DBI;
use DBD::Pg;

my $rows = 5000;
my @good = map { "$_\tline $_\t" . $_ / 4 . "\n" } 1 .. $rows;
my @bad  = (@good, "x\tline\t1\n", @good);
my $copy = 'COPY perl_t FROM STDIN';
my $stands = 'SELECT count(*), sum(hashtextextended(t::text, 0)::numeric), count(b) FROM perl_t t';
my ($passed, $failed) = (0, 0);

sub session
{
	return DBI->connect("dbi:Pg:dbname=$ENV{PGDATABASE}", '', '', { RaiseError => 1, PrintError => 0, PrintWarn => 0 });
}

sub put
{
	my ($dbh, $statement, @lines) = @_;
	$dbh->do($statement);
	$dbh->pg_putcopydata($_) for @lines;
	$dbh->pg_putcopyend();
}

# another session does so with this one, which then sends on
sub while_sending
{
	my ($dbh, $function) = @_;
	my $other = session();
	$dbh->do($copy);
	$dbh->pg_putcopydata($_) for @good;
	$other->do("SELECT $function($dbh->{pg_pid})");
	$other->disconnect;
	select(undef, undef, undef, 0.2);
	$dbh->pg_putcopydata($_) for @good;
	$dbh->pg_putcopyend();
}

# the socket is closed under the driver; the server's process must end and leave nothing
sub lost
{
	my $dbh   = shift;
	my $other = session();
	my $pid   = $dbh->{pg_pid};
	$dbh->do($copy);
	$dbh->pg_putcopydata($_) for @good;
	open(my $socket, '+<&=', $dbh->{pg_socket}) or die $!;
	shutdown($socket, 2);
	eval { $dbh->pg_putcopyend() };
	for (1 .. 1000)
	{
		last unless $other->selectrow_array("SELECT 1 FROM pg_stat_activity WHERE pid = $pid");
		select(undef, undef, undef, 0.02);
	}
	my @gone = $other->selectrow_array("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid");
	my @left = $other->selectrow_array($stands);
	$other->disconnect;
	return join ' ', map { $_ // 'null' } @gone, @left;
}

# each begins with an empty table
my %cases = (
	'good'            => sub { put($_[0], $copy, @good) },
	'csv'             => sub { put($_[0], "$copy (FORMAT csv, HEADER)", "a,b,c\n", "1,\"x\n", "\"\"y\"\"\",\n") },
	'in pieces'       => sub { put($_[0], $copy, map { split //, $_ } @good[0 .. 99]) },
	'bad'             => sub { put($_[0], $copy, @bad) },
	'too few columns' => sub { put($_[0], $copy, @good, "1\n") },
	'none'            => sub { put($_[0], $copy) },
	'transaction'     => sub {
		my $dbh = shift;
		$dbh->begin_work;
		$dbh->do('TRUNCATE perl_t');
		$dbh->pg_savepoint('s');
		eval { put($dbh, $copy, @bad) };
		$dbh->pg_rollback_to('s');
		put($dbh, $copy, @good);
		$dbh->commit;
	},
	'given up' => sub {
		my $dbh = shift;
		$dbh->do($copy);
		$dbh->pg_putcopydata($_) for @good;
		# what the driver does with a statement in the middle of COPY
		$dbh->do('SELECT 1');
	},
	'cancelled' => sub { while_sending($_[0], 'pg_cancel_backend') },
	'ended'     => sub { while_sending($_[0], 'pg_terminate_backend') },
	'lost'      => \&lost,);

# what the driver returns or says, what then stands in the table, and whether COPY was taken
sub outcome
{
	my ($name, $mode) = @_;
	my $other = session();
	$other->do('DROP TABLE IF EXISTS perl_t');
	$other->do('CREATE TABLE perl_t (a int, b text, c float8)');
	my $dbh = session();
	$dbh->do("LOAD 'pgbulk'; SET pgbulk.copy = $mode; SET pgbulk.copy_min_size = 0");
	my $result = eval { $cases{$name}->($dbh) };
	my $error  = $@ ? join(' ', $dbh->state, $dbh->errstr // '') : '';
	# where the client was when the server heard of it
	$error =~ s/\s*CONTEXT:.*//s if $name eq 'cancelled';
	my ($taken) = eval { $dbh->selectrow_array("SELECT count(*) FROM bulk_load_statements WHERE statement = 'COPY FROM' AND taken") };
	# a session that cannot be asked any more
	$taken = 1 if $name =~ /^(ended|given up|lost)$/;
	eval { $dbh->disconnect };
	my @stands = map { $_ // 'null' } $other->selectrow_array($stands);
	$other->disconnect;
	return (join('|', $result // 'undef', $error, @stands), $taken // 0);
}

for my $name (sort keys %cases)
{
	my ($expected) = outcome($name, 'off');
	for my $mode ('on', 'exclusive')
	{
		my ($got, $taken) = outcome($name, $mode);
		if ($got eq $expected && $taken)
		{
			$passed++;
		}
		else
		{
			$failed++;
			print "failed: $name, $mode: got $got, expected $expected, taken $taken\n";
		}
	}
}
session()->do('DROP TABLE perl_t');
print "$passed passed, $failed failed\n";
exit($failed ? 1 : 0);
