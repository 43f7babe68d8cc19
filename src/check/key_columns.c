/*
 * key_columns.c
 *		See key_columns.h.
 *
 * With several columns, the bytes of each value are preceded by their length,
 * unless that is known:
 *
 *		int4, int8      | Datum | Datum |
 *		text, int4      | 3 | abc | 8 | Datum |
 */
#include "postgres.h"

#include "catalog/pg_constraint.h"
#include "check/key_bytes.h"
#include "check/key_columns.h"
#include "utils/syscache.h"

HeapTuple
key_columns_constraint(const Trigger *trigger)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(trigger->tgconstraint));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", trigger->tgconstraint);
	return tuple;
}

void
key_columns_open(KeyColumns *columns, Relation rel, HeapTuple constraint,
				 AttrNumber *referenced_atts, Oid *operators)
{
	columns->desc = RelationGetDescr(rel);
	columns->match_full =
		((Form_pg_constraint) GETSTRUCT(constraint))->confmatchtype == FKCONSTR_MATCH_FULL;
	DeconstructFkConstraintRow(constraint, &columns->natts, columns->atts, referenced_atts,
							   operators, NULL, NULL, NULL, NULL);
	columns->fixed = columns->byval = true;
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(columns->desc, columns->atts[i] - 1);

		columns->fixed &= att->attlen > 0;
		columns->byval &= att->attbyval;
	}
	initStringInfo(&columns->bytes);
}

/* Extracts the row's values; returns how many of them are NULL. */
static inline int
take_values(const KeyColumns *columns, HeapTuple tuple, Datum *values)
{
	int			nnulls = 0;

	for (int i = 0; i < columns->natts; i++)
	{
		bool		isnull;

		values[i] = heap_getattr(tuple, columns->atts[i], columns->desc, &isnull);
		nnulls += isnull;
	}
	return nnulls;
}

int
key_columns_take_values(KeyColumns *columns, HeapTuple tuple)
{
	return take_values(columns, tuple, columns->values);
}

static inline bool
has_lengths(const KeyColumns *columns)
{
	return columns->natts > 1 && !columns->fixed;
}

static inline void
add_bytes(KeyColumns *columns)
{
	for (int i = 0; i < columns->natts; i++)
	{
		Size		len;
		const char *bytes = key_value_bytes(TupleDescAttr(columns->desc, columns->atts[i] - 1),
											&columns->values[i], &len);
		uint32		own = len;

		if (has_lengths(columns))
			appendBinaryStringInfo(&columns->bytes, (char *) &own, sizeof(own));
		appendBinaryStringInfo(&columns->bytes, bytes, len);
	}
}

int
key_columns_take(KeyColumns *columns, HeapTuple tuple)
{
	int			nnulls = take_values(columns, tuple, columns->values);

	resetStringInfo(&columns->bytes);
	if (nnulls == 0)
		add_bytes(columns);
	return nnulls;
}

static inline bool
are_same(const Datum *a, const Datum *b, int n)
{
	while (n > 0 && *a == *b)
		n--, a++, b++;
	return n == 0;
}

/* key_columns_take_rows for Datums, which most keys are: each has its place at once. */
static int
take_datums(KeyColumns *columns, HeapTuple tuples, int n, bool *repeated)
{
	const Size	size = sizeof(Datum) * columns->natts;
	Datum	   *values;
	int			nitems = 0;

	resetStringInfo(&columns->bytes);
	enlargeStringInfo(&columns->bytes, n * size);
	values = (Datum *) columns->bytes.data;
	for (int i = 0; i < n; i++)
	{
		Size		len = take_values(columns, &tuples[i], values) == 0 ? size : 0;

		repeated[i] = len > 0 && nitems > 0 && columns->items[nitems - 1].len > 0 &&
			are_same(values - columns->natts, values, columns->natts);
		if (repeated[i])
			continue;
		columns->items[nitems].key = (char *) values;
		columns->items[nitems++].len = len;
		values += columns->natts;
	}
	return nitems;
}

int
key_columns_take_rows(KeyColumns *columns, HeapTuple tuples, int n, bool *repeated)
{
	StringInfo	bytes = &columns->bytes;
	int			nitems = 0;
	Size		before = 0;		/* where the bytes of the item before start */
	Size		start = 0;

	if (columns->byval)
		return take_datums(columns, tuples, n, repeated);
	resetStringInfo(bytes);
	for (int i = 0; i < n; i++)
	{
		Size		len;

		if (take_values(columns, &tuples[i], columns->values) == 0)
			add_bytes(columns);
		len = bytes->len - start;
		repeated[i] = len > 0 && len == start - before &&
			memcmp(bytes->data + before, bytes->data + start, len) == 0;
		if (repeated[i])
		{
			bytes->len = start;
			continue;
		}
		columns->items[nitems++].len = len;
		before = start;
		start += len;
	}
	/* the bytes may have moved */
	start = 0;
	for (int i = 0; i < nitems; i++)
	{
		columns->items[i].key = bytes->data + start;
		start += columns->items[i].len;
	}
	return nitems;
}

/* The value of a column that has these bytes. */
static Datum
value_of(Form_pg_attribute att, const char *bytes, Size len)
{
	Datum		value;
	char	   *copy;

	if (att->attbyval)
	{
		Assert(len == sizeof(value));
		memcpy(&value, bytes, sizeof(value));
		return value;
	}
	if (att->attlen == -1)
	{
		copy = palloc(VARHDRSZ + len);
		SET_VARSIZE(copy, VARHDRSZ + len);
		memcpy(VARDATA(copy), bytes, len);
		return PointerGetDatum(copy);
	}
	/* aligned; a string's end is not among its bytes */
	copy = palloc(len + 1);
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	return PointerGetDatum(copy);
}

void
key_columns_take_bytes(KeyColumns *columns, const char *bytes, Size len)
{
	const char *end = bytes + len;

	resetStringInfo(&columns->bytes);
	appendBinaryStringInfo(&columns->bytes, bytes, len);
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(columns->desc, columns->atts[i] - 1);
		uint32		own = att->attbyval ? sizeof(Datum) : att->attlen;

		if (has_lengths(columns))
		{
			memcpy(&own, bytes, sizeof(own));
			bytes += sizeof(own);
		}
		else if (columns->natts == 1)
			own = len;
		columns->values[i] = value_of(att, bytes, own);
		bytes += own;
	}
	Assert(bytes == end);
	(void) end;
}
