/*
 * private.h
 *		Files of indexes and sequences that nobody else ever sees.
 *
 * A relation that gets a new file in a subtransaction has the old one back, as others have
 * known it all the while, when that is rolled back.  Until then everything in this session that
 * looks for the relation, and its parallel workers, find the new one.
 */
#ifndef PGBULK_PRIVATE_H
#define PGBULK_PRIVATE_H

#include "postgres.h"

#include "utils/rel.h"

/*
 * Gives a relation without a table's access method such a file, with what is in the old one.  Price:
 * a page is read and written in 10 microseconds.  The caller sees to it that nobody writes to
 * the old one who must be heard of.
 */
extern void private_file(Relation rel);

/*
 * The same for an index, which the caller has open so many times.  Nothing is done where its file is
 * new in this subtransaction.  Error: 55006 where a query of this session uses it.
 */
extern void private_index(Oid relid, int opened);

/* The file that a relation has been given will be removed after a crash, if it is not logged. */
extern void private_mark(Relation rel);

#endif							/* PGBULK_PRIVATE_H */
