/*
 * fixed_fields.c
 *		See fixed_fields.h.
 */
#include "postgres.h"

#include "common/string.h"
#include "mb/pg_wchar.h"
#include "option/fixed_fields.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

static const struct
{
	const char *name;
	BulkFieldType type;
	uint32		length;			/* 0: must be given */
}			types[] = {
	/* the first name of each type is used in messages */
	{"text", BULK_FIELD_TEXT, 0},
	{"smallint", BULK_FIELD_INT2, 2},
	{"integer", BULK_FIELD_INT4, 4},
	{"bigint", BULK_FIELD_INT8, 8},
	{"unsigned smallint", BULK_FIELD_UINT2, 2},
	{"unsigned integer", BULK_FIELD_UINT4, 4},
	{"real", BULK_FIELD_FLOAT4, 4},
	{"double precision", BULK_FIELD_FLOAT8, 8},
	{"int2", BULK_FIELD_INT2, 2},
	{"int", BULK_FIELD_INT4, 4},
	{"int4", BULK_FIELD_INT4, 4},
	{"int8", BULK_FIELD_INT8, 8},
	{"float4", BULK_FIELD_FLOAT4, 4},
	{"float8", BULK_FIELD_FLOAT8, 8}
};

/* One element of the array. */
typedef struct Element
{
	int			number;			/* from 1 */
	bool		has_name;
	char	   *name;			/* NULL: not loaded */
	BulkField	field;
	ScanFixedField scan;
} Element;

typedef struct FieldList
{
	const FieldDefaults *defaults;
	Element    *elements;
	int			n;
	uint32		end;			/* end of the previous field */
} FieldList;

/* ---- errors ---- */

static void refuse(int number, const char *format,...) pg_attribute_printf(2, 3);

static void
refuse(int number, const char *format,...)
{
	StringInfoData text;
	va_list		args;
	int			needed;

	initStringInfo(&text);
	do
	{
		va_start(args, format);
		needed = appendStringInfoVA(&text, format, args);
		va_end(args);
		if (needed > 0)
			enlargeStringInfo(&text, needed);
	} while (needed > 0);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 number > 0 ?
			 errmsg("option \"fields\": field %d %s", number, text.data) :
			 errmsg("option \"fields\" %s", text.data)));
}

static void
refuse_key(int number, char *key)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"fields\": field %d has an unrecognized key \"%s\"",
					number, key),
			 errdetail("Valid keys are \"name\", \"start\", \"length\", \"type\", \"endian\", \"trim\", \"null\".")));
}

static void
refuse_type(int number, const char *name)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < lengthof(types); i++)
		appendStringInfo(&names, "%s\"%s\"", i > 0 ? ", " : "", types[i].name);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"fields\": field %d has no valid \"type\": \"%s\"",
					number, name),
			 errdetail("Valid values are %s.", names.data)));
}

/* ---- values of an element ---- */

static bool
is_given(const JsonbValue *value)
{
	return value != NULL && value->type != jbvNull;
}

static char *
get_string(const Element *element, const char *key, JsonbValue *value)
{
	if (value->type != jbvString)
		refuse(element->number, "must have a string as \"%s\"", key);
	return pnstrdup(value->val.string.val, value->val.string.len);
}

/* An integer from 1 to FIELDS_MAX_LENGTH. */
static uint32
get_number(const Element *element, const char *key, JsonbValue *value)
{
	char	   *text = value->type == jbvNumeric ?
		numeric_normalize(value->val.numeric) : "";
	bool		fits = text[0] != '\0' && strlen(text) <= 10 &&
		text[strspn(text, "0123456789")] == '\0';
	int64		number = fits ? strtoll(text, NULL, 10) : 0;

	if (number < 1 || number > FIELDS_MAX_LENGTH)
		refuse(element->number, "must have an integer from 1 to %d as \"%s\"",
			   FIELDS_MAX_LENGTH, key);
	return (uint32) number;
}

