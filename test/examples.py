#!/usr/bin/env python3
"""Runs the examples of README.md and docs/, so that they stay true.

usage: examples.py                             what psql and a shell run
       examples.py LANGUAGE FILE COMMAND...    programs of docs/clients.md: each block
                                               is written to FILE, then COMMAND runs

An example is a fenced block with a language.  It runs as it stands but for the folders
of its files, which are moved under one of the test.

sql     by psql, statement by statement; an error, COPY 0, "rows_loaded | 0" or
        "(0 rows)" is a failure.  A block in which lines begin with "=> " is a
        session: statements after that prompt, then what they print, which must be
        so.  There, "..." stands for anything, and times do not count.
sh      by bash
json    as the options of bulk_load, with the table and the file that OPTIONS has
        for its heading; one that has none there must be accepted
others  are programs, of docs/clients.md

The blocks of a section (##) run one after the other in a database that has the
tables of WORLD, but for those that the section makes itself.

A comment on a line before the fence says what a block cannot do otherwise:

<!-- example: not run: REASON -->
<!-- example: from PostgreSQL 17 -->       the server must be that new
<!-- example: may be empty -->             no rows are no failure
<!-- example: numbers differ -->           digits of a session, and units of bytes, do not count
<!-- example: printed -->                  (of a block without a language) what the block
                                           before it prints, judged like a session

Connects as the environment says (PGHOST ...) as a superuser; the server must be on
this machine and run as the same user.  The last line is "N passed, N failed".
"""
import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CLIENTS = ROOT / "docs/clients.md"
DEMO = ROOT / "scripts/demo"
PROGRAMS = {"python", "js", "java", "go", "ruby"}
TIMEOUT = 120

# Tables of all sections.  votes_rejects is that of a load of /data/votes.csv.
WORLD = """
CREATE EXTENSION IF NOT EXISTS pgbulk;
CREATE SCHEMA staging;
CREATE TABLE votes (username text NOT NULL, link text NOT NULL, score int NOT NULL CHECK (score BETWEEN -10 AND 10));
CREATE TABLE old_votes AS SELECT * FROM (VALUES ('alice', 't3_1', 1), ('bob', 't3_2', 0)) v (username, link, score);
CREATE TABLE optional (username text, link text DEFAULT 'none', score int);
CREATE TABLE keyed (username text PRIMARY KEY, link text, score int);
INSERT INTO keyed VALUES ('alice', 't3_0', 0);
CREATE TABLE people (born date, seen timestamp);
CREATE TABLE prices (a text, price numeric);
CREATE TABLE items (id int, title text, price numeric);
CREATE TABLE records (id int, code text, value double precision);
CREATE TABLE traced (username text, line bigint, source text);
CREATE TABLE members (id int PRIMARY KEY, name text NOT NULL, city text, joined date);
CREATE FUNCTION make_vote(a text, b text) RETURNS optional LANGUAGE sql STABLE AS $$ SELECT upper(a), b, 7 $$;
SELECT FROM bulk_load('votes', '/data/votes.csv', '{"on_error": "ignore", "reject_table": "votes_rejects", "log_verbosity": "silent"}');
TRUNCATE votes;
"""

VOTE = "alice,t3_1,1\n"
LOADED = "(alice,t3_1,1)"

