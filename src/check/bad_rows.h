/*
 * bad_rows.h
 *		Rows found bad after they were stored, kept until they can be sent to
 *		the reject stream in input order.
 *
 * Rows beyond a few MB spill to temporary files.
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
	int			table;			/* numbers whose meaning the caller defines */
	int64		key;
	char	   *value;			/* of the key, or NULL */
	char	   *row;			/* as in Reject */
	/* error message, or NULL if table and key determine it */
	const char *message;
	const char *column;			/* or NULL */
	int			sqlstate;
} BadRow;

typedef struct BadRows BadRows;

/*
 * Allocates in the current context.  Temporary files belong to the current
 * resource owner, also in a subtransaction.
 */
extern BadRows *bad_rows_open(void);

extern void bad_rows_put(BadRows *bad, const BadRow *row);

/* Ends input; rows can then be read in the order of their places. */
extern void bad_rows_sort(BadRows *bad);

/* Reads the next row into the current context; false after the last. */
extern bool bad_rows_next(BadRows *bad, BadRow *row);

extern void bad_rows_close(BadRows *bad);

#endif							/* PGBULK_BAD_ROWS_H */
