/*
 * failed_row.c
 *		See failed_row.h.
 */
#include "postgres.h"

#include "index/failed_row.h"
#include "server/workers.h"

/* Of this process; an error has no field for it. */
static FailedRow failed_row;

bool
failed_row_is_possible(int sqlerrcode)
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
remember_row(void *arg)
{
	FailedRowContext *context = arg;

	if (OidIsValid(failed_row.table) || !failed_row_is_possible(geterrcode()))
		return;
	failed_row.table = context->table;
	failed_row.tid = *context->tid;
}

void
failed_row_begin(FailedRowContext *context, Relation table, const ItemPointerData *tid)
{
	context->table = RelationGetRelid(table);
	context->tid = tid;
	context->callback.callback = remember_row;
	context->callback.arg = context;
	context->callback.previous = error_context_stack;
	error_context_stack = &context->callback;
}

/* What was noted of errors that a function has caught is void. */
void
failed_row_end(FailedRowContext *context)
{
	error_context_stack = context->callback.previous;
	failed_row_reset();
}

void
failed_row_set(Relation table, const ItemPointerData *tid)
{
	failed_row.table = RelationGetRelid(table);
	failed_row.tid = *tid;
}

void
failed_row_reset(void)
{
	failed_row.table = InvalidOid;
}

bool
failed_row_get(FailedRow *row)
{
	*row = failed_row;
	return OidIsValid(failed_row.table);
}

/* ---- between processes ---- */

void
failed_row_send(SharedFailedRow *shared)
{
	if (!failed_row_is_possible(geterrcode()))
		return;
	SpinLockAcquire(&shared->lock);
	if (!OidIsValid(shared->row.table))
		shared->row = failed_row;
	SpinLockRelease(&shared->lock);
}

static void
take_row(void *arg)
{
	SharedFailedRow *shared = arg;

	if (OidIsValid(failed_row.table) || !failed_row_is_possible(geterrcode()))
		return;
	SpinLockAcquire(&shared->lock);
	failed_row = shared->row;
	SpinLockRelease(&shared->lock);
}

void
failed_row_init(SharedFailedRow *shared)
{
	SpinLockInit(&shared->lock);
	shared->row.table = InvalidOid;
}

void
failed_row_receive(ParallelContext *pcxt, SharedFailedRow *shared)
{
	workers_on_error(pcxt, take_row, shared);
}
