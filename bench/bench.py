"""Measures COPY and bulk_load in turn; called by scripts/bench, which starts the server.

Times are the server's answer times as psql sees them on a Unix socket.  Each
measurement follows TRUNCATE and CHECKPOINT.
"""
import argparse
import collections
import contextlib
import csv
import functools
import json
import os
import statistics
import subprocess
import sys
import time

import cluster
import datasets
import duck
import in_use
import indexed
import larger
import restore
import scaling
import shapes
import sources
import value_types
from indexed import Method, literal
from measure import TEMPLATE, Run, psql, sessions_ended, timed


def size_of(path):
    """bytes of a file, or of several"""
    return sum(map(os.path.getsize, [path] if isinstance(path, str) else path))


def bulk_load(path, options):
    return indexed.bulk_load("target", path, options)


def pg_bulkload(writer, *options):
    """a rival's statement for the votes, where it is installed"""
    more = "".join(f", '{option}'" for option in options)

    def sql(path):
        return (f"SELECT FROM pgbulkload.pg_bulkload(ARRAY['TYPE=CSV', 'INPUT=' || {literal(path)}, 'OUTPUT=public.target', "
                f"'WRITER={writer}', 'LOGFILE=' || current_setting('data_directory') || '/pg_bulkload.log'{more}])")
    return sql


@functools.cache
def has_pg_bulkload():
    try:
        psql("CREATE EXTENSION IF NOT EXISTS pg_bulkload;")
    except RuntimeError as e:
        print(f"no pg_bulkload: its lines are left out ({e})", file=sys.stderr)
        return False
    return True


def numbered(path):
    """the same rows with their numbers before them: pg_bulkload knows no default"""
    copy = path + ".numbered"
    if not os.path.exists(copy):
        with open(path, encoding="utf-8", newline="") as rows, open(copy + ".new", "w", encoding="utf-8", newline="") as out:
            out.writelines(f"{n},{row}" for n, row in enumerate(rows, 1))
        os.rename(copy + ".new", copy)
    return copy


DIGEST = "SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM target t"

# Seconds from which on once is enough.
LONG = 30


def measured(method):
    """the Run of a method; a statement alone: on an empty table; a function measures by itself"""
    if callable(method):
        run = method()
        return run if isinstance(run, Run) else Run(run)
    return timed(Method(["TRUNCATE target"], [method]) if isinstance(method, str) else method)


def median(runs, what):
    """of the runs in which it was measured, or None"""
    found = [getattr(run, what) for run in runs if getattr(run, what) is not None]
    return statistics.median(found) if found else None


def ratio(first, other):
    return first / other if first and other else None


def shown(number, form=".2f", unit=1):
    return "" if number is None else format(number / unit, form)


