#!/usr/bin/env python3
"""Compares bulk_load with COPY on generated tables and files.

Three kinds of case:

- load: any table, any file, most of it good.  COPY and bulk_load get the same
  file with the same options.  Both must succeed, with the same rows in the
  same order and the same bits, the same count, the same entries in the log
  that triggers keep; or both fail, with the same SQLSTATE.  The same again
  with a small pgbulk.chunk_size, with the direct writer where it takes the
  table, and, where COPY succeeds, with on_error = ignore (of bulk_load; of
  COPY too, from 17 on).
- sift: a plain table and a file of odd values, good and bad.  bulk_load with
  on_error = ignore says which rows are bad.  COPY must load the file without
  them to the same table, and refuse each of them with the SQLSTATE that the
  reject has.
- binary: like load, with a file that COPY has written, sound or corrupted.

Rows are compared as COPY writes them in binary format, in the order of ctid,
with the size of each value.  Heap and btree indexes are checked by amcheck
where the server has it.

The oracle is COPY of the newest server (see applies()).  One difference is
meant: a byte order mark is dropped, so no file starts with one.

The server is the one that PGHOST, PGPORT and so on name, on this machine and
with pgbulk installed.

usage: copy_load.py [--cases N] [--seconds N] [--seed N] [--case N] [--jobs N]
                    [--keep FOLDER] [--verbose]
"""

import argparse
import json
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
from copy_files import DEFAULT, NULL, Raw
from copy_tables import Column, Table, ident, literal

DATABASES = ["UTF8", "LATIN1", "EUC_JP", "SQL_ASCII"]
CHUNKS = [16, 17, 64, 1000]
FILES = {"UTF8": ["UTF8", "LATIN1", "WIN1252", "WIN1251", "SJIS", "BIG5", "GBK", "GB18030", "EUC_JP", "UHC", "EUC_KR", "JOHAB", "SHIFT_JIS_2004", "SQL_ASCII"],
         "LATIN1": ["LATIN1", "UTF8"], "EUC_JP": ["EUC_JP", "SJIS", "UTF8"], "SQL_ASCII": ["SQL_ASCII", "UTF8", "LATIN1", "SJIS"]}

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


class Case:
    """A table, a file, and how to load the one from the other."""

    def __init__(self, kind, database):
        self.kind = kind
        self.database = database
        self.setup = []
        self.target = "t"
        self.columns = None			# names, or None for all
        self.options = {}			# COPY's, by their names
        self.where = None
        self.settings = {}
        self.dumps = []
        self.rows = []				# the file: its rows with their line ends
        self.transaction = False	# all in one, or committed step by step
        self.twice = False
        self.binary_source = None	# SQL that fills a table for COPY TO
        self.any_order = False		# of the log
        self.settled = True			# a skipped row changes nothing for the others
        self.counted = True			# COPY counts what a trigger leaves out
        self.spoil_seed = None
        self.corrupt_seed = None

    def data(self):
        data = b"".join(self.rows)
        if self.spoil_seed is not None:
            data = copy_files.spoil(random.Random(self.spoil_seed), data)
        return data

    # ---- SQL ----

    def copy_sql(self, path, more=None):
        options = dict(self.options, **(more or {}))
        if "options" in options:
            options.pop("options")
        words = []
        for name, value in options.items():
            if isinstance(value, bool):
                text = "true" if value else "false"
            elif isinstance(value, list):
                text = "(" + ", ".join(map(ident, value)) + ")"
            else:
                text = "*" if value == "*" else literal(value)
            words.append(name + " " + text)
        columns = " (" + ", ".join(map(ident, self.columns)) + ")" if self.columns is not None else ""
        return "COPY %s%s FROM %s WITH (%s)%s;" % (ident(self.target), columns, literal(path), ", ".join(words),
                                                   " WHERE " + self.where if self.where else "")

    def bulk_sql(self, path, more=None):
        options = dict(self.options, **(more or {}))
        if self.columns is not None:
            options["columns"] = self.columns
        if self.where:
            options["where"] = self.where
        return "SELECT rows_loaded AS rows, rows_rejected AS rejected FROM bulk_load(%s, %s, %s) \\gset" % (
            literal(ident(self.target)), literal(path), literal(json.dumps(options, ensure_ascii=False)))

    def prepare_sql(self, schema):
        lines = ["ROLLBACK;", "DISCARD ALL;", "SET client_min_messages = error;", "SET statement_timeout = '60s';",
                 "DROP SCHEMA IF EXISTS %s CASCADE;" % schema, "CREATE SCHEMA %s;" % schema, "SET search_path = %s, public;" % schema, "BEGIN;"]
        setup = [copy_files.SWAPS[self.database].decode(sql.rstrip().rstrip(";")) for sql in self.setup]
        lines += ["\\;\n".join(setup) + ";", "\\if :ERROR", "\\echo @@setup :LAST_ERROR_MESSAGE", "\\endif"]
        if not self.transaction:
            lines.append("COMMIT;")
        lines.append("SELECT 'ready', %s::regclass;" % literal(ident(self.target)))
        lines += ["SET %s = %s;" % (name, literal(value) if name != "DateStyle" else value) for name, value in self.settings.items()]
        return lines

    def side_sql(self, load, schema, folder, extra=()):
        """Prepares, loads and dumps; see Outcome for what it prints."""
        lines = self.prepare_sql(schema)
        for _ in range(2 if self.twice else 1):
            lines += ["SELECT setseed(0.25) AS seed \\gset", "\\unset rows", "\\unset rejected", load,
                      "\\echo @@load :SQLSTATE :ROW_COUNT :rows :rejected", "\\echo @@message :LAST_ERROR_MESSAGE"]
        if self.transaction:
            lines += ["SET CONSTRAINTS ALL IMMEDIATE;", "\\echo @@constraints :SQLSTATE"]
        lines.append("SET client_encoding = '%s';" % self.database)
        for n, query in enumerate(self.dumps):
            lines += ["COPY (%s) TO '%s/dump%d' (FORMAT binary);" % (query, folder, n), "\\echo @@dump :SQLSTATE :LAST_ERROR_MESSAGE"]
        lines += list(extra)
        lines += ["ROLLBACK;", "RESET ALL;", "SET client_min_messages = error;", "DISCARD TEMP;", "DROP SCHEMA %s CASCADE;" % schema]
        return "\n".join(lines)


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


