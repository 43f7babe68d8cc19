/*
 * inserter_search.h
 *		Where the current key of an inserter belongs: its leaf, its place there,
 *		and whether others may have it.
 */
#ifndef PGBULK_INSERTER_SEARCH_H
#define PGBULK_INSERTER_SEARCH_H

#include "postgres.h"

#include "index/inserter_state.h"

/*
 * Has the current key's leaf locked.  Returns before which old item the first of its rows
 * belongs; search.postingoff is not 0 where that is in a posting list.
 */
extern OffsetNumber search_key(Inserter *inserter);

/*
 * Whether there may be keys of others that are equal, on this leaf, where the
 * search has ended at offset, or the next.
 */
extern bool search_may_be_taken(Inserter *inserter, OffsetNumber offset);

/*
 * Whether all entries with the current key, from offset on, are on this leaf, and of
 * rows that have gone.  Then *place is where the row at tid belongs among them;
 * InvalidOffsetNumber: in the middle of a posting list, or on another leaf.
 */
extern bool search_equals_gone(Inserter *inserter, OffsetNumber offset, ItemPointer tid,
							   OffsetNumber *place);

/* Whether a row of the current key belongs before the old item at offset, too. */
extern bool search_belongs_before(Inserter *inserter, ItemPointer tid, OffsetNumber offset);

#endif							/* PGBULK_INSERTER_SEARCH_H */
