/*
 * nodes.c
 *		See nodes.h.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/xact.h"
#include "cluster/aside.h"
#include "cluster/nodes.h"
#include "cluster/nodes_share.h"
#include "cluster/nodes_state.h"
#include "cluster/two_phase.h"
#include "format/convert.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Rows to take at a time, so that progress is shown. */
#define ROWS_AT_A_TIME 4096

/* Tables that get rows in a load that has workers by default. */
#define MOST_TABLES 128

/* ---- which loads ---- */

static const char *
unserved_option(const BulkOptions *options)
{
	const struct
	{
		bool		is_set;
		const char *name;
	}			unserved[] = {
		{options->on_duplicate == BULK_ON_DUPLICATE_MERGE, "on_duplicate"},
		{options->indexes != BULK_INDEXES_AUTO, "indexes"},
		{options->writer == BULK_WRITER_DIRECT, "writer"},
		{options->freeze, "freeze"},
		/* what nodes reject has been counted when they tell of it */
		{options->limit_loaded && options->on_error != BULK_ON_ERROR_STOP, "limit_counts"}
	};

	for (int i = 0; i < lengthof(unserved); i++)
		if (unserved[i].is_set)
			return unserved[i].name;
	return NULL;
}

bool
nodes_serve(Target *target, const BulkOptions *options, bool by_file)
{
	const char *option = unserved_option(options);
	const TriggerDesc *triggers = target->rel->trigdesc;
	Refusal    *refusal = &target->no_nodes;

	*refusal = REFUSAL(REFUSAL_NONE);
	if (!target->sent && !foreign_has(target->rel))
		return false;
	if (IsInTransactionBlock(true) || two_phase_is_begun())
		*refusal = REFUSAL(REFUSAL_NODES_TRANSACTION);
	else if (option != NULL)
		*refusal = REFUSAL_NAMING(REFUSAL_NODES_OPTION, option);
	else if (target->sent && (options->truncate || options->analyze))
		*refusal = REFUSAL_NAMING(REFUSAL_NODES_OPTION, options->truncate ? "truncate" : "analyze");
	else if (target->sent && row_copy_relay(options) != BULK_RELAY_OFF &&
			 citus_has_copies(target->relid))
		*refusal = REFUSAL(REFUSAL_NODES_COPIES);
	else if (!by_file)
		*refusal = REFUSAL(REFUSAL_NODES_RETRY);
	else if (triggers != NULL && triggers->trig_insert_new_table)
		*refusal = REFUSAL(REFUSAL_NODES_TRANSITION);
	return !refusal_is_any(refusal);
}

void
nodes_check(const Target *target)
{
	if (!refusal_is_any(&target->no_nodes))
		return;
	if (target->sent)
		refusal_raise_elsewhere(&target->no_nodes, target->name, ELSEWHERE_SHARDS);
	if (target->rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		refusal_raise_elsewhere(&target->no_nodes, target->name, ELSEWHERE_FOREIGN_TABLE);
}

/* ---- what sessions tell ---- */

static bool
failed_place(void *arg, const ItemPointerData *tid, JournalPlace *place)
{
	const NodesWriter *nodes = arg;

	*place = nodes->failed;
	return nodes->failed_known;
}

/* From now on errors are about the row that a node has complained about, if any. */
static void
locate(void *arg, int file, int64 line)
{
	Writer	   *writer = arg;

	writer->nodes->failed_known = file >= 0;
	writer->nodes->failed = (JournalPlace) {.file = file,.line = line};
	writer->find_place = failed_place;
	writer->find_place_arg = writer->nodes;
}

/* Rows of a file that triggers of a node have kept out. */
static void
count_filtered(void *arg, int file, int64 rows)
{
	const Writer *writer = arg;

	writer->late.count_other(writer->late.arg, file, false, rows);
}

static void
set_aside(void *arg, void *sender, BadRow *row)
{
	const Writer *writer = arg;

	aside_take(writer->nodes->aside, sinks_shard(sender), row);
}

static void
count_aside(void *arg, int file, RejectReason reason, int64 rows)
{
	const Writer *writer = arg;

	writer->late.count(writer->late.arg, file, reason, rows);
}

static bool
is_enough(void *arg, const ToldCounts *more)
{
	const Writer *writer = arg;

	return writer->nodes->aside != NULL && aside_is_enough(writer->nodes->aside, more);
}

/* ---- rows ---- */

/* Beside other processes, of which none may be the first to send rows to a shard. */
static WriterVerdict
collect_row(Writer *writer, const Shard *shard, uint32 number)
{
	NodesWriter *nodes = writer->nodes;

	if (shard == NULL || !shard_rows_put(nodes->collected, shard, number, writer->slot))
		return WRITER_LEFT;
	convert_forget_nulled(nodes->conv);
	return WRITER_TAKEN;
}

WriterVerdict
nodes_put(Writer *writer, uint32 number, RowError *err)
{
	NodesWriter *nodes = writer->nodes;
	Shard	   *shard;

	writer->current_row = number;
	if (!nodes->placement->routine->find(nodes->placement, writer->slot, &shard, err))
		return WRITER_BAD;
	if (nodes->collected != NULL)
		return collect_row(writer, shard, number);
	if (shard == NULL)
		return nodes->local->put(writer, number, err);
	for (Shard *copy = shard; copy != NULL; copy = copy->copy)
		sinks_put(nodes->sinks, copy, number, writer->slot);
	/* that a value is NULL which is sent as it is, the node will tell */
	if (sinks_send_as_is(nodes->sinks, shard))
		convert_forget_nulled(nodes->conv);
	return WRITER_TAKEN;
}

/*
 * Whether the row has what COPY wants, as far as that is seen without its values.  A bad
 * value with a line end may be one of a broken quote, with good rows behind it.
 */
static inline bool
is_whole(const Converter *conv, const ScanRow *row)
{
	return row->fault == SCAN_FAULT_NONE && row->nfields == conv->ncolumns &&
		row->end <= conv->valid &&
		!(row->multiline && conv->options->on_error != BULK_ON_ERROR_STOP);
}

/* A row of nulls to the slot, of which each row then only has to replace the key. */
static void
prepare_slot(TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, sizeof(bool) * slot->tts_tupleDescriptor->natts);
	ExecStoreVirtualTuple(slot);
}

