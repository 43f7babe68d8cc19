/*
 * duplicates.c
 *		See duplicates.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/tupconvert.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "check/duplicates.h"
#include "check/tables.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "server/records.h"
#include "table/target.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/* Rows between two checks for interrupts. */
#define ROWS_AT_ONCE 1024

/* The row that currently holds a key. */
typedef struct KeyHolder
{
	RowId		row;
	uint64		number;			/* sequence number from 1; 0: no row */
} KeyHolder;

/* A key of the current row. */
typedef struct Key
{
	int			index;
	KeyHolder  *holder;
} Key;

typedef struct Decision
{
	BulkOnDuplicate policy;
	const DuplicateSink *sink;
	KeyHolder **holder;			/* by index and group */
	uint64	   *gone;			/* bitmap by row number; keep_new only */

	/* the current row */
	RowId		row;
	uint64		number;
	int			nkeys;
	Key		   *keys;
} Decision;

static inline bool
is_gone(const Decision *decision, uint64 number)
{
	return (decision->gone[number / 64] >> number % 64 & 1) != 0;
}

/* A row whose key is taken is dropped, and holds none of its other keys either. */
static void
keep_old(Decision *decision)
{
	const DuplicateSink *sink = decision->sink;

	for (int i = 0; i < decision->nkeys; i++)
		if (decision->keys[i].holder->number > 0)
		{
			sink->lost(sink->arg, decision->row, decision->keys[i].holder->row,
					   decision->keys[i].index);
			return;
		}
	for (int i = 0; i < decision->nkeys; i++)
		*decision->keys[i].holder = (KeyHolder) {decision->row, decision->number};
}

/* Rows that hold one of its keys are removed. */
static void
keep_new(Decision *decision)
{
	const DuplicateSink *sink = decision->sink;

	for (int i = 0; i < decision->nkeys; i++)
	{
		KeyHolder  *holder = decision->keys[i].holder;

		if (holder->number > 0 && !is_gone(decision, holder->number))
		{
			sink->lost(sink->arg, holder->row, decision->row,
					   decision->keys[i].index);
			decision->gone[holder->number / 64] |= UINT64CONST(1) << holder->number % 64;
		}
		*holder = (KeyHolder) {decision->row, decision->number};
	}
}

/* Decides on the current row, all of whose keys are known. */
static void
decide_row(Decision *decision)
{
	const DuplicateSink *sink = decision->sink;

	if (decision->nkeys == 0 || !sink->is_there(sink->arg, decision->row))
		return;
	decision->number++;
	if (decision->policy != BULK_ON_DUPLICATE_KEEP_NEW)
		keep_old(decision);
	else
		keep_new(decision);
}

