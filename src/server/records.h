/*
 * records.h
 *		Records of numbers, collected in any order and read back sorted.
 *
 * Beyond the memory that they may take they go to temporary files
 * (temp_tablespaces and temp_file_limit apply).
 */
#ifndef PGBULK_RECORDS_H
#define PGBULK_RECORDS_H

#include "postgres.h"

/* Numbers that a record has at most. */
#define RECORDS_COLUMNS 4

typedef struct Records Records;

/*
 * Records of ncolumns numbers each, which are sorted by all of them, the first
 * one first.  Memory: below the current context, and so many kB at most.
 */
extern Records *records_open(int ncolumns, int memory_kb);

extern void records_put(Records *records, const int64 *values);

/* No more will come: they are read from the first one on. */
extern void records_sort(Records *records);

/* The next one; false after the last. */
extern bool records_next(Records *records, int64 *values);

/* Memory and files go. */
extern void records_close(Records *records);

#endif							/* PGBULK_RECORDS_H */
