/*
 * share_chunks.h
 *		What one process does that loads files beside others: chunk after chunk,
 *		each in its turn.
 */
#ifndef PGBULK_SHARE_CHUNKS_H
#define PGBULK_SHARE_CHUNKS_H

#include "postgres.h"

#include "check/key_pass.h"
#include "format/chunks.h"
#include "format/journal.h"
#include "lib/stringinfo.h"
#include "load/batch.h"
#include "load/parallel.h"
#include "stream/ring.h"

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
	FileCounts *counts;			/* as in rejects_open */
	Journal    *journal;
	KeyPass    *keys;			/* collects foreign keys; or NULL */
	Size		chunk_size;
	/* for progress: how much has been read, and what has been counted */
	void		(*show) (void *arg, int64 bytes, int64 loaded, int64 filtered);
	/* a file after the one that was open has been begun; files as in source_go */
	void		(*began) (void *arg, int number, const FileStamp *files);
	void	   *arg;
} ShareLeader;

/* One process's part. */
typedef struct Share
{
	Parallel   *parallel;
	Batch	   *batch;
	Journal    *journal;
	ChunkReader chunks;
	ScanEol		eol;
	int			processes;
	uint32		largest_chunk;
	ParallelChunk chunk;		/* the current one */
	bool		has_turn;
	bool		undone;			/* its last rows may be too many: it is left to the leader alone */
	bool		few_rows;		/* it had for the writer */
	StringInfoData queue;		/* its bad rows */
	ParallelRows *rows;			/* for the leader; NULL: who forms rows stores them */

	Ring	   *ring;			/* NULL: each process reads by itself */

	/* the leader's */
	const ShareLeader *leader;	/* NULL in a worker */
	int			begun;			/* the last file that it knows of */
	StringInfoData received;	/* bad rows of earlier chunks */
} Share;

/*
 * What a batch is while several processes load: bad rows wait for their turn,
 * and errors are for the backend alone, in the order of the rows.
 */
extern void share_limit_batch(Batch *batch, Share *share);

/* Loads chunks until there are no more, or the work stops. */
extern void share_load_chunks(Share *share);

/* The leader: what workers have sent goes where it belongs.  arg: its share, as below. */
extern void share_receive(void *arg);

/* The leader, where it reads a chunk that the ring does not have to its end. */
extern void share_feed_at_once(void *arg);

#endif							/* PGBULK_SHARE_CHUNKS_H */
