#!/usr/bin/env python3
"""Compares bulk_load with COPY on generated tables and files.

Three kinds of case:

- load: any table, any file, most of it good.  COPY and bulk_load get the same
  file with the same options.  Both must succeed, with the same rows in the
  same order and the same bits, the same count, the same entries in the log
  that triggers keep; or both fail, with the same SQLSTATE.  The same again
  with a small pgbulk.chunk_size, with the direct writer where it takes the
  table, alone and with workers, in large and small chunks, and, where COPY
  succeeds, with on_error = ignore (of bulk_load; of COPY too, from 17 on).
- sift: a plain table and a file of odd values, good and bad.  bulk_load with
  on_error = ignore says which rows are bad.  COPY must load the file without
  them to the same table, and refuse each of them with the SQLSTATE that the
  reject has.
- binary: like load, with a file that COPY has written, sound or corrupted.

Rows are compared as COPY writes them in binary format, in the order of ctid,
with the size of each value.  Heap and btree indexes are checked by amcheck
where the server has it.

The oracle is COPY of the newest server (see copy_cases.applies).  One difference is
meant: a byte order mark is dropped, so no file starts with one.

The server is the one that PGHOST, PGPORT and so on name, on this machine and
with pgbulk installed.

usage: copy_load.py [--cases N] [--seconds N] [--seed N] [--case N] [--jobs N]
                    [--keep FOLDER] [--verbose]
"""

import argparse
import os
import random
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import copy_files
import copy_tables
import copy_values
from copy_cases import DATABASES, applies, make_case

# Three times the cases: see scripts/test.
LONG = bool(os.environ.get("PGBULK_TEST_LONG"))

# Where a file has more than one fault, which comes first is a matter of when
# a fault is looked for: keys once waiting rows are written, characters by
# COPY before anything else.  With one of these two SQLSTATEs may differ; and
# in a corrupted binary file, where a wrong length makes faults of all kinds.
ANY_TIME = {"23505", "23P01", "23503", "22021", "22P05"}

# Where bulk_load is stricter, by intent.  COPY loads nothing of what the file
# may have had, and does not say so: a binary file that ends in one byte has
# been cut short, and a header line with an open quote has swallowed the file.
# COPY lets NULL into a column that is not loaded, whatever its domain says.
CUT_SHORT = "unexpected end of file"
OPEN_HEADER = "unterminated CSV quoted field"
DOMAIN_NULL = re.compile("domain .* does not allow null values")
STRICTER = "bulk_load is stricter: "
# In a row with two faults COPY finds this one before bad values.
DEFAULT_MARKER = "unexpected default marker in COPY data"
# A writer asked for by name may refuse.
NO_WRITER = re.compile('writer "direct" cannot load into')

# What every database has.
PERMANENT = copy_values.SCHEMA + copy_tables.FUNCTIONS + "CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler;\n"

# Prints what is wrong with tables and indexes.
AMCHECK = """SELECT 'amcheck', c.relname, v.blkno, v.offnum, v.msg FROM pg_class c, verify_heapam(c.oid, check_toast => true) v
    WHERE c.relkind = 'r' AND c.relnamespace = '%s'::regnamespace AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'heap');
SELECT count(bt_index_check(c.oid, true)) AS checked FROM pg_class c
    WHERE c.relkind = 'i' AND c.relnamespace = '%s'::regnamespace AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'btree') \\gset
\\if :ERROR
\\echo amcheck :LAST_ERROR_MESSAGE
\\endif"""


class Lost(Exception):
    """The server has gone away, or does not answer."""


