#!/usr/bin/env python3
"""Compares bulk_load into partitions on other servers with loads into partitions that are here.

The tables and files are those of copy_load.py, as far as partitions can be foreign tables.  Each case has
three tables that are alike: one whose partitions are all here; the same in two databases that stand for
other servers; and one whose partitions are foreign tables of postgres_fdw for some of those, or here.

COPY loads the first, bulk_load the last: both must succeed, with the same rows in the same partitions, bit by
bit; or both fail.  Then the same two by bulk_load with on_error = ignore, with and without a limit, and, where
there is a unique key, with on_duplicate, and the reject tables must be the same.

What may differ is what docs/cluster.md says: of several bad rows that end a load, and of several faults of a row,
another one may be told; and a row of many lines that another server rejects is rejected as a whole.

The server is the one that PGHOST, PGPORT and so on name, on this machine, with pgbulk and postgres_fdw
installed, and with max_prepared_transactions.

usage: foreign.py [--cases N] [--seconds N] [--seed N] [--case N]
"""

import argparse
import json
import os
import random
import re
import sys
import tempfile
import time

from copy_cases import add_settings, applies, fill_load, ident, literal, table_case
from copy_load import LONG, PERMANENT, Session, is_stricter, psql, split_rows, wait_for_server

FEWEST = 10					# cases, whatever the time
THERE = 2					# databases that stand for other servers
# What only tables that are here can have.
LOCAL_ONLY = re.compile(r", UNIQUE \([^)]*\)| REFERENCES referenced(?: DEFERRABLE INITIALLY DEFERRED)?")
LEAF = re.compile(r"CREATE TABLE (part_\w+) (?!.* PARTITION BY )", re.S)
REJECTS = """SELECT '@@reject', to_json(r) FROM (SELECT line_number, byte_offset, reason, column_name, field_value, sqlstate, message, raw_line FROM rejected
    ORDER BY line_number, message, raw_line) r;"""


class Load:
    """What has become of a load, as a session says."""

    def __init__(self, lines, dumps):
        self.state, self.count, self.message, self.rejects = None, None, "", []
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "@@load":
                self.state, count, rows = rest.split(" ")
                self.count = count if rows.startswith(":") else rows
            elif word == "@@message":
                self.message = rest
            elif line.startswith("@@reject\t"):
                self.rejects.append(line[len("@@reject\t"):])
        self.counts = [self.count]
        self.rows = sorted(as_printed(row) for path in dumps if os.path.exists(path) for row in split_rows(read(path)))

    def failed(self):
        return self.state != "00000"


def as_printed(row):
    """The row without the sign of NaNs, which is not printed, and so gets lost in values that are sent as text."""
    for negative, usual in ((b"\0\0\0\x04\xff\xc0\0\0", b"\0\0\0\x04\x7f\xc0\0\0"), (b"\0\0\0\x08\xff\xf8" + b"\0" * 6, b"\0\0\0\x08\x7f\xf8" + b"\0" * 6)):
        row = row.replace(negative, usual)
    return row


def bad_line(reject):
    """Of a reject which row it is, whatever is wrong with it."""
    return [json.loads(reject)[name] for name in ("line_number", "byte_offset", "raw_line")]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def make_case(seed, number, version):
    """A case whose table can have partitions elsewhere, and that table."""
    rng = random.Random("%s/%d" % (seed, number))
    while True:
        case, table = table_case(rng, "load", version, "UTF8")
        if table.partitioned and not table.logs:
            break
    case.settings = {}
    add_settings(rng, case)
    case.twice = case.transaction = False
    fill_load(rng, version, case, table)
    # unique keys and keys to others are those of the other servers
    mixed = not any(LOCAL_ONLY.search(sql) for sql in case.setup)
    case.servers = {}

    def foreign(match):
        return "CREATE FOREIGN TABLE %s " % match[1] if case.servers.setdefault(match[1], rng.randint(0 if mixed else 1, THERE)) else match[0]

    case.sent_setup = []
    for sql in case.setup:
        sql = LEAF.sub(foreign, LOCAL_ONLY.sub("", sql), count=1)
        leaf = re.match(r"CREATE FOREIGN TABLE (part_\w+) ", sql)
        case.sent_setup.append(sql + " SERVER s%d OPTIONS (schema_name 'cases')" % case.servers[leaf[1]] if leaf else sql)
    return case, table


