"""How loader.py mutates triples: {"columns": [definition...], "partition": text, "more": [SQL...], "options": {...}, "file": text of bytes}.

Columns whose names begin with v have values of their own in each load.
"""

import json
import random

PERMANENT = [
    "CREATE SCHEMA f",
    "CREATE TABLE f.r (a int PRIMARY KEY, b text UNIQUE)",
    "INSERT INTO f.r SELECT i, 'k' || i FROM generate_series(0, 20) i",
    "CREATE DOMAIN f.small AS int CHECK (VALUE < 1000)",
    "CREATE DOMAIN f.word AS text NOT NULL CHECK (VALUE !~ ' ')",
    "CREATE TYPE f.mood AS ENUM ('sad', 'ok', 'happy')",
    "CREATE FUNCTION f.odd(i int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$BEGIN IF i = 13 THEN RAISE 'thirteen'; END IF; RETURN i % 2 = 1; END$$",
    "CREATE FUNCTION f.before() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN IF NEW.a = 3 THEN RETURN NULL; ELSIF NEW.a = 5 THEN NEW.a := 6; ELSIF NEW.a = 7 THEN RAISE 'seven'; END IF; RETURN NEW; END$$",
    "CREATE FUNCTION f.after() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN IF NEW.a = 11 THEN RAISE 'eleven'; END IF; RETURN NULL; END$$",
    "CREATE FUNCTION f.statement() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$",
    "CREATE FUNCTION f.make(x text, y text) RETURNS f.r IMMUTABLE LANGUAGE sql AS $$SELECT x::int, y$$",
]
TYPES = ["int", "text", "bigint", "smallint", "numeric", "numeric(6,2)", "date", "timestamp", "timestamptz", "time", "interval", "uuid", "bool", "jsonb", "json", "bytea", "inet", "float8", "float4",
         "varchar(5)", "char(3)", "int[]", "text[]", "f.small", "f.word", "f.mood", "int4range", "point", "money", "name", "oid", "xid", "bit(3)", "tsvector", "macaddr", '"char"', "f.r"]
NAMES = ["a", "b", "c", "d", "e", "g"]
COLUMN_MORE = ["", "", "", " NOT NULL", " UNIQUE", " DEFAULT NULL", " CHECK (%s IS NOT NULL)", " STORAGE EXTERNAL", ' COLLATE "C"', " PRIMARY KEY"]
WHOLE = ["v int GENERATED ALWAYS AS IDENTITY", "v2 serial", "v3 timestamptz DEFAULT clock_timestamp()", "g2 int GENERATED ALWAYS AS (a * 2) STORED", "g3 text GENERATED ALWAYS AS (upper(b)) STORED",
         "d2 text DEFAULT 'default'", "d3 int DEFAULT 5 CHECK (d3 = 5)"]
