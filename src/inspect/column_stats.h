/*
 * column_stats.h
 *		What is counted of the columns of a sample, as data.  Pure C.
 */
#ifndef PGBULK_COLUMN_STATS_H
#define PGBULK_COLUMN_STATS_H

#include "inspect/dialect_type.h"
#include "inspect/objects.h"
#include "inspect/value_shape.h"

/* Bytes that are kept of a column's first value. */
#define COLUMNS_EXAMPLE 64

typedef struct ColumnStats
{
	/* found by looking at values */
	uint64_t	values;			/* that are neither empty nor null markers */
	uint64_t	empties;
	uint64_t	hollow;			/* of blanks alone, without quotes */
	uint64_t	given_nulls;	/* strings that the caller has for NULL; of objects, null */
	uint64_t	markers[SHAPE_NULLS];	/* null markers, by kind */
	bool		quoted_empty;
	uint32_t	quoted_markers; /* bits: kinds that came with quotes */
	uint32_t	types;			/* that hold all values; ShapeType */
	uint32_t	types_comma;	/* the same with a comma as decimal mark */
	bool		digits;			/* not all values are NaN and the like */
	bool		plain_comma;	/* a comma that does not stand before thousands */
	bool		iso;			/* a date that needs no template */
	bool		zoneless;		/* a time behind it that has no zone */
	ShapeDate	date;			/* orders = 0: no other dates */
	bool		padded;			/* blanks around values without quotes */
	uint64_t	blanks;			/* before them */
	uint64_t	lengths;		/* sum */
	uint64_t	words;			/* values that look like names of columns */
	uint64_t	alike;			/* of the first NAMES_PROBE, those written like the name */
	size_t		shortest;
	size_t		longest;
	bool		bare;			/* objects: a number or a boolean, without quotes */
	bool		nested;			/* an object or an array */
	bool		digits_quoted;	/* none but strings, which are numbers */
	bool		named;			/* the first row's field is one of the values */
	char		example[COLUMNS_EXAMPLE + 1];	/* terminated; may end within a letter */
	size_t		example_length;
	/* the field of the row that may be a header */
	const char *name;
	size_t		name_length;
	/* what the caller has given */
	const char *template;		/* of its dates; NULL: to be found */
	ShapeType	template_type;	/* of what it reads */

	/* decided by columns_decide */
	ShapeType	type;
	uint64_t	nulls;			/* values that will be NULL */
	int			order;			/* of the template, if the dates have one; or 0 */
	bool		ambiguous;		/* no value tells day from month */
	bool		force_null;		/* quoted values are NULL, too */
	bool		trim;
} ColumnStats;

struct Columns;

/* How the rows of a sample are read. */
typedef struct ColumnsRoutine
{
	/* Shows all rows of data that a load takes to visit, until that wants no more. */
	void		(*walk) (const struct Columns *columns, SheetVisit visit, void *arg);

	/* The text of a field as it will be loaded; NULL where it will be NULL. */
	const char *(*text) (const struct Columns *columns, uint32_t column,
						 const char *data, const ScanField *field, size_t *length);
} ColumnsRoutine;

typedef struct Columns
{
	/* given */
	const SheetSpan *spans;		/* the first begins the file */
	int			nspans;
	const Objects *objects;		/* NULL: rows are those of the dialect */
	const Dialect *dialect;
	SheetSpace *space;
	char	   *buffer;			/* space for the longest span */
	char	   *names;			/* space for unescaped names, of the same size */
	int			header;			/* lines of it, as the caller knows; -1: to be found */
	const char *const *nulls;	/* strings that mean NULL; NULL: to be found */
	int			nnulls;
	char		decimal_mark;	/* '\0': to be found */
	bool		month_first;	/* the default if ambiguous */

	/* the rows, and those that something is wrong with, by kind */
	const ColumnsRoutine *routine;
	uint64_t	rows;			/* of data: neither empty lines nor header */
	uint64_t	blank;			/* empty lines */
	uint64_t	short_rows;		/* with fewer fields than columns */
	uint64_t	long_rows;		/* with more, and not loaded */
	uint64_t	faulty;			/* broken quotes and line ends, zero bytes */
	uint32_t	count;			/* of columns */
	uint32_t	wanted;			/* the same, but for COLUMNS_MAX */
	uint32_t	regular;		/* fields that rows should have */
	uint32_t	longest;		/* most fields of a row that is loaded */
	bool		row_names;		/* the header lacks the name of the first column */
	bool		name_gaps;		/* it has empty fields that are no column's name */
	bool		has_header;		/* with names ... */
	bool		doubtful;		/* ... which no column's values prove */
	uint32_t	header_lines;	/* before the data */
	uint32_t	preamble;		/* of them before the header */
	uint32_t	null_markers;	/* bits: strings that mean NULL ... */
	bool		null_empty;		/* ... and the empty one */
	bool		trim_all;
	ColumnStats *columns;		/* array of COLUMNS_MAX */
} Columns;

#endif							/* PGBULK_COLUMN_STATS_H */
