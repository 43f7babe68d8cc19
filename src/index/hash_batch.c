/*
 * hash_batch.c
 *		Entries of a hash index, inserted bucket by bucket; see batch.h.
 *
 * A bucket's number is the lowest bits of its keys' hash values, as many as there
 * are buckets for.  So these are sorted by their bits in reverse: then those of a
 * bucket come together, however many buckets there are by then.  Where the index
 * is larger than the cache, each of its pages is read once for a batch.
 *
 * Price: 32 bytes for each row that waits.
 */
#include "postgres.h"

#include "access/hash.h"
#include "access/itup.h"
#include "index/batch.h"
#include "index/failed_row.h"
#include "index/presort.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/wal_written.h"
#include "utils/fmgroids.h"

typedef struct HashBatch
{
	Batch		base;
	Size		budget;
	MemoryContext context;
	KeyShape   *shape;			/* of hash values */
	Presort    *presort;		/* NULL: nothing waits */
	IndexTuple	tuple;			/* of the current hash value, or NULL */
} HashBatch;

static uint32
reverse_bits(uint32 bits)
{
	bits = (bits >> 1 & 0x55555555) | (bits & 0x55555555) << 1;
	bits = (bits >> 2 & 0x33333333) | (bits & 0x33333333) << 2;
	bits = (bits >> 4 & 0x0f0f0f0f) | (bits & 0x0f0f0f0f) << 4;
	return pg_bswap32(bits);
}

static Batch *
hash_batch_open(Relation heap, Relation index, Size budget)
{
	HashBatch  *batch = palloc0(sizeof(HashBatch));

	batch->base = (Batch) {&hash_batch, heap, index};
	batch->budget = budget;
	batch->context = CurrentMemoryContext;
	batch->shape = shape_open_value(RelationGetDescr(index), F_BTOIDCMP, InvalidOid);
	return &batch->base;
}

static void
hash_batch_put(Batch *base, const ItemPointerData *tid, const Datum *values, const bool *isnull)
{
	HashBatch  *batch = (HashBatch *) base;
	Datum		hash[1];
	bool		null[1];

	if (!_hash_convert_tuple(base->index, unconstify(Datum *, values),
							 unconstify(bool *, isnull), hash, null))
		return;
	if (batch->presort == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(batch->context);

		batch->presort = presort_open(batch->shape, batch->budget,
									  (PresortOptions) {.stays = true});
		MemoryContextSwitchTo(old);
	}
	presort_put_integer(batch->presort, reverse_bits(DatumGetUInt32(hash[0])), 0,
						row_id(tid, true));
}

static Size
hash_batch_memory(const Batch *base)
{
	const HashBatch *batch = (const HashBatch *) base;

	return batch->presort == NULL ? 0 :
		presort_memory(batch->presort) + BATCH_PRESORT_OVERHEAD;
}

static void
take_key(void *arg, const char *image, Size size, bool equal)
{
	HashBatch  *batch = arg;
	MemoryContext old = MemoryContextSwitchTo(batch->context);
	Datum		values[1];
	bool		isnull[1];

	shape_values(batch->shape, image, values, isnull);
	values[0] = UInt32GetDatum(reverse_bits(DatumGetUInt32(values[0])));
	if (batch->tuple != NULL)
		pfree(batch->tuple);
	batch->tuple = index_form_tuple(RelationGetDescr(batch->base.index), values, isnull);
	MemoryContextSwitchTo(old);
}

static void
take_rows(void *arg, const RowId *rows, uint32 n)
{
	HashBatch  *batch = arg;
	FailedRowContext failing;

	failed_row_begin(&failing, batch->base.heap, &batch->tuple->t_tid);
	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		wal_written();
		row_tid(rows[i], &batch->tuple->t_tid);
		compat_hash_doinsert(batch->base.index, batch->tuple, batch->base.heap);
	}
	failed_row_end(&failing);
}

static void
hash_batch_insert(Batch *base)
{
	HashBatch  *batch = (HashBatch *) base;
	KeySink		sink = {.key = take_key,.rows = take_rows,.arg = batch};

	if (batch->presort == NULL)
		return;
	presort_finish(batch->presort, &sink);
	presort_close(batch->presort);
	batch->presort = NULL;
}

const BatchRoutine hash_batch = {
	.open = hash_batch_open,
	.put = hash_batch_put,
	.memory = hash_batch_memory,
	.insert = hash_batch_insert,
};
