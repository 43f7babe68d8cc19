"""The benchmark's loads into empty tables of every shape: partitions, constraints, triggers, indexes, keys, many columns.

bulk_load has its defaults.  Where a table has indexes or keys, COPY goes to the table without them, and they are built then, as is
usual: with two workers, and in as much memory as bulk_load has.
"""
import sys

import datasets
import duck
import hits
import tpch
from in_use import DROP, Case
from indexed import INDEXES, Method, bulk_load, literal, memory
from measure import psql

VOTES = datasets.ALL[0]
SETTINGS = [memory("64MB"), "SET max_parallel_maintenance_workers = 2"]


def shape(title, data, part, before=None, later=(), done=("DROP TABLE target",)):
    """a part of a data set; before: statements that make the table; later: those that build its indexes"""
    before = before or [DROP, f"CREATE TABLE target ({data.columns})"]

    def cases(bench):
        path, rows = bench.file(data, part)
        columns = duck.columns(data.columns)
        names = [name for name, _ in columns]
        copy = f"COPY target ({', '.join(names)}) FROM {literal(path)} ({data.copy_options})"
        yield Case(title, {
            "COPY, then indexes" if later else "COPY": Method(before, [*SETTINGS, copy, *later]),
            "bulk_load": Method([*before, *later], [*SETTINGS, bulk_load("target", path, {**data.options, "columns": names})]),
        }, rows, path, done=done)
        duck.beside(bench, title, [duck.Source(path, columns, data.delimiter)], rows)
    return cases


def votes(title, more="", *, part=1, kind="", end="", then=(), later=()):
    """the votes; more: columns and constraints; kind: of the table; end: how it is partitioned; then: statements after it is made"""
    return shape(title, VOTES, part, [DROP, f"CREATE {kind} TABLE target ({VOTES.columns}{more}) {end}", *then], later)


HASHED = ("DO $$BEGIN FOR n IN 0..15 LOOP EXECUTE format("
          "'CREATE TABLE target_%s PARTITION OF target FOR VALUES WITH (MODULUS 16, REMAINDER %s)', n, n); END LOOP; END$$")
CHECKS = ", CHECK (score BETWEEN -1 AND 1), CHECK (length(username) < 60), CHECK (link LIKE 't3%')"
TRIGGER = ["CREATE OR REPLACE FUNCTION judged() RETURNS trigger LANGUAGE plpgsql AS "
           "$$BEGIN IF NEW.score < 0 THEN NEW.score := 0; END IF; RETURN NEW; END$$",
           "CREATE TRIGGER judged BEFORE INSERT ON target FOR EACH ROW EXECUTE FUNCTION judged()"]


def one_by_one(count, statement):
    """a statement for each partition, no more than a server's lock table takes at once; statement: an expression of n"""
    return f"DO $$BEGIN FOR n IN 0..{count - 1} LOOP EXECUTE {statement}; IF n % 1000 = 999 THEN COMMIT; END IF; END LOOP; END$$"


