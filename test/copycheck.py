#!/usr/bin/env python3
"""Runs copycheck and takes the differences that docs/options.md intends for what they are; then with COPY
statements that pgbulk runs, which have none.

usage: copycheck.py PATH-OF-COPYCHECK.PY
"""
import os
import re
import subprocess
import sys

INTENDED = {
    "a malformed row is rejected where COPY's on_error = ignore still stops":
        r'(?m)"on_error": "ignore".*\n +COPY fails 22P04 .*; loader succeeds$',
    "a byte order mark is dropped where COPY loads it":
        "(?m)^ +only COPY: .*\ufeff|expected \"\ufeff",
}


# Every COPY is taken, however small; what the server's makes of the files is known.
PLAIN = "-c session_preload_libraries=pgbulk -c pgbulk.copy=on -c pgbulk.copy_min_size=0"


def check_plain(copycheck):
    """COPY with pgbulk.copy on; returns passed, failed, skipped."""
    run = subprocess.run([sys.executable, copycheck, "--loader", "copy", "--fast"], env=dict(os.environ, PGOPTIONS=PLAIN), capture_output=True, text=True)
    counts = re.search(r"(?m)^(\d+) passed, (\d+) failed, (\d+) skipped", run.stdout)
    if not counts or counts.group(2) != "0":
        print(run.stdout + run.stderr)
    return map(int, counts.groups()) if counts else (0, 1, 0)


def main(copycheck):
    run = subprocess.run([sys.executable, copycheck, "--loader", "bulk_load", "--rows-col", "rows_loaded"],
                         capture_output=True, text=True)
    counts = re.search(r"(?m)^(\d+) passed, (\d+) failed, (\d+) skipped", run.stdout)
    if not counts:
        sys.exit(run.stdout + run.stderr)
    passed, failed, skipped = map(int, counts.groups())
    seen = dict.fromkeys(INTENDED, 0)
    for case in re.split(r"(?m)^(?=[A-Z]{4}  )", run.stdout[:counts.start()]):
        if not case.startswith("FAIL  "):
            continue
        kind = next((k for k, pattern in INTENDED.items() if re.search(pattern, case)), None)
        if kind:
            seen[kind] += 1
        else:
            print(case, end="")
    for kind, n in seen.items():
        print(f"{n} intended: {kind}")
    intended = sum(seen.values())
    plain_passed, plain_failed, plain_skipped = check_plain(copycheck)
    print(f"{plain_passed} with COPY itself, run by pgbulk")
    print(f"{passed + intended + plain_passed} passed, {failed - intended + plain_failed} failed, {skipped + plain_skipped} skipped")
    return 1 if failed + plain_failed > intended else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
