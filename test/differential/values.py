#!/usr/bin/env python3
"""Compares the converters of src/scan with a server's input functions.

Makes texts for each type (edge cases, values by grammar, mutations of both),
lets print_values.c convert them, and asks the server that PGHOST, PGPORT and
so on name.  What must hold:

- a value means that the server accepts the text and has the same bits;
- "syntax" and "range" mean that it refuses with the type's SQLSTATE for them;
- "ask" is always right, but plain values must not need it.

Dates and times are asked under several DateStyles.

usage: values.py [--cases N] [--seed N] [--driver PATH]
"""

import argparse
import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SOURCES = ["values.c", "values_number.c", "values_time.c", "values_money.c"]

INTEGERS = {"int2": 15, "int4": 31, "int8": 63}
TIMES = ["date", "timestamp", "timestamptz", "time"]
TYPES = list(INTEGERS) + ["oid", "float4", "float8", "numeric", "bool",
                          "uuid", "varbit", "bytea", "money"] + TIMES
STYLES = ["ISO, MDY", "German, DMY", "SQL, DMY", "Postgres, YMD"]

# The alphabet of mutations: what matters to one type or another.
ALPHABET = "0123456789" * 3 + "+-.:eExXoObB_ \t\n\v\fTZtz,/\\{}aAfFgnNiy\x01\x7f\u00e9\u00a0"


def digits(rng, low, high):
    return "".join(rng.choice("0123456789") for _ in range(rng.randint(low, high)))


def space(rng):
    return rng.choice([""] * 30 + [" ", "  ", "\t", "\n", " \v\f\r\n"])


def sign(rng):
    return rng.choice(["", "", "", "-", "-", "+"])


def make_integer(rng, bits):
    kind = rng.randrange(6)
    if kind == 0:
        text = str(rng.choice([-1, 1]) * (2 ** rng.choice([7, 15, 16, 31, 32, 63, 64]) + rng.randint(-12, 12)))
    elif kind == 1:
        text = str(rng.randint(-2 ** bits, 2 ** bits - 1))
    elif kind == 2:
        text = sign(rng) + "0" * rng.randint(0, 25) + digits(rng, 0, 22)
    elif kind == 3 and rng.random() < 0.3:
        text = rng.choice(["0x", "0o", "0b", "0", "0X", "_", "1_"]) + digits(rng, 0, 8) + rng.choice(["", "_1", "a"])
    elif kind == 4:
        text = sign(rng) + str(rng.randint(0, 10 ** rng.randint(1, 21))) + rng.choice(["", "", " x", "x", ".5", "e1", " 1", "_", "_0"])
    else:
        text = rng.choice(["", "", sign(rng)]) + str(rng.randrange(10 ** rng.randint(1, 10)))
    return space(rng) + text + space(rng)


