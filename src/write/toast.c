/*
 * toast.c
 *		See toast.h.
 *
 * toast_shrink does the work of heap_toast_insert_or_update (heaptoast.c) for a row that has no
 * older version, move_out that of toast_save_datum (toast_internals.c) with private pages in place
 * of heap_insert.  A wide value becomes
 *
 *		in the row		+-------------------------------------------------+
 *						| tag | va_rawsize | va_extinfo | id | TOAST table |   varatt_external,
 *						+-----------------------------------|-------------+   not aligned
 *						                                    |
 *		TOAST table		+-------------------------------+   |
 *						| header | id | 0 | 1996 bytes  | <-+   one tuple for each chunk,
 *						| header | id | 1 | 1996 bytes  |       without nulls (struct Chunk)
 *						| header | id | 2 | the rest    |
 *						+-------------------------------+
 *		its index		(id, 0) (id, 1) (id, 2)
 *
 * va_rawsize is the size uncompressed with a header of 4 bytes, va_extinfo the size stored and the
 * method of compression.  Of a compressed value all after its first header is
 * stored: the size uncompressed and the compressed bytes.
 *
 * Chunks go into private pages (pages.h); a value's last one, which is mostly short, into a page
 * that has space for no whole chunk (free_space has how much of each).  Index entries are kept
 * (ChunkEntry) until toast_flush knows the blocks:
 *
 *		1. pages_place           the TOAST table is extended, pages are written and logged
 *		2. index_insert          for each chunk, in the order of the index's key
 *		   (the caller)          the rows that refer to them
 *
 * A crash or an error after 1 or 2 leaves chunks of a failed transaction, which VACUUM of the TOAST
 * table removes, with their entries.  Chunks whose transaction commits without a row that refers
 * to them would remain forever: hence toast_hold, toast_discard.
 *
 * Invariants:
 *	- ids: no tuple of the TOAST table, dead or alive, has a new value's id;
 *	- a value's chunks are numbered from 0 without gaps, and all but the last one are of the same
 *	  size, TOAST_MAX_CHUNK_SIZE, on which reading a slice of it relies;
 *	- the row's pointer, the sizes of its chunks and their number agree;
 *	- every chunk in the batch has its index entry in entries, and no other one is there.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/toast_compression.h"
#include "access/toast_helper.h"
#include "access/toast_internals.h"
#include "access/transam.h"
#include "catalog/catalog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "server/compat.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "write/pglz.h"
#include "write/toast.h"

/* Pages of chunks in memory at which their rows are placed. */
#define HELD_PAGES 1024

/*
 * The same as a number of chunks, for a decoded table.  Logical decoding treats
 * a row with all chunks before it as one piece.  A piece of more than 4096
 * changes that has been spilled to disk is streamed in several runs, and at the
 * end, at least up to PostgreSQL 18, the information is lost that anything of
 * the subtransaction was streamed: the subscriber does not learn of its
 * rollback.
 */
#define DECODED_CHUNKS 1000

/* The number of pages, before the last one, that are searched for space. */
#define GAP_PAGES 64

/* First block of the memory context for a row: more than most rows need. */
#define ROW_CONTEXT_SIZE (64 * 1024)

/* Chunks may use this part of the buffers that a batch of rows may use. */
#define RING_PART 4

/* The columns of a TOAST table, as they follow a tuple's header, without padding. */
typedef struct Chunk
{
	Oid			id;
	int32		seq;
	int32		length;			/* a varlena's */
	char		data[TOAST_MAX_CHUNK_SIZE];
} Chunk;

#define CHUNK_SIZE(bytes) (offsetof(Chunk, data) + (bytes))

/* An index entry to be made later. */
typedef struct ChunkEntry
{
	Oid			id;
	int32		seq;
	uint32		page;			/* in the batch */
	OffsetNumber offset;
} ChunkEntry;

struct Toaster
{
	Relation	rel;
	PageStamp	stamp;
	bool		decoded;
	bool		hold;			/* chunks are placed by toast_flush only */
	int			shares;			/* of the ring of buffers (pages_share_ring) */
	MemoryContext context;

	PglzHistory *history;		/* NULL: nothing was compressed yet */

	/* one row's work */
	MemoryContext row_context;
	ToastTupleContext row;
	Size		header_size;

