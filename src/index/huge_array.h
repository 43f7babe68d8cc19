/*
 * huge_array.h
 *		Large arrays, on huge pages where these can be had.
 */
#ifndef PGBULK_HUGE_ARRAY_H
#define PGBULK_HUGE_ARRAY_H

#include "postgres.h"

extern void *huge_array_alloc(MemoryContext context, Size size);

/* Makes an array of n elements larger if it is full; NULL: there is none yet. */
extern void *huge_array_grow(MemoryContext context, void *array, Size n, Size *capacity,
							 Size size);

#endif							/* PGBULK_HUGE_ARRAY_H */
