/*
 * arbiter_batch_merge.c
 *		See arbiter_batch_merge.h.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/tableam.h"
#include "access/tupconvert.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "server/compat.h"
#include "server/wal_written.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "write/arbiter.h"
#include "write/arbiter_batch_merge.h"
#include "write/arbiter_batch_tell.h"
#include "write/row_merge.h"

/* From so many rows on, the older ones count for half in the mean of their lengths. */
#define ROWS_OF_MEAN 100000

struct BatchMerge
{
	TupleTableSlot *old_row;	/* what has a key so far */
	MemoryContext columns_context;
	Bitmapset  *columns;		/* that the file has whose rows wait; NULL: nobody asks */

	/* of the rows that are looked at together, in their scratch memory */
	uint32	   *standing;		/* first rows of keys that the table has, in its order */
	uint32		nstanding;
	uint32		capacity;
	Size		bytes;			/* of copies of these, and of what becomes of them, about */
	Size		made;			/* what that is so far, of those that expressions have made */
	bool		exceeds;		/* there is no memory for all of them */
	LockTupleMode mode;			/* of those that stay as they are */
	bool		has_own;		/* some row has a key of its own */

	/* of all so far, to know how much memory the next ones will need */
	double		all_standing;
	double		all_lengths;
	Size		expected;		/* for those of the rows that wait */
};

/* ---- which tables ---- */

/* The column of the target that is this one of the leaf; 0: none. */
static AttrNumber
root_column(const Leaf *leaf, AttrNumber attnum)
{
	return leaf->map == NULL || attnum <= 0 ? attnum : leaf->map->attrMap->attnums[attnum - 1];
}

/* The columns of the target that rows set, offset as in the server.  False: headers tell them. */
static bool
find_set_columns(const LeafContext *context, const Bitmapset **columns)
{
	const MergeClause *clause = context->target->merge;
	BulkHeader	header = context->options->header;

	*columns = clause->all ? COMPAT_UPDATED_COLS(context->target->nsitem) : clause->updated;
	return !clause->all || (header != BULK_HEADER_MAP && header != BULK_HEADER_AUTO);
}

/* Whether a merged row may have other keys in an index than the one that it replaces. */
static bool
may_set_key(const LeafContext *context, const Leaf *leaf, const IndexInfo *info)
{
	const Bitmapset *set;
	Bitmapset  *columns = NULL;
	int			column = -1;

	if (!find_set_columns(context, &set))
		return true;
	for (int i = 0; i < info->ii_NumIndexKeyAttrs; i++)
		if (info->ii_IndexAttrNumbers[i] != 0)
			columns = bms_add_member(columns, info->ii_IndexAttrNumbers[i] -
									 FirstLowInvalidHeapAttributeNumber);
	pull_varattnos((Node *) info->ii_Expressions, 1, &columns);
	pull_varattnos((Node *) info->ii_Predicate, 1, &columns);
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		AttrNumber	attnum = column + FirstLowInvalidHeapAttributeNumber;
		AttrNumber	root = root_column(leaf, attnum);

		/* all columns, or what others compute */
		if (attnum <= 0 ||
			TupleDescAttr(RelationGetDescr(leaf->rri->ri_RelationDesc), attnum - 1)->attgenerated ||
			bms_is_member(root - FirstLowInvalidHeapAttributeNumber, set))
			return true;
	}
	return false;
}

/*
 * Whether the order in which rows of different keys are merged makes no difference: no row takes a
 * key of another unique index from one that had it, or leaves it to one.
 */
static bool
keys_are_apart(const LeafContext *context, const Leaf *leaf)
{
	Relation	judge;
	IndexInfo  *judge_info;

	arbiter_index(leaf->arbiter, 0, &judge, &judge_info);
	for (int i = 0; i < leaf->rri->ri_NumIndices; i++)
	{
		const IndexInfo *info = leaf->rri->ri_IndexRelationInfo[i];

		if (leaf->rri->ri_IndexRelationDescs[i] == judge)
			continue;
		if (info->ii_ExclusionOps != NULL ||
			(info->ii_Unique &&
			 (context->target->merge->removes || may_set_key(context, leaf, info))))
			return false;
	}
	return true;
}

static bool
has_triggers(const LeafContext *context, const Leaf *leaf)
{
	const TriggerDesc *triggers = leaf->rri->ri_TrigDesc;

	return context->update_capture != NULL || context->delete_capture != NULL ||
		(triggers != NULL &&
		 (triggers->trig_update_before_row || triggers->trig_update_after_row ||
		  triggers->trig_delete_before_row || triggers->trig_delete_after_row));
}