	/* the TOAST table: open once a value is moved */
	Relation	table;
	Oid			index;			/* that was valid then */
	Oid			greatest_id;	/* of all in the table, other workers' new ones excepted */
	char	   *tuple;			/* a chunk's tuple: its header, */
	Chunk	   *chunk;			/* and its columns */
	Size		chunk_hoff;

	/* not yet placed */
	PageBatch  *batch;			/* NULL: none yet */
	PageBatch  *borrowed;	/* the caller's (toast_borrow); NULL: one of our own is made */
	PageTail   *tail;			/* the caller's */
	uint16	   *free_space;			/* of each of the batch's pages */
	ChunkEntry *entries;		/* in key order, unless the counter of OIDs has wrapped around */
	int64		nentries;
	int64		max_entries;
};

/*
 * While a system index is open the server doesn't read its row of pg_index again
 * (RelationReloadIndexInfo), and indexes of TOAST tables are among these.  So
 * their relcache entries may be out of date since a REINDEX CONCURRENTLY, and
 * remain so: the new index does not appear as valid, or as ready to get
 * entries.
 */
void
toast_forget_indexes(Relation rel)
{
	Relation	table;
	ListCell   *lc;

	if (!OidIsValid(rel->rd_rel->reltoastrelid))
		return;
	table = table_open(rel->rd_rel->reltoastrelid, RowExclusiveLock);
	foreach(lc, RelationGetIndexList(table))
		RelationCacheInvalidateEntry(lfirst_oid(lc));
	table_close(table, NoLock);
}

Toaster *
toast_open(Relation rel, PageStamp stamp)
{
	Toaster    *toaster = palloc0(sizeof(Toaster));
	int			natts = RelationGetNumberOfAttributes(rel);

	toaster->rel = rel;
	toaster->stamp = stamp;
	toaster->decoded = toaster->hold = RelationIsLogicallyLogged(rel);
	toaster->shares = RING_PART;
	toaster->context = CurrentMemoryContext;
	toaster->row_context = AllocSetContextCreate(CurrentMemoryContext,
												 "bulk_load wide row",
												 0, ROW_CONTEXT_SIZE,
												 ALLOCSET_DEFAULT_MAXSIZE);
	toaster->row.ttc_rel = rel;
	toaster->row.ttc_values = palloc(natts * sizeof(Datum));
	toaster->row.ttc_isnull = palloc(natts * sizeof(bool));
	toaster->row.ttc_attr = palloc(natts * sizeof(ToastAttrInfo));
	return toaster;
}

void
toast_borrow(Toaster *toaster, PageBatch *batch, PageTail *tail)
{
	toaster->borrowed = batch;
	toaster->tail = tail;
}

/*
 * The greatest id of any tuple in a TOAST table, dead or alive (SnapshotAny): an index scan from
 * the end.  InvalidOid: there is none.
 */
static Oid
find_greatest_id(Relation table, Relation index)
{
	SysScanDesc scan = systable_beginscan_ordered(table, index, SnapshotAny,
												  0, NULL);
	HeapTuple	tuple = systable_getnext_ordered(scan, BackwardScanDirection);
	Oid			id = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;

		id = DatumGetObjectId(fastgetattr(tuple, 1, RelationGetDescr(table),
										  &isnull));
	}
	systable_endscan_ordered(scan);
	return id;
}

/*
 * The tuple of a chunk, without its columns: only these change from chunk to
 * chunk, and all are at fixed offsets.
 */
static void
prepare_chunk(Toaster *toaster)
{
	Chunk		empty = {0};
	Datum		values[3] = {0, 0, PointerGetDatum(&empty.length)};
	bool		nulls[3] = {false, false, false};
	HeapTuple	model;

	SET_VARSIZE(&empty.length, VARHDRSZ);
	model = heap_form_tuple(RelationGetDescr(toaster->table), values, nulls);
	toaster->chunk_hoff = model->t_data->t_hoff;
	if (model->t_len != toaster->chunk_hoff + CHUNK_SIZE(0))
		elog(ERROR, "unexpected columns of TOAST table %u",
			 RelationGetRelid(toaster->table));
	Assert(!HeapTupleHasNulls(model) && !HeapTupleHasExternal(model));
	pages_stamp(&toaster->stamp, model->t_data);

	toaster->tuple = palloc0(MAXALIGN(toaster->chunk_hoff + sizeof(Chunk)));
	memcpy(toaster->tuple, model->t_data, model->t_len);
	toaster->chunk = (Chunk *) (toaster->tuple + toaster->chunk_hoff);
	heap_freetuple(model);
}

