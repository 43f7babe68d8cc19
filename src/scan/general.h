/*
 * general.h
 *		Rows of dialects that need more than masks of bytes (private to this
 *		folder).  Called by the functions of scan.h.
 */
#ifndef PGBULK_GENERAL_H
#define PGBULK_GENERAL_H

#include "scan.h"

extern void general_rows(const ScanDialect *dialect, ScanEol *eol,
						 const char *window, uint32_t length, bool at_eof,
						 ScanRow *rows, uint32_t max_rows,
						 ScanField *fields, uint32_t max_fields,
						 ScanResult *result);

extern void general_border(const ScanDialect *dialect, ScanEol eol,
						   const char *window, uint32_t length,
						   ScanBorder *border);

#endif							/* PGBULK_GENERAL_H */
