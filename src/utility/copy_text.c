/*
 * copy_text.c
 *		See copy_text.h.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "table/statement.h"
#include "utility/copy_text.h"
#include "utils/builtins.h"

/* The text of a string, the JSON of anything else. */
static char *
value_text(JsonbValue *value)
{
	Jsonb	   *json;

	if (value->type == jbvString)
		return pnstrdup(value->val.string.val, value->val.string.len);
	json = JsonbValueToJsonb(value);
	return JsonbToCString(NULL, &json->root, VARSIZE(json));
}

static void
append_options(StringInfo text, Jsonb *options)
{
	JsonbIterator *it = JsonbIteratorInit(&options->root);
	JsonbIteratorToken token;
	JsonbValue	item;

	while ((token = JsonbIteratorNext(&it, &item, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			appendStringInfo(text, ", %s ",
							 quote_identifier(pnstrdup(item.val.string.val,
													   item.val.string.len)));
		else if (token == WJB_VALUE)
			appendStringInfoString(text, quote_literal_cstr(value_text(&item)));
	}
}

static bool
has_format(Jsonb *options)
{
	return getKeyJsonValueFromContainer(&options->root, "format", strlen("format"), NULL) != NULL;
}

char *
copy_text(Oid relid, const char *source, const char *lead, Jsonb *options)
{
	char	   *table = statement_table(relid);
	bool		any = options != NULL && JB_ROOT_IS_OBJECT(options);
	StringInfoData given;

	if (table == NULL)
		return NULL;
	initStringInfo(&given);
	if (lead != NULL)
		appendStringInfo(&given, ", %s", lead);
	else if (!any || !has_format(options))
		appendStringInfoString(&given, ", format 'csv'");
	if (any)
		append_options(&given, options);
	return psprintf("COPY %s FROM %s WITH (%s)", table, quote_literal_cstr(source),
					given.data + strlen(", "));
}
