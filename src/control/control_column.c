/*
 * control_column.c
 *		See control_column.h.
 *
 *		COL = type [ ( length | first + length | first : last ) ] [ NULLIF 'text' | hex ]
 *		COL = length
 */
#include "postgres.h"

#include <ctype.h>

#include "control/control_column.h"
#include "mb/pg_wchar.h"
#include "option/fixed_fields.h"
#include "utils/builtins.h"
#include "utils/json.h"

/* Types; of several with the same name the first has the default length. */
static const struct
{
	const char *name;
	const char *type;			/* NULL: text */
	uint32		length;			/* 0: any */
	bool		trimmed;
}			types[] = {
	{"CHAR", NULL, 0, true},
	{"CHARACTER", NULL, 0, true},
	{"VARCHAR", NULL, 0, false},
	{"CHARACTER VARYING", NULL, 0, false},
	{"SMALLINT", "smallint", 2},
	{"SHORT", "smallint", 2},
	{"INTEGER", "integer", 4},
	{"INTEGER", "smallint", 2},
	{"INTEGER", "bigint", 8},
	{"INT", "integer", 4},
	{"INT", "smallint", 2},
	{"INT", "bigint", 8},
	{"BIGINT", "bigint", 8},
	{"LONG", "bigint", 8},
	{"UNSIGNED SMALLINT", "unsigned smallint", 2},
	{"UNSIGNED SHORT", "unsigned smallint", 2},
	{"UNSIGNED INTEGER", "unsigned integer", 4},
	{"UNSIGNED INTEGER", "unsigned smallint", 2},
	{"UNSIGNED INT", "unsigned integer", 4},
	{"UNSIGNED INT", "unsigned smallint", 2},
	{"FLOAT", "real", 4},
	{"FLOAT", "double precision", 8},
	{"REAL", "real", 4},
	{"REAL", "double precision", 8},
	{"DOUBLE", "double precision", 8}
};

/* State of parsing a line. */
typedef struct Parse
{
	const char *at;
	const char *type;
	bool		trimmed;
	uint32		start;			/* from 0 */
	uint32		length;
	bool		has_null;
	StringInfoData null;		/* its bytes */
	bool		null_is_text;	/* it was given as text */
} Parse;

static void
skip_blanks(Parse *parse)
{
	while (isspace((unsigned char) *parse->at))
		parse->at++;
}

/* Whether a word starts here. */
static bool
is_at_word(const Parse *parse, const char *word)
{
	size_t		len = strlen(word);

	return pg_strncasecmp(parse->at, word, len) == 0 &&
		!isalnum((unsigned char) parse->at[len]);
}

/* The words up to a parenthesis, NULLIF or the end, separated by single blanks. */
static char *
read_type_name(Parse *parse)
{
	StringInfoData name;

	initStringInfo(&name);
	while (*parse->at != '\0' && *parse->at != '(' && !is_at_word(parse, "NULLIF"))
	{
		if (name.len > 0)
			appendStringInfoChar(&name, ' ');
		while (*parse->at != '\0' && *parse->at != '(' &&
			   !isspace((unsigned char) *parse->at))
			appendStringInfoChar(&name, *parse->at++);
		skip_blanks(parse);
	}
	return name.data;
}

/* A number in strtoul's syntax, with prefixes 0x and 0. */
static bool
read_number(Parse *parse, uint32 *number)
{
	char	   *end;
	unsigned long value;

	skip_blanks(parse);
	if (!isdigit((unsigned char) *parse->at))
		return false;
	value = strtoul(parse->at, &end, 0);
	if (value > FIELDS_MAX_LENGTH)
		return false;
	parse->at = end;
	*number = (uint32) value;
	skip_blanks(parse);
	return true;
}

/* Parses the parentheses; false if they have none of the valid forms. */
static bool
read_place(Parse *parse)
{
	uint32		first;
	uint32		second;
	char		form;

	parse->at++;
	if (!read_number(parse, &first))
		return false;
	form = *parse->at;
	if (form == '+' || form == ':')
	{
		parse->at++;
		if (!read_number(parse, &second) || first == 0 ||
			(form == ':' && second < first))
			return false;
		parse->start = first - 1;
		parse->length = form == '+' ? second : second - first + 1;
	}
	else
		parse->length = first;
	if (*parse->at != ')' || parse->length == 0)
		return false;
	parse->at++;
	skip_blanks(parse);
	return true;
}

static int
hex_value(char c)
{
	return isdigit((unsigned char) c) ? c - '0' : tolower((unsigned char) c) - 'a' + 10;
}

