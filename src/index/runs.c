/*
 * runs.c
 *		See runs.h.
 *
 * A run is a sequence of records: a head, the key's image unless it is the same
 * as the record's before, rows.
 */
#include "postgres.h"

#include "compat.h"
#include "index/runs.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

/* Rows of a record that are in memory at a time. */
#define ROWS_AT_ONCE 256

/* What reading a run takes, the buffer of the file included. */
#define RUN_MEMORY (2 * BLCKSZ + ROWS_AT_ONCE * sizeof(RowId))
#define FEWEST_AT_ONCE 8
#define MOST_AT_ONCE 512

typedef struct RecordHead
{
	uint32		size;			/* of the image; 0: as before */
	uint32		nrows;
} RecordHead;

typedef struct Run
{
	BufFile    *file;
	int			level;			/* how many merges it has been through */
	int			number;

	/* while it is read */
	char	   *image;
	Size		size;
	Size		capacity;
	uint32		nrows;			/* of the record, not yet read */
	RowId	   *rows;
} Run;

struct Runs
{
	Shape	   *shape;
	MemoryContext context;
	int			at_once;
	int			nruns;
	int			capacity;
	Run		   *runs;
	int			written;		/* runs written, merged ones not counted */

	/* the run being written */
	Run		   *writing;
	StringInfoData image;		/* of the key in hand */
	bool		fresh;			/* not in the file yet */

	/* the key handed out last */
	StringInfoData last;
};

Runs *
runs_open(Shape *shape, Size budget)
{
	Runs	   *runs = palloc0(sizeof(Runs));

	runs->shape = shape;
	runs->context = CurrentMemoryContext;
	runs->at_once = Min(Max(budget / RUN_MEMORY, FEWEST_AT_ONCE), MOST_AT_ONCE);
	runs->capacity = 16;
	runs->runs = palloc(runs->capacity * sizeof(Run));
	initStringInfo(&runs->image);
	initStringInfo(&runs->last);
	return runs;
}

int
runs_count(const Runs *runs)
{
	return runs->written;
}

/* ---- writing ---- */

static void
put_key(void *arg, const char *image, Size size, bool equal)
{
	Runs	   *runs = arg;

	resetStringInfo(&runs->image);
	appendBinaryStringInfo(&runs->image, image, size);
	runs->fresh = true;
}

static void
put_rows(void *arg, const RowId *rows, uint32 n)
{
	Runs	   *runs = arg;
	RecordHead	head = {.size = runs->fresh ? runs->image.len : 0,.nrows = n};

	compat_buffile_write(runs->writing->file, &head, sizeof(head));
	if (runs->fresh)
		compat_buffile_write(runs->writing->file, runs->image.data, runs->image.len);
	compat_buffile_write(runs->writing->file, rows, n * sizeof(RowId));
	runs->fresh = false;
}

static Run *
add_run(Runs *runs, int level)
{
	MemoryContext old = MemoryContextSwitchTo(runs->context);
	Run		   *run;

	if (runs->nruns == runs->capacity)
	{
		runs->capacity *= 2;
		runs->runs = repalloc(runs->runs, runs->capacity * sizeof(Run));
	}
	run = &runs->runs[runs->nruns++];
	memset(run, 0, sizeof(Run));
	run->level = level;
	run->file = BufFileCreateTemp(false);
	runs->writing = run;
	MemoryContextSwitchTo(old);
	return run;
}

static const PresortSink run_sink = {.key = put_key,.rows = put_rows};

PresortSink
runs_begin(Runs *runs)
{
	PresortSink sink = run_sink;

	sink.arg = runs;
	runs->written++;
	add_run(runs, 0);
	return sink;
}

/* ---- merging ---- */

static void
read_image(Runs *runs, Run *run, Size size)
{
	if (run->capacity < size)
	{
		run->capacity = Max(2 * size, 256);
		if (run->image != NULL)
			pfree(run->image);
		run->image = MemoryContextAlloc(runs->context, run->capacity);
	}
	compat_buffile_read(run->file, run->image, size);
	run->size = size;
}

/* The next record's head and key; false: the run has ended. */
static bool
read_record(Runs *runs, Run *run, bool *fresh)
{
	RecordHead	head;

	if (!compat_buffile_read_more(run->file, &head, sizeof(head)))
		return false;
	run->nrows = head.nrows;
	*fresh = head.size > 0;
	if (*fresh)
		read_image(runs, run, head.size);
	return true;
}

static void
close_run(Run *run)
{
	BufFileClose(run->file);
	if (run->image != NULL)
		pfree(run->image);
	if (run->rows != NULL)
		pfree(run->rows);
}

