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

#include "batch.h"

/* What the leader brings along beside its batch. */
typedef struct ShareLeader
{
	Batch	   *batch;
	Source	   *source;			/* has a file open */
	const char *header;			/* what that begins with, whole lines, */
	uint32		header_length;
	int64		first_line;		/* and the line behind it */
	bool		span;			/* files after it that are like it, too */
	RejectStream *rejects;
	Journal    *journal;
	Size		chunk_size;
	/* for progress: how much has been read, and what has been counted */
	void		(*show) (void *arg, int64 bytes, int64 loaded, int64 filtered);
	/* a file after the one that was open has been begun; files as in source_go */
	void		(*began) (void *arg, int number, const InputFile *files);
	void	   *arg;
} ShareLeader;

/* What came of it. */
typedef struct ShareResult
{
	int			workers;		/* that took part */
	uint64		chunks;
	bool		declined;		/* the file after that which is open now is another kind */
} ShareResult;

/*
 * Why workers cannot help with this load ("it is a temporary table"), or
 * NULL.  For the columns of the batch's converter and at most so many bytes.
 */
extern const char *share_refusal(const Batch *batch,
								 const RejectStream *rejects, int64 bytes);

/* How many workers option workers and the server's settings want for so many bytes of rows. */
extern int	share_workers(const Batch *batch, int64 bytes, Size chunk_size);

/*
 * Loads on from where the batch's reader stands, with up to nworkers workers,
 * until the end of the last file or a row that wants the backend alone; the reader
 * then stands there, maybe in a later file.  With no worker to be had nothing is done.
 */
extern ShareResult share_lead(const ShareLeader *leader, int nworkers);

#endif							/* PGBULK_SHARE_H */
