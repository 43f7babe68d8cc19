/*
 * reject_columns.h
 *		The columns of a reject table.
 */
#ifndef PGBULK_REJECT_COLUMNS_H
#define PGBULK_REJECT_COLUMNS_H

#include "postgres.h"

#include "access/attnum.h"
#include "nodes/primnodes.h"
#include "utils/rel.h"

/* Their order in the table, as its first load creates it; others may be dropped in between. */
typedef enum RejectColumn
{
	COLUMN_LOAD_ID,
	COLUMN_TARGET,
	COLUMN_LOADED_AT,
	COLUMN_FILE,
	COLUMN_LINE_NUMBER,
	COLUMN_BYTE_OFFSET,
	COLUMN_REASON,
	COLUMN_COLUMN_NAME,
	COLUMN_FIELD_VALUE,
	COLUMN_SQLSTATE,
	COLUMN_MESSAGE,
	COLUMN_RAW_LINE,
	COLUMN_RAW_BYTES
} RejectColumn;
#define REJECT_NCOLUMNS (COLUMN_RAW_BYTES + 1)

typedef struct RejectColumnDef
{
	const char *name;
	Oid			type;
	Oid			array_type;		/* InvalidOid: one value for all rows of a load */
	const char *internal_name;	/* of the type, in pg_catalog */
	const char *type_name;		/* as shown in messages */
} RejectColumnDef;

extern const RejectColumnDef reject_columns[REJECT_NCOLUMNS];

/*
 * Creates a table of them, unless there is a table of that name.  Errors: those of
 * CREATE TABLE.
 */
extern void reject_columns_create(RangeVar *name);

/* Finds them in a table.  Error: 42804 if any is missing, or there are others. */
extern void reject_columns_find(Relation rel, AttrNumber *attnums);

/* As an SQL list. */
extern char *reject_columns_list(void);

#endif							/* PGBULK_REJECT_COLUMNS_H */
