/*
 * transform.c
 *		See transform.h.
 *
 * The call is planned, with the fields as parameters, so that a function in SQL
 * becomes part of the expression where the server can do that.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "format/transform.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "server/compat.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

struct Transform
{
	char	   *name;
	int			narguments;
	int			ndefaults;		/* of the last arguments, which may be missing */
	ExprState **defaults;		/* of those */
	List	   *expressions;	/* the call and the defaults */
	bool		is_volatile;
	ParamListInfo arguments;
	ExprState  *call;
};

/* ---- opening ---- */

static void
refuse_function(Oid oid, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("function %s cannot be used by option \"transform\"",
					format_procedure(oid)),
			 errdetail("%s", problem)));
}

static void
check_function(Oid oid, Form_pg_proc proc, Relation rel)
{
	if (proc->prokind != PROKIND_FUNCTION)
		refuse_function(oid, "It is no ordinary function.");
	if (proc->proretset)
		refuse_function(oid, "It returns a set.");
	if (proc->prorettype != rel->rd_rel->reltype)
		refuse_function(oid, psprintf("It returns %s, not a row of table \"%s\".",
									  format_type_be(proc->prorettype),
									  RelationGetRelationName(rel)));
	if (OidIsValid(proc->provariadic))
		refuse_function(oid, "It is variadic.");
	if (proc->pronargs == 0)
		refuse_function(oid, "It has no arguments.");
	for (int i = 0; i < proc->pronargs; i++)
		if (proc->proargtypes.values[i] != TEXTOID)
			refuse_function(oid, "Its arguments are not all of type text.");
}

/*
 * The function's call, with the fields of a row as parameters, which planning
 * cannot evaluate.
 */
static Expr *
make_call(Oid oid, Oid type, int narguments)
{
	List	   *arguments = NIL;

	for (int i = 0; i < narguments; i++)
	{
		Param	   *param = makeNode(Param);

		param->paramkind = PARAM_EXTERN;
		param->paramid = i + 1;
		param->paramtype = TEXTOID;
		param->paramtypmod = -1;
		param->paramcollid = DEFAULT_COLLATION_OID;
		param->location = -1;
		arguments = lappend(arguments, param);
	}
	return (Expr *) makeFuncExpr(oid, type, arguments, InvalidOid, DEFAULT_COLLATION_OID,
								 COERCE_EXPLICIT_CALL);
}

static List *
read_defaults(HeapTuple tuple)
{
	bool		isnull;
	Datum		defaults = SysCacheGetAttr(PROCOID, tuple,
										   Anum_pg_proc_proargdefaults, &isnull);

	return isnull ? NIL : castNode(List, stringToNode(TextDatumGetCString(defaults)));
}

Transform *
transform_open(const char *name, Relation rel)
{
	Transform  *transform = palloc0(sizeof(Transform));
	Oid			oid;
	HeapTuple	tuple;
	Form_pg_proc proc;
	List	   *defaults;
	Expr	   *call;
	ListCell   *lc;

	oid = DatumGetObjectId(DirectFunctionCall1(strchr(name, '(') != NULL ?
											   regprocedurein : regprocin,
											   CStringGetDatum(name)));
	tuple = OidIsValid(oid) ? SearchSysCache1(PROCOID, ObjectIdGetDatum(oid)) : NULL;
	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function \"%s\" does not exist", name)));
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	check_function(oid, proc, rel);
	compat_check_execute(oid, format_procedure(oid));

	transform->name = pstrdup(NameStr(proc->proname));
	transform->narguments = proc->pronargs;
	defaults = read_defaults(tuple);
	transform->ndefaults = list_length(defaults);
	transform->defaults = palloc(sizeof(ExprState *) * Max(transform->ndefaults, 1));
	call = make_call(oid, proc->prorettype, transform->narguments);
	transform->expressions = list_make1(call);
	foreach(lc, defaults)
	{
		Expr	   *expr = expression_planner(lfirst(lc));

		transform->expressions = lappend(transform->expressions, expr);
		transform->defaults[foreach_current_index(lc)] = ExecInitExpr(expr, NULL);
	}
	transform->is_volatile = contain_volatile_functions((Node *) transform->expressions);
	transform->arguments = makeParamList(transform->narguments);
	for (int i = 0; i < transform->narguments; i++)
		transform->arguments->params[i].ptype = TEXTOID;
	transform->call = ExecInitExprWithParams(expression_planner(call), transform->arguments);
	ReleaseSysCache(tuple);
	return transform;
}

