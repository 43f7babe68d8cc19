/*
 * partition.c
 *		See partition.h.
 */
#include "postgres.h"

#include "index/partition.h"
#include "miscadmin.h"
#include "server/compat.h"

#define ROWS_AT_ONCE 256
#define BYTES_AT_ONCE (32 * 1024)

/* Integers that wait until they are written, for each range. */
#define ITEMS_AT_ONCE 64

/* Behind the bits of an item's row: which columns of its key are null. */
#define NULLS_SHIFT 56

/* What a file holds of integers, */
typedef struct IntegerItem
{
	uint64		key;
	uint64		row;			/* and nulls */
} IntegerItem;

/*
 * and before a group, whose image, sort string and rows are behind that, each a multiple of
 * MAXALIGN.  A group of more rows is written as several.
 */
typedef struct GroupHead
{
	uint32		size;			/* of the image */
	uint16		string;			/* size of the sort string; 0: it is not there */
	uint16		nrows;
} GroupHead;
StaticAssertDecl(sizeof(GroupHead) == MAXALIGN(sizeof(GroupHead)),
				 "images in files are not aligned");
StaticAssertDecl(SHAPE_STRING_MAX <= PG_UINT16_MAX && ROWS_AT_ONCE <= PG_UINT16_MAX,
				 "a group's head is too small");

struct Partition
{
	Split	   *split;
	PartitionCreate create;
	void	   *arg;
	MemoryContext context;
	KeySink		sink;
	uint64		nrows;
	BufFile   **files;			/* NULL: nothing was written for the range */

	/* the current group */
	const char *image;
	Size		size;
	StringInfoData group;		/* as it is written */

	/* integers: ITEMS_AT_ONCE for each range */
	IntegerItem *items;
	int		   *nitems;
};

Size
partition_memory(const KeyShape *shape, int nranges)
{
	return nranges * (BLCKSZ + (shape->integer ? ITEMS_AT_ONCE * sizeof(IntegerItem) : 0));
}

static BufFile *
range_file(Partition *partition, int range)
{
	if (partition->files[range] == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(partition->context);

		partition->files[range] = partition->create(partition->arg, range);
		MemoryContextSwitchTo(old);
	}
	return partition->files[range];
}

/* ---- groups ---- */

static void
put_key(void *arg, const char *image, Size size, bool equal)
{
	Partition  *partition = arg;

	partition->image = image;
	partition->size = size;
}

/* What a group takes in a file. */
static inline Size
group_size(const GroupHead *head)
{
	return sizeof(GroupHead) + head->size + MAXALIGN(head->string) + head->nrows * sizeof(RowId);
}

/* Some rows of the group, with its sort string, to the file. */
static void
write_group(Partition *partition, BufFile *file, const StringInfoData *string, const RowId *rows,
			uint32 n)
{
	StringInfo	group = &partition->group;
	GroupHead	head = {
		.size = partition->size,
		.string = string != NULL ? string->len : 0,
		.nrows = n
	};
	char	   *to;

	resetStringInfo(group);
	enlargeStringInfo(group, group_size(&head));
	to = group->data;
	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	memcpy(to, partition->image, head.size);
	to += head.size;
	if (head.string > 0)
	{
		memcpy(to, string->data, head.string);
		memset(to + head.string, 0, MAXALIGN(head.string) - head.string);
		to += MAXALIGN(head.string);
	}
	memcpy(to, rows, n * sizeof(RowId));
	compat_buffile_write(file, group->data, group_size(&head));
}

/* All rows of the group. */
static void
put_rows(void *arg, const RowId *rows, uint32 n)
{
	Partition  *partition = arg;
	Split	   *split = partition->split;
	BufFile    *file = range_file(partition, split_find(split, partition->image));
	/* weights take less time than to write and read them */
	bool		has_string = split->shape->collated && !split->weighed;

	partition->nrows += n;
	while (n > 0)
	{
		uint32		some = Min(n, ROWS_AT_ONCE);

		write_group(partition, file, has_string ? &split->scratch : NULL, rows, some);
		rows += some;
		n -= some;
	}
}

/*
 * Puts the groups that are whole in some bytes of a file; returns where the others begin.  *more:
 * how large the first of them is, at least.
 */
