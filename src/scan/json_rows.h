/*
 * json_rows.h
 *		Rows of JSON: the values of an object's keys, as spans.
 *
 * There is one object in each line, or objects follow each other with white
 * space between them, or they are in one array.  Which it is is known from the
 * first bytes of a file (ScanEol):
 *
 *		SCAN_EOL_NL				{"a": 1}		a line that is not one object is a bad row, whatever
 *								{"a": 2}		is in it: no line end is within a string
 *		SCAN_EOL_JSON_ARRAY		[{"a": 1}, {"a": 2}]
 *		SCAN_EOL_JSON_SERIES	the first object spans several lines
 *
 * In an array and a series an element, good or bad, ends with the bracket that
 * closes it, or before the next comma or bracket if it is not an object or
 * array; so scan_json_border finds the same elements as scan_json_rows.
 *
 * A row has one field for each key that is wanted, in their order.  A string is
 * the span within its quotes, "quoted", and "escaped" where it needs
 * json_unescape; for all else the span is the JSON text.  JSON null is empty
 * and not quoted.  A missing key is like null or, if missing_is_null is not
 * set, empty and "escaped".  A row that so lacks a key, or has an unwanted key
 * while extra is not ignored, has one field more than there are keys: the first
 * unwanted key, or an empty field.  Of a key that comes twice the last value
 * counts.
 *
 * A key is compared with the names exactly and then case-insensitively (ASCII
 * letters), where that is unambiguous: no other name, and no other key of the
 * object, matches.
 *
 * Price: nested values are parsed, too, as errors in them must not get in: 0.5
 * to 1 ns for each byte.
 */
#ifndef PGBULK_JSON_ROWS_H
#define PGBULK_JSON_ROWS_H

#include "scan/json_keys.h"
#include "scan/scan.h"

/*
 * Fields that a row needs space for; SCAN_FULL without rows: there is not
 * enough.
 */
#define SCAN_JSON_FIELDS(nkeys) (2 * (nkeys) + 1)

/* Whether a field is that of a missing key; not with missing_is_null. */
#define SCAN_JSON_IS_MISSING(field) ((field)->length == 0 && (field)->escaped && !(field)->quoted)

/*
 * As scan_rows.  *eol begins as SCAN_EOL_UNKNOWN, or as SCAN_EOL_JSON_WHOLE:
 * then the whole file is one row, good or bad.  bytes: the window itself, or
 * what the window is the shape of (scan_shape); the text of keys is there.
 */
extern void scan_json_rows(const ScanJson *json, ScanEol *eol, const char *window,
						   const char *bytes, uint32_t length, bool at_eof,
						   ScanRow *rows, uint32_t max_rows,
						   ScanField *fields, uint32_t max_fields,
						   ScanResult *result);

/*
 * As scan_border; at_eof: the last row of a file counts, too.  False: nothing
 * follows that belongs to a chunk, only the end of an array, and what is after
 * it.
 */
extern bool scan_json_border(ScanEol eol, const char *window, uint32_t length,
							 bool at_eof, ScanBorder *border);

/*
 * As scan_recover, for arrays and series: the first line below in which an object
 * begins in the column of the broken one, with nothing but brackets and commas
 * before it, and is valid.  poll: called before each object that is tried, as
 * many may be long and broken; it need not return.  NULL: nothing is called.
 */
extern ScanRecovery scan_json_recover(ScanEol eol, const char *window,
									  uint32_t length, bool at_eof,
									  uint32_t row_start, uint32_t row_end,
									  void (*poll) (void), uint32_t *resume);

#endif							/* PGBULK_JSON_ROWS_H */
