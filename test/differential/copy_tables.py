"""Tables for copy.py: every kind that COPY can load, with what may hang on it.

A Table has the SQL that makes it, the columns that a file may give, and the
queries whose results must be the same after COPY and after bulk_load.
"""

import random

import copy_values

NAMES = ["a", "b", "c", "id", "Mixed Case", "we\"ird", "select", "d1", "\u00e9t\u00e9", "k2", "long_name_long_name", "x"]


def ident(name):
    return '"' + name.replace('"', '""') + '"'


class Column:
    def __init__(self, name, type):
        self.name = name
        self.type = type
        self.make = None			# of (rng, row): instead of the type's values
        self.clauses = ""			# of its definition
        self.loadable = True
        self.has_default = False
        self.not_null = False
        self.stored = True			# has bytes of its own

    def value(self, rng, row):
        return self.make(rng, row) if self.make else self.type.good(rng)

    def definition(self):
        return "%s %s%s" % (ident(self.name), self.type.sql, self.clauses)


# In every database; what they look at is in the schema of the case.
FUNCTIONS = """
CREATE FUNCTION log_it() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO log (what, detail) VALUES (concat_ws(' ', TG_NAME, TG_WHEN, TG_LEVEL, TG_TABLE_NAME), CASE TG_LEVEL WHEN 'ROW' THEN NEW::text END);
        RETURN NEW;
    END $$;
CREATE FUNCTION count_it() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE n int;
    BEGIN
        EXECUTE 'SELECT count(*) FROM ' || TG_ARGV[0] INTO n;
        INSERT INTO log (what, detail) VALUES (concat_ws(' ', TG_NAME, TG_WHEN, TG_LEVEL, n), CASE TG_LEVEL WHEN 'ROW' THEN NEW::text END);
        RETURN NEW;
    END $$;
CREATE FUNCTION skip_it() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF hashtext(NEW::text) % 4 = 0 THEN RETURN NULL; END IF;
        RETURN NEW;
    END $$;
CREATE FUNCTION log_new() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO log (what, detail) SELECT TG_NAME || ' ' || TG_LEVEL, n::text FROM new_rows n;
        RETURN NULL;
    END $$;
CREATE FUNCTION rows_now() RETURNS int LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
        RETURN (SELECT count(*) FROM log);
    END $$;
"""


