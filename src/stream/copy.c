/*
 * copy.c
 *		See copy.h.
 */
#include "postgres.h"

#include "stream/copy.h"

typedef struct CopyStream
{
	Stream		stream;
	BufFile    *copy;
} CopyStream;

static Stream *
open_stream(const StreamRoutine *routine, Stream *below, BufFile *copy)
{
	CopyStream *stream = palloc(sizeof(CopyStream));

	stream_init(&stream->stream, routine, below);
	stream->copy = copy;
	return &stream->stream;
}

/* ---- writing ---- */

static Size
read_and_copy(Stream *stream, char *to, Size size)
{
	size = stream_read(stream->below, to, size);
	BufFileWrite(((CopyStream *) stream)->copy, to, size);
	stream->pauses = stream->below->pauses;
	return size;
}

static int64
left_to_copy(const Stream *stream)
{
	return stream_left(stream->below);
}

static const StreamRoutine copy_routine = {
	.read = read_and_copy,
	.left = left_to_copy
};

Stream *
copy_open(Stream *below, BufFile *copy)
{
	return open_stream(&copy_routine, below, copy);
}

/* ---- reading ---- */

static Size
read_copy(Stream *stream, char *to, Size size)
{
	return BufFileRead(((CopyStream *) stream)->copy, to, size);
}

static const StreamRoutine replay_routine = {
	.read = read_copy
};

Stream *
copy_replay(BufFile *copy)
{
	if (BufFileSeek(copy, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
	return open_stream(&replay_routine, NULL, copy);
}
