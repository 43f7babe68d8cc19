/*
 * subtransaction.h
 *		Work that may be undone.
 *
 * Price: an XID of its own, if it writes.  Trap: relations that are open when it begins must not be what it opens
 * and closes; resources of the server belong to the subtransaction in which they were taken.
 */
#ifndef PGBULK_SUBTRANSACTION_H
#define PGBULK_SUBTRANSACTION_H

#include "postgres.h"

/*
 * Calls body(arg) in a subtransaction.  True: it stays; false: it is rolled back, and so is
 * what the body has left open below it.  Returns which.  With an error it is rolled back, too, and the error is thrown on.
 * Memory context and resource owner are the caller's again.
 */
extern bool subtransaction_run(bool (*body) (void *arg), void *arg);

#endif							/* PGBULK_SUBTRANSACTION_H */
