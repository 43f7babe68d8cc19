/*
 * known_keys.c
 *		See known_keys.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "check/duplicates.h"
#include "check/tables.h"
#include "index/candidates.h"
#include "index/inserter.h"
#include "index/lookup.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "write/known_keys.h"

/* Rows that are looked up to see whether that pays; so few are passed on as they are at the end. */
#ifndef ROWS_TO_TRY
#define ROWS_TO_TRY 256
#endif

/* Rows that go past where it does not, at first: twice as many each time. */
#ifndef ROWS_TO_PASS
#define ROWS_TO_PASS 16384
#endif

/* It pays where one of so many is known. */
#define ENOUGH_KNOWN 4

/* Rows between two checks for interrupts. */
#define ROWS_AT_ONCE 1024

#define ARENA_BLOCK (64 * 1024)

typedef struct WaitingRow
{
	HeapTuple	tuple;
	JournalPlace place;
	uint32		first;			/* the first row with its key */
	bool		known;			/* of that: the table has the key */
} WaitingRow;

struct KnownKeys
{
	Writer	   *writer;
	KnownKeysPut put;
	Checks	   *checks;
	int			checked;		/* number of the table there */
	Relation	rel;
	Oid			relid;			/* of the index */
	EState	   *estate;
	TupleTableSlot *slot;		/* a row that waits */
	bool		shows;			/* each duplicate is shown */
	bool		notes;			/* or counts for a limit */
	int64		nnoted;
	Size		budget;

	bool		pays;			/* as far as the latest rows tell */
	int64		to_pass;		/* rows that go past before the next are tried */
	int64		next_to_pass;

	/* the rows that wait */
	Arena		arena;
	WaitingRow *rows;
	uint32		nrows;
	uint32		capacity;
	Size		bytes;
	int64		current;		/* row that is worked on, for CONTEXT; -1: none */

	/* while rows are looked up; at other times nobody must have the index open */
	MemoryContext context;
	Relation	index;
	IndexInfo  *info;
	KeyShape   *shape;
	Lookup	   *lookup;

	/* those that are looked up together */
	MemoryContext scratch;
	uint32		first;			/* the first with the key that is looked up */
	Candidates	candidates;
};

/* For keys; the rest is for rows. */
static inline Size
memory_for_keys(const KnownKeys *known)
{
	return known->budget / 8 * 5;
}

/* ---- looking up ---- */

static void
take_row(void *arg, RowId row, bool first)
{
	KnownKeys  *known = arg;
	uint32		number = candidates_row_number(row);

	if (first)
		known->first = number;
	known->rows[number].first = known->first;
}

static void
take_entry(void *arg, RowId row, const ItemPointerData *tid, bool visible)
{
	KnownKeys  *known = arg;
	uint32		number = candidates_row_number(row);

	known->rows[number].known |= visible;
	if (known->rows[number].known)
		return;
	candidates_add(&known->candidates, known->scratch, tid, number);
}

/* Adds the key of a row to those that are looked up, unless it is equal to no other. */
static void
put_key(KnownKeys *known, Presort *presort, uint32 number)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(known->estate));
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	bool		judged = true;
	ItemPointerData tid;

	ExecStoreHeapTuple(known->rows[number].tuple, known->slot, false);
	FormIndexDatum(known->info, known->slot, known->estate, values, isnull);
	for (int i = 0; i < known->shape->nkeys; i++)
		judged &= !isnull[i] || known->info->ii_NullsNotDistinct;
	candidates_number_tid(number, &tid);
	if (judged)
		presort_put(presort, &tid, values, isnull, true);
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(known->estate);
}

/* Looks up the keys of rows from first on, as many as fit; returns how many rows. */
static uint32
look_up(KnownKeys *known, uint32 first)
{
	Size		budget = memory_for_keys(known);
	MemoryContext old = MemoryContextSwitchTo(known->scratch);
	Presort    *presort = presort_open(known->shape, budget, (PresortOptions) {.stays = true});
	KeySink		keys = lookup_keys(known->lookup);
	uint32		i;

	for (i = first; i < known->nrows; i++)
	{
		if (i % ROWS_AT_ONCE == 0)
		{
			CHECK_FOR_INTERRUPTS();
			if (i > first && presort_memory(presort) >= budget)
				break;
		}
		known->rows[i].first = i;
		known->rows[i].known = false;
		known->current = i;
		put_key(known, presort, i);
	}
	known->current = -1;
	presort_finish(presort, &keys);
	lookup_end(known->lookup);
	presort_close(presort);
	MemoryContextSwitchTo(old);
	return i - first;
}

