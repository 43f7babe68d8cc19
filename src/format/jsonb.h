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
 *			others			nothing; none: the JEntry has it all
 *
 * The JEntry of a child has its type and the length of its data, padding
 * included; that of each JB_OFFSET_STRIDE'th child has the end offset of its
 * data instead, from the start of the container's data, and JENTRY_HAS_OFF.  A
 * root that is a scalar is an array of one element, with JB_FSCALAR.  Keys are
 * sorted, shorter ones first, then by bytes; of equal keys the last one in the
 * text counts.
 *
 * Whatever is unusual is left to the input function, so that errors and limits
 * are the server's: what json_scan declines, escapes for characters that the
 * database encoding lacks, numbers beyond numeric's short form, texts longer
 * than 16 MB.
 *
 * Price: memory for nodes and keys, at most 14 bytes for each byte of the text,
 * of which a usual document touches a quarter; what exceeds 1 MB is freed by
 * the next document.
 */
#ifndef PGBULK_JSONB_H
#define PGBULK_JSONB_H

#include "format/convert.h"

/* See ConvertFunction. */
extern ValueResult convert_jsonb(Converter *conv, const Column *column,
								 const char *s, uint32 len, Datum *out);

/* The same for json, which is stored as its text. */
extern ValueResult convert_json(Converter *conv, const Column *column,
								const char *s, uint32 len, Datum *out);

#endif							/* PGBULK_JSONB_H */
