/*
 * refusal.c
 *		See refusal.h.
 */
#include "postgres.h"

#include "table/refusal.h"

typedef struct RefusalMessage
{
	const char *table;			/* may take the name */
	/* takes the partition's, may take the name; NULL: it is never about one */
	const char *partition;
} RefusalMessage;

/* What is true of the table or of a partition. */
#define OF_TABLE(predicate) \
	{gettext_noop("The table " predicate), gettext_noop("Partition \"%s\" " predicate)}
#define OF_LOAD(sentence) \
	{gettext_noop(sentence), NULL}

static const RefusalMessage messages[] = {
	[REFUSAL_CITUS_TABLE] =
	OF_TABLE("belongs to extension \"citus\", which looks for its rows in shards."),
	[REFUSAL_CITUS_SHARD] =
	OF_TABLE("is a shard of a table of extension \"citus\", and \"%s\" is off."),
	[REFUSAL_HYPERTABLE] =
	OF_TABLE("is a hypertable of extension \"timescaledb\", which looks for its rows in chunks."),
	[REFUSAL_CUSTOM_SCAN] =
	OF_TABLE("is written to by another extension, by custom scan \"%s\"."),
	[REFUSAL_OTHER_PLAN] =
	OF_TABLE("is not written to by a plain INSERT, but by what another extension plans instead."),

	[REFUSAL_FOREIGN_TABLE] =
	OF_TABLE("is a foreign table."),
	[REFUSAL_NO_PLAIN_TABLE] =
	OF_TABLE("is not a plain table."),
	[REFUSAL_ACCESS_METHOD] =
	OF_TABLE("has an access method other than heap."),
	[REFUSAL_DECODING_CATALOG] =
	OF_TABLE("is a catalog for logical decoding."),
	[REFUSAL_ROW_TRIGGERS] =
	OF_TABLE("has triggers that see each row."),
	[REFUSAL_REPLACED_ROW_TRIGGERS] =
	OF_TABLE("has triggers that see each row that is replaced."),
	[REFUSAL_DEFERRABLE_KEYS] =
	OF_TABLE("has deferrable foreign keys."),
	[REFUSAL_PERIOD_KEYS] =
	OF_TABLE("has foreign keys over periods."),
	[REFUSAL_FROZEN_KEYS] =
	OF_TABLE("has foreign keys, and frozen rows cannot be taken back."),
	[REFUSAL_FROZEN_UNIQUE] =
	OF_TABLE("has unique indexes, and frozen rows cannot be taken back."),
	[REFUSAL_REPLACED_REFERENCES] =
	OF_TABLE("has a foreign key that refers to itself, so which rows may replace others is known only at the end."),
	[REFUSAL_KEPT_REFERENCES] =
	OF_TABLE("has a foreign key that refers to itself, so which rows keep others away is known only at the end."),
	[REFUSAL_SUBSCRIBERS] =
	OF_TABLE("has unique indexes, and subscribers would meet two rows with one key before the first of them is taken back."),
	[REFUSAL_EXCLUSION] =
	OF_TABLE("has an exclusion constraint, in which duplicates are found one by one."),
	[REFUSAL_DEFERRABLE] =
	OF_TABLE("has a deferrable constraint."),
	[REFUSAL_INVALID_INDEX] =
	OF_TABLE("has an index that is not valid, \"%s\"."),
	[REFUSAL_UNIQUE_NO_BTREE] =
	OF_TABLE("has a unique index that is not a btree, \"%s\"."),
	[REFUSAL_DEFERRABLE_EXCLUSION] =
	OF_TABLE("has a deferrable exclusion constraint, \"%s\"."),
	[REFUSAL_INDEX_IN_USE] =
	OF_TABLE("has an index that this session is using, \"%s\"."),
	[REFUSAL_INDEX_NO_BTREE] =
	OF_TABLE("has an index that is not a btree, \"%s\"."),
	[REFUSAL_OLD_BTREE] =
	OF_TABLE("has an index of an old format, \"%s\"."),

	[REFUSAL_NOT_EMPTY] =
	OF_LOAD("The table is not empty."),
	[REFUSAL_MERGE] =
	OF_LOAD("Rows are merged with those that have their keys."),
	[REFUSAL_NO_LOCK_PRIVILEGE] =
	OF_LOAD("The privilege to lock the table is lacking."),
	[REFUSAL_IN_USE] =
	OF_LOAD("Others use the table."),
	[REFUSAL_FEW_ROWS] =
	OF_LOAD("The file is small for so many partitions."),
	[REFUSAL_MANY_PARTITIONS] =
	OF_LOAD("The table has too many partitions to lock them unasked."),
	[REFUSAL_VOLATILE_EXPRESSION] =
	OF_LOAD("A volatile expression may look at the table."),
	[REFUSAL_VOLATILE_QUERY] =
	OF_LOAD("A volatile function of the query may look at the table."),
	[REFUSAL_REJECT_TABLE] =
	OF_LOAD("The reject table is not a plain one, and its triggers or rules may look at the table."),
	[REFUSAL_REFERRED_TO] =
	OF_LOAD("Functions have stored rows during the load that may refer to duplicates."),

	[REFUSAL_MANY_PARTITIONS_WORKERS] =
	OF_LOAD("The table has more partitions than are prepared for workers."),
	[REFUSAL_PARTITIONED_WORKERS] =
	OF_LOAD("The writer is \"buffered\", and rows go to too many partitions, or others change a partitioned one."),
	[REFUSAL_DUPLICATES_WORKERS] =
	OF_LOAD("The writer is \"buffered\", and only the backend can decide about duplicates."),
	[REFUSAL_INDEX_METHOD] =
	OF_LOAD("An index has an access method that is not the server's own."),
	[REFUSAL_TEMPORARY] =
	OF_LOAD("The table is temporary."),
	[REFUSAL_ORIGIN] =
	OF_LOAD("The session has a replication origin."),
	[REFUSAL_QUERY] =
	OF_LOAD("The rows come from a query."),
	[REFUSAL_BINARY] =
	OF_LOAD("The format is binary."),
	[REFUSAL_BINARY_ENCODING] =
	OF_LOAD("Text of the binary format is in the client's encoding."),
	[REFUSAL_SHAPED_ENCODING] =
	OF_LOAD("In the encoding of the file a character may contain a delimiter."),
	[REFUSAL_ONE_BY_ONE] =
	OF_LOAD("A volatile expression is evaluated for each row."),
	[REFUSAL_REJECT_TABLE_WORKERS] =
	OF_LOAD("The reject table has triggers or indexes, or is logically decoded."),
	[REFUSAL_SEQUENCE] =
	OF_LOAD("A sequence is temporary or might come to its end."),
	[REFUSAL_TYPE] =
	OF_LOAD("The type of a column is not parallel safe."),
	[REFUSAL_EXPRESSION] =
	OF_LOAD("An expression is not parallel safe."),
	[REFUSAL_PARTITION_KEY] =
	OF_LOAD("A function of the partition key's operator class is not parallel safe."),
	[REFUSAL_EACH_ROW] =
	OF_LOAD("An expression is evaluated for each row, which workers can do since PostgreSQL 17."),
	[REFUSAL_INPUT] =
	OF_LOAD("The input function of a column's type is called for each row, which workers can do since PostgreSQL 17."),
	[REFUSAL_KNOWN_KEYS] =
	OF_LOAD("Rows are looked up before they are stored, as the keys of many exist."),
	[REFUSAL_NODES_COPIED] =
	OF_LOAD("Each row goes to several servers."),
	[REFUSAL_NODES_FORMED] =
	OF_LOAD("What is sent to other servers is more than the bytes of the file."),
	[REFUSAL_NODES_HERE] =
	OF_LOAD("Rows may be for other servers, or for this one."),
	[REFUSAL_NO_WORKER] =
	OF_LOAD("No background worker was free."),
	[REFUSAL_SHARED_MEMORY] =
	OF_LOAD("The system has too little shared memory."),

	[REFUSAL_NODES_TRANSACTION] =
	OF_LOAD("Rows are sent to other servers only by a transaction of its own, with one load, so that it can be prepared there."),
	[REFUSAL_NODES_OPTION] =
	OF_LOAD("Rows are not sent to other servers with option \"%s\"."),
	[REFUSAL_NODES_COPIES] =
	OF_LOAD("Each row goes to several servers, so that options \"on_error\" and \"on_duplicate\" would take it for several."),
	[REFUSAL_NODES_RETRY] =
	OF_LOAD("Rows of reject tables are not sent to other servers."),
	[REFUSAL_NODES_TRANSITION] =
	OF_LOAD("A trigger of the table has a transition table, which rows of other servers cannot be in."),
};

