/*
 * form_state.h
 *		State shared by form_open.c and form.c, private to these two.
 */
#ifndef PGBULK_FORM_STATE_H
#define PGBULK_FORM_STATE_H

#include "postgres.h"

#include "format/convert.h"
#include "row/constraints.h"
#include "row/tuple_put.h"

/* Copies of up to 32 bytes may write that many, for speed. */
#define OVERCOPY 32

/* Rows formed at a time, at most, and about how many bytes of these. */
#define BLOCK_ROWS 128
#define BLOCK_FEWEST 16
#define BLOCK_BYTES (16 * 1024)

typedef enum FormKind
{
	FORM_NULL,					/* not in the file */
	FORM_TEXT,					/* a varlena whose data is the field's bytes */
	FORM_CHAR,					/* the same, filled up with spaces to a number of characters */
	FORM_INT2,
	FORM_INT4,
	FORM_INT8,
	FORM_BOOL,
	FORM_FIXED,					/* by the column's converter */
	FORM_VARLENA,				/* the same */
	FORM_SEQUENCE,				/* not in the file: the next value of a sequence */
	FORM_CONSTANT,				/* not in the file: a value that is the same for many rows */
	FORM_LINE,					/* not in the file: the number of the row's line */
	FORM_GENERATED				/* not in the file: computed from the values before it */
} FormKind;

/* Whether there is no field for it. */
#define HAS_NO_FIELD(kind) ((kind) >= FORM_SEQUENCE)

/* One column of the table. */
typedef struct FormColumn
{
	FormKind	kind;
	bool		notnull;
	TupleColumn store;
	Size		offset;			/* of its values, if rows are of one size */
	int			field;			/* its place in the file */
	uint32		max_length;		/* text: bytes that fit the type for certain; char: characters */
	const Column *column;
	const SequenceDefault *sequence;
	Datum		value;			/* of FORM_CONSTANT */
	ExprState  *expr;			/* of FORM_GENERATED */
} FormColumn;

struct RowFormer
{
	Converter  *conv;
	Constraints *constraints;	/* of the table, or NULL */
	bool		checks;			/* rows must satisfy CHECKs */
	bool		generates;		/* has columns that are generated */
	int			natts;
	Size		fixed;			/* space for header, fixed-length columns, alignment, constants */
	Size		extras;			/* of that, for those of option extra */
	Size		shared;			/* bytes at most that several fields have in common */
	Size		spare;			/* space for converters' varlenas beyond their text */
	uint32		growth;			/* and for each byte of the text */
	uint32		null_length;	/* of the only null marker; else ANY_LENGTH */
	int			nwords;			/* of these masks, bit i is attribute i: */
	uint64	   *present;		/* the row's attributes that are not null */
	uint64	   *all;
	uint64	   *notnull;
	HeapTupleHeader whole;		/* header of a row without nulls */
	Size		hoff;			/* its length */
	HeapTupleHeader holed;		/* that of a row with nulls, but for its bitmap */
	Size		hoff_holed;
	Size		row_size;		/* of all rows without nulls; 0: they differ */
	char	   *image;			/* such a row without its values */
	bool		by_rows;		/* blocks cannot be used */
	uint32		block;			/* rows to form at a time */
	uint32		alone;			/* rows to form one by one until a block is tried */
	uint32		patience;		/* how many it will be the next time */
	FormColumn	columns[FLEXIBLE_ARRAY_MEMBER];
};

#define ANY_LENGTH PG_UINT32_MAX

#define WORD(i) ((i) >> 6)
#define BIT(i) (UINT64_C(1) << ((i) & 63))

#endif							/* PGBULK_FORM_STATE_H */
