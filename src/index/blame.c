/*
 * blame.c
 *		See blame.h.
 */
#include "postgres.h"

#include "index/blame.h"

/* Of this process; an error has no room of its own for it. */
static BlamedRow blamed;

bool
blame_is_possible(int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_SUCCESSFUL_COMPLETION:
		case ERRCODE_WARNING:
		case ERRCODE_TRANSACTION_ROLLBACK:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_SYSTEM_ERROR:
		case ERRCODE_INTERNAL_ERROR:
			return false;
		default:
			return true;
	}
}

static void
note_row(void *arg)
{
	Blame	   *blame = arg;

	if (OidIsValid(blamed.table) || !blame_is_possible(geterrcode()))
		return;
	blamed.table = blame->table;
	blamed.tid = *blame->tid;
}

void
blame_begin(Blame *blame, Relation table, const ItemPointerData *tid)
{
	blame->table = RelationGetRelid(table);
	blame->tid = tid;
	blame->callback.callback = note_row;
	blame->callback.arg = blame;
	blame->callback.previous = error_context_stack;
	error_context_stack = &blame->callback;
}

/* What was noted of errors that a function has caught is void. */
void
blame_end(Blame *blame)
{
	error_context_stack = blame->callback.previous;
	blame_forget();
}

void
blame_row(Relation table, const ItemPointerData *tid)
{
	blamed.table = RelationGetRelid(table);
	blamed.tid = *tid;
}

void
blame_forget(void)
{
	blamed.table = InvalidOid;
}

bool
blame_get(BlamedRow *row)
{
	*row = blamed;
	return OidIsValid(blamed.table);
}

/* ---- between processes ---- */

void
blame_give(SharedBlame *shared)
{
	if (!blame_is_possible(geterrcode()))
		return;
	SpinLockAcquire(&shared->lock);
	if (!OidIsValid(shared->row.table))
		shared->row = blamed;
	SpinLockRelease(&shared->lock);
}

static void
take_row(void *arg)
{
	SharedBlame *shared = arg;

	if (OidIsValid(blamed.table) || !blame_is_possible(geterrcode()))
		return;
	SpinLockAcquire(&shared->lock);
	blamed = shared->row;
	SpinLockRelease(&shared->lock);
}

void
blame_init(SharedBlame *shared)
{
	SpinLockInit(&shared->lock);
	shared->row.table = InvalidOid;
}

void
blame_share(ErrorContextCallback *callback, SharedBlame *shared)
{
	callback->callback = take_row;
	callback->arg = shared;
	callback->previous = error_context_stack;
	error_context_stack = callback;
}
