/*
 * nodes_share.c
 *		See nodes_share.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "cluster/nodes_share.h"
#include "cluster/nodes_state.h"
#include "server/compat.h"
#include "table/partition_tree.h"

/* What workers know, in shared memory. */
typedef struct NodesShared
{
	bool		sent;			/* as in Target */
	int			nshards;
	uint64		placement[FLEXIBLE_ARRAY_MEMBER];	/* what that has filled */
} NodesShared;

/* ---- the leader ---- */

RefusalReason
nodes_share_refusal(Writer *writer)
{
	const NodesWriter *nodes = writer->nodes;

	if (nodes->placement->has_copies)
		return REFUSAL_NODES_COPIED;
	if (!sinks_all_as_is(nodes->sinks) || !row_copy_adds_nothing(nodes->copy))
		return REFUSAL_NODES_FORMED;
	if (!nodes->target->sent &&
		partition_tree_stored_here(RelationGetRelid(nodes->target->rel)) != NIL)
		return REFUSAL_NODES_HERE;
	return REFUSAL_NONE;
}

/* While there are workers nobody can get an XID. */
Size
nodes_prepare_share(Writer *writer)
{
	NodesWriter *nodes = writer->nodes;

	(void) GetCurrentTransactionId();
	nodes->nshards = sinks_number(nodes->sinks);
	return offsetof(NodesShared, placement) +
		nodes->placement->routine->share_size(nodes->placement);
}

void
nodes_share(Writer *writer, void *memory)
{
	const NodesWriter *nodes = writer->nodes;
	NodesShared *shared = memory;

	shared->sent = nodes->target->sent;
	shared->nshards = nodes->nshards;
	nodes->placement->routine->share(nodes->placement, shared->placement);
}

static void
append(void *arg, int number, RowBuffer *buffer)
{
	sinks_append(arg, number, buffer);
}

/* A node's error is about another row than that which is the current one. */
void
nodes_take_over(Writer *writer, char *message)
{
	int64		current_row = writer->current_row;
	RowBuffer	rows;
	int			number = shard_rows_receive(message, &rows);

	writer->current_row = -1;
	sinks_append(writer->nodes->sinks, number, &rows);
	writer->current_row = current_row;
}

/* Its own rows, when their turn has come. */
void
nodes_write(Writer *writer)
{
	NodesWriter *nodes = writer->nodes;

	shard_rows_take(nodes->collected, append, nodes->sinks);
}

/* The next rows may be of another file than the last ones. */
void
nodes_gather(Writer *writer)
{
	sinks_send_all(writer->nodes->sinks);
}

/* ---- all processes ---- */

void
nodes_begin_parallel(Writer *writer, int processes, bool (*await_turn) (void *arg), void *arg)
{
	NodesWriter *nodes = writer->nodes;

	nodes->collected = shard_rows_open(nodes->nshards, nodes->journal, nodes->copy);
}

void
nodes_end_parallel(Writer *writer)
{
	writer->nodes->collected = NULL;
}

bool
nodes_reserve(Writer *writer)
{
	return true;
}

bool
nodes_writes_in_turn(Writer *writer)
{
	return false;
}

void
nodes_discard(Writer *writer)
{
	shard_rows_reset(writer->nodes->collected);
}

/* ---- the writer of a worker ---- */

static void
worker_flush(Writer *writer)
{
	writer->current_row = -1;
}

static void
worker_close(Writer *writer)
{
	EState	   *estate = writer->estate;

	writer->nodes->placement->routine->close(writer->nodes->placement);
	ExecDropSingleTupleTableSlot(writer->slot);
	ExecResetTupleTable(estate->es_tupleTable, false);
	ExecCloseResultRelations(estate);
	ExecCloseRangeTableRelations(estate);
	FreeExecutorState(estate);
}

static bool
worker_open_columns(Writer *writer, Converter *conv)
{
	const char *why;

	return nodes_begin_columns(writer->nodes, conv,
							   row_copy_open(writer->nodes->target->rel, conv, &why));
}

static void
worker_hand_over(Writer *writer, const RowChannel *channel)
{
	shard_rows_send(writer->nodes->collected, channel);
}

static void
worker_write(Writer *writer)
{
}

static const WriterRoutine worker_routine = {
	.name = "nodes",
	.put = nodes_put,
	.put_rows = nodes_put_rows,
	.open_columns = worker_open_columns,
	.flush = worker_flush,
	.close = worker_close,
	.begin_parallel = nodes_begin_parallel,
	.end_parallel = nodes_end_parallel,
	.reserve = nodes_reserve,
	.hand_over = worker_hand_over,
	.write = worker_write,
	.writes_in_turn = nodes_writes_in_turn,
	.discard = nodes_discard
};

Writer *
nodes_join(Target *target, const void *memory, const BulkOptions *options, Guard *guard,
		   Checks *checks)
{
	const NodesShared *shared = memory;
	Writer	   *writer = palloc0(sizeof(Writer));
	NodesWriter *nodes = palloc0(sizeof(NodesWriter));
	EState	   *estate = CreateExecutorState();
	ResultRelInfo *root = makeNode(ResultRelInfo);

	writer->routine = &worker_routine;
	writer->nodes = nodes;
	writer->estate = estate;
	writer->current_row = -1;
	writer->slot = MakeSingleTupleTableSlot(RelationGetDescr(target->rel), &TTSOpsVirtual);
	compat_init_range_table(estate, target->pstate);
	ExecInitResultRelation(estate, root, 1);

	nodes->options = options;
	nodes->target = target;
	nodes->guard = guard;
	nodes->journal = checks_journal(checks);
	nodes->nshards = shared->nshards;
	nodes->placement = shared->sent ? citus_join(root, estate, shared->placement) :
		foreign_join(root, estate, guard, shared->placement);
	return writer;
}
