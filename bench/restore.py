"""The statements that programs send, with pgbulk's settings and without: restores, COPY, CREATE INDEX.

Both have the server's best settings for them.  Programs get theirs by PGOPTIONS.
"""
import contextlib
import functools
import os
import random
import resource
import statistics
import subprocess
import sys
import time

import databases
import datasets
import tpch
from beside import beside_clients
from indexed import COLUMNS, INDEXES, Method, bulk_load, copy, literal, load
from in_use import VOTES, Case, filled
from measure import Meter, elsewhere, psql, timed

BEST = {"maintenance_work_mem": "1GB", "max_parallel_maintenance_workers": 2}
PRELOADED = {**BEST, "session_preload_libraries": "pgbulk"}
INDEX = {**PRELOADED, "pgbulk.create_index": "on"}

# What a restored database must have: all rows, indexes and constraints.
WHOLE = r"""\connect restored
WITH tables AS (SELECT oid, oid::regclass AS name FROM pg_class
    WHERE relkind = 'r' AND relnamespace::regnamespace::text !~ '^(pg_|information_schema)')
SELECT md5(string_agg(fact, E'\n' ORDER BY fact)) FROM (
    SELECT name || query_to_xml('SELECT count(*), sum(hash_record_extended(t, 0)::numeric) FROM ' || name || ' t', false, false, '')::text AS fact
        FROM tables UNION ALL
    SELECT pg_get_indexdef(indexrelid) || indisvalid FROM pg_index JOIN tables ON oid = indrelid UNION ALL
    SELECT name || pg_get_constraintdef(c.oid) || convalidated FROM pg_constraint c JOIN tables t ON t.oid = conrelid) facts"""


@functools.cache
def takes_copy():
    """whether this pgbulk has a setting for plain COPY"""
    return psql("LOAD 'pgbulk';", "SELECT count(*) FROM pg_settings WHERE name = 'pgbulk.copy';").strip() == "1"


def all_on(copy_mode):
    return {**INDEX, "pgbulk.foreign_keys": "on", **({"pgbulk.copy": copy_mode} if takes_copy() else {})}


@contextlib.contextmanager
def options(settings):
    """sessions that begin in the block have these settings"""
    os.environ["PGOPTIONS"] = " ".join(f"-c {name}={value}" for name, value in settings.items())
    try:
        yield
    finally:
        del os.environ["PGOPTIONS"]


def under(settings, measure):
    """a method, or what measures one, of sessions that have these settings"""
    def measured():
        with options(settings):
            return timed(measure) if isinstance(measure, Method) else measure()
    return measured


