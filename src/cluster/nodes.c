/*
 * nodes.c
 *		See nodes.h.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/xact.h"
#include "cluster/aside.h"
#include "cluster/nodes.h"
#include "cluster/placement.h"
#include "cluster/row_copy.h"
#include "cluster/session.h"
#include "cluster/table_there.h"
#include "cluster/two_phase.h"
#include "format/convert.h"
#include "format/reader.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* Bytes of rows that wait in the buffers of all tables together, and in that of one. */
#define ALL_BYTES (8 * 1024 * 1024)
#define MOST_BYTES (1024 * 1024)
#define LEAST_BYTES (16 * 1024)

/* Rows to take at a time, so that progress is shown. */
#define ROWS_AT_A_TIME 4096

/* Who sends to a shard. */
typedef struct Sink
{
	Shard	   *shard;
	Session    *session;
	const char *unlike;			/* why rows cannot be sent as they are, as far as it knows */
	bool		as_is;			/* those of the current file are */
	bool		filtered;		/* a trigger there may keep rows out */
	const char *statement;		/* for its columns; NULL: not known yet */
	bool		ready;			/* these are the current file's */
	RowBuffer  *buffer;			/* NULL: no rows wait */
	bool		is_first;		/* of its session's, where each is to have one COPY */
	BufFile    *waiting;		/* its rows until the others have had theirs; NULL: none */
	int64		as_is_rows;
	int64		formed_rows;
	const char *formed_reason;
} Sink;

struct NodesWriter
{
	bool		whole;			/* a table's rows go by one COPY, which knows them all */
	bool		all_open;		/* no other table may come then: others' COPYs would end */
	const WriterRoutine *local; /* for rows that are here */
	const BulkOptions *options;
	Guard	   *guard;
	Placement  *placement;
	Sessions   *sessions;
	const Journal *journal;		/* whose reader has the batch */
	List	   *sinks;
	Size		buffer_bytes;

	/* for one file */
	Converter  *conv;
	RowCopy    *copy;
	const char *formed_reason;	/* NULL: rows may be sent as they are */
	int			nkeys;
	int		   *keys;			/* fields of the partition key */

	AsideRows  *aside;			/* NULL: nodes set no rows aside */

	/* the row that an error of a node is about */
	JournalPlace failed;
	bool		failed_known;
};

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

/* ---- shards ---- */

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

	aside_take(writer->nodes->aside, ((const Sink *) sender)->shard, row);
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

/* ---- tables ---- */

/* A row would replace one of another COPY as if that had been in the table before. */
static void
refuse_another_copy(const Sink *sink, const char *statement)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("files that are sent in different ways cannot replace rows of other servers"),
			 errdetail("Table \"%s\" of server \"%s\" has got rows by %s, and would get others by %s.",
					   sink->shard->name, session_node(sink->session)->name, sink->statement,
					   statement),
			 errhint("Load one after the other.")));
}

/* Its statement for the current file's columns. */
static void
prepare_sink(NodesWriter *nodes, Sink *sink)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	const char *reason = nodes->formed_reason != NULL ? nodes->formed_reason : sink->unlike;
	char	   *statement;

	if (reason == NULL && !row_copy_covers(nodes->copy, sink->shard))
		reason = "A column of the file is generated there.";
	sink->as_is = reason == NULL;
	if (reason != NULL)
		sink->formed_reason = reason;
	statement = row_copy_statement(nodes->copy, sink->shard, sink->as_is);
	if (sink->statement == NULL || !nodes->whole)
		sink->statement = statement;
	else if (strcmp(sink->statement, statement) != 0)
		refuse_another_copy(sink, statement);
	sink->ready = true;
	MemoryContextSwitchTo(old);
}

/* The shard's first row has come. */
static Sink *
open_sink(Writer *writer, Shard *shard)
{
	NodesWriter *nodes = writer->nodes;
	MemoryContext old = MemoryContextSwitchTo(writer->estate->es_query_cxt);
	Sink	   *sink = palloc0(sizeof(Sink));

	/* routing knows the partitions that there were at its begin */
	if (nodes->all_open && nodes->whole)
		elog(ERROR, "foreign table for \"%s\" was not there when the load began", shard->name);
	sink->shard = shard;
	guard_close(nodes->guard);
	sink->session = sessions_get(nodes->sessions, &shard->node);
	/* it may be in the middle of a COPY into another table */
	session_await_idle(sink->session);
	sink->filtered = table_there_learn(session_node(sink->session), shard,
									   writer->slot->tts_tupleDescriptor, &sink->unlike);
	if (sink->filtered && shard->is_copied)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" of server \"%s\" has triggers that may keep rows out",
						shard->name, session_node(sink->session)->name),
				 errdetail("Its rows are on several servers, which may not agree."),
				 errhint("Use COPY.")));
	nodes->sinks = lappend(nodes->sinks, sink);
	nodes->buffer_bytes = Max(LEAST_BYTES,
							  Min(MOST_BYTES, ALL_BYTES / list_length(nodes->sinks)));
	shard->sink = sink;
	MemoryContextSwitchTo(old);
	return sink;
}

