/*
 * split.c
 *		See split.h.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "index/heap_scan.h"
#include "index/split.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/guc.h"
#include "utils/memutils.h"

/* Blocks that are looked at, and about how many rows of each. */
#define SAMPLE_BLOCKS 128
#define SAMPLE_ROWS 32
#define MIN_SAMPLE 64
StaticAssertDecl(SAMPLE_BLOCKS <= PG_UINT8_MAX + 1, "a block's number is a byte");
#define SAMPLE_SHARE 8			/* of the memory, for its keys */

/*
 * What only tells whether an index is worth building here must take a small part of the time of
 * that: one of so many blocks is looked at.
 */
#define ESTIMATE_PART 32

/*
 * Of these blocks all rows are taken, up to that many each: only keys that the sample has twice
 * tell how many rows share one, and of a few thousand rows of a large table hardly any are.
 */
#define ESTIMATE_ROWS 256

/* A range takes so much of a process's memory, if it is no larger than most. */
#define RANGE_SHARE 0.45

/*
 * A range is to stay in the caches of the CPU while it is sorted.  With four times as many ranges,
 * their files and buffers took more CPU than the smaller ranges saved: a fifth of that for an index
 * of texts.  The last leaf of each is not full: so many leaves make up for that.  Processes take
 * turns with ranges, so that one that is larger than the others does not matter, up to that part
 * of all rows.
 */
#define RANGE_BYTES (8.0 * 1024 * 1024)
#define RANGE_LEAVES 64
#define RANGES_PER_PROCESS 4
#define RANGE_LARGEST 0.7

/*
 * Integers are cheap to sort, and merged by the key, not by the row: from so many rows of each key
 * in a run, runs take less time than ranges.
 */
#define RUN_ROWS 8

/*
 * Each range is a file while keys are partitioned: so many parts of the memory go to their
 * buffers.
 */
#define BUFFERS_SHARE 4

/* Bytes of a border: less than nbtree's limit for items, which is just below a third of a page. */
#define MOST_BORDER (BLCKSZ / 4)

/* What a row takes in an index where it shares its key with many, and a key beside its image. */
#define ROW_SIZE sizeof(ItemPointerData)
#define KEY_SIZE (sizeof(IndexTupleData) + sizeof(ItemIdData))

/*
 * What a row takes while it is sorted, beside its key, and a key beside its image and sort
 * string.
 */
#define ROW_MEMORY 24
#define KEY_MEMORY 100

typedef struct Sample
{
	KeyShape	   *shape;
	StringInfoData images;
	uint32	   *offsets;		/* of the images */
	int			n;
	int			most_rows;		/* as many as there may be */
	int			of_block;		/* about so many of each block */
	double		rows;			/* in the blocks that were looked at; then, in all */
	int			in_block;
	int			block;			/* which of those that are looked at */
	uint8	   *blocks;			/* the same of each row */
	int			step;			/* every so manieth row of a block is taken */
	Size		most;			/* bytes of images; beyond, no more are taken */
	const char **sorted;
} Sample;

static void
sample_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		   bool alive, void *state)
{
	Sample	   *sample = state;

	sample->rows++;
	if (sample->in_block++ % sample->step != 0 || sample->n == sample->most_rows ||
		sample->images.len > sample->most)
		return;
	sample->offsets[sample->n] = sample->images.len;
	sample->blocks[sample->n] = sample->block;
	shape_image(sample->shape, values, isnull, &sample->images);
	sample->offsets[++sample->n] = sample->images.len;
}

static void
drop_sample(Sample *sample)
{
	pfree(sample->images.data);
	pfree(sample->offsets);
	pfree(sample->blocks);
	pfree(sample->sorted);
	pfree(sample);
}

static int
compare_samples(const void *a, const void *b, void *arg)
{
	return shape_compare(arg, *(const char *const *) a, *(const char *const *) b);
}

