/*
 * encoding.h
 *		From the file's encoding to the database's.
 *
 * A file in the database encoding is only validated, a window at a time.  Any
 * other is scanned unconverted (so that offsets in messages and the raw bytes
 * of rejects stay exact), and then those fields are converted that have bytes
 * beyond ASCII.  The encodings whose characters may contain ASCII bytes are
 * scanned through a shape (scan_shape).
 */
#ifndef PGBULK_ENCODING_H
#define PGBULK_ENCODING_H

#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "row/row_error.h"

typedef struct Encoding
{
	int			file;			/* pg_enc */
	int			database;
	int			verify;			/* the encoding in which bytes must be valid */
	bool		transcode;
	FmgrInfo	procedure;		/* conversion function */
	int			(*shape_mblen) (const unsigned char *); /* NULL: no shape needed */
	bool		wide_backslash; /* there is one that becomes that of ASCII */
} Encoding;

/* Errors: 42883 where the server has no such conversion. */
extern void encoding_open(Encoding *encoding, int file);

/* Length of the valid prefix of s (without conversion). */
extern uint32 encoding_valid_prefix(const Encoding *encoding, const char *s,
									uint32 len);

/* Longest text that encoding_convert takes. */
#define ENCODING_MAX_LENGTH ((PG_INT32_MAX - 1) / MAX_CONVERSION_GROWTH - 1)

/*
 * Converts len bytes of s to dst (terminated; at least len *
 * MAX_CONVERSION_GROWTH + 1 bytes).  Returns the length, or -1 with err filled;
 * err = NULL: raises 22021 or 22P05 as the server does, or 54000 where the text
 * or its conversion is too long for a value.
 */
extern int encoding_convert(Encoding *encoding, const char *s, uint32 len,
							char *dst, RowError *err);

/*
 * The same, with a replacement character for each piece that is not valid or
 * has no equivalent.  Error: 54000 as above.
 */
extern int encoding_convert_replacing(Encoding *encoding, const char *s,
									  uint32 len, char *dst, RowError *err);

/*
 * The text with each wide backslash twice, for what reads backslashes as escapes
 * after the conversion.  Memory: the current context.
 */
extern const char *encoding_double_backslashes(const Encoding *encoding,
											   const char *s, uint32 *len);

/* The same to dst, which takes twice the length.  Returns the length there. */
extern uint32 encoding_copy_doubled(const Encoding *encoding, const char *s, uint32 len,
									char *dst);

/*
 * Appends text, with a replacement character for each piece that is not valid.
 * False: err says that all of it would be too long; err = NULL: error 54000.
 */
extern bool encoding_replace(const Encoding *encoding, const char *s,
							 uint32 len, StringInfo text, RowError *err);

/* Reports that s is invalid at its first byte: in err, or as the server's error. */
extern void encoding_report(const Encoding *encoding, const char *s,
							uint32 len, RowError *err);

/*
 * A path as text in the database encoding.  File names are bytes: what a glob
 * finds may not be valid text, which must not get into a table or a message.
 */
extern char *encoding_path_text(const char *path);

#endif							/* PGBULK_ENCODING_H */