class Runner:
    def __init__(self, folder, databases):
        self.folder = folder
        self.main = Session(databases[0], "UTF8")
        self.there = [Session(database, "UTF8") for database in databases[1:]]
        self.loaded = self.rejected = self.noted = self.skipped = 0

    def close(self):
        for session in [self.main] + self.there:
            session.close()

    # ---- tables ----

    @staticmethod
    def setup_sql(schema, setup):
        return "\n".join(["ROLLBACK;", "DISCARD ALL;", "SET client_min_messages = error;", "SET statement_timeout = '60s';", "DROP SCHEMA IF EXISTS %s CASCADE;" % schema,
                          "CREATE SCHEMA %s;" % schema, "SET search_path = %s, public;" % schema, "BEGIN\\;\n" + "\\;\n".join(setup) + "\\; COMMIT;",
                          "\\if :ERROR", "\\echo failed :LAST_ERROR_MESSAGE", "ROLLBACK;", "\\endif"])

    def prepare(self, case):
        """False: the server cannot have these tables."""
        out = self.main.run(self.setup_sql("here", case.setup))
        for session in self.there:
            out += session.run(self.setup_sql("cases", case.setup))
        if any(line.startswith("failed") for line in out):
            raise AssertionError("the setup failed: %s" % out)
        out = self.main.run(self.setup_sql("cases", case.sent_setup))
        return not any(line.startswith("failed") for line in out)

    def empty(self, case):
        sql = "TRUNCATE %s;\nDROP TABLE IF EXISTS rejected;\nALTER SEQUENCE IF EXISTS numbers RESTART;\nTRUNCATE log;" % ident(case.target)
        self.main.run("SET client_min_messages = fatal;\nSET search_path = here, public;\n%s\nSET search_path = cases, public;\n%s\nSET client_min_messages = error;" % (sql, sql))

    # ---- loads ----

    def load(self, case, schema, sql, more=()):
        """Loads into the table of a schema, and dumps its rows, wherever they are."""
        dumps = ["%s/dump%d" % (self.folder, n) for n in range(1 + len(self.there))]
        settings = ["SET %s = %s;" % (name, literal(value) if name != "DateStyle" else value) for name, value in case.settings.items()]
        query = case.dumps[0]
        if schema == "cases":
            here = [name for name, server in case.servers.items() if server == 0]
            query = query.replace(" ORDER BY ", " WHERE t.tableoid = ANY ('{%s}'::regclass[]) ORDER BY " % ",".join(here))
        for path in dumps:
            if os.path.exists(path):
                os.unlink(path)
        lines = self.main.run("\n".join(["SET search_path = %s, public;" % schema] + settings + [
            "SELECT setseed(0.25) AS seed \\gset", "\\unset rows", "\\unset rejected", sql, "\\echo @@load :SQLSTATE :ROW_COUNT :rows", "\\echo @@message :LAST_ERROR_MESSAGE",
            "RESET ALL;", "SET client_min_messages = error;", "SET search_path = %s, public;" % schema] + list(more) + [
            "COPY (%s) TO '%s' (FORMAT binary);" % (query, dumps[0]), "\\if :ERROR", "\\echo dump :LAST_ERROR_MESSAGE", "\\endif"]))
        if schema == "cases":
            for session, path in zip(self.there, dumps[1:]):
                lines += session.run("COPY (%s) TO '%s' (FORMAT binary);\n\\if :ERROR\n\\echo dump :LAST_ERROR_MESSAGE\n\\endif" % (case.dumps[0], path))
        problems = [line for line in lines if line.startswith("dump")]
        if problems:
            raise AssertionError("the table cannot be dumped: %s" % problems)
        return Load(lines, dumps)

    def run(self, case):
        """What is wrong, or None."""
        path = os.path.join(self.folder, "file")
        data = case.data()
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, 0o644)
        if not self.prepare(case):
            self.skipped += 1
            return None
        copy = self.load(case, "here", case.copy_sql(path))
        ours = self.load(case, "cases", case.bulk_sql(path))
        self.loaded += not copy.failed()
        wrong = self.compare(case, copy, ours)
        policies = [{}, {"reject_limit": len(data) % 4}]
        if any("UNIQUE" in sql for sql in case.setup):
            policies += [{"on_duplicate": "keep_old"}, {"on_duplicate": "keep_new"}, {"on_duplicate": "keep_old", "duplicate_limit": len(data) % 3}]
        for policy in policies:
            wrong = wrong or self.compare_rejects(case, path, dict(policy, on_error="ignore", reject_table="rejected"))
        return wrong

    def compare(self, case, copy, ours):
        if copy.failed() != ours.failed():
            if ours.failed() and is_stricter(case, copy, ours.message):
                return None
            return "COPY: %s %s; bulk_load: %s %s" % (copy.state, copy.message if copy.failed() else "", ours.state, ours.message if ours.failed() else "")
        if copy.rows != ours.rows:
            return "rows differ: " + self.difference(copy.rows, ours.rows)
        if copy.failed():
            self.noted += copy.state != ours.state
        elif copy.count != ours.count:
            return "rows_loaded is %s, COPY says %s" % (ours.count, copy.count)
        return None

    def compare_rejects(self, case, path, options):
        self.empty(case)
        here, ours = (self.load(case, schema, case.bulk_sql(path, options), [REJECTS]) for schema in ("here", "cases"))
        if here.failed() != ours.failed():
            return "%s: here %s %s; there %s %s" % (options, here.state, here.message, ours.state, ours.message)
        if here.failed():
            return None
        self.rejected += bool(here.rejects)
        if here.rows != ours.rows:
            return "%s: rows differ: %s" % (options, self.difference(here.rows, ours.rows))
        self.noted += here.rejects != ours.rejects
        if sorted(map(bad_line, here.rejects)) != sorted(map(bad_line, ours.rejects)):
            return "%s: rejects differ: %s" % (options, self.difference(here.rejects, ours.rejects))
        if here.count != ours.count:
            return "%s: rows_loaded is %s, here %s" % (options, ours.count, here.count)
        return None

    @staticmethod
    def difference(ours, theirs):
        return "%d and %d rows; only here %r, only there %r" % (len(ours), len(theirs), [row[:300] for row in ours if row not in theirs][:1], [row[:300] for row in theirs if row not in ours][:1])


