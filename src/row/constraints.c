/*
 * constraints.c
 *		See constraints.h.  What is tested follows ExecConstraints and
 *		ExecRelCheck of execMain.c (PostgreSQL 18).
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "executor/nodeModifyTable.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "row/computation.h"
#include "row/constraints.h"
#include "row/type_parts.h"
#include "server/compat.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

typedef struct Check
{
	const char *name;
	ExprState  *expr;
	bool		is_volatile;
	bool		computes;		/* computation.h */
} Check;

/* A stored generated column. */
typedef struct Generated
{
	AttrNumber	attnum;
	Expr	   *expr;
	bool		is_ordered;		/* it looks at columns before it alone */
} Generated;

struct Constraints
{
	ResultRelInfo *rri;
	EState	   *estate;
	int			nnotnull;
	AttrNumber *notnull;
	List	   *virtual_notnull;	/* attnums, integer list */
	int			nchecks;
	Check	   *checks;
	int			ngenerated;
	Generated  *generated;
	bool		generation_computes;	/* all of these do */

	/* for rows that are tuples */
	TupleTableSlot *slot;
	ExprContext *econtext;
};

static void
add_notnull(Constraints *constraints, Form_pg_attribute att)
{
	if (!att->attnotnull || att->attisdropped)
		return;
#ifdef COMPAT_VIRTUAL_COLUMNS
	if (att->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
	{
		constraints->virtual_notnull =
			lappend_int(constraints->virtual_notnull, att->attnum);
		return;
	}
#endif
	constraints->notnull[constraints->nnotnull++] = att->attnum;
}

static void
add_check(Constraints *constraints, Relation rel, ConstrCheck *source)
{
	Check	   *check = &constraints->checks[constraints->nchecks];
	Node	   *expr;

	if (!COMPAT_CHECK_ENFORCED(source))
		return;
	expr = stringToNode(source->ccbin);
	expr = compat_expand_generated(expr, rel);
	check->name = pstrdup(source->ccname);
	/* planned first, so that defaults of functions' arguments count, too */
	expr = (Node *) expression_planner((Expr *) expr);
	check->expr = ExecInitExpr((Expr *) expr, NULL);
	check->is_volatile = contain_volatile_functions(expr);
	check->computes = computation_is(expr);
	constraints->nchecks++;
}

/* Whether an expression for a column looks at columns before it alone. */
static bool
is_ordered(Node *expr, AttrNumber attnum)
{
	Bitmapset  *attrs = NULL;
	int			last = -1;

	pull_varattnos(expr, 1, &attrs);
	while ((last = bms_next_member(attrs, last)) >= 0)
		if (last + FirstLowInvalidHeapAttributeNumber >= attnum)
			return false;
	return true;
}

static void
add_generated(Constraints *constraints, Relation rel, AttrNumber attnum)
{
	Generated  *generated = &constraints->generated[constraints->ngenerated++];
	Node	   *expr = (Node *) expression_planner((Expr *) build_column_default(rel, attnum));

	generated->attnum = attnum;
	generated->expr = (Expr *) expr;
	generated->is_ordered = is_ordered(expr, attnum);
	constraints->generation_computes &= computation_is(expr);
}

static void
find_generated(Constraints *constraints, Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);

	constraints->generation_computes = true;
	if (!desc->constr->has_generated_stored)
		return;
	constraints->generated = palloc(sizeof(Generated) * desc->natts);
	for (int i = 0; i < desc->natts; i++)
		if (TupleDescAttr(desc, i)->attgenerated == ATTRIBUTE_GENERATED_STORED)
			add_generated(constraints, rel, i + 1);
	/* what fails here, as for a missing privilege, is the fault of no row */
	compat_init_generated(constraints->rri, constraints->estate);
}

