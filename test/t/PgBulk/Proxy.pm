# A TCP proxy between two servers, which a test slows down, holds or cuts; or it has one server read what the other one has not
# written.
#
# A cut is one of the network: the kernel drops what comes to the proxy's sockets before it acknowledges it, by a socket
# filter.  Who sends gets no answer, not even an error, and who connects none either.

package PgBulk::Proxy;

use strict;
use warnings;

use Errno;
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use PostgreSQL::Test::Cluster;
use Socket;
use Time::HiRes qw(time);

# Linux's numbers, and a filter of one instruction: keep no byte.
use constant { SO_ATTACH_FILTER => 26, SO_DETACH_FILTER => 27 };
my $drop = pack('SCCL', 0x06, 0, 0, 0);

# Bytes that are on the way of one connection, in each direction.
use constant MOST_BYTES => 64 * 1024;

# may_cut(): whether the kernel lets this user filter.  Where it does not, but lets him have a network of his own, the
# program begins anew in one: to be called before all else.
sub may_cut
{
	my @own = ('unshare', '--map-current-user', '--user', '--net', '--keep-caps');

	return 1 if _may_filter();
	return 0 if $ENV{PGBULK_OWN_NETWORK} || system("@own true 2>/dev/null") != 0;
	$ENV{PGBULK_OWN_NETWORK} = 1;
	exec @own, $^X, (map { "-I$_" } @INC), $0, @ARGV;
}

