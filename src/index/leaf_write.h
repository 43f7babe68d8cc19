/*
 * leaf_write.h
 *		Items to a leaf of a btree that is locked exclusively, each with the
 *		record that the server's own insertion writes, so that its redo and
 *		standbys know it.
 *
 *		Assumption: the leaf is usable, the item belongs on it and fits, and the
 *		caller has looked for serializable conflicts.
 *		Trap: redo applies records one after the other, so the page has to be, at
 *		each, what the records before have made of it.
 */
#ifndef PGBULK_LEAF_WRITE_H
#define PGBULK_LEAF_WRITE_H

#include "access/itup.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/* Puts an item at an offset of the page, in a critical section; PANIC if it does not fit. */
extern void leaf_add_item(Relation index, Buffer leaf, IndexTuple item, OffsetNumber offset);

/* The same, with its record. */
extern void leaf_write_item(Relation index, Buffer leaf, IndexTuple item, OffsetNumber offset);

/*
 * Puts a row into the middle of the posting list at an offset: the list takes the row and
 * gives its last one away, which becomes an item behind it, as _bt_insertonpg does.
 *
 * item: the row's key and TID, with MAXALIGNed size; after: how many rows of the list, at least
 * one, come before it.
 */
extern void leaf_split_posting(Relation index, Buffer leaf, IndexTuple item, OffsetNumber posting,
							   uint16 after);

#endif
