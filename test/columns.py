#!/usr/bin/env python3
"""Lines of src/: none has more than 100 columns, a tab being four, but for what a string makes
so long: messages are not broken, so that they can be searched for.

    test/columns.py

Prints what is wrong; ends with 1 if anything is.
"""

import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parent.parent / "src"
MAX = 100


def without_strings(line):
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', line)


def main():
    wrong = []
    for path in sorted([*SRC.rglob("*.c"), *SRC.rglob("*.h")]):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            columns = len(line.expandtabs(4))
            if columns > MAX and ('"' not in line or len(without_strings(line).expandtabs(4)) > MAX):
                wrong.append(f"{path.relative_to(SRC)}:{number}: {columns} columns")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
