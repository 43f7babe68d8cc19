/*
 * private.h
 *		Files of indexes and sequences that no other session ever sees.
 *
 * A relation that gets a new file in a subtransaction has the old one back, as others have known
 * it all the while, when that is rolled back.  Until then this session and its parallel workers
 * use the new one, by the relation's OID as ever.
 *
 * Assumption: the subtransaction never commits; a private file would then be the relation's, and
 * an unlogged one not survive a crash.
 *
 * Price: a page is read and written in 10 microseconds, and the disk has the relation twice.
 *
 * Trap: other sessions that change the old file meanwhile are not seen here, nor this session's
 * changes there.
 */
#ifndef PGBULK_PRIVATE_H
#define PGBULK_PRIVATE_H

#include "postgres.h"

#include "utils/rel.h"

/*
 * Gives an index or a sequence such a file, with what is in the old one.  The caller's locks keep
 * away whoever would write to the old one what must be seen here.
 */
extern void private_file(Relation rel);

/*
 * The same for an index, which the caller has opened this often.  Nothing is done where its file
 * is new in this subtransaction.  Error: 55006 where a query of this session uses it.
 */
extern void private_index(Oid relid, int opened);

/*
 * A relation has been given a file in this transaction.  If it is not logged, it gets an init fork,
 * so that the server removes what a crash leaves of it.
 */
extern void private_mark(Relation rel);

#endif							/* PGBULK_PRIVATE_H */
