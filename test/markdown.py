#!/usr/bin/env python3
"""Finds what readers of Markdown take for different things.

usage: markdown.py

Some see a list, a table or a heading only after an empty line, and what belongs to a list's item
only where it is four columns in.  Looks at the files of a release.  Prints what is written so that they
would differ, one complaint a line; ends with 1 if anything is.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ITEM = re.compile(r"( *)(?:[-*+]|\d+\.) ")


def complaints(text):
    fence, before, inside = None, "", False
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r" *(```+|~~~+)", line)
        if mark and fence is None:
            fence = mark[1]
            if before and not re.match(r"<!-- .* -->$", before):
                yield number, "a block of code needs an empty line before it"
        elif mark and line.strip() == fence:
            fence = None
            before = ""
            continue
        if fence is not None:
            continue
        item = ITEM.match(line)
        if item and before and not inside:
            yield number, "a list needs an empty line before it"
        if item and len(item[1]) % 4 != 0:
            yield number, "an item within an item needs four columns"
        if line.startswith("|") and before and not before.startswith("|"):
            yield number, "a table needs an empty line before it"
        if re.match(r"#+ ", line) and before:
            yield number, "a heading needs an empty line before it"
        inside = bool(item) or inside and line != ""
        before = line


# Each of these must be complained of, the last not.
SPOILT = ["text\n- item\n", "text\n| a |\n|---|\n", "text\n```sql\n", "- item\n  - item\n", "text\n# heading\n"]
GOOD = "text\n\n- item\n  more of it\n- item\n\n<!-- example: printed -->\n```\na\n```\n\n| a |\n|---|\n"


def main():
    found = [f"nobody complains of {text!r}" for text in SPOILT if not list(complaints(text))]
    found += [f"complains of what is good: {what}" for _, what in complaints(GOOD)]
    names = subprocess.run([ROOT / "scripts/dist", "--list"], check=True, capture_output=True, text=True).stdout.split("\n")
    for name in (name for name in names if name.endswith(".md")):
        found += [f"{name}:{number}: {what}" for number, what in complaints((ROOT / name).read_text(encoding="utf-8"))]
    print("\n".join(found), end="\n" if found else "")
    return found != []


sys.exit(main())
