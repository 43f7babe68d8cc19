/*
 * sorted_insert.c
 *		See sorted_insert.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "index/candidates.h"
#include "index/inserter.h"
#include "index/lookup.h"
#include "index/sorted_insert.h"
#include "miscadmin.h"
#include "row/arena.h"
#include "server/compat.h"
#include "server/progress.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define ARENA_BLOCK (64 * 1024)

#define FIRST_KEYS 1024

/* Entries whose rows the table is asked about at a time, */
#define ENTRIES_AT_ONCE (256 * 1024)

/* and rows of a key that are copied at a time. */
#define ROWS_AT_ONCE (16 * 1024)

/* A key that waits. */
typedef struct SortedKey
{
	const char *image;
	Size		size;
	bool		equal;			/* to the one before, for the index */
	bool		asks;			/* whether rows stand that have it */
	RowId		standing;		/* such a row; 0: none is known */
	const RowId *rows;
	uint32		nrows;
} SortedKey;

/* Rows of keys that are equal, which come one after the other. */
typedef struct EqualRows
{
	bool		checked;		/* no two live ones may have the key */
	RowId		live;			/* a live one; 0: none yet */
	bool		noted;			/* that and another one */
} EqualRows;

struct SortedInsert
{
	SortedInsertion its;
	IndexInfo  *info;			/* as of an index that is not unique: duplicates are noted here */
	Inserter   *inserter;
	Lookup	   *lookup;			/* NULL: nobody notes them */
	MemoryContext scratch;		/* while keys are put in */
	double		nrows;

	/* the keys that wait */
	Arena		arena;
	SortedKey  *keys;
	uint32		nkeys;
	uint32		capacity;
	Size		bytes;

	/* duplicates */
	Candidates	candidates;
	EqualRows	equals;			/* also of keys that are in already */
	uint32		ngroups;
};

/* ---- rows that stand ---- */

static void
take_row(void *arg, RowId row, bool first)
{
}

/* An entry with a key that is looked up.  Those of the load's own rows are known here. */
static void
take_entry(void *arg, RowId row, const ItemPointerData *tid, bool visible)
{
	SortedInsert *insert = arg;
	uint32		number = candidates_row_number(row);

	if (ItemPointerGetBlockNumberNoCheck(tid) >= insert->its.first ||
		insert->keys[number].standing != 0)
		return;
	if (visible)
		insert->keys[number].standing = row_id(tid, true);
	else
		candidates_add(&insert->candidates, insert->scratch, tid, number);
}

static bool
is_answered(void *arg, uint32 number)
{
	const SortedInsert *insert = arg;

	return insert->keys[number].standing != 0;
}

static void
take_standing(void *arg, uint32 number, RowId standing)
{
	SortedInsert *insert = arg;

	insert->keys[number].standing = standing;
}

/* Asks the table about the entries found so far; no leaf is locked. */
static void
ask_table(SortedInsert *insert)
{
	CandidatesAsker asker = {.is_answered = is_answered,.stands = take_standing,.arg = insert};
	SnapshotData dirty;

	lookup_end(insert->lookup);
	InitDirtySnapshot(dirty);
	candidates_ask(&insert->candidates, insert->its.heap, &dirty, &asker);
}

/* Which keys rows of the table have that are alive, or may come to be. */
static void
find_standing(SortedInsert *insert)
{
	KeySink		sink = lookup_keys(insert->lookup);

	for (uint32 i = 0; i < insert->nkeys; i++)
	{
		const SortedKey *key = &insert->keys[i];
		ItemPointerData number;
		RowId		row;

		if (!key->asks)
			continue;
		candidates_number_tid(i, &number);
		row = row_id(&number, true);
		sink.key(sink.arg, key->image, key->size, false);
		sink.rows(sink.arg, &row, 1);
		if (insert->candidates.n >= ENTRIES_AT_ONCE)
			ask_table(insert);
	}
	ask_table(insert);
}

/* ---- duplicates ---- */

/* A live row: whether another one has its key. */
static void
note_row(SortedInsert *insert, RowId row)
{
	const ConflictSink *sink = insert->its.conflicts;
	EqualRows  *equals = &insert->equals;

	if (equals->live == 0)
	{
		equals->live = row;
		return;
	}
	if (!equals->noted)
		sink->add(sink->arg, insert->ngroups++, equals->live);
	sink->add(sink->arg, insert->ngroups - 1, row);
	equals->noted = true;
}

static void
note_duplicates(SortedInsert *insert)
{
	for (uint32 i = 0; i < insert->nkeys; i++)
	{
		const SortedKey *key = &insert->keys[i];

		if (!key->equal)
			insert->equals = (EqualRows) {.checked = key->asks,.live = key->standing};
		if (!insert->equals.checked)
			continue;
		for (uint32 j = 0; j < key->nrows; j++)
			if (row_alive(key->rows[j]))
				note_row(insert, key->rows[j]);
	}
}

/* ---- the entries ---- */

