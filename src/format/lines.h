/*
 * lines.h
 *		Callbacks of formats csv and text that other formats of lines share.
 */
#ifndef PGBULK_LINES_H
#define PGBULK_LINES_H

#include "postgres.h"

#include "format/converter.h"
#include "format/reader.h"

extern ScanEol lines_first_eol(const BulkOptions *options, bool stored);

/* Skips a byte order mark; refuses files that are not text. */
extern uint32 lines_begin_file(Reader *reader);

extern void lines_find_rows(Reader *reader, const char *bytes, uint32 length,
							uint32 max_rows);
extern bool lines_find_border(const Reader *reader, ScanEol eol,
							  ScanBorder *border);
extern ScanRecovery lines_recover(const Reader *reader, const char *bytes,
								  uint32 length, const ScanRow *row,
								  uint32 nfields, uint32 *resume);

/* With the messages of format text. */
extern const char *lines_describe_fault(const ScanRow *row, int *sqlstate);

/* The type's input function, and a fast converter if it has one. */
extern void lines_open_column(Converter *conv, Column *column);

#endif							/* PGBULK_LINES_H */
