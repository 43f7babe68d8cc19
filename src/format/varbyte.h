/*
 * varbyte.h
 *		Numbers in no more bytes than they need.
 *
 * Seven bits to a byte, the lowest first; the high bit is set where more follow.
 */
#ifndef PGBULK_VARBYTE_H
#define PGBULK_VARBYTE_H

#include "postgres.h"

/* Bytes of a number at most. */
#define VARBYTE_MAX_LENGTH 10

/* Writes a number, and returns what is behind it. */
static inline uint8 *
varbyte_put(uint8 *to, uint64 number)
{
	while (number >= 0x80)
	{
		*to++ = (uint8) number | 0x80;
		number >>= 7;
	}
	*to++ = (uint8) number;
	return to;
}

/* Reads one that was written so, and returns what is behind it. */
static inline const uint8 *
varbyte_take(const uint8 *from, uint64 *number)
{
	uint64		value = 0;
	int			shift = 0;

	while (*from & 0x80)
	{
		value |= (uint64) (*from++ & 0x7f) << shift;
		shift += 7;
	}
	*number = value | (uint64) *from++ << shift;
	return from;
}

#endif							/* PGBULK_VARBYTE_H */
