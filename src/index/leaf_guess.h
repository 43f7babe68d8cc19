/*
 * leaf_guess.h
 *		Where a key may be on a leaf of a btree, guessed by bytes.
 *
 * A binary search that takes texts to sort like their bytes, as those made of
 * small letters and digits do under most collations.  A guess costs no call of a
 * collation; the operator class is to be asked about the items on both sides of
 * it, where a search by its comparison alone asks about seven or eight.
 */
#ifndef PGBULK_LEAF_GUESS_H
#define PGBULK_LEAF_GUESS_H

#include "postgres.h"

#include "access/itup.h"
#include "index/key_shape.h"
#include "storage/bufpage.h"

/* A way to find keys that may not be worth its price: taken while it has helped lately. */
typedef struct Luck
{
	int			hits;			/* less those that were not */
	uint32		untried;		/* keys for which it was not taken */
} Luck;

#define LUCK_MAX_HITS 16
#define LUCK_TRY_ONE_OF 8

/* Whether to try, which is done for one key of so many else. */
static inline bool
luck_tries(Luck *luck)
{
	return luck->hits > 0 || luck->untried++ % LUCK_TRY_ONE_OF == 0;
}

static inline void
luck_note(Luck *luck, bool hit)
{
	luck->hits = hit ? Min(luck->hits + 1, LUCK_MAX_HITS) : Max(luck->hits - 1, 0);
}

/* Whether the keys of an index have texts, and nothing but what can be guessed. */
extern bool leaf_guess_serves(const KeyShape *shape);

/*
 * The first item of a leaf from offset on that seems not to be below the key of a tuple; behind
 * the last one if all do.
 */
extern OffsetNumber leaf_guess(const KeyShape *shape, Page page, OffsetNumber offset,
							   IndexTuple tuple);

#endif							/* PGBULK_LEAF_GUESS_H */
