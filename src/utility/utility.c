/*
 * utility.c
 *		See utility.h.
 */
#include "postgres.h"

#include "load/result.h"
#include "option/options.h"
#include "stream/stdin.h"
#include "table/statement.h"
#include "tcop/utility.h"
#include "utility/copy_from.h"
#include "utility/copy_options.h"
#include "utility/copy_text.h"
#include "utility/foreign_keys.h"
#include "utility/plain_copy.h"
#include "utility/utility.h"
#include "utils/lsyscache.h"

static ProcessUtility_hook_type next_hook;

/* A load by a function, while others look at its statement. */
typedef struct LoadCall
{
	const char *text;
	int64		(*run) (void *arg);
	void	   *arg;
	bool		has_run;
} LoadCall;

static LoadCall *load_call = NULL;

/* What a utility hook is called with. */
#define ARGUMENTS PlannedStmt *pstmt, const char *query, bool read_only_tree, \
	ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *environment, \
	DestReceiver *dest, QueryCompletion *completion

static bool
asks_client(const Node *statement)
{
	const CopyStmt *copy = (const CopyStmt *) statement;

	return IsA(statement, CopyStmt) && copy->is_from && copy->filename == NULL &&
		!copy->is_program;
}

static void
pass_on(ARGUMENTS)
{
	if (asks_client(pstmt->utilityStmt))
		client_drop_rest();
	(next_hook != NULL ? next_hook : standard_ProcessUtility)
		(pstmt, query, read_only_tree, context, params, environment, dest, completion);
}

/*
 * A COPY statement with an option that only others can know: the error of one that nobody knows
 * gets the HINT that it is similar to one of ours.
 */
static void
pass_on_unknown(const DefElem *unknown, ARGUMENTS)
{
	MemoryContext caller = CurrentMemoryContext;
	const char *near = options_near(unknown->defname);
	char	   *name = psprintf("\"%s\"", unknown->defname);

	PG_TRY();
	{
		pass_on(pstmt, query, read_only_tree, context, params, environment, dest, completion);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		if (error->sqlerrcode != ERRCODE_SYNTAX_ERROR || error->hint != NULL || near == NULL ||
			strstr(error->message, name) == NULL)
			PG_RE_THROW();
		FlushErrorState();
		error->hint = psprintf("Perhaps you meant \"%s\".", near);
		ReThrowError(error);
	}
	PG_END_TRY();
}

/* ALTER TABLE, whose query for rows that violate a foreign key may be taken. */
static void
pass_on_alter(ARGUMENTS)
{
	bool		before = foreign_keys_watch(true);

	PG_TRY();
	{
		pass_on(pstmt, query, read_only_tree, context, params, environment, dest, completion);
	}
	PG_FINALLY();
	{
		(void) foreign_keys_watch(before);
	}
	PG_END_TRY();
}

static void
run_load_call(QueryCompletion *completion)
{
	int64		rows;

	load_call->has_run = true;
	rows = load_call->run(load_call->arg);
	if (completion != NULL)
		SetQueryCompletion(completion, CMDTAG_COPY, rows);
}

static void
run_utility(ARGUMENTS)
{
	const Node *statement = pstmt->utilityStmt;
	const CopyStmt *copy = IsA(statement, CopyStmt) && ((const CopyStmt *) statement)->is_from ?
		(const CopyStmt *) statement : NULL;
	const DefElem *unknown = copy != NULL ? copy_options_unknown(copy->options) : NULL;
	bool		discards = IsA(statement, DiscardStmt) &&
		((const DiscardStmt *) statement)->target == DISCARD_ALL;
	Oid			relid;

	if (load_call != NULL && query == load_call->text && !load_call->has_run)
	{
		run_load_call(completion);
		return;
	}
	if (copy != NULL && copy_is_ours(copy))
		copy_run(pstmt, query, completion);
	else if (copy != NULL && plain_copy_setting != PLAIN_COPY_OFF && unknown == NULL &&
			 OidIsValid(relid = plain_copy_table(copy)))
		plain_copy_run(pstmt, query, relid, completion);
	else if (unknown != NULL)
		pass_on_unknown(unknown, pstmt, query, read_only_tree, context, params, environment, dest,
						  completion);
	else if (foreign_keys_enabled && IsA(statement, AlterTableStmt))
		pass_on_alter(pstmt, query, read_only_tree, context, params, environment, dest,
					  completion);
	else
		pass_on(pstmt, query, read_only_tree, context, params, environment, dest, completion);
	/* the next user of the session may be another one */
	if (discards)
		result_forget();
}

/* Shows the statement to all hooks; the load must have run afterwards. */
static void
show_load_call(LoadCall *call, Oid relid)
{
	LoadCall   *before = load_call;
	QueryCompletion completion;

	InitializeQueryCompletion(&completion);
	load_call = call;
	PG_TRY();
	{
		ProcessUtility(statement_plan(call->text), call->text, false, PROCESS_UTILITY_QUERY, NULL,
					   NULL, None_Receiver, &completion);
	}
	PG_FINALLY();
	{
		load_call = before;
	}
	PG_END_TRY();
	if (!call->has_run)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot load into table \"%s\"", get_rel_name(relid)),
				 errdetail("Another extension has run the equivalent COPY statement instead, or dropped it.")));
}

void
utility_run_load(Oid relid, const char *source, const char *lead, Jsonb *options,
				 int64 (*run) (void *arg), void *arg)
{
	LoadCall	call = {.run = run,.arg = arg};

	/* nobody sees what is run here but hooks that were installed later */
	if (ProcessUtility_hook != run_utility)
		call.text = copy_text(relid, source, lead, options);
	if (call.text == NULL)
		(void) run(arg);
	else
		show_load_call(&call, relid);
}

void
utility_install(void)
{
	next_hook = ProcessUtility_hook;
	ProcessUtility_hook = run_utility;
	foreign_keys_install();
}
