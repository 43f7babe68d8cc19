/*
 * form.h
 *		The fast path: fields straight to a heap tuple, where nothing needs the
 *		values.
 *
 * For a load whose rows only have to be converted: no where, no defaults but
 * sequences, constants and the time, no checks beyond NOT NULL and CHECKs that
 * are computations (computation.h), generated columns that are such of columns
 * before them, every other column of a type with a fast converter.  A row with
 * anything out of the ordinary (a bad value, a converter that declines, a null
 * in a NOT NULL column, a CHECK that fails, or throws) is left to the slow path,
 * which starts with it anew.  So there are no errors here.
 */
#ifndef PGBULK_FORM_H
#define PGBULK_FORM_H

#include "postgres.h"

#include "access/htup_details.h"
#include "format/convert.h"
#include "row/arena.h"
#include "row/constraints.h"

typedef struct RowFormer RowFormer;

/*
 * NULL where the columns need the slow path.  The caller must know that the
 * table's constraints need no guard.  model, if not NULL, is a tuple header whose
 * transaction fields and flags every tuple gets.  Memory: the current context.
 */
extern RowFormer *form_open(Converter *conv, const HeapTupleHeaderData *model,
							Constraints *constraints);

/*
 * Tuples of the first rows of n, in arena.  Each is followed by zeroes up to
 * its MAXALIGNed length.  Returns how many there are: the next row, if there
 * is one, must take the slow path.
 */
extern uint32 form_rows(RowFormer *former, const char *data,
						const ScanRow *rows, uint32 n,
						const ScanField *fields, Arena *arena,
						HeapTuple *tuples);

/* The last n rows that were formed are not taken: values of sequences are returned. */
extern void form_take_back(RowFormer *former, uint32 n);

/* After extra_begin_batch: the values of option extra have changed. */
extern void form_set_extras(RowFormer *former);

/* Size of every row without nulls; 0: that depends on the row, or it must be a tuple first. */
extern Size form_row_size(const RowFormer *former);

/*
 * Where rows are of one size: the same straight to their places, the first
 * row's tuple, from its header on, at `first`, and each next one MAXALIGN(size)
 * bytes below the one before.  Returns how many there are; the next row is for
 * form_rows, unless all n were formed or n exceeded a block.
 */
extern uint32 form_rows_of_one_size(RowFormer *former, const char *data,
									const ScanRow *rows, uint32 n,
									const ScanField *fields, char *first);

#endif							/* PGBULK_FORM_H */
