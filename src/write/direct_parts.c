/*
 * direct_parts.c
 *		The direct writer of partitioned tables.
 *
 * Each row is routed, checked and formed in its leaf's form, and waits with the
 * others of its leaf, in chunks of an arena that all leaves share.  When that is
 * full the rows are flushed, leaf after leaf: one batch of pages serves them
 * all, and continues the page that the last flush left partly filled.  So as many
 * rows as possible are flushed at once, and tables take no more pages than after
 * COPY.
 *
 * Where nothing looks at the values but the partition keys and CHECKs that only compute
 * (computation.h), rows are formed many at a time by the fast path, with the target's columns,
 * and a leaf of the same form takes such a tuple as it is (parts_put_rows).
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
 * Memory: WAITING_MAX for each process, or WAITING_LEAF_FEWEST for each leaf where that is more,
 * and two batches of PAGES_BATCH pages; where several load, WAITING_SHARED at least and one batch
 * of PAGES_HELD.
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
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "write/direct_parts_state.h"

/*
 * Bytes of rows that wait: for each leaf that has had rows, so that those of few leaves stay in the
 * cache; and the least and the most for all.
 */
#define WAITING_MIN (1024 * 1024)
#define WAITING_PER_LEAF (128 * 1024)
#define WAITING_MAX (8 * 1024 * 1024)

/*
 * More may wait where leaves are so many that each flush would write pages that are nearly empty:
 * so much for each leaf, and no more than maintenance_work_mem for all.
 */
#define WAITING_LEAF_FEWEST BLCKSZ

/* Tuples of the fast path. */
#define FORMED_BLOCK (256 * 1024)

/*
 * Where rows turn out to need the slow path after others have been formed: how many come by it
 * before the fast path is tried again, twice as many each time.
 */
#define PATIENCE_MIN 16
#define PATIENCE_MAX 1024

/* Beside other processes rows wait for the turn: usually all of a chunk. */
#define WAITING_SHARED (16 * 1024 * 1024)

/*
 * Leaves that are prepared for workers at most, as a multiple of
 * max_locks_per_transaction: each takes locks in the leader, also without rows, and
 * again in each worker that has rows for it.
 */
#define SHARED_LEAVES_LOCKS 4

/* ---- leaves ---- */

/* The most that may wait while there are no other processes. */
static Size
waiting_limit(const PartsWriter *writer)
{
	Size		limit = (Size) writer->nparts * WAITING_PER_LEAF;
	Size		fewest = Min((Size) writer->nparts * WAITING_LEAF_FEWEST,
							 (Size) maintenance_work_mem * 1024);

	return Max(Min(Max(limit, WAITING_MIN), WAITING_MAX), fewest);
}

/* For the leaves that have had rows. */
static void
set_limits(PartsWriter *writer)
{
	writer->limit = waiting_limit(writer);
	if (writer->direct.await_turn != NULL)
		writer->limit = Max(writer->limit, WAITING_SHARED);
	waiting_bound(&writer->waiting, writer->limit / Max(writer->nparts, 1));
}

static Part *
new_part(PartsWriter *writer, Oid relid)
{
	Part	   *part = MemoryContextAllocZero(writer->direct.base.estate->es_query_cxt,
											  sizeof(Part));

	part->relid = relid;
	part->state = &part->own;
	return part;
}

