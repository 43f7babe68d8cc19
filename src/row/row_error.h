/*
 * row_error.h
 *		What is wrong with a row, as data.
 *
 * A function that judges a row takes a RowError pointer.  Where it is NULL
 * (on_error = stop) it raises the error the way the server would; else it
 * fills the struct and returns false, and no error is raised where it can be
 * predicted.
 */
#ifndef PGBULK_ROW_ERROR_H
#define PGBULK_ROW_ERROR_H

#include "postgres.h"

/* What is wrong with a row that was not loaded, or was set aside. */
typedef enum RejectReason
{
	REJECT_SYNTAX,
	REJECT_ENCODING,
	REJECT_VALUE,
	REJECT_CONSTRAINT,
	REJECT_FOREIGN_KEY,
	REJECT_DUPLICATE,
	REJECT_REPLACED
} RejectReason;
#define REJECT_NREASONS (REJECT_REPLACED + 1)

typedef struct RowError
{
	RejectReason reason;
	int			sqlstate;
	const char *message;		/* valid until the next row */
	const char *column;			/* name, or NULL */
	const char *value;			/* the field's text, or NULL */
	bool		extra;			/* the row has a field, or key, beyond the columns ... */
	bool		missing;		/* ... or lacks one */
	bool		swallowed;		/* a line end where none can be: a quote is broken */
} RowError;

#endif							/* PGBULK_ROW_ERROR_H */
