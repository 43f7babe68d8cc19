#!/usr/bin/env python3
"""Compares loads into tables with deferrable unique constraints with COPY, to the end of the transaction.

Makes a table with one to four unique constraints, most of them deferrable, INITIALLY IMMEDIATE or DEFERRED, sometimes with
unique indexes that are not, rows in it, and a file some of whose keys are there already or come twice.

A transaction sets constraints, adds or deletes rows that share keys, loads, perhaps below a savepoint that is rolled back, loads
another file, mends some of the keys or not, perhaps asks for all constraints, and commits. Each step's error (SQLSTATE, message, detail), if it
has one, and the rows in the end must be those of COPY: by the direct writer with and without workers, by each index
method, and by the buffered one. Each index must pass bt_index_parent_check.

The server is the one that PGHOST, PGPORT and so on name, on this machine and
with pgbulk and amcheck installed.

usage: deferrable.py [--cases N] [--seconds N] [--seed N] [--case N]
"""

import json
import os
import random
import sys

from case_checker import CaseChecker, main

TYPES = [("int", str), ("bigint", str), ("text", lambda i: "value %d" % i), ("numeric", lambda i: "%d.%s" % (i // 3, "0" * (i % 3 + 1))), ("date", lambda i: "2024-%02d-%02d" % (1 + i % 12, 1 + i // 12 % 28)),
         ("text COLLATE insensitive", lambda i: ("Key %d" if i % 2 else "kEY %d") % (i // 2))]
TIMES = ["DEFERRABLE INITIALLY DEFERRED", "DEFERRABLE INITIALLY DEFERRED", "DEFERRABLE", "NOT DEFERRABLE"]
WAYS = [{"writer": "direct", "workers": 0}, {"writer": "direct", "workers": 2}, {"writer": "direct", "indexes": "merge", "workers": 1}, {"writer": "direct", "indexes": "insert"},
        {"writer": "direct", "indexes": "rebuild", "workers": 2}, {"writer": "buffered"}, {}]


class Case:
    def __init__(self, seed, number):
        r = self.random = random.Random("%s/%d" % (seed, number))
        self.chunk = r.choice([16, 100, 1000, 65536])
        self.types = [r.choice(TYPES) for _ in range(r.choice([1, 2, 3]))]
        self.columns = ["n"] + ["c%d" % i for i in range(len(self.types))]
        self.nulls = r.choice([0, 0, 0.1])
        nold, nnew = r.choice([0, 0, 5, 100, 1000]), r.choice([2, 30, 300, 2000])
        # values that are all different, but for a few
        self.place = [0] * len(self.types)
        self.twins = r.choice([0, 0.003, 0.003, 0.02, 0.3])
        self.old = [self.values(i, 0) for i in range(nold)]
        self.files = [[self.values(10000 * f + i, self.twins) for i in range(nnew)] for f in (1, 2)]

    def values(self, n, twins):
        r = self.random
        fields = [str(n)]
        for i, (_, text) in enumerate(self.types):
            if r.random() < twins:
                value = r.randrange(max(self.place[i], 1))
            else:
                self.place[i] += 1
                value = self.place[i]
            # so that no two of them are equal
            value *= 6
            fields.append("" if r.random() < self.nulls else text(value))
        return ",".join(fields)

    def setup(self):
        r = self.random
        out = ["CREATE TABLE t (%s)" % ", ".join(["n int"] + ["c%d %s" % (i, t[0]) for i, t in enumerate(self.types)])]
        for i in range(r.choice([1, 1, 2, 3, 4])):
            keys = r.sample(self.columns[1:], min(len(self.types), r.choice([1, 1, 1, 2])))
            out.append("ALTER TABLE t ADD CONSTRAINT u%d UNIQUE %s(%s)%s %s" % (
                i, "NULLS NOT DISTINCT " if self.nulls == 0 and r.random() < 0.3 else "", ", ".join(keys), " INCLUDE (n)" if r.random() < 0.2 else "", r.choice(TIMES)))
        if r.random() < 0.3:
            out.append("CREATE INDEX other ON t (%s)" % r.choice(self.columns))
        return out

    def steps(self, paths):
        """The transaction; %s where a load is."""
        r = self.random
        steps = ["BEGIN"]
        if r.random() < 0.5:
            steps.append("SET CONSTRAINTS ALL " + r.choice(["DEFERRED", "DEFERRED", "IMMEDIATE"]))
        if self.old and r.random() < 0.5:
            steps.append("DELETE FROM t WHERE n % 7 = 3")
        if self.old and r.random() < 0.3:
            steps.append("INSERT INTO t SELECT 5000 + n, %s FROM t WHERE n %% 50 = 1" % ", ".join(self.columns[1:]))
        if r.random() < 0.3:
            steps += ["SAVEPOINT a", "load " + paths[0], "ROLLBACK TO a"]
        steps.append("load " + paths[0])
        if r.random() < 0.3:
            steps.append("load " + paths[1])
        if r.random() < 0.5:
            # the earlier ones of those that share a key, for all keys or some
            for column in self.columns[1:] if r.random() < 0.7 else self.columns[1:2]:
                steps.append("DELETE FROM t WHERE ctid IN (SELECT ctid FROM (SELECT ctid, row_number() OVER (PARTITION BY %s ORDER BY n, ctid) AS i FROM t) x WHERE i > 1)" % column)
        if r.random() < 0.3:
            steps.append("UPDATE t SET n = n + 1 WHERE n % 5 = 2")
        if r.random() < 0.4:
            steps.append("SET CONSTRAINTS ALL IMMEDIATE")
        return steps + ["COMMIT"]


class Checker(CaseChecker):
    name = "deferrable"
    mode = 0o777

    def open(self):
        self.errors = 0

    def write(self, name, rows):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write("".join(row + "\n" for row in rows))
        return path

    def play(self, case, steps, load):
        """What came of it: of errors the first one, and the rows in the end."""
        script = "".join((load(step[5:]) if step.startswith("load ") else step) + ";\n" for step in steps)
        out, err = self.sql("DROP TABLE IF EXISTS t;\n" + self.table + script
                            + "SELECT count(*), md5(string_agg(r, ',' ORDER BY r COLLATE \"C\")) FROM (SELECT t::text AS r FROM t) x;\n"
                            "SELECT bt_index_parent_check(indexrelid, true, true) FROM pg_index WHERE indrelid = 't'::regclass \\g /dev/null\n")
        errors = [line[max(line.find("ERROR:"), 0):] for line in err.splitlines() if ("ERROR:" in line and "25P02" not in line) or line.startswith("DETAIL:") or "closed the connection" in line]
        # an updated row is looked at in its old place or, if its page was full, later in its new one
        if any(step.startswith("UPDATE") for step in steps):
            errors = [error[:13] for error in errors[:1]]
        return errors[:2], out.splitlines()[-1:]

    def check(self, number):
        case = Case(self.options.seed, number)
        self.chunk = case.chunk
        old = self.write("old.csv", case.old)
        paths = [self.write("%d.csv" % i, rows) for i, rows in enumerate(case.files)]
        self.table = ";\n".join(case.setup() + ["COPY t FROM '%s' (FORMAT csv)" % old]) + ";\n"
        steps = case.steps(paths)
        out, err = self.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION pgbulk; CREATE EXTENSION amcheck;\n"
                            "CREATE COLLATION insensitive (provider = icu, locale = 'und-u-ks-level2', deterministic = false);\n")
        if err:
            sys.exit("case %d: %s" % (number, err))
        expected = self.play(case, steps, "COPY t FROM '{}' (FORMAT csv)".format)
        self.errors += len(expected[0]) > 0
        faults = []
        for way in WAYS:
            got = self.play(case, steps, lambda path: "SELECT rows_loaded FROM bulk_load('t', '%s', '%s')" % (path, json.dumps(way)))
            if got != expected:
                faults.append("%s: %s, not %s" % (way, got, expected))
        if faults:
            self.failed += 1
            print("case %d (chunks of %d):\n  %s" % (number, self.chunk, "\n  ".join(x[:1500] for x in faults)))
            if self.options.case is not None:
                print(self.table + ";\n".join(steps))
        else:
            self.passed += 1

    def summary(self):
        return ["%d cases with an error" % self.errors]


if __name__ == "__main__":
    main(Checker, __doc__)
