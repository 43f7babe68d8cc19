/*
 * load_parts.h
 *		The state of a load, shared by load.c and its other files.
 */
#ifndef PGBULK_LOAD_PARTS_H
#define PGBULK_LOAD_PARTS_H

#include "postgres.h"

#include "check/check.h"
#include "diagnose/diagnosis.h"
#include "format/raw.h"
#include "format/reader.h"
#include "load/batch.h"
#include "load/header.h"
#include "load/history.h"
#include "load/result.h"
#include "load/stop_hint.h"
#include "reject/rejects.h"
#include "row/guard.h"
#include "server/progress.h"
#include "stream/query.h"
#include "table/target.h"
#include "write/writer.h"

typedef struct Load
{
	/* for the whole load */
	Oid			relid;
	List	   *paths;
	StoredRows *stored;
	Oid			schema;			/* of the sequence of numbers */
	int64		load_id;		/* as rows have it, also those of a dry run */
	const BulkOptions *options;
	LoadResult *result;
	LoadTimes	times;
	Target	   *target;
	Source	   *source;
	Reader	   *reader;
	RejectStream *rejects;
	Writer	   *writer;
	Checks	   *checks;
	Raw		   *raw;
	Guard		guard;
	Batch		batch;
	Progress	progress;
	instr_time	looked_ahead;	/* time of the last estimate of the later phases */
	Header		header;
	Diagnosis	diagnosis;
	StopHint	stop;
	History    *history;		/* or NULL */
	FileCounts *counts;			/* by number of the file, for the history; or NULL */
	int			files_unlike;	/* times that workers stopped at the end of a file */
	int			batches_alone;	/* batches to load before trying workers (again) */
	int			next_batches_alone; /* the next value of that */
	struct
	{
		int64		filtered;	/* rows found to be so after the writer had taken them */
		int64		deleted;
		int64		taken_back;	/* of the batch's rows_loaded, beside workers */
	}			late;
	struct
	{
		int			batches;	/* batches that were timed */
		double		bytes;		/* their bytes, */
		double		seconds;	/* and their seconds without workers, of what these can do */
		instr_time	since;
		double		storing;	/* as the writer had it then */
	}			pace;
	bool		query_looks;	/* a volatile function of the query may read the table */
	bool		may_be_slow;	/* writer auto is buffered, and no NOTICE has said so */
	ErrorContextCallback callback;
	Reject		refused;		/* a row that an index rejected, for CONTEXT */

	/* attempts, if rows may have to be removed without a trace */
	bool		may_repeat;
	bool		repeats;		/* the current one is to be rolled back */
	int			attempts;		/* completed ones */
	bool		query_taken;	/* its rows are stored, because it may have side effects */
	BadRows    *kept;			/* rows known to be bad, for the next attempt */
	int64		bytes_read;		/* by the first attempt */

	/* for one file */
	MemoryContext file_context;
	int64		first_line;		/* after the header */
	bool		alone;			/* no workers for the rest of the file */
	bool		may_share;		/* share_refusal allows workers */
	struct
	{
		int64		loaded;
		int64		filtered;
	}			rows_alone;		/* before the current workers started */
} Load;

/* Everything that changes the table. */
extern void load_rows(Load *load);

/* In a subtransaction: reopens the target and prepares it for the first row. */
extern void load_reopen_target(Load *load);

/* Estimated seconds for all phases after this many rows have been read. */
extern double load_later_seconds(const Load *load, double rows);

/* -- what is opened before its first row (load_open.c) -- */

/* Opens what survives a rollback of the stored rows: target and reject stream. */
extern void load_open(Load *load);

/* Opens the writer that options name, or the best one for `auto`. */
extern Writer *load_open_writer(Load *load);

/* Prepares the target and the source for reading. */
extern void load_prepare_input(Load *load);

/* Opens the query whose rows are loaded. */
extern QueryRows *load_open_query(const Load *load);

extern void load_open_rejects(Load *load);

/* Resets the batch to the state before the first row. */
extern void load_reset_batch(Load *load);

/* -- rows that the writer has taken before they are set aside (load_late.c) -- */

/* Where the writer rejects, replaces and counts them. */
extern LateDuplicates load_late(Load *load);

/* Runs work on indexes, whose errors are about rows that are known by their TIDs; arg: the Load. */
extern void load_by_place(void *arg, void (*work) (void *), void *work_arg);

/* -- bad rows that must leave no trace (load_attempts.c) -- */

/*
 * If bad rows cannot be deleted without a trace (checks_must_repeat), rolls the
 * load back and repeats it without them.
 */
extern void load_in_attempts(Load *load);

/* -- the rows of its files (load_files.c) -- */

/* The sink for bad rows; its argument is the Load. */
extern const BatchSink load_sink;

/* Reads all rows and passes them to the writer, with workers where possible. */
extern void load_files(Load *load);

/* The same for stored rows. */
extern void load_stored_rows(Load *load);

#endif							/* PGBULK_LOAD_PARTS_H */
