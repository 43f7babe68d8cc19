/*
 * ordered_batch.c
 *		Entries of GiST and SP-GiST indexes, inserted in an order that suits them; see
 *		batch.h.
 *
 * These have no order of their own that all keys are in, but some in which what
 * comes after one another is mostly near to one another, and so goes to the same page: the one
 * by which GiST sorts for a build, where the operator class has such, bytes for texts,
 * a Z-order of centers for points and boxes, that of a btree for ranges and networks.
 * Each entry goes in by the server's insertion.  Others are left to that row by row.
 *
 * 100,000 rows for a table of 800,000 take, with one index that is larger than shared
 * buffers, 0.55 to 0.65 of the CPU time, of ranges in GiST 0.95; with one that is cached 0.7 to 1.
 *
 * Price: a copy of each row's values.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/gist_private.h"
#include "access/htup_details.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "index/batch.h"
#include "index/failed_row.h"
#include "index/keysort.h"
#include "index/row_id.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/wal_written.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/geo_decls.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"

/* What entries are sorted by. */
typedef enum OrderKind
{
	ORDER_NONE,
	ORDER_GIST,					/* as the operator class sorts for a build */
	ORDER_CENTER,				/* of a point, box, polygon or circle */
	ORDER_COMPARED				/* by a function of btrees */
} OrderKind;

/* What an entry is sorted by. */
typedef union Place
{
	uint64		number;
	Datum		value;			/* to be compared */
} Place;

typedef struct OrderedEntry
{
	RowId		row;
	Place		place;
	bool		isnull;
	MinimalTuple values;
} OrderedEntry;

typedef struct OrderedBatch
{
	Batch		base;
	OrderKind	kind;
	IndexInfo  *info;
	TupleDesc	desc;			/* of values, which may have other types than the index's */
	GISTSTATE  *gist;			/* ORDER_GIST */
	SortSupportData ssup;		/* unless ORDER_CENTER */
	bool		numbers;		/* places are */
	bool		by_value;		/* else of this kind */
	int16		length;

	MemoryContext context;		/* of what waits */
	OrderedEntry *entries;		/* NULL: nothing waits */
	Size		n;
	Size		capacity;
} OrderedBatch;

/* ---- which order ---- */

/* The btree function that compares values of a type; InvalidOid: none is of use. */
static Oid
comparison_for(Relation index)
{
	switch (index->rd_opcintype[0])
	{
		case TEXTOID:
			/* a tree of prefixes; what others make of texts does not go by their beginnings */
			return index->rd_rel->relam == SPGIST_AM_OID ? F_BTTEXTCMP : InvalidOid;
		case INETOID:
			return F_NETWORK_CMP;
		case ANYRANGEOID:
			return F_RANGE_CMP;
		default:
			return InvalidOid;
	}
}

static bool
sorts_for_build(Relation index)
{
	return index->rd_rel->relam == GIST_AM_OID &&
		OidIsValid(index_getprocid(index, 1, GIST_SORTSUPPORT_PROC));
}

static OrderKind
order_kind(Relation index)
{
	if (sorts_for_build(index))
		return ORDER_GIST;
	switch (index->rd_opcintype[0])
	{
		case POINTOID:
		case BOXOID:
		case POLYGONOID:
		case CIRCLEOID:
			return ORDER_CENTER;
		default:
			return OidIsValid(comparison_for(index)) ? ORDER_COMPARED : ORDER_NONE;
	}
}

bool
ordered_batch_serves(Relation index)
{
	return order_kind(index) != ORDER_NONE;
}

/* ---- the place of a value ---- */

/* Bits that come in the order of the numbers. */
static uint32
order_float(float8 value)
{
	float		rounded = (float) value;
	uint32		bits;

	memcpy(&bits, &rounded, sizeof(bits));
	return (bits & 0x80000000) != 0 ? ~bits : bits | 0x80000000;
}

/* Every second bit. */
static uint64
spread(uint32 bits)
{
	uint64		x = bits;

	x = (x | x << 16) & UINT64CONST(0x0000ffff0000ffff);
	x = (x | x << 8) & UINT64CONST(0x00ff00ff00ff00ff);
	x = (x | x << 4) & UINT64CONST(0x0f0f0f0f0f0f0f0f);
	x = (x | x << 2) & UINT64CONST(0x3333333333333333);
	return (x | x << 1) & UINT64CONST(0x5555555555555555);
}

