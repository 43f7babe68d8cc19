"""The objects for rights.py: tables and what belongs to them, with the privileges that a load needs.

{loader} is the role that loads, {owner} the one that owns the schema s.
"""

# Parts of values that the loader may not read.
SECRETS = ["S3CR3T", "7654321"]
DATA = "1,one\n2,two\n3,three\n"


class Object:
    def __init__(self, name, setup, grants, table="s.t", columns=("a", "b"), data=DATA, where=None, types=("int", "text"), shown=None, loads=True, rejected=False):
        self.name = name
        self.setup = setup
        self.grants = grants
        self.table = table
        self.columns = list(columns)
        self.data = data
        self.where = where
        self.types = types
        self.shown = shown or table
        self.loads = loads
        self.rejected = rejected        # a trigger's privileges are missing for each row
        self.is_view = table == "s.v"


USAGE = "GRANT USAGE ON SCHEMA s TO {loader}"
INSERT = "GRANT INSERT ON s.t TO {loader}"
DELETE = ["GRANT SELECT ON s.t TO {loader}", "GRANT DELETE ON s.t TO {loader}", "GRANT TRUNCATE ON s.t TO {loader}"]
TABLE = "CREATE TABLE s.t (a int, b text)"
OWN = "ALTER TABLE s.t OWNER TO {owner}"


def function(name, arguments, result, body, volatility="IMMUTABLE", language="sql", more=""):
    """Of the owner, and not for the loader before that is granted."""
    return ["CREATE FUNCTION s.%s(%s) RETURNS %s %s LANGUAGE %s %s AS $$%s$$" % (name, arguments, result, volatility, language, more, body),
            "REVOKE EXECUTE ON FUNCTION s.%s FROM PUBLIC" % name, "ALTER FUNCTION s.%s OWNER TO {owner}" % name]


def execute(name):
    return "GRANT EXECUTE ON FUNCTION s.%s TO {loader}" % name


POSITIVE = function("positive", "i int", "bool", "BEGIN RETURN i > 0; END", language="plpgsql")
TWICE = function("twice", "i int", "int", "BEGIN RETURN i * 2; END", language="plpgsql")


def tables():
    yield Object("a table", [TABLE, OWN], [USAGE, INSERT] + DELETE)
    yield Object("a table's columns", [TABLE, OWN], [USAGE, "GRANT INSERT (a) ON s.t TO {loader}", "GRANT INSERT (b) ON s.t TO {loader}"] + DELETE)
    yield Object("some of a table's columns", ["CREATE TABLE s.t (a int, b text, c int)", OWN],
                 [USAGE, "GRANT INSERT (a) ON s.t TO {loader}", "GRANT INSERT (b) ON s.t TO {loader}", "GRANT SELECT (a, b) ON s.t TO {loader}", "GRANT DELETE ON s.t TO {loader}"])
    yield Object("a unique key", ["CREATE TABLE s.t (a int PRIMARY KEY, b text UNIQUE)", "INSERT INTO s.t VALUES (2, 'old')", OWN], [USAGE, INSERT] + DELETE, loads=False)
    yield Object("a role of which the loader is a member", [TABLE, OWN, "GRANT INSERT, SELECT, DELETE, TRUNCATE ON s.t TO {other}"], [USAGE, "GRANT {other} TO {loader}"])
    yield Object("the loader's own table", [TABLE], [USAGE, "ALTER TABLE s.t OWNER TO {loader}"])
    yield Object("the loader's own table without its rights", [TABLE, "ALTER TABLE s.t OWNER TO {loader}", "REVOKE ALL ON s.t FROM {loader}"], [USAGE, "GRANT INSERT ON s.t TO {loader}"] + DELETE)
    yield Object("a catalog", [], [USAGE], table="pg_catalog.pg_description", columns=["objoid", "classoid", "objsubid", "description"], data="1,1,1,one\n",
                 types=("oid", "oid", "int", "text"), loads=False)


