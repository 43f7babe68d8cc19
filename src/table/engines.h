/*
 * engines.h
 *		Tables whose rows another extension keeps elsewhere.
 *
 * Such a table is an empty shell to the server: a row that is put into its heap is
 * there, and no query finds it.  Two extensions are asked by their catalogs, which
 * are found through the extension and belong to it; neither is needed to build or to run.
 *
 * Price: one look into pg_extension for each; where one is there, a scan of its list of tables.
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
