/*
 * batch.h
 *		Takes the rows of a batch from text to the writer.
 *
 * This is the loop common to the leader and its workers: each row is converted,
 * filtered and passed to the writer; bad rows go to the sink.  When batch_run
 * returns, the writer has flushed, so that nothing points into the window any
 * more.
 *
 * Rows that turned out bad in an earlier attempt are skipped and rejected with
 * the error recorded then.
 *
 * A limited batch belongs to several processes that load in parallel: whatever
 * needs more (an error to raise, a broken quote to recover from, a
 * subtransaction where none is possible) it leaves alone, that row and all
 * following ones, and reports that by `yielded`.
 */
#ifndef PGBULK_BATCH_H
#define PGBULK_BATCH_H

#include "postgres.h"

#include "check/bad_rows.h"
#include "format/convert.h"
#include "format/raw.h"
#include "format/reader.h"
#include "option/options.h"
#include "portability/instr_time.h"
#include "reject/rejects.h"
#include "row/guard.h"
#include "table/target.h"
#include "write/writer.h"

/* Maximum number of bytes of a row examined for CONTEXT. */
#define BATCH_SHOWN_BYTES 400

/* Receives bad rows. */
typedef struct BatchSink
{
	void		(*reject) (void *arg, const Reject *reject);
	/* on_error = set_null: a value of a stored row was made NULL (rejects_set_null) */
	void		(*nulled) (void *arg, const Reject *value);
	/* a subtransaction was rolled back; may be NULL */
	void		(*caught) (void *arg);
	/* the batch's rows before the next one are done; may be NULL */
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
	bool		may_filter;		/* option transform or where is set */
	ConvertRow	convert_row;
	int64		load_id;
	bool		limited;
	int64		skip_left;
	int64		limit_left;		/* rows left until option limit; -1: no limit */
	BadRows	   *known_bad;		/* rows known to be bad from an earlier attempt, sorted; or NULL */
	BadRow		known_bad_next; /* the next of them; after the last, its place is after all rows */
	bool		known_bad_found;
	MemoryContext known_bad_context;	/* its texts */
	BadRows    *kept;			/* receives them again for the next attempt; set with known_bad */

	/* rows read so far */
	int64		rows_read;
	int64		rows_loaded;
	int64		rows_filtered;
	int64		rows_deleted;	/* that have deleted a row; never in a worker */

	/* for one file */
	Converter  *conv;			/* NULL: not open yet */

	/* for one batch */
	uint32		next;			/* next row to process; PG_UINT32_MAX: none */
	bool		yielded;		/* rows from next on are left to the leader */

	/* time of the last progress report */
	instr_time	reported;
	uint32		report_interval;	/* rows between looks at the clock, */
	uint32		unreported;		/* and rows since the last one */

	/* for one row */
	bool		counted;		/* included in rows_read; the row may come again */
	bool		in_put_rows;	/* writer->current_row is the row, those before it are taken */
	RowError	error;
	RowError   *err;			/* &error, or NULL to raise errors */
	StringInfoData shown;		/* it, if rejected, where its bytes are not what is shown */
	const Reject *context_row;	/* row shown by CONTEXT, if not one of the batch */
} Batch;

/*
 * Prepares for the target's current columns, in the current context, unless
 * there is a converter already.  Errors: as convert_open.
 */
extern void batch_open_columns(Batch *batch);

/* Prepares option where. */
extern void batch_open_where(Batch *batch);

/* Whether the file, or option extra, provides a column. */
extern bool batch_gives(const Batch *batch, AttrNumber attnum);

/* Processes the rows of the reader's batch, until its end, the limit or a yield. */
extern void batch_run(Batch *batch);

/* At the end of a file: all of its rows known to be bad must have been seen.  Error: 55000. */
extern void batch_end_file(Batch *batch);

/* Upper bound of rows that will be read; -1: unknown. */
extern int64 batch_rows_wanted(const Batch *batch);

/* Whether option limit has been reached, or the batch has yielded. */
extern bool batch_finished(const Batch *batch);

/* Error context callback: shows file, line, column, value. */
extern void batch_error_context(void *arg);

/* Shows the raw row of a reject, of so many bytes, as people read it, where the format says how. */
extern void batch_show_raw(Batch *batch, Size length, Reject *reject);

/*
 * Whether batch_show_row is to be called for an error that has ended batch_run,
 * and has to do with the current row.
 */
extern bool batch_shows_row(const Batch *batch, int sqlerrcode);

/*
 * Adds the row to the error's CONTEXT.  That is not for the callback to do where a
 * row is shown by output functions: it must not raise an error, and is called
 * for every message.  In the current memory context.
 */
extern void batch_show_row(Batch *batch, ErrorData *error);

/* The same for a row that the writer was storing and that is not in the window, if any. */
extern void batch_show_stored_row(Batch *batch, ErrorData *error, Raw *raw);

#endif							/* PGBULK_BATCH_H */
