#!/usr/bin/env python3
"""bulk_inspect on generated files whose dialect, names and rows are known, and what its proposal loads.

A case is a file of one of the KINDS.  Required of each:

- the statements run, and each row of the file is loaded or rejected: none is lost, none merged with another;
- with the proposed dialect, into columns of type text, the rows are those of the file, field by field, and so are the names;
- what the kind says is bad is rejected, and nothing else.

A kind is in the list only where the file itself leaves no doubt: no single column of words, of which none can say whether the first is a name.
"""
import json
import random

from case_checker import CaseChecker, main

WORDS = "alpha beta gamma delta river stone paper cloud green silver winter summer north south chair window market engine copper".split()
PEOPLE = ["%s %s" % (a, b) for a in "Ann Bob Carla Dmitri Elena Farid Gita Hugo".split() for b in "Smith Jones Garcia Miller Novak Rossi".split()]
DIALECT = ["format", "delimiter", "quote", "escape", "header", "encoding", "newline", "comment", "missing_columns", "on_error"]


class File:
    """The text of a file, its names or None, its rows, and how many more are bad."""

    def __init__(self, rnd):
        self.random = rnd
        self.names = None
        self.rows = []
        self.bad = 0
        self.end = rnd.choice(["\n", "\n", "\r\n"])

    def word(self):
        return self.random.choice(WORDS)

    def prose(self):
        words = [self.word() + self.random.choice(["", "", "", "", ",", ";", ":"]) for i in range(self.random.randint(4, 12))]
        return " ".join(words).capitalize().rstrip(",;:") + "."

    def value(self, kind):
        rnd = self.random
        number = rnd.randint(0, 99999)
        return {
            "int": lambda: str(number), "dec": lambda: "%d.%02d" % (number, rnd.randint(0, 99)),
            "date": lambda: "20%02d-%02d-%02d" % (number % 25, rnd.randint(1, 12), rnd.randint(1, 28)),
            "stamp": lambda: self.value("date") + " " + self.value("time"),
            "time": lambda: "%02d:%02d:%02d" % (number % 24, rnd.randint(0, 59), rnd.randint(0, 59)),
            "url": lambda: "https://%s.example:80/%s?%s=%d" % (self.word(), self.word(), self.word(), number),
            "mac": lambda: ":".join("%02x" % rnd.randint(0, 255) for i in range(6)),
            "path": lambda: "C:\\%s\\%s %d.txt" % (self.word(), self.word(), number),
            "person": lambda: rnd.choice(PEOPLE), "word": self.word, "prose": self.prose,
            "code": lambda: "%s%03d" % (rnd.choice("ABC"), number % 1000),
            "room": lambda: "Room %d" % (number % 100),
            "grouped": lambda: "{:,}".format(number + 1000), "money": lambda: "{:,.2f}".format(number + 1000.5),
            "json": lambda: json.dumps({"id": number, self.word(): self.word() + ", " + self.word(), "l": [1, 2]}),
            "lines": lambda: self.prose() + self.end + self.prose(),
        }[kind]()

    def fill(self, kinds, header=None, sizes=(4, 30, 300)):
        if self.random.random() < 0.6 if header is None else header:
            self.names = ["%s_%d" % (self.word(), i) for i in range(len(kinds))]
        self.rows = [[self.value(k) for k in kinds] for i in range(self.random.choice(sizes))]

    def lines(self, delimiter, quote='"', escape='"', always=False):
        def field(value):
            if quote is None or not (always or any(c in value for c in (delimiter, quote, "\n", "\r"))):
                return value
            if escape != quote:
                value = value.replace(escape, escape * 2)
            return quote + value.replace(quote, escape + quote) + quote
        return [delimiter.join(map(field, row)) for row in ([self.names] if self.names else []) + self.rows]


def table(file):
    delimiter = file.random.choice(",,;\t|")
    quote = file.random.choice(["\"", "\"", "'"])
    kinds = ["int"] + [file.random.choice(["dec", "date", "stamp", "time", "person", "url", "prose", "code", "lines"]) for i in range(file.random.randint(1, 6))]
    file.fill(kinds)
    return file.lines(delimiter, quote, file.random.choice([quote, quote, "\\"]), file.random.random() < 0.3)


def column(kind):
    """One column without quotes."""
    def make(file):
        file.fill([kind], header=True if kind in ("person", "prose", "room") else None)
        if file.names:
            file.names = [file.random.choice(["name", "value", "text"])]
        return file.lines("\0", None)
    return make


def quoted_column(kind):
    def make(file):
        file.fill([kind], header=True)
        file.names = ["value"]
        return ["value"] + file.lines(",", always=True)[1:]
    return make


def inches(file):
    """Quotes are data: within fields, at their beginnings and ends."""
    file.fill(["int", "word", "code", "dec"], header=True, sizes=(8, 40, 1000))
    for row in file.rows:
        if file.random.random() < 0.3:
            row[1] = file.random.choice(["%s\"", "%s\" x 3\"", "the \"%s\" one", "\"%s\" first", "\"%s", "%s only\""]) % row[1]
    return file.lines(file.random.choice(",\t;"), None)


