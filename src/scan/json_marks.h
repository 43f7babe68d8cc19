/*
 * json_marks.h
 *		The positions in a JSON text that matter ("marks"), and the scalars that
 *		begin at them (private to this folder).
 *
 * Found without a branch for a single byte, a few blocks of 64 bytes at a time:
 * outside strings the punctuation and where each other token begins, of strings
 * both quotes and the backslashes between them; control characters anywhere, if
 * wanted, line ends among them.  A walk from mark to mark never looks at the
 * inside of a string or at white space.
 */
#ifndef PGBULK_JSON_MARKS_H
#define PGBULK_JSON_MARKS_H

#include <string.h>

#include "scan/bits.h"
#include "scan/json_node.h"
#include "scan/values_swar.h"

/* Blocks at a time: few, as most documents are short. */
#define BATCH_BLOCKS 16

/* Marks are written four at a time, of which the last three may be unused. */
#define MARK_STEP 4

typedef struct JsonScan
{
	const char *text;
	uint32_t	length;
	uint32_t	scanned;		/* bytes whose marks have been found */
	uint32_t	nmarks;
	uint32_t	at;				/* index of the next mark */

	/* of the bytes before the next block, as bits.h has them */
	uint64_t	inside;			/* all ones inside a string, else 0 */
	uint64_t	escaped;		/* bit 0: made literal by the byte before */
	uint64_t	token;			/* bit 0: continues a token that is not a string */

	uint64_t	wrong;			/* not 0: control characters within strings */
	uint64_t	controls;		/* all ones: control characters are marks, too */
	uint32_t	marks[BATCH_BLOCKS * 64 + MARK_STEP];
} JsonScan;

/* ---- marks ---- */

static inline uint64_t
find_marks(JsonScan *scan, const ScanJsonMasks *masks)
{
	uint64_t	escaped;
	uint64_t	acting = acting_backslashes(masks->backslash, &scan->escaped, &escaped);
	uint64_t	quote = masks->quote & ~escaped;
	uint64_t	inside = scan->inside ^ prefix_parity(quote);	/* and opening quotes */
	uint64_t	token = ~(masks->punctuation | masks->space | quote | inside);
	uint64_t	begins = token & ~(token << 1 | scan->token);

	scan->inside = -(inside >> 63);
	scan->token = token >> 63;
	scan->wrong |= masks->control & inside;
	return (masks->punctuation & ~inside) | quote | begins | (acting & inside) |
		(masks->control & scan->controls);
}

/* Begins at an offset, outside strings. */
static inline void
begin_marks(JsonScan *scan, const char *text, uint32_t start, uint32_t length,
			bool controls)
{
	scan->text = text;
	scan->length = length;
	scan->scanned = start;
	scan->nmarks = scan->at = 0;
	scan->inside = scan->escaped = scan->token = scan->wrong = 0;
	scan->controls = controls ? ~UINT64_C(0) : 0;
}

static inline void
add_marks(JsonScan *scan, uint32_t base, uint64_t bits)
{
	uint32_t   *mark = scan->marks + scan->nmarks;

	scan->nmarks += count_bits(bits);
	while (bits != 0)
	{
		/* where no bit is left the position does not matter */
		for (int i = 0; i < MARK_STEP; i++)
		{
			mark[i] = base + (uint32_t) __builtin_ctzll(bits | UINT64_C(1) << 63);
			bits &= bits - 1;
		}
		mark += MARK_STEP;
	}
}

/*
 * Finds more marks.  At the end of the text there is always one more: its
 * length.
 */
static __attribute__((noinline)) void
scan_on(JsonScan *scan)
{
	const ScanKernel *kernel = scan_kernel();
	ScanJsonMasks masks[BATCH_BLOCKS];

	scan->at = scan->nmarks = 0;
	while (scan->nmarks == 0 && scan->scanned < scan->length)
	{
		uint32_t	base = scan->scanned;
		uint32_t	nblocks = (scan->length - base) / 64;
		char		last[64];

		if (nblocks > BATCH_BLOCKS)
			nblocks = BATCH_BLOCKS;
		if (nblocks > 0)
			kernel->classify_json(scan->text + base, nblocks, masks);
		scan->scanned = base + nblocks * 64;
		if (nblocks < BATCH_BLOCKS && scan->scanned < scan->length)
		{
			uint32_t	left = scan->length - scan->scanned;

			memset(last, ' ', sizeof(last));
			memcpy(last, scan->text + scan->scanned, left);
			kernel->classify_json(last, 1, &masks[nblocks++]);
			scan->scanned = scan->length;
		}
		for (uint32_t i = 0; i < nblocks; i++)
			add_marks(scan, base + i * 64, find_marks(scan, &masks[i]));
	}
	if (scan->nmarks == 0)
		scan->marks[scan->nmarks++] = scan->length;
}