static Sink *
sink_of(Writer *writer, Shard *shard)
{
	Sink	   *sink = shard->sink;

	if (unlikely(sink == NULL))
		sink = open_sink(writer, shard);
	if (unlikely(!sink->ready))
		prepare_sink(writer->nodes, sink);
	return sink;
}

/* ---- what is done with all tables ---- */

/* Also those that will get no rows. */
static void
open_all(Writer *writer)
{
	NodesWriter *nodes = writer->nodes;
	ListCell   *lc;

	foreach(lc, nodes->placement->routine->list(nodes->placement))
		(void) open_sink(writer, lfirst(lc));
	nodes->all_open = true;
}

/* Those of a server at once, as some may refer to others. */
static void
truncate_all(const NodesWriter *nodes)
{
	ListCell   *lc;

	foreach(lc, sessions_list(nodes->sessions))
	{
		Session    *session = lfirst(lc);
		StringInfoData sql;
		ListCell   *cell;

		initStringInfo(&sql);
		foreach(cell, nodes->sinks)
		{
			const Sink *sink = lfirst(cell);

			if (sink->session == session)
				appendStringInfo(&sql, "%s%s", sql.len == 0 ? "TRUNCATE " : ", ",
								 table_there_name(sink->shard));
		}
		PQclear(node_query(session_node(session), sql.data));
	}
}

static void
analyze_all(const NodesWriter *nodes)
{
	ListCell   *lc;

	foreach(lc, nodes->sinks)
	{
		const Sink *sink = lfirst(lc);

		if (sink->as_is_rows + sink->formed_rows > 0)
			PQclear(node_query(session_node(sink->session),
							   psprintf("ANALYZE %s", table_there_name(sink->shard))));
	}
}

/* What is deferred to the commit is checked, and then all is undone. */
static void
undo_all(const NodesWriter *nodes)
{
	ListCell   *lc;

	foreach(lc, sessions_list(nodes->sessions))
		PQclear(node_query(session_node(lfirst(lc)), "SET CONSTRAINTS ALL IMMEDIATE"));
	two_phase_roll_back();
}

/* ---- rows ---- */

/* Whether it is the one whose COPY goes on until the end of the input. */
static bool
goes_first(const NodesWriter *nodes, Sink *sink)
{
	ListCell   *lc;

	foreach(lc, nodes->sinks)
	{
		const Sink *other = lfirst(lc);

		if (other->is_first && other->session == sink->session)
			return other == sink;
	}
	sink->is_first = true;
	return true;
}

static void
keep_waiting(NodesWriter *nodes, Sink *sink, RowBuffer *buffer)
{
	if (sink->waiting == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

		sink->waiting = BufFileCreateTemp(false);
		MemoryContextSwitchTo(old);
	}
	row_buffer_write(buffer, sink->waiting);
}

static void
send_buffer(NodesWriter *nodes, Sink *sink)
{
	RowBuffer  *buffer = sink->buffer;

	sink->buffer = NULL;
	if (buffer == NULL)
		return;
	/* what is wrong with others is not the row's fault */
	guard_close(nodes->guard);
	row_buffer_cut(buffer);
	if (buffer->nrows == 0)
		row_buffer_free(buffer);
	else if (nodes->whole && !goes_first(nodes, sink))
		keep_waiting(nodes, sink, buffer);
	else
		session_send(sink->session, buffer);
}

/* The first table of a session that has rows waiting; NULL: there is none. */
static Sink *
find_waiting(const NodesWriter *nodes, const Session *session)
{
	ListCell   *lc;

	foreach(lc, nodes->sinks)
		if (((Sink *) lfirst(lc))->session == session && ((Sink *) lfirst(lc))->waiting != NULL)
			return lfirst(lc);
	return NULL;
}

/* Sends a buffer of a table; false: that was the last. */
static bool
send_waiting(NodesWriter *nodes, Sink *sink)
{
	RowBuffer  *buffer = session_read_buffer(nodes->sessions, sink->waiting);

	if (buffer == NULL)
	{
		BufFileClose(sink->waiting);
		sink->waiting = NULL;
		return false;
	}
	session_send(sink->session, buffer);
	return true;
}

