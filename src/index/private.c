/*
 * private.c
 *		See private.h.
 *
 * The copy of a btree or a sequence is an unlogged relation, so that there is no WAL of it, and
 * after a crash the server removes what it finds of the file, because of its init fork.  Others are
 * logged: GiST compares the LSNs of its pages, and who knows what other methods do.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "catalog/pg_am_d.h"
#include "compat.h"
#include "index/private.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"

/*
 * A file as it was before its relation got another one: a shallow copy of the relation.  Its buffers must be
 * found, and read in, as what they are to others, so it has the old class, too.
 */
typedef struct OldFile
{
	RelationData rel;
	FormData_pg_class class;
} OldFile;

static void
remember(OldFile *old, Relation rel)
{
	memcpy(&old->class, rel->rd_rel, CLASS_TUPLE_SIZE);
	old->rel = *rel;
	old->rel.rd_rel = &old->class;
	/* statistics know nothing of it */
	old->rel.pgstat_enabled = false;
	old->rel.pgstat_info = NULL;
}

static void
read_page(OldFile *old, BlockNumber block, BufferAccessStrategy strategy, char *page)
{
	Buffer		buffer;

	/* the storage manager may have let go of the file since the last page */
	old->rel.rd_smgr = smgropen(old->rel.rd_locator, old->rel.rd_backend);
	buffer = ReadBufferExtended(&old->rel, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(page, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

static void
copy_pages(OldFile *old, Relation rel)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	BlockNumber nblocks = smgrnblocks(smgropen(old->rel.rd_locator, old->rel.rd_backend),
									  MAIN_FORKNUM);
	bool		logged = RelationNeedsWAL(rel);
	PGIOAlignedBlock copy;

	for (BlockNumber block = 0; block < nblocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		read_page(old, block, strategy, copy.data);
		if (logged)
			log_newpage(&rel->rd_locator, MAIN_FORKNUM, block, (Page) copy.data, false);
		PageSetChecksumInplace((Page) copy.data, block);
		smgrextend(RelationGetSmgr(rel), MAIN_FORKNUM, block, copy.data, !logged);
	}
	/* a checkpoint since the first page knows nothing of it */
	if (logged)
		smgrimmedsync(RelationGetSmgr(rel), MAIN_FORKNUM);
	FreeAccessStrategy(strategy);
}

static char
choose_persistence(Relation rel)
{
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
		(rel->rd_rel->relkind == RELKIND_SEQUENCE || rel->rd_rel->relam == BTREE_AM_OID))
		return RELPERSISTENCE_UNLOGGED;
	return rel->rd_rel->relpersistence;
}

void
private_mark(Relation rel)
{
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		smgrcreate(RelationGetSmgr(rel), INIT_FORKNUM, false);
}

void
private_file(Relation rel)
{
	OldFile    *old = palloc(sizeof(OldFile));

	remember(old, rel);
	RelationSetNewRelfilenumber(rel, choose_persistence(rel));
	private_mark(rel);
	copy_pages(old, rel);
	/* the copy is as large */
	if (rel->rd_rel->relkind == RELKIND_INDEX)
		compat_update_relstats(rel, old->class.relpages, old->class.reltuples, 0, 0, false);
	pfree(old);
}

void
private_index(Oid relid, int opened)
{
	Relation	index = index_open(relid, RowExclusiveLock);

	if (index->rd_newRelfilelocatorSubid == GetCurrentSubTransactionId())
	{
		index_close(index, NoLock);
		return;
	}
	if (index->rd_refcnt > opened + 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("dry run cannot use index \"%s\" because it is being used by active queries in this session",
						RelationGetRelationName(index))));
	/* keeps ALTER INDEX away */
	LockRelation(index, ShareUpdateExclusiveLock);
	private_file(index);
	index_close(index, NoLock);
}