class Session:
    """A psql process, kept from case to case."""
    END = "@@end of answer@@"

    def __init__(self, database, encoding):
        env = dict(os.environ, PGDATABASE=database, PGCLIENTENCODING=encoding)
        self.process = subprocess.Popen(["psql", "-XAtq", "-F", "\t"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=env)

    def run(self, script, timeout=120):
        out = b""
        end = (self.END + "\n").encode()
        try:
            self.process.stdin.write((script + "\n\\echo %s\n" % self.END).encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Lost("psql has ended")
        until = time.monotonic() + timeout
        while not out.endswith(end):
            if not select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))[0]:
                self.process.kill()
                raise Lost("no answer in %d s" % timeout)
            chunk = os.read(self.process.stdout.fileno(), 65536)
            if not chunk:
                raise Lost("the connection was lost")
            out += chunk
        return out[:-len(end)].decode("utf-8", "replace").split("\n")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Outcome:
    """What one side has made of a case."""

    def __init__(self, lines, folder, case):
        self.states = []
        self.counts = []
        self.rejected = 0
        self.messages = []
        self.dumps = []
        self.other = []
        self.problem = None
        ready = False
        for line in lines:
            word, _, rest = line.partition(" ")
            if line.startswith("ready\t"):
                ready = True
            elif word == "@@load":
                state, count, rows, rejected = rest.split(" ")
                self.states.append(state)
                self.counts.append(count if rows.startswith(":") else rows)
                self.rejected = 0 if rejected.startswith(":") else int(rejected)
            elif word == "@@message":
                self.messages.append(rest)
            elif word == "@@constraints":
                self.states.append(rest)
            elif word == "@@dump":
                if not self.problem and not rest.startswith("00000") and not (case.transaction and self.failed()):
                    self.problem = "the table cannot be dumped: " + rest
            elif ready:
                self.other.append(line)
        if not ready:
            self.problem = "the setup failed: " + " ".join(lines)[:300]
        elif not self.problem:
            for n in range(len(case.dumps)):
                path = "%s/dump%d" % (folder, n)
                if os.path.exists(path):
                    with open(path, "rb") as file:
                        self.dumps.append(file.read())
                    os.unlink(path)
        if case.any_order and len(self.dumps) > 1:
            self.dumps[1] = b"".join(sorted(split_log(self.dumps[1])))

    def failed(self):
        return any(s != "00000" for s in self.states)


def split_log(data):
    """The log's entries without their numbers."""
    return [row[10:] for row in split_rows(data)]


def is_stricter(case, copy, message):
    """Whether this is a file that COPY should not load."""
    if case.kind == "binary" and message == CUT_SHORT:
        return True
    if case.options.get("header") is True and set(copy.counts) == {"0"} and message == OPEN_HEADER:
        return True
    return case.columns is not None and DOMAIN_NULL.match(message) is not None


def has_open_header(case):
    """
    Whether a quote of the header line takes in lines after it: rows for bulk_load with on_error = ignore,
    where COPY passes over them in silence.
    """
    if case.options["format"] != "csv" or case.options.get("header") is not True:
        return False
    quote = ord(case.options.get("quote", '"'))
    escape = ord(case.options.get("escape", chr(quote)))
    data = case.data()
    quoted, at = False, 0
    while at < len(data) and (quoted or data[at] not in b"\r\n"):
        if quoted and data[at] in b"\r\n":
            return True
        if quoted and data[at] == escape and data[at + 1:at + 2] and data[at + 1] in (quote, escape):
            at += 1
        elif data[at] == quote:
            quoted = not quoted
        at += 1
    return False


def compare(case, copy, bulk, more):
    """What is wrong; None if nothing is.  Second: what is worth a note."""
    if copy.problem or bulk.problem:
        return copy.problem or bulk.problem, None
    if copy.failed() != bulk.failed():
        if not copy.failed() and is_stricter(case, copy, bulk.messages[0]):
            return None, STRICTER + bulk.messages[0]
        return "COPY: %s %s; bulk_load%s: %s %s" % (" ".join(copy.states), " | ".join(copy.messages if copy.failed() else []), more,
                                                   " ".join(bulk.states), " | ".join(bulk.messages if bulk.failed() else [])), None
    if copy.states != bulk.states:
        text = "SQLSTATE: COPY %s (%s), bulk_load%s %s (%s)" % (" ".join(copy.states), " | ".join(copy.messages), more, " ".join(bulk.states), " | ".join(bulk.messages))
        if case.corrupt_seed is not None or DEFAULT_MARKER in copy.messages or ANY_TIME & set(copy.states + bulk.states):
            return None, text
        return text, None
    if copy.dumps != bulk.dumps and same_but_for_pages(copy.dumps, bulk.dumps):
        return None, "rows of several pages in another order"
    if copy.dumps != bulk.dumps:
        return "contents differ%s: %s" % (more, difference(copy.dumps, bulk.dumps)), None
    if copy.failed():
        return None, "message: COPY %r, bulk_load %r" % (copy.messages[0], bulk.messages[0]) if copy.messages != bulk.messages else None
    if case.counted and copy.counts != bulk.counts:
        return "rows_loaded%s is %s, COPY says %s" % (more, bulk.counts, copy.counts), None
    return None, None