/* Bytes given as hex digits, with or without \x. */
static ScanText
get_hex(const Element *element, const char *digits)
{
	ScanText	bytes = {0};
	size_t		len;
	char	   *to;

	if (digits[0] == '\\' && digits[1] == 'x')
		digits += 2;
	len = strlen(digits);
	if (len != 2 * (size_t) element->scan.length ||
		digits[strspn(digits, "0123456789abcdefABCDEF")] != '\0')
		refuse(element->number, "must have %u hexadecimal digits as \"null\"",
			   2 * element->scan.length);
	to = palloc(len / 2);
	(void) hex_decode(digits, len, to);
	bytes.text = to;
	bytes.length = (uint32_t) (len / 2);
	return bytes;
}

static ScanText
get_null_text(const Element *element, const FieldDefaults *defaults, const char *text)
{
	if (strlen(text) > element->scan.length)
		refuse(element->number, "has %u bytes, fewer than the string \"%s\" of \"null\"",
			   element->scan.length, text);
	if (defaults->must_be_ascii && !pg_is_ascii(text))
		refuse(element->number,
			   "must have ASCII strings as \"null\" where \"encoding\" is not the database encoding");
	return (ScanText) {
		.text = text, .length = (uint32_t) strlen(text)
	};
}

/* The strings of "null"; anything but a string is refused. */
static List *
get_nulls(const Element *element, JsonbValue *value)
{
	List	   *nulls = NIL;
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	item;

	if (value->type == jbvString)
		return list_make1(get_string(element, "null", value));
	if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
		refuse(element->number, "must have a string or an array of strings as \"null\"");
	iterator = JsonbIteratorInit(value->val.binary.data);
	while ((token = JsonbIteratorNext(&iterator, &item, true)) != WJB_DONE)
		if (token == WJB_ELEM)
			nulls = lappend(nulls, get_string(element, "null", &item));
	return nulls;
}

/*
 * Sets the null strings of a field.  Defaults that are longer than the field
 * cannot occur in it.
 */
static void
set_nulls(Element *element, const FieldDefaults *defaults, JsonbValue *value)
{
	ScanFixedField *scan = &element->scan;
	List	   *nulls = is_given(value) ? get_nulls(element, value) :
		scan->binary ? NIL : defaults->nulls;
	ScanText   *texts = palloc(sizeof(ScanText) * Max(list_length(nulls), 1));
	ListCell   *lc;

	foreach(lc, nulls)
	{
		const char *text = lfirst(lc);

		if (scan->binary)
			texts[scan->nnulls++] = get_hex(element, text);
		else if (text[0] == '\0')
			scan->empty_is_null = true;
		else if (is_given(value) || strlen(text) <= scan->length)
			texts[scan->nnulls++] = get_null_text(element, defaults, text);
	}
	scan->nulls = texts;
}

static void
set_type(Element *element, const char *name)
{
	for (int i = 0; i < lengthof(types); i++)
		if (pg_strcasecmp(types[i].name, name) == 0)
		{
			element->field.type = types[i].type;
			element->scan.binary = types[i].length > 0;
			element->scan.length = types[i].length;
			return;
		}
	refuse_type(element->number, name);
}

static void
set_place(FieldList *list, Element *element, JsonbValue *start, JsonbValue *length)
{
	ScanFixedField *scan = &element->scan;

	if (is_given(length))
	{
		uint32		given = get_number(element, "length", length);

		if (scan->binary && given != scan->length)
			refuse(element->number, "must have the \"length\" of its type, %u",
				   scan->length);
		scan->length = given;
	}
	else if (!scan->binary)
		refuse(element->number, "has no \"length\"");

	scan->start = is_given(start) ? get_number(element, "start", start) - 1 : list->end;
	if ((uint64) scan->start + scan->length > FIELDS_MAX_LENGTH)
		refuse(element->number, "ends beyond byte %d", FIELDS_MAX_LENGTH);
	list->end = scan->start + scan->length;
	if (list->defaults->record_length > 0 &&
		list->end > list->defaults->record_length)
		refuse(element->number, "ends at byte %u, beyond \"record_length\"", list->end);
}