class Table:
    def __init__(self, rng, version, ascii_names=True, bare=False):
        """bare: nothing looks at each row once it is in the table."""
        self.rng = rng
        self.version = version
        self.bare = bare
        self.name = rng.choice(["t", "t", "Load Into"])
        self.kind = rng.choice(["plain"] * 5 + ["unlogged", "temp", "parent", "child", "list", "range", "hash", "sub"]) if bare else rng.choice(
            ["plain"] * 5 + ["unlogged", "temp", "list", "range", "hash", "sub", "parent", "child", "view", "heap2"])
        self.partitioned = self.kind in ("list", "range", "hash", "sub")
        self.constraints = []
        self.after = []				# SQL once the table is there
        self.serial = False			# rows use up numbers: a second load differs
        self.logs = False
        self.busy = False			# triggers or defaults that see earlier rows
        self.deferred = False
        self.has_key = False
        names = [n for n in NAMES if n.isascii() or not ascii_names]
        rng.shuffle(names)
        pool = copy_values.FAST if rng.random() < 0.6 else copy_values.TYPES
        self.columns = [Column(names.pop(), rng.choice(pool)) for _ in range(rng.randint(1, 6))]
        if self.partitioned:
            self.key = self.integer(names.pop(), lambda rng, row: str(rng.randint(0, 60)))
            self.columns.insert(rng.randint(0, len(self.columns)), self.key)
        # numbers of its own: what else a case has is as without partitions of these kinds
        self.parting = random.Random(" ".join([self.kind] + [c.name + c.type.sql for c in self.columns]) + str(len(names)))
        for column in self.columns:
            self.decorate(column)
        self.add_features(names)
        self.add_triggers()

    @staticmethod
    def integer(name, make):
        column = Column(name, copy_values.BY_NAME["int4"])
        column.make = make
        return column

    def decorate(self, column):
        rng = self.rng
        if rng.random() < 0.15:
            column.clauses += " NOT NULL"
            column.not_null = True
        if column.type.sql in ("filled", "nested"):
            column.not_null = True
        if rng.random() < 0.2 and not column.make:
            column.has_default = True
            sql = column.type.sql
            if sql in ("int4", "int8", "numeric", "float8") and rng.random() < 0.5:
                default = rng.choice(["random()", "rows_now()"])
                self.busy = True
            else:
                default = "CAST(%s AS %s)" % (literal(column.type.good(rng)), sql.split(" COLLATE")[0])
            column.clauses += " DEFAULT " + default

    def add_features(self, names):
        rng = self.rng
        number = None
        if self.bare:
            number = self.integer(names.pop(), lambda rng, row: str(row))
            self.columns.append(number)
        elif rng.random() < 0.35:
            column = self.integer(names.pop(), lambda rng, row: str(row * 3 if rng.random() < 0.97 else row))
            kind = rng.randrange(5)
            self.has_key = True
            if self.partitioned:
                self.constraints.append("UNIQUE (%s, %s)" % (ident(column.name), ident(self.key.name)))
            elif kind == 0:
                column.clauses = " PRIMARY KEY"
                column.not_null = True
            elif kind == 1:
                column.clauses = " UNIQUE DEFERRABLE INITIALLY DEFERRED"
                self.deferred = True
            elif kind == 2:
                column.clauses = " NOT NULL"
                column.not_null = True
                self.constraints.append("EXCLUDE (%s WITH =)" % ident(column.name))
            elif kind == 3:
                self.after.append("CREATE UNIQUE INDEX ON @ ((%s / 2)) WHERE %s > 2" % (ident(column.name), ident(column.name)))
            else:
                column.clauses = " UNIQUE"
            self.columns.append(column)
            number = column
        if rng.random() < 0.2 and self.kind != "temp" and not self.bare:
            column = self.integer(names.pop(), lambda rng, row: str(rng.randint(0, 18) if rng.random() < 0.99 else 19))
            self.deferred |= rng.random() < 0.4
            column.clauses = " REFERENCES referenced" + (" DEFERRABLE INITIALLY DEFERRED" if self.deferred else "")
            self.columns.append(column)
            number = column
        if rng.random() < 0.2:
            column = self.integer(names.pop(), lambda rng, row: str(row))
            column.clauses = rng.choice([" GENERATED ALWAYS AS IDENTITY", " GENERATED BY DEFAULT AS IDENTITY", " DEFAULT nextval('numbers')"])
            if self.partitioned:
                column.clauses = " DEFAULT nextval('numbers')"
            column.has_default = True
            column.not_null = "IDENTITY" in column.clauses
            self.columns.append(column)
            self.serial = True
        if number and rng.random() < 0.4:
            column = Column(names.pop(), copy_values.BY_NAME["int4"])
            column.stored = self.version < 18 or rng.random() < 0.5
            column.clauses = " GENERATED ALWAYS AS (%s * 2) %s" % (ident(number.name), "STORED" if column.stored else "VIRTUAL")
            column.loadable = False
            self.columns.insert(rng.randint(0, len(self.columns)), column)
            if rng.random() < 0.3:
                self.constraints.append("CONSTRAINT doubled CHECK (%s < 70)" % ident(column.name))
        if number and rng.random() < 0.3:
            self.constraints.append("CONSTRAINT small CHECK (%s < 100)" % ident(number.name))
        for column in self.columns:
            if rng.random() < 0.1 and column.stored and column.type.key and not self.bare:
                method = rng.choice(["btree", "btree", "hash"])
                self.after.append("CREATE INDEX ON @ USING %s (%s)" % (method, ident(column.name)))

    def add_triggers(self):
        rng = self.rng
        if self.kind == "view":
            self.logs = True
            return
        if rng.random() > 0.25:
            return
        self.logs = True
        for n in range(rng.randint(1, 3)):
            timing = rng.choice(["BEFORE INSERT ON @ FOR EACH STATEMENT", "AFTER INSERT ON @ FOR EACH STATEMENT"] + [
                "BEFORE INSERT ON @ FOR EACH ROW", "AFTER INSERT ON @ FOR EACH ROW", "transition"] * (not self.bare))
            function = rng.choice(["log_it()", "log_it()", "count_it(@)"])
            if timing.startswith("BEFORE") and timing.endswith("ROW"):
                function = rng.choice([function, "skip_it()"])
            if timing == "transition":
                each = "ROW" if rng.random() < 0.2 and not self.partitioned and self.kind not in ("parent", "child") else "STATEMENT"
                timing = "AFTER INSERT ON @ REFERENCING NEW TABLE AS new_rows FOR EACH " + each
                function = "log_new()"
            if function.startswith("count"):
                self.busy = True
            on = "@"
            if self.partitioned and rng.random() < 0.3 and "new_rows" not in timing:
                on = "part_1"
            sql = "CREATE TRIGGER trigger_%d %s EXECUTE FUNCTION %s" % (n, timing.replace("@", on), function.replace("@", "'@'"))
            self.after.append(sql)

    # ---- SQL ----

    def definition(self, name, prefix="", suffix="", shuffled=False):
        rng = self.rng
        lines = [c.definition() for c in self.columns]
        dropped = []
        if rng.random() < 0.3 and self.kind != "child":
            for n in range(rng.randint(1, 2)):
                dropped.append("dropped_%d" % n)
                lines.insert(rng.randint(0, len(lines)), "dropped_%d %s" % (n, rng.choice(["int", "text", "int NOT NULL DEFAULT 5"])))
        if shuffled:
            rng.shuffle(lines)
        sql = ["CREATE %sTABLE %s (%s)%s" % (prefix, name, ", ".join(lines + self.constraints), suffix)]
        return sql + ["ALTER TABLE %s DROP COLUMN %s" % (name, d) for d in dropped]

    def partition_key(self):
        """What rows are told apart by: the column, or an expression with its values."""
        key = ident(self.key.name)
        if self.has_key:
            return key
        kinds = [key, key, "(%s + 0)" % key, "(least(%s, 1000))" % key, "(CASE WHEN %s > 59 THEN 1 / (%s - %s) ELSE %s END)" % (key, key, key, key)]
        return self.parting.choice(kinds)

    def leaf_checks(self):
        """Constraints of single partitions."""
        key = ident(self.key.name)
        checks = ["ADD CHECK (%s <> 13)" % key, "ADD CHECK (100 / (%s - 13) < 200)" % key, "ADD CHECK (pg_column_size(%s) < 5)" % key, "ALTER %s SET NOT NULL" % key]
        return ["ALTER TABLE part_1 " + self.parting.choice(checks)] if self.parting.random() < 0.15 else []

    def partitions(self, name):
        """The partitions, made by themselves or with another order of columns."""
        rng = self.rng
        bounds = {"list": ["IN (%s)" % ", ".join(map(str, range(0, 20))), "IN (%s)" % ", ".join(map(str, range(20, 58))), "IN (58, 59, NULL)"],
                  "range": ["FROM (MINVALUE) TO (10)", "FROM (10) TO (40)", "FROM (40) TO (60)"],
                  "sub": ["FROM (0) TO (30)", "FROM (30) TO (50)", "FROM (50) TO (61)"],
                  "hash": ["WITH (MODULUS 3, REMAINDER %d)" % n for n in range(3)]}[self.kind]
        sql = []
        for n, bound in enumerate(bounds, 1):
            sub = self.kind == "sub" and n == 2
            if rng.random() < 0.5 or sub:
                sql.append("CREATE TABLE part_%d PARTITION OF %s FOR VALUES %s%s" % (n, name, bound, " PARTITION BY HASH (%s)" % ident(self.key.name) if sub else ""))
            else:
                sql += self.definition("part_%d" % n, shuffled=True)
                sql.append("ALTER TABLE %s ATTACH PARTITION part_%d FOR VALUES %s" % (name, n, bound))
            if sub:
                for m in range(2):
                    sql.append("CREATE TABLE part_2_%d PARTITION OF part_2 FOR VALUES WITH (MODULUS 2, REMAINDER %d)" % (m, m))
        if self.kind != "hash" and rng.random() < 0.5:
            sql.append("CREATE TABLE part_default PARTITION OF %s DEFAULT" % name)
        return sql

    def setup(self, log):
        """SQL statements; log: its table is wanted in any case."""
        name = ident(self.name)
        sql = []
        if log or self.logs or self.busy:
            sql.append("CREATE TABLE log (seq serial, what text, detail text)")
        if any("referenced" in c.clauses for c in self.columns):
            sql += ["CREATE TABLE referenced (id int PRIMARY KEY)", "INSERT INTO referenced SELECT generate_series(0, 18)"]
        if self.serial:
            sql.append("CREATE SEQUENCE numbers")
        base = ident("base") if self.kind == "view" else name
        if self.kind == "temp":
            sql += self.definition(name, "TEMP ")
        elif self.kind == "unlogged":
            sql += self.definition(name, "UNLOGGED ")
        elif self.kind == "heap2":
            sql += self.definition(name, suffix=" USING heap2")
        elif self.partitioned:
            method = {"list": "LIST", "hash": "HASH"}.get(self.kind, "RANGE")
            sql += self.definition(name, suffix=" PARTITION BY %s (%s)" % (method, self.partition_key()))
            sql += self.partitions(name) + self.leaf_checks()
        elif self.kind == "child":
            sql += ["CREATE TABLE grandparent (%s)" % next(c for c in self.columns if c.loadable).definition()]
            sql += self.definition(name, suffix=" INHERITS (grandparent)")
        else:
            sql += self.definition(base)
        if self.kind == "parent":
            sql.append("CREATE TABLE child (extra int) INHERITS (%s)" % name)
        if self.kind == "view":
            sql += self.view(name, base)
        return sql + [s.replace("@", base) for s in self.after]

    def view(self, name, base):
        given = ", ".join(ident(c.name) for c in self.columns if c.loadable)
        new = ", ".join("NEW." + ident(c.name) for c in self.columns if c.loadable)
        overriding = " OVERRIDING SYSTEM VALUE" if any("ALWAYS AS IDENTITY" in c.clauses for c in self.columns) else ""
        sql = ["CREATE VIEW %s AS SELECT * FROM %s" % (name, base),
               """CREATE FUNCTION insert_it() RETURNS trigger LANGUAGE plpgsql AS $$
                   BEGIN
                       IF hashtext(NEW::text) %% 5 = 0 THEN RETURN NULL; END IF;
                       INSERT INTO log (what, detail) SELECT 'instead', NEW::text || count(*) FROM %s;
                       INSERT INTO %s (%s)%s VALUES (%s);
                       RETURN NEW;
                   END $$""" % (base, base, given, overriding, new),
               "CREATE TRIGGER instead INSTEAD OF INSERT ON %s FOR EACH ROW EXECUTE FUNCTION insert_it()" % name]
        if self.rng.random() < 0.3:
            sql.append("CREATE TRIGGER s AFTER INSERT ON %s FOR EACH STATEMENT EXECUTE FUNCTION log_it()" % name)
        return sql

    def dumps(self):
        name = '"base"' if self.kind == "view" else ident(self.name)
        sizes = "".join(", pg_column_size(%s)" % ident(c.name) for c in self.columns if c.stored)
        queries = ["SELECT tableoid::regclass::text AS its_table%s, t.* FROM %s t ORDER BY tableoid::regclass::text, t.ctid" % (sizes, name)]
        if self.logs:
            queries.append("SELECT * FROM log ORDER BY seq")
        return queries


def literal(text):
    text = text.replace("'", "''")
    if not any(c in text for c in "\\\r\n\t\v\f\b\x01"):
        return "'" + text + "'"
    return "E'" + "".join("\\\\" if c == "\\" else "\\x%02x" % ord(c) if ord(c) < 32 else c for c in text) + "'"
