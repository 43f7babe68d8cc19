#!/usr/bin/env python3
"""Compares loads that merge rows (on_duplicate with an object) with INSERT ... ON CONFLICT and MERGE, row by row.

Makes a table, plain or partitioned, with a key of one or two columns of many types, other indexes of all kinds,
sometimes a CHECK, a generated column and triggers, rows in it, and a file in which keys come several times.  The
oracle takes the file's rows one by one: INSERT ... ON CONFLICT DO UPDATE SET ... WHERE, or DELETE where the row says
so, or MERGE statements that are to do the same; what violates the CHECK is left out.  Rows, counters and rejected
lines must be the same, in chunks of all sizes, with and without workers, with memory for few rows at a time or for
all; each btree must pass bt_index_parent_check, and each other index find the rows that a scan of the table finds.
Where nobody can tell the difference rows must have been merged by the batch.

The server is the one that PGHOST, PGPORT and so on name, on this machine and
with pgbulk and amcheck installed.

usage: merges.py [--cases N] [--seconds N] [--seed N] [--case N] [--rows N]
"""

import hashlib
import json
import os
import random
import re

from case_checker import CaseChecker, main

CHUNKS = [16, 64, 100, 1000, 4096, 65536]
# A column's type, and a value's text.
TYPES = [("int", str), ("bigint", str), ("text", lambda i: "value %d" % i), ("text", lambda i: ("Value %d" if i % 2 else "vALUE %d") % (i // 2)), ("numeric", lambda i: "%d.%s" % (i // 3, "0" * (i % 3 + 1))),
         ("varchar(20)", lambda i: "v" * (i % 7) + str(i)), ("date", lambda i: "2024-%02d-%02d" % (1 + i % 12, 1 + i // 12 % 28)), ("uuid", lambda i: "00000000-0000-0000-0000-%012d" % i),
         ("text COLLATE insensitive", lambda i: ("Key %d" if i % 2 else "kEY %d") % (i // 2))]
SETS = ["all", ["hits", "name"], ["k0", "hits"], {"hits": "old.hits + new.hits"}, {"hits": "coalesce(old.hits, 0) + 1", "name": "old.name || '/' || new.name"}, {"name": "CASE WHEN new.hits > old.hits THEN new.name END"},
        {"n": "greatest(old.n, new.n)", "k0": "new.k0", "name": "new.name"}, None]
WHERES = [None, None, "new.n > old.n", "new.hits IS DISTINCT FROM old.hits", "old.name < new.name", "old.doubled > 10"]
DELETES = [None, None, "new.op = 'd'", "new.hits % 5 = 0 AND new.op <> 'i'"]
# Indexes, and a condition that each can find.
INDEXES = [("(hits)", "hits > 1"), ("USING brin (n)", "n BETWEEN 10 AND 500"), ("USING hash (name)", "name = 'a'"), ("(lower(name)) WHERE hits > 3", "hits > 3 AND lower(name) >= 'b'"), ("(n) INCLUDE (op)", "n < 700"),
           ("USING gin (string_to_array(name, '/'))", "string_to_array(name, '/') @> '{a}'"), ("USING gist (point(n, hits))", "point(n, hits) <@ box '(0,0),(900,5)'"), ("USING spgist (name)", "name = 'bb'"),
           ("USING brin (hits, n)", "hits = 2")]


class Case:
    def __init__(self, seed, number, rows):
        r = self.random = random.Random("%s/%d" % (seed, number))
        self.partitioned = r.random() < 0.3
        self.types = [r.choice(TYPES) for _ in range(r.choice([1, 1, 2]))]
        while self.partitioned and "COLLATE" in self.types[0][0]:
            self.types[0] = r.choice(TYPES)
        self.nkeys = len(self.types)
        self.primary = r.random() < 0.5
        self.nulls = 0 if self.primary else r.choice([0, 0.1])
        self.nrows = r.choice([3, 30, 300, 1500, 4000])
        self.nold = r.choice([0, 5, 100, 1000, 3000])
        self.domain = r.choice([3, 50, 1000, 20000])
        self.memory = r.choice(["1MB", "1MB", "2MB", "64MB"])
        self.workers = r.choice([0, 0, 2])
        self.wide = r.choice([90, 90, 3000])
        self.check = r.random() < 0.3
        self.trigger = r.random() < 0.3
        self.fillfactor = r.choice([20, 60, 100])
        self.indexes = r.sample(INDEXES, r.choice([0, 1, 2, 3]))
        self.set = r.choice(SETS)
        self.where = r.choice(WHERES)
        self.delete = r.choice(DELETES)
        if self.set is None and self.delete is None:
            self.delete = DELETES[2]
        if self.partitioned and self.set is not None and "k0" in self.set:
            self.set = "all"
        self.by_merge = r.random() < 0.4
        if rows:
            self.nrows, self.nold, self.domain = rows, rows, r.choice([rows // 3, 2 * rows])
        self.columns = ["n"] + ["k%d" % i for i in range(self.nkeys)] + ["hits", "name", "op"]
        self.old = [self.values(i) for i in range(1, self.nold + 1)]
        self.rows = [self.values(self.nold + i if r.random() < 0.8 else i) for i in range(1, self.nrows + 1)]

    def values(self, n):
        r = self.random
        fields = [str(n)] + ["" if r.random() < self.nulls else text(r.randrange(self.domain)) for _, text in self.types]
        return ",".join(fields + [r.choice(["", "0", "1", "2", "5", "7", "40"]), r.choice(["", "a", "bb", "x" * r.randrange(self.wide), '"two\nlines"']), r.choice("iud")])

    def batched(self):
        """Whether rows must be merged by the batch: of triggers it is said, few rows are not worth it, and partitions may have few."""
        return not self.trigger and not self.partitioned and self.nrows >= 300

    def key(self):
        return ", ".join("k%d" % i for i in range(self.nkeys))

    def table(self, name):
        columns = ["n int"] + ["k%d %s" % (i, t[0]) for i, t in enumerate(self.types)] + ["hits int", "name text", "op text", "doubled int GENERATED ALWAYS AS (hits * 2) STORED"]
        if self.check:
            columns.append("CHECK (hits < 60)")
        out = ["CREATE TABLE %s (%s)%s" % (name, ", ".join(columns), " PARTITION BY HASH (k0)" if self.partitioned else " WITH (fillfactor = %d)" % self.fillfactor)]
        if self.partitioned:
            out += ["CREATE TABLE {0}0 PARTITION OF {0} FOR VALUES WITH (modulus 2, remainder 0)".format(name),
                    # one whose rows are laid out otherwise
                    "CREATE TABLE %s1 (gone int, name text, hits int, doubled int GENERATED ALWAYS AS (hits * 2) STORED, %s, n int, op text%s)" % (name, ", ".join("k%d %s" % (i, t[0]) for i, t in reversed(list(enumerate(self.types)))), ", CONSTRAINT %s_hits_check CHECK (hits < 60)" % name if self.check else ""),
                    "ALTER TABLE %s1 DROP gone" % name, "ALTER TABLE {0} ATTACH PARTITION {0}1 FOR VALUES WITH (modulus 2, remainder 1)".format(name)]
        out.append(("ALTER TABLE %s ADD PRIMARY KEY (%s)" if self.primary else "CREATE UNIQUE INDEX ON %s (%s)") % (name, self.key()))
        out += ["CREATE INDEX ON %s %s" % (name, definition) for definition, _ in self.indexes]
        return out

    def triggers(self, name):
        if not self.trigger:
            return []
        return ["CREATE TRIGGER changed BEFORE UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION change()" % name,
                "CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION note('%s')" % (name, name)]

    def setup(self):
        return ["CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.hits = 7 THEN RETURN NULL; END IF; NEW.name := NEW.name || '!'; RETURN NEW; END $$",
                "CREATE TABLE notes (seq serial, what text, op text, old text, new text)",
                "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO notes (what, op, old, new) VALUES (TG_ARGV[0], TG_OP, CASE WHEN TG_OP <> 'INSERT' THEN row_to_json(OLD)::jsonb::text END, CASE WHEN TG_OP <> 'DELETE' THEN row_to_json(NEW)::jsonb::text END); RETURN NULL; END $$"
                ] + self.table("t") + self.table("o")

    def option(self):
        option = {"key": ["k%d" % i for i in range(self.nkeys)]}
        for name in ("set", "where", "delete"):
            if getattr(self, name) is not None:
                option[name] = getattr(self, name)
        return option

    def oracle(self):
        """A function that merges the staged rows into o, and returns the counters."""
        columns = ", ".join(self.columns)

        def sql(expression):
            return re.sub(r"\bnew\.", "excluded.", expression)

        if self.set == "all":
            assignments = ["%s = excluded.%s" % (c, c) for c in self.columns]
        elif isinstance(self.set, dict):
            assignments = ["%s = %s" % (c, sql(e)) for c, e in self.set.items()]
        else:
            assignments = ["%s = excluded.%s" % (c, c) for c in self.set or []]
        same = " AND ".join("old.k%d = new.k%d" % (i, i) for i in range(self.nkeys))
        where = self.where or "true"
        values = ", ".join("new." + c for c in self.columns)
        if self.by_merge:
            remove = "MERGE INTO o AS old USING (SELECT 1) AS one ON %s WHEN MATCHED AND (%s) THEN DELETE" % (same, where)
            put = "MERGE INTO o AS old USING (SELECT %s) AS excluded ON %s %s WHEN NOT MATCHED THEN INSERT (%s) VALUES (%s)" % (
                values, sql(same), "WHEN MATCHED AND (%s) THEN UPDATE SET %s" % (sql(where), ", ".join(assignments)) if assignments else "",
                columns, ", ".join("excluded." + c for c in self.columns))
        else:
            remove = "DELETE FROM o old WHERE %s AND (%s)" % (same, where)
            put = "INSERT INTO o AS old (%s) VALUES (%s) ON CONFLICT (%s) %s" % (
                columns, values, self.key(), "DO UPDATE SET %s WHERE %s" % (", ".join(assignments), sql(where)) if assignments else "DO NOTHING")
        return """CREATE FUNCTION merge() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	new staged;
	inserted bool;
	there bool;
	n int;
	counts int[] := '{0,0,0,0,0,0}';
BEGIN
	FOR new IN SELECT * FROM staged ORDER BY place LOOP
		SELECT count(*) > 0 INTO there FROM o old WHERE %s;
		IF %s THEN
			%s;
			GET DIAGNOSTICS n = ROW_COUNT;
			IF n > 0 THEN counts[3] := counts[3] + 1; ELSIF there THEN counts[4] := counts[4] + 1; INSERT INTO bad VALUES (new.place, 'duplicate'); ELSE counts[5] := counts[5] + 1; END IF;
			CONTINUE;
		END IF;
		BEGIN
			%s;
			GET DIAGNOSTICS n = ROW_COUNT;
			IF n = 0 AND (%s) AND %s THEN
				counts[5] := counts[5] + 1; -- a trigger has suppressed it
			ELSIF n = 0 THEN
				counts[4] := counts[4] + 1;
				INSERT INTO bad VALUES (new.place, 'duplicate');
			ELSE
				counts[1] := counts[1] + 1;
				counts[2] := counts[2] + there::int;
			END IF;
		EXCEPTION WHEN check_violation THEN
			counts[6] := counts[6] + 1;
			INSERT INTO bad VALUES (new.place, 'constraint');
		END;
	END LOOP;
	RETURN array_to_string(counts, '|');
END $$""" % (same, self.delete or "false", remove, put, "SELECT %s FROM o old WHERE %s" % (where, same), "true" if assignments else "false")


class Checker(CaseChecker):
    name = "merges"
    in_batches = 0              # rows that were merged so

    def summary(self):
        return ["%d rows were merged by the batch" % self.in_batches]

    def check(self, number):
        case = Case(self.options.seed, number, int(self.options.rows or 0))
        self.chunk = case.random.choice(CHUNKS)
        old = self.write("old.csv", case.old)
        path = self.write("case.csv", case.rows)
        columns = ", ".join(case.columns)
        self.must(number, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION pgbulk; CREATE EXTENSION amcheck;\n"
                          "CREATE COLLATION insensitive (provider = icu, locale = 'und-u-ks-level2', deterministic = false);\n" + ";\n".join(case.setup()) + ";\n"
                          "CREATE TABLE staged AS SELECT * FROM t WITH NO DATA; ALTER TABLE staged DROP doubled; ALTER TABLE staged ADD place serial; CREATE TABLE bad (place int, why text);\n"
                          "COPY staged (%s) FROM '%s' (FORMAT csv);\n" % (columns, old) +
                          "".join("INSERT INTO %s (%s) SELECT %s FROM staged WHERE coalesce(hits, 0) < 60 ORDER BY place ON CONFLICT DO NOTHING; UPDATE %s SET name = 'updated' WHERE n %% 10 = 3; DELETE FROM %s WHERE n %% 10 = 7;\n"
                                  % (name, columns, columns, name, name) for name in "to") +
                          "TRUNCATE staged RESTART IDENTITY; COPY staged (%s) FROM '%s' (FORMAT csv);\n" % (columns, path) +
                          ";\n".join(case.triggers("t") + case.triggers("o") + [case.oracle()]) + ";\n")
        counters = self.must(number, "SELECT merge();").strip()
        dump = "SELECT count(*), md5(string_agg(r, ',' ORDER BY r COLLATE \"C\")) FROM (SELECT x::text AS r FROM (SELECT %s, doubled FROM %%s) x) y;" % columns
        expected = self.must(number, dump % "o").strip()
        noted = "SELECT md5(string_agg(concat_ws('|', op, old, new), E'\\n' ORDER BY %s)) FROM notes WHERE what = '%%s';" % ("seq" if not case.partitioned else "op, old, new")
        wanted = self.must(number, noted % "o").strip()
        lines = [1]
        for row in case.rows:
            lines.append(lines[-1] + row.count("\n") + 1)
        bad = []
        for line in self.must(number, "SELECT place, why FROM bad ORDER BY 1;").split():
            place, why = line.split("|")
            bad.append("b|%d|%s|%s" % (lines[int(place) - 1], why, hashlib.md5(case.rows[int(place) - 1].encode()).hexdigest()))
        options = {"columns": case.columns, "on_duplicate": case.option(), "on_error": "ignore" if case.check else "stop", "reject_table": "rejected", "workers": case.workers, "log_verbosity": "silent"}
        out, err = self.sql("SET maintenance_work_mem = '%s';\n" % case.memory + "SELECT concat_ws('|', rows_loaded, rows_replaced, rows_deleted, rows_duplicate, rows_filtered, rows_rejected), coalesce(details ->> 'merged_in_batches', '0') FROM bulk_load('t', '%s', '%s');\n" % (path, json.dumps(options).replace("'", "''")) +
                            dump % "t" + "\n" + noted % "t" + "\nSELECT 'b', line_number, reason, md5(raw_line) FROM rejected ORDER BY 2;\n"
                            "SELECT count(bt_index_parent_check(c.oid, true, true)) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class r ON r.oid = i.indrelid"
                            " WHERE r.relname ~ '^t[0-9]*$' AND c.relkind = 'i' AND c.relam = 403 \\g /dev/null\n" +
                            "".join("SELECT 'i', count(*), sum(n) FROM t WHERE {0};\nSET enable_seqscan = off; SET enable_indexscan = off; SELECT 'i', count(*), sum(n) FROM t WHERE {0}; RESET enable_seqscan; RESET enable_indexscan;\n".format(condition)
                                    for _, condition in case.indexes))
        faults = []
        got = out.split("\n")
        if err or len(got) < 3:
            faults.append(err)
        else:
            *counted, in_batches = got[0].split("|")
            if "|".join(counted) != counters:
                faults.append("counters are %s, not %s" % (got[0], counters))
            self.in_batches += int(in_batches)
            if case.batched() != (in_batches != "0") and (case.batched() or case.trigger):
                faults.append("%s rows were merged by the batch" % in_batches)
            if got[1] != expected:
                faults.append("rows are %s, not %s" % (got[1], expected))
            if got[2] != wanted:
                faults.append("triggers saw something else")
            found = [x for x in got if x.startswith("i|")]
            if found[::2] != found[1::2] or len(found) != 2 * len(case.indexes):
                faults.append("indexes find other rows: %s" % found)
            rejected = [x for x in got if x.startswith("b|")]
            if rejected != bad:
                faults.append("rejected are %s, not %s" % ([x for x in rejected if x not in bad], [x for x in bad if x not in rejected]))
        if faults:
            self.failed += 1
            print("case %d (chunks of %d, %s, %d workers), %s:\n  %s" % (number, self.chunk, case.memory, case.workers, json.dumps(case.option()), "\n  ".join(x[:1500] for x in faults)))
        else:
            self.passed += 1


if __name__ == "__main__":
    main(Checker, __doc__, [("--rows", "so many rows in each table and file")])
