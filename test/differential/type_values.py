#!/usr/bin/env python3
"""Compares columns of types with what their input functions make of the same texts, byte for byte.

A case is a file of some thousand texts of one type: good ones, odd ones, and mutations of both.  It is loaded under
on_error = ignore, with settings at random.  Each text must be in the table with the same bytes as the value of a cast,
or in the reject table with the SQLSTATE and the message of the cast's error.

The server is the one that PGHOST, PGPORT and so on name, on this machine and with pgbulk installed.

usage: type_values.py [--cases N] [--seconds N] [--seed N] [--case N] [--texts N] [--type NAME]
"""

import json
import os
import random

import copy_values
import values
from case_checker import CaseChecker, main
from copy_values import Type, array, edge_array, strings

LABELS = ["sad", "ok", "happy", "with space", "", "x" * 63, "y" * 62, "line\nend", "\u00e9t\u00e9", "Sad", "null", "NULL", "a,b", "{", '"', "\\", "%", "1234567", "12345678",
          "123456789"]


def label(rng):
    made = rng.choice(LABELS)
    return rng.choice([made] * 6 + [made + " ", made.upper(), made * 2, made[:-1]])


def element_of(name):
    """-> how to make texts for elements"""
    t = copy_values.BY_NAME[name]
    return lambda rng: t.edge(rng) if rng.random() < 0.1 else t.good(rng)


def long_array(element):
    """arrays of any length, of which some are longer than what is stored in the row"""
    def make(rng):
        n = rng.choice([1, 2, 7, 8, 9, 63, 64, 65, 500])
        return "{" + rng.choice([",", ", ", " ,"]).join('"%s"' % element(rng).replace("\\", "\\\\").replace('"', '\\"') if rng.random() < 0.2 else
                                                         rng.choice(["NULL", "null"]) if rng.random() < 0.05 else element(rng) for _ in range(n)) + "}"
    return make


def array_type(name, element=None):
    element = element or element_of(name)
    good, edge, long = array(element), edge_array(element), long_array(element)
    return Type(name + "[]", good, lambda rng: rng.choice([good, edge, edge, long])(rng))


# Arrays of the types that have a fast converter, and of some that have none.
ELEMENTS = ["int2", "int4", "int8", "oid", "float4", "float8", "numeric", "bool", "uuid", "bytea", "text", "varchar", "bpchar", "varbit", "date", "time",
            "timestamp", "timestamptz", "json", "jsonb", "point", "positive", "pair", "int4range"]
TYPES = [Type("money", values.make_money, lambda rng: rng.choice([values.make_money(rng), copy_values.BY_NAME["money"].edge(rng)])),
         Type("mood", strings(*LABELS), label), copy_values.BY_NAME["bool"], copy_values.BY_NAME["json"],
         array_type("money", values.make_money), array_type("mood", label)] + [array_type(name) for name in ELEMENTS]

SCHEMA = copy_values.SCHEMA.replace("('sad', 'ok', 'happy', 'with space', '')", "(%s)" % ", ".join("'%s'" % text for text in LABELS))
# Where a value of these is bad and has line ends, quotes in csv are taken for misplaced.
ONE_LINE = {"bool", "money"}

FUNCTION = """CREATE FUNCTION pg_temp.expect(source text, OUT value %(type)s, OUT state text, OUT message text) LANGUAGE plpgsql AS $$
    BEGIN
        value := source::%(type)s;
    EXCEPTION WHEN OTHERS THEN
        state := SQLSTATE;
        message := SQLERRM;
    END $$;
"""
COMPARE = """SET TRANSACTION READ ONLY; SET LOCAL enable_nestloop = off;
    WITH expected AS MATERIALIZED (SELECT id, source, (pg_temp.expect(source)).* FROM texts),
        refused AS MATERIALIZED (SELECT substring(raw_line FROM '^[0-9]+')::int AS id, sqlstate, message FROM rejects)
    SELECT id, e.state, e.message, r.sqlstate, r.message, left(e.value::text, 300), left(t.value::text, 300), left(source, 2000)
    FROM expected e LEFT JOIN loaded t USING (id) LEFT JOIN refused r USING (id)
    WHERE e.state IS NULL AND (t.id IS NULL OR r.id IS NOT NULL OR NOT record_image_eq(ROW(t.value), ROW(e.value))) OR
        e.state IS NOT NULL AND (t.id IS NOT NULL OR r.sqlstate IS DISTINCT FROM e.state OR r.message IS DISTINCT FROM e.message);
    SELECT 'counts', count(*) FROM loaded;
"""


