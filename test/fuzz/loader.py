#!/usr/bin/env python3
"""Fuzzes whole loads: mutated files, options and tables, over a live server.

A triple of a file, options and a table, of corpus/ or one that came up here, is mutated and loaded twice, as its
options say and by the buffered writer alone, in one transaction each that is rolled back.  What must hold:

  - the session goes on, with no internal error (XX...), within 30 seconds
  - rows read are rows loaded, rejected, duplicates and filtered
  - both loads have the same outcome: SQLSTATE, counts, rows
  - where the options are COPY's, COPY has it, too: it loads the same rows, or both fail
  - amcheck finds nothing in the table and its btrees, which have an entry for each row

A triple that loads with an outcome that has not been seen before (how rows were written, reasons of rejects,
details), and of those that fail with a new SQLSTATE and message a tenth, is mutated in its turn, and stays in the folder that --grow names.  So with the same seed, corpus
and server the cases are the same.  One that fails is printed, and can be tried again with --replay.

usage: loader.py [--seconds N] [--cases N] [--seed N] [--grow FOLDER] [--replay FILE]
"""

import argparse
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "differential"))

import loader_mutations
from wire import Lost, Session

AMCHECK = """SELECT count(*) FROM pg_class c, verify_heapam(c.oid) v WHERE c.relnamespace = 'f'::regnamespace AND c.relkind = 'r'
UNION ALL SELECT count(bt_index_check(c.oid, true)::text) * 0 FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
WHERE c.relnamespace = 'f'::regnamespace AND c.relkind = 'i' AND c.relam = 403 AND i.indisvalid"""
# Of a message what is no value.
VALUES = re.compile(r"\"[^\"]*\"|'[^']*'|[0-9]+|\(.*\)|: .*")
# Rows are those of the server's COPY but for these rules of a newer one.
NEWER = {15: rb"\\\.", 16: rb"\\\.", 17: rb"\\\."}


class Outcome:
    def __init__(self, answer, rows, state):
        self.answer = answer
        self.code = answer.code
        self.rows = rows
        self.state = state
        self.counts = answer.rows[0][:6] if answer.rows and not answer.error else None

    def signature(self):
        details = json.loads(self.answer.rows[0][6] or "{}") if self.counts else {}
        return json.dumps([self.code, VALUES.sub("", self.answer.message), sorted(set(re.findall(r'"reason": "(\w+)"', json.dumps(details)))), sorted(details),
                           [details.get(key) for key in ("direct", "not_direct", "no_workers")],
                           sorted({(i["method"], VALUES.sub("", i.get("reason") or "")) for i in details.get("indexes", [])})])

    def __str__(self):
        return "%s %s %s %s" % (self.code, self.answer.message, self.counts, self.rows)


