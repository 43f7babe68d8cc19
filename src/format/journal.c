/*
 * journal.c
 *		See journal.h.
 *
 * A row is encoded as a number: twice its length if it begins where the
 * previous one ended, on the next line, and has a line end of the same length;
 * else that plus one, followed by what differs.  Numbers are those of varbyte.h.
 */
#include "postgres.h"

#include "format/journal.h"
#include "format/varbyte.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Bytes that a row may take: five numbers. */
#define MAX_CODE_SIZE (5 * VARBYTE_MAX_LENGTH)

/* Memory for sorting the places of records, in kB. */
#define ORDER_MEMORY 1024

/* Initial size of the buffer for the codes of a record. */
#define FIRST_CAPACITY (16 * 1024)

typedef struct RecordHeader
{
	uint32		size;			/* of the codes */
	uint32		nrows;
	uint32		nruns;
	int32		table;
} RecordHeader;

/* The rest of the record, after its header. */
static inline Size
record_size(const RecordHeader *header)
{
	return header->nruns * sizeof(JournalRun) + header->size;
}

Journal *
journal_open(void)
{
	Journal    *journal = palloc0(sizeof(Journal));

	journal->context = CurrentMemoryContext;
	journal->owner = CurrentResourceOwner;
	journal->next.line = 1;
	initStringInfo(&journal->runs);
	initStringInfo(&journal->waiting);
	initStringInfo(&journal->memory);
	return journal;
}

/* ---- codes ---- */

/* Zigzag: small numbers of either sign as small unsigned numbers. */
static inline uint64
fold_sign(int64 number)
{
	return ((uint64) number << 1) ^ (uint64) (number >> 63);
}

static inline int64
unfold_sign(uint64 number)
{
	return (int64) (number >> 1) ^ -(int64) (number & 1);
}

/* The place that is expected of the row after this one. */
static inline void
expect_next(JournalPlace *next, const JournalPlace *place)
{
	next->file = place->file;
	next->end_length = place->end_length;
	next->offset = place->offset + place->length;
	next->line = place->line + 1;
}

/* Before the first row of a record. */
static inline void
expect_any(JournalPlace *next)
{
	memset(next, 0, sizeof(*next));
	next->line = 1;
}

static uint8 *
put_place(uint8 *p, JournalPlace *next, const JournalPlace *place)
{
	bool		expected = place->file == next->file &&
		place->offset == next->offset && place->line == next->line &&
		place->end_length == next->end_length;

	p = varbyte_put(p, (uint64) place->length << 1 | !expected);
	if (!expected)
	{
		p = varbyte_put(p, place->file);
		p = varbyte_put(p, fold_sign(place->offset - next->offset));
		p = varbyte_put(p, fold_sign(place->line - next->line));
		p = varbyte_put(p, place->end_length);
	}
	expect_next(next, place);
	return p;
}

/* ---- rows ---- */

static inline void
reserve_codes(Journal *journal, uint32 n)
{
	Size		needed = journal->size + (Size) n * MAX_CODE_SIZE;

	if (likely(needed <= journal->capacity))
		return;
	journal->capacity = Max(Max(journal->capacity * 2, needed), FIRST_CAPACITY);
	journal->rows = journal->rows == NULL ?
		MemoryContextAllocHuge(journal->context, journal->capacity) :
		repalloc_huge(journal->rows, journal->capacity);
}

static inline void
locate(const Reader *reader, const ScanRow *row, JournalPlace *place)
{
	place->file = reader->source->current;
	place->length = row->next - row->start;
	place->end_length = row->next - row->end;
	place->offset = reader->offset + row->start;
	place->line = reader->line + row->line;
}

void
journal_locate(const Journal *journal, uint32 index, JournalPlace *place)
{
	locate(journal->reader, &journal->reader->rows[index], place);
}

void
journal_place(Journal *journal, const JournalPlace *place)
{
	reserve_codes(journal, 1);
	journal->size = put_place(journal->rows + journal->size, &journal->next,
							  place) - journal->rows;
	journal->nrows++;
}

/*
 * A fast loop for rows that are where they are expected, and short, as most
 * are: it keeps the expected place relative to the batch in local variables.
 */
