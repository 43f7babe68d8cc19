/*
 * columns.c
 *		See columns.h.
 */
#include "inspect/columns.h"

#include <string.h>

/* Lines at the start of a file that are looked at for its header. */
#define LEADS 16

typedef struct Lead
{
	uint32_t	before;			/* rows before it, empty ones included */
	uint32_t	nfields;
	uint32_t	filled;			/* fields that are not empty */
	bool		first_filled;
	bool		typed;			/* its first field is a number, a date or the like */
} Lead;

/* A walk over all spans. */
typedef struct Survey
{
	Columns    *columns;
	bool		first_span;
	uint32_t	seen;			/* rows of the span */
	Lead		leads[LEADS];
	int			nleads;
	uint64_t	rows;
	uint64_t	longer;			/* rows with more fields than most */
	uint32_t	longest;
	uint32_t	header_end;		/* rows before it that were taken for a header */
} Survey;

static inline bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void
trim_blanks(const char **s, size_t *length)
{
	while (*length > 0 && is_blank((*s)[0]))
		(*s)++, (*length)--;
	while (*length > 0 && is_blank((*s)[*length - 1]))
		(*length)--;
}

static bool
is_faulty(const char *data, const ScanRow *row)
{
	return row->fault != SCAN_FAULT_NONE ||
		memchr(data + row->start, '\0', row->end - row->start) != NULL;
}

static void
walk_all(Columns *columns, SheetVisit visit, Survey *survey)
{
	/* all spans have the line ends of the first */
	ScanEol		eol = columns->dialect->eol == SCAN_EOL_ANY ?
		SCAN_EOL_ANY : SCAN_EOL_UNKNOWN;

	for (int i = 0; i < columns->nspans; i++)
	{
		survey->first_span = i == 0;
		survey->seen = 0;
		sheet_walk(&columns->spans[i], &columns->dialect->scan, &eol,
				   columns->space, visit, survey);
	}
}

/* ---- how many columns, and where the data begins ---- */

static bool
is_typed_field(const char *data, const ScanField *field)
{
	Shape		shape;

	shape_of(data + field->start, field->length, &shape);
	return field->length > 0 && shape.types != SHAPE_BIT(SHAPE_TEXT);
}

static bool
survey_row(void *arg, const char *data, const ScanRow *row,
		   const ScanField *fields)
{
	Survey	   *survey = arg;
	const Dialect *dialect = survey->columns->dialect;
	uint32_t	before = survey->seen++;

	if (sheet_is_blank(row, fields) && dialect->columns > 1)
		return true;
	if (survey->first_span && survey->nleads < LEADS)
	{
		Lead	   *lead = &survey->leads[survey->nleads++];

		lead->before = before;
		lead->nfields = row->nfields;
		lead->first_filled = fields[0].length > 0;
		lead->typed = is_typed_field(data, &fields[0]);
		for (uint32_t i = 0; i < row->nfields; i++)
			lead->filled += fields[i].length > 0 ? 1 : 0;
	}
	if (is_faulty(data, row))
		return true;
	survey->rows++;
	if (row->nfields > dialect->columns)
		survey->longer++;
	if (row->nfields > survey->longest)
		survey->longest = row->nfields;
	return true;
}

/* A title or nothing at all, padded with delimiters, above a row of names. */
static bool
is_title(const Survey *survey, int at, uint32_t usual)
{
	const Lead *lead = &survey->leads[at];

	if (usual < 3 || lead->filled > 1 || (lead->filled == 1 && !lead->first_filled))
		return false;
	for (int i = at + 1; i < survey->nleads && i <= at + 3; i++)
		if (survey->leads[i].nfields == usual && survey->leads[i].filled > 1)
			return true;
	return false;
}

/*
 * The first lead that has the fields of a table.  Without titles a row that
 * has too few is one of data if it looks so.
 */
static int
find_start(const Survey *survey, uint32_t usual, bool titles)
{
	for (int i = 0; i < survey->nleads; i++)
	{
		const Lead *lead = &survey->leads[i];
		bool		lacks_one = i == 0 && lead->nfields > 1 &&
			lead->nfields + 1 == usual && lead->filled == lead->nfields;

		if ((lead->nfields >= usual || lacks_one || (lead->typed && !titles)) &&
			!(titles && is_title(survey, i, usual)))
			return i;
	}
	return 0;
}

