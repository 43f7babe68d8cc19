"""Measures COPY and bulk_load in turn; called by scripts/bench, which starts the server.

Times are the server's answer times as psql sees them on a Unix socket.  Each
measurement follows TRUNCATE and CHECKPOINT.
"""
import argparse
import collections
import contextlib
import csv
import importlib.util
import os
import statistics
import subprocess
import sys
import time

import datasets
import indexed
import sources
from indexed import Method, literal


def psql(*statements):
    r = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1"], input="".join(s + "\n" for s in statements),
                       capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(r.stderr.strip())
    return r.stdout


def timed(method):
    """seconds of a method's statements on a quiet server; a statement alone: on an empty table; a function measures by itself"""
    if callable(method):
        return method()
    if isinstance(method, str):
        method = Method(["TRUNCATE target"], [method])
    out = psql(*(s + ";" for s in method.before), "CHECKPOINT;", "\\timing on", *(s + ";" for s in method.sql))
    return sum(float(t.split(" ms")[0]) for t in out.split("Time: ")[1:]) / 1000


def bulk_load(path, options):
    return indexed.bulk_load("target", path, options)


def pg_bulkload(writer):
    """a rival's statement for the votes, where it is installed"""
    def sql(path):
        return (f"SELECT FROM pgbulkload.pg_bulkload(ARRAY['TYPE=CSV', 'INPUT=' || {literal(path)}, "
                f"'OUTPUT=public.target', 'WRITER={writer}', 'LOGFILE=' || current_setting('data_directory') || '/pg_bulkload.log'])")
    return sql


def has_pg_bulkload():
    if not psql("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_bulkload';"):
        print("no pg_bulkload: its lines are left out", file=sys.stderr)
        return False
    psql("CREATE EXTENSION IF NOT EXISTS pg_bulkload;")
    return True


def numbered(path):
    """the same rows with their numbers before them: pg_bulkload knows no default"""
    copy = path + ".numbered"
    if not os.path.exists(copy):
        with open(path, encoding="utf-8", newline="") as rows, open(copy + ".new", "w", encoding="utf-8", newline="") as out:
            out.writelines(f"{n},{row}" for n, row in enumerate(rows, 1))
        os.rename(copy + ".new", copy)
    return copy


DUCKDB_VOTES = ("read_csv({}, header = false, delim = ',', "
                "columns = {{'username': 'VARCHAR', 'link': 'VARCHAR', 'score': 'INTEGER'}})")


def duckdb_parse(path, folder):
    """seconds of DuckDB, one thread, for reading the votes and keeping nothing"""
    import duckdb
    db = duckdb.connect(config={"threads": 1})
    start = time.perf_counter()
    db.execute(f"SELECT count(username), count(link), count(score) FROM {DUCKDB_VOTES.format('?')}", [path]).fetchall()
    return time.perf_counter() - start


def duckdb_table(path, folder):
    """seconds of DuckDB, two threads, for making a table of the votes in a file of its own"""
    import duckdb
    name = os.path.join(folder, "votes.duckdb")
    with contextlib.suppress(FileNotFoundError):
        os.remove(name)
    db = duckdb.connect(name, config={"threads": 2})
    start = time.perf_counter()
    db.execute(f"CREATE TABLE votes AS FROM {DUCKDB_VOTES.format(literal(path)[1:])}")
    db.execute("CHECKPOINT")
    seconds = time.perf_counter() - start
    db.close()
    os.remove(name)
    return seconds


# Seconds from which on once is enough.
LONG = 30

DUCKDB = {"DuckDB, CREATE TABLE, 2 threads": duckdb_table, "DuckDB, parsing only": duckdb_parse}


