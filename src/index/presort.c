/*
 * presort.c
 *		See presort.h.
 *
 * Rows are looked up in the hash table some hundreds at a time, in passes that
 * have the next one's memory fetched: one by one, each would wait for it.
 */
#include "postgres.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "index/keysort.h"
#include "index/presort.h"
#include "index/runs.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#define STAGED_ROWS 256
#define STAGED_BYTES (1024 * 1024)
#define FIRST_SLOTS 4096

/*
 * Blocks of the arena, by the memory there is.  A place in the arena, in words, is a
 * block's number and an offset in it, together 32 bits.
 */
#define ARENA_SHARE 32
#define ARENA_BLOCK_LEAST (128 * 1024)
#define ARENA_BLOCK_MOST (8 * 1024 * 1024)
#define ARENA_OFFSET_BITS 20
#define ARENA_MOST (UINT64CONST(16) * 1024 * 1024 * 1024)

/* How far memory is fetched ahead of its use, in groups or rows. */
#define AHEAD 16

/*
 * After so many rows it is seen whether grouping pays.  Keys that will come again
 * and again are still mostly new then: only where nearly all are is it given up.
 */
#define ROWS_TO_JUDGE (256 * 1024)
#define TOO_MANY_GROUPS 0.97

/* What a group will take when it is sorted, its sort string guessed. */
#define GROUP_SORT_SIZE (2 * sizeof(SortItem) + sizeof(SortString) + sizeof(Group *) + \
						 2 * sizeof(uint32) + 1)
#define STRING_GUESS 2			/* times the image */

#if defined(__GNUC__) || defined(__clang__)
#define fetch_ahead(address) __builtin_prefetch(address)
#else
#define fetch_ahead(address) ((void) 0)
#endif

#define HUGE_PAGE (2 * 1024 * 1024)

/* Image and what else is looked at with it, side by side. */
typedef struct Group
{
	uint32		number;
	uint32		size;			/* of the image, a multiple of MAXALIGN */
	char		image[FLEXIBLE_ARRAY_MEMBER];
} Group;

typedef struct Arena
{
	char	  **blocks;
	Size		nblocks;
	Size		blocks_room;
	Size		block_size;
	Size		used;			/* of the last block */
	Size		room;			/* in it */
	Size		taken;
} Arena;

struct Presort
{
	Shape	   *shape;
	Size		budget;
	MemoryContext context;		/* of this and the runs */
	MemoryContext memory;		/* of the run in hand */
	Runs	   *runs;			/* NULL: everything has fit so far */
	const PresortSink *unsorted;	/* where keys go as they are; NULL: they are sorted */
	BlockNumber block;			/* of the row put last */
	RowId		last_row;
	bool		unordered;		/* rows did not come by TID */
	bool		mixed;			/* nor do those of equal keys, from run to run */
	uint32		ncompared;		/* groups, by the operator class */

	/* integers */
	SortItem   *items;
	Size		nitems;
	Size		items_room;
	RowId	   *nulls;
	Size		nnulls;
	Size		nulls_room;

	/* all else: rows and the groups they belong to */
	Arena		arena;
	Group	  **groups;
	Size		ngroups;
	Size		groups_room;
	SortString **strings;		/* of the groups, if the caller has them; or NULL */
	Size		strings_room;
	RowId	   *rows;
	uint32	   *owners;
	Size		nrows;
	Size		rows_room;
	uint64	   *slots;			/* hash << 32 | place; NULL: grouping is given up */
	Size		nslots;

	/* rows on their way into groups */
	StringInfoData stage;
	int			nstaged;
	uint32		offsets[STAGED_ROWS + 1];
	uint32		hashes[STAGED_ROWS];
	RowId		staged[STAGED_ROWS];
};

static void
poll_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/* ---- memory ---- */

/*
 * What is looked up at random costs less where a page of memory is large: else
 * most of the time goes to finding where pages are.
 */