/*
 * Rows that are longer than others: few of many are broken ones; else the table
 * has a column for each of their fields.
 */
static void
count_columns(Columns *columns, const Survey *survey, uint32_t first)
{
	uint32_t	usual = columns->dialect->columns;

	columns->regular = first > usual ? first : usual;
	columns->longest = columns->regular;
	if (survey->longest > columns->regular &&
		(survey->longer * 100 > survey->rows || survey->rows < 100) &&
		survey->longest <= columns->regular * 2 + 8)
		columns->longest = survey->longest;
	columns->wanted = columns->longest;
	columns->count = columns->wanted < COLUMNS_MAX ? columns->wanted : COLUMNS_MAX;
}

/* ---- values ---- */

/* Whether a text could be the name of a column. */
static bool
looks_like_name(const char *s, size_t length)
{
	int			spaces = 0;

	if (length == 0 || length > 40 || (s[0] >= '0' && s[0] <= '9'))
		return false;
	for (size_t i = 0; i < length; i++)
	{
		spaces += s[i] == ' ' ? 1 : 0;
		if (strchr("@\"'\\=<>{}[]!?;|,", s[i]) != NULL)
			return false;
	}
	return spaces <= 2 && s[length - 1] != '.';
}

static void
add_shape(ColumnStats *stats, const char *s, size_t length)
{
	const uint32_t iso_dates = SHAPE_BIT(SHAPE_DATE) |
		SHAPE_BIT(SHAPE_TIMESTAMP) | SHAPE_BIT(SHAPE_TIMESTAMPTZ);
	Shape		shape;

	if (stats->types == SHAPE_BIT(SHAPE_TEXT) &&
		stats->types_comma == SHAPE_BIT(SHAPE_TEXT))
		return;
	shape_of(s, length, &shape);
	if (shape.date.orders != 0)
	{
		bool		fits = !stats->iso;

		if (stats->date.orders == 0)
			stats->date = shape.date;
		else
			fits = fits && shape_merge_dates(&stats->date, &shape.date);
		if (!fits)
			shape.types = shape.types_comma = SHAPE_BIT(SHAPE_TEXT);
	}
	else if (shape.types & iso_dates)
	{
		stats->iso = true;
		stats->zoneless |= (shape.types & SHAPE_BIT(SHAPE_TIMESTAMP)) != 0;
		if (stats->date.orders != 0)
			shape.types = shape.types_comma = SHAPE_BIT(SHAPE_TEXT);
	}
	stats->types &= shape.types;
	stats->types_comma &= shape.types_comma;
	stats->digits |= !shape.special;
	stats->plain_comma |= shape.comma && !shape.thousand;
}

/* Whether a text is one of those that the caller has for NULL. */
static bool
is_given_null(const Columns *columns, const char *s, size_t length)
{
	for (int i = 0; i < columns->nnulls; i++)
		if (strlen(columns->nulls[i]) == length &&
			memcmp(columns->nulls[i], s, length) == 0)
			return true;
	return false;
}

static void
add_value(const Columns *columns, ColumnStats *stats, const char *s,
		  size_t length, bool quoted)
{
	int			marker = columns->nulls == NULL ? shape_null(s, length) : -1;

	if (columns->nulls != NULL && length > 0 && is_given_null(columns, s, length))
	{
		stats->given_nulls++;
		return;
	}
	if (length == 0)
	{
		stats->quoted_empty |= quoted;
		stats->empties++;
		return;
	}
	if (stats->name != NULL && stats->name_length == length &&
		memcmp(stats->name, s, length) == 0)
		stats->named = true;
	if (marker >= 0)
	{
		stats->markers[marker]++;
		if (quoted)
			stats->quoted_markers |= 1u << marker;
		return;
	}
	if (stats->values++ == 0)
	{
		stats->shortest = length;
		stats->example_length = length < COLUMNS_EXAMPLE ? length : COLUMNS_EXAMPLE;
		memcpy(stats->example, s, stats->example_length);
	}
	if (length < stats->shortest)
		stats->shortest = length;
	if (length > stats->longest)
		stats->longest = length;
	stats->lengths += length;
	stats->words += looks_like_name(s, length) ? 1 : 0;
	add_shape(stats, s, length);
}

