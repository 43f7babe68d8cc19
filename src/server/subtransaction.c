/*
 * subtransaction.c
 *		See subtransaction.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "server/subtransaction.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/* Closes guards left open within. */
static void
roll_back(int level, MemoryContext context, ResourceOwner owner)
{
	while (GetCurrentTransactionNestLevel() > level)
	{
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
}

bool
subtransaction_run(bool (*body) (void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	int			level = GetCurrentTransactionNestLevel();
	volatile bool stays = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		stays = body(arg);
		if (stays)
		{
			Assert(GetCurrentTransactionNestLevel() == level + 1);
			ReleaseCurrentSubTransaction();
		}
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		roll_back(level, context, owner);
		ReThrowError(error);
	}
	PG_END_TRY();
	roll_back(level, context, owner);
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return stays;
}

typedef struct Look
{
	void		(*body) (void *arg);
	void	   *arg;
} Look;

static bool
look_and_leave(void *arg)
{
	const Look *look = arg;

	look->body(look->arg);
	return false;
}

void
subtransaction_look(void (*body) (void *arg), void *arg)
{
	Look		look = {.body = body,.arg = arg};
	MemoryContext context = CurrentMemoryContext;
	ErrorContextCallback *callbacks = error_context_stack;

	error_context_stack = NULL;
	PG_TRY();
	{
		(void) subtransaction_run(look_and_leave, &look);
	}
	PG_CATCH();
	{
		if (ERRCODE_TO_CATEGORY(geterrcode()) == ERRCODE_OPERATOR_INTERVENTION)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	error_context_stack = callbacks;
}
