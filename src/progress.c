/*
 * progress.c
 *		What others see of a running load.
 *
 * A process shows one command at a time.  An index build writes its own parameters, without
 * asking, into whatever that is: 0, 3 to 6, 8 to 12, 15 and 16.  So it is shown as
 * what it is, and what is said of the load goes into the parameters that it leaves alone.
 */
#include "postgres.h"

#include <math.h>

#include "access/nbtree.h"
#include "commands/progress.h"
#include "pgstat.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/timestamp.h"

#include "progress.h"

/* With a COPY.  The view in pgbulk--*.sql knows these as param14, 15, 18, 19 and 20. */
#define PROGRESS_BULK_REJECTED	13
#define PROGRESS_BULK_READ_END	14
#define PROGRESS_BULK_PHASE		17
#define PROGRESS_BULK_STARTED	18
#define PROGRESS_BULK_MAGIC		19

#define PROGRESS_MAGIC INT64CONST(0x706762756c6b)	/* "pgbulk" */

/*
 * With an index build, which leaves six parameters for eight values, and the phase is known.  Rows have 48 bits
 * and above them a tag of 15: "pg", the upper and the lower half of rows per second.
 * The view knows these as param2, 3, 8, 18, 19 and 20.
 */
#define PROGRESS_INDEX_BYTES_TOTAL	1
#define PROGRESS_INDEX_LOADED		2
#define PROGRESS_INDEX_BYTES		7
#define PROGRESS_INDEX_REJECTED		17
#define PROGRESS_INDEX_STARTED		18
#define PROGRESS_INDEX_EXCLUDED		19

#define TAG_BITS 15
#define TAG_SHIFT 48
#define TAG_MAGIC 0x7067

/* The load of this process as it was published last; relid 0: there is none. */
static Progress published;

/* Of the index that is shown; after an error it may be dangling until the next load. */
static ProgressCounts *counts;
static ProgressCounts own_counts;

/* In one step, so that nobody finds a command without its parameters. */
static void
show(ProgressCommandType command, Oid relid, int n, const int *index,
	 const int64 *value)
{
	volatile PgBackendStatus *entry = MyBEEntry;

	if (entry == NULL || !pgstat_track_activities)
		return;
	PGSTAT_BEGIN_WRITE_ACTIVITY(entry);
	entry->st_progress_command = command;
	entry->st_progress_command_target = relid;
	for (int i = 0; i < PGSTAT_NUM_PROGRESS_PARAM; i++)
		entry->st_progress_param[i] = 0;
	for (int i = 0; i < n; i++)
		entry->st_progress_param[index[i]] = value[i];
	PGSTAT_END_WRITE_ACTIVITY(entry);
}

static bool
shows(ProgressCommandType command)
{
	return MyBEEntry != NULL && MyBEEntry->st_progress_command == command;
}

static void
progress_publish(const Progress *progress)
{
	static const int index[] = {
		PROGRESS_COPY_COMMAND,
		PROGRESS_COPY_TYPE,
		PROGRESS_COPY_BYTES_TOTAL,
		PROGRESS_COPY_BYTES_PROCESSED,
		PROGRESS_COPY_TUPLES_PROCESSED,
		PROGRESS_COPY_TUPLES_EXCLUDED,
#ifdef PROGRESS_COPY_TUPLES_SKIPPED
		PROGRESS_COPY_TUPLES_SKIPPED,
#endif
		PROGRESS_BULK_REJECTED,
		PROGRESS_BULK_READ_END,
		PROGRESS_BULK_PHASE,
		PROGRESS_BULK_STARTED,
		PROGRESS_BULK_MAGIC
	};
	const int64 value[] = {
		PROGRESS_COPY_COMMAND_FROM,
		progress->from_client ? PROGRESS_COPY_TYPE_PIPE : PROGRESS_COPY_TYPE_FILE,
		progress->bytes_total,
		progress->bytes,
		progress->loaded,
		progress->excluded,
#ifdef PROGRESS_COPY_TUPLES_SKIPPED
		progress->rejected,
#endif
		progress->rejected,
		progress->read_end,
		progress->phase,
		progress->started,
		PROGRESS_MAGIC
	};

	show(PROGRESS_COMMAND_COPY, progress->relid, lengthof(index), index, value);
	published = *progress;
	counts = NULL;
}

void
progress_begin(Progress *progress, Oid relid, int64 bytes_total,
			   bool from_client)
{
	memset(progress, 0, sizeof(Progress));
	progress->relid = relid;
	progress->from_client = from_client;
	progress->started = GetCurrentTimestamp();
	progress->phase = BULK_PHASE_STARTING;
	progress->bytes_total = bytes_total;
	progress_publish(progress);
}

void
progress_phase(Progress *progress, BulkPhase phase)
{
	progress->phase = phase;
	if (phase > BULK_PHASE_READING && progress->read_end == 0)
		progress->read_end = GetCurrentTimestamp();
	progress_publish(progress);
}

