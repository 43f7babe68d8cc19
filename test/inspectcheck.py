#!/usr/bin/env python3
"""bulk_inspect on files from the wild: its verdict, and whether its statements load them.

usage: inspectcheck.py PATH-OF-COPYCHECK.PY

What is right comes from three sides.  The cases of the collection say which
delimiter, header and encoding a file has; where they do not mean that (COPY has
to do with what there is), EXCEPTIONS says what a reader of the file would.  The
statements must run and load every row of the sample.  The types must hold all
values, which the load has shown, and the server must not find a narrower one.

Connection as in copycheck.py; the server is 16 or newer.
"""
import json
import pathlib
import re
import subprocess
import sys

FUNCTION = r"""
CREATE FUNCTION pg_temp.inspect_and_load(path text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	v record;
	r record;
	c record;
	wider text[] = '{}';
	fits text;
BEGIN
	SELECT * INTO v FROM bulk_inspect(path, '{"table": "Inspected"}');
	IF v.bulk_load IS NULL THEN
		RETURN to_jsonb(v);
	END IF;
	EXECUTE v.create_table;
	EXECUTE v.bulk_load INTO r;
	-- what would have been narrower; 007 and 1_2 are codes, 1 no boolean, a time with a zone no time
	FOR c IN SELECT e ->> 'name' AS name, e ->> 'type' AS type FROM jsonb_array_elements(v.columns) e LOOP
		EXECUTE format($c$
			SELECT t FROM unnest(CASE %2$L WHEN 'text' THEN '{boolean,bigint,numeric,float8,date,timestamp,timestamptz,time,uuid,inet,jsonb}'::text[]
				WHEN 'bigint' THEN '{integer}' WHEN 'numeric' THEN '{integer,bigint}' ELSE '{}' END) t
			WHERE (SELECT count(v) > 0 AND bool_and(pg_input_is_valid(btrim(v), t)
					AND (t <> 'jsonb' OR btrim(v) ~ '^[[{]') AND (t <> 'time' OR v ~ ':') AND (t NOT IN ('date', 'timestamp', 'timestamptz') OR v ~ '\d{4}'))
				AND NOT bool_or(v ~ '^\s*[+-]?0\d' OR v ~ '^\+\d{6}' OR v ~ '^[\d_]+_' OR (t = 'time' AND v ~ '[Z+-]'))
				FROM (SELECT (%1$I)::text AS v FROM "Inspected") s WHERE v <> '')
			LIMIT 1$c$, c.name, c.type) INTO fits;
		IF fits IS NOT NULL THEN
			wider := wider || format('%s is %s, could be %s', c.name, c.type, fits);
		END IF;
	END LOOP;
	DROP TABLE "Inspected";
	RETURN to_jsonb(v) || jsonb_build_object('loaded', r.rows_loaded, 'rejected', r.rows_rejected, 'wider', wider);
EXCEPTION WHEN OTHERS THEN
	RETURN to_jsonb(v) || jsonb_build_object('failure', SQLSTATE || ' ' || SQLERRM);
END $$;
"""

HEADER = {"header": True}
NO_HEADER = {"header": False}
COMMENTS = {"header": True, "comment": "#"}
NO_QUOTE = {"quote": None, "escape": None}
TEXT = {"format": "text", **NO_QUOTE}
SPACES = {"delimiter": " ", "header": True}

