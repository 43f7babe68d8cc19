"""The benchmark's loads into foreign tables of two more servers: COPY through postgres_fdw beside bulk_load.

All servers are on this machine, so the seconds are those of three on the same cores.  The processor time of each of them and the bytes
between them would be the same elsewhere: these are measured too, and are what paper_cluster.py makes its estimate of.
"""
import contextlib
import os

import datasets
from in_use import Case
from indexed import bulk_load, literal
from measure import Meter, Run, answered, psql
from paper_cluster import ALL, FEW, ONE, SERVERS

VOTES = datasets.ALL[0]
PARTITIONS = 64
# of the votes: COPY through postgres_fdw takes half a minute for these
SHARE = 0.05

COUNT = "SET enable_partitionwise_aggregate = on; SELECT count(*) FROM target"


@contextlib.contextmanager
def on_node(port):
    """psql goes to another server while the block runs"""
    there = {"PGPORT": port, "PGDATABASE": "postgres"}
    here = {name: os.environ[name] for name in there}
    os.environ.update(there)
    try:
        yield
    finally:
        os.environ.update(here)


class NodeMeter(Meter):
    """the same on another server"""

    def __init__(self, port):
        self.port = port

    def __enter__(self):
        with on_node(self.port):
            return super().__enter__()

    def __exit__(self, *failure):
        with on_node(self.port):
            super().__exit__(*failure)


def loopback():
    """bytes that have passed it, which nobody else should use now; 0 where the system does not tell"""
    try:
        with open("/proc/net/dev", encoding="utf-8") as devices:
            return next(int(line.split(":")[1].split()[0]) for line in devices if line.split(":")[0].strip() == "lo")
    except FileNotFoundError:
        return 0


def make(ports, with_pgbulk):
    """an empty table whose rows belong to these servers: of one, a foreign table; of several, one with foreign partitions"""
    parts = range(PARTITIONS if len(ports) > 1 else 1)
    for n, port in enumerate(ports):
        with on_node(port):
            psql("DROP SCHEMA public CASCADE;", "CREATE SCHEMA public;", *["CREATE EXTENSION pgbulk;"] * with_pgbulk,
                 *(f"CREATE TABLE part_{part} ({VOTES.columns});" for part in parts[n::len(ports)]), "CHECKPOINT;")
    psql("DROP EXTENSION IF EXISTS postgres_fdw CASCADE;", "DROP TABLE IF EXISTS target;", "CREATE EXTENSION postgres_fdw;",
         *(f"CREATE SERVER node_{n} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{port}', dbname 'postgres', "
           f"batch_size '1000', fetch_size '10000'); CREATE USER MAPPING FOR CURRENT_USER SERVER node_{n} OPTIONS (user '{os.environ['PGUSER']}');"
           for n, port in enumerate(ports)))
    if len(ports) == 1:
        psql(f"CREATE FOREIGN TABLE target ({VOTES.columns}) SERVER node_0 OPTIONS (table_name 'part_0');")
    else:
        psql(f"CREATE TABLE target ({VOTES.columns}) PARTITION BY HASH (link);",
             *(f"CREATE FOREIGN TABLE part_{part} PARTITION OF target FOR VALUES WITH (modulus {len(parts)}, remainder {part}) SERVER node_{part % len(ports)};"
               for part in parts))


def measured(statement, ports, with_pgbulk=True):
    def measure():
        make(ports, with_pgbulk)
        psql("CHECKPOINT;")
        with contextlib.ExitStack() as stack:
            nodes = [stack.enter_context(NodeMeter(port)) for port in ports]
            before = loopback()
            with Meter() as meter:
                out = psql("\\timing on", statement + ";")
            sent = loopback() - before
        there = [node.run.cpu for node in nodes if node.run.cpu is not None]
        return Run(answered(out), meter.run.cpu, meter.run.wal, None, {"processor": round(sum(there), 2), "sent": sent})
    return measure


def beside_copy(title, servers):
    def cases(bench):
        path, rows = bench.file(VOTES, SHARE)
        ports, load = bench.args.nodes[:servers], bulk_load("target", path, {})
        yield Case(title, {"COPY": measured(f"COPY target FROM {literal(path)} (FORMAT csv)", ports), "bulk_load": measured(load, ports),
                           "bulk_load, without pgbulk there": measured(load, ports, False)}, rows, path, done=[])
    return cases


def costs(bench):
    """of all rows, and of so few that they are those of beginning and of committing"""
    for title, share, servers in ((ALL, 1, SERVERS), (FEW, SHARE / 50, SERVERS), (ONE, SHARE / 50, 1)):
        path, rows = bench.file(VOTES, share)
        yield Case(title, {"bulk_load": measured(bulk_load("target", path, {}), bench.args.nodes[:servers])}, rows, path, COUNT, done=[])


CASES = {
    "cluster_partitions": beside_copy(f"votes, {PARTITIONS} foreign partitions", SERVERS),
    "cluster_table": beside_copy("votes, one foreign table", 1),
    "cluster_costs": costs,
}