/* The columns of the key to the slot.  False: one is bad, and err, unless NULL, says why. */
static bool
convert_key(Writer *writer, const char *data, const ScanRow *row, const ScanField *fields,
			RowError *err)
{
	NodesWriter *nodes = writer->nodes;
	Converter  *conv = nodes->conv;
	TupleTableSlot *slot = writer->slot;
	MemoryContext old;
	bool		ok = true;

	ResetPerTupleExprContext(writer->estate);
	convert_next(conv);
	old = MemoryContextSwitchTo(conv->econtext->ecxt_per_tuple_memory);
	for (int i = 0; i < nodes->nkeys && ok; i++)
	{
		int			key = nodes->keys[i];
		AttrNumber	attnum = conv->columns[key].attnum;

		ok = convert_field(conv, key, data, &fields[row->first_field + key],
						   &slot->tts_values[attnum - 1], &slot->tts_isnull[attnum - 1], err);
	}
	MemoryContextSwitchTo(old);
	return ok;
}

/* Whether all tables that get rows of the shard get them as they are; numbers are only for such. */
static bool
are_as_is(const NodesWriter *nodes, Shard *shard)
{
	if (nodes->collected != NULL)
		return shard->number > 0;
	for (; shard != NULL; shard = shard->copy)
		if (!sinks_send_as_is(nodes->sinks, shard))
			return false;
	return true;
}

/* Sends a row of the batch as it is; false: it is for put. */
static bool
put_as_is(Writer *writer, const char *data, const ScanRow *row, const ScanField *fields,
		  uint32 number)
{
	NodesWriter *nodes = writer->nodes;
	Converter  *conv = nodes->conv;
	RowError	error;
	RowError   *err = nodes->guard->enabled ? &error : NULL;
	Shard	   *shard;

	if (!is_whole(conv, row) || !convert_key(writer, data, row, fields, err) ||
		!nodes->placement->routine->find(nodes->placement, writer->slot, &shard, err) ||
		shard == NULL || !are_as_is(nodes, shard))
		return false;
	if (conv->ndefaults > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(conv->econtext->ecxt_per_tuple_memory);

		convert_defaults(conv, writer->slot->tts_values, writer->slot->tts_isnull);
		MemoryContextSwitchTo(old);
	}
	if (nodes->collected != NULL)
		return shard_rows_put(nodes->collected, shard, number, writer->slot);
	for (; shard != NULL; shard = shard->copy)
		sinks_put(nodes->sinks, shard, number, writer->slot);
	return true;
}

