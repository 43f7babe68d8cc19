"""What programs share that compare loads on generated cases with what SQL says: a database and a
folder of their own, the loop over the cases, the arguments and the last lines of output.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

from copy_load import LONG, psql, wait_for_server


class CaseChecker:
    """A program says how to check a case: it counts in passed or failed, and prints what is wrong."""

    name = None                 # of the program
    database_options = "LOCALE 'C'"
    cases = 300                 # at most, unless the arguments say otherwise
    mode = 0o755                # of the folder with the files; the server reads them
    chunk = None                # size, if the case has one
    seconds = 60 if LONG else 12    # no case is started after these, unless the arguments say otherwise

    def __init__(self, options):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="pgbulk-%s-" % self.name)
        os.chmod(self.folder, self.mode)
        self.database = "pgbulk_%s_%d" % (self.name, os.getpid())
        self.passed = self.failed = 0

    def sql(self, script):
        """Standard output and standard error."""
        settings = "-c client_min_messages=warning -c statement_timeout=60s"
        if self.chunk:
            settings += " -c pgbulk.chunk_size=%d" % self.chunk
        done = subprocess.run(["psql", "-XAtq", "-v", "VERBOSITY=verbose", "-d", self.database], input=script, capture_output=True, text=True,
                              env=dict(os.environ, PGOPTIONS=settings))
        return done.stdout, done.stderr

    def must(self, number, script):
        """Standard output of what has to work."""
        out, err = self.sql(script)
        if err:
            sys.exit("case %d: %s\n%s" % (number, err, script[:3000]))
        return out

    def write(self, name, rows):
        """A file of lines; returns its path."""
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write("".join(row + "\n" for row in rows))
        return path

    def open(self):
        """What is to be done once; the database is there."""

    def check(self, number):
        raise NotImplementedError

    def summary(self):
        """Lines to print in the end."""
        return []

    def run(self):
        until = time.monotonic() + self.options.seconds
        try:
            psql("template1", "CREATE DATABASE %s ENCODING 'UTF8' %s TEMPLATE template0" % (self.database, self.database_options))
            self.open()
            if self.options.case is not None:
                self.check(self.options.case)
            else:
                for number in range(self.options.cases):
                    if time.monotonic() > until:
                        break
                    self.check(number)
        finally:
            psql("template1", "DROP DATABASE IF EXISTS %s WITH (FORCE)" % self.database)
            # the files of a case that was asked for may be looked at
            if self.options.case is None:
                shutil.rmtree(self.folder)
        for line in self.summary():
            print(line)
        print("%d passed, %d failed" % (self.passed, self.failed))
        return 1 if self.failed else 0


def main(checker, doc, more=()):
    """more: arguments that only this program has, each a name and what it is."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--cases", type=int, default=checker.cases, help="how many at most")
    parser.add_argument("--seconds", type=int, default=checker.seconds, help="start no case after these")
    parser.add_argument("--seed", default="1")
    for name, what in more:
        parser.add_argument(name, help=what)
    parser.add_argument("--case", type=int, help="this one only")
    wait_for_server()
    sys.exit(checker(parser.parse_args()).run())
