/*
 * jsonb.c
 *		See jsonb.h.
 */
#include "postgres.h"

#include "format/jsonb.h"
#include "format/numeric_put.h"
#include "mb/pg_wchar.h"
#include "port/pg_bswap.h"
#include "scan/json.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

/* Longer texts are left to the input function; jsonb's own limits are far above. */
#define MAX_TEXT (16 * 1024 * 1024)

/*
 * Memory of up to this size for the nodes and keys of a document is kept for
 * the next one.
 */
#define KEPT_SPACE (1024 * 1024)

/* Objects of more pairs are not sorted by insertion sort. */
#define MAX_INSERTION_SORT 16

/* Copies of up to this many bytes may write as many, for speed. */
#define OVERCOPY 16

/*
 * A pair of an object.  order has the key's length and its first bytes: where
 * two differ they compare as the keys do.
 */
typedef struct JsonPair
{
	uint64		order;
	const char *key;
	uint32		length;
	uint32		value;			/* the node; greater, later in the text */
} JsonPair;

#define ORDER_BYTES 6			/* of the key; 2 for its length */

typedef struct JsonbBuilder
{
	const char *text;
	const JsonNode *nodes;
	JsonPair   *pairs;			/* free ones */
	char	   *keys;			/* space for unescaped ones */
	bool		ascii;			/* escapes can express nothing else */
	char	   *start;			/* start of the value, with its varlena header */
	char	   *next;			/* where data continue */
} JsonbBuilder;

static bool build_container(JsonbBuilder *builder, uint32 index, JEntry *entry);

/* The bytes that a value may take: a JEntry, padding and its longest form. */
static inline Size
size_bound(uint32 nnodes, uint32 len)
{
	return VARHDRSZ + sizeof(uint32) + sizeof(JEntry) +
		(Size) nnodes * (sizeof(JEntry) + sizeof(uint32) - 1 + VARHDRSZ + sizeof(uint16) +
						 2 * sizeof(int16) + 1) + len + OVERCOPY;
}

/* ---- data of one child ---- */

static inline void
pad_to_int(JsonbBuilder *builder)
{
	while ((builder->next - builder->start) % sizeof(uint32) != 0)
		*builder->next++ = '\0';
}

static inline void
put_bytes(JsonbBuilder *builder, const char *s, uint32 len)
{
	if (likely(len <= OVERCOPY))
		memcpy(builder->next, s, OVERCOPY);
	else
		memcpy(builder->next, s, len);
	builder->next += len;
}

static inline bool
build_string(JsonbBuilder *builder, const JsonNode *node, JEntry *entry)
{
	const char *s = builder->text + node->start;
	size_t		len = node->length;

	if (likely(!node->escaped))
		put_bytes(builder, s, len);
	else
	{
		len = json_unescape(s, len, builder->ascii, builder->next);
		if (len == JSON_NO_TEXT)
			return false;
		builder->next += len;
	}
	*entry = JENTRY_ISSTRING | (JEntry) len;
	return true;
}

static inline bool
build_number(JsonbBuilder *builder, const JsonNode *node, JEntry *entry)
{
	char	   *start = builder->next;
	ValueNumeric number;
	Size		size;

	if (value_numeric(builder->text + node->start, node->length, &number) != VALUE_OK ||
		!numeric_fits_short(&number))
		return false;
	pad_to_int(builder);
	size = VARHDRSZ + numeric_short_size(&number);
	SET_VARSIZE(builder->next, size);
	numeric_put_short(&number, builder->next + VARHDRSZ);
	builder->next += size;
	*entry = JENTRY_ISNUMERIC | (JEntry) (builder->next - start);
	return true;
}

/* False: the value is left to the input function. */
static inline bool
build_value(JsonbBuilder *builder, uint32 index, JEntry *entry)
{
	const JsonNode *node = &builder->nodes[index];

	switch ((JsonKind) node->kind)
	{
		case JSON_NULL:
			*entry = JENTRY_ISNULL;
			return true;
		case JSON_FALSE:
			*entry = JENTRY_ISBOOL_FALSE;
			return true;
		case JSON_TRUE:
			*entry = JENTRY_ISBOOL_TRUE;
			return true;
		case JSON_NUMBER:
			return build_number(builder, node, entry);
		case JSON_STRING:
			return build_string(builder, node, entry);
		default:
			return build_container(builder, index, entry);
	}
}

/* ---- containers ---- */

/* The JEntries of a container that is being built. */
typedef struct Entries
{
	char	   *to;				/* where the next one goes */
	uint32		n;				/* how many there are */
	uint32		total;			/* the length of their data */
} Entries;

