/*
 * type_parts.c
 *		See type_parts.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "row/type_parts.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

static bool
any_column(Oid type, TypeTest test, void *arg)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);
	bool		found = false;

	for (int i = 0; i < desc->natts && !found; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			found = type_any_part(TupleDescAttr(desc, i)->atttypid, test, arg);
	ReleaseTupleDesc(desc);
	return found;
}

bool
type_any_part(Oid type, TypeTest test, void *arg)
{
	check_stack_depth();
	if (test(type, arg))
		return true;
	switch (get_typtype(type))
	{
		case TYPTYPE_DOMAIN:
			return type_any_part(getBaseType(type), test, arg);
		case TYPTYPE_COMPOSITE:
			return any_column(type, test, arg);
		case TYPTYPE_RANGE:
			return type_any_part(get_range_subtype(type), test, arg);
		case TYPTYPE_MULTIRANGE:
			return type_any_part(get_multirange_range(type), test, arg);
		default:
			type = get_element_type(type);
			return OidIsValid(type) && type_any_part(type, test, arg);
	}
}

List *
type_domain_checks(Oid domain)
{
	/* the context knows it until it goes */
	DomainConstraintRef *ref = palloc(sizeof(DomainConstraintRef));
	List	   *checks = NIL;
	ListCell   *lc;

	InitDomainConstraintRef(domain, ref, CurrentMemoryContext, false);
	foreach(lc, ref->constraints)
	{
		const DomainConstraintState *constraint = lfirst(lc);

		if (constraint->constrainttype == DOM_CONSTRAINT_CHECK)
			checks = lappend(checks, constraint->check_expr);
	}
	return checks;
}