bool
arbiter_batch_merges(const LeafContext *context, const Leaf *leaf)
{
	const MergeClause *clause = context->target->merge;
	const BulkOptions *options = context->options;

	/* which rows are good, and so count, is known too late for that limit */
	if (options->limit >= 0 && options->limit_loaded &&
		(clause->removes || context->guard->enabled))
		return false;
	return clause->keeps_key && !clause->is_volatile && context->dry == NULL &&
		!has_triggers(context, leaf) && keys_are_apart(context, leaf);
}

/* ---- open and close ---- */

BatchMerge *
batch_merge_open(const Leaf *leaf)
{
	BatchMerge *merge = palloc0(sizeof(BatchMerge));

	merge->old_row = MakeSingleTupleTableSlot(RelationGetDescr(leaf->rri->ri_RelationDesc),
											  &TTSOpsHeapTuple);
	merge->columns_context = CurrentMemoryContext;
	return merge;
}

void
batch_merge_close(BatchMerge *merge)
{
	ExecDropSingleTupleTableSlot(merge->old_row);
}

void
batch_merge_keep_keys(const LeafContext *context, const Leaf *leaf)
{
	Relation	judge;
	IndexInfo  *judge_info;

	arbiter_index(leaf->arbiter, 0, &judge, &judge_info);
	for (int i = 0; i < leaf->rri->ri_NumIndices; i++)
	{
		Relation	index = leaf->rri->ri_IndexRelationDescs[i];

		if (index == judge || !may_set_key(context, leaf, leaf->rri->ri_IndexRelationInfo[i]))
			entries_keep_key(leaf->entries, index);
	}
}

Size
batch_merge_memory(Size budget)
{
	return budget / 2;
}

/* What a row of the table takes, with its new version, if it is so long. */
static inline Size
standing_memory(Size length)
{
	return sizeof(MergedKey) + 2 * (HEAPTUPLESIZE + MAXALIGN(length));
}

Size
batch_merge_expect(ArbiterBatch *batch, HeapTuple tuple)
{
	BatchMerge *merge = batch->merge;
	Size		length = tuple->t_len;
	Size		expected;

	if (merge->all_standing > 0)
		length = Max(length, (Size) (merge->all_lengths / merge->all_standing));
	/* they are not all as long as their mean */
	expected = standing_memory(length + length / 8);
	merge->expected += expected;
	return expected;
}

/* For rows of the table: what is expected, and what rows that wait have left of the memory. */
static Size
memory_for_standing(const ArbiterBatch *batch)
{
	Size		memory = batch_merge_memory(batch->budget);
	Size		asking = batch->context->asking;

	return batch->merge->expected + (memory > asking ? memory - asking : 0);
}

void
batch_merge_begin(ArbiterBatch *batch)
{
	BatchMerge *merge = batch->merge;
	const Bitmapset *columns = row_merge_columns(batch->leaf->merge);
	MemoryContext old;

	merge->expected = 0;
	if (bms_equal(merge->columns, columns))
		return;
	old = MemoryContextSwitchTo(merge->columns_context);
	bms_free(merge->columns);
	merge->columns = bms_copy(columns);
	MemoryContextSwitchTo(old);
}

bool
batch_merge_changed(const ArbiterBatch *batch)
{
	return !bms_equal(batch->merge->columns, row_merge_columns(batch->leaf->merge));
}

void
batch_merge_enter(ArbiterBatch *batch)
{
	row_merge_give_columns(batch->leaf->merge, batch->merge->columns);
}

void
batch_merge_leave(ArbiterBatch *batch)
{
	row_merge_give_columns(batch->leaf->merge, NULL);
}

/* ---- rows of the table ---- */

static MergedKey *
merged_key(ArbiterBatch *batch, uint32 first)
{
	MergingRow *row = &batch->merging[first];

	if (row->key == NULL)
		row->key = MemoryContextAllocZero(batch->scratch, sizeof(MergedKey));
	return row->key;
}

static HeapTuple
standing_tuple(const ArbiterBatch *batch)
{
	return ((BufferHeapTupleTableSlot *) batch->standing)->base.tuple;
}

/* For the mean, in which rows of long ago count less and less. */
static void
note_length(BatchMerge *merge, Size length)
{
	merge->all_standing++;
	merge->all_lengths += length;
	if (merge->all_standing >= ROWS_OF_MEAN)
	{
		merge->all_standing /= 2;
		merge->all_lengths /= 2;
	}
}

