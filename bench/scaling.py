"""The benchmark's loads by one process and by more, up to one for each core: what a load gains by cores, and in which phase.

Each run has the seconds of its phases, as bulk_load's details tell them; "commit" is what the caller waits beyond them.
"""
import json
import os

import datasets
import hits
from in_use import DROP, Case
from indexed import COLUMNS, INDEXES, bulk_load, memory
from measure import Meter, Run, prepare, psql

VOTES, EXTRACT = datasets.ALL[:2]


def processes():
    """1, 2, 4 and so on, and as many as there are cores, but two at least"""
    cores = max(os.cpu_count(), 2)
    return sorted({cores, *(1 << n for n in range(cores.bit_length()) if 1 << n <= cores)})


def phases_of(details, seconds):
    """phase -> its seconds, those on a CPU, those idle"""
    phases = {name: [float(details[what].get(name, 0)) for what in ("seconds", "cpu_seconds", "idle_seconds")] for name in details["seconds"]}
    return {**phases, "commit": [max(seconds - sum(phase[0] for phase in phases.values()), 0), 0, 0]}


def by(count, before, path, options):
    """measures a load by so many processes"""
    def measure():
        prepare(before)
        psql("CHECKPOINT;")
        load = bulk_load("target", path, {**options, "workers": count - 1})
        with Meter() as meter:
            out = psql("\\timing on", memory("1GB") + ";", load.replace("SELECT FROM", "SELECT workers, details FROM") + ";")
        *_, row, took = out.splitlines()
        workers, details = row.split("|", 1)
        seconds = float(took.split()[1]) / 1000
        if int(workers) != count - 1:
            raise RuntimeError(f"a load by {count} processes had {workers} workers")
        return Run(seconds, meter.run.cpu, meter.run.wal, phases_of(json.loads(details), seconds))
    return measure


def scaled(title, data, columns, options, later=(), part=1):
    def cases(bench):
        path, rows = bench.file(data, part)
        before = [DROP, f"CREATE TABLE target ({columns})", *later]
        yield Case(title, {f"{count} process{'es' * (count > 1)}": by(count, before, path, options) for count in processes()}, rows, path)
    return cases


CASES = {f"scaling_{name}": make for name, make in {
    "votes": scaled("votes", VOTES, VOTES.columns, VOTES.options),
    "extract": scaled("extract, 29 columns", EXTRACT, EXTRACT.columns, EXTRACT.options),
    "hits": scaled("hits, 105 columns", datasets.HITS, hits.TABLE, {"format": "text"}),
    "indexes": scaled("votes, 3 indexes", VOTES, f"id serial, {VOTES.columns}", {"columns": COLUMNS.split(", ")}, INDEXES),
}.items()}
