/*
 * orphan_search.c
 *		See orphan_search.h.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "check/key_bytes.h"
#include "check/key_set.h"
#include "check/orphan_search.h"
#include "check/visible_rows.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* Bytes for a key in a set, besides its own: its length, and its slots while the set grows. */
#define SET_OVERHEAD 64

/* Bits for each key at which a bitmap takes more memory than a set. */
#define BITS_PER_KEY 512

/* Keys that are looked up at a time, unless they have more bytes. */
#define BATCH_KEYS 256
#define BATCH_BYTES (1024 * 1024)

/* Blocks of the referenced table after which it is asked whether it is still wanted. */
#define WANTED_BLOCKS 128

struct OrphanSearch
{
	const OrphanKey *key;
	MemoryContext context;
	VisibleRows *rows;			/* of the table whose keys are searched */
	OrphanSearchWanted wanted;
	void	   *wanted_arg;
	Size		memory;
	bool		integer;		/* single values that are passed as such */
	MemoryContext row_context;	/* for detoasted values */

	/* the referenced keys: integers first, then a bitmap or a set */
	int64	   *integers;
	Size		nintegers;
	Size		capacity;
	int64		min;
	uint64		nbits;
	uint64	   *bits;			/* NULL: none */
	KeySet	   *set;

	/* a batch of keys */
	int			n;
	StringInfoData bytes;
	Size		ends[BATCH_KEYS];
	KeySetItem	items[BATCH_KEYS];
	bool		found[BATCH_KEYS];
};

static Form_pg_attribute
column(Relation rel, AttrNumber attnum)
{
	return TupleDescAttr(RelationGetDescr(rel), attnum - 1);
}

/* Whether keys are single values that are passed as such. */
static bool
is_integer_key(const OrphanKey *key)
{
	return key->natts == 1 && column(key->rel, key->atts[0])->attbyval &&
		column(key->referenced, key->referenced_atts[0])->attbyval;
}

double
orphan_search_bytes(const OrphanKey *key, double rows)
{
	double		bytes = 0;

	if (is_integer_key(key))
		return rows * sizeof(int64) * 2;
	for (int i = 0; i < key->natts; i++)
	{
		Form_pg_attribute att = column(key->referenced, key->referenced_atts[i]);

		int32		width = get_attavgwidth(RelationGetRelid(key->referenced), att->attnum);

		bytes += att->attlen > 0 ? att->attlen :
			width > 0 ? width : get_typavgwidth(att->atttypid, att->atttypmod);
	}
	return rows * (bytes + SET_OVERHEAD);
}

/* ---- keys of rows ---- */

