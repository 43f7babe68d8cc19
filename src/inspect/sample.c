/*
 * sample.c
 *		See sample.h.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "format/encoding.h"
#include "inspect/sample.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "stream/decompress.h"
#include "stream/file.h"
#include "stream/source.h"

#define SAMPLE_HEAD (2 * 1024 * 1024)
#define SAMPLE_PIECE (128 * 1024)

/* Line starts of a piece that may be tried, and rows that must look right. */
#define ALIGN_TRIES 200
#define ALIGN_ROWS 4

static void
check_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

SheetSpace *
sample_space(void)
{
	SheetSpace *space = palloc(sizeof(SheetSpace));

	space->pause = check_interrupts;
	return space;
}

static BulkCompression
find_compression(const char *path, const BulkOptions *options)
{
	Stream	   *file;
	char		magic[DECOMPRESS_MAGIC];
	BulkCompression compression;

	if (file_look(path, NULL) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot inspect named pipe \"%s\"", path),
				 errdetail("What is read from a pipe is gone, and the load would miss it.")));
	if (options->compression != BULK_COMPRESSION_AUTO)
		return options->compression;
	file = file_open(path);
	compression = decompress_detect(magic, stream_peek(file, magic, sizeof(magic)));
	stream_close(file);
	return compression;
}

static void
add_span(Sample *sample, const char *data, uint32 length, bool to_end)
{
	SheetSpan  *span = &sample->spans[sample->nspans];

	sample->sizes[sample->nspans++] = length;
	span->data = data;
	span->length = length;
	span->to_end = to_end;
	sample->longest = Max(sample->longest, length);
}

/* The beginning of the open file.  The window of a small one has space for what is on disk. */
static void
read_head(Sample *sample, Source *source, uint32 size)
{
	Window	   *window = &source->window;
	uint32		length;

	do
		window_fill(source, 0, 0);
	while (!window->at_eof && window->length < size);
	length = Min(window->length, size);
	sample->bytes += length;
	add_span(sample, window->data, length, window->at_eof && length == window->length);
	sample->spans[sample->nspans - 1].begins = true;
}

static void
read_piece(Sample *sample, Source *source, int64 offset, uint32 size, int64 end)
{
	char	   *data = palloc0(size + SCAN_PADDING);
	uint32		length = 0;
	Size		n = 1;

	CHECK_FOR_INTERRUPTS();
	source_seek(source, offset, 1);
	while (length < size && n > 0)
	{
		n = source_read(source, data + length, size - length);
		length += n;
	}
	sample->bytes += length;
	add_span(sample, data, length, offset + length >= end);
}

/* Evenly over the rest, the last of them at the end. */
static void
read_pieces(Sample *sample, Source *source, int64 from)
{
	int64		rest = source_rest(source, from);
	int64		end = from + rest;
	int			n = Min(SAMPLE_PIECES, (rest + SAMPLE_PIECE - 1) / SAMPLE_PIECE);

	for (int i = 1; i <= n; i++)
	{
		uint32		size = Min(rest, SAMPLE_PIECE);

		read_piece(sample, source, from + (rest - size) / n * i + (i == n ? (rest - size) % n : 0),
				   size, end);
	}
}

/*
 * The beginning of another file.  It is one more piece: where rows begin is found
 * out behind its first line, be that a header or not.
 */
static void
read_other(Sample *sample, const char *path, const BulkOptions *raw)
{
	Source	   *source;

	CHECK_FOR_INTERRUPTS();
	if (file_look(path, NULL) < 0)
		return;
	source = source_open(list_make1(pstrdup(path)), raw, SAMPLE_PIECE);
	source_next(source);
	read_head(sample, source, SAMPLE_PIECE);
	source_close(source);
}

static bool
is_utf16(const Charset *charset)
{
	return strncmp(charset->name, "UTF16", 5) == 0;
}

/*
 * What the caller says.  A byte order mark of UTF-16 counts for more than UTF8,
 * as in a load.
 */
static void
take_charset(Sample *sample, const BulkOptions *options)
{
	const SheetSpan *head = &sample->spans[0];
	Charset    *charset = &sample->charset;
	bool		marked = charset->mark > 0;

	charset->sure = true;
	charset->invalid = 0;
	if (options->utf16 == BULK_UTF16_LITTLE || options->utf16 == BULK_UTF16_BIG)
	{
		charset->mark = marked && is_utf16(charset) ? charset->mark : 0;
		charset->name = options->utf16 == BULK_UTF16_BIG ? "UTF16BE" : "UTF16LE";
	}
	else if (options->encoding != PG_UTF8)
	{
		charset->mark = 0;
		charset->name = pg_encoding_to_char(options->encoding);
	}
	else if (options->utf16 == BULK_UTF16_NONE && !(marked && is_utf16(charset)))
	{
		charset->mark = marked ? charset->mark : 0;
		charset->name = "UTF8";
		charset->invalid = charset_invalid_utf8(head->data, head->length, head->to_end);
	}
}

/* Characters that a piece begins or ends in the middle of are none. */
static void
guess_charset(Sample *sample)
{
	const SheetSpan *head = &sample->spans[0];

	charset_guess(head->data, head->length, head->to_end, &sample->charset);
	for (int i = 1; i < sample->nspans && sample->charset.ascii; i++)
	{
		const char *s = sample->spans[i].data;
		const char *end = s + sample->spans[i].length;

		for (int k = 0; k < 3 && s < end && ((unsigned char) *s & 0xc0) == 0x80; k++)
			s++;
		charset_guess(s, end - s, false, &sample->charset);
		sample->charset.mark = 0;
		if (is_utf16(&sample->charset))
			charset_guess("", 0, true, &sample->charset);
	}
}