bool
batch_merge_take(ArbiterBatch *batch, const Candidate *candidate)
{
	BatchMerge *merge = batch->merge;
	HeapTuple	tuple = standing_tuple(batch);
	Size		size = standing_memory(tuple->t_len);
	MergedKey  *key = merged_key(batch, candidate->number);
	MemoryContext old;

	if (key->old != NULL)
		return false;
	if (merge->nstanding > 0 && merge->bytes + size > memory_for_standing(batch))
	{
		merge->exceeds = true;
		return false;
	}
	old = MemoryContextSwitchTo(batch->scratch);
	key->old = key->row = heap_copytuple(tuple);
	key->entry = candidate->standing;
	merge->bytes += size;
	note_length(merge, tuple->t_len);
	if (merge->nstanding == merge->capacity)
	{
		merge->capacity = Max(2 * merge->capacity, ROWS_AT_ONCE);
		merge->standing = merge->standing == NULL ?
			palloc(merge->capacity * sizeof(uint32)) :
			repalloc_huge(merge->standing, merge->capacity * sizeof(uint32));
	}
	merge->standing[merge->nstanding++] = candidate->number;
	MemoryContextSwitchTo(old);
	return true;
}

/* ---- in memory ---- */

/* What has the key from now on: row, or NULL. */
static void
set_row(BatchMerge *merge, MergedKey *key, HeapTuple row, bool owned, uint32 number)
{
	ExecClearTuple(merge->old_row);
	if (key->owned)
	{
		merge->made -= HEAPTUPLESIZE + key->row->t_len;
		heap_freetuple(key->row);
	}
	if (owned)
		merge->made += HEAPTUPLESIZE + row->t_len;
	key->row = row;
	key->owned = owned;
	key->last = number;
}

static TupleTableSlot *
show_old_row(ArbiterBatch *batch, const MergedKey *key)
{
	TupleTableSlot *slot = batch->merge->old_row;

	ExecStoreHeapTuple(key->row, slot, false);
	slot->tts_tableOid = RelationGetRelid(batch->leaf->rri->ri_RelationDesc);
	return slot;
}

static RowError *
copy_error(ArbiterBatch *batch, const RowError *error)
{
	RowError   *copy = MemoryContextAlloc(batch->scratch, sizeof(RowError));

	*copy = *error;
	copy->message = MemoryContextStrdup(batch->scratch, error->message);
	if (error->column != NULL)
		copy->column = MemoryContextStrdup(batch->scratch, error->column);
	if (error->value != NULL)
		copy->value = MemoryContextStrdup(batch->scratch, error->value);
	return copy;
}

/* A row is bad because of what was thrown under the guard. */
static void
take_thrown(ArbiterBatch *batch, uint32 number, const ErrorData *edata)
{
	RowError	error = {
		.reason = guard_reject_reason(edata->sqlerrcode),
		.sqlstate = edata->sqlerrcode,
		.message = edata->message,
		.column = edata->column_name
	};

	batch->merging[number].verdict = WRITER_BAD;
	batch->merging[number].error = copy_error(batch, &error);
}

static WriterVerdict
delete_row(ArbiterBatch *batch, MergedKey *key, uint32 number)
{
	key->locks = true;
	if (key->row == NULL)
		return WRITER_FILTERED;
	if (!row_merge_passes(batch->context, batch->leaf, show_old_row(batch, key), batch->slot))
		return WRITER_DUPLICATE;
	set_row(batch->merge, key, NULL, false, number);
	key->deletes = true;
	return WRITER_DELETED;
}

static WriterVerdict
merge_row(ArbiterBatch *batch, MergedKey *key, uint32 number)
{
	LeafContext *context = batch->context;
	MergingRow *row = &batch->merging[number];
	TupleTableSlot *merged;
	RowError	error;
	WriterVerdict verdict;
	MemoryContext old;

	if (key->row == NULL)
	{
		set_row(batch->merge, key, batch->rows[number].tuple, false, number);
		return WRITER_TAKEN;
	}
	verdict = row_merge_fold(context, batch->leaf, show_old_row(batch, key), batch->slot, &merged,
							 context->guard->enabled ? &error : NULL);
	if (verdict == WRITER_BAD)
		row->error = copy_error(batch, &error);
	if (verdict != WRITER_TAKEN)
		return verdict;
	old = MemoryContextSwitchTo(batch->scratch);
	set_row(batch->merge, key, ExecCopySlotHeapTuple(merged), true, number);
	MemoryContextSwitchTo(old);
	row->updates = true;
	/* rows may have grown: those of the key go one by one, and what they were made of is kept */
	if (batch->merge->made > batch_merge_memory(batch->budget) / 2)
	{
		set_row(batch->merge, key, NULL, false, number);
		batch->rows[batch->rows[number].first].keys = FATE_ASK;
	}
	return WRITER_TAKEN;
}

