"""results.csv to a page: every type and every shape of table beside COPY.

    page.py RESULTS.CSV PAGE.MD [NOTE]
"""
import collections
import csv
import statistics
import sys

HEAD = """# Types and shapes of tables

How many times as fast as COPY `bulk_load` fills an empty table with its defaults: PostgreSQL {server}, pgbulk {pgbulk}, {cores} cores{note},
medians of {rounds} in alternation, CHECKPOINT before each. `scripts/bench --page` writes this page.

- **times COPY**: COPY's time, as its caller waits, divided by that of `bulk_load`.
- **in CPU**: the same of the processor time of all processes of the server, workers included. `bulk_load` works in several processes at once, so
  this is mostly the lower one; it depends less on what else a machine does.
- **DuckDB**: its time for making a table of the same file, with two threads. It reads as text what it has no type for, and builds no index.
"""
TYPES = """
## Types

A table of one column of the type.

| type | rows | COPY, s | bulk_load, s | times COPY | in CPU | DuckDB, s |
|---|--:|--:|--:|--:|--:|--:|
"""
SHAPES = """
## Shapes

Where the table has indexes or keys, *COPY* is COPY into the table without them, and then CREATE INDEX and ALTER TABLE with two parallel workers
and a `maintenance_work_mem` of 64 MB, which `bulk_load` has, too; into a table that has them COPY takes much longer.

| table | rows | COPY, s | bulk_load, s | times COPY | in CPU | DuckDB, s |
|---|--:|--:|--:|--:|--:|--:|
"""


def line(name, rows, methods):
    """of the first method of a case, of bulk_load and of DuckDB"""
    def median(method, what):
        found = [float(run[what]) for run in methods.get(method, []) if run[what]]
        return statistics.median(found) if found else None

    def ratio(what):
        other = median("bulk_load", what)
        return f"{median(base, what) / other:.1f}" if other and median(base, what) else ""
    base = next(iter(methods))
    duck = next((m for m in methods if m.startswith("DuckDB")), None)
    stock, ours, theirs = ("" if s is None else f"{s:.2f}" for s in (median(base, "seconds"), median("bulk_load", "seconds"), median(duck, "seconds")))
    number = f"{int(rows):,}".replace(",", " ")
    return f"| {name} | {number} | {stock} | {ours} | {ratio('seconds')} | {ratio('processor')} | {theirs} |\n"


def main(source, target, note=""):
    cases = collections.OrderedDict()
    with open(source, newline="", encoding="utf-8") as f:
        for run in csv.DictReader(f):
            cases.setdefault((run["data"], run["rows"]), collections.OrderedDict()).setdefault(run["method"], []).append(run)
    if not cases:
        sys.exit("no results")
    cases = {key: methods for key, methods in cases.items() if "bulk_load" in methods}
    counts = [len(methods["bulk_load"]) for methods in cases.values()]
    rounds = f"{min(counts)} to {max(counts)} runs" if min(counts) < max(counts) else f"{max(counts)} run{'s' * (max(counts) > 1)}"
    with open(target, "w", encoding="utf-8") as page:
        page.write(HEAD.format(rounds=rounds, note=note and ", " + note, **{what: run[what] for what in ("server", "pgbulk", "cores")}))
        for head, chosen in ((TYPES, True), (SHAPES, False)):
            lines = [line(name.removeprefix("type "), rows, methods) for (name, rows), methods in cases.items() if name.startswith("type ") == chosen]
            page.write((head + "".join(lines)) if lines else "")


if __name__ == "__main__":
    main(*sys.argv[1:])
