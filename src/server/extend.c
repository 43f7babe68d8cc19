/*
 * extend.c
 *		See extend.h.
 *
 * From 16 on the server itself extends a table by many pages at once.  Before,
 * it writes each new page as zeroes, a third of all that a load of short rows
 * does; here the file system is asked for the space of all of them first, as 16
 * does it.  What that leaves after a crash is the same: pages of zeroes.
 */
#include "postgres.h"

#include "server/compat.h"
#include "server/extend.h"

#ifdef COMPAT_EXTENDS_BY_MANY

uint32
extend_table(Relation rel, BufferAccessStrategy strategy, uint32 n, Buffer *buffers)
{
	uint32		extended = 0;

	ExtendBufferedRelBy(BMR_REL(rel), MAIN_FORKNUM, strategy, 0, n, buffers, &extended);
	return extended;
}

#else

#include <fcntl.h>

#include "common/relpath.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"

/* Fewer pages are written: a file system may do that better (mdzeroextend). */
#define MANY_PAGES 9

/*
 * Extends the file from its end, block first, by n blocks of one segment that
 * is there.  False: it cannot be done like that, and the server is to tell why.
 */
static bool
extend_file(Relation rel, BlockNumber first, uint32 n)
{
	char	   *path = relpath(RelationGetSmgr(rel)->smgr_rnode, MAIN_FORKNUM);
	BlockNumber segment = first / RELSEG_SIZE;
	char	   *file = segment == 0 ? pstrdup(path) : psprintf("%s.%u", path, segment);
	int			fd = OpenTransientFile(file, O_RDWR | PG_BINARY);
	int			result = -1;

	pfree(path);
	pfree(file);
	if (fd < 0)
		return false;
#ifdef HAVE_POSIX_FALLOCATE
	do
		result = posix_fallocate(fd, (off_t) (first % RELSEG_SIZE) * BLCKSZ,
								 (off_t) n * BLCKSZ);
	while (result == EINTR);
#endif
	CloseTransientFile(fd);
	return result == 0;
}

/* How many of n pages extend_file has made; 0: the server is to make them. */
static uint32
extend_at_once(Relation rel, BlockNumber first, uint32 n)
{
	/* the server makes files, also that of the next segment */
	if (RelationUsesLocalBuffers(rel) || (first > 0 && first % RELSEG_SIZE == 0))
		return 0;
	n = Min(n, RELSEG_SIZE - first % RELSEG_SIZE);
	return n >= MANY_PAGES && extend_file(rel, first, n) ? n : 0;
}

uint32
extend_table(Relation rel, BufferAccessStrategy strategy, uint32 n, Buffer *buffers)
{
	BlockNumber first;
	uint32		made;

	/* 16 has this limit itself */
	n = Min(n, Max(NBuffers / 16, 1));
	LockRelationForExtension(rel, ExclusiveLock);
	first = RelationGetNumberOfBlocks(rel);
	made = extend_at_once(rel, first, n);
	for (uint32 i = 0; i < made; i++)
	{
		buffers[i] = ReadBufferExtended(rel, MAIN_FORKNUM, first + i, RBM_ZERO_AND_LOCK,
										strategy);
		LockBuffer(buffers[i], BUFFER_LOCK_UNLOCK);
	}
	for (uint32 i = 0; i < n && made == 0; i++)
		buffers[i] = ReadBufferExtended(rel, MAIN_FORKNUM, P_NEW, RBM_NORMAL, strategy);
	UnlockRelationForExtension(rel, ExclusiveLock);
	return made > 0 ? made : n;
}

#endif