/* Indexes are open only while they are used (toast_forget_indexes says why); their locks stay. */
static void
open_table(Toaster *toaster)
{
	MemoryContext old = MemoryContextSwitchTo(toaster->context);
	Relation   *indexes;
	int			nindexes;
	int			valid;

	Assert(toaster->table == NULL && OidIsValid(toaster->rel->rd_rel->reltoastrelid));
	/* only a rewrite of the table has its values keep their ids (toast_save_datum) */
	Assert(!OidIsValid(toaster->rel->rd_toastoid));
	toaster->table = table_open(toaster->rel->rd_rel->reltoastrelid,
								RowExclusiveLock);
	valid = toast_open_indexes(toaster->table, RowExclusiveLock, &indexes, &nindexes);
	toaster->index = RelationGetRelid(indexes[valid]);
	toaster->greatest_id = find_greatest_id(toaster->table, indexes[valid]);
	toast_close_indexes(indexes, nindexes, NoLock);
	prepare_chunk(toaster);
	toaster->max_entries = 4 * PAGES_BATCH;
	toaster->entries = palloc(toaster->max_entries * sizeof(ChunkEntry));
	MemoryContextSwitchTo(old);
}

void
toast_hold(Toaster *toaster, bool hold, int processes)
{
	toaster->hold = hold || toaster->decoded;
	toaster->shares = processes * RING_PART;
	if (toaster->batch != NULL && toaster->batch != toaster->borrowed)
		pages_share_ring(toaster->batch, toaster->shares);

	/*
	 * A worker's locks end with it.  Until the transaction ends the leader must have them, or
	 * REINDEX CONCURRENTLY would not wait for the worker's rows.
	 */
	if (hold && !IsParallelWorker() && toaster->table == NULL &&
		OidIsValid(toaster->rel->rd_rel->reltoastrelid))
		open_table(toaster);
}

/*
 * An id that no tuple of the TOAST table has.  While it is greater than all of
 * them, it need not be looked up in the index, as GetNewOidWithIndex does each
 * time: until the OID counter wraps around.  Other workers' ids come from the
 * same counter, so they are different, and the unique index would reject an
 * equal one.
 */
static Oid
new_id(Toaster *toaster)
{
	Oid			id = GetNewObjectId();

	if (unlikely(id <= toaster->greatest_id))
		id = GetNewOidWithIndex(toaster->table, toaster->index, 1);
	Assert(OidIsValid(id));
	toaster->greatest_id = Max(toaster->greatest_id, id);
	return id;
}

/* The caller's batch, after the table's tail, or one of our own. */
static void
open_batch(Toaster *toaster)
{
	MemoryContext old = MemoryContextSwitchTo(toaster->context);

	toaster->batch = toaster->borrowed;
	if (toaster->borrowed != NULL)
		pages_turn(toaster->borrowed, toaster->table, toaster->tail);
	else
	{
		toaster->batch = pages_open(toaster->table, toaster->stamp, PAGES_BATCH);
		pages_share_ring(toaster->batch, toaster->shares);
	}
	toaster->free_space = palloc(toaster->batch->capacity * sizeof(uint16));
	MemoryContextSwitchTo(old);
}

/* Makes space for one more chunk where the batch is full, or there is none. */
static void
make_space(Toaster *toaster)
{
	if (toaster->batch == NULL)
		open_batch(toaster);
	else if (toaster->hold)
	{
		pages_grow(toaster->batch);
		toaster->free_space = repalloc_huge(toaster->free_space,
									  toaster->batch->capacity * sizeof(uint16));
	}
	else
		toast_flush(toaster);
}

/* The page, not the last, with the least free space that is enough; -1: none. */
static int
find_space(const Toaster *toaster, Size needed)
{
	int			last = pages_last_page(toaster->batch);
	int			best = -1;

	for (int i = Max(0, last - GAP_PAGES); i < last; i++)
		if (toaster->free_space[i] >= needed &&
			(best < 0 || toaster->free_space[i] < toaster->free_space[best]))
			best = i;
	return best;
}

