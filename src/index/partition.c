/*
 * partition.c
 *		See partition.h.
 */
#include "postgres.h"

#include "index/partition.h"
#include "miscadmin.h"
#include "server/compat.h"

#define ROWS_AT_ONCE 256

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

/* and before a group. */
typedef struct GroupHead
{
	uint32		size;			/* of the image */
	uint32		string;			/* size of the sort string; 0: it is not there */
	uint32		nrows;
} GroupHead;

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

/* All rows of the group. */
static void
put_rows(void *arg, const RowId *rows, uint32 n)
{
	Partition  *partition = arg;
	Split	   *split = partition->split;
	BufFile    *file = range_file(partition, split_find(split, partition->image));
	const StringInfoData *string = &split->scratch;
	GroupHead	head = {
		.size = partition->size,
		/* weights take less time than to write and read them */
		.string = split->shape->collated && !split->weighed ? string->len : 0,
		.nrows = n
	};

	compat_buffile_write(file, &head, sizeof(head));
	compat_buffile_write(file, partition->image, partition->size);
	if (head.string > 0)
		compat_buffile_write(file, string->data, head.string);
	compat_buffile_write(file, rows, n * sizeof(RowId));
	partition->nrows += n;
}

static void
read_groups(BufFile *file, Presort *presort)
{
	GroupHead	head;
	StringInfoData image;
	StringInfoData string;
	RowId		rows[ROWS_AT_ONCE];

	initStringInfo(&image);
	initStringInfo(&string);
	while (compat_buffile_read_more(file, &head, sizeof(head)))
	{
		CHECK_FOR_INTERRUPTS();
		enlargeStringInfo(&image, head.size);
		compat_buffile_read(file, image.data, head.size);
		if (head.string > 0)
		{
			enlargeStringInfo(&string, head.string);
			compat_buffile_read(file, string.data, head.string);
		}
		string.len = head.string;
		while (head.nrows > 0)
		{
			uint32		n = Min(head.nrows, ROWS_AT_ONCE);

			compat_buffile_read(file, rows, n * sizeof(RowId));
			presort_put_rows(presort, image.data, head.size,
							 head.string > 0 ? &string : NULL, rows, n);
			head.nrows -= n;
		}
	}
	pfree(image.data);
	pfree(string.data);
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
