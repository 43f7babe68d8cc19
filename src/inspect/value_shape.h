/*
 * value_shape.h
 *		What a value looks like: the types that would hold it.
 *
 * Pure C, as scan/: no server header, no allocation, no I/O, no abort.  A shape
 * is a guess from the looks alone: whoever trusts one asks the server's input
 * functions afterwards.  It is strict about what people mean: 0123 is no number
 * but a code, and 1 is no boolean.
 */
#ifndef PGBULK_VALUE_SHAPE_H
#define PGBULK_VALUE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The narrowest first. */
typedef enum ShapeType
{
	SHAPE_BOOL,
	SHAPE_INT4,
	SHAPE_INT8,
	SHAPE_NUMERIC,
	SHAPE_FLOAT8,
	SHAPE_DATE,
	SHAPE_TIMESTAMP,
	SHAPE_TIMESTAMPTZ,
	SHAPE_TIME,
	SHAPE_UUID,
	SHAPE_INET,
	SHAPE_JSONB,
	SHAPE_TEXT
} ShapeType;

#define SHAPE_TYPES (SHAPE_TEXT + 1)
#define SHAPE_BIT(type) (1u << (type))

/* Anything: what a column holds before its first value. */
#define SHAPE_ANY ((1u << SHAPE_TYPES) - 1)

/* SQL name of a type. */
extern const char *const shape_type_names[SHAPE_TYPES];

/* The order of day and month in a date. */
#define SHAPE_DAY_FIRST		1
#define SHAPE_MONTH_FIRST	2

/*
 * How a date is written that only date_format can read.  Dates of one layout
 * have one template for each order that is possible for them.
 */
typedef struct ShapeDate
{
	uint8_t		orders;			/* 0: it is none */
	char		separators[3];	/* between the parts; "," stands for ", " */
	uint8_t		month;			/* SHAPE_MONTH_* */
	bool		year_first;
	bool		short_year;
	uint8_t		time;			/* index into the layouts of times, 0: none */
} ShapeDate;

typedef enum ShapeMonth
{
	SHAPE_MONTH_NUMBER,
	SHAPE_MONTH_SHORT,			/* Jan */
	SHAPE_MONTH_LONG,			/* January */
	SHAPE_MONTH_MAY				/* either */
} ShapeMonth;

typedef struct ValueShape
{
	uint32_t	types;			/* bits of ShapeType */
	uint32_t	types_comma;	/* the same where a comma is the decimal mark */
	bool		comma;			/* a number with a comma ... */
	bool		thousand;		/* ... and three digits behind it */
	bool		special;		/* a number without digits: NaN, Infinity */
	ShapeDate	date;
} ValueShape;

/* The shape of s[0 .. len), which has no blanks at its ends. */
extern void shape_of(const char *s, size_t len, ValueShape *shape);

/*
 * Whether dates of both layouts can be read by one template, which *date then
 * stands for.
 */
extern bool shape_merge_dates(ShapeDate *date, const ShapeDate *other);

/* The template of a layout; order is one of its orders.  template has 64 bytes. */
extern void shape_template(const ShapeDate *date, int order, char *template);

/*
 * How clean a field looks, from 0 to 1: whether it is likely to be one value
 * and not half a value, or several with a delimiter between them.
 */
extern double shape_cleanness(const char *s, size_t len);

/* Whether a text is a number, a date or the like: more than text. */
extern bool shape_is_typed(const char *s, size_t len);

/*
 * Number of the null marker that a text is, from 0 to SHAPE_NULLS - 1; -1 for
 * any other.  The first two mean NULL whatever stands around them; the others
 * where the rest of a column has a type that they do not fit.
 */
#define SHAPE_NULLS 19
#define SHAPE_SURE_NULLS 2
extern const char *const shape_nulls[SHAPE_NULLS];
extern int	shape_null(const char *s, size_t len);

#endif							/* PGBULK_VALUE_SHAPE_H */