static void
find_center(Oid type, Datum value, float8 *x, float8 *y)
{
	const BOX  *box;

	switch (type)
	{
		case POINTOID:
			*x = DatumGetPointP(value)->x;
			*y = DatumGetPointP(value)->y;
			return;
		case CIRCLEOID:
			*x = DatumGetCircleP(value)->center.x;
			*y = DatumGetCircleP(value)->center.y;
			return;
		case POLYGONOID:
			box = &DatumGetPolygonP(value)->boundbox;
			break;
		default:
			box = DatumGetBoxP(value);
	}
	*x = box->low.x / 2 + box->high.x / 2;
	*y = box->low.y / 2 + box->high.y / 2;
}

/* A value may point to the row. */
static Place
find_place(OrderedBatch *batch, const Datum *values, const bool *isnull)
{
	Relation	index = batch->base.index;
	Datum		keys[INDEX_MAX_KEYS];
	float8		x;
	float8		y;

	switch (batch->kind)
	{
		case ORDER_GIST:
			gistCompressValues(batch->gist, index, unconstify(Datum *, values),
							   unconstify(bool *, isnull), true, keys);
			if (batch->numbers)
				return (Place) {.number = batch->ssup.abbrev_converter(keys[0], &batch->ssup)};
			return (Place) {.value = keys[0]};
		case ORDER_CENTER:
			find_center(index->rd_opcintype[0], values[0], &x, &y);
			return (Place) {.number = spread(order_float(x)) | spread(order_float(y)) << 1};
		default:
			return (Place) {.value = values[0]};
	}
}

/* ---- collecting ---- */

/* What the table has for the index's columns. */
static TupleDesc
describe_values(Relation index)
{
	TupleDesc	desc = CreateTupleDescCopy(RelationGetDescr(index));

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		att->atttypid = index->rd_opcintype[i];
		get_typlenbyvalalign(att->atttypid, &att->attlen, &att->attbyval, &att->attalign);
		att->attstorage = TYPSTORAGE_PLAIN;
	}
	for (int i = 0; i < desc->natts; i++)
		compat_attribute_changed(desc, i);
	compat_finalize_desc(desc);
	return desc;
}

static void
prepare_order(OrderedBatch *batch)
{
	Relation	index = batch->base.index;
	SortSupport ssup = &batch->ssup;
	Form_pg_attribute att = TupleDescAttr(batch->kind == ORDER_GIST ? RelationGetDescr(index) :
										  batch->desc, 0);

	batch->by_value = att->attbyval;
	batch->length = att->attlen;
	batch->numbers = batch->kind == ORDER_CENTER;
	ssup->ssup_cxt = CurrentMemoryContext;
	ssup->ssup_attno = 1;
	if (batch->kind == ORDER_GIST)
	{
		batch->gist = initGISTstate(index);
		ssup->ssup_collation = index->rd_indcollation[0];
		ssup->abbreviate = sizeof(Datum) == sizeof(uint64);
		PrepareSortSupportFromGistIndexRel(index, ssup);
		batch->numbers = ssup->abbrev_converter != NULL;
	}
	else if (batch->kind == ORDER_COMPARED)
	{
		ssup->ssup_collation = C_COLLATION_OID;
		PrepareSortSupportComparisonShim(comparison_for(index), ssup);
	}
}

static Batch *
ordered_batch_open(Relation heap, Relation index, Size budget)
{
	OrderedBatch *batch = palloc0(sizeof(OrderedBatch));

	batch->base = (Batch) {&ordered_batch, heap, index};
	batch->kind = order_kind(index);
	batch->info = BuildIndexInfo(index);
	batch->desc = describe_values(index);
	batch->context = AllocSetContextCreate(CurrentMemoryContext, "entries in order",
										   ALLOCSET_DEFAULT_SIZES);
	prepare_order(batch);
	return &batch->base;
}

static OrderedEntry *
add_entry(OrderedBatch *batch)
{
	if (batch->n == batch->capacity)
	{
		batch->capacity = Max(2 * batch->capacity, 256);
		batch->entries = batch->entries == NULL ?
			MemoryContextAlloc(batch->context, batch->capacity * sizeof(OrderedEntry)) :
			repalloc_huge(batch->entries, batch->capacity * sizeof(OrderedEntry));
	}
	return &batch->entries[batch->n++];
}

