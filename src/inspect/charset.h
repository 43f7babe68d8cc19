/*
 * charset.h
 *		The encoding that bytes are in, from the bytes alone.  Pure C.
 */
#ifndef PGBULK_CHARSET_H
#define PGBULK_CHARSET_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Charset
{
	const char *name;			/* as PostgreSQL has it, or UTF16LE, UTF16BE */
	bool		ascii;			/* no byte beyond ASCII was seen */
	bool		sure;			/* said by a mark, or by the rules of UTF-8 */
	size_t		mark;			/* length of the byte order mark, or 0 */
	size_t		invalid;		/* bytes that do not fit all the same */
} Charset;

/*
 * Looks at s[0 .. len), which begins a file; complete: it is all of it, so that
 * a character cut off at the end is a broken one.
 */
extern void charset_guess(const char *s, size_t len, bool complete,
						  Charset *charset);

/* Bytes that are not valid in UTF-8; complete as in charset_guess. */
extern size_t charset_invalid_utf8(const char *s, size_t len, bool complete);

/*
 * UTF-16 as UTF-8, for which 3 * len / 2 bytes are needed.  Unpaired surrogates
 * become U+FFFD.  Returns the length.
 */
extern size_t charset_from_utf16(const char *s, size_t len, bool big_endian,
								 char *utf8);

#endif							/* PGBULK_CHARSET_H */
