/*
 * type_parts.h
 *		What a type is made of: elements of arrays, columns of rows, bounds of
 *		ranges, ranges of multiranges, and what domains are based on.
 */
#ifndef PGBULK_TYPE_PARTS_H
#define PGBULK_TYPE_PARTS_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef bool (*TypeTest) (Oid type, void *arg);

/* Whether the test holds for type or for one that it is made of. */
extern bool type_any_part(Oid type, TypeTest test, void *arg);

/*
 * The CHECKs of a domain and of those that it is based on, as the planner has
 * left them.  They are valid as long as the current memory context.
 */
extern List *type_domain_checks(Oid domain);

#endif							/* PGBULK_TYPE_PARTS_H */
