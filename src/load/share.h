/*
 * share.h
 *		Files loaded by the backend and its workers side by side.
 *
 * Each process runs the same loop over chunks (parallel.h) with the same
 * batch code; the leader also gives the workers' bad rows to the reject
 * stream.  What can be read only once (a compressed file, a pipe, the client)
 * the leader reads for all, into a ring.  Here is what a worker must know of
 * the load, and who may have one.
 */
#ifndef PGBULK_SHARE_H
#define PGBULK_SHARE_H

#include "postgres.h"

#include "load/share_chunks.h"
#include "table/refusal.h"

/* The result of share_lead. */
typedef struct ShareResult
{
	int			workers;		/* that took part */
	RefusalReason refusal;		/* why none did */
	uint64		chunks;
	bool		declined;		/* the file after that which is open now is another kind */
} ShareResult;

/*
 * Why workers cannot help with this load, or REFUSAL_NONE.  For the columns of
 * the batch's converter and at most that number of bytes.
 */
extern RefusalReason share_refusal(const Batch *batch,
								   const RejectStream *rejects, int64 bytes);

/* How many workers option workers and the server's settings want for that number of bytes. */
extern int	share_workers(const Batch *batch, int64 bytes, Size chunk_size);

/*
 * Loads on from the place of the batch's reader, with up to nworkers workers, until
 * the end of the last file or a row that only the backend can load; that is the reader's
 * place then, maybe in a later file.  Where no worker starts nothing is done.
 */
extern ShareResult share_lead(const ShareLeader *leader, int nworkers);

#endif							/* PGBULK_SHARE_H */
