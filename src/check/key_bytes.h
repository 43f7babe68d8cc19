/*
 * key_bytes.h
 *		The bytes by which values of keys are compared.
 */
#ifndef PGBULK_KEY_BYTES_H
#define PGBULK_KEY_BYTES_H

#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "fmgr.h"

/* The bytes of a value without its header, detoasted.  May replace *value. */
static inline const char *
key_value_bytes(Form_pg_attribute att, Datum *value, Size *len)
{
	if (att->attbyval)
	{
		*len = sizeof(Datum);
		return (const char *) value;
	}
	if (att->attlen > 0)
	{
		*len = att->attlen;
		return DatumGetPointer(*value);
	}
	if (att->attlen == -1)
	{
		struct varlena *packed =
			pg_detoast_datum_packed((struct varlena *) DatumGetPointer(*value));

		*value = PointerGetDatum(packed);
		*len = VARSIZE_ANY_EXHDR(packed);
		return VARDATA_ANY(packed);
	}
	*len = strlen(DatumGetCString(*value));
	return DatumGetCString(*value);
}

#endif							/* PGBULK_KEY_BYTES_H */
