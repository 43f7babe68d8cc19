/*
 * bulk.h
 *		New pages to a new file, past shared buffers.
 *
 * For a relation whose storage was made in this transaction, so that nobody else
 * has it in buffers.  Pages may come in any order of their numbers; they are logged
 * as whole pages, some at a time.
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
 * The same for one of several processes that put pages to one file at the same time; blocks
 * before theirs that are to come are zero until then.  Whoever has called bulk_open before them all, and
 * puts nothing himself, makes with bulk_close that the file will be on disk when it must.
 */
extern BulkPages *bulk_join(Relation rel);

/* An empty page to fill; bulk_put takes it back. */
extern Page bulk_page(BulkPages *bulk);

/* Each block once. */
extern void bulk_put(BulkPages *bulk, BlockNumber block, Page page);

/* Everything is written, and will be on disk when it must, but for what bulk_join says. */
extern void bulk_close(BulkPages *bulk);

#endif							/* PGBULK_BULK_H */
