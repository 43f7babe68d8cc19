"""Values for copy.py: for each type, texts that are surely good and texts
that may be anything.

A Type's good(rng) is a text that its input function takes under every
setting of SETTINGS; edge(rng) is whatever else comes to mind, good or bad.
What depends on the moment ("now") is never among them.
"""

import re
import struct

import values

MOVING = re.compile("now|today|tomorrow|yesterday", re.I)

DATESTYLES = [a + ", " + b for a in ("ISO", "SQL", "Postgres", "German") for b in ("DMY", "MDY", "YMD")]
TIMEZONES = ["UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia",
             "America/Sao_Paulo", "<+02>-02", "Africa/Monrovia", "America/St_Johns"]
INTERVALSTYLES = ["postgres", "postgres_verbose", "sql_standard", "iso_8601"]
SETTINGS = {"DateStyle": DATESTYLES, "TimeZone": TIMEZONES, "IntervalStyle": INTERVALSTYLES,
            "timezone_abbreviations": ["Default", "Default", "Australia", "India"],
            "xmloption": ["content", "document"], "array_nulls": ["on", "on", "off"]}

# Types that a table may have; the same ones for both sides, as arrays and
# composites in binary format contain the number of their type.
SCHEMA = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'with space', '');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN filled AS text NOT NULL CHECK (length(VALUE) < 8);
CREATE DOMAIN code AS varchar(4);
CREATE DOMAIN nested AS positive CHECK (VALUE < 1000) NOT NULL;
CREATE TYPE textrange AS RANGE (subtype = text);
"""

# Characters of one, two, three and four bytes, to be cut at chunk borders.
LETTERS = "abcXYZ019 _-.;:!?'" + "\u00e9\u00fc\u00df\u00f1" + "\u20ac\u65e5\u672c\u8a9e" + "\U0001f600\U00010348"


def letters(rng, low, high, alphabet=LETTERS):
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(low, high)))


# ---- dates and times ----

MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December"]
# Where clocks change, in the zones above.
CHANGES = ["2023-03-12 02:30:00", "2023-03-12 01:59:59", "2023-03-12 03:00:00", "2023-11-05 01:30:00",
           "2023-11-05 02:00:00", "2023-03-26 02:30:00", "2023-10-29 02:30:00", "2023-10-01 02:15:00",
           "2023-04-02 01:45:00", "2011-12-30 12:00:00", "2018-11-04 00:30:00", "1850-01-01 00:00:00",
           "1883-11-18 12:03:00", "1972-01-07 00:30:00", "2100-07-01 00:00:00", "1901-12-13 20:45:51",
           "2038-01-19 03:14:08", "1945-05-24 03:00:00"]
ZONES = ["", "", "", "Z", "z", "+00", "-08", "+05:30", "+0530", "-03:30", "+5", "+15:59:59", "-15:59", "+16", "+05:30:15",
         " UTC", " PST", " EST5EDT", " America/New_York", " europe/berlin", " CEST", " MSK", " zulu", " IST", " EST",
         " GMT+3", " UTC-2", " Asia/Kathmandu", " No/Where", " <+01>-01", " XYZ", " LMT", " Posix"]


def date_parts(rng):
    year = rng.choice([rng.randint(1, 9999), rng.randint(1900, 2100), rng.choice([1, 4, 1582, 1900, 2000, 2024, 9999])])
    return year, rng.randint(1, 12), rng.randint(1, 28)


def iso_date(rng):
    if rng.random() < 0.1:
        return rng.choice(["2000-02-29", "2024-02-29", "0001-01-01", "9999-12-31", "0004-02-29", "1970-01-01", "2000-01-01"])
    return "%04d-%02d-%02d" % date_parts(rng)


def clock(rng):
    text = "%02d:%02d:%02d" % (rng.randint(0, 23), rng.randint(0, 59), rng.randint(0, 59))
    if rng.random() < 0.5:
        text += "." + values.digits(rng, 1, rng.choice([3, 6, 6, 9]))
    return text


def edge_date(rng):
    year, month, day = date_parts(rng)
    name = MONTHS[month - 1]
    name = name[:3] if rng.random() < 0.7 else name
    short = year % 100
    text = rng.choice([
        "%04d-%02d-%02d" % (year, month, day), "%d-%d-%d" % (year, month, day), "%02d/%02d/%04d" % (month, day, year),
        "%d/%d/%d" % (day, month, short), "%02d.%02d.%04d" % (day, month, year), "%02d-%s-%04d" % (day, name, year),
        "%s %d, %d" % (name, day, year), "%d %s %d" % (day, name, year), "%04d-%s-%02d" % (year, name, day),
        "%02d%02d%02d" % (short, month, day), "%04d%02d%02d" % (year, month, day), "J%d" % rng.randint(0, 3000000),
        "%04d.%03d" % (year, rng.randint(1, 366)), "%04d%03d" % (year, rng.randint(1, 366)),
        "%02d-%02d-%02d" % (short, month, day), "%02d-%02d-%04d" % (month, day, year), "%s-%02d-%04d" % (name, day, year),
        "%04d-%02d-%02d BC" % (year, month, day), "BC %04d-%02d-%02d" % (year, month, day), "%s %d %d AD" % (name, day, year),
        "%04d/%02d/%02d" % (year, month, day), "%04d-%02d" % (year, month), "%s %d" % (name, year),
        "%s, %d %s %d" % (rng.choice(["Mon", "Tuesday", "xyz"]), day, name, year), values.make_date(rng),
        rng.choice(["infinity", "-infinity", "+infinity", "epoch", "5874897-12-31", "5874898-01-01", "4713-01-01 BC", "4714-11-24 BC",
                    "4714-11-23 BC", "0000-01-01", "0001-12-31 BC", "1900-02-29", "2023-02-29", "2000-13-01", "2000-00-10",
                    "2000-01-00", "99999-01-01", "0099-01-08", "99-Jan-08", "January 8, 99 BC", "", " ", "2000-01-01 24:00",
                    "294276-12-31", "294277-01-01", "-0001-01-01", "10000-01-01", "2000-2-30", "2000-06-31", "Infinity ", "inf"])])
    return text.upper() if rng.random() < 0.1 else text


def edge_clock(rng):
    return rng.choice([
        clock(rng), values.make_clock(rng), "%02d:%02d" % (rng.randint(0, 25), rng.randint(0, 60)),
        "%d:%d:%d" % (rng.randint(0, 24), rng.randint(0, 60), rng.randint(0, 61)), values.digits(rng, 2, 6),
        "%d:%02d %s" % (rng.randint(0, 13), rng.randint(0, 59), rng.choice(["AM", "PM", "am", "P.M."])),
        rng.choice(["24:00:00", "24:00:00.000001", "23:59:60", "23:59:60.5", "23:59:59.9999999", "23:59:59.9999995", "00:00:00",
                    "24:00:01", "12:60:00", "allballs", "T040506", "04:05:06.789-8", "T10", "10:", ":10", "1:2:3.", "00:00:60"])])


def edge_timestamp(rng):
    kind = rng.random()
    if kind < 0.2:
        text = rng.choice(CHANGES)
    elif kind < 0.6:
        text = iso_date(rng) + rng.choice([" ", "T", "  ", " T"]) + edge_clock(rng)
    elif kind < 0.7:
        text = rng.choice(["%s %02d %s %04d" % (rng.choice(["Wed Dec", "Jan", "Sun Feb"]), rng.randint(1, 31), clock(rng),
                                                  rng.randint(1, 2100)), "epoch", "infinity", "-infinity", "294276-12-31 23:59:59.999999",
                           "294277-01-01 00:00:00", "4714-11-24 00:00:00 BC", "4714-11-23 23:59:59.999999 BC", "1999-12-31 23:59:59.9999999",
                           "1999-12-31 23:59:59.5", "20000101T000000", "2000-01-01 00:00:00.0004999", "2000-01-01 00:00:00.0005",
                           "294276-12-31 23:59:59.9999999", "0001-01-01 00:00:00 BC", "2000-02-30 00:00:00", "J2451187 10:00"])
    else:
        text = edge_date(rng) + rng.choice([" ", "T", ""]) + edge_clock(rng)
    return text + rng.choice(ZONES)


def edge_time(rng):
    return edge_clock(rng) + (rng.choice(ZONES) if rng.random() < 0.4 else "")


def edge_interval(rng):
    number = rng.choice(["1", "-1", "0", "1.5", "-0.25", "100", "2147483647", "2147483648", "1e3", ".5"])
    unit = rng.choice(["year", "mons", "day", "hours", "min", "sec", "week", "century", "ms", "us", "decade", "millennium", "fortnight", ""])
    return rng.choice([
        "%s %s" % (number, unit), "%s %s %s" % (number, unit, clock(rng)), "@ %s %s ago" % (number, unit), "P1Y2M3DT4H5M6S",
        "P%sD" % number, "PT%sS" % number, "P0001-02-03T04:05:06", "1-2", "1-2 3 4:05:06", "-1-2 +3 -4:05:06", clock(rng),
        "infinity", "-infinity", "1 day -00:00:01", "178956970 years", "178956971 years", "", "1:2", "5", "P", "PT", "1 2 3"])


# ---- other types ----

def edge_numeric(rng):
    return rng.choice([
        values.make_decimal(rng), values.make_decimal(rng), values.digits(rng, 900, 1100), "-" + values.digits(rng, 100, 400) + "." +
        values.digits(rng, 100, 600), "0." + "0" * rng.randint(60, 300) + "1", "1e%d" % rng.choice([100, 1000, 131071, 131072, -16383, -16384, -1000]),
        rng.choice(["NaN", "-NaN", " nan ", "Infinity", "-inf", "+Infinity", "99999999.995", "99999999.994", "-99999999.995",
                    "0.005", "0.0049999", "999.5", "949", "950", "-950", "99949", "99950", "0.00995", "0.0001", "100000000", "1e8", "9.995e7",
                    "0x1F", "1_000", "0b101", "1__0", "-0", "-0.00", "000000000000000000001.10", "1.", ".1", ".", "+", "1e", "1e5000000000"])])


def edge_float(rng):
    return rng.choice([
        values.make_decimal(rng), values.make_decimal(rng),
        repr(struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0]), "%.17g" % rng.uniform(-1e6, 1e6),
        rng.choice(["-0", "0", "-0.0", "NaN", "-nan", "Infinity", "-Infinity", "inf", "+inf", "4.9e-324", "2.4e-324", "2.5e-324",
                    "1.7976931348623157e308", "1.7976931348623159e308", "1e308", "1e309", "1e-323", "1e-400", "3.4028235e38", "3.4028236e38",
                    "1.4e-45", "7e-46", "7.1e-46", "1.17549435e-38", "1e39", "0.1", "123456789.123456789", "0x1p3", "0x1F", "1e+", "1d5", "1,5",
                    " 1 ", "1 1", "", "infinit", "infinityx", "NaN(1)", "nan(", "1e5000"])])


BLANKS = ["", " ", "  ", "\t", "\n"]


def strings(*good):
    return lambda rng: rng.choice(good)


def small_int(rng):
    return str(rng.choice([rng.randint(-50, 50), rng.randint(-32768, 32767)]))


def uuid(rng):
    text = "%032x" % rng.getrandbits(128)
    return "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


def edge_uuid(rng):
    text = uuid(rng)
    return rng.choice([text, text.upper(), "{%s}" % text, text.replace("-", ""), "{%s}" % text.replace("-", ""), "{" + text, text + "}", " " + text,
                       "-".join(text.replace("-", "")[i:i + 4] for i in range(0, 32, 4)), text[:-1], text + "0", text[:5] + "g" + text[6:]])


def json(rng, depth=0):
    kind = rng.randrange(9 if depth < 3 else 6)
    if kind == 0:
        return rng.choice(["null", "true", "false"])
    if kind == 1:
        return rng.choice(["0", "-1", "1.50", "1e5", str(rng.randint(-10 ** 12, 10 ** 12)), "123456789012345678901234567890"])
    if kind < 6:
        return '"%s"' % rng.choice([letters(rng, 0, 8), "\\u0041", "a\\nb", "\\\"", "\\\\", "", "\\/"])
    if kind < 8:
        return "{%s}" % rng.choice(["", " "]).join(["", ", ".join('"%s": %s' % (letters(rng, 0, 3, "abc"), json(rng, depth + 1))
                                                               for _ in range(rng.randint(0, 3)))])
    return "[%s]" % ",".join(json(rng, depth + 1) for _ in range(rng.randint(0, 4)))


def edge_json(rng):
    return rng.choice([json(rng), json(rng), values.mutate(rng, json(rng)), rng.choice(
        ['{"a":1,"a":2}', '"\\u00e9"', '"\\u0000"', '"\\ud83d\\ude00"', '"\\ud83d"', "01", "1.", ".5", "NaN", "{'a':1}", "[1,]", "{", "", " ", '"a\tb"', '"\n"',
         "1e1000", '{"a"}', "[[[[[[[[]]]]]]]]", "nul", "\u00e9", "1 2", '"\\x"'])])


def bits(rng, low, high):
    return "".join(rng.choice("01") for _ in range(rng.randint(low, high)))


def edge_bits(rng):
    return rng.choice([bits(rng, 0, 20), "b" + bits(rng, 0, 9), "x" + values.digits(rng, 0, 3), "X1f", "B2", "xg", "b", "", " 1", bits(rng, 7, 9),
                       bits(rng, 60, 200), "1\n", "01 "])


def edge_bytea(rng):
    return rng.choice([values.make_bytea(rng), "\\x" + "%x" % rng.getrandbits(64), "\\x", "\\x0", "\\x 00 ff", "\\x0 0", "\\xGG", "abc", "a\\\\b",
                       "\\000\\377", "\\400", "\\12", "a\\", "\\\\x41", "\\X41", letters(rng, 0, 9), "\\x" + "ab" * rng.randint(60, 2000)])


def array(element, dimensions="1"):
    def make(rng):
        items = []
        for _ in range(rng.randint(0, 4)):
            text = element(rng)
            if rng.random() < 0.15:
                items.append("NULL")
            elif re.search(r'[\s,{}"\\]|^$|^null$', text, re.I) or rng.random() < 0.2:
                items.append('"%s"' % text.replace("\\", "\\\\").replace('"', '\\"'))
            else:
                items.append(text)
        return rng.choice(["{%s}", "{%s}", "{ %s }"]) % ",".join(items)
    return make


def edge_array(element):
    make = array(element)
    return lambda rng: rng.choice([make(rng), values.mutate(rng, make(rng)), "{{1,2},{3,4}}", "{{1},{2,3}}", "[0:1]={1,2}", "[2:1]={}", "{1,,2}",
                                   "{null}", '{"NULL"}', "{}", "{{}}", "{1", "1}", "{1}x", "[1:2]={1}", '{"a"b}', "", "{a\\}", '{"}'])


def ranges(element):
    def make(rng):
        return rng.choice(["empty", "[%s,%s]", "(%s,%s)", "[%s,%s)", "[,%s%s]", "(%s%s,)"]) .replace("%s%s", "%s").replace("%s", element(rng))
    return make


def text(rng):
    kind = rng.random()
    if kind < 0.1:
        return ""
    if kind < 0.15:
        return letters(rng, 100, 400)
    if kind < 0.17:
        return letters(rng, 3, 30) * 120			# compressed, or toasted
    return letters(rng, 0, 12)


def edge_text(rng):
    return rng.choice([text(rng), letters(rng, 0, 8, "ab \u00e9\u65e5"), letters(rng, 0, 12, "a,;|\t\"'\\\n\r~^"), "\\N", "NULL", "\\.", ".", "\\", "\"", "\"\"",
                       "a\nb", "a\r\nb", "a\rb", " lead", "trail   ", "\t", "\n", "\r", "\x01\x7f", "\ufeffx", "\u00a0", "e\u0301", "\ufffd",
                       letters(rng, 6, 9), letters(rng, 4, 5) + " " * rng.randint(1, 9), letters(rng, 2000, 3000, "ab\u00e9")])


class Type:
    def __init__(self, sql, good, edge=None, key=False):
        self.sql = sql
        self.good = good
        self.make_edge = edge or good
        self.key = key								# good for a key of 30 or so values

    def edge(self, rng):
        for _ in range(20):
            made = self.make_edge(rng)
            if rng.random() < 0.05:
                made = values.mutate(rng, made)
            if rng.random() < 0.05:
                made = rng.choice(BLANKS) + made + rng.choice(BLANKS)
            if not MOVING.search(made) and "\0" not in made:
                return made
        return ""


def integer(sql, size):
    def edge(rng):
        limit = 2 ** (size - 1)
        return rng.choice([values.make_integer(rng, size - 1), values.make_integer(rng, size - 1), str(limit - 1), str(limit), str(-limit),
                           str(-limit - 1), "0" * rng.randint(1, 30) + "7", "-0", "+5", " 5 ", "5.0", "- 5", "--5", "", "0x7f", "0b1", "0o17", "1_0"])
    return Type(sql, lambda rng: str(rng.choice([rng.randint(-9, 30), rng.randint(-limit_of(size), limit_of(size))])), edge, key=True)


def limit_of(size):
    return 2 ** (size - 1) - 1


def small_number(rng):
    return rng.choice(["0", "1", "-1.25", "12.5", "3", "7.75", "-99.9", "1e1", "0.1"])


def money(rng):
    return rng.choice(["", "$", "-"]) + "%d.%02d" % (rng.randint(0, 10 ** 6), rng.randint(0, 99))


def good_stamp(rng):
    return rng.choice(CHANGES) if rng.random() < 0.1 else iso_date(rng) + rng.choice(" T") + clock(rng)


def good_stamptz(rng):
    return good_stamp(rng) + rng.choice(["", "Z", "+00", "-08", "+05:30", "+01", " UTC"])


def cut(limit):
    return lambda rng: letters(rng, 0, limit)


TYPES = [
    integer("int2", 16), integer("int4", 32), integer("int8", 64),
    Type("oid", lambda rng: str(rng.getrandbits(32)), lambda rng: rng.choice([values.make_integer(rng, 32), "4294967295", "4294967296", "-1", "-2147483648", "-2147483649"])),
    Type("float4", small_number, edge_float), Type("float8", small_number, edge_float),
    Type("numeric", small_number, edge_numeric, key=True), Type("numeric(10,2)", small_number, edge_numeric),
    Type("numeric(38,10)", small_number, edge_numeric), Type("numeric(3,-2)", small_number, edge_numeric),
    Type("numeric(2,4)", strings("0", "0.001", "-0.0099", "0.00005"), edge_numeric), Type("numeric(1000,500)", small_number, edge_numeric),
    Type("bool", strings("t", "f", "true", "false", "yes", "no", "on", "off", "1", "0", "TRUE", "tr", "y"), values.make_bool, key=True),
    Type("uuid", uuid, edge_uuid),
    Type("bit(8)", lambda rng: bits(rng, 8, 8), edge_bits), Type("bit", lambda rng: bits(rng, 1, 1), edge_bits),
    Type("varbit", lambda rng: bits(rng, 0, 40), edge_bits), Type("varbit(5)", lambda rng: bits(rng, 0, 5), edge_bits),
    Type("bytea", lambda rng: "\\x" + rng.getrandbits(80).to_bytes(10, "big")[:rng.randint(0, 10)].hex(), edge_bytea),
    Type("text", text, edge_text, key=True), Type('text COLLATE "C"', text, edge_text, key=True),
    Type("varchar", text, edge_text), Type("varchar(5)", cut(5), edge_text),
    Type("char(5)", cut(5), edge_text), Type("char", cut(1), edge_text), Type("bpchar", text, edge_text), Type('"char"', cut(1), edge_text),
    Type("name", cut(12), lambda rng: rng.choice([edge_text(rng), letters(rng, 55, 70)])),
    Type("date", iso_date, edge_date, key=True),
    Type("time", clock, edge_time), Type("time(0)", clock, edge_time), Type("time(3)", clock, edge_time), Type("timetz", clock, edge_time),
    Type("timestamp", good_stamp, edge_timestamp), Type("timestamp(0)", good_stamp, edge_timestamp), Type("timestamp(3)", good_stamp, edge_timestamp),
    Type("timestamptz", good_stamptz, edge_timestamp), Type("timestamptz(0)", good_stamptz, edge_timestamp),
    Type("timestamptz(3)", good_stamptz, edge_timestamp),
    Type("interval", strings("1 day", "2 hours", "1-2", "P1D", "00:00:01.5", "-3 mons"), edge_interval),
    Type("interval(2)", strings("1 day", "2 hours", "00:00:01.555"), edge_interval),
    Type("interval day to minute", strings("1 day", "2 hours", "3 04:05"), edge_interval),
    Type("json", json, edge_json), Type("jsonb", json, edge_json),
    Type("jsonpath", strings("$", "$.a[*]", "lax $.b ? (@ > 1)"), strings("$", "$.", "$[0 to last]", "strict $", "", "a b")),
    Type("int4[]", array(small_int), edge_array(small_int)), Type("text[]", array(cut(5)), edge_array(edge_text)),
    Type("numeric(6,2)[]", array(small_number), edge_array(edge_numeric)), Type("timestamptz(0)[]", array(good_stamptz), edge_array(edge_timestamp)),
    Type("varchar(3)[]", array(cut(3)), edge_array(edge_text)), Type("positive[]", array(strings("1", "2")), edge_array(small_int)),
    Type("mood", strings("sad", "ok", "happy", "with space"), strings("sad", "ok", "", "SAD", " ok", "unhappy", "with space", "x" * 70), key=True),
    Type("positive", lambda rng: str(rng.randint(1, 99)), lambda rng: values.make_integer(rng, 4)),
    Type("nested", lambda rng: str(rng.randint(1, 999)), lambda rng: rng.choice(["0", "1000", "999", "x", "", small_int(rng)])),
    Type("filled", cut(7), edge_text), Type("code", cut(4), edge_text),
    Type("pair", lambda rng: "(%d,%s)" % (rng.randint(0, 99), letters(rng, 1, 5, "abc")),
         strings("(1,a)", "(,)", "(1,)", '(1,"a b")', "(1)", "(1,2,3)", "(x,a)", "1,a", "", '(1,"a""b")', "( 1 , a )", "(1,a", '(99999999999,a)')),
    Type("pair[]", strings('{}', '{"(1,a)"}', '{"(1,a)","(2,b)"}'), strings('{"(1,a)"}', "{(1,a)}", '{"(x,a)"}', "{null}")),
    Type("int4range", ranges(lambda rng: "5"), lambda rng: rng.choice(["[1,2]", "(1,2)", "[2,1]", "[1,2147483647]", "empty", "EMPTY", "(,)", "[1,2", " [ 1 , 2 ] ", "[a,b]"])),
    Type("numrange", ranges(small_number and strings("2")), lambda rng: "[%s,%s]" % (edge_numeric(rng), edge_numeric(rng))),
    Type("tstzrange", ranges(strings("2020-01-01 00:00:00+00")), lambda rng: '["%s","%s")' % (edge_timestamp(rng), edge_timestamp(rng))),
    Type("textrange", ranges(strings("m", '"x,y"')), ranges(edge_text)),
    Type("int4multirange", strings("{}", "{[1,2)}", "{[1,2),[5,8)}"), strings("{[1,2],[2,3]}", "{[2,1]}", "{[1,2", "{empty}", "[1,2]")),
    Type("inet", strings("127.0.0.1", "10.0.0.0/8", "::1", "2001:db8::/32"), strings("1.2.3", "256.1.1.1", "1.2.3.4/33", "::ffff:1.2.3.4", "::1/129", "1.2.3.4/8", "", "a", "fe80::1%eth0")),
    Type("cidr", strings("10.0.0.0/8", "192.168.1"), strings("10.0.0.1/8", "10", "::/0", "1.2.3.4", "300")),
    Type("macaddr", strings("08:00:2b:01:02:03"), strings("08-00-2b-01-02-03", "08002b:010203", "08002b010203", "0800.2b01.0203", "08:00:2b:01:02", "g8:00:2b:01:02:03")),
    Type("money", money, lambda rng: rng.choice([money(rng), "$1,234.56", "(12.34)", "92233720368547758.07", "92233720368547758.08", "-92233720368547758.08",
                                                "1.005", "1.2.3", "$", "1e5", "", "-$5", "$-5"])),
    Type("xml", strings("<a/>", "<a>text</a>", "<b c='d'><e/></b>"), strings("<a>", "a&amp;b", "text", "<a/><b/>", "", "<?xml version='1.0'?><a/>", "<!DOCTYPE a><a/>", "<a b=1/>", "&x;")),
    Type("regclass", strings("pg_class", "pg_catalog.pg_proc", "1259"), strings("pg_class", "-", "nosuch", "\"pg_class\"", "a.b.c.d", "99999999", "", "4294967296", "pg_catalog.\"Pg_proc\"")),
    Type("regtype", strings("int4", "text[]", "timestamp with time zone"), strings("int", "integer[]", "nosuch", "numeric(5,2)", "\"char\"", "char", "", "int4(3")),
    Type("point", strings("(1,2)", "3,4"), strings("(1,2)", "1,2,3", "(1", "(NaN,inf)", "( 1 , 2 )", "")),
    Type("circle", strings("<(1,2),3>"), strings("<(1,2),-3>", "((1,2),3)", "1,2,3", "<(1,2),3", "x")),
    Type("path", strings("[(1,2),(3,4)]", "((1,2),(3,4))"), strings("(1,2),(3,4)", "1,2,3,4", "[(1,2)", "[]", "")),
    Type("tsvector", strings("a b c", "'x':1A,2"), strings("a:1 b:2B", "'", "a:0", "''", "a:16384", "b a b", "a\\", "x" * 3000)),
    Type("tsquery", strings("a & b", "!c | d"), strings("a &", "a <-> b", "a <2> b", "", "()", "a:*", "a:ABX")),
    Type("pg_lsn", strings("0/0", "16/B374D848"), strings("FFFFFFFF/FFFFFFFF", "1", "1/", "100000000/0", "g/0")),
    Type("tid", strings("(0,1)", "(42,7)"), strings("(4294967295,65535)", "(-1,0)", "(1,2", "(4294967296,0)", "1,2")),
    Type("xid", strings("3", "4294967295"), strings("0x10", "010", "abc", "", "-1", "4294967296")),
    Type("xid8", strings("3", "18446744073709551615"), strings("0x10", "010", "abc", "", "-1", "18446744073709551616")),
    Type("int2vector", strings("1 2 3", ""), strings("1 2 x", " 1  2 ", "40000")),
]
BY_NAME = {t.sql: t for t in TYPES}
FAST = [t for t in TYPES if t.sql.split("(")[0].split(" ")[0] in
        ("int2", "int4", "int8", "oid", "float4", "float8", "numeric", "bool", "uuid", "bit", "varbit", "bytea", "text", "varchar", "char", "bpchar",
         "date", "time", "timestamp", "timestamptz") and not t.sql.endswith("]")]
