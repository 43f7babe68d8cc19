"""The benchmark's tables of one column: each type, and the same text written in other ways.

Not "types.py": Python's own module has that name.
"""
import collections
import os
import sys

import duck
from in_use import Case
from indexed import Method, bulk_load, literal
from measure import export, psql

# column: its type; value: an expression of i, the row's number, for what the file has; share: of the 2 million rows;
# copy: options of COPY TO; options: those of COPY FROM; ours: those of bulk_load; before: statements, once
Type = collections.namedtuple("Type", "column value share copy options ours before", defaults=(1, "", "", {}, ()))

ROWS = 2_000_000


def some(n, seed=0):
    """an expression for one of n integers from 0 on, the same for the same row on every server"""
    return f"(hashint8extended(i, {seed}) & 9007199254740991) % {n}"


def array(element, n=5):
    """an expression for an array literal"""
    between = " || ',' || "
    return "'{' || " + between.join(f"({element(k)})" for k in range(n)) + " || '}'"


def words(n, between=" "):
    return f" || '{between}' || ".join(f"md5(({some(50_000, k)})::text)::varchar(6)" for k in range(n))


MOODS = "('sad', 'unhappy', 'indifferent', 'ok', 'content', 'very happy', 'ecstatic', 'unknown')"
LABEL = f"(ARRAY['sad', 'unhappy', 'indifferent', 'ok', 'content', 'very happy', 'ecstatic', 'unknown'])[1 + {some(8)}]"
DOCUMENT = (f"format('{{\"id\": %s, \"user\": {{\"name\": \"%s\", \"active\": %s}}, \"tags\": [\"%s\", \"%s\"], \"score\": %s.%s}}', "
            f"i, md5(i::text)::varchar(8), (ARRAY['true', 'false', 'null'])[1 + {some(3)}], "
            f"md5(({some(99)})::text)::varchar(5), md5(({some(98, 1)})::text)::varchar(4), {some(100, 2)}, {some(1000, 3)})")
DAY = f"'2000-01-01'::date + ({some(9000)})::int"
SAID = f"{words(3)} || ' \"' || {words(2)} || '\" ' || {words(1)}"

