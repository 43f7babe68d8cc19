/*
 * copy.h
 *		Input that can be read only once, copied to a temporary file while it is
 *		read, to be read again from there.
 */
#ifndef PGBULK_COPY_H
#define PGBULK_COPY_H

#include "postgres.h"

#include "storage/buffile.h"
#include "stream/stream.h"

/* A filter: what is read through it is appended to copy, too.  Memory: the current context. */
extern Stream *copy_open(Stream *below, BufFile *copy);

/* A stream of a copy from its first byte on.  Memory: the current context. */
extern Stream *copy_replay(BufFile *copy);

#endif							/* PGBULK_COPY_H */
