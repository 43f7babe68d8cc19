/*
 * handover.c
 *		See handover.h.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "row/constraints.h"
#include "row/tuple.h"
#include "server/compat.h"
#include "utils/memutils.h"
#include "write/arbiter_batch_serves.h"
#include "write/handover.h"
#include "write/partitions.h"

/* Bytes of rows that wait: as a rule those of a chunk are far less. */
#define HELD_MAX (16 * 1024 * 1024)

#define HELD_BLOCK (256 * 1024)
#define FIRST_ROWS 4096

/* Bytes of a message, unless one row has more: COPY's measure for a batch. */
#define MESSAGE_BYTES (64 * 1024)

typedef struct MessageHeader
{
	uint32		nrows;
	int			file;
	int64		offset;			/* of the first row */
	int64		line;
	uint64		shows;			/* whether rows have their bytes */
} MessageHeader;

/* Before each tuple; the row's place is relative to the first one's. */
typedef struct HandedRow
{
	uint32		size;			/* of the tuple */
	uint32		length;			/* of the row in the file */
	uint32		end_length;
	uint32		offset;
	uint32		line;
	uint32		leaf;
} HandedRow;

StaticAssertDecl(sizeof(MessageHeader) % MAXIMUM_ALIGNOF == 0, "tuples must be aligned");
StaticAssertDecl(sizeof(HandedRow) % MAXIMUM_ALIGNOF == 0, "tuples must be aligned");

/* ---- rows that wait ---- */

void
held_init(HeldRows *held, MemoryContext context, const Journal *journal, bool shows)
{
	memset(held, 0, sizeof(*held));
	held->context = context;
	held->journal = journal;
	held->shows = shows;
	arena_init(&held->arena, context, HELD_BLOCK);
}

/* In a message; raw: bytes of the row, or 0. */
static inline Size
handed_size(Size tuple, Size raw)
{
	return sizeof(HandedRow) + MAXALIGN(tuple) + MAXALIGN(raw);
}

static inline Size
held_size(const HeldRow *row)
{
	return handed_size(row->tuple->t_len, row->raw == NULL ? 0 : row->place.length);
}

/* The bytes of a row in the reader's batch. */
static const char *
copy_raw(HeldRows *held, uint32 number, Size length)
{
	const Reader *reader = held->journal->reader;
	char	   *raw = arena_alloc(&held->arena, length);

	memcpy(raw, reader->data + reader->rows[number].start, length);
	return raw;
}

bool
held_put(HeldRows *held, uint32 leaf, HeapTuple tuple, uint32 number)
{
	HeldRow    *row;
	JournalPlace place;
	Size		size;

	journal_locate(held->journal, number, &place);
	size = handed_size(tuple->t_len, held->shows ? place.length : 0);
	if (sizeof(MessageHeader) + size > ROW_CHANNEL_MAX || held->bytes + size > HELD_MAX)
		return false;
	if (held->nrows == held->capacity)
	{
		held->capacity = Max(2 * held->capacity, FIRST_ROWS);
		held->rows = held->rows == NULL ?
			MemoryContextAlloc(held->context, held->capacity * sizeof(HeldRow)) :
			repalloc_huge(held->rows, held->capacity * sizeof(HeldRow));
	}
	row = &held->rows[held->nrows++];
	row->tuple = tuple;
	row->leaf = leaf;
	row->place = place;
	row->raw = held->shows ? copy_raw(held, number, place.length) : NULL;
	held->bytes += size;
	return true;
}

uint32
held_form_rows(HeldRows *held, RowFormer *former, const char *data, const ScanRow *rows,
			   const ScanField *fields, uint32 first, uint32 n)
{
	HeapTuple	tuples[WRITER_ROWS];

	n = form_rows(former, data, rows + first, Min(n, WRITER_ROWS), fields, &held->arena, tuples);
	for (uint32 i = 0; i < n; i++)
	{
		/* put says so of it */
		if (!held_put(held, 0, tuples[i], first + i))
			return i;
	}
	return n;
}

void
held_reset(HeldRows *held)
{
	held->nrows = 0;
	held->bytes = 0;
	arena_reset(&held->arena);
}

/* ---- messages ---- */

static char *
put_row(char *to, const HeldRow *row, const JournalPlace *base)
{
	HeapTuple	tuple = row->tuple;

	*(HandedRow *) to = (HandedRow) {
		.size = tuple->t_len,
		.length = row->place.length,
		.end_length = row->place.end_length,
		.offset = row->place.offset - base->offset,
		.line = row->place.line - base->line,
		.leaf = row->leaf
	};
	memcpy(to + sizeof(HandedRow), tuple->t_data, tuple->t_len);
	if (row->raw != NULL)
		memcpy(to + handed_size(tuple->t_len, 0), row->raw, row->place.length);
	return to + held_size(row);
}

