/*
 * arbiter_batch_state.h
 *		Rows that wait, and what is known of their keys.  Private to arbiter_batch*.c.
 */
#ifndef PGBULK_ARBITER_BATCH_STATE_H
#define PGBULK_ARBITER_BATCH_STATE_H

#include "postgres.h"

#include "catalog/index.h"
#include "executor/executor.h"
#include "index/candidates.h"
#include "index/entries.h"
#include "index/keysort.h"
#include "index/lookup.h"
#include "index/presort.h"
#include "server/fetch_ahead.h"
#include "utils/datum.h"
#include "write/fates.h"
#include "write/leaf_state.h"

/* Rows between two checks for interrupts. */
#define ROWS_AT_ONCE 1024

/* No entry is at a row of this number. */
#define NO_ENTRY PG_UINT64_MAX

#define NO_ROW PG_UINT32_MAX

typedef struct BatchMerge BatchMerge;

/* What rows with one key have come to be (arbiter_batch_merge.c). */
typedef struct MergedKey
{
	HeapTuple	old;			/* the row of the table that had it, as it was found; or NULL */
	RowId		entry;			/* the entry of that row */
	HeapTuple	row;			/* what has it now: that row or another one; or NULL */
	bool		owned;			/* that one is to be freed */
	bool		deletes;		/* some row has deleted what had it before */
	bool		locks;			/* some row was to delete that */
	bool		lost;			/* others were faster to enter it */
	bool		is_stored;		/* row is to be stored, or to get entries */
	uint32		last;			/* the latest row of the batch that has changed it */
	HeapTuple	given;			/* what that one was, while its tuple is row; or NULL */
	InserterKey own;			/* its key, where that has other bytes than the key of that one */
} MergedKey;

typedef struct WaitingRow
{
	HeapTuple	tuple;
	JournalPlace place;
	const char *raw;			/* its bytes, if they may have to be shown, or NULL */
	uint32		first;			/* the first row with its key */
	uint32		because;		/* the earlier row for which it is set aside, or NO_ROW */
	uint16		judge;			/* the index by which it is a duplicate */
	Fate		fate;

	/* of the first row with a key */
	uint32		last;			/* the last one */
	Fate		keys;			/* what becomes of its rows */
	uint32		nentries;		/* entries with it whose rows have not gone */
	RowId		gone;			/* the entry of a row that was there and went, or NO_ENTRY */
	RowId		dead;			/* that of one that is dead to everyone, the last, or NO_ENTRY */
	ItemPointerData replaced;	/* that row if it is none of the load, or invalid */
	bool		sorted;			/* it has a key that was looked up */
	LookupPlace found;			/* where */
} WaitingRow;

/*
 * Entries of dead rows (arbiter_batch_dead.h): the block of the leaf and the number of the waiting
 * row together, and the entry's row.
 */
typedef struct DeadEntries
{
	SortItem   *list;
	uint32		n;
	Size		capacity;
} DeadEntries;

/* The same of a row that is merged. */
typedef struct MergingRow
{
	MergedKey  *key;			/* of the first row with a key; NULL: nobody has asked yet */
	RowError   *error;			/* with WRITER_BAD */
	WriterVerdict verdict;
	bool		deletes;		/* it is to delete the row that has its key */
	bool		updates;		/* it has changed that row */
} MergingRow;

/* An index that judges. */
typedef struct JudgingIndex
{
	Relation	index;
	IndexInfo  *info;
	KeyShape   *shape;
	Lookup	   *lookup;
} JudgingIndex;

struct ArbiterBatch
{
	LeafContext *context;
	Leaf	   *leaf;
	int			njudges;
	JudgingIndex *judges;

	/* the only one, or the one that is looked at */
	Relation	index;
	IndexInfo  *info;
	KeyShape   *shape;
	Lookup	   *lookup;
	Size		budget;			/* of maintenance_work_mem */
	bool		replaces;		/* keep_new, or merging */
	BatchMerge *merge;			/* rows are merged; or NULL */
	bool		shows;			/* each duplicate, with its bytes */
	bool		notes;			/* each of what was replaced, or displaced */
	Bitmapset  *indexed;		/* columns that indexes know, offset as in the server */
	int			nnoted;
	TupleTableSlot *slot;		/* a row that waits */
	TupleTableSlot *standing;	/* a row that may be in its way */
	StringInfoData keys[2];		/* theirs, when they are compared */

	/* the rows that wait */
	MemoryContext waiting;
	Arena		arena;
	WaitingRow *rows;
	ItemPointerData *tids;		/* of those that are stored */
	MergingRow *merging;		/* where rows are merged; or NULL */
	uint32		nrows;
	uint32		fitting;		/* how many did fit in memory; 0: all have so far */
	uint32		capacity;
	Size		bytes;
	double		all_rows;		/* that have ever waited */
	double		all_bytes;

	uint32		first;			/* with the key that is looked up, or inserted; or NO_ROW */
	Presort    *presort;		/* their keys, until new rows have their entries */

	/* those that are looked at together */
	MemoryContext scratch;
	Candidates	candidates;
	DeadEntries dead;
	RowId	   *lost;			/* rows that were stored, but others have their keys */
	uint32		nlost;
	uint32		lost_capacity;
};

/* Has a row fetched that will be looked at soon. */
static inline void
batch_fetch_row(const ArbiterBatch *batch, uint32 number)
{
	const char *row = (const char *) &batch->rows[number];

	fetch_ahead(row);
	fetch_ahead(row + FETCHED_BYTES);
	fetch_ahead(row + sizeof(WaitingRow) - 1);
}

/* Shows a row in the slot, and to expressions. */
static inline void
batch_show_row(ArbiterBatch *batch, uint32 number)
{
	EState	   *estate = batch->context->writer->estate;

	ResetPerTupleExprContext(estate);
	ExecStoreHeapTuple(batch->rows[number].tuple, batch->slot, false);
	batch->slot->tts_tableOid = RelationGetRelid(batch->leaf->rri->ri_RelationDesc);
	GetPerTupleExprContext(estate)->ecxt_scantuple = batch->slot;
	batch->context->writer->current_row = number;
}

/* Whether two values of a column are both NULL, or have the same bytes. */
static inline bool
batch_same_value(Form_pg_attribute attribute, const Datum *values, const bool *isnull)
{
	if (isnull[0] || isnull[1])
		return isnull[0] == isnull[1];
	return datumIsEqual(values[0], values[1], attribute->attbyval, attribute->attlen);
}

/* The key of the row in a slot; false: the index has none of it, or it is equal to no other. */
static inline bool
batch_form_key(ArbiterBatch *batch, TupleTableSlot *slot, Datum *values, bool *isnull)
{
	EState	   *estate = batch->context->writer->estate;
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	bool		judged;

	GetPerTupleExprContext(estate)->ecxt_scantuple = slot;
	judged = entries_has_row(batch->info, estate);
	if (judged)
	{
		FormIndexDatum(batch->info, slot, estate, values, isnull);
		for (int i = 0; i < batch->shape->nkeys; i++)
			judged &= !isnull[i] || batch->info->ii_NullsNotDistinct;
	}
	MemoryContextSwitchTo(old);
	return judged;
}

#endif							/* PGBULK_ARBITER_BATCH_STATE_H */
