/*
 * load_open.c
 *		What a load opens before its first row: input, target, reject stream and writer.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "check/duplicates.h"
#include "check/tables.h"
#include "cluster/nodes.h"
#include "common/int.h"
#include "format/extra.h"
#include "format/transform.h"
#include "load/load_id.h"
#include "load/load_parts.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "row/constraints.h"
#include "server/compat.h"
#include "stream/query.h"
#include "table/target_locks.h"
#include "write/dry_run.h"

/* Defaults may also come from the column's type. */
static bool
has_volatile_default(Relation rel, AttrNumber attnum)
{
	Expr	   *expr = (Expr *) build_column_default(rel, attnum);

	/* planned first, since the default values of function arguments count, too */
	return expr != NULL &&
		contain_volatile_functions_not_nextval((Node *) expression_planner(expr));
}

/*
 * Whether an expression of the load may read the table, and so must see each
 * row there before the next one is processed.  With header = map any column may
 * turn out to be missing.
 */
static bool
has_volatile_expression(Load *load)
{
	const BulkOptions *options = load->options;
	Relation	rel = load->target->rel;
	bool		any = options->header == BULK_HEADER_MAP ||
		options->default_marker != NULL ||
		options->missing == BULK_MISSING_DEFAULT;

	if (contain_volatile_functions((Node *) load->target->where))
		return true;
	if (options->transform != NULL)
		return transform_is_volatile(transform_open(options->transform, rel));
	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		if (!att->attisdropped && !att->attgenerated &&
			(any || !batch_gives(&load->batch, i + 1)) &&
			has_volatile_default(rel, i + 1))
			return true;
	}
	return false;
}

/* Whether a CHECK may read the table. */
static bool
has_volatile_check(Relation rel)
{
	ListCell   *lc;

	foreach(lc, constraints_expressions(rel))
		if (contain_volatile_functions((Node *) expression_planner(lfirst(lc))))
			return true;
	return false;
}

