/*
 * progress.c
 *		Publishes the progress of a load.
 *
 * A process shows one command at a time.  The build of an index writes its own
 * parameters (0, 3 to 6, 8 to 12, 15 and 16) into whichever command is shown.
 * So it is shown as an index build, and the values about the load go into the
 * parameters it leaves alone.
 */
#include "postgres.h"

#include <math.h>

#include "access/nbtree.h"
#include "catalog/pg_am_d.h"
#include "commands/progress.h"
#include "lib/stringinfo.h"
#include "pgstat.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/timestamp.h"

#include "server/progress.h"

/*
 * With a COPY.  The view in pgbulk--*.sql reads these as param8 to 10 and 14 to
 * 20, and progress_nodes_query param11.  The index is 0 unless entries are inserted.
 * The share is in units of 1/10000 plus one, as 0 means unknown; the end is a
 * timestamp, 0 if unknown.
 */
#define PROGRESS_BULK_INDEX	7
#define PROGRESS_BULK_ENTRIES	8
#define PROGRESS_BULK_INSERTED	9
#define PROGRESS_BULK_NODES		10
#define PROGRESS_BULK_REJECTED	13
#define PROGRESS_BULK_READ_END	14
#define PROGRESS_BULK_SHARE		15
#define PROGRESS_BULK_END		16
#define PROGRESS_BULK_PHASE		17
#define PROGRESS_BULK_STARTED	18
#define PROGRESS_BULK_MAGIC		19

#define PROGRESS_MAGIC INT64CONST(0x706762756c6b)	/* "pgbulk" */

/*
 * With an index build, which leaves six parameters for more values than that.
 * Each has 48 bits of value and a tag of 15 bits above: "pg" with the rows
 * loaded, the upper and the lower half of rows per second with those rejected
 * and excluded; the share with total bytes; with bytes done, the estimated
 * total seconds as 1000 ln (1 + milliseconds), 0 if unknown; and with the start
 * time in milliseconds, what the index's share of the work has behind its
 * scan, if its access method reports that itself.  The view reads these as
 * param2, 3, 8, 18, 19 and 20.
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

#define SHARE_PARTS 10000

/*
 * Seconds that an index entry takes that waits, until it is known: between an
 * integer's and a text's, on two cores of a shared machine.
 */
#define ENTRY_SECONDS 1.5e-6

/* Fraction of a batch of entries after which only its own pace counts. */
#define ENTRIES_TRUSTED 0.25

/* This process's most recently published load; NULL: none, as in a worker. */
static Progress *current;

/* The handle of shared memory that tells of other servers; 0: there is none. */
static uint32 nodes;

/*
 * Counts of the index that is shown.  After an error they may dangle, until the memory of the load
 * goes, or the statement of the server shows its builds no more: until then none is shown.
 */
static ProgressCounts *counts;
static ProgressCounts own_counts;
static bool shown_otherwise;	/* a statement of the server shows its builds */

/* Totals of that index. */
typedef struct IndexTotals
{
	BlockNumber blocks;
	uint64		rows;
	BlockNumber old_blocks;		/* of the file that new keys are merged with */
	double		behind_scan;	/* share of the work that its access method reports itself */
} IndexTotals;

static IndexTotals totals;

/* Sets command and parameters in one step, so that nobody sees the command without them. */
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

/* ---- the load ---- */

static double
seconds_since(TimestampTz start)
{
	return (double) (GetCurrentTimestamp() - start) / USECS_PER_SEC;
}

static int64
published_share(const Progress *progress)
{
	return progress->estimate.share < 0 ? 0 : 1 + (int64) (progress->estimate.share * SHARE_PARTS);
}

static TimestampTz
published_end(const Progress *progress)
{
	return progress->estimate.end < 0 ? 0 :
		progress->started + (TimestampTz) (progress->estimate.end * USECS_PER_SEC);
}

static void
progress_publish(Progress *progress)
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
		PROGRESS_BULK_INDEX,
		PROGRESS_BULK_ENTRIES,
		PROGRESS_BULK_INSERTED,
		PROGRESS_BULK_NODES,
		PROGRESS_BULK_REJECTED,
		PROGRESS_BULK_READ_END,
		PROGRESS_BULK_SHARE,
		PROGRESS_BULK_END,
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
		progress->entries.index,
		progress->entries.total,
		progress->entries.done,
		nodes,
		progress->rejected,
		progress->read_end,
		published_share(progress),
		published_end(progress),
		progress->phase,
		progress->started,
		PROGRESS_MAGIC
	};

	show(PROGRESS_COMMAND_COPY, progress->relid, lengthof(index), index, value);
	current = progress;
	counts = NULL;
}