def make_decimal(rng):
    kind = rng.randrange(10)
    if kind == 0:
        return sign(rng) + digits(rng, 0, 300 if rng.random() < 0.1 else 25) + rng.choice(["", "."]) + digits(rng, 0, 40)
    if kind == 1:
        return sign(rng) + digits(rng, 0, 9) + rng.choice([".", ".", ""]) + digits(rng, 0, 9) + \
            rng.choice("eE") + sign(rng) + digits(rng, 0, 2)
    if kind == 2:
        return repr(struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0])
    if kind == 3:
        return repr(rng.uniform(-180, 180))
    if kind == 4:
        # halfway between two float4, and near it
        word = rng.randrange(0x3a000000, 0x4c000000)
        low, high = struct.unpack("<2f", struct.pack("<2I", word, word + 1))
        text = "%.17g" % ((low + high) / 2) if rng.random() < 0.5 else "%.9g" % low
        return text + rng.choice(["", "", "0", "1"] if "." in text and "e" not in text else [""])
    if kind == 5:
        # halfway between two float8: 54 bits, in full where they are few
        text = str(rng.randrange(2 ** 53, 2 ** 60) | 1)
        cut = rng.randint(0, len(text))
        return sign(rng) + text[:cut] + rng.choice(["", "."]) + text[cut:]
    if kind == 6:
        return sign(rng) + "%.*f" % (rng.randint(0, 6), rng.uniform(0, 10 ** rng.randint(0, 12)))
    if kind == 7:
        return rng.choice(["0", "-0", "0.0", "-0.00", "+.0", ".", "-.", "5.", ".5", "-.5", "00.10", "0e5", "0e-5", "1e", "1e+", "e5",
                           "NaN", "nan", "-nan", "Infinity", "-inf", "+Inf", "infinit", "inf1", "1..2", "1.2.3", "1,5", "0x1p3",
                           "0x1F", "0b1", "0o7", "1_000", "1_", "_1", "1.5_1", "1e1_0", "1e400", "1e-400", "1e40", "1e-46", "1e-45",
                           "2.2250738585072014e-308", "4.9e-324", "1.7976931348623157e308", "3.4028235e38", "9007199254740993",
                           "16777217", "16777216.5", "9007199254740992.5", "1e22", "1e23", "1.5e3", "1.50e1", "1e99999999999",
                           "1e99999999999x", "1e1000", "1e1001", "1e-1000", "0." + "0" * 500 + "1", "1" + "0" * 300, "9" * 255, "9" * 257,
                           "1" + "0" * 255 + ".5", "0.0001", "0.00012", "10000", "100000000", "0.00000001", "12345678", "123456789",
                           "1234567.8", "12345678.9", "1234567890123456", "123456789012345.6", ".1234567890123456", ".123456789012345"])
    if kind == 8:
        return sign(rng) + "0" * rng.randint(0, 8) + digits(rng, 1, 6) + rng.choice(["", "." + digits(rng, 0, 4) + "0" * rng.randint(0, 8)])
    return sign(rng) + digits(rng, 1, 12) + rng.choice(["", ".", ".5"]) + rng.choice(["", "abc", " x", "$", "%", " 1", "\u00e9", "x1"])


def make_bool(rng):
    word = rng.choice(["true", "false", "yes", "no", "on", "off", "1", "0", "10", "o", "truee", "y es", "wahr", ""])
    word = word[:rng.randint(0, len(word))] if rng.random() < 0.4 else word
    word = "".join(c.upper() if rng.random() < 0.3 else c for c in word)
    return space(rng) + word + space(rng)


def make_date(rng):
    if rng.random() < 0.75:
        year = rng.choice([rng.randint(1, 9999), rng.randint(1990, 2040), rng.choice([0, 1, 4, 100, 400, 1900, 2000, 2100, 9999])])
        month = rng.choice([rng.randint(1, 12), rng.randint(1, 12), 2, rng.randint(0, 20)])
        return "%04d-%02d-%02d" % (year, month, rng.choice([rng.randint(1, 28), rng.randint(1, 28), rng.randint(27, 33), rng.randint(0, 45)]))
    return rng.choice(["infinity", "-infinity", "epoch", "now", "today", "", " ", "2020-1-1", "20200101", "01/02/2003", "1.2.2003",
                       "2020-01-01 BC", "12345-01-01", "2020-Jan-01", "J2451187", "2020.123", "99-01-01", "2020-001", "2020-01-01T",
                       "2020-01-01 00", "abc", "1/1/1", "2020-01-01AD", "2020-01-01Z", "2020-01-01+05"])


def make_clock(rng):
    text = "%02d:%02d" % (rng.choice([rng.randint(0, 23), rng.randint(0, 26)]), rng.choice([rng.randint(0, 59), rng.randint(0, 62)]))
    if rng.random() < 0.8:
        text += ":%02d" % rng.choice([rng.randint(0, 59), rng.randint(0, 61)])
        if rng.random() < 0.6:
            text += "." + digits(rng, 0, rng.choice([6, 6, 6, 9]))
    return text


def make_zone(rng):
    return rng.choice(["", " "]) + rng.choice(
        ["Z", "z", "UTC", "+00", "-00", "+01", "-0330", "+05:30", "-05:30:15", "+15:59:59", "+16", "+1560", "+05:60", "+5", "+530",
         "+05:3", "-12:00:60", "+013000", " PST", "zulu", "+ 05", "Z+1", "+05 BC", "%s%02d:%02d" % (rng.choice("+-"), rng.randint(0, 17), rng.randint(0, 61))])


