/*
 * fates.h
 *		What becomes of rows that each have a key in several unique indexes.
 *
 * A row is set aside if a row of the table has one of its keys, or an earlier row that is
 * stored; one that is set aside itself takes no keys.  So rows are decided in the order of
 * the input.  About some keys nobody knows yet: then a row is to be asked about, and with it
 * all later ones that share a key with it.  One that is set aside because of an earlier row
 * depends on that: should others turn out to have been faster, it is to be asked about, too,
 * though not the rows that were stored as it had no keys: it may meet one of these.
 */
#ifndef PGBULK_FATES_H
#define PGBULK_FATES_H

#include "postgres.h"

typedef enum Fate
{
	FATE_NEW,
	FATE_ASK,
	FATE_STORED,				/* it was asked about, or has updated another */
	FATE_DUPLICATE
} Fate;

typedef struct Fates Fates;

/* For rows 0 to nrows - 1, which have no keys yet.  Memory: the current context. */
extern Fates *fates_open(int nindexes, uint32 nrows);

/*
 * In that index the row has the same key as row leader, the first with it; of the key that
 * is FATE_ASK or FATE_NEW.  Rows of keys that the table has need not be told.
 */
extern void fates_put(Fates *fates, int index, uint32 row, uint32 leader, Fate key);

/*
 * The fate of the next row of those that are not set aside already: new, to be asked about, or a
 * duplicate; then *index tells of which key, and *because the earlier row.
 */
extern Fate fates_decide(Fates *fates, uint32 row, int *index, uint32 *because);

#endif							/* PGBULK_FATES_H */