static void
from_utf16(Sample *sample)
{
	SheetSpan  *head = &sample->spans[0];
	char	   *utf8 = palloc0(head->length / 2 * 3 + 3 + SCAN_PADDING);

	head->length = charset_from_utf16(head->data, head->length,
									  strcmp(sample->charset.name, "UTF16BE") == 0, utf8);
	head->data = utf8;
	sample->utf16 = true;
	sample->nspans = 1;
	sample->longest = head->length;
}

/* Where characters may contain ASCII bytes, which are no quotes or backslashes. */
static void
convert_spans(Sample *sample)
{
	int			file = pg_char_to_encoding(sample->charset.name);
	Encoding	encoding;

	if (file < 0 || PG_VALID_BE_ENCODING(file) ||
		!OidIsValid(FindDefaultConversionProc(file, GetDatabaseEncoding())))
		return;
	encoding_open(&encoding, file);
	if (encoding.shape_mblen == NULL)
		return;
	for (int i = 0; i < sample->nspans; i++)
	{
		SheetSpan  *span = &sample->spans[i];
		char	   *text = palloc0((Size) span->length * MAX_CONVERSION_GROWTH + SCAN_PADDING);

		span->length = encoding_convert_replacing(&encoding, span->data, span->length, text,
												  NULL);
		span->data = text;
		sample->longest = Max(sample->longest, span->length);
	}
	sample->converted = true;
}

Sample *
sample_read(List *paths, const BulkOptions *options, bool has_encoding)
{
	const char *path = linitial(paths);
	Sample	   *sample = palloc0(sizeof(Sample));
	SheetSpan  *head = &sample->spans[0];
	BulkOptions *raw = palloc(sizeof(BulkOptions));
	Source	   *source;

	file_check_privilege(false);
	sample->compression = find_compression(path, options);

	/* the bytes as they are, UTF-16 too */
	*raw = *options;
	raw->encoding = PG_SQL_ASCII;
	raw->utf16 = BULK_UTF16_NONE;
	source = source_open(list_make1(pstrdup(path)), raw, SAMPLE_HEAD);
	source_next(source);
	read_head(sample, source, SAMPLE_HEAD);
	if (source_can_seek(source) && source_rest(source, head->length) > 0)
		read_pieces(sample, source, head->length);
	else if (source_can_seek(source))
		head->to_end = true;
	sample->complete = head->to_end && list_length(paths) == 1;
	source_close(source);
	sample->magic = scan_magic(head->data, head->length);
	if (sample->magic != NULL)
		return sample;
	for (int i = 1; i < Min(list_length(paths), SAMPLE_FILES); i++)
		read_other(sample, list_nth(paths, i), raw);

	guess_charset(sample);
	if (has_encoding)
		take_charset(sample, options);
	head->data += sample->charset.mark;
	head->length -= sample->charset.mark;
	if (is_utf16(&sample->charset))
		from_utf16(sample);
	else
		convert_spans(sample);
	return sample;
}

/* ---- rows of pieces ---- */

typedef struct Alignment
{
	const Dialect *dialect;
	int			rows;
	bool		good;
} Alignment;

static bool
check_row(void *arg, const char *data, const ScanRow *row,
		  const ScanField *fields)
{
	Alignment  *alignment = arg;

	alignment->good = row->fault == SCAN_FAULT_NONE && !row->lax &&
		row->nfields == alignment->dialect->columns;
	return alignment->good && ++alignment->rows < ALIGN_ROWS;
}

static bool
align_lines(SheetSpan *span, const Dialect *dialect, SheetSpace *space)
{
	const char	end = dialect->eol == SCAN_EOL_CR ? '\r' : '\n';
	SheetSpan	rest = *span;

	for (int i = 0; i < ALIGN_TRIES; i++)
	{
		const char *next = memchr(rest.data, end, rest.length);
		Alignment	alignment = {.dialect = dialect};
		ScanEol		eol = dialect->eol;

		if (next == NULL)
			return false;
		rest.length -= next + 1 - rest.data;
		rest.data = next + 1;
		sheet_walk(&rest, &dialect->scan, &eol, space, check_row, &alignment);
		if (alignment.good)
		{
			*span = rest;
			return true;
		}
	}
	return false;
}

/* By a dialect, or else by the objects of the beginning. */
static void
align_pieces(Sample *sample, const Dialect *dialect, const Objects *objects, SheetSpace *space)
{
	int			kept = 1;

	for (int i = 1; i < sample->nspans; i++)
	{
		SheetSpan  *span = &sample->spans[i];

		CHECK_FOR_INTERRUPTS();
		if (dialect != NULL ? align_lines(span, dialect, space) : objects_align(objects, span))
		{
			sample->sizes[kept] = sample->sizes[i];
			sample->spans[kept++] = *span;
		}
		else
			sample->bytes -= sample->sizes[i];
	}
	sample->nspans = kept;
}

void
sample_align(Sample *sample, const Dialect *dialect, SheetSpace *space)
{
	align_pieces(sample, dialect, NULL, space);
}

void
sample_align_objects(Sample *sample, const Objects *objects)
{
	align_pieces(sample, NULL, objects, NULL);
}
