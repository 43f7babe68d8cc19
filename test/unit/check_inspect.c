/*
 * check_inspect.c
 *		value_shape.h, charset.h, dialect.h and column_types.h on texts whose verdict is known.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/charset.h"
#include "inspect/column_types.h"
#include "inspect/dialect.h"
#include "inspect/document.h"
#include "inspect/value_shape.h"

/* ---- shapes ---- */

#define T(name) SHAPE_BIT(SHAPE_##name)

static const struct
{
	const char *text;
	uint32_t	types;			/* but for text */
}			shapes[] = {
	{"true", T(BOOL)}, {"No", T(BOOL)}, {"F", T(BOOL)}, {"truth", 0},
	{"0", T(INT4) | T(INT8) | T(NUMERIC) | T(FLOAT8)},
	{"2147483647", T(INT4) | T(INT8) | T(NUMERIC) | T(FLOAT8)},
	{"2147483648", T(INT8) | T(NUMERIC) | T(FLOAT8)},
	{"-2147483648", T(INT4) | T(INT8) | T(NUMERIC) | T(FLOAT8)},
	{"-2147483649", T(INT8) | T(NUMERIC) | T(FLOAT8)},
	{"9223372036854775807", T(INT8) | T(NUMERIC)},
	{"9223372036854775808", T(NUMERIC)},
	{"-9223372036854775808", T(INT8) | T(NUMERIC)},
	{"007", 0}, {"00", 0}, {"-01", 0}, {"01.5", 0}, {"+491234567", 0},
	{"+12", T(INT4) | T(INT8) | T(NUMERIC) | T(FLOAT8)},
	{"1.5", T(NUMERIC) | T(FLOAT8)}, {".5", T(NUMERIC) | T(FLOAT8)},
	{"5.", T(NUMERIC) | T(FLOAT8)}, {".", 0}, {"-", 0}, {"1.2.3", 0}, {"1e", 0},
	{"1e5", T(FLOAT8)}, {"-1.5E-07", T(FLOAT8)}, {"1e+", 0}, {"1e1000", 0},
	{"0.0024924282915890217", T(NUMERIC) | T(FLOAT8)},
	{"0.12345678901234567890", T(NUMERIC)},
	{"NaN", T(NUMERIC) | T(FLOAT8)}, {"-inf", T(NUMERIC) | T(FLOAT8)},
	{"2024-05-01", T(DATE) | T(TIMESTAMP) | T(TIMESTAMPTZ)},
	{"2024/05/01", T(DATE) | T(TIMESTAMP) | T(TIMESTAMPTZ)},
	{"2024-13-01", 0}, {"2024-00-01", 0}, {"2024-05-32", 0}, {"0000-01-01", 0},
	{"2024-05-01 10:00", T(TIMESTAMP) | T(TIMESTAMPTZ)},
	{"2024-05-01T10:00:00.123", T(TIMESTAMP) | T(TIMESTAMPTZ)},
	{"2024-05-01T10:00:00Z", T(TIMESTAMPTZ)},
	{"2024-05-01 10:00:00+05:30", T(TIMESTAMPTZ)},
	{"2024-05-01 10:00:00-0800", T(TIMESTAMPTZ)},
	{"2024-05-01 10:00:00 utc", T(TIMESTAMPTZ)}, {"2024-05-01 10", 0},
	{"10:30", T(TIME)}, {"9:05:01.5", T(TIME)}, {"10:30 PM", T(TIME)}, {"1:2", 0},
	{"31/12/2024", T(DATE) | T(TIMESTAMP)}, {"31/13/2024", 0}, {"32/12/2024", 0},
	{"0/1/2024", 0}, {"1.2-2024", 0}, {"14-Mar-14", T(DATE) | T(TIMESTAMP)},
	{"May 5, 2024", T(DATE) | T(TIMESTAMP)}, {"Mai 5, 2024", 0},
	{"5/1/2024 10:30 PM", T(TIMESTAMP)}, {"5/1/2024 25", 0},
	{"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", T(UUID)},
	{"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g", 0},
	{"10.0.0.1", T(INET)}, {"10.0.0.256", 0}, {"10.0.0.0/8", T(INET)},
	{"::1", T(INET)}, {"fe80::1/64", T(INET)}, {"10.0.0", 0},
	{"{\"a\": 1}", T(JSONB)}, {"[]", T(JSONB)}, {"{", 0}, {"[1}", 0},
	{"", 0}, {"x", 0}, {"1 2", 0}, {"1,5", 0},
};

