/*
 * values.h
 *		Text to values of the common types, without a server.
 *
 * Each function returns either exactly what the type's input function of
 * PostgreSQL 15 to 19 would (VALUE_OK), or VALUE_ASK: the caller then calls the
 * server's own input function.  VALUE_BAD_SYNTAX and VALUE_BAD_RANGE are
 * returned only where every supported server certainly rejects the text, with
 * "invalid input syntax for type" (22P02) or "value ... is out of range for
 * type" (22003).  For dates and times these are "invalid input syntax for type"
 * (22007) and "date/time field value out of range" (22008).  When in doubt:
 * VALUE_ASK.  It costs time, never correctness.
 *
 * Input is s[0 .. len), not terminated, already unquoted; at least 8 bytes
 * before s and 16 after s + len are readable.
 */
#ifndef PGBULK_VALUES_H
#define PGBULK_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ValueResult
{
	VALUE_OK,
	VALUE_ASK,
	VALUE_BAD_SYNTAX,
	VALUE_BAD_RANGE
} ValueResult;

extern ValueResult value_int2(const char *s, size_t len, int16_t *out);
extern ValueResult value_int4(const char *s, size_t len, int32_t *out);
extern ValueResult value_int8(const char *s, size_t len, int64_t *out);
extern ValueResult value_oid(const char *s, size_t len, uint32_t *out);
extern ValueResult value_float4(const char *s, size_t len, float *out);
extern ValueResult value_float8(const char *s, size_t len, double *out);

/*
 * Hundredths of type money, where a point, commas and a dollar sign are as in
 * locale C: "[-][$]1[,]234[.5[6]]".  Never BAD.
 */
extern ValueResult value_money(const char *s, size_t len, int64_t *out);

extern ValueResult value_bool(const char *s, size_t len, bool *out);

/* Days since 2000-01-01 (type date). */
extern ValueResult value_date(const char *s, size_t len, int32_t *out);

typedef enum ValueZone
{
	VALUE_ZONE_NONE,			/* text has no zone */
	VALUE_ZONE_OFFSET,			/* numeric: *offset seconds east of UTC */
	VALUE_ZONE_Z				/* the letter Z (UTC unless configured away) */
} ValueZone;

/* A date and time of day, its zone as written. */
typedef struct ValueTime
{
	int32_t		days;			/* since 2000-01-01, local */
	int64_t		usec;			/* of the day, local, 0 .. 86399999999 */
	int			year,
				month,
				day,
				hour,
				minute,
				second,
				fraction;		/* microseconds */
	ValueZone	zone;
	int32_t		offset;			/* seconds east of UTC for VALUE_ZONE_OFFSET */
} ValueTime;

/*
 * "YYYY-MM-DD[ T]HH:MM[:SS[.f{1,6}]][zone]" or a date alone.  The zone may
 * follow a blank: Z, +HH, +HHMM, +HH:MM or +HH:MM:SS, or the same with a
 * minus.  As in ISO 8601, plus is east: UTC is the local time less offset.
 * Without a zone the local time is the session's; for timestamp without time
 * zone the server ignores a numeric one.
 */
extern ValueResult value_timestamp(const char *s, size_t len, ValueTime *out);

/* "HH:MM[:SS[.f{1,6}]]": microseconds of the day (type time). */
extern ValueResult value_time(const char *s, size_t len, int64_t *out);

typedef struct ValueInterval
{
	int64_t		usec;
	int32_t		days;
	int32_t		months;
} ValueInterval;

/*
 * Numbers with their units, and a time of day at last, each with a sign or
 * without: "1 year 2 mons -3 days +04:05:06.7".  Never BAD.
 */
extern ValueResult value_interval(const char *s, size_t len, ValueInterval *out);

typedef struct ValueInet
{
	bool		is_ipv6;
	uint8_t		bits;			/* of the netmask */
	uint8_t		address[16];	/* the first 4 of them, or all */
} ValueInet;

/*
 * Type inet: four decimal numbers, or an address of IPv6 in hexadecimal ones,
 * and "/bits" or nothing.  Never BAD.
 */
extern ValueResult value_inet(const char *s, size_t len, ValueInet *out);

/* Whether an address is also a value of type cidr: no bit is set after the netmask. */
extern bool value_is_network(const ValueInet *inet);

/*
 * n bytes (at most 8) in hexadecimal digits, all with colons between them, or
 * all with hyphens.  Never BAD.
 */
extern ValueResult value_macaddr(const char *s, size_t len, size_t n, uint8_t *out);

/*
 * Numbers of type float8 in a text like pattern, where each '#' stands for one,
 * without spaces after it: "(#,#)".  Never BAD.
 */
extern ValueResult value_coordinates(const char *s, size_t len, const char *pattern,
									 double *out);

extern ValueResult value_uuid(const char *s, size_t len, uint8_t out[16]);

/* Digits '0' and '1', first digit in the high bit; out has (len + 7) / 8 bytes. */
extern ValueResult value_bits(const char *s, size_t len, uint8_t *out);

/* "\x" and hex digits; out must have space for len / 2 - 1 bytes; *outlen is set if OK. */
extern ValueResult value_bytea_hex(const char *s, size_t len, uint8_t *out,
								   size_t *outlen);

/*
 * A decimal number in base 10000, as numeric.c stores it: leading and
 * trailing zero digits stripped, value = sum digits[i] * 10000^(weight - i).
 * Zero has ndigits = 0 and weight = 0 and is never negative.
 */
#define VALUE_NUMERIC_DIGITS 64
typedef struct ValueNumeric
{
	bool		negative;
	int			weight;
	int			dscale;			/* decimal digits after the point, as written */
	int			ndigits;
	int			int_digits;		/* significant decimal digits before the point */
	int16_t		digits[VALUE_NUMERIC_DIGITS];
} ValueNumeric;

/* Plain and exponent notation; ASK for NaN, infinity, or too many digits. */
extern ValueResult value_numeric(const char *s, size_t len, ValueNumeric *out);

/* A number of a date that does not match its pattern. */
typedef struct ValueMismatch
{
	const char *pattern;
	const char *number;			/* in the text */
	size_t		length;
} ValueMismatch;

/*
 * Whether a text that to_timestamp can read by a template is nevertheless not a
 * valid date: a day, month or year of zero, or fewer digits than YYYY has.
 * Both are terminated.  Unknown patterns end the search.
 */
extern bool value_template_mismatch(const char *template, const char *text,
									ValueMismatch *mismatch);

/* Characters in valid UTF-8 text. */
extern size_t value_utf8_length(const char *s, size_t len);

#endif							/* PGBULK_VALUES_H */
