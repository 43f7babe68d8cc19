/*
 * load_id.h
 *		Numbers of loads, as in reject tables.
 */
#ifndef PGBULK_LOAD_ID_H
#define PGBULK_LOAD_ID_H

#include "postgres.h"

/*
 * A number for a load, from the sequence in the schema of the extension; 0 in a
 * read-only transaction, in which temporary tables can be loaded.
 *
 * Errors: 42P01 where there is no such sequence.
 */
extern int64 load_id_next(Oid schema);

#endif							/* PGBULK_LOAD_ID_H */
