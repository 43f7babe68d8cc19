/*
 * arbiter_batch_tell.h
 *		Rows of a batch that are set aside, displaced or replaced: counted, and
 *		described where somebody sees it.
 */
#ifndef PGBULK_ARBITER_BATCH_TELL_H
#define PGBULK_ARBITER_BATCH_TELL_H

#include "postgres.h"

#include "write/arbiter_batch_state.h"

/* Tells which of n rows with fates, from first on, are duplicates.  Errors: duplicate_limit. */
extern void tell_duplicates(ArbiterBatch *batch, uint32 first, uint32 n);

/* The same where rows are replaced: which were, and which others of the batch displace. */
extern void tell_replaced(ArbiterBatch *batch, uint32 first, uint32 n);

#endif							/* PGBULK_ARBITER_BATCH_TELL_H */
