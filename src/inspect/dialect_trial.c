/*
 * dialect_trial.c
 *		See dialect_trial.h.
 *
 * The score of a trial is the product of: the share of rows that have as many
 * fields as most; how clean fields look (shape_cleanness, or that they are
 * quoted as a whole); how many fields a row has, as one is poor evidence; how
 * usual the delimiter is; how much of the span could be read.
 */
#include "inspect/dialect_trial.h"

#include <math.h>

#include "inspect/line.h"
#include "inspect/names.h"
#include "inspect/value_shape.h"

#define PROBE_CELLS 20000

/* What a delimiter is worth that is not proven to be one. */
#define UNPROVEN 0.05f

/* Sequences that only text format has. */
static uint32_t
count_escapes(const char *s, uint32_t len)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i + 1 < len; i++)
		if (s[i] == '\\')
		{
			i++;
			n += s[i] == '\\' || s[i] == 'n' || s[i] == 't' || s[i] == 'r' ? 1 : 0;
		}
	return n;
}

/* Whether a delimiter is followed as commas in a sentence are. */
static bool
is_spaced_text(const char *s, uint32_t length)
{
	return length > 2 && s[0] == ' ' && s[1] != ' ' && s[1] != '"' &&
		!shape_is_typed(s + 1, length - 1);
}

static void
try_field(DialectTrial *trial, const char *data, const ScanField *field)
{
	const char *s = data + field->start;
	double		clean;
	bool		swallowed;

	trial->cells++;
	switch (sheet_quoting(&trial->dialect.scan, data, field))
	{
		case SHEET_QUOTED:
			trial->quoted++;
			trial->clean += 1.0;
			break;
		case SHEET_PADDED:
			trial->quoted++;
			trial->clean += 0.9;
			break;
		case SHEET_STRAY:
			trial->stray++;

			/* lines that are swallowed are worse */
			swallowed = memchr(s, '\n', field->length) != NULL;
			trial->swallowed += swallowed ? 1 : 0;
			trial->clean += swallowed ? -1.0 : 0.1;
			break;
		case SHEET_PLAIN:
			clean = shape_cleanness(s, field->length);

			/* what delimits elsewhere is part of a text where nothing delimits */
			trial->clean += trial->alone ? fmax(clean, 0.5) : clean;
			if (field->length == 2 && memcmp(s, "\\N", 2) == 0)
				trial->markers++;
			else
				trial->escapes += count_escapes(s, field->length);
			break;
	}
}

/* What a row says about a delimiter that is often found within values. */
static void
try_types(DialectTrial *trial, const char *data, const ScanField *fields, uint32_t nfields)
{
	for (uint32_t i = 0; i < nfields; i++)
	{
		const char *s = data + fields[i].start;
		bool		typed = shape_is_typed(s, fields[i].length);

		if (fields[i].length == 0)
			continue;
		if (trial->rows == 0)
		{
			trial->named[i] = !typed;
			trial->known += names_are_known(s, fields[i].length) ? 1 : 0;
		}
		else
		{
			trial->values[i] = true;
			trial->texts[i] |= !typed && shape_null(s, fields[i].length) < 0;
		}
	}
}

/* Whether a line that has no delimiter is one value. */
static bool
is_whole(const DialectTrial *trial, const char *data, const ScanField *field)
{
	switch (sheet_quoting(&trial->dialect.scan, data, field))
	{
		case SHEET_QUOTED:
		case SHEET_PADDED:
			return true;
		case SHEET_PLAIN:
			return line_is_value(data + field->start, field->length);
		case SHEET_STRAY:
			break;
	}
	return false;
}

