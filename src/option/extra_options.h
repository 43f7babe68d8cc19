/*
 * extra_options.h
 *		Option extra: columns of the table that are filled with what is known
 *		of a file, not with what is in it.
 */
#ifndef PGBULK_EXTRA_OPTIONS_H
#define PGBULK_EXTRA_OPTIONS_H

#include "postgres.h"

#include "option/option_value.h"

typedef enum BulkExtraKind
{
	BULK_EXTRA_TEXT,			/* a constant */
	BULK_EXTRA_FILE,			/* $file: the path */
	BULK_EXTRA_LINE,			/* $line: the number of the row's first line */
	BULK_EXTRA_LOAD_ID,			/* $load_id */
	BULK_EXTRA_WILDCARD,		/* $1, $2, ...: what that * of the pattern has matched */
	BULK_EXTRA_FOLDER			/* $name: the value of a folder name=value */
} BulkExtraKind;

typedef struct BulkExtra
{
	char	   *column;
	BulkExtraKind kind;
	char	   *text;			/* the constant, or the folder's name */
	int			number;			/* of the wildcard, from 1 */
} BulkExtra;

/* A setter of the table of options: of BulkOptions.extra. */
extern void extra_options_set(const OptionDef *def, JsonbValue *value, BulkOptions *options);

/* That of a column, or NULL. */
extern const BulkExtra *extra_options_find(const BulkOptions *options, const char *column);

#endif							/* PGBULK_EXTRA_OPTIONS_H */