# What the cases do not say as it is.
EXCEPTIONS = {
    "csv/rust-csv/examples_data_smallpop-colon.csv": {"delimiter": ":", **HEADER},
    "csv/rust-csv/examples_data_strange.csv": {"escape": "\\", "comment": "#"},
    "csv/readr/inst_extdata_whitespace-sample.txt": SPACES,
    "csv/readr/tests_testthat_fixtures_eol-cr.txt": SPACES,
    "csv/readr/tests_testthat_fixtures_fwf-trailing.txt": {"delimiter": " "},
    "csv/vroom/tests_testthat_fwf-trailing-crlf.txt": {"delimiter": " "},
    "csv/miller/test_input_a.pprint": SPACES,
    "csv/miller/test_input_b.pprint": SPACES,
    "csv/miller/test_input_e.pprint": SPACES,
    "csv/miller/test_input_truncated.pprint": SPACES,
    "csv/vroom/tests_testthat_multi-byte-ascii.txt": {"delimiter": "||", **HEADER},
    "csv/vroom/tests_testthat_multi-byte-unicode.txt": {"delimiter": "\u2764", **HEADER},
    "csv/pgloader/clojure_tests_csv_allcols_allcols.csv": {"delimiter": ":"},
    "csv/pgloader/clojure_tests_csv_column-subset_column-subset.csv": {"delimiter": "%"},
    "csv/pgloader/clojure_tests_csv_constant_constant.csv": {"delimiter": "%"},
    "csv/csv-spectrum/csvs_location_coordinates.csv": NO_QUOTE,
    "csv/frictionless-py/data_issue-833.csv": NO_QUOTE,
    "csv/miller/test_input_regex.dkvp": NO_QUOTE,
    "csv/miller/test_input_short-circuit.dkvp": NO_QUOTE,
    "csv/readr/tests_testthat_fixtures_basic-df-singlequote.csv": {"quote": "'", "escape": "'"},
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSV-290_psql.tsv": TEXT,
    "csv/tabulator-py/data_table.tsv": TEXT,
    "csv/pgloader/test_data_track.copy": TEXT,
    "csv/miller/test_cases_io-format-conversion-keystroke-savers_itsv-odkvp_input.tsv": TEXT,
    "csv/frictionless-py/data_table-infer-iso-8859-7.csv": {"encoding": "ISO_8859_7"},
    "csv/frictionless-py/data_wide.csv": {"unloadable": "9074 columns", **HEADER},
    "csv/csvkit/examples_null_byte.csv": {"rejects": "zero bytes"},
    "csv/readr/tests_testthat_fixtures_raw.csv": {"rejects": "zero bytes"},
    "csv/csvlint.rb/features_fixtures_invalid_many_rows.csv": {"rejects": "broken quotes, an empty line"},
    "csv/miller/test_input_comments_comments1-atat.dkvp": {"comment": "@@"},
    "csv/miller/test_input_comments_comments2-atat.dkvp": {"comment": "@@"},
    "csv/miller/test_input_comments_comments1.dkvp": {"comment": "#"},
    "csv/miller/test_input_comments_comments2.dkvp": {"comment": "#"},
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_test.csv": COMMENTS,
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_testCSV246.csv": COMMENTS,
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_testCSV85.csv": COMMENTS,
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_csv-167_sample1.csv": {**COMMENTS, **NO_QUOTE},
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_test_default.txt": {"rejects": "a row that is too long"},
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_test_rfc4180.txt": {"rejects": "a row that is too long"},
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_test_rfc4180_trim.txt": {"rejects": "a row that is too long"},
    "csv/miller/test_input_example-with-extra-keys.dkvp": {"rejects": "a row that is too long"},
    "csv/tabulator-py/data_special_skip-blank-at-the-end.csv": COMMENTS,
    "csv/tabulator-py/data_special_skip-rows-before-headers.csv": COMMENTS,
    "csv/tabulator-py/data_special_skip-rows.csv": COMMENTS,
    "csv/frictionless-py/data_countries.csv": COMMENTS,
    "csv/frictionless-py/data_country-2.csv": COMMENTS,
    "csv/frictionless-py/data_matrix-with-comment.csv": COMMENTS,
    "csv/vroom/inst_extdata_mtcars-concatenated.csv": COMMENTS,
    "csv/miller/test_cases_verb-join_0221_a.tsv": COMMENTS,
    "csv/miller/test_cases_verb-join_0221_b.tsv": COMMENTS,
    "csv/miller/test_input_comments_comments1.csv": COMMENTS,
    "csv/miller/test_input_comments_comments2.csv": COMMENTS,
    "csv/miller/test_input_pr-1787.csv": COMMENTS,
    "csv/csvlint.rb/features_fixtures_invalid-byte-sequence.csv": HEADER,
    "csv/csvlint.rb/features_fixtures_title-row.csv": HEADER,
    "csv/frictionless-py/data_blank-headers.csv": HEADER,
    "csv/frictionless-py/data_capital-invalid.csv": {"rejects": "a row that is too long", **HEADER},
    "csv/frictionless-py/data_duplicate-column.csv": HEADER,
    "csv/frictionless-py/data_duplicate-headers.csv": HEADER,
    "csv/frictionless-py/data_floats.csv": HEADER,
    "csv/frictionless-py/data_invalid.csv": HEADER,
    "csv/frictionless-py/data_issue-1004-data2.csv": HEADER,
    "csv/frictionless-py/data_issue-1138.csv": HEADER,
    "csv/frictionless-py/data_issue-825.csv": HEADER,
    "csv/frictionless-py/data_leading-zeros.csv": HEADER,
    "csv/frictionless-py/data_numeric-labels.csv": HEADER,
    "csv/csvkit/examples_bad_skip_lines.csv": HEADER,
    "csv/csvkit/examples_date_like_number.csv": HEADER,
    "csv/csvkit/examples_realdata_Datagov_FY10_EDU_recp_by_State.csv": HEADER,
    "csv/csvkit/examples_realdata_FY09_EDU_Recipients_by_State.csv": HEADER,
    "csv/csvkit/examples_sheetsxlsx_converted.csv": HEADER,
    "csv/csvkit/examples_test_date_format.csv": HEADER,
    "csv/csvkit/examples_test_date_format_converted.csv": HEADER,
    "csv/csvkit/examples_test_numeric_date_format.csv": HEADER,
    "csv/csvkit/examples_test_precision.csv": HEADER,
    "csv/csvkit/examples_test_skip_lines.csv": HEADER,
    "csv/readr/tests_testthat_fixtures_enc-iso-8859-1.txt": HEADER,
    "csv/readr/tests_testthat_fixtures_sample_text.txt": HEADER,
    "csv/miller/test_cases_dsl-regex_0005_input.csv": HEADER,
    "csv/miller/test_cases_dsl-stat_0001_input.csv": HEADER,
    "csv/miller/test_cases_io-spec-tsv_0004_single-column-with-blank.tsv": HEADER,
    "csv/miller/test_cases_verb-check_0002_input.csv": HEADER,
    "csv/miller/test_input_dot-match.csv": HEADER,
    "csv/miller/test_input_e.csv": HEADER,
    "csv/miller/test_input_infer.csv": HEADER,
    "csv/miller/test_input_ragged.csv": HEADER,
    "csv/miller/test_input_rank-data-unsorted.csv": HEADER,
    "csv/miller/test_input_rank-data.csv": HEADER,
    "csv/miller/test_input_rfc-csv_narrow-truncated.csv": HEADER,
    "csv/miller/test_input_rfc-csv_narrow.csv": HEADER,
    "csv/pgloader/clojure_tests_csv_pipe_skip2header.csv": HEADER,
    "csv/arrow-rs/arrow-csv_test_data_scientific_notation_test.csv": NO_HEADER,
    "csv/pgloader/clojure_tests_csv_non-printable_non-printable.csv": NO_HEADER,
    "csv/pgloader/clojure_tests_csv_not-enclosed_not-enclosed.csv": NO_HEADER,
    "csv/miller/test_input_ragged-implicit-header.tsv": NO_HEADER,
}