Constraints *
constraints_open(ResultRelInfo *rri, EState *estate)
{
	Relation	rel = rri->ri_RelationDesc;
	TupleDesc	desc = RelationGetDescr(rel);
	TupleConstr *constr = desc->constr;
	Constraints *constraints;
	MemoryContext context;

	if (constr == NULL)
		return NULL;
	if (constr->num_check != rel->rd_rel->relchecks)
		elog(ERROR, "%d pg_constraint record(s) missing for relation \"%s\"",
			 rel->rd_rel->relchecks - constr->num_check,
			 RelationGetRelationName(rel));

	context = MemoryContextSwitchTo(estate->es_query_cxt);
	constraints = palloc0(sizeof(Constraints));
	constraints->rri = rri;
	constraints->estate = estate;
	constraints->notnull = palloc(sizeof(AttrNumber) * Max(desc->natts, 1));
	if (constr->has_not_null)
		for (int i = 0; i < desc->natts; i++)
			add_notnull(constraints, TupleDescAttr(desc, i));

	constraints->checks = palloc(sizeof(Check) * Max(constr->num_check, 1));
	for (int i = 0; i < constr->num_check; i++)
		add_check(constraints, rel, &constr->check[i]);
	find_generated(constraints, rel);
	MemoryContextSwitchTo(context);

	if (constraints->nnotnull == 0 && constraints->nchecks == 0 &&
		constraints->ngenerated == 0 &&
		constraints->virtual_notnull == NIL)
		return NULL;
	return constraints;
}

/* Messages are freed with their row: there may be millions. */
static MemoryContext
enter_row_memory(EState *estate)
{
	return MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
}

List *
constraints_expressions(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	TupleConstr *constr = desc->constr;
	List	   *expressions = NIL;

	for (int i = 0; constr != NULL && i < constr->num_check; i++)
		expressions = lappend(expressions, stringToNode(constr->check[i].ccbin));
	for (int i = 0; constr != NULL && i < desc->natts; i++)
		if (TupleDescAttr(desc, i)->attgenerated && !TupleDescAttr(desc, i)->attisdropped)
			expressions = lappend(expressions, build_column_default(rel, i + 1));
	return expressions;
}

bool
constraints_need_no_guard(const Constraints *constraints)
{
	if (constraints == NULL)
		return true;
	for (int i = 0; i < constraints->nchecks; i++)
		if (!constraints->checks[i].computes)
			return false;
	return constraints->generation_computes && constraints->virtual_notnull == NIL;
}

bool
constraints_have_generated(const Constraints *constraints)
{
	return constraints != NULL && constraints->ngenerated > 0;
}

bool
constraints_forbid_null(const Constraints *constraints, HeapTuple tuple)
{
	if (!HeapTupleHasNulls(tuple) || constraints == NULL)
		return false;
	for (int i = 0; i < constraints->nnotnull; i++)
		if (att_isnull(constraints->notnull[i] - 1, tuple->t_data->t_bits))
			return true;
	return false;
}

bool
constraints_have_checks(const Constraints *constraints)
{
	return constraints != NULL && constraints->nchecks > 0;
}

/* Most tables of a load, as the leaves of a partitioned one, never need it. */
static void
prepare_tuples(Constraints *constraints)
{
	EState	   *estate = constraints->estate;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	TupleDesc	desc = RelationGetDescr(constraints->rri->ri_RelationDesc);

	/* a copy: a reference would end with the subtransaction that a row may be guarded by */
	desc = CreateTupleDescCopy(desc);
	constraints->slot = ExecInitExtraTupleSlot(estate, desc, &TTSOpsHeapTuple);
	constraints->econtext = CreateExprContext(estate);
	constraints->econtext->ecxt_scantuple = constraints->slot;
	MemoryContextSwitchTo(old);
}

/* The slot has the values of tuple afterwards, which stays the caller's. */
static ExprContext *
show_tuple(Constraints *constraints, HeapTuple tuple)
{
	if (constraints->slot == NULL)
		prepare_tuples(constraints);
	ResetExprContext(constraints->econtext);
	ExecStoreHeapTuple(tuple, constraints->slot, false);
	return constraints->econtext;
}

/* CHECKs of some tuples. */
typedef struct TupleChecks
{
	Constraints *constraints;
	HeapTuple  *tuples;
	uint32		n;
	uint32		good;
} TupleChecks;

