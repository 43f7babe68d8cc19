"""psycopg 3 calls bulk_load: parameters, the row, notices, errors, stdin.

Connects as the environment says (PGHOST ...) to a database that has the
extension.  The last line is "N passed, N failed".
"""
import datetime
import sys

import psycopg
from psycopg.types.json import Jsonb

passed = failed = 0


def check(name, got, expected):
    global passed, failed
    if got == expected:
        passed += 1
    else:
        failed += 1
        print(f"failed: {name}: got {got!r}, expected {expected!r}")


def main():
    notices = []
    with psycopg.connect(autocommit=True) as conn:
        conn.add_notice_handler(lambda diag: notices.append((diag.severity, diag.message_primary, diag.message_hint)))
        conn.execute("DROP TABLE IF EXISTS psycopg_t, psycopg_log")
        conn.execute("CREATE TABLE psycopg_t (a int, b text)")
        conn.execute("CREATE TABLE psycopg_log (loaded bigint, read bigint)")
        path = conn.execute("SHOW data_directory").fetchone()[0] + "/psycopg.csv"
        conn.execute(f"COPY (VALUES ('1', 'one'), ('N/A', 'two'), ('3', 'thr\u00e9\u00e9')) TO '{path}' (FORMAT csv)")
        notices.clear()

        cursor = conn.execute("SELECT * FROM bulk_load(%s, %s, %s)",
                              ("psycopg_t", path, Jsonb({"on_error": "ignore", "encoding": "UTF8"})))
        row = dict(zip([column.name for column in cursor.description], cursor.fetchone()))
        check("counters", [row[name] for name in ("rows_read", "rows_loaded", "rows_rejected", "rows_duplicate", "workers")],
              [3, 2, 1, 0, 0])
        check("elapsed", isinstance(row["elapsed"], datetime.timedelta), True)
        check("details", row["details"]["files"], [path])
        check("notices", [notice[:2] for notice in notices],
              [("NOTICE", "1 row was rejected"),
               ("NOTICE", f'1 row: invalid input syntax for type integer in column "a", for example at file "{path}", line 2: "N/A"')])
        check("hint", notices[-1][2],
              'With {"null": ["", "N/A"]} among the options they can be read. In text columns these words then become null, too.')
        check("rows", conn.execute("SELECT a, b FROM psycopg_t ORDER BY a").fetchall(), [(1, "one"), (3, "thr\u00e9\u00e9")])

        cursor = conn.execute("SELECT rows_loaded FROM bulk_load(%s, %s::text[], %s)",
                              ("psycopg_t", [path, path], Jsonb({"null": ["N/A"], "truncate": True})), prepare=True)
        check("several files", cursor.fetchone(), (6,))
        try:
            conn.execute("SELECT * FROM bulk_load(%s, %s, %s)", ("psycopg_t", path, Jsonb({"trunc": True})))
            check("bad option", "no error", "22023")
        except psycopg.Error as error:
            check("bad option", (error.sqlstate, error.diag.message_hint), ("22023", 'Perhaps you meant "truncate".'))

        with conn.cursor() as cursor:
            statement = ("INSERT INTO psycopg_log SELECT rows_loaded, rows_read"
                         " FROM bulk_load('psycopg_t', 'stdin', %s)")
            with cursor.copy(statement, (Jsonb({"truncate": True}),)) as copy:
                for i in range(1000):
                    copy.write(f"{i},line {i}\n")
        check("stdin", conn.execute("SELECT * FROM psycopg_log").fetchall(), [(1000, 1000)])
        check("stdin rows", conn.execute("SELECT count(*), sum(a) FROM psycopg_t").fetchone(), (1000, 499500))
        try:
            with conn.cursor() as cursor, cursor.copy("INSERT INTO psycopg_log SELECT rows_loaded, rows_read"
                                                      " FROM bulk_load('psycopg_t', 'stdin')") as copy:
                copy.write("1,a\nx,b\n")
            check("stdin error", "no error", "22P02")
        except psycopg.Error as error:
            check("stdin error", error.sqlstate, "22P02")
        check("nothing of it", conn.execute("SELECT count(*) FROM psycopg_t").fetchone(), (1000,))
        conn.execute("DROP TABLE psycopg_t, psycopg_log")

    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
