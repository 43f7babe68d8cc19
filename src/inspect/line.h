/*
 * line.h
 *		Lines that are one value, whatever in them might delimit.  Pure C.
 */
#ifndef PGBULK_LINE_H
#define PGBULK_LINE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether a line without quotes is likely to be one value: a number, a date, a
 * time, an address, a URL, a path, a JSON document.  1,500 is none: it may be two.
 */
extern bool line_is_value(const char *s, size_t length);

#endif							/* PGBULK_LINE_H */
