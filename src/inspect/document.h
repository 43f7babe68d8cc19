/*
 * document.h
 *		Whether a sample is JSON: a document in each line, or one over many.  Pure C.
 */
#ifndef PGBULK_DOCUMENT_H
#define PGBULK_DOCUMENT_H

#include "inspect/sheet.h"

typedef enum DocumentKind
{
	DOCUMENT_NONE,
	DOCUMENT_LINES,				/* each line that is not empty is one */
	DOCUMENT_WHOLE				/* one, or several, over many lines */
} DocumentKind;

/*
 * By brackets and quotes alone, of a span that begins a file.  Whoever trusts
 * in lines asks the server's input function afterwards.
 */
extern DocumentKind document_detect(const SheetSpan *span);

/* The same of one line: whether it is an object or an array, and nothing else. */
extern bool document_is_one(const char *s, size_t length);

#endif							/* PGBULK_DOCUMENT_H */
