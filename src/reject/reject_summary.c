/*
 * reject_summary.c
 *		Counts, kinds and examples of bad rows, and their reports.
 *
 * Rejects with the same reason, SQLSTATE and column are of one kind; without a
 * column, the message up to what it quotes of the value must be the same too.
 * The number of kinds, and so the memory, is limited.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "server/jsonb_push.h"
#include "server/text_clip.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include "reject/reject_parts.h"

/* Number of examples kept; bytes of their texts kept, and shown. */
#define FIRST_KEPT REJECTS_FIRST
#define FIRST_SHOWN 5
#define KEPT_BYTES 1000
#define SHOWN_BYTES 200
#define SHOWN_VALUE 100

/* Examples in the result's details and bytes of their texts, unless all are wanted. */
#define DETAILS_ROWS 3
#define DETAILS_BYTES 100

/* Number of kinds reported; number of kinds up to which messages are distinguished. */
#define KINDS_SHOWN 10
#define KINDS_BY_MESSAGE 1000

/* Rows kept per kind for trying options; bytes of all, and of one kind. */
#define SAMPLES 16
#define ALL_SAMPLES_BYTES (1024 * 1024)
#define KIND_SAMPLES_BYTES (ALL_SAMPLES_BYTES / KINDS_SHOWN)

const char *const reject_reason_names[REJECT_NREASONS] = {
	[REJECT_SYNTAX] = "syntax",
	[REJECT_ENCODING] = "encoding",
	[REJECT_VALUE] = "value",
	[REJECT_CONSTRAINT] = "constraint",
	[REJECT_FOREIGN_KEY] = "foreign_key",
	[REJECT_DUPLICATE] = "duplicate",
	[REJECT_REPLACED] = "replaced"
};

/* Reason in a kind's key for a value set to NULL, which is not a reject. */
#define SET_NULL REJECT_NREASONS

typedef struct KindKey
{
	int			reason;			/* RejectReason, or SET_NULL */
	int			sqlstate;
	uint32		message_hash;	/* 0 if there is a column */
	char		column[NAMEDATALEN];	/* "": none */
} KindKey;

/* Copied and clipped texts of a reject. */
typedef struct Example
{
	char	   *file;
	int64		line;
	RejectReason reason;
	char	   *column;			/* or NULL */
	char	   *message;		/* or NULL */
	char	   *value;			/* or NULL */
} Example;

typedef struct Kind
{
	KindKey		key;			/* must be first for dynahash */
	int64		count;
	int64		number;			/* order of appearance */
	Example		example;
	char	   *null_word;		/* a value that looks like a null, or NULL */
	int			nsamples;
	Size		sample_bytes;
	RejectSample samples[SAMPLES];
} Kind;

struct RejectSummary
{
	MemoryContext context;
	const BulkOptions *options; /* of the load */
	int64		counts[REJECT_NREASONS];
	int64		set_null;
	Example		first[FIRST_KEPT];
	int			nfirst;
	Example		first_duplicates[FIRST_SHOWN];
	int			nfirst_duplicates;
	HTAB	   *kinds;			/* NULL: there are none */
	Kind	   *latest;			/* most recent kind, likely the next one too */
	Size		sample_bytes;
};

/* -- helpers for texts -- */

void
reject_sqlstate(int sqlstate, char *dst)
{
	for (int i = 0; i < 5; i++)
	{
		dst[i] = PGUNSIXBIT(sqlstate);
		sqlstate >>= 6;
	}
	dst[5] = '\0';
}

/* -- collecting -- */

bool
reject_looks_null(const char *value)
{
	static const char *const words[] = {
		"", "-", "--", "?", "NULL", "null", "\\N", "N/A", "n/a", "NA", "#N/A",
		"None", "nil"
	};

	for (int i = 0; i < lengthof(words); i++)
		if (strcmp(value, words[i]) == 0)
			return true;
	return false;
}

RejectSummary *
reject_summary_create(const BulkOptions *options)
{
	RejectSummary *summary = palloc0(sizeof(RejectSummary));

	summary->context = CurrentMemoryContext;
	summary->options = options;
	return summary;
}

