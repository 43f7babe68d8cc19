/*
 * records.h
 *		Records of integers, collected in any order and read back sorted.
 *
 * Beyond their memory they spill to temporary files (temp_tablespaces and
 * temp_file_limit apply).
 */
#ifndef PGBULK_RECORDS_H
#define PGBULK_RECORDS_H

#include "postgres.h"

/* Maximum number of columns of a record. */
#define RECORDS_COLUMNS 3

typedef struct Records Records;

/*
 * Records of ncolumns integers each, sorted by all columns.  Creates a child of
 * the current context, with at most this many kB.
 */
extern Records *records_open(int ncolumns, int memory_kb);

extern void records_put(Records *records, const int64 *values);

/* Ends input; records can then be read. */
extern void records_sort(Records *records);

/* Reads the next record; false after the last. */
extern bool records_next(Records *records, int64 *values);

/* Frees memory and files. */
extern void records_close(Records *records);

#endif							/* PGBULK_RECORDS_H */