int
transform_arguments(const Transform *transform)
{
	return transform->narguments;
}

int
transform_required(const Transform *transform)
{
	return transform->narguments - transform->ndefaults;
}

List *
transform_expressions(const Transform *transform)
{
	return transform->expressions;
}

bool
transform_is_volatile(const Transform *transform)
{
	return transform->is_volatile;
}

/* ---- one row ---- */

/* The fields as arguments; false: one is invalid. */
static bool
set_fields(Converter *conv, const char *data, const ScanField *fields,
		   int nfields, RowError *err)
{
	ParamExternData *args = conv->transform->arguments->params;
	bool		(*is_number) (const Converter *, uint32) = conv->routine->is_number;

	for (int i = 0; i < nfields; i++)
	{
		ScanField	field = fields[i];
		const char *s;
		uint32		len;

		if (conv->options->trim.all)
			field = convert_trim(conv, data, field);
		args[i].isnull = convert_is_null(conv, data, &field);
		if (args[i].isnull)
			continue;
		if (is_number != NULL && is_number(conv, i))
			s = conv->routine->number_text(conv, i, data + field.start, &len);
		else
			s = convert_field_text(conv, data, &field, &len, err);
		if (s == NULL)
			return false;
		args[i].value = PointerGetDatum(cstring_to_text_with_len(s, len));
	}
	return true;
}

/* A row that is only judged must not have effects. */
static bool
may_call(const Converter *conv)
{
	return !conv->skipped || !conv->transform->is_volatile;
}

/* Arguments for which the row has no fields. */
static bool
set_missing(Converter *conv, int nfields, RowError *err)
{
	const Transform *transform = conv->transform;
	ParamExternData *args = transform->arguments->params;
	int			required = transform_required(transform);
	int			wanted = may_call(conv) ? transform->narguments : required;

	for (int i = nfields; i < wanted; i++)
	{
		args[i].isnull = true;
		if (i >= required)
		{
			guard_open(conv->guard);
			args[i].value = ExecEvalExpr(transform->defaults[i - required],
										 conv->econtext, &args[i].isnull);
		}
		else if (conv->options->missing == BULK_MISSING_ERROR)
		{
			convert_fail(err, REJECT_SYNTAX, ERRCODE_BAD_COPY_FILE_FORMAT,
						 NULL, NULL, "missing data for argument %d of function \"%s\"",
						 i + 1, transform->name);
			return convert_wrong_count(err, false);
		}
	}
	return true;
}

static void
take_result(Converter *conv, Datum result, Datum *values, bool *nulls)
{
	TupleDesc	desc = RelationGetDescr(conv->target->rel);
	HeapTupleHeader header = DatumGetHeapTupleHeader(result);
	HeapTupleData tuple = {
		.t_len = HeapTupleHeaderGetDatumLength(header),
		.t_data = header
	};

	heap_deform_tuple(&tuple, desc, values, nulls);
	for (int i = 0; i < desc->natts; i++)
		if (TupleDescAttr(desc, i)->attgenerated)
			nulls[i] = true;
}

bool
transform_row(Converter *conv, const char *data, const ScanRow *row,
			  const ScanField *fields, Datum *values, bool *nulls,
			  RowError *err)
{
	Transform  *transform = conv->transform;
	int			nfields = Min(row->nfields, transform->narguments);
	Datum		result;
	bool		isnull;

	if (row->nfields > transform->narguments && !conv->options->ignore_extra)
	{
		convert_fail(err, REJECT_SYNTAX, ERRCODE_BAD_COPY_FILE_FORMAT,
					 NULL, NULL, "extra data after last expected column");
		return convert_wrong_count(err, true);
	}
	if (!set_fields(conv, data, fields, nfields, err) ||
		!set_missing(conv, nfields, err))
		return false;
	if (!may_call(conv))
		return true;

	guard_enter(conv->guard);
	conv->econtext->ecxt_param_list_info = transform->arguments;
	result = ExecEvalExpr(transform->call, conv->econtext, &isnull);
	conv->suppressed = isnull;
	if (!isnull)
		take_result(conv, result, values, nulls);
	guard_leave(conv->guard, transform->is_volatile);
	return true;
}
