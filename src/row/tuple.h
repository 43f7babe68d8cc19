/*
 * tuple.h
 *		Values to heap tuples, without heap_form_tuple's allocation.
 *
 * The bytes are those of heap_form_tuple; the memory is an arena's, so that the
 * tuples of a batch are contiguous and freed at once.
 */
#ifndef PGBULK_TUPLE_H
#define PGBULK_TUPLE_H

#include "postgres.h"

#include "access/htup.h"
#include "access/tupdesc.h"
#include "row/arena.h"

typedef struct TupleFormer TupleFormer;

/* Memory: the current context; desc must remain valid as long. */
extern TupleFormer *tuple_former(TupleDesc desc);

extern HeapTuple tuple_form(const TupleFormer *former, const Datum *values,
							const bool *nulls, Arena *arena);

#endif							/* PGBULK_TUPLE_H */
