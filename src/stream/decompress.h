/*
 * decompress.h
 *		What a compressed file holds, as a stream.
 *
 * Frames (gzip calls them members) that follow each other are one stream, as
 * the command line tools have it.  What is decompressed goes straight to where
 * the caller wants it, so memory stays flat however much a file grows: 64 kB
 * and what the library needs, 128 MB for the largest zstd window accepted.
 */
#ifndef PGBULK_DECOMPRESS_H
#define PGBULK_DECOMPRESS_H

#include "postgres.h"

#include "option/options.h"

/* Bytes that tell how a file is compressed. */
#define DECOMPRESS_MAGIC 4

typedef struct Decompressor Decompressor;

/* Up to size bytes of what is compressed; 0 at its end. */
typedef Size (*DecompressPull) (void *arg, char *to, Size size);

/*
 * What the first bytes of a file, all that it has or at least
 * DECOMPRESS_MAGIC, are: a compression, or BULK_COMPRESSION_NONE.
 */
extern BulkCompression decompress_detect(const char *data, Size length);

/*
 * Begins a stream whose first bytes, at most DECOMPRESS_HEAD, have been read
 * already; pull reads on.  path is for messages and not copied.  Memory: the
 * current context, with which all ends.
 *
 * Error: 0A000 where the library for it was left out when pgbulk was built.
 */
#define DECOMPRESS_HEAD (64 * 1024)
extern Decompressor *decompress_open(BulkCompression compression,
									 const char *path,
									 const char *head, Size length,
									 DecompressPull pull, void *arg);

/*
 * Up to size bytes; 0 at the end.  Error: 22P04 for what is corrupt or ends
 * too early, with its place in the file; those of pull.
 */
extern Size decompress_read(Decompressor *decompressor, char *to, Size size);

/* How many compressed bytes have been used up. */
extern int64 decompress_used(const Decompressor *decompressor);

#endif							/* PGBULK_DECOMPRESS_H */