static bool
is_marker(const Columns *columns, const char *data, const ScanField *field)
{
	return columns->dialect->scan.format == SCAN_TEXT && field->length == 2 &&
		memcmp(data + field->start, "\\N", 2) == 0;
}

static void
add_field(Columns *columns, ColumnStats *stats, const char *data,
		  const ScanField *field)
{
	const ScanDialect *scan = &columns->dialect->scan;
	bool		quoted = field->quoted &&
		sheet_quoting(scan, data, field) == SHEET_QUOTED;
	size_t		length;
	size_t		whole;
	const char *s = sheet_value(scan, data, field, columns->buffer, &length);

	/* a marker of text format is one as it stands in the file */
	if (is_marker(columns, data, field))
	{
		stats->markers[0]++;
		return;
	}
	whole = length;
	if (!quoted)
	{
		if (length > 0 && is_blank(s[0]))
			stats->blanks++;
		trim_blanks(&s, &length);
		stats->padded |= length < whole;
		if (length == 0 && whole > 0)
		{
			stats->hollow++;
			return;
		}
	}
	add_value(columns, stats, s, length, quoted);
}

bool
columns_takes(const Columns *columns, const char *data, const ScanRow *row,
			  const ScanField *fields)
{
	return !(sheet_is_blank(row, fields) && columns->count > 1) &&
		!is_faulty(data, row) &&
		row->nfields <= columns->longest;
}

static void
add_row(Columns *columns, const char *data, const ScanRow *row,
		const ScanField *fields)
{
	uint32_t	n = row->nfields < columns->count ? row->nfields : columns->count;

	columns->rows++;
	columns->short_rows += row->nfields < columns->count ? 1 : 0;
	for (uint32_t i = 0; i < n; i++)
		add_field(columns, &columns->columns[i], data, &fields[i]);
	for (uint32_t i = n; i < columns->count; i++)
		columns->columns[i].empties++;
}

/* The row that may be a header: its fields are names, perhaps. */
static void
keep_names(Columns *columns, const char *data, const ScanRow *row,
		   const ScanField *fields)
{
	char	   *to = columns->names;
	uint32_t	shift = columns->row_names ? 1 : 0;

	for (uint32_t i = 0; i < row->nfields && i + shift < columns->count; i++)
	{
		ColumnStats *stats = &columns->columns[i + shift];

		stats->name = sheet_value(&columns->dialect->scan, data, &fields[i],
								  to, &stats->name_length);
		if (stats->name == to)
			to += stats->name_length;
		trim_blanks(&stats->name, &stats->name_length);
	}
}

static bool
visit_row(void *arg, const char *data, const ScanRow *row,
		  const ScanField *fields)
{
	Survey	   *survey = arg;
	Columns    *columns = survey->columns;
	uint32_t	at = survey->seen++;

	if (survey->first_span && at < columns->header_lines)
	{
		if (at + 1 == columns->header_lines)
			keep_names(columns, data, row, fields);
		return true;
	}
	if (sheet_is_blank(row, fields) && columns->count > 1)
		columns->blank++;
	else if (is_faulty(data, row))
		columns->faulty++;
	else if (row->nfields > columns->longest)
		columns->long_rows++;
	else
		add_row(columns, data, row, fields);
	return true;
}

/* Rows that were taken for a header are rows of data. */
static bool
visit_header(void *arg, const char *data, const ScanRow *row,
			 const ScanField *fields)
{
	Survey	   *survey = arg;
	Columns    *columns = survey->columns;

	uint32_t	at = survey->seen++;

	if (at >= columns->header_lines && at < survey->header_end &&
		columns_takes(columns, data, row, fields))
		add_row(columns, data, row, fields);
	return survey->seen < survey->header_end;
}

/* ---- the header ---- */

/* Years are names where their columns hold something else. */
static bool
is_year(const char *s, size_t length)
{
	return length == 4 && (memcmp(s, "19", 2) == 0 || memcmp(s, "20", 2) == 0);
}

/* The types of a column without values that could be null markers. */
static bool
is_typed(const ColumnStats *stats)
{
	return stats->values > 0 &&
		(stats->types != SHAPE_BIT(SHAPE_TEXT) ||
		 stats->types_comma != SHAPE_BIT(SHAPE_TEXT));
}

