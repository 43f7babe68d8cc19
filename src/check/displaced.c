/*
 * displaced.c
 *		See displaced.h.
 */
#include "postgres.h"

#include "check/displaced.h"
#include "miscadmin.h"
#include "server/records.h"

#define MEMORY_KB 4096

/* Rows looked up in one pass over the journal. */
#define AT_ONCE (128 * 1024)

/* Columns of a record. */
enum
{
	DISPLACED_TABLE,
	DISPLACED_ROW,				/* block << 16 | offset */
	DISPLACED_INDEX,
	DISPLACED_COLUMNS
};

typedef struct Wanted
{
	int64		values[DISPLACED_COLUMNS];
	bool		found;
} Wanted;

struct Displaced
{
	Records    *records;
	Wanted	   *wanted;			/* by table and row */
	int			n;
};

Displaced *
displaced_open(void)
{
	Displaced  *displaced = palloc0(sizeof(Displaced));

	displaced->records = records_open(DISPLACED_COLUMNS, MEMORY_KB);
	return displaced;
}

static inline int64
row_number(BlockNumber block, OffsetNumber offset)
{
	return (int64) block << 16 | offset;
}

void
displaced_put(Displaced *displaced, const DisplacedRow *row)
{
	int64		values[DISPLACED_COLUMNS] = {
		[DISPLACED_TABLE] = row->table,
		[DISPLACED_ROW] = row_number(ItemPointerGetBlockNumber(&row->tid),
									 ItemPointerGetOffsetNumber(&row->tid)),
		[DISPLACED_INDEX] = row->index
	};

	records_put(displaced->records, values);
}

/* Takes the next rows to look up; false if there are none. */
static bool
take_some(Displaced *displaced)
{
	displaced->n = 0;
	while (displaced->n < AT_ONCE &&
		   records_next(displaced->records, displaced->wanted[displaced->n].values))
		displaced->wanted[displaced->n++].found = false;
	return displaced->n > 0;
}

static Wanted *
find_wanted(Displaced *displaced, int table, int64 row)
{
	int			low = 0;
	int			high = displaced->n;

	while (low < high)
	{
		int			middle = (low + high) / 2;
		Wanted	   *wanted = &displaced->wanted[middle];

		if (wanted->values[DISPLACED_TABLE] == table &&
			wanted->values[DISPLACED_ROW] == row)
			return wanted;
		if (wanted->values[DISPLACED_TABLE] < table ||
			(wanted->values[DISPLACED_TABLE] == table &&
			 wanted->values[DISPLACED_ROW] < row))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static DisplacedRow
get_row(const Wanted *wanted)
{
	int64		number = wanted->values[DISPLACED_ROW];
	DisplacedRow row = {
		.table = wanted->values[DISPLACED_TABLE],
		.index = wanted->values[DISPLACED_INDEX]
	};

	ItemPointerSet(&row.tid, number >> 16, number & 0xffff);
	return row;
}

void
displaced_close(Displaced *displaced, Journal *journal,
				void (*found) (void *arg, const DisplacedRow *row,
							   const JournalPlace *place),
				void *arg)
{
	displaced->wanted = MemoryContextAllocHuge(CurrentMemoryContext,
											   AT_ONCE * sizeof(Wanted));
	records_sort(displaced->records);
	while (take_some(displaced))
	{
		JournalReader *reader = journal_read(journal);

		while (journal_next_record(reader))
		{
			CHECK_FOR_INTERRUPTS();
			for (uint32 i = 0; i < reader->nruns; i++)
				for (int j = 0; j < reader->runs[i].count; j++)
				{
					JournalPlace place;
					Wanted	   *wanted;

					journal_next_place(reader, &place);
					wanted = find_wanted(displaced, reader->table,
										 row_number(reader->runs[i].block,
													reader->runs[i].first + j));
					if (wanted != NULL)
					{
						DisplacedRow row = get_row(wanted);

						wanted->found = true;
						found(arg, &row, &place);
					}
				}
		}
		journal_end_read(reader);
		for (int i = 0; i < displaced->n; i++)
			if (!displaced->wanted[i].found)
			{
				DisplacedRow row = get_row(&displaced->wanted[i]);

				found(arg, &row, NULL);
			}
	}
	records_close(displaced->records);
	pfree(displaced->wanted);
	pfree(displaced);
}