/*
 * Puts a value's last chunk on a page that has space for it, but not for a whole chunk.  Without
 * that a TOAST table would be larger than COPY's, which uses the free space
 * map.  False: there is no such page, or the table is decoded: logical decoding
 * needs the chunks in order.
 */
static bool
fill_gap(Toaster *toaster, Size len, ChunkEntry *entry)
{
	Size		needed = MAXALIGN(len) + sizeof(ItemIdData);
	int			page;

	if (toaster->batch == NULL || toaster->decoded)
		return false;
	page = find_space(toaster, needed);
	if (page < 0)
		return false;
	entry->offset = pages_add_before(toaster->batch, page, toaster->tuple, len);
	entry->page = page;
	Assert(toaster->free_space[page] >= needed);
	toaster->free_space[page] -= needed;
	return true;
}

/* Puts a chunk after all others.  Each changes the last page's free space. */
static void
append_chunk(Toaster *toaster, Size len, ChunkEntry *entry)
{
	PageBatch  *batch;

	while (toaster->batch == NULL ||
		   !pages_add(toaster->batch, toaster->tuple, len))
		make_space(toaster);
	batch = toaster->batch;
	entry->page = pages_last_page(batch);
	entry->offset = pages_last_offset(batch);
	Assert(entry->page < batch->capacity && OffsetNumberIsValid(entry->offset));
	toaster->free_space[entry->page] = batch->upper - batch->lower;
}

/* Space for the next entry. */
static ChunkEntry *
next_entry(Toaster *toaster)
{
	if (toaster->nentries == toaster->max_entries)
	{
		toaster->max_entries *= 2;
		toaster->entries = repalloc_huge(toaster->entries,
										 toaster->max_entries * sizeof(ChunkEntry));
	}
	return &toaster->entries[toaster->nentries];
}

/* Puts toaster->chunk, with that number of bytes of data. */
static void
put_chunk(Toaster *toaster, int32 bytes)
{
	Size		len = toaster->chunk_hoff + CHUNK_SIZE(bytes);
	ChunkEntry	entry = {.id = toaster->chunk->id,.seq = toaster->chunk->seq};

	Assert(bytes > 0 && bytes <= TOAST_MAX_CHUNK_SIZE);
	/* TOAST tables have no TOAST tables: a chunk must fit unchanged */
	Assert(len <= MaxHeapTupleSize);
	/* a value's chunks are consecutive, unless those before have been flushed */
	Assert(entry.seq == 0 || toaster->nentries == 0 ||
		   (toaster->entries[toaster->nentries - 1].id == entry.id &&
			toaster->entries[toaster->nentries - 1].seq == entry.seq - 1));
	SET_VARSIZE(&toaster->chunk->length, bytes + VARHDRSZ);
	memset(toaster->tuple + len, 0, MAXALIGN(len) - len);
	if (bytes == TOAST_MAX_CHUNK_SIZE || !fill_gap(toaster, len, &entry))
		append_chunk(toaster, len, &entry);
	*next_entry(toaster) = entry;
	toaster->nentries++;
}

/*
 * Puts a value into the TOAST table (toast_save_datum).  Returns the TOAST pointer that takes its
 * place in the row.
 */
