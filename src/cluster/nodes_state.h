/*
 * nodes_state.h
 *		The state of the writer for tables on other nodes, shared by nodes.c and nodes_share.c.
 */
#ifndef PGBULK_NODES_STATE_H
#define PGBULK_NODES_STATE_H

#include "postgres.h"

#include "cluster/aside.h"
#include "cluster/placement.h"
#include "cluster/session.h"
#include "cluster/shard_rows.h"
#include "cluster/sinks.h"
#include "write/writer.h"

/* What of a key of one field says where a row belongs, so that it may be sent in a quick way. */
typedef enum QuickKey
{
	QUICK_NOTHING,				/* not that alone */
	QUICK_ONE,					/* there is no key, and one place */
	QUICK_VALUE,				/* its value */
	QUICK_BYTES					/* its bytes, as it is a text */
} QuickKey;

struct NodesWriter
{
	const BulkOptions *options;
	const Target *target;
	Guard	   *guard;
	Placement  *placement;
	const Journal *journal;

	/* not in a worker */
	const WriterRoutine *local; /* for rows that are here */
	Sessions   *sessions;
	Sinks	   *sinks;
	AsideRows  *aside;			/* NULL: nodes set no rows aside */

	/* for one file */
	Converter  *conv;
	RowCopy    *copy;
	int			nkeys;
	int		   *keys;			/* fields of the partition key */
	QuickKey	quick;

	/* beside other processes */
	int			nshards;		/* the last number of one */
	ShardRows  *collected;		/* NULL: this process is alone */

	/* the row that an error of a node is about */
	JournalPlace failed;
	bool		failed_known;
};

/* For WriterRoutine. */
extern WriterVerdict nodes_put(Writer *writer, uint32 number, RowError *err);
extern uint32 nodes_put_rows(Writer *writer, const char *data, const ScanRow *rows,
							 const ScanField *fields, uint32 first, uint32 n);

/* The columns of a file, of whose rows that is sent.  Returns whether put_rows may be called. */
extern bool nodes_begin_columns(NodesWriter *nodes, Converter *conv, RowCopy *copy);

#endif							/* PGBULK_NODES_STATE_H */
