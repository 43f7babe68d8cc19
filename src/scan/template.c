/*
 * template.c
 *		Dates that to_timestamp would silently misread.
 *
 * The server reads 00/12/2024 by DD/MM/YYYY as the first of December (it
 * ignores a zero), and 31/12/24 as a day in the year 24.  Both occur in files
 * where no date is meant, or another one.
 *
 * In 12300, read by HH24MISS, a digit is missing, and it is not known from
 * which number: it is not read as 12:30:00.
 *
 * The server takes a sign for a part of any number, within its maximal number of
 * digits.
 *
 * The text is known to match the template, so the two are walked in parallel: a
 * number ends where its digits end, or, if another pattern follows immediately,
 * after its maximal number of digits.
 */
#include "values.h"

#include <string.h>

typedef enum PatternKind
{
	PATTERN_STOP,				/* the rest is ignored */
	PATTERN_ANY,				/* any number of digits, as of fractions */
	PATTERN_NUMBER,
	PATTERN_WORD,
	PATTERN_DAY,				/* or month: never zero */
	PATTERN_YEAR				/* never zero, and with four digits */
} PatternKind;

typedef struct Pattern
{
	const char *name;
	PatternKind kind;
	size_t		digits;			/* at most, where another number follows immediately */
} Pattern;

/* Longer patterns come before their prefixes. */
static const Pattern patterns[] = {
	{"A.D.", PATTERN_WORD, 0}, {"A.M.", PATTERN_WORD, 0}, {"B.C.", PATTERN_WORD, 0},
	{"P.M.", PATTERN_WORD, 0},
	{"AD", PATTERN_WORD, 0}, {"AM", PATTERN_WORD, 0}, {"BC", PATTERN_WORD, 0},
	{"PM", PATTERN_WORD, 0}, {"RM", PATTERN_WORD, 0},
	{"CC", PATTERN_NUMBER, 2},
	{"DAY", PATTERN_WORD, 0}, {"DDD", PATTERN_DAY, 3}, {"DD", PATTERN_DAY, 2},
	{"DY", PATTERN_WORD, 0}, {"D", PATTERN_NUMBER, 1},
	{"FF1", PATTERN_ANY, 1}, {"FF2", PATTERN_ANY, 2}, {"FF3", PATTERN_ANY, 3},
	{"FF4", PATTERN_ANY, 4}, {"FF5", PATTERN_ANY, 5}, {"FF6", PATTERN_ANY, 6},
	{"HH24", PATTERN_NUMBER, 2}, {"HH12", PATTERN_NUMBER, 2}, {"HH", PATTERN_NUMBER, 2},
	{"IDDD", PATTERN_DAY, 3}, {"ID", PATTERN_NUMBER, 1}, {"IW", PATTERN_DAY, 2},
	{"IYYY", PATTERN_YEAR, 4}, {"IYY", PATTERN_NUMBER, 3}, {"IY", PATTERN_NUMBER, 2},
	{"I", PATTERN_NUMBER, 1},
	{"MI", PATTERN_NUMBER, 2}, {"MM", PATTERN_DAY, 2}, {"MONTH", PATTERN_WORD, 0},
	{"MON", PATTERN_WORD, 0}, {"MS", PATTERN_ANY, 3},
	{"Q", PATTERN_NUMBER, 1},
	{"SSSSS", PATTERN_ANY, 5}, {"SSSS", PATTERN_ANY, 4}, {"SS", PATTERN_NUMBER, 2},
	{"TZH", PATTERN_ANY, 2}, {"TZM", PATTERN_NUMBER, 2},
	{"US", PATTERN_ANY, 6},
	{"WW", PATTERN_DAY, 2}, {"W", PATTERN_NUMBER, 1},
	{"Y,YYY", PATTERN_STOP, 0}, {"YYYY", PATTERN_YEAR, 4}, {"YYY", PATTERN_NUMBER, 3},
	{"YY", PATTERN_NUMBER, 2}, {"Y", PATTERN_NUMBER, 1}
};

static bool
is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c & 0x80) != 0;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Whether s begins with name, ignoring case. */
static bool
begins_with(const char *s, const char *name)
{
	for (; *name != '\0'; s++, name++)
		if (*s != *name && (!is_letter(*name) || *s != (*name | 0x20)))
			return false;
	return true;
}

static const Pattern *
find_pattern(const char *s)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (begins_with(s, patterns[i].name))
			return &patterns[i];
	return NULL;
}

/* Skips literal text in both; false at their ends. */
static bool
skip_literal(const char **template, const char **text)
{
	const char *t = *template;

	if (*t == '"')
	{
		for (t++; *t != '\0' && *t != '"' && **text != '\0'; t++, (*text)++)
			if (*t == '\\' && t[1] != '\0')
				t++;
		if (*t == '"')
			t++;
	}
	else if (is_letter(*t) || **text == '\0')
		return false;
	else
	{
		t++;
		(*text)++;
	}
	*template = t;
	return true;
}

/* Skips FM, TM and FX, which may precede a pattern; returns whether FM did. */
static bool
skip_prefixes(const char **template)
{
	bool		fill = false;

	for (;; *template += 2)
	{
		if (begins_with(*template, "FM"))
			fill = true;
		else if (!begins_with(*template, "TM") && !begins_with(*template, "FX"))
			return fill;
	}
}

/* Skips the ending of an ordinal number: any two letters. */
static void
skip_ordinal(const char **template, const char **text)
{
	if (!begins_with(*template, "TH"))
		return;
	*template += 2;
	for (int i = 0; i < 2 && **text != '\0'; i++)
		(*text)++;
}

bool
value_template_mismatch(const char *template, const char *text, ValueMismatch *mismatch)
{
	bool		joined = false; /* directly after a number */

	while (*template != '\0' && *text != '\0')
	{
		const char *begin = template;
		bool		fill = skip_prefixes(&template);
		const Pattern *pattern = find_pattern(template);
		const char *start;
		const char *digits;
		size_t		width;
		bool		zero = true;

		if (pattern == NULL)
		{
			template = begin;
			joined = false;
			if (!skip_literal(&template, &text))
				return false;
			continue;
		}
		template += strlen(pattern->name);
		if (pattern->kind == PATTERN_STOP)
			return false;
		if (pattern->kind == PATTERN_WORD)
		{
			joined = false;
			while (is_letter(*text) || (*text == '.' && pattern->name[1] == '.'))
				text++;
			continue;
		}

		while (*text == ' ' || (*text >= '\t' && *text <= '\r'))
			text++;
		start = text;
		text += *text == '+' || *text == '-';
		digits = text;
		while (is_digit(*text) &&
			   (fill || !is_letter(*template) || begins_with(template, "TH") ||
				(size_t) (text - start) < pattern->digits))
			zero &= *text++ == '0';
		if (text == digits)
			return false;
		width = text - digits;
		/* digits without separators are missing: it is not known which */
		if ((zero && pattern->kind >= PATTERN_DAY) ||
			(width < pattern->digits && pattern->kind == PATTERN_YEAR) ||
			(width < pattern->digits && joined && !fill && pattern->kind >= PATTERN_NUMBER))
		{
			mismatch->pattern = pattern->name;
			mismatch->number = start;
			mismatch->length = text - start;
			return true;
		}
		joined = !begins_with(template, "TH");
		skip_ordinal(&template, &text);
	}
	return false;
}
