/*
 * plan.c
 *		See plan.h.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_collation_d.h"
#include "index/plan.h"
#include "miscadmin.h"
#include "server/workers.h"
#include "storage/bufmgr.h"
#include "table/dead_rows.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"

/* Why the entries of an index cannot be read in order, or REFUSAL_NONE. */
static RefusalReason
find_merge_refusal(Relation index)
{
	bool		heapkeyspace;
	bool		allequalimage;

	if (index->rd_rel->relam != BTREE_AM_OID)
		return REFUSAL_INDEX_NO_BTREE;
	/* rows of equal keys are not in order */
	_bt_metaversion(index, &heapkeyspace, &allequalimage);
	return heapkeyspace ? REFUSAL_NONE : REFUSAL_OLD_BTREE;
}

static RefusalReason
find_refusal(Relation index, const BulkOptions *options)
{
	Form_pg_index form = index->rd_index;

	if (!form->indisvalid || !form->indisready)
		return REFUSAL_INVALID_INDEX;
	if (form->indisunique && index->rd_rel->relam != BTREE_AM_OID &&
		!form->indisexclusion)
		return REFUSAL_UNIQUE_NO_BTREE;
	/* which rows to look at later only an insertion tells */
	if (form->indisexclusion && !form->indimmediate)
		return REFUSAL_DEFERRABLE_EXCLUSION;
	/* open once, by the caller: scans of this session would lose their file */
	if (index->rd_refcnt > 1)
		return REFUSAL_INDEX_IN_USE;
	return options->indexes == BULK_INDEXES_MERGE ? find_merge_refusal(index) : REFUSAL_NONE;
}

Refusal
plan_refusal(Relation rel, const BulkOptions *options)
{
	Refusal		refusal = REFUSAL(REFUSAL_NONE);
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		refusal.reason = find_refusal(index, options);
		if (refusal_is_any(&refusal))
			refusal.name = pstrdup(RelationGetRelationName(index));
		index_close(index, AccessShareLock);
		if (refusal_is_any(&refusal))
			break;
	}
	return refusal;
}

/* ---- costs ---- */

/*
 * In microseconds, on two cores of a shared machine where COPY takes 3.5 s for the votes; only
 * their ratios matter.  Measured with 0.3 % to 10 % more of the votes for four indexes: integers,
 * few long groups, many short ones, pairs of texts.  Beyond that it is an extrapolation.
 */
#define COST_READ_HEAP 3.0		/* a page of the table */
#define COST_READ_PAGE 8.0		/* of the old index, checked and copied */
#define COST_WRITE_PAGE 18.0	/* of the new one, and to the WAL */
#define COST_DIRTY_PAGE 10.0	/* an old one, whole in the WAL after a checkpoint */
#define COST_COPY_ITEM 0.04
#define COST_MERGE_UNIQUE 0.3	/* a key that others are looked for */
#define COST_INSERT 0.3			/* an entry whose leaf is locked */
#define COST_INSERT_COLLATED 0.5
#define COST_SPLIT_PAGE 8.0		/* a page that gets more than it has room for */
#define COST_SORT 0.15			/* a key */
#define COST_SORT_COLLATED 0.4
#define COST_SORT_BYTE 0.005
#define COST_COMPARE 0.01
#define COST_COMPARE_COLLATED 0.2
#define COST_NEW_FILE 2000.0	/* and its catalog rows, and locking the old one against others */

/*
 * What is to be done by several processes together is that many times as much, unless files are
 * used anyhow.
 */
#define COST_TOGETHER 1.4

/* Indexes that it may pay to build so, for each process. */
#define SHARED_PER_PROCESS 4

/* Blocks of the table that are worth a process. */
#define BLOCKS_PER_PROCESS 32

/* What a row takes at least while keys are sorted, however few these are. */
#define SORT_MEMORY_ROW 20

/* How many rows are built into an index in the time that one takes to be inserted. */
typedef struct InsertionRate
{
	Oid			method;
	double		rate;
} InsertionRate;

static const InsertionRate insertion_rates[] = {
	{HASH_AM_OID, 1.2},
	{GIN_AM_OID, 2},
	{GIST_AM_OID, 4},
	{SPGIST_AM_OID, 1.2},
};

#define OTHER_INSERTION_RATE 3

