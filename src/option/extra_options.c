/*
 * extra_options.c
 *		See extra_options.h.
 */
#include "postgres.h"

#include "option/extra_options.h"

/* Wildcards of a pattern beyond this number are nobody's intention. */
#define WILDCARD_DIGITS 4

/*
 * What a text stands for: itself, unless it begins with a dollar sign; two of
 * them stand for one.  False: for nothing.
 */
static bool
read_text(BulkExtra *extra, char *text)
{
	extra->kind = BULK_EXTRA_TEXT;
	extra->text = text;
	if (text[0] != '$')
		return true;
	text++;
	extra->text = text;
	if (text[0] == '$')
		return true;
	if (strcmp(text, "file") == 0)
		extra->kind = BULK_EXTRA_FILE;
	else if (strcmp(text, "line") == 0)
		extra->kind = BULK_EXTRA_LINE;
	else if (strcmp(text, "load_id") == 0)
		extra->kind = BULK_EXTRA_LOAD_ID;
	else if (text[0] >= '1' && text[0] <= '9' && strlen(text) <= WILDCARD_DIGITS &&
			 text[strspn(text, "0123456789")] == '\0')
	{
		extra->kind = BULK_EXTRA_WILDCARD;
		extra->number = atoi(text);
	}
	else
		extra->kind = BULK_EXTRA_FOLDER;
	return text[0] != '\0' && strpbrk(text, "/=") == NULL &&
		(text[0] < '0' || text[0] > '9' || extra->kind == BULK_EXTRA_WILDCARD);
}

void
extra_options_set(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	item;
	char	   *column = NULL;

	if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
		option_refuse_value(def, value);
	iterator = JsonbIteratorInit(value->val.binary.data);
	while ((token = JsonbIteratorNext(&iterator, &item, true)) != WJB_DONE)
	{
		BulkExtra  *extra;

		if (token == WJB_KEY)
			column = pnstrdup(item.val.string.val, item.val.string.len);
		if (token != WJB_VALUE)
			continue;
		if (item.type != jbvString)
			option_refuse_value(def, value);
		extra = palloc0(sizeof(BulkExtra));
		extra->column = column;
		if (!read_text(extra, pnstrdup(item.val.string.val, item.val.string.len)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" has an unknown value for column \"%s\": \"%s\"",
							def->name, column, extra->text - 1),
					 errdetail("What begins with $ must be $file, $line, $load_id, $1, $2 ... for what a * of the pattern has matched, or $ and the name of a folder such as day=2026-11-20."),
					 errhint("For a text that begins with $, write $$.")));
		options->extra = lappend(options->extra, extra);
	}
	if (options->extra == NIL)
		option_refuse_value(def, value);
}

const BulkExtra *
extra_options_find(const BulkOptions *options, const char *column)
{
	ListCell   *lc;

	foreach(lc, options->extra)
	{
		const BulkExtra *extra = lfirst(lc);

		if (strcmp(extra->column, column) == 0)
			return extra;
	}
	return NULL;
}
