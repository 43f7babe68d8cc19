/*
 * waiting.c
 *		See waiting.h.
 */
#include "postgres.h"

#include "write/waiting.h"

/* Memory that is allocated at once. */
#define ARENA_BLOCK (256 * 1024)

/* Chunks of what a table may have waiting, and the smallest and the largest one. */
#define TABLE_CHUNKS 8
#define CHUNK_SMALLEST 512
#define CHUNK_LARGEST (8 * 1024)

void
waiting_init(Waiting *waiting, MemoryContext context)
{
	arena_init(&waiting->chunks, context, ARENA_BLOCK);
	waiting->bytes = 0;
	waiting->chunk_size = CHUNK_LARGEST;
}

void
waiting_bound(Waiting *waiting, Size bytes)
{
	waiting->chunk_size = MAXALIGN(Min(Max(bytes / TABLE_CHUNKS, CHUNK_SMALLEST), CHUNK_LARGEST));
}

void
waiting_extend(Waiting *waiting, RowQueue *queue, Size row)
{
	Size		size = Max(offsetof(RowChunk, rows) + row, waiting->chunk_size);
	RowChunk   *chunk = arena_alloc(&waiting->chunks, size);

	chunk->next = NULL;
	if (queue->last != NULL)
	{
		queue->last->end = queue->at;
		queue->last->next = chunk;
	}
	else
		queue->first = chunk;
	queue->last = chunk;
	queue->at = chunk->rows;
	queue->end = (char *) chunk + size;
	waiting->bytes += size;
}

void
waiting_reset(Waiting *waiting)
{
	waiting->bytes = 0;
	arena_reset(&waiting->chunks);
}
