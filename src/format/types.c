/*
 * types.c
 *		Fast converters: the common types from text, without their input
 *		functions.
 *
 * Each returns exactly the datum that the input function would, typmod
 * included, or declines.  scan/values.c parses; here the result becomes a
 * Datum.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "format/array.h"
#include "format/convert.h"
#include "format/domain.h"
#include "format/enum.h"
#include "format/geometric.h"
#include "format/jsonb.h"
#include "format/network.h"
#include "format/numeric_put.h"
#include "format/range.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/cash.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
#include "utils/varbit.h"

/* Bytes of a value of jsonb for each byte of its text, mostly at most. */
#define JSONB_GROWTH 4

#define SHORT_DATA_MAX (VARATT_SHORT_MAX - VARHDRSZ_SHORT)

Datum
convert_varlena(Converter *conv, const Column *column, Size len, char **data)
{
	char	   *p = arena_alloc(&conv->arena, len + VARHDRSZ);

	if (len <= SHORT_DATA_MAX && column->pack)
	{
		SET_VARSIZE_SHORT(p, len + VARHDRSZ_SHORT);
		*data = p + VARHDRSZ_SHORT;
	}
	else
	{
		SET_VARSIZE(p, len + VARHDRSZ);
		*data = p + VARHDRSZ;
	}
	return PointerGetDatum(p);
}

/* ---- numbers ---- */

static ValueResult
convert_int2(Converter *conv, const Column *column, const char *s, uint32 len,
			 Datum *out)
{
	int16		value = 0;
	ValueResult result = value_int2(s, len, &value);

	*out = Int16GetDatum(value);
	return result;
}

static ValueResult
convert_int4(Converter *conv, const Column *column, const char *s, uint32 len,
			 Datum *out)
{
	int32		value = 0;
	ValueResult result = value_int4(s, len, &value);

	*out = Int32GetDatum(value);
	return result;
}

static ValueResult
convert_int8(Converter *conv, const Column *column, const char *s, uint32 len,
			 Datum *out)
{
	int64_t		value = 0;
	ValueResult result = value_int8(s, len, &value);

	*out = Int64GetDatum(value);
	return result;
}

static ValueResult
convert_oid(Converter *conv, const Column *column, const char *s, uint32 len,
			Datum *out)
{
	uint32_t	value = 0;
	ValueResult result = value_oid(s, len, &value);

	*out = ObjectIdGetDatum(value);
	return result;
}

static ValueResult
convert_float4(Converter *conv, const Column *column, const char *s, uint32 len,
			   Datum *out)
{
	float		value = 0;
	ValueResult result = value_float4(s, len, &value);

	*out = Float4GetDatum(value);
	return result;
}

static ValueResult
convert_float8(Converter *conv, const Column *column, const char *s, uint32 len,
			   Datum *out)
{
	double		value = 0;
	ValueResult result = value_float8(s, len, &value);

	*out = Float8GetDatum(value);
	return result;
}

static ValueResult
convert_money(Converter *conv, const Column *column, const char *s, uint32 len,
			  Datum *out)
{
	int64_t		value = 0;
	ValueResult result = value_money(s, len, &value);

	*out = CashGetDatum(value);
	return result;
}

static ValueResult
convert_bool(Converter *conv, const Column *column, const char *s, uint32 len,
			 Datum *out)
{
	bool		value = false;
	ValueResult result = value_bool(s, len, &value);

	*out = BoolGetDatum(value);
	return result;
}

