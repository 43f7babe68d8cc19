/*
 * json.h
 *		The text of a JSON document to the positions of its values.
 *
 * A document becomes an array of nodes, in the order of the text: one for each
 * value and one for each key.  Nothing is copied: a node has the position of
 * its text, so that numbers stay exact and the raw text of any value is
 * available.
 *
 *		{"a": [1, "x"], "b": null}
 *
 *		node  0       1    2      3       4       5    6
 *		kind  object  key  array  number  string  key  null
 *		next  7       2    5      4       5       6    7
 *		count 2            2
 *
 * A container's first child is the node after it; a node's next is the one
 * after it and all within it, so a key's value, the next element and the next
 * pair are one step away, whatever lies between.  Keys are nodes of kind
 * string; each is followed by its value.
 *
 * Accepted is exactly what every supported server's parser accepts, except
 * documents deeper than JSON_MAX_DEPTH.  Errors are not described: for that
 * call the server's parser.
 *
 * The text must be valid in a server encoding, where a byte below 0x80 is
 * always a character by itself.  At least 16 bytes after it are readable; their
 * contents do not matter.
 */
#ifndef PGBULK_JSON_H
#define PGBULK_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/json_node.h"

/* Deeper ones are left to the server, which knows how much stack it has. */
#define JSON_MAX_DEPTH 64

/* The longest text; no value of the server can come from a longer one. */
#define JSON_MAX_LENGTH 0x3fffffffu

/*
 * Nodes of a text of length bytes, at most: each takes two bytes, except
 * containers that are not closed, and a last value.
 */
#define JSON_MAX_NODES(length) ((size_t) (length) / 2 + JSON_MAX_DEPTH)

/*
 * The nodes of the document in s[0 .. length), of which length is at most
 * JSON_MAX_LENGTH.  nodes has space for JSON_MAX_NODES(length).  Returns how
 * many there are, or 0: the document is invalid, or the server must decide
 * that.
 */
extern uint32_t json_scan(const char *s, uint32_t length, JsonNode *nodes);

/*
 * The text of an escaped string, s[0 .. length) as its node has it.  `to` has
 * space for length bytes.  ascii: characters beyond ASCII cannot be written.
 * Returns the text's length, or JSON_NO_TEXT for an escape without a character
 * that can be written: a zero byte, half of a surrogate pair.  The same for a
 * backslash that begins no escape, as there may be one after a conversion.
 */
#define JSON_NO_TEXT SIZE_MAX
extern size_t json_unescape(const char *s, size_t length, bool ascii, char *to);

#endif							/* PGBULK_JSON_H */