static inline Entries
begin_entries(JsonbBuilder *builder, uint32 header, uint32 n)
{
	Entries		entries = {0};

	pad_to_int(builder);
	memcpy(builder->next, &header, sizeof(header));
	entries.to = builder->next + sizeof(header);
	builder->next = entries.to + n * sizeof(JEntry);
	return entries;
}

static inline void
add_entry(Entries *entries, JEntry entry)
{
	Assert(!JBE_HAS_OFF(entry));
	entries->total += JBE_OFFLENFLD(entry);
	Assert(entries->total <= JENTRY_OFFLENMASK);
	if (entries->n % JB_OFFSET_STRIDE == 0)
		entry = (entry & JENTRY_TYPEMASK) | entries->total | JENTRY_HAS_OFF;
	memcpy(entries->to, &entry, sizeof(entry));
	entries->to += sizeof(entry);
	entries->n++;
}

/* The n elements that begin at a node; the array around a scalar has just that node. */
static bool
build_array(JsonbBuilder *builder, uint32 header, uint32 index, uint32 n)
{
	Entries		entries = begin_entries(builder, header | n, n);

	for (uint32 i = 0; i < n; i++)
	{
		JEntry		entry;

		if (!build_value(builder, index, &entry))
			return false;
		add_entry(&entries, entry);
		index = builder->nodes[index].next;
	}
	return true;
}

static inline uint64
key_order(const char *key, uint32 length)
{
	uint64		bytes;

	/* the length of a longer key may be another, and that comes before its bytes */
	if (unlikely(length >= PG_UINT16_MAX))
		return (uint64) PG_UINT16_MAX << 48;
	/* more bytes may be readable than the key has */
	memcpy(&bytes, key, sizeof(bytes));
	bytes = pg_ntoh64(bytes);
	if (length < sizeof(bytes))
		bytes &= length == 0 ? 0 : PG_UINT64_MAX << (64 - 8 * length);
	return (uint64) length << 48 | bytes >> 16;
}

static inline int
compare_keys(const JsonPair *a, const JsonPair *b)
{
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return a->length <= ORDER_BYTES ? 0 : memcmp(a->key, b->key, a->length);
}

/* For qsort, which is not stable. */
static int
compare_pairs(const void *a, const void *b)
{
	const JsonPair *p = a;
	const JsonPair *q = b;
	int			result = compare_keys(p, q);

	if (result != 0)
		return result;
	return p->value < q->value ? -1 : 1;
}

static void
sort_pairs(JsonPair *pairs, uint32 n)
{
	if (n > MAX_INSERTION_SORT)
	{
		qsort(pairs, n, sizeof(JsonPair), compare_pairs);
		return;
	}
	for (uint32 i = 1; i < n; i++)
	{
		JsonPair	pair = pairs[i];
		uint32		j = i;

		while (j > 0 && compare_keys(&pairs[j - 1], &pair) > 0)
		{
			pairs[j] = pairs[j - 1];
			j--;
		}
		pairs[j] = pair;
	}
}

/*
 * Of equal keys the last pair is kept.  The values of the others are built all
 * the same, as they may be invalid.  *n becomes how many pairs are kept.
 */
static bool
drop_repeated(JsonbBuilder *builder, JsonPair *pairs, uint32 *n)
{
	char	   *const next = builder->next;
	uint32		kept = 0;

	for (uint32 i = 0; i < *n; i++)
	{
		JEntry		entry;

		if (i + 1 == *n || compare_keys(&pairs[i], &pairs[i + 1]) != 0)
			pairs[kept++] = pairs[i];
		else if (!build_value(builder, pairs[i].value, &entry))
			return false;
		builder->next = next;
	}
	*n = kept;
	return true;
}

static bool
read_pairs(JsonbBuilder *builder, uint32 index, uint32 n, JsonPair *pairs)
{
	for (uint32 i = 0; i < n; i++)
	{
		const JsonNode *node = &builder->nodes[index];
		const char *key = builder->text + node->start;
		size_t		length = node->length;

		if (unlikely(node->escaped))
		{
			length = json_unescape(key, length, builder->ascii, builder->keys);
			if (length == JSON_NO_TEXT)
				return false;
			key = builder->keys;
			builder->keys += length;
		}
		pairs[i].order = key_order(key, length);
		pairs[i].key = key;
		pairs[i].length = length;
		pairs[i].value = index + 1;
		index = builder->nodes[index + 1].next;
	}
	return true;
}