def make_timestamp(rng):
    kind = rng.randrange(10)
    if kind == 0:
        return make_date(rng)
    date = make_date(rng)
    if kind > 2:
        date = "%04d-%02d-%02d" % (rng.randint(1, 9999), rng.randint(1, 12), rng.randint(1, 28))
    text = date + rng.choice([" ", " ", " ", "T", "T", "T", "t", "  ", "_", ""]) + make_clock(rng)
    return text + (make_zone(rng) if rng.random() < 0.5 else "")


def make_time(rng):
    return make_clock(rng) + (make_zone(rng) if rng.random() < 0.1 else "") if rng.random() < 0.9 else \
        rng.choice(["", "now", "1:2:3", "0102", "040506", "04:05 AM", "12:00 PM", "allballs", "24:00:00", "23:59:60", "2020-01-01 10:00"])


def make_uuid(rng):
    text = "%032x" % rng.getrandbits(128)
    if rng.random() < 0.4:
        text = "".join(c.upper() if rng.random() < 0.5 else c for c in text)
    kind = rng.randrange(8)
    if kind < 5:
        return "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])
    if kind == 5:
        return rng.choice(["%s", "{%s}", "{%s", "%s}", " %s"]) % text
    if kind == 6:
        return "-".join(text[i:i + 4] for i in range(0, 32, 4))
    return rng.choice(["", "N/A", "null", "abc", "{}", "-", "0"])


def make_bits(rng):
    text = "".join(rng.choice("01") for _ in range(rng.choice([rng.randint(0, 20), rng.randint(0, 20), rng.randint(0, 200)])))
    return rng.choice([""] * 8 + ["b", "B", "x", "X", " "]) + text


def make_bytea(rng):
    text = rng.getrandbits(800).to_bytes(100, "big")[:rng.choice([rng.randint(0, 20), rng.randint(0, 100)])].hex()
    if rng.random() < 0.3:
        text = text.upper()
    return rng.choice(["\\x"] * 8 + ["\\X", "x", "", "\\", "\\\\x"]) + text


def make_money(rng):
    number = str(rng.randint(0, 10 ** rng.choice([1, 2, 3, 4, 6, 9, 12, 15, 16, 17, 18, 19])))
    if rng.random() < 0.4:
        number = "".join(c + "," * ((len(number) - i) % 3 == 1 and i + 1 < len(number)) for i, c in enumerate(number))
    number += rng.choice(["", "", ".", ".5", ".5", ".05", ".55", ".00", ".555", ".1234567"])
    return rng.choice(["", "", "", "-", "-", "$", "$", "-$", "-$", "$-", "+", "($", " ", "- $"]) + number + rng.choice([""] * 16 + [" ", ")", "-", "$", "x"])


def mutate(rng, text):
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randint(0, len(text))
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:at] + rng.choice(ALPHABET) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + 1:]
        elif kind == 2:
            text = text[:at] + rng.choice(ALPHABET) + text[at + 1:]
        else:
            text = text[:at]
    return text


def make_texts(rng, name, count):
    makers = {"oid": lambda: make_integer(rng, 32), "bool": lambda: make_bool(rng), "uuid": lambda: make_uuid(rng),
              "varbit": lambda: make_bits(rng), "bytea": lambda: make_bytea(rng), "money": lambda: make_money(rng), "date": lambda: make_date(rng),
              "timestamp": lambda: make_timestamp(rng), "timestamptz": lambda: make_timestamp(rng), "time": lambda: make_time(rng)}
    if name in INTEGERS:
        make = lambda: make_integer(rng, INTEGERS[name])
    else:
        make = makers.get(name, lambda: make_decimal(rng))
    texts = {"", " ", "-", "+", "\t\n", "abc", "N/A", "null", "\u00a0", "\u00a01", "1\u00a0", "\u00e9"}
    for _ in range(count):
        text = make()
        texts.add(mutate(rng, text) if rng.random() < 0.3 else text)
    return sorted(texts)


def build_driver(folder):
    path = os.path.join(folder, "print_values")
    scan = os.path.join(ROOT, "src", "scan")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-g", "-fsanitize=address,undefined",
                    "-fno-sanitize-recover=all", "-I", os.path.join(ROOT, "src"), "-o", path,
                    os.path.join(HERE, "print_values.c")] + [os.path.join(scan, f) for f in SOURCES], check=True)
    return path


