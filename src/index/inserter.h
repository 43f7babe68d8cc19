/*
 * inserter.h
 *		Keys in order put into a btree that others read and write, leaf by leaf.
 *
 * Takes keys from a presort.  One descent and one exclusive lock serve all
 * keys that belong on a leaf; the next leaf is mostly the right sibling of the
 * one before.  Rows of one key become one item with a posting list, as
 * deduplication would make of them later.
 *
 * What is usual is done here, by the rules of nbtree's README: a key goes where
 * it is within the bounds of its leaf, an index that checks for duplicates is
 * looked up under the same lock.  All else is left to the server's own
 * insertion, with no lock held: a full page, which it splits, an item in the
 * middle of a posting list, an index of an old format.  A row whose key may be
 * there already, or that no page may hold, goes to the owner of the inserter,
 * who asks the server when all others are in.
 *
 * WAL: an XLOG_BTREE_INSERT_LEAF record for each item, or one image of the leaf
 * (XLOG_FPI) where that is less, or where the first change since a checkpoint
 * would take an image anyhow.  The server's redo needs no more.
 *
 * Price: a search in the leaf for each key, none for further rows with it;
 * while a leaf is filled, others wait for it, also while pages of the table are looked at for the
 * entries of dead rows that are removed.
 *
 * Trap: between keys a leaf may be locked, so keys must come from memory (PresortOptions.stays), by
 * code that takes no buffer lock.
 */
#ifndef PGBULK_INSERTER_H
#define PGBULK_INSERTER_H

#include "postgres.h"

#include "index/inserter_type.h"
#include "index/key_shape.h"
#include "index/key_sink.h"
#include "index/lookup.h"
#include "index/presort.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

/* Whether an index is a btree whose entries may come later than their rows. */
extern bool inserter_serves(Relation index);

/* heap and index are open and locked as for INSERT.  Memory: the current context. */
extern Inserter *inserter_open(Relation heap, Relation index, IndexInfo *info, KeyShape *shape,
							   InserterDoubt doubt, void *arg);

/*
 * Where keys go, from the first to the last in order, any number of times; after the last of each
 * time inserter_end, before which a leaf may be locked.  Errors: as inserter_take_all.
 */
extern KeySink inserter_keys(Inserter *inserter);
extern void inserter_end(Inserter *inserter);

/*
 * Inserts all keys of a presort, and closes it; *presort is NULL then.  Does nothing if it is NULL
 * already.  Errors: those of the server's insertion and of the operator class; 40001 where a
 * serializable transaction has read what is changed.
 */
extern void inserter_take_all(Inserter *inserter, Presort **presort);

/* A key as shape_image makes it. */
typedef struct InserterKey
{
	const char *image;
	Size		size;
} InserterKey;

/* What is asked about rows that were sorted. */
typedef struct InserterRows
{
	/*
	 * Whether one is to get an entry, and then as which row.  *place: where its key was looked
	 * for.  *own: an equal key that it has instead, or NULL.
	 */
	bool		(*find) (void *arg, RowId sorted, RowId *row, const LookupPlace **place,
						 const InserterKey **own);
	/* As that of a KeySink. */
	void		(*ahead) (void *arg, RowId sorted);
	InserterDead dead;			/* of the leaves where they were looked for */
	void	   *arg;
} InserterRows;

/*
 * The same for keys that presort_finish has emitted before, with one row at most of each, and for
 * rows that get their entries now.  The presort stays open.  A leaf that is as it was when a key
 * was looked for there is not searched again.
 */
extern void inserter_take_again(Inserter *inserter, Presort *presort, const InserterRows *rows);

/*
 * From here on a unique key that may be there is a doubt also where the server
 * has found it, and no error; and it is none where all entries with it are of rows
 * that have gone, or were dead.  knows: what is known of a row, or NULL; a leaf may be locked.
 */
extern void inserter_try(Inserter *inserter, InserterKnows knows, void *arg);

/*
 * From here on, whether the keys that come are mostly those of rows that were there, of which the
 * entries are new versions: then dead versions' entries are removed from a page that is full,
 * before it is split.  That is tried for each such page while it has helped lately.
 */
extern void inserter_expect_versions(Inserter *inserter, bool versions);

/*
 * Inserts a row by the server: an error is about that row (failed_row.h).  False, after
 * inserter_try: the entry is in, but another row may have the key.
 */
extern bool inserter_ask_server(Inserter *inserter, RowId row, const char *image);

/*
 * The same after inserter_try for a row that is no trial: a key that another row has is an error.
 * entered: its entry is in already.
 */
extern void inserter_judge(Inserter *inserter, RowId row, const char *image, bool entered);

#endif							/* PGBULK_INSERTER_H */
