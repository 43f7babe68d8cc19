/*
 * fields.c
 *		The text of fields: quotes and escapes resolved.
 *
 * From one buffer to another sixteen bytes are moved at a time, whatever of them
 * is wanted.  Within one buffer long stretches without a byte of interest are
 * moved by words of eight bytes: source and destination come apart with each
 * escape, and between one and seven bytes apart a word would overwrite what has
 * not been read, so bytes are moved one by one there.
 */
#include "scan.h"

#include <string.h>

#include "bits.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (uint8_t) (b))
#define HIGH_BITS EACH_BYTE(0x80)

static inline uint64_t
load_word(const char *s)
{
	uint64_t	word;

	memcpy(&word, s, sizeof(word));
	return word;
}

/* Not zero if a byte of word is zero; exact up to the first such byte. */
static inline uint64_t
zero_bytes(uint64_t word)
{
	return (word - EACH_BYTE(1)) & ~word & HIGH_BITS;
}

/* How many bytes of a word in memory come before the first marked one. */
static inline size_t
bytes_before(uint64_t marks)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	/* here zero_bytes may mark bytes before a real one: use the byte loop */
	return 0;
#else
	return (size_t) __builtin_ctzll(marks) / 8;
#endif
}

/*
 * Moves bytes from *src to *dst until one that is a or b, or the end.
 */
static inline void
copy_until(const char **src, const char *end, char **dst, uint64_t a,
		   uint64_t b)
{
	const char *from = *src;
	char	   *to = *dst;
	uintptr_t	apart = (uintptr_t) from - (uintptr_t) to;

	if (apart == 0 || apart >= sizeof(uint64_t))
	{
		while (end - from >= (ptrdiff_t) sizeof(uint64_t))
		{
			uint64_t	word = load_word(from);
			uint64_t	marks = zero_bytes(word ^ a) | zero_bytes(word ^ b);

			memcpy(to, &word, sizeof(word));
			if (marks != 0)
			{
				from += bytes_before(marks);
				to += bytes_before(marks);
				break;
			}
			from += sizeof(word);
			to += sizeof(word);
		}
	}
	while (from < end && *from != (char) a && *from != (char) b)
		*to++ = *from++;
	*src = from;
	*dst = to;
}

/* ---- from one buffer to another ---- */

/* How many of SCAN_OVERCOPY bytes come before the first a or b. */
static inline size_t
bytes_until(const char *s, char a, char b)
{
#if defined(__SSE2__)
	__m128i		bytes = _mm_loadu_si128((const __m128i *) s);
	__m128i		marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(a)),
									 _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b)));

	return (size_t) __builtin_ctz((unsigned) _mm_movemask_epi8(marks) | 1u << SCAN_OVERCOPY);
#else
	size_t		n = 0;

	while (n < SCAN_OVERCOPY && s[n] != a && s[n] != b)
		n++;
	return n;
#endif
}

/* Whether a field's text may be written with SCAN_OVERCOPY bytes more before all is read. */
static inline bool
are_apart(const char *src, size_t len, const char *dst)
{
	size_t		size = len + SCAN_OVERCOPY;

	return (uintptr_t) dst + size <= (uintptr_t) src ||
		(uintptr_t) src + size <= (uintptr_t) dst;
}

/* The bytes of s[0 .. n) that are c, of 64 at most. */
static inline uint64_t
byte_bits(const char *s, size_t n, char c)
{
	uint64_t	bits = 0;

#if defined(__SSE2__)
	const __m128i pattern = _mm_set1_epi8(c);

	for (size_t i = 0; i < n; i += 16)
	{
		__m128i		bytes = _mm_loadu_si128((const __m128i *) (s + i));

		bits |= (uint64_t) (unsigned) _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, pattern)) << i;
	}
	return n < 64 ? bits & ((UINT64_C(1) << n) - 1) : bits;
#else
	for (size_t i = 0; i < n; i++)
		bits |= (uint64_t) (s[i] == c) << i;
	return bits;
#endif
}

/* Returns where the next bytes go. */
static inline char *
copy_over(char *to, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i += SCAN_OVERCOPY)
		memcpy(to + i, from + i, SCAN_OVERCOPY);
	return to + n;
}

