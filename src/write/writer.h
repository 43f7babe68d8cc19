/*
 * writer.h
 *		Rows to tables: the interface of writers.
 *
 * A writer is a const struct of callbacks.  The load fills writer->slot with a
 * row with the target's columns and calls put; the writer routes it, fires
 * triggers, computes generated columns, checks constraints and takes the row.
 * Rows may be kept in batches until flush, which the load calls before it
 * leaves a window: row numbers given to put are valid until then.
 */
#ifndef PGBULK_WRITER_H
#define PGBULK_WRITER_H

#include "postgres.h"

#include "access/htup_details.h"
#include "check/check.h"
#include "executor/executor.h"
#include "format/form.h"
#include "index/plan.h"
#include "option/options.h"
#include "row/constraints.h"
#include "row/guard.h"
#include "row/row_error.h"
#include "table/target.h"
#include "write/pages.h"

typedef struct Writer Writer;
typedef struct NodesWriter NodesWriter;

/* Receives duplicates, and other bad rows, that are found after put has taken their rows. */
typedef struct LateDuplicates
{
	/* How many may only be counted; then one must be rejected. */
	int64		(*unseen) (void *arg);
	/* raw: its bytes, or NULL. */
	void		(*reject) (void *arg, const JournalPlace *place, const char *raw,
						   const RowError *error);
	/* A row of which only the place is at hand, or one that was replaced. */
	void		(*reject_bad) (void *arg, const BadRow *row);
	/* A stored row of which a value was made NULL. */
	void		(*set_null) (void *arg, const BadRow *row);
	/* How many more of a reason may be rejected before a limit ends the load. */
	int64		(*room) (void *arg, RejectReason reason);
	/* reason: whether they are duplicates, or have replaced rows of the table. */
	void		(*count) (void *arg, int file, RejectReason reason, int64 rows);
	/* They were not loaded: they have deleted others, or there were none to delete. */
	void		(*count_other) (void *arg, int file, bool deleted, int64 rows);
	void	   *arg;
} LateDuplicates;

/* Rows that a writer forms at a time. */
#define WRITER_ROWS 128

typedef enum WriterVerdict
{
	WRITER_TAKEN,
	WRITER_FILTERED,			/* a trigger has suppressed the row */
	WRITER_DELETED,				/* it has deleted another one */
	WRITER_DUPLICATE,			/* set aside; writer->duplicate says why */
	WRITER_LEFT,				/* beside other processes: only without them */
	WRITER_BAD					/* err says why */
} WriterVerdict;

/*
 * Takes rows to another process, as messages: place returns where the next one
 * goes, MAXALIGNed, and waits until there is space; send passes it on.
 */
typedef struct RowChannel
{
	char	   *(*place) (void *arg, Size size);
	void		(*send) (void *arg);
	void	   *arg;
} RowChannel;

/* Bytes of a message at most. */
#define ROW_CHANNEL_MAX (1024 * 1024)

typedef struct WriterRoutine
{
	const char *name;			/* as the result row shows it */

	/* Takes the row in writer->slot; number is its index in the batch. */
	WriterVerdict (*put) (Writer *writer, uint32 number, RowError *err);

	/*
	 * Takes rows [first, first + n) past the slot, formed straight from their
	 * fields.  Only with writer->former, or takes_fields.  Returns how many it took: the next
	 * one, if there is one, must be taken by put.
	 */
	uint32		(*put_rows) (Writer *writer, const char *data,
							 const ScanRow *rows, const ScanField *fields,
							 uint32 first, uint32 n);

	/*
	 * The columns of a file are known: whether put_rows may be called although
	 * there is no former.  NULL: it may not.
	 */
	bool		(*open_columns) (Writer *writer, Converter *conv);

	/* Afterwards all rows taken so far are in their tables, or do not need the window. */
	void		(*flush) (Writer *writer);

	/* No more rows will come: all are in their tables afterwards. */
	void		(*finish) (Writer *writer);

	/*
	 * For the server's statistics, called repeatedly: this load has inserted so
	 * many rows into the table, whichever process has done it.  NULL: the
	 * writer counts by itself.
	 */
	void		(*count) (Writer *writer, int64 nrows);

	/* Fires triggers at the end of the statement, and releases everything. */
	void		(*close) (Writer *writer);

	/*
	 * For processes that write in parallel (parallel.h); NULL: not supported.
	 *
	 * In the leader, before parallel mode: the size of the shared memory for
	 * workers.  Then share fills it, for direct_join; and when every process is
	 * done, gather takes over what they have stored.  Where only the leader can
	 * store rows (take_over), it is for handover_join, which needs none, or nodes_join.
	 */
	Size		(*prepare_share) (Writer *writer);
	void		(*share) (Writer *writer, void *shared);
	void		(*gather) (Writer *writer);

	/*
	 * The same for what they leave in the shared memory with the last of their pages: once the
	 * workers have ended.  NULL: that is nothing.
	 */
	void		(*gather_pages) (Writer *writer);

	/* Why there cannot be workers, or REFUSAL_NONE. */
	RefusalReason (*share_refusal) (Writer *writer);

	/*
	 * Between the two, the writer keeps its rows in memory; when that is full
	 * it calls await_turn(arg), which waits for the process's turn and returns
	 * whether the rows still count.  No row may be kept when they are called.
	 */
	void		(*begin_parallel) (Writer *writer, int processes,
								   bool (*await_turn) (void *arg), void *arg);
	void		(*end_parallel) (Writer *writer);

	/*
	 * In the process's turn: the rows get their TIDs.  False: they were so few
	 * that larger chunks would cost less.
	 */
	bool		(*reserve) (Writer *writer);

	/* A worker in its turn: rows for take_over.  NULL: it writes them itself. */
	void		(*hand_over) (Writer *writer, const RowChannel *channel);

	/*
	 * The leader, outside the guard: stores rows that a worker has handed over,
	 * after all before them.  They may be changed where they are, and need not
	 * stay.  NULL: workers write rows themselves.
	 */
	void		(*take_over) (Writer *writer, char *message);

	/* Whether something is to be done that the leader can do only when it is alone; or NULL. */
	bool		(*wants_alone) (Writer *writer);

	/* How many rows come before that, if they are like those so far; 0: not known.  Or NULL. */
	double		(*rows_until_alone) (Writer *writer);

	/*
	 * Whether those that it sends rows to take them as fast as they come, as far as is known by
	 * now, so that workers make the load faster.  NULL: it sends to nobody.
	 */
	bool		(*others_keep_up) (const Writer *writer);

	/* Afterwards, or still in the process's turn: writes them there. */
	void		(*write) (Writer *writer);

	/* Whether write must be called in the process's turn, too. */
	bool		(*writes_in_turn) (Writer *writer);

	/* Instead: discards the rows. */
	void		(*discard) (Writer *writer);
} WriterRoutine;