# ------------------------------------------------------------- making cases

def add_settings(rng, case):
    for name, choices in copy_values.SETTINGS.items():
        if rng.random() < 0.6:
            case.settings[name] = rng.choice(choices)


def choose_encoding(rng, case, dialect):
    """The file's encoding: by option, by client_encoding, or the usual one."""
    encoding = case.database
    kind = rng.random()
    if kind < (0.3 if case.database == "UTF8" else 0.7):
        encoding = rng.choice(FILES[case.database])
        dialect.encoding = encoding
    elif kind < 0.8:
        dialect.encoding = encoding
    else:
        encoding = rng.choice(FILES[case.database])
        case.settings["client_encoding"] = encoding
    return encoding


def make_field(rng, column, row, dialect, odd):
    if rng.random() < odd:
        return rng.choice([NULL, column.type.edge(rng), copy_files.nasty(rng, dialect), copy_files.nasty(rng, dialect)])
    if dialect.default and rng.random() < (0.1 if column.has_default else 0.001):
        return DEFAULT
    if not column.not_null and rng.random() < 0.08:
        return NULL
    return column.value(rng, row)


def header_line(rng, case, table, dialect):
    names = case.columns if case.columns is not None else [c.name for c in table.columns if c.loadable]
    if dialect.header == "match":
        if rng.random() < 0.1:
            names = [n + rng.choice(["", "", "x"]) for n in names[:rng.choice([9, 9, 1])]]
        return dialect.row(rng, names)
    return dialect.row(rng, [copy_files.nasty(rng, dialect) if rng.random() < 0.1 else n for n in names])


def write_file(rng, case, table, dialect, encoding, count, odd):
    """The case's rows as bytes; odd is the chance that a field is anything."""
    columns = [c for c in table.columns if c.loadable]
    if case.columns is not None:
        columns = [c for name in case.columns for c in columns if c.name == name]
    ragged = odd > 0 and rng.random() < 0.2
    mixed = rng.random() < 0.04
    lines = [header_line(rng, case, table, dialect)] if dialect.header else []
    for row in range(count):
        fields = [make_field(rng, c, row, dialect, odd) for c in columns]
        if ragged and rng.random() < 0.1:
            fields = rng.choice([fields[:-1], fields + ["x"], fields + [""], []])
        lines.append(dialect.row(rng, fields))
        if odd and rng.random() < 0.01:
            lines.append(rng.choice(["", " ", "\\.", dialect.delimiter]))
    case.rows = [dialect.encode(line + (rng.choice(["\n", "\r\n", "\r"]) if mixed else dialect.eol), encoding) for line in lines]
    if case.rows and rng.random() < 0.3:
        case.rows[-1] = dialect.encode(lines[-1], encoding)
    elif rng.random() < 0.05:
        case.rows.append(rng.choice([b"\\.", b"\\.\n", b"\\.\r\n", b"\\.\nmore\n", b"\n", b"\r\n", b"\x1a", b"\\"]))
    if case.rows and case.rows[0].startswith(b"\xef\xbb\xbf"):
        case.rows[0] = b"x" + case.rows[0]


