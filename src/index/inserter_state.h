/*
 * inserter_state.h
 *		An inserter, its current key, and the leaf that this belongs on.  Private to
 *		inserter*.c.
 */
#ifndef PGBULK_INSERTER_STATE_H
#define PGBULK_INSERTER_STATE_H

#include "postgres.h"

#include "access/nbtree.h"
#include "index/inserter_type.h"
#include "index/key_shape.h"
#include "index/leaf_guess.h"
#include "index/lookup.h"
#include "nodes/execnodes.h"
#include "server/progress.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/* Items that a page can take. */
#define MAX_STAGED MaxIndexTuplesPerPage

/*
 * A posting list item, as a build makes it (nbtsort.c); many of the full size
 * would waste space at splits.
 */
#define MAX_POSTING_SIZE (MAXALIGN_DOWN(BLCKSZ / 10) - sizeof(ItemIdData))
#define MAX_POSTING_ROWS (MAX_POSTING_SIZE / sizeof(ItemPointerData))

/* After so many rows a leaf is released to say how far this is. */
#define TOLD_ROWS 4096

/*
 * So many full leaves in a row are looked through for dead versions in vain, from then on one of so
 * many.
 */
#define MAX_LOOKS 64
#define LOOK_AT_ONE_OF 32

struct Inserter
{
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	KeyShape   *shape;
	InserterDoubt doubt;
	void	   *arg;
	MemoryContext scratch;		/* what the server's insertion leaves behind */
	BTScanInsert key;			/* of the current key */
	bool		bytewise;		/* equal keys have equal images */
	bool		shares;			/* rows of a key may share an item */
	bool		is_trial;		/* a key that is there is a doubt, not an error */
	bool		versions;		/* of rows that were there, with their keys, may come */
	InserterKnows knows;		/* NULL: nothing */
	void	   *knows_arg;
	InserterDead dead;			/* NULL: nobody knows */
	void	   *dead_arg;
	uint32		untold;			/* rows that progress does not know of */
	bool		guesses;		/* its keys can be guessed */
	Luck		guess;			/* of guesses that were right */
	Luck		same;			/* of bytes that were found */
	int			looks;			/* at full leaves for dead versions, before these are fewer */
	uint32		passed;			/* such leaves, since then */

	/* the current key */
	const char *image;
	Size		size;
	IndexTuple	tuple;
	bool		judged;			/* no two rows may have it */
	bool		taken;			/* a row with it has come */
	bool		replaces;		/* rows that had it have gone */
	bool		tidied;			/* its leaf has no entries to be removed, or made one */
	const LookupPlace *place;	/* where it was looked for, or NULL */

	/* the leaf; search.buf: locked, or InvalidBuffer */
	BTInsertStateData search;
	BlockNumber block;			/* of the latest leaf, or InvalidBlockNumber */
	XLogRecPtr	lsn;			/* of it, when it was locked */
	bool		swept;			/* of what was known to be dead then */
	BlockNumber right;			/* its right sibling */
	BlockNumber known;			/* the latest leaf where a key was looked for */
	bool		steps;			/* keys have gone on to the right sibling lately */
	Size		room;			/* left on the page */
	int			gap;			/* between keys lately, in items of a leaf, times GAP_UNIT */

	/* its new items */
	int			nstaged;
	OffsetNumber offsets[MAX_STAGED];	/* before which old item each goes */
	IndexTuple	items[MAX_STAGED];
	Size		staged_size;
	PGAlignedBlock staged;

	ItemPointerData tids[MAX_POSTING_ROWS];
};

/*
 * Whether the leaf was as it had been at an LSN when it was locked.  Then entries that were there
 * still are: VACUUM has removed none, so that its TID could be another row's.
 */
static inline bool
inserter_found_unchanged(const Inserter *inserter, BlockNumber block, XLogRecPtr lsn)
{
	return block == inserter->block && lsn == inserter->lsn && !XLogRecPtrIsInvalid(lsn);
}

static inline Page
leaf_page(const Inserter *inserter)
{
	return BufferGetPage(inserter->search.buf);
}

/* Says how far this is, if there are so many rows to tell of; no leaf is locked. */
static inline void
inserter_tell(Inserter *inserter, uint32 least)
{
	if (inserter->untold < least)
		return;
	progress_entries_done(inserter->untold);
	inserter->untold = 0;
}

#endif							/* PGBULK_INSERTER_STATE_H */