# heading: target, file, and the rows that are in the table then
OPTIONS = {
    "format": ("votes", "alice\tt3_1\t1\n", LOADED),
    "delimiter": ("votes", "alice||t3_1||1\n", LOADED),
    "quote": ("votes", "'alice','t3_1',1\n", LOADED),
    "escape": ("votes", '"a\\"b",t3_1,1\n', '("a""b",t3_1,1)'),
    "null": ("optional", "alice,NA,\nbob,null,2\n", "(alice,,) (bob,,2)"),
    "default": ("optional", "alice,\\D,1\n", "(alice,none,1)"),
    "encoding": ("votes", b"gr\xe9goire,t3_1,1\n", "(grégoire,t3_1,1)"),
    "compression": ("votes", None, LOADED),
    "force_null": ("optional", 'alice,"",""\n', "(alice,,)"),
    "force_not_null": ("optional", "alice,,1\n", '(alice,"",1)'),
    "header": ("votes", "score,extra,link,username\n1,x,t3_1,alice\n", LOADED),
    "Found in the file": ("votes", "username;link;score\nalice;t3_1;1\n", LOADED),
    "columns": ("optional", "alice,x,1\n", "(alice,none,1)"),
    "extra": ("traced", "alice\nbob\n", '(alice,1,"export of May") (bob,2,"export of May")'),
    "fields": ("items", "00000001" + "Mug".ljust(30) + " " * 6 + "     1.50\n" + "00000002" + " Cup ".ljust(30) + " " * 6 + "N/A      \n",
               "(1,Mug,1.50) (2,Cup,)"),
    "record_length": ("records", b"\0\0\0\7ab  \x3f\xf8\0\0\0\0\0\0", "(7,ab,1.5)"),
    "endian": None,  # only beside "fields"
    "skip": ("votes", "x,y,0\n" * 1000 + VOTE, LOADED),
    "limit": ("votes", VOTE * 101, " ".join([LOADED] * 100)),
    "extra_columns": ("votes", "alice,t3_1,1,x\n", LOADED),
    "missing_columns": ("optional", "alice\n", "(alice,none,)"),
    "newline": ("votes", "alice,t3_1,1\r\nbob,t3_2,2\n", LOADED + " (bob,t3_2,2)"),
    "comment": ("votes", "# a comment\n" + VOTE, LOADED),
    "invalid_bytes": ("votes", b"gr\xe9goire,t3_1,1\n", "(gr\ufffdgoire,t3_1,1)"),
    "trim": ("votes", " alice , t3_1,1 \n", LOADED),
    "date_format": ("people", "31/12/2024,05 Mar 2024 01:30 PM\n", '(2024-12-31,"2024-03-05 13:30:00")'),
    "decimal_mark": ("prices", "a;1,5\n", "(a,1.5)"),
    "thousands_mark": ("prices", "a;1.234.567,5\n", "(a,1234567.5)"),
    "where": ("votes", VOTE + "bob,t3_2,0\n", LOADED),
    "transform": ("optional", "alice,t3_1\n", "(ALICE,t3_1,7)"),
    "on_error": ("votes", VOTE + "bob,t3_2,up\n", LOADED),
    "reject_limit": ("votes", VOTE * 200 + "bob,t3_2,up\n", " ".join([LOADED] * 200)),
    "reject_table": ("votes", VOTE + "bob,t3_2,up\n", LOADED),
    "reject_file": ("votes", VOTE + "bob,t3_2,up\n", LOADED),
    "log_verbosity": ("votes", VOTE + "bob,t3_2,up\n", LOADED),
    "on_duplicate": ("keyed", VOTE, LOADED),
    "Merging rows": ("keyed", VOTE, LOADED),
    "duplicate_limit": ("keyed", VOTE + "".join(f"u{i:02},t3_2,2\n" for i in range(30)),
                        "(alice,t3_0,0) " + " ".join(f"(u{i:02},t3_2,2)" for i in range(30))),
    "dry_run": ("keyed", VOTE + "bob,t3_2,2\n", "(alice,t3_0,0)"),
    "truncate": ("keyed", VOTE, LOADED),
    "freeze": ("keyed", VOTE, LOADED),
    **{name: ("votes", VOTE, LOADED) for name in ("writer", "workers", "indexes", "analyze", "history", "once")},
}

passed = failed = 0


def check(name, problem):
    """Counts a test, which has failed if there is a problem to tell of."""
    global passed, failed
    if problem:
        failed += 1
        print(f"failed: {name}\n    " + "\n    ".join(str(problem).splitlines()))
    else:
        passed += 1
    return not problem