static inline int64
integer_value(Form_pg_attribute att, Datum value)
{
	switch (att->attlen)
	{
		case 1:
			return DatumGetChar(value);
		case 2:
			return DatumGetInt16(value);
		case 4:
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

/* The value of a column that is passed by value; false: it is NULL. */
static inline bool
get_integer(Relation rel, AttrNumber attnum, HeapTuple tuple, int64 *integer)
{
	bool		isnull;
	Datum		value = heap_getattr(tuple, attnum, RelationGetDescr(rel), &isnull);

	if (!isnull)
		*integer = integer_value(column(rel, attnum), value);
	return !isnull;
}

/*
 * Appends the bytes of a row's key; with several columns, each value is preceded by its length.
 * Returns how many of its values are NULL: then there may be bytes too many.
 */
static int
append_key(OrphanSearch *search, Relation rel, const AttrNumber *atts, HeapTuple tuple)
{
	TupleDesc	desc = RelationGetDescr(rel);
	MemoryContext caller = MemoryContextSwitchTo(search->row_context);
	int			nnulls = 0;

	for (int i = 0; i < search->key->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, atts[i] - 1);
		bool		isnull;
		Datum		value = heap_getattr(tuple, atts[i], desc, &isnull);
		int64		integer;
		const char *bytes;
		Size		len;
		uint32		own;

		nnulls += isnull;
		if (isnull)
			continue;
		if (att->attbyval)
		{
			integer = integer_value(att, value);
			bytes = (const char *) &integer;
			len = sizeof(integer);
		}
		else
			bytes = key_value_bytes(att, &value, &len);
		own = len;
		if (search->key->natts > 1)
			appendBinaryStringInfo(&search->bytes, (char *) &own, sizeof(own));
		appendBinaryStringInfo(&search->bytes, bytes, len);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(search->row_context);
	return nnulls;
}

/* ---- the referenced keys ---- */

static bool
take_referenced_integer(HeapTuple tuple, void *arg)
{
	OrphanSearch *search = arg;
	int64		integer;

	if (!get_integer(search->key->referenced, search->key->referenced_atts[0], tuple, &integer))
		return true;
	if (search->nintegers == search->capacity)
	{
		search->capacity *= 2;
		if (search->capacity * sizeof(int64) > search->memory)
			return false;
		search->integers = repalloc_huge(search->integers, search->capacity * sizeof(int64));
	}
	search->integers[search->nintegers++] = integer;
	return true;
}

static bool
put_in_set(OrphanSearch *search, const char *bytes, Size len)
{
	uint32		hash;

	return key_set_has(search->set, bytes, len, false, &hash) ||
		key_set_add(search->set, bytes, len, hash);
}

static bool
take_referenced(HeapTuple tuple, void *arg)
{
	OrphanSearch *search = arg;
	const OrphanKey *key = search->key;
	bool		fits = true;

	resetStringInfo(&search->bytes);
	if (append_key(search, key->referenced, key->referenced_atts, tuple) == 0)
		fits = put_in_set(search, search->bytes.data, search->bytes.len);
	return fits;
}

/* Puts the integers into a bitmap; false where they lie too far apart. */
static bool
make_bitmap(OrphanSearch *search)
{
	int64		max = search->integers[0];
	Size		nwords;

	search->min = max;
	for (Size i = 1; i < search->nintegers; i++)
	{
		search->min = Min(search->min, search->integers[i]);
		max = Max(max, search->integers[i]);
	}
	/* no more than 64 bits, and one less than the number of bits */
	search->nbits = (uint64) max - (uint64) search->min;
	if (search->nbits / BITS_PER_KEY > search->nintegers ||
		search->nbits / BITS_PER_BYTE >= search->memory)
		return false;
	search->nbits++;
	nwords = (search->nbits + 63) / 64;
	search->bits = MemoryContextAllocExtended(CurrentMemoryContext, nwords * sizeof(uint64),
											  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (Size i = 0; i < search->nintegers; i++)
	{
		uint64		bit = (uint64) search->integers[i] - (uint64) search->min;

		search->bits[bit / 64] |= UINT64CONST(1) << (bit % 64);
	}
	return true;
}

/* Takes all rows of the referenced table, as far as the snapshot sees; false: it has not. */
static bool
read_rows(OrphanSearch *search, Snapshot snapshot, VisibleRowsCallback take)
{
	Relation	referenced = search->key->referenced;
	VisibleRows *rows = visible_rows_open(referenced, snapshot);
	BlockNumber nblocks = RelationGetNumberOfBlocks(referenced);
	bool		all = true;

	for (BlockNumber first = 0; all && first < nblocks; first += WANTED_BLOCKS)
		all = search->wanted(search->wanted_arg) &&
			visible_rows_scan(rows, first, Min(WANTED_BLOCKS, nblocks - first), take, search);
	visible_rows_close(rows);
	return all;
}

/* Reads the referenced table; false where its keys need more memory, or nobody wants them. */
static bool
read_referenced(OrphanSearch *search, Snapshot snapshot)
{
	bool		fits = true;

	if (!search->integer)
	{
		search->set = key_set_create(search->memory);
		return read_rows(search, snapshot, take_referenced);
	}
	search->capacity = BATCH_KEYS;
	search->integers = palloc(search->capacity * sizeof(int64));
	if (!read_rows(search, snapshot, take_referenced_integer))
		return false;
	if (search->nintegers == 0 || !make_bitmap(search))
	{
		search->set = key_set_create(search->memory);
		for (Size i = 0; fits && i < search->nintegers; i++)
			fits = put_in_set(search, (const char *) &search->integers[i], sizeof(int64));
	}
	pfree(search->integers);
	return fits;
}

OrphanSearch *
orphan_search_open(const OrphanKey *key, Snapshot snapshot, Size memory,
				   OrphanSearchWanted wanted, void *arg)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pgbulk orphans",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	OrphanSearch *search = palloc0(sizeof(OrphanSearch));
	bool		fits;

	search->context = context;
	search->key = key;
	search->wanted = wanted;
	search->wanted_arg = arg;
	/* integers are there twice while they are put in order */
	search->integer = is_integer_key(key);
	search->memory = memory / (search->integer ? 2 : 1);
	search->row_context = AllocSetContextCreate(context, "pgbulk orphans: values",
												ALLOCSET_SMALL_SIZES);
	initStringInfo(&search->bytes);
	fits = read_referenced(search, snapshot);
	resetStringInfo(&search->bytes);
	if (fits)
		search->rows = visible_rows_open(key->rel, snapshot);
	MemoryContextSwitchTo(caller);
	if (fits)
		return search;
	MemoryContextDelete(context);
	return NULL;
}

/* ---- the keys that refer to them ---- */

static bool
find_in_bitmap(HeapTuple tuple, void *arg)
{
	OrphanSearch *search = arg;
	int64		integer;
	uint64		bit;

	if (!get_integer(search->key->rel, search->key->atts[0], tuple, &integer))
		return true;
	bit = (uint64) integer - (uint64) search->min;
	return bit < search->nbits && (search->bits[bit / 64] >> (bit % 64) & 1) != 0;
}

/* Looks the keys of the batch up. */
static bool
find_batch(OrphanSearch *search)
{
	const char *bytes = search->bytes.data;
	Size		start = 0;
	bool		all = true;

	for (int i = 0; i < search->n; i++)
	{
		search->items[i].key = bytes + start;
		search->items[i].len = search->ends[i] - start;
		start = search->ends[i];
	}
	key_set_has_many(search->set, search->items, search->n, false, search->found);
	for (int i = 0; i < search->n; i++)
		all &= search->found[i];
	search->n = 0;
	resetStringInfo(&search->bytes);
	return all;
}

static bool
find_in_set(HeapTuple tuple, void *arg)
{
	OrphanSearch *search = arg;
	const OrphanKey *key = search->key;
	int			start = search->bytes.len;
	int			nnulls = append_key(search, key->rel, key->atts, tuple);

	if (nnulls > 0)
	{
		search->bytes.len = start;
		return !key->match_full || nnulls == key->natts;
	}
	search->ends[search->n++] = search->bytes.len;
	return (search->n < BATCH_KEYS && search->bytes.len < BATCH_BYTES) || find_batch(search);
}

bool
orphan_search_blocks(OrphanSearch *search, BlockNumber first, BlockNumber nblocks)
{
	if (search->bits != NULL)
		return visible_rows_scan(search->rows, first, nblocks, find_in_bitmap, search);
	return visible_rows_scan(search->rows, first, nblocks, find_in_set, search) &&
		find_batch(search);
}

void
orphan_search_close(OrphanSearch *search)
{
	visible_rows_close(search->rows);
	MemoryContextDelete(search->context);
}
