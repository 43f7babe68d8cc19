#!/usr/bin/env python3
"""Compares loads with parallel workers with loads by one process.

Makes tables and files, most of them broken in some way, some compressed, and loads each of
them without workers, then with one, two and three, in chunks of all sizes.
Whatever a load says and does must be the same: the rows and their order, the
counters, the rejects in their table and their file, every NOTICE (but for remedies), and of an
error its SQLSTATE, its texts and its CONTEXT.  (In the reject table a short
row may find room on an earlier page; the order of rejects is that of the
file.)  A few loads find no worker free; and in most there must be some, or
this test would test nothing.

What the right outcome is, the other tests here say.

The server is the one that PGHOST, PGPORT and so on name, on this machine and
with pgbulk installed.

usage: workers.py [--cases N] [--seconds N] [--seed N] [--case N] [--jobs N]
                  [--keep FOLDER]
"""

import argparse
import gzip
import json
import os
import random
import re
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import copy_files
import copy_tables
import copy_values
from copy_files import NULL, DEFAULT
from copy_load import LONG, Lost, psql, wait_for_server
from copy_tables import Column, ident, literal

# What every case may use.
PERMANENT = copy_values.SCHEMA + """
CREATE FUNCTION grumbles(i bigint) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
    BEGIN
        IF i % 97 = 13 THEN
            RAISE EXCEPTION 'no % here', i USING DETAIL = 'Some numbers are not wanted.', HINT = 'Take another one.';
        END IF;
        RETURN i % 89 <> 5;
    END $$;
CREATE FUNCTION divides(i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT 1000 / (i % 50)';
"""

# Of the details all but what may differ, as how many processes were free.  How much of a compressed file has
# been read where rows end before it depends on who reads.
RESULT = """SELECT rows_loaded, rows_rejected, rows_duplicate, rows_replaced, rows_filtered, rows_read, %s,
    details - '{load_id,seconds,cpu_seconds,idle_seconds,wal_bytes,no_workers,not_direct,direct,indexes}'::text[] ||
    jsonb_build_object('indexes', (SELECT jsonb_agg(i - 'processes') FROM jsonb_array_elements(details->'indexes') i)) AS details,
    details->>'no_workers', workers FROM """

# of the trigger's own error
TRIGGER_HINT = "Take another one."

REJECTS = """SELECT target, file, line_number, byte_offset, reason, column_name, field_value, sqlstate, message, raw_line,
    encode(raw_bytes, 'hex') FROM rejected"""

# Types that a domain's constraints or their own input keep from workers.
UNFIT = ("positive", "nested", "filled", "positive[]", "regclass", "regtype")

# Types that any index can have.
INDEXED = ("int2", "int4", "int8", "numeric", "text", "uuid", "date", "timestamp")

CHUNKS = [16, 17, 63, 64, 100, 256, 1000, 4096, 16384, 65536]


