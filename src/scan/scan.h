/*
 * scan.h
 *		The bytes of a file to rows and fields, as spans.
 *
 * This folder is pure C: no server header, no allocation, no I/O, no abort.
 * The caller owns every buffer and every array; errors are data (ScanFault).
 *
 * A scan looks at a window: bytes that begin at the first byte of a row.
 * Nothing crosses from one window to the next but the kind of line end
 * (ScanEol): a row that is not complete in its window is left for the next one,
 * which then begins with it.  Price: the last row of a window is scanned twice.
 *
 * Every window must be followed by SCAN_PADDING readable bytes; their contents
 * do not matter.
 *
 * The rules are those of COPY FROM of PostgreSQL 18 (CopyReadLineText,
 * CopyReadAttributesCSV and CopyReadAttributesText in copyfromparse.c).
 */
#ifndef PGBULK_SCAN_H
#define PGBULK_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_PADDING 64

/*
 * Longest window: offsets have 32 bits.  A field's length has 30 bits, as has
 * that of a value in the server, including its four bytes of length.
 */
#define SCAN_MAX_WINDOW 0x7fffff00u
#define SCAN_MAX_FIELD 0x3ffffffcu

typedef enum ScanFormat
{
	SCAN_CSV,
	SCAN_TEXT,
	SCAN_FIXED					/* fields by their positions; see ScanFixed */
} ScanFormat;

/* What is trimmed from a text in a field of fixed length, besides zero bytes. */
typedef enum ScanTrim
{
	SCAN_TRIM_NOTHING,
	SCAN_TRIM_PADDING,			/* spaces at its end */
	SCAN_TRIM_SPACES,			/* spaces at both ends */
	SCAN_TRIM_BLANKS			/* spaces and tabs at both ends */
} ScanTrim;

typedef struct ScanText
{
	const char *text;
	uint32_t	length;
} ScanText;

typedef struct ScanFixedField
{
	uint32_t	start;			/* offset in its row, from 0 */
	uint32_t	length;
	bool		binary;			/* taken unchanged; else a text, trimmed */
	uint8_t		trim;			/* ScanTrim */
	bool		empty_is_null;	/* a text that is empty after trimming */
	uint32_t	nnulls;			/* other contents that mean NULL, before or after trimming */
	const ScanText *nulls;
} ScanFixedField;

typedef struct ScanFixed
{
	uint32_t	record_length;	/* of each row; 0: rows are lines */
	uint32_t	line_length;	/* lines: longer ones have one field more, unless: */
	bool		ignore_extra;
	bool		cut;			/* lines: a partial last field counts */
	uint32_t	nfields;
	const ScanFixedField *fields;	/* lines: in the order of their starts */
} ScanFixed;

typedef struct ScanDialect
{
	ScanFormat	format;
	char		delimiter;
	char		quote;			/* csv only */
	char		escape;			/* csv only; same as quote by default */

	/* for general.c; see there */
	bool		general;		/* any of these, or SCAN_EOL_ANY: */
	const char *separator;		/* delimiter of several bytes, the first of
								 * them in delimiter; NULL: it has one */
	uint32_t	separator_length;
	const char *comment;		/* lines that begin with it are not rows; NULL: none */
	uint32_t	comment_length;

	const ScanFixed *fixed;		/* of SCAN_FIXED, else NULL */
} ScanDialect;

/*
 * The kind of line end; the first one in a file decides for the rest, unless
 * the caller begins with SCAN_EOL_ANY: then every CR, LF and CR LF outside
 * quotes ends a row.
 */
typedef enum ScanEol
{
	SCAN_EOL_UNKNOWN,
	SCAN_EOL_NL,
	SCAN_EOL_CR,
	SCAN_EOL_CRNL,
	SCAN_EOL_ANY,				/* set by the caller; general dialects only */

	/* JSON; see json_rows.h.  Lines end with LF */
	SCAN_EOL_JSON_ARRAY,		/* rows are the elements of an array */
	SCAN_EOL_JSON_SERIES,		/* rows are objects one after the other */
	SCAN_EOL_JSON_WHOLE,		/* set by the caller: all is one row */
	SCAN_EOL_JSON_END			/* after an array, or such a row */
} ScanEol;

