/*
 * row_ends.h
 *		Where the last complete row of a file ends: of lines that end in LF.
 *
 * For files that others write to: what is behind that place may be a part of a
 * row.  Formats csv and text; quotes and escapes are single bytes that no
 * character of the encoding contains.
 */
#ifndef PGBULK_ROW_ENDS_H
#define PGBULK_ROW_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct RowEnds
{
	char		quote;			/* 0: none, so that the escape works everywhere */
	char		escape;
	int64_t		stop_bytes;		/* these two: the first row end behind so many bytes or rows is */
	int64_t		stop_rows;		/* the last that counts; 0: none is */
	bool		quoted;			/* these two: after the bytes so far */
	bool		escaped;
	int64_t		bytes;			/* so far */
	int64_t		lines;			/* LFs in them */
	int64_t		end;			/* of the last complete row; 0: there is none */
	int64_t		end_lines;		/* LFs before it */
	int64_t		end_rows;		/* rows before it */
	bool		stopped;		/* it is the last that counts */
} RowEnds;

extern void row_ends_add(RowEnds *ends, const char *bytes, size_t length);

#endif							/* PGBULK_ROW_ENDS_H */
