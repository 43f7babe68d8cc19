#!/usr/bin/env python3
"""Includes of src/: no two files include one another, directly or by way of others, and none
includes a header of a folder that comes before its own in the map (src/README.md).  A .c and
its .h are one file.

    test/includes.py

Prints what is wrong; ends with 1 if anything is.
"""

import graphlib
import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parent.parent / "src"


def folders_in_order():
    """Folders as the headings of the map name them, after src/ itself."""
    headings = re.findall(r"^### `(\w+)/`", (SRC / "README.md").read_text(), re.M)
    return ["."] + headings


def read_includes():
    """File -> the files that it includes, both without their endings."""
    sources = [path for pattern in ("**/*.c", "**/*.h") for path in SRC.glob(pattern)]
    files = {path.relative_to(SRC).with_suffix("") for path in sources}
    includes = {file: set() for file in files}
    for path in sources:
        file = path.relative_to(SRC).with_suffix("")
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M):
            name = pathlib.Path(name).with_suffix("")
            for other in (name, file.parent / name):
                if other in files:
                    includes[file].add(other)
                    break
        includes[file].discard(file)
    return includes


def main():
    wrong = []
    includes = read_includes()
    order = {folder: number for number, folder in enumerate(folders_in_order())}
    for file, others in sorted(includes.items()):
        if str(file.parent) not in order:
            wrong.append(f"{file}: its folder is not in the map")
            continue
        for other in sorted(others):
            if order.get(str(other.parent), -1) < order[str(file.parent)]:
                wrong.append(f"{file} includes {other}, whose folder comes before its own in the map")
    try:
        graphlib.TopologicalSorter(includes).prepare()
    except graphlib.CycleError as error:
        wrong.append("a circle: " + " <- ".join(str(file) for file in error.args[1]))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
