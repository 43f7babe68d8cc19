/*
 * json.c
 *		See json.h.
 *
 * Two steps alternate: the marks of a few blocks are found (json_marks.h), and
 * the grammar walks from mark to mark.
 */
#include "scan/json.h"

#include "scan/json_marks.h"

static char *
put_utf8(char *to, uint32_t c)
{
	if (c < 0x80)
		*to++ = (char) c;
	else
	{
		if (c < 0x800)
			*to++ = (char) (0xc0 | c >> 6);
		else
		{
			if (c < 0x10000)
				*to++ = (char) (0xe0 | c >> 12);
			else
			{
				*to++ = (char) (0xf0 | c >> 18);
				*to++ = (char) (0x80 | (c >> 12 & 0x3f));
			}
			*to++ = (char) (0x80 | (c >> 6 & 0x3f));
		}
		*to++ = (char) (0x80 | (c & 0x3f));
	}
	return to;
}

/*
 * The character of the escape \u at *s; the second half of a surrogate pair
 * must follow the first; *s is advanced past it.  0: no character.
 */
static uint32_t
unescape_character(const char **s, const char *end)
{
	uint32_t	c = (uint32_t) hex_value(*s + 2);
	uint32_t	low;

	*s += 6;
	if (c < 0xd800 || c > 0xdfff)
		return c;
	if (c > 0xdbff || end - *s < 6 || (*s)[0] != '\\' || (*s)[1] != 'u')
		return 0;
	low = (uint32_t) hex_value(*s + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	*s += 6;
	return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

size_t
json_unescape(const char *s, size_t length, bool ascii, char *to)
{
	const char *end = s + length;
	char	   *start = to;

	while (s < end)
	{
		const char *escape = memchr(s, '\\', (size_t) (end - s));
		size_t		plain = (size_t) ((escape ? escape : end) - s);

		memcpy(to, s, plain);
		to += plain;
		s += plain;
		if (escape == NULL)
			break;
		if (UNLIKELY(!is_escape(s, (uint32_t) (end - s) - 1)))
			return JSON_NO_TEXT;
		if (s[1] == 'u')
		{
			uint32_t	c = unescape_character(&s, end);

			if (c == 0 || (ascii && c >= 0x80))
				return JSON_NO_TEXT;
			to = put_utf8(to, c);
		}
		else
		{
			*to++ = escape_letter(s[1]);
			s += 2;
		}
	}
	return (size_t) (to - start);
}

/* ---- documents ---- */

/* The string whose opening quote is at a mark; false: it is invalid. */
static inline bool
scan_string(JsonScan *scan, uint32_t mark, JsonNode *node)
{
	uint32_t	end = next_mark(scan);
	bool		escaped = false;

	while (UNLIKELY(byte_at(scan, end) == '\\'))
	{
		if (!is_escape(scan->text + end, scan->length - end - 1))
			return false;
		escaped = true;
		end = next_mark(scan);
	}
	*node = (JsonNode) {
		.start = mark + 1, .length = end - mark - 1, .kind = JSON_STRING,
		.escaped = escaped
	};
	return end < scan->length;
}

/*
 * The grammar.  A loop instead of recursion: open[] has the containers around
 * the current position, the innermost last.
 */
static uint32_t
scan_document(JsonScan *scan, JsonNode *nodes)
{
	uint32_t	open[JSON_MAX_DEPTH];
	uint32_t	depth = 0;
	uint32_t	n = 0;			/* nodes so far */
	uint32_t	mark = next_mark(scan);
	JsonNode   *container;

value:
	switch (byte_at(scan, mark))
	{
		case '{':
		case '[':
			if (depth == JSON_MAX_DEPTH)
				return 0;
			container = &nodes[n];
			*container = (JsonNode) {
				.start = mark,
				.kind = byte_at(scan, mark) == '{' ? JSON_OBJECT : JSON_ARRAY
			};
			open[depth++] = n++;
			mark = next_mark(scan);
			if (container->kind == JSON_OBJECT)
			{
				if (byte_at(scan, mark) == '}')
					goto close;
				goto key;
			}
			if (byte_at(scan, mark) == ']')
				goto close;
			goto value;
		case '"':
			if (!scan_string(scan, mark, &nodes[n]))
				return 0;
			break;
		case '\0':
			return 0;
		default:
			nodes[n] = (JsonNode) {.start = mark};
			if (!scan_scalar(scan, mark, &nodes[n]))
				return 0;
			break;
	}
	nodes[n].next = n + 1;
	n++;

after_value:
	mark = next_mark(scan);
	if (depth == 0)
		return mark == scan->length ? n : 0;
	container = &nodes[open[depth - 1]];
	container->count++;
	if (byte_at(scan, mark) == ',')
	{
		mark = next_mark(scan);
		if (container->kind == JSON_ARRAY)
			goto value;
		goto key;
	}
	if (byte_at(scan, mark) != (container->kind == JSON_ARRAY ? ']' : '}'))
		return 0;

close:
	container->length = mark + 1 - container->start;
	container->next = n;
	depth--;
	goto after_value;

key:
	if (byte_at(scan, mark) != '"' || !scan_string(scan, mark, &nodes[n]))
		return 0;
	nodes[n].next = n + 1;
	n++;
	if (byte_at(scan, next_mark(scan)) != ':')
		return 0;
	mark = next_mark(scan);
	goto value;
}

uint32_t
json_scan(const char *s, uint32_t length, JsonNode *nodes)
{
	JsonScan	scan;
	uint32_t	n;

	begin_marks(&scan, s, 0, length, false);
	n = scan_document(&scan, nodes);
	return scan.wrong == 0 ? n : 0;
}
