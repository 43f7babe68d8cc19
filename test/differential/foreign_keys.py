#!/usr/bin/env python3
"""Compares loads into tables with foreign keys with what COPY and SQL say.

Makes referenced tables, one to load with one to three foreign keys of all
shapes (several columns, MATCH FULL, other types, partitions on either side, the
table itself) and a file with some rows that refer to nothing.

Under on_error = stop the outcome must be COPY's: the rows, or the error's
SQLSTATE, message and DETAIL, and the line must be that of the first bad one.  Under
on_error = ignore it must be what a query says that takes rows without a
referenced one away until there are no more: the rows, and the rejects with
their lines, in the order of the file.  Each by the direct writer with and
without workers and by the buffered one, in chunks of all sizes.

The server is the one that PGHOST, PGPORT and so on name, on this machine and
with pgbulk installed.

usage: foreign_keys.py [--cases N] [--seconds N] [--seed N] [--case N]
"""

import json
import os
import random
import sys

from case_checker import CaseChecker, main

CHUNKS = [16, 64, 100, 1000, 4096, 65536]
# Types of a referenced column and of one that refers to it, and a value's text.
TYPES = [("int", "int", str), ("bigint", "int", str), ("int", "smallint", str), ("numeric", "int", str), ("text", "varchar(30)", lambda i: "key %d" % i),
         ("varchar", "text", lambda i: "k" * (i % 30) + str(i)), ("text", "text", lambda i: '"%s, %d"' % ("Key" if i % 2 else "kéy", i)), ("date", "date", lambda i: "2024-%02d-%02d" % (1 + i % 12, 1 + i // 12 % 28)),
         ("uuid", "uuid", lambda i: "00000000-0000-0000-0000-%012d" % i), ("float8", "float8", lambda i: "%d.5" % i), ("numeric", "numeric", lambda i: "%d.%s" % (i, "0" * (1 + i % 3)))]


class Case:
    def __init__(self, seed, number):
        r = self.random = random.Random("%s/%d" % (seed, number))
        self.setup = []
        self.keys = []				# name, columns, referenced table and columns, full
        self.columns = [("n", "int")]
        self.makers = []			# of the columns' texts
        self.nkeys = r.choice([1, 1, 2, 3])
        self.nrows = r.choice([5, 50, 300, 1500])
        self.bad = r.choice([0, 0, 0.002, 0.02, 0.3])
        self.self_key = r.random() < 0.25
        self.partitioned = not self.self_key and r.random() < 0.3
        for k in range(self.nkeys):
            self.add_key(k)
        if self.self_key:
            self.add_self_key()
        self.columns.append(("filler", "text"))
        self.create()
        self.rows = [self.row(i) for i in range(1, self.nrows + 1)]

    def add_key(self, k):
        r = self.random
        table = "r%d" % k
        ncolumns = r.choice([1, 1, 1, 2, 3])
        nvalues = r.choice([1, 10, 200])
        types = [r.choice(TYPES) for _ in range(ncolumns)]
        names = ["c%d" % i for i in range(ncolumns)]
        order = r.sample(names, ncolumns)
        parts = r.random() < 0.2
        self.setup.append("CREATE TABLE %s (%s, PRIMARY KEY (%s))%s" % (table, ", ".join("%s %s" % (n, t[0]) for n, t in zip(names, types)), ", ".join(order), " PARTITION BY HASH (c0)" if parts else ""))
        if parts:
            for i in range(2):
                self.setup.append("CREATE TABLE %s_%d PARTITION OF %s FOR VALUES WITH (modulus 2, remainder %d)" % (table, i, table, i))
        values = ["(%s)" % ", ".join("'%s'" % t[2](i).strip('"') for t in types) for i in range(nvalues)]
        self.setup.append("INSERT INTO %s VALUES %s ON CONFLICT DO NOTHING" % (table, ", ".join(values)))
        own = ["k%d_%d" % (k, i) for i in range(ncolumns)]
        full = r.random() < 0.4
        self.keys.append(("key%d" % k, own, table, names, full))
        for name, t in zip(own, types):
            self.columns.append((name, t[1]))
        nulls = r.choice([0, 0, 0.1])

        def make(i):
            if self.random.random() < nulls:
                if full and self.random.random() < 1 - self.bad:
                    return [""] * ncolumns
                return ["" if self.random.random() < 0.5 else t[2](0) for t in types]
            value = self.random.randrange(nvalues)
            if self.random.random() < self.bad:
                value += nvalues * self.random.choice([1, 2])
            return [t[2](value) for t in types]
        self.makers.append(make)

    def add_self_key(self):
        self.keys.append(("key_self", ["up"], "t", ["n"], False))
        self.columns.append(("up", "int"))

        def make(i):
            if self.random.random() < 0.3:
                return [""]
            up = self.random.randrange(1, self.nrows + 1)
            return [str(up + (self.nrows if self.random.random() < self.bad else 0))]
        self.makers.append(make)

    def create(self):
        lines = ["%s %s" % c for c in self.columns]
        if self.self_key:
            lines.append("PRIMARY KEY (n)")
        table = "CREATE TABLE t (%s)" % ", ".join(lines)
        if self.partitioned:
            self.setup.append(table + " PARTITION BY LIST ((n % 3))")
            for i in range(3):
                self.setup.append("CREATE TABLE t_%d PARTITION OF t FOR VALUES IN (%d)" % (i, i))
        else:
            self.setup.append(table)
        # in the order of the triggers' names, which is that of their OIDs as text
        for name, own, table, names, full in self.keys:
            self.setup.append("ALTER TABLE t ADD CONSTRAINT %s FOREIGN KEY (%s) REFERENCES %s (%s)%s" % (name, ", ".join(own), table, ", ".join(names), " MATCH FULL" if full else ""))
        self.setup.append("CREATE TABLE staged AS SELECT 0::bigint AS line, * FROM t WITH NO DATA")

    def row(self, i):
        fields = [str(i)]
        for make in self.makers:
            fields += make(i)
        filler = self.random.choice(["", "x" * self.random.randrange(90), '"two\nlines"', '"a ""quote"""'])
        return ",".join(fields + [filler])

    def good(self):
        """What a staged row must fulfil."""
        conditions = []
        for name, own, table, names, full in self.keys:
            found = "EXISTS (SELECT FROM %s r WHERE %s)" % ("staged" if table == "t" else table, " AND ".join("r.%s = s.%s" % (a, b) for a, b in zip(names, own)))
            nulls = ["s.%s IS NULL" % c for c in own]
            conditions.append("(%s OR %s)" % ((" AND " if full else " OR ").join(nulls), found if not full else "(%s AND %s)" % (" AND ".join("s.%s IS NOT NULL" % c for c in own), found)))
        return " AND ".join(conditions)


class Checker(CaseChecker):
    name = "foreign_keys"
    cases = 200
    mode = 0o777                # the server writes there, too

    @staticmethod
    def error(text):
        """SQLSTATE, message and detail."""
        lines = [line.split(":  ", 1)[-1] for line in text.split("\n") if line.startswith(("ERROR:", "DETAIL:"))]
        return "\n".join(lines)

    def check(self, number):
        case = Case(self.options.seed, number)
        path = os.path.join(self.folder, "case.csv")
        text = "".join(row + "\n" for row in case.rows)
        lines = [1]
        for row in case.rows:
            lines.append(lines[-1] + row.count("\n") + 1)
        with open(path, "w") as f:
            f.write(text)
        self.chunk = case.random.choice(CHUNKS)
        faults = []

        out, err = self.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION pgbulk;\n" + ";\n".join(case.setup) + ";")
        if err:
            sys.exit("case %d: %s" % (number, err))
        columns = ", ".join(c[0] for c in case.columns)
        out, err = self.sql("COPY staged (%s) FROM '%s' (FORMAT csv); UPDATE staged SET line = n; CREATE INDEX ON staged (n);\n"
                            "DO $$DECLARE gone bigint; BEGIN LOOP DELETE FROM staged s WHERE NOT (%s); GET DIAGNOSTICS gone = ROW_COUNT; EXIT WHEN gone = 0; END LOOP; END$$;\n"
                            "SELECT n FROM staged ORDER BY n; " % (columns, path, case.good()))
        if err:
            sys.exit("case %d: %s" % (number, err))
        kept = set(int(n) for n in out.split())
        lost = [n for n in range(1, case.nrows + 1) if n not in kept]
        _, copy_error = self.sql("COPY t FROM '%s' (FORMAT csv);" % path)
        copy_error = self.error(copy_error)
        if bool(copy_error) != bool(lost):
            sys.exit("case %d: COPY says \"%s\", the query has lost %d" % (number, copy_error, len(lost)))
        dump = "SELECT md5(string_agg(t::text, ',' ORDER BY n)), count(*) FROM t;"
        staged = "SELECT md5(string_agg(t::text, ',' ORDER BY n)), count(*) FROM (SELECT %s FROM staged) t;" % columns
        expected, _ = self.sql(staged)

        ways = [{"writer": "buffered"}, {"writer": "direct", "workers": 0}, {"writer": "direct", "workers": 2}]
        for way in ways:
            stop, err = self.sql("TRUNCATE t; SELECT rows_loaded FROM bulk_load('t', '%s', '%s');" % (path, json.dumps(way)))
            error = self.error(err)
            # COPY stores rows leaf by leaf, so another one may be its first
            if error[:5] != copy_error[:5] or (error != copy_error and not case.partitioned):
                faults.append("%s: error \"%s\" instead of \"%s\"" % (way, error, copy_error))
            elif copy_error and not case.self_key and ", line %d: " % lines[lost[0] - 1] not in err:
                faults.append("%s: not line %d in %s" % (way, lines[lost[0] - 1], err))
            elif not copy_error and stop.strip() != str(case.nrows):
                faults.append("%s: %s rows" % (way, stop))
            options = dict(way, on_error="ignore", reject_table="rejected", log_verbosity="silent", reject_file=path + ".bad")
            out, err = self.sql("TRUNCATE t; DROP TABLE IF EXISTS rejected; SELECT rows_loaded, rows_rejected FROM bulk_load('t', '%s', '%s');" % (path, json.dumps(options)))
            if out.strip() != "%d|%d" % (len(kept), len(lost)) or err:
                faults.append("%s: %s %s, not %d|%d" % (way, out, err, len(kept), len(lost)))
                continue
            out, _ = self.sql(dump)
            if out != expected:
                faults.append("%s: rows are %s, not %s" % (way, out, expected))
            out, _ = self.sql("SELECT string_agg(line_number::text, ' ' ORDER BY ctid) FROM rejected WHERE reason = 'foreign_key' AND sqlstate = '23503';")
            if out.split() != [str(lines[n - 1]) for n in lost] and len(lost) < 50:
                faults.append("%s: rejects are %s" % (way, out))
            with open(path + ".bad") as f:
                if f.read() != "".join(case.rows[n - 1] + "\n" for n in lost):
                    faults.append("%s: another reject file" % way)
        if faults:
            self.failed += 1
            print("case %d (chunks of %d):\n  %s" % (number, self.chunk, "\n  ".join(faults)))
            if self.options.case is not None:
                print(";\n".join(case.setup))
        else:
            self.passed += 1


if __name__ == "__main__":
    main(Checker, __doc__)
