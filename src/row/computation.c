/*
 * computation.c
 *		See computation.h.
 */
#include "postgres.h"

#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "row/computation.h"
#include "server/compat.h"
#include "utils/syscache.h"

/* Values that are what they are: none names an object, and none has constraints. */
static bool
is_plain_value(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case CHAROID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case CSTRINGOID:
		case BYTEAOID:
		case BITOID:
		case VARBITOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case MONEYOID:
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case INTERVALOID:
		case UUIDOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case JSONOID:
		case JSONBOID:
			return true;
		default:
			return false;
	}
}

/* The server's own immutable functions of such values, and those of any that never throw. */
static bool
is_plain_function(const FormData_pg_proc *proc)
{
	if (proc->prolang != INTERNALlanguageId)
		return false;
	if (proc->proleakproof)
		return true;
	if (proc->provolatile != PROVOLATILE_IMMUTABLE || !is_plain_value(proc->prorettype))
		return false;
	for (int i = 0; i < proc->pronargs; i++)
		if (!is_plain_value(proc->proargtypes.values[i]))
			return false;
	return true;
}

static bool
does_more(Oid function, void *context)
{
	HeapTuple	tuple;
	bool		plain;

	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return true;
	plain = is_plain_function((Form_pg_proc) GETSTRUCT(tuple));
	ReleaseSysCache(tuple);
	return !plain;
}

bool
computation_calls(Oid function)
{
	return !does_more(function, NULL);
}

/* Only what constraints and generated columns are usually made of is looked at. */
static bool
expression_does_more(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			/* the table's OID is not in a tuple */
			return ((Var *) node)->varattno <= 0;
		case T_Const:
		case T_List:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_RelabelType:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_CoerceToDomainValue:
			break;
		case T_MinMaxExpr:
			if (!is_plain_value(((MinMaxExpr *) node)->minmaxtype))
				return true;
			break;
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_CoerceViaIO:
			if (check_functions_in_node(node, does_more, NULL))
				return true;
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, expression_does_more, context);
}

bool
computation_is(Node *expr)
{
	return !expression_does_more(expr, NULL);
}

bool
computation_are_all(List *exprs)
{
	ListCell   *lc;

	foreach(lc, exprs)
		if (!computation_is((Node *) expression_planner(copyObject(lfirst(lc)))))
			return false;
	return true;
}

/* The error that has been thrown, which is then over. */
static void
take_error(RowError *err)
{
	ErrorData  *edata = CopyErrorData();

	FlushErrorState();
	memset(err, 0, sizeof(*err));
	err->reason = guard_reject_reason(edata->sqlerrcode);
	err->sqlstate = edata->sqlerrcode;
	err->message = edata->message;
}

bool
computation_run(const Guard *guard, void (*body) (void *arg), void *arg, RowError *err)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorContextCallback *callers = error_context_stack;
	volatile bool done = true;

	PG_TRY();
	{
		/* nobody asks for the CONTEXT, which would cost more than the rest of the error */
		error_context_stack = NULL;
		body(arg);
		error_context_stack = callers;
	}
	PG_CATCH();
	{
		if (guard_is_about_others(guard, geterrcode()))
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		if (err != NULL)
			take_error(err);
		else
			FlushErrorState();
		done = false;
	}
	PG_END_TRY();
	return done;
}