# Nobody could say what these are: descriptions of tests, two tables in one
# file, columns of fixed width, two kinds of escape, four rows of loose words.
SKIPPED = {
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_README.txt",
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_testCSV246_checkWithNoComment.txt",
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_testCSV85_default.txt",
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_testCSV85_ignoreEmpty.txt",
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_test_default.txt",
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_test_default_comment.txt",
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_test_rfc4180.txt",
    "csv/commons-csv/src_test_resources_org_apache_commons_csv_CSVFileParser_test_rfc4180_trim.txt",
    "csv/miller/test_input_abixy.pprint",
    "csv/miller/test_input_c.pprint",
    "csv/miller/test_input_c.csv",
    "csv/miller/test_input_d.csv",
    "csv/miller/test_input_d.pprint",
    "csv/miller/test_input_space-pad.pprint",
    "csv/csvkit/examples_test_join_short_rows.csv",
    "csv/tabulator-py/data_special_escaping.csv",
}


def expected(cases):
    """What the cases of a file say."""
    options = [c["options"] for c in cases if c["options"].get("format") == "csv"]
    # a line of keys and values looks like names to COPY
    pairs = cases[0]["file"].endswith(".dkvp")
    encodings = {o["encoding"] for o in options if "encoding" in o}
    return {
        "format": "csv",
        "delimiter": next((o["delimiter"] for o in options if "delimiter" in o), ","),
        "quote": '"', "escape": '"', "comment": None,
        "header": not pairs and any(c["id"].endswith("-match") for c in cases),
        "encoding": encodings.pop() if encodings else "UTF8",
    }


