# Loads of every kind in transactions that are prepared: after a crash between PREPARE TRANSACTION and its end, and on a
# standby that is promoted there, they still have their locks, and then all of their rows or none; no file is left that
# belongs to nobody.
#
# With PGBULK_TEST_LONG there is a second round, in another order.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PgBulk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = bulk_server('two_phase', 'max_prepared_transactions = 200', 'max_locks_per_transaction = 512', 'shared_buffers = 64MB',
	'max_wal_size = 1GB', 'wal_level = replica', 'max_wal_senders = 4', 'wal_keep_size = 2GB', 'max_worker_processes = 16',
	'max_parallel_workers = 16', 'max_parallel_maintenance_workers = 2', 'pgbulk.chunk_size = 65536', 'lock_timeout = 10s');
my $folder = data_dir();
my $tall = data_file('tall.csv', 1, join('', map { "$_,text of row $_\n" } 1001 .. 21000));
my $few = data_file('few.csv', 1, join('', map { "$_,text of row $_\n" } 1001 .. 3000));
my $half = data_file('half.csv', 1, join('', map { "$_,new $_\n" } 501 .. 1500));
my $more = data_file('more.csv', 1, join('', map { "$_,more\n" } 30001 .. 31000));
my $bad = data_file('bad.csv', 1, join('', map { ($_ % 10 ? '' : 'x') . "$_,text\n" } 1001 .. 3000));
my $texts = data_file('texts.csv', 1, join('', map { "text $_\n" } 1 .. 3000));
my $wide = data_file('wide.csv', 1, join('', map { "$_," . join(' ', map { sin } $_ .. $_ + 400) . "\n" } 1001 .. 1100));
my $points = data_file('points.csv', 1, join('', map { qq($_,text $_,"{$_,-$_}","($_,$_)"\n) } 1001 .. 3000));
my $children = data_file('children.csv', 1, join('', map { "$_," . (1 + $_ % 50) . "\n" } 1001 .. 3000));
my $orphans = data_file('orphans.csv', 1, join('', map { "$_," . (1 + $_ % 60) . "\n" } 1001 .. 3000));

