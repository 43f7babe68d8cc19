/*
 * sent_rows.h
 *		Where in the input the rows of a COPY are from, one after the other.
 *
 * A server counts the rows of its COPY, and that is how it names one in an error.
 */
#ifndef PGBULK_SENT_ROWS_H
#define PGBULK_SENT_ROWS_H

#include "postgres.h"

#include "cluster/row_buffer.h"

typedef struct SentRows
{
	RowPlaces	places;			/* of the current row, after sent_rows_next */

	/* private to sent_rows.c */
	MemoryContext context;
	BufFile    *file;			/* NULL: at its end */
	RowBuffer  *read;			/* from it; NULL: none */
	const dlist_head *list;
	const dlist_head *queue;
	const dlist_node *next;
	const char *statement;
	int			of_file;
} SentRows;

/*
 * Rows of a COPY: spilled (NULL: none) has buffers that were written to a file, copied those after
 * them, whose data were sent, too, and queue (NULL: not wanted) those that wait, the first of which
 * may be sent in part, with rows of other COPYs; statement and of_file are those of
 * row_buffer_is_of.  Memory: the context.
 */
extern void sent_rows_begin(SentRows *sent, MemoryContext context, BufFile *spilled,
							const dlist_head *copied, const dlist_head *queue,
							const char *statement, int of_file);

/* False: there are no more. */
extern bool sent_rows_next(SentRows *sent);

extern void sent_rows_end(SentRows *sent);

#endif							/* PGBULK_SENT_ROWS_H */
