/*
 * sample.h
 *		The bytes of files that bulk_inspect looks at.
 */
#ifndef PGBULK_SAMPLE_H
#define PGBULK_SAMPLE_H

#include "postgres.h"

#include "inspect/charset.h"
#include "inspect/dialect.h"
#include "inspect/objects.h"
#include "option/options.h"
#include "scan/magic.h"

/* Pieces further in, if the file is larger than its beginning. */
#define SAMPLE_PIECES 8

/* Files whose beginnings are looked at, if a pattern matches several. */
#define SAMPLE_FILES 8

typedef struct Sample
{
	/* the beginning; pieces further in; beginnings of other files */
	SheetSpan	spans[SAMPLE_PIECES + SAMPLE_FILES];
	uint32		sizes[SAMPLE_PIECES + SAMPLE_FILES];	/* of the spans, in the file */
	int			nspans;
	uint32		longest;		/* of them */
	int64		bytes;			/* in all of them */
	bool		complete;		/* it is the whole file, and there is no other */
	BulkCompression compression;
	Charset		charset;
	const ScanMagic *magic;		/* what the file is instead of text; NULL: nothing known */
	bool		utf16;			/* it is UTF-16; the spans are UTF-8 all the same */
	bool		converted;		/* the spans are in the database's encoding, not in that */
} Sample;

/*
 * Reads the beginning of the first file, decompressed, pieces of the rest where
 * the file can be read from any place, and a piece of the beginnings of the
 * next files.  Drops the byte order mark, turns UTF-16 into UTF-8, and converts
 * what a load scans through a shape (format/encoding.h).
 * has_encoding: the caller has given the encoding that options has. Memory: the
 * current context, about 4 MB.
 *
 * Errors: those of source_open and window_fill; 42809 for a named pipe, whose
 * bytes the load would miss.
 */
extern Sample *sample_read(List *paths, const BulkOptions *options,
						   bool has_encoding);

/* Space for walks over a sample, which can be cancelled.  Memory: the current context. */
extern SheetSpace *sample_space(void);

/*
 * The pieces begin anywhere: now that the dialect is known they are made to
 * begin with a row.  Those where that cannot be told are dropped.
 */
extern void sample_align(Sample *sample, const Dialect *dialect,
						 SheetSpace *space);

/* The same where rows are objects of JSON. */
extern void sample_align_objects(Sample *sample, const Objects *objects);

#endif							/* PGBULK_SAMPLE_H */