$node->safe_psql('postgres', 'CREATE EXTENSION amcheck');
$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('two_phase_standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;

my %tables = (
	plain => q{CREATE TABLE %t (i int, s text); INSERT INTO %t SELECT i, 'before' FROM generate_series(1, 1000) i},
	empty => q{CREATE TABLE %t (i int, s text); CREATE INDEX ON %t (s)},
	keyed => q{CREATE TABLE %t (i int PRIMARY KEY, s text); CREATE INDEX ON %t (s);
		INSERT INTO %t SELECT i, 'before ' || i % 10 FROM generate_series(1, 1000) i},
	wide => q{CREATE TABLE %t (i int, s text); ALTER TABLE %t ALTER s SET STORAGE external; INSERT INTO %t VALUES (1, repeat('before', 1000))},
	methods => q{CREATE TABLE %t (i int, s text, a int[], p point); CREATE INDEX ON %t (i); CREATE INDEX ON %t USING hash (s); CREATE INDEX ON %t USING gin (a);
		CREATE INDEX ON %t USING gist (p); CREATE INDEX ON %t USING spgist (p); CREATE INDEX ON %t USING brin (i) WITH (pages_per_range = 1);
		INSERT INTO %t SELECT i, 'text ' || i, ARRAY[i, -i], point(i, i) FROM generate_series(1, 1000) i},
	parts => q{CREATE TABLE %t (i int PRIMARY KEY, s text) PARTITION BY HASH (i); CREATE INDEX ON %t (s);
		CREATE TABLE %t_0 PARTITION OF %t FOR VALUES WITH (modulus 2, remainder 0); CREATE TABLE %t_1 PARTITION OF %t FOR VALUES WITH (modulus 2, remainder 1);
		INSERT INTO %t SELECT i, 'before' FROM generate_series(1, 1000) i},
	serial => q{CREATE TABLE %t (id serial PRIMARY KEY, s text); INSERT INTO %t (s) SELECT 'before' FROM generate_series(1, 10)},
	child => q{CREATE TABLE %t_par (i int PRIMARY KEY); INSERT INTO %t_par SELECT generate_series(1, 50);
		CREATE TABLE %t (i int PRIMARY KEY, p int REFERENCES %t_par); INSERT INTO %t VALUES (1, 1)},
	unchecked => q{CREATE TABLE %t_par (i int PRIMARY KEY); INSERT INTO %t_par SELECT generate_series(1, 50);
		CREATE TABLE %t (i int, p int); INSERT INTO %t SELECT i, 1 + i % 50 FROM generate_series(1, 3000) i},
	unlogged => q{CREATE UNLOGGED TABLE %t (i int PRIMARY KEY, s text); INSERT INTO %t SELECT i, 'before' FROM generate_series(1, 1000) i});

sub bulk_load
{
	my ($file, $options) = @_;
	return "SELECT bulk_load('%t', '$file', '" . ($options // '{}') . "')";
}
my $quiet = '"log_verbosity": "silent"';

# Name, table, statements.
my @kinds = (
	[ 'plain', 'plain', bulk_load($tall) ],
	[ 'direct', 'plain', bulk_load($tall, direct(0)) ],
	[ 'direct, workers', 'plain', bulk_load($tall, direct(2)) ],
	[ 'buffered, workers', 'keyed', bulk_load($tall, '{"writer": "buffered", "workers": 2}') ],
	[ 'wide values', 'wide', bulk_load($wide, direct(1)) ],
	[ 'empty', 'empty', bulk_load($tall, direct(2, '"analyze": true')) ],
	(map { [ "indexes, $_", 'methods', bulk_load($points, direct(0, qq("indexes": "$_"))) ] } 'rebuild', 'insert'),
	[ 'indexes, workers', 'methods', bulk_load($points, direct(2, '"indexes": "rebuild"')) ],
	[ 'indexes by the batch', 'methods', bulk_load($points, '{"writer": "buffered"}') ],
	[ 'indexes, merge', 'keyed', bulk_load($tall, direct(0, '"indexes": "merge"')) ],
	[ 'truncate, freeze', 'keyed', bulk_load($tall, '{"truncate": true, "freeze": true, "workers": 2}') ],
	[ 'truncate, merge after it', 'keyed', bulk_load($few, '{"truncate": true}') . '; ' . bulk_load($half, direct(0, '"indexes": "merge", "on_duplicate": "keep_new"')) ],
	[ 'rejects', 'keyed', bulk_load($bad, qq({"on_error": "ignore", $quiet, "reject_table": "%t_rejects", "reject_file": "$folder/%t.bad"})) ],
	[ 'serial', 'serial', bulk_load($texts, '{"columns": ["s"]}') ],
	[ 'serial, direct', 'serial', bulk_load($texts, direct(2, '"columns": ["s"]')) ],
	[ 'foreign key', 'child', bulk_load($children, '{"writer": "buffered"}') ],
	[ 'foreign key, direct', 'child', bulk_load($children, direct(0)) ],
	[ 'foreign key, orphans', 'child', bulk_load($orphans, qq({"on_error": "ignore", $quiet, "reject_table": "%t_rejects"})) ],
	(map { [ "partitions, $_", 'parts', bulk_load($tall, direct($_)) ] } @WORKERS),
	[ 'partitions, keep_new', 'parts', bulk_load($half, qq({"on_duplicate": "keep_new", $quiet})) ],
	(map { my $policy = $_; map { [ "$policy, $_", 'keyed', bulk_load($half, qq({"on_duplicate": "$policy", "writer": "$_", $quiet, "reject_table": "%t_rejects"})) ] } 'buffered', 'direct' } 'keep_old', 'keep_new'),
	[ 'a dry run', 'keyed', bulk_load($few, '{"dry_run": true, "truncate": true}') . '; ' . bulk_load($few) ],
	[ 'a savepoint', 'keyed', bulk_load($few) . '; SAVEPOINT s; TRUNCATE %t; ' . bulk_load($tall, direct(2)) . '; ROLLBACK TO s; ' . bulk_load($more) ],
	[ 'a table of its own', 'plain', 'DROP TABLE %t; CREATE TABLE %t (i int, s text); ' . bulk_load($tall, direct(2)) . '; CREATE INDEX ON %t (i)' ],
	[ 'unlogged', 'unlogged', bulk_load($few) ],
	[ 'unlogged, truncate', 'unlogged', bulk_load($few, direct(0, '"truncate": true')) ],
	[ 'COPY with an option', 'keyed', "COPY %t FROM '$half' (FORMAT csv, ON_DUPLICATE keep_new, LOG_VERBOSITY 'silent')" ],
	[ 'COPY', 'keyed', "SET LOCAL pgbulk.copy = on; COPY %t FROM '$tall' (FORMAT csv)" ],
	[ 'COPY, exclusive', 'empty', "SET LOCAL pgbulk.copy = exclusive; COPY %t FROM '$tall' (FORMAT csv)" ],
	[ 'COPY, FREEZE', 'keyed', "SET LOCAL pgbulk.copy = on; TRUNCATE %t; COPY %t FROM '$tall' (FORMAT csv, FREEZE)" ],
	[ 'REINDEX', 'keyed', 'SET LOCAL pgbulk.create_index = on; REINDEX TABLE %t' ],
	[ 'CREATE INDEX', 'plain', bulk_load($tall) . '; SET LOCAL pgbulk.create_index = on; CREATE INDEX ON %t (s); ALTER TABLE %t ADD UNIQUE (i)' ],
	[ 'ADD FOREIGN KEY', 'unchecked', 'SET LOCAL pgbulk.foreign_keys = on; ALTER TABLE %t ADD FOREIGN KEY (p) REFERENCES %t_par' ],
	(map { [ lc $_, 'keyed', "SET TRANSACTION ISOLATION LEVEL $_; SELECT count(*) FROM %t; " . bulk_load($tall) . '; ' . bulk_load($half, qq({"on_duplicate": "keep_new", $quiet})) ] }
		'READ UNCOMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'));
$_->{table} = $tables{ $_->{kind} } foreach @kinds = map { { name => $_->[0], kind => $_->[1], sql => $_->[2] } } @kinds;

# Of each kind three tables: loaded and committed at once, committed after PREPARE, rolled back after it.
sub t { my ($n, $end) = @_; return "t${n}_$end"; }
sub of { my ($sql, $t) = @_; return $sql =~ s/%t/$t/gr; }

# Rows, and those that indexes find.
sub contents
{
	my ($session, $t, $kind) = @_;

	return $session->ask("SET enable_seqscan = on; SELECT count(*), sum(hashtext(t::text)::bigint) FROM $t t;"
		  . "SET enable_seqscan = off; SELECT count(*) FROM $t WHERE " . ($kind eq 'serial' ? 'id' : 'i') . ' > -5'
		  . ($kind eq 'methods' ? "; SELECT count(*) FROM $t x WHERE x.s = 'text 1500'; SELECT count(*) FROM $t WHERE a @> '{1500}';"
			. "SELECT count(*) FROM $t WHERE p <@ box '(10.5,10.5),(2000.5,2000.5)'; SELECT count(*) FROM $t WHERE p ~= point(1500, 1500)" : ''));
}

# What prepared transactions have locked, each by its name.
sub locks
{
	my ($where) = @_;
	return $where->safe_psql('postgres', q{
		SELECT gid, l.locktype, l.mode, l.relation::regclass, l.page, l.tuple
		FROM pg_prepared_xacts JOIN pg_locks x ON x.pid IS NULL AND x.transactionid = transaction
		JOIN pg_locks l ON l.pid IS NULL AND l.virtualtransaction = x.virtualtransaction
		ORDER BY gid, 2, 3, l.relation, 5, 6});
}

sub prepare
{
	my ($load, $n, $end) = @_;
	my $t = t($n, $end);

	$load->ask(of("BEGIN; $kinds[$n]{sql}; PREPARE TRANSACTION '$t'", $t));
	is($load->{error}, '', "$kinds[$n]{name}: is prepared");
}

sub end_all
{
	my ($where, @order) = @_;
	my $session = PgBulk::Session->new($where);

	foreach my $n (@order)
	{
		$session->ask("COMMIT PREPARED '" . t($n, 'yes') . "'; ROLLBACK PREPARED '" . t($n, 'no') . "'");
		is($session->{error}, '', "$kinds[$n]{name}: is ended");
	}
	$session->close;
}

sub begin
{
	my ($where) = @_;
	my $load = PgBulk::Session->new($where);

	$load->ask("LOAD 'pgbulk'; SET pgbulk.copy_min_size = 0; SET pgbulk.debug_create_index = on; SET client_min_messages = warning");
	return $load;
}

sub fill
{
	$node->safe_psql('postgres', join(';', map { my $n = $_; map { of("DROP TABLE IF EXISTS %t, %t_par, %t_rejects CASCADE; $kinds[$n]{table}", t($n, $_)) } qw(now yes no) } 0 .. $#kinds));
	$node->safe_psql('postgres', 'VACUUM ANALYZE');
}

# After the end of all: the rows of those that were committed, and of those that were not.
sub look
{
	my ($where, $when, $crashed) = @_;
	my $session = PgBulk::Session->new($where);

	foreach my $n (0 .. $#kinds)
	{
		my ($name, $kind) = @{ $kinds[$n] }{qw(name kind)};
		my $before = $kinds[$n]{before};
		my $after = $kinds[$n]{after};

		$before = $after = "0|\n0" if $kind eq 'unlogged' && $crashed;
		is(contents($session, t($n, 'yes'), $kind), $after, "$when: $name, committed");
		is(contents($session, t($n, 'no'), $kind), $before, "$when: $name, rolled back");
		if ($kind eq 'serial')
		{
			is($session->ask('SELECT ' . join(', ', map { "nextval('" . t($n, $_) . "_id_seq') > 3010" } qw(yes no))), 't|t', "$when: $name: no number comes twice");
		}
		is($session->ask('SELECT count(*) > 0, to_regclass(\'' . t($n, 'no') . '_rejects\') FROM ' . t($n, 'yes') . '_rejects'), 't|', "$when: $name: rejects")
		  if $kinds[$n]{sql} =~ /rejects/;
	}
	$session->close;
	is($where->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), '0', "$when: none is left");
	is(join(' ', orphans($where)), '', "$when: no file is left");
}

sub round
{
	my ($name, @order) = @_;
	my $load = begin($node);

	fill();
	foreach my $n (0 .. $#kinds)
	{
		$kinds[$n]{before} = contents($load, t($n, 'now'), $kinds[$n]{kind});
		$load->ask(of("BEGIN; $kinds[$n]{sql}; COMMIT", t($n, 'now')));
		is($load->{error}, '', "$kinds[$n]{name}: without PREPARE");
		$kinds[$n]{after} = contents($load, t($n, 'now'), $kinds[$n]{kind});
	}

	# the state of some is in files, of others in the log alone
	foreach my $i (0 .. $#order)
	{
		prepare($load, $order[$i], $_) foreach qw(yes no);
		$node->safe_psql('postgres', 'CHECKPOINT') if $i == int(@order / 2);
	}
	is($load->ask('SELECT string_agg(DISTINCT statement, \', \') FROM bulk_load_statements WHERE NOT taken'), '', "$name: all are pgbulk's");
	my $locks = locks($node);
	like($locks, qr/AccessExclusiveLock/, "$name: locks are held");
	kill_server($node);
	$load->close;
	$node->start;
	is(locks($node), $locks, "$name: all locks outlive the crash");

	# rows that are referred to
	foreach my $n (grep { $kinds[$_]{kind} eq 'child' } 0 .. $#kinds)
	{
		my ($rc, $out, $err) = $node->psql('postgres', "SET lock_timeout = '10ms'; DELETE FROM " . t($n, 'yes') . '_par WHERE i = 17');
		like($err, qr/lock timeout/, "$name: $kinds[$n]{name}: rows that are referred to are locked");
	}
	end_all($node, @order);
	$node->stop('immediate');
	$node->start;
	look($node, $name, 1);
}

round('a crash', 0 .. $#kinds);
round('a crash, once more', reverse 0 .. $#kinds) if $ENV{PGBULK_TEST_LONG};

# a standby that is promoted between PREPARE and its end
fill();
my $load = begin($node);
foreach my $n (0 .. $#kinds)
{
	$load->ask(of("BEGIN; $kinds[$n]{sql}; COMMIT", t($n, 'now')));
	prepare($load, $n, $_) foreach qw(yes no);
}
my $locks = locks($node);
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$standby->safe_psql('postgres', 'SELECT 1');
kill_server($node);
$load->close;
$standby->promote;
is(locks($standby), $locks, 'promoted: all locks are held');
end_all($standby, 0 .. $#kinds);
look($standby, 'promoted', 1);

$node->start;
$node->safe_psql('postgres', join('', map { my $n = $_; map { "ROLLBACK PREPARED '" . t($n, $_) . "';\n" } qw(yes no) } 0 .. $#kinds));
is(join(' ', orphans($node)), '', 'the old primary: no file is left');
check_log($_, qr/could not (?:receive data from|connect to the) .*|08006/) foreach $standby, $node;
check_tables($_) foreach $standby, $node;
done_testing();