/* A name above values of a type that it does not have. */
static bool
is_sure_name(const ColumnStats *stats)
{
	Shape		name;

	if (stats->name == NULL || stats->name_length == 0 || !is_typed(stats))
		return false;
	shape_of(stats->name, stats->name_length, &name);
	return ((name.types & stats->types) | (name.types_comma & stats->types_comma)) ==
		SHAPE_BIT(SHAPE_TEXT);
}

static double
judge_typed_name(const ColumnStats *stats, const Shape *name)
{
	uint32_t	types = stats->types & ~SHAPE_BIT(SHAPE_TEXT);
	uint32_t	comma = stats->types_comma & ~SHAPE_BIT(SHAPE_TEXT);

	if ((name->types & types) != 0 || (name->types_comma & comma) != 0)
		return is_year(stats->name, stats->name_length) &&
			!is_year(stats->example, stats->example_length) ? -0.1 : -3.0;
	return 2.0;
}

/* sure: names of other columns leave no doubt. */
static double
judge_text_name(const ColumnStats *stats, const Shape *name, bool sure)
{
	double		score = 0.4;

	if (stats->named)
		return sure ? -0.5 : -2.0;
	if ((name->types & ~SHAPE_BIT(SHAPE_BOOL)) != SHAPE_BIT(SHAPE_TEXT))
		return is_year(stats->name, stats->name_length) ? 0.0 : -1.5;
	if (!looks_like_name(stats->name, stats->name_length))
		return -0.5;
	if (stats->values == 0)
		return score;

	/* codes of one length below a name of another */
	if (stats->values >= 3 && stats->shortest == stats->longest &&
		stats->name_length != stats->longest)
		score += 1.0;
	if (stats->words * 2 < stats->values)
		score += 0.7;
	if (stats->lengths > stats->values * (stats->name_length + 1) * 3)
		score += 0.5;
	return score;
}

/* Above zero: the first row is a header. */
static double
judge_header(const Columns *columns)
{
	double		score = 0.5;
	bool		sure = false;
	bool		any = false;

	for (uint32_t i = 0; i < columns->count; i++)
	{
		any |= columns->columns[i].name_length > 0;
		sure |= is_sure_name(&columns->columns[i]);
	}
	if (!any)
		return 0;
	for (uint32_t i = 0; i < columns->count; i++)
	{
		const ColumnStats *stats = &columns->columns[i];
		Shape		name;

		if (stats->name == NULL)
			continue;
		if (stats->name_length == 0 || shape_null(stats->name, stats->name_length) >= 0)
		{
			/* row names have none; others rarely */
			score -= i == 0 && columns->count > 1 ? 0.2 : stats->values == 0 ? 0.4 : 1.0;
			continue;
		}
		shape_of(stats->name, stats->name_length, &name);
		if (columns->rows == 0)
			score += (name.types & ~SHAPE_BIT(SHAPE_BOOL)) == SHAPE_BIT(SHAPE_TEXT) &&
				looks_like_name(stats->name, stats->name_length) ? 0.2 : -2.0;
		else if (is_typed(stats))
			score += judge_typed_name(stats, &name);
		else
			score += judge_text_name(stats, &name, sure);
	}
	return score;
}

/* There is no header: what was taken for one is data. */
static void
take_back_header(Columns *columns, Survey *survey)
{
	ScanEol		eol = columns->dialect->eol == SCAN_EOL_ANY ?
		SCAN_EOL_ANY : SCAN_EOL_UNKNOWN;

	columns->row_names = false;
	survey->header_end = columns->header_lines;
	columns->header_lines = columns->preamble;
	survey->seen = 0;
	sheet_walk(&columns->spans[0], &columns->dialect->scan, &eol,
			   columns->space, visit_header, survey);
}