static inline uint32_t
peek_mark(JsonScan *scan)
{
	if (UNLIKELY(scan->at == scan->nmarks))
		scan_on(scan);
	return scan->marks[scan->at];
}

static inline uint32_t
next_mark(JsonScan *scan)
{
	uint32_t	mark = peek_mark(scan);

	scan->at++;
	return mark;
}

/* The byte at a mark; a zero byte at the end of the text. */
static inline char
byte_at(const JsonScan *scan, uint32_t mark)
{
	return LIKELY(mark < scan->length) ? scan->text[mark] : '\0';
}

/* ---- scalars ---- */

static inline bool
is_json_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Eight bits for the bytes that are not digits. */
static inline uint32_t
other_than_digits(uint64_t word)
{
	uint64_t	x = word ^ SWAR_ZEROS;
	uint64_t	high = ((x & ~SWAR_HIGHS) + (0x80 - 10) * SWAR_ONES) | x;

	return (uint32_t) ((((high & SWAR_HIGHS) >> 7) *
						UINT64_C(0x0102040810204080)) >> 56);
}

static inline const char *
after_digits(const char *s, const char *end)
{
	while (s < end && ascii_is_digit(*s))
		s++;
	return s;
}

/* Whether s[0 .. length) is a number by the grammar. */
static bool
is_any_number(const char *s, uint32_t length)
{
	const char *end = s + length;
	const char *digits;

	if (s < end && *s == '-')
		s++;
	digits = s;
	s = after_digits(s, end);
	if (s == digits || (*digits == '0' && s - digits > 1))
		return false;
	if (s < end && *s == '.')
	{
		digits = ++s;
		s = after_digits(s, end);
		if (s == digits)
			return false;
	}
	if (s < end && (*s == 'e' || *s == 'E'))
	{
		s++;
		if (s < end && (*s == '-' || *s == '+'))
			s++;
		digits = s;
		s = after_digits(s, end);
		if (s == digits)
			return false;
	}
	return s == end;
}

/* The same; most have up to 16 bytes and nothing but digits and a point. */
static inline bool
is_number(const char *s, uint32_t length)
{
	uint32_t	others;

	if (LIKELY(length <= 16 && ascii_is_digit(*s) && (*s != '0' || length == 1)))
	{
		others = other_than_digits(swar_load(s)) |
			other_than_digits(swar_load(s + 8)) << 8;
		others &= (UINT32_C(1) << length) - 1;
		if (others == 0)
			return true;
		/* one byte, which is not the last one */
		if ((others & (others - 1)) == 0 && others >> (length - 1) == 0 &&
			s[lowest_bit(others)] == '.')
			return true;
	}
	return is_any_number(s, length);
}

/* The scalar at a mark, up to the next one; false: it is invalid. */
static inline bool
scan_scalar(JsonScan *scan, uint32_t mark, JsonNode *node)
{
	const char *s = scan->text + mark;
	uint32_t	length = peek_mark(scan) - mark;

	while (is_json_space(s[length - 1]))
		length--;
	node->length = length;
	switch (*s)
	{
		case 't':
			node->kind = JSON_TRUE;
			return length == 4 && memcmp(s, "true", 4) == 0;
		case 'f':
			node->kind = JSON_FALSE;
			return length == 5 && memcmp(s, "false", 5) == 0;
		case 'n':
			node->kind = JSON_NULL;
			return length == 4 && memcmp(s, "null", 4) == 0;
		default:
			node->kind = JSON_NUMBER;
			return is_number(s, length);
	}
}

/* ---- strings ---- */

/* The value of four hex digits, or -1. */
static inline int
hex_value(const char *s)
{
	int			value = 0;

	for (int i = 0; i < 4; i++)
	{
		char		lower = (char) (s[i] | 0x20);

		if (ascii_is_digit(s[i]))
			value = value * 16 + (s[i] - '0');
		else if (lower >= 'a' && lower <= 'f')
			value = value * 16 + (lower - 'a') + 10;
		else
			return -1;
	}
	return value;
}

/* The character of a letter after a backslash; 0 for an invalid escape. */
static inline char
escape_letter(char c)
{
	switch (c)
	{
		case '"':
		case '\\':
		case '/':
			return c;
		case 'b':
			return '\b';
		case 'f':
			return '\f';
		case 'n':
			return '\n';
		case 'r':
			return '\r';
		case 't':
			return '\t';
		default:
			return '\0';
	}
}

/* Whether a backslash begins an escape; left: bytes of the text after it. */
static inline bool
is_escape(const char *s, uint32_t left)
{
	if (left < 1)
		return false;
	if (s[1] == 'u')
		return left >= 5 && hex_value(s + 2) >= 0;
	return escape_letter(s[1]) != '\0';
}

#endif							/* PGBULK_JSON_MARKS_H */