def backslashes(file):
    """Quotes are escaped by backslashes in a few of the last rows."""
    file.fill(["int", "prose", "dec"], header=True, sizes=(60, 3000))
    for row in file.rows[-3:]:
        row[1] = "it is \"%s,\" like \"%s\")." % (file.word(), file.word())
    return file.lines(",", escape="\\", always=True)


def backslash_data(file):
    """Quotes are doubled, and values end with backslashes."""
    file.fill(["int", "path", "dec"], header=True, sizes=(60, 3000))
    for row in file.rows:
        if file.random.random() < 0.2:
            row[1] = file.random.choice(["C:\\%s\\", "say \"%s\"", "\\%s, \\"]) % file.word()
    return file.lines(",", always=True)


def trailing(file):
    """A delimiter more behind each row than behind the names."""
    file.fill(["int", "word", "dec"], header=True)
    lines = file.lines(",")
    file.rows = [row + [""] for row in file.rows]
    file.names.append("column_4")
    return lines[:1] + [line + "," for line in lines[1:]]


def titled(file):
    """A title with many delimiters."""
    file.fill(["int", "word", "dec", "date"], header=True, sizes=(30, 1500))
    return ["Report of " + ",".join(file.word() for i in range(file.random.randint(9, 25)))] + file.lines(",")


def too_long(file):
    """A row that has more fields than others."""
    file.fill(["int", "word", "dec"], header=True, sizes=(12, 90, 500))
    lines = file.lines(",")
    at = file.random.randrange(1, len(lines))
    lines[at] += ",x" * file.random.randint(1, 4)
    del file.rows[at - 1]
    file.bad = 1
    return lines


def stray_header(file):
    """A quote in the header line that is never closed."""
    file.fill(["int", "word", "dec"], header=True)
    lines = file.lines(",")
    fields = lines[0].split(",")
    fields[file.random.randrange(3)] += "\""
    return [",".join(fields)] + lines[1:]


KINDS = {make.__name__: make for make in (table, table, inches, backslashes, backslash_data, trailing, titled, too_long, stray_header)}
KINDS.update({"column of " + k: column(k) for k in ("time", "stamp", "url", "mac", "path", "person", "room", "prose", "json", "money")})
KINDS.update({"quoted column of " + k: quoted_column(k) for k in ("grouped", "prose", "lines", "url")})


class Dialects(CaseChecker):
    name = "dialects"
    cases = 2 * len(KINDS)

    def open(self):
        self.sql("CREATE EXTENSION pgbulk")

    def check(self, number):
        rnd = random.Random("%s %d" % (self.options.seed, number))
        kind = list(KINDS)[number % len(KINDS)]
        file = File(rnd)
        text = file.end.join(KINDS[kind](file)) + file.end
        path = "%s/%d.csv" % (self.folder, number)
        with open(path, "w", newline="") as out:
            out.write(text)
        # objects in lines are rows of format json, unless one says otherwise
        told = {"format": "csv"} if kind == "column of json" else {}
        wrong = self.judge(file, path, json.dumps({"table": "proposed"} | told))
        self.failed += 1 if wrong else 0
        self.passed += 0 if wrong else 1
        if wrong:
            print("case %d, %s: %s" % (number, kind, wrong))

    def judge(self, file, path, told):
        said, error = self.sql("SELECT to_jsonb(i) FROM bulk_inspect('%s', '%s') i" % (path, told))
        if error:
            return error
        verdict = json.loads(said)
        options = json.dumps({k: v for k, v in verdict["load_options"].items() if k in DIALECT} | {"null": []})
        columns = ", ".join("c%d text" % i for i in range(len(verdict["columns"])))
        said, error = self.sql("""BEGIN; SET LOCAL client_min_messages = error; %s; SELECT to_jsonb(r) FROM (%s) r; CREATE TABLE as_text (%s);
            SELECT to_jsonb(r) FROM bulk_load('as_text', '%s', '%s') r; SELECT to_jsonb(t) FROM as_text t ORDER BY ctid; ROLLBACK"""
                               % (verdict["create_table"], verdict["bulk_load"], columns, path, options.replace("'", "''")))
        if error:
            return error
        proposed, as_text, *rows = map(json.loads, said.splitlines())
        for result in (proposed, as_text):
            if (result["rows_loaded"], result["rows_rejected"]) != (len(file.rows), file.bad):
                return "%s loaded, %s rejected, not %s and %s: %s" % (result["rows_loaded"], result["rows_rejected"], len(file.rows), file.bad, options)
        # a quote that is data is part of a name, too
        names = [c["name"].replace('"', "") for c in verdict["columns"]] if verdict["header"] else None
        if names != file.names:
            return "names are %s, not %s" % (names, file.names)
        for at, (row, want) in enumerate(zip(rows, file.rows)):
            row = [row["c%d" % i] or "" for i in range(len(row))]
            if row != want:
                return "row %d is %s, not %s: %s" % (at + 1, row, want, options)
        return None


if __name__ == "__main__":
    main(Dialects, __doc__)
