/*
 * utf16.c
 *		See utf16.h.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "scan/scan.h"
#include "stream/utf16.h"

#define IN_SIZE (64 * 1024)
#define OUT_SIZE (IN_SIZE / 2 * 3 + 4)	/* a unit has at most three bytes */

typedef struct Utf16
{
	Stream		stream;
	bool		big;
	bool		in_ended;
	Size		in_length;
	Size		out_length;
	Size		out_done;
	char		in[IN_SIZE];
	char		out[OUT_SIZE];
} Utf16;

BulkUtf16
utf16_detect(const char *data, Size length)
{
	if (length >= UTF16_MARK && memcmp(data, "\xff\xfe", UTF16_MARK) == 0)
		return BULK_UTF16_LITTLE;
	if (length >= UTF16_MARK && memcmp(data, "\xfe\xff", UTF16_MARK) == 0)
		return BULK_UTF16_BIG;
	return BULK_UTF16_NONE;
}

/* Fills the output; false at the end. */
static bool
convert_more(Utf16 *utf16)
{
	utf16->out_done = utf16->out_length = 0;
	while (utf16->out_length == 0)
	{
		Size		used;
		Size		n = 0;

		CHECK_FOR_INTERRUPTS();
		if (!utf16->in_ended)
		{
			n = stream_read(utf16->stream.below, utf16->in + utf16->in_length,
							IN_SIZE - utf16->in_length);
			utf16->in_ended = n == 0;
			utf16->in_length += n;
		}
		if (utf16->in_length == 0 && utf16->in_ended)
			return false;
		utf16->out_length = scan_utf16((unsigned char *) utf16->in,
									   utf16->in_length, utf16->big,
									   utf16->in_ended, utf16->out, OUT_SIZE,
									   &used);
		utf16->in_length -= used;
		memmove(utf16->in, utf16->in + used, utf16->in_length);
	}
	return true;
}

static Size
read_utf16(Stream *stream, char *to, Size size)
{
	Utf16	   *utf16 = (Utf16 *) stream;

	if (utf16->out_done == utf16->out_length && !convert_more(utf16))
		return 0;
	size = Min(size, utf16->out_length - utf16->out_done);
	memcpy(to, utf16->out + utf16->out_done, size);
	utf16->out_done += size;
	return size;
}

static int64
left_of_utf16(const Stream *stream)
{
	const Utf16 *utf16 = (const Utf16 *) stream;

	return stream_left_below(stream, stream->below->bytes_read - utf16->in_length);
}

static const StreamRoutine utf16_routine = {
	.read = read_utf16,
	.left = left_of_utf16
};

Stream *
utf16_open(Stream *below, bool big)
{
	Utf16	   *utf16 = palloc(sizeof(Utf16));
	char		mark[UTF16_MARK];

	stream_init(&utf16->stream, &utf16_routine, below);
	utf16->big = big;
	utf16->in_ended = false;
	utf16->in_length = utf16->out_length = utf16->out_done = 0;
	if (utf16_detect(mark, stream_peek(below, mark, UTF16_MARK)) != BULK_UTF16_NONE)
		(void) stream_read(below, mark, UTF16_MARK);
	return &utf16->stream;
}
