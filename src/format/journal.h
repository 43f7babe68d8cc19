/*
 * journal.h
 *		Where in the input each loaded row comes from.
 *
 * Errors that are found only when all rows are in the table (foreign keys) must
 * still name the line.  So the writer records, in the order in which rows are
 * stored, the place of each in its file and their TIDs; later the two are read
 * back together.
 *
 * A record has some rows of one table: their places in the input, usually a
 * byte or two for each (the next row begins where this one ends), and runs of
 * consecutive TIDs.  Records are kept in memory up to JOURNAL_MEMORY, then in a
 * temporary file.  A parallel worker keeps its records only until its turn,
 * when they go to the leader.
 *
 * The rows of a table are in the order of the input; rows of different tables
 * (partitions) need not be.
 */
#ifndef PGBULK_JOURNAL_H
#define PGBULK_JOURNAL_H

#include "postgres.h"

#include "format/reader.h"
#include "lib/stringinfo.h"
#include "server/records.h"
#include "storage/block.h"
#include "storage/buffile.h"
#include "storage/off.h"
#include "utils/resowner.h"

/* Bytes of records that are kept in memory. */
#define JOURNAL_MEMORY (4 * 1024 * 1024)

/* Place of a row in the input. */
typedef struct JournalPlace
{
	int			file;			/* index in the load's list */
	uint32		length;			/* in bytes, line end included */
	uint32		end_length;		/* of the line end */
	int64		offset;			/* of its first byte */
	int64		line;			/* number of the line that it begins in */
} JournalPlace;

/* Consecutive TIDs in a page of a table. */
typedef struct JournalRun
{
	BlockNumber block;
	OffsetNumber first;
	uint16		count;
} JournalRun;

typedef struct Journal
{
	MemoryContext context;
	ResourceOwner owner;		/* owns its temporary file, also in a subtransaction */
	const Reader *reader;		/* whose batch the rows are from */
	bool		held;			/* records wait for journal_keep */

	/* the record being written */
	uint8	   *rows;
	Size		size;			/* of rows, in use */
	Size		capacity;
	uint32		nrows;
	JournalPlace next;			/* what the next row is expected to be */
	StringInfoData runs;
	uint32		nplaced;

	/* finished records: those that wait, those in memory, those in the file */
	StringInfoData waiting;
	StringInfoData memory;
	BufFile    *spilled;
	int64		nrecords;
} Journal;

/* Memory: the current context. */
extern Journal *journal_open(void);

/* Rows [first, first + n) of the reader's batch will be stored next. */
extern void journal_rows(Journal *journal, uint32 first, uint32 n);

/* The place of a row of the reader's batch, for rows that are stored later; */
extern void journal_locate(const Journal *journal, uint32 index,
						   JournalPlace *place);

/* this row will then be stored next. */
extern void journal_place(Journal *journal, const JournalPlace *place);

/* The next count rows are in the table, at block from offset first on. */
extern void journal_stored(Journal *journal, BlockNumber block,
						   OffsetNumber first, int count);

/*
 * Ends the record: its rows have all been stored, in a table that the caller
 * identifies by a number.  Not in a subtransaction of the one that opened the
 * journal.
 */
extern void journal_end_record(Journal *journal, int table);

/* Instead: rows that are not stored yet are discarded. */
extern void journal_forget(Journal *journal);

/* While held, finished records wait in journal->waiting; then they are kept. */
extern void journal_hold(Journal *journal, bool held);
extern void journal_keep(Journal *journal);

/* Adds whole records of another process. */
extern void journal_receive(Journal *journal, const char *data, Size len);

/* Closes the temporary file. */
extern void journal_close(Journal *journal);

/* ---- reading ---- */

typedef struct JournalReader
{
	const Journal *journal;
	int64		nrecords;		/* left */
	int64		done;			/* bytes of all records */
	Records    *order;			/* table and place of each record; NULL: as they were written */

	/* the record */
	int			table;
	uint32		nrows;
	uint32		nruns;
	JournalRun *runs;
	char	   *data;			/* the record, in a buffer of its own */
	Size		capacity;
	const uint8 *next;			/* the next row's code */
	JournalPlace expected;
} JournalReader;

/* From the first record on.  Memory: the current context. */
extern JournalReader *journal_read(Journal *journal);

/* The same, table by table. */
extern JournalReader *journal_read_by_table(Journal *journal);

/* The next record; false after the last. */
extern bool journal_next_record(JournalReader *reader);

/* The place of the record's next row; to be called nrows times. */
extern void journal_next_place(JournalReader *reader, JournalPlace *place);

extern void journal_end_read(JournalReader *reader);

/* The place of the row at tid in a table; false: it is not in the journal.  Scans all of it. */
extern bool journal_find(Journal *journal, int table, const ItemPointerData *tid,
						 JournalPlace *place);

/* Whether a row comes before another one in the input. */
static inline bool
journal_is_before(const JournalPlace *a, const JournalPlace *b)
{
	return a->file != b->file ? a->file < b->file : a->offset < b->offset;
}

#endif							/* PGBULK_JOURNAL_H */
