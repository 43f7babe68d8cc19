"""results.csv to results.svg: how many times as fast as COPY, a bar each.

    plot.py RESULTS.CSV RESULTS.SVG
"""
import collections
import csv
import statistics
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

COPY, OURS, OTHERS = "#b8bec6", "#2f6fb3", "#d9a441"


def main(source, target):
    times = collections.OrderedDict()
    with open(source, newline="") as f:
        for r in csv.DictReader(f):
            times.setdefault(r["data"], collections.OrderedDict()).setdefault(r["method"], []).append(float(r["seconds"]))
            server, cores = r["server"], r["cores"]
    bars = []                               # label, ratio, seconds, colour; None between the sets
    for data, methods in times.items():
        if "COPY" not in methods:
            continue
        base = statistics.median(methods["COPY"])
        bars += [None] if bars else []
        for method, t in methods.items():
            if "parsing" in method:
                continue
            m = statistics.median(t)
            colour = COPY if method == "COPY" else OURS if method.startswith("bulk_load") else OTHERS
            bars.append((f"{data}: {method}", base / m, m, colour))
    if not bars:
        sys.exit("no data set has COPY to compare with")
    plt.rcParams.update({"font.family": "sans-serif", "font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "pgbulk"})
    fig, ax = plt.subplots(figsize=(7.5, 0.34 * len(bars) + 0.9))
    fig.patch.set_facecolor("white")
    for y, bar in enumerate(bars):
        if bar:
            label, ratio, seconds, colour = bar
            ax.barh(y, ratio, color=colour, height=0.82)
            # beside the bar, over the line that is COPY's
            ax.annotate(f"{ratio:.2f} ×   ({seconds:.2f} s)", (ratio, y), xytext=(6, 0), textcoords="offset points", va="center",
                        color="#333333", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
    ax.set_yticks([y for y, b in enumerate(bars) if b], [b[0] for b in bars if b])
    ax.invert_yaxis()
    ax.axvline(1, color="#8a9099", linewidth=0.8, zorder=0)
    ax.set_xlim(0, max(b[1] for b in bars if b) * 1.3)
    # as wide as the picture, which the bars are not
    fig.suptitle(f"Speed beside COPY, PostgreSQL {server}, {cores} cores (median; longer is faster)", x=0.02, ha="left", fontsize=11)
    ax.tick_params(length=0)
    ax.set_xticks([])
    for side in ax.spines.values():
        side.set_visible(False)
    fig.tight_layout()
    fig.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
