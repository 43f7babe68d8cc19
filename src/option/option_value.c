/*
 * option_value.c
 *		See option_value.h.
 */
#include "postgres.h"

#include <ctype.h>
#include <stdlib.h>

#include "mb/pg_wchar.h"
#include "option/near.h"
#include "option/option_value.h"
#include "option/options_show.h"
#include "server/text_clip.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/numeric.h"

/* Maximum number of bytes of a value shown in messages. */
#define SHOWN_LENGTH 100

/* A value as whoever gave it would write it. */
static char *
show_value(const OptionDef *def, JsonbValue *value)
{
	Jsonb	   *json;

	if (def->by_copy)
		return text_clip_string(options_show_value(value), SHOWN_LENGTH);
	json = JsonbValueToJsonb(value);
	return text_clip_string(JsonbToCString(NULL, &json->root, VARSIZE(json)), SHOWN_LENGTH);
}

/* "a", "b", "c" */
static char *
quote_names(const char *const *names)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; names[i] != NULL; i++)
		appendStringInfo(&text, "%s\"%s\"", i > 0 ? ", " : "", names[i]);
	return text.data;
}

/* Words used by other programs, or commonly, for our choices. */
static const struct
{
	const char *option;
	const char *word;
	const char *meant;
}			other_words[] = {
	{"on_error", "skip", "ignore"}, {"on_error", "continue", "ignore"},
	{"on_error", "reject", "ignore"}, {"on_error", "log", "ignore"},
	{"on_error", "skip_row", "ignore"}, {"on_error", "abort", "stop"},
	{"on_error", "fail", "stop"}, {"on_error", "error", "stop"},
	{"on_error", "raise", "stop"}, {"on_error", "null", "set_null"},
	{"on_duplicate", "skip", "keep_old"}, {"on_duplicate", "ignore", "keep_old"},
	{"on_duplicate", "nothing", "keep_old"}, {"on_duplicate", "do_nothing", "keep_old"},
	{"on_duplicate", "do nothing", "keep_old"}, {"on_duplicate", "update", "keep_new"},
	{"on_duplicate", "replace", "keep_new"}, {"on_duplicate", "upsert", "keep_new"},
	{"on_duplicate", "overwrite", "keep_new"}, {"on_duplicate", "stop", "error"},
	{"on_duplicate", "fail", "error"}, {"missing_columns", "ignore", "null"},
	{"invalid_bytes", "ignore", "replace"}, {"invalid_bytes", "stop", "error"},
	{"extra_columns", "skip", "ignore"}
};

/* The choice that a word may stand for, or NULL. */
static const char *
find_meant(const OptionDef *def, const char *word)
{
	for (int i = 0; i < lengthof(other_words); i++)
		if (strcmp(other_words[i].option, def->name) == 0 &&
			pg_strcasecmp(other_words[i].word, word) == 0)
			return other_words[i].meant;
	return near_find(def->choices, word);
}

void
option_refuse_value(const OptionDef *def, JsonbValue *value)
{
	const char *near = NULL;
	const char *expects = def->by_copy && def->copy_expects != NULL ?
		def->copy_expects : def->expects;

	if (value->type == jbvString && def->choices != NULL)
		near = find_meant(def, pnstrdup(value->val.string.val,
										value->val.string.len));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 expects != NULL ?
			 errmsg("option \"%s\" must be %s", def->name, expects) :
			 errmsg("option \"%s\" must be one of %s", def->name,
					quote_names(def->choices)),
			 errdetail("The value given is %s.", show_value(def, value)),
			 near != NULL ? errhint("Perhaps you meant \"%s\".", near) : 0));
}

void
option_refuse_key(const char *const *names, char *key)
{
	const char *near = near_find(names, key);

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized option \"%s\"", text_clip_string(key, SHOWN_LENGTH)),
			 errdetail("Valid options are %s.", quote_names(names)),
			 near != NULL ? errhint("Perhaps you meant \"%s\".", near) : 0));
}

/*
 * The character that a name or written-out escape sequence stands for; '\0' if
 * it does not look like one.
 */
static char
find_character(const char *text)
{
	static const struct
	{
		const char *word;
		char		character;
	}			words[] = {
		{"tab", '\t'}, {"comma", ','}, {"semicolon", ';'}, {"pipe", '|'},
		{"space", ' '}, {"colon", ':'}, {"\\t", '\t'}, {"\\v", '\v'},
		{"\\f", '\f'}, {"\\b", '\b'}, {"\\a", '\a'}, {"\\e", '\033'},
		{"\\\"", '"'}, {"\\'", '\''}, {"\\\\", '\\'}, {"\\|", '|'},
		{"\\,", ','}, {"\\;", ';'}
	};
	const char *digits = text + 1;
	int			base = 8;
	long		code;
	char	   *end;

	for (int i = 0; i < lengthof(words); i++)
		if (pg_strcasecmp(words[i].word, text) == 0)
			return words[i].character;
	if (pg_strncasecmp(text, "0x", 2) != 0 && text[0] != '\\')
		return '\0';
	if (pg_strncasecmp(digits, "x", 1) == 0 || pg_strncasecmp(digits, "u", 1) == 0)
	{
		digits++;
		base = 16;
	}
	if (!isxdigit((unsigned char) digits[0]))
		return '\0';
	code = strtol(digits, &end, base);
	return *end == '\0' && code > 0 && code < 0x80 && code != '\n' && code != '\r' ? code : '\0';
}

