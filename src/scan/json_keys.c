/*
 * json_keys.c
 *		See json_keys.h: a hash table of the names, as if in lower case.
 */
#include "scan/json_keys.h"

#include <string.h>

#include "scan/json.h"
#include "scan/values_swar.h"

/* A longer text of a key, with all its escapes, matches none of the names. */
#define MAX_ESCAPED (6 * SCAN_JSON_MAX_NAME)

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

JsonMeaning
json_find_key(const ScanJson *json, const char *s, uint32_t length, bool escaped)
{
	JsonMeaning meaning = {.key = JSON_NO_KEY};
	char		text[MAX_ESCAPED];
	bool		ambiguous = false;
	uint32_t	slot;
	uint32_t	key;

	if (escaped)
	{
		size_t		n;

		if (length > MAX_ESCAPED)
			return meaning;
		n = json_unescape(s, length, json->ascii, text);
		if (n == JSON_NO_TEXT)
			return meaning;
		s = text;
		length = (uint32_t) n;
	}
	if (length > SCAN_JSON_MAX_NAME)
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
