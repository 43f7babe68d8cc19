"""DuckDB beside the server: what it takes to read the same files.  Left out where its module for Python is not installed."""
import collections
import contextlib
import functools
import importlib.util
import os
import re
import sys
import time

from measure import Run

THREADS = 2
METHOD = f"DuckDB, CREATE TABLE, {THREADS} threads"

# Those types of columns that it has, too, as it writes them.  It reads others as text.
TYPES = {
    "bool": "BOOLEAN", "boolean": "BOOLEAN", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT", "float8": "DOUBLE",
    "numeric": "DECIMAL(18,6)", "date": "DATE", "timestamp": "TIMESTAMP", "uuid": "UUID", "serial": "INTEGER", "positive": "INTEGER",
}

# columns: (name, type) of each; null: what stands for NULL, "" in csv
Source = collections.namedtuple("Source", "path columns delimiter null", defaults=(",", ""))


@functools.cache
def is_here():
    if importlib.util.find_spec("duckdb") is None:
        print("no duckdb: its lines are left out", file=sys.stderr)
        return False
    return True


def columns(definition):
    """-> (name, type) of each column of a table's definition"""
    return re.findall(r"(\w+) (\w+(?:\([\d,]*\))?(?:\[\])?)", definition)


def its_type(t):
    return t.upper() if t.startswith("numeric(") else TYPES.get(t, "VARCHAR")


def literal(s):
    return "'" + s.replace("'", "''") + "'"


def reader(source):
    quote = literal("" if source.null else '"')
    how = f"delim = {literal(source.delimiter)}, quote = {quote}, escape = {quote}, nullstr = {literal(source.null)}"
    types = ", ".join(f"'{name}': '{its_type(t)}'" for name, t in source.columns)
    return f"read_csv({literal(source.path)}, header = false, auto_detect = false, {how}, columns = {{{types}}})"


def session(name, threads=THREADS):
    import duckdb
    return duckdb.connect(name, config={"threads": threads})


def parse(source):
    """seconds of one thread for reading a file and keeping nothing"""
    with session(":memory:", 1) as db:
        counts = ", ".join(f"count({name})" for name, _ in source.columns)
        start = time.perf_counter()
        db.execute(f"SELECT {counts} FROM {reader(source)}").fetchall()
        return time.perf_counter() - start


def create(sources, folder):
    """seconds for making a table of each file in a database of its own"""
    name = os.path.join(folder, "bench.duckdb")
    with contextlib.suppress(FileNotFoundError):
        os.remove(name)
    with session(name) as db:
        start = time.perf_counter()
        for n, source in enumerate(sources):
            db.execute(f"CREATE TABLE t{n} AS FROM {reader(source)}")
        db.execute("CHECKPOINT")
        seconds = time.perf_counter() - start
    os.remove(name)
    return seconds


def beside(bench, title, sources, rows):
    """notes its seconds for these files beside a case that was measured; all of them bound the time as the case's rounds do"""
    if not is_here() or not any(name == title for name, *_ in bench.runs):
        return
    size = sum(os.path.getsize(source.path) for source in sources)
    for n in range(1, max(bench.args.rounds, 1) + 1):
        start = time.monotonic()
        try:
            run = Run(create(sources, bench.args.data))
        except Exception as e:                      # its errors have no class of ours, and no line of it is worth ending for
            print(f"{title}: not for DuckDB: {str(e).splitlines()[0]}", file=sys.stderr)
            return
        bench.runs.append((title, METHOD, n, run, rows, size))
        if bench.until and 2 * time.monotonic() - start > bench.until:
            return
