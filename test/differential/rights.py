#!/usr/bin/env python3
"""Compares what a role may load with what it may COPY, and looks for values that it may not read.

For each object of rights_objects.py (privileges of tables, columns, functions, sequences, schemas, referenced
tables; row security, views, partitions, triggers) all privileges are granted that a load needs, then all but one,
for each of them, and none; and with each of these each entry is called: bulk_load and COPY with and without
options, by file and from the client, bulk_load_query, bulk_load_retry, dry runs, truncate, keep_new, writer
direct, reject tables.  The outcome must be that of COPY, after LOCK TABLE, TRUNCATE, DELETE and so on where
the option is that: the SQLSTATE and the rows; where pgbulk runs a plain
COPY, all that is told.

Then rows are loaded whose errors could show what the role may not read: keys, rows, values of defaults,
of triggers and of generated columns, under each combination of on_error, on_duplicate, writer and workers.
No such value may be in anything that the role is told, nor in its rejects or in bulk_load_last().

Which of two refusals comes first is not compared, and where a function may not be called, not the CONTEXT of
that: a load finds it before its first row.  Of all combinations a third is tried, by seed; all where
PGBULK_TEST_LONG is set.

usage: rights.py [--cases N] [--seconds N] [--seed N] [--case N]
"""

import itertools
import json
import os
import random

import rights_objects
from case_checker import CaseChecker, main
from copy_load import LONG
from rights_objects import SECRETS
from wire import Session

# SQLSTATEs by which a statement is refused, whatever its rows are.
REFUSED = ("42", "0A", "55", "25")
READ_FILES = "GRANT pg_read_server_files TO {loader}"
REJECTS = ("CREATE TABLE public.rejects (load_id bigint, target text, loaded_at timestamptz, file text, line_number bigint, byte_offset bigint, reason text,"
           " column_name text, field_value text, sqlstate text, message text, raw_line text, raw_bytes bytea)")


class Way:
    """One entry: its statements, and those of the server that ask for the same."""

    def __init__(self, name, ours, theirs, stdin=False, same=False, errors=True, settings=()):
        self.name = name
        self.ours = ours
        self.theirs = theirs
        self.stdin = stdin
        self.same = same			# all that is told
        self.errors = errors		# the first bad row ends it
        self.settings = settings
        self.is_dry = "dry_run" in name
        self.has_rules = any(word in name for word in ("direct", "dry_run", "keep_", "rejects"))


class Outcome:
    def __init__(self, answers, rows, left):
        self.answer = answers[-1]
        self.code = self.answer.code
        self.rows = rows
        self.left = left			# in the reject table
        self.said = "\n".join(answer.said() for answer in answers)

    def told(self):
        return [sorted((k, v) for k, v in fields.items() if k != "context" or "function" not in fields["message"]) for fields in self.answer.notices + [self.answer.error or {}]]

    def __str__(self):
        return "%s %s %s" % (self.code, self.answer.message, self.rows if self.rows is not None else self.answer.error)


def ways_of(case, path):
    """All entries for an object; path: its file."""
    target = "'%s'::regclass" % case.table
    columns = " (%s)" % ", ".join(case.columns)
    where = " WHERE " + case.where if case.where else ""
    given = dict({"columns": case.columns}, **({"where": case.where} if case.where else {}))
    from_file = "COPY %s%s FROM '%s' (FORMAT csv)%s" % (case.table, columns, path, where)
    from_client = "COPY %s%s FROM STDIN (FORMAT csv)%s" % (case.table, columns, where)
    lock = "LOCK TABLE ONLY %s IN SHARE ROW EXCLUSIVE MODE" % case.table
    # nothing of a view is locked, nor are its duplicates known
    dry = "SELECT" if case.is_view else lock
    delete = "DELETE FROM ONLY %s x WHERE x IS NULL AND false" % case.table
    empty = "TRUNCATE %s" % case.table

    def load(source="'%s'" % path, **options):
        return "SELECT rows_loaded FROM bulk_load(%s, %s, '%s')" % (target, source, json.dumps(dict(given, **options)).replace("'", "''"))

    def with_options(where_from, options):
        return "COPY %s%s FROM %s (FORMAT csv, %s)%s" % (case.table, columns, where_from, options, where)

    yield Way("bulk_load", load(), [from_file])
    yield Way("bulk_load buffered", load(writer="buffered"), [from_file])
    yield Way("bulk_load stdin", load("'stdin'"), [from_client], stdin=True)
    yield Way("bulk_load workers", load(workers=2), [from_file])
    yield Way("bulk_load ignore", load(on_error="ignore"), [from_file], errors=False)
    yield Way("bulk_load set_null", load(on_error="set_null"), [from_file], errors=False)
    if not case.is_view:
        yield Way("bulk_load keep_old", load(on_duplicate="keep_old"), [from_file], errors=False)
    yield Way("bulk_load direct", load(writer="direct"), [lock, from_file])
    yield Way("bulk_load dry_run", load(dry_run=True), [dry, from_file])
    yield Way("bulk_load truncate", load(truncate=True), [empty, from_file])
    if not case.is_view:
        yield Way("bulk_load keep_new", load(on_duplicate="keep_new"), [delete, from_file], errors=False)
    yield Way("bulk_load rejects", load(on_error="ignore", reject_table="public.rejects"), ["INSERT INTO public.rejects DEFAULT VALUES", from_file], errors=False)
    yield Way("bulk_load new rejects", load(on_error="ignore", reject_table="public.new_rejects"), ["CREATE TABLE public.new_rejects ()", from_file], errors=False)
    yield Way("COPY with options", with_options("'%s'" % path, "writer buffered"), [from_file])
    yield Way("COPY with options, stdin", with_options("STDIN", "writer buffered"), [from_client], stdin=True)
    yield Way("COPY direct, stdin", with_options("STDIN", "writer direct"), [lock, from_client], stdin=True)
    for setting in "on", "exclusive":
        settings = ["SET LOCAL pgbulk.copy = %s" % setting, "SET LOCAL pgbulk.copy_min_size = 0"]
        yield Way("COPY %s" % setting, from_file, [from_file], same=True, settings=settings)
        yield Way("COPY %s, stdin" % setting, from_client, [from_client], stdin=True, same=True, settings=settings)
    yield Way("bulk_load_query", "SELECT rows_loaded FROM bulk_load_query(%s, 'SELECT * FROM public.source', '%s')" % (target, json.dumps(given).replace("'", "''")),
              ["SELECT * FROM public.source", from_client], stdin=True)
    yield Way("bulk_load_retry", "SELECT rows_loaded FROM bulk_load_retry(%s, 'public.again', 1, '%s')" % (target, json.dumps(dict(given, on_error="stop")).replace("'", "''")),
              ["SELECT FROM public.again x WHERE x IS NOT NULL", "DELETE FROM public.again x WHERE false", from_client], stdin=True)