static Datum
move_out(Toaster *toaster, struct varlena *value)
{
	struct varatt_external pointer;
	struct varlena *result;
	const char *data;
	int32		size;

	/* toast_tuple_init has fetched what was out of line */
	Assert(!VARATT_IS_EXTERNAL(value));
	if (toaster->table == NULL)
		open_table(toaster);

	data = VARDATA_ANY(value);
	size = VARSIZE_ANY_EXHDR(value);
	if (VARATT_IS_COMPRESSED(value))
	{
		pointer.va_rawsize = VARDATA_COMPRESSED_GET_EXTSIZE(value) + VARHDRSZ;
		VARATT_EXTERNAL_SET_SIZE_AND_COMPRESS_METHOD(pointer, size,
													 VARDATA_COMPRESSED_GET_COMPRESS_METHOD(value));
		/* readers detect compression by these sizes alone */
		Assert(VARATT_EXTERNAL_IS_COMPRESSED(pointer));
	}
	else
	{
		pointer.va_rawsize = size + VARHDRSZ;
		pointer.va_extinfo = size;
		Assert(!VARATT_EXTERNAL_IS_COMPRESSED(pointer));
	}
	Assert(size > 0);
	pointer.va_valueid = new_id(toaster);
	pointer.va_toastrelid = RelationGetRelid(toaster->table);

	toaster->chunk->id = pointer.va_valueid;
	toaster->chunk->seq = 0;
	while (size > 0)
	{
		int32		part = Min(size, TOAST_MAX_CHUNK_SIZE);

		CHECK_FOR_INTERRUPTS();
		memcpy(toaster->chunk->data, data, part);
		put_chunk(toaster, part);
		toaster->chunk->seq++;
		data += part;
		size -= part;
	}
	Assert(data == (char *) value + VARSIZE_ANY(value));
	Assert(toaster->chunk->seq == (VARATT_EXTERNAL_GET_EXTSIZE(pointer) - 1) /
		   TOAST_MAX_CHUNK_SIZE + 1);

	result = palloc(TOAST_POINTER_SIZE);
	SET_VARTAG_EXTERNAL(result, VARTAG_ONDISK);
	memcpy(VARDATA_EXTERNAL(result), &pointer, sizeof(pointer));
	return PointerGetDatum(result);
}

/* Whether the row's values are still too large. */
static bool
row_exceeds(Toaster *toaster, Size target)
{
	return heap_compute_data_size(RelationGetDescr(toaster->rel),
								  toaster->row.ttc_values,
								  toaster->row.ttc_isnull) > target;
}

/* Moves a row's value out of line (toast_tuple_externalize). */
static void
move_attribute(Toaster *toaster, int i)
{
	ToastTupleContext *row = &toaster->row;

	Assert(!row->ttc_isnull[i]);
	Assert((row->ttc_attr[i].tai_colflags & TOASTCOL_IGNORE) == 0);
	row->ttc_values[i] = move_out(toaster,
								  (struct varlena *) DatumGetPointer(row->ttc_values[i]));
	row->ttc_attr[i].tai_colflags |= TOASTCOL_IGNORE;
	row->ttc_flags |= TOAST_NEEDS_CHANGE;
}

/*
 * What toast_compress_datum returns for pglz: a compressed varlena, or NULL
 * where it would not be smaller by more than 2 bytes, which alignment might
 * undo.
 */
static Datum
compress_by_pglz(Toaster *toaster, Datum value)
{
	const char *source = VARDATA_ANY(DatumGetPointer(value));
	int32		length = VARSIZE_ANY_EXHDR(DatumGetPointer(value));
	struct varlena *result = palloc(VARHDRSZ_COMPRESSED + PGLZ_BOUND(length));
	int32		size;

	if (toaster->history == NULL)
		toaster->history = MemoryContextAllocZero(toaster->context,
												  sizeof(PglzHistory));
	size = pglz_compact(toaster->history, source, length,
						(char *) result + VARHDRSZ_COMPRESSED);
	if (size < 0 || VARHDRSZ_COMPRESSED + size >= length - 2)
	{
		pfree(result);
		return PointerGetDatum(NULL);
	}
	Assert(size <= PGLZ_BOUND(length));
	SET_VARSIZE_COMPRESSED(result, VARHDRSZ_COMPRESSED + size);
	TOAST_COMPRESS_SET_SIZE_AND_COMPRESS_METHOD(result, length,
												TOAST_PGLZ_COMPRESSION_ID);
	Assert(VARDATA_COMPRESSED_GET_EXTSIZE(result) == length);
	return PointerGetDatum(result);
}

/* toast_tuple_try_compression, with our own pglz. */
static void
compress_attribute(Toaster *toaster, int i)
{
	ToastTupleContext *row = &toaster->row;
	ToastAttrInfo *attr = &row->ttc_attr[i];
	char		method = attr->tai_compression;
	Datum		value;

	if (!CompressionMethodIsValid(method))
		method = default_toast_compression;
	if (method != TOAST_PGLZ_COMPRESSION)
	{
		toast_tuple_try_compression(row, i);
		return;
	}
	value = compress_by_pglz(toaster, row->ttc_values[i]);
	if (DatumGetPointer(value) == NULL)
	{
		attr->tai_colflags |= TOASTCOL_INCOMPRESSIBLE;
		return;
	}

	/* the uncompressed value is freed with the row's context */
	row->ttc_values[i] = value;
	attr->tai_size = VARSIZE(DatumGetPointer(value));
	row->ttc_flags |= TOAST_NEEDS_CHANGE;
}

