/*
 * horizon.h
 *		Snapshots on standbys that are older than any on this server.
 *
 * A build leaves out rows that nobody here can see any more.  Without hot_standby_feedback a
 * transaction on a standby may still see some: they lie in the table until they are pruned.  By
 * the new index it would not find them, and if it has not read the table before, no lock is in
 * its way.  So standbys are told of such rows as they are when VACUUM removes them: whoever has a
 * snapshot that sees them is canceled, after max_standby_streaming_delay.  REINDEX does not do
 * that.
 *
 * A merge needs none of this: it copies the entries of such rows, too.
 *
 * Price: pages that the table had before the load, but for those that are all visible, are read
 * once more.
 */
#ifndef PGBULK_HORIZON_H
#define PGBULK_HORIZON_H

#include "postgres.h"

#include "index/plan.h"

/* Whether a standby may read a table or an index. */
extern bool horizon_matters(Relation rel);

/* Before an index of the table is rebuilt. */
extern void horizon_note(IndexTable *table);

/*
 * When indexes of the table have been rebuilt, by whichever process: raises the conflict on
 * standbys if rows may have been left out.  The table is locked against writers since the first
 * horizon_note.
 */
extern void horizon_tell(const IndexTable *table);

#endif							/* PGBULK_HORIZON_H */
