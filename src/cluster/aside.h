/*
 * aside.h
 *		Rows that nodes have set aside, until they are rejected in the order of the input.
 */
#ifndef PGBULK_ASIDE_H
#define PGBULK_ASIDE_H

#include "postgres.h"

#include "check/bad_rows.h"
#include "cluster/placement.h"
#include "cluster/told.h"
#include "write/writer.h"

typedef struct AsideRows AsideRows;

/* For a load by that writer.  Memory: the current context, files: the current resource owner. */
extern AsideRows *aside_open(Writer *writer);

/*
 * Takes a row of a shard that told.h tells of, with its place in the input.  Once there
 * are more than the load's limits allow, rejects all, which is an error.
 */
extern void aside_take(AsideRows *aside, const Shard *shard, BadRow *row);

/* Whether there are more than the limits allow, with so many more; NULL: with none. */
extern bool aside_is_enough(const AsideRows *aside, const ToldCounts *more);

/* No more will come: rejects all. */
extern void aside_reject(AsideRows *aside);

#endif							/* PGBULK_ASIDE_H */
