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
#include "cluster/node.h"

typedef struct Told Told;

/* As the reason of a row: it is stored, and a value of it was made NULL. */
#define TOLD_SET_NULL REJECT_NREASONS

#define TOLD_BIT(reason) (UINT32_C(1) << (reason))

/* How many rows a load's limits are about. */
typedef struct ToldCounts
{
	int64		bad;
	int64		duplicates;		/* and rows that were replaced */
} ToldCounts;

/* Counts a row of that reason. */
extern void told_count(ToldCounts *counts, RejectReason reason);

/*
 * reasons: of which the node was asked to tell, as TOLD_BIT; whoever owns a trigger there may
 * send others.  Memory: the current context.
 */
extern Told *told_open(const RemoteNode *node, uint32 reasons);

/* Takes a message of the node; false: it is about something else. */
extern bool told_take(Told *told, const PGresult *message);

/* Adds how many rows there are to be told of.  Error, also of told_next: node_check_text's. */
extern void told_add(const Told *told, ToldCounts *counts);

/* How many rows of the COPY are in no table, as they are bad, or duplicates. */
extern int64 told_aside(const Told *told);

/* How many of a reason, REJECT_DUPLICATE or REJECT_REPLACED, are only counted. */
extern int64 told_counted(const Told *told, RejectReason reason);

/* The offset of a row that has none in the COPY: it was replaced, and a trigger had inserted it. */
#define TOLD_NO_PLACE (-1)

/*
 * The next row, by its offset in the COPY, which is that of its place; false: that was
 * the last.  Valid until the next one.
 */
extern bool told_next(Told *told, BadRow *row);

/* For the next COPY. */
extern void told_forget(Told *told);

#endif							/* PGBULK_TOLD_H */