static void
check_tuples(void *arg)
{
	TupleChecks *checks = arg;
	const Constraints *constraints = checks->constraints;

	for (; checks->good < checks->n; checks->good++)
	{
		ExprContext *econtext = show_tuple(checks->constraints, checks->tuples[checks->good]);

		for (int i = 0; i < constraints->nchecks; i++)
			if (!ExecCheck(constraints->checks[i].expr, econtext))
				return;
	}
}

uint32
constraints_count_good(Constraints *constraints, const Guard *guard, HeapTuple *tuples,
					   uint32 n)
{
	TupleChecks checks = {constraints, tuples, n, 0};

	computation_run(guard, check_tuples, &checks, NULL);
	return checks.good;
}

ExprState *
constraints_generated(const Constraints *constraints, AttrNumber attnum)
{
	for (int i = 0; constraints != NULL && i < constraints->ngenerated; i++)
	{
		const Generated *generated = &constraints->generated[i];

		if (generated->attnum == attnum && generated->is_ordered)
			return ExecInitExpr(generated->expr, NULL);
	}
	return NULL;
}

Datum
constraints_generate(Constraints *constraints, ExprState *expr, HeapTuple tuple, bool *isnull)
{
	return ExecEvalExpr(expr, show_tuple(constraints, tuple), isnull);
}

bool
constraints_volatile(const Constraints *constraints)
{
	for (int i = 0; constraints != NULL && i < constraints->nchecks; i++)
		if (constraints->checks[i].is_volatile)
			return true;
	return false;
}

static bool
is_volatile_domain(Oid type, void *arg)
{
	return get_typtype(type) == TYPTYPE_DOMAIN &&
		contain_volatile_functions((Node *) type_domain_checks(type));
}

bool
constraints_types_volatile(TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		/* those of the server have none that are */
		if (!attribute->attisdropped && attribute->atttypid >= FirstNormalObjectId &&
			type_any_part(attribute->atttypid, is_volatile_domain, NULL))
			return true;
	}
	return false;
}

/* The server's own error for a row that has failed a test here. */
static bool
raise_error(Constraints *constraints, TupleTableSlot *slot)
{
	ExecConstraints(constraints->rri, slot, constraints->estate);
	elog(ERROR, "row failed a constraint that the server does not find violated");
	return false;
}

static bool
fail_notnull(Constraints *constraints, TupleTableSlot *slot, AttrNumber attnum,
			 RowError *err)
{
	Relation	rel = constraints->rri->ri_RelationDesc;
	MemoryContext context;
	const char *name;

	if (err == NULL)
		return raise_error(constraints, slot);
	context = enter_row_memory(constraints->estate);
	name = NameStr(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attname);
	memset(err, 0, sizeof(*err));
	err->reason = REJECT_CONSTRAINT;
	err->sqlstate = ERRCODE_NOT_NULL_VIOLATION;
	err->message = psprintf("null value in column \"%s\" of relation \"%s\" violates not-null constraint",
							name, RelationGetRelationName(rel));
	err->column = name;
	MemoryContextSwitchTo(context);
	return false;
}

static bool
fail_check(Constraints *constraints, const Check *check, RowError *err)
{
	MemoryContext context = enter_row_memory(constraints->estate);

	memset(err, 0, sizeof(*err));
	err->reason = REJECT_CONSTRAINT;
	err->sqlstate = ERRCODE_CHECK_VIOLATION;
	err->message = psprintf("new row for relation \"%s\" violates check constraint \"%s\"",
							RelationGetRelationName(constraints->rri->ri_RelationDesc),
							check->name);
	MemoryContextSwitchTo(context);
	return false;
}

/* Computations run in row memory, for the error's message. */
static bool
compute(Constraints *constraints, const Guard *guard, void (*body) (void *arg), void *arg,
		RowError *err)
{
	MemoryContext old = enter_row_memory(constraints->estate);
	bool		done = computation_run(guard, body, arg, err);

	MemoryContextSwitchTo(old);
	return done;
}

/* The evaluation of a CHECK for a row in a slot. */
typedef struct CheckRun
{
	const Check *check;
	ExprContext *econtext;
	bool	   *ok;
} CheckRun;

static void
run_check(void *arg)
{
	CheckRun   *run = arg;

	*run->ok = ExecCheck(run->check->expr, run->econtext);
}