/* The next rows, in the order of the input. */
typedef struct FoldRun
{
	ArbiterBatch *batch;
	uint32		next;
	uint32		end;
} FoldRun;

static void
fold_rows(void *arg)
{
	FoldRun    *run = arg;
	ArbiterBatch *batch = run->batch;

	for (; run->next < run->end; run->next++)
	{
		uint32		first = batch->rows[run->next].first;
		MergingRow *row = &batch->merging[run->next];
		MergedKey  *key;

		if (run->next % ROWS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		if (batch->rows[first].keys == FATE_ASK)
			continue;
		key = merged_key(batch, first);
		batch_show_row(batch, run->next);
		row->verdict = row->deletes ? delete_row(batch, key, run->next) :
			merge_row(batch, key, run->next);
	}
}

/* What the guard catches makes a row bad. */
static void
fold(ArbiterBatch *batch, uint32 first, uint32 n)
{
	FoldRun		run = {batch, first, first + n};
	EState	   *estate = batch->context->writer->estate;
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));

	while (run.next < run.end)
	{
		ErrorData  *edata = guard_run(batch->context->guard, fold_rows, &run);

		if (edata != NULL)
			take_thrown(batch, run.next++, edata);
	}
	guard_close(batch->context->guard);
	ExecClearTuple(batch->merge->old_row);
	batch->context->writer->current_row = -1;
	MemoryContextSwitchTo(old);
}

/* ---- to the table ---- */

/*
 * Has the row in the standing slot, with its page pinned, if it is the one that was fetched.
 * Another one may be in its place, but not of that transaction, or not with its bytes: what has
 * both is as good.
 */
static bool
is_still_there(ArbiterBatch *batch, const MergedKey *key)
{
	HeapTupleHeader was = key->old->t_data;
	HeapTupleHeader now;
	HeapTuple	tuple;

	if (!table_tuple_fetch_row_version(batch->leaf->rri->ri_RelationDesc, &key->old->t_self,
									   SnapshotAny, batch->standing))
		return false;
	tuple = standing_tuple(batch);
	now = tuple->t_data;
	return tuple->t_len == key->old->t_len && now->t_hoff == was->t_hoff &&
		HeapTupleHeaderGetNatts(now) == HeapTupleHeaderGetNatts(was) &&
		TransactionIdEquals(HeapTupleHeaderGetRawXmin(now), HeapTupleHeaderGetRawXmin(was)) &&
		memcmp((char *) now + SizeofHeapTupleHeader, (char *) was + SizeofHeapTupleHeader,
			   tuple->t_len - SizeofHeapTupleHeader) == 0;
}

/* It stays as it was.  Whoever wants to change it waits for the load all the same. */
static bool
lock_row(ArbiterBatch *batch, const MergedKey *key)
{
	LeafContext *context = batch->context;
	LockTupleMode mode = key->locks ? LockTupleExclusive : batch->merge->mode;
	TM_FailureData failure;
	ItemPointerData tid = key->old->t_self;

	return table_tuple_lock(batch->leaf->rri->ri_RelationDesc, &tid, GetActiveSnapshot(),
							batch->standing, context->cid, mode, LockWaitBlock, 0,
							&failure) == TM_Ok;
}

static bool
remove_row(ArbiterBatch *batch, MergedKey *key)
{
	TM_FailureData failure;

	if (compat_table_delete(batch->leaf->rri->ri_RelationDesc, &key->old->t_self,
							batch->context->cid, GetActiveSnapshot(), &failure) != TM_Ok)
		return false;
	key->is_stored = key->row != NULL;
	return true;
}

