"""What more processes would do, on paper: from the seconds of a load's phases by one process and by several.

Each phase is taken for a serial part, and one that the processes share evenly: s + w / n seconds by n processes, s and w as they fit
best what was measured.  On few cores s is rather too high, as processes share caches, memory and the disk as well.
"""
import collections
import json
import statistics

MOST = 64
PHASES = ("open", "load", "indexes", "constraints", "commit")

# of a phase: its seconds by one process, those of them on a CPU, those that stay whatever the number of processes, those that are shared
Phase = collections.namedtuple("Phase", "seconds cpu serial shared")


def fit(points):
    """points: number of processes -> seconds; -> serial and shared seconds, none of them negative, of least squares"""
    if len(points) == 1:
        raise ValueError("a load by one process alone tells nothing of others")
    x, y = [1 / n for n in points], list(points.values())
    middle_x, middle_y = statistics.fmean(x), statistics.fmean(y)
    shared = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y)) / sum((a - middle_x) ** 2 for a in x)
    if shared < 0:
        return middle_y, 0.0
    if middle_y - shared * middle_x < 0:
        return 0.0, sum(a * b for a, b in zip(x, y)) / sum(a * a for a in x)
    return middle_y - shared * middle_x, shared


class Load:
    """runs of one load: number of processes -> those of that number"""

    def __init__(self, runs):
        self.counts = sorted(runs)
        self.seconds = {n: statistics.median(float(r["seconds"]) for r in runs[n]) for n in self.counts}
        found = {n: [json.loads(r["phases"]) for r in runs[n]] for n in self.counts}

        def median(n, phase, what):
            return statistics.median(run.get(phase, (0, 0, 0))[what] for run in found[n])
        self.phases = {phase: Phase(median(1, phase, 0), median(1, phase, 1), *fit({n: median(n, phase, 0) for n in self.counts}))
                       for phase in PHASES}

    def at(self, n):
        """seconds by n processes"""
        return sum(phase.serial + phase.shared / n for phase in self.phases.values())

    def gain(self, n):
        return self.at(1) / self.at(n)


def loads(runs):
    """runs: lines of a file of results; name -> Load"""
    found = collections.OrderedDict()
    for r in runs:
        found.setdefault(r["data"], {}).setdefault(int(r["method"].split()[0]), []).append(r)
    return {name: Load(counts) for name, counts in found.items()}


def table(runs):
    """the estimate as Markdown"""
    lines = [f"| load | phase | by one process, s | of it on a CPU | serial | by {MOST} processes, s |\n", "|---|---|--:|--:|--:|--:|\n"]
    for name, load in loads(runs).items():
        for phase, p in load.phases.items():
            if p.seconds >= 0.001:
                lines.append(f"| {name} | {phase} | {p.seconds:.3f} | {p.cpu:.3f} | {p.serial:.3f} | {p.serial + p.shared / MOST:.3f} |\n")
        lines.append(f"| **{name}** | all | {load.at(1):.3f} | {sum(p.cpu for p in load.phases.values()):.3f} | "
                     f"{sum(p.serial for p in load.phases.values()):.3f} | {load.at(MOST):.3f}, {load.gain(MOST):.1f} × as fast |\n")
    return "".join(lines)
