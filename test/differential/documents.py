#!/usr/bin/env python3
"""Compares columns of types json and jsonb with what json_in and jsonb_in make of the same texts, byte for byte.

A case is a file of some thousand documents: made by grammar, of all shapes, with keys and numbers that are told apart
only by what is at their ends, and about half of them mutated.  It is loaded under on_error = ignore.  Each document must
be in the table with the same bytes as the value of a cast, or in the reject table with the SQLSTATE and the message
of the cast's error.  Some cases are in a database with encoding LATIN1.

With --texts FOLDER the literals of the SQL files there are taken too, and mutated: PostgreSQL's own regression tests
(src/test/regress/sql) have many documents.

The server is the one that PGHOST, PGPORT and so on name, on this machine and with pgbulk installed.

usage: documents.py [--cases N] [--seconds N] [--seed N] [--case N] [--documents N] [--texts FOLDER]
"""

import glob
import json
import os
import random
import re

import values
from case_checker import CaseChecker, main
from copy_load import psql

ALPHABET = "{}[]{}[]::,,\"\"\"\\\\ \n\t0123456789.-+eEtrufalsn/b\x01\x1f\x7f\u00e9\u00a0u"
LETTERS = ["a", "b", "k", "name", " ", "0", "\u00e9", "\u00ff", "\u20ac", "\U0001f600", "{", "]", ",", ":", "/", "\x7f"]
ESCAPES = ["\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0061", "\\u00e9", "\\u20ac", "\\uD83d\\uDe00", "\\uffff", "\\u0001", "\\u007f",
           "\\u0080"]
# What jsonb and databases of other encodings refuse, and what is no escape.
ODD_ESCAPES = ["\\u0000", "\\ud800", "\\udc00", "\\ud800\\ud800", "\\udc00\\ud800", "\\ud83d\\n", "\\ud83d x", "\\u12", "\\u12g4", "\\x", "\\U0041", "\\"]
NUMBERS = ["0", "-0", "0.0", "-0.00", "0e0", "0e5", "-0e-5", "1", "-1", "10", "10000", "9999", "99999999", "100000000", "1e4", "1E+4", "1e-4", "1.0", "1.50", "0.1",
           "0.0001", "0.00010", "0.00000001", "12345678901234567890", "1234567890.0987654321", "1e63", "1e-63", "1e252", "1e255", "1e256", "1e-252", "1e-257", "1e1000",
           "1e-1000", "1e1001", "0." + "0" * 62 + "1", "0." + "0" * 63 + "1", "0." + "0" * 70, "9" * 100, "9" * 256, "9" * 300, "1" + "0" * 253, "1.5e300",
           "1e131071", "1e131072", "1e-16383", "1e-16384", "1e99999999999", "123456789012345.6", "1234567.8", "3.14159265358979"]
BAD_NUMBERS = ["01", "-", "+1", "1.", ".5", "1e", "1e+", "--1", "0x1", "1_000", "NaN", "Infinity", "1a", "1.2.3", "00"]


