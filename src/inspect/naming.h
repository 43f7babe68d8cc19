/*
 * naming.h
 *		Names for the columns of a table to be.
 */
#ifndef PGBULK_NAMING_H
#define PGBULK_NAMING_H

#include "postgres.h"

#include "format/encoding.h"
#include "inspect/column_stats.h"
#include "nodes/pg_list.h"

/*
 * A name for each column, char *, none of them twice: those of the header, as
 * identifiers, else numbers.  documents: of the only column.  encoding: as in
 * verify_text.  Memory: the current context.
 */
extern List *naming_columns(const Columns *columns, Encoding *encoding,
							bool documents);

/*
 * The same for keys, which are names as they stand.  Those that cannot be the name
 * of a column are dropped from objects.
 */
extern List *naming_keys(Objects *objects, Encoding *encoding);

#endif							/* PGBULK_NAMING_H */