def choose_columns(rng, case, table):
    if rng.random() < 0.7:
        return
    names = [c.name for c in table.columns if c.loadable]
    rng.shuffle(names)
    needed = {c.name for c in table.columns if c.loadable and c.not_null and not c.has_default}
    keep = rng.randint(1, max(1, len(names)))
    case.columns = [n for i, n in enumerate(names) if i < keep or (n in needed and rng.random() < 0.97)]
    if rng.random() < 0.02:
        case.columns.append(rng.choice([c.name for c in table.columns] + ["nosuch"]))


def choose_where(rng, table):
    column = ident(rng.choice(table.columns).name)
    return rng.choice(["%s IS NOT NULL" % column, "length(%s::text) < 9" % column, "random() < 0.5", "hashtext(%s::text) %% 3 = 0" % column, "true", "false",
                       "%s IS NULL OR %s = %s" % (column, column, column), "rows_now() < 5"])


def table_case(rng, kind, version, database):
    case = Case(kind, database)
    table = Table(rng, version, ascii_names=database != "UTF8")
    if rng.random() < 0.15:
        case.where = choose_where(rng, table)
    case.setup = table.setup("rows_now" in (case.where or ""))
    case.target = table.name
    case.dumps = table.dumps()
    case.any_order = table.partitioned
    case.settled = not (table.busy or table.serial or case.where)
    case.counted = table.kind != "view"
    case.transaction = rng.random() < 0.5
    case.twice = not table.serial and not table.has_key and rng.random() < 0.1
    choose_columns(rng, case, table)
    add_settings(rng, case)
    return case, table


def make_load(rng, version, database):
    case, table = table_case(rng, "load", version, database)
    dialect = copy_files.Dialect(rng, version)
    encoding = choose_encoding(rng, case, dialect)
    count = rng.choice([0, 1, 2, 3, 10, 10, 30, 30, 30, 100]) if rng.random() < 0.97 else rng.randint(900, 2500)
    odd = rng.choice([0, 0, 0, 0.005, 0.02, 0.2])
    write_file(rng, case, table, dialect, encoding, count, odd)
    case.options = dialect.options()
    if dialect.format == "csv":
        given = case.columns or [c.name for c in table.columns if c.loadable]
        for name in ("force_null", "force_not_null"):
            if given and rng.random() < 0.15:
                everything = version >= 17 and rng.random() < 0.3
                case.options[name] = "*" if everything else sorted(set(rng.sample(given, rng.randint(1, len(given)))))
    if table.kind == "plain" and case.transaction and not case.twice and rng.random() < 0.2:
        case.options["freeze"] = True
    if rng.random() < 0.12:
        case.spoil_seed = rng.random()
    return case


def make_sift(rng, version, database):
    case = Case("sift", database)
    single = rng.random() < 0.7
    pool = copy_values.FAST if rng.random() < 0.6 else copy_values.TYPES
    columns = [Column("c%d" % n, rng.choice(pool)) for n in range(1 if single else rng.randint(2, 4))]
    case.setup = ["CREATE TABLE sifted (%s)" % ", ".join(c.definition() for c in columns)]
    case.target = "sifted"		# no other name for a regtype to find
    case.dumps = ["SELECT %s, t.* FROM sifted t ORDER BY ctid" % ", ".join("pg_column_size(%s)" % c.name for c in columns)]
    add_settings(rng, case)
    dialect = copy_files.Dialect(rng, version, plain=rng.random() < 0.6)
    dialect.header = False
    dialect.eol = "\n"
    encoding = choose_encoding(rng, case, dialect)
    if encoding == "SJIS" and database == "SQL_ASCII":
        encoding = dialect.encoding = database		# bytes like \\ that end a row would not
        case.settings.pop("client_encoding", None)
    for row in range(80 if single else 60):
        fields = [c.type.edge(rng) if single or rng.random() < 0.3 else c.type.good(rng) for c in columns]
        if "\\." in fields:
            continue
        if dialect.format == "csv":
            # bulk_load takes a bad value with a line end for a sign of a
            # stray quote, and looks for rows behind it
            fields = [f if c.type.sql in ("text", "varchar", "bpchar", 'text COLLATE "C"') else re.sub("[\r\n]", " ", f) for c, f in zip(columns, fields)]
        case.rows.append(dialect.encode(dialect.row(rng, fields) + "\n", encoding))
    if case.rows and case.rows[0].startswith(b"\xef\xbb\xbf"):
        del case.rows[0]
    case.options = dialect.options()
    return case


