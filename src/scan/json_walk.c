/*
 * json_walk.c
 *		See json_walk.h.
 */
#include "scan/json_walk.h"

void
json_begin_walk(RowScan *scan, ScanEol eol, const char *window, uint32_t start,
		   uint32_t length, bool at_eof)
{
	begin_marks(&scan->marks, window, start, length, true);
	scan->eol = eol;
	scan->at_eof = at_eof;
	scan->lines = 0;
	scan->json = NULL;
	scan->nremembered = 0;
}

/* ---- the grammar ---- */

/* Ends the walk at this mark, because of so many bytes from there on; always false. */
static bool
stop_walk(RowScan *scan, uint32_t mark, uint32_t bytes)
{
	bool		cut = scan->marks.length - mark < bytes;

	scan->outcome = cut && !scan->at_eof ? WALK_UNFINISHED : WALK_BROKEN;
	return false;
}

static inline bool
walk_string(RowScan *scan, uint32_t mark, JsonNode *node)
{
	const char *text = scan->marks.text;
	uint32_t	end = next_mark(&scan->marks);
	bool		escaped = false;

	while (UNLIKELY(byte_at(&scan->marks, end) == '\\'))
	{
		if (!is_escape(text + end, scan->marks.length - end - 1))
			return stop_walk(scan, end, 6);
		escaped = true;
		end = next_mark(&scan->marks);
	}
	if (UNLIKELY(byte_at(&scan->marks, end) != '"'))
		return stop_walk(scan, end, 1);
	*node = (JsonNode) {
		.start = mark + 1, .length = end - mark - 1, .kind = JSON_STRING,
		.escaped = escaped
	};
	return true;
}

static inline bool
walk_scalar(RowScan *scan, uint32_t mark, JsonNode *node)
{
	if (UNLIKELY((unsigned char) byte_at(&scan->marks, mark) <= ' '))
		return stop_walk(scan, mark, 1);
	*node = (JsonNode) {.start = mark};
	if (UNLIKELY(!scan_scalar(&scan->marks, mark, node)))
	{
		/* there may be more of it */
		if (peek_mark(&scan->marks) == scan->marks.length)
			mark = scan->marks.length;
		return stop_walk(scan, mark, 1);
	}
	return true;
}

/* Opens one more object or array. */
static inline bool
push_container(RowScan *scan, uint64_t *objects, uint32_t depth, bool object)
{
	const uint64_t bit = UINT64_C(1) << depth % 64;

	if (UNLIKELY(depth == SCAN_JSON_MAX_DEPTH))
	{
		scan->outcome = WALK_DEEP;
		return false;
	}
	if (object)
		objects[depth / 64] |= bit;
	else
		objects[depth / 64] &= ~bit;
	return true;
}

/* The container that opens at a mark, which is only checked. */
static bool
walk_container(RowScan *scan, uint32_t mark, JsonNode *node)
{
	uint64_t	objects[SCAN_JSON_MAX_DEPTH / 64];	/* which of the open containers are objects */
	const JsonScan *marks = &scan->marks;
	const uint32_t start = mark;
	uint32_t	depth = 0;
	bool		object;
	JsonNode	child;
	char		c = byte_at(marks, mark);

	objects[0] = 0;

open:
	object = c == '{';
	if (!push_container(scan, objects, depth, object))
		return false;
	depth++;
	mark = next_token(scan);
	c = byte_at(marks, mark);
	if (c == (object ? '}' : ']'))
		goto close;
	if (object)
		goto key;

value:
	if (c == '{' || c == '[')
		goto open;
	if (!(c == '"' ? walk_string(scan, mark, &child) : walk_scalar(scan, mark, &child)))
		return false;

after_value:
	mark = next_token(scan);
	c = byte_at(marks, mark);
	if (c == ',')
	{
		mark = next_token(scan);
		c = byte_at(marks, mark);
		if (object)
			goto key;
		goto value;
	}
	if (c != (object ? '}' : ']'))
		return stop_walk(scan, mark, 1);

close:
	if (--depth > 0)
	{
		object = (objects[(depth - 1) / 64] >> (depth - 1) % 64 & 1) != 0;
		goto after_value;
	}
	*node = (JsonNode) {
		.start = start, .length = mark + 1 - start,
		.kind = marks->text[start] == '{' ? JSON_OBJECT : JSON_ARRAY
	};
	return true;

key:
	if (c != '"')
		return stop_walk(scan, mark, 1);
	if (!walk_string(scan, mark, &child))
		return false;
	mark = next_token(scan);
	if (byte_at(marks, mark) != ':')
		return stop_walk(scan, mark, 1);
	mark = next_token(scan);
	c = byte_at(marks, mark);
	goto value;
}

static inline bool
walk_value(RowScan *scan, uint32_t mark, JsonNode *node)
{
	switch (byte_at(&scan->marks, mark))
	{
		case '"':
			return walk_string(scan, mark, node);
		case '{':
		case '[':
			return walk_container(scan, mark, node);
		default:
			return walk_scalar(scan, mark, node);
	}
}

/* ---- values of keys ---- */

/* Up to 16 bytes are compared at once; at least so many after both are readable. */
static inline bool
equal_texts(const char *a, const char *b, uint32_t length)
{
	uint64_t	differs;

	if (UNLIKELY(length > 16))
		return memcmp(a, b, length) == 0;
	differs = length == 0 ? 0 :
		(swar_load(a) ^ swar_load(b)) << (length < 8 ? 64 - 8 * length : 0);
	if (length > 8)
		differs |= (swar_load(a + 8) ^ swar_load(b + 8)) << (128 - 8 * length);
	return differs == 0;
}

