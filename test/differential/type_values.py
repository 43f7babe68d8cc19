#!/usr/bin/env python3
"""Compares columns of types with what their input functions make of the same texts, byte for byte.

A case is a file of some thousand texts of one type: good ones, odd ones, and mutations of both.  It is loaded under
on_error = ignore, with settings at random.  Each text must be in the table with the same bytes as the value of a cast,
or in the reject table with the SQLSTATE and the message of the cast's error.

The server is the one that PGHOST, PGPORT and so on name, on this machine and with pgbulk installed.

usage: type_values.py [--cases N] [--seconds N] [--seed N] [--case N] [--texts N] [--type NAME]
"""

import ipaddress
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


def nested_array(element):
    """arrays of two or three dimensions, some of them ragged"""
    def inner(rng, sizes):
        if not sizes:
            return '"%s"' % element(rng).replace("\\", "\\\\").replace('"', '\\"') if rng.random() < 0.5 else rng.choice(["NULL", element(rng)])
        n = sizes[0] + (rng.random() < 0.02)
        return "{" + ",".join(inner(rng, sizes[1:]) for _ in range(n)) + "}"
    return lambda rng: inner(rng, [rng.randint(1, 3) for _ in range(rng.randint(2, 3))])


def written(rng):
    """texts with few or many of the characters that files escape"""
    odd = rng.choice([0.02, 0.3, 0.9])
    return "".join(rng.choice(['"', '"', "\\", "\n", "\t", "\u00e9", "\u20ac", "'", ","]) if rng.random() < odd else rng.choice("abcdefgh ")
                   for _ in range(rng.choice([0, 1, 2, 15, 16, 17, 63, 64, 65, 120, 125, 126, 127, 128, 150]) + rng.randint(0, 3)))


def interval(rng):
    """as the output functions write it, or nearly"""
    units = [u for u in ("year", "mon", "week", "day", "hour", "min", "sec", "month", "minute", "second") if rng.random() < 0.25]
    if rng.random() < 0.1:
        rng.shuffle(units)
    fields = ["%s%s %s%s" % (values.sign(rng), rng.choice(["1", "0", "02", str(rng.randint(0, 10 ** rng.choice([1, 2, 3, 9, 10])))]), u, rng.choice(["", "s"]))
              for u in units]
    if rng.random() < 0.6 or not fields:
        fields.append(values.sign(rng) + (values.make_clock(rng) if rng.random() < 0.8 else "%d:02:03" % rng.randint(0, 10 ** rng.randint(1, 10))))
    return rng.choice([" "] * 20 + ["  ", ""]).join(fields) + rng.choice([""] * 20 + [" ", " ago", " 1 day"])


def address(rng):
    if rng.random() < 0.5:
        text = ".".join(str(rng.randint(0, rng.choice([1, 255, 255, 256]))) for _ in range(rng.choice([4] * 9 + [3, 5])))
        bits = 32
    else:
        groups = ["%x" % rng.choice([0, 0, 1, 0xffff, rng.randint(0, 0xffff)]) for _ in range(rng.choice([8] * 9 + [7, 9]))]
        bits = 128
        if rng.random() < 0.7:
            a, b = sorted((rng.randint(0, 8), rng.randint(0, 8)))
            text = ":".join(groups[:a]) + "::" + ":".join(groups[b:])
        else:
            text = ":".join(groups)
    return text + rng.choice(["", "/%d" % rng.choice([rng.randint(0, bits), bits, 8, 0, bits + 1]), "/%02d" % rng.randint(0, 9)][:rng.choice([2, 3])])


def network(rng):
    """an address whose bits after the netmask are mostly zeros"""
    try:
        return str(ipaddress.ip_network(address(rng), strict=False)) if rng.random() < 0.9 else address(rng)
    except ValueError:
        return address(rng)


def hardware(n):
    def make(rng):
        made = ["%02x" % rng.randrange(256) for _ in range(rng.choice([n] * 9 + [6, 8]))]
        return rng.choice([rng.choice(":::-").join(made), ":".join(made).upper(), ":".join(made[:3]) + "-" + "-".join(made[3:]), "".join(made), ".".join(made)])
    return make


def shape(pattern):
    number = element_of("float8")
    return lambda rng: "".join(("%.*f" % (rng.randint(0, 6), rng.uniform(-180, 180)) if rng.random() < 0.8 else number(rng)) if c == "#" else c for c in pattern)


def span(element, quote=False):
    """a range of what element makes"""
    def make(rng):
        if rng.random() < 0.02:
            return rng.choice(["empty", "EMPTY", " empty ", "emptyy"])
        low, high = element(rng), element(rng)
        if rng.random() < 0.9:
            low, high = sorted([low, high], key=lambda t: (len(t), t) if not quote else t)
        if rng.random() < 0.1:
            high = low
        bounds = ["" if rng.random() < 0.1 else '"%s"' % t if quote or rng.random() < 0.1 else rng.choice([t] * 9 + [" " + t]) for t in (low, high)]
        return rng.choice("[[(") + rng.choice([","] * 20 + [", ", ""]).join(bounds) + rng.choice("))]")
    return make


def spans(element, quote=False):
    """a multirange"""
    one = span(element, quote)
    return lambda rng: "{" + rng.choice([","] * 9 + [", "]).join(one(rng) for _ in range(rng.choice([0, 1, 1, 2, 3, 9]))) + rng.choice(["}"] * 20 + ["", "} ", ",}"])


