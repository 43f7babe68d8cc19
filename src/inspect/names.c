/*
 * names.c
 *		See names.h.
 *
 * A name above numbers, dates or the like is proof.  Above texts it is a guess: by words that many
 * headers have, and by how the values are written.  "John Smith" above "Jane Doe" is no name.
 */
#include "inspect/names.h"

#include <string.h>

#include "inspect/line.h"

/* Words in the names of columns. */
static const char *const words[] = {
	"account", "address", "age", "amount", "author", "bool", "brand", "category", "city",
	"class", "code", "color", "colour", "column", "comment", "company", "content", "count",
	"country", "county", "currency", "customer", "data", "date", "datetime", "day",
	"department", "description", "desc", "document", "duration", "email", "end", "entry",
	"event", "file", "first", "firstname", "flag", "from", "gender", "group", "header",
	"height", "host", "hour", "id", "index", "ip", "item", "json", "key", "kind", "label",
	"lang", "language", "last", "lastname", "lat", "latitude", "length", "level", "line",
	"link", "location", "lon", "longitude", "mail", "message", "model", "month", "name", "nr",
	"no", "note", "notes", "number", "order", "organisation", "organization", "owner", "path",
	"person", "phone", "place", "position", "postcode", "price", "product", "province", "qty",
	"quantity", "rank", "ref", "reference", "region", "remark", "remarks", "result", "role",
	"row", "score", "sex", "size", "source", "start", "state", "status", "street", "surname",
	"tag", "tags", "team", "tel", "text", "time", "timestamp", "title", "to", "total", "town",
	"type", "unit", "units", "uri", "url", "user", "username", "uuid", "val", "value",
	"version", "website", "weight", "width", "year", "zip"
};

#define WORDS (sizeof(words) / sizeof(words[0]))

static inline bool
is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static inline bool
is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (unsigned char) c >= 0x80;
}

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool
names_may_be(const char *s, size_t length)
{
	int			spaces = 0;

	if (length == 0 || length > 40 || is_digit(s[0]))
		return false;
	for (size_t i = 0; i < length; i++)
	{
		spaces += s[i] == ' ' ? 1 : 0;
		if (strchr("@\"'\\=<>{}[]!?;|,", s[i]) != NULL)
			return false;
	}
	return spaces <= 2 && s[length - 1] != '.';
}

/* What a run of like characters begins with at *at, which is moved behind it; '\0' at the end. */
static char
next_kind(const char *s, size_t length, size_t *at)
{
	size_t		i = *at;
	char		kind = '\0';

	if (i < length)
		kind = is_upper(s[i]) ? 'A' : is_lower(s[i]) ? 'a' : is_digit(s[i]) ? '9' : s[i];
	for (; i < length; i++)
		if (kind == 'A' ? !is_upper(s[i]) : kind == 'a' ? !is_lower(s[i]) :
			kind == '9' ? !is_digit(s[i]) : s[i] != kind)
			break;
	*at = i;
	return kind;
}

bool
names_are_alike(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t		i = 0;
	size_t		j = 0;

	for (int runs = 0; runs < 16; runs++)
	{
		char		kind = next_kind(a, a_length, &i);

		if (kind != next_kind(b, b_length, &j))
			return false;
		if (kind == '\0')
			break;
	}
	return true;
}

static bool
is_known_word(const char *s, size_t length)
{
	char		word[16];

	if (length == 0 || length > sizeof(word))
		return false;
	for (size_t i = 0; i < length; i++)
		word[i] = s[i] | 0x20;
	for (size_t k = 0; k < WORDS; k++)
		if (strlen(words[k]) == length && memcmp(words[k], word, length) == 0)
			return true;
	return false;
}

bool
names_are_known(const char *s, size_t length)
{
	size_t		i = 0;

	while (i < length)
	{
		size_t		from = i;

		while (i < length && is_upper(s[i]))
			i++;
		while (i < length && is_lower(s[i]))
			i++;
		if (is_known_word(s + from, i - from))
			return true;
		if (i == from)
			i++;
	}
	return false;
}

/* Years are names where their columns hold something else. */
static bool
is_year(const char *s, size_t length)
{
	return length == 4 && (memcmp(s, "19", 2) == 0 || memcmp(s, "20", 2) == 0);
}

