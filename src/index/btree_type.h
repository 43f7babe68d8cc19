/*
 * btree_type.h
 *		What btree.c and btree_level.c both know of a btree that is built.
 */
#ifndef PGBULK_BTREE_TYPE_H
#define PGBULK_BTREE_TYPE_H

#include "postgres.h"

#include "storage/itemid.h"

typedef struct Btree Btree;

/* Block 0 is the meta page. */
#define BTREE_FIRST_BLOCK 1

/*
 * The most that a tuple with a posting list may have: a tenth of a page, less its line pointer
 * (nbtsort.c's maxpostingsize), so that such tuples fit into what fill factor 90 leaves free.
 */
#define BTREE_MAX_POSTING_SIZE (MAXALIGN_DOWN(BLCKSZ * 10 / 100) - sizeof(ItemIdData))

#endif							/* PGBULK_BTREE_TYPE_H */
