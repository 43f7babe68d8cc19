/*
 * direct_parts.c
 *		The direct writer of partitioned tables.
 *
 * Each row is routed, checked and formed in its leaf's form, and waits, in an
 * arena that all leaves share.  When that is full the rows are flushed, leaf
 * after leaf: one batch of pages serves them all, and continues the page that
 * the last flush left partly filled.  So the memory is the same for eight
 * leaves and for thousands, as many rows as possible are flushed at once, and
 * tables take no more pages than after COPY.
 *
 * Index entries come when all rows are there (index/index.h), to leaves that have got some.
 *
 * Beside other processes (parallel.h) leaves are flushed when the process has
 * its turn, and not before.  Then rows are put into private pages,
 * which get their blocks; they are written, logged and copied to the tables,
 * when the next process has its turn.  How far a leaf's last page is filled is
 * in shared memory, and the next process goes on with that page, which is
 * written before: the table is the same as without workers, row for row, and so
 * is the order of rows in each leaf, which tells the first of two duplicates.
 *
 *		process 1:	parse, convert, route, form | pages | WAL | parse, convert ...
 *		process 2:	parse, convert, route, form   wait  | pages | WAL | parse ...
 *
 * What must be known of a leaf before its first row, the leader finds out for all of them before it
 * has workers (register_leaves): the size of the table, its indexes, its number in the checks.
 *
 * Memory: WAITING_MAX for each process and two batches of PAGES_BATCH pages; where several load,
 * WAITING_SHARED and one batch of PAGES_HELD.
 *
 * Price: each row is copied once more than into a plain table.  Tables are extended, and wide
 * values compressed, by one process at a time.
 *
 * Assumption: the target and all its partitions are locked as the direct
 * writer wants it, and direct_partition_refusal has said nothing.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "commands/trigger.h"
#include "index/plan.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "server/fetch_ahead.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "write/direct.h"
#include "write/dry_run.h"
#include "write/partitions.h"

/*
 * Bytes of rows that wait: for each leaf that has had rows, so that those of few leaves stay in the
 * cache; and the least and the most for all.
 */
#define WAITING_MIN (1024 * 1024)
#define WAITING_PER_LEAF (128 * 1024)
#define WAITING_MAX (8 * 1024 * 1024)

/*
 * Rows of a leaf that are listed together.  They lie scattered: the more are, the less does each
 * wait for its memory.  Few, as there may be thousands of leaves.
 */
#define WAITING_ROWS 30

/* Beside other processes rows wait for the turn: usually all of a chunk. */
#define WAITING_SHARED (16 * 1024 * 1024)

/*
 * Leaves that are prepared for workers at most, as a multiple of
 * max_locks_per_transaction: each takes locks in the leader, also without rows, and
 * again in each worker that has rows for it.
 */
#define SHARED_LEAVES_LOCKS 4

typedef struct WaitingRow
{
	HeapTuple	tuple;
	JournalPlace *place;		/* NULL: the leaf is not checked */
} WaitingRow;

/* Some rows of a leaf, in the order in which they came. */
typedef struct WaitingRows
{
	struct WaitingRows *next;	/* those that came after them, or NULL */
	uint32		n;
	WaitingRow	rows[WAITING_ROWS];
} WaitingRows;

typedef struct Part
{
	Oid			relid;
	Relation	rel;			/* opened for registration; NULL: only by routing */
	DirectTable table;			/* without rri: no row has come to this process */
	IndexTable *indexes;		/* NULL in a worker */
	bool		prepared;		/* for rows in its table */
	WaitingRows *first;			/* NULL: none waits */
	WaitingRows *last;
	struct Part *next;			/* that has rows waiting */
	LeafState  *state;			/* own, or in shared memory */
	LeafState	own;
} Part;

typedef struct PartsWriter
{
	DirectWriter direct;		/* its arena has the rows that wait */
	const BulkOptions *options;
	Checks	   *checks;
	PageStamp	stamp;
	DryRun	   *dry;			/* NULL: what is loaded is to stay */
	Partitions *partitions;
	int			nparts;			/* that have got rows from this process */
	List	   *parts;			/* that routing has opened, but for registered ones */
	List	   *registered;		/* every leaf, by OID, once workers were wanted; NIL: none */
	DirectShared *shared;		/* NULL: there are no other processes */

	/* rows that wait */
	Size		waiting;		/* bytes */
	Part	   *first;			/* of the leaves that they are for */
	Part	   *last;
} PartsWriter;