class Checker(CaseChecker):
    name = "type_values"
    cases = len(TYPES)

    def __init__(self, options):
        super().__init__(options)
        self.texts = int(options.texts or 1000)
        self.types = [t for t in TYPES if not options.type or t.sql in options.type.split(",")]
        self.loaded = self.all = 0

    def open(self):
        os.environ["PGCLIENTENCODING"] = "UTF8"
        _, errors = self.sql("CREATE EXTENSION pgbulk; CREATE TABLE texts (id int, source text);" + SCHEMA)
        if errors:
            raise RuntimeError(errors)

    def make(self, rng, t, csv):
        text = "\0"
        while "\0" in text or copy_values.MOVING.search(text) or csv and t.sql in ONE_LINE and ("\n" in text or "\r" in text):
            text = t.good(rng) if rng.random() < 0.4 else t.edge(rng)
            if rng.random() < 0.3:
                text = values.mutate(rng, text)
        return text

    def write(self, path, texts, csv):
        escape = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})
        with open(path, "w", encoding="utf-8", newline="") as out:
            for i, text in enumerate(texts):
                out.write('%d,"%s"\n' % (i, text.replace('"', '""')) if csv else "%d\t%s\n" % (i, text.translate(escape)))

    def check(self, number):
        rng = random.Random("%s/%d" % (self.options.seed, number))
        t = self.types[number % len(self.types)]
        csv = rng.random() < 0.5
        self.chunk = rng.choice([4096, 65536, 262144])
        texts = [self.make(rng, t, csv) for _ in range(self.texts)]
        paths = [os.path.join(self.folder, name) for name in ("texts", "file")]
        self.write(paths[0], texts, False)
        self.write(paths[1], texts, csv)
        options = {"format": "csv" if csv else "text", "on_error": "ignore", "reject_table": "rejects", "log_verbosity": "silent",
                   "workers": rng.choice([0, 1]), "writer": rng.choice(["direct", "buffered"])}
        if options["writer"] == "buffered":
            del options["workers"]
        settings = {name: rng.choice(some) for name, some in copy_values.SETTINGS.items()}
        script = "".join("SET %s = '%s';" % s for s in settings.items()) + FUNCTION % {"type": t.sql} + """
            TRUNCATE texts; DROP TABLE IF EXISTS rejects, loaded; CREATE TABLE loaded (id int, value %s);
            COPY texts FROM '%s';
            SELECT 'loaded', rows_loaded FROM bulk_load('loaded', '%s', '%s');
            BEGIN; %s COMMIT;""" % (t.sql, *paths, json.dumps(options), COMPARE)
        output, errors = self.sql(script)
        lines = output.splitlines()
        loaded = [int(line.split("|")[1]) for line in lines if line.startswith("loaded|")]
        wrong = [line for line in lines if not line.startswith(("loaded|", "counts|"))]
        if errors or wrong or not loaded or not any(line == "counts|%d" % loaded[0] for line in lines):
            print("case %d (%s, %s, %s): %s" % (number, t.sql, options, settings, errors))
            print("\n".join(line[:2500] for line in wrong[:8]))
            self.failed += 1
            return
        self.passed += 1
        self.loaded += loaded[0]
        self.all += len(texts)

    def summary(self):
        return ["%d texts, of which %d were loaded" % (self.all, self.loaded)]


if __name__ == "__main__":
    main(Checker, __doc__, [("--texts", "of each case"), ("--type", "types, with commas between them")])
