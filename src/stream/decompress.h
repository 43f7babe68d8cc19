/*
 * decompress.h
 *		Decompression, as a filter (stream.h).
 *
 * Consecutive frames (gzip calls them members) are one stream, as for the
 * command-line tools.  What is decompressed goes straight to where the caller
 * wants it, so memory use does not depend on the size of the file: 64 kB and
 * what the library needs, 128 MB for the largest zstd window accepted.
 */
#ifndef PGBULK_DECOMPRESS_H
#define PGBULK_DECOMPRESS_H

#include "postgres.h"

#include "option/options.h"
#include "stream/stream.h"

/* Bytes needed to recognize a compression. */
#define DECOMPRESS_MAGIC 4

/*
 * The compression of a file, or BULK_COMPRESSION_NONE, by its first bytes: at
 * least DECOMPRESS_MAGIC of them, or the whole file.
 */
extern BulkCompression decompress_detect(const char *data, Size length);

/*
 * Decompresses the stream below.  path is for messages and not copied.  Memory:
 * the current context; everything is freed with it.
 *
 * Error: 0A000 where the library for it was left out when pgbulk was built.
 * When it is read: 22P04 where data are corrupt or end too early, with the
 * offset in the file.
 */
extern Stream *decompress_open(Stream *below, BulkCompression compression,
							   const char *path);

#endif							/* PGBULK_DECOMPRESS_H */
