"""The benchmark's data sets: table, file, and how COPY and bulk_load are told of it.

Files are the same on every machine (seeded), made once and kept in the cache.
"""
import datetime
import json
import os
import random
import uuid

import hits

BATCH = 50_000


def votes(rnd, rows):
    """username (32 k distinct, few of them busy), link (2 M distinct), score"""
    syllables = [c + v for c in "bdfgklmnprst" for v in "aeiou"]
    users = ["".join(rnd.choices(syllables, k=rnd.choice((3, 4, 4, 5)))) + str(rnd.randrange(10, 2000))
             for _ in range(32_000)]
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    links = ["t3_" + "".join(rnd.choices(digits, k=5)) for _ in range(2_050_000)]
    for first in range(0, rows, BATCH):
        n = min(BATCH, rows - first)
        names = [users[int(32_000 * rnd.random() ** 3)] for _ in range(n)]
        scores = rnd.choices(("1", "-1"), (7, 3), k=n)
        yield "".join(map("%s,%s,%s\n".__mod__, zip(names, rnd.choices(links, k=n), scores)))


def spoiled(rnd, rows):
    """votes with every hundredth row bad: no number, a column missing, one too many, out of range"""
    kinds = (lambda f: f"{f[0]},{f[1]},n/a", lambda f: f"{f[0]},{f[1]}",
             lambda f: ",".join(f) + ",x", lambda f: f"{f[0]},{f[1]},9999999999")
    for n, part in enumerate(votes(rnd, rows)):
        lines = part.split("\n")
        for i in range(99, len(lines) - 1, 100):
            lines[i] = kinds[i // 100 % len(kinds)](lines[i].split(","))
        yield "\n".join(lines)


USERS, LINKS = 32_000, 2_050_000


def pairs(rnd, rows, repeated=0):
    """votes of which no two have the same username and link, but each repeated-th row those of an earlier one"""
    for first in range(0, rows, BATCH):
        lines = []
        for i in range(first, min(first + BATCH, rows)):
            if repeated and i % repeated == repeated - 1:
                i = rnd.randrange(i // repeated + 1) * repeated
            lines.append("user%d,t3_%s,%d\n" % (*pair(i), 1 if i % 10 < 7 else -1))
        yield "".join(lines)


def pair(i):
    """the i-th username and link"""
    step = 40_503_000_007                   # a prime: the numbers of all pairs, each once
    user, link = divmod(i * step % (USERS * LINKS), LINKS)
    return user, base36(link)


def base36(n):
    text = ""
    for _ in range(5):
        n, digit = divmod(n, 36)
        text += "0123456789abcdefghijklmnopqrstuvwxyz"[digit]
    return text


def twins(rnd, rows):
    """the same with each hundredth row's key taken"""
    return pairs(rnd, rows, 100)


def known(rnd, rows):
    """the keys of every tenth of pairs, with other scores, in another order than theirs"""
    yield from drawn_pairs(rows, lambda i: 10 * i)


def half_known(rnd, rows):
    """the same, but each second key follows those of pairs"""
    yield from drawn_pairs(rows, lambda i: 10 * rows + i if i % 2 else 10 * i)


def drawn_pairs(rows, number):
    step = 1_000_003                        # a prime
    for first in range(0, rows, BATCH):
        yield "".join("user%d,t3_%s,2\n" % pair(number(i * step % rows)) for i in range(first, min(first + BATCH, rows)))


def days(rnd, rows, first=0, last=399):
    """votes of 400 days, in no order"""
    for part in votes(rnd, rows):
        yield "".join("%s,%d\n" % (line, rnd.randint(first, last)) for line in part.splitlines())


def newest(rnd, rows):
    """votes of the last of these days"""
    return days(rnd, rows, first=399)


def latest(rnd, rows):
    """votes of the last 60 of them"""
    return days(rnd, rows, first=340)


def documents(rnd, rows):
    """votes with a small JSON document"""
    words = ["".join(rnd.choices("abcdefghijklmnopqrstuvwxyz", k=rnd.randrange(3, 10))) for _ in range(20_000)]
    for part in votes(rnd, rows):
        lines = part.splitlines()
        tags = rnd.choices(words, k=4 * len(lines))
        yield "".join('%s,"{""tags"": [""%s"", ""%s"", ""%s""], ""from"": ""%s"", ""size"": %d}"\n'
                      % (line, *tags[4 * i:4 * i + 4], rnd.randrange(1000)) for i, line in enumerate(lines))


EXTRACT = (["int"] * 8 + ["bigint"] * 3 + ["numeric(12,2)"] * 6 + ["date"] * 3 + ["timestamp"] +
           ["boolean"] * 2 + ["text"] * 6)


# whose rows are, and are not, short enough for the server to leave each value as it is
WIDE_TYPES = ["int", "numeric(12,2)", "date", "timestamp", "boolean", "text", "float8", "smallint", "boolean", "int"] * 30
WIDER_TYPES = ["int", "bigint", "numeric(12,2)", "date", "timestamp", "boolean", "text", "float8", "smallint", "uuid"] * 30


def mixed(rnd, rows, kinds):
    """columns of these types, tab-separated, the first one the row's number; a tenth of the values is an empty NULL"""
    day = datetime.date(2005, 1, 1)
    days = [str(day + datetime.timedelta(d)) for d in range(7000)]
    words = ["".join(rnd.choices("abcdefghijklmnopqrstuvwxyzäöü", k=rnd.randrange(3, 11))) for _ in range(5000)]
    phrases = [" ".join(rnd.choices(words, k=k)) for k in (1, 1, 2, 3) for _ in range(10_000)]
    make = {
        "int": lambda k: map(str, rnd.choices(range(1_000_000), k=k)),
        "smallint": lambda k: map(str, rnd.choices(range(2000), k=k)),
        "bigint": lambda k: map(str, rnd.choices(range(10 ** 12, 10 ** 13, 7919), k=k)),
        "numeric(12,2)": lambda k: ["%d.%02d" % divmod(int(rnd.expovariate(1e-5)), 100) for _ in range(k)],
        "float8": lambda k: ["%.6g" % rnd.expovariate(1e-3) for _ in range(k)],
        "date": lambda k: rnd.choices(days, k=k),
        "timestamp": lambda k: ["%s %02d:%02d:%02d" % (d, s // 3600, s // 60 % 60, s % 60)
                                for d, s in zip(rnd.choices(days, k=k), rnd.choices(range(86_400), k=k))],
        "boolean": lambda k: rnd.choices("tf", k=k),
        "text": lambda k: rnd.choices(phrases, k=k),
        "char(3)": lambda k: rnd.choices(("EUR", "USD", "de", "en", "fr"), k=k),
        "uuid": lambda k: [str(uuid.UUID(int=rnd.getrandbits(128))) for _ in range(k)],
    }
    for first in range(0, rows, BATCH):
        n = min(BATCH, rows - first)
        columns = [map(str, range(first, first + n))]
        for kind in kinds[1:]:
            absent = rnd.choices((True, False), (1, 9), k=n)
            columns.append("" if a else v for a, v in zip(absent, make[kind](n)))
        yield "".join("\t".join(row) + "\n" for row in zip(*columns))


def extract(rnd, rows):
    """29 columns as an ERP system exports them"""
    return mixed(rnd, rows, EXTRACT)


def wide(rnd, rows):
    return mixed(rnd, rows, WIDE_TYPES)


def wider(rnd, rows):
    return mixed(rnd, rows, WIDER_TYPES)


def comments(rnd, rows):
    """texts all quoted, with doubled quotes, commas and line ends in them"""
    words = ["".join(rnd.choices("abcdefghijklmnopqrstuvwxyzäöü", k=rnd.randrange(2, 10))) for _ in range(5000)]
    said = [f'{" ".join(a)}, ""{" ".join(b)}""{end}' for a, b, end in zip(
        zip(*[rnd.choices(words, k=20_000)] * 3), zip(*[iter(rnd.choices(words, k=40_000))] * 2), rnd.choices((".", " ...", "\nPS"), k=20_000))]
    for first in range(0, rows, BATCH):
        n = min(BATCH, rows - first)
        yield "".join(map('%d,"%s","%s","%s"\n'.__mod__, zip(
            range(first, first + n), rnd.choices(words, k=n), rnd.choices(said, k=n), rnd.choices(said, k=n))))


PLACES = 5000


def readings(rnd, rows, inorder=False):
    """of instruments in so many places, in no order, or in that of their time, of which there are as many steps"""
    for first in range(0, rows, BATCH):
        yield "".join("%d,%d,%d.%02d,2026-01-01 %02d:%02d:%02d\n" % (
            i * PLACES // rows if inorder else rnd.randrange(PLACES), i, rnd.randrange(1000), rnd.randrange(100),
            rnd.randrange(24), rnd.randrange(60), rnd.randrange(60)) for i in range(first, min(first + BATCH, rows)))


def readings_in_order(rnd, rows):
    return readings(rnd, rows, True)


# what sales refer to, and of how many rows each is
DIMENSIONS = {"shop": 1000, "product": 50_000, "channel": 10, "day": 365}


def sales(rnd, rows):
    """rows of a fact table, each with a number of each dimension, in no order"""
    for first in range(0, rows, BATCH):
        yield "".join("%d,%s,%d.%02d\n" % (
            i, ",".join(str(rnd.randrange(count)) for count in DIMENSIONS.values()), rnd.randrange(1000), rnd.randrange(100))
            for i in range(first, min(first + BATCH, rows)))


def events(rnd, rows):
    """id, time, and a JSON document of 0.5 to 5 kB"""
    words = ["".join(rnd.choices("abcdefghijklmnopqrstuvwxyz", k=rnd.randrange(3, 10))) for _ in range(2000)]

    def item():
        return json.dumps({"sku": rnd.randrange(10 ** 8), "name": " ".join(rnd.choices(words, k=4)),
                           "price": round(rnd.random() * 900, 2), "tags": rnd.choices(words, k=3),
                           "stock": {"in": rnd.random() < .8, "place": rnd.choice(words)}})

    items = [item() for _ in range(5000)]
    start = datetime.datetime(2026, 1, 1)
    for i in range(rows):
        parts = ", ".join(rnd.choices(items, k=rnd.randrange(3, 31)))
        doc = '{"session": "%032x", "user": "%s", "items": [%s]}' % (rnd.getrandbits(128), rnd.choice(words), parts)
        yield '%d,%s+00,"%s"\n' % (i, start + datetime.timedelta(seconds=i), doc.replace('"', '""'))


def narrow(rnd, rows):
    """one column of random ints"""
    for first in range(0, rows, BATCH):
        yield "".join("%d\n" % rnd.randrange(-2 ** 31, 2 ** 31) for _ in range(min(BATCH, rows - first)))


class DataSet:
    def __init__(self, make, rows, columns, tab=False):
        self.name, self.make, self.rows, self.columns = make.__name__, make, rows, columns
        self.delimiter = "\t" if tab else ","
        self.copy_options = "FORMAT csv" + (", DELIMITER E'\\t'" if tab else "")
        self.options = {"delimiter": "\t"} if tab else {}

    def file(self, folder, percent):
        """-> path and number of rows; makes the file where it is missing"""
        rows = max(int(self.rows * percent / 100), 1000)
        path = os.path.join(folder, f"{self.name}-{rows}.csv")
        if not os.path.exists(path):
            os.makedirs(folder, exist_ok=True)
            with open(path + ".new", "w", encoding="utf-8", newline="") as out:
                out.writelines(self.make(random.Random(self.name), rows))
            os.rename(path + ".new", path)
        return path, rows


def numbered(kinds):
    return ", ".join(f"c{i} {kind}" for i, kind in enumerate(kinds, 1))


VOTES = "username text, link text, score int"
ALL = [
    DataSet(votes, 7_500_000, VOTES),
    DataSet(extract, 1_000_000, numbered(EXTRACT), tab=True),
    DataSet(events, 200_000, "id bigint, at timestamptz, doc jsonb"),
    DataSet(narrow, 10_000_000, "n int"),
]
SPOILED = DataSet(spoiled, 7_500_000, VOTES)
PAIRS = DataSet(pairs, 7_500_000, VOTES)
TWINS = DataSet(twins, 7_500_000, VOTES)
KNOWN, HALF_KNOWN = (DataSet(make, 750_000, VOTES) for make in (known, half_known))
DAYS = DataSet(days, 7_500_000, VOTES + ", day int")
NEWEST, LATEST = (DataSet(make, 750_000, VOTES + ", day int") for make in (newest, latest))
DOCUMENTS = DataSet(documents, 7_500_000, VOTES + ", doc jsonb")
READINGS, READINGS_IN_ORDER = (DataSet(make, 2_000_000, "place int, n bigint, value float8, at timestamp") for make in (readings, readings_in_order))
SALES = DataSet(sales, 2_000_000, f"id int, {', '.join(f'{name} int' for name in DIMENSIONS)}, amount numeric(10,2)")
COMMENTS = DataSet(comments, 2_000_000, "id int, author text, title text, body text")
WIDE, WIDER = (DataSet(make, 60_000, numbered(kinds), tab=True) for make, kinds in ((wide, WIDE_TYPES), (wider, WIDER_TYPES)))
HITS = DataSet(hits.clickbench, 250_000, hits.TABLE)
