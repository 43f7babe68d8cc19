/*
 * subtransaction.h
 *		Runs work that may have to be rolled back.
 *
 * Price: an XID of its own, if it writes.  Trap: relations that are open when
 * it starts must not be opened or closed in it; resources belong to the
 * subtransaction in which they were acquired.
 */
#ifndef PGBULK_SUBTRANSACTION_H
#define PGBULK_SUBTRANSACTION_H

#include "postgres.h"

/*
 * Calls body(arg) in a subtransaction, which is committed if it returns true
 * and rolled back, with everything it has left open, if it returns false or
 * raises an error; returns the same, and rethrows the error.  Restores the
 * caller's memory context and resource owner.
 */
extern bool subtransaction_run(bool (*body) (void *arg), void *arg);

/*
 * Calls body(arg), which looks for what can be done without, in a subtransaction that is rolled
 * back.  Errors end it and are dropped, but for a cancel and the like (class 57).
 */
extern void subtransaction_look(void (*body) (void *arg), void *arg);

#endif							/* PGBULK_SUBTRANSACTION_H */
