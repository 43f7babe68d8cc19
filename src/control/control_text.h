/*
 * control_text.h
 *		The text of a control file: reads it, and takes its lines apart.
 */
#ifndef PGBULK_CONTROL_TEXT_H
#define PGBULK_CONTROL_TEXT_H

#include "postgres.h"

/*
 * Reads the file, in the current memory context.  Errors: those of
 * control_read about the file.
 */
extern char *control_text_read(const char *path);

/*
 * Cuts off a line's comment, in place.  Values may be in double quotes, where a
 * backslash escapes a quote or backslash.  *closed: whether all quotes are
 * closed.
 */
extern void control_text_cut_comment(char *line, bool *closed);

/* The text without blanks at its ends, in place. */
extern char *control_text_trim(char *text);

/* A copy of the text without double quotes and escapes. */
extern char *control_text_unquote(const char *text);

#endif							/* PGBULK_CONTROL_TEXT_H */