/* ---- flush ---- */

/* For the first wide row of a leaf's flush. */
static void
open_toaster(PartsWriter *writer, Part *part)
{
	DirectWriter *direct = &writer->direct;
	MemoryContext old = MemoryContextSwitchTo(direct->base.estate->es_query_cxt);

	if (direct->chunks == NULL)
	{
		direct->chunks = pages_open(NULL, writer->stamp, PAGES_BATCH);
		pages_share_ring(direct->chunks, direct->processes);
	}
	direct->toaster = toast_open(part->table.rri->ri_RelationDesc, writer->stamp);
	toast_borrow(direct->toaster, direct->chunks, &part->state->chunk_tail);
	MemoryContextSwitchTo(old);
}

/* Has the memory of rows fetched, and of the list of those after them. */
static inline void
fetch_rows(const WaitingRows *rows)
{
	for (uint32 i = 0; i < rows->n; i++)
		fetch_ahead(rows->rows[i].tuple);
	if (rows->next != NULL)
		for (Size at = 0; at < sizeof(WaitingRows); at += FETCHED_BYTES)
			fetch_ahead((const char *) rows->next + at);
}

/* Some of the rows that wait for a leaf get their places in its table. */
static void
place_rows(PartsWriter *writer, Part *part, const WaitingRows *rows)
{
	DirectWriter *direct = &writer->direct;

	fetch_rows(rows);
	for (uint32 i = 0; i < rows->n; i++)
	{
		const WaitingRow *row = &rows->rows[i];

		if (direct->toaster == NULL && !toast_unneeded(row->tuple))
			open_toaster(writer, part);
		direct_put_tuple(direct, row->tuple);
		if (row->place != NULL)
			journal_place(direct->journal, row->place);
		direct_relieve(direct);
	}
}

/* The first rows are about to come to a leaf's table. */
static void
prepare_part(PartsWriter *writer, Part *part, Relation rel)
{
	if (writer->dry != NULL && !part->prepared)
		dry_run_prepare(writer->dry, rel, true, 0);
	part->prepared = true;
}

/* The leader: counts rows that are new in a leaf's table, whichever process has put them there. */
static void
count_rows(PartsWriter *writer, Part *part, Relation rel, int64 nrows)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(writer));

	if (part->indexes->rows == 0)
	{
		if (part->table.checked != CHECKS_NOTHING)
			checks_expect_rows(writer->checks, part->table.checked);
		writer->direct.base.tables = lappend(writer->direct.base.tables, part->indexes);
	}
	part->indexes->rows += nrows;
	pgstat_count_heap_insert(rel, nrows);
	MemoryContextSwitchTo(old);
}

/* All rows that wait for a leaf are in its table; or, with later, only have their places there. */
static void
flush_part(PartsWriter *writer, Part *part, bool later)
{
	DirectWriter *direct = &writer->direct;
	Relation	rel = part->table.rri->ri_RelationDesc;
	int64		nrows = 0;

	direct->table = &part->table;
	if (!part->prepared)
		prepare_part(writer, part, rel);
	pages_turn(direct->batch, rel, &part->state->tail);
	for (const WaitingRows *rows = part->first; rows != NULL; rows = rows->next)
	{
		place_rows(writer, part, rows);
		nrows += rows->n;
	}
	if (direct->toaster != NULL)
		toast_flush(direct->toaster);
	direct_reserve_rows(direct);
	if (later)
		pages_write_last(direct->batch);
	else
		pages_write(direct->batch);
	if (direct->toaster != NULL)
		toast_close(direct->toaster);
	direct->toaster = NULL;
	part->state->rows += nrows;
	if (writer->shared == NULL)
		count_rows(writer, part, rel, nrows);
}

/* No row waits any more. */
static void
end_waiting(PartsWriter *writer)
{
	for (Part *part = writer->first; part != NULL; part = part->next)
		part->first = part->last = NULL;
	writer->first = writer->last = NULL;
	writer->waiting = 0;
	arena_reset(&writer->direct.arena);
}

/* The same for all leaves.  Beside other processes in one's turn. */
static void
flush_all(PartsWriter *writer, bool later)
{
	for (Part *part = writer->first; part != NULL; part = part->next)
		flush_part(writer, part, later);
	end_waiting(writer);
}

