#!/usr/bin/env python3
"""Compares small loads into tables with indexes of every kind, one after the other, with COPY and INSERT ... ON CONFLICT.

Makes two tables with one to four indexes: btrees that are nearly full or nearly empty, with long keys, many duplicates, NULLs, keys that
are equal though their bytes differ, deduplication or none, INCLUDE, expressions, predicates, unique ones; hash, GIN, BRIN, GiST, SP-GiST.  Then, again and
again: some rows of both are deleted, updated, rolled back, vacuumed, or looked for, so that their entries are marked dead, and a file goes to
one by SQL and to the other by bulk_load, with "on_duplicate" or without, sometimes in one transaction with what came before.  Each such load is a case.

SQL is COPY where duplicates are errors, INSERT ... ON CONFLICT DO NOTHING for keep_old, and for keep_new DELETE and INSERT, row by row.
The rows and the counters must be the same, or the error; btrees must pass bt_index_parent_check, GIN indexes gin_index_check where the server has it; the
keys that an index has must be those that the index of the other table has, byte by byte, and so must be what is found by indexes of other kinds.

The server is the one that PGHOST, PGPORT and so on name, on this machine and with pgbulk and amcheck installed.  Where the extension was
built with -DLEAF_ROWS_TO_COLLECT=0 -DLEAF_OWN_ROWS_TO_COLLECT=0, --few has files of some rows only: entries need not wait for a thousand rows.
With -DMAX_KEYS_MEMORY=2048 those of a direct load are inserted in parts of some.

usage: index_series.py [--cases N] [--seconds N] [--seed N] [--few yes] [--case N]
"""

import hashlib
import json
import os
import random
import subprocess

from case_checker import CaseChecker, main

LOADS = 10                      # into one pair of tables, at most


def digits(value, length):
    """Text of so many characters that no compression makes shorter."""
    text = ""
    while len(text) < length:
        text += hashlib.md5(("%s %d" % (value, len(text))).encode()).hexdigest()
    return text[:length]


