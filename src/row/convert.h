/*
 * convert.h
 *		Fields of a row to the values of its columns.
 *
 * Common types have a fast converter (types.c) that gives exactly what the
 * type's input function would, or declines; then the input function decides.
 * Values live in a per-row arena and in the per-tuple memory context of the
 * executor state, until the next row.
 *
 * Rules of NULL, DEFAULT and quoting are NextCopyFrom's (copyfromparse.c).
 */
#ifndef PGBULK_CONVERT_H
#define PGBULK_CONVERT_H

#include "postgres.h"

#include "executor/executor.h"
#include "options.h"
#include "row/arena.h"
#include "row/encoding.h"
#include "row/guard.h"
#include "row/row_error.h"
#include "row/sequence.h"
#include "scan/scan.h"
#include "scan/values.h"
#include "target.h"

typedef struct Converter Converter;
typedef struct Column Column;
typedef struct Transform Transform;

/*
 * Text s[0 .. len) to a value of column's type.  VALUE_OK: *out is what the
 * server's input function would give; else as values.h says.
 */
typedef ValueResult (*ConvertFunction) (Converter *conv, const Column *column,
										const char *s, uint32 len, Datum *out);

struct Column
{
	AttrNumber	attnum;			/* 0: the field is not loaded */
	const char *name;
	Oid			type;
	int32		typmod;
	bool		pack;			/* varlena values may have short headers */
	bool		special;		/* any of these: */
	bool		force_null;
	bool		force_not_null;
	bool		trim;
	bool		prepare;		/* prepare_text before it is converted */
	text	   *template;		/* of its dates; NULL: it is a number */
	const char *template_string;
	bool		null_input;		/* input function wants to see NULLs (domains) */
	ConvertFunction convert;	/* NULL: only the server knows the type, or its binary form */
	const char *type_name;		/* as messages name it; where convert is set */
	const BulkField *number;	/* the field is one, for convert; NULL: it is a text */
	ConvertFunction convert_text;	/* for its text */
	FmgrInfo	input;			/* input function; binary: receive function */
	Oid			ioparam;
	ExprState  *default_expr;	/* for the default marker, or a missing field */
	bool		default_volatile;
	SequenceDefault sequence;	/* where it only asks one */
};

/* The longest text of a number, and what is read around it. */
#define CONVERT_NUMBER_MARGIN 16
#define CONVERT_NUMBER_SIZE 64

typedef struct NullMarker
{
	const char *text;
	uint32		length;
} NullMarker;

typedef struct Default
{
	AttrNumber	attnum;
	ExprState  *expr;
	bool		is_volatile;
	SequenceDefault sequence;	/* where expr only asks one */
} Default;

struct Converter
{
	/* for one file and its columns */
	const BulkOptions *options;
	const Target *target;
	Guard	   *guard;
	ExprContext *econtext;		/* the writer's per-tuple context */
	ScanDialect dialect;
	Encoding	encoding;
	int			nnulls;
	NullMarker *nulls;			/* as the file has them */
	const char *default_marker; /* likewise; NULL: none */
	int			natts;
	int			ncolumns;
	int			nexpected;		/* fields of a sound row; 0: that varies */
	Column	   *columns;
	int			ndefaults;		/* columns that the file does not have */
	Default    *defaults;
	bool		volatile_defaults;	/* other than nextval: rows go one by one */
	Transform  *transform;		/* makes the rows; NULL: the fields are columns */
	List	   *sequences;		/* SequenceRange */
	bool		watched;		/* each row must have its nextval */
	bool		z_is_utc;		/* zone letter Z has its usual meaning */
	Node	   *escontext;		/* catches soft errors */
	const BulkField *numbers;	/* what the fields are; NULL: all are texts */

	/* for one window */
	uint32		window_length;
	uint32		valid;			/* bytes known to be valid text */

	/* for one row */
	bool		suppressed;		/* transform does not want it */
	Arena		arena;
	StringInfoData message;		/* binary: one field, for its receive function */
	char	   *scratch;		/* unescaped or terminated text of one field */
	Size		scratch_size;
	char	   *json_space;		/* jsonb.c's, for one document */
	Size		json_space_size;
	char		number_text[CONVERT_NUMBER_SIZE];	/* see fixed_text */
	StringInfoData mended;		/* a row with what was not valid replaced */
	StringInfoData original;	/* the field that was prepared, and what it became */
	StringInfoData prepared;
	int			asking;			/* column whose input function runs, or -1 */
	const char *asking_text;	/* its field, as the file has it */
	bool	   *nulled;			/* set_null: fields to make NULL, by position */
	int			nnulled;
	char	  **nulled_text;
};

static inline bool
convert_is_null_marker(const Converter *conv, const char *s, uint32 len)
{
	for (int i = 0; i < conv->nnulls; i++)
	{
		const NullMarker *marker = &conv->nulls[i];

		if (len == marker->length && memcmp(s, marker->text, len) == 0)
			return true;
	}
	return false;
}

/* Whether a field is a null marker as it stands. */
static inline bool
convert_is_null(const Converter *conv, const char *data, const ScanField *field)
{
	return !field->quoted &&
		convert_is_null_marker(conv, data + field->start, field->length);
}