START_TEST(test_shape)
{
	ValueShape	shape;

	shape_of(shapes[_i].text, strlen(shapes[_i].text), &shape);
	ck_assert_msg((shape.types & ~T(TEXT)) == shapes[_i].types,
				  "\"%s\": %x instead of %x", shapes[_i].text,
				  shape.types & ~T(TEXT), shapes[_i].types);
}
END_TEST

START_TEST(test_comma)
{
	ValueShape	shape;

	shape_of("1234,5", 6, &shape);
	ck_assert(shape.comma && !shape.thousand);
	ck_assert((shape.types_comma & T(NUMERIC)) && !(shape.types & T(NUMERIC)));
	shape_of("1,500", 5, &shape);
	ck_assert(shape.comma && shape.thousand);
	shape_of("1.5", 3, &shape);
	ck_assert(!(shape.types_comma & T(NUMERIC)));
}
END_TEST

static const struct
{
	const char *text;
	int			orders;
	const char *day_first;
	const char *month_first;
}			dates[] = {
	{"31/12/2024", SHAPE_DAY_FIRST, "DD/MM/YYYY", NULL},
	{"12/31/24", SHAPE_MONTH_FIRST, NULL, "MM/DD/YY"},
	{"1.2.2024", SHAPE_DAY_FIRST | SHAPE_MONTH_FIRST, "DD.MM.YYYY", "MM.DD.YYYY"},
	{"2024.1.2", SHAPE_MONTH_FIRST, NULL, "YYYY.MM.DD"},
	{"14-Mar-14", SHAPE_DAY_FIRST, "DD-Mon-YY", NULL},
	{"14 March 2014", SHAPE_DAY_FIRST, "DD Month YYYY", NULL},
	{"March 14, 2014 9:05:01", SHAPE_MONTH_FIRST, NULL, "Month DD, YYYY HH24:MI:SS"},
	{"1/2/2024 1:05PM", SHAPE_DAY_FIRST | SHAPE_MONTH_FIRST, "DD/MM/YYYY HH12:MIAM", "MM/DD/YYYY HH12:MIAM"},
};

START_TEST(test_template)
{
	ValueShape	shape;
	char		template[64];

	shape_of(dates[_i].text, strlen(dates[_i].text), &shape);
	ck_assert_int_eq(shape.date.orders, dates[_i].orders);
	if (dates[_i].day_first != NULL)
	{
		shape_template(&shape.date, SHAPE_DAY_FIRST, template);
		ck_assert_str_eq(template, dates[_i].day_first);
	}
	if (dates[_i].month_first != NULL)
	{
		shape_template(&shape.date, SHAPE_MONTH_FIRST, template);
		ck_assert_str_eq(template, dates[_i].month_first);
	}
}
END_TEST

static bool
merge(const char *a, const char *b, int *orders)
{
	ValueShape		x;
	ValueShape		y;
	bool		merged;

	shape_of(a, strlen(a), &x);
	shape_of(b, strlen(b), &y);
	merged = shape_merge_dates(&x.date, &y.date);
	*orders = x.date.orders;
	return merged;
}

START_TEST(test_merge)
{
	int			orders;

	ck_assert(merge("1/2/2024", "31/12/2024", &orders));
	ck_assert_int_eq(orders, SHAPE_DAY_FIRST);
	ck_assert(!merge("12/31/2024", "31/12/2024", &orders));
	ck_assert(!merge("1/2/2024", "1.2.2024", &orders));
	ck_assert(!merge("1/2/2024", "1/2/24", &orders));
	ck_assert(!merge("1/2/2024", "1/2/2024 10:00", &orders));
	ck_assert(merge("1 May 2024", "1 June 2024", &orders));
	ck_assert(merge("1 Jun 2024", "1 May 2024", &orders));
	ck_assert(!merge("1 Jun 2024", "1 June 2024", &orders));
}
END_TEST

