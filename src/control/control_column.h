/*
 * control_column.h
 *		Lines COL of pg_bulkload's control files: fields of binary files.
 */
#ifndef PGBULK_CONTROL_COLUMN_H
#define PGBULK_CONTROL_COLUMN_H

#include "postgres.h"

#include "lib/stringinfo.h"

typedef struct ControlColumn
{
	bool		binary;			/* else it is a text */
	bool		null_or_padded; /* spaces behind what is NULL make no difference here */
	uint32		end;			/* bytes of a record up to its end */
} ControlColumn;

/*
 * Appends to json what a line means as an element of option "fields".  before is
 * where the field before it ends; preserve_blanks holds for lines that are only a
 * number.  NULL, or why there is no such element.
 */
extern const char *control_column_read(const char *value, bool preserve_blanks,
									   uint32 before, StringInfo json,
									   ControlColumn *column);

#endif							/* PGBULK_CONTROL_COLUMN_H */