/* The rows that wait, table by table, to all servers at a time. */
static void
send_all_waiting(NodesWriter *nodes)
{
	ListCell   *lc;
	bool		any;

	foreach(lc, nodes->sinks)
	{
		const Sink *sink = lfirst(lc);

		if (sink->waiting != NULL)
			row_buffer_rewind(sink->waiting);
	}
	do
	{
		any = false;
		foreach(lc, sessions_list(nodes->sessions))
		{
			Sink	   *sink = find_waiting(nodes, lfirst(lc));

			while (sink != NULL && !send_waiting(nodes, sink))
				sink = find_waiting(nodes, lfirst(lc));
			any |= sink != NULL;
		}
	} while (any);
}

/* The line ends within a row, each of which COPY of csv counts as a line. */
static int64
inner_lines(const NodesWriter *nodes, const Reader *reader, const ScanRow *row)
{
	int64		lines = 0;

	if (row->multiline && nodes->conv->options->format == BULK_CSV)
		for (uint32 i = row->start; i < row->end; i++)
			lines += reader->data[i] == '\n';
	return lines;
}

/* Adds a row to a shard's buffer. */
static void
add_row(NodesWriter *nodes, Sink *sink, const Reader *reader, uint32 number, TupleTableSlot *slot)
{
	const ScanRow *row = &reader->rows[number];
	RowBuffer  *buffer = sink->buffer;
	JournalPlace place;

	row_buffer_cut(buffer);
	if (sink->as_is)
		row_copy_put_as_is(nodes->copy, reader->data + row->start, row->end - row->start, slot,
						   &buffer->data);
	else
		row_copy_put_formed(nodes->copy, sink->shard, slot, &buffer->data);
	journal_locate(nodes->journal, number, &place);
	row_buffer_note(buffer, &place, sink->as_is ? inner_lines(nodes, reader, row) : 0);
}

/* Sends a row of the batch; the slot has all values that are not sent as they are. */
static void
put_row(NodesWriter *nodes, Sink *sink, uint32 number, TupleTableSlot *slot)
{
	const Reader *reader = nodes->journal->reader;
	const ScanRow *row = &reader->rows[number];

	/* a large one does not share its buffer with others */
	if (row->end - row->start > nodes->buffer_bytes)
		send_buffer(nodes, sink);
	if (sink->buffer == NULL)
	{
		sink->buffer = session_buffer(nodes->sessions, sink->statement, nodes->buffer_bytes);
		sink->buffer->filtered = sink->filtered;
		sink->buffer->sender = sink;
	}
	add_row(nodes, sink, reader, number, slot);
	if (sink->as_is)
		sink->as_is_rows++;
	else
		sink->formed_rows++;
	/* the space doubles where it does not suffice */
	if (sink->buffer->data.len >= nodes->buffer_bytes - nodes->buffer_bytes / 16)
		send_buffer(nodes, sink);
}

static WriterVerdict
nodes_put(Writer *writer, uint32 number, RowError *err)
{
	NodesWriter *nodes = writer->nodes;
	Shard	   *shard;

	writer->current_row = number;
	if (!nodes->placement->routine->find(nodes->placement, writer->slot, &shard, err))
		return WRITER_BAD;
	if (shard == NULL)
		return nodes->local->put(writer, number, err);
	for (Shard *copy = shard; copy != NULL; copy = copy->copy)
		put_row(nodes, sink_of(writer, copy), number, writer->slot);
	/* that a value is NULL which is sent as it is, the node will tell */
	if (((Sink *) shard->sink)->as_is)
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
		row->end <= conv->valid && !(row->multiline && conv->guard->enabled);
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
	ExecClearTuple(slot);
	old = MemoryContextSwitchTo(conv->econtext->ecxt_per_tuple_memory);
	memset(slot->tts_isnull, true, sizeof(bool) * conv->natts);
	for (int i = 0; i < nodes->nkeys && ok; i++)
	{
		int			key = nodes->keys[i];
		AttrNumber	attnum = conv->columns[key].attnum;

		ok = convert_field(conv, key, data, &fields[row->first_field + key],
						   &slot->tts_values[attnum - 1], &slot->tts_isnull[attnum - 1], err);
	}
	MemoryContextSwitchTo(old);
	if (ok)
		ExecStoreVirtualTuple(slot);
	return ok;
}

/* Whether all tables that get rows of the shard get them as they are. */
static bool
are_as_is(Writer *writer, Shard *shard)
{
	for (; shard != NULL; shard = shard->copy)
		if (!sink_of(writer, shard)->as_is)
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
		shard == NULL || !are_as_is(writer, shard))
		return false;
	if (conv->ndefaults > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(conv->econtext->ecxt_per_tuple_memory);

		convert_defaults(conv, writer->slot->tts_values, writer->slot->tts_isnull);
		MemoryContextSwitchTo(old);
	}
	for (; shard != NULL; shard = shard->copy)
		put_row(nodes, shard->sink, number, writer->slot);
	return true;
}

