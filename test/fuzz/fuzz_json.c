/*
 * fuzz_json.c
 *		Any text through json_scan: no read outside the text and its promised
 *		padding, whose bytes change nothing; the same by every kernel; nodes that
 *		lie within each other; escapes that fit their room.
 */
#include <stdlib.h>
#include <string.h>

#include "scan/json.h"
#include "scan/scan.h"

#define AFTER 16

#define REQUIRE(condition) do { if (!(condition)) abort(); } while (0)

static void
unescape(const char *s, const JsonNode *node, bool ascii)
{
	char	   *from = malloc(node->length);
	char	   *to = malloc(node->length);
	size_t		n;

	memcpy(from, s + node->start, node->length);
	n = json_unescape(from, node->length, ascii, to);
	REQUIRE(n == JSON_NO_TEXT || n <= node->length);
	free(from);
	free(to);
}

/* The node at index and those within it, whose text ends before end. */
static void
check_node(const char *s, const JsonNode *nodes, uint32_t index, uint32_t end)
{
	const JsonNode *node = &nodes[index];
	bool		container = node->kind == JSON_ARRAY || node->kind == JSON_OBJECT;
	uint32_t	children = node->kind == JSON_OBJECT ? 2 * node->count : node->count;
	uint32_t	child = index + 1;

	REQUIRE(node->start + node->length <= end);
	REQUIRE(node->next > index);
	if (node->escaped)
	{
		REQUIRE(node->kind == JSON_STRING);
		unescape(s, node, false);
		unescape(s, node, true);
	}
	if (!container)
		REQUIRE(children == 0 && node->next == index + 1);
	for (uint32_t i = 0; i < children; i++)
	{
		REQUIRE(node->kind != JSON_OBJECT || i % 2 != 0 || nodes[child].kind == JSON_STRING);
		REQUIRE(nodes[child].start > node->start);
		check_node(s, nodes, child, node->start + node->length);
		child = nodes[child].next;
	}
	REQUIRE(child == node->next);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char fill[] = {'0', '"', ' ', '}'};
	size_t		most = JSON_MAX_NODES(size) * sizeof(JsonNode);
	JsonNode   *nodes = malloc(most);
	JsonNode   *again = malloc(most);
	uint32_t	n = 0;

	for (size_t i = 0; i < sizeof(fill); i++)
		for (const ScanKernel *const *kernel = scan_kernels; *kernel; kernel++)
		{
			char	   *padded = malloc(size + AFTER);
			uint32_t	found;

			if ((*kernel)->supported())
				scan_kernel_set(*kernel);
			memset(padded, fill[i], size + AFTER);
			memcpy(padded, data, size);
			found = json_scan(padded, (uint32_t) size, again);
			if (i == 0 && kernel == scan_kernels)
			{
				n = found;
				memcpy(nodes, again, n * sizeof(JsonNode));
				if (n > 0)
				{
					check_node(padded, nodes, 0, (uint32_t) size);
					REQUIRE(nodes[0].next == n);
				}
			}
			REQUIRE(found == n && memcmp(nodes, again, n * sizeof(JsonNode)) == 0);
			free(padded);
		}
	free(nodes);
	free(again);
	return 0;
}
