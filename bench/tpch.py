"""TPC-H's eight tables, with rows of our own: column types, keys, ranges and the ways in which rows belong together are those of the
benchmark, texts are made of other words.  A scale of 1 is 6 million lines of orders, about 1 GB.
"""
import datetime
import os
import random

# table: columns, all NOT NULL; its primary key
TABLES = {
    "region": ("r_regionkey int, r_name char(25), r_comment varchar(152)", "r_regionkey"),
    "nation": ("n_nationkey int, n_name char(25), n_regionkey int, n_comment varchar(152)", "n_nationkey"),
    "supplier": ("s_suppkey int, s_name char(25), s_address varchar(40), s_nationkey int, s_phone char(15), s_acctbal numeric(15,2), "
                 "s_comment varchar(101)", "s_suppkey"),
    "customer": ("c_custkey int, c_name varchar(25), c_address varchar(40), c_nationkey int, c_phone char(15), c_acctbal numeric(15,2), "
                 "c_mktsegment char(10), c_comment varchar(117)", "c_custkey"),
    "part": ("p_partkey int, p_name varchar(55), p_mfgr char(25), p_brand char(10), p_type varchar(25), p_size int, p_container char(10), "
             "p_retailprice numeric(15,2), p_comment varchar(23)", "p_partkey"),
    "partsupp": ("ps_partkey int, ps_suppkey int, ps_availqty int, ps_supplycost numeric(15,2), ps_comment varchar(199)",
                 "ps_partkey, ps_suppkey"),
    "orders": ("o_orderkey int, o_custkey int, o_orderstatus char(1), o_totalprice numeric(15,2), o_orderdate date, o_orderpriority char(15), "
               "o_clerk char(15), o_shippriority int, o_comment varchar(79)", "o_orderkey"),
    "lineitem": ("l_orderkey int, l_partkey int, l_suppkey int, l_linenumber int, l_quantity numeric(15,2), l_extendedprice numeric(15,2), "
                 "l_discount numeric(15,2), l_tax numeric(15,2), l_returnflag char(1), l_linestatus char(1), l_shipdate date, l_commitdate date, "
                 "l_receiptdate date, l_shipinstruct char(25), l_shipmode char(10), l_comment varchar(44)", "l_orderkey, l_linenumber"),
}
INDEXES = ["supplier (s_nationkey)", "customer (c_nationkey)", "partsupp (ps_suppkey)", "orders (o_custkey)", "orders (o_orderdate)",
           "lineitem (l_partkey)", "lineitem (l_suppkey)", "lineitem (l_shipdate)"]
REFERENCES = ["nation (n_regionkey) region", "supplier (s_nationkey) nation", "customer (c_nationkey) nation", "partsupp (ps_partkey) part",
              "partsupp (ps_suppkey) supplier", "orders (o_custkey) customer", "lineitem (l_orderkey) orders",
              "lineitem (l_partkey, l_suppkey) partsupp"]

FIRST_DAY, DAYS = datetime.date(1992, 1, 1), 2557       # up to the end of 1998
FEWEST = 300                                            # suppliers, so that the four of a part are different ones
TODAY = (datetime.date(1995, 6, 17) - FIRST_DAY).days


def columns(table):
    """-> (name, type) of each column"""
    return [tuple(column.split(" ")) for column in TABLES[table][0].split(", ")]


def tables():
    """the statements that make them"""
    return [f"CREATE TABLE {name} ({', '.join(f'{column} {kind} NOT NULL' for column, kind in columns(name))})" for name in TABLES]


def keys():
    return [f"ALTER TABLE {name} ADD PRIMARY KEY ({key})" for name, (_, key) in TABLES.items()]


def references():
    parts = (reference.rsplit(" ", 1) for reference in REFERENCES)
    return ["ALTER TABLE {} ADD FOREIGN KEY {} REFERENCES {}".format(*referring.split(" ", 1), referenced) for referring, referenced in parts]


