/*
 * prepare.h
 *		Values as people write them to text that a type's input function
 *		accepts.
 *
 * The result is converted like the text of any other field, so that domains,
 * type modifiers and null markers work as usual.  Messages and rejects have the
 * original text.
 */
#ifndef PGBULK_PREPARE_H
#define PGBULK_PREPARE_H

#include "postgres.h"

#include "format/converter.h"

/*
 * Options decimal_mark, thousands_mark and date_format, for the columns of conv.  Errors:
 * 22023 for a column of another type than dates and times, and for a template
 * that to_timestamp does not accept; those of convert_find_loaded.
 */
extern void prepare_open(Converter *conv);

/*
 * The text of a field of a column that has prepare set, and what it was; NULL if it is bad (err
 * says why, or is NULL and the error was raised).  Good until the next call.
 */
extern const char *prepare_text(Converter *conv, int index, const char *s,
								uint32 *len, const char **original,
								RowError *err);

#endif							/* PGBULK_PREPARE_H */
