/*
 * fuzz_binary.c
 *		Any bytes as PostgreSQL's binary format: spans stay inside, and windows
 *		of any size find the same rows.
 */
#include <stdlib.h>
#include <string.h>

#include "scan/scan.h"

#define MAX_ROWS 2048
#define MAX_FIELDS 4096
#define MAX_INPUT 2048

static ScanRow rows[MAX_ROWS];
static ScanField fields[MAX_FIELDS];

#define REQUIRE(condition) do { if (!(condition)) abort(); } while (0)

/* Rows and fields of the input, as a number that tells inputs apart. */
static uint64_t
scan_all(const char *data, size_t size, size_t step)
{
	uint64_t	sum = 0;
	size_t		from = 0;
	size_t		to = step < size ? step : size;

	for (;;)
	{
		uint32_t	length = to - from;
		char	   *window = malloc(length + SCAN_PADDING);
		ScanResult	result;

		memcpy(window, data + from, length);
		scan_binary(window, length, to == size, rows, MAX_ROWS, fields,
					MAX_FIELDS, &result);
		free(window);
		REQUIRE(result.consumed <= length);
		for (uint32_t i = 0; i < result.nrows; i++)
		{
			REQUIRE(rows[i].start <= rows[i].end && rows[i].end <= length);
			sum = sum * 31 + rows[i].nfields + rows[i].fault;

			/* a faulty row is the last one, and ends where the window does */
			if (rows[i].fault == SCAN_FAULT_NONE)
				sum = sum * 31 + from + rows[i].end;
			for (uint32_t f = 0; f < rows[i].nfields; f++)
			{
				const ScanField *field = &fields[rows[i].first_field + f];

				REQUIRE(field->start + field->length <= rows[i].end);
				sum = sum * 31 + from + field->start + field->length;
			}
		}
		from += result.consumed;
		if (result.status == SCAN_END || result.status == SCAN_MARKER)
			return sum * 31 + result.status;

		/* a row with more fields than there is room for ends the comparison */
		if (result.status == SCAN_FULL)
			return 0;
		REQUIRE(to < size);
		to = to + step < size ? to + step : size;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *) data + 1;
	uint64_t	whole;
	uint64_t	pieces;

	if (size < 1 || size - 1 > MAX_INPUT)
		return 0;
	(void) scan_binary_header(bytes, size - 1);
	whole = scan_all(bytes, size - 1, MAX_INPUT);
	pieces = scan_all(bytes, size - 1, 1 + data[0]);
	REQUIRE(whole == 0 || pieces == 0 || whole == pieces);
	return 0;
}
