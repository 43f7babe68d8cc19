/*
 * rejects.c
 *		The reject stream, which distributes bad rows to table, file, log and
 *		notices.
 *
 * A stream passes each bad row to its parts (reject_parts.h) and enforces the
 * limits.  Everything it holds is in one memory context, in relations, and in
 * files of the server's fd layer, so that an abort needs no cleanup.
 */
#include "postgres.h"

#include "access/xact.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "server/text_clip.h"
#include "utils/memutils.h"

#include "format/encoding.h"
#include "reject/reject_parts.h"
#include "reject/rejects.h"

/* Bytes that may wait in the table's buffer until the next flush, and at most. */
#define REJECTS_ENOUGH ((Size) 1024 * 1024)
#define REJECTS_TOO_MUCH ((Size) 8 * 1024 * 1024)

/* Bytes of a value shown in a NOTICE, as in COPY. */
#define NOTICE_VALUE 100

struct RejectStream
{
	const BulkOptions *options;
	MemoryContext context;
	SubTransactionId subxact;	/* that of rejects_open */
	bool		held;
	bool		row_notices_suppressed; /* an earlier attempt has sent NOTICEs for each row */
	RejectSummary *summary;
	FileCounts *counts;			/* by number of the file; or NULL */
	RejectTable *table;			/* NULL: none */
	RejectFile *file;			/* NULL: none */
	int64		untold[REJECT_NREASONS];	/* duplicates that are only counted */

	/* the input file of the last bad row, as given and as valid text */
	char	   *file_given;
	char	   *file_text;
};

RejectStream *
rejects_open(const BulkOptions *options, Relation target, int64 load_id, List *inputs,
			 FileCounts *counts)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pgbulk rejects",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	RejectStream *rejects = palloc0(sizeof(RejectStream));

	rejects->options = options;
	rejects->context = context;
	rejects->subxact = GetCurrentSubTransactionId();
	rejects->summary = reject_summary_create(options);
	rejects->counts = counts;

	/* the table first, so that a load without privileges on it creates no file */
	if (options->reject_table != NULL)
		rejects->table = reject_table_open(options, target, load_id);
	if (options->reject_file != NULL)
		rejects->file = reject_file_open(options, inputs);

	MemoryContextSwitchTo(caller);
	return rejects;
}

void
rejects_header(RejectStream *rejects, const char *raw, size_t len)
{
	if (rejects->file != NULL)
		reject_file_header(rejects->file, raw, len);
}

bool
rejects_accepting(const RejectStream *rejects)
{
	return rejects->options->on_error != BULK_ON_ERROR_STOP;
}

bool
rejects_have_effects(const RejectStream *rejects)
{
	return rejects->table != NULL && !reject_table_is_plain(rejects->table);
}

bool
rejects_parallel_safe(const RejectStream *rejects)
{
	return rejects->table == NULL || reject_table_parallel_safe(rejects->table);
}

static const char *
rejects_file_text(RejectStream *rejects, const char *file)
{
	if (rejects->file_given == NULL || strcmp(rejects->file_given, file) != 0)
	{
		MemoryContext caller = MemoryContextSwitchTo(rejects->context);

		if (rejects->file_given != NULL)
		{
			pfree(rejects->file_given);
			pfree(rejects->file_text);
		}
		rejects->file_given = pstrdup(file);
		rejects->file_text = encoding_path_text(file);
		MemoryContextSwitchTo(caller);
	}
	return rejects->file_text;
}

/* DETAIL and HINT common to both limits. */
static int
detail_of_limit(const RejectStream *rejects)
{
	const char *first = reject_summary_first(rejects->summary, false);

	if (*first != '\0')
		errdetail("First rejects:\n%s", first);
	if (rejects->file != NULL)
		errhint("Those found so far are in \"%s\"; correct the rows, or raise \"reject_limit\".",
				rejects->options->reject_file);
	else
		errhint("Correct the rows, raise \"reject_limit\", or name a \"reject_file\", which survives the rollback.");
	return 0;
}

static void
check_row_limit(RejectStream *rejects)
{
	int64		limit = rejects->options->reject_limit;

	if (limit < 0 || reject_summary_rejected(rejects->summary) <= limit)
		return;

	if (rejects->file != NULL)
		reject_file_flush(rejects->file);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("skipped more than reject_limit (%lld) bad rows",
					(long long) limit),
			 detail_of_limit(rejects)));
}

