/*
 * heap_value.h
 *		Values of a table's rows, one after the other, without the executor.
 */
#ifndef PGBULK_HEAP_VALUE_H
#define PGBULK_HEAP_VALUE_H

#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"

/* What is to be known of a column to find the value behind its own. */
typedef struct HeapAttribute
{
	int16		length;			/* as attlen */
	uint8		align;			/* 1, 2, 4 or 8 */
	bool		by_value;
} HeapAttribute;

static inline HeapAttribute
heap_attribute(Form_pg_attribute att)
{
	char		align = att->attalign;

	return (HeapAttribute) {
		.length = att->attlen,
		.align = align == TYPALIGN_DOUBLE ? ALIGNOF_DOUBLE :
			align == TYPALIGN_INT ? ALIGNOF_INT :
			align == TYPALIGN_SHORT ? ALIGNOF_SHORT : 1,
		.by_value = att->attbyval
	};
}

/* The value at *at of a row's data, which is not null; *at moves behind it. */
static inline const char *
heap_take_value(const HeapAttribute *attribute, const char *data, Size *at)
{
	const char *value;

	/* padding is zero, and a short varlena does not begin with that */
	if (attribute->length != -1 || data[*at] == '\0')
		*at = TYPEALIGN(attribute->align, *at);
	value = data + *at;
	*at += attribute->length > 0 ? attribute->length :
		attribute->length == -1 ? VARSIZE_ANY(value) : strlen(value) + 1;
	return value;
}

#endif							/* PGBULK_HEAP_VALUE_H */
