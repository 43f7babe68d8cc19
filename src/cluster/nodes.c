/*
 * nodes.c
 *		See nodes.h.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "cluster/nodes.h"
#include "cluster/placement.h"
#include "cluster/row_copy.h"
#include "cluster/session.h"
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
	RowBuffer  *buffer;			/* NULL: no rows wait */
	int64		as_is_rows;
	int64		formed_rows;
	const char *formed_reason;
} Sink;

struct NodesWriter
{
	const WriterRoutine *local; /* for rows that are here */
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
		{options->on_error != BULK_ON_ERROR_STOP, "on_error"},
		{options->on_duplicate != BULK_ON_DUPLICATE_ERROR, "on_duplicate"},
		{options->indexes != BULK_INDEXES_AUTO, "indexes"},
		{options->writer == BULK_WRITER_DIRECT, "writer"},
		{options->truncate, "truncate"},
		{options->freeze, "freeze"},
		{options->analyze, "analyze"},
		{options->dry_run, "dry_run"}
	};

	for (int i = 0; i < lengthof(unserved); i++)
		if (unserved[i].is_set)
			return unserved[i].name;
	return NULL;
}

bool
nodes_serve(Relation rel, const BulkOptions *options, bool by_file, Refusal *refusal)
{
	const char *option = unserved_option(options);

	*refusal = REFUSAL(REFUSAL_NONE);
	if (!foreign_has(rel))
		return false;
	if (IsInTransactionBlock(true) || two_phase_is_begun())
		*refusal = REFUSAL(REFUSAL_NODES_TRANSACTION);
	else if (option != NULL)
		*refusal = REFUSAL_NAMING(REFUSAL_NODES_OPTION, option);
	else if (!by_file)
		*refusal = REFUSAL(REFUSAL_NODES_RETRY);
	else if (rel->trigdesc != NULL && rel->trigdesc->trig_insert_new_table)
		*refusal = REFUSAL(REFUSAL_NODES_TRANSITION);
	return !refusal_is_any(refusal);
}

void
nodes_check(Relation rel, const Refusal *refusal)
{
	if (refusal_is_any(refusal) && rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		refusal_raise_foreign(refusal, RelationGetRelationName(rel), false);
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
	JournalPlace place = {.file = file};

	for (int64 i = 0; i < rows; i++)
		writer->late.count_other(writer->late.arg, &place, false);
}

/*
 * What a COPY into the table there has to know: its columns and their types, its
 * kind, and whether it has rules for INSERT and triggers that see each row first.
 */
static const char describe_sql[] =
	"SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), c.relkind,"
	" EXISTS (SELECT FROM pg_catalog.pg_rewrite r"
	" WHERE r.ev_class OPERATOR(pg_catalog.=) c.oid AND r.ev_type OPERATOR(pg_catalog.=) '3'),"
	" EXISTS (SELECT FROM pg_catalog.pg_trigger t"
	" WHERE t.tgrelid OPERATOR(pg_catalog.=) c.oid AND (t.tgtype"
	" OPERATOR(pg_catalog.&) 7::pg_catalog.int2) OPERATOR(pg_catalog.=) 7::pg_catalog.int2)"
	" FROM pg_catalog.pg_class c"
	" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
	" JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.oid"
	" WHERE n.nspname OPERATOR(pg_catalog.=) %s AND c.relname OPERATOR(pg_catalog.=) %s"
	" AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped";

static PGresult *
describe(RemoteNode *node, const Shard *shard)
{
	return node_query(node, psprintf(describe_sql, quote_literal_cstr(shard->schema),
									 quote_literal_cstr(shard->name)));
}

static int
find_row(const PGresult *rows, const char *name)
{
	for (int i = 0; i < PQntuples(rows); i++)
		if (strcmp(PQgetvalue(rows, i, 0), name) == 0)
			return i;
	return -1;
}

/* Whether all columns are of the same types there, so that their texts mean the same. */
static const char *
compare_types(TupleDesc desc, const Shard *shard, const PGresult *rows)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		int			row;

		if (shard->columns[i] == NULL)
			continue;
		row = find_row(rows, shard->columns[i]);
		if (row < 0 || strcmp(PQgetvalue(rows, row, 1),
							  format_type_with_typemod(att->atttypid, att->atttypmod)) != 0)
			return "A column has another type there.";
	}
	return NULL;
}

