/*
 * header_advice.h
 *		Hints for header lines whose names are not those of the columns.
 */
#ifndef PGBULK_HEADER_ADVICE_H
#define PGBULK_HEADER_ADVICE_H

#include "postgres.h"

#include "load/header_state.h"

/*
 * For a header line, which the reader has just read, about which an error is
 * about to be raised: a HINT with the options by which its names are column
 * names and the rows after it can be read; or one that suggests to ignore some
 * names or the header.  Never suggests options that load none of its columns.
 * Examines only what is in the window.
 */
extern char *header_advise(Header *header, const ScanRow *row);

/* The same if another delimiter can be suggested; else NULL. */
extern char *header_advise_delimiter(Header *header, const ScanRow *row);

#endif							/* PGBULK_HEADER_ADVICE_H */
