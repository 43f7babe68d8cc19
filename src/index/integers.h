/*
 * integers.h
 *		Keys that are single integers, sorted as numbers.
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

/* Takes a row and its key, as shape_integer has it, or a row with null. */
extern void integers_put(Integers *integers, RowId row, uint64 key);
extern void integers_put_null(Integers *integers, RowId row);

/* Bytes that all takes, and will take while it is sorted. */
extern Size integers_memory(const Integers *integers);

extern uint64 integers_rows(const Integers *integers);

/* Emits all as they are, to sink->integer: numbers as they came, and then nulls. */
extern void integers_emit_unsorted(const Integers *integers, const KeySink *sink);

/* Emits all in order; rows arrived in that one. */
extern void integers_emit(Integers *integers, RowOrder rows, const KeySink *sink);

#endif							/* PGBULK_INTEGERS_H */