def create_databases(databases):
    """All as the first, so that types have the same numbers."""
    host = ", ".join("%s '%s'" % (option, os.environ[variable]) for option, variable in (("host", "PGHOST"), ("port", "PGPORT")) if variable in os.environ)
    psql("template1", "SET client_min_messages = error;\nCREATE DATABASE %s TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';" % databases[0])
    psql(databases[0], "CREATE EXTENSION pgbulk;" + PERMANENT)
    for database in databases[1:]:
        psql("template1", "CREATE DATABASE %s TEMPLATE %s;" % (database, databases[0]))
    psql(databases[0], "CREATE EXTENSION postgres_fdw;")
    for n, database in enumerate(databases[1:], 1):
        psql(databases[0], """CREATE SERVER s%d FOREIGN DATA WRAPPER postgres_fdw OPTIONS (%s);
            DO $$BEGIN EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER s%d OPTIONS (user %%L)', current_user); END$$;""" % (n, ", ".join(filter(None, [host, "dbname '%s'" % database])), n))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100000, help="how many at most")
    parser.add_argument("--seconds", type=int, default=45 if LONG else 10, help="start no case after these")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--case", type=int, help="this one only")
    options = parser.parse_args()
    wait_for_server()
    version = int(psql("template1", "SHOW server_version_num")) // 10000
    if psql("template1", "SELECT 1 FROM pg_available_extensions WHERE name = 'postgres_fdw'") != "1":
        print("postgres_fdw is not there\n0 passed, 0 failed")
        return 0
    databases = ["pgbulk_foreign_%d_%d" % (n, os.getpid()) for n in range(1 + THERE)]
    passed = failed = 0
    try:
        create_databases(databases)
        until = time.monotonic() + options.seconds
        with tempfile.TemporaryDirectory(prefix="pgbulk-foreign-") as folder:
            os.chmod(folder, 0o777)
            runner = Runner(folder, databases)
            for number in range(options.cases) if options.case is None else [options.case]:
                if time.monotonic() > until and passed + failed >= FEWEST:
                    break
                case, _ = make_case(options.seed, number, version)
                if not applies(case, version):
                    continue
                wrong = runner.run(case)
                passed += not wrong
                if wrong:
                    failed += 1
                    print("case %d: %s" % (number, wrong))
            runner.close()
    finally:
        psql("template1", "\n".join("DROP DATABASE IF EXISTS %s (FORCE);" % database for database in databases))
    print("COPY loads %d, of %d there are rejects; %d skipped, %d times another error" % (runner.loaded, runner.rejected, runner.skipped, runner.noted))
    print("%d passed, %d failed" % (passed, failed))
    # now and then a row has several faults
    if options.case is None and runner.noted > 3 + passed / 10:
        print("too many of these")
        failed += 1
    return 1 if failed or (options.case is None and not (runner.loaded and runner.rejected)) else 0


if __name__ == "__main__":
    sys.exit(main())
