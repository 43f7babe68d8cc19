/*
 * slower.h
 *		Tells that a load will take much longer than it might.
 */
#ifndef PGBULK_SLOWER_H
#define PGBULK_SLOWER_H

#include "postgres.h"

#include "table/target.h"

/*
 * A NOTICE with the reason (refusal) for which writer auto is not "direct", and what would help, where that
 * costs more than twice the time: about so many rows in so many bytes of files, for a table that has indexes, and is
 * small beside them.
 */
extern void slower_notice(const Target *target, const Refusal *refusal, double rows, double bytes);

#endif							/* PGBULK_SLOWER_H */