static bool
is_answered(void *arg, uint32 number)
{
	const KnownKeys *known = arg;

	return known->rows[number].known;
}

static void
take_standing(void *arg, uint32 number, RowId standing)
{
	KnownKeys  *known = arg;

	known->rows[number].known = true;
}

/* Asks the table about entries whose rows may be dead. */
static void
fetch_candidates(KnownKeys *known)
{
	CandidatesAsker asker = {.is_answered = is_answered,.stands = take_standing,.arg = known};

	candidates_ask(&known->candidates, known->rel, SnapshotSelf, &asker);
}

/* ---- the rows ---- */

static inline bool
is_known(const KnownKeys *known, uint32 number)
{
	return known->rows[known->rows[number].first].known;
}

static inline void
pass_row(KnownKeys *known, uint32 number)
{
	known->put(known->writer, known->rows[number].tuple, &known->rows[number].place);
}

/* Has a row written down that goes to the reject stream at the end, in the order of the input. */
static void
note_row(KnownKeys *known, uint32 number)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(known->estate));
	BadRow		row = {
		.place = known->rows[number].place,
		.reason = REJECT_DUPLICATE,
		.table = known->checked,
		.key = known->relid
	};

	if (known->shows || known->nnoted < REJECTS_FIRST)
	{
		ExecStoreHeapTuple(known->rows[number].tuple, known->slot, false);
		row.value = duplicates_key(known->index, known->info, known->slot, known->estate);
	}
	checks_replace(known->checks, &row);
	known->nnoted++;
	known->writer->unstored++;
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(known->estate);
}

/* Those with known keys are duplicates, the others are passed on; returns how many are known. */
static uint32
pass_on(KnownKeys *known, uint32 first, uint32 n)
{
	const LateDuplicates *late = &known->writer->late;
	uint32		nknown = 0;

	for (uint32 i = first; i < first + n; i++)
	{
		known->current = i;
		if (!is_known(known, i))
			pass_row(known, i);
		else if (nknown++, known->notes || known->nnoted < REJECTS_FIRST)
			note_row(known, i);
		else
			late->count(late->arg, known->rows[i].place.file, REJECT_DUPLICATE, 1);
	}
	known->current = -1;
	return nknown;
}

/* Settles rows from first on; returns how many. */
static uint32
settle(KnownKeys *known, uint32 first)
{
	uint32		n = look_up(known, first);
	uint32		nknown;

	fetch_candidates(known);
	nknown = pass_on(known, first, n);
	known->pays = nknown >= n / ENOUGH_KNOWN;
	if (known->pays)
		known->next_to_pass = ROWS_TO_PASS;
	else
	{
		known->to_pass = known->next_to_pass;
		known->next_to_pass = Min(2 * known->next_to_pass, PG_INT64_MAX / 4);
	}
	ExecClearTuple(known->slot);
	MemoryContextReset(known->scratch);
	known->candidates = (Candidates) {0};
	return n;
}

/* For the writer. */
static bool
find_place(void *arg, const ItemPointerData *tid, JournalPlace *place)
{
	KnownKeys  *known = arg;

	if (tid != NULL || known->current < 0)
		return false;
	*place = known->rows[known->current].place;
	return true;
}