def security():
    enabled = [TABLE, OWN, "ALTER TABLE s.t ENABLE ROW LEVEL SECURITY"]
    yield Object("row security", enabled, [USAGE, INSERT] + DELETE, loads=False)
    yield Object("row security with a policy", enabled + ["CREATE POLICY p ON s.t USING (true) WITH CHECK (true)"], [USAGE, INSERT] + DELETE, loads=False)
    yield Object("row security that is bypassed", enabled, [USAGE, INSERT, "ALTER ROLE {loader} BYPASSRLS"] + DELETE)
    yield Object("row security of one's own table", [TABLE, "ALTER TABLE s.t ENABLE ROW LEVEL SECURITY", "ALTER TABLE s.t OWNER TO {loader}"], [USAGE])
    yield Object("row security that is forced", [TABLE, "ALTER TABLE s.t ENABLE ROW LEVEL SECURITY", "ALTER TABLE s.t FORCE ROW LEVEL SECURITY", "ALTER TABLE s.t OWNER TO {loader}"], [USAGE], loads=False)
    parts = ["CREATE TABLE s.t (a int, b text) PARTITION BY LIST (a)", "CREATE TABLE s.p PARTITION OF s.t DEFAULT", "ALTER TABLE s.p OWNER TO {owner}", OWN]
    yield Object("row security of a partition, from its parent", parts + ["ALTER TABLE s.p ENABLE ROW LEVEL SECURITY"], [USAGE, INSERT] + DELETE)
    yield Object("row security of a partition itself", parts + ["ALTER TABLE s.p ENABLE ROW LEVEL SECURITY", "GRANT INSERT, SELECT, DELETE ON s.p TO {loader}"], [USAGE, INSERT], table="s.p", loads=False)
    yield Object("row security of rejects", [TABLE, OWN, "ALTER TABLE public.rejects ENABLE ROW LEVEL SECURITY", "CREATE POLICY p ON public.rejects WITH CHECK (true)"], [USAGE, INSERT] + DELETE)


def relations():
    parts = ["CREATE TABLE s.t (a int, b text) PARTITION BY LIST (a)", "CREATE TABLE s.p PARTITION OF s.t DEFAULT", "CREATE TABLE s.p1 PARTITION OF s.t FOR VALUES IN (1)",
             "ALTER TABLE s.p OWNER TO {owner}", OWN]
    yield Object("a partitioned table", parts, [USAGE, INSERT] + DELETE)
    yield Object("a partition", parts, [USAGE, "GRANT INSERT ON s.p TO {loader}", "GRANT SELECT, DELETE, TRUNCATE ON s.p TO {loader}"], table="s.p", data="2,two\n")
    parted = ["CREATE TABLE s.t (a int, b text) PARTITION BY LIST (s.twice(a))"] + ["CREATE TABLE s.p PARTITION OF s.t DEFAULT", "CREATE TABLE s.p1 PARTITION OF s.t FOR VALUES IN (2)", OWN]
    yield Object("a partition key's function", TWICE + parted, [USAGE, INSERT, execute("twice(int)")] + DELETE)
    yield Object("a child", [TABLE, "CREATE TABLE s.child () INHERITS (s.t)", OWN], [USAGE, INSERT] + DELETE)
    view = [TABLE, OWN, "CREATE VIEW s.v AS SELECT * FROM s.t", "ALTER VIEW s.v OWNER TO {owner}",
            "CREATE FUNCTION s.put() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO s.t VALUES (NEW.a, NEW.b); RETURN NEW; END$$"]
    instead = ["CREATE TRIGGER put INSTEAD OF INSERT ON s.v FOR EACH ROW EXECUTE FUNCTION s.put()"]
    yield Object("a view", view, [USAGE, "GRANT INSERT ON s.v TO {loader}"], table="s.v", loads=False)
    yield Object("a view with a trigger", view + instead, [USAGE, "GRANT INSERT ON s.v TO {loader}", "GRANT INSERT ON s.t TO {loader}"], table="s.v", shown="s.t", rejected=True)
    definer = ["ALTER FUNCTION s.put() SECURITY DEFINER", "ALTER FUNCTION s.put() OWNER TO {owner}"]
    yield Object("a view with a definer's trigger", view + definer + instead, [USAGE, "GRANT INSERT ON s.v TO {loader}"], table="s.v", shown="s.t")
    yield Object("a materialized view", [TABLE, "CREATE MATERIALIZED VIEW s.m AS SELECT * FROM s.t"], [USAGE, "GRANT ALL ON s.m TO {loader}"], table="s.m", loads=False)
    yield Object("a sequence", ["CREATE SEQUENCE s.q"], [USAGE, "GRANT ALL ON s.q TO {loader}"], table="s.q", shown="s.q", columns=["last_value", "log_cnt"], data="1,1\n",
                 types=("bigint", "bigint"), loads=False)


