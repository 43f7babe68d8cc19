/*
 * integers.h
 *		Keys of integers that one number holds (shape->integer), sorted as numbers.
 *
 * A null has no place in a number of which every bit is in use.  So keys are sorted apart by
 * which of their columns are null, and merged when they are emitted.
 */
#ifndef PGBULK_INTEGERS_H
#define PGBULK_INTEGERS_H

#include "postgres.h"

#include "index/key_sink.h"
#include "index/key_shape.h"

typedef struct Integers Integers;

/*
 * context: of all that is collected, which goes with it when it is reset.  Memory of the rest:
 * the current context.
 */
extern Integers *integers_open(KeyShape *shape, MemoryContext context);

/* Begins anew; the context has been reset. */
extern void integers_begin(Integers *integers);

/* Takes a row and its key, as shape_integer has it. */
extern void integers_put(Integers *integers, RowId row, uint64 key, uint32 nulls);

/* Bytes that all takes, and will take while it is sorted. */
extern Size integers_memory(const Integers *integers);

extern uint64 integers_rows(const Integers *integers);

/* Emits all as they are, to sink->integer: those with the same columns null as they came. */
extern void integers_emit_unsorted(const Integers *integers, const KeySink *sink);

/* Emits all in order; rows arrived in that one. */
extern void integers_emit(Integers *integers, RowOrder rows, const KeySink *sink);

#endif							/* PGBULK_INTEGERS_H */
