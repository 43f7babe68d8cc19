/*
 * print_values.c
 *		Shows what the converters of src/scan make of given texts.
 *
 * Reads lines of a type's name, a blank and the text in hexadecimal; prints
 * one line each: "ask", "syntax", "range", or the value as the type's send
 * function would send it, in hexadecimal after "=".  Run by values.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan/values.h"

#define MAX_LINE 65536
#define USECS_PER_DAY INT64_C(86400000000)

/* What is printed after "=". */
static uint8_t image[MAX_LINE];
static size_t image_length;

static void
put(uint64_t value, int bytes)
{
	while (bytes-- > 0)
		image[image_length++] = (uint8_t) (value >> (8 * bytes));
}

static ValueResult
convert_number(const char *type, const char *s, size_t len)
{
	ValueResult result;

	if (strcmp(type, "int2") == 0)
	{
		int16_t		v = 0;

		result = value_int2(s, len, &v);
		put((uint64_t) v, 2);
	}
	else if (strcmp(type, "int4") == 0)
	{
		int32_t		v = 0;

		result = value_int4(s, len, &v);
		put((uint64_t) v, 4);
	}
	else if (strcmp(type, "int8") == 0)
	{
		int64_t		v = 0;

		result = value_int8(s, len, &v);
		put((uint64_t) v, 8);
	}
	else if (strcmp(type, "oid") == 0)
	{
		uint32_t	v = 0;

		result = value_oid(s, len, &v);
		put(v, 4);
	}
	else if (strcmp(type, "float4") == 0)
	{
		float		v = 0;
		uint32_t	bits;

		result = value_float4(s, len, &v);
		memcpy(&bits, &v, sizeof(bits));
		put(bits, 4);
	}
	else
	{
		double		v = 0;
		uint64_t	bits;

		result = value_float8(s, len, &v);
		memcpy(&bits, &v, sizeof(bits));
		put(bits, 8);
	}
	return result;
}

static ValueResult
convert_numeric(const char *s, size_t len)
{
	ValueNumeric v = {0};
	ValueResult result = value_numeric(s, len, &v);

	if (result != VALUE_OK)
		return result;
	put((uint64_t) v.ndigits, 2);
	put((uint64_t) v.weight, 2);
	put(v.negative ? 0x4000 : 0, 2);
	put((uint64_t) v.dscale, 2);
	for (int i = 0; i < v.ndigits; i++)
		put((uint64_t) v.digits[i], 2);
	/* not sent, but to be compared: digits before the point */
	put((uint64_t) v.int_digits, 2);
	return result;
}

static ValueResult
convert_time(const char *type, const char *s, size_t len)
{
	ValueResult result;

	if (strcmp(type, "date") == 0)
	{
		int32_t		v = 0;

		result = value_date(s, len, &v);
		put((uint64_t) v, 4);
	}
	else if (strcmp(type, "time") == 0)
	{
		int64_t		v = 0;

		result = value_time(s, len, &v);
		put((uint64_t) v, 8);
	}
	else
	{
		ValueTime	v = {0};
		int64_t		usecs;

		result = value_timestamp(s, len, &v);
		usecs = v.days * USECS_PER_DAY + v.usec;
		if (strcmp(type, "timestamptz") == 0)
			usecs -= INT64_C(1000000) * v.offset;
		put((uint64_t) usecs, 8);
	}
	return result;
}

static ValueResult
convert(const char *type, const char *s, size_t len)
{
	ValueResult result;

	if (strcmp(type, "bool") == 0)
	{
		bool		v = false;

		result = value_bool(s, len, &v);
		put(v, 1);
	}
	else if (strcmp(type, "uuid") == 0)
	{
		result = value_uuid(s, len, image);
		image_length = 16;
	}
	else if (strcmp(type, "varbit") == 0)
	{
		put(len, 4);
		result = value_bits(s, len, image + 4);
		image_length += (len + 7) / 8;
	}
	else if (strcmp(type, "bytea") == 0)
		result = value_bytea_hex(s, len, image, &image_length);
	else if (strcmp(type, "money") == 0)
	{
		int64_t		v = 0;

		result = value_money(s, len, &v);
		put((uint64_t) v, 8);
	}
	else if (strcmp(type, "numeric") == 0)
		result = convert_numeric(s, len);
	else if (strcmp(type, "date") == 0 || strncmp(type, "time", 4) == 0)
		result = convert_time(type, s, len);
	else
		result = convert_number(type, s, len);
	return result;
}

/* The text goes between digits, which a converter must not take for its own. */
static size_t
unhex(const char *hex, char *dst)
{
	size_t		len = strlen(hex) / 2;

	memset(dst - 8, '7', len + 8 + 16);
	for (size_t i = 0; i < len; i++)
	{
		char		pair[3] = {hex[2 * i], hex[2 * i + 1], 0};

		dst[i] = (char) strtol(pair, NULL, 16);
	}
	return len;
}

int
main(void)
{
	static char line[MAX_LINE];
	static char buffer[MAX_LINE];
	char	   *text = buffer + 8;

	while (fgets(line, sizeof(line) - 64, stdin))
	{
		char	   *hex = strchr(line, ' ');
		size_t		len;

		if (hex == NULL)
			return 1;
		line[strcspn(line, "\n")] = '\0';
		*hex++ = '\0';
		len = unhex(hex, text);
		image_length = 0;
		switch (convert(line, text, len))
		{
			case VALUE_OK:
				putchar('=');
				for (size_t i = 0; i < image_length; i++)
					printf("%02x", image[i]);
				putchar('\n');
				break;
			case VALUE_ASK:
				puts("ask");
				break;
			case VALUE_BAD_SYNTAX:
				puts("syntax");
				break;
			case VALUE_BAD_RANGE:
				puts("range");
				break;
		}
	}
	return 0;
}
