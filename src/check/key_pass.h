/*
 * key_pass.h
 *		The foreign keys of a table's new rows, collected from its pages as they are written.
 *
 * Each process that writes pages takes the keys of their rows, leaves out those that it remembers
 * to have seen, and writes the others to a temporary file.  Whoever looks the keys up then has to
 * read neither all rows, nor a key as often as rows have it; and what takes most of the time is
 * done where the rows are formed, by as many processes.
 *
 * It is given up where reading the rows again is better: if one has a key in the TOAST table, NULLs
 * that its key does not allow, or the empty string as its only column's value; and if the keys take
 * more than a part of the space of the rows, or of temp_file_limit.
 *
 * Trap: keys of rows that are deleted again are still there.  So if all keys have their referenced
 * rows, all rows are good; a key that has none proves nothing.
 *
 * Price: maintenance_work_mem while rows are read, divided among the processes, and in the file the
 * bytes of each different key and eight more, for each process that meets it, and again if it has
 * been forgotten for want of memory; those of workers stand there twice for a moment.
 */
#ifndef PGBULK_KEY_PASS_H
#define PGBULK_KEY_PASS_H

#include "postgres.h"

#include "check/key_set.h"
#include "commands/trigger.h"
#include "storage/bufpage.h"
#include "storage/dsm.h"
#include "utils/rel.h"

typedef struct KeyPass KeyPass;

/* What processes that write side by side share. */
typedef struct KeyPassShared KeyPassShared;

/*
 * For the nkeys of the triggers that check foreign keys, and fire, in their order.  rel must stay
 * open.  Memory: a child of the current context.
 */
extern KeyPass *key_pass_open(Relation rel, const TriggerDesc *triggers, int nkeys);

/* All rows of the page are new ones of the table. */
extern void key_pass_add(KeyPass *pass, Page page);

/*
 * Beside other processes, at most so many with the leader: the leader initializes what they share,
 * workers join; when these are done they leave, and the leader takes what they have collected.
 * shared is NULL in a worker whose leader collects nothing.
 */
extern Size key_pass_share_size(void);
extern void key_pass_share(KeyPass *pass, KeyPassShared *shared, dsm_segment *segment,
						   int processes);
extern void key_pass_join(KeyPass *pass, KeyPassShared *shared, dsm_segment *segment);
extern void key_pass_leave(KeyPass *pass);
extern void key_pass_gather(KeyPass *pass, int workers);

/* How many keys have been noted for a row, on average; -1: not known. */
extern double key_pass_keys(const KeyPass *pass);

/* No page will be added any more: frees the memory of what has been seen. */
extern void key_pass_end(KeyPass *pass);

/* Whether it has the keys of that many rows, all that have one. */
extern bool key_pass_is_complete(const KeyPass *pass, int64 rows);

/*
 * After that: passes on all keys, some at a time: n of the trigger with that number among those
 * above, as bytes (key_columns.h), at most MaxHeapTuplesPerPage.  The same key may come again.
 */
typedef void (*KeyPassTake) (void *arg, int key, KeySetItem *items, int n);
extern void key_pass_read(KeyPass *pass, KeyPassTake take, void *arg);

extern void key_pass_close(KeyPass *pass);

#endif							/* PGBULK_KEY_PASS_H */
