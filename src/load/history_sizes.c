/*
 * history_sizes.c
 *		Option once: large files whose size no other has, which need not be read before the load.
 *
 * A file is known by its content, which takes a reading to know; but the content of a file whose
 * size no remembered one has is new.  That it stays new until the load has remembered it is
 * guarded by locks on sizes, those of advisory locks in a class of their own:
 *
 * size of a file	exclusive: it is loaded without being read before
 *					shared: it is read, and its content claimed
 * all sizes		row exclusive, with each exclusive one
 *					shared, instead of those of many files
 *
 * They are held until the transaction ends.  So while a file is loaded unread no other load has
 * claimed the content of one of that size, or remembers it; and who comes later waits, and finds
 * the size.  A load that would have to wait to load a file unread reads it.
 *
 * Price: a lock for each of such files, and of two files of one size that has not been loaded
 * before the second one waits for the first.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "load/history.h"
#include "load/history_state.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "stream/content.h"

/* What is smaller is read in less time than locks and look-ups take. */
#define LARGE_FILE (8 * 1024 * 1024)

/* More locks of a transaction than this are one on all sizes. */
#define MAX_SIZES 32

/* Of advisory locks; those of SQL functions have the classes 1 and 2. */
#define SIZE_LOCKS 0x6273
#define ALL_SIZES_LOCKS 0x6274

/* Of a size, as much as a lock can tell. */
static inline uint32
size_number(int64 size)
{
	return (uint32) size ^ (uint32) ((uint64) size >> 32);
}

static LOCKTAG
size_tag(const History *history, int64 size)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, history->target, size_number(size), SIZE_LOCKS);
	return tag;
}

static LOCKTAG
all_sizes_tag(const History *history)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, history->target, 0, ALL_SIZES_LOCKS);
	return tag;
}

static void
lock(LOCKTAG tag, LOCKMODE mode)
{
	(void) LockAcquire(&tag, mode, false, false);
}

static bool
lock_now(LOCKTAG tag, LOCKMODE mode)
{
	return LockAcquire(&tag, mode, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

static void
unlock(LOCKTAG tag, LOCKMODE mode)
{
	(void) LockRelease(&tag, mode, false);
}

/*
 * Whether a file may have content that is remembered: of its size, or of its tail's or part's; also
 * where a crash has taken that, whose claim is still there.
 */
static bool
may_be_known(const History *history, const HistoryTable *table, int64 size)
{
	Oid			types[] = {OIDOID, INT8OID};
	Datum		values[] = {ObjectIdGetDatum(history->target), Int64GetDatum(size)};

	return history_table_run(table,
							 psprintf("SELECT WHERE EXISTS (SELECT FROM %s"
									  " WHERE target OPERATOR(pg_catalog.=) $1 AND size OPERATOR(pg_catalog.=) $2)"
									  " OR EXISTS (SELECT FROM %s WHERE target OPERATOR(pg_catalog.=) $1"
									  " AND loaded_to OPERATOR(pg_catalog.=) $2"
									  " AND loaded_to OPERATOR(pg_catalog.<>) size)",
									  table->name, table->name),
							 2, types, values, NULL, NULL, 0) > 0;
}

/* Locks the size of a file that is to be loaded unread; false: it must be read. */
static bool
lock_unread(const History *history, const HistoryTable *table, int64 size)
{
	LOCKTAG		tag = size_tag(history, size);

	if (!lock_now(tag, ExclusiveLock))
		return false;
	if (!may_be_known(history, table, size))
		return true;
	lock(tag, ShareLock);
	unlock(tag, ExclusiveLock);
	return false;
}

/* By what is locked: all sessions lock in one order. */
static int
compare_sizes(const void *a, const void *b)
{
	uint32		left = size_number((*(HistoryFile *const *) a)->stamp.size);
	uint32		right = size_number((*(HistoryFile *const *) b)->stamp.size);

	return (left > right) - (left < right);
}

/* The large ones, in that order. */
static HistoryFile **
sort_large_files(History *history, int *n)
{
	HistoryFile **large = palloc(sizeof(HistoryFile *) * Max(history->nfiles, 1));

	*n = 0;
	for (int i = 0; i < history->nfiles; i++)
		if (history->files[i].is_file && history->files[i].stamp.size >= LARGE_FILE)
			large[(*n)++] = &history->files[i];
	qsort(large, *n, sizeof(HistoryFile *), compare_sizes);
	return large;
}

/* Whether another file of the load has that size: then both are read. */
static bool
has_twin(HistoryFile **large, int n, int i)
{
	return (i > 0 && compare_sizes(&large[i - 1], &large[i]) == 0) ||
		(i < n - 1 && compare_sizes(&large[i + 1], &large[i]) == 0);
}

/* Locks the sizes of these, some of which may be loaded unread. */
static void
lock_each(History *history, const HistoryTable *table, HistoryFile **large, int n)
{
	LOCKTAG		all = all_sizes_tag(history);
	/* a snapshot that is older than the locks does not tell what is remembered */
	bool		may = !IsolationUsesXactSnapshot() && lock_now(all, RowExclusiveLock);
	bool		any = false;

	for (int i = 0; i < n; i++)
	{
		int64		size = large[i]->stamp.size;

		large[i]->unread = may && !has_twin(large, n, i) && lock_unread(history, table, size);
		any |= large[i]->unread;
		if (large[i]->unread || lock_now(size_tag(history, size), ShareLock))
			continue;
		/* who waits keeps no load of many files waiting, as far as that can be */
		if (may && !any)
			unlock(all, RowExclusiveLock);
		lock(size_tag(history, size), ShareLock);
		if (may && !any)
			may = lock_now(all, RowExclusiveLock);
	}
	if (may && !any)
		unlock(all, RowExclusiveLock);
}

/* Whether so many more locks are more than a transaction is to have. */
static bool
are_too_many(int n)
{
	static TimestampTz transaction = 0;
	static int	locked = 0;

	if (transaction != GetCurrentTransactionStartTimestamp())
		locked = 0;
	transaction = GetCurrentTransactionStartTimestamp();
	if (n > MAX_SIZES - locked)
		return true;
	locked += n;
	return false;
}

void
history_lock_sizes(History *history, const HistoryTable *table)
{
	int			n;
	HistoryFile **large = sort_large_files(history, &n);

	for (int i = 0; i < history->nfiles; i++)
		history->files[i].unread = false;
	if (n == 0 || history->options->dry_run)
		return;
	if (are_too_many(n))
		lock(all_sizes_tag(history), ShareLock);
	else
		lock_each(history, table, large, n);
}

void
history_check_size(const HistoryFile *file, int64 locked)
{
	if (file->is_file && file->stamp.size != locked &&
		Max(file->stamp.size, locked) >= LARGE_FILE)
		content_refuse_changed(file->path);
}
