"""What a load costs: the time that its caller waits, the processor time of all of the server's processes, the WAL."""
import collections
import os
import subprocess
import time

from indexed import literal

# cpu and wal: None where they were not measured; phases: of a load whose details were asked for, each phase with its seconds,
# and those of all its processes on a CPU and idle; nodes: of a load into other servers, their processor time and the bytes between all
Run = collections.namedtuple("Run", "seconds cpu wal phases nodes", defaults=(None, None, None, None))


def psql(*statements):
    r = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1"], input="".join(s + "\n" for s in statements),
                       capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(r.stderr.strip())
    return r.stdout


def export(path, query, options="FORMAT csv"):
    """the rows of a query as a file; made once"""
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        line = " ".join(query.splitlines())
        psql(f"\\copy ({line}) TO {literal(path + '.new')[1:]} ({options})")
        os.rename(path + ".new", path)


class Ready(list):
    """statements before a measurement that take long, in a database of its own: what they leave is kept, and copied the next times"""


TEMPLATE, kept = "ready", None


def prepare(before):
    """runs statements, or copies the database that they have left before"""
    global kept
    if not isinstance(before, Ready):
        psql(*(s + ";" for s in before))
        return
    sessions_ended()
    made, name = before == kept, os.environ["PGDATABASE"]
    if not made:
        psql(*(s + ";" for s in before))
    old, new = (name, TEMPLATE) if made else (TEMPLATE, name)
    elsewhere(f"DROP DATABASE IF EXISTS {old};", f"CREATE DATABASE {old} TEMPLATE {new} STRATEGY file_copy;")
    kept = list(before)


def elsewhere(*statements):
    """runs statements in another database than that of the measurements"""
    psql("\\connect template1", *statements)


def sessions_ended():
    while psql("SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1;"):
        time.sleep(0.05)


def server_cpu():
    """seconds of all of the server's processes that have ended: only of Linux"""
    sessions_ended()
    time.sleep(0.02)
    pid = psql("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1);").strip()
    time.sleep(0.02)
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return None
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


class Meter:
    """measures a block whose sessions begin and end in it: run"""

    def __enter__(self):
        self.wal = psql("SELECT pg_current_wal_insert_lsn();").strip()
        self.cpu = server_cpu()
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_):
        seconds = time.perf_counter() - self.start
        cpu = server_cpu()
        wal = int(psql(f"SELECT pg_current_wal_insert_lsn() - '{self.wal}';"))
        self.run = Run(seconds, None if cpu is None else cpu - self.cpu, wal)


def answered(out):
    """seconds that psql waited, as it says with \\timing"""
    return sum(float(t.split(" ms")[0]) for t in out.split("Time: ")[1:]) / 1000


def timed(method):
    """the Run of a method's statements on a quiet server"""
    prepare(method.before)
    psql("CHECKPOINT;")
    if method.ready:
        method.ready()
    with Meter() as meter:
        out = psql("\\timing on", *(s + ";" for s in method.sql))
    return meter.run._replace(seconds=answered(out))
