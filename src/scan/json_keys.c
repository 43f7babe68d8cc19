/*
 * json_keys.c
 *		See json_keys.h: a hash table of the names, as if in lower case.
 */
#include "scan/json_keys.h"

#include <string.h>

#include "scan/json.h"
#include "scan/scan.h"
#include "scan/values_swar.h"

#define EMPTY_SLOT UINT32_MAX

/* The first n bytes (at most 8), with letters in one case. */
static inline uint64_t
folded_bytes(const char *s, uint32_t n)
{
	uint64_t	word = 0;

	if (n >= 8)
		word = swar_load(s);
	else
		for (uint32_t i = 0; i < n; i++)
			word |= (uint64_t) (unsigned char) s[i] << 8 * i;
	return word | UINT64_C(0x2020202020202020);
}

static inline uint32_t
hash_name(const char *s, uint32_t length)
{
	uint64_t	first = folded_bytes(s, length);
	uint64_t	last = length > 8 ? folded_bytes(s + length - 8, 8) : 0;
	uint64_t	h = (first ^ length) * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ h >> 32 ^ last) * UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t) (h >> 32);
}

static inline char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char) (c + ('a' - 'A')) : c;
}

static bool
equal_but_for_case(const char *a, const char *b, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if (lower(a[i]) != lower(b[i]))
			return false;
	return true;
}

uint32_t
scan_json_nslots(uint32_t nkeys)
{
	uint32_t	nslots = 8;

	while (nslots < 2 * nkeys)
		nslots *= 2;
	return nslots;
}

void
scan_json_index(ScanJson *json)
{
	for (uint32_t i = 0; i < json->nslots; i++)
		json->slots[i] = EMPTY_SLOT;
	for (uint32_t i = 0; i < json->nkeys; i++)
	{
		uint32_t	slot = hash_name(json->keys[i].name, json->keys[i].length);

		while (json->slots[slot & (json->nslots - 1)] != EMPTY_SLOT)
			slot++;
		json->slots[slot & (json->nslots - 1)] = i;
	}
}

/*
 * The text of a key as names have it, which is s itself or is put to text.
 * NULL: it is none of the names.
 */
static inline const char *
text_of_key(const ScanJson *json, const char *s, uint32_t *length, bool escaped, char *text)
{
	const char *result = text;
	size_t		n = *length;

	if (n > SCAN_JSON_MAX_KEY)
		return NULL;
	if (json->key_text != NULL && (escaped || !scan_is_ascii(s, n)))
		n = json->key_text(json->key_text_arg, s, *length, escaped, text);
	else if (escaped)
		n = json_unescape(s, n, json->ascii, text);
	else
		result = s;
	*length = (uint32_t) n;
	return n <= SCAN_JSON_MAX_NAME ? result : NULL;
}

JsonMeaning
json_find_key(const ScanJson *json, const char *s, uint32_t length, bool escaped)
{
	JsonMeaning meaning = {.key = JSON_NO_KEY};
	char		text[SCAN_JSON_MAX_KEY];
	bool		ambiguous = false;
	uint32_t	slot;
	uint32_t	key;

	s = text_of_key(json, s, &length, escaped, text);
	if (s == NULL)
		return meaning;
	for (slot = hash_name(s, length);
		 (key = json->slots[slot & (json->nslots - 1)]) != EMPTY_SLOT; slot++)
	{
		const ScanJsonKey *candidate = &json->keys[key];

		if (candidate->length != length)
			continue;
		if (memcmp(candidate->name, s, length) == 0)
			return (JsonMeaning) {.key = key, .exact = true};
		if (equal_but_for_case(candidate->name, s, length))
		{
			ambiguous = meaning.key != JSON_NO_KEY;
			meaning.key = key;
		}
	}
	if (ambiguous)
		meaning.key = JSON_NO_KEY;
	return meaning;
}
