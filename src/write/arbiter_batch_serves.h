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

#endif							/* PGBULK_ARBITER_BATCH_SERVES_H */
