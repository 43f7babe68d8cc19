/*
 * load_parts.h
 *		What the files of one load share (load.h): its state.
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
#include "load/result.h"
#include "load/stop_hint.h"
#include "portability/instr_time.h"
#include "reject/rejects.h"
#include "row/guard.h"
#include "server/progress.h"
#include "table/target.h"
#include "write/writer.h"

typedef struct Load
{
	/* for the whole load */
	Oid			relid;
	List	   *paths;
	StoredRows *stored;
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
	instr_time	looked_ahead;	/* when it was guessed last what the later phases will take */
	Header		header;
	Diagnosis	diagnosis;
	StopHint	stop;
	int			files_unlike;	/* times that workers came home at the end of a file */
	int			batches_alone;	/* to load before workers are tried (again) */
	int			next_batches_alone; /* how many the next time */
	struct
	{
		int			batches;	/* that were timed */
		double		bytes;		/* of these, */
		double		seconds;	/* and what they took this process alone */
		instr_time	since;
	}			pace;
	bool		query_looks;	/* a volatile function of the query may, while rows are written */
	bool		may_be_slow;	/* the writer is buffered, unasked, and nobody has been told */
	ErrorContextCallback callback;
	Reject		refused;		/* a row that an index could not take, for CONTEXT */

	/* attempts, where rows may have to go again without a trace */
	bool		may_repeat;
	bool		repeats;		/* the one that has come to its end is to be undone */
	int			attempts;		/* that were */
	bool		query_taken;	/* before them all, as it may do more than give rows */
	BadRows    *kept;			/* rows that the next one passes over */
	int64		bytes_read;		/* by the first one */

	/* for one file */
	MemoryContext file_context;
	int64		first_line;		/* behind it */
	bool		alone;			/* without workers, from here to its end */
	bool		may_share;		/* share_refusal has nothing against workers */
	struct
	{
		int64		loaded;
		int64		filtered;
	}			rows_alone;		/* before the workers at work now */
} Load;

/* Seconds that all phases after the rows may take, if there will be so many rows; a guess. */
extern double load_later_seconds(const Load *load, double rows);

/* -- the rows of its files (load_files.c) -- */

/* What becomes of bad rows; its argument is the Load. */
extern const BatchSink load_sink;

/* All rows to the writer, by this process and by workers. */
extern void load_files(Load *load);

/* The same for rows that were stored. */
extern void load_stored_rows(Load *load);

#endif							/* PGBULK_LOAD_PARTS_H */
