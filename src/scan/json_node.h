/*
 * json_node.h
 *		The kind and position of a value in a JSON text; see json.h.
 */
#ifndef PGBULK_JSON_NODE_H
#define PGBULK_JSON_NODE_H

#include <stdint.h>

typedef enum JsonKind
{
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
} JsonKind;

typedef struct JsonNode
{
	uint32_t	start;			/* offset of its text; of a string without its quotes */
	uint32_t	length;			/* of that text, a container's brackets included */
	uint32_t	next;			/* index of the node after it and all within it */
	uint32_t	count:28;		/* elements of an array, pairs of an object; else 0 */
	uint32_t	kind:3;			/* JsonKind */
	uint32_t	escaped:1;		/* a string that needs json_unescape */
} JsonNode;

#endif							/* PGBULK_JSON_NODE_H */