class Bench:
    def __init__(self, args):
        self.args = args
        self.server = psql("SHOW server_version;").split()[0]
        self.runs = []                      # (data set, method, round, seconds, rows, bytes)
        self.version = psql("SELECT extversion FROM pg_extension WHERE extname = 'pgbulk';").strip()

    def table(self, columns, kind=""):
        psql("DROP TABLE IF EXISTS target;", f"CREATE {kind} TABLE target ({columns});")

    def digest(self):
        return psql("SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM target t;").strip()

    def rounds(self, name, methods, rows, size, same):
        """methods: name -> statement or Method; each once to warm up, then all in turn; same: they must load the same"""
        digests = {}
        for method, sql in list(methods.items()):
            try:
                seconds = timed(sql)
            except RuntimeError as e:
                print(f"{name}: {method} does not run here: {e}", file=sys.stderr)
                del methods[method]
                continue
            digests[method] = self.digest()
            # nothing is the warmer for a load of minutes
            if seconds > LONG:
                self.runs.append((name, method, 1, seconds, rows, size))
                del methods[method]
        if same and len(set(digests.values())) > 1:
            sys.exit(f"{name}: the tables differ: {digests}")
        for n in range(1, self.args.rounds + 1):
            for method, sql in methods.items():
                self.runs.append((name, method, n, timed(sql), rows, size))
            print(f"{name}: round {n} of {self.args.rounds}", file=sys.stderr)

    def data_set(self, d):
        path, rows = d.file(self.args.data, self.args.percent)
        size = os.path.getsize(path)
        methods = {
            "COPY": f"COPY target FROM {literal(path)} ({d.copy_options})",
            "bulk_load": bulk_load(path, {**d.options, "workers": 1}),
            "bulk_load, no worker": bulk_load(path, {**d.options, "workers": 0}),
            "bulk_load, buffered": bulk_load(path, {**d.options, "writer": "buffered"}),
        }
        if d.name == "votes" and has_pg_bulkload():
            for writer in ("DIRECT", "BUFFERED"):
                methods[f"pg_bulkload {writer}"] = pg_bulkload(writer)(path)
        self.table(d.columns)
        self.rounds(d.name, methods, rows, size, same=True)
        if d.name == "votes":
            self.duckdb(d.name, path, rows, size)
            self.table(d.columns, "UNLOGGED")
            del methods["bulk_load, buffered"]
            self.rounds("votes, unlogged", {m: sql for m, sql in methods.items() if "pg_bulkload" not in m}, rows, size, same=True)

    def duckdb(self, name, path, rows, size):
        if importlib.util.find_spec("duckdb") is None:
            print("no duckdb: its lines are left out", file=sys.stderr)
            return
        for n in range(1, self.args.rounds + 1):
            for method, seconds in DUCKDB.items():
                self.runs.append((name, method, n, seconds(path, self.args.data), rows, size))

    def bad_rows(self):
        d = datasets.SPOILED
        path, rows = d.file(self.args.data, self.args.percent)
        clean, _ = datasets.ALL[0].file(self.args.data, self.args.percent)
        self.table(d.columns)
        ignore = {"on_error": "ignore", "log_verbosity": "silent"}
        psql(bulk_load(path, {**ignore, "reject_table": "rejects"}) + ";")
        print("bad rows: %s of %d set aside" % (psql("SELECT count(*) FROM rejects;").strip(), rows), file=sys.stderr)
        self.rounds("votes, 1 % bad", {
            "clean file": bulk_load(clean, {}),
            "clean file, on_error = ignore": bulk_load(clean, ignore),
            "on_error = ignore": bulk_load(path, ignore),
            "on_error = ignore, reject_table": bulk_load(path, {**ignore, "reject_table": "rejects"}),
        }, rows, os.path.getsize(path), same=False)

    def sources(self):
        d = datasets.ALL[0]
        path, rows = d.file(self.args.data, self.args.percent)
        self.table(d.columns)
        self.rounds("votes from elsewhere", sources.sources(path, lambda: psql("TRUNCATE target;", "CHECKPOINT;")),
                    rows, os.path.getsize(path), same=True)
        psql("DROP FUNCTION as_vote;")

    def indexes(self, wanted):
        votes = datasets.ALL[0]
        path, rows = votes.file(self.args.data, self.args.percent)
        tenth, few = votes.file(self.args.data, self.args.percent / 10)
        loads = {
            "indexed": ("votes, 3 indexes", lambda: indexed.indexed(path), rows, path),
            "indexed_c": ("votes, 3 indexes, C", lambda: indexed.indexed(path, 'COLLATE "C"'), rows, path),
            "append": ("a tenth of votes to votes, 3 indexes", lambda: indexed.appended(path, tenth), few, tenth),
            "double": ("votes to votes, 3 indexes", lambda: indexed.appended(path, path), rows, path),
            "foreign_key": ("votes, foreign key", lambda: indexed.referring(path), rows, path),
        }
        for only, (name, methods, n, file) in loads.items():
            if only not in wanted:
                continue
            methods = methods()
            if only == "indexed" and has_pg_bulkload():
                methods["pg_bulkload"] = indexed.by_rival(pg_bulkload("DIRECT")(numbered(path)))
            self.rounds(name, methods, n, os.path.getsize(file), same=True)
        if "duplicates" in wanted:
            clean, _ = datasets.PAIRS.file(self.args.data, self.args.percent)
            path, rows = datasets.TWINS.file(self.args.data, self.args.percent)
            self.rounds("votes, 1 % duplicates", indexed.duplicates(clean, path), rows, os.path.getsize(path), same=False)

    def report(self):
        times = collections.OrderedDict()
        for name, method, _, seconds, rows, size in self.runs:
            times.setdefault(name, (rows, size, collections.OrderedDict()))[2].setdefault(method, []).append(seconds)
        print(f"\npgbulk {self.version}, PostgreSQL {self.server}, {os.cpu_count()} cores; "
              f"median of {self.args.rounds} runs, seconds\n")
        print("| data | rows | MB | method | median | min | max | times the first |")
        print("|---|--:|--:|---|--:|--:|--:|--:|")
        for name, (rows, size, methods) in times.items():
            base = statistics.median(next(iter(methods.values())))
            for method, t in methods.items():
                m = statistics.median(t)
                print(f"| {name} | {rows} | {size / 1e6:.0f} | {method} | {m:.3f} | {min(t):.3f} | {max(t):.3f} | {base / m:.2f} |")

    def write(self):
        os.makedirs(self.args.out, exist_ok=True)
        with open(os.path.join(self.args.out, "results.csv"), "w", newline="") as f:
            w = csv.writer(f, lineterminator="\n")
            w.writerow(["server", "pgbulk", "cores", "data", "method", "round", "seconds", "rows", "bytes"])
            for name, method, n, seconds, rows, size in self.runs:
                w.writerow([self.server, self.version, os.cpu_count(), name, method, n, f"{seconds:.4f}", rows, size])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--percent", type=int, default=100)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--only", default="")
    args = p.parse_args()
    wanted = [w for w in args.only.split(",") if w]
    known = [d.name for d in datasets.ALL] + ["bad", "sources", "indexed", "indexed_c", "append", "double", "foreign_key",
                                              "duplicates"]
    for w in wanted:
        if w not in known:
            sys.exit(f"no data set \"{w}\"; there are: {', '.join(known)}")
    psql("CREATE EXTENSION IF NOT EXISTS pgbulk;")
    b = Bench(args)
    for d in datasets.ALL:
        if not wanted or d.name in wanted:
            b.data_set(d)
    if not wanted or "bad" in wanted:
        b.bad_rows()
    if not wanted or "sources" in wanted:
        b.sources()
    b.indexes(wanted or known)
    b.write()
    b.report()


if __name__ == "__main__":
    main()