def make_binary(rng, version, database):
    case, table = table_case(rng, "binary", version, database)
    case.options = {"format": "binary"}
    case.settings.pop("client_encoding", None)
    columns = [c for c in table.columns if c.loadable]
    if case.columns is not None:
        columns = [c for name in case.columns for c in columns if c.name == name]
    values = []
    for row in range(rng.choice([0, 1, 5, 30])):
        fields = [make_field(rng, c, row, copy_files.Dialect(rng, 0, "csv", plain=True), 0) for c in columns]
        if database != "UTF8":
            fields = [f if f is None else "".join(ch if ord(ch) < 128 else "?" for ch in f) for f in fields]
        values.append("(%s)" % ", ".join("NULL" if f is None else literal(f) for f in fields))
    types = [c.type.sql for c in columns]
    case.binary_source = "CREATE TABLE source (%s);" % ", ".join("c%d %s" % (n, t) for n, t in enumerate(types))
    if values:
        case.binary_source += "INSERT INTO source VALUES %s;" % ", ".join(values)
    if rng.random() < 0.5:
        case.corrupt_seed = rng.random()
    return case


def make_case(seed, number, version):
    rng = random.Random("%s/%d" % (seed, number))
    database = rng.choice(["UTF8"] * 6 + DATABASES[1:])
    make = rng.choice([make_load] * 6 + [make_sift] * 3 + [make_binary] * 2)
    case = make(rng, version, database)
    case.chunks = [None, rng.choice(CHUNKS)]
    case.ignore = rng.random() < 0.5
    case.direct = rng.random() < 0.5
    return case


def applies(case, version):
    """
    Whether COPY of this server can judge the case.  What it lacks is not
    generated (option "default" before 16, "*" in force_null before 17); here
    is what it does otherwise than the newest server.
    """
    data = case.data()
    encoding = case.options.get("encoding") or case.settings.get("client_encoding") or case.database
    if encoding == "SQL_ASCII" and case.database == "UTF8" and not valid_utf8(data):
        # COPY lets bytes of an unknown encoding in unchecked; bulk_load does
        # not, whatever they are said to be.
        return False
    if version < 18 and case.options.get("format") == "csv":
        # A line of \. alone ended csv files too, even one within quotes.
        if re.search(rb"(^|[\r\n])\\\.", data):
            return False
    if version < 18 and case.options.get("format") == "text" and re.search(rb"[^\r\n]\\\.", data):
        # So did \. behind other text on its line; now that is an error.
        return False
    return True


def valid_utf8(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# ------------------------------------------------------------ running cases

class Runner:
    def __init__(self, number, folder, version, databases, amcheck):
        self.amcheck = amcheck
        self.loaded = 0				# cases that COPY loads
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
        if case.ignore and not copy.failed():
            runs.append(({"on_error": "ignore"}, random.Random(len(case.rows)).choice(case.chunks)))
        if case.direct:
            runs.append(({"writer": "direct"}, case.chunks[0]))
        notes = []
        for more, chunk in runs:
            said = ("".join(" %s=%s" % pair for pair in more.items())) + (" chunk_size=%d" % chunk if chunk else "")
            bulk = self.side(case, case.bulk_sql(self.path, more), [AMCHECK % (self.schema, self.schema)] if self.amcheck and not copy.failed() else (), chunk)
            if "writer" in more and NO_WRITER.match(bulk.messages[0] if bulk.messages else ""):
                continue
            wrong, note = compare(case, copy, bulk, said)
            if note and note.startswith(STRICTER):
                return [], [note]
            if not wrong and "on_error" in more and bulk.rejected:
                wrong = "rejects%s what COPY loads: %d rows" % (said, bulk.rejected)
            wrong = wrong or "; ".join(line for line in bulk.other if line.startswith("amcheck"))
            if wrong:
                return [wrong], notes
            notes += [note] if note else []
        if case.ignore and copy.failed() and case.settled and self.version >= 17 and case.kind == "load":
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
        more = dict({"on_error": "ignore", "reject_table": "rejected"}, **({"writer": "direct"} if case.direct else {}))
        bulk = self.side(case, case.bulk_sql(path, more), query, chunk=case.chunks[1])
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
        script = ["-- in a database with encoding %s and prelude.sql; the chunk sizes tried: %s" % (case.database, case.chunks)]
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
        print("seed %s, server %d: %d cases, %d of them skipped; COPY loads %d; %d notes" % (
            self.options.seed, self.version, self.next, self.skipped, self.loaded, sum(map(len, self.notes.values()))))
        print("%d passed, %d failed" % (self.passed, len(self.failures)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000, help="how many at most")
    parser.add_argument("--seconds", type=int, default=150, help="start no case after these")
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10 ** 9)))
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
