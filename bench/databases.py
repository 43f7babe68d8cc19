"""The databases that the benchmark restores, as scripts of psql: the same on every machine (seeded)."""
import datetime
import random

WORDS = 4000
DAY, DAYS = datetime.date(2015, 1, 1), 4000


class Words:
    """what texts are made of"""

    def __init__(self, rnd):
        self.rnd = rnd
        self.words = ["".join(rnd.choices("abcdefghijklmnopqrstuvwxyzäöü", k=rnd.randrange(2, 11))) for _ in range(WORDS)]
        self.days = [str(DAY + datetime.timedelta(d)) for d in range(DAYS)]

    def some(self, most=3):
        return " ".join(self.rnd.choices(self.words, k=self.rnd.randint(1, most)))

    def time(self):
        return f"{self.rnd.choice(self.days)} {self.rnd.randrange(24):02}:{self.rnd.randrange(60):02}:00+00"

    def uuid(self):
        return f"{self.rnd.getrandbits(128):032x}"

    def document(self):
        return f'{{"name": "{self.some(1)}", "tags": ["{self.some(1)}", "{self.some(1)}"], "size": {self.rnd.randrange(1000)}}}'


def copied(table, rows):
    """a COPY statement and its data"""
    yield f"COPY {table} FROM STDIN;\n"
    yield from rows
    yield "\\.\n"


# ---- an application's: many tables, most of them tiny

TABLES, INDEXES, GIN_INDEXES, SCHEMAS = 500, 1000, 100, 5

VALUES = {
    "text": lambda w: w.some(),
    "varchar(80)": lambda w: w.some(1)[:80],
    "int": lambda w: str(w.rnd.randrange(1_000_000)),
    "bigint": lambda w: str(w.rnd.randrange(10 ** 12)),
    "numeric(12,2)": lambda w: f"{w.rnd.randrange(10 ** 6)}.{w.rnd.randrange(100):02}",
    "boolean": lambda w: w.rnd.choice("tf"),
    "date": lambda w: w.rnd.choice(w.days),
    "timestamptz": Words.time,
    "uuid": Words.uuid,
    "jsonb": Words.document,
    "text[]": lambda w: "{" + ",".join(w.rnd.choices(w.words, k=w.rnd.randrange(4))) + "}",
}
NO_ORDER = ("jsonb", "text[]")


class Table:
    def __init__(self, words, number, scale):
        rnd = words.rnd
        self.number, self.words = number, words
        self.name = f"s{number % SCHEMAS}.{words.words[number % 50]}_{number}"
        self.key = rnd.choice(("int", "int", "int", "bigint", "uuid"))
        self.columns = {f"c{i}": rnd.choice(list(VALUES)) for i in range(rnd.randrange(3, 12))}
        if number < GIN_INDEXES:
            self.columns["doc"] = rnd.choice(NO_ORDER)
        size = rnd.random()
        self.rows = (rnd.randrange(50) if size < 0.7 else rnd.randrange(50, 1000) if size < 0.93 else
                     int(rnd.randrange(1000, 20_000) * scale) if size < 0.99 else int(rnd.randrange(50_000, 300_000) * scale))
        self.keys = [words.uuid() for _ in range(self.rows)] if self.key == "uuid" else range(1, self.rows + 1)
        self.refers = {}

    def refer(self, others):
        for n, other in enumerate(self.words.rnd.sample(others, min(len(others), self.words.rnd.choice((0, 1, 1, 2, 3))))):
            self.refers[f"r{n}"] = other

    def created(self):
        columns = [f"id {self.key} NOT NULL"] + [f"{name} {kind}" for name, kind in self.columns.items()]
        return f"CREATE TABLE {self.name} ({', '.join(columns + [f'{name} {t.key}' for name, t in self.refers.items()])});\n"

    def filled(self):
        value = {name: VALUES[kind] for name, kind in self.columns.items()}
        rnd = self.words.rnd

        def row(key):
            fields = [str(key)] + [r"\N" if rnd.random() < 0.1 else make(self.words) for make in value.values()]
            return "\t".join(fields + [str(rnd.choice(t.keys)) if t.rows else r"\N" for t in self.refers.values()]) + "\n"
        yield from copied(self.name, map(row, self.keys))

    def indexes(self):
        """-> what may be indexed beside the key, the likeliest first"""
        plain = [name for name, kind in self.columns.items() if kind not in NO_ORDER]
        texts = [name for name, kind in self.columns.items() if kind in ("text", "varchar(80)")]
        yield from (f"({name})" for name in self.refers)
        yield from (f"({name})" for name in plain[:2])
        yield from (f"(lower({name}))" for name in texts[:1])
        yield from (f"({name}) WHERE {name} IS NOT NULL" for name in plain[2:3])
        if len(plain) > 3:
            yield f"({plain[2]}, {plain[3]})"


def application(scale):
    words = Words(random.Random("application"))
    tables = []
    for number in range(TABLES):
        table = Table(words, number, scale)
        table.refer(tables)
        tables.append(table)
    yield "".join(f"CREATE SCHEMA s{n};\n" for n in range(SCHEMAS))
    for table in tables:
        yield table.created()
        yield from table.filled()
    yield "".join(f"ALTER TABLE {t.name} ADD PRIMARY KEY (id);\n" for t in tables)
    yield "".join(f"CREATE INDEX ON {t.name} USING gin (doc);\n" for t in tables[:GIN_INDEXES])
    wanted, left = INDEXES - TABLES - GIN_INDEXES, {t.name: list(t.indexes()) for t in tables}
    while wanted:
        for name in [n for n in left if left[n]][:wanted]:
            yield f"CREATE INDEX ON {name} {left[name].pop(0)};\n"
            wanted -= 1
    for t in tables:
        yield "".join(f"ALTER TABLE {t.name} ADD FOREIGN KEY ({name}) REFERENCES {other.name};\n" for name, other in t.refers.items())