/* What an index and its table are before the load. */
typedef struct IndexState
{
	double		pages;
	double		entries;
	double		items;			/* that these are, where rows of a key share some */
	double		rows;			/* new ones that it is for */
	double		heap_pages;		/* with the new rows */
	double		dead_pages;		/* of the heap, if all rows on them were dead before */
	double		new_pages;		/* that it will have in a new file, */
	double		rebuilt_pages;	/* or in one without entries for dead rows, */
	double		rebuilt_entries;	/* and what these pages hold */
	double		width;			/* of a key */
	bool		collated;
	bool		unique;
} IndexState;

/* A page of a btree has room for so many of its entries, as builds leave it and splits do. */
#define PART_OF_ROOM 0.1

/* What says little of how large entries are. */
#define FEW_ENTRIES 1000

/* How many rows a relation had when it was so large; below 0: nobody knows. */
static double
known_rows(Relation rel, BlockNumber blocks)
{
	Form_pg_class class = rel->rd_rel;

	if (class->reltuples < 0 || class->relpages <= 0)
		return -1;
	return (double) class->reltuples / class->relpages * blocks;
}

static double
guess_width(Relation index)
{
	double		width = 0;

	for (int i = 0; i < RelationGetDescr(index)->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(index), i);

		width += get_typavgwidth(att->atttypid, att->atttypmod);
	}
	return width;
}

static IndexState
look_at(const IndexTable *table, Relation index)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(index);
	double		before = known_rows(table->heap, table->heap_blocks);
	double		entry = sizeof(IndexTupleData) + sizeof(ItemIdData) + guess_width(index);
	IndexState	state = {
		.pages = blocks,
		.entries = known_rows(index, blocks),
		.rows = table->rows,
		.heap_pages = RelationGetNumberOfBlocks(table->heap),
		.dead_pages = table->vacant ? table->heap_blocks : 0,
		.width = guess_width(index),
		.unique = index->rd_index->indisunique,
		.collated = OidIsValid(index->rd_indcollation[0]) &&
			index->rd_indcollation[0] != C_COLLATION_OID
	};

	if (state.entries < 0)
		state.entries = state.pages * BLCKSZ * 0.7 / entry;
	state.items = state.unique ? state.entries :
		Min(state.entries, state.pages * BLCKSZ / entry);
	/* a partial index is for as many of the new rows as of the old ones */
	if (before > state.entries && RelationGetIndexPredicate(index) != NIL)
		state.rows *= state.entries / before;
	if (state.entries > FEW_ENTRIES)
		state.new_pages = state.pages * (1 + state.rows / state.entries);
	else
		state.new_pages = state.pages + state.rows * entry / BLCKSZ;
	state.rebuilt_pages = table->vacant ? state.rows * entry / BLCKSZ : state.new_pages;
	state.rebuilt_entries = state.rows + (table->vacant ? 0 : state.entries);
	return state;
}

/* Keys in order: most leaves get several, and a few comparisons each. */
static double
cost_of_insertion(const IndexState *state, double sort, double compare)
{
	double		insert = state->collated ? COST_INSERT_COLLATED : COST_INSERT;
	double		split = Min(state->rows, state->entries * PART_OF_ROOM) /
		(state->entries * PART_OF_ROOM + 1);

	return state->rows * (sort + insert + 2 * compare) +
		Min(state->rows, state->pages) *
		(COST_DIRTY_PAGE + compare * log2(state->entries + 2)) +
		state->pages * split * COST_SPLIT_PAGE +
		(state->new_pages - state->pages) * COST_WRITE_PAGE;
}

static double
cost_of(const IndexState *state, IndexMethod method)
{
	double		compare = state->collated ? COST_COMPARE_COLLATED : COST_COMPARE;
	double		sort = (state->collated ? COST_SORT_COLLATED : COST_SORT) +
		state->width * COST_SORT_BYTE;

	switch (method)
	{
		case INDEX_INSERT:
			return cost_of_insertion(state, sort, compare);
		case INDEX_MERGE:
			return COST_NEW_FILE + state->pages * COST_READ_PAGE +
				state->items * COST_COPY_ITEM + state->rows * (sort + 2 * compare) +
				(state->unique ? Min(state->rows, state->entries) * COST_MERGE_UNIQUE : 0) +
				state->new_pages * COST_WRITE_PAGE;
		case INDEX_REBUILD:
			return COST_NEW_FILE + state->heap_pages * COST_READ_HEAP +
				state->rebuilt_entries * sort + state->rebuilt_pages * COST_WRITE_PAGE;
	}
	pg_unreachable();
}

