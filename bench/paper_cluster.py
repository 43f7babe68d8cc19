"""What more servers would do for a load into foreign partitions, on paper: from what it costs the server that loads, the network and the others.

These work at the same time, so a load takes as long as the busiest of them, and before and after that to begin and to commit:
seconds = start + max(CPU of the server that loads, bytes sent / speed of the network, CPU of the others / their number)
"""
import collections
import json
import statistics

# the sets that it is made of: all rows and a few of them into the partitions, a few into one table of one server
ALL, FEW, ONE = "all votes, 64 foreign partitions", "a few votes, 64 foreign partitions", "a few votes, one foreign table"
SERVERS = 2             # of the first two
MOST = 32
COUNTS = [1 << n for n in range(MOST.bit_length())]
# bytes a second that get through
NETWORKS = {"1 Gbit/s": 0.117e9, "10 Gbit/s": 1.17e9, "25 Gbit/s": 2.9e9}
SIZE = 100e9            # of the file whose load is estimated

HERE, NETWORK, THERE = "the loading server", "the network", "the others"

# medians of a method's runs: seconds, processor time of the loading server and of the others, bytes between them, bytes of the file
Cost = collections.namedtuple("Cost", "seconds here there sent size")


def costs(runs):
    """lines of a file of results -> data set -> method -> Cost"""
    found = collections.OrderedDict()
    for run in runs:
        nodes = json.loads(run["nodes"])
        cost = Cost(*(float(n or 0) for n in (run["seconds"], run["processor"], nodes["processor"], nodes["sent"], run["bytes"])))
        found.setdefault(run["data"], collections.OrderedDict()).setdefault(run["method"], []).append(cost)
    return {data: {method: Cost(*map(statistics.median, zip(*those))) for method, those in methods.items()} for data, methods in found.items()}


class Estimate:
    """of a load of a file of so many bytes"""

    def __init__(self, found, size=SIZE):
        whole, few, one = (next(iter(found[data].values())) for data in (ALL, FEW, ONE))
        self.size = size
        self.start, self.each = few.seconds, one.seconds
        self.here, self.there, self.sent = (max(a - b, 0) * size / (whole.size - few.size) for a, b in zip(whole[1:4], few[1:4]))

    def at(self, n, speed):
        """-> seconds with n servers, and what they wait for most"""
        parts = {HERE: self.here, NETWORK: self.sent / speed, THERE: self.there / n}
        limit = max(parts, key=parts.get)
        # each server more is connected to after the others
        return self.start + max(n - SERVERS, 0) * self.each + parts[limit], limit

    def rate(self, n, speed):
        """bytes of the file a second"""
        return self.size / self.at(n, speed)[0]


def measured(found):
    """as Markdown"""
    yield "| into | by | seconds | CPU of the loading server, s | CPU of the others, s | sent, MB |\n|---|---|--:|--:|--:|--:|\n"
    for data, methods in found.items():
        for method, cost in methods.items():
            yield f"| {data} ({cost.size / 1e6:.3g} MB) | {method} | {cost.seconds:.2f} | {cost.here:.2f} | {cost.there:.2f} | {cost.sent / 1e6:.1f} |\n"


def estimated(estimate):
    """as Markdown"""
    yield "| other servers | " + " | ".join(f"by {name}, s | limit" for name in NETWORKS) + " |\n|--:|" + "--:|---|" * len(NETWORKS) + "\n"
    for n in COUNTS:
        yield f"| {n} | " + " | ".join("{:.0f} | {}".format(*estimate.at(n, speed)) for speed in NETWORKS.values()) + " |\n"


def tables(runs):
    found = costs(runs)
    estimate = Estimate(found)
    said = (f"On paper, a file of {estimate.size / 1e9:.0f} GB: {estimate.here:.0f} s of a CPU of the loading server, {estimate.there:.0f} s of CPUs of the others, "
            f"{estimate.sent / 1e9:.0f} GB sent.")
    return "".join(measured(found)) + f"\n{said}\n\n" + "".join(estimated(estimate))