class Checker(CaseChecker):
    name = "rights"
    cases = 10000
    seconds = 600               # all of them

    def open(self):
        self.roles = {name: "pgbulk_rights_%d_%s" % (os.getpid(), name) for name in ("loader", "owner", "other")}
        self.session = Session(self.database, options="-c client_min_messages=warning -c session_preload_libraries=pgbulk")
        self.version = int(self.session.run("SHOW server_version_num").rows[0][0]) // 10000
        self.path = os.path.join(self.folder, "file.csv")
        self.runs = 0
        self.do("CREATE EXTENSION pgbulk")
        self.do("CREATE EXTENSION IF NOT EXISTS btree_gist")
        for role in self.roles.values():
            self.do("CREATE ROLE %s" % role)
        self.objects = rights_objects.objects(self.version)
        self.leaks = rights_objects.leaks(self.version)

    def run(self):
        try:
            return super().run()
        finally:
            self.session.close()
            last = Session("template1")
            for role in self.roles.values():
                last.run("DROP ROLE %s" % role)

    def summary(self):
        return ["%d loads and as many of the server" % self.runs]

    def named(self, sql):
        return sql.format(**self.roles) if "{" in sql else sql

    def do(self, sql):
        answer = self.session.run(self.named(sql))
        if answer.error:
            raise RuntimeError("%s: %s" % (self.named(sql), answer.error))
        return answer

    def set_up(self, case):
        with open(self.path, "w") as file:
            file.write(case.data)
        self.do("DROP SCHEMA IF EXISTS s CASCADE")
        self.do("DROP TABLE IF EXISTS public.rejects, public.again, public.source")
        # so that the grants of a case are all
        self.do("CREATE SCHEMA s AUTHORIZATION {owner}")
        self.do("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        self.do(REJECTS)
        self.do(REJECTS.replace("rejects", "again"))
        for sql in case.setup:
            self.do(sql)
        for number, line in enumerate(case.data.splitlines(), 1):
            self.do("INSERT INTO public.again (load_id, target, file, line_number, byte_offset, reason, message, raw_line) VALUES (1, '%s', 'f', %d, 0, 'value', '', '%s')" % (
                case.table, number, line))
        self.do("CREATE TABLE public.source (%s)" % ", ".join("%s %s" % column for column in zip(case.columns, case.types)))
        self.session.run("COPY public.source FROM STDIN (FORMAT csv)", case.data.encode())

    def attempt(self, case, grants, statements, stdin, settings=()):
        """What the loader is told, and what is in the table then; all is undone."""
        self.do("BEGIN")
        try:
            for sql in grants:
                self.do(sql)
            self.do("SET LOCAL SESSION AUTHORIZATION {loader}")
            for sql in settings:
                self.do(sql)
            self.do("SET LOCAL client_min_messages = notice")
            answers = []
            for sql in statements:
                answers.append(self.session.run(sql, case.data.encode() if stdin else b""))
                if answers[-1].error:
                    break
            rows = left = None
            if not answers[-1].error:
                # what a load has told before
                last = self.session.run("SELECT * FROM bulk_load_last()")
                self.do("RESET SESSION AUTHORIZATION")
                rows = sorted(self.do("SELECT x::text FROM %s x" % case.shown).rows)
                left = str(last.rows) + str(self.do("SELECT * FROM public.rejects").rows)
            return Outcome(answers, rows, left)
        finally:
            self.session.run("ROLLBACK")
            self.session.run("RESET SESSION AUTHORIZATION")

    def is_left_out(self):
        return not LONG and self.options.case is None and self.random.random() > 1 / 3

    # ---- what a role may

    def compare(self, case, way, theirs, ours):
        """What is wrong, or None."""
        if way.same:
            return "told or rows" if theirs.told() != ours.told() or theirs.rows != ours.rows else None
        if theirs.code.startswith(REFUSED) and ours.code.startswith(REFUSED):
            return None
        # options and writers have rules of their own, but for privileges
        if ours.code in ("0A000", "22023", "55000") and theirs.code == "00000" and way.has_rules:
            return None
        # bad rows are rejects, among them those whose trigger may not do what it would
        if not way.errors and (theirs.code.startswith("2") or case.rejected and theirs.code == "42501" and ours.rows == []):
            return "SQLSTATE" if ours.code == "42501" else None
        if theirs.code != ours.code:
            return "SQLSTATE"
        return "rows" if way.errors and not way.is_dry and theirs.rows != ours.rows else None

    def check_object(self, case):
        self.set_up(case)
        grants = case.grants + [READ_FILES, "GRANT SELECT ON public.source TO {loader}", "GRANT SELECT, INSERT, DELETE ON public.again TO {loader}",
                                "GRANT INSERT ON public.rejects TO {loader}", "GRANT CREATE ON SCHEMA public TO {loader}"]
        sets = [("all", grants)] + [("all but " + left, [g for g in grants if g is not left]) for left in grants] + [("none", [])]
        wrong = []
        good = set()
        for what, some in sets:
            known = {}
            for way in ways_of(case, self.path):
                if what not in ("all", "none") and self.is_left_out():
                    continue
                key = tuple(way.theirs)
                if key not in known:
                    known[key] = self.attempt(case, some, way.theirs, way.stdin)
                theirs, ours = known[key], self.attempt(case, some, [way.ours], way.stdin, way.settings)
                self.runs += 1
                good.add(theirs.code)
                difference = self.compare(case, way, theirs, ours)
                if difference:
                    wrong.append("%s, %s: %s: server %s, pgbulk %s" % (what, way.name, difference, theirs, ours))
        # or the case says nothing
        if case.loads and "00000" not in good:
            wrong.append("the server loads nothing: %s" % theirs)
        return wrong

    # ---- what a role is told

    def check_leak(self, case):
        self.set_up(case)
        grants = ["GRANT USAGE ON SCHEMA s TO {loader}", "GRANT INSERT (%s) ON %s TO {loader}" % (", ".join(case.columns), case.table), "GRANT INSERT ON public.rejects TO {loader}",
                  READ_FILES] + case.grants
        target = "'%s'::regclass" % case.table
        wrong = []
        tried = [(None, "COPY %s (%s) FROM '%s' (FORMAT csv)" % (case.table, ", ".join(case.columns), self.path))]
        for on_error, on_duplicate, writer, workers in itertools.product(["stop", "ignore", "set_null"], ["error", "keep_old", "keep_new"], ["auto", "buffered", "direct"], [0, 2]):
            options = {"columns": case.columns, "on_error": on_error, "on_duplicate": on_duplicate, "writer": writer, "workers": workers, "log_verbosity": "verbose"}
            if on_error != "stop" or on_duplicate == "keep_old":
                options["reject_table"] = "public.rejects"
            tried.append((options, "SELECT * FROM bulk_load(%s, '%s', '%s')" % (target, self.path, json.dumps(options))))
        lock = "GRANT TRUNCATE ON %s TO {loader}" % case.table
        found = False
        for options, sql in tried:
            if options and self.is_left_out():
                continue
            outcome = self.attempt(case, grants + [lock], [sql], False, ["SET LOCAL pgbulk.chunk_size = 64"])
            self.runs += 1
            told = outcome.said + (outcome.left or "")
            found |= outcome.code.startswith("23") or "23" in (outcome.left or "")
            # what the log has, the client has, too
            for secret in SECRETS:
                if secret in told:
                    at = told.index(secret)
                    wrong.append("%s tells %s" % (json.dumps(options) if options else "COPY", told[max(0, at - 150):at + 50]))
            if outcome.code.startswith("XX"):
                wrong.append("%s: %s" % (options, outcome))
        if not found:
            wrong.append("no row is bad")
        return wrong

    def check(self, number):
        cases = self.objects + self.leaks
        if number >= len(cases):
            return
        case = cases[number]
        self.random = random.Random("%s/%d" % (self.options.seed, number))
        wrong = self.check_object(case) if case in self.objects else self.check_leak(case)
        if wrong:
            self.failed += 1
            print("case %d (%s): %s" % (number, case.name, "\n    ".join(wrong)))
        else:
            self.passed += 1


if __name__ == "__main__":
    main(Checker, __doc__)
