/*
 * engines.h
 *		Tables whose rows are stored elsewhere by another extension.
 *
 * To the server such a table is an empty shell: a row put into its heap is
 * there, and no query finds it.  Two extensions are recognized by their
 * catalogs, which are looked up as members of the extension; neither is needed
 * to build or run.
 *
 * Price: a lookup in pg_extension for each, when tables have changed since the
 * last one; if one is installed, a scan of its list of tables.
 */
#ifndef PGBULK_ENGINES_H
#define PGBULK_ENGINES_H

#include "postgres.h"

#include "table/refusal.h"
#include "utils/rel.h"

/*
 * What keeps a load away from the table, or REFUSAL_NONE.  rel
 * is locked against its becoming one meanwhile (ROW EXCLUSIVE).
 */
extern Refusal engines_refusal(Relation rel);

#endif							/* PGBULK_ENGINES_H */
