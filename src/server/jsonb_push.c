/*
 * jsonb_push.c
 *		See jsonb_push.h.
 */
#include "postgres.h"

#include "server/jsonb_push.h"

static void
push_text(CompatJsonb *state, JsonbIteratorToken token, const char *text)
{
	JsonbValue	value;

	value.type = jbvString;
	value.val.string.val = unconstify(char *, text);
	value.val.string.len = strlen(text);
	compat_push_jsonb(state, token, &value);
}

void
jsonb_push_key(CompatJsonb *state, const char *key)
{
	push_text(state, WJB_KEY, key);
}

void
jsonb_push_string(CompatJsonb *state, const char *key, const char *text)
{
	jsonb_push_key(state, key);
	push_text(state, WJB_VALUE, text);
}

void
jsonb_push_numeric(CompatJsonb *state, const char *key, Numeric number)
{
	JsonbValue	value;

	jsonb_push_key(state, key);
	value.type = jbvNumeric;
	value.val.numeric = number;
	compat_push_jsonb(state, WJB_VALUE, &value);
}

void
jsonb_push_int64(CompatJsonb *state, const char *key, int64 number)
{
	jsonb_push_numeric(state, key, int64_to_numeric(number));
}

void
jsonb_push_element(CompatJsonb *state, const char *text)
{
	push_text(state, WJB_ELEM, text);
}
