/*
 * bits.h
 *		From the masks of a block to its structure: which delimiters and line
 *		ends are outside quotes and escapes (private to this folder).
 *
 * Bit i of every mask is byte i of the block.  Carry has what a block depends
 * on in the bytes before it, as masks whose bit 0 is the first byte of the
 * block.
 */
#ifndef PGBULK_BITS_H
#define PGBULK_BITS_H

#include "scan.h"

#define SCAN_INLINE static inline __attribute__((always_inline))

typedef struct Carry
{
	uint64_t	inside;			/* all ones inside quotes, else 0 */
	uint64_t	escaped;		/* bit 0: made literal by the byte before */
	uint64_t	separated;		/* bit 0: follows a delimiter or line end */
	uint64_t	closed;			/* bit 0: follows a closing quote */
	uint64_t	closed_twice;	/* bit 0: a closing quote is two before */
	uint64_t	carriage;		/* bit 0: follows a structural CR */
} Carry;

typedef struct Bits
{
	/* structural: outside quotes, not escaped */
	uint64_t	delimiter;
	uint64_t	newline;
	uint64_t	carriage;

	uint64_t	inner;			/* LF and CR that are data */
	uint64_t	lax;			/* csv: quote misplaced at or just before here */
	uint64_t	doubled;		/* csv: quotes made literal by a quote */
	uint64_t	escape;			/* csv: escape bytes; text: backslashes that escape */
	uint64_t	backslash;		/* text: all backslashes */
	uint64_t	closed;			/* csv: follows a closing quote */
	uint64_t	closed_twice;	/* csv: closing quote two before */
} Bits;

/* Index of the lowest bit; 64 where there is none. */
SCAN_INLINE uint32_t
lowest_bit(uint64_t x)
{
	return x == 0 ? 64 : (uint32_t) __builtin_ctzll(x);
}

SCAN_INLINE uint32_t
count_bits(uint64_t x)
{
	return (uint32_t) __builtin_popcountll(x);
}

/* Bit i is the parity of the bits up to and with i. */
SCAN_INLINE uint64_t
prefix_parity(uint64_t x)
{
	x ^= x << 1;
	x ^= x << 2;
	x ^= x << 4;
	x ^= x << 8;
	x ^= x << 16;
	x ^= x << 32;
	return x;
}

/*
 * The quotes that open or close, where the escape differs from the quote.
 * Inside quotes an escape makes a quote or escape after it literal; outside it
 * is data.
 */
static inline uint64_t
acting_quotes(uint64_t quote, uint64_t escape, Carry *carry)
{
	uint64_t	inside = carry->inside & 1;
	uint64_t	literal = carry->escaped & 1;	/* at most one bit */
	uint64_t	acting = 0;
	uint64_t	rest = quote | escape;

	carry->escaped = 0;
	while (rest != 0)
	{
		uint64_t	bit = rest & -rest;

		rest ^= bit;
		if (literal & bit)
			continue;
		if (quote & bit)
		{
			acting |= bit;
			inside ^= 1;
		}
		else if (inside)
		{
			literal = bit << 1;
			carry->escaped = bit >> 63;
		}
	}
	return acting;
}

SCAN_INLINE void
csv_bits(const ScanMasks *masks, bool has_escape, Carry *carry, Bits *bits)
{
	uint64_t	quote = masks->special;
	uint64_t	inside = carry->inside;
	uint64_t	separator;
	uint64_t	separated;
	uint64_t	opening;
	uint64_t	closing;

	if (has_escape && (masks->escape | carry->escaped) != 0)
		quote = acting_quotes(quote, masks->escape, carry);
	if (quote != 0)
		inside ^= prefix_parity(quote);

	bits->delimiter = masks->delimiter & ~inside;
	bits->newline = masks->newline & ~inside;
	bits->carriage = masks->carriage & ~inside;
	bits->inner = (masks->newline | masks->carriage) & inside;
	bits->escape = has_escape ? masks->escape : 0;
	bits->backslash = 0;
	separator = bits->delimiter | bits->newline | bits->carriage;

	opening = quote & inside;
	closing = quote & ~inside;
	separated = separator << 1 | carry->separated;
	bits->closed = closing << 1 | carry->closed;
	bits->closed_twice = bits->closed << 1 | carry->closed_twice;
	bits->doubled = has_escape ? 0 : opening & bits->closed;
	bits->lax = (opening & ~(separated | bits->doubled)) |
		(bits->closed & ~(inside | separator));

	carry->inside = -(inside >> 63);
	carry->separated = separator >> 63;
	carry->closed = closing >> 63;
	carry->closed_twice = bits->closed >> 63;
	carry->carriage = bits->carriage >> 63;
}

/*
 * Which backslashes escape the next byte: in a run of them every other one,
 * from the first.  *carried: bit 0 is made literal by the byte before; set
 * likewise for the next block.  *escaped: the bytes made literal.
 */
SCAN_INLINE uint64_t
acting_backslashes(uint64_t backslash, uint64_t *carried, uint64_t *escaped)
{
	const uint64_t odd = UINT64_C(0xaaaaaaaaaaaaaaaa);
	uint64_t	start;
	uint64_t	alternate;
	uint64_t	acting;

	*escaped = *carried;
	*carried = 0;
	if (backslash == 0)
		return 0;

	/*
	 * The subtraction borrows through a run and so shows where it alternates,
	 * for runs that begin at even and at odd positions alike.
	 */
	start = backslash & ~*escaped;
	alternate = (((start << 1) | odd) - start) ^ odd;
	acting = alternate & backslash;
	*escaped = alternate ^ (backslash | *escaped);
	*carried = acting >> 63;
	return acting;
}

SCAN_INLINE void
text_bits(const ScanMasks *masks, Carry *carry, Bits *bits)
{
	uint64_t	backslash = masks->special;
	uint64_t	escaped;

	bits->escape = acting_backslashes(backslash, &carry->escaped, &escaped);
	bits->backslash = backslash;
	bits->delimiter = masks->delimiter & ~escaped;
	bits->newline = masks->newline & ~escaped;
	bits->carriage = masks->carriage & ~escaped;
	bits->inner = (masks->newline | masks->carriage) & escaped;
	bits->lax = 0;
	bits->doubled = 0;
	bits->closed = 0;
	bits->closed_twice = 0;
	carry->carriage = bits->carriage >> 63;
}

#endif							/* PGBULK_BITS_H */