bool
names_has_type(const ColumnStats *stats)
{
	return stats->values > 0 &&
		(stats->types != SHAPE_BIT(SHAPE_TEXT) ||
		 stats->types_comma != SHAPE_BIT(SHAPE_TEXT));
}

bool
names_are_sure(const Columns *columns)
{
	for (uint32_t i = 0; i < columns->count; i++)
	{
		const ColumnStats *stats = &columns->columns[i];
		ValueShape	name;

		if (stats->name == NULL || stats->name_length == 0 || !names_has_type(stats))
			continue;
		shape_of(stats->name, stats->name_length, &name);
		if (((name.types & stats->types) | (name.types_comma & stats->types_comma)) ==
			SHAPE_BIT(SHAPE_TEXT))
			return true;
	}
	return false;
}

static double
judge_typed_name(const ColumnStats *stats, const ValueShape *name)
{
	uint32_t	types = stats->types & ~SHAPE_BIT(SHAPE_TEXT);
	uint32_t	comma = stats->types_comma & ~SHAPE_BIT(SHAPE_TEXT);

	if ((name->types & types) != 0 || (name->types_comma & comma) != 0)
		return is_year(stats->name, stats->name_length) &&
			!is_year(stats->example, stats->example_length) ? -0.1 : -3.0;
	return 2.0;
}

/* By how the name is written, and how the values are. */
static double
judge_writing(const ColumnStats *stats)
{
	uint64_t	probed = stats->values < NAMES_PROBE ? stats->values : NAMES_PROBE;

	if (names_are_known(stats->name, stats->name_length))
		return 1.2;
	if (stats->alike * 2 <= probed)
		return stats->alike * 10 <= probed ? 0.7 : 0.4;

	/* single words may be either */
	for (size_t i = 0; i < stats->name_length; i++)
		if (!is_lower(stats->name[i]) && !is_upper(stats->name[i]))
			return -1.2;
	return 0.2;
}

/* sure: the names of other columns are proof of a header. */
static double
judge_text_name(const ColumnStats *stats, const ValueShape *name, bool sure)
{
	double		score;

	if (stats->named)
		return sure ? -0.5 : -2.0;
	if ((name->types & ~SHAPE_BIT(SHAPE_BOOL)) != SHAPE_BIT(SHAPE_TEXT))
		return is_year(stats->name, stats->name_length) ? 0.0 : -1.5;
	if (line_is_value(stats->name, stats->name_length))
		return -1.5;
	if (!names_may_be(stats->name, stats->name_length))
		return -0.5;
	if (stats->values == 0)
		return 0.4;

	/* codes of one length below a name of another */
	score = judge_writing(stats);
	if (stats->values >= 3 && stats->shortest == stats->longest &&
		stats->name_length != stats->longest)
		score += 1.0;
	if (stats->words * 2 < stats->values)
		score += 0.7;
	if (stats->lengths > stats->values * (stats->name_length + 1) * 3)
		score += 0.5;
	return score;
}

double
names_judge(const Columns *columns)
{
	double		score = 0.5;
	bool		sure = names_are_sure(columns);
	bool		any = false;

	for (uint32_t i = 0; i < columns->count; i++)
		any |= columns->columns[i].name_length > 0;
	if (!any)
		return 0;
	for (uint32_t i = 0; i < columns->count; i++)
	{
		const ColumnStats *stats = &columns->columns[i];
		ValueShape	name;

		if (stats->name == NULL)
			continue;
		if (stats->name_length == 0 || shape_null(stats->name, stats->name_length) >= 0)
		{
			/* row names have none; others rarely */
			score -= i == 0 && columns->count > 1 ? 0.2 : stats->values == 0 ? 0.4 : 1.0;
			continue;
		}
		shape_of(stats->name, stats->name_length, &name);
		if (columns->rows == 0)
			score += (name.types & ~SHAPE_BIT(SHAPE_BOOL)) == SHAPE_BIT(SHAPE_TEXT) &&
				names_may_be(stats->name, stats->name_length) ? 0.2 : -2.0;
		else if (names_has_type(stats))
			score += judge_typed_name(stats, &name);
		else
			score += judge_text_name(stats, &name, sure);
	}
	return score;
}
