/*
 * json_keys.h
 *		The keys wanted of each object, and which of them a key means.
 */
#ifndef PGBULK_JSON_KEYS_H
#define PGBULK_JSON_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ScanJsonKey
{
	const char *name;
	uint32_t	length;			/* at most SCAN_JSON_MAX_NAME */
	bool		whole;			/* the JSON text is wanted of strings, too, quotes included */
} ScanJsonKey;

#define SCAN_JSON_MAX_NAME 63

/* A longer text of a key, with all its escapes, in any encoding, matches none of the names. */
#define SCAN_JSON_MAX_KEY (6 * SCAN_JSON_MAX_NAME)

/* Nesting of objects and arrays; deeper ones are a fault. */
#define SCAN_JSON_MAX_DEPTH 4096

/* The keys that are wanted.  The caller owns all arrays. */
typedef struct ScanJson
{
	uint32_t	nkeys;
	const ScanJsonKey *keys;
	uint32_t	nslots;			/* of the index: scan_json_nslots(nkeys) */
	uint32_t   *slots;			/* scan_json_index fills them */
	bool		ascii;			/* no name matches escapes for characters beyond ASCII */
	bool		ignore_extra;
	bool		missing_is_null;

	/*
	 * The text of a key, of at most SCAN_JSON_MAX_KEY bytes, in the encoding of
	 * the names, to `to`, which takes SCAN_JSON_MAX_NAME bytes.  Returns its
	 * length, or JSON_NO_TEXT if no name can be that text.  Called for keys
	 * with escapes or bytes beyond ASCII; NULL: their bytes are compared.
	 */
	size_t		(*key_text) (const void *arg, const char *s, uint32_t length,
							 bool escaped, char *to);
	const void *key_text_arg;
} ScanJson;

extern uint32_t scan_json_nslots(uint32_t nkeys);
extern void scan_json_index(ScanJson *json);

#define JSON_NO_KEY UINT32_MAX

/* What a key means. */
typedef struct JsonMeaning
{
	uint32_t	key;			/* its index, or JSON_NO_KEY */
	bool		exact;			/* it is that name; else the case of letters differs */
} JsonMeaning;

/*
 * The meaning of a key, given its text in the document.  At least 8 bytes
 * after it are readable.
 */
extern JsonMeaning json_find_key(const ScanJson *json, const char *s,
								 uint32_t length, bool escaped);

#endif							/* PGBULK_JSON_KEYS_H */