def supplier_of(part, n, suppliers):
    """the n-th of the four that have a part"""
    return (part + n * (suppliers // 4 + (part - 1) // suppliers)) % suppliers + 1


def cents(part):
    """the price of a part"""
    return 90_000 + part // 10 % 20_001 + 100 * (part % 1000)


def money(amount):
    return "%s%d.%02d" % ("-" * (amount < 0), *divmod(abs(amount), 100))


class Rows:
    """the rows of each table, as lines of COPY's text format"""

    def __init__(self, scale):
        self.rnd = rnd = random.Random("tpch")
        self.suppliers = max(int(10_000 * scale), FEWEST)
        self.customers, self.parts, self.count = (max(int(n * scale), 40) for n in (150_000, 200_000, 1_500_000))
        words = ["".join(rnd.choices("abcdefghijklmnopqrstuvwxyz", k=rnd.randrange(3, 11))) for _ in range(2000)]
        self.colours = words[:92]
        self.text = " ".join(rnd.choices(words, k=50_000))
        self.days = [str(FIRST_DAY + datetime.timedelta(d)) for d in range(DAYS)]

    def comment(self, most):
        """of at least two fifths of so many characters"""
        first, length = self.rnd.randrange(len(self.text) - most), self.rnd.randint(most * 2 // 5, most)
        return self.text[first:first + length].strip()

    def address(self):
        return "".join(self.rnd.choices("abcdefghijklmnopqrstuvwxyz0123456789 ,", k=self.rnd.randint(10, 40))).strip() or "-"

    def phone(self, nation):
        return "%d-%03d-%03d-%04d" % (nation + 10, self.rnd.randint(100, 999), self.rnd.randint(100, 999), self.rnd.randint(1000, 9999))

    def balance(self):
        return money(self.rnd.randint(-99_999, 999_999))

    def region(self):
        return ((n, f"REGION {n}", self.comment(152)) for n in range(5))

    def nation(self):
        return ((n, f"NATION {n:02}", n % 5, self.comment(152)) for n in range(25))

    def supplier(self):
        for n in range(1, self.suppliers + 1):
            nation = self.rnd.randrange(25)
            yield n, f"Supplier#{n:09}", self.address(), nation, self.phone(nation), self.balance(), self.comment(101)

    def customer(self):
        for n in range(1, self.customers + 1):
            nation = self.rnd.randrange(25)
            yield (n, f"Customer#{n:09}", self.address(), nation, self.phone(nation), self.balance(), f"SEGMENT {n % 5}",
                   self.comment(117))

    def part(self):
        rnd = self.rnd
        for n in range(1, self.parts + 1):
            maker = rnd.randint(1, 5)
            yield (n, " ".join(rnd.sample(self.colours, 5))[:55], f"Manufacturer#{maker}", f"Brand#{maker}{rnd.randint(1, 5)}",
                   f"TYPE {rnd.randint(1, 6)} OF KIND {rnd.randint(1, 5)}, {rnd.choice('TNBSC')}", rnd.randint(1, 50),
                   f"{rnd.choice(('SM', 'LG', 'MED', 'JUMBO', 'WRAP'))} BOX", money(cents(n)), self.comment(23))

    def partsupp(self):
        for part in range(1, self.parts + 1):
            for n in range(4):
                yield (part, supplier_of(part, n, self.suppliers), self.rnd.randint(1, 9999), money(self.rnd.randint(100, 100_000)),
                       self.comment(199))

    def key(self, n):
        """of the n-th order: the first eight of each 32 numbers"""
        return n // 8 * 32 + n % 8 + 1

    def lines(self, n, day):
        """-> of an order: its lines, what they cost together, and how many of them were delivered"""
        rnd, lines, total, delivered = self.rnd, [], 0, 0
        for number in range(1, rnd.randint(1, 7) + 1):
            part, quantity, discount, tax = rnd.randint(1, self.parts), rnd.randint(1, 50), rnd.randint(0, 10), rnd.randint(0, 8)
            shipped = day + rnd.randint(1, 121)
            received = shipped + rnd.randint(1, 30)
            price = quantity * cents(part)
            total += price * (100 + tax) * (100 - discount) // 10_000
            delivered += shipped <= TODAY
            lines.append((
                self.key(n), part, supplier_of(part, rnd.randrange(4), self.suppliers), number, f"{quantity}.00", money(price), money(discount),
                money(tax), rnd.choice("RA") if received <= TODAY else "N", "F" if shipped <= TODAY else "O", self.days[shipped],
                self.days[day + rnd.randint(30, 90)], self.days[received], rnd.choice(("NONE", "IN PERSON", "COLLECT", "RETURN IT")),
                rnd.choice(("AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB", "REG AIR")), self.comment(44)))
        return lines, total, delivered

    def sold(self):
        """each order with its lines"""
        rnd, clerks = self.rnd, max(self.count // 1500, 1)
        for n in range(self.count):
            day = rnd.randrange(DAYS - 151)
            lines, total, delivered = self.lines(n, day)
            # every third customer buys nothing
            buyer = rnd.randrange(self.customers * 2 // 3)
            status = "F" if delivered == len(lines) else "P" if delivered else "O"
            yield (self.key(n), buyer // 2 * 3 + buyer % 2 + 1, status, money(total), self.days[day], f"{rnd.randint(1, 5)}-PRIORITY",
                   f"Clerk#{rnd.randint(1, clerks):09}", 0, self.comment(79)), lines


def line(row):
    return "\t".join(map(str, row)) + "\n"


def files(folder, scale):
    """-> each table and its file, in an order in which those referred to come first; made once"""
    paths = {name: os.path.join(folder, f"tpch-{scale:g}-{name}.tsv") for name in TABLES}
    if all(map(os.path.exists, paths.values())):
        return paths
    os.makedirs(folder, exist_ok=True)
    rows = Rows(scale)
    for name in list(TABLES)[:6]:
        with open(paths[name] + ".new", "w", encoding="utf-8", newline="") as out:
            out.writelines(map(line, getattr(rows, name)()))
    with open(paths["orders"] + ".new", "w", encoding="utf-8") as orders, open(paths["lineitem"] + ".new", "w", encoding="utf-8") as lineitem:
        for order, lines in rows.sold():
            orders.write(line(order))
            lineitem.writelines(map(line, lines))
    for path in paths.values():
        os.rename(path + ".new", path)
    return paths


def script(folder, scale):
    """the same as a script of psql, with keys and indexes"""
    yield "".join(f"{statement};\n" for statement in tables())
    for name, path in files(folder, scale).items():
        yield f"\\copy {name} FROM '{path}'\n"
    yield "".join(f"{key};\n" for key in keys())
    yield "".join(f"CREATE INDEX ON {index};\n" for index in INDEXES)
    yield "".join(f"{reference};\n" for reference in references())