/*
 * A field without the spaces and tabs at its ends.  Those inside quotes, and
 * in text format one after a backslash, belong to the value.
 */
extern ScanField convert_trim(const Converter *conv, const char *data,
							  ScanField field);

/*
 * Prepares for a file's columns (target->attnums).  Memory: the current
 * context.  Errors: 42883 for an encoding without conversion; 0A000 for a
 * type without the needed input function; 42703 as COPY for force_null and
 * force_not_null columns that are not loaded, and likewise for those of other options.
 */
extern Converter *convert_open(const BulkOptions *options, const Target *target,
							   Guard *guard, EState *estate);

/*
 * Says how many rows come next, at most: as many values are taken from
 * sequences at once.
 */
extern void convert_expect(Converter *conv, uint32 nrows);

/* A new window: finds out how far its first len bytes are valid text. */
extern void convert_window(Converter *conv, const char *data, uint32 len);

/*
 * A row's values and nulls (natts of each), defaults included.  data is the
 * window that row and fields point into.  False: err says why (see
 * row_error.h for err = NULL).
 */
extern bool convert_row(Converter *conv, const char *data, const ScanRow *row,
						const ScanField *fields, Datum *values, bool *nulls,
						RowError *err);

/* The same by option transform. */
extern bool convert_transformed_row(Converter *conv, const char *data,
									const ScanRow *row, const ScanField *fields,
									Datum *values, bool *nulls, RowError *err);

/* Which of these (and binary.c's) is for a load. */
typedef bool (*ConvertRow) (Converter *conv, const char *data,
							const ScanRow *row, const ScanField *fields,
							Datum *values, bool *nulls, RowError *err);
extern ConvertRow convert_row_function(const BulkOptions *options);

/* A field's text, unquoted and in the database encoding, or NULL if it cannot be had. */
extern const char *convert_field_text(Converter *conv, const char *data,
									  const ScanField *field, uint32 *len,
									  RowError *err);

/* Says what the scan has found wrong with a row; always false. */
extern bool convert_fault(const Converter *conv, const ScanRow *row,
						  RowError *err);

/* What the input function that has thrown was given, if it was text. */
extern const char *convert_asked_text(const Converter *conv);

/*
 * Whether a field that its type refuses has a line end that no value of the
 * type (a number, a date) can have: quotes then are out of order.
 */
extern bool convert_is_swallowed(const Column *column, const char *text);

/*
 * After an error caught in an input function under set_null: has that field
 * made NULL in the next convert_row of the same row.  False where the error
 * did not come from an input function.
 */
extern bool convert_null_asked(Converter *conv);

extern void convert_mark_nulled(Converter *conv, int index, const char *text);

/* Forgets about the row; the next one begins. */
extern void convert_next(Converter *conv);

/* A varlena value with room for len bytes of data, at *data. */
extern Datum convert_varlena(Converter *conv, const Column *column, Size len,
							 char **data);

/* Sets column->convert and type_name where the type has a fast converter (types.c). */
extern void convert_choose(Converter *conv, Column *column);

/* Binary format (binary.c). */
extern bool convert_binary_row(Converter *conv, const char *data,
							   const ScanRow *row, const ScanField *fields,
							   Datum *values, bool *nulls, RowError *err);

/* -- shared by convert.c and binary.c -- */

/*
 * Around the call of a column's input function: for CONTEXT, and for the
 * guard, which is opened.  text is NULL for a null.
 */
extern void convert_begin_asking(Converter *conv, int index, const char *text);
extern void convert_end_asking(Converter *conv);

/*
 * Whether what was asked has said no, by a soft error, which goes into err;
 * the asking is ended then.
 */
extern bool convert_soft_error(Converter *conv, const Column *column,
							   RowError *err);

/*
 * The column of that name among those that are loaded, for an option.  Errors:
 * 42703 where the table does not have it, 42P10 where it is not loaded.
 */
extern Column *convert_find_loaded(Converter *conv, const char *name,
								   const char *option);

/*
 * For rows that workers share: takes values of sequences for n rows, for all
 * columns that the file does not have, at once; what was left is given up.  Error: 55000 where others
 * have used a sequence up since convert_sequences_last.
 */
extern void convert_reserve(Converter *conv, int64 n);

/* Whether the sequences will do for n rows, and may be asked by a worker. */
extern bool convert_sequences_last(Converter *conv, int64 n);

/* Whether a column that the file does not have only takes values of a sequence. */
extern bool convert_takes_sequence(const Converter *conv, AttrNumber attnum);

/* Columns that the file does not have. */
extern void convert_defaults(Converter *conv, Datum *values, bool *nulls);

/* Columns of the list, from the first on, that a row is too short for. */
extern bool convert_missing(Converter *conv, int first, Datum *values,
							bool *nulls, RowError *err);

/* Fills err, or raises it where err is NULL; always false. */
extern bool convert_fail(RowError *err, RejectReason reason, int sqlstate,
						 const Column *column, const char *value,
						 const char *format,...) pg_attribute_printf(6, 7);

#endif							/* PGBULK_CONVERT_H */
