/*
 * candidates.h
 *		Rows that wait until their keys are looked up, as numbers; and index entries that were
 *		found for them, about whose own rows the table is to be asked.
 */
#ifndef PGBULK_CANDIDATES_H
#define PGBULK_CANDIDATES_H

#include "postgres.h"

#include "index/row_id.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/* An entry with the key of rows that wait; whether its own row stands is to be asked. */
typedef struct Candidate
{
	RowId		standing;
	uint32		number;			/* of the first that waits */
} Candidate;

/* Initialize with zeroes. */
typedef struct Candidates
{
	Candidate  *list;
	uint32		n;
	uint32		capacity;
	uint32		ahead;			/* pages of those before are read ahead */
	uint32		reads;			/* of them had to be read lately, about */
	uint32		tries;			/* where none had */
} Candidates;

/* Keys are sorted with TIDs: those of a row that has none tell its number. */
#define CANDIDATES_ROWS_OF_BLOCK 64

static inline void
candidates_number_tid(uint32 number, ItemPointer tid)
{
	ItemPointerSet(tid, number / CANDIDATES_ROWS_OF_BLOCK, number % CANDIDATES_ROWS_OF_BLOCK + 1);
}

static inline uint32
candidates_row_number(RowId row)
{
	ItemPointerData tid;

	row_tid(row, &tid);
	return ItemPointerGetBlockNumberNoCheck(&tid) * CANDIDATES_ROWS_OF_BLOCK +
		ItemPointerGetOffsetNumberNoCheck(&tid) - 1;
}

/* Adds the entry with that TID.  Memory: context, which the caller resets. */
extern void candidates_add(Candidates *candidates, MemoryContext context,
						   const ItemPointerData *tid, uint32 number);

/* Sorts them in the order of the heap. */
extern void candidates_sort(Candidates *candidates);

/* Before the i-th is fetched, in that order: has the pages of the next ones read ahead. */
extern void candidates_read_ahead(Candidates *candidates, Relation heap, uint32 i);

/* Who asks for rows that stand. */
typedef struct CandidatesAsker
{
	/* Whether one that stands is known for a row that waits, so that others need not be fetched. */
	bool		(*is_answered) (void *arg, uint32 number);
	/* One stands; it has the TID of its entry. */
	void		(*stands) (void *arg, uint32 number, RowId standing);
	void	   *arg;
} CandidatesAsker;

/* Asks the table, in its order, which of their rows a snapshot sees; none is left then. */
extern void candidates_ask(Candidates *candidates, Relation heap, Snapshot snapshot,
						   const CandidatesAsker *asker);

#endif							/* PGBULK_CANDIDATES_H */