def same_but_for_pages(ours, theirs):
    """
    Whether only the table's rows stand in another order.  Past the first page
    that may be: whoever looks for a page with room, after each batch, may be
    told of an earlier one.
    """
    return len(ours[0]) > 5000 and ours[1:] == theirs[1:] and sorted(split_rows(ours[0])) == sorted(split_rows(theirs[0]))


def split_rows(data):
    starts = [row[0] for row in copy_files.binary_rows(data)] + [len(data) - 2]
    return [data[a:b] for a, b in zip(starts, starts[1:])]


def difference(ours, theirs):
    for n, (a, b) in enumerate(zip(ours, theirs)):
        if a == b:
            continue
        try:
            rows_a = copy_files.binary_rows(a)
            rows_b = copy_files.binary_rows(b)
            for i, (ra, rb) in enumerate(zip(rows_a, rows_b)):
                for j in range(1, len(ra)):
                    fa, fb = field(a, ra[j]), field(b, rb[j])
                    if fa != fb:
                        return "query %d, row %d, column %d: COPY %r, bulk_load %r" % (n + 1, i + 1, j, fa, fb)
            return "query %d: %d rows by COPY, %d by bulk_load" % (n + 1, len(rows_a), len(rows_b))
        except (struct.error, IndexError):
            return "query %d" % (n + 1)
    return "%d and %d dumps" % (len(ours), len(theirs))


def field(data, at):
    size = int.from_bytes(data[at:at + 4], "big", signed=True)
    return None if size < 0 else data[at + 4:at + 4 + min(size, 200)]


# ------------------------------------------------------------ running cases