struct Writer
{
	const WriterRoutine *routine;
	EState	   *estate;
	TupleTableSlot *slot;		/* virtual, with the target's columns */
	bool		plain;			/* rows only have to be stored */
	bool		fires_after;	/* AFTER ROW triggers wait for close */
	bool		one_by_one;		/* no batches: an expression may look at the table */
	const HeapTupleHeaderData *model;	/* for form_open */
	Constraints *constraints;	/* the same; NULL: none */
	RowFormer  *former;			/* for put_rows; NULL: it has none */
	bool		takes_fields;	/* put_rows may be called without */
	NodesWriter *nodes;			/* private to cluster/; NULL: all rows are here */
	RowError	duplicate;		/* of the row put last */
	/*
	 * Not NULL: the row to be put is not stored, as a later one displaces it by
	 * this key; conflicting rows are deleted all the same, and duplicate is
	 * unchanged.
	 */
	const BadRow *clears;
	/*
	 * Runs work(work_arg), so that an error about a row of which only the TID
	 * is known (failed_row.h) is reported with its line.  NULL: no line is
	 * known.
	 */
	void		(*by_place) (void *arg, void (*work) (void *), void *work_arg);
	void	   *by_place_arg;
	int64		input_bytes;	/* of all files; 0: not known */
	int			workers;		/* that have made index entries, at most */
	double		storing;		/* seconds that storing rows took, which only this process can do */
	LateDuplicates late;
	int64		merged;			/* rows that were merged by the batch */
	int64		unstored;		/* rows taken that are in no table, for the checks to reject */
	/*
	 * Not NULL while rows are processed that may not be in the window: finds
	 * the place of the row at tid, or of the current row (tid NULL).
	 */
	bool		(*find_place) (void *arg, const ItemPointerData *tid, JournalPlace *place);
	void	   *find_place_arg;
	List	   *tables;			/* IndexTable: leaves whose rows lack index entries */
	BrinPass   *pass;			/* of all pages of the target; NULL: nobody needs it */
	IndexTable *target;			/* whose plans are to tell how the writer made entries; or NULL */
	int64		current_row;	/* number of the current row, -1: none (for CONTEXT) */
};

/* The place of the current row in the input. */
static inline void
writer_locate(const Writer *writer, const Journal *journal, JournalPlace *place)
{
	if (writer->find_place == NULL ||
		!writer->find_place(writer->find_place_arg, NULL, place))
		journal_locate(journal, writer->current_row, place);
}

/*
 * Every writer leaves to checks (check.h) what can be checked when all rows are
 * in their tables, and records there what it has stored.
 *
 * The writer for ordinary use: COPY's own way, table_multi_insert with a
 * bulk-insert state, for every kind of table.  Fires BEFORE STATEMENT
 * triggers.  others_look: the input's own functions, or the reject table's triggers, may read the
 * table; what it finds by an index is then what it finds without, as for those of the table itself.
 */
extern Writer *buffered_open(Target *target, const BulkOptions *options,
							 Guard *guard, Checks *checks, bool others_look);

/*
 * The writer for plain heap tables, and partitioned ones whose leaves are such,
 * under a lock that keeps other writers out: whole pages at the end of the
 * table.  Only where direct_refusal and direct_partition_refusal return
 * REFUSAL_NONE.
 */
extern Writer *direct_open(Target *target, const BulkOptions *options,
						   Guard *guard, Checks *checks);

/*
 * The same in a parallel worker, which shares the leader's transaction; shared
 * is what share has filled.  No statement triggers are fired.
 */
extern Writer *direct_join(Target *target, void *shared, Guard *guard,
						   Checks *checks);

/*
 * Why the direct writer cannot serve a table, or REFUSAL_NONE.
 * Partitions are not checked: they are not locked yet.
 */
extern Refusal direct_refusal(Relation rel, const BulkOptions *options);

/* The same for the partitions, which must all be locked. */
extern Refusal direct_partition_refusal(Relation rel, const BulkOptions *options);

#endif							/* PGBULK_WRITER_H */