static void
prefer_huge_pages(void *address, Size size)
{
#ifdef MADV_HUGEPAGE
	uintptr_t	begin = TYPEALIGN(HUGE_PAGE, (uintptr_t) address);
	uintptr_t	end = TYPEALIGN_DOWN(HUGE_PAGE, (uintptr_t) address + size);

	/* where it is refused, pages are small */
	if (begin < end)
		(void) madvise((void *) begin, end - begin, MADV_HUGEPAGE);
#endif
}

static void *
take_memory(Presort *presort, Size size)
{
	void	   *result = MemoryContextAllocHuge(presort->memory, size);

	prefer_huge_pages(result, size);
	return result;
}

/* Room for one more in an array. */
static void *
make_room(Presort *presort, void *array, Size n, Size *room, Size size)
{
	if (n < *room)
		return array;
	*room = Max(2 * *room, 1024);
	if (array == NULL)
		return take_memory(presort, *room * size);
	array = repalloc_huge(array, *room * size);
	prefer_huge_pages(array, *room * size);
	return array;
}

/* Memory for what is never given back; its place, which is never 0. */
static char *
arena_take(Presort *presort, Size size, uint32 *place)
{
	Arena	   *arena = &presort->arena;
	char	   *result;

	size = MAXALIGN(size);
	if (size > arena->room - arena->used)
	{
		arena->room = Max(size + MAXIMUM_ALIGNOF, arena->block_size);
		arena->blocks = make_room(presort, arena->blocks, arena->nblocks,
								  &arena->blocks_room, sizeof(char *));
		arena->blocks[arena->nblocks++] = take_memory(presort, arena->room);
		arena->used = MAXIMUM_ALIGNOF;
	}
	result = arena->blocks[arena->nblocks - 1] + arena->used;
	if (place != NULL)
		*place = (arena->nblocks - 1) << ARENA_OFFSET_BITS |
			arena->used / MAXIMUM_ALIGNOF;
	arena->used += size;
	arena->taken += size;
	return result;
}

static inline Group *
group_at(const Presort *presort, uint32 place)
{
	return (Group *) (presort->arena.blocks[place >> ARENA_OFFSET_BITS] +
					  (Size) (place & ((1 << ARENA_OFFSET_BITS) - 1)) * MAXIMUM_ALIGNOF);
}

/* Begins a run with nothing in it. */
static void
begin_run(Presort *presort)
{
	MemoryContextReset(presort->memory);
	presort->items = NULL;
	presort->nulls = presort->rows = NULL;
	presort->groups = NULL;
	presort->strings = NULL;
	presort->owners = NULL;
	presort->nitems = presort->items_room = 0;
	presort->nnulls = presort->nulls_room = 0;
	presort->ngroups = presort->groups_room = presort->strings_room = 0;
	presort->nrows = presort->rows_room = 0;
	memset(&presort->arena, 0, sizeof(Arena));
	presort->arena.block_size = Min(Max(presort->budget / ARENA_SHARE, ARENA_BLOCK_LEAST),
									ARENA_BLOCK_MOST);
	presort->unordered = false;
	presort->last_row = 0;
	presort->slots = NULL;
	if (!presort->shape->integer)
	{
		presort->nslots = FIRST_SLOTS;
		presort->slots = MemoryContextAllocZero(presort->memory,
												FIRST_SLOTS * sizeof(uint64));
	}
}

Presort *
presort_open(Shape *shape, Size budget)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "presort",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Presort    *presort = palloc0(sizeof(Presort));

	presort->shape = shape;
	presort->budget = Min(budget, ARENA_MOST);
	presort->context = context;
	presort->memory = AllocSetContextCreate(context, "presort run",
											ALLOCSET_DEFAULT_SIZES);
	presort->block = InvalidBlockNumber;
	initStringInfo(&presort->stage);
	begin_run(presort);
	MemoryContextSwitchTo(old);
	return presort;
}

Presort *
presort_open_rows(Shape *shape, Size budget)
{
	Presort    *presort = presort_open(shape, budget);

	presort->mixed = !shape->exact;
	return presort;
}