void
journal_rows(Journal *journal, uint32 first, uint32 n)
{
	const Reader *reader = journal->reader;
	JournalPlace *next = &journal->next;
	int64		start = next->file == reader->source->current ?
		next->offset - reader->offset : -1;
	int64		line = next->line - reader->line;
	uint32		end_length = next->end_length;
	uint8	   *p;

	reserve_codes(journal, n);
	p = journal->rows + journal->size;
	for (uint32 i = 0; i < n; i++)
	{
		const ScanRow *row = &reader->rows[first + i];
		uint32		length = row->next - row->start;

		if (likely(row->start == start && row->line == line && length < 0x40 &&
				   row->next - row->end == end_length))
			*p++ = (uint8) (length << 1);
		else
		{
			JournalPlace place;

			if (start >= 0)
			{
				next->offset = reader->offset + start;
				next->line = reader->line + line;
			}
			locate(reader, row, &place);
			p = put_place(p, next, &place);
			end_length = next->end_length;
		}
		start = row->next;
		line = (int64) row->line + 1;
	}
	if (n > 0)
	{
		next->offset = reader->offset + start;
		next->line = reader->line + line;
	}
	journal->size = p - journal->rows;
	journal->nrows += n;
}

void
journal_stored(Journal *journal, BlockNumber block, OffsetNumber first, int count)
{
	JournalRun *last = journal->runs.len == 0 ? NULL :
		(JournalRun *) (journal->runs.data + journal->runs.len) - 1;

	journal->nplaced += count;
	if (last != NULL && last->block == block && last->first + last->count == first)
		last->count += count;
	else
	{
		JournalRun	run = {.block = block, .first = first, .count = count};

		appendBinaryStringInfo(&journal->runs, (char *) &run, sizeof(run));
	}
}

/* ---- records ---- */

/* Adds whole records to those that are finished. */
static void
keep_bytes(Journal *journal, const char *data, Size len)
{
	if (journal->spilled == NULL && (Size) journal->memory.len + len > JOURNAL_MEMORY)
	{
		MemoryContext old = MemoryContextSwitchTo(journal->context);
		ResourceOwner caller = CurrentResourceOwner;

		CurrentResourceOwner = journal->owner;
		journal->spilled = BufFileCreateTemp(false);
		CurrentResourceOwner = caller;
		MemoryContextSwitchTo(old);
	}
	if (journal->spilled != NULL)
		BufFileWrite(journal->spilled, unconstify(char *, data), len);
	else
		appendBinaryStringInfo(&journal->memory, data, len);
}

void
journal_keep(Journal *journal)
{
	keep_bytes(journal, journal->waiting.data, journal->waiting.len);
	resetStringInfo(&journal->waiting);
}

void
journal_hold(Journal *journal, bool held)
{
	journal->held = held;
}

static void
begin_record(Journal *journal)
{
	journal->size = 0;
	journal->nrows = journal->nplaced = 0;
	resetStringInfo(&journal->runs);
	expect_any(&journal->next);
}

void
journal_end_record(Journal *journal, int table)
{
	RecordHeader header = {
		.size = journal->size,
		.nrows = journal->nrows,
		.nruns = journal->runs.len / sizeof(JournalRun),
		.table = table
	};

	if (journal->nrows != journal->nplaced)
		elog(ERROR, "%u rows were stored where %u had come", journal->nplaced,
			 journal->nrows);
	if (journal->nrows == 0)
		return;
	appendBinaryStringInfo(&journal->waiting, (char *) &header, sizeof(header));
	appendBinaryStringInfo(&journal->waiting, journal->runs.data, journal->runs.len);
	appendBinaryStringInfo(&journal->waiting, (char *) journal->rows, journal->size);
	journal->nrecords++;
	begin_record(journal);
	if (!journal->held)
		journal_keep(journal);
}

void
journal_forget(Journal *journal)
{
	Assert(journal->nplaced == 0);
	begin_record(journal);
}

void
journal_receive(Journal *journal, const char *data, Size len)
{
	Size		done = 0;
	RecordHeader header;

	keep_bytes(journal, data, len);
	while (done < len)
	{
		memcpy(&header, data + done, sizeof(header));
		done += sizeof(header) + record_size(&header);
		journal->nrecords++;
	}
}

void
journal_close(Journal *journal)
{
	if (journal->spilled != NULL)
		BufFileClose(journal->spilled);
	journal->spilled = NULL;
}

/* ---- reading ---- */