void
progress_update(Progress *progress, int64 bytes, int64 loaded,
				int64 excluded, int64 rejected)
{
	static const int index[] = {
		PROGRESS_COPY_BYTES_PROCESSED,
		PROGRESS_COPY_TUPLES_PROCESSED,
		PROGRESS_COPY_TUPLES_EXCLUDED,
#ifdef PROGRESS_COPY_TUPLES_SKIPPED
		PROGRESS_COPY_TUPLES_SKIPPED,
#endif
		PROGRESS_BULK_REJECTED
	};
	const int64 value[] = {
		bytes,
		loaded,
		excluded,
#ifdef PROGRESS_COPY_TUPLES_SKIPPED
		rejected,
#endif
		rejected
	};

	progress->bytes = bytes;
	progress->loaded = loaded;
	progress->excluded = excluded;
	progress->rejected = rejected;

	if (!shows(PROGRESS_COMMAND_COPY) ||
		MyBEEntry->st_progress_command_target != progress->relid)
		progress_publish(progress);
	else
		pgstat_progress_update_multi_param(lengthof(index), index, value);
}

void
progress_end(Progress *progress)
{
	pgstat_progress_end_command();
	published.relid = InvalidOid;
}

/* ---- an index that is built ---- */

void
progress_counts_init(ProgressCounts *counts)
{
	pg_atomic_init_u64(&counts->blocks, 0);
	pg_atomic_init_u64(&counts->rows, 0);
}

static inline int64
tagged(int64 rows, int64 tag)
{
	return Min(rows, (INT64CONST(1) << TAG_SHIFT) - 1) | tag << TAG_SHIFT;
}

/* Rows that were read each second, as far as two tags can tell. */
static int64
rows_per_second(const Progress *progress)
{
	int64		rows = progress->loaded + progress->rejected + progress->excluded;
	TimestampTz took = progress->read_end - progress->started;

	if (took <= 0)
		return 0;
	return Min(rint((double) rows * USECS_PER_SEC / took), (1 << 2 * TAG_BITS) - 1);
}

void
progress_index_begin(Relation heap, Relation index, ProgressCounts *together)
{
	static const int param[] = {
		PROGRESS_CREATEIDX_COMMAND,
		PROGRESS_CREATEIDX_INDEX_OID,
		PROGRESS_CREATEIDX_ACCESS_METHOD_OID,
		PROGRESS_CREATEIDX_PHASE,
		PROGRESS_CREATEIDX_SUBPHASE,
		PROGRESS_INDEX_BYTES_TOTAL,
		PROGRESS_INDEX_LOADED,
		PROGRESS_INDEX_BYTES,
		PROGRESS_INDEX_REJECTED,
		PROGRESS_INDEX_STARTED,
		PROGRESS_INDEX_EXCLUDED
	};
	const Progress *load = &published;
	int64		rate = rows_per_second(load);
	const int64 value[] = {
		PROGRESS_CREATEIDX_COMMAND_REINDEX,
		RelationGetRelid(index),
		index->rd_rel->relam,
		PROGRESS_CREATEIDX_PHASE_BUILD,
		PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE,
		load->bytes_total,
		tagged(load->loaded, TAG_MAGIC),
		load->bytes,
		tagged(load->rejected, rate >> TAG_BITS),
		load->started,
		tagged(load->excluded, rate & ((1 << TAG_BITS) - 1))
	};

	counts = together;
	if (together == NULL)
	{
		counts = &own_counts;
		progress_counts_init(counts);
	}
	/* in a worker there is nothing behind the subphase */
	if (OidIsValid(load->relid))
		show(PROGRESS_COMMAND_CREATE_INDEX, load->relid, lengthof(param), param, value);
	else
		show(PROGRESS_COMMAND_CREATE_INDEX, RelationGetRelid(heap), 5, param, value);
}

void
progress_index_end(void)
{
	Progress	load = published;

	if (OidIsValid(load.relid))
		progress_publish(&load);
	else
	{
		counts = NULL;
		pgstat_progress_end_command();
	}
}

/* NULL: no build is shown. */
static ProgressCounts *
shown_counts(void)
{
	return shows(PROGRESS_COMMAND_CREATE_INDEX) ? counts : NULL;
}

static void
show_two(int a, int64 value_a, int b, int64 value_b)
{
	const int	index[] = {a, b};
	const int64 value[] = {value_a, value_b};

	pgstat_progress_update_multi_param(lengthof(index), index, value);
}

void
progress_index_scan(BlockNumber blocks)
{
	if (shown_counts() != NULL)
		show_two(PROGRESS_CREATEIDX_SUBPHASE, PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN,
				 PROGRESS_SCAN_BLOCKS_TOTAL, blocks);
}

void
progress_index_sort(uint64 rows)
{
	if (shown_counts() != NULL)
		show_two(PROGRESS_CREATEIDX_SUBPHASE, PROGRESS_BTREE_PHASE_PERFORMSORT_1,
				 PROGRESS_CREATEIDX_TUPLES_TOTAL, rows);
}

void
progress_index_merge(BlockNumber old_blocks)
{
	if (shown_counts() == NULL)
		return;
	pg_atomic_write_u64(&counts->blocks, 0);
	show_two(PROGRESS_SCAN_BLOCKS_TOTAL, old_blocks, PROGRESS_SCAN_BLOCKS_DONE, 0);
}

void
progress_index_load(void)
{
	if (shown_counts() != NULL)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
									 PROGRESS_BTREE_PHASE_LEAF_LOAD);
}

void
progress_index_blocks(BlockNumber n)
{
	if (shown_counts() != NULL)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
									 pg_atomic_add_fetch_u64(&counts->blocks, n));
}

void
progress_index_rows(uint64 n)
{
	if (shown_counts() != NULL)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
									 pg_atomic_add_fetch_u64(&counts->rows, n));
}
