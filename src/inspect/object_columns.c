/*
 * object_columns.c
 *		See object_columns.h.
 */
#include "inspect/object_columns.h"

#include "inspect/column_values.h"
#include "scan/json.h"

#define NUMBERS (SHAPE_BIT(SHAPE_INT4) | SHAPE_BIT(SHAPE_INT8) | \
				 SHAPE_BIT(SHAPE_NUMERIC) | SHAPE_BIT(SHAPE_FLOAT8))
#define ANY_VALUE (SHAPE_BIT(SHAPE_JSONB) | SHAPE_BIT(SHAPE_TEXT))

/* null, or there is no such key. */
static inline bool
is_null(const ScanField *field)
{
	return field->length == 0 && !field->quoted;
}

/*
 * The text of a value; NULL where no text can have an escape of it.  What an
 * encoding other than UTF-8 may not have is left as it stands.
 */
static const char *
value_text(const Columns *columns, const char *data, const ScanField *field, size_t *length)
{
	const char *s = data + field->start;

	*length = field->length;
	if (!field->escaped || !field->quoted)
		return s;
	*length = json_unescape(s, field->length, false, columns->buffer);
	if (*length == JSON_NO_TEXT)
		return NULL;
	if (!columns->objects->ascii ||
		json_unescape(s, field->length, true, columns->buffer) != JSON_NO_TEXT)
		return columns->buffer;
	*length = field->length;
	return s;
}

static bool
is_data(const Columns *columns, const char *data, const ScanRow *row, const ScanField *fields)
{
	const ScanJson *scan = &columns->objects->scan;
	size_t		length;

	if (row->fault != SCAN_FAULT_NONE ||
		(row->nfields > scan->nkeys && fields[scan->nkeys].quoted))
		return false;
	for (uint32_t i = 0; i < scan->nkeys; i++)
		if (value_text(columns, data, &fields[i], &length) == NULL)
			return false;
	return true;
}

/* ---- values ---- */

static void
add_value(const Columns *columns, ColumnStats *stats, const char *data, const ScanField *field)
{
	size_t		length;
	const char *s = value_text(columns, data, field, &length);
	const char *trimmed = s;
	size_t		inner = length;
	ValueShape	shape = {0};

	column_count(stats, s, length);
	column_trim(&trimmed, &inner);
	if (inner == length && (stats->types & ~ANY_VALUE) != 0)
		shape_of(s, length, &shape);
	if (!field->quoted)
	{
		stats->nested |= *s == '{' || *s == '[';
		stats->bare |= *s != '{' && *s != '[';
	}
	else if (shape.types & SHAPE_BIT(SHAPE_JSONB))
		shape.types = 0;		/* to jsonb it is a string like any other */
	shape.types |= ANY_VALUE;
	column_add_shape(stats, shape);
}

static bool
add_row(void *arg, const char *data, const ScanRow *row, const ScanField *fields)
{
	Columns    *columns = arg;
	bool		missing = false;

	if (!is_data(columns, data, row, fields))
	{
		columns->faulty++;
		return true;
	}
	columns->rows++;
	for (uint32_t i = 0; i < columns->count; i++)
	{
		missing |= SCAN_JSON_IS_MISSING(&fields[i]);
		if (is_null(&fields[i]))
			columns->columns[i].given_nulls++;
		else
			add_value(columns, &columns->columns[i], data, &fields[i]);
	}
	columns->short_rows += missing;
	return true;
}

/* ---- as columns of any kind ---- */

typedef struct DataWalk
{
	const Columns *columns;
	SheetVisit	visit;
	void	   *arg;
} DataWalk;

static bool
show_data(void *arg, const char *data, const ScanRow *row, const ScanField *fields)
{
	DataWalk   *walk = arg;

	return !is_data(walk->columns, data, row, fields) ||
		walk->visit(walk->arg, data, row, fields);
}

static void
walk_data(const Columns *columns, SheetVisit visit, void *arg)
{
	DataWalk	walk = {.columns = columns, .visit = visit, .arg = arg};

	for (int i = 0; i < columns->nspans; i++)
		if (!objects_walk(columns->objects, &columns->spans[i], show_data, &walk))
			break;
}

/* To jsonb a string goes with its quotes and escapes. */
static const char *
field_text(const Columns *columns, uint32_t column, const char *data, const ScanField *field,
		   size_t *length)
{
	if (is_null(field))
		return NULL;
	if (columns->columns[column].type != SHAPE_JSONB || !field->quoted)
		return value_text(columns, data, field, length);
	*length = field->length + 2;
	return data + field->start - 1;
}

static const ColumnsRoutine columns_of_objects = {.walk = walk_data, .text = field_text};

void
object_columns_find(Columns *columns)
{
	static const char *const no_nulls[] = {NULL};
	const ScanJson *scan = &columns->objects->scan;

	/* there are no strings that mean NULL, and a point is a point */
	columns->nulls = no_nulls;
	columns->nnulls = 0;
	columns->decimal_mark = '.';
	columns->routine = &columns_of_objects;
	columns->count = scan->nkeys;
	columns->wanted = scan->nkeys + columns->objects->too_many;
	for (uint32_t i = 0; i < scan->nkeys; i++)
		columns->columns[i] = (ColumnStats) {
			.types = SHAPE_ANY, .types_comma = SHAPE_ANY,
			.name = scan->keys[i].name, .name_length = scan->keys[i].length
		};
	for (int i = 0; i < columns->nspans; i++)
		objects_walk(columns->objects, &columns->spans[i], add_row, columns);
	for (uint32_t i = 0; i < columns->count; i++)
	{
		ColumnStats *stats = &columns->columns[i];

		if (!stats->bare)
		{
			stats->digits_quoted = stats->digits && (stats->types & NUMBERS) != 0;
			stats->types &= ~(NUMBERS | SHAPE_BIT(SHAPE_BOOL));
		}
		if (!stats->nested)
			stats->types &= ~SHAPE_BIT(SHAPE_JSONB);
	}
}
