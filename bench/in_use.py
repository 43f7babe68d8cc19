"""The benchmark's loads into tables in use: tables with rows and indexes, which others may read and write meanwhile.

No method of bulk_load takes a lock against writers, except "direct".
"""
import collections
import glob
import os

import datasets
from beside import at_once, beside_clients, quarters
from indexed import COLUMNS, INDEXES, Method, bulk_load, copy, literal, load, memory
from measure import Ready, Run, prepare, psql, timed

# digest: a query that finds the same after each method, or None for all columns of all rows
# shared_buffers: the server's for this case, in pages, or None for what it has
# done: statements that drop the tables
Case = collections.namedtuple("Case", "title methods rows path digest shared_buffers done", defaults=(None, None, ["DROP TABLE target"]))

# in half the time of rows as text: all types here have a hash function
DIGEST = "SELECT count(*), sum(hash_record_extended(t, 0)::numeric) FROM target t"
DROP = "DROP TABLE IF EXISTS target, staging, users"
VOTES = f"CREATE TABLE target (id serial, {datasets.VOTES})"
TEN = INDEXES + [f"CREATE INDEX ON target {keys}" for keys in (
    "(score)", "(username, link)", "(link, username)", "(score, username)", "(score, link)", "(lower(username))", "(link) WHERE score < 0")]
DAYS, DAYS_KEPT = f"{COLUMNS}, day", 400

# Locks that keep others from writing, held by a transaction until its end.
LOCKS = """SELECT DISTINCT c.relname, l.mode FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.pid = pg_backend_pid() AND c.relnamespace = 'public'::regnamespace AND c.relname <> 'staging'
    AND l.mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')"""


def check_locks(name, method):
    """runs a method once, in a transaction if it is a load by default, which must hold none of those locks; -> its Run"""
    if not isinstance(method, Method):
        return method()
    if not name.startswith("bulk_load") or "direct" in name:
        return timed(method)
    settings = [s for s in method.sql if s.startswith("SET")]
    loads = [s for s in method.sql if not s.startswith("SET")]
    prepare(method.before)
    held = psql(*(s + ";" for s in [*settings, "BEGIN", *loads, LOCKS, "COMMIT"])).strip()
    if held:
        raise SystemExit(f"{name} holds locks against writers: {held}")
    return Run(0)


def filled(table, path, indexes=(), columns=COLUMNS):
    """a table with the rows of the file"""
    options = {"columns": columns.split(", "), "workers": 1, "writer": "direct"}
    return Ready([DROP, table, *indexes, memory("1GB"), bulk_load("target", path, options), "VACUUM ANALYZE target"])


def by_copy(target, path, columns):
    return f"COPY {target} ({columns}) FROM {literal(path)} (FORMAT csv)"


def appended(before, path, columns=COLUMNS, ready=None):
    def ours(workers):
        return bulk_load("target", path, {"columns": columns.split(", "), "workers": workers})
    return {"COPY": Method(before, [by_copy("target", path, columns)], ready),
            "bulk_load": Method(before, [ours(1)], ready),
            "bulk_load, no worker": Method(before, [ours(0)], ready)}


def append(bench):
    (path, _), (more, rows) = bench.file(datasets.ALL[0]), bench.file(datasets.ALL[0], 0.1)
    yield Case("append, 3 indexes", appended(filled(VOTES, path, INDEXES), more), rows, more)


def gin(bench):
    (path, _), (more, rows) = bench.file(datasets.DOCUMENTS), bench.file(datasets.DOCUMENTS, 0.1)
    table = f"CREATE TABLE target (id serial, {datasets.DOCUMENTS.columns})"
    columns = f"{COLUMNS}, doc"
    before = filled(table, path, INDEXES + ["CREATE INDEX ON target USING gin (doc jsonb_path_ops)"], columns)
    yield Case("append, 3 indexes and GIN", appended(before, more, columns), rows, more)


def ten(bench):
    (path, _), (more, rows) = bench.file(datasets.ALL[0]), bench.file(datasets.ALL[0], 0.1)
    yield Case("append, 10 indexes", appended(filled(VOTES, path, TEN), more), rows, more)


