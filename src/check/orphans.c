/*
 * orphans.c
 *		See orphans.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "check/key_bytes.h"
#include "check/key_set.h"
#include "check/orphans.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "parser/parse_coerce.h"
#include "server/compat.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/*
 * With more referenced rows, or pages, for each one of the table the server's query may look keys
 * up by the index, or read them from it.  Few take no time in either way.
 */
#define MAX_REFERENCED 4
#define FEW_ROWS 3000
#define FEW_PAGES 100

/* Bytes for a key in a set, besides its own: its length, and its slots while the set grows. */
#define SET_OVERHEAD 64

/* Bits for each key at which a bitmap takes more memory than a set. */
#define BITS_PER_KEY 512

/* Keys that are looked up at a time, unless they have more bytes. */
#define BATCH_KEYS 256
#define BATCH_BYTES (1024 * 1024)

typedef struct Search
{
	const OrphanKey *key;
	Snapshot	snapshot;
	Size		memory;
	bool		integer;		/* single keys that are passed by value */
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
} Search;

/* ---- which keys ---- */

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

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

/* Whether values of the two columns are equal where they have the same bytes, or the same value. */
static bool
is_same_kind(const OrphanKey *key, int i)
{
	Oid			type = getBaseType(column(key->rel, key->atts[i])->atttypid);
	Oid			referenced = getBaseType(column(key->referenced,
												key->referenced_atts[i])->atttypid);
	Oid			left;
	Oid			right;

	op_input_types(key->operators[i], &left, &right);
	return type == referenced || (is_integer(type) && is_integer(referenced)) ||
		(left == right && !IsPolymorphicType(left) && IsBinaryCoercible(type, left) &&
		 IsBinaryCoercible(referenced, left));
}

/* Whether keys that are equal have the same bytes, so that what is not found is an orphan. */
static bool
is_bytewise(const OrphanKey *key)
{
	Relation	index = index_open(key->index, AccessShareLock);
	bool		bytewise = index->rd_rel->relam == BTREE_AM_OID;

	/* bpchar's operator class says so, and yet blanks at the end don't count */
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		bytewise &= index->rd_opcintype[i] != BPCHAROID;
	bytewise = bytewise && _bt_allequalimage(index, false);
	index_close(index, NoLock);
	return bytewise;
}

/* Bytes that the set of the referenced keys may take. */
static double
set_bytes(const OrphanKey *key, double rows)
{
	double		bytes = 0;

	if (is_integer_key(key))
		return rows * sizeof(int64) * 2;
	for (int i = 0; i < key->natts; i++)
	{
		Form_pg_attribute att = column(key->referenced, key->referenced_atts[i]);

		bytes += att->attlen > 0 ? att->attlen : get_typavgwidth(att->atttypid, att->atttypmod);
	}
	return rows * (bytes + SET_OVERHEAD);
}

static bool
is_plain(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_RELATION &&
		rel->rd_tableam == GetHeapamTableAmRoutine();
}

const char *
orphans_obstacle(const OrphanKey *key)
{
	BlockNumber pages;
	BlockNumber referenced_pages;
	double		rows;
	double		referenced_rows;
	double		visible;

	if (!is_plain(key->rel) || !is_plain(key->referenced))
		return "A table is partitioned, or has another access method.";
	if (key->rel->rd_rel->relrowsecurity || key->referenced->rd_rel->relrowsecurity)
		return "A table has row-level security.";
	for (int i = 0; i < key->natts; i++)
		if (!is_same_kind(key, i))
			return "The columns have different types.";
	if (!is_bytewise(key))
		return "Keys may be equal without the same bytes.";
	estimate_rel_size(key->rel, NULL, &pages, &rows, &visible);
	estimate_rel_size(key->referenced, NULL, &referenced_pages, &referenced_rows, &visible);
	if (referenced_rows > rows * MAX_REFERENCED + FEW_ROWS ||
		referenced_pages > (double) pages * MAX_REFERENCED + FEW_PAGES)
		return "The referenced table is much larger.";
	if (set_bytes(key, referenced_rows) > maintenance_work_mem * 1024.0)
		return "The keys do not fit into maintenance_work_mem.";
	return NULL;
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
append_key(Search *search, Relation rel, const AttrNumber *atts, HeapTuple tuple)
{
	TupleDesc	desc = RelationGetDescr(rel);
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
	MemoryContextReset(search->row_context);
	return nnulls;
}

/* Calls for each row, in the context for detoasted values, until it returns false. */
static bool
scan_rows(Search *search, Relation rel, bool (*take) (Search *search, HeapTuple tuple))
{
	TableScanDesc scan = compat_table_beginscan(rel, search->snapshot);
	HeapTuple	tuple;
	bool		more = true;

	/* it checks for interrupts with each page */
	while (more && (tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(search->row_context);

		more = take(search, tuple);
		MemoryContextSwitchTo(caller);
	}
	table_endscan(scan);
	return more;
}

/* ---- the referenced keys ---- */

static bool
take_referenced_integer(Search *search, HeapTuple tuple)
{
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
put_in_set(Search *search, const char *bytes, Size len)
{
	uint32		hash;

	return key_set_has(search->set, bytes, len, false, &hash) ||
		key_set_add(search->set, bytes, len, hash);
}

static bool
take_referenced(Search *search, HeapTuple tuple)
{
	const OrphanKey *key = search->key;
	bool		fits = true;

	resetStringInfo(&search->bytes);
	if (append_key(search, key->referenced, key->referenced_atts, tuple) == 0)
		fits = put_in_set(search, search->bytes.data, search->bytes.len);
	return fits;
}

/* Puts the integers into a bitmap; false where they lie too far apart. */
static bool
make_bitmap(Search *search)
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

/* Reads the referenced table; false where its keys need more memory. */
static bool
read_referenced(Search *search)
{
	Relation	referenced = search->key->referenced;
	bool		fits = true;

	if (!search->integer)
	{
		search->set = key_set_create(search->memory);
		return scan_rows(search, referenced, take_referenced);
	}
	search->capacity = BATCH_KEYS;
	search->integers = palloc(search->capacity * sizeof(int64));
	if (!scan_rows(search, referenced, take_referenced_integer))
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

/* ---- the keys that refer to them ---- */

static bool
find_in_bitmap(Search *search, HeapTuple tuple)
{
	int64		integer;
	uint64		bit;

	if (!get_integer(search->key->rel, search->key->atts[0], tuple, &integer))
		return true;
	bit = (uint64) integer - (uint64) search->min;
	return bit < search->nbits && (search->bits[bit / 64] >> (bit % 64) & 1) != 0;
}

/* Looks the keys of the batch up. */
static bool
find_batch(Search *search)
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
find_in_set(Search *search, HeapTuple tuple)
{
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
orphans_none(const OrphanKey *key, Snapshot snapshot)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pgbulk orphans",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Search	   *search = palloc0(sizeof(Search));
	bool		none;

	search->key = key;
	search->snapshot = snapshot;
	/* integers are there twice while they are put in order */
	search->integer = is_integer_key(key);
	search->memory = (Size) maintenance_work_mem * 1024 / (search->integer ? 2 : 1);
	search->row_context = AllocSetContextCreate(context, "pgbulk orphans: values",
												ALLOCSET_SMALL_SIZES);
	initStringInfo(&search->bytes);
	none = read_referenced(search);
	search->n = 0;
	resetStringInfo(&search->bytes);
	if (none && search->bits != NULL)
		none = scan_rows(search, key->rel, find_in_bitmap);
	else if (none)
		none = scan_rows(search, key->rel, find_in_set) && find_batch(search);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return none;
}