/* Takes a lead, and the rows above it, for the header of the file. */
static void
try_header(Columns *columns, Survey *survey, int start)
{
	const Lead *lead = &survey->leads[start];

	columns->rows = columns->blank = columns->faulty = 0;
	columns->short_rows = columns->long_rows = 0;
	columns->preamble = columns->header > 0 ? (uint32_t) columns->header - 1 :
		columns->header < 0 ? lead->before : 0;
	columns->row_names = columns->header < 0 &&
		lead->nfields + 1 == columns->dialect->columns && lead->nfields > 1;
	count_columns(columns, survey, columns->header == 0 ? 0 : lead->nfields);
	memset(columns->columns, 0, columns->count * sizeof(ColumnStats));
	for (uint32_t i = 0; i < columns->count; i++)
		columns->columns[i].types = columns->columns[i].types_comma = SHAPE_ANY;
	columns->header_lines = survey->nleads == 0 ? 0 :
		columns->header < 0 ? columns->preamble + 1 : (uint32_t) columns->header;
	walk_all(columns, visit_row, survey);
	columns->has_header = columns->header_lines > 0 &&
		(columns->header > 0 || judge_header(columns) > 0);
}

void
columns_find(Columns *columns)
{
	uint32_t	usual = columns->dialect->columns;
	Survey		survey = {.columns = columns};
	int			start;
	int			first;

	walk_all(columns, survey_row, &survey);
	start = columns->header < 0 ? find_start(&survey, usual, true) : 0;
	first = columns->header < 0 ? find_start(&survey, usual, false) : 0;
	try_header(columns, &survey, start);

	/* without names below it a title is a row like others */
	if (!columns->has_header && first != start)
		try_header(columns, &survey, first);
	if (!columns->has_header && columns->header_lines > columns->preamble)
		take_back_header(columns, &survey);
}

/* ---- decisions ---- */

/* Words that stand for NULL in a column of a type that they do not fit. */
static void
decide_nulls(Columns *columns)
{
	uint32_t	seen = 0;

	columns->null_empty = columns->nulls == NULL ?
		columns->dialect->scan.format == SCAN_CSV :
		is_given_null(columns, "", 0);
	if (columns->nulls != NULL)
		return;
	for (uint32_t i = 0; i < columns->count; i++)
	{
		const ColumnStats *stats = &columns->columns[i];
		bool		typed = is_typed(stats) && (stats->digits || stats->iso);

		for (int k = 0; k < SHAPE_NULLS; k++)
			if (stats->markers[k] > 0 && (k < SHAPE_SURE_NULLS || typed))
				seen |= 1u << k;

		/* in text format an empty string is one, where nothing else says no */
		columns->null_empty |= typed && stats->empties + stats->hollow > 0;
	}
	columns->null_markers = seen;
}

/* Whether the numbers of the file have a comma for a point. */
static void
decide_decimal_mark(Columns *columns)
{
	const uint32_t numbers = SHAPE_BIT(SHAPE_NUMERIC) | SHAPE_BIT(SHAPE_FLOAT8);
	uint32_t	commas = 0;
	uint32_t	points = 0;

	if (columns->decimal_mark != '\0')
		return;
	for (uint32_t i = 0; i < columns->count; i++)
	{
		const ColumnStats *stats = &columns->columns[i];
		bool		point = (stats->types & numbers) != 0;
		bool		comma = (stats->types_comma & numbers) != 0;

		if (stats->values == 0 || !stats->digits || point == comma)
			continue;
		if (point)
			points++;
		else if (stats->plain_comma || columns->dialect->scan.delimiter != ',')
			commas++;
	}
	columns->decimal_mark = commas > points ? ',' : '.';
}

static ShapeType
narrowest_type(uint32_t types)
{
	for (int t = 0; t < SHAPE_TEXT; t++)
		if (types & SHAPE_BIT(t))
			return t;
	return SHAPE_TEXT;
}

static void
decide_type(Columns *columns, ColumnStats *stats)
{
	uint32_t	types = columns->decimal_mark == ',' ? stats->types_comma : stats->types;
	bool		marked = false;

	for (int k = 0; k < SHAPE_NULLS; k++)
		marked |= stats->markers[k] > 0 && !(columns->null_markers & (1u << k));
	if (stats->values == 0 || marked)
		types = SHAPE_BIT(SHAPE_TEXT);
	if (!stats->digits)
		types &= ~(SHAPE_BIT(SHAPE_NUMERIC) | SHAPE_BIT(SHAPE_FLOAT8));
	stats->types = types;
	stats->type = narrowest_type(types);
}

