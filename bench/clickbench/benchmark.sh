#!/bin/bash
# The queries are those of ClickBench's entry for PostgreSQL.
export BENCH_DOWNLOAD_SCRIPT=${BENCH_DOWNLOAD_SCRIPT-download-hits-tsv}
export BENCH_QUERIES_FILE=../postgresql/queries.sql
exec ../lib/benchmark-common.sh
