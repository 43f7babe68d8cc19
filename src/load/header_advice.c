/*
 * header_advice.c
 *		See header_advice.h.
 */
#include "postgres.h"

#include "diagnose/trial.h"
#include "load/header_advice.h"
#include "option/options_show.h"

/*
 * Maximum number of fields of a line by another delimiter, and of rows after it
 * that are tried.
 */
#define MAX_FIELDS 1664
#define MAX_ROWS 64

/* A header line split by one delimiter. */
typedef struct Reading
{
	const char *delimiter;		/* NULL: that of the load */
	List	   *columns;		/* column names, or NULL for a field that is none */
	int			named;			/* number of fields that are */
} Reading;

static void
read_by(Header *header, const char *line, uint32 length, const char *delimiter, Reading *reading)
{
	const Target *target = header->target;
	TupleDesc	desc = RelationGetDescr(target->rel);
	ScanDialect dialect = header->reader->dialect;
	ScanEol		eol = SCAN_EOL_NL;
	List	   *names = NIL;
	AttrNumber *matches;
	ScanField  *fields = palloc(sizeof(ScanField) * MAX_FIELDS);
	ScanResult	result;
	ScanRow		row;

	*reading = (Reading) {.delimiter = delimiter};
	if (delimiter != NULL)
	{
		dialect.delimiter = delimiter[0];
		dialect.separator = NULL;
		dialect.separator_length = 1;
		dialect.general = dialect.comment != NULL;
	}
	scan_rows(&dialect, &eol, line, length, true, &row, 1, fields, MAX_FIELDS, &result);
	for (uint32 i = 0; result.nrows == 1 && row.fault == SCAN_FAULT_NONE && i < row.nfields; i++)
		names = lappend(names, trial_field_name(header->batch->conv, line,
												&fields[row.first_field + i]));
	matches = target_match_columns(target, names);
	for (int i = 0; i < list_length(names); i++)
	{
		char	   *column = NULL;

		if (matches[i] != InvalidAttrNumber && !target_is_extra(target, matches[i]) &&
			!TupleDescAttr(desc, matches[i] - 1)->attgenerated)
			column = NameStr(TupleDescAttr(desc, matches[i] - 1)->attname);
		for (int k = 0; column != NULL && k < list_length(reading->columns); k++)
			if (list_nth(reading->columns, k) == column)
				column = NULL;
		reading->columns = lappend(reading->columns, column);
		reading->named += column != NULL ? 1 : 0;
	}
	pfree(fields);
}

/*
 * The options by which the rows after the header, too, can be read.  Tries
 * complete lines in the window, each as a row.
 */
static char *
find_options(Header *header, const Reading *reading, const char *begun)
{
	const Window *window = &header->reader->source->window;
	const char *at = window->data + header->reader->done;
	const char *end = window->data + window->length;
	char		eol = header->reader->eol == SCAN_EOL_CR ? '\r' : '\n';
	RejectSample samples[MAX_ROWS];
	RejectKind	kind = {.reason = REJECT_SYNTAX, .message = "", .samples = samples};
	char	   *found;

	while (kind.nsamples < MAX_ROWS && at < end)
	{
		const char *next = memchr(at, eol, end - at);
		Size		length = (next != NULL ? next : end) - at;

		if (next == NULL && !window->at_eof)
			break;
		if (length > 0 && at[length - 1] == '\r')
			length--;
		if (length > DIAGNOSIS_ROW_BYTES)
			break;
		samples[kind.nsamples] = (RejectSample) {
			.raw = reject_sample_raw(CurrentMemoryContext, at, length),
			.raw_len = length,
			.line = kind.nsamples + 2
		};
		kind.nsamples++;
		at = next != NULL ? next + 1 : end;
	}
	target_set_columns(header->target, reading->columns);
	found = diagnosis_continue(header->diagnosis, &kind, begun);
	return found != NULL ? found : unconstify(char *, begun);
}

/*
 * Splits the line by the load's delimiter, and by the one by which most fields
 * are column names.  fitting: one by which it has as many fields as there are
 * columns.  Both may be NULL.
 */
static void
read_line(Header *header, const ScanRow *row, Reading *here, Reading *best, const char **fitting)
{
	uint32		length = row->end - row->start;
	char	   *line = palloc0(length + SCAN_PADDING);

	memcpy(line, header->reader->data + row->start, length);
	read_by(header, line, length, NULL, here);
	*best = (Reading) {0};
	*fitting = NULL;
	for (int i = 0; trial_delimiters[i] != NULL; i++)
	{
		Reading		other;

		if (strcmp(header->options->delimiter, trial_delimiters[i]) == 0 ||
			memchr(line, trial_delimiters[i][0], length) == NULL)
			continue;
		read_by(header, line, length, trial_delimiters[i], &other);
		if (other.named > here->named && other.named > best->named &&
			other.named * 2 >= list_length(other.columns))
			*best = other;
		if (*fitting == NULL && list_length(other.columns) == header->target->nfields)
			*fitting = other.delimiter;
	}
	if (list_length(here->columns) == header->target->nfields)
		*fitting = NULL;
}

static const char *
json_of(const char *delimiter)
{
	return delimiter[0] == '\t' ? "\\t" : delimiter;
}

char *
header_advise_delimiter(Header *header, const ScanRow *row)
{
	Reading		here;
	Reading		best;
	const char *fitting;
	bool		all;
	char	   *hint = diagnosis_of_header(header->diagnosis, header->reader);

	if (hint != NULL)
		return hint;
	read_line(header, row, &here, &best, &fitting);
	if (best.delimiter == NULL)
		return NULL;
	all = best.named == list_length(best.columns);
	return psprintf("With %s among the options %s.",
					options_show(header->options,
								 find_options(header, &best,
											  psprintf("{\"delimiter\": \"%s\"%s}",
													   json_of(best.delimiter),
													   all ? "" :
													   ", \"extra_columns\": \"ignore\""))),
					all ? "its names are those of columns" :
					psprintf("%d of its %d names are those of columns, and the others are ignored",
							 best.named, list_length(best.columns)));
}

char *
header_advise(Header *header, const ScanRow *row)
{
	char	   *hint = header_advise_delimiter(header, row);
	Reading		here;
	Reading		best;
	const char *fitting;

	if (hint != NULL)
		return hint;
	read_line(header, row, &here, &best, &fitting);
	if (here.named > 0)
		return "To pass over such columns, set option \"extra_columns\" to \"ignore\".";
	if (fitting != NULL)
		return psprintf("None of its names is that of a column. To take fields for columns by their places, set %s, or name the columns %s, too.",
						options_show(header->options,
									 psprintf("{\"header\": true, \"delimiter\": \"%s\"}",
											  json_of(fitting))),
						options_columns(header->options));
	return psprintf("None of its names is that of a column. To take fields for columns by their places, set option \"header\" to true, and name the columns %s.",
					options_columns(header->options));
}