/*
 * Compresses the widest values until the row is small enough: the first and the
 * third loop of heap_toast_insert_or_update.  Values of storage EXTERNAL take
 * part in the first one, uncompressed, as a value that alone exceeds the row's
 * target size is moved out at once.
 */
static void
compress_values(Toaster *toaster, bool storage_main, Size target)
{
	ToastTupleContext *row = &toaster->row;
	TupleDesc	desc = RelationGetDescr(toaster->rel);
	int			i;

	while (row_exceeds(toaster, target) &&
		   (i = toast_tuple_find_biggest_attribute(row, true, storage_main)) >= 0)
	{
		if (TupleDescAttr(desc, i)->attstorage == TYPSTORAGE_EXTERNAL)
			row->ttc_attr[i].tai_colflags |= TOASTCOL_INCOMPRESSIBLE;
		else
			compress_attribute(toaster, i);

		if (!storage_main && row->ttc_attr[i].tai_size > target &&
			OidIsValid(toaster->rel->rd_rel->reltoastrelid))
			move_attribute(toaster, i);
	}
}

/*
 * Moves the widest values out until the row is small enough: the second and the
 * fourth loop.  The caller handles the case that this does not suffice, for
 * lack of a TOAST table or of values.
 */
static void
move_values(Toaster *toaster, bool storage_main, Size target)
{
	int			i;

	if (!OidIsValid(toaster->rel->rd_rel->reltoastrelid))
		return;
	while (row_exceeds(toaster, target) &&
		   (i = toast_tuple_find_biggest_attribute(&toaster->row, false,
												   storage_main)) >= 0)
		move_attribute(toaster, i);
}

/* The row's values as a tuple with the old one's header. */
static HeapTuple
form_tuple(Toaster *toaster, HeapTuple old, Size hoff)
{
	TupleDesc	desc = RelationGetDescr(toaster->rel);
	ToastTupleContext *row = &toaster->row;
	Size		size = heap_compute_data_size(desc, row->ttc_values, row->ttc_isnull);
	HeapTuple	tuple = palloc0(HEAPTUPLESIZE + hoff + size);
	HeapTupleHeader header = (HeapTupleHeader) ((char *) tuple + HEAPTUPLESIZE);

	*tuple = *old;
	tuple->t_len = hoff + size;
	tuple->t_data = header;
	memcpy(header, old->t_data, SizeofHeapTupleHeader);
	Assert(hoff == MAXALIGN(hoff) && hoff >= SizeofHeapTupleHeader);
	HeapTupleHeaderSetNatts(header, desc->natts);
	header->t_hoff = hoff;
	heap_fill_tuple(desc, row->ttc_values, row->ttc_isnull,
					(char *) header + hoff, size, &header->t_infomask,
					row->ttc_flags & TOAST_HAS_NULLS ? header->t_bits : NULL);
	Assert(HeapTupleHasNulls(tuple) == ((row->ttc_flags & TOAST_HAS_NULLS) != 0));
	return tuple;
}

/*
 * The four loops of heap_toast_insert_or_update.  The target is for the values
 * alone: the header with its null bitmap is counted separately.
 */
