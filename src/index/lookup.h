/*
 * lookup.h
 *		Keys in order looked up in a btree that others read and write, leaf by leaf.
 *
 * A key_sink.h for sorted keys.  One descent and one shared lock serve all keys
 * that belong on a leaf; the next leaf is mostly the right sibling of the one
 * before.
 *
 * What is found are entries.  Whether their rows stand is for the caller to ask
 * the table, but where the visibility map says that a page's rows are visible
 * to everyone, an entry is a row that stands.  The map is asked while the leaf
 * is locked: VACUUM cannot take an entry from it meanwhile, so that its TID is
 * still that row's.  Of any other entry the TID may be another row's by the
 * time when the table is asked.
 *
 * No predicate lock is taken, nor does the server for the lookups of INSERT ...
 * ON CONFLICT.
 *
 * Trap: between keys a leaf is locked, so the sink must be fed from memory, by
 * code that takes no buffer lock, and so must be what takes the entries.
 * lookup_end gives it back.
 */
#ifndef PGBULK_LOOKUP_H
#define PGBULK_LOOKUP_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "index/key_shape.h"
#include "index/key_sink.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

typedef struct Lookup Lookup;

/*
 * The first item of a leaf, from offset on, with the bytes of a tuple; or
 * InvalidOffsetNumber.  What has the same bytes is equal; that nothing has them
 * proves nothing.
 */
extern OffsetNumber lookup_same(Page page, OffsetNumber offset, IndexTuple tuple);

/* Where a key was looked for, so that it need not be searched again to be inserted. */
typedef struct LookupPlace
{
	XLogRecPtr	lsn;			/* of the leaf, which is as it was if that is, with all entries that
								 * were told; or invalid */
	BlockNumber block;			/* InvalidBlockNumber: not known */
	OffsetNumber offset;		/* of the first item above the key or, if equal, one with it */
	bool		equal;			/* items with the key are there, or on the next leaf */
} LookupPlace;

/* Who is told; a leaf is locked. */
typedef struct LookupSink
{
	/* A row of the keys that are looked up; first: of those with its key. */
	void		(*row) (void *arg, RowId row, bool first);
	/*
	 * Before that, for the first row of a key: an entry with that key that is not marked dead.
	 * visible: its row stands, for everyone; other entries need not be told then.
	 */
	void		(*entry) (void *arg, RowId row, const ItemPointerData *tid, bool visible);
	/* If not NULL: after the entries of a key and before its first row, where it was looked for. */
	void		(*place) (void *arg, RowId row, const LookupPlace *place);
	/* As that of a KeySink. */
	void		(*ahead) (void *arg, RowId row);
	void	   *arg;
} LookupSink;

/*
 * heap and index are open and locked.  Keys with nulls are equal to others like
 * them: who does not want that does not ask.  Memory: the current context.
 */
extern Lookup *lookup_open(Relation heap, Relation index, KeyShape *shape,
						   const LookupSink *sink);

/* Where the keys go, from the first to the last in order, any number of times. */
extern KeySink lookup_keys(Lookup *lookup);

/* The last key has come: releases the leaf. */
extern void lookup_end(Lookup *lookup);

#endif							/* PGBULK_LOOKUP_H */