/* Records in memory are older than those in the file. */
static void
seek(JournalReader *reader, int64 place)
{
	const Journal *journal = reader->journal;

	reader->done = place;
	if (journal->spilled != NULL && place >= journal->memory.len &&
		BufFileSeek(journal->spilled, 0, place - journal->memory.len, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in temporary file: %m")));
}

JournalReader *
journal_read(Journal *journal)
{
	JournalReader *reader = palloc0(sizeof(JournalReader));

	Assert(journal->nrows == 0 && journal->waiting.len == 0);
	reader->journal = journal;
	reader->nrecords = journal->nrecords;
	/* read the file from its beginning, whatever its position */
	seek(reader, journal->memory.len);
	seek(reader, 0);
	return reader;
}

/* Reads bytes of records. */
static void
take_bytes(JournalReader *reader, void *to, Size len)
{
	const Journal *journal = reader->journal;
	int64		place = reader->done;

	reader->done += len;
	if (place < journal->memory.len)
	{
		Assert(reader->done <= journal->memory.len);
		memcpy(to, journal->memory.data + place, len);
	}
	else if (len > 0 && BufFileRead(journal->spilled, to, len) != len)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
}

JournalReader *
journal_read_by_table(Journal *journal)
{
	JournalReader *reader = journal_read(journal);
	Records    *order = records_open(2, ORDER_MEMORY);

	for (int64 i = 0; i < journal->nrecords; i++)
	{
		int64		values[2] = {0, reader->done};
		RecordHeader header;

		CHECK_FOR_INTERRUPTS();
		take_bytes(reader, &header, sizeof(header));
		values[0] = header.table;
		records_put(order, values);
		seek(reader, reader->done + record_size(&header));
	}
	records_sort(order);
	reader->order = order;
	return reader;
}

bool
journal_next_record(JournalReader *reader)
{
	RecordHeader header;
	Size		size;
	int64		values[2];

	if (reader->nrecords == 0)
		return false;
	reader->nrecords--;
	if (reader->order != NULL)
	{
		records_next(reader->order, values);
		if (values[1] != reader->done)
			seek(reader, values[1]);
	}
	take_bytes(reader, &header, sizeof(header));
	size = record_size(&header);
	if (size > reader->capacity)
	{
		if (reader->data != NULL)
			pfree(reader->data);
		reader->data = MemoryContextAlloc(GetMemoryChunkContext(reader), size);
		reader->capacity = size;
	}
	take_bytes(reader, reader->data, size);

	reader->table = header.table;
	reader->nrows = header.nrows;
	reader->nruns = header.nruns;
	reader->runs = (JournalRun *) reader->data;
	reader->next = (uint8 *) reader->data + header.nruns * sizeof(JournalRun);
	expect_any(&reader->expected);
	return true;
}

void
journal_next_place(JournalReader *reader, JournalPlace *place)
{
	uint64		code;
	uint64		number;

	reader->next = varbyte_take(reader->next, &code);
	*place = reader->expected;
	place->length = code >> 1;
	if (code & 1)
	{
		reader->next = varbyte_take(reader->next, &number);
		place->file = number;
		reader->next = varbyte_take(reader->next, &number);
		place->offset += unfold_sign(number);
		reader->next = varbyte_take(reader->next, &number);
		place->line += unfold_sign(number);
		reader->next = varbyte_take(reader->next, &number);
		place->end_length = number;
	}
	expect_next(&reader->expected, place);
}

void
journal_end_read(JournalReader *reader)
{
	if (reader->order != NULL)
		records_close(reader->order);
	if (reader->data != NULL)
		pfree(reader->data);
	pfree(reader);
}

/*
 * How many rows of the record come before the one at tid; -1: the record does
 * not have it.
 */
static int64
find_in_record(const JournalReader *reader, const ItemPointerData *tid)
{
	int64		before = 0;

	for (uint32 i = 0; i < reader->nruns; i++)
	{
		const JournalRun *run = &reader->runs[i];
		int			behind = ItemPointerGetOffsetNumber(tid) - run->first;

		if (run->block == ItemPointerGetBlockNumber(tid) &&
			behind >= 0 && behind < run->count)
			return before + behind;
		before += run->count;
	}
	return -1;
}

bool
journal_find(Journal *journal, int table, const ItemPointerData *tid,
			 JournalPlace *place)
{
	JournalReader *reader = journal_read(journal);
	int64		before = -1;

	while (before < 0 && journal_next_record(reader))
	{
		CHECK_FOR_INTERRUPTS();
		if (reader->table == table)
			before = find_in_record(reader, tid);
	}
	for (int64 i = 0; i <= before; i++)
		journal_next_place(reader, place);
	journal_end_read(reader);
	return before >= 0;
}