static void
forget(void *arg)
{
	if (current != arg)
		return;
	current = NULL;
	counts = NULL;
}

void
progress_init(Progress *progress, const char *name, double interval)
{
	memset(progress, 0, sizeof(Progress));
	progress->name = name;
	progress->interval = interval;
	progress->forget.func = forget;
	progress->forget.arg = progress;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &progress->forget);
}

void
progress_begin(Progress *progress, Oid relid, int64 bytes_total,
			   bool from_client)
{
	progress->relid = relid;
	progress->from_client = from_client;
	progress->bytes_total = bytes_total;
	progress->read_end = 0;
	progress->bytes = progress->loaded = progress->excluded = progress->rejected = 0;
	progress->entries = (ProgressEntries) {0};
	progress->read = ESTIMATE_UNKNOWN;
	if (progress->started == 0)
	{
		progress->started = progress->last_notice = GetCurrentTimestamp();
		estimate_begin(&progress->estimate);
		if (bytes_total > 0)
			estimate_done(&progress->estimate, 0, 0);
	}
	else if (counts != NULL && progress->estimate.share >= 0)
		/* an index build failed, whose access method may have reported that much */
		progress->estimate.share = Min(progress->estimate.share + totals.behind_scan,
									   ESTIMATE_MAX);
	progress->phase = BULK_PHASE_STARTING;
	progress_publish(progress);
}

/* ---- NOTICEs ---- */

static const char *const phase_words[] = {
	[BULK_PHASE_STARTING] = "starting",
	[BULK_PHASE_READING] = "reading",
	[BULK_PHASE_INDEXES] = "indexes",
	[BULK_PHASE_CONSTRAINTS] = "constraints",
	[BULK_PHASE_ANALYZING] = "analyzing",
	[BULK_PHASE_FINISHING] = "finishing"
};

static int64
rows_read(const Progress *progress)
{
	return progress->loaded + progress->rejected + progress->excluded;
}

/* "reading, 12.5 %, 150000 rows, 50000 rows per second, 00:00:21 left" */
static char *
describe(const Progress *progress, TimestampTz now)
{
	double		reading = (double) ((progress->read_end != 0 ? progress->read_end : now) -
									progress->started) / USECS_PER_SEC;
	double		left = progress->estimate.end - (double) (now - progress->started) / USECS_PER_SEC;
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, phase_words[progress->phase]);
	if (progress->estimate.share >= 0)
		appendStringInfo(&text, ", %.1f %%", floor(progress->estimate.share * 1000) / 10);
	appendStringInfo(&text, ", %lld rows", (long long) rows_read(progress));
	if (progress->rejected > 0)
		appendStringInfo(&text, " (%lld rejected)", (long long) progress->rejected);
	if (reading > 0)
		appendStringInfo(&text, ", %.0f rows per second", rows_read(progress) / reading);
	if (progress->estimate.end >= 0)
	{
		int64		seconds = (int64) ceil(Max(left, 0));

		appendStringInfo(&text, ", %02lld:%02d:%02d left", (long long) (seconds / 3600),
						 (int) (seconds / 60 % 60), (int) (seconds % 60));
	}
	return text.data;
}

/* Sends a NOTICE if one is due and it would differ from the last. */
static void
send_notice(Progress *progress, TimestampTz now)
{
	ErrorContextCallback *context = error_context_stack;
	char	   *text;
	int64		sum;

	if (progress->interval <= 0 || progress->phase == BULK_PHASE_STARTING ||
		now - progress->last_notice < progress->interval * USECS_PER_SEC)
		return;
	/* each term but the phase only grows */
	sum = (int64) progress->phase + rows_read(progress) + progress->bytes +
		progress->entries.inserted + progress->entries.done +
		(progress->estimate.share < 0 ? 0 : (int64) (progress->estimate.share * 1000));
	progress->last_notice = now;
	if (sum == progress->notice_sum)
		return;
	progress->notice_sum = sum;
	text = describe(progress, now);
	/* no CONTEXT for the current row */
	error_context_stack = NULL;
	ereport(NOTICE, (errmsg("bulk_load of %s: %s", progress->name, text)));
	error_context_stack = context;
	pfree(text);
}

/* ---- share of the work ---- */

static void show_two(int a, int64 value_a, int b, int64 value_b);

