/*
 * arena.c
 *		The blocks of arena.h.
 */
#include "postgres.h"

#include "row/arena.h"
#include "utils/memutils.h"

struct ArenaBlock
{
	ArenaBlock *next;
	Size		size;			/* bytes after the header */
};

#define BLOCK_DATA(block) ((char *) (block) + MAXALIGN(sizeof(ArenaBlock)))

static void
arena_use(Arena *arena, ArenaBlock *block)
{
	arena->current = block;
	arena->next = BLOCK_DATA(block);
	arena->end = arena->next + block->size;
	arena->start = NULL;
	if (block == arena->first && block->size == arena->block_size)
		arena->start = arena->next;
}

void
arena_init(Arena *arena, MemoryContext context, Size block_size)
{
	memset(arena, 0, sizeof(*arena));
	arena->context = context;
	arena->block_size = block_size;
}

void *
arena_alloc_slow(Arena *arena, Size size)
{
	ArenaBlock *block = arena->current;
	char	   *p;

	/* use a block kept by an earlier reset, else allocate one */
	if (block != NULL && block->next != NULL && block->next->size >= size)
		block = block->next;
	else
	{
		ArenaBlock *fresh;
		Size		data = Max(size, arena->block_size);

		fresh = MemoryContextAllocHuge(arena->context,
									   MAXALIGN(sizeof(ArenaBlock)) + data);
		fresh->size = data;
		if (block == NULL)
		{
			fresh->next = NULL;
			arena->first = fresh;
		}
		else
		{
			fresh->next = block->next;
			block->next = fresh;
		}
		block = fresh;
	}

	arena_use(arena, block);
	p = arena->next;
	arena->next += size;
	return p;
}

void
arena_reset_slow(Arena *arena)
{
	ArenaBlock **link = &arena->first;

	while (*link != NULL)
	{
		ArenaBlock *block = *link;

		if (block->size > arena->block_size)
		{
			*link = block->next;
			pfree(block);
		}
		else
			link = &block->next;
	}

	if (arena->first != NULL)
		arena_use(arena, arena->first);
	else
	{
		arena->current = NULL;
		arena->next = arena->end = arena->start = NULL;
	}
}