static void
check_percent_limit(RejectStream *rejects, int64 rows_read)
{
	double		percent = rejects->options->reject_percent;
	int64		rejected = reject_summary_rejected(rejects->summary);

	if (percent < 0 || (double) rejected * 100.0 <= percent * (double) rows_read)
		return;

	if (rejects->file != NULL)
		reject_file_flush(rejects->file);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("skipped more than reject_limit (%g%%) bad rows: %lld of %lld",
					percent, (long long) rejected, (long long) rows_read),
			 detail_of_limit(rejects)));
}

static int64
count_duplicates(const RejectStream *rejects)
{
	return reject_summary_count(rejects->summary, REJECT_DUPLICATE) +
		reject_summary_count(rejects->summary, REJECT_REPLACED);
}

/* Checks the limit for the current row, or for all rows at the end. */
static void
check_duplicate_limit(RejectStream *rejects, int64 rows_read)
{
	const BulkOptions *options = rejects->options;
	int64		limit = options->duplicate_limit;
	double		percent = options->duplicate_percent;
	int64		count = count_duplicates(rejects);
	bool		by_percent = rows_read >= 0;

	if (by_percent ?
		percent < 0 || (double) count * 100.0 <= percent * (double) rows_read :
		limit < 0 || count <= limit)
		return;
	if (rejects->file != NULL)
		reject_file_flush(rejects->file);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 by_percent ?
			 errmsg("more than duplicate_limit (%g%%) rows are duplicates: %lld of %lld",
					percent, (long long) count, (long long) rows_read) :
			 errmsg("more than duplicate_limit (%lld) rows are duplicates",
					(long long) limit),
			 errdetail("First duplicates:\n%s",
					   reject_summary_first(rejects->summary, true)),
			 errhint("Nothing was loaded; remove them, or raise \"duplicate_limit\".")));
}

static void
notice_reject(const Reject *reject)
{
	char	   *message = text_clip_string(reject->message, 2 * NOTICE_VALUE);

	if (reject->reason == REJECT_REPLACED)
		ereport(NOTICE,
				(errmsg("replacing row by that at file \"%s\", line %lld: %s",
						reject->file, (long long) reject->line, message)));
	else if (reject->column != NULL)
		ereport(NOTICE,
				(errmsg("skipping row at file \"%s\", line %lld, column \"%s\": %s",
						reject->file, (long long) reject->line,
						reject->column, message)));
	else
		ereport(NOTICE,
				(errmsg("skipping row at file \"%s\", line %lld: %s",
						reject->file, (long long) reject->line, message)));
	pfree(message);
}

void
rejects_add(RejectStream *rejects, const Reject *given)
{
	Reject		reject = *given;

	Assert(rejects_accepting(rejects) || reject_is_duplicate(reject.reason));

	reject.file = rejects_file_text(rejects, given->file);
	reject_summary_add(rejects->summary, &reject);
	if (rejects->counts != NULL)
		rejects->counts[reject.file_number].rejects[reject.reason]++;
	if (rejects->options->relay != BULK_RELAY_OFF)
		relay_reject(&reject);
	if (rejects->file != NULL)
		reject_file_put(rejects->file, &reject);
	if (rejects->options->log_verbosity == BULK_VERBOSITY_VERBOSE &&
		!rejects->row_notices_suppressed)
		notice_reject(&reject);
	if (reject_is_duplicate(reject.reason))
		check_duplicate_limit(rejects, -1);
	else
		check_row_limit(rejects);

	if (rejects->table != NULL)
	{
		reject_table_put(rejects->table, &reject);

		/*
		 * in a subtransaction that may be rolled back, the rows would be lost
		 * with it: buffer them
		 */
		if (reject_table_buffered(rejects->table) > REJECTS_TOO_MUCH &&
			(rejects->held || GetCurrentSubTransactionId() == rejects->subxact))
			reject_table_flush(rejects->table);
	}
}

int64
rejects_room(const RejectStream *rejects, RejectReason reason)
{
	bool		is_duplicate = reject_is_duplicate(reason);
	int64		limit = is_duplicate ? rejects->options->duplicate_limit :
		rejects->options->reject_limit;

	if (limit < 0)
		return PG_INT64_MAX;
	return limit - (is_duplicate ? count_duplicates(rejects) :
					reject_summary_rejected(rejects->summary));
}