Presort *
presort_open_unsorted(Shape *shape, Size budget, const PresortSink *sink)
{
	Presort    *presort = presort_open(shape, budget);

	Assert(!shape->integer);
	presort->unsorted = sink;
	return presort;
}

void
presort_close(Presort *presort)
{
	if (presort->runs != NULL)
		runs_close(presort->runs);
	MemoryContextDelete(presort->context);
}

int
presort_runs(const Presort *presort)
{
	return presort->runs == NULL ? 0 : runs_count(presort->runs);
}

/* What the run takes, and will take when it is sorted. */
static Size
memory_needed(const Presort *presort)
{
	Size		rows = presort->nrows * (2 * sizeof(RowId) + sizeof(uint32));
	Size		groups = presort->ngroups * sizeof(Group *);
	Size		images = presort->arena.taken;

	if (presort->unsorted == NULL)
		groups += presort->ngroups * GROUP_SORT_SIZE;
	if (presort->unsorted == NULL && presort->strings == NULL)
		images *= 1 + STRING_GUESS;
	return presort->nitems * 2 * sizeof(SortItem) + presort->nnulls * sizeof(RowId) +
		rows + groups + images +
		(presort->slots ? presort->nslots * sizeof(uint64) : 0);
}

/* ---- grouping ---- */

/* Of an image, which is whole words. */
static inline uint32
hash_image(const char *image, Size size)
{
	uint64		hash = size * UINT64CONST(0x9E3779B97F4A7C15);

	for (Size at = 0; at < size; at += sizeof(uint64))
	{
		uint64		word;

		memcpy(&word, image + at, sizeof(word));
		hash = (hash ^ word) * UINT64CONST(0xD6E8FEB86659FD93);
		hash ^= hash >> 32;
	}
	return (uint32) (hash ^ hash >> 29);
}

static void
grow_slots(Presort *presort)
{
	Size		nslots = presort->nslots * 2;
	uint64	   *slots;

	slots = take_memory(presort, nslots * sizeof(uint64));
	memset(slots, 0, nslots * sizeof(uint64));
	for (Size i = 0; i < presort->nslots; i++)
	{
		uint64		slot = presort->slots[i];
		Size		at;

		if (slot == 0)
			continue;
		at = (slot >> 32) & (nslots - 1);
		while (slots[at] != 0)
			at = (at + 1) & (nslots - 1);
		slots[at] = slot;
	}
	pfree(presort->slots);
	presort->slots = slots;
	presort->nslots = nslots;
}

static Group *
add_group(Presort *presort, const char *image, Size size, uint32 *place)
{
	Group	   *group = (Group *) arena_take(presort, offsetof(Group, image) + size, place);

	presort->groups = make_room(presort, presort->groups, presort->ngroups,
								&presort->groups_room, sizeof(Group *));
	memcpy(group->image, image, size);
	group->size = size;
	group->number = presort->ngroups;
	presort->groups[presort->ngroups++] = group;
	return group;
}

/* Whether images, which are whole words, are the same. */
static inline bool
has_image(const Group *group, const char *image, Size size)
{
	if (group->size != size)
		return false;
	for (Size at = 0; at < size; at += sizeof(uint64))
		if (memcmp(group->image + at, image + at, sizeof(uint64)) != 0)
			return false;
	return true;
}

/* The first slot from at on that is empty or may hold the hash's group. */
static inline Size
probe_slots(const Presort *presort, Size at, uint32 hash)
{
	Size		mask = presort->nslots - 1;

	for (at &= mask; presort->slots[at] != 0; at = (at + 1) & mask)
		if ((uint32) (presort->slots[at] >> 32) == hash)
			break;
	return at;
}

static Group *
find_group(Presort *presort, const char *image, Size size, uint32 hash)
{
	Size		at = probe_slots(presort, hash, hash);
	Group	   *group;
	uint32		place;

	for (; presort->slots[at] != 0; at = probe_slots(presort, at + 1, hash))
	{
		group = group_at(presort, (uint32) presort->slots[at]);
		if (has_image(group, image, size))
			return group;
	}
	group = add_group(presort, image, size, &place);
	presort->slots[at] = (uint64) hash << 32 | place;
	return group;
}

