/*
 * binary.c
 *		Rows and fields of PostgreSQL's binary format; see scan.h.
 *
 * The format is described under COPY in PostgreSQL's manual ("Binary
 * Format").
 */
#include <string.h>

#include "scan/scan.h"

#define HEADER_SIZE 19			/* signature, flags, length of the extension */
#define CRITICAL_FLAGS 0xffff0000u

static const char signature[11] = "PGCOPY\n\377\r\n";

static uint32_t
get_uint32(const char *p)
{
	const unsigned char *u = (const unsigned char *) p;

	return (uint32_t) u[0] << 24 | (uint32_t) u[1] << 16 |
		(uint32_t) u[2] << 8 | u[3];
}

static int16_t
get_int16(const char *p)
{
	const unsigned char *u = (const unsigned char *) p;

	return (int16_t) (u[0] << 8 | u[1]);
}

int64_t
scan_binary_header(const char *window, uint32_t length)
{
	uint32_t	known = length < sizeof(signature) ? length : sizeof(signature);
	uint32_t	extension;

	if (memcmp(window, signature, known) != 0)
		return -1;
	if (length < HEADER_SIZE)
		return 0;
	if ((get_uint32(window + sizeof(signature)) & CRITICAL_FLAGS) != 0)
		return -1;
	extension = get_uint32(window + sizeof(signature) + 4);
	if (extension > SCAN_MAX_FIELD)
		return -1;
	return length - HEADER_SIZE < extension ? 0 : (int64_t) HEADER_SIZE + extension;
}

typedef enum RowOutcome
{
	ROW_WHOLE,
	ROW_UNFINISHED,				/* more bytes are needed */
	ROW_MANY_FIELDS,			/* more fields than fit the array */
	ROW_BAD_SIZE
} RowOutcome;

/* The fields of the row at offset p; *p moves past the row. */
static RowOutcome
scan_fields(const char *window, uint32_t length, uint32_t *p, int count,
			ScanField *fields, uint32_t max_fields)
{
	if ((uint32_t) count > max_fields)
		return ROW_MANY_FIELDS;

	for (int i = 0; i < count; i++)
	{
		uint32_t	size;

		if (length - *p < 4)
			return ROW_UNFINISHED;
		size = get_uint32(window + *p);
		*p += 4;

		memset(&fields[i], 0, sizeof(ScanField));
		fields[i].start = *p;
		if (size == UINT32_MAX)
		{
			fields[i].quoted = 1;
			continue;
		}
		if (size >= SCAN_MAX_FIELD)
			return ROW_BAD_SIZE;
		if (length - *p < size)
			return ROW_UNFINISHED;
		fields[i].length = size;
		*p += size;
	}
	return ROW_WHOLE;
}

/* Adds the row to the result. */
static void
add_row(ScanResult *result, ScanRow *rows, uint32_t start, uint32_t end,
		uint32_t nfields, ScanFault fault)
{
	ScanRow    *row = &rows[result->nrows];

	memset(row, 0, sizeof(*row));
	row->start = start;
	row->end = row->next = end;
	row->line = result->nrows++;
	row->first_field = result->nfields;
	row->nfields = nfields;
	row->fault = fault;
	result->nfields += nfields;
	result->consumed = end;
	result->lines = result->nrows;
}

void
scan_binary(const char *window, uint32_t length, bool at_eof,
			ScanRow *rows, uint32_t max_rows,
			ScanField *fields, uint32_t max_fields, ScanResult *result)
{
	memset(result, 0, sizeof(*result));

	for (;;)
	{
		uint32_t	start = result->consumed;
		uint32_t	p = start;
		RowOutcome	outcome = ROW_UNFINISHED;
		int			count = 0;

		if (start == length && at_eof)
		{
			result->status = SCAN_END;
			return;
		}
		if (result->nrows >= max_rows)
		{
			result->status = SCAN_FULL;
			return;
		}

		if (length - p >= 2)
		{
			count = get_int16(window + p);
			p += 2;
			if (count == -1)
			{
				result->consumed = p;
				result->status = SCAN_MARKER;
				return;
			}
			outcome = count < 0 ? ROW_BAD_SIZE :
				scan_fields(window, length, &p, count,
							fields + result->nfields,
							max_fields - result->nfields);
		}

		switch (outcome)
		{
			case ROW_WHOLE:
				add_row(result, rows, start, p, count, SCAN_FAULT_NONE);
				break;
			case ROW_MANY_FIELDS:
				result->status = SCAN_FULL;
				return;
			case ROW_UNFINISHED:
				if (!at_eof)
				{
					result->status = SCAN_MORE;
					return;
				}
				add_row(result, rows, start, length, 0, SCAN_FAULT_TRUNCATED);
				break;
			case ROW_BAD_SIZE:
				add_row(result, rows, start, length, 0, SCAN_FAULT_FIELD_SIZE);
				result->status = SCAN_END;
				return;
		}
	}
}

bool
scan_binary_border(const char *window, uint32_t length, ScanBorder *border)
{
	uint32_t	p = 0;
	int			count = 0;

	border->end = border->lines = border->rows = 0;
	for (;;)
	{
		if (length - p < 2)
			return true;
		count = get_int16(window + p);
		if (count < 0)
			return false;
		p += 2;
		for (int i = 0; i < count; i++)
		{
			uint32_t	size;

			if (length - p < 4)
				return true;
			size = get_uint32(window + p);
			p += 4;
			if (size == UINT32_MAX)
				continue;
			if (size >= SCAN_MAX_FIELD)
				return false;
			if (length - p < size)
				return true;
			p += size;
		}
		border->end = p;
		border->lines = ++border->rows;
	}
}
