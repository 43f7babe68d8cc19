/*
 * groups.c
 *		See groups.h.
 *
 * Rows are looked up in the hash table some hundreds at a time, in passes that
 * have the next one's memory fetched: one by one, each would wait for it.  With simplehash.h
 * a load with an index of two integers took 2 % more CPU, and as many lines: what
 * fetches ahead looks at the slots.
 */
#include "postgres.h"

#include "index/groups.h"
#include "index/huge_array.h"
#include "index/keysort.h"
#include "miscadmin.h"
#include "server/fetch_ahead.h"
#include "utils/memutils.h"

#define STAGED_ROWS 256
#define STAGED_BYTES (1024 * 1024)
#define FIRST_SLOTS 4096

/*
 * Blocks of the arena, by the memory there is.  A place in the arena, in words, is a
 * block's number and an offset in it, together 32 bits.
 */
#define ARENA_SHARE 32
#define ARENA_FIRST_BLOCK (16 * 1024)
#define ARENA_MIN_BLOCK (128 * 1024)
#define ARENA_MAX_BLOCK (8 * 1024 * 1024)
#define ARENA_OFFSET_BITS 20

/* How far memory is fetched ahead of its use, in groups or rows. */
#define AHEAD 16

/*
 * After so many rows it is seen whether grouping pays.  Keys that will come again
 * and again are still mostly new then: only where nearly all are is it given up.
 */
#define ROWS_TO_JUDGE (256 * 1024)
#define TOO_MANY_GROUPS 0.97

/* From so many groups on it pays to learn the weights of characters (weights.h). */
#define MIN_WEIGHED 1024

/* What a group will take when it is sorted, its sort string guessed. */
#define GROUP_SORT_SIZE (2 * sizeof(SortItem) + sizeof(SortString) + sizeof(Group *) + \
						 2 * sizeof(uint32) + 1)
#define STRING_GUESS 2			/* times the image */

/*
 * Image and what else is looked at with it, side by side: a SortString (keysort.h), where it is one
 * from some byte on.
 */
typedef struct Group
{
	uint32		number;
	uint32		size;			/* of the image, a multiple of MAXALIGN */
	char		image[FLEXIBLE_ARRAY_MEMBER];
} Group;

StaticAssertDecl(offsetof(Group, number) == offsetof(SortString, number) &&
				 offsetof(Group, size) == offsetof(SortString, length) &&
				 offsetof(Group, image) == offsetof(SortString, bytes),
				 "a group is no sort string");

typedef struct GroupArena
{
	char	  **blocks;
	Size		nblocks;
	Size		blocks_capacity;
	Size		used;			/* of the last block */
	Size		capacity;		/* of it */
	Size		taken;
} GroupArena;

/* Groups on their way out, in order. */
typedef struct Sorted
{
	const Group **groups;
	const SortString **strings; /* NULL: not wanted, or misleading */
	bool	   *equal;			/* whether one's key is the same as the one's before */
	RowId	   *rows;			/* all rows, by group */
	uint32	   *begins;			/* of each group's rows, and their end; before, its number */
} Sorted;

struct Groups
{
	KeyShape	   *shape;
	Size		block_size;		/* of the arena */
	MemoryContext context;
	uint32		ncompared;		/* groups, by the operator class */

	GroupArena	arena;
	Group	  **list;
	Size		ngroups;
	Size		groups_capacity;
	SortString **strings;		/* of the groups, if the caller has them; or NULL */
	Size		strings_capacity;
	RowId	   *rows;
	uint32	   *owners;			/* the group of each */
	Size		nrows;
	Size		rows_capacity;
	uint64	   *slots;			/* hash << 32 | place; NULL: grouping is given up */
	Size		nslots;

	/* keys on their way into groups, and their rows; what key i has ends at [i + 1] */
	int			nstaged;
	StringInfoData stage;		/* images */
	uint32		image_ends[STAGED_ROWS + 1];
	uint32		hashes[STAGED_ROWS];
	StringInfoData stage_strings;	/* sort strings, if the caller has them */
	uint32		string_ends[STAGED_ROWS + 1];
	RowId		staged[STAGED_ROWS];
	uint32		row_ends[STAGED_ROWS + 1];

	Sorted		sorted;
};

static void
poll_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

Groups *
groups_open(KeyShape *shape, Size budget, MemoryContext context)
{
	Groups	   *groups = palloc0(sizeof(Groups));

	groups->shape = shape;
	groups->context = context;
	groups->block_size = Min(Max(budget / ARENA_SHARE, ARENA_MIN_BLOCK),
							 ARENA_MAX_BLOCK);
	initStringInfo(&groups->stage);
	initStringInfo(&groups->stage_strings);
	return groups;
}

