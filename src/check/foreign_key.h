/*
 * foreign_key.h
 *		Foreign keys of rows that are already in the table.
 *
 * The server's trigger looks up every row; here every distinct key is looked up
 * once, with the trigger's own query: the referenced row is locked FOR KEY
 * SHARE, under the same snapshot, as the owner of its table.  So concurrent
 * changes to referenced rows have the same outcome as with COPY, in every
 * isolation level.  A referenced row that is visible and not being changed is
 * found without a query (probe.h), together with many others.  The error for a
 * missing one is raised by the trigger itself.
 *
 * Keys are compared by their bytes: values that are equal but stored
 * differently (1.0 and 1.00) are merely looked up twice.
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
 * Whether a trigger checks a foreign key of inserted rows; and whether such a
 * trigger fires under the current session_replication_role.
 */
extern bool foreign_key_is_check(const Trigger *trigger);
extern bool foreign_key_fires(const Trigger *trigger);

/* Removes these triggers from a table's triggers to fire: its keys are checked here. */
extern void foreign_key_disable_triggers(TriggerDesc *triggers);

/* Why this key cannot be checked here, or REFUSAL_NONE. */
extern RefusalReason foreign_key_refusal(const Trigger *trigger);

/* The topmost parent of a partition's constraint, or the constraint itself. */
extern Oid	foreign_key_root(const Trigger *trigger);

/* What is known of a key's values; shared by all constraints with the same root. */
typedef struct KeyValues KeyValues;

/* memory: maximum size in bytes.  Allocates in the current context. */
extern KeyValues *key_values_create(Size memory);

/* Forgets which are good. */
extern void key_values_clear(KeyValues *values);

/*
 * Locks the referenced table as the server does.  trigger must outlive the key.
 * Must be called within SPI.  Allocates in the current context.
 */
extern ForeignKey *foreign_key_open(Relation rel, const Trigger *trigger,
									KeyValues *values);

/*
 * Asks for the keys of n rows of one page, which are looked up together when they
 * are many, or by foreign_key_settle.  If some rows may be bad, all will be looked
 * at one by one: then it ends when memory is full, as that needs what is known so
 * far.  certain: no other key has such rows.  scratch: of n elements.  Leaks into
 * the current context.  Whether all rows may still turn out to be good.
 */
extern bool foreign_key_ask(ForeignKey *key, HeapTuple tuples, int n, bool certain,
							bool *scratch);

/*
 * The same for n keys, as many as a page has at most, of which the bytes are at hand.  Those that
 * cannot be looked up together are looked up one by one.
 */
extern bool foreign_key_ask_items(ForeignKey *key, KeySetItem *items, int n, bool certain);

/*
 * Looks up what has been asked for.  Whether all rows so far are certain to be good,
 * those of constraints with the same root included.
 */
extern bool foreign_key_settle(ForeignKey *key);

/*
 * Marks those of n rows of one page whose keys are known to be good.  Leaks
 * into the current context, as does foreign_key_probe.
 */
extern void foreign_key_find_known(ForeignKey *key, HeapTuple tuples, int n, bool *good);

/*
 * To be called next: looks up the remaining keys where that takes no query, and
 * marks those found.
 */
extern void foreign_key_probe(ForeignKey *key, HeapTuple tuples, int n, bool *good);

/* Whether the row's referenced row exists; locks it. */
extern bool foreign_key_holds(ForeignKey *key, HeapTuple tuple);

/*
 * Raises the server's error for a row that violates the key.  Returns only if
 * the referenced row has appeared meanwhile.  slot: of the table's kind.
 */
extern void foreign_key_raise(ForeignKey *key, ItemPointer tid,
							  TupleTableSlot *slot);

/*
 * The same, but keeps the error's primary message, once for all rows that
 * violate this key.  False: the row is good now.
 */
extern bool foreign_key_note(ForeignKey *key, ItemPointer tid,
							 TupleTableSlot *slot);

/*
 * The same for a row that is not in the table: it is inserted in a
 * subtransaction that is rolled back, so that nothing, logical decoding
 * included, ever sees it.  raise: raise the server's error.  False: the row may
 * be good now, but its referenced row is not locked.
 */
extern bool foreign_key_test(ForeignKey *key, TupleTableSlot *row, bool raise);

/* The message that was kept. */
extern const char *foreign_key_message(const ForeignKey *key);

/*
 * The column of a single-column key, else NULL; and its value as text, NULL if
 * the server's error would not show it to the current user.
 */
extern const char *foreign_key_column(const ForeignKey *key);
extern char *foreign_key_value(const ForeignKey *key, HeapTuple tuple);

/* The referenced table. */
extern Oid	foreign_key_referenced(const ForeignKey *key);

extern void foreign_key_close(ForeignKey *key);

#endif							/* PGBULK_FOREIGN_KEY_H */