class Block:
    """A fenced block: where it stands, its headings, language, mark and text."""

    def __init__(self, page, line, section, heading, language, mark):
        self.page, self.line, self.section, self.heading = page, line, section, heading
        self.language, self.mark, self.text = language, mark, ""
        self.printed = None

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line} ({self.language} of \"{self.heading}\")"


def blocks_of(page):
    """All blocks of a page that have a language, in order."""
    blocks, block, section, heading, mark = [], None, "", "", ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = re.match(r"```(\S*)", line)
        if fence and block:
            if block.language:
                blocks.append(block)
            elif mark == "printed":
                blocks[-1].printed = block.text
            block, mark = None, ""
        elif fence:
            block = Block(page, number, section, heading, fence[1], mark)
        elif block:
            block.text += line + "\n"
        elif title := re.match(r"(#+) (.*)", line):
            heading, mark = title[2], ""
            section = heading if len(title[1]) <= 2 else section
        elif comment := re.match(r"<!-- example: (.*) -->$", line):
            mark = comment[1]
        elif line:
            mark = ""
    return blocks


class World:
    """A folder that stands for those which examples name, and databases."""

    NAMED = re.compile(r"(?<![\w/.])/(?=(?:data|tmp|etc/bulkload)/)")

    def __init__(self, folder):
        self.folder, self.data = folder, folder / "data"
        for name in ("data", "tmp", "etc/bulkload"):
            (folder / name).mkdir(parents=True)
        os.chmod(folder, 0o755)

    def moved(self, text):
        return self.NAMED.sub(f"{self.folder}/", text)

    def moved_back(self, text):
        return text.replace(f"{self.folder}/", "/")

    def run(self, command, text=None, **environment):
        """What a command prints, and whether it ended well and in time."""
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   cwd=self.data, env={**os.environ, **environment}, encoding="utf-8", errors="replace",
                                   start_new_session=True)
        try:
            output, late = process.communicate(text, TIMEOUT)[0], ""
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, late = process.communicate()[0], f"not done after {TIMEOUT} s\n"
        return self.moved_back(output) + late, process.returncode == 0

    def psql(self, text, *options, database=None):
        environment = {"PGDATABASE": database} if database else {}
        return self.run(["psql", "-X", "-v", "ON_ERROR_STOP=1", *options], self.moved(text),
                        PGCLIENTENCODING="UTF8", LC_ALL="C.UTF-8", PSQL_PAGER="", **environment)

    def make(self, text, **more):
        """Runs what an example needs beforehand."""
        output, good = self.psql(text, "-q", **more)
        if not good:
            sys.exit(f"cannot prepare the examples: {output}")

    def write_files(self):
        """The files that the pages name.  votes.csv is a small one of scripts/demo; only named.csv and export.csv have a header line."""
        sample = re.search(r"(?ms)^sample\(\) \{.*?^\}", DEMO.read_text(encoding="utf-8"))[0]
        subprocess.run(["bash", "-euc", f"ROWS=4000\n{sample}\nsample votes.csv /dev/null"], cwd=self.data, check=True)
        (self.data / "new.csv").write_text(VOTE)
        (self.data / "export.csv").write_text("score,username,link\n" + "many,bob,t3_8fj2a\n" +
                                              "".join(f"{i % 3 - 1},user{i},t3_{i:05x}\n" for i in range(900)))
        (self.data / "named.csv").write_text("username,link,score\nbob,t3_8fj2a,up\n" +
                                             "".join(f"user{i},t3_{i:05x},{i % 3 - 1}\n" for i in range(900)))
        sales = "sold;shop;price;remark\r\n" + "".join(
            f"{5 + i % 20:02}/{10 + i % 3}/2024;{i % 40};{i},{i % 100:02};caf\u00e9 {i}\r\n" for i in range(80000))
        (self.data / "sales.csv").write_bytes(sales.encode("latin-1"))
        (self.data / "sales.csv.gz").write_bytes(gzip.compress(sales.encode("latin-1"), 1))
        (self.data / "events.json").write_text("".join(
            '{"id":"%d","type":"PushEvent","actor":{"id":%d,"login":"user%d"},"created_at":"2015-01-01T15:%02d:00Z"%s}\n' % (
                2489651045 + i, i, i, i % 60, ',"org":{"id":%d}' % i if i % 3 == 0 else "") for i in range(3000)))
        self.write_folders()
        (self.data / "unknown.csv.gz").write_bytes(gzip.compress(b"id;name;born\n1;alice;2001-02-03\n2;bob;1999-12-31\n"))
        (self.folder / "etc/bulkload/votes.ctl").write_text(self.moved(
            "TYPE = CSV\nINPUT = /data/votes.csv\nOUTPUT = votes\nPARSE_ERRORS = -1\n"))

    def write_folders(self):
        """Those of docs/recipes.md."""
        for name in ("in", "done", "delivery"):
            shutil.rmtree(self.data / name, ignore_errors=True)
            (self.data / name).mkdir()
        for name, rows in (("a.csv", "s1,20.5\ns2,21\n"), ("b.csv", "s1,20.75\ns3,0\n"), ("c.csv", "s4,1\n")):
            for folder in ("in", "delivery"):
                (self.data / folder / name).write_text(rows)
        (self.data / "delivery/manifest").write_text("".join(
            f"{hashlib.sha256((self.data / 'delivery' / name).read_bytes()).hexdigest()}  {name}\n" for name in ("a.csv", "c.csv")))
        (self.data / "requests.log").write_text('2026-11-20 10:00:00Z,/,200\n2026-11-20 10:00:01Z,"/a,b",404\n2026-11-20 10:0')
        for day in (20, 21):
            folder = self.data / f"sales/day=2026-11-{day}"
            folder.mkdir(parents=True, exist_ok=True)
            for part in range(2):
                (folder / f"part-{part}.csv").write_text(f"{part},1.50\n{day},2\n")

    def write_clients_file(self):
        """votes.csv as docs/clients.md shows it."""
        lines = re.search(r"(?ms)^```\n(alice,.*?)^```", CLIENTS.read_text(encoding="utf-8"))[1]
        (self.data / "votes.csv").write_text(lines)