/* Amounts mean what the setting says. */
static bool
has_money(TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Oid			type = TupleDescAttr(desc, i)->atttypid;

		if (!TupleDescAttr(desc, i)->attisdropped && (type == MONEYOID || type == MONEYARRAYOID))
			return true;
	}
	return false;
}

/* What of the table there matters: whether it keeps rows out, and which types it has. */
static void
learn_table(Writer *writer, Sink *sink)
{
	RemoteNode	   *node = session_node(sink->session);
	TupleDesc	desc = writer->slot->tts_tupleDescriptor;
	PGresult   *rows;
	bool		exists;
	bool		has_rules;

	/* it may be in the middle of a COPY into another table */
	session_await_idle(sink->session);
	if (has_money(desc))
		session_pass_setting(node, "lc_monetary");
	rows = describe(node, sink->shard);
	exists = PQntuples(rows) > 0;
	has_rules = exists && PQgetvalue(rows, 0, 3)[0] == 't';
	sink->filtered = exists && (PQgetvalue(rows, 0, 2)[0] != RELKIND_RELATION ||
								PQgetvalue(rows, 0, 4)[0] == 't');
	sink->unlike = compare_types(desc, sink->shard, rows);
	PQclear(rows);
	if (has_rules)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" of server \"%s\" has rules, which COPY ignores",
						sink->shard->name, node->name),
				 errhint("Use INSERT, or triggers in place of the rules.")));
}

/* Its statement for the current file's columns. */
static void
prepare_sink(NodesWriter *nodes, Sink *sink)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	const char *reason = nodes->formed_reason != NULL ? nodes->formed_reason : sink->unlike;

	if (reason == NULL && !row_copy_covers(nodes->copy, sink->shard))
		reason = "A column of the file is generated there.";
	sink->as_is = reason == NULL;
	if (reason != NULL)
		sink->formed_reason = reason;
	sink->statement = row_copy_statement(nodes->copy, sink->shard, sink->as_is);
	MemoryContextSwitchTo(old);
}

/* The shard's first row has come. */
static Sink *
open_sink(Writer *writer, Shard *shard)
{
	NodesWriter *nodes = writer->nodes;
	MemoryContext old = MemoryContextSwitchTo(writer->estate->es_query_cxt);
	Sink	   *sink = palloc0(sizeof(Sink));

	sink->shard = shard;
	sink->session = sessions_get(nodes->sessions, shard->serverid);
	learn_table(writer, sink);
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
	if (unlikely(sink->statement == NULL))
		prepare_sink(writer->nodes, sink);
	return sink;
}

/* ---- rows ---- */

static void
send_buffer(Sink *sink)
{
	RowBuffer  *buffer = sink->buffer;

	sink->buffer = NULL;
	if (buffer != NULL)
		session_send(sink->session, buffer);
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

	if (sink->as_is)
		row_copy_put_as_is(nodes->copy, reader->data + row->start, row->end - row->start, slot,
						   &buffer->data);
	else
		row_copy_put_formed(nodes->copy, sink->shard, slot, &buffer->data);
	session_note_row(buffer, reader->source->current, reader_line(reader, number),
					 sink->as_is ? inner_lines(nodes, reader, row) : 0);
}

