/*
 * progress.c
 *		What others see of a running load.
 *
 * An index build inside the load writes its own progress parameters, without
 * asking, into whatever command the backend shows: 0, 3 to 6, 8 to 12, 15 and
 * 16.  Our own are those that it leaves alone.
 */
#include "postgres.h"

#include "commands/progress.h"
#include "pgstat.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/timestamp.h"

#include "progress.h"

/* The view in pgbulk--*.sql knows these as param14, 15, 18, 19 and 20. */
#define PROGRESS_BULK_REJECTED	13
#define PROGRESS_BULK_READ_END	14
#define PROGRESS_BULK_PHASE		17
#define PROGRESS_BULK_STARTED	18
#define PROGRESS_BULK_MAGIC		19

#define PROGRESS_MAGIC INT64CONST(0x706762756c6b)	/* "pgbulk" */

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

	pgstat_progress_start_command(PROGRESS_COMMAND_COPY, progress->relid);
	pgstat_progress_update_multi_param(lengthof(index), index, value);
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

	if (MyBEEntry != NULL &&
		(MyBEEntry->st_progress_command != PROGRESS_COMMAND_COPY ||
		 MyBEEntry->st_progress_command_target != progress->relid))
		progress_publish(progress);
	else
		pgstat_progress_update_multi_param(lengthof(index), index, value);
}

void
progress_end(Progress *progress)
{
	pgstat_progress_end_command();
}
