/*
 * foreign_key.h
 *		Foreign keys of rows that are in the table already.
 *
 * The server has a trigger look up each row; here each different key is looked
 * up once, with the query of that trigger: the referenced row is locked FOR
 * KEY SHARE, under the same snapshot, as the owner of its table.  So what
 * concurrent transactions do to referenced rows has the same outcome as with
 * COPY, in every isolation level.  Where the row is simply there, and nobody is
 * changing it, it is found without a query (probe.h).  What to say of a row
 * without a referenced one is asked of the trigger itself.
 *
 * Equal keys are found by their bytes: what is equal but looks different
 * (1.0 and 1.00) is only looked up twice.
 */
#ifndef PGBULK_FOREIGN_KEY_H
#define PGBULK_FOREIGN_KEY_H

#include "postgres.h"

#include "access/htup.h"
#include "check/key_set.h"
#include "commands/trigger.h"
#include "executor/tuptable.h"
#include "table/refusal.h"
#include "utils/rel.h"

typedef struct ForeignKey ForeignKey;

/*
 * Whether a trigger checks the foreign key of each row that is inserted; and
 * whether triggers such as this fire at all, now.
 */
extern bool foreign_key_is_check(const Trigger *trigger);
extern bool foreign_key_fires(const Trigger *trigger);

/* No such trigger of a table is to be fired: its keys are checked here. */
extern void foreign_key_disable_triggers(TriggerDesc *triggers);

/*
 * Why this key cannot be checked here, or REFUSAL_NONE.
 */
extern RefusalReason foreign_key_refusal(const Trigger *trigger);

/* The constraint that this one, of a partition, is a part of, or itself. */
extern Oid	foreign_key_root(const Trigger *trigger);

/*
 * Locks the referenced table as the server does.  trigger must outlive the
 * key.  good: keys known to be so, of all parts of one root.  Within SPI.
 * Memory: the current context.
 */
extern ForeignKey *foreign_key_open(Relation rel, const Trigger *trigger,
									KeySet *good);

/*
 * Which of n rows, of one page, are known to be good; of the others nothing is
 * known.  Leaves memory in the current context, as does the next one.
 */
extern void foreign_key_find_known(ForeignKey *key, HeapTuple tuples, int n, bool *good);

/*
 * The same, after it, for those that are not known to be good: looks them up
 * where that is quick.
 */
extern void foreign_key_probe(ForeignKey *key, HeapTuple tuples, int n, bool *good);

/* Whether a row of the table has what it refers to, which then is locked. */
extern bool foreign_key_holds(ForeignKey *key, HeapTuple tuple);

/*
 * For a row that does not: raises the server's error for it.  Returns only
 * where the referenced row has come meanwhile.  slot: of the table's kind.
 */
extern void foreign_key_raise(ForeignKey *key, ItemPointer tid,
							  TupleTableSlot *slot);

/*
 * The same, but the error's primary message is kept instead, as that of all
 * such rows of this key.  False: the row is good now.
 */
extern bool foreign_key_note(ForeignKey *key, ItemPointer tid,
							 TupleTableSlot *slot);

/*
 * The same for a row that is not in the table: it is stored in a subtransaction that is rolled
 * back, so nobody else ever hears of it, logical decoding neither.  raise: the server's error is raised.  False: the
 * row may be good now, and what it refers to is not locked.
 */
extern bool foreign_key_test(ForeignKey *key, TupleTableSlot *row, bool raise);

/* The message that was kept. */
extern const char *foreign_key_message(const ForeignKey *key);

/*
 * The column, where the key has just one, else NULL; and its value's text, NULL where the
 * server's error would not show it to the current user.
 */
extern const char *foreign_key_column(const ForeignKey *key);
extern char *foreign_key_value(const ForeignKey *key, HeapTuple tuple);

/* The table that is referred to. */
extern Oid	foreign_key_referenced(const ForeignKey *key);

extern void foreign_key_close(ForeignKey *key);

#endif							/* PGBULK_FOREIGN_KEY_H */
