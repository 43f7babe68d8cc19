#!/usr/bin/env python3
"""Compares COPY run by pgbulk (setting pgbulk.copy) with COPY run by the server.

The tables and files are those of copy_load.py.  Each statement is run with pgbulk.copy off, on and
exclusive, on a file of the server and by \\copy, in large and small chunks.  All that the client is told
must be the same: command tag, each field of an error, NOTICEs; and so must the rows, their order and
bits, the entries in the log that triggers keep, and what amcheck finds.

What may differ: where a file has more than one fault, another one may be told; and where values have line
ends, the number of a line, as COPY does not count those of another kind than that of the first line.
A marker \\. behind other text on its line is an error before 18, too.

usage: plain_copy.py [--cases N] [--seconds N] [--seed N] [--case N] [--keep FOLDER]
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import copy_load
from copy_cases import DATABASES, make_case
from copy_load import ANY_TIME, AMCHECK, DEFAULT_MARKER, LONG, PERMANENT, Outcome, Session, difference, psql, same_but_for_pages, wait_for_server

TOLD = re.compile(r"^psql:<stdin>:\d+: ")
# Of an invalid sequence at the end of a chunk the next bytes are not at hand.
BYTES = re.compile(r"(invalid byte sequence for encoding .*: 0x..).*")
# Where the source of the server raises it, and which one is first of several that a script prints.
UNTOLD = re.compile(r"^LOCATION: ")
TAKEN = "SELECT '@@statement', taken, reason, count FROM public.bulk_load_statements;"


# Before 18 COPY took it for the end, and went on reading after it.
MARKER = "end-of-copy marker is not alone on its line"
# Of a row that goes over several lines.
LINE = re.compile(r", line \d+")


def has_long_rows(case):
    """Whether values may have line ends: COPY does not count those of another kind than the first line's."""
    if case.options.get("format") == "text":
        return re.search(rb"\\[\r\n]", case.data()) is not None
    return case.options.get("format") == "csv" and case.options.get("quote", '"').encode() in case.data()