static void
ordered_batch_put(Batch *base, const ItemPointerData *tid, const Datum *values,
				  const bool *isnull)
{
	OrderedBatch *batch = (OrderedBatch *) base;
	Datum		fetched[INDEX_MAX_KEYS];
	Place		place = {0};
	OrderedEntry *entry;
	MemoryContext old;

	for (int i = 0; i < batch->desc->natts; i++)
	{
		fetched[i] = values[i];
		if (!isnull[i] && TupleDescAttr(batch->desc, i)->attlen == -1)
			fetched[i] = PointerGetDatum(PG_DETOAST_DATUM_PACKED(values[i]));
	}
	if (!isnull[0])
		place = find_place(batch, fetched, isnull);
	entry = add_entry(batch);
	old = MemoryContextSwitchTo(batch->context);
	entry->row = row_id(tid, true);
	entry->isnull = isnull[0];
	entry->place = place;
	if (!isnull[0] && !batch->numbers)
		entry->place.value = datumCopy(place.value, batch->by_value, batch->length);
	entry->values = compat_form_minimal_tuple(batch->desc, fetched, unconstify(bool *, isnull));
	MemoryContextSwitchTo(old);
}

static Size
ordered_batch_memory(const Batch *base)
{
	const OrderedBatch *batch = (const OrderedBatch *) base;

	/* and the sort's */
	return batch->n == 0 ? 0 :
		MemoryContextMemAllocated(batch->context, false) + batch->n * 2 * sizeof(SortItem);
}

/* ---- inserting ---- */

static int
compare_entries(const void *a, const void *b, void *arg)
{
	OrderedBatch *batch = arg;
	const OrderedEntry *entry_a = *(OrderedEntry *const *) a;
	const OrderedEntry *entry_b = *(OrderedEntry *const *) b;
	int			order = ApplySortComparator(entry_a->place.value, entry_a->isnull,
											entry_b->place.value, entry_b->isnull, &batch->ssup);

	return order != 0 ? order : entry_a->row < entry_b->row ? -1 : entry_a->row > entry_b->row;
}

static void
poll(void)
{
	CHECK_FOR_INTERRUPTS();
}

/* Memory: the current context. */
static OrderedEntry **
sort_entries(OrderedBatch *batch)
{
	OrderedEntry **sorted = MemoryContextAllocHuge(CurrentMemoryContext,
												   batch->n * sizeof(OrderedEntry *));
	SortItem   *items;

	if (!batch->numbers)
	{
		for (Size i = 0; i < batch->n; i++)
			sorted[i] = &batch->entries[i];
		qsort_arg(sorted, batch->n, sizeof(OrderedEntry *), compare_entries, batch);
		return sorted;
	}
	items = MemoryContextAllocHuge(CurrentMemoryContext, 2 * batch->n * sizeof(SortItem));
	for (Size i = 0; i < batch->n; i++)
		items[i] = (SortItem) {.key = batch->entries[i].place.number,.value = i};
	keysort_integers(items, items + batch->n, batch->n, poll);
	for (Size i = 0; i < batch->n; i++)
		sorted[i] = &batch->entries[items[i].value];
	pfree(items);
	return sorted;
}

static void
insert_entry(OrderedBatch *batch, const OrderedEntry *entry)
{
	Relation	heap = batch->base.heap;
	HeapTupleData row = {
		.t_data = (HeapTupleHeader) ((char *) entry->values - MINIMAL_TUPLE_OFFSET),
		.t_len = entry->values->t_len + MINIMAL_TUPLE_OFFSET
	};
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	ItemPointerData tid;
	FailedRowContext failing;

	heap_deform_tuple(&row, batch->desc, values, isnull);
	row_tid(entry->row, &tid);
	failed_row_begin(&failing, heap, &tid);
	(void) index_insert(batch->base.index, values, isnull, &tid, heap, UNIQUE_CHECK_NO, false,
						batch->info);
	failed_row_end(&failing);
}

static void
ordered_batch_insert(Batch *base)
{
	OrderedBatch *batch = (OrderedBatch *) base;
	MemoryContext old;
	MemoryContext scratch;
	OrderedEntry **sorted;

	if (batch->n == 0)
		return;
	old = MemoryContextSwitchTo(batch->context);
	scratch = AllocSetContextCreate(batch->context, "index entry", ALLOCSET_DEFAULT_SIZES);
	sorted = sort_entries(batch);
	MemoryContextSwitchTo(scratch);
	for (Size i = 0; i < batch->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		wal_written();
		insert_entry(batch, sorted[i]);
		MemoryContextReset(scratch);
	}
	compat_index_insert_cleanup(base->index, batch->info);
	MemoryContextSwitchTo(old);
	batch->entries = NULL;
	batch->n = batch->capacity = 0;
	MemoryContextReset(batch->context);
}

const BatchRoutine ordered_batch = {
	.open = ordered_batch_open,
	.put = ordered_batch_put,
	.memory = ordered_batch_memory,
	.insert = ordered_batch_insert,
};
