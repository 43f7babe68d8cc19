/*
 * range.c
 *		See range.h.
 *
 * A range is stored by the rules of make_range, range_serialize and the
 * canonical functions of the server's own types (rangetypes.c).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "format/convert.h"
#include "format/range.h"
#include "row/tuple_put.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/multirangetypes.h"
#include "utils/rangetypes.h"
#include "utils/timestamp.h"

/* Bytes of a range for each byte of its text, mostly at most: "{[1,2)}" with bigints. */
#define RANGE_GROWTH 4

/* Up to so many ranges of a multirange; more are left to the server. */
#define MAX_RANGES 64

typedef struct RangeReader
{
	Converter  *conv;
	TypeCacheEntry *type;		/* of the ranges */
	const Column *bound;
	TupleColumn store;			/* of a bound within a range */
	bool		is_discrete;	/* int4, int8 or date, with their canonical function */
	int64		last;			/* then: the largest value */
	Oid			multirange;
	MemoryContext context;		/* for one multirange */
} RangeReader;

/* ---- the types ---- */

/* The comparisons of bounds that never fail, and need no collation. */
static bool
is_known_comparison(Oid function)
{
	switch (function)
	{
		case F_BTINT4CMP:
		case F_BTINT8CMP:
		case F_DATE_CMP:
		case F_TIMESTAMP_CMP:
		case F_TIMESTAMPTZ_CMP:
		case F_NUMERIC_CMP:
		case F_BTFLOAT8CMP:
			return true;
		default:
			return false;
	}
}

static bool
is_known_canonical(Oid function)
{
	return function == InvalidOid || function == F_INT4RANGE_CANONICAL ||
		function == F_INT8RANGE_CANONICAL || function == F_DATERANGE_CANONICAL;
}

TypeCacheEntry *
range_served(Oid type)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_RANGE_INFO);

	return entry->rngelemtype != NULL &&
		is_known_comparison(entry->rng_cmp_proc_finfo.fn_oid) &&
		is_known_canonical(entry->rng_canonical_finfo.fn_oid) ? entry : NULL;
}

static RangeReader *
open_reader(TypeCacheEntry *type, const Column *bound)
{
	RangeReader *reader = palloc0(sizeof(RangeReader));
	FormData_pg_attribute store = {
		.attlen = type->rngelemtype->typlen,
		.attbyval = type->rngelemtype->typbyval,
		.attalign = type->rngelemtype->typalign,
		.attstorage = type->rngelemtype->typstorage,
	};

	reader->type = type;
	reader->bound = bound;
	tuple_column(&reader->store, &store);
	switch (type->rng_canonical_finfo.fn_oid)
	{
		case F_INT4RANGE_CANONICAL:
			reader->last = PG_INT32_MAX;
			break;
		case F_INT8RANGE_CANONICAL:
			reader->last = PG_INT64_MAX;
			break;
		case F_DATERANGE_CANONICAL:
			reader->last = DATEVAL_NOEND - 1;
			break;
	}
	reader->is_discrete = reader->last > 0;
	return reader;
}

/* ---- bounds ---- */

static inline bool
ends_bound(char c)
{
	return c == ',' || c == ')' || c == ']';
}

/*
 * A bound's text, up to the delimiter after it, which is returned; NULL: it is
 * for the server.
 */
static inline const char *
read_bound(RangeReader *reader, const char *s, const char *end, RangeBound *bound)
{
	const char *start = s;
	const char *stop;
	bool		quoted = s < end && *s == '"';

	if (quoted)
	{
		start = ++s;
		while (s < end && *s != '"' && *s != '\\')
			s++;
		stop = s;
		if (s == end || *s++ != '"')
			return NULL;
	}
	else
	{
		while (s < end && !ends_bound(*s))
		{
			if (*s == '"' || *s == '\\')
				return NULL;
			s++;
		}
		stop = s;
	}
	if (s == end || !ends_bound(*s))
		return NULL;
	bound->infinite = s == start;
	if (bound->infinite)
		return s;
	return reader->bound->convert(reader->conv, reader->bound, start, stop - start,
								  &bound->val) == VALUE_OK ? s : NULL;
}

static inline int64
integer_value(const RangeReader *reader, Datum value)
{
	return reader->store.length == sizeof(int32) ? DatumGetInt32(value) : DatumGetInt64(value);
}

static inline int
compare_integers(int64 a, int64 b)
{
	return a < b ? -1 : a > b;
}

/* Values of these types are integers, or are compared by the server. */
static inline int
compare_bounds(const RangeReader *reader, const RangeBound *lower, const RangeBound *upper)
{
	if (lower->infinite || upper->infinite)
		return -1;
	switch (reader->type->rng_cmp_proc_finfo.fn_oid)
	{
		case F_NUMERIC_CMP:
		case F_BTFLOAT8CMP:
			return DatumGetInt32(FunctionCall2(&reader->type->rng_cmp_proc_finfo,
											   lower->val, upper->val));
		default:
			return compare_integers(integer_value(reader, lower->val),
									integer_value(reader, upper->val));
	}
}

/* Moves a bound to the next value; false: there is none. */
static inline bool
step_bound(const RangeReader *reader, RangeBound *bound)
{
	int64		value = integer_value(reader, bound->val);

	if (value >= reader->last)
		return false;
	bound->val = reader->store.length == sizeof(int32) ?
		Int32GetDatum((int32) value + 1) : Int64GetDatum(value + 1);
	bound->inclusive = !bound->inclusive;
	return true;
}

/* "[lower,upper)" in place of other brackets; false: that is out of range. */
static inline bool
make_canonical(const RangeReader *reader, RangeBound *lower, RangeBound *upper)
{
	return (lower->infinite || lower->inclusive || step_bound(reader, lower)) &&
		(upper->infinite || !upper->inclusive || step_bound(reader, upper));
}

