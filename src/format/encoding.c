/*
 * encoding.c
 *		Checking and converting text; see encoding.h.
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/namespace.h"
#include "format/encoding.h"
#include "miscadmin.h"
#include "scan/scan.h"
#include "utils/memutils.h"

#define MIN_VERIFY_STEP 32
#define MAX_VERIFY_STEP 0x40000000

/* What callers of encoding_replace append besides: numbers of a row, and padding. */
#define REPLACE_ROOM (64 * 1024)

/*
 * Encodings that only clients use: their characters may contain ASCII bytes.
 * pg_encoding_mblen wants two bytes of GB18030, and the window's padding
 * always has them.
 */
#define SHAPE_MBLEN(name, pg_enc) \
	static int name(const unsigned char *s) \
	{ \
		return pg_encoding_mblen((pg_enc), (const char *) s); \
	}

SHAPE_MBLEN(mblen_sjis, PG_SJIS)
SHAPE_MBLEN(mblen_big5, PG_BIG5)
SHAPE_MBLEN(mblen_gbk, PG_GBK)
SHAPE_MBLEN(mblen_uhc, PG_UHC)
SHAPE_MBLEN(mblen_gb18030, PG_GB18030)
SHAPE_MBLEN(mblen_johab, PG_JOHAB)
SHAPE_MBLEN(mblen_shift_jis_2004, PG_SHIFT_JIS_2004)

static int (*shape_mblen(int encoding)) (const unsigned char *)
{
	switch (encoding)
	{
		case PG_SJIS:
			return mblen_sjis;
		case PG_BIG5:
			return mblen_big5;
		case PG_GBK:
			return mblen_gbk;
		case PG_UHC:
			return mblen_uhc;
		case PG_GB18030:
			return mblen_gb18030;
		case PG_JOHAB:
			return mblen_johab;
		case PG_SHIFT_JIS_2004:
			return mblen_shift_jis_2004;
		default:
			return NULL;
	}
}

void
encoding_open(Encoding *encoding, int file)
{
	Oid			procedure;

	memset(encoding, 0, sizeof(*encoding));
	encoding->file = file;
	encoding->database = GetDatabaseEncoding();
	encoding->verify = encoding->database;
	if (file == encoding->database || file == PG_SQL_ASCII)
		return;
	if (encoding->database == PG_SQL_ASCII)
	{
		/* not converted, but it must be valid in its declared encoding */
		encoding->verify = file;
		return;
	}

	procedure = FindDefaultConversionProc(file, encoding->database);
	if (!OidIsValid(procedure))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("default conversion function for encoding \"%s\" to \"%s\" does not exist",
						pg_encoding_to_char(file),
						pg_encoding_to_char(encoding->database))));
	fmgr_info(procedure, &encoding->procedure);
	encoding->transcode = true;
	encoding->verify = file;
	encoding->shape_mblen = shape_mblen(file);
	encoding->wide_backslash = file == PG_SHIFT_JIS_2004 && encoding->database == PG_UTF8;
}

uint32
encoding_valid_prefix(const Encoding *encoding, const char *s, uint32 len)
{
	uint32		done = 0;
	uint32		most = MIN_VERIFY_STEP;

	/*
	 * The server's function counts in ints, and may look at all bytes before it
	 * tells that the first one is invalid; a step may cut a character.
	 */
	while (done < len)
	{
		bool		last = len - done <= most;
		int			step = last ? len - done : most;
		int			n = pg_encoding_verifymbstr(encoding->verify, s + done, step);

		done += n;
		if (n < step && (last || step - n >= MAX_MULTIBYTE_CHAR_LEN))
			break;
		most = Min(most * 2, MAX_VERIFY_STEP);
	}
	return done;
}

/* "0xe2 0x82" for a message. */
static char *
bytes_text(const char *s, int len)
{
	char	   *text = palloc(5 * Max(len, 1) + 1);
	char	   *p = text;

	*p = '\0';
	for (int i = 0; i < len; i++)
		p += sprintf(p, "%s0x%02x", i > 0 ? " " : "", (unsigned char) s[i]);
	return text;
}

