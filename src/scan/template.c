/*
 * template.c
 *		Dates that to_timestamp would silently take for others.
 *
 * The server reads 00/12/2024 by DD/MM/YYYY as the first of December (a zero
 * is to it as if nothing stood there), and 31/12/24 as a day in the year 24.
 * Both are what people's files have where no date is meant, or another one.
 *
 * The text is known to match the template, so the two are walked side by side:
 * a number ends where its digits end, or, if another pattern follows at once,
 * after as many as its pattern has letters.
 */
#include "values.h"

#include <string.h>

typedef enum PatternKind
{
	PATTERN_STOP,				/* what follows is not looked at */
	PATTERN_NUMBER,
	PATTERN_WORD,
	PATTERN_DAY,				/* or month: never zero */
	PATTERN_YEAR				/* never zero, and with four digits */
} PatternKind;

typedef struct Pattern
{
	const char *name;
	PatternKind kind;
} Pattern;

/* Those that begin with others come first. */
static const Pattern patterns[] = {
	{"A.M.", PATTERN_WORD}, {"P.M.", PATTERN_WORD},
	{"AM", PATTERN_WORD}, {"PM", PATTERN_WORD},
	{"DAY", PATTERN_WORD}, {"DDD", PATTERN_DAY}, {"DD", PATTERN_DAY},
	{"DY", PATTERN_WORD},
	{"FF1", PATTERN_NUMBER}, {"FF2", PATTERN_NUMBER}, {"FF3", PATTERN_NUMBER},
	{"FF4", PATTERN_NUMBER}, {"FF5", PATTERN_NUMBER}, {"FF6", PATTERN_NUMBER},
	{"HH24", PATTERN_NUMBER}, {"HH12", PATTERN_NUMBER}, {"HH", PATTERN_NUMBER},
	{"MI", PATTERN_NUMBER}, {"MM", PATTERN_DAY}, {"MONTH", PATTERN_WORD},
	{"MON", PATTERN_WORD}, {"MS", PATTERN_NUMBER},
	{"SSSSS", PATTERN_STOP}, {"SSSS", PATTERN_STOP}, {"SS", PATTERN_NUMBER},
	{"US", PATTERN_NUMBER},
	{"Y,YYY", PATTERN_STOP}, {"YYYY", PATTERN_YEAR}, {"YYY", PATTERN_NUMBER},
	{"YY", PATTERN_NUMBER}, {"Y", PATTERN_NUMBER}
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

/* Whether s begins with name, in whatever case. */
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

/* Passes over text that stands for itself in both; false at their ends. */
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

bool
value_template_doubt(const char *template, const char *text, ValueDoubt *doubt)
{
	while (*template != '\0' && *text != '\0')
	{
		const Pattern *pattern = find_pattern(template);
		const char *start;
		size_t		width;
		bool		zero = true;

		if (pattern == NULL)
		{
			if (!skip_literal(&template, &text))
				return false;
			continue;
		}
		width = strlen(pattern->name);
		template += width;
		if (pattern->kind == PATTERN_STOP)
			return false;
		if (pattern->kind == PATTERN_WORD)
		{
			while (is_letter(*text) || (*text == '.' && pattern->name[1] == '.'))
				text++;
			continue;
		}

		while (*text == ' ' || (*text >= '\t' && *text <= '\r'))
			text++;
		start = text;
		while (is_digit(*text) &&
			   (!is_letter(*template) || (size_t) (text - start) < width))
			zero &= *text++ == '0';
		if (text == start)
			return false;
		if ((zero && pattern->kind >= PATTERN_DAY) ||
			((size_t) (text - start) < width && pattern->kind == PATTERN_YEAR))
		{
			doubt->pattern = pattern->name;
			doubt->number = start;
			doubt->length = text - start;
			return true;
		}
	}
	return false;
}
