/*
 * probe.h
 *		The fast path for finding a referenced row: an index scan and a row
 *		lock.
 *
 * Does what the query of the server's trigger does in the common case: the row
 * is found by its unique index, is visible, and its key is not being changed.  It
 * waits for nobody but who has updated the row and is now changing the new
 * version's key, and never concludes that there is no row; whatever it does not
 * find must be checked by the query.
 */
#ifndef PGBULK_PROBE_H
#define PGBULK_PROBE_H

#include "postgres.h"

#include "utils/rel.h"

typedef struct Probe Probe;

/*
 * For a key of natts columns of the given types, compared with the columns atts
 * of referenced by operators.  NULL if no fast path exists.  Allocates in the
 * current context.
 */
extern Probe *probe_open(Relation referenced, Oid index, int natts,
						 const AttrNumber *atts, const Oid *operators,
						 const Oid *types);

/* All lookups between begin and end use one snapshot: keep it short. */
extern void probe_begin(Probe *probe);

/* Whether the row with these values was found and locked FOR KEY SHARE. */
extern bool probe_lock(Probe *probe, const Datum *values);
extern void probe_end(Probe *probe);

extern void probe_close(Probe *probe);

#endif							/* PGBULK_PROBE_H */