/* A row that the inserter leaves to the server, such as one with a key that no page may hold. */
static void
ask_server(void *arg, RowId row, const char *image, Size size, bool entered)
{
	SortedInsert *insert = arg;

	Assert(!entered);
	(void) inserter_ask_server(insert->inserter, row, image);
}

static void
insert_entries(SortedInsert *insert)
{
	KeySink		sink = inserter_keys(insert->inserter);

	for (uint32 i = 0; i < insert->nkeys; i++)
	{
		const SortedKey *key = &insert->keys[i];

		/* the entry of a row that stands, and goes if new rows replace those that were there */
		inserter_expect_versions(insert->inserter, key->standing != 0);
		sink.key(sink.arg, key->image, key->size, key->equal);
		sink.rows(sink.arg, key->rows, key->nrows);
		insert->nrows += key->nrows;
	}
	inserter_end(insert->inserter);
}

/* No key waits afterwards. */
static void
flush(SortedInsert *insert)
{
	MemoryContext old = MemoryContextSwitchTo(insert->scratch);

	CHECK_FOR_INTERRUPTS();
	if (insert->lookup != NULL)
	{
		find_standing(insert);
		note_duplicates(insert);
	}
	insert_entries(insert);
	progress_done(insert->nrows / insert->its.rows);
	MemoryContextSwitchTo(old);
	MemoryContextReset(insert->scratch);
	insert->candidates = (Candidates) {0};
	insert->nkeys = 0;
	insert->bytes = 0;
	arena_reset(&insert->arena);
}

/* ---- the sink ---- */

static void *
copy(SortedInsert *insert, const void *from, Size size)
{
	void	   *to = arena_alloc(&insert->arena, size);

	memcpy(to, from, size);
	insert->bytes += MAXALIGN(size);
	return to;
}

/* Whether the index has to have no other row with a key. */
static inline bool
is_checked(const SortedInsert *insert, const char *image)
{
	return insert->lookup != NULL &&
		(insert->info->ii_NullsNotDistinct || !shape_has_null(insert->its.shape, image));
}

static void
take_key(void *arg, const char *image, Size size, bool equal)
{
	SortedInsert *insert = arg;
	SortedKey  *key;

	if (insert->bytes >= insert->its.memory)
		flush(insert);
	if (insert->nkeys == insert->capacity)
	{
		insert->capacity *= 2;
		insert->keys = repalloc_huge(insert->keys, insert->capacity * sizeof(SortedKey));
	}
	key = &insert->keys[insert->nkeys++];
	insert->bytes += sizeof(SortedKey);
	*key = (SortedKey) {
		.image = copy(insert, image, size),
		.size = size,
		.equal = equal,
		.asks = !equal && is_checked(insert, image)
	};
}

/* The current key has more rows: they come as those of one that is equal to it. */
static void
repeat_key(SortedInsert *insert)
{
	const SortedKey *key = &insert->keys[insert->nkeys - 1];
	Size		size = key->size;
	char	   *image = memcpy(palloc(size), key->image, size);

	/* which may put in and forget those that wait */
	take_key(insert, image, size, true);
	pfree(image);
}

static void
take_rows(void *arg, const RowId *rows, uint32 n)
{
	SortedInsert *insert = arg;

	while (n > 0)
	{
		uint32		some = Min(n, ROWS_AT_ONCE);
		SortedKey  *key;

		if (insert->keys[insert->nkeys - 1].nrows > 0)
			repeat_key(insert);
		key = &insert->keys[insert->nkeys - 1];
		key->rows = copy(insert, rows, some * sizeof(RowId));
		key->nrows = some;
		rows += some;
		n -= some;
	}
}

KeySink
sorted_insert_keys(SortedInsert *insert)
{
	return (KeySink) {.key = take_key,.rows = take_rows,.arg = insert};
}

/* ---- begin and end ---- */

SortedInsert *
sorted_insert_open(const SortedInsertion *insertion)
{
	SortedInsert *insert = palloc0(sizeof(SortedInsert));
	LookupSink	sink = {.row = take_row,.entry = take_entry,.arg = insert};

	insert->its = *insertion;
	insert->info = BuildIndexInfo(insertion->index);
	insert->info->ii_Unique = false;
	insert->inserter = inserter_open(insertion->heap, insertion->index, insert->info,
									 insertion->shape, ask_server, insert);
	if (insertion->conflicts != NULL)
		insert->lookup = lookup_open(insertion->heap, insertion->index, insertion->shape, &sink);
	insert->scratch = AllocSetContextCreate(CurrentMemoryContext, "sorted insert",
											ALLOCSET_DEFAULT_SIZES);
	arena_init(&insert->arena, CurrentMemoryContext, ARENA_BLOCK);
	insert->capacity = FIRST_KEYS;
	insert->keys = palloc(insert->capacity * sizeof(SortedKey));
	return insert;
}

double
sorted_insert_close(SortedInsert *insert)
{
	if (insert->nkeys > 0)
		flush(insert);
	compat_index_insert_cleanup(insert->its.index, insert->info);
	return insert->nrows;
}