/* Whether rows have the same bytes in all columns of the index. */
static bool
have_same_key(const ArbiterBatch *batch, HeapTuple a, HeapTuple b)
{
	TupleDesc	desc = RelationGetDescr(batch->leaf->rri->ri_RelationDesc);

	for (int i = 0; i < batch->info->ii_NumIndexAttrs; i++)
	{
		AttrNumber	column = batch->info->ii_IndexAttrNumbers[i];
		Form_pg_attribute attribute;
		Datum		values[2];
		bool		isnull[2];

		if (column <= 0)
			return false;
		attribute = TupleDescAttr(desc, column - 1);
		values[0] = heap_getattr(a, column, desc, &isnull[0]);
		values[1] = heap_getattr(b, column, desc, &isnull[1]);
		if (!batch_same_value(attribute, values, isnull))
			return false;
	}
	return true;
}

/*
 * A row gets its entries as the last one of the batch that has changed it.  Its key is equal to
 * that one's, but the bytes may be those of the row that was there.
 */
static void
carry(ArbiterBatch *batch, MergedKey *key)
{
	WaitingRow *row = &batch->rows[key->last];
	HeapTuple	was = row->tuple;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	StringInfoData image;
	MemoryContext old;

	if (was == key->row)
		return;
	key->given = was;
	row->tuple = key->row;
	if (!row->sorted || have_same_key(batch, was, key->row))
		return;
	old = MemoryContextSwitchTo(batch->scratch);
	initStringInfo(&image);
	batch_show_row(batch, key->last);
	if (!batch_form_key(batch, batch->slot, values, isnull))
		elog(ERROR, "a merged row has no key");
	key->own.size = shape_image(batch->shape, values, isnull, &image);
	key->own.image = image.data;
	batch->merge->has_own = true;
	MemoryContextSwitchTo(old);
}

/* It is to be asked about: that row is again what it was. */
static void
take_back(ArbiterBatch *batch, const MergedKey *key)
{
	if (key->given != NULL)
		batch->rows[key->last].tuple = key->given;
}

/* Stores its new version; entries come with those of new rows, unless it is HOT. */
static bool
update_row(ArbiterBatch *batch, MergedKey *key)
{
	LeafContext *context = batch->context;
	Leaf	   *leaf = batch->leaf;
	TM_FailureData failure;
	CompatEntries entries;

	carry(batch, key);
	batch_show_row(batch, key->last);
	if (compat_table_update(leaf->rri->ri_RelationDesc, &key->old->t_self, batch->slot,
							context->cid, GetActiveSnapshot(), &failure, &entries) != TM_Ok)
		return false;
	if (entries == COMPAT_ENTRIES_SUMMARIZING)
		list_free(compat_update_index_tuples(leaf->rri, batch->slot, context->writer->estate,
											 true));
	if (entries == COMPAT_ENTRIES_ALL)
	{
		batch->tids[key->last] = batch->slot->tts_tid;
		key->is_stored = true;
		entries_note_version(leaf->entries);
	}
	return true;
}

/* What has become of the row of a key.  False: somebody has changed it meanwhile. */
static bool
write_row(ArbiterBatch *batch, uint32 first)
{
	MergedKey  *key = batch->merging[first].key;
	bool		written;

	batch->context->writer->current_row = key->row == key->old ? first : key->last;
	written = is_still_there(batch, key) &&
		(key->row == key->old ? lock_row(batch, key) :
		 key->deletes ? remove_row(batch, key) : update_row(batch, key));
	ExecClearTuple(batch->standing);
	if (!written)
		take_back(batch, key);
	else if (key->row != key->old)
		batch->rows[first].gone = key->entry;
	return written;
}

static void
write_standing(ArbiterBatch *batch)
{
	BatchMerge *merge = batch->merge;
	EState	   *estate = batch->context->writer->estate;
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));

	merge->mode = ExecUpdateLockMode(estate, batch->leaf->rri);
	for (uint32 i = 0; i < merge->nstanding; i++)
	{
		WaitingRow *first = &batch->rows[merge->standing[i]];

		if (i % ROWS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		if (first->keys != FATE_ASK && !write_row(batch, merge->standing[i]))
			first->keys = FATE_ASK;
		wal_written();
	}
	batch->context->writer->current_row = -1;
	MemoryContextSwitchTo(old);
}

/* Rows of new keys are stored as the last that has changed them. */
static void
give_fates(ArbiterBatch *batch, uint32 first, uint32 n)
{
	for (uint32 i = first; i < first + n; i++)
	{
		WaitingRow *row = &batch->rows[i];
		MergedKey  *key = batch->merging[row->first].key;

		if (batch->rows[row->first].keys == FATE_ASK)
		{
			row->fate = FATE_ASK;
			continue;
		}
		if (key->old == NULL)
			key->is_stored = key->row != NULL;
		row->fate = key->is_stored && i == key->last ? FATE_NEW : FATE_STORED;
		if (row->fate == FATE_NEW)
			carry(batch, key);
	}
}