class Bench:
    def __init__(self, args):
        self.args = args
        self.server = psql("SHOW server_version;").split()[0]
        self.runs = []                      # (data set, method, round, Run, rows, bytes)
        self.differ = False
        self.until = None                   # when the present case is to end
        self.version = psql("SELECT extversion FROM pg_extension WHERE extname = 'pgbulk';").strip()

    def table(self, columns, kind=""):
        psql("DROP TABLE IF EXISTS target;", f"CREATE {kind} TABLE target ({columns});")

    def file(self, data, part=1):
        return data.file(self.args.data, self.args.percent * part)

    def note(self, name, method, seconds, rows, path):
        """what was measured besides"""
        self.runs += [(name, method, n, Run(s), rows, os.path.getsize(path)) for n, s in enumerate(seconds, 1)]

    def rival(self, *options):
        return pg_bulkload(*options) if has_pg_bulkload() else None

    def rounds(self, name, methods, rows, size, digest=DIGEST, warm_up=lambda _, sql: measured(sql)):
        """methods: name -> statement, Method or function; each once to warm up, then all in turn; digest: a query that finds the
        same after each of them, or None"""
        digests, warm = {}, set()
        for method, sql in list(methods.items()):
            try:
                run = warm_up(method, sql)
            except RuntimeError as e:
                print(f"{name}: {method} does not run here: {e}", file=sys.stderr)
                del methods[method]
                continue
            if digest:
                digests[method] = tuple(sorted(psql(digest + ";").split()))
            # nothing is the warmer for a load of minutes; and where time is short it counts, too
            if run.seconds > LONG or (self.until and run.seconds):
                self.runs.append((name, method, 0 if self.until else 1, run, rows, size))
                warm.add(method)
            if run.seconds > LONG:
                del methods[method]
        if len(set(digests.values())) > 1:
            # what was measured so far is written all the same
            print(f"{name}: the tables differ: {digests}", file=sys.stderr)
            self.differ = True
            return
        for n in range(1, self.args.rounds + 1):
            start = time.monotonic()
            for method, sql in methods.items():
                if not self.until or n > 1 or method not in warm:
                    self.runs.append((name, method, n, measured(sql), rows, size))
            print(f"{name}: round {n} of {self.args.rounds}", file=sys.stderr)
            if self.until and 2 * time.monotonic() - start > self.until:
                break

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
        self.rounds(d.name, methods, rows, size)
        if d.name == "votes":
            source = duck.Source(path, duck.columns(d.columns))
            duck.beside(self, d.name, [source], rows)
            if duck.is_here():
                self.note(d.name, "DuckDB, parsing only", [duck.parse(source) for _ in range(self.args.rounds)], rows, path)
            self.table(d.columns, "UNLOGGED")
            del methods["bulk_load, buffered"]
            self.rounds("votes, unlogged", {m: sql for m, sql in methods.items() if "pg_bulkload" not in m}, rows, size)

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
        }, rows, os.path.getsize(path), digest=None)

    def sources(self):
        d = datasets.ALL[0]
        path, rows = d.file(self.args.data, self.args.percent)
        self.table(d.columns)
        self.rounds("votes from elsewhere", sources.sources(path, lambda: psql("TRUNCATE target;", "CHECKPOINT;")),
                    rows, os.path.getsize(path))
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
            self.rounds(name, methods, n, os.path.getsize(file))
        if "duplicates" in wanted:
            clean, _ = datasets.PAIRS.file(self.args.data, self.args.percent)
            path, rows = datasets.TWINS.file(self.args.data, self.args.percent)
            self.rounds("votes, 1 % duplicates", indexed.duplicates(clean, path), rows, os.path.getsize(path), digest=None)

    def cases(self, cases, wanted, warm_up=None):
        """runs those that are wanted, in a database of their own; cases: name -> function that yields each Case"""
        chosen = [make for name, make in cases.items() if in_use.is_wanted(name, wanted)]
        if not chosen:
            return
        end = self.args.minutes and time.monotonic() + self.args.minutes * 60
        with self.database("cases"):
            for n, make in enumerate(chosen):
                self.until = end and time.monotonic() + (end - time.monotonic()) / (len(chosen) - n)
                for case in make(self):
                    with self.shared_buffers(case.shared_buffers):
                        self.rounds(case.title, case.methods, case.rows, size_of(case.path), case.digest or in_use.DIGEST,
                                    **({"warm_up": warm_up} if warm_up else {}))
                    psql(*(s + ";" for s in case.done))
        self.until = None

    @contextlib.contextmanager
    def database(self, name):
        """another database while the block runs"""
        here = os.environ["PGDATABASE"]
        psql(f"DROP DATABASE IF EXISTS {name};", f"CREATE DATABASE {name};")
        os.environ["PGDATABASE"] = name
        psql("CREATE EXTENSION IF NOT EXISTS pgbulk;")
        if has_pg_bulkload():
            psql("CREATE EXTENSION IF NOT EXISTS pg_bulkload;")
        yield
        sessions_ended()
        os.environ["PGDATABASE"] = here
        psql(f"DROP DATABASE {name};", f"DROP DATABASE IF EXISTS {TEMPLATE};")

    @contextlib.contextmanager
    def shared_buffers(self, pages):
        """the server has that many while the block runs, if any are given"""
        def restart(setting):
            psql(f"ALTER SYSTEM {setting};")
            subprocess.run(self.args.restart, shell=True, check=True)
        if pages:
            restart(f"SET shared_buffers = {pages}")
        yield
        if pages:
            restart("RESET shared_buffers")

    def report(self):
        runs = collections.OrderedDict()
        for name, method, _, run, rows, size in self.runs:
            runs.setdefault(name, (rows, size, collections.OrderedDict()))[2].setdefault(method, []).append(run)
        print(f"\npgbulk {self.version}, PostgreSQL {self.server}, {os.cpu_count()} cores; "
              f"median of {'up to ' * bool(self.args.minutes)}{self.args.rounds} runs, seconds; processor time of all processes, WAL in MB\n")
        print("| data | rows | MB | method | median | min | max | times the first | processor | times the first | WAL |")
        print("|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|")
        for name, (rows, size, methods) in runs.items():
            first = next(iter(methods.values()))
            base, processor = statistics.median(run.seconds for run in first), median(first, "cpu")
            digits = 3 if base >= 0.1 else 5
            for method, done in methods.items():
                t = [run.seconds for run in done]
                m = statistics.median(t)
                print(f"| {name} | {rows} | {size / 1e6:.0f} | {method} | {m:.{digits}f} | {min(t):.{digits}f} | {max(t):.{digits}f} | {base / m:.2f} "
                      f"| {shown(median(done, 'cpu'))} | {shown(ratio(processor, median(done, 'cpu')))} | {shown(median(done, 'wal'), '.1f', 1e6)} |")

    def write(self):
        os.makedirs(self.args.out, exist_ok=True)
        with open(os.path.join(self.args.out, self.args.name + ".csv"), "w", newline="") as f:
            w = csv.writer(f, lineterminator="\n")
            w.writerow(["server", "pgbulk", "cores", "data", "method", "round", "seconds", "rows", "bytes", "processor", "wal", "phases", "nodes"])
            for name, method, n, run, rows, size in self.runs:
                w.writerow([self.server, self.version, os.cpu_count(), name, method, n, f"{run.seconds:.5f}", rows, size,
                            "" if run.cpu is None else f"{run.cpu:.2f}", run.wal, *(json.dumps(part) if part else None for part in (run.phases, run.nodes))])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--percent", type=lambda s: int(s) if s.isdecimal() else float(s), default=100)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--minutes", type=float, help="fewer rounds of in_use, and of restore, if these would take longer")
    p.add_argument("--only", default="")
    p.add_argument("--name", default="results", help="of the file of results")
    p.add_argument("--hits", help="ClickBench's file, or the first lines of it")
    p.add_argument("--nodes", type=str.split, default=[], help="ports of two more servers, of the set cluster")
    p.add_argument("--restart", required=True, help="command that restarts the server")
    args = p.parse_args()
    wanted = [w for w in args.only.split(",") if w]
    known = [d.name for d in datasets.ALL] + ["bad", "sources", "indexed", "indexed_c", "append", "double", "foreign_key",
                                              "duplicates", "in_use", "restore", *in_use.CASES, *restore.CASES,
                                              "types", *value_types.CASES, "shapes", *shapes.CASES, "scaling", *scaling.CASES, "cluster", *cluster.CASES, "larger", *larger.CASES]
    for w in wanted:
        if w not in known and not any(in_use.is_wanted(name, [w]) for name in known):
            sys.exit(f"no data set \"{w}\"; there are: {', '.join(known)}")
    if len(args.nodes) < cluster.SERVERS and any(in_use.is_wanted(name, wanted) for name in cluster.CASES):
        sys.exit(f"the set cluster takes {cluster.SERVERS} more servers")
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
    b.cases(in_use.CASES, wanted or known, in_use.check_locks)
    b.cases(restore.CASES, wanted or known)
    b.cases(value_types.CASES, wanted or known)
    b.cases(shapes.CASES, wanted or known)
    b.cases(scaling.CASES, wanted)      # only if asked for: what they say is for machines with more cores
    b.cases(cluster.CASES, wanted)      # these need more servers
    b.cases(larger.CASES, wanted)       # and they take hours
    b.write()
    b.report()
    if b.differ:
        sys.exit(1)


if __name__ == "__main__":
    main()
