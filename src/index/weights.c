/*
 * weights.c
 *		See weights.h.
 */
#include "postgres.h"

#include "index/weights.h"
#include "server/compat.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#define FIRST_CHARACTER ' '
#define LAST_CHARACTER '~'
#define CHARACTERS (LAST_CHARACTER - FIRST_CHARACTER + 1)

/* Of all collations that this session has needed. */
static List *learned = NIL;

/* Two characters as a text; a zero is none. */
static int
compare_pairs(SortSupport ssup, char a, char a2, char b, char b2)
{
	union
	{
		char		bytes[VARHDRSZ + 2];
		int32		align;
	}			texts[2];
	const char	characters[2][2] = {{a, a2}, {b, b2}};

	for (int i = 0; i < 2; i++)
	{
		SET_VARSIZE(texts[i].bytes, VARHDRSZ + (characters[i][1] == '\0' ? 1 : 2));
		memcpy(texts[i].bytes + VARHDRSZ, characters[i], 2);
	}
	return ssup->comparator(PointerGetDatum(texts[0].bytes), PointerGetDatum(texts[1].bytes),
							ssup);
}

/*
 * Whether one character comes before another one, whatever follows.  0: what follows decides
 * before the difference between them, if there is one.
 */
static int
compare_first(const void *a, const void *b, void *arg)
{
	char		character_a = *(const char *) a;
	char		character_b = *(const char *) b;
	int			before = compare_pairs(arg, character_a, 'a', character_b, 'b');
	int			behind = compare_pairs(arg, character_a, 'b', character_b, 'a');

	return before < 0 && behind < 0 ? -1 : before > 0 && behind > 0 ? 1 : 0;
}

static int
compare_second(SortSupport ssup, char a, char b)
{
	return compare_pairs(ssup, a, '\0', b, '\0');
}

/* Whether what follows a character decides alone, as with punctuation in some collations. */
static bool
is_ignored(SortSupport ssup, char character)
{
	return compare_pairs(ssup, character, 'b', 'a', '\0') > 0 &&
		compare_pairs(ssup, character, 'a', 'b', '\0') < 0 &&
		compare_pairs(ssup, character, 'z', 'y', '\0') > 0 &&
		compare_pairs(ssup, character, 'y', 'z', '\0') < 0;
}

/* Characters with the same first weight, or ignored, from begin to end, get their second ones. */
static void
set_second(Weights *weights, SortSupport ssup, const char *sorted, int begin, int end)
{
	for (int i = begin; i < end; i++)
	{
		weights->second[(uint8) sorted[i]] = 1;
		for (int k = begin; k < end; k++)
			if (compare_second(ssup, sorted[k], sorted[i]) < 0)
				weights->second[(uint8) sorted[i]]++;
	}
}

static bool
is_alphanumeric(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
}

/* Whether pairs of small letters and digits, as sorted, come in the order of their weights. */
static bool
has_no_contraction(SortSupport ssup, const char *sorted, int n)
{
	char		before[2] = {sorted[0], sorted[0]};

	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
		{
			if (i + k > 0 && compare_pairs(ssup, before[0], before[1], sorted[i], sorted[k]) >= 0)
				return false;
			before[0] = sorted[i];
			before[1] = sorted[k];
		}
	return true;
}

static void
learn(Weights *weights, SortSupport ssup)
{
	char		sorted[CHARACTERS];
	char		ignored[CHARACTERS];
	char		alphanumeric[CHARACTERS];
	int			nignored = 0;
	int			nalphanumeric = 0;
	int			n = 0;

	for (char c = FIRST_CHARACTER; c <= LAST_CHARACTER; c++)
	{
		if (is_ignored(ssup, c))
		{
			weights->first[(uint8) c] = WEIGHT_IGNORED;
			ignored[nignored++] = c;
		}
		else
			sorted[n++] = c;
	}
	qsort_arg(sorted, n, sizeof(char), compare_first, ssup);
	for (int begin = 0, end, weight = 1; begin < n; begin = end, weight++)
	{
		for (end = begin; end < n && compare_first(&sorted[begin], &sorted[end], ssup) == 0; end++)
		{
			weights->first[(uint8) sorted[end]] = weight;
			if (is_alphanumeric(sorted[end]))
				alphanumeric[nalphanumeric++] = sorted[end];
		}
		set_second(weights, ssup, sorted, begin, end);
	}
	set_second(weights, ssup, ignored, 0, nignored);
	weights->ignores = nignored > 0;
	weights->known = has_no_contraction(ssup, alphanumeric, nalphanumeric);
}

const Weights *
weights_of(SortSupport ssup)
{
	ListCell   *lc;
	Weights    *weights;
	MemoryContext old;

	foreach(lc, learned)
	{
		weights = lfirst(lc);
		if (weights->collation == ssup->ssup_collation)
			return weights->known ? weights : NULL;
	}
	old = MemoryContextSwitchTo(TopMemoryContext);
	weights = palloc0(sizeof(Weights));
	weights->collation = ssup->ssup_collation;
	learn(weights, ssup);
	learned = lappend(learned, weights);
	MemoryContextSwitchTo(old);
	return weights->known ? weights : NULL;
}

/*
 * Where characters are ignored, and which: each behind the number of others since the last one.  So
 * texts that are the same without them come as by the C library, which takes others for higher.
 * Returns false where there are too many to say.
 */
static bool
append_ignored(const Weights *weights, const char *text, Size length, StringInfo string)
{
	Size		others = 0;
	bool		known = true;

	for (Size i = 0; i < length; i++)
	{
		uint8		c = text[i];

		if (weights->first[c] != WEIGHT_IGNORED)
		{
			others++;
			continue;
		}
		known &= others < PG_UINT8_MAX;
		appendStringInfoChar(string, (char) Min(others + 1, PG_UINT8_MAX));
		appendStringInfoChar(string, (char) weights->second[c]);
		others = 0;
	}
	known &= others < PG_UINT8_MAX;
	appendStringInfoChar(string, (char) Min(others + 1, PG_UINT8_MAX));
	appendStringInfoChar(string, '\0');
	return known;
}

bool
weights_append(const Weights *weights, const char *text, Size length, StringInfo string,
			   bool *whole)
{
	Size		n = 0;
	Size		seconds = 0;
	bool		known = true;
	uint8	   *to;

	enlargeStringInfo(string, 2 * length + 2);
	to = (uint8 *) string->data + string->len;
	for (Size i = 0; i < length; i++)
	{
		uint8		c = text[i];

		to[n] = weights->first[c];
		if (to[n] == WEIGHT_IGNORED)
			continue;
		known &= to[n++] != WEIGHT_UNKNOWN;
		/* lowest ones at the end say nothing, as they are of texts of the same length */
		if (weights->second[c] > 1)
			seconds = n;
	}
	to += n;
	*to++ = '\0';
	for (Size i = 0; seconds > 0; i++)
		if (weights->first[(uint8) text[i]] != WEIGHT_IGNORED)
		{
			*to++ = weights->second[(uint8) text[i]];
			seconds--;
		}
	*to++ = '\0';
	string->len = (char *) to - string->data;
	*whole = !weights->ignores || append_ignored(weights, text, length, string);
	return known;
}