HeapTuple
toast_shrink(Toaster *toaster, HeapTuple tuple)
{
	ToastTupleContext *row = &toaster->row;
	TupleDesc	desc = RelationGetDescr(toaster->rel);
	MemoryContext old;
	Size		hoff = SizeofHeapTupleHeader;
	Size		target;

	/* a TOAST table's own rows are chunks, made by put_chunk */
	Assert(!IsToastRelation(toaster->rel));
	Assert(HeapTupleHeaderGetNatts(tuple->t_data) == desc->natts);
	MemoryContextReset(toaster->row_context);
	old = MemoryContextSwitchTo(toaster->row_context);
	heap_deform_tuple(tuple, desc, row->ttc_values, row->ttc_isnull);
	toast_tuple_init(row);

	if (row->ttc_flags & TOAST_HAS_NULLS)
		hoff += BITMAPLEN(desc->natts);
	hoff = MAXALIGN(hoff);
	target = RelationGetToastTupleTarget(toaster->rel, TOAST_TUPLE_TARGET) - hoff;

	compress_values(toaster, false, target);
	move_values(toaster, false, target);
	compress_values(toaster, true, target);
	/* storage MAIN: moved out only where the row would not fit a page */
	move_values(toaster, true, TOAST_TUPLE_TARGET_MAIN - hoff);

	if (row->ttc_flags & TOAST_NEEDS_CHANGE)
		tuple = form_tuple(toaster, tuple, hoff);
	MemoryContextSwitchTo(old);

	/*
	 * RelationGetBufferForTuple's error: the row does not fit a page, whatever
	 * was moved out
	 */
	if (tuple->t_len > MaxHeapTupleSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too big: size %zu, maximum size %zu",
						(Size) MAXALIGN(tuple->t_len), MaxHeapTupleSize)));
	return tuple;
}

bool
toast_is_full(const Toaster *toaster)
{
	if (toaster->decoded)
		return toaster->nentries >= DECODED_CHUNKS;
	return toaster->hold && toaster->batch != NULL &&
		toaster->batch->run.npages >= HELD_PAGES;
}

/*
 * An entry in each index that is ready, as made by toast_save_datum: during
 * REINDEX CONCURRENTLY there are two, and the new one is ready before it is
 * valid.
 */
static void
insert_entry(Toaster *toaster, const ChunkEntry *entry, Relation *indexes, int nindexes)
{
	Datum		values[2] = {ObjectIdGetDatum(entry->id), Int32GetDatum(entry->seq)};
	bool		nulls[2] = {false, false};
	ItemPointerData tid;

	Assert(OffsetNumberIsValid(entry->offset));
	ItemPointerSet(&tid, toaster->batch->run.blocks[entry->page], entry->offset);
	for (int i = 0; i < nindexes; i++)
	{
		Relation	index = indexes[i];

		if (index->rd_index->indisready)
			index_insert(index, values, nulls, &tid, toaster->table,
						 index->rd_index->indisunique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO,
						 false, NULL);
	}
}

void
toast_flush(Toaster *toaster)
{
	Relation   *indexes;
	int			nindexes;

	if (toaster->nentries == 0)
		return;

	/*
	 * a chunk without an entry would never be found, an entry without a chunk
	 * would be an error
	 */
	Assert(toaster->batch != NULL && toaster->batch->run.npages > 0);
	pages_place(toaster->batch);
	(void) toast_open_indexes(toaster->table, RowExclusiveLock, &indexes, &nindexes);
	for (int64 i = 0; i < toaster->nentries; i++)
	{
		CHECK_FOR_INTERRUPTS();
		insert_entry(toaster, &toaster->entries[i], indexes, nindexes);
	}
	toast_close_indexes(indexes, nindexes, NoLock);
	pgstat_count_heap_insert(toaster->table, toaster->nentries);
	toast_discard(toaster);
}

static void
close_batch(Toaster *toaster)
{
	if (toaster->batch == NULL)
		return;
	Assert(toaster->nentries == 0);
	if (toaster->batch != toaster->borrowed)
		pages_close(toaster->batch);
	else if (toaster->borrowed->capacity > PAGES_BATCH)
		pages_resize(toaster->borrowed, PAGES_BATCH);
	pfree(toaster->free_space);
	toaster->batch = NULL;
}

void
toast_discard(Toaster *toaster)
{
	toaster->nentries = 0;
	if (toaster->batch == NULL)
		return;
	pages_discard(toaster->batch);
	/* memory that a single huge row has needed */
	if (toaster->batch->capacity > HELD_PAGES)
		close_batch(toaster);
}

void
toast_close(Toaster *toaster)
{
	Assert(toaster->nentries == 0);
	close_batch(toaster);
	if (toaster->table != NULL)
	{
		/* the lock is kept until the transaction ends, as after any insert */
		table_close(toaster->table, NoLock);
		pfree(toaster->entries);
		pfree(toaster->tuple);
	}
	MemoryContextDelete(toaster->row_context);
	pfree(toaster->row.ttc_values);
	pfree(toaster->row.ttc_isnull);
	pfree(toaster->row.ttc_attr);
	pfree(toaster);
}
