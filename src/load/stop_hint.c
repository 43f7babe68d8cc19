/*
 * stop_hint.c
 *		See stop_hint.h.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "check/duplicates.h"
#include "load/stop_hint.h"
#include "miscadmin.h"
#include "server/subtransaction.h"
#include "table/partition_tree.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* A search for a HINT, in a subtransaction that is rolled back. */
typedef struct HintSearch
{
	Diagnosis  *diagnosis;
	const Batch *batch;
	const ErrorData *error;
	const char *duplicate_hint;
	const char *hint;
} HintSearch;

/* ---- user-defined code ---- */

static void
note_state(StopHint *stop)
{
	GetUserIdAndSecContext(&stop->user, &stop->security);
	stop->settings = NewGUCNestLevel();
	AtEOXact_GUC(false, stop->settings);
}

void
stop_hint_open(StopHint *stop, const Target *target, const BulkOptions *options)
{
	note_state(stop);
	stop->duplicate_hint = duplicates_hint(target->rel, options);
}

static bool
is_as_before(const StopHint *stop)
{
	StopHint	now;

	note_state(&now);
	return now.user == stop->user && now.security == stop->security &&
		now.settings == stop->settings;
}

/* ---- errors ---- */

bool
stop_hint_is_for(int sqlerrcode)
{
	return ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_DATA_EXCEPTION ||
		sqlerrcode == ERRCODE_UNIQUE_VIOLATION;
}

static RejectReason
reason_of(int sqlerrcode)
{
	switch (sqlerrcode)
	{
		case ERRCODE_BAD_COPY_FILE_FORMAT:
			return REJECT_SYNTAX;
		case ERRCODE_CHARACTER_NOT_IN_REPERTOIRE:
		case ERRCODE_UNTRANSLATABLE_CHARACTER:
			return REJECT_ENCODING;
		default:
			return REJECT_VALUE;
	}
}

/*
 * Whether the error has a HINT to keep; the server's about DateStyle, and about
 * line ends in values, are replaced.
 */
static bool
has_better_hint(const ErrorData *error)
{
	return error->hint != NULL && error->sqlerrcode != ERRCODE_DATETIME_FIELD_OVERFLOW &&
		error->sqlerrcode != ERRCODE_BAD_COPY_FILE_FORMAT;
}

/* ---- the search ---- */

static void
look(void *arg)
{
	HintSearch *search = arg;
	/*
	 * errors of input functions are about the value, whatever their code:
	 * \u0000 in jsonb has that of an encoding error
	 */
	RejectReason reason = search->batch->conv->input_column >= 0 ? REJECT_VALUE :
		reason_of(search->error->sqlerrcode);

	search->hint = diagnosis_of_row(search->diagnosis, search->batch->reader, search->batch->next,
									reason, search->error->message);
	if (search->hint == NULL && search->error->hint == NULL && reason != REJECT_VALUE)
		search->hint = reject_general_hint(reason, search->error->message);
}

/* The conflicting key may be in another table that a function or trigger writes to. */
static void
look_at_table(void *arg)
{
	HintSearch *search = arg;
	const ErrorData *error = search->error;
	Oid			namespace = error->schema_name != NULL ?
		get_namespace_oid(error->schema_name, true) : InvalidOid;
	Oid			table = OidIsValid(namespace) && error->table_name != NULL ?
		get_relname_relid(error->table_name, namespace) : InvalidOid;

	if (OidIsValid(table) && partition_tree_is_part_of(table, search->diagnosis->target->relid))
		search->hint = search->duplicate_hint;
}

void
stop_hint_add_duplicate(const StopHint *stop, ErrorData *error)
{
	if (error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION && error->hint == NULL &&
		stop->duplicate_hint != NULL)
		error->hint = pstrdup(stop->duplicate_hint);
}

void
stop_hint_add(const StopHint *stop, Diagnosis *diagnosis, const Batch *batch, ErrorData *error)
{
	HintSearch	search = {
		.diagnosis = diagnosis,
		.batch = batch,
		.error = error,
		.duplicate_hint = stop->duplicate_hint
	};
	bool		duplicate = error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION;

	if (has_better_hint(error) || !is_as_before(stop))
		return;
	/* a row that reached the writer could be read */
	if (duplicate ? stop->duplicate_hint != NULL :
		batch->writer->current_row < 0 && batch->next < batch->reader->result.nrows)
		subtransaction_look(duplicate ? look_at_table : look, &search);
	if (search.hint != NULL)
		error->hint = pstrdup(search.hint);
}
