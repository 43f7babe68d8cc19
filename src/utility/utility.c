/*
 * utility.c
 *		See utility.h.
 */
#include "postgres.h"

#include "tcop/utility.h"
#include "utility/copy_from.h"
#include "utility/utility.h"

static ProcessUtility_hook_type next_hook;

static void
run_utility(PlannedStmt *pstmt, const char *query, bool read_only_tree,
			ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *environment,
			DestReceiver *dest, QueryCompletion *completion)
{
	if (IsA(pstmt->utilityStmt, CopyStmt) && copy_is_ours((CopyStmt *) pstmt->utilityStmt))
		copy_run(pstmt, query, completion);
	else if (next_hook != NULL)
		next_hook(pstmt, query, read_only_tree, context, params, environment, dest, completion);
	else
		standard_ProcessUtility(pstmt, query, read_only_tree, context, params, environment, dest,
								completion);
}

void
utility_install(void)
{
	next_hook = ProcessUtility_hook;
	ProcessUtility_hook = run_utility;
}