/* The same for domains' CHECKs, and those that only partitions have. */
static bool
have_volatile_checks(Relation root)
{
	ListCell   *lc;

	if (has_volatile_check(root) || constraints_types_volatile(RelationGetDescr(root)))
		return true;
	if (root->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return false;
	foreach(lc, find_all_inheritors(RelationGetRelid(root), NoLock, NULL))
	{
		Relation	part = table_open(lfirst_oid(lc), NoLock);
		bool		found = part->rd_rel->relchecks > root->rd_rel->relchecks &&
			has_volatile_check(part);

		table_close(part, NoLock);
		if (found)
			return true;
	}
	return false;
}

/* Why the direct writer is chosen, a sentence as those of refusals. */
static const char *
reason_for_direct(const Load *load)
{
	const BulkOptions *options = load->options;
	Relation	rel = load->target->rel;

	if (options->indexes == BULK_INDEXES_MERGE || options->indexes == BULK_INDEXES_REBUILD)
		return "Option \"indexes\" requires it.";
	if (options->writer == BULK_WRITER_DIRECT)
		return "Option \"writer\" is set.";
	if (rel->rd_createSubid != InvalidSubTransactionId ||
		rel->rd_newRelfilelocatorSubid != InvalidSubTransactionId)
		return "The table was created or truncated in this transaction.";
	return rel->rd_islocaltemp ? "The table is temporary." : "The table had no rows.";
}

Writer *
load_open_writer(Load *load)
{
	const BulkOptions *options = load->options;
	bool		by_indexes = options->indexes == BULK_INDEXES_MERGE ||
		options->indexes == BULK_INDEXES_REBUILD;
	Refusal		refusal = REFUSAL(REFUSAL_NONE);

	if (load->target->on_nodes)
		return nodes_open(load->target, options, &load->guard, load->checks);
	if (load->attempts > 0 && refusal_is_any(&load->result->not_direct))
		refusal = load->result->not_direct;
	else if (options->writer != BULK_WRITER_BUFFERED)
	{
		refusal = direct_refusal(load->target->rel, options);
		if (!refusal_is_any(&refusal) && has_volatile_expression(load))
			refusal = REFUSAL(REFUSAL_VOLATILE_EXPRESSION);
		if (!refusal_is_any(&refusal) && load->query_looks)
			refusal = REFUSAL(REFUSAL_VOLATILE_QUERY);
		if (!refusal_is_any(&refusal) && rejects_have_effects(load->rejects))
			refusal = REFUSAL(REFUSAL_REJECT_TABLE);
	}
	if (options->writer == BULK_WRITER_AUTO && !refusal_is_any(&refusal))
		refusal = REFUSAL(target_locks_take(load->target, options,
											source_plain_bytes(load->source)));
	if (options->writer != BULK_WRITER_BUFFERED && !refusal_is_any(&refusal))
	{
		refusal = direct_partition_refusal(load->target->rel, options);
		/* the user may know that they do not look at the table, and choose the direct writer */
		if (options->writer == BULK_WRITER_AUTO && !refusal_is_any(&refusal) &&
			have_volatile_checks(load->target->rel))
			refusal = REFUSAL(REFUSAL_VOLATILE_EXPRESSION);
		if (refusal_is_any(&refusal))
			target_locks_release(load->target);
	}
	load->result->not_direct = refusal;
	load->result->direct = NULL;
	load->may_be_slow = options->writer == BULK_WRITER_AUTO && refusal_is_any(&refusal) &&
		load->attempts == 0 && options->log_verbosity != BULK_VERBOSITY_SILENT;

	if (options->writer == BULK_WRITER_BUFFERED ||
		(options->writer == BULK_WRITER_AUTO && refusal_is_any(&refusal)))
		return buffered_open(load->target, options, &load->guard, load->checks,
							 load->query_looks || rejects_have_effects(load->rejects));
	if (refusal_is_any(&refusal))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 by_indexes ?
				 errmsg("the indexes of \"%s\" cannot be %s", target_name(load->target),
						options->indexes == BULK_INDEXES_MERGE ? "merged" : "rebuilt") :
				 errmsg("writer \"direct\" cannot load into \"%s\"",
						target_name(load->target)),
				 refusal_detail(&refusal),
				 by_indexes ?
				 errhint("Leave option \"indexes\" to \"auto\".") :
				 errhint("Use writer \"buffered\", or leave the choice to \"auto\".")));
	load->result->direct = reason_for_direct(load);
	if (!options->dry_run)
		target_cut_dead(load->target);
	return direct_open(load->target, options, &load->guard, load->checks);
}

QueryRows *
load_open_query(const Load *load)
{
	const BulkOptions *options = load->options;
	Target	   *target = load->target;
	int64		wanted;

	if (options->limit < 0 || pg_add_s64_overflow(options->skip, options->limit, &wanted))
		wanted = -1;
	return query_open(options->query, RelationGetDescr(target->rel), target->attnums,
					  target->nfields, wanted, wanted >= 0 && !options->limit_loaded);
}

static void
begin_query(Load *load)
{
	QueryRows  *rows = load_open_query(load);

	load->query_looks = query_is_volatile(rows);
	load->target->query = query_fields(rows);
	load->source = source_open_stream(query_stream(rows), load->paths, 0,
									  load->options, source_chunk_size);
}

/*
 * Whether a last line of \. that the client sends is its mark for the end, as psql before 18
 * sends it, and cannot be a row.  Where the server's COPY never takes it for a row, COPY
 * statements do not, either.
 */
static bool
is_marker_no_row(const Load *load)
{
	const BulkOptions *options = load->options;

	return format_routine(options)->client_marker && !options->plain &&
		(!options_takes(options, "delimiter") || (options->by_copy && COMPAT_COPY_MARKER) ||
		 (options->missing == BULK_MISSING_ERROR && load->target->nfields > 1));
}

void
load_prepare_input(Load *load)
{
	const BulkOptions *options = load->options;
	Target	   *target = load->target;

	if (!load->query_taken)
	{
		target_empty(target, options, target->dry != NULL ? dry_run_caller(target->dry) :
					 GetCurrentSubTransactionId());
		if (options->query != NULL && load->attempts == 0)
			begin_query(load);
	}
	if (options->transform != NULL)
		target_set_arguments(target,
							 transform_arguments(transform_open(options->transform, target->rel)));
	load->source->client_marker = is_marker_no_row(load);
	if (options->by_copy && options->header != BULK_HEADER_MAP)
		load->source->client_columns = target->nfields;
}