def ends_statement(line):
    """Whether it is the last line of a statement, or one of psql's own commands."""
    return bool(re.search(r"^=> \\\w|(;|\\g\w*(\s+\S+)?)\s*$", line))


def session_parts(text):
    """Statements of a session, each with what it prints."""
    parts, inside = [], False
    for line in text.splitlines():
        if line.startswith("=> "):
            parts.append([line[3:] + "\n", ""])
            inside = not ends_statement(line)
        elif inside:
            parts[-1][0] += line + "\n"
            inside = not ends_statement(line)
        elif parts:
            parts[-1][1] += line + "\n"
    return parts


def normal(text, mark):
    """Lines without what differs from run to run, or by the width of a table."""
    text = re.sub(r"\d\d:\d\d:\d\d\.\d+", "TIME", text)
    if mark == "numbers differ":
        text = re.sub(r"\b0 [kMG]?B\b", "0 B", re.sub(r"\d+", "0", text))
    lines = (re.sub(r"-{2,}", "-", re.sub(r" {2,}", " ", line)).rstrip() for line in text.splitlines())
    return [line for line in lines if line]


def unlike(expected, got):
    """Whether lines are not as expected, where "..." is anything, and any lines if alone."""
    pattern = "".join("(?:.*\n)*?" if line.strip(" |") == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in expected)
    return not re.fullmatch(pattern, "".join(line + "\n" for line in got))


def run_session(world, block, database):
    parts = session_parts(block.text)
    output, _ = world.psql("".join(f"\\echo {{{i}}}\n{statement}" for i, (statement, _) in enumerate(parts)),
                           "-v", "ON_ERROR_STOP=0", database=database)
    printed = re.split(r"(?m)^\{\d+\}\n", output)[1:]
    for i, (statement, expected) in enumerate(parts):
        got = printed[i] if i < len(printed) else output
        check(f"{block}: {statement.strip()}",
              unlike(normal(expected, block.mark), normal(got, block.mark)) and f"printed:\n{got}expected:\n{expected}")


def run_sql(world, block, database):
    if re.search(r"(?m)^=> ", block.text):
        run_session(world, block, database)
        return
    if block.printed:
        output, _ = world.psql(block.text, database=database)
        check(block, unlike(normal(block.printed, ""), normal(output, "")) and f"printed:\n{output}")
        return
    output, good = world.psql(re.sub(r"\\watch \d+", r"\\g", block.text), "-x", database=database)
    empty = re.search(r"(?m)^(COPY 0|rows_loaded *\| 0|\(0 rows\))$", output)
    check(block, not good and output or empty and block.mark != "may be empty" and f"shows nothing: {empty[0]}\n{output}")