void
progress_phase(Progress *progress, BulkPhase phase, double expected, double later)
{
	progress->phase = phase;
	if (phase > BULK_PHASE_READING && progress->read_end == 0)
		progress->read_end = GetCurrentTimestamp();
	progress->later = later;
	estimate_step(&progress->estimate, seconds_since(progress->started), expected, later);
	progress_publish(progress);
	send_notice(progress, GetCurrentTimestamp());
}

/* Seconds for the batch of entries that is being inserted. */
static double
batch_seconds(const Progress *progress, TimestampTz now)
{
	return progress->entries.total == 0 ? 0 :
		(double) (now - progress->entries.begun) / USECS_PER_SEC;
}

/* Seconds that an entry takes: as in the batches before, and more and more as in this one. */
static double
entry_seconds(const Progress *progress, double batch)
{
	const ProgressEntries *entries = &progress->entries;
	double		pace = entries->inserted > 0 ? entries->seconds / entries->inserted : ENTRY_SECONDS;
	double		weight;

	if (entries->done == 0)
		return pace;
	weight = Min((double) entries->done / entries->total / ENTRIES_TRUSTED, 1);
	return (1 - weight) * pace + weight * batch / entries->done;
}

/* The fraction of phase reading that is done, including the index entries of all rows. */
static double
part_done(const Progress *progress, TimestampTz now)
{
	const ProgressEntries *entries = &progress->entries;
	double		batch = batch_seconds(progress, now);
	double		passed = (double) (now - progress->started) / USECS_PER_SEC -
		progress->estimate.step_begun;
	double		reading = Max(passed - entries->seconds - batch, 0);
	double		left;
	double		rest;

	if (entries->taken == 0 || progress->read <= 0)
		return progress->read;
	left = entries->taken / Min(progress->read, 1) - entries->inserted - entries->done;
	rest = reading * (1 - Min(progress->read, 1)) / progress->read +
		Max(left, 0) * entry_seconds(progress, batch);
	return passed + rest > 0 ? passed / (passed + rest) : progress->read;
}

void
progress_update(Progress *progress, double done, int64 bytes, int64 loaded,
				int64 excluded, int64 rejected)
{
	static const int index[] = {
		PROGRESS_COPY_BYTES_PROCESSED,
		PROGRESS_COPY_TUPLES_PROCESSED,
		PROGRESS_COPY_TUPLES_EXCLUDED,
#ifdef PROGRESS_COPY_TUPLES_SKIPPED
		PROGRESS_COPY_TUPLES_SKIPPED,
#endif
		PROGRESS_BULK_REJECTED,
		PROGRESS_BULK_SHARE,
		PROGRESS_BULK_END
	};
	TimestampTz now = GetCurrentTimestamp();

	progress->bytes = bytes;
	progress->loaded = loaded;
	progress->excluded = excluded;
	progress->rejected = rejected;
	progress->estimate.rest = progress->later;
	progress->read = done;
	estimate_done(&progress->estimate, (double) (now - progress->started) / USECS_PER_SEC,
				  part_done(progress, now));

	if (!shows(PROGRESS_COMMAND_COPY) || current != progress ||
		MyBEEntry->st_progress_command_target != progress->relid)
		progress_publish(progress);
	else
	{
		const int64 value[] = {
			bytes,
			loaded,
			excluded,
#ifdef PROGRESS_COPY_TUPLES_SKIPPED
			rejected,
#endif
			rejected,
			published_share(progress),
			published_end(progress)
		};

		pgstat_progress_update_multi_param(lengthof(index), index, value);
	}
	send_notice(progress, now);
}

/* ---- steps ---- */

static inline int64
tagged(int64 value, int64 tag)
{
	return Min(value, (INT64CONST(1) << TAG_SHIFT) - 1) | tag << TAG_SHIFT;
}

static int64
share_tag(const Progress *progress)
{
	return tagged(progress->bytes_total, published_share(progress));
}

static int64
end_tag(const Progress *progress)
{
	double		end = progress->estimate.end;

	return tagged(progress->bytes,
				  end < 0 ? 0 : Max(rint(1000 * log(1 + end * 1000)), 1));
}

/* Publishes a changed estimate, whichever command is shown. */
static void
publish_estimate(const Progress *progress)
{
	if (shows(PROGRESS_COMMAND_COPY))
		show_two(PROGRESS_BULK_SHARE, published_share(progress), PROGRESS_BULK_END,
				 published_end(progress));
	else if (shows(PROGRESS_COMMAND_CREATE_INDEX))
		show_two(PROGRESS_INDEX_BYTES_TOTAL, share_tag(progress), PROGRESS_INDEX_BYTES,
				 end_tag(progress));
}

