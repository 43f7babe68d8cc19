/*
 * text_clip.h
 *		Long texts for messages.
 */
#ifndef PGBULK_TEXT_CLIP_H
#define PGBULK_TEXT_CLIP_H

#include "postgres.h"

/*
 * text[0 .. len), or its first characters of at most max bytes and "..." where
 * it is longer.  Memory: the current context.
 */
extern char *text_clip(const char *text, Size len, int max);

/* The same of a text that ends with a zero byte. */
extern char *text_clip_string(const char *text, int max);

#endif							/* PGBULK_TEXT_CLIP_H */