/* ---- encodings ---- */

static const struct
{
	const char *bytes;
	const char *name;
	size_t		mark;
}			charsets[] = {
	{"plain", "UTF8", 0},
	{"caf\xc3\xa9", "UTF8", 0},
	{"\xef\xbb\xbf" "a", "UTF8", 3},
	{"caf\xe9,1\n", "LATIN1", 0},
	{"\x93" "caf\xe9\x94", "WIN1252", 0},
	{"\xff\xfe" "a", "UTF16LE", 2},
	{"\xfe\xff" "a", "UTF16BE", 2},
	{"\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xee\xe9 \xe4\xf0\xf3\xe3", "WIN1251", 0},
	{"\xf0\xd2\xc9\xd7\xc5\xd4, \xcd\xcf\xca \xc4\xd2\xd5\xc7", "KOI8R", 0},
	{"\x8f\xe0\xa8\xa2\xa5\xe2, \xac\xae\xa9 \xa4\xe0\xe3\xa3 \xe5\xae\xe0\xae\xe8\xae", "WIN866", 0},
	{"\xcb\xe5\xf9\xed\xe9\xe4\xe1\xf2 \xc1\xeb\xe5\xee\xe1\xed\xe4\xf1\xef\xf2", "ISO_8859_7", 0},
	{"\xa4\xd2\xa4\xe9\xa4\xac\xa4\xca \xa5\xab\xa5\xbf\xa5\xab\xa5\xca", "EUC_JP", 0},
	{"\x82\xd0\x82\xe7\x82\xaa\x82\xc8 \x83\x4a\x83\x5e\x83\x4a\x83\x69", "SJIS", 0},
	{"\xb4\xeb\xc7\xd1\xb9\xce\xb1\xb9 \xbc\xad\xbf\xef", "EUC_KR", 0},
};

START_TEST(test_charset)
{
	Charset		charset;

	charset_guess(charsets[_i].bytes, strlen(charsets[_i].bytes), true, &charset);
	ck_assert_str_eq(charset.name, charsets[_i].name);
	ck_assert_int_eq(charset.mark, charsets[_i].mark);
}
END_TEST

START_TEST(test_charset_cut)
{
	Charset		charset;

	/* a character may be cut off where the sample ends, not where the file does */
	charset_guess("caf\xc3", 4, false, &charset);
	ck_assert_str_eq(charset.name, "UTF8");
	charset_guess("caf\xc3", 4, true, &charset);
	ck_assert_str_eq(charset.name, "LATIN1");

	/* much that is right and little that is wrong */
	charset_guess("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xff",
				  23, true, &charset);
	ck_assert_str_eq(charset.name, "UTF8");
	ck_assert_int_eq(charset.invalid, 1);
}
END_TEST