MORE = ["CREATE INDEX ON f.t ({0})", "CREATE UNIQUE INDEX ON f.t ({0})", "CREATE UNIQUE INDEX ON f.t ({0}, {1})", "CREATE INDEX ON f.t USING hash ({0})", "CREATE INDEX ON f.t USING brin ({0})",
        "CREATE INDEX ON f.t USING gin ({0})", "CREATE INDEX ON f.t USING gist ({0})", "CREATE INDEX ON f.t (f.odd(a))", "CREATE UNIQUE INDEX ON f.t (lower(b)) WHERE a > 2", "CREATE INDEX ON f.t ({0} DESC) INCLUDE ({1})",
        "ALTER TABLE f.t ADD FOREIGN KEY (a) REFERENCES f.r", "ALTER TABLE f.t ADD FOREIGN KEY (b) REFERENCES f.r (b)", "ALTER TABLE f.t ADD FOREIGN KEY (a) REFERENCES f.r DEFERRABLE INITIALLY DEFERRED",
        "ALTER TABLE f.t ADD UNIQUE ({0}) DEFERRABLE INITIALLY DEFERRED", "ALTER TABLE f.t ADD CHECK (a <> 4)", "ALTER TABLE f.t ADD CHECK (f.odd(a) OR a > 5)", "ALTER TABLE f.t ADD CHECK (length(b) < 9) NOT VALID",
        "ALTER TABLE f.t ADD EXCLUDE (a WITH =)", "CREATE TRIGGER b BEFORE INSERT ON f.t FOR EACH ROW EXECUTE FUNCTION f.before()", "CREATE TRIGGER c AFTER INSERT ON f.t FOR EACH ROW EXECUTE FUNCTION f.after()",
        "CREATE TRIGGER d AFTER INSERT ON f.t REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION f.statement()", "ALTER TABLE f.t SET (fillfactor = 20)", "ALTER TABLE f.t DROP COLUMN {0}",
        "INSERT INTO f.t (a) SELECT i FROM generate_series(1, 10) i", "INSERT INTO f.t (a, b) SELECT i, 'k' || i FROM generate_series(8, 400) i", "DELETE FROM f.t", "ALTER TABLE f.t ALTER {0} TYPE text USING {0}::text",
        "ALTER TABLE f.t ALTER {0} SET NOT NULL", "CREATE TABLE f.child () INHERITS (f.t)", "ALTER TABLE f.t REPLICA IDENTITY FULL", "ALTER TABLE f.t SET UNLOGGED", "CREATE STATISTICS f.s ON {0}, {1} FROM f.t",
        "CREATE TABLE f.p1 PARTITION OF f.t FOR VALUES WITH (modulus 2, remainder 1)", "CREATE TABLE f.p2 PARTITION OF f.t FOR VALUES IN (1, 3)", "CREATE TABLE f.p3 PARTITION OF f.t FOR VALUES FROM (2) TO (9)",
        "CREATE TABLE f.p4 PARTITION OF f.t DEFAULT", "CREATE TABLE f.p5 PARTITION OF f.t (CHECK (a <> 2)) FOR VALUES WITH (modulus 2, remainder 0)"]
PARTITIONS = ["", "", "", "", " PARTITION BY HASH (a)", " PARTITION BY LIST (a)", " PARTITION BY RANGE (a)", " PARTITION BY LIST ((a + 0))"]
VALUES = {
    "format": ["csv", "text", "binary", "fixed", "json"],
    "delimiter": [",", ";", "\t", "|", "a", "||", "auto", "\\", "", "\u00e9", "\n"],
    "quote": ['"', "'", "a", ",", "\\"], "escape": ['"', "\\", "x", ","],
    "null": ["", "NULL", "\\N", ["", "NULL", "-"], "1", '"'], "default": ["\\D", "d", "1"],
    "encoding": ["UTF8", "LATIN1", "UTF16", "UTF16LE", "SJIS", "SQL_ASCII", "GB18030", "none"],
    "compression": ["auto", "none", "gzip", "lz4", "zstd"],
    "force_null": [["a"], ["b"], "*", ["none"]], "force_not_null": [["a"], ["b"], "*"],
    "header": [True, False, 2, "match", "map", "auto", 0], "columns": [["a"], ["b", "a"], ["a", None], [None, "a", "b"], ["a", "a"], ["v"], []],
    "fields": [[{"name": "a", "start": 1, "length": 2}], [{"name": "a", "start": 1, "length": 4, "type": "integer"}, {"name": "b", "start": 5, "length": 3}], [{"name": "b", "start": 3, "length": 100, "trim": True}]],
    "record_length": [1, 4, 8, 100], "endian": ["little", "big"], "skip": [0, 1, 5, 10 ** 12], "limit": [0, 1, 3, 100], "limit_counts": ["read", "loaded"],
    "extra_columns": ["error", "ignore"], "missing_columns": ["error", "null", "default"], "newline": ["auto", "any"], "comment": ["#", "--", "1"],
    "invalid_bytes": ["error", "reject", "replace"], "trim": [True, False, ["a"], ["b"]], "date_format": [{"a": "DD/MM/YYYY"}, {"c": "YYYY-MM-DD"}], "decimal_mark": [",", "."], "thousands_mark": [",", ".", "'"],
    "where": ["a > 1", "b IS NOT NULL", "f.odd(a)", "a / (a - 2) > 0", "random() < 2", "false", "exists (select from f.t)"], "transform": ["f.make"],
    "on_error": ["stop", "ignore", "ignore", "set_null"], "reject_limit": [0, 1, 5, "10%", "100%"], "reject_table": ["f.rejects", "f.t", "f.r"], "log_verbosity": ["silent", "default", "verbose"],
    "on_duplicate": ["error", "keep_old", "keep_new"], "duplicate_limit": [0, 2, "50%"], "writer": ["auto", "direct", "direct", "buffered"], "workers": ["auto", 0, 1, 2],
    "indexes": ["auto", "insert", "merge", "rebuild"], "truncate": [True, False], "freeze": [True, False], "analyze": [True], "dry_run": [True, False], "chunk_size": [16, 17, 64, 100, 1000, 4096],
}
# Formats that have not each option.
REFUSES = {"delimiter": ("fixed", "binary", "json"), "default": ("fixed", "binary", "json"), "null": ("binary", "json"), "header": ("binary", "json"), "columns": ("fixed",), "transform": ("binary", "json"),
           "newline": ("binary", "json"), "comment": ("binary", "json"), "invalid_bytes": ("binary",), "trim": ("binary", "json"), "date_format": ("binary",), "decimal_mark": ("binary", "json"), "thousands_mark": ("binary", "json")}
