/*
 * private.c
 *		See private.h.
 *
 * The steps, and what a crash after each leaves behind:
 *
 *	1. RelationSetNewRelfilenumber   pg_class has a new row with the new file's number, of a
 *	                                 subtransaction that never commits.  The file is removed at
 *	                                 its end (PendingRelDelete).
 *	   crash:                        an empty file; harmless, but nobody removes it, as with
 *	                                 CREATE INDEX
 *	2. private_mark                  the file gets an init fork, not logged
 *	   crash:                        ResetUnloggedRelations removes all forks of a file with an
 *	                                 init fork but this one, then copies that one, which is empty
 *	3. copy_pages                    the old file's pages, by shared buffers, to the new file
 *	   crash:                        as after 2; a logged one's file remains, as after 1
 *	4. abort of the subtransaction   the old row of pg_class, so the old file, is valid again
 *
 *		pg_class:  old row (file 100) -----------------+----> valid again
 *		           new row (file 200) ... aborted      |
 *		file 100:  others read and write it all the while
 *		file 200:  this session's, and its workers' ---+ removed
 *
 * The copy of a btree or a sequence is an unlogged relation, so there is no WAL of it.  Others are
 * logged: GiST compares the LSNs of its pages, and what other access methods do is not known.
 * Whatever their layout, pages are logged whole: log_newpage with page_std = false, as
 * RelationCopyStorage does it.  In contrast to that the old pages are read through shared buffers,
 * where others may just have changed them.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/ginblock.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "catalog/pg_am_d.h"
#include "index/private.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"

/*
 * A relation with the file that it had before it got another one: a shallow copy.  Buffers of the
 * old file are found by its locator, and are read in with its persistence, which is the class's:
 * a permanent relation's buffers must not be taken for an unlogged one's.
 */
typedef struct OldFile
{
	RelationData rel;
	FormData_pg_class class;
} OldFile;

/* To be called before the relation gets its new file. */
static void
remember(OldFile *old, Relation rel)
{
	memcpy(&old->class, rel->rd_rel, CLASS_TUPLE_SIZE);
	old->rel = *rel;
	old->rel.rd_rel = &old->class;
	/* statistics are for the relation's own file */
	old->rel.pgstat_enabled = false;
	old->rel.pgstat_info = NULL;
}

/* A copy of a page: what its lock allows others to change is either done or not begun. */
static void
read_page(OldFile *old, BlockNumber block, BufferAccessStrategy strategy, char *page)
{
	Buffer		buffer;

	/* the storage manager may have closed the file since the last page */
	old->rel.rd_smgr = smgropen(old->rel.rd_locator, old->rel.rd_backend);
	buffer = ReadBufferExtended(&old->rel, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(page, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

/*
 * Step 3, past shared buffers: nobody else knows the new file.  Pages that others add to the old
 * file meanwhile are not copied.
 */
static void
copy_pages(OldFile *old, Relation rel)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	BlockNumber nblocks = smgrnblocks(smgropen(old->rel.rd_locator, old->rel.rd_backend),
									  MAIN_FORKNUM);
	bool		logged = RelationNeedsWAL(rel);
	PGIOAlignedBlock copy;

	Assert(memcmp(&old->rel.rd_locator, &rel->rd_locator, sizeof(rel->rd_locator)) != 0);
	Assert(smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM) == 0);
	for (BlockNumber block = 0; block < nblocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		read_page(old, block, strategy, copy.data);
		if (logged)
		{
			XLogRecPtr	lsn = log_newpage(&rel->rd_locator, MAIN_FORKNUM, block,
										  (Page) copy.data, false);

			/* the checksum covers it */
			Assert(PageIsNew((Page) copy.data) || PageGetLSN((Page) copy.data) == lsn);
			(void) lsn;
		}
		PageSetChecksumInplace((Page) copy.data, block);
		smgrextend(RelationGetSmgr(rel), MAIN_FORKNUM, block, copy.data, !logged);
	}
	Assert(smgrnblocks(RelationGetSmgr(rel), MAIN_FORKNUM) == nblocks);

	/*
	 * A checkpoint since the first page knows nothing of the file, and replay from there would not
	 * make these pages.  An unlogged one goes with its subtransaction: nothing need be on disk.
	 */
	if (logged)
		smgrimmedsync(RelationGetSmgr(rel), MAIN_FORKNUM);
	FreeAccessStrategy(strategy);
}

/* Temporary and unlogged relations stay what they are: their files are not logged anyhow. */
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

	/* the old file comes back only with a subtransaction's abort */
	Assert(GetCurrentTransactionNestLevel() > 1);
	Assert(rel->rd_rel->relkind == RELKIND_INDEX || rel->rd_rel->relkind == RELKIND_SEQUENCE);
	remember(old, rel);
	RelationSetNewRelfilenumber(rel, choose_persistence(rel));
	Assert(rel->rd_newRelfilelocatorSubid == GetCurrentSubTransactionId());
	private_mark(rel);
	/* nobody moves pending entries meanwhile from pages that are copied to others */
	if (rel->rd_rel->relam == GIN_AM_OID)
		LockPage(rel, GIN_METAPAGE_BLKNO, ExclusiveLock);
	copy_pages(old, rel);
	if (rel->rd_rel->relam == GIN_AM_OID)
		UnlockPage(rel, GIN_METAPAGE_BLKNO, ExclusiveLock);
	/* RelationSetNewRelfilenumber has set these to those of an empty relation */
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
	/* against ALTER INDEX and REINDEX, which would give it yet another file */
	LockRelation(index, ShareUpdateExclusiveLock);
	private_file(index);
	index_close(index, NoLock);
}
