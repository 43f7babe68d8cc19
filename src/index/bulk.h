/*
 * bulk.h
 *		New pages to a new file, past shared buffers.
 *
 * Assumption: the relation's storage was made in this transaction and is empty, so no process has
 * blocks of it in shared buffers.  Pages may come in any order of their numbers; each has the
 * standard layout (bufpage.h).
 *
 * Price: some pages wait in memory; they are logged as full-page images, 32 in a record.  The file
 * is synced at once, or with the next checkpoint.
 *
 * Trap: whoever reads a block through shared buffers before bulk_close may keep zeroes there.
 */
#ifndef PGBULK_BULK_H
#define PGBULK_BULK_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

typedef struct BulkPages BulkPages;

/* Memory: the current context. */
extern BulkPages *bulk_open(Relation rel);

/*
 * The same for one of several processes that put pages to one file at the same time; blocks that
 * are still to come are zero until then.  One process has called bulk_open before all of them,
 * puts nothing by it, and calls bulk_close after them: only then it is sure that the file will be
 * on disk when a crash requires it.
 */
extern BulkPages *bulk_join(Relation rel);

/* Memory for a page, not initialized; bulk_put frees it. */
extern Page bulk_page(BulkPages *bulk);

/* Each block once.  The page may be written now or later, and is not the caller's any more. */
extern void bulk_put(BulkPages *bulk, BlockNumber block, Page page);

/* All pages are written, and will be on disk when they must, but for what bulk_join says. */
extern void bulk_close(BulkPages *bulk);

#endif							/* PGBULK_BULK_H */
