/*
 * copy_options.c
 *		See copy_options.h.
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "nodes/value.h"
#include "option/options.h"
#include "server/jsonb_push.h"
#include "utility/copy_options.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

/* ---- whose option it is ---- */

static bool
is_one_of(const char *word, const char *const *words)
{
	for (int i = 0; words[i] != NULL; i++)
		if (pg_strcasecmp(word, words[i]) == 0)
			return true;
	return false;
}

/* Whether COPY has an option of that name. */
static bool
copy_has(const char *name)
{
	static const char *const names[] = {COMPAT_COPY_OPTIONS, NULL};

	return is_one_of(name, names);
}

/* Whether only pgbulk knows that value of an option that COPY has, too. */
static bool
value_is_ours(const DefElem *def)
{
	static const char *const formats[] = {"json", "fixed", NULL};
	static const char *const headers[] = {"map", "auto", NULL};
	const char *text = def->arg != NULL && IsA(def->arg, String) ? strVal(def->arg) : "";
	int			number = def->arg != NULL && IsA(def->arg, Integer) ? intVal(def->arg) : 0;

	if (strcmp(def->defname, "format") == 0)
		return is_one_of(text, formats);
	if (strcmp(def->defname, "header") == 0)
		return is_one_of(text, headers) || (number > 1 && !COMPAT_COPY_HEADER_LINES);
	if (strcmp(def->defname, "delimiter") == 0)
		return strlen(text) > 1;
	if (strcmp(def->defname, "null") == 0)
		return def->arg != NULL && IsA(def->arg, List);
	if (strcmp(def->defname, "on_error") == 0)
		return pg_strcasecmp(text, "set_null") == 0 && !COMPAT_COPY_SET_NULL;
	if (strcmp(def->defname, "reject_limit") == 0)
		return text[0] != '\0' && text[strlen(text) - 1] == '%';
	return false;
}

bool
copy_options_are_ours(List *options)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		const DefElem *def = lfirst_node(DefElem, lc);

		if ((options_find(def->defname) != NULL && !copy_has(def->defname)) || value_is_ours(def))
			return true;
	}
	return false;
}

const DefElem *
copy_options_unknown(List *options)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		const DefElem *def = lfirst_node(DefElem, lc);

		if (options_find(def->defname) == NULL && !copy_has(def->defname))
			return def;
	}
	return NULL;
}

/* ---- values ---- */

/* true or false, as COPY reads them: -1 if the text is neither. */
static int
read_boolean(const char *text)
{
	static const char *const yes[] = {"true", "on", NULL};
	static const char *const no[] = {"false", "off", NULL};

	return is_one_of(text, yes) ? 1 : is_one_of(text, no) ? 0 : -1;
}

static bool
is_number(const char *text)
{
	return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static bool
is_structure(const char *text)
{
	text += strspn(text, " \t\r\n");
	return text[0] == '[' || text[0] == '{';
}

/* Names the option in the CONTEXT of an error about its JSON. */
static void
name_option(void *name)
{
	errcontext("option \"%s\" of COPY", (const char *) name);
}

static void
push_json(CompatJsonb *state, DefElem *def, const char *text)
{
	ErrorContextCallback context = {error_context_stack, name_option, def->defname};
	Jsonb	   *json;
	JsonbValue	value;

	error_context_stack = &context;
	json = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));
	error_context_stack = context.previous;
	JsonbToJsonbValue(json, &value);
	compat_push_jsonb(state, WJB_VALUE, &value);
}

static void
push_list(CompatJsonb *state, const DefElem *def, List *list)
{
	ListCell   *lc;

	compat_push_jsonb(state, WJB_BEGIN_ARRAY, NULL);
	foreach(lc, list)
	{
		DefElem		element = {.type = T_DefElem, .defname = def->defname, .arg = lfirst(lc)};

		if (element.arg == NULL || IsA(element.arg, List))
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("argument to option \"%s\" must be a list of strings", def->defname)));
		jsonb_push_element(state, defGetString(&element));
	}
	compat_push_jsonb(state, WJB_END_ARRAY, NULL);
}