/* Has the memory that find_group will look at fetched. */
static void
fetch_groups(const Presort *presort)
{
	for (int i = 0; i < presort->nstaged; i++)
		fetch_ahead(&presort->slots[presort->hashes[i] & (presort->nslots - 1)]);
	for (int i = 0; i < presort->nstaged; i++)
	{
		Size		at = probe_slots(presort, presort->hashes[i], presort->hashes[i]);

		if (presort->slots[at] != 0)
			fetch_ahead(group_at(presort, (uint32) presort->slots[at]));
	}
}

static void
judge_grouping(Presort *presort)
{
	if (presort->slots == NULL || presort->nrows < ROWS_TO_JUDGE ||
		presort->nrows >= 2 * ROWS_TO_JUDGE ||
		presort->ngroups < TOO_MANY_GROUPS * presort->nrows)
		return;
	pfree(presort->slots);
	presort->slots = NULL;
}

static void
make_room_for_rows(Presort *presort, uint32 n)
{
	while (presort->nrows + n > presort->rows_room)
	{
		Size		room = presort->rows_room;

		presort->rows = make_room(presort, presort->rows, room, &presort->rows_room,
								  sizeof(RowId));
		presort->owners = make_room(presort, presort->owners, room, &room,
									sizeof(uint32));
	}
}

/* Staged rows find their groups. */
static void
group_rows(Presort *presort)
{
	if (presort->nstaged == 0)
		return;
	make_room_for_rows(presort, presort->nstaged);
	if (presort->slots != NULL)
	{
		while (presort->ngroups + presort->nstaged > presort->nslots / 2)
			grow_slots(presort);
		fetch_groups(presort);
	}
	for (int i = 0; i < presort->nstaged; i++)
	{
		const char *image = presort->stage.data + presort->offsets[i];
		Size		size = presort->offsets[i + 1] - presort->offsets[i];
		const Group *group = presort->slots == NULL ?
			add_group(presort, image, size, NULL) :
			find_group(presort, image, size, presort->hashes[i]);

		presort->rows[presort->nrows] = presort->staged[i];
		presort->owners[presort->nrows++] = group->number;
	}
	presort->nstaged = 0;
	resetStringInfo(&presort->stage);
	judge_grouping(presort);
}

static void
stage_row(Presort *presort, RowId row, const Datum *values, const bool *isnull)
{
	int			i = presort->nstaged;
	Size		size;

	presort->offsets[i] = presort->stage.len;
	size = shape_image(presort->shape, values, isnull, &presort->stage);
	if (presort->slots != NULL)
		presort->hashes[i] = hash_image(presort->stage.data + presort->offsets[i], size);
	presort->offsets[i + 1] = presort->stage.len;
	presort->staged[i] = row;
	presort->nstaged++;
	if (presort->nstaged == STAGED_ROWS || presort->stage.len > STAGED_BYTES)
		group_rows(presort);
}

static inline void
put_integer(Presort *presort, RowId row, uint64 key)
{
	presort->items = make_room(presort, presort->items, presort->nitems,
							   &presort->items_room, sizeof(SortItem));
	presort->items[presort->nitems].key = key;
	presort->items[presort->nitems++].value = row;
}

static void
put_null(Presort *presort, RowId row)
{
	presort->nulls = make_room(presort, presort->nulls, presort->nnulls,
							   &presort->nulls_room, sizeof(RowId));
	presort->nulls[presort->nnulls++] = row;
}

/* ---- handing out integers ---- */

static int
compare_rows(const void *a, const void *b)
{
	RowId		row_a = *(const RowId *) a;
	RowId		row_b = *(const RowId *) b;

	return (row_a > row_b) - (row_a < row_b);
}

/* Rows of one key; with HOT chains about they need not come in order. */
static void
hand_out_rows(const Presort *presort, RowId *rows, uint32 n, const PresortSink *sink)
{
	if (presort->unordered && n > 1)
		qsort(rows, n, sizeof(RowId), compare_rows);
	sink->rows(sink->arg, rows, n);
}

