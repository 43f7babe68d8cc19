/*
 * extend.h
 *		New pages at the end of a table.
 */
#ifndef PGBULK_EXTEND_H
#define PGBULK_EXTEND_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

/*
 * Extends a table by up to n pages, which are returned pinned, unlocked and
 * zeroed, in the order of their blocks.  Returns how many; never 0.
 */
extern uint32 extend_table(Relation rel, BufferAccessStrategy strategy, uint32 n,
						   Buffer *buffers);

#endif							/* PGBULK_EXTEND_H */
