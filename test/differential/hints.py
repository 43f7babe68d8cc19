#!/usr/bin/env python3
"""What HINTs promise: files in dialects that the options do not name are loaded, and every remedy is followed.

A case is a table, rows for it, and a file that holds them in a way of its own: delimiter, quotes, header, encoding, decimal mark,
dates, words for null, and some rows that are really bad.  It is loaded with on_error = ignore, or stop, and with each set of options that a
HINT names, and with those that HINTs name then.

Dates tell day from month, as a file whose dates do not is read as DateStyle has it, whatever the options.  Whatever is followed:

- every row of the file is loaded or rejected (or is the header): none is lost, none merged with another;
- no row gets in that the file does not hold, unless the load before had let some in: those tell of a dialect that looks like another.

The last line but one says how many files were loaded as a whole in the end: a HINT that names nothing is safe, but no help.
"""
import json
import random
import re

from case_checker import CaseChecker, main

WORDS = ["ann", "bob", "o'brien", "rock'n'roll", "haus am see", "a, b", "x; y; z", "5\" disk", "söl", "Größe", "tab\tin", "#1", "12:30", "", "n/a b", "-1-", "{\"a\": 1}", "c|d"]
PLAIN = ["ann", "bob", "cid", "dora", "emil", "haus am see", "jörg", "x-ray", "o'brien"]
TYPES = ["int", "text", "text", "date", "numeric", "timestamp", "boolean"]
DATES = ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d"]
STEPS = 4


class Case:
    def __init__(self, seed, number):
        self.random = rnd = random.Random("%s %d" % (seed, number))
        self.types = [rnd.choice(TYPES) for i in range(rnd.randint(2, 6))]
        self.names = ["c%d" % i if rnd.random() < 0.5 else rnd.choice(["name", "day", "amount", "place", "kind"]) + str(i) for i in range(len(self.types))]
        self.words = WORDS if rnd.random() < 0.6 else PLAIN
        self.delimiter = rnd.choice([",", ",", ";", ";", ";", "\t", "|", ":"])
        self.comma = rnd.random() < 0.4
        self.date = rnd.choice(DATES)
        self.null = rnd.choice(["", "", "NA", "-", "NULL"])
        self.encoding = "cp1252" if rnd.random() < 0.2 else "utf-8"
        self.header = rnd.choice([None, None, "names", "NAMES", "others", "turned"])
        self.quote = rnd.choice(['"', '"', '"', "'"])
        self.padded = rnd.random() < 0.1
        self.more = []          # rows that a bad one may well become
        self.bad = rnd.random() < 0.3
        self.noise = rnd.random() < 0.15
        self.rows = [[self.value(t) for t in self.types] for i in range(rnd.choice([1, 2, 3, 5, 20, 60]))]
        self.options = {"on_error": "ignore"}
        if self.header and rnd.random() < 0.3:
            self.options["header"] = "map" if self.header == "turned" or (self.header != "others" and rnd.random() < 0.7) else True
        if rnd.random() < 0.3:
            self.options["delimiter"] = self.delimiter
        if rnd.random() < 0.4:
            self.options["on_error"] = "stop"
        self.thousands = rnd.random() < 0.2

    def value(self, kind):
        rnd = self.random
        if rnd.random() < 0.1:
            return None
        if kind == "int":
            return rnd.randint(-5, 5000)
        if kind == "text":
            return rnd.choice(self.words) or None
        if kind == "numeric":
            return round(rnd.uniform(-10, 3000), rnd.choice([0, 1, 2, 2, 3]))
        if kind == "boolean":
            return rnd.random() < 0.5
        return (rnd.randint(1990, 2030), rnd.randint(1, 12), rnd.randint(13, 28), rnd.randint(0, 23), rnd.randint(0, 59))

    def written(self, value, kind):
        if value is None:
            return self.null
        if kind == "numeric":
            text = "{:,}".format(value) if self.thousands else str(value)
            return text.translate({44: 46, 46: 44}) if self.comma else text
        if kind in ("date", "timestamp"):
            text = self.date.replace("%Y", "%04d" % value[0]).replace("%m", "%02d" % value[1]).replace("%d", "%02d" % value[2])
            return text if kind == "date" else "%s %02d:%02d" % (text, value[3], value[4])
        if kind == "boolean":
            return "true" if value else "false"
        return str(value)

    def field(self, text, is_null):
        if not is_null and (text == "" or any(c in text for c in (self.delimiter, self.quote, "\n"))):
            return self.quote + text.replace(self.quote, self.quote * 2) + self.quote
        return " %s " % text if self.padded and not is_null else text

    def lines(self):
        rnd = self.random
        order = list(range(len(self.types)))
        out = []
        if self.header == "turned":
            order.reverse()
        if self.header:
            names = {"NAMES": [n.upper() for n in self.names], "others": ["Spalte %s" % chr(65 + i) for i in order]}.get(self.header, self.names)
            out.append(self.delimiter.join(self.field(names[i], False) for i in order))
        for row in self.rows:
            fields = [self.field(self.written(row[i], self.types[i]), row[i] is None) for i in order]
            # rows that are no longer what they were
            if self.bad and rnd.random() < 0.2:
                fields = rnd.choice([fields[:-1], fields + ["more"], ["?"] + fields[1:], [""]])
                self.more += [[None for v in row]] + [[None if i in gone else v for i, v in enumerate(row)] for gone in ([order[-1]], [order[0]])]
                if self.types[order[0]] == "text":
                    self.more.append(["?" if i == order[0] else v for i, v in enumerate(row)])
            out.append(self.delimiter.join(fields))
        return out

    def truth(self):
        def sql(value, kind):
            if value is None:
                return "NULL"
            if kind in ("date", "timestamp"):
                return "'%04d-%02d-%02d%s'" % (value[:3] + ("" if kind == "date" else " %02d:%02d" % value[3:],))
            return "'%s'" % str(value).replace("'", "''")
        return ", ".join("(%s)" % ", ".join("%s::%s" % (sql(v, t), t) for v, t in zip(row, self.types)) for row in self.rows + self.more)

    def compared(self):
        """The columns: in text neither blanks around it nor words for null nor quotes are anyone's business but the reader's."""
        return ", ".join("nullif(nullif(btrim(translate(%s, '\"''', '')), ''), '%s')" % (n, self.null) if t == "text" else n for n, t in zip(self.names, self.types))


