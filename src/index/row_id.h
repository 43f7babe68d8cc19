/*
 * row_id.h
 *		Rows of a table as numbers, for whoever sorts the entries of an index.
 */
#ifndef PGBULK_ROW_ID_H
#define PGBULK_ROW_ID_H

#include "postgres.h"

#include "storage/itemptr.h"

/*
 * A row: its heap TID, and in the lowest bit whether it is dead to all but old
 * snapshots.  Numbers of this kind sort as TIDs do.
 */
typedef uint64 RowId;

static inline RowId
row_id(const ItemPointerData *tid, bool alive)
{
	return (((RowId) ItemPointerGetBlockNumberNoCheck(tid) << 16 |
			 ItemPointerGetOffsetNumberNoCheck(tid)) << 1) | (alive ? 0 : 1);
}

static inline bool
row_alive(RowId row)
{
	return (row & 1) == 0;
}

static inline BlockNumber
row_block(RowId row)
{
	return (BlockNumber) (row >> 17);
}

static inline void
row_tid(RowId row, ItemPointer tid)
{
	ItemPointerSet(tid, row_block(row), (OffsetNumber) (row >> 1));
}

/* For qsort and bsearch of TIDs. */
static inline int
row_compare_tids(const void *a, const void *b)
{
	return ItemPointerCompare(unconstify(ItemPointerData *, (const ItemPointerData *) a),
							  unconstify(ItemPointerData *, (const ItemPointerData *) b));
}

#endif							/* PGBULK_ROW_ID_H */