REFUSES.update({name: ("text", "fixed", "binary", "json") for name in ("quote", "escape", "force_null", "force_not_null")})
REFUSES.update({name: ("csv", "text", "binary", "json") for name in ("fields", "record_length", "endian")})
TOKENS = ["\n", "\r\n", "\r", '"', '""', ",", "\t", "\\N", "\\.", "\\.\n", "NULL", "1", "2", "3", "5", "7", "11", "13", "-1", "0", "99999", "2147483648", "9223372036854775808", "1e400", "NaN", "infinity", "2024-02-29",
          "2024-02-30 25:00", "12:00:00+25", "true", "{1,2}", '{"a": 1}', '{"a": "x", "b": [1, {"c": null}]}', "[", "]", "{", "}", "\\x41", "\\x4", "\\u0000", "\\", "\\\\", "\x00", "\xff", "\xc3\xa9", "\xe2\x82", "\xef\xbb\xbf",
          "\xff\xfe", "sad", "k1", "k5", "a,b\n", "#", "--", " ", "  ", "(1,2)", "[1,5)", "empty", "$1,234.56", "1.234,56", "x" * 40, "x" * 3000, "1,one\n" * 50, "192.168.0.1/24", "00000000-0000-0000-0000-000000000001",
          "PGCOPY\n\xff\r\n\x00", "\x00\x02", "\xff\xff\xff\xff", "\x1f\x8b\x08", "(\xb5/\xfd", "1 year 2 mons", "\x00\x00\x00\x04\x00\x00\x00\x07"]
# Options by which COPY says the same, or that change nothing.
COPYS = {"format", "delimiter", "quote", "escape", "null", "header", "encoding", "force_null", "force_not_null", "where", "columns", "writer", "workers", "indexes", "chunk_size", "analyze", "log_verbosity"}
MOST = 20000					# bytes of a file


# ---- SQL ----

def create_table(case):
    return "CREATE TABLE f.t (%s)%s" % (", ".join(case["columns"]), case["partition"])


def stable_columns(case):
    names = [column.split()[0] for column in case["columns"]]
    dropped = {sql.split()[-1] for sql in case["more"] if " DROP COLUMN " in sql}
    return ", ".join("%s::text" % name for name in names if not name.startswith("v") and name not in dropped) or "1"


def literal(value):
    return "true" if value is True else "false" if value is False else "*" if value == "*" else "(%s)" % ", ".join(value) if isinstance(value, list) else "'%s'" % str(value).replace("'", "''")


def copy_sql(options, path):
    given = {name: value for name, value in options.items() if name in ("format", "delimiter", "quote", "escape", "null", "header", "encoding", "force_null", "force_not_null")}
    given.setdefault("format", "csv")
    where = " WHERE " + options["where"] if "where" in options else ""
    columns = "(%s)" % ", ".join(name or "null" for name in options["columns"]) if "columns" in options else ""
    return "COPY f.t %s FROM '%s' (%s)%s" % (columns, path, ", ".join("%s %s" % (name, literal(value)) for name, value in given.items()), where)


def is_compressed(data):
    return data.startswith((b"\x1f\x8b", b"(\xb5/\xfd", b"\x04\"M\x18"))


# ---- mutations ----

