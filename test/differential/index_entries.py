#!/usr/bin/env python3
"""Compares loads by the buffered writer, whose index entries go in by the leaf, with COPY, beside other sessions; and some by the direct one.

Makes a table, sometimes one with partitions, with two to five indexes of all shapes (several columns, expressions, partial ones, INCLUDE,
hash, GIN, BRIN, GiST, SP-GiST, pages that are nearly full or nearly empty, with deduplication and without), rows in it, of which some are deleted, vacuumed away
or not, and a file, sometimes with keys that are there already or come twice.

COPY loads the file into one such table, bulk_load into another, with little memory for index entries or much, sometimes while two
other sessions insert, delete, roll back and vacuum. Where an error is to come, its SQLSTATE, message and detail must be COPY's; the rows of the file
must be there or not as with COPY, each btree must pass bt_index_parent_check, each GIN index gin_index_check where the server has it, and by
indexes of other methods as many rows must be found for a key as have it.

The server is the one that PGHOST, PGPORT and so on name, on this machine and
with pgbulk and amcheck installed.

usage: index_entries.py [--cases N] [--seconds N] [--seed N] [--case N]
"""

import os
import random
import threading

from case_checker import CaseChecker, main

FILE = 1000000                  # ids of rows of the file are above that
OTHERS = 2000000                # and those of other sessions above that


class Column:
    """A column's type, and an expression for its values."""

    def __init__(self, r, number):
        self.name = "c%d" % number
        many = r.choice([2, 50, 3000, 1000000])
        self.type, value = r.choice([
            ("int", "(random() * %d)::int" % many), ("text", "'key ' || (random() * %d)::int" % many),
            ("text", "repeat(md5((random() * %d)::int::text), %d)" % (min(many, 3000), r.choice([1, 5, 20]))),
            ('text COLLATE "C"', "md5((random() * %d)::int::text)" % many),
            ("numeric", "(ARRAY[1.0, 1.00, 2, 2.0, 3.000])[1 + (random() * 4)::int] + (random() * %d)::int" % many),
            ("timestamptz", "timestamptz '2020-01-01 UTC' + (random() * %d)::int * interval '1 s'" % many), ("uuid", "gen_random_uuid()"),
            ("text COLLATE insensitive", "(ARRAY['a', 'A', 'b', 'B', 'ab', 'AB'])[1 + (random() * 5)::int] || (random() * %d)::int" % many)])
        self.value = "CASE WHEN random() < 0.2 THEN NULL ELSE %s END" % value if r.random() < 0.3 else value