StaticAssertDecl(lengthof(messages) == REFUSAL_NODES_TRANSITION + 1, "each reason has a message");

static const char *
format_of(const Refusal *refusal)
{
	const RefusalMessage *message = &messages[refusal->reason];

	Assert(refusal_is_any(refusal));
	Assert(refusal->partition == NULL || message->partition != NULL);
	return refusal->partition != NULL ? message->partition : message->table;
}

/* A format takes these in this order, or only the first of them, or none. */
#define NAMES(refusal) \
	(refusal)->partition != NULL ? (refusal)->partition : (refusal)->name, (refusal)->name

char *
refusal_text(const Refusal *refusal)
{
	return psprintf(format_of(refusal), NAMES(refusal));
}

int
refusal_detail(const Refusal *refusal)
{
	return errdetail(format_of(refusal), NAMES(refusal));
}

void
refusal_raise_elsewhere(const Refusal *refusal, const char *name, ElsewhereKind kind)
{
	bool		by_transaction = refusal->reason == REFUSAL_NODES_TRANSACTION;

	ereport(ERROR,
			(errcode(by_transaction ? ERRCODE_ACTIVE_SQL_TRANSACTION :
					 ERRCODE_FEATURE_NOT_SUPPORTED),
			 kind == ELSEWHERE_FOREIGN_PARTITION ?
			 errmsg("cannot load into foreign partition \"%s\"", name) :
			 kind == ELSEWHERE_FOREIGN_TABLE ?
			 errmsg("cannot load into foreign table \"%s\"", name) :
			 errmsg("cannot load into table \"%s\"", name),
			 refusal_is_any(refusal) ? refusal_detail(refusal) : 0,
			 by_transaction ?
			 errhint("Load by a statement of its own, without BEGIN, savepoint or exception block.") :
			 errhint("Load into a plain table, then use INSERT ... SELECT.")));
}
