/*
 * json.c
 *		Format json: rows are objects, the keys are the names of columns.
 *
 * The scanner (scan/json_rows.h) gives a row a field for each column, so that
 * values are converted as in all formats.  What is left to do here: keys that
 * are missing or unknown, texts with escapes, and columns whose values are not
 * texts of their type in JSON.  The rules are those of json_populate_record,
 * which is called where a column is an array or of a composite type.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "format/convert.h"
#include "format/lines.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "scan/json.h"
#include "scan/json_rows.h"
#include "server/compat.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/* ---- columns ---- */

/* What a column is converted from. */
typedef enum Taking
{
	TAKES_TEXT,					/* of a string its characters, of anything else its JSON text */
	TAKES_JSON,					/* the JSON text */
	TAKES_POPULATED				/* what json_populate_record makes of the JSON text */
} Taking;

static Taking
taking_of(Oid type)
{
	type = getBaseType(type);
	if (type == JSONOID || type == JSONBOID)
		return TAKES_JSON;
	if (type == RECORDOID || type_is_rowtype(type) || OidIsValid(get_element_type(type)))
		return TAKES_POPULATED;
	return TAKES_TEXT;
}

/* The state of calls of an input function of JSON text. */
typedef struct Populating
{
	FmgrInfo	input;			/* the type's own, for NULL */
	FmgrInfo	populate;		/* json_populate_record */
	Datum		base;			/* a record of the column alone, NULL */
	char	   *start;			/* start of an object with just this column */
} Populating;

/* Called as any input function: cstring (NULL for a null), ioparam and typmod. */
static Datum
populate_in(PG_FUNCTION_ARGS)
{
	Populating *state = fcinfo->flinfo->fn_extra;
	const char *text = PG_GETARG_CSTRING(0);
	StringInfoData object;
	Datum		record;
	bool		isnull;
	Datum		value;

	if (text == NULL)
	{
		(void) InputFunctionCall(&state->input, NULL, PG_GETARG_OID(1), PG_GETARG_INT32(2));
		PG_RETURN_NULL();
	}
	initStringInfo(&object);
	appendStringInfo(&object, "%s%s}", state->start, text);
	record = FunctionCall2(&state->populate, state->base,
						   PointerGetDatum(cstring_to_text_with_len(object.data, object.len)));
	pfree(object.data);
	value = GetAttributeByNum(DatumGetHeapTupleHeader(record), 1, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	return value;
}

/* Installs that as the column's input function. */
static void
open_populated(Column *column)
{
	Populating *state = palloc0(sizeof(Populating));
	TupleDesc	desc = CreateTemplateTupleDesc(1);
	StringInfoData start;
	Datum		values[1] = {0};
	bool		nulls[1] = {true};
	List	   *args;

	TupleDescInitEntry(desc, 1, column->name, column->type, column->typmod, 0);
	compat_finalize_desc(desc);
	desc = BlessTupleDesc(desc);
	state->base = HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));

	/* it looks up the type of its first argument */
	fmgr_info(F_JSON_POPULATE_RECORD, &state->populate);
	args = list_make2(makeNullConst(RECORDOID, -1, InvalidOid),
					  makeNullConst(JSONOID, -1, InvalidOid));
	fmgr_info_set_expr((Node *) makeFuncExpr(F_JSON_POPULATE_RECORD, RECORDOID, args,
											 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL),
					   &state->populate);

	initStringInfo(&start);
	appendStringInfoChar(&start, '{');
	escape_json(&start, column->name);
	appendStringInfoChar(&start, ':');
	state->start = start.data;

	state->input = column->input;
	column->input.fn_addr = populate_in;
	column->input.fn_extra = state;
	column->convert = NULL;
}

static void
open_column(Converter *conv, Column *column)
{
	lines_open_column(conv, column);
	if (taking_of(column->type) == TAKES_POPULATED)
		open_populated(column);
}

/* ---- keys ---- */

typedef struct KeyConversion
{
	int			from;			/* pg_enc */
	int			to;
	Oid			procedure;		/* invalid: none is needed, or there is none */
} KeyConversion;

/*
 * From the text of a key to that of names.  One without escapes is converted at
 * once; escapes are Unicode, so with these it is UTF-8 first.
 */
