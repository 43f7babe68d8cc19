"""COPY statements as Python's drivers send them have the same outcome with pgbulk.copy as without: good and bad rows,
binary ones, cancelled and given up in the middle, connections lost there.

Connects as the environment says (PGHOST ...), as a superuser, to a database that has the extension.  The last line is
"N passed, N failed".
"""
import asyncio
import io
import os
import socket
import sys
import threading
import time

import adbc_driver_postgresql.dbapi
import asyncpg
import psycopg
import psycopg2
import pyarrow

ROWS = 5000
GOOD = "".join(f"{i}\tline {i} \u00e9\t{i / 4}\n" for i in range(ROWS))
BAD = GOOD + "x\tline\t1\n" + GOOD
TABLE = "CREATE TABLE plain_t (a int, b text, c float8)"
STANDS = "SELECT count(*), sum(hashtextextended(t::text, 0)::numeric), count(b) FROM plain_t t"
MODES = ("off", "on", "exclusive")


def settings(mode):
    return f"LOAD 'pgbulk'; SET pgbulk.copy = {mode}; SET pgbulk.copy_min_size = 0"


def told(error):
    """what an error says, whichever driver has raised it"""
    diag = getattr(error, "diag", None)
    if diag and diag.sqlstate == "57014":       # wherever the client was
        return diag.sqlstate, diag.message_primary
    if diag:
        return error.diag.sqlstate, diag.message_primary, diag.message_detail, diag.message_hint, diag.context
    if isinstance(error, asyncpg.PostgresError):
        return error.sqlstate, error.message, error.detail, error.hint, error.context
    if isinstance(error, adbc_driver_postgresql.dbapi.Error):
        return error.sqlstate, str(error)
    return type(error).__name__


class Psycopg:
    """psycopg 3"""

    def __init__(self, mode):
        self.conn = psycopg.connect(autocommit=True)
        self.conn.execute(settings(mode))

    def query(self, sql):
        return self.conn.execute(sql).fetchone()

    def copy(self, text, statement="COPY plain_t FROM STDIN", size=1 << 16):
        with self.conn.cursor() as cursor:
            with cursor.copy(statement) as copy:
                data = text.encode()
                for i in range(0, len(data), size):
                    copy.write(data[i:i + size])
            return cursor.rowcount, cursor.statusmessage

    def rows(self, kind=""):
        with self.conn.cursor() as cursor, cursor.copy(f"COPY plain_t FROM STDIN {kind}") as copy:
            copy.set_types(["int4", "text", "float8"])
            for i in range(ROWS):
                copy.write_row((i, None if i % 9 == 0 else f"line\t{i}", i / 8))

    def given_up(self):
        with self.conn.cursor() as cursor, cursor.copy("COPY plain_t FROM STDIN") as copy:
            copy.write(GOOD)
            raise KeyError("given up")

    def cancelled(self):
        with self.conn.cursor() as cursor, cursor.copy("COPY plain_t FROM STDIN") as copy:
            copy.write(GOOD)
            threading.Timer(0.2, self.conn.cancel).start()
            end = time.monotonic() + 20
            while time.monotonic() < end:
                copy.write(GOOD)
                time.sleep(0.01)

    def lost(self):
        other = psycopg.connect(autocommit=True)
        pid = self.conn.info.backend_pid
        try:
            with self.conn.cursor() as cursor, cursor.copy("COPY plain_t FROM STDIN") as copy:
                copy.write(GOOD)
                with socket.socket(fileno=os.dup(self.conn.pgconn.socket)) as line:
                    line.shutdown(socket.SHUT_RDWR)
                copy.write(GOOD)
        except psycopg.OperationalError:
            pass
        for _ in range(1000):
            if not other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone():
                break
            time.sleep(0.02)
        else:
            return "the session is still there"
        with other:
            return other.execute(STANDS).fetchone()

    def several(self):
        """in a transaction, after an error that a savepoint has caught, through the extended protocol"""
        with self.conn.transaction():
            self.conn.execute("TRUNCATE plain_t")
            try:
                with self.conn.transaction():
                    self.copy(BAD)
            except psycopg.Error:
                pass
            self.copy(GOOD)
            self.copy(GOOD.replace("\t", "|"), "COPY plain_t (a, b, c) FROM STDIN (FORMAT csv, DELIMITER '|')", 1 << 20)
            return self.conn.execute("SELECT count(*) FROM plain_t WHERE a = %s", (7,), prepare=True).fetchone()

    def close(self):
        self.conn.close()

    # name -> what is done; each begins with an empty table
    CASES = {
        "good": lambda s: s.copy(GOOD),
        "a few bytes at a time": lambda s: s.copy(GOOD[:20_000].rsplit("\n", 1)[0] + "\n", size=7),
        "csv": lambda s: s.copy("a,b,c\n1,\"x\n\"\"y\"\"\",\n", "COPY plain_t FROM STDIN (FORMAT csv, HEADER)"),
        "bad": lambda s: s.copy(BAD),
        "too few columns": lambda s: s.copy(GOOD + "1\tx\n"),
        "invalid bytes": lambda s: s.copy(GOOD + "1\t\x00\t1\n"),
        "none": lambda s: s.copy(""),
        "rows": rows,
        "binary": lambda s: s.rows("(FORMAT binary)"),
        "binary, cut off": lambda s: s.copy("PGCOPY\n\u00ff", "COPY plain_t FROM STDIN (FORMAT binary)"),
        "given up": given_up,
        "cancelled": cancelled,
        "several": several,
        "lost": lost,
    }


