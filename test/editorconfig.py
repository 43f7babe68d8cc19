#!/usr/bin/env python3
"""Files are as .editorconfig says: encoding, line ends, blanks at the end of lines, the end
of the file, and tabs in C.

    test/editorconfig.py

Looks at the files of a release.  Prints what is wrong; ends with 1 if anything is.
"""
import fnmatch
import itertools
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def patterns(glob):
    """Those that braces stand for; one without a slash is of every folder."""
    parts = [part[1:-1].split(",") if part.startswith("{") else [part] for part in re.findall(r"\{[^}]*\}|[^{]+", glob)]
    for choice in itertools.product(*parts):
        one = "".join(choice)
        yield one if "/" in one else "*" + one


def sections(text):
    for line in text.splitlines():
        if line.startswith("["):
            yield list(patterns(line[1:-1])), {}
        elif re.match(r"\w+ *=", line):
            yield None, {key.strip(): value.strip() for key, value in [line.split("=")]}


def rules(name, lines):
    found, applies = {}, False
    for globs, setting in lines:
        if globs is not None:
            applies = any(fnmatch.fnmatchcase(name, glob) or fnmatch.fnmatchcase("/" + name, glob) for glob in globs)
        elif applies:
            found.update(setting)
    return found


def complaints(name, rule):
    data = (ROOT / name).read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        yield "is not UTF-8"
        return
    if rule.get("insert_final_newline") == "true" and data and not data.endswith(b"\n"):
        yield "does not end with a line end"
    if rule.get("end_of_line") == "lf" and "\r" in text:
        yield "has a carriage return"
    for number, line in enumerate(text.split("\n"), 1):
        if rule.get("trim_trailing_whitespace") == "true" and line != line.rstrip(" \t"):
            yield f"has blanks at the end of line {number}"
        if name.endswith((".c", ".h")) and re.match(r" (?! ?\*)", line):
            yield f"has blanks before line {number}"


lines = list(sections((ROOT / ".editorconfig").read_text()))
names = subprocess.run([ROOT / "scripts/dist", "--list"], check=True, capture_output=True, text=True).stdout.split("\n")
wrong = [f"{name} {what}" for name in names if name and name != "META.json" for what in complaints(name, rules(name, lines))]
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(1 if wrong else 0)
