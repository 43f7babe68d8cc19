#!/usr/bin/env python3
"""Format json beside json_populate_record: made and spoiled objects of many kinds.

Each object is one line of a file.  Where json_populate_record takes it bulk_load must, with the same row, and
where it refuses it the row must be bad with the same SQLSTATE.  The same objects as an array must give the same rows.

    json_rows.py [--rows N] [--seed N]       connects as libpq's environment says; needs a role that may write files
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

COLUMNS = ("a int", "b text", "n numeric", "f float8", "t boolean", "d date", "ts timestamptz", "j json", "jb jsonb",
           "ia int[]", "ta text[]", "p json_rows_pair", "ps json_rows_pair[]", "v varchar(5)", "u uuid")
NAMES = [column.split()[0] for column in COLUMNS]

SETUP = f"""
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgbulk;
DROP TABLE IF EXISTS json_rows_t, json_rows_bad, json_rows_lines;
DROP TYPE IF EXISTS json_rows_pair;
CREATE TYPE json_rows_pair AS (x int, y text);
CREATE TABLE json_rows_t ({", ".join(COLUMNS)});
CREATE TABLE json_rows_lines (n serial, line text);
CREATE OR REPLACE FUNCTION json_rows_expect(line text, OUT value text, OUT code text) LANGUAGE plpgsql AS $$
BEGIN
	SELECT r::text INTO value FROM json_populate_record(NULL::json_rows_t, line::json) r;
EXCEPTION WHEN OTHERS THEN
	code := sqlstate;