/* The n pairs that begin at a node. */
static bool
build_object(JsonbBuilder *builder, uint32 index, uint32 n)
{
	JsonPair   *pairs = builder->pairs;
	Entries		entries;

	if (!read_pairs(builder, index, n, pairs))
		return false;
	builder->pairs += n;
	sort_pairs(pairs, n);
	if (!drop_repeated(builder, pairs, &n))
		return false;

	entries = begin_entries(builder, JB_FOBJECT | n, 2 * n);
	for (uint32 i = 0; i < n; i++)
	{
		put_bytes(builder, pairs[i].key, pairs[i].length);
		add_entry(&entries, JENTRY_ISSTRING | pairs[i].length);
	}
	for (uint32 i = 0; i < n; i++)
	{
		JEntry		entry;

		if (!build_value(builder, pairs[i].value, &entry))
			return false;
		add_entry(&entries, entry);
	}
	builder->pairs = pairs;
	return true;
}

/* A container within another, or the root's. */
static bool
build_container(JsonbBuilder *builder, uint32 index, JEntry *entry)
{
	const JsonNode *node = &builder->nodes[index];
	char	   *start = builder->next;

	if (!(node->kind == JSON_OBJECT ?
		  build_object(builder, index + 1, node->count) :
		  build_array(builder, JB_FARRAY, index + 1, node->count)))
		return false;
	*entry = JENTRY_ISCONTAINER | (JEntry) (builder->next - start);
	return true;
}

/* ---- values ---- */

/* Memory that is valid until the next document. */
static char *
reserve_space(Converter *conv, Size size)
{
	if (size > conv->json_space_size ||
		(conv->json_space_size > KEPT_SPACE && size <= KEPT_SPACE))
	{
		if (conv->json_space != NULL)
			pfree(conv->json_space);
		conv->json_space = NULL;
		conv->json_space_size = 0;
		size = pg_nextpower2_size_t(size);
		conv->json_space = MemoryContextAllocHuge(GetMemoryChunkContext(conv), size);
		conv->json_space_size = size;
	}
	return conv->json_space;
}

ValueResult
convert_jsonb(Converter *conv, const Column *column, const char *s, uint32 len,
			  Datum *out)
{
	const Size	nodes_size = JSON_MAX_NODES(len) * sizeof(JsonNode);
	/* a pair takes five bytes of text, for quotes, colon, value and comma */
	const Size	pairs_size = (len / 5 + 1) * sizeof(JsonPair);
	JsonbBuilder builder = {.text = s, .ascii = GetDatabaseEncoding() != PG_UTF8};
	JsonNode   *nodes;
	uint32		nnodes;
	Size		bound;
	JEntry		entry;
	bool		built;

	if (len > MAX_TEXT)
		return VALUE_ASK;
	nodes = (JsonNode *) reserve_space(conv, nodes_size + pairs_size + len + OVERCOPY);
	nnodes = json_scan(s, len, nodes);
	if (nnodes == 0)
		return VALUE_ASK;
	builder.nodes = nodes;
	builder.pairs = (JsonPair *) ((char *) nodes + nodes_size);
	builder.keys = (char *) builder.pairs + pairs_size;

	bound = size_bound(nnodes, len);
	if (bound > JENTRY_OFFLENMASK)
		return VALUE_ASK;
	builder.start = arena_alloc(&conv->arena, bound);
	builder.next = builder.start + VARHDRSZ;
	if (nodes->kind == JSON_ARRAY || nodes->kind == JSON_OBJECT)
		built = build_container(&builder, 0, &entry);
	else
		built = build_array(&builder, JB_FARRAY | JB_FSCALAR, 0, 1);
	Assert(builder.next - builder.start + OVERCOPY <= bound);
	arena_trim(&conv->arena, builder.start, builder.next - builder.start);
	if (!built)
		return VALUE_ASK;
	SET_VARSIZE(builder.start, builder.next - builder.start);
	*out = PointerGetDatum(builder.start);
	return VALUE_OK;
}

ValueResult
convert_json(Converter *conv, const Column *column, const char *s, uint32 len,
			 Datum *out)
{
	JsonNode   *nodes;
	char	   *data;

	if (len > MAX_TEXT)
		return VALUE_ASK;
	nodes = (JsonNode *) reserve_space(conv, JSON_MAX_NODES(len) * sizeof(JsonNode));
	if (json_scan(s, len, nodes) == 0)
		return VALUE_ASK;
	*out = convert_varlena(conv, column, len, &data);
	memcpy(data, s, len);
	return VALUE_OK;
}