void
held_send(const HeldRows *held, const RowChannel *channel)
{
	uint32		next;

	for (uint32 first = 0; first < held->nrows; first = next)
	{
		const JournalPlace *base = &held->rows[first].place;
		Size		size = sizeof(MessageHeader) + held_size(&held->rows[first]);
		char	   *to;

		for (next = first + 1; next < held->nrows; next++)
		{
			Size		more = held_size(&held->rows[next]);

			if (size + more > MESSAGE_BYTES)
				break;
			size += more;
		}
		to = channel->place(channel->arg, size);
		*(MessageHeader *) to = (MessageHeader) {
			.nrows = next - first,
			.file = base->file,
			.offset = base->offset,
			.line = base->line,
			.shows = held->shows
		};
		to += sizeof(MessageHeader);
		for (uint32 i = first; i < next; i++)
			to = put_row(to, &held->rows[i], base);
		channel->send(channel->arg);
	}
}

void
handed_begin(HandedRows *rows, const char *message)
{
	const MessageHeader *header = (const MessageHeader *) message;

	rows->next = message + sizeof(MessageHeader);
	rows->nrows = header->nrows;
	rows->shows = header->shows;
	rows->base = (JournalPlace) {
		.file = header->file,
		.offset = header->offset,
		.line = header->line
	};
}

bool
handed_next(HandedRows *rows, HeapTuple tuple, HeldRow *held)
{
	const HandedRow *row = (const HandedRow *) rows->next;
	JournalPlace *place = &held->place;

	if (rows->nrows == 0)
		return false;
	rows->nrows--;
	tuple->t_len = row->size;
	ItemPointerSetInvalid(&tuple->t_self);
	tuple->t_tableOid = InvalidOid;
	tuple->t_data = (HeapTupleHeader) (row + 1);
	place->file = rows->base.file;
	place->length = row->length;
	place->end_length = row->end_length;
	place->offset = rows->base.offset + row->offset;
	place->line = rows->base.line + row->line;
	held->tuple = tuple;
	held->leaf = row->leaf;
	held->raw = rows->shows ? rows->next + handed_size(row->size, 0) : NULL;
	rows->next += held_size(held);
	return true;
}

HeapTuple
handed_copy(HeapTuple tuple, Arena *arena)
{
	Size		header = MAXALIGN(sizeof(HeapTupleData));
	char	   *to = arena_alloc(arena, header + tuple->t_len);
	HeapTuple	copy = (HeapTuple) to;

	*copy = *tuple;
	copy->t_data = (HeapTupleHeader) (to + header);
	memcpy(copy->t_data, tuple->t_data, tuple->t_len);
	return copy;
}

/* ---- the writer of a worker ---- */

/* A table that rows are formed for: the target, or a partition. */
typedef struct HandoverLeaf
{
	ResultRelInfo *rri;
	Constraints *constraints;	/* NULL: none */
	TupleFormer *former;
	TupleConversionMap *map;	/* from the target's form, or NULL */
	bool		bounds;			/* those of a partition are to be checked */
	int			number;			/* in HandoverShared, or -1: not there */
} HandoverLeaf;

typedef struct HandoverWriter
{
	Writer		base;
	Guard	   *guard;
	ResultRelInfo *root;
	Partitions *partitions;		/* NULL: not partitioned */
	HandoverLeaf *leaf;			/* the only one, if not */
	const HandoverShared *shared;
	HeldRows	held;
} HandoverWriter;

static HandoverLeaf *
open_leaf(HandoverWriter *writer, ResultRelInfo *rri)
{
	EState	   *estate = writer->base.estate;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Relation	rel = rri->ri_RelationDesc;
	TupleDesc	desc = RelationGetDescr(rel);
	HandoverLeaf *leaf = palloc0(sizeof(HandoverLeaf));

	leaf->rri = rri;
	leaf->constraints = constraints_open(rri, estate);
	leaf->former = tuple_former(desc);
	MemoryContextSwitchTo(old);
	return leaf;
}

/* A partition has its first row from this process. */
static void *
open_partition(void *arg, ResultRelInfo *rri)
{
	HandoverWriter *writer = arg;
	HandoverLeaf *leaf;
	int			number = writer->shared->nleaves - 1;

	partitions_close_indexes(rri);
	while (number >= 0 &&
		   writer->shared->leaves[number] != RelationGetRelid(rri->ri_RelationDesc))
		number--;
	/* it may not be a table at all */
	leaf = number < 0 ? MemoryContextAllocZero(writer->base.estate->es_query_cxt,
											   sizeof(HandoverLeaf)) : open_leaf(writer, rri);
	leaf->number = number;
	if (number >= 0)
		leaf->map = compat_root_to_child_map(rri, writer->base.estate);
	return leaf;
}

