/*
 * merge_options.c
 *		See merge_options.h.
 */
#include "postgres.h"

#include "option/merge_options.h"
#include "option/near.h"

const char *const merge_options_words[] = {
	[BULK_ON_DUPLICATE_ERROR] = "error", [BULK_ON_DUPLICATE_KEEP_OLD] = "keep_old",
	[BULK_ON_DUPLICATE_KEEP_NEW] = "keep_new", NULL
};

static const char *const members[] = {"set", "where", "delete", "key", NULL};

static char *
get_text(const JsonbValue *value)
{
	return pnstrdup(value->val.string.val, value->val.string.len);
}

static bool
is_object(const JsonbValue *value)
{
	return value->type == jbvBinary && JsonContainerIsObject(value->val.binary.data);
}

static void
refuse_member(const char *name, const char *expects)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"on_duplicate\": \"%s\" must be %s", name, expects)));
}

static void
refuse_unknown(const char *name)
{
	const char *near = near_find(members, name);

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"on_duplicate\" has no member \"%s\"", name),
			 errdetail("Its members are \"set\", \"where\", \"delete\" and \"key\"."),
			 near != NULL ? errhint("Did you mean \"%s\"?", near) : 0));
}

static char *
get_expression(const char *name, const JsonbValue *value)
{
	if (value->type != jbvString || value->val.string.len == 0)
		refuse_member(name, "a string, an SQL expression");
	return get_text(value);
}

/* A name, or an array of names. */
static List *
get_names(const char *name, JsonbValue *value)
{
	static const char *const expects = "a string or a non-empty array of names of columns";
	List	   *names = NIL;
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	element;

	if (value->type == jbvString)
		return list_make1(get_text(value));
	if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
		refuse_member(name, expects);
	iterator = JsonbIteratorInit(value->val.binary.data);
	while ((token = JsonbIteratorNext(&iterator, &element, true)) != WJB_DONE)
	{
		if (token != WJB_ELEM)
			continue;
		if (element.type != jbvString)
			refuse_member(name, expects);
		names = lappend(names, get_text(&element));
	}
	if (names == NIL)
		refuse_member(name, expects);
	return names;
}

static void
add_set(BulkMerge *merge, char *column, char *expression)
{
	BulkMergeSet *set = palloc(sizeof(BulkMergeSet));

	set->column = column;
	set->expression = expression;
	merge->set = lappend(merge->set, set);
}

/* "all", columns that get the values of the new row, or an object of columns and expressions. */
static void
get_set(BulkMerge *merge, JsonbValue *value)
{
	static const char *const expects =
		"\"all\", an array of names of columns, or an object of columns and expressions";
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	element;
	char	   *column = NULL;

	merge->all = value->type == jbvString && pg_strcasecmp(get_text(value), "all") == 0;
	if (merge->all)
		return;
	if (value->type == jbvBinary && JsonContainerIsArray(value->val.binary.data))
	{
		ListCell   *lc;

		foreach(lc, get_names("set", value))
			add_set(merge, lfirst(lc), NULL);
		return;
	}
	if (!is_object(value))
		refuse_member("set", expects);
	iterator = JsonbIteratorInit(value->val.binary.data);
	while ((token = JsonbIteratorNext(&iterator, &element, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			column = get_text(&element);
		else if (token == WJB_VALUE)
			add_set(merge, column, get_expression(column, &element));
	}
	if (merge->set == NIL)
		refuse_member("set", expects);
}

static BulkMerge *
get_merge(JsonbValue *value)
{
	BulkMerge  *merge = palloc0(sizeof(BulkMerge));
	JsonbIterator *iterator = JsonbIteratorInit(value->val.binary.data);
	JsonbIteratorToken token;
	JsonbValue	element;
	char	   *name = NULL;

	while ((token = JsonbIteratorNext(&iterator, &element, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			name = get_text(&element);
		if (token != WJB_VALUE)
			continue;
		if (strcmp(name, "set") == 0)
			get_set(merge, &element);
		else if (strcmp(name, "where") == 0)
			merge->where = get_expression(name, &element);
		else if (strcmp(name, "delete") == 0)
			merge->remove = get_expression(name, &element);
		else if (strcmp(name, "key") == 0)
			merge->key = get_names(name, &element);
		else
			refuse_unknown(name);
	}
	if (!merge->all && merge->set == NIL && merge->remove == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"on_duplicate\": \"set\" or \"delete\" is missing"),
				 errhint("With \"set\": \"all\" the row that is there gets all values of the new one.")));
	return merge;
}

void
merge_options_set(const OptionDef *def, JsonbValue *value, BulkOptions *options)
{
	if (is_object(value))
	{
		options->on_duplicate = BULK_ON_DUPLICATE_MERGE;
		options->merge = get_merge(value);
		return;
	}
	options->on_duplicate = option_get_choice(def, value);
}