/* Parses what follows NULLIF; false if it has none of the valid forms. */
static bool
read_null(Parse *parse)
{
	char		quote = *parse->at;

	initStringInfo(&parse->null);
	parse->has_null = true;
	parse->null_is_text = quote == '\'' || quote == '"';
	if (parse->null_is_text)
	{
		const char *end = strchr(parse->at + 1, quote);

		if (end == NULL)
			return false;
		appendBinaryStringInfo(&parse->null, parse->at + 1, end - parse->at - 1);
		parse->at = end + 1;
	}
	else
	{
		size_t		n = strspn(parse->at, "0123456789abcdefABCDEF");

		if (n == 0 || n % 2 != 0)
			return false;
		for (size_t i = 0; i < n; i += 2)
			appendStringInfoChar(&parse->null,
								 hex_value(parse->at[i]) << 4 | hex_value(parse->at[i + 1]));
		parse->at += n;
	}
	skip_blanks(parse);
	return true;
}

static const char *
choose_type(Parse *parse, const char *name)
{
	bool		known = false;

	for (int i = 0; i < lengthof(types); i++)
	{
		if (pg_strcasecmp(types[i].name, name) != 0)
			continue;
		known = true;
		if (types[i].length == 0 ? parse->length == 0 :
			parse->length != 0 && parse->length != types[i].length)
			continue;
		parse->type = types[i].type;
		parse->trimmed = types[i].trimmed;
		if (types[i].length > 0)
			parse->length = types[i].length;
		return NULL;
	}
	return known ? "has no length that its type can have" :
		psprintf("\"%s\" is not a type of pg_bulkload", name);
}

/* Parses the whole line; returns NULL, or what is wrong with it. */
static const char *
read_line(Parse *parse, bool preserve_blanks)
{
	const char *problem;
	char	   *name;

	skip_blanks(parse);
	if (isdigit((unsigned char) *parse->at))
	{
		parse->trimmed = !preserve_blanks;
		return read_number(parse, &parse->length) && parse->length > 0 &&
			*parse->at == '\0' ? NULL : "is not a length";
	}
	name = read_type_name(parse);
	if (*parse->at == '(' && !read_place(parse))
		return "has a place that is none of (length), (first + length) and (first : last)";
	problem = choose_type(parse, name);
	if (problem != NULL)
		return problem;
	if (is_at_word(parse, "NULLIF"))
	{
		parse->at += strlen("NULLIF");
		skip_blanks(parse);
		if (!read_null(parse))
			return "has neither a string in quotes nor hexadecimal digits behind NULLIF";
	}
	if (*parse->at != '\0')
		return psprintf("cannot be understood from \"%s\" on", parse->at);
	if (parse->has_null && (parse->type != NULL ? parse->null.len != parse->length :
							parse->null.len > parse->length))
		return "has a NULLIF of another length";
	return NULL;
}

/* Whether all bytes are zero, which means NULL by default. */
static bool
is_zeros(const StringInfoData *bytes)
{
	for (int i = 0; i < bytes->len; i++)
		if (bytes->data[i] != '\0')
			return false;
	return true;
}

static const char *
add_null(const Parse *parse, StringInfo json)
{
	const StringInfoData *null = &parse->null;

	if (parse->type != NULL)
	{
		appendStringInfoString(json, ", \"null\": \"");
		for (int i = 0; i < null->len; i++)
			appendStringInfo(json, "%02x", (unsigned char) null->data[i]);
		appendStringInfoChar(json, '"');
		return NULL;
	}
	if (is_zeros(null))
		return NULL;
	if (memchr(null->data, '\0', null->len) != NULL ||
		pg_encoding_verifymbstr(GetDatabaseEncoding(), null->data, null->len) != null->len)
		return "has a NULLIF that is no text";
	appendStringInfoString(json, ", \"null\": ");
	escape_json(json, null->data);
	return NULL;
}

const char *
control_column_read(const char *value, bool preserve_blanks, uint32 before,
					StringInfo json, ControlColumn *column)
{
	Parse		parse = {.at = value,.start = before};
	const char *problem = read_line(&parse, preserve_blanks);

	if (problem == NULL && (uint64) parse.start + parse.length > FIELDS_MAX_LENGTH)
		problem = "ends too far from the start of its record";
	if (problem != NULL)
		return problem;

	column->binary = parse.type != NULL;
	column->end = parse.start + parse.length;
	column->null_or_padded = parse.has_null && parse.trimmed &&
		parse.null.len < parse.length && !is_zeros(&parse.null);

	appendStringInfoChar(json, '{');
	if (parse.start != before)
		appendStringInfo(json, "\"start\": %u, ", parse.start + 1);
	if (parse.type != NULL)
		appendStringInfo(json, "\"type\": \"%s\"", parse.type);
	else
		appendStringInfo(json, "\"length\": %u%s", parse.length,
						 parse.trimmed ? "" : ", \"trim\": false");
	if (parse.has_null)
		problem = add_null(&parse, json);
	appendStringInfoChar(json, '}');
	return problem;
}
