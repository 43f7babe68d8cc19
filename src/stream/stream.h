/*
 * stream.h
 *		Where bytes come from: the interface of streams.
 *
 * A stream is a const struct of callbacks, and its readers do not know what is
 * behind it: a file, a pipe, the client, the rows of a query, a stored row,
 * another process.  A filter (decompression, UTF-16, a copy) is a stream that
 * reads from the one below it, and is closed with it.  What differs from stream
 * to stream is a property: seek, once, pauses.
 *
 * A kind of stream is a struct that begins with a Stream, which stream_init
 * fills, and lives in the memory context that was current then.
 */
#ifndef PGBULK_STREAM_H
#define PGBULK_STREAM_H

#include "postgres.h"

#include <time.h>

#include <sys/types.h>

#include "scan/content_hash.h"

typedef struct Stream Stream;

typedef struct StreamRoutine
{
	/*
	 * Up to size bytes; 0 at the end, and then it is not called again.  Waits
	 * only where that can be cancelled.  Errors: those of the kind of stream.
	 */
	Size		(*read) (Stream *stream, char *to, Size size);

	/*
	 * About how many bytes are left, -1 where that is not known; exact where
	 * there is seek.  NULL: never known.
	 */
	int64		(*left) (const Stream *stream);

	/* Continues at an offset.  NULL: the stream can only be read in order, once. */
	void		(*seek) (Stream *stream, int64 offset);

	/* Releases everything but memory.  NULL: there is nothing else. */
	void		(*close) (Stream *stream);
} StreamRoutine;

/* A file as it was when it was opened. */
typedef struct FileStamp
{
	int64		size;			/* -1: it is no regular file */
	bool		growing;		/* what is behind that size is not read, and may change */
	struct timespec modified;
	dev_t		device;
	ino_t		inode;
	bool		hashed;			/* all its bytes have been read, in order: */
	ContentKey	key;
} FileStamp;

struct Stream
{
	const StreamRoutine *routine;
	Stream	   *below;			/* NULL: this is no filter */
	MemoryContext context;
	/* for a kind of stream to set; a filter has the first two from below */
	bool		once;			/* it cannot be read again by opening it again */
	FileStamp	stamp;			/* of the file that they lie in */
	int64		first_offset;	/* where the first byte was; 0 and 1 for most */
	int64		first_line;
	bool		pauses;			/* is read from only where what was read is not enough */
	ContentHash *hash;			/* of a file's bytes, as they are read; or NULL */
	/* kept by stream.c */
	bool		ended;			/* read has returned 0 */
	int64		bytes_read;		/* that read has returned; after seek, counted from its offset */
	char	   *kept;			/* bytes that come before what is not read yet; or NULL */
	Size		kept_length;
	Size		kept_done;
};

extern void stream_init(Stream *stream, const StreamRoutine *routine, Stream *below);

/* Up to size bytes; 0 at the end.  Errors: those of the routine. */
extern Size stream_read(Stream *stream, char *to, Size size);

/* Makes space for length bytes that will be read (again) before all others. */
extern char *stream_put_back(Stream *stream, Size length);

/* Peeks at the first size bytes, or all that there are.  Returns how many. */
extern Size stream_peek(Stream *stream, char *to, Size size);

/* Whether the stream is seekable. */
static inline bool
stream_can_seek(const Stream *stream)
{
	return stream->routine->seek != NULL;
}

/* Only for a seekable stream. */
extern void stream_seek(Stream *stream, int64 offset);

/* About how many bytes are left; -1: not known.  Exact for a seekable stream. */
extern int64 stream_left(const Stream *stream);

/*
 * The same for a filter: extrapolated from what the first `used` bytes below it
 * have become.
 */
extern int64 stream_left_below(const Stream *stream, int64 used);

/* Bytes read so far, counted below all filters. */
extern int64 stream_bytes(const Stream *stream);

/* The stream, and what is below it. */
extern void stream_close(Stream *stream);

#endif							/* PGBULK_STREAM_H */