def mutate_file(rng, case, corpus):
    data = case["file"]
    at = rng.randrange(len(data) + 1)
    to = min(len(data), at + rng.choice([1, 1, 2, 5, 30]))
    kind = rng.randrange(8)
    if kind < 3:
        data = data[:at] + rng.choice(TOKENS) + data[at if rng.random() < 0.5 else to:]
    elif kind == 3:
        data = data[:at] + data[to:]
    elif kind == 4:
        data = data[:to] + data[at:to] * rng.choice([1, 1, 3, 100]) + data[to:]
    elif kind == 5 and at < len(data):
        data = data[:at] + chr(ord(data[at]) ^ 1 << rng.randrange(8)) + data[at + 1:]
    elif kind == 6:
        other = rng.choice(corpus)["file"]
        cut = rng.randrange(len(other) + 1)
        data = data[:at] + other[cut:cut + rng.choice([10, 100, 10000])] + data[at:]
    else:
        lines = data.splitlines(True)
        rng.shuffle(lines)
        data = "".join(lines) * rng.choice([1, 1, 1, 5])
    case["file"] = data[:MOST]


def mutate_options(rng, case, corpus):
    options = case["options"]
    kind = rng.randrange(6)
    if kind == 0 and options:
        options.pop(rng.choice(sorted(options)))
    elif kind == 1:
        other = rng.choice(corpus)["options"]
        if other:
            name = rng.choice(sorted(other))
            options[name] = other[name]
    else:
        name = rng.choice(sorted(VALUES))
        if options.get("format", "csv") in REFUSES.get(name, ()) and rng.random() < 0.95:
            return
        options[name] = rng.choice(VALUES[name])
        if name == "format" and rng.random() < 0.95:
            for other in [other for other in options if options["format"] in REFUSES.get(other, ())]:
                del options[other]
        # those that depend on others, mostly
        if name in ("reject_table", "reject_limit") and rng.random() < 0.9:
            options["on_error"] = "ignore"
        if name in ("fields", "record_length") and rng.random() < 0.9:
            options["format"] = "fixed"
            options.setdefault("fields", rng.choice(VALUES["fields"]))
        if name == "duplicate_limit":
            options["on_duplicate"] = "keep_old"


def column(rng, names):
    name = rng.choice(names)
    return "%s %s%s" % (name, rng.choice(TYPES), rng.choice(COLUMN_MORE).replace("%s", name))


def mutate_table(rng, case, corpus):
    columns, more = case["columns"], case["more"]
    names = [c.split()[0] for c in columns]
    kind = rng.randrange(8)
    if kind == 0:
        free = [n for n in NAMES if n not in names]
        if free:
            columns.insert(rng.randrange(len(columns) + 1), column(rng, free[:1]))
    elif kind == 1 and len(columns) > 1:
        columns.pop(rng.randrange(len(columns)))
    elif kind == 2:
        at = rng.randrange(len(columns))
        columns[at] = column(rng, [names[at]])
    elif kind == 3:
        columns.append(rng.choice(WHOLE))
    elif kind == 4:
        case["partition"] = rng.choice(PARTITIONS)
        if case["partition"]:
            more[:0] = [m for m in MORE if " PARTITION OF " in m]
    elif kind == 5 and more:
        more.pop(rng.randrange(len(more)))
    elif kind == 6:
        other = rng.choice(corpus)
        case["columns"], case["partition"], case["more"] = list(other["columns"]), other["partition"], list(other["more"])
    else:
        more.append(rng.choice(MORE).format(rng.choice(names), rng.choice(names)))
    del more[12:]


def mutate(rng, corpus, last):
    """last: the case before, whose table can be used again."""
    if last and rng.random() < 0.7:
        table = last["columns"], last["partition"], last["more"]
        case = json.loads(json.dumps(last if rng.random() < 0.85 else rng.choice(corpus)))
        case["columns"], case["partition"], case["more"] = table
        mutations = [mutate_file, mutate_options]
    else:
        # those that came last are the rarest
        at = rng.randrange(len(corpus)) if rng.random() < 0.5 else max(0, len(corpus) - 1 - rng.randrange(20))
        case = json.loads(json.dumps(corpus[at]))
        mutations = [mutate_file, mutate_file, mutate_options, mutate_options, mutate_table]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        rng.choice(mutations)(rng, case, corpus)
    kind = rng.random()
    if kind < 0.3:
        for name in set(case["options"]) - COPYS:
            del case["options"][name]
    elif kind < 0.7:
        case["options"]["on_error"] = "ignore"
    return case
