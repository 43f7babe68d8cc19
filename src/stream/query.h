/*
 * query.h
 *		The rows of a query, as a stream of bytes.
 *
 * So they go the way of all other rows: through the window, in batches, and to
 * a copy where they may have to be read again.  A row is laid out as in COPY's
 * binary format (scan_binary), but a field is the value itself as the server
 * has it in memory, in this machine's byte order and without a varlena's
 * header, or its text where an input function has to judge it.  The row as a
 * line of text is made for those alone that are shown.
 *
 * The query runs as rows are wanted, with the snapshot of when it was opened.
 * Under option limit it runs no further.
 */
#ifndef PGBULK_QUERY_H
#define PGBULK_QUERY_H

#include "postgres.h"

#include "access/attnum.h"
#include "access/tupdesc.h"
#include "lib/stringinfo.h"
#include "stream/stream.h"

typedef struct QueryRows QueryRows;

/* What the fields of its rows are; it lives as long as the context of query_open. */
typedef struct QueryFields QueryFields;

/*
 * Opens a query for n columns of a table: attnums, of which 0 is none, in desc.
 * Values of other types than theirs are cast.  Of its rows so many are wanted, -1 for
 * all; exactly: certainly no more.  Must come before anything that
 * the query is not to see; the code in between may use SPI.  Memory: the
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

/* Of an open query. */
extern QueryFields *query_fields(const QueryRows *rows);

/* Whether field i is sent as its text, for an input function; else it is a value of its column. */
extern bool query_field_is_text(const QueryFields *fields, int i);

/*
 * Appends a row, which was sent as these bytes, as text format has it, without
 * a line end.  Errors: those of output functions.
 */
extern void query_show_row(QueryFields *fields, const char *bytes, Size length,
						   StringInfo text);

extern void query_close(QueryRows *rows);

#endif							/* PGBULK_QUERY_H */
