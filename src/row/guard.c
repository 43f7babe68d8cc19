/*
 * guard.c
 *		The subtransaction behind guard.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "row/guard.h"
#include "utils/memutils.h"

void
guard_enable(Guard *guard)
{
	guard->enabled = true;
	guard->errors = AllocSetContextCreate(CurrentMemoryContext,
										  "bulk_load errors",
										  ALLOCSET_SMALL_SIZES);
}

void
guard_open_slow(Guard *guard)
{
	if (guard->forbidden)
	{
		guard->refused = true;
		elog(ERROR, "no subtransaction is possible now");
	}
	guard->context = CurrentMemoryContext;
	guard->owner = CurrentResourceOwner;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(guard->context);
	guard->open = true;
}

void
guard_close_slow(Guard *guard)
{
	MemoryContext current = CurrentMemoryContext;

	/*
	 * Its commit begins a new command where the number of the current one has
	 * been used (by a wide value of a reject, say), which cannot be in
	 * parallel mode.  But what runs there writes nothing that must be kept.
	 */
	if (IsInParallelMode())
		RollbackAndReleaseCurrentSubTransaction();
	else
		ReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(current);
	CurrentResourceOwner = guard->owner;
	guard->open = false;
}

/* Whether an error tells about the row and not about the server or the code. */
static bool
is_about_data(int sqlerrcode, GuardWork work)
{
	if (work == GUARD_OWN_WORK || sqlerrcode == ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED)
		return false;

	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case MAKE_SQLSTATE('2', '5', '0', '0', '0'):	/* transaction state */
		case MAKE_SQLSTATE('2', '8', '0', '0', '0'):	/* authorization */
		case MAKE_SQLSTATE('4', '0', '0', '0', '0'):	/* rollback, deadlock */
		case MAKE_SQLSTATE('5', '3', '0', '0', '0'):	/* resources */
		case MAKE_SQLSTATE('5', '5', '0', '0', '0'):	/* object state, locks */
		case MAKE_SQLSTATE('5', '7', '0', '0', '0'):	/* cancel, shutdown */
		case MAKE_SQLSTATE('5', '8', '0', '0', '0'):	/* I/O */
		case MAKE_SQLSTATE('F', '0', '0', '0', '0'):	/* configuration file */
		case MAKE_SQLSTATE('X', 'X', '0', '0', '0'):	/* internal */
			return false;

			/*
			 * A value may name what does not exist (regclass, say) or break
			 * the protocol (receive functions); an expression that does is at
			 * fault itself.
			 */
		case MAKE_SQLSTATE('0', '8', '0', '0', '0'):	/* protocol */
		case MAKE_SQLSTATE('0', 'A', '0', '0', '0'):	/* not supported */
		case MAKE_SQLSTATE('3', 'D', '0', '0', '0'):	/* catalog name */
		case MAKE_SQLSTATE('3', 'F', '0', '0', '0'):	/* schema name */
		case MAKE_SQLSTATE('4', '2', '0', '0', '0'):	/* names, privileges */
			return work == GUARD_INPUT && sqlerrcode != ERRCODE_INSUFFICIENT_PRIVILEGE;

		default:
			return true;
	}
}

ErrorData *
guard_run(Guard *guard, void (*body) (void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorData  *volatile edata = NULL;

	guard->refused = false;
	if (!guard->enabled)
	{
		body(arg);
		return NULL;
	}

	PG_TRY();
	{
		body(arg);
	}
	PG_CATCH();
	{
		GuardWork	work;

		if (guard->refused)
		{
			/* nothing but our own code has run since, so nothing is to undo */
			MemoryContextSwitchTo(context);
			FlushErrorState();
			guard->work = GUARD_EXPRESSION;
			return NULL;
		}
		if (!guard->open)
			PG_RE_THROW();

		/* FreeErrorData would leave some of it */
		MemoryContextReset(guard->errors);
		MemoryContextSwitchTo(guard->errors);
		edata = CopyErrorData();
		FlushErrorState();

		/* also where the error goes on: nobody else ends the subtransaction */
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = guard->owner;
		guard->open = false;
		work = guard->work;
		guard->work = GUARD_EXPRESSION;
		if (!is_about_data(edata->sqlerrcode, work) ||
			(guard->others_failed != NULL &&
			 pg_atomic_read_u32(guard->others_failed) != 0))
			ReThrowError(edata);
	}
	PG_END_TRY();

	return edata;
}