class Told(Session):
    """One that shows what psql writes to standard error, too."""

    def __init__(self, database, encoding):
        env = dict(os.environ, PGDATABASE=database, PGCLIENTENCODING=encoding, PGOPTIONS="-c session_preload_libraries=pgbulk")
        self.process = subprocess.Popen(["psql", "-XAtq", "-F", "\t", "-v", "VERBOSITY=verbose"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, env=env)


class Side(Outcome):
    """An outcome, with all that was told between the marks."""

    def __init__(self, lines, folder, case):
        super().__init__(lines, folder, case)
        self.told, self.statements, at = [], [], False
        for line in lines:
            if line.startswith("@@begin"):
                at = True
            elif line.startswith("@@load"):
                at = False
            elif line.startswith("@@statement"):
                self.statements.append(line.split("\t")[1:])
            elif at and not UNTOLD.match(line):
                self.told.append(BYTES.sub(r"\1", TOLD.sub("", line)))

    def failed(self):
        return super().failed() or bool(self.codes())

    def codes(self):
        """The SQLSTATEs that were told."""
        return [line.split()[1].rstrip(":") for line in self.told if line.startswith("ERROR:")]


def ends_within_quotes(theirs, ours):
    """Whether the server's COPY took a line of \\. for the end although a quote was open: it does before 18."""
    return not theirs.failed() and any("unterminated CSV quoted field" in line for line in ours.told) and any("\\." in line for line in ours.told)


class Runner(copy_load.Runner):
    def __init__(self, folder, version, databases, amcheck):
        super().__init__(0, folder, version, databases, amcheck)
        self.statements = {}		# of the last case, by database: the session has counted all

    def session(self, database):
        if database not in self.sessions:
            self.sessions[database] = Told(self.databases[database], "SQL_ASCII" if database == "SQL_ASCII" else "UTF8")
        return self.sessions[database]

    def copy(self, case, setting, client, chunk=None):
        """One run of the statement; client: by \\copy."""
        sql = case.copy_sql(self.path)
        if client:
            sql = "\\copy " + sql[len("COPY "):].rstrip(";")
        load = "SET pgbulk.copy = %s;\nSET pgbulk.copy_min_size = %d;\nSET client_min_messages = notice;\n\\echo @@begin\n%s" % (setting, 200 if client and len(case.rows) % 2 else 0, sql)
        extra = ["SET client_min_messages = error;", TAKEN] + ([AMCHECK % (self.schema, self.schema)] if self.amcheck and setting != "off" else [])
        settings = dict(case.settings)
        if chunk:
            case.settings["pgbulk.chunk_size"] = str(chunk)
        try:
            return Side(self.run_script(case, case.side_sql(load, self.schema, self.folder, extra)), self.folder, case)
        finally:
            case.settings = settings

    def run(self, case):
        if case.binary_source:
            self.fill_binary(case)
        self.write(case.data())
        client = random.Random(len(case.rows)).random() < 0.4
        theirs = self.copy(case, "off", client)
        runs = [("on", None), ("on", case.chunks[1]), ("exclusive", None), ("exclusive", case.chunks[1])]
        notes = []
        for setting, chunk in runs:
            ours = self.copy(case, setting, client, chunk)
            said = " pgbulk.copy=%s%s%s" % (setting, " chunk_size=%d" % chunk if chunk else "", " \\copy" if client else "")
            self.statements[case.database] = ours.statements
            wrong, note = self.compare(case, theirs, ours)
            if wrong and self.version < 18 and ends_within_quotes(theirs, ours):
                wrong, note = None, "a marker within quotes"
            if not theirs.failed() and not ours.failed():
                wrong = wrong or "; ".join(line for line in ours.other if line.startswith("amcheck"))
            if wrong:
                return [said + ": " + wrong], notes
            notes += [note] if note else []
        return [], notes

    @staticmethod
    def compare(case, theirs, ours):
        if theirs.problem or ours.problem:
            return None if theirs.problem and ours.problem else theirs.problem or ours.problem, None
        if theirs.codes() != ours.codes() and theirs.codes() and ours.codes() and ANY_TIME & set(theirs.codes() + ours.codes()):
            return None, "another fault"
        if DEFAULT_MARKER in "".join(theirs.told) and theirs.failed() and ours.failed() and theirs.told != ours.told:
            return None, "another fault of the row"
        if any(MARKER in line for line in ours.told) and theirs.told != ours.told:
            return None, MARKER
        if theirs.states != ours.states:
            return "SQLSTATE: server %s, pgbulk %s\n      %s\n      %s" % (theirs.states, ours.states, theirs.told, ours.told), None
        if theirs.told != ours.told and has_long_rows(case) and [LINE.sub("", t) for t in theirs.told] == [LINE.sub("", t) for t in ours.told]:
            return None, "another line"
        if theirs.told != ours.told:
            return "told: server\n      %s\n    pgbulk\n      %s" % ("\n      ".join(theirs.told), "\n      ".join(ours.told)), None
        if theirs.counts != ours.counts:
            return "rows: server %s, pgbulk %s" % (theirs.counts, ours.counts), None
        if theirs.dumps != ours.dumps and not same_but_for_pages(theirs.dumps, ours.dumps):
            return "contents differ: " + difference(theirs.dumps, ours.dumps), None
        return None, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100000, help="how many at most")
    parser.add_argument("--seconds", type=int, default=90 if LONG else 25, help="start no case after these")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--case", type=int, help="this one only")
    parser.add_argument("--keep", help="folder for what failing cases need")
    options = parser.parse_args()
    wait_for_server()
    version = int(psql("template1", "SHOW server_version_num")) // 10000
    amcheck = psql("template1", "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'") == "1"
    databases = {name: "pgbulk_plain_%s_%d" % (name.lower(), os.getpid()) for name in DATABASES}
    until = time.monotonic() + options.seconds
    passed = failed = noted = 0
    try:
        psql("template1", "SET client_min_messages = error;\n" + "\n".join(
            "CREATE DATABASE %s TEMPLATE template0 ENCODING '%s' LC_COLLATE 'C' LC_CTYPE 'C';" % (db, name) for name, db in databases.items()))
        for db in databases.values():
            psql(db, "CREATE EXTENSION pgbulk;" + ("CREATE EXTENSION amcheck;" if amcheck else "") + PERMANENT)
        with tempfile.TemporaryDirectory(prefix="pgbulk-plain-") as folder:
            os.chmod(folder, 0o755)
            runner = Runner(folder, version, databases, amcheck)
            for number in range(options.cases) if options.case is None else [options.case]:
                if time.monotonic() > until:
                    break
                case = make_case(options.seed, number, version)
                if case.kind == "sift":
                    continue
                wrong, notes = runner.run(case)
                noted += len(notes)
                if not wrong:
                    passed += 1
                    continue
                failed += 1
                print("case %d (%s database): %s" % (number, case.database, "\n    ".join(wrong)))
                if options.keep:
                    runner.reduce(case)
                    runner.reproduce(case, os.path.join(options.keep, "case-%d" % number))
            for session in runner.sessions.values():
                session.close()
    finally:
        psql("template1", "\n".join("DROP DATABASE IF EXISTS %s (FORCE);" % db for db in databases.values()))
    left = {}
    for taken, reason, count in sum(runner.statements.values(), []):
        left[reason] = left.get(reason, 0) + int(count)
    taken = left.pop("", 0)
    print("%d statements taken, left: %s; %d notes" % (taken, ", ".join("%d %s" % (count, reason) for reason, count in sorted(left.items())), noted))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not taken else 0


if __name__ == "__main__":
    sys.exit(main())
