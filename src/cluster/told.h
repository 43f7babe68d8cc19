/*
 * told.h
 *		Bad rows of a COPY that another node's pgbulk tells of (relay.h), until it has ended.
 *
 * Where in the input they are from is found then, for all of them in one pass.  Rows
 * beyond a few MB spill to temporary files.
 */
#ifndef PGBULK_TOLD_H
#define PGBULK_TOLD_H

#include "postgres.h"

#include "check/bad_rows.h"
#include "libpq-fe.h"

typedef struct Told Told;

/* As the reason of a row: it is stored, and a value of it was made NULL. */
#define TOLD_SET_NULL REJECT_NREASONS

#define TOLD_BIT(reason) (UINT32_C(1) << (reason))

/*
 * reasons: of which the node was asked to tell, as TOLD_BIT; whoever owns a trigger there may
 * send others.  Memory: the current context.
 */
extern Told *told_open(uint32 reasons);

/* Takes a message of a node; false: it is about something else. */
extern bool told_take(Told *told, const PGresult *message);

/* Adds how many rows are bad, and how many are duplicates or have been replaced. */
extern void told_add(const Told *told, int64 *bad, int64 *duplicates);

/* How many rows of the COPY are in no table, as they are bad, or duplicates. */
extern int64 told_aside(const Told *told);

/* How many of a reason, REJECT_DUPLICATE or REJECT_REPLACED, are only counted. */
extern int64 told_counted(const Told *told, RejectReason reason);

/*
 * The next row, by its offset in the COPY, which is that of its place; false: that was
 * the last.  Valid until the next one.
 */
extern bool told_next(Told *told, BadRow *row);

/* For the next COPY. */
extern void told_forget(Told *told);

#endif							/* PGBULK_TOLD_H */
