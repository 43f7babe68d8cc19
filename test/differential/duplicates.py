#!/usr/bin/env python3
"""Compares loads under on_duplicate = keep_old and keep_new with SQL, row by row.

Makes a table with one to four unique indexes of all shapes (several columns,
expressions, partial ones, NULLS NOT DISTINCT, INCLUDE, collations, values that look different but are
equal), other indexes, sometimes a foreign key, rows in it, and a file with many duplicates.

The oracle takes the file's rows one by one: keep_old is INSERT ... ON CONFLICT DO NOTHING, keep_new
deletes all rows that have a key of the new one, index by index, then inserts it.  Rows
without a referenced one are no part of it.  Rows, counters, the reject table
(lines, reasons, replaced rows) and the reject file must be the same, in chunks of all sizes, by the direct
writer with and without workers and by the buffered one, and each index must pass bt_index_parent_check.

The server is the one that PGHOST, PGPORT and so on name, on this machine and
with pgbulk and amcheck installed.

usage: duplicates.py [--cases N] [--seconds N] [--seed N] [--writer NAME] [--case N]
"""

import json
import os
import random
import sys

from case_checker import CaseChecker, main

CHUNKS = [16, 64, 100, 1000, 4096, 65536]
# A column's type, and a value's text.
TYPES = [("int", str), ("bigint", str), ("smallint", str), ("text", lambda i: "value %d" % i), ("text", lambda i: ("Value %d" if i % 2 else "vALUE %d") % (i // 2)), ("numeric", lambda i: "%d.%s" % (i // 3, "0" * (i % 3 + 1))),
         ("varchar(20)", lambda i: "v" * (i % 7) + str(i)), ("date", lambda i: "2024-%02d-%02d" % (1 + i % 12, 1 + i // 12 % 28)), ("uuid", lambda i: "00000000-0000-0000-0000-%012d" % i), ("bool", lambda i: "ft"[i % 2]),
         ("float8", lambda i: "0" if i == 0 else "-0" if i == 1 else "%d.5" % i), ("text COLLATE insensitive", lambda i: ("Key %d" if i % 2 else "kEY %d") % (i // 2)), ("int4range", lambda i: '"[%d,%d)"' % (i, i + 3))]


class Unique:
    """A unique index: expressions with {} before each column's name, a predicate, and how keys are compared."""

    def __init__(self, case, number):
        r = case.random
        self.name = "u%d" % number
        self.nulls = case.version >= 150000 and r.random() < 0.25
        # for partitioned tables the key must have the column that rows are told apart by
        names = r.sample(range(len(case.types)), min(len(case.types), r.choice([1, 1, 1, 2, 2, 3])))
        if case.partitioned and 0 not in names:
            names[0] = 0
        self.keys = []
        for i in names:
            kind = case.types[i][0].split()[0]
            key = "{}c%d" % i
            if kind in ("text", "varchar(20)") and r.random() < 0.3 and not case.partitioned:
                key = "lower({}c%d)" % i
            elif kind in ("int", "bigint") and r.random() < 0.3 and not case.partitioned:
                key = "({}c%d %% 17)" % i
            self.keys.append(key)
        self.predicate = r.choice([None, None, None, "{}n % 3 > 0", "{}c0 IS NOT NULL"])
        self.exclude = not case.partitioned and self.predicate is None and len(self.keys) == 1 and case.types[names[0]][0] == "int4range" and r.random() < 0.7
        self.include = not self.exclude and r.random() < 0.15
        self.order = [r.choice(["", "", " DESC", " NULLS FIRST"]) for _ in self.keys]

    def create(self):
        if self.exclude:
            return "ALTER TABLE t ADD CONSTRAINT %s EXCLUDE USING gist (%s WITH &&)" % (self.name, self.keys[0].format(""))
        keys = ", ".join(k.format("") + o for k, o in zip(self.keys, self.order))
        return "CREATE UNIQUE INDEX %s ON t (%s)%s%s%s" % (self.name, keys, " INCLUDE (n)" if self.include else "", " NULLS NOT DISTINCT" if self.nulls else "",
                                                          " WHERE " + self.predicate.format("") if self.predicate else "")

    def conflict(self):
        """Whether row o of the table and the new row s have the same key."""
        operator = " && " if self.exclude else " IS NOT DISTINCT FROM " if self.nulls else " = "
        same = ["%s%s%s" % (k.format("o."), operator, k.format("s.")) for k in self.keys]
        if self.predicate:
            same += [self.predicate.format("o."), self.predicate.format("s.")]
        return "(" + " AND ".join(same) + ")"


class Case:
    def __init__(self, seed, number, version):
        r = self.random = random.Random("%s/%d" % (seed, number))
        self.version = version
        self.partitioned = r.random() < 0.3
        self.types = [r.choice(TYPES) for _ in range(r.choice([1, 2, 3]))]
        while self.partitioned and (self.types[0][0].split()[0] in ("float8", "int4range", "bool") or "COLLATE" in self.types[0][0]):
            self.types[0] = r.choice(TYPES)
        self.nrows = r.choice([3, 30, 300, 1500])
        self.nold = r.choice([0, 0, 5, 100, 1000])
        self.domain = r.choice([3, 50, 1000, 20000])
        self.nulls = r.choice([0, 0, 0.1])
        self.unique = [Unique(self, i) for i in range(r.choice([1, 1, 2, 2, 3, 4]))]
        self.excludes = any(u.exclude for u in self.unique)
        self.key = r.random() < 0.2
        self.orphans = r.choice([0, 0.01, 0.2]) if self.key else 0
        self.policy = r.choice(["keep_old", "keep_new"])
        # rows that are replaced are shown as they were in their leaf
        self.shuffled = self.policy == "keep_old" and r.random() < 0.7
        self.workers = r.choice([0, 1, 2])
        # what the visibility map knows, and how many rows are settled together
        self.vacuum = r.random() < 0.5
        self.memory = r.choice(["1MB", "64MB"])
        self.columns = ["n"] + ["c%d" % i for i in range(len(self.types))] + ["f", "filler"]
        self.old = [self.values(i) for i in range(1, self.nold + 1)]
        self.rows = [self.values(self.nold + i) for i in range(1, self.nrows + 1)]
        if r.random() < 0.1:
            self.rows = list(self.old)[:self.nrows] or self.rows

    def values(self, n):
        r = self.random
        fields = [str(n)]
        for name, text in self.types:
            fields.append("" if r.random() < self.nulls else text(r.randrange(self.domain)))
        fields.append("999" if self.key and r.random() < self.orphans else str(r.randrange(5)))
        fields.append(r.choice(["", "x" * r.randrange(90), '"two\nlines"', '"a ""quote"""']))
        return ",".join(fields)

    def setup(self):
        lines = ["n int"] + ["c%d %s" % (i, t[0]) for i, t in enumerate(self.types)] + ["f int" + (" REFERENCES r" if self.key else ""), "filler text"]
        out = ["CREATE TABLE r (id int PRIMARY KEY)", "INSERT INTO r SELECT generate_series(0, 4)",
               "CREATE TABLE t (%s)%s" % (", ".join(lines), " PARTITION BY HASH (c0)" if self.partitioned else "")]
        if self.partitioned:
            out += ["CREATE TABLE t%d PARTITION OF t FOR VALUES WITH (modulus 3, remainder %d)" % (i, i) for i in range(2)]
            # one whose rows are laid out otherwise
            if self.shuffled:
                out += ["CREATE TABLE t2 (gone int, %s)" % ", ".join(c for c in self.random.sample([lines[0]] + [x.replace(" REFERENCES r", "") for x in lines[1:]], len(lines))), "ALTER TABLE t2 DROP gone",
                        "ALTER TABLE t ATTACH PARTITION t2 FOR VALUES WITH (modulus 3, remainder 2)"]
            else:
                out.append("CREATE TABLE t2 PARTITION OF t FOR VALUES WITH (modulus 3, remainder 2)")
        out += [u.create() for u in self.unique]
        if self.random.random() < 0.5:
            out.append("CREATE INDEX other ON t (%s)" % self.random.choice(self.columns[:-1]))
        return out

    def oracle(self):
        """A function that plays the load on table o, whose rows know their lines, and writes down what becomes of each."""
        columns = ", ".join(self.columns)
        # o has indexes of its own for what is deleted one by one
        if self.policy == "keep_old":
            body = "INSERT INTO o (line, %s) SELECT s.line, %s WHERE NOT EXISTS (SELECT FROM o WHERE %s);\n GET DIAGNOSTICS done = ROW_COUNT;\n IF done = 0 THEN INSERT INTO fate VALUES (s.line, 'duplicate', NULL); END IF;" % (
                columns, ", ".join("s." + c for c in self.columns), " OR ".join(u.conflict() for u in self.unique))
        else:
            body = "".join("FOR gone IN DELETE FROM o WHERE %s RETURNING * LOOP\n  IF gone.line IS NULL THEN INSERT INTO fate SELECT s.line, 'replaced', r::text FROM (SELECT %s) r; ELSE INSERT INTO fate VALUES (gone.line, 'duplicate', NULL); END IF;\n END LOOP;\n " % (
                u.conflict(), ", ".join("gone." + c for c in self.columns)) for u in self.unique)
            body += "INSERT INTO o (line, %s) SELECT s.line, %s;" % (columns, ", ".join("s." + c for c in self.columns))
        return "DO $$DECLARE s record; gone record; done bigint; BEGIN\nFOR s IN SELECT * FROM staged ORDER BY line LOOP\n %s\nEND LOOP; END$$" % body


class Checker(CaseChecker):
    name = "duplicates"
    mode = 0o777                # the server writes there, too

    def open(self):
        self.chunk = 1000
        self.skipped = 0
        self.version = int(self.sql("SHOW server_version_num")[0])

    def check(self, number):
        case = Case(self.options.seed, number, self.version)
        self.chunk = case.random.choice(CHUNKS)
        old = self.write("old.csv", case.old)
        path = self.write("case.csv", case.rows)
        lines = [1]
        for row in case.rows:
            lines.append(lines[-1] + row.count("\n") + 1)
        setup = case.setup()
        columns = ", ".join(case.columns)
        faults = []

        out, err = self.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION pgbulk; CREATE EXTENSION amcheck;\n"
                            "CREATE COLLATION insensitive (provider = icu, locale = 'und-u-ks-level2', deterministic = false);\n" + ";\n".join(setup) + ";\n")
        if err:
            # an operator class may be lacking
            if "ERROR:  42704" in err or "0A000" in err or "42P17" in err:
                self.skipped += 1
                return
            sys.exit("case %d: %s" % (number, err))
        # what stands in the table, with dead rows and HOT chains among it
        self.must(number, "CREATE TABLE staged AS SELECT NULL::bigint AS line, * FROM t WITH NO DATA; ALTER TABLE staged ADD place serial;\n"
                          "COPY staged (%s) FROM '%s' (FORMAT csv);\n"
                          "INSERT INTO t (%s) SELECT %s FROM staged WHERE f < 5 ORDER BY place ON CONFLICT DO NOTHING;\n"
                          "UPDATE t SET filler = 'updated' WHERE n %% 10 = 3; DELETE FROM t WHERE n %% 10 = 7; TRUNCATE staged RESTART IDENTITY;\n"
                          "CREATE TABLE o AS SELECT NULL::bigint AS line, * FROM t; CREATE TABLE before AS SELECT * FROM t;\n"
                          "CREATE TABLE fate (line bigint, what text, gone text);\n"
                          "COPY staged (%s) FROM '%s' (FORMAT csv); CREATE TABLE lines (place int, line bigint); INSERT INTO lines VALUES %s;\n"
                          "UPDATE staged s SET line = l.line FROM lines l WHERE l.place = s.place; DELETE FROM staged WHERE f > 4;\n"
                  % (columns, old, columns, columns, columns, path, ", ".join("(%d, %d)" % (i + 1, lines[i]) for i in range(case.nrows if len(case.rows) == case.nrows else len(case.rows)))))
        self.must(number, "%s\n%s;\n" % ("".join("CREATE INDEX ON o (%s);\n" % ", ".join(k.format("") for k in u.keys) for u in case.unique if not u.exclude), case.oracle()))
        if case.vacuum:
            self.must(number, "VACUUM t;")
        dump = "SELECT count(*), md5(string_agg(r, ',' ORDER BY r COLLATE \"C\")) FROM (SELECT x::text AS r FROM (SELECT %s FROM %%s) x) y;" % columns
        expected = self.must(number, dump % "o")
        duplicate = [int(x) for x in self.must(number, "SELECT line FROM fate WHERE what = 'duplicate' ORDER BY line;").split()]
        replaced = sorted(self.must(number, "SELECT line || ':' || replace(gone, E'\\n', '/') FROM fate WHERE what = 'replaced';").splitlines())
        nstaged = int(self.must(number, "SELECT count(*) FROM staged;"))
        counters = "%d|%d|%d|%d|%d" % (nstaged - len(duplicate), len(case.rows) - nstaged, len(duplicate), len(replaced), len(case.rows))
        index = dict((line, i) for i, line in enumerate(lines))
        orphans = set(int(x) for x in self.must(number, "SELECT line FROM lines WHERE line NOT IN (SELECT line FROM staged);").split())

        ways = [{"writer": "buffered"}]
        if not case.excludes:
            ways += [{"writer": "direct", "workers": 0}, {"writer": "direct", "workers": case.workers}, {"writer": "direct", "indexes": "merge", "workers": case.workers},
                     {"writer": "direct", "indexes": "insert", "workers": case.workers}]
        if self.options.writer:
            ways = [way for way in ways if way["writer"] == self.options.writer]
        for way in ways:
            options = dict(way, on_duplicate=case.policy, reject_table="rejected", log_verbosity="silent", reject_file=path + ".bad")
            if case.key or case.random.random() < 0.3:
                options["on_error"] = "ignore"
            # the rows of before lie as they did: dead ones and HOT chains included
            out, err = self.sql("SET maintenance_work_mem = '%s';\n" % case.memory + "BEGIN; DROP TABLE IF EXISTS rejected; SELECT rows_loaded, rows_rejected, rows_duplicate, rows_replaced, rows_read FROM bulk_load('t', '%s', '%s');\n" % (path, json.dumps(options))
                                + dump % "t" + "\nSELECT 'd', line_number FROM rejected WHERE reason = 'duplicate';\n"
                                "SELECT 'r', line_number || ':' || replace(raw_line, E'\\n', '/') FROM rejected WHERE reason = 'replaced';\n"
                                "SELECT count(bt_index_parent_check(c.oid, true, true)) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class r ON r.oid = i.indrelid"
                                " WHERE r.relname ~ '^t[0-9]*$' AND c.relkind = 'i' AND c.relam = 403 \\g /dev/null\nROLLBACK;")
            got = out.splitlines()
            if err or not got:
                faults.append("%s: %s" % (options, err))
                continue
            if got[0] != counters:
                faults.append("%s: counters are %s, not %s" % (options, got[0], counters))
            if got[1] != expected.strip():
                faults.append("%s: rows are %s, not %s" % (options, got[1], expected.strip()))
            if sorted(int(x[2:]) for x in got if x.startswith("d|")) != duplicate:
                faults.append("%s: duplicates are %s, not %s" % (options, [x for x in got if x.startswith("d|")], duplicate))
            if sorted(x[2:] for x in got if x.startswith("r|")) != replaced:
                faults.append("%s: replaced are %s, not %s" % (options, [x for x in got if x.startswith("r|")], replaced))
            with open(path + ".bad") as f:
                bad = f.read()
            wanted = [case.rows[index[line]] + "\n" for line in sorted(orphans | set(duplicate))]
            if way["writer"] == "direct" and bad != "".join(wanted):
                faults.append("%s: another reject file" % options)
            if len(bad) != len("".join(wanted)):
                faults.append("%s: a reject file of %d bytes, not %d" % (options, len(bad), len("".join(wanted))))
        if faults:
            self.failed += 1
            print("case %d (chunks of %d):\n  %s" % (number, self.chunk, "\n  ".join(x[:1500] for x in faults)))
            if self.options.case is not None:
                print(";\n".join(setup) + ";\n" + case.oracle())
        else:
            self.passed += 1

    def summary(self):
        return ["%d skipped" % self.skipped]


if __name__ == "__main__":
    main(Checker, __doc__, [("--writer", "this one only")])
