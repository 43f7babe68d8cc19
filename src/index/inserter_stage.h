/*
 * inserter_stage.h
 *		New items of a locked leaf, staged: each has its place among the old
 *		items of the page, which stays as it is, so that a search begins where
 *		the one before ended.  When a key comes that belongs elsewhere, or to the
 *		server, all of them go to the page and to the WAL.
 */
#ifndef PGBULK_INSERTER_STAGE_H
#define PGBULK_INSERTER_STAGE_H

#include "postgres.h"

#include "index/inserter_state.h"

/* A leaf is locked that the current key belongs on. */
extern void stage_begin(Inserter *inserter, Buffer buffer);

/*
 * Takes an item for so many rows of the current key, to be put before the old item at offset;
 * false: it does not fit the page.  Errors: 40001.
 */
extern bool stage_put(Inserter *inserter, uint32 n, OffsetNumber offset);

/*
 * The row belongs into the middle of the posting list at offset, as where several sessions load
 * rows with the same keys: their rows have taken turns.  Returns whether it is there now.
 */
extern bool stage_into_posting(Inserter *inserter, OffsetNumber offset);

/*
 * Where a leaf is full, entries of dead versions are removed from it, and equal keys on it merged
 * into posting lists, as the server would before it splits the leaf.  Returns whether the current
 * key fits now.
 */
extern bool stage_make_room(Inserter *inserter);

/* The new items go to the page. */
extern void stage_flush(Inserter *inserter);

/* The same, and releases the leaf, if there is one. */
extern void stage_leave(Inserter *inserter);

#endif							/* PGBULK_INSERTER_STAGE_H */