typedef struct KeyText
{
	KeyConversion plain;
	KeyConversion to_unicode;
	KeyConversion from_unicode;
	Encoding	wide;			/* where a wide backslash becomes that of ASCII in UTF-8 */
} KeyText;

/*
 * Space for the text of a key in any encoding, even if all of it were wide backslashes that are
 * doubled, and what json_unescape reads past it.
 */
#define KEY_SPACE (2 * SCAN_JSON_MAX_KEY * MAX_CONVERSION_GROWTH + SCAN_PADDING)

static KeyConversion
open_conversion(int from, int to)
{
	return (KeyConversion) {
		.from = from, .to = to,
		.procedure = from == to ? InvalidOid : FindDefaultConversionProc(from, to)
	};
}

/* Returns the length in the other encoding, or -1 where that cannot express the text. */
static int
convert_key(const KeyConversion *conversion, const char *s, int len, char *dst)
{
	if (conversion->from == conversion->to || scan_is_ascii(s, len))
	{
		memcpy(dst, s, len);
		return len;
	}
	if (!OidIsValid(conversion->procedure) ||
		pg_do_encoding_conversion_buf(conversion->procedure, conversion->from, conversion->to,
									  (unsigned char *) unconstify(char *, s), len,
									  (unsigned char *) dst, KEY_SPACE, true) != len)
		return -1;
	return strlen(dst);
}

static int
convert_escaped_key(const KeyText *state, const char *s, int len, char *dst)
{
	char		text[KEY_SPACE];
	char		doubled[2 * SCAN_JSON_MAX_KEY];
	size_t		unescaped;

	if (state->to_unicode.from == PG_SHIFT_JIS_2004)
	{
		len = encoding_copy_doubled(&state->wide, s, len, doubled);
		s = doubled;
	}
	len = convert_key(&state->to_unicode, s, len, dst);
	if (len < 0)
		return -1;
	unescaped = json_unescape(dst, len, false, text);
	if (unescaped > SCAN_JSON_MAX_KEY)
		return -1;
	return convert_key(&state->from_unicode, text, unescaped, dst);
}

/* As ScanJson has it. */
static size_t
key_text(const void *arg, const char *s, uint32 length, bool escaped, char *to)
{
	const KeyText *state = arg;
	char		text[KEY_SPACE];
	int			n;

	n = escaped ? convert_escaped_key(state, s, length, text) :
		convert_key(&state->plain, s, length, text);
	if (n < 0 || n > SCAN_JSON_MAX_NAME)
		return JSON_NO_TEXT;
	memcpy(to, text, n);
	return n;
}

/*
 * Names are compared as the database has them: that is all that identifies them,
 * as other encodings may have several codes for a character, ASCII letters
 * within others, or no room for a name.
 */
static void
open_key_text(ScanJson *json, int file)
{
	int			database = GetDatabaseEncoding();
	KeyText    *state;

	if (file == PG_SQL_ASCII)
		file = database;
	/* nothing is converted there, nor where all is UTF-8 */
	json->ascii = file != PG_UTF8;
	if (database == PG_SQL_ASCII || (file == PG_UTF8 && database == PG_UTF8))
		return;
	state = palloc0(sizeof(KeyText));
	state->plain = open_conversion(file, database);
	state->to_unicode = open_conversion(file, PG_UTF8);
	state->from_unicode = open_conversion(PG_UTF8, database);
	if (file == PG_SHIFT_JIS_2004)
		encoding_open(&state->wide, file);
	json->key_text = key_text;
	json->key_text_arg = state;
}