/* Objects mostly have the same keys in the same order. */
static inline JsonMeaning
find_meaning(RowScan *scan, const JsonNode *key)
{
	const char *bytes = scan->bytes;
	uint32_t	n = scan->npairs;
	Remembered *remembered = &scan->remembered[n < MAX_REMEMBERED ? n : 0];
	JsonMeaning meaning;

	if (n < scan->nremembered && key->length == remembered->length &&
		LIKELY(equal_texts(bytes + key->start, bytes + remembered->start, key->length)))
		return remembered->meaning;
	meaning = json_find_key(scan->json, bytes + key->start, key->length, key->escaped);
	if (n <= scan->nremembered && n < MAX_REMEMBERED)
	{
		*remembered = (Remembered) {
			.start = key->start, .length = key->length, .meaning = meaning
		};
		if (n == scan->nremembered)
			scan->nremembered++;
	}
	return meaning;
}

static void
begin_fields(RowScan *scan)
{
	const ScanField unset = {
		.start = scan->row_start, .escaped = !scan->json->missing_is_null
	};

	for (uint32_t i = 0; i < scan->json->nkeys; i++)
		scan->fields[i] = unset;
	scan->extra = unset;
	scan->nfound = scan->npairs = 0;
	scan->too_long = false;
}

static void
note_extra(RowScan *scan, const ScanField *key)
{
	if (json_is_unset(scan, &scan->extra))
		scan->extra = *key;
}

/*
 * A key that means the same as an earlier one: whether its value counts.  It
 * does if it is the name itself, or the same text as the earlier one.  Of
 * different keys that match equally well none is meant.
 *
 * In the field of the earlier one: "escaped", it was the name itself; not
 * "quoted", none was meant.
 */
static bool
takes_over(RowScan *scan, uint32_t key, const ScanField *name)
{
	ScanField  *earlier = &scan->fields[scan->json->nkeys + 1 + key];
	ScanField  *field = &scan->fields[key];
	const char *bytes = scan->bytes;

	if (name->escaped)
	{
		if (!earlier->escaped)
			note_extra(scan, earlier);
		scan->nfound += !earlier->quoted;
		return true;
	}
	if (!earlier->escaped && earlier->length == name->length &&
		memcmp(bytes + earlier->start, bytes + name->start, name->length) == 0)
		return earlier->quoted;
	note_extra(scan, name);
	if (!earlier->escaped && earlier->quoted)
	{
		scan->nfound--;
		earlier->quoted = 0;
		field->length = field->quoted = 0;
		field->escaped = !scan->json->missing_is_null;
	}
	return false;
}

static inline void
put_pair(RowScan *scan, const JsonNode *key, const JsonNode *value)
{
	const ScanJson *json = scan->json;
	JsonMeaning meaning = find_meaning(scan, key);
	ScanField	name = {
		.start = key->start, .length = key->length < SCAN_MAX_FIELD ? key->length : 0,
		.quoted = 1, .escaped = meaning.exact
	};
	ScanField  *field;
	bool		whole;

	scan->npairs++;
	if (meaning.key == JSON_NO_KEY)
	{
		note_extra(scan, &name);
		return;
	}
	field = &scan->fields[meaning.key];
	if (LIKELY(json_is_unset(scan, field)))
		scan->nfound++;
	else if (!takes_over(scan, meaning.key, &name))
		return;
	if (UNLIKELY(value->length >= SCAN_MAX_FIELD - 2))
		scan->too_long = true;

	scan->fields[json->nkeys + 1 + meaning.key] = name;
	whole = json->keys[meaning.key].whole && value->kind == JSON_STRING;
	*field = (ScanField) {
		.start = value->start - whole,
		.length = value->kind == JSON_NULL ? 0 : value->length + 2 * whole,
		.quoted = value->kind == JSON_STRING,
		.escaped = value->escaped && !whole
	};
}

Walk
json_walk_object(RowScan *scan, uint32_t mark)
{
	JsonNode	key = {0};
	JsonNode	value = {0};
	char		c;

	scan->row_start = mark;
	if (scan->json != NULL)
		begin_fields(scan);
	mark = next_token(scan);
	c = byte_at(&scan->marks, mark);
	if (c == '}')
		return WALK_OBJECT;
	for (;;)
	{
		if (c != '"')
			break;
		if (!walk_string(scan, mark, &key))
			return scan->outcome;
		mark = next_token(scan);
		if (byte_at(&scan->marks, mark) != ':')
			break;
		mark = next_token(scan);
		if (!walk_value(scan, mark, &value))
			return scan->outcome;
		if (scan->json != NULL)
			put_pair(scan, &key, &value);

		mark = next_token(scan);
		c = byte_at(&scan->marks, mark);
		if (c == '}')
			return WALK_OBJECT;
		if (c != ',')
			break;
		mark = next_token(scan);
		c = byte_at(&scan->marks, mark);
	}
	stop_walk(scan, mark, 1);
	return scan->outcome;
}

bool
json_walk_value(RowScan *scan, uint32_t mark)
{
	JsonNode	value;

	return walk_value(scan, mark, &value);
}