/* Keys with the same bytes come together, which takes less time. */
static int
compare_images(const void *a, const void *b, void *arg)
{
	const Sample *sample = arg;
	const char *image_a = *(const char *const *) a;
	const char *image_b = *(const char *const *) b;
	Size		rest = sample->images.data + sample->images.len - Max(image_a, image_b);

	/* images know where they end, so that what is behind them decides only between equal ones */
	return memcmp(image_a, image_b, rest);
}

static Sample *
make_sample(Relation index, int nblocks, int of_block, Size memory)
{
	Sample	   *sample = palloc0(sizeof(Sample));

	sample->shape = shape_open(index);
	sample->most = Min(memory / SAMPLE_SHARE, MaxAllocSize / 4);
	sample->of_block = of_block;
	sample->most_rows = nblocks * 2 * of_block;
	sample->offsets = palloc((sample->most_rows + 1) * sizeof(uint32));
	sample->blocks = palloc(Max(sample->most_rows, 1));
	sample->sorted = palloc(Max(sample->most_rows, 1) * sizeof(char *));
	return sample;
}

/*
 * Takes rows of nblocks blocks, of n that are spread over them, about so many of each, and sorts
 * them, or only brings equal ones together.  NULL: there are too few.
 */
static Sample *
take_sample(Relation heap, Relation index, IndexInfo *info, BlockNumber first,
			BlockNumber nblocks, int n, int of_block, bool sorts, Size memory)
{
	Sample	   *sample = make_sample(index, n, of_block, memory);

	/* one row of the first block, which tells how many there are */
	sample->step = PG_INT32_MAX;
	initStringInfo(&sample->images);
	for (int i = 0; i < n; i++)
	{
		BlockNumber begin = (uint64) nblocks * i / n;
		BlockNumber end = (uint64) nblocks * (i + 1) / n;
		/* anywhere in its part: keys may come again after so many rows */
		BlockNumber block = first + begin + hash_bytes_uint32(i) % (end - begin);

		sample->in_block = 0;
		sample->block = i;
		heap_scan_block(heap, index, info, block, sample_row, sample);
		sample->step = Max(sample->in_block / sample->of_block, 1);
	}
	if (sample->n < MIN_SAMPLE)
	{
		drop_sample(sample);
		return NULL;
	}
	for (int i = 0; i < sample->n; i++)
		sample->sorted[i] = sample->images.data + sample->offsets[i];
	if (sorts)
		qsort_arg(sample->sorted, sample->n, sizeof(char *), compare_samples, sample->shape);
	else
		qsort_arg(sample->sorted, sample->n, sizeof(char *), compare_images, sample);
	sample->rows *= (double) nblocks / n;
	return sample;
}

/* How many of the sample's keys are not the same as the one before. */
static int
count_different(const Sample *sample)
{
	int			different = 1;

	for (int i = 1; i < sample->n; i++)
		if (shape_compare(sample->shape, sample->sorted[i - 1], sample->sorted[i]) != 0)
			different++;
	return different;
}

/* Pairs among the sorted keys from begin to end. */
static double
pairs_in(const Sample *sample, int begin, int end)
{
	return (double) (end - begin) * (end - begin - 1) / 2;
}

/* Of which block a key of the sample is. */
static int
block_of(const Sample *sample, const char *image)
{
	uint32		offset = image - sample->images.data;
	int			low = 0;
	int			high = sample->n - 1;

	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (sample->offsets[middle] > offset)
			high = middle - 1;
		else
			low = middle;
	}
	return sample->blocks[low];
}

/*
 * Those of different blocks: rows of a key are often together, so that only these tell about the
 * table.
 */
static double
pairs_apart(const Sample *sample, int begin, int end)
{
	int			of_block[SAMPLE_BLOCKS] = {0};
	double		pairs = pairs_in(sample, begin, end);

	for (int i = begin; i < end; i++)
		pairs -= of_block[block_of(sample, sample->sorted[i])]++;
	return pairs;
}

/*
 * How many of so many rows have the first columns of the key of one of them, as far as the pairs
 * of the sample tell that have.
 */