static Size
put_groups(Presort *presort, const char *bytes, Size size, Size *more)
{
	Size		at = 0;

	for (;;)
	{
		const GroupHead *head = (const GroupHead *) (bytes + at);
		StringInfoData string = {0};
		const char *image = (const char *) (head + 1);

		*more = size - at < sizeof(GroupHead) ? sizeof(GroupHead) : group_size(head);
		if (size - at < *more)
			return at;
		string.data = unconstify(char *, image) + head->size;
		string.len = head->string;
		presort_put_rows(presort, image, head->size, head->string > 0 ? &string : NULL,
						 (const RowId *) (string.data + MAXALIGN(head->string)), head->nrows);
		at += *more;
	}
}

static void
read_groups(BufFile *file, Presort *presort)
{
	Size		capacity = BYTES_AT_ONCE;
	char	   *bytes = palloc(capacity);
	Size		size = 0;
	Size		n;

	while ((n = BufFileRead(file, bytes + size, capacity - size)) > 0)
	{
		Size		more;
		Size		at;

		CHECK_FOR_INTERRUPTS();
		size += n;
		at = put_groups(presort, bytes, size, &more);
		size -= at;
		memmove(bytes, bytes + at, size);
		if (more > capacity)
		{
			capacity = more;
			bytes = repalloc_huge(bytes, capacity);
		}
	}
	if (size > 0)
		elog(ERROR, "a temporary file of an index ends within a group");
	pfree(bytes);
}

/* ---- integers ---- */

static void
write_items(Partition *partition, int range)
{
	compat_buffile_write(range_file(partition, range), partition->items + range * ITEMS_AT_ONCE,
						 partition->nitems[range] * sizeof(IntegerItem));
	partition->nitems[range] = 0;
}

static void
put_integer(void *arg, uint64 key, uint32 nulls, RowId row)
{
	Partition  *partition = arg;
	IntegerItem item = {.key = key,.row = row | (uint64) nulls << NULLS_SHIFT};
	int			range = split_find_integer(partition->split, key, nulls);

	Assert(partition->items != NULL && row >> NULLS_SHIFT == 0);
	partition->nrows++;
	partition->items[range * ITEMS_AT_ONCE + partition->nitems[range]++] = item;
	if (partition->nitems[range] == ITEMS_AT_ONCE)
		write_items(partition, range);
}

static void
read_items(BufFile *file, Presort *presort)
{
	IntegerItem items[ROWS_AT_ONCE];
	size_t		n;

	while ((n = BufFileRead(file, items, sizeof(items)) / sizeof(IntegerItem)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		for (size_t i = 0; i < n; i++)
		{
			uint32		nulls = items[i].row >> NULLS_SHIFT;

			presort_put_integer(presort, items[i].key, nulls,
								items[i].row ^ (uint64) nulls << NULLS_SHIFT);
		}
	}
}

/* ---- all ---- */

Partition *
partition_open(Split *split, PartitionCreate create, void *arg)
{
	Partition  *partition = palloc0(sizeof(Partition));
	int			nranges = split->nborders + 1;

	partition->split = split;
	partition->create = create;
	partition->arg = arg;
	partition->context = CurrentMemoryContext;
	initStringInfo(&partition->group);
	partition->sink = (KeySink) {
		.key = put_key,.rows = put_rows,.integer = put_integer,.arg = partition
	};
	partition->files = palloc0(nranges * sizeof(BufFile *));
	if (split->shape->integer)
	{
		partition->items = palloc(nranges * ITEMS_AT_ONCE * sizeof(IntegerItem));
		partition->nitems = palloc0(nranges * sizeof(int));
	}
	return partition;
}

const KeySink *
partition_sink(Partition *partition)
{
	return &partition->sink;
}

uint64
partition_finish(Partition *partition)
{
	if (partition->items != NULL)
		for (int range = 0; range <= partition->split->nborders; range++)
			if (partition->nitems[range] > 0)
				write_items(partition, range);
	return partition->nrows;
}

BufFile *
partition_take_file(Partition *partition, int range)
{
	BufFile    *file = partition->files[range];

	partition->files[range] = NULL;
	return file;
}

void
partition_read(BufFile *file, const KeyShape *shape, Presort *presort)
{
	if (shape->integer)
		read_items(file, presort);
	else
		read_groups(file, presort);
}
