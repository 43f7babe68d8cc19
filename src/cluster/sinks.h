/*
 * sinks.h
 *		Rows on their way to the shards of a load.
 *
 * Each shard has a sink: its COPY, and a buffer for its rows, which goes to the shard's session
 * when it is full.  Buffers have rows of one file, with its columns.
 */
#ifndef PGBULK_SINKS_H
#define PGBULK_SINKS_H

#include "postgres.h"

#include "cluster/placement.h"
#include "cluster/row_copy.h"
#include "cluster/session.h"
#include "format/converter.h"
#include "format/journal.h"
#include "format/reader.h"
#include "server/jsonb_push.h"

typedef struct Sinks Sinks;

/*
 * For the target's rows from the journal's reader.  whole: a table's rows go by one COPY, which
 * knows them all.  Memory: the current context.
 */
extern Sinks *sinks_open(Relation target, Guard *guard, const Journal *journal,
						 Sessions *sessions, bool whole);

/* The setting pgbulk.max_connections_per_node: sessions of a load with a node at most. */
extern int	sinks_max_connections;

/* Opens those of all shards, also of those that will get no rows. */
extern void sinks_open_all(Sinks *sinks, const List *shards);

/*
 * The next rows are of a file with these columns, all before it are on their way.  Returns what
 * is sent of them.  Memory: the current context.
 */
extern RowCopy *sinks_begin_columns(Sinks *sinks, const Converter *conv);

/* The shard of a sink that session.h names as a sender. */
extern const Shard *sinks_shard(const void *sender);

/*
 * Whether the rows of a shard are sent as they are.  Errors where it is the first time that the
 * shard is named: those of sessions_get and table_there_learn; 0A000 for one with copies and
 * triggers that may keep rows out, and for other columns than before where a table has one COPY.
 */
extern bool sinks_send_as_is(Sinks *sinks, Shard *shard);

/*
 * Sends a row of the batch to a shard; the slot has all values that are not sent as they are.
 * Errors: the same.
 */
extern void sinks_put(Sinks *sinks, Shard *shard, uint32 number, TupleTableSlot *slot);

/*
 * The same as sinks_put for a row that is one line of the file, for a shard without copies, where
 * lines are taken, in the quick way.  False: nothing was done, and it is for sinks_put.
 */
extern bool sinks_put_line(Sinks *sinks, Shard *shard, uint32 number);

/* Whether all shards that are known get the rows of the current file as they are. */
extern bool sinks_all_as_is(const Sinks *sinks);

/*
 * Numbers the shards, from 1 on, that have got rows of the current file as they are in it, so that
 * other processes may collect more of them.  Returns the last number.
 */
extern int	sinks_number(Sinks *sinks);

/* How many shards have got rows of any file. */
extern int	sinks_count(const Sinks *sinks);

/* Sends rows that were collected for the shard of that number, after all before them. */
extern void sinks_append(Sinks *sinks, int number, const RowBuffer *rows);

/* Sends what waits for more rows. */
extern void sinks_send_all(Sinks *sinks);

/* All rows are in the tables afterwards. */
extern void sinks_finish(Sinks *sinks);

/* Empties all tables. */
extern void sinks_truncate(const Sinks *sinks);

/* Analyzes those that have got rows. */
extern void sinks_analyze(const Sinks *sinks);

/* What each node has got and how, as an array. */
extern JsonbValue *sinks_report(const Sinks *sinks, CompatJsonb *state);

#endif							/* PGBULK_SINKS_H */