class Alone(list):
    """processor seconds of the client, run by run: no server can make it faster than that"""

    @contextlib.contextmanager
    def watch(self, who=resource.RUSAGE_CHILDREN):
        before = resource.getrusage(who)
        yield
        after = resource.getrusage(who)
        self.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def run(*command):
    r = subprocess.run(command, capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(r.stderr.strip())
    return r.stdout


def program(before, *command, heard=None, alone=None):
    """measures a program that works in the database "restored"; heard: a list that gets what it prints"""
    def measure():
        before()
        psql("CHECKPOINT;")
        with Meter() as meter:
            with contextlib.nullcontext() if alone is None else alone.watch():
                start = time.perf_counter()
                out = run(*command)
                seconds = time.perf_counter() - start
        if heard is not None:
            heard.append(out)
        return meter.run._replace(seconds=seconds)
    return measure


# ---- restores

def empty(how=""):
    def made():
        elsewhere("DROP DATABASE IF EXISTS restored;", f"CREATE DATABASE restored TEMPLATE template0 {how};")
    return made


def dumped(bench, name, make):
    """-> a database as pg_dump writes it, for pg_restore and for psql; make fills it where they are not there yet"""
    major = bench.server.split(".")[0]
    paths = [os.path.join(bench.args.data, f"{name}-{bench.args.percent}-{major}.{kind}") for kind in ("dump", "sql")]
    if not all(map(os.path.exists, paths)):
        os.makedirs(bench.args.data, exist_ok=True)
        empty()()
        with options(BEST):
            make()
        for path, kind in zip(paths, "cp"):
            run("pg_dump", "-F", kind, "-f", path + ".new", "restored")
            os.rename(path + ".new", path)
    return paths


def by_script(lines):
    """fills the database by what a generator writes"""
    psql_in = subprocess.Popen(["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-d", "restored"], stdin=subprocess.PIPE, text=True)
    psql_in.stdin.writelines(lines)
    psql_in.stdin.close()
    if psql_in.wait():
        raise RuntimeError("the database cannot be made")


def votes_made(bench):
    path, _ = bench.file(datasets.ALL[0])
    psql(r"\connect restored", f"CREATE TABLE votes (id serial, {datasets.VOTES});", "CREATE TABLE users (username text PRIMARY KEY);",
         f"COPY votes ({COLUMNS}) FROM {literal(path)} (FORMAT csv);", "INSERT INTO users SELECT DISTINCT username FROM votes;",
         "ALTER TABLE votes ADD PRIMARY KEY (id);", "CREATE INDEX ON votes (username);", "CREATE INDEX ON votes (link);",
         "ALTER TABLE votes ADD FOREIGN KEY (username) REFERENCES users;")


def methods_of(before, settings, *command):
    return {"stock": under(BEST, program(before, *command)), "pgbulk": under(settings, program(before, *command))}


BY_PSQL = ("psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-d", "restored", "-o", os.devnull, "-f")


def restored(name, make, rows, title, how=""):
    """pg_restore with two jobs, and psql"""
    def cases(bench):
        dump, script = dumped(bench, name, lambda: make(bench))
        for command, path in ((("pg_restore", "-j", "2", "-d", "restored"), dump), (BY_PSQL, script)):
            alone = Alone()
            yield Case(f"{title}, {command[0]}", methods_of(empty(how), all_on("exclusive"), *command, path), rows(bench), path, WHOLE, done=[])
            if command[0] == "pg_restore":
                for _ in range(bench.args.rounds):
                    with alone.watch():
                        run("pg_restore", "-f", os.devnull, path)
                bench.note(f"{title}, {command[0]}", "pg_restore alone, processor", alone, rows(bench), path)
    return cases


def votes(title, how=""):
    return restored("votes", votes_made, lambda bench: bench.file(datasets.ALL[0])[1], f"dump of votes, {title}", how)


def generated(make, title):
    def cases(bench):
        return restored(make.__name__, lambda b: by_script(make(b.args.percent / 100)), lambda _: 0, title)(bench)
    return cases


def application(bench):
    yield from generated(databases.application, "application of 500 tables")(bench)
    _, script = dumped(bench, "application", None)
    yield from each_statement(bench, script)


def orders(bench):
    """TPC-H's eight tables"""
    scale = bench.args.percent / 100
    made = restored("tpch", lambda b: by_script(tpch.script(b.args.data, scale)), lambda _: 0, "dump of TPC-H's tables")
    yield from made(bench)


def each_statement(bench, script):
    """how much longer single statements take"""
    heard = {"stock": [], "pgbulk": []}
    timing = ("psql", "-X", "-v", "ON_ERROR_STOP=1", "-d", "restored", "-c", r"\timing on", "-f", script)
    settings = {"stock": BEST, "pgbulk": all_on("exclusive")}
    yield Case("application of 500 tables, psql with times", {
        name: under(settings[name], program(empty(), *timing, heard=heard[name])) for name in heard}, 0, script, WHOLE, done=[])
    taken = {name: [[float(line.split()[1]) for line in out.splitlines() if line.startswith("Time: ")] for out in outs]
             for name, outs in heard.items()}
    medians = {name: [statistics.median(times) for times in zip(*runs[1:] or runs)] for name, runs in taken.items()}
    longer = sorted((ours - stock for stock, ours in zip(medians["stock"], medians["pgbulk"])), reverse=True)
    print(f"application, statement by statement: {sum(d > 1 for d in longer)} of {len(longer)} take over 1 ms longer with pgbulk by their medians, "
          f"{sum(d < -1 for d in longer)} as much less; the worst {longer[0]:.2f} ms longer, the best {-longer[-1]:.2f} ms less", file=sys.stderr)


def pgbench(bench):
    scale = max(int(bench.args.percent), 1)
    command, alone = ("pgbench", "-i", "-q", "-s", str(scale), "restored"), Alone()
    path, title = bench.file(datasets.ALL[0])[0], f"pgbench -i -s {scale}"
    methods = methods_of(empty(), all_on("exclusive"), *command)
    methods["stock"] = under(BEST, program(empty(), *command, alone=alone))
    digest = "\\connect restored\nSELECT count(*), sum(aid) FROM pgbench_accounts"
    yield Case(title, methods, 100_000 * scale, path, digest, done=[])
    bench.note(title, "pgbench alone, processor", alone[1:], 100_000 * scale, path)


# ---- COPY of clients and of files

def votes_table():
    empty()()
    psql(r"\connect restored", f"CREATE TABLE target ({datasets.VOTES});")


def by_psycopg(path, alone):
    def measure():
        import psycopg
        votes_table()
        psql("CHECKPOINT;")
        with Meter() as meter, psycopg.connect(dbname="restored") as session, open(path, "rb") as rows:
            start = time.perf_counter()
            with alone.watch(resource.RUSAGE_SELF):
                session.execute("TRUNCATE target")
                with session.cursor().copy("COPY target FROM STDIN (FORMAT csv)") as into:
                    while block := rows.read(1 << 20):
                        into.write(block)
                session.commit()
            seconds = time.perf_counter() - start
            session.close()
        return meter.run._replace(seconds=seconds)
    return measure


def clients(bench):
    path, rows = bench.file(datasets.ALL[0])
    digest = "\\connect restored\nSELECT count(*), sum(hash_record_extended(t, 0)::numeric) FROM target t"
    by_psql = ("psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-d", "restored", "-c", "BEGIN; TRUNCATE target",
               "-c", f"\\copy target FROM {literal(path)[1:]} WITH (FORMAT csv)", "-c", "COMMIT")
    for title, measure in ((r"\copy votes", lambda alone: program(votes_table, *by_psql, alone=alone)),
                           ("copy() of psycopg, 1 MB at a time", lambda alone: by_psycopg(path, alone))):
        alone = Alone()
        yield Case(title, {"stock": under(BEST, measure(alone)), "pgbulk": under(all_on("on"), measure(Alone()))}, rows, path, digest, done=[])
        bench.note(title, "the client alone, processor", alone[1:], rows, path)


def file(bench):
    path, rows = bench.file(datasets.ALL[0])
    before = ["DROP TABLE IF EXISTS target", f"CREATE TABLE target ({datasets.VOTES})"]
    plain = Method(before, [f"COPY target FROM {literal(path)} (FORMAT csv)"])
    yield Case("COPY of a server's file", {
        "stock": under(BEST, plain),
        "pgbulk": under(all_on("exclusive"), plain),
        "bulk_load": under(PRELOADED, Method(before, [bulk_load("target", path, {})]))}, rows, path)


def append(bench):
    (path, rows), (more, few) = bench.file(datasets.ALL[0]), bench.file(datasets.ALL[0], 0.1)
    before = filled(VOTES, path, INDEXES)
    yield Case("COPY to a table in use beside 4 clients, 3 indexes", {
        name: under(settings, beside_clients(before, bench.args.data, rows, copy(more), []))
        for name, settings in (("stock", BEST), ("pgbulk", all_on("on")))}, few, more,
        "SELECT count(*), sum(hashtextextended(username || ',' || link, 0)::numeric) FROM target WHERE link NOT LIKE 'pgbench%'")


def few(bench, calls=1000):
    """COPYs of few rows, whose commits wait for no disk"""
    (tenth, _), rnd, rows = bench.file(datasets.ALL[0], 0.1), random.Random("few"), 0
    script = os.path.join(bench.args.data, f"few-{calls}.sql")
    with open(script, "w", encoding="utf-8") as out:
        for call in range(calls):
            count = rnd.randint(1, 100)
            out.write(f"COPY target ({COLUMNS}) FROM STDIN (FORMAT csv);\n" +
                      "".join(f"user{rnd.randrange(1000)},t3_few{call}_{n},1\n" for n in range(count)) + "\\.\n")
            rows += count

    def before():
        empty()()
        psql(r"\connect restored", f"CREATE TABLE target (id serial, {datasets.VOTES});", *(s + ";" for s in INDEXES), copy(tenth) + ";")
    digest = "\\connect restored\nSELECT count(*), sum(hash_record_extended(t, 0)::numeric) FROM target t"
    lazy = {"synchronous_commit": "off"}
    yield Case(f"{calls} COPYs of 1 to 100 rows, 3 indexes", {
        name: under({**settings, **lazy}, program(before, *BY_PSQL, script))
        for name, settings in (("stock", BEST), ("pgbulk", all_on("on")))}, rows, script, digest, done=[])


# ---- CREATE INDEX

KEYS = {
    "int in order": "n", "int, shuffled": "shuffled", "bigint": "big", "timestamptz": "at", "uuid": "uuid", "text of 30,000 values": "name",
    "text of 2 M values": "link", "(text, timestamptz)": "name, at", "(int, int)": "(shuffled % 1000), n", "lower(text)": "lower(name)",
}
ROWS = 3_000_000


def indexes(bench):
    rows = int(ROWS * bench.args.percent / 100)
    step, path = 1_000_003, bench.file(datasets.ALL[0])[0]       # a prime
    psql(f"""CREATE TABLE target AS SELECT n, (n::bigint * {step} % {rows})::int AS shuffled, n::bigint * {step} AS big,
        '2026-01-01'::timestamptz + n * interval '1 second' AS at, md5(n::text)::uuid AS uuid, 'user ' || n::bigint * {step} % 30000 AS name,
        't3_' || md5((n::bigint * {step} % {rows * 2 // 3 + 1})::text) AS link FROM generate_series(1, {rows}) n;""", "VACUUM ANALYZE target;")
    sizes = ("1GB", "64MB")
    for key, columns in KEYS.items():
        for size in sizes:
            method = Method(["DROP INDEX IF EXISTS target_key"], [f"CREATE INDEX target_key ON target ({columns})"])
            last = size == sizes[-1] and key == list(KEYS)[-1]
            yield Case(f"CREATE INDEX, {key}, {size}", {
                name: under({**settings, "maintenance_work_mem": size}, method) for name, settings in (("stock", BEST), ("pgbulk", INDEX))},
                rows, path, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'target_key'::regclass",
                done=["DROP TABLE target"] if last else [])


CASES = {f"restore_{name}": make for name, make in {
    "votes": votes("en_US"), "votes_c": votes("C", "LOCALE 'C'"), "votes_icu": votes("ICU", "LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"),
    "application": application, "pgbench": pgbench, "tpch": orders,
    "clients": clients, "file": file, "append": append, "few": few, "index": indexes}.items()}
