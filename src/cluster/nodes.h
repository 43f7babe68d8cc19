/*
 * nodes.h
 *		The writer for tables whose rows are on other nodes.
 *
 * It is the buffered writer, which stores the rows that are here, with another
 * way for the rest: these go to their nodes as COPY data, as they are in the file
 * where that is possible.  Then only the columns of the partition key are converted here.
 */
#ifndef PGBULK_NODES_H
#define PGBULK_NODES_H

#include "postgres.h"

#include "server/jsonb_push.h"
#include "write/writer.h"

/*
 * Whether the target is, or has, tables whose rows can be sent to their nodes.
 * False for one that has such tables: target->no_nodes says why not, and it can
 * be loaded as far as rows are here.  by_file: the rows come from files, or from
 * a query.
 */
extern bool nodes_serve(Target *target, const BulkOptions *options, bool by_file);

/* Raises that (25001, or 0A000) where no row of the target is here. */
extern void nodes_check(const Target *target);

/* The writer. */
extern Writer *nodes_open(Target *target, const BulkOptions *options, Guard *guard,
						  Checks *checks);

/* What each node has got and how, of the writer, as data; NULL: it is another one. */
extern Jsonb *nodes_report(Writer *writer);

#endif							/* PGBULK_NODES_H */
