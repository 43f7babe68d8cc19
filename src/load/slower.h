/*
 * slower.h
 *		Reports that a load will take much longer than necessary.
 */
#ifndef PGBULK_SLOWER_H
#define PGBULK_SLOWER_H

#include "postgres.h"

#include "table/target.h"

/*
 * Sends a NOTICE with the reason (refusal) for which writer auto is not
 * "direct" and how to change that, if it more than doubles the time of the
 * load: that is, for the estimated number of rows and bytes and a table that is
 * small in comparison and has indexes whose entries cannot wait for each other
 * (index/entries.h).
 */
extern void slower_notice(const Target *target, const Refusal *refusal, double rows, double bytes);

#endif							/* PGBULK_SLOWER_H */
