/*
 * query.h
 *		The rows of a query, as bytes of COPY's text format.
 *
 * So they take the road of all other rows: each is a line, can be rejected as
 * one, and is converted by the input functions of the columns.  The query runs as rows are
 * wanted, with the snapshot of when it was opened.  Under option limit it runs no further.
 */
#ifndef PGBULK_QUERY_H
#define PGBULK_QUERY_H

#include "postgres.h"

#include "access/attnum.h"
#include "access/tupdesc.h"
#include "stream/stream.h"

typedef struct QueryRows QueryRows;

/*
 * Opens a query for n columns of a table: attnums, of which 0 is none, in desc.
 * Values of other types than theirs are cast.  Of its rows so many are wanted, -1 for
 * all; exactly: certainly no more.  Must come before anything that
 * the query is not to see; the rooms in between may use SPI.  Memory: the
 * current context.
 *
 * Errors: 42601 where it is not one query, or has another number of columns;
 * 42P11 where it is no SELECT, or changes anything; those of the query.
 */
extern QueryRows *query_open(const char *query, TupleDesc desc,
							 const AttrNumber *attnums, int n, int64 wanted, bool exactly);

/* Whether its functions may look at the table that is loaded, or write to it. */
extern bool query_is_volatile(const QueryRows *rows);

/*
 * The rows as a stream, with which they are closed.  It pauses where option limit
 * may be content with what has been read.  Errors: those of the query.
 */
extern Stream *query_stream(QueryRows *rows);

extern void query_close(QueryRows *rows);

#endif							/* PGBULK_QUERY_H */