class Runner:
    def __init__(self, number, folder, version, databases, amcheck):
        self.amcheck = amcheck
        self.loaded = 0				# cases that COPY loads
        self.direct = 0				# loads by the direct writer
        self.folder = os.path.join(folder, "job%d" % number)
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o777)
        self.path = os.path.join(self.folder, "file")
        self.schema = "job%d" % number
        self.version = version
        self.databases = databases
        self.sessions = {}

    def session(self, database):
        if database not in self.sessions:
            self.sessions[database] = Session(self.databases[database], "SQL_ASCII" if database == "SQL_ASCII" else "UTF8")
        return self.sessions[database]

    def drop_sessions(self):
        for session in self.sessions.values():
            session.process.kill()
        self.sessions = {}

    def run_script(self, case, script):
        try:
            return self.session(case.database).run(script)
        except Lost:
            self.drop_sessions()
            wait_for_server()
            raise

    def side(self, case, load, extra=(), chunk=None):
        settings = dict(case.settings)
        if chunk:
            case.settings["pgbulk.chunk_size"] = str(chunk)
        try:
            script = case.side_sql(load, self.schema, self.folder, extra)
            return Outcome(self.run_script(case, script), self.folder, case)
        finally:
            case.settings = settings

    def write(self, data, name="file"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, 0o644)
        return path

    def fill_binary(self, case):
        """The file of a binary case, from a table that COPY writes out."""
        if case.rows:
            return True
        schema = self.schema
        out = self.run_script(case, "\n".join([
            "DISCARD ALL;", "SET client_min_messages = error;", "DROP SCHEMA IF EXISTS %s CASCADE;" % schema, "CREATE SCHEMA %s;" % schema,
            "SET search_path = %s, public;" % schema, case.binary_source, "\\echo :SQLSTATE :LAST_ERROR_MESSAGE",
            "COPY source TO '%s/made' (FORMAT binary);" % self.folder, "DROP SCHEMA %s CASCADE;" % schema]))
        path = os.path.join(self.folder, "made")
        if not out[0].startswith("00000") or not os.path.exists(path):
            raise AssertionError("no binary file: " + " ".join(out))
        with open(path, "rb") as file:
            data = file.read()
        os.unlink(path)
        if case.corrupt_seed is not None:
            data = copy_files.corrupt_binary(random.Random(case.corrupt_seed), data)
        case.rows = [data]

    def run(self, case):
        """Two lists: what is wrong, and notes."""
        if case.binary_source:
            self.fill_binary(case)
        if not applies(case, self.version):
            return None, []
        if case.kind == "sift":
            return self.sift(case)
        self.write(case.data())
        copy = self.side(case, case.copy_sql(self.path))
        self.loaded += not copy.failed()
        runs = [({}, chunk) for chunk in case.chunks]
        if case.ignore and not copy.failed() and not has_open_header(case):
            runs.append(({"on_error": "ignore"}, random.Random(len(case.rows)).choice(case.chunks)))
        runs += case.direct
        notes = []
        for more, chunk in runs:
            said = ("".join(" %s=%s" % pair for pair in more.items())) + (" chunk_size=%d" % chunk if chunk else "")
            bulk = self.side(case, case.bulk_sql(self.path, more), [AMCHECK % (self.schema, self.schema)] if self.amcheck and not copy.failed() else (), chunk)
            if "writer" in more and NO_WRITER.match(bulk.messages[0] if bulk.messages else ""):
                continue
            self.direct += "writer" in more and not bulk.failed()
            wrong, note = compare(case, copy, bulk, said)
            if note and note.startswith(STRICTER):
                return [], [note]
            if not wrong and "on_error" in more and bulk.rejected:
                wrong = "rejects%s what COPY loads: %d rows" % (said, bulk.rejected)
            wrong = wrong or "; ".join(line for line in bulk.other if line.startswith("amcheck"))
            if wrong:
                return [wrong], notes
            notes += [note] if note else []
        if case.ignore and copy.failed() and case.settled and self.version >= 17 and case.kind == "load" and not has_open_header(case):
            return self.ignore_both(case), notes
        return [], notes

    def ignore_both(self, case):
        """
        COPY's own on_error = ignore, where it gets through.  Of a row that a
        stray quote has made of many lines bulk_load may save some.
        """
        more = {"on_error": "ignore"}
        copy = self.side(case, case.copy_sql(self.path, more))
        if copy.failed():
            return []
        bulk = self.side(case, case.bulk_sql(self.path, more), chunk=case.chunks[1])
        wrong, _ = compare(case, copy, bulk, " on_error=ignore")
        if wrong and bulk.rejected and case.options["format"] == "csv" and len(case.dumps) == 1 and not bulk.failed():
            if set(split_rows(copy.dumps[0])) <= set(split_rows(bulk.dumps[0])):
                return []
        return [wrong] if wrong else []

    def sift(self, case):
        path = self.write(case.data())
        query = ["SELECT 'reject', byte_offset, sqlstate, split_part(message, E'\\n', 1) FROM rejected ORDER BY byte_offset;"]
        direct, chunk = case.direct[-1] if case.direct else ({}, case.chunks[1])
        more = dict({"on_error": "ignore", "reject_table": "rejected"}, **direct)
        bulk = self.side(case, case.bulk_sql(path, more), query, chunk=chunk)
        if bulk.problem or bulk.failed():
            return ["sifting failed: %s %s" % (bulk.problem or "", " ".join(bulk.states + bulk.messages))], []
        rejects = {}
        for line in bulk.other:
            if line.startswith("reject\t"):
                word, offset, state, message = line.split("\t", 3)
                rejects[int(offset)] = (state, message)
        good, bad, at = [], [], 0
        for row in case.rows:
            (bad if at in rejects else good).append((row, rejects.pop(at, None)))
            at += len(row)
        if rejects:
            return ["rejects that are no rows: %s" % rejects], []
        return self.judge_sifted(case, bulk, [row for row, _ in good], bad)

    def judge_sifted(self, case, bulk, good, bad):
        copy = self.side(case, case.copy_sql(self.write(b"".join(good))))
        self.loaded += 1
        wrong, _ = compare(case, copy, bulk, " on_error=ignore")
        if wrong:
            return ["of the rows that bulk_load takes: " + wrong], []
        lines = case.prepare_sql(self.schema)
        for n, (row, _) in enumerate(bad):
            lines += [case.copy_sql(self.write(row, "row%d" % n)), "\\echo @@row %d :SQLSTATE :LAST_ERROR_MESSAGE" % n]
        lines += ["RESET ALL;", "DROP SCHEMA %s CASCADE;" % self.schema]
        wrong, notes = [], []
        for line in self.run_script(case, "\n".join(lines)):
            if not line.startswith("@@row"):
                continue
            number, state, message = (line.split(" ", 3) + [""])[1:4]
            row, (our_state, our_message) = bad[int(number)]
            if state != our_state and state != "00000" and ANY_TIME & {state, our_state}:
                notes.append("SQLSTATE: COPY %s, bulk_load %s" % (state, our_state))
            elif state != our_state:
                wrong.append("row %r: COPY %s %s, bulk_load %s %s" % (row[:300], state, message if state != "00000" else "", our_state, our_message))
            elif message != our_message:
                notes.append("message: COPY %r, bulk_load %r" % (message, our_message))
        for n in range(len(bad)):
            os.unlink(os.path.join(self.folder, "row%d" % n))
        return wrong, notes

    # ---- failures ----

    def reduce(self, case, limit=60):
        """Leaves out rows as long as something is wrong."""
        size = max(1, len(case.rows) // 2)
        if case.kind == "binary":
            return
        while size and limit > 0:
            at = 0
            while at < len(case.rows) and limit > 0:
                rows = case.rows
                case.rows = rows[:at] + rows[at + size:]
                limit -= 1
                if not case.rows or not self.run(case)[0]:
                    case.rows = rows
                    at += size
            size //= 2

    def reproduce(self, case, folder):
        """Leaves the file and a script beside it."""
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o777)
        path = os.path.join(folder, "file")
        with open(path, "wb") as file:
            file.write(case.data())
        os.chmod(path, 0o644)
        more = {"on_error": "ignore", "reject_table": "rejected"} if case.kind == "sift" else {}
        script = ["-- in a database with encoding %s and prelude.sql; the chunk sizes tried: %s; with the direct writer: %s" % (case.database, case.chunks, case.direct)]
        for side, load in (("COPY", case.copy_sql(path)), ("bulk_load", case.bulk_sql(path, more).replace(" \\gset", ";"))):
            script += ["\\echo ==== " + side] + case.prepare_sql("reproduction") + ["SELECT setseed(0.25);"]
            if side != "COPY":
                script.append("SET pgbulk.chunk_size = %d;" % case.chunks[1])
            script += [load] + (["SET CONSTRAINTS ALL IMMEDIATE;"] if case.transaction else [])
            script += [query + ";" for query in case.dumps] + (["TABLE rejected;"] if more and side != "COPY" else [])
        with open(os.path.join(folder, "prelude.sql"), "w") as file:
            file.write("CREATE EXTENSION pgbulk;" + PERMANENT)
        with open(os.path.join(folder, "script.sql"), "w") as file:
            file.write("\n".join(script) + "\n")


