/*
 * fixed.c
 *		Rows with fields at fixed positions: records of one length, or lines.
 *
 * Lines are only searched for their ends, by the masks of classify*.c.  Spans
 * are trimmed, and those of NULLs empty, so that they can be converted like
 * those of other formats.  Price: about 2 ns for each field, and for each eight
 * bytes of padding.
 */
#include "scan.h"

#include <string.h>

#include "bits.h"
#include "fixed.h"
#include "kernels.h"
#include "values_swar.h"

/* Blocks classified at a time: their masks stay in the first-level cache. */
#define BATCH_BLOCKS 64

/* ---- the fields of a row ---- */

#define SPACES UINT64_C(0x2020202020202020)

/* The length of a text without trailing spaces. */
static inline uint32_t
without_padding(const char *s, uint32_t length)
{
	uint64_t	others;			/* bits of bytes that are not spaces; the last byte on top */

	for (; length >= 8; length -= 8)
	{
		others = swar_load(s + length - 8) ^ SPACES;
		if (others != 0)
			return length - (uint32_t) __builtin_clzll(others) / 8;
	}
	if (length == 0)
		return 0;
	others = (swar_load(s) ^ SPACES) << (64 - 8 * length);
	return others == 0 ? 0 : length - (uint32_t) __builtin_clzll(others) / 8;
}

/* The number of leading spaces of a text that has other bytes, too. */
static inline uint32_t
leading_spaces(const char *s)
{
	uint32_t	n = 0;
	uint64_t	others;

	for (; (others = swar_load(s + n) ^ SPACES) == 0; n += 8)
		;
	return n + lowest_bit(others) / 8;
}

static inline bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Trims a text; *null where it consists of zero bytes. */
SCAN_INLINE ScanField
trim_text(const ScanFixedField *field, const char *window, uint32_t start,
		  uint32_t length, bool *null)
{
	const char *s = window + start;
	uint32_t	before = 0;

	/* no text has zero bytes */
	if (UNLIKELY(s[length - 1] == '\0'))
	{
		while (length > 0 && s[length - 1] == '\0')
			length--;
		*null = length == 0;
	}
	if (LIKELY(field->trim == SCAN_TRIM_PADDING || field->trim == SCAN_TRIM_SPACES))
	{
		length = without_padding(s, length);
		if (field->trim == SCAN_TRIM_SPACES && length > 0)
			before = leading_spaces(s);
	}
	else if (field->trim == SCAN_TRIM_BLANKS)
	{
		while (length > 0 && is_blank(s[length - 1]))
			length--;
		while (before < length && is_blank(s[before]))
			before++;
	}
	return (ScanField) {
		.start = start + before, .length = length - before,
		.quoted = length == before && !field->empty_is_null
	};
}

static bool
is_null(const ScanFixedField *field, const char *s, uint32_t length)
{
	for (uint32_t i = 0; i < field->nnulls; i++)
		if (field->nulls[i].length == length &&
			memcmp(field->nulls[i].text, s, length) == 0)
			return true;
	return false;
}

/* A field with contents that mean NULL. */
static ScanField
take_nullable(const ScanFixedField *field, const char *window, uint32_t start,
			  uint32_t length)
{
	ScanField	taken = {.start = start,.length = length};
	bool		null = is_null(field, window + start, length);

	if (!null && !field->binary)
	{
		taken = trim_text(field, window, start, length, &null);
		null |= is_null(field, window + taken.start, taken.length);
	}
	return null ? (ScanField) {.start = start} : taken;
}

/* A field of one byte or more. */
SCAN_INLINE ScanField
take_field(const ScanFixedField *field, const char *window, uint32_t start,
		   uint32_t length)
{
	bool		null = false;
	ScanField	taken;

	if (UNLIKELY(field->nnulls > 0))
		return take_nullable(field, window, start, length);
	if (field->binary)
		return (ScanField) {.start = start, .length = length};
	taken = trim_text(field, window, start, length, &null);
	taken.quoted &= !null;
	return taken;
}

/* A complete record. */
static inline void
take_record(const ScanFixed *fixed, const char *window, uint32_t start,
			ScanField *fields)
{
	for (uint32_t i = 0; i < fixed->nfields; i++)
		fields[i] = take_field(&fixed->fields[i], window,
							   start + fixed->fields[i].start,
							   fixed->fields[i].length);
}

/*
 * A line has the fields that end in it, perhaps a partial one, and one for
 * excess bytes.
 */
static inline uint32_t
take_line(const ScanFixed *fixed, const char *window, uint32_t start,
		  uint32_t end, ScanField *fields)
{
	uint32_t	length = end - start;
	uint32_t	n;

	for (n = 0; n < fixed->nfields; n++)
	{
		const ScanFixedField *field = &fixed->fields[n];
		uint32_t	width = field->length;

		if (length < field->start || length - field->start < width)
		{
			if (!fixed->cut || length <= field->start)
				break;
			width = length - field->start;
		}
		fields[n] = take_field(field, window, start + field->start, width);
	}
	if (length > fixed->line_length && !fixed->ignore_extra)
	{
		fields[n++] = (ScanField) {
			.start = start + fixed->line_length,
			.length = length - fixed->line_length < SCAN_MAX_FIELD ?
				length - fixed->line_length : SCAN_MAX_FIELD
		};
	}
	return n;
}