def functions():
    yield Object("a default's function", TWICE + ["CREATE TABLE s.t (a int, b text, c int DEFAULT s.twice(4))", OWN], [USAGE, INSERT, execute("twice(int)")] + DELETE)
    yield Object("a default's sequence", ["CREATE SEQUENCE s.q", "CREATE TABLE s.t (a int, b text, c bigint DEFAULT nextval('s.q'))", OWN], [USAGE, INSERT, "GRANT USAGE ON SEQUENCE s.q TO {loader}"] + DELETE, shown="(SELECT a, b FROM s.t)")
    yield Object("a serial column", ["CREATE TABLE s.t (a int, b text, c serial)", OWN], [USAGE, INSERT, "GRANT UPDATE ON SEQUENCE s.t_c_seq TO {loader}"] + DELETE, shown="(SELECT a, b FROM s.t)")
    yield Object("an identity column", ["CREATE TABLE s.t (a int, b text, c int GENERATED ALWAYS AS IDENTITY)", OWN], [USAGE, INSERT] + DELETE, shown="(SELECT a, b FROM s.t)")
    yield Object("a CHECK's function", POSITIVE + ["CREATE TABLE s.t (a int CHECK (s.positive(a)), b text)", OWN], [USAGE, INSERT, execute("positive(int)")] + DELETE)
    yield Object("a domain's function", POSITIVE + ["CREATE DOMAIN s.d AS int CHECK (s.positive(VALUE))", "CREATE TABLE s.t (a s.d, b text)", OWN], [USAGE, INSERT, execute("positive(int)")] + DELETE)
    yield Object("a type", ["CREATE TYPE s.e AS ENUM ('one', 'two', 'three')", "REVOKE USAGE ON TYPE s.e FROM PUBLIC", "CREATE TABLE s.t (a int, b s.e)", OWN],
                 [USAGE, INSERT, "GRANT USAGE ON TYPE s.e TO {loader}"] + DELETE, types=("int", "s.e"))
    yield Object("a generated column's function", TWICE + ["CREATE TABLE s.t (a int, b text, c int GENERATED ALWAYS AS (s.twice(a)) STORED)", OWN], [USAGE, INSERT, execute("twice(int)")] + DELETE)
    yield Object("an index's function", TWICE + ["CREATE TABLE s.t (a int, b text)", "CREATE INDEX ON s.t (s.twice(a))", OWN], [USAGE, INSERT, execute("twice(int)")] + DELETE)
    yield Object("a unique index's function", TWICE + ["CREATE TABLE s.t (a int, b text)", "CREATE UNIQUE INDEX ON s.t (s.twice(a))", OWN], [USAGE, INSERT, execute("twice(int)")] + DELETE)
    yield Object("a partial index's function", POSITIVE + ["CREATE TABLE s.t (a int, b text)", "CREATE INDEX ON s.t (b) WHERE s.positive(a)", OWN], [USAGE, INSERT, execute("positive(int)")] + DELETE)
    yield Object("a GIN index's function", ["CREATE FUNCTION s.words(t text) RETURNS text[] IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN ARRAY[t]; END$$", "REVOKE EXECUTE ON FUNCTION s.words FROM PUBLIC",
                                            TABLE, "CREATE INDEX ON s.t USING gin (s.words(b))", OWN], [USAGE, INSERT, execute("words(text)")] + DELETE)
    yield Object("a trigger's function", ["CREATE FUNCTION s.f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.b := current_user = session_user; RETURN NEW; END$$", "REVOKE EXECUTE ON FUNCTION s.f FROM PUBLIC",
                                          TABLE, "CREATE TRIGGER f BEFORE INSERT ON s.t FOR EACH ROW EXECUTE FUNCTION s.f()", OWN], [USAGE, INSERT] + DELETE)
    yield Object("what a trigger writes", ["CREATE TABLE s.log (x text)", "ALTER TABLE s.log OWNER TO {owner}",
                                           "CREATE FUNCTION s.f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO s.log VALUES (current_user); RETURN NEW; END$$",
                                           TABLE, "CREATE TRIGGER f AFTER INSERT ON s.t FOR EACH ROW EXECUTE FUNCTION s.f()", OWN], [USAGE, INSERT, "GRANT INSERT ON s.log TO {loader}"] + DELETE)
    yield Object("what a definer's trigger writes", ["CREATE TABLE s.log (x text)", "ALTER TABLE s.log OWNER TO {owner}",
                                                     "CREATE FUNCTION s.f() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$BEGIN INSERT INTO s.log VALUES (current_user); RETURN NEW; END$$",
                                                     "ALTER FUNCTION s.f OWNER TO {owner}", TABLE, "CREATE TRIGGER f AFTER INSERT ON s.t FOR EACH ROW EXECUTE FUNCTION s.f()", OWN],
                 [USAGE, INSERT] + DELETE)
    yield Object("a condition's columns", ["CREATE TABLE s.t (a int, b text, c int)", OWN], [USAGE, INSERT, "GRANT SELECT (a) ON s.t TO {loader}"], where="a > 1")
    yield Object("a condition's other column", ["CREATE TABLE s.t (a int, b text, c int DEFAULT 1)", OWN], [USAGE, INSERT, "GRANT SELECT (c) ON s.t TO {loader}"], where="c = 1")
    yield Object("a condition's function", POSITIVE + [TABLE, OWN], [USAGE, INSERT, "GRANT SELECT ON s.t TO {loader}", execute("positive(int)")], where="s.positive(a)")


