/*
 * create_index.c
 *		See create_index.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/storage.h"
#include "index/gain.h"
#include "index/parallel_build.h"
#include "index/range_build.h"
#include "server/progress.h"
#include "server/workers.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utility/create_index.h"
#include "utility/statements.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"

bool		create_index_enabled = false;
bool		create_index_always = false;

static object_access_hook_type next_hook;

/* What btrees of the cache point to: the server's routines, but for ambuild. */
static IndexAmRoutine routine;

/* ---- building ---- */

/* Why an index is left to the server, or NULL. */
static const char *
find_refusal(Relation heap, Relation index, IndexInfo *info)
{
	if (info->ii_Concurrent)
		return "It is built concurrently.";
	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		return "The table has another access method.";
	if (IsCatalogRelation(heap))
		return "The table is a system catalog.";
	if (RelationUsesLocalBuffers(heap))
		return "The table is temporary.";
	if (create_index_always)
		return NULL;
	return gain_refusal(heap, index, info, RelationGetNumberOfBlocks(heap));
}

/* Where rows with the same key of a unique index are noted: that there are any is enough. */
static void
note_duplicate(void *arg, uint32 group, RowId row)
{
	*(bool *) arg = true;
}

/* Has the index built; false: keys that must be unique are not, and it is empty again. */
static bool
build_entries(Relation heap, Relation index, IndexInfo *info, BuildResult *result)
{
	bool		duplicates = false;
	ConflictSink sink = {.add = note_duplicate,.arg = &duplicates};
	Conflicts  *conflicts = conflicts_open();
	int			workers = workers_with_cpu(Min(info->ii_ParallelWorkers,
											   RANGE_BUILD_MAX_PROCESSES - 1));
	ParallelIndex build = {
		.heap = RelationGetRelid(heap),
		.heap_lock = ShareLock,
		.relid = RelationGetRelid(index),
		.index_lock = AccessExclusiveLock,
		.task.method = INDEX_REBUILD,
		.together = workers > 0
	};

	conflicts_add_table(conflicts, 0, true);
	/* also where it is not to be checked: after a rewrite of its table */
	if (index->rd_index->indisunique)
		conflicts_add_index(conflicts, build.relid, &sink);
	progress_index_shown(true);
	PG_TRY();
	{
		parallel_build_all(&build, 1, workers, conflicts);
	}
	PG_FINALLY();
	{
		progress_index_shown(false);
	}
	PG_END_TRY();
	conflicts_close(conflicts);
	*result = build.result;
	if (!duplicates || !info->ii_Unique)
		return true;
	RelationTruncate(index, 0);
	return false;
}

/* The index of a TOAST table is no statement of the user's. */
static void
count_build(Relation heap, Relation index, const char *refusal)
{
	if (IsToastRelation(heap))
		return;
	if (refusal != NULL)
		statements_leave(STATEMENT_CREATE_INDEX, refusal, RelationGetRelationName(index));
	else
		statements_take(STATEMENT_CREATE_INDEX);
}

static IndexBuildResult *
build_instead(Relation heap, Relation index, IndexInfo *info)
{
	const char *refusal;
	MemoryContext context;
	MemoryContext old;
	BuildResult built;
	IndexBuildResult *result;
	bool		unique;

	if (!create_index_enabled)
		return btbuild(heap, index, info);
	refusal = find_refusal(heap, index, info);
	count_build(heap, index, refusal);
	if (refusal != NULL)
		return btbuild(heap, index, info);
	context = AllocSetContextCreate(CurrentMemoryContext, "create index", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	unique = build_entries(heap, index, info, &built);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	if (!unique)
		return btbuild(heap, index, info);
	info->ii_BrokenHotChain |= built.broken_chains;
	result = palloc(sizeof(IndexBuildResult));
	result->heap_tuples = built.heap_rows;
	result->index_tuples = built.index_rows;
	return result;
}

/* ---- getting there ---- */

/* The routines of another access method that has the server's ambuild would not be these. */
static void
take_over(Relation index)
{
	if (index->rd_rel->relam != BTREE_AM_OID || index->rd_indam == NULL ||
		index->rd_indam->ambuild != btbuild)
		return;
	routine = *index->rd_indam;
	routine.ambuild = build_instead;
	index->rd_indam = &routine;
}

/*
 * A relation has been created, whose entry in the cache is there.  That of an index gets its access
 * method's routines with the next command, which begins here rather than when we return.
 */
static void
note_created(Oid relid)
{
	Relation	rel = RelationIdGetRelation(relid);

	if (rel == NULL)
		return;
	if (rel->rd_rel->relkind == RELKIND_INDEX)
	{
		CommandCounterIncrement();
		take_over(rel);
	}
	RelationClose(rel);
}

static void
note_access(ObjectAccessType access, Oid class, Oid object, int sub, void *arg)
{
	if (next_hook != NULL)
		next_hook(access, class, object, sub, arg);
	if (create_index_enabled && access == OAT_POST_CREATE && class == RelationRelationId &&
		sub == 0)
		note_created(object);
}

/*
 * An index that REINDEX, or what rewrites a table, is about to fill has got its new file, and so
 * its entry in the cache, which is open, has been built anew.
 */
static void
note_changed(Datum arg, Oid relid)
{
	Relation	index;

	if (!create_index_enabled || !OidIsValid(relid) || IsCatalogRelationOid(relid) ||
		!ReindexIsProcessingIndex(relid) ||
		!CheckRelationOidLockedByMe(relid, AccessExclusiveLock, false))
		return;
	index = RelationIdGetRelation(relid);
	if (index == NULL)
		return;
	take_over(index);
	RelationClose(index);
}

void
create_index_install(void)
{
	next_hook = object_access_hook;
	object_access_hook = note_access;
	CacheRegisterRelcacheCallback(note_changed, (Datum) 0);
}