/*
 * A field that is quoted as a whole, with doubled quotes: src[0 .. len), quotes
 * included, to dst, which is apart from it.  False: it is written otherwise.
 *
 * Each pair of quotes loses its first one.  Where these are is found for 64
 * bytes at a time, so that no copy waits for the one before it.
 */
static bool
unquote_doubled(const char *src, size_t len, char quote, char *dst, size_t *result)
{
	const char *last = src + len - 1;
	uint64_t	carried = 0;
	char	   *to = dst;

	if (len < 2 || *src != quote || *last != quote)
		return false;
	for (const char *from = src + 1; from < last; from += 64)
	{
		size_t		n = last - from < 64 ? (size_t) (last - from) : 64;
		uint64_t	quotes = byte_bits(from, n, quote);
		uint64_t	second;
		uint64_t	first = acting_backslashes(quotes, &carried, &second);
		size_t		done = 0;

		/* the last of fewer has no other, as the field ends with the next one */
		if ((second & ~quotes) != 0)
			return false;
		for (; first != 0; first &= first - 1)
		{
			size_t		place = (size_t) __builtin_ctzll(first);

			to = copy_over(to, from + done, place - done);
			done = place + 1;
		}
		to = copy_over(to, from + done, n - done);
	}
	*result = (size_t) (to - dst);
	return carried == 0;
}

/* The same with an escape that is another byte. */
static bool
unquote_escaped(const char *src, size_t len, char quote, char escape, char *dst,
				size_t *result)
{
	const char *from = src + 1;
	const char *last = src + len - 1;
	char	   *to = dst;

	if (len < 2 || *src != quote || *last != quote)
		return false;
	while (from < last)
	{
		size_t		n = bytes_until(from, quote, escape);
		size_t		left = (size_t) (last - from);

		memcpy(to, from, SCAN_OVERCOPY);
		if (n >= left)
		{
			to += left;
			break;
		}
		from += n;
		to += n;
		if (n == SCAN_OVERCOPY)
			continue;
		if (from + 1 == last)
			return false;
		if (*from == quote)
			return false;
		if (from[1] == escape || from[1] == quote)
			from++;
		*to++ = *from++;
	}
	*result = (size_t) (to - dst);
	return true;
}

size_t
scan_unquote(const ScanDialect *dialect, const char *src, size_t len, char *dst)
{
	const char	quote = dialect->quote;
	const char	escape = dialect->escape;
	const uint64_t quotes = EACH_BYTE(quote);
	const uint64_t escapes = EACH_BYTE(escape);
	const char *end = src + len;
	char	   *to = dst;
	size_t		result;

	if (are_apart(src, len, dst) &&
		(quote == escape ? unquote_doubled(src, len, quote, dst, &result) :
		 unquote_escaped(src, len, quote, escape, dst, &result)))
		return result;
	for (;;)
	{
		/* outside quotes */
		copy_until(&src, end, &to, quotes, quotes);
		if (src == end)
			break;
		src++;

		/* inside; a quote that is never closed takes the rest */
		for (;;)
		{
			copy_until(&src, end, &to, quotes, escapes);
			if (src == end)
				break;
			if (*src == escape && src + 1 < end &&
				(src[1] == escape || src[1] == quote))
			{
				*to++ = src[1];
				src += 2;
				continue;
			}
			if (*src == quote)
			{
				src++;
				break;
			}
			*to++ = *src++;
		}
	}
	return (size_t) (to - dst);
}

/* Value of a hexadecimal digit, or -1. */
static inline int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static inline bool
is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/*
 * The byte for a backslash and the sequence at *src; advances *src.
 */
static char
unescape_one(const char **src, const char *end, bool *high)
{
	const char *s = *src;
	char		c = *s++;
	int			value;

	switch (c)
	{
		case '0':
		case '1':
		case '2':
		case '3':
		case '4':
		case '5':
		case '6':
		case '7':
			value = c - '0';
			for (int i = 0; i < 2 && s < end && is_octal(*s); i++)
				value = value * 8 + (*s++ - '0');
			c = (char) (value & 0xff);
			if (c == '\0' || (c & 0x80))
				*high = true;
			break;
		case 'x':
			if (s < end && hex_digit(*s) >= 0)
			{
				value = hex_digit(*s++);
				if (s < end && hex_digit(*s) >= 0)
					value = value * 16 + hex_digit(*s++);
				c = (char) value;
				if (c == '\0' || (c & 0x80))
					*high = true;
			}
			break;
		case 'b':
			c = '\b';
			break;
		case 'f':
			c = '\f';
			break;
		case 'n':
			c = '\n';
			break;
		case 'r':
			c = '\r';
			break;
		case 't':
			c = '\t';
			break;
		case 'v':
			c = '\v';
			break;
	}
	*src = s;
	return c;
}

