/*
 * inserter.c
 *		See inserter.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "catalog/pg_am_d.h"
#include "index/failed_row.h"
#include "index/inserter.h"
#include "index/inserter_search.h"
#include "index/inserter_stage.h"
#include "index/leaf_search.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/wal_written.h"
#include "utils/memutils.h"

/* ---- a row's place ---- */

/* Whether no page may hold the key: the server is to say so when all others are in. */
static inline bool
is_too_large(const Inserter *inserter)
{
	return IndexTupleSize(inserter->tuple) > COMPAT_BT_MAX_ITEM_SIZE(leaf_page(inserter));
}

/* How many rows an item of the current key may have, of n. */
static inline uint32
rows_of_item(const Inserter *inserter, uint32 n)
{
	Size		key = MAXALIGN(IndexTupleSize(inserter->tuple));

	if (!inserter->shares || inserter->judged || n == 1 ||
		key + 2 * sizeof(ItemPointerData) > MAX_POSTING_SIZE)
		return 1;
	return Min(n, (MAX_POSTING_SIZE - key) / sizeof(ItemPointerData));
}

/* Takes the first of n rows, or some; returns how many.  0: the server is to insert the first. */
static uint32
put_rows(Inserter *inserter, const RowId *rows, uint32 n)
{
	OffsetNumber offset;
	OffsetNumber place;

	n = rows_of_item(inserter, n);
	for (uint32 i = 0; i < n; i++)
		row_tid(rows[i], &inserter->tids[i]);
	inserter->key->scantid = inserter->judged ? NULL : &inserter->tids[0];
	offset = search_key(inserter);
	if (inserter->search.postingoff != 0)
		return stage_into_posting(inserter, offset) ? 1 : 0;
	place = offset;
	inserter->replaces = search_may_be_taken(inserter, offset);
	if (is_too_large(inserter) ||
		(inserter->replaces &&
		 !search_equals_gone(inserter, offset, &inserter->tids[0], &place)))
	{
		inserter->doubt(inserter->arg, rows[0], inserter->image, inserter->size, false);
		return 1;
	}
	if (place == InvalidOffsetNumber)
		return 0;
	if (n > 1 && !search_belongs_before(inserter, &inserter->tids[n - 1], place))
		n = 1;
	return stage_put(inserter, n, place) ? n : 0;
}

/* ---- the sink ---- */

static void
set_key(Inserter *inserter)
{
	BTScanInsert key = inserter->key;
	bool		nulls = leaf_search_set(inserter->index, key, inserter->tuple);

	key->anynullkeys = nulls && !inserter->info->ii_NullsNotDistinct;
	inserter->judged = inserter->info->ii_Unique && !key->anynullkeys;
}

static void
take_key(void *arg, const char *image, Size size, bool equal)
{
	Inserter   *inserter = arg;

	inserter->image = image;
	inserter->size = size;
	inserter->tuple = shape_tuple(inserter->shape, image);
	set_key(inserter);
	if (!equal)
		inserter->taken = false;
}

static void
take_rows(void *arg, const RowId *rows, uint32 n)
{
	Inserter   *inserter = arg;
	uint32		done;

	for (uint32 i = 0; i < n; i += done)
	{
		done = 1;
		inserter->replaces = inserter->tidied = false;
		if (inserter->judged && inserter->taken)
			inserter->doubt(inserter->arg, rows[i], inserter->image, inserter->size, false);
		else if (inserter->key->heapkeyspace)
		{
			done = put_rows(inserter, rows + i, n - i);
			if (done == 0 && stage_make_room(inserter))
				done = put_rows(inserter, rows + i, n - i);
		}
		else
			done = 0;
		if (done == 0)
		{
			if (!inserter_ask_server(inserter, rows[i], inserter->image))
				inserter->doubt(inserter->arg, rows[i], inserter->image, inserter->size, true);
			done = 1;
		}
		inserter->taken = true;
		inserter->untold += done;
	}
	/* of no row that the server is asked about later */
	inserter->replaces = inserter->tidied = false;
}

/* What the server's insertion or, with UNIQUE_CHECK_EXISTING, its check says of a row. */
static bool
ask_server(Inserter *inserter, RowId row, const char *image, IndexUniqueCheck check)
{
	bool		good;
	MemoryContext old;
	FailedRowContext failing;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	ItemPointerData tid;

	stage_leave(inserter);
	CHECK_FOR_INTERRUPTS();
	wal_written();
	inserter_tell(inserter, TOLD_ROWS);
	old = MemoryContextSwitchTo(inserter->scratch);
	row_tid(row, &tid);
	shape_values(inserter->shape, image, values, isnull);
	failed_row_begin(&failing, inserter->heap, &tid);
	good = index_insert(inserter->index, values, isnull, &tid, inserter->heap, check,
						inserter->versions && !inserter->tidied, inserter->info);
	failed_row_end(&failing);
	MemoryContextSwitchTo(old);
	MemoryContextReset(inserter->scratch);
	return good;
}