void
encoding_report(const Encoding *encoding, const char *s, uint32 len,
				RowError *err)
{
	int			bounded = Min(len, 16);
	int			n;

	if (err == NULL)
		report_invalid_encoding(encoding->verify, s, bounded);

	n = pg_encoding_mblen(encoding->verify, s);
	n = Min(n, Min(bounded, 8));
	memset(err, 0, sizeof(*err));
	err->reason = REJECT_ENCODING;
	err->sqlstate = ERRCODE_CHARACTER_NOT_IN_REPERTOIRE;
	err->message = psprintf("invalid byte sequence for encoding \"%s\": %s",
							pg_encoding_to_char(encoding->verify),
							bytes_text(s, n));
}

static int
report_too_long(RowError *err)
{
	if (err == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("field is too long for encoding conversion")));
	memset(err, 0, sizeof(*err));
	err->reason = REJECT_SYNTAX;
	err->sqlstate = ERRCODE_PROGRAM_LIMIT_EXCEEDED;
	err->message = "field is too long for encoding conversion";
	return -1;
}

int
encoding_convert(Encoding *encoding, const char *s, uint32 len, char *dst,
				 RowError *err)
{
	int			done;
	const char *bad;
	int			n;

	if (len > ENCODING_MAX_LENGTH)
		return report_too_long(err);

	done = DatumGetInt32(FunctionCall6(&encoding->procedure,
									   Int32GetDatum(encoding->file),
									   Int32GetDatum(encoding->database),
									   CStringGetDatum(s),
									   CStringGetDatum(dst),
									   Int32GetDatum(len),
									   BoolGetDatum(err != NULL)));
	if (done == len)
	{
		size_t		length = strlen(dst);

		return length < SCAN_MAX_FIELD ? (int) length : report_too_long(err);
	}

	bad = s + done;
	/* a zero byte passes as a character there, but never as text */
	if (*bad == '\0' ||
		pg_encoding_verifymbchar(encoding->file, bad, len - done) <= 0)
	{
		encoding_report(encoding, bad, len - done, err);
		return -1;
	}

	n = Min(pg_encoding_mblen(encoding->file, bad),
			(int) (len - done));
	memset(err, 0, sizeof(*err));
	err->reason = REJECT_ENCODING;
	err->sqlstate = ERRCODE_UNTRANSLATABLE_CHARACTER;
	err->message = psprintf("character with byte sequence %s in encoding \"%s\" has no equivalent in encoding \"%s\"",
							bytes_text(bad, n),
							pg_encoding_to_char(encoding->file),
							pg_encoding_to_char(encoding->database));
	return -1;
}

/* How many invalid bytes at s become one replacement character. */
static int
invalid_length(int encoding, const char *s, uint32 len)
{
	const unsigned char *bytes = (const unsigned char *) s;
	int			whole;
	int			n = 1;

	/* as Unicode recommends: the longest prefix of a character */
	if (encoding != PG_UTF8 || bytes[0] < 0xc2 || bytes[0] > 0xf4)
		return 1;
	whole = pg_utf_mblen(bytes);
	for (; n < whole && n < len && (bytes[n] & 0xc0) == 0x80; n++)
		if (n == 1 && ((bytes[0] == 0xe0 && bytes[1] < 0xa0) ||
					   (bytes[0] == 0xed && bytes[1] > 0x9f) ||
					   (bytes[0] == 0xf0 && bytes[1] < 0x90) ||
					   (bytes[0] == 0xf4 && bytes[1] > 0x8f)))
			break;
	return n;
}

/*
 * How many bytes at s, which cannot be converted, become one replacement
 * character.  Of what was scanned as one character no byte may be left that
 * could be an escape or a quote, nor one that begins a character.
 */