/* The shard of a row by the value of its key; false: it is for find. */
static bool
find_by_value(NodesWriter *nodes, const char *bytes, uint32 length, Shard **shard)
{
	Converter  *conv = nodes->conv;
	const Column *column = &conv->columns[nodes->keys[0]];
	MemoryContext context = conv->econtext->ecxt_per_tuple_memory;
	MemoryContext old;
	bool		found;
	Datum		value;

	arena_reset(&conv->arena);
	if (unlikely(!context->isReset))
		MemoryContextReset(context);
	old = MemoryContextSwitchTo(context);
	found = column->convert(conv, column, bytes, length, &value) == VALUE_OK &&
		nodes->placement->routine->find_by_value(nodes->placement, value, shard);
	MemoryContextSwitchTo(old);
	return found;
}

/* The same by its field. */
static inline bool
find_by_field(NodesWriter *nodes, const char *data, const ScanField *field, Shard **shard)
{
	const char *bytes = data + field->start;

	if (field->escaped || convert_is_null(nodes->conv, data, field))
		return false;
	if (nodes->quick != QUICK_BYTES)
		return find_by_value(nodes, bytes, field->length, shard);
	*shard = nodes->placement->routine->find_by_bytes(nodes->placement, bytes, field->length);
	return true;
}

/* The shard of a row in a quick way; NULL: it is here.  False: it is for find. */
static inline bool
find_quickly(Writer *writer, const char *data, const ScanRow *row, const ScanField *fields,
			 Shard **shard)
{
	NodesWriter *nodes = writer->nodes;
	Placement  *placement = nodes->placement;

	if (nodes->quick == QUICK_NOTHING || !is_whole(nodes->conv, row))
		return false;
	if (nodes->quick == QUICK_ONE)
		return placement->routine->find(placement, writer->slot, shard, NULL);
	return find_by_field(nodes, data, &fields[row->first_field + nodes->keys[0]], shard);
}

static inline bool
put_line(NodesWriter *nodes, Shard *shard, uint32 number)
{
	return nodes->collected != NULL ? shard_rows_put_line(nodes->collected, shard, number) :
		sinks_put_line(nodes->sinks, shard, number);
}

uint32
nodes_put_rows(Writer *writer, const char *data, const ScanRow *rows,
			   const ScanField *fields, uint32 first, uint32 n)
{
	NodesWriter *nodes = writer->nodes;
	uint32		taken = 0;

	n = Min(n, ROWS_AT_A_TIME);
	prepare_slot(writer->slot);
	for (; taken < n; taken++)
	{
		uint32		number = first + taken;
		const ScanRow *row = &rows[number];
		Shard	   *shard;

		writer->current_row = number;
		if (find_quickly(writer, data, row, fields, &shard))
		{
			if (shard == NULL)
				break;
			if (put_line(nodes, shard, number))
				continue;
		}
		if (!put_as_is(writer, data, row, fields, number))
			break;
	}
	writer->current_row = -1;
	return taken;
}

/* ---- files ---- */

/* The fields of the key; false: it has columns that the file does not have. */
static bool
find_keys(NodesWriter *nodes, Converter *conv)
{
	int			member = -1;

	nodes->keys = palloc(sizeof(int) * Max(conv->ncolumns, 1));
	nodes->nkeys = 0;
	while ((member = bms_next_member(nodes->placement->key, member)) >= 0)
	{
		AttrNumber	attnum = member + FirstLowInvalidHeapAttributeNumber;
		int			before = nodes->nkeys;

		for (int i = 0; i < conv->ncolumns; i++)
			if (attnum > 0 && conv->columns[i].attnum == attnum)
				nodes->keys[nodes->nkeys++] = i;
		if (nodes->nkeys == before)
			return false;
	}
	return true;
}

static QuickKey
quick_key(const NodesWriter *nodes)
{
	const Converter *conv = nodes->conv;
	const Column *column;

	if (nodes->placement->has_copies || !row_copy_takes_lines(nodes->copy))
		return QUICK_NOTHING;
	if (nodes->nkeys == 0)
		return QUICK_ONE;
	if (nodes->nkeys > 1 || !nodes->placement->by_value)
		return QUICK_NOTHING;
	column = &conv->columns[nodes->keys[0]];
	if (column->convert == NULL || column->special)
		return QUICK_NOTHING;
	return nodes->placement->by_bytes && column->convert == convert_bytes ? QUICK_BYTES :
		QUICK_VALUE;
}

bool
nodes_begin_columns(NodesWriter *nodes, Converter *conv, RowCopy *copy)
{
	nodes->conv = conv;
	nodes->copy = copy;
	if (!row_copy_is_as_is(copy) || !find_keys(nodes, conv))
		return false;
	nodes->quick = quick_key(nodes);
	return true;
}

static bool
nodes_open_columns(Writer *writer, Converter *conv)
{
	return nodes_begin_columns(writer->nodes, conv,
							   sinks_begin_columns(writer->nodes->sinks, conv));
}