static void
set_endian(Element *element, JsonbValue *value)
{
	char	   *word = get_string(element, "endian", value);

	element->field.big_endian = pg_strcasecmp(word, "big") == 0;
	if (!element->field.big_endian && pg_strcasecmp(word, "little") != 0)
		refuse(element->number, "must have \"little\" or \"big\" as \"endian\"");
	if (!element->scan.binary)
		refuse(element->number, "is a text, which has no \"endian\"");
}

static void
set_trim(Element *element, JsonbValue *value)
{
	if (value->type != jbvBool)
		refuse(element->number, "must have true or false as \"trim\"");
	if (element->scan.binary)
		refuse(element->number, "is no text, which \"trim\" is for");
	element->scan.trim = value->val.boolean ? SCAN_TRIM_BLANKS : SCAN_TRIM_NOTHING;
}

static void
read_element(FieldList *list, JsonbContainer *json)
{
	static const char *const keys[] = {
		"name", "start", "length", "type", "endian", "trim", "null"
	};
	enum
	{
		NAME, START, LENGTH, TYPE, ENDIAN, TRIM, NULLS
	};
	JsonbValue *values[lengthof(keys)] = {0};
	Element    *element = &list->elements[list->n++];
	JsonbIterator *iterator = JsonbIteratorInit(json);
	JsonbIteratorToken token;
	JsonbValue	key;

	element->number = list->n;
	while ((token = JsonbIteratorNext(&iterator, &key, true)) != WJB_DONE)
	{
		int			i;

		if (token != WJB_KEY)
			continue;
		for (i = 0; i < lengthof(keys); i++)
			if (strlen(keys[i]) == key.val.string.len &&
				memcmp(keys[i], key.val.string.val, key.val.string.len) == 0)
				break;
		if (i == lengthof(keys))
			refuse_key(element->number,
					   pnstrdup(key.val.string.val, key.val.string.len));
		values[i] = getKeyJsonValueFromContainer(json, keys[i], strlen(keys[i]), NULL);
	}

	element->has_name = values[NAME] != NULL;
	if (is_given(values[NAME]))
		element->name = get_string(element, "name", values[NAME]);
	if (is_given(values[TYPE]))
		set_type(element, get_string(element, "type", values[TYPE]));
	set_place(list, element, values[START], values[LENGTH]);
	element->field.big_endian = list->defaults->big_endian;
	if (is_given(values[ENDIAN]))
		set_endian(element, values[ENDIAN]);
	element->scan.trim = list->defaults->trim;
	if (is_given(values[TRIM]))
		set_trim(element, values[TRIM]);
	set_nulls(element, list->defaults, values[NULLS]);
}

/* ---- all of them ---- */

static void
read_elements(FieldList *list, JsonbValue *json)
{
	JsonbContainer *array = json->val.binary.data;
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	item;
	int			n;

	if (json->type != jbvBinary || !JsonContainerIsArray(array) ||
		JsonContainerSize(array) == 0)
		refuse(0, "must be a non-empty array of objects");
	n = JsonContainerSize(array);
	list->elements = palloc0(sizeof(Element) * n);
	iterator = JsonbIteratorInit(array);
	while ((token = JsonbIteratorNext(&iterator, &item, true)) != WJB_DONE)
	{
		if (token != WJB_ELEM)
			continue;
		if (item.type != jbvBinary || !JsonContainerIsObject(item.val.binary.data))
			refuse(0, "must be a non-empty array of objects");
		read_element(list, item.val.binary.data);
	}
}