def keys():
    referenced = ["CREATE TABLE s.r (a int PRIMARY KEY)", "INSERT INTO s.r VALUES (1), (2), (3)", "ALTER TABLE s.r OWNER TO {owner}", "CREATE TABLE s.t (a int REFERENCES s.r, b text)", OWN]
    yield Object("a referenced table", referenced, [USAGE, INSERT] + DELETE)
    yield Object("a referenced table without its owner's rights", referenced + ["REVOKE ALL ON s.r FROM {owner}"],
                 [USAGE, INSERT, "GRANT SELECT ON s.r TO {owner}", "GRANT UPDATE ON s.r TO {owner}"] + DELETE)
    yield Object("the same and no rows", referenced + ["REVOKE ALL ON s.r FROM {owner}"], [USAGE, INSERT, "GRANT SELECT ON s.r TO {owner}", "GRANT UPDATE ON s.r TO {owner}"], data=",one\n")
    elsewhere = ["CREATE SCHEMA s2", "CREATE TABLE s2.r (a int PRIMARY KEY)", "INSERT INTO s2.r VALUES (1), (2), (3)", "ALTER TABLE s2.r OWNER TO {owner}", "CREATE TABLE s.t (a int REFERENCES s2.r, b text)", OWN]
    yield Object("a referenced table's schema", ["DROP SCHEMA IF EXISTS s2 CASCADE"] + elsewhere, [USAGE, INSERT, "GRANT USAGE ON SCHEMA s2 TO {owner}"] + DELETE)
    yield Object("a referenced table's row security", referenced + ["ALTER TABLE s.r ENABLE ROW LEVEL SECURITY", "ALTER TABLE s.r FORCE ROW LEVEL SECURITY"], [USAGE, INSERT] + DELETE)


