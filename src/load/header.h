/*
 * header.h
 *		The header lines of a file: passed over, compared with the columns, or their names.
 */
#ifndef PGBULK_HEADER_H
#define PGBULK_HEADER_H

#include "postgres.h"

#include "load/header_state.h"

/*
 * Reads the header lines of a file that has just been opened; raw is empty before.  Errors: 22P04 for
 * lines that are malformed or not as options say, 42703 for names of columns that there are not, 0A000 where
 * the reject file cannot have them.
 */
extern void header_read(Header *header);

/*
 * Tells of a first row of the reader's batch that is the names of the columns, in whatever case, where all of these are
 * of text, so that nothing is wrong with it.
 */
extern void header_notice_undeclared(Header *header);

#endif							/* PGBULK_HEADER_H */
