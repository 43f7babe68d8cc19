/*
 * decompress.h
 *		What a compressed file holds: a filter (stream.h).
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
#include "stream/stream.h"

/* Bytes that tell how a file is compressed. */
#define DECOMPRESS_MAGIC 4

/*
 * What the first bytes of a file, all that it has or at least
 * DECOMPRESS_MAGIC, are: a compression, or BULK_COMPRESSION_NONE.
 */
extern BulkCompression decompress_detect(const char *data, Size length);

/*
 * What the stream below is compressed with is taken from it.  path is for
 * messages and not copied.  Memory: the current context, with which all ends.
 *
 * Error: 0A000 where the library for it was left out when pgbulk was built.
 * When it is read: 22P04 for what is corrupt or ends too early, with its place
 * in the file.
 */
extern Stream *decompress_open(Stream *below, BulkCompression compression,
							   const char *path);

#endif							/* PGBULK_DECOMPRESS_H */
