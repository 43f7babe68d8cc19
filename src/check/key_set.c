/*
 * key_set.c
 *		See key_set.h.
 *
 * Open addressing, at most half full.  Keys are stored in one block, each
 * preceded by its length.
 */
#include "postgres.h"

#include "check/key_set.h"
#include "common/hashfn.h"
#include "server/fetch_ahead.h"
#include "utils/memutils.h"

#define FIRST_SLOTS 1024
#define FIRST_BYTES (16 * 1024)

/* Short keys of so many words at most, as integers are, have a hash of their own. */
#define MAX_WORDS 3

/* Of a key's length: it is asked for.  No key is as long as that. */
#define KEY_ASKED 0x80000000U

typedef struct Slot
{
	uint32		hash;
	uint32		place;			/* offset of the key in bytes, plus one; 0: empty */
} Slot;

struct KeySet
{
	MemoryContext context;
	Size		memory;
	Slot	   *slots;
	uint32		nslots;			/* a power of two */
	uint32		nkeys;
	char	   *bytes;
	Size		size;			/* bytes in use */
	Size		capacity;
};

/* Creates the smallest set. */
static void
init_set(KeySet *set)
{
	MemoryContextReset(set->context);
	set->nslots = FIRST_SLOTS;
	set->slots = MemoryContextAllocZero(set->context, sizeof(Slot) * set->nslots);
	set->nkeys = 0;
	set->capacity = FIRST_BYTES;
	set->bytes = MemoryContextAlloc(set->context, set->capacity);
	set->size = 0;
}

/* Offsets are 32 bits wide. */
static inline Size
within_offsets(Size memory)
{
	return Min(memory, (Size) 2 * 1024 * 1024 * 1024);
}

KeySet *
key_set_create(Size memory)
{
	KeySet	   *set = palloc0(sizeof(KeySet));

	set->context = AllocSetContextCreate(CurrentMemoryContext, "pgbulk keys",
										 ALLOCSET_DEFAULT_SIZES);
	set->memory = within_offsets(memory);
	init_set(set);
	return set;
}

void
key_set_clear(KeySet *set)
{
	if (set->nkeys > 0)
		init_set(set);
}

void
key_set_limit(KeySet *set, Size memory)
{
	set->memory = within_offsets(memory);
	if (set->capacity + sizeof(Slot) * (Size) set->nslots > set->memory)
		key_set_clear(set);
}

static inline uint32
hash_key(const char *key, Size len)
{
	uint64		word;
	uint32		hash = 0;

	if (len % sizeof(word) != 0 || len > MAX_WORDS * sizeof(word))
		return hash_bytes((const unsigned char *) key, len);
	for (Size i = 0; i < len; i += sizeof(word))
	{
		memcpy(&word, key + i, sizeof(word));
		hash = murmurhash32(hash ^ (uint32) word ^ murmurhash32((uint32) (word >> 32)));
	}
	return hash;
}

/* Whether the bytes are the same; keys of integers, which are most, without a call. */
static inline bool
is_same(const char *a, const char *b, Size len)
{
	uint64		x;
	uint64		y;

	if (len != sizeof(x) && len != 2 * sizeof(x))
		return memcmp(a, b, len) == 0;
	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	if (x != y || len == sizeof(x))
		return x == y;
	memcpy(&x, a + sizeof(x), sizeof(x));
	memcpy(&y, b + sizeof(y), sizeof(y));
	return x == y;
}

static inline bool
is_key(const KeySet *set, uint32 place, const char *key, Size len, uint32 ignored)
{
	uint32		own;

	memcpy(&own, set->bytes + place, sizeof(own));
	return (own & ~ignored) == len && is_same(set->bytes + place + sizeof(own), key, len);
}

/* The first slot from i on that is empty or has that hash. */
static inline uint32
seek_slot(const KeySet *set, uint32 i, uint32 hash)
{
	uint32		mask = set->nslots - 1;

	while (set->slots[i].place != 0 && set->slots[i].hash != hash)
		i = (i + 1) & mask;
	return i;
}

/* Whether the key is there; slot: of the first key with its hash. */
static inline bool
has_key_from(const KeySet *set, const char *key, Size len, bool asked, uint32 hash, uint32 slot)
{
	uint32		mask = set->nslots - 1;
	uint32		ignored = asked ? KEY_ASKED : 0;

	for (; set->slots[slot].place != 0; slot = seek_slot(set, (slot + 1) & mask, hash))
		if (is_key(set, set->slots[slot].place - 1, key, len, ignored))
			return true;
	return false;
}

