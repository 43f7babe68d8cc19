/*
 * json_keys.h
 *		Which of the names a key of an object means (private to this folder).
 */
#ifndef PGBULK_JSON_KEYS_H
#define PGBULK_JSON_KEYS_H

#include "scan/json_rows.h"

#define JSON_NO_KEY UINT32_MAX

/* What a key means. */
typedef struct JsonMeaning
{
	uint32_t	key;			/* its index, or JSON_NO_KEY */
	bool		exact;			/* it is that name; else but for the case of letters */
} JsonMeaning;

/*
 * The meaning of a key, its text as it stands in the document.  At least 8 bytes
 * after it are readable.
 */
extern JsonMeaning json_find_key(const ScanJson *json, const char *s,
								 uint32_t length, bool escaped);

#endif							/* PGBULK_JSON_KEYS_H */