/* ---- records ---- */

static void
record_rows(const ScanFixed *fixed, const char *window, uint32_t length,
			bool at_eof, ScanRow *rows, uint32_t max_rows,
			ScanField *fields, uint32_t max_fields, ScanResult *result)
{
	memset(result, 0, sizeof(*result));
	for (;;)
	{
		uint32_t	start = result->consumed;
		uint32_t	left = length - start;
		bool		whole = left >= fixed->record_length;

		if (left == 0 || (!whole && !at_eof))
		{
			result->status = at_eof ? SCAN_END : SCAN_MORE;
			return;
		}
		if (result->nrows == max_rows ||
			max_fields - result->nfields < fixed->nfields)
		{
			result->status = SCAN_FULL;
			return;
		}
		left = whole ? fixed->record_length : left;
		rows[result->nrows] = (ScanRow) {
			.start = start, .end = start + left, .next = start + left,
			.line = result->nrows, .first_field = result->nfields,
			.nfields = whole ? fixed->nfields : 0,
			.fault = whole ? SCAN_FAULT_NONE : SCAN_FAULT_RECORD_LENGTH
		};
		if (whole)
		{
			take_record(fixed, window, start, fields + result->nfields);
			result->nfields += fixed->nfields;
		}
		result->consumed = start + left;
		result->lines = ++result->nrows;
	}
}

/* ---- lines ---- */

typedef struct Lines
{
	const ScanDialect *dialect;
	const ScanKernel *kernel;
	const char *window;
	uint32_t	length;
	bool		at_eof;
	ScanEol		eol;
	uint32_t	lines;			/* line ends before `next` */

	/* the line that was found */
	uint32_t	start;
	uint32_t	end;
	uint32_t	next;
	uint8_t		fault;
	bool		comment;

	/* CR and LF in the blocks that were classified */
	uint32_t	base;			/* of the current block */
	uint32_t	block;
	uint32_t	nblocks;
	uint64_t	bits;			/* those left of the current block */
	ScanMasks	masks[BATCH_BLOCKS];
} Lines;

static void
lines_begin(Lines *lines, const ScanDialect *dialect, ScanEol eol,
			const char *window, uint32_t length, bool at_eof)
{
	lines->dialect = dialect;
	lines->kernel = scan_kernel();
	lines->window = window;
	lines->length = length;
	lines->at_eof = at_eof;
	lines->eol = eol;
	lines->lines = lines->next = 0;
	lines->base = lines->block = lines->nblocks = 0;
	lines->bits = 0;
}

/* The next block; false at the end of the window. */
static bool
next_block(Lines *lines)
{
	if (lines->nblocks > 0)
	{
		lines->block++;
		lines->base += 64;
	}
	if (lines->block == lines->nblocks)
	{
		uint32_t	left = lines->length > lines->base ? lines->length - lines->base : 0;
		uint32_t	nblocks = (left + 63) / 64;

		if (nblocks == 0)
		{
			lines->nblocks = lines->block = 0;
			return false;
		}
		if (nblocks > BATCH_BLOCKS)
			nblocks = BATCH_BLOCKS;
		lines->kernel->classify(lines->window + lines->base, nblocks,
								lines->dialect, lines->masks);
		if (nblocks * 64 > left)
			scan_mask_tail(&lines->masks[nblocks - 1], left % 64);
		lines->block = 0;
		lines->nblocks = nblocks;
	}
	lines->bits = lines->masks[lines->block].newline |
		lines->masks[lines->block].carriage;
	return true;
}

/* The position of the next CR or LF; false: there is none. */
static inline bool
next_end(Lines *lines, uint32_t *at)
{
	while (lines->bits == 0)
		if (!next_block(lines))
			return false;
	*at = lines->base + lowest_bit(lines->bits);
	lines->bits &= lines->bits - 1;
	return true;
}

static void
set_fault(Lines *lines, ScanFault fault)
{
	if (lines->fault == SCAN_FAULT_NONE)
		lines->fault = fault;
}

typedef enum Judgement
{
	JUDGED_END,
	JUDGED_DATA,
	JUDGED_LATER				/* it depends on bytes not read yet */
} Judgement;