class Case:
    def __init__(self, seed, number):
        r = self.random = random.Random("%s/%d" % (seed, number))
        self.columns = [Column(r, i) for i in range(r.choice([1, 2, 3, 4]))]
        self.partitions = r.choice([0, 0, 0, 2, 7])
        self.old, self.new = r.choice([0, 1, 50, 500, 3000]), r.choice([1100, 1500, 3000])
        self.deleted = r.choice([0, 0, 1, 2, 3, 10])
        self.vacuumed = self.deleted > 0 and r.random() < 0.5
        self.again = r.choice([0, 0, 0, 0.001, 0.01])
        # rows that are dead may share keys with those of the file
        self.first = 1 if self.deleted == 1 and r.random() < 0.7 else FILE + 1
        self.others = self.again == 0 and self.first > FILE and r.random() < 0.4
        self.memory = r.choice(["1MB", "1MB", "64MB"])
        self.options = '{"writer": "buffered"}'
        if self.again == 0 and self.first > FILE and not self.others and r.random() < 0.4:
            self.options = '{"writer": "direct", "indexes": "%s", "workers": %d}' % (r.choice(["insert", "rebuild", "auto"]), r.choice([0, 2]))
        self.arrays = []        # of GIN indexes
        self.keys = []          # of others: expression, condition, predicate of the index

    def rows(self, first, n):
        return "SELECT %d + g, %s FROM generate_series(0, %d) g" % (first, ", ".join(c.value for c in self.columns), n - 1)

    def index(self):
        r = self.random
        columns = r.sample(self.columns, r.randint(1, len(self.columns)))
        keys = [c.name for c in columns]
        order = ", ".join(key + r.choice(["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]) for key in keys)
        options = "WITH (fillfactor = %d, deduplicate_items = %s)" % (self.fill, r.choice(["on", "off"]))
        return r.choice(["INDEX ON {} (%s) %s" % (order, options)] * 4 + [
            "INDEX ON {} (%s) INCLUDE (id) %s" % (order, options), "INDEX ON {} (%s) %s WHERE id %% 3 = 0" % (order, options),
            "INDEX ON {} ((id %% 100), %s) %s" % (order, options), "UNIQUE INDEX ON {} (%s, id) %s" % (order, options),
            "INDEX ON {} USING hash (%s)" % keys[0]] + [self.gin(columns)] * 2 + [self.brin(keys), self.brin(keys), self.near()])

    def gin(self, columns):
        r = self.random
        array = lambda: "ARRAY[%s]" % ", ".join(
            (c.name + ("" if c.type.startswith("text") else "::text") for c in columns) if len({c.type for c in columns if "COLLATE" in c.type}) < 2 and
            all(c.type != "timestamptz" for c in columns) else ["id", "id %% %d" % r.choice([2, 10, 1000])])
        self.arrays.append(array())
        second = ", (%s)" % array() if r.random() < 0.3 else ""
        return "INDEX ON {} USING gin ((%s)%s) WITH (fastupdate = %s)" % (self.arrays[-1], second, r.choice(["on", "off"]))

    def brin(self, keys):
        r = self.random
        key, predicate = "id * %d" % r.randint(2, 9), r.choice(["true", "true", "id % 5 = 0"])
        self.keys.append((key, "%s = key", predicate))
        return "INDEX ON {} USING brin ((%s), %s) WITH (pages_per_range = %d, autosummarize = %s) WHERE %s" % (
            key, ", ".join(keys), r.choice([1, 2, 5, 128]), r.choice(["on", "off"]), predicate)

    def near(self):
        r = self.random
        method, factor, predicate = r.choice(["gist", "spgist"]), r.randint(2, 9), r.choice(["true", "true", "id % 3 = 0"])
        key, operators, condition = r.choice([
            ("point(id %% 100, id / %d)" % factor, "", "%s <@ box(key, key)"), ("box(point(id, %d), point(id + 3, id))" % factor, "", "%s && key"),
            ("int8range(id - id %% %d, id + 2)" % factor, "", "%s && key"), ("'::'::inet + id %% %d" % (factor * 1000), "inet_ops", "%s = key")])
        self.keys.append((key, condition, predicate))
        return "INDEX ON {} USING %s ((%s) %s) WHERE %s" % (method, key, operators, predicate)

    def searches(self):
        """Queries for keys that are not found as often by an index as they are there: none."""
        conditions = [("unnest(%s)" % array, "%s @> ARRAY[key]" % array) for array in self.arrays]
        conditions += [(c.name, "%s = key" % c.name) for c in self.columns]
        return ["SET enable_seqscan = off; SET enable_indexonlyscan = off; SELECT count(*) FROM (SELECT key, count(DISTINCT (t.tableoid, t.ctid)) FROM (SELECT tableoid, ctid, %s AS key FROM loaded) t "
                "WHERE key IS NOT NULL GROUP BY key ORDER BY random() LIMIT 20) k (key, n), LATERAL (SELECT count(*) FROM loaded WHERE %s) f (found) WHERE n <> found" % condition
                for condition in conditions] + [
                    "SET enable_seqscan = off; WITH t AS MATERIALIZED (SELECT *, {0} AS e FROM loaded), k AS MATERIALIZED (SELECT e AS key FROM t WHERE {2} ORDER BY random() LIMIT 20) "
                    "SELECT count(*) FROM k, LATERAL (SELECT count(*) FROM t WHERE {1} AND {2}) a (n), LATERAL (SELECT count(*) FROM loaded WHERE {3} AND {2}) f (found) WHERE n <> found".format(
                        key, condition % "e", predicate, condition % ("(%s)" % key)) for key, condition, predicate in self.keys]

    def setup(self, path):
        """Statements that make tables copied and loaded, and the file."""
        r = self.random
        self.fill = r.choice([10, 50, 90, 100])
        indexes = ["UNIQUE INDEX ON {} (id) WITH (fillfactor = %d)" % self.fill] + [self.index() for _ in range(r.randint(1, 4))]
        out = []
        for table in ("copied", "loaded"):
            out += ["DROP TABLE IF EXISTS %s" % table,
                    "CREATE TABLE %s (id int, %s) %s" % (table, ", ".join("%s %s" % (c.name, c.type) for c in self.columns),
                                                         "PARTITION BY HASH (id)" if self.partitions else "WITH (autovacuum_enabled = off)")]
            out += ["CREATE TABLE %s_%d PARTITION OF %s FOR VALUES WITH (MODULUS %d, REMAINDER %d) WITH (autovacuum_enabled = off)" % (
                table, i, table, self.partitions, i) for i in range(self.partitions)]
            out += ["CREATE " + index.format(table) for index in indexes]
        out.append("INSERT INTO copied %s" % self.rows(1, self.old))
        out.append("INSERT INTO loaded SELECT * FROM copied")
        for table in ("copied", "loaded"):
            if self.deleted:
                out.append("DELETE FROM %s WHERE id %% %d = 0" % (table, self.deleted))
            if self.vacuumed:
                out.append("VACUUM " + table)
        out.append("COPY (%s) TO '%s' WITH (FORMAT csv)" % (self.rows(self.first, self.new), path))
        return out


class Checker(CaseChecker):
    name = "index_entries"
    database_options = ""
    mode = 0o777

    def open(self):
        self.duplicates = self.beside = 0
        self.sql("CREATE EXTENSION pgbulk; CREATE EXTENSION amcheck; CREATE COLLATION insensitive (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        self.version = int(self.sql("SHOW server_version_num")[0])

    def repeat_keys(self, case, path):
        """Some rows of the file get the id of one before, or of an old one."""
        if not case.again:
            return
        with open(path) as file:
            lines = file.read().splitlines()
        for i in range(len(lines)):
            if case.random.random() < case.again:
                other = str(case.random.randint(1, max(case.old, 1))) if case.random.random() < 0.5 else lines[case.random.randint(0, i)].split(",")[0]
                lines[i] = other + lines[i][lines[i].index(","):]
        with open(path + ".again", "w") as file:
            file.write("".join(line + "\n" for line in lines))
        os.replace(path + ".again", path)

    def write_beside(self, case, number, ended, errors):
        r = random.Random("%d/%d" % (case.random.random() * 1000000, number))
        first = OTHERS * (number + 1)
        while not ended.is_set():
            n = r.choice([1, 30, 300])
            insert = "INSERT INTO loaded %s" % case.rows(first, n)
            first += n
            statement = r.choice([insert, insert, insert, "DELETE FROM loaded WHERE id %% 7 = %d AND id < %d" % (r.randint(0, 6), FILE), "VACUUM (INDEX_CLEANUP on) loaded",
                                  "BEGIN; %s; ROLLBACK" % insert, "SET enable_seqscan = off; SELECT count(*) FROM loaded WHERE id < 100000"])
            errors.extend(line for line in self.sql(statement)[1].splitlines() if "ERROR:" in line)

    def play(self, case, statement):
        """The error if there is one, without the name of the table."""
        err = self.sql("SET maintenance_work_mem = '%s'; %s" % (case.memory, statement))[1]
        lines = [line[max(line.find("ERROR:"), 0):] for line in err.splitlines() if "ERROR:" in line or line.startswith("DETAIL:") or "closed the connection" in line]
        # of several duplicates the one is told whose row comes first in its table, where rows reuse pages
        if case.vacuumed or case.partitions:
            lines = [line[:13] for line in lines[:1]]
        return [line.replace("copied", "loaded") for line in lines[:2]]

    def check(self, number):
        case = Case(self.options.seed, number)
        path = os.path.join(self.folder, "file")
        err = self.sql(";\n".join(case.setup(path)))[1]
        if "ERROR:" in err:
            raise SystemExit("case %d: %s" % (number, err))
        self.repeat_keys(case, path)
        ended, errors = threading.Event(), []
        others = [threading.Thread(target=self.write_beside, args=(case, i, ended, errors)) for i in range(2 if case.others else 0)]
        wanted = self.play(case, "COPY copied FROM '%s' WITH (FORMAT csv)" % path)
        for other in others:
            other.start()
        found = self.play(case, "SELECT FROM bulk_load('loaded', '%s', '%s')" % (path, case.options))
        ended.set()
        for other in others:
            other.join()
        self.duplicates += bool(wanted)
        self.beside += case.others
        rows = "SELECT count(*), md5(string_agg(t::text, ',' ORDER BY t::text COLLATE \"C\")) FROM %s t WHERE id >= %d AND id < %d;\n"
        span = (case.first, case.first + case.new)
        out, damage = self.sql("".join(rows % ((table,) + span) for table in ("copied", "loaded"))
                               + "SELECT bt_index_parent_check(indexrelid, true, true%s) FROM pg_index JOIN pg_class c ON c.oid = indexrelid\n"
                               "WHERE indrelid IN (SELECT 'loaded'::regclass UNION ALL SELECT relid FROM pg_partition_tree('loaded')) AND relkind = 'i' AND relam = 403 \\g /dev/null" %
                               (", true" if self.version >= 170000 else ""))
        if self.version >= 180000:
            damage += self.sql("SELECT gin_index_check(indexrelid) FROM pg_index JOIN pg_class c ON c.oid = indexrelid\n"
                               "WHERE indrelid IN (SELECT 'loaded'::regclass UNION ALL SELECT relid FROM pg_partition_tree('loaded')) AND relkind = 'i' AND relam = 2742 \\g /dev/null")[1]
        for search in case.searches():
            missed, err = self.sql(search)
            damage += err + ("" if missed.strip() == "0" else "%s by %s" % (missed.strip(), search))
        copied, loaded = out.splitlines()[:2]
        if wanted == found and copied == loaded and not errors and not damage:
            self.passed += 1
            return
        self.failed += 1
        print("case %d (seed %s): COPY %s, bulk_load %s, rows %s and %s, others %s, indexes %s" % (
            number, self.options.seed, wanted, found, copied, loaded, errors[:1], damage))

    def summary(self):
        return ["%d with duplicates, %d beside other sessions" % (self.duplicates, self.beside)]


if __name__ == "__main__":
    main(Checker, __doc__)