/* The leaf among these, which are in the order of their OIDs, or NULL. */
static Part *
find_part(List *parts, Oid relid)
{
	int			low = 0;
	int			high = list_length(parts);

	while (low < high)
	{
		int			middle = (low + high) / 2;
		Part	   *part = list_nth(parts, middle);

		if (part->relid == relid)
			return part;
		if (part->relid < relid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static int
compare_parts(const ListCell *a, const ListCell *b)
{
	Oid			relid_a = ((Part *) lfirst(a))->relid;
	Oid			relid_b = ((Part *) lfirst(b))->relid;

	return (relid_a > relid_b) - (relid_a < relid_b);
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

static int
compare_shared(const void *a, const void *b)
{
	Oid			relid_a = ((const SharedLeaf *) a)->relid;
	Oid			relid_b = ((const SharedLeaf *) b)->relid;

	return (relid_a > relid_b) - (relid_a < relid_b);
}

/* A worker's first row for a leaf, of which the leader knows. */
static Part *
join_part(PartsWriter *writer, Relation rel)
{
	DirectShared *shared = writer->shared;
	SharedLeaf	key = {.relid = RelationGetRelid(rel)};
	SharedLeaf *leaf = bsearch(&key, shared->leaves, shared->nleaves, sizeof(SharedLeaf),
							   compare_shared);
	Part	   *part;

	if (leaf == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" was not there when the load began",
						RelationGetRelationName(rel))));
	part = new_part(writer, leaf->relid);
	part->table.checked = leaf->checked;
	part->state = &leaf->state;
	part->prepared = true;
	return part;
}

/* What is to be done with tuples of the target's form that go to a leaf. */
static TupleFit
find_fit(const DirectTable *table)
{
	if (!constraints_need_no_guard(table->constraints) ||
		constraints_have_generated(table->constraints))
		return FIT_ROW;
	if (table->map != NULL)
		return FIT_COLUMNS;
	return table->constraints == NULL ? FIT_ALL : FIT_CHECKS;
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
	part->rows.placed = part->table.checked != CHECKS_NOTHING;
	part->fit = find_fit(&part->table);
	writer->nparts++;
	set_limits(writer);
	return part;
}

/* ---- put ---- */

/* The leaf's first row waits. */
static void
link_part(PartsWriter *writer, Part *part)
{
	part->next = NULL;
	if (writer->first != NULL)
		writer->last->next = part;
	else
		writer->first = part;
	writer->last = part;
}

/* The next row of a leaf waits: where its tuple, or the pointer to it, goes. */
static inline char *
add_row(PartsWriter *writer, Part *part, uint32 length, bool apart)
{
	DirectWriter *direct = &writer->direct;
	WaitingRow *row;

	if (unlikely(part->rows.first == NULL))
		link_part(writer, part);
	row = waiting_add(&writer->waiting, &part->rows, length, apart);
	if (part->rows.placed)
		journal_locate(direct->journal, direct->base.current_row, waiting_place(row));
	return waiting_data(&part->rows, row);
}

/* The row waits until its leaf is flushed. */
static void
add_slot(PartsWriter *writer, Part *part, TupleTableSlot *slot)
{
	DirectWriter *direct = &writer->direct;
	HeapTuple	tuple;
	char	   *to;

	/* a slot that was materialized has its values in the tuple alone */
	slot_getallattrs(slot);
	tuple = tuple_form(part->table.former, slot->tts_values, slot->tts_isnull, &direct->arena);
	pages_stamp(&writer->stamp, tuple->t_data);
	if (tuple->t_len > WAITING_APART)
	{
		*(HeapTupleHeader *) add_row(writer, part, tuple->t_len, true) = tuple->t_data;
		return;
	}
	to = add_row(writer, part, tuple->t_len, false);
	memcpy(to, tuple->t_data, tuple->t_len);
	memset(to + tuple->t_len, 0, MAXALIGN(tuple->t_len) - tuple->t_len);
	arena_trim(&direct->arena, tuple, 0);
}

/* The same for a tuple of the leaf's form, stamped, and with zeroes up to its MAXALIGNed length. */
static inline void
add_tuple(PartsWriter *writer, Part *part, HeapTuple tuple)
{
	Size		size = MAXALIGN(tuple->t_len);
	const char *from = (char *) tuple->t_data;
	char	   *to = add_row(writer, part, tuple->t_len, false);

	/* two copies that overlap take the place of a loop */
	if (size >= 32 && size <= 64)
	{
		memcpy(to, from, 32);
		memcpy(to + size - 32, from + size - 32, 32);
	}
	else
		memcpy(to, from, size);
}

/* After each row: not more than may wait. */
static inline void
bound_waiting(PartsWriter *writer)
{
	if (unlikely(writer->waiting.bytes >= writer->limit))
		parts_place_waiting(writer);
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

	add_slot(writer, part, slot);
	bound_waiting(writer);
	return WRITER_TAKEN;
}

/* ---- rows that the fast path has formed ---- */

static bool
passes_checks(Constraints *constraints, Guard *guard, HeapTuple tuple)
{
	return !constraints_forbid_null(constraints, tuple) &&
		(!constraints_have_checks(constraints) ||
		 constraints_count_good(constraints, guard, &tuple, 1) == 1);
}

/*
 * The row's tuple has the target's columns.  False: it is for parts_put, which can tell what is
 * wrong with it.
 */
static bool
take_tuple(PartsWriter *writer, Part *part, HeapTuple tuple)
{
	const DirectTable *table = &part->table;
	Guard	   *guard = writer->direct.guard;
	EState	   *estate = writer->direct.base.estate;
	TupleTableSlot *slot;
	RowError	err;

	switch (part->fit)
	{
		case FIT_ALL:
			add_tuple(writer, part, tuple);
			return true;
		case FIT_CHECKS:
			if (!passes_checks(table->constraints, guard, tuple))
				return false;
			add_tuple(writer, part, tuple);
			return true;
		case FIT_COLUMNS:
			ResetPerTupleExprContext(estate);
			slot = partitions_map(table->rri, table->map,
								  partitions_show_tuple(writer->partitions, tuple));
			if (!constraints_complete(table->rri, table->constraints, false, slot, estate,
									  guard, &err))
				return false;
			add_slot(writer, part, slot);
			return true;
		case FIT_ROW:
			break;
	}
	return false;
}

/* The leaf of a tuple for which routing knows none yet; NULL: it is for parts_put. */
static pg_noinline Part *
ask_for_leaf(PartsWriter *writer, HeapTuple tuple)
{
	RowError	err;

	ResetPerTupleExprContext(writer->direct.base.estate);
	return partitions_find(writer->partitions,
						   partitions_show_tuple(writer->partitions, tuple), &err);
}

/* How many of n tuples, whose rows are numbered from first on, are taken. */
static uint32
take_tuples(PartsWriter *writer, HeapTuple *tuples, uint32 first, uint32 n)
{
	void	  **places[WRITER_ROWS];
	uint32		routed = partitions_find_tuples(writer->partitions, tuples, n, places);
	uint32		i;

	for (i = 0; i < routed; i++)
	{
		Part	   *part = *places[i];

		writer->direct.base.current_row = first + i;
		if (unlikely(part == NULL) && (part = ask_for_leaf(writer, tuples[i])) == NULL)
			break;
		if (!take_tuple(writer, part, tuples[i]))
			break;
		bound_waiting(writer);
	}
	writer->direct.base.current_row = -1;
	return i;
}

static uint32
parts_put_rows(Writer *base, const char *data, const ScanRow *rows,
			   const ScanField *fields, uint32 first, uint32 n)
{
	PartsWriter *writer = (PartsWriter *) base;
	HeapTuple	tuples[WRITER_ROWS];
	uint32		taken;

	if (writer->alone > 0)
	{
		writer->alone--;
		return 0;
	}
	n = form_rows(base->former, data, rows + first, Min(n, WRITER_ROWS), fields,
				  &writer->formed, tuples);
	taken = take_tuples(writer, tuples, first, n);
	if (taken < n)
	{
		form_take_back(base->former, n - taken);
		writer->alone = writer->patience;
		writer->patience = Min(writer->patience * 2, PATIENCE_MAX);
	}
	else if (n > 0)
		writer->patience = PATIENCE_MIN;
	arena_reset(&writer->formed);
	return taken;
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
	parts_place_waiting((PartsWriter *) base);
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
	parts_prepare(writer, part, part->rel);
	return part;
}

static void
register_leaves(PartsWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(writer->direct.base.estate->es_query_cxt);
	List	   *leaves = find_leaves(writer->direct.root->ri_RelationDesc);
	List	   *opened = list_copy(writer->parts);
	List	   *registered = NIL;
	ListCell   *lc;

	list_sort(opened, compare_parts);

	foreach(lc, leaves)
	{
		Part	   *part = find_part(opened, lfirst_oid(lc));

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
	parts_place_waiting(writer);
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
			parts_count(writer, part, rel, nrows);
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
	bool		enough = writer->waiting.bytes >= waiting_limit(writer);

	parts_flush_all(writer, !parts_writes_in_turn(base));
	return enough;
}

static void
parts_discard(Writer *base)
{
	parts_end_waiting((PartsWriter *) base);
}

static void
parts_begin_parallel(Writer *base, int processes, bool (*await_turn) (void *arg), void *arg)
{
	direct_begin_parallel(base, processes, await_turn, arg);
	set_limits((PartsWriter *) base);
}

static void
parts_end_parallel(Writer *base)
{
	direct_end_parallel(base);
	set_limits((PartsWriter *) base);
}

static const WriterRoutine parts_routine = {
	.name = "direct",
	.put = parts_put,
	.put_rows = parts_put_rows,
	.flush = parts_flush,
	.finish = parts_finish,
	.close = parts_close,
	.prepare_share = parts_prepare_share,
	.share = parts_share,
	.gather = parts_gather,
	.share_refusal = parts_share_refusal,
	.begin_parallel = parts_begin_parallel,
	.end_parallel = parts_end_parallel,
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
	waiting_init(&writer->waiting, CurrentMemoryContext);
	arena_init(&writer->formed, CurrentMemoryContext, FORMED_BLOCK);
	set_limits(writer);
	writer->patience = PATIENCE_MIN;
	direct->base.plain = !target->rel->rd_rel->relispartition;
	direct->base.model = palloc0(SizeofHeapTupleHeader);
	pages_stamp(stamp, unconstify(HeapTupleHeaderData *, direct->base.model));
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
