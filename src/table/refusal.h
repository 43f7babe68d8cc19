/*
 * refusal.h
 *		Why a load does not take the fastest way: a reason, as data.
 *
 * Modules that cannot serve a table, or some of its loads, say so by a Refusal.
 * The messages are in one table (refusal.c), each a whole sentence, so that
 * they can be translated, and compared by their reason.
 */
#ifndef PGBULK_REFUSAL_H
#define PGBULK_REFUSAL_H

#include "postgres.h"

typedef enum RefusalReason
{
	REFUSAL_NONE,

	/* what keeps rows from going past the executor: of the table or of a partition */
	REFUSAL_CITUS_TABLE,
	REFUSAL_CITUS_SHARD,
	REFUSAL_HYPERTABLE,
	REFUSAL_CUSTOM_SCAN,		/* names it */
	REFUSAL_OTHER_PLAN,

	/* what keeps the direct writer away: of the table or of a partition */
	REFUSAL_FOREIGN_TABLE,
	REFUSAL_NO_PLAIN_TABLE,
	REFUSAL_ACCESS_METHOD,
	REFUSAL_DECODING_CATALOG,
	REFUSAL_ROW_TRIGGERS,
	REFUSAL_REPLACED_ROW_TRIGGERS,
	REFUSAL_DEFERRABLE_KEYS,
	REFUSAL_PERIOD_KEYS,
	REFUSAL_FROZEN_KEYS,
	REFUSAL_FROZEN_UNIQUE,
	REFUSAL_REPLACED_REFERENCES,
	REFUSAL_KEPT_REFERENCES,
	REFUSAL_SUBSCRIBERS,
	REFUSAL_EXCLUSION,
	REFUSAL_DEFERRABLE,
	REFUSAL_INVALID_INDEX,		/* this and the next five name the index */
	REFUSAL_UNIQUE_NO_BTREE,
	REFUSAL_DEFERRABLE_EXCLUSION,
	REFUSAL_INDEX_IN_USE,
	REFUSAL_INDEX_NO_BTREE,
	REFUSAL_OLD_BTREE,

	/* what keeps a load from using the direct writer */
	REFUSAL_NOT_EMPTY,
	REFUSAL_MERGE,
	REFUSAL_NO_LOCK_PRIVILEGE,
	REFUSAL_IN_USE,
	REFUSAL_FEW_ROWS,
	REFUSAL_MANY_PARTITIONS,
	REFUSAL_VOLATILE_EXPRESSION,
	REFUSAL_VOLATILE_QUERY,
	REFUSAL_REJECT_TABLE,
	REFUSAL_REFERRED_TO,

	/* what keeps a load from having workers */
	REFUSAL_MANY_PARTITIONS_WORKERS,
	REFUSAL_PARTITIONED_WORKERS,
	REFUSAL_DUPLICATES_WORKERS,
	REFUSAL_INDEX_METHOD,
	REFUSAL_TEMPORARY,
	REFUSAL_ORIGIN,
	REFUSAL_QUERY,
	REFUSAL_BINARY,
	REFUSAL_BINARY_ENCODING,
	REFUSAL_SHAPED_ENCODING,
	REFUSAL_ONE_BY_ONE,
	REFUSAL_REJECT_TABLE_WORKERS,
	REFUSAL_SEQUENCE,
	REFUSAL_TYPE,
	REFUSAL_EXPRESSION,
	REFUSAL_PARTITION_KEY,
	REFUSAL_EACH_ROW,
	REFUSAL_INPUT,
	REFUSAL_KNOWN_KEYS,
	REFUSAL_NODES_COPIED,
	REFUSAL_NODES_FORMED,
	REFUSAL_NODES_HERE,
	REFUSAL_NO_WORKER,
	REFUSAL_SHARED_MEMORY,

	/* what keeps rows from being sent to other servers */
	REFUSAL_NODES_TRANSACTION,
	REFUSAL_NODES_OPTION,		/* names it */
	REFUSAL_NODES_COPIES,
	REFUSAL_NODES_RETRY,
	REFUSAL_NODES_TRANSITION
} RefusalReason;

typedef struct Refusal
{
	RefusalReason reason;		/* REFUSAL_NONE: there is none */
	const char *partition;		/* name of the partition it is about; NULL: the table itself */
	const char *name;			/* what the message names, or NULL */
} Refusal;

#define REFUSAL(reason_) ((Refusal) {.reason = (reason_)})
#define REFUSAL_NAMING(reason_, name_) ((Refusal) {.reason = (reason_), .name = (name_)})

static inline bool
refusal_is_any(const Refusal *refusal)
{
	return refusal->reason != REFUSAL_NONE;
}

/* The sentence, as data: never translated.  Memory: the current context. */
extern char *refusal_text(const Refusal *refusal);

/* A table whose rows are on other servers. */
typedef enum ElsewhereKind
{
	ELSEWHERE_FOREIGN_TABLE,
	ELSEWHERE_FOREIGN_PARTITION,
	ELSEWHERE_SHARDS			/* of another extension */
} ElsewhereKind;

/*
 * Raises the error for one whose rows are not sent there: 25001 where the transaction is why,
 * else 0A000.
 */
extern void refusal_raise_elsewhere(const Refusal *refusal, const char *name, ElsewhereKind kind);

/* The sentence as the DETAIL of an error or a notice that is being reported. */
extern int	refusal_detail(const Refusal *refusal);

#endif							/* PGBULK_REFUSAL_H */