END $$;
"""

TEXTS = ["", "x", "12", "-3", "1.50", "1e3", "true", "off", "2024-02-29", "2024-02-30", "infinity", "{1,2}", '{"a","b"}', "(1,x)", "null", "NaN",
         "a \\ \" b", "\t\n", "é€😀", "{", "[1", "abcdef", "550e8400-e29b-41d4-a716-446655440000", "2024-05-06T07:08:09Z", "99999999999"]


class Maker:
    def __init__(self, seed):
        self.rnd = random.Random(seed)

    def space(self):
        return self.rnd.choice(("", "", "", "", " ", "  ", "\t"))

    def string(self):
        text = self.rnd.choice(TEXTS) if self.rnd.random() < .8 else "".join(self.rnd.choices("ab\\\"/{}[],: é", k=self.rnd.randrange(12)))
        return json.dumps(text, ensure_ascii=self.rnd.random() < .5)

    def value(self, depth=0):
        kind = self.rnd.randrange(9 if depth < 3 else 7)
        if kind < 3:
            return self.string()
        if kind < 5:
            return self.rnd.choice(("0", "1", "-7", "12.50", "1e2", "2.5E-1", "123456789012345678901234567890", "-0"))
        if kind < 7:
            return self.rnd.choice(("null", "true", "false"))
        if kind == 7:
            return "[" + ",".join(self.space() + self.value(depth + 1) for _ in range(self.rnd.randrange(4))) + "]"
        return self.object(("x", "y", "z"), 4, depth + 1)

    def fitting(self, name):
        """a value that the column mostly takes"""
        number = self.rnd.choice(("1", "-2", "300", '"4"', "null"))
        return {"a": number, "ia": f"[{number}, 5]", "n": self.rnd.choice(("1.50", "1e3", '"-2.5"')), "f": "1.25", "t": self.rnd.choice(("true", '"off"')),
                "d": '"2024-02-29"', "ts": '"2024-05-06T07:08:09Z"', "ta": f'["x", {self.string()}, null]', "p": '{"x": 1, "y": "z"}',
                "ps": '[{"x": 1}, {"y": [1]}, null]', "v": '"abc"', "u": '"550e8400-e29b-41d4-a716-446655440000"'}.get(name, self.value())

    def object(self, names, most, depth=0):
        pairs = []
        for name in self.rnd.choices(names, k=self.rnd.randrange(most)):
            key = json.dumps(name) if self.rnd.random() < .95 else '"\\u%04x%s"' % (ord(name[0]), name[1:])
            value = self.fitting(name) if depth == 0 and self.rnd.random() < .9 else self.value(depth)
            # json keeps the text of the file, json_populate_record writes strings anew
            if name == "j" and depth == 0 and value.startswith('"'):
                value = json.dumps(json.loads(value), ensure_ascii=False)
            pairs.append(f"{self.space()}{key}{self.space()}:{self.space()}{value}{self.space()}")
        return "{" + ",".join(pairs) + "}"

    def line(self):
        text = self.object(NAMES, 8)
        while self.rnd.random() < .15:
            at = self.rnd.randrange(len(text))
            text = text[:at] + self.rnd.choice(("", *'{}[]:,"\\0.-ex ')) + text[at + 1:]
        return text


def run(sql):
    done = subprocess.run(["psql", "-qXAt", "-F", "\x1f", "-v", "ON_ERROR_STOP=1"], input=sql, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return [line.split("\x1f") for line in done.stdout.splitlines()]


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    maker = Maker(args.seed)
    lines = [line for line in (maker.line() for _ in range(args.rows)) if line.strip()]
    run(SETUP)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = os.path.join(folder, "lines.json")
        with open(path, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
        run("SET standard_conforming_strings = on; INSERT INTO json_rows_lines (line) VALUES " +
            ",".join(f"({literal(line)})" for line in lines) + ";")
        run(f"""SELECT rows_loaded FROM bulk_load('json_rows_t', {literal(path)}, '{{"format": "json", "encoding": "UTF8",
            "on_error": "ignore", "missing_columns": "null", "extra_columns": "ignore", "reject_table": "json_rows_bad", "log_verbosity": "silent"}}')""")
        differences = run("""
            WITH expected AS (SELECT n, line, (json_rows_expect(line)).* FROM json_rows_lines),
            good AS (SELECT row_number() OVER (ORDER BY n) AS i, n, line, value FROM expected
                WHERE code IS NULL AND n NOT IN (SELECT line_number FROM json_rows_bad)),
            loaded AS (SELECT row_number() OVER (ORDER BY ctid) AS i, whole::text AS value FROM json_rows_t whole)
            SELECT 'row', line, g.value, l.value FROM good g FULL JOIN loaded l USING (i) WHERE g.value IS DISTINCT FROM l.value
            UNION ALL
            SELECT 'error', e.line, coalesce(e.code, e.value), coalesce(b.sqlstate || ' ' || b.message, 'loaded') FROM expected e LEFT JOIN json_rows_bad b ON e.n = b.line_number
            WHERE e.code IS DISTINCT FROM b.sqlstate AND b.message NOT IN ('no key of the JSON object is a column', 'row is not a JSON object')
            OR (e.code IS NOT NULL) AND b.line_number IS NULL""")
        counts = run("SELECT count(*), (SELECT count(*) FROM json_rows_bad) FROM json_rows_t")[0]
        with open(path, "w", encoding="utf-8") as out:
            out.write("[" + ",\n ".join(row[0] for row in run("SELECT line FROM json_rows_lines WHERE n NOT IN (SELECT line_number FROM json_rows_bad) ORDER BY n")) + "]")
        same = run(f"""CREATE TEMP TABLE a AS SELECT row_number() OVER (ORDER BY ctid) AS i, whole::text AS value FROM json_rows_t whole; TRUNCATE json_rows_t;
            SELECT rows_loaded FROM bulk_load('json_rows_t', {literal(path)}, '{{"format": "json", "encoding": "UTF8", "missing_columns": "null", "extra_columns": "ignore"}}');
            SELECT (SELECT string_agg(value, ';' ORDER BY i) FROM a) IS NOT DISTINCT FROM (SELECT string_agg(whole::text, ';' ORDER BY ctid) FROM json_rows_t whole)""")[-1]
    run("DROP TABLE json_rows_t, json_rows_bad, json_rows_lines; DROP FUNCTION json_rows_expect; DROP TYPE json_rows_pair")
    for difference in differences[:20]:
        print("\n   ".join(difference))
    failed = len(differences) + (same != ["t"])
    print(f"{counts[0]} rows, {counts[1]} bad; as an array {'the same' if same == ['t'] else 'OTHERS'}")
    print(f"{len(lines) + 1 - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