/* The same, or the rows do not count any more and are forgotten. */
static void
place_waiting(PartsWriter *writer)
{
	guard_close(writer->direct.guard);
	writer->direct.base.current_row = -1;
	if (writer->direct.await_turn == NULL ||
		writer->direct.await_turn(writer->direct.await_arg))
		flush_all(writer, false);
	else
		end_waiting(writer);
}

/* ---- put ---- */

static Part *
new_part(PartsWriter *writer, Oid relid)
{
	Part	   *part = MemoryContextAllocZero(writer->direct.base.estate->es_query_cxt,
											  sizeof(Part));

	part->relid = relid;
	part->state = &part->own;
	return part;
}

/* The leaf among these, or NULL. */
static Part *
find_part(List *parts, Oid relid)
{
	ListCell   *lc;

	foreach(lc, parts)
	{
		Part	   *part = lfirst(lc);

		if (part->relid == relid)
			return part;
	}
	return NULL;
}

/*
 * What the index phase and the checks must know of a leaf before it has rows.  All leaves were
 * looked at, but what has run since may have changed one, or have been allowed to see one that is
 * being detached.
 */
static void
plan_part(PartsWriter *writer, Part *part, Relation rel, int checks)
{
	Refusal		refusal = direct_table_refusal(rel, writer->options);
	MemoryContext old;

	if (refusal_is_any(&refusal))
	{
		refusal.partition = RelationGetRelationName(rel);
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("writer \"direct\" can no longer load into partition \"%s\"",
						RelationGetRelationName(rel)),
				 refusal_detail(&refusal)));
	}
	if (!CheckRelationLockedByMe(rel, ShareRowExclusiveLock, true) &&
		!ConditionalLockRelation(rel, ShareRowExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not obtain lock on partition \"%s\"",
						RelationGetRelationName(rel))));
	part->table.checked = checks_add_table(writer->checks, rel, checks);
	/* what becomes of indexes is told when the writer is closed */
	old = MemoryContextSwitchTo(GetMemoryChunkContext(writer));
	part->indexes = plan_table(rel, writer->options, true);
	MemoryContextSwitchTo(old);
}

/* A worker's first row for a leaf, of which the leader knows. */
static Part *
join_part(PartsWriter *writer, Relation rel)
{
	DirectShared *shared = writer->shared;

	for (int i = 0; i < shared->nleaves; i++)
	{
		SharedLeaf *leaf = &shared->leaves[i];
		Part	   *part;

		if (leaf->relid != RelationGetRelid(rel))
			continue;
		part = new_part(writer, leaf->relid);
		part->table.checked = leaf->checked;
		part->state = &leaf->state;
		part->prepared = true;
		return part;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("partition \"%s\" was not there when the load began",
					RelationGetRelationName(rel))));
}

/* A leaf has its first row from this process. */
static void *
open_part(void *arg, ResultRelInfo *rri)
{
	PartsWriter *writer = arg;
	Relation	rel = rri->ri_RelationDesc;
	Part	   *part;

	partitions_close_indexes(rri);
	if (writer->direct.worker)
		part = join_part(writer, rel);
	else
		part = find_part(writer->registered, RelationGetRelid(rel));
	if (part == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(writer->direct.base.estate->es_query_cxt);

		part = new_part(writer, RelationGetRelid(rel));
		plan_part(writer, part, rel, DIRECT_CHECKS);
		writer->parts = lappend(writer->parts, part);
		MemoryContextSwitchTo(old);
	}
	direct_table_open(&part->table, rri, writer->direct.base.estate);
	writer->nparts++;
	return part;
}

/* Where a leaf's next row goes in the list of those that wait. */
static WaitingRow *
next_waiting(PartsWriter *writer, Part *part)
{
	WaitingRows *rows = part->last;

	if (rows == NULL || rows->n == WAITING_ROWS)
	{
		rows = arena_alloc(&writer->direct.arena, sizeof(WaitingRows));
		rows->next = NULL;
		rows->n = 0;
		writer->waiting += sizeof(WaitingRows);
		if (part->last != NULL)
			part->last->next = rows;
		else
		{
			part->first = rows;
			part->next = NULL;
			if (writer->first != NULL)
				writer->last->next = part;
			else
				writer->first = part;
			writer->last = part;
		}
		part->last = rows;
	}
	return &rows->rows[rows->n++];
}

