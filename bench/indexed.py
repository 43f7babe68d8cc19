"""The benchmark's loads into tables with indexes and foreign keys.

A method is what is done before, unmeasured, the statements that are measured,
and what is called between them.  All methods of a load leave the same table.
"""
import collections
import json

Method = collections.namedtuple("Method", "before sql ready", defaults=(None,))

COLUMNS = "username, link, score"


def literal(s):
    return "E'" + s.replace("\\", "\\\\").replace("'", "''") + "'"


def bulk_load(target, path, options):
    """path: of a file, or a list of them"""
    paths = literal(path) if isinstance(path, str) else f"ARRAY[{', '.join(map(literal, path))}]"
    return f"SELECT FROM bulk_load('{target}', {paths}, {literal(json.dumps(options))}::jsonb)"


def copy(path):
    return f"COPY target ({COLUMNS}) FROM {literal(path)} (FORMAT csv)"


def load(path, **options):
    return bulk_load("target", path, {"columns": COLUMNS.split(", "), **options})


def memory(size):
    return f"SET maintenance_work_mem = '{size}'"


INDEXES = ["ALTER TABLE target ADD PRIMARY KEY (id)", "CREATE INDEX target_username ON target (username)",
           "CREATE INDEX target_link ON target (link)"]
PARALLEL = "SET max_parallel_maintenance_workers = 2"


def bare(collation):
    return ["DROP TABLE IF EXISTS target, users",
            f"CREATE TABLE target (id serial, username text {collation}, link text {collation}, score int)"]


def indexed(path, collation=""):
    """an empty table with a serial primary key and two text indexes"""
    before, there = bare(collation), bare(collation) + INDEXES
    later = {f"COPY, then indexes in {size}": Method(before, [PARALLEL, memory(size), copy(path)] + INDEXES) for size in ("64MB", "1GB")}
    return {
        **later,
        "COPY": Method(there, [copy(path)]),
        "bulk_load": Method(there, [memory("1GB"), load(path, workers=1)]),
        "bulk_load, no worker": Method(there, [memory("1GB"), load(path, workers=0)]),
        "bulk_load in 16 MB": Method(there, [memory("16MB"), load(path, workers=1)]),
    }


def by_rival(sql):
    """the same table, by a statement of another loader"""
    return Method(bare("") + INDEXES, [memory("1GB"), sql])


def appended(path, more):
    """more rows for a large table with those indexes"""
    before = bare("") + INDEXES + [memory("1GB"), load(path, workers=1), "VACUUM ANALYZE target"]
    names = {"": {"writer": "direct"}, **{f", {method}": {"writer": "direct", "indexes": method} for method in ("insert", "merge", "rebuild")},
             ", buffered": {"writer": "buffered"}}
    return {
        "COPY": Method(before, [copy(more)]),
        **{f"bulk_load{name}": Method(before, [memory("1GB"), load(more, workers=1, **options)]) for name, options in names.items()},
        "COPY without indexes, then REINDEX": Method(
            before + ["DROP INDEX target_username, target_link", "ALTER TABLE target DROP CONSTRAINT target_pkey"],
            [PARALLEL, memory("1GB"), copy(more)] + INDEXES),
    }


def referring(path):
    """a foreign key to 32 k users"""
    users = ["CREATE TABLE users (username text PRIMARY KEY)", "CREATE TABLE staging (username text, link text, score int)",
             bulk_load("staging", path, {}), "INSERT INTO users SELECT DISTINCT username FROM staging", "DROP TABLE staging",
             "VACUUM ANALYZE users"]
    key = "ALTER TABLE target ADD FOREIGN KEY (username) REFERENCES users"
    before = bare("") + users
    return {
        "COPY": Method(before + [key], [copy(path)]),
        "COPY, then ADD FOREIGN KEY": Method(before, [copy(path), key]),
        "bulk_load": Method(before + [key], [load(path, workers=1)]),
        "bulk_load without the key": Method(before, [load(path, workers=1)]),
    }


def duplicates(clean, path):
    """a primary key that each hundredth row of the file has in common with an earlier one"""
    there = ["DROP TABLE IF EXISTS target, users, staging",
             "CREATE TABLE target (username text, link text, score int, PRIMARY KEY (username, link))"]
    staging = ["CREATE UNLOGGED TABLE staging (username text, link text, score int)",
               f"COPY staging FROM {literal(path)} (FORMAT csv)"]
    quiet = {"workers": 1, "log_verbosity": "silent"}
    return {
        "COPY to staging, INSERT ... ON CONFLICT": Method(there, [memory("1GB")] + staging + [
            "INSERT INTO target SELECT * FROM staging ON CONFLICT DO NOTHING", "DROP TABLE staging"]),
        "bulk_load, a file without duplicates": Method(there, [memory("1GB"), load(clean, **quiet)]),
        **{f"bulk_load, {policy}": Method(there, [memory("1GB"), load(path, on_duplicate=policy, **quiet)]) for policy in ("keep_old", "keep_new")},
    }