bool
inserter_ask_server(Inserter *inserter, RowId row, const char *image)
{
	IndexUniqueCheck check = !inserter->info->ii_Unique ? UNIQUE_CHECK_NO :
		inserter->is_trial ? UNIQUE_CHECK_PARTIAL : UNIQUE_CHECK_YES;

	return ask_server(inserter, row, image, check) || check != UNIQUE_CHECK_PARTIAL;
}

void
inserter_judge(Inserter *inserter, RowId row, const char *image, bool entered)
{
	(void) ask_server(inserter, row, image,
					  entered ? UNIQUE_CHECK_EXISTING : UNIQUE_CHECK_YES);
}

void
inserter_try(Inserter *inserter, InserterKnows knows, void *arg)
{
	inserter->is_trial = true;
	inserter->knows = knows;
	inserter->knows_arg = arg;
}

void
inserter_expect_versions(Inserter *inserter, bool versions)
{
	inserter->versions = versions;
}

bool
inserter_serves(Relation index)
{
	return index->rd_rel->relam == BTREE_AM_OID && index->rd_index->indisready &&
		index->rd_index->indimmediate && !index->rd_index->indisexclusion;
}

Inserter *
inserter_open(Relation heap, Relation index, IndexInfo *info, KeyShape *shape,
			  InserterDoubt doubt, void *arg)
{
	Inserter   *inserter = palloc0(sizeof(Inserter));

	inserter->heap = heap;
	inserter->index = index;
	inserter->info = info;
	inserter->shape = shape;
	inserter->doubt = doubt;
	inserter->arg = arg;
	inserter->scratch = AllocSetContextCreate(CurrentMemoryContext, "index entry",
											  ALLOCSET_DEFAULT_SIZES);
	inserter->key = leaf_search_key(index);
	inserter->bytewise = leaf_search_is_bytewise(index, inserter->key->allequalimage);
	inserter->shares = inserter->key->allequalimage && BTGetDeduplicateItems(index);
	inserter->guesses = leaf_guess_serves(shape);
	inserter->looks = MAX_LOOKS;
	inserter->search.itup_key = inserter->key;
	inserter->search.buf = InvalidBuffer;
	inserter->block = inserter->known = InvalidBlockNumber;
	return inserter;
}

KeySink
inserter_keys(Inserter *inserter)
{
	return (KeySink) {.key = take_key,.rows = take_rows,.arg = inserter};
}

void
inserter_end(Inserter *inserter)
{
	stage_leave(inserter);
	inserter_tell(inserter, 1);
	inserter->block = inserter->known = InvalidBlockNumber;
	inserter->steps = false;
}

void
inserter_take_all(Inserter *inserter, Presort **presort)
{
	KeySink		sink = inserter_keys(inserter);

	if (*presort == NULL)
		return;
	presort_finish(*presort, &sink);
	inserter_end(inserter);
	presort_close(*presort);
	*presort = NULL;
}

/* Keys that are sorted already, of which some rows are wanted. */
typedef struct Again
{
	Inserter   *inserter;
	const InserterRows *rows;
	const char *image;
	Size		size;
} Again;

static void
take_key_again(void *arg, const char *image, Size size, bool equal)
{
	Again	   *again = arg;

	again->image = image;
	again->size = size;
}

static void
take_rows_again(void *arg, const RowId *rows, uint32 n)
{
	Again	   *again = arg;
	Inserter   *inserter = again->inserter;
	RowId		row;

	for (uint32 i = 0; i < n; i++)
	{
		const InserterKey *own = NULL;

		if (!again->rows->find(again->rows->arg, rows[i], &row, &inserter->place, &own))
			continue;
		if (own != NULL)
			take_key(inserter, own->image, own->size, false);
		else
			take_key(inserter, again->image, again->size, false);
		take_rows(inserter, &row, 1);
	}
	inserter->place = NULL;
}

static void
tell_ahead(void *arg, RowId row)
{
	const Again *again = arg;

	again->rows->ahead(again->rows->arg, row);
}

void
inserter_take_again(Inserter *inserter, Presort *presort, const InserterRows *rows)
{
	Again		again = {.inserter = inserter,.rows = rows};
	KeySink		sink = {
		.key = take_key_again,
		.rows = take_rows_again,
		.ahead = tell_ahead,
		.arg = &again
	};

	inserter->dead = rows->dead;
	inserter->dead_arg = rows->arg;
	presort_emit_again(presort, &sink);
	inserter_end(inserter);
	inserter->dead = NULL;
}
