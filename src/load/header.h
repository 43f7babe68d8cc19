/*
 * header.h
 *		The header lines of a file: skipped, compared with the columns, or
 *		used as column names.
 */
#ifndef PGBULK_HEADER_H
#define PGBULK_HEADER_H

#include "postgres.h"

#include "load/header_state.h"

/*
 * Reads the header lines of a file that has just been opened; raw must be
 * empty.  Errors: 22P04 for malformed lines or other names than the options
 * require, 42703 for unknown columns, 0A000 if the reject file cannot hold
 * several headers.
 */
extern void header_read(Header *header);

/*
 * Sends a NOTICE if the first row of the reader's batch consists of the column
 * names, ignoring case, and all columns are text, so that it is loaded without
 * an error.
 */
extern void header_notice_undeclared(Header *header);

#endif							/* PGBULK_HEADER_H */
