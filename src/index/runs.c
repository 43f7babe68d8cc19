/*
 * runs.c
 *		See runs.h.
 *
 * A run is a sequence of records: a head, the key's image unless it is the same
 * as the record's before, rows.  With an image goes the beginning of the key's sort
 * string, by which runs are merged: the operator class's comparison takes many times as
 * long.  It still sees each pair of neighbours.  Should they turn out to be out of order,
 * all is merged again with it alone; as what has been emitted could not be taken
 * back, that is found out in a merge that nobody gets.
 */
#include "postgres.h"

#include "index/runs.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "server/compat.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

/* Rows of a record that are in memory at a time. */
#define ROWS_AT_ONCE 256

/* What reading a run takes, the buffer of the file included. */
#define RUN_MEMORY (2 * BLCKSZ + ROWS_AT_ONCE * sizeof(RowId))
#define FEWEST_AT_ONCE 8
#define MOST_AT_ONCE 512

/* The beginning of a sort string, zeroes behind its end, as numbers that sort like it. */
typedef struct Prefix
{
	uint64		high;
	uint64		low;
} Prefix;

typedef struct RecordHead
{
	uint32		size:31;		/* of the image; 0: as before */
	uint32		equal:1;		/* to the key of the one before, though its image is not */
	uint32		nrows;
	Prefix		prefix;
} RecordHead;

typedef struct Run
{
	BufFile    *file;
	int			level;			/* how many merges it has been through */
	int			number;

	/* while it is read: the record's image, then some of its rows */
	RecordHead	head;
	char	   *data;
	Size		capacity;
	uint32		nrows;			/* of the record, not yet read */
} Run;

/* A run that is merged, by what its key begins with. */
typedef struct Candidate
{
	Prefix		prefix;
	Run		   *run;
} Candidate;

struct Runs
{
	KeyShape	   *shape;
	Order	   *order;			/* of what is written and merged */
	MemoryContext context;
	int			at_once;
	int			nruns;
	int			capacity;
	Run		   *runs;
	int			written;		/* runs written, merged ones not counted */

	/* the run being written */
	Run		   *writing;
	Prefix		prefix;
	StringInfoData image;		/* of the current key */
	bool		equal;			/* to the one before */
	bool		fresh;			/* not in the file yet */

	/* the key emitted last */
	StringInfoData last;
};