START_TEST(test_utf16)
{
	char		utf8[32];
	size_t		length;

	length = charset_from_utf16("a\0\xe9\0\xac\x20\x3d\xd8\x00\xde\x00\xd8", 12, false, utf8);
	ck_assert_int_eq(length, 1 + 2 + 3 + 4 + 3);
	ck_assert_mem_eq(utf8, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd", length);
	length = charset_from_utf16("\0a\x20\xac", 4, true, utf8);
	ck_assert_mem_eq(utf8, "a\xe2\x82\xac", length);
}
END_TEST

/* ---- dialects ---- */

static const struct
{
	const char *text;
	const char *delimiter;
	char		quote;			/* '\0': none */
	char		escape;
	ScanFormat	format;
	ScanEol		eol;
	const char *comment;
	uint32_t	columns;
}			dialects[] = {
	{"a,b\n1,2\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 2},
	{"a;b\r\n1,5;2\r\n2,5;3\r\n", ";", '"', '"', SCAN_CSV, SCAN_EOL_CRNL, "", 2},
	{"a\tb\r1\t2\r", "\t", '"', '"', SCAN_CSV, SCAN_EOL_CR, "", 2},
	{"a|b|c\n1|2|x,y\n", "|", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 3},
	{"a::b::c\n1::2::3\n", "::", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 3},
	{"a,'x,y'\nb,'z'\n", ",", '\'', '\'', SCAN_CSV, SCAN_EOL_NL, "", 2},
	{"a,\"x\\\"y\"\nb,\"z\"\n", ",", '"', '\\', SCAN_CSV, SCAN_EOL_NL, "", 2},
	{"a,\"x\"\"y\"\nb,\"z\"\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 2},
	{"a,5\" x\nb,7\" y\n", ",", '\0', '\0', SCAN_CSV, SCAN_EOL_NL, "", 2},
	{"it's,don't\ncan't,won't\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 2},
	{"1\t\\N\n2\tx\n", "\t", '\0', '\0', SCAN_TEXT, SCAN_EOL_NL, "", 2},
	{"# c\na,b\n1,2\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "#", 2},
	{"#a,b\n1,2\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 2},
	{"a,b\r\n1,2\n3,4\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_ANY, "", 2},
	{"one\ntwo\nthree\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 1},

	/* one column, whatever its values have in them */
	{"time\n05:40\n21:30\n17:45\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 1},
	{"a\n2020-01-01 01:02:03+01\n2020-01-01 01:02:03+01\n1\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 1},
	{"https://a.example:80/x?y=1\nhttps://b.example/z?w=22\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 1},
	{"C:\\data\\a b.txt\nC:\\data\\c d.txt\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 1},
	{"name\nJohn Smith\nJane Doe\nRick Roe\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 1},
	{"place\nRoom 12\nRoom 14\nRoom 15\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 1},
	{"v\n\"1,566,216\"\n\"1,130,345\"\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 1},
	{"\"a;b;c\"\n\"d;e;f\"\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 1},
	{"{\"duck\": 1}\nno\n{\"duck\": 2}\n", ",", '\0', '\0', SCAN_CSV, SCAN_EOL_NL, "", 1},
	{"j\n{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\": 4}\n", "\001", '\0', '\0', SCAN_CSV, SCAN_EOL_NL, "", 1},
	{"1,234,567.89\n12,345,678.90\n", "\001", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 1},
	{"Well, he said, no.\nNo one came.\nYes, one did.\n", "\001", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 1},
	{"first last state phone\nJohn Smith WA 418\nAnn Roe CA 319\n", " ", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 4},

	/* which quotes and escapes lose the least */
	{"id,size,c\n1,12\",x\n2,b,y\n3,15\",z\n4,d,y\n5,\"q,r\",z\n", ",", '\0', '\0', SCAN_CSV, SCAN_EOL_NL, "", 3},
	{"a\tb\tc\n1\t\"x\ty\n2\tz\tw\"\n3\tv\tu\n", "\t", '\0', '\0', SCAN_CSV, SCAN_EOL_NL, "", 3},
	{"a,b\n1,\"x\ny, z\"\n2,\"v\nw\"\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 2},
	{"n,t\n8,\"it is \\\"good,\\\" like \\\"that\\\").\"\n", ",", '"', '\\', SCAN_CSV, SCAN_EOL_NL, "", 2},
	{"p,n\n\"C:\\a\\\",1\n\"C:\\b\\\",2\n", ",", '"', '"', SCAN_CSV, SCAN_EOL_NL, "", 2},
	{"", ",", '"', '"', SCAN_CSV, SCAN_EOL_UNKNOWN, "", 1},
};

static SheetSpace space;
static char window[1 << 16];

static SheetSpan
make_span(const char *text)
{
	SheetSpan	span = {.data = window, .length = strlen(text), .to_end = true};

	memcpy(window, text, span.length);
	memset(window + span.length, 0, SCAN_PADDING);
	return span;
}

START_TEST(test_dialect)
{
	SheetSpan	span = make_span(dialects[_i].text);
	DialectHints hints = {0};
	Dialect		dialect;

	dialect_guess(&span, &hints, &space, &dialect);
	ck_assert_int_eq(dialect.scan.format, dialects[_i].format);
	ck_assert_str_eq(dialect.separator, dialects[_i].delimiter);
	ck_assert_int_eq(dialect.no_quote ? '\0' : dialect.scan.quote, dialects[_i].quote);
	ck_assert_int_eq(dialect.no_quote ? '\0' : dialect.scan.escape, dialects[_i].escape);
	ck_assert_int_eq(dialect.eol, dialects[_i].eol);
	ck_assert_str_eq(dialect.comment, dialects[_i].comment);
	ck_assert_int_eq(dialect.columns, dialects[_i].columns);
	if (dialect.scan.separator != NULL)
		ck_assert_ptr_eq(dialect.scan.separator, dialect.separator);
	if (dialect.scan.comment != NULL)
		ck_assert_ptr_eq(dialect.scan.comment, dialect.comment);
}
END_TEST

START_TEST(test_hints)
{
	SheetSpan	span = make_span("a;b,c\n1;2,3\n");
	DialectHints hints = {.delimiter = ",", .quote = '\'', .any_newline = true};
	Dialect		dialect;

	dialect_guess(&span, &hints, &space, &dialect);
	ck_assert_str_eq(dialect.separator, ",");
	ck_assert_int_eq(dialect.eol, SCAN_EOL_ANY);
	hints = (DialectHints) {.has_format = true, .format = SCAN_TEXT, .delimiter = ";"};
	dialect_guess(&span, &hints, &space, &dialect);
	ck_assert_int_eq(dialect.scan.format, SCAN_TEXT);
	ck_assert_str_eq(dialect.separator, ";");
}
END_TEST

static uint32_t pauses;

static void
count_pause(void)
{
	pauses++;
}

/* There is a pause before each trial, and within it. */
START_TEST(test_pauses)
{
	static char text[2 * SHEET_ROWS * 8 + SCAN_PADDING];
	SheetSpan	span = {.data = text, .length = 2 * SHEET_ROWS * 8, .to_end = true};
	DialectHints hints = {0};
	Dialect		dialect;

	for (int i = 0; i < 2 * SHEET_ROWS; i++)
		memcpy(text + 8 * i, "1,a;b|c\n", 8);
	space.pause = count_pause;
	pauses = 0;
	dialect_guess(&span, &hints, &space, &dialect);
	space.pause = NULL;
	ck_assert_uint_ge(pauses, 3 * 2);
}
END_TEST

/* In text format the only line end is data, so that no row is whole. */
START_TEST(test_no_row)
{
	SheetSpan	span = make_span("x\t0\\t\\\n");
	DialectHints hints = {0};
	Dialect		dialect;

	span.to_end = false;
	dialect_guess(&span, &hints, &space, &dialect);
	ck_assert_int_eq(dialect.scan.format, SCAN_TEXT);
	ck_assert_uint_ge(dialect.columns, 1);
}
END_TEST

/* ---- columns ---- */

static const struct
{
	const char *text;
	int			header_lines;
	bool		has_header;
	const char *types;			/* with a blank after each */
	const char *names;			/* of the header, the same */
}			tables[] = {
	{"id,name\n1,x\n2,y\n", 1, true, "integer text ", "id name "},
	{"1,x\n2,y\n", 0, false, "integer text ", ""},
	{"Report\nid,n\n1,2\n", 2, true, "integer integer ", "id n "},
	{"Report\n5,6\n1,2\n", 1, false, "integer integer ", ""},
	{"x,,\n1,2,3\n4,5,6\n", 1, true, "integer integer integer ", "x - - "},
	{"a,b\n1,2024-01-01\n,\nNA,2024-01-02\n", 1, true, "integer date ", "a b "},
	{"a,b\n1,x\n2\n3,y,z\n", 1, true, "integer text text ", "a b "},
	{"ann,red\nbob,green\nann,blue\n", 0, false, "text text ", ""},
	{"\n\n", 0, false, "text ", ""},

	/* a delimiter after each row, a title full of them, one row or a header that is too long */
	{"a,b,c\n1,2,3,\n4,5,6,\n", 1, true, "integer integer integer text ", "a b c "},
	{",a,b\nx,1,2\ny,3,4\n", 1, true, "text integer integer ", "- a b "},
	{"a,b\nx,1,2\ny,3,4\n", 1, true, "text integer integer ", "a b "},
	{"Sales, by shop, by month, by day\nid,name\n1,x\n2,y\n", 2, true, "integer text ", "id name "},
	{"a,b\n1,2\n3,4\n5,6\n7,8\n9,1,2\n3,4\n", 1, true, "integer integer ", "a b "},
	{"a,,b\n1,2\n3,4\n5,6\n", 1, true, "integer integer ", "a b "},
	{"a,b,,\n1,2\n3,4\n", 1, true, "integer integer ", "a b "},
	{"Smith,Jan\nDe Boer,Ann\nVan Dyk,Eve\n", 1, true, "text text ", "Smith Jan "},
	{"Jan Smith,A1\nEve Jones,B2\nAnn Miller,C3\n", 0, false, "text text ", ""},
	{"value\nred hat\nblue\n", 1, true, "text ", "value "},
};

START_TEST(test_columns)
{
	static ColumnStats stats[COLUMNS_MAX];
	static char buffer[1 << 16];
	static char names[1 << 16];
	SheetSpan	span = make_span(tables[_i].text);
	DialectHints hints = {.delimiter = ","};
	Dialect		dialect;
	Columns		columns = {.spans = &span, .nspans = 1, .dialect = &dialect,
		.space = &space, .buffer = buffer, .names = names, .header = -1,
		.columns = stats};
	char		types[200] = "";
	char		found[200] = "";

	dialect_guess(&span, &hints, &space, &dialect);
	columns_find(&columns);
	columns_decide(&columns);
	for (uint32_t i = 0; i < columns.count; i++)
	{
		strcat(strcat(types, shape_type_names[stats[i].type]), " ");
		if (columns.has_header && stats[i].name != NULL)
			strcat(strncat(found, stats[i].name_length > 0 ? stats[i].name : "-",
						   stats[i].name_length > 0 ? stats[i].name_length : 1), " ");
	}
	ck_assert_int_eq(columns.has_header, tables[_i].has_header);
	ck_assert_int_eq(columns.header_lines, tables[_i].header_lines);
	ck_assert_str_eq(types, tables[_i].types);
	ck_assert_str_eq(found, tables[_i].names);
}
END_TEST

/* What is refused falls back step by step, and ends as text. */
START_TEST(test_refuse)
{
	static ColumnStats stats[COLUMNS_MAX];
	Columns		columns = {.count = 1, .columns = stats};

	memset(stats, 0, sizeof(stats));
	stats[0].values = 1;
	stats[0].type = SHAPE_INT4;
	stats[0].types = T(INT4) | T(NUMERIC) | T(TEXT);
	columns_refuse(&columns, 0);
	ck_assert_int_eq(stats[0].type, SHAPE_NUMERIC);
	columns_refuse(&columns, 0);
	ck_assert_int_eq(stats[0].type, SHAPE_TEXT);

	stats[0].type = SHAPE_DATE;
	stats[0].types = T(DATE) | T(TIMESTAMP) | T(TEXT);
	stats[0].date.orders = SHAPE_DAY_FIRST | SHAPE_MONTH_FIRST;
	stats[0].order = SHAPE_DAY_FIRST;
	stats[0].ambiguous = true;
	columns_refuse(&columns, 0);
	ck_assert_int_eq(stats[0].type, SHAPE_DATE);
	ck_assert_int_eq(stats[0].order, SHAPE_MONTH_FIRST);
	columns_refuse(&columns, 0);
	ck_assert_int_eq(stats[0].type, SHAPE_TEXT);
	ck_assert_int_eq(stats[0].order, 0);
}
END_TEST

#define COUNT(array) ((int) (sizeof(array) / sizeof((array)[0])))

static bool
count_row(void *arg, const char *data, const ScanRow *row, const ScanField *fields)
{
	(void) data;
	(void) row;
	(void) fields;
	(*(uint32_t *) arg)++;
	return true;
}

/* A quote that opens in each second line, and is not closed in the whole rest: as slow as it gets. */
START_TEST(test_hostile)
{
	const ScanDialect dialect = {.format = SCAN_CSV,.delimiter = ',',.quote = '"',.escape = '\\'};
	const char	line[] = {'"', '\\', '"', '\n', 'x', '\n'};
	const uint32_t length = 350000 * sizeof(line);
	char	   *data = calloc(1, length + SCAN_PADDING);

	for (uint32_t i = 0; i < length; i++)
		data[i] = line[i % sizeof(line)];
	for (int to_end = 0; to_end < 2; to_end++)
	{
		SheetSpan	span = {.data = data, .length = length, .to_end = to_end};
		ScanEol		eol = SCAN_EOL_UNKNOWN;
		uint32_t	rows = 0;

		ck_assert_uint_le(sheet_walk(&span, &dialect, &eol, &space, count_row, &rows), length);
		ck_assert_uint_gt(rows, 5);
	}
	free(data);
}
END_TEST

static const struct
{
	const char *text;
	DocumentKind kind;
	bool		cut;			/* the span does not go to the end of the file */
}			documents[] = {
	{"{\"a\": 1}\n{\"a\": \"}\\\"{\"}\n", DOCUMENT_LINES, false},
	{"\n {\"a\": [1, {}]} \r\n[1]", DOCUMENT_LINES, false},
	{"{\"a\": 1}\n{\"a\": ", DOCUMENT_LINES, true},
	{"{\"a\": 1}\n{\"a\": ", DOCUMENT_WHOLE, false},
	{"[\n {\"a\": 1},\n {\"a\": 2}\n]\n", DOCUMENT_WHOLE, false},
	{"{\n\"a\": 1}\n{\"b\": 2}", DOCUMENT_WHOLE, false},
	{"[{\"a\": 1},\n {\"a\"", DOCUMENT_WHOLE, true},
	{"[{\"a\": 1},\n {\"a\"", DOCUMENT_NONE, false},
	{"{1,2}\n{3,4}\n", DOCUMENT_NONE, false},
	{"[id],[name]\n1,x\n", DOCUMENT_NONE, false},
	{"[1],x\n[2],y\n", DOCUMENT_NONE, false},
	{"{\"a\": 1},x\n", DOCUMENT_NONE, false},
	{"a,b\n{\"a\": 1},x\n", DOCUMENT_NONE, false},
	{"{", DOCUMENT_NONE, false},
	{"", DOCUMENT_NONE, false}
};

START_TEST(test_document)
{
	SheetSpan	span = {.data = documents[_i].text, .length = strlen(documents[_i].text),
		.to_end = !documents[_i].cut};

	ck_assert_msg(document_detect(&span) == documents[_i].kind, "\"%s\": %d instead of %d",
				  documents[_i].text, document_detect(&span), documents[_i].kind);
}
END_TEST

int
main(void)
{
	Suite	   *suite = suite_create("inspect");
	TCase	   *tcase = tcase_create("inspect");
	SRunner    *runner;
	int			failed;

	tcase_add_loop_test(tcase, test_shape, 0, COUNT(shapes));
	tcase_add_test(tcase, test_comma);
	tcase_add_loop_test(tcase, test_template, 0, COUNT(dates));
	tcase_add_test(tcase, test_merge);
	tcase_add_loop_test(tcase, test_charset, 0, COUNT(charsets));
	tcase_add_test(tcase, test_charset_cut);
	tcase_add_test(tcase, test_utf16);
	tcase_add_loop_test(tcase, test_dialect, 0, COUNT(dialects));
	tcase_add_test(tcase, test_hints);
	tcase_add_test(tcase, test_pauses);
	tcase_add_test(tcase, test_no_row);
	tcase_add_loop_test(tcase, test_columns, 0, COUNT(tables));
	tcase_add_test(tcase, test_refuse);
	tcase_add_test(tcase, test_hostile);
	tcase_add_loop_test(tcase, test_document, 0, COUNT(documents));
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