# A column's type, the text of its value for a number, and what its indexes may be.
TYPES = [
    ("int", str, "btree hash brin"), ("bigint", lambda i: str(i * 5000000000), "btree hash brin"),
    ('text COLLATE "C"', lambda i: "key %d" % i, "btree hash brin spgist"), ("text", lambda i: ("Key %d" if i % 2 else "key-%d") % (i // 2), "btree hash brin"),
    ('text COLLATE "C"', lambda i: digits(i, 100 + i * 37 % 700), "btree hash"), ("text", lambda i: "prefix " * 20 + digits(i, 400), "btree hash"),
    ("text COLLATE insensitive", lambda i: ("kEY %d" if i % 2 else "Key %d") % (i // 2), "btree hash"),
    ("numeric", lambda i: "%d.%s" % (i // 3, "0" * (i % 3 + 1)), "btree hash brin"), ("float8", lambda i: "-0" if i == 1 else "NaN" if i == 2 else str(i / 2), "btree hash brin"),
    ("bool", lambda i: "ft"[i % 2], "btree"), ("uuid", lambda i: digits(i, 32), "btree hash brin"), ("bytea", lambda i: "\\x" + digits(i, 2 * (i % 30)), "btree"),
    ("timestamptz", lambda i: "2024-01-01 00:00:%02d.%06d+00" % (i % 60, i), "btree hash brin"), ("int[]", lambda i: '"{%d,%d,%d}"' % (i, i % 7, i % 3), "btree gin"), ("int[]", lambda i: '"{%s}"' % ",".join(str(i * k) for k in range(i % 9)), "gin"),
    ("int4range", lambda i: '"[%d,%d)"' % (i, i + i % 5), "btree gist spgist"), ("inet", lambda i: "10.0.%d.%d" % (i // 200 % 200, i % 200), "btree hash spgist"),
    ("point", lambda i: '"(%d,%d)"' % (i % 50, i // 50), "gist spgist")]

# How rows are looked for by an index, by its method and the type; {} is the column.
SEARCHES = {"int[]": "{} @> ARRAY[key]", "int4range": "{} && int4range(key, key + 2)", "point": "{} <@ box(point(key, 0), point(key + 3, 9))"}


class Column:
    def __init__(self, r, number):
        self.name = "c%d" % number
        self.type, self.text, methods = r.choice(TYPES)
        self.methods = methods.split()
        self.domain = r.choice([1, 2, 5, 30, 300, 5000])
        self.nulls = r.choice([0, 0, 0, 0.1, 0.9])

    def value(self, r):
        return "" if r.random() < self.nulls else self.text(r.randrange(self.domain))


class Index:
    """statement: with {} for the table's name."""

    def __init__(self, case, number):
        r = case.random
        columns = r.sample(case.columns, r.randint(1, min(len(case.columns), 3)))
        # the rarer kinds are of few types
        columns.sort(key=lambda c: number > 0 and not set(c.methods) & {"gin", "gist", "spgist"})
        self.method = "btree" if number == 0 else r.choice([m for m in columns[0].methods if m != "btree"] + ["btree"] * 2)
        self.first = columns[0]
        self.predicate = r.choice([""] * 4 + [" WHERE id % 3 > 0"])
        self.unique = self.plain = False
        if self.method == "btree":
            return self.make_btree(case, number, [c for c in columns if "btree" in c.methods])
        options = {"gin": " WITH (fastupdate = %s)" % r.choice(["on", "off"]), "brin": " WITH (pages_per_range = %d)" % r.choice([1, 2, 16])}
        self.statement = "CREATE INDEX {}_%d ON {} USING %s (%s)%s%s" % (number, self.method, self.first.name, options.get(self.method, ""), self.predicate)

    def make_btree(self, case, number, columns):
        r = case.random
        self.unique = case.upserts and (number == 0 or r.random() < 0.4) or number == 0
        self.keys = [c.name for c in columns]
        # only then no key of a row is likely to be there already, and a partition tells all that have it
        if self.unique and (not case.upserts or case.partitions):
            self.keys.append("id")
        elif not self.keys or r.random() < 0.2:
            self.keys.append("id")
        if r.random() < 0.1 and not (self.unique and case.partitions):
            self.keys[0] = "(id %% %d)" % r.choice([2, 40, 3000])
        r.shuffle(self.keys)
        self.order = [r.choice(["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"]) for _ in self.keys]
        self.nulls = self.unique and r.random() < 0.3
        self.plain = not self.predicate and not any("(" in key for key in self.keys)
        self.statement = "CREATE%s INDEX {}_%d ON {} (%s)%s%s WITH (fillfactor = %d, deduplicate_items = %s)%s" % (
            " UNIQUE" if self.unique else "", number, ", ".join(k + o for k, o in zip(self.keys, self.order)), " INCLUDE (n)" if r.random() < 0.1 else "",
            " NULLS NOT DISTINCT" if self.nulls else "", r.choice([10, 20, 50, 90, 100]), r.choice(["on", "on", "off"]), self.predicate)

    def conflict(self):
        """Whether row o of the table has a key of row s."""
        same = ["%s %s %s" % (k.replace("id", "o.id") if "(" in k else "o." + k, "IS NOT DISTINCT FROM" if self.nulls else "=", k.replace("id", "s.id") if "(" in k else "s." + k)
                for k in self.keys]
        return "(" + " AND ".join(same + ([self.predicate[7:].replace("id", x + "id") for x in ("o.", "s.")] if self.predicate else [])) + ")"

    def found(self, table, keys):
        """A query for what the index has, as one value."""
        if self.plain:
            shown = ", ".join("%s::text" % k for k in self.keys)
            return "SELECT count(*) || md5(string_agg(k, ',' ORDER BY k COLLATE \"C\")) FROM (SELECT (%s)::text AS k FROM (SELECT %s FROM %s ORDER BY %s) x) y" % (
                "row(%s)" % shown, ", ".join(self.keys), table, ", ".join(k + o for k, o in zip(self.keys, self.order)))
        if self.method == "btree":
            return None
        condition = SEARCHES.get(self.first.type, "{} = key").format(self.first.name)
        return "SELECT string_agg(n::text, ',' ORDER BY ord) FROM unnest(%s) WITH ORDINALITY AS k (key, ord), LATERAL (SELECT count(*) FROM %s WHERE %s%s) f (n)" % (
            keys, table, condition, self.predicate.replace(" WHERE", " AND"))


class Series:
    def __init__(self, seed, number, few):
        r = self.random = random.Random("%s/%d" % (seed, number))
        self.few = few
        self.upserts = r.random() < 0.6
        self.partitions = r.choice([0, 0, 0, 0, 0, 2])
        self.kind = "" if self.partitions else r.choice([""] * 6 + ["UNLOGGED", "TEMP"])
        self.columns = [Column(r, i) for i in range(r.choice([1, 2, 3]))]
        self.indexes = [Index(self, i) for i in range(r.choice([1, 2, 2, 3, 4]))]
        self.next_id = 1
        self.vacuumed = False

    def rows(self, n):
        r = self.random
        again = r.choice([0, 0.3, 1]) if self.upserts else r.choice([0] * 12 + [0.002])
        rows = []
        for _ in range(n):
            key = r.randint(1, self.next_id) if r.random() < again else self.next_id
            self.next_id += key == self.next_id
            rows.append(",".join([str(key), str(r.randrange(3))] + [c.value(r) for c in self.columns]))
        if r.random() < 0.3:
            r.shuffle(rows)
        return rows

    def setup(self):
        lines = ", ".join(["id int", "n int"] + ["%s %s" % (c.name, c.type) for c in self.columns])
        out = []
        for table in ("copied", "loaded"):
            out += ["DROP TABLE IF EXISTS %s" % table, "CREATE %s TABLE %s (%s) %s" % (self.kind, table, lines, "PARTITION BY HASH (id)" if self.partitions else "WITH (autovacuum_enabled = off)")]
            out += ["CREATE TABLE %s_p%d PARTITION OF %s FOR VALUES WITH (MODULUS %d, REMAINDER %d) WITH (autovacuum_enabled = off)" % (
                table, i, table, self.partitions, i) for i in range(self.partitions)]
            out += [index.statement.format(table, table) for index in self.indexes]
        out += ["DROP TABLE IF EXISTS staged", "CREATE UNLOGGED TABLE staged (%s, line serial)" % lines]
        columns = ["id", "n"] + [c.name for c in self.columns]
        deletes = "".join("WITH gone AS (DELETE FROM copied o WHERE %s RETURNING o.xmin = pg_current_xact_id()::xid AS own)\n"
                          " SELECT duplicates + count(*) FILTER (WHERE own), replaced + count(*) FILTER (WHERE NOT own) INTO duplicates, replaced FROM gone;\n" % index.conflict()
                          for index in self.indexes if index.unique)
        out.append("CREATE OR REPLACE FUNCTION keep_new() RETURNS text LANGUAGE plpgsql AS $$DECLARE s record; n int := 0; duplicates int := 0; replaced int := 0; BEGIN\n"
                   "FOR s IN SELECT * FROM staged ORDER BY line LOOP\n%sINSERT INTO copied (%s) SELECT %s; n := n + 1;\nEND LOOP;\n"
                   "RETURN n - duplicates || '|' || duplicates || '|' || replaced; END$$" % (deletes, ", ".join(columns), ", ".join("s." + c for c in columns)))
        return out

    def between(self):
        """Statements before a load, with {} for the table's name."""
        r = self.random
        out = []
        for _ in range(r.choice([0, 1, 1, 2, 3])):
            some = "id %% %d = %d" % (r.choice([(1, 0), (2, 1), (3, 0), (10, 4)]))
            out.append(r.choice([
                "DELETE FROM {} WHERE " + some, "UPDATE {} SET n = n + 1 WHERE " + some, "UPDATE {} SET %s = %s WHERE %s" % (self.columns[0].name, self.columns[0].name, some),
                "BEGIN; INSERT INTO {} SELECT * FROM {} WHERE %s ON CONFLICT DO NOTHING; INSERT INTO {} SELECT id + 100000000%s FROM {} WHERE %s ON CONFLICT DO NOTHING; ROLLBACK" % (
                    some, ", n" + "".join(", " + c.name for c in self.columns), some),
                "SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(n) FROM {} WHERE %s IS NOT NULL; SELECT count(n) FROM {} WHERE id > 0; RESET ALL" % self.columns[0].name,
                "VACUUM (INDEX_CLEANUP on) {}", "VACUUM (FREEZE) {}"]))
            self.vacuumed |= "VACUUM" in out[-1]
        return out

    def checks(self, version):
        """Statements that return a line for whatever differs, or is damaged."""
        r = self.random
        keys = {c.name: "ARRAY[%s]" % ", ".join(str(r.randrange(50)) if c.type in SEARCHES else "'%s'::%s" % (c.text(r.randrange(c.domain)).strip('"'), c.type.split(" ")[0]) for _ in range(4))
                for c in self.columns}
        rows = "SELECT count(*) || md5(string_agg(t::text, ',' ORDER BY t::text COLLATE \"C\")) FROM %s t"
        pairs = [("rows", rows % "copied", rows % "loaded")]
        for i, index in enumerate(self.indexes):
            if index.found("copied", keys[index.first.name]):
                pairs.append(("index %d" % i, index.found("copied", keys[index.first.name]), index.found("loaded", keys[index.first.name])))
        out = ["SET enable_seqscan = off; SET enable_bitmapscan = %s; SET enable_sort = off" % ("on" if any(i.method != "btree" for i in self.indexes) else "off")]
        out += ["SELECT '%s differs' WHERE (%s) IS DISTINCT FROM (%s)" % pair for pair in pairs]
        of_loaded = "FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid IN (SELECT 'loaded'::regclass UNION ALL SELECT relid FROM pg_partition_tree('loaded')) AND relkind = 'i'"
        out.append("SELECT 'x' FROM (SELECT bt_index_parent_check(indexrelid, true, true%s)::text AS x %s AND relam = 403) x WHERE x <> ''" % (", true" if version >= 170000 else "", of_loaded))
        if version >= 180000 and any(i.method == "gin" for i in self.indexes):
            out.append("SELECT 'x' FROM (SELECT gin_index_check(indexrelid)::text AS x %s AND relam = 2742) x WHERE x <> ''" % of_loaded)
        return out + ["RESET ALL"]


class Session:
    """psql that stays, as a new one for each statement takes longer than the statement."""

    def __init__(self, database):
        self.psql = subprocess.Popen(["psql", "-XAtq", "-v", "VERBOSITY=verbose", "-v", "ON_ERROR_ROLLBACK=on", "-d", database, "-f", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                     env=dict(os.environ, PGOPTIONS="-c client_min_messages=warning -c statement_timeout=60s"))

    def ask(self, statements):
        """Lines of output and errors."""
        self.psql.stdin.write("".join(s + ";\n" for s in statements) + "\\warn end of it\n")
        self.psql.stdin.flush()
        lines = []
        for line in self.psql.stdout:
            if line == "end of it\n":
                return lines
            if not line.startswith("LOCATION:"):
                lines.append(line.rstrip("\n"))
        raise SystemExit("the session has ended: %s" % lines[-3:])


class Checker(CaseChecker):
    name = "index_series"
    database_options = ""
    mode = 0o777
    cases = 1000000

    def open(self):
        self.sql("CREATE EXTENSION pgbulk; CREATE EXTENSION amcheck; CREATE COLLATION insensitive (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        self.version = int(self.sql("SHOW server_version_num")[0])
        self.session = Session(self.database)
        self.counts = {"failed": 0, "stop": 0, "keep_old": 0, "keep_new": 0}

    def must(self, number, statements):
        lines = self.session.ask(statements)
        if any("ERROR:" in line for line in lines):
            raise SystemExit("case %d: %s\n%s" % (number, lines[:3], ";\n".join(statements)))
        return lines

    def fault(self, lines, vacuumed):
        """The error among lines, as far as it must be the same."""
        error = [line[line.find("ERROR:"):] for line in lines if "ERROR:" in line] + [line for line in lines if line.startswith("DETAIL:")]
        # where rows reuse pages, of several duplicates the one is told whose row comes first in its table
        return [x.replace("copied", "loaded") for x in ([error[0][:13]] if error and vacuumed else error[:2])]

    def load(self, series, path, before):
        """What differs after one load, with those statements before it in its transaction if that is to have more."""
        r = series.random
        policy = r.choice(["keep_old", "keep_new"]) if series.upserts and r.random() < 0.95 else "stop"
        rows = series.rows(r.choice([1, 10, 40, 100, 300] * 6 + [1100]) if policy != "stop" or series.few else 1000 + r.choice([60, 100, 300]))
        with open(path, "w") as file:
            file.write("".join(row + "\n" for row in rows))
        options = {"on_duplicate": policy, "log_verbosity": "silent", "writer": r.choice(["buffered"] * 4 + ["direct"] * (series.kind != "TEMP" and not before)), "workers": r.choice([0] * 9 + [1])}
        if policy == "stop":
            del options["on_duplicate"]
        if options["writer"] == "direct":
            options["indexes"] = r.choice(["auto", "insert", "rebuild", "merge" if all(i.method == "btree" for i in series.indexes) else "auto"])
        names = ", ".join(["id", "n"] + [c.name for c in series.columns])
        if policy == "stop":
            oracle = ["COPY copied FROM '%s' WITH (FORMAT csv)" % path]
        else:
            oracle = ["TRUNCATE staged RESTART IDENTITY", "COPY staged (%s) FROM '%s' WITH (FORMAT csv)" % (names, path)]
            oracle.append("SELECT keep_new()" if policy == "keep_new" else "WITH i AS (INSERT INTO copied (%s) SELECT %s FROM staged ORDER BY line ON CONFLICT DO NOTHING RETURNING 1) "
                          "SELECT count(*) || '|' || %d - count(*) || '|0' FROM i" % (names, names, len(rows)))
        wanted = self.session.ask(oracle)
        if before:
            self.session.ask(["BEGIN ISOLATION LEVEL " + r.choice(["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])] + before)
        found = self.session.ask(["SET maintenance_work_mem = '%s'" % r.choice(["1MB" if self.version < 170000 else "64kB", "64MB"]),
                                  "SELECT rows_loaded || '|' || rows_duplicate || '|' || rows_replaced FROM bulk_load('loaded', '%s', '%s')" % (path, json.dumps(options)), "RESET ALL"])
        if before:
            self.session.ask(["COMMIT"])
        self.counts[policy] += 1
        if self.fault(wanted, True):
            self.counts["failed"] += 1
            if self.fault(wanted, series.vacuumed or series.partitions) == self.fault(found, series.vacuumed or series.partitions):
                return []
        elif found == (wanted if policy != "stop" else ["%d|0|0" % len(rows)]):
            return []
        return ["%s of %d rows: SQL %s, bulk_load %s" % (json.dumps(options), len(rows), wanted, found)]

    def check(self, number):
        series = Series(self.options.seed, number, self.options.few)
        setup = series.setup()
        self.must(number, setup)
        path = os.path.join(self.folder, "file.csv")
        shown = self.options.case is not None
        for load in range(series.random.randint(1, LOADS)):
            between = series.between()
            alone = series.random.random() < 0.7 or any("VACUUM" in s or "BEGIN" in s for s in between)
            if shown:
                print("load %d%s: %s" % (load, "" if alone else " and before it", "; ".join(between)))
            # an update may make a key that is there
            self.session.ask([s.replace("{}", table) for s in between for table in ("copied", "loaded") if alone or table == "copied"])
            differs = self.load(series, path, [] if alone else [s.replace("{}", "loaded") for s in between]) + self.session.ask(series.checks(self.version))
            if differs:
                self.failed += 1
                print("case %d, load %d (seed %s): %s\n  %s" % (number, load, self.options.seed, "; ".join(differs)[:1500], "; ".join(i.statement for i in series.indexes)))
                if shown:
                    print(";\n".join(setup))
                return
            self.passed += 1

    def summary(self):
        return [", ".join("%d %s" % (n, what) for what, n in sorted(self.counts.items()))]


if __name__ == "__main__":
    main(Checker, __doc__, [("--few", "files of some rows only, for a build by which their entries wait")])
