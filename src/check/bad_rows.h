/*
 * bad_rows.h
 *		Rows that turned out bad when they were in the table, until the reject
 *		stream can have them in the order of the input.
 *
 * What does not fit into a few MB goes to temporary files.
 */
#ifndef PGBULK_BAD_ROWS_H
#define PGBULK_BAD_ROWS_H

#include "postgres.h"

#include "format/journal.h"
#include "reject/rejects.h"

typedef struct BadRow
{
	JournalPlace place;
	RejectReason reason;
	int			table;			/* numbers that mean something to the caller */
	int64		key;
	char	   *value;			/* of the key, or NULL */
	char	   *row;			/* as in Reject */
	/* what is to be said of it, or NULL where table and key tell */
	const char *message;
	const char *column;			/* or NULL */
	int			sqlstate;
} BadRow;

typedef struct BadRows BadRows;

/* Memory: the current context; files are the current resource owner's, also in a subtransaction. */
extern BadRows *bad_rows_open(void);

extern void bad_rows_put(BadRows *bad, const BadRow *row);

/* No more will come: they are read by their places. */
extern void bad_rows_sort(BadRows *bad);

/* The next one, in the current context; false after the last. */
extern bool bad_rows_next(BadRows *bad, BadRow *row);

extern void bad_rows_close(BadRows *bad);

#endif							/* PGBULK_BAD_ROWS_H */