/* What is wrong with a row, found without looking at its values. */
typedef enum ScanFault
{
	SCAN_FAULT_NONE,
	SCAN_FAULT_UNTERMINATED_QUOTE,	/* end of file inside quotes */
	SCAN_FAULT_CARRIAGE_RETURN, /* unquoted CR in a file of another kind */
	SCAN_FAULT_NEWLINE,			/* unquoted LF in a file of another kind */
	SCAN_FAULT_MARKER_NOT_ALONE,	/* text: \. not alone on its line */
	SCAN_FAULT_MARKER_NEWLINE,	/* text: \. before another kind of line end */
	SCAN_FAULT_FIELD_TOO_LONG,	/* a field of SCAN_MAX_FIELD bytes or more */
	SCAN_FAULT_TRUNCATED,		/* binary: end of file within a row */
	SCAN_FAULT_FIELD_SIZE,		/* binary: a field length below -1 or too large */
	SCAN_FAULT_RECORD_LENGTH,	/* fixed: end of file within a record */
	SCAN_FAULT_JSON,			/* json: not JSON, or more than one value */
	SCAN_FAULT_JSON_KIND,		/* json: not an object */
	SCAN_FAULT_JSON_DEPTH,		/* json: deeper than SCAN_JSON_MAX_DEPTH */
	SCAN_FAULT_JSON_NO_KEY,		/* json: an object without any wanted key */
	SCAN_FAULT_JSON_BEHIND,		/* json: something after the array */
	SCAN_FAULT_JSON_UNCLOSED,	/* json: end of file within the array */
	SCAN_FAULT_ENCODING			/* for checks of rows after the scan */
} ScanFault;

/*
 * One field.  For a csv field that is quoted as a whole and needs no unescaping
 * the span is what is between the quotes.
 */
typedef struct ScanField
{
	uint32_t	start;			/* offset in the window */
	uint32_t	length:30;
	uint32_t	quoted:1;		/* csv: quotes seen, so never a null marker */
	uint32_t	escaped:1;		/* needs scan_unquote or scan_unescape */
} ScanField;

typedef struct ScanRow
{
	uint32_t	start;			/* offset of the first byte */
	uint32_t	end;			/* offset after the last byte, line end excluded */
	uint32_t	next;			/* offset after the line end */
	uint32_t	line;			/* line ends (or records) between window start and
								 * row start */
	uint32_t	first_field;	/* index in the fields array */
	uint32_t	nfields;
	uint8_t		fault;			/* ScanFault */
	bool		multiline;		/* csv: a line end inside quotes */
	bool		lax;			/* csv: a quote opened or closed within a field */
} ScanRow;

typedef enum ScanStatus
{
	SCAN_MORE,					/* rest of the window is an unfinished row */
	SCAN_FULL,					/* arrays full; scan on from consumed */
	SCAN_END,					/* at_eof and everything consumed */
	SCAN_MARKER					/* text: end-of-copy marker; the rest is not data */
} ScanStatus;

typedef struct ScanResult
{
	uint32_t	nrows;
	uint32_t	nfields;
	uint32_t	consumed;		/* offset after the last whole row (or marker) */
	uint32_t	lines;			/* line ends in the consumed bytes */
	ScanStatus	status;
} ScanResult;

