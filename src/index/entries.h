/*
 * entries.h
 *		Index entries of rows that others may not see yet: collected, sorted, inserted.
 *
 * Rows are in their table already, and their keys wait here until there are
 * many: then each index gets them in its own order, a leaf at a time
 * (inserter.h, batch.h).  That is for btrees that check for duplicates at once
 * or not at all, and where batch.h has a routine; others get their entries from the executor.
 *
 * Duplicates are errors as ever.  Rows whose keys may be there already are
 * asked of the server when the others have their entries, in the order of the
 * table: so the first one of a batch is told, and whoever has the key in a
 * transaction that is running is waited for.
 *
 * Assumption: nobody needs an entry of a row before entries_flush: the command
 * that stores the rows cannot see them, triggers after rows fire later, and
 * whoever has inserted an equal key meanwhile is found then.
 */
#ifndef PGBULK_ENTRIES_H
#define PGBULK_ENTRIES_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "index/inserter.h"
#include "index/plan.h"
#include "nodes/execnodes.h"

typedef struct Entries Entries;

/* Whether entries of an index may wait. */
extern bool entries_serves(Relation index);

/*
 * For an open relation with open indexes.  budget: bytes for all that waits.
 * workers: how many processes may help
 * (parallel_entries.h); then rows wait, not their keys.  NULL: it has no index
 * of this kind.  Memory: the current context.
 */
extern Entries *entries_open(ResultRelInfo *rri, Size budget, int workers);

/*
 * From here on a row whose key in this unique index may be there already is no error:
 * entries_flush calls lost for each, maybe more than once where there are several such
 * indexes, which all have the same trial.  The row may have entries in this index and
 * others; it is for the caller to delete it.  An entry does not count whose row
 * is gone, which is asked with a leaf locked (inserter.h); NULL: none is.
 */
typedef struct EntriesTrial
{
	void		(*lost) (void *arg, RowId row);
	InserterKnows knows;
	/* Whether the key of the row that is put now comes by entries_sorted: not with several. */
	bool		(*is_sorted) (void *arg);
	/*
	 * Whether the row whose key is inserted is no trial, as it is the new version of the one that
	 * has the key: then the server judges.  NULL: all are.  A leaf may be locked.
	 */
	bool		(*stays) (void *arg);
	void	   *arg;
} EntriesTrial;
extern void entries_try(Entries *entries, Relation index, const EntriesTrial *trial);

/* In this index a new version of a row always has the key of the one that it replaces. */
extern void entries_keep_key(Entries *entries, Relation index);

/* For the next entries_flush: an entry that is put is of a new version of a row. */
extern void entries_note_version(Entries *entries);

/*
 * For the next entries_flush: these keys of that index are sorted already (inserter_take_again).
 */
extern void entries_sorted(Entries *entries, Presort *presort, const InserterRows *rows);

/* Whether a partial index has the row that the state's context for a row shows. */
extern bool entries_has_row(IndexInfo *info, EState *estate);

/* The same relation with the other indexes only, for the executor; NULL: there are none. */
extern ResultRelInfo *entries_others(const Entries *entries);

/*
 * Takes a row's keys.  What expressions of indexes need is evaluated in the
 * state's context for a row, which the caller resets.  Errors: those of the
 * expressions, 54000 for a key that is too large for a tuple.
 */
extern void entries_put(Entries *entries, TupleTableSlot *slot, EState *estate);

/* Bytes that the keys take that wait. */
extern Size entries_memory(const Entries *entries);

/* Whether that is the budget or more. */
extern bool entries_full(const Entries *entries);

/* Sets in the plans of its indexes how they have got their entries so far. */
extern void entries_tell(const Entries *entries, IndexTable *table);

/* How many workers have helped, at most. */
extern int	entries_workers(const Entries *entries);

/* Inserts what waits.  Errors: those of INSERT, about a row (failed_row.h). */
extern void entries_flush(Entries *entries);

/*
 * Inserts as much that half of the memory is free: what waits for one index, where that
 * takes so much and has no duplicates to be found, or all.  Errors: as entries_flush.
 */
extern void entries_make_room(Entries *entries);

extern void entries_close(Entries *entries);

#endif							/* PGBULK_ENTRIES_H */