/* The smallest key on top, and of equal keys that of the first run. */
static int
compare_runs(Datum a, Datum b, void *arg)
{
	Runs	   *runs = arg;
	Run		   *run_a = (Run *) DatumGetPointer(a);
	Run		   *run_b = (Run *) DatumGetPointer(b);
	int			order = shape_compare(runs->shape, run_a->image, run_b->image);

	if (order != 0)
		return order < 0 ? 1 : -1;
	return run_a->number < run_b->number ? 1 : -1;
}

static void
hand_out_key(Runs *runs, const Run *run, const PresortSink *sink)
{
	bool		equal = false;

	if (runs->last.len > 0)
	{
		int			order;

		if (run->size == runs->last.len &&
			memcmp(run->image, runs->last.data, run->size) == 0)
			return;
		order = shape_compare(runs->shape, runs->last.data, run->image);
		if (order > 0)
			elog(ERROR, "keys of an index do not compare consistently");
		equal = order == 0;
	}
	resetStringInfo(&runs->last);
	appendBinaryStringInfo(&runs->last, run->image, run->size);
	sink->key(sink->arg, runs->last.data, runs->last.len, equal);
}

static void
hand_out_rows(Run *run, const PresortSink *sink)
{
	while (run->nrows > 0)
	{
		uint32		n = Min(run->nrows, ROWS_AT_ONCE);

		compat_buffile_read(run->file, run->rows, n * sizeof(RowId));
		sink->rows(sink->arg, run->rows, n);
		run->nrows -= n;
	}
}

/* All that a run has of the key in hand; false: that was its last. */
static bool
hand_out(Runs *runs, Run *run, const PresortSink *sink)
{
	bool		fresh;

	hand_out_key(runs, run, sink);
	do
	{
		CHECK_FOR_INTERRUPTS();
		hand_out_rows(run, sink);
		if (!read_record(runs, run, &fresh))
			return false;
	} while (!fresh);
	return true;
}

/* Merges runs[first..] into the sink, and forgets them. */
static void
merge(Runs *runs, int first, int n, const PresortSink *sink)
{
	binaryheap *heap;
	bool		fresh;

	heap = binaryheap_allocate(n, compare_runs, runs);
	for (int i = first; i < first + n; i++)
	{
		Run		   *run = &runs->runs[i];

		run->number = i;
		if (BufFileSeek(run->file, 0, 0, SEEK_SET) != 0)
			elog(ERROR, "could not rewind a temporary file");
		run->rows = MemoryContextAlloc(runs->context, ROWS_AT_ONCE * sizeof(RowId));
		if (read_record(runs, run, &fresh))
			binaryheap_add_unordered(heap, PointerGetDatum(run));
	}
	binaryheap_build(heap);
	resetStringInfo(&runs->last);
	while (!binaryheap_empty(heap))
	{
		Run		   *run = (Run *) DatumGetPointer(binaryheap_first(heap));

		if (hand_out(runs, run, sink))
			binaryheap_replace_first(heap, PointerGetDatum(run));
		else
			(void) binaryheap_remove_first(heap);
	}
	binaryheap_free(heap);
	for (int i = first; i < first + n; i++)
		close_run(&runs->runs[i]);
}

/*
 * A merge of the last runs, which are all of one level, becomes a run of the next.
 * The array may move while it is written.
 */
static void
merge_level(Runs *runs, int n)
{
	int			first = runs->nruns - n;
	int			level = runs->runs[first].level;
	Runs	   *result = runs_open(runs->shape, 0);
	PresortSink sink = runs_begin(result);

	merge(runs, first, n, &sink);
	runs->nruns = first;
	runs->runs[runs->nruns] = result->runs[0];
	runs->runs[runs->nruns++].level = level + 1;
	pfree(result->image.data);
	pfree(result->last.data);
	pfree(result->runs);
	pfree(result);
}

void
runs_end(Runs *runs)
{
	MemoryContext old = MemoryContextSwitchTo(runs->context);

	for (;;)
	{
		int			same = 0;

		while (same < runs->nruns &&
			   runs->runs[runs->nruns - 1 - same].level == runs->runs[runs->nruns - 1].level)
			same++;
		if (same < runs->at_once)
			break;
		merge_level(runs, same);
	}
	MemoryContextSwitchTo(old);
}

void
runs_merge(Runs *runs, const PresortSink *sink)
{
	merge(runs, 0, runs->nruns, sink);
	runs->nruns = 0;
}

void
runs_close(Runs *runs)
{
	for (int i = 0; i < runs->nruns; i++)
		close_run(&runs->runs[i]);
	runs->nruns = 0;
}
