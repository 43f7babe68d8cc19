"""The figures of each server's version, as a part of a page: what lies in bench/results.

    figures.py RESULTS PAGE.MD

Results are RESULTS/VERSION/FIGURE.csv and .svg.
"""
import csv
import os
import re
import sys

import paper
import paper_cluster

BEGIN, END = "<!-- figures of bench/results, by scripts/bench -->\n", "<!-- end of figures -->\n"
FIGURES = {"load": "Loads into empty tables", "indexes": "Indexes and keys", "restore": "Restores and clients", "scaling": "More processes",
           "cluster": "Other servers"}
TABLES = {"scaling": paper.table, "cluster": paper_cluster.tables}


def of_version(folder, version, place):
    """place: the folder, as the page links to it"""
    for figure, title in FIGURES.items():
        source = os.path.join(folder, version, figure + ".csv")
        if not os.path.exists(source):
            continue
        with open(source, newline="", encoding="utf-8") as f:
            runs = list(csv.DictReader(f))
        said = f"PostgreSQL {runs[0]['server']}, pgbulk {runs[0]['pgbulk']}, {runs[0]['cores']} cores; each run is in [{figure}.csv]({place}/{version}/{figure}.csv)"
        yield f"### {title}, PostgreSQL {version}\n\n{said}.\n\n![{title}, PostgreSQL {version}]({place}/{version}/{figure}.svg)\n\n"
        if figure in TABLES:
            yield TABLES[figure](runs) + "\n"


def main(folder, page):
    with open(page, encoding="utf-8") as f:
        text = f.read()
    versions = sorted((name for name in os.listdir(folder) if name.isdecimal()), key=int, reverse=True)
    place = os.path.relpath(folder, os.path.dirname(page))
    shown = "".join(part for version in versions for part in of_version(folder, version, place))
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"{page} has no place for figures")
    with open(page, "w", encoding="utf-8") as f:
        f.write(re.sub(r"\n{3,}", "\n\n", before + BEGIN + "\n" + shown) + END + after)


if __name__ == "__main__":
    main(*sys.argv[1:])
