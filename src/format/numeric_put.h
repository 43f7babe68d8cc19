/*
 * numeric_put.h
 *		The layout of a value of type numeric.
 *
 * Private to the files that form such values.  The layout is that of the short form in
 * utils/adt/numeric.c: a header of two bytes with sign, display scale and
 * weight, then digits in base 10000.  What does not fit is left to numeric_in.
 */
#ifndef PGBULK_NUMERIC_PUT_H
#define PGBULK_NUMERIC_PUT_H

#include "postgres.h"

#include "scan/values.h"

#define NUMERIC_SHORT 0x8000
#define NUMERIC_SHORT_NEGATIVE 0x2000
#define NUMERIC_SHORT_DSCALE_SHIFT 7
#define NUMERIC_SHORT_DSCALE_MAX 0x3F
#define NUMERIC_SHORT_WEIGHT_SIGN 0x0040
#define NUMERIC_SHORT_WEIGHT_MASK 0x003F
#define NUMERIC_SHORT_WEIGHT_MAX 63
#define NUMERIC_SHORT_WEIGHT_MIN (-64)

static inline bool
numeric_fits_short(const ValueNumeric *number)
{
	return number->dscale <= NUMERIC_SHORT_DSCALE_MAX &&
		number->weight <= NUMERIC_SHORT_WEIGHT_MAX &&
		number->weight >= NUMERIC_SHORT_WEIGHT_MIN;
}

/* Bytes of the value, without those of its length. */
static inline Size
numeric_short_size(const ValueNumeric *number)
{
	return sizeof(uint16) + number->ndigits * sizeof(int16);
}

/* Writes those bytes. */
static inline void
numeric_put_short(const ValueNumeric *number, char *to)
{
	uint16		header = NUMERIC_SHORT |
		(number->negative ? NUMERIC_SHORT_NEGATIVE : 0) |
		(number->dscale << NUMERIC_SHORT_DSCALE_SHIFT) |
		(number->weight < 0 ? NUMERIC_SHORT_WEIGHT_SIGN : 0) |
		(number->weight & NUMERIC_SHORT_WEIGHT_MASK);

	memcpy(to, &header, sizeof(uint16));
	memcpy(to + sizeof(uint16), number->digits, number->ndigits * sizeof(int16));
}

#endif							/* PGBULK_NUMERIC_PUT_H */