static uint32
nodes_put_rows(Writer *writer, const char *data, const ScanRow *rows,
			   const ScanField *fields, uint32 first, uint32 n)
{
	uint32		taken = 0;

	n = Min(n, ROWS_AT_A_TIME);
	for (; taken < n; taken++)
	{
		writer->current_row = first + taken;
		if (!put_as_is(writer, data, &rows[first + taken], fields, first + taken))
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

/* Buffers have rows of one file, with its columns. */
static void
end_file(NodesWriter *nodes)
{
	ListCell   *lc;

	foreach(lc, nodes->sinks)
	{
		send_buffer(nodes, lfirst(lc));
		((Sink *) lfirst(lc))->ready = false;
	}
}

static bool
nodes_open_columns(Writer *writer, Converter *conv)
{
	NodesWriter *nodes = writer->nodes;

	end_file(nodes);
	nodes->conv = conv;
	nodes->copy = row_copy_open(conv->target->rel, conv, &nodes->formed_reason);
	return find_keys(nodes, conv) && nodes->formed_reason == NULL;
}

/* ---- the end ---- */

static void
nodes_flush(Writer *writer)
{
	writer->nodes->local->flush(writer);
}

static void
nodes_finish(Writer *writer)
{
	NodesWriter *nodes = writer->nodes;

	nodes->local->finish(writer);
	end_file(nodes);
	send_all_waiting(nodes);
	sessions_finish(nodes->sessions);
	if (nodes->aside != NULL)
		aside_reject(nodes->aside);
	if (nodes->options->dry_run)
		undo_all(nodes);
	else if (nodes->options->analyze)
		analyze_all(nodes);
}

static void
nodes_close(Writer *writer)
{
	NodesWriter *nodes = writer->nodes;

	sessions_rest(nodes->sessions);
	nodes->placement->routine->close(nodes->placement);
	nodes->local->close(writer);
}

static RefusalReason
nodes_share_refusal(Writer *writer)
{
	return REFUSAL_NODES_WORKERS;
}

/* Rows that are set aside would be told of by all servers that got them. */
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
	.share_refusal = nodes_share_refusal,
	.open_columns = nodes_open_columns
};

Writer *
nodes_open(Target *target, const BulkOptions *options, Guard *guard, Checks *checks)
{
	Writer	   *writer = buffered_open(target, options, guard, checks);
	ResultRelInfo *root = linitial(writer->estate->es_opened_result_relations);
	NodesWriter *nodes = palloc0(sizeof(NodesWriter));
	BulkRelay	relay = row_copy_relay(options);
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
	nodes->placement = target->sent ? citus_open(root, writer->estate) :
		foreign_open(root, writer->estate, guard);
	nodes->whole = options->on_duplicate == BULK_ON_DUPLICATE_KEEP_NEW;
	nodes->sessions = sessions_open(&listener, relay, nodes->whole);
	if (relay != BULK_RELAY_OFF)
		nodes->aside = aside_open(writer);
	check_copies(nodes, target);
	if (nodes->placement->routine->begin != NULL)
		nodes->placement->routine->begin(nodes->placement, nodes->sessions);
	nodes->journal = checks_journal(checks);
	nodes->buffer_bytes = MOST_BYTES;
	writer->nodes = nodes;
	writer->routine = &nodes_routine;
	writer->plain = false;
	MyXactFlags |= XACT_FLAGS_NEEDIMMEDIATECOMMIT;
	if (options->truncate || nodes->whole)
		open_all(writer);
	if (options->truncate)
		truncate_all(nodes);
	return writer;
}

/* ---- the report ---- */

static void
push_table(CompatJsonb *state, const Sink *sink)
{
	compat_push_jsonb(state, WJB_BEGIN_OBJECT, NULL);
	jsonb_push_string(state, "server", session_node(sink->session)->name);
	jsonb_push_string(state, "table", psprintf("%s.%s", sink->shard->schema, sink->shard->name));
	jsonb_push_int64(state, "rows", sink->as_is_rows + sink->formed_rows);
	jsonb_push_string(state, "sent", sink->formed_rows == 0 ? "as they are" : "formed anew");
	if (sink->formed_rows > 0)
		jsonb_push_string(state, "reason", sink->formed_reason);
	jsonb_push_string(state, "pgbulk", session_pgbulk(sink->session));
	compat_push_jsonb(state, WJB_END_OBJECT, NULL);
}

Jsonb *
nodes_report(Writer *writer)
{
	CompatJsonb state;
	JsonbValue *array;
	ListCell   *lc;

	if (writer->nodes == NULL)
		return NULL;
	memset(&state, 0, sizeof(state));
	compat_push_jsonb(&state, WJB_BEGIN_ARRAY, NULL);
	foreach(lc, writer->nodes->sinks)
		push_table(&state, lfirst(lc));
	array = compat_push_jsonb(&state, WJB_END_ARRAY, NULL);
	return JsonbValueToJsonb(array);
}