static void
hand_out_nulls(Presort *presort, const PresortSink *sink)
{
	char		image[MAXIMUM_ALIGNOF] = {1};
	char		string[2 * sizeof(uint64)]; /* before or behind all integers */

	if (presort->nnulls == 0)
		return;
	memset(string, presort->shape->columns[0].nulls_first ? 0 : 0xff, sizeof(string));
	if (sink->string != NULL)
		sink->string(sink->arg, string, sizeof(string));
	sink->key(sink->arg, image, sizeof(image), false);
	hand_out_rows(presort, presort->nulls, presort->nnulls, sink);
}

static void
hand_out_integers(Presort *presort, const PresortSink *sink)
{
	SortItem   *items = presort->items;
	SortItem   *spare;
	RowId	   *rows;
	Size		n = presort->nitems;
	Size		size = shape_integer_size(presort->shape);
	char		image[SHAPE_INTEGER_IMAGE];

	spare = take_memory(presort, Max(n, 1) * sizeof(SortItem));
	keysort_integers(items, spare, n, poll_interrupts);
	rows = (RowId *) spare;
	for (Size begin = 0, end; begin < n; begin = end)
	{
		for (end = begin; end < n && items[end].key == items[begin].key; end++)
			rows[end - begin] = items[end].value;
		if (sink->string != NULL)
		{
			uint64		string = pg_hton64(items[begin].key);

			sink->string(sink->arg, (const char *) &string, sizeof(string));
		}
		shape_integer_image(presort->shape, items[begin].key, image);
		sink->key(sink->arg, image, size, false);
		hand_out_rows(presort, rows, end - begin, sink);
	}
}

/* ---- handing out groups ---- */

/* Groups on their way out, in order. */
typedef struct Sorted
{
	const Group **groups;
	const SortString **strings; /* NULL: not wanted, or of no use */
	uint8	   *equal;			/* whether one's key is the same as the one's before */
	RowId	   *rows;			/* all rows, by group */
	uint32	   *begins;			/* of each group's rows, and their end */
} Sorted;

static inline bool
is_same(const Group *a, const Group *b)
{
	return has_image(a, b->image, b->size);
}

static int
compare_groups(const void *a, const void *b, void *arg)
{
	Presort    *presort = arg;
	const Group *group_a = *(const Group *const *) a;
	const Group *group_b = *(const Group *const *) b;

	/* nobody but this looks for them while all is sorted by it */
	if (presort->ncompared++ % STAGED_ROWS == 0)
		CHECK_FOR_INTERRUPTS();
	if (!is_same(group_a, group_b))
	{
		int			order = shape_compare(presort->shape, group_a->image, group_b->image);

		if (order != 0)
			return order;
	}
	return (group_a->number > group_b->number) - (group_a->number < group_b->number);
}

static int
compare_items(const void *a, const void *b, void *arg)
{
	const Presort *presort = arg;

	return compare_groups(&presort->groups[keysort_string(a)->number],
						  &presort->groups[keysort_string(b)->number], arg);
}

/* The sort strings do not tell these apart. */
static void
sort_tied(SortItem *items, size_t n, void *arg)
{
	CHECK_FOR_INTERRUPTS();
	qsort_arg(items, n, sizeof(SortItem), compare_items, arg);
}

static SortString *
make_string(Presort *presort, uint32 number, const StringInfoData *string)
{
	SortString *result = (SortString *) arena_take(presort, sizeof(SortString) + string->len,
												   NULL);

	result->number = number;
	result->length = string->len;
	memcpy(result->bytes, string->data, string->len);
	return result;
}