def partitions(title, data, part, kind, bounds):
    """a partition for each place, or fewer where a small part of the data set is loaded; made once, as that takes long"""
    def cases(bench):
        step = -(-datasets.PLACES // max(int(datasets.PLACES * min(bench.args.percent / 20, 1)), 16))
        count = -(-datasets.PLACES // step)
        psql(DROP + ";", f"CREATE TABLE target ({data.columns}) PARTITION BY {kind};",
             one_by_one(count, f"'CREATE TABLE target_' || n || ' PARTITION OF target FOR VALUES ' || {bounds(step)}") + ";")
        dropped = [one_by_one(count, "'DROP TABLE target_' || n"), "DROP TABLE target"]
        yield from shape(f"{count} {title}", data, part, ["TRUNCATE target"], done=dropped)(bench)
    return cases


def listed(step):
    return f"'IN (' || (SELECT string_agg(place::text, ', ') FROM generate_series(n * {step}, n * {step} + {step - 1}) place) || ')'"


def ranged(step):
    return f"format('FROM (%s) TO (%s)', n * {step}, (n + 1) * {step})"


def facts(title, in_place):
    """sales and what they refer to; in_place: COPY checks the keys, too, as where nobody drops them for a load"""
    made = [DROP, *(f"DROP TABLE IF EXISTS {name}" for name in datasets.DIMENSIONS), *(
        statement for name, count in datasets.DIMENSIONS.items() for statement in (
            f"CREATE TABLE {name} (id int PRIMARY KEY)", f"INSERT INTO {name} SELECT generate_series(0, {count - 1})", f"ANALYZE {name}")),
        f"CREATE TABLE target ({datasets.SALES.columns})"]
    keys = [f"ALTER TABLE target ADD FOREIGN KEY ({name}) REFERENCES {name}" for name in datasets.DIMENSIONS]
    done = ["DROP TABLE target", *(f"DROP TABLE {name}" for name in datasets.DIMENSIONS)]
    return shape(title, datasets.SALES, 0.5, made + keys if in_place else made, () if in_place else keys, done)


def three_indexes(collation):
    """a serial key and two text indexes"""
    def cases(bench):
        known = psql(f"SELECT quote_ident(collname) FROM pg_collation WHERE collname IN ('{collation}', '{collation}.utf8') "
                     "AND collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding())) ORDER BY collname LIMIT 1;").strip()
        if known:
            text = VOTES.columns.replace("text", f"text COLLATE {known}")
            before = [DROP, f"CREATE TABLE target (id serial, {text})"]
            yield from shape(f"votes, a serial key and two indexes of texts, {TITLES[collation]}", VOTES, 0.3, before, INDEXES)(bench)
    return cases


# collations and what they are called; that of builtin is there from 17 on
TITLES = {"en_US": "en_US", "C": "C", "en-US-x-icu": "ICU", "pg_c_utf8": "C.UTF-8"}


def trigrams(bench):
    try:
        psql("CREATE EXTENSION IF NOT EXISTS pg_trgm;")
    except RuntimeError as e:
        print(f"no trigrams: {e}", file=sys.stderr)
        return
    yield from votes("votes, a GIN index of trigrams", part=0.1, later=["CREATE INDEX ON target USING gin (link gin_trgm_ops)"])(bench)


# what of TPC-H's tables suits a run of seconds
SCALE = 0.3


def eight_tables(title, keys):
    def cases(bench):
        paths = tpch.files(bench.args.data, SCALE * bench.args.percent / 100)
        rows = sum(map(lines_of, paths.values()))
        made = [f"DROP TABLE IF EXISTS {', '.join(paths)} CASCADE", *tpch.tables()]
        digest = " UNION ALL ".join(f"SELECT count(*), sum(hash_record_extended(t, 0)::numeric) FROM {name} t" for name in paths)
        yield Case(title, {
            "COPY, then keys" if keys else "COPY": Method(made, [
                *SETTINGS, *(f"COPY {table} FROM {literal(path)}" for table, path in paths.items()), *keys]),
            "bulk_load": Method(made + keys, [
                *SETTINGS, *(bulk_load(table, path, {"format": "text"}) for table, path in paths.items())]),
        }, rows, list(paths.values()), digest, done=made[:1])
        duck.beside(bench, title, [duck.Source(path, tpch.columns(name), "\t", "\\N") for name, path in paths.items()], rows)
    return cases


def lines_of(path):
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def visits(bench):
    """ClickBench's table, with the real rows where there are some"""
    path, rows = (bench.args.hits, lines_of(bench.args.hits)) if bench.args.hits else bench.file(datasets.HITS)
    before = [DROP, f"CREATE TABLE target ({hits.TABLE})"]
    title = "ClickBench's 105 columns, its rows" if bench.args.hits else "105 columns like ClickBench's"
    yield Case(title, {
        "COPY": Method(before, [*SETTINGS, f"COPY target FROM {literal(path)}"]),
        "bulk_load": Method(before, [*SETTINGS, bulk_load("target", path, {"format": "text"})]),
    }, rows, path)
    duck.beside(bench, title, [duck.Source(path, hits.COLUMNS, "\t", "\\N")], rows)


CASES = {f"shapes_{name}": make for name, make in {
    "votes": votes("votes"),
    "unlogged": votes("votes, unlogged", kind="UNLOGGED"),
    "quoted": shape("comments, quoted, with doubled quotes", datasets.COMMENTS, 1),
    "checks": votes("votes, three CHECK constraints", CHECKS),
    "generated": votes("votes, a generated column", ", points int GENERATED ALWAYS AS (score * 10 + length(username)) STORED"),
    "trigger": votes("votes, a BEFORE trigger in PL/pgSQL", part=0.2, then=TRIGGER),
    "hash": votes("votes, 16 partitions by hash", end="PARTITION BY HASH (username)", then=[HASHED]),
    "list": partitions("partitions by list, in no order", datasets.READINGS, 0.2, "LIST (place)", listed),
    "range": partitions("partitions by range, in their order", datasets.READINGS_IN_ORDER, 1, "RANGE (place)", ranged),
    "brin": votes("votes, a BRIN index", later=["CREATE INDEX ON target USING brin (score)"]),
    "gin_trigrams": trigrams,
    "gin_jsonb": shape("documents, a GIN index of jsonb", datasets.DOCUMENTS, 0.1, later=["CREATE INDEX ON target USING gin (doc jsonb_path_ops)"]),
    **{f"indexes_{name}": three_indexes(collation) for name, collation in {
        "en_us": "en_US", "c": "C", "icu": "en-US-x-icu", "builtin": "pg_c_utf8"}.items()},
    "facts": facts("a fact table with four foreign keys", False),
    "facts_in_place": facts("a fact table with four foreign keys, which COPY checks as well", True),
    "tpch_bare": eight_tables("eight tables like TPC-H's, without keys", []),
    "tpch_keys": eight_tables("eight tables like TPC-H's, primary and foreign keys", tpch.keys() + tpch.references()),
    "hits": visits,
    "wide": shape("300 columns, rows below 2 kB", datasets.WIDE, 1),
    "wide_toast": shape("300 columns, rows of 3 kB", datasets.WIDER, 1),
}.items()}