void
progress_step(double expected, double rest)
{
	if (current == NULL)
		return;
	estimate_step(&current->estimate, seconds_since(current->started), expected,
				  rest + current->later);
	publish_estimate(current);
	send_notice(current, GetCurrentTimestamp());
}

void
progress_done(double done)
{
	TimestampTz now;

	if (current == NULL)
		return;
	now = GetCurrentTimestamp();
	estimate_done(&current->estimate, (double) (now - current->started) / USECS_PER_SEC, done);
	publish_estimate(current);
	send_notice(current, now);
}

void
progress_end(Progress *progress)
{
	if (nodes != 0)
		progress_phase(progress, BULK_PHASE_FINISHING, 0, 0);
	else
		pgstat_progress_end_command();
	current = NULL;
}

/* ---- other servers ---- */

const char *const progress_nodes_query =
	"SELECT pid, param11 FROM pg_catalog.pg_stat_get_progress_info('COPY'::pg_catalog.text)"
	" WHERE param20 OPERATOR(pg_catalog.=) 123589335805035::pg_catalog.int8"
	" AND param11 OPERATOR(pg_catalog.<>) 0::pg_catalog.int8";

void
progress_nodes(uint32 handle)
{
	nodes = handle;
	if (current != NULL)
		progress_publish(current);
}

void
progress_leave(void)
{
	nodes = 0;
	pgstat_progress_end_command();
}

/* ---- index entries that wait ---- */

/* Where those of all processes count; NULL: this one inserts them alone. */
static pg_atomic_uint64 *inserted_together;

void
progress_entries_wait(uint64 n)
{
	if (current != NULL)
		current->entries.taken += n;
}

pg_atomic_uint64 *
progress_entries_together(pg_atomic_uint64 *inserted)
{
	pg_atomic_uint64 *before = inserted_together;

	inserted_together = inserted;
	return before;
}

void
progress_entries_begin(uint64 n)
{
	ProgressEntries *entries;

	if (current == NULL)
		return;
	entries = &current->entries;
	entries->total = n;
	entries->done = 0;
	entries->index = InvalidOid;
	entries->begun = GetCurrentTimestamp();
	entries->phase = current->phase;
	current->phase = BULK_PHASE_INDEXES;
	progress_publish(current);
}

void
progress_entries_end(void)
{
	ProgressEntries *entries;

	if (current == NULL)
		return;
	entries = &current->entries;
	entries->seconds += batch_seconds(current, GetCurrentTimestamp());
	/* also those that the server has inserted */
	entries->inserted += entries->total;
	entries->total = entries->done = 0;
	entries->index = InvalidOid;
	current->phase = entries->phase;
	progress_publish(current);
}

void
progress_entries_index(Oid index)
{
	if (current == NULL)
		return;
	current->entries.index = index;
	if (shows(PROGRESS_COMMAND_COPY))
		pgstat_progress_update_param(PROGRESS_BULK_INDEX, index);
}

void
progress_entries_done(uint64 n)
{
	TimestampTz now;
	uint64		together = inserted_together == NULL ? 0 :
		pg_atomic_add_fetch_u64(inserted_together, n);
	uint64		done;

	if (current == NULL || current->entries.total == 0)
		return;
	done = inserted_together == NULL ? current->entries.done + n : together;
	now = GetCurrentTimestamp();
	current->entries.done = Min(done, current->entries.total);
	estimate_done(&current->estimate, (double) (now - current->started) / USECS_PER_SEC,
				  part_done(current, now));
	if (shows(PROGRESS_COMMAND_COPY))
		pgstat_progress_update_param(PROGRESS_BULK_INSERTED, current->entries.done);
	publish_estimate(current);
	send_notice(current, now);
}

/* ---- index builds ---- */

void
progress_counts_init(ProgressCounts *counts)
{
	pg_atomic_init_u64(&counts->blocks, 0);
	pg_atomic_init_u64(&counts->rows, 0);
}