/* Whether all fields have names; an error if only some have. */
static bool
have_names(const FieldList *list)
{
	bool		any_loaded = false;

	for (int i = 0; i < list->n; i++)
	{
		const Element *element = &list->elements[i];

		if (element->has_name != list->elements[0].has_name)
			refuse(element->has_name ? 1 : element->number,
				   "has no \"name\", which others have");
		any_loaded |= element->name != NULL;
	}
	if (list->elements[0].has_name && !any_loaded)
		refuse(0, "names no column");
	return list->elements[0].has_name;
}

static int
compare_elements(const void *a, const void *b)
{
	const Element *one = a;
	const Element *other = b;

	if (one->scan.start != other->scan.start)
		return one->scan.start < other->scan.start ? -1 : 1;
	return one->number - other->number;
}

/* Lines may be short, so the fields that may be missing must be the last ones. */
static void
put_in_order(FieldList *list, bool named)
{
	if (named)
		qsort(list->elements, list->n, sizeof(Element), compare_elements);
	for (int i = 1; i < list->n; i++)
		if (list->elements[i].scan.start < list->elements[i - 1].scan.start)
			refuse(list->elements[i].number,
				   "stands before the one before it, which needs names of columns, or \"record_length\"");
}

static int
compare_starts(const void *a, const void *b)
{
	uint32		one = ((const ScanFixedField *) a)->start;
	uint32		other = ((const ScanFixedField *) b)->start;

	return one < other ? -1 : one > other;
}

/* Counts bytes that belong to several fields. */
static uint32
count_shared_bytes(const ScanFixed *scan)
{
	Size		size = sizeof(ScanFixedField) * scan->nfields;
	ScanFixedField *sorted = palloc(size);
	uint64		shared = 0;
	uint32		end = 0;

	memcpy(sorted, scan->fields, size);
	qsort(sorted, scan->nfields, sizeof(ScanFixedField), compare_starts);
	for (uint32 i = 0; i < scan->nfields; i++)
	{
		uint32		field_end = sorted[i].start + sorted[i].length;

		if (sorted[i].start < end)
			shared += Min(end, field_end) - sorted[i].start;
		end = Max(end, field_end);
	}
	pfree(sorted);
	if (shared > FIELDS_MAX_LENGTH)
		refuse(0, "has too many bytes in more than one field");
	return (uint32) shared;
}

BulkFields *
fields_open(JsonbValue *json, const FieldDefaults *defaults)
{
	FieldList	list = {.defaults = defaults};
	BulkFields *fields = palloc0(sizeof(BulkFields));
	ScanFixedField *scan;

	read_elements(&list, json);
	fields->named = have_names(&list);
	fields->scan.record_length = (uint32) defaults->record_length;
	fields->scan.cut = defaults->cut;
	fields->scan.ignore_extra = defaults->ignore_extra;
	if (defaults->record_length == 0)
		put_in_order(&list, fields->named);

	fields->fields = palloc0(sizeof(BulkField) * list.n);
	scan = palloc0(sizeof(ScanFixedField) * list.n);
	for (int i = 0; i < list.n; i++)
	{
		const Element *element = &list.elements[i];
		uint32		end = element->scan.start + element->scan.length;

		fields->scan.line_length = Max(fields->scan.line_length, end);
		if (fields->named && element->name == NULL)
			continue;
		if (element->scan.binary && defaults->record_length == 0)
			refuse(element->number, "is no text, which needs option \"record_length\"");
		fields->binary |= element->scan.binary;
		fields->names = lappend(fields->names, element->name);
		fields->fields[fields->scan.nfields] = element->field;
		scan[fields->scan.nfields++] = element->scan;
	}
	fields->scan.fields = fields->places = scan;
	fields->shared_bytes = count_shared_bytes(&fields->scan);
	return fields;
}

void
fields_justify(BulkFields *fields, int index)
{
	ScanFixedField *place = &fields->places[index];

	if (!place->binary && place->trim == SCAN_TRIM_PADDING)
		place->trim = SCAN_TRIM_SPACES;
}
