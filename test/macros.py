#!/usr/bin/env python3
"""Min and Max evaluate an argument twice: none may wait, change something, or read what
another process changes, as the second answer may be another one.

    test/macros.py

Prints what is wrong; ends with 1 if anything is.
"""

import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parent.parent / "src"
FORBIDDEN = re.compile(r"\+\+|--|\bpg_atomic_|\b\w*await\w*\(|[^=!<>]=[^=]")


def arguments(text, start):
    """What stands between the parenthesis at start and the one that closes it."""
    depth = 0
    for end in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return text[start + 1:end]
    return text[start + 1:]


def without_comments(text):
    return re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)


def main():
    wrong = []
    for path in sorted([*SRC.rglob("*.c"), *SRC.rglob("*.h")]):
        text = without_comments(path.read_text())
        for match in re.finditer(r"\b(?:Min|Max)\(", text):
            if FORBIDDEN.search(arguments(text, match.end() - 1)):
                line = text.count("\n", 0, match.start()) + 1
                wrong.append(f"{path.relative_to(SRC)}:{line}: an argument of {match.group()}) has an effect")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