class Session:
    """A psql process, kept from case to case."""
    END = "@@end of answer@@"

    def __init__(self, database):
        env = dict(os.environ, PGDATABASE=database, PGCLIENTENCODING="UTF8")
        self.process = subprocess.Popen(["psql", "-XAtq", "-F", "\t", "-v", "SHOW_CONTEXT=always"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)

    def run(self, script, timeout=120):
        """Lines of standard output, and of standard error without psql's place."""
        end = (self.END + "\n").encode()
        found = {self.process.stdout: b"", self.process.stderr: b""}
        try:
            self.process.stdin.write((script + "\n\\echo %s\n\\warn %s\n" % (self.END, self.END)).encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Lost("psql has ended")
        until = time.monotonic() + timeout
        while not all(text.endswith(end) for text in found.values()):
            ready = select.select([f for f in found if not found[f].endswith(end)], [], [], max(0, until - time.monotonic()))[0]
            if not ready:
                self.process.kill()
                raise Lost("no answer in %d s" % timeout)
            for file in ready:
                chunk = os.read(file.fileno(), 65536)
                if not chunk:
                    raise Lost("the connection was lost")
                found[file] += chunk
        out, err = [text[:-len(end)].decode("utf-8", "replace") for text in found.values()]
        return out.split("\n"), re.sub(r"^psql:<stdin>:\d+: ", "", err, flags=re.M)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# ------------------------------------------------------------------- tables

def wide(rng, row):
    """Of all sizes, some compressed, some out of line, some both."""
    kind = rng.random()
    if kind < 0.6:
        return copy_values.letters(rng, 0, 40)
    if kind < 0.8:
        return copy_values.letters(rng, 1, 30) * rng.randint(50, 400)
    return "%x" % rng.getrandbits(4 * rng.choice([1900, 2100, 3000, 8000, 20000, 40000]))


class Table:
    """The table t, for the direct writer."""

    def __init__(self, rng, version):
        names = [n for n in copy_tables.NAMES if n != "id"]
        rng.shuffle(names)
        pool = copy_values.FAST if rng.random() < 0.6 else [t for t in copy_values.TYPES if t.sql not in UNFIT or rng.random() < 0.02]
        self.columns = [Column(names.pop(), rng.choice(pool)) for _ in range(rng.randint(1, 5))]
        self.numbers = None
        self.constraints = []
        self.after = []
        self.leaf = False
        for column in self.columns:
            self.decorate(rng, column)
        if rng.random() < 0.6:
            self.add_numbers(rng, version, names)
        if rng.random() < 0.35:
            self.add_wide(rng, names)

    @staticmethod
    def decorate(rng, column):
        if rng.random() < 0.15:
            column.clauses += " NOT NULL"
            column.not_null = True
        if rng.random() < 0.2:
            column.clauses += " DEFAULT CAST(%s AS %s)" % (literal(column.type.good(rng)), column.type.sql.split(" COLLATE")[0])
            column.has_default = True

    def add_numbers(self, rng, version, names):
        """A column of row numbers, and what can be made to look at it."""
        column = Column("id", copy_values.BY_NAME["int8" if rng.random() < 0.3 else "int4"])
        strange = rng.choice([0, 0, 0.001, 0.02])
        column.make = lambda rng, row: str(rng.choice([-1, 13, 5, 50, 10 ** 6, 2 ** 31]) if rng.random() < strange else row * 4850 % 100000 + 1)
        self.columns.insert(rng.randint(0, len(self.columns)), column)
        name = ident("id")
        if rng.random() < 0.4:
            stored = "VIRTUAL" if version >= 18 and rng.random() < 0.3 else "STORED"
            # what is computed when it is read must not fail then
            expression = rng.choice(["%s * 2", "divides(%s)", "%s %% 7", "1000 / (%s %% 50)", "nullif(%s %% 9, 4)", "length(%s::text)"] if stored == "STORED" else ["%s %% 7"]) % name
            self.columns.insert(rng.randint(0, len(self.columns)), self.generated(names.pop(), expression, stored))
        for _ in range(rng.choice([0, 0, 1, 2])):
            self.constraints.append("CHECK (%s)" % rng.choice(["grumbles(%s)", "%s < 900000", "divides(%s) < 999", "1000 / (%s %% 50) < 999", "%s <> 13", "length(%s::text) < 7"]) % name)
        self.leaf = rng.random() < 0.2

    @staticmethod
    def generated(name, expression, stored):
        column = Column(name, copy_values.BY_NAME["int8"])
        column.clauses = " GENERATED ALWAYS AS (%s) %s" % (expression, stored)
        column.loadable = False
        return column

    def add_wide(self, rng, names):
        column = Column(names.pop(), copy_values.BY_NAME["text"])
        column.make = wide
        if rng.random() < 0.4:
            self.after.append("ALTER TABLE t ALTER %s SET STORAGE %s" % (ident(column.name), rng.choice(["EXTERNAL", "EXTENDED", "MAIN"])))
        self.columns.append(column)

    def setup(self, rng):
        lines = [c.definition() for c in self.columns]
        dropped = rng.random() < 0.2 and not self.leaf
        if dropped:
            lines.insert(rng.randint(0, len(lines)), "dropped text")
        body = "(%s)" % ", ".join(lines + self.constraints)
        if self.leaf:
            sql = ["CREATE TABLE parent %s PARTITION BY RANGE (id)" % body, "CREATE TABLE t PARTITION OF parent FOR VALUES FROM (0) TO (99999)"]
        else:
            sql = ["CREATE %sTABLE t %s" % ("UNLOGGED " if rng.random() < 0.1 else "", body)]
        return sql + (["ALTER TABLE t DROP COLUMN dropped"] if dropped else []) + self.after


# -------------------------------------------------------------------- cases

class Case:
    def __init__(self):
        self.setup = []
        self.options = {}
        self.settings = {}
        self.mode = "plain"
        self.files = []				# each a list of rows, which are bytes
        self.packed = []			# of each, whether it is compressed
        self.writer = "direct"

    def size(self):
        return sum(len(row) for rows in self.files for row in rows)


# Around the load, which is %s.
MODES = {
    "plain": "%s",
    "block": "BEGIN;\n%s\nCOMMIT;",
    "after a row": "BEGIN;\nINSERT INTO other VALUES (1);\n%s\nCOMMIT;",
    "savepoint": "BEGIN;\nSAVEPOINT s;\n%s\nRELEASE s;\nCOMMIT;",
    "written savepoint": "BEGIN;\nSAVEPOINT s;\nINSERT INTO other VALUES (1);\n%s\nROLLBACK TO s;\nCOMMIT;",
    "serializable": "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT count(*) FROM other;\n%s\nCOMMIT;",
    "twice": "%s\n%s",
}


def make_options(rng, case, table, given, dialect):
    options = case.options = dialect.options()
    options["on_error"] = rng.choice(["stop"] * 3 + ["ignore"] * 4 + ["set_null"] * 2)
    if options["on_error"] != "stop":
        if rng.random() < 0.6:
            options["reject_table"] = "rejected"
        if rng.random() < 0.4:
            options["reject_file"] = "@/rejects"
        if rng.random() < 0.25:
            options["reject_limit"] = rng.choice([0, 1, 5, 30, 100, "0%", "1%", "10%", "50%"])
        options["log_verbosity"] = rng.choice(["default", "default", "verbose", "verbose", "silent"])
    if rng.random() < 0.2:
        column = ident(rng.choice(table.columns).name)
        options["where"] = rng.choice(["%s IS NOT NULL", "length(%s::text) < 9", "hashtext(%s::text) %% 3 <> 0"]) % column
        if "id" in given and rng.random() < 0.4:
            options["where"] = rng.choice(["divides(id) > 30", "grumbles(id)", "id % 2 = 0"])
    if rng.random() < 0.1:
        options["skip"] = rng.choice([1, 2, 7, 40])
    if rng.random() < 0.12:
        options["limit"] = rng.choice([1, 20, 1000, rng.randrange(300), rng.randrange(5000)])
    if rng.random() < 0.2:
        options["missing_columns"] = rng.choice(["null", "default"])
    if rng.random() < 0.15:
        options["extra_columns"] = "ignore"
    if rng.random() < 0.15:
        options["truncate"] = True
        options["freeze"] = rng.random() < 0.5
    if rng.random() < 0.05:
        options["analyze"] = True
    if dialect.format == "csv":
        for name in ("force_null", "force_not_null"):
            if rng.random() < 0.15:
                options[name] = rng.choice(["*", sorted(set(rng.choice(given) for _ in range(2)))])
    if dialect.null and rng.random() < 0.15:
        options["null"] = [dialect.null, "NA"]


def choose_fields(rng, case, table):
    """The columns that the file's fields are for, None for no column."""
    given = [c for c in table.columns if c.loadable]
    if rng.random() < 0.15:
        rng.shuffle(given)
        given = given[:rng.randint(1, len(given))]
        if rng.random() < 0.3:
            given.insert(rng.randint(0, len(given)), None)
        case.options["columns"] = [c.name if c else None for c in given]
    return given


def make_field(rng, column, row, dialect, odd):
    if column is None:
        return "passed over"
    if rng.random() < odd:
        return rng.choice([NULL, column.type.edge(rng), copy_files.nasty(rng, dialect), copy_files.nasty(rng, dialect)])
    if dialect.default and rng.random() < (0.1 if column.has_default else 0.0002):
        return DEFAULT
    if not column.not_null and rng.random() < 0.06:
        return NULL
    return column.value(rng, row)


# Lines that are no rows; {q} is the quote, {d} the delimiter.
STRAY_CSV = ["", " ", "{q}never closed", "a{q}b{d}{q}", "{q}closed{q}too{q} late{q}{d}", "\\.", "{d}", "{d}{d}{d}{d}{d}{d}{d}{d}{d}", "{q}{q}{q}", "{q}a\n\n\nb{q}", "x\ry",
             "{q}far{d}\nfrom\n{q}{q}\nhere{q}{d}1", "{q}", "1{d}{q}a\nb", "# {q}"]
STRAY_TEXT = ["", " ", "\\", "\\\\", "a\\\nb", "\\..", "a\\.", "{d}", "{d}{d}{d}{d}{d}{d}{d}{d}{d}", "x\ry", "\\x", "\\N", "1\\{d}2"]


def stray_line(rng, dialect):
    text = rng.choice(STRAY_CSV if dialect.format == "csv" else STRAY_TEXT)
    return text.replace("{d}", dialect.delimiter).replace("{q}", dialect.quote)


def header_lines(rng, case, given, dialect):
    """What stands before the rows, as texts; sets option header."""
    kind = rng.random()
    names = [c.name if c else "nothing" for c in given]
    if kind < 0.75 or any(c is None for c in given):
        case.options.pop("header", None)
        return []
    if kind < 0.85:
        count = rng.randint(1, 4)
        case.options["header"] = count
        return [rng.choice(["# a line", "", dialect.row(rng, names), "a\tb"]) for _ in range(count)]
    case.options["header"] = "match"
    if kind > 0.93:
        case.options["header"] = "map"
        case.options.pop("columns", None)
    return [dialect.row(rng, names)]


def make_file(rng, given, dialect, encoding, header, count):
    """The rows of a file; most of what is wrong comes late."""
    odd = rng.choice([0, 0, 0.0003, 0.002, 0.02, 0.15])
    strays = rng.choice([0, 0, 0.001, 0.01, 0.05])
    quiet = rng.random() * count if odd + strays > 0 and rng.random() < 0.7 else 0
    ragged = rng.choice([0, 0, 0.002, 0.1])
    mixed = rng.choice([0] * 6 + [0.001, 0.1])
    marker = rng.randrange(count) if count and dialect.format == "text" and rng.random() < 0.12 else None
    lines = [(text, dialect.eol) for text in header]
    for row in range(count):
        late = row >= quiet
        fields = [make_field(rng, c, row, dialect, odd if late else 0) for c in given]
        if late and rng.random() < ragged:
            fields = rng.choice([fields[:-1], fields + ["x"], fields + [""], []])
        eol = rng.choice(["\n", "\r\n", "\r"]) if late and rng.random() < mixed else dialect.eol
        lines.append((dialect.row(rng, fields), eol))
        if late and rng.random() < strays:
            lines.append((stray_line(rng, dialect), dialect.eol))
        if row == marker:
            lines.append(("\\.", dialect.eol))
    rows = [dialect.encode(text + eol, encoding) for text, eol in lines]
    if rows and rng.random() < 0.3:
        rows[-1] = dialect.encode(lines[-1][0], encoding)
    if rows and rng.random() < 0.15:
        for _ in range(rng.choice([1, 1, 5])):
            at = rng.randrange(int(len(rows) * rng.random()), len(rows))
            rows[at] = copy_files.spoil(rng, rows[at])
    if rng.random() < 0.07:
        rows.insert(0, b"\xef\xbb\xbf")
    return rows


def spoil_header(rng, rows, lines):
    """Makes a file's header another than that of the others."""
    kind = rng.random()
    if kind < 0.3:
        del rows[:rng.randint(1, lines)]
    elif kind < 0.6:
        rows.insert(0, rng.choice([b"\n", b"another line\n", b"\xef\xbb\xbf"]))
    elif rows:
        rows[0] = copy_files.spoil(rng, rows[0])


def make_case(seed, number, version):
    rng = random.Random("%s/%d" % (seed, number))
    case = Case()
    table = Table(rng, version)
    case.setup = ["CREATE TABLE other (i int)"] + table.setup(rng)
    given = choose_fields(rng, case, table)
    columns = case.options.get("columns")
    dialect = copy_files.Dialect(rng, version, plain=rng.random() < 0.5)
    encoding = "UTF8"
    if rng.random() < 0.25:
        encoding = dialect.encoding = rng.choice(["LATIN1"] * 6 + ["UTF8"] * 3 + ["EUC_JP", "SJIS"])
    dialect.header = False
    make_options(rng, case, table, [c.name for c in given if c] or [table.columns[0].name], dialect)
    if columns is not None:
        case.options["columns"] = columns
    header = header_lines(rng, case, given, dialect)
    counts = [rng.choice([0, 1, 5, 40, 150, 150, 400, 400, 400, 1200, 1200, 3000] if rng.random() < 0.3 else [150, 400, 400, 900, 1500])
              for _ in range(rng.choice([1] * 6 + [2, 3, 5, 9]))]
    for count in counts:
        if len(counts) > 1 and rng.random() < 0.1:
            dialect.eol = rng.choice(["\n", "\r\n", "\r"])
        case.files.append(make_file(rng, given, dialect, encoding, header, count))
    if header and len(counts) > 1 and rng.random() < 0.3:
        spoil_header(rng, rng.choice(case.files), len(header))
    packed = rng.choice([0, 0, 0, 0.5, 1])
    case.packed = [rng.random() < packed for _ in case.files]
    case.mode = rng.choice(["plain"] * 10 + list(MODES))
    for name, choices in copy_values.SETTINGS.items():
        if rng.random() < 0.3:
            case.settings[name] = rng.choice(choices)
    choose_writer(random.Random("writer %s/%d" % (seed, number)), case, table)
    return case


def choose_writer(rng, case, table):
    """That of tables in use has indexes to keep, too."""
    if rng.random() < 0.5:
        return
    case.writer = "buffered"
    if rng.random() < 0.2:
        case.settings["maintenance_work_mem"] = rng.choice(["64kB", "1MB"])
    plain = [c for c in table.columns if c.type.sql in INDEXED and "VIRTUAL" not in c.clauses]
    for column in rng.sample(plain, min(len(plain), rng.choice([0, 1, 1, 2, 3]))):
        # an error when a row is stored may come before or after one of the next rows, as batches have it
        key = "md5(%s)" if column.type.sql == "text" else "%s"
        case.setup.append("CREATE INDEX ON t USING %s (%s)" % (rng.choice(["btree", "btree", "btree", "hash"]), key % ident(column.name)))


def make_runs(seed, number, size):
    """How to load it: (workers, chunk size, whether workers can be had)."""
    rng = random.Random("runs %s/%d" % (seed, number))
    runs = []
    for workers in (1, 2, 3):
        most = size // (4 * workers)
        fit = [c for c in CHUNKS if c <= most and c >= size // 20000]
        chunk = rng.choice(fit) if fit and rng.random() < 0.9 else rng.choice(CHUNKS)
        if fit and rng.random() < 0.3:
            chunk = rng.randint(fit[0], fit[-1])
        runs.append((workers, chunk, True))
    if rng.random() < 0.05:
        runs.append((2, rng.choice(CHUNKS[4:]), False))
    return runs


# ------------------------------------------------------------ running cases

class Outcome:
    def __init__(self, said, folder):
        lines, self.errors = said
        self.problem = None
        self.workers = 0
        self.reason = ""			# why there were none
        self.loads = []
        for line in lines:
            if line.startswith("@@result\t"):
                result, reason, workers = line.rsplit("\t", 2)
                self.loads.append(result)
                self.reason = reason
                self.workers = max(self.workers, int(workers))
            elif line.startswith("@@state "):
                self.loads.append(line)
            elif line.startswith("@@wrong"):
                self.problem = self.problem or line
        if "@@ready" not in lines:
            self.problem = "the setup failed: %s" % self.errors[:500]
        self.files = {}
        for name in ("rows", "rejected", "stamps", "rejects", "rejects.log"):
            path = os.path.join(folder, name)
            if os.path.exists(path):
                with open(path, "rb") as file:
                    self.files[name] = file.read().split(b"\n")
                os.unlink(path)


def first_difference(ours, theirs):
    for n, (a, b) in enumerate(zip(ours, theirs)):
        if a != b:
            begin = max(len(os.path.commonprefix([a, b])) - 100, 0)
            return "line %d: ...%r and ...%r" % (n + 1, a[begin:begin + 300], b[begin:begin + 300])
    return "%d and %d lines" % (len(ours), len(theirs))


def messages(run):
    """Those of a run, without remedies: these are tried on rows of the backend's own chunks, too.

    Whether a file looks like JSON is seen by its first chunk, and some chunks here are tiny.
    """
    lines = []
    remedied = False
    for line in run.errors.split("\n"):
        # a value in a message may have line ends
        head = re.match(r"(psql:.*: )?(NOTICE|WARNING|ERROR|INFO): ", line)
        if head:
            remedied = head.group(2) == "ERROR" or head.group(2) == "NOTICE" and re.search(r"\d+ rows?: ", line) is not None
        if head and line.endswith(" is JSON and is passed over"):
            remedied = True
        elif not (remedied and line.startswith("HINT:") and TRIGGER_HINT not in line):
            lines.append(line)
    return lines


def compare(one, many, ordered):
    """What is wrong, or None."""
    if one.problem or many.problem:
        return one.problem or many.problem
    if messages(one) != messages(many):
        return "messages: " + first_difference(messages(one), messages(many))
    if one.loads != many.loads:
        return "results: " + first_difference(one.loads, many.loads)
    if one.files.keys() != many.files.keys():
        return "files: %s and %s" % (sorted(one.files), sorted(many.files))
    for name, ours in one.files.items():
        theirs = many.files[name]
        if name == "rejected" or (name == "rows" and not ordered):
            ours, theirs = sorted(ours), sorted(theirs)
        if ours != theirs:
            return "%s: %s" % (name, first_difference(ours, theirs))
    return None


class Runner:
    def __init__(self, number, folder, database, amcheck):
        self.folder = os.path.join(folder, "job%d" % number)
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o777)
        self.schema = "job%d" % number
        self.database = database
        self.amcheck = amcheck
        self.session = None
        self.parallel = self.sought = 0
        self.reasons = {}

    def close(self):
        if self.session is not None:
            self.session.close()

    def write_files(self, case, folder):
        for n, rows in enumerate(case.files):
            path = os.path.join(folder, "file%d" % n)
            with open(path, "wb") as file:
                data = b"".join(rows)
                file.write(gzip.compress(data, 1) if case.packed[n] else data)
            os.chmod(path, 0o644)

    def load_sql(self, case, folder, more):
        options = dict(case.options, **more)
        if "reject_file" in options:
            options["reject_file"] = options["reject_file"].replace("@", folder)
        call = "bulk_load('t', %s, %s)" % (literal(folder + "/file*"), literal(json.dumps(options, ensure_ascii=False)))
        read = "NULL" if "limit" in options and any(case.packed) else "bytes_read"
        load = "SELECT '@@result', r.* FROM (%s%s) r;\n\\echo @@state :SQLSTATE" % (RESULT % read, call)
        mode = MODES[case.mode]
        return mode.replace("%s", load)

    def prepare_sql(self, case, schema, chunk, workers_free):
        lines = ["SET client_min_messages = error;", "ROLLBACK;", "DISCARD ALL;", "SET client_min_messages = error;", "SET statement_timeout = '100s';",
                 "DROP SCHEMA IF EXISTS %s CASCADE;" % schema, "CREATE SCHEMA %s;" % schema, "SET search_path = %s, public;" % schema]
        lines += ["%s;\n\\if :ERROR\n\\echo @@wrong :LAST_ERROR_MESSAGE\n\\endif" % sql for sql in case.setup]
        lines += ["SET %s = %s;" % (name, literal(value) if name != "DateStyle" else value) for name, value in case.settings.items()]
        if chunk:
            lines.append("SET pgbulk.chunk_size = %d;" % chunk)
        if not workers_free:
            lines.append("SET max_parallel_workers = 0;")
        return lines + ["SET client_min_messages = notice;"]

    def dump_sql(self, case):
        folder = self.folder
        lines = ["SET client_min_messages = error;", "ROLLBACK;", "SET client_min_messages = error;",
                 "COPY (SELECT t.* FROM t ORDER BY ctid) TO '%s/rows';\n\\if :ERROR\n\\echo @@wrong rows :LAST_ERROR_MESSAGE\n\\endif" % folder,
                 "COPY (SELECT count(DISTINCT xmin::text), count(DISTINCT cmin::text) FROM t) TO '%s/stamps';" % folder]
        if "reject_table" in case.options:
            lines.append("SELECT to_regclass('rejected') IS NOT NULL AS there \\gset\n\\if :there\nCOPY (%s) TO '%s/rejected';\n\\endif" % (REJECTS.replace("\n", " "), folder))
        if self.amcheck:
            lines.append("SELECT '@@wrong', v.* FROM (SELECT 't'::regclass::oid UNION ALL SELECT reltoastrelid FROM pg_class WHERE oid = 't'::regclass AND reltoastrelid <> 0) o (id), "
                         "verify_heapam(o.id, check_toast => true) v LIMIT 1;")
        return lines

    def load(self, case, more, chunk=None, workers_free=True):
        self.session = self.session or Session(self.database)
        lines = self.prepare_sql(case, self.schema, chunk, workers_free)
        lines += ["\\echo @@ready", self.load_sql(case, self.folder, more)] + self.dump_sql(case)
        try:
            return Outcome(self.session.run("\n".join(lines)), self.folder)
        except Lost:
            self.session.process.kill()
            self.session = None
            wait_for_server()
            raise

    def judge(self, case, one, run):
        workers, chunk, free = run
        many = self.load(case, {"writer": case.writer, "workers": workers}, chunk, free)
        if free and case.size() >= 8 * workers * chunk and any(line.startswith("@@result") for line in many.loads):
            self.sought += 1
            self.parallel += many.workers > 0
            if not many.workers:
                reason = many.reason or "not said"
                self.reasons[reason] = self.reasons.get(reason, 0) + 1
        # which page has space for a row depends on how many come at once
        wrong = compare(one, many, case.writer == "direct")
        if not wrong and many.workers and not free:
            wrong = "%d workers where none is free" % many.workers
        return wrong and "workers %d, chunk_size %d: %s" % (workers, chunk, wrong)

    def reference(self, case):
        return self.load(case, {"writer": case.writer, "workers": 0})

    def run(self, case, runs, buffered):
        """A list of (what is wrong, the run it was in)."""
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        self.write_files(case, self.folder)
        one = self.reference(case)
        if one.problem:
            return [(one.problem, None)]
        if buffered and case.writer == "direct":
            wrong = compare(self.load(case, {"writer": "buffered"}), one, False)
            if wrong:
                return [("the writers differ: " + wrong, None)]
        for run in runs:
            wrong = self.judge(case, one, run)
            if wrong:
                return [(wrong, run)]
        return []

    # ---- failures ----

    def still_wrong(self, case, run):
        try:
            return any(self.run(case, [run] if run else [], run is None) for _ in range(3))
        except Lost:
            return True

    def reduce(self, case, run, limit=120):
        """Leaves out rows as long as something is wrong."""
        for n in range(len(case.files)):
            size = max(1, len(case.files[n]) // 2)
            while size and limit > 0:
                at = 0
                while at < len(case.files[n]) and limit > 0:
                    rows = case.files[n]
                    case.files[n] = rows[:at] + rows[at + size:]
                    limit -= 1
                    if not self.still_wrong(case, run):
                        case.files[n] = rows
                        at += size
                size //= 2

    def reproduce(self, case, run, folder):
        """Leaves the files and a script beside them."""
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o777)
        self.write_files(case, folder)
        workers, chunk, free = run or (0, None, True)
        script = ["-- in a database with prelude.sql"]
        for more, size in (({"writer": case.writer, "workers": 0}, None), ({"writer": case.writer, "workers": workers} if run else {"writer": "buffered"}, chunk)):
            script += ["\\echo ==== %s" % json.dumps(more)] + self.prepare_sql(case, "reproduction", size, free)
            script += [self.load_sql(case, folder, more), "TABLE t;"] + (["TABLE rejected;"] if "reject_table" in case.options else [])
        with open(os.path.join(folder, "prelude.sql"), "w") as file:
            file.write("CREATE EXTENSION pgbulk;" + PERMANENT)
        with open(os.path.join(folder, "script.sql"), "w") as file:
            file.write("\n".join(script) + "\n")


class Run:
    """All cases: hands them to threads and counts."""

    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.next = self.passed = self.parallel = self.sought = 0
        self.failures = []
        self.reasons = {}
        self.until = time.monotonic() + options.seconds
        self.version = int(psql("template1", "SHOW server_version_num")) // 10000
        self.amcheck = psql("template1", "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'") == "1"
        self.database = "pgbulk_workers_%d" % os.getpid()

    def take(self):
        with self.lock:
            numbers = range(self.options.cases) if self.options.case is None else [self.options.case]
            if self.next >= len(numbers) or time.monotonic() > self.until:
                return None
            self.next += 1
            return numbers[self.next - 1]

    def fail(self, runner, number, case, wrong, run):
        with self.lock:
            first = len(self.failures) < 5
            self.failures.append(number)
        folder = os.path.join(self.options.keep, "case-%d" % number)
        if first and case is not None:
            try:
                if not wrong.startswith("lost"):
                    runner.reduce(case, run)
                    again = runner.run(case, [run] if run else [], run is None)
                    wrong += "; reduced: " + again[0][0] if again else ""
                runner.reproduce(case, run, folder)
            except Exception:
                traceback.print_exc()
        with self.lock:
            print("case %d: %s" % (number, wrong))
            print("    again: %s --seed %s --case %d%s" % (os.path.basename(__file__), self.options.seed, number,
                                                         "; reduced: %s/script.sql" % folder if first else ""))
            sys.stdout.flush()

    def run_case(self, runner, number):
        case = make_case(self.options.seed, number, self.version)
        runs = make_runs(self.options.seed, number, case.size())
        for _ in range(3):
            try:
                return case, runner.run(case, runs, number % 10 == 3)
            except Lost as lost:
                wrong = "lost the server: %s" % lost
        return case, [(wrong, runs[0])]

    def work(self, number, folder):
        runner = Runner(number, folder, self.database, self.amcheck)
        while True:
            number = self.take()
            if number is None:
                break
            try:
                case, wrong = self.run_case(runner, number)
            except Exception:
                case, wrong = None, [("this test is at fault: " + traceback.format_exc(), None)]
            if wrong:
                self.fail(runner, number, case, *wrong[0])
            else:
                with self.lock:
                    self.passed += 1
        with self.lock:
            self.sought += runner.sought
            self.parallel += runner.parallel
            for reason, count in runner.reasons.items():
                self.reasons[reason] = self.reasons.get(reason, 0) + count
        runner.close()

    def run(self):
        psql("template1", "SET client_min_messages = error;\nCREATE DATABASE %s TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';" % self.database)
        try:
            psql(self.database, "CREATE EXTENSION pgbulk;" + ("CREATE EXTENSION amcheck;" if self.amcheck else "") + PERMANENT)
            with tempfile.TemporaryDirectory(prefix="pgbulk-workers-") as folder:
                os.chmod(folder, 0o755)
                threads = [threading.Thread(target=self.work, args=(n, folder)) for n in range(self.options.jobs)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        finally:
            psql("template1", "DROP DATABASE IF EXISTS %s (FORCE);" % self.database)

    def report(self):
        # before 17 not those where each row needs an expression
        possible = self.sought - sum(n for why, n in self.reasons.items() if "since PostgreSQL 17" in why)
        enough = self.options.case is not None or self.parallel * 2 > possible
        if not enough:
            print("failed: most loads were without workers")
        print("seed %s, server %d: %d cases; workers in %d of %d loads that asked for them" % (
            self.options.seed, self.version, self.next, self.parallel, self.sought))
        for reason, count in sorted(self.reasons.items(), key=lambda r: -r[1]):
            print("    none in %d: %s" % (count, reason))
        failed = len(self.failures) + (not enough)
        print("%d passed, %d failed" % (self.passed, failed))
        return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=400, help="how many at most")
    parser.add_argument("--seconds", type=int, default=60 if LONG else 25, help="start no case after these")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--case", type=int, help="this one only")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="each may want three workers at a time")
    parser.add_argument("--keep", help="folder for what failing cases need")
    options = parser.parse_args()

    made = options.keep is None
    options.keep = options.keep or tempfile.mkdtemp(prefix="pgbulk-workers-failed-")
    os.chmod(options.keep, 0o755)
    print("seed %s" % options.seed)
    run = Run(options)
    run.run()
    if made and not run.failures:
        shutil.rmtree(options.keep)
    return 1 if run.report() else 0


if __name__ == "__main__":
    sys.exit(main())
