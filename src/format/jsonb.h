/*
 * jsonb.h
 *		Texts to values of types json and jsonb.
 *
 * jsonb is built straight from the nodes that scan/json.h finds, exactly as
 * jsonb_in does it in two steps, over JsonbValues.  What is built:
 *
 *		varlena header		4 bytes; all offsets of padding count from here
 *		root container
 *
 *		container:
 *		padding				to 4 bytes; part of the container's length
 *		uint32 header		number of elements or pairs, JB_FARRAY or JB_FOBJECT
 *		JEntry array		of an array one for each element; of an object one for
 *							each key, then one for each value
 *		data				of each child in the same order:
 *			string, key		its bytes
 *			numeric			padding to 4 bytes, then a numeric with a 4-byte header
 *			container		as above
 *			others			nothing; the JEntry tells all
 *
 * The JEntry of a child has its type and the length of its data, padding
 * included; that of each JB_OFFSET_STRIDE'th child has instead where its data end,
 * from the start of the container's data on, and JENTRY_HAS_OFF.  A root that is a scalar
 * is an array of one element, with JB_FSCALAR.  Keys are sorted, shorter ones
 * first, then by bytes; of equal keys the last one in the text counts.
 *
 * Whatever is unusual is left to the input function, so that errors and limits
 * are its own: what json_scan does not take, escapes that stand for no character of
 * the database's encoding, numbers beyond numeric's short form, texts longer than
 * 16 MB.
 *
 * Price: memory for nodes and keys, 14 bytes for each byte of the text at most, of which the
 * usual document touches a quarter; what is more than 1 MB goes back with the next document.
 */
#ifndef PGBULK_JSONB_H
#define PGBULK_JSONB_H

#include "format/convert.h"

/* As ConvertFunction says. */
extern ValueResult convert_jsonb(Converter *conv, const Column *column,
								 const char *s, uint32 len, Datum *out);

/* The same for json, which is its text. */
extern ValueResult convert_json(Converter *conv, const Column *column,
								const char *s, uint32 len, Datum *out);

#endif							/* PGBULK_JSONB_H */