static double
rows_of_key(const Sample *sample, double rows, int columns,
			double (*count_pairs) (const Sample *sample, int begin, int end))
{
	double		pairs = 0;

	for (int begin = 0, end; begin < sample->n; begin = end)
	{
		for (end = begin + 1; end < sample->n; end++)
			if (shape_compare_first(sample->shape, columns, sample->sorted[begin],
									sample->sorted[end]) != 0)
				break;
		if (end - begin > 1)
			pairs += count_pairs(sample, begin, end);
	}
	return 1 + rows * 2 * pairs / ((double) sample->n * sample->n);
}

/* How many ranges there should be, from 1. */
static int
count_ranges(const Sample *sample, int processes, Size memory)
{
	double		rows = sample->rows;
	double		image = (double) sample->images.len / sample->n;
	double		different = (double) count_different(sample) / sample->n;
	double		leaves = rows * (ROW_SIZE + different * (image + KEY_SIZE)) / BLCKSZ;
	double		ranges = rows * (ROW_MEMORY + different * image) / RANGE_BYTES;

	ranges = Max(ranges, rows * (ROW_MEMORY + different * (KEY_MEMORY + 2 * image)) /
				 (RANGE_SHARE * memory));
	ranges = Max(ranges, processes * RANGES_PER_PROCESS);
	ranges = Min(ranges, leaves / RANGE_LEAVES);
	ranges = Min(ranges, split_buffers(memory) / BLCKSZ);
	return (int) Max(ranges, 1);
}

static void
add_border(SplitKeys *keys, const Sample *sample, const char *image)
{
	int			at = (image - sample->images.data);
	int			i = 0;
	uint64		size;

	while (sample->offsets[i] != at)
		i++;
	size = sample->offsets[i + 1] - at;
	memcpy(keys->images + keys->size, &size, sizeof(size));
	memcpy(keys->images + keys->size + sizeof(size), image, size);
	keys->size += sizeof(size) + size;
	keys->nborders++;
}

/* Whether a key may be a border above another one, or the first if that is NULL. */
static bool
may_be_border(Sample *sample, const char *image, const char *before)
{
	/* numbers are compared with it */
	if (sample->shape->integer && shape_has_null(sample->shape, image))
		return false;
	/* the range below ends with it as with an item; what fits no page is the error of its row */
	if (IndexTupleSize(shape_tuple(sample->shape, image)) > MOST_BORDER)
		return false;
	/* nothing is below the lowest key, as far as is known */
	if (before == NULL)
		before = sample->sorted[0];
	return shape_compare(sample->shape, before, image) < 0;
}

/*
 * Borders between nranges ranges, or less.  *largest: how many of the sample's keys are in one
 * range at most.
 */
static SplitKeys *
choose_borders(Sample *sample, int nranges, int *largest)
{
	SplitKeys  *keys = palloc0(offsetof(SplitKeys, images) + sample->images.len +
							   nranges * sizeof(uint64));
	const char *before = NULL;
	int			begin = 0;

	*largest = 0;
	for (int i = 1; i < nranges; i++)
	{
		int			at = (int64) sample->n * i / nranges;
		int			next = (int64) sample->n * (i + 1) / nranges;
		const char *image = sample->sorted[at];

		/* in the midst of rows of one key the border is at one of their ends */
		if (may_be_border(sample, image, before))
		{
			while (shape_compare(sample->shape, sample->sorted[at - 1], image) == 0)
				at--;
		}
		else
		{
			while (at < next && shape_compare(sample->shape, sample->sorted[at], image) == 0)
				at++;
			if (at == next || !may_be_border(sample, sample->sorted[at], before))
				continue;
			image = sample->sorted[at];
		}
		*largest = Max(*largest, at - begin);
		begin = at;
		add_border(keys, sample, image);
		before = image;
	}
	*largest = Max(*largest, sample->n - begin);
	return keys;
}

/* Whether temp_file_limit allows for all keys and rows. */
static bool
may_use_files(const Sample *sample)
{
	double		image = (double) sample->images.len / sample->n;
	Size		string = sample->shape->collated ? SHAPE_STRING_MAX : 0;

	return temp_file_limit < 0 ||
		sample->rows * (ROW_MEMORY + string + image) <= (double) temp_file_limit * 1024;
}