def convert(driver, cases):
    lines = "".join("%s %s\n" % (name, text.encode().hex()) for name, text in cases)
    out = subprocess.run([driver], input=lines, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    if len(out) != len(cases):
        sys.exit("print_values: %d answers to %d texts" % (len(out), len(cases)))
    return out


def check_function(name):
    """A function that says what the server makes of a text."""
    value = "encode(%s(value), 'hex')" % {"varbit": "varbit_send", "bytea": "byteasend", "oid": "oidsend", "money": "cash_send", "bool": "boolsend",
                                          "date": "date_send", "time": "time_send", "uuid": "uuid_send", "numeric": "numeric_send",
                                          "timestamp": "timestamp_send", "timestamptz": "timestamptz_send"}.get(name, name + "send")
    if name == "numeric":
        # and the digits before the point, in four hexadecimal digits
        value += """ || CASE WHEN value IN ('NaN', 'Infinity', '-Infinity') THEN ''
            ELSE lpad(to_hex(CASE WHEN abs(value) < 1 THEN 0 ELSE length(trunc(abs(value))::text) END), 4, '0') END"""
    return """CREATE FUNCTION pg_temp.check_%s(source text) RETURNS text LANGUAGE plpgsql AS $$
        DECLARE value %s;
        BEGIN
            value := source::%s;
            RETURN '=' || %s;
        EXCEPTION WHEN OTHERS THEN
            RETURN SQLSTATE;
        END $$;\n""" % (name, name, name, value)


def query_server(cases, answers):
    """Rows of (style, type, hex, our answer, the server's) where they differ."""
    sql = ["SET client_min_messages = warning; SET TimeZone = 'UTC'; SET lc_monetary = 'C';",
           "CREATE TEMP TABLE texts (name text, source text, ours text);", "COPY texts FROM STDIN;"]
    escape = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\v": "\\v", "\f": "\\f"})
    for (name, text), ours in zip(cases, answers):
        sql.append("%s\t%s\t%s" % (name, text.translate(escape), ours))
    sql.append("\\.")
    for name in TYPES:
        sql.append(check_function(name))
        syntax, out_of_range = ("22007", "22008") if name in TIMES else ("22P02", "22003")
        for style in STYLES if name in TIMES else STYLES[:1]:
            sql.append("""SET DateStyle = '%s';
                SELECT '%s', name, encode(convert_to(source, 'UTF8'), 'hex'), ours, theirs
                FROM (SELECT *, pg_temp.check_%s(source) AS theirs FROM texts WHERE name = '%s' AND ours <> 'ask' OFFSET 0) t
                WHERE theirs <> CASE ours WHEN 'syntax' THEN '%s' WHEN 'range' THEN '%s' ELSE ours END;"""
                       % (style, style, name, name, syntax, out_of_range))
    done = subprocess.run(["psql", "-XAtq", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-d", os.environ.get("PGDATABASE", "postgres")],
                          input="\n".join(sql) + "\n", stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("psql failed")
    return [line.split("\t") for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=12000, help="texts for each type")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--driver", help="print_values, ready built")
    parser.add_argument("--verbose", action="store_true", help="count answers by type")
    options = parser.parse_args()

    os.environ["PGCLIENTENCODING"] = "UTF8"
    rng = random.Random(options.seed)
    cases = [(name, text) for name in TYPES for text in make_texts(rng, name, options.cases)]
    with tempfile.TemporaryDirectory() as folder:
        answers = convert(options.driver or build_driver(folder), cases)

    # a converter that always asks is right, and useless
    lazy = 0
    for name in TYPES:
        ours = [a for (n, _), a in zip(cases, answers) if n == name]
        values = sum(a.startswith("=") for a in ours)
        if options.verbose:
            print("%-12s %6d texts: %6d values, %5d syntax, %5d range, %5d ask" % (
                name, len(ours), values, ours.count("syntax"), ours.count("range"), ours.count("ask")))
        if values < len(ours) * 0.15:
            print("%s: only %d of %d texts became values" % (name, values, len(ours)))
            lazy += 1

    differences = query_server(cases, answers)
    for style, name, text, ours, theirs in differences[:50]:
        print("%s %r (DateStyle %s): converter says %s, server %s" % (name, bytes.fromhex(text).decode(), style, ours, theirs))
    failed = lazy + len({(d[1], d[2]) for d in differences})
    print("%d passed, %d failed" % (len(cases) + len(TYPES) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
