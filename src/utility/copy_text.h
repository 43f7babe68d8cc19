/*
 * copy_text.h
 *		A load by a function, written as the COPY statement that does the same.
 */
#ifndef PGBULK_COPY_TEXT_H
#define PGBULK_COPY_TEXT_H

#include "postgres.h"

#include "utils/jsonb.h"

/*
 * COPY table FROM 'source' WITH (lead, skip '1', ...), which the server's parser takes.  lead: an
 * option that says what source is; NULL for a file, of which the format is told.  options: those
 * of the function, or NULL; of values that are no texts the JSON.  NULL where there is no such
 * table.
 */
extern char *copy_text(Oid relid, const char *source, const char *lead, Jsonb *options);

#endif							/* PGBULK_COPY_TEXT_H */
