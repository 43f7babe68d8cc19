/*
 * stream.c
 *		What all streams have in common; see stream.h.
 */
#include "postgres.h"

#include "stream/stream.h"
#include "utils/memutils.h"

/* Bytes that are read at a time where a few are asked for: small files as a whole. */
#define PEEK_ROOM 4096

void
stream_init(Stream *stream, const StreamRoutine *routine, Stream *below)
{
	*stream = (Stream) {
		.routine = routine,
		.below = below,
		.context = CurrentMemoryContext,
		.stamp.size = -1,
		.first_line = 1
	};
	if (below != NULL)
	{
		stream->once = below->once;
		stream->stamp = below->stamp;
	}
}

static Size
kept(const Stream *stream)
{
	return stream->kept_length - stream->kept_done;
}

static Size
read_kept(Stream *stream, char *to, Size size)
{
	size = Min(size, kept(stream));
	if (size == 0)
		return 0;
	memcpy(to, stream->kept + stream->kept_done, size);
	stream->kept_done += size;
	return size;
}

Size
stream_read(Stream *stream, char *to, Size size)
{
	if (kept(stream) > 0)
		return read_kept(stream, to, size);
	/* a pipe may get another writer */
	if (stream->ended)
		return 0;
	size = stream->routine->read(stream, to, size);
	stream->bytes_read += size;
	stream->ended = size == 0;
	return size;
}

char *
stream_put_back(Stream *stream, Size length)
{
	Size		rest = kept(stream);
	char	   *data = MemoryContextAllocHuge(stream->context, length + rest + 1);

	if (stream->kept != NULL)
	{
		memcpy(data + length, stream->kept + stream->kept_done, rest);
		pfree(stream->kept);
	}
	stream->kept = data;
	stream->kept_length = length + rest;
	stream->kept_done = 0;
	return data;
}

/* Reads until what is kept has at least size bytes, if there are as many. */
static void
keep(Stream *stream, Size size)
{
	Size		room = Max(size, PEEK_ROOM);
	Size		rest = kept(stream);
	char	   *data = MemoryContextAlloc(stream->context, room);
	Size		length;
	Size		n = 1;

	for (length = read_kept(stream, data, rest); length < size && n > 0; length += n)
		n = stream_read(stream, data + length, room - length);
	if (stream->kept != NULL)
		pfree(stream->kept);
	stream->kept = data;
	stream->kept_length = length;
	stream->kept_done = 0;
}

Size
stream_peek(Stream *stream, char *to, Size size)
{
	if (kept(stream) < size)
		keep(stream, size);
	size = Min(size, kept(stream));
	memcpy(to, stream->kept + stream->kept_done, size);
	return size;
}

void
stream_seek(Stream *stream, int64 offset)
{
	stream->routine->seek(stream, offset);
	stream->bytes_read = offset;
	stream->ended = false;
	stream->kept_done = stream->kept_length;
}

int64
stream_left(const Stream *stream)
{
	int64		left = stream->routine->left != NULL ? stream->routine->left(stream) : -1;

	return left < 0 ? -1 : left + kept(stream);
}

int64
stream_left_below(const Stream *stream, int64 used)
{
	int64		left = stream_left(stream->below);

	if (left < 0)
		return -1;
	left += stream->below->bytes_read - kept(stream->below) - used;
	return (double) left * stream->bytes_read / Max(used, 1);
}

int64
stream_bytes(const Stream *stream)
{
	while (stream->below != NULL)
		stream = stream->below;
	return stream->bytes_read;
}

void
stream_close(Stream *stream)
{
	while (stream != NULL)
	{
		Stream	   *below = stream->below;

		if (stream->routine->close != NULL)
			stream->routine->close(stream);
		stream = below;
	}
}
