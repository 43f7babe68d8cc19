/*
 * json_reference.c
 *		See json_reference.h.
 */
#include "json_reference.h"

#include <string.h>

typedef struct Reference
{
	const char *start;
	const char *s;
	const char *end;
	JsonNode   *nodes;
	uint32_t	n;
	int			depth;
} Reference;

static bool read_value(Reference *ref);

static void
skip_space(Reference *ref)
{
	while (ref->s < ref->end && *ref->s != '\0' && strchr(" \t\n\r", *ref->s))
		ref->s++;
}

static bool
take(Reference *ref, char c)
{
	skip_space(ref);
	if (ref->s == ref->end || *ref->s != c)
		return false;
	ref->s++;
	return true;
}

static bool
is_one_of(const Reference *ref, const char *set)
{
	return ref->s < ref->end && *ref->s != '\0' && strchr(set, *ref->s) != NULL;
}

static bool
take_digits(Reference *ref)
{
	const char *first = ref->s;

	while (is_one_of(ref, "0123456789"))
		ref->s++;
	return ref->s > first;
}

static bool
read_string(Reference *ref)
{
	JsonNode   *node = &ref->nodes[ref->n];

	if (!take(ref, '"'))
		return false;
	memset(node, 0, sizeof(*node));
	node->kind = JSON_STRING;
	node->start = (uint32_t) (ref->s - ref->start);
	for (;; ref->s++)
	{
		if (ref->s == ref->end || (unsigned char) *ref->s < 0x20)
			return false;
		if (*ref->s == '"')
			break;
		if (*ref->s != '\\')
			continue;
		node->escaped = 1;
		ref->s++;
		if (!is_one_of(ref, "\"\\/bfnrtu"))
			return false;
		for (int i = 0; i < 4 && ref->s[-i] == 'u'; i = 4)
			for (int digit = 0; digit < 4; digit++)
			{
				ref->s++;
				if (!is_one_of(ref, "0123456789abcdefABCDEF"))
					return false;
			}
	}
	node->length = (uint32_t) (ref->s - ref->start) - node->start;
	ref->s++;
	node->next = ++ref->n;
	return true;
}

static bool
read_number(Reference *ref)
{
	if (is_one_of(ref, "-"))
		ref->s++;
	if (is_one_of(ref, "0"))
		ref->s++;
	else if (!take_digits(ref))
		return false;
	if (is_one_of(ref, "."))
	{
		ref->s++;
		if (!take_digits(ref))
			return false;
	}
	if (is_one_of(ref, "eE"))
	{
		ref->s++;
		if (is_one_of(ref, "+-"))
			ref->s++;
		if (!take_digits(ref))
			return false;
	}
	return true;
}

static bool
read_scalar(Reference *ref)
{
	static const char *const words[] = {"null", "false", "true"};
	JsonNode   *node = &ref->nodes[ref->n];

	memset(node, 0, sizeof(*node));
	node->start = (uint32_t) (ref->s - ref->start);
	node->kind = JSON_NUMBER;
	for (int i = 0; i < 3; i++)
		if ((size_t) (ref->end - ref->s) >= strlen(words[i]) &&
			memcmp(ref->s, words[i], strlen(words[i])) == 0)
		{
			node->kind = i == 0 ? JSON_NULL : i == 1 ? JSON_FALSE : JSON_TRUE;
			ref->s += strlen(words[i]);
		}
	if (node->kind == JSON_NUMBER && !read_number(ref))
		return false;
	node->length = (uint32_t) (ref->s - ref->start) - node->start;
	node->next = ++ref->n;
	/* another token must not follow at once */
	return ref->s == ref->end || is_one_of(ref, " \t\n\r,:]}[{\"");
}

static bool
read_container(Reference *ref, bool object)
{
	uint32_t	index = ref->n++;
	JsonNode   *node = &ref->nodes[index];
	char		close = object ? '}' : ']';

	memset(node, 0, sizeof(*node));
	node->kind = object ? JSON_OBJECT : JSON_ARRAY;
	node->start = (uint32_t) (ref->s - 1 - ref->start);
	if (++ref->depth > JSON_MAX_DEPTH)
		return false;
	if (!take(ref, close))
		do
		{
			if (object && !(read_string(ref) && take(ref, ':')))
				return false;
			if (!read_value(ref))
				return false;
			node->count++;
			if (take(ref, close))
				break;
			if (!take(ref, ','))
				return false;
		} while (true);
	ref->depth--;
	node->length = (uint32_t) (ref->s - ref->start) - node->start;
	node->next = ref->n;
	return true;
}

static bool
read_value(Reference *ref)
{
	skip_space(ref);
	if (ref->s == ref->end)
		return false;
	if (*ref->s == '"')
		return read_string(ref);
	if (take(ref, '{'))
		return read_container(ref, true);
	if (take(ref, '['))
		return read_container(ref, false);
	return read_scalar(ref);
}

uint32_t
reference_json(const char *s, uint32_t length, JsonNode *nodes)
{
	Reference	ref = {.start = s, .s = s, .end = s + length, .nodes = nodes};

	if (!read_value(&ref))
		return 0;
	skip_space(&ref);
	return ref.s == ref.end ? ref.n : 0;
}
