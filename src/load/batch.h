/*
 * batch.h
 *		The rows of a batch, from text to the writer.
 *
 * The loop that the backend and its workers have in common: each row is
 * converted, filtered and given to the writer; what is bad goes to the sink.
 * When batch_run returns the writer has flushed, so that whatever points into
 * the window is done with.
 *
 * Rows that have turned out bad in an earlier attempt to load them are passed over and rejected as they were then.
 *
 * A limited batch belongs to several processes that load side by side: what
 * is more than ordinary (an error to raise, a broken quote to look behind, a
 * subtransaction where there can be none) it leaves alone, row and all that
 * follow, and says so by `yielded`.
 */
#ifndef PGBULK_BATCH_H
#define PGBULK_BATCH_H

#include "postgres.h"

#include "check/bad_rows.h"
#include "format/convert.h"
#include "format/reader.h"
#include "option/options.h"
#include "portability/instr_time.h"
#include "reject/rejects.h"
#include "row/guard.h"
#include "table/target.h"
#include "write/writer.h"

/* More of a row is not looked at for CONTEXT. */
#define BATCH_SHOWN_BYTES 400

/* What becomes of bad rows. */
typedef struct BatchSink
{
	void		(*reject) (void *arg, const Reject *reject);
	/* on_error = set_null: this value of a row that got in was made NULL */
	void		(*nulled) (void *arg, const char *column, const char *value,
						   const char *file, int64 line);
	/* a subtransaction was rolled back; may be NULL */
	void		(*caught) (void *arg);
	/* some rows of the batch are done, up to the next one; NULL: nobody wants to know */
	void		(*working) (void *arg);
} BatchSink;

typedef struct Batch
{
	/* for the whole load */
	const BulkOptions *options;
	Target	   *target;
	Reader	   *reader;
	Writer	   *writer;
	Guard	   *guard;
	const BatchSink *sink;
	void	   *sink_arg;
	ExprState  *where;
	bool		where_volatile;
	bool		may_filter;		/* by options transform or where */
	ConvertRow	convert_row;
	bool		limited;
	int64		skip_left;
	int64		limit_left;		/* of what option limit counts; -1: no limit */
	BadRows	   *known_bad;		/* rows to pass over, sorted; or NULL */
	BadRow		known_bad_next; /* the next of them; its place is behind all rows after the last */
	bool		known_bad_found;
	MemoryContext known_bad_context;	/* its texts */
	BadRows    *kept;			/* takes them once more; with aside */

	/* counted so far */
	int64		rows_read;
	int64		rows_loaded;
	int64		rows_filtered;

	/* for one file */
	Converter  *conv;

	/* for one batch */
	uint32		next;			/* row to deal with next; PG_UINT32_MAX: none */
	bool		yielded;		/* the rest, from next on, is for someone else */

	/* what is told of it while it goes on */
	instr_time	reported;
	uint32		report_interval;	/* rows to leave untold, */
	uint32		unreported;		/* and those that were */

	/* for one row */
	bool		counted;		/* in rows_read; it may come again */
	RowError	error;
	RowError   *err;			/* &error, or NULL to have errors raised */
	const Reject *context_row;	/* what CONTEXT is about, if not a row of the batch */
} Batch;

/*
 * Prepares for the columns of the target as they are now.  Memory: the current
 * context.  Errors as convert_open.
 */
extern void batch_open_columns(Batch *batch);

/* Prepares option where. */
extern void batch_open_where(Batch *batch);

/* Whether the file has a column. */
extern bool batch_gives(const Batch *batch, AttrNumber attnum);

/* The rows of the reader's batch, until the end, the limit or a yield. */
extern void batch_run(Batch *batch);

/*
 * When a file has ended: all rows of it that were to be passed over must have come.
 * Error: 55000.
 */
extern void batch_end_file(Batch *batch);

/* How many rows will be read at most; -1: nobody knows. */
extern int64 batch_rows_wanted(const Batch *batch);

/* Option limit is reached, or the batch has yielded. */
extern bool batch_finished(const Batch *batch);

/* An error context callback: file, line, column, value. */
extern void batch_error_context(void *arg);

#endif							/* PGBULK_BATCH_H */
