/*
 * arena.h
 *		Memory that is allocated by moving a pointer and freed all at once.
 *
 * The price of an allocation is an addition and a comparison; nothing is freed
 * separately.  Blocks are allocated in the memory context named at creation and
 * kept by arena_reset, so that a load soon needs no new ones; a block above the
 * usual size is freed by the reset.
 */
#ifndef PGBULK_ARENA_H
#define PGBULK_ARENA_H

#include "postgres.h"

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena
{
	char	   *next;			/* free bytes of the current block: */
	char	   *end;			/* [next, end) */
	char	   *start;			/* of the first block, if current and of usual size, else NULL */
	ArenaBlock *current;
	ArenaBlock *first;
	Size		block_size;
	MemoryContext context;
} Arena;

extern void arena_init(Arena *arena, MemoryContext context, Size block_size);

/* arena_reset's slow path, when more than one usual block was used. */
extern void arena_reset_slow(Arena *arena);

/* Frees everything. */
static inline void
arena_reset(Arena *arena)
{
	if (likely(arena->start != NULL))
		arena->next = arena->start;
	else
		arena_reset_slow(arena);
}

/* arena_alloc's slow path, when the current block is full. */
extern void *arena_alloc_slow(Arena *arena, Size size);

/* size bytes, aligned for any type, not cleared; size may exceed 1 GB. */
static inline void *
arena_alloc(Arena *arena, Size size)
{
	char	   *p = arena->next;

	size = MAXALIGN(size);
	if (unlikely(size > (Size) (arena->end - p)))
		return arena_alloc_slow(arena, size);
	arena->next = p + size;
	return p;
}

/* Shrinks the latest allocation, p, to used bytes. */
static inline void
arena_trim(Arena *arena, void *p, Size used)
{
	arena->next = (char *) p + MAXALIGN(used);
}

#endif							/* PGBULK_ARENA_H */
