/*
 * json_rows.h
 *		Rows of JSON: objects as spans of the values that their keys have.
 *
 * Objects stand one in each line, or one after the other with white space
 * between them, or in one array.  Which it is the first bytes of a file say
 * (ScanEol):
 *
 *		SCAN_EOL_NL				{"a": 1}		a line that is not one object is a bad row, whatever
 *								{"a": 2}		is in it: no line end is within a string
 *		SCAN_EOL_JSON_ARRAY		[{"a": 1}, {"a": 2}]
 *		SCAN_EOL_JSON_SERIES	the first object goes over several lines
 *
 * In an array and a series an element, good or bad, goes to the bracket that
 * closes it, or to the next comma or bracket where it is none of either; so
 * scan_json_border finds the same elements as scan_json_rows.
 *
 * A row has one field for each key asked for, in the order of the keys.  A
 * string is the span within its quotes, "quoted", and "escaped" where it needs
 * json_unescape; of all else the span is the JSON text.  JSON null is empty and not
 * quoted.  A key that is not there is as null or, if missing_is_null is not
 * set, empty and "escaped"; a row that so lacks a key, or has one that was not
 * asked for and extra is not ignored, has one field more than keys: the first of
 * the latter, or an empty one.  Of a key that comes twice the last value counts.
 *
 * A key is compared with the names exactly and then without regard to the case of
 * ASCII letters, where that leaves no doubt: where no other name, and no other
 * key of the object, may be meant.
 *
 * Price: what the values have within them is looked at, too, as nothing that is
 * wrong there may get in: 0.5 to 1 ns for each byte.
 */
#ifndef PGBULK_JSON_ROWS_H
#define PGBULK_JSON_ROWS_H

#include "scan/json_keys.h"
#include "scan/scan.h"

/* Fields that a row needs room for; SCAN_FULL without rows asks for that many. */
#define SCAN_JSON_FIELDS(nkeys) (2 * (nkeys) + 1)

/* Whether a field is that of a key that is not there; unless missing_is_null. */
#define SCAN_JSON_IS_MISSING(field) ((field)->length == 0 && (field)->escaped && !(field)->quoted)

/*
 * As scan_rows.  *eol begins as SCAN_EOL_UNKNOWN, or as SCAN_EOL_JSON_WHOLE: all of
 * the file is one row then, good or bad.
 */
extern void scan_json_rows(const ScanJson *json, ScanEol *eol,
						   const char *window, uint32_t length, bool at_eof,
						   ScanRow *rows, uint32_t max_rows,
						   ScanField *fields, uint32_t max_fields,
						   ScanResult *result);

/*
 * As scan_border; at_eof: the last row of a file counts, too.  False: nothing that
 * belongs to a chunk follows, but maybe the end of an array, and what is behind it.
 */
extern bool scan_json_border(ScanEol eol, const char *window, uint32_t length,
							 bool at_eof, ScanBorder *border);

/*
 * As scan_recover, for arrays and series: the first line below in which an object
 * begins in the column of the broken one, with nothing but brackets and commas
 * before it, and is sound.
 */
extern ScanRecovery scan_json_recover(ScanEol eol, const char *window,
									  uint32_t length, bool at_eof,
									  uint32_t row_start, uint32_t row_end,
									  uint32_t *resume);

#endif							/* PGBULK_JSON_ROWS_H */
