/*
 * dry_run.c
 *		See dry_run.h.
 *
 * Pages are truncated as by VACUUM: when nobody uses the table, after the last
 * one with a row that anybody may still need.  No index that other transactions
 * see has an entry for the rows on them.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "index/private.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "row/sequence.h"
#include "server/compat.h"
#include "server/extend.h"
#include "server/subtransaction.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "table/compact.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "write/dry_run.h"

/*
 * How long to wait for others to release tables, in milliseconds: enough for
 * most readers to finish.
 */
#define PATIENCE 1000
#define NAP 50

typedef struct DryTable
{
	Oid			relid;
	BlockNumber first;			/* first block of the dry run */
	/* the table's size in the catalog */
	BlockNumber pages;
	BlockNumber visible;
	BlockNumber frozen;
	double		rows;
	/* after the rollback */
	BlockNumber end;			/* block after the last one that is needed */
	BlockNumber rest;			/* blocks to truncate */
} DryTable;

struct DryRun
{
	MemoryContext context;
	SubTransactionId caller;
	int			level;			/* the caller's */
	ResourceOwner owner;		/* the caller's */
	List	   *tables;
};

DryRun *
dry_run_create(void)
{
	DryRun	   *dry = palloc0(sizeof(DryRun));

	dry->context = CurrentMemoryContext;
	dry->caller = GetCurrentSubTransactionId();
	dry->level = GetCurrentTransactionNestLevel();
	dry->owner = CurrentResourceOwner;
	return dry;
}

SubTransactionId
dry_run_caller(const DryRun *dry)
{
	return dry->caller;
}

/* ---- before rows come ---- */

/* The next row begins a new page, as all pages before count as full. */
static void
begin_page(Relation rel, BlockNumber block)
{
	Buffer		buffer;

	(void) extend_table(rel, NULL, 1, &buffer);
	Assert(BufferGetBlockNumber(buffer) == block);
	ReleaseBuffer(buffer);
	RelationSetTargetBlock(rel, block);
}

static void
prepare_one(DryRun *dry, Relation rel, bool by_page)
{
	MemoryContext old;
	DryTable   *table;

	/* other access methods are unknown; a new file is dropped as a whole */
	if (rel->rd_tableam != GetHeapamTableAmRoutine() ||
		rel->rd_newRelfilelocatorSubid == GetCurrentSubTransactionId())
		return;
	old = MemoryContextSwitchTo(dry->context);
	table = palloc(sizeof(DryTable));
	table->relid = RelationGetRelid(rel);
	table->first = RelationGetNumberOfBlocks(rel);
	table->pages = rel->rd_rel->relpages;
	table->visible = rel->rd_rel->relallvisible;
	table->frozen = COMPAT_FROZEN_PAGES(rel);
	table->rows = rel->rd_rel->reltuples;
	dry->tables = lappend(dry->tables, table);
	MemoryContextSwitchTo(old);
	if (!by_page)
		begin_page(rel, table->first);
}

static void
make_indexes_private(Relation rel, int opened)
{
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(rel))
		private_index(lfirst_oid(lc), opened);
}

/*
 * The lock of the table keeps writers away from its TOAST table, but not
 * VACUUM.  This lock belongs to the caller's resource owner, or it would be
 * released before the pages are truncated.
 */
static void
lock_toast(DryRun *dry, Oid toast)
{
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = dry->owner;
	LockRelationOid(toast, ShareUpdateExclusiveLock);
	CurrentResourceOwner = owner;
}

void
dry_run_prepare(DryRun *dry, Relation rel, bool by_page, int opened)
{
	Oid			toast = rel->rd_rel->reltoastrelid;

	/* what is done here must be undone with the whole dry run, not with a guard */
	Assert(GetCurrentTransactionNestLevel() == dry->level + 1);
	if (!RELKIND_HAS_STORAGE(rel->rd_rel->relkind))
		return;
	make_indexes_private(rel, opened);
	if (OidIsValid(toast))
	{
		Relation	toastrel;

		lock_toast(dry, toast);
		toastrel = table_open(toast, NoLock);
		make_indexes_private(toastrel, 0);
		prepare_one(dry, toastrel, by_page);
		table_close(toastrel, NoLock);
	}
	prepare_one(dry, rel, by_page);
}

void
dry_run_sequences(Relation rel)
{
	ListCell   *lc;

	foreach(lc, sequence_list(rel))
	{
		Relation	sequence = relation_open(lfirst_oid(lc), RowExclusiveLock);

		if (sequence->rd_rel->relkind == RELKIND_SEQUENCE)
			private_file(sequence);
		relation_close(sequence, NoLock);
	}
}

/* ---- after the rollback ---- */

