/*
 * shard_rows.c
 *		See shard_rows.h.
 */
#include "postgres.h"

#include "cluster/shard_rows.h"
#include "utils/memutils.h"

/* Bytes of a buffer at first, and when it is full. */
#define FIRST_BYTES (8 * 1024)
#define FULL_BYTES (256 * 1024)

/* Bytes of the buffers of all shards that are kept for the next chunk. */
#define KEPT_BYTES (2 * 1024 * 1024)

/* Bytes of the largest row: in a message it is behind others that have not filled the buffer. */
#define ROW_MAX (ROW_CHANNEL_MAX - 2 * FULL_BYTES)

struct ShardRows
{
	MemoryContext context;
	const Journal *journal;		/* whose reader has the batch */
	RowCopy    *copy;
	bool		exact;
	int			nshards;
	dlist_head *buffers;		/* of each shard, by its number */
	RowBuffer **last;			/* the one of them that is not full; NULL: there is none */
};

ShardRows *
shard_rows_open(int nshards, const Journal *journal, RowCopy *copy)
{
	ShardRows  *rows = palloc0(sizeof(ShardRows));

	rows->context = AllocSetContextCreate(CurrentMemoryContext, "bulk_load rows of shards",
										  ALLOCSET_DEFAULT_SIZES);
	rows->journal = journal;
	rows->copy = copy;
	rows->exact = row_copy_is_exact(copy);
	rows->nshards = nshards;
	rows->buffers = palloc(sizeof(dlist_head) * (nshards + 1));
	rows->last = palloc0(sizeof(RowBuffer *) * (nshards + 1));
	for (int i = 0; i <= nshards; i++)
		dlist_init(&rows->buffers[i]);
	return rows;
}

static RowBuffer *
add_buffer(ShardRows *rows, int number)
{
	RowBuffer  *buffer = row_buffer_create(rows->context, FIRST_BYTES);

	buffer->exact = rows->exact;
	dlist_push_tail(&rows->buffers[number], &buffer->link);
	rows->last[number] = buffer;
	return buffer;
}

static inline void
end_if_full(ShardRows *rows, int number)
{
	const RowBuffer *buffer = rows->last[number];

	if (unlikely(buffer->data_end + buffer->places.len >= FULL_BYTES))
		rows->last[number] = NULL;
}

bool
shard_rows_put(ShardRows *rows, const Shard *shard, uint32 number, TupleTableSlot *slot)
{
	const ScanRow *row = &rows->journal->reader->rows[number];
	RowBuffer  *buffer = rows->last[shard->number];

	if (shard->number == 0 || row->end - row->start > ROW_MAX)
		return false;
	if (buffer == NULL)
		buffer = add_buffer(rows, shard->number);
	row_copy_add(rows->copy, shard, true, rows->journal, number, slot, buffer);
	end_if_full(rows, shard->number);
	return true;
}

bool
shard_rows_put_line(ShardRows *rows, const Shard *shard, uint32 number)
{
	RowBuffer  *buffer = rows->last[shard->number];

	if (unlikely(buffer == NULL || buffer->nrows == 0 ||
				 !row_copy_add_line(rows->journal->reader, number, buffer)))
		return false;
	end_if_full(rows, shard->number);
	return true;
}

/* The next chunk may want as much memory: a buffer is kept for each shard, but not too many. */
void
shard_rows_reset(ShardRows *rows)
{
	Size		kept = 0;

	for (int i = 1; i <= rows->nshards; i++)
	{
		dlist_mutable_iter iter;

		rows->last[i] = NULL;
		dlist_foreach_modify(iter, &rows->buffers[i])
		{
			RowBuffer  *buffer = dlist_container(RowBuffer, link, iter.cur);
			Size		bytes = buffer->data.maxlen + buffer->places.maxlen;

			/* not one that had a large row: others would have no more room */
			if (rows->last[i] == NULL && bytes <= 2 * FULL_BYTES && kept + bytes <= KEPT_BYTES)
			{
				row_buffer_reset(buffer);
				rows->last[i] = buffer;
				kept += bytes;
			}
			else
			{
				dlist_delete(iter.cur);
				row_buffer_free(buffer);
			}
		}
	}
}

void
shard_rows_take(ShardRows *rows,
				void (*take) (void *arg, int number, RowBuffer *buffer), void *arg)
{
	for (int i = 1; i <= rows->nshards; i++)
	{
		dlist_iter	iter;

		dlist_foreach(iter, &rows->buffers[i])
		{
			RowBuffer  *buffer = dlist_container(RowBuffer, link, iter.cur);

			row_buffer_cut(buffer);
			if (buffer->nrows > 0)
				take(arg, i, buffer);
		}
	}
	shard_rows_reset(rows);
}

/* ---- messages ---- */

#define MESSAGE_HEADER MAXALIGN(sizeof(int))

static void
send_buffer(void *arg, int number, RowBuffer *buffer)
{
	const RowChannel *channel = arg;
	Size		size = MESSAGE_HEADER + row_buffer_copy_size(buffer);
	char	   *to = channel->place(channel->arg, size);

	Assert(size <= ROW_CHANNEL_MAX);
	*(int *) to = number;
	row_buffer_copy(buffer, to + MESSAGE_HEADER);
	channel->send(channel->arg);
}

void
shard_rows_send(ShardRows *rows, const RowChannel *channel)
{
	shard_rows_take(rows, send_buffer, unconstify(RowChannel *, channel));
}

int
shard_rows_receive(char *message, RowBuffer *buffer)
{
	row_buffer_show(buffer, message + MESSAGE_HEADER);
	return *(int *) message;
}
