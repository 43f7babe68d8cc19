"""Loads that are not alone: sessions at once, and clients of pgbench beside a load."""
import contextlib
import glob
import os
import signal
import subprocess
import time

from measure import Meter, Run, prepare, psql

# What each of four clients does, again and again; the links tell their rows from those of the load.
CLIENTS = r"""\set id random(1, :rows)
BEGIN;
UPDATE target SET score = score + 1 WHERE id = :id;
INSERT INTO target (username, link, score) VALUES ('user' || :id % 32000, 'pgbench' || :id, 1);
COMMIT;
"""


def quarters(path, sessions=4):
    """the rows of a file in as many files"""
    names = [f"{path}.{n}of{sessions}" for n in range(sessions)]
    if not all(map(os.path.exists, names)):
        for n, name in enumerate(names):
            with open(name, "wb") as out:
                subprocess.run(["split", "-n", f"l/{n + 1}/{sessions}", path], stdout=out, check=True)
    return names


def at_once(before, statements):
    """measures sessions that each run a statement, all at the same time"""
    def measure():
        prepare(before)
        psql("CHECKPOINT;")
        with Meter() as meter:
            sessions = [subprocess.Popen(["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-c", s], stdout=subprocess.DEVNULL) for s in statements]
            if any([s.wait() for s in sessions]):
                raise RuntimeError("one of the sessions has failed")
        return meter.run
    return measure


def drop(names):
    for log in glob.glob(glob.escape(names) + ".*"):
        os.remove(log)


@contextlib.contextmanager
def clients(folder, rows):
    """four clients of pgbench while the block runs; the beginning of their logs' names"""
    script, names = os.path.join(folder, "clients.sql"), os.path.join(folder, "clients-log")
    with open(script, "w", encoding="utf-8") as out:
        out.write(CLIENTS)
    drop(names)
    running = subprocess.Popen(["pgbench", "-n", "-M", "prepared", "-c", "4", "-T", "3600", "-f", script, "-D", f"rows={rows}",
                                "-l", f"--log-prefix={names}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    try:
        yield names
    finally:
        # what -T sends when the time is over: transactions and logs are ended
        running.send_signal(signal.SIGALRM)
        running.wait()


def latencies(names, start, end):
    """seconds of each transaction that ran at some time between start and end, sorted"""
    taken = []
    for log in glob.glob(glob.escape(names) + ".*"):
        with open(log, encoding="utf-8") as lines:
            for _, _, took, _, second, micro in map(str.split, lines):
                at = int(second) + int(micro) / 1e6
                if at > start and at - int(took) / 1e6 < end:
                    taken.append(int(took) / 1e6)
    if not taken:
        raise RuntimeError("no client of pgbench has ended a transaction")
    return sorted(taken)


def beside_clients(before, folder, rows, statement, latency):
    """measures a statement beside clients; the 99th percentile of their latency is appended to latency"""
    def measure():
        prepare(before)
        psql("CHECKPOINT;")
        with clients(folder, rows) as names:
            start = time.time()
            psql(statement + ";")
            end = time.time()
        taken = latencies(names, start, end)
        latency.append(taken[int(0.99 * (len(taken) - 1))])
        drop(names)
        return Run(end - start)
    return measure