class Maker:
    """Documents at random."""

    def __init__(self, rng, latin):
        self.rng = rng
        self.letters = [c for c in LETTERS if not latin or max(c) < "\u0100"]

    def space(self):
        return self.rng.choice(["", "", "", "", "", " ", " ", "\n", "\t", "\r\n  ", " " * self.rng.randint(0, 70)])

    def string(self, longest=8):
        r = self.rng
        escapes = ODD_ESCAPES if r.random() < 0.02 else ESCAPES
        share = r.choice([0, 0, 0, 0.2, 0.8])
        return '"%s"' % "".join(r.choice(escapes if r.random() < share else self.letters) for _ in range(r.randint(0, longest)))

    def key(self):
        r = self.rng
        kind = r.randrange(8)
        if kind < 3:
            return '"%s"' % "".join(r.choice("ab") for _ in range(r.randint(0, 3)))
        if kind == 3:
            return '"%s%s"' % ("common start "[:r.choice([5, 6, 7, 8, 13])], r.choice("abc"))
        if kind == 4:
            return '"%s"' % r.choice(["\\u0061", "a\\u0062", "\\u0061\\u0062\\u0063", "\\/", "/"])
        if kind == 5:
            return '"%s%d"' % (r.choice(["", "k", "key number "]), r.randrange(30))
        if kind == 6 and r.random() < 0.003:
            return '"%s%s"' % ("x" * r.choice([65534, 65535, 65536, 70000]), r.choice("ab"))
        return self.string()

    def scalar(self):
        r = self.rng
        kind = r.randrange(10)
        if kind < 2:
            return r.choice(["null", "true", "false"])
        if kind < 4:
            return self.string(r.choice([3, 8, 30, 200]))
        if kind == 4:
            return r.choice(NUMBERS) if r.random() > 0.01 else r.choice(BAD_NUMBERS)
        if kind == 5:
            text = values.make_decimal(r)
            return text if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", text) or r.random() < 0.01 else "7"
        return str(r.randrange(-10 ** r.randint(1, 12), 10 ** r.randint(1, 19)))

    def value(self, depth=0):
        r = self.rng
        kind = r.random()
        if kind < 0.35 + 0.1 * depth:
            text = self.scalar()
        else:
            n = r.choice([0, 1, 2, 2, 3, 3, 5, r.choice([15, 16, 17, 18]), r.randint(0, 40) if depth < 2 else 1])
            if depth == 0 and r.random() < 0.02:
                n = r.choice([31, 32, 33, 63, 64, 65, 66, 300])
            deeper = [self.value(depth + 1) if n < 10 else self.scalar() for _ in range(n)]
            if kind < 0.75:
                text = "{%s}" % ",".join("%s%s%s:%s" % (self.space(), self.key(), self.space(), v) for v in deeper)
            else:
                text = "[%s]" % ",".join(deeper)
        return self.space() + text + self.space()

    def nested(self):
        r = self.rng
        depth = r.choice([60, 63, 64, 65, 66, 100, 1000, 6000] if r.random() < 0.3 else [10, 62, 63, 64, 65])
        parts = [r.choice([("[", "]"), ('{"a":', "}"), ("[1,", "]"), ('{"b":2,"a":', ',"a":1}')]) for _ in range(depth)]
        return "".join(p[0] for p in parts) + "[]" + "".join(p[1] for p in reversed(parts))

    def mutate(self, text):
        r = self.rng
        for _ in range(r.choice([1, 1, 1, 2, 4])):
            at = r.randint(0, len(text))
            kind = r.randrange(6)
            if kind == 0:
                text = text[:at] + r.choice(ALPHABET) + text[at:]
            elif kind == 1:
                text = text[:at] + text[at + 1:]
            elif kind == 2:
                text = text[:at] + r.choice(ALPHABET) + text[at + 1:]
            elif kind == 3:
                text = text[:at] + r.choice(ESCAPES + ODD_ESCAPES + NUMBERS + BAD_NUMBERS + [self.key(), ","]) + text[at:]
            elif kind == 4:
                other = r.randint(0, len(text))
                text = text[:at] + text[other:other + r.randint(0, 20)] + text[at:]
            elif r.random() < 0.3:
                text = text[:at]
        return text

    def document(self):
        text = self.nested() if self.rng.random() < 0.005 else self.value()
        return self.mutate(text) if self.rng.random() < 0.45 else text


# What the cast of a text gives, or its error; each document as the tables have it, or as it was refused.
FUNCTION = """CREATE FUNCTION expect_%(type)s(source text, OUT doc %(type)s, OUT state text, OUT message text) LANGUAGE plpgsql AS $$
    BEGIN
        doc := source::%(type)s;
    EXCEPTION WHEN OTHERS THEN
        state := SQLSTATE;
        message := SQLERRM;
    END $$;
    CREATE TABLE %(type)s_docs (id int, doc %(type)s);
"""
COMPARE = """SET LOCAL enable_nestloop = off; SET TRANSACTION READ ONLY;
    WITH expected AS MATERIALIZED (SELECT id, source, (expect_%(type)s(source)).* FROM texts),
        refused AS MATERIALIZED (SELECT substring(raw_line FROM '^[0-9]+')::int AS id, sqlstate, message FROM rejects)
    SELECT id, e.state, e.message, r.sqlstate, r.message, left(e.doc::text, 300), left(t.doc::text, 300), left(source, 2000)
    FROM expected e LEFT JOIN %(type)s_docs t USING (id) LEFT JOIN refused r USING (id)
    WHERE e.state IS NULL AND (t.id IS NULL OR r.id IS NOT NULL OR NOT record_image_eq(ROW(t.doc), ROW(e.doc))) OR
        e.state IS NOT NULL AND (t.id IS NOT NULL OR r.sqlstate IS DISTINCT FROM e.state OR r.message IS DISTINCT FROM e.message);
    SELECT 'counts', count(*) FROM %(type)s_docs;
"""