int64
rejects_unseen_duplicates(const RejectStream *rejects)
{
	int64		limit = rejects->options->duplicate_limit;

	if (rejects_shown(rejects) || !reject_summary_has_first(rejects->summary))
		return 0;
	return limit < 0 ? PG_INT64_MAX : limit - count_duplicates(rejects);
}

void
rejects_count_duplicates(RejectStream *rejects, int file, RejectReason reason, int64 rows)
{
	if (rejects->counts != NULL)
		rejects->counts[file].rejects[reason] += rows;
	rejects->untold[reason] += rows;
	reject_summary_count_unseen(rejects->summary, reason, rows);
}

void
rejects_count_left(RejectStream *rejects, RejectReason reason, int64 rows)
{
	reject_summary_count_unseen(rejects->summary, reason, rows);
	check_row_limit(rejects);
}

void
rejects_set_null(RejectStream *rejects, const Reject *given)
{
	Reject		value = *given;

	value.file = rejects_file_text(rejects, given->file);
	reject_summary_set_null(rejects->summary, &value);
	if (rejects->options->relay != BULK_RELAY_OFF)
		relay_set_null(&value);
	if (rejects->options->log_verbosity != BULK_VERBOSITY_VERBOSE ||
		rejects->row_notices_suppressed)
		return;
	if (value.value == NULL)
		ereport(NOTICE,
				(errmsg("setting value to null at file \"%s\", line %lld, column \"%s\"",
						value.file, (long long) value.line, value.column)));
	else
	{
		char	   *clipped = text_clip_string(value.value, NOTICE_VALUE);

		ereport(NOTICE,
				(errmsg("setting value to null at file \"%s\", line %lld, column \"%s\": \"%s\"",
						value.file, (long long) value.line, value.column, clipped)));
		pfree(clipped);
	}
}

void
rejects_flush(RejectStream *rejects)
{
	if (rejects->file != NULL)
		reject_file_flush(rejects->file);
	if (rejects->table != NULL &&
		reject_table_buffered(rejects->table) > REJECTS_ENOUGH)
		reject_table_flush(rejects->table);
}

void
rejects_hold(RejectStream *rejects)
{
	rejects->held = true;
	if (rejects->table != NULL)
		reject_table_hold(rejects->table);
}

void
rejects_release(RejectStream *rejects)
{
	rejects->held = false;
	if (rejects->table != NULL)
		reject_table_release(rejects->table);
}

void
rejects_abandon(RejectStream *rejects)
{
	if (rejects->options->relay != BULK_RELAY_OFF)
		relay_again();
	if (rejects->table != NULL)
		reject_table_abandon(rejects->table);
	if (rejects->file != NULL)
		reject_file_close(rejects->file);
	MemoryContextDelete(rejects->context);
}

void
rejects_suppress_row_notices(RejectStream *rejects)
{
	rejects->row_notices_suppressed = true;
}

bool
rejects_shown(const RejectStream *rejects)
{
	return rejects->table != NULL || rejects->file != NULL ||
		rejects->options->relay == BULK_RELAY_ALL ||
		rejects->options->log_verbosity == BULK_VERBOSITY_VERBOSE;
}

int64
rejects_count(const RejectStream *rejects, RejectReason reason)
{
	return reject_summary_count(rejects->summary, reason);
}

int64
rejects_total(const RejectStream *rejects)
{
	return reject_summary_rejected(rejects->summary);
}

void
rejects_close(RejectStream *rejects, int64 rows_read,
			  const RejectAdviser *adviser)
{
	check_percent_limit(rejects, rows_read);
	check_duplicate_limit(rejects, rows_read);
	if (rejects->options->relay != BULK_RELAY_OFF)
	{
		relay_count(RELAY_DUPLICATES, rejects->untold[REJECT_DUPLICATE]);
		relay_count(RELAY_REPLACEMENTS, rejects->untold[REJECT_REPLACED]);
	}

	if (rejects->table != NULL)
	{
		reject_table_flush(rejects->table);
		reject_table_close(rejects->table);
		rejects->table = NULL;
	}
	if (rejects->options->log_verbosity != BULK_VERBOSITY_SILENT)
		reject_summary_report(rejects->summary, adviser);
}

void
rejects_end(RejectStream *rejects)
{
	if (rejects->file != NULL)
		reject_file_close(rejects->file);
	rejects->file = NULL;
}

void
rejects_details(const RejectStream *rejects, CompatJsonb *state)
{
	reject_summary_details(rejects->summary,
						   rejects->options->log_verbosity == BULK_VERBOSITY_VERBOSE, state);
}