/*
 * To be called when the table is locked: each 32nd number is logged, which gives the transaction
 * an id, and REPACK (CONCURRENTLY) waits with its lock for all that have one, those included that
 * wait for the lock.
 */
static void
take_number(Load *load)
{
	if (OidIsValid(load->schema))
		load->load_id = load_id_next(load->schema);
	load->result->load_id = load->options->dry_run ? -load->load_id : load->load_id;
}

void
load_reset_batch(Load *load)
{
	load->batch = (Batch) {
		.options = load->options,
		.target = load->target,
		.guard = &load->guard,
		.sink = &load_sink,
		.sink_arg = load,
		.convert_row = convert_row_function(load->options),
		.load_id = load->load_id,
		.skip_left = load->options->skip,
		.limit_left = load->options->limit,
		.next = PG_UINT32_MAX
	};
	initStringInfo(&load->batch.shown);
	load->late.filtered = load->late.deleted = load->late.taken_back = 0;
	if (load->counts != NULL)
		memset(load->counts, 0, sizeof(FileCounts) * list_length(load->paths));
}

void
load_open_rejects(Load *load)
{
	load->rejects = rejects_open(load->options, load->target->rel,
								 load->result->load_id, load->paths, load->counts);
}

/* Leaves out files that were loaded before. */
static void
pass_over(Load *load)
{
	BulkOptions *options = palloc(sizeof(BulkOptions));

	*options = *load->options;
	options->patterns = history_select(load->history, options->patterns);
	options->listed = history_select(load->history, options->listed);
	load->options = options;
	load->paths = history_select(load->history, load->paths);
	/* those that are in it may be of the files that were passed over */
	if (load->paths == NIL)
		options->reject_file = NULL;
	source_close(load->source);
	load->source = source_open(load->paths, options, source_chunk_size);
	if (options->once == BULK_ONCE_TAIL || options->once == BULK_ONCE_PART)
		source_set_ranges(load->source, history_ranges(load->history));
}

void
load_open(Load *load)
{
	const BulkOptions *options = load->options;

	load->result->started = GetCurrentTimestamp();
	load->result->user = GetUserId();
	if (options->query == NULL)
		load->source = load->stored != NULL ?
			source_open_list(stored_rows_paths(load->stored), stored_rows_open, load->stored,
							 stored_rows_bytes(load->stored), options, source_chunk_size) :
			source_open(load->paths, options, source_chunk_size);
	load->target = target_open(load->relid, options);
	take_number(load);
	load->target->on_nodes = nodes_serve(load->target, options, load->stored == NULL);
	nodes_check(load->target);
	if (load->stored == NULL)
		load->history = history_open(options, load->target->rel, load->paths, load->result);
	if (options->once != BULK_ONCE_NONE)
	{
		pass_over(load);
		options = load->options;
	}
	if (load->history != NULL && history_hashes(load->history))
		source_hash(load->source);
	if (load->history != NULL && list_length(load->paths) > 1)
	{
		load->counts = palloc(sizeof(FileCounts) * list_length(load->paths));
		source_note_begins(load->source);
	}
	if (options->extra != NIL)
		extra_check(options, load->target, load->source, load->load_id);
	/* which indexes tables of other servers have is not known here */
	if (!load->target->on_nodes)
		duplicates_notice(load->target->rel, options);
	load->raw = load->stored != NULL ? raw_open_stored(load->stored) :
		raw_open(list_length(load->paths), load->target);
	load->may_repeat = !load->target->on_nodes &&
		tables_may_repeat(load->target->rel, options);
	if (!options->dry_run && !load->may_repeat)
		load_prepare_input(load);
	load_reset_batch(load);
	load->callback.callback = batch_error_context;
	load->callback.arg = &load->batch;
	load->callback.previous = error_context_stack;
	error_context_stack = &load->callback;
	load_open_rejects(load);
}