/* Sorts what was noted by row and then by index. */
static Records *
sort_by_rows(Conflicts *conflicts)
{
	Records    *rows = records_open(3, maintenance_work_mem / 4);
	RowId		row;
	int			index;
	uint32		group;
	uint32		n = 0;

	while (conflicts_next(conflicts, &row, &index, &group))
	{
		int64		values[3] = {(int64) row, index, group};

		if (n++ % ROWS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		records_put(rows, values);
	}
	records_sort(rows);
	return rows;
}

static void
decide_all(Decision *decision, Conflicts *conflicts)
{
	Records    *rows = sort_by_rows(conflicts);
	int64		next[3];
	uint32		n = 0;

	while (records_next(rows, next))
	{
		if (n++ % ROWS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		if ((RowId) next[0] != decision->row)
		{
			decide_row(decision);
			decision->row = (RowId) next[0];
			decision->nkeys = 0;
		}
		decision->keys[decision->nkeys++] = (Key) {
			.index = next[1],
			.holder = &decision->holder[next[1]][next[2]]
		};
	}
	decide_row(decision);
	records_close(rows);
}

/* With several indexes: takes rows in input order and tracks the holder of each key. */
static void
decide_by_rows(Conflicts *conflicts, BulkOnDuplicate policy,
			   const DuplicateSink *sink)
{
	int			nindexes = conflicts_nindexes(conflicts);
	Decision	decision = {.policy = policy,.sink = sink};

	decision.holder = palloc(nindexes * sizeof(KeyHolder *));
	decision.keys = palloc(nindexes * sizeof(Key));
	for (int i = 0; i < nindexes; i++)
		decision.holder[i] =
			MemoryContextAllocExtended(CurrentMemoryContext,
									   ((Size) conflicts_groups(conflicts, i) + 1) *
									   sizeof(KeyHolder),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (policy == BULK_ON_DUPLICATE_KEEP_NEW)
		decision.gone =
			MemoryContextAllocExtended(CurrentMemoryContext,
									   (Size) (conflicts_count(conflicts) / 64 + 1) *
									   sizeof(uint64),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	decide_all(&decision, conflicts);
}

/* ---- one index ---- */

/* Whether rows share keys in a single index. */
static bool
is_one_index(const Conflicts *conflicts)
{
	int			n = 0;

	for (int i = 0; i < conflicts_nindexes(conflicts); i++)
		n += conflicts_groups(conflicts, i) > 0;
	return n == 1;
}

/*
 * With a single index, the decision on a row depends only on rows with the same
 * key: they are taken key by key, and no state is kept across keys.
 */
static void
decide_by_groups(Conflicts *conflicts, BulkOnDuplicate policy,
				 const DuplicateSink *sink)
{
	int64		current = -1;
	RowId		holder = 0;
	RowId		row;
	int			index;
	uint32		group;
	uint32		n = 0;

	while (conflicts_next(conflicts, &row, &index, &group))
	{
		if (n++ % ROWS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		if (!sink->is_there(sink->arg, row))
			continue;
		if (group != current)
		{
			current = group;
			holder = row;
		}
		else if (policy != BULK_ON_DUPLICATE_KEEP_NEW)
			sink->lost(sink->arg, row, holder, index);
		else
		{
			sink->lost(sink->arg, holder, row, index);
			holder = row;
		}
	}
}

void
duplicates_decide(Conflicts *conflicts, BulkOnDuplicate policy,
				  const DuplicateSink *sink)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "bulk_load duplicates",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	if (is_one_index(conflicts))
		decide_by_groups(conflicts, policy, sink);
	else
		decide_by_rows(conflicts, policy, sink);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* ---- messages ---- */

char *
duplicates_key(Relation index, IndexInfo *info, TupleTableSlot *slot, EState *estate)
{
	ExprContext *econtext = GetPerTupleExprContext(estate);
	TupleTableSlot *before = econtext->ecxt_scantuple;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	econtext->ecxt_scantuple = slot;
	FormIndexDatum(info, slot, estate, values, isnull);
	econtext->ecxt_scantuple = before;
	return BuildIndexValueDescription(index, values, isnull);
}

char *
duplicates_row(Relation target, Relation rel, TupleTableSlot *slot)
{
	TupleConversionMap *map = NULL;
	bool		owned;
	HeapTuple	row;

	if (RelationGetRelid(target) != RelationGetRelid(rel))
		map = convert_tuples_by_name(RelationGetDescr(rel), RelationGetDescr(target));
	if (map == NULL)
		return OidOutputFunctionCall(F_RECORD_OUT, ExecFetchSlotHeapTupleDatum(slot));
	row = execute_attr_map_tuple(ExecFetchSlotHeapTuple(slot, false, &owned), map);
	return OidOutputFunctionCall(F_RECORD_OUT,
								 heap_copy_tuple_as_datum(row, RelationGetDescr(target)));
}

static bool
is_exclusion(Oid index)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", index);
	result = ((Form_pg_index) GETSTRUCT(tuple))->indisexclusion;
	ReleaseSysCache(tuple);
	return result;
}

char *
duplicates_message(Oid index, RejectReason reason, BulkOnDuplicate policy,
				   const char *key, int *sqlstate)
{
	const char *name = get_rel_name(index);
	bool		exclusion = is_exclusion(index);
	StringInfoData text;

	initStringInfo(&text);
	*sqlstate = exclusion ? ERRCODE_EXCLUSION_VIOLATION : ERRCODE_UNIQUE_VIOLATION;
	if (reason == REJECT_REPLACED)
		appendStringInfo(&text, "row was replaced by one with the same key in \"%s\"", name);
	else if (exclusion)
		appendStringInfo(&text, "conflicting key value violates exclusion constraint \"%s\"", name);
	else
		appendStringInfo(&text, "duplicate key value violates unique constraint \"%s\"", name);
	if (key == NULL)
		return text.data;

	appendStringInfo(&text, ": Key %s", key);
	if (reason == REJECT_REPLACED)
		appendStringInfoChar(&text, '.');
	else if (policy == BULK_ON_DUPLICATE_KEEP_NEW)
		appendStringInfoString(&text, exclusion ? " conflicts with a later key." : " came again.");
	else
		appendStringInfoString(&text, exclusion ? " conflicts with an existing key." :
							   " already exists.");
	return text.data;
}

/* Whether a partition has indexes; these may be its own. */
static bool
has_indexed_leaf(Relation rel)
{
	bool		found = false;
	ListCell   *lc;

	foreach(lc, find_all_inheritors(RelationGetRelid(rel), NoLock, NULL))
	{
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(lfirst_oid(lc)));
		Form_pg_class class;

		if (!HeapTupleIsValid(tuple))
			continue;
		class = (Form_pg_class) GETSTRUCT(tuple);
		found |= class->relkind == RELKIND_RELATION && class->relhasindex;
		ReleaseSysCache(tuple);
	}
	return found;
}

void
duplicates_notice(Relation target, const BulkOptions *options)
{
	if (options->on_duplicate == BULK_ON_DUPLICATE_ERROR ||
		options->log_verbosity == BULK_VERBOSITY_SILENT ||
		tables_unique_indexes(target) != NIL ||
		(target->rd_rel->relkind != RELKIND_RELATION &&
		 (target->rd_rel->relkind != RELKIND_PARTITIONED_TABLE || has_indexed_leaf(target))))
		return;
	ereport(NOTICE,
			(errmsg("option \"on_duplicate\" has no effect: \"%s\" has no unique index",
					RelationGetRelationName(target)),
			 errhint("Create a unique index on the columns by which rows are the same.")));
}

const char *
duplicates_hint(Relation target, const BulkOptions *options)
{
	if (options->plain || options->on_duplicate != BULK_ON_DUPLICATE_ERROR || options->freeze ||
		target_find_deferrable(target) != NULL)
		return NULL;
	return "To set aside rows whose key already exists, set option \"on_duplicate\" to \"keep_old\"; to replace the existing rows, set it to \"keep_new\".";
}
