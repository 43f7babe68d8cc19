/*
 * json_reference.h
 *		JSON text to nodes, byte by byte: what json_scan must find.
 */
#ifndef JSON_REFERENCE_H
#define JSON_REFERENCE_H

#include "scan/json.h"

/* As json_scan. */
extern uint32_t reference_json(const char *s, uint32_t length, JsonNode *nodes);

#endif							/* JSON_REFERENCE_H */