/*
 * Finds the rows of a window and their fields.
 *
 * *eol is read and, at the first line end of a file, set.  at_eof: no byte
 * follows the window in its file; the last row then needs no line end.  An
 * empty line is a row with one empty field.
 *
 * SCAN_FULL with nrows = 0 means that one row has more than max_fields fields;
 * the caller must call again with more space.
 *
 * Foreign line ends: outside quotes LF always ends a row, and is a fault of it
 * where the file's kind is CR or CRNL; CR ends a row only in a file of kind CR
 * (or as CR LF in CRNL), and elsewhere is a fault of its row.  So in a file of
 * kind CR a LF after a CR is an empty faulty row.
 *
 * Comment lines are skipped wherever a row could begin: so SCAN_MORE and
 * SCAN_END may be returned without rows although bytes were consumed.
 *
 * SCAN_FIXED: the spans are trimmed; NULLs are empty and not quoted, other
 * empty texts are quoted.  Line ends are as in text format, but cannot be
 * escaped.  A line too short for all fields has fewer; records have no line
 * ends.
 */
extern void scan_rows(const ScanDialect *dialect, ScanEol *eol,
					  const char *window, uint32_t length, bool at_eof,
					  ScanRow *rows, uint32_t max_rows,
					  ScanField *fields, uint32_t max_fields,
					  ScanResult *result);

/* The rows of a window without looking into them. */
typedef struct ScanBorder
{
	uint32_t	end;			/* offset after the last row that ends here, or 0 */
	uint32_t	rows;			/* row ends before it */
	uint32_t	lines;			/* line ends before it */
} ScanBorder;

/*
 * Where a window that begins with a row can be cut, by quotes and escapes
 * alone.  eol is known, unless rows are records.  Ignores end-of-copy markers.
 */
extern void scan_border(const ScanDialect *dialect, ScanEol eol,
						const char *window, uint32_t length,
						ScanBorder *border);

/*
 * The same for the binary format, in which each row counts as a line.  False:
 * no row follows there, but an end marker, or data that cannot be parsed.
 */
extern bool scan_binary_border(const char *window, uint32_t length,
							   ScanBorder *border);

/* Line ends in s[0 .. length); of SCAN_EOL_ANY, CR LF is one. */
extern uint32_t scan_count_lines(ScanEol eol, const char *s, uint32_t length);

/* Bytes that may be read after an escaped field's end, and written after its text's. */
#define SCAN_OVERCOPY 16

/*
 * Text of an escaped csv field: removes quotes, resolves escapes.  dst must
 * have space for len bytes and SCAN_OVERCOPY more, as many must be readable
 * after src, and the two may be the same.  Returns the length.
 */
extern size_t scan_unquote(const ScanDialect *dialect,
						   const char *src, size_t len, char *dst);

/*
 * Text of an escaped text-format field: backslash sequences (\b \f \n \r \t \v,
 * \ooo, \xhh, any other character itself).  src and dst are as above.  *high is
 * set if an octal or hex sequence made a byte with the high bit or a zero byte:
 * the caller must then check the encoding.  Returns the length.
 */
extern size_t scan_unescape(const char *src, size_t len, char *dst, bool *high);

typedef enum ScanRecovery
{
	SCAN_RESUME,				/* *resume is where rows parse again */
	SCAN_NO_RESUME,				/* nowhere inside the row */
	SCAN_UNDECIDED				/* needs bytes after the window */
} ScanRecovery;

/*
 * Where parsing can resume after a row that is damaged by a misplaced quote.
 *
 * row_start and row_end bound the bytes of the damaged row.  Looks at each
 * later line start among them for a record that is well-formed in the strict
 * sense of RFC 4180 (quotes only around whole fields, doubled or escaped
 * inside) and has nfields fields (0: any number above one, or one nonempty
 * field).  *resume is the first such line.
 */
extern ScanRecovery scan_recover(const ScanDialect *dialect, ScanEol eol,
								 const char *window, uint32_t length,
								 bool at_eof, uint32_t row_start,
								 uint32_t row_end, uint32_t nfields,
								 uint32_t *resume);