static WriterVerdict
handover_put(Writer *base, uint32 number, RowError *err)
{
	HandoverWriter *writer = (HandoverWriter *) base;
	TupleTableSlot *slot = base->slot;
	HandoverLeaf *leaf = writer->leaf;
	HeapTuple	tuple;

	base->current_row = number;
	if (writer->partitions != NULL)
	{
		leaf = partitions_find(writer->partitions, slot, err);
		if (leaf == NULL)
			return WRITER_BAD;
		if (leaf->number < 0)
			return WRITER_LEFT;
		slot = partitions_map(leaf->rri, leaf->map, slot);
	}
	if (!constraints_complete(leaf->rri, leaf->constraints, leaf->bounds, slot,
							  base->estate, writer->guard, err))
		return WRITER_BAD;
	/* a slot that was materialized has its values in the tuple alone */
	slot_getallattrs(slot);
	tuple = tuple_form(leaf->former, slot->tts_values, slot->tts_isnull, &writer->held.arena);
	return held_put(&writer->held, leaf->number, tuple, number) ? WRITER_TAKEN : WRITER_LEFT;
}

static uint32
handover_put_rows(Writer *base, const char *data, const ScanRow *rows,
				  const ScanField *fields, uint32 first, uint32 n)
{
	return held_form_rows(&((HandoverWriter *) base)->held, base->former, data, rows, fields,
						  first, n);
}

/* Rows wait on: they do not point into the window. */
static void
handover_flush(Writer *base)
{
	base->current_row = -1;
}

static void
handover_close(Writer *base)
{
	HandoverWriter *writer = (HandoverWriter *) base;
	EState	   *estate = base->estate;

	ExecDropSingleTupleTableSlot(base->slot);
	ExecResetTupleTable(estate->es_tupleTable, false);
	if (writer->partitions != NULL)
		partitions_close(writer->partitions);
	ExecCloseResultRelations(estate);
	ExecCloseRangeTableRelations(estate);
	FreeExecutorState(estate);
}

static void
handover_begin_parallel(Writer *base, int processes, bool (*await_turn) (void *arg), void *arg)
{
}

static void
handover_end_parallel(Writer *base)
{
}

static bool
handover_reserve(Writer *base)
{
	return true;
}

static void
handover_hand_over(Writer *base, const RowChannel *channel)
{
	HandoverWriter *writer = (HandoverWriter *) base;

	held_send(&writer->held, channel);
	held_reset(&writer->held);
}

static void
handover_write(Writer *base)
{
}

static bool
handover_writes_in_turn(Writer *base)
{
	return false;
}

static void
handover_discard(Writer *base)
{
	held_reset(&((HandoverWriter *) base)->held);
}

static const WriterRoutine handover_routine = {
	.name = "buffered",
	.put = handover_put,
	.put_rows = handover_put_rows,
	.flush = handover_flush,
	.close = handover_close,
	.begin_parallel = handover_begin_parallel,
	.end_parallel = handover_end_parallel,
	.reserve = handover_reserve,
	.hand_over = handover_hand_over,
	.write = handover_write,
	.writes_in_turn = handover_writes_in_turn,
	.discard = handover_discard
};

Writer *
handover_join(Target *target, const HandoverShared *shared, const BulkOptions *options,
			  Guard *guard, Checks *checks)
{
	HandoverWriter *writer = palloc0(sizeof(HandoverWriter));
	EState	   *estate = CreateExecutorState();

	writer->base.routine = &handover_routine;
	writer->base.estate = estate;
	writer->base.current_row = -1;
	writer->base.slot = MakeSingleTupleTableSlot(RelationGetDescr(target->rel), &TTSOpsVirtual);
	writer->guard = guard;
	writer->shared = shared;
	compat_init_range_table(estate, target->pstate);
	writer->root = makeNode(ResultRelInfo);
	ExecInitResultRelation(estate, writer->root, 1);

	if (target->rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		writer->partitions = partitions_open(estate, writer->root, NULL, guard, open_partition,
											 writer);
	else
	{
		writer->leaf = open_leaf(writer, writer->root);
		writer->leaf->bounds = target->rel->rd_rel->relispartition;
		writer->base.plain = !writer->leaf->bounds &&
			constraints_need_no_guard(writer->leaf->constraints);
		writer->base.constraints = writer->leaf->constraints;
	}
	held_init(&writer->held, CurrentMemoryContext, checks_journal(checks),
			  arbiter_batch_shows(options));
	return &writer->base;
}