bool
key_set_has(const KeySet *set, const char *key, Size len, bool asked, uint32 *hash)
{
	*hash = hash_key(key, len);
	return has_key_from(set, key, len, asked, *hash,
						seek_slot(set, *hash & (set->nslots - 1), *hash));
}

/* Prefetches first the slots, then the keys, before comparing. */
void
key_set_has_many(const KeySet *set, KeySetItem *items, int n, bool asked, bool *found)
{
	uint32		mask = set->nslots - 1;

	for (int i = 0; i < n; i++)
	{
		items[i].hash = hash_key(items[i].key, items[i].len);
		fetch_ahead(&set->slots[items[i].hash & mask]);
	}
	for (int i = 0; i < n; i++)
	{
		items[i].slot = seek_slot(set, items[i].hash & mask, items[i].hash);
		fetch_ahead(set->bytes + set->slots[items[i].slot].place);
	}
	for (int i = 0; i < n; i++)
		found[i] = has_key_from(set, items[i].key, items[i].len, asked, items[i].hash,
								items[i].slot);
}

static void
put_slot(KeySet *set, Slot slot)
{
	uint32		mask = set->nslots - 1;
	uint32		i = slot.hash & mask;

	while (set->slots[i].place != 0)
		i = (i + 1) & mask;
	set->slots[i] = slot;
}

static void
grow_slots(KeySet *set)
{
	Slot	   *old = set->slots;
	uint32		nold = set->nslots;

	set->nslots *= 2;
	set->slots = MemoryContextAllocExtended(set->context, sizeof(Slot) * (Size) set->nslots,
											MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 i = 0; i < nold; i++)
		if (old[i].place != 0)
			put_slot(set, old[i]);
	pfree(old);
}

/* Bytes the set would take with one more key of len bytes. */
static Size
size_with(const KeySet *set, Size len, Size *capacity)
{
	Size		needed = set->size + sizeof(uint32) + len;
	Size		slots = sizeof(Slot) * (Size) set->nslots;

	*capacity = set->capacity;
	while (*capacity < needed)
		*capacity *= 2;
	if ((set->nkeys + 1) * 2 > set->nslots)
		slots *= 2 + 1;			/* old and new ones, while it is rehashed */
	return *capacity + slots;
}

/* There is room for it in bytes of that capacity. */
static void
put_key(KeySet *set, const char *key, Size len, bool asked, uint32 hash, Size capacity)
{
	uint32		own = len | (asked ? KEY_ASKED : 0);
	Slot		slot = {.hash = hash};

	if (capacity > set->capacity)
	{
		set->bytes = repalloc_huge(set->bytes, capacity);
		set->capacity = capacity;
	}
	if ((set->nkeys + 1) * 2 > set->nslots)
		grow_slots(set);

	slot.place = set->size + 1;
	memcpy(set->bytes + set->size, &own, sizeof(own));
	memcpy(set->bytes + set->size + sizeof(own), key, len);
	set->size += sizeof(own) + len;
	set->nkeys++;
	put_slot(set, slot);
}

bool
key_set_add(KeySet *set, const char *key, Size len, uint32 hash)
{
	Size		capacity;
	bool		fits = size_with(set, len, &capacity) <= set->memory;

	if (!fits)
	{
		init_set(set);
		if (size_with(set, len, &capacity) > set->memory)
			return false;
	}
	put_key(set, key, len, false, hash, capacity);
	return fits;
}

bool
key_set_ask(KeySet *set, const char *key, Size len, uint32 hash, uint32 *number)
{
	Size		capacity;

	if (size_with(set, len, &capacity) > set->memory)
		return false;
	*number = set->size;
	put_key(set, key, len, true, hash, capacity);
	return true;
}

bool
key_set_found(KeySet *set, uint32 number)
{
	uint32		own;
	bool		asked;

	memcpy(&own, set->bytes + number, sizeof(own));
	asked = (own & KEY_ASKED) != 0;
	own &= ~KEY_ASKED;
	memcpy(set->bytes + number, &own, sizeof(own));
	return asked;
}
