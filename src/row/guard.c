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

/* Copies the error into the current context, and rolls the subtransaction back. */
static ErrorData *
take_error(Guard *guard, MemoryContext context)
{
	ErrorData  *error = CopyErrorData();

	FlushErrorState();
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = guard->owner;
	guard->open = false;
	return error;
}

void
guard_close_slow(Guard *guard)
{
	MemoryContext current = CurrentMemoryContext;

	/*
	 * Its commit would increment the command counter if the current command id
	 * has been used (by a wide value of a reject, say), which is not allowed in
	 * parallel mode.  But what runs there writes nothing that must be kept.
	 */
	if (guard->discards || IsInParallelMode())
		RollbackAndReleaseCurrentSubTransaction();
	else
		ReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(current);
	CurrentResourceOwner = guard->owner;
	guard->open = false;
}

/* Errors that are never a row's fault, whatever code has thrown them. */
static bool
is_about_server(int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_TRANSACTION_ROLLBACK:	/* and deadlocks */
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OPERATOR_INTERVENTION: /* cancel, shutdown */
		case ERRCODE_SYSTEM_ERROR:	/* I/O */
			return true;
	}
	switch (sqlerrcode)
	{
		case ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED:
		case ERRCODE_LOCK_NOT_AVAILABLE:
		case ERRCODE_ASSERT_FAILURE:	/* not caught by WHEN OTHERS either */
		case ERRCODE_DATA_CORRUPTED:
		case ERRCODE_INDEX_CORRUPTED:
			return true;
	}
	return false;
}

/*
 * Whether an error is about the row, and not about the server or the code.
 * Many types raise an internal error for a bad value; from our own code it is
 * what it says.
 */
static bool
is_about_data(int sqlerrcode, GuardWork work)
{
	if (work == GUARD_NOT_ROW || is_about_server(sqlerrcode))
		return false;
	if (work == GUARD_ROW_CODE)
		return true;

	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_CONNECTION_EXCEPTION:	/* and of the protocol */
		case ERRCODE_FEATURE_NOT_SUPPORTED:
		case ERRCODE_INVALID_TRANSACTION_STATE:
		case ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION:
		case ERRCODE_INVALID_CATALOG_NAME:
		case ERRCODE_INVALID_SCHEMA_NAME:
		case ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION:
		case ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE:
		case ERRCODE_CONFIG_FILE_ERROR:
		case ERRCODE_INTERNAL_ERROR:
			return false;
		default:
			return true;
	}
}

/* The error may be that of another process, received on the way. */
static bool
have_others_failed(const Guard *guard)
{
	return guard->others_failed != NULL && pg_atomic_read_u32(guard->others_failed) != 0;
}

bool
guard_is_about_others(const Guard *guard, int sqlerrcode)
{
	return is_about_server(sqlerrcode) || have_others_failed(guard);
}

RejectReason
guard_reject_reason(int sqlerrcode)
{
	if (sqlerrcode == ERRCODE_CHARACTER_NOT_IN_REPERTOIRE ||
		sqlerrcode == ERRCODE_UNTRANSLATABLE_CHARACTER)
		return REJECT_ENCODING;
	if (ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION)
		return REJECT_CONSTRAINT;
	return REJECT_VALUE;
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
			/* only our own code has run since, so there is nothing to undo */
			MemoryContextSwitchTo(context);
			FlushErrorState();
			guard->work = GUARD_OWN_CODE;
			return NULL;
		}
		if (!guard->open)
			PG_RE_THROW();

		/* FreeErrorData would not free all of it */
		MemoryContextReset(guard->errors);
		MemoryContextSwitchTo(guard->errors);
		/* also where the error is rethrown: nothing else ends the subtransaction */
		edata = take_error(guard, context);
		work = guard->work;
		guard->work = GUARD_OWN_CODE;
		if (!is_about_data(edata->sqlerrcode, work) || have_others_failed(guard))
			ReThrowError(edata);
	}
	PG_END_TRY();

	return edata;
}

void
guard_protect(Guard *guard, void (*body) (void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		body(arg);
	}
	PG_CATCH();
	{
		if (!guard->open)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		ReThrowError(take_error(guard, context));
	}
	PG_END_TRY();
}