/* Those of the server's other methods, and any extension's. */
static IndexMethod
choose_other(Relation index, const IndexState *state)
{
	double		rate = OTHER_INSERTION_RATE;

	/* its entries are for blocks, and those of new blocks are made afterwards */
	if (index->rd_rel->relam == BRIN_AM_OID)
		return INDEX_INSERT;
	for (int i = 0; i < lengthof(insertion_rates); i++)
		if (insertion_rates[i].method == index->rd_rel->relam)
			rate = insertion_rates[i].rate;
	/* a page of dead rows takes about as long as an entry */
	return state->rows * rate < state->rebuilt_entries + state->dead_pages ?
		INDEX_INSERT : INDEX_REBUILD;
}

/* The cheaper way to a new file. */
static IndexMethod
choose_new_file(Relation index, const IndexState *state)
{
	return index->rd_rel->relam == BTREE_AM_OID &&
		cost_of(state, INDEX_MERGE) < cost_of(state, INDEX_REBUILD) &&
		find_merge_refusal(index) == REFUSAL_NONE ? INDEX_MERGE : INDEX_REBUILD;
}

static IndexMethod
choose_cheapest(Relation index, const IndexState *state)
{
	IndexMethod best;

	if (index->rd_rel->relam != BTREE_AM_OID)
		return choose_other(index, state);
	best = choose_new_file(index, state);
	return cost_of(state, INDEX_INSERT) < cost_of(state, best) ? INDEX_INSERT : best;
}

static const char *
reason_for(IndexMethod method)
{
	switch (method)
	{
		case INDEX_INSERT:
			return "it gets few entries for its size";
		case INDEX_MERGE:
			return "it gets many entries for its size";
		case INDEX_REBUILD:
			return "most of its entries are new";
	}
	pg_unreachable();
}

/* Whether the space of the load's rows may be reclaimed. */
static bool
may_give_back(const IndexPlan *plan)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(plan->table->heap);

	return plan->may_shrink &&
		nblocks - plan->table->heap_blocks >= nblocks / PLAN_LARGE_PART;
}

void
plan_choose(IndexPlan *plan)
{
	Relation	index = index_open(plan->relid, NoLock);
	IndexState	state = look_at(plan->table, index);

	if (plan->wanted != BULK_INDEXES_AUTO)
	{
		plan->method = plan->wanted == BULK_INDEXES_INSERT ? INDEX_INSERT :
			plan->wanted == BULK_INDEXES_MERGE ? INDEX_MERGE : INDEX_REBUILD;
		plan->reason = "option \"indexes\"";
	}
	else if (plan->table->heap_blocks == 0)
	{
		plan->method = INDEX_REBUILD;
		plan->reason = "the table was empty";
	}
	else
	{
		plan->method = choose_cheapest(index, &state);
		plan->reason = reason_for(plan->method);
		if (plan->method == INDEX_INSERT && may_give_back(plan))
		{
			plan->method = choose_new_file(index, &state);
			plan->reason = "rows may go again as duplicates";
		}
	}
	plan->weight = cost_of(&state, plan->method);
	plan->sort_memory = SORT_MEMORY_ROW *
		(plan->method == INDEX_REBUILD ? state.rebuilt_entries : state.rows);
	index_close(index, NoLock);
}

double
plan_seconds(const IndexPlan *plan, double rows)
{
	IndexPlan	guess = *plan;
	IndexTable	table = *plan->table;

	table.rows = rows;
	guess.table = &table;
	plan_choose(&guess);
	return guess.weight / 1000000;
}

/* ---- who builds what ---- */

/* Why a btree cannot be built by several processes, or NULL. */
static const char *
find_share_fault(const IndexPlan *plan, int processes)
{
	Relation	index = index_open(plan->relid, NoLock);
	Oid			method = index->rd_rel->relam;

	index_close(index, NoLock);
	if (method != BTREE_AM_OID)
		return "it is not a btree";
	if (plan->method != INDEX_REBUILD)
		return "it is not rebuilt";
	if (!plan->shareable)
		return "no worker may build it";
	if (RelationGetNumberOfBlocks(plan->table->heap) / BLOCKS_PER_PROCESS < processes)
		return "the table is small";
	return NULL;
}

