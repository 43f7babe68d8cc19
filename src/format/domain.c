/*
 * domain.c
 *		See domain.h.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "format/domain.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

typedef struct DomainReader
{
	const Column *base;
	DomainConstraintRef constraints;
	DomainConstraintCache *examined;	/* of these constraints, what follows is true: */
	bool		has_checks;
	bool		served;			/* none may fail but by its result */
	ExprContext *econtext;
} DomainReader;

static bool
may_throw(Oid function, void *context)
{
	return !get_func_leakproof(function);
}

/* Whether an expression may raise an error, or may do more than compare. */
static bool
may_fail(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
		case T_Const:
		case T_CoerceToDomainValue:
		case T_RelabelType:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
			break;
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_ScalarArrayOpExpr:
			if (check_functions_in_node(node, may_throw, NULL))
				return true;
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, may_fail, context);
}

static void
examine_constraints(DomainReader *reader)
{
	ListCell   *lc;

	reader->examined = reader->constraints.dcc;
	reader->has_checks = false;
	reader->served = true;
	foreach(lc, reader->constraints.constraints)
	{
		DomainConstraintState *constraint = lfirst(lc);

		if (constraint->constrainttype != DOM_CONSTRAINT_CHECK)
			continue;
		reader->has_checks = true;
		reader->served &= !may_fail((Node *) constraint->check_expr, NULL);
	}
}

/* As domain_check_input; the value is not null. */
static bool
fits(DomainReader *reader, Datum value)
{
	ExprContext *econtext = reader->econtext;
	bool		fit = true;
	ListCell   *lc;

	econtext->domainValue_datum = value;
	econtext->domainValue_isNull = false;
	foreach(lc, reader->constraints.constraints)
	{
		DomainConstraintState *constraint = lfirst(lc);

		fit = fit && (constraint->constrainttype != DOM_CONSTRAINT_CHECK ||
					  ExecCheck(constraint->check_exprstate, econtext));
	}
	ResetExprContext(econtext);
	return fit;
}

static ValueResult
convert_domain(Converter *conv, const Column *column, const char *s, uint32 len,
			   Datum *out)
{
	DomainReader *reader = column->detail;

	/* they may change during the load, as in COPY */
	UpdateDomainConstraintRef(&reader->constraints);
	if (unlikely(reader->constraints.dcc != reader->examined))
		examine_constraints(reader);
	if (!reader->served ||
		reader->base->convert(conv, reader->base, s, len, out) != VALUE_OK ||
		(reader->has_checks && !fits(reader, *out)))
		return VALUE_ASK;
	return VALUE_OK;
}

void
domain_choose(Column *column, const Column *base)
{
	DomainReader *reader;

	if (base->convert == NULL)
		return;
	reader = palloc0(sizeof(DomainReader));
	reader->base = base;
	InitDomainConstraintRef(column->type, &reader->constraints, CurrentMemoryContext, true);
	examine_constraints(reader);
	if (!reader->served)
		return;
	reader->econtext = CreateStandaloneExprContext();
	column->detail = reader;
	column->convert = convert_domain;
	column->growth = base->growth;
}