sub _may_filter
{
	# a network of one's own has no interface that is up: SIOCSIFFLAGS, IFF_UP
	socket(my $any, PF_INET, SOCK_DGRAM, 0) or die "socket: $!";
	ioctl($any, 0x8914, my $flags = pack('a16 s x14', 'lo', 1)) or die "lo: $!" if $ENV{PGBULK_OWN_NETWORK};
	socket(my $stream, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
	return 0 unless eval { _filter($stream, 1); 1 };
	# a kernel may take a filter and not heed it
	socket(my $filtered, PF_INET, SOCK_DGRAM, 0) or die "socket: $!";
	bind($filtered, sockaddr_in(0, INADDR_LOOPBACK)) or die "bind: $!";
	_filter($filtered, 1);
	send($any, 'x', 0, getsockname $filtered) or return 0;
	return IO::Select->new($filtered)->can_read(0.1) ? 0 : 1;
}

# new(NODE): in front of a server that listens on its socket.
sub new
{
	my ($class, $node) = @_;
	my $self = bless { port => PostgreSQL::Test::Cluster::get_free_port() }, $class;

	socketpair($self->{control}, my $control, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die "socketpair: $!";
	$self->{listener} = IO::Socket::INET->new(Listen => 10, LocalAddr => '127.0.0.1', LocalPort => $self->{port}, ReuseAddr => 1) or die "listen: $@";
	$self->{pid} = fork() // die "fork: $!";
	if ($self->{pid} == 0)
	{
		close $self->{control};
		$SIG{PIPE} = 'IGNORE';
		eval { _serve($self->{listener}, $control, $node->host . '/.s.PGSQL.' . $node->port); };
		print STDERR "proxy: $@" if $@;
		# no END block of the test
		kill 'KILL', $$;
	}
	close $control;
	close $self->{listener};
	return $self;
}

sub port { return $_[0]->{port}; }

# Forwards so many bytes a second to the server; 0: as many as come.
sub pace { my ($self, $bytes) = @_; return $self->_tell("pace $bytes"); }

# Has the server read a text in place of another one, of the same length.
sub swap { my ($self, $text, $other) = @_; return $self->_tell("swap $text $other"); }

# Forwards nothing, as a server that hangs.
sub hold { return $_[0]->_tell('hold'); }

# Cuts the network.
sub cut { return $_[0]->_tell('cut'); }

# Forwards again; connections that were cut are closed on the server's side.
sub mend { return $_[0]->_tell('mend'); }

sub stop
{
	my ($self) = @_;

	close $self->{control};
	waitpid $self->{pid}, 0;
	return;
}

sub _tell
{
	my ($self, $command) = @_;

	syswrite $self->{control}, "$command\n" or die "proxy: $!";
	sysread $self->{control}, my $answer, 100 or die 'the proxy has ended';
	die "proxy: $answer" unless $answer eq "done\n";
	return;
}

# ---- the child ----

sub _filter
{
	my ($socket, $on) = @_;

	# struct sock_fprog: a length, and a pointer
	setsockopt($socket, SOL_SOCKET, $on ? SO_ATTACH_FILTER : SO_DETACH_FILTER, $on ? pack('S x![P] P', 1, $drop) : pack('i', 0)) or die "filter: $!";
	return;
}

sub _serve
{
	my ($listener, $control, $path) = @_;
	my %state = (listener => $listener, control => $control, path => $path, links => [], forwards => 1, pace => 0, allowed => 0, last => time);

	while (1)
	{
		my ($readers, $writers) = (IO::Select->new($control, $listener), IO::Select->new);

		_fill(\%state);
		if ($state{forwards})
		{
			foreach my $way (map { @$_ } @{ $state{links} })
			{
				$readers->add($way->{from}) if !$way->{ended} && length $way->{bytes} < MOST_BYTES && (!$way->{paced} || $state{allowed} >= 1);
				$writers->add($way->{to}) if length $way->{bytes};
			}
		}
		my ($can_read, $can_write) = IO::Select::select($readers, $writers, undef, $state{pace} ? 0.005 : undef);
		my %ready = map { $_ => 1 } @{ $can_read // [] }, @{ $can_write // [] };

		if ($ready{$control})
		{
			return unless sysread $control, my $command, 100;
			_obey(\%state, split ' ', $command);
			syswrite $control, "done\n";
			next;
		}
		_connect(\%state) if $ready{$listener};
		@{ $state{links} } = grep { _forward(\%state, $_, \%ready) } @{ $state{links} } if $state{forwards};
	}
	return;
}

# What may be read at the pace, of which nothing is saved for long.
sub _fill
{
	my ($state) = @_;
	my $now = time;

	$state->{allowed} += ($now - $state->{last}) * $state->{pace};
	$state->{allowed} = $state->{pace} / 50 if !$state->{pace} || $state->{allowed} > $state->{pace} / 50;
	$state->{allowed} = MOST_BYTES unless $state->{pace};
	$state->{last} = $now;
	return;
}

sub _obey
{
	my ($state, $command, @of) = @_;

	$state->{pace} = $of[0] if $command eq 'pace';
	$state->{swap} = \@of if $command eq 'swap';
	$state->{forwards} = 0 if $command eq 'hold' || $command eq 'cut';
	if ($command eq 'cut')
	{
		_filter($_, 1) foreach $state->{listener}, map { $_->[0]{from} } @{ $state->{links} };
		$state->{is_cut} = 1;
	}
	elsif ($command eq 'mend')
	{
		if ($state->{is_cut})
		{
			_filter($state->{listener}, 0);
			$state->{links} = [];
		}
		$state->{is_cut} = 0;
		$state->{forwards} = 1;
	}
	return;
}

# A connection: two ways, of which the first leads to the server.
sub _connect
{
	my ($state) = @_;
	my $client = $state->{listener}->accept or return;
	my $server = IO::Socket::UNIX->new(Peer => $state->{path}) or return;

	$_->blocking(0) foreach $client, $server;
	push @{ $state->{links} }, [ { from => $client, to => $server, bytes => '', paced => 1 }, { from => $server, to => $client, bytes => '', paced => 0 } ];
	return;
}

# Whether the connection goes on: with its sockets no others know, they are closed when it does not.
sub _forward
{
	my ($state, $link, $ready) = @_;

	foreach my $way (@$link)
	{
		if ($ready->{ $way->{from} } && !$way->{ended} && length $way->{bytes} < MOST_BYTES)
		{
			my $most = $way->{paced} && $state->{pace} ? int($state->{allowed}) : MOST_BYTES;

			next if $most < 1;
			my $read = sysread $way->{from}, $way->{bytes}, $most, length $way->{bytes};

			return 0 unless defined $read || $!{EAGAIN};
			$way->{ended} = defined $read && $read == 0;
			$state->{allowed} -= $read // 0 if $way->{paced};
			$way->{bytes} =~ s/\Q$state->{swap}[0]\E/$state->{swap}[1]/g if $way->{paced} && $state->{swap};
		}
		if (length $way->{bytes})
		{
			my $written = syswrite $way->{to}, $way->{bytes};

			return 0 unless defined $written || $!{EAGAIN};
			substr($way->{bytes}, 0, $written // 0, '');
		}
		# what was read before the end is written first
		return 0 if $way->{ended} && !length $way->{bytes};
	}
	return 1;
}

1;