/* The groups' strings as items. */
static void
make_items(Presort *presort, SortItem *items)
{
	StringInfoData string;

	initStringInfo(&string);
	for (Size i = 0; i < presort->ngroups; i++)
	{
		if (i % STAGED_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		if (presort->strings != NULL)
		{
			items[i].value = (uintptr_t) presort->strings[i];
			continue;
		}
		resetStringInfo(&string);
		shape_string(presort->shape, presort->groups[i]->image, &string);
		items[i].value = (uintptr_t) make_string(presort, i, &string);
	}
	pfree(string.data);
}

/* Puts the groups, and if wanted their strings, in the order of their sort strings. */
static void
sort_groups(Presort *presort, const Group **sorted, const SortString **strings)
{
	Size		n = presort->ngroups;
	SortHelp	help = {.tie = sort_tied,.poll = poll_interrupts,.arg = presort};
	SortItem   *items = take_memory(presort, n * sizeof(SortItem));
	SortItem   *spare = take_memory(presort, n * sizeof(SortItem));

	make_items(presort, items);
	keysort_strings(items, spare, n, &help);
	for (Size i = 0; i < n; i++)
	{
		fetch_ahead(keysort_string(&items[Min(i + AHEAD, n - 1)]));
		sorted[i] = presort->groups[keysort_string(&items[i])->number];
		if (strings != NULL)
			strings[i] = keysort_string(&items[i]);
	}
	pfree(items);
	pfree(spare);
}

/* Has the memory of the groups to come fetched. */
static inline void
fetch_group(const Presort *presort, const Group **sorted, Size i)
{
	fetch_ahead(sorted[Min(i + AHEAD, presort->ngroups - 1)]);
}

/* Notes which groups are equal; false: they are not in order. */
static bool
verify_order(Presort *presort, const Group **sorted, uint8 *equal)
{
	const char *before = NULL;

	for (Size i = 0; i < presort->ngroups; i++)
	{
		const char *image = sorted[i]->image;
		int			compared = -1;

		if (i % STAGED_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		fetch_group(presort, sorted, i);
		if (before != NULL)
			compared = shape_compare(presort->shape, before, image);
		if (compared > 0)
			return false;
		equal[i] = compared == 0;
		before = image;
	}
	return true;
}

/* Lays the rows of each group side by side, groups in order. */
static void
scatter_rows(Presort *presort, Sorted *sorted)
{
	Size		last = presort->nrows - 1;
	uint32	   *places = take_memory(presort, presort->ngroups * sizeof(uint32));
	uint32		begin = 0;

	/* how many each has, then where they go */
	memset(places, 0, presort->ngroups * sizeof(uint32));
	for (Size i = 0; i < presort->nrows; i++)
		places[presort->owners[i]]++;
	for (Size i = 0; i < presort->ngroups; i++)
	{
		uint32		number = sorted->groups[i]->number;
		uint32		nrows = places[number];

		fetch_group(presort, sorted->groups, i);
		sorted->begins[i] = places[number] = begin;
		begin += nrows;
	}
	sorted->begins[presort->ngroups] = begin;

	for (Size i = 0; i < presort->nrows; i++)
	{
		fetch_ahead(&places[presort->owners[Min(i + 2 * AHEAD, last)]]);
		fetch_ahead(&sorted->rows[places[presort->owners[Min(i + AHEAD, last)]]]);
		sorted->rows[places[presort->owners[i]]++] = presort->rows[i];
	}
	pfree(places);
}

/* Hands out what is equal to the key before. */
static void
hand_out_equal(const Group *group, const Group *before, const RowId *rows,
			   uint32 n, const PresortSink *sink)
{
	if (before == NULL || !is_same(group, before))
		sink->key(sink->arg, group->image, group->size, before != NULL);
	sink->rows(sink->arg, rows, n);
}

/*
 * Groups [begin, end), one behind the other, if that is the order of their rows:
 * where grouping was given up, it mostly is.
 */
static bool
hand_out_in_turn(Presort *presort, const Sorted *sorted, Size begin, Size end,
				 const PresortSink *sink)
{
	const uint32 *begins = sorted->begins;

	if (presort->unordered)
		return false;
	for (Size i = begin + 1; i < end; i++)
		if (sorted->rows[begins[i]] < sorted->rows[begins[i] - 1])
			return false;
	for (Size i = begin; i < end; i++)
		hand_out_equal(sorted->groups[i], i > begin ? sorted->groups[i - 1] : NULL,
					   sorted->rows + begins[i], begins[i + 1] - begins[i], sink);
	return true;
}

/* Groups [begin, end) are equal to the index. */
static void
hand_out_equals(Presort *presort, const Sorted *sorted, Size begin, Size end,
				const PresortSink *sink)
{
	SortItem   *items;
	SortItem   *spare;
	Size		n = sorted->begins[end] - sorted->begins[begin];
	const Group *last = NULL;

	if (hand_out_in_turn(presort, sorted, begin, end, sink))
		return;
	items = take_memory(presort, n * sizeof(SortItem));
	spare = take_memory(presort, n * sizeof(SortItem));
	n = 0;
	for (Size i = begin; i < end; i++)
		for (uint32 row = sorted->begins[i]; row < sorted->begins[i + 1]; row++)
		{
			items[n].key = sorted->rows[row];
			items[n++].value = i;
		}
	keysort_integers(items, spare, n, poll_interrupts);
	for (Size i = 0; i < n; i++)
	{
		const Group *group = sorted->groups[items[i].value];

		hand_out_equal(group, last, &items[i].key, 1, sink);
		last = group;
	}
	pfree(items);
	pfree(spare);
}

static void
drop_slots(Presort *presort)
{
	if (presort->slots != NULL)
		pfree(presort->slots);
	presort->slots = NULL;
}

/* Has room for the rows of n groups. */
static void
make_room_for_sorted(Presort *presort, Sorted *sorted)
{
	sorted->rows = take_memory(presort, presort->nrows * sizeof(RowId));
	sorted->begins = take_memory(presort, (presort->ngroups + 1) * sizeof(uint32));
}

static void
hand_out_unsorted(Presort *presort, const PresortSink *sink)
{
	Sorted		sorted = {.groups = (const Group **) presort->groups};

	if (presort->ngroups == 0)
		return;
	drop_slots(presort);
	make_room_for_sorted(presort, &sorted);
	scatter_rows(presort, &sorted);
	for (Size i = 0; i < presort->ngroups; i++)
	{
		const Group *group = presort->groups[i];

		if (i % STAGED_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		sink->key(sink->arg, group->image, group->size, false);
		hand_out_rows(presort, sorted.rows + sorted.begins[i],
					  sorted.begins[i + 1] - sorted.begins[i], sink);
	}
}

static void
hand_out_groups(Presort *presort, const PresortSink *sink)
{
	Size		n = presort->ngroups;
	Sorted		sorted;

	if (n == 0)
		return;
	drop_slots(presort);
	sorted.groups = take_memory(presort, n * sizeof(Group *));
	sorted.strings = sink->string == NULL ? NULL : take_memory(presort, n * sizeof(SortString *));
	sorted.equal = take_memory(presort, n);
	sort_groups(presort, sorted.groups, sorted.strings);
	if (!verify_order(presort, sorted.groups, sorted.equal))
	{
		sorted.strings = NULL;
		qsort_arg(sorted.groups, n, sizeof(Group *), compare_groups, presort);
		if (!verify_order(presort, sorted.groups, sorted.equal))
			elog(ERROR, "keys of an index do not compare consistently");
	}
	make_room_for_sorted(presort, &sorted);
	scatter_rows(presort, &sorted);

	for (Size begin = 0, end; begin < n; begin = end)
	{
		const Group *group = sorted.groups[begin];

		fetch_group(presort, sorted.groups, begin);
		if (sorted.strings != NULL)
			sink->string(sink->arg, (const char *) sorted.strings[begin]->bytes,
						 sorted.strings[begin]->length);
		else if (sink->string != NULL)
			sink->string(sink->arg, NULL, 0);
		for (end = begin + 1; end < n && sorted.equal[end];)
			end++;
		if (end - begin > 1)
		{
			hand_out_equals(presort, &sorted, begin, end, sink);
			continue;
		}
		sink->key(sink->arg, group->image, group->size, false);
		hand_out_rows(presort, sorted.rows + sorted.begins[begin],
					  sorted.begins[end] - sorted.begins[begin], sink);
	}
}

/* ---- the whole ---- */

static void
hand_out(Presort *presort, const PresortSink *sink)
{
	bool		nulls_first = presort->shape->columns[0].nulls_first;

	if (!presort->shape->integer)
	{
		group_rows(presort);
		if (presort->unsorted != NULL)
			hand_out_unsorted(presort, sink);
		else
			hand_out_groups(presort, sink);
		return;
	}
	if (nulls_first)
		hand_out_nulls(presort, sink);
	hand_out_integers(presort, sink);
	if (!nulls_first)
		hand_out_nulls(presort, sink);
}

static void
write_run(Presort *presort)
{
	MemoryContext old = MemoryContextSwitchTo(presort->context);
	PresortSink sink;

	if (presort->runs == NULL)
		presort->runs = runs_open(presort->shape, presort->budget / 2, presort->mixed);
	sink = runs_begin(presort->runs);
	hand_out(presort, &sink);
	runs_end(presort->runs);
	begin_run(presort);
	MemoryContextSwitchTo(old);
}

/* Gets rid of what is in memory, if that is too much. */
static inline void
bound_memory(Presort *presort)
{
	if (memory_needed(presort) <= presort->budget)
		return;
	if (presort->unsorted == NULL)
		write_run(presort);
	else
	{
		hand_out(presort, presort->unsorted);
		begin_run(presort);
	}
}

/* What is to be seen to for a row, where they come block by block. */
static inline void
begin_row(Presort *presort, RowId row)
{
	BlockNumber block = row_block(row);

	/* between blocks, as rows within one may come in any order */
	if (block != presort->block)
	{
		presort->block = block;
		bound_memory(presort);
	}
	if (row < presort->last_row)
		presort->unordered = true;
	presort->last_row = row;
}

void
presort_put(Presort *presort, const ItemPointerData *tid, const Datum *values,
			const bool *isnull, bool alive)
{
	RowId		row = row_id(tid, alive);

	begin_row(presort, row);
	if (!presort->shape->integer)
		stage_row(presort, row, values, isnull);
	else if (isnull[0])
		put_null(presort, row);
	else
		put_integer(presort, row, shape_integer(presort->shape, values[0]));
}

/* The group of an image, which may be a new one. */
static const Group *
group_for(Presort *presort, const char *image, Size size, const StringInfoData *string)
{
	Size		before = presort->ngroups;
	const Group *group;

	while (presort->slots != NULL && before >= presort->nslots / 2)
		grow_slots(presort);
	group = presort->slots == NULL ? add_group(presort, image, size, NULL) :
		find_group(presort, image, size, hash_image(image, size));
	if (string != NULL && presort->ngroups > before)
	{
		presort->strings = make_room(presort, presort->strings, before,
									 &presort->strings_room, sizeof(SortString *));
		presort->strings[before] = make_string(presort, before, string);
	}
	return group;
}

void
presort_put_rows(Presort *presort, const char *image, Size size,
				 const StringInfoData *string, const RowId *rows, uint32 n)
{
	const Group *group;

	if (presort->shape->integer)
	{
		for (uint32 i = 0; i < n; i++)
		{
			begin_row(presort, rows[i]);
			put_null(presort, rows[i]);
		}
		return;
	}
	bound_memory(presort);
	make_room_for_rows(presort, n);
	group = group_for(presort, image, size, string);
	for (uint32 i = 0; i < n; i++)
	{
		presort->rows[presort->nrows] = rows[i];
		presort->owners[presort->nrows++] = group->number;
	}
	judge_grouping(presort);
}

void
presort_put_integer(Presort *presort, uint64 key, RowId row)
{
	begin_row(presort, row);
	put_integer(presort, row, key);
}

void
presort_finish(Presort *presort, const PresortSink *sink)
{
	MemoryContext old = MemoryContextSwitchTo(presort->context);

	if (presort->runs == NULL)
		hand_out(presort, sink);
	else
	{
		write_run(presort);
		runs_merge(presort->runs, sink);
	}
	MemoryContextSwitchTo(old);
}