/*
 * When all is done, if the first few of those that can be are built by all processes together and
 * then each process takes what has the most work.
 */
static double
guess_end(List *plans, int together, int processes)
{
	double	   *busy = palloc0(processes * sizeof(double));
	double		memory = maintenance_work_mem * 1024.0 / processes;
	double		end = 0;
	double		before = 0;
	ListCell   *lc;

	foreach(lc, plans)
	{
		const IndexPlan *plan = lfirst(lc);
		int			first = 0;

		if (plan->one_process == NULL && together-- > 0)
		{
			before += plan->weight / processes *
				(plan->sort_memory > memory ? 1 : COST_TOGETHER);
			continue;
		}
		/* only the leader can, when all others are done */
		if (!plan->shareable)
		{
			before += plan->weight;
			continue;
		}
		for (int i = 1; i < processes; i++)
			if (busy[i] < busy[first])
				first = i;
		busy[first] += plan->weight;
		end = Max(end, busy[first]);
	}
	pfree(busy);
	return before + end;
}

void
plan_share(List *plans, int processes)
{
	ListCell   *lc;
	int			able = 0;
	int			best = 0;
	int			most;

	foreach(lc, plans)
	{
		IndexPlan  *plan = lfirst(lc);

		plan->one_process = processes < 2 ? NULL : find_share_fault(plan, processes);
		able += plan->one_process == NULL;
	}
	/* of thousands only the largest matter */
	most = Min(able, SHARED_PER_PROCESS * processes);
	for (int i = 1; processes > 1 && i <= most; i++)
		if (guess_end(plans, i, processes) < guess_end(plans, best, processes))
			best = i;
	foreach(lc, plans)
	{
		IndexPlan  *plan = lfirst(lc);

		plan->together = plan->one_process == NULL && best-- > 0;
		if (!plan->together && plan->one_process == NULL && processes > 1)
			plan->one_process = "others are built meanwhile";
	}
}

/*
 * Expressions must be safe in a worker; exclusion constraints are checked with a
 * snapshot that cannot be had there.  Methods of extensions may start workers of
 * their own, which a worker cannot.
 */
static bool
is_shareable(Relation rel, Relation index)
{
	return !RelationUsesLocalBuffers(rel) && !index->rd_index->indisexclusion &&
		index->rd_rel->relam < FirstNormalObjectId &&
		workers_can_evaluate(list_concat_copy(RelationGetIndexExpressions(index),
											  RelationGetIndexPredicate(index)));
}

IndexTable *
plan_table(Relation rel, const BulkOptions *options, bool direct)
{
	IndexTable *table = palloc0(sizeof(IndexTable));
	ListCell   *lc;

	table->heap = rel;
	table->relid = RelationGetRelid(rel);
	table->name = pstrdup(RelationGetRelationName(rel));
	table->heap_blocks = RelationGetNumberOfBlocks(rel);
	table->vacant = direct && table->heap_blocks > 0 && dead_rows_only(rel);
	table->live_rows = -1;
	foreach(lc, RelationGetIndexList(rel))
	{
		IndexPlan  *plan = palloc0(sizeof(IndexPlan));
		Relation	index = index_open(lfirst_oid(lc), RowExclusiveLock);

		plan->table = table;
		plan->relid = lfirst_oid(lc);
		plan->name = pstrdup(RelationGetRelationName(index));
		plan->wanted = options->indexes;
		plan->after = direct;
		plan->dry = options->dry_run;
		plan->may_shrink = direct && options->on_duplicate != BULK_ON_DUPLICATE_ERROR;
		plan->method = INDEX_INSERT;
		plan->reason = direct ? "no row was loaded" : "the writer is buffered";
		plan->shareable = is_shareable(rel, index);
		index_close(index, NoLock);
		table->plans = lappend(table->plans, plan);
	}
	return table;
}

const char *
plan_method_name(IndexMethod method)
{
	switch (method)
	{
		case INDEX_INSERT:
			return "insert";
		case INDEX_MERGE:
			return "merge";
		case INDEX_REBUILD:
			return "rebuild";
	}
	pg_unreachable();
}