/* The character as it is to be written. */
static char *
write_character(const OptionDef *def, char character)
{
	char		text[] = {character, '\0'};
	StringInfoData json;

	if (def->by_copy)
		return character == '\t' ? "E'\\t'" :
			(unsigned char) character < ' ' ? psprintf("E'\\x%02x'", character) :
			quote_literal_cstr(text);
	if (character == '\t')
		return "\"\\t\"";
	initStringInfo(&json);
	escape_json(&json, text);
	return json.data;
}

void
option_refuse_written_out(const OptionDef *def, JsonbValue *value, const char *text)
{
	char		character = find_character(text);

	if (character == '\0')
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"%s\" must be the character itself", def->name),
			 errdetail("The value given is %s.", show_value(def, value)),
			 character == '\t' && !def->by_copy ?
			 errhint("JSON has %s, with one backslash, for a tab.", write_character(def, character)) :
			 errhint("Write it as %s.", write_character(def, character))));
}

char *
option_get_string(const OptionDef *def, JsonbValue *value)
{
	if (value->type != jbvString)
		option_refuse_value(def, value);
	return pnstrdup(value->val.string.val, value->val.string.len);
}

bool
option_read_count(JsonbValue *value, int64 max, int64 *count)
{
	char	   *text;
	long long	number;

	if (value->type != jbvNumeric)
		return false;

	/* without trailing zeros, so that 1.0 and 1e3 are integers */
	text = numeric_normalize(value->val.numeric);
	if (text[strspn(text, "0123456789")] != '\0')
		return false;
	errno = 0;
	number = strtoll(text, NULL, 10);
	if (errno != 0 || number > max)
		return false;
	*count = number;
	return true;
}

bool
option_read_amount(JsonbValue *value, int64 *bytes, int64 *rows)
{
	double		amount;

	*bytes = *rows = 0;
	if (value->type == jbvNumeric)
		return option_read_count(value, PG_INT64_MAX, rows) && *rows > 0;
	if (value->type != jbvString ||
		!parse_real(pnstrdup(value->val.string.val, value->val.string.len), &amount,
					GUC_UNIT_BYTE, NULL) ||
		!(amount >= 1 && amount <= 1e18))
		return false;
	*bytes = (int64) amount;
	return true;
}

bool
option_read_percent(JsonbValue *value, double *percent)
{
	char	   *text;
	char	   *end;

	if (value->type != jbvString)
		return false;
	text = pnstrdup(value->val.string.val, value->val.string.len);
	if (text[0] < '0' || text[0] > '9')
		return false;
	if (strcmp(text + strspn(text, "0123456789."), "%") != 0)
		return false;
	*percent = strtod(text, &end);
	return *end == '%' && *percent <= 100;
}

int
option_find_choice(const OptionDef *def, JsonbValue *value)
{
	char	   *word;

	if (value->type != jbvString)
		return -1;
	word = pnstrdup(value->val.string.val, value->val.string.len);
	for (int i = 0; def->choices[i] != NULL; i++)
		if (pg_strcasecmp(def->choices[i], word) == 0)
			return i;
	return -1;
}

int
option_get_choice(const OptionDef *def, JsonbValue *value)
{
	int			choice = option_find_choice(def, value);

	if (choice < 0)
	{
		char	   *word;
		const char *near;

		if (value->type != jbvString)
			option_refuse_value(def, value);
		word = pnstrdup(value->val.string.val, value->val.string.len);
		near = find_meant(def, word);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("value \"%s\" is not valid for option \"%s\"",
						text_clip_string(word, SHOWN_LENGTH), def->name),
				 errdetail("Valid values are %s.", quote_names(def->choices)),
				 near != NULL ? errhint("Perhaps you meant \"%s\".", near) : 0));
	}
	return choice;
}

List *
option_get_strings(const OptionDef *def, JsonbValue *value, bool allow_null)
{
	List	   *strings = NIL;
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	element;

	if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
		option_refuse_value(def, value);
	iterator = JsonbIteratorInit(value->val.binary.data);
	while ((token = JsonbIteratorNext(&iterator, &element, true)) != WJB_DONE)
	{
		if (token != WJB_ELEM)
			continue;
		if (element.type == jbvString)
			strings = lappend(strings, pnstrdup(element.val.string.val,
												element.val.string.len));
		else if (element.type == jbvNull && allow_null)
			strings = lappend(strings, NULL);
		else
			option_refuse_value(def, value);
	}
	return strings;
}