class Psycopg2:
    """psycopg 2"""

    def __init__(self, mode):
        self.conn = psycopg2.connect("")
        self.conn.autocommit = True
        self.cursor = self.conn.cursor()
        self.cursor.execute(settings(mode))

    def query(self, sql):
        self.cursor.execute(sql)
        return self.cursor.fetchone() if self.cursor.description else None

    def expert(self, text, statement="COPY plain_t FROM STDIN"):
        self.cursor.copy_expert(statement, io.StringIO(text))
        return self.cursor.rowcount, self.cursor.statusmessage

    def close(self):
        self.conn.close()

    CASES = {
        "copy_expert": lambda s: s.expert(GOOD),
        "copy_from": lambda s: s.cursor.copy_from(io.StringIO(GOOD), "plain_t", columns=("a", "b", "c")),
        "bad": lambda s: s.expert(BAD),
        "a file that cannot be read": lambda s: s.cursor.copy_expert("COPY plain_t FROM STDIN", open(os.devnull, "w")),
    }


class Asyncpg:
    """asyncpg"""

    def __init__(self, mode):
        self.loop = asyncio.new_event_loop()
        self.conn = self.wait(asyncpg.connect())
        self.wait(self.conn.execute(settings(mode)))

    def wait(self, what):
        return self.loop.run_until_complete(what)

    def query(self, sql):
        row = self.wait(self.conn.fetchrow(sql))
        return row and tuple(row)

    def close(self):
        self.wait(self.conn.close())
        self.loop.close()

    CASES = {
        "copy_to_table": lambda s: s.wait(s.conn.copy_to_table("plain_t", source=io.BytesIO(GOOD.encode()))),
        "copy_to_table, csv": lambda s: s.wait(s.conn.copy_to_table("plain_t", source=io.BytesIO(b"1;x;2\n"), format="csv", delimiter=";")),
        "copy_records_to_table": lambda s: s.wait(s.conn.copy_records_to_table(
            "plain_t", records=[(i, None if i % 5 == 0 else f"line {i}", i / 2) for i in range(ROWS)])),
        "bad": lambda s: s.wait(s.conn.copy_to_table("plain_t", source=io.BytesIO(BAD.encode()))),
    }


class Adbc:
    """ADBC, which pandas and polars write by"""

    def __init__(self, mode):
        self.conn = adbc_driver_postgresql.dbapi.connect("postgresql://", autocommit=True)
        self.cursor = self.conn.cursor()
        for statement in settings(mode).split(";"):     # it prepares each
            self.cursor.execute(statement)

    def query(self, sql):
        self.cursor.execute(sql)
        return self.cursor.fetchone() if self.cursor.description else None

    def ingest(self, mode="append", **columns):
        rows = {"a": pyarrow.array(range(ROWS), pyarrow.int32()),
                "b": pyarrow.array(None if i % 9 == 0 else f"line\t{i} \u00e9" for i in range(ROWS)),
                "c": pyarrow.array(i / 8 for i in range(ROWS))} | columns
        return self.cursor.adbc_ingest("plain_t", pyarrow.table(rows), mode=mode)

    def close(self):
        self.cursor.close()
        self.conn.close()

    CASES = {
        "append": lambda s: s.ingest(),
        "append twice": lambda s: (s.ingest(), s.ingest()),
        "replace": lambda s: s.ingest("replace"),
        "some columns": lambda s: s.cursor.adbc_ingest("plain_t", pyarrow.table({"c": [1.5, None]}), mode="append"),
        "no rows": lambda s: s.cursor.adbc_ingest("plain_t", pyarrow.table({"a": pyarrow.array([], pyarrow.int32())}), mode="append"),
        "bad": lambda s: s.ingest(a=pyarrow.array(f"x{i}" for i in range(ROWS))),
    }


def outcome(driver, name, mode):
    """what the driver returns or raises, what then stands in the table, and whether the session goes on"""
    with psycopg.connect(autocommit=True) as conn:
        conn.execute("DROP TABLE IF EXISTS plain_t")
        conn.execute(TABLE)
    client = driver(mode)
    try:
        result = driver.CASES[name](client)
    except Exception as error:              # whatever a driver makes of it
        result = told(error)
    stands = None if name == "lost" else (client.query(STANDS), client.query("SELECT 7"))
    taken = 0 if name == "lost" else client.query("SELECT count(*) FROM bulk_load_statements WHERE statement = 'COPY FROM' AND taken")[0]
    client.close()
    return (result, stands), taken


def main():
    passed = failed = 0
    for driver in (Psycopg, Psycopg2, Asyncpg, Adbc):
        taken = 0
        for name in driver.CASES:
            expected, _ = outcome(driver, name, MODES[0])
            for mode in MODES[1:]:
                got, took = outcome(driver, name, mode)
                taken += took
                if got == expected:
                    passed += 1
                else:
                    failed += 1
                    print(f"failed: {driver.__doc__}, {name}, {mode}: got {got!r}, expected {expected!r}")
        if taken < len(driver.CASES):
            failed += 1
            print(f"failed: {driver.__doc__}: only {taken} statements were taken")
    with psycopg.connect(autocommit=True) as conn:
        conn.execute("DROP TABLE plain_t")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