/* The reader's state: the keys that the scanner looks for, the same for all files. */
static void
begin_columns(Reader *reader, const Target *target)
{
	const BulkOptions *options = reader->options;
	MemoryContext old;
	ScanJson   *json;
	ScanJsonKey *keys;

	if (reader->format_state != NULL)
		return;
	old = MemoryContextSwitchTo(reader->context);
	json = palloc0(sizeof(ScanJson));
	json->nkeys = target->nfields;
	json->keys = keys = palloc0(sizeof(ScanJsonKey) * Max(target->nfields, 1));
	for (int i = 0; i < target->nfields; i++)
	{
		Form_pg_attribute att;

		att = TupleDescAttr(RelationGetDescr(target->rel), target->attnums[i] - 1);
		keys[i] = (ScanJsonKey) {
			.name = pstrdup(NameStr(att->attname)),
			.length = Min(strlen(NameStr(att->attname)), SCAN_JSON_MAX_NAME),
			.whole = taking_of(att->atttypid) != TAKES_TEXT
		};
	}
	json->nslots = scan_json_nslots(json->nkeys);
	json->slots = palloc(sizeof(uint32_t) * json->nslots);
	open_key_text(json, options->encoding);
	json->ignore_extra = options->ignore_extra;
	json->missing_is_null = options->missing == BULK_MISSING_NULL;
	scan_json_index(json);
	reader->format_state = json;
	MemoryContextSwitchTo(old);
}

/* ---- reading ---- */

static ScanEol
first_eol(const BulkOptions *options, bool stored)
{
	return stored ? SCAN_EOL_JSON_WHOLE : SCAN_EOL_UNKNOWN;
}

static void
find_rows(Reader *reader, const char *bytes, uint32 length, uint32 max_rows)
{
	/* a chunk never has the end of an array */
	bool		at_eof = reader->source->window.at_eof &&
		!(reader->chunked && reader->eol == SCAN_EOL_JSON_ARRAY);

	Assert(reader->format_state != NULL);
	scan_json_rows(reader->format_state, &reader->eol, bytes, reader->data, length,
				   at_eof, reader->rows, max_rows, reader->fields, reader->max_fields,
				   &reader->result);
}

static bool
find_border(const Reader *reader, ScanEol eol, ScanBorder *border)
{
	const Window *window = &reader->source->window;

	return !scan_json_border(eol, window->data, window->length, window->at_eof, border) ||
		window->at_eof;
}

static void
check_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

static ScanRecovery
recover(const Reader *reader, const char *bytes, uint32 length, const ScanRow *row,
		uint32 nfields, uint32 *resume)
{
	return scan_json_recover(reader->eol, bytes, length, reader->source->window.at_eof,
							 row->start, row->end, check_interrupts, resume);
}

static const char *
describe_fault(const ScanRow *row, int *sqlstate)
{
	switch ((ScanFault) row->fault)
	{
		case SCAN_FAULT_JSON:
			*sqlstate = ERRCODE_INVALID_TEXT_REPRESENTATION;
			return "invalid input syntax for type json";
		case SCAN_FAULT_JSON_KIND:
			return "row is not a JSON object";
		case SCAN_FAULT_JSON_DEPTH:
			*sqlstate = ERRCODE_PROGRAM_LIMIT_EXCEEDED;
			return psprintf("JSON is nested deeper than %d levels", SCAN_JSON_MAX_DEPTH);
		case SCAN_FAULT_JSON_NO_KEY:
			return "no key of the JSON object is a column";
		case SCAN_FAULT_JSON_BEHIND:
			return "unexpected data after the end of the JSON array";
		case SCAN_FAULT_JSON_UNCLOSED:
			return "unexpected end of file within a JSON array";
		case SCAN_FAULT_UNTERMINATED_QUOTE:
			*sqlstate = ERRCODE_PROGRAM_LIMIT_EXCEEDED;
			return "JSON object is longer than 2 GB";
		default:
			return NULL;
	}
}

/* ---- values ---- */

static void
begin_batch(Converter *conv, Reader *reader)
{
	convert_window(conv, reader->data, reader->result.consumed);
}

/* By the server, which knows what its encoding can express, and has the messages. */
static const char *
unescape_slowly(Converter *conv, const char *s, uint32 len, uint32 *unescaped)
{
	StringInfoData json;
	Datum		text;

	initStringInfo(&json);
	appendStringInfo(&json, "\"%.*s\"", (int) len, s);
	guard_enter(conv->guard);
	text = DirectFunctionCall2(json_extract_path_text,
							   PointerGetDatum(cstring_to_text_with_len(json.data, json.len)),
							   PointerGetDatum(construct_empty_array(TEXTOID)));
	guard_leave(conv->guard, false);
	*unescaped = VARSIZE_ANY_EXHDR(DatumGetPointer(text));
	return VARDATA_ANY(DatumGetPointer(text));
}

