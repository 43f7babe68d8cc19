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

struct Utf16
{
	bool		big;
	Size		(*pull) (void *arg, char *to, Size size);
	void	   *arg;
	bool		ended;			/* nothing more to pull */
	Size		in_length;
	Size		out_length;
	Size		out_done;
	char		in[IN_SIZE];
	char		out[OUT_SIZE];
};

BulkUtf16
utf16_detect(const char *data, Size length)
{
	if (length >= UTF16_MARK && memcmp(data, "\xff\xfe", UTF16_MARK) == 0)
		return BULK_UTF16_LITTLE;
	if (length >= UTF16_MARK && memcmp(data, "\xfe\xff", UTF16_MARK) == 0)
		return BULK_UTF16_BIG;
	return BULK_UTF16_NONE;
}

Utf16 *
utf16_open(bool big, const char *head, Size length,
		   Size (*pull) (void *arg, char *to, Size size), void *arg)
{
	Utf16	   *utf16 = palloc(sizeof(Utf16));
	Size		mark = utf16_detect(head, length) != BULK_UTF16_NONE ? UTF16_MARK : 0;

	utf16->big = big;
	utf16->pull = pull;
	utf16->arg = arg;
	utf16->ended = false;
	utf16->out_length = utf16->out_done = 0;
	utf16->in_length = length - mark;
	Assert(utf16->in_length <= IN_SIZE);
	memcpy(utf16->in, head + mark, utf16->in_length);
	return utf16;
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
		if (!utf16->ended)
		{
			n = utf16->pull(utf16->arg, utf16->in + utf16->in_length,
							IN_SIZE - utf16->in_length);
			utf16->ended = n == 0;
			utf16->in_length += n;
		}
		if (utf16->in_length == 0 && utf16->ended)
			return false;
		utf16->out_length = scan_utf16((unsigned char *) utf16->in,
									   utf16->in_length, utf16->big,
									   utf16->ended, utf16->out, OUT_SIZE,
									   &used);
		utf16->in_length -= used;
		memmove(utf16->in, utf16->in + used, utf16->in_length);
	}
	return true;
}

Size
utf16_read(Utf16 *utf16, char *to, Size size)
{
	if (utf16->out_done == utf16->out_length && !convert_more(utf16))
		return 0;
	size = Min(size, utf16->out_length - utf16->out_done);
	memcpy(to, utf16->out + utf16->out_done, size);
	utf16->out_done += size;
	return size;
}