TYPES = {
    "bool": Type("bool", f"(ARRAY['t', 'f'])[1 + {some(2)}]"),
    "smallint": Type("smallint", f"{some(65536)} - 32768"),
    "int": Type("int", f"{some(4_000_000_000)} - 2000000000"),
    "bigint": Type("bigint", "hashint8extended(i, 0)"),
    "numeric": Type("numeric", f"{some(10**9)} || '.' || {some(10**6, 1)}"),
    "numeric18_4": Type("numeric(18,4)", f"{some(10**9)} || '.' || {some(10**4, 1)}"),
    "real": Type("real", f"(({some(10**7)}) / 1000.0)::real"),
    "float8": Type("float8", f"(({some(10**12)}) / 1e5)::float8"),
    "money": Type("money", f"({some(10**7)} / 100.0)::numeric(12,2)::money"),
    "enum": Type("mood", LABEL, before=("DROP TYPE IF EXISTS mood CASCADE", f"CREATE TYPE mood AS ENUM {MOODS}")),
    "date": Type("date", DAY),
    "time": Type("time", f"'00:00'::time + ({some(86_400_000)}) * interval '1 ms'"),
    "timestamp": Type("timestamp", f"{DAY} + ({some(86_400)}) * interval '1 s'"),
    "timestamptz": Type("timestamptz", f"({DAY} + ({some(86_400_000, 1)}) * interval '1 ms')::timestamptz"),
    "uuid": Type("uuid", "md5(i::text)::uuid"),
    "bit": Type("bit(16)", f"({some(65536)})::int::bit(16)"),
    "bytea": Type("bytea", "decode(md5(i::text), 'hex')"),
    "varchar": Type("varchar(40)", words(4)),
    "char": Type("char(24)", words(3)),
    "text": Type("text", words(4)),
    "long_text": Type("text", "(SELECT string_agg(md5((i * 1000 + k % 400)::text), ' ') FROM generate_series(1, 600) k)", 0.01),
    "quoted": Type("text", SAID),
    "escaped": Type("text", f"{words(3)} || E'\\n' || {words(2)} || E'\\t' || {words(1)}", copy="FORMAT text", options="FORMAT text",
                    ours={"format": "text"}),
    "int_array": Type("int[]", array(lambda k: some(10**6, k))),
    "bigint_array": Type("bigint[]", array(lambda k: some(10**12, k))),
    "float4_array": Type("float4[]", array(lambda k: f"(({some(10**6, k)}) / 1000.0)::float4")),
    "float8_array": Type("float8[]", array(lambda k: f"(({some(10**9, k)}) / 1000.0)::float8")),
    "numeric_array": Type("numeric[]", array(lambda k: f"(({some(10**7, k)}) / 100.0)::numeric(12,2)")),
    "text_array": Type("text[]", array(lambda k: words(1))),
    "interval": Type("interval", f"make_interval(months => ({some(30)})::int, days => ({some(40, 1)})::int, secs => ({some(8_640_000, 2)}) / 100.0)"),
    "inet": Type("inet", f"'10.0.0.0'::inet + ({some(16_000_000)})"),
    "cidr": Type("cidr", f"set_masklen('10.0.0.0'::inet + 256 * ({some(60_000)}), 24)::cidr"),
    "macaddr": Type("macaddr", "substr(md5(i::text), 1, 12)::macaddr"),
    "macaddr8": Type("macaddr8", "substr(md5(i::text), 1, 16)::macaddr8"),
    "int4range": Type("int4range", f"int4range(({some(10**6)})::int, ({some(10**6)})::int + 1 + ({some(1000, 1)})::int)"),
    "int8range": Type("int8range", f"int8range({some(10**12)}, {some(10**12)} + 1 + {some(1000, 1)})"),
    "numrange": Type("numrange", f"numrange(({some(10**6)}) / 100.0, ({some(10**6)}) / 100.0 + 1)"),
    "daterange": Type("daterange", f"daterange('2000-01-01'::date + ({some(9000)})::int, '2000-01-02'::date + ({some(9000)})::int + ({some(99, 1)})::int)"),
    "tsrange": Type("tsrange", f"tsrange('2000-01-01'::timestamp + ({some(9**9)}) * interval '1 s', '2000-01-02'::timestamp + ({some(9**9)}) * interval '1 s')"),
    "int4multirange": Type("int4multirange", f"int4multirange(int4range(({some(1000)})::int, 1000), int4range(2000, 2001 + ({some(1000, 1)})::int))"),
    "point": Type("point", f"point(({some(18_000_000)}) / 1e5, ({some(9_000_000, 1)}) / 1e5)"),
    "box": Type("box", f"box(point(({some(18_000_000)}) / 1e5, ({some(9_000_000, 1)}) / 1e5), point(1, 2))"),
    "domain": Type("positive", f"1 + {some(10**6)}", before=("DROP DOMAIN IF EXISTS positive CASCADE", "CREATE DOMAIN positive AS int CHECK (VALUE > 0)")),
    "json": Type("json", DOCUMENT, 0.5),
    "jsonb": Type("jsonb", DOCUMENT, 0.5),
    "tsvector": Type("tsvector", f"to_tsvector('simple', {words(6)})", 0.25),
    "xml": Type("xml", f"'<a n=\"' || i || '\"><b>' || {words(2)} || '</b></a>'", 0.25),
    "hstore": Type("hstore", f"hstore(ARRAY['a', 'b', 'c'], ARRAY[{words(1)}, i::text, NULL])", 0.5, before=("CREATE EXTENSION IF NOT EXISTS hstore",)),
    "citext": Type("citext", words(4), before=("CREATE EXTENSION IF NOT EXISTS citext",)),
    "ltree": Type("ltree", words(3, "."), before=("CREATE EXTENSION IF NOT EXISTS ltree",)),
}

DIGEST = "SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM target t"


def made(bench, name, t):
    """-> the file of a type, and its rows; made once"""
    rows = max(int(ROWS * t.share * bench.args.percent / 100), 1)
    path = os.path.join(bench.args.data, f"type_{name}-{rows}.csv")
    export(path, f"SELECT {t.value} FROM generate_series(1::bigint, {rows}) i", t.copy or "FORMAT csv")
    return path, rows


def one_column(name, t):
    def cases(bench):
        try:
            psql(*(s + ";" for s in t.before))
            path, rows = made(bench, name, t)
        except RuntimeError as e:
            print(f"type {name} is not here: {e}", file=sys.stderr)
            return
        empty = ["DROP TABLE IF EXISTS target", f"CREATE TABLE target (value {t.column})"]
        yield Case(f"type {name}", {
            "COPY": Method(empty, [f"COPY target FROM {literal(path)} ({t.options or 'FORMAT csv'})"]),
            "bulk_load": Method(empty, [bulk_load("target", path, t.ours)]),
        }, rows, path, DIGEST)
        if not t.copy:
            duck.beside(bench, f"type {name}", [duck.Source(path, [("value", t.column)])], rows)
    return cases


CASES = {f"types_{name}": one_column(name, t) for name, t in TYPES.items()}
