/*
 * values_int.h
 *		Short integers where a call would cost as much as the work.
 */
#ifndef PGBULK_VALUES_INT_H
#define PGBULK_VALUES_INT_H

#include "scan/values_swar.h"

/*
 * The number s[0 .. len) if it is a minus sign, perhaps, and 1 to 8 digits;
 * false where it is anything else, and value_int2, 4 and 8 must judge.
 */
static inline bool
value_short_int(const char *s, size_t len, int32_t *out)
{
	int32_t		negative = *s == '-';
	size_t		n = len - (size_t) negative;
	uint64_t	word;
	int32_t		value;

	if (UNLIKELY(n - 1 >= 8))
		return false;
	word = swar_pad(swar_load(s + negative), n);
	value = (int32_t) swar_fold(word);
	*out = (value ^ -negative) + negative;
	return swar_all_digits(word);
}

#endif							/* PGBULK_VALUES_INT_H */
