/*
 * column_values.c
 *		See column_values.h.
 */
#include "inspect/column_values.h"

#include <string.h>

#include "inspect/names.h"

static inline bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

void
column_trim(const char **s, size_t *length)
{
	while (*length > 0 && is_blank((*s)[0]))
		(*s)++, (*length)--;
	while (*length > 0 && is_blank((*s)[*length - 1]))
		(*length)--;
}

void
column_add_shape(ColumnStats *stats, ValueShape shape)
{
	const uint32_t iso_dates = SHAPE_BIT(SHAPE_DATE) |
		SHAPE_BIT(SHAPE_TIMESTAMP) | SHAPE_BIT(SHAPE_TIMESTAMPTZ);

	if (shape.date.orders != 0)
	{
		bool		fits = !stats->iso;

		if (stats->date.orders == 0)
			stats->date = shape.date;
		else
			fits = fits && shape_merge_dates(&stats->date, &shape.date);
		if (!fits)
			shape.types = shape.types_comma = SHAPE_BIT(SHAPE_TEXT);
	}
	else if (shape.types & iso_dates)
	{
		stats->iso = true;
		stats->zoneless |= (shape.types & SHAPE_BIT(SHAPE_TIMESTAMP)) != 0;
		if (stats->date.orders != 0)
			shape.types = shape.types_comma = SHAPE_BIT(SHAPE_TEXT);
	}
	stats->types &= shape.types;
	stats->types_comma &= shape.types_comma;
	stats->digits |= !shape.special;
	stats->plain_comma |= shape.comma && !shape.thousand;
}

static void
add_text(ColumnStats *stats, const char *s, size_t length)
{
	ValueShape	shape;

	if (stats->types == SHAPE_BIT(SHAPE_TEXT) &&
		stats->types_comma == SHAPE_BIT(SHAPE_TEXT))
		return;
	shape_of(s, length, &shape);
	column_add_shape(stats, shape);
}

bool
column_is_null(const Columns *columns, const char *s, size_t length)
{
	for (int i = 0; i < columns->nnulls; i++)
		if (strlen(columns->nulls[i]) == length &&
			memcmp(columns->nulls[i], s, length) == 0)
			return true;
	return false;
}

void
column_count(ColumnStats *stats, const char *s, size_t length)
{
	if (stats->values++ == 0)
	{
		stats->shortest = length;
		stats->example_length = length < COLUMNS_EXAMPLE ? length : COLUMNS_EXAMPLE;
		memcpy(stats->example, s, stats->example_length);
	}
	if (length < stats->shortest)
		stats->shortest = length;
	if (length > stats->longest)
		stats->longest = length;
	stats->lengths += length;
}

static void
add_value(const Columns *columns, ColumnStats *stats, const char *s,
		  size_t length, bool quoted)
{
	int			marker = columns->nulls == NULL ? shape_null(s, length) : -1;

	if (columns->nulls != NULL && length > 0 && column_is_null(columns, s, length))
	{
		stats->given_nulls++;
		return;
	}
	if (length == 0)
	{
		stats->quoted_empty |= quoted;
		stats->empties++;
		return;
	}
	if (stats->name != NULL && stats->name_length == length &&
		memcmp(stats->name, s, length) == 0)
		stats->named = true;
	if (marker >= 0)
	{
		stats->markers[marker]++;
		if (quoted)
			stats->quoted_markers |= 1u << marker;
		return;
	}
	if (stats->name != NULL && stats->values < NAMES_PROBE)
		stats->alike += names_are_alike(stats->name, stats->name_length, s, length) ? 1 : 0;
	column_count(stats, s, length);
	stats->words += names_may_be(s, length) ? 1 : 0;
	add_text(stats, s, length);
}

static bool
is_marker(const Columns *columns, const char *data, const ScanField *field)
{
	return columns->dialect->scan.format == SCAN_TEXT && field->length == 2 &&
		memcmp(data + field->start, "\\N", 2) == 0;
}

void
column_add_field(const Columns *columns, ColumnStats *stats, const char *data,
				 const ScanField *field)
{
	const ScanDialect *scan = &columns->dialect->scan;
	bool		quoted = field->quoted &&
		sheet_quoting(scan, data, field) == SHEET_QUOTED;
	size_t		length;
	size_t		whole;
	const char *s = sheet_value(scan, data, field, columns->buffer, &length);

	/* a marker of text format is one as it stands in the file */
	if (is_marker(columns, data, field))
	{
		stats->markers[0]++;
		return;
	}
	whole = length;
	if (!quoted)
	{
		if (length > 0 && is_blank(s[0]))
			stats->blanks++;
		column_trim(&s, &length);
		stats->padded |= length < whole;
		if (length == 0 && whole > 0)
		{
			stats->hollow++;
			return;
		}
	}
	add_value(columns, stats, s, length, quoted);
}

const char *
column_text(const Columns *columns, uint32_t column, const char *data,
			const ScanField *field, size_t *length)
{
	const ColumnStats *stats = &columns->columns[column];
	const ScanDialect *scan = &columns->dialect->scan;
	const char *s = sheet_value(scan, data, field, columns->buffer, length);
	int			marker;

	if (is_marker(columns, data, field))
		return NULL;
	if ((columns->trim_all || stats->trim) &&
		sheet_quoting(scan, data, field) != SHEET_QUOTED)
		column_trim(&s, length);
	if (field->quoted && !stats->force_null)
		return s;
	if (columns->nulls != NULL)
		return column_is_null(columns, s, *length) ? NULL : s;
	marker = shape_null(s, *length);
	if ((*length == 0 && columns->null_empty) ||
		(marker >= 0 && (columns->null_markers & (1u << marker)) != 0))
		return NULL;
	return s;
}
