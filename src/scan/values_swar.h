/*
 * values_swar.h
 *		Eight digits at a time in one 64-bit register.
 *
 * Private to the values*.c files.  A word holds eight bytes of text with the
 * first one in the low byte, whatever the machine's byte order.  Loads may
 * touch up to 16 bytes after the text; they are shifted out before anything
 * is decided.
 */
#ifndef PGBULK_VALUES_SWAR_H
#define PGBULK_VALUES_SWAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SWAR_ONES UINT64_C(0x0101010101010101)
#define SWAR_HIGHS UINT64_C(0x8080808080808080)
#define SWAR_ZEROS UINT64_C(0x3030303030303030) /* "00000000" */

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline uint64_t
swar_load(const char *s)
{
	uint64_t	word;

	memcpy(&word, s, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

/* The first n (1 to 8) bytes of word, right-aligned behind '0's. */
static inline uint64_t
swar_pad(uint64_t word, size_t n)
{
	unsigned	drop = (unsigned) (8 - n) * 8;

	return (word << drop) | (SWAR_ZEROS & ~(~UINT64_C(0) << drop));
}

/* Whether all eight bytes are '0' to '9'. */
static inline bool
swar_all_digits(uint64_t word)
{
	uint64_t	x = word ^ SWAR_ZEROS;

	/* the high nibbles must be 0, also after adding what lifts 10 to 16 */
	return ((x | (x + UINT64_C(0x0606060606060606))) &
			UINT64_C(0xf0f0f0f0f0f0f0f0)) == 0;
}

/* Value of eight digits; neighbours are joined to pairs, fours, eight. */
static inline uint32_t
swar_fold(uint64_t word)
{
	word = (word & UINT64_C(0x0f0f0f0f0f0f0f0f)) * (1 + (10 << 8)) >> 8;
	word = (word & UINT64_C(0x00ff00ff00ff00ff)) * (1 + (100 << 16)) >> 16;
	word = (word & UINT64_C(0x0000ffff0000ffff)) *
		(1 + (UINT64_C(10000) << 32)) >> 32;
	return (uint32_t) word;
}

/* Value of the n (1 to 19) bytes at s; false where one is no digit. */
static inline bool
swar_fold_digits(const char *s, size_t n, uint64_t *value)
{
	uint64_t	head;
	uint64_t	middle;
	uint64_t	tail;

	if (LIKELY(n <= 8))
	{
		tail = swar_pad(swar_load(s), n);
		*value = swar_fold(tail);
		return swar_all_digits(tail);
	}
	tail = swar_load(s + n - 8);
	if (n <= 16)
	{
		head = swar_pad(swar_load(s), n - 8);
		*value = (uint64_t) swar_fold(head) * 100000000 + swar_fold(tail);
		return swar_all_digits(head) && swar_all_digits(tail);
	}
	head = swar_pad(swar_load(s), n - 16);
	middle = swar_load(s + n - 16);
	*value = ((uint64_t) swar_fold(head) * 100000000 + swar_fold(middle)) *
		100000000 + swar_fold(tail);
	return swar_all_digits(head) && swar_all_digits(middle) &&
		swar_all_digits(tail);
}

/* What isspace() takes in every locale; bytes above 0x7f are the server's. */
static inline bool
ascii_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool
ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Not a high byte, and not the zero byte, which would end a server's string. */
static inline bool
ascii_is_plain(char c)
{
	return (unsigned char) c - 1u < 0x7f;
}

/*
 * Whether c ends a number without being part of it, in every server: plain,
 * no white space, and no underscore (which later servers take in numbers).
 */
static inline bool
ascii_is_junk(char c)
{
	return ascii_is_plain(c) && c != '_' && !ascii_is_space(c);
}

/*
 * Whether what follows a number's last digit, s[0 .. len) with len > 0, is
 * surely refused.
 */
static inline bool
ascii_is_bad_tail(const char *s, size_t len)
{
	size_t		i = 0;

	if (!ascii_is_space(*s))
		return ascii_is_junk(*s);
	while (i < len && ascii_is_space(s[i]))
		i++;
	return i < len && ascii_is_plain(s[i]);
}

/* Cuts surrounding white space. */
static inline void
ascii_trim(const char **s, size_t *len)
{
	while (*len > 0 && ascii_is_space((*s)[*len - 1]))
		(*len)--;
	while (*len > 0 && ascii_is_space(**s))
	{
		(*s)++;
		(*len)--;
	}
}

#endif							/* PGBULK_VALUES_SWAR_H */
