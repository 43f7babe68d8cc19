/*
 * fuzz_values.c
 *		Any text through the converters: no read outside the text and its
 *		promised padding, and what the padding holds changes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "scan/values.h"

#define BEFORE 8
#define AFTER 16

#define REQUIRE(condition) do { if (!(condition)) abort(); } while (0)

typedef struct Answers
{
	ValueResult result[12];
	int16_t		i2;
	int32_t		i4;
	int64_t		i8;
	float		f4;
	double		f8;
	bool		b;
	int32_t		date;
	ValueTime	timestamp;
	uint8_t		uuid[16];
	ValueNumeric numeric;
} Answers;

static void
ask(const char *s, size_t len, Answers *a)
{
	uint32_t	oid;
	int64_t		time;
	int			n = 0;

	memset(a, 0, sizeof(*a));
	a->result[n++] = value_int2(s, len, &a->i2);
	a->result[n++] = value_int4(s, len, &a->i4);
	a->result[n++] = value_int8(s, len, &a->i8);
	a->result[n++] = value_oid(s, len, &oid);
	a->result[n++] = value_float4(s, len, &a->f4);
	a->result[n++] = value_float8(s, len, &a->f8);
	a->result[n++] = value_bool(s, len, &a->b);
	a->result[n++] = value_date(s, len, &a->date);
	a->result[n++] = value_timestamp(s, len, &a->timestamp);
	a->result[n++] = value_time(s, len, &time);
	a->result[n++] = value_uuid(s, len, a->uuid);
	a->result[n++] = value_numeric(s, len, &a->numeric);

	REQUIRE(value_utf8_length(s, len) <= len);
	if (a->result[11] == VALUE_OK)
	{
		REQUIRE(a->numeric.ndigits >= 0 && a->numeric.ndigits <= VALUE_NUMERIC_DIGITS);
		for (int i = 0; i < a->numeric.ndigits; i++)
			REQUIRE(a->numeric.digits[i] >= 0 && a->numeric.digits[i] < 10000);
	}
}

/* What two answers have in common where both are values. */
static void
require_same(const Answers *a, const Answers *b)
{
	REQUIRE(memcmp(a->result, b->result, sizeof(a->result)) == 0);
	REQUIRE(a->result[0] != VALUE_OK || a->i2 == b->i2);
	REQUIRE(a->result[1] != VALUE_OK || a->i4 == b->i4);
	REQUIRE(a->result[2] != VALUE_OK || a->i8 == b->i8);
	REQUIRE(a->result[4] != VALUE_OK || memcmp(&a->f4, &b->f4, sizeof(a->f4)) == 0);
	REQUIRE(a->result[5] != VALUE_OK || memcmp(&a->f8, &b->f8, sizeof(a->f8)) == 0);
	REQUIRE(a->result[6] != VALUE_OK || a->b == b->b);
	REQUIRE(a->result[7] != VALUE_OK || a->date == b->date);
	REQUIRE(a->result[8] != VALUE_OK ||
			(a->timestamp.days == b->timestamp.days &&
			 a->timestamp.usec == b->timestamp.usec &&
			 a->timestamp.zone == b->timestamp.zone));
	REQUIRE(a->result[10] != VALUE_OK || memcmp(a->uuid, b->uuid, 16) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char fill[] = {'0', '9', ' ', ','};
	Answers		first;
	Answers		again;

	for (size_t i = 0; i < sizeof(fill); i++)
	{
		char	   *padded = malloc(BEFORE + size + AFTER);

		memset(padded, fill[i], BEFORE + size + AFTER);
		memcpy(padded + BEFORE, data, size);
		ask(padded + BEFORE, size, i == 0 ? &first : &again);
		if (i > 0)
			require_same(&first, &again);
		free(padded);
	}
	return 0;
}
