/*
 * values_int.h
 *		Short integers where a call would cost as much as the work.
 */
#ifndef PGBULK_VALUES_INT_H
#define PGBULK_VALUES_INT_H

#include "scan/values_swar.h"

/*
 * The number s[0 .. len) if it is a minus sign, perhaps, and 1 to 16 digits;
 * false where it is anything else, and value_int2, 4 and 8 must judge.
 */
static inline bool
value_short_int(const char *s, size_t len, int64_t *out)
{
	int64_t		negative = *s == '-';
	size_t		n = len - (size_t) negative;
	uint64_t	head = SWAR_ZEROS;
	uint64_t	tail;
	int64_t		value;

	s += negative;
	if (LIKELY(n - 1 < 8))
	{
		tail = swar_pad(swar_load(s), n);
		value = swar_fold(tail);
	}
	else if (n - 9 < 8)
	{
		head = swar_pad(swar_load(s), n - 8);
		tail = swar_load(s + n - 8);
		value = (int64_t) swar_fold(head) * 100000000 + swar_fold(tail);
	}
	else
		return false;
	*out = (value ^ -negative) + negative;
	return swar_all_digits(tail) && swar_all_digits(head);
}

#endif							/* PGBULK_VALUES_INT_H */