/* Sends a row of the batch; the slot has all values that are not sent as they are. */
static void
put_row(NodesWriter *nodes, Sink *sink, uint32 number, TupleTableSlot *slot)
{
	const Reader *reader = nodes->journal->reader;
	const ScanRow *row = &reader->rows[number];

	/* a large one does not share its buffer with others */
	if (row->end - row->start > nodes->buffer_bytes)
		send_buffer(sink);
	if (sink->buffer == NULL)
	{
		sink->buffer = session_buffer(nodes->sessions, sink->statement, nodes->buffer_bytes);
		sink->buffer->filtered = sink->filtered;
	}
	add_row(nodes, sink, reader, number, slot);
	if (sink->as_is)
		sink->as_is_rows++;
	else
		sink->formed_rows++;
	/* the space doubles where it does not suffice */
	if (sink->buffer->data.len >= nodes->buffer_bytes - nodes->buffer_bytes / 16)
		send_buffer(sink);
}

static WriterVerdict
nodes_put(Writer *writer, uint32 number, RowError *err)
{
	NodesWriter *nodes = writer->nodes;
	Shard	   *shard;

	writer->current_row = number;
	shard = nodes->placement->routine->find(nodes->placement, writer->slot);
	if (shard == NULL)
		return nodes->local->put(writer, number, err);
	put_row(nodes, sink_of(writer, shard), number, writer->slot);
	return WRITER_TAKEN;
}

/* Whether the row has what COPY wants, as far as that is seen without its values. */
static inline bool
is_whole(const Converter *conv, const ScanRow *row)
{
	return row->fault == SCAN_FAULT_NONE && row->nfields == conv->ncolumns &&
		row->end <= conv->valid;
}

/* The columns of the key, and those that the file does not have, to the slot. */
static void
convert_key(Writer *writer, const char *data, const ScanRow *row, const ScanField *fields)
{
	NodesWriter *nodes = writer->nodes;
	Converter  *conv = nodes->conv;
	TupleTableSlot *slot = writer->slot;
	MemoryContext old;

	ResetPerTupleExprContext(writer->estate);
	convert_next(conv);
	ExecClearTuple(slot);
	old = MemoryContextSwitchTo(conv->econtext->ecxt_per_tuple_memory);
	memset(slot->tts_isnull, true, sizeof(bool) * conv->natts);
	for (int i = 0; i < nodes->nkeys; i++)
	{
		int			key = nodes->keys[i];
		AttrNumber	attnum = conv->columns[key].attnum;

		(void) convert_field(conv, key, data, &fields[row->first_field + key],
							 &slot->tts_values[attnum - 1], &slot->tts_isnull[attnum - 1], NULL);
	}
	MemoryContextSwitchTo(old);
	ExecStoreVirtualTuple(slot);
}

/* Sends a row of the batch as it is; false: it is for put. */
static bool
put_as_is(Writer *writer, const char *data, const ScanRow *row, const ScanField *fields,
		  uint32 number)
{
	NodesWriter *nodes = writer->nodes;
	Converter  *conv = nodes->conv;
	Shard	   *shard;
	Sink	   *sink;

	if (!is_whole(conv, row))
		return false;
	convert_key(writer, data, row, fields);
	shard = nodes->placement->routine->find(nodes->placement, writer->slot);
	if (shard == NULL)
		return false;
	sink = sink_of(writer, shard);
	if (!sink->as_is)
		return false;
	if (conv->ndefaults > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(conv->econtext->ecxt_per_tuple_memory);

		convert_defaults(conv, writer->slot->tts_values, writer->slot->tts_isnull);
		MemoryContextSwitchTo(old);
	}
	put_row(nodes, sink, number, writer->slot);
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
		send_buffer(lfirst(lc));
		((Sink *) lfirst(lc))->statement = NULL;
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
	sessions_finish(nodes->sessions);
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
	NodesWriter *nodes = palloc0(sizeof(NodesWriter));

	nodes->local = writer->routine;
	nodes->placement = foreign_open(linitial(writer->estate->es_opened_result_relations),
									writer->estate, guard);
	nodes->sessions = sessions_open(locate, count_filtered, writer);
	nodes->journal = checks_journal(checks);
	nodes->buffer_bytes = MOST_BYTES;
	writer->nodes = nodes;
	writer->routine = &nodes_routine;
	writer->plain = false;
	MyXactFlags |= XACT_FLAGS_NEEDIMMEDIATECOMMIT;
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