def objects(version):
    return [case for cases in (tables(), security(), relations(), functions(), keys()) for case in cases]


# ---- what must not be told

BAD = "1,one\n2,two\n2,twice\n,none\n3,three\n-1,less\n"


def leak(name, setup, grants=(), data=BAD, table="s.t"):
    return Object(name, setup, list(grants), table=table, data=data)


def leaks(version):
    out = [
        leak("a CHECK of a default", ["CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T', CHECK (a > 0 OR c IS NULL))"]),
        leak("NOT NULL beside a default", ["CREATE TABLE s.t (a int NOT NULL, b text, c text DEFAULT 'S3CR3T')"]),
        leak("a generated column", ["CREATE TABLE s.t (a int NOT NULL, b text, c text GENERATED ALWAYS AS ('S3CR3T' || b) STORED, CHECK (a < 3 OR c IS NULL))"]),
        leak("a unique default", ["CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T' UNIQUE)"]),
        leak("a unique default with a row", ["CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T' UNIQUE)", "INSERT INTO s.t VALUES (7, 'seven')"]),
        leak("a unique key with a row", ["CREATE TABLE s.t (a int PRIMARY KEY, b text, c text DEFAULT 'S3CR3T')", "INSERT INTO s.t VALUES (2, 'S3CR3T')"]),
        leak("a unique key of two columns", ["CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T', UNIQUE (a, c))", "INSERT INTO s.t VALUES (2, 'S3CR3T')"]),
        leak("a unique key that may be read in part", ["CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T', UNIQUE (a, c))", "INSERT INTO s.t VALUES (2, 'S3CR3T')"], ["GRANT SELECT (a) ON s.t TO {loader}"]),
        leak("a unique expression", ["CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T')", "CREATE UNIQUE INDEX ON s.t ((c || a))", "INSERT INTO s.t VALUES (2, 'two')"], ["GRANT SELECT (a) ON s.t TO {loader}"]),
        leak("a unique key with a column beside", ["CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T', UNIQUE (a) INCLUDE (c))", "INSERT INTO s.t VALUES (2, 'two')"], ["GRANT SELECT (a) ON s.t TO {loader}"]),
        leak("a unique key, deferred", ["CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T', UNIQUE (a, c) DEFERRABLE)", "INSERT INTO s.t VALUES (2, 'two')"]),
        leak("a unique key of a generated column", ["CREATE TABLE s.t (a int, b text, c text GENERATED ALWAYS AS ('S3CR3T' || a) STORED UNIQUE)", "INSERT INTO s.t VALUES (2, 'two')"]),
        leak("an exclusion", ["CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T', EXCLUDE USING gist (a WITH =, c WITH =))", "INSERT INTO s.t VALUES (2, 'two')"], ["GRANT SELECT (a) ON s.t TO {loader}"]),
        leak("an exclusion by a btree", ["CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T', EXCLUDE (c WITH =))"]),
        leak("a foreign key of a default", ["CREATE TABLE s.r (c text PRIMARY KEY)", "CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T' REFERENCES s.r)"]),
        leak("a foreign key of two columns", ["CREATE TABLE s.r (a int, c text, PRIMARY KEY (a, c))", "CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T', FOREIGN KEY (a, c) REFERENCES s.r)"], ["GRANT SELECT (a) ON s.t TO {loader}"]),
        leak("a foreign key, deferred", ["CREATE TABLE s.r (c text PRIMARY KEY)", "CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T' REFERENCES s.r DEFERRABLE)"]),
        leak("a foreign key of a generated column", ["CREATE TABLE s.r (c text PRIMARY KEY)", "CREATE TABLE s.t (a int, b text, c text GENERATED ALWAYS AS ('S3CR3T' || a) STORED REFERENCES s.r)"]),
        leak("a foreign key of a trigger's value", ["CREATE TABLE s.r (c text PRIMARY KEY)", "CREATE TABLE s.t (a int, b text, c text REFERENCES s.r)",
                                                     "CREATE FUNCTION s.f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.c := 'S3CR3T' || NEW.a; RETURN NEW; END$$", "CREATE TRIGGER f BEFORE INSERT ON s.t FOR EACH ROW EXECUTE FUNCTION s.f()"]),
        leak("a number", ["CREATE TABLE s.r (c int PRIMARY KEY)", "CREATE TABLE s.t (a int, b text, c int DEFAULT 7654321 REFERENCES s.r, d int DEFAULT 7654321 UNIQUE)"]),
        leak("no partition", ["CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T') PARTITION BY LIST (c)", "CREATE TABLE s.p PARTITION OF s.t FOR VALUES IN ('other')"]),
        leak("no partition for a trigger's value", ["CREATE TABLE s.t (a int, b text, c text) PARTITION BY LIST (a)", "CREATE TABLE s.p PARTITION OF s.t (CHECK (c IS NULL OR a < 0)) FOR VALUES IN (1, 2, -1)",
                                                     "CREATE FUNCTION s.f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.c := 'S3CR3T' || NEW.a; RETURN NEW; END$$", "CREATE TRIGGER f BEFORE INSERT ON s.t FOR EACH ROW EXECUTE FUNCTION s.f()"]),
        leak("a partition's CHECK", ["CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T') PARTITION BY LIST (a)", "CREATE TABLE s.p (c text DEFAULT 'S3CR3T', b text, a int, CHECK (a > 0 OR c IS NULL))", "ALTER TABLE s.t ATTACH PARTITION s.p DEFAULT"]),
        leak("a partition's key", ["CREATE TABLE s.t (a int, b text, c text DEFAULT 'S3CR3T') PARTITION BY LIST (a)", "CREATE TABLE s.p (c text DEFAULT 'S3CR3T', b text, a int, UNIQUE (a, c))", "ALTER TABLE s.t ATTACH PARTITION s.p DEFAULT", "INSERT INTO s.t VALUES (2, 'two')"]),
        leak("a partition's own bound", ["CREATE TABLE s.q (a int, b text, c text DEFAULT 'S3CR3T') PARTITION BY LIST (c)", "CREATE TABLE s.t PARTITION OF s.q FOR VALUES IN ('other')", "ALTER TABLE s.t ALTER c SET DEFAULT 'S3CR3T'"]),
        leak("a trigger's value and a CHECK", ["CREATE TABLE s.t (a int, b text, c text, CHECK (c <> 'S3CR3T2'), UNIQUE (c))",
                                               "CREATE FUNCTION s.f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.c := 'S3CR3T' || NEW.a; RETURN NEW; END$$", "CREATE TRIGGER f BEFORE INSERT ON s.t FOR EACH ROW EXECUTE FUNCTION s.f()"]),
        leak("a domain of a default", ["CREATE DOMAIN s.d AS text CHECK (VALUE <> 'S3CR3T')", "CREATE TABLE s.t (a int NOT NULL, b text, c s.d GENERATED ALWAYS AS ('S3CR3T' || CASE WHEN a < 0 THEN '' ELSE 'x' END) STORED)"]
             if version >= 18 else ["CREATE TABLE s.t (a int NOT NULL, b text, c text DEFAULT 'S3CR3T')"]),
    ]
    return out