/* The row waits until its leaf is flushed. */
static void
add_row(PartsWriter *writer, Part *part, TupleTableSlot *slot)
{
	DirectWriter *direct = &writer->direct;
	HeapTuple	tuple;
	JournalPlace *place = NULL;

	/* a slot that was materialized has its values in the tuple alone */
	slot_getallattrs(slot);
	tuple = tuple_form(part->table.former, slot->tts_values, slot->tts_isnull, &direct->arena);
	writer->waiting += HEAPTUPLESIZE + tuple->t_len;
	if (part->table.checked != CHECKS_NOTHING)
	{
		place = arena_alloc(&direct->arena, sizeof(JournalPlace));
		journal_locate(direct->journal, direct->base.current_row, place);
		writer->waiting += sizeof(JournalPlace);
	}
	*next_waiting(writer, part) = (WaitingRow) {tuple, place};
}

static Size
waiting_limit(const PartsWriter *writer)
{
	Size		limit = (Size) writer->nparts * WAITING_PER_LEAF;

	return Min(Max(limit, WAITING_MIN), WAITING_MAX);
}

static WriterVerdict
parts_put(Writer *base, uint32 number, RowError *err)
{
	PartsWriter *writer = (PartsWriter *) base;
	Part	   *part;
	DirectTable *table;
	TupleTableSlot *slot;

	base->current_row = number;
	part = partitions_find(writer->partitions, base->slot, err);
	if (part == NULL)
		return WRITER_BAD;
	table = &part->table;
	slot = partitions_map(table->rri, table->map, base->slot);
	if (!constraints_complete(table->rri, table->constraints, false, slot,
							  base->estate, writer->direct.guard, err))
		return WRITER_BAD;

	add_row(writer, part, slot);
	if (writer->waiting >= (writer->direct.await_turn ? WAITING_SHARED : waiting_limit(writer)))
		place_waiting(writer);
	return WRITER_TAKEN;
}

/* Rows wait on: they do not point into the window. */
static void
parts_flush(Writer *base)
{
	base->current_row = -1;
}

/* ---- open and close ---- */

static void
parts_finish(Writer *base)
{
	place_waiting((PartsWriter *) base);
}

static void
parts_close(Writer *base)
{
	PartsWriter *writer = (PartsWriter *) base;
	ListCell   *lc;

	foreach(lc, writer->registered)
	{
		Part	   *part = lfirst(lc);

		if (part->rel != NULL)
			table_close(part->rel, NoLock);
	}
	direct_end(&writer->direct, writer->partitions);
}

/* ---- side by side with others ---- */

/* The leaves, which are locked, by OID. */
static List *
find_leaves(Relation root)
{
	List	   *leaves = NIL;
	ListCell   *lc;

	foreach(lc, find_all_inheritors(RelationGetRelid(root), NoLock, NULL))
		if (get_rel_relkind(lfirst_oid(lc)) != RELKIND_PARTITIONED_TABLE)
			leaves = lappend_oid(leaves, lfirst_oid(lc));
	list_sort(leaves, list_oid_cmp);
	return leaves;
}

static RefusalReason
parts_share_refusal(Writer *base)
{
	PartsWriter *writer = (PartsWriter *) base;

	return list_length(find_leaves(writer->direct.root->ri_RelationDesc)) <=
		SHARED_LEAVES_LOCKS * max_locks_per_xact ?
		REFUSAL_NONE : REFUSAL_MANY_PARTITIONS_WORKERS;
}

/*
 * A leaf that has no rows of this load yet, and that workers may have some
 * for.  The locks are those that its first row would take, as a worker's end
 * with it.
 */
static Part *
register_leaf(PartsWriter *writer, Oid relid)
{
	Part	   *part = new_part(writer, relid);

	part->rel = table_open(relid, NoLock);
	toast_forget_indexes(part->rel);
	plan_part(writer, part, part->rel, DIRECT_CHECKS | CHECKS_LATER);
	prepare_part(writer, part, part->rel);
	return part;
}