def wait_for_server():
    for _ in range(120):
        if subprocess.run(["psql", "-XAtqc", "SELECT 1", "-d", "template1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            return
        time.sleep(0.5)


def psql(database, sql):
    done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", database], input=sql, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("psql failed")
    return done.stdout.strip()


class Run:
    """All cases: hands them to workers and counts."""

    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.next = 0
        self.passed = 0
        self.skipped = 0
        self.loaded = 0
        self.direct = 0
        self.failures = []
        self.notes = {}
        self.until = time.monotonic() + options.seconds
        self.version = int(psql("template1", "SHOW server_version_num")) // 10000
        self.amcheck = psql("template1", "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'") == "1"
        self.databases = {name: "pgbulk_%s_%d" % (name.lower(), os.getpid()) for name in DATABASES}

    def create_databases(self):
        psql("template1", "SET client_min_messages = error;\n" + "\n".join(
            "CREATE DATABASE %s TEMPLATE template0 ENCODING '%s' LC_COLLATE 'C' LC_CTYPE 'C';" % (db, name) for name, db in self.databases.items()))
        for db in self.databases.values():
            psql(db, "CREATE EXTENSION pgbulk;" + ("CREATE EXTENSION amcheck;" if self.amcheck else "") + PERMANENT)

    def drop_databases(self):
        psql("template1", "\n".join("DROP DATABASE IF EXISTS %s (FORCE);" % db for db in self.databases.values()))

    def take(self):
        with self.lock:
            if self.options.case is not None:
                numbers = [self.options.case]
            else:
                numbers = range(self.options.cases)
            if self.next >= len(numbers) or time.monotonic() > self.until:
                return None
            self.next += 1
            return numbers[self.next - 1]

    def fail(self, runner, number, case, wrong):
        with self.lock:
            first = len(self.failures) < 20
        folder = os.path.join(self.options.keep, "case-%d" % number)
        if first and case is not None:
            try:
                if "lost" not in wrong[0]:
                    runner.reduce(case)
                    wrong = runner.run(case)[0] or wrong
                runner.reproduce(case, folder)
            except Exception:
                traceback.print_exc()
        with self.lock:
            self.failures.append(number)
            print("case %d (%s database): %s" % (number, case.database if case else "?", "\n    ".join(wrong[:5])))
            print("    again: %s --seed %s --case %d%s" % (os.path.basename(__file__), self.options.seed, number,
                                                         "; reduced: %s/script.sql" % folder if first else ""))
            sys.stdout.flush()

    @staticmethod
    def run_case(runner, case):
        """Runs it; again if it may have been another case that lost the server."""
        for _ in range(3):
            try:
                return runner.run(case)
            except Lost:
                pass
        return runner.run(case)

    def work(self, number, folder):
        runner = Runner(number, folder, self.version, self.databases, self.amcheck)
        while True:
            number = self.take()
            if number is None:
                break
            case = None
            try:
                case = make_case(self.options.seed, number, self.version)
                wrong, notes = self.run_case(runner, case)
            except Lost as lost:
                wrong, notes = [str(lost)], []
            except Exception:
                wrong, notes = ["this test is at fault: " + traceback.format_exc()], []
            if wrong:
                self.fail(runner, number, case, wrong)
                continue
            with self.lock:
                self.passed += wrong is not None
                self.skipped += wrong is None
                for note in notes:
                    self.notes.setdefault(re.sub(r"[\"'].*", "", note)[:60], []).append((number, note))

        self.loaded += runner.loaded
        self.direct += runner.direct
        for session in runner.sessions.values():
            session.close()

    def run(self):
        self.create_databases()
        try:
            with tempfile.TemporaryDirectory(prefix="pgbulk-copy-") as folder:
                os.chmod(folder, 0o755)
                threads = [threading.Thread(target=self.work, args=(n, folder)) for n in range(self.options.jobs)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        finally:
            self.drop_databases()

    def report(self):
        for kind, notes in sorted(self.notes.items()):
            if self.options.verbose:
                print("note, %d times: %s" % (len(notes), kind))
                for number, note in notes[:self.options.verbose]:
                    print("    case %d: %s" % (number, note))
        print("seed %s, server %d: %d cases, %d of them skipped; COPY loads %d, the direct writer %d times; %d notes" % (
            self.options.seed, self.version, self.next, self.skipped, self.loaded, self.direct, sum(map(len, self.notes.values()))))
        print("%d passed, %d failed" % (self.passed, len(self.failures)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000, help="how many at most")
    parser.add_argument("--seconds", type=int, default=150 if LONG else 30, help="start no case after these")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--case", type=int, help="this one only")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--keep", help="folder for what failing cases need")
    parser.add_argument("--verbose", type=int, nargs="?", const=10, default=0, help="show so many notes of a kind")
    options = parser.parse_args()

    made = options.keep is None
    options.keep = options.keep or tempfile.mkdtemp(prefix="pgbulk-copy-failed-")
    os.chmod(options.keep, 0o755)
    print("seed %s" % options.seed)
    run = Run(options)
    run.run()
    if made and not run.failures:
        shutil.rmtree(options.keep)
    run.report()
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
