/*
 * header.c
 *		See header.h.
 */
#include "postgres.h"

#include "header.h"

/* The field's text as a name, or NULL for a null marker. */
static char *
header_name(Header *header, const ScanField *field)
{
	const Converter *conv = header->batch->conv;
	const char *data = header->reader->data;
	ScanField	name = *field;
	uint32		len;
	const char *text;

	if (header->options->trim.all)
		name = convert_trim(conv, data, name);
	if (convert_is_null(conv, data, &name))
		return NULL;
	text = convert_field_text(header->batch->conv, data, &name, &len, NULL);
	return pnstrdup(text, len);
}

/* header = match: the names are those of the columns, in order. */
static void
match_header(Header *header, const ScanRow *row)
{
	Converter  *conv = header->batch->conv;
	int			nfields = row ? row->nfields : 1;

	if (nfields != conv->ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("wrong number of fields in header line: got %d, expected %d",
						nfields, conv->ncolumns)));

	for (int i = 0; i < nfields; i++)
	{
		const char *expected = conv->columns[i].name;
		char	   *name;

		if (expected == NULL)
			continue;
		name = row ? header_name(header, &header->reader->fields[row->first_field + i]) : NULL;
		if (name == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("column name mismatch in header line field %d: got null value, expected \"%s\"",
							i + 1, expected)));
		if (strcmp(name, expected) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("column name mismatch in header line field %d: got \"%s\", expected \"%s\"",
							i + 1, name, expected),
					 errhint("To find columns by their names in any order, set option \"header\" to \"map\".")));
	}
}

/* header = map: the names say what the fields are. */
static void
map_header(Header *header, const ScanRow *row)
{
	List	   *names = NIL;

	if (row == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("file \"%s\" has no header line", header->source->path)));

	for (int i = 0; i < row->nfields; i++)
	{
		char	   *name = header_name(header, &header->reader->fields[row->first_field + i]);

		if (name == NULL && !header->options->ignore_extra)
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("header line field %d has no name", i + 1),
					 errhint("To pass over such columns, set option \"extra_columns\" to \"ignore\".")));
		if (name != NULL &&
			target_find_column(header->target, name) == InvalidAttrNumber)
		{
			if (!header->options->ignore_extra)
				ereport(ERROR,
						(errcode(ERRCODE_UNDEFINED_COLUMN),
						 errmsg("column \"%s\" of the header line does not exist in relation \"%s\"",
								name, target_name(header->target)),
						 errhint("To pass over such columns, set option \"extra_columns\" to \"ignore\".")));
			name = NULL;
		}
		names = lappend(names, name);
	}
	target_set_columns(header->target, names);
}

/* A header line is no row, but it must be readable all the same. */
static void
check_header_row(Header *header, const ScanRow *row)
{
	Converter  *conv = header->batch->conv;
	const char *data = header->reader->data;

	convert_window(conv, data, header->reader->result.consumed);
	if (row->fault != SCAN_FAULT_NONE)
		convert_fault(conv, row, NULL);
	if (conv->encoding.transcode)
	{
		ScanField	line = {.start = row->start, .length = row->end - row->start};
		uint32		len;

		(void) convert_field_text(conv, data, &line, &len, NULL);
	}
	if (row->end > conv->valid)
		encoding_report(&conv->encoding, data + conv->valid,
						row->end - conv->valid, NULL);
}

/*
 * The reject file begins as the input files do.  With header = map it can
 * hold the rows of several files only where their columns are the same.
 */
static void
keep_header(Header *header, const char *raw, Size len)
{
	StringInfo	first = &header->first;

	rejects_header(header->rejects, raw, len);
	if (header->options->header != BULK_HEADER_MAP ||
		header->options->reject_file == NULL)
		return;
	if (header->source->current == 0)
		appendBinaryStringInfo(first, raw, len);
	else if (len != first->len || memcmp(raw, first->data, len) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"reject_file\" cannot take rows of files with different header lines"),
				 errhint("Load the files one by one, or use option \"reject_table\".")));
}

void
header_read(Header *header)
{
	const BulkOptions *options = header->options;
	Reader	   *reader = header->reader;
	int			lines = options->header == BULK_HEADER_SKIP ?
		options->header_lines : 1;
	StringInfo	raw = &header->raw;

	for (int i = 0; i < lines; i++)
	{
		const ScanRow *row = NULL;

		if (reader_rows(reader, 1, false))
		{
			row = &reader->rows[0];
			header->batch->next = 0;
			check_header_row(header, row);
			appendBinaryStringInfo(raw, reader->data + row->start,
								   row->next - row->start);
		}
		if (options->header == BULK_HEADER_MATCH)
			match_header(header, row);
		else if (options->header == BULK_HEADER_MAP)
			map_header(header, row);
		header->batch->next = PG_UINT32_MAX;
	}
	keep_header(header, raw->data, raw->len);
}