/* ---- the end ---- */

static void
nodes_flush(Writer *writer)
{
	writer->nodes->local->flush(writer);
	/* where rows are for this server, too, there are no workers to be timed for */
	writer->storing = sessions_seconds(writer->nodes->sessions);
}

/* With many tables a chunk has few rows for each, and each has a message of its own. */
static bool
nodes_others_keep_up(const Writer *writer)
{
	return sinks_count(writer->nodes->sinks) <= MOST_TABLES &&
		sessions_keep_up(writer->nodes->sessions);
}

static void
nodes_finish(Writer *writer)
{
	NodesWriter *nodes = writer->nodes;

	nodes->local->finish(writer);
	sinks_finish(nodes->sinks);
	if (nodes->aside != NULL)
		aside_reject(nodes->aside);
	if (nodes->options->dry_run)
		two_phase_try();
	else if (nodes->options->analyze)
		sinks_analyze(nodes->sinks);
}

static void
nodes_close(Writer *writer)
{
	NodesWriter *nodes = writer->nodes;

	sessions_rest(nodes->sessions);
	nodes->placement->routine->close(nodes->placement);
	nodes->local->close(writer);
}

/*
 * Rows that are set aside would be told of by all servers that got them.  Mostly that is
 * refused before; here the table is locked, and stays as it is.
 */
static void
check_copies(const NodesWriter *nodes, const Target *target)
{
	Refusal		refusal = REFUSAL(REFUSAL_NODES_COPIES);

	if (nodes->placement->has_copies && nodes->aside != NULL)
		refusal_raise_elsewhere(&refusal, target->name, ELSEWHERE_SHARDS);
}

static const WriterRoutine nodes_routine = {
	.name = "nodes",
	.put = nodes_put,
	.put_rows = nodes_put_rows,
	.flush = nodes_flush,
	.finish = nodes_finish,
	.close = nodes_close,
	.open_columns = nodes_open_columns,
	.prepare_share = nodes_prepare_share,
	.share = nodes_share,
	.gather = nodes_gather,
	.share_refusal = nodes_share_refusal,
	.begin_parallel = nodes_begin_parallel,
	.end_parallel = nodes_end_parallel,
	.reserve = nodes_reserve,
	.take_over = nodes_take_over,
	.write = nodes_write,
	.writes_in_turn = nodes_writes_in_turn,
	.others_keep_up = nodes_others_keep_up,
	.discard = nodes_discard
};

Writer *
nodes_open(Target *target, const BulkOptions *options, Guard *guard, Checks *checks)
{
	Writer	   *writer = buffered_open(target, options, guard, checks, false);
	ResultRelInfo *root = linitial(writer->estate->es_opened_result_relations);
	NodesWriter *nodes = palloc0(sizeof(NodesWriter));
	BulkRelay	relay = row_copy_relay(options);
	bool		whole = options->on_duplicate == BULK_ON_DUPLICATE_KEEP_NEW;
	SessionListener listener = {
		.locate = locate,
		.count_filtered = count_filtered,
		.set_aside = set_aside,
		.count = count_aside,
		.is_enough = is_enough,
		.reasons = row_copy_reasons(options),
		.arg = writer
	};

	nodes->local = writer->routine;
	nodes->guard = guard;
	nodes->options = options;
	nodes->target = target;
	nodes->journal = checks_journal(checks);
	nodes->placement = target->sent ? citus_open(root, writer->estate) :
		foreign_open(root, writer->estate, guard);
	nodes->sessions = sessions_open(&listener, relay, whole);
	nodes->sinks = sinks_open(root->ri_RelationDesc, guard, nodes->journal, nodes->sessions,
							  whole);
	if (relay != BULK_RELAY_OFF)
		nodes->aside = aside_open(writer);
	check_copies(nodes, target);
	if (nodes->placement->routine->begin != NULL)
		nodes->placement->routine->begin(nodes->placement, nodes->sessions);
	writer->nodes = nodes;
	writer->routine = &nodes_routine;
	writer->plain = false;
	MyXactFlags |= XACT_FLAGS_NEEDIMMEDIATECOMMIT;
	if (options->truncate || whole)
		sinks_open_all(nodes->sinks, nodes->placement->routine->list(nodes->placement));
	if (options->truncate)
		sinks_truncate(nodes->sinks);
	return writer;
}

/* ---- the report ---- */

Jsonb *
nodes_report(Writer *writer)
{
	CompatJsonb state;

	if (writer->nodes == NULL)
		return NULL;
	memset(&state, 0, sizeof(state));
	return JsonbValueToJsonb(sinks_report(writer->nodes->sinks, &state));
}