/* NULL: hardly any row would be in another range than most, as *refusal says. */
static SplitKeys *
split_sample(Sample *sample, int nranges, const char **refusal)
{
	int			largest;
	SplitKeys  *keys = choose_borders(sample, nranges, &largest);

	if (largest <= RANGE_LARGEST * sample->n)
		return keys;
	*refusal = "most rows have the same key";
	pfree(keys);
	return NULL;
}

SplitKeys *
split_choose(Relation heap, Relation index, IndexInfo *info, BlockNumber nblocks,
			 int processes, Size memory, const char **refusal)
{
	Sample	   *sample = take_sample(heap, index, info, 0, nblocks, Min(nblocks, SAMPLE_BLOCKS),
									 SAMPLE_ROWS, true, memory);
	SplitKeys  *keys = NULL;
	int			nranges = 0;

	if (sample != NULL)
		nranges = count_ranges(sample, processes, memory);
	if (split_buffers(memory) < 2 * BLCKSZ)
		*refusal = "maintenance_work_mem is small";
	else if (nranges < 2)
		*refusal = "it is small";
	else if (!may_use_files(sample))
		*refusal = "temp_file_limit may not suffice";
	else
		keys = split_sample(sample, nranges, refusal);
	if (sample != NULL)
		drop_sample(sample);
	return keys;
}

SplitKeys *
split_evenly(Relation heap, Relation index, IndexInfo *info, BlockNumber first,
			 BlockNumber nblocks, double parts, double rows, Size memory)
{
	double		most = split_buffers(memory) / BLCKSZ;
	Sample	   *sample = most < 2 ? NULL :
		take_sample(heap, index, info, first, nblocks, Min(nblocks, SAMPLE_BLOCKS), SAMPLE_ROWS,
					true, memory);
	SplitKeys  *keys = NULL;
	double		nranges;
	const char *refusal;

	if (sample == NULL)
		return NULL;
	/* those of a partial index need not be where the first ones are */
	nranges = Min(Max(parts, sample->rows / Max(rows, 1)) / RANGE_SHARE, most);
	if (nranges >= 2 && may_use_files(sample) &&
		!(sample->shape->integer &&
		  rows_of_key(sample, rows, sample->shape->nkeys, pairs_in) > RUN_ROWS))
		keys = split_sample(sample, nranges, &refusal);
	drop_sample(sample);
	return keys;
}

/* Whether all keys have weights. */
static bool
has_weights(const Sample *sample)
{
	StringInfoData string;
	bool		known = shape_has_weights(sample->shape);

	initStringInfo(&string);
	for (int i = 0; i < sample->n && known; i++)
	{
		resetStringInfo(&string);
		known = shape_string(sample->shape, sample->sorted[i], true, &string);
	}
	pfree(string.data);
	return known;
}

bool
split_estimate(Relation heap, Relation index, IndexInfo *info, BlockNumber nblocks, Size memory,
			   bool weights, SplitEstimate *estimate)
{
	Sample	   *sample = take_sample(heap, index, info, 0, nblocks,
									 Min(nblocks / ESTIMATE_PART, SAMPLE_BLOCKS), ESTIMATE_ROWS,
									 false, memory);

	if (sample == NULL)
		return false;
	estimate->of_key = rows_of_key(sample, sample->rows, sample->shape->nkeys, pairs_apart);
	estimate->of_first = sample->shape->nkeys == 1 ? estimate->of_key :
		rows_of_key(sample, sample->rows, 1, pairs_apart);
	estimate->weighed = weights && has_weights(sample);
	drop_sample(sample);
	return true;
}

Size
split_buffers(Size memory)
{
	return Min(memory / BUFFERS_SHARE, SPLIT_MAX_RANGES * BLCKSZ);
}

/* ---- which range ---- */

/* The first bytes of a string as a number that is in order, as far as it goes. */
static inline uint64
first_bytes(const char *string, Size length)
{
	uint64		first = 0;

	memcpy(&first, string, Min(length, sizeof(first)));
	return pg_ntoh64(first);
}