/* False: a CHECK has thrown the error in err. */
static bool
compute_check(Constraints *constraints, const Check *check, ExprContext *econtext,
			  const Guard *guard, bool *ok, RowError *err)
{
	CheckRun	run = {check, econtext, ok};

	return compute(constraints, guard, run_check, &run, err);
}

bool
constraints_check(Constraints *constraints, TupleTableSlot *slot, Guard *guard,
				  RowError *err)
{
	ExprContext *econtext;

	/* a CHECK that fails is not to be evaluated again for the error */
	if (err == NULL && constraints->nchecks > 0)
	{
		ExecConstraints(constraints->rri, slot, constraints->estate);
		return true;
	}
	for (int i = 0; i < constraints->nnotnull; i++)
		if (slot_attisnull(slot, constraints->notnull[i]))
			return fail_notnull(constraints, slot, constraints->notnull[i], err);

#ifdef COMPAT_VIRTUAL_COLUMNS
	if (constraints->virtual_notnull != NIL)
	{
		AttrNumber	attnum;

		guard_enter(guard);
		attnum = ExecRelGenVirtualNotNull(constraints->rri, slot,
										  constraints->estate,
										  constraints->virtual_notnull);
		guard_leave(guard, false);
		if (attnum != InvalidAttrNumber)
			return fail_notnull(constraints, slot, attnum, err);
	}
#endif

	if (constraints->nchecks == 0)
		return true;
	econtext = GetPerTupleExprContext(constraints->estate);
	econtext->ecxt_scantuple = slot;
	for (int i = 0; i < constraints->nchecks; i++)
	{
		const Check *check = &constraints->checks[i];
		bool		ok = false;

		if (check->computes)
		{
			if (!compute_check(constraints, check, econtext, guard, &ok, err))
				return false;
		}
		else
		{
			guard_enter(guard);
			ok = ExecCheck(check->expr, econtext);
			guard_leave(guard, check->is_volatile);
		}
		if (!ok)
			return fail_check(constraints, check, err);
	}
	return true;
}

bool
constraints_check_bounds(ResultRelInfo *rri, TupleTableSlot *slot,
						 EState *estate, Guard *guard, RowError *err)
{
	MemoryContext context;
	bool		within;

	/* workers without guards have keys of columns alone */
	if (!guard->forbidden)
		guard_enter(guard);
	within = ExecPartitionCheck(rri, slot, estate, err == NULL);
	guard_leave(guard, false);
	if (within)
		return true;

	context = enter_row_memory(estate);
	memset(err, 0, sizeof(*err));
	err->reason = REJECT_CONSTRAINT;
	err->sqlstate = ERRCODE_CHECK_VIOLATION;
	err->message = psprintf("new row for relation \"%s\" violates partition constraint",
							RelationGetRelationName(rri->ri_RelationDesc));
	MemoryContextSwitchTo(context);
	return false;
}

/* The computation of generated columns of a row in a slot. */
typedef struct GeneratedRun
{
	Constraints *constraints;
	TupleTableSlot *slot;
} GeneratedRun;

static void
run_generated(void *arg)
{
	GeneratedRun *run = arg;

	ExecComputeStoredGenerated(run->constraints->rri, run->constraints->estate, run->slot,
							   CMD_INSERT);
}

static bool
compute_generated(Constraints *constraints, TupleTableSlot *slot, Guard *guard, RowError *err)
{
	GeneratedRun run = {constraints, slot};

	if (constraints->generation_computes && err != NULL)
		return compute(constraints, guard, run_generated, &run, err);
	guard_enter(guard);
	run_generated(&run);
	guard_leave(guard, false);
	return true;
}

bool
constraints_complete(ResultRelInfo *rri, Constraints *constraints, bool bounds,
					 TupleTableSlot *slot, EState *estate, Guard *guard, RowError *err)
{
	if (constraints != NULL)
	{
		if (constraints->ngenerated > 0 && !compute_generated(constraints, slot, guard, err))
			return false;
		if (!constraints_check(constraints, slot, guard, err))
			return false;
	}
	return !bounds || constraints_check_bounds(rri, slot, estate, guard, err);
}
