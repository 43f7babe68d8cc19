/*
 * weights.h
 *		The weights of ASCII characters in a collation, learned by comparing.
 *
 * Most collations order texts of ASCII characters by one weight of each, and texts that have the
 * same ones by a second one, such as that of case.  So a text becomes a sort string of hardly more
 * bytes than it has, in a tenth of the time that the collation's library takes.  Characters that
 * are ignored at first, such as punctuation by some C libraries, come at its end.  Collations with
 * contractions ("ch" in Czech) are mostly recognized.  All else is for whoever sorts to verify
 * (order.h): a collation may do what it likes.
 */
#ifndef PGBULK_WEIGHTS_H
#define PGBULK_WEIGHTS_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/sortsupport.h"

/* In place of a character's first weight. */
#define WEIGHT_UNKNOWN 0
#define WEIGHT_IGNORED PG_UINT8_MAX

typedef struct Weights
{
	Oid			collation;
	bool		known;			/* false: the collation is not of that kind */
	bool		ignores;		/* some characters are ignored */
	uint8		first[PG_UINT8_MAX + 1];	/* or one of the above */
	uint8		second[PG_UINT8_MAX + 1];	/* from 1, for those with the same first one */
} Weights;

/*
 * Those of the collation by which ssup compares texts; NULL: it has none.  They stay for the
 * session.
 */
extern const Weights *weights_of(SortSupport ssup);

/*
 * Appends a text's sort string, no beginning of another one; false: not all characters have
 * weights.  *whole: only texts that are equal have the same one.
 */
extern bool weights_append(const Weights *weights, const char *text, Size length,
						   StringInfo string, bool *whole);

#endif							/* PGBULK_WEIGHTS_H */