static bool
unescape(Converter *conv, const char *s, uint32 *len, char *to, bool *high, RowError *err)
{
	size_t		n;

	if (s == to)
		s = pnstrdup(s, *len);
	n = json_unescape(s, *len, GetDatabaseEncoding() != PG_UTF8, to);
	if (n == JSON_NO_TEXT)
	{
		uint32		unescaped;
		const char *text = unescape_slowly(conv, s, *len, &unescaped);

		n = unescaped;
		memcpy(to, text, n);
	}
	*len = n;
	return true;
}

/* The row's key that is not a column. */
static bool
refuse_key(Converter *conv, const char *data, const ScanField *key, RowError *err)
{
	ScanField	name = *key;
	uint32		len;
	const char *text;

	/* in a field of a name "escaped" means something else */
	name.escaped = false;
	text = convert_field_text(conv, data, &name, &len, err);
	if (text == NULL)
		return false;
	convert_fail(err, REJECT_SYNTAX, ERRCODE_BAD_COPY_FILE_FORMAT, NULL, NULL,
				 "key \"%s\" is not a column that is loaded",
				 pnstrdup(text, pg_mbcliplen(text, len, NAMEDATALEN)));
	return convert_wrong_count(err, true);
}

/* The value of a column whose key is missing. */
static bool
take_missing(Converter *conv, int index, Datum *values, bool *nulls, RowError *err)
{
	const Column *column = &conv->columns[index];

	if (conv->options->missing == BULK_MISSING_ERROR)
	{
		convert_fail(err, REJECT_SYNTAX, ERRCODE_BAD_COPY_FILE_FORMAT, column, NULL,
					 "missing data for column \"%s\"", column->name);
		return convert_wrong_count(err, false);
	}
	return convert_missing(conv, index, index + 1, values, nulls, err);
}

static bool
convert_object(Converter *conv, const char *data, const ScanRow *row,
			   const ScanField *fields, Datum *values, bool *nulls, RowError *err)
{
	if (row->nfields > conv->ncolumns && fields[conv->ncolumns].quoted)
		return refuse_key(conv, data, &fields[conv->ncolumns], err);
	for (int i = 0; i < conv->ncolumns; i++)
	{
		AttrNumber	attnum = conv->columns[i].attnum;

		if (!(SCAN_JSON_IS_MISSING(&fields[i]) ?
			  take_missing(conv, i, values, nulls, err) :
			  convert_field(conv, i, data, &fields[i], &values[attnum - 1],
							&nulls[attnum - 1], err)))
			return false;
	}
	if (conv->ndefaults > 0)
		convert_defaults(conv, values, nulls);
	return true;
}

/* Raises the server's own, more detailed error for invalid JSON. */
static void
raise_syntax(const char *data, const ScanRow *row)
{
	const char *text = data + row->start;
	int			length = row->end - row->start;

	if (pg_verifymbstr(text, length, true))
		(void) DirectFunctionCall1(json_in, CStringGetDatum(pnstrdup(text, length)));
}

static bool
convert_json_row(Converter *conv, const char *data, const ScanRow *row,
				 const ScanField *fields, Datum *values, bool *nulls, RowError *err)
{
	if (row->fault == SCAN_FAULT_JSON && err == NULL)
		raise_syntax(data, row);
	return convert_row_by(convert_object, conv, data, row, fields, values, nulls, err);
}

static bool
is_missing(const ScanField *field)
{
	return SCAN_JSON_IS_MISSING(field);
}

static bool
may_form(const Converter *conv, Size *shared)
{
	*shared = 0;
	return true;
}

const FormatRoutine format_json = {
	.by_shape = true,
	.spans_files = true,
	.rows_alone = true,
	.by_name = true,
	.client_marker = true,
	.first_eol = first_eol,
	.begin_columns = begin_columns,
	.begin_file = lines_begin_file,
	.find_rows = find_rows,
	.find_border = find_border,
	.recover = recover,
	.open_column = open_column,
	.begin_batch = begin_batch,
	.convert_row = convert_json_row,
	.describe_fault = describe_fault,
	.escapes = FORMAT_OWN_ESCAPES,
	.unescape = unescape,
	.is_missing = is_missing,
	.may_form = may_form
};
