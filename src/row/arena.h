/*
 * arena.h
 *		Memory that is given out by moving a pointer and given back all at once.
 *
 * The price of an allocation is an addition and a comparison; nothing is
 * freed alone.  Blocks live in the memory context named at creation and are
 * kept from one arena_reset to the next, so that a load in full swing
 * allocates nothing; one that outgrew the usual block size goes back to the
 * server at the reset.
 */
#ifndef PGBULK_ARENA_H
#define PGBULK_ARENA_H

#include "postgres.h"

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena
{
	char	   *next;			/* free bytes of the current block: */
	char	   *end;			/* [next, end) */
	char	   *start;			/* first byte of a usual first block, if current, else NULL */
	ArenaBlock *current;
	ArenaBlock *first;
	Size		block_size;
	MemoryContext context;
} Arena;

extern void arena_init(Arena *arena, MemoryContext context, Size block_size);

/* arena_reset's way out when more than one usual block was used. */
extern void arena_reset_slow(Arena *arena);

/* Gives back everything. */
static inline void
arena_reset(Arena *arena)
{
	if (likely(arena->start != NULL))
		arena->next = arena->start;
	else
		arena_reset_slow(arena);
}

/* arena_alloc's way out when the current block is full. */
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

/* Gives back the tail of the latest allocation p, of which used bytes stay. */
static inline void
arena_trim(Arena *arena, void *p, Size used)
{
	arena->next = (char *) p + MAXALIGN(used);
}

#endif							/* PGBULK_ARENA_H */
