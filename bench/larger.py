"""The benchmark's loads that are larger than memory: lineitem, after the benchmark TPC-H, with four indexes.

What they show is a curve: seconds for each GB of the file should stay what they are, however many there are.  That needs a
server with little memory: scripts/bench --memory.
"""
import os

from in_use import Case
from indexed import Method, PARALLEL, bulk_load, literal, memory
from measure import export

TABLE = """CREATE TABLE target (l_orderkey bigint, l_partkey int, l_suppkey int, l_linenumber int, l_quantity numeric(15,2),
    l_extendedprice numeric(15,2), l_discount numeric(15,2), l_flag char(1), l_shipdate date, l_commitdate date, l_comment text)"""
INDEXES = ["CREATE UNIQUE INDEX ON target (l_orderkey, l_linenumber)", "CREATE INDEX ON target (l_partkey)",
           "CREATE INDEX ON target (l_suppkey)", "CREATE INDEX ON target (l_shipdate)"]
DROP = "DROP TABLE IF EXISTS target"

# The order of keys is that of the file but for those of the parts.  Comments and parts are as good as random: multiples modulo a prime.
ROWS = """SELECT n / 4 AS l_orderkey, n * 7919 % 20000003 AS l_partkey, n * 104729 % 1000003 AS l_suppkey, n % 4 AS l_linenumber,
    n % 50 + 1, (n * 15485863 % 10000019) / 100.0, (n % 10) / 100.0, substr('RAN', (n % 3)::int + 1, 1),
    date '1992-01-01' + (n * 31337 % 2557)::int, date '1992-01-01' + (n * 31337 % 2557)::int + (n % 90)::int,
    repeat(chr(97 + (n % 26)::int), 4 + (n % 7)::int) || ' carefully ' || to_hex(n * 2654435761 % 4294967291)
    FROM generate_series({first}::bigint, {last}) n"""
ROWS_OF_GB = 9_800_000

SHARED_BUFFERS = 16_384            # pages: 128 MB
WORK = "256MB"


def parts(bench, gb):
    """-> the files, of about a GB each at 100 percent, and how many rows they have together"""
    each = max(int(ROWS_OF_GB * bench.args.percent / 100), 1000)
    files = []
    for part in range(gb):
        path = os.path.join(bench.args.data, f"lineitem-{each}-{part}.csv")
        export(path, ROWS.format(first=part * each, last=(part + 1) * each - 1))
        files.append(path)
    return files, gb * each


def size(gb):
    def cases(bench):
        files, rows = parts(bench, gb)
        yield Case(f"lineitem, {gb} files, 4 indexes", {
            "COPY, CREATE INDEX": Method([DROP, TABLE], [PARALLEL, memory(WORK)] + [
                f"COPY target FROM {literal(path)} (FORMAT csv)" for path in files] + INDEXES),
            "bulk_load": Method([DROP, TABLE] + INDEXES, [memory(WORK), bulk_load("target", files, {"workers": 1})]),
        }, rows, files, digest="SELECT count(*), sum(l_orderkey), sum(l_partkey) FROM target", shared_buffers=SHARED_BUFFERS)
    return cases


CASES = {f"larger_{gb}": size(gb) for gb in (1, 2, 4, 8, 16, 40)}
