/*
 * fixed.h
 *		Rows with fields at fixed positions (private to this folder).  Called by
 *		the functions of scan.h.
 */
#ifndef PGBULK_FIXED_H
#define PGBULK_FIXED_H

#include "scan.h"

extern void fixed_rows(const ScanDialect *dialect, ScanEol *eol,
					   const char *window, uint32_t length, bool at_eof,
					   ScanRow *rows, uint32_t max_rows,
					   ScanField *fields, uint32_t max_fields,
					   ScanResult *result);

extern void fixed_border(const ScanDialect *dialect, ScanEol eol,
						 const char *window, uint32_t length,
						 ScanBorder *border);

#endif							/* PGBULK_FIXED_H */
