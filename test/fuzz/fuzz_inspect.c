/*
 * fuzz_inspect.c
 *		Any bytes through what bulk_inspect guesses: it stays inside its buffers,
 *		comes to an end, and its verdict is one that it can stand by.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect/charset.h"
#include "inspect/column_types.h"
#include "inspect/dialect.h"
#include "inspect/document.h"
#include "inspect/object_columns.h"
#include "inspect/value_shape.h"
#include "scan/magic.h"

#define MAX_INPUT 2048

#define REQUIRE(condition) do { if (!(condition)) abort(); } while (0)

static SheetSpace space;
static ColumnStats stats[COLUMNS_MAX];
static char buffer[3 * MAX_INPUT];
static char names[3 * MAX_INPUT];
static Objects objects;

/* A column holds its values: none of their shapes lacks its type. */
static bool
check_row(void *arg, const char *data, const ScanRow *row,
		  const ScanField *fields)
{
	Columns    *columns = arg;

	REQUIRE(columns->objects != NULL || row->nfields <= columns->longest);
	for (uint32_t i = 0; i < row->nfields && i < columns->count; i++)
	{
		size_t		length;
		const char *s = columns->routine->text(columns, i, data, &fields[i], &length);

		REQUIRE(s == NULL || length <= MAX_INPUT * 3);
	}
	return true;
}

/* What has been found can be stood by: types, nulls, templates, and what is left when they are refused. */
static void
check_verdict(Columns *columns)
{
	columns_decide(columns);
	REQUIRE(columns->count <= COLUMNS_MAX);
	for (uint32_t i = 0; i < columns->count; i++)
	{
		char		template[64];

		REQUIRE(stats[i].type <= SHAPE_TEXT);
		REQUIRE(stats[i].nulls <= columns->rows);
		if (stats[i].order != 0)
		{
			shape_template(&stats[i].date, stats[i].order, template);
			REQUIRE(strlen(template) < sizeof(template));
		}
	}
	columns->routine->walk(columns, check_row, columns);
	for (uint32_t i = 0; i < columns->count && i < 4; i++)
		for (int tries = 0; stats[i].type != SHAPE_TEXT; tries++)
		{
			REQUIRE(tries < 2 * SHAPE_TYPES);
			columns_refuse(columns, i);
		}
}

static void
check_columns(const SheetSpan *span, const Dialect *dialect, int header)
{
	Columns		columns = {.spans = span, .nspans = 1, .dialect = dialect,
		.space = &space, .buffer = buffer, .names = names, .header = header,
		.columns = stats};

	columns_find(&columns);
	check_verdict(&columns);
}

/*
 * The same of objects: the first half begins a file, and the second one is a
 * piece further in.
 */
static void
check_objects(const SheetSpan *span, bool ascii)
{
	SheetSpan	spans[2] = {*span, *span};
	Columns		columns = {.spans = spans, .nspans = 1, .objects = &objects,
		.space = &space, .buffer = buffer, .columns = stats};

	spans[0].begins = true;
	objects_begin(&objects, &space, ascii);
	objects_detect(&objects, &spans[0]);
	spans[1].data += span->length / 2;
	spans[1].length -= span->length / 2;
	if (objects_align(&objects, &spans[1]))
	{
		REQUIRE(spans[1].data + spans[1].length == span->data + span->length);
		objects_add(&objects, &spans[1]);
		columns.nspans = 2;
	}
	if (objects.scan.nkeys > 1 && ascii)
		objects_drop_key(&objects, objects.scan.nkeys / 2);
	objects.scan.ignore_extra = objects.unnamed;
	object_columns_find(&columns);
	check_verdict(&columns);
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	Charset		charset;
	DialectHints hints = {0};
	Dialect		dialect;
	SheetSpan	span = {0};
	char	   *window;
	ValueShape	shape;

	if (size < 1 || size > MAX_INPUT)
		return 0;
	hints.any_newline = (input[0] & 1) != 0;
	hints.non_ascii = (input[0] & 2) != 0;
	hints.delimiter = (input[0] & 12) == 12 ? "|" : NULL;

	/* exactly as large as promised, for the sanitizer to see */
	window = malloc(2 * size + SCAN_PADDING);
	span.data = window;
	span.length = size - 1;
	span.to_end = (input[0] & 16) == 0;
	memcpy(window, input + 1, span.length);
	charset_guess(window, span.length, span.to_end, &charset);
	REQUIRE(charset.name != NULL && charset.mark <= span.length);
	if (strncmp(charset.name, "UTF16", 5) == 0)
	{
		span.length = charset_from_utf16((const char *) input + 1, size - 1,
										 charset.name[5] == 'B', window);
		REQUIRE(span.length <= size / 2 * 3);
	}
	memset(window + span.length, 0, SCAN_PADDING);

	(void) document_detect(&span);
	(void) scan_magic(span.data, span.length);
	shape_of(span.data, span.length, &shape);
	REQUIRE(span.length == 0 || (shape.types & SHAPE_BIT(SHAPE_TEXT)) != 0);
	dialect_guess(&span, &hints, &space, &dialect);
	REQUIRE(dialect.columns >= 1 && dialect.separator[0] != '\0');
	check_columns(&span, &dialect, (input[0] >> 5) - 1);
	check_objects(&span, (input[0] & 2) != 0);
	free(window);
	return 0;
}
