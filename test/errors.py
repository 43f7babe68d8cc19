#!/usr/bin/env python3
"""docs/errors.md has every SQLSTATE that the sources raise, and nothing that they do not say.

usage: errors.py ERRCODES_H

ERRCODES_H is utils/errcodes.h of a server's headers.  In the tables of the page a code stands
with the name of its condition, at least where it comes first, and messages of pgbulk are in the
sources as they are on the page, where "..." is for what they format.  Prints what is wrong, one
complaint a line; ends with 1 if anything is.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/errors.md"
LITERAL = r'"((?:[^"\\\n]|\\.)*)"'

# What raises a code; others are compared with one.
RAISED = re.compile(r"errcode\(([^;]*?)\)[,;)]|sqlstate\s*=(?!=)([^;]*);|convert_fail\(([^;]*);", re.S)


def conditions(header):
    """SQLSTATEs by the names of their conditions, as in ERRCODE_name."""
    found = {}
    for name, code in re.findall(r"#define ERRCODE_(\w+)\s+MAKE_SQLSTATE\(([^)]*)\)", header):
        found[name] = re.sub(r"[^0-9A-Z]", "", code)
    return found


def raised(text):
    """Names of the conditions that a source raises."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for parts in RAISED.findall(text):
        yield from re.findall(r"\bERRCODE_(\w+)", " ".join(parts))


def messages(text):
    """Its string literals, adjacent ones joined, with "..." for what is formatted."""
    for run in re.finditer(rf"(?:{LITERAL}\s*)+", text):
        joined = "".join(re.findall(LITERAL, run[0])).replace('\\"', '"')
        yield re.sub(r"%[-+#0-9.*]*(?:ll|l|z)?[a-zA-Z]", "...", joined).replace("%%", "%")


def rows(page):
    """First and second cell of each row that has a SQLSTATE, and its line."""
    for number, line in enumerate(page.splitlines(), 1):
        cells = re.split(r"(?<!\\)\|", line)
        if len(cells) >= 5 and re.match(r" `[0-9A-Z]{5}`", cells[1]):
            yield number, cells[1], cells[2]


def said_with(codes, sources):
    """Messages by the SQLSTATEs of the statements that have both; by None those of functions that
    are called for a message alone."""
    found = {None: []}
    for statement in (statement for text in sources for statement in re.split(r";\s*$", text, flags=re.M)):
        names = set(raised(statement + ";"))
        for code in [codes.get(name) for name in names] or [None] * ("errmsg" in statement):
            found.setdefault(code, []).extend(messages(statement))
    return {code: "\n".join(texts) for code, texts in found.items()}


def complaints(page, codes, sources):
    said, listed, named = said_with(codes, sources), set(), set()
    for number, first, second in rows(page):
        row_codes = re.findall(r"`([0-9A-Z]{5})`(?: (\w+))?", first)
        for code, name in row_codes:
            listed.add(code)
            if name:
                named.add(code)
                if codes.get(name.upper()) != code:
                    yield f"line {number}: {code} is not {name}"
        for message in re.findall(r"`([^`]*)`", second) if not second.startswith(" those of COPY") else ():
            if message not in said.get(row_codes[0][0], "") and message not in said[None]:
                yield f"line {number}: with {row_codes[0][0]} the sources do not say: {message}"
    yield from (f"{code} has no name" for code in sorted(listed - named))
    for name in sorted({name for text in sources for name in raised(text)}):
        if name not in codes:
            yield f"no such condition: {name}"
        elif codes[name] not in listed:
            yield f"{codes[name]} ({name.lower()}) is raised, and is not on the page"


def spoilt(page, codes, sources):
    """Changes that must be complained of."""
    for what, other in (("a row is missing", re.sub(r"(?m)^.*`42P11`.*\n", "", page)),
                        ("a name is wrong", page.replace("`42P11` invalid_cursor_definition", "`42P11` invalid_name")),
                        ("a message is wrong", page.replace("path must not be null", "path must be null"))):
        if other == page or not list(complaints(other, codes, sources)):
            yield f"nobody complains where {what}"


if len(sys.argv) != 2:
    sys.exit(__doc__)
codes = conditions(Path(sys.argv[1]).read_text())
sources = [path.read_text() for path in sorted((ROOT / "src").glob("**/*.[ch]"))]
page = PAGE.read_text(encoding="utf-8")
found = [*complaints(page, codes, sources), *spoilt(page, codes, sources)]
print("\n".join(found), end="\n" if found else "")
sys.exit(1 if found else 0)
