# A disk that fails, and one that forgets what was not synced when the power goes: a library between the server and the
# system (modules/disk.c), which is told what shall fail, and keeps a journal of all writes and syncs.

package PgBulk::Disk;

use strict;
use warnings;

use Cwd qw(realpath);
use Exporter 'import';
use File::Basename;
use File::Find;
use PgBulk;
use Test::More;

our @EXPORT = qw(WRITE READ SYNC disk_build disk_start set_fault get_fault lose_power);

# What of the disk fails, and in units of which it forgets.
use constant { WRITE => 0, READ => 1, SYNC => 2 };
use constant PAGE => 4096;

my ($library, $journal, $fault);

# disk_build(): compiles the library; skips all tests where that cannot be.
sub disk_build
{
	my $source = realpath(dirname(__FILE__) . '/../../modules/disk.c');

	plan skip_all => 'needs a compiler' if system('cc --version >/dev/null 2>&1') != 0;
	plan skip_all => 'needs Linux with 64 bits' if $^O ne 'linux' || length(pack('L!', 0)) != 8;
	($library, $journal, $fault) = map { data_dir() . "/disk.$_" } qw(so journal fault);
	is(system("cc -O2 -shared -fPIC -o $library $source -ldl"), 0, 'the library is built');
	open(my $file, '>:raw', $fault) or die "$fault: $!";
	print $file "\0" x 288;
	close($file) or die "$fault: $!";
}

# disk_start(NODE, FORGETS, OPTION...): starts a server with the library; FORGETS: its writes are noted from then on.  Returns
# what the node's start with the options does.
sub disk_start
{
	my ($node, $forgets, @options) = @_;
	local $ENV{LD_PRELOAD} = $library;
	local $ENV{DISK_ROOT} = $node->data_dir;
	local $ENV{DISK_FAULT} = $fault;
	local $ENV{DISK_JOURNAL} = $journal if $forgets;

	unlink $journal;
	return $node->start(@options);
}

# set_fault(N, KIND, ERROR, PART): from now on the N-th call of that KIND for a file whose path has that PART fails with that
# ERROR; 0: none does.  The power goes where the ERROR of a sync is 0.
sub set_fault
{
	my ($n, $kind, $error, $part) = @_;

	die "a long path: $part" if length($part) >= 256;
	open(my $file, '+<:raw', $fault) or die "$fault: $!";
	print $file pack('q4a256', $n, $kind, $error, 0, $part);
	close($file) or die "$fault: $!";
}

# How many calls are left until one fails, and how many have failed.
sub get_fault
{
	open(my $file, '<:raw', $fault) or die "$fault: $!";
	read $file, my $bytes, 32;
	return (unpack 'q4', $bytes)[ 0, 3 ];
}

# What was written since each file's last sync: by inode.
sub _unsynced
{
	my %writes;

	open(my $in, '<:raw', $journal) or die "$journal: $!";
	while (read($in, my $head, 48) == 48)
	{
		my ($is_sync, $inode, $offset, $length, $kept, $size) = unpack 'Q6', $head;
		my $place = tell $in;

		# a write that never came to pass
		last if $place + $kept > -s $in;
		seek $in, $kept, 1;
		if ($is_sync) { delete $writes{$inode} }
		else { push @{ $writes{$inode} }, { offset => $offset, length => $length, kept => $kept, size => $size, place => $place } }
	}
	return ($in, \%writes);
}

# Takes back what was written to a file: of each page the writes from one on.
sub _take_back
{
	my ($in, $path, $writes, $all) = @_;
	my (%first, $lost, $end);

	open(my $file, '+<:raw', $path) or die "$path: $!";
	$end = $writes->[0]{size};
	foreach my $i (reverse 0 .. $#$writes)
	{
		my ($offset, $length, $kept, $place) = @{ $writes->[$i] }{qw(offset length kept place)};

		foreach my $page (int($offset / PAGE) .. int(($offset + $length - 1) / PAGE))
		{
			# none, all, or any
			$first{$page} //= $all ? 0 : (0, scalar @$writes, int rand(@$writes + 1))[ int rand 3 ];
			my $from = $page * PAGE > $offset ? $page * PAGE : $offset;
			my $to = ($page + 1) * PAGE < $offset + $length ? ($page + 1) * PAGE : $offset + $length;

			if ($i < $first{$page})
			{
				$end = $to if $to > $end;
				next;
			}
			my $n = $from >= $offset + $kept ? 0 : ($to < $offset + $kept ? $to : $offset + $kept) - $from;
			my $old = '';

			seek $in, $place + $from - $offset, 0;
			die "journal: $!" if $n > 0 && read($in, $old, $n) != $n;
			seek $file, $from, 0;
			print $file $old, "\0" x ($to - $from - $n);
			$lost++;
		}
	}
	close($file) or die "$path: $!";

	# the file's size may have come to the disk or not
	truncate $path, $end if $end < -s $path && ($all || rand() < 0.5);
	return $lost // 0;
}

# lose_power(NODE, ALL): the power goes: all processes end, and of what was written after a file's last sync the disk has
# nothing, or of each page what came before some moment: pages come to the disk in any order.  Returns how many pages were
# lost.
sub lose_power
{
	my ($node, $all) = @_;
	my $lost = 0;

	kill_server($node);
	my ($in, $writes) = _unsynced();
	find(
		{
			no_chdir => 1,
			wanted => sub {
				my $of_file = -f $_ ? $writes->{ (stat _)[1] } : undef;

				$lost += _take_back($in, $_, $of_file, $all) if $of_file;
			}
		},
		$node->data_dir);
	return $lost;
}

1;