/* A number as the parser has it, or digits. */
static void
push_number(CompatJsonb *state, const char *text)
{
	JsonbValue	value = {
		.type = jbvNumeric,
		.val.numeric = DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(text),
														   ObjectIdGetDatum(InvalidOid),
														   Int32GetDatum(-1)))
	};

	compat_push_jsonb(state, WJB_VALUE, &value);
}

static void
push_boolean(CompatJsonb *state, bool boolean)
{
	JsonbValue	value = {.type = jbvBool,.val.boolean = boolean};

	compat_push_jsonb(state, WJB_VALUE, &value);
}

static void
push_text(CompatJsonb *state, char *text)
{
	JsonbValue	value = {.type = jbvString,.val.string = {.val = text,.len = strlen(text)}};

	compat_push_jsonb(state, WJB_VALUE, &value);
}

/* The value of an option whose values may be of some kinds. */
static void
push_value(CompatJsonb *state, DefElem *def, int kinds)
{
	char	   *text;

	if (def->arg == NULL && (kinds & OPTION_BOOLEAN) != 0)
	{
		push_boolean(state, true);
		return;
	}
	if (def->arg != NULL && IsA(def->arg, List))
	{
		push_list(state, def, (List *) def->arg);
		return;
	}
	text = defGetString(def);
	if ((kinds & OPTION_BOOLEAN) != 0 && read_boolean(text) >= 0)
		push_boolean(state, read_boolean(text) == 1);
	else if ((kinds & OPTION_NUMBER) != 0 &&
			 (IsA(def->arg, Integer) || IsA(def->arg, Float) || is_number(text)))
		push_number(state, text);
	else if ((kinds & OPTION_BOOLEAN) != 0 && IsA(def->arg, Integer) &&
			 (intVal(def->arg) == 0 || intVal(def->arg) == 1))
		push_boolean(state, intVal(def->arg) == 1);
	else if ((kinds & OPTION_JSON) != 0 && is_structure(text))
		push_json(state, def, text);
	else
		push_text(state, text);
}

/* ---- options ---- */

static void
refuse_unknown(ParseState *pstate, const DefElem *def)
{
	const char *near = options_near(def->defname);

	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("option \"%s\" not recognized", def->defname),
			 near != NULL ? errhint("Perhaps you meant \"%s\".", near) : 0,
			 parser_errposition(pstate, def->location)));
}

void
copy_options_check(ParseState *pstate, List *options)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (options_find(def->defname) == NULL)
			refuse_unknown(pstate, def);
		for (int i = 0; i < foreach_current_index(lc); i++)
			if (strcmp(list_nth_node(DefElem, options, i)->defname, def->defname) == 0)
				errorConflictingDefElem(def, pstate);
	}
}

Jsonb *
copy_options_json(ParseState *pstate, const CopyStmt *stmt)
{
	CompatJsonb state = {0};
	bool		has_format = false;
	ListCell   *lc;

	compat_push_jsonb(&state, WJB_BEGIN_OBJECT, NULL);
	foreach(lc, stmt->options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if ((stmt->attlist != NIL && strcmp(def->defname, "columns") == 0) ||
			(stmt->whereClause != NULL && strcmp(def->defname, "where") == 0))
			errorConflictingDefElem(def, pstate);
		has_format |= strcmp(def->defname, "format") == 0;
		jsonb_push_key(&state, def->defname);
		push_value(&state, def, options_find(def->defname)->kinds);
	}
	if (!has_format)
		jsonb_push_string(&state, "format", "text");
	if (stmt->attlist != NIL)
	{
		DefElem		names = {.type = T_DefElem,.defname = "columns"};

		jsonb_push_key(&state, "columns");
		push_list(&state, &names, stmt->attlist);
	}
	return JsonbValueToJsonb(compat_push_jsonb(&state, WJB_END_OBJECT, NULL));
}
