#!/usr/bin/env python3
"""Loads into tables with rows and indexes of all shapes, by every method.

Makes a table with one to four indexes, which has rows with a past: deleted,
updated with and without HOT, marked dead by scans, vacuumed, of failed transactions.
Then a file is loaded once by COPY and rolled back, and once with option indexes set to insert,
merge, rebuild or auto.

The table may be partitioned.  The outcome must be COPY's: the rows, or the SQLSTATE.  Each btree must satisfy
bt_index_parent_check(heapallindexed, rootdescend), and each index must find what a scan of the
table finds.  Where no row has a past, the size of an index may differ from that of
REINDEX by 2 %, or 20 % with texts, and two pages of each table, unless several processes built it.  A load that fails must leave what was there.

The server is the one that PGHOST, PGPORT and so on name, on this machine and
with pgbulk and amcheck installed.

usage: indexes.py [--cases N] [--seconds N] [--seed N] [--case N]
"""

import json
import os
import random
import sys

from case_checker import CaseChecker, main

WORDS = ["", "a", "A", "b", "ab", "Ab", "aB", "a b", "a-b", "ä", "Ä", "é", "e", "z", "zz", "Zebra", "zebra", "co-op", "coop", "résumé", "resume", "0", "00", "10", "9"]


def numbers(most):
    return lambda r: str(r.randrange(-most, most))