/* Whether numeric(precision, scale) holds the number without rounding. */
static bool
fit_numeric(ValueNumeric *number, int32 typmod)
{
	int			precision;
	int			scale;

	if (typmod < (int32) VARHDRSZ)
		return true;
	precision = ((typmod - VARHDRSZ) >> 16) & 0xffff;
	scale = (((typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;

	if (scale < 0 || number->dscale > scale ||
		number->int_digits > precision - scale)
		return false;
	number->dscale = scale;
	return true;
}

static ValueResult
convert_numeric(Converter *conv, const Column *column, const char *s,
				uint32 len, Datum *out)
{
	ValueNumeric number;
	ValueResult result = value_numeric(s, len, &number);
	char	   *data;

	if (result != VALUE_OK)
		return result;
	if (!fit_numeric(&number, column->typmod) || !numeric_fits_short(&number))
		return VALUE_ASK;
	*out = convert_varlena(conv, column, numeric_short_size(&number), &data);
	numeric_put_short(&number, data);
	return VALUE_OK;
}

/* ---- character strings ---- */

ValueResult
convert_bytes(Converter *conv, const Column *column, const char *s, uint32 len,
			  Datum *out)
{
	char	   *data;

	*out = convert_varlena(conv, column, len, &data);
	memcpy(data, s, len);
	return VALUE_OK;
}

Size
convert_count_characters(const char *s, uint32 len)
{
	if (GetDatabaseEncoding() == PG_UTF8)
		return value_utf8_length(s, len);
	if (pg_database_encoding_max_length() == 1)
		return len;
	return pg_mbstrlen_with_len(s, len);
}

/*
 * The server decides on values that are too long: spaces may be cut off, or it
 * is an error.
 */
static ValueResult
convert_varchar(Converter *conv, const Column *column, const char *s,
				uint32 len, Datum *out)
{
	int32		limit = column->typmod - VARHDRSZ;

	if (column->typmod >= (int32) VARHDRSZ && len > limit &&
		convert_count_characters(s, len) > limit)
		return VALUE_ASK;
	return convert_bytes(conv, column, s, len, out);
}

static ValueResult
convert_bpchar(Converter *conv, const Column *column, const char *s, uint32 len,
			   Datum *out)
{
	Size		characters;
	Size		limit;
	char	   *data;

	if (column->typmod < (int32) VARHDRSZ)
		return convert_bytes(conv, column, s, len, out);

	limit = column->typmod - VARHDRSZ;
	characters = convert_count_characters(s, len);
	if (characters > limit)
		return VALUE_ASK;
	*out = convert_varlena(conv, column, len + (limit - characters), &data);
	memcpy(data, s, len);
	memset(data + len, ' ', limit - characters);
	return VALUE_OK;
}

/* ---- dates and times ---- */

static ValueResult
convert_date(Converter *conv, const Column *column, const char *s, uint32 len,
			 Datum *out)
{
	int32		value = 0;
	ValueResult result = value_date(s, len, &value);

	*out = DateADTGetDatum(value);
	return result;
}

/* Whether a time with this fraction of a second needs no rounding. */
static inline bool
keeps_fraction(const Column *column, int64 usec)
{
	return column->typmod < 0 || column->typmod >= MAX_TIMESTAMP_PRECISION ||
		usec % USECS_PER_SEC == 0;
}

static ValueResult
convert_time(Converter *conv, const Column *column, const char *s, uint32 len,
			 Datum *out)
{
	int64_t		value = 0;
	ValueResult result = value_time(s, len, &value);

	if (result == VALUE_OK && !keeps_fraction(column, value))
		return VALUE_ASK;
	*out = TimeADTGetDatum(value);
	return result;
}

static ValueResult
convert_timestamp(Converter *conv, const Column *column, const char *s,
				  uint32 len, Datum *out)
{
	ValueTime	time;
	ValueResult result = value_timestamp(s, len, &time);

	if (result != VALUE_OK)
		return result;
	if (time.zone != VALUE_ZONE_NONE || !keeps_fraction(column, time.usec))
		return VALUE_ASK;
	*out = TimestampGetDatum(time.days * USECS_PER_DAY + time.usec);
	return VALUE_OK;
}

static ValueResult
convert_timestamptz(Converter *conv, const Column *column, const char *s,
					uint32 len, Datum *out)
{
	ValueTime	time;
	ValueResult result = value_timestamp(s, len, &time);
	int64		offset = 0;		/* seconds east of UTC */

	if (result != VALUE_OK)
		return result;
	if (!keeps_fraction(column, time.usec))
		return VALUE_ASK;

	switch (time.zone)
	{
		case VALUE_ZONE_OFFSET:
			offset = time.offset;
			break;
		case VALUE_ZONE_Z:
			if (!conv->z_is_utc)
				return VALUE_ASK;
			break;
		case VALUE_ZONE_NONE:
			{
				struct pg_tm tm = {
					.tm_year = time.year,
					.tm_mon = time.month,
					.tm_mday = time.day,
					.tm_hour = time.hour,
					.tm_min = time.minute,
					.tm_sec = time.second,
				};

				offset = -DetermineTimeZoneOffset(&tm, session_timezone);
			}
			break;
	}
	*out = TimestampTzGetDatum(time.days * USECS_PER_DAY + time.usec -
							   offset * USECS_PER_SEC);
	return VALUE_OK;
}

/* Those with a precision, or a range of fields, are left to the input function. */
static ValueResult
convert_interval(Converter *conv, const Column *column, const char *s, uint32 len,
				 Datum *out)
{
	ValueInterval value;
	Interval   *interval;

	if (column->typmod >= 0 || value_interval(s, len, &value) != VALUE_OK)
		return VALUE_ASK;
	interval = arena_alloc(&conv->arena, sizeof(Interval));
	interval->time = value.usec;
	interval->day = value.days;
	interval->month = value.months;
	*out = IntervalPGetDatum(interval);
	return VALUE_OK;
}

/* Whether an input function makes this integer of 8 bytes of a text: settings may decide. */
static bool
reads_as(PGFunction input, const char *text, int64 expected)
{
	volatile bool same = false;
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		Datum		value;

		value = DirectFunctionCall3(input, CStringGetDatum(text),
									ObjectIdGetDatum(InvalidOid),
									Int32GetDatum(-1));
		same = DatumGetInt64(value) == expected;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	return same;
}

/* What the server makes of "...Z" depends on timezone_abbreviations. */
static bool
z_means_utc(void)
{
	return reads_as(timestamptz_in, "2000-01-01 00:00:00Z", 0);
}

/* What it makes of amounts depends on lc_monetary: value_money knows just this form. */
static bool
money_is_plain(void)
{
	return reads_as(cash_in, "-$1,234.56", -123456);
}

/* ---- other types ---- */

static ValueResult
convert_uuid(Converter *conv, const Column *column, const char *s, uint32 len,
			 Datum *out)
{
	pg_uuid_t  *uuid = arena_alloc(&conv->arena, sizeof(pg_uuid_t));

	*out = UUIDPGetDatum(uuid);
	return value_uuid(s, len, uuid->data);
}

/* bit(n) takes exactly n digits, bit varying(n) at most n. */
static ValueResult
convert_bits(Converter *conv, const Column *column, const char *s, uint32 len,
			 Datum *out)
{
	int32		bits = len;
	char	   *data;

	if (len > VARBITMAXLEN ||
		(column->typmod > 0 && (column->type == BITOID ? len != column->typmod :
								len > column->typmod)))
		return VALUE_ASK;
	*out = convert_varlena(conv, column, sizeof(int32) + (len + 7) / 8, &data);
	memcpy(data, &bits, sizeof(int32));
	return value_bits(s, len, (uint8_t *) data + sizeof(int32));
}

static ValueResult
convert_bytea(Converter *conv, const Column *column, const char *s, uint32 len,
			  Datum *out)
{
	char	   *data;
	size_t		outlen;

	if (len < 2)
		return VALUE_ASK;
	/* only the form with exactly (len - 2) / 2 bytes is accepted */
	*out = convert_varlena(conv, column, (len - 2) / 2, &data);
	return value_bytea_hex(s, len, (uint8_t *) data, &outlen);
}

/* ---- the table ---- */

static const struct
{
	Oid			type;
	ConvertFunction convert;
	const char *name;			/* in messages; where convert may say "bad" */
}			converters[] =
{
	{INT2OID, convert_int2, "smallint"},
	{INT4OID, convert_int4, "integer"},
	{INT8OID, convert_int8, "bigint"},
	{OIDOID, convert_oid, "oid"},
	{FLOAT4OID, convert_float4, "real"},
	{FLOAT8OID, convert_float8, "double precision"},
	{NUMERICOID, convert_numeric, "numeric"},
	{MONEYOID, convert_money, "money"},
	{BOOLOID, convert_bool, "boolean"},
	{TEXTOID, convert_bytes, "text"},
	{VARCHAROID, convert_varchar, "character varying"},
	{BPCHAROID, convert_bpchar, "character"},
	{DATEOID, convert_date, "date"},
	{TIMEOID, convert_time, "time"},
	{TIMESTAMPOID, convert_timestamp, "timestamp"},
	{TIMESTAMPTZOID, convert_timestamptz, "timestamp with time zone"},
	{INTERVALOID, convert_interval},
	{UUIDOID, convert_uuid, "uuid"},
	{INETOID, convert_inet},
	{CIDROID, convert_cidr},
	{MACADDROID, convert_macaddr},
	{MACADDR8OID, convert_macaddr8},
	{POINTOID, convert_point},
	{LSEGOID, convert_lseg},
	{BOXOID, convert_box},
	{CIRCLEOID, convert_circle},
	{BITOID, convert_bits, "bit"},
	{VARBITOID, convert_bits, "bit varying"},
	{BYTEAOID, convert_bytea, "bytea"},
	{JSONOID, convert_json, "json"},
	{JSONBOID, convert_jsonb, "jsonb"},
};

/* What a column's values consist of, as a column. */
static const Column *
make_part(Converter *conv, Oid type, int32 typmod, bool pack)
{
	Column	   *part = palloc0(sizeof(Column));
	Oid			function;

	part->type = type;
	part->typmod = typmod;
	part->pack = pack;
	getTypeInputInfo(type, &function, &part->ioparam);
	fmgr_info(function, &part->input);
	convert_choose(conv, part);
	return part;
}

static void
choose_for_domain(Converter *conv, Column *column)
{
	int32		typmod = column->typmod;
	Oid			base = getBaseTypeAndTypmod(column->type, &typmod);

	domain_choose(column, make_part(conv, base, typmod, column->pack));
}

static void
choose_for_range(Converter *conv, Column *column)
{
	bool		multi = column->input.fn_oid == F_MULTIRANGE_IN;
	TypeCacheEntry *type = range_served(multi ? get_multirange_range(column->type) : column->type);
	const Column *bound;

	if (type == NULL)
		return;
	bound = make_part(conv, type->rngelemtype->type_id, -1, false);
	if (multi)
		multirange_choose(column, type, bound);
	else
		range_choose(column, type, bound);
}

/* A column of a type that has no line in the table. */
static void
choose_by_kind(Converter *conv, Column *column)
{
	switch (column->input.fn_oid)
	{
		case F_ENUM_IN:
			enum_choose(column);
			break;
		case F_ARRAY_IN:
			array_choose(column, make_part(conv, column->ioparam, column->typmod, false));
			break;
		case F_DOMAIN_IN:
			choose_for_domain(conv, column);
			break;
		case F_RANGE_IN:
		case F_MULTIRANGE_IN:
			choose_for_range(conv, column);
			break;
	}
}

void
convert_choose(Converter *conv, Column *column)
{
	for (int i = 0; i < lengthof(converters); i++)
		if (converters[i].type == column->type)
		{
			column->convert = converters[i].convert;
			column->type_name = converters[i].name;
		}

	/* citext, and others that differ from text only in how they compare */
	if (column->convert == NULL && column->input.fn_addr == textin &&
		get_typlen(column->type) == -1)
		column->convert = convert_bytes;

	if (column->type == TIMESTAMPTZOID)
		conv->z_is_utc = z_means_utc();
	else if (column->type == MONEYOID && !money_is_plain())
		column->convert = NULL;
	else if (column->type == JSONBOID)
		column->growth = JSONB_GROWTH;
	else if (column->convert == NULL)
		choose_by_kind(conv, column);
}
