"""Results of the benchmark as plots.

    plot.py RESULTS.CSV PLOT.SVG [FIGURE]

Without the name of a figure: how many times as fast as COPY, a bar each, for the README.  With it: load, indexes and restore show all
that was measured, beside the first method of each data set; scaling shows what more processes gain, and would; cluster shows the
methods, and how fast a load would be into more servers.
"""
import collections
import csv
import math
import statistics
import sys

import matplotlib

import paper
import paper_cluster

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

STOCK, OURS, OTHERS = "#b8bec6", "#2f6fb3", "#d9a441"
LINE, INK = "#8a9099", "#333333"
TITLES = {"load": "Loads", "indexes": "Loads with indexes and keys, CREATE INDEX", "restore": "Restores, COPY by clients",
          "cluster": "Loads into two other servers"}
# bounds rather than ways to do it
NO_METHOD = ("parsing", "alone")


def bars_of(times, figure):
    """-> label, ratio, seconds, colour of each bar; between the sets a text, of a figure the set's name"""
    bars = []
    for data, methods in times.items():
        methods = {method: statistics.median(t) for method, t in methods.items() if not any(word in method for word in NO_METHOD)}
        if figure == "cluster" and len(methods) == 1:       # a cost, and nothing beside it
            continue
        first = next(iter(methods)) if figure else "COPY"
        if first not in methods:
            continue
        bars += [data] if figure else [""] if bars else []
        for method, seconds in methods.items():
            colour = STOCK if method == first else OURS if method.startswith(("bulk_load", "pgbulk")) else OTHERS
            bars.append((method if figure else f"{data}: {method}", methods[first] / seconds, seconds, colour))
    return bars


def plain_axes(ax):
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)


def height_of(bars):
    return 0.34 * len(bars)


def draw_bars(bars, title):
    fig, ax = plt.subplots(figsize=(7.5, height_of(bars) + 0.9))
    put_bars(ax, bars)
    # as wide as the picture, which the bars are not
    fig.suptitle(title, x=0.02, ha="left", fontsize=11)
    return fig


def put_bars(ax, bars):
    for y, bar in enumerate(bars):
        if isinstance(bar, str):
            ax.annotate(bar, (0, y), xytext=(0, 0), textcoords="offset points", va="center", fontweight="bold",
                        color=INK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
        else:
            _, ratio, seconds, colour = bar
            ax.barh(y, ratio, color=colour, height=0.82)
            # beside the bar, over the line that is the first method's
            ax.annotate(f"{ratio:.2f} ×   ({seconds:.2f} s)", (ratio, y), xytext=(6, 0), textcoords="offset points", va="center",
                        color=INK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
    drawn = [(y, bar) for y, bar in enumerate(bars) if not isinstance(bar, str)]
    ax.set_yticks([y for y, _ in drawn], [bar[0] for _, bar in drawn])
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.axvline(1, color=LINE, linewidth=0.8, zorder=0)
    ax.set_xlim(0, max(bar[1] for _, bar in drawn) * 1.3)
    ax.set_xticks([])
    plain_axes(ax)


def draw_scaling(loads, title):
    """a load each: what was measured, and what the estimate makes of it up to MOST processes"""
    height = 2.5 * math.ceil(len(loads) / 2) + 0.8
    fig, axes = plt.subplots(math.ceil(len(loads) / 2), 2, figsize=(7.5, height), squeeze=False)
    counts = [1 << n for n in range(paper.MOST.bit_length())]
    for ax, (name, load) in zip(axes.flat, loads.items()):
        ax.plot(counts, counts, color=STOCK, linewidth=0.8)
        ax.plot(counts, [load.gain(n) for n in counts], color=OURS, linewidth=1, linestyle="--")
        ax.plot(load.counts, [load.seconds[1] / load.seconds[n] for n in load.counts], "o-", color=OURS, markersize=4)
        ax.annotate(f"{load.gain(paper.MOST):.1f} ×", (paper.MOST, load.gain(paper.MOST)), xytext=(0, 5), textcoords="offset points", ha="right", color=INK)
        ax.set_title(f"{name}: {load.seconds[1]:.2f} s by one", fontsize=10, loc="left")
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", base=2)
        ax.set_xticks(counts, map(str, counts))
        ax.set_yticks(counts[:5], map(str, counts[:5]))
        ax.set_ylim(0.8, max(20, load.gain(paper.MOST) * 1.3))
        ax.minorticks_off()
        plain_axes(ax)
    for ax in list(axes.flat)[len(loads):]:
        ax.remove()
    fig.suptitle(title, x=0.02, ha="left", fontsize=11)
    return fig


def draw_cluster(bars, estimate, title):
    """the bars, and below them what the estimate says of more servers"""
    fig, (above, below) = plt.subplots(2, figsize=(7.5, height_of(bars) + 4), gridspec_kw={"height_ratios": (height_of(bars), 2.6)})
    put_bars(above, bars)
    counts, ends = paper_cluster.COUNTS, {}
    for (name, speed), colour in zip(paper_cluster.NETWORKS.items(), (STOCK, OURS, OTHERS)):
        rates = [estimate.rate(n, speed) / 1e6 for n in counts]
        below.plot(counts, rates, "o-", color=colour, markersize=3)
        ends.setdefault(rates[-1], []).append(name)
    for rate, names in ends.items():
        below.annotate("\n".join(names), (counts[-1], rate), xytext=(6, 0), textcoords="offset points", va="center", color=INK)
    below.set_title(f"MB a second, by the number of other servers: estimated, {estimate.size / 1e9:.0f} GB", fontsize=10, loc="left", pad=14)
    below.set_xscale("log", base=2)
    below.set_xticks(counts, map(str, counts))
    below.set_xlim(0.9, paper_cluster.MOST * 1.9)
    below.set_ylim(0)
    below.minorticks_off()
    plain_axes(below)
    fig.suptitle(title, x=0.02, ha="left", fontsize=11)
    return fig


def main(source, target, figure=""):
    times = collections.OrderedDict()
    with open(source, newline="", encoding="utf-8") as f:
        runs = list(csv.DictReader(f))
    for r in runs:
        times.setdefault(r["data"], collections.OrderedDict()).setdefault(r["method"], []).append(float(r["seconds"]))
    if not runs:
        sys.exit("no results")
    server, cores = f"PostgreSQL {runs[0]['server']}", f"{runs[0]['cores']} cores"
    plt.rcParams.update({"font.family": "sans-serif", "font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "pgbulk"})
    if figure == "scaling":
        fig = draw_scaling(paper.loads(runs), f"Times as fast by so many processes, {server}, {cores}\n(dashed: estimated; thin: if nothing were serial)")
    else:
        bars = bars_of(times, figure)
        if not bars:
            sys.exit("no data set has COPY to compare with")
        said = f"{TITLES[figure]}, " if figure else "Speed beside COPY, "
        said = f"{said}{server}, {cores} (median; longer is faster)"
        fig = draw_cluster(bars, paper_cluster.Estimate(paper_cluster.costs(runs)), said) if figure == "cluster" else draw_bars(bars, said)
    fig.patch.set_facecolor("white")
    fig.tight_layout()
    fig.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