void
groups_begin(Groups *groups)
{
	groups->list = NULL;
	groups->strings = NULL;
	groups->rows = NULL;
	groups->owners = NULL;
	groups->ngroups = groups->groups_capacity = groups->strings_capacity = 0;
	groups->nrows = groups->rows_capacity = 0;
	memset(&groups->arena, 0, sizeof(GroupArena));
	groups->nslots = FIRST_SLOTS;
	groups->slots = MemoryContextAllocZero(groups->context, FIRST_SLOTS * sizeof(uint64));
}

uint64
groups_rows(const Groups *groups)
{
	return groups->nrows + groups->row_ends[groups->nstaged];
}

Size
groups_count(const Groups *groups)
{
	return groups->ngroups;
}

Size
groups_memory(const Groups *groups, bool sorted)
{
	Size		rows = groups->nrows * (2 * sizeof(RowId) + sizeof(uint32));
	Size		list = groups->ngroups * sizeof(Group *);
	Size		images = groups->arena.taken;

	if (sorted)
		list += groups->ngroups * GROUP_SORT_SIZE;
	if (sorted && groups->strings == NULL)
		images *= 1 + STRING_GUESS;
	return rows + list + images + (groups->slots ? groups->nslots * sizeof(uint64) : 0);
}

/* Memory that is never freed; returns its position, which is never 0. */
static char *
arena_take(Groups *groups, Size size, uint32 *place)
{
	GroupArena *arena = &groups->arena;
	char	   *result;

	size = MAXALIGN(size);
	if (size > arena->capacity - arena->used)
	{
		/* as much again, so that few keys take little */
		arena->capacity = Min(Max(arena->taken, ARENA_FIRST_BLOCK), groups->block_size);
		arena->capacity = Max(size + MAXIMUM_ALIGNOF, arena->capacity);
		arena->blocks = huge_array_grow(groups->context, arena->blocks, arena->nblocks,
										&arena->blocks_capacity, sizeof(char *));
		arena->blocks[arena->nblocks++] = huge_array_alloc(groups->context, arena->capacity);
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
group_at(const Groups *groups, uint32 place)
{
	return (Group *) (groups->arena.blocks[place >> ARENA_OFFSET_BITS] +
					  (Size) (place & ((1 << ARENA_OFFSET_BITS) - 1)) * MAXIMUM_ALIGNOF);
}

/* ---- collecting ---- */

/*
 * Of an image, which is whole words.  A product's bits depend on the lower ones of its factors
 * only: words that differ in their last bytes would share a hash but for the last step.
 */
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
	return (uint32) (hash * UINT64CONST(0x9E3779B97F4A7C15) >> 32);
}

static void
grow_slots(Groups *groups)
{
	Size		nslots = groups->nslots * 2;
	uint64	   *slots;

	slots = huge_array_alloc(groups->context, nslots * sizeof(uint64));
	memset(slots, 0, nslots * sizeof(uint64));
	for (Size i = 0; i < groups->nslots; i++)
	{
		uint64		slot = groups->slots[i];
		Size		at;

		if (slot == 0)
			continue;
		at = (slot >> 32) & (nslots - 1);
		while (slots[at] != 0)
			at = (at + 1) & (nslots - 1);
		slots[at] = slot;
	}
	pfree(groups->slots);
	groups->slots = slots;
	groups->nslots = nslots;
}

static Group *
add_group(Groups *groups, const char *image, Size size, uint32 *place)
{
	Group	   *group = (Group *) arena_take(groups, offsetof(Group, image) + size, place);

	groups->list = huge_array_grow(groups->context, groups->list, groups->ngroups,
								   &groups->groups_capacity, sizeof(Group *));
	memcpy(group->image, image, size);
	group->size = size;
	group->number = groups->ngroups;
	groups->list[groups->ngroups++] = group;
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
probe_slots(const Groups *groups, Size at, uint32 hash)
{
	Size		mask = groups->nslots - 1;

	for (at &= mask; groups->slots[at] != 0; at = (at + 1) & mask)
		if ((uint32) (groups->slots[at] >> 32) == hash)
			break;
	return at;
}

static Group *
find_group(Groups *groups, const char *image, Size size, uint32 hash)
{
	Size		at = probe_slots(groups, hash, hash);
	Group	   *group;
	uint32		place;

	for (; groups->slots[at] != 0; at = probe_slots(groups, at + 1, hash))
	{
		group = group_at(groups, (uint32) groups->slots[at]);
		if (has_image(group, image, size))
			return group;
	}
	group = add_group(groups, image, size, &place);
	groups->slots[at] = (uint64) hash << 32 | place;
	return group;
}

/* Has the memory that find_group will look at fetched. */
static void
fetch_groups(const Groups *groups)
{
	for (int i = 0; i < groups->nstaged; i++)
		fetch_ahead(&groups->slots[groups->hashes[i] & (groups->nslots - 1)]);
	for (int i = 0; i < groups->nstaged; i++)
	{
		Size		at = probe_slots(groups, groups->hashes[i], groups->hashes[i]);

		if (groups->slots[at] != 0)
			fetch_ahead(group_at(groups, (uint32) groups->slots[at]));
	}
}

static void
judge_grouping(Groups *groups)
{
	if (groups->slots == NULL || groups->nrows < ROWS_TO_JUDGE ||
		groups->nrows >= 2 * ROWS_TO_JUDGE ||
		groups->ngroups < TOO_MANY_GROUPS * groups->nrows)
		return;
	pfree(groups->slots);
	groups->slots = NULL;
}

static void
reserve_rows(Groups *groups, uint32 n)
{
	while (groups->nrows + n > groups->rows_capacity)
	{
		Size		capacity = groups->rows_capacity;

		groups->rows = huge_array_grow(groups->context, groups->rows, capacity,
									   &groups->rows_capacity, sizeof(RowId));
		groups->owners = huge_array_grow(groups->context, groups->owners, capacity, &capacity,
										 sizeof(uint32));
	}
}

static SortString *
make_string(Groups *groups, uint32 number, const char *bytes, Size length)
{
	SortString *result = (SortString *) arena_take(groups, sizeof(SortString) + length, NULL);

	result->number = number;
	result->length = length;
	memcpy(result->bytes, bytes, length);
	return result;
}

/* The group of a staged key, which may be a new one. */
static const Group *
group_staged(Groups *groups, int i)
{
	const char *image = groups->stage.data + groups->image_ends[i];
	Size		size = groups->image_ends[i + 1] - groups->image_ends[i];
	uint32		string = groups->string_ends[i];
	Size		before = groups->ngroups;
	const Group *group = groups->slots == NULL ?
		add_group(groups, image, size, NULL) :
		find_group(groups, image, size, groups->hashes[i]);

	if (groups->ngroups > before && groups->string_ends[i + 1] > string)
	{
		groups->strings = huge_array_grow(groups->context, groups->strings, before,
										  &groups->strings_capacity, sizeof(SortString *));
		groups->strings[before] = make_string(groups, before,
											  groups->stage_strings.data + string,
											  groups->string_ends[i + 1] - string);
	}
	return group;
}

/* Staged keys and their rows find their groups. */
static void
group_stage(Groups *groups)
{
	if (groups->nstaged == 0)
		return;
	reserve_rows(groups, groups->row_ends[groups->nstaged]);
	if (groups->slots != NULL)
	{
		while (groups->ngroups + groups->nstaged > groups->nslots / 2)
			grow_slots(groups);
		fetch_groups(groups);
	}
	for (int i = 0; i < groups->nstaged; i++)
	{
		const Group *group = group_staged(groups, i);

		for (uint32 row = groups->row_ends[i]; row < groups->row_ends[i + 1]; row++)
		{
			groups->rows[groups->nrows] = groups->staged[row];
			groups->owners[groups->nrows++] = group->number;
		}
	}
	groups->nstaged = 0;
	resetStringInfo(&groups->stage);
	resetStringInfo(&groups->stage_strings);
	judge_grouping(groups);
}

/* Stages a key, whose image and sort string are at the end of the stage, and its rows. */
static inline void
stage_key(Groups *groups, const RowId *rows, uint32 n)
{
	int			i = groups->nstaged++;
	uint32		image = groups->image_ends[i];
	uint32		row = groups->row_ends[i];

	Assert(row + n <= STAGED_ROWS);
	if (groups->slots != NULL)
		groups->hashes[i] = hash_image(groups->stage.data + image, groups->stage.len - image);
	for (uint32 j = 0; j < n; j++)
		groups->staged[row + j] = rows[j];
	groups->image_ends[i + 1] = groups->stage.len;
	groups->string_ends[i + 1] = groups->stage_strings.len;
	groups->row_ends[i + 1] = row + n;
	if (row + n == STAGED_ROWS ||
		groups->stage.len + groups->stage_strings.len > STAGED_BYTES)
		group_stage(groups);
}

void
groups_put(Groups *groups, RowId row, const Datum *values, const bool *isnull)
{
	shape_image(groups->shape, values, isnull, &groups->stage);
	stage_key(groups, &row, 1);
}

void
groups_put_rows(Groups *groups, const char *image, Size size,
				const StringInfoData *string, const RowId *rows, uint32 n)
{
	while (n > 0)
	{
		uint32		some = Min(n, STAGED_ROWS - groups->row_ends[groups->nstaged]);

		appendBinaryStringInfo(&groups->stage, image, size);
		if (string != NULL)
			appendBinaryStringInfo(&groups->stage_strings, string->data, string->len);
		stage_key(groups, rows, some);
		rows += some;
		n -= some;
	}
}

/* ---- emitting ---- */

static inline bool
is_same(const Group *a, const Group *b)
{
	return has_image(a, b->image, b->size);
}

static int
compare_groups(const void *a, const void *b, void *arg)
{
	Groups	   *groups = arg;
	const Group *group_a = *(const Group *const *) a;
	const Group *group_b = *(const Group *const *) b;

	/* nobody but this looks for them while all is sorted by it */
	if (groups->ncompared++ % STAGED_ROWS == 0)
		CHECK_FOR_INTERRUPTS();
	if (!is_same(group_a, group_b))
	{
		int			order = shape_compare(groups->shape, group_a->image, group_b->image);

		if (order != 0)
			return order;
	}
	return (group_a->number > group_b->number) - (group_a->number < group_b->number);
}

static int
compare_items(const void *a, const void *b, void *arg)
{
	const Groups *groups = arg;

	return compare_groups(&groups->list[keysort_string(a)->number],
						  &groups->list[keysort_string(b)->number], arg);
}

/* The sort strings do not tell these apart. */
static void
sort_tied(SortItem *items, size_t n, void *arg)
{
	CHECK_FOR_INTERRUPTS();
	qsort_arg(items, n, sizeof(SortItem), compare_items, arg);
}

/* The groups' strings as items, or those of weights; false: not all have one. */
static bool
make_items(Groups *groups, SortItem *items, bool weighed)
{
	StringInfoData string;
	bool		complete = true;

	initStringInfo(&string);
	for (Size i = 0; i < groups->ngroups && complete; i++)
	{
		if (i % STAGED_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		if (groups->strings != NULL)
		{
			items[i].value = (uintptr_t) groups->strings[i];
			continue;
		}
		resetStringInfo(&string);
		complete = shape_string(groups->shape, groups->list[i]->image, weighed, &string);
		if (complete)
			items[i].value = (uintptr_t) make_string(groups, i, string.data, string.len);
	}
	pfree(string.data);
	return complete;
}

/*
 * Puts the groups, and if wanted their strings, in the order of their sort strings, or of their
 * weights; false: not all have these.
 */
static bool
sort_by_strings(Groups *groups, const Sorted *sorted, bool weighed)
{
	Size		n = groups->ngroups;
	SortHelp	help = {.tie = sort_tied,.poll = poll_interrupts,.arg = groups};
	SortItem   *items = huge_array_alloc(groups->context, n * sizeof(SortItem));
	SortItem   *spare;

	if (!make_items(groups, items, weighed))
	{
		pfree(items);
		return false;
	}
	spare = huge_array_alloc(groups->context, n * sizeof(SortItem));
	keysort_strings(items, spare, n, 0, &help);
	for (Size i = 0; i < n; i++)
	{
		fetch_ahead(keysort_string(&items[Min(i + AHEAD, n - 1)]));
		sorted->groups[i] = groups->list[keysort_string(&items[i])->number];
		if (sorted->strings != NULL)
			sorted->strings[i] = keysort_string(&items[i]);
	}
	pfree(items);
	pfree(spare);
	return true;
}

/*
 * Puts the groups in the order of their images, which are their sort strings; false: not all of
 * them are, or strings are wanted.
 */
static bool
sort_by_images(Groups *groups, const Sorted *sorted)
{
	int			from = shape_string_in_image(groups->shape);
	Size		n = groups->ngroups;
	SortHelp	help = {.tie = sort_tied,.poll = poll_interrupts,.arg = groups};
	SortItem   *items;
	SortItem   *spare;

	if (from == 0 || sorted->strings != NULL)
		return false;
	for (Size i = 0; i < n; i++)
		if (!shape_has_string_in_image(groups->shape, groups->list[i]->image))
			return false;
	items = huge_array_alloc(groups->context, n * sizeof(SortItem));
	spare = huge_array_alloc(groups->context, n * sizeof(SortItem));
	for (Size i = 0; i < n; i++)
		items[i].value = (uintptr_t) groups->list[i];
	keysort_strings(items, spare, n, from, &help);
	for (Size i = 0; i < n; i++)
		sorted->groups[i] = (const Group *) keysort_string(&items[i]);
	pfree(items);
	pfree(spare);
	return true;
}

/* Has the memory of the groups to come fetched. */
static inline void
fetch_group(const Groups *groups, const Group **sorted, Size i)
{
	fetch_ahead(sorted[Min(i + AHEAD, groups->ngroups - 1)]);
}

/*
 * Tells which groups are equal to the one before, and their numbers while their memory is at hand;
 * false: they are not in order.
 */
static bool
verify_order(Groups *groups, const Sorted *sorted)
{
	const Group **list = sorted->groups;

	sorted->equal[0] = false;
	sorted->begins[0] = list[0]->number;
	for (Size i = 1; i < groups->ngroups; i++)
	{
		if (i % STAGED_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		fetch_group(groups, list, i);
		sorted->begins[i] = list[i]->number;
		if (!order_follows(groups->shape, list[i - 1]->image, list[i]->image,
						   &sorted->equal[i]))
			return false;
	}
	return true;
}

/*
 * Whether the groups are in order by their weights.  Sort strings that others compare with those of
 * other groups must not be these, as those need not have any.
 */
static bool
sorted_by_weights(Groups *groups, const Sorted *sorted)
{
	return groups->strings == NULL && sorted->strings == NULL &&
		groups->ngroups >= MIN_WEIGHED && shape_has_weights(groups->shape) &&
		sort_by_strings(groups, sorted, true) &&
		verify_order(groups, sorted);
}

/*
 * Puts the groups in order: by weights, or by their sort strings, unless or until these turn out to
 * be misleading.
 */
static void
sort_groups(Groups *groups, Sorted *sorted, Order *order)
{
	if (order->keys == KEYS_BY_OPERATOR)
		memcpy(sorted->groups, groups->list, groups->ngroups * sizeof(Group *));
	else
	{
		if (sorted_by_weights(groups, sorted))
			return;
		if (!sort_by_images(groups, sorted))
			(void) sort_by_strings(groups, sorted, false);
		if (verify_order(groups, sorted))
			return;
		order_distrust(order);
	}
	sorted->strings = NULL;
	qsort_arg(sorted->groups, groups->ngroups, sizeof(Group *), compare_groups, groups);
	if (!verify_order(groups, sorted))
		order_raise();
}

/* Lays the rows of each group side by side, groups in order, whose numbers are known. */
static void
scatter_rows(Groups *groups, Sorted *sorted)
{
	Size		last = groups->nrows - 1;
	uint32	   *places = huge_array_alloc(groups->context, groups->ngroups * sizeof(uint32));
	uint32		begin = 0;

	sorted->rows = huge_array_alloc(groups->context, groups->nrows * sizeof(RowId));
	/* how many each has, then where they go */
	memset(places, 0, groups->ngroups * sizeof(uint32));
	for (Size i = 0; i < groups->nrows; i++)
		places[groups->owners[i]]++;
	for (Size i = 0; i < groups->ngroups; i++)
	{
		uint32		number = sorted->begins[i];
		uint32		nrows = places[number];

		fetch_ahead(&places[sorted->begins[Min(i + AHEAD, groups->ngroups - 1)]]);
		sorted->begins[i] = places[number] = begin;
		begin += nrows;
	}
	sorted->begins[groups->ngroups] = begin;

	for (Size i = 0; i < groups->nrows; i++)
	{
		fetch_ahead(&places[groups->owners[Min(i + 2 * AHEAD, last)]]);
		fetch_ahead(&sorted->rows[places[groups->owners[Min(i + AHEAD, last)]]]);
		sorted->rows[places[groups->owners[i]]++] = groups->rows[i];
	}
	pfree(places);
}

/* Emits what is equal to the key before. */
static void
emit_equal(const Group *group, const Group *before, const RowId *rows,
		   uint32 n, const KeySink *sink)
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
emit_in_turn(const Sorted *sorted, Size begin, Size end, RowOrder rows,
			 const KeySink *sink)
{
	const uint32 *begins = sorted->begins;

	if (rows_need_sort(rows))
		return false;
	for (Size i = begin + 1; i < end; i++)
		if (sorted->rows[begins[i]] < sorted->rows[begins[i] - 1])
			return false;
	for (Size i = begin; i < end; i++)
		emit_equal(sorted->groups[i], i > begin ? sorted->groups[i - 1] : NULL,
				   sorted->rows + begins[i], begins[i + 1] - begins[i], sink);
	return true;
}

/* Groups [begin, end) are equal to the index. */
static void
emit_equals(Groups *groups, const Sorted *sorted, Size begin, Size end, RowOrder rows,
			const KeySink *sink)
{
	SortItem   *items;
	SortItem   *spare;
	Size		n = sorted->begins[end] - sorted->begins[begin];
	const Group *last = NULL;

	if (emit_in_turn(sorted, begin, end, rows, sink))
		return;
	items = huge_array_alloc(groups->context, n * sizeof(SortItem));
	spare = huge_array_alloc(groups->context, n * sizeof(SortItem));
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

		emit_equal(group, last, &items[i].key, 1, sink);
		last = group;
	}
	pfree(items);
	pfree(spare);
}

static void
drop_slots(Groups *groups)
{
	if (groups->slots != NULL)
		pfree(groups->slots);
	groups->slots = NULL;
}

/* Memory for where the rows of each group begin. */
static uint32 *
reserve_begins(const Groups *groups)
{
	return huge_array_alloc(groups->context, (groups->ngroups + 1) * sizeof(uint32));
}

/* Rows wait for their groups no longer; false: there are none. */
static bool
end_collecting(Groups *groups)
{
	group_stage(groups);
	drop_slots(groups);
	return groups->ngroups > 0;
}

void
groups_emit_unsorted(Groups *groups, RowOrder rows, const KeySink *sink)
{
	Sorted		sorted;

	if (!end_collecting(groups))
		return;
	sorted.groups = (const Group **) groups->list;
	sorted.begins = reserve_begins(groups);
	for (Size i = 0; i < groups->ngroups; i++)
		sorted.begins[i] = i;
	scatter_rows(groups, &sorted);
	for (Size i = 0; i < groups->ngroups; i++)
	{
		const Group *group = groups->list[i];

		if (i % STAGED_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		sink->key(sink->arg, group->image, group->size, false);
		key_sink_rows(sink, sorted.rows + sorted.begins[i],
					  sorted.begins[i + 1] - sorted.begins[i], rows);
	}
}

void
groups_sort(Groups *groups, Order *order, bool strings)
{
	Sorted	   *sorted = &groups->sorted;
	Size		n;

	if (!end_collecting(groups))
		return;
	n = groups->ngroups;
	sorted->groups = huge_array_alloc(groups->context, n * sizeof(Group *));
	sorted->strings = strings ? huge_array_alloc(groups->context, n * sizeof(SortString *)) : NULL;
	sorted->equal = huge_array_alloc(groups->context, n * sizeof(bool));
	sorted->begins = reserve_begins(groups);
	sort_groups(groups, sorted, order);
	scatter_rows(groups, sorted);
}

bool
groups_ends(const Groups *groups, const char **first, const char **last)
{
	if (groups->ngroups == 0)
		return false;
	*first = groups->sorted.groups[0]->image;
	*last = groups->sorted.groups[groups->ngroups - 1]->image;
	return true;
}

void
groups_emit(Groups *groups, const Order *order, const KeySink *sink)
{
	const Sorted sorted = groups->sorted;
	Size		n = groups->ngroups;

	for (Size begin = 0, end; begin < n; begin = end)
	{
		const Group *group = sorted.groups[begin];

		fetch_group(groups, sorted.groups, begin);
		if (sink->ahead != NULL)
			sink->ahead(sink->arg,
						sorted.rows[Min(sorted.begins[begin] + AHEAD, groups->nrows - 1)]);
		if (sorted.strings != NULL)
			sink->string(sink->arg, (const char *) sorted.strings[begin]->bytes,
						 sorted.strings[begin]->length);
		for (end = begin + 1; end < n && sorted.equal[end];)
			end++;
		if (end - begin > 1)
		{
			emit_equals(groups, &sorted, begin, end, order->rows, sink);
			continue;
		}
		sink->key(sink->arg, group->image, group->size, false);
		key_sink_rows(sink, sorted.rows + sorted.begins[begin],
					  sorted.begins[end] - sorted.begins[begin], order->rows);
	}
}
