/*
 * fuzz_json_rows.c
 *		Any bytes through scan_json_rows: no read outside the window and its padding, whose
 *		bytes change nothing; the same by every kernel; rows one behind the other whose
 *		fields lie in them; borders that agree with the rows; recovery within the row.
 */
#include <stdlib.h>
#include <string.h>

#include "scan/json_rows.h"

#define MAX_ROWS 4096
#define NKEYS 3

#define REQUIRE(condition) do { if (!(condition)) abort(); } while (0)

static ScanRow rows[MAX_ROWS];
static ScanRow others[MAX_ROWS];
static ScanField fields[MAX_ROWS * SCAN_JSON_FIELDS(NKEYS)];

static const ScanJsonKey keys[NKEYS] = {{"a", 1, false}, {"b", 1, true}, {"Name", 4, false}};

static void
check_rows(const ScanResult *result, const char *window, uint32_t length)
{
	uint32_t	at = 0;

	REQUIRE(result->consumed <= length);
	REQUIRE(result->lines == scan_count_lines(SCAN_EOL_NL, window, result->consumed));
	for (uint32_t i = 0; i < result->nrows; i++)
	{
		const ScanRow *row = &rows[i];

		REQUIRE(row->start >= at && row->start <= row->end && row->end <= row->next);
		REQUIRE(row->line == scan_count_lines(SCAN_EOL_NL, window, row->start));
		at = row->next;
		for (uint32_t k = 0; k < row->nfields; k++)
		{
			const ScanField *field = &fields[row->first_field + k];

			REQUIRE(field->start >= row->start && field->start + field->length <= row->end);
		}
	}
	REQUIRE(at <= result->consumed);
}

static void
check_border(ScanEol eol, const char *window, uint32_t length, bool at_eof,
			 const ScanResult *result)
{
	ScanBorder	border;
	uint32_t	n = 0;

	(void) scan_json_border(eol, window, length, at_eof, &border);
	REQUIRE(border.end <= length);
	/* what is broken over several lines is looked at once more */
	if (result->status == SCAN_FULL || border.end > result->consumed)
		return;
	while (n < result->nrows && rows[n].end <= border.end && rows[n].start < border.end)
		n++;
	REQUIRE(border.rows == n || border.end == 0);
	REQUIRE(border.lines == scan_count_lines(SCAN_EOL_NL, window, border.end));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char fill[] = {'0', '"', '\n', '}'};
	uint32_t	slots[64];
	ScanJson	json = {.nkeys = NKEYS, .keys = keys, .nslots = scan_json_nslots(NKEYS), .slots = slots};
	bool		at_eof = size % 2;
	ScanResult	first = {0};
	ScanEol		found = SCAN_EOL_UNKNOWN;

	if (size == 0)
		return 0;
	json.ignore_extra = data[0] & 1;
	json.missing_is_null = data[0] & 2;
	scan_json_index(&json);
	data++;
	size--;
	for (size_t i = 0; i < sizeof(fill); i++)
		for (const ScanKernel *const *kernel = scan_kernels; *kernel; kernel++)
		{
			char	   *window = malloc(size + SCAN_PADDING);
			ScanEol		eol = data[-1] & 4 ? SCAN_EOL_JSON_WHOLE : SCAN_EOL_UNKNOWN;
			ScanResult	result;

			if ((*kernel)->supported())
				scan_kernel_set(*kernel);
			memset(window, fill[i], size + SCAN_PADDING);
			memcpy(window, data, size);
			scan_json_rows(&json, &eol, window, window, (uint32_t) size, at_eof,
						   i == 0 && kernel == scan_kernels ? rows : others, MAX_ROWS, fields,
						   MAX_ROWS * SCAN_JSON_FIELDS(NKEYS), &result);
			if (i == 0 && kernel == scan_kernels)
			{
				first = result;
				found = eol;
				check_rows(&result, window, (uint32_t) size);
				if (eol == SCAN_EOL_NL)
					check_border(eol, window, (uint32_t) size, at_eof, &result);
				for (uint32_t r = 0; r < result.nrows; r++)
				{
					uint32_t	resume = 0;

					if (scan_json_recover(SCAN_EOL_JSON_ARRAY, window, (uint32_t) size, at_eof,
										  rows[r].start, rows[r].end, NULL, &resume) == SCAN_RESUME)
						REQUIRE(resume > rows[r].start && resume < rows[r].end);
				}
			}
			REQUIRE(memcmp(&first, &result, sizeof(result)) == 0 && found == eol);
			if (i > 0 || kernel != scan_kernels)
				REQUIRE(memcmp(rows, others, result.nrows * sizeof(ScanRow)) == 0);
			free(window);
		}
	return 0;
}
