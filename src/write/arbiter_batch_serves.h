/*
 * arbiter_batch_serves.h
 *		Of which tables rows may wait to ask who has their keys.
 */
#ifndef PGBULK_ARBITER_BATCH_SERVES_H
#define PGBULK_ARBITER_BATCH_SERVES_H

#include "postgres.h"

#include "write/leaf_state.h"

/* Whether rows of the leaf need nothing at their turn but to know who has their keys. */
extern bool batch_serves(const LeafContext *context, const Leaf *leaf);

/* Whether rows that are set aside, or bad, are shown, each with its bytes. */
extern bool arbiter_batch_shows(const BulkOptions *options);

/*
 * Whether those that wait in a leaf's batch need not be known but for their tuples: so workers may
 * form these, or many be formed at a time.
 */
extern bool arbiter_batch_takes_tuples(const LeafContext *context);

#endif							/* PGBULK_ARBITER_BATCH_SERVES_H */
