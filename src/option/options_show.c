/*
 * options_show.c
 *		See options_show.h.
 */
#include "postgres.h"

#include "option/options_show.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/formatting.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

/* A literal that is a string for scanners of all settings. */
static char *
show_string(char *text, int length)
{
	return quote_literal_cstr(pnstrdup(text, length));
}

static bool
is_list_of_strings(JsonbValue *value)
{
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	element;

	if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
		return false;
	iterator = JsonbIteratorInit(value->val.binary.data);
	while ((token = JsonbIteratorNext(&iterator, &element, true)) != WJB_DONE)
		if (token == WJB_ELEM && element.type != jbvString)
			return false;
	return true;
}

static char *
show_list(JsonbValue *value)
{
	JsonbIterator *iterator = JsonbIteratorInit(value->val.binary.data);
	JsonbIteratorToken token;
	JsonbValue	element;
	StringInfoData text;

	initStringInfo(&text);
	while ((token = JsonbIteratorNext(&iterator, &element, true)) != WJB_DONE)
		if (token == WJB_ELEM)
			appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "(",
							 show_string(element.val.string.val, element.val.string.len));
	appendStringInfoChar(&text, ')');
	return text.data;
}

char *
options_show_value(JsonbValue *value)
{
	Jsonb	   *json;

	switch (value->type)
	{
		case jbvString:
			return show_string(value->val.string.val, value->val.string.len);
		case jbvBool:
			return value->val.boolean ? "true" : "false";
		case jbvNumeric:
			return DatumGetCString(DirectFunctionCall1(numeric_out,
													   NumericGetDatum(value->val.numeric)));
		default:
			break;
	}
	if (is_list_of_strings(value))
		return show_list(value);
	json = JsonbValueToJsonb(value);
	return quote_literal_cstr(JsonbToCString(NULL, &json->root, VARSIZE(json)));
}

const char *
options_show(const BulkOptions *options, const char *json)
{
	StringInfoData given;
	StringInfoData without;
	Jsonb	   *parsed;
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	value;
	char	   *name = NULL;

	if (!options->by_copy)
		return json;
	initStringInfo(&given);
	initStringInfo(&without);
	parsed = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(json)));
	iterator = JsonbIteratorInit(&parsed->root);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			name = asc_toupper(value.val.string.val, value.val.string.len);
		else if (token == WJB_VALUE && value.type == jbvNull)
			appendStringInfo(&without, "%s%s", without.len > 0 ? ", " : "", name);
		else if (token == WJB_VALUE)
			appendStringInfo(&given, "%s%s %s", given.len > 0 ? ", " : "", name,
							 options_show_value(&value));
	}
	if (without.len > 0)
		return psprintf("(%s) and without %s", given.data, without.data);
	return psprintf("(%s)", given.data);
}

const char *
options_columns(const BulkOptions *options)
{
	return options->by_copy ? "after the name of the table" : "in option \"columns\"";
}

const char *
options_remark_null(const BulkOptions *options, const char *json)
{
	return options->by_copy || strstr(json, ": null") == NULL ? "" :
		" There null means that the option is not given.";
}
