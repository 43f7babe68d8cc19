/*
 * probe.h
 *		The fast path for finding a referenced row: an index scan and a row
 *		lock.
 *
 * Keys that are kept are looked up together, which is faster: in the order of the
 * index leaf by leaf (index/lookup.h), then in the order of the table.
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
 * of referenced by operators.  memory: bytes for keys that are kept.  NULL if no
 * fast path exists.  Allocates in the current context.
 */
extern Probe *probe_open(Relation referenced, Oid index, int natts,
						 const AttrNumber *atts, const Oid *operators,
						 const Oid *types, Size memory);

/* All lookups between begin and end use one snapshot: keep it short. */
extern void probe_begin(Probe *probe);

/* Whether the row with these values was found and locked FOR KEY SHARE. */
extern bool probe_lock(Probe *probe, const Datum *values);
extern void probe_end(Probe *probe);

/*
 * Whether keys may be kept in this transaction.  Not if it is serializable: then
 * the pages and rows that a lookup reads are locked, which only the server's own scans do.
 */
extern bool probe_keeps(const Probe *probe);

/* Keeps a key with a number above those before.  Allocates in a context of its own. */
extern void probe_keep(Probe *probe, const Datum *values, uint32 number);

/* Whether those that are kept take all the memory, or will while they are looked up. */
extern bool probe_is_full(const Probe *probe);

/*
 * Looks up the keys that are kept, and forgets them.  found is called for each whose row was found
 * and locked FOR KEY SHARE.
 */
extern void probe_kept(Probe *probe, void (*found) (void *arg, uint32 number), void *arg);

extern void probe_close(Probe *probe);

#endif							/* PGBULK_PROBE_H */