Runs *
runs_open(KeyShape *shape, Size budget, Order *order)
{
	Runs	   *runs = palloc0(sizeof(Runs));

	runs->shape = shape;
	runs->order = order;
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
put_string(void *arg, const char *string, Size size)
{
	Runs	   *runs = arg;
	uint64		words[2] = {0};

	memcpy(words, string, Min(size, sizeof(words)));
	runs->prefix.high = pg_ntoh64(words[0]);
	runs->prefix.low = pg_ntoh64(words[1]);
}

static void
put_key(void *arg, const char *image, Size size, bool equal)
{
	Runs	   *runs = arg;

	resetStringInfo(&runs->image);
	appendBinaryStringInfo(&runs->image, image, size);
	runs->equal = equal;
	runs->fresh = true;
}

static void
put_record(Runs *runs, const RowId *rows, uint32 n)
{
	RecordHead	head = {
		.size = runs->fresh ? runs->image.len : 0,
		.equal = runs->equal,
		.nrows = n,
		.prefix = runs->prefix
	};

	compat_buffile_write(runs->writing->file, &head, sizeof(head));
	if (runs->fresh)
		compat_buffile_write(runs->writing->file, runs->image.data, runs->image.len);
	compat_buffile_write(runs->writing->file, rows, n * sizeof(RowId));
	runs->fresh = rows_interleave(runs->order->rows);
}

static void
put_rows(void *arg, const RowId *rows, uint32 n)
{
	Runs	   *runs = arg;

	if (!rows_interleave(runs->order->rows))
		put_record(runs, rows, n);
	else
		for (uint32 i = 0; i < n; i++)
			put_record(runs, &rows[i], 1);
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

static const KeySink run_sink = {.string = put_string,.key = put_key,.rows = put_rows};

KeySink
runs_begin(Runs *runs)
{
	KeySink		sink = run_sink;

	sink.arg = runs;
	runs->written++;
	add_run(runs, 0);
	return sink;
}

/* ---- merging ---- */

/* The next record's key and first rows; false: the run has ended. */
static bool
read_record(Runs *runs, Run *run)
{
	RecordHead	head;
	Size		rows;

	if (!compat_buffile_read_more(run->file, &head, sizeof(head)))
		return false;
	rows = Min(head.nrows, ROWS_AT_ONCE) * sizeof(RowId);
	if (run->capacity < head.size + rows)
	{
		run->capacity = Max(2 * head.size, 256) + ROWS_AT_ONCE * sizeof(RowId);
		if (run->data != NULL)
			pfree(run->data);
		run->data = MemoryContextAlloc(runs->context, run->capacity);
	}
	compat_buffile_read(run->file, run->data, head.size + rows);
	run->head = head;
	run->nrows = head.nrows;
	return true;
}

static void
close_run(Run *run)
{
	BufFileClose(run->file);
	if (run->data != NULL)
		pfree(run->data);
}

static inline RowId
first_row(const Run *run)
{
	return *(const RowId *) (run->data + run->head.size);
}

/* The smallest key first, and of equal keys that of the first run, or the first row. */
static inline bool
comes_before(Runs *runs, const Candidate *a, const Candidate *b)
{
	int			order;

	if (runs->order->keys != KEYS_BY_OPERATOR)
	{
		if (a->prefix.high != b->prefix.high)
			return a->prefix.high < b->prefix.high;
		if (a->prefix.low != b->prefix.low)
			return a->prefix.low < b->prefix.low;
	}
	order = shape_compare(runs->shape, a->run->data, b->run->data);
	if (order != 0)
		return order < 0;
	return rows_interleave(runs->order->rows) ? first_row(a->run) < first_row(b->run) :
		a->run->number < b->run->number;
}

/* Candidates [0, n) are a heap but for the one at i, which may have to go down. */
static void
sift_down(Runs *runs, Candidate *candidates, int n, int i)
{
	Candidate	moved = candidates[i];

	for (;;)
	{
		int			child = 2 * i + 1;

		if (child >= n)
			break;
		if (child + 1 < n &&
			comes_before(runs, &candidates[child + 1], &candidates[child]))
			child++;
		if (!comes_before(runs, &candidates[child], &moved))
			break;
		candidates[i] = candidates[child];
		i = child;
	}
	candidates[i] = moved;
}

/* What is left of a key's sort string, which is what a run keeps of it. */
static void
put_string_of(const Run *run, const KeySink *sink)
{
	uint64		words[2] = {pg_hton64(run->head.prefix.high), pg_hton64(run->head.prefix.low)};

	sink->string(sink->arg, (const char *) words, sizeof(words));
}

static inline bool
is_last(const Runs *runs, const Run *run)
{
	return run->head.size == runs->last.len &&
		memcmp(run->data, runs->last.data, run->head.size) == 0;
}

/* Emits a key that is not the last. */
static void
emit_new_key(Runs *runs, const Run *run, bool equal, const KeySink *sink)
{
	resetStringInfo(&runs->last);
	appendBinaryStringInfo(&runs->last, run->data, run->head.size);
	if (sink->string != NULL && !equal && runs->order->keys != KEYS_BY_OPERATOR)
		put_string_of(run, sink);
	sink->key(sink->arg, runs->last.data, runs->last.len, equal);
}

/* Emits a key; false: it should have come before the last. */
static bool
emit_key(Runs *runs, const Run *run, const KeySink *sink)
{
	bool		equal = false;

	if (runs->last.len > 0)
	{
		if (is_last(runs, run))
			return true;
		if (!order_follows(runs->shape, runs->last.data, run->data, &equal))
			return false;
	}
	emit_new_key(runs, run, equal, sink);
	return true;
}

/* All rows of the record. */
static void
emit_rows(Run *run, const KeySink *sink)
{
	RowId	   *rows = (RowId *) (run->data + run->head.size);

	for (;;)
	{
		uint32		n = Min(run->nrows, ROWS_AT_ONCE);

		sink->rows(sink->arg, rows, n);
		run->nrows -= n;
		if (run->nrows == 0)
			break;
		compat_buffile_read(run->file, rows,
							Min(run->nrows, ROWS_AT_ONCE) * sizeof(RowId));
	}
}

/* All that a run has of its key, and reads the next; false: that was its last. */
static bool
emit(Runs *runs, Run *run, const KeySink *sink)
{
	do
	{
		CHECK_FOR_INTERRUPTS();
		emit_rows(run, sink);
		if (!read_record(runs, run))
			return false;
	} while (run->head.size == 0);
	return true;
}

/* Begins to read a run; false: there is nothing in it. */
static bool
rewind_run(Runs *runs, Run *run)
{
	if (BufFileSeek(run->file, 0, 0, SEEK_SET) != 0)
		elog(ERROR, "could not rewind a temporary file");
	return read_record(runs, run);
}

/* Runs at their first keys, as a heap.  Returns how many have one. */
static int
rewind_runs(Runs *runs, int first, int n, Candidate *candidates)
{
	int			ncandidates = 0;

	for (int i = first; i < first + n; i++)
	{
		Run		   *run = &runs->runs[i];

		run->number = i;
		if (rewind_run(runs, run))
			candidates[ncandidates++] = (Candidate) {run->head.prefix, run};
	}
	for (int i = ncandidates / 2; i-- > 0;)
		sift_down(runs, candidates, ncandidates, i);
	resetStringInfo(&runs->last);
	return ncandidates;
}

/*
 * Merges n runs from the first into the sink; false: they did not come in order, but will the
 * next time.
 */
static bool
merge(Runs *runs, int first, int n, const KeySink *sink)
{
	Candidate  *candidates = MemoryContextAlloc(runs->context, n * sizeof(Candidate));

	n = rewind_runs(runs, first, n, candidates);
	while (n > 0)
	{
		Run		   *run = candidates[0].run;

		if (!emit_key(runs, run, sink))
			break;
		if (emit(runs, run, sink))
			candidates[0].prefix = run->head.prefix;
		else
			candidates[0] = candidates[--n];
		sift_down(runs, candidates, n, 0);
	}
	pfree(candidates);
	if (n > 0)
		order_distrust(runs->order);
	return n == 0;
}

/* Merges n runs from the first into a new one. */
static Run
merge_into_one(Runs *runs, int first, int n)
{
	Runs	   *result = runs_open(runs->shape, 0, runs->order);
	KeySink		sink = runs_begin(result);
	Run			run;

	if (!merge(runs, first, n, &sink))
	{
		runs_close(result);
		sink = runs_begin(result);
		(void) merge(runs, first, n, &sink);
	}
	run = result->runs[0];
	pfree(result->image.data);
	pfree(result->last.data);
	pfree(result->runs);
	pfree(result);
	return run;
}

/* A merge of the last runs, which are all of one level, becomes a run of the next. */
static void
merge_level(Runs *runs, int n)
{
	int			first = runs->nruns - n;
	int			level = runs->runs[first].level;
	Run			run = merge_into_one(runs, first, n);

	for (int i = first; i < runs->nruns; i++)
		close_run(&runs->runs[i]);
	runs->nruns = first;
	runs->runs[runs->nruns] = run;
	runs->runs[runs->nruns++].level = level + 1;
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

static void
drop_key(void *arg, const char *image, Size size, bool equal)
{
}

static void
drop_rows(void *arg, const RowId *rows, uint32 n)
{
}

static const KeySink nobody = {.key = drop_key,.rows = drop_rows};

void
runs_merge(Runs *runs, const KeySink *sink)
{
	if (runs->order->keys == KEYS_BY_COLLATION)
		(void) merge(runs, 0, runs->nruns, &nobody);
	if (!merge(runs, 0, runs->nruns, sink))
		order_raise();
	runs_close(runs);
}

void
runs_chain(Runs *runs, const KeySink *sink)
{
	resetStringInfo(&runs->last);
	for (int i = 0; i < runs->nruns; i++)
	{
		Run		   *run = &runs->runs[i];
		bool		more = rewind_run(runs, run);

		while (more)
		{
			if (!is_last(runs, run))
				emit_new_key(runs, run, run->head.equal, sink);
			more = emit(runs, run, sink);
		}
		close_run(run);
	}
	runs->nruns = 0;
}

void
runs_close(Runs *runs)
{
	for (int i = 0; i < runs->nruns; i++)
		close_run(&runs->runs[i]);
	runs->nruns = 0;
}