/* ---- ranges ---- */

static inline char *
put_bound(const RangeReader *reader, char *p, const RangeBound *bound)
{
	return reader->store.length < 0 ? tuple_put_varlena(p, &reader->store, bound->val) :
		tuple_put_fixed(p, &reader->store, bound->val);
}

static inline Size
bound_size(const RangeReader *reader, const RangeBound *bound)
{
	if (bound->infinite)
		return 0;
	return 2 * sizeof(uint64) + (reader->store.length < 0 ?
								 VARSIZE_ANY(DatumGetPointer(bound->val)) : reader->store.length);
}

static RangeType *
put_range(RangeReader *reader, const RangeBound *lower, const RangeBound *upper, bool is_empty)
{
	Size		size = sizeof(RangeType) + sizeof(uint64);
	RangeType  *range;
	char	   *p;
	char		flags = is_empty ? RANGE_EMPTY : 0;

	if (!is_empty)
		size += bound_size(reader, lower) + bound_size(reader, upper);
	range = arena_alloc(&reader->conv->arena, size);
	range->rangetypid = reader->type->type_id;
	p = (char *) (range + 1);
	if (!is_empty)
	{
		if (lower->infinite)
			flags |= RANGE_LB_INF;
		else
		{
			flags |= lower->inclusive ? RANGE_LB_INC : 0;
			p = put_bound(reader, p, lower);
		}
		if (upper->infinite)
			flags |= RANGE_UB_INF;
		else
		{
			flags |= upper->inclusive ? RANGE_UB_INC : 0;
			p = put_bound(reader, p, upper);
		}
	}
	*p++ = flags;
	SET_VARSIZE(range, p - (char *) range);
	return range;
}

/* A range from s on; returns what is after it, or NULL. */
static const char *
read_range(RangeReader *reader, const char *s, const char *end, RangeType **range)
{
	RangeBound	lower = {.lower = true};
	RangeBound	upper = {0};
	int			order;

	if (end - s >= 5 && memcmp(s, "empty", 5) == 0)
	{
		*range = put_range(reader, NULL, NULL, true);
		return s + 5;
	}
	if (s == end || (*s != '[' && *s != '('))
		return NULL;
	lower.inclusive = *s == '[';
	s = read_bound(reader, s + 1, end, &lower);
	if (s == NULL || *s != ',')
		return NULL;
	s = read_bound(reader, s + 1, end, &upper);
	if (s == NULL || *s == ',')
		return NULL;
	upper.inclusive = *s == ']';

	order = compare_bounds(reader, &lower, &upper);
	if (order > 0)
		return NULL;
	if (reader->is_discrete && (order < 0 || (lower.inclusive && upper.inclusive)))
	{
		if (!make_canonical(reader, &lower, &upper))
			return NULL;
		order = compare_bounds(reader, &lower, &upper);
	}
	*range = put_range(reader, &lower, &upper,
					   order == 0 && !(lower.inclusive && upper.inclusive));
	return s + 1;
}

static ValueResult
convert_range(Converter *conv, const Column *column, const char *s, uint32 len,
			  Datum *out)
{
	RangeReader *reader = column->detail;
	RangeType  *range;

	reader->conv = conv;
	if (read_range(reader, s, s + len, &range) != s + len)
		return VALUE_ASK;
	*out = RangeTypePGetDatum(range);
	return VALUE_OK;
}

void
range_choose(Column *column, TypeCacheEntry *type, const Column *bound)
{
	if (bound->convert == NULL)
		return;
	column->detail = open_reader(type, bound);
	column->convert = convert_range;
	column->growth = RANGE_GROWTH;
}

/* ---- multiranges ---- */

/* The ranges between the braces; returns how many there are, or -1. */
static int
read_ranges(RangeReader *reader, const char *s, const char *end, RangeType **ranges)
{
	int			n = 0;

	if (s == end)
		return 0;
	for (;;)
	{
		if (n == MAX_RANGES)
			return -1;
		s = read_range(reader, s, end, &ranges[n]);
		if (s == NULL)
			return -1;
		n++;
		if (s == end)
			return n;
		if (*s++ != ',')
			return -1;
	}
}

static ValueResult
convert_multirange(Converter *conv, const Column *column, const char *s, uint32 len,
				   Datum *out)
{
	RangeReader *reader = column->detail;
	RangeType  *ranges[MAX_RANGES];
	MemoryContext outer;
	MultirangeType *made;
	int			n;

	if (len < 2 || s[0] != '{' || s[len - 1] != '}')
		return VALUE_ASK;
	reader->conv = conv;
	n = read_ranges(reader, s + 1, s + len - 1, ranges);
	if (n < 0)
		return VALUE_ASK;

	outer = MemoryContextSwitchTo(reader->context);
	made = make_multirange(reader->multirange, reader->type, n, ranges);
	MemoryContextSwitchTo(outer);
	*out = PointerGetDatum(memcpy(arena_alloc(&conv->arena, VARSIZE(made)), made, VARSIZE(made)));
	MemoryContextReset(reader->context);
	return VALUE_OK;
}

void
multirange_choose(Column *column, TypeCacheEntry *type, const Column *bound)
{
	RangeReader *reader;

	if (bound->convert == NULL)
		return;
	reader = open_reader(type, bound);
	reader->multirange = column->type;
	reader->context = AllocSetContextCreate(CurrentMemoryContext, "pgbulk multirange",
											ALLOCSET_SMALL_SIZES);
	column->detail = reader;
	column->convert = convert_multirange;
	column->growth = RANGE_GROWTH;
}