def large(bench, title="append, 3 indexes, 10 times shared_buffers", ready=None):
    (path, _), (more, rows) = bench.file(datasets.ALL[0]), bench.file(datasets.ALL[0], 0.1)
    before = filled(VOTES, path, INDEXES)
    prepare(before)
    pages = int(psql("SELECT pg_total_relation_size('target') / 8192;"))
    yield Case(title, appended(before, more, ready=ready), rows, more, shared_buffers=pages // 10)


def large_disk(bench):
    yield from large(bench, "append, 3 indexes, 10 times shared_buffers, read from disk", forget)


def forget():
    """the table is no longer in the operating system's cache"""
    folder = psql("SHOW data_directory;").strip()
    for path in psql("SELECT pg_relation_filepath(oid) FROM pg_class WHERE oid = 'target'::regclass UNION ALL "
                     "SELECT pg_relation_filepath(indexrelid) FROM pg_index WHERE indrelid = 'target'::regclass;").split():
        for name in glob.glob(os.path.join(folder, path) + "*"):
            with open(name, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read():
    """the table is in shared buffers, as one in use is"""
    psql("CREATE EXTENSION IF NOT EXISTS pg_prewarm;", "SELECT pg_prewarm('target');",
         "SELECT pg_prewarm(indexrelid) FROM pg_index WHERE indrelid = 'target'::regclass;")


ACTIONS = {"keep_old": "DO NOTHING", "keep_new": "(username, link) DO UPDATE SET score = excluded.score"}


def duplicates(data, title, policy):
    def cases(bench):
        (clean, _), (path, rows) = bench.file(datasets.PAIRS), bench.file(data)
        before = filled(f"CREATE TABLE target ({datasets.VOTES}, PRIMARY KEY (username, link))", clean)
        quiet = {"log_verbosity": "silent", "on_duplicate": policy}
        methods = {
            "COPY to staging, INSERT ... ON CONFLICT": Method(before, [
                f"CREATE UNLOGGED TABLE staging ({datasets.VOTES})", by_copy("staging", path, COLUMNS),
                f"INSERT INTO target SELECT * FROM staging ON CONFLICT {ACTIONS[policy]}", "DROP TABLE staging"], read),
            "bulk_load": Method(before, [load(path, workers=1, **quiet)], read),
            "bulk_load in 1 GB": Method(before, [memory("1GB"), load(path, workers=1, **quiet)], read),
            "bulk_load in 1 GB, no worker": Method(before, [memory("1GB"), load(path, workers=0, **quiet)], read),
            "bulk_load in 1 GB, direct": Method(before, [memory("1GB"), load(path, workers=1, writer="direct", **quiet)], read),
        }
        rival = bench.rival("DIRECT", f"ON_DUPLICATE_KEEP={policy[5:].upper()}", "DUPLICATE_ERRORS=INFINITE")
        if rival:
            methods["pg_bulkload"] = Method(before, [memory("1GB"), rival(path)], read)
        yield Case(f"{title}, {policy}", methods, rows, path)
    return cases


def sessions(bench):
    (path, rows), (tenth, _) = bench.file(datasets.ALL[0]), bench.file(datasets.ALL[0], 0.1)
    before = filled(f"CREATE TABLE target ({datasets.VOTES})", tenth, ["CREATE INDEX target_link ON target (link)"])
    parts = quarters(path)
    yield Case("4 sessions at once, 1 index", {"COPY": at_once(before, [copy(p) for p in parts]),
                                               "bulk_load": at_once(before, [load(p) for p in parts])}, rows, path)


def partitions(data, title, first):
    def cases(bench):
        (history, _), (path, rows) = bench.file(datasets.DAYS), bench.file(data)
        days = range(first, DAYS_KEPT)
        yield Case(f"{title} of {DAYS_KEPT} partitions, 3 indexes", appended(partitioned(history), path, DAYS), rows, path)
        yield Case(f"as many rows to {len(days)} plain table{'s' * (len(days) > 1)}, 3 indexes", {
            "COPY": Method(plain(history, days), [by_copy(table, file, DAYS) for table, file in by_day(path, days)]),
            "bulk_load": Method(plain(history, days), [bulk_load(table, file, {"columns": DAYS.split(", "), "workers": 1})
                                                       for table, file in by_day(path, days)]),
        }, rows, path, done=[f"DROP TABLE {', '.join(f'plain_{day}' for day in days)} CASCADE"])
    return cases


def partitioned(path):
    """a table with a partition for each day"""
    table = f"CREATE TABLE target (id serial, {datasets.DAYS.columns}) PARTITION BY LIST (day)"
    each = (f"DO $$BEGIN FOR day IN 0..{DAYS_KEPT - 1} LOOP "
            "EXECUTE format('CREATE TABLE target_%s PARTITION OF target FOR VALUES IN (%s)', day, day); END LOOP; END$$")
    indexes = [f"CREATE INDEX ON target ({column})" for column in ("id", "username", "link")]
    return filled(table, path, [each] + indexes, DAYS)


def plain(path, days):
    """tables with the rows of these partitions, and a view of them all"""
    tables = [f"plain_{day}" for day in days]
    made = [f"DROP TABLE IF EXISTS {', '.join(tables)} CASCADE"]
    for table in tables:
        made += [f"CREATE TABLE {table} (id serial, {datasets.DAYS.columns})"]
        made += [f"CREATE INDEX ON {table} ({column})" for column in ("id", "username", "link")]
    made += [bulk_load(table, file, {"columns": DAYS.split(", "), "writer": "direct"}) for table, file in by_day(path, days)]
    view = "CREATE VIEW target AS " + " UNION ALL ".join(f"SELECT {DAYS} FROM {table}" for table in tables)
    return Ready(made + [f"VACUUM ANALYZE {', '.join(tables)}", view])


def by_day(path, days):
    """-> each plain table and the file of its rows"""
    files = {day: f"{path}.{day}" for day in days}
    if not all(map(os.path.exists, files.values())):
        rows = {day: [] for day in days}
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                rows.get(int(line.rsplit(",", 1)[1]), []).append(line)
        for day, file in files.items():
            with open(file, "w", encoding="utf-8") as out:
                out.writelines(rows[day])
    return [(f"plain_{day}", file) for day, file in files.items()]


def small(rows, calls=1000):
    """loads of a few rows, whose commits wait for no disk"""
    def cases(bench):
        path, _ = bench.file(datasets.ALL[0])
        before = filled(VOTES, path, INDEXES)
        few = os.path.join(bench.args.data, f"small-{rows}.csv")
        with open(few, "w", encoding="utf-8") as out:
            out.writelines(f"user{n},t3_few{n},1\n" for n in range(rows))
        start = ["SET synchronous_commit = off"]
        methods = {"COPY": Method(before, start + [copy(few)] * calls), "bulk_load": Method(before, start + [load(few)] * calls)}
        yield Case(f"{calls} loads of {rows} row{'s' * (rows > 1)}, 3 indexes", methods, calls * rows, few)
    return cases


def clients(bench):
    (path, rows), (more, few) = bench.file(datasets.ALL[0]), bench.file(datasets.ALL[0], 0.1)
    before = filled(VOTES, path, INDEXES)
    statements = {"COPY": copy(more), "bulk_load": load(more, workers=1), "bulk_load, no worker": load(more, workers=0)}
    title, latency = "append beside 4 clients of pgbench", {name: [] for name in statements}
    yield Case(title, {name: beside_clients(before, bench.args.data, rows, statement, latency[name]) for name, statement in statements.items()},
               few, more, "SELECT count(*), sum(hashtextextended(username || ',' || link, 0)::numeric) FROM target WHERE link NOT LIKE 'pgbench%'")
    for name, taken in latency.items():
        bench.note(f"{title}, their 99th percentile", name, taken[1:], few, more)


# those of the same table after one another, which is made once for them
CASES = {f"in_use_{name}": make for name, make in {
    "append": append, "clients": clients, "small_1": small(1), "small_100": small(100), "large": large, "large_disk": large_disk,
    "duplicates_known_keep_old": duplicates(datasets.KNOWN, "all keys known", "keep_old"),
    "duplicates_known_keep_new": duplicates(datasets.KNOWN, "all keys known", "keep_new"),
    "duplicates_half_keep_old": duplicates(datasets.HALF_KNOWN, "every second key known", "keep_old"),
    "duplicates_half_keep_new": duplicates(datasets.HALF_KNOWN, "every second key known", "keep_new"),
    "gin": gin, "ten": ten, "sessions": sessions,
    "partitions_newest": partitions(datasets.NEWEST, "newest", DAYS_KEPT - 1),
    "partitions_60": partitions(datasets.LATEST, "60", DAYS_KEPT - 60)}.items()}


def is_wanted(case, wanted):
    """whether a case is named, or the beginning of its name"""
    return any(case == name or case.startswith(name + "_") for name in wanted)