static void
begin_lookup(KnownKeys *known)
{
	MemoryContext old = MemoryContextSwitchTo(known->context);
	LookupSink	sink = {.row = take_row,.entry = take_entry,.arg = known};

	known->index = index_open(known->relid, AccessShareLock);
	known->info = BuildIndexInfo(known->index);
	known->shape = shape_open(known->index);
	known->lookup = lookup_open(known->rel, known->index, known->shape, &sink);
	known->scratch = AllocSetContextCreate(known->context, "bulk_load rows to look up",
										   ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(old);
}

static void
end_lookup(KnownKeys *known)
{
	index_close(known->index, NoLock);
	MemoryContextReset(known->context);
}

static inline bool
is_trial_over(const KnownKeys *known)
{
	return known->pays || known->nrows >= ROWS_TO_TRY;
}

void
known_keys_flush(KnownKeys *known)
{
	if (known->nrows == 0)
		return;
	known->writer->current_row = -1;
	known->writer->find_place = find_place;
	known->writer->find_place_arg = known;
	if (is_trial_over(known))
	{
		begin_lookup(known);
		for (uint32 first = 0; first < known->nrows;)
			first += settle(known, first);
		end_lookup(known);
	}
	else
		for (known->current = 0; known->current < known->nrows; known->current++)
			pass_row(known, known->current);
	known->writer->find_place = NULL;
	known->nrows = 0;
	known->bytes = 0;
	arena_reset(&known->arena);
}

bool
known_keys_wanted(const KnownKeys *known)
{
	return known->to_pass <= 0;
}

void
known_keys_passed(KnownKeys *known, uint32 nrows)
{
	known->to_pass -= nrows;
}

Arena *
known_keys_arena(KnownKeys *known)
{
	return &known->arena;
}

void
known_keys_put(KnownKeys *known, HeapTuple tuple, uint32 number)
{
	WaitingRow *row;

	if (known->nrows == known->capacity)
	{
		known->capacity *= 2;
		known->rows = repalloc_huge(known->rows, known->capacity * sizeof(WaitingRow));
	}
	row = &known->rows[known->nrows++];
	row->tuple = tuple;
	journal_locate(checks_journal(known->checks), number, &row->place);
	known->bytes += sizeof(WaitingRow) + MAXALIGN(sizeof(HeapTupleData)) +
		MAXALIGN(tuple->t_len);
}

bool
known_keys_full(const KnownKeys *known)
{
	return is_trial_over(known) &&
		(!known->pays || known->bytes >= known->budget - memory_for_keys(known));
}

/* ---- begin and end ---- */

/* The table's only unique index, if keys can be looked up in it; else InvalidOid. */
static Oid
find_index(Relation rel)
{
	List	   *unique = tables_unique_indexes(rel);
	Relation	index;
	bool		serves;

	if (list_length(unique) != 1)
		return InvalidOid;
	index = index_open(linitial_oid(unique), AccessShareLock);
	serves = inserter_serves(index) && RelationGetIndexExpressions(index) == NIL &&
		RelationGetIndexPredicate(index) == NIL;
	index_close(index, AccessShareLock);
	return serves ? linitial_oid(unique) : InvalidOid;
}

/* Whether a row with a known key is a duplicate, whatever else there is. */
static bool
serves(Relation rel, const BulkOptions *options)
{
	return options->on_duplicate == BULK_ON_DUPLICATE_KEEP_OLD &&
		!IsolationUsesXactSnapshot() && RelationGetNumberOfBlocks(rel) > 0 &&
		/* the checks of foreign keys are such triggers */
		(rel->trigdesc == NULL || !rel->trigdesc->trig_insert_after_row);
}

KnownKeys *
known_keys_open(Writer *writer, KnownKeysPut put, Relation rel, const BulkOptions *options,
				Checks *checks, int checked)
{
	Oid			index = serves(rel, options) ? find_index(rel) : InvalidOid;
	KnownKeys  *known;

	if (!OidIsValid(index))
		return NULL;
	known = palloc0(sizeof(KnownKeys));
	known->writer = writer;
	known->put = put;
	known->rel = rel;
	known->relid = index;
	known->estate = CreateExecutorState();
	known->slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
	known->checks = checks;
	known->checked = checked;
	known->shows = options_show_rejects(options);
	known->notes = known->shows || options->duplicate_limit >= 0;
	known->budget = maintenance_work_mem * (Size) 1024;
	known->next_to_pass = ROWS_TO_PASS;
	known->current = -1;
	arena_init(&known->arena, CurrentMemoryContext, ARENA_BLOCK);
	known->capacity = ROWS_AT_ONCE;
	known->rows = palloc(known->capacity * sizeof(WaitingRow));
	known->context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load known keys",
										   ALLOCSET_DEFAULT_SIZES);
	return known;
}

void
known_keys_close(KnownKeys *known)
{
	ExecDropSingleTupleTableSlot(known->slot);
	FreeExecutorState(known->estate);
}