/* Rows read per second, limited to what two tags can hold. */
static int64
rows_per_second(const Progress *progress)
{
	TimestampTz took = progress->read_end - progress->started;

	if (took <= 0)
		return 0;
	return Min(rint((double) rows_read(progress) * USECS_PER_SEC / took), (1 << 2 * TAG_BITS) - 1);
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
	const Progress *load = current;

	counts = together;
	if (together == NULL)
	{
		counts = &own_counts;
		progress_counts_init(counts);
	}
	totals = (IndexTotals) {0};
	if (shown_otherwise)
		return;
	if (load != NULL && index->rd_rel->relam != BTREE_AM_OID)
		totals.behind_scan = 0.5 * estimate_part(&load->estimate);
	if (load != NULL)
	{
		int64		rate = rows_per_second(load);
		int64		part = (int64) (totals.behind_scan * SHARE_PARTS);
		const int64 value[] = {
			PROGRESS_CREATEIDX_COMMAND_REINDEX,
			RelationGetRelid(index),
			index->rd_rel->relam,
			PROGRESS_CREATEIDX_PHASE_BUILD,
			PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE,
			share_tag(load),
			tagged(load->loaded, TAG_MAGIC),
			end_tag(load),
			tagged(load->rejected, rate >> TAG_BITS),
			tagged(load->started / 1000, part),
			tagged(load->excluded, rate & ((1 << TAG_BITS) - 1))
		};

		show(PROGRESS_COMMAND_CREATE_INDEX, load->relid, lengthof(param), param, value);
	}
	else
	{
		/* a worker shows only the subphase */
		const int64 value[] = {
			PROGRESS_CREATEIDX_COMMAND_REINDEX,
			RelationGetRelid(index),
			index->rd_rel->relam,
			PROGRESS_CREATEIDX_PHASE_BUILD,
			PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE
		};

		show(PROGRESS_COMMAND_CREATE_INDEX, RelationGetRelid(heap), lengthof(value), param, value);
	}
}

void
progress_index_end(void)
{
	if (shown_otherwise)
		counts = NULL;
	else if (current != NULL)
	{
		/* in one step: what the index's own method counts is part of the share from now on */
		estimate_done(&current->estimate, seconds_since(current->started), 1);
		progress_publish(current);
		send_notice(current, GetCurrentTimestamp());
	}
	else
	{
		counts = NULL;
		pgstat_progress_end_command();
	}
}

void
progress_index_shown(bool shown)
{
	shown_otherwise = shown;
	counts = NULL;
}

bool
progress_index_is_shown(void)
{
	return shown_otherwise;
}

/* NULL: no index build is shown.  A worker of a statement only counts, where its leader looks. */
static ProgressCounts *
shown_counts(void)
{
	return shown_otherwise || shows(PROGRESS_COMMAND_CREATE_INDEX) ? counts : NULL;
}

/*
 * Totals: rows are scanned and then written to leaves, with those of an old
 * file if there is one.
 */
static void
report_index(uint64 blocks, uint64 rows)
{
	double		done = 0;

	if (current == NULL || shown_otherwise)
		return;
	if (totals.old_blocks > 0)
		done = 0.5 + 0.5 * Min((double) blocks / totals.old_blocks, 1);
	else
	{
		if (totals.blocks > 0)
			done = 0.5 * Min((double) blocks / totals.blocks, 1);
		if (totals.rows > 0)
			done += 0.5 * Min((double) rows / totals.rows, 1);
	}
	progress_done(done);
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
	totals.blocks = blocks;
	if (shown_counts() != NULL)
		show_two(PROGRESS_CREATEIDX_SUBPHASE, PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN,
				 PROGRESS_SCAN_BLOCKS_TOTAL, blocks);
}

void
progress_index_sort(uint64 rows)
{
	totals.rows = rows;
	if (shown_counts() != NULL)
		show_two(PROGRESS_CREATEIDX_SUBPHASE, PROGRESS_BTREE_PHASE_PERFORMSORT_1,
				 PROGRESS_CREATEIDX_TUPLES_TOTAL, rows);
}

/* Counts blocks from 0 again, of a new total. */
static void
restart_blocks(BlockNumber blocks)
{
	if (shown_counts() == NULL)
		return;
	pg_atomic_write_u64(&counts->blocks, 0);
	show_two(PROGRESS_SCAN_BLOCKS_TOTAL, blocks, PROGRESS_SCAN_BLOCKS_DONE, 0);
}

void
progress_index_scan_other(BlockNumber blocks)
{
	totals.blocks = blocks;
	restart_blocks(blocks);
}

void
progress_index_merge(BlockNumber old_blocks)
{
	totals.old_blocks = old_blocks;
	restart_blocks(old_blocks);
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
	if (shown_counts() == NULL)
		return;
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
								 pg_atomic_add_fetch_u64(&counts->blocks, n));
	report_index(pg_atomic_read_u64(&counts->blocks), pg_atomic_read_u64(&counts->rows));
}

void
progress_index_rows(uint64 n)
{
	if (shown_counts() == NULL)
		return;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
								 pg_atomic_add_fetch_u64(&counts->rows, n));
	report_index(pg_atomic_read_u64(&counts->blocks), pg_atomic_read_u64(&counts->rows));
}
