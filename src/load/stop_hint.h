/*
 * stop_hint.h
 *		The HINT of an error that ends a load for the sake of one row.
 *
 * Such an error is thrown on as it is, whoever has thrown it, but with the options in its HINT that would mend the
 * row: found by the trials of diagnosis.h, as for a row that is set aside.  What a trial throws is lost, but for
 * a cancel.  Price: nothing before the error; then a conversion of at most 80 rows of 4 kB for each candidate, of which there may
 * be some hundreds.
 *
 * Trap: the error may have left others' code half done.  Where that has changed who runs or what is SET there is no HINT.
 */
#ifndef PGBULK_STOP_HINT_H
#define PGBULK_STOP_HINT_H

#include "postgres.h"

#include "diagnose/diagnosis.h"
#include "load/batch.h"
#include "utils/resowner.h"

typedef struct StopHint
{
	const char *duplicate_hint;	/* for a key that is there twice; or NULL */
	/* what others' code may have changed, as it was before */
	Oid			user;
	int			security;
	int			settings;		/* how deep they are nested */
} StopHint;

extern void stop_hint_open(StopHint *stop, const Target *target, const BulkOptions *options);

/* Whether an error may get a HINT, from its SQLSTATE alone. */
extern bool stop_hint_is_for(int sqlerrcode);

/*
 * Looks for what would mend the row that the batch is at.  The error was caught outside of any subtransaction of the
 * load, and is to be thrown on.  A HINT that it has stays, but where the server's knows the settings of the server alone.
 */
extern void stop_hint_add(const StopHint *stop, Diagnosis *diagnosis, const Batch *batch,
						  ErrorData *error);

/* The same for an error of the index phase. */
extern void stop_hint_add_duplicate(const StopHint *stop, ErrorData *error);

#endif							/* PGBULK_STOP_HINT_H */