def text(r, n):
    i = r.randrange(n)
    return WORDS[i % len(WORDS)] + (str(i // len(WORDS)) if i >= len(WORDS) else "")


# Types, each with makers of a value's text, from few different ones to many.
TYPES = [
    ("int", [numbers(3), numbers(100), numbers(10 ** 6)]),
    ("smallint", [numbers(2), numbers(30000)]),
    ("bigint", [numbers(50), numbers(10 ** 15)]),
    ("oid", [lambda r: str(r.randrange(2 ** 32))]),
    ("bool", [lambda r: r.choice("tf")]),
    ("text", [lambda r: text(r, 5), lambda r: text(r, 300), lambda r: text(r, 10 ** 6), lambda r: "common prefix of all keys " * 3 + text(r, 1000)]),
    ("text", [lambda r: text(r, 40) * r.choice([1, 1, 30, 120])]),
    ("varchar(400)", [lambda r: text(r, 1000)]),
    ("numeric", [lambda r: str(r.randrange(20)) + r.choice(["", ".0", ".00", ".5"]), lambda r: "%d.%03d" % (r.randrange(-10 ** 6, 10 ** 6), r.randrange(1000))]),
    ("float8", [lambda r: r.choice(["0", "-0", "NaN", "1e10", "Infinity", str(r.randrange(100) / 8)])]),
    ("date", [lambda r: "20%02d-%02d-%02d" % (r.randrange(100), r.randrange(1, 13), r.randrange(1, 29)), lambda r: "2024-01-%02d" % r.randrange(1, 9)]),
    ("timestamptz", [lambda r: "2024-01-%02d %02d:00:00+00" % (r.randrange(1, 29), r.randrange(24))]),
    ("uuid", [lambda r: "%032x" % r.randrange(2 ** 128), lambda r: "%032x" % r.randrange(100)]),
    ("interval", [lambda r: r.choice(["24 hours", "1 day", "30 days", "1 month", "%d hours" % r.randrange(100)])]),
    ("int[]", [lambda r: "{%s}" % ",".join(str(r.randrange(5)) for _ in range(r.randrange(4)))]),
    ("jsonb", [lambda r: json.dumps({"a": r.randrange(100)})]),
    ('"char"', [lambda r: r.choice("abcXYZ")]),
]
# Several of them may be sorted as one number.
INTEGERS = [kind for kind in TYPES if kind[0] in ("int", "smallint", "bigint", "oid", "bool", "date")]
# By another method, for types that have it.
OTHERS = {"int": ["hash", "brin"], "bigint": ["hash", "brin"], "text": ["hash", "spgist", "brin"], "date": ["brin", "hash"], "uuid": ["hash", "brin"], "int[]": ["gin"], "jsonb": ["gin"], "numeric": ["hash"]}


class Case:
    def __init__(self, seed, number, collations):
        r = self.random = random.Random("%s/%d" % (seed, number))
        self.collations = collations
        self.columns = [("n", "int", None)]
        types = INTEGERS if r.random() < 0.2 else TYPES
        for i in range(r.choice([1, 2, 3])):
            kind, makers = r.choice(types)
            self.columns.append(("c%d" % i, kind, r.choice(makers)))
        self.nulls = r.choice([0, 0, 0.02, 0.3])
        self.nold = r.choice([0, 1, 30, 400, 3000, 9000])
        self.nnew = r.choice([1, 10, 100, 1000, 5000])
        self.method = r.choice(["merge", "merge", "merge", "insert", "insert", "auto", "rebuild"])
        self.kind = r.choice(["", "", "", "UNLOGGED", "TEMP"])
        self.past = r.random() < 0.7
        self.unique = False
        # as many rows as several processes need to build one index
        self.large = r.random() < 0.06
        if self.large:
            self.method, self.nold, self.nnew, self.past = "rebuild", r.choice([0, 3000]), 60000, r.random() < 0.2
        self.leaves = r.choice([2, 3, 7]) if self.kind == "" and r.random() < 0.35 else 0
        self.indexes = [self.index(i) for i in range(1 if self.large else r.choice([1, 1, 2, 4]))]

    def index(self, i):
        r = self.random
        name = "i%d" % i
        if self.method != "merge" and r.random() < 0.2:
            able = [c for c in self.columns if c[1] in OTHERS]
            if able:
                column = r.choice(able)
                method = r.choice(OTHERS[column[1]])
                return name, "CREATE INDEX %s ON t USING %s (%s)" % (name, method, column[0]), [column[0]], method
        unique = r.random() < 0.25
        columns = r.sample(self.columns, r.randrange(1, len(self.columns) + 1))
        if not unique and len(columns) > 1 and columns[0][0] == "n":
            columns.reverse()
        if unique and all(c[0] != "n" for c in columns):
            columns.append(self.columns[0])
        keys = []
        for column, kind, _ in columns:
            key = column
            if kind == "text" and r.random() < 0.2:
                key = "lower(%s)" % column
            elif kind == "int" and r.random() < 0.15 and not unique:
                key = "(%s %% 10)" % column
            if kind in ("text", "varchar(400)") and r.random() < 0.7:
                key += ' COLLATE "%s"' % r.choice(self.collations)
            elif kind == "text" and r.random() < 0.2:
                key += " text_pattern_ops"
            keys.append(key + r.choice(["", "", " DESC"]) + r.choice(["", "", " NULLS FIRST", " NULLS LAST"]))
        definition = "CREATE %sINDEX %s ON t (%s)" % ("UNIQUE " if unique else "", name, ", ".join(keys))
        rest = [c[0] for c in self.columns if c not in columns]
        if rest and r.random() < 0.15:
            definition += " INCLUDE (%s)" % r.choice(rest)
        if unique and r.random() < 0.3:
            definition += " NULLS NOT DISTINCT"
        if r.random() < 0.3:
            definition += " WITH (%s)" % r.choice(["fillfactor = 50", "fillfactor = 100", "deduplicate_items = off", "deduplicate_items = off, fillfactor = 70"])
        if r.random() < 0.15:
            definition += " WHERE n % 3 > 0"
        self.unique = self.unique or unique
        return name, definition, [c[0] for c in columns], "btree"

    def table(self):
        lines = ", ".join("%s %s" % c[:2] for c in self.columns)
        if self.leaves == 0:
            return ["CREATE %s TABLE t (%s, filler text)" % (self.kind, lines)]
        out = ["CREATE TABLE t (%s, filler text) PARTITION BY HASH (n)" % lines]
        return out + ["CREATE TABLE t%d PARTITION OF t FOR VALUES WITH (modulus %d, remainder %d)" % (i, self.leaves, i) for i in range(self.leaves)]

    def rows(self, first, n):
        """as csv; where there is a unique index, some numbers come again"""
        again = self.unique and first > 0 and self.random.random() < 0.3
        lines = []
        for i in range(first, first + n):
            number = self.random.randrange(first + n) if again and self.random.random() < 0.002 else i
            fields = ["%d" % (number * 7919 % 1000003 if self.random_order else number)]
            for _, _, make in self.columns[1:]:
                value = make(self.random)
                fields.append("" if self.random.random() < self.nulls else '"%s"' % value.replace('"', '""'))
            lines.append(",".join(fields + ["x"]))
        return "".join(line + "\n" for line in lines)

    def history(self):
        """what becomes of the first rows"""
        r = self.random
        done = []
        for _ in range(r.choice([0, 1, 2, 5])):
            column = r.choice(self.columns)[0]
            low = r.randrange(max(self.nold, 1))
            part = r.choice(["n %% %d = 1" % r.choice([2, 3, 20]), "n BETWEEN %d AND %d" % (low, low + self.nold // 3), "ctid < '(3,0)'"])
            done.append(r.choice([
                "DELETE FROM t WHERE " + part,
                "UPDATE t SET filler = filler || 'y' WHERE " + part,
                "UPDATE t SET %s = %s, filler = 'z' WHERE %s" % (column, column, part),
                "UPDATE t SET %s = NULL WHERE %s" % (column, part) if column != "n" else "UPDATE t SET n = n + 2000003 WHERE " + part,
                "BEGIN; UPDATE t SET n = -n; ROLLBACK",
                "BEGIN; DELETE FROM t; ROLLBACK",
                "VACUUM t",
                "VACUUM (INDEX_CLEANUP on) t",
                "SET enable_seqscan = off; SELECT count(n) FROM (SELECT n FROM t ORDER BY %s) s; RESET enable_seqscan" % column,
                "REINDEX TABLE t",
                "DELETE FROM t WHERE n %% 5 > 0; SET enable_seqscan = off; SELECT count(n) FROM (SELECT * FROM t ORDER BY %s) s; RESET enable_seqscan" % column,
            ]))
        return done


class Checker(CaseChecker):
    name = "indexes"
    database_options = ""

    def __init__(self, options):
        super().__init__(options)
        self.methods = {}

    def open(self):
        out, err = self.sql("CREATE EXTENSION pgbulk; CREATE EXTENSION amcheck; SELECT provider FROM (SELECT DISTINCT collprovider AS provider FROM pg_collation) c;")
        if err:
            sys.exit(err)
        self.collations = ["C", "default"]
        if "i" in out.split():
            self.sql("CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false); CREATE COLLATION icu (provider = icu, locale = 'de');")
            self.collations += ["blind", "icu"]
        out, _ = self.sql("SELECT collname FROM pg_collation WHERE collprovider = 'b' AND collencoding IN (-1, 6) ORDER BY collname;")
        self.collations += out.split("\n")[:-1]
        out, _ = self.sql("SELECT collname FROM pg_collation WHERE collprovider = 'c' AND collencoding = 6 AND collname ~ '_' ORDER BY collname LIMIT 2;")
        self.collations += out.split("\n")[:-1]

    def check(self, number):
        case = Case(self.options.seed, number, self.collations)
        r = case.random
        case.random_order = r.random() < 0.5
        old, new = os.path.join(self.folder, "old.csv"), os.path.join(self.folder, "new.csv")
        with open(old, "w") as f:
            f.write(case.rows(0, case.nold))
        with open(new, "w") as f:
            f.write(case.rows(case.nold, case.nnew))
        early = r.random() < 0.5			# the indexes come before the rows
        options = {"writer": "direct", "indexes": case.method, "workers": 2 if case.large else r.choice([0, 2])}
        setup = ["SET maintenance_work_mem = '%s'" % r.choice(["1MB", "1MB", "64MB"]), "SET min_parallel_index_scan_size = 0",
                 "DROP TABLE IF EXISTS t"] + case.table()
        create = [definition for _, definition, _, _ in case.indexes]
        copy = ["COPY t FROM '%s' (FORMAT csv)" % old]
        setup += (create + copy if early else copy + create) + (case.history() if case.past else [])
        # columns that may be compared as text; float8's zeroes are equal but look different
        digest = "SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM t"
        tries = ["\\warn ==past", "\\echo ==before", digest, "BEGIN", "COPY t FROM '%s' (FORMAT csv)" % new, "\\echo ==copied", digest, "ROLLBACK"]
        if not case.past:
            tries.append("VACUUM (INDEX_CLEANUP on) t")
        load = ["\\echo ==load", "SELECT jsonb_path_query_array(details, '$.indexes[*].method') || jsonb_path_query_array(details, '$.indexes[*] ? (@.processes > 1).processes.type()') FROM bulk_load('t', '%s', '%s')" % (new, json.dumps(options)), "\\echo ==after", digest, "\\echo ==checks"]
        checks = []
        for name, _, columns, method in case.indexes:
            leaves = "(SELECT oid FROM pg_class WHERE relkind = 'i' AND (oid = '%s'::regclass OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = '%s'::regclass)))" % (name, name)
            if method == "btree":
                checks.append("SELECT bt_index_parent_check(oid, true, true) FROM %s x" % leaves)
            for _ in range(3):
                column = r.choice(columns)
                if method == "gin":
                    condition = "%s @> (SELECT %s FROM t WHERE n >= %d ORDER BY n LIMIT 1)" % (column, column, r.randrange(case.nold + case.nnew))
                else:
                    condition = "%s = (SELECT %s FROM t WHERE n >= %d ORDER BY n LIMIT 1)" % (column, column, r.randrange(case.nold + case.nnew))
                checks += ["SET enable_seqscan = off; SET enable_indexscan = on; SET enable_bitmapscan = on; SELECT count(*) AS found, coalesce(sum(n), 0) AS sum FROM t WHERE %s \\gset a" % condition,
                           "SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off; SELECT count(*) AS found, coalesce(sum(n), 0) AS sum FROM t WHERE %s \\gset b" % condition,
                           "RESET enable_indexonlyscan; SELECT 'found by %s' WHERE (:'afound', :'asum') IS DISTINCT FROM (:'bfound', :'bsum')" % name]
            if method == "btree" and not case.past and not case.large and case.method in ("merge", "rebuild"):
                size = "(SELECT sum(pg_relation_size(oid)) FROM %s x)" % leaves
                # of long keys few fit on a page
                share = 0.2 if any(kind in ("text", "varchar(400)") for _, kind, _ in case.columns) else 0.02
                checks += ["SELECT %s AS size \\gset" % size, "REINDEX INDEX " + name,
                           "SELECT '%s: ' || :size || ' bytes, REINDEX ' || %s WHERE abs(:size - %s) > :size * %s + 8192 * %d" % (name, size, size, share, 2 * max(case.leaves, 1))]
        script = "".join(s + (";\n" if not s.startswith("\\") and "\\gset" not in s else "\n") for s in setup + tries + load + checks)
        out, err = self.sql(script)
        self.judge(number, case, script, out, err, options)

    def judge(self, number, case, script, out, err, options):
        faults = []
        parts = {}
        for part in out.split("==")[1:]:
            name, _, rest = part.partition("\n")
            parts[name] = rest.strip()
        if "23505: could not create" in err:
            sys.exit("case %d: %s" % (number, err))
        err = err.split("==past\n")[1]
        errors = [line.split("ERROR:  ")[1][:5] for line in err.split("\n") if "ERROR:  " in line]
        copy_failed = parts.get("copied", "") == ""
        if copy_failed:
            # COPY, its digest, the load
            if errors != [errors[0] if errors else "", "25P02", errors[0] if errors else ""]:
                faults.append("errors " + err)
            if parts.get("after") != parts.get("before"):
                faults.append("another table after an error")
        else:
            if err:
                faults.append(err)
            if parts.get("after") != parts.get("copied"):
                faults.append("rows: %s, not %s" % (parts.get("after"), parts.get("copied")))
            for method in json.loads(parts.get("load") or "[]"):
                method = "several processes" if method == "number" else method
                self.methods[method] = self.methods.get(method, 0) + 1
        for line in parts.get("checks", "").split("\n"):
            if line and not (copy_failed and "REINDEX" in line):
                faults.append(line)
        if faults:
            self.failed += 1
            print("case %d, %s:\n  %s\n%s" % (number, options, "\n  ".join(faults), "\n".join(i[1] for i in case.indexes)))
            if self.options.case is not None:
                print(script)
        else:
            self.passed += 1

    def summary(self):
        return ["indexes: %s" % ", ".join("%d by %s" % (n, m) for m, n in sorted(self.methods.items()))]


if __name__ == "__main__":
    main(Checker, __doc__)