static void
register_leaves(PartsWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(writer->direct.base.estate->es_query_cxt);
	List	   *leaves = find_leaves(writer->direct.root->ri_RelationDesc);
	List	   *registered = NIL;
	ListCell   *lc;

	foreach(lc, leaves)
	{
		Part	   *part = find_part(writer->parts, lfirst_oid(lc));

		CHECK_FOR_INTERRUPTS();
		if (part == NULL)
			part = register_leaf(writer, lfirst_oid(lc));
		registered = lappend(registered, part);
	}
	writer->registered = registered;
	MemoryContextSwitchTo(old);
}

static Size
parts_prepare_share(Writer *base)
{
	PartsWriter *writer = (PartsWriter *) base;

	if (writer->registered == NIL)
		register_leaves(writer);
	/* rows that wait already come before those of the workers, and by the tails alone */
	place_waiting(writer);
	return offsetof(DirectShared, leaves) +
		sizeof(SharedLeaf) * list_length(writer->registered);
}

static void
parts_share(Writer *base, void *memory)
{
	PartsWriter *writer = (PartsWriter *) base;
	DirectShared *shared = memory;
	ListCell   *lc;

	shared->stamp = writer->stamp;
	shared->nleaves = 0;
	foreach(lc, writer->registered)
	{
		Part	   *part = lfirst(lc);
		SharedLeaf *leaf = &shared->leaves[shared->nleaves++];

		leaf->relid = part->relid;
		leaf->checked = part->table.checked;
		leaf->state = part->own;
		part->state = &leaf->state;
	}
	writer->shared = shared;
}

static void
parts_gather(Writer *base)
{
	PartsWriter *writer = (PartsWriter *) base;
	ListCell   *lc;

	foreach(lc, writer->registered)
	{
		Part	   *part = lfirst(lc);
		int64		nrows = part->state->rows - part->own.rows;
		Relation	rel = part->rel != NULL ? part->rel :
			part->table.rri->ri_RelationDesc;

		part->own = *part->state;
		part->state = &part->own;
		if (nrows > 0)
			count_rows(writer, part, rel, nrows);
	}
	writer->shared = NULL;
}

/*
 * Logical decoding forgets TOASTed values at the end of each batch of rows, of whichever table;
 * others' must not come between a value and its row.
 */
static bool
parts_writes_in_turn(Writer *base)
{
	return XLogLogicalInfoActive();
}

/* As many rows as would be placed without other processes are enough. */
static bool
parts_reserve(Writer *base)
{
	PartsWriter *writer = (PartsWriter *) base;
	bool		enough = writer->waiting >= waiting_limit(writer);

	flush_all(writer, !parts_writes_in_turn(base));
	return enough;
}

static void
parts_discard(Writer *base)
{
	end_waiting((PartsWriter *) base);
}

static const WriterRoutine parts_routine = {
	.name = "direct",
	.put = parts_put,
	.flush = parts_flush,
	.finish = parts_finish,
	.close = parts_close,
	.prepare_share = parts_prepare_share,
	.share = parts_share,
	.gather = parts_gather,
	.share_refusal = parts_share_refusal,
	.begin_parallel = direct_begin_parallel,
	.end_parallel = direct_end_parallel,
	.reserve = parts_reserve,
	.write = direct_write,
	.writes_in_turn = parts_writes_in_turn,
	.discard = parts_discard
};

static PartsWriter *
open_writer(Target *target, const PageStamp *stamp, Guard *guard, Checks *checks)
{
	PartsWriter *writer = palloc0(sizeof(PartsWriter));
	DirectWriter *direct = &writer->direct;

	direct_begin(direct, &parts_routine, target, NULL, stamp, guard, checks_journal(checks));
	writer->checks = checks;
	writer->stamp = *stamp;
	writer->partitions = partitions_open(direct->base.estate, direct->root, NULL,
										 guard, open_part, writer);
	return writer;
}

Writer *
direct_parts_open(Target *target, const BulkOptions *options,
				  const PageStamp *stamp, Guard *guard, Checks *checks)
{
	PartsWriter *writer = open_writer(target, stamp, guard, checks);

	writer->options = options;
	writer->dry = target->dry;
	direct_fire_before(&writer->direct);
	return &writer->direct.base;
}

Writer *
direct_parts_join(Target *target, DirectShared *shared, Guard *guard,
				  Checks *checks)
{
	PartsWriter *writer = open_writer(target, &shared->stamp, guard, checks);

	writer->shared = shared;
	writer->direct.worker = true;
	return &writer->direct.base;
}