/* What a backslash makes of a letter; 0: unescape_one knows. */
static const char control_letters[26] = {
	['b' - 'a'] = '\b',
	['f' - 'a'] = '\f',
	['n' - 'a'] = '\n',
	['r' - 'a'] = '\r',
	['t' - 'a'] = '\t',
	['v' - 'a'] = '\v'
};

/* To a buffer that is apart. */
static size_t
unescape_apart(const char *src, const char *end, char *dst, bool *high)
{
	char	   *to = dst;

	while (src < end)
	{
		size_t		n = bytes_until(src, '\\', '\\');
		size_t		left = (size_t) (end - src);
		uint8_t		letter;

		memcpy(to, src, SCAN_OVERCOPY);
		if (n >= left)
			return (size_t) (to + left - dst);
		src += n;
		to += n;
		if (n == SCAN_OVERCOPY)
			continue;
		if (++src == end)
			break;
		letter = (uint8_t) (*src - 'a');
		if (letter < sizeof(control_letters) && control_letters[letter] != 0)
		{
			*to++ = control_letters[letter];
			src++;
		}
		else
			*to++ = unescape_one(&src, end, high);
	}
	return (size_t) (to - dst);
}

size_t
scan_unescape(const char *src, size_t len, char *dst, bool *high)
{
	const uint64_t backslashes = EACH_BYTE('\\');
	const char *end = src + len;
	char	   *to = dst;

	*high = false;
	if (are_apart(src, len, dst))
		return unescape_apart(src, end, dst, high);
	for (;;)
	{
		copy_until(&src, end, &to, backslashes, backslashes);
		if (src == end)
			break;
		src++;
		if (src == end)
			break;
		*to++ = unescape_one(&src, end, high);
	}
	return (size_t) (to - dst);
}

uint32_t
scan_character(const char *s, uint32_t left, int (*mblen) (const unsigned char *))
{
	int			len = mblen((const unsigned char *) s);
	uint32_t	i = 1;

	while (--len > 0 && i < left && (unsigned char) s[i] >= 0x30)
		i++;
	return i;
}

void
scan_shape(const char *window, uint32_t length,
		   int (*mblen) (const unsigned char *), char *shape)
{
	uint32_t	i = 0;

	while (i < length)
	{
		uint32_t	n;

		while (length - i >= sizeof(uint64_t))
		{
			uint64_t	word = load_word(window + i);

			if (word & HIGH_BITS)
				break;
			memcpy(shape + i, &word, sizeof(word));
			i += sizeof(word);
		}
		while (i < length && !(window[i] & 0x80))
		{
			shape[i] = window[i];
			i++;
		}
		if (i == length)
			break;

		n = scan_character(window + i, length - i, mblen);
		shape[i] = window[i];
		memset(shape + i + 1, 0x80, n - 1);
		i += n;
	}
}

bool
scan_is_ascii(const char *s, size_t len)
{
	uint64_t	high = 0;
	size_t		i = 0;

	while (len - i >= 4 * sizeof(uint64_t))
	{
		high = load_word(s + i) | load_word(s + i + 8) |
			load_word(s + i + 16) | load_word(s + i + 24);
		if (high & HIGH_BITS)
			return false;
		i += 4 * sizeof(uint64_t);
	}
	for (high = 0; i < len; i++)
		high |= (unsigned char) s[i];
	return (high & 0x80) == 0;
}

uint32_t
scan_count_lines(ScanEol eol, const char *s, uint32_t length)
{
	const char	byte = eol == SCAN_EOL_CR ? '\r' : '\n';
	const char *end = s + length;
	uint32_t	count = 0;

	if (eol != SCAN_EOL_ANY)
	{
		while ((s = memchr(s, byte, (size_t) (end - s))) != NULL)
		{
			count++;
			s++;
		}
		return count;
	}
	for (; s < end; s++)
		count += *s == '\n' || (*s == '\r' && (s + 1 == end || s[1] != '\n'));
	return count;
}