static void
create_kinds(RejectSummary *summary)
{
	HASHCTL		control = {
		.keysize = sizeof(KindKey),
		.entrysize = sizeof(Kind),
		.hcxt = summary->context
	};

	summary->kinds = hash_create("pgbulk kinds of rejects", 32, &control,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void
keep_example(RejectSummary *summary, Example *example, const Reject *reject)
{
	MemoryContext caller = MemoryContextSwitchTo(summary->context);

	example->file = pstrdup(reject->file);
	example->line = reject->line;
	example->reason = reject->reason;
	example->column = reject->column ? pstrdup(reject->column) : NULL;
	example->message = reject->message ? text_clip_string(reject->message, KEPT_BYTES) : NULL;
	example->value = reject->value ? text_clip_string(reject->value, KEPT_BYTES) : NULL;
	MemoryContextSwitchTo(caller);
}

/*
 * Distinguishes messages without a column: hashes all up to ": ", after which a
 * message quotes the input, as long as there are not too many kinds.
 */
static uint32
message_hash(const RejectSummary *summary, const char *message)
{
	const char *end = strstr(message, ": ");

	if (hash_get_num_entries(summary->kinds) >= KINDS_BY_MESSAGE)
		return 0;
	return hash_bytes((const unsigned char *) message,
					  end != NULL ? end - message : strlen(message));
}

/* Samples rows of a kind: the first is always kept, all others with equal probability. */
static void
keep_sample(RejectSummary *summary, Kind *kind, const Reject *reject)
{
	Size		size = reject->raw_len + (reject->value != NULL ? strlen(reject->value) : 0);
	int64		place = kind->nsamples;
	RejectSample *sample;

	if (reject->raw == NULL || reject->raw_len > REJECT_SAMPLE_BYTES ||
		size > 2 * REJECT_SAMPLE_BYTES || kind->sample_bytes + size > KIND_SAMPLES_BYTES ||
		summary->sample_bytes + size > ALL_SAMPLES_BYTES)
		return;
	if (place == SAMPLES)
		place = hash_bytes((const unsigned char *) &kind->count, sizeof(kind->count)) % kind->count;
	if (place >= SAMPLES || (place == 0 && kind->nsamples > 0))
		return;

	sample = &kind->samples[place];
	if (place < kind->nsamples)
	{
		Size		freed = sample->raw_len +
			(sample->value != NULL ? strlen(sample->value) : 0);

		kind->sample_bytes -= freed;
		summary->sample_bytes -= freed;
		pfree(unconstify(char *, sample->raw));
		if (sample->value != NULL)
			pfree(unconstify(char *, sample->value));
	}
	else
		kind->nsamples++;
	sample->raw = reject_sample_raw(summary->context, reject->raw, reject->raw_len);
	sample->raw_len = reject->raw_len;
	sample->line = reject->line;
	sample->value = reject->value != NULL ?
		MemoryContextStrdup(summary->context, reject->value) : NULL;
	kind->sample_bytes += size;
	summary->sample_bytes += size;
}

static void
count_kind(RejectSummary *summary, int reason, const Reject *reject)
{
	KindKey		key = {0};
	Kind	   *kind;
	bool		found;

	if (summary->kinds == NULL)
		create_kinds(summary);
	key.reason = reason;
	key.sqlstate = reject->sqlstate;
	if (reject->column != NULL)
		strlcpy(key.column, reject->column, sizeof(key.column));
	else
		key.message_hash = message_hash(summary, reject->message);

	if (summary->latest != NULL &&
		memcmp(&summary->latest->key, &key, sizeof(key)) == 0)
		kind = summary->latest;
	else
	{
		kind = hash_search(summary->kinds, &key, HASH_ENTER, &found);
		if (!found)
		{
			kind->count = 0;
			kind->number = hash_get_num_entries(summary->kinds);
			kind->null_word = NULL;
			kind->nsamples = 0;
			kind->sample_bytes = 0;
			keep_example(summary, &kind->example, reject);
		}
		summary->latest = kind;
	}
	kind->count++;
	if (kind->null_word == NULL && reject->value != NULL &&
		reject_looks_null(reject->value))
		kind->null_word = MemoryContextStrdup(summary->context, reject->value);
	keep_sample(summary, kind, reject);
}

void
reject_summary_add(RejectSummary *summary, const Reject *reject)
{
	summary->counts[reject->reason]++;
	if (reject_is_duplicate(reject->reason) && summary->nfirst_duplicates < FIRST_SHOWN)
		keep_example(summary,
					 &summary->first_duplicates[summary->nfirst_duplicates++],
					 reject);
	if (summary->nfirst < FIRST_KEPT)
		keep_example(summary, &summary->first[summary->nfirst++], reject);
	count_kind(summary, reject->reason, reject);
}

bool
reject_summary_has_first(const RejectSummary *summary)
{
	return summary->nfirst == FIRST_KEPT && summary->nfirst_duplicates == FIRST_SHOWN;
}

void
reject_summary_count_unseen(RejectSummary *summary, RejectReason reason, int64 rows)
{
	summary->counts[reason] += rows;
}

void
reject_summary_set_null(RejectSummary *summary, const Reject *value)
{
	summary->set_null++;
	count_kind(summary, SET_NULL, value);
}

int64
reject_summary_rejected(const RejectSummary *summary)
{
	int64		total = 0;

	for (int i = 0; i < REJECT_NREASONS; i++)
		if (!reject_is_duplicate(i))
			total += summary->counts[i];
	return total;
}

int64
reject_summary_count(const RejectSummary *summary, RejectReason reason)
{
	return summary->counts[reason];
}

char *
reject_summary_first(const RejectSummary *summary, bool duplicates)
{
	const Example *first = duplicates ? summary->first_duplicates : summary->first;
	int			n = duplicates ? summary->nfirst_duplicates : summary->nfirst;
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < Min(n, FIRST_SHOWN); i++)
	{
		const Example *example = &first[i];

		appendStringInfo(&text, "%sfile \"%s\", line %lld", i == 0 ? "" : "\n",
						 example->file, (long long) example->line);
		if (example->column != NULL)
			appendStringInfo(&text, ", column %s", example->column);
		appendStringInfo(&text, ": %s",
						 text_clip_string(example->message, SHOWN_BYTES));
	}
	return text.data;
}

/* -- closing NOTICEs -- */

/* Most frequent first, else as they appeared. */
static int
compare_kinds(const ListCell *a, const ListCell *b)
{
	const Kind *x = lfirst(a);
	const Kind *y = lfirst(b);

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static List *
sorted_kinds(const RejectSummary *summary, bool set_null)
{
	HASH_SEQ_STATUS scan;
	Kind	   *kind;
	List	   *kinds = NIL;

	if (summary->kinds == NULL)
		return NIL;
	hash_seq_init(&scan, summary->kinds);
	while ((kind = hash_seq_search(&scan)) != NULL)
	{
		if (kind->key.reason != SET_NULL && reject_is_duplicate(kind->key.reason))
			continue;
		if ((kind->key.reason == SET_NULL) == set_null)
			kinds = lappend(kinds, kind);
	}
	list_sort(kinds, compare_kinds);
	return kinds;
}

bool
reject_is_cut(const char *message)
{
	return strcmp(message, "unquoted newline found in data") == 0 ||
		strcmp(message, "literal newline found in data") == 0;
}

bool
reject_is_line_end(const char *message)
{
	return reject_is_cut(message) ||
		strcmp(message, "unquoted carriage return found in data") == 0 ||
		strcmp(message, "literal carriage return found in data") == 0 ||
		strcmp(message, "end-of-copy marker does not match previous newline style") == 0;
}

const char *
reject_general_hint(RejectReason reason, const char *message)
{
	if (reason == REJECT_ENCODING)
		return "Check the option \"encoding\".";
	if (reason == REJECT_SYNTAX && reject_is_line_end(message))
		return "Give all lines of the file the same line end.";
	if (reason == REJECT_SYNTAX && strcmp(message, "unterminated CSV quoted field") == 0)
		return "Check the options \"quote\" and \"escape\".";
	return NULL;
}

/* The general HINT for a kind. */
static const char *
general_hint(const RejectSummary *summary, const Kind *kind)
{
	if (kind->key.reason == REJECT_ENCODING || kind->key.reason == REJECT_SYNTAX)
		return reject_general_hint((RejectReason) kind->key.reason, kind->example.message);
	if ((kind->key.reason != REJECT_VALUE && kind->key.reason != SET_NULL) ||
		!options_takes(summary->options, "null"))
		return NULL;
	if (kind->null_word != NULL && kind->null_word[0] == '\0')
		return "If an empty value stands for null, use the option \"null\" or \"force_null\".";
	if (kind->null_word != NULL)
		return psprintf("If \"%s\" stands for null, add it to the option \"null\".",
						kind->null_word);
	return NULL;
}

/* The HINT naming options that would accept rows of a kind, or NULL. */
static const char *
hint_for_kind(const RejectSummary *summary, const Kind *kind, const RejectAdviser *adviser)
{
	const Example *example = &kind->example;
	RejectKind	rows = {
		.reason = kind->key.reason,
		.sqlstate = kind->key.sqlstate,
		.message = example->message,
		.column = example->column,
		.nrows = kind->count,
		.nsamples = kind->nsamples,
		.samples = kind->samples
	};
	const char *hint = NULL;

	if (kind->key.reason != SET_NULL)
		hint = adviser->advise(adviser->arg, &rows);
	/* an option that was tried without success must not be suggested */
	if (hint != NULL || (kind->key.reason == REJECT_VALUE && kind->nsamples > 0))
		return hint;
	return general_hint(summary, kind);
}

/*
 * Describes a kind: the example's message without its value, the column if the
 * message does not name it, and the example's place.
 */
static char *
describe_kind(const Kind *kind)
{
	const Example *example = &kind->example;
	const char *message = example->message;
	size_t		len = strlen(message);
	StringInfoData text;

	initStringInfo(&text);
	if (example->value != NULL)
	{
		char	   *tail = psprintf(": \"%s\"", example->value);
		size_t		tail_len = strlen(tail);

		if (tail_len <= len && strcmp(message + len - tail_len, tail) == 0)
			len -= tail_len;
		pfree(tail);
	}
	appendBinaryStringInfo(&text, message, len);
	if (text.len > SHOWN_BYTES)
	{
		char	   *clipped = text_clip_string(text.data, SHOWN_BYTES);

		resetStringInfo(&text);
		appendStringInfoString(&text, clipped);
	}

	if (example->column != NULL)
	{
		char	   *quoted = psprintf("\"%s\"", example->column);

		if (strstr(text.data, quoted) == NULL)
			appendStringInfo(&text, " in column %s", quoted);
	}
	appendStringInfo(&text, ", for example at file \"%s\", line %lld",
					 example->file, (long long) example->line);
	if (example->value != NULL)
		appendStringInfo(&text, ": \"%s\"",
						 text_clip_string(example->value, SHOWN_VALUE));
	return text.data;
}

static void
report_kinds(const RejectSummary *summary, const RejectAdviser *adviser)
{
	List	   *kinds = sorted_kinds(summary, false);
	int			left = list_length(kinds) - KINDS_SHOWN;

	for (int i = 0; i < Min(list_length(kinds), KINDS_SHOWN); i++)
	{
		const Kind *kind = list_nth(kinds, i);
		const char *hint = hint_for_kind(summary, kind, adviser);

		ereport(NOTICE,
				(errmsg_plural("%lld row: %s", "%lld rows: %s",
							   (unsigned long) kind->count,
							   (long long) kind->count, describe_kind(kind)),
				 hint != NULL ? errhint("%s", hint) : 0));
	}
	if (left > 0)
		ereport(NOTICE,
				(errmsg_plural("and %d more kind", "and %d more kinds",
							   left, left)));
}

static void
report_set_null(const RejectSummary *summary, const RejectAdviser *adviser)
{
	List	   *kinds = sorted_kinds(summary, true);
	int			left = list_length(kinds) - KINDS_SHOWN;

	ereport(NOTICE,
			(errmsg_plural("%lld value was set to null",
						   "%lld values were set to null",
						   (unsigned long) summary->set_null,
						   (long long) summary->set_null)));
	for (int i = 0; i < Min(list_length(kinds), KINDS_SHOWN); i++)
	{
		const Kind *kind = list_nth(kinds, i);
		const Example *example = &kind->example;
		const char *hint = hint_for_kind(summary, kind, adviser);
		const char *shown = "";

		if (example->value != NULL)
			shown = psprintf(": \"%s\"", text_clip_string(example->value, SHOWN_VALUE));
		ereport(NOTICE,
				(errmsg_plural("%lld value in column \"%s\", for example at file \"%s\", line %lld%s",
							   "%lld values in column \"%s\", for example at file \"%s\", line %lld%s",
							   (unsigned long) kind->count,
							   (long long) kind->count, example->column,
							   example->file, (long long) example->line, shown),
				 hint != NULL ? errhint("%s", hint) : 0));
	}
	if (left > 0)
		ereport(NOTICE,
				(errmsg_plural("and %d more column", "and %d more columns",
							   left, left)));
}

void
reject_summary_report(const RejectSummary *summary,
					  const RejectAdviser *adviser)
{
	int64		rejected = reject_summary_rejected(summary);
	int64		duplicates = summary->counts[REJECT_DUPLICATE];
	int64		replaced = summary->counts[REJECT_REPLACED];

	if (rejected > 0)
	{
		ereport(NOTICE,
				(errmsg_plural("%lld row was rejected",
							   "%lld rows were rejected",
							   (unsigned long) rejected,
							   (long long) rejected)));
		report_kinds(summary, adviser);
	}
	if (duplicates > 0)
		ereport(NOTICE,
				(errmsg_plural("%lld row was set aside as a duplicate",
							   "%lld rows were set aside as duplicates",
							   (unsigned long) duplicates,
							   (long long) duplicates)));
	if (replaced > 0 && summary->options->merge != NULL)
		ereport(NOTICE,
				(errmsg_plural("%lld row was updated",
							   "%lld rows were updated",
							   (unsigned long) replaced,
							   (long long) replaced)));
	else if (replaced > 0)
		ereport(NOTICE,
				(errmsg_plural("%lld row was replaced",
							   "%lld rows were replaced",
							   (unsigned long) replaced,
							   (long long) replaced)));
	if (summary->set_null > 0)
		report_set_null(summary, adviser);
}

/* -- details -- */

static void
push_member(CompatJsonb *state, const char *key, const char *text)
{
	if (text != NULL)
		jsonb_push_string(state, key, text);
}

/* A text that quotes the row, and so may be long. */
static void
push_text(CompatJsonb *state, const char *key, const char *text, bool all)
{
	push_member(state, key, text == NULL || all ? text : text_clip_string(text, DETAILS_BYTES));
}

static void
push_first(const RejectSummary *summary, bool all, CompatJsonb *state)
{
	int			n = all ? summary->nfirst : Min(summary->nfirst, DETAILS_ROWS);

	jsonb_push_key(state, "first");
	compat_push_jsonb(state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < n; i++)
	{
		const Example *example = &summary->first[i];

		compat_push_jsonb(state, WJB_BEGIN_OBJECT, NULL);
		push_member(state, "file", example->file);
		jsonb_push_int64(state, "line", example->line);
		push_member(state, "column", example->column);
		push_member(state, "reason", reject_reason_names[example->reason]);
		push_text(state, "message", example->message, all);
		push_text(state, "value", example->value, all);
		compat_push_jsonb(state, WJB_END_OBJECT, NULL);
	}
	compat_push_jsonb(state, WJB_END_ARRAY, NULL);
}

void
reject_summary_details(const RejectSummary *summary, bool all, CompatJsonb *state)
{
	ListCell   *lc;

	if (summary->nfirst > 0 || reject_summary_rejected(summary) > 0)
	{
		jsonb_push_key(state, "rejects");
		compat_push_jsonb(state, WJB_BEGIN_OBJECT, NULL);
		for (int i = 0; i < REJECT_NREASONS; i++)
			if (summary->counts[i] > 0)
				jsonb_push_int64(state, reject_reason_names[i], summary->counts[i]);
		push_first(summary, all, state);
		compat_push_jsonb(state, WJB_END_OBJECT, NULL);
	}
	if (summary->set_null > 0)
	{
		jsonb_push_key(state, "values_set_null");
		compat_push_jsonb(state, WJB_BEGIN_OBJECT, NULL);
		foreach(lc, sorted_kinds(summary, true))
		{
			const Kind *kind = lfirst(lc);

			jsonb_push_int64(state, kind->example.column, kind->count);
		}
		compat_push_jsonb(state, WJB_END_OBJECT, NULL);
	}
}
