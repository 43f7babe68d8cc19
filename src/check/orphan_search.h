/*
 * orphan_search.h
 *		Keys that rows refer to, in memory, and the search for those of other rows among them.
 *
 * The referenced keys become a set, and the keys of the other table are looked up in it by their
 * bytes, many at a time.  Single values of at most eight bytes that lie close together, as those
 * of a sequence, become a bitmap.
 *
 * Assumption: keys with the same bytes are equal.
 */
#ifndef PGBULK_ORPHAN_SEARCH_H
#define PGBULK_ORPHAN_SEARCH_H

#include "postgres.h"

#include "access/attnum.h"
#include "pg_config_manual.h"
#include "storage/block.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

typedef struct OrphanKey
{
	Relation	rel;
	Relation	referenced;
	Oid			index;			/* the unique one of the referenced columns */
	bool		match_full;
	int			natts;
	AttrNumber	atts[INDEX_MAX_KEYS];	/* of rel */
	AttrNumber	referenced_atts[INDEX_MAX_KEYS];
	Oid			operators[INDEX_MAX_KEYS];	/* referenced column = column */
} OrphanKey;

typedef struct OrphanSearch OrphanSearch;

/* Whether a search still serves a purpose. */
typedef bool (*OrphanSearchWanted) (void *arg);

/*
 * Reads the referenced table, within memory bytes, as long as that is wanted, and allocates in the
 * current context.  NULL: its keys need more, or it is wanted no longer.
 */
extern OrphanSearch *orphan_search_open(const OrphanKey *key, Snapshot snapshot, Size memory,
										OrphanSearchWanted wanted, void *arg);

/* Whether all rows of nblocks blocks from first on refer to a row, as far as the snapshot sees. */
extern bool orphan_search_blocks(OrphanSearch *search, BlockNumber first, BlockNumber nblocks);

extern void orphan_search_close(OrphanSearch *search);

/* Bytes that so many referenced keys take at least, and rarely more than twice of. */
extern double orphan_search_bytes(const OrphanKey *key, double rows);

#endif							/* PGBULK_ORPHAN_SEARCH_H */