/* Day or month first: as the column's dates say, or those of other columns. */
static void
decide_order(Columns *columns, ColumnStats *stats)
{
	int			known = 0;

	if ((stats->type != SHAPE_DATE && stats->type != SHAPE_TIMESTAMP) ||
		stats->date.orders == 0)
		return;
	if (stats->date.orders != (SHAPE_DAY_FIRST | SHAPE_MONTH_FIRST))
	{
		stats->order = stats->date.orders;
		return;
	}
	for (uint32_t i = 0; i < columns->count; i++)
	{
		const ShapeDate *other = &columns->columns[i].date;

		if (columns->columns[i].type == SHAPE_TEXT ||
			other->separators[0] != stats->date.separators[0])
			continue;
		if (other->orders == SHAPE_DAY_FIRST || other->orders == SHAPE_MONTH_FIRST)
			known |= other->orders;
	}
	stats->ambiguous = true;
	if (known == SHAPE_DAY_FIRST || known == SHAPE_MONTH_FIRST)
		stats->order = known;
	else if (stats->date.separators[0] == '.' ||
			 columns->decimal_mark == ',' || !columns->month_first)
		stats->order = SHAPE_DAY_FIRST;
	else
		stats->order = SHAPE_MONTH_FIRST;
}

/* A blank behind each delimiter is part of how the file is written. */
static bool
has_blanks_throughout(const Columns *columns)
{
	uint32_t	all = 0;
	uint32_t	with = 0;

	for (uint32_t i = 1; i < columns->count; i++)
	{
		const ColumnStats *stats = &columns->columns[i];

		if (stats->values == 0)
			continue;
		all++;
		with += stats->blanks * 10 >= stats->values * 9 ? 1 : 0;
	}
	return all > 0 && with == all;
}

/* What the type of a column asks of the load. */
static void
decide_options(Columns *columns, ColumnStats *stats)
{
	bool		typed = stats->type != SHAPE_TEXT;

	stats->trim = typed && stats->padded;
	stats->force_null = typed &&
		(stats->quoted_empty ||
		 (stats->quoted_markers & columns->null_markers) != 0);

	stats->nulls = stats->given_nulls;
	if (columns->null_empty)
		stats->nulls += stats->empties +
			(stats->trim || columns->trim_all ? stats->hollow : 0);
	for (int k = 0; k < SHAPE_NULLS; k++)
		if (columns->null_markers & (1u << k))
			stats->nulls += stats->markers[k];
}

void
columns_decide(Columns *columns)
{
	decide_nulls(columns);
	decide_decimal_mark(columns);
	for (uint32_t i = 0; i < columns->count; i++)
		decide_type(columns, &columns->columns[i]);
	columns->trim_all = has_blanks_throughout(columns);
	for (uint32_t i = 0; i < columns->count; i++)
	{
		decide_order(columns, &columns->columns[i]);
		decide_options(columns, &columns->columns[i]);
	}
}

void
columns_refuse(Columns *columns, uint32_t column)
{
	ColumnStats *stats = &columns->columns[column];

	if (stats->ambiguous)
	{
		/* not so ambiguous, then */
		stats->ambiguous = false;
		stats->order = stats->date.orders = stats->order ^ stats->date.orders;
		return;
	}
	stats->order = 0;
	stats->types &= ~SHAPE_BIT(stats->type);
	if (stats->date.orders != 0)
		stats->types = SHAPE_BIT(SHAPE_TEXT);
	stats->type = narrowest_type(stats->types);
	decide_options(columns, stats);
}

const char *
columns_text(const Columns *columns, uint32_t column, const char *data,
			 const ScanField *field, size_t *length)
{
	const ColumnStats *stats = &columns->columns[column];
	const ScanDialect *scan = &columns->dialect->scan;
	const char *s = sheet_value(scan, data, field, columns->buffer, length);
	int			marker;

	if (is_marker(columns, data, field))
		return NULL;
	if ((columns->trim_all || stats->trim) &&
		sheet_quoting(scan, data, field) != SHEET_QUOTED)
		trim_blanks(&s, length);
	if (field->quoted && !stats->force_null)
		return s;
	if (columns->nulls != NULL)
		return is_given_null(columns, s, *length) ? NULL : s;
	marker = shape_null(s, *length);
	if ((*length == 0 && columns->null_empty) ||
		(marker >= 0 && (columns->null_markers & (1u << marker)) != 0))
		return NULL;
	return s;
}
