"""The cases of copy_load.py: tables and files made up by chance.

A case is made from the seed and its number alone.  Where the newest COPY is
not at hand to judge it, applies() says so.
"""

import json
import random
import re

import copy_files
import copy_tables
import copy_values
from copy_files import DEFAULT, NULL
from copy_tables import Column, Table, ident, literal

DATABASES = ["UTF8", "LATIN1", "EUC_JP", "SQL_ASCII"]
CHUNKS = [16, 17, 64, 1000]
# How many parallel workers direct loads have; as in test/t/PgBulk.pm.
WORKERS = [0, 2]
FILES = {"UTF8": ["UTF8", "LATIN1", "WIN1252", "WIN1251", "SJIS", "BIG5", "GBK", "GB18030", "EUC_JP", "UHC", "EUC_KR", "JOHAB", "SHIFT_JIS_2004", "SQL_ASCII"],
         "LATIN1": ["LATIN1", "UTF8"], "EUC_JP": ["EUC_JP", "SJIS", "UTF8"], "SQL_ASCII": ["SQL_ASCII", "UTF8", "LATIN1", "SJIS"]}


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
        self.bare = False			# the direct writer takes the table
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


# ---- making cases ----

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
    case.bare = rng.random() < 0.3
    table = Table(rng, version, ascii_names=database != "UTF8", bare=case.bare)
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
    fill_load(rng, version, case, table)
    return case


def fill_load(rng, version, case, table):
    """The case's file and options."""
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
    case.direct = direct_runs(rng) if case.bare or rng.random() < 0.5 else []
    return case


def direct_runs(rng):
    """Options and chunk size of each: alone in large chunks, else in small ones."""
    runs = [(0, None)] + [(workers, rng.choice(CHUNKS + [rng.randint(16, 300)])) for workers in WORKERS]
    return [({"writer": "direct", "workers": workers}, chunk) for workers, chunk in runs]


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
