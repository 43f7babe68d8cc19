/*
 * header_advice.h
 *		What to do about a header line whose names are not those of the columns.
 */
#ifndef PGBULK_HEADER_ADVICE_H
#define PGBULK_HEADER_ADVICE_H

#include "postgres.h"

#include "load/header_state.h"

/*
 * For a header line as the reader has it now, an error about which is to be raised: the options with which its names are
 * those of columns and the rows after it can be read, as a HINT; or that, to go without some of them or without
 * names.  No remedy leaves the load without any of its columns.  What the window has is looked at, no more is read.
 */
extern char *header_advise(Header *header, const ScanRow *row);

/* The same where there is another delimiter to name; NULL where not. */
extern char *header_advise_delimiter(Header *header, const ScanRow *row);

#endif							/* PGBULK_HEADER_ADVICE_H */