def names(cases):
    """The names of the columns, where a case has a header."""
    for case in cases:
        if case["id"].endswith("-match"):
            return [n.replace('""', '"') for n in re.findall(r'"((?:[^"]|"")*)" text', case["setup"])]
    return None


def judge(name, cases, verdict):
    """What is wrong with a verdict, as a list of words."""
    wrong = []
    if "failure" in verdict:
        return [f"its statements fail: {verdict['failure']}"]
    truth = {**expected(cases), **EXCEPTIONS.get(name, {})}
    found = {**verdict, "comment": verdict["load_options"].get("comment")}
    for key, value in truth.items():
        if name not in SKIPPED and key in found and found[key] != value:
            wrong.append(f"{key} is {value!r}, not {found[key]!r}")
    if "loaded" not in verdict:
        if "unloadable" not in truth:
            wrong.append(f"it cannot be loaded: {verdict['notes']}")
        return wrong
    known = names(cases)
    if known and verdict["header"] and truth["header"] and len(known) == len(verdict["columns"]):
        told = [re.sub(r"[\x00-\x1f]", " ", n.lstrip("\ufeff")).strip().encode()[:63].decode(errors="ignore") for n in known]
        given = [c["name"] for c in verdict["columns"]]
        if told != given:
            wrong.append(f"names are {told}, not {given}")
    if "rejects" not in truth and (verdict["rejected"] or verdict["loaded"] < verdict["rows_sampled"]):
        wrong.append(f"{verdict['loaded']} of {verdict['rows_sampled']} rows were loaded, {verdict['rejected']} rejected")
    if "wider" not in truth:
        wrong += verdict["wider"]
    return wrong


def main(copycheck):
    corpus = pathlib.Path(copycheck).resolve().parent / "corpus"
    files = {}
    for path in sorted(corpus.glob("*/cases.json")):
        for case in json.loads(path.read_text()):
            files.setdefault(case["file"], []).append(case)
    missing = [name for name in [*EXCEPTIONS, *SKIPPED] if name not in files]
    if missing:
        print("not in the collection:", ", ".join(missing))
    script = "SET client_min_messages = error; SET statement_timeout = '120s';\n" + FUNCTION
    for name in files:
        literal = "'" + str(corpus / name).replace("'", "''") + "'"
        script += f"SELECT pg_temp.inspect_and_load({literal});\n"
    run = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1"], input=script.encode(), capture_output=True)
    verdicts = [json.loads(line) for line in run.stdout.decode().split("\n") if line]
    if run.returncode or len(verdicts) != len(files):
        sys.exit(run.stderr.decode() + f"{len(verdicts)} verdicts on {len(files)} files")
    failed = 0
    for (name, cases), verdict in zip(files.items(), verdicts):
        wrong = judge(name, cases, verdict)
        failed += 1 if wrong else 0
        for what in wrong:
            print(f"{name}: {what}")
    print(f"{len(files) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