/*
 * Gives all borders strings, whose images they have: weighed: of weights; false: not all have
 * these.
 */
static bool
set_strings(Split *split, bool weighed)
{
	for (int i = 0; i < split->nborders; i++)
	{
		SplitBorder *border = &split->borders[i];
		StringInfoData string;

		initStringInfo(&string);
		if (!shape_string(split->shape, border->image, weighed, &string))
			return false;
		border->string = string.data;
		border->length = string.len;
		border->first = first_bytes(string.data, string.len);
	}
	return true;
}

Split *
split_open(KeyShape *shape, const SplitKeys *keys)
{
	Split	   *split = palloc0(offsetof(Split, borders) +
								keys->nborders * sizeof(SplitBorder));
	const char *at = keys->images;

	split->shape = shape;
	split->nborders = keys->nborders;
	initStringInfo(&split->scratch);
	for (uint32 i = 0; i < keys->nborders; i++)
	{
		SplitBorder *border = &split->borders[i];
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];
		uint32		nulls PG_USED_FOR_ASSERTS_ONLY;
		uint64		size;

		memcpy(&size, at, sizeof(size));
		border->image = at + sizeof(size);
		at += sizeof(size) + size;
		if (shape->integer)
		{
			shape_values(shape, border->image, values, isnull);
			border->integer = shape_integer(shape, values, isnull, &nulls);
			Assert(nulls == 0);
		}
	}
	split->weighed = shape_has_weights(shape) && set_strings(split, true);
	if (!split->weighed)
		(void) set_strings(split, false);
	return split;
}

/* A key, of which the scratch has the string or nothing, with a border. */
static int
compare_border(Split *split, const SplitBorder *border, const char *image)
{
	const StringInfoData *string = &split->scratch;
	int			order = memcmp(string->data, border->string,
							   Min(string->len, border->length));

	if (order != 0)
		return order;
	if (string->len != border->length && string->len > 0)
		return string->len < border->length ? -1 : 1;
	return shape_compare(split->shape, image, border->image);
}

/* How many borders are below a number by their first bytes. */
static inline int
count_below(const Split *split, uint64 first)
{
	int			below = 0;
	int			n = split->nborders;

	/* without a branch, which would be guessed wrongly half the time */
	while (n > 0)
	{
		int			half = n / 2;
		bool		is_below = split->borders[below + half].first < first;

		below += is_below ? half + 1 : 0;
		n = is_below ? n - half - 1 : half;
	}
	return below;
}

/* Makes the sort string of a key, which is empty where the key has to be compared. */
static inline void
make_string(Split *split, const char *image)
{
	resetStringInfo(&split->scratch);
	if (!shape_string(split->shape, image, split->weighed, &split->scratch))
		resetStringInfo(&split->scratch);
}

int
split_find(Split *split, const char *image)
{
	uint64		first;
	bool		made = !shape_first_bytes(split->shape, image, &first);
	int			low = 0;
	int			high = split->nborders;

	if (made)
	{
		make_string(split, image);
		first = first_bytes(split->scratch.data, split->scratch.len);
	}
	/* mostly, they differ there */
	if (!made || split->scratch.len > 0)
	{
		low = count_below(split, first);
		if (low == high || split->borders[low].first != first)
			return low;
		if (first < PG_UINT64_MAX)
			high = count_below(split, first + 1);
	}
	if (!made)
		make_string(split, image);
	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (compare_border(split, &split->borders[middle], image) < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

int
split_find_integer(const Split *split, uint64 key, uint32 nulls)
{
	int			low = 0;
	int			high = split->nborders;

	while (low < high)
	{
		int			middle = (low + high) / 2;
		uint64		border = split->borders[middle].integer;

		if (nulls == 0 ? key < border :
			shape_integer_compare(split->shape, key, nulls, border, 0) < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool
split_has(Split *split, int range, const char *image)
{
	return (range == 0 ||
			shape_compare(split->shape, split->borders[range - 1].image, image) <= 0) &&
		(range == split->nborders ||
		 shape_compare(split->shape, image, split->borders[range].image) < 0);
}