def run_json(world, block, database):
    if block.heading not in OPTIONS:
        target, content, expected = "votes", "", None
    elif OPTIONS[block.heading] is None:
        check(block, not isinstance(json.loads(block.text), dict))
        return
    else:
        target, content, expected = OPTIONS[block.heading]
    path = world.data / "options.csv"
    if content is None:
        (world.data / "plain").write_text(VOTE)
        subprocess.run(["zstd", "-q", "-f", world.data / "plain", "-o", path], check=True)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    output, good = world.psql(f"""\\set VERBOSITY verbose
BEGIN;
SELECT FROM bulk_load('{target}', '/data/options.csv', $options${block.text}$options$) \\g /dev/null
SELECT string_agg(t::text, ' ' ORDER BY t::text COLLATE "C") FROM {target} t;
ROLLBACK;
""", "-q", "-A", "-t", database=database)
    result = output.rstrip("\n").split("\n")[-1]
    if expected is None:
        check(block, "ERROR:  22023" in output and output)
    else:
        check(block, not (good and result == expected) and f"expected: {expected}\n{output}")


def run_page(world, page):
    """Runs the blocks of a page, a database for each section."""
    world.write_files()
    if page == CLIENTS:
        world.write_clients_file()
    version = int(world.psql("SHOW server_version_num", "-Atq")[0])
    sections = {}
    for block in blocks_of(page):
        since = re.match(r"from PostgreSQL (\d+)$", block.mark)
        if not since and not re.match(r"(not run: .|may be empty$|numbers differ$|$)", block.mark):
            check(block, f"no such mark: {block.mark}")
        elif not (block.mark.startswith("not run: ") or since and version < int(since[1]) * 10000 or
                  block.language in PROGRAMS and page == CLIENTS):
            sections.setdefault(block.section, []).append(block)
    for blocks in sections.values():
        text = "".join(block.text for block in blocks)
        own = re.findall(r"CREATE TABLE (\w+)", text) + re.findall(r'"reject_table": "(\w+)"', text)
        world.make("DROP DATABASE IF EXISTS examples_page;\nCREATE DATABASE examples_page TEMPLATE examples_world;")
        world.make("SET client_min_messages = warning;\n" + "".join(f"DROP TABLE IF EXISTS {name};\n" for name in own),
                   database="examples_page")
        for block in blocks:
            if block.language == "sql":
                run_sql(world, block, "examples_page")
            elif block.language == "json":
                run_json(world, block, "examples_page")
            elif block.language == "sh":
                output, good = world.run(["bash", "-eu"], world.moved(block.text), PGDATABASE="examples_page")
                check(block, not good and output)
            else:
                check(block, "nothing runs examples in this language")


def run_pages(world):
    world.make("DROP DATABASE IF EXISTS examples_world;\nCREATE DATABASE examples_world;")
    world.write_files()
    world.make("SET client_min_messages = warning;" + WORLD, database="examples_world")
    for page in PAGES:
        run_page(world, page)
    world.make("DROP DATABASE IF EXISTS examples_page;\nDROP DATABASE examples_world;")


def run_programs(world, language, path, command):
    """Runs the programs in one language, each with new tables and the page's file."""
    blocks = blocks_of(CLIENTS)
    tables = next(block for block in blocks if "CREATE TABLE" in block.text).text
    world.write_clients_file()
    blocks = [block for block in blocks if block.language == language]
    check(f"there are examples in {language}", not blocks and CLIENTS)
    for block in blocks:
        world.make(f"SET client_min_messages = warning;\nDROP TABLE IF EXISTS votes, load_log;\n{tables}")
        Path(path).write_text(world.moved(block.text))
        output, good = world.run(command)
        said = re.findall(r"(?m)^\w+: \d+ loaded, \d+ rejected$", output)
        check(block, not (good and said == ["file: 2 loaded, 1 rejected", "data: 2 loaded, 1 rejected"]) and output)
        output, _ = world.psql("SELECT count(*), sum(score) FROM votes", "-Atq")
        check(f"{block}: the table", output != "4|0\n" and output)


def main():
    # a folder that the server's user can look into
    folder = Path(tempfile.mkdtemp(prefix="examples."))
    try:
        if len(sys.argv) > 3:
            run_programs(World(folder), sys.argv[1], sys.argv[2], sys.argv[3:])
        elif len(sys.argv) == 1:
            run_pages(World(folder))
        else:
            sys.exit(__doc__)
    finally:
        shutil.rmtree(folder)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
