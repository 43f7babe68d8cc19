/*
 * column_types.c
 *		See column_types.h.
 */
#include "inspect/column_types.h"

#include <string.h>

#include "inspect/column_values.h"
#include "inspect/names.h"

/* Lines at the start of a file that are looked at for its header. */
#define LEADS 16

typedef struct Lead
{
	uint32_t	before;			/* rows before it, empty ones included */
	uint32_t	nfields;
	uint32_t	filled;			/* fields that are not empty ... */
	uint32_t	extent;			/* ... and those up to the last of them */
	bool		first_filled;
	bool		typed;			/* its first field is a number, a date or the like */
	bool		faulty;
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
	uint64_t	equal;			/* rows with as many fields as most ... */
	uint64_t	longer;			/* ... and with more, but for leads */
	bool		last_filled;	/* the last field of rows that are as long as most has values */
	uint32_t	longest;		/* most fields of these */
	uint32_t	header_end;		/* rows before it that were taken for a header */
} Survey;

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
		sheet_walk_table(&columns->spans[i], &columns->dialect->scan,
						 columns->dialect->columns, &eol, columns->space,
						 visit, survey);
	}
}

/* ---- how many columns, and where the data begins ---- */

static bool
is_typed_field(const char *data, const ScanField *field)
{
	ValueShape	shape;

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
	bool		leads = survey->first_span && survey->nleads < LEADS;

	if (sheet_is_blank(row, fields) && dialect->columns > 1)
		return true;
	if (leads)
	{
		Lead	   *lead = &survey->leads[survey->nleads++];

		lead->before = before;
		lead->nfields = row->nfields;
		lead->faulty = is_faulty(data, row);
		lead->first_filled = fields[0].length > 0;
		lead->typed = is_typed_field(data, &fields[0]);
		for (uint32_t i = 0; i < row->nfields; i++)
			if (fields[i].length > 0)
			{
				lead->filled++;
				lead->extent = i + 1;
			}
	}
	if (is_faulty(data, row))
		return true;
	survey->rows++;
	if (row->nfields > dialect->columns && !leads)
	{
		survey->longer++;
		if (row->nfields > survey->longest)
			survey->longest = row->nfields;
	}
	if (row->nfields == dialect->columns)
	{
		survey->equal++;
		survey->last_filled |= fields[row->nfields - 1].length > 0;
	}
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
 * has a column for each of their fields.  from: the first lead that is a row;
 * names: how many the header has.
 */
static void
count_columns(Columns *columns, const Survey *survey, int from, uint32_t names)
{
	uint32_t	usual = columns->dialect->columns;
	uint64_t	longer = survey->longer;
	uint32_t	longest = survey->longest;
	bool		few;

	for (int i = from; i < survey->nleads; i++)
	{
		const Lead *lead = &survey->leads[i];

		if (lead->faulty || lead->nfields <= usual)
			continue;
		longer++;
		if (lead->nfields > longest)
			longest = lead->nfields;
	}
	few = longer == 1 ? survey->rows > 6 : longer * 10 <= survey->rows;
	columns->regular = names > usual ? names : usual;
	columns->longest = columns->regular;
	if (longest > columns->regular && !few && longest <= columns->regular * 2 + 8)
		columns->longest = longest;
	columns->wanted = columns->longest;
	columns->count = columns->wanted < COLUMNS_MAX ? columns->wanted : COLUMNS_MAX;
}

/* ---- rows ---- */

/* Whether a row is one that a load takes. */
static bool
is_data(const Columns *columns, const char *data, const ScanRow *row,
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
		column_add_field(columns, &columns->columns[i], data, &fields[i]);
	for (uint32_t i = n; i < columns->count; i++)
		columns->columns[i].empties++;
}

/* The row that may be a header: its fields are names, perhaps. */
static void
keep_names(Columns *columns, const char *data, const ScanRow *row,
		   const ScanField *fields)
{
	char	   *to = columns->names;
	uint32_t	column = columns->row_names ? 1 : 0;

	for (uint32_t i = 0; i < row->nfields && column < columns->count; i++)
	{
		ColumnStats *stats = &columns->columns[column];

		if (columns->name_gaps && fields[i].length == 0)
			continue;
		column++;
		stats->name = sheet_value(&columns->dialect->scan, data, &fields[i],
								  to, &stats->name_length);
		if (stats->name == to)
			to += stats->name_length;
		column_trim(&stats->name, &stats->name_length);
	}
}

/* Names of a line in which a quote is broken: what stands between delimiters. */
static void
keep_bare_names(Columns *columns, const char *data, const ScanRow *row)
{
	const Dialect *dialect = columns->dialect;
	size_t		length = strlen(dialect->separator);
	const char *s = data + row->start;
	const char *end = s;

	while (end < data + row->end && *end != '\n' && *end != '\r')
		end++;
	for (uint32_t i = columns->row_names ? 1 : 0; i < columns->count && s <= end; i++)
	{
		ColumnStats *stats = &columns->columns[i];
		const char *next = s;

		while (next < end && ((size_t) (end - next) < length ||
							  memcmp(next, dialect->separator, length) != 0))
			next++;
		stats->name = s;
		stats->name_length = next - s;
		column_trim(&stats->name, &stats->name_length);
		while (stats->name_length > 0 && stats->name[0] == dialect->scan.quote)
			stats->name++, stats->name_length--;
		while (stats->name_length > 0 &&
			   stats->name[stats->name_length - 1] == dialect->scan.quote)
			stats->name_length--;
		s = next < end ? next + length : end + 1;
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
		bool		broken = row->fault == SCAN_FAULT_UNTERMINATED_QUOTE;

		if (at + 1 == columns->header_lines && broken)
			keep_bare_names(columns, data, row);
		else if (at + 1 == columns->header_lines)
			keep_names(columns, data, row, fields);
		columns->faulty += broken ? 1 : 0;
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

/* Treats rows that were taken for a header as data. */
static bool
visit_header(void *arg, const char *data, const ScanRow *row,
			 const ScanField *fields)
{
	Survey	   *survey = arg;
	Columns    *columns = survey->columns;

	uint32_t	at = survey->seen++;

	if (at < columns->header_lines || at >= survey->header_end)
		return survey->seen < survey->header_end;
	if (is_data(columns, data, row, fields))
		add_row(columns, data, row, fields);
	else if (!is_faulty(data, row) && row->nfields > columns->longest)
		columns->long_rows++;
	return survey->seen < survey->header_end;
}

/* ---- the header ---- */

/* There is no header: makes what was taken for one data again. */
static void
take_back_header(Columns *columns, Survey *survey)
{
	ScanEol		eol = columns->dialect->eol == SCAN_EOL_ANY ?
		SCAN_EOL_ANY : SCAN_EOL_UNKNOWN;

	columns->row_names = false;
	survey->header_end = columns->header_lines;
	columns->header_lines = columns->preamble;
	survey->seen = 0;
	sheet_walk_table(&columns->spans[0], &columns->dialect->scan,
					 columns->dialect->columns, &eol, columns->space,
					 visit_header, survey);
}

/*
 * Takes a lead, and the rows above it, for the header of the file.  names: how
 * many columns it stands for. from: the first lead that counts as a row.
 */
static void
try_header(Columns *columns, Survey *survey, int start, uint32_t names, int from)
{
	const Lead *lead = &survey->leads[start];
	uint32_t	usual = columns->dialect->columns;

	columns->rows = columns->blank = columns->faulty = 0;
	columns->short_rows = columns->long_rows = 0;
	columns->preamble = columns->header > 0 ? (uint32_t) columns->header - 1 :
		columns->header < 0 ? lead->before : 0;
	columns->row_names = columns->header < 0 && survey->last_filled &&
		lead->nfields + 1 == usual && lead->nfields > 1;
	columns->name_gaps = lead->nfields > usual && names == usual &&
		lead->filled == usual;
	count_columns(columns, survey, columns->header == 0 ? 0 : from,
				  columns->header == 0 ? 0 : names);
	memset(columns->columns, 0, columns->count * sizeof(ColumnStats));
	for (uint32_t i = 0; i < columns->count; i++)
		columns->columns[i].types = columns->columns[i].types_comma = SHAPE_ANY;
	columns->header_lines = survey->nleads == 0 ? 0 :
		columns->header < 0 ? columns->preamble + 1 : (uint32_t) columns->header;
	walk_all(columns, visit_row, survey);
	columns->has_header = columns->header_lines > 0 &&
		(columns->header > 0 || names_judge(columns) > 0);
	columns->doubtful = columns->rows > 0 && !names_are_sure(columns);
}

/* The columns that a lead has names for: empty fields at its end, or one too many, are none. */
static uint32_t
count_names(const Lead *lead, uint32_t usual)
{
	return lead->faulty ||
		(lead->nfields > usual && (lead->extent <= usual || lead->filled == usual)) ?
		usual : lead->nfields;
}

/*
 * A line with more fields than rows have is a header with names for all of
 * them, unless the next line is a better one: then it is a title that has
 * delimiters in it.
 */
static bool
try_below(Columns *columns, Survey *survey, int start)
{
	uint32_t	usual = columns->dialect->columns;
	const Lead *lead = &survey->leads[start];
	const Lead *next = lead + 1;

	if (columns->header >= 0 || start + 1 >= survey->nleads || usual < 2 ||
		count_names(lead, usual) <= usual ||
		next->nfields != usual || next->filled != usual)
		return false;
	try_header(columns, survey, start + 1, usual, start + 2);
	return columns->has_header &&
		(names_are_sure(columns) || lead->nfields > usual + usual / 2 + 1);
}

/* ---- rows of data, for others ---- */

typedef struct DataWalk
{
	const Columns *columns;
	SheetVisit	visit;
	void	   *arg;
	uint32_t	header;			/* lines of it that are still to come */
	bool		done;			/* no more rows are wanted */
} DataWalk;

static bool
show_data(void *arg, const char *data, const ScanRow *row, const ScanField *fields)
{
	DataWalk   *walk = arg;

	if (walk->header > 0)
		walk->header--;
	else if (is_data(walk->columns, data, row, fields))
		walk->done = !walk->visit(walk->arg, data, row, fields);
	return !walk->done;
}

static void
walk_data(const Columns *columns, SheetVisit visit, void *arg)
{
	ScanEol		eol = columns->dialect->eol == SCAN_EOL_ANY ?
		SCAN_EOL_ANY : SCAN_EOL_UNKNOWN;
	DataWalk	walk = {.columns = columns, .visit = visit, .arg = arg};

	walk.header = columns->header_lines;
	for (int i = 0; i < columns->nspans && !walk.done; i++)
	{
		sheet_walk_table(&columns->spans[i], &columns->dialect->scan,
						 columns->dialect->columns, &eol, columns->space,
						 show_data, &walk);
		walk.header = 0;
	}
}

static const ColumnsRoutine columns_of_lines = {.walk = walk_data, .text = column_text};

void
columns_find(Columns *columns)
{
	uint32_t	usual = columns->dialect->columns;
	Survey		survey = {.columns = columns};
	int			start;
	int			first;

	columns->routine = &columns_of_lines;
	walk_all(columns, survey_row, &survey);
	start = columns->header < 0 ? find_start(&survey, usual, true) : 0;
	first = columns->header < 0 ? find_start(&survey, usual, false) : 0;
	if (try_below(columns, &survey, start))
		return;
	try_header(columns, &survey, start, count_names(&survey.leads[start], usual), start + 1);

	/* where lines have any number of fields, those above a row are no titles */
	if (columns->header < 0 && survey.equal * 2 <= survey.rows &&
		(!columns->has_header || columns->doubtful))
	{
		columns->has_header &= start == 0;
		first = 0;
	}

	/* without names below it a title is a row like others, and a line that is too long a bad one */
	if (!columns->has_header &&
		(first != start || survey.leads[start].nfields > usual))
		try_header(columns, &survey, first, usual, first);
	if (!columns->has_header && columns->header_lines > columns->preamble)
		take_back_header(columns, &survey);
}

/* ---- decisions ---- */

static bool
begins_with(const char *s, const char *start)
{
	return strncmp(s, start, strlen(start)) == 0;
}

/* Whether a load takes a null marker beside the other options. */
static bool
may_be_null(const Dialect *dialect, const char *marker)
{
	const char *comment = dialect->comment;

	return strstr(marker, dialect->separator) == NULL &&
		(dialect->scan.quote == '\0' || strchr(marker, dialect->scan.quote) == NULL) &&
		(*comment == '\0' || !(begins_with(marker, comment) || begins_with(comment, marker)));
}

/* Words that stand for NULL in a column of a type that they do not fit. */
static void
decide_nulls(Columns *columns)
{
	uint32_t	seen = 0;

	columns->null_empty = columns->nulls == NULL ?
		columns->dialect->scan.format == SCAN_CSV :
		column_is_null(columns, "", 0);
	if (columns->nulls != NULL)
		return;
	for (uint32_t i = 0; i < columns->count; i++)
	{
		const ColumnStats *stats = &columns->columns[i];
		bool		typed = stats->template != NULL ||
			(names_has_type(stats) && (stats->digits || stats->iso));

		for (int k = 0; k < SHAPE_NULLS; k++)
			if (stats->markers[k] > 0 && (k < SHAPE_SURE_NULLS || typed) &&
				may_be_null(columns->dialect, shape_nulls[k]))
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
	if (stats->template != NULL)
		types = SHAPE_BIT(stats->template_type);
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
		stats->date.orders == 0 || stats->template != NULL)
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
