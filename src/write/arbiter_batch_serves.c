/*
 * arbiter_batch_serves.c
 *		See arbiter_batch_serves.h.
 */
#include "postgres.h"

#include "catalog/catalog.h"
#include "check/tables.h"
#include "index/inserter.h"
#include "write/arbiter.h"
#include "write/arbiter_batch_merge.h"
#include "write/arbiter_batch_serves.h"

/* With keep_new: whether rows may go with nobody being told, and for good. */
static bool
may_replace(const LeafContext *context, const Leaf *leaf)
{
	Relation	rel = leaf->rri->ri_RelationDesc;
	const TriggerDesc *triggers = leaf->rri->ri_TrigDesc;

	if (context->options->on_duplicate == BULK_ON_DUPLICATE_KEEP_OLD)
		return leaf->checked == CHECKS_NOTHING;
	return !tables_may_repeat(arbiter_root(leaf->rri), context->options) &&
		!tables_may_repeat(rel, context->options) && context->delete_capture == NULL &&
		(triggers == NULL ||
		 (!triggers->trig_delete_before_row && !triggers->trig_delete_after_row));
}

/*
 * Whether all indexes that judge are served.  With several a row might replace rows of which each
 * displaces others of the batch: so not with keep_new.
 */
static bool
serves_indexes(const LeafContext *context, const Arbiter *arbiter)
{
	for (int i = 0; i < arbiter_count(arbiter); i++)
	{
		Relation	index;
		IndexInfo  *info;

		arbiter_index(arbiter, i, &index, &info);
		if (!inserter_serves(index))
			return false;
	}
	return arbiter_count(arbiter) == 1 ||
		context->options->on_duplicate == BULK_ON_DUPLICATE_KEEP_OLD;
}

/* Whether what rows of the leaf replace may go as it does here. */
static bool
serves_policy(const LeafContext *context, const Leaf *leaf)
{
	return leaf->merge != NULL ? arbiter_batch_merges(context, leaf) : may_replace(context, leaf);
}

/* Whether rows of the leaf need nothing at their turn but to know who has their keys. */
bool
batch_serves(const LeafContext *context, const Leaf *leaf)
{
	const BulkOptions *options = context->options;

	return leaf->arbiter != NULL && serves_indexes(context, leaf->arbiter) &&
		serves_policy(context, leaf) && options->on_error != BULK_ON_ERROR_SET_NULL &&
		context->entries_budget > 0 && leaf->former != NULL &&
		!leaf->before_row && !leaf->instead_row && !leaf->after_row && !leaf->keys_first &&
		!constraints_volatile(leaf->constraints) &&
		!constraints_types_volatile(RelationGetDescr(leaf->rri->ri_RelationDesc)) &&
		!RelationIsLogicallyLogged(leaf->rri->ri_RelationDesc);
}

bool
arbiter_batch_shows(const BulkOptions *options)
{
	bool		kept = options->reject_table != NULL || options->reject_file != NULL;

	if (options->on_duplicate == BULK_ON_DUPLICATE_MERGE)
		return kept || options->on_error != BULK_ON_ERROR_STOP;
	return options->on_duplicate == BULK_ON_DUPLICATE_KEEP_OLD && kept;
}

bool
arbiter_batch_takes_tuples(const LeafContext *context)
{
	const MergeClause *clause = context->target->merge;

	return clause == NULL || (!clause->removes && !context->guard->enabled);
}
