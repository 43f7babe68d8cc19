"""The benchmark's loads of the same rows from other sources than a plain file.

What a tool needs to decompress a file and drop it is measured beside it.
"""
import glob
import importlib.util
import os
import subprocess
import time

from indexed import Method, bulk_load, literal

PARTS = 64
PIECE = 256 * 1024

# name -> how the file is made of its original, and what reads it
ARCHIVES = {"gz": ["gzip", "-c"], "zst": ["zstd", "-qc"], "lz4": ["lz4", "-qc"]}

FUNCTION = """CREATE OR REPLACE FUNCTION as_vote(username text, link text, score text) RETURNS target
    LANGUAGE sql STABLE PARALLEL SAFE AS 'SELECT username, link, score::int'"""


def archive(path, kind):
    packed = f"{path}.{kind}"
    if not os.path.exists(packed):
        with open(packed + ".tmp", "wb") as out:
            subprocess.run(ARCHIVES[kind] + [path], stdout=out, check=True)
        os.rename(packed + ".tmp", packed)
    return packed


def parts(path):
    """a glob of files that hold the rows between them"""
    folder = path + ".parts"
    if len(glob.glob(folder + "/*")) != PARTS:
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["split", "-n", f"l/{PARTS}", "-d", path, folder + "/"], check=True)
    return folder + "/*"


def unpacking(path, kind):
    """seconds that the archive's own tool takes"""
    def seconds():
        start = time.perf_counter()
        subprocess.run([ARCHIVES[kind][0], "-dc", path], stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - start
    return seconds


def by_psql(path, prepare):
    """seconds of psql's \\copy"""
    def seconds():
        prepare()
        with open(path, "rb") as rows:
            start = time.perf_counter()
            subprocess.run(["psql", "-Xq", "-c", "\\copy target FROM pstdin (FORMAT csv)"], stdin=rows, check=True)
            return time.perf_counter() - start
    return seconds


def by_psycopg(path, prepare, statement):
    """seconds of a program that sends the file, as psql does not for a statement that is not COPY"""
    def seconds():
        import psycopg
        prepare()
        with open(path, "rb") as rows, psycopg.connect(autocommit=True) as connection, connection.cursor() as cursor:
            start = time.perf_counter()
            with cursor.copy(statement) as copy:
                while data := rows.read(PIECE):
                    copy.write(data)
            return time.perf_counter() - start
    return seconds


def sources(path, prepare):
    """prepare() empties the table on a quiet server"""
    def load(what, **options):
        return bulk_load("target", what, {"workers": 1, **options})

    from_client = {
        "COPY of what psycopg sends": by_psycopg(path, prepare, "COPY target FROM STDIN (FORMAT csv)"),
        "bulk_load of what psycopg sends": by_psycopg(path, prepare, f"CREATE TEMP TABLE loaded AS {load('stdin')}"),
    }
    archives = {kind: archive(path, kind) for kind in ARCHIVES}
    return {
        "COPY": f"COPY target FROM {literal(path)} (FORMAT csv)",
        "bulk_load": load(path),
        **{f"bulk_load of .{kind}": load(packed) for kind, packed in archives.items()},
        **{f"{ARCHIVES[kind][0]} -dc": unpacking(packed, kind) for kind, packed in archives.items()},
        f"bulk_load of {PARTS} files": load(parts(path)),
        "bulk_load with transform": Method(["TRUNCATE target", FUNCTION], [load(path, transform="as_vote")]),
        "psql's \\copy": by_psql(path, prepare),
        **(from_client if importlib.util.find_spec("psycopg") else {}),
    }
