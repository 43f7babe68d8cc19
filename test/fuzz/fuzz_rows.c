/*
 * fuzz_rows.c
 *		Any bytes through the scanner: spans stay inside, nothing is lost
 *		between rows, windows of any size and every kernel find the same.
 *
 * The first two bytes of the input choose dialect, window and kernel.
 */
#include <stdlib.h>
#include <string.h>

#include "scan/scan.h"

#define MAX_ROWS 4096
#define MAX_FIELDS 8192
#define MAX_INPUT 2048

typedef struct Found
{
	size_t		nrows;
	size_t		start[MAX_ROWS];
	size_t		end[MAX_ROWS];
	uint32_t	nfields[MAX_ROWS];
	uint8_t		fault[MAX_ROWS];
	bool		marker;
} Found;

static ScanRow rows[MAX_ROWS];
static ScanField fields[MAX_FIELDS];

#define REQUIRE(condition) do { if (!(condition)) abort(); } while (0)

static const ScanDialect dialects[] = {
	{SCAN_CSV, ',', '"', '"'},
	{SCAN_CSV, ',', '"', '\\'},
	{SCAN_CSV, ';', '\'', '\''},
	{SCAN_TEXT, '\t', 0, 0},
	{SCAN_TEXT, ',', 0, 0},
};

/* What holds of every result, and unquoting and recovery on its fields. */
static void
check_result(const ScanDialect *dialect, ScanEol eol, const char *window,
			 uint32_t length, bool at_eof, const ScanResult *result)
{
	char		text[MAX_INPUT + SCAN_OVERCOPY];
	uint32_t	at = 0;
	uint32_t	resume;
	bool		high;

	REQUIRE(result->consumed <= length);
	for (uint32_t i = 0; i < result->nrows; i++)
	{
		const ScanRow *row = &rows[i];

		REQUIRE(row->start == at);
		REQUIRE(row->start <= row->end && row->end <= row->next);
		REQUIRE(row->next <= result->consumed);
		REQUIRE(row->next > row->start);
		REQUIRE(row->nfields > 0);
		at = row->next;
		for (uint32_t f = row->first_field; f < row->first_field + row->nfields; f++)
		{
			const ScanField *field = &fields[f];

			REQUIRE(field->start >= row->start);
			REQUIRE(field->start + field->length <= row->end);
			if (!field->escaped)
				continue;
			if (dialect->format == SCAN_CSV)
				REQUIRE(scan_unquote(dialect, window + field->start,
									 field->length, text) <= field->length);
			else
				REQUIRE(scan_unescape(window + field->start, field->length,
									  text, &high) <= field->length);
		}
		if (dialect->format == SCAN_CSV &&
			scan_recover(dialect, eol, window, length, at_eof, row->start,
						 row->end, row->nfields, &resume) == SCAN_RESUME)
			REQUIRE(resume > row->start && resume <= row->end);
	}
	REQUIRE(result->status == SCAN_MARKER || result->consumed == at);
}

/* A whole input, `step` bytes more in the window at a time. */
static void
scan_all(const ScanDialect *dialect, const char *data, size_t size, size_t step,
		 Found *found)
{
	ScanEol		eol = SCAN_EOL_UNKNOWN;
	size_t		from = 0;
	size_t		to = step < size ? step : size;

	memset(found, 0, sizeof(*found));
	for (;;)
	{
		uint32_t	length = to - from;
		char	   *window = malloc(length + SCAN_PADDING);
		ScanResult	result;

		/* exactly sized, so that reading on is found out */
		memcpy(window, data + from, length);
		memset(window + length, '"', SCAN_PADDING);
		scan_rows(dialect, &eol, window, length, to == size, rows, MAX_ROWS,
				  fields, MAX_FIELDS, &result);
		check_result(dialect, eol, window, length, to == size, &result);
		for (uint32_t i = 0; i < result.nrows; i++)
		{
			found->start[found->nrows] = from + rows[i].start;
			found->end[found->nrows] = from + rows[i].end;
			found->nfields[found->nrows] = rows[i].nfields;
			found->fault[found->nrows++] = rows[i].fault;
		}
		free(window);

		from += result.consumed;
		found->marker = result.status == SCAN_MARKER;
		if (result.status == SCAN_END || result.status == SCAN_MARKER)
			return;
		REQUIRE(result.status == SCAN_MORE && to < size);
		to = to + step < size ? to + step : size;
	}
}

static void
require_same(const Found *a, const Found *b)
{
	REQUIRE(a->nrows == b->nrows && a->marker == b->marker);
	for (size_t i = 0; i < a->nrows; i++)
		REQUIRE(a->start[i] == b->start[i] && a->end[i] == b->end[i] &&
				a->nfields[i] == b->nfields[i] && a->fault[i] == b->fault[i]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static Found whole;
	static Found pieces;
	const ScanDialect *dialect;

	if (size < 2 || size - 2 > MAX_INPUT)
		return 0;
	dialect = &dialects[data[0] % (sizeof(dialects) / sizeof(dialects[0]))];

	scan_kernel_set(scan_kernels[0]);
	scan_all(dialect, (const char *) data + 2, size - 2, MAX_INPUT, &whole);
	for (int i = 0; scan_kernels[i] != NULL; i++)
		if (scan_kernels[i]->supported())
		{
			scan_kernel_set(scan_kernels[i]);
			scan_all(dialect, (const char *) data + 2, size - 2,
					 1 + data[1], &pieces);
			require_same(&whole, &pieces);
		}
	return 0;
}
