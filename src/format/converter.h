/*
 * converter.h
 *		The state of conversion, and what all functions that convert fields
 *		need: a field's text, NULL, errors, soft errors of input functions.
 *
 * Values are allocated in a per-row arena and in the per-tuple memory context
 * of the executor state, and are valid until the next row.
 */
#ifndef PGBULK_CONVERTER_H
#define PGBULK_CONVERTER_H

#include "postgres.h"

#include "executor/executor.h"
#include "format/encoding.h"
#include "format/format.h"
#include "option/options.h"
#include "row/arena.h"
#include "row/guard.h"
#include "row/row_error.h"
#include "row/sequence.h"
#include "scan/scan.h"
#include "scan/values.h"
#include "table/target.h"

typedef struct Preparation Preparation;
typedef struct Transform Transform;
typedef struct ExtraColumns ExtraColumns;

/*
 * Text s[0 .. len) to a value of column's type.  VALUE_OK: *out is what the
 * server's input function would return; else see values.h.
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
	bool		is_value;		/* the field is the value, for convert; else its text */
	bool		special;		/* any of these: */
	bool		force_null;
	bool		force_not_null;
	bool		trim;
	bool		prepare;		/* prepare_text before it is converted */
	text	   *template;		/* of its dates; NULL: it is a number */
	const char *template_string;
	bool		null_input;		/* input function is called for NULLs (domains) */
	ConvertFunction convert;	/* NULL: only the server can convert the type, or its binary form */
	void	   *detail;			/* private to convert: labels of an enum, elements of arrays */
	uint32		growth;			/* bytes of values for each of their text, mostly at most; 0: 1 */
	const char *type_name;		/* as messages name it; where convert judges values bad */
	const BulkField *number;	/* the field is one, for convert; NULL: it is a text */
	ConvertFunction convert_text;	/* for its text */
	FmgrInfo	input;			/* input function; binary: receive function */
	Oid			ioparam;
	ExprState  *default_expr;	/* for the default marker, or a missing field */
	bool		default_volatile;
	SequenceDefault sequence;	/* where it is only nextval */
};

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
	SequenceDefault sequence;	/* where expr is only nextval */
} Default;

struct Converter
{
	/* for one file and its columns */
	const BulkOptions *options;
	const FormatRoutine *routine;
	void	   *format_state;	/* private to the routine */
	Target	   *target;
	Guard	   *guard;
	ExprContext *econtext;		/* the writer's per-tuple context */
	ScanDialect dialect;
	Encoding	encoding;
	int			nnulls;
	NullMarker *nulls;			/* in the file's encoding */
	const char *default_marker; /* likewise; NULL: none */
	int			natts;
	int			ncolumns;
	int			nexpected;		/* fields of a well-formed row; 0: that varies */
	Column	   *columns;		/* behind these: those that option extra fills */
	ExtraColumns *extra;		/* NULL: none; private to extra.c and form_open.c */
	int			ndefaults;		/* columns that the file does not have */
	Default    *defaults;
	bool		volatile_defaults;	/* other than nextval: rows are stored one by one */
	Transform  *transform;		/* makes the rows; NULL: the fields are columns */
	Preparation *preparation;	/* of columns with prepare set; private to prepare.c */
	List	   *sequences;		/* SequenceRange */
	bool		watched;		/* each row must call nextval itself */
	bool		z_is_utc;		/* zone letter Z has its usual meaning */
	Node	   *escontext;		/* catches soft errors */

	/* for one window */
	uint32		window_length;
	uint32		valid;			/* bytes known to be valid text, but for ... */
	uint32		invalid_end;	/* ... the row that ends here; 0: none */

	/* for one row */
	bool		suppressed;		/* transform has returned NULL */
	bool		skipped;		/* it is only judged: without defaults, without effects */
	Arena		arena;
	char	   *scratch;		/* unescaped or terminated text of one field */
	Size		scratch_size;
	char	   *json_space;		/* private to jsonb.c, for one document */
	Size		json_space_size;
	StringInfoData repaired;		/* a row whose invalid bytes were replaced */
	int			input_column;	/* column whose input function runs, or -1 */
	const char *input_text;	/* that field's text */
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

/* Whether a field is a null marker, unconverted. */
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

/* A field's text, unquoted and in the database encoding; NULL: err says why. */
extern const char *convert_field_text(Converter *conv, const char *data,
									  const ScanField *field, uint32 *len,
									  RowError *err);

/* Makes scratch at least that large; its contents are kept. */
extern void convert_reserve_scratch(Converter *conv, Size size);

/*
 * Whether a field that its type refuses has a line end that no value of the
 * type (a number, a date) can have: then quotes are misplaced.
 */
extern bool convert_is_swallowed(const Column *column, const char *text);

/*
 * To be called around a column's input function: sets what CONTEXT shows, and
 * opens the guard.  text is NULL for a null.
 */
extern void convert_begin_input(Converter *conv, int index, const char *text);
extern void convert_end_input(Converter *conv);

/*
 * Whether the input function has reported a soft error, which goes into err;
 * calls convert_end_input then.
 */
extern bool convert_soft_error(Converter *conv, const Column *column,
							   RowError *err);

/*
 * The column of that name among those that are loaded, for an option.  Errors:
 * 42703 where the table does not have it, 42P10 where it is not loaded.
 */
extern Column *convert_find_loaded(Converter *conv, const char *name,
								   const char *option);

/* Fills err, or raises it where err is NULL; always false. */
extern bool convert_fail(RowError *err, RejectReason reason, int sqlstate,
						 const Column *column, const char *value,
						 const char *format,...) pg_attribute_printf(6, 7);

/* Marks the error as one of a field too many, or too few; always false. */
static inline bool
convert_wrong_count(RowError *err, bool extra)
{
	if (err != NULL)
	{
		err->extra = extra;
		err->missing = !extra;
	}
	return false;
}

#endif							/* PGBULK_CONVERTER_H */