class Checker(CaseChecker):
    name = "documents"
    cases = 8

    def __init__(self, options):
        super().__init__(options)
        self.documents = int(options.documents or 2000)
        self.utf8 = self.database
        self.latin = self.database + "_latin1"
        self.literals = []
        for path in sorted(glob.glob(os.path.join(options.texts, "*.sql"))) if options.texts else []:
            with open(path, encoding="utf-8", errors="replace") as f:
                self.literals += [t.replace("''", "'") for t in re.findall(r"'((?:[^']|'')*)'", f.read())]
        self.loaded = self.all = 0

    def open(self):
        psql("template1", "CREATE DATABASE %s ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0" % self.latin)
        os.environ["PGCLIENTENCODING"] = "UTF8"
        for self.database in self.latin, self.utf8:
            _, errors = self.sql("CREATE EXTENSION pgbulk; CREATE TABLE texts (id int, source text);" +
                                 "".join(FUNCTION % {"type": t} for t in ("json", "jsonb")))
            if errors:
                raise RuntimeError(errors)

    def run(self):
        try:
            return super().run()
        finally:
            psql("template1", "DROP DATABASE IF EXISTS %s WITH (FORCE)" % self.latin)

    def texts(self, rng, latin):
        maker = Maker(rng, latin)
        texts = []
        while len(texts) < self.documents:
            if self.literals and rng.random() < 0.5:
                text = rng.choice(self.literals)
                text = maker.mutate(text) if rng.random() < 0.6 else text
            else:
                text = maker.document()
            if "\0" not in text and not (latin and max(text, default="") > "\u00ff"):
                texts.append(text)
        return texts

    def check(self, number):
        rng = random.Random("%s/%d" % (self.options.seed, number))
        kind = rng.choice(["json", "jsonb", "jsonb", "jsonb"])
        latin = rng.random() < 0.25
        csv = rng.random() < 0.5
        self.chunk = rng.choice([4096, 65536, 262144])
        texts = self.texts(rng, latin)
        escape = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})
        paths = [os.path.join(self.folder, name) for name in ("texts", "file")]
        with open(paths[0], "w", encoding="utf-8", newline="") as out:
            out.writelines("%d\t%s\n" % (i, t.translate(escape)) for i, t in enumerate(texts))
        with open(paths[1], "w", encoding="utf-8", newline="") as out:
            if csv:
                out.writelines('%d,"%s"\n' % (i, t.replace('"', '""')) for i, t in enumerate(texts))
            else:
                out.writelines("%d\t%s\n" % (i, t.translate(escape)) for i, t in enumerate(texts))
        options = {"format": "csv" if csv else "text", "encoding": "UTF8", "on_error": "ignore", "reject_table": "rejects", "log_verbosity": "silent",
                   "workers": rng.choice([0, 1]), "writer": rng.choice(["direct", "buffered"])}
        if options["writer"] == "buffered":
            del options["workers"]
        script = """TRUNCATE texts, %(type)s_docs; DROP TABLE IF EXISTS rejects;
            COPY texts FROM '%(texts)s';
            SELECT 'loaded', rows_loaded FROM bulk_load('%(type)s_docs', '%(file)s', '%(options)s');
            BEGIN; %(compare)s COMMIT;""" % {"type": kind, "texts": paths[0], "file": paths[1], "options": json.dumps(options), "compare": COMPARE % {"type": kind}}
        self.database = self.latin if latin else self.utf8
        output, errors = self.sql(script)
        self.database = self.utf8
        lines = output.splitlines()
        loaded = [int(line.split("|")[1]) for line in lines if line.startswith("loaded|")]
        wrong = [line for line in lines if not line.startswith(("loaded|", "counts|"))]
        if errors or wrong or not loaded or not any(line == "counts|%d" % loaded[0] for line in lines):
            print("case %d (%s, %s, %s): %s" % (number, "LATIN1" if latin else "UTF8", kind, options, errors))
            print("\n".join(line[:2500] for line in wrong[:8]))
            self.failed += 1
            return
        self.passed += 1
        self.loaded += loaded[0]
        self.all += len(texts)

    def summary(self):
        return ["%d documents, of which %d were loaded" % (self.all, self.loaded)]


if __name__ == "__main__":
    main(Checker, __doc__, [("--documents", "of each case"), ("--texts", "a folder with SQL files whose literals are taken, too")])
