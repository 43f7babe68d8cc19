/*
 * geometric.h
 *		Geometric types from text.
 */
#ifndef PGBULK_GEOMETRIC_H
#define PGBULK_GEOMETRIC_H

#include "postgres.h"

#include "format/converter.h"

/*
 * Converters (ConvertFunction) of the types of these names; texts without
 * spaces, and with the parentheses that the output functions write.
 */
extern ValueResult convert_point(Converter *conv, const Column *column,
								 const char *s, uint32 len, Datum *out);
extern ValueResult convert_box(Converter *conv, const Column *column,
							   const char *s, uint32 len, Datum *out);
extern ValueResult convert_lseg(Converter *conv, const Column *column,
								const char *s, uint32 len, Datum *out);
extern ValueResult convert_circle(Converter *conv, const Column *column,
								  const char *s, uint32 len, Datum *out);

#endif							/* PGBULK_GEOMETRIC_H */