def whole(rng):
    return str(rng.choice([rng.randint(-20, 20), rng.randint(0, 10 ** 6), 2147483647, 2147483646, -2147483648, 9223372036854775807]))


def day(rng):
    return "20%02d-%02d-%02d" % (rng.randint(0, 40), rng.randint(1, 12), rng.randint(1, 28)) if rng.random() < 0.9 else values.make_date(rng)


def moment(rng):
    return day(rng) + " " + values.make_clock(rng) + rng.choice(["", "", "+00", "+05:30", "Z"])


BOUNDS = [("int4", whole, False), ("int8", whole, False), ("num", lambda rng: str(rng.randint(-999, 999) / 100), False), ("date", day, False),
          ("ts", moment, True), ("tstz", moment, True)]

# Arrays of the types that have a fast converter, and of some that have none.
ELEMENTS = ["int2", "int4", "int8", "oid", "float4", "float8", "numeric", "bool", "uuid", "bytea", "text", "varchar", "bpchar", "varbit", "date", "time",
            "timestamp", "timestamptz", "json", "jsonb", "point", "positive", "pair", "int4range"]
TYPES = [Type("money", values.make_money, lambda rng: rng.choice([values.make_money(rng), copy_values.BY_NAME["money"].edge(rng)])),
         Type("mood", strings(*LABELS), label), copy_values.BY_NAME["bool"], copy_values.BY_NAME["json"],
         array_type("money", values.make_money), array_type("mood", label)] + [array_type(name) for name in ELEMENTS]

TYPES += [Type(name, good, copy_values.BY_NAME[name].edge if name in copy_values.BY_NAME else good) for name, good in [
    ("interval", interval), ("interval(2)", interval), ("inet", address), ("cidr", network), ("macaddr", hardware(6)), ("macaddr8", hardware(8)),
    ("point", shape("(#,#)")), ("box", shape("(#,#),(#,#)")), ("lseg", shape("[(#,#),(#,#)]")), ("circle", shape("<(#,#),#>"))]]
TYPES += [Type("%srange" % name, span(element, quote), copy_values.BY_NAME["tstzrange" if quote else "int4range"].edge) for name, element, quote in BOUNDS]
TYPES += [Type("%smultirange" % name, spans(element, quote), copy_values.BY_NAME["int4multirange"].edge) for name, element, quote in BOUNDS]
TYPES += [Type(name, element_of(base), copy_values.BY_NAME[base].edge) for name, base in [
    ("positive", "int4"), ("filled", "text"), ("nested", "int4"), ("day", "date"), ("level", "int2"),
    ("address", "inet"), ("answers", "int4[]"), ("spelling", "varchar"), ("doc", "jsonb"), ("halves", "float8")]]
# a cast cuts texts off, and rounds after it has read
TYPES += [Type("brief", strings("a", " ", "\u00e9"), strings("", "b")), Type("cents", lambda rng: "%.*f" % (rng.randint(0, 4), rng.uniform(-9, 10 ** rng.randint(1, 8))), strings("", "x", "NaN"))]
TYPES += [array_type("int4range", span(whole)), array_type("day", element_of("date"))]
# which refuse an element that is null
TYPES += [array_type("level", element_of("int2")), array_type("filled", element_of("text"))]
TYPES += [array_type("interval", interval), array_type("inet", address), array_type("macaddr", hardware(6))]

SCHEMA = copy_values.SCHEMA.replace("('sad', 'ok', 'happy', 'with space', '')", "(%s)" % ", ".join("'%s'" % text for text in LABELS)) + """
CREATE DOMAIN cents AS numeric(9,2) CHECK (VALUE > 0);
CREATE DOMAIN day AS date;
CREATE DOMAIN brief AS varchar(7);
CREATE DOMAIN level AS int2 CHECK (VALUE IN (0, 1, 7) OR VALUE > 100) NOT NULL;
CREATE DOMAIN address AS inet NOT NULL;
CREATE DOMAIN answers AS int4[];
CREATE DOMAIN spelling AS varchar CHECK (VALUE <> 'abc') CHECK (VALUE <> '');
CREATE DOMAIN doc AS jsonb CHECK (VALUE IS NOT NULL);
CREATE DOMAIN halves AS float8 CHECK (10 / VALUE <> 5);
CREATE TYPE caption;
CREATE FUNCTION caption_in(cstring) RETURNS caption LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textin';
CREATE FUNCTION caption_out(caption) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textout';
CREATE TYPE caption (INPUT = caption_in, OUTPUT = caption_out, LIKE = text);
"""
# texts, as text, with a length, filled up, and as a type that has only the input function of text
TYPES += [Type(name, written, written) for name in ("text", "varchar", "char(250)", "caption")]
TYPES += [Type(name + "[]", nested_array(element_of(name)), nested_array(element_of(name))) for name in ("int4", "text", "numeric")]

# Where a value of these is bad and has line ends, quotes in csv are taken for misplaced.
ONE_LINE = {"bool", "money", "interval", "interval(2)", "inet", "cidr", "macaddr", "macaddr8", "point", "box", "lseg", "circle"}

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
    seconds = 300               # all of them

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
