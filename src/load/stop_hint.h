/*
 * stop_hint.h
 *		The HINT for an error about a single row that ends a load.
 *
 * Such an error is rethrown unchanged, whoever raised it, except for a HINT
 * that names options by which the row would be accepted.  They are found by the
 * trials of diagnosis.h, as for a rejected row.  Errors raised by trials are
 * discarded, except cancellation.  Price: nothing before the error; then the
 * conversion of the row and of at most 79 others of 4 kB for each of perhaps
 * some hundred candidates.
 *
 * Trap: the error may have interrupted user-defined code.  If that changed the
 * current user or settings there is no HINT.
 */
#ifndef PGBULK_STOP_HINT_H
#define PGBULK_STOP_HINT_H

#include "postgres.h"

#include "diagnose/diagnosis.h"
#include "load/batch.h"
#include "utils/resowner.h"

typedef struct StopHint
{
	const char *duplicate_hint;	/* for a duplicate key; or NULL */
	/* session state that user-defined code may have changed */
	Oid			user;
	int			security;
	int			settings;		/* GUC nesting level */
} StopHint;

extern void stop_hint_open(StopHint *stop, const Target *target, const BulkOptions *options);

/* Whether an error with this SQLSTATE may get a HINT. */
extern bool stop_hint_is_for(int sqlerrcode);

/*
 * Looks for options by which the batch's current row would be accepted.  The
 * error was caught outside any subtransaction of the load and will be rethrown.
 * It keeps a HINT it already has, unless that is one of the server's about its
 * own settings.
 */
extern void stop_hint_add(const StopHint *stop, Diagnosis *diagnosis, const Batch *batch,
						  ErrorData *error);

/* The same for an error of the index phase. */
extern void stop_hint_add_duplicate(const StopHint *stop, ErrorData *error);

#endif							/* PGBULK_STOP_HINT_H */
