/*
 * utility.c
 *		See utility.h.
 */
#include "postgres.h"

#include "load/result.h"
#include "tcop/utility.h"
#include "utility/copy_from.h"
#include "utility/utility.h"

static ProcessUtility_hook_type next_hook;

static void
run_utility(PlannedStmt *pstmt, const char *query, bool read_only_tree,
			ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *environment,
			DestReceiver *dest, QueryCompletion *completion)
{
	const Node *statement = pstmt->utilityStmt;
	bool		discards = IsA(statement, DiscardStmt) &&
		((const DiscardStmt *) statement)->target == DISCARD_ALL;

	if (IsA(statement, CopyStmt) && copy_is_ours((const CopyStmt *) statement))
	{
		copy_run(pstmt, query, completion);
		return;
	}
	if (next_hook != NULL)
		next_hook(pstmt, query, read_only_tree, context, params, environment, dest, completion);
	else
		standard_ProcessUtility(pstmt, query, read_only_tree, context, params, environment, dest,
								completion);
	/* the next user of the session may be another one */
	if (discards)
		result_forget();
}

void
utility_install(void)
{
	next_hook = ProcessUtility_hook;
	ProcessUtility_hook = run_utility;
}
