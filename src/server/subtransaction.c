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