bool
batch_merge_exceeds(const ArbiterBatch *batch)
{
	return batch->merge->exceeds;
}

bool
batch_merge_settle(ArbiterBatch *batch, uint32 first, uint32 n)
{
	BatchMerge *merge = batch->merge;
	bool		settled = !merge->exceeds || n == 1;

	if (settled)
	{
		merge->has_own = false;
		fold(batch, first, n);
		write_standing(batch);
		give_fates(batch, first, n);
	}
	merge->standing = NULL;
	merge->nstanding = merge->capacity = 0;
	merge->bytes = merge->made = 0;
	merge->exceeds = false;
	return settled;
}

/* ---- one by one ---- */

typedef struct AskRun
{
	ArbiterBatch *batch;
	uint32		number;
	RowError	error;
} AskRun;

static void
ask_row(void *arg)
{
	AskRun	   *run = arg;
	ArbiterBatch *batch = run->batch;
	LeafContext *context = batch->context;
	MergingRow *row = &batch->merging[run->number];

	row->verdict = row->deletes ? row_merge_delete(context, batch->leaf, batch->slot) :
		row_merge_put(context, batch->leaf, batch->slot,
					  context->guard->enabled ? &run->error : NULL);
}

void
batch_merge_ask(ArbiterBatch *batch, uint32 number)
{
	AskRun		run = {.batch = batch,.number = number};
	MergingRow *row = &batch->merging[number];
	ErrorData  *edata;

	CHECK_FOR_INTERRUPTS();
	batch_show_row(batch, number);
	row->updates = false;
	edata = guard_run(batch->context->guard, ask_row, &run);
	guard_close(batch->context->guard);
	if (edata != NULL)
		take_thrown(batch, number, edata);
	else if (row->verdict == WRITER_BAD)
		row->error = copy_error(batch, &run.error);
	batch->rows[number].fate = FATE_STORED;
	batch->context->writer->merged--;
	batch->context->writer->current_row = -1;
}

const InserterKey *
batch_merge_own_key(const ArbiterBatch *batch)
{
	const MergedKey *key;

	/* what is known of keys does not lie in their order */
	if (!batch->merge->has_own)
		return NULL;
	key = batch->merging[batch->first].key;
	return key->own.image != NULL ? &key->own : NULL;
}

bool
batch_merge_stays(const ArbiterBatch *batch)
{
	const MergedKey *key;

	if (batch->merge == NULL || batch->first == NO_ROW)
		return false;
	key = batch->merging[batch->first].key;
	return key != NULL && key->old != NULL;
}

void
batch_merge_lose(ArbiterBatch *batch, uint32 number)
{
	batch->merging[batch->rows[number].first].key->lost = true;
}

void
batch_merge_ask_lost(ArbiterBatch *batch, uint32 first, uint32 n)
{
	for (uint32 i = first; i < first + n; i++)
	{
		const MergedKey *key = batch->merging[batch->rows[i].first].key;

		if (key == NULL || !key->lost)
			continue;
		batch->rows[i].fate = FATE_ASK;
		if (i == key->last)
			take_back(batch, key);
	}
}

/* ---- what became of them ---- */

static void
reject_row(ArbiterBatch *batch, uint32 number)
{
	const LateDuplicates *late = &batch->context->writer->late;
	const WaitingRow *row = &batch->rows[number];

	late->reject(late->arg, &row->place, row->raw, batch->merging[number].error);
}

void
batch_merge_tell(ArbiterBatch *batch, uint32 first, uint32 n)
{
	Writer	   *writer = batch->context->writer;
	const LateDuplicates *late = &writer->late;

	for (uint32 i = first; i < first + n; i++)
	{
		const MergingRow *row = &batch->merging[i];

		if (row->updates)
			late->count(late->arg, batch->rows[i].place.file, REJECT_REPLACED, 1);
		if (row->verdict == WRITER_DELETED || row->verdict == WRITER_FILTERED)
			late->count_other(late->arg, batch->rows[i].place.file,
							  row->verdict == WRITER_DELETED, 1);
		batch->rows[i].fate = row->verdict == WRITER_DUPLICATE ? FATE_DUPLICATE : FATE_STORED;
		if (row->verdict == WRITER_BAD)
			reject_row(batch, i);
	}
	writer->merged += n;
	tell_duplicates(batch, first, n);
}