static int
replaced_length(const Encoding *encoding, const char *s, uint32 len)
{
	int			n;

	if (encoding->shape_mblen != NULL)
		len = scan_character(s, len, encoding->shape_mblen);
	n = *s == '\0' ? 1 : pg_encoding_verifymbchar(encoding->file, s, len);
	if (n > 0)
		return n;
	if (encoding->shape_mblen == NULL)
		return invalid_length(encoding->file, s, len);
	for (uint32 i = 1; i < len; i++)
		if (IS_HIGHBIT_SET(s[i]) || !isalnum((unsigned char) s[i]))
			return len;
	return 1;
}

/* The replacement for what cannot be converted. */
static const char *
replacement(int encoding)
{
	return encoding == PG_UTF8 ? "\xef\xbf\xbd" : "?";
}

int
encoding_convert_replacing(Encoding *encoding, const char *s, uint32 len,
						   char *dst, RowError *err)
{
	char	   *to = dst;

	if (len > ENCODING_MAX_LENGTH)
		return report_too_long(err);
	for (;;)
	{
		int			done;
		int			n;

		CHECK_FOR_INTERRUPTS();
		done = DatumGetInt32(FunctionCall6(&encoding->procedure,
										   Int32GetDatum(encoding->file),
										   Int32GetDatum(encoding->database),
										   CStringGetDatum(s),
										   CStringGetDatum(to),
										   Int32GetDatum(len),
										   BoolGetDatum(true)));
		to += strlen(to);
		s += done;
		len -= done;
		if (len == 0)
			break;
		n = replaced_length(encoding, s, len);
		strcpy(to, replacement(encoding->database));
		to += strlen(to);
		s += n;
		len -= n;
	}
	return to - dst < SCAN_MAX_FIELD ? (int) (to - dst) : report_too_long(err);
}

uint32
encoding_copy_doubled(const Encoding *encoding, const char *s, uint32 len, char *dst)
{
	static const char wide[] = "\x81\x5f";
	const char *end = s + len;
	char	   *to = dst;

	while (s < end)
	{
		uint32		n = scan_character(s, end - s, encoding->shape_mblen);

		for (int i = n == 2 && memcmp(s, wide, n) == 0; i >= 0; i--)
		{
			memcpy(to, s, n);
			to += n;
		}
		s += n;
	}
	return to - dst;
}

const char *
encoding_double_backslashes(const Encoding *encoding, const char *s, uint32 *len)
{
	char	   *doubled;

	/* refused as too long */
	if (*len > ENCODING_MAX_LENGTH)
		return s;
	doubled = MemoryContextAllocHuge(CurrentMemoryContext, (Size) *len * 2);
	*len = encoding_copy_doubled(encoding, s, *len, doubled);
	return doubled;
}

bool
encoding_replace(const Encoding *encoding, const char *s, uint32 len,
				 StringInfo text, RowError *err)
{
	for (;;)
	{
		uint32		valid = encoding_valid_prefix(encoding, s, len);
		int			n;

		CHECK_FOR_INTERRUPTS();
		if ((Size) text->len + valid + REPLACE_ROOM > MaxAllocSize)
			return report_too_long(err) >= 0;
		appendBinaryStringInfo(text, s, valid);
		s += valid;
		len -= valid;
		if (len == 0)
			return true;
		appendStringInfoString(text, replacement(encoding->verify));
		n = invalid_length(encoding->verify, s, len);
		s += n;
		len -= n;
	}
}

char *
encoding_path_text(const char *path)
{
	StringInfoData text;

	if (pg_verifymbstr(path, strlen(path), true))
		return pstrdup(path);

	initStringInfo(&text);
	for (const char *p = path; *p != '\0'; p++)
	{
		if (IS_HIGHBIT_SET(*p))
			appendStringInfo(&text, "\\x%02x", (unsigned char) *p);
		else
			appendStringInfoChar(&text, *p);
	}
	return text.data;
}