/* Whether a page has only rows whose insertion was rolled back. */
static bool
is_dead(Page page)
{
	OffsetNumber most;

	if (PageIsNew(page))
		return true;
	most = PageGetMaxOffsetNumber(page);
	for (OffsetNumber i = FirstOffsetNumber; i <= most; i++)
	{
		ItemId		id = PageGetItemId(page, i);
		HeapTupleHeader header;
		TransactionId xmin;

		/* readers may have pruned the page */
		if (!ItemIdIsUsed(id) || ItemIdIsDead(id))
			continue;
		if (!ItemIdIsNormal(id))
			return false;
		header = (HeapTupleHeader) PageGetItem(page, id);
		xmin = HeapTupleHeaderGetRawXmin(header);
		if (HeapTupleHeaderXminFrozen(header) ||
			(TransactionIdIsValid(xmin) && !TransactionIdDidAbort(xmin)))
			return false;
	}
	return true;
}

/* The block after the last one that is needed. */
static BlockNumber
find_end(Relation rel, BlockNumber first)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	BlockNumber end = RelationGetNumberOfBlocks(rel);
	bool		dead = true;

	while (end > first && dead)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, end - 1, RBM_NORMAL, strategy);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		dead = is_dead(BufferGetPage(buffer));
		UnlockReleaseBuffer(buffer);
		if (dead)
			end--;
	}
	FreeAccessStrategy(strategy);
	return end;
}

static void
tell_rest(const DryTable *table)
{
	if (table->rest == 0)
		return;
	ereport(NOTICE,
			(errmsg_plural("dry run leaves %u empty page at the end of \"%s\"",
						   "dry run leaves %u empty pages at the end of \"%s\"",
						   table->rest, table->rest, get_rel_name(table->relid)),
			 errdetail("Others use the table."),
			 errhint("VACUUM gives the space back.")));
}

/* Index builds have counted rows that are gone now, in a way that is not rolled back. */
static void
restore_statistics(const DryTable *table, Relation rel)
{
	if (rel->rd_rel->relkind == RELKIND_RELATION &&
		(rel->rd_rel->relpages != table->pages || rel->rd_rel->reltuples != (float4) table->rows))
		compat_update_relstats(rel, table->pages, table->rows, table->visible,
							   table->frozen, rel->rd_rel->relhasindex);
}

/*
 * Truncates tables to their old size, except those that others use; returns
 * whether there are such.
 */
static bool
cut_off(DryRun *dry)
{
	bool		used = false;
	ListCell   *lc;

	foreach(lc, dry->tables)
	{
		DryTable   *table = lfirst(lc);
		Relation	rel;

		if (table->rest == 0)
			continue;
		rel = table_open(table->relid, AccessShareLock);
		if (compact_truncate(rel, table->end))
			table->rest = 0;
		else
			used = true;
		table_close(rel, NoLock);
	}
	return used;
}

/* patience: how long to wait for others, for all tables together. */
static void
clean_up(DryRun *dry, int patience)
{
	ListCell   *lc;

	foreach(lc, dry->tables)
	{
		DryTable   *table = lfirst(lc);
		Relation	rel = table_open(table->relid, AccessShareLock);

		restore_statistics(table, rel);
		/* the caller's locks prevent changes */
		table->end = find_end(rel, table->first);
		table->rest = RelationGetNumberOfBlocks(rel) - table->end;
		table_close(rel, NoLock);
	}
	while (cut_off(dry) && patience > 0)
	{
		pg_usleep(NAP * 1000L);
		CHECK_FOR_INTERRUPTS();
		patience -= NAP;
	}
	foreach(lc, dry->tables)
		tell_rest(lfirst(lc));
	dry->tables = NIL;
}

/* ---- the subtransaction ---- */

/*
 * What the transaction's commit would do, as the user that it would be done as:
 * deferred triggers must not run with the rights of a SECURITY DEFINER function
 * around the load.  After an error the subtransaction's end restores the user.
 */
static void
fire_deferred(void)
{
	ConstraintsSetStmt *stmt = makeNode(ConstraintsSetStmt);
	Oid			user;
	int			security;

	stmt->constraints = NIL;
	stmt->deferred = false;
	CommandCounterIncrement();
	GetUserIdAndSecContext(&user, &security);
	/* within a SECURITY DEFINER function the user still cannot be changed */
	SetUserIdAndSecContext(GetOuterUserId(), security);
	AfterTriggerSetState(stmt);
	SetUserIdAndSecContext(user, security);
}

typedef struct DryBody
{
	void		(*run) (void *arg);
	void	   *arg;
} DryBody;

static bool
run_body(void *arg)
{
	DryBody    *body = arg;

	body->run(body->arg);
	fire_deferred();
	return false;
}

void
dry_run(DryRun *dry, void (*run) (void *arg), void *arg)
{
	DryBody		body = {.run = run,.arg = arg};

	PG_TRY();
	{
		(void) subtransaction_run(run_body, &body);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(dry->context);
		error = CopyErrorData();
		FlushErrorState();
		clean_up(dry, 0);
		ReThrowError(error);
	}
	PG_END_TRY();
	clean_up(dry, PATIENCE);
}
