/*
 * control_column.h
 *		COL lines of pg_bulkload's control files: fields of binary files.
 */
#ifndef PGBULK_CONTROL_COLUMN_H
#define PGBULK_CONTROL_COLUMN_H

#include "postgres.h"

#include "lib/stringinfo.h"

typedef struct ControlColumn
{
	bool		binary;			/* false: it is text */
	bool		null_or_padded; /* spaces after a null value make no difference here */
	uint32		end;			/* length of a record up to the end of this field */
} ControlColumn;

/*
 * Appends a line to json as an element of option "fields".  before is the end
 * of the previous field; preserve_blanks applies to lines that are only a
 * number.  Returns NULL, or why the line cannot be translated.
 */
extern const char *control_column_read(const char *value, bool preserve_blanks,
									   uint32 before, StringInfo json,
									   ControlColumn *column);

#endif							/* PGBULK_CONTROL_COLUMN_H */
