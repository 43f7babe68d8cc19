/*
 * charset.c
 *		See charset.h.
 *
 * UTF-8 is sure: other text hardly ever obeys its rules.  The rest is a guess
 * by how often bytes stand where letters of a language stand in an encoding.
 */
#include "inspect/charset.h"

#include <string.h>

/* ---- UTF-8 ---- */

/* Length of the character at s; 0: it is none; -1: it is cut off. */
static int
utf8_length(const unsigned char *s, size_t len)
{
	int			n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 :
		s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	for (int i = 1; i < n; i++)
	{
		if ((size_t) i >= len)
			return -1;
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
		(s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* Characters of several bytes, and bytes that are no characters. */
static void
count_utf8(const unsigned char *s, size_t len, bool complete, size_t *valid,
		   size_t *invalid)
{
	*valid = *invalid = 0;
	for (size_t at = 0; at < len;)
	{
		int			n = utf8_length(s + at, len - at);

		if (n < 0 && !complete)
			return;
		if (n <= 0)
			(*invalid)++;
		else if (n > 1)
			(*valid)++;
		at += n > 0 ? n : 1;
	}
}

size_t
charset_invalid_utf8(const char *s, size_t len, bool complete)
{
	size_t		valid;
	size_t		invalid;

	count_utf8((const unsigned char *) s, len, complete, &valid, &invalid);
	return invalid;
}

/* ---- UTF-16 ---- */

size_t
charset_from_utf16(const char *s, size_t len, bool big_endian, char *utf8)
{
	const unsigned char *from = (const unsigned char *) s;
	char	   *to = utf8;

	for (size_t at = 0; at + 1 < len; at += 2)
	{
		unsigned	c = from[at + !big_endian] << 8 | from[at + big_endian];

		if (c >= 0xd800 && c < 0xdc00 && at + 3 < len)
		{
			unsigned	low = from[at + 2 + !big_endian] << 8 | from[at + 2 + big_endian];

			if (low >= 0xdc00 && low < 0xe000)
			{
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				at += 2;
			}
		}
		if (c >= 0xd800 && c < 0xe000)
			c = 0xfffd;
		if (c < 0x80)
			*to++ = c;
		else if (c < 0x800)
		{
			*to++ = 0xc0 | c >> 6;
			*to++ = 0x80 | (c & 0x3f);
		}
		else
		{
			if (c < 0x10000)
				*to++ = 0xe0 | c >> 12;
			else
			{
				*to++ = 0xf0 | c >> 18;
				*to++ = 0x80 | (c >> 12 & 0x3f);
			}
			*to++ = 0x80 | (c >> 6 & 0x3f);
			*to++ = 0x80 | (c & 0x3f);
		}
	}
	return to - utf8;
}

/* ASCII that every other byte is missing from: UTF-16 without a mark. */
static const char *
find_utf16(const unsigned char *s, size_t len)
{
	size_t		zeroes[2] = {0, 0};
	size_t		pairs = len / 2 < 4096 ? len / 2 : 4096;

	for (size_t i = 0; i < 2 * pairs; i++)
		zeroes[i & 1] += s[i] == 0 ? 1 : 0;
	if (pairs < 2 || len % 2 != 0)
		return NULL;
	if (zeroes[1] > pairs * 6 / 10 && zeroes[0] < pairs / 10)
		return "UTF16LE";
	if (zeroes[0] > pairs * 6 / 10 && zeroes[1] < pairs / 10)
		return "UTF16BE";
	return NULL;
}

/* ---- encodings of East Asia ---- */

/* How well text obeys an encoding of one and two bytes. */
typedef struct Pairs
{
	size_t		common;			/* pairs that are frequent in its language */
	size_t		rare;
	size_t		broken;
} Pairs;

typedef struct PairRule
{
	const char *name;
	unsigned char first,
				last;			/* of a first byte; the second is 0xa1 or more ... */
	bool		low_second;		/* ... or 0x40 or more */
	/* what is frequent */
	unsigned char common[4];	/* two ranges of first bytes */
} PairRule;

static const PairRule pair_rules[] = {
	{"EUC_JP", 0xa1, 0xfe, false, {0xa4, 0xa5, 0xb0, 0xcf}},
	{"SJIS", 0x81, 0xfc, true, {0x82, 0x83, 0x88, 0x97}},
	{"EUC_KR", 0xa1, 0xfe, false, {0xb0, 0xc8, 0xb0, 0xc8}},
	{"GBK", 0x81, 0xfe, true, {0xb0, 0xd7, 0xb0, 0xd7}},
	{"BIG5", 0x81, 0xfe, true, {0xa4, 0xc6, 0xa4, 0xc6}},
};

#define PAIR_RULES (sizeof(pair_rules) / sizeof(pair_rules[0]))

static void
count_pairs(const PairRule *rule, const unsigned char *s, size_t len,
			Pairs *pairs)
{
	bool		sjis = strcmp(rule->name, "SJIS") == 0;

	memset(pairs, 0, sizeof(*pairs));
	for (size_t at = 0; at < len; at++)
	{
		unsigned char c = s[at];
		unsigned char d;

		if (c < 0x80)
			continue;
		if (sjis && c >= 0xa1 && c <= 0xdf)
		{
			pairs->rare++;		/* a narrow kana */
			continue;
		}
		if (at + 1 >= len)
			return;
		d = s[at + 1];
		if (c < rule->first || c > rule->last ||
			!(rule->low_second ? d >= 0x40 && d != 0x7f && d < 0xff : d >= 0xa1 && d < 0xff))
		{
			pairs->broken++;
			continue;
		}
		if ((c >= rule->common[0] && c <= rule->common[1]) ||
			(c >= rule->common[2] && c <= rule->common[3]))
			pairs->common++;
		else
			pairs->rare++;
		at++;
	}
}

/* Whether there is kana as EUC_JP has it. */
static bool
has_euc_kana(const unsigned char *s, size_t len)
{
	size_t		kana = 0;
	size_t		pairs = 0;

	for (size_t at = 0; at + 1 < len; at++)
	{
		if (s[at] < 0x80)
			continue;
		pairs++;
		kana += s[at] == 0xa4 || s[at] == 0xa5 ? 1 : 0;
		at++;
	}
	return kana * 8 > pairs;
}

static const char *
find_pairs(const unsigned char *s, size_t len)
{
	const char *found = NULL;
	double		best = 0.75;

	for (size_t i = 0; i < PAIR_RULES; i++)
	{
		const PairRule *rule = &pair_rules[i];
		Pairs		pairs;
		size_t		all;
		double		share;

		count_pairs(rule, s, len, &pairs);
		all = pairs.common + pairs.rare;
		if (all < 4 || pairs.broken * 50 > all)
			continue;
		if (strcmp(rule->name, "EUC_JP") == 0 && !has_euc_kana(s, len))
			continue;
		share = (double) pairs.common / all;
		if (share > best)
		{
			best = share;
			found = rule->name;
		}
	}
	return found;
}

/* ---- encodings of one byte ---- */

/* The commonest three letters of a language in an encoding. */
static const struct
{
	const char *name;
	unsigned char letters[3];
}			alphabets[] = {
	{"WIN1251", {0xee, 0xe0, 0xe8}},	/* Russian: o, a, i */
	{"KOI8R", {0xcf, 0xc1, 0xc9}},
	{"WIN866", {0xae, 0xa0, 0xa8}},
	{"ISO_8859_5", {0xde, 0xd0, 0xd8}},
	{"ISO_8859_7", {0xe1, 0xef, 0xe9}},	/* Greek: alpha, omikron, iota */
};

/*
 * Cyrillic and Greek text is of letters beyond ASCII, one after the other; that
 * of western languages is not.
 */
static const char *
find_single(const unsigned char *s, size_t len)
{
	size_t		counts[256] = {0};
	size_t		high = 0;
	size_t		neighbours = 0;
	size_t		best = 0;
	const char *found = NULL;
	bool		windows = false;

	for (size_t i = 0; i < len; i++)
	{
		counts[s[i]]++;
		if (s[i] >= 0x80)
		{
			high++;
			neighbours += i > 0 && s[i - 1] >= 0x80 ? 1 : 0;
		}
	}
	for (int c = 0x80; c < 0xa0; c++)
		windows |= counts[c] > 0;
	if (high >= 4 && neighbours * 2 > high)
		for (size_t i = 0; i < sizeof(alphabets) / sizeof(alphabets[0]); i++)
		{
			size_t		n = 0;

			for (int k = 0; k < 3; k++)
				n += counts[alphabets[i].letters[k]];
			if (n > best)
			{
				best = n;
				found = alphabets[i].name;
			}
		}
	if (best * 8 > high)
		return found;

	/* not defined in Windows' code page */
	if (counts[0x81] + counts[0x8d] + counts[0x8f] + counts[0x90] + counts[0x9d] > 0)
		return "LATIN1";
	return windows ? "WIN1252" : "LATIN1";
}

void
charset_guess(const char *bytes, size_t len, bool complete, Charset *charset)
{
	const unsigned char *s = (const unsigned char *) bytes;
	size_t		valid;

	memset(charset, 0, sizeof(*charset));
	charset->sure = true;
	charset->name = "UTF8";
	if (len >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0)
		charset->mark = 3;
	else if (len >= 2 && (memcmp(s, "\xff\xfe", 2) == 0 || memcmp(s, "\xfe\xff", 2) == 0))
	{
		charset->name = s[0] == 0xff ? "UTF16LE" : "UTF16BE";
		charset->mark = 2;
		return;
	}
	else if (find_utf16(s, len) != NULL)
	{
		charset->name = find_utf16(s, len);
		return;
	}

	count_utf8(s + charset->mark, len - charset->mark, complete, &valid,
			   &charset->invalid);
	charset->ascii = valid == 0 && charset->invalid == 0 && charset->mark == 0;

	/* a few bytes that were cut or pasted do not make it another encoding */
	if (charset->invalid == 0 || charset->mark > 0 || valid > 10 * charset->invalid)
		return;
	charset->sure = false;
	charset->invalid = 0;
	charset->name = find_pairs(s, len);
	if (charset->name == NULL)
		charset->name = find_single(s, len);
}
