/*
 * pglz.c
 *		See pglz.h.
 */
#include "write/pglz.h"

#include <stdbool.h>
#include <string.h>

/* The server's default strategy. */
#define MIN_INPUT 32
#define MIN_SAVED_PERCENT 25
#define FIRST_MATCH_BY 1024
#define GOOD_MATCH 128

#define MIN_MATCH 3
#define MAX_MATCH 273
#define MAX_OFFSET 4094
#define LONG_MATCH 18			/* a longer match needs another byte for its length */

#define LIKELY(x) __builtin_expect(!!(x), 1)

/* A value that is being compressed. */
typedef struct Pglz
{
	PglzHistory *history;
	const char *source;
	const char *end;
	uint32_t	mask;			/* of hash values */
	uint8_t    *out;
	uint8_t    *control;		/* the byte with a bit for each of eight items */
	unsigned	bit;
} Pglz;

static uint32_t
choose_mask(int32_t length)
{
	if (length < 128)
		return 512 - 1;
	if (length < 256)
		return 1024 - 1;
	if (length < 512)
		return 2048 - 1;
	if (length < 1024)
		return 4096 - 1;
	return PGLZ_HEADS - 1;
}

/* Rounded as by the server. */
static int32_t
largest_result(int32_t length)
{
	if (length > INT32_MAX / 100)
		return length / 100 * (100 - MIN_SAVED_PERCENT);
	return length * (100 - MIN_SAVED_PERCENT) / 100;
}

/* Bytes are signed as the platform's char; the last three are hashed alone. */
static inline uint32_t
hash_at(const Pglz *pglz, const char *s)
{
	int			hash = s[0];

	if (LIKELY(pglz->end - s >= 4))
		hash = (s[0] * 64) ^ (s[1] * 16) ^ (s[2] * 4) ^ s[3];
	return (uint32_t) hash & pglz->mask;
}

/*
 * Adds a byte of the source to the history; returns the latest position with
 * the same hash.
 */
static inline uint32_t
remember(Pglz *pglz, const char *s)
{
	PglzHistory *history = pglz->history;
	uint32_t	position = history->base + (uint32_t) (s - pglz->source);
	uint32_t   *head = &history->heads[hash_at(pglz, s)];
	uint32_t	before = *head;

	history->links[position % PGLZ_SPAN] = before;
	*head = position;
	return before;
}

static inline uint32_t
load4(const char *s)
{
	uint32_t	word;

	memcpy(&word, s, sizeof(word));
	return word;
}

static inline uint64_t
load8(const char *s)
{
	uint64_t	word;

	memcpy(&word, s, sizeof(word));
	return word;
}

/* How many bytes are equal, up to most. */
static inline int32_t
match_length(const char *a, const char *b, int32_t most)
{
	int32_t		n = 0;

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	while (n + 8 <= most)
	{
		uint64_t	differ = load8(a + n) ^ load8(b + n);

		if (differ != 0)
			return n + __builtin_ctzll(differ) / 8;
		n += 8;
	}
#endif
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

/*
 * The match at s that the server would take: it goes through positions, the
 * latest first, and accepts shorter matches the more it has seen.  Returns its
 * length, or 0 where there is none good enough.
 */
static inline int32_t
find_match(const Pglz *pglz, const char *s, uint32_t place, int32_t *offset)
{
	const PglzHistory *history = pglz->history;
	const uint32_t position = history->base + (uint32_t) (s - pglz->source);
	const int32_t left = (int32_t) (pglz->end - s < MAX_MATCH ? pglz->end - s : MAX_MATCH);
	uint32_t	lowest = history->base;
	int32_t		best = MIN_MATCH - 1;
	int32_t		good = GOOD_MATCH;

	if (position - lowest > MAX_OFFSET)
		lowest = position - MAX_OFFSET;
	while (place >= lowest && best < left)
	{
		const char *candidate = s - (position - place);

		/* the byte that would make it longer, and those before that */
		if (best >= MIN_MATCH ? load4(candidate + best - 3) == load4(s + best - 3) :
			candidate[2] == s[2] && candidate[1] == s[1])
		{
			int32_t		length = match_length(candidate, s, left);

			if (length > best)
			{
				best = length;
				*offset = (int32_t) (position - place);
			}
		}
		if (best >= good)
			break;
		good -= good / 10;
		place = history->links[place % PGLZ_SPAN];
	}
	return best >= MIN_MATCH ? best : 0;
}

/* Begins an item: a bit in the control byte says whether it is a match. */
static inline void
begin_item(Pglz *pglz, bool is_match)
{
	if (pglz->bit == 256)
	{
		pglz->control = pglz->out++;
		*pglz->control = 0;
		pglz->bit = 1;
	}
	if (is_match)
		*pglz->control |= (uint8_t) pglz->bit;
	pglz->bit <<= 1;
}

static inline void
put_match(Pglz *pglz, int32_t length, int32_t offset)
{
	bool		is_long = length >= LONG_MATCH;

	begin_item(pglz, true);
	*pglz->out++ = (uint8_t) (offset >> 4 & 0xf0) |
		(uint8_t) (is_long ? 0x0f : length - MIN_MATCH);
	*pglz->out++ = (uint8_t) offset;
	if (is_long)
		*pglz->out++ = (uint8_t) (length - LONG_MATCH);
}

/* Positions are never reused, so those of earlier values are harmless. */
static void
begin_value(PglzHistory *history, uint32_t length)
{
	if (history->base == 0 || UINT32_MAX - history->base < length)
	{
		memset(history, 0, sizeof(*history));
		history->base = 1;
	}
}

int32_t
pglz_compact(PglzHistory *history, const char *source, int32_t length,
			 char *dest)
{
	const int32_t most = largest_result(length);
	uint8_t    *const start = (uint8_t *) dest;
	bool		matched = false;
	Pglz		pglz = {
		.history = history,
		.source = source,
		.end = source + length,
		.mask = choose_mask(length),
		.out = start,
		.bit = 256
	};

	if (length < MIN_INPUT)
		return -1;
	begin_value(history, (uint32_t) length);
	for (const char *s = source; s < pglz.end;)
	{
		uint32_t	before;
		int32_t		offset = 0;
		int32_t		match;

		if (pglz.out - start >= most ||
			(!matched && pglz.out - start >= FIRST_MATCH_BY))
		{
			history->base += (uint32_t) length;
			return -1;
		}
		before = remember(&pglz, s);
		match = find_match(&pglz, s, before, &offset);
		if (match > 0)
		{
			put_match(&pglz, match, offset);
			while (++s, --match > 0)
				remember(&pglz, s);
			matched = true;
		}
		else
		{
			begin_item(&pglz, false);
			*pglz.out++ = (uint8_t) *s++;
		}
	}
	history->base += (uint32_t) length;
	return pglz.out - start < most ? (int32_t) (pglz.out - start) : -1;
}
