/*
 * groups.h
 *		Keys of any kind and their rows, in groups by the key's image (key_shape.h).
 *
 * Each key is kept, transformed, sorted and compared once, however many rows have it; where
 * most rows have a key of their own, grouping is given up.
 */
#ifndef PGBULK_GROUPS_H
#define PGBULK_GROUPS_H

#include "postgres.h"

#include "index/key_sink.h"
#include "index/key_shape.h"

typedef struct Groups Groups;

/* A budget of more than that is not used. */
#define GROUPS_MAX_MEMORY (UINT64CONST(16) * 1024 * 1024 * 1024)

/*
 * context: of all that is collected, which goes with it when it is reset.  Memory of the rest:
 * the current context.  budget: bytes that will be used, for the size of blocks.
 */
extern Groups *groups_open(KeyShape *shape, Size budget, MemoryContext context);

/* Begins anew; the context has been reset. */
extern void groups_begin(Groups *groups);

/* Takes a row with its key. */
extern void groups_put(Groups *groups, RowId row, const Datum *values, const bool *isnull);

/* Takes rows of a key, as presort_put_rows has it. */
extern void groups_put_rows(Groups *groups, const char *image, Size size,
							const StringInfoData *string, const RowId *rows, uint32 n);

extern uint64 groups_rows(const Groups *groups);

/* How many there are; rows that came last may be in none of them yet. */
extern Size groups_count(const Groups *groups);

/* Bytes that all takes, and what it will take while it is emitted, sorted or not. */
extern Size groups_memory(const Groups *groups, bool sorted);

/*
 * Sorts all and verifies that; says in the order if it took the operator class.  strings: the
 * sink that comes next takes sort strings.
 */
extern void groups_sort(Groups *groups, Order *order, bool strings);

/* The images of the first and the last key that were sorted; false: there are none. */
extern bool groups_ends(const Groups *groups, const char **first, const char **last);

/* Emits what was sorted with that order. */
extern void groups_emit(Groups *groups, const Order *order, const KeySink *sink);

/* Emits all in the order in which groups were found; rows arrived in that one. */
extern void groups_emit_unsorted(Groups *groups, RowOrder rows, const KeySink *sink);

#endif							/* PGBULK_GROUPS_H */
