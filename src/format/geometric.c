/*
 * geometric.c
 *		See geometric.h.
 */
#include "postgres.h"

#include "format/geometric.h"
#include "utils/geo_decls.h"

/* The type must consist of the pattern's numbers, in their order. */
static inline ValueResult
convert_numbers(Converter *conv, const char *s, uint32 len, const char *pattern,
				Size size, Datum *out)
{
	double	   *numbers = arena_alloc(&conv->arena, size);

	*out = PointerGetDatum(numbers);
	return value_coordinates(s, len, pattern, numbers);
}

ValueResult
convert_point(Converter *conv, const Column *column, const char *s, uint32 len,
			  Datum *out)
{
	return convert_numbers(conv, s, len, "(#,#)", sizeof(Point), out);
}

ValueResult
convert_lseg(Converter *conv, const Column *column, const char *s, uint32 len,
			 Datum *out)
{
	return convert_numbers(conv, s, len, "[(#,#),(#,#)]", sizeof(LSEG), out);
}

static inline void
order_pair(double *high, double *low)
{
	double		first = *high;

	if (first < *low)
	{
		*high = *low;
		*low = first;
	}
}

ValueResult
convert_box(Converter *conv, const Column *column, const char *s, uint32 len,
			Datum *out)
{
	ValueResult result = convert_numbers(conv, s, len, "(#,#),(#,#)", sizeof(BOX), out);

	if (result == VALUE_OK)
	{
		BOX		   *box = DatumGetBoxP(*out);

		order_pair(&box->high.x, &box->low.x);
		order_pair(&box->high.y, &box->low.y);
	}
	return result;
}

ValueResult
convert_circle(Converter *conv, const Column *column, const char *s, uint32 len,
			   Datum *out)
{
	ValueResult result = convert_numbers(conv, s, len, "<(#,#),#>", sizeof(CIRCLE), out);

	return result == VALUE_OK && DatumGetCircleP(*out)->radius < 0 ? VALUE_ASK : result;
}
