/*
 * probe.h
 *		The quick look at a referenced row: an index scan and a row lock.
 *
 * Does what the query of the server's trigger does where nothing is out of the
 * ordinary: the row is found by its unique index, visible, and not being
 * changed by anyone.  It never waits and never says that there is no row; what
 * it does not find must be asked in the other way.
 */
#ifndef PGBULK_PROBE_H
#define PGBULK_PROBE_H

#include "postgres.h"

#include "utils/rel.h"

typedef struct Probe Probe;

/*
 * For a key of natts columns of the types given, compared with the columns
 * atts of referenced by operators.  NULL where there can be none.  Memory: the
 * current context.
 */
extern Probe *probe_open(Relation referenced, Oid index, int natts,
						 const AttrNumber *atts, const Oid *operators,
						 const Oid *types);

/* Between begin and end the same snapshot is used: keep it short. */
extern void probe_begin(Probe *probe);

/* Whether the row with these values has been found and locked FOR KEY SHARE. */
extern bool probe_lock(Probe *probe, const Datum *values);
extern void probe_end(Probe *probe);

extern void probe_close(Probe *probe);

#endif							/* PGBULK_PROBE_H */