class Checker(CaseChecker):
    name = "hints"
    cases = 250

    def __init__(self, options):
        super().__init__(options)
        self.followed = self.whole = self.began_whole = self.stopped = 0

    def open(self):
        self.sql("CREATE EXTENSION pgbulk")

    def load(self, path, options, compared):
        """Rows loaded, rejected and wrong, and the options that HINTs name; None for the first three where it fails."""
        out, err = self.sql("SET client_min_messages = notice; TRUNCATE t;\n"
                            "SELECT rows_loaded, rows_rejected FROM bulk_load('t', '%s', '%s');\n"
                            "SELECT x::text FROM (SELECT %s FROM t EXCEPT ALL SELECT %s FROM truth) x;\n"
                            % (path, json.dumps(options).replace("'", "''"), compared, compared))
        hints = re.findall(r"HINT:  (?:With|Set) (\{.*?\}) among the options(?! of bulk_load_retry)", err)
        if "ERROR" in err:
            return None, hints, err
        got = out.splitlines()
        loaded, rejected = (int(x) for x in got[0].split("|"))
        return (loaded, rejected, got[1:]), hints, err

    def check(self, number):
        case = Case(self.options.seed, number)
        path = "%s/%d.csv" % (self.folder, number)
        lines = case.lines()
        text = "".join(line + "\n" for line in lines)
        with open(path, "wb") as f:
            f.write(text.encode(case.encoding, "replace"))
        columns = ", ".join("%s %s" % x for x in zip(case.names, case.types))
        out, err = self.sql("DROP TABLE IF EXISTS t, truth; CREATE TABLE t (%s); CREATE TABLE truth (%s); INSERT INTO truth VALUES %s;" % (columns, columns, case.truth()))
        faults = [err] if err else []
        first, hints, err = self.load(path, case.options, case.compared())
        if first is None and "header line" not in err and not (case.options["on_error"] == "stop" and "CONTEXT:  bulk_load of t, file" in err):
            faults.append(err)
        self.began_whole += first is not None and first[0] - len(first[2]) == len(case.rows)
        todo = [(dict(case.options, **json.loads(h)), first, h, 1) for h in hints]
        seen = set()
        best = first[0] - len(first[2]) if first else 0
        while todo and not faults:
            options, before, hint, depth = todo.pop()
            key = json.dumps(options, sort_keys=True)
            if key in seen:
                continue
            seen.add(key)
            self.followed += 1
            now, hints, err = self.load(path, options, case.compared())
            if now is None:
                # a row ends the load, as it did before
                if options["on_error"] == "stop" and re.search(r"CONTEXT:  bulk_load of t, file .*, line", err):
                    self.stopped += 1
                elif "no name in the header line" not in err and "of the header line does not exist" not in err:
                    faults.append("%s cannot be followed: %s" % (hint, err))
            else:
                best = max(best, now[0] - len(now[2]))
                if options["on_error"] == "stop" and "comment" not in options and now[0] < len(case.rows):
                    faults.append("with %s %d of %d rows are loaded" % (key, now[0], len(case.rows)))
                if now[0] + now[1] < min(len(case.rows), before[0] + before[1] if before else 0):
                    faults.append("with %s %d and %d of %d rows are left" % (key, now[0], now[1], len(case.rows)))
                # what extra_columns leaves out is said in the HINT
                if "extra_columns" not in options and now[2] and not (before and before[2]):
                    faults.append("with %s %d rows are wrong, %s before: %s" % (key, len(now[2]), before and (before[0], before[1], len(before[2])), now[2][:3]))
            if depth < STEPS:
                todo += [(dict(options, **json.loads(h)), now, h, depth + 1) for h in hints]
        self.whole += best == len(case.rows)
        if faults:
            self.failed += 1
            print("case %d: %s\n  %s\n  %s" % (number, columns, "\n  ".join(faults), "\n  ".join(lines[:6])))
        else:
            self.passed += 1

    def summary(self):
        return ["%d remedies followed, %d of them up to another bad row; whole files: %d at once, %d in the end" % (self.followed, self.stopped, self.began_whole, self.whole)]


if __name__ == "__main__":
    main(Checker, __doc__)