/*
 * For file encodings whose multibyte characters contain ASCII bytes (SJIS,
 * BIG5, GBK, UHC, GB18030, JOHAB, SHIFT_JIS_2004): writes to shape the
 * window with the trailing bytes of each character made 0x80, so that a
 * scan of shape finds only real delimiters; offsets are those of the window.
 * mblen returns a character's length from its first byte (or first two).  A
 * trailing byte below 0x30 ends the character early: it cannot be valid.
 */
extern void scan_shape(const char *window, uint32_t length,
					   int (*mblen) (const unsigned char *), char *shape);

/* How many of the bytes left at s are one character there, or one piece that is invalid. */
extern uint32_t scan_character(const char *s, uint32_t left,
							   int (*mblen) (const unsigned char *));

/*
 * UTF-16 in s[0 .. len) to UTF-8 in `to`, as far as input and space go:
 * converts *used bytes, returns how many were written.  last: nothing follows;
 * else an incomplete character at the end is left.  big: the high byte comes
 * first.  Invalid input becomes bytes that are invalid UTF-8.
 */
extern size_t scan_utf16(const unsigned char *s, size_t len, bool big,
						 bool last, char *to, size_t room, size_t *used);

/* Whether all bytes are below 0x80. */
extern bool scan_is_ascii(const char *s, size_t len);

/* A field of the binary format that is NULL. */
#define SCAN_FIELD_IS_NULL(field) ((field)->quoted)

/*
 * The same for PostgreSQL's binary format, after its header: each row a
 * 16-bit field count, each field a 32-bit length (-1: NULL) and its bytes,
 * in network byte order; a field count of -1 ends the data (SCAN_MARKER).
 * After a fault it is not known where the next row begins: the faulty row is
 * the last one.  row->line is the row's number in the window.
 */
extern void scan_binary(const char *window, uint32_t length, bool at_eof,
						ScanRow *rows, uint32_t max_rows,
						ScanField *fields, uint32_t max_fields,
						ScanResult *result);

/*
 * Length of the binary format's file header (signature, flags, extension),
 * once it is all in the window; 0 where more is needed; -1 where it is invalid.
 */
extern int64_t scan_binary_header(const char *window, uint32_t length);

/* -- what the CPU-specific files provide (classify*.c) -- */

/* Positions of five bytes of interest in a block of 64 bytes; bit i = byte i. */
typedef struct ScanMasks
{
	uint64_t	delimiter;
	uint64_t	special;		/* quote (csv) or backslash (text) */
	uint64_t	escape;			/* csv with escape <> quote, else 0 */
	uint64_t	newline;		/* LF */
	uint64_t	carriage;		/* CR */
} ScanMasks;

/* The same for what matters in JSON. */
typedef struct ScanJsonMasks
{
	uint64_t	quote;
	uint64_t	backslash;
	uint64_t	punctuation;	/* { } [ ] : , */
	uint64_t	space;			/* space, tab, LF, CR */
	uint64_t	control;		/* bytes below a space */
} ScanJsonMasks;

typedef struct ScanKernel
{
	const char *name;			/* "avx2", "sse2", "neon", "portable" */
	bool		(*supported) (void);
	/* masks of nblocks blocks of 64 bytes each */
	void		(*classify) (const char *data, uint32_t nblocks,
							 const ScanDialect *dialect, ScanMasks *masks);
	void		(*classify_json) (const char *data, uint32_t nblocks,
								  ScanJsonMasks *masks);
	/* the sums of a block of CONTENT_HASH_BLOCK bytes (content_hash.c) */
	void		(*sum_block) (const unsigned char *block, uint64_t *sums);
} ScanKernel;

/* Kernels compiled in, fastest first; ends with a NULL. */
extern const ScanKernel *const scan_kernels[];

/* The kernel scan_rows uses: the first supported one, or what was set. */
extern const ScanKernel *scan_kernel(void);
extern void scan_kernel_set(const ScanKernel *kernel);	/* for tests */

#endif							/* PGBULK_SCAN_H */