bool
dialect_try_row(void *arg, const char *data, const ScanRow *row,
		const ScanField *fields)
{
	DialectTrial	   *trial = arg;
	uint32_t	nfields = row->nfields < DIALECT_FIELDS ? row->nfields : DIALECT_FIELDS;
	bool		judged = false;
	bool		other_end = row->fault == SCAN_FAULT_NEWLINE ||
		row->fault == SCAN_FAULT_CARRIAGE_RETURN;

	if (sheet_is_blank(row, fields))
		return true;
	trial->ends += other_end ? 1 : 0;
	trial->unclosed += row->fault == SCAN_FAULT_UNTERMINATED_QUOTE ? 1 : 0;
	if (trial->suspect != NULL &&
		dialect_begins_with(data + row->start, row->end - row->start, trial->suspect))
	{
		trial->suspects[nfields]++;
		return true;
	}
	if (row->fault == SCAN_FAULT_UNTERMINATED_QUOTE)
	{
		/* its fields may be all that follows, inside out */
		if (trial->rows++ == 0)
			trial->first_fields = nfields;
		return trial->rows < DIALECT_ROWS;
	}
	if (trial->unusual)
		try_types(trial, data, fields, nfields);
	if (nfields == 1)
	{
		bool		whole = is_whole(trial, data, &fields[0]);

		trial->lines += whole || trial->rows > 0 ? 1 : 0;
		trial->whole += whole ? 1 : 0;
		if (whole && trial->cells < PROBE_CELLS)
		{
			trial->cells++;
			trial->clean += 1.0;
			judged = true;
		}
	}
	if (trial->rows++ == 0)
		trial->first_fields = nfields;
	if (row->fault == SCAN_FAULT_NONE || other_end)
		trial->lengths[nfields]++;
	for (uint32_t i = 0; i < nfields; i++)
	{
		trial->filled[i] |= fields[i].length > 0;
		if (trial->cells >= PROBE_CELLS || judged)
			continue;
		try_field(trial, data, &fields[i]);
		if (i > 0)
		{
			trial->later++;
			trial->spaced += is_spaced_text(data + fields[i].start, fields[i].length) ? 1 : 0;
		}
	}
	return trial->rows < DIALECT_ROWS;
}

uint32_t
dialect_usual_length(const DialectTrial *trial)
{
	uint32_t	best = trial->first_fields;

	for (uint32_t n = 1; n <= DIALECT_FIELDS; n++)
		if (trial->lengths[n] > trial->lengths[best])
			best = n;
	return best;
}

/*
 * Whether a delimiter that is often found within values is one here.  Numbers and the like
 * in a column, below a name or in a file that is made of them, are proof; texts are
 * not, as those of one column may well have as many words each.
 */
static bool
is_proven(const DialectTrial *trial, uint32_t columns)
{
	uint32_t	typed = 0;
	bool		named = false;

	if (columns == 1)
		return true;
	if (trial->first_fields != columns &&
		(trial->first_fields == 1 || trial->first_fields + 1 != columns))
		return false;
	for (uint32_t i = 0; i < columns; i++)
		if (trial->rows == 1 ? !trial->named[i] : trial->values[i] && !trial->texts[i])
		{
			typed++;
			named |= trial->named[i] != 0;
		}
	if (typed == 0)
		return columns > 2 && trial->known == columns;
	return named || typed * 2 >= columns + (columns == 2 ? 2 : 0) ||
		(trial->dialect.scan.delimiter == ':' && columns > 3);
}

/*
 * Whether delimiters stand as in sentences, and what looks like rows are lines
 * with as many of them by chance.
 */
static bool
is_prose(const DialectTrial *trial, uint32_t columns)
{
	return columns > 1 && trial->spaced * 10 >= trial->later * 9 &&
		(trial->lengths[columns] < trial->rows || trial->first_fields != columns);
}

/* What many or few fields are worth: one is poor evidence, unless each line is one value. */
static double
weigh_columns(const DialectTrial *trial, uint32_t columns)
{
	double		whole = trial->lines == 0 ? 0 : (double) trial->whole / trial->lines;

	return columns == 1 ? 0.15 + 0.8 * whole * whole : (columns - 0.6) / columns;
}

double
dialect_score(DialectTrial *trial, float prior, double covered)
{
	uint32_t	columns = dialect_usual_length(trial);
	uint32_t	filled = 0;
	double		share;
	double		clean;

	trial->dialect.columns = columns;
	if (trial->rows == 0 || columns == 0 || trial->cells == 0)
		return 0;
	for (uint32_t i = 0; i < columns; i++)
		filled += trial->filled[i];
	share = (double) trial->lengths[columns] / trial->rows;
	clean = fmax(trial->clean, 0) / trial->cells;
	clean *= 0.3 + 0.7 * filled / columns;
	/* one in fifty rows counts as one */
	if (trial->unclosed > 0)
		covered *= 0.8;
	for (uint32_t i = 1; i < 5 && i * trial->rows < trial->unclosed * 50; i++)
		covered *= 0.8;
	if ((trial->unusual && !is_proven(trial, columns)) || is_prose(trial, columns))
		prior *= UNPROVEN;
	return share * sqrt(share) * clean * clean *
		weigh_columns(trial, columns) * prior * covered;
}