class Fuzzer:
    def __init__(self, options, database, folder):
        self.options = options
        self.database = database
        self.path = os.path.join(folder, "file")
        self.session = None
        self.table = None			# that there is
        self.runs = self.good = self.copies = self.failed = 0
        self.seen = set()
        self.corpus = [json.loads(path.read_text()) for path in sorted((HERE / "corpus").glob("*.json"))]
        self.connect()
        self.version = int(self.session.run("SHOW server_version_num").rows[0][0]) // 10000
        for sql in loader_mutations.PERMANENT:
            self.session.run(sql)
        self.has_amcheck = not self.session.run("CREATE EXTENSION IF NOT EXISTS amcheck").error

    def connect(self):
        for _ in range(100):
            try:
                self.session = Session(self.database, timeout=90, options="-c client_min_messages=error -c session_preload_libraries=pgbulk -c statement_timeout=30s -c timezone=UTC")
                return
            except (Lost, OSError):
                time.sleep(0.3)
        sys.exit("the server does not come back")

    # ---- one case ----

    def set_up(self, case):
        """The table, without those parts that the server refuses."""
        table = json.dumps([case["columns"], case["partition"], case["more"]])
        if table != self.table:
            self.table = None
            self.session.run("DROP TABLE IF EXISTS f.t, f.rejects CASCADE")
            if self.session.run(loader_mutations.create_table(case)).error:
                return False
            for sql in case["more"]:
                self.session.run(sql)
            self.table = table
        with open(self.path, "wb") as file:
            file.write(case["file"].encode("latin-1"))
        return True

    def attempt(self, case, sql, chunk=None):
        self.session.run("BEGIN")
        if chunk:
            self.session.run("SET LOCAL pgbulk.chunk_size = %d" % chunk)
        answer = self.session.run(sql)
        self.runs += 1
        rows, state = None, ""
        if not answer.error:
            self.good += 1
            late = self.session.run("SET CONSTRAINTS ALL IMMEDIATE")
            state = late.code
            if not late.error:
                rows = self.session.run("SELECT count(*), md5(string_agg(x::text, E'\\n' ORDER BY x::text)) FROM (SELECT %s FROM f.t) x" % loader_mutations.stable_columns(case)).rows
                if self.has_amcheck:
                    checked = self.session.run(AMCHECK)
                    if checked.error or any(row != ("0",) for row in checked.rows):
                        state = "amcheck: %s %s" % (checked.message, checked.rows)
        self.session.run("ROLLBACK")
        return Outcome(answer, rows, state)

    def load_sql(self, options):
        given = {name: value for name, value in options.items() if name != "chunk_size"}
        return ("SELECT rows_read, rows_loaded, rows_rejected, rows_duplicate, rows_replaced, rows_filtered, details FROM bulk_load('f.t', '%s', $fuzz$%s$fuzz$)" % (self.path, json.dumps(given)))

    def check(self, case):
        """What is wrong, or None; and the outcome's signature."""
        options = case["options"]
        first = self.attempt(case, self.load_sql(options), options.get("chunk_size"))
        plain = dict(options, workers=0, writer="buffered")
        plain.pop("indexes", None)
        second = self.attempt(case, self.load_sql(plain))
        for outcome in first, second:
            if outcome.code.startswith("XX") or outcome.code == "57014":
                return "%s" % outcome, None
            if outcome.state.startswith("amcheck"):
                return outcome.state, None
            if outcome.counts:
                read, loaded, rejected, duplicate, _, filtered = map(int, outcome.counts)
                if read != loaded + rejected + duplicate + filtered and options.get("limit_counts") is None:
                    return "counts: %s" % outcome, None
        wrong = self.compare(case, first, second)
        if not wrong and set(options) <= loader_mutations.COPYS and first.code != "22023":
            wrong = self.compare_copy(case, first)
        return wrong, first.signature()

    @staticmethod
    def compare(case, first, second):
        # one that cannot serve the table says so
        if first.code in ("0A000", "55000", "22023", "55006") and second.code == "00000" or first.code == second.code != "00000":
            return None
        # what stops a load is found in another order
        if first.code != "00000" and second.code != "00000":
            return None
        # the buffered writer meets the key of a row that violates a foreign key before it knows of that
        if first.code == "00000" and second.code == "23505" and "on_duplicate" not in case["options"] and "REFERENCES" in str((case["columns"], case["more"])):
            return None
        # with on_duplicate the buffered writer never stores such a row, which the direct writer gives its index entries
        if first.code == "P0001" and second.code == "00000" and "on_duplicate" in case["options"] and "REFERENCES" in str((case["columns"], case["more"])) and "INDEX ON f.t (f.odd(" in str(case["more"]):
            return None
        if (first.code, first.state, first.rows) != (second.code, second.state, second.rows) or first.counts != second.counts:
            return "as the options say: %s %s\n    buffered: %s %s" % (first, first.state, second, second.state)
        return None

    def compare_copy(self, case, ours):
        options = case["options"]
        data = case["file"].encode("latin-1")
        # COPY lets invalid bytes in then
        if options.get("encoding") == "SQL_ASCII" or self.version in NEWER and re.search(NEWER[self.version], data) or data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) or loader_mutations.is_compressed(data):
            return None
        theirs = self.attempt(case, loader_mutations.copy_sql(options, self.path))
        self.copies += 1
        # with its own rules for what it has not, or not in this version
        if theirs.code in ("0A000", "22023", "42601") or ours.code in ("0A000", "55000"):
            return None
        if (theirs.code == "00000") != (ours.code == "00000") or theirs.code == "00000" and (theirs.rows, theirs.state) != (ours.rows, ours.state):
            return "COPY: %s %s\n    pgbulk: %s %s" % (theirs, theirs.state, ours, ours.state)
        return None

    def try_case(self, case):
        try:
            if not self.set_up(case):
                return None, None
            return self.check(case)
        except Lost as lost:
            self.connect()
            self.table = None
            return "the session is lost: %s" % lost, None

    # ---- all of them ----

    def fail(self, number, case, wrong):
        self.failed += 1
        print("case %d: %s\n    %s" % (number, wrong, json.dumps(case)), flush=True)

    def keep(self, case):
        self.corpus.append(case)
        if self.options.grow:
            name = "%s-%d.json" % (self.options.seed, len(self.corpus))
            pathlib.Path(self.options.grow, name).write_text(json.dumps(case, indent=1, sort_keys=True) + "\n")

    def run(self):
        end = time.monotonic() + self.options.seconds
        last = None
        for number, case in enumerate(self.corpus[:]):
            wrong, signature = self.try_case(case)
            self.seen.add(signature)
            if wrong:
                self.fail(number, case, "corpus: " + wrong)
        for number in range(self.options.cases):
            if time.monotonic() > end:
                break
            rng = random.Random("%s/%d" % (self.options.seed, number))
            case = loader_mutations.mutate(rng, self.corpus, last)
            wrong, signature = self.try_case(case)
            loads = signature is not None and signature.startswith('["00000"')
            last = case if loads else last
            if wrong:
                self.fail(number, case, wrong)
            elif signature is not None and signature not in self.seen:
                self.seen.add(signature)
                # from what fails as a whole little comes
                if loads or rng.random() < 0.1:
                    self.keep(case)
        else:
            number = self.options.cases
        print("seed %s: %d cases, %d loads, %d of them well, %d by COPY, %d different outcomes" % (self.options.seed, number, self.runs, self.good, self.copies, len(self.seen)))
        print("%d passed, %d failed" % (max(number - self.failed, 0), self.failed))
        return 1 if self.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--cases", type=int, default=10 ** 9)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--grow", help="folder for triples with an outcome that is new")
    parser.add_argument("--replay", help="file with the triple of a case that failed")
    options = parser.parse_args()
    database = "pgbulk_fuzz_%d" % os.getpid()
    above = Session("postgres")
    made = above.run("CREATE DATABASE %s TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'" % database)
    if made.error:
        sys.exit(made.message)
    try:
        with tempfile.TemporaryDirectory(prefix="pgbulk-fuzz-") as folder:
            os.chmod(folder, 0o755)
            setup = Session(database)
            setup.run("CREATE EXTENSION pgbulk")
            setup.close()
            fuzzer = Fuzzer(options, database, folder)
            if options.replay:
                case = json.loads(pathlib.Path(options.replay).read_text())
                wrong, signature = fuzzer.try_case(case)
                print(wrong or signature)
                return 1 if wrong else 0
            return fuzzer.run()
    finally:
        # a server that has crashed may be on its way back
        for _ in range(100):
            try:
                Session("postgres").run("DROP DATABASE IF EXISTS %s WITH (FORCE)" % database)
                break
            except (Lost, OSError):
                time.sleep(0.3)


if __name__ == "__main__":
    sys.exit(main())