/* Classifies the CR or LF at `at`; as in general.c, except markers. */
static inline Judgement
judge_end(Lines *lines, uint32_t at)
{
	bool		is_last = at + 1 == lines->length;
	bool		pair = !is_last && lines->window[at + 1] == '\n';

	lines->end = at;
	lines->next = at + 1;
	if (lines->window[at] == '\n')
	{
		if (lines->eol == SCAN_EOL_UNKNOWN)
			lines->eol = SCAN_EOL_NL;
		else if (lines->eol == SCAN_EOL_CR || lines->eol == SCAN_EOL_CRNL)
			set_fault(lines, SCAN_FAULT_NEWLINE);
		return JUDGED_END;
	}

	if (lines->eol == SCAN_EOL_CR)
		return JUDGED_END;
	if (lines->eol == SCAN_EOL_NL)
	{
		set_fault(lines, SCAN_FAULT_CARRIAGE_RETURN);
		return JUDGED_DATA;
	}
	if (is_last && !lines->at_eof)
		return JUDGED_LATER;
	if (pair)
		lines->next++;
	if (lines->eol == SCAN_EOL_UNKNOWN)
		lines->eol = pair ? SCAN_EOL_CRNL : SCAN_EOL_CR;
	else if (lines->eol == SCAN_EOL_CRNL && !pair)
	{
		set_fault(lines, SCAN_FAULT_CARRIAGE_RETURN);
		return JUDGED_DATA;
	}
	return JUDGED_END;
}

/* Whether a line that begins at start is a comment; *later as above. */
static bool
begins_comment(const Lines *lines, uint32_t start, bool *later)
{
	const ScanDialect *dialect = lines->dialect;
	uint32_t	left = lines->length - start;
	uint32_t	n = dialect->comment_length;

	*later = left < n && !lines->at_eof &&
		memcmp(lines->window + start, dialect->comment, left) == 0;
	return left >= n && memcmp(lines->window + start, dialect->comment, n) == 0;
}

/* The next line; false: the rest of the window has none, or not a complete one. */
static inline bool
next_line(Lines *lines)
{
	uint32_t	start = lines->next;
	uint32_t	at;
	bool		counted;

	lines->fault = SCAN_FAULT_NONE;
	lines->comment = false;
	lines->start = start;
	if (start == lines->length)
		return false;
	if (lines->dialect->comment != NULL)
	{
		bool		later;

		lines->comment = begins_comment(lines, start, &later);
		if (later)
			return false;
	}

	for (;;)
	{
		Judgement	judgement;

		if (!next_end(lines, &at))
		{
			if (!lines->at_eof)
				return false;
			lines->end = lines->next = lines->length;
			break;
		}
		/* the second half of a CR LF */
		if (at < start)
			continue;
		judgement = judge_end(lines, at);
		if (judgement == JUDGED_LATER)
			return false;
		if (judgement == JUDGED_END)
			break;
	}

	counted = lines->fault == SCAN_FAULT_NONE && !lines->comment;
	lines->lines += counted ? lines->next > lines->end :
		scan_count_lines(lines->eol, lines->window + start, lines->next - start);
	return true;
}

static void
line_rows(const ScanDialect *dialect, ScanEol *eol, const char *window,
		  uint32_t length, bool at_eof, ScanRow *rows, uint32_t max_rows,
		  ScanField *fields, uint32_t max_fields, ScanResult *result)
{
	const ScanFixed *fixed = dialect->fixed;
	Lines		lines;

	lines_begin(&lines, dialect, *eol, window, length, at_eof);
	memset(result, 0, sizeof(*result));
	result->status = at_eof ? SCAN_END : SCAN_MORE;
	while (next_line(&lines))
	{
		if (!lines.comment)
		{
			uint32_t	n;

			if (result->nrows == max_rows ||
				max_fields - result->nfields < fixed->nfields + 1)
			{
				result->status = SCAN_FULL;
				break;
			}
			n = take_line(fixed, window, lines.start, lines.end,
						  fields + result->nfields);
			rows[result->nrows++] = (ScanRow) {
				.start = lines.start, .end = lines.end, .next = lines.next,
				.line = result->lines, .first_field = result->nfields,
				.nfields = n, .fault = lines.fault
			};
			result->nfields += n;
		}
		result->consumed = lines.next;
		result->lines = lines.lines;
		*eol = lines.eol;
	}
}

/* ---- entry points ---- */

void
fixed_rows(const ScanDialect *dialect, ScanEol *eol,
		   const char *window, uint32_t length, bool at_eof,
		   ScanRow *rows, uint32_t max_rows,
		   ScanField *fields, uint32_t max_fields, ScanResult *result)
{
	if (dialect->fixed->record_length > 0)
		record_rows(dialect->fixed, window, length, at_eof, rows, max_rows,
					fields, max_fields, result);
	else
		line_rows(dialect, eol, window, length, at_eof, rows, max_rows,
				  fields, max_fields, result);
}

void
fixed_border(const ScanDialect *dialect, ScanEol eol, const char *window,
			 uint32_t length, ScanBorder *border)
{
	uint32_t	record_length = dialect->fixed->record_length;
	Lines		lines;

	border->end = border->rows = border->lines = 0;
	if (record_length > 0)
	{
		border->rows = border->lines = length / record_length;
		border->end = border->rows * record_length;
		return;
	}
	lines_begin(&lines, dialect, eol, window, length, false);
	while (next_line(&lines))
	{
		border->rows += !lines.comment;
		border->lines = lines.lines;
		border->end = lines.next;
	}
}
