/*
 * load_attempts.c
 *		A load whose bad rows cannot be deleted without a trace: it is rolled back, and repeated
 *		without them.
 */
#include "postgres.h"

#include "load/load_parts.h"
#include "server/compat.h"
#include "server/subtransaction.h"
#include "stream/query.h"
#include "utils/memutils.h"

/* Number of attempts after which changing results of functions are to blame. */
#define MAX_ATTEMPTS 10

/*
 * Side effects of the query's functions must happen once and survive all
 * attempts: if there may be any, all rows are fetched before the first attempt.
 */
static void
take_query(Load *load)
{
	QueryRows  *rows;
	Source	   *source;
	bool		takes;

	if (load->options->query == NULL)
		return;
	rows = load_open_query(load);
	takes = query_is_volatile(rows);
	query_close(rows);
	if (!takes)
		return;

	load_prepare_input(load);
	load->query_taken = true;
	load->query_looks = false;
	source = load->source;
	(void) source_next(source);
	raw_remember(load->raw, source);
	(void) source_rest(source, 0);
	source_close(source);
	source_rewind(source, raw_copies(load->raw));
}

static bool
attempt(void *arg)
{
	Load	   *load = arg;

	load_reopen_target(load);
	load_rows(load);
	target_close(load->target);
	return !load->repeats;
}

/*
 * Uses the writer of the attempt before, whose rows are dead now.  But a row
 * that later rows replaced must replace old rows without being stored itself,
 * which only the buffered writer can do.
 */
static void
choose_writer_again(Load *load)
{
	const BulkOptions *options = load->options;
	bool		direct = !refusal_is_any(&load->result->not_direct) &&
		options->writer != BULK_WRITER_BUFFERED;

	if (!direct || options->on_duplicate != BULK_ON_DUPLICATE_KEEP_NEW)
		return;
	load->result->not_direct = REFUSAL(REFUSAL_REFERRED_TO);
	if (options->writer == BULK_WRITER_DIRECT)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("writer \"direct\" cannot take back rows of \"%s\"",
						target_name(load->target)),
				 refusal_detail(&load->result->not_direct),
				 errhint("Use writer \"buffered\", or leave the choice to \"auto\".")));
}

/* Restores the state before the first attempt, except for the rows known to be bad. */
static void
begin_again(Load *load)
{
	LoadResult *result = load->result;

	compat_injection_point("pgbulk-attempt-undone");
	if (load->attempts++ == 0)
		load->bytes_read = source_bytes(load->source);
	if (load->attempts == MAX_ATTEMPTS)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("rows of \"%s\" turn out bad again and again",
						target_name(load->target)),
				 errdetail("The load was undone and done again without them %d times.",
						   MAX_ATTEMPTS - 1),
				 errhint("Functions or triggers of the table may make others bad each time; set \"on_error\" to \"stop\" to see the first.")));
	target_reopen(load->target);
	rejects_abandon(load->rejects);
	load_open_rejects(load);
	rejects_suppress_row_notices(load->rejects);
	target_close(load->target);

	choose_writer_again(load);
	load->files_unlike = load->batches_alone = 0;
	load->next_batches_alone = 1;
	result->tables = NIL;
	result->by_leaf = false;
	result->no_workers = REFUSAL(REFUSAL_NONE);
	load_reset_batch(load);
	bad_rows_sort(load->kept);
	load->batch.known_bad = load->kept;
	load->batch.known_bad_context = AllocSetContextCreate(CurrentMemoryContext,
														  "bulk_load row to pass over",
														  ALLOCSET_SMALL_SIZES);
	source_rewind(load->source, raw_copies(load->raw));
}

void
load_in_attempts(Load *load)
{
	take_query(load);
	target_close(load->target);
	for (;;)
	{
		BadRows    *passed = load->kept;
		bool		stays;

		load->kept = load->batch.kept = bad_rows_open();
		rejects_hold(load->rejects);
		/* the row that an error is about may be gone when this is rolled back */
		error_context_stack = load->callback.previous;
		stays = subtransaction_run(attempt, load);
		error_context_stack = &load->callback;
		if (passed != NULL)
			bad_rows_close(passed);
		if (stays)
			break;
		begin_again(load);
	}
	bad_rows_close(load->kept);
	target_reopen(load->target);
	rejects_release(load->rejects);
}
